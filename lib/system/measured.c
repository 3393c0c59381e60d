/* SPDX-License-Identifier: Apache-2.0 */
/* Locates shapes in measured tables and interpolates the logarithm of the ratio. */
#include "system/measured_tables.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { AXES = RK_MEASURED_AXES };

/*
 * Steps along the axes of a table: of sizes, of query heads per key head, and of a head size, where
 * kernels pad to multiples of 32 or 64.  (Of 1 to 2.6 steps an octave of sizes and 0 to 1 of groups
 * these told rows to fit on of data/ops best, each fifth by the others; it matters little.)
 */
static const double steps_per_octave = 1.4, group_steps = 0.6, head_step = 8;

/* ---- places -------------------------------------------------------------------------------- */

/* The two 16-bit formats run alike. */
static int gemm_table(rk_precision precision, bool grouped)
{
    return (grouped ? RK_PRECISION_COUNT : 0) + (int)(precision == RK_FP16 ? RK_BF16 : precision);
}

static void place_gemm(double M, double N, double K, double at[AXES])
{
    at[0] = steps_per_octave * log2(M);
    at[1] = steps_per_octave * log2(N);
    at[2] = steps_per_octave * log2(K);
}

static void place_attention(const rk_attention_work *work, double at[AXES])
{
    at[0] = steps_per_octave * log2(work->seq);
    at[1] = steps_per_octave * log2(work->heads);
    at[2] = work->qk_size / head_step;
    at[3] = work->group > 1 ? group_steps * log2(work->group) : 0;
}

/* By ranks per node, too: the same number of ranks performs differently over more nodes. */
static void place_collective(double bytes, const rk_group *group, double at[AXES])
{
    at[0] = steps_per_octave * log2(bytes);
    at[1] = steps_per_octave * log2((double)group->size);
    at[2] = steps_per_octave * log2((double)group->within[0]);
}

int rk_measured_locate(const rk_measured_kernel *k, double at[AXES])
{
    switch (k->kind) {
    case RK_KERNEL_ATTENTION:
        place_attention(&k->attention, at);
        return RK_TABLE_OF_ATTENTION + (k->attention.backward ? 1 : 0);
    case RK_KERNEL_COLLECTIVE:
        place_collective(k->collective.bytes, &k->collective.group, at);
        return RK_TABLE_OF_COLLECTIVE + (int)k->collective.op;
    default:
        place_gemm(k->gemm.M, k->gemm.N, k->gemm.K, at);
        return gemm_table(k->gemm.precision, k->gemm.grouped);
    }
}

/* ---- asking -------------------------------------------------------------------------------- */

double rk_measured_log(const rk_ratio_table *table, const double at[AXES])
{
    double part[AXES], log_ratio = 0;
    int cell[AXES];
    for (int i = 0; i < table->axes; i++) {
        if (!(at[i] > table->low[i] && at[i] < table->high[i])) {
            return 0;
        }
        const double place = at[i] - table->low[i];
        cell[i] = (int)place;
        part[i] = place - cell[i];
    }
    for (int corner = 0; corner < 1 << table->axes; corner++) {
        double weight = 1;
        size_t node = 0;
        for (int i = 0; i < table->axes; i++) {
            const int far = corner >> i & 1;
            weight *= far ? part[i] : 1 - part[i];
            node = node * (size_t)table->nodes[i] + (size_t)(cell[i] + far);
        }
        log_ratio += weight * table->logs[node];
    }
    return log_ratio;
}

double rk_measured_gemm(const rk_measured *measured, rk_precision precision, bool grouped, double M,
                        double N, double K)
{
    assert(M > 0 && N > 0 && K > 0);
    const rk_ratio_table *table = &measured->tables[gemm_table(precision, grouped)];
    double at[AXES];
    if (!table->logs) {
        return 1;
    }
    place_gemm(M, N, K, at);
    return exp(rk_measured_log(table, at));
}

double rk_measured_attention(const rk_measured *measured, const rk_attention_work *work)
{
    const rk_ratio_table *table =
        &measured->tables[RK_TABLE_OF_ATTENTION + (work->backward ? 1 : 0)];
    double at[AXES];
    if (!table->logs) {
        return 1;
    }
    place_attention(work, at);
    return exp(rk_measured_log(table, at));
}

double rk_measured_collective(const rk_measured *measured, rk_collective op, double bytes,
                              const rk_group *group)
{
    const rk_ratio_table *table = &measured->tables[RK_TABLE_OF_COLLECTIVE + (int)op];
    double at[AXES];
    if (!table->logs) {
        return 1;
    }
    place_collective(bytes, group, at);
    return exp(rk_measured_log(table, at));
}

size_t rk_measured_count(const rk_measured *measured, rk_kernel_kind kind)
{
    return measured ? measured->counts[kind] : 0;
}

void rk_measured_free(rk_measured *measured)
{
    if (measured && atomic_fetch_sub(&measured->shares, 1) > 0) {
        return;
    }
    for (int t = 0; measured && t < RK_MEASURED_TABLES; t++) {
        free(measured->tables[t].logs);
    }
    free(measured);
}

void rk_system_share(rk_system *copy)
{
    if (copy->accelerator.measured) {
        atomic_fetch_add(&copy->accelerator.measured->shares, 1);
    }
}

void rk_system_clear(rk_system *system)
{
    rk_measured_free(system->accelerator.measured);
    system->accelerator.measured = NULL;
}
