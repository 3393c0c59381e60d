/* SPDX-License-Identifier: Apache-2.0 */
/* The Calculon method. */
#include "base/error.h"
#include "calculon/calculon_docs.h"
#include "method/calculon_answer.h"
#include "method/calculon_columns.h"
#include "method/calculon_request.h"
#include "method/calculon_shortage.h"
#include "method/rows.h"
#include "method/team_search.h"
#include "work/shared_work.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define BLOCKS_MAX 4096
#define SLICE      8000000 /* mappings: tens of milliseconds */

/* ---- the problem, from what is asked ------------------------------------------------------- */

static rk_status load(rk_problem *problem, rk_document_kind kind, const rk_source *source,
                      rk_error *err)
{
    rk_calculon_app *app = &problem->calculon.app;
    rk_calculon_sys *sys = &problem->calculon.sys;
    if (kind == RK_DOCUMENT_MODEL) {
        return source->name ? rk_calculon_app_load(source->name, false, app, err)
                            : rk_calculon_app_from_json(source->object, false, app, err);
    }
    assert(kind == RK_DOCUMENT_SYSTEM);
    return source->name ? rk_calculon_sys_load(source->name, false, sys, err)
                        : rk_calculon_sys_from_json(source->object, false, sys, err);
}

/* The first datatype that the system computes in; the search complains if there is none. */
static int smallest_datatype(const rk_calculon_sys *sys)
{
    for (int i = 0; i < RK_DATATYPE_COUNT; i++) {
        if (sys->matrix[i].present && sys->vector[i].present) {
            return i;
        }
    }
    return 0;
}

static rk_status read_space(rk_problem *problem, const void *request, bool search, rk_error *err)
{
    const rk_calculon_request *r = request;
    (void)search;
    (void)err;
    problem->calculon.space = (rk_calculon_space){
        .num_procs = r->processors,
        .max_batch_size = r->batch,
        .datatype = (rk_datatype)(r->datatype < 0 ? smallest_datatype(&problem->calculon.sys)
                                                  : r->datatype),
        .fused_count = r->fused == RK_FUSED_BOTH ? 2 : 1,
        .fused = {r->fused == RK_FUSED_TRUE, true},
        .no_tp_overlap = r->no_tp_overlap,
        .no_dp_overlap = r->no_dp_overlap,
        .mbs_break = r->mbs_break,
    };
    return RK_OK;
}

static rk_request_view view(const void *request)
{
    const rk_calculon_request *r = request;
    return (rk_request_view){.model = r->model,
                             .system = r->system,
                             .threads = r->threads,
                             .top = (size_t)r->top,
                             .kind = r->bounded ? RK_SEARCH_BOUNDED : RK_SEARCH_ANY,
                             .json = r->json,
                             .csv = r->csv,
                             .output = r->output};
}

static int64_t *requested_accelerators(void *request)
{
    return &((rk_calculon_request *)request)->processors;
}

static int64_t batch(const rk_problem *problem)
{
    return problem->calculon.space.max_batch_size;
}

static int64_t seq(const rk_problem *problem)
{
    return problem->calculon.app.seq_size;
}

static void set_seq(rk_problem *problem, int64_t tokens)
{
    problem->calculon.app.seq_size = tokens;
}

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
    const rk_calculon_exe exe = candidate->exe;
    *candidate = (rk_candidate){.index = candidate->index, .exe = exe};
    if (!status && verdict.verdict == RK_FITS) {
        candidate->fits = true;
        candidate->step = stats.total_time;
        candidate->rate = candidate->score = stats.sample_rate;
        candidate->efficiency = stats.total_efficiency;
        candidate->memory = stats.proc_mem_tier1_cap_req;
        candidate->offloaded = stats.proc_mem_tier2_cap_req;
    }
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

static rk_status search(const rk_problem *problem, rk_team *team, const rk_search_control *control,
                        size_t top, rk_candidate *candidates, size_t *found, rk_candidate *nearest,
                        uint64_t counts[RK_METHOD_COUNTS], rk_error *err)
{
    assert(top >= 1);
    rk_calculon_ranked *ranked = calloc(top, sizeof(*ranked));
    rk_search_counts searched = {0};
    *found = 0;
    if (nearest) {
        *nearest = (rk_candidate){.index = UINT64_MAX};
    }
    if (!ranked) {
        const rk_status failed = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
        rk_share_leave(team, err);
        return failed;
    }
    rk_status status = rk_calculon_search_shared(team, &problem->calculon.app,
                                                 &problem->calculon.sys, &problem->calculon.space,
                                                 control, top, ranked, found, &searched, err);
    counts[0] = searched.executed;
    counts[1] = searched.good;
    counts[2] = searched.bad;
    if (!status) {
        status = fill_candidates(problem, ranked, *found, candidates, err);
    }
    free(ranked);
    return status;
}

