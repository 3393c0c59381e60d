/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch line of Megatron-LM says beside the options that its flags stand for. */
#ifndef RK_REQUEST_LAUNCH_LINE_H
#define RK_REQUEST_LAUNCH_LINE_H

#include "model/model.h"

#define RK_SHAPE_MAX      60 /* flags that describe a model; see launch_model.c */
#define RK_FLAG_NAME_SIZE 48

/* A flag that lists layers: every n-th, or a 1 for each of a kind; neither: not given. */
typedef struct rk_layer_list {
    int every, count;
    uint8_t of[RK_LAYER_MAX];
} rk_layer_list;

/* All zero: there is no line. */
typedef struct rk_launch_line {
    bool script;       /* one of Megatron-LM's */
    bool megatron;     /* a flag that only Megatron-LM has */
    bool other;        /* a word or a flag of another tool */
    bool own;          /* an option of a strategy by a name that is ours */
    bool open;         /* the command chooses what the line does not say: no default holds */
    bool plain_states; /* it does not shard, for lack of a flag that does */
    bool file;         /* facts of a launch that is read from a file */
    bool complete;     /* a whole job: what it does not say is Megatron-LM's default */

    unsigned overlaps, no_overlaps; /* that it turns on or off, as --overlap has them */

    bool uniform;   /* --recompute-method uniform: all layers, in pieces */
    int64_t pieces; /* layers of a piece; 0: not given */

    bool megatron_fsdp, torch_fsdp, keeps_gathered;
    int fsdp_sharding; /* of --data-parallel-sharding-strategy: a rk_sharding + 1; 0: not given */

    uint64_t given; /* flags of the model, a bit each */
    int64_t shape[RK_SHAPE_MAX];
    rk_layer_list experts, windows, linear;
    char blocks[RK_LAYER_MAX + 1];     /* of --hybrid-layer-pattern: a letter each */
    char unbuilt[RK_FLAG_NAME_SIZE];   /* a flag of layers that flags cannot describe whole */
    char tokenizer[RK_FLAG_NAME_SIZE]; /* whose vocabulary the line does not say */
    const char *model; /* the document made of the flags; NULL: none.  Lives as long as the job */
} rk_launch_line;

#endif
