/* SPDX-License-Identifier: Apache-2.0 */
/* Fits each measured collective, and reports errors on all, held-out and left-out rows. */
#include "comm/comm_errors.h"

#include "base/error.h"
#include "base/list.h"
#include "system/system.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics ---------------------------------------------------------------------------- */

/* Errors that grow one by one; room for all rows of the results. */
typedef struct pile {
    double *values; /* owned */
    size_t count;
} pile;

typedef enum what { ALL, SOUND, HELD, LEFT_OUT, WHAT_COUNT } what;

struct work {
    const rk_comm_results *results;
    pile piles[WHAT_COUNT][RK_COMM_SIZE_COUNT];
    pile of_set;       /* of the set at hand */
    bool *use;         /* owned; of the rows of a set: those to fit */
    double *shares[3]; /* owned; of the other machines */
};

static double quantile(double *values, size_t count, double part)
{
    qsort(values, count, sizeof(*values), rk_compare_doubles);
    return values[(size_t)(part * (double)(count - 1) + 0.5)];
}

static rk_comm_error summary_of(pile *p)
{
    if (p->count == 0) {
        return (rk_comm_error){0};
    }
    return (rk_comm_error){p->count, quantile(p->values, p->count, 0.5),
                           quantile(p->values, p->count, 0.9)};
}

static rk_comm_size size_of(const rk_comm_row *row)
{
    return row->bytes >= RK_COMM_LARGE_BYTES ? RK_COMM_LARGE : RK_COMM_SMALL;
}

static void pile_up(pile *p, double value)
{
    p->values[p->count++] = value;
}

/* ---- one set ------------------------------------------------------------------------------- */

/* FNV-1a of machine, collective, ranks and bytes. */
static bool is_held(const rk_comm_set *set, const rk_comm_row *row)
{
    char text[RK_COMM_SYSTEM_SIZE + 80];
    uint64_t hash = UINT64_C(14695981039346656037);
    (void)snprintf(text, sizeof(text), "%s %s %.0f %.0f", set->system, rk_collective_names[set->op],
                   row->ranks, row->bytes);
    for (const char *c = text; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    return hash >> 40 & 1;
}

/* Adds the errors of rows with use[i] == used (NULL: all) to a pile of the set and of all. */
static rk_comm_error errors_of(struct work *w, const rk_comm_set *set, const rk_comm_curve *curve,
                               const bool *use, bool used, what kind)
{
    pile *own = &w->of_set;
    own->count = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (!use || use[i] == used) {
            const rk_comm_row *row = &set->rows[i];
            const double error = fabs(rk_comm_curve_seconds(curve, row) / row->seconds - 1);
            pile_up(own, error);
            pile_up(&w->piles[kind][size_of(row)], error);
        }
    }
    return summary_of(own);
}

/*
 * Whether no larger size of the same ranks took less than 0.8 of the time.  Larger ones that the
 * host need not copy may.
 */
static bool is_sound(const rk_comm_set *set, const rk_comm_row *row)
{
    static const double least = 0.8;
    for (size_t i = 0; i < set->count; i++) {
        const rk_comm_row *other = &set->rows[i];
        const bool alike =
            fabs(other->ranks - row->ranks) < 0.5 && fabs(other->domains - row->domains) < 0.5;
        if (alike && rk_comm_row_injects(row) == rk_comm_row_injects(other) &&
            other->bytes > row->bytes && other->seconds < least * row->seconds) {
            return false;
        }
    }
    return true;
}

static void fit_set(struct work *w, const rk_comm_set *set, rk_comm_fitted *fitted)
{
    size_t used = 0;
    for (size_t i = 0; i < set->count; i++) {
        used += w->use[i] = is_sound(set, &set->rows[i]);
    }
    fitted->curve = rk_comm_curve_fit(set->rows, used > 0 ? w->use : NULL, set->count);
    (void)errors_of(w, set, &fitted->curve, w->use, true, SOUND);
    fitted->all = errors_of(w, set, &fitted->curve, NULL, true, ALL);
    used = 0;
    for (size_t i = 0; i < set->count; i++) {
        w->use[i] = !is_held(set, &set->rows[i]);
        used += w->use[i];
    }
    if (set->count >= 6 && used >= 3 && used < set->count) {
        const rk_comm_curve half = rk_comm_curve_fit(set->rows, w->use, set->count);
        fitted->held = errors_of(w, set, &half, w->use, false, HELD);
    }
}

/* ---- machines by the others ---------------------------------------------------------------- */

/* Whether a set of another machine says something of one: alike in domains. */
static bool is_other(const rk_comm_set *a, const rk_comm_set *b)
{
    return b->nominal > 0 && b->count >= 3 && strcmp(a->machine, b->machine) != 0 &&
           (a->rows[0].domains > 1) == (b->rows[0].domains > 1);
}

/* Collectives that keep the links of every rank busy from start to end. */
static bool is_spread(rk_collective op)
{
    return op == RK_COLL_ALL_REDUCE || op == RK_COLL_ALL_GATHER || op == RK_COLL_REDUCE_SCATTER ||
           op == RK_COLL_ALL_TO_ALL;
}

/* Links that carry a collective: only all-reduces are summed in switches. */
static rk_comm_links carrier_of(const rk_comm_set *set)
{
    const bool plain = set->links == RK_COMM_LINKS_REDUCING && set->op != RK_COLL_ALL_REDUCE;
    return plain ? RK_COMM_LINKS_SWITCH : set->links;
}

