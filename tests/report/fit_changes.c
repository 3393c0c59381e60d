/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a strategy fit, and the fewest accelerators on which one does. */
#include "method/fit_changes.h"
#include "base/units.h"
#include "layer/model_load.h"
#include "method/gains.h"
#include "search/fewest_accelerators.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct inputs {
    rk_model model;
    rk_system system;
    rk_stack stack;
};

static rk_setting setting_of(struct inputs *in, const char *model, double gib)
{
    rk_error err;
    assert_int_equal(rk_model_load(model, &in->model, &err), RK_OK);
    assert_int_equal(rk_system_load("dgx-h100-superpod", &in->system, &err), RK_OK);
    assert_int_equal(rk_stack_load("megatron-2025", &in->stack, &err), RK_OK);
    in->system.accelerator.memory_usable = gib * GIB;
    return (rk_setting){.model = &in->model,
                        .system = &in->system,
                        .stack = &in->stack,
                        .framework = RK_FRAMEWORK_MEGATRON,
                        .convention = RK_FLOPS_MEGATRON};
}

static rk_strategy strategy_of(const rk_setting *s, int64_t tp, int64_t dp, int64_t micro_batch)
{
    rk_strategy strategy = rk_strategy_defaults(s->model);
    strategy.tp = tp;
    strategy.sp = tp > 1;
    strategy.tp_overlap = tp > 1;
    strategy.dp = dp;
    strategy.micro_batch = micro_batch;
    strategy.global_batch = 8 * dp * micro_batch;
    strategy.sharding = RK_SHARD_OPTIMIZER;
    assert_true(rk_strategy_legal(s->model, s->system, &strategy, s->framework, NULL));
    return strategy;
}

static rk_fit_changes find(const rk_setting *s, const rk_strategy *from)
{
    rk_fit_changes changes;
    rk_error err;
    assert_int_equal(rk_find_fit_changes(s, from, &changes, &err), RK_OK);
    return changes;
}

/* Moments of Adam in one or two bytes each, next to a master copy of four. */
static void test_words_of_states(void **state)
{
    static const struct {
        double bytes;
        const char *words;
    } cases[] = {{8, "optimizer moments in bf16"}, {6, "optimizer moments in 8 bits"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_strategy from = {.states.optimizer = 12};
        rk_fit_change change = {.strategy = from, .kinds = RK_CHANGE_STATES};
        char text[RK_FIT_CHANGE_TEXT];
        change.strategy.states.optimizer = cases[i].bytes;
        assert_string_equal(rk_fit_change_text(&from, &change, text), cases[i].words);
    }
}

/* A change of one field is of one kind, and of none where the degree that it goes with changes too.
 */
static void test_kinds(void **state)
{
    static const struct {
        rk_strategy other;
        unsigned kind;
    } cases[] = {
        {{.recompute = RK_REC_FULL}, RK_CHANGE_RECOMPUTE},
        {{.recompute_modules = RK_MODULE_NORM}, RK_CHANGE_RECOMPUTE},
        {{.recompute_layers = 1}, RK_CHANGE_RECOMPUTE},
        {{.sharding = RK_SHARD_ALL}, RK_CHANGE_ZERO},
        {{.micro_batch = 2}, RK_CHANGE_MICRO_BATCH},
        {{.tp = 2}, RK_CHANGE_TP},
        {{.pp = 2}, RK_CHANGE_PP},
        {{.vp = 2}, RK_CHANGE_PP},
        {{.cp = 2}, RK_CHANGE_CP},
        {{.ep = 2}, RK_CHANGE_EP},
        {{.etp = 2}, RK_CHANGE_EP},
        {{.offload_optimizer = true}, RK_CHANGE_OFFLOAD},
        {{.offload_activations = true}, RK_CHANGE_OFFLOAD},
        {{.offload_weights = true}, RK_CHANGE_OFFLOAD},
        {{.states.gradient = 4}, RK_CHANGE_STATES},
        {{.states.optimizer = 8}, RK_CHANGE_STATES},
        {{.precision = RK_FP8}, RK_CHANGE_PRECISION},
        {{.low_weights = true}, RK_CHANGE_PRECISION},
        {{.tp_overlap = true}, RK_CHANGE_OVERLAP},
        {{.grad_overlap = true}, RK_CHANGE_OVERLAP},
        {{.param_overlap = true}, RK_CHANGE_OVERLAP},
        {{.pp_overlap = true}, RK_CHANGE_OVERLAP},
        {{.moe_overlap = true}, RK_CHANGE_OVERLAP},
        {{.sp = true}, RK_CHANGE_SP},
        {{.schedule = RK_SCHEDULE_ZB_H1}, RK_CHANGE_SCHEDULE},
        {{.graph_capture = true}, RK_CHANGE_KERNELS},
        {{.flash_attention = true}, RK_CHANGE_KERNELS},
        {{.expandable_segments = true}, RK_CHANGE_ALLOCATOR},
        {{.tp = 2, .sp = true, .tp_overlap = true, .grad_overlap = true}, RK_CHANGE_TP},
        {{.pp = 2, .schedule = RK_SCHEDULE_ZB_H1}, RK_CHANGE_PP},
        {{.vp = 2, .schedule = RK_SCHEDULE_ZB_H1}, RK_CHANGE_PP},
        {{.cp = 2, .sp = true}, RK_CHANGE_CP | RK_CHANGE_SP},
    };
    const rk_strategy none = {.tp = 0};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(rk_change_kinds(&none, &cases[i].other), cases[i].kind);
        assert_int_equal(rk_change_kinds(&cases[i].other, &none), cases[i].kind);
    }
    assert_int_equal(rk_change_kinds(&none, &none), 0);
}

