/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the layout of a launch file, and writes the gain and flags of the planned one. */
#include "method/launch_comparison.h"

#include "base/error.h"
#include "base/time_text.h"
#include "base/units.h"
#include "launch/launch.h"
#include "method/estimate_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rk_status keep(const rk_plan *own, rk_plan *plan, rk_error *err)
{
    const rk_answer *found = rk_plan_best(own), *best = rk_plan_best(plan);
    struct rk_launch_comparison *launched = found ? calloc(1, sizeof(*launched)) : NULL;
    if (!found) {
        return RK_OK; /* of what it leaves open, nothing fits */
    }
    if (!launched) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the layout of the launch");
    }
    launched->candidate = (rk_candidate){.strategy = found->strategy, .estimate = found->estimate};
    plan->launched = launched;
    if (!best) {
        return RK_OK;
    }
    rk_flag_changes *flags = &launched->flags;
    const rk_status status =
        rk_find_flag_changes(&plan->setting, &found->strategy, &best->strategy, flags, err);
    return status ? status
                  : rk_launch_spell_flags(plan->request->launch, flags->set, flags->unset,
                                          sizeof(flags->set), err);
}

rk_status rk_plan_find_launched(rk_control *control, const rk_request *request,
                                const rk_inputs *inputs, rk_plan *plan, rk_error *err)
{
    rk_plan own = {.searched = false};
    rk_error refusal;
    if (!request->launched) {
        return RK_OK;
    }
    rk_status status = rk_plan_find(control, request->launched, inputs, &own, &refusal);
    if (status == RK_ERR_INVALID) {
        rk_plan_clear(&own);
        plan->launched = calloc(1, sizeof(*plan->launched));
        if (!plan->launched) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the layout of the launch");
        }
        (void)snprintf(plan->launched->refusal, sizeof(plan->launched->refusal), "%.400s",
                       refusal.message);
        return RK_OK;
    }
    status = status ? rk_fail(err, status, "%s", refusal.message)
                    : (rk_control_is_first(control) ? keep(&own, plan, err) : RK_OK);
    rk_plan_clear(&own);
    return status;
}

/* ---- in words -------------------------------------------------------------------------------- */

static void write_gain(FILE *to, const rk_estimate *now, const rk_estimate *best)
{
    const double share = 100 * (1 - best->step / now->step);
    const double saved = (rk_needed_bytes(&now->memory) - rk_needed_bytes(&best->memory)) / GIB;
    rk_write_label(to, "");
    if (fabs(share) < 0.05) {
        (void)fputs("1 takes as long", to);
    } else {
        (void)fprintf(to, "1 takes %.1f %% %s", fabs(share), share > 0 ? "less" : "more");
    }
    (void)fprintf(to, ", and %.2f GiB %s\n", fabs(saved), saved >= 0 ? "less" : "more");
}

/* A line for each flag, that a shell joins. */
static void write_flags(FILE *to, const char *label, const char *flags)
{
    while (*flags) {
        const char *next = strpbrk(flags, "\n");
        next = next ? next : strstr(flags, " --");
        rk_write_label(to, label);
        (void)fprintf(to, "%.*s%s\n", next ? (int)(next - flags) : (int)strlen(flags), flags,
                      next && *next == ' ' ? " \\" : "");
        label = "";
        flags = next ? next + 1 : "";
    }
}

void rk_launch_comparison_write(FILE *to, const rk_plan *plan)
{
    const struct rk_launch_comparison *launched = plan->launched;
    const rk_answer *best = rk_plan_best(plan);
    char step[RK_TIME_TEXT_SIZE];
    if (!launched) {
        return;
    }
    if (launched->refusal[0]) {
        rk_write_label(to, "launch");
        (void)fprintf(to, "its own layout is refused: %s\n\n", launched->refusal);
        return;
    }
    const rk_estimate *now = &launched->candidate.estimate;
    rk_write_label(to, "launch");
    (void)fprintf(to, "as it is %s a step, %.2f of %.2f GiB: %s\n", rk_time_text(now->step, step),
                  rk_needed_bytes(&now->memory) / GIB, now->usable / GIB,
                  now->fits ? "fits" : "does not fit");
    if (best) {
        write_gain(to, now, &best->estimate);
    }
    write_flags(to, "to set", launched->flags.set);
    write_flags(to, "to remove", launched->flags.unset);
    (void)fputc('\n', to);
}

/* ---- for programs ---------------------------------------------------------------------------- */

void rk_launch_comparison_write_json(rk_json_writer *writer, const rk_plan *plan)
{
    const struct rk_launch_comparison *launched = plan->launched;
    if (!launched) {
        return;
    }
    rk_json_open_member(writer, "launched", "{");
    if (launched->refusal[0]) {
        rk_json_string(writer, "refusal", launched->refusal);
        rk_json_close(writer, "}");
        return;
    }
    rk_strategy_write_json(writer, &launched->candidate.strategy);
    rk_estimate_write_json(writer, &launched->candidate.strategy, &launched->candidate.estimate);
    rk_json_string(writer, "set", launched->flags.set);
    rk_json_string(writer, "remove", launched->flags.unset);
    rk_json_close(writer, "}");
}
