/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twenty jobs with nothing but the installed library:
 *
 *     cc -o jobs jobs.c $(pkg-config --cflags --libs libreckon)
 *     ./jobs RUNS.csv
 *
 * Strategies, plans, fits and collectives use the typed functions of reckon/predict.h; whole runs
 * and validation are jobs of reckon/command.h.  RUNS.csv is a table of measured runs, such as those
 * of data/runs.  Each job prints one JSON object: the command line that asks `reckon` the same, and
 * figures by their path in its answer, or the whole answer.
 */
#include <inttypes.h>
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

static void print_real(const char *prefix, const char *path, double value)
{
    (void)printf(", \"%s%s\": %.17g", prefix, path, value);
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
    print_real(prefix, "estimate/memory_total_bytes", p.memory_bytes);
    print_real(prefix, "estimate/sent_bytes_per_step/tensor", p.tensor_bytes);
    print_real(prefix, "estimate/sent_bytes_per_step/data", p.data_bytes);
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
        print_real(prefix, "interval/step_p10_s", p.p10_step_s);
        print_real(prefix, "interval/step_p90_s", p.p90_step_s);
    }
    print_real(prefix, "stages/0/total_bytes", first.memory_bytes);
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

/* A strategy of tensor and pipeline parallelism. */
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
    if (status) {
        report("estimate", &err);
    } else {
        (void)printf("{\"command\": [\"estimate\", \"--model\", \"%s\", \"--system\", \"%s\", "
                     "\"--tp\", \"%" PRId64 "\", \"--pp\", \"%" PRId64 "\", \"--dp\", \"%" PRId64
                     "\", \"--global-batch\", \"%" PRId64
                     "\"], \"figures\": {\"strategy/accelerators\": %" PRId64,
                     model, system, tp, pp, dp, batch, tp * pp * dp);
        print_strategy("", outcome, 0);
        (void)puts("}}");
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

/* Any command as a job: `arguments` is its command line as a list, `request` the same as JSON. */
static void ask(const char *command, const char *arguments, const char *request)
{
    rk_error err;
    char *answer = NULL;
    if (rk_answer_request(command, request, NULL, &answer, &err)) {
        report(command, &err);
        return;
    }
    (void)printf("{\"command\": [\"%s\", %s], \"answer\": %s}\n", command, arguments, answer);
    rk_free(answer);
}

static void run(const char *model, const char *system, int accelerators, int batch,
                const char *tokens)
{
    char arguments[512], request[512];
    (void)snprintf(arguments, sizeof(arguments),
                   "\"--model\", \"%s\", \"--system\", \"%s\", \"--accelerators\", \"%d\", "
                   "\"--global-batch\", \"%d\", \"--tokens\", \"%s\"",
                   model, system, accelerators, batch, tokens);
    (void)snprintf(request, sizeof(request),
                   "{\"model\": \"%s\", \"system\": \"%s\", \"accelerators\": %d, "
                   "\"global_batch\": %d, \"tokens\": \"%s\"}",
                   model, system, accelerators, batch, tokens);
    ask("run", arguments, request);
}

static void validate(const char *runs, const char *only)
{
    char arguments[1024], request[1024];
    (void)snprintf(arguments, sizeof(arguments), "\"--runs\", \"%s\", \"--only\", \"%s\"", runs,
                   only);
    (void)snprintf(request, sizeof(request), "{\"runs\": \"%s\", \"only\": \"%s\"}", runs, only);
    ask("validate", arguments, request);
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
    run("llama3-70b", "dgx-h100-superpod", 512, 1024, "15T");
    run("llama3.1-405b", "h100-roce-24k", 16384, 2048, "15.6T");
    validate(argv[1], "llama");
    validate(argv[1], "a100");
    return failures > 0 ? 1 : 0;
}
