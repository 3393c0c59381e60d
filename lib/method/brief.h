/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that fit on one screen: a line for each input, assumption and result. */
#ifndef RK_METHOD_BRIEF_H
#define RK_METHOD_BRIEF_H

#include "method/answer.h"

/* Model, system, software, number of accelerators (0: not said), batch and sequence. */
void rk_brief_write_question(FILE *to, const rk_request *request, const rk_inputs *inputs,
                             int64_t accelerators);

/* Layers of the first and the last rank, and ends that count as layers, behind commas. */
void rk_brief_write_split(FILE *to, const rk_strategy *strategy);

/*
 * The degrees of a strategy, and the rest, in two lines: what a search chose for a framework is
 * there, so that these as options predict the same.
 */
void rk_brief_write_strategy(FILE *to, rk_framework framework, bool recommended,
                             const rk_strategy *strategy);

/* The time of a step with its interval, rates, memory, and the largest parts of both. */
void rk_brief_write_step(FILE *to, const rk_inputs *inputs, const rk_answer *answer);

/* The same in two lines: step and MFU, memory. */
void rk_brief_write_totals(FILE *to, const rk_inputs *inputs, const rk_answer *answer);

/* Shares of a whole, the largest first: "linear layers 73.7 %, attention 11.3 %"; at most `most`.
 */
void rk_brief_write_shares(FILE *to, const char *const *names, const double *parts, int count,
                           double total, int most);

/* The last line: what -v adds, as in "every alternative, memory by part". */
void rk_brief_write_more(FILE *to, const char *what);

#endif
