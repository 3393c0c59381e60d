/* SPDX-License-Identifier: Apache-2.0 */
/* What a command line gives of a strategy, and what it leaves to a search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "layer/model_load.h"
#include "request/strategy_choices.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The texts of what is read live as long as this. */
static rk_job *last;

/* Reads a command line. */
static rk_request request_of(const char *line)
{
    char text[512];
    rk_request request;
    rk_error err;
    rk_job_free(last);
    (void)snprintf(text, sizeof(text), "--model m --system s %s", line);
    assert_int_equal(words_read(text, &last, &request, &err), RK_OK);
    return request;
}

static void test_open(void **state)
{
    static const struct {
        const char *line, *open; /* of what a strategy needs */
    } dense[] = {
        {"-p 64 -b 128", "TP, CP, PP, VP, micro-batch, ZeRO and recompute"},
        {"-p 64 -b 128 --tp 8 --pp 2", "CP, VP, micro-batch, ZeRO and recompute"},
        {"-p 16 -b 128 --tp 8 --pp 2", "VP, micro-batch, ZeRO and recompute"},
        {"-p 64 -b 128 --tp 8 --pp 2 --dp 4", "VP, micro-batch, ZeRO and recompute"},
        {"-p 8 -b 128 --tp 8", "micro-batch, ZeRO and recompute"},
        {"-p 1 -b 8", "micro-batch, ZeRO and recompute"},
        {"-p 64 -b 128 --tp 8 --cp 1 --pp 2 --schedule 1f1b", "micro-batch, ZeRO and recompute"},
        {"-p 64 -b 128 --tp 8 --cp 1 --pp 1 --micro-batch 1", "ZeRO and recompute"},
        {"-p 64 -b 128 --tp 8 --cp 1 --pp 1 --micro-batch 1 --use-distributed-optimizer "
         "--recompute-layers 2",
         ""},
        {"-p 64 -b 128 --tp 8 --cp 1 --pp 1 --micro-batch 1 --zero 1,2 --recompute none", "ZeRO"},
        {"-p 8 -b 32 --tp 2 --pp 4 --layout 7,9,9,7", "micro-batch, ZeRO and recompute"},
        {"--tp 8 --pp 2", ""},
        {"--dp 8", ""},
        {"--tp 4,8", "TP"},
    };
    static const struct {
        const char *line, *open;
    } experts[] = {
        {"-p 64 -b 128 --tp 8 --cp 1 --pp 1 --micro-batch 1 --zero 1 --recompute none",
         "EP and ETP"},
        {"-p 64 -b 128 --tp 1 --cp 1 --pp 1 --micro-batch 1 --zero 1 --recompute none", "EP"},
        {"-p 64 -b 128 --tp 1 --cp 1 --pp 1 --ep 8 --micro-batch 1 --zero 1 --recompute none", ""},
        {"-p 64 -b 128 --tp 2 --cp 1 --pp 1 --ep 8 --micro-batch 1 --zero 1 --recompute none",
         "ETP"},
    };
    static rk_inputs inputs = {.software.framework = RK_FRAMEWORK_MEGATRON};
    rk_error err;
    char list[RK_CHOICE_LIST_SIZE];
    (void)state;
    assert_int_equal(rk_model_load("llama3-8b", &inputs.model, &err), RK_OK);
    for (size_t i = 0; i < sizeof(dense) / sizeof(dense[0]); i++) {
        const rk_request r = request_of(dense[i].line);
        const unsigned open = rk_request_choices(&r, &inputs).open & RK_CHOICES_NEEDED;
        assert_string_equal(rk_choice_list(open, list), dense[i].open);
        assert_int_equal(rk_request_is_strategy(&r, &inputs), dense[i].open[0] == '\0');
    }
    assert_int_equal(rk_model_load("mixtral-8x7b", &inputs.model, &err), RK_OK);
    for (size_t i = 0; i < sizeof(experts) / sizeof(experts[0]); i++) {
        const rk_request r = request_of(experts[i].line);
        const unsigned open = rk_request_choices(&r, &inputs).open & RK_CHOICES_NEEDED;
        assert_string_equal(rk_choice_list(open, list), experts[i].open);
        assert_int_equal(rk_request_is_strategy(&r, &inputs), experts[i].open[0] == '\0');
    }
    inputs.software.framework = RK_FRAMEWORK_DEEPSPEED; /* experts are whole unless it is said */
    const rk_request whole = request_of(experts[1].line);
    assert_true(rk_request_is_strategy(&whole, &inputs));
}

