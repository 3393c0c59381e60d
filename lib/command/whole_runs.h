/* SPDX-License-Identifier: Apache-2.0 */
/* Published whole runs next to predictions, written by `reckon validate --whole`. */
#ifndef RK_COMMAND_WHOLE_RUNS_H
#define RK_COMMAND_WHOLE_RUNS_H

#include "command/validate.h"

/*
 * Writes the runs of a table (evidence/published.h) as tables of Markdown.  *found: a run was
 * predicted.
 */
rk_status rk_whole_runs_write(const rk_job *job, const rk_validate_request *request, bool *found,
                              rk_error *err);

#endif
