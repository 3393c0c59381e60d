/* SPDX-License-Identifier: Apache-2.0 */
/* Number formats, and accelerators at other clocks. */
#include "base/extremes.h"
#include "system/system.h"

#include <assert.h>
#include <math.h>

const char *const rk_precision_names[] = {"fp32", "tf32", "bf16", "fp16",
                                          "fp8",  "fp4",  "int8", NULL};

const char *const rk_generation_names[] = {"none",  "volta",    "ampere", "hopper", "blackwell",
                                           "cdna2", "cdna3",    "cdna4",  "gaudi",  "ascend",
                                           "tpu",   "trainium", NULL};

/* fp4: half a byte and one scale byte for 16 elements. */
double rk_precision_bytes(rk_precision precision)
{
    static const double bytes[RK_PRECISION_COUNT] = {4, 4, 2, 2, 1, 0.5625, 1};
    return bytes[precision];
}

static void scale_engines(rk_accelerator *a, double factor)
{
    for (int i = 0; i < RK_PRECISION_COUNT; i++) {
        a->gemm[i].efficiency *= factor;
    }
}

/* Engines that support FP4 also support block scales of 32 elements (MX). */
bool rk_accelerator_reads_mx(const rk_accelerator *a)
{
    return a->gemm[RK_FP4].peak > 0 || a->generation == RK_GENERATION_BLACKWELL ||
           a->generation == RK_GENERATION_CDNA4;
}

/*
 * Power follows the cube of the clock above what memory and leakage take at any clock, about 200 W
 * of the 700 of an H100 (five stacks of HBM at 30 W; boards that idle with memory clocked up draw
 * 100 to 120 W): at 500 W the clock falls to 0.84.
 */
rk_accelerator rk_accelerator_at_power(const rk_accelerator *a, double watts)
{
    assert(watts >= 0 && a->power >= 0);
    const double standing = 0.28 * a->power;
    rk_accelerator limited = *a;
    if (a->power > 0 && watts > 0 && watts < a->power) {
        /* a floor that keeps the clock above 0.3 of the usual one under any limit */
        const double moving = rk_max(watts - standing, 0.02 * a->power);
        const double factor = cbrt(moving / (a->power - standing));
        scale_engines(&limited, factor);
        limited.attention_forward *= factor;
        limited.attention_backward *= factor;
        for (int i = 0; i < RK_FLASH_LIBRARY_COUNT; i++) {
            limited.flash[i].forward *= factor;
            limited.flash[i].backward *= factor;
        }
        for (int i = 0; i < RK_DELTA_COUNT; i++) {
            limited.delta[i].rate *= factor;
        }
        limited.sparse.core_share *= factor;
        limited.sparse.index_share *= factor;
        limited.power = watts;
    }
    return limited;
}

rk_accelerator rk_accelerator_at_clock(const rk_accelerator *a, rk_clock clock)
{
    rk_accelerator other = *a;
    scale_engines(&other, clock == RK_CLOCK_BURST       ? a->burst
                          : clock == RK_CLOCK_SUSTAINED ? a->sustained
                                                        : 1);
    return other;
}

/* Slower by droop t / (t + t0): kernels of milliseconds see the clock fall while they run. */
double rk_drooping_seconds(const rk_accelerator *a, double seconds, double droop)
{
    return seconds < HUGE_VAL ? seconds * (1 + droop * seconds / (seconds + a->gemm_droop_seconds))
                              : seconds;
}
