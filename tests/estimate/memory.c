/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of pipeline ranks against published tables and measured allocations. */
#include "../layer/blocks.h"

#include "estimate/stage.h"
#include "estimate/step_overheads.h"

/* ---- activations of GPT --------------------------------------------------------------------- */

/* Activations of the first stage, GiB, by mode, of Korthikanti et al. 2022. */
static const struct known {
    int layers;
    int64_t hidden, heads, micro_batch, pp, vp, batch;
    double tp, tp_sp, tp_core, tp_sp_core, full;
} known[] = {
    {48, 6144, 64, 4, 1, 1, 4, 59.2500, 39.5625, 29.2500, 9.5625, 4.500},
    {96, 12288, 96, 1, 8, 3, 64, 66.8438, 41.4141, 37.7812, 12.3516, 5.8125},
    {105, 20480, 128, 1, 35, 3, 280, 114.0234, 66.5137, 70.5859, 23.0762, 10.8594},
    {128, 25600, 160, 1, 64, 1, 512, 131.2500, 76.5625, 81.2500, 26.5625, 12.500},
};

static double first_stage(const struct known *k, bool sp, rk_recompute_kind recompute)
{
    const rk_model model = gpt_of(k->layers, k->hidden, k->heads);
    const rk_system system = system_of("selene");
    const rk_stack stack = stack_of("megatron-2021");
    rk_stage_memory stages[64];
    rk_estimate e;
    rk_error err;
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 8;
    s.sp = sp;
    s.pp = k->pp;
    s.vp = k->vp;
    s.schedule = k->vp > 1 ? RK_SCHEDULE_INTERLEAVED : RK_SCHEDULE_1F1B;
    s.micro_batch = k->micro_batch;
    s.global_batch = k->batch;
    s.flash_attention = false;
    s.recompute = recompute;
    s.recompute_modules = RK_MODULE_CORE_ATTENTION;
    assert_legal(&model, &system, &s);
    const rk_setting setting = {
        .model = &model, .system = &system, .stack = &stack, .convention = RK_FLOPS_MEGATRON};
    assert_int_equal(rk_estimate_exact(&setting, &s, &e, stages, &err), RK_OK);
    return stages[0].part[RK_MEM_ACTIVATIONS] / GIB;
}

static void test_activations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct known *k = &known[i];
        assert_near(first_stage(k, false, RK_REC_NONE), k->tp, 1e-5);
        assert_near(first_stage(k, true, RK_REC_NONE), k->tp_sp, 1e-5);
        assert_near(first_stage(k, false, RK_REC_SELECTIVE), k->tp_core, 1e-5);
        assert_near(first_stage(k, true, RK_REC_SELECTIVE), k->tp_sp_core, 1e-5);
        assert_near(first_stage(k, false, RK_REC_FULL), k->full, 1e-5);
    }
}

/* 18 bytes for 12 L h^2 parameters over 8 ranks: 45.5625 GiB for the 22B model. */
static void test_states(void **state)
{
    (void)state;
    rk_model model = gpt_of(48, 6144, 64);
    const rk_system system = system_of("selene");
    const rk_stack stack = stack_of("megatron-2021");
    model.norm = RK_NORM_LAYER_NO_WEIGHT;
    model.types[0].attention.bias_qkv = model.types[0].attention.bias_out = false;
    model.types[0].ffn.bias = false;
    model.learned_positions = 0;
    rk_strategy s = rk_strategy_defaults(&model);
    rk_estimate e;
    s.tp = 8;
    rk_estimate_step(&model, &system, &stack, &s, RK_FLOPS_MEGATRON, &e);
    const double states = e.memory.part[RK_MEM_WEIGHTS] + e.memory.part[RK_MEM_GRADIENTS] +
                          e.memory.part[RK_MEM_OPTIMIZER];
    const double table = 51200.0 * 6144 / 8;
    assert_near((states - 18 * table) / GIB, 45.5625, 1e-9);
}

/* ---- Megatron-LM on B200 -------------------------------------------------------------------- */

