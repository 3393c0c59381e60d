/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers of the Calculon method: parts of rk_method. */
#ifndef RK_METHOD_CALCULON_ANSWER_H
#define RK_METHOD_CALCULON_ANSWER_H

#include "method/question.h"

rk_status rk_calculon_predict(rk_question *question, rk_error *err);

/* Evaluates a strategy that fits into the memory it needs, however much the system has. */
rk_status rk_calculon_evaluate_roomy(const rk_problem *problem, const rk_candidate *candidate,
                                     rk_calculon_result *result, rk_error *err);

void rk_calculon_write_documents(FILE *to, const rk_question *question);
void rk_calculon_write_machine(FILE *to, const rk_question *question);
void rk_calculon_write_run(FILE *to, const rk_question *question, unsigned parts);
rk_status rk_calculon_write_best(FILE *to, const rk_question *question, rk_table_style style,
                                 rk_error *err);
void rk_calculon_write_missing(FILE *to, const rk_question *question);

void rk_calculon_write_request_json(rk_json_writer *writer, const rk_question *question);
void rk_calculon_write_best_json(rk_json_writer *writer, const rk_question *question);
void rk_calculon_write_missing_json(rk_json_writer *writer, const rk_question *question);
void rk_calculon_write_strategies_json(rk_json_writer *writer, const rk_question *question);
void rk_calculon_write_csv(rk_out *out, const rk_question *question);

#endif