static rk_status bound(const rk_problem *problem, const rk_search_control *control, size_t top,
                       rk_candidate *candidates, size_t *found, rk_bounded_counts *counts,
                       rk_error *err)
{
    assert(top >= 1);
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

static rk_status misfit(const rk_problem *problem, const rk_candidate *candidate,
                        char out[RK_MISFIT_SIZE], rk_error *err)
{
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    const rk_status status =
        rk_calculon_evaluate(&problem->calculon.app, &problem->calculon.sys, &candidate->exe,
                             &stats, NULL, NULL, &verdict, err);
    out[0] = '\0';
    if (!status && verdict.verdict != RK_FITS) {
        (void)rk_calculon_verdict_text(&verdict, out, RK_MISFIT_SIZE);
    }
    return status;
}

static void detach(rk_candidate *candidate)
{
    (void)candidate;
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

/* The evaluation refuses what a network cannot hold. */
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

static void own_sizes(const rk_problem *problem, rk_model_sizes *sizes)
{
    const rk_calculon_app *app = &problem->calculon.app;
    *sizes = (rk_model_sizes){
        .blocks = app->num_blocks,
        .heads = app->attn_heads,
        .head_size = app->attn_size,
        .hidden = app->hidden,
        .feedforward = app->feedforward,
        .seq = app->seq_size,
        .parameters = rk_calculon_parameters(app),
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

static const char *strategy_words(const rk_candidate *candidate, char out[RK_WORDS_SIZE])
{
    return rk_describe_exe(&candidate->exe, out);
}

static void degree_values(const rk_candidate *candidate, int64_t values[RK_DEGREE_MAX])
{
    values[0] = candidate->exe.tensor_par;
    values[1] = candidate->exe.pipeline_par;
    values[2] = candidate->exe.data_par;
}

static rk_status values(const rk_problem *problem, const rk_candidate *candidate, char *texts,
                        rk_value *out, rk_error *err)
{
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    const rk_status status =
        rk_calculon_evaluate(&problem->calculon.app, &problem->calculon.sys, &candidate->exe,
                             &stats, NULL, NULL, &verdict, err);
    (void)texts;
    if (!status) {
        rk_calculon_values(&candidate->exe, &stats, out);
    }
    return status;
}

const rk_method rk_method_calculon = {
    .name = "calculon",
    .efficiency_key = "efficiency",
    .efficiency_name = "efficiency",
    .efficiency_short = "eff.",
    .most_blocks = BLOCKS_MAX,
    .counts = {"executed", "good", "bad"},
    .bounds_pay_from = UINT64_MAX,
    .slice = SLICE,
    .most_results = 100000,
    .candidate_size = offsetof(rk_candidate, exe) + sizeof(rk_calculon_exe),
    .degrees = {{"tensor_par", "TP", true}, {"pipeline_par", "PP", true}, {"data_par", "DP", true}},
    .degree_count = 3,
    .accelerators_option = "processors",
    .shape_key = "application",
    .efficiency_note =
        "efficiency: FLOP of all layers, recompute left out, over time and matrix peak\n",
    .tells_wall = true,
    .load = load,
    .space = read_space,
    .view = view,
    .requested_accelerators = requested_accelerators,
    .batch = batch,
    .seq = seq,
    .set_seq = set_seq,
    .count = count_strategies,
    .search = search,
    .bound = bound,
    .evaluate = evaluate,
    .misfit = misfit,
    .find_shortage = rk_calculon_find_shortage,
    .detach = detach,
    .numbers = list_numbers,
    .set_number = set_number,
    .accelerators = accelerators,
    .set_accelerators = set_accelerators,
    .check = check,
    .sizes = own_sizes,
    .shape = shape,
    .reshape = reshape,
    .counted = {"strategies", "fit", NULL},
    .search_note = "; calculon method",
    .label_width = 24,
    .cell_width = 9,
    .row_count = RK_CALCULON_ROWS,
    .row_label = rk_calculon_row_label,
    .describe = rk_calculon_describe,
    .predict = rk_calculon_predict,
    .write_documents = rk_calculon_write_documents,
    .write_machine = rk_calculon_write_machine,
    .write_run = rk_calculon_write_run,
    .write_request_json = rk_calculon_write_request_json,
    .write_best = rk_calculon_write_best,
    .write_missing = rk_calculon_write_missing,
    .write_best_json = rk_calculon_write_best_json,
    .write_missing_json = rk_calculon_write_missing_json,
    .write_strategies_json = rk_calculon_write_strategies_json,
    .write_csv = rk_calculon_write_csv,
    .strategy_words = strategy_words,
    .changes = changes,
    .write_json = write_json,
    .degree_values = degree_values,
    .column_count = rk_calculon_column_count,
    .column = rk_calculon_column,
    .values = values,
};
