/* SPDX-License-Identifier: Apache-2.0 */
/* Where each field of a strategy comes from. */
#ifndef RK_STRATEGY_ORIGIN_H
#define RK_STRATEGY_ORIGIN_H

#include "strategy/strategy_fields.h"

typedef enum rk_origin {
    RK_ORIGIN_DEFAULT,  /* what the framework does by default */
    RK_ORIGIN_STATED,   /* given by a person, a launch or a row */
    RK_ORIGIN_DERIVED,  /* follows from other fields */
    RK_ORIGIN_INFERRED, /* what a run that ran must have had */
    RK_ORIGIN_ASSUMED,  /* a guess of ours */
    RK_ORIGIN_SEARCHED, /* the fastest of several */
    RK_ORIGIN_COUNT,
} rk_origin;

extern const char *const rk_origin_names[RK_ORIGIN_COUNT];

/* An rk_origin for each strategy field, in the order of the fields. */
typedef struct rk_origins {
    uint8_t of[RK_STRATEGY_FIELD_COUNT];
} rk_origins;

/* All fields are defaults, but those that always follow from others. */
rk_origins rk_origins_default(void);

/* Sets the origin of the field of a key (rk_strategy_key). */
void rk_origin_set(rk_origins *origins, const char *key, rk_origin origin);

rk_origin rk_origin_of(const rk_origins *origins, const char *key);

#endif
