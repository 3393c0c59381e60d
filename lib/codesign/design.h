/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every machine of a grid with prices: its cost, how fast it trains a model with its best strategy,
 * and whether it is on the Pareto front of both.
 */
#ifndef RK_CODESIGN_DESIGN_H
#define RK_CODESIGN_DESIGN_H

#include "codesign/prices.h"
#include "method/method.h"

typedef struct rk_design {
    int choice[RK_PRICE_AXES_MAX]; /* index of the value of each axis */
    int64_t processors;
    double each, cost; /* price of a processor, and of all */
    bool runs;         /* some strategy fits */
    bool on_front;     /* no machine is as cheap and faster, or cheaper and as fast */
    rk_candidate best; /* the best strategy, where one fits */
} rk_design;

/*
 * Searches on every machine: the system of `problem` with the numbers of the axes, and with their
 * processors if an axis varies them.  *designs is the caller's to free; cheapest first, of equal
 * prices the fastest.
 */
rk_status rk_design_search(const rk_problem *problem, const rk_prices *prices,
                           const rk_search_control *control, rk_design **designs, size_t *count,
                           rk_bounded_counts *counts, rk_error *err);

/* The cheapest machine that runs so many sequences/s, the fastest of its price; NULL: none. */
const rk_design *rk_design_cheapest(const rk_design *designs, size_t count, double least_rate);

#endif
