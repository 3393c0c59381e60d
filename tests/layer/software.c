/* SPDX-License-Identifier: Apache-2.0 */
/* What the software of a stack changes in the cost of a layer. */
#include "blocks.h"

static rk_cost cost_of(const rk_model *model, const rk_system *system, const rk_stack *stack,
                       const rk_strategy *s)
{
    assert_legal(model, system, s);
    const rk_block_context context = rk_block_context_of(model, system, stack, s);
    rk_cost cost[2];
    layer_costs(&context, &model->types[0], cost);
    return cost[0];
}

/* Launches bind a small layer; captured layers have fewer of them, a captured step has none. */
static void test_graphs(void **state)
{
    (void)state;
    const rk_model model = gpt_of(2, 256, 4);
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.seq = 128;
    stack.graph_share = 0.5;
    const rk_cost eager = cost_of(&model, &system, &stack, &s);
    s.graph_capture = true;
    const rk_cost captured = cost_of(&model, &system, &stack, &s);
    s.graph_step = true;
    const rk_cost step = cost_of(&model, &system, &stack, &s);
    const double launches = stack.kernels_forward * system.accelerator.launch_seconds;
    assert_true(rk_times_sum(&eager.forward) >= launches);
    assert_true(rk_times_sum(&captured.forward) >= launches / 2);
    assert_true(captured.forward.part[RK_PART_HOST] < eager.forward.part[RK_PART_HOST]);
    assert_near(step.forward.part[RK_PART_HOST] + step.backward.part[RK_PART_HOST], 0, 0);
}

/* A graph of layers leaves out experts, whose shapes depend on the routing, without a capacity. */
static void test_graphs_of_experts(void **state)
{
    (void)state;
    const rk_model model = model_of("qwen3-30b-a3b");
    rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.ep = s.global_batch = 8;
    s.graph_capture = true;
    stack.graph_share = 0.25;
    stack.capacity_launches = 0.5;
    system.accelerator.launch_seconds = 1; /* nothing else counts */
    const double experts = (double)model.types[0].moe.experts / 8 * stack.expert_kernels;
    const rk_cost dropless = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&dropless.forward), stack.moe_kernels_forward / 4 + experts, 1e-9);
    assert_near(rk_times_sum(&dropless.backward),
                stack.moe_kernels_backward / 4 + stack.expert_backward_launches * experts, 1e-9);
    stack.deduplicates = false; /* an all-to-all, which sorts by what the device counts */
    stack.exchange_kernels = 100;
    const rk_cost sorted = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&sorted.forward) - rk_times_sum(&dropless.forward), 25, 1e-9);
    assert_near(rk_times_sum(&sorted.backward) - rk_times_sum(&dropless.backward), 25, 1e-9);
    s.graph_modules = RK_GRAPH_ATTENTION | RK_GRAPH_ROUTER; /* the sort stays with the host */
    const rk_cost routed = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&routed.forward) - rk_times_sum(&dropless.forward), 100, 1e-9);
    s.graph_modules = 0;
    s.capacity_factor = 1;
    const rk_cost padded = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&padded.forward), (stack.moe_kernels_forward + experts / 2) / 4, 1e-9);
    s.graph_modules = RK_GRAPH_ATTENTION | RK_GRAPH_ROUTER; /* and padded experts, with "moe" */
    const rk_cost around = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&around.forward), stack.moe_kernels_forward / 4 + experts / 2, 1e-9);
    s.graph_step = true;
    const rk_cost step = cost_of(&model, &system, &stack, &s);
    assert_near(step.forward.part[RK_PART_HOST], 0, 0);
}

/* The seconds of forward that graphs of these modules leave, where each launch takes one. */
static double launches_of(const char *name, unsigned modules, int64_t tp)
{
    const rk_model model = model_of(name);
    rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = tp;
    s.graph_capture = true;
    s.graph_modules = modules;
    stack.graph_share = 0;
    stack.kernels_forward = 24;
    stack.moe_kernels_forward = 114;
    stack.expert_kernels = 0;
    stack.tp_kernels = 10;
    system.accelerator.launch_seconds = 1; /* nothing else counts */
    const rk_cost cost = cost_of(&model, &system, &stack, &s);
    return rk_times_sum(&cost.forward);
}

