/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of strategies, strategies one choice away, and what hardware is worth. */
#include "io/json.h"
#include "method/estimate_explain.h"
#include "method/estimate_fields.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../io/scratch.h"
#include "base/units.h"
#include "layer/model_load.h"

struct inputs {
    rk_model model;
    rk_system system;
    rk_stack stack;
};

static rk_setting setting_of(struct inputs *in, const char *model, const char *system)
{
    rk_error err;
    char text[512];
    if (rk_model_load(model, &in->model, &err) || rk_system_load(system, &in->system, &err) ||
        rk_stack_load("megatron-2025", &in->stack, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
    return (rk_setting){.model = &in->model,
                        .system = &in->system,
                        .stack = &in->stack,
                        .framework = RK_FRAMEWORK_MEGATRON,
                        .convention = RK_FLOPS_MEGATRON};
}

static rk_strategy strategy_of(const rk_setting *s, int64_t tp, int64_t pp, int64_t dp, int64_t ep)
{
    rk_strategy strategy = rk_strategy_defaults(s->model);
    strategy.tp = tp;
    strategy.sp = tp > 1;
    strategy.pp = pp;
    strategy.dp = dp;
    strategy.ep = ep;
    strategy.global_batch = 8 * pp * dp;
    strategy.sharding = RK_SHARD_OPTIMIZER;
    assert_true(rk_strategy_legal(s->model, s->system, &strategy, s->framework, NULL));
    return strategy;
}

/* ---- fields -------------------------------------------------------------------------------- */

static void test_fields(void **state)
{
    (void)state;
    struct inputs in;
    const rk_setting s = setting_of(&in, "deepseek-v3", "h100-sxm");
    rk_strategy a = strategy_of(&s, 2, 1, 64, 8), b = a;
    char text[RK_STRATEGY_TEXT_SIZE], changes[256];
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(rk_strategy_key(i), rk_strategy_key(j));
        }
        assert_true(strlen(rk_strategy_text(&a, i, text)) > 0);
        assert_true(rk_strategy_same(&a, &b, i));
    }
    assert_string_equal(rk_strategy_changes(&a, &b, changes, sizeof(changes)), "");
    b.tp = 4;
    b.dp = 32;
    b.recompute = RK_REC_SELECTIVE;
    b.recompute_modules = RK_MODULE_NORM | RK_MODULE_MOE;
    b.offload_weights = b.offload_optimizer = true;
    assert_string_equal(rk_strategy_changes(&a, &b, changes, sizeof(changes)),
                        "TP 4 (was 2), DP 32 (was 64), recompute selective (was none), "
                        "modules norm+moe (was none), offload optimizer+weights (was none)");
    /* a text that does not fit is cut */
    assert_true(strlen(rk_strategy_changes(&a, &b, changes, 12)) == 11);
}

/* The document is JSON without a key twice, and its parts add up in full. */
static void test_document(void **state)
{
    (void)state;
    struct inputs in;
    const rk_setting s = setting_of(&in, "llama3-8b", "h100-sxm");
    const rk_strategy strategy = strategy_of(&s, 2, 2, 2, 1);
    scratch files;
    rk_error err;
    rk_estimate e;
    rk_stage_memory stages[2];
    rk_out *out;
    rk_json_doc doc;
    assert_true(scratch_make(&files));
    const char *path = scratch_path(&files, "answer.json");
    assert_int_equal(rk_estimate_exact(&s, &strategy, &e, stages, &err), RK_OK);
    assert_int_equal(rk_out_open(path, &out, &err), RK_OK);
    rk_json_writer writer = {.out = out, .indented = true};
    rk_json_open(&writer, "{");
    rk_strategy_write_json(&writer, &strategy);
    rk_estimate_write_json(&writer, &strategy, &e);
    rk_stages_write_json(&writer, stages, 2, e.usable);
    rk_json_close(&writer, "}");
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    assert_int_equal(rk_json_load(path, NULL, &doc, &err), RK_OK);
    scratch_remove(&files);

    const json_t *estimate = json_object_get(doc.root, "estimate"), *stage;
    const char *key;
    json_t *part;
    size_t i;
    double sum = 0;
    json_object_foreach(json_object_get(estimate, "time_s"), key, part)
    {
        sum += json_number_value(part);
    }
    assert_true(fabs(sum - e.step) <= 1e-12 * e.step);
    assert_true(json_number_value(json_object_get(estimate, "step_s")) == e.step);
    assert_int_equal(json_array_size(json_object_get(doc.root, "stages")), 2);
    json_array_foreach(json_object_get(doc.root, "stages"), i, stage)
    {
        sum = 0;
        json_object_foreach(json_object_get(stage, "parts_bytes"), key, part)
        {
            sum += json_number_value(part);
        }
        assert_true(fabs(sum - stages[i].total) <= 1e-12 * sum);
    }
    rk_json_clear(&doc);
}

