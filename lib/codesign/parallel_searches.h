/* SPDX-License-Identifier: Apache-2.0 */
/* Independent searches, spread over threads. */
#ifndef RK_CODESIGN_PARALLEL_SEARCHES_H
#define RK_CODESIGN_PARALLEL_SEARCHES_H

#include "method/method.h"

/* One search; adds its counts to *counts. */
typedef rk_status rk_each_search(void *context, uint64_t index, rk_bounded_counts *counts,
                                 rk_error *err);

/*
 * Runs search(context, index) for index = 0 .. count-1.  `control` has the threads and the progress
 * (in searches).  *counts gets the sum.  The error comes from the first search that fails.
 */
rk_status rk_search_each(uint64_t count, rk_each_search *search, void *context,
                         const rk_search_control *control, rk_bounded_counts *counts,
                         rk_error *err);

#endif
