/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies one choice away from another, on as many accelerators: what would make it fit, what
 * more memory would allow.
 */
#ifndef RK_METHOD_ESTIMATE_CHANGE_H
#define RK_METHOD_ESTIMATE_CHANGE_H

#include "estimate/estimate.h"

/*
 * Calls `visit` for every legal strategy that differs from `from` in one choice (a degree taken
 * from or given to data parallelism, chunks, microbatch, sharding, recompute, offload).
 */
void rk_changes_each(const rk_setting *setting, const rk_strategy *from,
                     void (*visit)(void *user, const rk_strategy *changed), void *user);

/*
 * Finds the fastest strategy within `most_changes` (1 or 2) choices of `from` that fits, with as
 * few changes as possible.  *changes gets their number, 0 when none fits.
 */
rk_status rk_change_to_fit(const rk_setting *setting, const rk_strategy *from, int most_changes,
                           int *changes, rk_strategy *changed, rk_estimate *estimate,
                           rk_error *err);

#endif
