/* SPDX-License-Identifier: Apache-2.0 */
/* The least that is missing where no strategy of Calculon's method fits. */
#ifndef RK_METHOD_CALCULON_SHORTAGE_H
#define RK_METHOD_CALCULON_SHORTAGE_H

#include "method/method.h"

/*
 * rk_method.find_shortage of the Calculon method: searches again with other memories.  The two
 * least needs belong to real strategies, and are within one percent of the least possible.
 */
rk_status rk_calculon_find_shortage(const rk_problem *problem, const rk_candidate *nearest,
                                    uint64_t strategies, const rk_search_control *control,
                                    rk_shortage *shortage, rk_error *err);

#endif
