/* SPDX-License-Identifier: Apache-2.0 */
/* Tries single changes that save memory, and keeps the fastest of each kind that fits. */
#include "method/fit_changes.h"

#include "base/extremes.h"
#include "method/estimate_fields.h"
#include "residual/risk.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KIND_COUNT 15

/* ---- kinds ----------------------------------------------------------------------------------- */

unsigned rk_change_kinds(const rk_strategy *a, const rk_strategy *b)
{
    const struct {
        rk_change_kind kind;
        bool differs;
    } kinds[] = {
        {RK_CHANGE_RECOMPUTE, a->recompute != b->recompute ||
                                  a->recompute_modules != b->recompute_modules ||
                                  a->recompute_layers != b->recompute_layers},
        {RK_CHANGE_ZERO, a->sharding != b->sharding},
        {RK_CHANGE_MICRO_BATCH, a->micro_batch != b->micro_batch},
        {RK_CHANGE_TP, a->tp != b->tp},
        {RK_CHANGE_PP, a->pp != b->pp || a->vp != b->vp},
        {RK_CHANGE_CP, a->cp != b->cp},
        {RK_CHANGE_EP, a->ep != b->ep || a->etp != b->etp},
        {RK_CHANGE_OFFLOAD, a->offload_optimizer != b->offload_optimizer ||
                                a->offload_activations != b->offload_activations ||
                                a->offload_weights != b->offload_weights},
        {RK_CHANGE_STATES, a->states.gradient < b->states.gradient ||
                               a->states.gradient > b->states.gradient ||
                               a->states.optimizer < b->states.optimizer ||
                               a->states.optimizer > b->states.optimizer},
        {RK_CHANGE_PRECISION, a->precision != b->precision || a->low_weights != b->low_weights},
        {RK_CHANGE_OVERLAP,
         a->tp == b->tp && (a->tp_overlap != b->tp_overlap || a->grad_overlap != b->grad_overlap ||
                            a->param_overlap != b->param_overlap ||
                            a->pp_overlap != b->pp_overlap || a->moe_overlap != b->moe_overlap)},
        {RK_CHANGE_SP, a->tp == b->tp && a->sp != b->sp},
        {RK_CHANGE_SCHEDULE, a->pp == b->pp && a->vp == b->vp && a->schedule != b->schedule},
        {RK_CHANGE_KERNELS,
         a->graph_capture != b->graph_capture || a->flash_attention != b->flash_attention},
        {RK_CHANGE_ALLOCATOR, a->expandable_segments != b->expandable_segments},
    };
    unsigned set = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        set |= kinds[i].differs ? (unsigned)kinds[i].kind : 0;
    }
    return set;
}

/* ---- in words -------------------------------------------------------------------------------- */

/* Appends words behind a comma; what does not fit is cut. */
static void add(char out[RK_FIT_CHANGE_TEXT], const char *format, ...) RK_PRINTF(2, 3);

static void add(char out[RK_FIT_CHANGE_TEXT], const char *format, ...)
{
    size_t used = strlen(out);
    va_list list;
    if (used > 0) {
        (void)snprintf(out + used, RK_FIT_CHANGE_TEXT - used, ", ");
        used = strlen(out);
    }
    va_start(list, format);
    (void)vsnprintf(out + used, RK_FIT_CHANGE_TEXT - used, format, list);
    va_end(list);
}

static void add_degree(char *out, const char *name, int64_t from, int64_t to)
{
    if (from != to) {
        add(out, "%s %" PRId64 " to %" PRId64, name, from, to);
    }
}

/* The text of a field that has this key. */
static const char *text_of(const rk_strategy *s, const char *key, char out[RK_STRATEGY_TEXT_SIZE])
{
    return rk_strategy_text(s, rk_find_strategy_field(key), out);
}

static void add_recompute(char *out, const rk_strategy *to)
{
    char modules[RK_STRATEGY_TEXT_SIZE];
    if (to->recompute == RK_REC_SELECTIVE) {
        add(out, "recompute %.100s", text_of(to, "recompute_modules", modules));
    } else if (to->recompute == RK_REC_FULL && to->recompute_layers > 0) {
        add(out, "recompute full of %" PRId64 " layer%s", to->recompute_layers,
            to->recompute_layers == 1 ? "" : "s");
    } else {
        add(out, "recompute %s", rk_recompute_kind_names[to->recompute]);
    }
}

static void add_states(char *out, const rk_strategy *from, const rk_strategy *to)
{
    if (to->states.gradient < from->states.gradient) {
        add(out, "gradients in bf16");
    }
    if (to->states.optimizer < from->states.optimizer) {
        add(out, "optimizer moments in %s", to->states.optimizer > 6 ? "bf16" : "8 bits");
    }
}