/* 12 layers of Llama-3-70B, 4,096 tokens: parts and the measured peak of allocations, GiB. */
static void test_measured(void **state)
{
    (void)state;
    static const struct {
        int64_t tp, pp, dp;
        double states, activations, logits, peak;
    } runs[] = {
        {1, 2, 4, 51.84, 12.57, 0, 66.55},
        {2, 1, 4, 51.84, 6.29, 0.49, 60.68},
        {4, 1, 2, 34.56, 3.14, 0.24, 39.07},
        {8, 1, 1, 25.92, 1.57, 0.12, 28.29},
    };
    rk_model model = model_of("llama3-70b");
    cut_layers(&model, 12);
    const rk_system system = system_of("b200-sxm");
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        rk_strategy s = rk_strategy_defaults(&model);
        rk_cost_table table;
        rk_estimate e;
        s.tp = runs[i].tp;
        s.sp = s.tp > 1;
        s.pp = runs[i].pp;
        s.dp = runs[i].dp;
        s.seq = 4096;
        s.global_batch = 4 * s.dp;
        s.sharding = RK_SHARD_OPTIMIZER;
        assert_legal(&model, &system, &s);
        rk_cost_table_fill(&model, &system, &stack, &s, &table);
        assert_int_equal(rk_estimate_step(&model, &system, &stack, &s, RK_FLOPS_MEGATRON, &e),
                         RK_OK);
        const double states = e.memory.part[RK_MEM_WEIGHTS] + e.memory.part[RK_MEM_GRADIENTS] +
                              e.memory.part[RK_MEM_OPTIMIZER];
        assert_near(states / GIB, runs[i].states, 3e-3); /* the table leaves padding out */
        assert_near(e.memory.part[RK_MEM_ACTIVATIONS] / GIB, runs[i].activations, 2e-3);
        if (s.pp == 1) {
            const double norms = 4 * 4096.0 * 8192 / (double)s.tp;
            assert_near((table.head.saved - norms) / GIB, runs[i].logits, 3e-2);
        }
        assert_near(e.memory.allocated / GIB, runs[i].peak, 5e-3);
    }
}

/*
 * What the first of the runs above has beyond states and activations, 2.14 GiB, and UT-26, which
 * sums up 1.66 GiB for it.  That sum differs in four places from what is held at that moment:
 *   - the gradient of the activation's output takes no more than the saved output that the down
 *     projection has just given back;
 *   - one rank gathers no input;
 *   - there is a buffer of weight gradients for every shape of matrix, not only the largest;
 *   - GEMMs have a workspace.
 */
static void test_temporaries(void **state)
{
    (void)state;
    rk_model model = model_of("llama3-70b");
    cut_layers(&model, 12);
    const rk_system system = system_of("b200-sxm");
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    const double T = 4096, h = 8192, f = 28672, largest = 2 * f * h;
    const double params = (double)rk_layer_params_of(&model, &model.types[0]).total;
    rk_strategy s = rk_strategy_defaults(&model);
    rk_estimate e;
    s.pp = 2;
    s.dp = 4;
    s.seq = 4096;
    s.global_batch = 16;
    s.sharding = RK_SHARD_OPTIMIZER;
    assert_legal(&model, &system, &s);
    rk_estimate_step(&model, &system, &stack, &s, RK_FLOPS_MEGATRON, &e);
    double found = e.memory.allocated - e.memory.part[RK_MEM_ACTIVATIONS];
    found -= e.memory.part[RK_MEM_WEIGHTS] + e.memory.part[RK_MEM_GRADIENTS] +
             e.memory.part[RK_MEM_OPTIMIZER];
    const double sum = 2 * T * f + 4 * T * f + 2 * T * h + 2 * largest + 2 * T * h;
    assert_near(sum / GIB, 1.66, 3e-3);
    assert_near(found, sum - 2 * T * f - 2 * T * h + 2 * (params - largest) + stack.workspace_bytes,
                1e-9);
    assert_near(found / GIB, 2.14, 1e-2);
}

/* Llama-3-70B of 12 layers on t = 2, d = 4: 6.184e9 parameters of 6 + 12 / 4 bytes. */
static void test_sharded_states(void **state)
{
    (void)state;
    rk_model model = model_of("llama3-70b");
    cut_layers(&model, 12);
    const rk_system system = system_of("b200-sxm");
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 2;
    s.sp = true;
    s.dp = 4;
    s.global_batch = 16;
    static const struct {
        rk_sharding sharding;
        double weight, gradient, optimizer; /* bytes per parameter */
    } kinds[] = {
        {RK_SHARD_NONE, 2, 4, 12},
        {RK_SHARD_OPTIMIZER, 2, 4, 3},
        {RK_SHARD_GRADIENTS, 2, 1, 3},
        {RK_SHARD_ALL, 0.5, 1, 3},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        rk_estimate e;
        s.sharding = kinds[i].sharding;
        rk_estimate_step(&model, &system, &stack, &s, RK_FLOPS_MEGATRON, &e);
        assert_near(e.memory.part[RK_MEM_WEIGHTS], 6.184e9 * kinds[i].weight, 1e-3);
        assert_near(e.memory.part[RK_MEM_GRADIENTS], 6.184e9 * kinds[i].gradient, 1e-3);
        assert_near(e.memory.part[RK_MEM_OPTIMIZER], 6.184e9 * kinds[i].optimizer, 1e-3);
    }
}

