/* SPDX-License-Identifier: Apache-2.0 */
/* The null model: one constant utilisation for every run on an accelerator. */
#ifndef RK_EVIDENCE_NULL_MODEL_H
#define RK_EVIDENCE_NULL_MODEL_H

#include "evidence/compare.h"

/*
 * Sets null_step of every row that has a time.  The utilisation is the median of the measured ones
 * of the accelerator's rows of split "fit" (of all rows if it has none), in which every source
 * weighs the same; the row itself is left out.
 */
rk_status rk_null_model(rk_comparison *comparison, rk_error *err);

#endif
