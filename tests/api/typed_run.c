/* SPDX-License-Identifier: Apache-2.0 */
/* Typed functions of whole runs, operators and timelines, and what they refuse. */
#include "documents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY 86400.0

static int open_documents(void **state)
{
    rk_error err;
    struct documents *d = open_setup("llama3-8b", "h100-sxm",
                                     "{\"tp\": 2, \"pp\": 2, \"dp\": 4, \"global_batch\": 32}");
    assert_int_equal(rk_estimate_strategy(d->setup, &d->strategy, &d->outcome, &err), RK_OK);
    *state = d;
    return 0;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected))) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

/* ---- whole runs ------------------------------------------------------------------------------ */

static rk_run_request request_of(const struct documents *d)
{
    rk_run_request request;
    rk_run_request_init(&request, sizeof(request));
    request.strategy = &d->strategy;
    request.tokens = 1e12;
    return request;
}

static void test_run(void **state)
{
    const struct documents *d = *state;
    rk_run_request request = request_of(d);
    rk_run_outcome *run;
    rk_run_outcome_facts f;
    rk_run_assumption assumption;
    rk_strategy strategy;
    rk_prediction p;
    rk_error err;
    request.price_per_hour = 2.5;
    assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_OK);
    rk_run_outcome_describe(run, &f, sizeof(f));
    assert_true(f.found);
    assert_true(f.tokens == 1e12 && f.accelerators == 16);
    assert_near(f.steps, 1e12 / (32.0 * (double)d->strategy.seq), 1e-6);
    assert_near(f.training_s + f.checkpoints_s + f.lost_s + f.restarts_s + f.planned_s + f.start_s,
                f.total_s, 1e-12);
    assert_near(f.goodput, f.training_s / f.total_s, 1e-12);
    assert_near(f.accelerator_hours, 16 * f.total_s / 3600, 1e-12);
    assert_near(f.cost, 2.5 * f.accelerator_hours, 1e-12);
    assert_int_equal(f.simulated_runs, 1000);
    assert_true(f.simulated_total_s.p10 < f.simulated_total_s.p50 &&
                f.simulated_total_s.p50 < f.simulated_total_s.p90);
    assert_near(f.simulated_cost.p90 / f.cost, f.simulated_total_s.p90 / f.total_s, 1e-12);
    assert_true(rk_run_outcome_assumption(run, 0, &assumption, sizeof(assumption)));
    assert_true(assumption.name[0] && assumption.low < assumption.high);
    assert_false(rk_run_outcome_assumption(run, 99, &assumption, sizeof(assumption)));
    const rk_outcome *found = rk_run_outcome_strategies(run);
    assert_int_equal(rk_outcome_count(found), 1);
    assert_true(rk_outcome_strategy(found, 0, &strategy, sizeof(strategy)) && strategy.tp == 2);
    assert_true(rk_outcome_prediction(found, 0, &p, sizeof(p)) && p.step_s == f.step_s);
    rk_run_outcome_free(run);
}

/* Without interruptions a run is its steps, and the step may be given. */
static void test_run_inputs(void **state)
{
    const struct documents *d = *state;
    rk_run_request request = request_of(d);
    rk_run_outcome *run;
    rk_run_outcome_facts f;
    rk_error err;
    request.tokens = 0;
    request.steps = 1000;
    request.step_s = 7;
    request.failures = 0;
    request.simulated_runs = 0;
    assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_OK);
    rk_run_outcome_describe(run, &f, sizeof(f));
    assert_true(f.steps == 1000 && f.step_s == 7 && f.training_s == 7000 && f.failures == 0);
    assert_true(isinf(f.mtbf_s) && f.simulated_runs == 0 && f.simulated_total_s.p50 == 0);
    rk_run_outcome_free(run);
    request.failures = 10;
    request.restart_s = 600;
    request.checkpoint_every_s = 3600;
    request.storage_bytes_per_s = 1e12;
    assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_OK);
    rk_run_outcome_describe(run, &f, sizeof(f));
    assert_near(f.mtbf_s, DAY / 10 * 1000 / 16, 1e-12);
    assert_true(f.checkpoint_interval_s == 3600);
    assert_near(f.checkpoint_write_s, f.checkpoint_bytes / 1e12, 1e-12);
    rk_run_outcome_free(run);
    double steps[2];
    for (int i = 0; i < 2; i++) { /* an assumed MFU is a percentage, or up to 1 a share */
        rk_run_request assumed = request_of(d);
        assumed.mfu_percent = i ? 0.4 : 40;
        assert_int_equal(rk_predict_run(d->setup, &assumed, NULL, &run, &err), RK_OK);
        rk_run_outcome_describe(run, &f, sizeof(f));
        steps[i] = f.step_s;
        rk_run_outcome_free(run);
    }
    assert_true(steps[0] > 0 && steps[0] == steps[1]);
    request.storage_bytes_per_s = 1e10;
    request.async_checkpoint = true; /* training waits for the copy to the host alone */
    assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_OK);
    rk_run_outcome_describe(run, &f, sizeof(f));
    assert_true(f.checkpoint_blocking_s > 0 && f.checkpoint_blocking_s < f.checkpoint_write_s);
    rk_run_outcome_free(run);
}