/* What a change is called, from a strategy whose degrees are 2. */
static void test_words(void **state)
{
    static const rk_strategy from = {.tp = 2,
                                     .cp = 2,
                                     .pp = 2,
                                     .vp = 2,
                                     .ep = 2,
                                     .etp = 2,
                                     .dp = 2,
                                     .micro_batch = 2,
                                     .sharding = RK_SHARD_OPTIMIZER,
                                     .schedule = RK_SCHEDULE_INTERLEAVED,
                                     .precision = RK_BF16,
                                     .states = {.gradient = 4, .optimizer = 12}};
#define TO(words, ...)                                                                             \
    do {                                                                                           \
        rk_strategy to = from;                                                                     \
        __VA_ARGS__;                                                                               \
        const rk_fit_change change = {.kinds = rk_change_kinds(&from, &to), .strategy = to};       \
        char text[RK_FIT_CHANGE_TEXT];                                                             \
        assert_string_equal(rk_fit_change_text(&from, &change, text), words);                      \
    } while (0)
    (void)state;
    TO("", (void)0);
    TO("", to.dp = 4);
    TO("TP 2 to 4", to.tp = 4);
    TO("CP 2 to 1", to.cp = 1);
    TO("PP 2 to 4", to.pp = 4);
    TO("VP 2 to 1", to.vp = 1);
    TO("EP 2 to 4", to.ep = 4);
    TO("ETP 2 to 1", to.etp = 1);
    TO("micro-batch 2 to 1", to.micro_batch = 1);
    TO("ZeRO 1 to 3", to.sharding = RK_SHARD_ALL);
    TO("TP 2 to 4, CP 2 to 4, PP 2 to 4", to.tp = to.cp = to.pp = 4);
    TO("recompute full", to.recompute = RK_REC_FULL);
    TO("recompute full of 1 layer", to.recompute = RK_REC_FULL; to.recompute_layers = 1);
    TO("recompute full of 2 layers", to.recompute = RK_REC_FULL; to.recompute_layers = 2);
    TO("recompute norm+moe", to.recompute = RK_REC_SELECTIVE;
       to.recompute_modules = RK_MODULE_NORM | RK_MODULE_MOE);
    TO("offload optimizer", to.offload_optimizer = true);
    TO("offload activations", to.offload_activations = true);
    TO("overlap tp", to.tp_overlap = true);
    TO("overlap grad+param", to.grad_overlap = to.param_overlap = true);
    TO("sequence parallelism", to.sp = true);
    TO("schedule zb-v", to.schedule = RK_SCHEDULE_ZB_V);
    TO("CUDA graphs", to.graph_capture = true);
    TO("fused attention", to.flash_attention = true);
    TO("expandable segments", to.expandable_segments = true);
    TO("gradients in bf16", to.states.gradient = 2);
    TO("gradients in bf16, optimizer moments in bf16", to.states.gradient = 2;
       to.states.optimizer = 8);
    TO("fp8", to.precision = RK_FP8);
    TO("fp8, weights held in it", to.precision = RK_FP8; to.low_weights = true);
    TO("ETP 2 to 1, ZeRO 1 to 2, recompute full, offload weights, expandable segments, fp8",
       to.etp = 1;
       to.sharding = RK_SHARD_GRADIENTS; to.recompute = RK_REC_FULL; to.offload_weights = true;
       to.expandable_segments = true; to.precision = RK_FP8);
#undef TO
}

