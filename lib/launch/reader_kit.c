/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of launch-configuration readers, which turn settings into facts and assumptions. */
#include "launch/reader_kit.h"

#include "base/error.h"
#include "io/csv_in.h"
#include "launch/launch_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void rk_launch_assume_open(rk_launch *launch, const char *field, const char *value)
{
    if (!rk_launch_fact_of(launch, field)) {
        rk_launch_assume(launch, field, value);
    }
}

void rk_launch_assume_all(rk_launch *launch, const rk_named_text *defaults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rk_launch_assume(launch, defaults[i].name, defaults[i].text);
    }
}

void rk_launch_assume_size(rk_launch *launch, const char *field, int64_t value)
{
    if (value > 0) {
        rk_launch_assume_count(launch, field, value);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

const char *rk_launch_lower(rk_launch *launch, const char *text)
{
    char lower[128];
    size_t length = 0;
    while (text && text[length] && length + 1 < sizeof(lower)) {
        lower[length] = (char)tolower((unsigned char)text[length]);
        length++;
    }
    return rk_launch_keep_part(launch, lower, length);
}

const char *rk_launch_last_part(const char *dotted)
{
    const char *dot = strrchr(dotted, '.');
    return dot ? dot + 1 : dotted;
}

const char *rk_launch_precision_name(const char *type)
{
    static const char *const names[][2] = {
        {"bfloat16", "bf16"}, {"bf16", "bf16"}, {"amp_bf16", "bf16"}, {"float16", "fp16"},
        {"half", "fp16"},     {"fp16", "fp16"}, {"amp_fp16", "fp16"}, {"float32", "fp32"},
        {"float", "fp32"},    {"fp32", "fp32"}, {"tf32", "fp32"},
    };
    for (size_t i = 0; type && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(rk_launch_last_part(type), names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

const char *rk_launch_data_type(rk_launch *launch, const char *text)
{
    const char *name = rk_launch_precision_name(text);
    return name ? name : rk_launch_lower(launch, rk_launch_last_part(text));
}

void rk_launch_state_sequences(rk_launch *launch, const char *field, double tokens, double seq,
                               rk_fact_origin origin, const rk_launch_key *by)
{
    if (seq >= 1 && tokens >= seq && tokens < 9e15) {
        rk_launch_state_count(launch, field, (int64_t)(tokens / seq), origin, by);
    }
}

void rk_launch_ask_sequence(rk_launch *launch, const char *key)
{
    const rk_launch_key *given = rk_launch_find(launch, key);
    const rk_launch_key missing = {.name = key};
    static const char note[] = "not given, so the data decide how long sequences are: priced with "
                               "the longest of the model; give --seq";
    if (rk_launch_fact_of(launch, "seq")) {
        return;
    }
    if (!given) {
        rk_launch_add_key(launch, &missing);
    }
    rk_launch_mark(launch, key, RK_KEY_NOT_PRICED, note);
}

void rk_launch_name_packing(rk_launch *launch, const char *key, bool masked)
{
    const bool packed = rk_launch_holds(launch, "packing");
    const rk_launch_key missing = {.name = key};
    if (packed && !masked) {
        return;
    }
    if (!rk_launch_has(launch, key)) {
        rk_launch_add_key(launch, &missing);
    }
    rk_launch_mark(launch, key, RK_KEY_NOT_PRICED,
                   packed ? "attention among packed examples is priced over the whole sequence; "
                            "give --document-tokens"
                          : "examples are not packed: each is priced as a whole sequence");
}

void rk_launch_state_budget(rk_launch *launch, const char *key, double usual,
                            const rk_launch_key *mode)
{
    const rk_launch_key missing = {.name = key};
    const double budget = rk_launch_number(launch, key, usual);
    rk_launch_state(launch, "recompute.granularity", "budget", RK_FACT_STATED, mode);
    rk_launch_state(launch, "recompute.option",
                    budget >= 1     ? "none"
                    : budget >= 0.5 ? "per operator"
                                    : "full",
                    RK_FACT_DERIVED, mode);
    if (!rk_launch_has(launch, key)) {
        rk_launch_add_key(launch, &missing);
    }
    if (budget < 1) {
        rk_launch_mark(launch, key, RK_KEY_NOT_PRICED,
                       budget >= 0.5
                           ? "recomputation under a budget is priced as all operators but "
                             "matrix products and attention"
                           : "recomputation under so small a budget is priced as full");
    }
}

void rk_launch_state_processes(rk_launch *launch)
{
    static const char *const degrees[] = {"dp", "tp", "pp", "cp"};
    int64_t product = 1;
    for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
        const int64_t degree = rk_launch_count_of(launch, degrees[i]);
        product = degree > 0 && degree < INT32_MAX / product ? product * degree : 0;
        if (product == 0) {
            return;
        }
    }
    const int64_t node = rk_launch_count_of(launch, "gpus_per_node");
    const bool known = rk_launch_origin_of(launch, "processes") == RK_FACT_STATED ||
                       (node > 0 && rk_launch_origin_of(launch, "nodes") == RK_FACT_STATED);
    if (known) {
        return;
    }
    rk_launch_state_count(launch, "processes", product, RK_FACT_DERIVED, NULL);
    if (node > 0 && product % node == 0) {
        rk_launch_state_count(launch, "nodes", product / node, RK_FACT_DERIVED, NULL);
    } else {
        rk_launch_drop(launch, "nodes");
    }
}

/* ---- keys and files -------------------------------------------------------------------------- */

void rk_launch_shorten_keys(rk_launch *launch, const char *start)
{
    const size_t length = strlen(start);
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        if (key->json && strncmp(key->name, start, length) == 0 && key->name[length]) {
            key->name += length;
        }
    }
}

rk_status rk_launch_open_config(rk_launch *launch, const char *path, rk_error *err)
{
    bool found = false;
    if (!path || launch->document_count > 0) {
        return RK_OK;
    }
    const rk_status status = rk_launch_open_named(launch, path, &found, err);
    return status || found
               ? status
               : rk_fail(err, RK_ERR_INVALID,
                         "%s: the job is in the configuration %s, which is not there; copy it into "
                         "the folder of %s, or name it with --from",
                         launch->name, path, launch->name);
}

rk_status rk_launch_require_document(const rk_launch *launch, bool found, rk_error *err)
{
    return found ? RK_OK
                 : rk_fail(err, RK_ERR_INVALID,
                           "%s: the job is in a configuration that the line names, which is not "
                           "there; copy it into the folder of %s, or name it with --from",
                           launch->name, launch->name);
}

/* ---- models that frameworks build ------------------------------------------------------------ */

static const char *cell_of(const rk_csv_in *table, size_t row, size_t column)
{
    return table->cells[(row + 1) * table->columns + column];
}

/* Columns are name, model (of the catalogue), shown, and fields of model.* */
static bool state_row(rk_launch *launch, const rk_csv_in *table, size_t row,
                      const rk_launch_key *by)
{
    const char *model = cell_of(table, row, 1), *shown = cell_of(table, row, 2);
    if (*model) {
        (void)rk_launch_state_named_model(launch, model, by);
    }
    rk_launch_state(launch, "model.name", *shown ? shown : model, RK_FACT_STATED, by);
    for (size_t i = 3; i < table->columns; i++) {
        const char *value = cell_of(table, row, i);
        if (*value) {
            rk_launch_state(launch, rk_launch_format(launch, "model.%s", table->cells[i]), value,
                            RK_FACT_DERIVED, by);
        }
    }
    return true;
}

bool rk_launch_state_built_model(rk_launch *launch, const char *table, const char *name,
                                 const rk_launch_key *by)
{
    rk_csv_in rows = {0};
    rk_error err;
    bool found = false;
    if (rk_csv_load_named(table, "launch_models", &rows, &err)) {
        launch->out_of_memory |= err.code == RK_ERR_MEMORY;
        rk_csv_in_clear(&rows);
        return false;
    }
    for (size_t i = 0; i < rows.rows && !found; i++) {
        found = strcasecmp(cell_of(&rows, i, 0), name) == 0 && state_row(launch, &rows, i, by);
    }
    rk_csv_in_clear(&rows);
    if (!found) {
        rk_launch_state(launch, "model.name", name, RK_FACT_STATED, by);
    }
    return found;
}

void rk_launch_derive_count(rk_launch *launch, const char *field, int64_t value)
{
    if (value > 0) {
        rk_launch_state_count(launch, field, value, RK_FACT_DERIVED, NULL);
    }
}

const char *rk_launch_value_or(rk_launch *launch, const char *key, const char *usual)
{
    const char *value = rk_launch_value(launch, key);
    return value ? value : usual;
}
