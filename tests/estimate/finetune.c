/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of fine-tuning against peaks that were measured: models held in 16 bits, states under
 * FSDP and DeepSpeed, adapters on frozen and quantised weights, the loss, checkpoints of layers.
 * fms: scripts/benchmarks of fms-acceleration (876e2ed), torch's peak of allocated memory on A100.
 */
#include "finetune.h"

/* ---- states ---------------------------------------------------------------------------------- */

/* UT-F1 to UT-F4. */
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

/* UT-F5: torchtune on one A100, Llama-2-7B (torchao README): 8, 6.03 and 5.06 bytes a parameter. */
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

/* Accumulation under FSDP with no_sync, as LitGPT's: gradients are whole until the last microbatch,
 * and scattered once. */
static void test_whole_sums(void **state)
{
    (void)state;
    rk_strategy s = tuned("llama2-7b", 4, 2);
    rk_estimate once, each;
    rk_error err;
    const double gradients = 2 * 6738415616.0;
    stack.sums_whole = true;
    assert_near(memory_of(&s).part[RK_MEM_GRADIENTS], gradients / 4, 1e-12); /* one microbatch */
    s.global_batch = 16;
    assert_near(memory_of(&s).part[RK_MEM_GRADIENTS], gradients, 1e-12);
    assert_int_equal(rk_estimate_exact(&setting, &s, &once, NULL, &err), RK_OK);
    stack.sums_whole = false;
    assert_near(memory_of(&s).part[RK_MEM_GRADIENTS], gradients / 4, 1e-12);
    assert_int_equal(rk_estimate_exact(&setting, &s, &each, NULL, &err), RK_OK);
    assert_true(once.volumes.data < each.volumes.data);
}

/* UT-F13: DeepSpeedExamples, training/bf16_master_weight: 6.86e9 parameters on four ranks. */
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
    const double states = states_of(&m);
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

/* Which moment decides: the step with DeepSpeed's cast gradients, the loss with whole logits, and
 * backward where the loss is fused. */
static void test_peaks(void **state)
{
    (void)state;
    rk_strategy s = adapted("llama3-8b", 1, 4);
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
    const rk_stage_memory whole = memory_of(&s);
    assert_int_equal(rk_stage_peak(&whole), RK_PEAK_LOSS);
    s.cross_entropy = RK_CROSS_ENTROPY_FUSED;
    const rk_stage_memory fused = memory_of(&s);
    assert_int_equal(rk_stage_peak(&fused), RK_PEAK_BACKWARD);
    assert_near(fused.peak[RK_PEAK_BACKWARD], whole.peak[RK_PEAK_BACKWARD], 1e-12);
    s = tuned("llama2-7b", 4, 2);
    stack = stack_of("deepspeed-hopper");
    s.seq = 512;
    s.states = (rk_state_recipe){2, 2, 12, 2, 2};
    const rk_stage_memory zero = memory_of(&s);
    assert_int_equal(rk_stage_peak(&zero), RK_PEAK_STEP);
    assert_near(zero.peak[RK_PEAK_STEP], zero.allocated, 1e-12);
}

/* ---- adapters -------------------------------------------------------------------------------- */

/* UT-F9, UT-F10: between steps, frozen weights, adapters in fp32 and their moments (fms). */
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

/* UT-F11: types of frozen weights, bytes, of which double quantisation saves 0.302 GB of
 * Llama-2-7B. */
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

/* UT-F17, UT-F19: peaks of adapters in bf16 and NF4, on one accelerator and under FSDP (fms). */
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
        s.adapter_bytes = 2; /* fused kernels of adapters keep no casts */
        assert_near(allocated(&s), cases[i].measured, 0.03);
    }
}

/* UT-F18: preparation for k-bit training, hidden states, embedding, head and norms in fp32 (fms).
 */
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

/*
 * Mixtral on one A100 by the operators of transformers, with that preparation and without: 1528 and
 * 1965 tokens/s of 4 sequences, 1690 and 2106 of 8 (fms-acceleration at 876e2ed).
 */
static void test_wide_seconds(void **state)
{
    static const struct {
        int64_t sequences;
        double ratio;
    } measured[] = {{4, 1965.1 / 1528.1}, {8, 2105.6 / 1690.3}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        rk_strategy s = adapted("mixtral-8x7b", 1, measured[i].sequences);
        rk_estimate narrow, wide;
        quantise(RK_FROZEN_NF4, &s);
        stack.norm_forward = 84;
        stack.norm_backward = 96;
        stack.activation_passes = 2;
        rk_estimate_step(&model, &machine, &stack, &s, RK_FLOPS_MEGATRON, &narrow);
        s.wide_residual = true;
        rk_estimate_step(&model, &machine, &stack, &s, RK_FLOPS_MEGATRON, &wide);
        assert_near(wide.step / narrow.step, measured[i].ratio, 0.05);
    }
}

