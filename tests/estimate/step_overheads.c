/* SPDX-License-Identifier: Apache-2.0 */
/* What happens once a step, by the rules of the stack: reductions, rings of norms, messages. */
#include "../layer/blocks.h"

#include "estimate/stage.h"
#include "estimate/step_overheads.h"

static rk_estimate estimate_of(const rk_model *model, const rk_stack *stack, const rk_strategy *s)
{
    const rk_system system = system_of("h100-p5-efa");
    rk_estimate e;
    assert_legal(model, &system, s);
    rk_estimate_step(model, &system, stack, s, RK_FLOPS_NANOTRON, &e);
    return e;
}

static rk_strategy tensor_strategy(const rk_model *model, int64_t tp)
{
    rk_strategy s = rk_strategy_defaults(model);
    s.tp = tp;
    s.sp = tp > 1;
    s.dp = 4;
    s.global_batch = 4;
    s.param_overlap = false;
    return s;
}

/*
 * Gradients that a sharded optimizer wants whole are reduced after backward: the same time however
 * long backward takes.  Without sharding, more of it hides when backward is longer.
 */
static void test_late_reduction(void **state)
{
    (void)state;
    const rk_model model = gpt_of(24, 4096, 32);
    const rk_stack stack = stack_of("nanotron");
    rk_strategy s = tensor_strategy(&model, 8);
    double hidden[2], late[2];
    assert_true(stack.reduces_late);
    for (int i = 0; i < 2; i++) {
        s.micro_batch = i ? 16 : 1;
        s.global_batch = s.dp * s.micro_batch;
        s.sharding = RK_SHARD_NONE;
        hidden[i] = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
        s.sharding = RK_SHARD_OPTIMIZER;
        late[i] = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
    }
    assert_near(late[1], late[0], 1e-12);
    assert_true(hidden[1] < 0.9 * hidden[0]);
    assert_true(hidden[0] < late[0]);
}

/*
 * DeepSpeed all-reduces the gradients of ZeRO-1 and ZeRO-2, as those of no sharding; the rest of
 * its data-parallel traffic is the gather of parameters, half as much.  ZeRO-3 scatters, and
 * gathers twice in smaller messages: as much traffic, where an all-reduce would make it a third
 * more.
 */
static void test_whole_reduction(void **state)
{
    (void)state;
    const rk_model model = gpt_of(24, 4096, 32);
    rk_stack stack = stack_of("deepspeed-ampere");
    rk_strategy s = tensor_strategy(&model, 1);
    double seconds[RK_SHARD_ALL + 1];
    stack.division_bytes = 0;
    s.grad_overlap = false;
    s.states.reduce = s.states.gather = 2;
    for (int sharding = RK_SHARD_NONE; sharding <= RK_SHARD_ALL; sharding++) {
        s.sharding = (rk_sharding)sharding;
        seconds[sharding] = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
    }
    assert_near(seconds[RK_SHARD_OPTIMIZER], 1.5 * seconds[RK_SHARD_NONE], 0.06);
    assert_near(seconds[RK_SHARD_GRADIENTS], seconds[RK_SHARD_OPTIMIZER], 1e-9);
    assert_true(seconds[RK_SHARD_ALL] < 1.25 * seconds[RK_SHARD_OPTIMIZER]);
}

/* Gradients that a sharded optimizer reduces are copied and divided before, all others are not. */
static void test_division(void **state)
{
    (void)state;
    const rk_model model = gpt_of(24, 4096, 32);
    const rk_system system = system_of("h100-p5-efa");
    rk_stack stack = stack_of("deepspeed-ampere");
    rk_strategy s = tensor_strategy(&model, 1);
    s.grad_overlap = false;
    for (int sharding = RK_SHARD_NONE; sharding <= RK_SHARD_ALL; sharding++) {
        double step[2];
        s.sharding = (rk_sharding)sharding;
        for (int i = 0; i < 2; i++) {
            stack.division_bytes = 8 * i;
            step[i] = estimate_of(&model, &stack, &s).step;
        }
        const bool divides = sharding == RK_SHARD_OPTIMIZER || sharding == RK_SHARD_GRADIENTS;
        const double bytes = divides ? 8 * (double)rk_model_params_of(&model).total : 0;
        assert_near(step[1] - step[0],
                    rk_stream_seconds(&system.accelerator, bytes) / stack.stream_share, 0.01);
    }
}

