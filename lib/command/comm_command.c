/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon comm`: what collectives take on a system, by size, in nccl-tests format. */
#include "answer/comm_answer.h"
#include "command/comm_options.h"
#include "command/commands.h"
#include "request/what_if.h"

/* What a log does not say of itself: the first of the collectives that were asked for. */
static rk_comm_hint hint_of(const rk_comm_args *args)
{
    const rk_comm_question *q = &args->question;
    rk_comm_hint hint = {
        .has_op = q->ops != RK_COMM_ALL_OPS, .ranks = q->ranks, .domains = args->domains};
    while (hint.has_op && !(q->ops >> hint.op & 1)) {
        hint.op++;
    }
    return hint;
}

static rk_status find_and_write(const rk_job *job, const rk_comm_args *args,
                                const rk_comm_output *output, rk_error *err)
{
    const rk_comm_servers servers = {
        .extra = args->servers,
        .compute_s = 1e-3 * args->compute_ms,
        .price = args->staleness_price,
        .every = args->every,
    };
    rk_comm_answer answer = {.count = 0};
    rk_system system;
    rk_status status = rk_system_load(args->system, &system, err);
    if (status) {
        return status;
    }
    status = args->settings ? rk_what_if_set_all(args->settings, &system, err) : RK_OK;
    status = status ? status : rk_comm_find(&args->question, &system, &answer, err);
    if (!status) {
        status = rk_comm_write(job, &answer, args->servers < 0 ? NULL : &servers, output, err);
    }
    rk_comm_answer_clear(&answer);
    rk_system_clear(&system);
    return status;
}

static rk_status run_comm(rk_job *job, void *arguments, rk_error *err)
{
    rk_comm_args *args = arguments;
    const rk_status status = rk_comm_check(args, err);
    const rk_comm_output output = {.path = args->output,
                                   .plot = args->plot,
                                   .settings = args->settings,
                                   .json = args->json,
                                   .csv = args->csv};
    const rk_comm_hint hint = hint_of(args);
    rk_job_set_found(job, true);
    if (status) {
        return status;
    }
    return args->fit ? rk_comm_fit_write(job, args->fit, &hint, &output, err)
                     : find_and_write(job, args, &output, err);
}

const rk_command rk_command_comm = {
    .name = "comm",
    .purpose = "Predict time and bandwidth of collectives",
    .options = rk_comm_options,
    .option_count = RK_COMM_OPTIONS,
    .notes = "Sizes and bandwidths are those of nccl-tests. Exit status: 0 done, 2 wrong usage\n"
             "or input.\n"
             "\n"
             "example: reckon comm all-reduce 8xdgx-h100-superpod --bytes 1Mi..1Gi --explain",
    .size = sizeof(rk_comm_args),
    .init = rk_comm_init,
    .run = run_comm,
};
