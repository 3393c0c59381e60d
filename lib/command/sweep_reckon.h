/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps by the reckon model: `reckon plan` or `reckon estimate` at every point. */
#ifndef RK_COMMAND_SWEEP_RECKON_H
#define RK_COMMAND_SWEEP_RECKON_H

#include "sweep/back_end.h"

extern const rk_sweep_method rk_sweep_reckon;

#endif
