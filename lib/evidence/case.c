/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a table as the inputs of an estimate. */
#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "evidence/case_parts.h"
#include "layer/precision.h"
#include "system/flash_lent.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rk_status set_documents(const rk_run_sources *sources, const rk_run_facts *facts,
                               rk_run_case *out, rk_error *err)
{
    out->stack = rk_run_place(sources->stack_names, sources->stack_count, facts->stack);
    out->system = rk_run_place(sources->system_names, sources->system_count, facts->system);
    out->network_bandwidth = 1e9 * facts->network_bandwidth;
    out->power = facts->power;
    out->memory_bandwidth = 1e9 * facts->memory_bandwidth;
    out->memory_usable = GIB * facts->memory_usable;
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
    out->node = node >= 1 && node <= RK_RUN_DEGREE_MOST ? (int64_t)node : 0;
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
    return known || rk_run_cell(table, row, RK_RUN_STACK)[0] ? 0 : rk_run_bit(RK_RUN_FRAMEWORK);
}

/* The filled-in columns that matter to the run. */
static uint64_t that_matter(uint64_t assumed, const rk_strategy *s)
{
    return assumed & ~(s->tp > 1 ? 0 : rk_run_bit(RK_RUN_SP)) &
           ~(s->pp > 1 ? 0 : rk_run_bit(RK_RUN_VP));
}

