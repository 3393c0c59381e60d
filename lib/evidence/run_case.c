/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a table as the inputs of an estimate. */
#include "base/error.h"
#include "base/extremes.h"
#include "base/named.h"
#include "base/units.h"
#include "evidence/infer.h"
#include "evidence/run_facts.h"
#include "layer/precision.h"
#include "system/flash_lent.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run while its row is read. */
typedef struct filling {
    rk_run_case *run;
    rk_run_facts facts;
    uint64_t assumed; /* bits of columns */
    rk_system system; /* the run's own */
    rk_stack stack;
    rk_inference inference;
} filling;

/* Degrees and batch, where the row states them. */
static rk_status read_degrees(const rk_run_table *table, size_t row, rk_partial_strategy *out,
                              rk_error *err)
{
    const rk_run_whole_number list[] = {
        {RK_RUN_ACCELERATORS, &out->ranks},
        {RK_RUN_TP, &out->tp},
        {RK_RUN_PP, &out->pp},
        {RK_RUN_VP, &out->vp},
        {RK_RUN_CP, &out->cp},
        {RK_RUN_EP, &out->ep},
        {RK_RUN_ETP, &out->etp},
        {RK_RUN_DP, &out->dp},
        {RK_RUN_MICRO_BATCH, &out->micro_batch},
        {RK_RUN_GLOBAL_BATCH, &out->global_batch},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        double value = (double)*list[i].place; /* by a rule */
        rk_status status = rk_run_number(table, row, list[i].column, &value, err);
        if (status) {
            return status;
        }
        if (value > RK_DEGREE_MOST) {
            return rk_fail(err, RK_ERR_INVALID, "column %s: expected at most %d",
                           rk_run_column_names[list[i].column], RK_DEGREE_MOST);
        }
        *list[i].place = (int64_t)value;
    }
    if (out->ranks < 1 || out->global_batch < 1) {
        return rk_fail(err, RK_ERR_INVALID, "%s not stated",
                       out->ranks < 1 ? "number of accelerators" : "batch");
    }
    return RK_OK;
}

/* Layers of each stage, where the row states them: "6+9+9+8". */
static rk_status read_stages(const rk_run_table *table, size_t row, rk_partial_strategy *f,
                             rk_error *err)
{
    const char *cell = rk_run_cell(table, row, RK_RUN_STAGE_LAYERS);
    f->stage_count = 0;
    while (*cell) {
        char *end = NULL;
        const long layers = strtol(cell, &end, 10);
        if (end == cell || layers < 0 || layers > RK_LAYER_MAX || (*end && *end != '+') ||
            (*end && !end[1]) || f->stage_count == RK_KNOWN_STAGES_MAX) {
            return rk_fail(err, RK_ERR_INVALID,
                           "column stage_layers: expected the layers of up to %d stages such as "
                           "6+9+9+8, found '%.60s'",
                           RK_KNOWN_STAGES_MAX, rk_run_cell(table, row, RK_RUN_STAGE_LAYERS));
        }
        f->stages[f->stage_count++] = (int16_t)layers;
        cell = end + (*end == '+');
    }
    return RK_OK;
}

static rk_status set_documents(const rk_run_sources *sources, const rk_run_facts *facts,
                               rk_run_case *out, rk_error *err)
{
    out->stack = rk_run_place(sources->stack_names, sources->stack_count, facts->stack);
    out->system = rk_run_place(sources->system_names, sources->system_count, facts->system);
    rk_run_machine_of(facts, &out->machine);
    if (out->system < 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "accelerator without a document; name one in the column system");
    }
    return out->stack < 0 ? rk_fail(err, RK_ERR_INVALID, "no stack is known for such rows") : RK_OK;
}

/* Accelerators of a node, where the row states them. */
static rk_status read_node(const rk_run_table *table, size_t row, rk_run_case *out, rk_error *err)
{
    double node = 0;
    const rk_status status = rk_run_number(table, row, RK_RUN_PER_NODE, &node, err);
    out->machine.node = node >= 1 && node <= RK_DEGREE_MOST ? (int64_t)node : 0;
    return status;
}

