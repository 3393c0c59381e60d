/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that share a search, as rank 0 and the others see each other: messages of bytes to and
 * from rank 0.  A program fills the struct with its transport, e.g. MPI, and passes it to a job on
 * every rank (rk_job_control.team).  Rank 0 has the answer.
 */
#ifndef RECKON_TEAM_H
#define RECKON_TEAM_H

#include "reckon/command.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rk_team {
    int rank, size; /* ranks are numbered from 0 */
    uint64_t runs;  /* the library counts shared searches here; initially 0 */
    void *context;  /* handed to the functions below */
    int cores;      /* threads of this rank, at least 1 */
    bool broken;    /* set by the library: a rank was lost, so they cannot all finish together */
    double *cpu_s;  /* s of processor time of each rank in shared searches, set on rank 0; NULL: not
                       wanted */
    /* Sends a copy of a message; does not wait until it arrives. */
    void (*send)(void *context, int to, const void *data, size_t size);
    /*
     * Takes the next message that has arrived: memory of malloc, which the library frees.  NULL:
     * none has.
     */
    void *(*receive)(void *context, int *from, size_t *size);
};

#ifdef __cplusplus
}
#endif

#endif
