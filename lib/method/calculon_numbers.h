/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a machine of the Calculon methodology, like machine_numbers.h for systems. */
#ifndef RK_METHOD_CALCULON_NUMBERS_H
#define RK_METHOD_CALCULON_NUMBERS_H

#include "system/machine_numbers.h"

/* Lists the numbers of a system as it is. Returns how many. */
size_t rk_calculon_numbers(const rk_calculon_sys *sys, rk_datatype datatype,
                           rk_number out[RK_NUMBER_MAX]);

/* Changes a number of the system, now `number`, to `value`. */
void rk_calculon_set_number(rk_calculon_sys *sys, const rk_number *number, double value);

#endif
