/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a machine that money can improve: what they are, and the machine with one changed.
 */
#ifndef RK_SYSTEM_MACHINE_NUMBERS_H
#define RK_SYSTEM_MACHINE_NUMBERS_H

#include "system/system.h"

typedef enum rk_number_kind {
    RK_NUMBER_MATRIX, /* peak of the matrix engines, in all precisions alike */
    RK_NUMBER_VECTOR, /* of the vector engines */
    RK_NUMBER_MEMORY_RATE,
    RK_NUMBER_MEMORY_SIZE,
    RK_NUMBER_OFFLOAD_RATE, /* of the second memory: the link to the host */
    RK_NUMBER_OFFLOAD_SIZE,
    RK_NUMBER_LAUNCH, /* of a kernel by the host */
    RK_NUMBER_TIER_RATE,
    RK_NUMBER_TIER_LATENCY,
    RK_NUMBER_DOMAIN, /* accelerators of the innermost tier */
} rk_number_kind;

typedef struct rk_number {
    rk_number_kind kind;
    int tier;      /* of a network, counted from the innermost */
    char key[32];  /* in documents: "tier1_GBps" */
    char name[64]; /* for people: "NVLink4 bandwidth" */
    const char *unit;
    double value; /* what the number is, in `unit` */
    bool lower;   /* better is less: a time */
    bool whole;   /* a count */
} rk_number;

#define RK_NUMBER_MAX (8 + 2 * RK_NETWORK_MAX)

/* Numbers being listed. */
typedef struct rk_number_list {
    rk_number *numbers;
    size_t count;
} rk_number_list;

rk_number *rk_number_add(rk_number_list *list, rk_number_kind kind, const char *key,
                         const char *name, const char *unit, double value);

/* The two numbers of a tier. */
void rk_number_add_tier(rk_number_list *list, int tier, const char *name, double bandwidth,
                        double latency);
void rk_number_add_domain(rk_number_list *list, const char *name, int64_t size);

/* Lists the numbers of a system as it is. Returns how many. */
size_t rk_system_numbers(const rk_system *system, rk_precision precision,
                         rk_number out[RK_NUMBER_MAX]);

/* Changes a number of the system, now `number`, to `value`. */
void rk_system_set_number(rk_system *system, const rk_number *number, double value);

#endif