/* The measured step; `peak`, FLOP/s, is what utilisation counts by. */
static rk_status set_measured(const rk_run_table *table, size_t row, const rk_run_facts *facts,
                              double peak, rk_run_case *out, rk_error *err)
{
    const rk_strategy *s = &out->strategy;
    double rate = 0, tflops = 0, mfu = 0, memory = 0;
    out->step_seconds = 0;
    rk_status status = rk_run_number(table, row, RK_RUN_STEP_SECONDS, &out->step_seconds, err);
    status = status ? status : rk_run_number(table, row, RK_RUN_TOKENS_PER_SECOND, &rate, err);
    status = status ? status : rk_run_number(table, row, RK_RUN_TFLOPS, &tflops, err);
    status = status ? status : rk_run_number(table, row, RK_RUN_MFU, &mfu, err);
    status = status ? status : rk_run_number(table, row, RK_RUN_MEMORY, &memory, err);
    tflops = tflops > 0 ? tflops : mfu * peak / 1e12;
    out->uncounted = out->step_seconds <= 0 && rate <= 0 && tflops > 0 && facts->rate == 0;
    if (rate <= 0 && tflops > 0 && facts->rate > 0) {
        const rk_flop_convention convention = (rk_flop_convention)(facts->rate - 1);
        rate = 1e12 * tflops / rk_model_flops_per_token(&out->model, s->seq, convention);
    }
    if (out->step_seconds <= 0 && rate > 0) {
        out->step_seconds =
            (double)s->global_batch * (double)s->seq / (rate * (double)rk_strategy_ranks(s));
    }
    out->step_seconds = facts->untimed ? 0 : out->step_seconds;
    out->memory = memory * (facts->decimal_memory ? 1e9 : GIB);
    out->memory_kind = facts->memory;
    out->first_stage = facts->first_stage;
    out->out_of_memory = facts->out_of_memory;
    out->convention = facts->flops;
    return status;
}

/*
 * The framework of a row that names none, or one that no rule knows, is a guess where the stack
 * follows from it.
 */
static uint64_t guessed_framework(const rk_run_table *table, size_t row)
{
    const bool known = rk_run_framework(rk_run_cell(table, row, RK_RUN_FRAMEWORK)) != NULL;
    return known || rk_run_cell(table, row, RK_RUN_STACK)[0] ? 0
                                                             : rk_run_column_bit(RK_RUN_FRAMEWORK);
}

/* The filled-in columns that matter to the run. */
static uint64_t that_matter(uint64_t assumed, const rk_strategy *s)
{
    return assumed & ~(s->tp > 1 ? 0 : rk_run_column_bit(RK_RUN_SP)) &
           ~(s->pp > 1 ? 0 : rk_run_column_bit(RK_RUN_VP));
}

static void name_assumed(uint64_t assumed, char out[RK_RUN_NOTE_SIZE])
{
    size_t length = 0;
    out[0] = '\0';
    for (int column = 0; assumed && column < RK_RUN_COLUMN_COUNT; column++) {
        if (assumed & rk_run_column_bit(column) && length + 32 < RK_RUN_NOTE_SIZE) {
            const int added = snprintf(out + length, RK_RUN_NOTE_SIZE - length, "%s%s",
                                       length ? ", " : "", rk_run_column_names[column]);
            length += added > 0 ? (size_t)added : 0;
        }
    }
}

static void set_group(const rk_run_table *table, size_t row, const rk_run_facts *facts,
                      rk_run_case *out)
{
    const char *part = rk_run_cell(table, row, RK_RUN_PART);
    (void)snprintf(out->group, sizeof(out->group), "%.63s",
                   facts->group[0] ? facts->group
                   : part[0]       ? part
                                   : "runs");
}

