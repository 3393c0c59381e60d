/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of blocks add up to their costs, for random models and strategies. */
#include "../draws.h"

#include "blocks.h"
#include "layer/operator_list.h"

/* What the entries add up to. */
struct sums {
    rk_times forward, backward;
    double flops_forward, flops_backward, sent_forward, sent_backward, saved;
};

static struct sums add_up(const rk_operator_list *list)
{
    struct sums sums = {.saved = 0};
    for (size_t i = 0; i < list->count; i++) {
        const rk_operator *o = &list->items[i];
        (o->backward ? &sums.backward : &sums.forward)->part[o->part] += o->seconds;
        *(o->backward ? &sums.flops_backward : &sums.flops_forward) += o->flops;
        *(o->backward ? &sums.sent_backward : &sums.sent_forward) += o->sent;
        sums.saved += o->saved;
        assert_true(o->kind != RK_OPERATOR_LINEAR || (o->M > 0 && o->N > 0 && o->K > 0));
    }
    return sums;
}

static double sent(const rk_sent *sent)
{
    return sent->tensor + sent->context + sent->expert;
}

static void assert_sums(const rk_operator_list *list, const rk_cost *cost)
{
    const struct sums sums = add_up(list);
    const double most = rk_times_sum(&cost->forward) + rk_times_sum(&cost->backward);
    for (int part = 0; part < RK_PART_COUNT; part++) {
        assert_true(fabs(sums.forward.part[part] - cost->forward.part[part]) <= 1e-12 * most);
        assert_true(fabs(sums.backward.part[part] - cost->backward.part[part]) <= 1e-12 * most);
    }
    assert_near(sums.flops_forward, cost->flops_forward, 1e-12);
    assert_near(sums.flops_backward, cost->flops_backward + cost->flops_recompute, 1e-12);
    assert_near(sums.sent_forward, sent(&cost->sent_forward), 1e-12);
    assert_near(sums.sent_backward, sent(&cost->sent_backward), 1e-12);
    assert_true(fabs(sums.saved - cost->saved) <= 1e-9 * (cost->saved + 1));
}

static void check_model(const rk_model *model, const rk_strategy *s)
{
    const rk_system system = system_of("dgx-h100-superpod");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_block_context context = rk_block_context_of(model, &system, &stack, s);
    rk_operator_list list = {.items = NULL};
    for (int i = 0; i < model->type_count; i++) {
        rk_cost cost[2];
        layer_costs(&context, &model->types[i], cost);
        for (int whole = 0; whole < 2; whole++) {
            assert_int_equal(rk_list_layer(&context, &model->types[i], whole, &list, NULL), RK_OK);
            assert_true(list.count > 5);
            assert_sums(&list, &cost[whole]);
            rk_operator_list_clear(&list);
        }
    }
    const rk_cost embedding = rk_block_embedding(&context), head = rk_block_head(&context);
    assert_int_equal(rk_list_embedding(&context, &list, NULL), RK_OK);
    assert_sums(&list, &embedding);
    rk_operator_list_clear(&list);
    assert_int_equal(rk_list_head(&context, &list, NULL), RK_OK);
    assert_sums(&list, &head);
    rk_operator_list_clear(&list);
}

static void test_random(void **state)
{
    (void)state;
    static const unsigned modules[] = {0, RK_MODULE_CORE_ATTENTION, RK_MODULE_NORM | RK_MODULE_MOE,
                                       RK_MODULE_OPERATORS, RK_MODULE_MLP | RK_MODULE_ACTIVATION};
    uint64_t r = 15;
    for (int i = 0; i < 100; i++) {
        const rk_model model = draw_model(&r);
        rk_strategy s = rk_strategy_defaults(&model);
        s.seq = 2048;
        s.tp = draw_power(&r, 2);
        s.sp = draw_chance(&r, 2);
        s.cp = draw_power(&r, 2);
        s.ep = draw_power(&r, 2);
        s.cp_kind = (rk_cp_kind)draw_below(&r, 3);
        s.dp = 4;
        s.global_batch = 4;
        s.flash_attention = !draw_chance(&r, 4);
        s.precision = draw_chance(&r, 2) ? RK_FP8 : RK_BF16;
        s.recompute_modules = modules[draw_below(&r, 5)];
        s.recompute = s.recompute_modules ? RK_REC_SELECTIVE : RK_REC_NONE;
        check_model(&model, &s);
    }
}

static void test_hybrids(void **state)
{
    (void)state;
    static const char *const names[] = {"nemotron-h-56b", "nemotron-3-super-120b", "deepseek-v3"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const rk_model model = model_of(names[i]);
        rk_strategy s = rk_strategy_defaults(&model);
        s.tp = 2;
        s.sp = true;
        s.cp = 2;
        check_model(&model, &s);
    }
}

/* The time and the traffic of a message are in one entry. */
static void test_message(void **state)
{
    (void)state;
    const rk_model model = model_of("mixtral-8x7b");
    const rk_system system = system_of("dgx-h100-superpod");
    const rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.ep = s.dp = s.global_batch = 8;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    rk_operator_list list = {.items = NULL};
    int found = 0;
    assert_int_equal(rk_list_layer(&context, &model.types[0], false, &list, NULL), RK_OK);
    for (size_t i = 0; i < list.count; i++) {
        const rk_operator *o = &list.items[i];
        if (o->kind == RK_OPERATOR_MESSAGE) {
            const double bytes = 2 * (double)s.seq * 2 * (double)model.hidden; /* top 2 */
            assert_int_equal(o->collective, RK_COLL_ALL_TO_ALL);
            assert_int_equal(o->ranks, 8);
            assert_near(o->message, bytes, 1e-12);
            assert_near(o->sent, 2 * bytes * 7 / 8, 1e-12); /* there and back */
            assert_true(o->seconds > 0 && o->part == RK_PART_EP);
            found++;
        }
    }
    assert_int_equal(found, 2); /* a pass each */
    rk_operator_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_hybrids),
        cmocka_unit_test(test_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
