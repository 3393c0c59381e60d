/* SPDX-License-Identifier: Apache-2.0 */
/* What is published of fine-tuning: memory, speed, and what does not fit (FINETUNE, UT-F6 on). */
#include "finetune.h"

static rk_estimate estimate_of(const rk_strategy *s)
{
    rk_estimate e;
    rk_error err;
    assert_legal(&model, &machine, s);
    assert_int_equal(rk_estimate_exact(&setting, s, &e, NULL, &err), RK_OK);
    return e;
}

/* Qwen-7B: Llama-2-7B with another vocabulary, and biases of queries, keys and values. */
static rk_strategy qwen_7b(void)
{
    rk_strategy s = tuned("llama2-7b", 1, 2);
    model.vocab = 151936;
    model.types[0].attention.bias_qkv = true;
    s.seq = 512;
    s.logit_bytes = 14;
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
    return s;
}

/* UT-F6: ms-swift, full fine-tuning in bf16, 512 tokens: 10 P = 71.9 GiB, 73.4 reserved. */
static void test_swift(void **state)
{
    (void)state;
    const rk_strategy s = qwen_7b();
    assert_int_equal(rk_model_params_of(&model).total, 7721324544);
    const rk_stage_memory m = memory_of(&s);
    assert_near(m.allocated / GIB, 71.9, 0.002);
    assert_near(m.reserved / GIB, 73.4, 0.06);
}

/* UT-F7: PEFT's comparison, Llama-3.2-3B on an L40S: 25.70 GB of states, 26.07 allocated in the
 * mean. */
static void test_full_in_bf16(void **state)
{
    (void)state;
    const rk_strategy s = tuned("llama3.2-3b", 1, 2);
    const double params = (double)rk_model_params_of(&model).total;
    const rk_stage_memory m = memory_of(&s);
    assert_near(8 * params, 25.70e9, 0.001);
    assert_near(m.allocated - m.part[RK_MEM_TRANSIENT], 8 * params, 1e-9);
    assert_true(8 * params < 26.07e9 && 26.07e9 < m.allocated);
}

/* UT-F8: prime-rl, weights and gradients in fp32 over 16 ranks: 8 P / 16, "about 60" GiB of 120B.
 */
static void test_sharded_in_fp32(void **state)
{
    (void)state;
    rk_strategy s = tuned("gpt-oss-120b", 16, 4);
    s.micro_batch = 1;
    s.global_batch = 32; /* gradients stay between two microbatches */
    const double params = (double)rk_model_params_of(&model).total;
    const rk_stage_memory m = memory_of(&s);
    const double kept = m.part[RK_MEM_WEIGHTS] + m.part[RK_MEM_GRADIENTS];
    assert_near(kept, 8 * params / 16, 1e-9);
    assert_near(kept * 120e9 / params / GIB, 55.9, 0.002);
}

/* UT-F12: 405B, QLoRA on eight A100, 2 x 2048: base 24.1 and ends 0.98 GiB, checkpoints 15.75. */
static void test_largest_adapted(void **state)
{
    (void)state;
    rk_strategy s = adapted("llama3.1-405b", 8, 2);
    s.seq = 2048;
    s.adapter_bytes = 2;
    s.cross_entropy = RK_CROSS_ENTROPY_CHUNKED;
    quantise(RK_FROZEN_NF4, &s);
    const rk_stage_memory m = memory_of(&s);
    assert_near(m.part[RK_MEM_WEIGHTS] / GIB, 24.1 + 0.98, 0.005);
    assert_near(m.part[RK_MEM_ACTIVATIONS] / GIB, 15.75, 1e-3);
}

static rk_strategy zero_3(const char *name, double step_bytes)
{
    rk_strategy s = tuned(name, 8, 2);
    stack = stack_of("deepspeed-ampere");
    s.seq = 1024;
    s.states = (rk_state_recipe){2, 2, 12, 2, 2};
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
    s.foreach_update = step_bytes > 6;
    return s;
}

/* UT-F14: Qwen2.5-32B, ds_z3, 8 x 80 GB: 16 P / 8 = 61.0 and 5.6 GiB of a group; out of memory. */
static void test_out_of_memory(void **state)
{
    (void)state;
    rk_strategy s = zero_3("qwen2.5-32b", 6);
    const rk_stage_memory m = memory_of(&s);
    const double states = states_of(&m);
    assert_near(states / GIB, 61.0, 0.002);
    assert_near((m.peak[RK_PEAK_STEP] - states) / GIB, 5.6 + 2 * 0.47, 0.02); /* and buckets */
    s = zero_3("qwen2.5-32b", 10); /* the trainer's AdamW: all tensors of a group at once */
    assert_near((memory_of(&s).peak[RK_PEAK_STEP] - m.peak[RK_PEAK_STEP]) / 1e9, 4, 1e-6);
}

