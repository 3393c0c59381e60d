/* SPDX-License-Identifier: Apache-2.0 */
/* Machines on offer, as a grid of numbers with prices. */
#ifndef RK_CODESIGN_PRICES_H
#define RK_CODESIGN_PRICES_H

#include "reckon/reckon.h"

#include <stdbool.h>
#include <string.h>

#define RK_PRICE_AXES_MAX   12
#define RK_PRICE_VALUES_MAX 64

/* The key of the axis of the number of accelerators, which documents may call "processors". */
#define RK_PROCESSORS_KEY "accelerators"

/* A number of the machine with the values that are on offer. */
typedef struct rk_price_axis {
    char key[32]; /* RK_PROCESSORS_KEY, or the key of a number (machine_numbers.h) */
    int count;
    double values[RK_PRICE_VALUES_MAX];
    double prices[RK_PRICE_VALUES_MAX]; /* of one processor with that value; of processors 0 */
} rk_price_axis;

/* Whether an axis varies the number of processors, rather than a number of the system. */
static inline bool rk_price_axis_is_processors(const rk_price_axis *axis)
{
    return strcmp(axis->key, RK_PROCESSORS_KEY) == 0;
}

typedef struct rk_prices {
    char name[64];
    char currency[8];
    double processor; /* price of a processor with everything that no axis prices */
    double life_days; /* years over which a machine is paid off; 0: not given */
    int axis_count;
    rk_price_axis axes[RK_PRICE_AXES_MAX];
} rk_prices;

/*
 * Reads a document of prices: a file, or a name of the catalogue data/prices.  Implemented in
 * lib/io.
 */
rk_status rk_prices_load(const char *name, rk_prices *prices, rk_error *err);

#endif