/* ---- changes ------------------------------------------------------------------------------- */

struct survey {
    const rk_setting *setting;
    const rk_strategy *from;
    int count, fitting;
    double fastest;
};

static void look(void *user, const rk_strategy *changed)
{
    struct survey *v = user;
    const rk_setting *s = v->setting;
    rk_estimate e;
    char changes[512];
    assert_true(rk_strategy_legal(s->model, s->system, changed, s->framework, NULL));
    assert_int_equal(rk_strategy_ranks(changed), rk_strategy_ranks(v->from));
    assert_int_equal(changed->global_batch, v->from->global_batch);
    assert_true(rk_strategy_changes(v->from, changed, changes, sizeof(changes))[0]);
    assert_int_equal(rk_estimate_step(s->model, s->system, s->stack, changed, s->convention, &e),
                     RK_OK);
    if (e.fits) {
        v->fastest = v->fitting++ && v->fastest < e.step ? v->fastest : e.step;
    }
    v->count++;
}

/* How many changes it takes to fit. */
static int changes_to_fit(const rk_setting *s, const rk_strategy *from, int most,
                          rk_strategy *changed, rk_estimate *e)
{
    rk_error err;
    int changes;
    assert_int_equal(rk_change_to_fit(s, from, most, &changes, changed, e, &err), RK_OK);
    return changes;
}

/* Every change is legal and a change, and the remedy is the fastest of those that fit. */
static void test_changes(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t tp, pp, dp, ep;
    } cases[] = {
        {"llama3-8b", 1, 1, 8, 1},    {"llama3-70b", 8, 1, 2, 1},    {"llama3-70b", 4, 4, 2, 1},
        {"mixtral-8x7b", 1, 1, 8, 4}, {"llama3.1-405b", 8, 9, 4, 1}, {"qwen3-30b-a3b", 2, 2, 8, 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct inputs in;
        const rk_setting s = setting_of(&in, cases[i].model, "h100-sxm");
        const rk_strategy from =
            strategy_of(&s, cases[i].tp, cases[i].pp, cases[i].dp, cases[i].ep);
        for (double gib = 20; gib <= 160; gib *= 2) {
            struct survey v = {.setting = &s, .from = &from};
            rk_strategy changed;
            rk_estimate e;
            in.system.accelerator.memory_usable = gib * GIB;
            rk_changes_each(&s, &from, look, &v);
            assert_true(v.count > 10);
            const int changes = changes_to_fit(&s, &from, 1, &changed, &e);
            assert_int_equal(changes, v.fitting > 0);
            if (changes) {
                assert_true(e.fits && e.memory.total <= gib * GIB);
                assert_true(e.step == v.fastest);
            }
        }
    }
}

static void test_two_changes(void **state)
{
    (void)state;
    struct inputs in;
    const rk_setting s = setting_of(&in, "llama3-70b", "h100-sxm");
    const rk_strategy from = strategy_of(&s, 1, 1, 16, 1);
    rk_strategy changed;
    rk_estimate e;
    int most = 0;
    /* down from where one change is enough to where no two are */
    for (double gib = 640; gib > 4; gib /= 1.2) {
        in.system.accelerator.memory_usable = gib * GIB;
        const int one = changes_to_fit(&s, &from, 1, &changed, &e);
        const int two = changes_to_fit(&s, &from, 2, &changed, &e);
        assert_true(one == 0 || two == 1);
        assert_true(two == 0 || e.fits);
        most = two > most ? two : most;
    }
    assert_int_equal(most, 2);
    assert_int_equal(changes_to_fit(&s, &from, 2, &changed, &e), 0);
}

/* ---- sensitivities ------------------------------------------------------------------------- */

static double worth(const rk_sensitivity *list, size_t count, const char *key, double step)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].key, key) == 0) {
            return (step - list[i].step) / step;
        }
    }
    fail_msg("no %s", key);
    return 0;
}

