/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of fine-tuning against peaks that were measured: models held in 16 bits, states under
 * FSDP and DeepSpeed, adapters on frozen and quantised weights, the loss, checkpoints of layers.
 * fms: scripts/benchmarks of fms-acceleration (876e2ed), torch's peak of allocated memory on A100.
 */
#include "../layer/blocks.h"

#include "estimate/stage.h"
#include "layer/precision.h"
#include "strategy/optimizer.h"

static rk_model model;
static rk_system machine;
static rk_stack stack;

/* Hugging Face: whole layers are checkpointed, AdamW steps all tensors together. */
static rk_strategy tuned(const char *name, int64_t ranks, double weight)
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
static rk_strategy adapted(const char *name, int64_t ranks, int64_t micro_batch)
{
    rk_strategy s = tuned(name, ranks, 4);
    s.micro_batch = micro_batch;
    s.global_batch *= micro_batch;
    s.states.weight = 2;
    s.adapter_bytes = 4;
    rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION, &s);
    return s;
}

static void quantise(rk_frozen_type type, rk_strategy *s)
{
    s->nf4_weights = s->low_weights = true;
    s->frozen_type = type;
}

static const rk_setting setting = {.model = &model,
                                   .system = &machine,
                                   .stack = &stack,
                                   .framework = RK_FRAMEWORK_ANY,
                                   .convention = RK_FLOPS_MEGATRON};

static rk_stage_memory memory_of(const rk_strategy *s)
{
    rk_estimate e;
    rk_error err;
    assert_legal(&model, &machine, s);
    assert_int_equal(rk_estimate_exact(&setting, s, &e, NULL, &err), RK_OK);
    return e.memory;
}

static double allocated(const rk_strategy *s)
{
    return memory_of(s).allocated / GIB;
}

/* ---- states ---------------------------------------------------------------------------------- */

static void test_states(void **state)
{
    static const struct {
        const char *model;
        int64_t ranks;
        double weight, measured; /* GiB */
    } cases[] = {
        {"mistral-7b", 1, 2, 67.46},         /* 10 P: weights, gradients, moments, temporaries */
        {"llama3-8b", 1, 2, 80.318e9 / GIB}, /* the same */
        {"llama3-8b", 4, 4, 37.41},          /* 20 P / 4: accelerate casts to fp32 */
        {"llama3-8b", 2, 4, 74.80},          /* 20 P / 2 */
        {"mistral-7b", 2, 2, 33.74},         /* 10 P / 2: mixed precision off */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_strategy s = tuned(cases[i].model, cases[i].ranks, cases[i].weight);
        assert_near(allocated(&s), cases[i].measured, 0.003);
    }
}

