/* SPDX-License-Identifier: Apache-2.0 */
/* A whole run as JSON and CSV, and its timeline. */
#include "answer/run_answer.h"
#include "answer/timeline_answer.h"

#include "base/error.h"
#include "base/units.h"

#include <assert.h>
#include <math.h>

/* ---- fields -------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    size_t offset; /* of a double in the result */
    bool priced;   /* 0: not known */
} fields[] = {
#define RESULT(key_, member, priced_)                                                              \
    {                                                                                              \
        .key = key_, .offset = offsetof(rk_training_result, member), .priced = priced_             \
    }
    RESULT("steps", steps, false),
    RESULT("total_s", total, false),
    RESULT("training_s", part[RK_TRAINING_STEPS], false),
    RESULT("checkpoints_s", part[RK_TRAINING_CHECKPOINTS], false),
    RESULT("lost_s", part[RK_TRAINING_LOST], false),
    RESULT("restarts_s", part[RK_TRAINING_RESTARTS], false),
    RESULT("planned_s", part[RK_TRAINING_PLANNED], false),
    RESULT("start_s", part[RK_TRAINING_START], false),
    RESULT("goodput", goodput, false),
    RESULT("goodput_first_order", goodput_first, true),
    RESULT("mtbf_s", mtbf, false),
    RESULT("failures", failures, false),
    RESULT("checkpoint_interval_s", interval, false),
    RESULT("near_copies_per_checkpoint", far_every, false),
    RESULT("checkpoint_write_s", writing, false),
    RESULT("checkpoint_blocking_s", blocking, false),
    RESULT("accelerator_hours", accelerator_hours, false),
    RESULT("cost", cost, true),
    RESULT("energy_J", energy, true),
    RESULT("carbon_kg", carbon, true),
#undef RESULT
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* NaN: not known. */
static double field_of(const rk_training_result *result, size_t index)
{
    const double value = *(const double *)((const char *)result + fields[index].offset);
    return fields[index].priced && value <= 0 ? nan("") : value;
}

static void write_spread(rk_json_writer *writer, const char *key, const rk_spread *spread,
                         double factor)
{
    assert(factor > 0);
    rk_json_open_member(writer, key, "{");
    rk_json_real(writer, "mean", factor * spread->mean);
    rk_json_real(writer, "standard_error", factor * spread->error);
    rk_json_real(writer, "p10", factor * spread->p10);
    rk_json_real(writer, "p50", factor * spread->p50);
    rk_json_real(writer, "p90", factor * spread->p90);
    rk_json_close(writer, "}");
}

static void write_simulated(rk_json_writer *writer, const rk_whole_run *run)
{
    const rk_simulated *s = &run->simulated;
    const double each = rk_whole_run_cost_rate(run);
    rk_json_open_member(writer, "simulated", "{");
    rk_json_count(writer, "runs", (uint64_t)run->simulation.runs);
    rk_json_count(writer, "unfinished", (uint64_t)s->unfinished);
    write_spread(writer, "total_s", &s->total_s, 1);
    write_spread(writer, "goodput", &s->goodput, 1);
    write_spread(writer, "interruptions", &s->interruptions, 1);
    if (each > 0) {
        write_spread(writer, "cost", &s->total_s, each);
    }
    rk_json_close(writer, "}");
}

static void write_ranges(rk_json_writer *writer, const rk_whole_run *run)
{
    rk_json_open_member(writer, "assumptions", "[");
    for (int i = 0; i < run->range_count; i++) {
        const rk_assumed_range *r = &run->ranges[i];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "name", r->name);
        rk_json_real(writer, "low", r->low);
        rk_json_real(writer, "high", r->high);
        rk_json_real(writer, "low_total_s", r->low_s);
        rk_json_real(writer, "high_total_s", r->high_s);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

/* By tier; null where a run that saves there does not advance. */
static void write_tiers(rk_json_writer *writer, const rk_whole_run *run)
{
    rk_json_open_member(writer, "tiers", "[");
    for (int i = 0; i < run->tier_count; i++) {
        const rk_run_tier *t = &run->tiers[i];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "name", t->tier.name);
        rk_json_flag(writer, "holds", t->holds);
        rk_json_real(writer, "survived_share", t->share);
        rk_json_real(writer, "copy_s", t->copy_s);
        rk_json_real(writer, "restart_s", t->restart_s);
        rk_json_real(writer, "interval_s", t->total_s > 0 ? t->interval_s : nan(""));
        rk_json_real(writer, "goodput", t->total_s > 0 ? t->goodput : nan(""));
        rk_json_real(writer, "total_s", t->total_s > 0 ? t->total_s : nan(""));
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
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
    if (!(run->question->loss > 0)) {
        return;
    }
    rk_json_open_member(writer, "loss", "{");
    rk_json_real(writer, "target", run->question->loss);
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

/* Inputs of the cost and the energy. */
static void write_rates(rk_json_writer *writer, const rk_whole_run *run)
{
    const rk_training *t = &run->training;
    rk_json_real(writer, "price_per_hour", t->price > 0 ? t->price : nan(""));
    rk_json_real(writer, "spare_accelerators", t->spares);
    rk_json_real(writer, "utilisation", run->utilisation);
    rk_json_real(writer, "power_W", t->power);
    rk_json_real(writer, "idle_power_W", t->idle_power);
    rk_json_real(writer, "pue", t->pue);
    rk_json_real(writer, "data_bytes", run->data_bytes);
    rk_json_real(writer, "data_bytes_per_s", run->data_rate);
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_whole_run *run = what;
    const rk_answer *answer = rk_plan_best(&run->plan);
    const rk_request shown = rk_run_shown_request(run);
    rk_request_write_json(writer, &shown, run->inputs);
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
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        rk_json_real(writer, fields[i].key, field_of(&run->result, i));
    }
    if (run->simulation.runs > 0) {
        write_simulated(writer, run);
    }
    write_rates(writer, run);
    if (run->phase_count > 0) {
        write_phases(writer, run);
    }
    if (run->tier_count > 0) {
        write_tiers(writer, run);
    }
    write_ranges(writer, run);
    rk_rules_write_json(writer, &run->rules);
    rk_json_close(writer, "}");
    rk_answer_write_json(writer, answer);
}

/* The last cells of a row; empty if nothing was simulated or the run never ends. */
static void write_percentiles(rk_out *out, const rk_whole_run *run)
{
    const rk_spread *total = &run->simulated.total_s, *goodput = &run->simulated.goodput;
    const double values[] = {total->p10,   total->p50,   total->p90,
                             goodput->p10, goodput->p50, goodput->p90};
    for (size_t i = 0; i < COUNT(values); i++) {
        char number[RK_NUMBER_TEXT_SIZE];
        const bool known = run->simulation.runs > 0 && isfinite(values[i]);
        rk_out_printf(out, ",%s", known ? rk_double_text(values[i], number) : "");
    }
}

static void write_lines(rk_out *out, const void *what)
{
    const rk_whole_run *run = what;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        rk_out_printf(out, "%s%s", i ? "," : "", fields[i].key);
    }
    rk_out_text(out, ",total_p10_s,total_p50_s,total_p90_s,goodput_p10,goodput_p50,goodput_p90\n");
    for (size_t i = 0; rk_plan_best(&run->plan) && i < FIELD_COUNT; i++) {
        char number[RK_NUMBER_TEXT_SIZE];
        const double value = field_of(&run->result, i);
        rk_out_printf(out, "%s%s", i ? "," : "",
                      isfinite(value) ? rk_double_text(value, number) : "");
    }
    if (rk_plan_best(&run->plan)) {
        write_percentiles(out, run);
        rk_out_text(out, "\n");
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
                                              .lines = write_lines,
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