/* Seven twelfths of a dense layer are its mixer, with half of the messages of tensor ranks. */
static void test_graph_modules(void **state)
{
    (void)state;
    assert_near(launches_of("llama3-8b", RK_GRAPH_ATTENTION, 1), 10, 1e-3);
    assert_near(launches_of("llama3-8b", RK_GRAPH_ATTENTION, 2), 10 + 5, 1e-3);
    assert_near(launches_of("llama3-8b", RK_GRAPH_MLP, 2), 14 + 5, 1e-3);
    assert_near(launches_of("llama3-8b", RK_GRAPH_MAMBA | RK_GRAPH_ROUTER, 1), 24, 1e-3);
    assert_true(launches_of("llama3-8b", RK_GRAPH_ATTENTION | RK_GRAPH_MLP, 2) < 0.1);
    assert_near(launches_of("qwen3-30b-a3b", RK_GRAPH_ATTENTION, 1), 100, 1e-3);
    assert_near(launches_of("qwen3-30b-a3b", RK_GRAPH_ROUTER, 1), 14, 1e-2);
    assert_near(launches_of("nemotron-h-56b", RK_GRAPH_ATTENTION, 1), 13, 1e-2);
    assert_true(launches_of("nemotron-h-56b", RK_GRAPH_MAMBA, 1) < 0.1);
}

/*
 * Of overlapped all-to-all what compute does not cover stays visible, and the cores that it keeps;
 * where kernels are launched one by one, it costs launches besides.
 */
static void test_expert_overlap(void **state)
{
    (void)state;
    const rk_model model = model_of("qwen3-30b-a3b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.ep = s.global_batch = 8;
    s.graph_step = true;
    stack.exchange_cores = 0.25;
    stack.exchange_slowdown = 1.5;
    const rk_cost plain = cost_of(&model, &system, &stack, &s);
    s.moe_overlap = true;
    const rk_cost covered = cost_of(&model, &system, &stack, &s);
    const double exchange = plain.forward.part[RK_PART_EP];
    assert_near(covered.forward.part[RK_PART_EP], 1.5 * exchange / 4, 1e-12);
    assert_near(covered.hidden_forward, exchange * (1 - 1.5 / 4), 1e-12);
    stack.dispatch_bandwidth = 0; /* as fast as the network */
    s.moe_overlap = false;
    const double sent = cost_of(&model, &system, &stack, &s).forward.part[RK_PART_EP];
    s.moe_overlap = true;
    stack.deduplicates = false; /* 8 copies where 5.251 were sent, by kernels that nothing slows */
    assert_near(cost_of(&model, &system, &stack, &s).forward.part[RK_PART_EP] / sent, 8 / 5.251 / 4,
                2e-2); /* and what a message takes however short */
    stack.exchange_cores = 1;
    assert_near(cost_of(&model, &system, &stack, &s).hidden_forward, 0, 1e-12);
    s.graph_step = false;
    stack.overlap_launches = 3;
    const rk_cost eager = cost_of(&model, &system, &stack, &s);
    s.moe_overlap = false;
    const double host = cost_of(&model, &system, &stack, &s).forward.part[RK_PART_HOST];
    assert_true(eager.forward.part[RK_PART_HOST] > host);
    stack.launch_ratio *= 3; /* slower launches are as good as more of them */
    s.moe_overlap = true;
    stack.overlap_launches = 1;
    assert_near(cost_of(&model, &system, &stack, &s).forward.part[RK_PART_HOST],
                eager.forward.part[RK_PART_HOST], 1e-12);
}

/* A host that waits for every kernel adds its launches to what the device takes. */
static void test_blocked_launches(void **state)
{
    (void)state;
    const rk_model model = model_of("bloom-176b");
    const rk_system system = system_of("a100-sxm-80gb");
    rk_stack stack = stack_of("megatron-deepspeed-2022");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 8;
    const double launch = system.accelerator.launch_seconds;
    const rk_cost queued = cost_of(&model, &system, &stack, &s);
    stack.blocks_launches = true;
    const rk_cost blocked = cost_of(&model, &system, &stack, &s);
    assert_true(queued.forward.part[RK_PART_HOST] < 1e-4);
    assert_near(blocked.forward.part[RK_PART_HOST],
                (stack.kernels_forward + stack.tp_kernels) * launch, 1e-9);
    assert_near(blocked.backward.part[RK_PART_HOST],
                (stack.kernels_backward + stack.tp_kernels) * launch, 1e-9);
    s.graph_step = true; /* nothing is launched one by one */
    assert_near(cost_of(&model, &system, &stack, &s).forward.part[RK_PART_HOST], 0, 0);
}

/*
 * A host that waits in every layer for the tokens that experts receive cannot launch ahead: passes
 * of as long on the device as on the host last 1.41 times as long, and 1.12 times where it can.
 */
static void test_counted_tokens(void **state)
{
    (void)state;
    const rk_model model = model_of("qwen3-30b-a3b");
    rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.ep = s.global_batch = 8;
    s.graph_step = true;
    const rk_cost bare = cost_of(&model, &system, &stack, &s);
    const double device = rk_times_sum(&bare.forward);
    s.graph_step = false;
    const double kernels =
        stack.moe_kernels_forward + stack.expert_kernels * (double)model.types[0].moe.experts / 8;
    system.accelerator.launch_seconds = device / kernels;
    const rk_cost ahead = cost_of(&model, &system, &stack, &s);
    stack.waits_for_counts = true;
    const rk_cost waits = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&ahead.forward), pow(2, 1.0 / 6) * device, 1e-12);
    assert_near(rk_times_sum(&waits.forward), sqrt(2) * device, 1e-12);
    assert_true(rk_times_sum(&waits.backward) > rk_times_sum(&ahead.backward));
    s.capacity_factor = 1; /* DeepEP drops tokens, and pads nothing */
    const rk_cost dropped = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&dropped.forward), rk_times_sum(&waits.forward), 0);
    stack.deduplicates = false; /* nothing to wait for */
    const rk_cost padded = cost_of(&model, &system, &stack, &s);
    stack.waits_for_counts = false;
    const rk_cost same = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&same.forward), rk_times_sum(&padded.forward), 0);
}

