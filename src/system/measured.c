/* SPDX-License-Identifier: Apache-2.0 */
#include "system/measured.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

/*
 * Steps along the axes of a table: of sizes, of query heads per key head, and of a head size, where
 * kernels pad to multiples of 32 or 64.  (Of 1 to 2.6 steps an octave of sizes and 0 to 1 of groups
 * these told rows to fit on of data/ops best, each fifth by the others; it matters little.)
 */
static const double steps_per_octave = 1.4, group_steps = 0.6, head_step = 8;

/*
 * The logarithm at a node is the mean of those of the kernels about it, weighted by exp(-d^2 / 2),
 * d in steps, for |d| < REACH along each axis, with `rest` more of weight at 0: a node on a kernel
 * takes 0.97 of it, a node far from all takes nothing.  (0.03 of 0.01 to 0.3: as good as 0.01 on
 * the same rows, and it fades more softly.)
 */
enum { AXES = 4, REACH = 3, NEAR = 2 * REACH, MARGIN = REACH + 1 };
static const double rest = 0.03;

/* GEMMs by format, alone and in groups; attention forward and backward; collectives. */
enum {
    ATTENTION = 2 * RK_PRECISION_COUNT,
    COLLECTIVE = ATTENTION + 2,
    TABLES = COLLECTIVE + RK_COLL_SEND + 1,
};

typedef struct ratio_table {
    double *logs; /* owned; the last axis fastest; NULL: no kernel was measured */
    int axes;
    double low[AXES];  /* place of the first node, steps */
    double high[AXES]; /* and of the last */
    int nodes[AXES];
} ratio_table;

struct rk_measured {
    ratio_table tables[TABLES];
    size_t counts[RK_KERNEL_KINDS];
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
    at[3] = work->group > 1 ? group_steps * log2(work->group) : 0;
}

/* By the ranks that share a node, too: the same number runs otherwise over more of them. */
static void place_collective(double bytes, const rk_group *group, double at[AXES])
{
    at[0] = steps_per_octave * log2(bytes);
    at[1] = steps_per_octave * log2((double)group->size);
    at[2] = steps_per_octave * log2((double)group->within[0]);
}

/* Returns the index of the table of a kernel, and its place there. */
static int locate(const rk_measured_kernel *k, double at[AXES])
{
    switch (k->kind) {
    case RK_KERNEL_ATTENTION:
        place_attention(&k->attention, at);
        return ATTENTION + (k->attention.backward ? 1 : 0);
    case RK_KERNEL_COLLECTIVE:
        place_collective(k->collective.bytes, &k->collective.group, at);
        return COLLECTIVE + (int)k->collective.op;
    default:
        place_gemm(k->gemm.M, k->gemm.N, k->gemm.K, at);
        return gemm_table(k->gemm.precision, k->gemm.grouped);
    }
}

static int axes_of(rk_kernel_kind kind)
{
    return kind == RK_KERNEL_ATTENTION ? 4 : 3;
}

/* ---- making -------------------------------------------------------------------------------- */

/*
 * Time of kernels in which half of the clock above the sustained one is lost: a short benchmark
 * runs before heat limits the clock, but kernels of milliseconds see it fall.  (As fitted to tables
 * of A100 and Blackwell, which lose all of it; those of Hopper lose 0.6.)
 */
static const double time_of_droop = 1e-3;

/* Of a GEMM, at the clock of the row. */
static double gemm_seconds(const rk_accelerator *a, const rk_gemm_work *g)
{
    const rk_accelerator own = g->burst ? rk_accelerator_in_burst(a) : *a;
    const double t = (g->grouped ? rk_grouped_gemm_seconds : rk_gemm_seconds)(
        &own, g->precision, g->batch, g->M, g->N, g->K, g->accumulate_bytes);
    return g->burst && t < HUGE_VAL ? t * (1 + (a->burst - 1) * t / (t + time_of_droop)) : t;
}

/* Seconds of the physical model alone. */
static double modelled(const rk_system *system, const rk_measured_kernel *k)
{
    rk_system plain = *system;
    plain.accelerator.measured = NULL;
    switch (k->kind) {
    case RK_KERNEL_ATTENTION:
        return rk_attention_seconds(&plain.accelerator, &k->attention);
    case RK_KERNEL_COLLECTIVE:
        return rk_collective_seconds(&plain, k->collective.op, k->collective.bytes,
                                     &k->collective.group);
    default:
        return gemm_seconds(&plain.accelerator, &k->gemm);
    }
}

