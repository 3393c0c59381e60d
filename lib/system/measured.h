/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured tables: what kernels and collectives of a machine took, by shape.
 *
 * A table holds the ratio of measured time to the time of the physical model (gemm.c, kernels.c,
 * collective.c).  Between shapes the logarithm of the ratio is interpolated, so that the model
 * still gives how time depends on size; away from all measured shapes the ratio fades to 1 and the
 * model is alone.
 */
#ifndef RK_SYSTEM_MEASURED_H
#define RK_SYSTEM_MEASURED_H

#include "system/system.h"

typedef enum rk_kernel_kind {
    RK_KERNEL_GEMM,
    RK_KERNEL_ATTENTION,
    RK_KERNEL_COLLECTIVE,
} rk_kernel_kind;
#define RK_KERNEL_KINDS 3

/* The arguments of rk_gemm_seconds or, for groups, rk_grouped_gemm_seconds. */
typedef struct rk_gemm_work {
    rk_precision precision;
    double batch, M, N, K, accumulate_bytes;
    bool grouped; /* `batch` experts in one launch, not a batched product */
    rk_clock clock;
} rk_gemm_work;

/* The arguments of rk_collective_seconds. */
typedef struct rk_collective_work {
    rk_collective op;
    double bytes;
    rk_group group; /* of at least two ranks */
} rk_collective_work;

/* A kernel that was timed. */
typedef struct rk_measured_kernel {
    rk_kernel_kind kind;
    double seconds; /* > 0 */
    union {
        rk_gemm_work gemm;
        rk_attention_work attention;
        rk_collective_work collective;
    };
} rk_measured_kernel;

/* A ratio further from 1 is an error of units, not a slow kernel. */
#define RK_MEASURED_RATIO_MOST 100.0

/* Measured over modelled time of a kernel; -1 if the machine has no rate for the kernel. */
double rk_measured_ratio(const rk_system *system, const rk_measured_kernel *kernel);

/*
 * Makes tables of `count` kernels for a machine whose other numbers are read, and gives them to it:
 * rk_system_clear releases them.  They replace its earlier tables of the same kinds.  Sizes are
 * from 1 to 2^40, ratios within RK_MEASURED_RATIO_MOST: the caller checks.  RK_ERR_MEMORY, or
 * RK_ERR_LIMIT for shapes that lie too far apart: the machine is as it was.
 */
rk_status rk_measured_set(rk_system *system, const rk_measured_kernel *kernels, size_t count,
                          rk_error *err);

/* Kernels of a kind in the tables; 0 without tables. */
size_t rk_measured_count(const rk_measured *measured, rk_kernel_kind kind);

/* The factor to apply to the modelled time. */
double rk_measured_gemm(const rk_measured *measured, rk_precision precision, bool grouped, double M,
                        double N, double K);
double rk_measured_attention(const rk_measured *measured, const rk_attention_work *work);
double rk_measured_collective(const rk_measured *measured, rk_collective op, double bytes,
                              const rk_group *group);

#endif
