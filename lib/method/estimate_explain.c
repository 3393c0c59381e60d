/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the step once per hardware number improved by 10 %, and sorts by the time saved. */
#include "method/estimate_explain.h"

#include "base/units.h"
#include "residual/risk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one number at a time ------------------------------------------------------------------ */

static void better_matrix(rk_system *system)
{
    rk_accelerator *a = &system->accelerator;
    for (int i = 0; i < RK_PRECISION_COUNT; i++) {
        a->gemm[i].peak *= RK_MORE;
    }
    a->attention_forward *= RK_MORE;
    a->attention_backward *= RK_MORE;
}

static void better_memory(rk_system *system)
{
    system->accelerator.memory_bandwidth *= RK_MORE;
}

static void better_launch(rk_system *system)
{
    system->accelerator.launch_seconds *= RK_LESS;
}

static void better_host_link(rk_system *system)
{
    system->accelerator.host_bandwidth *= RK_MORE;
}

static const struct {
    const char *key, *name, *unit;
    size_t offset; /* of the number in rk_accelerator */
    double scale;  /* of a unit */
    bool lower;
    void (*better)(rk_system *system);
} numbers[] = {
    {"memory_bandwidth", "memory bandwidth", "GB/s", offsetof(rk_accelerator, memory_bandwidth),
     1e9, false, better_memory},
    {"launch", "host launch of a kernel", "us", offsetof(rk_accelerator, launch_seconds), 1e-6,
     true, better_launch},
    {"host_bandwidth", "host link bandwidth", "GB/s", offsetof(rk_accelerator, host_bandwidth), 1e9,
     false, better_host_link},
};

/* Fills out->step for a system with one number that is better. */
static rk_status step_on(const rk_setting *setting, const rk_system *system,
                         const rk_strategy *strategy, rk_sensitivity *out, rk_error *err)
{
    rk_estimate estimate;
    rk_setting other = *setting;
    other.system = system;
    const rk_status status = rk_estimate_exact(&other, strategy, &estimate, NULL, err);
    out->step = estimate.step;
    return status;
}

static rk_status matrix_peak(const rk_setting *setting, const rk_strategy *strategy,
                             rk_sensitivity *out, rk_error *err)
{
    rk_system system = *setting->system;
    *out = (rk_sensitivity){
        .key = "matrix_peak",
        .name = "matrix peak",
        .value = system.accelerator.gemm[strategy->precision].peak / 1e12,
        .unit = "TFLOP/s",
    };
    better_matrix(&system);
    return step_on(setting, &system, strategy, out, err);
}

static rk_status accelerator_number(const rk_setting *setting, const rk_strategy *strategy,
                                    size_t i, rk_sensitivity *out, rk_error *err)
{
    rk_system system = *setting->system;
    const char *accelerator = (const char *)&setting->system->accelerator;
    *out = (rk_sensitivity){
        .value =
            *(const double *)(const void *)(accelerator + numbers[i].offset) / numbers[i].scale,
        .unit = numbers[i].unit,
        .lower = numbers[i].lower,
    };
    (void)snprintf(out->key, sizeof(out->key), "%s", numbers[i].key);
    (void)snprintf(out->name, sizeof(out->name), "%s", numbers[i].name);
    numbers[i].better(&system);
    return step_on(setting, &system, strategy, out, err);
}

static rk_status tier_bandwidth(const rk_setting *setting, const rk_strategy *strategy, int i,
                                rk_sensitivity *out, rk_error *err)
{
    assert(i >= 0 && i < setting->system->tier_count);
    rk_system system = *setting->system;
    *out = (rk_sensitivity){.value = system.tiers[i].bandwidth / 1e9, .unit = "GB/s"};
    (void)snprintf(out->key, sizeof(out->key), "tier%d_bandwidth", i);
    (void)snprintf(out->name, sizeof(out->name), "%s bandwidth", system.tiers[i].name);
    system.tiers[i].bandwidth *= RK_MORE;
    return step_on(setting, &system, strategy, out, err);
}

