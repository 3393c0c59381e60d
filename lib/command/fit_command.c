/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon fit`: whether a strategy, or any, fits in memory, and if not, what would make it fit. */
#include "answer/answers.h"
#include "command/commands.h"
#include "command/option_groups.h"
#include "command/with_inputs.h"

static const rk_option fit_options[] = {
    RK_OPTION("threads", COUNT, offsetof(rk_request, threads), .letter = 't', .max = RK_THREADS_MAX,
              .value = "N", .help = "threads for a search; default: one per core"),
    RK_OPTION_COMPLETE,
};

static rk_status answer(rk_job *job, void *arguments, const rk_inputs *inputs, void *what,
                        rk_error *err)
{
    rk_fit *fit = what;
    rk_status status = rk_fit_find(rk_job_work(job), arguments, inputs, fit, err);
    status = status ? status : rk_fit_write(job, fit, err);
    rk_job_set_found(job, rk_fit_fits(fit));
    rk_plan_clear(&fit->plan);
    return status;
}

static rk_status run_fit(rk_job *job, void *arguments, rk_error *err)
{
    return rk_with_inputs(job, arguments, sizeof(rk_fit), answer, err);
}

const rk_command rk_command_fit = {
    .name = "fit",
    .purpose = "Check whether a strategy fits in memory, and find what makes it fit",
    .options = fit_options,
    .option_count = sizeof(fit_options) / sizeof(fit_options[0]),
    RK_COMMAND_OF_STRATEGY,
    .notes = RK_NOTES_OF_CHOICES
    "Without a number of accelerators: the fewest on which fine-tuning fits, and what\n"
    "people try, each with its memory, its step and its number.\n"
    "Exit status: 0 it fits, 1 it does not, 2 wrong usage or input, or an illegal\n"
    "strategy.\n"
    "\n"
    "example: reckon fit llama3-70b 16xh100",
    .size = sizeof(rk_request),
    .init = rk_request_init,
    .complete = rk_request_finish,
    .run = run_fit,
};
