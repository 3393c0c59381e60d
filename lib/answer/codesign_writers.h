/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of explain, design and shape for programs. */
#ifndef RK_ANSWER_CODESIGN_WRITERS_H
#define RK_ANSWER_CODESIGN_WRITERS_H

#include "answer/answers.h"
#include "job/answer_writers.h"

void rk_explain_write_members(rk_json_writer *writer, const void *what);
void rk_explain_write_cells(rk_csv_out *csv, const void *what);
void rk_design_write_members(rk_json_writer *writer, const void *what);
void rk_design_write_cells(rk_csv_out *csv, const void *what);
void rk_shape_write_members(rk_json_writer *writer, const void *what);
void rk_shape_write_cells(rk_csv_out *csv, const void *what);

#endif