static void test_run_space(void **state)
{
    const struct documents *d = *state;
    rk_run_request request;
    rk_run_outcome *run;
    rk_run_outcome_facts f;
    rk_error err;
    rk_space space = {.size = sizeof(space), .accelerators = 8, .global_batch = 64};
    rk_run_request_init(&request, sizeof(request));
    request.space = &space;
    request.tokens = 1e11;
    request.simulated_runs = 0;
    assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_OK);
    rk_run_outcome_describe(run, &f, sizeof(f));
    assert_true(f.found && f.accelerators == 8);
    rk_run_outcome_free(run);
    request.tokens = 0;
    space.options = "{\"phases\": \"8192:1G,16384:100M\"}";
    assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_OK);
    rk_run_outcome_describe(run, &f, sizeof(f));
    assert_true(f.tokens == 1.1e9);
    rk_run_outcome_free(run);
    request.tokens = 1e11;
    space.options = NULL;
    space.accelerators = 1;
    assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_OK);
    rk_run_outcome_describe(run, &f, sizeof(f));
    assert_true(!f.found && f.total_s == 0);
    assert_int_equal(rk_outcome_count(rk_run_outcome_strategies(run)), 0);
    assert_true(rk_outcome_nearest(rk_run_outcome_strategies(run), NULL, 0, NULL, 0));
    rk_run_outcome_free(run);
}

static void assert_refused(const struct documents *d, const rk_run_request *request,
                           const char *says)
{
    rk_run_outcome *run;
    rk_error err;
    assert_int_equal(rk_predict_run(d->setup, request, NULL, &run, &err), RK_ERR_INVALID);
    assert_null(run);
    char text[1024];
    if (!strstr(rk_error_text(&err, text, sizeof(text)), says)) {
        fail_msg("\"%s\" lacks \"%s\"", text, says);
    }
}

static void test_run_refusals(void **state)
{
    const struct documents *d = *state;
    const rk_space space = {.size = sizeof(space), .accelerators = 8, .global_batch = 64};
    const rk_space question = {.size = sizeof(question),
                               .accelerators = 8,
                               .global_batch = 64,
                               .options = "{\"deadline\": \"30d\"}"};
    rk_run_request request = request_of(d);
    request.space = &space;
    assert_refused(d, &request, "either a strategy or a space");
    request = request_of(d);
    request.strategy = NULL;
    assert_refused(d, &request, "either a strategy or a space");
    request.space = &question;
    assert_refused(d, &request, "rk_answer_request");
    request = request_of(d);
    request.loss = 2;
    assert_refused(d, &request, "exclude each other");
    request = request_of(d);
    request.tokens = -1;
    assert_refused(d, &request, "tokens");
    request.tokens = (double)NAN;
    assert_refused(d, &request, "tokens");
    request = request_of(d);
    request.pue = 0.5;
    assert_refused(d, &request, "pue");
    request = request_of(d);
    request.near_checkpoint = "moon";
    assert_refused(d, &request, "moon");
    request = request_of(d);
    request.simulated_runs = -1;
    assert_refused(d, &request, "simulate");
    rk_strategy illegal = d->strategy;
    illegal.tp = 7;
    request = request_of(d);
    request.strategy = &illegal;
    assert_refused(d, &request, "rule");
}

/* A program that was built with an older, shorter struct. */
static void test_short_structs(void **state)
{
    const struct documents *d = *state;
    rk_run_request request = request_of(d);
    rk_run_outcome *run;
    rk_error err;
    union {
        rk_run_outcome_facts facts;
        unsigned char bytes[sizeof(rk_run_outcome_facts)];
    } out;
    request.simulated_runs = -7; /* beyond what this program says that it knows */
    request.size = offsetof(rk_run_request, simulated_runs);
    assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_OK);
    memset(&out, 0x5a, sizeof(out));
    rk_run_outcome_describe(run, &out.facts, offsetof(rk_run_outcome_facts, steps));
    assert_true(out.facts.tokens == 1e12);
    assert_int_equal(out.bytes[offsetof(rk_run_outcome_facts, steps)], 0x5a);
    rk_run_outcome_free(run);
}

