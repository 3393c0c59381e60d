/* SPDX-License-Identifier: Apache-2.0 */
/* The reckon model. */
#include "base/error.h"
#include "method/method.h"
#include "method/reshape.h"
#include "report/estimate_fields.h"
#include "search/bounded_plan.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- searches ------------------------------------------------------------------------------ */

static rk_status count_strategies(const rk_problem *problem, uint64_t *strategies, rk_error *err)
{
    return rk_plan_count(&problem->reckon.model, &problem->reckon.system, &problem->reckon.space,
                         strategies, err);
}

static rk_candidate candidate_of(const rk_problem *problem, const rk_planned *planned)
{
    const rk_estimate *e = &planned->estimate;
    return (rk_candidate){
        .fits = e->fits,
        .step = e->step,
        .rate = (double)problem->reckon.space.global_batch / e->step,
        .efficiency = e->mfu,
        .index = planned->index,
        .strategy = planned->strategy,
        .estimate = *e,
    };
}

static rk_status bound(const rk_problem *problem, const rk_search_control *control, size_t top,
                       rk_candidate *candidates, size_t *found, rk_bounded_counts *counts,
                       rk_error *err)
{
    rk_planned *planned = calloc(top, sizeof(*planned));
    *found = 0;
    *counts = (rk_bounded_counts){0};
    if (!planned) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
    }
    const rk_status status = rk_plan_search_bounded(&problem->reckon.model, &problem->reckon.system,
                                                    &problem->reckon.stack, &problem->reckon.space,
                                                    control, top, planned, found, counts, err);
    for (size_t i = 0; i < *found && !status; i++) {
        candidates[i] = candidate_of(problem, &planned[i]);
    }
    free(planned);
    return status;
}

static rk_status evaluate(const rk_problem *problem, rk_candidate *candidate, rk_error *err)
{
    rk_planned planned = {.strategy = candidate->strategy, .index = candidate->index};
    const rk_status status = rk_estimate_exact(
        &problem->reckon.model, &problem->reckon.system, &problem->reckon.stack, &planned.strategy,
        problem->reckon.space.convention, &planned.estimate, NULL, err);
    if (!status) {
        *candidate = candidate_of(problem, &planned);
    }
    return status;
}

/* ---- the problem, changed ------------------------------------------------------------------ */

static size_t list_numbers(const rk_problem *problem, rk_number out[RK_NUMBER_MAX])
{
    return rk_system_numbers(&problem->reckon.system, problem->reckon.space.base.precision, out);
}

static void set_number(rk_problem *problem, const rk_number *number, double value)
{
    rk_system_set_number(&problem->reckon.system, number, value);
}

static int64_t accelerators(const rk_problem *problem)
{
    return problem->reckon.space.accelerators;
}

static void set_accelerators(rk_problem *problem, int64_t count)
{
    problem->reckon.space.accelerators = count;
}

static rk_status check(const rk_problem *problem, rk_error *err)
{
    const rk_system *system = &problem->reckon.system;
    const int64_t most = system->tiers[system->tier_count - 1].size;
    const rk_status status = rk_system_check(system, err);
    return !status && problem->reckon.space.accelerators > most
               ? rk_fail(err, RK_ERR_INVALID, "the system has %" PRId64, most)
               : status;
}

static bool shape(const rk_problem *problem, int64_t blocks, int64_t heads, int64_t head_size,
                  double feedforward, rk_model_sizes *sizes)
{
    rk_model model;
    if (!rk_model_reshape(&problem->reckon.model, feedforward, blocks, heads, head_size, &model)) {
        return false;
    }
    const rk_layer_type *last = &model.types[model.type_of[blocks - 1]];
    *sizes = (rk_model_sizes){
        .blocks = blocks,
        .heads = heads,
        .head_size = rk_attention_qk_size(&last->attention),
        .hidden = model.hidden,
        .feedforward = last->moe.experts > 0 ? last->moe.expert_width : last->ffn.width,
        .seq = problem->reckon.space.base.seq,
        .parameters = (double)rk_model_params_of(&model).total,
    };
    return true;
}

static void reshape(rk_problem *problem, const rk_model_sizes *sizes, double feedforward)
{
    const rk_model like = problem->reckon.model;
    (void)rk_model_reshape(&like, feedforward, sizes->blocks, sizes->heads, sizes->head_size,
                           &problem->reckon.model); /* as it was when `shape` made the sizes */
}

/* ---- a strategy in words ------------------------------------------------------------------- */

static const char *changes(const rk_candidate *a, const rk_candidate *b, char out[RK_WORDS_SIZE])
{
    return rk_strategy_changes(&a->strategy, &b->strategy, out, RK_WORDS_SIZE);
}

static void write_json(rk_json_writer *writer, const rk_candidate *candidate)
{
    rk_strategy_write_json(writer, &candidate->strategy);
}

static void degree_values(const rk_candidate *candidate, int64_t values[RK_DEGREE_MAX])
{
    const rk_strategy *s = &candidate->strategy;
    values[0] = s->tp;
    values[1] = s->cp;
    values[2] = s->pp;
    values[3] = s->ep;
    values[4] = s->dp;
}

const rk_method rk_method_reckon = {
    .name = "reckon",
    .efficiency_key = "mfu",
    .efficiency_name = "MFU",
    .efficiency_short = "MFU",
    .most_blocks = RK_LAYER_MAX,
    .degrees = {{"tp", "TP", true},
                {"cp", "CP", false},
                {"pp", "PP", true},
                {"ep", "EP", false},
                {"dp", "DP", true}},
    .degree_count = 5,
    .count = count_strategies,
    .bound = bound,
    .evaluate = evaluate,
    .numbers = list_numbers,
    .set_number = set_number,
    .accelerators = accelerators,
    .set_accelerators = set_accelerators,
    .check = check,
    .shape = shape,
    .reshape = reshape,
    .changes = changes,
    .write_json = write_json,
    .degree_values = degree_values,
};
