/* SPDX-License-Identifier: Apache-2.0 */
/* `calculon llm-optimal-execution`: the mappings of highest sample rate. */
#include "command/calculon_search.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "calculon/calculon_write.h"
#include "command/commands.h"
#include "method/team_search.h"
#include "work/shared_work.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* The ranking of a search. */
struct ranking {
    rk_calculon_ranked *items; /* owned */
    size_t count;
    rk_search_counts counts;
    rk_bounded_counts bounded;
};

/* Fills `result` with one ranked mapping and its statistics. */
static rk_status evaluate(const rk_calculon_search_inputs *in, const rk_calculon_exe *exe,
                          bool layers, rk_calculon_result *result, rk_error *err)
{
    rk_calculon_verdict verdict = {0};
    result->exe = *exe;
    return rk_calculon_evaluate(&in->app, &in->sys, exe, &result->stats,
                                layers ? result->layers : NULL, &result->layer_count, &verdict,
                                err);
}

static rk_status write_csv(rk_out *out, const rk_calculon_search_inputs *in,
                           const struct ranking *ranking, rk_error *err)
{
    rk_calculon_result result = {0};
    rk_calculon_write_csv_header(out, true);
    for (size_t i = 0; i < ranking->count; i++) {
        const rk_status status = evaluate(in, &ranking->items[i].exe, false, &result, err);
        if (status != RK_OK) {
            return status;
        }
        rk_calculon_write_csv_row(out, true, i, &result);
    }
    return RK_OK;
}

static rk_status write_json(rk_out *out, bool indented, bool layers,
                            const rk_calculon_search_inputs *in, const struct ranking *ranking,
                            rk_error *err)
{
    /* One more than needed, because zero results may be requested. */
    rk_calculon_result *results = calloc(ranking->count + 1, sizeof(*results));
    if (!results) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu results; lower --top-n",
                       ranking->count);
    }
    rk_status status = RK_OK;
    for (size_t i = 0; i < ranking->count && status == RK_OK; i++) {
        status = evaluate(in, &ranking->items[i].exe, layers, &results[i], err);
    }
    if (status == RK_OK) {
        rk_calculon_write_ranked(out, indented, results, ranking->count);
    }
    free(results);
    return status;
}

static rk_status write_output(const rk_job *job, const rk_calculon_search_args *args,
                              const rk_calculon_search_inputs *in, const struct ranking *ranking,
                              rk_error *err)
{
    rk_out *out = NULL;
    rk_status status = rk_job_open(job, args->output, &out, err);
    if (status != RK_OK) {
        return status;
    }
    status =
        rk_calculon_path_ends(args->output, rk_calculon_csv_endings)
            ? write_csv(out, in, ranking, err)
            : write_json(out, !rk_ends_with(args->output, ".gz"), args->layers, in, ranking, err);
    if (status != RK_OK) {
        rk_out_abandon(out);
        return status;
    }
    return rk_out_close(out, err);
}

/* Refuses before any work an output that could not be written after it. */
static rk_status check_output(void *arguments, rk_error *err)
{
    const rk_calculon_search_args *args = arguments;
    const bool csv = rk_calculon_path_ends(args->output, rk_calculon_csv_endings);
    if (args->debug) {
        return RK_OK; /* nothing is written */
    }
    if (!csv && !rk_calculon_path_ends(args->output, rk_calculon_json_endings)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "output is a path that ends in .json, .json.gz, .csv or .csv.gz, not '%s'",
                       args->output);
    }
    if (csv && args->layers) {
        return rk_fail(err, RK_ERR_INVALID,
                       "a CSV table has no place for --layers: write .json or .json.gz, not '%s'",
                       args->output);
    }
    return RK_OK;
}

/* Searches, or only counts in debug mode. */
static rk_status search(rk_job *job, const rk_calculon_search_args *args,
                        const rk_calculon_search_inputs *in, struct ranking *ranking, rk_error *err)
{
    uint64_t total = 0;
    rk_calculon_space space = in->space;
    if (args->debug) {
        return rk_calculon_space_count(&in->app, &in->sys, &space, &ranking->counts.executed, err);
    }
    space.mbs_break = false; /* it would count too few good executions */
    const rk_status status = rk_calculon_space_count(&in->app, &in->sys, &space, &total, err);
    if (status != RK_OK) {
        return status;
    }
    const uint64_t wanted = (uint64_t)args->top_n < total ? (uint64_t)args->top_n : total;
    const size_t room = wanted > 0 ? (size_t)wanted : 1;
    ranking->items = calloc(room, sizeof(*ranking->items));
    if (!ranking->items) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory to rank %zu executions; lower --top-n", room);
    }
    return args->bounded
               ? rk_calculon_search_bounded(&in->app, &in->sys, &in->space, &in->control, room,
                                            ranking->items, &ranking->count, &ranking->bounded, err)
               : rk_calculon_search_shared(rk_control_team(rk_job_work(job)), &in->app, &in->sys,
                                           &in->space, &in->control, room, ranking->items,
                                           &ranking->count, &ranking->counts, err);
}