/* UT-F15: Llama-3-8B, ds_z3, 8 x 24 GB: out of memory; 13 GB with states and weights on the host.
 */
static void test_small_cards(void **state)
{
    (void)state;
    rk_strategy s = zero_3("llama3-8b", 6);
    const rk_stage_memory m = memory_of(&s);
    const double states = states_of(&m);
    assert_near(states / GIB, 14.96, 0.001);
    assert_true(m.total / GIB > 23.6);
    s.offload_optimizer = s.offload_gradients = s.offload_weights = true;
    assert_true(memory_of(&s).total < 13e9);
}

/* UT-F16: 70B with all states on the host: 18 bytes a parameter, 1.24 TB, besides what is pinned.
 */
static void test_host(void **state)
{
    (void)state;
    rk_strategy s = zero_3("llama2-70b", 6);
    s.offload_optimizer = s.offload_gradients = s.offload_weights = true;
    const double params = (double)rk_model_params_of(&model).total;
    assert_near(8 * estimate_of(&s).host_bytes, (1 + stack.host_share) * 18 * params, 1e-9);
    assert_near(18 * params, 1.24e12, 0.005);
}

/* UT-F24: torchtune, 3B, 2 x 4096 packed: the chunked loss saves 8.1 GiB (51.0 to 42.9).  The loss
 * of that table (CEWithChunkedOutputLoss) takes the logits of all chunks from the model, in 16
 * bits.
 */
static void test_chunks_of_3b(void **state)
{
    (void)state;
    rk_strategy s = tuned("llama3.2-3b", 1, 2);
    s.micro_batch = s.global_batch = 2;
    s.recompute = RK_REC_NONE;
    s.foreach_update = false;
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
    const double whole = allocated(&s);
    s.cross_entropy = RK_CROSS_ENTROPY_CHUNKED;
    const double of_others = 2.0 * 7 / 8 * 8192 * (double)model.vocab / GIB;
    assert_near(whole - allocated(&s) - of_others, 8.1, 0.05);
}

/* UT-F25: DeepSpeed, ZeRO-2 with the optimizer on the host, two A100 and two EPYC 7742: 1.10 s more
 * a step for 1.54e9 parameters, and 2.21 for 3.09e9 (1.125 and about 2.0). */
static void test_host_steps(void **state)
{
    static const struct {
        const char *model;
        double more; /* s, measured */
    } cases[] = {{"qwen2.5-1.5b", 1.125}, {"qwen2.5-3b", 2.02}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_strategy s = zero_3(cases[i].model, 6);
        s.dp = s.global_batch = 2;
        s.sharding = RK_SHARD_GRADIENTS;
        const rk_estimate here = estimate_of(&s);
        s.offload_optimizer = s.offload_gradients = true;
        const rk_estimate away = estimate_of(&s);
        const double params = (double)rk_model_params_of(&model).total;
        const double more = away.times.part[RK_PART_OFFLOAD] - here.times.part[RK_PART_OFFLOAD];
        assert_near(more, params / 1.4e9, 1e-6);
        assert_near(more, cases[i].more, 0.12);
    }
}

/* Muon under ZeRO: half of AdamW's moments on hidden matrices.  Of Qwen2.5-3B on eight ranks that
 * is 1.3 GiB; 3.1 of 34.5 were measured (DeepSpeed, blogs/muon-optimizer), so that more than states
 * differed. */
static void test_sharded_muon(void **state)
{
    (void)state;
    rk_strategy s = zero_3("qwen2.5-3b", 6);
    s.sharding = RK_SHARD_GRADIENTS;
    const double adam = memory_of(&s).part[RK_MEM_OPTIMIZER];
    rk_optimizer_set(RK_OPTIMIZER_MUON, false, &s);
    assert_true(rk_strategy_legal(&model, &machine, &s, RK_FRAMEWORK_DEEPSPEED, NULL));
    assert_true(rk_strategy_legal(&model, &machine, &s, RK_FRAMEWORK_HUGGINGFACE, NULL));
    assert_false(rk_strategy_legal(&model, &machine, &s, RK_FRAMEWORK_MEGATRON, NULL));
    const rk_stage_memory m = memory_in(&s, RK_FRAMEWORK_DEEPSPEED);
    const double hidden = (double)rk_model_params_of(&model).total - 151936.0 * 2048;
    assert_near(adam - m.part[RK_MEM_OPTIMIZER], 4 * hidden / 8, 1e-3);
}

