/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon fit`: whether a strategy, or any, fits in memory, and if not, what would make it fit. */
#include "base/error.h"
#include "base/extremes.h"
#include "base/time_text.h"
#include "base/units.h"
#include "command/commands.h"
#include "command/fit.h"
#include "report/describe.h"
#include "report/estimate_fields.h"
#include "request/choices.h"
#include "request/launch_flags.h"
#include "search/fewest.h"

#include <inttypes.h>
#include <stdlib.h>

static const rk_option fit_options[] = {
    {.name = "threads",
     .letter = 't',
     .type = RK_OPTION_COUNT,
     .offset = offsetof(rk_request, threads),
     .max = 4096,
     .value = "N",
     .help = "threads for a search; default: one per core"},
    RK_OPTION_COMPLETE,
};

static bool fits(const rk_fit *fit)
{
    const rk_answer *answer = rk_found_answer(&fit->found);
    return answer && answer->estimate.fits;
}

const rk_answer *rk_fit_answer(const rk_fit *fit)
{
    const rk_answer *answer = rk_found_answer(&fit->found);
    const rk_plan_answer *plan = &fit->found.plan;
    return answer ? answer : plan->ranking.shortage.legal ? &plan->nearest : NULL;
}

/* ---- for people ---------------------------------------------------------------------------- */

/* The part of memory that takes most. */
static int largest_part(const rk_stage_memory *memory)
{
    int most = 0;
    for (int i = 1; i < RK_MEMORY_PART_COUNT; i++) {
        most = memory->part[i] > memory->part[most] ? i : most;
    }
    return most;
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
    const int most = largest_part(&e->memory);
    rk_table table;
    (void)fprintf(to, "To cut: %s, %.2f GiB or %.0f %% of the memory of stage %" PRId64 ".\n",
                  rk_memory_part_names[most], e->memory.part[most] / GIB,
                  100 * e->memory.part[most] / e->memory.total, e->worst_stage);
    if (fit->changes.count == 0) {
        (void)fputs("No change of one or two of its choices makes it fit.\n", to);
        return RK_OK;
    }
    (void)fputc('\n', to);
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < fit->changes.count; i++) {
        const rk_fit_change *change = &fit->changes.items[i];
        char text[RK_FIT_CHANGE_TEXT];
        rk_table_cell(&table, "%s", rk_fit_change_text(&answer->strategy, change, text));
        rk_table_cell(&table, "%.2f", change->estimate.memory.total / GIB);
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

static rk_status write_strategy(FILE *to, const rk_fit *fit, rk_table_style style, rk_error *err)
{
    const rk_answer *answer = rk_fit_answer(fit);
    if (!answer) {
        (void)fputc('\n', to);
        rk_write_shortage(to, &fit->found.plan);
        return RK_OK;
    }
    if (fit->found.searched && !fits(fit)) {
        (void)fputs("\nNothing fits.  The strategy that needs least memory:\n\n", to);
    }
    rk_write_strategy(to, &answer->strategy);
    (void)fputc('\n', to);
    rk_write_summary(to, fit->inputs, answer);
    (void)fputc('\n', to);
    const rk_status status = rk_write_memory(to, answer, style, err);
    (void)fputc('\n', to);
    return status ? status : rk_write_stages(to, fit->inputs, answer, style, err);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_fit *fit = what;
    rk_write_inputs(to, fit->request, fit->inputs);
    rk_write_found(to, &fit->found);
    rk_status status = write_strategy(to, fit, style, err);
    if (status || !rk_fit_answer(fit)) {
        return status;
    }
    if (!fits(fit)) {
        (void)fputc('\n', to);
        status = write_changes(to, fit, style, err);
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
    rk_json_real(writer, "missing_bytes", rk_max(e->memory.total - e->usable, 0));
    rk_json_string(writer, "largest_part", rk_memory_part_keys[largest_part(&e->memory)]);
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

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_fit *fit = what;
    const rk_answer *answer = rk_fit_answer(fit);
    rk_json_flag(writer, "fits", fits(fit));
    rk_found_write_json(writer, &fit->found);
    if (!answer) {
        rk_shortage_write_json(writer, &fit->found.plan);
        return;
    }
    rk_json_real(writer, "left_bytes", answer->estimate.usable - answer->estimate.memory.total);
    rk_answer_write_json(writer, answer);
    if (!fits(fit)) {
        write_shortage_json(writer, fit);
    }
    if (fit->fewest > 0) {
        rk_json_count(writer, "fewest_accelerators", (uint64_t)fit->fewest);
    }
}

static rk_status write_answer(const rk_job *job, const rk_fit *fit, rk_error *err)
{
    const rk_request *request = fit->request;
    const rk_answer *answer = rk_fit_answer(fit);
    if (request->json) {
        return rk_write_document(job, request, fit->inputs, write_members, fit, err);
    }
    return request->csv ? rk_write_rows(job, request, answer, answer ? 1 : 0, err)
                        : rk_job_print(job, request->output, write_text, fit, err);
}

/* ---- the answer ---------------------------------------------------------------------------- */

/* The fewest accelerators with the batch of the answer and everything else as requested. */
static rk_status find_fewest(rk_job *job, rk_fit *fit, const rk_answer *answer, rk_error *err)
{
    const rk_inputs *inputs = fit->inputs;
    const rk_search_control control =
        rk_job_search_control(job, "strategies", fit->request->threads);
    rk_request open = rk_request_open(fit->request);
    rk_plan_space space;
    open.accelerators = rk_strategy_ranks(&answer->strategy);
    open.global_batch = answer->strategy.global_batch;
    const rk_status status = rk_request_space(&open, inputs, &space, err);
    return status ? status
                  : rk_find_fewest_accelerators(&inputs->model, &inputs->system,
                                                &inputs->software.stack, &space, &control,
                                                &fit->fewest, &fit->leanest, err);
}

rk_status rk_fit_find(rk_job *job, const rk_request *request, const rk_inputs *inputs, rk_fit *fit,
                      rk_error *err)
{
    *fit = (rk_fit){.request = request, .inputs = inputs};
    rk_status status = rk_found_fill(job, fit->request, fit->inputs, &fit->found, err);
    const rk_answer *answer = status ? NULL : rk_fit_answer(fit);
    if (answer && !fits(fit)) {
        const rk_setting setting = rk_setting_of(fit->inputs);
        status = rk_find_fit_changes(&setting, &answer->strategy, &fit->changes, err);
    }
    return status || !answer ? status : find_fewest(job, fit, answer, err);
}

static rk_status run_fit(rk_job *job, void *arguments, rk_error *err)
{
    const rk_request *request = arguments;
    struct {
        rk_inputs inputs;
        rk_fit fit;
    } *all = malloc(sizeof(*all)); /* too large for the stack of a thread */
    if (!all) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    all->fit = (rk_fit){.request = request, .inputs = &all->inputs};
    rk_status status = rk_request_load(request, &all->inputs, err);
    status = status ? status : rk_fit_find(job, request, &all->inputs, &all->fit, err);
    status = status ? status : write_answer(job, &all->fit, err);
    rk_job_set_found(job, fits(&all->fit));
    rk_found_clear(&all->fit.found);
    rk_inputs_clear(&all->inputs);
    free(all);
    return status;
}

const rk_command rk_command_fit = {
    .name = "fit",
    .purpose = "Check whether a strategy fits in memory, and find what makes it fit",
    .options = fit_options,
    .option_count = sizeof(fit_options) / sizeof(fit_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .take_launch_flag = rk_request_take_launch_flag,
    .note_launch_word = rk_request_note_launch_word,
    .notes = RK_NOTES_OF_CHOICES
    "Exit status: 0 it fits, 1 it does not, 2 wrong usage or input, or an illegal\n"
    "strategy.\n"
    "\n"
    "example: reckon fit llama3-70b 16xh100",
    .size = sizeof(rk_request),
    .init = rk_request_init,
    .complete = rk_request_finish,
    .run = run_fit,
};
