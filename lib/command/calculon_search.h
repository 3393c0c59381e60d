/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two search commands of the published command line. */
#ifndef RK_COMMAND_CALCULON_SEARCH_H
#define RK_COMMAND_CALCULON_SEARCH_H

#include "command/calculon.h"

typedef struct rk_calculon_search_args {
    rk_calculon_globals globals;
    const char *application, *system, *output;
    int64_t num_procs, max_batch_size, cpus, top_n;
    int datatype, fused; /* indices of choices */
    bool debug, noneok, mbs_break, layers, no_tp_overlap, no_dp_overlap, bounded;
} rk_calculon_search_args;

/* The options of `llm-optimal-execution`; `llm-all-executions` has only the first few. */
#define RK_CALCULON_SEARCH_OPTIONS 16
#define RK_CALCULON_SHARED_OPTIONS 10
extern const rk_option rk_calculon_search_options[RK_CALCULON_SEARCH_OPTIONS];

/* The inputs of a search, from its arguments. */
typedef struct rk_calculon_search_inputs {
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_space space;
    rk_search_control control;
} rk_calculon_search_inputs;

/* Loads the documents, and sets how the search reports. */
rk_status rk_calculon_search_load(rk_job *job, const rk_calculon_search_args *args,
                                  rk_calculon_search_inputs *in, rk_error *err);

/* Logs how many executions were good and bad, and how many were settled per second. */
void rk_calculon_log_counts(const rk_calculon_log *log, const rk_search_counts *counts,
                            double seconds);

/* Logs that nothing runs.  Returns whether that is acceptable: an empty result is written then. */
bool rk_calculon_log_none(const rk_calculon_log *log, const rk_calculon_search_args *args);

#endif
