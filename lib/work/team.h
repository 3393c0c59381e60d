/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that share a run, as rank 0 and the others see each other: messages of bytes to and
 * from rank 0.  MPI is one way to carry them (lib/mpi); the tests have another.
 */
#ifndef RK_WORK_TEAM_H
#define RK_WORK_TEAM_H

#include "base/bytes.h"

typedef struct rk_team {
    int rank, size; /* ranks are numbered from 0 */
    uint64_t runs;  /* rk_share_run counts here: what is left over of one is no part of the next */
    void *context;
    int cores;     /* that are this rank's share, at least 1 */
    bool broken;   /* a rank was lost: they cannot all end together */
    double *cpu_s; /* processor time of each rank in shared runs, on rank 0; NULL: not wanted */
    /* Sends a copy of a message; does not wait until it arrives. */
    void (*send)(void *context, int to, const void *data, size_t size);
    /* Takes the next message that has arrived; false: there is none now. */
    bool (*receive)(void *context, int *from, rk_bytes *message);
} rk_team;

#endif
