/* SPDX-License-Identifier: Apache-2.0 */
/* A launch that is read from a file, as the options of a job. */
#ifndef RK_REQUEST_LAUNCH_OPTIONS_H
#define RK_REQUEST_LAUNCH_OPTIONS_H

#include "job/job.h"
#include "request/request.h"

struct rk_launch;

/*
 * Reads the launch at `path`, "-" for standard input, and sets the options of the job from its
 * facts.  Options that are set already are orders and stay.  A command that searches a layout reads
 * only facts outside the layout: model, machine, batch, sequence, precision, optimizer.  The launch
 * lives as long as the job, in the request.  Errors: the launch is not read; a fact has no option
 * of that value; the model that is given contradicts the launch; no machine, or no number of
 * accelerators.
 */
rk_status rk_request_take_launch(rk_job *job, const char *path, rk_error *err);

/* Takes the options of the command that are among the words of a pasted line: "--tp 4", "--json".
 */
rk_status rk_request_take_own(rk_job *job, struct rk_launch *launch, rk_error *err);

/* As rk_job_set_launch_line, for jobs whose arguments begin with an rk_request. */
rk_status rk_request_take_launch_line(rk_job *job, const char *const *words, size_t count,
                                      bool *taken, rk_error *err);

/* The same for the file of --from, if the job has one: rk_command.prepare. */
rk_status rk_request_prepare(rk_job *job, rk_error *err);

/*
 * The model that the facts of a launch describe, as text in JSON that lives as long as the launch;
 * NULL: they do not describe a whole one.
 */
const char *rk_launch_model_text(struct rk_launch *launch, int64_t seq);

/* Refuses a model that is not the one of the launch. */
rk_status rk_launch_check_model_name(const struct rk_launch *launch, const char *name,
                                     rk_error *err);

/* Whether a name is one of the catalogue, or a file, and not another model than the facts say. */
rk_status rk_launch_knows_model(const struct rk_launch *launch, const char *name, bool *known,
                                rk_error *err);

/* Fails because the catalogue lacks the named model, or the launch names none; says what to do. */
rk_status rk_launch_fail_model(const struct rk_launch *launch, const char *name, rk_error *err);

/*
 * The kernels that a launch names, as values of --set: "dispatcher=deepep,loss_fusion=fused"; not
 * the facts in `said`, the value of --set or NULL.  Frameworks off Megatron core have dropout
 * alone, and what the stack `stack` compiles; NULL for `framework` is on Megatron core, for `stack`
 * any other.  NULL: nothing; else it lives as long as the launch.
 */
const char *rk_launch_settings_text(struct rk_launch *launch, const char *framework,
                                    const char *stack, const char *said);

#endif
