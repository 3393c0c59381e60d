/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question to the typed functions of the library, for tests/record:
 *
 *     record_typed VERB MODEL SYSTEM [KEY=VALUE...]
 *
 * VERB is check, step, estimate, plan, fit, operators, timeline, events (as timeline, with
 * streams), launch, run, explain, comm, design, shape or validate (with TABLE in place of MODEL
 * and SYSTEM); KEY is a field of the struct that the function reads ("tp=1,2"), or "options" with
 * a JSON object. Prints a figure per line, "part.name value".  Exit status 1: nothing fits; 2: an
 * error, printed on standard error; 64: a word that this program does not know.
 */
#include <reckon/reckon.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
    char **words; /* KEY=VALUE */
    int count;
    const char *verb;
    rk_model *model;
    rk_system *system;
    rk_stack *stack;
    rk_setup *setup;
    rk_outcome *outcome;
    rk_error err;
};

static const char *find_value(const struct work *w, const char *key)
{
    const size_t length = strlen(key);
    for (int i = 0; i < w->count; i++) {
        if (strncmp(w->words[i], key, length) == 0 && w->words[i][length] == '=') {
            return w->words[i] + length + 1;
        }
    }
    return NULL;
}

static double number(const struct work *w, const char *key, double otherwise)
{
    const char *text = find_value(w, key);
    return text ? strtod(text, NULL) : otherwise;
}

static rk_counts counts(const struct work *w, const char *key)
{
    rk_counts list = {0};
    const char *text = find_value(w, key);
    while (text && *text && list.count < RK_COUNTS_MAX) {
        char *end;
        list.values[list.count++] = strtoll(text, &end, 10);
        text = *end == ',' ? end + 1 : "";
    }
    return list;
}

static rk_space read_space(const struct work *w)
{
    return (rk_space){.size = sizeof(rk_space),
                      .accelerators = (int64_t)number(w, "accelerators", 8),
                      .global_batch = (int64_t)number(w, "global_batch", 64),
                      .tp = counts(w, "tp"),
                      .cp = counts(w, "cp"),
                      .pp = counts(w, "pp"),
                      .vp = counts(w, "vp"),
                      .ep = counts(w, "ep"),
                      .etp = counts(w, "etp"),
                      .micro_batch = counts(w, "micro_batch"),
                      .zero = counts(w, "zero"),
                      .schedules = (unsigned)number(w, "schedules", 0),
                      .recomputes = (unsigned)number(w, "recomputes", 0),
                      .top = (int64_t)number(w, "top", 0),
                      .threads = (int64_t)number(w, "threads", 0),
                      .bounded = number(w, "bounded", 0) > 0,
                      .exhaustive = number(w, "exhaustive", 0) > 0,
                      .options = find_value(w, "options")};
}