static rk_status tier_latency(const rk_setting *setting, const rk_strategy *strategy, int i,
                              rk_sensitivity *out, rk_error *err)
{
    assert(i >= 0 && i < setting->system->tier_count);
    rk_system system = *setting->system;
    *out = (rk_sensitivity){.value = system.tiers[i].latency * 1e6, .unit = "us", .lower = true};
    (void)snprintf(out->key, sizeof(out->key), "tier%d_latency", i);
    (void)snprintf(out->name, sizeof(out->name), "%s latency", system.tiers[i].name);
    system.tiers[i].latency *= RK_LESS;
    system.tiers[i].step_latency *= RK_LESS;
    return step_on(setting, &system, strategy, out, err);
}

/* ---- memory capacity ----------------------------------------------------------------------- */

/* Finds the fastest neighbour that fits now, and the fastest that fits only with more memory. */
struct neighbours {
    const rk_setting *setting;
    double usable;       /* bytes, with more */
    double now, then;    /* s */
    rk_strategy fastest; /* of `then` */
    rk_status status;
    rk_error *err;
};

static void survey(void *user, const rk_strategy *changed)
{
    struct neighbours *n = user;
    const rk_setting *s = n->setting;
    rk_estimate e;
    if (n->status || (n->status = rk_predict_estimate(s, changed, &e, NULL, n->err))) {
        return;
    }
    const double size = n->usable / s->system->accelerator.memory_usable;
    if (rk_is_within_risk(s, &e)) {
        n->now = e.step < n->now ? e.step : n->now;
    } else if (rk_is_within_more(s, &e, size) && e.step < n->then &&
               e.host_bytes <= s->system->accelerator.host_capacity) {
        n->then = e.step;
        n->fastest = *changed;
    }
}

/* The value of memory is how much faster a neighbour is that needs it than those that do not. */
static rk_status memory_capacity(const rk_setting *setting, const rk_strategy *strategy,
                                 double step, rk_sensitivity *out, rk_error *err)
{
    const double usable = setting->system->accelerator.memory_usable;
    rk_setting keeping = *setting;
    struct neighbours n = {
        .setting = &keeping, .usable = usable * RK_MORE, .now = step, .then = step, .err = err};
    *out = (rk_sensitivity){
        .key = "memory_capacity",
        .name = "memory capacity",
        .value = usable / GIB,
        .unit = "GiB",
        .step = step,
    };
    n.status = rk_estimate_store_new(&keeping.store, err);
    if (!n.status) {
        rk_changes_each(setting, strategy, survey, &n);
    }
    rk_estimate_store_free(keeping.store);
    if (n.then < n.now) {
        out->step = step - (n.now - n.then);
        out->changes = true;
        out->strategy = n.fastest;
    }
    return n.status;
}

/* ---- the report ---------------------------------------------------------------------------- */

/* The most valuable first; ties are sorted by name. */
static int compare(const void *a, const void *b)
{
    const rk_sensitivity *x = a, *y = b;
    return x->step != y->step ? (x->step > y->step) - (x->step < y->step) : strcmp(x->key, y->key);
}

rk_status rk_find_sensitivities(const rk_setting *setting, const rk_strategy *strategy, double step,
                                rk_sensitivities *out, rk_error *err)
{
    assert(step > 0);
    rk_sensitivity *next = out->items;
    rk_status status = matrix_peak(setting, strategy, next++, err);
    status = status ? status : memory_capacity(setting, strategy, step, next++, err);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !status; i++) {
        status = accelerator_number(setting, strategy, i, next++, err);
    }
    for (int i = 0; i < setting->system->tier_count && !status; i++) {
        status = tier_bandwidth(setting, strategy, i, next++, err);
        status = status ? status : tier_latency(setting, strategy, i, next++, err);
    }
    out->count = status ? 0 : (size_t)(next - out->items);
    qsort(out->items, out->count, sizeof(*out->items), compare);
    return status;
}
