/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the allocator can give back: what it is, the verdicts it makes, what it costs. */
#include "../layer/blocks.h"

#include "estimate/estimate.h"

/* A model of 28 layers on a node; the tensor group gathers 4,096 tokens of 3,072 elements. */
static rk_strategy strategy_of(const rk_model *model)
{
    rk_strategy s = rk_strategy_defaults(model);
    s.tp = 8;
    s.sp = true;
    s.micro_batch = 2;
    s.global_batch = 8;
    return s;
}

static rk_estimate estimate_of(const rk_model *model, const rk_system *system,
                               const rk_stack *stack, const rk_strategy *s)
{
    rk_estimate e;
    assert_legal(model, system, s);
    rk_estimate_step(model, system, stack, s, RK_FLOPS_NANOTRON, &e);
    return e;
}

/* Two gathered inputs a layer beyond the shard that is needed, and the buffers of the stack. */
static void test_late(void **state)
{
    (void)state;
    const rk_model model = gpt_of(28, 3072, 32);
    const rk_system system = system_of("h100-p5-efa");
    rk_stack stack = stack_of("nanotron");
    rk_strategy s = strategy_of(&model);
    const double tensor = 2 * 4096.0 * 3072;
    stack.gathered_share = 0.75;
    stack.late_buffers = 18;
    const double update = stack.optimizer_temporary;
    stack.optimizer_temporary = 0;
    rk_estimate e = estimate_of(&model, &system, &stack, &s);
    const double inputs = 28 * 2 * (0.75 - 1.0 / 8), back = 0.9;
    assert_near(e.memory.late, back * (inputs + 18) * tensor, 1e-9);
    /* what the update of the optimizer needs in their place stays */
    stack.optimizer_temporary = update;
    e = estimate_of(&model, &system, &stack, &s);
    assert_true(e.memory.late < back * (inputs + 18) * tensor);
    /* without all of them, the need is that of a stack that keeps the shards */
    const double firm = e.memory.total - e.memory.late / back;
    stack.keeps_gathered = false;
    stack.late_buffers = 0;
    e = estimate_of(&model, &system, &stack, &s);
    assert_near(e.memory.total, firm, 1e-9);
    assert_near(e.memory.late, 0, 0);
    /* of fragments, whole blocks that serve another moment can be given back too */
    stack.fragmentation = 0.05;
    e = estimate_of(&model, &system, &stack, &s);
    assert_near(e.memory.late, 0, 0);
    assert_near(e.memory.part[RK_MEM_FRAGMENTATION], 0.05 * e.memory.allocated, 1e-9);
    stack.separate_blocks = true;
    e = estimate_of(&model, &system, &stack, &s);
    assert_near(e.memory.late, e.memory.part[RK_MEM_FRAGMENTATION] - 0.05 * e.memory.allocated,
                1e-9);
    assert_true(e.memory.late > 0);
}

/* With a pipeline nothing is given back, and its microbatches leave holes. */
static void test_stages(void **state)
{
    (void)state;
    const rk_model model = gpt_of(28, 3072, 32);
    const rk_system system = system_of("h100-p5-efa");
    rk_stack stack = stack_of("nanotron");
    rk_strategy s = strategy_of(&model);
    s.pp = 2;
    rk_estimate e = estimate_of(&model, &system, &stack, &s);
    assert_near(e.memory.late, 0, 0);
    assert_near(e.memory.part[RK_MEM_FRAGMENTATION],
                stack.stage_fragmentation * e.memory.part[RK_MEM_ACTIVATIONS], 1e-12);
}

/* The memory of the accelerator decides; what is beyond it costs time in every microbatch. */
static void test_verdicts(void **state)
{
    (void)state;
    const rk_model model = gpt_of(28, 3072, 32);
    rk_system system = system_of("h100-p5-efa");
    const rk_stack stack = stack_of("nanotron");
    const rk_strategy s = strategy_of(&model);
    const rk_estimate roomy = estimate_of(&model, &system, &stack, &s);
    assert_true(roomy.fits && !roomy.thrashes && roomy.memory.late > 0);

    system.accelerator.memory_usable = roomy.memory.total - 0.5 * roomy.memory.late;
    const rk_estimate tight = estimate_of(&model, &system, &stack, &s);
    assert_true(tight.fits && tight.thrashes);
    assert_near(tight.step - roomy.step, stack.thrash_seconds * 4 * 0.5 * roomy.memory.late / GIB,
                1e-9);

    system.accelerator.memory_usable = roomy.memory.total - 1.5 * roomy.memory.late;
    const rk_estimate over = estimate_of(&model, &system, &stack, &s);
    assert_true(!over.fits && !over.thrashes);
    assert_near(over.step, roomy.step, 1e-12);
}

/* Expandable segments leave 0.3 of the fragments, and no block that serves one moment only. */
static void test_expandable(void **state)
{
    (void)state;
    const rk_model model = gpt_of(28, 3072, 32);
    const rk_system system = system_of("h100-p5-efa");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = strategy_of(&model);
    stack.separate_blocks = true;
    rk_estimate e = estimate_of(&model, &system, &stack, &s);
    assert_true(e.memory.late > 0);
    s.expandable_segments = true;
    const double allocated = e.memory.allocated;
    e = estimate_of(&model, &system, &stack, &s);
    assert_near(e.memory.allocated, allocated, 0);
    assert_near(e.memory.part[RK_MEM_FRAGMENTATION], 0.3 * stack.fragmentation * allocated, 1e-9);
    assert_near(e.memory.late, 0, 0);
}

/* Logits of the microbatch before are there only when there was one. */
static void test_stale_logits(void **state)
{
    (void)state;
    const rk_model model = gpt_of(28, 3072, 32);
    const rk_system system = system_of("h100-p5-efa");
    const rk_stack stack = stack_of("nanotron");
    rk_strategy s = strategy_of(&model);
    const double several = estimate_of(&model, &system, &stack, &s).memory.part[RK_MEM_LOGITS];
    s.global_batch = 2;
    const double one = estimate_of(&model, &system, &stack, &s).memory.part[RK_MEM_LOGITS];
    assert_near(several - one, stack.stale_logit_bytes * 4096.0 * 51200 / 8, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late),         cmocka_unit_test(test_stages),
        cmocka_unit_test(test_verdicts),     cmocka_unit_test(test_expandable),
        cmocka_unit_test(test_stale_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
