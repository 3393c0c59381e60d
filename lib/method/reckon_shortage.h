/* SPDX-License-Identifier: Apache-2.0 */
/* The least that is missing where no strategy of the reckon model fits. */
#ifndef RK_METHOD_RECKON_SHORTAGE_H
#define RK_METHOD_RECKON_SHORTAGE_H

#include "method/method.h"

/*
 * rk_method.find_shortage of the reckon model: the strategy that needs least memory, the smallest
 * change that makes it fit, and a number of accelerators that is enough; or why nothing is legal.
 */
rk_status rk_reckon_find_shortage(const rk_problem *problem, const rk_candidate *nearest,
                                  uint64_t strategies, const rk_search_control *control,
                                  rk_shortage *shortage, rk_error *err);

#endif
