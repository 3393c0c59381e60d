/* SPDX-License-Identifier: Apache-2.0 */
/* Turns options and --set items into a run-table row, completes it, and reads the strategy back. */
#include "request/run_row.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/extremes.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "evidence/infer.h"
#include "request/derived_sizes.h"
#include "request/field_options.h"
#include "request/option_values.h"
#include "request/what_if.h"
#include "stack/stack_doc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text of --set ----------------------------------------------------------------------- */

enum { ITEM_MAX = 96 };

#define OFFLOAD_ACTIVATIONS 2U /* of rk_request_offloads */

typedef struct items {
    char *text; /* owned; cut into the parts below */
    const char *names[ITEM_MAX], *values[ITEM_MAX];
    int count;
} items;

static bool is_name_letter(char c)
{
    return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.", c);
}

/* The end of a name and its '='; NULL: the text is none. */
static char *end_of_name(char *text)
{
    char *end = text;
    while (is_name_letter(*end)) {
        end++;
    }
    return end > text && *end == '=' ? end : NULL;
}

/* The comma that ends a value: one before the next name, so that values may have commas. */
static char *end_of_value(char *text)
{
    char *comma = strchr(text, ',');
    while (comma && !end_of_name(comma + 1)) {
        comma = strchr(comma + 1, ',');
    }
    return comma;
}

static rk_status split(const char *text, items *out, rk_error *err)
{
    *out = (items){.text = strdup(text)};
    if (!out->text) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for --set");
    }
    char *next = NULL;
    for (char *at = out->text; at; at = next) {
        char *equals = end_of_name(at), *comma = end_of_value(at);
        if (!equals || out->count == ITEM_MAX) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--set needs up to %d items such as nvlink.size=72,compile=false, not "
                           "'%.60s'",
                           ITEM_MAX, at);
        }
        *equals = '\0';
        next = comma ? comma + 1 : NULL;
        if (comma) {
            *comma = '\0';
        }
        out->names[out->count] = at;
        out->values[out->count++] = equals + 1;
    }
    return RK_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Facts without an option of their own, and the values of those that rules read. */
static const rk_named_text settable[] = {
    {"memory", NULL},
    {"hbm", NULL},
    {"peak", NULL},
    {"host_memory", NULL},
    {"host_link", NULL},
    {"stack", NULL},
    {"system_accelerators", NULL},
    {"network_GBps", NULL},
    {"power_W", NULL},
    {"memory_GBps", NULL},
    {"memory_GiB", NULL},
    {"offload_layers", NULL},
    {"weight_bytes", NULL},
    {"gradient_bytes", NULL},
    {"optimizer_bytes", NULL},
    {"gather_bytes", NULL},
    {"reduce_bytes", NULL},
    {"adapter_bytes", NULL},
    {"logit_bytes", NULL},
    {"sub_group_params", NULL},
    {"wide_residual", NULL},
    {"adapts_embeddings", NULL},
    {"routing", "uniform in_turn natural"},
    {"compile", "true false"},
    {"scan_layers", "true false"},
    {"chunk_overlap", "true false"},
    {"fused_activation", "true false"},
    {"dropout", "true false"},
    {"adapter_dropout", "true false"},
    {"tiled_mlp", "true false"},
    {"expert_loop", "true false"},
    {"trainer", "litgpt optimum-habana fms-acceleration"},
    {"launch_blocking", "true false"},
    {"composed", "true false"},
    {"fp8_cast", "fused eager"},
    {"fabric", "efa"},
    {"network_state", "normal slow"},
    {"dispatcher", "alltoall deepep hybridep"},
    {"loss_fusion", "none native fused"},
    {"permute_fusion", "true false"},
    {"kernels", "framework transformer-engine fused"},
};

