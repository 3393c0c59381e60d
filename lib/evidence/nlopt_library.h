/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of NLopt in use.  Only a fit of constants loads the library. */
#ifndef RK_EVIDENCE_NLOPT_LIBRARY_H
#define RK_EVIDENCE_NLOPT_LIBRARY_H

#include "reckon/reckon.h"

#include <nlopt.h>

#define RK_NLOPT_FUNCTIONS(X)                                                                      \
    X(create)                                                                                      \
    X(destroy)                                                                                     \
    X(optimize)                                                                                    \
    X(set_initial_step1)                                                                           \
    X(set_lower_bounds1)                                                                           \
    X(set_maxeval)                                                                                 \
    X(set_min_objective)                                                                           \
    X(set_upper_bounds1)                                                                           \
    X(set_xtol_abs1)

/* nlopt_NAME is the member NAME. */
typedef struct rk_nlopt {
#define MEMBER(name) __typeof__(nlopt_##name) *name;
    RK_NLOPT_FUNCTIONS(MEMBER)
#undef MEMBER
} rk_nlopt;

/* RK_ERR_INVALID where NLopt is not installed. */
rk_status rk_nlopt_library_open(rk_nlopt *nlopt, rk_error *err);

#endif
