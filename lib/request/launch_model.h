/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of Megatron-LM that describe the model: they make a model document, or are compared with
 * the model that the request names.
 */
#ifndef RK_REQUEST_LAUNCH_MODEL_H
#define RK_REQUEST_LAUNCH_MODEL_H

#include "job/job.h"
#include "request/request.h"

/*
 * Keeps what a flag says of the model; *known becomes false for other flags.  As long as no model
 * is named, the request's model is made of the flags.  Errors: RK_ERR_INVALID for values that the
 * flag does not accept.
 */
rk_status rk_launch_take_model_flag(rk_job *job, const char *flag, const char *value,
                                    rk_flag_use *use, bool *known, rk_error *err);

/* Keeps a flag that describes layers, and that no document can be made of. */
rk_status rk_launch_take_layers_flag(rk_job *job, const char *flag, rk_error *err);

/*
 * Refuses flags that contradict the model that the request names, by name; and, if it names none,
 * flags that do not make a whole model, with the missing ones.
 */
rk_status rk_launch_check_model(const rk_request *request, rk_error *err);

/* The value of a switch that a word follows: true, unless the word is "False" or 0. */
bool rk_launch_truth(const char *word, rk_flag_use *use);

#endif