struct words {
    const rk_strategy *from;
    int layers; /* changes to full recomputation of a number of layers */
    char text[2048];
};

static void add_words(void *user, const rk_strategy *changed)
{
    struct words *w = user;
    const rk_fit_change change = {.kinds = rk_change_kinds(w->from, changed), .strategy = *changed};
    char text[RK_FIT_CHANGE_TEXT];
    const size_t used = strlen(w->text);
    assert_true(changed->recompute == RK_REC_FULL || changed->recompute_layers == 0);
    if (changed->recompute_layers > 0 && change.kinds == RK_CHANGE_RECOMPUTE) {
        w->layers++;
        return;
    }
    const int length = snprintf(w->text + used, sizeof(w->text) - used, "%s%s", used ? "; " : "",
                                rk_fit_change_text(w->from, &change, text));
    assert_true(used + (size_t)length < sizeof(w->text));
}

/* All changes of a strategy, in words. */
static void check_neighbours(const rk_setting *s, const rk_strategy *from, int layers,
                             const char *expected)
{
    static struct words w;
    w = (struct words){.from = from};
    assert_true(rk_strategy_legal(s->model, s->system, from, s->framework, NULL));
    rk_visit_changes(s, from, add_words, &w);
    assert_string_equal(w.text, expected);
    assert_int_equal(w.layers, layers);
}

/* The strategies one change away: degrees halved and doubled, recomputation, then states. */
static void test_neighbours(void **state)
{
    struct inputs in;
    rk_setting s = setting_of(&in, "llama3-8b", 79.1);
    rk_strategy from = strategy_of(&s, 2, 4, 2);
    (void)state;
    from.pp = 2; /* 16 layers in a chunk: all, or 1 to 15 of them */
    check_neighbours(&s, &from, 15,
                     "TP 2 to 1; TP 2 to 4; PP 2 to 1; PP 2 to 4; CP 1 to 2; ETP 1 to 2; "
                     "micro-batch 2 to 1; micro-batch 2 to 4; VP 1 to 2; recompute core_attn; "
                     "recompute norm; recompute mlp; recompute moe; recompute full; ZeRO 1 to 0; "
                     "offload optimizer; offload activations; expandable segments; gradients in "
                     "bf16; optimizer moments in bf16; optimizer moments in 8 bits; fp8; fp8, "
                     "weights held in it");

    from = strategy_of(&s, 1, 7, 1); /* one rank of each, and an odd number */
    from.expandable_segments = true;
    from.sharding = RK_SHARD_NONE; /* moments are narrow where they are sharded */
    from.states.gradient = from.states.reduce = 2;
    from.precision = RK_FP16;
    from.recompute = RK_REC_SELECTIVE;
    from.recompute_modules = RK_MODULE_NORM | RK_MODULE_MLP | RK_MODULE_MOE;
    check_neighbours(&s, &from, 31,
                     "micro-batch 1 to 2; recompute none; recompute core_attn+norm+mlp+moe; "
                     "recompute full; ZeRO 0 to 1; ZeRO 0 to 2; ZeRO 0 to 3; offload optimizer; "
                     "offload activations; fp8");
}

