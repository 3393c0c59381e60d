/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed functions of the library one after the other, for failing allocations: exit status 2
 * and the message of the error on standard error where one fails.
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
    rk_space space = {.size = sizeof(space),
                      .accelerators = 4,
                      .global_batch = 8,
                      .tp = two,
                      .threads = 1,
                      .options = "{\"pp\": 1, \"cp\": 1, \"micro_batch\": [1, 2]}"};
    rk_status status = open_all(w);
    if (!status) {
        status = fits ? rk_fit_strategies(w->setup, &space, NULL, &w->outcome, &w->err)
                      : rk_plan_strategies(w->setup, &space, NULL, &w->outcome, &w->err);
    }
    if (!status) {
        (void)printf("%zu\n", rk_outcome_count(w->outcome));
    }
    return status;
}

int main(int argc, char **argv)
{
    struct work w = {0};
    const char *what = argc > 1 ? argv[1] : "";
    const rk_status status =
        strcmp(what, "estimate") == 0 ? estimate(&w) : search(&w, strcmp(what, "fit") == 0);
    if (status) {
        char text[1024];
        (void)fprintf(stderr, "%s\n", rk_error_text(&w.err, text, sizeof(text)));
    }
    rk_free(w.text);
    rk_outcome_free(w.outcome);
    rk_setup_free(w.setup);
    rk_stack_free(w.stack);
    rk_system_free(w.system);
    rk_model_free(w.model);
    return status ? 2 : 0;
}
