/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the inputs of a search and logs its counts as the published tool does. */
#include "command/calculon_search.h"

#include "calculon/calculon_docs.h"

#include <inttypes.h>
#include <stddef.h>

#define MOST_THREADS 4096
#define MOST_RANKED  100000000

/* The spellings of fused_activation, and the values that each one lists. */
static const char *const fused_names[] = {"true", "t",     "T", "True", "1",   "false", "f",
                                          "F",    "False", "0", "both", "all", "*",     NULL};
enum { FUSED_FIRST_FALSE = 5, FUSED_FIRST_BOTH = 10 };

#define PLACE(field) offsetof(rk_calculon_search_args, field)

const rk_option rk_calculon_search_options[RK_CALCULON_SEARCH_OPTIONS] = {
    RK_OPTION("application", TEXT, PLACE(application), .positional = true, .required = true,
              .catalogue = "calculon/applications", .value = "application",
              .help = "the model: .json, .json.gz or a catalogue name"),
    RK_OPTION("num_procs", COUNT, PLACE(num_procs), .positional = true, .required = true, .min = 1,
              .max = INT64_MAX, .value = "num_procs", .help = "processors to use"),
    RK_OPTION("max_batch_size", COUNT, PLACE(max_batch_size), .positional = true, .required = true,
              .min = 1, .max = INT64_MAX, .value = "max_batch_size",
              .help = "largest global batch, sequences"),
    RK_OPTION("datatype", CHOICE, PLACE(datatype), .positional = true, .required = true,
              .choices = rk_datatype_names, .value = "datatype", .help = "arithmetic"),
    RK_OPTION("system", TEXT, PLACE(system), .positional = true, .required = true,
              .catalogue = "calculon/systems", .value = "system",
              .help = "the machine: .json, .json.gz or a catalogue name"),
    RK_OPTION("output", TEXT, PLACE(output), .positional = true, .required = true, .writes = true,
              .value = "output",
              .help = "file to write: .csv, or .json for a ranking; each may end in .gz"),
    RK_OPTION("debug", FLAG, PLACE(debug), .letter = 'd',
              .help = "write no file; only count, where a ranking is asked for"),
    RK_OPTION("cpus", COUNT, PLACE(cpus), .letter = 'c', .min = 1, .max = MOST_THREADS,
              .value = "N", .help = "threads of a search, one per core by default"),
    RK_OPTION("noneok", FLAG, PLACE(noneok), .letter = 'n',
              .help = "exit with 0 and an empty result when nothing runs"),
    RK_OPTION("fused_activation", CHOICE, PLACE(fused), .letter = 'f', .choices = fused_names,
              .value = "TF", .help = "values to try, true by default"),
    RK_OPTION("mbs-break", FLAG, PLACE(mbs_break), .letter = 'm',
              .help = "skip larger microbatches once one does not run"),
    RK_OPTION("top-n", COUNT, PLACE(top_n), .letter = 't', .min = 1, .max = MOST_RANKED,
              .value = "N", .help = "executions to rank, 1 by default"),
    RK_OPTION("layers", FLAG, PLACE(layers), .letter = 'l',
              .help = "add the list of layers to the statistics (JSON only)"),
    RK_OPTION("no-tp-overlap", FLAG, PLACE(no_tp_overlap),
              .help = "leave out overlap of tensor-parallel communication"),
    RK_OPTION("no-dp-overlap", FLAG, PLACE(no_dp_overlap),
              .help = "leave out overlap of data-parallel communication"),
    RK_OPTION("bounded", FLAG, PLACE(bounded),
              .help = "settle most executions by bounds; same ranking (not in the published tool)"),
};

rk_status rk_calculon_search_load(rk_job *job, const rk_calculon_search_args *args,
                                  rk_calculon_search_inputs *in, rk_error *err)
{
    const bool both = args->fused >= FUSED_FIRST_BOTH;
    in->space = (rk_calculon_space){
        .num_procs = args->num_procs,
        .max_batch_size = args->max_batch_size,
        .datatype = (rk_datatype)args->datatype,
        .fused_count = both ? 2 : 1,
        .fused = {args->fused < FUSED_FIRST_FALSE, true},
        .no_tp_overlap = args->no_tp_overlap,
        .no_dp_overlap = args->no_dp_overlap,
        .mbs_break = args->mbs_break,
    };
    in->control = rk_control_search(rk_job_work(job), "executions", args->cpus);
    rk_status status = rk_calculon_app_load(args->application, true, &in->app, err);
    if (status == RK_OK) {
        status = rk_calculon_sys_load(args->system, true, &in->sys, err);
    }
    return status;
}

void rk_calculon_log_counts(const rk_calculon_log *log, const rk_search_counts *counts,
                            double seconds)
{
    rk_calculon_log_print(log, RK_LOG_INFO, "Good executions: %" PRIu64, counts->good);
    rk_calculon_log_print(log, RK_LOG_INFO, "Bad executions: %" PRIu64, counts->bad);
    rk_calculon_log_print(log, RK_LOG_INFO, "Calculation rate: %.2f calcs/sec",
                          seconds > 0.0 ? (double)counts->executed / seconds : 0.0);
}

bool rk_calculon_log_none(const rk_calculon_log *log, const rk_calculon_search_args *args)
{
    rk_calculon_log_print(log, args->noneok ? RK_LOG_INFO : RK_LOG_CRITICAL,
                          "No acceptable configurations found :(");
    return args->noneok;
}