/* Whether a word is among words between blanks. */
static bool is_among(const char *word, const char *words)
{
    const size_t length = strlen(word);
    while (words && *words) {
        const size_t next = strcspn(words, " ");
        if (next == length && strncmp(words, word, length) == 0) {
            return true;
        }
        words += next + (words[next] == ' ');
    }
    return false;
}

static bool is_column(const char *name)
{
    bool found = false;
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        found = found || strcmp(rk_run_fact_fields[i].name, name) == 0;
    }
    for (size_t i = 0; rk_run_column_names[i]; i++) {
        found = found || strcmp(rk_run_column_names[i], name) == 0;
    }
    return found;
}

static rk_status fail_name(const char *name, rk_error *err)
{
    const char *names[COUNT(settable)];
    for (size_t i = 0; i < COUNT(settable); i++) {
        names[i] = settable[i].name;
    }
    const char *nearest = rk_nearest_name(name, names, COUNT(settable));
    if (is_column(name)) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "--set %.60s: strategies have options for it ('reckon estimate --help'); as a "
            "fact of a run it needs --complete observed",
            name);
    }
    return nearest
               ? rk_fail(err, RK_ERR_INVALID, "--set %.60s: no such fact; did you mean %s?", name,
                         nearest)
               : rk_fail(err, RK_ERR_INVALID,
                         "--set %.60s: no such fact; docs/completion.md lists them, and numbers of "
                         "the stack are named as in its document: traffic.activation_passes",
                         name);
}

static rk_status check_item(const char *name, const char *value, bool observed, rk_error *err)
{
    for (size_t i = 0; i < COUNT(settable); i++) {
        if (strcmp(settable[i].name, name) == 0) {
            return !settable[i].text || is_among(value, settable[i].text)
                       ? RK_OK
                       : rk_fail(err, RK_ERR_INVALID, "--set %s: expected one of %s, found '%.60s'",
                                 name, settable[i].text, value);
        }
    }
    return strchr(name, '.') || rk_what_if_names(name) || (observed && is_column(name))
               ? RK_OK
               : fail_name(name, err);
}

/* Whether an item is one that rules read, and not a number of the machine or of states. */
static bool reads_rules(const items *said)
{
    bool reads = false;
    for (size_t i = 0; i < COUNT(settable); i++) {
        for (int item = 0; item < said->count; item++) {
            reads = reads || (settable[i].text && strcmp(settable[i].name, said->names[item]) == 0);
        }
    }
    return reads;
}

/* Sets a number of the stack, named "group.key". */
static rk_status set_number(const rk_field *field, const char *name, const char *value,
                            rk_stack *stack, rk_error *err)
{
    char *end = NULL;
    void *place = (char *)stack + field->offset;
    if (field->type == RK_FIELD_BOOL) {
        if (!is_among(value, "true false")) {
            return rk_fail(err, RK_ERR_INVALID, "--set %s: expected true or false, found '%.60s'",
                           name, value);
        }
        *(bool *)place = strcmp(value, "true") == 0;
        return RK_OK;
    }
    const double number = strtod(value, &end);
    if (end == value || *end || !(number >= field->min && number <= field->max)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--set %s: expected a number from %g to %g, found "
                       "'%.60s'",
                       name, field->min, field->max, value);
    }
    *(double *)place = number * rk_stack_unit(field);
    return RK_OK;
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* A table of one row while it is written. */
typedef struct row_text {
    rk_bytes names, cells;
} row_text;

static void add_cell(row_text *row, const char *name, const char *value)
{
    if (row->names.size > 0) {
        rk_bytes_add(&row->names, ",", 1);
        rk_bytes_add(&row->cells, ",", 1);
    }
    rk_bytes_add(&row->names, name, strlen(name));
    rk_bytes_add(&row->cells, "\"", 1);
    for (; *value; value++) {
        rk_bytes_add(&row->cells, *value == '"' ? "\"\"" : value, *value == '"' ? 2 : 1);
    }
    rk_bytes_add(&row->cells, "\"", 1);
}

