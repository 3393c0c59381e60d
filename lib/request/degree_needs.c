/* SPDX-License-Identifier: Apache-2.0 */
/* Which options need a degree of parallelism of 2 or more. */
#include "request/degree_needs.h"

#include "base/error.h"
#include "base/named.h"

#include <string.h>

/* Whether schedules are given, none of which runs on one pipeline rank. */
static bool needs_pipeline(unsigned schedules)
{
    return schedules && !(schedules >> rk_schedule_usual(1) & 1U);
}

enum { NEEDS = 7 };

/* The degrees that options need; 0: the option is not given. */
static void list_needs(const rk_request *r, rk_named_count needs[NEEDS])
{
    const rk_named_count all[NEEDS] = {
        {"sequence-parallel", r->sp ? RK_DEGREE_TP : 0},
        {"cp-kind", r->cp_kinds != 0 ? RK_DEGREE_CP : 0},
        {"schedule", needs_pipeline(r->schedules) ? RK_DEGREE_PP : 0},
        {"first-stage-layers", r->first_stage_layers > 0 ? RK_DEGREE_PP : 0},
        {"last-stage-layers", r->last_stage_layers > 0 ? RK_DEGREE_PP : 0},
        {"count-embedding", r->count_embedding ? RK_DEGREE_PP : 0},
        {"count-head", r->count_head ? RK_DEGREE_PP : 0},
    };
    memcpy(needs, all, sizeof(all));
}

unsigned rk_request_above_one(const rk_request *request)
{
    rk_named_count needs[NEEDS];
    unsigned degrees = 0;
    list_needs(request, needs);
    for (int i = 0; i < NEEDS; i++) {
        degrees |= (unsigned)needs[i].value;
    }
    return degrees;
}

rk_status rk_request_check_needs(const rk_request *request, unsigned possible, rk_error *err)
{
    rk_named_count needs[NEEDS];
    list_needs(request, needs);
    for (int i = 0; i < NEEDS; i++) {
        const unsigned needed = (unsigned)needs[i].value;
        if (needed && !(needed & possible)) {
            const char *degree = needed == RK_DEGREE_TP   ? "tp"
                                 : needed == RK_DEGREE_CP ? "cp"
                                                          : "pp";
            return rk_fail(err, RK_ERR_INVALID,
                           "--%s needs --%s 2 or more; leave it out, or raise --%s", needs[i].name,
                           degree, degree);
        }
    }
    return RK_OK;
}
