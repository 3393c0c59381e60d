/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `reckon`, one file each.  To add one, write its file, declare it here and list it
 * in commands.c.
 */
#ifndef RK_COMMAND_COMMANDS_H
#define RK_COMMAND_COMMANDS_H

#include "job/job.h"

extern const rk_command rk_command_plan, rk_command_sweep, rk_command_list, rk_command_show;
extern const rk_command rk_command_estimate, rk_command_fit, rk_command_run, rk_command_calibrate;
extern const rk_command rk_command_timeline, rk_command_comm;
extern const rk_command rk_command_validate, rk_command_plot;
extern const rk_command rk_command_explain, rk_command_design, rk_command_shape;
extern const rk_command rk_command_convert;

/* The published command line. */
extern const rk_command rk_command_calculon, rk_command_calculon_llm, rk_command_calculon_loe;
extern const rk_command rk_command_calculon_lae, rk_command_calculon_lpc, rk_command_calculon_lv;
extern const rk_command rk_command_calculon_version;

#endif
