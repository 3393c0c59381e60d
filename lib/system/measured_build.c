/* SPDX-License-Identifier: Apache-2.0 */
/* Making measured tables: rows over the model, spread over the nodes of grids. */
#include "system/measured_tables.h"

#include "base/error.h"
#include "base/extremes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The logarithm at a node is the mean of the logarithms of the kernels about it, weighted by
 * exp(-d^2 / 2), d in steps, for |d| < REACH along each axis, with `rest` more of weight at 0: a
 * node on a kernel gets 0.97 of its logarithm, a node far from all gets 0.  The remainder of each
 * kernel is spread the same way and added.  (Of 0.01 to 0.3 and of one to three passes, with steps
 * as they are or narrower: as good as any on rows to fit on of data/ops, each fifth by the others.)
 */
enum { AXES = RK_MEASURED_AXES, REACH = 3, NEAR = 2 * REACH, MARGIN = REACH + 1, PASSES = 2 };
static const double rest = 0.03;

/* A grid of more nodes is of shapes that lie absurdly far apart; 32 MiB. */
static const double nodes_most = 4 << 20;

/*
 * Of a GEMM, at the clock of the row.  Long kernels of short benchmarks run at the clock of
 * training.  (Of what the clock is above it, tables of A100 lose 0.8, of Blackwell all, of Hopper
 * 0.6, by the droop that recipes fit.)
 */
static double gemm_seconds(const rk_accelerator *a, const rk_gemm_work *g)
{
    const rk_accelerator own = rk_accelerator_at_clock(a, g->clock);
    const double t = (g->grouped ? rk_grouped_gemm_seconds : rk_gemm_seconds)(
        &own, g->precision, g->batch, g->M, g->N, g->K, g->accumulate_bytes);
    return g->clock == RK_CLOCK_BURST ? rk_drooping_seconds(a, t, a->burst - 1) : t;
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
static void widen(rk_ratio_table *table, int axes, const double at[AXES])
{
    assert(axes > 0 && axes <= AXES);
    const bool first = table->axes == 0;
    table->axes = axes;
    for (int i = 0; i < axes; i++) {
        const double low = floor(at[i]) - MARGIN, high = ceil(at[i]) + MARGIN;
        table->low[i] = first || low < table->low[i] ? low : table->low[i];
        table->high[i] = first || high > table->high[i] ? high : table->high[i];
        table->nodes[i] = (int)(table->high[i] - table->low[i]) + 1;
    }
}

static size_t node_count(const rk_ratio_table *table)
{
    size_t count = 1;
    for (int i = 0; i < table->axes; i++) {
        count *= (size_t)table->nodes[i];
    }
    return count;
}

/* Sums at the nodes of a table: logarithms by their weights, and weights. */
typedef struct node_sums {
    double *logs, *weights; /* owned; NULL where the table is empty */
} node_sums;

/* Adds a kernel to the nodes about it. */
static void spread(const rk_ratio_table *table, node_sums *sums, const double at[AXES],
                   double log_ratio)
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
        sums->weights[node] += weight;
        sums->logs[node] += weight * log_ratio;
    }
}

/* Spreads what the tables leave of every kernel. */
static void add_pass(rk_measured *m, node_sums sums[RK_MEASURED_TABLES], const rk_system *system,
                     const rk_measured_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double at[AXES];
        const int t = rk_measured_locate(&kernels[i], at);
        const double left =
            log(rk_measured_ratio(system, &kernels[i])) - rk_measured_log(&m->tables[t], at);
        spread(&m->tables[t], &sums[t], at, left);
    }
    for (int t = 0; t < RK_MEASURED_TABLES; t++) {
        for (size_t i = 0; sums[t].logs && i < node_count(&m->tables[t]); i++) {
            m->tables[t].logs[i] += sums[t].logs[i] / (sums[t].weights[i] + rest);
            sums[t].logs[i] = sums[t].weights[i] = 0;
        }
    }
}