static void name_assumed(uint64_t assumed, char out[RK_RUN_NOTE_SIZE])
{
    size_t length = 0;
    out[0] = '\0';
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
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
    (rk_run_bit(RK_RUN_TP) | rk_run_bit(RK_RUN_PP) | rk_run_bit(RK_RUN_VP) |                       \
     rk_run_bit(RK_RUN_CP) | rk_run_bit(RK_RUN_EP) | rk_run_bit(RK_RUN_SP) |                       \
     rk_run_bit(RK_RUN_SHARDING) | rk_run_bit(RK_RUN_MICRO_BATCH) | rk_run_bit(RK_RUN_RECOMPUTE) | \
     rk_run_bit(RK_RUN_PRECISION) | rk_run_bit(RK_RUN_VOCAB) | rk_run_bit(RK_RUN_HEADS))

/* Adds a column to those that are assumed, where it is one. */
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
static bool guesses_modules(const rk_run_filling *f, const rk_run_table *table, size_t row)
{
    const bool open = f->facts.recompute == RK_REC_SELECTIVE && f->facts.modules &&
                      states(table, row, "recompute") && !states(table, row, "recompute_modules");
    return open || strstr(rk_run_cell(table, row, RK_RUN_INFERRED), "recompute_modules") != NULL;
}

/* Estimates the run with settings of 8 bits; the change of its stack is the last one. */
static rk_estimate estimate_with(const rk_run_filling *f, bool low_activations,
                                 bool transposes_again)
{
    static const rk_run_change again = {
        .offset = offsetof(rk_stack, transposes_again), .boolean = true, .value = 1};
    rk_run_case *run = f->run;
    run->strategy.low_activations = low_activations;
    if (transposes_again) {
        run->changes[run->change_count++] = again;
    }
    return rk_run_estimate_now(f);
}

/*
 * Settings of training in 8 bits that decide whether a run fits and of which its row says nothing:
 * inputs of gated activations in 8 bits, and transposed copies of weights that are made in every
 * backward pass instead of kept (Megatron Core: activation_func_fp8_input_store,
 * disable_parameter_transpose_cache).  A run that fits in no other way had them: of the fastest
 * step that fits, or else of the fastest that runs at all.
 */
static bool take_settings(const rk_run_filling *f, const rk_run_table *table, size_t row,
                          char out[RK_RUN_NOTE_SIZE])
{
    enum { LOW = 1, AGAIN = 2, WAYS = 4 };
    static const char *const names[WAYS] = {"", "low_activations", "transposed weights",
                                            "low_activations, transposed weights"};
    rk_run_case *run = f->run;
    const bool stated = run->strategy.low_activations;
    const bool open =
        !stated && !states(table, row, "low_activations") && run->model.types[0].ffn.gated;
    const int changes = run->change_count;
    const rk_estimate usual = estimate_with(f, stated, false);
    double least[2] = {(double)INFINITY, (double)INFINITY}; /* of those that fit, that run */
    int best[2] = {0, 0};
    for (int way = 1; way < WAYS && rk_is_low(run->strategy.precision); way++) {
        if ((way & LOW && !open) || (way & AGAIN && changes == RK_RUN_CHANGE_MAX)) {
            continue;
        }
        const rk_estimate e = estimate_with(f, way & LOW || stated, way & AGAIN);
        const int runs = e.fits ? 0 : 1;
        run->change_count = changes;
        if ((e.fits || (e.thrashes && !usual.thrashes)) && e.step < least[runs]) {
            least[runs] = e.step;
            best[runs] = way;
        }
    }
    const int taken = usual.fits ? 0 : best[0] ? best[0] : best[1];
    (void)estimate_with(f, taken & LOW || stated, taken & AGAIN);
    return note(taken > 0, names[taken], out);
}

/* Whether it fits, or runs short of memory. */
static bool runs_now(const rk_run_filling *f)
{
    const rk_estimate e = rk_run_estimate_now(f);
    return e.fits || e.thrashes;
}

/* Whether the rates of the attention kernel that it states are those of another accelerator. */
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
static bool rests_on_framework(const rk_run_filling *f)
{
    rk_run_case *run = f->run;
    const rk_state_recipe assumed = run->strategy.states;
    const bool unknown = f->assumed & rk_run_bit(RK_RUN_FRAMEWORK);
    if (!unknown || runs_now(f)) {
        return false;
    }
    run->strategy.states.weight = run->strategy.states.gradient = rk_min(assumed.gradient, 2);
    run->strategy.states.optimizer = rk_min(assumed.optimizer, 4);
    const bool fits = runs_now(f);
    run->strategy.states = assumed;
    return fits;
}

rk_status rk_run_case_fill(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                           rk_run_case *out, rk_error *err)
{
    bool no_memory = false;
    rk_run_filling f = {.sources = sources, .run = out, .no_memory = &no_memory};
    out->settled = false;
    rk_status status = rk_run_facts_of(sources, table, row, &f.facts, out, &f.assumed, err);
    status = status ? status : rk_run_facts_named(table, row, &f.facts, err);
    set_group(table, row, &f.facts, out);
    if (!status && f.facts.unsupported[0]) {
        status = rk_fail(err, RK_ERR_INVALID, "%s", f.facts.unsupported);
    }
    status = status ? status : rk_run_read_degrees(table, row, &f.d, err);
    status = status ? status : read_node(table, row, out, err);
    status = status ? status : rk_run_read_stages(table, row, &f, err);
    status = status ? status
                    : rk_run_model_of(sources, table, row, &f.facts, &out->model, &f.assumed, err);
    status = status ? status : set_documents(sources, &f.facts, out, err);
    f.assumed |= guessed_framework(table, row);
    status = status ? status : rk_run_fill_strategy(&f, err);
    if (status) {
        return no_memory ? rk_fail(err, RK_ERR_MEMORY, "not enough memory to predict a run")
                         : status;
    }
    const uint64_t assumed = that_matter(f.assumed, &out->strategy);
    name_assumed(assumed, out->assumed);
    out->filled = assumed != 0;
    out->unsure = note(guesses_modules(&f, table, row), "recompute_modules", out->assumed) ||
                  take_settings(&f, table, row, out->assumed) || (assumed & DECIDE_MEMORY) ||
                  rests_on_framework(&f);
    if (no_memory) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to predict a run");
    }
    (void)note(lends_kernel(sources, out), "rates of attention_kernel", out->assumed);
    const double peak = sources->systems[out->system].accelerator.gemm[RK_BF16].peak;
    return set_measured(table, row, &f.facts, peak, out, err);
}
