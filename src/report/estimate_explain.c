/* SPDX-License-Identifier: Apache-2.0 */
#include "report/estimate_explain.h"

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

static double step_on(const rk_setting *setting, const rk_system *system,
                      const rk_strategy *strategy)
{
    rk_estimate estimate;
    rk_estimate_step(setting->model, system, setting->stack, strategy, setting->convention,
                     &estimate);
    return estimate.step;
}

static rk_sensitivity matrix_peak(const rk_setting *setting, const rk_strategy *strategy)
{
    rk_system system = *setting->system;
    rk_sensitivity s = {
        .key = "matrix_peak",
        .name = "matrix peak",
        .value = system.accelerator.gemm[strategy->precision].peak / 1e12,
        .unit = "TFLOP/s",
    };
    better_matrix(&system);
    s.step = step_on(setting, &system, strategy);
    return s;
}

static rk_sensitivity accelerator_number(const rk_setting *setting, const rk_strategy *strategy,
                                         size_t i)
{
    rk_system system = *setting->system;
    const char *accelerator = (const char *)&setting->system->accelerator;
    rk_sensitivity s = {
        .value =
            *(const double *)(const void *)(accelerator + numbers[i].offset) / numbers[i].scale,
        .unit = numbers[i].unit,
        .lower = numbers[i].lower,
    };
    (void)snprintf(s.key, sizeof(s.key), "%s", numbers[i].key);
    (void)snprintf(s.name, sizeof(s.name), "%s", numbers[i].name);
    numbers[i].better(&system);
    s.step = step_on(setting, &system, strategy);
    return s;
}

static rk_sensitivity tier_bandwidth(const rk_setting *setting, const rk_strategy *strategy, int i)
{
    rk_system system = *setting->system;
    rk_sensitivity s = {.value = system.tiers[i].bandwidth / 1e9, .unit = "GB/s"};
    (void)snprintf(s.key, sizeof(s.key), "tier%d_bandwidth", i);
    (void)snprintf(s.name, sizeof(s.name), "%s bandwidth", system.tiers[i].name);
    system.tiers[i].bandwidth *= RK_MORE;
    s.step = step_on(setting, &system, strategy);
    return s;
}

static rk_sensitivity tier_latency(const rk_setting *setting, const rk_strategy *strategy, int i)
{
    rk_system system = *setting->system;
    rk_sensitivity s = {.value = system.tiers[i].latency * 1e6, .unit = "us", .lower = true};
    (void)snprintf(s.key, sizeof(s.key), "tier%d_latency", i);
    (void)snprintf(s.name, sizeof(s.name), "%s latency", system.tiers[i].name);
    system.tiers[i].latency *= RK_LESS;
    system.tiers[i].step_latency *= RK_LESS;
    s.step = step_on(setting, &system, strategy);
    return s;
}

/* ---- memory capacity ----------------------------------------------------------------------- */

/* The fastest neighbour that fits now, and the fastest that fits only with more memory. */
struct neighbours {
    const rk_setting *setting;
    double usable;       /* bytes, with more */
    double now, then;    /* s */
    rk_strategy fastest; /* of `then` */
};

static void survey(void *user, const rk_strategy *changed)
{
    struct neighbours *n = user;
    const rk_setting *s = n->setting;
    rk_estimate e;
    rk_estimate_step(s->model, s->system, s->stack, changed, s->convention, &e);
    if (e.fits) {
        n->now = e.step < n->now ? e.step : n->now;
    } else if (e.memory.total <= n->usable && e.step < n->then &&
               e.host_bytes <= s->system->accelerator.host_capacity) {
        n->then = e.step;
        n->fastest = *changed;
    }
}

/* What it buys is what a neighbour that needs it is faster than those that do without. */
static rk_sensitivity memory_capacity(const rk_setting *setting, const rk_strategy *strategy,
                                      double step)
{
    const double usable = setting->system->accelerator.memory_usable;
    struct neighbours n = {
        .setting = setting, .usable = usable * RK_MORE, .now = step, .then = step};
    rk_sensitivity s = {
        .key = "memory_capacity",
        .name = "memory capacity",
        .value = usable / 0x1p30,
        .unit = "GiB",
        .step = step,
    };
    rk_changes_each(setting, strategy, survey, &n);
    if (n.then < n.now) {
        s.step = step - (n.now - n.then);
        s.changes = true;
        s.strategy = n.fastest;
    }
    return s;
}

/* ---- all of them --------------------------------------------------------------------------- */

/* The most valuable first; names settle ties. */
static int compare(const void *a, const void *b)
{
    const rk_sensitivity *x = a, *y = b;
    return x->step != y->step ? (x->step > y->step) - (x->step < y->step) : strcmp(x->key, y->key);
}

size_t rk_sensitivities(const rk_setting *setting, const rk_strategy *strategy, double step,
                        rk_sensitivity out[RK_SENSITIVITY_MAX])
{
    const double closed = step_on(setting, setting->system, strategy);
    size_t count = 0;
    out[count++] = matrix_peak(setting, strategy);
    out[count++] = memory_capacity(setting, strategy, closed);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        out[count++] = accelerator_number(setting, strategy, i);
    }
    for (int i = 0; i < setting->system->tier_count; i++) {
        out[count++] = tier_bandwidth(setting, strategy, i);
        out[count++] = tier_latency(setting, strategy, i);
    }
    for (size_t i = 0; i < count; i++) {
        out[i].step *= step / closed;
    }
    qsort(out, count, sizeof(*out), compare);
    return count;
}
