/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of slime: reinforcement learning with a Megatron-LM actor.  The job is the training
 * part of the actor.  Source: slime/utils/arguments.py and slime/backends/megatron_utils of
 * THUDM/slime, commit 624b824a.
 */
#include "base/units.h"
#include "launch/read_megatron.h"

#include <limits.h>
#include <string.h>

static int recognise(const rk_launch *launch)
{
    static const char *const flags[] = {"rollout-batch-size",          "n-samples-per-prompt",
                                        "actor-num-gpus-per-node",     "actor-num-nodes",
                                        "rollout-max-response-len",    "num-rollout",
                                        "rollout-num-gpus-per-engine", NULL};
    const int own = rk_launch_count_flags(launch, flags);
    return own >= 2 ? 20 + own : 0;
}

/* Sequences of a rollout, and of an optimizer step where the launch does not say. */
static void state_batch(rk_launch *launch)
{
    const int64_t prompts = rk_megatron_count(launch, "rollout-batch-size");
    const int64_t samples = rk_megatron_count(launch, "n-samples-per-prompt");
    const int64_t steps = rk_megatron_count(launch, "num-steps-per-rollout");
    const int64_t each = samples > 0 ? samples : 1;
    if (prompts > 0 && prompts <= INT32_MAX && each <= INT32_MAX) {
        rk_launch_state_count(launch, "samples_per_rollout", prompts * each, RK_FACT_STATED, NULL);
        rk_launch_state_count(launch, "global_batch", prompts * each / (steps > 0 ? steps : 1),
                              RK_FACT_DERIVED, NULL);
    }
    if (rk_megatron_is_on(launch, "use-dynamic-batch-size", false)) {
        rk_launch_drop(launch, "micro_batch"); /* tokens of a rank count */
        (void)rk_megatron_find(launch, "max-tokens-per-gpu");
    } else {
        rk_launch_drop(launch, "max_tokens_per_gpu");
        rk_launch_assume_count(launch, "micro_batch", 1);
    }
}

/* The length of a sequence; if it is not given, the length of the longest answer. */
static void state_sequence(rk_launch *launch)
{
    static const char *const names[] = {"seq-length", "rollout-max-context-len",
                                        "rollout-max-response-len", NULL};
    const rk_launch_key *key = rk_megatron_find_among(launch, names);
    if (key && key->value) {
        rk_launch_state(launch, "seq", key->value, RK_FACT_STATED, key);
    }
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    static const char *const sizes[] = {"rollout-batch-size", "n-samples-per-prompt",
                                        "num-steps-per-rollout"};
    const rk_megatron_usual usual = {
        .core = INT_MAX, .precision = "bf16", .dispatcher = "alltoall", .distributed = true};
    state_batch(launch);
    state_sequence(launch);
    const rk_status status = rk_megatron_resolve(launch, &usual, err);
    if (rk_megatron_is_on(launch, "allgather-cp", false)) {
        rk_launch_state(launch, "cp_kind", "all_gather", RK_FACT_STATED,
                        rk_megatron_find(launch, "allgather-cp"));
    }
    const char *dispatcher = rk_launch_fact_of(launch, "dispatcher");
    if (dispatcher && strcmp(dispatcher, "allgather") == 0) { /* the program replaces it */
        rk_launch_state(launch, "dispatcher", "alltoall", RK_FACT_STATED, NULL);
    }
    const rk_launch_key *backend = rk_megatron_find(launch, "train-backend");
    if (backend && backend->value && strcmp(backend->value, "fsdp") == 0) {
        rk_launch_state(launch, "zero", "3", RK_FACT_STATED, backend);
    }
    rk_megatron_leave(launch, "enable-mtp-training"); /* with --mtp-num-layers */
    if (rk_launch_fact_of(launch, "model.document")) {
        rk_megatron_leave(launch, "hf-checkpoint");
    }
    for (size_t i = 0; i < COUNT(sizes) && rk_megatron_find(launch, "global-batch-size"); i++) {
        rk_megatron_leave(launch, sizes[i]);
    }
    if (!rk_launch_fact_of(launch, "seq")) {
        rk_launch_mark(launch, "max-tokens-per-gpu", RK_KEY_NOT_PRICED,
                       "how many sequences these are is not known; add --seq-length");
    }
    rk_launch_mark(launch, "sglang-", RK_KEY_NOT_PRICED, "generation is not priced");
    return status;
}

const rk_launch_reader rk_launch_reader_slime = {
    .name = "slime",
    .framework = "megatron",
    .tables = {"slime", "megatron-lm"},
    .recognise = recognise,
    .resolve = resolve,
};
