/* SPDX-License-Identifier: Apache-2.0 */
/* Which framework and stack a question means, and what is said of it. */
#include "../layer/blocks.h"

#include "framework/software_choice.h"

static const struct {
    const char *system, *stack; /* of the question */
    int framework;
    bool quantised;
    rk_framework chosen;
    rk_framework_source source;
    const char *name; /* of the stack */
    int64_t year;
    rk_stack_match match;
    const char *framework_reason, *stack_reason;
} choices[] = {
    {"h100-sxm", NULL, -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_ACCELERATOR,
     "megatron-2025", 2025, RK_STACK_FAMILY, "default on hopper", ""},
    {"h100-sxm", "torchtitan", -1, false, RK_FRAMEWORK_TORCHTITAN, RK_FRAMEWORK_BY_STACK,
     "torchtitan", 2025, RK_STACK_NAMED, "which the stack runs", ""},
    {"h100-sxm", NULL, RK_FRAMEWORK_TORCHTITAN, false, RK_FRAMEWORK_TORCHTITAN, RK_FRAMEWORK_GIVEN,
     "torchtitan", 2025, RK_STACK_NAMED, "as given", ""},
    /* of a family of other software the year says nothing */
    {"h100-sxm", "nanotron", RK_FRAMEWORK_MEGATRON, false, RK_FRAMEWORK_MEGATRON,
     RK_FRAMEWORK_GIVEN, "nanotron", 0, RK_STACK_NAMED, "as given", ""},
    {"tpu-v5p", NULL, -1, false, RK_FRAMEWORK_MAXTEXT, RK_FRAMEWORK_BY_ACCELERATOR, "maxtext-tpu",
     2025, RK_STACK_FAMILY, "default on tpu", ""},
    {"h100-sxm", NULL, -1, true, RK_FRAMEWORK_HUGGINGFACE, RK_FRAMEWORK_OF_TUNING,
     "huggingface-hopper", 2026, RK_STACK_FAMILY, "default for fine-tuning", ""},
    {"tpu-v5p", NULL, -1, true, RK_FRAMEWORK_MAXTEXT, RK_FRAMEWORK_BY_ACCELERATOR, "maxtext-tpu",
     2025, RK_STACK_FAMILY, "default on tpu", ""},
    /* no stack was measured under Primus: Megatron's, whose year is not that of Primus */
    {"mi300x", NULL, RK_FRAMEWORK_PRIMUS, false, RK_FRAMEWORK_PRIMUS, RK_FRAMEWORK_GIVEN,
     "megatron-2025", 0, RK_STACK_OTHER, "as given",
     "warning: measured on hopper, not on cdna3; times are uncertain"},
    /* the nearest year that was measured on the generation, the newer of two; else what the
     * family builds on, or a warning */
    {"a100-sxm-80gb", "megatron", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2024-ampere", 2024, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to megatron that was measured on ampere"},
    {"a100-sxm-80gb", "megatron-2025", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2024-ampere", 2024, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to megatron-2025 that was measured on ampere"},
    {"a100-sxm-80gb", "megatron-2023", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2024-ampere", 2024, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to megatron-2023 that was measured on ampere"},
    {"a100-sxm-80gb", "megatron-2022", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2022", 2022, RK_STACK_NAMED, "which the stack runs", ""},
    {"v100-sxm2-32gb", "megatron-2021", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2021", 2021, RK_STACK_NAMED, "which the stack runs", ""},
    {"v100-sxm2-32gb", "megatron-2025", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2021", 2021, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to megatron-2025 that was measured on volta"},
    {"b200-sxm", "megatron", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2026-blackwell", 2026, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to megatron that was measured on blackwell"},
    {"b200-sxm", "megatron-2025", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2025-blackwell", 2025, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to megatron-2025 that was measured on blackwell"},
    {"b200-sxm", "nemo-2024", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "nemo-2025-blackwell", 2025, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to nemo-2024 that was measured on blackwell"},
    {"a100-sxm-80gb", "nemo", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2024-ampere", 2024, RK_STACK_BASE, "which the stack runs",
     "nemo was not measured on ampere; megatron-2024-ampere, on which it builds, is used "
     "instead"},
    {"a100-sxm-80gb", "nemo-2024", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2024-ampere", 2024, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to nemo-2024 that was measured on ampere"},
    {"h100-sxm", "megatron-deepspeed-2022", -1, false, RK_FRAMEWORK_MEGATRON, RK_FRAMEWORK_BY_STACK,
     "megatron-2024", 2024, RK_STACK_FAMILY, "which the stack runs",
     "the nearest to megatron-deepspeed-2022 that was measured on hopper"},
    {"b200-sxm", "deepspeed", -1, false, RK_FRAMEWORK_DEEPSPEED, RK_FRAMEWORK_BY_STACK,
     "deepspeed-hopper", 2023, RK_STACK_OTHER, "which the stack runs",
     "warning: measured on hopper, not on blackwell; times are uncertain"},
    {"b200-sxm", "deepspeed-ampere", -1, false, RK_FRAMEWORK_DEEPSPEED, RK_FRAMEWORK_BY_STACK,
     "deepspeed-ampere", 2023, RK_STACK_OTHER, "which the stack runs",
     "warning: measured on ampere, not on blackwell; times are uncertain"},
    {"a100-sxm-80gb", "maxtext", -1, false, RK_FRAMEWORK_MAXTEXT, RK_FRAMEWORK_BY_STACK,
     "maxtext-gpu", 2025, RK_STACK_OTHER, "which the stack runs",
     "warning: measured on hopper and blackwell, not on ampere; times are uncertain"},
    {"v100-sxm2-32gb", "torchtitan", -1, false, RK_FRAMEWORK_TORCHTITAN, RK_FRAMEWORK_BY_STACK,
     "torchtitan", 2025, RK_STACK_OTHER, "which the stack runs",
     "warning: measured on ampere and hopper, not on volta; times are uncertain"},
    {"h100-sxm", "mindspeed", -1, false, RK_FRAMEWORK_MINDSPEED, RK_FRAMEWORK_BY_STACK, "mindspeed",
     2024, RK_STACK_OTHER, "which the stack runs",
     "warning: measured on ascend, not on hopper; times are uncertain"},
};

static void test_choices(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const rk_system system = system_of(choices[i].system);
        const rk_accelerator *a = &system.accelerator;
        const rk_software_request wish = {.stack = choices[i].stack,
                                          .framework = choices[i].framework,
                                          .convention = -1,
                                          .quantised = choices[i].quantised};
        char reason[RK_REASON_SIZE];
        rk_software chosen;
        rk_error err;
        if (rk_software_choose(&wish, a, &chosen, &err)) {
            fail_msg("%s on %s: %s", choices[i].stack, choices[i].system, err.message);
        }
        assert_int_equal(chosen.framework, choices[i].chosen);
        assert_int_equal(chosen.source, choices[i].source);
        assert_string_equal(chosen.stack.name, choices[i].name);
        assert_int_equal(chosen.year, choices[i].year);
        assert_int_equal(chosen.match, choices[i].match);
        assert_int_equal(chosen.convention, rk_framework_of(chosen.framework)->convention);
        assert_string_equal(rk_software_framework_reason(&chosen, a, reason),
                            choices[i].framework_reason);
        assert_string_equal(rk_software_stack_reason(choices[i].stack, &chosen, a, reason),
                            choices[i].stack_reason);
    }
}

/* A stack that is known already is taken as it is, and so is a convention. */
static void test_known(void **state)
{
    (void)state;
    const rk_system system = system_of("h100-sxm");
    rk_stack mine = stack_of("torchtitan");
    mine.step_seconds = 7;
    const rk_software_request wish = {
        .known = &mine, .framework = -1, .convention = RK_FLOPS_NANOTRON};
    rk_software chosen;
    rk_error err;
    assert_int_equal(rk_software_choose(&wish, &system.accelerator, &chosen, &err), RK_OK);
    assert_int_equal(chosen.framework, RK_FRAMEWORK_TORCHTITAN);
    assert_true(chosen.stack.step_seconds == 7);
    assert_int_equal(chosen.convention, RK_FLOPS_NANOTRON);
}

/* Lists of generations, and an accelerator without one. */
static void test_reasons(void **state)
{
    (void)state;
    const rk_system system = system_of("h100-sxm");
    rk_accelerator a = system.accelerator;
    rk_software software = {.framework = RK_FRAMEWORK_MEGATRON,
                            .source = RK_FRAMEWORK_BY_ACCELERATOR,
                            .match = RK_STACK_OTHER};
    char reason[RK_REASON_SIZE];
    software.stack.generations =
        1U << RK_GENERATION_VOLTA | 1U << RK_GENERATION_AMPERE | 1U << RK_GENERATION_BLACKWELL;
    assert_string_equal(rk_software_stack_reason("own", &software, &a, reason),
                        "warning: measured on volta, ampere and blackwell, not on hopper; times "
                        "are uncertain");
    software.match = RK_STACK_BASE; /* nobody asked: the framework's own name */
    (void)snprintf(software.stack.name, sizeof(software.stack.name), "base");
    assert_string_equal(rk_software_stack_reason(NULL, &software, &a, reason),
                        "megatron was not measured on hopper; base, on which it builds, is used "
                        "instead");
    software.match = RK_STACK_FAMILY;
    assert_string_equal(rk_software_stack_reason("./own.json", &software, &a, reason), "");
    assert_string_equal(rk_software_stack_reason("{}", &software, &a, reason), "");
    assert_string_equal(rk_software_stack_reason("base", &software, &a, reason), "");
    a.generation = RK_GENERATION_NONE;
    assert_string_equal(rk_software_framework_reason(&software, &a, reason),
                        "default on accelerators of no stated generation");
}

static void test_unknown(void **state)
{
    (void)state;
    const rk_system system = system_of("h100-sxm");
    const rk_software_request wish = {.stack = "megatorn", .framework = -1, .convention = -1};
    rk_software chosen;
    rk_error err;
    assert_int_not_equal(rk_software_choose(&wish, &system.accelerator, &chosen, &err), RK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
