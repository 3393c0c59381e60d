/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of what a program passes to the Calculon methodology in structs. */
#ifndef RK_CALCULON_CALCULON_INPUTS_H
#define RK_CALCULON_CALCULON_INPUTS_H

#include "reckon/reckon.h"

/*
 * Refuses a model and a system with a member out of its bounds, whose name is err->path.  They are
 * wider than those of documents, because searches of machines change numbers.
 */
rk_status rk_calculon_inputs_check(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                   rk_error *err);

/* The same for a space. */
rk_status rk_calculon_space_check(const rk_calculon_space *space, rk_error *err);

/* Refuses counts of threads and of parts out of their bounds; NULL is legal. */
rk_status rk_calculon_control_check(const rk_search_control *control, rk_error *err);

#endif
