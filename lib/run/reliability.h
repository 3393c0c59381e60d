/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often training is interrupted, by what, and for how long: documents of data/reliability, and
 * the distribution of counts that follows.
 */
#ifndef RK_RUN_RELIABILITY_H
#define RK_RUN_RELIABILITY_H

#include "reckon/reckon.h"

#define RK_COMPONENTS_MAX 32
#define RK_CLUSTERS_MAX   32

/* A cause of interruptions. */
typedef struct rk_component {
    char name[48];
    double events; /* counted; the rate of all causes is shared out by these */
    bool hang;     /* nothing crashes: a time-out of the collectives finds it */
    bool hardware; /* a part has to be replaced */
    bool one_node; /* other nodes keep their memory and their disks */
    bool silent;   /* wrong results that are noticed late: the training since is lost */
} rk_component;

/* A cluster whose interruptions are published. */
typedef struct rk_cluster_record {
    char name[64];
    double accelerators, days, interruptions;
    bool counted; /* it is part of the usual rate */
} rk_cluster_record;

typedef struct rk_reliability {
    char name[64];
    double node; /* accelerators of one */
    int cluster_count, component_count;
    rk_cluster_record clusters[RK_CLUSTERS_MAX];
    rk_component components[RK_COMPONENTS_MAX];
    double planned_share;     /* planned interruptions per unexpected one */
    double detect_s;          /* from a crash until it is noticed */
    double hang_s;            /* from a hang until it is noticed */
    double restart_s;         /* from there to the first step, without reading a checkpoint */
    double standby_restart_s; /* the same with spare nodes */
    double repair_s;          /* until a node is back */
    double start_s;           /* from the start of a job to its first step, without reading */
    double silent_s;          /* training until wrong results are noticed */
    double rate; /* unexpected interruptions per accelerator and s: the clusters' geometric mean */
    double spread; /* standard deviation of the logarithm of the rate of a new cluster */
} rk_reliability;

/*
 * Reads a document: a file, or a name of the catalogue data/reliability.  `rate` and `spread`
 * follow from the clusters that count (rk_reliability_pool).
 */
rk_status rk_reliability_load(const char *name, rk_reliability *reliability, rk_error *err);

/*
 * The rate per accelerator and s that a cluster unlike `left_out` (-1: none) has in the median, and
 * the standard deviation of its logarithm: s sqrt(1 + 1/n) of n clusters whose logarithms deviate
 * by s.  Returns the number of clusters that counted; below 2 the spread is 0.
 */
int rk_reliability_pool(const rk_reliability *reliability, int left_out, double *rate,
                        double *spread);

/* Mean time from an interruption to the next step, over all causes, without reading. */
double rk_reliability_stall_s(const rk_reliability *reliability, bool standby);

/* Share of the interruptions for which memory and disks of other nodes are still usable. */
double rk_reliability_one_node_share(const rk_reliability *reliability);

/* Share of the interruptions after which a node has to be replaced. */
double rk_reliability_hardware_share(const rk_reliability *reliability);

/* Share of the interruptions that follow wrong results. */
double rk_reliability_silent_share(const rk_reliability *reliability);

/* ---- counts ---------------------------------------------------------------------------------- */

/* Probability of at most `count` events where `mean` are expected: Poisson. */
double rk_poisson_at_most(double count, double mean);

/*
 * The smallest count that events stay within with probability `share` (0 to 1), where their
 * expectation is log-normal about the median `mean` with a standard deviation `spread` of its
 * logarithm, and counts are Poisson about it.
 */
double rk_interruptions_quantile(double mean, double spread, double share);

/*
 * Spare nodes that last with probability `confidence` (below 1) while `nodes` fail at `rate`
 * (per node and s) and come back after `repair_s`: nodes in repair are Poisson with mean
 * nodes rate repair_s.
 */
double rk_spares_needed(double nodes, double rate, double repair_s, double confidence);

/* Value of a standard normal that `share` (0 to 1, both excluded) of all draws stay below. */
double rk_normal_quantile(double share);

#endif
