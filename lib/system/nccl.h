/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How NCCL chooses an algorithm and a protocol: the cost model of its tuner.  NCCL uses the numbers
 * to compare, not to predict; so does this.
 */
#ifndef RK_SYSTEM_NCCL_H
#define RK_SYSTEM_NCCL_H

#include "system/system.h"

typedef enum rk_nccl_algorithm {
    RK_NCCL_TREE,
    RK_NCCL_RING,
    RK_NCCL_NVLS,
    RK_NCCL_NVLS_TREE,
    RK_NCCL_ALGORITHM_COUNT,
} rk_nccl_algorithm;

/* LL and LL128 send a flag with every 8 or 128 bytes; Simple waits for whole chunks. */
typedef enum rk_nccl_protocol {
    RK_NCCL_LL,
    RK_NCCL_LL128,
    RK_NCCL_SIMPLE,
    RK_NCCL_PROTOCOL_COUNT,
} rk_nccl_protocol;

extern const char *const rk_nccl_algorithm_names[], *const rk_nccl_protocol_names[];

/* Generations as NCCL's tables list them. */
typedef enum rk_nccl_generation {
    RK_NCCL_VOLTA,
    RK_NCCL_AMPERE,
    RK_NCCL_HOPPER,
    RK_NCCL_BLACKWELL,
} rk_nccl_generation;

/* The machine as NCCL's topology search finds it. */
typedef struct rk_nccl_graph {
    rk_nccl_generation generation;
    int32_t ranks, nodes;          /* equal numbers of ranks on every node */
    double channels;               /* of the graph */
    double intra_GBps, inter_GBps; /* of one channel, inside and between nodes */
    double nic_latency_us;
    bool amd_host; /* longer network overhead */
    bool nvlink;   /* PCIe otherwise */
    bool nvls;     /* the NVLink switch reduces */
} rk_nccl_graph;

/*
 * The graph that NCCL would find for a group: nodes are domains of the innermost tier, the channel
 * of an NVLink generation has the bandwidth of one of its links.  False: the accelerator is not
 * NVIDIA's, or the group is uneven.
 */
bool rk_nccl_graph_of(const rk_system *system, const rk_group *group, rk_nccl_graph *graph);

typedef struct rk_nccl_choice {
    rk_nccl_algorithm algorithm;
    rk_nccl_protocol protocol;
    double seconds, latency_s; /* by the tuner */
} rk_nccl_choice;

/* The latency term of a pair, s. */
double rk_nccl_latency(const rk_nccl_graph *graph, rk_collective op, rk_nccl_algorithm algorithm,
                       rk_nccl_protocol protocol);

/* Time that the tuner expects of a pair for `bytes`, counted as rk_collective_seconds does; s. */
double rk_nccl_seconds(const rk_nccl_graph *graph, rk_collective op, rk_nccl_algorithm algorithm,
                       rk_nccl_protocol protocol, double bytes);

/* The pair with the least time; the collective is one of the three above. */
rk_nccl_choice rk_nccl_choose(const rk_nccl_graph *graph, rk_collective op, double bytes);

#endif