/* What goes with a degree changes with it. */
static void check_settled(void *user, const rk_strategy *changed)
{
    const rk_strategy *from = user;
    const bool tensor = from->tp == 1 || changed->tp == 1,
               pipeline = from->pp == 1 || changed->pp == 1;
    assert_int_equal(changed->sp, tensor ? changed->tp > 1 : from->sp);
    assert_true(changed->sp || !changed->tp_overlap);
    assert_true(!pipeline || changed->vp == 1);
    if (pipeline && changed->pp * from->pp > 1) {
        assert_int_equal(changed->schedule, RK_SCHEDULE_1F1B);
    }
}

static void test_settled(void **state)
{
    static const struct {
        int64_t tp, pp, vp;
        rk_schedule_kind schedule;
    } cases[] = {
        {1, 1, 1, RK_SCHEDULE_GPIPE}, {1, 2, 1, RK_SCHEDULE_ZB_H1},
        {2, 1, 1, RK_SCHEDULE_1F1B},  {2, 2, 4, RK_SCHEDULE_INTERLEAVED},
        {4, 2, 1, RK_SCHEDULE_1F1B},
    };
    struct inputs in;
    rk_setting s = setting_of(&in, "llama3-8b", 79.1);
    (void)state;
    s.framework = RK_FRAMEWORK_ANY;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_strategy from = strategy_of(&s, cases[i].tp, 4, 1);
        from.pp = cases[i].pp;
        from.vp = cases[i].vp;
        from.schedule = cases[i].schedule;
        rk_visit_changes(&s, &from, check_settled, &from);
    }
}

/* The same of a mixture of experts whose ranks have many chunks, already in fp8. */
static void test_neighbours_of_experts(void **state)
{
    struct inputs in;
    rk_setting s = setting_of(&in, "qwen3-30b-a3b", 79.1);
    rk_strategy from = strategy_of(&s, 2, 8, 1);
    (void)state;
    from.pp = 2;
    from.vp = 4;
    from.schedule = RK_SCHEDULE_INTERLEAVED;
    from.ep = 4;
    from.recompute = RK_REC_FULL; /* 2 of 6 layers in a chunk: all, 1, 3, 4 or 5 of them */
    from.recompute_layers = 2;
    from.expandable_segments = true;
    from.offload_activations = true;
    from.states.gradient = from.states.reduce = 2;
    from.precision = RK_FP8;
    check_neighbours(&s, &from, 4,
                     "TP 2 to 1; TP 2 to 4; PP 2 to 1, VP 4 to 1; PP 2 to 4; CP 1 to 2; EP 4 to 2; "
                     "EP 4 to 8; ETP 1 to 2; micro-batch 1 to 2; VP 4 to 2; VP 4 to 8; PP 2 to 4, "
                     "VP 4 to 2; recompute none; recompute core_attn; recompute norm; recompute "
                     "act; recompute mlp; recompute moe; recompute full; ZeRO 1 to 0; offload "
                     "optimizer+activations; offload none; optimizer moments in bf16; optimizer "
                     "moments in 8 bits; fp8, weights held in it");
}

/* Sequence parallelism is offered with the overlap that needs it. */
static void test_gains(void **state)
{
    struct inputs in;
    const rk_setting s = setting_of(&in, "llama3-8b", 79.1);
    rk_strategy from = strategy_of(&s, 8, 2, 4);
    static rk_gains gains;
    rk_estimate now;
    rk_error err;
    bool both = false;
    (void)state;
    from.sp = from.tp_overlap = false;
    assert_int_equal(rk_predict_estimate(&s, &from, &now, NULL, &err), RK_OK);
    assert_int_equal(rk_find_gains(&s, &from, &now, &gains, &err), RK_OK);
    for (size_t i = 0; i < gains.changes.count; i++) {
        both = both || gains.changes.items[i].kinds == (RK_CHANGE_SP | RK_CHANGE_OVERLAP);
    }
    assert_true(both);
}

