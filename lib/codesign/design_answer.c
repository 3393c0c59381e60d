/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the least rate from the targets, searches the grid, and picks the cheapest machine. */
#include "codesign/design_answer.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/members.h"
#include "base/units.h"

#include <string.h>

/* ---- results ------------------------------------------------------------------------------- */

rk_machine_facts rk_design_answer_machine(const rk_design_answer *d, const rk_design *design)
{
    rk_machine_facts m = {.accelerators = design->processors,
                          .cost_of_one = design->each,
                          .cost = design->cost,
                          .runs = design->runs,
                          .on_front = design->on_front};
    if (m.runs) {
        m.meets_target = design->best.rate >= d->least_rate;
        m.cheapest = design == d->cheapest;
        m.step_s = (double)d->question.batch / design->best.rate;
        m.sequences_per_s = design->best.rate;
        m.tokens_per_s = design->best.rate * (double)d->question.seq;
        m.mfu = design->best.efficiency;
        m.days = d->target.tokens / m.tokens_per_s / DAY;
        m.run_cost = d->prices.life_days > 0 ? m.cost * m.days / d->prices.life_days : 0;
    }
    return m;
}

/* ---- the search ---------------------------------------------------------------------------- */

/* Sequences/s required to meet all targets. */
static double least_rate(const rk_design_answer *d)
{
    const rk_machine_target *target = &d->target;
    const double seq = (double)d->question.seq;
    const double by_step = target->step_s > 0 ? (double)d->question.batch / target->step_s : 0;
    const double by_tokens = target->tokens_per_s / seq;
    const double by_days = target->days > 0 ? target->tokens / seq / (target->days * DAY) : 0;
    const double most = rk_max(by_step, by_tokens);
    return rk_max(most, by_days);
}

static const rk_price_axis *find_axis(const rk_prices *prices, const char *key)
{
    for (int i = 0; i < prices->axis_count; i++) {
        if (strcmp(prices->axes[i].key, key) == 0) {
            return &prices->axes[i];
        }
    }
    return NULL;
}

static rk_status search(rk_control *control, rk_design_answer *d, rk_error *err)
{
    const rk_search_control search =
        rk_control_search(control, "machines", d->question.view.threads);
    const double started = rk_control_cpu_s(control);
    const rk_status status = rk_design_search(&d->question.problem, &d->prices, &search,
                                              &d->designs, &d->count, &d->counts, err);
    d->cpu_s = rk_control_cpu_s(control) - started;
    d->least_rate = least_rate(d);
    d->cheapest =
        d->least_rate > 0 ? rk_design_cheapest(d->designs, d->count, d->least_rate) : NULL;
    return status;
}

/* ---- what was asked -------------------------------------------------------------------------- */

#define TARGET(name) RK_MEMBER(rk_machine_target, REAL, name, 0, RK_MEMBER_REAL_MAX)

rk_status rk_machine_target_take(const rk_machine_target *given, rk_machine_target *own,
                                 rk_error *err)
{
    static const rk_member members[] = {
        TARGET(step_s),
        TARGET(tokens_per_s),
        TARGET(days),
        TARGET(tokens),
    };
    *own = (rk_machine_target){.size = sizeof(*own)};
    const rk_status status = rk_members_take(own, sizeof(*own), given, "rk_machine_target", members,
                                             COUNT(members), err);
    return status || own->prices
               ? status
               : rk_fail_at(err, RK_ERR_INVALID, "prices",
                            "a design needs prices: \"example\", or a .json file");
}

/*
 * The number of processors comes from an axis, or else from the request. One problem serves all
 * machines and has as many as the largest.
 */
static rk_status settle_processors(const rk_prices *prices, const char *name,
                                   const rk_method *method, void *request, rk_error *err)
{
    const rk_price_axis *axis = find_axis(prices, RK_PROCESSORS_KEY);
    int64_t *given = method->requested_accelerators(request);
    if (axis && *given > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s has an axis of accelerators: leave out "
                       "--%s, and the number before the system, as in h100 for 64xh100",
                       name, method->accelerators_option);
    }
    if (!axis && *given == 0) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "%s has no axis \"accelerators\", so the number of accelerators is missing: give "
            "--%s N, or 64xh100 in place of h100",
            name, method->accelerators_option);
    }
    for (int i = 0; axis && i < axis->count; i++) {
        if (axis->values[i] > (double)*given && axis->values[i] < 0x1p40) {
            *given = (int64_t)axis->values[i];
        }
    }
    return RK_OK;
}

rk_status rk_design_answer_prepare(const rk_method *method, void *request, rk_design_answer *d,
                                   rk_error *err)
{
    const rk_status status = rk_prices_load(d->target.prices, &d->prices, err);
    return status ? status : settle_processors(&d->prices, d->target.prices, method, request, err);
}

rk_status rk_design_answer_find(rk_control *control, rk_design_answer *d, rk_error *err)
{
    const rk_question *question = &d->question;
    const rk_method *method = question->problem.method;
    if (find_axis(&d->prices, "offload_GiB") && method->allow_offload) {
        method->allow_offload(&d->question.problem,
                              question->request); /* everything that is paid for may be used */
    }
    return search(control, d, err);
}