/* torchtune on one A100, Llama-2-7B (torchao README): 8, 6.03 and 5.06 bytes a parameter. */
static void test_narrow_optimizers(void **state)
{
    static const struct {
        rk_optimizer optimizer;
        double bytes, gib;
    } cases[] = {
        {RK_OPTIMIZER_ADAMW, 4, 50.2},
        {RK_OPTIMIZER_ADAMW_8BIT, 2.03125, 37.8},
        {RK_OPTIMIZER_ADAMW_4BIT, 1.0625, 31.8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_strategy s = tuned("llama2-7b", 1, 2);
        rk_optimizer_set(cases[i].optimizer, true, &s);
        s.foreach_update = false;
        assert_near(s.states.optimizer, cases[i].bytes, 1e-12);
        assert_near(s.outer_states, 0, 0);
        const rk_stage_memory m = memory_of(&s);
        const double states = m.part[RK_MEM_WEIGHTS] + m.part[RK_MEM_OPTIMIZER] + 2 * 6738415616.0;
        assert_near(states / GIB, cases[i].gib, 0.002);
    }
}

/* A gradient is gone before the next one comes; the largest are those of embedding and head. */
static void test_step_in_backward(void **state)
{
    (void)state;
    rk_strategy s = tuned("llama2-7b", 1, 2);
    const rk_stage_memory whole = memory_of(&s);
    s.step_in_backward = true;
    const rk_stage_memory passing = memory_of(&s);
    const double params = 6738415616.0, head = 32000.0 * 4096;
    assert_near(whole.part[RK_MEM_GRADIENTS], 2 * params, 1e-12);
    assert_near(passing.part[RK_MEM_GRADIENTS], 0, 0);
    assert_near(whole.allocated - whole.part[RK_MEM_TRANSIENT], 8 * params, 1e-12);
    assert_true(passing.allocated > 6 * params + 2 * head);
    assert_true(passing.allocated < 6 * params + 2 * head + 5e9);
}

/* DeepSpeedExamples, training/bf16_master_weight: 6.86e9 parameters on four ranks. */
static void test_deepspeed(void **state)
{
    (void)state;
    rk_strategy s = tuned("llama2-7b", 4, 2);
    stack = stack_of("deepspeed-hopper");
    s.seq = 512;
    s.foreach_update = false;
    s.states = (rk_state_recipe){2, 2, 12, 2, 2};
    stack.bucket_memory = 0;
    const double params = 6738415616.0;
    const rk_stage_memory m = memory_of(&s);
    const double states =
        m.part[RK_MEM_WEIGHTS] + m.part[RK_MEM_GRADIENTS] + m.part[RK_MEM_OPTIMIZER];
    assert_near(states, 16 * params / 4, 1e-12);
    /* the step: 6 bytes of a group of 1e9 parameters, besides the workspace */
    assert_near(m.allocated - states - stack.workspace_bytes, 6e9, 1e-9);
    s.step_params = 1e8; /* with small groups, backward is fuller: gathered parameters */
    assert_true(memory_of(&s).allocated < m.allocated - 3e9);
    s.sharding = RK_SHARD_GRADIENTS; /* no groups: the whole shard */
    const rk_stage_memory z2 = memory_of(&s);
    assert_near(z2.part[RK_MEM_WEIGHTS], 2 * params, 1e-12);
    assert_near(z2.part[RK_MEM_TRANSIENT] - stack.workspace_bytes, 6 * params / 4, 1e-9);
}

/* Gradients follow the optimizer to the host: 2 + 2 + 12 bytes of a parameter's shard there. */
static void test_offload(void **state)
{
    (void)state;
    rk_estimate e;
    rk_error err;
    rk_strategy s = tuned("llama2-70b", 8, 2);
    s.states = (rk_state_recipe){2, 4, 12, 2, 2};
    s.foreach_update = false;
    s.offload_optimizer = s.offload_weights = s.offload_gradients = true;
    assert_int_equal(rk_estimate_exact(&setting, &s, &e, NULL, &err), RK_OK);
    const double params = (double)rk_model_params_of(&model).total;
    assert_near(8 * e.host_bytes, 18 * params, 1e-12); /* 1.24 TB */
    assert_near(e.memory.part[RK_MEM_GRADIENTS], 0, 0);
    s.offload_optimizer = false;
    assert_false(rk_strategy_legal(&model, &machine, &s, RK_FRAMEWORK_ANY, NULL));
}

/* ---- adapters -------------------------------------------------------------------------------- */

/* Between steps: frozen weights, adapters in fp32 and their moments (fms). */
static void test_frozen(void **state)
{
    static const struct {
        const char *model;
        double measured; /* GiB */
    } cases[] = {{"llama3-8b", 5.48}, {"mistral-7b", 4.01}, {"llama2-70b", 34.63}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_strategy s = adapted(cases[i].model, 1, 1);
        quantise(RK_FROZEN_NF4, &s);
        const rk_stage_memory m = memory_of(&s);
        const double kept = m.part[RK_MEM_WEIGHTS] + m.part[RK_MEM_OPTIMIZER];
        assert_near(kept / GIB, cases[i].measured, 0.006);
    }
}

/* Types of frozen weights: bytes, of which double quantisation saves 0.302 GB of Llama-2-7B. */
static void test_frozen_types(void **state)
{
    static const double bytes[RK_FROZEN_COUNT] = {0.51587, 0.5625, 0.51953, 1};
    double weights[RK_FROZEN_COUNT];
    (void)state;
    for (int type = 0; type < RK_FROZEN_COUNT; type++) {
        rk_strategy s = adapted("llama2-7b", 1, 1);
        quantise((rk_frozen_type)type, &s);
        assert_near(rk_low_weight_bytes(&s), bytes[type], 1e-5);
        weights[type] = memory_of(&s).part[RK_MEM_WEIGHTS];
    }
    assert_near(weights[RK_FROZEN_NF4_PLAIN] - weights[RK_FROZEN_NF4], 0.302e9, 0.005);
}

/* Peaks of adapters in bf16 and NF4, on one accelerator and under FSDP (fms). */
static void test_adapted_peaks(void **state)
{
    static const struct {
        const char *model;
        int64_t ranks, micro_batch;
        bool nf4;
        rk_cross_entropy loss;
        double logit_bytes, measured; /* GiB */
    } cases[] = {
        {"mistral-7b", 1, 4, false, RK_CROSS_ENTROPY_FULL, 14, 24.87},
        {"mistral-7b", 1, 8, false, RK_CROSS_ENTROPY_FULL, 14, 36.08},
        {"llama3-8b", 1, 4, false, RK_CROSS_ENTROPY_FULL, 8, 35.06},
        {"llama3-8b", 1, 4, false, RK_CROSS_ENTROPY_FUSED, 0, 23.20},
        {"llama3-8b", 1, 16, false, RK_CROSS_ENTROPY_FUSED, 0, 47.40},
        {"llama3-8b", 1, 4, true, RK_CROSS_ENTROPY_FUSED, 0, 13.40},
        {"llama3-8b", 2, 4, false, RK_CROSS_ENTROPY_FUSED, 0, 21.78},
        {"llama3-8b", 4, 8, false, RK_CROSS_ENTROPY_FUSED, 0, 29.81},
        {"llama3-8b", 2, 4, true, RK_CROSS_ENTROPY_FULL, 8, 24.69},
        {"mistral-7b", 4, 16, false, RK_CROSS_ENTROPY_FUSED, 0, 52.35},
        {"mixtral-8x7b", 2, 2, false, RK_CROSS_ENTROPY_FULL, 14, 53.60},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_strategy s = adapted(cases[i].model, cases[i].ranks, cases[i].micro_batch);
        if (cases[i].nf4) {
            quantise(RK_FROZEN_NF4, &s);
        }
        s.cross_entropy = cases[i].loss;
        s.logit_bytes = cases[i].logit_bytes;
        assert_near(allocated(&s), cases[i].measured, 0.03);
    }
}

/* Preparation for k-bit training: hidden states, embedding, head and norms in fp32 (fms). */
static void test_wide_residual(void **state)
{
    (void)state;
    rk_strategy s = adapted("mistral-7b", 1, 8);
    quantise(RK_FROZEN_NF4, &s);
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
    s.logit_bytes = 14;
    const rk_stage_memory narrow = memory_of(&s);
    s.wide_residual = true;
    const rk_stage_memory wide = memory_of(&s);
    assert_near(wide.part[RK_MEM_ACTIVATIONS], 2 * narrow.part[RK_MEM_ACTIVATIONS], 1e-12);
    assert_near(wide.part[RK_MEM_WEIGHTS] - narrow.part[RK_MEM_WEIGHTS], 2 * 2 * 32000.0 * 4096,
                0.002);
    assert_near(wide.allocated / GIB, 34.46, 0.03);
}

/* nvidia-smi of adapters on Mistral-7B, 65,536 tokens, full logits: blocks of the loss and of
 * layers serve none of each other (fms). */
static void test_reserved(void **state)
{
    (void)state;
    rk_strategy s = adapted("mistral-7b", 1, 16);
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
    s.logit_bytes = 8;
    assert_near(memory_of(&s).total / GIB, 64.25, 0.05);
}

/* ---- the loss -------------------------------------------------------------------------------- */

static double logits_of(const rk_strategy *s)
{
    const rk_block_context c = rk_block_context_of(&model, &machine, &stack, s);
    return rk_block_head(&c).saved -
           (s->adapter_rank > 0 ? 2 : 4) * c.tokens * (double)model.hidden;
}

static void test_loss(void **state)
{
    (void)state;
    rk_strategy s = adapted("mistral-7b", 1, 4);
    const double tokens = 16384, hidden = tokens * 4096, vocab = 32000;
    s.cross_entropy = RK_CROSS_ENTROPY_FULL; /* logarithms of the softmax, two gradients */
    assert_near(logits_of(&s), 12 * tokens * vocab, 1e-12);
    s.cross_entropy = RK_CROSS_ENTROPY_FUSED; /* Liger: 8 chunks of 2,048 */
    assert_near(logits_of(&s), 2 * 2048 * vocab + 2 * hidden, 1e-12);
    s.cross_entropy = RK_CROSS_ENTROPY_CHUNKED; /* an eighth, gradients of hidden states in fp32 */
    assert_near(logits_of(&s), 12 * tokens / 8 * vocab + 4 * hidden, 1e-12);
    s.loss_chunk = 256; /* TRL */
    assert_near(logits_of(&s), 12 * 256 * vocab + 4 * hidden, 1e-12);
    s.loss_chunk = 1 << 20; /* more than there are */
    assert_near(logits_of(&s), 12 * tokens * vocab + 4 * hidden, 1e-12);
    s = adapted("llama3-8b", 1, 4); /* 128,256 over 4,096: 32 chunks of 512 */
    s.cross_entropy = RK_CROSS_ENTROPY_FUSED;
    assert_near(logits_of(&s), 2 * 512 * 128256.0 + 2 * hidden, 1e-12);
    s.cross_entropy = RK_CROSS_ENTROPY_OF_STACK;
    assert_near(logits_of(&s), stack.logit_bytes * tokens * 128256, 1e-12);
}

/* torchtitan, 8B, 8,192 tokens: chunks save 7.32 GiB of a compiled loss (8 bytes a logit). */
static void test_chunks_save(void **state)
{
    double peaks[2];
    (void)state;
    for (int chunked = 0; chunked < 2; chunked++) {
        rk_strategy s = tuned("llama3-8b", 8, 4);
        stack = stack_of("torchtitan");
        s.seq = 8192;
        s.foreach_update = false;
        s.logit_bytes = 8;
        s.cross_entropy = chunked ? RK_CROSS_ENTROPY_CHUNKED : RK_CROSS_ENTROPY_FULL;
        peaks[chunked] = logits_of(&s) / GIB;
    }
    assert_near(peaks[0] - peaks[1], 7.32, 0.1);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Layer inputs on the host free 2 T h bytes of each: 128 MiB of 8 layers (transformers 48444). */
static void test_offloaded_inputs(void **state)
{
    (void)state;
    rk_strategy s = tuned("qwen3-0.6b", 8, 4);
    s.cp = 8;
    s.dp = 1;
    s.global_batch = 1;
    s.cp_kind = RK_CP_RING;
    s.seq = 1 << 20;
    rk_cost_table table;
    rk_cost_table_fill(&model, &machine, &stack, &s, &table);
    /* of 28 layers, 131,072 tokens of 1,024: 7.52 GB, of which two layers stay as buffers */
    assert_near(28 * table.layers[0][1].saved, 7.516e9, 0.001);
}

/* A rank of FSDP gathers all experts of a layer: 2.38 GiB of 128 x 2 x 2688 x 1856. */
static void test_gathered_experts(void **state)
{
    (void)state;
    const rk_strategy s = tuned("mixtral-8x7b", 8, 4);
    assert_near(rk_gathered_bytes(&s, 128.0 * 2 * 2688 * 1856, 0) / GIB, 2.38, 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_narrow_optimizers),
        cmocka_unit_test(test_step_in_backward),
        cmocka_unit_test(test_deepspeed),
        cmocka_unit_test(test_offload),
        cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_frozen_types),
        cmocka_unit_test(test_adapted_peaks),
        cmocka_unit_test(test_wide_residual),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_chunks_save),
        cmocka_unit_test(test_offloaded_inputs),
        cmocka_unit_test(test_gathered_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