double rk_measured_ratio(const rk_system *system, const rk_measured_kernel *kernel)
{
    const double seconds = modelled(system, kernel);
    return seconds > 0 && seconds < HUGE_VAL ? kernel->seconds / seconds : -1;
}

/* Makes the box of a table hold a place. */
static void widen(ratio_table *table, int axes, const double at[AXES])
{
    const bool first = table->axes == 0;
    table->axes = axes;
    for (int i = 0; i < axes; i++) {
        const double low = floor(at[i]) - MARGIN, high = ceil(at[i]) + MARGIN;
        table->low[i] = first || low < table->low[i] ? low : table->low[i];
        table->high[i] = first || high > table->high[i] ? high : table->high[i];
        table->nodes[i] = (int)(table->high[i] - table->low[i]) + 1;
    }
}

static size_t node_count(const ratio_table *table)
{
    size_t count = 1;
    for (int i = 0; i < table->axes; i++) {
        count *= (size_t)table->nodes[i];
    }
    return count;
}

/* Adds a kernel to the nodes about it, and what it weighs there. */
static void spread(ratio_table *table, double *weights, const double at[AXES], double log_ratio)
{
    double share[AXES][NEAR];
    int first[AXES], places = 1;
    for (int i = 0; i < table->axes; i++) {
        const double place = at[i] - table->low[i];
        first[i] = (int)floor(place) - REACH + 1;
        places *= NEAR;
        for (int j = 0; j < NEAR; j++) {
            const double d = first[i] + j - place;
            share[i][j] = fabs(d) < REACH ? exp(-0.5 * d * d) : 0;
        }
    }
    for (int place = 0; place < places; place++) {
        double weight = 1;
        size_t node = 0;
        for (int i = 0, left = place; i < table->axes; i++, left /= NEAR) {
            const int j = left % NEAR;
            weight *= share[i][j];
            node = node * (size_t)table->nodes[i] + (size_t)(first[i] + j);
        }
        weights[node] += weight;
        table->logs[node] += weight * log_ratio;
    }
}

/* Makes the tables, laid out by widen() before; `weights`: room for each table that has nodes. */
static void fill(rk_measured *m, double *const *weights, const rk_system *system,
                 const rk_measured_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double at[AXES];
        const int t = locate(&kernels[i], at);
        spread(&m->tables[t], weights[t], at, log(rk_measured_ratio(system, &kernels[i])));
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

rk_status rk_measured_set(rk_system *system, const rk_measured_kernel *kernels, size_t count,
                          rk_error *err)
{
    double *weights[TABLES] = {NULL};
    rk_measured *m = calloc(1, sizeof(*m));
    bool room = m != NULL;
    for (size_t i = 0; i < count && room; i++) {
        double at[AXES];
        const int t = locate(&kernels[i], at);
        widen(&m->tables[t], axes_of(kernels[i].kind), at);
    }
    for (int t = 0; t < TABLES && room; t++) {
        if (m->tables[t].axes > 0) {
            weights[t] = calloc(node_count(&m->tables[t]), sizeof(*weights[t]));
            m->tables[t].logs = calloc(node_count(&m->tables[t]), sizeof(*m->tables[t].logs));
            room = weights[t] && m->tables[t].logs;
        }
    }
    if (room) {
        fill(m, weights, system, kernels, count);
        free_tables(system->accelerator.measured);
        system->accelerator.measured = m;
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

/* exp of the logarithm between the nodes about a place; outside of the table it is 0. */
static double ratio_at(const ratio_table *table, const double at[AXES])
{
    double part[AXES], log_ratio = 0;
    int cell[AXES];
    for (int i = 0; i < table->axes; i++) {
        if (!(at[i] > table->low[i] && at[i] < table->high[i])) {
            return 1;
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

double rk_measured_collective(const rk_measured *measured, rk_collective op, double bytes,
                              const rk_group *group)
{
    const ratio_table *table = &measured->tables[COLLECTIVE + (int)op];
    double at[AXES];
    if (!table->logs) {
        return 1;
    }
    place_collective(bytes, group, at);
    return ratio_at(table, at);
}
