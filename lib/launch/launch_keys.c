/* SPDX-License-Identifier: Apache-2.0 */
/* Words and documents of a launch as keys, by the framework's table of flags. */
#include "base/error.h"
#include "io/json_memory.h"
#include "launch/launch_parts.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- values ---------------------------------------------------------------------------------- */

bool rk_launch_read_number(const char *text, double *value)
{
    char digits[64];
    size_t length = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '_') {
            continue;
        }
        if (length + 1 == sizeof(digits) || !(isdigit((unsigned char)*c) || strchr("+-.eE", *c))) {
            return false;
        }
        digits[length++] = *c;
    }
    digits[length] = '\0';
    char *end = NULL;
    *value = strtod(digits, &end);
    return length > 0 && *end == '\0';
}

const char *rk_launch_truth_text(const char *text)
{
    static const char *const on[] = {"true", "1", "yes", "on", "y", "t"};
    static const char *const off[] = {"false", "0", "no", "off", "n", "f"};
    for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
        if (strcasecmp(text, on[i]) == 0) {
            return "true";
        }
        if (strcasecmp(text, off[i]) == 0) {
            return "false";
        }
    }
    return NULL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const rk_flag_name *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Leaves out the dashes before a name; "max-steps" is "max_steps" where they are one. */
static const char *plain_name(char *name, bool dash_is_underscore)
{
    char *start = name + strspn(name, "-");
    for (char *c = start; dash_is_underscore && *c; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    return start;
}

static size_t count_words(const char *text)
{
    size_t count = 0;
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        at += strcspn(at, " ");
        count++;
    }
    return count;
}

/* Adds the names of a row; those that an earlier table has stay as they are there. */
static void add_names(rk_flag_table *table, const rk_csv_in *rows, size_t row)
{
    const rk_launch_flag flag = {
        .type = rk_csv_cell_of(rows, row, "type"),
        .usual = rk_csv_cell_of(rows, row, "default"),
        .class = rk_csv_cell_of(rows, row, "class"),
        .field = rk_csv_cell_of(rows, row, "field"),
        .note = rk_csv_cell_of(rows, row, "note"),
    };
    char *lists[] = {(char *)(uintptr_t)rk_csv_cell_of(rows, row, "flag"),
                     (char *)(uintptr_t)rk_csv_cell_of(rows, row, "aliases")};
    const char *first = NULL;
    for (size_t i = 0; i < 2; i++) {
        char *rest = NULL;
        for (char *word = strtok_r(lists[i], " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            rk_flag_name *name = &table->names[table->count];
            *name = (rk_flag_name){plain_name(word, table->dash_is_underscore), table->count, flag};
            table->count++;
            first = first ? first : name->name;
            name->flag.name = first;
        }
    }
}

/* Of names that are there twice the first in the order of the tables stays, as number 0. */
static void sort_names(rk_flag_table *table)
{
    size_t kept = 0;
    qsort(table->names, table->count, sizeof(*table->names), compare_names);
    for (size_t i = 0; i < table->count; i++) {
        if (kept == 0 || strcmp(table->names[kept - 1].name, table->names[i].name) != 0) {
            table->names[kept] = table->names[i];
            table->names[kept++].order = 0;
        }
    }
    table->count = kept;
}

rk_status rk_flag_table_load(const rk_launch_reader *reader, rk_flag_table *table, rk_error *err)
{
    *table = (rk_flag_table){.dash_is_underscore = reader->dash_is_underscore};
    size_t names = 0;
    for (size_t i = 0; i < RK_LAUNCH_TABLES_MAX && reader->tables[i]; i++) {
        rk_csv_in *rows = &table->tables[i];
        const rk_status status = rk_csv_load_named(reader->tables[i], "launch_flags", rows, err);
        if (status) {
            return status;
        }
        for (size_t row = 0; row < rows->rows; row++) {
            names += count_words(rk_csv_cell_of(rows, row, "flag")) +
                     count_words(rk_csv_cell_of(rows, row, "aliases"));
        }
    }
    table->names = calloc(names + 1, sizeof(*table->names));
    if (!table->names) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the flags of %s", reader->name);
    }
    for (size_t i = 0; i < RK_LAUNCH_TABLES_MAX && reader->tables[i]; i++) {
        for (size_t row = 0; row < table->tables[i].rows; row++) {
            add_names(table, &table->tables[i], row);
        }
    }
    sort_names(table);
    return RK_OK;
}

void rk_flag_table_clear(rk_flag_table *table)
{
    for (size_t i = 0; i < RK_LAUNCH_TABLES_MAX; i++) {
        rk_csv_in_clear(&table->tables[i]);
    }
    free(table->names);
    *table = (rk_flag_table){0};
}

