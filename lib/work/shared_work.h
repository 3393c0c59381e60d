/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work shared by the threads of this process and the ranks of a team. Rank 0 cuts it into tasks and
 * hands them out one by one, so that faster workers do more, and delivers the results in the order
 * in which they arrive. Tasks of a rank that falls silent are handed out again.
 */
#ifndef RK_WORK_SHARED_WORK_H
#define RK_WORK_SHARED_WORK_H

#include "reckon/team.h"
#include "work/pool.h"

/* The shared work. Only `work` is called from several threads and on ranks other than 0. */
typedef struct rk_share_job {
    void *context;
    rk_task_work *work;

    /* Writes the next task; leaves it empty when there is none, or none until a result arrives. */
    rk_status (*next)(void *context, rk_bytes *task, rk_error *err);

    /* Receives the result of a task. */
    rk_status (*done)(void *context, const rk_bytes *task, const rk_bytes *result, rk_error *err);

    /* Called about ten times a second; returns false to stop.  May be NULL. */
    bool (*tick)(void *context);

    /* A rank has fallen silent; `tasks` are the ones it held. May be NULL. */
    void (*lost)(void *context, int rank, const rk_task_list *tasks);

    /*
     * After the last result: the message of rank 0 to all others, and its handler there. May be
     * NULL.
     */
    rk_status (*tell)(void *context, rk_bytes *outcome, rk_error *err);
    rk_status (*hear)(void *context, const rk_bytes *outcome, rk_error *err);

    uint64_t fingerprint;  /* hash of the inputs; a rank with a different one is refused */
    double silent_seconds; /* until a rank counts as lost; 0: a minute */
} rk_share_job;

/*
 * Does the work with `threads` threads on every rank; `team` may be NULL.  Returns when all is done
 * (RK_OK), with the first error, or RK_ERR_STOPPED after `tick` or another rank's end said so.
 */
rk_status rk_share_run(const rk_share_job *job, rk_team *team, int threads, rk_error *err);

/*
 * In place of rk_share_run on a rank that cannot take part: rank 0 returns this error from its run;
 * when it is rank 0 itself, the others return RK_ERR_STOPPED.  `team` may be NULL.
 */
void rk_share_leave(rk_team *team, const rk_error *err);

/* A hash of the bytes. */
uint64_t rk_share_fingerprint_of(const void *data, size_t size);
uint64_t rk_share_fingerprint(const char *text);

#endif