const char *rk_fit_change_text(const rk_strategy *from, const rk_fit_change *change,
                               char out[RK_FIT_CHANGE_TEXT])
{
    const rk_strategy *to = &change->strategy;
    char text[RK_STRATEGY_TEXT_SIZE];
    out[0] = '\0';
    add_degree(out, "TP", from->tp, to->tp);
    add_degree(out, "CP", from->cp, to->cp);
    add_degree(out, "PP", from->pp, to->pp);
    add_degree(out, "VP", from->vp, to->vp);
    add_degree(out, "EP", from->ep, to->ep);
    add_degree(out, "ETP", from->etp, to->etp);
    add_degree(out, "micro-batch", from->micro_batch, to->micro_batch);
    add_degree(out, "ZeRO", from->sharding, to->sharding);
    if (change->kinds & RK_CHANGE_RECOMPUTE) {
        add_recompute(out, to);
    }
    if (change->kinds & RK_CHANGE_OFFLOAD) {
        add(out, "offload %.60s", text_of(to, "offload", text));
    }
    if (change->kinds & RK_CHANGE_OVERLAP) {
        add(out, "overlap %.60s", text_of(to, "overlap", text));
    }
    if (change->kinds & RK_CHANGE_SP) {
        add(out, "sequence parallelism");
    }
    if (change->kinds & RK_CHANGE_SCHEDULE) {
        add(out, "schedule %s", rk_strategy_schedule(to));
    }
    if (change->kinds & RK_CHANGE_KERNELS) {
        add(out, from->graph_capture != to->graph_capture ? "CUDA graphs" : "fused attention");
    }
    if (change->kinds & RK_CHANGE_ALLOCATOR) {
        add(out, "expandable segments");
    }
    add_states(out, from, to);
    if (change->kinds & RK_CHANGE_PRECISION) {
        add(out, "%s%s", rk_precision_names[to->precision],
            to->low_weights ? ", weights held in it" : "");
    }
    return out;
}

/* ---- neighbours ------------------------------------------------------------------------------ */

void rk_offer_change(const rk_setting *s, const rk_strategy *changed, rk_change_visitor *visit,
                     void *user)
{
    if (rk_strategy_legal(s->model, s->system, changed, s->framework, NULL)) {
        visit(user, changed);
    }
}

/*
 * Smaller data types of states: --grad-reduce-in-bf16, and --exp-avg-dtype of the precision-aware
 * optimizer, which is distributed.  Bytes of moments count both.
 */
static void offer_states(const rk_setting *s, const rk_strategy *from, rk_change_visitor *visit,
                         void *user)
{
    const rk_strategy usual = rk_strategy_defaults(s->model);
    const bool known = rk_framework_of(s->framework)->narrow_states;
    if (!known || from->adapter_rank > 0 || rk_is_full(from->precision)) {
        return;
    }
    rk_strategy changed = *from;
    if (from->states.gradient > 2) {
        changed.states.gradient = changed.states.reduce = 2;
        rk_offer_change(s, &changed, visit, user);
    }
    const double moments[] = {4, 2};
    const double master = usual.states.optimizer - 8;
    for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
        changed = *from;
        changed.states.optimizer = master + moments[i];
        if (from->optimizer == RK_OPTIMIZER_ADAMW && from->sharding != RK_SHARD_NONE &&
            changed.states.optimizer < from->states.optimizer) {
            rk_offer_change(s, &changed, visit, user);
        }
    }
}

static void offer_precision(const rk_setting *s, const rk_strategy *from, rk_change_visitor *visit,
                            void *user)
{
    rk_strategy changed = *from;
    if (from->precision == RK_BF16 || from->precision == RK_FP16) {
        changed.precision = RK_FP8;
        changed.fp8_recipe = RK_FP8_TENSORWISE;
        for (int low = 0; low < 2; low++) {
            changed.low_weights = low;
            rk_offer_change(s, &changed, visit, user);
        }
    } else if (from->precision == RK_FP8 && !from->low_weights) {
        changed.low_weights = true;
        rk_offer_change(s, &changed, visit, user);
    }
}

static void offer_allocator(const rk_setting *s, const rk_strategy *from, rk_change_visitor *visit,
                            void *user)
{
    rk_strategy changed = *from;
    changed.expandable_segments = true;
    if (!from->expandable_segments && s->stack->fragmentation + s->stack->stage_fragmentation > 0) {
        rk_offer_change(s, &changed, visit, user);
    }
}

