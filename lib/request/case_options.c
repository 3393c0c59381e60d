/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the job of a measured run as options: model, stack, machine and strategy. */
#include "request/case_options.h"

#include "base/error.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "evidence/run_facts.h"
#include "io/json_memory.h"
#include "layer/all_kinds.h"
#include "model/model_doc.h"
#include "request/field_options.h"
#include "request/option_values.h"
#include "stack/stack_doc.h"
#include "strategy/strategy_fields.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rk_case_extent_names[] = {"whole", "stated", NULL};

/* ---- words ----------------------------------------------------------------------------------- */

static void add(rk_case_options *out, const char *name, const char *value)
{
    rk_bytes_add_text(&out->words, name);
    rk_bytes_add_text(&out->words, value);
    out->count++;
}

static void add_count(rk_case_options *out, const char *name, int64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    add(out, name, text);
}

/* Adds NAME=VALUE to the text of --set. */
static void add_setting(rk_bytes *set, const char *name, const char *value)
{
    if (set->size > 0) {
        rk_bytes_add(set, ",", 1);
    }
    rk_bytes_add(set, name, strlen(name));
    rk_bytes_add(set, "=", 1);
    rk_bytes_add(set, value, strlen(value));
}

/* The number that, in a unit, is the value to the last digit. */
static double in_unit(double value, double unit)
{
    assert(unit > 0);
    const double near = value / unit;
    const double tries[] = {near, nextafter(near, 0), nextafter(near, (double)INFINITY)};
    for (size_t i = 0; i < COUNT(tries); i++) {
        if (tries[i] * unit == value) {
            return tries[i];
        }
    }
    return near;
}

static void add_number(rk_bytes *set, const char *name, double value, double unit)
{
    char text[RK_NUMBER_TEXT_SIZE];
    add_setting(set, name, rk_double_text(in_unit(value, unit), text));
}

