/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times have no unit of their own: on a machine whose rates are all k times as high, and whose
 * fixed times are all 1/k, every time is 1/k of what it was, and memory is the same.
 */
#include "../draws.h"

#include "system/collective_plan.h"

enum { LEGAL = 500 };

static void scale_accelerator(rk_accelerator *a, double k)
{
    double *const rates[] = {&a->vector_peak,        &a->memory_bandwidth, &a->attention_forward,
                             &a->attention_backward, &a->host_bandwidth,   &a->nvme_bandwidth};
    double *const times[] = {&a->kernel_seconds, &a->launch_seconds, &a->split_seconds,
                             &a->gemm_droop_seconds, &a->attention_droop_seconds};
    for (size_t i = 0; i < COUNT(rates); i++) {
        *rates[i] *= k;
    }
    for (size_t i = 0; i < COUNT(times); i++) {
        *times[i] /= k;
    }
    for (int i = 0; i < RK_PRECISION_COUNT; i++) {
        a->gemm[i].peak *= k;
    }
    for (int i = 0; i < RK_FLASH_LIBRARY_COUNT; i++) {
        a->flash[i].forward *= k;
        a->flash[i].backward *= k;
    }
    for (int i = 0; i < RK_DELTA_COUNT; i++) {
        a->delta[i].rate *= k;
        a->delta[i].token /= k;
        a->delta[i].launch /= k;
    }
}

static void scale_tier(rk_tier *tier, double k)
{
    tier->bandwidth *= k;
    tier->latency /= k;
    tier->step_latency /= k;
    tier->chunk_wait /= k;
    tier->message_start /= k;
    for (int i = 0; i < RK_SIDE_LINK_MAX; i++) {
        tier->sides[i].bandwidth *= k;
        tier->sides[i].latency /= k;
    }
    for (int i = 0; i < RK_COLL_COUNT; i++) {
        tier->fits[i].step /= k;
        tier->fits[i].chunk_step /= k;
    }
}

static void scale_stack(rk_stack *stack, double k)
{
    stack->router_seconds /= k;
    stack->expert_cast_seconds /= k;
    stack->send_seconds /= k;
    stack->step_seconds /= k;
    stack->adapter_seconds /= k;
    stack->thrash_seconds /= k;
    stack->host_bandwidth *= k;
    stack->dispatch_bandwidth *= k;
}

static void estimate(const struct draw *d, rk_estimate *e)
{
    rk_makespans *makespans;
    rk_error err;
    assert_int_equal(rk_makespans_new(&makespans, &err), RK_OK);
    assert_int_equal(
        rk_estimate_table(&d->table, &d->strategy, RK_FLOPS_MEGATRON, makespans, e, NULL, &err),
        RK_OK);
    rk_makespans_free(makespans);
}

/* Every way of a collective, fastest first. */
static void check_collective(const rk_system *slow, const rk_system *fast, double k, uint64_t *r)
{
    const rk_group group = rk_group_of(slow, draw_power(r, 8), draw_power(r, 3));
    rk_collective_query query = {.system = slow,
                                 .group = &group,
                                 .op = (rk_collective)draw_below(r, RK_COLL_COUNT),
                                 .bytes = (double)draw_power(r, 33)};
    rk_collective_plans before, after;
    rk_error err;
    assert_int_equal(rk_list_collective_plans(&query, &before, &err), RK_OK);
    query.system = fast;
    assert_int_equal(rk_list_collective_plans(&query, &after, &err), RK_OK);
    assert_int_equal(before.count, after.count);
    for (size_t i = 0; i < before.count; i++) {
        assert_near(k * after.plans[i].seconds, before.plans[i].seconds, 1e-12);
    }
    rk_collective_plans_clear(&before);
    rk_collective_plans_clear(&after);
}

/* Attention kernels of libraries, and clocks of short benchmarks. */
static void check_kernels(const rk_accelerator *slow, const rk_accelerator *fast, double k,
                          uint64_t *r)
{
    const double t = 1e-5 * (double)draw_power(r, 10), tokens = 512 * (double)draw_power(r, 8);
    assert_near(k * rk_drooping_seconds(fast, t / k, 0.2), rk_drooping_seconds(slow, t, 0.2),
                1e-12);
    for (int i = 0; i < RK_FLASH_LIBRARY_COUNT; i++) {
        const rk_flash_work work = {.library = (rk_flash_library)i,
                                    .heads = (double)draw_power(r, 6),
                                    .group = 4,
                                    .queries = tokens,
                                    .keys = tokens,
                                    .qk_size = 128,
                                    .v_size = 128,
                                    .causal = true,
                                    .backward = draw_chance(r, 2)};
        if (slow->flash[i].forward > 0 && slow->flash[i].backward > 0) {
            assert_near(k * rk_flash_seconds(fast, &work), rk_flash_seconds(slow, &work), 1e-12);
        }
    }
}

static void check_scaled(const struct draw *d, uint64_t *r)
{
    static struct draw fast;
    rk_estimate before, after;
    const double k = 0.1 + (double)draw_below(r, 1000) / 100;
    fast = *d;
    scale_accelerator(&fast.system.accelerator, k);
    for (int i = 0; i < fast.system.tier_count; i++) {
        scale_tier(&fast.system.tiers[i], k);
    }
    scale_stack(&fast.stack, k);
    rk_cost_table_fill(&fast.model, &fast.system, &fast.stack, &fast.strategy, &fast.table);
    estimate(d, &before);
    estimate(&fast, &after);
    assert_near(k * after.step, before.step, 1e-12);
    for (int i = 0; i < RK_PART_COUNT; i++) {
        const double apart = fabs(k * after.times.part[i] - before.times.part[i]);
        if (!(apart <= 1e-12 * before.step)) {
            fail_msg("%s: %.17g s and %.17g s", rk_part_names[i], before.times.part[i],
                     k * after.times.part[i]);
        }
    }
    assert_near(after.memory.total, before.memory.total, 1e-15);
    check_collective(&d->system, &fast.system, k, r);
    check_kernels(&d->system.accelerator, &fast.system.accelerator, k, r);
}

static void test_scaled(void **state)
{
    (void)state;
    draw_each(0x2545f4914f6cdd1d, draw_count(LEGAL), check_scaled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scaled)};
    return cmocka_run_group_tests(tests, draw_load, NULL);
}
