/* SPDX-License-Identifier: Apache-2.0 */
/* Every enumeration, number and flag of the structs that programs fill, with its bounds. */
#include "api/struct_tables.h"

#include "base/error.h"
#include "base/members.h"
#include "base/units.h"
#include "command/option_groups.h"
#include "method/plan_result.h"
#include "strategy/strategy_fields.h"

#include <stdlib.h>
#include <string.h>

/* ---- bounds ---------------------------------------------------------------------------------- */

#define DEGREE_MAX  (1 << 30) /* degrees, batches and tokens, as of options */
#define TOP_MAX     1000
#define BITS(count) ((1U << (count)) - 1)

/* ---- spaces ---------------------------------------------------------------------------------- */

#define SPACE(kind_, name_, least_, most_)                                                         \
    {                                                                                              \
        .name = #name_, .kind = RK_MEMBER_##kind_, .offset = offsetof(rk_space, name_),            \
        .least = least_, .most = most_, .to = offsetof(rk_request, name_)                          \
    }
#define DEGREES(name) SPACE(COUNTS, name, 1, DEGREE_MAX)

static const rk_member space[] = {
    SPACE(INT64, accelerators, 0, DEGREE_MAX),
    SPACE(INT64, global_batch, 0, DEGREE_MAX),
    DEGREES(tp),
    DEGREES(cp),
    DEGREES(pp),
    DEGREES(vp),
    DEGREES(ep),
    DEGREES(etp),
    DEGREES(micro_batch),
    SPACE(COUNTS, zero, 0, RK_SHARD_ALL),
    SPACE(UNSIGNED, schedules, 0, BITS(RK_SCHEDULE_KIND_COUNT)),
    SPACE(UNSIGNED, recomputes, 0, BITS(RK_REC_FULL + 1)),
    SPACE(INT64, top, 0, TOP_MAX),
    SPACE(INT64, threads, 0, RK_THREADS_MAX),
    SPACE(FLAG, bounded, 0, 1),
    SPACE(FLAG, exhaustive, 0, 1),
};

rk_status rk_take_space(const rk_space *given, rk_request *request, const char **options,
                        rk_error *err)
{
    rk_space own = {.size = sizeof(own)};
    const rk_status status =
        rk_members_take(&own, sizeof(own), given, "rk_space", space, COUNT(space), err);
    rk_members_copy(request, &own, space, COUNT(space));
    request->top = own.top > 0 ? own.top : RK_PLAN_TOP;
    *options = own.options;
    return status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

rk_status rk_take_choice(const void *given, void *own, size_t size, const char *type,
                         const rk_member *members, size_t count, rk_error *err)
{
    memset(own, 0, size);
    memcpy(own, &size, sizeof(size));
    return given ? rk_members_take(own, size, given, type, members, count, err) : RK_OK;
}

rk_status rk_take_strategy(const rk_strategy *given, rk_strategy *own, rk_error *err)
{
    rk_member members[RK_STRATEGY_MEMBERS_MAX];
    const size_t count = rk_strategy_members(members);
    *own = (rk_strategy){.size = sizeof(*own)};
    const rk_status status =
        rk_members_take(own, sizeof(*own), given, "rk_strategy", members, count, err);
    return !status && own->layout_count > 0 && !own->layout
               ? rk_fail_at(err, RK_ERR_INVALID, "layout",
                            "the layout is NULL, but layout_count is %d", own->layout_count)
               : status;
}

rk_status rk_need(const void *given, const char *what, rk_error *err)
{
    return given ? RK_OK : rk_fail(err, RK_ERR_INVALID, "the %s is NULL", what);
}

void *rk_allocate(size_t size, const char *what, rk_status *status, rk_error *err)
{
    void *memory = *status ? NULL : calloc(1, size);
    if (!memory && !*status) {
        *status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for %s", what);
    }
    return memory;
}
