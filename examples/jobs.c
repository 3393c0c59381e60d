/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twenty jobs with nothing but the installed library:
 *
 *     cc -o jobs jobs.c $(pkg-config --cflags --libs libreckon)
 *     ./jobs RUNS.csv
 *
 * RUNS.csv is a table of measured runs, such as those of data/runs.  Each job prints one JSON
 * object: the command line that asks `reckon` the same, and figures by their path in its answer.
 */
#include <inttypes.h>
#include <math.h>
#include <reckon/reckon.h>
#include <stdio.h>

static int failures; /* jobs that could not be done */

static void report(const char *what, const rk_error *err)
{
    char text[1024];
    (void)fprintf(stderr, "%s: %s\n", what, rk_error_text(err, text, sizeof(text)));
    failures++;
}

/* ---- the documents of a job ------------------------------------------------------------------ */

struct setting {
    rk_model *model;
    rk_system *system;
    rk_setup *setup;
};

static rk_status open_setting(const char *model, const char *system, struct setting *s,
                              rk_error *err)
{
    *s = (struct setting){0};
    rk_status status = rk_model_create(model, &s->model, err);
    status = status ? status : rk_system_create(system, &s->system, err);
    return status ? status : rk_setup_create(s->model, s->system, NULL, &s->setup, err);
}

static void close_setting(struct setting *s)
{
    rk_setup_free(s->setup);
    rk_system_free(s->system);
    rk_model_free(s->model);
}

/* ---- what is printed ------------------------------------------------------------------------- */

/* Numbers that are not finite are null in JSON. */
static void print_real(const char *prefix, const char *path, double value)
{
    (void)printf(isfinite(value) ? ", \"%s%s\": %.17g" : ", \"%s%s\": null", prefix, path, value);
}

static void print_count(const char *prefix, const char *path, int64_t value)
{
    (void)printf(", \"%s%s\": %" PRId64, prefix, path, value);
}

