/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule broken once, alone; nearest legal values; random strategies against Megatron's list.
 */
#include "breakages.h"

#include "layer/model_load.h"

static void assert_legal(const rk_model *model, const rk_strategy *s, rk_framework framework)
{
    rk_legality violation;
    if (!rk_strategy_legal(model, NULL, s, framework, &violation)) {
        fail_msg("%s: %s: %s", rk_framework_names[framework], violation.rule, violation.message);
    }
    assert_null(violation.rule);
}

static void test_base_is_legal(void **state)
{
    (void)state;
    for (int kind = DENSE; kind <= MOE; kind++) {
        rk_model model;
        fill_model(&model, kind);
        for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
            const rk_strategy s = base_strategy(&model, (rk_framework)f);
            assert_legal(&model, &s, (rk_framework)f);
        }
        rk_strategy s = rk_strategy_defaults(&model);
        assert_legal(&model, &s, RK_FRAMEWORK_MEGATRON);
        assert_int_equal(rk_strategy_ranks(&s), 1);
        assert_int_equal(rk_strategy_microbatches(&s), 1);
    }
}

/* No rule of another name is broken. */
static void assert_alone(const struct question *q, const char *name)
{
    size_t broken[16], count;
    count = rk_strategy_broken(q->model, q->system, q->strategy, q->framework, broken, 16);
    for (size_t i = 0; i < count; i++) {
        const char *other = rk_framework_rule(q->framework, broken[i]);
        if (strcmp(other, name) != 0) {
            fail_msg("%s breaks %s too", name, other);
        }
    }
}

/* A rule that a search takes for one of degrees is broken with any pipeline and recompute. */
static void assert_of_degrees(const struct question *q, const char *name)
{
    rk_strategy s = *q->strategy;
    size_t broken[16], count;
    bool found = false;
    s.pp = q->strategy->pp == 1 ? 4 : 1;
    s.dp *= 2;
    s.micro_batch *= 2;
    s.sharding = q->strategy->sharding == RK_SHARD_ALL ? RK_SHARD_OPTIMIZER : RK_SHARD_ALL;
    s.recompute = RK_REC_FULL;
    count = rk_strategy_broken(q->model, q->system, &s, q->framework, broken, 16);
    for (size_t i = 0; i < count && i < 16; i++) {
        found = found || strcmp(rk_framework_rule(q->framework, broken[i]), name) == 0;
    }
    if (!found) {
        fail_msg("%s is kept with another pipeline", name);
    }
}

/* Whether a framework has a rule of this name. */
static bool has_rule(rk_framework framework, const char *name)
{
    const char *other;
    for (size_t i = 0; (other = rk_framework_rule(framework, i)) != NULL; i++) {
        if (strcmp(other, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Exactly the expected rule is broken; frameworks that do not have it do not name it. */
static void test_each_rule_alone(void **state)
{
    const rk_system system = hopper_like();
    int of_degrees = 0;
    (void)state;
    for (size_t i = 0; i < BREAKAGE_COUNT; i++) {
        rk_model model;
        rk_legality violation;
        fill_model(&model, breakages[i].kind);
        rk_strategy s = base_strategy(&model, breakages[i].framework);
        breakages[i].breaks(&model, &s);
        if (rk_strategy_legal(&model, &system, &s, breakages[i].framework, &violation)) {
            fail_msg("%s is kept", breakages[i].rule);
        }
        assert_string_equal(violation.rule, breakages[i].rule);
        assert_true(strlen(violation.message) > 20);
        assert_null(strchr(violation.message, '{'));
        assert_false(rk_strategy_legal(&model, &system, &s, breakages[i].framework, NULL));

        const struct question q = {&model, &system, &s, breakages[i].framework};
        if (strcmp(violation.rule, "sizes") != 0) { /* the rules after it rely on it */
            assert_alone(&q, violation.rule);
        }
        bool nowhere;
        if (!rk_strategy_legal_here(&model, &system, &s, q.framework, &nowhere) && nowhere) {
            assert_of_degrees(&q, violation.rule);
            of_degrees++;
        }
    }
    assert_true(of_degrees > 10);
}

/* Every rule of every framework is broken by a case of some framework that has it. */
static void test_every_rule_is_tested(void **state)
{
    (void)state;
    for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
        const char *name;
        for (size_t r = 0; (name = rk_framework_rule((rk_framework)f, r)) != NULL; r++) {
            bool found = false;
            for (size_t i = 0; i < BREAKAGE_COUNT; i++) {
                found = found || (strcmp(breakages[i].rule, name) == 0 &&
                                  has_rule(breakages[i].framework, name));
            }
            if (!found) {
                fail_msg("no test breaks \"%s\" of %s", name, rk_framework_names[f]);
            }
        }
    }
}

/* Only who refuses it refuses it. */
static void test_frameworks_differ(void **state)
{
    const rk_system system = hopper_like();
    (void)state;
    for (size_t i = 0; i < BREAKAGE_COUNT; i++) {
        rk_model model;
        fill_model(&model, breakages[i].kind);
        rk_strategy s = base_strategy(&model, breakages[i].framework);
        breakages[i].breaks(&model, &s);
        for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
            rk_legality violation;
            (void)rk_strategy_legal(&model, &system, &s, (rk_framework)f, &violation);
            if (!has_rule((rk_framework)f, breakages[i].rule) && violation.rule) {
                assert_string_not_equal(violation.rule, breakages[i].rule);
            }
        }
    }
}

/* Heads of every type of layers split over tensor ranks, not of the first alone. */
static void test_heads_of_types(void **state)
{
    rk_model model;
    rk_error err;
    rk_legality violation;
    (void)state;
    assert_int_equal(rk_model_load("gemma3-27b", &model, &err), RK_OK);
    assert_int_equal(model.type_count, 2);
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = s.global_batch = 4;
    assert_true(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, NULL));
    model.types[1].attention.query_heads = model.types[1].attention.kv_heads = 6;
    assert_false(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, &violation));
    assert_string_equal(violation.rule, "heads % tp");
}

