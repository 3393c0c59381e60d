/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a calibration for people and programs. */
#ifndef RK_COMMAND_CALIBRATE_REPORT_H
#define RK_COMMAND_CALIBRATE_REPORT_H

#include "calibrate/fitted.h"
#include "io/json_write.h"
#include "job/job.h"

/* `what` is an rk_calibration. */
rk_text_writer rk_calibration_text;

void rk_calibration_json(rk_json_writer *writer, const rk_calibration *calibration);

/* Errors row by row as CSV. */
rk_status rk_calibration_rows(const char *path, const rk_calibration *calibration, rk_error *err);

/* id of a run, or the shape of an operator: names the row of an observation. */
void rk_observation_name(const rk_observations *all, const rk_observation *row, char *text,
                         size_t size);

#endif
