/* SPDX-License-Identifier: Apache-2.0 */
/* The rows in which both methods describe a candidate; functions of rk_method. */
#ifndef RK_METHOD_ROWS_H
#define RK_METHOD_ROWS_H

#include "method/method.h"

enum { RK_CALCULON_ROWS = 23, RK_RECKON_ROWS = RK_STRATEGY_FIELD_COUNT + 7 };

const char *rk_calculon_row_label(size_t row);
const char *rk_calculon_describe(const rk_problem *problem, const rk_candidate *candidate,
                                 size_t row, char out[RK_CELL_SIZE]);

const char *rk_reckon_row_label(size_t row);
const char *rk_reckon_describe(const rk_problem *problem, const rk_candidate *candidate, size_t row,
                               char out[RK_CELL_SIZE]);
bool rk_reckon_row_tells(const rk_problem *problem, const rk_candidate *candidates, size_t count,
                         size_t row);

#endif