/* The figures of a strategy; `prefix` is its place in the answer of the command. */
static void print_strategy(const char *prefix, const rk_outcome *outcome, size_t index)
{
    rk_strategy s;
    rk_prediction p;
    rk_stage_use first;
    char path[96];
    if (!rk_outcome_strategy(outcome, index, &s, sizeof(s)) ||
        !rk_outcome_prediction(outcome, index, &p, sizeof(p)) ||
        !rk_outcome_stage(outcome, index, 0, &first, sizeof(first))) {
        return;
    }
    print_count(prefix, "strategy/tp", s.tp);
    print_count(prefix, "strategy/pp", s.pp);
    print_count(prefix, "strategy/dp", s.dp);
    print_count(prefix, "strategy/ep", s.ep);
    print_count(prefix, "strategy/zero", (int64_t)s.sharding);
    print_count(prefix, "strategy/micro_batch", s.micro_batch);
    print_real(prefix, "estimate/step_s", p.step_s);
    print_real(prefix, "estimate/mfu", p.mfu);
    print_real(prefix, "estimate/tokens_per_s", p.tokens_per_s);
    print_real(prefix, "estimate/memory_total_bytes", p.memory_total_bytes);
    print_real(prefix, "estimate/sent_bytes_per_step/tensor", p.tensor_sent_bytes);
    print_real(prefix, "estimate/sent_bytes_per_step/data", p.data_sent_bytes);
    for (size_t part = 0; rk_time_part_name(part); part++) {
        (void)snprintf(path, sizeof(path), "estimate/time_s/%s", rk_time_part_name(part));
        print_real(prefix, path, p.time_s[part]);
    }
    for (size_t part = 0; rk_memory_part_name(part); part++) {
        (void)snprintf(path, sizeof(path), "estimate/memory_of_worst_stage/parts_bytes/%s",
                       rk_memory_part_name(part));
        print_real(prefix, path, p.memory_part_bytes[part]);
    }
    if (p.comparable_runs > 0) {
        print_real(prefix, "interval/step_p10_s", p.step_p10_s);
        print_real(prefix, "interval/step_p90_s", p.step_p90_s);
    }
    print_real(prefix, "stages/0/total_bytes", first.total_bytes);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* The three best strategies. */
static void plan(const char *model, const char *system, int64_t accelerators, int64_t batch)
{
    struct setting s;
    rk_error err;
    rk_outcome *outcome = NULL;
    const rk_space space = {
        .size = sizeof(space), .accelerators = accelerators, .global_batch = batch, .top = 3};
    rk_status status = open_setting(model, system, &s, &err);
    status = status ? status : rk_plan_strategies(s.setup, &space, NULL, &outcome, &err);
    if (status) {
        report("plan", &err);
    } else {
        rk_outcome_facts facts;
        rk_outcome_describe(outcome, &facts, sizeof(facts));
        (void)printf("{\"command\": [\"plan\", \"--model\", \"%s\", \"--system\", \"%s\", "
                     "\"--accelerators\", \"%" PRId64 "\", \"--global-batch\", \"%" PRId64
                     "\", \"--top\", \"3\"]",
                     model, system, accelerators, batch);
        (void)printf(", \"figures\": {\"search/strategies\": %" PRIu64, facts.strategies);
        for (size_t i = 0; i < rk_outcome_count(outcome); i++) {
            char prefix[48];
            (void)snprintf(prefix, sizeof(prefix), "strategies/%zu/", i);
            print_strategy(prefix, outcome, i);
        }
        (void)puts("}}");
    }
    rk_outcome_free(outcome);
    close_setting(&s);
}

/* Some of the operators of a strategy. */
static rk_status print_operators(const rk_outcome *outcome, rk_error *err)
{
    rk_operators *operators;
    rk_operator_facts o;
    const rk_status status = rk_operators_create(outcome, 0, &operators, err);
    for (size_t i = 0; !status && rk_operators_at(operators, i, &o, sizeof(o)); i += 5) {
        char prefix[48];
        (void)snprintf(prefix, sizeof(prefix), "operators/%zu/", i);
        (void)printf(", \"%skind\": \"%s\", \"%spass\": \"%s\"", prefix, o.kind, prefix, o.pass);
        print_count(prefix, "blocks", o.blocks);
        print_real(prefix, "M", o.M);
        print_real(prefix, "flops", o.flops);
        print_real(prefix, "moved_bytes", o.moved_bytes);
        print_real(prefix, "saved_bytes", o.saved_bytes);
        print_real(prefix, "sent_bytes", o.sent_bytes);
        print_real(prefix, "seconds", o.seconds);
        if (o.collective) {
            (void)printf(", \"%scollective\": \"%s\"", prefix, o.collective);
            print_count(prefix, "ranks", o.ranks);
        }
    }
    rk_operators_free(status ? NULL : operators);
    return status;
}

/* A strategy of tensor and pipeline parallelism, with its operators. */
static void estimate(const char *model, const char *system, int64_t tp, int64_t pp, int64_t dp,
                     int64_t batch)
{
    struct setting s;
    rk_error err;
    rk_strategy strategy;
    rk_outcome *outcome = NULL;
    char options[256];
    (void)snprintf(options, sizeof(options),
                   "{\"tp\": %" PRId64 ", \"pp\": %" PRId64 ", \"dp\": %" PRId64
                   ", \"global_batch\": %" PRId64 "}",
                   tp, pp, dp, batch);
    rk_status status = open_setting(model, system, &s, &err);
    status =
        status ? status : rk_strategy_read(s.setup, options, &strategy, sizeof(strategy), &err);
    status = status ? status : rk_estimate_strategy(s.setup, &strategy, &outcome, &err);
    if (!status) {
        (void)printf("{\"command\": [\"estimate\", \"--model\", \"%s\", \"--system\", \"%s\", "
                     "\"--tp\", \"%" PRId64 "\", \"--pp\", \"%" PRId64 "\", \"--dp\", \"%" PRId64
                     "\", \"--global-batch\", \"%" PRId64
                     "\", \"--operators\"], \"figures\": {\"strategy/accelerators\": %" PRId64,
                     model, system, tp, pp, dp, batch, tp * pp * dp);
        print_strategy("", outcome, 0);
        status = print_operators(outcome, &err);
        (void)puts("}}");
    }
    if (status) {
        report("estimate", &err);
    }
    rk_outcome_free(outcome);
    close_setting(&s);
}

/* Whether anything fits, and on how few accelerators. */
static void fit(const char *model, const char *system, int64_t accelerators, int64_t batch)
{
    struct setting s;
    rk_error err;
    rk_outcome *outcome = NULL;
    const rk_space space = {
        .size = sizeof(space), .accelerators = accelerators, .global_batch = batch};
    rk_status status = open_setting(model, system, &s, &err);
    status = status ? status : rk_fit_strategies(s.setup, &space, NULL, &outcome, &err);
    if (status) {
        report("fit", &err);
    } else {
        rk_outcome_facts facts;
        rk_outcome_describe(outcome, &facts, sizeof(facts));
        (void)printf("{\"command\": [\"fit\", \"--model\", \"%s\", \"--system\", \"%s\", "
                     "\"--accelerators\", \"%" PRId64 "\", \"--global-batch\", \"%" PRId64
                     "\"], \"figures\": {\"fewest_accelerators\": %" PRId64,
                     model, system, accelerators, batch, facts.fewest_accelerators);
        print_strategy("", outcome, 0);
        (void)puts("}}");
    }
    rk_outcome_free(outcome);
    close_setting(&s);
}

static void collective(const char *system, const char *name, int64_t ranks, int64_t bytes)
{
    rk_error err;
    rk_system *machine = NULL;
    rk_collective_timing t;
    rk_status status = rk_system_create(system, &machine, &err);
    status =
        status ? status
               : rk_predict_collective(machine, name, ranks, 1, (double)bytes, &t, sizeof(t), &err);
    if (status) {
        report("comm", &err);
    } else {
        (void)printf("{\"command\": [\"comm\", \"--system\", \"%s\", \"--op\", \"%s\", "
                     "\"--ranks\", \"%" PRId64 "\", \"--bytes\", \"%" PRId64
                     "\"], \"figures\": {\"ranks\": %" PRId64,
                     system, name, ranks, bytes, t.ranks);
        print_real("collectives/0/", "seconds", t.seconds);
        print_real("collectives/0/", "bus_bytes_per_s", t.bus_bytes_per_s);
        (void)puts("}}");
    }
    rk_system_free(machine);
}

/* ---- whole runs ------------------------------------------------------------------------------ */

static void print_spread(const char *path, const rk_spread *spread)
{
    print_real(path, "mean", spread->mean);
    print_real(path, "standard_error", spread->error);
    print_real(path, "p10", spread->p10);
    print_real(path, "p50", spread->p50);
    print_real(path, "p90", spread->p90);
}

static void print_run(const rk_run_outcome *run)
{
    rk_run_outcome_facts f;
    rk_run_assumption assumption;
    rk_run_outcome_describe(run, &f, sizeof(f));
    (void)printf("\"run/tokens\": %.17g", f.tokens);
    const struct {
        const char *path;
        double value;
    } figures[] = {
        {"steps", f.steps},
        {"checkpoint_bytes", f.checkpoint_bytes},
        {"total_s", f.total_s},
        {"training_s", f.training_s},
        {"checkpoints_s", f.checkpoints_s},
        {"lost_s", f.lost_s},
        {"restarts_s", f.restarts_s},
        {"planned_s", f.planned_s},
        {"goodput", f.goodput},
        {"mtbf_s", f.mtbf_s},
        {"failures", f.failures},
        {"checkpoint_interval_s", f.checkpoint_interval_s},
        {"near_copies_per_checkpoint", f.near_copies_per_checkpoint},
        {"checkpoint_write_s", f.checkpoint_write_s},
        {"checkpoint_blocking_s", f.checkpoint_blocking_s},
        {"accelerator_hours", f.accelerator_hours},
        {"cost", f.cost > 0 ? f.cost : (double)NAN}, /* null where it is not known */
        {"energy_J", f.energy_J > 0 ? f.energy_J : (double)NAN},
        {"carbon_kg", f.carbon_kg > 0 ? f.carbon_kg : (double)NAN},
    };
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        print_real("run/", figures[i].path, figures[i].value);
    }
    print_count("run/simulated/", "runs", f.simulated_runs);
    print_count("run/simulated/", "unfinished", f.unfinished_runs);
    print_spread("run/simulated/total_s/", &f.simulated_total_s);
    print_spread("run/simulated/goodput/", &f.simulated_goodput);
    print_spread("run/simulated/interruptions/", &f.simulated_interruptions);
    if (f.cost > 0) {
        print_spread("run/simulated/cost/", &f.simulated_cost);
    }
    for (size_t i = 0; rk_run_outcome_assumption(run, i, &assumption, sizeof(assumption)); i++) {
        char prefix[48];
        (void)snprintf(prefix, sizeof(prefix), "run/assumptions/%zu/", i);
        (void)printf(", \"%sname\": \"%s\"", prefix, assumption.name);
        print_real(prefix, "low", assumption.low);
        print_real(prefix, "high", assumption.high);
        print_real(prefix, "low_total_s", assumption.low_total_s);
        print_real(prefix, "high_total_s", assumption.high_total_s);
    }
}

