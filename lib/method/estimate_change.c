/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates strategies one change away: degrees, recomputation, sharding, offloading. */
#include "method/estimate_change.h"

#include "residual/risk.h"

#include <assert.h>
#include <stddef.h>

/* Layers of a chunk of which the checkpointed ones are counted one by one. */
#define LAYER_STEPS_MAX 64

struct walk {
    const rk_setting *setting;
    void (*visit)(void *user, const rk_strategy *changed);
    void *user;
};

static void offer(const struct walk *walk, const rk_strategy *changed)
{
    const rk_setting *s = walk->setting;
    if (rk_strategy_legal(s->model, s->system, changed, s->framework, NULL)) {
        walk->visit(walk->user, changed);
    }
}

/* ---- degrees ------------------------------------------------------------------------------- */

/* Updates what depends on a degree. */
static void settle(const rk_strategy *from, rk_strategy *changed)
{
    if (from->tp == 1 || changed->tp == 1) {
        changed->sp = changed->tp > 1;
        changed->tp_overlap = changed->sp && changed->tp_overlap;
    }
    if (from->pp == 1 || changed->pp == 1) {
        changed->vp = 1;
        changed->schedule = rk_schedule_usual(1);
    } else if ((from->vp > 1) != (changed->vp > 1)) {
        changed->schedule = rk_schedule_usual(changed->vp);
    }
}

/* Doubles or halves a degree and adjusts data parallelism. */
static void offer_degree(const struct walk *walk, const rk_strategy *from, size_t offset)
{
    for (int up = 0; up < 2; up++) {
        rk_strategy changed = *from;
        int64_t *degree = (int64_t *)(void *)((char *)&changed + offset);
        int64_t *shrinks = up ? &changed.dp : degree, *grows = up ? degree : &changed.dp;
        if (*shrinks % 2 == 0) {
            *shrinks /= 2;
            *grows *= 2;
            settle(from, &changed);
            offer(walk, &changed);
        }
    }
}

/* Doubles or halves a number that no other degree depends on. */
static void offer_factor(const struct walk *walk, const rk_strategy *from, size_t offset)
{
    for (int up = 0; up < 2; up++) {
        rk_strategy changed = *from;
        int64_t *value = (int64_t *)(void *)((char *)&changed + offset);
        if (up) {
            *value *= 2;
        } else if (*value % 2 == 0) {
            *value /= 2;
        } else {
            continue;
        }
        settle(from, &changed);
        offer(walk, &changed);
    }
}

/* More pipeline ranks, with the same number of stages. */
static void offer_fewer_chunks(const struct walk *walk, const rk_strategy *from)
{
    rk_strategy changed = *from;
    if (from->vp % 2 == 0 && from->dp % 2 == 0) {
        changed.vp /= 2;
        changed.pp *= 2;
        changed.dp /= 2;
        settle(from, &changed);
        offer(walk, &changed);
    }
}

static void offer_degrees(const struct walk *walk, const rk_strategy *from)
{
    static const size_t degrees[] = {offsetof(rk_strategy, tp), offsetof(rk_strategy, pp),
                                     offsetof(rk_strategy, cp)};
    static const size_t factors[] = {offsetof(rk_strategy, ep), offsetof(rk_strategy, etp),
                                     offsetof(rk_strategy, micro_batch)};
    for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
        offer_degree(walk, from, degrees[i]);
    }
    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
        offer_factor(walk, from, factors[i]);
    }
    if (from->pp > 1) {
        offer_factor(walk, from, offsetof(rk_strategy, vp));
    }
    offer_fewer_chunks(walk, from);
}

/* ---- recompute, sharding, offload ---------------------------------------------------------- */

