/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a row as facts. */
#include "base/error.h"
#include "base/text.h"
#include "evidence/run_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MAX = 128 };

/* Usual words for the values of columns, without what joins them. */
static const struct {
    const char *column, *word, *value;
} synonyms[] = {
    {"sharding", "zero0", "none"},
    {"sharding", "ddp", "none"},
    {"sharding", "noshard", "none"},
    {"sharding", "zero1", "optimizer"},
    {"sharding", "optim", "optimizer"},
    {"sharding", "distributedoptimizer", "optimizer"},
    {"sharding", "zero2", "gradients"},
    {"sharding", "optimgrads", "gradients"},
    {"sharding", "shardgradop", "gradients"},
    {"sharding", "zero3", "all"},
    {"sharding", "fullshard", "all"},
    {"sharding", "hsdp", "all"},
    {"sharding", "fsdp", "all"},
    {"sharding", "fsdp2", "all"},
    {"sharding", "megatronfsdp", "all"},
    {"sharding", "optimgradsparams", "all"},
    {"sharding", "0", "none"},
    {"sharding", "1", "optimizer"},
    {"sharding", "2", "gradients"},
    {"sharding", "3", "all"},
    {"recompute_modules", "coreattn", "core_attention"},
    {"recompute_modules", "layernorm", "norm"},
    {"recompute_modules", "act", "activation"},
    {"recompute_modules", "moeact", "activation"},
    {"recompute_modules", "mlaupproj", "mla_up"},
    {"cp_kind", "allgather", "all_gather"},
    {"rank_order", "tpcpepdppp", "tp-cp-dp-pp"},
    {"rank_order", "tpcpepppdp", "tp-cp-pp-dp"},
    {"recompute", "true", "full"},
    {"recompute", "false", "none"},
    {"precision", "bfloat16", "bf16"},
    {"precision", "float16", "fp16"},
    {"precision", "float32", "fp32"},
    {"precision", "float8", "fp8"},
    {"precision", "mxfp8", "fp8"}, /* and a rule of defaults.json sets the recipe */
    {"precision", "nvfp4", "fp4"},
    {"fp8_recipe", "hybrid", "delayed"},
    {"fp8_recipe", "delayedscaling", "delayed"},
    {"fp8_recipe", "current", "tensorwise"},
    {"fp8_recipe", "currentscaling", "tensorwise"},
    {"fp8_recipe", "blockscaling", "blockwise"},
    {"attention_kernel", "flash", "usual"},
    {"attention_kernel", "cudnnfp8", "cudnn_fp8"},
    {"attention_kernel", "cudnnmxfp8", "cudnn_mxfp8"},
    {"attention_kernel", "fa2", "flash_attention_2"},
    {"attention_kernel", "flashattention2", "flash_attention_2"},
    {"attention_kernel", "fa3", "flash_attention_3"},
    {"attention_kernel", "flashattention3", "flash_attention_3"},
};

static json_t *name_of(const char *column, const char *cell)
{
    char text[CELL_MAX], word[CELL_MAX];
    size_t i = 0, letters = 0;
    for (; cell[i] && i + 1 < sizeof(text); i++) {
        text[i] = rk_lower(cell[i]);
        if (!strchr("-_ ", text[i])) {
            word[letters++] = text[i];
        }
    }
    text[i] = word[letters] = '\0';
    for (i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++) {
        if (strcmp(synonyms[i].column, column) == 0 && strcmp(synonyms[i].word, word) == 0) {
            return json_string(synonyms[i].value);
        }
    }
    return json_string(text);
}

static json_t *truth_of(const char *column, const char *cell)
{
    json_t *name = name_of(column, cell);
    const char *text = json_string_value(name);
    if (!text) {
        return NULL;
    }
    const bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    const bool no = strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    if (!yes && !no) {
        return name;
    }
    json_decref(name);
    return json_boolean(yes);
}

static json_t *number_of(const char *cell, bool whole)
{
    char *end = NULL;
    const double value = strtod(cell, &end);
    if (end == cell || *end != '\0') {
        return json_string(cell);
    }
    const bool integer = whole && value >= 0 && value < 1e9 && value == (double)(int64_t)value;
    return integer ? json_integer((json_int_t)value) : json_real(value);
}

/* "norm+mlp" */
static json_t *list_of(const char *column, const char *cell)
{
    char name[CELL_MAX];
    json_t *list = json_array();
    while (list && *cell) {
        const size_t length = strcspn(cell, "+");
        (void)snprintf(name, sizeof(name), "%.*s", (int)length, cell);
        if (json_array_append_new(list, name_of(column, name))) {
            json_decref(list);
            return NULL;
        }
        cell += length + (cell[length] == '+');
    }
    return list;
}

/* Whether a column holds a list of names. */
static bool is_list(const char *column)
{
    const size_t length = strlen(column);
    return strcmp(column, "offload") == 0 ||
           (length > 8 && strcmp(column + length - 8, "_modules") == 0);
}

static json_t *value_of(const rk_field *field, const char *cell)
{
    switch (field->type) {
    case RK_FIELD_INT:
    case RK_FIELD_NUMBER:
        return number_of(cell, field->type == RK_FIELD_INT);
    case RK_FIELD_BOOL:
        return truth_of(field->name, cell);
    case RK_FIELD_ENUM:
        return name_of(field->name, cell);
    default:
        return is_list(field->name) ? list_of(field->name, cell) : json_string(cell);
    }
}

static bool is_ascii(const char *text)
{
    while (*text && (unsigned char)*text < 0x80) {
        text++;
    }
    return *text == '\0';
}

rk_status rk_run_facts_read(const rk_run_table *table, size_t row, rk_run_facts *facts,
                            rk_error *err)
{
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        const rk_field *field = &rk_run_fact_fields[i];
        const char *cell = rk_run_fact_cell(table, row, i);
        if (cell[0] == '\0') {
            continue;
        }
        json_t *value = value_of(field, cell);
        if (!value) {
            return is_ascii(cell)
                       ? rk_fail(err, RK_ERR_MEMORY, "not enough memory to read a row")
                       : rk_fail(err, RK_ERR_INVALID, "column %s: not UTF-8", field->name);
        }
        rk_error fault;
        const rk_status status = rk_field_read(value, field->name, field, facts, &fault);
        json_decref(value);
        if (status) {
            return rk_fail(err, status, "column %s: %s", field->name, fault.message);
        }
    }
    return RK_OK;
}