/* A run of so many tokens by the fastest strategy, at so much an accelerator-hour. */
static void run(const char *model, const char *system, int64_t accelerators, int64_t batch,
                double tokens, double price)
{
    struct setting s;
    rk_error err;
    rk_run_request request;
    rk_run_outcome *outcome = NULL;
    const rk_space space = {
        .size = sizeof(space), .accelerators = accelerators, .global_batch = batch};
    rk_run_request_init(&request, sizeof(request));
    request.space = &space;
    request.tokens = tokens;
    request.price_per_hour = price;
    rk_status status = open_setting(model, system, &s, &err);
    status = status ? status : rk_predict_run(s.setup, &request, NULL, &outcome, &err);
    if (status) {
        report("run", &err);
    } else {
        (void)printf("{\"command\": [\"run\", \"--model\", \"%s\", \"--system\", \"%s\", "
                     "\"--accelerators\", \"%" PRId64 "\", \"--global-batch\", \"%" PRId64
                     "\", \"--tokens\", \"%.17g\", \"--price\", \"%.17g\"], \"figures\": {",
                     model, system, accelerators, batch, tokens, price);
        print_run(outcome);
        print_strategy("", rk_run_outcome_strategies(outcome), 0);
        (void)puts("}}");
    }
    rk_run_outcome_free(outcome);
    close_setting(&s);
}

