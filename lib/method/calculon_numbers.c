/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the improvable numbers of a Calculon system, and scales one. */
#include "method/calculon_numbers.h"

#include "base/units.h"

#include <assert.h>
#include <stdio.h>

size_t rk_calculon_numbers(const rk_calculon_sys *sys, rk_datatype datatype,
                           rk_number out[RK_NUMBER_MAX])
{
    assert((unsigned)datatype < RK_DATATYPE_COUNT);
    rk_number_list list = {out, 0};
    rk_number_add(&list, RK_NUMBER_MATRIX, "matrix_TFLOPps", "matrix rate", "TFLOP/s",
                  sys->matrix[datatype].peak / 1e12);
    rk_number_add(&list, RK_NUMBER_VECTOR, "vector_TFLOPps", "vector rate", "TFLOP/s",
                  sys->vector[datatype].peak / 1e12);
    rk_number_add(&list, RK_NUMBER_MEMORY_RATE, "memory_GBps", "memory bandwidth", "GB/s",
                  sys->mem1.peak / 1e9);
    rk_number_add(&list, RK_NUMBER_MEMORY_SIZE, "memory_GiB", "memory capacity", "GiB",
                  sys->mem1.capacity / GIB);
    rk_number_add(&list, RK_NUMBER_OFFLOAD_RATE, "offload_GBps", "offload bandwidth", "GB/s",
                  sys->mem2.peak / 1e9);
    rk_number_add(&list, RK_NUMBER_OFFLOAD_SIZE, "offload_GiB", "offload capacity", "GiB",
                  sys->mem2.capacity / GIB);
    rk_number_add_domain(&list, "tier 0", sys->networks[0].size);
    for (int i = 0; i < sys->network_count; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "tier %d", i);
        rk_number_add_tier(&list, i, name, sys->networks[i].bandwidth, sys->networks[i].latency);
    }
    return list.count;
}

static void scale_curve(rk_curve *curve, double factor)
{
    for (int i = 0; i < curve->count; i++) {
        curve->rate[i] *= factor;
    }
}

static void scale_engines(rk_calculon_engine engines[RK_DATATYPE_COUNT], double factor)
{
    assert(factor >= 0);
    for (int i = 0; i < RK_DATATYPE_COUNT; i++) {
        engines[i].peak *= factor;
        scale_curve(&engines[i].curve, factor);
    }
}

static void scale_memory(rk_calculon_memory *memory, double factor)
{
    memory->peak *= factor;
    scale_curve(&memory->curve, factor);
}

void rk_calculon_set_number(rk_calculon_sys *sys, const rk_number *number, double value)
{
    assert(number->value > 0 && value >= 0);
    const double factor = value / number->value;
    switch (number->kind) {
    case RK_NUMBER_MATRIX:
        scale_engines(sys->matrix, factor);
        break;
    case RK_NUMBER_VECTOR:
        scale_engines(sys->vector, factor);
        break;
    case RK_NUMBER_MEMORY_RATE:
        scale_memory(&sys->mem1, factor);
        break;
    case RK_NUMBER_MEMORY_SIZE:
        sys->mem1.capacity = value * GIB;
        break;
    case RK_NUMBER_OFFLOAD_RATE:
        scale_memory(&sys->mem2, factor);
        break;
    case RK_NUMBER_OFFLOAD_SIZE:
        sys->mem2.capacity = value * GIB;
        break;
    case RK_NUMBER_LAUNCH: /* the methodology has none */
        break;
    case RK_NUMBER_TIER_RATE:
        sys->networks[number->tier].bandwidth = value * 1e9;
        break;
    case RK_NUMBER_TIER_LATENCY:
        sys->networks[number->tier].latency = value * 1e-6;
        break;
    case RK_NUMBER_DOMAIN:
        sys->networks[0].size = (int64_t)value;
        break;
    }
}
