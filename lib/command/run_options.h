/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `reckon run`. */
#ifndef RK_COMMAND_RUN_OPTIONS_H
#define RK_COMMAND_RUN_OPTIONS_H

#include "whole_run/clusters.h"

/* Options whose values are several numbers are text until all options are there. */
typedef struct rk_run_options {
    rk_run_question question;
    const char *phases, *batch_ramp;        /* "8k:15T,128k:100G:128", "256:250G:8" */
    const char *maintenance, *slow_devices; /* "4:30", "0.5:10" */
    const char *deadline, *max_power;       /* "30d", "20MW" */
    const char *timeline;                   /* file */
} rk_run_options;

/* Reads them into the question. */
rk_status rk_run_read_options(rk_run_options *options, rk_error *err);

/* Reads the systems to choose from: "h100-sxm:4096,b200-sxm". */
rk_status rk_run_read_systems(const char *system, rk_clusters *clusters, rk_error *err);

#endif
