/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMMs priced by shape.  An output is cut into tiles; a core computes one tile at a time, walking
 * along K; cores run in waves; operands and results cross device memory once.
 *
 * The form and the rounding terms were found on public measurements of tens of thousands of shapes
 * (NVIDIA aiconfigurator tables): on A100 the waves matter most, on later chips the K loop.  No
 * larger form does better than two library versions differ, about 5% rms.  Where a machine has
 * tables of its own, they correct it (measured.h).
 */
#include "base/extremes.h"
#include "base/units.h"
#include "system/limits.h"
#include "system/measured.h"

#include <assert.h>
#include <math.h>

/* FLOP of a core per step of K, tiles per row and column of the output, cores that share a tile. */
typedef struct tile {
    double flops, per_row, per_column, cores;
} tile;

#define TILE(rows, columns, cores)                                                                 \
    {                                                                                              \
        2.0 * (rows) * (columns) / (cores), 1.0 / (rows), 1.0 / (columns), cores                   \
    }

/* The tiles of the usual libraries, the best fed first. */
static const tile tiles[] = {
    TILE(256, 256, 2), TILE(256, 128, 1), TILE(128, 256, 1), TILE(128, 128, 1), TILE(128, 64, 1),
    TILE(64, 128, 1),  TILE(64, 64, 1),   TILE(32, 64, 1),   TILE(16, 64, 1),
};

/*
 * Batched products are cut into tiles of at most 128 x 128.  (8,000 batched products on A100 by
 * estimate-train-time, to which nothing is fitted: with all tiles 10 % too fast forward and 9 %
 * backward in the mean, so 3 and 4 %.)
 */
enum { FIRST_OF_BATCHED = 3 };

/* How many times the K of a tile may be halved, for other cores to take their part. */
enum { HALVINGS = 3 };

/* A shorter part of K is no faster. */
static const double split_k_least = 256;
/*
 * Bytes of device memory per partial result: written and read in fp32; a third misses the on-chip
 * cache.
 */
static const double split_bytes = 8.0 / 3;

/* The smallest integer not below x >= 0, where doubles have fractions; ceil() is a call. */
static inline double round_up(double x)
{
    const double nearest = (x + 0x1p52) - 0x1p52;
    return nearest < x ? nearest + 1 : nearest;
}

/* A GEMM on an engine, and what its tiles have in common. */
typedef struct product {
    double batch, M, N, K;
    double q, k0, c; /* wave_share, prologue and feed of the engine */
    double per_core; /* 1 / cores, rounded down: whole waves stay whole */
    double merge;    /* FLOP of a core to add the parts of a split K, and for each part */
    double merge_part;
} product;

/* FLOP of a core for w waves of tiles that take `per_k` per step of a K of length k. */
static inline double waves_flops(const product *p, double w, double per_k, double k)
{
    return rk_max((1 - p->q) * w + p->q * round_up(w), 1) * per_k * (k + p->k0);
}

/* The least of `least` and of w1 waves of tiles whose K is split. */
static double split_flops(const product *p, double w1, double per_k, double least)
{
    double s = 1, part = p->K;
    for (int i = 0; i < HALVINGS; i++) {
        s *= 2;
        part *= 0.5;
        const double merge = p->merge + s * p->merge_part;
        const double w = w1 * s, k = rk_max(part, split_k_least);
        if (w * per_k * (k + p->k0) + merge >= least) {
            break; /* not even with full waves, nor with more splits */
        }
        const double flops = waves_flops(p, w, per_k, k) + merge;
        least = flops < least ? flops : least;
    }
    return least;
}

/*
 * Time of the engine for `batch` products C[M,N] += A[M,K] B[K,N], in FLOP of one core:
 *
 *     tiles = batch * ceil(M / tm) * ceil(N / tn) * s          s: split of K
 *     w     = tiles * cores of a tile / cores
 *     waves = max(1, (1 - q) w + q ceil(w))                    q: wave_share
 *     tile  = 2 tm tn (max(K / s, 256) + k0) (1 + c (1/tm + 1/tn)) / cores of a tile
 *
 * least of waves * tile + merge over tiles and splits.  Never falls when a size grows.  Tiles that
 * covered just the output, in full waves, bound what is to come: from below, and rising from tile
 * to tile and with every split.  Tiles with as many FLOP per core as the first make the same waves,
 * less well fed, where the first leave no rest.
 */