static void add_truth(row_text *row, const char *name, bool value)
{
    add_cell(row, name, value ? "true" : "false");
}

/* Layers of stages as "6+9+9+8". */
static void add_stages(row_text *row, const rk_request *r)
{
    char text[8 * RK_LAYOUT_MAX];
    size_t used = 0;
    for (int i = 0; i < r->layout_count; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? "+" : "", r->layout[i]);
    }
    if (used) {
        add_cell(row, "stage_layers", text);
    }
}

/* Options that several columns say, or one in another form. */
static void add_others(row_text *row, const rk_request *r)
{
    static const char *const overlaps[] = {"tp_overlap", "grad_overlap", "param_overlap", NULL,
                                           "moe_overlap"};
    add_stages(row, r);
    if (r->no_sp) {
        add_truth(row, "seq_parallel", false);
    }
    if (r->zero.count == 0 && r->distributed_optimizer) {
        add_cell(row, "sharding", "optimizer");
    }
    if (!r->orders && r->pipeline_first) {
        add_cell(row, "rank_order", rk_rank_order_names[RK_ORDER_PIPELINE_DATA]);
    }
    if (!r->recomputes && r->modules) {
        add_cell(row, "recompute", rk_recompute_kind_names[RK_REC_SELECTIVE]);
    }
    for (unsigned i = 0; i < COUNT(overlaps) && r->overlaps; i++) {
        if (overlaps[i]) {
            add_truth(row, overlaps[i], r->overlaps >> (1 + i) & 1U);
        }
    }
    if (r->offloads) {
        add_truth(row, "offload_activations", rk_request_offloads(r) & OFFLOAD_ACTIVATIONS);
    }
    if (r->attention >= 0) {
        add_truth(row, "flash_attention", rk_request_is_flash(r));
    }
    if (rk_request_kernel(r) != RK_KERNEL_OF_STACK) {
        add_cell(row, "attention_kernel", rk_attention_choices[r->attention]);
    }
    if (r->lora_rank > 0) {
        add_cell(row, "task", "lora");
    }
}

/* The cells of the options. */
static void add_options(row_text *row, const rk_request *r)
{
    char cell[RK_FIELD_CELL_SIZE];
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT; i++) {
        const rk_field_option *field = &rk_field_options[i];
        if (field->column && field->column[0] && rk_field_cell(field, r, cell)[0]) {
            add_cell(row, field->column, cell);
        }
    }
    add_others(row, r);
}

static const char *value_of(const items *said, const char *name)
{
    for (int i = 0; i < said->count; i++) {
        if (strcmp(said->names[i], name) == 0) {
            return said->values[i];
        }
    }
    return NULL;
}

/* Model, accelerator and framework, where --set does not say them. */
static void add_identity(row_text *row, const rk_inputs *inputs, const items *said)
{
    const rk_named_text identity[] = {
        {"model", inputs->model.name},
        {"accelerator", inputs->system.accelerator.name},
        {"framework", inputs->software.framework == RK_FRAMEWORK_ANY
                          ? ""
                          : rk_framework_names[inputs->software.framework]},
    };
    for (size_t i = 0; i < COUNT(identity); i++) {
        if (!value_of(said, identity[i].name)) {
            add_cell(row, identity[i].name, identity[i].text);
        }
    }
}

static rk_status make_table(const rk_request *r, const rk_inputs *inputs, const items *said,
                            rk_run_table *table, rk_error *err)
{
    const bool observed = r->policy == RK_POLICY_OBSERVED;
    row_text row = {0};
    add_identity(&row, inputs, said);
    if (observed) {
        add_options(&row, r);
    }
    for (int i = 0; i < said->count; i++) {
        if (!strchr(said->names[i], '.') && !rk_what_if_names(said->names[i])) {
            add_cell(&row, said->names[i], said->values[i]);
        }
    }
    rk_bytes_add(&row.names, "\n", 1);
    rk_bytes_add(&row.names, row.cells.data, row.cells.size);
    rk_bytes_add(&row.names, "\n", 1);
    const rk_status status = row.names.failed || row.cells.failed
                                 ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for --set")
                                 : rk_run_table_parse((const char *)row.names.data, row.names.size,
                                                      "the question", table, err);
    rk_bytes_clear(&row.names);
    rk_bytes_clear(&row.cells);
    return status;
}