/* What a stage needs under a schedule. */
static rk_stage_need need_of(rk_schedule_kind schedule, bool offload, rk_stage *stage)
{
    static rk_cost_table table;
    static rk_model model;
    const rk_system system = system_of("dgx-h100-superpod");
    const rk_stack stack = stack_of("torchtitan");
    rk_chunk chunks[RK_CHUNK_MAX];
    model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.pp = 4;
    s.global_batch = 16;
    s.schedule = schedule;
    s.offload_activations = offload;
    assert_legal(&model, &system, &s);
    rk_cost_table_fill(&model, &system, &stack, &s, &table);
    rk_strategy_chunks(&model, &s, chunks);
    *stage = rk_stage_of(&table, &s, &chunks[s.pp - 1]);
    return rk_stage_need_of(&table, &s, stage);
}

/* GPipe runs the forwards of all 16 microbatches first: their logits wait for the backwards. */
static void test_losses(void **state)
{
    rk_stage stage;
    (void)state;
    const double gpipe = need_of(RK_SCHEDULE_GPIPE, false, &stage).head;
    const double one = need_of(RK_SCHEDULE_1F1B, false, &stage).head;
    assert_true(stage.head_saved > 0);
    assert_near(gpipe - one, 15 * stage.head_saved, 1e-9);
}

/* On the host lie the activations of every microbatch in flight. */
static void test_offloaded(void **state)
{
    rk_stage stage;
    (void)state;
    const rk_stage_need need = need_of(RK_SCHEDULE_1F1B, true, &stage);
    assert_near(rk_stage_host_at(&need, 1), stage.saved, 1e-12);
    assert_near(rk_stage_host_at(&need, 4), 4 * stage.saved, 1e-12);
}

/* Of 32 layers 8 are offloaded: their activations but for two layers of the eight of a stage. */
static void test_offloaded_layers(void **state)
{
    static rk_model model;
    rk_stage stage;
    (void)state;
    model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.offload_layers = 8;
    assert_near(rk_offloaded_share(&model, &s), 0, 0);
    s.offload_activations = true;
    assert_near(rk_offloaded_share(&model, &s), 0.25, 0);
    s.offload_layers = 40;
    assert_near(rk_offloaded_share(&model, &s), 1, 0);
    s.offload_layers = 0;
    assert_near(rk_offloaded_share(&model, &s), 1, 0);

    rk_stage_need need = need_of(RK_SCHEDULE_1F1B, false, &stage);
    const double whole = rk_stage_memory_at(&need, 4).part[RK_MEM_ACTIVATIONS];
    need.offloaded = 0.25;
    const double quarter = rk_stage_memory_at(&need, 4).part[RK_MEM_ACTIVATIONS];
    assert_near(whole - quarter, (4 * 0.25 - 2.0 / 8) * stage.saved, 1e-9);
}

/*
 * Frozen 8-bit weights on Hopper are kept along rows and along columns, unless the latter are made
 * in every backward pass: then those of the layer at hand are there.
 */
static void test_transposes(void **state)
{
    static rk_model model;
    static rk_cost_table table;
    const rk_system system = system_of("h200-sxm");
    rk_stack stack = stack_of("nemo-2025");
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_stage_need need[2];
    rk_stage stage;
    double seconds[2];
    (void)state;
    model = model_of("llama2-70b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = 8;
    s.global_batch = 16;
    s.precision = RK_FP8;
    s.fp8_recipe = RK_FP8_DELAYED;
    s.low_weights = true;
    rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION, &s);
    for (int again = 0; again < 2; again++) {
        stack.transposes_again = again;
        rk_cost_table_fill(&model, &system, &stack, &s, &table);
        rk_strategy_chunks(&model, &s, chunks);
        stage = rk_stage_of(&table, &s, chunks);
        need[again] = rk_stage_need_of(&table, &s, &stage);
        seconds[again] = rk_weight_cast_seconds(&table, &s, &stage);
    }
    const double low = stage.low_dense_params;
    assert_true(low > 60e9);
    assert_near(need[0].weights - need[1].weights, low, 1e-9);
    assert_near(need[1].layer - need[0].layer, stage.layer_low_params, 1e-9);
    assert_near(seconds[0], 0, 0);
    /* two microbatches read and write a byte of each weight */
    assert_near(seconds[1],
                rk_stream_seconds(&system.accelerator, stack.cast_passes * 2 * 2 * low) /
                    stack.stream_share,
                1e-9);
}

