/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why no strategy of a space is legal: the rules that exclude its strategies, the degrees that
 * divide nothing, and the nearest changes with which something is legal.
 */
#ifndef RK_SEARCH_REASONS_H
#define RK_SEARCH_REASONS_H

#include "search/plan.h"

#define RK_REASON_RULES 4
#define RK_REASON_HELPS 12

/* A rule and what it excludes. */
typedef struct rk_excluding_rule {
    const char *name;  /* static */
    uint64_t excluded; /* strategies that break it */
    uint64_t alone;    /* and no other rule: without it, they were legal */
    char message[256]; /* of one strategy: the finding and the nearest legal choice */
} rk_excluding_rule;

typedef enum rk_help_kind {
    RK_HELP_ACCELERATORS,
    RK_HELP_GLOBAL_BATCH,
    RK_HELP_SEQ,
    RK_HELP_TP,
    RK_HELP_CP,
    RK_HELP_PP,
    RK_HELP_VP,
    RK_HELP_EP,
    RK_HELP_ETP,
    RK_HELP_MICRO_BATCH,
    RK_HELP_FRAMEWORK, /* values are of rk_framework */
    RK_HELP_KIND_COUNT,
} rk_help_kind;

extern const char *const rk_help_names[RK_HELP_KIND_COUNT];

/* A change of one number, or of the framework, that makes something legal. */
typedef struct rk_help {
    rk_help_kind kind;
    int64_t values[2]; /* the nearest below and above, or the first frameworks */
    int count;
} rk_help;

typedef struct rk_reasons {
    uint64_t strategies;  /* of the space */
    uint64_t checked;     /* strategies checked against every rule */
    char indivisible[96]; /* what no given value of some degree divides; "": there is none */
    rk_excluding_rule rules[RK_REASON_RULES]; /* that exclude most, decisive ones first */
    int rule_count;
    rk_help helps[RK_REASON_HELPS];
    int help_count;
} rk_reasons;

/* Finds the reasons of a space without legal strategies. */
rk_status rk_plan_find_reasons(const rk_model *model, const rk_system *system,
                               const rk_plan_space *space, rk_reasons *reasons, rk_error *err);

#endif
