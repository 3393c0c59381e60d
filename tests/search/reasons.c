/* SPDX-License-Identifier: Apache-2.0 */
/* Why nothing is legal: the rule to blame, what nothing divides, and the nearest legal values. */
#include "search/reasons.h"
#include "models.h"
#include "stack/stack_doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static rk_system load_system(void)
{
    rk_system system;
    rk_error err;
    assert_int_equal(rk_system_load("dgx-h100-superpod", &system, &err), RK_OK);
    return system;
}

static rk_reasons find(const rk_model *model, const rk_system *system, const rk_plan_space *space)
{
    rk_reasons reasons;
    rk_error err;
    assert_int_equal(rk_plan_find_reasons(model, system, space, &reasons, &err), RK_OK);
    return reasons;
}

static const rk_help *help_of(const rk_reasons *reasons, rk_help_kind kind)
{
    for (int i = 0; i < reasons->help_count; i++) {
        if (reasons->helps[i].kind == kind) {
            return &reasons->helps[i];
        }
    }
    return NULL;
}

static uint64_t count_legal(const rk_model *model, const rk_system *system,
                            const rk_plan_space *space)
{
    rk_stack stack;
    rk_planned_strategy planned, nearest;
    rk_plan_counts counts;
    rk_error err;
    size_t found;
    assert_int_equal(rk_stack_load("megatron-2025", &stack, &err), RK_OK);
    assert_int_equal(rk_plan_search(model, system, &stack, space, NULL, 1, &planned, &found,
                                    &nearest, &counts, &err),
                     RK_OK);
    return counts.legal;
}

/* Learned positions exclude every strategy, and the message names the longest sequence. */
static void test_positions(void **state)
{
    const rk_system system = load_system();
    rk_model model = dense_model(8);
    (void)state;
    model.learned_positions = 2048;
    rk_plan_space space = rk_plan_space_defaults(&model, &system, 16, 32);
    space.base.seq = 8192;
    const rk_reasons reasons = find(&model, &system, &space);
    assert_true(reasons.strategies > 0);
    assert_int_equal(reasons.checked, reasons.strategies);
    assert_string_equal(reasons.rules[0].name, "seq <= positions");
    assert_int_equal(reasons.rules[0].excluded, reasons.strategies);
    assert_true(reasons.rules[0].alone > 0);
    assert_non_null(strstr(reasons.rules[0].message, "nearest legal sequence: 2048"));
    assert_null(help_of(&reasons, RK_HELP_ACCELERATORS));
    space.base.seq = 2048;
    assert_true(count_legal(&model, &system, &space) > 0);
}

/* Neither heads nor batch nor layers have a factor of 5: the nearest counts do without. */
static void test_accelerators(void **state)
{
    const rk_system system = load_system();
    const rk_model model = dense_model(8);
    (void)state;
    rk_plan_space space = rk_plan_space_defaults(&model, &system, 200, 64);
    assert_int_equal(count_legal(&model, &system, &space), 0);
    const rk_reasons reasons = find(&model, &system, &space);
    const rk_help *help = help_of(&reasons, RK_HELP_ACCELERATORS);
    assert_int_equal(reasons.strategies, 0);
    assert_non_null(help);
    assert_int_equal(help->count, 2);
    for (int64_t n = help->values[0]; n <= help->values[1]; n += 8) {
        space.accelerators = n;
        assert_int_equal(count_legal(&model, &system, &space) > 0,
                         n == help->values[0] || n == help->values[1]);
    }
    assert_true(help->values[0] < 200 && help->values[1] > 200);
}

/* What is named as a change is one: with it something is legal, without it nothing. */
static void test_given_degrees(void **state)
{
    static const struct {
        rk_help_kind kind;
        int64_t given, below, above;
        const char *says;
    } cases[] = {
        {RK_HELP_TP, 3, 2, 4, "the accelerators do not split over tp 3"},
        {RK_HELP_TP, 32, 16, 0, "the attention heads do not split over tp 32"},
        {RK_HELP_CP, 3, 2, 4, "the accelerators do not split over cp 3"},
        {RK_HELP_PP, 32, 8, 0, "the layers do not split over pp 32"},
        {RK_HELP_EP, 16, 8, 0, "the experts do not split over ep 16"},
        {RK_HELP_MICRO_BATCH, 3, 2, 4, "the sequences of a batch do not split over micro-batch 3"},
    };
    const rk_system system = load_system();
    const rk_model model = moe_model(8, false);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_plan_space space = rk_plan_space_defaults(&model, &system, 64, 64);
        rk_choices *const choices[RK_HELP_KIND_COUNT] = {[RK_HELP_TP] = &space.tp,
                                                         [RK_HELP_CP] = &space.cp,
                                                         [RK_HELP_PP] = &space.pp,
                                                         [RK_HELP_EP] = &space.ep,
                                                         [RK_HELP_MICRO_BATCH] =
                                                             &space.micro_batch};
        *choices[cases[i].kind] = (rk_choices){.count = 1, .values = {cases[i].given}};
        const rk_reasons reasons = find(&model, &system, &space);
        const rk_help *help = help_of(&reasons, cases[i].kind);
        assert_string_equal(reasons.indivisible, cases[i].says);
        assert_non_null(help);
        assert_int_equal(help->values[0], cases[i].below);
        assert_int_equal(help->count, cases[i].above ? 2 : 1);
        assert_int_equal(help->values[1], cases[i].above);
    }
}

/* A rule of one framework is no rule of another, which is named. */
static void test_other_framework(void **state)
{
    const rk_system system = load_system();
    const rk_model model = dense_model(8);
    (void)state;
    rk_plan_space space = rk_plan_space_defaults(&model, &system, 8, 16);
    space.pp = (rk_choices){.count = 1, .values = {2}};
    space.schedules = 1U << RK_SCHEDULE_ZB_V;
    assert_int_equal(count_legal(&model, &system, &space), 0);
    const rk_reasons reasons = find(&model, &system, &space);
    const rk_help *help = help_of(&reasons, RK_HELP_FRAMEWORK);
    assert_non_null(help);
    assert_int_equal(help->values[0], RK_FRAMEWORK_TORCHTITAN);
    for (int i = 0; i < help->count; i++) {
        const rk_framework_traits *named = rk_framework_of((rk_framework)help->values[i]);
        assert_true(named->schedules >> RK_SCHEDULE_ZB_V & 1U);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_accelerators),
        cmocka_unit_test(test_given_degrees),
        cmocka_unit_test(test_other_framework),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
