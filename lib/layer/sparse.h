/* SPDX-License-Identifier: Apache-2.0 */
/* Attention to keys that an indexer picks: what its mixers share; inside lib/layer only. */
#ifndef RK_LAYER_SPARSE_H
#define RK_LAYER_SPARSE_H

#include "layer/attention.h"

/*
 * Ratio of backward to forward FLOPs of attention to picked keys: five products for two, as in
 * flash attention.
 */
#define RK_SPARSE_BACKWARD 2.5

/* Keys of a model document. */
enum { RK_INDEX_FIELD_COUNT = 5 };
extern const rk_field rk_index_fields[RK_INDEX_FIELD_COUNT];

rk_status rk_index_check(const rk_attention_shape *a, rk_error *err);

/* Weights of the matrices of an indexer of hidden size h; 0 where the layer has none. */
int64_t rk_index_matrices(const rk_attention_shape *a, int64_t h);

/* Keys that a kernel visits for a query, in sequences of so many tokens. */
double rk_index_visited(const rk_attention_shape *a, double seq);

/* Work of an indexer, per token. */
typedef struct rk_index_work {
    double seen, visited; /* keys that it scores, and that attention visits */
    double each;          /* FLOPs of a score */
    double teacher;       /* FLOPs per visited key of the distribution that it learns */
    double kept, weights; /* elements and weights that are kept to learn */
} rk_index_work;

/* Adds scores, the choice of keys, and what trains the indexer. */
void rk_add_index_work(rk_cost_builder *x, const rk_index_work *work);

/*
 * Adds attention to picked keys of so many FLOPs forward, in a kernel of which the share `filled`
 * of the heads is not padding.
 */
void rk_add_picked(rk_cost_builder *x, double flops, double filled);

/*
 * Adds the indexer: its linears, scores of all keys, the choice of the best, and what trains it.
 * `teacher` FLOPs per picked key and token make the distribution that it learns.
 */
void rk_add_index(rk_cost_builder *x, const rk_attention_shape *a, double teacher);

/*
 * Adds context parallelism: `width` elements per token that all context ranks gather, with the
 * index keys, and whose gradients are scattered.
 */
void rk_add_index_gathers(rk_cost_builder *x, const rk_attention_shape *a, double width);

/* Functions of rk_mixer and rk_part_kind, for latent and grouped attention. */
rk_status rk_sparse_complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err);
rk_status rk_sparse_check(const rk_layer_type *type, rk_error *err);
void rk_sparse_count(const rk_layer_type *type, int64_t h, rk_layer_params *params);
void rk_sparse_unsplit(const rk_layer_type *type, double h, double t, double *whole,
                       double *copied);
double rk_sparse_features(const rk_layer_type *type, double h);
double rk_sparse_flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach);
void rk_sparse_kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                       double *backward);
double rk_sparse_transient(const rk_block_context *c, const rk_layer_type *type);

#endif