/* What compute is too short to cover stays visible in full. */
static void test_expert_overlap_uncovered(void **state)
{
    (void)state;
    const rk_model model = model_of("qwen3-30b-a3b");
    rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.ep = s.global_batch = 16;
    s.graph_step = true;
    stack.deduplicates = false;
    stack.exchange_cores = 0;
    system.tiers[1].bandwidth /= 10;
    const rk_cost plain = cost_of(&model, &system, &stack, &s);
    s.moe_overlap = true;
    const rk_cost covered = cost_of(&model, &system, &stack, &s);
    const double computes = rk_times_sum(&plain.backward) - plain.backward.part[RK_PART_EP];
    assert_near(covered.forward.part[RK_PART_EP], plain.forward.part[RK_PART_EP] - computes, 1e-9);
}

/* Products of attention that is not fused want heads of a multiple of 16 bytes. */
static void test_head_alignment(void **state)
{
    (void)state;
    const rk_system system = system_of("a100-sxm-80gb");
    const rk_stack stack = stack_of("megatron-2021");
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        const rk_model model = gpt_of(2, i ? 108 * 64 : 112 * 64, 64);
        rk_strategy s = rk_strategy_defaults(&model);
        s.flash_attention = false;
        seconds[i] = cost_of(&model, &system, &stack, &s).forward.part[RK_PART_ATTENTION];
    }
    assert_true(seconds[1] > 2 * seconds[0]); /* the softmax between them stays as it is */
}

/* Experts of a fixed capacity need no shapes from the device: a share of their launches. */
static void test_capacity(void **state)
{
    (void)state;
    const rk_model model = model_of("qwen3-30b-a3b");
    rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    system.accelerator.launch_seconds = 1; /* nothing else matters */
    const double experts = (double)model.types[0].moe.experts * stack.expert_kernels;
    const rk_cost dropless = cost_of(&model, &system, &stack, &s);
    s.capacity_factor = 1;
    const rk_cost dropped = cost_of(&model, &system, &stack, &s);
    assert_near(rk_times_sum(&dropless.forward), stack.moe_kernels_forward + experts, 1e-6);
    assert_near(rk_times_sum(&dropped.forward),
                stack.moe_kernels_forward + stack.capacity_launches * experts, 1e-6);
}