/* Logs how many executions were settled by which bound. */
static void log_counts(const rk_calculon_log *log, const rk_calculon_search_args *args,
                       const struct ranking *ranking, double seconds)
{
    assert(seconds >= 0);
    const rk_bounded_counts *bounded = &ranking->bounded;
    if (!args->bounded || args->debug) {
        rk_calculon_log_print(log, RK_LOG_INFO, "Total executions: %" PRIu64,
                              ranking->counts.executed);
        rk_calculon_log_counts(log, &ranking->counts, seconds);
        return;
    }
    rk_calculon_log_print(log, RK_LOG_INFO, "Total executions: %" PRIu64, bounded->total);
    rk_calculon_log_print(log, RK_LOG_INFO, "Evaluated executions: %" PRIu64, bounded->evaluated);
    rk_calculon_log_print(log, RK_LOG_INFO,
                          "Settled by time: %" PRIu64 ", memory: %" PRIu64 ", dominance: %" PRIu64
                          ", networks: %" PRIu64,
                          bounded->by_time, bounded->by_memory, bounded->by_dominance,
                          bounded->by_rule);
}

/* Logs what was found, and writes it. */
static rk_status finish(rk_job *job, const rk_calculon_log *log,
                        const rk_calculon_search_args *args, const rk_calculon_search_inputs *in,
                        const struct ranking *ranking, rk_error *err)
{
    if (ranking->count == 0 && !rk_calculon_log_none(log, args)) {
        return RK_OK;
    }
    if (ranking->count > 0) {
        char rate[RK_NUMBER_TEXT_SIZE];
        rk_calculon_log_print(log, RK_LOG_INFO, "Best sample rate: %s",
                              rk_python_float_text(ranking->items[0].sample_rate, rate));
    }
    const rk_status status = write_output(job, args, in, ranking, err);
    if (!status) {
        rk_calculon_log_print(log, RK_LOG_INFO, "Output: %s", args->output);
        rk_job_set_found(job, true);
    }
    return status;
}

static rk_status run(rk_job *job, void *arguments, rk_error *err)
{
    const rk_calculon_search_args *args = arguments;
    rk_calculon_search_inputs in;
    rk_calculon_log log;
    struct ranking ranking = {0};
    if (!rk_control_is_first(rk_job_work(job)) && (args->debug || args->bounded)) {
        return RK_OK; /* only the exhaustive search is shared */
    }
    rk_status status = rk_calculon_log_open(job, &args->globals, &log, err);
    if (status) {
        rk_share_leave(rk_control_team(rk_job_work(job)), err);
        return status;
    }
    const double started = rk_wall_seconds();
    status = rk_calculon_search_load(job, args, &in, err);
    status = status ? status : search(job, args, &in, &ranking, err);
    if (status) {
        rk_share_leave(rk_control_team(rk_job_work(job)), err);
    } else if (rk_control_is_first(rk_job_work(job))) {
        log_counts(&log, args, &ranking, rk_wall_seconds() - started);
        rk_job_set_found(job, args->debug);
        status = args->debug ? RK_OK : finish(job, &log, args, &in, &ranking, err);
    }
    free(ranking.items);
    return rk_calculon_log_close(&log, status, err);
}

static void init(void *arguments)
{
    ((rk_calculon_search_args *)arguments)->top_n = 1;
}

const rk_command rk_command_calculon_loe = {
    .name = "calculon llm-optimal-execution",
    .purpose = "Evaluate all mappings of a model on a system and rank the fastest",
    .options = rk_calculon_search_options,
    .option_count = RK_CALCULON_SEARCH_OPTIONS,
    .shared = rk_calculon_global_options,
    .shared_count = RK_CALCULON_GLOBALS,
    .is_shared = true,
    .size = sizeof(rk_calculon_search_args),
    .init = init,
    .complete = check_output,
    .run = run,
};