/* Parameters are gathered behind compute with gradients only: both are offered together. */
static void test_overlaps(void **state)
{
    struct inputs in;
    const rk_setting s = setting_of(&in, "llama3-8b", 79.1);
    rk_strategy from = strategy_of(&s, 1, 8, 1);
    static rk_gains gains;
    rk_estimate now;
    rk_error err;
    bool both = false;
    (void)state;
    from.recompute = RK_REC_FULL; /* fits */
    from.grad_overlap = from.param_overlap = false;
    assert_int_equal(rk_predict_estimate(&s, &from, &now, NULL, &err), RK_OK);
    assert_int_equal(rk_find_gains(&s, &from, &now, &gains, &err), RK_OK);
    for (size_t i = 0; i < gains.changes.count; i++) {
        const rk_strategy *to = &gains.changes.items[i].strategy;
        both = both || (to->grad_overlap && to->param_overlap);
    }
    assert_true(both);
}

/* The flags of a change, and the same as advice; a framework without launch files has words. */
static void test_flags(void **state)
{
    struct inputs in;
    rk_setting s = setting_of(&in, "llama3-8b", 79.1);
    const rk_strategy from = strategy_of(&s, 2, 4, 16);
#define FLAGS(set_, unset_, text_, ...)                                                            \
    do {                                                                                           \
        rk_strategy to = from;                                                                     \
        rk_flag_changes changes;                                                                   \
        rk_error err;                                                                              \
        char text[RK_FLAG_CHANGE_TEXT];                                                            \
        __VA_ARGS__;                                                                               \
        const rk_fit_change change = {.kinds = rk_change_kinds(&from, &to), .strategy = to};       \
        assert_int_equal(rk_find_flag_changes(&s, &from, &to, &changes, &err), RK_OK);             \
        assert_string_equal(changes.set, set_);                                                    \
        assert_string_equal(changes.unset, unset_);                                                \
        assert_int_equal(rk_flag_change_text(&s, &from, &change, text, &err), RK_OK);              \
        assert_string_equal(text, text_);                                                          \
    } while (0)
    (void)state;
    FLAGS("", "", "", (void)0);
    /* 1 is another value than 16, which begins with it */
    FLAGS("--micro-batch-size 1", "", "--micro-batch-size 1", to.micro_batch = 1);
    FLAGS("", "--sequence-parallel --tp-comm-overlap",
          "without --sequence-parallel, without --tp-comm-overlap", to.sp = to.tp_overlap = false);
    FLAGS("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", "",
          "--recompute-granularity full, --recompute-method uniform, --recompute-num-layers 1",
          to.recompute = RK_REC_FULL);
    /* parameters are gathered of the distributed optimizer alone */
    FLAGS(
        "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
        "--sequence-parallel --tp-comm-overlap --use-distributed-optimizer --overlap-param-gather",
        "--recompute-granularity full, --recompute-method uniform, --recompute-num-layers 1, "
        "without --sequence-parallel, without --tp-comm-overlap, without "
        "--use-distributed-optimizer, without --overlap-param-gather",
        to.recompute = RK_REC_FULL;
        to.sp = to.tp_overlap = false; to.sharding = RK_SHARD_NONE);
    /* one rank overlaps nothing with others */
    FLAGS("--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2",
          "--overlap-grad-reduce --overlap-param-gather",
          "--tensor-model-parallel-size 4, --pipeline-model-parallel-size 2, without "
          "--overlap-grad-reduce, without --overlap-param-gather",
          to.tp = 4;
          to.pp = 2; to.dp = 1);
    FLAGS("--fp8-format hybrid --fp8-recipe tensorwise", "",
          "--fp8-format hybrid, --fp8-recipe tensorwise", to.precision = RK_FP8);
    s.framework = RK_FRAMEWORK_PRIMUS; /* on Megatron's */
    FLAGS("--micro-batch-size 1", "", "--micro-batch-size 1", to.micro_batch = 1);
    s.framework = RK_FRAMEWORK_MINDSPEED;
    FLAGS("--micro-batch-size 1", "", "--micro-batch-size 1", to.micro_batch = 1);
    s.framework = RK_FRAMEWORK_MAXTEXT;
    FLAGS("", "", "", (void)0);
    FLAGS("micro-batch 16 to 1, ZeRO 1 to 3", "", "micro-batch 16 to 1, ZeRO 1 to 3",
          to.micro_batch = 1;
          to.sharding = RK_SHARD_ALL);
#undef FLAGS
}

