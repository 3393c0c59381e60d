/* SPDX-License-Identifier: Apache-2.0 */
/* A whole run as JSON and CSV, and its timeline. */
#include "answer/run_answer.h"
#include "answer/timeline_answer.h"

#include "base/error.h"
#include "base/units.h"

#include <assert.h>
#include <math.h>

/* ---- fields -------------------------------------------------------------------------------- */

/* The figures of a run, with the goodput by another law. */
struct shown {
    rk_run_outcome_facts figures;
    double goodput_first;
};

#define FIELD(key, member)  RK_ANSWER_FIELD(key, struct shown, figures.member)
#define FIGURE(member)      FIELD(#member, member)
#define SPREAD(key, member) FIELD(key, member), .in = RK_IN_CSV

/* Results, then their spread in simulated runs. */
static const rk_answer_field fields[] = {
    {FIGURE(steps)},
    {FIGURE(total_s)},
    {FIGURE(training_s)},
    {FIGURE(checkpoints_s)},
    {FIGURE(lost_s)},
    {FIGURE(restarts_s)},
    {FIGURE(planned_s)},
    {FIGURE(start_s)},
    {FIGURE(goodput)},
    {RK_ANSWER_FIELD("goodput_first_order", struct shown, goodput_first), .positive = true},
    {FIGURE(mtbf_s)},
    {FIGURE(failures)},
    {FIGURE(checkpoint_interval_s)},
    {FIGURE(near_copies_per_checkpoint)},
    {FIGURE(checkpoint_write_s)},
    {FIGURE(checkpoint_blocking_s)},
    {FIGURE(accelerator_hours)},
    {FIGURE(cost), .positive = true},
    {FIGURE(energy_J), .positive = true},
    {FIGURE(carbon_kg), .positive = true},
    {SPREAD("total_p10_s", simulated_total_s.p10)},
    {SPREAD("total_p50_s", simulated_total_s.p50)},
    {SPREAD("total_p90_s", simulated_total_s.p90)},
    {SPREAD("goodput_p10", simulated_goodput.p10)},
    {SPREAD("goodput_p50", simulated_goodput.p50)},
    {SPREAD("goodput_p90", simulated_goodput.p90)},
};
enum { FIELDS = COUNT(fields), RESULTS = FIELDS - 6 };

#define INPUT(key, member) RK_ANSWER_FIELD(key, rk_whole_run, member)

/* Inputs of the cost and the energy. */
static const rk_answer_field rate_fields[] = {
    {INPUT("price_per_hour", training.price), .positive = true},
    {INPUT("spare_accelerators", training.spares)},
    {INPUT("utilisation", utilisation)},
    {INPUT("power_W", training.power)},
    {INPUT("idle_power_W", training.idle_power)},
    {INPUT("pue", training.pue)},
    {INPUT("data_bytes", data_bytes)},
    {INPUT("data_bytes_per_s", data_rate)},
};

#define TIER(key, member) RK_ANSWER_FIELD(key, rk_run_tier, member)

/* By tier; the last three are not known where a run that saves there does not advance. */
const rk_answer_field rk_run_tier_fields[RK_RUN_TIER_FIELDS] = {
    {TIER("name", tier.name), .title = "saved to"},
    {TIER("holds", holds)},
    {TIER("survived_share", share), RK_PERCENT("survives, %", 0)},
    {TIER("copy_s", copy_s), .title = "written in", .shown = RK_SHOWN_DURATION},
    {TIER("restart_s", restart_s), .title = "restart", .shown = RK_SHOWN_DURATION},
    {TIER("interval_s", interval_s), .title = "best interval", .shown = RK_SHOWN_DURATION,
     .positive = true},
    {TIER("goodput", goodput), RK_PERCENT("goodput, %", 1), .positive = true},
    {TIER("total_s", total_s), .title = "days", .factor = 1 / DAY, .digits = 4,
     .shown = RK_SHOWN_SHORT, .positive = true},
};

static const rk_answer_field range_fields[] = {
    {RK_ANSWER_FIELD("name", rk_run_assumption, name)},
    {RK_ANSWER_FIELD("low", rk_run_assumption, low)},
    {RK_ANSWER_FIELD("high", rk_run_assumption, high)},
    {RK_ANSWER_FIELD("low_total_s", rk_run_assumption, low_total_s)},
    {RK_ANSWER_FIELD("high_total_s", rk_run_assumption, high_total_s)},
};

