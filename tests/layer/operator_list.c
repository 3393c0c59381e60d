/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators of blocks add up to their costs, the price of each follows from its entry alone,
 * and tables of costs that share prices hold the same, for random models and strategies and for
 * every mixer.
 */
#include "../draws.h"

#include "blocks.h"
#include "estimate/estimate.h"
#include "io/catalogue.h"
#include "layer/price.h"

/* What the entries add up to. */
struct sums {
    rk_times forward, backward;
    rk_sent_bytes sent_forward, sent_backward;
    double flops_forward, flops_backward, saved;
};

static double *sent_over(rk_sent_bytes *sent, rk_group_kind group)
{
    return group == RK_GROUP_TENSOR    ? &sent->tensor
           : group == RK_GROUP_CONTEXT ? &sent->context
                                       : &sent->expert;
}

/* An entry says all that its price depends on, and the time and traffic of a message agree. */
static void assert_priced(const rk_block_context *context, const rk_operator *o)
{
    const rk_message *m = &o->message;
    assert_true(o->kind != RK_OPERATOR_LINEAR || (o->M > 0 && o->N > 0 && o->K > 0));
    assert_near(rk_price(context, o), o->seconds, 0);
    if (o->kind == RK_OPERATOR_MESSAGE) {
        const rk_group *group = &context->groups[m->group];
        const double once = m->spread > 0
                                ? rk_exchange_of(context, m->group, m->bytes, m->spread).seconds
                                : rk_collective_seconds(context->system, m->op, m->bytes, group);
        assert_int_equal(m->ranks, group->size);
        assert_near(m->seconds, m->times * once, 1e-12);
        assert_near(m->sent, m->times * rk_collective_sent(m->op, m->bytes, (double)m->ranks),
                    1e-12);
        assert_true(o->seconds >= 0 && o->seconds <= m->seconds * (1 + 1e-12));
    }
}

static struct sums add_up(const rk_block_context *context, const rk_operator_list *list)
{
    struct sums sums = {.saved = 0};
    for (size_t i = 0; i < list->count; i++) {
        const rk_operator *o = &list->items[i];
        const bool forward = o->pass == RK_PASS_FORWARD;
        (forward ? &sums.forward : &sums.backward)->part[o->part] += o->seconds;
        *(forward ? &sums.flops_forward : &sums.flops_backward) += o->flops;
        *sent_over(forward ? &sums.sent_forward : &sums.sent_backward, o->message.group) +=
            o->message.sent;
        sums.saved += o->saved;
        assert_priced(context, o);
    }
    return sums;
}

static void assert_sent(const rk_sent_bytes *sums, const rk_sent_bytes *cost)
{
    assert_near(sums->tensor, cost->tensor, 1e-12);
    assert_near(sums->context, cost->context, 1e-12);
    assert_near(sums->expert, cost->expert, 1e-12);
}

static void assert_sums(const rk_block_context *context, const rk_operator_list *list,
                        const rk_cost *cost)
{
    const struct sums sums = add_up(context, list);
    const double most = rk_times_sum(&cost->forward) + rk_times_sum(&cost->backward);
    for (int part = 0; part < RK_PART_COUNT; part++) {
        assert_true(fabs(sums.forward.part[part] - cost->forward.part[part]) <= 1e-12 * most);
        assert_true(fabs(sums.backward.part[part] - cost->backward.part[part]) <= 1e-12 * most);
    }
    assert_near(sums.flops_forward, cost->flops_forward, 1e-12);
    assert_near(sums.flops_backward, cost->flops_backward + cost->flops_recompute, 1e-12);
    assert_sent(&sums.sent_forward, &cost->sent_forward);
    assert_sent(&sums.sent_backward, &cost->sent_backward);
    assert_true(fabs(sums.saved - cost->saved) <= 1e-9 * (cost->saved + 1));
}

/* A table has of each type what it costs alone. */
static void assert_table(const rk_cost_table *table)
{
    const rk_model *model = table->context.model;
    for (int i = 0; i < model->type_count; i++) {
        rk_cost cost[2];
        layer_costs(&table->context, &model->types[i], cost);
        cost[0].forward_seconds = rk_times_sum(&cost[0].forward);
        cost[0].backward_seconds = rk_times_sum(&cost[0].backward);
        assert_memory_equal(&cost[0], &table->layers[i][0], sizeof(cost[0]));
    }
}

