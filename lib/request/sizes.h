/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a run that follow from others: accelerators from nodes, the global batch from tokens. */
#ifndef RK_REQUEST_SIZES_H
#define RK_REQUEST_SIZES_H

#include "request/request.h"

/*
 * The global batch of about 4 M tokens, sequences: of the numbers odd(accelerators x micro_batch) x
 * 2^k, which the data-parallel sizes of a power of two divide, the nearest by ratio.
 */
int64_t rk_default_global_batch(int64_t accelerators, int64_t micro_batch, int64_t seq);

/*
 * Fills in the accelerators of a request that gives nodes, and the batch of one that gives none.
 * Loads the documents it needs for that.  Refuses nodes that contradict the accelerators or the
 * system.
 */
rk_status rk_request_settle_sizes(rk_request *request, rk_error *err);

#endif
