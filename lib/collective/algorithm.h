/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collective algorithms.  An algorithm is one file and one line of the table in algorithm.c: which
 * collectives it runs, their cost in closed form, and the messages it sends.  The messages verify
 * the closed form and give the load of each link.
 *
 * A tensor is cut into blocks.  In a round, messages start together once all messages of the round
 * before have arrived.  Ranks are 0 .. ranks-1; a switch that computes is rank `ranks`.
 */
#ifndef RK_COLLECTIVE_ALGORITHM_H
#define RK_COLLECTIVE_ALGORITHM_H

#include "collective/operation.h"
#include "collective/topology.h"

/* The input of an algorithm. */
typedef struct rk_collective_job {
    rk_collective op;
    int32_t ranks;  /* 2 or more */
    double bytes;   /* as rk_collective_seconds counts them */
    int32_t chunks; /* parts that are pipelined, by algorithms that do; 1 or more */
} rk_collective_job;

/*
 * Cost on the slowest rank or link: seconds = rounds alpha + bytes / bandwidth + reduced gamma,
 * with alpha the latency of a round, gamma the seconds to add a byte to another.
 */
typedef struct rk_collective_cost {
    double rounds;
    double bytes;    /* over its port or, of the mesh, over each of its links */
    double reduced;  /* bytes that a rank adds up */
    double messages; /* that a rank sends */
} rk_collective_cost;

typedef struct rk_collective_message {
    int32_t round, source, target;
    int32_t first_block, blocks; /* of the tensor, counted round the end */
    bool reduces;                /* the target adds the blocks to its own */
    double bytes;
} rk_collective_message;

typedef void rk_message_visitor(void *user, const rk_collective_message *message);

typedef struct rk_algorithm {
    const char *name;    /* as options spell it, e.g. "ring" */
    const char *purpose; /* one line for `list` and documentation */
    unsigned ops;        /* a bit per rk_collective */
    bool powers_of_two;  /* runs on powers of two ranks only, except `any_ranks` */
    unsigned any_ranks;  /* a bit per rk_collective that folds in other numbers of ranks */
    bool mesh;           /* made for a link per pair: bytes are per link */
    bool streams;        /* rounds overlap: links work all the time, latency counts every round */
    rk_collective_cost (*cost)(const rk_collective_job *job);
    /* Blocks that the tensor is cut into; of all-to-all block source * ranks + target. */
    int32_t (*blocks)(const rk_collective_job *job);
    /* Visits the messages of all ranks, round by round. */
    void (*send)(const rk_collective_job *job, rk_message_visitor *visit, void *user);
} rk_algorithm;

/* X(ring): rk_algorithm_ring of a file of its own.  Of equally fast ones the first is taken. */
#define RK_ALGORITHM_LIST(X)                                                                       \
    X(ring)                                                                                        \
    X(tree)                                                                                        \
    X(halving_doubling)                                                                            \
    X(nhr)                                                                                         \
    X(nb)                                                                                          \
    X(pat)                                                                                         \
    X(chain)                                                                                       \
    X(bruck)                                                                                       \
    X(pairwise)                                                                                    \
    X(direct)                                                                                      \
    X(mesh)                                                                                        \
    X(in_network)

#define RK_ALGORITHM_DECLARE(name) extern const rk_algorithm rk_algorithm_##name;
RK_ALGORITHM_LIST(RK_ALGORITHM_DECLARE)
#undef RK_ALGORITHM_DECLARE

#define RK_ALGORITHM_ONE(name) +1
enum { RK_ALGORITHM_COUNT = RK_ALGORITHM_LIST(RK_ALGORITHM_ONE) };
#undef RK_ALGORITHM_ONE

/* The chunks with which a chain is fastest. */
int32_t rk_chain_chunks(int32_t ranks, double bytes, const rk_link *link);

/* All algorithms; NULL-terminated. */
extern const rk_algorithm *const rk_algorithms[RK_ALGORITHM_COUNT + 1];

/* Whether it runs a collective on a number of ranks. */
bool rk_algorithm_runs(const rk_algorithm *algorithm, rk_collective op, int32_t ranks);

/* ---- replay -------------------------------------------------------------------------------- */

typedef struct rk_replay {
    double seconds;
    int64_t messages;
    int64_t busiest;      /* the link that carries most bytes over its bandwidth */
    double busiest_bytes; /* that it carries */
} rk_replay;

/*
 * Sends the messages over links.  The slowest link sets the time of a round: its latency, and all
 * bytes routed over that link; then the slowest rank adds up what it received.  Algorithms that
 * stream add the latency of every round and the busiest link's bytes of all rounds.  `loads` (may
 * be NULL) has an entry per link and gets its bytes.  topology->ranks is at least job->ranks.
 */
rk_status rk_algorithm_replay(const rk_algorithm *algorithm, const rk_collective_job *job,
                              const rk_topology *topology, double reduce_seconds_per_byte,
                              double *loads, rk_replay *replay, rk_error *err);

#endif
