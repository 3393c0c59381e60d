/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of plans in a table of places, of which at most half are taken. */
#include "search/plan_store.h"

#include <assert.h>
#include <stdlib.h>

struct rk_plan_store {
    rk_plan_group *places; /* owned; tp 0: empty */
    size_t count, room;    /* room: a power of two */
    double pace;
    rk_plan_prices prices; /* owned */
};

enum { FIRST_ROOM = 1024 };

rk_status rk_plan_store_new(rk_plan_store **store, rk_error *err)
{
    rk_plan_store *s = calloc(1, sizeof(*s));
    *store = s;
    if (s) {
        s->room = FIRST_ROOM;
        s->places = calloc(s->room, sizeof(*s->places));
    }
    return s && s->places ? RK_OK
                          : rk_fail(err, RK_ERR_MEMORY, "not enough memory for groups of plans");
}

void rk_plan_store_free(rk_plan_store *store)
{
    if (store) {
        rk_plan_prices_free(&store->prices);
        free(store->places);
        free(store);
    }
}

/* The place of a group, or an empty one. */
static rk_plan_group *place_of(const rk_plan_store *s, const rk_plan_group *g)
{
    uint64_t mixed = (uint64_t)g->micro_batch;
    mixed = mixed * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)g->tp;
    mixed = mixed * UINT64_C(0xbf58476d1ce4e5b9) ^ (uint64_t)g->cp;
    mixed = mixed * UINT64_C(0x94d049bb133111eb) ^ (uint64_t)(g->recipe * 8 + g->cp_kind);
    for (size_t i = (size_t)(mixed ^ mixed >> 32) & (s->room - 1);; i = (i + 1) & (s->room - 1)) {
        rk_plan_group *at = &s->places[i];
        if (at->tp == 0 ||
            (at->tp == g->tp && at->cp == g->cp && at->micro_batch == g->micro_batch &&
             at->recipe == g->recipe && at->cp_kind == g->cp_kind)) {
            return at;
        }
    }
}

bool rk_plan_store_find(const rk_plan_store *store, rk_plan_group *group)
{
    const rk_plan_group *at = place_of(store, group);
    if (at->tp > 0) {
        *group = *at;
    }
    return at->tp > 0;
}

static rk_status grow(rk_plan_store *s, rk_error *err)
{
    const rk_plan_store before = *s;
    rk_plan_group *places = calloc(2 * before.room, sizeof(*places));
    if (!places) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu groups of plans",
                       2 * before.room);
    }
    s->places = places;
    s->room = 2 * before.room;
    for (size_t i = 0; i < before.room; i++) {
        if (before.places[i].tp > 0) {
            *place_of(s, &before.places[i]) = before.places[i];
        }
    }
    free(before.places);
    return RK_OK;
}

rk_status rk_plan_store_add(rk_plan_store *store, const rk_plan_group *group, rk_error *err)
{
    assert(group->tp >= 1);
    const rk_status status = 2 * store->count >= store->room ? grow(store, err) : RK_OK;
    if (!status) {
        rk_plan_group *place = place_of(store, group);
        store->count += place->tp == 0;
        *place = *group;
    }
    return status;
}

double rk_plan_store_pace(const rk_plan_store *store)
{
    return store->pace;
}

void rk_plan_store_add_pace(rk_plan_store *store, double pace)
{
    store->pace = store->pace > 0 && store->pace < pace ? store->pace : pace;
}

rk_plan_prices rk_plan_prices_new(size_t places)
{
    assert(places > 0 && (places & (places - 1)) == 0);
    return (rk_plan_prices){
        .gemms = rk_gemm_prices_create(),
        .experts = calloc(places, sizeof(rk_known_experts)),
        .places = places,
    };
}

void rk_plan_prices_free(rk_plan_prices *prices)
{
    free(prices->gemms);
    free(prices->experts);
}

rk_plan_prices rk_plan_store_take(rk_plan_store *store)
{
    const rk_plan_prices prices = store->prices;
    store->prices = (rk_plan_prices){.gemms = NULL};
    if (prices.gemms) {
        rk_gemm_prices_clear_messages(prices.gemms); /* machines may have other networks */
    }
    return prices;
}

void rk_plan_store_give(rk_plan_store *store, const rk_plan_prices *prices)
{
    rk_plan_prices_free(&store->prices);
    store->prices = *prices;
}
