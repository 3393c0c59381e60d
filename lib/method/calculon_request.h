/* SPDX-License-Identifier: Apache-2.0 */
/* A request of commands and sweeps to the Calculon method. */
#ifndef RK_METHOD_CALCULON_REQUEST_H
#define RK_METHOD_CALCULON_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* Values of `fused`. */
enum { RK_FUSED_TRUE, RK_FUSED_FALSE, RK_FUSED_BOTH };

typedef struct rk_calculon_request {
    const char *model, *system; /* catalogue names or files */
    int method;                 /* index of a choice */
    int datatype;               /* rk_datatype; below 0: the smallest of the system */
    int fused;                  /* fused activations */
    int64_t processors, batch, top, threads;
    bool no_tp_overlap, no_dp_overlap, mbs_break, bounded, json, csv;
    const char *output; /* file, or "-" */
} rk_calculon_request;

#endif