/* Weights that are gathered for a microbatch are cast for it; those that stay, once a step. */
static void test_casts(void **state)
{
    static rk_model model;
    static rk_cost_table table;
    const rk_system system = system_of("h200-sxm");
    const rk_stack stack = stack_of("torchtitan");
    rk_chunk chunks[RK_CHUNK_MAX];
    (void)state;
    model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = 8;
    s.precision = RK_FP8;
    for (int all = 0; all < 2; all++) {
        double seconds[2];
        s.sharding = all ? RK_SHARD_ALL : RK_SHARD_OPTIMIZER;
        for (int i = 0; i < 2; i++) {
            s.global_batch = 8 * (i ? 6 : 2);
            rk_cost_table_fill(&model, &system, &stack, &s, &table);
            rk_strategy_chunks(&model, &s, chunks);
            const rk_stage stage = rk_stage_of(&table, &s, chunks);
            seconds[i] = rk_weight_cast_seconds(&table, &s, &stage);
        }
        assert_true(seconds[0] > 0);
        assert_near(seconds[1], (all ? 3 : 1) * seconds[0], 1e-3); /* but for a launch */
    }
}

/* Memory of a rank with everything sharded over eight TPUs. */
static rk_stage_need sharded(bool gathers_tensors, rk_stage *stage)
{
    static rk_cost_table table;
    static rk_model model;
    const rk_system system = system_of("tpu-v6e");
    rk_stack stack = stack_of("maxtext-tpu");
    rk_chunk chunks[RK_CHUNK_MAX];
    model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.global_batch = 8;
    s.sharding = RK_SHARD_ALL;
    assert_true(stack.gathers_tensors);
    stack.gathers_tensors = gathers_tensors;
    rk_cost_table_fill(&model, &system, &stack, &s, &table);
    rk_strategy_chunks(&model, &s, chunks);
    *stage = rk_stage_of(&table, &s, chunks);
    return rk_stage_need_of(&table, &s, stage);
}

/*
 * XLA gathers and scatters matrix by matrix: two, such as gate and up, in 16 bits, and one gradient
 * in fp32 are whole, in place of two layers and one.  At the head it is the larger of the matrix
 * and its gradient, in place of both.
 */
static void test_tensors(void **state)
{
    const double matrix = 14336.0 * 4096, bytes = 2 * 2 + 4;
    rk_stage stage;
    (void)state;
    const rk_stage_need tensors = sharded(true, &stage), layers = sharded(false, &stage);
    assert_near(stage.matrix_params, matrix, 1e-12);
    assert_near(layers.layer - tensors.layer, bytes * (stage.layer_dense_params - matrix), 1e-9);
    assert_near(layers.head - tensors.head, 2 * stage.head_params, 1e-9);
}

/* ZeRO-3 leaves up to 1e9 parameters gathered, at the loss as well (zero/config.py). */
static void test_live(void **state)
{
    rk_stage_need need[2];
    (void)state;
    for (int all = 0; all < 2; all++) {
        const rk_model model = model_of("llama2-7b");
        const rk_system system = system_of("a100-sxm-80gb");
        rk_stack stack = stack_of("deepspeed-ampere");
        rk_strategy s = rk_strategy_defaults(&model);
        rk_cost_table table;
        s.dp = s.global_batch = 8;
        s.recompute = RK_REC_FULL;
        s.sharding = RK_SHARD_ALL;
        s.states = (rk_state_recipe){2, 2, 12, 2, 2};
        stack.live_params = all ? stack.live_params : 0;
        assert_near(all ? stack.live_params : 1e9, 1e9, 0);
        rk_cost_table_fill(&model, &system, &stack, &s, &table);
        rk_chunk chunks[RK_CHUNK_MAX];
        rk_strategy_chunks(&model, &s, chunks);
        const rk_stage stage = rk_stage_of(&table, &s, chunks);
        need[all] = rk_stage_need_of(&table, &s, &stage);
        assert_near(need[all].head - need[0].head, all ? 2e9 - 2 * stage.head_params : 0, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations),    cmocka_unit_test(test_states),
        cmocka_unit_test(test_measured),       cmocka_unit_test(test_temporaries),
        cmocka_unit_test(test_sharded_states), cmocka_unit_test(test_losses),
        cmocka_unit_test(test_offloaded),      cmocka_unit_test(test_offloaded_layers),
        cmocka_unit_test(test_transposes),     cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_casts),          cmocka_unit_test(test_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
