/* SPDX-License-Identifier: Apache-2.0 */
/* `calculon llm-optimal-execution`: the mappings of highest sample rate. */
#include "cli/calculon_search.h"
#include "cli/team.h"

#include "base/error.h"
#include "base/text.h"
#include "calculon/calculon_write.h"
#include "search/shared.h"
#include "work/share.h"

#include <inttypes.h>
#include <stdlib.h>

static const rk_command command = {
    .name = "calculon llm-optimal-execution",
    .purpose = "Evaluate all mappings of a model on a system and rank the fastest",
    .options = rk_calculon_search_options,
    .option_count = RK_CALCULON_SEARCH_OPTIONS,
};

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
    /* One more than needed: none is a legal number of results. */
    rk_calculon_result *results = calloc(ranking->count + 1, sizeof(*results));
    if (!results) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory for %zu results; lower --top-n",
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

static rk_status write_output(const rk_calculon_search_args *args,
                              const rk_calculon_search_inputs *in, const struct ranking *ranking,
                              rk_error *err)
{
    rk_out *out = NULL;
    rk_status status = rk_out_open(args->output, &out, err);
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
static int check_output(const rk_calculon_search_args *args)
{
    const bool csv = rk_calculon_path_ends(args->output, rk_calculon_csv_endings);
    if (args->debug) {
        return RK_PARSED; /* nothing is written */
    }
    if (!csv && !rk_calculon_path_ends(args->output, rk_calculon_json_endings)) {
        return rk_command_fail(
            &command, "output is a path that ends in .json, .json.gz, .csv or .csv.gz, not '%s'",
            args->output);
    }
    if (csv && args->layers) {
        return rk_command_fail(
            &command, "a CSV table has no place for --layers: write .json or .json.gz, not '%s'",
            args->output);
    }
    return RK_PARSED;
}

/* Searches, or only counts in debug mode. */
static rk_status search(const rk_calculon_search_args *args, const rk_calculon_search_inputs *in,
                        struct ranking *ranking, rk_error *err)
{
    uint64_t total = 0;
    rk_calculon_space space = in->space;
    if (args->debug) {
        return rk_calculon_space_count(&in->app, &in->sys, &space, &ranking->counts.executed, err);
    }
    space.mbs_break = false; /* which would count fewer than can be good */
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
               : rk_calculon_search_shared(rk_team_joined(), &in->app, &in->sys, &in->space,
                                           &in->control, room, ranking->items, &ranking->count,
                                           &ranking->counts, err);
}

/* Logs how the executions were settled. */
static void log_counts(const rk_calculon_log *log, const rk_calculon_search_args *args,
                       const struct ranking *ranking, double seconds)
{
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

/* Tells what was found and writes it.  Returns the exit status. */
static int finish(const rk_calculon_log *log, const rk_calculon_search_args *args,
                  const rk_calculon_search_inputs *in, const struct ranking *ranking)
{
    if (ranking->count == 0) {
        const int done = rk_calculon_log_none(log, args);
        if (done != RK_PARSED) {
            return done;
        }
    } else {
        char rate[RK_NUMBER_TEXT_SIZE];
        rk_calculon_log_print(log, RK_LOG_INFO, "Best sample rate: %s",
                              rk_python_float_text(ranking->items[0].sample_rate, rate));
    }
    rk_error err = {0};
    if (write_output(args, in, ranking, &err) != RK_OK) {
        return rk_command_fail_error(&command, &err);
    }
    rk_calculon_log_print(log, RK_LOG_INFO, "Output: %s", args->output);
    return RK_EXIT_DONE;
}

int rk_calculon_optimal_execution(const rk_calculon_log *log, int argc, char **argv)
{
    rk_calculon_search_args args = {.top_n = 1};
    int done = rk_team_join(&command);
    if (done == RK_PARSED) {
        done = rk_options_parse(&command, argc, argv, &args);
    }
    if (done == RK_PARSED) {
        done = check_output(&args);
    }
    if (done == RK_PARSED && !rk_team_is_first() && (args.debug || args.bounded)) {
        done = RK_EXIT_DONE; /* only the exhaustive search is shared */
    }
    if (done != RK_PARSED) {
        return done;
    }

    rk_error err = {0};
    rk_calculon_search_inputs in;
    struct ranking ranking = {0};
    rk_progress progress;
    rk_progress_start(&progress, "executions");
    rk_status status = rk_calculon_search_load(&args, &progress, &in, &err);
    if (status == RK_OK) {
        status = search(&args, &in, &ranking, &err);
    }
    const double seconds = rk_wall_seconds() - progress.started;
    rk_progress_end(&progress);
    if (status != RK_OK) {
        rk_share_leave(rk_team_joined(), &err);
        done = rk_calculon_search_fail(&command, &err);
    } else if (!rk_team_is_first()) {
        done = RK_EXIT_DONE;
    } else {
        rk_team_report(&command);
        log_counts(log, &args, &ranking, seconds);
        done = args.debug ? RK_EXIT_DONE : finish(log, &args, &in, &ranking);
    }
    free(ranking.items);
    return done;
}
