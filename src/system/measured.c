/* SPDX-License-Identifier: Apache-2.0 */
#include "system/measured.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

/*
 * Steps along the axes of a table: half an octave of a size; 8 elements of a head size, where
 * kernels pad to multiples of 32 or 64.
 */
static const double steps_per_octave = 2, head_step = 8;

/*
 * The logarithm at a node is the mean of those of the kernels about it, weighted by exp(-d^2 / 2),
 * d in steps, for |d| < REACH along each axis, with `rest` more of weight at 0: a node on a kernel
 * takes 0.9 of it, a node far from all takes nothing.  (Of steps of 1/4, 1/2 and 1 octave the
 * middle one told kernels that were left out best, on nearly all tables of data/ops.)
 */
enum { AXES = 3, REACH = 3, MARGIN = REACH + 1 };
static const double rest = 0.1;

/* GEMMs by format, alone and in groups; attention forward and backward. */
enum { ATTENTION = 2 * RK_PRECISION_COUNT, TABLES = ATTENTION + 2 };

typedef struct ratio_table {
    double *logs;      /* owned; the last axis fastest; NULL: no kernel was measured */
    double low[AXES];  /* place of the first node, steps */
    double high[AXES]; /* and of the last */
    int nodes[AXES];
} ratio_table;

struct rk_measured {
    ratio_table tables[TABLES];
    size_t counts[2]; /* kernels of a kind */
};

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
}

/* Returns the index of the table of a kernel, and its place there. */
static int locate(const rk_measured_kernel *k, double at[AXES])
{
    if (k->kind == RK_KERNEL_ATTENTION) {
        place_attention(&k->attention, at);
        return ATTENTION + (k->attention.backward ? 1 : 0);
    }
    place_gemm(k->gemm.M, k->gemm.N, k->gemm.K, at);
    return gemm_table(k->gemm.precision, k->gemm.grouped);
}

/* ---- making -------------------------------------------------------------------------------- */

/*
 * Time of kernels in which half of the clock above the sustained one is lost: a short benchmark
 * runs before heat limits the clock, but kernels of milliseconds see it fall.  (As fitted to tables
 * of A100 and Blackwell, which lose all of it; those of Hopper lose 0.6.)
 */
static const double time_of_droop = 1e-3;

/* Seconds of the physical model alone, at the clock of the row. */
static double modelled(const rk_accelerator *a, const rk_measured_kernel *k)
{
    const rk_gemm_work *g = &k->gemm;
    rk_accelerator plain = *a;
    plain.measured = NULL;
    if (k->kind == RK_KERNEL_ATTENTION) {
        return rk_attention_seconds(&plain, &k->attention);
    }
    if (g->burst) {
        plain = rk_accelerator_in_burst(&plain);
    }
    const double t = (g->grouped ? rk_grouped_gemm_seconds : rk_gemm_seconds)(
        &plain, g->precision, g->batch, g->M, g->N, g->K, g->accumulate_bytes);
    return g->burst && t < HUGE_VAL ? t * (1 + (a->burst - 1) * t / (t + time_of_droop)) : t;
}

double rk_measured_ratio(const rk_accelerator *a, const rk_measured_kernel *kernel)
{
    const double seconds = modelled(a, kernel);
    return seconds > 0 && seconds < HUGE_VAL ? kernel->seconds / seconds : -1;
}

/* Makes the box of a table hold a place. */
static void widen(ratio_table *table, const double at[AXES])
{
    const bool first = table->nodes[0] == 0;
    for (int i = 0; i < AXES; i++) {
        const double low = floor(at[i]) - MARGIN, high = ceil(at[i]) + MARGIN;
        table->low[i] = first || low < table->low[i] ? low : table->low[i];
        table->high[i] = first || high > table->high[i] ? high : table->high[i];
        table->nodes[i] = (int)(table->high[i] - table->low[i]) + 1;
    }
}

static size_t node_index(const ratio_table *table, int x, int y, int z)
{
    return ((size_t)x * (size_t)table->nodes[1] + (size_t)y) * (size_t)table->nodes[2] + (size_t)z;
}

static size_t node_count(const ratio_table *table)
{
    return node_index(table, table->nodes[0], 0, 0);
}