/* ---- an observed run ------------------------------------------------------------------------- */

/* Refuses what no row can say. */
static rk_status check_observed(const rk_request *r, rk_error *err)
{
    const bool offloads = r->offloads && (rk_request_offloads(r) & ~OFFLOAD_ACTIVATIONS);
    const char *refused = offloads ? "offload" : NULL;
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT && !refused; i++) {
        const rk_field_option *field = &rk_field_options[i];
        refused = !field->column && rk_field_given(field, r) ? field->option : NULL;
    }
    if (refused) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--complete observed does not take --%s; leave one of the two out", refused);
    }
    return r->accelerators ? RK_OK
                           : rk_fail(err, RK_ERR_INVALID,
                                     "--accelerators is missing: --complete observed "
                                     "needs it, as in 64xh100");
}

/* The strategy's field that a column says; NULL: none. */
static const char *field_of(const char *column)
{
    static const rk_named_text others[] = {
        {"recompute_every", "recompute_layers"},
        {"shard_ranks", "hsdp_replicas"},
        {"flash_attention", "attention"},
        {"attention_kernel", "attention"},
        {"tp_overlap", "overlap"},
        {"grad_overlap", "overlap"},
        {"param_overlap", "overlap"},
        {"moe_overlap", "overlap"},
        {"offload_activations", "offload"},
        {"weight_bytes", "weight_bytes_per_parameter"},
        {"gradient_bytes", "gradient_bytes_per_parameter"},
        {"optimizer_bytes", "optimizer_bytes_per_parameter"},
        {"gather_bytes", "gather_bytes_per_parameter"},
        {"reduce_bytes", "reduce_bytes_per_parameter"},
    };
    const char *field = rk_named_text_of(others, COUNT(others), column, NULL);
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT; i++) {
        const char *own = rk_field_options[i].column;
        field = own && own[0] && strcmp(own, column) == 0 ? rk_field_options[i].key : field;
    }
    return field;
}

/* Where the fields come from that cells of rows say. */
static void set_origins(const rk_run_table *table, const rk_request *r, uint64_t assumed,
                        rk_origins *origins)
{
    *origins = rk_origins_default();
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        const char *field = field_of(rk_run_column_names[column]);
        if (field && assumed & rk_run_column_bit(column)) {
            rk_origin_set(origins, field, RK_ORIGIN_ASSUMED);
        }
    }
    for (size_t at = 0; at < table->columns; at++) {
        const char *field = field_of(table->cells[at]);
        if (field) {
            rk_origin_set(origins, field, RK_ORIGIN_STATED);
        }
    }
    if (r->assumed_batch) {
        rk_origin_set(origins, "global_batch", RK_ORIGIN_ASSUMED);
    }
    if (!r->seq) {
        rk_origin_set(origins, "seq_tokens", RK_ORIGIN_ASSUMED);
    }
}

_Static_assert(RK_LAYOUT_MAX == RK_KNOWN_STAGES_MAX,
               "layouts of requests and of rk_partial_strategy");

