/* SPDX-License-Identifier: Apache-2.0 */
/* Time of FlashAttention and cuDNN kernels by data type, mask, window and head sizes. */
#include "system/flash.h"

#include "base/extremes.h"
#include "system/limits.h"
#include "system/system.h"

const char *const rk_flash_library_names[] = {
    "cudnn", "cudnn_fp8", "cudnn_mxfp8", "flash_attention_2", "flash_attention_3", "aiter", NULL};

/* Kernels of a pass, as for rk_attention_seconds. */
static const double forward_kernels = 2, backward_kernels = 4;
/* Head size of the rates. */
static const double usual_head = 128;
/*
 * Queries of a thread block: two tiles of 128 forward on Blackwell, whose tensor memory holds the
 * accumulators of both, else one.  Keys that only some queries of a block see are computed for all.
 */
static const double tile = 128, two_tiles = 256;
/*
 * Backward that adds query gradients in a fixed order waits for its turn, where the kernel is not
 * waiting anyway (16 bits, heads of up to 128): cuDNN on GB200 and GB300, medians of 1.12 to 1.28.
 */
static const double ordered = 1.22;
/*
 * How much of the first clock chips lose in work of attention_droop_seconds and longer: cuDNN on
 * GB200 and GB300, sequences from 512 to 131,072 (0.5 ms to 0.5 s).
 */
static const double droop = 0.1;

static bool is_eight_bit(rk_flash_library library)
{
    return library == RK_FLASH_CUDNN_FP8 || library == RK_FLASH_CUDNN_MXFP8;
}

/*
 * Backward in 8 bits walks over all keys of the triangle with any window (times of gpt-oss at
 * windows of 128 and 1,024 grow with the square of the sequence).
 */
static bool keeps_to_window(const rk_flash_work *w)
{
    return w->causal && w->window > 0 && w->window < w->keys &&
           !(w->backward && is_eight_bit(w->library));
}

/* Keys that a block computes for its queries, on average. */
static double keys_of(const rk_flash_work *w, double block)
{
    const double seen = rk_min(w->keys - w->queries + (w->queries + block) / 2, w->keys);
    if (!w->causal) {
        return w->keys;
    }
    return keeps_to_window(w) ? rk_min(w->window + block, seen) : seen;
}

/*
 * FLOPs of a query and key: 2 products forward, 5 backward.  Backward in 16 bits on Blackwell pads
 * queries and keys to whole tiles of 128 (heads of 192 take as long as of 256).
 */
static double pair_flops(const rk_accelerator *a, const rk_flash_work *w)
{
    const bool pads = a->generation == RK_GENERATION_BLACKWELL && w->backward &&
                      !is_eight_bit(w->library) && w->qk_size > usual_head / 2;
    const double qk = pads ? ceil(w->qk_size / tile) * tile : w->qk_size;
    return w->backward ? 2 * (3 * qk + 2 * w->v_size) : 2 * (qk + w->v_size);
}

/*
 * Gradients of keys and values that query heads share are written for each head, and summed: in 16
 * bits as they are, of 8-bit kernels in fp32.  (Grouped heads of cuDNN at 2,048 tokens.)
 */
static double sum_seconds(const rk_accelerator *a, const rk_flash_work *w)
{
    const double element = is_eight_bit(w->library) ? 4 : 2;
    const double bytes = 2 * element * w->heads * w->keys * (w->qk_size + w->v_size);
    return w->backward && w->group > 1 ? bytes / (a->memory_bandwidth * a->memory_efficiency) : 0;
}

/*
 * t = heads queries (keys + prologue) flops both(1, softmax) / rate while all cores are busy, and
 * hardly less than the time of the last block, which meets the most keys; then the clock falls.
 */
double rk_flash_seconds(const rk_accelerator *a, const rk_flash_work *w)
{
    const rk_flash_rates *k = &a->flash[w->library];
    const double rate = w->backward ? k->backward : k->forward;
    if (!(rate > 0)) {
        return HUGE_VAL;
    }
    const bool wide = !w->backward && a->generation == RK_GENERATION_BLACKWELL;
    const double block = wide ? two_tiles : tile, products = w->backward ? 5 : 2;
    const double keys = keys_of(w, block), flops = pair_flops(a, w);
    const double scale = rk_both_limits(1, k->softmax * 2 * products / flops) /
                         rk_both_limits(1, k->softmax / usual_head);
    const double busy = w->heads * w->queries * (keys + k->prologue) * flops * scale / rate;
    const double last = keeps_to_window(w) ? 1 : (1 + w->keys / keys) / 2;
    const double blocks = w->heads * rk_max(w->queries / block, 1);
    const double longest = busy / blocks * (double)a->cores * last;
    const double fixed = (w->backward ? backward_kernels : forward_kernels) * a->kernel_seconds;
    const bool waits =
        w->deterministic && w->backward && !is_eight_bit(w->library) && w->qk_size <= usual_head;
    const double t =
        (rk_both_limits(busy, longest) + fixed) * (waits ? ordered : 1) + sum_seconds(a, w);
    return t * (1 + droop * (w->sustained ? 1 : t / (t + a->attention_droop_seconds)));
}
