/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `fit`. */
#include "answer/answers.h"
#include "answer/timeline_answer.h"

#include "base/extremes.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "job/answer_writers.h"
#include "method/brief.h"
#include "method/describe.h"
#include "method/estimate_fields.h"

#include <inttypes.h>
#include <math.h>

/* ---- for people ---------------------------------------------------------------------------- */

enum { BRIEF_CHANGES = 4 };

static bool is_recommended(const rk_fit *fit)
{
    return fit->plan.searched && rk_fit_fits(fit);
}

static rk_status write_changes(FILE *to, const rk_fit *fit, rk_table_style style, rk_error *err)
{
    const rk_answer *answer = rk_fit_answer(fit);
    const rk_estimate *e = &answer->estimate;
    const rk_time_unit unit = rk_time_unit_of(e->step);
    char step[RK_TIME_TITLE_SIZE];
    const rk_table_column columns[] = {{"change that makes it fit", RK_ALIGN_LEFT},
                                       {"memory, GiB", RK_ALIGN_RIGHT},
                                       {rk_time_title("step", unit, step), RK_ALIGN_RIGHT},
                                       {"cost, %", RK_ALIGN_RIGHT}};
    rk_table table;
    if (style.full) {
        rk_write_largest_part(to, e);
    }
    if (fit->changes.count == 0) {
        (void)fputs("No change of one or two of its choices makes it fit.\n", to);
        return RK_OK;
    }
    (void)fputs(style.full ? "\n" : "", to);
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < fit->changes.count && (style.full || i < BRIEF_CHANGES); i++) {
        const rk_fit_change *change = &fit->changes.items[i];
        char text[RK_FIT_CHANGE_TEXT];
        rk_table_cell(&table, i == 0 ? RK_MARK_BEST "%s" RK_MARK_END : "%s",
                      rk_fit_change_text(&answer->strategy, change, text));
        rk_table_cell(&table, "%.2f", rk_needed_bytes(&change->estimate.memory) / GIB);
        rk_table_cell(&table, "%.3f", change->estimate.step / unit.seconds);
        rk_table_cell(&table, "%+.1f", 100 * (change->estimate.step / e->step - 1));
    }
    return rk_write_table(to, &table, style, err);
}

static void write_fewest(FILE *to, const rk_fit *fit)
{
    char number[RK_COMMAS_SIZE], batch[RK_COMMAS_SIZE];
    const rk_strategy *s = &fit->leanest.strategy;
    if (fit->fewest == 0) {
        (void)fputs("\nNo number of accelerators of this system is enough for this batch.\n", to);
        return;
    }
    (void)fprintf(to,
                  "\nFewest accelerators on which some strategy fits: %s for a batch of "
                  "%s,\nas TP %" PRId64 ", CP %" PRId64 ", PP %" PRId64 ", DP %" PRId64
                  ", EP %" PRId64 ", ZeRO-%d, recompute %s.\n",
                  rk_with_commas((uint64_t)fit->fewest, number),
                  rk_with_commas((uint64_t)s->global_batch, batch), s->tp, s->cp, s->pp, s->dp,
                  s->ep, (int)s->sharding, rk_recompute_kind_names[s->recompute]);
}

/* The memory that a strategy needs, GiB; in hundredths rounded up if it does not fit. */
static double shown_need(const rk_estimate *e)
{
    const double need = rk_needed_bytes(&e->memory) / GIB;
    return e->fits ? need : ceil(100 * need) / 100;
}