/* Everything that is promised of a list of changes. */
static void check(const rk_setting *s, const rk_strategy *from, const rk_fit_changes *changes)
{
    rk_error err;
    for (size_t i = 0; i < changes->count; i++) {
        const rk_fit_change *c = &changes->items[i];
        rk_estimate estimate;
        char text[RK_FIT_CHANGE_TEXT];
        assert_true(c->kinds != 0);
        assert_int_equal(c->kinds, rk_change_kinds(from, &c->strategy));
        assert_int_equal(rk_strategy_ranks(&c->strategy), rk_strategy_ranks(from));
        assert_int_equal(c->strategy.global_batch, from->global_batch);
        assert_true(rk_strategy_legal(s->model, s->system, &c->strategy, s->framework, NULL));
        assert_int_equal(rk_estimate_exact(s, &c->strategy, &estimate, NULL, &err), RK_OK);
        assert_true(estimate.fits);
        assert_true(estimate.step == c->estimate.step);
        assert_true(i == 0 || c->estimate.step >= changes->items[i - 1].estimate.step);
        assert_true(strlen(rk_fit_change_text(from, c, text)) > 0);
        for (size_t j = 0; j < i; j++) {
            assert_true(changes->items[j].kinds != c->kinds);
        }
    }
}

static const rk_fit_change *of_kinds(const rk_fit_changes *changes, unsigned kinds)
{
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->items[i].kinds == kinds) {
            return &changes->items[i];
        }
    }
    return NULL;
}

/* A little too much: each kind of change is enough, and the list holds many. */
static void test_single_changes(void **state)
{
    struct inputs in;
    rk_estimate estimate;
    rk_error err;
    (void)state;
    rk_setting s = setting_of(&in, "llama3-8b", 79);
    const rk_strategy from = strategy_of(&s, 2, 4, 1);
    assert_int_equal(rk_estimate_exact(&s, &from, &estimate, NULL, &err), RK_OK);
    in.system.accelerator.memory_usable = 0.98 * estimate.memory.total;
    const rk_fit_changes changes = find(&s, &from);
    check(&s, &from, &changes);
    assert_true(changes.count >= 6);
    const rk_fit_change *recompute = of_kinds(&changes, RK_CHANGE_RECOMPUTE);
    assert_non_null(recompute);
    assert_non_null(of_kinds(&changes, RK_CHANGE_ZERO));
    assert_non_null(of_kinds(&changes, RK_CHANGE_TP));
    assert_non_null(of_kinds(&changes, RK_CHANGE_STATES));
    assert_non_null(of_kinds(&changes, RK_CHANGE_OFFLOAD));
    char text[RK_FIT_CHANGE_TEXT];
    assert_non_null(strstr(rk_fit_change_text(&from, recompute, text), "recompute "));
    assert_string_equal(rk_fit_change_text(&from, of_kinds(&changes, RK_CHANGE_TP), text),
                        "TP 2 to 4");
    /* the recomputation is the fastest of its kind: any other that fits takes as long at least */
    rk_strategy full = from;
    full.recompute = RK_REC_FULL;
    assert_int_equal(rk_estimate_exact(&s, &full, &estimate, NULL, &err), RK_OK);
    assert_true(estimate.fits && recompute->estimate.step < estimate.step);
}

