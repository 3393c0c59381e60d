/* SPDX-License-Identifier: Apache-2.0 */
/* Which options need a degree of parallelism of 2 or more. */
#include "request/degree_needs.h"

#include "base/error.h"

#include <string.h>

/* Whether schedules are given, none of which runs on one pipeline rank. */
static bool needs_pipeline(unsigned schedules)
{
    return schedules && !(schedules >> rk_schedule_usual(1) & 1U);
}

enum { NEEDS = 7 };

typedef struct need {
    bool given;
    unsigned degree;
    const char *option;
} need;

static void list_needs(const rk_request *r, need needs[NEEDS])
{
    const need all[NEEDS] = {
        {r->sp, RK_DEGREE_TP, "sequence-parallel"},
        {r->cp_kinds != 0, RK_DEGREE_CP, "cp-kind"},
        {needs_pipeline(r->schedules), RK_DEGREE_PP, "schedule"},
        {r->first_stage_layers > 0, RK_DEGREE_PP, "first-stage-layers"},
        {r->last_stage_layers > 0, RK_DEGREE_PP, "last-stage-layers"},
        {r->count_embedding, RK_DEGREE_PP, "count-embedding"},
        {r->count_head, RK_DEGREE_PP, "count-head"},
    };
    memcpy(needs, all, sizeof(all));
}

unsigned rk_request_above_one(const rk_request *request)
{
    need needs[NEEDS];
    unsigned degrees = 0;
    list_needs(request, needs);
    for (int i = 0; i < NEEDS; i++) {
        degrees |= needs[i].given ? needs[i].degree : 0;
    }
    return degrees;
}

rk_status rk_request_check_needs(const rk_request *request, unsigned possible, rk_error *err)
{
    need needs[NEEDS];
    list_needs(request, needs);
    for (int i = 0; i < NEEDS; i++) {
        if (needs[i].given && !(needs[i].degree & possible)) {
            const char *degree = needs[i].degree == RK_DEGREE_TP   ? "tp"
                                 : needs[i].degree == RK_DEGREE_CP ? "cp"
                                                                   : "pp";
            return rk_fail(err, RK_ERR_INVALID,
                           "--%s needs --%s 2 or more; leave it out, or raise --%s",
                           needs[i].option, degree, degree);
        }
    }
    return RK_OK;
}
