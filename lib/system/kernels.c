/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels other than GEMMs: flash attention, streaming kernels, copies to the host. */
#include "base/extremes.h"
#include "system/limits.h"
#include "system/measured.h"

#include <math.h>

/* Queries of one thread block of the flash attention kernels. */
static const double block_queries = 128;
/*
 * The last queries of a causal sequence see twice the keys of the average query.  Where there are
 * few blocks of queries, the core that ends last runs about this many average blocks:
 * between 1 and 2; from the Hopper and Blackwell tables.
 */
static const double longest_block = 1.5;
/*
 * Kernels of a pass: forward the main one and what packs its inputs, backward also the row sums
 * before it and the conversion of the query gradients after it.
 */
static const double forward_kernels = 2, backward_kernels = 4;
/* Head size of the published rates, and the steps in which kernels pad smaller and larger ones. */
static const double usual_head = 128, small_step = 32, large_step = 64;

/*
 * Cost of a FLOP at a head size, relative to 128: kernels pad to a step, and the exponentials of
 * the softmax overlap the two products of a score, for as long as `softmax` elements of the
 * products: fewer for a kernel that is slow at products.  (Measured: FlashAttention-2 on A100 for
 * sizes 32 to 256, Hopper and Blackwell tables for 64, 128 and 256.)
 */
static double head_factor(double softmax, double size)
{
    const double step = size > usual_head ? large_step : small_step;
    const double padded = ceil(size / step) * step;
    return padded / size * rk_both_limits(1, softmax / padded) /
           rk_both_limits(1, softmax / usual_head);
}

/*
 * t = flops / rate * (1 + ramp / s) * head_factor with all cores busy, and hardly less than the
 * time of the longest block of queries on one core (few heads, short sequences).
 */
double rk_attention_seconds(const rk_accelerator *a, const rk_attention_work *work)
{
    const double share = work->share > 0 ? work->share : 1;
    const double rate = share * (work->backward ? a->attention_backward : a->attention_forward);
    const double kernels = work->backward ? backward_kernels : forward_kernels;
    const double busy = work->flops / rate * (1 + a->attention_ramp / work->seq) *
                        head_factor(share * a->attention_softmax, work->qk_size);
    const double blocks = work->heads * rk_max(work->seq / block_queries, 1);
    const double longest = busy / blocks * (double)a->cores * longest_block;
    const double seconds = rk_both_limits(busy, longest) + kernels * a->kernel_seconds;
    return a->measured ? seconds * rk_measured_attention(a->measured, work) : seconds;
}

double rk_stream_seconds(const rk_accelerator *a, double bytes)
{
    if (!(bytes > 0)) {
        return 0;
    }
    return bytes / (a->memory_bandwidth * a->memory_efficiency) + a->kernel_seconds;
}

double rk_host_copy_seconds(const rk_accelerator *a, double bytes)
{
    if (!(bytes > 0)) {
        return 0;
    }
    return bytes / (a->host_bandwidth * a->host_efficiency) + a->kernel_seconds;
}

/* [assumption] Of a disk for each accelerator, the lower end of data sheets, as data/storage has.
 */
static const double assumed_nvme_bandwidth = 2e9;

double rk_nvme_seconds(const rk_accelerator *a, double bytes)
{
    return bytes / (a->nvme_bandwidth > 0 ? a->nvme_bandwidth : assumed_nvme_bandwidth);
}