/* A ring of 32 ranks is 31 steps each way; of 2 L + 1 norms, as many as the stack says. */
static void test_norm_rings(void **state)
{
    (void)state;
    const rk_model model = gpt_of(16, 2048, 32);
    const rk_system system = system_of("h100-p5-efa");
    rk_stack stack = stack_of("nanotron");
    rk_strategy s = tensor_strategy(&model, 32);
    double step[3];
    for (int i = 0; i < 3; i++) {
        stack.norm_rings = i + 1;
        stack.norm_rings_whole = 0;
        step[i] = estimate_of(&model, &stack, &s).step;
    }
    const double ring = 2 * 31 * system.tiers[1].step_latency;
    assert_near(step[1] - step[0], 33 * ring, 0.05); /* and a little for bytes */
    assert_near(step[2] - step[1], step[1] - step[0], 1e-9);
    /* the rest is for those who update everything */
    stack.norm_rings = 1;
    stack.norm_rings_whole = 2;
    assert_near(estimate_of(&model, &stack, &s).step, step[2], 1e-9);
    s.sharding = RK_SHARD_OPTIMIZER;
    const double sharded = estimate_of(&model, &stack, &s).step;
    stack.norm_rings_whole = 0;
    assert_near(sharded, estimate_of(&model, &stack, &s).step, 0);
}

/*
 * A layer of 12 h^2 parameters, whose largest matrices have 4 h^2, passes in one message or in
 * three: each pays the latency of the ring, in two gathers and a scatter.
 */
static void test_tensors(void **state)
{
    (void)state;
    const rk_model model = gpt_of(24, 4096, 32);
    const rk_system system = system_of("h100-p5-efa");
    rk_stack stack = stack_of("maxtext-gpu");
    rk_strategy s = tensor_strategy(&model, 1);
    s.dp = s.global_batch = 256;
    s.sharding = RK_SHARD_ALL;
    s.grad_overlap = false;
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        stack.gathers_tensors = i;
        seconds[i] = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
    }
    const rk_group group = rk_strategy_group(&system, &s, RK_GROUP_SHARD);
    const double latency = rk_collective_seconds(&system, RK_COLL_ALL_GATHER, 1, &group);
    assert_near((seconds[1] - seconds[0]) / (24 * 3 * 2 * latency), 1, 0.2);
}

/* Traffic of a layer hides under the layers beside it; that of a step under a share of a pass. */
static void test_window(void **state)
{
    (void)state;
    const rk_model model = gpt_of(24, 1024, 16);
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = tensor_strategy(&model, 1);
    s.dp = s.global_batch = 64;
    for (int whole = 0; whole < 2; whole++) {
        s.sharding = whole ? RK_SHARD_ALL : RK_SHARD_OPTIMIZER;
        stack.dp_window = 1;
        const double wide = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
        stack.dp_window = 0.25;
        const double narrow = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
        assert_true(wide > 0 && (whole ? narrow == wide : narrow > wide));
    }
}

/*
 * Two messages for every stage that a microbatch passes on its way.  The last stage, which has the
 * head, sets the pace while messages are short: it sends one a microbatch.  Long ones make it a
 * stage in the middle, which sends two.
 */