static rk_status open_setup(struct work *w, const char *model, const char *system)
{
    const char *const stack = find_value(w, "stack");
    rk_setup_choice choice = {.size = sizeof(choice),
                              .framework = find_value(w, "framework"),
                              .mfu_convention = find_value(w, "mfu_convention"),
                              .max_memory_bytes = number(w, "max_memory_bytes", 0),
                              .max_risk = number(w, "max_risk", 0)};
    rk_status status = rk_model_create(model, &w->model, &w->err);
    status = status ? status : rk_system_create(system, &w->system, &w->err);
    if (stack && !status) {
        status = rk_stack_create(stack, w->system, &w->stack, &w->err);
    }
    choice.stack = w->stack;
    return status ? status : rk_setup_create(w->model, w->system, &choice, &w->setup, &w->err);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void print_strategy(const rk_strategy *strategy)
{
    char text[512];
    const char *name;
    for (size_t i = 0; rk_strategy_field(strategy, i, &name, text, sizeof(text)); i++) {
        (void)printf("strategy.%s %s\n", name, text);
    }
}

static void print_prediction(const rk_prediction *p)
{
    (void)printf("estimate.step_s %.17g\nestimate.mfu %.17g\nestimate.hfu %.17g\n", p->step_s,
                 p->mfu, p->hfu);
    (void)printf("estimate.model_flops %.17g\nestimate.hardware_flops %.17g\n", p->model_flops,
                 p->hardware_flops);
    (void)printf("estimate.tokens_per_s %.17g\nestimate.bf16_step_s %.17g\n", p->tokens_per_s,
                 p->bf16_step_s);
    (void)printf("estimate.memory_total_bytes %.17g\nestimate.memory_usable_bytes %.17g\n",
                 p->memory_total_bytes, p->memory_usable_bytes);
    (void)printf("estimate.host_bytes %.17g\nestimate.fits %d\nestimate.thrashes %d\n",
                 p->host_memory_bytes, p->fits, p->thrashes);
    (void)printf("estimate.worst_stage %d\n", (int)p->worst_stage);
    (void)printf("sent.tensor %.17g\nsent.context %.17g\nsent.expert %.17g\n", p->tensor_sent_bytes,
                 p->context_sent_bytes, p->expert_sent_bytes);
    (void)printf("sent.pipeline %.17g\nsent.data %.17g\n", p->pipeline_sent_bytes,
                 p->data_sent_bytes);
    for (size_t i = 0; i < RK_TIME_ROOM && rk_time_part_name(i); i++) {
        (void)printf("time.%s %.17g\n", rk_time_part_name(i), p->time_s[i]);
    }
    for (size_t i = 0; i < RK_MEMORY_ROOM && rk_memory_part_name(i); i++) {
        (void)printf("memory.%s %.17g\n", rk_memory_part_name(i), p->memory_part_bytes[i]);
    }
    (void)printf("interval.p10_s %.17g\ninterval.p90_s %.17g\ninterval.runs %zu\n", p->step_p10_s,
                 p->step_p90_s, p->comparable_runs);
    (void)printf("interval.models %zu\ninterval.text %s\n", p->comparable_models,
                 p->comparable_runs ? p->comparable_text : "");
}

/* Strategies of an outcome, with their predictions and the memory of every stage. */
static void print_outcome(const rk_outcome *outcome)
{
    rk_outcome_facts facts;
    rk_strategy strategy;
    rk_prediction p;
    rk_stage_use use;
    char change[256];
    rk_outcome_describe(outcome, &facts, sizeof(facts));
    (void)printf("search.searched %d\nsearch.bounded %d\nsearch.strategies %llu\n", facts.searched,
                 facts.bounded, (unsigned long long)facts.strategies);
    (void)printf("search.legal %llu\nsearch.fitting %llu\nsearch.enough %lld\nsearch.fewest %lld\n",
                 (unsigned long long)facts.legal, (unsigned long long)facts.fitting,
                 (long long)facts.enough_accelerators, (long long)facts.fewest_accelerators);
    (void)printf("ranking.count %zu\n", rk_outcome_count(outcome));
    for (size_t i = 0; rk_outcome_prediction(outcome, i, &p, sizeof(p)); i++) {
        (void)printf("ranking.%zu %.17g\n", i, p.step_s);
    }
    const bool first = rk_outcome_strategy(outcome, 0, &strategy, sizeof(strategy)) &&
                       rk_outcome_prediction(outcome, 0, &p, sizeof(p));
    if (first || rk_outcome_nearest(outcome, &strategy, sizeof(strategy), &p, sizeof(p))) {
        print_strategy(&strategy);
        print_prediction(&p);
    }
    for (int64_t stage = 0; rk_outcome_stage(outcome, 0, stage, &use, sizeof(use)); stage++) {
        (void)printf("stages.%d %.17g %.17g\n", (int)stage, use.total_bytes, use.reserved_bytes);
    }
    for (size_t i = 0; rk_outcome_change(outcome, i, change, sizeof(change), NULL, 0); i++) {
        (void)printf("changes.%zu %s\n", i, change);
    }
}

static rk_status print_operators(struct work *w)
{
    rk_operators *operators = NULL;
    rk_operator_facts o;
    const rk_status status = rk_operators_create(w->outcome, 0, &operators, &w->err);
    for (size_t i = 0; !status && rk_operators_at(operators, i, &o, sizeof(o)); i++) {
        (void)printf("operators.%zu %s %s %s %s %.17g %.17g %.17g %.17g\n", i, o.block, o.kind,
                     o.pass, o.part, o.flops, o.moved_bytes, o.sent_bytes, o.seconds);
    }
    rk_operators_free(operators);
    return status;
}

static rk_status print_timeline(struct work *w)
{
    rk_timeline *timeline = NULL;
    rk_timeline_event event;
    const rk_status status = rk_timeline_create(w->outcome, 0, &timeline, &w->err);
    for (size_t i = 0; !status && rk_timeline_at(timeline, i, &event, sizeof(event)); i++) {
        (void)printf("events.%zu %d %s %.17g %.17g\n", i, (int)event.rank, event.kind,
                     event.start_s, event.duration_s);
        if (strcmp(w->verb, "events") == 0) {
            (void)printf("streams.%zu %s %d %d %.17g %.17g %.17g\n", i, event.stream,
                         (int)event.chunk, (int)event.micro_batch, event.tensor_s, event.context_s,
                         event.expert_s);
        }
    }
    rk_timeline_free(timeline);
    return status;
}

static void print_remark(void *user, const char *line)
{
    (void)user;
    (void)printf("remarks.line %s\n", line);
}

static rk_status print_launch(struct work *w)
{
    char *text = NULL;
    const rk_status status = rk_outcome_write_launch(w->outcome, 0, find_value(w, "launch"),
                                                     print_remark, NULL, &text, &w->err);
    for (const char *line = text; !status && line && *line;) {
        const size_t length = strcspn(line, "\n");
        (void)printf("launch.line %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    rk_free(text);
    return status;
}

/* ---- questions ------------------------------------------------------------------------------- */

static rk_status ask_one(struct work *w, bool *found)
{
    rk_strategy strategy;
    rk_prediction p;
    rk_legality legality;
    const char *const options = find_value(w, "options");
    rk_status status =
        rk_strategy_read(w->setup, options ? options : "{}", &strategy, sizeof(strategy), &w->err);
    if (status) {
        return status;
    }
    print_strategy(&strategy);
    if (strcmp(w->verb, "check") == 0) {
        strategy.tp *= (int64_t)number(w, "tp_times", 1);
        strategy.pp *= (int64_t)number(w, "pp_times", 1);
        status = rk_strategy_check(w->setup, &strategy, &legality, sizeof(legality), &w->err);
        if (!status) {
            (void)printf("legality.legal %d\nlegality.rule %s\nlegality.message %s\n",
                         legality.legal, legality.rule ? legality.rule : "", legality.message);
        }
        return status;
    }
    if (strcmp(w->verb, "step") == 0) {
        status = rk_predict_step(w->setup, &strategy, &p, sizeof(p), &w->err);
        if (!status) {
            print_prediction(&p);
            *found = p.fits;
        }
        return status;
    }
    status = rk_estimate_strategy(w->setup, &strategy, &w->outcome, &w->err);
    if (!status) {
        print_outcome(w->outcome);
        *found = rk_outcome_prediction(w->outcome, 0, &p, sizeof(p)) && p.fits;
    }
    return status;
}

static rk_status ask_space(struct work *w, bool *found)
{
    const rk_space space = read_space(w);
    rk_status status = strcmp(w->verb, "fit") == 0
                           ? rk_fit_strategies(w->setup, &space, NULL, &w->outcome, &w->err)
                           : rk_plan_strategies(w->setup, &space, NULL, &w->outcome, &w->err);
    if (status) {
        return status;
    }
    print_outcome(w->outcome);
    *found = rk_outcome_count(w->outcome) > 0;
    if (*found && strcmp(w->verb, "operators") == 0) {
        status = print_operators(w);
    } else if (*found && (strcmp(w->verb, "timeline") == 0 || strcmp(w->verb, "events") == 0)) {
        status = print_timeline(w);
    } else if (*found && strcmp(w->verb, "launch") == 0) {
        status = print_launch(w);
    }
    return status;
}

/* Sets the fields of a run that the question names. */
static void read_run(const struct work *w, rk_run_request *r)
{
    r->tokens = number(w, "tokens", 0);
    r->steps = number(w, "steps", 0);
    r->loss = number(w, "loss", 0);
    r->law = find_value(w, "law");
    r->reference_batch = number(w, "reference_batch", r->reference_batch);
    r->batch_law = find_value(w, "batch_law");
    r->step_s = number(w, "step_s", r->step_s);
    r->mfu_percent = number(w, "mfu_percent", 0);
    r->stragglers_percent = number(w, "stragglers_percent", r->stragglers_percent);
    r->reliability = find_value(w, "reliability");
    r->failures = number(w, "failures", r->failures);
    r->restart_s = number(w, "restart_s", r->restart_s);
    r->spares = (int64_t)number(w, "spares", (double)r->spares);
    r->storage_bytes_per_s = number(w, "storage_bytes_per_s", r->storage_bytes_per_s);
    r->checkpoint_every_s = number(w, "checkpoint_every_s", r->checkpoint_every_s);
    r->async_checkpoint = number(w, "async_checkpoint", r->async_checkpoint) > 0;
    r->near_checkpoint = find_value(w, "near_checkpoint");
    r->storage_tiers = find_value(w, "storage_tiers");
    r->prices = find_value(w, "prices");
    r->price_per_hour = number(w, "price_per_hour", r->price_per_hour);
    r->purchase_price = number(w, "purchase_price", r->purchase_price);
    r->life_years = number(w, "life_years", r->life_years);
    r->power_watts = number(w, "power_watts", r->power_watts);
    r->pue = number(w, "pue", r->pue);
    r->carbon_g_per_kwh = number(w, "carbon_g_per_kwh", r->carbon_g_per_kwh);
    r->simulated_runs = (int64_t)number(w, "simulated_runs", 50);
    r->seed = (int64_t)number(w, "seed", (double)r->seed);
}

static rk_status ask_run(struct work *w, bool *found)
{
    const rk_space space = read_space(w);
    rk_run_outcome *run = NULL;
    rk_run_outcome_facts f;
    rk_run_assumption assumption;
    rk_run_request request;
    rk_run_request_init(&request, sizeof(request));
    request.space = &space;
    read_run(w, &request);
    const rk_status status = rk_predict_run(w->setup, &request, NULL, &run, &w->err);
    if (!status) {
        rk_run_outcome_describe(run, &f, sizeof(f));
        *found = f.found;
        (void)printf("run.tokens %.17g\nrun.steps %.17g\nrun.step_s %.17g\nrun.total_s %.17g\n",
                     f.tokens, f.steps, f.step_s, f.total_s);
        (void)printf("run.training_s %.17g\nrun.checkpoints_s %.17g\nrun.lost_s %.17g\n",
                     f.training_s, f.checkpoints_s, f.lost_s);
        (void)printf("run.restarts_s %.17g\nrun.planned_s %.17g\nrun.start_s %.17g\n", f.restarts_s,
                     f.planned_s, f.start_s);
        (void)printf("run.goodput %.17g\nrun.mtbf_s %.17g\nrun.failures %.17g\n", f.goodput,
                     f.mtbf_s, f.failures);
        (void)printf("run.checkpoint_bytes %.17g\nrun.interval_s %.17g\nrun.near_copies %.17g\n",
                     f.checkpoint_bytes, f.checkpoint_interval_s, f.near_copies_per_checkpoint);
        (void)printf("run.accelerator_hours %.17g\nrun.cost %.17g\nrun.energy_J %.17g\n",
                     f.accelerator_hours, f.cost, f.energy_J);
        (void)printf("run.carbon_kg %.17g\nsimulated.p50_s %.17g\nsimulated.p90_s %.17g\n",
                     f.carbon_kg, f.simulated_total_s.p50, f.simulated_total_s.p90);
        for (size_t i = 0; rk_run_outcome_assumption(run, i, &assumption, sizeof(assumption));
             i++) {
            (void)printf("assumptions.%zu %s %.17g %.17g\n", i, assumption.name,
                         assumption.low_total_s, assumption.high_total_s);
        }
    }
    rk_run_outcome_free(run);
    return status;
}

static rk_status ask_explain(struct work *w, bool *found)
{
    const rk_space space = read_space(w);
    rk_explanation *explanation = NULL;
    rk_explanation_facts facts;
    rk_number_worth worth;
    const rk_status status =
        rk_explain_system(w->setup, &space, number(w, "change", 0.1), NULL, &explanation, &w->err);
    if (!status) {
        rk_explanation_describe(explanation, &facts, sizeof(facts));
        *found = facts.found;
        (void)printf("estimate.step_s %.17g\n", facts.step_s);
        for (size_t i = 0; rk_explanation_at(explanation, i, &worth, sizeof(worth)); i++) {
            (void)printf("numbers.%s %.17g %.17g\n", worth.key, worth.to, worth.gain);
        }
    }
    rk_explanation_free(explanation);
    return status;
}

static rk_status ask_comm(struct work *w)
{
    rk_collective_timing t;
    const rk_status status = rk_predict_collective(
        w->system, find_value(w, "op"), (int64_t)number(w, "ranks", 0),
        (int64_t)number(w, "stride", 1), number(w, "bytes", 1048576), &t, sizeof(t), &w->err);
    if (!status) {
        (void)printf("collective.seconds %.17g\ncollective.bus_bytes_per_s %.17g\n", t.seconds,
                     t.bus_bytes_per_s);
        (void)printf("collective.ranks %d\ncollective.domain %d\n", (int)t.ranks,
                     (int)t.ranks_of_innermost_domain);
    }
    return status;
}

static rk_status ask_design(struct work *w)
{
    const rk_space space = read_space(w);
    const rk_machine_target target = {.size = sizeof(target),
                                      .prices = find_value(w, "prices"),
                                      .step_s = number(w, "target_step_s", 0),
                                      .tokens_per_s = number(w, "tokens_per_s", 0),
                                      .days = number(w, "days", 0),
                                      .tokens = number(w, "tokens", 0)};
    rk_machines *machines = NULL;
    rk_machine_facts f;
    const rk_status status =
        rk_design_machines(w->setup, &space, &target, NULL, &machines, &w->err);
    for (size_t i = 0; !status && rk_machines_at(machines, i, &f, sizeof(f)); i++) {
        const char *key;
        double value;
        (void)printf("machines.%zu %d %.17g %.17g %d %d %d %d\n", i, (int)f.accelerators,
                     f.cost_of_one, f.cost, f.runs, f.on_front, f.meets_target, f.cheapest);
        (void)printf("speeds.%zu %.17g %.17g %.17g %.17g %.17g %.17g\n", i, f.step_s,
                     f.sequences_per_s, f.tokens_per_s, f.mfu, f.days, f.run_cost);
        for (size_t axis = 0; rk_machines_number(machines, i, axis, &key, &value); axis++) {
            (void)printf("numbers.%zu.%zu %s %.17g\n", i, axis, key, value);
        }
    }
    rk_machines_free(machines);
    return status;
}

static rk_status ask_shape(struct work *w)
{
    const rk_space space = read_space(w);
    const rk_shape_choice choice = {.size = sizeof(choice),
                                    .parameters = number(w, "parameters", 0),
                                    .tolerance_percent = number(w, "tolerance_percent", 0),
                                    .blocks = counts(w, "blocks"),
                                    .heads = counts(w, "heads"),
                                    .head_sizes = counts(w, "head_sizes"),
                                    .head_multiple = (int64_t)number(w, "head_multiple", 0),
                                    .feedforward = number(w, "feedforward", 0),
                                    .aspect_min = number(w, "aspect_min", 0),
                                    .aspect_max = number(w, "aspect_max", 0)};
    rk_shapes *shapes = NULL;
    rk_shape_facts f;
    const rk_status status = rk_shape_models(w->setup, &space, &choice, NULL, &shapes, &w->err);
    for (size_t i = 0; !status && rk_shapes_at(shapes, i, &f, sizeof(f)); i++) {
        (void)printf("shapes.%zu %d %d %d %d %d %.17g\n", i, (int)f.blocks, (int)f.hidden,
                     (int)f.feedforward, (int)f.heads, (int)f.head_size, f.parameters);
        (void)printf("speeds.%zu %.17g %d %.17g %.17g %.17g %.17g\n", i, (double)f.mappings, f.runs,
                     f.mfu, f.step_s, f.sequences_per_s, f.tokens_per_s);
    }
    rk_shapes_free(shapes);
    return status;
}

static void print_score(const char *name, const rk_score *s)
{
    const rk_errors *const errors[] = {&s->step, &s->null_model, &s->memory};
    (void)printf("scores.%s %s %zu %.9g %.9g\n", name, s->group, s->intervals, s->interval_coverage,
                 s->interval_width);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        const rk_errors *e = errors[i];
        (void)printf("errors.%s.%zu %zu %.9g %.9g %.9g %.9g %.9g %.9g\n", name, i, e->count,
                     e->mean, e->median, e->p90, e->worst, e->bias, e->rank);
    }
    (void)printf("ranking.%s %zu %zu %zu %.9g %.9g %.9g %.9g\n", name, s->first_choice.groups,
                 s->first_choice.best, s->first_choice.failed, s->first_choice.mean,
                 s->first_choice.median, s->first_choice.p90, s->first_choice.worst);
    (void)printf("verdicts.%s %zu %zu %zu %zu %zu %zu\n", name, s->out_of_memory.ran_fits,
                 s->out_of_memory.ran_not, s->out_of_memory.oom_fits, s->out_of_memory.oom_not,
                 s->out_of_memory.thrash_ran, s->out_of_memory.thrash_oom);
}

static void print_validation_row(size_t i, const rk_validation_row *r)
{
    (void)printf("rows.%zu %s %d %s %s %s %d %s / %s / %s %s %s\n", i, r->file, (int)r->row, r->id,
                 r->source, r->model, r->predicted, r->left_out, r->assumed, r->system,
                 r->accelerator, r->stack);
    (void)printf("steps.%zu %d %d %d %.9g %.9g %.9g %.9g %.9g %.9g\n", i, (int)r->accelerators,
                 (int)r->nodes, r->moe, r->step_s, r->step_measured_s, r->step_error, r->step_p10_s,
                 r->step_p90_s, r->null_step_s);
    (void)printf("rates.%zu %.9g %.9g %.9g %.9g\n", i, r->tokens_per_s, r->flops_per_s, r->mfu,
                 r->mfu_measured);
    (void)printf("memory.%zu %.9g %.9g %.9g %.9g %.9g %d %d %d %d\n", i, r->memory_bytes,
                 r->memory_measured_bytes, r->memory_error, r->memory_needed_bytes,
                 r->memory_usable_bytes, r->fits, r->thrashes, r->ran_out_of_memory, r->unsure);
}

static rk_status ask_validate(struct work *w, const char *document)
{
    const rk_validation_choice choice = {.size = sizeof(choice),
                                         .split = find_value(w, "split"),
                                         .only = find_value(w, "only"),
                                         .by = find_value(w, "by"),
                                         .sources = find_value(w, "sources")};
    rk_run_table *table = NULL;
    rk_validation *validation = NULL;
    rk_validation_row row;
    rk_score score;
    rk_status status = rk_run_table_create(document, &table, &w->err);
    const rk_run_table *const tables[] = {table};
    status = status ? status : rk_validate_runs(tables, 1, &choice, &validation, &w->err);
    for (size_t i = 0; !status && rk_validation_at(validation, i, &row, sizeof(row)); i++) {
        print_validation_row(i, &row);
    }
    if (!status && rk_validation_score(validation, &score, sizeof(score))) {
        print_score("all", &score);
    }
    for (size_t i = 0; !status && rk_validation_group(validation, i, &score, sizeof(score)); i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "%zu", i);
        print_score(name, &score);
    }
    rk_validation_free(validation);
    rk_run_table_free(table);
    return status;
}

static rk_status ask(struct work *w, bool *found)
{
    static const char *const one[] = {"check", "step", "estimate"};
    for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
        if (strcmp(w->verb, one[i]) == 0) {
            return ask_one(w, found);
        }
    }
    if (strcmp(w->verb, "run") == 0) {
        return ask_run(w, found);
    }
    if (strcmp(w->verb, "explain") == 0) {
        return ask_explain(w, found);
    }
    if (strcmp(w->verb, "design") == 0) {
        return ask_design(w);
    }
    if (strcmp(w->verb, "shape") == 0) {
        return ask_shape(w);
    }
    return strcmp(w->verb, "comm") == 0 ? ask_comm(w) : ask_space(w, found);
}

int main(int argc, char **argv)
{
    const bool of_table = argc > 1 && strcmp(argv[1], "validate") == 0;
    const int named = of_table ? 3 : 4;
    if (argc < named) {
        return 64;
    }
    struct work w = {.verb = argv[1], .words = argv + named, .count = argc - named};
    bool found = true;
    rk_status status = of_table ? ask_validate(&w, argv[2]) : open_setup(&w, argv[2], argv[3]);
    status = status || of_table ? status : ask(&w, &found);
    if (status) {
        char text[1024];
        (void)fprintf(stderr, "error %d: %s\n", (int)w.err.code,
                      rk_error_text(&w.err, text, sizeof(text)));
    }
    rk_outcome_free(w.outcome);
    rk_setup_free(w.setup);
    rk_stack_free(w.stack);
    rk_system_free(w.system);
    rk_model_free(w.model);
    return status ? 2 : !found;
}
