/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a program puts into a struct, the typed functions refuse it with the member's name or
 * answer with finite figures: never a crash, never OK with a NaN.
 */
#include "documents.h"
#include "extremes.h"

#include <stdbool.h>

#define MODEL                                                                                      \
    "{\"name\": \"small\", \"hidden\": 256, \"layers\": 4, \"vocab\": 1000, \"seq\": 128,"         \
    " \"heads\": 4, \"kv_heads\": 4, \"ffn\": 512, \"tied\": true}"
#define PRICES                                                                                     \
    "{\"name\": \"one\", \"currency\": \"$\", \"processor\": 100, \"life_days\": 1000, \"axes\": " \
    "[{\"key\": \"processors\", \"values\": [2]}]}"
#define GRID                                                                                       \
    "{\"application\": \"megatron-22B\", \"system\": \"a100_80g\", \"batch\": 4, \"datatype\": "   \
    "\"float16\", \"axes\": [{\"key\": \"processors\", \"values\": [4]}]}"

static const int16_t layers[1 << 12] = {1, 1, 1, 1};
static const rk_counts one = {.count = 1, .values = {1}};

static int open_documents(void **state)
{
    struct documents *d =
        open_setup(MODEL, "b200-sxm", "{\"tp\": 2, \"pp\": 2, \"dp\": 2, \"global_batch\": 16}");
    assert_null(d->strategy.layout);
    d->strategy.layout = layers; /* as many as layout_count can say */
    d->space = (rk_space){.size = sizeof(d->space),
                          .accelerators = 2,
                          .global_batch = 4,
                          .tp = one,
                          .cp = one,
                          .vp = one,
                          .ep = one,
                          .etp = one,
                          .zero = one,
                          .micro_batch = one,
                          .schedules = 1U << RK_SCHEDULE_1F1B,
                          .recomputes = 1U << RK_REC_NONE,
                          .threads = 1};
    *state = d;
    return 0;
}

/* ---- what every answer has ------------------------------------------------------------------- */

/* An error says what is wrong, and OK comes without one. */
static bool answered(struct documents *d, rk_status status, const rk_error *err)
{
    if (status) {
        assert_int_equal(err->code, status);
        assert_true(err->message[0] != '\0');
        if (err->path[0]) {
            note_refusal(&d->refusals, err->path);
        }
    } else {
        d->answers++;
    }
    return !status;
}

static void require_finite_from(const void *base, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += sizeof(double)) {
        double value;
        memcpy(&value, (const char *)base + at, sizeof(value));
        if (!isfinite(value)) {
            fail_msg("the double at byte %zu is %g", at, value);
        }
    }
}

/* Members `first` to before `end` are doubles, and finite. */
#define REQUIRE_FINITE(p, type, first, end)                                                        \
    require_finite_from(p, offsetof(type, first), offsetof(type, end))

static void require_sound_prediction(const rk_prediction *p)
{
    REQUIRE_FINITE(p, rk_prediction, step_s, fits);
    REQUIRE_FINITE(p, rk_prediction, memory_total_bytes, comparable_runs);
    assert_true(isfinite(p->bf16_step_s) && p->step_s > 0 && p->memory_total_bytes >= 0);
}

static void require_sound_operators(const rk_outcome *outcome)
{
    rk_operators *operators;
    rk_operator_facts o;
    rk_error err;
    if (rk_operators_create(outcome, 0, &operators, &err)) {
        return;
    }
    for (size_t i = 0; rk_operators_at(operators, i, &o, sizeof(o)); i++) {
        REQUIRE_FINITE(&o, rk_operator_facts, groups, collective);
        REQUIRE_FINITE(&o, rk_operator_facts, messages, ranks);
        assert_true(isfinite(o.sent_bytes) && isfinite(o.seconds));
    }
    rk_operators_free(operators);
}