/* Columns that decide how much memory a run needs. */
#define DECIDE_MEMORY                                                                              \
    (rk_run_column_bit(RK_RUN_TP) | rk_run_column_bit(RK_RUN_PP) | rk_run_column_bit(RK_RUN_VP) |  \
     rk_run_column_bit(RK_RUN_CP) | rk_run_column_bit(RK_RUN_EP) | rk_run_column_bit(RK_RUN_SP) |  \
     rk_run_column_bit(RK_RUN_SHARDING) | rk_run_column_bit(RK_RUN_MICRO_BATCH) |                  \
     rk_run_column_bit(RK_RUN_RECOMPUTE) | rk_run_column_bit(RK_RUN_PRECISION) |                   \
     rk_run_column_bit(RK_RUN_VOCAB) | rk_run_column_bit(RK_RUN_HEADS))

/* Adds a column to the assumed ones if `assumed`. */
static bool note(bool assumed, const char *name, char out[RK_RUN_NOTE_SIZE])
{
    const size_t length = strlen(out);
    if (assumed) {
        (void)snprintf(out + length, RK_RUN_NOTE_SIZE - length, "%s%s", length ? ", " : "", name);
    }
    return assumed;
}

static bool states(const rk_run_table *table, size_t row, const char *fact)
{
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        if (strcmp(rk_run_fact_fields[i].name, fact) == 0) {
            return rk_run_fact_cell(table, row, i)[0] != '\0';
        }
    }
    return false;
}

/*
 * Whether the recomputed modules are a guess, as under policies of XLA that the source does not
 * name or that keep single tensors, or where a row only says "selective".  The step is predicted
 * with them.
 */
static bool guesses_modules(const filling *f, const rk_run_table *table, size_t row)
{
    const bool open = f->facts.known.recompute == RK_REC_SELECTIVE && f->facts.known.modules &&
                      states(table, row, "recompute") && !states(table, row, "recompute_modules");
    return open || strstr(rk_run_cell(table, row, RK_RUN_INFERRED), "recompute_modules") != NULL;
}

/* Whether it fits, or runs short of memory. */
static bool runs_now(const filling *f)
{
    return rk_infer_estimate(&f->inference).fits;
}

/* Whether the stated attention kernel has rates of another accelerator. */
static bool lends_kernel(const rk_run_sources *sources, const rk_run_case *run)
{
    const rk_attention_kernel kernel = run->strategy.attention_kernel;
    return rk_stack_lacks_kernel(&sources->stacks[run->stack], kernel) &&
           !rk_flash_is_measured(&sources->systems[run->system].accelerator,
                                 rk_flash_library_of(kernel));
}

/*
 * Whether a run of unknown software fits with the leanest states that some keep, all in 16 bits,
 * and not with those that are assumed.
 */
static bool rests_on_framework(filling *f)
{
    rk_state_recipe *states = &f->inference.strategy.states;
    const rk_state_recipe assumed = *states;
    const bool unknown = f->assumed & rk_run_column_bit(RK_RUN_FRAMEWORK);
    if (!unknown || runs_now(f)) {
        return false;
    }
    states->weight = states->gradient = rk_min(assumed.gradient, 2);
    states->optimizer = rk_min(assumed.optimizer, 4);
    const bool fits = runs_now(f);
    *states = assumed;
    return fits;
}

rk_status rk_run_known_of(const rk_run_table *table, size_t row, uint64_t assumed,
                          rk_partial_strategy *known, rk_error *err)
{
    known->guesses_recompute = assumed & rk_run_column_bit(RK_RUN_RECOMPUTE);
    known->guesses_sharding = assumed & rk_run_column_bit(RK_RUN_SHARDING);
    known->states_activations = states(table, row, "low_activations");
    const rk_status status = read_degrees(table, row, known, err);
    return status ? status : read_stages(table, row, known, err);
}