/* Fills the sensitivities of a strategy and returns their number. */
static size_t sensitivities_of(const rk_setting *s, const rk_strategy *strategy, double step,
                               rk_sensitivity list[RK_SENSITIVITY_MAX])
{
    rk_sensitivities found;
    rk_error err;
    assert_int_equal(rk_find_sensitivities(s, strategy, step, &found, &err), RK_OK);
    memcpy(list, found.items, found.count * sizeof(*list));
    return found.count;
}

static void test_sensitivities(void **state)
{
    (void)state;
    struct inputs in;
    const rk_setting s = setting_of(&in, "llama3-70b", "h100-sxm");
    const rk_strategy strategy = strategy_of(&s, 8, 2, 4, 1);
    rk_sensitivity list[RK_SENSITIVITY_MAX];
    rk_estimate e;
    rk_estimate_step(s.model, s.system, s.stack, &strategy, s.convention, &e);
    const size_t count = sensitivities_of(&s, &strategy, e.step, list);
    assert_int_equal(count, 5 + 2 * in.system.tier_count);
    for (size_t i = 0; i < count; i++) {
        assert_true(list[i].step <= e.step * (1 + 1e-9));
        assert_true(i == 0 || list[i].step >= list[i - 1].step);
    }
    /* matrix multiplication at most takes 1/11 less, and here it is most of the step */
    const double matrix = worth(list, count, "matrix_peak", e.step);
    assert_true(matrix > 0.04 && matrix < 1.0 / 11);
    assert_true(worth(list, count, "memory_bandwidth", e.step) > 0);
    assert_true(worth(list, count, "tier0_bandwidth", e.step) > 0);
    assert_true(worth(list, count, "host_bandwidth", e.step) == 0);
}

/* More memory is worth what a strategy that needs it is faster. */
static void test_memory_capacity(void **state)
{
    (void)state;
    struct inputs in;
    const rk_setting s = setting_of(&in, "llama3-8b", "h100-sxm");
    rk_strategy strategy = strategy_of(&s, 1, 1, 8, 1), full = strategy;
    rk_sensitivity list[RK_SENSITIVITY_MAX];
    rk_estimate plain, e;
    full.recompute = RK_REC_FULL;
    rk_estimate_step(s.model, s.system, s.stack, &strategy, s.convention, &plain);
    rk_estimate_step(s.model, s.system, s.stack, &full, s.convention, &e);
    in.system.accelerator.memory_usable = plain.memory.total / 1.05;
    size_t count = sensitivities_of(&s, &full, e.step, list);
    assert_true(worth(list, count, "memory_capacity", e.step) > 0);
    in.system.accelerator.memory_usable = plain.memory.total * 4;
    rk_estimate_step(s.model, s.system, s.stack, &strategy, s.convention, &e);
    count = sensitivities_of(&s, &strategy, e.step, list);
    assert_true(worth(list, count, "memory_capacity", e.step) == 0);
}

/* It is worth nothing where the host cannot hold what such a strategy puts there. */
static void test_host_capacity(void **state)
{
    (void)state;
    struct inputs in;
    const rk_setting s = setting_of(&in, "llama3-8b", "h100-sxm");
    rk_strategy plain = strategy_of(&s, 1, 1, 8, 1), full;
    rk_sensitivity list[RK_SENSITIVITY_MAX];
    rk_estimate much, little;
    double gain[2];
    in.system.accelerator.host_bandwidth = 1e15; /* copies take no time */
    plain.offload_activations = true;
    full = plain;
    full.recompute = RK_REC_FULL;
    rk_estimate_step(s.model, s.system, s.stack, &plain, s.convention, &much);
    rk_estimate_step(s.model, s.system, s.stack, &full, s.convention, &little);
    in.system.accelerator.memory_usable = much.memory.total / 1.05;
    for (int enough = 0; enough < 2; enough++) {
        in.system.accelerator.host_capacity = enough ? much.host_bytes : little.host_bytes;
        const size_t count = sensitivities_of(&s, &full, little.step, list);
        gain[enough] = worth(list, count, "memory_capacity", little.step);
    }
    assert_true(gain[0] == 0);
    assert_true(gain[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_capacity),   cmocka_unit_test(test_fields),
        cmocka_unit_test(test_document),        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_two_changes),     cmocka_unit_test(test_sensitivities),
        cmocka_unit_test(test_memory_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
