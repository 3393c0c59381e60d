/* SPDX-License-Identifier: Apache-2.0 */
/* All-to-all with counts that differ from pair to pair. */
#ifndef RK_COLLECTIVE_PAIRWISE_H
#define RK_COLLECTIVE_PAIRWISE_H

#include "collective/algorithm.h"

/*
 * Seconds of a pairwise exchange in which rank i sends bytes[i * ranks + j] to rank j.  The entries
 * of the diagonal are not looked at.  Borrows `bytes`.
 */
double rk_pairwise_seconds(int32_t ranks, const double *bytes, const rk_link *link);

#endif