/* Rows that an all-to-all delivers are sorted by expert where a rank has several of them. */
static void test_sorted_again(void **state)
{
    (void)state;
    const rk_model model = model_of("qwen3-30b-a3b");
    rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.ep = s.global_batch = 8;
    s.graph_step = true; /* no launches */
    const rk_cost written = cost_of(&model, &system, &stack, &s);
    stack.deduplicates = false;
    const rk_cost sorted = cost_of(&model, &system, &stack, &s);
    const double bytes = 4.0 * 2 * (double)s.seq * 8 * (double)model.hidden;
    const double once = rk_stream_seconds(&system.accelerator, bytes),
                 twice = rk_stream_seconds(&system.accelerator, 2 * bytes);
    assert_near(sorted.forward.part[RK_PART_EXPERT] - written.forward.part[RK_PART_EXPERT],
                (twice - once) / stack.stream_share, 1e-9);
    s.dp = s.ep = s.global_batch = 128; /* an expert for each rank */
    const rk_cost one = cost_of(&model, &system, &stack, &s);
    stack.deduplicates = true;
    assert_near(cost_of(&model, &system, &stack, &s).forward.part[RK_PART_EXPERT],
                one.forward.part[RK_PART_EXPERT], 0);
}

/*
 * Masks of GShard: of Mixtral 8x7B, 4,096 tokens have 1.25 x 2 x 4,096 = 10,240 slots, so that each
 * of two products takes 2 x 4,096 x 10,240 FLOPs per token of 4,096 elements, and each mask 84 MB.
 */
static void test_masks(void **state)
{
    (void)state;
    const rk_model model = model_of("mixtral-8x7b");
    const rk_system system = system_of("tpu-v6e");
    rk_stack stack = stack_of("maxtext-tpu");
    rk_strategy s = rk_strategy_defaults(&model);
    s.seq = 4096;
    s.capacity_factor = 1.25;
    assert_true(stack.masks_tokens);
    const rk_cost masked = cost_of(&model, &system, &stack, &s);
    stack.masks_tokens = false;
    const rk_cost permuted = cost_of(&model, &system, &stack, &s);
    const double product = 2.0 * 4096 * 4096 * 10240;
    assert_near((masked.flops_forward - permuted.flops_forward) / product, 2, 1e-9);
    assert_near((masked.flops_backward - permuted.flops_backward) / product, 3, 1e-9);
    assert_near(masked.saved - permuted.saved, 2 * 2.0 * 4096 * 10240, 1);
    s.micro_batch = s.global_batch = 2; /* sequences have slots of their own */
    const rk_cost sorted = cost_of(&model, &system, &stack, &s);
    stack.masks_tokens = true;
    const rk_cost two = cost_of(&model, &system, &stack, &s);
    assert_near((two.flops_forward - sorted.flops_forward) / product, 4, 1e-9);
    assert_near(two.saved - sorted.saved, 2 * (masked.saved - permuted.saved), 1);
    s.micro_batch = s.global_batch = 1;
    s.capacity_factor = 0; /* without one, tokens are sorted */
    const rk_cost dropless = cost_of(&model, &system, &stack, &s);
    stack.masks_tokens = false;
    assert_near(dropless.flops_forward, cost_of(&model, &system, &stack, &s).flops_forward, 0);
}

/*
 * A pass for weight gradients alone waits for its own launches, one for each of the four linears of
 * a dense layer, and the rest of backward for the others: faster launches make both shorter.
 */
static void test_split_backward(void **state)
{
    (void)state;
    const rk_model model = gpt_of(2, 8192, 64);
    rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_strategy s = rk_strategy_defaults(&model);
    system.accelerator.launch_seconds = 0;
    const rk_cost quick = cost_of(&model, &system, &stack, &s);
    system.accelerator.launch_seconds = 1; /* nothing else matters */
    const rk_cost slow = cost_of(&model, &system, &stack, &s);
    const double rest = rk_times_sum(&slow.backward) + slow.apart.launches - slow.weight_seconds;
    assert_near(quick.apart.launches + quick.apart.sums, 0, 0);
    assert_true(quick.weight_seconds < 0.5 * rk_times_sum(&quick.backward));
    assert_near(slow.weight_seconds, 4, 1e-6);
    assert_near(rest, stack.kernels_backward - 4, 1e-6);
}