/* Memory and step of each cure on one accelerator, fit or not, and the fewest accelerators. */
static rk_status write_cures(FILE *to, const rk_fit *fit, rk_table_style style, rk_error *err)
{
    char number[RK_COMMAS_SIZE], step[RK_TIME_TITLE_SIZE];
    const rk_usual_savings *cures = &fit->cures;
    const rk_time_unit unit = rk_time_unit_of(cures->count ? cures->items[0].estimate.step : 1);
    const rk_table_column columns[] = {{"on one accelerator", RK_ALIGN_LEFT},
                                       {"memory, GiB", RK_ALIGN_RIGHT},
                                       {rk_time_title("step", unit, step), RK_ALIGN_RIGHT},
                                       {"fits", RK_ALIGN_LEFT},
                                       {"fewest", RK_ALIGN_RIGHT}};
    rk_table table;
    (void)fputc('\n', to);
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < cures->count; i++) {
        const rk_usual_saving *cure = &cures->items[i];
        rk_table_cell(&table, "%s", cure->options[0] ? cure->options : cure->name);
        rk_table_cell(&table, "%.2f", shown_need(&cure->estimate));
        rk_table_cell(&table, "%.3f", cure->estimate.step / unit.seconds);
        rk_table_cell(&table, "%s",
                      !cure->estimate.fits ? "no"
                      : cure->fewest == 1  ? RK_MARK_BEST "yes" RK_MARK_END
                                           : RK_MARK_TIGHT "tight" RK_MARK_END);
        rk_table_cell(&table, "%s",
                      cure->fewest ? rk_with_commas((uint64_t)cure->fewest, number) : "none");
    }
    const rk_status status = rk_write_table(to, &table, style, err);
    (void)fputs("Each line has the options of those above it too, the last ones without LoRA.\n",
                to);
    return status;
}

/* The answer where the question is the number of accelerators. */
static void write_number(FILE *to, const rk_fit *fit)
{
    char number[RK_COUNTED_SIZE], batch[RK_COMMAS_SIZE];
    if (fit->fewest > 0) {
        rk_write_label(to, "fewest");
        (void)fprintf(to, RK_MARK_BEST "%s" RK_MARK_END ", for a batch of %s\n",
                      rk_counted((uint64_t)fit->fewest, "accelerator", number),
                      rk_with_commas((uint64_t)fit->request->global_batch, batch));
    } else {
        (void)fputs(RK_MARK_TIGHT "No number of accelerators of this system is enough." RK_MARK_END
                                  "\n",
                    to);
    }
}

static rk_status write_strategy(FILE *to, const rk_fit *fit, rk_table_style style, rk_error *err)
{
    const rk_answer *answer = rk_fit_answer(fit);
    if (!answer) {
        (void)fputc('\n', to);
        rk_plan_write_missing(to, &fit->plan);
        return RK_OK;
    }
    if (fit->plan.searched && !rk_fit_fits(fit)) {
        (void)fputs("\n" RK_MARK_TIGHT "Nothing fits." RK_MARK_END
                    "  The strategy that needs least memory:\n\n",
                    to);
    }
    if (fit->counts) {
        write_number(to, fit);
    }
    rk_write_strategy(to, is_recommended(fit), &answer->strategy);
    (void)fputc('\n', to);
    rk_write_summary(to, fit->inputs, answer);
    (void)fputc('\n', to);
    const rk_status status = rk_write_memory(to, answer, style, err);
    (void)fputc('\n', to);
    return status ? status : rk_write_stages(to, fit->inputs, answer, style, err);
}

static rk_status write_brief(FILE *to, const rk_fit *fit)
{
    const rk_answer *answer = rk_fit_answer(fit);
    rk_brief_write_question(to, fit->request, fit->inputs,
                            fit->counts ? 0 : fit->request->accelerators);
    (void)fputc('\n', to);
    if (!answer) {
        rk_plan_write_missing(to, &fit->plan);
        return RK_OK;
    }
    if (fit->plan.searched && !rk_fit_fits(fit)) {
        (void)fputs(RK_MARK_TIGHT "Nothing fits." RK_MARK_END
                                  " The strategy that needs least memory:\n",
                    to);
    }
    rk_plan_write_risk(to, &fit->plan);
    if (fit->counts) {
        write_number(to, fit);
        rk_brief_write_strategy(to, fit->inputs->software.framework, is_recommended(fit),
                                &answer->strategy);
        rk_brief_write_totals(to, fit->inputs, answer);
        return RK_OK;
    }
    rk_brief_write_strategy(to, fit->inputs->software.framework, is_recommended(fit),
                            &answer->strategy);
    rk_brief_write_step(to, fit->inputs, answer);
    return RK_OK;
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_fit *fit = what;
    rk_status status = RK_OK;
    if (style.full) {
        rk_write_inputs(to, fit->request, fit->inputs);
        rk_plan_write_search(to, &fit->plan);
        status = write_strategy(to, fit, style, err);
    } else {
        status = write_brief(to, fit);
    }
    if (status || !rk_fit_answer(fit)) {
        return status;
    }
    if (fit->counts) {
        return write_cures(to, fit, style, err);
    }
    if (!rk_fit_fits(fit)) {
        (void)fputc('\n', to);
        status = write_changes(to, fit, style, err);
        rk_plan_write_cures(to, &fit->plan);
    }
    write_fewest(to, fit);
    return status;
}