static void test_send_seconds(void **state)
{
    (void)state;
    const rk_model model = gpt_of(16, 2048, 32);
    rk_stack stack = stack_of("nanotron");
    rk_strategy s = tensor_strategy(&model, 8);
    s.pp = 4;
    s.pp_overlap = false;
    s.global_batch = 4 * 10;
    stack.send_seconds = 0;
    const double without = estimate_of(&model, &stack, &s).step;
    stack.send_seconds = 1e-3;
    assert_near(estimate_of(&model, &stack, &s).step - without, (9 + 2 * 3) * 1e-3, 1e-9);
    stack.send_seconds = 10;
    const double longer = estimate_of(&model, &stack, &s).step;
    stack.send_seconds = 11;
    /* two messages in each of 9 rounds, 3 there and 3 back; one of them is not waited for */
    assert_near(estimate_of(&model, &stack, &s).step - longer, 2 * 9 + 2 * 3 - 1, 1e-9);
    s.pp_overlap = true;
    stack.pp_exposed = 0.25;
    double overlapped = estimate_of(&model, &stack, &s).step;
    stack.send_seconds = 10;
    assert_near(overlapped - estimate_of(&model, &stack, &s).step, 2 * 10 * 0.25 + 2 * 3, 1e-9);
    /* messages that overlap never take longer than those that are waited for */
    stack.pp_exposed = 1;
    assert_near(estimate_of(&model, &stack, &s).step, longer, 1e-12);
    stack.send_seconds = 11;
    overlapped = estimate_of(&model, &stack, &s).step;
    stack.send_seconds = 10;
    assert_near(overlapped - estimate_of(&model, &stack, &s).step, 2 * 9 + 2 * 3 - 1, 1e-9);
}

/* How a pipeline of 16 ranks sums sharded gradients: ZeRO-2, `chunks` a rank, `m` microbatches. */
static rk_gradient_runs runs_of(int64_t chunks, int64_t m, bool last)
{
    const rk_model model = gpt_of(128, 2048, 16);
    const rk_stack stack = {.scatters_last = last};
    rk_strategy s = rk_strategy_defaults(&model);
    s.pp = 16;
    s.vp = chunks;
    s.schedule = chunks > 1 ? RK_SCHEDULE_INTERLEAVED : RK_SCHEDULE_1F1B;
    s.global_batch = m;
    s.sharding = RK_SHARD_GRADIENTS;
    return rk_stage_gradient_runs(&stack, &s);
}

static void check_runs(const rk_gradient_runs *runs, double scatters, double open)
{
    assert_near(runs->scatters, scatters, 1e-15);
    assert_near(runs->open, open, 1e-15);
}

/*
 * A chunk's gradients stay whole while its microbatches run in a row, 16 of them where stages are
 * interleaved; meanwhile those of the chunk before are scattered.
 */
static void test_gradient_runs(void **state)
{
    (void)state;
    const rk_gradient_runs one = runs_of(8, 16, false), two = runs_of(8, 32, false);
    const rk_gradient_runs flat = runs_of(1, 32, false), last = runs_of(8, 32, true);
    const rk_gradient_runs short_of = runs_of(8, 40, false); /* the third run has 8 */
    check_runs(&one, 1, 1.0 / 8);
    check_runs(&two, 2, 2.0 / 8);
    check_runs(&short_of, 3, 2.0 / 8);
    check_runs(&flat, 1, 1);
    check_runs(&last, 1, 1);
}

/*
 * FSDP2 copies what it gathers out of a buffer, 2 x 2 bytes a parameter, twice a microbatch, and
 * gradients into one, 2 + 4 bytes, beside nothing; one rank alone has nothing to share.
 */
static void test_copies_of_shards(void **state)
{
    (void)state;
    const rk_model model = gpt_of(24, 4096, 32);
    const rk_system system = system_of("h100-p5-efa");
    rk_stack stack = stack_of("torchtitan");
    rk_strategy s = rk_strategy_defaults(&model);
    s.sharding = RK_SHARD_ALL;
    s.states =
        (rk_state_recipe){.weight = 4, .gradient = 4, .optimizer = 8, .gather = 2, .reduce = 4};
    stack.scale_growth = 0;
    for (int dp = 1; dp <= 4; dp += 3) {
        s.dp = dp;
        s.global_batch = 3 * dp; /* three microbatches */
        stack.copies_shards = true;
        const double with = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
        stack.copies_shards = false;
        const double without = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
        const double params = (double)rk_model_params_of(&model).total;
        const double bytes = dp == 1 ? 0 : 3 * params * (2 * 2 * 2 + 2 + 4);
        const double rate = system.accelerator.memory_bandwidth *
                            system.accelerator.memory_efficiency * stack.stream_share;
        assert_near(with - without, bytes / rate, 2e-2); /* and launches */
    }
}