/* A clamped activation that is not fused reads and writes its elements again: 6 forward. */
static void test_clamped(void **state)
{
    (void)state;
    rk_model model = model_of("gpt-oss-20b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    stack.clamped_passes = stack.activation_passes + 3;
    const rk_cost clamped = cost_of(&model, &system, &stack, &s);
    s.graph_step = true;
    const rk_cost fused = cost_of(&model, &system, &stack, &s);
    s.graph_step = false;
    model.types[0].ffn.clamped = false;
    const rk_cost plain = cost_of(&model, &system, &stack, &s);
    const rk_moe_shape *moe = &model.types[0].moe;
    const double elements =
        (double)s.micro_batch * (double)s.seq * (double)moe->top_k * (double)moe->expert_width;
    const rk_accelerator *a = &system.accelerator;
    const double seconds =
        3 * 6 * elements / (a->memory_bandwidth * a->memory_efficiency * stack.stream_share);
    assert_near(clamped.forward.part[RK_PART_EXPERT] - plain.forward.part[RK_PART_EXPERT], seconds,
                1e-6);
    assert_near(fused.forward.part[RK_PART_EXPERT], plain.forward.part[RK_PART_EXPERT], 1e-12);
}

/*
 * Backward with sequence parallelism: output gradients are gathered before, input gradients
 * reduced and inputs gathered again beside the products; without, only an all-reduce beside them.
 */
static void test_tensor_overlap(void **state)
{
    (void)state;
    const rk_model model = gpt_of(2, 8192, 64);
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 8;
    s.sp = true;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    const double bytes = 2 * context.tokens * (double)model.hidden;
    const rk_group *group = &context.groups[RK_GROUP_TENSOR];
    const double gather = rk_collective_seconds(&system, RK_COLL_ALL_GATHER, bytes, group);
    const double sum = rk_collective_seconds(&system, RK_COLL_REDUCE_SCATTER, bytes, group);
    stack.tp_backward_exposed = 1;
    stack.tp_reduce_exposed = 0;
    stack.regather_exposed = 0;
    assert_near(cost_of(&model, &system, &stack, &s).backward.part[RK_PART_TP], 2 * gather, 1e-9);
    assert_near(cost_of(&model, &system, &stack, &s).apart.sums, 2 * sum, 1e-9);
    stack.tp_reduce_exposed = 0.5;
    assert_near(cost_of(&model, &system, &stack, &s).backward.part[RK_PART_TP], 2 * gather + sum,
                1e-9);
    s.sp = false;
    const double all = rk_collective_seconds(&system, RK_COLL_ALL_REDUCE, bytes, group);
    assert_near(cost_of(&model, &system, &stack, &s).backward.part[RK_PART_TP], all, 1e-9);
}

static double streamed(const rk_system *system, const rk_stack *stack, double bytes)
{
    return rk_stream_seconds(&system->accelerator, bytes) / stack->stream_share;
}

/*
 * A checkpoint that stops early leaves out the product behind the last tensor that backward needs,
 * and the sum of its outputs over the tensor group; with an adapter beside it the sum alone.
 */
static void test_recompute_stops(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("torchtitan");
    stack.tp_forward_exposed = 1;
    for (int i = 0; i < 3; i++) {
        rk_strategy s = rk_strategy_defaults(&model);
        rk_cost all[2], stopped[2];
        s.tp = i == 1 ? 8 : 1;
        s.sp = s.tp > 1;
        if (i == 2) {
            rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN, &s);
        }
        stack.recompute_stops = false;
        const rk_block_context without = rk_block_context_of(&model, &system, &stack, &s);
        layer_costs(&without, &model.types[0], all);
        stack.recompute_stops = true;
        const rk_block_context with = rk_block_context_of(&model, &system, &stack, &s);
        layer_costs(&with, &model.types[0], stopped);
        const double T = with.tokens, width = 14336.0 / (double)s.tp;
        const double spared = i == 2 ? 0 : 2 * T * 4096 * width;
        assert_near(all[1].flops_recompute - stopped[1].flops_recompute, spared, 1e-9);
        assert_near(all[1].sent_backward.tensor - stopped[1].sent_backward.tensor,
                    i == 1 ? with.reduce.sent : 0, 1e-9);
        assert_true(
            all[1].backward.part[RK_PART_RECOMPUTE] - stopped[1].backward.part[RK_PART_RECOMPUTE] >=
            spared / system.accelerator.gemm[RK_BF16].peak + (i == 1 ? with.reduce.seconds : 0));
        assert_near(stopped[0].backward.part[RK_PART_RECOMPUTE], 0, 0);
    }
}

/*
 * What PyTorch gathers and scatters of sequences is copied: 2 regions, each with a gather and a
 * scatter, read and written; products that overlap with their messages sum instead, 1 + 1/8.
 */
