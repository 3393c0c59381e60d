/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of stacks: all of the catalogue load, and what is wrong is refused where it is. */
#include "../layer/blocks.h"

#include "framework/framework.h"
#include "io/catalogue.h"
#include "io/json.h"
#include "stack/stack_doc.h"

#include <stdlib.h>

static rk_status read_text(const char *text, rk_stack *stack, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_parse(text, strlen(text), "test", &doc, err);
    if (!status) {
        status = rk_stack_from_json(doc.root, stack, err);
    }
    rk_json_clear(&doc);
    return status;
}

#define EMPTY "\"rates\": {}, \"traffic\": {}, \"host\": {}, \"communication\": {}, \"step\": {}, "

/* Groups may be empty: what is absent costs nothing, and what is fused takes one pass. */
static void test_defaults(void **state)
{
    (void)state;
    rk_stack stack;
    rk_error err;
    assert_int_equal(read_text("{" EMPTY "\"memory\": {}}", &stack, &err), RK_OK);
    assert_near(stack.gemm_share * stack.low_gemm_share * stack.stream_share, 1, 0);
    assert_near(stack.tp_forward_exposed, 1, 0);
    assert_near(stack.activation_passes, 1, 0);
    assert_near(stack.clamped_passes * stack.tp_reduce_exposed, 1, 0);
    assert_true(stack.context_bytes <= 0 && stack.step_seconds <= 0 && stack.kernels_forward <= 0);
}

/* What is not given is what a key beside it says. */
static void test_follow(void **state)
{
    (void)state;
    rk_stack stack;
    rk_error err;
    assert_int_equal(
        read_text("{\"rates\": {}, \"traffic\": {\"activation_passes\": 3, \"cast_passes\": 2}, "
                  "\"host\": {}, "
                  "\"communication\": {\"tp_backward_exposed\": 0.5, "
                  "\"bucket_Mparams\": 40}, \"step\": {}, \"memory\": {}}",
                  &stack, &err),
        RK_OK);
    assert_near(stack.clamped_passes, 3, 0);
    assert_near(stack.mx_cast_passes, 2, 0);
    assert_near(stack.fp4_cast_passes, 2, 0);
    assert_near(stack.tp_reduce_exposed, 0.5, 0);
    assert_near(stack.bucket_params, 4e7, 0);
}

/* Keys carry units: GiB and MiB become bytes; formats of 8 bits are as fast as wider ones. */
static void test_units(void **state)
{
    (void)state;
    rk_stack stack;
    rk_error err;
    assert_int_equal(read_text("{\"rates\": {\"gemm_share\": 0.5, \"attention_share\": 0.25}, "
                               "\"traffic\": {}, \"host\": {}, "
                               "\"communication\": {\"bucket_MiB\": 128, \"gather_MiB\": 64}, "
                               "\"step\": {\"step_seconds\": 0.25}, "
                               "\"memory\": {\"context_GiB\": 2, \"workspace_GiB\": 0.5}}",
                               &stack, &err),
                     RK_OK);
    assert_near(stack.low_gemm_share, 0.5, 0);
    assert_near(stack.attention_backward_share, 0.25, 0);
    assert_near(stack.bucket_bytes, 0x1p27, 0);
    assert_near(stack.gather_bytes, 0x1p26, 0);
    assert_near(stack.context_bytes, 0x1p31, 0);
    assert_near(stack.workspace_bytes, 0x1p29, 0);
    assert_near(stack.step_seconds, 0.25, 0);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path, *hint; /* a part of the message */
    } bad[] = {
        {"{" EMPTY "\"memory\": {\"fragmentaton\": 0.1}}", "memory.fragmentaton", "fragmentation"},
        {"{" EMPTY "\"memory\": {\"fragmentation\": -0.1}}", "memory.fragmentation", "from 0 to 1"},
        {"{" EMPTY "\"memory\": {\"context_GiB\": \"2\"}}", "memory.context_GiB", "a string"},
        {"{" EMPTY "\"memory\": {\"keeps_gathered\": 1}}", "memory.keeps_gathered",
         "true or false"},
        {"{" EMPTY "\"memory\": 3}", "memory", "expected an object"},
        {"{" EMPTY "\"memry\": {}}", "memry", "memory"},
        {"{\"rates\": {\"gemm_share\": 0}}", "rates.gemm_share", "from 0.05 to 2"},
        {"{\"rates\": {}}", "", "traffic"},
        {"{\"family\": 3}", "family", "a text"},
        {"{\"generations\": \"hopper\"}", "generations", "a list"},
        {"{\"generations\": [\"hoper\"]}", "generations[0]", "hopper"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        rk_stack stack;
        rk_error err;
        assert_int_equal(read_text(bad[i].text, &stack, &err), RK_ERR_INVALID);
        assert_string_equal(err.path, bad[i].path);
        if (!strstr(err.message, bad[i].hint)) {
            fail_msg("\"%s\" does not say \"%s\"", err.message, bad[i].hint);
        }
    }
}