/* Tables share prices among types, and among modules that are recomputed. */
static void check_tables(const rk_model *model, const rk_system *system, const rk_stack *stack,
                         const rk_strategy *s)
{
    static rk_cost_table table, again;
    rk_strategy plain = *s, selective = *s;
    plain.recompute = RK_REC_NONE;
    rk_cost_table_fill_with(model, system, stack, &plain, NULL, &table);
    assert_table(&table);
    selective.recompute = RK_REC_SELECTIVE;
    for (unsigned module = 1; module <= RK_MODULE_PROJECTION; module *= 2) {
        selective.recompute_modules = module;
        rk_cost_table_fill_layers(&table, &selective, &again);
        assert_table(&again);
    }
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
            assert_sums(&context, &list, &cost[whole]);
            rk_operator_list_clear(&list);
        }
    }
    check_tables(model, &system, &stack, s);
    const rk_cost embedding = rk_block_embedding(&context), head = rk_block_head(&context);
    assert_int_equal(rk_list_embedding(&context, &list, NULL), RK_OK);
    assert_sums(&context, &list, &embedding);
    rk_operator_list_clear(&list);
    assert_int_equal(rk_list_head(&context, &list, NULL), RK_OK);
    assert_sums(&context, &list, &head);
    rk_operator_list_clear(&list);
}

/* A strategy with any of the parallelisms, recomputations and formats. */
static rk_strategy draw_any(uint64_t *r, const rk_model *model)
{
    static const unsigned modules[] = {0, RK_MODULE_CORE_ATTENTION, RK_MODULE_NORM | RK_MODULE_MOE,
                                       RK_MODULE_OPERATORS, RK_MODULE_MLP | RK_MODULE_ACTIVATION};
    rk_strategy s = rk_strategy_defaults(model);
    s.seq = 2048;
    s.tp = draw_power(r, 2);
    s.sp = draw_chance(r, 2);
    s.cp = draw_power(r, 2);
    s.ep = draw_power(r, 2);
    s.etp = draw_chance(r, 3) ? s.tp : 1;
    s.cp_kind = (rk_cp_kind)draw_below(r, 3);
    s.dp = 4;
    s.global_batch = 4;
    s.flash_attention = !draw_chance(r, 4);
    s.tp_overlap = draw_chance(r, 3);
    s.moe_overlap = draw_chance(r, 3);
    s.graph_capture = draw_chance(r, 4);
    s.precision = draw_chance(r, 2) ? RK_FP8 : RK_BF16;
    s.recompute_modules = modules[draw_below(r, 5)];
    s.recompute = s.recompute_modules ? RK_REC_SELECTIVE : RK_REC_NONE;
    if (draw_chance(r, 5)) {
        s.adapter_rank = 16;
        s.adapter_modules = RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN;
    }
    return s;
}

static void test_random(void **state)
{
    uint64_t r = 15;
    (void)state;
    for (int i = 0; i < 100; i++) {
        const rk_model model = draw_model(&r);
        const rk_strategy s = draw_any(&r, &model);
        check_model(&model, &s);
    }
}

/* Layers of each recurrence, with heads of one size. */
static void test_recurrences(void **state)
{
    uint64_t r = 17;
    (void)state;
    for (int k = 0; rk_all_kinds.mixers[k]; k++) {
        const rk_mixer *mixer = rk_all_kinds.mixers[k];
        rk_layer_type type = {.mixer = mixer, .feed_forward = &rk_feed_forward_none};
        const uint8_t layers[RK_LAYER_MAX] = {0};
        rk_model model = {.hidden = 4096, .vocab = 131072, .seq = 4096, .norms_per_layer = 2};
        type.recurrence =
            (rk_recurrence_shape){32, 32, 128, 128, 4, 64, false, false, 64, true, false, false};
        rk_model_set_layers(&model, &type, layers, 8);
        for (int i = 0; i < 20 && mixer->recurrence; i++) {
            const rk_strategy s = draw_any(&r, &model);
            check_model(&model, &s);
        }
    }
}

