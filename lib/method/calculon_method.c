/* SPDX-License-Identifier: Apache-2.0 */
/* The Calculon method. */
#include "base/error.h"
#include "calculon/calculon_write.h"
#include "method/method.h"

#include <math.h>
#include <stdlib.h>

#define BLOCKS_MAX 4096

/* ---- searches ------------------------------------------------------------------------------ */

static rk_status count_strategies(const rk_problem *problem, uint64_t *strategies, rk_error *err)
{
    return rk_calculon_space_count(&problem->calculon.app, &problem->calculon.sys,
                                   &problem->calculon.space, strategies, err);
}

static rk_status evaluate(const rk_problem *problem, rk_candidate *candidate, rk_error *err)
{
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    const rk_status status =
        rk_calculon_evaluate(&problem->calculon.app, &problem->calculon.sys, &candidate->exe,
                             &stats, NULL, NULL, &verdict, err);
    candidate->fits = !status && verdict.verdict == RK_FITS;
    candidate->step = candidate->fits ? stats.total_time : 0;
    candidate->rate = candidate->fits ? stats.sample_rate : 0;
    candidate->efficiency = candidate->fits ? stats.total_efficiency : 0;
    return status;
}

static rk_status fill_candidates(const rk_problem *problem, const rk_calculon_ranked *ranked,
                                 size_t count, rk_candidate *candidates, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < count && !status; i++) {
        candidates[i] = (rk_candidate){.index = ranked[i].index, .exe = ranked[i].exe};
        status = evaluate(problem, &candidates[i], err);
    }
    return status;
}

static rk_status bound(const rk_problem *problem, const rk_search_control *control, size_t top,
                       rk_candidate *candidates, size_t *found, rk_bounded_counts *counts,
                       rk_error *err)
{
    rk_calculon_ranked *ranked = calloc(top, sizeof(*ranked));
    *found = 0;
    *counts = (rk_bounded_counts){0};
    if (!ranked) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
    }
    rk_status status = rk_calculon_search_bounded(&problem->calculon.app, &problem->calculon.sys,
                                                  &problem->calculon.space, control, top, ranked,
                                                  found, counts, err);
    if (!status) {
        status = fill_candidates(problem, ranked, *found, candidates, err);
    }
    free(ranked);
    return status;
}

/* ---- the problem, changed ------------------------------------------------------------------ */

static size_t list_numbers(const rk_problem *problem, rk_number out[RK_NUMBER_MAX])
{
    return rk_calculon_numbers(&problem->calculon.sys, problem->calculon.space.datatype, out);
}

static void set_number(rk_problem *problem, const rk_number *number, double value)
{
    rk_calculon_set_number(&problem->calculon.sys, number, value);
}

static int64_t accelerators(const rk_problem *problem)
{
    return problem->calculon.space.num_procs;
}

static void set_accelerators(rk_problem *problem, int64_t count)
{
    problem->calculon.space.num_procs = count;
}

/* What a network does not hold, the evaluation refuses. */
static rk_status check(const rk_problem *problem, rk_error *err)
{
    (void)problem;
    (void)err;
    return RK_OK;
}

static rk_calculon_app app_of(const rk_model_sizes *sizes)
{
    return (rk_calculon_app){
        .hidden = sizes->hidden,
        .feedforward = sizes->feedforward,
        .seq_size = sizes->seq,
        .attn_heads = sizes->heads,
        .attn_size = sizes->head_size,
        .num_blocks = sizes->blocks,
    };
}

static bool shape(const rk_problem *problem, int64_t blocks, int64_t heads, int64_t head_size,
                  double feedforward, rk_model_sizes *sizes)
{
    const rk_calculon_app *app = &problem->calculon.app;
    const double ratio =
        feedforward > 0 ? feedforward : (double)app->feedforward / (double)app->hidden;
    /* a multiple of the heads, so that what splits them splits it too */
    const double inner = floor(ratio * (double)head_size + 0.5);
    *sizes = (rk_model_sizes){
        .blocks = blocks,
        .heads = heads,
        .head_size = head_size,
        .hidden = heads * head_size,
        .feedforward = heads * (int64_t)inner,
        .seq = app->seq_size,
    };
    const rk_calculon_app shaped = app_of(sizes);
    sizes->parameters = rk_calculon_parameters(&shaped);
    return true;
}

static void reshape(rk_problem *problem, const rk_model_sizes *sizes, double feedforward)
{
    (void)feedforward;
    problem->calculon.app = app_of(sizes);
}

/* ---- a strategy in words ------------------------------------------------------------------- */

static const char *changes(const rk_candidate *a, const rk_candidate *b, char out[RK_WORDS_SIZE])
{
    return rk_describe_exe_changes(&a->exe, &b->exe, out);
}

static void write_json(rk_json_writer *writer, const rk_candidate *candidate)
{
    rk_json_key(writer, "strategy");
    rk_calculon_write_exe(writer, &candidate->exe);
}

static void degree_values(const rk_candidate *candidate, int64_t values[RK_DEGREE_MAX])
{
    values[0] = candidate->exe.tensor_par;
    values[1] = candidate->exe.pipeline_par;
    values[2] = candidate->exe.data_par;
}

const rk_method rk_method_calculon = {
    .name = "calculon",
    .efficiency_key = "efficiency",
    .efficiency_name = "efficiency",
    .efficiency_short = "eff.",
    .most_blocks = BLOCKS_MAX,
    .degrees = {{"tensor_par", "TP", true}, {"pipeline_par", "PP", true}, {"data_par", "DP", true}},
    .degree_count = 3,
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