void rk_visit_changes(const rk_setting *s, const rk_strategy *from, rk_change_visitor *visit,
                      void *user)
{
    rk_changes_each(s, from, visit, user);
    offer_allocator(s, from, visit, user);
    offer_states(s, from, visit, user);
    offer_precision(s, from, visit, user);
}

/* ---- what fits ------------------------------------------------------------------------------- */

struct walk {
    const rk_setting *setting;
    const rk_strategy *from;
    rk_fit_changes *changes;
    rk_strategy leanest[KIND_COUNT]; /* by bit: the change that needs least memory */
    double bytes[KIND_COUNT];        /* of that change; infinite: none */
    rk_status status;
    rk_error *err;
};

/* The fastest of each kind stays. */
static void keep(rk_fit_changes *changes, const rk_fit_change *change)
{
    size_t at = 0;
    while (at < changes->count && changes->items[at].kinds != change->kinds) {
        at++;
    }
    if (at == changes->count && changes->count < RK_FIT_CHANGE_MAX) {
        changes->items[changes->count++] = *change;
    } else if (at < changes->count && change->estimate.step < changes->items[at].estimate.step) {
        changes->items[at] = *change;
    } else if (at == changes->count) { /* no room: replaces the slowest */
        size_t slowest = 0;
        for (size_t i = 1; i < changes->count; i++) {
            slowest = changes->items[i].estimate.step > changes->items[slowest].estimate.step
                          ? i
                          : slowest;
        }
        if (change->estimate.step < changes->items[slowest].estimate.step) {
            changes->items[slowest] = *change;
        }
    }
}

static void note_leanest(struct walk *w, const rk_fit_change *change)
{
    const double host = w->setting->system->accelerator.host_capacity;
    const double bytes =
        rk_needed_bytes(&change->estimate.memory) + rk_max(change->estimate.host_bytes - host, 0);
    for (int bit = 0; bit < KIND_COUNT; bit++) {
        if (change->kinds == 1U << bit && bytes < w->bytes[bit]) {
            w->bytes[bit] = bytes;
            w->leanest[bit] = change->strategy;
        }
    }
}

static void judge(void *user, const rk_strategy *changed)
{
    struct walk *w = user;
    const rk_setting *s = w->setting;
    rk_fit_change change = {.kinds = rk_change_kinds(w->from, changed), .strategy = *changed};
    if (w->status || change.kinds == 0) {
        return;
    }
    w->status = rk_predict_estimate(s, changed, &change.estimate, NULL, w->err);
    if (!w->status) {
        note_leanest(w, &change);
        if (rk_is_within_risk(s, &change.estimate)) {
            keep(w->changes, &change);
        }
    }
}

/* The cheapest first; of equal ones the one with the simplest change. */
static bool comes_before(const rk_fit_change *a, const rk_fit_change *b)
{
    if (a->estimate.step < b->estimate.step || a->estimate.step > b->estimate.step) {
        return a->estimate.step < b->estimate.step;
    }
    return a->kinds < b->kinds;
}

static void sort(rk_fit_changes *changes)
{
    for (size_t i = 1; i < changes->count; i++) {
        const rk_fit_change moved = changes->items[i];
        size_t at = i;
        for (; at > 0 && comes_before(&moved, &changes->items[at - 1]); at--) {
            changes->items[at] = changes->items[at - 1];
        }
        changes->items[at] = moved;
    }
}

rk_status rk_find_fit_changes(const rk_setting *setting, const rk_strategy *from,
                              rk_fit_changes *changes, rk_error *err)
{
    rk_setting keeping = *setting;
    struct walk w = {.setting = &keeping, .from = from, .changes = changes, .err = err};
    changes->count = 0;
    for (int bit = 0; bit < KIND_COUNT; bit++) {
        w.bytes[bit] = (double)INFINITY;
    }
    w.status = rk_estimate_store_new(&keeping.store, err);
    rk_visit_changes(setting, from, judge, &w); /* does nothing after a failure */
    if (changes->count == 0) {
        const struct walk first = w;
        for (int bit = 0; bit < KIND_COUNT && !w.status; bit++) {
            if (first.bytes[bit] < (double)INFINITY) {
                rk_visit_changes(setting, &first.leanest[bit], judge, &w);
            }
        }
    }
    rk_estimate_store_free(keeping.store);
    if (!w.status && changes->count == 0 && setting->risk > 0) {
        keeping = *setting;
        keeping.risk = 0; /* nothing is within the risk: all that fits */
        return rk_find_fit_changes(&keeping, from, changes, err);
    }
    sort(changes);
    return w.status;
}
