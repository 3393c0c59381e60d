/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a run that follow from others: accelerators from nodes, the global batch from tokens. */
#ifndef RK_REQUEST_DERIVED_SIZES_H
#define RK_REQUEST_DERIVED_SIZES_H

#include "request/request.h"

/*
 * Default tokens of the batch, of every command: 4 M, as Llama 2; Llama 3 uses 4 to 16 M (technical
 * reports).
 */
#define RK_USUAL_BATCH_TOKENS 4194304.0

/*
 * The global batch of about so many tokens, sequences: of the numbers odd(accelerators x
 * micro_batch) x 2^k, which the data-parallel sizes of a power of two divide, the nearest by ratio.
 * At least odd(accelerators x micro_batch).
 */
int64_t rk_global_batch_near(int64_t accelerators, int64_t micro_batch, int64_t seq, double tokens);

/* The batch of a request of about so many tokens, in sequences of `seq`. */
int64_t rk_request_batch_of(const rk_request *request, int64_t seq, double tokens);

/* Gives a request the usual batch; `seq`: the sequence length of the model. */
void rk_request_assume_batch(rk_request *request, int64_t seq);

/*
 * Gives a request what is usual in fine-tuning where it gives nothing: sequences of at most 4,096
 * tokens, `seq`: those of the model, and a micro-batch for each accelerator, if their number is
 * known.
 */
void rk_request_take_tuning_sizes(rk_request *request, int64_t seq);

/* Gives a system nodes of --gpus-per-node; refuses nodes that the machine cannot have. */
rk_status rk_request_set_node(const rk_request *request, rk_system *system, rk_error *err);

/*
 * Fills in the accelerators of a request that gives nodes, and the batch of one that gives none;
 * for adapters, which fine-tune, its sequences too.  Loads the documents it needs for that. Refuses
 * nodes that contradict the accelerators or the system.
 */
rk_status rk_request_settle_sizes(rk_request *request, rk_error *err);

#endif