static rk_status infer(const rk_request *r, const rk_run_table *table, uint64_t assumed,
                       rk_inputs *inputs, rk_error *err)
{
    bool no_memory = false;
    rk_completed_strategy *completed = &inputs->completed;
    rk_inference *run = malloc(sizeof(*run));
    if (!run) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to complete a strategy");
    }
    *run = (rk_inference){.model = &inputs->model,
                          .system = &inputs->system,
                          .stack = &inputs->software.stack,
                          .framework = inputs->software.source == RK_FRAMEWORK_GIVEN
                                           ? inputs->software.framework
                                           : RK_FRAMEWORK_ANY,
                          .known = inputs->settings.facts.known,
                          .no_memory = &no_memory};
    rk_status status = rk_run_known_of(table, 0, assumed, &run->known, err);
    run->known.seq = r->seq;
    set_origins(table, r, assumed, &run->origins);
    status = status ? status : rk_infer_strategy(run, err);
    if (no_memory) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory to complete a strategy");
    }
    if (!status) {
        inputs->software.stack.transposes_again |= run->transposes_again;
        completed->done = true;
        completed->strategy = run->strategy;
        memcpy(completed->layout, run->layout, sizeof(completed->layout));
        completed->origins = run->origins;
    }
    free(run);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/*
 * Accelerators of the whole system if it has more than its document: as --set says, and for an
 * observed run at least those that it used.
 */
static rk_status widen(const rk_request *r, const items *said, rk_system *system, rk_error *err)
{
    const char *value = value_of(said, "system_accelerators");
    int64_t *size = &system->tiers[system->tier_count - 1].size;
    int64_t wanted = r->policy == RK_POLICY_OBSERVED ? r->accelerators : 0;
    if (value) {
        char *end = NULL;
        wanted = strtoll(value, &end, 10);
        if (wanted < *size || wanted > RK_DEGREE_MOST || *end) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--set system_accelerators: expected a number from %" PRId64
                           ", as %s has, to %d, found '%.60s'",
                           *size, system->name, RK_DEGREE_MOST, value);
        }
    }
    *size = wanted > *size ? wanted : *size;
    return RK_OK;
}

/* Applies a number of the stack or of the machine; other items are facts. */
static rk_status apply_number(const char *name, const char *value, rk_inputs *inputs, rk_error *err)
{
    rk_settings *settings = &inputs->settings;
    const int count = settings->change_count;
    const rk_field *field = rk_stack_field(name);
    if (field) {
        return set_number(field, name, value, &inputs->software.stack, err);
    }
    if (!strchr(name, '.') && !rk_what_if_names(name)) {
        return RK_OK;
    }
    if (count == RK_WHAT_IF_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "--set changes up to %d numbers of a system", count);
    }
    const rk_status status = rk_what_if_set(name, value, &inputs->system, &settings->changed[count],
                                            &settings->now[count], err);
    settings->change_count += !status;
    return status;
}

static rk_status apply(const rk_request *r, const items *said, const rk_run_table *table,
                       const rk_run_changes *changes, rk_inputs *inputs, rk_error *err)
{
    const rk_run_facts *facts = &inputs->settings.facts;
    rk_run_machine machine = {0};
    rk_stack *stack = &inputs->software.stack;
    rk_status status = RK_OK;
    const bool named = table->at[RK_RUN_STACK] >= 0;
    if (named || (r->policy == RK_POLICY_OBSERVED && !r->stack)) {
        status =
            rk_stack_load(named ? rk_run_cell(table, 0, RK_RUN_STACK) : facts->stack, stack, err);
    }
    status = status ? status : rk_request_set_node(r, &inputs->system, err);
    rk_run_machine_of(facts, &machine);
    rk_run_machine_apply(&machine, &inputs->system);
    status = status ? status : widen(r, said, &inputs->system, err);
    rk_run_changes_apply(changes, stack);
    for (int i = 0; i < said->count && !status; i++) {
        status = apply_number(said->names[i], said->values[i], inputs, err);
    }
    return status ? status : rk_request_limit(r, &inputs->system, err);
}