/*
 * Gradients of 4 interleaved chunks, with 4 stages and nothing shown of what hides: of the
 * reduction R and the backward B of a microbatch, those of the last chunk show (R - B) / 4, and the
 * three before pass beside a run of 4 microbatches.  Without chunks all wait for the last
 * microbatch.
 */
static void test_chunks_overlap(void **state)
{
    (void)state;
    rk_model model = gpt_of(16, 8192, 64);
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    double shown[2];
    model.tied = false; /* no reduction between the ends of the pipeline */
    stack.dp_exposed = stack.contention = stack.bucket_params = stack.bucket_rank_params = 0;
    stack.dp_window = 1;
    s.pp = s.vp = 4;
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    s.dp = 8;
    s.global_batch = 8 * 4;
    s.sharding = RK_SHARD_NONE;
    s.grad_overlap = false;
    const double reduction = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
    s.grad_overlap = true;
    for (int i = 0; i < 2; i++) {
        stack.overlaps_chunks = i;
        shown[i] = estimate_of(&model, &stack, &s).times.part[RK_PART_DP];
    }
    const double backward = reduction - shown[0];
    assert_true(backward > 0 && backward < reduction);
    assert_near(shown[1], (reduction - backward) / 4 + 3 * fmax(0, reduction / 4 - backward), 1e-9);
}

/* Each pass takes its traffic and its copies longer. */
static void test_lengthened(void **state)
{
    rk_chunk_times passes = {1, 2, 3};
    (void)state;
    rk_lengthen_passes(&passes,
                       &(rk_pass_traffic){.data = {10, 20, 30}, .copies = {100, 200, 300}});
    assert_near(passes.forward, 111, 0);
    assert_near(passes.backward, 222, 0);
    assert_near(passes.weight, 333, 0);
}

/* A backward in two passes shows the sums that weight gradients hid, and launches kernels of its
 * own. */
static void test_apart(void **state)
{
    static rk_model model;
    static rk_cost_table table;
    const rk_system system = system_of("h100-p5-efa");
    const rk_stack stack = stack_of("megatron-2025");
    rk_chunk chunks[RK_CHUNK_MAX];
    (void)state;
    model = gpt_of(4, 8192, 64);
    rk_strategy s = tensor_strategy(&model, 8);
    s.tp_overlap = true;
    rk_cost_table_fill(&model, &system, &stack, &s, &table);
    rk_strategy_chunks(&model, &s, chunks);
    const rk_stage stage = rk_stage_of(&table, &s, chunks);
    const rk_stage_blocks blocks = rk_stage_blocks_of(&model, &s, chunks);
    const rk_chunk_times one = rk_chunk_times_of(&table, &blocks, false);
    const rk_chunk_times two = rk_chunk_times_of(&table, &blocks, true);
    assert_true(stage.apart.sums > 0 && two.weight > 0);
    assert_near(two.forward, one.forward, 0);
    assert_near(two.backward + two.weight, one.backward + stage.apart.sums + stage.apart.launches,
                1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_reduction), cmocka_unit_test(test_whole_reduction),
        cmocka_unit_test(test_division),       cmocka_unit_test(test_norm_rings),
        cmocka_unit_test(test_tensors),        cmocka_unit_test(test_window),
        cmocka_unit_test(test_send_seconds),   cmocka_unit_test(test_gradient_runs),
        cmocka_unit_test(test_chunks_overlap), cmocka_unit_test(test_copies_of_shards),
        cmocka_unit_test(test_lengthened),     cmocka_unit_test(test_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
