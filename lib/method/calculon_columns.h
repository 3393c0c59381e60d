/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies of the Calculon method with their statistics, as columns of a table. */
#ifndef RK_METHOD_CALCULON_COLUMNS_H
#define RK_METHOD_CALCULON_COLUMNS_H

#include "base/value.h"
#include "reckon/reckon.h"

#define RK_CALCULON_COLUMN_SIZE 64 /* of a name */

/* The fields of the execution document, then the statistics.  Returns the type. */
size_t rk_calculon_column_count(void);
rk_value_type rk_calculon_column(size_t index, char name[RK_CALCULON_COLUMN_SIZE]);

/* Fills a value for each. */
void rk_calculon_values(const rk_calculon_exe *exe, const rk_calculon_stats *stats,
                        rk_value *values);

#endif
