/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a launch line of Megatron-LM that no option holds. */
#ifndef RK_REQUEST_LAUNCH_LINE_H
#define RK_REQUEST_LAUNCH_LINE_H

#include "launch/model_flags.h"

/* All zero: there is no line. */
typedef struct rk_launch_line {
    bool script;       /* one of Megatron-LM's */
    bool megatron;     /* a flag that only Megatron-LM has */
    bool other;        /* a word or a flag of another tool */
    bool titan;        /* a flag of torchtitan, which has its name and a dot */
    bool one_shard;    /* its degree of shards is 1 */
    bool deepspeed;    /* the launcher of DeepSpeed, which counts devices per node */
    bool own;          /* an option of a strategy by a name that is ours */
    bool open;         /* the command chooses what the line does not say: no default holds */
    bool plain_states; /* it does not shard, for lack of a flag that does */
    bool file;         /* facts of a launch that is read from a file */
    bool pasted;       /* or from a line among the arguments */
    bool complete;     /* a whole job: what it does not say is the framework's default */

    unsigned overlaps, no_overlaps; /* that it turns on or off, as --overlap has them */

    bool uniform;   /* --recompute-method uniform: all layers, in pieces */
    int64_t pieces; /* layers of a piece; 0: not given */

    bool megatron_fsdp, torch_fsdp, keeps_gathered;
    int fsdp_sharding; /* of --data-parallel-sharding-strategy: a rk_sharding + 1; 0: not given */

    rk_model_flags flags;            /* what it says of the model */
    char unbuilt[RK_FLAG_NAME_SIZE]; /* a flag of layers that flags cannot describe whole */
    int64_t titan_tokens; /* of a micro-batch, as torchtitan counts since 2026; 0: not given */
    const char *model; /* the document made of the flags; NULL: none.  Lives as long as the job */
} rk_launch_line;

#endif
