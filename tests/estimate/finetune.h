/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies of fine-tuning on A100, and the memory that they take. */
#ifndef TESTS_ESTIMATE_FINETUNE_H
#define TESTS_ESTIMATE_FINETUNE_H

#include "../layer/blocks.h"

#include "estimate/stage.h"
#include "layer/precision.h"
#include "strategy/optimizer.h"

static rk_model model;
static rk_system machine;
static rk_stack stack;

/* Hugging Face: whole layers are checkpointed, AdamW steps all tensors together. */
static inline rk_strategy tuned(const char *name, int64_t ranks, double weight)
{
    model = model_of(name);
    machine = system_of("a100-sxm-80gb");
    stack = stack_of("huggingface-ampere");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.global_batch = ranks;
    s.seq = 4096;
    s.recompute = RK_REC_FULL;
    s.sharding = ranks > 1 ? RK_SHARD_ALL : RK_SHARD_NONE;
    s.foreach_update = true;
    s.states = weight == 2 ? (rk_state_recipe){2, 2, 4, 2, 2} : (rk_state_recipe){4, 4, 8, 2, 2};
    return s;
}

/* Adapters of rank 16 on attention, in fp32. */
static inline rk_strategy adapted(const char *name, int64_t ranks, int64_t micro_batch)
{
    rk_strategy s = tuned(name, ranks, 4);
    s.micro_batch = micro_batch;
    s.global_batch *= micro_batch;
    s.states.weight = 2;
    s.adapter_bytes = 4;
    rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION, &s);
    return s;
}

static inline void quantise(rk_frozen_type type, rk_strategy *s)
{
    s->nf4_weights = s->low_weights = true;
    s->frozen_type = type;
}

static const rk_setting setting = {.model = &model,
                                   .system = &machine,
                                   .stack = &stack,
                                   .framework = RK_FRAMEWORK_ANY,
                                   .convention = RK_FLOPS_MEGATRON};

static inline rk_stage_memory memory_in(const rk_strategy *s, rk_framework framework)
{
    rk_estimate e;
    rk_error err;
    rk_setting chosen = setting;
    chosen.framework = framework;
    assert_int_equal(rk_estimate_exact(&chosen, s, &e, NULL, &err), RK_OK);
    assert_near(e.memory.peak[rk_stage_peak(&e.memory)], e.memory.allocated, 1e-12);
    return e.memory;
}

static inline rk_stage_memory memory_of(const rk_strategy *s)
{
    assert_legal(&model, &machine, s);
    return memory_in(s, RK_FRAMEWORK_ANY);
}

static inline double allocated(const rk_strategy *s)
{
    return memory_of(s).allocated / GIB;
}

static inline double states_of(const rk_stage_memory *m)
{
    return m->part[RK_MEM_WEIGHTS] + m->part[RK_MEM_GRADIENTS] + m->part[RK_MEM_OPTIMIZER];
}

/* Bytes that the head keeps of its logits. */
static inline double logits_of(const rk_strategy *s)
{
    const rk_block_context c = rk_block_context_of(&model, &machine, &stack, s);
    return rk_block_head(&c).saved -
           (s->adapter_rank > 0 ? 4 : 8) * c.tokens * (double)model.hidden;
}

#endif
