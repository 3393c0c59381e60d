/* SPDX-License-Identifier: Apache-2.0 */
/* The typed functions: documents, setups, strategies, outcomes, and what they refuse. */
#include "documents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED "{\"tp\": 8, \"pp\": 2, \"dp\": 4, \"global_batch\": 128}"

static int open_documents(void **state)
{
    *state = open_setup("llama3-70b", "dgx-h100-superpod", NULL);
    return 0;
}

static void test_documents(void **state)
{
    const struct documents *d = *state;
    rk_model_facts model;
    rk_system_facts system;
    rk_tier_facts tier;
    rk_setup_facts setup;
    rk_error err;
    double flops = 0;
    rk_model_describe(d->model, &model, sizeof(model));
    assert_string_equal(model.name, "llama3-70b");
    assert_int_equal(model.parameters, 70553706496);
    assert_false(model.has_experts);
    rk_system_describe(d->system, &system, sizeof(system));
    assert_int_equal(system.node, 8);
    assert_true(rk_system_peak(d->system, RK_BF16) > 9e14);
    assert_true(rk_system_peak(d->system, (rk_precision)99) == 0);
    assert_true(rk_system_tier(d->system, 0, &tier, sizeof(tier)) && tier.accelerators == 8);
    assert_false(rk_system_tier(d->system, system.tiers, &tier, sizeof(tier)));
    rk_setup_describe(d->setup, &setup, sizeof(setup));
    assert_string_equal(setup.framework, "megatron");
    assert_int_equal(rk_model_count_flops(d->model, 0, "megatron", &flops, &err), RK_OK);
    assert_true(flops > 6 * 7e10);
    assert_int_equal(rk_model_count_flops(d->model, 0, "metric", &flops, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "megatron"));
}

/* A stack on Megatron's says whose it is, and since when. */
static void test_stack(void **state)
{
    rk_stack *stack;
    rk_stack_facts facts;
    rk_error err;
    (void)state;
    assert_int_equal(rk_stack_create("megatron-2025-blackwell", NULL, &stack, &err), RK_OK);
    rk_stack_describe(stack, &facts, sizeof(facts));
    assert_string_equal(facts.name, "megatron-2025-blackwell");
    assert_string_equal(facts.family, "megatron");
    assert_int_equal(facts.year, 2025);
    rk_stack_free(stack);
}

/* A number of accelerators belongs to what is asked, not to the system. */
static void test_number_and_system(void **state)
{
    rk_system *system = NULL;
    rk_error err;
    (void)state;
    assert_int_equal(rk_system_create("2xdgx-h100", &system, &err), RK_ERR_INVALID);
    assert_null(system);
    assert_non_null(strstr(err.message, "create \"dgx-h100\""));
    assert_non_null(strstr(err.message, "\"accelerators\": 16"));
}

static void test_json_texts(void **state)
{
    static const char *const text =
        "{\"name\": \"small\", \"hidden\": 256, \"layers\": 2, \"vocab\": 1000, \"seq\": 128,\n"
        " \"heads\": 4, \"kv_heads\": 4, \"ffn\": 512, \"tied\": true}";
    rk_model_facts facts;
    rk_model *model;
    rk_system *system;
    rk_stack *stack;
    rk_error err;
    (void)state;
    assert_int_equal(rk_model_create(text, &model, &err), RK_OK);
    rk_model_describe(model, &facts, sizeof(facts));
    assert_string_equal(facts.name, "small");
    assert_int_equal(facts.hidden, 256);
    rk_model_free(model);
    assert_int_equal(rk_model_create("{\"layers\": ", &model, &err), RK_ERR_SYNTAX);
    assert_null(model);
    assert_string_equal(err.file, "JSON text");
    assert_int_equal(
        rk_system_create(" {\"accelerator\": \"h100-sxm\", \"tiers\": 3}", &system, &err),
        RK_ERR_INVALID);
    assert_null(system);
    assert_int_equal(rk_stack_create("{\"rates\": 3}", NULL, &stack, &err), RK_ERR_INVALID);
    assert_null(stack);
    assert_int_equal(rk_model_create("llama3-71b", &model, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "llama3-70b"));
}

