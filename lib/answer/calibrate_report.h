/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a calibration for people and programs. */
#ifndef RK_ANSWER_CALIBRATE_REPORT_H
#define RK_ANSWER_CALIBRATE_REPORT_H

#include "evidence/calibrate.h"
#include "job/job.h"

/* Writes it as text or JSON. */
rk_status rk_calibration_report(const rk_job *job, const rk_calibration *calibration, bool json,
                                const char *output, rk_error *err);

/* Errors row by row as CSV. */
rk_status rk_calibration_rows(const char *path, const rk_calibration *calibration, rk_error *err);

#endif
