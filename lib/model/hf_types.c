/* SPDX-License-Identifier: Apache-2.0 */
/* Which architecture a config.json describes: by its type, by its class, or by its keys. */
#include "base/text.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "model/hf_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 256 };

static const char folder[] = "architectures";

/* ---- tables of names ------------------------------------------------------------------------- */

/* A row of a table of two columns, data/model_types; the second may be quoted. */
typedef char pair[2][HF_REASON_SIZE];

/* Copies a cell up to `end`, without quotes. */
static void copy_cell(const char *start, const char *end, char *out, size_t size)
{
    const bool quoted = end - start >= 2 && *start == '"';
    (void)snprintf(out, size, "%.*s", (int)(end - start) - (quoted ? 2 : 0), start + quoted);
}

/* Reads the row at *at, behind the header, and moves to the next one; false: there is none. */
static bool next_row(const char *table, const char **at, const char **end, pair row)
{
    if (!*at) {
        const rk_catalogue_entry *entry = rk_catalogue_find("model_types", table);
        *at = entry ? memchr(entry->text, '\n', entry->size) : NULL;
        *end = entry ? entry->text + entry->size : NULL;
    }
    const char *start = *at ? *at + 1 : NULL;
    const char *line_end =
        start && start < *end ? memchr(start, '\n', (size_t)(*end - start)) : NULL;
    const char *comma = line_end ? memchr(start, ',', (size_t)(line_end - start)) : NULL;
    if (!comma) {
        return false;
    }
    copy_cell(start, comma, row[0], sizeof(row[0]));
    copy_cell(comma + 1, line_end, row[1], sizeof(row[1]));
    *at = line_end;
    return true;
}

/* The i-th architecture of the catalogue, or NULL behind the last. */
static const char *name_at(size_t i)
{
    const rk_catalogue_entry *end, *first = rk_catalogue_of(folder, &end);
    return first + i < end ? first[i].name : NULL;
}

/* ---- by type and by class -------------------------------------------------------------------- */

const char *rk_hf_find_type(const char *type)
{
    const char *at = NULL, *end = NULL;
    pair row;
    while (next_row("synonyms", &at, &end, row)) {
        if (strcmp(row[0], type) == 0) {
            type = row[1];
            break;
        }
    }
    const rk_catalogue_entry *entry = rk_catalogue_find(folder, type);
    return entry ? entry->name : NULL;
}

/* The next letter of a name, in lower case, without marks between its words. */
static int next_letter(const char **at)
{
    while (**at == '_' || **at == '-') {
        (*at)++;
    }
    return **at ? tolower((unsigned char)*(*at)++) : 0;
}

/* Whether a class like "GPTNeoXForCausalLM" belongs to a type like "gpt_neox". */
static bool is_class_of(const char *class_name, const char *type)
{
    static const char *const endings[] = {"For", "LMHead", "ModelFor"};
    const char *rest = class_name;
    while (*type && strcmp(type, "_text") != 0) {
        if (next_letter(&type) != next_letter(&rest)) {
            return false;
        }
    }
    for (size_t i = 0; i < COUNT(endings); i++) {
        if (strncmp(rest, endings[i], strlen(endings[i])) == 0) {
            return true;
        }
    }
    return strcmp(rest, "Model") == 0;
}

const char *rk_hf_find_class(const char *class_name)
{
    const char *name = NULL, *at = NULL, *end = NULL;
    pair row;
    for (size_t i = 0; (name = name_at(i)) != NULL; i++) {
        if (is_class_of(class_name, name)) {
            return name;
        }
    }
    while (next_row("synonyms", &at, &end, row)) {
        if (is_class_of(class_name, row[0])) {
            return rk_hf_find_type(row[1]);
        }
    }
    return NULL;
}

bool rk_hf_reason_against(const char *name, char out[HF_REASON_SIZE])
{
    const char *at = NULL, *end = NULL;
    pair row;
    while (next_row("refused", &at, &end, row)) {
        if (strcmp(row[0], name) == 0 || is_class_of(name, row[0])) {
            memcpy(out, row[1], sizeof(row[1]));
            return true;
        }
    }
    out[0] = '\0';
    return false;
}

const char *rk_hf_nearest_type(const char *text)
{
    const char *names[NAMES_MAX], *name = NULL;
    size_t count = 0;
    for (size_t i = 0; (name = name_at(i)) != NULL && count < NAMES_MAX; i++) {
        names[count++] = name;
    }
    return rk_nearest_name(text, names, count);
}

/* ---- by keys --------------------------------------------------------------------------------- */

bool rk_hf_is_like_llama(const hf_draft *draft)
{
    static const char *const needed[] = {"hidden_size",       "num_hidden_layers",
                                         "intermediate_size", "num_attention_heads",
                                         "vocab_size",        "rms_norm_eps"};
    const char *activation = json_string_value(rk_hf_find(draft, "hidden_act"));
    for (size_t i = 0; i < COUNT(needed); i++) {
        if (!json_is_number(rk_hf_find(draft, needed[i]))) {
            return false;
        }
    }
    return activation && (strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0) &&
           !json_is_true(rk_hf_find(draft, "is_encoder_decoder"));
}
