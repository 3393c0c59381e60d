/* SPDX-License-Identifier: Apache-2.0 */
/* Changed numbers of a machine: nvlink.size=72, memory=192GiB, hbm=8TB/s of --set. */
#ifndef RK_REQUEST_WHAT_IF_H
#define RK_REQUEST_WHAT_IF_H

#include "system/machine_numbers.h"

#define RK_TIER_WORD_SIZE 32

/* A tier as a name of --set has it: "nvlink" of NVLink4, "infiniband" of NDR InfiniBand. */
const char *rk_what_if_tier(const rk_tier *tier, char out[RK_TIER_WORD_SIZE]);

/* Whether a name without a dot is a number of machines. */
bool rk_what_if_names(const char *name);

/*
 * Changes the number of a system called `name` to `value`, a number with its unit; `change` gets
 * the number as it was, *now the new one.  A machine with changed rates counts as not measured: its
 * intervals come from runs with assumed rates.  Errors: RK_ERR_INVALID with the names that exist.
 */
rk_status rk_what_if_set(const char *name, const char *value, rk_system *system, rk_number *change,
                         double *now, rk_error *err);

/* The same for all of "nvlink.size=72,hbm=8TB/s". */
rk_status rk_what_if_set_all(const char *text, rk_system *system, rk_error *err);

#endif