static void finish_settings(rk_case_options *out, rk_bytes *set)
{
    if (set->size > 0) {
        rk_bytes_add(set, "", 1);
        add(out, "set", set->failed ? "" : (const char *)set->data);
    }
    out->words.failed |= set->failed;
    rk_bytes_clear(set);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* The model: its name if it is the catalogue's, else its document. */
static void add_model(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                      const rk_run_case *run, rk_case_options *out)
{
    char name[64];
    json_t *document = rk_model_to_json(&run->model, &rk_all_kinds), *known = NULL;
    rk_run_model_named(table, row, name);
    const int place = rk_run_place(sources->model_names, sources->model_count, name);
    if (place >= 0) {
        rk_model same = sources->models[place];
        same.seq = run->model.seq;
        memcpy(same.name, run->model.name, sizeof(same.name));
        known = rk_model_to_json(&same, &rk_all_kinds);
    }
    char *text = document ? rk_json_dump(document, JSON_COMPACT) : NULL;
    out->words.failed |= !text || (place >= 0 && !known);
    add(out, "model", known && json_equal(document, known) ? name : text ? text : "");
    free(text);
    json_decref(document);
    json_decref(known);
}

/* The stack: a name that means it on the accelerator, or the document as it is. */
static rk_status add_stack(const rk_run_sources *sources, const rk_run_case *run, rk_bytes *set,
                           rk_case_options *out, rk_error *err)
{
    const char *name = sources->stack_names[run->stack];
    rk_stack chosen;
    const rk_status status =
        rk_stack_choose(name, &sources->systems[run->system].accelerator, &chosen, err);
    if (!status && strcmp(chosen.name, sources->stacks[run->stack].name) == 0) {
        add(out, "stack", name);
    } else if (!status) {
        add_setting(set, "stack", name);
    }
    return status;
}

/* Numbers of the stack that the run has otherwise. */
static void add_changes(const rk_run_sources *sources, const rk_run_case *run, rk_bytes *set)
{
    const rk_stack *before = &sources->stacks[run->stack];
    rk_stack after = *before;
    const rk_field *field;
    const char *group;
    rk_run_changes_apply(&run->changes, &after);
    for (size_t i = 0; (field = rk_stack_field_at(i, &group)) != NULL; i++) {
        char name[80];
        const void *old = (const char *)before + field->offset;
        const void *new = (const char *)&after + field->offset;
        (void)snprintf(name, sizeof(name), "%s.%s", group, field->name);
        if (field->type == RK_FIELD_BOOL && *(const bool *)old != *(const bool *)new) {
            add_setting(set, name, *(const bool *)new ? "true" : "false");
        } else if (field->type != RK_FIELD_BOOL && *(const double *)old != *(const double *)new) {
            add_number(set, name, *(const double *)new, rk_stack_unit(field));
        }
    }
}

static void add_system(const rk_run_sources *sources, const rk_run_case *run, rk_case_options *out)
{
    rk_system system = sources->systems[run->system];
    add(out, "system", sources->system_names[run->system]);
    if (run->machine.node > 0 && rk_system_set_node(&system, run->machine.node)) {
        add_count(out, "gpus-per-node", run->machine.node);
    }
}

static void add_machine(const rk_run_machine *m, const rk_system *system, int64_t accelerators,
                        rk_bytes *set)
{
    const struct {
        const char *name;
        double value, unit;
    } numbers[] = {
        {"network_GBps", m->network_bandwidth, 1e9},
        {"power_W", m->power, 1},
        {"memory_GBps", m->memory_bandwidth, 1e9},
        {"memory_GiB", m->memory_usable, GIB},
    };
    if (accelerators > system->tiers[system->tier_count - 1].size) {
        add_number(set, "system_accelerators", (double)accelerators, 1);
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        if (numbers[i].value > 0) {
            add_number(set, numbers[i].name, numbers[i].value, numbers[i].unit);
        }
    }
}

/* ---- a whole strategy ------------------------------------------------------------------------ */

/* Whether a field has a meaning in the strategy, and its option does not follow from others. */
static bool is_needed(const rk_strategy *s, const rk_field_option *field, const char *text)
{
    static const char *const without_none[] = {"cp_kind", "recompute_modules", "layout",
                                               "recipe",  "quantised_weights", "graph_modules"};
    const char *key = field->key;
    const bool alias = field->column && !field->column[0] && field->type == RK_OPTION_FLAG;
    bool needed = !alias && strcmp(text, "0") != 0 && strcmp(text, "no") != 0;
    for (size_t i = 0; i < COUNT(without_none); i++) {
        needed = needed && !(strcmp(key, without_none[i]) == 0 && strcmp(text, "none") == 0);
    }
    const rk_named_count meanings[] = {
        {"zero", !alias},
        {"hsdp_replicas", s->replicas > 1 && s->sharding != RK_SHARD_NONE},
        {"schedule", s->pp > 1},
        {"recipe", s->precision == RK_FP8},
        {"adapter_modules", s->adapter_rank > 0},
        {"nf4_weights", false}, /* quantised_weights says which */
        {"low_precision_weights", s->low_weights && !s->nf4_weights},
        {"cross_entropy", s->cross_entropy != RK_CROSS_ENTROPY_OF_STACK},
        {"loss_chunk_tokens", s->cross_entropy == RK_CROSS_ENTROPY_CHUNKED && needed},
    };
    needed = rk_named_count_of(meanings, COUNT(meanings), key, needed);
    return needed && strcmp(field->option, "dp") != 0 && !strstr(key, "_per_parameter");
}

/* All of the strategy but the bytes of its states. */
static void add_strategy(const rk_run_case *run, rk_case_options *out)
{
    char text[RK_STRATEGY_TEXT_SIZE];
    rk_strategy s = run->strategy;
    s.layout = run->layout;
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT; i++) {
        const rk_field_option *field = &rk_field_options[i];
        const char *value = rk_strategy_text(&s, rk_find_strategy_field(field->key), text);
        if (!is_needed(&s, field, value)) {
            continue;
        }
        for (char *c = text; field->type == RK_OPTION_SET && value == text && *c; c++) {
            *c = *c == '+' ? ',' : *c;
        }
        add(out, field->option,
            field->type == RK_OPTION_FLAG               ? ""
            : strcmp(field->key, "foreach_update") == 0 ? rk_update_choices[0]
                                                        : value);
    }
    if (!s.sp) {
        add(out, "no-sp", "");
    }
}

/*
 * Bytes of states of the trained parameters (adapters freeze the rest, and their options say so),
 * and what has no option.
 */
