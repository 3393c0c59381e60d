/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that a table of runs has as pairs in one column, "loss=liger-fused;
 * optimizer_impl=foreach". */
#ifndef RK_EVIDENCE_FACT_PAIRS_H
#define RK_EVIDENCE_FACT_PAIRS_H

#include "evidence/run_table.h"

/*
 * Writes the pairs of a column of facts into empty cells of that column, and adds the columns that
 * the table lacks.  A table without pairs stays as it is.
 */
rk_status rk_run_spread_pairs(rk_run_table *table, rk_error *err);

#endif
