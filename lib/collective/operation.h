/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of groups of ranks on a network: the collectives, and a link as they see it. */
#ifndef RK_COLLECTIVE_OPERATION_H
#define RK_COLLECTIVE_OPERATION_H

typedef enum rk_collective {
    RK_COLL_ALL_REDUCE,
    RK_COLL_REDUCE_SCATTER,
    RK_COLL_ALL_GATHER,
    RK_COLL_ALL_TO_ALL,
    RK_COLL_BROADCAST,
    RK_COLL_SEND,    /* point to point between neighbours of the group */
    RK_COLL_SCATTER, /* from one rank, a part to each */
    RK_COLL_GATHER,  /* to one rank, a part from each */
    RK_COLL_REDUCE,  /* the sum to one rank */
    RK_COLL_COUNT,
} rk_collective;

/* A link as a transfer sees it. */
typedef struct rk_link {
    double bandwidth; /* bytes/s, reached by large messages */
    double latency;   /* s before the first byte */
} rk_link;

#endif