const rk_launch_flag *rk_flag_table_find(const rk_flag_table *table, const char *name)
{
    char spelled[128];
    if ((size_t)snprintf(spelled, sizeof(spelled), "%s", name) >= sizeof(spelled)) {
        return NULL;
    }
    const rk_flag_name wanted = {.name = plain_name(spelled, table->dash_is_underscore)};
    const rk_flag_name *found =
        bsearch(&wanted, table->names, table->count, sizeof(*table->names), compare_names);
    return found ? &found->flag : NULL;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Whether a word is the value of a flag: not another flag, but "-1" is one. */
static bool is_value(const char *word)
{
    return word[0] != '-' || isdigit((unsigned char)word[1]) || word[1] == '.' || word[1] == '\0';
}

/* "training.steps=5": a word of its own in programs whose words are pairs. */
static bool is_pair(const char *word)
{
    const size_t length = strcspn(word, "=");
    return word[length] == '=' && length > 0 && strcspn(word, " {[\"'") > length;
}

/* How many words behind a flag are its own, `count` of which are no flags. */
static size_t own_words(const rk_launch_flag *flag, const char *next, size_t count)
{
    if (!flag) {
        return count; /* of an unknown flag, with any value */
    }
    if (strncmp(flag->type, "bool-switch", strlen("bool-switch")) == 0) {
        return count == 1 && rk_launch_truth_text(next) ? 1 : 0;
    }
    const bool list = strncmp(flag->type, "list by blanks", strlen("list by blanks")) == 0;
    return list ? count : count > 0 ? 1 : 0;
}

/* The words of a value between blanks; of data there may be thousands. */
static const char *join_words(rk_launch *launch, size_t from, size_t count)
{
    assert(from + count <= launch->word_count);
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        length += strlen(launch->words[from + i].text) + 1;
    }
    char *joined = count > 0 ? calloc(length + 1, 1) : NULL;
    launch->out_of_memory |= count > 0 && !joined;
    if (!joined) {
        return NULL;
    }
    char *end = joined;
    for (size_t i = 0; i < count; i++) {
        const size_t own = strlen(launch->words[from + i].text);
        memcpy(end, launch->words[from + i].text, own);
        end[own] = i + 1 < count ? ' ' : '\0';
        end += own + 1;
    }
    const char *kept = rk_launch_keep(launch, joined);
    free(joined);
    return kept;
}

static size_t cut_flag(rk_launch *launch, const rk_flag_table *table, size_t i)
{
    assert(i < launch->word_count);
    const char *word = launch->words[i].text;
    const char *start = word + strspn(word, "-");
    const char *equals = strchr(start, '=');
    const size_t length = equals ? (size_t)(equals - start) : strlen(start);
    const char *spelled = rk_launch_keep_part(launch, start, length);
    const rk_launch_flag *flag = rk_flag_table_find(table, spelled);
    size_t count = 0;
    while (!equals && i + 1 + count < launch->word_count &&
           is_value(launch->words[i + 1 + count].text) &&
           !(launch->reader->words_are_pairs && is_pair(launch->words[i + 1 + count].text))) {
        count++;
    }
    count = count > 0 ? own_words(flag, launch->words[i + 1].text, count) : 0;
    const rk_launch_key key = {
        .name = flag ? rk_launch_keep(launch, flag->name) : spelled,
        .value = equals ? rk_launch_keep(launch, equals + 1) : join_words(launch, i + 1, count),
        .line = launch->words[i].line,
    };
    rk_launch_add_key(launch, &key);
    return i + 1 + count;
}

/* "training.steps=5", "+model.x=1", "~key": of programs whose words are pairs. */
static void cut_pair(rk_launch *launch, const rk_flag_table *table, size_t i)
{
    assert(i < launch->word_count);
    const char *word = launch->words[i].text + strspn(launch->words[i].text, "+");
    const char *equals = strchr(word, '=');
    if (!equals) {
        return;
    }
    const char *name = rk_launch_keep_part(launch, word, (size_t)(equals - word));
    const rk_launch_flag *flag = rk_flag_table_find(table, name);
    const rk_launch_key key = {
        .name = flag ? rk_launch_keep(launch, flag->name) : name,
        .value = rk_launch_keep(launch, equals + 1),
        .line = launch->words[i].line,
    };
    rk_launch_add_key(launch, &key);
}

void rk_launch_cut_words(rk_launch *launch, const rk_flag_table *table)
{
    size_t i = launch->program < launch->word_count ? launch->program + 1 : 0;
    while (i < launch->word_count) {
        const char *word = launch->words[i].text;
        if (word[0] == '-' && !is_value(word)) {
            i = cut_flag(launch, table, i);
        } else {
            if (launch->reader->words_are_pairs) {
                cut_pair(launch, table, i);
            }
            i++;
        }
    }
}

/* ---- documents ------------------------------------------------------------------------------- */

enum { DEPTH_MAX = 32, PATH_MAX_LENGTH = 512 };

