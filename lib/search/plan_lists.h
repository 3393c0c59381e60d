/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategies that a plan enumerates: lists of values, cut into units of one (recipe, order, tp,
 * cp, ep, etp).  A combination belongs to the space when its degrees divide what they split: tp the
 * heads, cp the sequence, ep the experts, micro_batch * dp the batch, tp * cp * pp the
 * accelerators, and when the framework splits the layers over pp and vp.
 *
 * Order, outermost first: recipe, rank order, tp, cp, ep, etp, cp_kind, micro_batch, recompute, pp,
 * shape, recompute_layers, sharding, offload.  The place in it is the index of a strategy.
 */
#ifndef RK_SEARCH_PLAN_LISTS_H
#define RK_SEARCH_PLAN_LISTS_H

#include "base/divisors.h"
#include "estimate/stage.h"
#include "search/plan.h"

#define RK_PLAN_RECOMPUTES    24
#define RK_PLAN_LAYER_CHOICES 8 /* checkpointed layers: all, and the eighths of a chunk */
#define RK_PLAN_SHARDINGS     5
#define RK_PLAN_LANES         (RK_PLAN_SHARDINGS * RK_PLAN_OFFLOADS)

typedef struct rk_plan_recompute {
    rk_recompute_kind kind;
    unsigned modules;
    int64_t layers; /* of full recompute, of each chunk, where their number is given; 0: all */
} rk_plan_recompute;

typedef struct rk_plan_sharding {
    rk_sharding kind;
    bool hybrid; /* inside one domain, with replicas between domains */
} rk_plan_sharding;

/*
 * A lane is a sharding and a set of offloads, and where there are few of them, also a recipe of
 * states.  Lanes share everything but the memory of states and the traffic of data parallelism.
 * They ascend in recipe, sharding and offloads.
 */
typedef struct rk_plan_lane {
    const rk_plan_recipe *recipe; /* NULL: its unit's */
    rk_plan_sharding sharding;
    unsigned offloads; /* bits as in rk_plan_space */
    int number;        /* among the lanes with its recipe */
    int traffic;       /* the first lane whose data parallelism sends the same */
} rk_plan_lane;

#define RK_PLAN_CHOICES (1 + RK_PLAN_LAYER_CHOICES) /* as rk_plan_held counts them */

/*
 * What shapes of a schedule and a pipeline degree have in common: by choice of layers, the least
 * that any first rank of theirs holds of each kind of block, and the most chunks of a rank.
 */
typedef struct rk_plan_floor {
    size_t first; /* of these shapes */
    int64_t vp;
    size_t blocks[RK_PLAN_CHOICES]; /* in the pipe's blocks */
} rk_plan_floor;

/* How the layers are placed on `pp` pipeline ranks, and in which order these run. */
typedef struct rk_plan_shape {
    rk_schedule_kind schedule;
    int64_t vp;
    bool pp_overlap;
    int64_t first_stage_layers, last_stage_layers;
    bool count_embedding, count_head;
    const int16_t *layout; /* the base's, or NULL */
    int layout_count;
    int64_t layer_choices[RK_PLAN_LAYER_CHOICES]; /* of recompute_layers */
    int layer_choice_count;
    size_t base_first;             /* choices of layers of the pipe's shapes before it */
    size_t rank_first;             /* in lists->ranks: for each rank the first that is like it */
    size_t kind_first, kind_count; /* in lists->kinds: these first ranks, ascending */
    size_t held_first;             /* in lists->held: the blocks of each kind, see rk_plan_held */
    size_t piece_first;            /* in lists->piece_of: of each chunk, see rk_plan_piece */
    size_t floor;                  /* in lists->floors */
    int chunks;                    /* of a rank */
} rk_plan_shape;

/* A pipeline degree with its shapes. */
typedef struct rk_plan_pipe {
    int64_t pp;
    size_t shape_first, shape_count;
    size_t base_first, base_count;   /* choices of layers of all its shapes, before it and here */
    size_t block_first, block_count; /* in lists->blocks: what any rank of its shapes holds */
    size_t piece_first, piece_count; /* in lists->pieces: what any chunk of its shapes holds */
    uint64_t legal_lanes[RK_PLAN_RECOMPUTES]; /* a bit per lane that the framework can run */
} rk_plan_pipe;

typedef struct rk_plan_unit {
    const rk_plan_recipe *recipe;
    rk_rank_order order;
    int64_t tp, cp, ep, etp;
    uint64_t first, count; /* of its strategies */
} rk_plan_unit;

/* A strategy but for its lane. */
typedef struct rk_plan_base {
    rk_strategy strategy; /* sharding and offload of any lane */
    const rk_plan_unit *unit;
    const rk_plan_shape *shape;
    size_t choice;  /* of checkpointed layers, as rk_plan_held */
    uint64_t index; /* of its first lane with the unit's recipe */
} rk_plan_base;