static const rk_answer_field spread_fields[] = {
    {RK_ANSWER_FIELD("mean", rk_spread, mean)},
    {RK_ANSWER_FIELD("standard_error", rk_spread, error)},
    {RK_ANSWER_FIELD("p10", rk_spread, p10)},
    {RK_ANSWER_FIELD("p50", rk_spread, p50)},
    {RK_ANSWER_FIELD("p90", rk_spread, p90)},
};

static void write_spread(rk_json_writer *writer, const char *key, const rk_spread *spread)
{
    rk_json_open_member(writer, key, "{");
    rk_answer_members(writer, spread_fields, COUNT(spread_fields), spread);
    rk_json_close(writer, "}");
}

static void write_simulated(rk_json_writer *writer, const rk_run_outcome_facts *run)
{
    rk_json_open_member(writer, "simulated", "{");
    rk_json_count(writer, "runs", (uint64_t)run->simulated_runs);
    rk_json_count(writer, "unfinished", (uint64_t)run->unfinished_runs);
    write_spread(writer, "total_s", &run->simulated_total_s);
    write_spread(writer, "goodput", &run->simulated_goodput);
    write_spread(writer, "interruptions", &run->simulated_interruptions);
    if (run->simulated_cost.mean > 0) {
        write_spread(writer, "cost", &run->simulated_cost);
    }
    rk_json_close(writer, "}");
}