static void require_sound_timeline(const rk_outcome *outcome)
{
    rk_timeline *timeline;
    rk_timeline_facts facts;
    rk_timeline_event event;
    rk_error err;
    if (rk_timeline_create(outcome, 0, &timeline, &err)) {
        return;
    }
    rk_timeline_describe(timeline, &facts, sizeof(facts));
    assert_true(isfinite(facts.step_s) && isfinite(facts.pipeline_s));
    for (size_t i = 0; rk_timeline_at(timeline, i, &event, sizeof(event)); i++) {
        require_finite_from(&event, offsetof(rk_timeline_event, start_s), sizeof(event));
    }
    rk_timeline_free(timeline);
}

static void require_sound_outcome(const rk_outcome *outcome)
{
    rk_prediction p;
    rk_stage_use use;
    for (size_t i = 0; rk_outcome_prediction(outcome, i, &p, sizeof(p)); i++) {
        require_sound_prediction(&p);
        for (int64_t stage = 0; rk_outcome_stage(outcome, i, stage, &use, sizeof(use)); stage++) {
            require_finite_from(&use, 0, sizeof(use));
        }
    }
    if (rk_outcome_count(outcome) > 0) {
        require_sound_operators(outcome);
    }
}

/* ---- strategies ------------------------------------------------------------------------------ */

enum {
    FULL = 16
}; /* every so many answers, an outcome with operators and timeline, which is slow */

static void use_strategy(const void *given, void *user)
{
    struct documents *d = user;
    const rk_strategy *s = given;
    rk_legality legality;
    rk_prediction p;
    rk_outcome *outcome;
    rk_error err;
    const char *name;
    char text[64];
    for (size_t i = 0; rk_strategy_field(s, i, &name, text, sizeof(text)); i++) {
        assert_true(name[0] != '\0');
    }
    const rk_status status = rk_strategy_check(d->setup, s, &legality, sizeof(legality), &err);
    if (answered(d, status, &err) && !legality.legal) {
        assert_true(legality.rule && legality.message[0]);
        return; /* a prediction has the same words */
    }
    if (answered(d, rk_predict_step(d->setup, s, &p, sizeof(p), &err), &err)) {
        assert_int_equal(status, RK_OK);
        require_sound_prediction(&p);
        if (d->answers % FULL != 0) {
            return;
        }
        if (answered(d, rk_estimate_strategy(d->setup, s, &outcome, &err), &err)) {
            require_sound_outcome(outcome);
            if (p.step_s < 1e4 && s->global_batch <= 64) {
                require_sound_timeline(outcome);
            }
        }
        rk_outcome_free(outcome);
    }
}

static const struct range kept_of_strategy[] = {KEEP(rk_strategy, size), KEEP(rk_strategy, layout)};

static void test_strategies(void **state)
{
    struct documents *d = *state;
    const struct target t = {&d->strategy, sizeof(d->strategy), kept_of_strategy,
                             COUNT(kept_of_strategy)};
    d->answers = d->refusals = 0;
    drive_slots(&t, use_strategy, d);
    REQUIRE_REFUSALS(d->refusals, 0x33264f06a57ba0c4)
    drive_random(&t, 1000, 1, use_strategy, d);
    assert_true(d->answers > 1000); /* many changes are legal */
}