typedef struct rk_plan_lists {
    const rk_model *model;
    const rk_system *system;
    const rk_plan_space *space;
    rk_int_list tp, cp, pp, ep, etp, micro_batch;
    rk_plan_recipe recipes[RK_PLAN_RECIPE_MAX];
    rk_rank_order orders[RK_ORDER_COUNT];
    rk_cp_kind cp_kinds[3];
    rk_plan_recompute recomputes[RK_PLAN_RECOMPUTES];
    rk_plan_sharding shardings[RK_PLAN_SHARDINGS]; /* hybrid last */
    unsigned offloads[RK_PLAN_OFFLOADS];           /* bits as in rk_plan_space */
    int recipe_count, order_count, cp_kind_count, recompute_count, sharding_count, offload_count;
    rk_plan_lane lanes[RK_PLAN_LANES];
    int lane_count;
    uint64_t hybrid_lanes;   /* a bit per lane */
    rk_plan_pipe *pipes;     /* owned */
    rk_plan_shape *shapes;   /* owned */
    rk_plan_unit *units;     /* owned */
    rk_stage_blocks *blocks; /* owned */
    rk_stage_blocks *pieces; /* owned */
    rk_plan_floor *floors;   /* owned */
    rk_int_list ranks, kinds, held, piece_of;
    size_t pipe_count, shape_count, unit_count, block_count, piece_count, floor_count;
    size_t base_count; /* choices of layers of all shapes, of each at least 1 */
    uint64_t total;
} rk_plan_lists;

/* Checks the space and lists it; released with rk_plan_lists_clear, also after a failure. */
rk_status rk_plan_lists_init(const rk_model *model, const rk_system *system,
                             const rk_plan_space *space, rk_plan_lists *lists, rk_error *err);

/* The same without what ranks are and hold: enough to count strategies. */
rk_status rk_plan_lists_outline(const rk_model *model, const rk_system *system,
                                const rk_plan_space *space, rk_plan_lists *lists, rk_error *err);
void rk_plan_lists_clear(rk_plan_lists *lists);

/* How many lanes there are: adds the bits of each pair, of each four, of each eight, and of all. */
static inline uint64_t rk_count_lanes(uint64_t lanes)
{
    lanes -= lanes >> 1 & UINT64_C(0x5555555555555555);
    lanes = (lanes & UINT64_C(0x3333333333333333)) + (lanes >> 2 & UINT64_C(0x3333333333333333));
    lanes = (lanes + (lanes >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return lanes * UINT64_C(0x0101010101010101) >> 56;
}

/* The lowest of lanes, of which there is one at least. */
static inline int rk_first_lane(uint64_t lanes)
{
    int first = 0;
    while (!(lanes >> first & 1)) {
        first++;
    }
    return first;
}

/* Whether a value is one of the choices; without choices all are. */
static inline bool rk_plan_allows(const rk_choices *choices, int64_t value)
{
    for (int i = 0; i < choices->count; i++) {
        if (choices->values[i] == value) {
            return true;
        }
    }
    return choices->count == 0;
}

/*
 * A step of the above: fills pipes, shapes and, without `outline`, ranks and kinds from the lists
 * of values.
 */
rk_status rk_plan_list_pipes(rk_plan_lists *lists, bool outline, rk_error *err);

/* Domains over which the ranks with the same parameters are spread. */
int64_t rk_plan_domains(const rk_plan_lists *lists, const rk_strategy *strategy);

/*
 * The blocks of the pipe that a kind of rank of a shape holds: `choice` is 0 unless layers are
 * checkpointed whole, and then 1 and the place in layer_choices.
 */
static inline size_t rk_plan_held(const rk_plan_lists *lists, const rk_plan_shape *shape,
                                  size_t choice, size_t kind)
{
    return (size_t)lists->held.items[shape->held_first + choice * shape->kind_count + kind];
}

/* Likewise the blocks of the pipe that a chunk of a kind of rank holds. */
static inline size_t rk_plan_piece(const rk_plan_lists *lists, const rk_plan_shape *shape,
                                   size_t choice, size_t kind, int chunk)
{
    const size_t at = (choice * shape->kind_count + kind) * (size_t)shape->chunks + (size_t)chunk;
    return (size_t)lists->piece_of.items[shape->piece_first + at];
}

/* Give a strategy what a unit, a shape, a recompute or a lane says; degrees come before the lane.
 */
void rk_plan_set_unit(const rk_plan_unit *unit, rk_strategy *strategy);
void rk_plan_set_shape(const rk_plan_shape *shape, rk_strategy *strategy);
void rk_plan_set_recompute(const rk_plan_recompute *recompute, rk_strategy *strategy);
void rk_plan_set_lane(const rk_plan_lists *lists, int lane, rk_strategy *strategy);

/* The lanes with a recipe, and the first `count` with every recipe, a bit each. */
uint64_t rk_plan_recipe_lanes(const rk_plan_lists *lists, const rk_plan_recipe *recipe);
uint64_t rk_plan_first_lanes(const rk_plan_lists *lists, int count);

/* The unit that differs from another in its recipe alone; NULL: there is none. */
const rk_plan_unit *rk_plan_unit_with(const rk_plan_lists *lists, const rk_plan_unit *unit,
                                      const rk_plan_recipe *recipe);

/* Context parallelism of one rank has no kinds. */
static inline int rk_plan_cp_kinds(const rk_plan_lists *lists, int64_t cp)
{
    return cp > 1 ? lists->cp_kind_count : 1;
}

/* What goes with a unit and a pipeline degree, whatever the micro-batch. */
typedef struct rk_plan_degree {
    int64_t dp;      /* 0: outside the space, or none that divides the batch */
    int64_t samples; /* of a data-parallel rank in a step */
    int lanes;       /* of the unit's recipe, its first; others are the same as one of these */
} rk_plan_degree;

rk_plan_degree rk_plan_degree_of(const rk_plan_lists *lists, const rk_plan_unit *unit, int64_t pp);

/* The data-parallel degree with a micro-batch; 0: it does not divide the samples. */
static inline int64_t rk_plan_data_parallel(const rk_plan_degree *degree, int64_t micro_batch)
{
    return degree->samples % micro_batch == 0 ? degree->dp : 0;
}

#endif
