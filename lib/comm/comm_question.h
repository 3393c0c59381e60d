/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives take on a system, by size, as nccl-tests counts them. */
#ifndef RK_COMM_QUESTION_H
#define RK_COMM_QUESTION_H

#include "comm/concurrent_collectives.h"

typedef struct rk_comm_question {
    unsigned ops;    /* a bit per rk_collective */
    rk_counts sizes; /* bytes, counted as nccl-tests does */
    /* The group; see comm_place.h. */
    int64_t ranks, stride;
    const char *slice;   /* of a torus, in place of ranks; NULL: none */
    rk_counts placement; /* ranks on each node, in place of ranks; count 0: none */
    /* How it runs. */
    const char *algorithm; /* a name of plans, "best", "all" or "nccl"; NULL: as in training */
    int64_t chunks;        /* below 0: as measured; 0: the best number */
    bool explain;          /* the phases of named plans are asked for */
    bool side_links;       /* it is split over the side links of the system too */
    double imbalance;      /* bytes on the busiest rank of an all-to-all over the mean */
    int64_t sharing;       /* groups that share the same links */
    double fabric_share;   /* of the bandwidth of fabrics that is left */
    /* A second collective at the same time. */
    int with;                                    /* an rk_collective; RK_COLL_COUNT: none */
    int64_t with_ranks, with_stride, with_bytes; /* 0: those of the first */
} rk_comm_question;

/* A collective of one size by one plan. */
typedef struct rk_comm_timing {
    rk_collective op;
    double bytes, seconds, algorithm, bus; /* the last two in bytes/s */
    rk_collective_plan plan;
    char name[48]; /* of the plan, with its chunks or protocol */
} rk_comm_timing;

typedef struct rk_comm_answer {
    const rk_comm_question *question;
    const rk_system *system;
    rk_group group;
    int64_t ranks;           /* of the group */
    const char *algorithm;   /* as asked; explained plans are the best; NULL: none asked for */
    rk_group with_group;     /* of the second collective */
    rk_comm_timing *timings; /* owned; for each collective and size those asked for */
    size_t count, room;
} rk_comm_answer;

/*
 * Answers; bandwidths and the slice of `system` become those of the question, and the answer
 * borrows both.  Refuses groups without room and algorithms that run none of the collectives.  The
 * caller releases the answer with rk_comm_answer_clear, also after a failure.
 */
rk_status rk_comm_find(const rk_comm_question *question, rk_system *system, rk_comm_answer *answer,
                       rk_error *err);
void rk_comm_answer_clear(rk_comm_answer *answer);

/* A collective of an answer at the same time as the second one. */
typedef struct rk_comm_concurrent {
    rk_comm_flow one, other;
    rk_comm_pair pair;
} rk_comm_concurrent;

rk_comm_concurrent rk_comm_concurrent_of(const rk_comm_answer *answer,
                                         const rk_comm_timing *timing);

/*
 * Bus bandwidth over algorithm bandwidth (nccl-tests, PERFORMANCE.md): what a ring has to carry for
 * each byte of the size.
 */
double rk_comm_bus_factor(rk_collective op, double ranks);

/* A collective of training on a group, for programs. */
rk_collective_timing rk_comm_figures(const rk_system *system, rk_collective op, double bytes,
                                     const rk_group *group);

#endif