/* Far too much: two changes together. */
static void test_pairs(void **state)
{
    struct inputs in;
    (void)state;
    rk_setting s = setting_of(&in, "llama3-8b", 60);
    const rk_strategy from = strategy_of(&s, 1, 8, 2);
    const rk_fit_changes changes = find(&s, &from);
    check(&s, &from, &changes);
    assert_true(changes.count > 0);
    for (size_t i = 0; i < changes.count; i++) { /* pairs, or one kind twice */
        const unsigned kinds = changes.items[i].kinds, rest = kinds & (kinds - 1);
        assert_int_equal(rest & (rest - 1), 0);
    }
    s.risk = 1e-300; /* nothing is within it: all that fits is listed */
    const rk_fit_changes risky = find(&s, &from);
    assert_int_equal(risky.count, changes.count);
    for (size_t i = 0; i < risky.count; i++) {
        assert_int_equal(risky.items[i].kinds, changes.items[i].kinds);
    }
}

/* Hopeless: nothing is listed. */
static void test_none(void **state)
{
    struct inputs in;
    (void)state;
    rk_setting s = setting_of(&in, "llama3-70b", 4);
    const rk_strategy from = strategy_of(&s, 8, 1, 1);
    assert_int_equal(find(&s, &from).count, 0);
}

/* What a framework or a machine does not have is not listed. */
static void test_legal(void **state)
{
    struct inputs in;
    (void)state;
    rk_setting s = setting_of(&in, "llama3-8b", 70);
    const rk_strategy from = strategy_of(&s, 2, 4, 1);
    in.system.accelerator.gemm[RK_FP8].peak = 0;
    rk_fit_changes changes = find(&s, &from);
    for (size_t i = 0; i < changes.count; i++) {
        assert_int_equal(changes.items[i].kinds & RK_CHANGE_PRECISION, 0);
    }
    s.framework = RK_FRAMEWORK_DEEPSPEED;
    rk_strategy plain = from;
    plain.sp = plain.tp_overlap = false;
    changes = find(&s, &plain);
    for (size_t i = 0; i < changes.count; i++) {
        assert_int_equal(changes.items[i].kinds & RK_CHANGE_STATES, 0);
    }
}

static void test_fewest(void **state)
{
    struct inputs in;
    rk_planned_strategy planned, again;
    rk_plan_counts counts;
    rk_error err;
    int64_t fewest;
    size_t found;
    (void)state;
    const rk_setting s = setting_of(&in, "llama3-70b", 79);
    rk_plan_space space = rk_plan_space_defaults(s.model, s.system, 64, 48);
    space.framework = RK_FRAMEWORK_MEGATRON;
    space.offloads = RK_PLAN_NO_OFFLOAD;
    assert_int_equal(rk_find_fewest_accelerators(s.model, s.system, s.stack, &space, NULL, &fewest,
                                                 &planned, &err),
                     RK_OK);
    assert_true(fewest > 8 && fewest <= 32);
    assert_int_equal(rk_strategy_ranks(&planned.strategy), fewest);
    assert_true(planned.estimate.fits);
    /* on one node less nothing fits, whatever is chosen */
    space.accelerators = fewest - 8;
    assert_int_equal(rk_plan_search(s.model, s.system, s.stack, &space, NULL, 1, &again, &found,
                                    NULL, &counts, &err),
                     RK_OK);
    assert_true(counts.legal > 0);
    assert_int_equal(counts.fitting, 0);

    /* without a batch, each accelerator has its own microbatch, of the pinned size */
    space.global_batch = 0;
    space.micro_batch = (rk_choices){1, {2}};
    assert_int_equal(rk_find_fewest_accelerators(s.model, s.system, s.stack, &space, NULL, &fewest,
                                                 &planned, &err),
                     RK_OK);
    assert_int_equal(planned.strategy.global_batch, 2 * fewest);
    assert_int_equal(planned.strategy.micro_batch, 2);

    in.system.accelerator.memory_usable = 1 * GIB; /* less than a layer with its states */
    space.global_batch = 1;
    assert_int_equal(rk_find_fewest_accelerators(s.model, s.system, s.stack, &space, NULL, &fewest,
                                                 &planned, &err),
                     RK_OK);
    assert_int_equal(fewest, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_states),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_neighbours_of_experts),
        cmocka_unit_test(test_gains),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_single_changes),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_legal),
        cmocka_unit_test(test_fewest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