static rk_status read_row(const rk_request *r, const items *said, rk_inputs *inputs, rk_error *err)
{
    const bool observed = r->policy == RK_POLICY_OBSERVED;
    rk_settings *settings = &inputs->settings;
    rk_run_sources rules = {.rules = NULL};
    rk_run_changes changes;
    rk_run_table table;
    uint64_t assumed = 0;
    rk_status status = make_table(r, inputs, said, &table, err);
    if (status) {
        return status;
    }
    status = observed || reads_rules(said) ? rk_run_rules_load(&rules, err) : RK_OK;
    status = status ? status
                    : rk_run_facts_of(&rules, observed ? RK_RUN_RULES_ALL : RK_RUN_RULES_OF_CELLS,
                                      &table, 0, &settings->facts, &changes, &assumed, err);
    status = status ? status : apply(r, said, &table, &changes, inputs, err);
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        settings->said[i] = table.fact_at[i] >= 0;
    }
    if (!status && observed) {
        status = infer(r, &table, assumed, inputs, err);
    }
    rk_run_sources_clear(&rules);
    rk_run_table_clear(&table);
    return status;
}

rk_status rk_request_settle_facts(const rk_request *r, rk_inputs *inputs, rk_error *err)
{
    const bool observed = r->policy == RK_POLICY_OBSERVED;
    items said = {0};
    inputs->settings = (rk_settings){.facts = rk_run_facts_default};
    inputs->completed.done = false;
    if (!r->settings && !observed) {
        return rk_request_limit(r, &inputs->system, err);
    }
    rk_status status = observed ? check_observed(r, err) : RK_OK;
    status = status || !r->settings ? status : split(r->settings, &said, err);
    for (int i = 0; i < said.count && !status; i++) {
        status = check_item(said.names[i], said.values[i], observed, err);
    }
    status = status ? status : read_row(r, &said, inputs, err);
    free(said.text);
    return status;
}

bool rk_settings_say(const rk_settings *settings, size_t offset)
{
    bool say = false;
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        say = say || (settings->said[i] &&
                      rk_run_fact_fields[i].offset == offsetof(rk_run_facts, known) + offset);
    }
    return say;
}

void rk_request_set_strategy(const rk_request *request, const rk_settings *settings, rk_strategy *s)
{
    const rk_partial_strategy *known = &settings->facts.known;
    const struct {
        size_t offset;
        double *place;
        double value;
    } states[] = {
        {offsetof(rk_partial_strategy, states.weight), &s->states.weight, known->states.weight},
        {offsetof(rk_partial_strategy, states.gradient), &s->states.gradient,
         known->states.gradient},
        {offsetof(rk_partial_strategy, states.optimizer), &s->states.optimizer,
         known->states.optimizer},
        {offsetof(rk_partial_strategy, states.gather), &s->states.gather, known->states.gather},
        {offsetof(rk_partial_strategy, states.reduce), &s->states.reduce, known->states.reduce},
        {offsetof(rk_partial_strategy, adapter_bytes), &s->adapter_bytes, known->adapter_bytes},
        {offsetof(rk_partial_strategy, logit_bytes), &s->logit_bytes, known->logit_bytes},
        {offsetof(rk_partial_strategy, sub_group_params), &s->step_params, known->sub_group_params},
    };
    if (!request->settings) {
        return;
    }
    for (size_t i = 0; i < COUNT(states); i++) {
        if (rk_settings_say(settings, states[i].offset)) {
            *states[i].place = states[i].value;
        }
    }
    s->offload_layers = known->offload_layers;
    s->wide_residual = known->wide_residual && s->nf4_weights;
    s->adapts_ends = known->adapts_ends && request->lora_rank > 0;
    s->imbalance = s->imbalance > 1 ? s->imbalance : rk_max(known->imbalance, 1);
}

/* Nothing overlaps where the host waits for every kernel. */
void rk_request_stop_overlaps(const rk_request *request, const rk_stack *stack, rk_strategy *s)
{
    if (stack->blocks_launches && !request->overlaps) {
        s->tp_overlap = s->grad_overlap = s->param_overlap = s->moe_overlap = false;
    }
}