/* Keeps the tables within what was measured and the model: a second pass can go beyond. */
static void clamp(rk_measured *m, const rk_system *system, const rk_measured_kernel *kernels,
                  size_t count)
{
    double low[RK_MEASURED_TABLES] = {0}, high[RK_MEASURED_TABLES] = {0};
    for (size_t i = 0; i < count; i++) {
        double at[AXES];
        const int t = rk_measured_locate(&kernels[i], at);
        const double log_ratio = log(rk_measured_ratio(system, &kernels[i]));
        low[t] = rk_min(low[t], log_ratio);
        high[t] = rk_max(high[t], log_ratio);
    }
    for (int t = 0; t < RK_MEASURED_TABLES; t++) {
        for (size_t i = 0; m->tables[t].logs && i < node_count(&m->tables[t]); i++) {
            m->tables[t].logs[i] = rk_min(rk_max(m->tables[t].logs[i], low[t]), high[t]);
        }
    }
}

/* Lays the tables out; false when they would be too large. */
static bool lay_out(rk_measured *m, const rk_measured_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double at[AXES];
        const int t = rk_measured_locate(&kernels[i], at);
        widen(&m->tables[t], kernels[i].kind == RK_KERNEL_ATTENTION ? 4 : 3, at);
    }
    for (int t = 0; t < RK_MEASURED_TABLES; t++) {
        double nodes = 1;
        for (int i = 0; i < m->tables[t].axes; i++) {
            nodes *= (double)m->tables[t].nodes[i];
        }
        if (nodes > nodes_most) {
            return false;
        }
    }
    return true;
}

/* Room for the tables, and for sums at their nodes. */
static bool make_room(rk_measured *m, node_sums sums[RK_MEASURED_TABLES])
{
    bool room = true;
    for (int t = 0; t < RK_MEASURED_TABLES && room; t++) {
        const size_t nodes = m->tables[t].axes > 0 ? node_count(&m->tables[t]) : 0;
        if (nodes > 0) {
            m->tables[t].logs = calloc(nodes, sizeof(*m->tables[t].logs));
            sums[t] = (node_sums){calloc(nodes, sizeof(double)), calloc(nodes, sizeof(double))};
            room = m->tables[t].logs && sums[t].logs && sums[t].weights;
        }
    }
    return room;
}

static rk_kernel_kind kind_of(int table)
{
    return table < RK_TABLE_OF_ATTENTION    ? RK_KERNEL_GEMM
           : table < RK_TABLE_OF_COLLECTIVE ? RK_KERNEL_ATTENTION
                                            : RK_KERNEL_COLLECTIVE;
}

/* Takes over the tables of kinds of which there are no new ones. */
static void keep_others(rk_measured *m, rk_measured *old)
{
    size_t counts[RK_KERNEL_KINDS];
    for (int kind = 0; kind < RK_KERNEL_KINDS; kind++) {
        counts[kind] = m->counts[kind] > 0 ? m->counts[kind] : old->counts[kind];
    }
    for (int t = 0; t < RK_MEASURED_TABLES; t++) {
        if (m->counts[kind_of(t)] == 0) {
            m->tables[t] = old->tables[t];
            old->tables[t].logs = NULL;
        }
    }
    memcpy(m->counts, counts, sizeof(counts));
}

rk_status rk_measured_set(rk_system *system, const rk_measured_kernel *kernels, size_t count,
                          rk_error *err)
{
    node_sums sums[RK_MEASURED_TABLES] = {{NULL, NULL}};
    rk_status status = RK_OK;
    rk_measured *m = calloc(1, sizeof(*m));
    if (m && !lay_out(m, kernels, count)) {
        status = rk_fail(err, RK_ERR_LIMIT,
                         "the shapes of a measured table lie too far apart; leave out the least "
                         "or the largest");
    } else if (!m || !make_room(m, sums)) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for measured tables");
    }
    if (!status) {
        for (int pass = 0; pass < PASSES; pass++) {
            add_pass(m, sums, system, kernels, count);
        }
        clamp(m, system, kernels, count);
        for (size_t i = 0; i < count; i++) {
            m->counts[kernels[i].kind]++;
        }
        if (system->accelerator.measured) {
            keep_others(m, system->accelerator.measured);
            rk_measured_free(system->accelerator.measured);
        }
        system->accelerator.measured = m;
    } else {
        rk_measured_free(m);
    }
    for (int t = 0; t < RK_MEASURED_TABLES; t++) {
        free(sums[t].logs);
        free(sums[t].weights);
    }
    return status;
}
