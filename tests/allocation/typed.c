/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed functions of the library one after the other, for failing allocations: exit status 2
 * and the code and message of the error on standard error where one fails.
 */
#include <reckon/reckon.h>
#include <stdio.h>
#include <string.h>

struct work {
    rk_model *model;
    rk_system *system;
    rk_stack *stack;
    rk_setup *setup;
    rk_outcome *outcome;
    rk_run_outcome *run;
    rk_operators *operators;
    rk_timeline *timeline;
    rk_explanation *explanation;
    rk_machines *machines;
    rk_shapes *shapes;
    rk_sweep *sweep;
    rk_run_table *table;
    rk_validation *validation;
    char *text;
    rk_error err;
};

static rk_status open_all(struct work *w)
{
    rk_status status = rk_model_create("llama3-8b", &w->model, &w->err);
    status = status ? status : rk_system_create("h100-sxm", &w->system, &w->err);
    status = status ? status : rk_stack_create("megatron", w->system, &w->stack, &w->err);
    const rk_setup_choice choice = {
        .size = sizeof(choice), .stack = w->stack, .framework = "megatron"};
    return status ? status : rk_setup_create(w->model, w->system, &choice, &w->setup, &w->err);
}

static rk_status estimate(struct work *w)
{
    rk_strategy strategy;
    rk_prediction prediction;
    rk_status status = open_all(w);
    status = status ? status
                    : rk_strategy_read(w->setup, "{\"tp\": 2, \"dp\": 4, \"global_batch\": 32}",
                                       &strategy, sizeof(strategy), &w->err);
    status = status
                 ? status
                 : rk_predict_step(w->setup, &strategy, &prediction, sizeof(prediction), &w->err);
    status = status ? status : rk_estimate_strategy(w->setup, &strategy, &w->outcome, &w->err);
    status =
        status ? status
               : rk_outcome_write_launch(w->outcome, 0, "megatron", NULL, NULL, &w->text, &w->err);
    if (!status) {
        (void)printf("%.17g s\n%s", prediction.step_s, w->text);
    }
    return status;
}

static rk_status search(struct work *w, bool fits)
{
    static const rk_counts two = {1, {2}};
    rk_space pair = {.size = sizeof(pair),
                     .accelerators = 4,
                     .global_batch = 8,
                     .tp = two,
                     .threads = 1,
                     .options = "{\"pp\": 1, \"cp\": 1, \"micro_batch\": [1, 2]}"};
    rk_status status = open_all(w);
    if (!status) {
        status = fits ? rk_fit_strategies(w->setup, &pair, NULL, &w->outcome, &w->err)
                      : rk_plan_strategies(w->setup, &pair, NULL, &w->outcome, &w->err);
    }
    if (!status) {
        (void)printf("%zu\n", rk_outcome_count(w->outcome));
    }
    return status;
}

/* ---- what follows from predictions ----------------------------------------------------------- */

static const rk_space space = {.size = sizeof(rk_space),
                               .accelerators = 4,
                               .global_batch = 8,
                               .tp = {1, {2}},
                               .threads = 1,
                               .options =
                                   "{\"pp\": 1, \"cp\": 1, \"micro_batch\": 1, \"zero\": 1}"};

static rk_status run(struct work *w)
{
    rk_run_request request;
    rk_run_outcome_facts facts;
    rk_run_request_init(&request, sizeof(request));
    request.space = &space;
    request.tokens = 1e9;
    request.simulated_runs = 10;
    rk_status status = open_all(w);
    status = status ? status : rk_predict_run(w->setup, &request, NULL, &w->run, &w->err);
    if (!status) {
        rk_run_outcome_describe(w->run, &facts, sizeof(facts));
        (void)printf("%.17g s, %.17g\n", facts.total_s, facts.simulated_total_s.p90);
    }
    return status;
}

static rk_status detail(struct work *w)
{
    rk_operator_facts o;
    rk_timeline_event event;
    rk_status status = search(w, false);
    status = status ? status : rk_operators_create(w->outcome, 0, &w->operators, &w->err);
    status = status ? status : rk_timeline_create(w->outcome, 0, &w->timeline, &w->err);
    for (size_t i = 0; !status && rk_operators_at(w->operators, i, &o, sizeof(o)); i++) {
        (void)printf("%s %.17g\n", o.kind, o.seconds);
    }
    for (size_t i = 0; !status && rk_timeline_at(w->timeline, i, &event, sizeof(event)); i++) {
        (void)printf("%s %.17g\n", event.kind, event.start_s);
    }
    return status;
}

