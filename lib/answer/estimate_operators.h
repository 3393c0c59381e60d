/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of a microbatch in answers. */
#ifndef RK_ANSWER_ESTIMATE_OPERATORS_H
#define RK_ANSWER_ESTIMATE_OPERATORS_H

#include "io/csv_out.h"
#include "io/json_write.h"
#include "job/job.h"
#include "method/block_operators.h"

/* As tables, as the member "operators" of a JSON document, as a table of CSV. */
rk_status rk_operators_write_text(FILE *to, const rk_operators *operators, rk_table_style style,
                                  rk_error *err);
void rk_operators_write_json(rk_json_writer *writer, const rk_operators *operators);
void rk_operators_write_cells(rk_csv_out *csv, const rk_operators *operators);

#endif