/*
 * Whether the links of two sets in one domain each reach the same share of their bandwidth: of the
 * same kind, and kept busy all the time.  (Through a switch rings of A100 reach 0.73, of H100 and
 * Blackwell 0.69 to 0.78; V100 without a switch 0.9; NVLS 0.93 to 1.06.)
 */
static bool has_like_links(const rk_comm_set *a, const rk_comm_set *b)
{
    return a->rows[0].domains <= 1 && is_spread(a->op) && is_spread(b->op) &&
           carrier_of(a) != RK_COMM_LINKS_UNKNOWN && carrier_of(a) == carrier_of(b);
}

/* Whether steps are a third of the time of two rows and more; else nothing settles them. */
static bool settles_steps(const rk_comm_set *set, const rk_comm_curve *curve)
{
    static const double third = 1. / 3;
    const rk_comm_curve steps = {curve->step_s, curve->chunk_step_s, (double)INFINITY};
    int rows = 0;
    for (size_t i = 0; i < set->count && rows < 2; i++) {
        rows += rk_comm_curve_seconds(&steps, &set->rows[i]) >
                third * rk_comm_curve_seconds(curve, &set->rows[i]);
    }
    return rows == 2;
}

/* The median share of the nominal bandwidth of other machines: with like links, or `op` alone. */
static size_t find_shares(struct work *w, const rk_comm_fitted *fitted, size_t which, bool links)
{
    assert(which < w->results->count);
    const rk_comm_set *set = &w->results->sets[which];
    size_t count = 0;
    for (size_t i = 0; i < w->results->count; i++) {
        const rk_comm_set *other = &w->results->sets[i];
        if (is_other(set, other) && (links ? has_like_links(set, other) : set->op == other->op)) {
            w->shares[2][count++] = fitted[i].curve.bandwidth / other->nominal;
        }
    }
    return count;
}

bool rk_comm_set_may_inject(const rk_comm_set *set)
{
    return rk_comm_row_may_inject(&set->rows[0]);
}

static void leave_out(struct work *w, rk_comm_fitted *fitted, size_t which)
{
    assert(which < w->results->count);
    const rk_comm_set *set = &w->results->sets[which];
    size_t settled = 0;
    for (size_t i = 0; i < w->results->count && set->nominal > 0; i++) {
        const rk_comm_set *other = &w->results->sets[i];
        if (is_other(set, other) && set->op == other->op &&
            settles_steps(other, &fitted[i].curve)) {
            const bool copies = rk_comm_set_may_inject(other); /* others need not */
            w->shares[0][settled] = copies ? fitted[i].curve.chunk_step_s : fitted[i].curve.step_s;
            w->shares[1][settled++] = fitted[i].curve.chunk_step_s;
        }
    }
    size_t count = settled > 0 ? find_shares(w, fitted, which, true) : 0;
    if (settled > 0 && count < 2) {
        count = find_shares(w, fitted, which, false);
    }
    if (count < 2) {
        return;
    }
    const rk_comm_curve others = {
        .step_s = quantile(w->shares[0], settled, 0.5),
        .chunk_step_s = quantile(w->shares[1], settled, 0.5),
        .bandwidth = quantile(w->shares[2], count, 0.5) * set->nominal,
    };
    fitted[which].left_out = errors_of(w, set, &others, NULL, true, LEFT_OUT);
}

/* ---- all sets ------------------------------------------------------------------------------ */

static bool get_room(struct work *w, size_t rows, size_t sets)
{
    bool got = true;
    pile *piles = &w->piles[0][0];
    for (size_t i = 0; i < WHAT_COUNT * RK_COMM_SIZE_COUNT; i++) {
        got = (piles[i].values = malloc((rows + 1) * sizeof(double))) && got;
    }
    for (size_t i = 0; i < 3; i++) {
        got = (w->shares[i] = malloc((sets + 1) * sizeof(double))) && got;
    }
    got = (w->of_set.values = malloc((rows + 1) * sizeof(double))) && got;
    return (w->use = malloc((rows + 1) * sizeof(bool))) && got;
}

static void give_back(struct work *w)
{
    pile *piles = &w->piles[0][0];
    for (size_t i = 0; i < WHAT_COUNT * RK_COMM_SIZE_COUNT; i++) {
        free(piles[i].values);
    }
    for (size_t i = 0; i < 3; i++) {
        free(w->shares[i]);
    }
    free(w->of_set.values);
    free(w->use);
}

rk_status rk_comm_fits_find(const rk_comm_results *results, rk_comm_fits *fits, rk_error *err)
{
    struct work w = {.results = results};
    size_t rows = 0;
    *fits = (rk_comm_fits){.of = calloc(results->count + 1, sizeof(*fits->of))};
    for (size_t i = 0; i < results->count; i++) {
        rows += results->sets[i].count;
    }
    if (!get_room(&w, rows, results->count) || !fits->of) {
        give_back(&w);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to fit %zu rows", rows);
    }
    for (size_t i = 0; i < results->count; i++) {
        fit_set(&w, &results->sets[i], &fits->of[i]);
    }
    for (size_t i = 0; i < results->count; i++) {
        leave_out(&w, fits->of, i);
    }
    for (int size = 0; size < RK_COMM_SIZE_COUNT; size++) {
        fits->all[size] = summary_of(&w.piles[ALL][size]);
        fits->sound[size] = summary_of(&w.piles[SOUND][size]);
        fits->held[size] = summary_of(&w.piles[HELD][size]);
        fits->left_out[size] = summary_of(&w.piles[LEFT_OUT][size]);
    }
    give_back(&w);
    return RK_OK;
}

void rk_comm_fits_clear(rk_comm_fits *fits)
{
    free(fits->of);
    fits->of = NULL;
}