/* Outputs of norms and of activations, recomputed, would enter a history of scales twice. */
static void test_delayed_scales(void **state)
{
    static const unsigned modules[] = {RK_MODULE_NORM, RK_MODULE_ACTIVATION};
    const rk_system system = hopper_like();
    (void)state;
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        rk_model model;
        fill_model(&model, modules[i] == RK_MODULE_ACTIVATION ? MOE : DENSE); /* of experts */
        rk_strategy s = base_strategy(&model, MEGATRON);
        s.precision = RK_FP8;
        s.recompute = RK_REC_SELECTIVE;
        s.recompute_modules = modules[i];
        for (int delayed = 0; delayed < 2; delayed++) {
            s.fp8_recipe = delayed ? RK_FP8_DELAYED : RK_FP8_TENSORWISE;
            assert_int_equal(rk_strategy_legal(&model, &system, &s, MEGATRON, NULL), !delayed);
        }
    }
}

/* DeepSeek-V4 has latents to recompute, though its attention is no MLA; Llama has none. */
static void test_recomputed_latents(void **state)
{
    static const char *const names[] = {"llama3-8b", "deepseek-v4-flash"};
    (void)state;
    for (int latents = 0; latents < 2; latents++) {
        rk_model model;
        rk_error err;
        rk_legality violation;
        assert_int_equal(rk_model_load(names[latents], &model, &err), RK_OK);
        rk_strategy s = rk_strategy_defaults(&model);
        s.recompute = RK_REC_SELECTIVE;
        s.recompute_modules = RK_MODULE_MLA_UP;
        assert_int_equal(rk_strategy_legal(&model, NULL, &s, MEGATRON, &violation), latents);
    }
}

/* MindSpeed hides expert messages within a micro-batch, whatever the stages and recomputation. */
static void test_ascend_expert_overlap(void **state)
{
    rk_model model;
    (void)state;
    fill_model(&model, MOE);
    rk_strategy s = base_strategy(&model, MINDSPEED);
    s.moe_overlap = true;
    assert_true(s.pp > 1 && s.vp == 1);
    assert_legal(&model, &s, MINDSPEED);
    s.recompute = RK_REC_FULL;
    assert_legal(&model, &s, MINDSPEED);
    assert_false(rk_strategy_legal(&model, NULL, &s, MEGATRON, NULL));
}

/* ---- messages ------------------------------------------------------------------------------ */

