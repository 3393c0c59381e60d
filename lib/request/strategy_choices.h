/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which choices of a strategy a command line makes, and which it leaves to a search.
 *
 * `estimate`, `fit`, `run` and `timeline` take a command line for one strategy when nothing that
 * matters is open: TP, CP, PP, VP, EP, ETP, micro-batch, ZeRO and recompute are given, or follow
 * from what is given.  Otherwise they search what is open, as `plan` does.  Without --accelerators
 * nothing is open: what is not given is 1.
 */
#ifndef RK_REQUEST_STRATEGY_CHOICES_H
#define RK_REQUEST_STRATEGY_CHOICES_H

#include "request/request.h"

typedef enum rk_choice {
    RK_CHOICE_TP,
    RK_CHOICE_CP,
    RK_CHOICE_PP,
    RK_CHOICE_VP,
    RK_CHOICE_EP,
    RK_CHOICE_ETP,
    RK_CHOICE_MICRO_BATCH,
    RK_CHOICE_ZERO,
    RK_CHOICE_RECOMPUTE,
    RK_CHOICE_DP, /* given or not, it follows from the others */
    /* Open or not, these make no search of a strategy; a search tries them too. */
    RK_CHOICE_SCHEDULE,
    RK_CHOICE_CP_KIND,
    RK_CHOICE_ORDER,
    RK_CHOICE_SPLIT,
    RK_CHOICE_OFFLOAD,
    RK_CHOICE_COUNT,
} rk_choice;

/* The fields that a command line for one strategy states or determines. */
#define RK_CHOICES_NEEDED ((1U << RK_CHOICE_SCHEDULE) - 1)

/* The names of a choice for people and in documents. */
extern const char *const rk_choice_names[RK_CHOICE_COUNT];
extern const char *const rk_choice_keys[RK_CHOICE_COUNT];

/* A bit per choice. */
typedef struct rk_choice_sets {
    unsigned given;   /* options of the command line */
    unsigned several; /* those with more than one value */
    unsigned open;    /* neither given with one value nor determined by what is */
} rk_choice_sets;

rk_choice_sets rk_request_choices(const rk_request *request, const rk_inputs *inputs);

/* Whether a command line leaves nothing to a search. */
bool rk_request_is_strategy(const rk_request *request, const rk_inputs *inputs);

/* The request with all choices of a strategy open. */
rk_request rk_request_open(const rk_request *request);

/* "TP, CP and PP". */
#define RK_CHOICE_LIST_SIZE 160
const char *rk_choice_list(unsigned choices, char out[RK_CHOICE_LIST_SIZE]);

#endif