/* Every stack of the catalogue loads under its own name. */
static void test_catalogue(void **state)
{
    (void)state;
    int count = 0;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        if (strcmp(rk_catalogue[i].kind, "stacks") == 0) {
            assert_string_equal(stack_of(rk_catalogue[i].name).name, rk_catalogue[i].name);
            count++;
        }
    }
    assert_true(count >= 6);
}

/* A family stands for its newest document for the generation, a year for the nearest to it. */
static void test_choice(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        rk_generation generation;
        const char *chosen;
    } cases[] = {
        {"megatron", RK_GENERATION_AMPERE, "megatron-2024-ampere"},
        {"megatron", RK_GENERATION_HOPPER, "megatron-2025"},
        {"megatron", RK_GENERATION_BLACKWELL, "megatron-2026-blackwell"},
        {"megatron", RK_GENERATION_VOLTA, "megatron-2021"},
        {"megatron", RK_GENERATION_CDNA3, "megatron-2025"}, /* of Hopper, for want of its own */
        {"megatron-2022", RK_GENERATION_AMPERE, "megatron-2022"},
        {"megatron-2022", RK_GENERATION_HOPPER, "megatron-2024"},
        {"megatron-2025", RK_GENERATION_AMPERE, "megatron-2024-ampere"},
        {"megatron-2025", RK_GENERATION_BLACKWELL, "megatron-2025-blackwell"},
        {"megatron-2020", RK_GENERATION_AMPERE, "megatron-2021"},
        {"nemo", RK_GENERATION_HOPPER, "nemo-2025"},
        {"nemo", RK_GENERATION_AMPERE, "megatron-2024-ampere"}, /* builds on Megatron */
        {"nanotron", RK_GENERATION_BLACKWELL, "nanotron"},
        {"fsdp-llm-foundry", RK_GENERATION_HOPPER, "fsdp-llm-foundry-hopper"},
        {"deepspeed", RK_GENERATION_AMPERE, "deepspeed-ampere"},
        {"deepspeed", RK_GENERATION_HOPPER, "deepspeed-hopper"},
        {"maxtext", RK_GENERATION_TPU, "maxtext-tpu"},
        {"mindspeed", RK_GENERATION_ASCEND, "mindspeed"},
        {"neuronx-distributed", RK_GENERATION_TRAINIUM, "neuronx-distributed"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_accelerator accelerator = {.generation = cases[i].generation};
        rk_stack stack;
        rk_error err;
        assert_int_equal(rk_stack_choose(cases[i].name, &accelerator, &stack, &err), RK_OK);
        assert_string_equal(stack.name, cases[i].chosen);
    }
}

/* The usual framework of every generation runs on it, and its stack says where it was measured. */
static void test_usual(void **state)
{
    (void)state;
    static const struct {
        const char *accelerator;
        rk_framework framework;
        const char *stack;
        rk_stack_match match;
    } cases[] = {
        {"h100-sxm", RK_FRAMEWORK_MEGATRON, "megatron-2025", RK_STACK_FAMILY},
        {"ascend-910b2", RK_FRAMEWORK_MINDSPEED, "mindspeed", RK_STACK_NAMED},
        {"tpu-v5p", RK_FRAMEWORK_MAXTEXT, "maxtext-tpu", RK_STACK_FAMILY},
        {"trainium2", RK_FRAMEWORK_NEURONX, "neuronx-distributed", RK_STACK_NAMED},
        {"mi300x", RK_FRAMEWORK_MEGATRON, "megatron-2025", RK_STACK_OTHER},
        {"gaudi3", RK_FRAMEWORK_DEEPSPEED, "deepspeed-hopper", RK_STACK_OTHER},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_system system = system_of(cases[i].accelerator);
        const rk_generation generation = system.accelerator.generation;
        const rk_framework usual = rk_framework_usual(generation);
        const rk_framework_traits *f = rk_framework_of(usual);
        rk_stack stack;
        rk_error err;
        assert_int_equal(usual, cases[i].framework);
        assert_true(f->runs_on >> generation & 1U);
        assert_int_equal(rk_stack_choose(f->stacks[0], &system.accelerator, &stack, &err), RK_OK);
        assert_string_equal(stack.name, cases[i].stack);
        assert_int_equal(rk_stack_match_of(f->stacks[0], &system.accelerator, &stack),
                         cases[i].match);
        assert_int_equal(rk_framework_of_stack(stack.family, stack.base), usual);
    }
    for (int i = 0; i < RK_FRAMEWORK_COUNT; i++) {
        assert_int_equal(rk_frameworks[i]->usual_on & ~rk_frameworks[i]->runs_on, 0);
    }
}