/* A block that layers share, beside Mamba-2. */
static void test_shared(void **state)
{
    uint64_t r = 18;
    const uint8_t layers[RK_LAYER_MAX] = {0};
    const rk_layer_type type = {
        .mixer = &rk_mixer_shared,
        .feed_forward = &rk_feed_forward_none,
        .attention = {.query_heads = 32, .kv_heads = 32, .head_size = 128},
        .recurrence = {64, 8, 128, 64, 4, 256, true, false, 0, false, false, false},
        .ffn = {.width = 8192, .gated = true},
        .shared = {.adapter_rank = 128, .attention_adapters = true},
    };
    rk_model model = {.hidden = 2048, .vocab = 32000, .seq = 4096, .norms_per_layer = 2};
    (void)state;
    rk_model_set_layers(&model, &type, layers, 8);
    for (int i = 0; i < 40; i++) {
        const rk_strategy s = draw_any(&r, &model);
        check_model(&model, &s);
    }
}

/* Every other mixer and every feed-forward network is that of some model of the catalogue. */
static void test_catalogue(void **state)
{
    uint64_t r = 16;
    bool mixers[32] = {false}, networks[32] = {false};
    (void)state;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        if (strcmp(rk_catalogue[i].kind, "models") != 0) {
            continue;
        }
        const rk_model model = model_of(rk_catalogue[i].name);
        for (int k = 0; k < 3; k++) {
            const rk_strategy s = draw_any(&r, &model);
            check_model(&model, &s);
        }
        for (int t = 0; t < model.type_count; t++) {
            for (int k = 0; rk_all_kinds.mixers[k]; k++) {
                mixers[k] |= model.types[t].mixer == rk_all_kinds.mixers[k];
            }
            for (int k = 0; rk_all_kinds.feed_forwards[k]; k++) {
                networks[k] |= model.types[t].feed_forward == rk_all_kinds.feed_forwards[k];
            }
        }
    }
    for (int k = 0; rk_all_kinds.mixers[k]; k++) {
        const rk_mixer *mixer = rk_all_kinds.mixers[k];
        assert_true(mixers[k] || mixer->recurrence || mixer == &rk_mixer_shared);
    }
    for (int k = 0; rk_all_kinds.feed_forwards[k]; k++) { /* a new kind may have no model yet */
        const rk_feed_forward *network = rk_all_kinds.feed_forwards[k];
        assert_true(networks[k] ||
                    (network != &rk_feed_forward_dense && network != &rk_feed_forward_experts &&
                     network != &rk_feed_forward_none));
    }
}

/* The time and the traffic of a message are in one entry. */
static void test_message(void **state)
{
    (void)state;
    const rk_model model = model_of("mixtral-8x7b");
    const rk_system system = system_of("dgx-h100-superpod");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    stack.deduplicates = false;
    s.ep = s.dp = s.global_batch = 8;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    rk_operator_list list = {.items = NULL};
    int found = 0;
    assert_int_equal(rk_list_layer(&context, &model.types[0], false, &list, NULL), RK_OK);
    for (size_t i = 0; i < list.count; i++) {
        const rk_operator *o = &list.items[i];
        if (o->kind == RK_OPERATOR_MESSAGE) {
            const double bytes = 2 * (double)s.seq * 2 * (double)model.hidden; /* top 2 */
            assert_int_equal(o->message.op, RK_COLL_ALL_TO_ALL);
            assert_int_equal(o->message.ranks, 8);
            assert_near(o->message.bytes, bytes, 1e-12);
            assert_near(o->message.sent, bytes * 7 / 8, 1e-12);
            assert_true(o->seconds > 0 && o->part == RK_PART_EP);
            found++;
        }
    }
    assert_int_equal(found, 4); /* there and back in each pass */
    rk_operator_list_clear(&list);
}

/* Gradients that are not kept, because the optimizer uses each at once, are written once. */
static void test_gradients_freed(void **state)
{
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("huggingface-ampere");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_operator_list list = {.items = NULL};
    int found = 0;
    (void)state;
    s.step_in_backward = true;
    s.states.gradient = 0;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    assert_int_equal(rk_list_layer(&context, &model.types[0], false, &list, NULL), RK_OK);
    for (size_t i = 0; i < list.count; i++) {
        const rk_operator *o = &list.items[i];
        if (o->kind == RK_OPERATOR_LINEAR && o->pass == RK_PASS_WEIGHTS) {
            assert_true(o->accumulate >= 0);
            found++;
        }
    }
    assert_true(found > 0);
    rk_operator_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),  cmocka_unit_test(test_recurrences),
        cmocka_unit_test(test_shared),  cmocka_unit_test(test_catalogue),
        cmocka_unit_test(test_message), cmocka_unit_test(test_gradients_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