/* The member at fault is named. */
static void test_names(void **state)
{
    struct documents *d = *state;
    rk_strategy s = d->strategy;
    rk_prediction p;
    rk_space space = d->space;
    rk_outcome *outcome;
    rk_error err;
    s.attention_kernel = RK_KERNEL_COUNT;
    assert_int_equal(rk_predict_step(d->setup, &s, &p, sizeof(p), &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "attention_kernel");
    assert_non_null(strstr(err.message, "0 to 6, found 7"));
    s = d->strategy;
    s.states.optimizer = (double)NAN;
    assert_int_equal(rk_predict_step(d->setup, &s, &p, sizeof(p), &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "states.optimizer");
    s = d->strategy;
    s.seq = INT64_MAX;
    assert_int_equal(rk_predict_step(d->setup, &s, &p, sizeof(p), &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "seq");
    space.tp.values[0] = 0;
    assert_int_equal(rk_plan_strategies(d->setup, &space, NULL, &outcome, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "tp");
    space = d->space;
    space.top = -1;
    assert_int_equal(rk_plan_strategies(d->setup, &space, NULL, &outcome, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "top");
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static bool stop_soon(void *user, const rk_job_progress *progress)
{
    (void)user;
    (void)progress;
    return false; /* a space that takes more than a tenth of a second */
}

static const rk_job_control brief = {.size = sizeof(brief), .progress = stop_soon};

static void use_space(const void *given, void *user)
{
    struct documents *d = user;
    rk_outcome *outcome;
    rk_error err;
    if (answered(d, rk_plan_strategies(d->setup, given, &brief, &outcome, &err), &err)) {
        require_sound_outcome(outcome);
    }
    rk_outcome_free(outcome);
}

static void use_space_otherwise(const void *given, void *user)
{
    struct documents *d = user;
    const rk_machine_target target = {.size = sizeof(target), .prices = PRICES};
    rk_outcome *outcome;
    rk_explanation *explanation;
    rk_explanation_facts facts;
    rk_machines *machines;
    rk_shapes *shapes;
    rk_error err;
    (void)answered(d, rk_fit_strategies(d->setup, given, &brief, &outcome, &err), &err);
    rk_outcome_free(outcome);
    if (answered(d, rk_explain_system(d->setup, given, 0.1, &brief, &explanation, &err), &err)) {
        rk_explanation_describe(explanation, &facts, sizeof(facts));
        assert_true(isfinite(facts.step_s) && isfinite(facts.sequences_per_s));
    }
    rk_explanation_free(explanation);
    (void)answered(d, rk_design_machines(d->setup, given, &target, &brief, &machines, &err), &err);
    rk_machines_free(machines);
    (void)answered(d, rk_shape_models(d->setup, given, NULL, &brief, &shapes, &err), &err);
    rk_shapes_free(shapes);
}

/* The values of a list past the second are left alone, as its count is at most two. */
#define LIST(member)                                                                               \
    {                                                                                              \
        offsetof(rk_space, member.values[2]), offsetof(rk_space, member) + sizeof(rk_counts)       \
    }

static const struct range kept_of_space[] = {KEEP(rk_space, size),
                                             KEEP(rk_space, options),
                                             LIST(tp),
                                             LIST(cp),
                                             LIST(pp),
                                             LIST(vp),
                                             LIST(ep),
                                             LIST(etp),
                                             LIST(micro_batch),
                                             LIST(zero)};

static void test_spaces(void **state)
{
    struct documents *d = *state;
    const struct target t = {&d->space, sizeof(d->space), kept_of_space, COUNT(kept_of_space)};
    d->answers = d->refusals = 0;
    drive_slots(&t, use_space, d);
    REQUIRE_REFUSALS(d->refusals, 0x2a57f1d5c582b9d7)
    drive_random(&t, 60, 2, use_space_otherwise, d);
    assert_true(d->answers > 100);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void require_number(double value)
{
    assert_true(value >= 0 || value < 0); /* infinite: it never happens */
}

static void use_run(const void *given, void *user)
{
    struct documents *d = user;
    rk_run_outcome *run;
    rk_run_outcome_facts f;
    rk_run_assumption a;
    rk_error err;
    if (answered(d, rk_predict_run(d->setup, given, &brief, &run, &err), &err)) {
        rk_run_outcome_describe(run, &f, sizeof(f));
        REQUIRE_FINITE(&f, rk_run_outcome_facts, tokens, mtbf_s);
        require_number(f.mtbf_s);
        require_number(f.checkpoint_interval_s);
        assert_true(isfinite(f.failures));
        REQUIRE_FINITE(&f, rk_run_outcome_facts, near_copies_per_checkpoint, simulated_runs);
        const rk_spread *const spreads[] = {&f.simulated_total_s, &f.simulated_goodput,
                                            &f.simulated_interruptions, &f.simulated_cost};
        for (size_t i = 0; i < COUNT(spreads); i++) {
            require_number(spreads[i]->p10);
            require_number(spreads[i]->p50);
            require_number(spreads[i]->p90);
        }
        for (size_t i = 0; rk_run_outcome_assumption(run, i, &a, sizeof(a)); i++) {
            require_number(a.low_total_s);
            require_number(a.high_total_s);
        }
        require_sound_outcome(rk_run_outcome_strategies(run));
    }
    rk_run_outcome_free(run);
}

static const struct range kept_of_run[] = {
    KEEP(rk_run_request, size),         KEEP(rk_run_request, strategy),
    KEEP(rk_run_request, space),        KEEP(rk_run_request, law),
    KEEP(rk_run_request, batch_law),    KEEP(rk_run_request, reliability),
    KEEP(rk_run_request, prices),       KEEP(rk_run_request, near_checkpoint),
    KEEP(rk_run_request, storage_tiers)};

static void test_runs(void **state)
{
    struct documents *d = *state;
    rk_run_request request;
    rk_run_request_init(&request, sizeof(request));
    request.strategy = &d->strategy;
    request.tokens = 1e9;
    request.price_per_hour = 2;
    request.simulated_runs = 3;
    const struct target t = {&request, sizeof(request), kept_of_run, COUNT(kept_of_run)};
    d->answers = d->refusals = 0;
    drive_slots(&t, use_run, d);
    REQUIRE_REFUSALS(d->refusals, 0xc55c021932412084)
    drive_random(&t, 200, 3, use_run, d);
    assert_true(d->answers > 100);
}

/* ---- choices --------------------------------------------------------------------------------- */

static void use_setup_choice(const void *given, void *user)
{
    struct documents *d = user;
    rk_setup *setup;
    rk_prediction p;
    rk_error err;
    if (answered(d, rk_setup_create(d->model, d->system, given, &setup, &err), &err)) {
        assert_int_equal(rk_predict_step(setup, &d->strategy, &p, sizeof(p), &err), RK_OK);
        require_sound_prediction(&p);
    }
    rk_setup_free(setup);
}

static void use_target(const void *given, void *user)
{
    struct documents *d = user;
    rk_machines *machines;
    rk_machine_facts f;
    rk_error err;
    if (answered(d, rk_design_machines(d->setup, &d->space, given, &brief, &machines, &err),
                 &err)) {
        for (size_t i = 0; rk_machines_at(machines, i, &f, sizeof(f)); i++) {
            assert_true(isfinite(f.cost_of_one) && isfinite(f.cost));
            require_finite_from(&f, offsetof(rk_machine_facts, step_s), sizeof(f));
        }
    }
    rk_machines_free(machines);
}

static void use_shape(const void *given, void *user)
{
    struct documents *d = user;
    rk_shapes *shapes;
    rk_shape_facts f;
    rk_error err;
    if (answered(d, rk_shape_models(d->setup, &d->space, given, &brief, &shapes, &err), &err)) {
        for (size_t i = 0; rk_shapes_at(shapes, i, &f, sizeof(f)); i++) {
            require_finite_from(&f, offsetof(rk_shape_facts, mfu), sizeof(f));
            assert_true(isfinite(f.parameters));
        }
    }
    rk_shapes_free(shapes);
}

static bool take_row(void *user, const rk_sweep_row *row)
{
    (void)user;
    for (size_t i = 0; i < row->count; i++) {
        assert_true(row->values[i].type != RK_VALUE_REAL || isfinite(row->values[i].real));
    }
    return true;
}

static void use_sweep_control(const void *given, void *user)
{
    struct documents *d = user;
    rk_sweep *sweep;
    rk_sweep_totals totals;
    rk_error err;
    assert_int_equal(rk_sweep_create(GRID, &sweep, &err), RK_OK);
    (void)answered(d, rk_sweep_points(sweep, given, &totals, sizeof(totals), &err), &err);
    rk_sweep_free(sweep);
}

static void use_calibration_choice(const void *given, void *user)
{
    struct documents *d = user;
    rk_calibration *calibration;
    rk_error err;
    (void)answered(d, rk_calibrate_constants("{}", given, &calibration, &err), &err);
    assert_null(calibration);
}

static void test_choices(void **state)
{
    struct documents *d = *state;
    const rk_setup_choice choice = {.size = sizeof(choice), .max_memory_bytes = 1e10};
    const struct range kept_of_choice[] = {
        KEEP(rk_setup_choice, size), KEEP(rk_setup_choice, framework), KEEP(rk_setup_choice, stack),
        KEEP(rk_setup_choice, mfu_convention)};
    const struct target setup = {&choice, sizeof(choice), kept_of_choice, COUNT(kept_of_choice)};
    d->refusals = 0;
    drive_slots(&setup, use_setup_choice, d);
    d->space.accelerators = 0;
    const rk_machine_target wish = {
        .size = sizeof(wish), .prices = PRICES, .days = 1000, .tokens = 1e9};
    const struct range kept_of_wish[] = {KEEP(rk_machine_target, size),
                                         KEEP(rk_machine_target, prices)};
    const struct target machines = {&wish, sizeof(wish), kept_of_wish, COUNT(kept_of_wish)};
    drive_slots(&machines, use_target, d);
    d->space.accelerators = 2;
    const rk_shape_choice shape = {
        .size = sizeof(shape), .blocks = {1, {4}}, .heads = {1, {4}}, .head_multiple = 2};
    const struct range kept_of_shape[] = {
        KEEP(rk_shape_choice, size),
        {offsetof(rk_shape_choice, blocks.values[2]), offsetof(rk_shape_choice, heads)},
        {offsetof(rk_shape_choice, heads.values[2]), offsetof(rk_shape_choice, head_sizes)},
        {offsetof(rk_shape_choice, head_sizes.values[2]),
         offsetof(rk_shape_choice, head_multiple)}};
    const struct target shapes = {&shape, sizeof(shape), kept_of_shape, COUNT(kept_of_shape)};
    drive_slots(&shapes, use_shape, d);
    const rk_sweep_control control = {.size = sizeof(control), .threads = 1, .row = take_row};
    const struct range kept_of_control[] = {
        KEEP(rk_sweep_control, size),   KEEP(rk_sweep_control, user),
        KEEP(rk_sweep_control, row),    KEEP(rk_sweep_control, progress),
        KEEP(rk_sweep_control, csv),    KEEP(rk_sweep_control, sqlite),
        KEEP(rk_sweep_control, pareto), KEEP(rk_sweep_control, team)};
    const struct target sweeps = {&control, sizeof(control), kept_of_control,
                                  COUNT(kept_of_control)};
    drive_slots(&sweeps, use_sweep_control, d);
    const rk_calibration_choice quick = {.size = sizeof(quick), .threads = 1, .quick = true};
    const struct range kept_of_quick[] = {KEEP(rk_calibration_choice, size)};
    const struct target calibrations = {&quick, sizeof(quick), kept_of_quick, 1};
    drive_slots(&calibrations, use_calibration_choice, d);
    REQUIRE_REFUSALS(d->refusals, 0x17e128e4e8faadc5)
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void require_sound_collective(struct documents *d, int64_t ranks, int64_t stride,
                                     double bytes)
{
    rk_collective_timing t;
    rk_error err;
    if (answered(d,
                 rk_predict_collective(d->system, "all_reduce", ranks, stride, bytes, &t, sizeof(t),
                                       &err),
                 &err)) {
        REQUIRE_FINITE(&t, rk_collective_timing, seconds, ranks);
    }
}

static void test_numbers(void **state)
{
    struct documents *d = *state;
    rk_explanation *explanation;
    rk_explanation_facts facts;
    rk_error err;
    double flops = 0;
    for (size_t i = 0; i < COUNT(extreme_counts); i++) {
        const int64_t count = extreme_counts[i];
        require_sound_collective(d, count, 1, 1e6);
        require_sound_collective(d, 8, count, 1e6);
        require_sound_collective(d, count, count, 1e6);
        (void)rk_system_peak(d->system, (rk_precision)count);
        if (answered(d, rk_model_count_flops(d->model, count, "palm", &flops, &err), &err)) {
            assert_true(isfinite(flops) && flops > 0);
        }
    }
    for (size_t i = 0; i < COUNT(extreme_reals); i++) {
        require_sound_collective(d, 8, 1, extreme_reals[i]);
        if (answered(d,
                     rk_explain_system(d->setup, &d->space, extreme_reals[i], &brief, &explanation,
                                       &err),
                     &err)) {
            rk_explanation_describe(explanation, &facts, sizeof(facts));
            REQUIRE_FINITE(&facts, rk_explanation_facts, change, numbers);
        }
        rk_explanation_free(explanation);
    }
}

/* ---- sizes, pointers and texts --------------------------------------------------------------- */

static void test_sizes(void **state)
{
    struct documents *d = *state;
    static const size_t wrong[] = {0, 1, sizeof(size_t) - 1, SIZE_MAX, SIZE_MAX / 2, 1 << 20};
    rk_outcome *outcome;
    rk_prediction p;
    rk_machines *machines;
    rk_run_outcome *run;
    rk_error err;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        rk_strategy s = d->strategy;
        rk_space space = d->space;
        rk_machine_target target = {.size = wrong[i], .prices = PRICES};
        rk_run_request request;
        rk_setup_choice choice = {.size = wrong[i]};
        rk_job_control control = {.size = wrong[i]};
        rk_setup *setup;
        rk_run_request_init(&request, sizeof(request));
        request.strategy = &d->strategy;
        s.size = space.size = request.size = wrong[i];
        assert_int_equal(rk_predict_step(d->setup, &s, &p, sizeof(p), &err), RK_ERR_INVALID);
        assert_string_equal(err.path, "size");
        assert_int_equal(rk_plan_strategies(d->setup, &space, NULL, &outcome, &err),
                         RK_ERR_INVALID);
        assert_string_equal(err.path, "size");
        assert_int_equal(rk_design_machines(d->setup, &d->space, &target, NULL, &machines, &err),
                         RK_ERR_INVALID);
        assert_string_equal(err.path, "size");
        assert_int_equal(rk_predict_run(d->setup, &request, NULL, &run, &err), RK_ERR_INVALID);
        assert_string_equal(err.path, "size");
        assert_int_equal(rk_setup_create(d->model, d->system, &choice, &setup, &err),
                         RK_ERR_INVALID);
        assert_string_equal(err.path, "size");
        const rk_status status = rk_plan_strategies(d->setup, &d->space, &control, &outcome, &err);
        assert_int_equal(status, wrong[i] == 0 ? RK_OK : RK_ERR_INVALID); /* all zero is legal */
        rk_outcome_free(outcome);
    }
}

static void test_null(void **state)
{
    struct documents *d = *state;
    rk_model *model;
    rk_system *system;
    rk_stack *stack;
    rk_setup *setup;
    rk_outcome *outcome;
    rk_run_outcome *run;
    rk_prediction p;
    rk_strategy s;
    rk_legality legality;
    rk_collective_timing t;
    rk_operators *operators;
    rk_timeline *timeline;
    rk_validation *validation;
    rk_run_table *table;
    rk_sweep *sweep;
    rk_calibration *calibration;
    rk_error err;
    const rk_run_table *none = NULL;
    double flops;
    const rk_status statuses[] = {
        rk_model_create(NULL, &model, &err),
        rk_system_create(NULL, &system, &err),
        rk_stack_create(NULL, NULL, &stack, &err),
        rk_setup_create(NULL, d->system, NULL, &setup, &err),
        rk_setup_create(d->model, NULL, NULL, &setup, &err),
        rk_model_count_flops(NULL, 0, "palm", &flops, &err),
        rk_model_count_flops(d->model, 0, NULL, &flops, &err),
        rk_strategy_read(NULL, "{}", &s, sizeof(s), &err),
        rk_strategy_check(d->setup, NULL, &legality, sizeof(legality), &err),
        rk_strategy_check(NULL, &d->strategy, &legality, sizeof(legality), &err),
        rk_predict_step(d->setup, NULL, &p, sizeof(p), &err),
        rk_predict_step(NULL, &d->strategy, &p, sizeof(p), &err),
        rk_estimate_strategy(d->setup, NULL, &outcome, &err),
        rk_estimate_strategy(NULL, &d->strategy, &outcome, &err),
        rk_plan_strategies(d->setup, NULL, NULL, &outcome, &err),
        rk_plan_strategies(NULL, &d->space, NULL, &outcome, &err),
        rk_fit_strategies(NULL, &d->space, NULL, &outcome, &err),
        rk_predict_run(d->setup, NULL, NULL, &run, &err),
        rk_predict_collective(NULL, "all_reduce", 8, 1, 1, &t, sizeof(t), &err),
        rk_predict_collective(d->system, NULL, 8, 1, 1, &t, sizeof(t), &err),
        rk_operators_create(NULL, 0, &operators, &err),
        rk_timeline_create(NULL, 0, &timeline, &err),
        rk_run_table_create(NULL, &table, &err),
        rk_validate_runs(&none, 1, NULL, &validation, &err),
        rk_sweep_create(NULL, &sweep, &err),
        rk_sweep_points(NULL, NULL, NULL, 0, &err),
        rk_calibrate_constants(NULL, NULL, &calibration, &err),
    };
    for (size_t i = 0; i < COUNT(statuses); i++) {
        if (statuses[i] != RK_ERR_INVALID) {
            fail_msg("call %zu returned %d", i, (int)statuses[i]);
        }
    }
}

/* Names of a megabyte, and names that are not UTF-8, are refused on one short line. */
static void test_texts(void **state)
{
    struct documents *d = *state;
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG + 1);
    static const char *const broken[] = {"\xff\xfe", "llama\xc3", "\xed\xa0\x80", "a\nb", ""};
    assert_non_null(text);
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    for (size_t i = 0; i <= COUNT(broken); i++) {
        const char *name = i < COUNT(broken) ? broken[i] : text;
        const rk_setup_choice choice = {
            .size = sizeof(choice), .framework = name, .mfu_convention = name};
        const rk_machine_target target = {.size = sizeof(target), .prices = name};
        rk_space space = d->space;
        rk_run_request request;
        rk_model *model;
        rk_system *system;
        rk_setup *setup;
        rk_outcome *outcome;
        rk_machines *machines;
        rk_run_outcome *run;
        rk_error err;
        space.options = name;
        rk_run_request_init(&request, sizeof(request));
        request.strategy = &d->strategy;
        request.tokens = 1e9;
        request.law = request.batch_law = request.reliability = request.prices = name;
        assert_true(rk_model_create(name, &model, &err) != RK_OK && err.message[0]);
        assert_true(rk_system_create(name, &system, &err) != RK_OK && err.message[0]);
        assert_true(rk_setup_create(d->model, d->system, &choice, &setup, &err) != RK_OK);
        assert_true(rk_plan_strategies(d->setup, &space, NULL, &outcome, &err) != RK_OK);
        assert_true(rk_design_machines(d->setup, &d->space, &target, NULL, &machines, &err) !=
                    RK_OK);
        assert_true(rk_predict_run(d->setup, &request, NULL, &run, &err) != RK_OK);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_spaces),  cmocka_unit_test(test_runs),
        cmocka_unit_test(test_choices), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_null),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, open_documents, close_documents);
}
