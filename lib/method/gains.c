/* SPDX-License-Identifier: Apache-2.0 */
/* Tries overlaps, schedules and other single changes, and keeps the best of each kind. */
#include "method/gains.h"

#include "residual/risk.h"

#include <stddef.h>

/* ---- changes beyond those that make a strategy fit ------------------------------------------- */

static void offer_switches(const rk_setting *s, const rk_strategy *from, rk_change_visitor *visit,
                           void *user)
{
    static const size_t switches[] = {
        offsetof(rk_strategy, tp_overlap),    offsetof(rk_strategy, grad_overlap),
        offsetof(rk_strategy, param_overlap), offsetof(rk_strategy, pp_overlap),
        offsetof(rk_strategy, moe_overlap),   offsetof(rk_strategy, sp),
        offsetof(rk_strategy, graph_capture), offsetof(rk_strategy, flash_attention),
    };
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        rk_strategy changed = *from;
        bool *place = (bool *)((char *)&changed + switches[i]);
        if (!*place) {
            *place = true;
            rk_offer_change(s, &changed, visit, user);
        }
    }
    rk_strategy changed = *from; /* parameters are gathered behind compute only with gradients */
    changed.grad_overlap = changed.param_overlap = true;
    if (!from->grad_overlap && !from->param_overlap) {
        rk_offer_change(s, &changed, visit, user);
    }
    changed = *from;
    changed.sp = changed.tp_overlap = true;
    if (from->tp > 1 && !from->sp) {
        rk_offer_change(s, &changed, visit, user);
    }
}

static void offer_schedules(const rk_setting *s, const rk_strategy *from, rk_change_visitor *visit,
                            void *user)
{
    for (int kind = 0; kind < RK_SCHEDULE_KIND_COUNT && from->pp > 1; kind++) {
        rk_strategy changed = *from;
        changed.schedule = (rk_schedule_kind)kind;
        if (changed.schedule != from->schedule) {
            rk_offer_change(s, &changed, visit, user);
        }
    }
}

/* ---- what they gain -------------------------------------------------------------------------- */

struct walk {
    const rk_setting *setting;
    const rk_strategy *from;
    const rk_estimate *now;
    rk_fit_changes faster, leaner;
    rk_status status;
    rk_error *err;
};

/* Of each kind the one with the least cost stays. */
static void keep(rk_fit_changes *changes, const rk_fit_change *change,
                 double cost(const rk_estimate *))
{
    size_t at = 0, worst = 0;
    while (at < changes->count && changes->items[at].kinds != change->kinds) {
        worst =
            cost(&changes->items[at].estimate) > cost(&changes->items[worst].estimate) ? at : worst;
        at++;
    }
    if (at == changes->count && changes->count < RK_FIT_CHANGE_MAX) {
        changes->items[changes->count++] = *change;
        return;
    }
    at = at == changes->count ? worst : at;
    if (cost(&change->estimate) < cost(&changes->items[at].estimate)) {
        changes->items[at] = *change;
    }
}

static double step_of(const rk_estimate *estimate)
{
    return estimate->step;
}

static double memory_of(const rk_estimate *estimate)
{
    return rk_needed_bytes(&estimate->memory);
}

static void judge(void *user, const rk_strategy *changed)
{
    struct walk *w = user;
    rk_fit_change change = {.kinds = rk_change_kinds(w->from, changed), .strategy = *changed};
    if (w->status || change.kinds == 0) {
        return;
    }
    w->status = rk_predict_estimate(w->setting, changed, &change.estimate, NULL, w->err);
    if (w->status || !rk_is_within_risk(w->setting, &change.estimate)) {
        return;
    }
    if (change.estimate.step < (1 - RK_GAIN_LEAST_TIME) * w->now->step) {
        keep(&w->faster, &change, step_of);
    } else if (memory_of(&change.estimate) < (1 - RK_GAIN_LEAST_MEMORY) * memory_of(w->now) &&
               change.estimate.step < (1 + RK_GAIN_MOST_COST) * w->now->step) {
        keep(&w->leaner, &change, memory_of);
    }
}

static void sort(rk_fit_changes *changes, double cost(const rk_estimate *))
{
    for (size_t i = 1; i < changes->count; i++) {
        const rk_fit_change moved = changes->items[i];
        size_t at = i;
        for (; at > 0 && cost(&moved.estimate) < cost(&changes->items[at - 1].estimate); at--) {
            changes->items[at] = changes->items[at - 1];
        }
        changes->items[at] = moved;
    }
}

rk_status rk_find_gains(const rk_setting *setting, const rk_strategy *from, const rk_estimate *now,
                        rk_gains *gains, rk_error *err)
{
    rk_setting keeping = *setting;
    struct walk w = {.setting = &keeping, .from = from, .now = now, .err = err};
    w.status = rk_estimate_store_new(&keeping.store, err);
    rk_visit_changes(setting, from, judge, &w); /* does nothing after a failure */
    offer_switches(setting, from, judge, &w);
    offer_schedules(setting, from, judge, &w);
    rk_estimate_store_free(keeping.store);
    sort(&w.faster, step_of);
    sort(&w.leaner, memory_of);
    rk_fit_changes *all = &gains->changes;
    *all = w.faster;
    for (size_t i = 0; i < w.leaner.count && all->count < RK_FIT_CHANGE_MAX; i++) {
        all->items[all->count++] = w.leaner.items[i];
    }
    for (size_t i = 0; i < all->count && !w.status; i++) {
        w.status = rk_flag_change_text(setting, from, &all->items[i], gains->flags[i], err);
    }
    return w.status;
}
