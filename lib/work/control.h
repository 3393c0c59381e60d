/* SPDX-License-Identifier: Apache-2.0 */
/* How a question is worked on: where its progress goes, and the ranks that share it. */
#ifndef RK_WORK_CONTROL_H
#define RK_WORK_CONTROL_H

#include "reckon/search.h"
#include "reckon/team.h"

/* All zero: this process alone, without progress. */
typedef struct rk_control {
    /* As in rk_job_control; NULL: none. */
    bool (*progress)(void *user, const rk_job_progress *progress);
    void *user;              /* handed to `progress` */
    rk_team *team;           /* NULL: this process is alone */
    rk_documents *documents; /* that questions share; NULL: none */
    const char *counted;     /* what the running search counts */
} rk_control;

/* Reports progress; false: the work is to stop. */
bool rk_control_report(const rk_control *control, const rk_job_progress *progress);

/*
 * Progress and stop control of a search, which borrows `control`; `what` names what it counts,
 * `threads` 0: all cores.
 */
rk_search_control rk_control_search(rk_control *control, const char *what, int64_t threads);

/* The ranks that share the work; NULL if there is only this process. */
rk_team *rk_control_team(const rk_control *control);

/* Whether this process writes and reports, that is, is rank 0 or the only one. */
bool rk_control_is_first(const rk_control *control);

/* Processor time of this process and of the other ranks' shares of the work, s. */
double rk_control_cpu_s(const rk_control *control);

#endif
