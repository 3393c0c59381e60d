/* SPDX-License-Identifier: Apache-2.0 */
/* The clusters among which `reckon run` chooses by a deadline, a budget or a limit of power. */
#ifndef RK_WHOLE_RUN_CLUSTERS_H
#define RK_WHOLE_RUN_CLUSTERS_H

#include "whole_run/whole_run.h"

#define RK_SYSTEM_CHOICE_MAX 16
#define RK_CLUSTER_ROWS      (RK_SYSTEM_CHOICE_MAX * 32)

/* A system to choose. */
typedef struct rk_system_choice {
    char name[256];
    int64_t most; /* accelerators; 0: as many as it has */
} rk_system_choice;

/* A cluster and its run. */
typedef struct rk_cluster {
    const char *system;
    char accelerator[64];
    rk_strategy strategy;
    double accelerators, step, days, late_days, hours, cost, power;
    bool meets, front;
} rk_cluster;

typedef struct rk_clusters {
    const rk_run_question *question;
    double deadline, max_power; /* days, W; infinite: no limit */
    int offered_count, count;
    rk_system_choice offered[RK_SYSTEM_CHOICE_MAX];
    rk_cluster clusters[RK_CLUSTER_ROWS];
    rk_model model;        /* that the run trains */
    rk_loss_target target; /* if a loss is given */
    double tokens;         /* of the run */
    int64_t best_batch;    /* by step-law, where none is given; 0: the usual one is */
    rk_error stuck;        /* why a run on some cluster does not advance; code RK_OK: all do */
    int smallest, cheapest, fastest; /* index into clusters; below 0: none meets it */
} rk_clusters;

/*
 * Finds the clusters that meet a deadline, a budget or a limit of power; `question` and `offered`
 * are given.
 */
rk_status rk_clusters_find(rk_control *control, rk_clusters *clusters, rk_error *err);

#endif