/* ---- measured runs --------------------------------------------------------------------------- */

static void print_errors(const char *prefix, const char *what, const rk_errors *errors)
{
    char path[80];
    (void)snprintf(path, sizeof(path), "%s%s/", prefix, what);
    print_count(path, "runs", (int64_t)errors->count);
    if (errors->count > 0) {
        print_real(path, "mean", errors->mean);
        print_real(path, "median", errors->median);
        print_real(path, "p90", errors->p90);
        print_real(path, "worst", errors->worst);
        print_real(path, "bias", errors->bias);
        print_real(path, "rank_correlation", errors->rank);
    }
}

static void print_score(const char *prefix, const rk_score *score)
{
    (void)printf(", \"%sgroup\": \"%s\"", prefix, score->group);
    print_errors(prefix, "step", &score->step);
    print_errors(prefix, "null_model", &score->null_model);
    print_errors(prefix, "memory", &score->memory);
    if (score->intervals > 0) {
        print_real(prefix, "interval_coverage", score->interval_coverage);
        print_real(prefix, "interval_width", score->interval_width);
    }
    print_count(prefix, "first_choice/jobs", (int64_t)score->first_choice.groups);
    print_count(prefix, "first_choice/best_chosen", (int64_t)score->first_choice.best);
}

static void print_validation(const rk_validation *validation)
{
    rk_validation_row row;
    rk_score score;
    char prefix[48];
    (void)printf("\"schema_version\": 1");
    if (rk_validation_score(validation, &score, sizeof(score))) {
        print_score("all/0/", &score);
    }
    for (size_t i = 0; rk_validation_group(validation, i, &score, sizeof(score)); i++) {
        (void)snprintf(prefix, sizeof(prefix), "groups/%zu/", i);
        print_score(prefix, &score);
    }
    for (size_t i = 0; rk_validation_at(validation, i, &row, sizeof(row)); i++) {
        (void)snprintf(prefix, sizeof(prefix), "rows/%zu/", i);
        (void)printf(", \"%sid\": \"%s\"", prefix, row.id);
        print_count(prefix, "row", row.row);
        if (row.predicted) {
            print_real(prefix, "step_s", row.step_s);
            print_real(prefix, "tokens_per_s", row.tokens_per_s);
            print_real(prefix, "mfu", row.mfu);
            print_real(prefix, "memory_bytes", row.memory_bytes);
            print_real(prefix, "memory_needed_bytes", row.memory_needed_bytes);
        }
        if (row.predicted && row.step_measured_s > 0) {
            print_real(prefix, "step_measured_s", row.step_measured_s);
            print_real(prefix, "step_error", row.step_error);
        }
    }
}