/* Without accelerators and degrees there is neither a strategy nor a search. */
static void test_nothing(void **state)
{
    static rk_inputs inputs;
    rk_error err;
    (void)state;
    assert_int_equal(rk_model_load("llama3-8b", &inputs.model, &err), RK_OK);
    const rk_request r = request_of("--micro-batch 1");
    assert_false(rk_request_is_strategy(&r, &inputs));
}

/* What is given stays as it is in every strategy of the space. */
static void test_space(void **state)
{
    rk_inputs inputs;
    rk_error err;
    rk_plan_space space;
    (void)state;
    rk_request r = request_of("-p 64 -b 128 --tp 8 --dp 2 --no-sp --recompute-modules norm,mlp");
    r.model = "llama3-8b";
    r.system = "dgx-h100-superpod";
    assert_int_equal(rk_request_load(&r, &inputs, &err), RK_OK);
    assert_int_equal(rk_request_space(&r, &inputs, &space, &err), RK_OK);
    assert_int_equal(space.tp.count, 1);
    assert_int_equal(space.tp.values[0], 8);
    assert_int_equal(space.pp.count, 0);
    assert_int_equal(space.dp, 2);
    assert_true(space.no_sp);
    assert_false(space.base.tp_overlap);
    assert_int_equal(space.recomputes, 1U << RK_REC_SELECTIVE);
    assert_int_equal(space.modules, RK_MODULE_NORM | RK_MODULE_MLP);

    r = request_of("-p 64 -b 128 --recompute-layers 3");
    assert_int_equal(rk_request_space(&r, &inputs, &space, &err), RK_OK);
    assert_int_equal(space.recomputes, 1U << RK_REC_FULL);
    assert_int_equal(space.recompute_layers, 3);

    r = request_of("-p 64 -b 128 --pp 4 --layout 7,9,9,8");
    assert_int_equal(rk_request_space(&r, &inputs, &space, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "--layout has 33 layers, but"));
    r = request_of("-p 64 -b 128 --tp 8 --pp 3");
    assert_int_equal(rk_request_space(&r, &inputs, &space, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "nearest legal accelerators: 48 or 72"));
    r = request_of("-p 64 -b 128 --tp 8 --dp 3");
    assert_int_equal(rk_request_space(&r, &inputs, &space, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "make dp 8 or a divisor of it, not 3"));
    rk_inputs_clear(&inputs);
}

/* A pinned search finds what a free one finds among the strategies that have what is pinned. */
static void test_pinned_search(void **state)
{
    enum { MANY = 4000 };
    rk_inputs inputs;
    rk_error err;
    rk_plan_space space;
    rk_plan_counts counts;
    rk_planned_strategy *all = calloc(MANY, sizeof(*all)), pinned;
    size_t count, found;
    int64_t tried = 0;
    (void)state;
    assert_non_null(all);
    rk_request r = request_of("-p 16 -b 32 --pp 2 --cp 1 --micro-batch 1 --zero 1");
    r.model = "llama3-8b";
    r.system = "dgx-h100-superpod";
    assert_int_equal(rk_request_load(&r, &inputs, &err), RK_OK);
    assert_int_equal(rk_request_space(&r, &inputs, &space, &err), RK_OK);
    assert_int_equal(rk_plan_search(&inputs.model, &inputs.system, &inputs.software.stack, &space,
                                    NULL, MANY, all, &count, NULL, &counts, &err),
                     RK_OK);
    assert_true(count > 10);
    for (int64_t dp = 1; dp <= 8; dp *= 2) {
        for (int64_t layers = 0; layers <= 4; layers += 2) {
            size_t best = 0;
            rk_plan_space narrow = space;
            narrow.dp = dp;
            narrow.recompute_layers = layers ? layers : -1;
            narrow.recomputes = layers ? 1U << RK_REC_FULL : space.recomputes;
            while (best < count && (all[best].strategy.dp != dp ||
                                    (layers && all[best].strategy.recompute_layers != layers))) {
                best++;
            }
            assert_int_equal(rk_plan_search(&inputs.model, &inputs.system, &inputs.software.stack,
                                            &narrow, NULL, 1, &pinned, &found, NULL, &counts, &err),
                             RK_OK);
            if (best < count) {
                tried++;
                assert_int_equal(found, 1);
                assert_true(pinned.estimate.step == all[best].estimate.step);
                assert_int_equal(pinned.strategy.dp, dp);
                assert_int_equal(pinned.strategy.tp, all[best].strategy.tp);
            }
        }
    }
    assert_true(tried >= 4);
    free(all);
    rk_inputs_clear(&inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_pinned_search),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rk_job_free(last);
    return failed;
}
