/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every machine of a grid with prices: what it costs, how fast it trains a model by its best
 * strategy, and which machines no other beats in both.
 */
#ifndef RK_CODESIGN_DESIGN_H
#define RK_CODESIGN_DESIGN_H

#include "codesign/prices.h"
#include "report/estimate_change.h"
#include "search/plan.h"

typedef struct rk_design {
    int choice[RK_PRICE_AXES_MAX]; /* of the values of each axis */
    int64_t processors;
    double each, cost;    /* price of a processor, and of all */
    bool runs;            /* some strategy fits */
    bool best;            /* no machine is as cheap and faster, or cheaper and as fast */
    double rate;          /* sequences/s of the best strategy */
    double efficiency;    /* by the reckon model the MFU */
    rk_calculon_exe exe;  /* which it is, by the Calculon methodology */
    rk_strategy strategy; /* and by the reckon model */
} rk_design;

/*
 * Searches by the Calculon methodology on every machine: `sys` with the numbers of the axes, and
 * `space` with their processors where there is such an axis.  *designs is the caller's to free;
 * cheapest first, of equal prices the fastest.
 */
rk_status rk_design_search(const rk_calculon_app *app, const rk_calculon_sys *sys,
                           const rk_calculon_space *space, const rk_prices *prices,
                           const rk_search_control *control, rk_design **designs, size_t *count,
                           rk_bounded_counts *counts, rk_error *err);

/*
 * The same by the reckon model, with closed forms of schedules: on the system of `setting`, with
 * the numbers of the axes, and in `space` with their processors.
 */
rk_status rk_plan_design_search(const rk_setting *setting, const rk_plan_space *space,
                                const rk_prices *prices, const rk_search_control *control,
                                rk_design **designs, size_t *count, rk_bounded_counts *counts,
                                rk_error *err);

/* The cheapest machine that runs so many sequences/s, the fastest of its price; NULL: none. */
const rk_design *rk_design_cheapest(const rk_design *designs, size_t count, double least_rate);

#endif