static void validate(const char *runs, const char *only)
{
    rk_error err;
    rk_run_table *table = NULL;
    rk_validation *validation = NULL;
    const rk_validation_choice choice = {.size = sizeof(choice), .only = only};
    rk_status status = rk_run_table_create(runs, &table, &err);
    if (!status) {
        const rk_run_table *const tables[] = {table};
        status = rk_validate_runs(tables, 1, &choice, &validation, &err);
    }
    if (status) {
        report("validate", &err);
    } else {
        (void)printf("{\"command\": [\"validate\", \"--runs\", \"%s\", \"--only\", \"%s\"], "
                     "\"figures\": {",
                     runs, only);
        print_validation(validation);
        (void)puts("}}");
    }
    rk_validation_free(validation);
    rk_run_table_free(table);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: jobs RUNS.csv\n");
        return 2;
    }
    plan("llama3-8b", "h100-sxm", 8, 64);
    plan("llama3-70b", "dgx-h100-superpod", 64, 512);
    plan("mixtral-8x7b", "h100-sxm", 32, 256);
    plan("gpt3-175b", "dgx-a100-superpod", 512, 1536);
    estimate("llama3-8b", "h100-sxm", 1, 1, 8, 64);
    estimate("llama3-70b", "dgx-h100-superpod", 8, 2, 4, 128);
    estimate("llama3-70b", "dgx-h100-superpod", 4, 8, 2, 128);
    estimate("llama3.1-405b", "h100-roce-24k", 8, 14, 8, 256);
    estimate("gpt3-175b", "dgx-a100-superpod", 8, 8, 16, 1536);
    fit("llama3-8b", "h100-sxm", 8, 64);
    fit("llama3-70b", "dgx-h100-superpod", 32, 128);
    fit("mixtral-8x7b", "h100-sxm", 32, 256);
    collective("dgx-h100-superpod", "all_reduce", 64, INT64_C(1) << 30);
    collective("dgx-h100-superpod", "all_to_all", 16, INT64_C(1) << 26);
    collective("dgx-a100-superpod", "all_gather", 8, INT64_C(1) << 20);
    collective("h100-roce-24k", "reduce_scatter", 128, INT64_C(1) << 28);
    run("llama3-70b", "dgx-h100-superpod", 512, 1024, 15e12, 2);
    run("llama3.1-405b", "h100-roce-24k", 16384, 2048, 15.6e12, 2.5);
    validate(argv[1], "llama");
    validate(argv[1], "a100");
    return failures > 0 ? 1 : 0;
}
