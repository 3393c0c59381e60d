/* SPDX-License-Identifier: Apache-2.0 */
/* Where checkpoints are written: documents of data/storage. */
#ifndef RK_RUN_STORAGE_H
#define RK_RUN_STORAGE_H

#include "reckon/reckon.h"

#define RK_STORAGE_TIERS_MAX 16

typedef enum rk_storage_per {
    RK_PER_ACCELERATOR,
    RK_PER_NODE,
    RK_PER_SYSTEM, /* all share it */
} rk_storage_per;

typedef enum rk_storage_survives {
    RK_SURVIVES_PROCESS, /* what a node holds is lost with the node */
    RK_SURVIVES_NODE,    /* another node has a copy */
    RK_SURVIVES_SYSTEM,
} rk_storage_survives;

typedef struct rk_storage_tier {
    char name[32];
    rk_storage_per per;
    rk_storage_survives survives;
    double bandwidth; /* bytes/s, for each of `per` */
    double latency_s;
    double capacity; /* bytes, for each of `per`; 0: enough */
} rk_storage_tier;

typedef struct rk_storage {
    char name[64];
    int count;
    rk_storage_tier tiers[RK_STORAGE_TIERS_MAX];
} rk_storage;

/* Reads a document: a file, or a name of the catalogue data/storage. */
rk_status rk_storage_load(const char *name, rk_storage *storage, rk_error *err);

/* The tier of that name; NULL, with an error that lists what there is. */
const rk_storage_tier *rk_storage_find(const rk_storage *storage, const char *name, rk_error *err);

/*
 * Time to write, or to read, `bytes` of all accelerators together:
 * latency + bytes / (bandwidth sharers), with accelerators, nodes or one system as sharers.
 */
double rk_storage_time_s(const rk_storage_tier *tier, double bytes, double accelerators,
                         double per_node);

/* Whether a checkpoint of so many bytes fits into the tier `copies` times. */
bool rk_storage_holds(const rk_storage_tier *tier, double bytes, double copies, double accelerators,
                      double per_node);

#endif