/* ---- for programs -------------------------------------------------------------------------- */

static void write_shortage_json(rk_json_writer *writer, const rk_fit *fit)
{
    const rk_answer *answer = rk_fit_answer(fit);
    const rk_estimate *e = &answer->estimate;
    rk_json_open_member(writer, "shortage", "{");
    rk_json_count(writer, "stage", (uint64_t)e->worst_stage);
    rk_json_real(writer, "missing_bytes", rk_max(rk_needed_bytes(&e->memory) - e->usable, 0));
    rk_json_string(writer, "largest_part", rk_memory_part_keys[rk_largest_part(&e->memory)]);
    rk_json_open_member(writer, "changes", "[");
    for (size_t i = 0; i < fit->changes.count; i++) {
        const rk_fit_change *change = &fit->changes.items[i];
        char text[RK_FIT_CHANGE_TEXT];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "change", rk_fit_change_text(&answer->strategy, change, text));
        rk_json_real(writer, "step_ratio", change->estimate.step / e->step);
        rk_strategy_write_json(writer, &change->strategy);
        rk_estimate_write_json(writer, &change->strategy, &change->estimate);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
    rk_json_close(writer, "}");
}

static void write_cures_json(rk_json_writer *writer, const rk_usual_savings *cures)
{
    rk_json_open_member(writer, "cures", "[");
    for (size_t i = 0; i < cures->count; i++) {
        const rk_usual_saving *cure = &cures->items[i];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "cure", cure->name);
        rk_json_string(writer, "options", cure->options);
        rk_json_count(writer, "fewest_accelerators", (uint64_t)cure->fewest);
        rk_strategy_write_json(writer, &cure->alone);
        rk_estimate_write_json(writer, &cure->alone, &cure->estimate);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_fit *fit = what;
    const rk_answer *answer = rk_fit_answer(fit);
    rk_request_write_json(writer, fit->request, fit->inputs);
    rk_json_flag(writer, "fits", rk_fit_fits(fit));
    rk_plan_write_search_json(writer, &fit->plan);
    if (!answer) {
        rk_plan_write_missing_json(writer, &fit->plan);
        return;
    }
    rk_json_real(writer, "left_bytes",
                 answer->estimate.usable - rk_needed_bytes(&answer->estimate.memory));
    rk_answer_write_json(writer, answer);
    if (fit->counts) {
        write_cures_json(writer, &fit->cures);
    } else if (!rk_fit_fits(fit)) {
        write_shortage_json(writer, fit);
    }
    if (fit->fewest > 0) {
        rk_json_count(writer, "fewest_accelerators", (uint64_t)fit->fewest);
    }
}

static void write_lines(rk_out *out, const void *what)
{
    const rk_answer *answer = rk_fit_answer(what);
    rk_answers_write_lines(out, answer, answer ? 1 : 0);
}

static void write_drawings(rk_json_writer *writer, const void *what)
{
    rk_plan_write_drawings(writer, &((const rk_fit *)what)->plan, 1);
}

rk_status rk_fit_write(const rk_job *job, const rk_fit *fit, rk_error *err)
{
    static const rk_answer_writers writers = {.text = write_text,
                                              .members = write_members,
                                              .lines = write_lines,
                                              .drawings = write_drawings};
    const rk_request *request = fit->request;
    return rk_job_answer(job, &writers, fit, request->json, request->csv, request->output, err);
}
