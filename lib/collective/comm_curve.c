/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the three-constant model of a collective, and fits it by a derivative-free search. */
#include "collective/comm_curve.h"

#include "base/extremes.h"

#include <assert.h>
#include <math.h>

/* ---- the form ------------------------------------------------------------------------------ */

/* Rounds, and bytes of a message of a round by which its step is judged. */
typedef struct shape {
    double rounds, message;
    double small, large; /* messages up to which a step is step_s, and from which chunk_step_s */
    double bytes;        /* over the links of a rank */
} shape;

/*
 * All-gather and reduce-scatter run rings, all-to-all sends to one peer after the other; a step of
 * NCCL's rings changes from 4 to 16 KiB, a step of its trees from 0.1 to 60 MB of the tensor
 * (Polaris, 8 to 2,160 ranks; p5).  All-reduce, broadcast and reduce run trees between domains, and
 * NVLS or a chain, modelled as two rounds, inside one.
 */
static shape shape_of(const rk_comm_row *row)
{
    const double n = row->ranks, local = n / row->domains, share = (n - 1) / n * row->bytes;
    const bool inside = row->domains <= 1;
    const double spread = inside ? share : share / local; /* every rank of a domain has its NIC */
    const double tree = inside ? 2 : 2 * log2(row->domains) + 2;
    switch (row->op) {
    case RK_COLL_ALL_REDUCE:
        return (shape){tree, row->bytes, 1e5, 6e7, 2 * spread};
    case RK_COLL_BROADCAST:
    case RK_COLL_REDUCE:
        return (shape){tree, row->bytes, 1e5, 6e7, inside ? row->bytes : row->bytes / local};
    case RK_COLL_REDUCE_SCATTER:
    case RK_COLL_ALL_GATHER:
        return (shape){n - 1, row->bytes / n, 4e3, 16e3, spread};
    case RK_COLL_SEND:
        return (shape){2, row->bytes, 1e4, 1e6, row->bytes};
    default: /* all-to-all, scatter, gather: what leaves a domain has the NIC of its own rank */
        return (shape){n - 1, row->bytes / n, 4e3, 64e3,
                       inside ? share : row->bytes * (n - local) / n};
    }
}

/* Of an operation that sends straight to peers, through the accelerators' memory. */
bool rk_comm_row_may_inject(const rk_comm_row *row)
{
    const bool straight =
        row->op == RK_COLL_ALL_TO_ALL || row->op == RK_COLL_SCATTER || row->op == RK_COLL_GATHER;
    return straight && row->domains > 1 && row->inject_bytes > 0;
}

bool rk_comm_row_injects(const rk_comm_row *row)
{
    return rk_comm_row_may_inject(row) && row->bytes / row->ranks <= row->inject_bytes;
}

/* 0: as step_s says, 1: as chunk_step_s does. */
static double way_of(const rk_comm_row *row, const shape *s)
{
    if (rk_comm_row_may_inject(row)) {
        return rk_comm_row_injects(row) ? 0 : 1;
    }
    const double way = log(s->message / s->small) / log(s->large / s->small);
    return rk_min(rk_max(way, 0), 1);
}

double rk_comm_curve_seconds(const rk_comm_curve *curve, const rk_comm_row *row)
{
    const shape s = shape_of(row);
    const double step = curve->step_s * pow(curve->chunk_step_s / curve->step_s, way_of(row, &s));
    return s.rounds * step + s.bytes / curve->bandwidth;
}

/* ---- the fit ------------------------------------------------------------------------------- */

enum { CONSTANTS = 3 };

static rk_comm_curve curve_at(const double at[CONSTANTS])
{
    return (rk_comm_curve){exp(at[0]), exp(at[1]), exp(at[2])};
}

/* The weight of a small row, so that small and large rows weigh the same together. */
static double weight_of_small(const rk_comm_row *rows, const bool *use, size_t count)
{
    double small = 0, large = 0;
    for (size_t i = 0; i < count; i++) {
        const double used = !use || use[i] ? 1 : 0;
        *(rows[i].bytes < RK_COMM_LARGE_BYTES ? &small : &large) += used;
    }
    return small > 0 && large > 0 ? large / small : 1;
}

/*
 * Mean cost of the errors: 5 e^2 + 0.05 below 0.1, |e| above.  Steps that the rows do not settle
 * stay near each other by a small pull.
 */
static double loss_at(const double at[CONSTANTS], const rk_comm_row *rows, const bool *use,
                      size_t count)
{
    const rk_comm_curve curve = curve_at(at);
    const double apart = (at[1] - at[0] - 1) / 2;
    const double of_small = weight_of_small(rows, use, count);
    double sum = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        if (use && !use[i]) {
            continue;
        }
        const double e = fabs(log(rk_comm_curve_seconds(&curve, &rows[i]) / rows[i].seconds));
        const double weight = rows[i].bytes < RK_COMM_LARGE_BYTES ? of_small : 1;
        sum += weight * (e > 0.1 ? e : 5 * e * e + 0.05);
        used += weight;
    }
    return sum / rk_max(used, 1) + 1e-3 * apart * apart;
}

/* Along the axes and from there on in the direction of what helped, by halved steps. */
static double search_from(double at[CONSTANTS], const rk_comm_row *rows, const bool *use,
                          size_t count)
{
    double least = loss_at(at, rows, use, count);
    for (double step = 1; step > 1e-4;) {
        double before[CONSTANTS], further[CONSTANTS];
        bool better = false;
        for (int k = 0; k < CONSTANTS; k++) {
            before[k] = at[k];
        }
        for (int k = 0; k < 2 * CONSTANTS; k++) {
            const double old = at[k / 2];
            at[k / 2] += k % 2 ? -step : step;
            const double loss = loss_at(at, rows, use, count);
            better = better || loss < least;
            at[k / 2] = loss < least ? at[k / 2] : old;
            least = rk_min(least, loss);
        }
        for (int k = 0; k < CONSTANTS; k++) {
            further[k] = 2 * at[k] - before[k];
        }
        const double loss = better ? loss_at(further, rows, use, count) : HUGE_VAL;
        for (int k = 0; loss < least && k < CONSTANTS; k++) {
            at[k] = further[k];
        }
        least = rk_min(least, loss);
        step *= better ? 1 : 0.5;
    }
    return least;
}

rk_comm_curve rk_comm_curve_fit(const rk_comm_row *rows, const bool *use, size_t count)
{
    assert(count > 0);
    static const double starts[][CONSTANTS] = {
        {8e-6, 30e-6, 40e9}, {30e-6, 60e-6, 10e9}, {2e-6, 4e-6, 300e9}};
    double least = HUGE_VAL;
    rk_comm_curve best = {0};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        double at[CONSTANTS];
        for (int k = 0; k < CONSTANTS; k++) {
            at[k] = log(starts[i][k]);
        }
        const double loss = search_from(at, rows, use, count);
        best = loss < least ? curve_at(at) : best;
        least = rk_min(least, loss);
    }
    return best;
}
