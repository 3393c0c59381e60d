/* SPDX-License-Identifier: Apache-2.0 */
/* Loads model, system and stack of a request, calls the command, and frees all again. */
#include "command/with_inputs.h"

#include "base/error.h"

#include <assert.h>
#include <stdlib.h>

rk_status rk_with_inputs(rk_job *job, void *arguments, size_t size, rk_inputs_user *use,
                         rk_error *err)
{
    assert(size > 0);
    rk_inputs *inputs = calloc(1, sizeof(*inputs)); /* too large for the stack of a thread */
    void *what = calloc(1, size);
    rk_status status = inputs && what
                           ? rk_request_load(arguments, inputs, err)
                           : rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    if (!status) {
        status = use(job, arguments, inputs, what, err);
    }
    if (inputs) {
        rk_inputs_clear(inputs);
    }
    free(what);
    free(inputs);
    return status;
}
