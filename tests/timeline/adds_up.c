/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline of a step adds up to the estimate's step, for the best plans of many models, systems
 * and frameworks and for strategies that no plan would pick.
 */
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE_MOST = 1000 }; /* operations of the timelines whose picture is drawn */

static const double same = 1e-9; /* relative */

/* Whether `part` is the whole that it should be. */
static void assert_adds_up(const char *what, const char *of, double part, double whole)
{
    if (!(fabs(part - whole) <= same * fabs(whole))) {
        fail_msg("%s: %s is %.12g and should be %.12g", what, of, part, whole);
    }
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Communication of tensor, context and expert parallelism on a rank. */
struct communication {
    double seconds[RK_STREAM_COUNT];
};

static void check_events(const char *what, const rk_timeline *t, struct communication *ranks)
{
    rk_timeline_facts facts;
    rk_timeline_event event;
    double after = 0;
    rk_timeline_describe(t, &facts, sizeof(facts));
    for (size_t i = 0; rk_timeline_at(t, i, &event, sizeof(event)); i++) {
        const double end = event.start_s + event.duration_s;
        if (event.start_s < 0 || event.duration_s < 0 || end > facts.step_s * (1 + same)) {
            fail_msg("%s: %s of rank %d from %.12g to %.12g in a step of %.12g", what, event.kind,
                     (int)event.rank, event.start_s, end, facts.step_s);
        }
        if (event.rank < 0) {
            after += event.duration_s;
            continue;
        }
        const double sent = event.tensor_s + event.context_s + event.expert_s;
        if (end > facts.pipeline_s * (1 + same) || sent > event.duration_s * (1 + same)) {
            fail_msg("%s: %s takes %.12g s, to %.12g of %.12g, and sends %.12g", what, event.kind,
                     event.duration_s, end, facts.pipeline_s, sent);
        }
        ranks[event.rank].seconds[RK_STREAM_TP] += event.tensor_s;
        ranks[event.rank].seconds[RK_STREAM_CP] += event.context_s;
        ranks[event.rank].seconds[RK_STREAM_EP] += event.expert_s;
    }
    assert_adds_up(what, "the pipeline and what follows it", facts.pipeline_s + after,
                   facts.step_s);
}

static double part_of(const rk_prediction *p, const char *name)
{
    for (size_t i = 0; rk_time_part_name(i); i++) {
        if (strcmp(rk_time_part_name(i), name) == 0) {
            return p->time_s[i];
        }
    }
    fail_msg("no part of a step is named %s", name);
    return 0;
}

/* On some rank, that of the estimate, the visible communication is what the estimate says. */
static void check_communication(const char *what, const rk_timeline *t, const rk_prediction *p,
                                const struct communication *ranks)
{
    bool found = false;
    for (int64_t rank = 0; rank < t->strategy->pp && !found; rank++) {
        const double *seconds = ranks[rank].seconds;
        /* gradients of norms are summed after the pipeline */
        found = seconds[RK_STREAM_TP] <= part_of(p, "tp_comm") + same * p->step_s &&
                fabs(seconds[RK_STREAM_CP] - part_of(p, "cp_comm")) <= same * p->step_s &&
                fabs(seconds[RK_STREAM_EP] - part_of(p, "ep_comm")) <= same * p->step_s &&
                (t->strategy->sp ||
                 fabs(seconds[RK_STREAM_TP] - part_of(p, "tp_comm")) <= same * p->step_s);
    }
    if (!found && !rk_schedules[t->strategy->schedule]->pairs) {
        fail_msg("%s: no rank communicates as long as the step does", what);
    }
}

/* ---- pictures and traces --------------------------------------------------------------------- */

/* The number after `key` in a tag. */
static double number_after(const char *tag, const char *key)
{
    const char *at = strstr(tag, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

/* Boxes of operations are thick lines, "M64 96h12.5": none leaves the picture. */
static void check_picture(const char *what, const rk_timeline *t)
{
    char *text = written(t, "title", rk_timeline_write_picture);
    const double width = number_after(text, " width=\""), height = number_after(text, " height=\"");
    size_t boxes = 0;
    for (const char *path = text; (path = strstr(path, "<path stroke=")) != NULL; path++) {
        for (const char *c = strstr(path, " d=\"") + 4; *c != '"'; c++) {
            char *end = NULL;
            const double x = *c == 'M' ? strtod(c + 1, &end) : 0, y = end ? strtod(end, &end) : 0;
            const double right = end && *end == 'h' ? x + strtod(end + 1, NULL) : x;
            if (x < 0 || y < 0 || right > width || y > height) {
                fail_msg("%s: a box from %g to %g leaves the picture of %g", what, x, right, width);
            }
            boxes += *c == 'h';
        }
    }
    assert_true(boxes > t->op_count);
    free(text);
}

static void check_trace(const char *what, const rk_timeline *t)
{
    char *text = written(t, "title", rk_timeline_write_trace);
    const double step = number_after(text, "\"step_us\":");
    for (const char *tag = text; (tag = strstr(tag, "\"ph\":\"X\"")) != NULL; tag++) {
        const double start = number_after(tag, "\"ts\":");
        const double end = start + number_after(tag, "\"dur\":");
        if (start < 0 || end > step * (1 + same) + 1e-3) {
            fail_msg("%s: a slice from %.12g to %.12g in a step of %.12g", what, start, end, step);
        }
    }
    free(text);
}

/* ---- strategies ------------------------------------------------------------------------------ */

static void check_strategy(const char *what, const rk_outcome *outcome, size_t index)
{
    rk_timeline *t;
    rk_prediction p;
    rk_error err;
    assert_true(rk_outcome_prediction(outcome, index, &p, sizeof(p)));
    assert_int_equal(rk_timeline_create(outcome, index, &t, &err), RK_OK);
    struct communication *ranks = calloc((size_t)t->strategy->pp, sizeof(*ranks));
    assert_non_null(ranks);
    assert_adds_up(what, "the step of the timeline", t->figures.step_s, p.step_s);
    check_events(what, t, ranks);
    check_communication(what, t, &p, ranks);
    if (t->op_count < PICTURE_MOST) {
        check_picture(what, t);
        check_trace(what, t);
    }
    free(ranks);
    rk_timeline_free(t);
}

struct documents {
    rk_model *model;
    rk_system *system;
    rk_setup *setup;
};

static void open_documents(const char *model, const char *system, const char *framework,
                           struct documents *d)
{
    const rk_setup_choice choice = {.size = sizeof(choice), .framework = framework};
    rk_error err;
    assert_int_equal(rk_model_create(model, &d->model, &err), RK_OK);
    assert_int_equal(rk_system_create(system, &d->system, &err), RK_OK);
    assert_int_equal(rk_setup_create(d->model, d->system, &choice, &d->setup, &err), RK_OK);
}

static void close_documents(struct documents *d)
{
    rk_setup_free(d->setup);
    rk_system_free(d->system);
    rk_model_free(d->model);
}

static void test_plans(void **state)
{
    static const char *const models[] = {"llama3-8b",  "llama3-70b",    "mixtral-8x7b",
                                         "gemma3-27b", "qwen3-30b-a3b", "nemotron-h-56b"};
    static const struct {
        const char *system, *framework;
    } machines[] = {
        {"h100", "megatron"},           {"h100", "torchtitan"}, {"h100", "deepspeed"},
        {"gb200-nvl72", "megatron"},    {"a100", "megatron"},   {"tpu-v5p", "maxtext"},
        {"atlas-800t-a2", "mindspeed"}, {"mi300x", "primus"},   {"trainium2", "neuronx"},
    };
    static const int64_t sizes[] = {8, 64};
    size_t plans = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        for (size_t k = 0; k < sizeof(machines) / sizeof(machines[0]); k++) {
            struct documents d;
            open_documents(models[i], machines[k].system, machines[k].framework, &d);
            for (size_t n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
                const rk_space space = {.size = sizeof(space),
                                        .accelerators = sizes[n],
                                        .global_batch = 2 * sizes[n],
                                        .top = 3,
                                        .threads = 1,
                                        .options = "{\"seq\": 4096}"};
                rk_outcome *outcome;
                rk_error err;
                char what[128];
                assert_int_equal(rk_plan_strategies(d.setup, &space, NULL, &outcome, &err), RK_OK);
                for (size_t s = 0; s < rk_outcome_count(outcome); s++, plans++) {
                    (void)snprintf(what, sizeof(what), "plan %d of %s on %d of %s, %s", (int)s + 1,
                                   models[i], (int)sizes[n], machines[k].system,
                                   machines[k].framework);
                    check_strategy(what, outcome, s);
                }
                rk_outcome_free(outcome);
            }
            close_documents(&d);
        }
    }
    assert_true(plans > 150);
}

/* Strategies that search leaves out or ranks low. */
static void test_odd_strategies(void **state)
{
    static const struct {
        const char *model, *options;
    } strategies[] = {
        {"llama3-8b", "\"zero\": 3, \"tp\": 1"},
        {"llama3-8b", "\"zero\": 2, \"tp\": 2"},
        {"llama3-8b", "\"zero\": 3, \"tp\": 2, \"pp\": 2"},
        {"llama3-8b", "\"zero\": 2, \"pp\": 4, \"vp\": 2"},
        {"llama3-8b", "\"zero\": 3, \"overlap\": \"none\""},
        {"llama3-8b", "\"zero\": 1, \"pp\": 4, \"overlap\": \"grad\""},
        {"llama3-8b", "\"zero\": 0, \"tp\": 8, \"cp\": 2"},
        {"llama3-8b", "\"pp\": 4, \"vp\": 4, \"schedule\": \"interleaved\""},
        {"llama3-8b", "\"pp\": 4, \"vp\": 4, \"schedule\": \"interleaved\", \"zero\": 3"},
        {"llama3-8b", "\"pp\": 4, \"schedule\": \"gpipe\""},
        {"llama3-8b", "\"pp\": 4, \"schedule\": \"zb-h1\""},
        {"llama3-8b", "\"pp\": 4, \"schedule\": \"zb-h2\", \"zero\": 2"},
        {"llama3-8b", "\"pp\": 4, \"schedule\": \"zb-v\", \"tp\": 2"},
        {"llama3-8b", "\"pp\": 4, \"schedule\": \"v-half\""},
        {"llama3-8b", "\"pp\": 4, \"schedule\": \"v-min\""},
        {"llama3-8b", "\"pp\": 4, \"schedule\": \"dualpipe\""},
        {"llama3-8b", "\"pp\": 4, \"schedule\": \"dualpipe\", \"tp\": 2, \"zero\": 2"},
        {"llama3-8b", "\"offload\": \"optimizer\""},
        {"llama3-8b", "\"offload\": \"activations\", \"pp\": 2"},
        {"llama3-8b", "\"offload\": \"weights,optimizer\""},
        {"llama3-8b", "\"recompute\": \"full\", \"tp\": 4, \"pp\": 2, \"zero\": 2"},
        {"llama3-70b", "\"tp\": 8, \"pp\": 4, \"vp\": 4, \"zero\": 3, \"offload\": \"weights\""},
        {"mixtral-8x7b", "\"ep\": 8, \"pp\": 4, \"vp\": 2"},
        {"mixtral-8x7b", "\"ep\": 8, \"pp\": 4, \"schedule\": \"zb-v\", \"tp\": 2"},
        {"mixtral-8x7b", "\"ep\": 8, \"pp\": 4, \"vp\": 2, \"overlap\": \"moe\""},
        {"deepseek-v3", "\"ep\": 16, \"pp\": 4, \"schedule\": \"dualpipe\""},
        {"gemma3-27b", "\"pp\": 2, \"zero\": 3"},
    };
    size_t checked = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        struct documents d;
        char options[256], why[256];
        rk_strategy strategy;
        rk_outcome *outcome = NULL;
        rk_error err;
        (void)snprintf(options, sizeof(options),
                       "{\"accelerators\": 64, \"global_batch\": 1024, \"seq\": 4096, %s}",
                       strategies[i].options);
        open_documents(strategies[i].model, "h100", "any", &d);
        if (rk_strategy_read(d.setup, options, &strategy, sizeof(strategy), &err) ||
            rk_estimate_strategy(d.setup, &strategy, &outcome, &err)) {
            fail_msg("%s of %s: %s", options, strategies[i].model,
                     rk_error_text(&err, why, sizeof(why)));
        }
        check_strategy(options, outcome, 0);
        checked++;
        rk_outcome_free(outcome);
        close_documents(&d);
    }
    assert_int_equal(checked, sizeof(strategies) / sizeof(strategies[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_odd_strategies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