static void offer_recompute(const struct walk *walk, const rk_strategy *from)
{
    rk_strategy changed = *from;
    changed.recompute = RK_REC_NONE;
    changed.recompute_modules = 0;
    changed.recompute_layers = 0;
    if (from->recompute != RK_REC_NONE) {
        offer(walk, &changed);
    }
    changed.recompute = RK_REC_SELECTIVE;
    for (unsigned bit = 1; bit <= RK_MODULE_MOE; bit <<= 1) {
        changed.recompute_modules = from->recompute_modules | bit;
        if (changed.recompute_modules != from->recompute_modules) {
            offer(walk, &changed);
        }
    }
    changed.recompute = RK_REC_FULL;
    changed.recompute_modules = 0;
    const int64_t chunk = walk->setting->model->layers / (from->pp * from->vp);
    const int64_t steps = chunk < LAYER_STEPS_MAX ? chunk : LAYER_STEPS_MAX;
    for (int64_t layers = 0; layers < steps; layers++) { /* 0: all */
        changed.recompute_layers = layers;
        if (from->recompute != RK_REC_FULL || layers != from->recompute_layers) {
            offer(walk, &changed);
        }
    }
}

static void offer_states(const struct walk *walk, const rk_strategy *from)
{
    for (int sharding = RK_SHARD_NONE; sharding <= RK_SHARD_ALL; sharding++) {
        rk_strategy changed = *from;
        changed.sharding = (rk_sharding)sharding;
        if (changed.sharding != from->sharding) {
            offer(walk, &changed);
        }
    }
    static const size_t offloads[] = {offsetof(rk_strategy, offload_optimizer),
                                      offsetof(rk_strategy, offload_activations),
                                      offsetof(rk_strategy, offload_weights)};
    for (size_t i = 0; i < sizeof(offloads) / sizeof(offloads[0]); i++) {
        rk_strategy changed = *from;
        bool *offload = (bool *)((char *)&changed + offloads[i]);
        *offload = !*offload;
        offer(walk, &changed);
    }
}

void rk_changes_each(const rk_setting *setting, const rk_strategy *from,
                     void (*visit)(void *user, const rk_strategy *changed), void *user)
{
    const struct walk walk = {.setting = setting, .visit = visit, .user = user};
    offer_degrees(&walk, from);
    offer_recompute(&walk, from);
    offer_states(&walk, from);
}

/* ---- what fits ----------------------------------------------------------------------------- */

struct best {
    const rk_setting *setting;
    bool found;
    rk_strategy strategy;
    rk_estimate estimate;
    rk_status status;
    rk_error *err;
};

static void keep_fastest(void *user, const rk_strategy *changed)
{
    struct best *best = user;
    const rk_setting *s = best->setting;
    rk_estimate estimate;
    if (best->status ||
        (best->status = rk_estimate_exact(s, changed, &estimate, NULL, best->err)) ||
        !estimate.fits || (best->found && estimate.step >= best->estimate.step)) {
        return; /* most, without their risk, which takes longer than the rest */
    }
    best->status = rk_predict_estimate(s, changed, &estimate, NULL, best->err);
    if (!best->status && rk_is_within_risk(s, &estimate)) {
        best->found = true;
        best->strategy = *changed;
        best->estimate = estimate;
    }
}

static void look_further(void *user, const rk_strategy *changed)
{
    const struct best *best = user;
    rk_changes_each(best->setting, changed, keep_fastest, user);
}

rk_status rk_change_to_fit(const rk_setting *setting, const rk_strategy *from, int most_changes,
                           int *changes, rk_strategy *changed, rk_estimate *estimate, rk_error *err)
{
    assert(most_changes >= 1);
    rk_setting keeping = *setting;
    struct best best = {.setting = &keeping, .err = err};
    *changes = 1;
    best.status = rk_estimate_store_new(&keeping.store, err);
    if (!best.status) {
        rk_changes_each(setting, from, keep_fastest, &best);
    }
    if (!best.status && !best.found && most_changes > 1) {
        *changes = 2;
        rk_changes_each(setting, from, look_further, &best);
    }
    rk_estimate_store_free(keeping.store);
    if (best.status || !best.found) {
        *changes = 0;
        return best.status;
    }
    *changed = best.strategy;
    *estimate = best.estimate;
    return RK_OK;
}