static void test_sequence_copies(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("torchtitan");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 8;
    s.sp = true;
    const double bytes = 2.0 * (double)s.seq * 4096;
    for (int i = 0; i < 2; i++) {
        s.tp_overlap = i == 1;
        stack.copies_sequence = false;
        const rk_cost bare = cost_of(&model, &system, &stack, &s);
        stack.copies_sequence = true;
        const rk_cost copied = cost_of(&model, &system, &stack, &s);
        const double copies = 2 * (streamed(&system, &stack, 2 * bytes) +
                                   streamed(&system, &stack, (i ? 1 + 1 / 8.0 : 2) * bytes));
        assert_near(copied.forward.part[RK_PART_TP] - bare.forward.part[RK_PART_TP], copies, 1e-9);
        assert_near(copied.backward.part[RK_PART_TP] - bare.backward.part[RK_PART_TP], copies,
                    1e-9);
    }
}

/* Tensorwise fp8 that is gathered cast: a gather of one byte, a scatter of two; 1/8 of the casts of
 * what is gathered. */
static void test_gathers_cast(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("torchtitan");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 8;
    s.sp = true;
    s.precision = RK_FP8;
    s.fp8_recipe = RK_FP8_TENSORWISE;
    s.micro_batch = s.global_batch = 32;
    const rk_cost low = cost_of(&model, &system, &stack, &s);
    stack.gathers_cast = false;
    const rk_cost wide = cost_of(&model, &system, &stack, &s);
    assert_near(low.sent_forward.tensor / wide.sent_forward.tensor, 3 / 4.0, 1e-12);
    /* inputs: h before queries and gate, h/8 before the output, f/8 before down */
    const double own = 512.0 + 1792, gathered = 2 * 4096;
    assert_near(low.forward.part[RK_PART_CAST] / wide.forward.part[RK_PART_CAST],
                (own + gathered / 8) / (own + gathered), 2e-2); /* and launches */
    stack.gathers_cast = true;
    s.fp8_recipe = RK_FP8_DELAYED;
    assert_near(cost_of(&model, &system, &stack, &s).sent_forward.tensor, wide.sent_forward.tensor,
                1e-12);
}

/*
 * PyTorch's ring gathers 2 x 4,096 elements of keys and values of 32 heads, where 8 heads have
 * 2 x 1,024, and passes their gradients in fp32 as often as there are ranks.
 */
static void test_gathered_ring(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("torchtitan");
    rk_strategy s = rk_strategy_defaults(&model);
    s.cp = 4;
    s.seq = 131072;
    const double pairs = 32768.0 * 2 * 4096;
    const rk_cost gathered = cost_of(&model, &system, &stack, &s);
    stack.ring_gathers = false;
    const rk_cost ring = cost_of(&model, &system, &stack, &s);
    assert_near(ring.sent_forward.context, 3 * 2 * pairs / 4, 1e-9);
    assert_near(gathered.sent_forward.context, 3 * 2 * pairs, 1e-9);
    assert_near(gathered.sent_backward.context, 3 * 2 * pairs + 4 * 4 * pairs, 1e-9);
    assert_true(gathered.backward.part[RK_PART_CP] > ring.backward.part[RK_PART_CP]);
}

/* Vector cores beside the matrix engine hide their share of memory-bound operators, and nothing
 * else. */
static void test_vector_overlap(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    const rk_stack stack = stack_of("megatron-2025");
    rk_system system = system_of("gaudi2");
    rk_strategy s = rk_strategy_defaults(&model);
    s.graph_step = true; /* no launches */
    system.accelerator.vector_overlap = 0;
    const rk_cost one = cost_of(&model, &system, &stack, &s);
    system.accelerator.vector_overlap = 0.25;
    const rk_cost both = cost_of(&model, &system, &stack, &s);
    for (int i = 0; i < RK_PART_COUNT; i++) {
        const double share = i == RK_PART_STREAM ? 0.75 : 1;
        assert_near(both.forward.part[i], share * one.forward.part[i], 1e-12);
        assert_near(both.backward.part[i], share * one.backward.part[i], 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_graphs_of_experts),
        cmocka_unit_test(test_graph_modules),
        cmocka_unit_test(test_blocked_launches),
        cmocka_unit_test(test_counted_tokens),
        cmocka_unit_test(test_expert_overlap),
        cmocka_unit_test(test_expert_overlap_uncovered),
        cmocka_unit_test(test_head_alignment),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_sorted_again),
        cmocka_unit_test(test_split_backward),
        cmocka_unit_test(test_clamped),
        cmocka_unit_test(test_tensor_overlap),
        cmocka_unit_test(test_recompute_stops),
        cmocka_unit_test(test_sequence_copies),
        cmocka_unit_test(test_gathers_cast),
        cmocka_unit_test(test_gathered_ring),
        cmocka_unit_test(test_vector_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
