/* SPDX-License-Identifier: Apache-2.0 */
/* What the order of ranks moves from inside nodes to the network between them, also in estimates
 * that share costs. */
#include "../layer/blocks.h"

#include "estimate/estimate.h"

/* TP 2, PP 4 and DP 8 in nodes of 8; nothing hides and no message is cut. */
static rk_strategy strategy_of(const rk_model *model, rk_rank_order order)
{
    rk_strategy s = rk_strategy_defaults(model);
    s.tp = 2;
    s.pp = 4;
    s.dp = 8;
    s.sp = true;
    s.order = order;
    s.global_batch = 8 * 16;
    s.sharding = RK_SHARD_OPTIMIZER;
    s.grad_overlap = s.param_overlap = s.pp_overlap = false;
    return s;
}

static rk_stack plain_stack(void)
{
    rk_stack stack = stack_of("megatron-2025");
    stack.bucket_bytes = stack.bucket_params = stack.bucket_rank_params = stack.gather_bytes = 0;
    stack.send_seconds = 0;
    return stack;
}

/* Reducing and gathering what the fullest stage holds, by 8 ranks of which so many share a node. */
static double data_seconds(const rk_system *system, const rk_strategy *s, double params,
                           int64_t inside)
{
    const rk_group group = {.size = 8, .within = {inside, 8, 8, 8}};
    return rk_collective_seconds(system, RK_COLL_REDUCE_SCATTER, params * s->states.reduce,
                                 &group) +
           rk_collective_seconds(system, RK_COLL_ALL_GATHER, params * s->states.gather, &group);
}

/* The last stage, which has the head, sends one per microbatch; the first passes all both ways. */
static double pipeline_seconds(const rk_system *system, double bytes, int64_t inside)
{
    const rk_group group = {.size = 4, .within = {inside, 4, 4, 4}};
    return (15 + 2 * 3) * rk_collective_seconds(system, RK_COLL_SEND, bytes, &group);
}

static void test_order(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("dgx-h100-superpod");
    const rk_stack stack = plain_stack();
    static const struct {
        int64_t data, pipeline; /* ranks in a node */
    } inside[RK_ORDER_COUNT] = {{4, 1}, {1, 4}};
    rk_estimate e[RK_ORDER_COUNT];
    for (int i = 0; i < RK_ORDER_COUNT; i++) {
        const rk_strategy s = strategy_of(&model, (rk_rank_order)i);
        assert_legal(&model, &system, &s);
        rk_estimate_step(&model, &system, &stack, &s, RK_FLOPS_MEGATRON, &e[i]);
        /* a quarter of the layers and one of the two tables, on two tensor ranks */
        const rk_model_params params = rk_model_params_of(&model);
        const double table = (double)model.vocab * (double)model.hidden;
        const double held = (((double)params.total - 2 * table) / 4 + table) / 2;
        assert_near(e[i].times.part[RK_PART_DP], data_seconds(&system, &s, held, inside[i].data),
                    0.01);
        /* a message holds a share 1/TP of the activations in bf16 */
        const double bytes = 2 * (double)s.seq * (double)model.hidden / 2;
        assert_near(e[i].times.part[RK_PART_PP],
                    pipeline_seconds(&system, bytes, inside[i].pipeline), 1e-9);
    }
    /* nothing else moves, but for the growth of the whole step with its ranks */
    for (int part = 0; part < RK_PART_COUNT; part++) {
        if (part != RK_PART_DP && part != RK_PART_PP && part != RK_PART_FIXED) {
            assert_near(e[0].times.part[part], e[1].times.part[part], 1e-12);
        }
    }
    assert_near(e[0].memory.total, e[1].memory.total, 1e-12);
    assert_near(e[0].volumes.data, e[1].volumes.data, 1e-12);
    assert_true(e[1].times.part[RK_PART_DP] > 2 * e[0].times.part[RK_PART_DP]);
    assert_true(e[0].times.part[RK_PART_PP] > 2 * e[1].times.part[RK_PART_PP]);
}

/* Estimates a strategy with a store, which is the same as without, after another one. */
static void estimate_after(const rk_setting *setting, const rk_strategy *first,
                           const rk_strategy *s)
{
    rk_setting alone = *setting;
    rk_estimate kept, own;
    rk_error err;
    alone.store = NULL;
    assert_legal(setting->model, setting->system, s);
    assert_int_equal(rk_estimate_exact(setting, first, &kept, NULL, &err), RK_OK);
    assert_int_equal(rk_estimate_exact(setting, s, &kept, NULL, &err), RK_OK);
    assert_int_equal(rk_estimate_exact(&alone, s, &own, NULL, &err), RK_OK);
    assert_memory_equal(&kept, &own, sizeof(own));
}

/* Costs of layers are kept from one number of stages to another, but not from one accelerator,
 * which casts weights in fp32, to several. */
static void test_kept(void **state)
{
    (void)state;
    rk_error err;
    const rk_system system = system_of("dgx-h100-superpod");
    rk_model model = model_of("mixtral-8x7b");
    rk_stack stack = plain_stack();
    rk_setting setting = {.model = &model, .system = &system, .stack = &stack};
    assert_int_equal(rk_estimate_store_new(&setting.store, &err), RK_OK);
    rk_strategy first = strategy_of(&model, RK_ORDER_PIPELINE_DATA);
    first.ep = 2;
    rk_strategy second = first;
    second.pp = 8;
    second.schedule = RK_SCHEDULE_ZB_H1;
    second.sharding = RK_SHARD_NONE;
    estimate_after(&setting, &first, &second);
    estimate_after(&setting, &second, &first);
    rk_estimate_store_free(setting.store);

    model = model_of("llama3.2-1b");
    stack.autocasts = true;
    assert_int_equal(rk_estimate_store_new(&setting.store, &err), RK_OK);
    first = rk_strategy_defaults(&model);
    first.states = (rk_state_recipe){4, 4, 8, 2, 2};
    first.global_batch = 8;
    second = first;
    second.dp = 8;
    estimate_after(&setting, &first, &second);
    estimate_after(&setting, &second, &first);
    rk_estimate_store_free(setting.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
