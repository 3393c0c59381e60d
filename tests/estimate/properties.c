/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With more memory, more memory on the host or lower latencies a step is never slower, and with
 * more of anything it never runs out of memory (rates: faster.c).  Random models, strategies,
 * machines and stacks, schedules played event by event.  What estimates keep for the next changes
 * nothing.
 */
#include "../draws.h"
#include "estimate/stage.h"

#include "method/calculon_numbers.h"
#include "strategy/strategy.h"

enum { BETTER = 12000, KEPT = 1500 };

static const uint64_t seed = 0x51ed270b2f3d4a17;

/* Steps that differ by rounding are equal. */
static const double rounding = 1e-9;

static rk_estimate played(const struct draw *d, const rk_system *system, const rk_strategy *s)
{
    rk_estimate e;
    assert_int_equal(rk_estimate_step(&d->model, system, &d->stack, s, RK_FLOPS_MEGATRON, &e),
                     RK_OK);
    return e;
}

/* A strategy in the words that reproduce it. */
static const char *words_of(const struct draw *d, char out[400])
{
    const rk_strategy *s = &d->strategy;
    (void)snprintf(out, 400,
                   "%s, %s: %d layers, hidden %lld, tp %lld cp %lld pp %lld vp %lld dp %lld ep "
                   "%lld etp %lld, %s, ZeRO-%d of %lld replicas, sp %d, recompute %d, overlap "
                   "%d%d%d%d%d, offload %d%d%d, %s",
                   d->system.name, d->stack.name, d->model.layers, (long long)d->model.hidden,
                   (long long)s->tp, (long long)s->cp, (long long)s->pp, (long long)s->vp,
                   (long long)s->dp, (long long)s->ep, (long long)s->etp,
                   rk_schedule_names[s->schedule], (int)s->sharding, (long long)s->replicas, s->sp,
                   (int)s->recompute, s->tp_overlap, s->grad_overlap, s->param_overlap,
                   s->pp_overlap, s->moe_overlap, s->offload_optimizer, s->offload_activations,
                   s->offload_weights, rk_precision_names[s->precision]);
    return out;
}

/* The part of the step that grew most. */
static int grown_part(const rk_estimate *before, const rk_estimate *after)
{
    int most = 0;
    for (int i = 1; i < RK_PART_COUNT; i++) {
        const double more = after->times.part[i] - before->times.part[i];
        most = more > after->times.part[most] - before->times.part[most] ? i : most;
    }
    return most;
}

/* `rated`: the step is not slower; in any case what fitted fits. */
static void assert_no_worse(const struct draw *d, const char *what, bool rated,
                            const rk_estimate *before, const rk_estimate *after)
{
    char words[400];
    if (rated && after->step > before->step * (1 + rounding)) {
        const int part = grown_part(before, after);
        fail_msg("%s: the step takes %.9g s instead of %.9g, %s %.6g instead of %.6g (%s)", what,
                 after->step, before->step, rk_part_names[part], after->times.part[part],
                 before->times.part[part], words_of(d, words));
    }
    if (before->fits && !after->fits) {
        fail_msg("%s: it does not fit any more (%s)", what, words_of(d, words));
    }
}

/* ---- hardware ------------------------------------------------------------------------------- */

/* One number of the machine gets better by up to four times. */
static void check_better(const struct draw *d, uint64_t *r)
{
    rk_number numbers[RK_NUMBER_MAX];
    char what[160];
    const size_t count = rk_system_numbers(&d->system, d->strategy.precision, numbers);
    const rk_number *number = &numbers[draw_below(r, (int64_t)count)];
    const double factor = 1.05 + (double)draw_below(r, 300) / 100;
    rk_system better = d->system;
    if (number->kind == RK_NUMBER_DOMAIN) { /* which moves ranks to other places */
        return;
    }
    rk_system_set_number(&better, number,
                         number->lower ? number->value / factor : number->value * factor);
    const rk_estimate before = played(d, &d->system, &d->strategy);
    const rk_estimate after = played(d, &better, &d->strategy);
    (void)snprintf(what, sizeof(what), "%s better by %.4g", number->name, factor);
    /* in zero-bubble schedules the pass that hides copies need not be on the critical path */
    const bool latency = number->kind == RK_NUMBER_TIER_LATENCY && !rk_stage_splits(&d->strategy);
    const bool size =
        number->kind == RK_NUMBER_MEMORY_SIZE || number->kind == RK_NUMBER_OFFLOAD_SIZE;
    assert_no_worse(d, what, latency || size, &before, &after);
}

static void test_better(void **state)
{
    (void)state;
    draw_each(seed, draw_count(BETTER), check_better);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Changes one field of a strategy, which may not be legal then. */
static void change(uint64_t *r, rk_strategy *s)
{
    int64_t *const sizes[] = {&s->tp,  &s->cp,  &s->pp,          &s->vp,
                              &s->dp,  &s->ep,  &s->micro_batch, &s->global_batch,
                              &s->seq, &s->etp, &s->replicas};
    const int64_t field = draw_below(r, (int64_t)COUNT(sizes) + 4);
    if (field < (int64_t)COUNT(sizes)) {
        *sizes[field] = draw_below(r, 2) ? 2 * *sizes[field] : (*sizes[field] + 1) / 2;
    } else if (field == (int64_t)COUNT(sizes)) {
        s->recompute = (rk_recompute_kind)draw_below(r, RK_REC_FULL + 1);
        s->recompute_modules = s->recompute == RK_REC_SELECTIVE ? RK_MODULE_CORE_ATTENTION : 0;
        s->recompute_layers = s->recompute == RK_REC_FULL ? draw_below(r, 2) : 0;
    } else if (field == (int64_t)COUNT(sizes) + 1) {
        s->order =
            s->order == RK_ORDER_PIPELINE_DATA ? RK_ORDER_DATA_PIPELINE : RK_ORDER_PIPELINE_DATA;
    } else if (field == (int64_t)COUNT(sizes) + 2) {
        s->sharding = (rk_sharding)draw_below(r, RK_SHARD_ALL + 1);
    } else {
        s->schedule = (rk_schedule_kind)draw_below(r, RK_SCHEDULE_KIND_COUNT);
    }
}

/* Strategies that differ in a few fields, estimated with one store and each on its own. */
static void check_kept(const struct draw *d, uint64_t *r)
{
    rk_setting setting = {.model = &d->model,
                          .system = &d->system,
                          .stack = &d->stack,
                          .convention = RK_FLOPS_MEGATRON};
    rk_strategy s = d->strategy;
    rk_error err;
    assert_int_equal(rk_estimate_store_new(&setting.store, &err), RK_OK);
    for (int i = 0; i < 8; i++) {
        const rk_strategy before = s;
        rk_legality violation;
        rk_estimate kept;
        char words[400];
        change(r, &s);
        if (!rk_strategy_legal(&d->model, &d->system, &s, RK_FRAMEWORK_ANY, &violation)) {
            s = before;
        }
        assert_int_equal(rk_estimate_exact(&setting, &s, &kept, NULL, &err), RK_OK);
        const rk_estimate own = played(d, &d->system, &s);
        if (memcmp(&kept, &own, sizeof(own)) != 0) {
            fail_msg("%.17g s with a store, %.17g without: %s", kept.step, own.step,
                     words_of(d, words));
        }
    }
    rk_estimate_store_free(setting.store);
}

static void test_kept(void **state)
{
    (void)state;
    draw_each(seed, draw_count(KEPT), check_kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_better),
    };
    printf("seed %llx\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, draw_load, NULL);
}
