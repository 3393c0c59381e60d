/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of a collective on a fabric by three constants, and their fit to measurements.
 *
 * The time of a round is `step_s` for a small message (LL, LL128: data with flags), `chunk_step_s`
 * for a large one (Simple: chunks that are waited for); in between it grows with a power of the
 * size.
 *
 *     t = rounds * step + bytes of a rank / bandwidth
 *
 * Some networks send messages of up to `inject_bytes` inside the command that the host writes to
 * the NIC.  Messages straight to a peer (all-to-all, scatter, gather) start in accelerator memory,
 * so the host copies each one out first; there `step_s` is of a copied message and `chunk_step_s`
 * of any other.  Rings and trees of small messages start in host memory (NCCL's buffers of LL).
 */
#ifndef RK_COLLECTIVE_COMM_CURVE_H
#define RK_COLLECTIVE_COMM_CURVE_H

#include "collective/operation.h"

#include "reckon/reckon.h"

#define RK_COMM_LARGE_BYTES 1e6

typedef struct rk_comm_curve {
    double step_s, chunk_step_s;
    double
        bandwidth; /* bytes/s of a rank: its links inside one domain, else its part of the NICs */
} rk_comm_curve;

/* A measured collective of `ranks` ranks in equal parts in `domains` switch domains. */
typedef struct rk_comm_row {
    rk_collective op;
    double ranks, domains;
    double bytes, seconds; /* bytes as rk_collective_seconds counts them */
    double inject_bytes;   /* of the network; 0: it has no such messages */
} rk_comm_row;

/* Whether the host copies the messages of a row into commands, and whether it would smaller ones.
 */
bool rk_comm_row_injects(const rk_comm_row *row);
bool rk_comm_row_may_inject(const rk_comm_row *row);

/* Seconds of row->op with row->bytes; row->seconds is not looked at. */
double rk_comm_curve_seconds(const rk_comm_curve *curve, const rk_comm_row *row);

/*
 * Fits the constants to the rows for which `use` (NULL: all) is true, all of one collective on one
 * fabric: the least mean of |log(predicted / measured)|, squared where it is small; rows below
 * RK_COMM_LARGE_BYTES weigh as much as larger ones.  The same rows give the same constants. count
 * >= 1.
 */
rk_comm_curve rk_comm_curve_fit(const rk_comm_row *rows, const bool *use, size_t count);

#endif