/* Completes the strategy, and notes the columns that were filled in. */
static rk_status infer(const rk_run_sources *sources, filling *f, bool *no_memory, rk_error *err)
{
    static const rk_named_count columns[] = {
        {"tp", RK_RUN_TP}, {"pp", RK_RUN_PP}, {"cp", RK_RUN_CP},
        {"ep", RK_RUN_EP}, {"vp", RK_RUN_VP}, {"micro_batch", RK_RUN_MICRO_BATCH}};
    rk_run_case *run = f->run;
    rk_inference *i = &f->inference;
    rk_run_system(run, &sources->systems[run->system], &f->system);
    f->stack = sources->stacks[run->stack];
    rk_run_changes_apply(&run->changes, &f->stack);
    *i = (rk_inference){.model = &run->model,
                        .system = &f->system,
                        .stack = &f->stack,
                        .known = f->facts.known,
                        .no_memory = no_memory,
                        .origins = rk_origins_default()};
    const rk_status status = rk_infer_strategy(i, err);
    if (status) {
        return status;
    }
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        const rk_origin origin = rk_origin_of(&i->origins, columns[c].name);
        const bool filled = origin == RK_ORIGIN_INFERRED || origin == RK_ORIGIN_ASSUMED;
        f->assumed |= filled ? rk_run_column_bit((int)columns[c].value) : 0;
    }
    if (i->transposes_again) {
        f->stack.transposes_again = true;
        run->changes.list[run->changes.count++] = (rk_run_change){
            .offset = offsetof(rk_stack, transposes_again), .boolean = true, .value = 1};
    }
    run->strategy = i->strategy;
    run->whole_states = i->known.states;
    run->whole_states.gradient += i->strategy.dp > 1 ? i->known.bucket_bytes : 0;
    memcpy(run->layout, i->layout, sizeof(run->layout));
    run->strategy.layout = run->strategy.layout_count > 0 ? run->layout : NULL;
    run->settled = i->recompute_inferred;
    return RK_OK;
}

/* Names the settings of 8 bits that were filled in. */
static bool note_settings(const rk_inference *run, char out[RK_RUN_NOTE_SIZE])
{
    const bool low = run->strategy.low_activations && !run->known.low_activations;
    return note(run->settings_inferred,
                low ? run->transposes_again ? "low_activations, transposed weights"
                                            : "low_activations"
                    : "transposed weights",
                out);
}

static rk_status fill(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                      filling *f, rk_error *err)
{
    bool no_memory = false;
    rk_run_case *out = f->run;
    rk_status status = rk_run_facts_of(sources, RK_RUN_RULES_ALL, table, row, &f->facts,
                                       &out->changes, &f->assumed, err);
    status = status ? status : rk_run_facts_named(table, row, &f->facts, err);
    set_group(table, row, &f->facts, out);
    if (!status && f->facts.unsupported[0]) {
        status = rk_fail(err, RK_ERR_INVALID, "%s", f->facts.unsupported);
    }
    /* memory tells nothing of a run that ran out of it */
    const uint64_t open = f->facts.out_of_memory ? 0 : f->assumed;
    status = status ? status : rk_run_known_of(table, row, open, &f->facts.known, err);
    status = status ? status : read_node(table, row, out, err);
    status = status
                 ? status
                 : rk_run_model_of(sources, table, row, &f->facts, &out->model, &f->assumed, err);
    status = status ? status : set_documents(sources, &f->facts, out, err);
    f->assumed |= guessed_framework(table, row);
    status = status ? status : infer(sources, f, &no_memory, err);
    if (status) {
        return no_memory ? rk_fail(err, RK_ERR_MEMORY, "not enough memory to predict a run")
                         : status;
    }
    const uint64_t assumed = that_matter(f->assumed, &out->strategy);
    name_assumed(assumed, out->assumed);
    out->filled = assumed != 0;
    out->unsure = note(guesses_modules(f, table, row), "recompute_modules", out->assumed) ||
                  note_settings(&f->inference, out->assumed) || (assumed & DECIDE_MEMORY) ||
                  rests_on_framework(f);
    if (no_memory) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to predict a run");
    }
    (void)note(lends_kernel(sources, out), "rates of attention_kernel", out->assumed);
    const double peak = sources->systems[out->system].accelerator.gemm[RK_BF16].peak;
    return set_measured(table, row, &f->facts, peak, out, err);
}

rk_status rk_run_case_fill(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                           rk_run_case *out, rk_error *err)
{
    filling *f = calloc(1, sizeof(*f)); /* too large for the stack of a thread */
    if (!f) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to predict a run");
    }
    f->run = out;
    out->settled = false;
    const rk_status status = fill(sources, table, row, f, err);
    free(f);
    return status;
}
