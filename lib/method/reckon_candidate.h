/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies that a search by the reckon model found, as results of a method. */
#ifndef RK_METHOD_RECKON_CANDIDATE_H
#define RK_METHOD_RECKON_CANDIDATE_H

#include "method/method.h"

/* A result of a search by the reckon model. */
rk_candidate rk_reckon_candidate(const rk_problem *problem, const rk_planned_strategy *planned);

#endif