static void test_nearest(void **state)
{
    static const struct {
        void (*breaks)(rk_model *, rk_strategy *);
        rk_framework framework;
        int kind;
        const char *says;
    } cases[] = {
        {break_batch, ANY, DENSE,
         "the global batch 130 is not a multiple of 8 = micro-batch 1 x dp 8; nearest legal global "
         "batch: 128 or 136"},
        {break_heads, ANY, DENSE,
         "64 attention heads do not split over tp 128; nearest legal tp: 64"},
        {break_uneven, MEGATRON, DENSE, "nearest legal pp: 2 or 4"},
        {break_uneven_chunks, MEGATRON, DENSE,
         "80 layers do not split evenly over pp 4 x vp 3; nearest legal vp: 2 "
         "or 4"},
        {break_remainder, MEGATRON, DENSE, "nearest legal global batch: 128 or 160"},
        {break_experts, ANY, MOE, "nearest legal ep: 4"},
        {break_folding, ANY, MOE, "nearest legal ep: 8 or 16"},
        {break_balance, MEGATRON, DENSE, "nearest legal sequence: 8188 or 8192"},
        {break_layout_short, MEGATRON, DENSE,
         "the layout has 2 stages, but pp 4 with 1 stages each needs 4; nearest legal pp: 2"},
        {break_layout_sum, MEGATRON, DENSE,
         "the layout has 82 layers, but dense has 80; nearest legal: 21 instead of 23 on stage 1"},
        {break_layout_none, ANY, DENSE, "without a layout they are shared evenly"},
        {break_gpipe, MEGATRON, DENSE,
         "megatron does not run the schedule gpipe; it runs 1f1b and interleaved"},
        {break_more_stages, ANY, DENSE, "nearest legal pp: 80"},
        {break_odd_ranks, ANY, DENSE, "nearest legal pp: 4 or 6"},
        {break_exchange, TITAN, DENSE,
         "torchtitan does not split sequences by ulysses; use cp of the kind ring or all-gather"},
        {break_modules_of, TITAN, DENSE,
         "torchtitan does not recompute the modules norm; it recomputes operators"},
        {break_zero2, MEGATRON, DENSE,
         "megatron does not run ZeRO-2 with pp 4; use ZeRO-0 or 1; nearest legal pp: 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_model model;
        rk_legality violation;
        fill_model(&model, cases[i].kind);
        rk_strategy s = base_strategy(&model, cases[i].framework);
        cases[i].breaks(&model, &s);
        assert_false(rk_strategy_legal(&model, NULL, &s, cases[i].framework, &violation));
        if (!strstr(violation.message, cases[i].says)) {
            fail_msg("\"%s\" does not say \"%s\"", violation.message, cases[i].says);
        }
    }
}

/* A message that is longer than its place is cut, not overrun. */
static void test_long_message(void **state)
{
    rk_model model;
    rk_legality violation;
    (void)state;
    fill_dense(&model);
    rk_strategy s = base_strategy(&model, ANY);
    int64_t *sizes[] = {&s.tp, &s.cp,  &s.pp,          &s.vp,           &s.dp,
                        &s.ep, &s.etp, &s.micro_batch, &s.global_batch, &s.seq};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        *sizes[i] = INT64_MIN;
    }
    assert_false(rk_strategy_legal(&model, NULL, &s, ANY, &violation));
    assert_int_equal(strlen(violation.message), sizeof(violation.message) - 1);
}

/* ---- Megatron's list ----------------------------------------------------------------------- */

static rk_strategy random_strategy(const rk_model *model, uint64_t *seed)
{
    rk_strategy s = rk_strategy_defaults(model);
    s.tp = PICK(seed, 1, 1, 2, 3, 4, 8, 16, 32);
    s.cp = PICK(seed, 1, 1, 1, 2, 3, 4, 8);
    s.pp = PICK(seed, 1, 2, 3, 4, 5, 8, 16);
    s.dp = PICK(seed, 1, 2, 3, 4, 6, 8, 16);
    s.vp = one_in(seed, 3) ? PICK(seed, 2, 3, 4, 5) : 1;
    s.schedule = s.vp > 1 ? RK_SCHEDULE_INTERLEAVED : RK_SCHEDULE_1F1B;
    if (one_in(seed, 10)) {
        s.schedule = (rk_schedule_kind)random_int(seed, 0, RK_SCHEDULE_KIND_COUNT - 1);
    }
    s.ep = model->type_count > 1 || one_in(seed, 10) ? PICK(seed, 1, 2, 3, 4, 8, 10, 16) : 1;
    s.etp = PICK(seed, 1, 1, 1, 2, 4);
    if (one_in(seed, 4)) {
        s.order = RK_ORDER_PIPELINE_DATA;
        s.etp = one_in(seed, 2) ? s.tp : s.etp;
    }
    s.sp = s.tp > 1 && !one_in(seed, 3);
    s.cp_kind = (rk_cp_kind)random_int(seed, 0, 2);
    s.micro_batch = PICK(seed, 1, 1, 2, 3);
    s.global_batch = s.micro_batch * s.dp * PICK(seed, 1, 5, 8, 16, 30, 48);
    s.global_batch += one_in(seed, 10);
    s.seq = PICK(seed, 4096, 8192, 8190, 6144);
    s.sharding = (rk_sharding)random_int(seed, 0, 1);
    if (one_in(seed, 4)) {
        s.first_stage_layers = random_int(seed, 0, 24);
        s.last_stage_layers = random_int(seed, 0, 24);
    } else {
        s.count_embedding = one_in(seed, 5);
        s.count_head = one_in(seed, 5);
    }
    return s;
}

