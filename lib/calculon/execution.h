/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that a mapping, and a system for a datatype, must obey to be evaluated at all. */
#ifndef RK_CALCULON_EXECUTION_H
#define RK_CALCULON_EXECUTION_H

#include "reckon/reckon.h"

/* The load-time rules of a mapping: positive degrees that multiply to num_procs, ... */
rk_status rk_calculon_exe_check(const rk_calculon_exe *exe, rk_error *err);

/* Whether both engines have the datatype and all curves that a run looks up cover size 0. */
rk_status rk_calculon_sys_check(const rk_calculon_sys *sys, rk_datatype datatype, rk_error *err);

#endif
