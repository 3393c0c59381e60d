/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the improvable numbers of a machine: peaks, bandwidths, latencies, capacities, domains. */
#include "system/machine_numbers.h"

#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

rk_number *rk_number_add(rk_number_list *list, rk_number_kind kind, const char *key,
                         const char *name, const char *unit, double value)
{
    assert(list->count < RK_NUMBER_MAX);
    rk_number *number = &list->numbers[list->count++];
    *number = (rk_number){.kind = kind, .unit = unit, .value = value};
    (void)snprintf(number->key, sizeof(number->key), "%s", key);
    (void)snprintf(number->name, sizeof(number->name), "%s", name);
    return number;
}

void rk_number_add_tier(rk_number_list *list, int tier, const char *name, double bandwidth,
                        double latency)
{
    char key[32], text[64];
    (void)snprintf(key, sizeof(key), "tier%d_GBps", tier);
    (void)snprintf(text, sizeof(text), "%s bandwidth", name);
    rk_number_add(list, RK_NUMBER_TIER_RATE, key, text, "GB/s", bandwidth / 1e9)->tier = tier;
    (void)snprintf(key, sizeof(key), "tier%d_us", tier);
    (void)snprintf(text, sizeof(text), "%s latency", name);
    rk_number *number = rk_number_add(list, RK_NUMBER_TIER_LATENCY, key, text, "us", latency * 1e6);
    number->tier = tier;
    number->lower = true;
}

void rk_number_add_domain(rk_number_list *list, const char *name, int64_t size)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%s domain", name);
    rk_number_add(list, RK_NUMBER_DOMAIN, "domain", text, "accelerators", (double)size)->whole =
        true;
}

size_t rk_system_numbers(const rk_system *system, rk_precision precision,
                         rk_number out[RK_NUMBER_MAX])
{
    const rk_accelerator *a = &system->accelerator;
    rk_number_list list = {out, 0};
    rk_number_add(&list, RK_NUMBER_MATRIX, "matrix_TFLOPps", "matrix rate", "TFLOP/s",
                  a->gemm[precision].peak / 1e12);
    rk_number_add(&list, RK_NUMBER_MEMORY_RATE, "memory_GBps", "memory bandwidth", "GB/s",
                  a->memory_bandwidth / 1e9);
    rk_number_add(&list, RK_NUMBER_MEMORY_SIZE, "memory_GiB", "usable memory", "GiB",
                  a->memory_usable / GIB);
    rk_number_add(&list, RK_NUMBER_OFFLOAD_RATE, "offload_GBps", "host link bandwidth", "GB/s",
                  a->host_bandwidth / 1e9);
    rk_number_add(&list, RK_NUMBER_OFFLOAD_SIZE, "offload_GiB", "host memory", "GiB",
                  a->host_capacity / GIB);
    rk_number_add(&list, RK_NUMBER_LAUNCH, "launch_us", "launch of a kernel", "us",
                  a->launch_seconds * 1e6)
        ->lower = true;
    if (system->tier_count > 1) {
        rk_number_add_domain(&list, system->tiers[0].name, system->tiers[0].size);
    }
    for (int i = 0; i < system->tier_count; i++) {
        rk_number_add_tier(&list, i, system->tiers[i].name, system->tiers[i].bandwidth,
                           system->tiers[i].latency);
    }
    return list.count;
}

static void scale_matrix(rk_accelerator *a, double factor)
{
    for (int i = 0; i < RK_PRECISION_COUNT; i++) {
        a->gemm[i].peak *= factor;
    }
    a->attention_forward *= factor;
    a->attention_backward *= factor;
}

/* Outer tiers grow to whole numbers of the domains inside them. */
static void set_domain(rk_system *system, int64_t size)
{
    int64_t below = size;
    system->tiers[0].size = size;
    for (int i = 1; i < system->tier_count; i++) {
        const int64_t units = (system->tiers[i].size + below - 1) / below;
        below *= units > 1 ? units : 2;
        system->tiers[i].size = below;
    }
}

void rk_system_set_number(rk_system *system, const rk_number *number, double value)
{
    assert(value >= 0 && number->value > 0);
    rk_accelerator *a = &system->accelerator;
    rk_tier *tier = &system->tiers[number->tier];
    const double factor = value / number->value;
    switch (number->kind) {
    case RK_NUMBER_MATRIX:
        scale_matrix(a, factor);
        break;
    case RK_NUMBER_VECTOR:
        a->vector_peak *= factor;
        break;
    case RK_NUMBER_MEMORY_RATE:
        a->memory_bandwidth = value * 1e9;
        break;
    case RK_NUMBER_MEMORY_SIZE:
        a->memory_usable = value * GIB;
        a->memory_capacity *= factor;
        break;
    case RK_NUMBER_OFFLOAD_RATE:
        a->host_bandwidth = value * 1e9;
        break;
    case RK_NUMBER_OFFLOAD_SIZE:
        a->host_capacity = value * GIB;
        break;
    case RK_NUMBER_LAUNCH:
        a->launch_seconds = value * 1e-6;
        break;
    case RK_NUMBER_TIER_RATE:
        tier->bandwidth = value * 1e9;
        break;
    case RK_NUMBER_TIER_LATENCY:
        tier->latency = value * 1e-6;
        tier->step_latency *= factor;
        break;
    case RK_NUMBER_DOMAIN:
        set_domain(system, (int64_t)value);
        break;
    }
}
