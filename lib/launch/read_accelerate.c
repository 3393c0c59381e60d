/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of accelerate by themselves: machine and sharding of a program that is not in the launch.
 * Source: huggingface/accelerate src/accelerate/commands/config.
 */
#include "launch/hugging_face.h"

static int recognise(const rk_launch *launch)
{
    return rk_hf_document_has(launch, "distributed_type") ||
                   rk_hf_document_has(launch, "compute_environment")
               ? 3
               : 0;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    rk_hf_assume_layout(launch);
    rk_launch_drop(launch, "compile");
    const rk_status status = rk_hf_state_accelerate(launch, err);
    if (!status) {
        rk_launch_assume_open(launch, "precision", "fp32");
        rk_hf_finish_sharding(launch);
    }
    return status;
}

const rk_launch_reader rk_launch_reader_accelerate = {
    .name = "accelerate",
    .tables = {"accelerate-yaml", "deepspeed-json"},
    .recognise = recognise,
    .resolve = resolve,
};
