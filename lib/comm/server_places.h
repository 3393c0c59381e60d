/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter servers on the machines of a group, in several arrangements, and its all-reduce. */
#ifndef RK_COMM_SERVER_PLACES_H
#define RK_COMM_SERVER_PLACES_H

#include "system/system.h"

/* The machines of a group: domains of the tier inside the outermost one that it spans. */
typedef struct rk_server_place {
    double machines;
    double local;     /* ranks of the group in a machine, which has a NIC for each */
    double node;      /* accelerators of a machine */
    double bandwidth; /* bytes/s of all NICs of a machine */
    double latency;
} rk_server_place;

rk_server_place rk_server_place_of(const rk_system *system, const rk_group *group);

/* The conditions of a comparison of arrangements. */
typedef struct rk_server_question {
    double extra;     /* machines that only serve */
    double compute_s; /* of a step without communication; 0: not given */
    double every;     /* steps between averages of sites; 0: not given */
} rk_server_question;

/* An arrangement for an update of some bytes. */
typedef struct rk_server_arrangement {
    const char *name;
    double seconds;   /* of communication in a step */
    double rate;      /* updates of all machines per second; 0: compute time is not known */
    double staleness; /* updates by others between pull and push */
} rk_server_arrangement;

enum { RK_SERVER_ARRANGEMENTS = 6 };

/* The all-reduce of estimates, then the arrangements.  Returns how many. */
size_t rk_server_arrangements(const rk_system *system, const rk_group *group,
                              const rk_server_question *question, double bytes,
                              rk_server_arrangement out[RK_SERVER_ARRANGEMENTS]);

#endif