static void add_states(const rk_run_case *run, rk_bytes *set)
{
    const rk_state_recipe *states = &run->whole_states;
    const rk_strategy *s = &run->strategy;
    const rk_named_real others[] = {
        {"offload_layers", (double)s->offload_layers},
        {"adapter_bytes", s->adapter_bytes},
        {"logit_bytes", s->logit_bytes},
        {"sub_group_params", s->step_params},
    };
    add_number(set, "weight_bytes", states->weight, 1);
    add_number(set, "gradient_bytes", states->gradient, 1);
    add_number(set, "optimizer_bytes", states->optimizer, 1);
    add_number(set, "gather_bytes", states->gather, 1);
    add_number(set, "reduce_bytes", states->reduce, 1);
    for (size_t i = 0; i < COUNT(others); i++) {
        if (others[i].value > 0) {
            add_number(set, others[i].name, others[i].value, 1);
        }
    }
    if (s->wide_residual) {
        add_setting(set, "wide_residual", "true");
    }
    if (s->adapts_ends) {
        add_setting(set, "adapts_embeddings", "true");
    }
}

/* ---- cells of a row -------------------------------------------------------------------------- */

/* The option of the number in a column; NULL: none. */
static const char *option_of(rk_run_column column)
{
    const char *option = NULL;
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT; i++) {
        const rk_field_option *field = &rk_field_options[i];
        const bool number = field->type == RK_OPTION_COUNT || field->type == RK_OPTION_COUNTS;
        if (number && field->column && strcmp(field->column, rk_run_column_names[column]) == 0 &&
            strcmp(field->option, "zero") != 0) {
            option = field->option;
        }
    }
    return option;
}

/* Columns that the options of the model and of the system say, and what is no fact of a job. */
static bool is_elsewhere(rk_run_column column)
{
    static const rk_run_column elsewhere[] = {
        RK_RUN_ID,
        RK_RUN_PART,
        RK_RUN_SOURCE,
        RK_RUN_RELEASE,
        RK_RUN_LAYERS,
        RK_RUN_HIDDEN,
        RK_RUN_FFN,
        RK_RUN_HEADS,
        RK_RUN_KV_HEADS,
        RK_RUN_HEAD_SIZE,
        RK_RUN_VOCAB,
        RK_RUN_EXPERTS,
        RK_RUN_TOP_K,
        RK_RUN_EXPERT_FFN,
        RK_RUN_SHARED_EXPERTS,
        RK_RUN_PER_NODE,
        RK_RUN_FLAGS,
        RK_RUN_OUTCOME,
        RK_RUN_STEP_SECONDS,
        RK_RUN_TOKENS_PER_SECOND,
        RK_RUN_TFLOPS,
        RK_RUN_MFU,
        RK_RUN_MEMORY,
        RK_RUN_INTERCONNECT,
        RK_RUN_TIER,
        RK_RUN_SPLIT,
        RK_RUN_NOTES,
        RK_RUN_SYSTEM,
        RK_RUN_ARCHITECTURE,
        RK_RUN_MIXER,
        RK_RUN_UNREAD,
    };
    bool found = false;
    for (size_t i = 0; i < COUNT(elsewhere); i++) {
        found = found || elsewhere[i] == column;
    }
    return found;
}

static void add_cells(const rk_run_table *table, size_t row, rk_bytes *set, rk_case_options *out)
{
    for (int i = 0; i < RK_RUN_COLUMN_COUNT; i++) {
        const rk_run_column column = (rk_run_column)i;
        const char *cell = rk_run_cell(table, row, column), *option = option_of(column);
        if (!cell[0] || is_elsewhere(column)) {
            continue;
        }
        if (option) {
            add(out, option, cell);
        } else {
            add_setting(set, rk_run_column_names[i], cell);
        }
    }
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        const char *cell = rk_run_fact_cell(table, row, i);
        if (cell[0] && rk_run_fact_column(i) == RK_RUN_COLUMN_COUNT) {
            add_setting(set, rk_run_fact_fields[i].name, cell);
        }
    }
}

rk_status rk_case_options_of(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                             const rk_run_case *run, rk_case_extent extent, rk_case_options *out,
                             rk_error *err)
{
    rk_status status = RK_OK;
    rk_bytes set = {0};
    *out = (rk_case_options){.count = 0};
    add_model(sources, table, row, run, out);
    add(out, "framework", rk_framework_names[RK_FRAMEWORK_ANY]);
    add_system(sources, run, out);
    if (extent == RK_CASE_STATED) {
        add(out, "complete", "observed");
        add_cells(table, row, &set, out);
    } else {
        add_machine(&run->machine, &sources->systems[run->system],
                    rk_strategy_ranks(&run->strategy), &set);
        status = add_stack(sources, run, &set, out, err);
        add_strategy(run, out);
        add_changes(sources, run, &set);
        add_states(run, &set);
    }
    finish_settings(out, &set);
    return status              ? status
           : out->words.failed ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for the options")
                               : RK_OK;
}