/* Phases with their steps, of a run that has several. */
static void write_phases(rk_json_writer *writer, const rk_whole_run *run)
{
    rk_json_open_member(writer, "phases", "[");
    for (int i = 0; i < run->phase_count; i++) {
        const rk_run_phase *p = &run->phases[i];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_count(writer, "seq_tokens", (uint64_t)p->seq);
        rk_json_count(writer, "global_batch", (uint64_t)p->batch);
        rk_json_real(writer, "tokens", p->tokens);
        rk_json_real(writer, "step_s", p->step_s);
        rk_json_real(writer, "training_s", p->days * DAY);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

/* The tokens by the chosen law, and by others. */
static void write_target(rk_json_writer *writer, const rk_whole_run *run)
{
    const rk_loss_target *target = &run->target;
    const rk_loss_law *law = &target->law;
    const bool ranged = law->most_tokens > 0;
    if (!(run->question->asked.loss > 0)) {
        return;
    }
    rk_json_open_member(writer, "loss", "{");
    rk_json_real(writer, "target", run->question->asked.loss);
    rk_json_string(writer, "law", law->name);
    rk_json_real(writer, "tokens", target->tokens);
    rk_json_real(writer, "parameters", target->parameters);
    rk_json_real(writer, "range_parameters", ranged ? law->most_parameters : nan(""));
    rk_json_real(writer, "range_tokens", ranged ? law->most_tokens : nan(""));
    rk_json_open_member(writer, "tokens_by_other_laws", "{");
    for (int i = 0; i < target->other_count; i++) {
        rk_json_real(writer, target->others[i].name, target->others[i].tokens);
    }
    rk_json_close(writer, "}");
    rk_json_close(writer, "}");
}

/* A list of objects with the same fields, `size` bytes apart. */
static void write_list(rk_json_writer *writer, const char *key, const rk_answer_field *list,
                       size_t count, const void *items, size_t size, int item_count)
{
    rk_json_open_member(writer, key, "[");
    for (int i = 0; i < item_count; i++) {
        rk_answer_item(writer, list, count, (const char *)items + (size_t)i * size);
    }
    rk_json_close(writer, "]");
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_whole_run *run = what;
    const rk_answer *answer = rk_plan_best(&run->plan);
    const struct shown shown = {rk_whole_run_figures(run), run->result.goodput_first};
    const rk_request request = rk_run_shown_request(run);
    rk_request_write_json(writer, &request, run->inputs);
    rk_plan_write_search_json(writer, &run->plan);
    if (!answer) {
        rk_plan_write_missing_json(writer, &run->plan);
        return;
    }
    rk_json_open_member(writer, "run", "{");
    rk_json_real(writer, "tokens", run->training.tokens);
    write_target(writer, run);
    if (run->best_batch > 0) {
        rk_json_count(writer, "step_law_global_batch", (uint64_t)run->best_batch);
    }
    rk_json_real(writer, "step_s", run->training.step);
    rk_json_string(writer, "step_source",
                   rk_run_step_is_stated(run->question) ? "stated" : "predicted");
    rk_json_real(writer, "mfu",
                 answer->estimate.mfu * answer->estimate.step /
                     rk_run_step_s(run->question, &answer->estimate));
    rk_json_real(writer, "checkpoint_bytes", run->training.checkpoint);
    rk_answer_members(writer, fields, FIELDS, &shown);
    if (run->simulation.runs > 0) {
        write_simulated(writer, &shown.figures);
    }
    rk_answer_members(writer, rate_fields, COUNT(rate_fields), run);
    if (run->phase_count > 0) {
        write_phases(writer, run);
    }
    if (run->tier_count > 0) {
        write_list(writer, "tiers", rk_run_tier_fields, RK_RUN_TIER_FIELDS, run->tiers,
                   sizeof(run->tiers[0]), run->tier_count);
    }
    write_list(writer, "assumptions", range_fields, COUNT(range_fields), &run->ranges->figures,
               sizeof(run->ranges[0]), run->range_count);
    rk_rules_write_json(writer, &run->rules);
    rk_json_close(writer, "}");
    rk_answer_write_json(writer, answer);
}

/* The spread is empty if nothing was simulated or the run never ends. */
static void write_cells(rk_csv_out *csv, const void *what)
{
    const rk_whole_run *run = what;
    const struct shown shown = {rk_whole_run_figures(run), run->result.goodput_first};
    rk_column columns[FIELDS];
    rk_value values[FIELDS] = {{.type = RK_VALUE_NULL}};
    rk_csv_header(csv, columns, rk_answer_columns(fields, FIELDS, columns));
    if (shown.figures.found) {
        (void)rk_answer_values(fields, run->simulation.runs > 0 ? FIELDS : RESULTS, &shown, values);
        rk_csv_row(csv, values, FIELDS);
    }
}

/* ---- the timeline -------------------------------------------------------------------------- */

static const char *const moment_names[] = {"start", "interruption", "resume", "end"};

static void write_moment(void *context, const rk_moment *moment)
{
    rk_out *out = context;
    rk_out_printf(out, "%s,%.6g,%.9g,%lld\n", moment_names[moment->kind], moment->time_s / HOUR,
                  moment->done, (long long)moment->saved);
}

/* Progress of the run with the median time. */
static rk_status write_timeline(const rk_job *job, const rk_whole_run *run, const char *path,
                                rk_error *err)
{
    rk_out *out;
    if (run->simulation.runs < 1) {
        return rk_fail(err, RK_ERR_INVALID, "--timeline needs simulated runs: --simulate 1000");
    }
    rk_status status = rk_job_open(job, path, &out, err);
    if (status) {
        return status;
    }
    rk_out_text(out, "moment,hours,done,checkpoints\n");
    status =
        rk_simulate_moments(&run->simulation, run->simulated.middle_run, write_moment, out, err);
    if (status) {
        rk_out_abandon(out);
        return status;
    }
    return rk_out_close(out, err);
}

/* ---- the answer ---------------------------------------------------------------------------- */

static void write_drawings(rk_json_writer *writer, const void *what)
{
    rk_plan_write_drawings(writer, &((const rk_whole_run *)what)->plan, 1);
}

rk_status rk_whole_run_write(const rk_job *job, const rk_whole_run *run, const char *timeline,
                             rk_error *err)
{
    static const rk_answer_writers writers = {.text = rk_whole_run_text,
                                              .members = write_members,
                                              .cells = write_cells,
                                              .drawings = write_drawings};
    const rk_request *request = &run->question->request;
    if (timeline && rk_plan_best(&run->plan)) {
        const rk_status status = write_timeline(job, run, timeline, err);
        if (status) {
            return status;
        }
    }
    return rk_job_answer(job, &writers, run, request->json, request->csv, request->output, err);
}