/* What a stack is to the name that it was chosen by. */
static void test_matches(void **state)
{
    static const struct {
        const char *name, *stack, *accelerator;
        rk_stack_match match;
    } cases[] = {
        {"megatron-2025", "megatron-2025", "h100-sxm", RK_STACK_NAMED},
        {"megatron-2025", "megatron-2025", "mi300x", RK_STACK_OTHER},
        {"own.json", "megatron-2025", "h100-sxm", RK_STACK_NAMED},
        {"own.json", "megatron-2025", "mi300x", RK_STACK_OTHER},
        {"{}", "megatron-2025", "mi300x", RK_STACK_OTHER},
        {"megatron", "megatron-2025", "h100-sxm", RK_STACK_FAMILY},
        {"megatron", "megatron-2025", "mi300x", RK_STACK_OTHER},
        {"maxtext-tpu", "megatron-2025", "h100-sxm", RK_STACK_FAMILY},
        {"fsdp-of-tomorrow", "megatron-2025", "h100-sxm", RK_STACK_BASE},
        {"fsdp-of-tomorrow", "megatron-2025", "mi300x", RK_STACK_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_system system = system_of(cases[i].accelerator);
        rk_stack stack;
        rk_error err;
        assert_int_equal(rk_stack_load(cases[i].stack, &stack, &err), RK_OK);
        if (rk_stack_match_of(cases[i].name, &system.accelerator, &stack) != cases[i].match) {
            fail_msg("%s for %s on %s", cases[i].stack, cases[i].name, cases[i].accelerator);
        }
    }
}

/* The nearest stack of a family for a generation, of all that are parsed; NULL: none. */
static const rk_stack *nearest_of(const rk_stack *stacks, size_t count, const char *family,
                                  int64_t year, int generation)
{
    const rk_stack *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(stacks[i].family, family) != 0 || !(stacks[i].generations >> generation & 1U)) {
            continue;
        }
        const int64_t far = llabs(2 * (stacks[i].year - year)) - (stacks[i].year > year);
        if (!best || far < llabs(2 * (best->year - year)) - (best->year > year)) {
            best = &stacks[i];
        }
    }
    return best;
}

/* Stacks are chosen before they are parsed: each choice is that of all parsed ones. */
static void test_nearest(void **state)
{
    enum { STACKS = 64, YEAR_NONE = 9999 };
    static rk_stack stacks[STACKS];
    size_t count = 0, chosen = 0;
    rk_error err;
    (void)state;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        if (strcmp(rk_catalogue[i].kind, "stacks") == 0) {
            assert_true(count < STACKS);
            assert_int_equal(rk_stack_load(rk_catalogue[i].name, &stacks[count++], &err), RK_OK);
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (int generation = 1; rk_generation_names[generation]; generation++) {
            for (int year = 2020; year <= 2028; year++) {
                const bool any = year == 2028;
                const rk_accelerator accelerator = {.generation = (rk_generation)generation};
                const rk_stack *nearest =
                    nearest_of(stacks, count, stacks[i].family, any ? YEAR_NONE : year, generation);
                char name[64];
                rk_stack stack;
                (void)snprintf(name, sizeof(name), any ? "%s" : "%s-%d", stacks[i].family, year);
                if (nearest) {
                    assert_int_equal(rk_stack_choose(name, &accelerator, &stack, &err), RK_OK);
                    assert_string_equal(stack.name, nearest->name);
                    chosen++;
                }
            }
        }
    }
    assert_true(chosen > count);
}

/* Every accelerator of the catalogue says what it is, so that a stack is chosen for it. */
static void test_generations(void **state)
{
    (void)state;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        if (strcmp(rk_catalogue[i].kind, "accelerators") == 0) {
            const rk_system system = system_of(rk_catalogue[i].name);
            assert_int_not_equal(system.accelerator.generation, RK_GENERATION_NONE);
        }
    }
}

static void test_unknown(void **state)
{
    (void)state;
    rk_stack stack;
    rk_error err;
    assert_int_equal(rk_stack_load("megatron-225", &stack, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "megatron-2025"));
    assert_int_equal(rk_stack_load("no/such/stack.json", &stack, &err), RK_ERR_IO);
    const rk_accelerator accelerator = {.generation = RK_GENERATION_HOPPER};
    assert_int_equal(rk_stack_choose("megatrom", &accelerator, &stack, &err), RK_ERR_INVALID);
    assert_int_equal(rk_stack_choose("no/such/stack.json", &accelerator, &stack, &err), RK_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_units),
        cmocka_unit_test(test_follow),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_catalogue), cmocka_unit_test(test_choice),
        cmocka_unit_test(test_nearest),   cmocka_unit_test(test_generations),
        cmocka_unit_test(test_usual),     cmocka_unit_test(test_matches),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
