/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers of the reckon model: parts of rk_method. */
#ifndef RK_METHOD_RECKON_ANSWER_H
#define RK_METHOD_RECKON_ANSWER_H

#include "method/question.h"

rk_status rk_reckon_predict(rk_question *question, rk_error *err);

void rk_reckon_write_documents(FILE *to, const rk_question *question);
void rk_reckon_write_run(FILE *to, const rk_question *question, unsigned parts);
void rk_reckon_write_choices(FILE *to, const rk_question *question);
void rk_reckon_write_brief_question(FILE *to, const rk_question *question, unsigned parts);
rk_status rk_reckon_write_brief(FILE *to, const rk_question *question, rk_table_style style,
                                rk_error *err);
rk_status rk_reckon_write_best(FILE *to, const rk_question *question, rk_table_style style,
                               rk_error *err);
void rk_reckon_write_missing(FILE *to, const rk_question *question);

void rk_reckon_write_request_json(rk_json_writer *writer, const rk_question *question);
void rk_reckon_write_best_json(rk_json_writer *writer, const rk_question *question);
void rk_reckon_write_missing_json(rk_json_writer *writer, const rk_question *question);
void rk_reckon_write_strategies_json(rk_json_writer *writer, const rk_question *question);
void rk_reckon_write_csv(rk_out *out, const rk_question *question);

#endif