/* ---- operators and timelines ----------------------------------------------------------------- */

static void test_operators(void **state)
{
    const struct documents *d = *state;
    rk_operators *operators;
    rk_operator_facts o;
    rk_error err;
    size_t count = 0, messages = 0;
    double flops = 0;
    assert_int_equal(rk_operators_create(d->outcome, 0, &operators, &err), RK_OK);
    for (; rk_operators_at(operators, count, &o, sizeof(o)); count++) {
        assert_true(o.block[0] && o.kind[0] && o.part[0] && o.blocks >= 1);
        assert_true(strcmp(o.pass, "forward") == 0 || strcmp(o.pass, "backward") == 0 ||
                    strcmp(o.pass, "weight gradients") == 0);
        flops += strcmp(o.kind, "linear") == 0 ? (double)o.blocks * o.flops : 0;
        messages += o.collective != NULL;
        assert_true(!o.collective == (o.ranks == 0));
    }
    assert_true(count > 20 && messages >= 4);
    /* 6 FLOP a parameter and token over 2 ranks, but for the embedding, which is none of them */
    assert_near(flops, 6 * 7.5e9 * (double)d->strategy.seq / 2, 0.03);
    rk_operators_free(operators);
    assert_int_equal(rk_operators_create(d->outcome, 1, &operators, &err), RK_ERR_INVALID);
    assert_null(operators);
    rk_operators_free(NULL);
}

static void test_timeline(void **state)
{
    const struct documents *d = *state;
    rk_timeline *timeline;
    rk_timeline_facts facts;
    rk_timeline_event event;
    rk_timeline_rank rank;
    rk_prediction p;
    rk_error err;
    double busy[2] = {0}, end = 0, after = 0, tensor = 0;
    size_t count = 0;
    assert_int_equal(rk_timeline_create(d->outcome, 0, &timeline, &err), RK_OK);
    rk_timeline_describe(timeline, &facts, sizeof(facts));
    assert_true(rk_outcome_prediction(d->outcome, 0, &p, sizeof(p)) && facts.step_s == p.step_s);
    assert_int_equal(facts.ranks, 2);
    assert_int_equal(facts.microbatches, 32 / 4 / d->strategy.micro_batch);
    for (; rk_timeline_at(timeline, count, &event, sizeof(event)); count++) {
        assert_true(event.duration_s > 0 && event.start_s >= 0);
        assert_true(event.rank >= -1 && event.rank < 2);
        assert_true((event.rank < 0) == (event.micro_batch < 0));
        assert_true(event.tensor_s < event.duration_s && event.context_s == 0);
        tensor += event.tensor_s;
        end = fmax(end, event.start_s + event.duration_s);
        if (event.rank >= 0) {
            busy[event.rank] += event.duration_s;
        } else {
            after += event.duration_s;
        }
    }
    assert_int_equal(count, facts.events);
    assert_near(end, facts.step_s, 1e-9);
    assert_true(tensor > 0);
    assert_near(facts.pipeline_s + after, facts.step_s, 1e-9);
    for (int64_t i = 0; i < 2; i++) {
        assert_true(rk_timeline_rank_at(timeline, i, &rank, sizeof(rank)));
        assert_near(busy[i] + rank.idle_s, facts.pipeline_s, 1e-9);
        assert_true(rank.most_in_flight >= 1);
    }
    assert_false(rk_timeline_rank_at(timeline, 2, &rank, sizeof(rank)));
    assert_false(rk_timeline_rank_at(timeline, -1, &rank, sizeof(rank)));
    rk_timeline_free(timeline);
    assert_int_equal(rk_timeline_create(d->outcome, 1, &timeline, &err), RK_ERR_INVALID);
    assert_null(timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),           cmocka_unit_test(test_run_inputs),
        cmocka_unit_test(test_run_space),     cmocka_unit_test(test_run_refusals),
        cmocka_unit_test(test_short_structs), cmocka_unit_test(test_operators),
        cmocka_unit_test(test_timeline),
    };
    return cmocka_run_group_tests(tests, open_documents, close_documents);
}