/* UT-F26: GRPO, 2 x 256 x 151,665: 310.6 MB of logits in fp32, 858 MB at the peak: 11.0 bytes each.
 */
static void test_policy_logits(void **state)
{
    (void)state;
    rk_strategy s = adapted("qwen3-8b", 1, 2);
    s.seq = 256;
    model.vocab = 151665;
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
    const double logits = 2.0 * 256 * 151665;
    assert_near(4 * logits, 310.6e6, 1e-3);
    assert_near(logits_of(&s), 858e6, 0.1);
}

/* UT-F27: a reward model of Qwen3-8B lacks the output layer: 0.622e9 parameters, 1.24 GB. */
static void test_without_head(void **state)
{
    (void)state;
    const rk_strategy s = tuned("qwen3-8b", 1, 2);
    const rk_block_context c = rk_block_context_of(&model, &machine, &stack, &s);
    assert_near(rk_block_table_params(&c), 0.622e9, 1e-3);
    assert_near(2 * rk_block_table_params(&c), 1.24e9, 5e-3);
}

/* UT-F28: transformers, 8 layers, 8,192 tokens of 1,024: 128.0 MiB of inputs that the host keeps.
 */
static void test_inputs_of_eight_layers(void **state)
{
    (void)state;
    rk_strategy s = tuned("qwen3-0.6b", 1, 2);
    s.seq = 8192;
    rk_cost_table table;
    rk_cost_table_fill(&model, &machine, &stack, &s, &table);
    assert_near(8 * table.layers[0][1].saved, 128.0 * (1 << 20), 1e-12);
}

/* UT-F30: eight documents of 512 in 4,096 tokens: an eighth of the FLOPs of attention. */
static void test_packed_documents(void **state)
{
    (void)state;
    rk_strategy s = tuned("llama3-8b", 1, 2);
    rk_cost_table whole, packed;
    rk_cost_table_fill(&model, &machine, &stack, &s, &whole);
    s.document = 512;
    rk_cost_table_fill(&model, &machine, &stack, &s, &packed);
    /* forward, 4 h S / 2 a token and layer: 3.22 GFLOP a token in training, then 0.40 */
    const double saved = whole.layers[0][0].flops_forward - packed.layers[0][0].flops_forward;
    assert_near(3 * 32 * saved / 4096, (3.22 - 0.40) * 1e9, 0.01);
}

/* UT-F32: VectorLM, Llama-3-8B on one A100: LoRA does 1.06 to 1.15 times the tokens of full; where
 * FLOPs alone decide it is 8 / 6. */
static void test_lora_speed(void **state)
{
    static const struct {
        int64_t seq, micro_batch; /* the best of 2, 4 and 8 */
        double ratio;
    } cases[] = {{2048, 8, 1.149}, {4096, 4, 1.064}, {8192, 2, 1.101}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double seconds[2];
        for (int lora = 0; lora < 2; lora++) {
            rk_strategy s = lora ? adapted("llama3-8b", 1, 1) : tuned("llama3-8b", 1, 2);
            s.seq = cases[i].seq;
            s.micro_batch = s.global_batch = cases[i].micro_batch;
            s.foreach_update = false;
            seconds[lora] = estimate_of(&s).step;
        }
        assert_true(seconds[0] > seconds[1] && seconds[0] < 8.0 / 6 * seconds[1]);
        assert_near(seconds[0] / seconds[1], cases[i].ratio, 0.2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swift),
        cmocka_unit_test(test_full_in_bf16),
        cmocka_unit_test(test_sharded_in_fp32),
        cmocka_unit_test(test_largest_adapted),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_small_cards),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_chunks_of_3b),
        cmocka_unit_test(test_host_steps),
        cmocka_unit_test(test_sharded_muon),
        cmocka_unit_test(test_policy_logits),
        cmocka_unit_test(test_without_head),
        cmocka_unit_test(test_inputs_of_eight_layers),
        cmocka_unit_test(test_packed_documents),
        cmocka_unit_test(test_lora_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
