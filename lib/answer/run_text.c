/* SPDX-License-Identifier: Apache-2.0 */
/* A whole run as text. */
#include "answer/run_answer.h"

#include "base/extremes.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "method/brief.h"
#include "method/describe.h"

#include <assert.h>
#include <math.h>

/* ---- amounts ------------------------------------------------------------------------------- */

/* "15.6 T", "5.682 TB", "512". */
const char *rk_amount_text(double value, const char *unit, char out[RK_AMOUNT_SIZE])
{
    assert(!isnan(value));
    if (unit[0] == '\0') {
        char text[RK_NUMBER_TEXT_SIZE];
        (void)snprintf(out, RK_AMOUNT_SIZE, "%s", rk_count_text(value, text));
        return out;
    }
    static const char *const letters[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    for (; value >= 1000 && i + 1 < sizeof(letters) / sizeof(letters[0]); i++) {
        value /= 1000;
    }
    (void)snprintf(out, RK_AMOUNT_SIZE, "%.4g %s%s", value, letters[i], unit);
    return out;
}

/* ---- lines --------------------------------------------------------------------------------- */

void rk_run_write_target(FILE *to, const rk_run_question *question, const rk_loss_target *target,
                         bool full)
{
    const rk_loss_law *law = &target->law;
    char n[RK_AMOUNT_SIZE], d[RK_AMOUNT_SIZE];
    if (!(question->asked.loss > 0)) {
        return;
    }
    rk_write_label(to, "loss");
    (void)fprintf(to, "%.4g by the law %s: %s tokens for %s%s parameters%s\n", question->asked.loss,
                  law->name, rk_amount_text(target->tokens, "", d),
                  rk_amount_text(target->parameters, "", n), target->experts ? " active" : "",
                  law->counts == RK_LAW_COUNTS_ALL ? "" : " outside the embeddings");
    if (law->most_tokens > 0) {
        (void)fprintf(
            to, "%-10sthe law rests on %s of up to %s parameters and %s tokens%s\n", "",
            target->experts ? "dense models" : "runs", rk_amount_text(law->most_parameters, "", n),
            rk_amount_text(law->most_tokens, "", d),
            target->parameters > 1.1 * law->most_parameters ? "; this model is larger" : "");
    }
    for (int i = 0; i < target->other_count && full; i++) {
        (void)fprintf(to, i == 0 ? "%-10sother laws: " : "%.0s, ", "");
        (void)fprintf(to, "%s by %s", rk_amount_text(target->others[i].tokens, "", d),
                      target->others[i].name);
    }
    (void)fputs(target->other_count > 0 && full ? "\n" : "", to);
}

/* Where the number of tokens comes from, if it was not given. */
static void write_tokens(FILE *to, const rk_whole_run *run, rk_table_style style)
{
    char tokens[RK_AMOUNT_SIZE], critical[RK_AMOUNT_SIZE];
    rk_run_write_target(to, run->question, &run->target, style.full);
    if (run->best_batch > 0) {
        const double best =
            (double)run->best_batch * (double)rk_plan_best(&run->plan)->strategy.seq;
        rk_write_label(to, "batch");
        (void)fprintf(to, "%s tokens would be best, by step-law: --global-batch %lld\n",
                      rk_amount_text(best, "", tokens), (long long)run->best_batch);
    }
    if (run->critical > 0) {
        rk_write_label(to, "batch");
        (void)fprintf(
            to, "%s tokens, critical %s: %.4g times the tokens of a batch of %s\n",
            rk_amount_text(run->training.tokens_per_step, "", tokens),
            rk_amount_text(run->critical, "", critical), run->tokens_factor,
            rk_amount_text(run->question->asked.reference_batch, "", (char[RK_AMOUNT_SIZE]){0}));
    }
}

/* "61.2, 66 and 79.1 days", or "no end". */
static void write_spread(FILE *to, const rk_spread *spread)
{
    const rk_time_unit unit = rk_time_unit_of(spread->p10);
    if (spread->p90 < HUGE_VAL) {
        (void)fprintf(to, "%.4g, %.4g and %.4g %s", spread->p10 / unit.seconds,
                      spread->p50 / unit.seconds, spread->p90 / unit.seconds, unit.name);
    } else if (spread->p10 < HUGE_VAL) {
        (void)fprintf(to, "%.4g %s, and no end for some", spread->p10 / unit.seconds, unit.name);
    } else {
        (void)fputs("no end", to);
    }
}

static void write_run(FILE *to, const rk_whole_run *run, rk_table_style style)
{
    const rk_training_result *r = &run->result;
    const rk_simulated *s = &run->simulated;
    const rk_time_unit unit = rk_time_unit_of(r->total);
    char tokens[RK_AMOUNT_SIZE], steps[RK_COMMAS_SIZE], each[RK_COMMAS_SIZE];
    write_tokens(to, run, style);
    rk_write_label(to, "run");
    (void)fprintf(to, "%s tokens in %s steps of %s: %.4g %s\n",
                  rk_amount_text(run->training.tokens, "", tokens),
                  rk_with_commas((uint64_t)r->steps, steps),
                  rk_with_commas((uint64_t)run->training.tokens_per_step, each),
                  r->total / unit.seconds, unit.name);
    if (run->simulation.runs > 0) {
        rk_write_label(to, "");
        (void)fputs("10th, 50th and 90th percentile: ", to);
        write_spread(to, &s->total_s);
        (void)fprintf(to, "\n%-10sof %s simulated runs; goodput %.1f, %.1f and %.1f %%\n", "",
                      rk_with_commas((uint64_t)run->simulation.runs, steps), 100 * s->goodput.p10,
                      100 * s->goodput.p50, 100 * s->goodput.p90);
    }
}

/* The step of the run, if it was stated and not predicted. */
static void write_stated(FILE *to, const rk_whole_run *run)
{
    const rk_estimate *e = &rk_plan_best(&run->plan)->estimate;
    const double step = rk_run_step_s(run->question, e);
    char used[RK_TIME_TEXT_SIZE], predicted[RK_TIME_TEXT_SIZE];
    if (!rk_run_step_is_stated(run->question)) {
        return;
    }
    rk_write_label(to, "stated");
    (void)fprintf(to, "steps of %s, MFU %.2f %% (--%s); predicted: %s, %.2f %%\n",
                  rk_time_text(step, used), 100 * e->mfu * e->step / step,
                  run->question->asked.step_s > 0 ? "step-time" : "mfu",
                  rk_time_text(e->step, predicted), 100 * e->mfu);
}

/* The time of each phase, if there are several. */
static void write_phases(FILE *to, const rk_whole_run *run)
{
    char tokens[RK_AMOUNT_SIZE], step[RK_TIME_TEXT_SIZE], duration[RK_TIME_TEXT_SIZE];
    for (int i = 0; i < run->phase_count; i++) {
        const rk_run_phase *p = &run->phases[i];
        rk_write_label(to, i == 0 ? "phases" : "");
        (void)fprintf(to, "%s tokens in sequences of %lld, batch %lld: step %s, %s\n",
                      rk_amount_text(p->tokens, "", tokens), (long long)p->seq, (long long)p->batch,
                      rk_time_text(p->step_s, step), rk_duration_text(p->days * DAY, duration));
    }
}

static void write_failures(FILE *to, const rk_whole_run *run, rk_table_style style)
{
    const rk_training_result *r = &run->result;
    char time[RK_AMOUNT_SIZE], restart[RK_AMOUNT_SIZE], reading[RK_AMOUNT_SIZE],
        count[RK_AMOUNT_SIZE];
    rk_write_label(to, "failures");
    if (!(r->mtbf < HUGE_VAL)) {
        (void)fputs("none\n", to);
        return;
    }
    (void)fprintf(to, "MTBF %s; %s expected", rk_duration_text(r->mtbf, time),
                  rk_amount_text(r->failures, "", count));
    if (run->simulation.runs > 0 && run->simulated.interruptions.p90 > 0) {
        (void)fprintf(to, " (10th to 90th percentile %.4g to %.4g)",
                      run->simulated.interruptions.p10, run->simulated.interruptions.p90);
    }
    if (!style.full) {
        (void)fputc('\n', to);
        return;
    }
    (void)fprintf(to, ";\n%-10s%s to restart and %s to read\n", "",
                  rk_duration_text(run->training.restart, restart),
                  rk_duration_text(r->writing, reading));
    if (r->goodput_first > 0 && r->goodput - r->goodput_first > 0.01) {
        (void)fprintf(to, "%-10sgoodput %.1f %% by the first-order formula\n", "",
                      100 * r->goodput_first);
    }
    if (run->training.silent > 0 && run->training.silent_share > 0) {
        (void)fprintf(to, "%-10ssilent corruption once in %s, noticed after %s\n", "",
                      rk_duration_text(r->mtbf / run->training.silent_share, time),
                      rk_duration_text(run->training.silent, restart));
    }
    if (run->training.window_every > 0) {
        (void)fprintf(to, "%-10smaintenance of %s every %s\n", "",
                      rk_duration_text(run->training.window, time),
                      rk_duration_text(run->training.window_every, restart));
    }
}

/* Spare nodes that rarely run out. */
static void write_spares(FILE *to, const rk_whole_run *run)
{
    const rk_reliability *r = &run->reliability;
    const double nodes = ceil(run->training.accelerators / r->node);
    const double rate = run->training.failure_rate * r->node * rk_reliability_hardware_share(r);
    char repair[RK_AMOUNT_SIZE];
    if (rate > 0) {
        (void)fprintf(
            to, "%-10s%.0f node%s: %.0f spare suffice 99 %% of the time, at %s to repair\n", "",
            nodes, nodes > 1 ? "s" : "", rk_spares_needed(nodes, rate, r->repair_s, 0.99),
            rk_duration_text(r->repair_s, repair));
    }
}

static void write_checkpoints(FILE *to, const rk_whole_run *run, rk_table_style style)
{
    const rk_training_result *r = &run->result;
    char size[RK_AMOUNT_SIZE], rate[RK_AMOUNT_SIZE];
    char writing[RK_AMOUNT_SIZE], waits[RK_AMOUNT_SIZE], interval[RK_AMOUNT_SIZE];
    rk_write_label(to, "saved");
    (void)fprintf(to, "%s per checkpoint, %s to write",
                  rk_amount_text(run->training.checkpoint, "B", size),
                  rk_duration_text(r->writing, writing));
    if (style.full) {
        (void)fprintf(to, " at %s", rk_amount_text(run->training.storage, "B/s", rate));
    }
    if (run->training.host > 0) {
        (void)fprintf(to, ", of which training waits %s", rk_duration_text(r->blocking, waits));
    }
    if (r->interval < HUGE_VAL) {
        (void)fprintf(to, "; %sinterval %s", run->training.interval > 0 ? "" : "optimal ",
                      rk_duration_text(r->interval, interval));
    }
    if (run->training.near_write > 0) {
        (void)fprintf(to, ";\n%-10scopies in %s take %s, and one in %.0f is in storage too", "",
                      run->question->asked.near_checkpoint,
                      rk_duration_text(run->training.near_write, waits), r->far_every);
    }
    (void)fputc('\n', to);
}

/* Energy by component: boards, the rest of their nodes, the rest of the building. */
static void write_energy(FILE *to, const rk_whole_run *run)
{
    const rk_training *t = &run->training;
    const double machines = run->result.energy / t->pue / HOUR;
    const double hours = run->result.accelerator_hours; /* spares included */
    const double rest = rk_min(machines, run->node.rest * hours);
    char board[RK_AMOUNT_SIZE], node[RK_AMOUNT_SIZE], building[RK_AMOUNT_SIZE];
    (void)fprintf(to, "%-10sboards %s, rest of their nodes %s, building %s\n", "",
                  rk_amount_text(machines - rest, "Wh", board), rk_amount_text(rest, "Wh", node),
                  rk_amount_text((t->pue - 1) * machines, "Wh", building));
    (void)fprintf(to, "%-10s%.0f W while training", "", t->power);
    if (!(run->question->asked.power_watts > 0)) {
        (void)fprintf(to, ", when boards are busy %.0f %% of the time", 100 * run->utilisation);
    }
    (void)fprintf(to, "; %.0f W while waiting\n", t->idle_power);
}

/* The size of the tokens, and how fast training reads them. */
static void write_data(FILE *to, const rk_whole_run *run)
{
    char size[RK_AMOUNT_SIZE], rate[RK_AMOUNT_SIZE], loading[RK_AMOUNT_SIZE];
    rk_write_label(to, "data");
    (void)fprintf(
        to, "%s of tokens, read at %s (%.2g %% of storage bandwidth); %s to read all at once\n",
        rk_amount_text(run->data_bytes, "B", size), rk_amount_text(run->data_rate, "B/s", rate),
        100 * run->data_rate / run->training.storage,
        rk_duration_text(run->data_bytes / run->training.storage, loading));
}

/* The source of the price of an hour. */
static void write_price_source(FILE *to, const rk_whole_run *run)
{
    if (run->hour) {
        (void)fprintf(to, "%-10sprice of %s, %s, in %s\n", "", run->prices.name,
                      run->hour->date[0] ? run->hour->date : run->prices.date,
                      run->prices.currency);
    }
}

/* Accelerator-hours, cost and energy. */
static void write_prices(FILE *to, const rk_whole_run *run, rk_table_style style)
{
    const rk_training *t = &run->training;
    const rk_training_result *r = &run->result;
    char number[RK_AMOUNT_SIZE];
    rk_write_label(to, "cost");
    (void)fprintf(to, "%s accelerator-hours", rk_amount_text(r->accelerator_hours, "", number));
    if (t->spares > 0) {
        (void)fprintf(to, ", %.0f spares included", t->spares);
    }
    if (t->price > 0) {
        (void)fprintf(to, " at %.4g: %s", t->price, rk_amount_text(r->cost, "", number));
        if (run->simulation.runs > 0 && run->simulated.total_s.p90 < HUGE_VAL) {
            const double each = rk_whole_run_cost_rate(run);
            (void)fprintf(to, " (%s",
                          rk_amount_text(each * run->simulated.total_s.p10, "", number));
            (void)fprintf(to, " to %s)",
                          rk_amount_text(each * run->simulated.total_s.p90, "", number));
        }
    }
    (void)fputc('\n', to);
    write_price_source(to, run);
    if (t->power > 0) {
        rk_write_label(to, "energy");
        (void)fprintf(to, "%s at %.0f W per accelerator and PUE %.3g",
                      rk_amount_text(r->energy / HOUR, "Wh", number),
                      r->energy / t->pue / (r->accelerator_hours * HOUR), t->pue);
        if (t->carbon > 0) {
            (void)fprintf(to, "; %s of CO2", rk_amount_text(r->carbon / 1e3, "t", number));
        }
        (void)fputc('\n', to);
        if (style.full) {
            write_energy(to, run);
        }
    }
}

static rk_status write_tiers(FILE *to, const rk_whole_run *run, rk_table_style style, rk_error *err)
{
    enum { INTERVAL = 5 };
    rk_table_column columns[RK_RUN_TIER_FIELDS];
    rk_table table;
    rk_table_init(&table, columns,
                  rk_answer_titles(rk_run_tier_fields, RK_RUN_TIER_FIELDS, columns));
    for (int i = 0; i < run->tier_count; i++) {
        const rk_run_tier *t = &run->tiers[i];
        const bool ends = t->total_s > 0;
        rk_answer_cells(&table, rk_run_tier_fields, INTERVAL + (ends ? 1 : 0), t);
        if (!ends) {
            rk_table_cell(&table, "%s", t->holds ? "does not advance" : "too small");
        }
        rk_answer_cells(&table, &rk_run_tier_fields[INTERVAL + 1],
                        RK_RUN_TIER_FIELDS - INTERVAL - 1, t);
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_parts(FILE *to, const rk_training_result *r, rk_table_style style,
                             rk_error *err)
{
    const rk_time_unit unit = rk_time_unit_of(r->total);
    const rk_table_column columns[] = {
        {"time of the run", RK_ALIGN_LEFT}, {unit.name, RK_ALIGN_RIGHT}, {"%", RK_ALIGN_RIGHT}};
    rk_rounding time = {.digit = 1e-3}, percent = {.digit = 1e-2};
    rk_table table;
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < RK_TRAINING_PART_COUNT; i++) {
        const double shown = rk_round_next(&time, r->part[i] / unit.seconds);
        const double share = rk_round_next(&percent, 100 * r->part[i] / r->total);
        if (r->part[i] > 0) {
            rk_table_cell(&table, "%s", rk_training_part_names[i]);
            rk_table_cell(&table, "%.3f", shown);
            rk_table_cell(&table, "%.2f", share);
        }
    }
    rk_table_rule(&table);
    rk_table_cell(&table, "total");
    rk_table_cell(&table, "%.3f", time.printed);
    rk_table_cell(&table, "%.2f", percent.printed);
    return rk_write_table(to, &table, style, err);
}

/* The rule of thumb for the time of training, 8 T P / (n X). */
static void write_rule(FILE *to, const rk_whole_run *run)
{
    const rk_answer *answer = rk_plan_best(&run->plan);
    const bool recompute = answer->strategy.recompute == RK_REC_FULL;
    const rk_training *t = &run->training;
    const double step = rk_run_step_s(run->question, &answer->estimate) * run->straggling;
    const double rate = answer->estimate.hardware_flops / step; /* with the whole batch */
    const double time =
        rk_training_rule_s(t->tokens, run->parameters, t->accelerators, rate, recompute);
    const rk_time_unit unit = rk_time_unit_of(time);
    rk_write_label(to, "rule");
    (void)fprintf(to, "%d T P / (n X) gives %.4g %s of training at %.4g TFLOP/s\n",
                  rk_rule_flops(recompute), time / unit.seconds, unit.name, rate / 1e12);
}

/* The three assumptions that move the answer most. */
static void write_ranges(FILE *to, const rk_whole_run *run)
{
    for (int i = 0; i < run->range_count && i < 3; i++) {
        const rk_run_assumption *r = &run->ranges[i].figures;
        const double low = rk_min(r->low_total_s, r->high_total_s);
        const double high = rk_max(r->low_total_s, r->high_total_s);
        const rk_time_unit unit = rk_time_unit_of(low);
        rk_write_label(to, i == 0 ? "assumed" : "");
        (void)fprintf(to, "%s x %.3g to %.3g: ", r->name, r->low, r->high);
        if (high < HUGE_VAL) {
            (void)fprintf(to, "%.4g to %.4g %s\n", low / unit.seconds, high / unit.seconds,
                          unit.name);
        } else {
            (void)fprintf(to, "%.4g %s to no end\n", low / unit.seconds, unit.name);
        }
    }
}

/* The run on one screen, and the tables that options request. */
static rk_status write_brief(FILE *to, const rk_whole_run *run, const rk_answer *answer,
                             rk_table_style style, rk_error *err)
{
    const rk_training_result *r = &run->result;
    const rk_request shown = rk_run_shown_request(run);
    rk_brief_write_question(to, &shown, run->inputs,
                            answer ? rk_strategy_ranks(&answer->strategy) : shown.accelerators);
    (void)fputc('\n', to);
    if (!answer) {
        rk_plan_write_missing(to, &run->plan);
        return RK_OK;
    }
    rk_plan_write_risk(to, &run->plan);
    rk_brief_write_strategy(to, run->inputs->software.framework, run->plan.searched,
                            &answer->strategy);
    rk_brief_write_totals(to, run->inputs, answer);
    write_stated(to, run);
    write_run(to, run, style);
    write_phases(to, run);
    rk_write_label(to, "time");
    rk_brief_write_shares(to, rk_training_part_names, r->part, RK_TRAINING_PART_COUNT, r->total, 3);
    write_failures(to, run, style);
    write_checkpoints(to, run, style);
    write_prices(to, run, style);
    if (run->tier_count > 0) {
        (void)fputc('\n', to);
        return write_tiers(to, run, style, err);
    }
    rk_brief_write_more(to,
                        "the parts of time and energy, assumptions, spare nodes, rules of thumb");
    return RK_OK;
}

rk_status rk_whole_run_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_whole_run *run = what;
    const rk_answer *answer = rk_plan_best(&run->plan);
    const rk_request shown = rk_run_shown_request(run);
    if (!style.full) {
        return write_brief(to, run, answer, style, err);
    }
    rk_write_inputs(to, &shown, run->inputs);
    rk_plan_write_search(to, &run->plan);
    if (!answer) {
        (void)fputc('\n', to);
        rk_plan_write_missing(to, &run->plan);
        return RK_OK;
    }
    rk_write_strategy(to, run->plan.searched, &answer->strategy);
    (void)fputc('\n', to);
    rk_write_summary(to, run->inputs, answer);
    (void)fputc('\n', to);
    write_stated(to, run);
    write_run(to, run, style);
    write_phases(to, run);
    write_failures(to, run, style);
    write_spares(to, run);
    write_checkpoints(to, run, style);
    write_data(to, run);
    write_prices(to, run, style);
    write_rule(to, run);
    rk_rules_write(to, &run->rules);
    write_ranges(to, run);
    (void)fputc('\n', to);
    if (run->tier_count > 0) {
        const rk_status status = write_tiers(to, run, style, err);
        (void)fputc('\n', to);
        if (status) {
            return status;
        }
    }
    return write_parts(to, &run->result, style, err);
}
