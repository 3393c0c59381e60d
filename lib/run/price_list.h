/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of accelerator-hours, power and carbon: documents of data/prices. */
#ifndef RK_RUN_PRICE_LIST_H
#define RK_RUN_PRICE_LIST_H

#include "reckon/reckon.h"

#define RK_PRICE_HOURS_MAX 64

/* Price of an hour of an accelerator. */
typedef struct rk_hour_price {
    char accelerator[64];
    double price;
    char date[16]; /* of this price; "": the list's */
} rk_hour_price;

typedef struct rk_price_list {
    char name[64];
    char currency[8];
    char date[16];
    int count;
    rk_hour_price hours[RK_PRICE_HOURS_MAX];
    double pue;        /* power of the building relative to its machines */
    double node_power; /* power of a busy node relative to its busy boards */
    double idle_power; /* power of an idle node over the same; 0: not known, as if busy */
    double carbon;     /* g per kWh */
} rk_price_list;

/* Reads a document: a file, or a name of the catalogue data/prices. */
rk_status rk_price_list_load(const char *name, rk_price_list *list, rk_error *err);

/* Price of an hour of an accelerator; RK_ERR_INVALID where the list has none. */
rk_status rk_price_list_find(const rk_price_list *list, const char *accelerator,
                             const rk_hour_price **price, rk_error *err);

/* Price of an hour of something bought, paid off over `life_s` of use. */
double rk_price_of_purchase(double price, double life_s);

#endif
