/* SPDX-License-Identifier: Apache-2.0 */
/* Which framework and stack a request means, and why. */
#include "request/request.h"

static rk_software software_of(const rk_inputs *inputs)
{
    return (rk_software){.framework = inputs->framework,
                         .source = inputs->framework_source,
                         .stack = inputs->stack,
                         .match = inputs->match,
                         .convention = inputs->convention,
                         .year = inputs->year};
}

rk_status rk_request_settle(const rk_request *request, bool stack_given, rk_inputs *inputs,
                            rk_error *err)
{
    const rk_software_wish wish = {.stack = request->stack,
                                   .known = stack_given && !request->stack ? &inputs->stack : NULL,
                                   .framework = request->framework,
                                   .convention = request->convention};
    rk_software chosen;
    const rk_status status = rk_software_choose(&wish, &inputs->system.accelerator, &chosen, err);
    if (!status) {
        inputs->framework = chosen.framework;
        inputs->framework_source = chosen.source;
        inputs->stack = chosen.stack;
        inputs->match = chosen.match;
        inputs->convention = chosen.convention;
        inputs->year = chosen.year;
    }
    return status;
}

const char *rk_framework_reason(const rk_inputs *inputs, char out[RK_REASON_SIZE])
{
    const rk_software software = software_of(inputs);
    return rk_software_framework_reason(&software, &inputs->system.accelerator, out);
}

const char *rk_stack_reason(const rk_request *request, const rk_inputs *inputs,
                            char out[RK_REASON_SIZE])
{
    const rk_software software = software_of(inputs);
    return rk_software_stack_reason(request->stack, &software, &inputs->system.accelerator, out);
}