static rk_status codesign(struct work *w)
{
    static const char *const prices =
        "{\"name\": \"a\", \"currency\": \"$\", \"processor\": 1, \"axes\": [{\"key\": "
        "\"memory_GiB\", \"values\": [80, 90], \"price_per_unit\": 1}]}";
    const rk_machine_target target = {.size = sizeof(target), .prices = prices};
    const rk_shape_choice choice = {
        .size = sizeof(choice), .tolerance_percent = 5, .blocks = {1, {32}}};
    rk_explanation_facts facts;
    rk_status status = open_all(w);
    status =
        status ? status : rk_explain_system(w->setup, &space, 0.1, NULL, &w->explanation, &w->err);
    status = status ? status
                    : rk_design_machines(w->setup, &space, &target, NULL, &w->machines, &w->err);
    status =
        status ? status : rk_shape_models(w->setup, &space, &choice, NULL, &w->shapes, &w->err);
    if (!status) {
        rk_explanation_describe(w->explanation, &facts, sizeof(facts));
        (void)printf("%.17g s\n", facts.step_s);
    }
    return status;
}

static bool print_row(void *user, const rk_sweep_row *row)
{
    (void)user;
    return printf("%d %zu\n", (int)row->point, row->count) > 0;
}

static rk_status sweep(struct work *w)
{
    static const char *const grid =
        "{\"model\": \"llama3-8b\", \"system\": \"h100-sxm\", \"accelerators\": 4, "
        "\"global_batch\": 8, \"strategy\": {\"pp\": 1}, \"axes\": [{\"key\": \"strategy.tp\", "
        "\"values\": [1, 2]}]}";
    const rk_sweep_control control = {.size = sizeof(control), .threads = 1, .row = print_row};
    const rk_status status = rk_sweep_create(grid, &w->sweep, &w->err);
    return status ? status : rk_sweep_points(w->sweep, &control, NULL, 0, &w->err);
}

static rk_status validate(struct work *w)
{
    static const char *const rows =
        "{\"rows\": [{\"id\": \"a\", \"layers\": 16, \"hidden\": 2048, \"heads\": 32, \"vocab\": "
        "131072, \"seq\": 4096, \"accelerator\": \"H100\", \"n_accel\": 8, \"tp\": 2, \"dp\": 4, "
        "\"gbs\": 32, \"mbs\": 4, \"framework\": \"megatron-core\", \"step_time_s\": 1.5}]}";
    rk_validation_row row;
    rk_status status = rk_run_table_create(rows, &w->table, &w->err);
    if (!status) {
        const rk_run_table *const tables[] = {w->table};
        status = rk_validate_runs(tables, 1, NULL, &w->validation, &w->err);
    }
    if (!status && rk_validation_at(w->validation, 0, &row, sizeof(row))) {
        (void)printf("%.17g s %s\n", row.step_s, row.left_out);
    }
    return status;
}

static rk_status schema(struct work *w)
{
    const rk_status status = rk_command_schema(rk_command_find("plan"), &w->text, &w->err);
    (void)printf("%s", status ? "" : w->text);
    return status;
}

static rk_status request(struct work *w)
{
    const rk_status status =
        rk_answer_request("plan",
                          "{\"model\": \"llama3-8b\", \"system\": \"h100-sxm\", \"accelerators\": "
                          "8, \"global_batch\": "
                          "16, \"tp\": [2, 4], \"micro_batch\": 1, \"zero\": 1, \"threads\": 1}",
                          NULL, &w->text, &w->err);
    (void)printf("%s", status ? "" : w->text);
    return status;
}

static rk_status fit(struct work *w)
{
    return search(w, true);
}

static rk_status plan(struct work *w)
{
    return search(w, false);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        rk_status (*work)(struct work *w);
    } works[] = {
        {"estimate", estimate}, {"plan", plan},         {"fit", fit},
        {"run", run},           {"detail", detail},     {"sweep", sweep},
        {"codesign", codesign}, {"validate", validate}, {"schema", schema},
        {"request", request},
    };
    struct work w = {0};
    rk_status status = RK_ERR_INVALID;
    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
        if (argc > 1 && strcmp(argv[1], works[i].name) == 0) {
            status = works[i].work(&w);
        }
    }
    if (status) {
        char text[1024];
        (void)fprintf(stderr, "error %d: %s\n", (int)w.err.code,
                      rk_error_text(&w.err, text, sizeof(text)));
    }
    rk_free(w.text);
    rk_validation_free(w.validation);
    rk_run_table_free(w.table);
    rk_sweep_free(w.sweep);
    rk_shapes_free(w.shapes);
    rk_machines_free(w.machines);
    rk_explanation_free(w.explanation);
    rk_timeline_free(w.timeline);
    rk_operators_free(w.operators);
    rk_run_outcome_free(w.run);
    rk_outcome_free(w.outcome);
    rk_setup_free(w.setup);
    rk_stack_free(w.stack);
    rk_system_free(w.system);
    rk_model_free(w.model);
    return status ? 2 : 0;
}