/* Adds a kernel to the nodes about it, and what it weighs there. */
static void spread(ratio_table *table, double *weights, const double at[AXES], double log_ratio)
{
    enum { NEAR = 2 * REACH };
    double share[AXES][NEAR];
    int first[AXES];
    for (int i = 0; i < AXES; i++) {
        const double place = at[i] - table->low[i];
        first[i] = (int)floor(place) - REACH + 1;
        for (int j = 0; j < NEAR; j++) {
            const double d = first[i] + j - place;
            share[i][j] = fabs(d) < REACH ? exp(-0.5 * d * d) : 0;
        }
    }
    for (int x = 0; x < NEAR; x++) {
        for (int y = 0; y < NEAR; y++) {
            const size_t row = node_index(table, first[0] + x, first[1] + y, first[2]);
            for (size_t z = 0; z < NEAR; z++) {
                const double weight = share[0][x] * share[1][y] * share[2][z];
                weights[row + z] += weight;
                table->logs[row + z] += weight * log_ratio;
            }
        }
    }
}

/* Makes the tables, laid out by widen() before; `weights`: room for each table that has nodes. */
static void fill(rk_measured *m, double *const *weights, const rk_accelerator *a,
                 const rk_measured_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double at[AXES];
        const int t = locate(&kernels[i], at);
        spread(&m->tables[t], weights[t], at, log(rk_measured_ratio(a, &kernels[i])));
        m->counts[kernels[i].kind]++;
    }
    for (int t = 0; t < TABLES; t++) {
        for (size_t i = 0; weights[t] && i < node_count(&m->tables[t]); i++) {
            m->tables[t].logs[i] /= weights[t][i] + rest;
        }
    }
}

static void free_tables(rk_measured *measured)
{
    for (int t = 0; measured && t < TABLES; t++) {
        free(measured->tables[t].logs);
    }
    free(measured);
}

void rk_system_clear(rk_system *system)
{
    free_tables(system->accelerator.measured);
    system->accelerator.measured = NULL;
}

rk_status rk_measured_set(rk_accelerator *a, const rk_measured_kernel *kernels, size_t count,
                          rk_error *err)
{
    double *weights[TABLES] = {NULL};
    rk_measured *m = calloc(1, sizeof(*m));
    bool room = m != NULL;
    for (size_t i = 0; i < count && room; i++) {
        double at[AXES];
        widen(&m->tables[locate(&kernels[i], at)], at);
    }
    for (int t = 0; t < TABLES && room; t++) {
        if (m->tables[t].nodes[0] > 0) {
            weights[t] = calloc(node_count(&m->tables[t]), sizeof(*weights[t]));
            m->tables[t].logs = calloc(node_count(&m->tables[t]), sizeof(*m->tables[t].logs));
            room = weights[t] && m->tables[t].logs;
        }
    }
    if (room) {
        fill(m, weights, a, kernels, count);
        free_tables(a->measured);
        a->measured = m;
    } else {
        free_tables(m);
    }
    for (int t = 0; t < TABLES; t++) {
        free(weights[t]);
    }
    return room ? RK_OK
                : rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for measured tables");
}

size_t rk_measured_count(const rk_measured *measured, rk_kernel_kind kind)
{
    return measured ? measured->counts[kind] : 0;
}

/* ---- asking -------------------------------------------------------------------------------- */

/* exp of the logarithm between the eight nodes about a place; outside of the table it is 0. */
static double ratio_at(const ratio_table *table, const double at[AXES])
{
    double part[AXES], log_ratio = 0;
    int cell[AXES];
    for (int i = 0; i < AXES; i++) {
        if (!(at[i] > table->low[i] && at[i] < table->high[i])) {
            return 1;
        }
        const double place = at[i] - table->low[i];
        cell[i] = (int)place;
        part[i] = place - cell[i];
    }
    for (int corner = 0; corner < 1 << AXES; corner++) {
        const int x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
        const double weight =
            (x ? part[0] : 1 - part[0]) * (y ? part[1] : 1 - part[1]) * (z ? part[2] : 1 - part[2]);
        log_ratio += weight * table->logs[node_index(table, cell[0] + x, cell[1] + y, cell[2] + z)];
    }
    return exp(log_ratio);
}

double rk_measured_gemm(const rk_measured *measured, rk_precision precision, bool grouped, double M,
                        double N, double K)
{
    const ratio_table *table = &measured->tables[gemm_table(precision, grouped)];
    double at[AXES];
    if (!table->logs) {
        return 1;
    }
    place_gemm(M, N, K, at);
    return ratio_at(table, at);
}

double rk_measured_attention(const rk_measured *measured, const rk_attention_work *work)
{
    const ratio_table *table = &measured->tables[ATTENTION + (work->backward ? 1 : 0)];
    double at[AXES];
    if (!table->logs) {
        return 1;
    }
    place_attention(work, at);
    return ratio_at(table, at);
}
