/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMMs priced by shape.  An output is cut into tiles; a core computes one tile at a time, walking
 * along K; cores run in waves; operands and results cross device memory once.
 *
 * The form and the rounding terms were found on public measurements of tens of thousands of shapes
 * (NVIDIA aiconfigurator tables): on A100 the waves matter most, on later chips the K loop.  No
 * larger form does better than two library versions differ, about 5% rms.
 */
#include "system/limits.h"
#include "system/system.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Elements of a tile, tiles per row and column of the output, and the cores that share a tile. */
typedef struct tile {
    double size, per_row, per_column, cores;
} tile;

#define TILE(rows, columns, cores)                                                                 \
    {                                                                                              \
        (double)(rows) * (columns), 1.0 / (rows), 1.0 / (columns), cores                           \
    }

/* The tiles of the usual libraries. */
static const tile tiles[] = {
    TILE(256, 256, 2), TILE(256, 128, 1), TILE(128, 256, 1), TILE(128, 128, 1), TILE(128, 64, 1),
    TILE(64, 128, 1),  TILE(64, 64, 1),   TILE(32, 64, 1),   TILE(16, 64, 1),
};

/* How many cores may divide the K of a tile among them. */
static const double splits[] = {1, 2, 4, 8};

/* A shorter part of K takes as long as this one. */
static const double split_k_least = 256;
/* Fixed cost of adding the partial results of a split, s; from the same measurements. */
static const double split_seconds = 1e-6;
/*
 * Bytes of device memory per partial result: written and read in fp32; a third of it misses the
 * on-chip cache.
 */
static const double split_bytes = 8.0 / 3;

/* The smallest integer not below x >= 0; inline where ceil() is a call. */
static inline double round_up(double x)
{
    if (!(x < 0x1p52)) {
        return x; /* has no fraction */
    }
    const double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

/* fmax() without its care for NaN, which is a call. */
static inline double at_least(double x, double low)
{
    return x < low ? low : x;
}

/*
 * Time of the engine for `batch` products C[M,N] += A[M,K] B[K,N], in FLOP of one core:
 *
 *     tiles = batch * ceil(M / tm) * ceil(N / tn) * s          s: split of K
 *     w     = tiles * cores of a tile / cores
 *     waves = max(1, (1 - q) w + q ceil(w))                    q: wave_share
 *     tile  = 2 tm tn (max(K / s, 256) + k0) (1 + c (1/tm + 1/tn)) / cores of a tile
 *
 * least of waves * tile + merge over tiles and splits.  Never falls when a size grows.
 */
static double engine_flops(const rk_accelerator *a, const rk_gemm_engine *engine, double batch,
                           double M, double N, double K, size_t split_count)
{
    const double per_core = 1 / (double)a->cores, q = engine->wave_share;
    const double rate = engine->peak * engine->efficiency * per_core;
    const double merge_fixed = split_seconds * rate;
    const double merge_each = split_bytes * batch * M * N / a->memory_bandwidth * rate;
    double least = HUGE_VAL;
    for (size_t i = 0; i < COUNT(tiles); i++) {
        const tile *t = &tiles[i];
        const double w1 =
            batch * round_up(M * t->per_row) * round_up(N * t->per_column) * t->cores * per_core;
        const double per_k =
            2 * t->size / t->cores * (1 + engine->feed * (t->per_row + t->per_column));
        for (size_t j = 0; j < split_count; j++) {
            const double s = splits[j], merge = j ? merge_fixed + s * merge_each : 0;
            const double w = w1 * s;
            const double k = at_least(K / s, j ? split_k_least : 0) + engine->prologue;
            if (w * per_k * k + merge >= least) {
                break; /* not even with full waves, nor with more splits */
            }
            const double waves = at_least((1 - q) * w + q * round_up(w), 1);
            const double flops = waves * per_k * k + merge;
            least = flops < least ? flops : least;
        }
    }
    return least;
}

/* Engine and memory side by side, then the fixed cost of the kernel. */
static double gemm_seconds(const rk_accelerator *a, rk_precision precision, double batch, double M,
                           double N, double K, double accumulate_bytes, size_t split_count)
{
    const rk_gemm_engine *engine = &a->gemm[precision];
    if (!(engine->peak > 0)) {
        return HUGE_VAL;
    }
    const double bytes =
        batch * (rk_precision_bytes(precision) * (M * K + K * N) + (2 + accumulate_bytes) * M * N);
    const double math = engine_flops(a, engine, batch, M, N, K, split_count) * (double)a->cores /
                        (engine->peak * engine->efficiency);
    const double memory = bytes / (a->memory_bandwidth * a->memory_efficiency);
    return rk_both_limits(math, memory) + a->kernel_seconds;
}

double rk_gemm_seconds(const rk_accelerator *a, rk_precision precision, double batch, double M,
                       double N, double K, double accumulate_bytes)
{
    return gemm_seconds(a, precision, batch, M, N, K, accumulate_bytes, COUNT(splits));
}

/* All tiles of all groups run in the same waves; grouped kernels do not split K. */
double rk_grouped_gemm_seconds(const rk_accelerator *a, rk_precision precision, double groups,
                               double M, double N, double K, double accumulate_bytes)
{
    return gemm_seconds(a, precision, groups, M, N, K, accumulate_bytes, 1);
}
