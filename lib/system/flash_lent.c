/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nearest accelerator with rates for an attention kernel, and the error it adds. */
#include "system/flash_lent.h"

#include <assert.h>
#include <math.h>

/*
 * cuDNN is NVIDIA's, with kernels in 8 bits from Hopper on; FlashAttention-2 needs Ampere or an AMD
 * accelerator, FlashAttention-3 Hopper, and AITER is AMD's.
 */
bool rk_flash_exists(const rk_accelerator *a, rk_flash_library library)
{
    assert(library < RK_FLASH_LIBRARY_COUNT);
    const rk_generation g = a->generation;
    const bool nvidia = g >= RK_GENERATION_VOLTA && g <= RK_GENERATION_BLACKWELL;
    const bool amd = g >= RK_GENERATION_CDNA2 && g <= RK_GENERATION_CDNA4;
    const bool eight = a->gemm[RK_FP8].peak > 0 && (!nvidia || g >= RK_GENERATION_HOPPER);
    const bool any = g == RK_GENERATION_NONE;
    switch (library) {
    case RK_FLASH_CUDNN:
        return any || nvidia;
    case RK_FLASH_CUDNN_FP8:
        return (any || nvidia) && eight;
    case RK_FLASH_CUDNN_MXFP8:
        return (any || nvidia) && eight && rk_accelerator_reads_mx(a);
    case RK_FLASH_2:
        return any || amd || (nvidia && g != RK_GENERATION_VOLTA);
    case RK_FLASH_3:
        return any || g == RK_GENERATION_HOPPER;
    default:
        return any || amd;
    }
}

bool rk_flash_is_measured(const rk_accelerator *a, rk_flash_library library)
{
    return a->flash[library].forward > 0 && a->flash[library].backward > 0;
}

/* How far apart two rates are; one that an accelerator lacks says nothing. */
static double apart(double x, double y)
{
    return x > 0 && y > 0 ? fabs(log(x / y)) : 0;
}

static double distance(const rk_accelerator *a, const rk_accelerator *b)
{
    double sum = apart(a->attention_forward, b->attention_forward) +
                 apart(a->attention_backward, b->attention_backward);
    for (int i = RK_BF16; i < RK_PRECISION_COUNT; i++) {
        sum += apart(a->gemm[i].peak, b->gemm[i].peak);
    }
    return sum;
}

const rk_accelerator *rk_flash_lender(const rk_accelerator *a, rk_flash_library library)
{
    const rk_accelerator *nearest = NULL;
    double least = HUGE_VAL;
    for (size_t i = 0; i < rk_flash_lender_count; i++) {
        const rk_accelerator *lender = &rk_flash_lenders[i];
        const double far = distance(a, lender);
        if (lender->generation == a->generation && rk_flash_is_measured(lender, library) &&
            far < least) {
            nearest = lender;
            least = far;
        }
    }
    return nearest;
}

double rk_flash_error(const rk_accelerator *a, rk_flash_library library)
{
    return rk_flash_is_measured(a, library) ? 0
           : rk_flash_lender(a, library)    ? rk_flash_lent_errors[library]
                                            : rk_flash_apart;
}
