/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of mixers and of feed-forward networks.  A kind is one table of functions, all in one
 * source file: what it has as parameters, what it computes, which document keys it reads, and what
 * it costs under a strategy.  This header is the interface; the kinds themselves are in lib/layer
 * (they need the machine and the strategy) and come to a model by the pointers of its layer types.
 * How to add one: docs/howto/mixer.md and docs/howto/feed-forward.md.
 */
#ifndef RK_MODEL_KINDS_H
#define RK_MODEL_KINDS_H

#include "base/named.h"
#include "io/fields.h"
#include "model/model.h"

struct rk_cost_builder;    /* layer/operators.h */
struct rk_block_context;   /* layer/layer.h */
struct rk_recurrence_kind; /* layer/recurrence.h */

/* How many keys a query is taken to see where model FLOPs are counted. */
typedef enum rk_flop_reach {
    RK_REACH_WINDOW, /* the keys that a query sees on average */
    RK_REACH_HALF,   /* half of the sequence: the causal mask is credited, windows are not */
    RK_REACH_ALL,    /* the whole sequence */
} rk_flop_reach;

/* The structs of rk_layer_type that a kind fills; 0: a part that does nothing. */
enum {
    RK_SHAPE_ATTENTION = 1,
    RK_SHAPE_RECURRENCE = 2,
    RK_SHAPE_FFN = 4,   /* whether a network is gated and clamped */
    RK_SHAPE_WIDTH = 8, /* the width and the biases of a dense network */
    RK_SHAPE_MOE = 16,
};

