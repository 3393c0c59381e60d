/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon fit`: whether a strategy, or any, fits in memory, and if not, what would make it fit. */
#include "answer/answers.h"
#include "base/error.h"
#include "command/commands.h"
#include "command/option_groups.h"

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
    status = status ? status : rk_fit_write(job, &all->fit, err);
    rk_job_set_found(job, rk_fit_fits(&all->fit));
    rk_plan_clear(&all->fit.plan);
    rk_inputs_clear(&all->inputs);
    free(all);
    return status;
}

const rk_command rk_command_fit = {
    .name = "fit",
    .purpose = "Check whether a strategy fits in memory, and find what makes it fit",
    .options = fit_options,
    .option_count = sizeof(fit_options) / sizeof(fit_options[0]),
    RK_COMMAND_OF_STRATEGY,
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