/* The layer split alone, as Megatron checks it, for one kind of split at a time. */
static bool megatron_splits(const rk_model *m, const rk_strategy *s)
{
    const int64_t first = s->first_stage_layers, last = s->last_stage_layers;
    if (first == 0 && last == 0) {
        const int64_t units = m->layers + (s->count_embedding ? 1 : 0) + (s->count_head ? 1 : 0);
        return units % s->pp == 0 && units / s->pp % s->vp == 0 && units >= s->pp * s->vp;
    }
    if (s->pp == 1 || first % s->vp != 0 || last % s->vp != 0) {
        return false;
    }
    const int64_t layers = m->layers - first - last;
    const int64_t ranks = s->pp - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    if (ranks == 0 || layers <= 0) {
        return ranks == 0 && layers == 0;
    }
    return layers % ranks == 0 && layers / ranks % s->vp == 0;
}

static bool megatron_accepts_batch(const rk_strategy *s)
{
    if (s->global_batch % (s->micro_batch * s->dp) != 0) {
        return false;
    }
    const int64_t microbatches = s->global_batch / (s->micro_batch * s->dp);
    return s->vp > 1
               ? s->schedule == RK_SCHEDULE_INTERLEAVED && s->pp > 1 && microbatches % s->pp == 0
               : s->schedule == RK_SCHEDULE_1F1B;
}

static bool megatron_accepts_sequence(const rk_attention_shape *a, const rk_strategy *s)
{
    const int64_t kv = a->kv_heads, ranks = s->tp * s->cp;
    if (s->cp > 1 && s->seq % (2 * s->cp) != 0) {
        return false;
    }
    if (s->tp > 1 && s->sp && s->seq % ranks != 0) {
        return false;
    }
    return s->cp == 1 || s->cp_kind != RK_CP_ULYSSES ||
           (a->query_heads % ranks == 0 && (kv % ranks == 0 || ranks % kv == 0));
}

static bool megatron_accepts_experts(bool moe, const rk_strategy *s)
{
    const int64_t world = s->tp * s->cp * s->pp * s->dp;
    if (world % (s->etp * s->ep * s->pp) != 0) {
        return false;
    }
    /* groups of dense models are those of tensor parallelism alone */
    if (moe && s->order == RK_ORDER_PIPELINE_DATA && s->pp > 1 &&
        world / (s->etp * s->ep * s->pp) != s->dp) {
        return false;
    }
    if (moe && (2048 % s->tp != 0 || 2048 % s->etp != 0)) {
        return false;
    }
    return s->ep == 1 || (moe && 96 % s->ep == 0 && (s->tp == 1 || s->sp));
}

/* Everything that random_strategy varies, read off Megatron's checks. */
static bool megatron_accepts(const rk_model *m, const rk_strategy *s)
{
    const rk_attention_shape *a = &m->types[0].attention;
    const int64_t kv = a->kv_heads;
    if (a->query_heads % s->tp != 0 || (kv % s->tp != 0 && s->tp % kv != 0) || 28672 % s->tp != 0) {
        return false;
    }
    return megatron_accepts_batch(s) && megatron_accepts_sequence(a, s) &&
           megatron_accepts_experts(m->type_count > 1, s) && megatron_splits(m, s);
}

static void test_random_strategies(void **state)
{
    uint64_t seed = 8;
    int legal = 0, total = 50000;
    (void)state;
    for (int kind = DENSE; kind <= MOE; kind++) {
        rk_model model;
        fill_model(&model, kind);
        for (int i = 0; i < total; i++) {
            const rk_strategy s = random_strategy(&model, &seed);
            const bool mine = rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, NULL);
            if (mine != megatron_accepts(&model, &s)) {
                rk_legality violation = {0};
                (void)rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, &violation);
                fail_msg("sample %d of kind %d: %s %s", i, kind, mine ? "accepted" : violation.rule,
                         violation.message);
            }
            legal += mine;
            /* what any framework accepts is possible */
            const bool possible = rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, NULL);
            for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
                assert_true(possible ||
                            !rk_strategy_legal(&model, NULL, &s, (rk_framework)f, NULL));
            }
        }
    }
    print_message("%d of %d random strategies are legal\n", legal, 2 * total);
    assert_true(legal > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_is_legal),
        cmocka_unit_test(test_each_rule_alone),
        cmocka_unit_test(test_every_rule_is_tested),
        cmocka_unit_test(test_frameworks_differ),
        cmocka_unit_test(test_heads_of_types),
        cmocka_unit_test(test_recomputed_latents),
        cmocka_unit_test(test_delayed_scales),
        cmocka_unit_test(test_ascend_expert_overlap),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_long_message),
        cmocka_unit_test(test_random_strategies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
