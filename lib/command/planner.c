/* SPDX-License-Identifier: Apache-2.0 */
#include "command/planner.h"
#include "base/error.h"

#include "work/share.h"

#include <stdlib.h>

rk_status rk_asked_read(rk_asked *asked, const char *model, const char *system, const void *request,
                        rk_error *err)
{
    const rk_method *method = asked->planner->method;
    rk_problem *problem = &asked->problem;
    problem->method = method;
    rk_status status =
        model ? method->load(problem, RK_DOCUMENT_MODEL, &(rk_source){.name = model}, err) : RK_OK;
    if (!status) {
        status = method->load(problem, RK_DOCUMENT_SYSTEM, &(rk_source){.name = system}, err);
    }
    return status ? status : method->space(problem, request, true, err);
}

rk_status rk_asked_load(const rk_planner *planner, const void *options, rk_asked *asked,
                        rk_error *err)
{
    *asked = (rk_asked){.planner = planner};
    return planner->load(asked, options, err);
}

void rk_asked_clear(rk_asked *asked)
{
    asked->planner->clear(asked);
    if (asked->problem.method && asked->problem.method->clear) {
        asked->problem.method->clear(&asked->problem);
    }
}

rk_status rk_planner_run(const rk_planner *planner, rk_job *job, const void *options, rk_error *err)
{
    rk_asked *asked = malloc(sizeof(*asked));
    if (!asked) {
        const rk_status lacking = rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
        rk_share_leave(rk_job_team(job), err);
        return lacking;
    }
    rk_status status = rk_asked_load(planner, options, asked, err);
    if (status) {
        rk_share_leave(rk_job_team(job), err);
    } else {
        status = planner->rank(job, asked, err);
    }
    if (!status && rk_job_is_first(job)) {
        status = rk_plan_write(job, asked, err);
    }
    rk_job_set_found(job, asked->ranking && asked->ranking->count > 0);
    rk_asked_clear(asked);
    free(asked);
    return status;
}
