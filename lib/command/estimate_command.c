/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon estimate`: the step of one strategy, its parts, its memory and its communication. */
#include "base/error.h"
#include "base/time_text.h"
#include "base/units.h"
#include "command/commands.h"
#include "command/estimate_operators.h"
#include "command/found.h"
#include "command/option_groups.h"
#include "predict/data_sync.h"
#include "predict/rules_of_thumb.h"
#include "report/gains.h"
#include "request/launch_flags.h"

#include <string.h>

static const rk_option estimate_options[] = {
    {.name = "explain",
     .group = "Answer",
     .common = true,
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, explain),
     .help = "show what limits the step and what better hardware would gain"},
    {.name = "changes",
     .common = true,
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, changes),
     .help = "list the single changes that make the step faster or leaner, best first"},
    {.name = "operators",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, operators),
     .help = "list the operators of one micro-batch: sizes, FLOPs, bytes, messages, time"},
    RK_OPTIONS_OF_SYNC,
    RK_OPTION_EMIT,
    RK_OPTION_COMPLETE,
};

/* The question and the answer. */
struct estimate {
    const rk_request *request;
    const rk_inputs *inputs;
    rk_setting setting;
    rk_found found;
    rk_rules rules;         /* filled for text and JSON */
    rk_sensitivities worth; /* filled when they are asked for */
    rk_fit_changes gains;   /* likewise */
    rk_sync sync;           /* likewise */
    rk_operators operators; /* likewise */
};

static rk_status write_tables(FILE *to, const struct estimate *e, const rk_answer *answer,
                              rk_table_style style, rk_error *err)
{
    rk_status status = rk_write_time(to, &answer->estimate, style, err);
    (void)fputc('\n', to);
    if (!status) {
        status = rk_write_memory(to, answer, style, err);
        (void)fputc('\n', to);
    }
    if (!status) {
        status = rk_write_stages(to, e->inputs, answer, style, err);
    }
    if (!status && rk_strategy_ranks(&answer->strategy) > 1) {
        (void)fputc('\n', to);
        status = rk_write_volumes(to, e->inputs, answer, style, err);
    }
    return status;
}

/* A row for each change, and below it the flags of the framework that make it. */
static void write_gains(FILE *to, const struct estimate *e, const rk_answer *answer)
{
    const rk_estimate *now = &answer->estimate;
    const rk_time_unit unit = rk_time_unit_of(now->step);
    char step[RK_TIME_TITLE_SIZE], words[RK_FIT_CHANGE_TEXT], flags[RK_FLAG_CHANGE_TEXT];
    if (e->gains.count == 0) {
        (void)fputs("No single change makes the step faster or leaner.\n", to);
        return;
    }
    (void)fprintf(to, "%-43s%10s%8s%9s%9s\n", "single change", rk_time_title("step", unit, step),
                  "%", "GiB", "GiB");
    for (size_t i = 0; i < e->gains.count; i++) {
        const rk_fit_change *change = &e->gains.items[i];
        const rk_estimate *then = &change->estimate;
        (void)fprintf(to, "%-43.43s%10.3f%+8.1f%9.1f%+9.1f\n",
                      rk_fit_change_text(&answer->strategy, change, words),
                      then->step / unit.seconds, 100 * (then->step / now->step - 1),
                      then->memory.total / GIB, (then->memory.total - now->memory.total) / GIB);
        (void)rk_flag_change_text(&e->setting, &answer->strategy, change, flags);
        if (strcmp(flags, words) != 0) {
            (void)fprintf(to, "    %s\n", flags);
        }
    }
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const struct estimate *e = what;
    const rk_answer *answer = rk_found_answer(&e->found);
    rk_write_inputs(to, e->request, e->inputs);
    rk_write_found(to, &e->found);
    if (!answer) {
        (void)fputc('\n', to);
        rk_write_shortage(to, &e->found.plan);
        return RK_OK;
    }
    rk_write_strategy(to, &answer->strategy);
    if (e->request->explain) {
        rk_write_origins(to, &e->found.origins);
    }
    (void)fputc('\n', to);
    rk_write_summary(to, e->inputs, answer);
    (void)fputc('\n', to);
    rk_status status = write_tables(to, e, answer, style, err);
    if (!status && e->request->explain) {
        (void)fputc('\n', to);
        status = rk_write_explanation(to, answer, &e->worth, style, err);
        (void)fputc('\n', to);
        rk_rules_write_time(to, &e->rules);
        rk_rules_write(to, &e->rules);
    } else if (!status) {
        (void)fputc('\n', to);
        rk_rules_write_brief(to, &e->rules);
    }
    if (!status && e->request->changes) {
        (void)fputc('\n', to);
        write_gains(to, e, answer);
    }
    if (!status && e->request->dp_sync) {
        (void)fputc('\n', to);
        status = rk_sync_write(to, &e->sync, style, err);
    }
    if (!status && e->request->operators) {
        status = rk_operators_write_text(to, &e->operators, style, err);
    }
    return status;
}

static void write_gains_json(rk_json_writer *writer, const struct estimate *e,
                             const rk_answer *answer)
{
    rk_json_open_member(writer, "changes", "[");
    for (size_t i = 0; i < e->gains.count; i++) {
        const rk_fit_change *change = &e->gains.items[i];
        char words[RK_FIT_CHANGE_TEXT], flags[RK_FLAG_CHANGE_TEXT];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "change", rk_fit_change_text(&answer->strategy, change, words));
        rk_json_string(writer, "flags",
                       rk_flag_change_text(&e->setting, &answer->strategy, change, flags));
        rk_json_real(writer, "step_s", change->estimate.step);
        rk_json_real(writer, "saved_s", answer->estimate.step - change->estimate.step);
        rk_json_real(writer, "memory_total_bytes", change->estimate.memory.total);
        rk_json_real(writer, "saved_bytes",
                     answer->estimate.memory.total - change->estimate.memory.total);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const struct estimate *e = what;
    const rk_answer *answer = rk_found_answer(&e->found);
    rk_found_write_json(writer, &e->found);
    if (!answer) {
        rk_shortage_write_json(writer, &e->found.plan);
        return;
    }
    rk_answer_write_json(writer, answer);
    if (e->request->explain) {
        rk_explanation_write_json(writer, answer, &e->worth);
    }
    if (e->request->changes) {
        write_gains_json(writer, e, answer);
    }
    rk_rules_write_json(writer, &e->rules);
    if (e->request->dp_sync) {
        rk_sync_write_json(writer, &e->sync);
    }
    if (e->request->operators) {
        rk_operators_write_json(writer, &e->operators);
    }
}

static rk_status write_answer(const rk_job *job, const struct estimate *e, rk_error *err)
{
    const rk_request *request = e->request;
    const rk_answer *answer = rk_found_answer(&e->found);
    if (request->emit >= 0 && !answer) {
        rk_remark_no_file(job, "launch file", "emit");
        return RK_OK;
    }
    if (request->emit >= 0) {
        return rk_write_launch(job, request, e->inputs, answer, err);
    }
    if (request->json) {
        return rk_write_document(job, request, e->inputs, write_members, e, err);
    }
    if (request->csv && request->operators && answer) {
        return rk_operators_write_csv(job, request, &e->operators, err);
    }
    return request->csv ? rk_write_rows(job, request, answer, answer ? 1 : 0, err)
                        : rk_job_print(job, request->output, write_text, e, err);
}

static rk_status run_estimate(rk_job *job, void *arguments, rk_error *err)
{
    rk_request *request = arguments;
    if (request->accelerators == 0 && request->dp == 0) {
        request->dp = 1; /* degrees that are not given are 1, even if none is given */
    }
    struct {
        rk_inputs inputs;
        struct estimate e;
    } *all = malloc(sizeof(*all)); /* too large for the stack of a thread */
    if (!all) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    struct estimate *e = &all->e;
    *e = (struct estimate){.request = request, .inputs = &all->inputs};
    rk_status status = rk_request_load(request, &all->inputs, err);
    if (!status) {
        e->setting = rk_setting_of(&all->inputs);
    }
    status = status ? status : rk_found_fill(job, request, &all->inputs, &e->found, err);
    const rk_answer *answer = status ? NULL : rk_found_answer(&e->found);
    if (answer && request->explain) {
        status = rk_find_sensitivities(&e->setting, &answer->strategy, answer->estimate.step,
                                       &e->worth, err);
    }
    if (!status && answer && !request->csv) {
        status = rk_rules_fill(&e->setting, answer, &e->rules, err);
    }
    if (!status && answer && request->changes) {
        status = rk_find_gains(&e->setting, &answer->strategy, &answer->estimate, &e->gains, err);
    }
    if (!status && answer && request->dp_sync) {
        status = rk_sync_fill(request, &e->setting, answer, &e->sync, err);
    }
    if (!status && answer && request->operators) {
        status = rk_operators_fill(&all->inputs, &answer->strategy, &e->operators, err);
    }
    status = status ? status : write_answer(job, e, err);
    rk_operators_clear(&e->operators);
    rk_job_set_found(job, answer && answer->estimate.fits);
    rk_found_clear(&e->found);
    rk_inputs_clear(&all->inputs);
    free(all);
    return status;
}

const rk_command rk_command_estimate = {
    .name = "estimate",
    .purpose = "Predict one training step: time, memory and communication",
    .options = estimate_options,
    .option_count = sizeof(estimate_options) / sizeof(estimate_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .take_launch_flag = rk_request_take_launch_flag,
    .note_launch_word = rk_request_note_launch_word,
    .notes = RK_NOTES_OF_CHOICES
    "Without --accelerators, degrees that are left open are 1. Exit status: 0 done,\n"
    "1 it does not fit, 2 wrong usage or input, or an illegal strategy.\n"
    "\n"
    "example: reckon estimate llama3-70b 64xh100 --tp 8 --pp 2 --explain",
    .size = sizeof(rk_request),
    .init = rk_request_init,
    .complete = rk_request_finish,
    .run = run_estimate,
};
