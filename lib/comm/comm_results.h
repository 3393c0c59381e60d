/* SPDX-License-Identifier: Apache-2.0 */
/* Output of programs that measure collectives: nccl-tests, rccl-tests, hccl_test, and tables. */
#ifndef RK_COMM_RESULTS_H
#define RK_COMM_RESULTS_H

#include "collective/comm_curve.h"

#define RK_COMM_SYSTEM_SIZE 128

/* How the ranks of a domain are joined. */
typedef enum rk_comm_links {
    RK_COMM_LINKS_UNKNOWN,
    RK_COMM_LINKS_DIRECT,   /* a link to each peer or to some */
    RK_COMM_LINKS_SWITCH,   /* through switches */
    RK_COMM_LINKS_REDUCING, /* through switches that all-reduce (NVLS) */
} rk_comm_links;

/* Rows of one collective on one machine with one set-up. */
typedef struct rk_comm_set {
    char system[RK_COMM_SYSTEM_SIZE];  /* machine and set-up */
    char machine[RK_COMM_SYSTEM_SIZE]; /* the same for all its set-ups */
    rk_comm_links links;
    rk_collective op;
    size_t count;
    rk_comm_row *rows; /* owned */
    double nominal;    /* bytes/s of a rank by the data sheet; 0: not said */
} rk_comm_set;

typedef struct rk_comm_results {
    size_t count;
    rk_comm_set *sets; /* owned; by machine and collective in the order of the file */
} rk_comm_results;

/* Facts that a log lacks. */
typedef struct rk_comm_hint {
    bool has_op;
    rk_collective op;
    int64_t ranks, domains; /* 0: as the log says */
} rk_comm_hint;

/*
 * Reads a file: the output of nccl-tests or rccl-tests (times out of place), of hccl_test, or a
 * table (CSV) with the columns op, ranks, bytes, seconds (or us), and domains or ranks_per_node;
 * system, machine (absent: the system), links (direct, switch, reducing switch), GBps and
 * inject_bytes may be there.  Of a log, the hosts that it lists are the domains.  Errors:
 * RK_ERR_SYNTAX; what the hint has to say. The caller releases the results with
 * rk_comm_results_clear, also after a failure.
 */
rk_status rk_comm_results_load(const char *path, const rk_comm_hint *hint, rk_comm_results *results,
                               rk_error *err);

void rk_comm_results_clear(rk_comm_results *results);

#endif