static void test_strategy(void **state)
{
    const struct documents *d = *state;
    rk_strategy s;
    rk_legality legality;
    rk_prediction p;
    rk_error err;
    const char *name;
    char text[64];
    assert_int_equal(rk_strategy_read(d->setup, ASKED, &s, sizeof(s), &err), RK_OK);
    assert_int_equal(s.size, sizeof(s));
    assert_true(rk_strategy_field(&s, 1, &name, text, sizeof(text)));
    assert_string_equal(name, "TP");
    assert_string_equal(text, "8");
    assert_int_equal(rk_predict_step(d->setup, &s, &p, sizeof(p), &err), RK_OK);
    double sum = 0;
    for (size_t i = 0; rk_time_part_name(i); i++) {
        sum += p.time_s[i];
    }
    assert_true(sum > p.step_s * (1 - 1e-12) && sum < p.step_s * (1 + 1e-12));
    s.tp = 7;
    assert_int_equal(rk_strategy_check(d->setup, &s, &legality, sizeof(legality), &err), RK_OK);
    assert_false(legality.legal);
    assert_non_null(legality.rule);
    assert_int_equal(rk_predict_step(d->setup, &s, &p, sizeof(p), &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, legality.rule));
    s.tp = 8;
    s.schedule = (rk_schedule_kind)1000;
    assert_int_equal(rk_predict_step(d->setup, &s, &p, sizeof(p), &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "schedule");
    assert_int_equal(rk_strategy_read(d->setup, "{\"tp\": 7}", &s, sizeof(s), &err),
                     RK_ERR_INVALID);
    assert_int_equal(rk_strategy_read(d->setup, "{\"framework\": \"any\"}", &s, sizeof(s), &err),
                     RK_ERR_INVALID);
    assert_int_equal(rk_strategy_read(d->setup, "{\"model\": \"x\"}", &s, sizeof(s), &err),
                     RK_ERR_INVALID);
}

/* A program that was built with an older, shorter struct. */
static void test_short_structs(void **state)
{
    const struct documents *d = *state;
    union {
        rk_prediction p;
        char bytes[sizeof(rk_prediction)];
    } out;
    rk_strategy s;
    rk_error err;
    assert_int_equal(rk_strategy_read(d->setup, ASKED, &s, sizeof(s), &err), RK_OK);
    memset(&out, 0x5a, sizeof(out));
    assert_int_equal(rk_predict_step(d->setup, &s, &out.p, sizeof(double), &err), RK_OK);
    assert_true(out.p.step_s > 0 && out.p.step_s < 1000);
    assert_int_equal(out.bytes[sizeof(double)], 0x5a);
}

static bool stop_at_once(void *user, const rk_job_progress *progress)
{
    (void)progress;
    ++*(int *)user;
    return false;
}

static void test_outcomes(void **state)
{
    const struct documents *d = *state;
    rk_space space = {.size = sizeof(space), .accelerators = 64, .global_batch = 128, .top = 2};
    rk_outcome *outcome;
    rk_outcome_facts facts;
    rk_prediction first, second;
    rk_strategy s;
    rk_stage_use use;
    rk_operators *operators;
    rk_timeline *timeline;
    rk_error err;
    char *script;
    int calls = 0;
    assert_int_equal(rk_plan_strategies(d->setup, &space, NULL, &outcome, &err), RK_OK);
    assert_int_equal(rk_outcome_count(outcome), 2);
    assert_true(rk_outcome_prediction(outcome, 0, &first, sizeof(first)));
    assert_true(rk_outcome_prediction(outcome, 1, &second, sizeof(second)));
    assert_false(rk_outcome_prediction(outcome, 2, &second, sizeof(second)));
    assert_true(first.step_s <= second.step_s && first.fits);
    assert_true(rk_outcome_strategy(outcome, 0, &s, sizeof(s)));
    assert_int_equal(s.tp * s.cp * s.pp * s.dp, 64);
    assert_true(first.comparable_runs > first.comparable_models && first.comparable_models > 0);
    assert_true(rk_outcome_stage(outcome, 0, s.pp - 1, &use, sizeof(use)));
    assert_true(use.total_bytes > use.reserved_bytes && use.reserved_bytes > use.allocated_bytes);
    assert_false(rk_outcome_stage(outcome, 0, s.pp, &use, sizeof(use)));
    assert_false(rk_outcome_stage(outcome, 0, -1, &use, sizeof(use)));
    assert_false(rk_outcome_stage(outcome, 2, 0, &use, sizeof(use)));
    assert_false(rk_outcome_strategy(outcome, 2, &s, sizeof(s)));
    assert_int_equal(rk_outcome_write_launch(outcome, 2, "megatron", NULL, NULL, &script, &err),
                     RK_ERR_INVALID);
    assert_int_equal(rk_operators_create(outcome, 2, &operators, &err), RK_ERR_INVALID);
    assert_string_equal(err.message, "the outcome has 2 strategies, and not number 2");
    assert_int_equal(rk_timeline_create(outcome, 2, &timeline, &err), RK_ERR_INVALID);
    assert_false(rk_outcome_nearest(outcome, NULL, 0, NULL, 0));
    rk_outcome_describe(outcome, &facts, sizeof(facts));
    assert_true(facts.searched && facts.strategies > facts.legal && facts.legal > facts.fitting);
    assert_true(!facts.bounded && facts.evaluated == facts.legal);
    assert_int_equal(rk_outcome_write_launch(outcome, 0, "megatron", NULL, NULL, &script, &err),
                     RK_OK);
    assert_non_null(strstr(script, "--tensor-model-parallel-size"));
    rk_free(script);
    assert_int_equal(rk_outcome_write_launch(outcome, 0, "x", NULL, NULL, &script, &err),
                     RK_ERR_INVALID);
    rk_outcome_free(outcome);
    const rk_job_control control = {
        .size = sizeof(control), .user = &calls, .progress = stop_at_once};
    space.exhaustive = true;
    space.accelerators = 1024;
    space.global_batch = 1024;
    const rk_status stopped = rk_plan_strategies(d->setup, &space, &control, &outcome, &err);
    if (stopped == RK_OK) {
        assert_int_equal(calls, 0); /* a fast machine ends before it reports */
    } else {
        assert_int_equal(stopped, RK_ERR_STOPPED);
        assert_int_equal(calls, 1);
        assert_null(outcome);
    }
    rk_outcome_free(outcome);
    space.tp.count = 1000;
    assert_int_equal(rk_plan_strategies(d->setup, &space, NULL, &outcome, &err), RK_ERR_INVALID);
}

/* Each list of a space is that of its own degree. */
static void test_degrees(void **state)
{
    void *mixtral = open_setup("mixtral-8x7b", "dgx-h100-superpod", NULL);
    const struct documents *d = mixtral;
    const rk_space space = {.size = sizeof(space),
                            .accelerators = 128,
                            .global_batch = 128,
                            .tp = {1, {2}},
                            .cp = {1, {4}},
                            .pp = {1, {2}},
                            .vp = {1, {1}},
                            .ep = {1, {8}},
                            .etp = {1, {1}},
                            .micro_batch = {1, {1}}};
    rk_outcome *outcome;
    rk_strategy s;
    rk_error err;
    (void)state;
    assert_int_equal(rk_plan_strategies(d->setup, &space, NULL, &outcome, &err), RK_OK);
    assert_true(rk_outcome_strategy(outcome, 0, &s, sizeof(s)));
    assert_true(s.tp == 2 && s.cp == 4 && s.pp == 2 && s.vp == 1 && s.ep == 8 && s.etp == 1);
    assert_true(s.micro_batch == 1 && s.dp == 8);
    rk_outcome_free(outcome);
    (void)close_documents(&mixtral);
}

static void test_nothing_fits(void **state)
{
    const struct documents *d = *state;
    const rk_space space = {.size = sizeof(space), .accelerators = 4, .global_batch = 4};
    rk_outcome *outcome;
    rk_outcome_facts facts;
    rk_prediction p;
    rk_strategy s;
    rk_error err;
    char text[128];
    assert_int_equal(rk_fit_strategies(d->setup, &space, NULL, &outcome, &err), RK_OK);
    assert_int_equal(rk_outcome_count(outcome), 0);
    assert_true(rk_outcome_nearest(outcome, &s, sizeof(s), &p, sizeof(p)));
    assert_true(!p.fits && p.memory_total_bytes > p.memory_usable_bytes);
    rk_outcome_describe(outcome, &facts, sizeof(facts));
    assert_true(facts.fewest_accelerators > 4);
    for (size_t i = 0; rk_outcome_change(outcome, i, text, sizeof(text), &s, sizeof(s)); i++) {
        assert_true(text[0] != '\0' && s.tp * s.cp * s.pp * s.dp == 4);
    }
    rk_outcome_free(outcome);
}

static void test_collectives(void **state)
{
    const struct documents *d = *state;
    rk_collective_timing t;
    rk_error err;
    assert_int_equal(rk_predict_collective(d->system, "all_reduce", 0, 1, 1e9, &t, sizeof(t), &err),
                     RK_OK);
    assert_int_equal(t.ranks, 8);
    assert_true(t.seconds > 0 && t.bus_bytes_per_s < 900e9);
    assert_int_equal(
        rk_predict_collective(d->system, "all_reduce", 1 << 30, 1, 1e9, &t, sizeof(t), &err),
        RK_ERR_INVALID);
    assert_int_equal(rk_predict_collective(d->system, "reduce", 8, 0, 1e9, &t, sizeof(t), &err),
                     RK_ERR_INVALID);
    assert_int_equal(rk_predict_collective(d->system, "shout", 8, 1, 1e9, &t, sizeof(t), &err),
                     RK_ERR_INVALID);
}

/* A refusal names what is wrong: another branch with the same status is none. */
static void expect_refusal(rk_status status, const rk_error *err, const char *says)
{
    assert_int_equal(status, RK_ERR_INVALID);
    if (!strstr(err->message, says)) {
        fail_msg("\"%s\" lacks \"%s\"", err->message, says);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *options, *says;
    } options[] = {
        {"{\"model\": \"x\"}", "the options name a model or a system"},
        {"{\"system\": \"x\"}", "the options name a model or a system"},
        {"{\"stack\": \"x\"}", "belong to the setup"},
        {"{\"framework\": \"any\"}", "belong to the setup"},
        {"{\"mfu_convention\": \"megatron\"}", "belong to the setup"},
        {"{\"max_memory\": \"70GiB\"}", "belong to the setup"},
        {"{\"risk\": 0.1}", "belong to the setup"},
        {"{\"tp\": 8, \"pp\": 2, \"dp\": 4, \"global_batch\": 128, \"layout\": \"40,40\"}",
         "set rk_strategy.layout in place of \"layout\""},
        {"{\"tp\": 8, \"gpus_per_node\": 4}",
         "gpus_per_node 4: the nodes of dgx-h100-superpod have 8; give the setup a system of other "
         "nodes"},
        {"{\"tp\": 8, \"set\": \"nvlink.size=4\"}",
         "change documents, which the setup has already"},
        {"{\"tp\": 8, \"complete\": \"observed\"}",
         "change documents, which the setup has already"},
        {"{\"tp\": 8, \"emit\": \"megatron\"}",
         "\"emit\" writes a file; rk_outcome_write_launch gives its text"},
    };
    static const struct {
        int64_t ranks, stride;
        double bytes;
        bool good;
    } groups[] = {{8, 1, 1, true},           {8, 1, 0x1p63, true}, {2, 1, 1e6, true},
                  {8, 8, 1e6, true},         {-1, 1, 1, false},    {8, 0, 1, false},
                  {8, 1, 0, false},          {8, 1, -1, false},    {8, 1, 1e19, false},
                  {8, 1, (double)NAN, false}};
    const struct documents *d = *state;
    rk_collective_timing t;
    rk_strategy s;
    rk_prediction p;
    rk_error err;
    double flops, usual;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        expect_refusal(rk_strategy_read(d->setup, options[i].options, &s, sizeof(s), &err), &err,
                       options[i].says);
    }
    assert_int_equal(rk_strategy_read(d->setup,
                                      "{\"tp\": 8, \"pp\": 2, \"dp\": 4, \"global_batch\": 128, "
                                      "\"gpus_per_node\": 8, \"complete\": \"search\"}",
                                      &s, sizeof(s), &err),
                     RK_OK);
    s.layout_count = 2;
    s.layout = NULL;
    expect_refusal(rk_predict_step(d->setup, &s, &p, sizeof(p), &err), &err,
                   "the layout is NULL, but layout_count is 2");
    assert_string_equal(err.path, "layout");
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        const rk_status status =
            rk_predict_collective(d->system, "all_reduce", groups[i].ranks, groups[i].stride,
                                  groups[i].bytes, &t, sizeof(t), &err);
        if (groups[i].good) {
            assert_int_equal(status, RK_OK);
            assert_int_equal(t.ranks, groups[i].ranks);
        } else {
            expect_refusal(status, &err, "a collective has at least 2 ranks");
        }
    }
    expect_refusal(rk_model_count_flops(d->model, -1, "megatron", &flops, &err), &err,
                   "a sequence has 1 to 2147483647 tokens");
    expect_refusal(rk_model_count_flops(d->model, 1LL << 31, "megatron", &flops, &err), &err,
                   "a sequence has 1 to 2147483647 tokens");
    assert_int_equal(rk_model_count_flops(d->model, 0, "megatron", &usual, &err), RK_OK);
    assert_int_equal(rk_model_count_flops(d->model, 8192, "megatron", &flops, &err), RK_OK);
    assert_true(flops >= usual && flops <= usual); /* the sequence of the model */
    assert_int_equal(rk_model_count_flops(d->model, INT32_MAX, "megatron", &flops, &err), RK_OK);
    assert_true(flops > usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),     cmocka_unit_test(test_number_and_system),
        cmocka_unit_test(test_json_texts),    cmocka_unit_test(test_strategy),
        cmocka_unit_test(test_short_structs), cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_nothing_fits),  cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_stack),         cmocka_unit_test(test_degrees),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, open_documents, close_documents);
}
