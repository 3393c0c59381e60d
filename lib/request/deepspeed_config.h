/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of DeepSpeed, "ds_config.json". */
#ifndef RK_REQUEST_DEEPSPEED_CONFIG_H
#define RK_REQUEST_DEEPSPEED_CONFIG_H

#include "job/job.h"

/*
 * Sets the options that a configuration gives: batch, precision, ZeRO stage, offload, optimizer,
 * and
 * --framework deepspeed.  Options that are set already stay, and "auto" sets nothing.  Errors name
 * the file and the member.
 */
rk_status rk_request_take_deepspeed(rk_job *job, const char *path, rk_error *err);

#endif
