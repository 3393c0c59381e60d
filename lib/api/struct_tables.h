/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that programs fill and pass to the typed functions.  Each function copies the struct of a
 * program, whose version may be shorter or longer than ours, and refuses NULL and members out of
 * their bounds, by name.  Structs that a program may leave out (NULL) become all zero.
 */
#ifndef RK_API_STRUCT_TABLES_H
#define RK_API_STRUCT_TABLES_H

#include "reckon/reckon.h"

rk_status rk_take_setup_choice(const rk_setup_choice *given, rk_setup_choice *own, rk_error *err);
rk_status rk_take_strategy(const rk_strategy *given, rk_strategy *own, rk_error *err);
rk_status rk_take_space(const rk_space *given, rk_space *own, rk_error *err);
rk_status rk_take_run_request(const rk_run_request *given, rk_run_request *own, rk_error *err);
rk_status rk_take_machine_target(const rk_machine_target *given, rk_machine_target *own,
                                 rk_error *err);
rk_status rk_take_shape_choice(const rk_shape_choice *given, rk_shape_choice *own, rk_error *err);
rk_status rk_take_validation_choice(const rk_validation_choice *given, rk_validation_choice *own,
                                    rk_error *err);
rk_status rk_take_calibration_choice(const rk_calibration_choice *given, rk_calibration_choice *own,
                                     rk_error *err);
rk_status rk_take_sweep_control(const rk_sweep_control *given, rk_sweep_control *own,
                                rk_error *err);

/* Refuses a handle or a text that is NULL; `what` names it in the message: "setup". */
rk_status rk_need(const void *given, const char *what, rk_error *err);

/*
 * Memory of zeros for `what`; NULL after an earlier failure, and with RK_ERR_MEMORY in *status
 * where there is none.
 */
void *rk_allocate(size_t size, const char *what, rk_status *status, rk_error *err);

#endif
