/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exhaustive search of strategies by the reckon model.  Costs of blocks are filled once for all
 * strategies that share them; memory is checked before time.
 */
#ifndef RK_SEARCH_PLAN_H
#define RK_SEARCH_PLAN_H

#include "estimate/estimate.h"
#include "framework/framework.h"
#include "residual/risk.h"
#include "strategy/origin.h"

#define RK_CHOICE_MAX 32

/* Values that a degree may take, of which those that divide count; count 0: all that divide. */
typedef struct rk_choices {
    int count;
    int64_t values[RK_CHOICE_MAX];
} rk_choices;

/* Degrees, a bit each. */
enum { RK_DEGREE_TP = 1, RK_DEGREE_CP = 2, RK_DEGREE_PP = 4, RK_DEGREE_VP = 8, RK_DEGREE_EP = 16 };

#define RK_PLAN_RECIPE_MAX RK_FRAMEWORK_COUNT

/* How a framework treats tensor groups and states. */
typedef struct rk_plan_recipe {
    bool sp; /* sequence parallelism where tp > 1 */
    rk_state_recipe states;
} rk_plan_recipe;

/* Sets of offloads, as rk_strategy_offloads numbers them: how many, none, and all, a bit each. */
#define RK_PLAN_OFFLOADS     8
#define RK_PLAN_NO_OFFLOAD   1U
#define RK_PLAN_ALL_OFFLOADS ((1U << RK_PLAN_OFFLOADS) - 1)

typedef struct rk_plan_space {
    int64_t accelerators;
    int64_t global_batch; /* sequences per step */
    rk_choices tp, cp, pp, vp, ep, etp, micro_batch;
    unsigned above_one;  /* a bit per RK_DEGREE_*: degrees that are not 1 */
    unsigned schedules;  /* a bit per rk_schedule_kind */
    unsigned shardings;  /* a bit per rk_sharding */
    bool hybrid;         /* with full sharding: also within one domain, replicated across domains */
    unsigned recomputes; /* a bit per rk_recompute_kind; selective tries the usual module sets */
    unsigned cp_kinds;   /* a bit per rk_cp_kind */
    unsigned orders;     /* a bit per rk_rank_order; where two place all ranks alike, the first */
    unsigned offloads;   /* a bit per set of offloads, as rk_strategy_offloads numbers them */
    /* Pinned choices; 0 and false: free. */
    int64_t dp;
    unsigned modules;         /* of selective recompute: this set and no other */
    int64_t recompute_layers; /* of full recompute, of each chunk; 0: all; below 0: any number */
    bool sp;                  /* of recipes, those with sequence parallelism */
    bool no_sp;               /* tensor without sequence parallelism */
    rk_framework framework;
    /* Tried one after the other; none: the framework's sp with the states of the base. */
    rk_plan_recipe recipes[RK_PLAN_RECIPE_MAX];
    int recipe_count;
    double max_memory; /* bytes per accelerator; 0: what the accelerator can use */
    double risk;       /* most risk of running out of memory; 0: all that fits */
    rk_flop_convention convention;
    bool overlaps_stated; /* pp_overlap of the base holds without virtual stages, too */
    /*
     * Everything that is not searched: sequence, precision, states, overlap...  Layers are also
     * laid out with both ends counted as layers, and with shorter ends where nothing else divides,
     * unless the base has a layout of its own.
     */
    rk_strategy base;
    rk_origins origins;          /* where the fields of its strategies come from */
    struct rk_plan_store *store; /* of bounded searches (plan_store.h), or NULL */
} rk_plan_space;

/*
 * The usual space of Megatron-LM: everything free, for the stack's defaults.  With framework any it
 * covers what each framework searches where its recipes do.
 */
rk_plan_space rk_plan_space_defaults(const rk_model *model, const rk_system *system,
                                     int64_t accelerators, int64_t global_batch);

/*
 * Fills the recipes with all frameworks' recipes, each once, with gradients and both moments of so
 * many bytes (0: each framework's own) and the adapters of the base.
 */
void rk_plan_recipes_of_all(const rk_model *model, const rk_state_request *wish,
                            rk_plan_space *space);

typedef struct rk_planned_strategy {
    rk_strategy strategy;
    rk_estimate estimate;
    uint64_t index; /* place in the enumeration; orders equal times */
    double needed;  /* bytes, of the one that needs least: what no other undercuts */
} rk_planned_strategy;

/* Strategies of a space: what a search calls enumerated. */
rk_status rk_plan_count(const rk_model *model, const rk_system *system, const rk_plan_space *space,
                        uint64_t *count, rk_error *err);

typedef struct rk_plan_counts {
    uint64_t enumerated; /* combinations of the space in which every degree divides */
    uint64_t legal;      /* legal for model and framework */
    uint64_t fitting;    /* legal, within memory and risk */
} rk_plan_counts;

/*
 * Fills the `top_n` fastest strategies within memory and risk, best first; *found is their number.
 * `nearest` (may be NULL) gets the legal strategy that needs least memory, whether it fits or not
 * (need of host memory beyond the host's capacity counts too); its index is UINT64_MAX when no
 * strategy is legal at all.  The result does not depend on threads.
 */
rk_status rk_plan_search(const rk_model *model, const rk_system *system, const rk_stack *stack,
                         const rk_plan_space *space, const rk_search_control *control, size_t top_n,
                         rk_planned_strategy *planned, size_t *found, rk_planned_strategy *nearest,
                         rk_plan_counts *counts, rk_error *err);

/*
 * Finds what rk_plan_search returns as `nearest`, in a space in which no strategy is within the
 * risk, and counts none: most are skipped by what all shapes of a schedule need at least.
 * `within_risk`: in any space, but only of strategies that need no more than the risk allows one
 * with some place of tensor parallelism and some sharding; index UINT64_MAX: none is within it.
 */
rk_status rk_plan_find_nearest(const rk_model *model, const rk_system *system,
                               const rk_stack *stack, const rk_plan_space *space,
                               const rk_search_control *control, bool within_risk,
                               rk_planned_strategy *nearest, rk_error *err);

#endif