/* LitGPT's adapters without checkpoints, 512 tokens of a sequence (config_hub at 26857050, A10G):
 * each reads a copy that dropout made; bitsandbytes before 0.43.2 holds the inputs of linears in
 * NF4, and a loop that holds the loss those of the step before. */
static void test_kept_inputs(void **state)
{
    static const struct {
        const char *model;
        int64_t micro_batch, rank;
        unsigned modules;
        bool nf4;
        double measured; /* GB */
    } cases[] = {
        {"llama2-7b", 2, 32, RK_ADAPTED_ATTENTION, false, 19.77},
        {"llama2-7b", 2, 32, RK_ADAPTED_ATTENTION, true, 13.68},
        {"llama3-8b", 1, 32, RK_ADAPTED_ATTENTION, false, 19.73},
        {"llama3-8b", 2, 32, RK_ADAPTED_ATTENTION, true, 17.41},
        {"phi-3-mini", 4, 8, RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN, false, 19.75},
        {"phi-3-mini", 4, 8, RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN, true, 19.13},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_strategy s = tuned(cases[i].model, 1, 2);
        stack.adapter_dropout = true;
        stack.quantised_inputs = cases[i].nf4 ? 2 : 0;
        s.seq = 512;
        s.micro_batch = s.global_batch = cases[i].micro_batch;
        s.recompute = RK_REC_NONE;
        s.adapter_bytes = 4;
        s.states = (rk_state_recipe){2, 4, 8, 2, 4};
        rk_strategy_freeze(&model, cases[i].rank, cases[i].modules, &s);
        s.cross_entropy = RK_CROSS_ENTROPY_FULL;
        s.logit_bytes = 14;
        if (cases[i].nf4) {
            quantise(RK_FROZEN_NF4_PLAIN, &s);
        }
        assert_near(memory_of(&s).allocated / 1e9, cases[i].measured, 0.05);
    }
}

/* A copy of the input of each module, and a byte of mask; once more of gate and up, and of what
 * attention keeps anyway. */
static void test_adapter_dropout(void **state)
{
    (void)state;
    rk_strategy s = adapted("llama2-7b", 1, 1);
    rk_cost_table table;
    s.recompute = RK_REC_NONE;
    for (unsigned modules = RK_ADAPTED_ATTENTION; modules <= RK_ADAPTED_FFN; modules *= 2) {
        s.adapter_modules = modules;
        stack.adapter_dropout = false;
        rk_cost_table_fill(&model, &machine, &stack, &s, &table);
        const double whole = table.layers[0][0].saved;
        stack.adapter_dropout = true;
        rk_cost_table_fill(&model, &machine, &stack, &s, &table);
        /* a mask: the copies are there without dropout, as casts to 16 bits */
        const double more = modules == RK_ADAPTED_FFN ? 2 * 4096 + 11008 : 4 * 4096;
        assert_near(table.layers[0][0].saved - whole, more * 4096, 1e-9);
    }
}

/* Eager attention of transformers: a softmax in fp32 and its copy in 16 bits, which is
 * multiplied with the values; a fused kernel keeps none. */
static void test_eager_attention(void **state)
{
    (void)state;
    rk_strategy s = tuned("llama2-7b", 1, 2);
    rk_cost_table fused, eager;
    s.recompute = RK_REC_NONE;
    rk_cost_table_fill(&model, &machine, &stack, &s, &fused);
    s.flash_attention = false;
    rk_cost_table_fill(&model, &machine, &stack, &s, &eager);
    const double scores = 32 * 4096.0 * 4096, sums = 4 * 32 * 4096.0;
    assert_near(eager.layers[0][0].saved - fused.layers[0][0].saved, 6 * scores - sums, 1e-9);
}

/* Sharded embeddings and heads that are gathered are no blocks of the loss: 70B in NF4 on two cards
 * of 24 GB reserves 14.9 GiB with all states on the host (fsdp_qlora at 05ed9f2). */
static void test_cached_blocks(void **state)
{
    (void)state;
    rk_strategy s = adapted("llama2-70b", 2, 2);
    s.seq = 2048;
    s.cross_entropy = RK_CROSS_ENTROPY_FUSED;
    quantise(RK_FROZEN_NF4, &s);
    const rk_stage_memory m = memory_of(&s);
    const rk_block_context c = rk_block_context_of(&model, &machine, &stack, &s);
    const rk_cost head = rk_block_head(&c);
    assert_near(m.part[RK_MEM_FRAGMENTATION], 0.05 * m.allocated + head.saved + head.transient,
                1e-9);
}

/* A dense network in tiles of as many tokens as the hidden size keeps those of one, and runs its
 * forward once more. */