static double engine_flops(const product *p, size_t first, bool splits_k)
{
    const double exact = 2 * p->batch * p->M * p->N * p->per_core * (p->K + p->k0);
    const double halves = p->K + 2 * p->k0, merge = p->merge + 2 * p->merge_part;
    double least = HUGE_VAL;
    bool no_rest = false;
    for (size_t i = first; i < COUNT(tiles); i++) {
        const tile *t = &tiles[i];
        const double fed = 1 + p->c * (t->per_row + t->per_column);
        if (exact * fed >= least) {
            break;
        }
        if (no_rest && t->flops == tiles[first].flops) {
            continue;
        }
        const double rows = p->M * t->per_row, columns = p->N * t->per_column;
        const double whole_rows = round_up(rows), whole_columns = round_up(columns);
        const double w = p->batch * whole_rows * whole_columns * t->cores * p->per_core;
        no_rest = no_rest || (i == first && whole_rows == rows && whole_columns == columns);
        const double per_k = t->flops * fed, flops = waves_flops(p, w, per_k, p->K);
        least = flops < least ? flops : least;
        if (splits_k && w * per_k * halves + merge < least) {
            least = split_flops(p, w, per_k, least);
        }
    }
    return least;
}

/* Engine and memory side by side, then the fixed cost of the kernel. */
static double gemm_seconds(const rk_accelerator *a, rk_precision precision, double batch, double M,
                           double N, double K, double accumulate_bytes, bool splits_k)
{
    assert(batch > 0 && M > 0 && N > 0 && K > 0 && accumulate_bytes >= 0);
    const rk_gemm_engine *engine = &a->gemm[precision];
    if (!(engine->peak > 0)) {
        return HUGE_VAL;
    }
    const double rate = engine->peak * engine->efficiency, per_core = 1 / (double)a->cores;
    const product p = {
        .batch = batch,
        .M = M,
        .N = N,
        .K = K,
        .q = engine->wave_share,
        .k0 = engine->prologue,
        .c = engine->feed,
        .per_core = per_core * (1 - 0x1p-51),
        .merge = a->split_seconds * (rate * per_core),
        .merge_part = split_bytes * batch * M * N / a->memory_bandwidth * (rate * per_core),
    };
    const double in = rk_precision_bytes(precision), out = in > 2 ? in : 2;
    const double bytes = batch * (in * (M * K + K * N) + (out + accumulate_bytes) * M * N);
    const size_t first = splits_k && batch > 1 ? FIRST_OF_BATCHED : 0;
    const double math = engine_flops(&p, first, splits_k) * (double)a->cores / rate;
    const double memory = bytes / (a->memory_bandwidth * a->memory_efficiency);
    return rk_both_limits(math, memory) + a->kernel_seconds;
}

double rk_gemm_seconds(const rk_accelerator *a, rk_precision precision, double batch, double M,
                       double N, double K, double accumulate_bytes)
{
    const double seconds = gemm_seconds(a, precision, batch, M, N, K, accumulate_bytes, true);
    return a->measured && batch == 1
               ? seconds * rk_measured_gemm(a->measured, precision, false, M, N, K)
               : seconds;
}

/* All tiles of all groups run in the same waves; grouped kernels do not split K. */
double rk_grouped_gemm_seconds(const rk_accelerator *a, rk_precision precision, double groups,
                               double M, double N, double K, double accumulate_bytes)
{
    const double seconds = gemm_seconds(a, precision, groups, M, N, K, accumulate_bytes, false);
    return a->measured ? seconds * rk_measured_gemm(a->measured, precision, true, M, N, K)
                       : seconds;
}