static const char *scalar_text(rk_launch *launch, const json_t *value)
{
    if (json_is_string(value)) {
        return rk_launch_keep(launch, json_string_value(value));
    }
    if (json_is_null(value)) {
        return NULL;
    }
    char *text = rk_json_dump(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    launch->out_of_memory |= !text;
    const char *kept = rk_launch_keep(launch, text ? text : "");
    free(text);
    return kept;
}

static void flatten(rk_launch *launch, const char *source, const char *path, const json_t *value,
                    int depth)
{
    assert(depth <= DEPTH_MAX);
    const char *member = NULL;
    json_t *inner = NULL;
    if (!json_is_object(value) || depth == DEPTH_MAX || strlen(path) > PATH_MAX_LENGTH) {
        const rk_launch_key key = {
            .name = path, .value = scalar_text(launch, value), .json = value, .source = source};
        rk_launch_add_key(launch, &key);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)value, member, inner)
    {
        flatten(launch, source,
                *path ? rk_launch_format(launch, "%s.%s", path, member)
                      : rk_launch_keep(launch, member),
                inner, depth + 1);
    }
}

void rk_launch_flatten_document(rk_launch *launch, size_t document)
{
    flatten(launch, launch->documents[document].name, "", launch->documents[document].root, 0);
}

void rk_launch_flatten_documents(rk_launch *launch)
{
    for (size_t i = 0; i < launch->document_count; i++) {
        rk_launch_flatten_document(launch, i);
    }
}

/* ---- keys by name ---------------------------------------------------------------------------- */

rk_launch_key *rk_launch_key_of(const rk_launch *launch, const char *name)
{
    rk_launch_key *found = NULL;
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        if (strcmp(key->name, name) == 0 && (!found || key->source == found->source)) {
            found = key;
        }
    }
    return found;
}

bool rk_launch_key_decides(const rk_launch *launch, const rk_launch_key *key)
{
    return rk_launch_key_of(launch, key->name) == key;
}

const rk_launch_key *rk_launch_find(rk_launch *launch, const char *name)
{
    rk_launch_key *key = rk_launch_key_of(launch, name);
    if (key) {
        key->use = RK_KEY_USED;
    }
    return key;
}

bool rk_launch_has(const rk_launch *launch, const char *name)
{
    return rk_launch_key_of(launch, name) != NULL;
}

const char *rk_launch_value(rk_launch *launch, const char *name)
{
    const rk_launch_key *key = rk_launch_find(launch, name);
    return key ? key->value : NULL;
}

bool rk_launch_is_on(rk_launch *launch, const char *name, bool usual)
{
    const rk_launch_key *key = rk_launch_find(launch, name);
    if (!key || (key->json && !key->value)) {
        return usual; /* absent, or null */
    }
    const char *truth = key->value ? rk_launch_truth_text(key->value) : "true";
    return truth && strcmp(truth, "true") == 0;
}

double rk_launch_number(rk_launch *launch, const char *name, double usual)
{
    double value = usual;
    const char *text = rk_launch_value(launch, name);
    return text && rk_launch_read_number(text, &value) ? value : usual;
}

/* Whether a key is the one called `name`, below it, or in the group that "name." or "name_" is. */
static bool is_within(const char *key, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(key, name, length) == 0 &&
           (strchr(".[", key[length]) || (length > 0 && strchr(".-_", name[length - 1])));
}

void rk_launch_mark(rk_launch *launch, const char *name, rk_key_use use, const char *note)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        if (is_within(key->name, name)) {
            key->use = use;
            key->note = note ? rk_launch_keep(launch, note) : key->note;
        }
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

const char *rk_launch_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool rk_launch_runs_by(const rk_launch *launch, const char *word)
{
    for (size_t i = 0; i <= launch->program && i < launch->word_count; i++) {
        if (strcmp(rk_launch_base_name(launch->words[i].text), word) == 0) {
            return true;
        }
    }
    return false;
}

const char *rk_launch_environment(const rk_launch *launch, const char *variable)
{
    const size_t length = strlen(variable);
    for (size_t i = 0; i < launch->program && i < launch->word_count; i++) {
        const char *word = launch->words[i].text;
        if (strncmp(word, variable, length) == 0 && word[length] == '=') {
            return word + length + 1;
        }
    }
    return NULL;
}

const char *rk_launch_program(const rk_launch *launch)
{
    return launch->program < launch->word_count
               ? rk_launch_base_name(launch->words[launch->program].text)
               : "";
}

static bool is_flag(const char *word, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 &&
           (word[2 + length] == '\0' || word[2 + length] == '=');
}

int rk_launch_count_flags(const rk_launch *launch, const char *const *names)
{
    int count = 0;
    for (size_t i = 0; names[i]; i++) {
        for (size_t j = 0; j < launch->word_count; j++) {
            if (is_flag(launch->words[j].text, names[i])) {
                count++;
                break;
            }
        }
    }
    return count;
}