/* A key of a model document that fills `place` of an rk_layer_type. */
#define RK_LAYER_SIZE(key, place, text)                                                            \
    RK_FIELD(#key, INT, offsetof(rk_layer_type, place), .optional = true, .help = text)
#define RK_LAYER_FLAG(key, place, text)                                                            \
    RK_FIELD(#key, BOOL, offsetof(rk_layer_type, place), .optional = true, .help = text)
#define RK_LAYER_CHOICE(key, place, values, text)                                                  \
    RK_FIELD(#key, ENUM, offsetof(rk_layer_type, place), .optional = true, .names = values,        \
             .help = text)

/* `count` matrices of one shape that an optimizer may treat one by one. */
typedef struct rk_matrix {
    double rows, columns, count;
    bool expert; /* of routed experts */
} rk_matrix;

enum { RK_MATRIX_MAX = 16 }; /* shapes of one part of a layer */

/*
 * Functions that mixers and feed-forward networks share: their part of a layer.  `type` is always a
 * layer of this kind.
 */
typedef struct rk_part_kind {
    const char *name; /* in documents and messages */
    unsigned shapes;  /* RK_SHAPE_... */
    const rk_field *fields;
    size_t field_count;

    /* Whether a layer with these sizes, whose document names no kind, is of this one; NULL: a
     * document has to name it, unless it is the last of all. */
    bool (*claims)(const rk_layer_type *type);

    /*
     * Fills in what follows from other sizes of a document's layer; NULL: nothing does.  The
     * error's path is below `path`.
     */
    rk_status (*complete)(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err);

    /* Checks all sizes; the error's path is the key. */
    rk_status (*check)(const rk_layer_type *type, rk_error *err);

    /* Adds the parameters of this part for a hidden size: its own fields of *params, and gemm and
     * counted. */
    void (*count)(const rk_layer_type *type, int64_t hidden, rk_layer_params *params);

    /*
     * Of these, the parameters that every one of `t` tensor ranks holds whole, and how many more
     * a rank holds because it copies what cannot be split further.
     */
    void (*unsplit)(const rk_layer_type *type, double hidden, double t, double *whole,
                    double *copied);

    /* Input plus output features of the linears that can have adapters. */
    double (*features)(const rk_layer_type *type, double hidden);

    /*
     * Writes the matrices of this part, which Muon orthogonalizes one by one; those that hold
     * several things at once (the input of state-space layers) are left out.  Returns how many
     * shapes, at most RK_MATRIX_MAX.  NULL: none.
     */
    int (*matrices)(const rk_layer_type *type, double hidden, rk_matrix out[RK_MATRIX_MAX]);

    /* Adds the operators of this part to a block that is being priced. */
    void (*add)(struct rk_cost_builder *x, const rk_layer_type *type);

    /* Bytes of temporaries at the worst moment of this part's backward. */
    double (*transient)(const struct rk_block_context *c, const rk_layer_type *type);
} rk_part_kind;

/* A kind of mixer: it mixes the tokens of a sequence. */
struct rk_mixer {
    rk_part_kind part;
    const struct rk_recurrence_kind *recurrence; /* NULL: no recurrence */
    unsigned modules; /* RK_MODULE_... whose recomputation changes its cost */
    bool timed;       /* whole steps with it are among the runs that constants were fitted to */
    bool projects;    /* ends with an output projection that can be recomputed by itself */
    double regions;   /* in which the tensor ranks gather the tokens and sum the results; 0: one */

    /*
     * Training FLOPs per token (forward and twice that backward) of what is not a product with a
     * weight, in a sequence of `seq` tokens.
     */
    double (*flops)(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach);

    /*
     * A size that does not split over `tp` tensor ranks, or over those and `cp` context ranks; 0:
     * all do.  NULL: as rules of softmax attention say.
     */
    int64_t (*unsplittable)(const rk_layer_type *type, int64_t tp, int64_t cp);

    /* Kernels of both passes; NULL: as many as softmax attention has. */
    void (*kernels)(const struct rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward);
};

/* A kind of feed-forward network: it works on every token separately. */
struct rk_feed_forward {
    rk_part_kind part;
    unsigned module; /* RK_MODULE_... that checkpoints it whole */

    /* Regions in which the tensor ranks gather the tokens and sum the results: 0 or 1. */
    double (*regions)(const struct rk_block_context *c, const rk_layer_type *type);

    /* Kernels of a layer with softmax attention and this network. */
    void (*kernels)(const struct rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward);

    /* Of these, kernels that a graph of layers cannot hold; NULL: none. */
    void (*loose)(const struct rk_block_context *c, const rk_layer_type *type, double *forward,
                  double *backward);
};

/* The kinds that documents are read with; both lists end with NULL. */
struct rk_kinds {
    const rk_mixer *const *mixers;
    const rk_feed_forward *const *feed_forwards;
};

/*
 * Gives a layer the kinds that claim its sizes: of mixers and of feed-forward networks the first
 * that does, or the last.
 */
void rk_layer_set_kinds(rk_layer_type *type, const rk_kinds *kinds);

/*
 * Gives a layer the kinds of these names (NULL: those that claim its sizes), and clears the sizes
 * that they do not have.
 */
rk_status rk_layer_choose_kinds(rk_layer_type *type, const rk_kinds *kinds, const char *mixer,
                                const char *feed_forward, rk_error *err);

/* Whether two layers have the same mixer. */
bool rk_same_mixer(const rk_layer_type *a, const rk_layer_type *b);

/* Whether two layers also do the same work; the biases of their routers may differ. */
bool rk_same_work(const rk_layer_type *a, const rk_layer_type *b);

/* Training FLOPs per token of softmax attention, without its projections. */
double rk_attention_training_flops(const rk_attention_shape *attention, int64_t seq,
                                   rk_flop_reach reach);

/* ---- for the checks of kinds --------------------------------------------------------------- */

enum {
    RK_WIDTH_MAX = 1 << 22,
    RK_HEADS_MAX = 1 << 14,
    RK_HEAD_SIZE_MAX = 1 << 14,
    RK_RANK_MAX = 1 << 20,
    RK_EXPERTS_MAX = 1 << 14,
    RK_TOKENS_MAX = 1 << 30,
};

/* A size by the name of its key in a model document. */
typedef struct rk_size_range {
    const char *key;
    int64_t value, min, max;
} rk_size_range;

rk_status rk_check_sizes(const rk_size_range *sizes, size_t count, rk_error *err);

/* Refuses sizes of layers of another kind, which mean nothing in one that lacks `key`. */
rk_status rk_check_foreign(const rk_named_count *sizes, size_t count, const char *key,
                           rk_error *err);

#endif
