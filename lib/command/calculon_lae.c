/* SPDX-License-Identifier: Apache-2.0 */
/* `calculon llm-all-executions`: a table of every mapping that runs, in order of enumeration. */
#include "command/calculon_search.h"

#include "base/clock.h"
#include "base/error.h"
#include "calculon/calculon_write.h"
#include "command/commands.h"

#include <inttypes.h>

/* The table while it is being written. */
struct table {
    const rk_calculon_search_inputs *in;
    rk_out *out;
    uint64_t total;
    double reported; /* time of the last progress report */
    rk_search_counts counts;
    rk_calculon_result result; /* of the mapping at hand */
    rk_status status;
    rk_error *err;
};

/* Reports progress ten times a second.  Returns whether to go on. */
static bool report(struct table *table, uint64_t done)
{
    const rk_search_control *control = &table->in->control;
    const double now = rk_wall_seconds();
    if (now - table->reported < 0.1) {
        return true;
    }
    table->reported = now;
    if (!control->progress(control->user, done, table->total)) {
        table->status = rk_fail(table->err, RK_ERR_STOPPED, "stopped before the end");
        return false;
    }
    return true;
}

/* Evaluates one mapping and writes its row.  Returns whether to go on. */
static bool visit(void *user, uint64_t index, const rk_calculon_exe *exe)
{
    struct table *table = user;
    rk_calculon_verdict verdict = {0};

    table->result.exe = *exe;
    table->status = rk_calculon_evaluate(&table->in->app, &table->in->sys, exe,
                                         &table->result.stats, NULL, NULL, &verdict, table->err);
    if (table->status != RK_OK) {
        return false;
    }
    table->counts.executed++;
    if (verdict.verdict == RK_FITS) {
        table->counts.good++;
        rk_calculon_write_csv_row(table->out, false, 0, &table->result);
    } else {
        table->counts.bad++;
    }
    return index % 64 != 0 || report(table, index);
}

/* Writes the table to a file; leaves none if nothing runs and an empty result is not allowed. */
static rk_status write_table(const rk_job *job, const rk_calculon_search_args *args,
                             const rk_calculon_search_inputs *in, uint64_t total,
                             rk_search_counts *counts, rk_error *err)
{
    struct table table = {.in = in, .total = total, .err = err};
    rk_status status = rk_job_open(job, args->output, &table.out, err);
    if (status != RK_OK) {
        return status;
    }
    rk_calculon_write_csv_header(table.out, false);
    status = rk_calculon_space_each(&in->app, &in->sys, &in->space, visit, &table, err);
    if (status == RK_OK) {
        status = table.status;
    }
    *counts = table.counts;
    if (status != RK_OK || (counts->good == 0 && !args->noneok)) {
        rk_out_abandon(table.out);
        return status;
    }
    return rk_out_close(table.out, err);
}

/* Evaluates without a table: the search does it on all threads; its ranking is not used. */
static rk_status count_only(const rk_calculon_search_inputs *in, rk_search_counts *counts,
                            rk_error *err)
{
    rk_calculon_ranked best;
    size_t best_count = 0;
    return rk_calculon_search(&in->app, &in->sys, &in->space, &in->control, 1, &best, &best_count,
                              counts, err);
}

static rk_status check_output(void *arguments, rk_error *err)
{
    const rk_calculon_search_args *args = arguments;
    return rk_calculon_path_ends(args->output, rk_calculon_csv_endings)
               ? RK_OK
               : rk_fail(err, RK_ERR_INVALID,
                         "output is a path that ends in .csv or .csv.gz, not '%s'", args->output);
}

static rk_status run(rk_job *job, void *arguments, rk_error *err)
{
    const rk_calculon_search_args *args = arguments;
    rk_calculon_search_inputs in;
    rk_calculon_log log;
    rk_search_counts counts = {0};
    uint64_t total = 0;
    rk_status status = rk_calculon_log_open(job, &args->globals, &log, err);
    if (status) {
        return status;
    }
    const double started = rk_wall_seconds();
    status = rk_calculon_search_load(job, args, &in, err);
    if (!status) {
        status = rk_calculon_space_count(&in.app, &in.sys, &in.space, &total, err);
    }
    if (!status) {
        rk_calculon_log_print(&log, RK_LOG_INFO, "Total executions: %" PRIu64, total);
        status = args->debug ? count_only(&in, &counts, err)
                             : write_table(job, args, &in, total, &counts, err);
    }
    if (!status) {
        rk_calculon_log_counts(&log, &counts, rk_wall_seconds() - started);
        rk_job_set_found(job, counts.good > 0 || rk_calculon_log_none(&log, args));
    }
    return rk_calculon_log_close(&log, status, err);
}

const rk_command rk_command_calculon_lae = {
    .name = "calculon llm-all-executions",
    .purpose = "Evaluate all mappings of a model on a system and write those that run",
    .options = rk_calculon_search_options,
    .option_count = RK_CALCULON_SHARED_OPTIONS,
    .shared = rk_calculon_global_options,
    .shared_count = RK_CALCULON_GLOBALS,
    .size = sizeof(rk_calculon_search_args),
    .complete = check_output,
    .run = run,
};