static void test_tiles(void **state)
{
    (void)state;
    rk_strategy s = tuned("llama3-8b", 8, 4);
    rk_cost_table whole, tiled;
    s.seq = 1 << 20;
    s.cp = 8;
    s.dp = s.global_batch = 1;
    rk_cost_table_fill(&model, &machine, &stack, &s, &whole);
    stack.tiled_mlp = true;
    rk_cost_table_fill(&model, &machine, &stack, &s, &tiled);
    const rk_cost *a = &whole.layers[0][1], *b = &tiled.layers[0][1];
    const double T = 131072, h = 4096, f = 14336, tiles = T / h;
    /* gate and up, the activation and its product, all of which one tile has */
    assert_near(a->unsaved - b->unsaved, (1 - 1 / tiles) * 2 * 4 * f * T, 1e-9);
    assert_near(b->flops_recompute - a->flops_recompute, 2 * 3 * f * h * T, 1e-9);
    assert_true(b->transient <= a->transient && b->saved == a->saved);
}

/* Experts that sharding leaves whole are on every rank of their expert group, and nothing gathers
 * them. */
static void test_whole_experts(void **state)
{
    (void)state;
    rk_strategy s = tuned("mixtral-8x7b", 4, 2);
    rk_estimate shards, whole;
    rk_error err;
    s.ep = 2;
    const rk_stage_memory before = memory_of(&s);
    assert_int_equal(rk_estimate_exact(&setting, &s, &shards, NULL, &err), RK_OK);
    stack.whole_experts = true;
    const rk_stage_memory after = memory_of(&s);
    assert_int_equal(rk_estimate_exact(&setting, &s, &whole, NULL, &err), RK_OK);
    const double half = 32.0 * 4 * 3 * 4096 * 14336 / 2; /* of the experts of two ranks */
    assert_near(after.part[RK_MEM_WEIGHTS] - before.part[RK_MEM_WEIGHTS], 2 * half, 1e-9);
    assert_near(after.part[RK_MEM_OPTIMIZER] - before.part[RK_MEM_OPTIMIZER],
                s.states.optimizer * half, 1e-9);
    assert_true(whole.volumes.data < shards.volumes.data);
}

/* A layer of Qwen3-0.6B on `ranks` context ranks of 131,072 tokens each. */
static rk_cost layer_in_ring(int64_t ranks, int64_t kv_heads, int64_t width)
{
    rk_strategy s = tuned("qwen3-0.6b", ranks, 4);
    rk_cost_table table;
    s.cp = ranks;
    s.cp_kind = RK_CP_RING;
    s.seq = ranks * 131072;
    s.dp = s.global_batch = 1;
    stack.ring_gathers = true;
    model.types[0].attention.kv_heads = kv_heads;
    model.types[0].ffn.width = width;
    rk_cost_table_fill(&model, &machine, &stack, &s, &table);
    return table.layers[0][1];
}

/*
 * Backward of PyTorch's ring has keys and values of all ranks in 16 bits, gradients of a step, and
 * three sums of those of keys and values in fp32: its own, what it packs, and what it receives.
 * What the network kept is free by then, however wide it is.
 */
static void test_ring(void **state)
{
    (void)state;
    const double T = 131072, pair = 2 * 128;
    const rk_cost layer = layer_in_ring(8, 8, 3072), wide = layer_in_ring(8, 8, 3584);
    assert_true(wide.unsaved > layer.unsaved);
    assert_near(wide.unsaved + wide.transient, layer.unsaved + layer.transient, 1e-12);
    const rk_cost fewer_ranks = layer_in_ring(4, 8, 3072), more_heads = layer_in_ring(8, 16, 3072);
    assert_near(layer.transient - fewer_ranks.transient, T * 4 * 2 * 8 * pair, 1e-9);
    const double each = T * pair * (8 * 2 + 2 + 3 * 4);
    assert_near(more_heads.transient - layer.transient, 8 * each, 1e-9);
}

/* UT-F29: nvidia-smi of adapters on Mistral-7B, 65,536 tokens, full logits: blocks of the loss and
 * of layers serve none of each other (fms). */
static void test_reserved(void **state)
{
    (void)state;
    rk_strategy s = adapted("mistral-7b", 1, 16);
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
    s.logit_bytes = 8;
    s.adapter_bytes = 2;
    assert_near(memory_of(&s).total / GIB, 64.25, 0.05);
}

/* ---- the loss -------------------------------------------------------------------------------- */

/* UT-F21, UT-F22. */
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

/* UT-F23: torchtitan, 8B, 8,192 tokens: chunks save 7.32 GiB of a compiled loss (8 bytes a logit).
 */
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

/* UT-F20: layer inputs on the host free 2 T h bytes of each: 128 MiB of 8 layers (transformers
 * 48444). */
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

/* UT-F31: a rank of FSDP gathers all experts of a layer: 2.38 GiB of 128 x 2 x 2688 x 1856. */
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
        cmocka_unit_test(test_wide_seconds),
        cmocka_unit_test(test_kept_inputs),
        cmocka_unit_test(test_adapter_dropout),
        cmocka_unit_test(test_eager_attention),
        cmocka_unit_test(test_whole_sums),
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_cached_blocks),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_whole_experts),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_chunks_save),
        cmocka_unit_test(test_offloaded_inputs),
        cmocka_unit_test(test_gathered_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
