/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter servers: workers push gradients to servers that update the parameters, and pull the
 * parameters back.
 */
#ifndef RK_COMM_PARAMETER_SERVER_H
#define RK_COMM_PARAMETER_SERVER_H

#include "reckon/reckon.h"

#include <stddef.h>

typedef struct rk_parameter_servers {
    double workers, servers;                   /* machines; servers hold equal parts */
    double bytes;                              /* of the gradients, and of the parameters */
    double worker_bandwidth, server_bandwidth; /* bytes/s each way */
    double latency;                            /* s of a push and a pull together */
    bool half_duplex;                          /* pushes and pulls share a link's bandwidth */
} rk_parameter_servers;

/*
 * Synchronous: seconds until all workers have pushed and pulled.  Push and pull are pipelined, so
 * the busier of a worker's link and a server's link decides:
 *
 *     t = latency + max(bytes / B_w, w bytes / (q B_s)), twice the latter without duplex
 */
double rk_parameter_server_seconds(const rk_parameter_servers *servers);

/*
 * The best placement on n machines with accelerators, each of which also serves a part, and k extra
 * machines without (BytePS):
 *
 *     t = 2 n (n - 1) bytes / ((n^2 + k n - 2 k) B)
 *
 * From a ring's 2 (n-1)/n bytes/B with k = 0 to bytes/B with k = n.
 * Source: Jiang et al., "A unified architecture for accelerating distributed DNN training in
 * heterogeneous GPU/CPU clusters", OSDI 2020.
 */
double rk_parameter_server_mixed_seconds(double machines, double extra, double bytes,
                                         double bandwidth);

/*
 * Asynchronous: updates per second of all workers, each of which computes for `compute_s`, then
 * pushes and pulls, without waiting for others; at most what the servers' links carry.
 */
double rk_parameter_server_async_rate(const rk_parameter_servers *servers, double compute_s);

/*
 * Updates by others between a worker's pull and its push, in the mean over equal workers; bounded
 * staleness lets none be ahead of another by more than `bound` steps (below 0: no bound).
 */
double rk_parameter_server_staleness(double workers, double bound);

/*
 * Steps until the same loss over steps of synchronous training: 1 + price * staleness.  The price
 * is the user's: it depends on the model, the optimizer and the learning rate.
 */
double rk_staleness_steps(double staleness, double price);

/* ---- outer steps --------------------------------------------------------------------------- */

/*
 * Local SGD and DiLoCo: sites train by themselves and average what they changed every `every`
 * steps.  Seconds of a step of `step_s` when averaging needs sync_s:
 *
 *     step_s + sync_s / every              sites wait for the average
 *     max(step_s, sync_s / every)          it travels while the next steps run (streaming DiLoCo)
 *
 * Source: Douillard et al., arXiv 2311.08105; overlapped: arXiv 2501.18512.
 */
double rk_outer_step_seconds(double step_s, double sync_s, double every, bool overlapped);

#endif
