/* SPDX-License-Identifier: Apache-2.0 */
/* Which framework and stack a request means, and why. */
#include "request/option_values.h"
#include "request/request.h"
#include "request/shared_documents.h"

rk_status rk_request_settle(const rk_request *request, bool stack_given, rk_inputs *inputs,
                            rk_error *err)
{
    /* an observed run has the stack that its framework had: rk_request_settle_facts loads it */
    static const rk_stack later = {.name = ""};
    const bool open = request->policy == RK_POLICY_OBSERVED && request->framework >= 0;
    const rk_stack *known = stack_given ? &inputs->software.stack : open ? &later : NULL;
    const rk_software_request wish = {.stack = request->stack,
                                      .known = request->stack ? NULL : known,
                                      .framework = request->framework,
                                      .convention = request->convention,
                                      .quantised = rk_request_quantises(request)};
    rk_software chosen;
    const rk_status status =
        rk_documents_software(request->documents, &wish, &inputs->system.accelerator, &chosen, err);
    if (!status) {
        inputs->software = chosen;
    }
    return status;
}

const char *rk_framework_reason(const rk_inputs *inputs, char out[RK_REASON_SIZE])
{
    return rk_software_framework_reason(&inputs->software, &inputs->system.accelerator, out);
}

const char *rk_stack_reason(const rk_request *request, const rk_inputs *inputs,
                            char out[RK_REASON_SIZE])
{
    return rk_software_stack_reason(request->stack, &inputs->software, &inputs->system.accelerator,
                                    out);
}
