/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinct strategies by the reckon model: the fastest, and the fastest of those that make one
 * choice differently, such as no pipeline or half the memory; and a faster one that fits at a
 * higher risk of running out of memory.
 */
#ifndef RK_METHOD_ALTERNATIVES_H
#define RK_METHOD_ALTERNATIVES_H

#include "method/ranking.h"

/* Alternatives that take longer than so many times the fastest step are left out. */
#define RK_ALTERNATIVE_SLOWEST 1.5

/* Riskier ones are shown up to so many times the fastest step within the risk. */
#define RK_ALTERNATIVE_FASTER 0.99

/*
 * As rk_rank_strategies with top 1, then adds alternatives to the ranking: each strategy once, by
 * time, with the kinds that it is the fastest of.
 */
rk_status rk_rank_alternatives(const rk_problem *problem, rk_search_kind kind, rk_team *team,
                               const rk_search_control *control, rk_ranking *ranking,
                               rk_error *err);

/* The first of some kinds: "no pipeline"; and all: "no pipeline; ZeRO 3". */
#define RK_ALTERNATIVE_LABEL_SIZE 128
const char *rk_alternative_name(unsigned kinds);
const char *rk_alternative_label(unsigned kinds, char out[RK_ALTERNATIVE_LABEL_SIZE]);

#endif
