/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon comm --fit`: constants of a fabric from measured collectives. */
#ifndef RK_COMMAND_COMM_FIT_H
#define RK_COMMAND_COMM_FIT_H

#include "comm/comm_results.h"
#include "job/job.h"

typedef enum rk_comm_form { RK_COMM_TEXT, RK_COMM_JSON, RK_COMM_CSV } rk_comm_form;

/* Reads the file, fits each collective of each machine, and writes the constants and errors. */
rk_status rk_comm_fit(const rk_job *job, const char *path, const rk_comm_hint *hint,
                      const char *output, rk_comm_form form, rk_error *err);

#endif
