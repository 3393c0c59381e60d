/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the ranks of a group are joined: links with a bandwidth and a latency, and the links that a
 * message from one rank to another occupies.  Every link is one-way.
 */
#ifndef RK_COLLECTIVE_TOPOLOGY_H
#define RK_COLLECTIVE_TOPOLOGY_H

#include "collective/operation.h"
#include "reckon/reckon.h"

typedef enum rk_topology_kind {
    RK_TOPOLOGY_SWITCH,    /* non-blocking: every rank has one port each way */
    RK_TOPOLOGY_MESH,      /* a link from every rank to every other */
    RK_TOPOLOGY_TORUS,     /* rings along up to three axes */
    RK_TOPOLOGY_SERVERS,   /* servers of `local` ranks: links inside, and a NIC per rank outside */
    RK_TOPOLOGY_FAT_TREE,  /* a NIC per rank, leaf switches of `local` ranks with fewer links up */
    RK_TOPOLOGY_RAILS,     /* servers whose i-th NICs meet on leaf switches of their own */
    RK_TOPOLOGY_CUBE_MESH, /* 8 ranks: two full meshes of 4, of which each pair is joined (DGX-1) */
    RK_TOPOLOGY_DRAGONFLY, /* groups of `local` ranks, all joined pairwise by global links */
} rk_topology_kind;

#define RK_TOPOLOGY_AXES 3

/* Bandwidths in bytes/s, latencies in s. */
typedef struct rk_topology {
    rk_topology_kind kind;
    int32_t ranks;
    double bandwidth, latency; /* of a port, a pair link, a torus link one way, or a NIC */

    int32_t axis[RK_TOPOLOGY_AXES]; /* torus: ranks along each axis, 1 for unused ones */
    bool closed[RK_TOPOLOGY_AXES];  /* torus: whether the ends of an axis are joined */

    int32_t local;   /* ranks of a server, a leaf switch or a dragonfly group; divides `ranks` */
    bool local_mesh; /* servers: a link per pair inside, otherwise a switch */
    double local_bandwidth, local_latency; /* inside a server */

    double oversubscription; /* fat tree, rails: bandwidth of a leaf's NICs over its uplinks */
    int32_t leaf_servers;    /* rails: servers that share the leaf switch of a rail */

    double global_bandwidth, global_latency; /* dragonfly: of all links between two groups */
} rk_topology;

/* Most links of a route: every hop along three axes, or NICs, uplinks and local links. */
#define RK_ROUTE_MAX 4096

/* How many links there are; links are numbered from 0. */
int64_t rk_topology_links(const rk_topology *topology);

/* Fills the links from `source` to `target`, which differ; returns how many. */
int rk_topology_route(const rk_topology *topology, int32_t source, int32_t target,
                      int64_t links[RK_ROUTE_MAX]);

/* A link as a round sees it; its latency is 0 where it counts elsewhere on the route. */
rk_link rk_topology_link_at(const rk_topology *topology, int64_t link);

#define RK_LINK_NAME_SIZE 64

/* A link in words: "port of 3, out"; returns `text`. */
const char *rk_topology_link_name(const rk_topology *topology, int64_t link,
                                  char text[RK_LINK_NAME_SIZE]);

#endif
