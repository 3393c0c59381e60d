/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the bounded search by the reckon model (bounded_plan.c). */
#ifndef RK_SEARCH_BOUNDED_STATE_H
#define RK_SEARCH_BOUNDED_STATE_H

#include "base/extremes.h"
#include "base/top.h"
#include "estimate/lower_bounds.h"
#include "search/bounded_plan.h"
#include "search/plan_clock.h"
#include "search/plan_fit.h"
#include "search/plan_lists.h"
#include "search/plan_store.h"

#include <math.h>

/* Strategies that share costs of blocks but for recompute. */
struct batch {
    double bound;   /* s of a step; infinite: no strategy can fit */
    uint64_t first; /* index of its first strategy */
    const rk_plan_unit *unit;
    int64_t micro_batch;
    uint32_t count; /* of strategies, with those it leads; 0 once none is legal or can fit */
    uint16_t led;   /* recipes with which the same strategies take as long or longer, a bit each */
    int8_t cp_kind;
    bool fast; /* had a strategy that entered a top list: comes first when parts are searched */
};

/* Batches that differ in ep and etp only, so that only experts cost another time. */
struct group {
    double bound;      /* s of a step; infinite: no strategy can fit */
    size_t first, end; /* batches */
    size_t legal;      /* the first that has a legal strategy */
    size_t number;     /* place in group_bounds */
    bool tight;        /* its bound has what experts take */
    bool open;         /* its batches are bounded one by one */
    double seconds;    /* 0, or of a microbatch on all ranks of a pipeline, to keep for others */
    bool rough;        /* bounded by the work of the mean rank, until it is opened */
    bool loose;        /* bounds of it and its batches hold for all systems, see rk_loosen_bounds */
};

/* Strategies of a batch with one shape and, in turn, each recompute. */
struct node {
    double bound; /* s of a step */
    const rk_plan_pipe *pipe;
    const rk_plan_shape *shape;
    int64_t dp, microbatches;
    int recompute;
    int lane_count;   /* of its unit's recipe */
    uint64_t lanes;   /* of that and of those that it leads */
    unsigned parts;   /* that may have it, a bit each */
    uint64_t fitting; /* lanes of these parts of which the states fit, but for slow ones */
    uint64_t slow;    /* lanes that take too long for all of these parts */
};

/* Lanes that may fit with a floor and a choice of layers. */
struct known_floor {
    uint64_t visit;                  /* of a table, in which the rest was filled */
    uint64_t fitting[RK_PLAN_PARTS]; /* by part */
    uint64_t any;                    /* of these */
};

/* The part of a floor that is the same in all recomputations of a batch. */
struct floor_base {
    uint64_t settling;    /* of a batch, in which the rest was filled */
    uint64_t filled;      /* lanes, a bit each, of worker.lane_floors */
    double in_flight;     /* microbatches, at least */
    rk_strategy strategy; /* without recomputation, of the first of its shapes that was asked for */
    const rk_plan_pipe *pipe;
    unsigned parts; /* of nodes that have it */
    int choices;    /* of layers, of these nodes at most */
};

/*
 * A floor of which no lane among `lanes` is left in a visit of a table, for shapes with at most so
 * many choices of layers: shapes of a schedule differ in these.
 */
struct spent_floor {
    uint64_t visit, lanes;
    int choices;
    bool by_time; /* all take too long; otherwise none fits */
};

/* Scratch and results of one thread. */
struct worker {
    /* By part. */
    rk_top top[RK_PLAN_PARTS];          /* of the batch at hand */
    rk_top found[RK_PLAN_PARTS];        /* in the batches before it in this round */
    double most_seconds[RK_PLAN_PARTS]; /* of a step that can still enter, when the round began */
    double limit[RK_PLAN_PARTS];        /* the same now */
    double shortest, longest;           /* of these */
    rk_bounded_counts counts;
    rk_cost_table table, selective; /* without recompute; with the one at hand */
    rk_plan_clock clock;
    rk_plan_fit fit;
    rk_strategy costed; /* for which the table was filled */
    bool has_whole, has_gathering;
    rk_stage whole;            /* by the table */
    rk_gathering gathering;    /* likewise */
    const struct batch *large; /* the last whose loss does not fit; or NULL */
    rk_plan_prices prices;     /* owned, or the store's */
    double *least;             /* owned; by shape: s of a step in the batch at hand */
    uint64_t *first;           /* owned; by pipe: index of its first strategy with the recompute */
    /* At the pipeline degree at hand, by the copies of a stage and by part: the lanes of which the
     * states fit. */
    uint64_t fitting[2][RK_PLAN_PARTS];
    uint64_t slow[RK_PLAN_PARTS]; /* by part: lanes that take too long there */
    struct known_floor *floors;   /* owned; by floor and choice of layers */
    struct spent_floor *spent;    /* owned; by floor */
    struct floor_base *bases;     /* owned; by floor */
    size_t *open_floors;          /* owned; that nodes have */
    size_t open_count;
    rk_rank_floor *lane_floors; /* owned; by floor and lane */
    uint64_t settling;          /* of a batch */
    /* Bytes that parts let strategies of the batch need, by sharding and at most. */
    double bytes[RK_SHARD_ALL + 1][RK_PLAN_PARTS], most_bytes[RK_PLAN_PARTS];
    uint64_t others;    /* lanes of the batch at hand with recipes that it leads, which may
                           enter a top list */
    uint64_t own;       /* lanes of the recipe of the batch at hand */
    struct node *nodes; /* owned; of a batch */
    bool *listed;       /* owned; by pipe: some of these have it */
    /* Modules that are recomputed with which all of these take too long, the last few. */
    unsigned slow_modules[RK_PLAN_RECOMPUTES];
    int slow_count;
    uint8_t *nowhere; /* owned; by unit: kinds of cp that no pipeline makes legal, a bit each */
    rk_status status;
    rk_error error;
};

struct rk_plan_bounds {
    const rk_model *model;
    rk_system system; /* with the memory that the space allows */
    rk_risk_limits limits;
    double most_usable; /* bytes of the system that it was opened with, for which bounds hold */
    const rk_stack *stack;
    const rk_plan_space *space;
    rk_plan_lists lists;
    rk_stage_blocks whole; /* of the model */
    size_t top_n;
    struct batch *batches; /* owned */
    size_t batch_count, batch_room;
    double *pipe_bounds;  /* owned; by batch of an open group, and pipe: s of a step; infinite: none
                             can fit */
    struct group *groups; /* owned: open ones, then the others by their bounds */
    double *group_bounds; /* owned; by group and pipe, as pipe_bounds */
    size_t group_count, group_room, open_count;
    rk_plan_degree *degrees; /* owned; by unit and pipe */
    struct batch **queue;    /* owned: the batches of open groups: settled ones, others by bound */
    size_t queue_count;
    size_t done;               /* batches of the queue that are settled */
    double reach, limit;       /* see rk_open_group, s */
    double fixed, growth;      /* of a step: s, and the share of the rest that is added to it */
    double faster;             /* see rk_plan_bounds_turn; 0 before */
    rk_top top[RK_PLAN_PARTS]; /* of all rounds */
    struct worker *workers;
    int threads;
    const rk_search_control *control;
    uint64_t settled;          /* strategies, in the rounds before */
    const rk_plan_part *parts; /* that are searched, at most RK_PLAN_PARTS */
    int part_count;
    unsigned interleaving;              /* those that have shapes with vp > 1, a bit each */
    bool counts;                        /* everything is searched, and counted */
    bool tallies;                       /* what settles strategies is counted */
    uint64_t part_lanes[RK_PLAN_PARTS]; /* a bit per lane */
    uint64_t lanes;                     /* of all parts together */
};

/* Where the bounds of a batch are in pipe_bounds. */
static inline double *rk_batch_bounds(const rk_plan_bounds *s, const struct batch *b)
{
    return &s->pipe_bounds[(size_t)(b - s->batches) * s->lists.pipe_count];
}

/* Data-parallel degree that goes with a pipeline degree in a batch; 0 if outside the space. */
int64_t rk_batch_data_parallel(const rk_plan_bounds *s, const struct batch *b,
                               const rk_plan_pipe *pipe);

/* Lanes of a batch with a pipeline degree, of its unit's recipe. */
int rk_batch_lane_count(const rk_plan_bounds *s, const struct batch *b, const rk_plan_pipe *pipe);

/* The first `count` lanes of a batch with its unit's recipe and each of those that it leads. */
uint64_t rk_batch_lanes(const rk_plan_bounds *s, const struct batch *b, int count);

/* Choices of recomputed layers that a shape has with a recompute. */
int rk_node_choices(const rk_plan_bounds *s, int recompute, const rk_plan_shape *shape);

/* Strategies of a node, and of a batch, with the recipe of its unit. */
uint64_t rk_node_size(const rk_plan_bounds *s, const struct node *node);
uint64_t rk_recipe_size(const struct batch *b);

/* Whether units differ in ep and etp only. */
bool rk_share_costs(const rk_plan_unit *a, const rk_plan_unit *b);

/* Lists the batches and their groups, but for batches that others lead. */
rk_status rk_list_batches(rk_plan_bounds *s, rk_error *err);

/* The batch with a recipe that another leads. */
struct batch rk_led_batch(const rk_plan_bounds *s, const struct batch *leader, int recipe);

/* ---- bounds -------------------------------------------------------------------------------- */

/* Completes the strategy of a batch, except for recomputed layers and lane. */
rk_strategy rk_node_strategy(const rk_plan_bounds *s, const struct batch *b,
                             const struct node *node);

/* Lanes of the parts that the framework runs with a pipeline degree and a recompute. */
uint64_t rk_node_lanes(const rk_plan_bounds *s, const struct node *node);

/* The legal ones of `lanes`. */
uint64_t rk_legal_lanes(const rk_plan_bounds *s, rk_strategy *strategy, uint64_t lanes);

/* Finds a legal strategy of a batch; its node need not be promising. */
bool rk_find_legal(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                   rk_strategy *legal);

/*
 * Fills the costs of blocks without recompute; `legal` is a legal strategy of the batch.  `whole`:
 * also of layers that are checkpointed whole.
 */
void rk_fill_table(const rk_plan_bounds *s, struct worker *w, const rk_strategy *legal, bool whole);

/* Turns to the costs with recompute, once those with and without whole layers are filled. */
void rk_turn_table(struct worker *w, const rk_plan_recompute *recompute);

/* Of lanes of a base, those that its floor lets fit; NULL: not known yet. */
static inline const struct known_floor *rk_known_floor(const struct worker *w,
                                                       const rk_plan_base *base)
{
    const struct known_floor *known =
        &w->floors[base->shape->floor * RK_PLAN_CHOICES + base->choice];
    return known->visit == w->fit.visit ? known : NULL;
}

/* Turns floors to a batch, with the table at hand, and fills the bytes that parts allow. */
void rk_know_limits(const rk_plan_bounds *s, struct worker *w, const struct batch *b);

/* Lists the floors that nodes have. */
void rk_open_floors(const rk_plan_bounds *s, struct worker *w, const struct batch *b, size_t count);

/*
 * Marks the floors as spent of which activations alone fit into none of `parts`, with the
 * recomputation at hand; `full`: with any choice of layers.
 */
void rk_close_floors(const rk_plan_bounds *s, struct worker *w, bool full, unsigned parts);

/* Whether activations of so many bytes fit into none of `parts`, with any lane. */
bool rk_activations_exceed(const rk_plan_bounds *s, const struct worker *w, unsigned parts,
                           double bytes);

/* Fills it for `parts`; no later node with the floor may have another. */
const struct known_floor *rk_floor_lanes(const rk_plan_bounds *s, struct worker *w,
                                         const struct batch *b, const struct node *node,
                                         size_t choice, uint64_t lanes, unsigned parts);

/* The longest step that can still enter the top list of any of the parts, s. */
static inline double rk_longest_of(const struct worker *w, unsigned parts)
{
    double longest = -(double)INFINITY;
    for (int i = 0; parts >> i; i++) {
        longest = parts >> i & 1 ? rk_max(longest, w->limit[i]) : longest;
    }
    return longest;
}

/* Those of the parts that steps of so many seconds can still enter. */
static inline unsigned rk_parts_in_time(const struct worker *w, unsigned parts, double seconds)
{
    unsigned in_time = seconds > w->longest ? 0 : parts;
    for (int i = 0; seconds > w->shortest && in_time >> i; i++) {
        in_time &= ~((unsigned)(seconds > w->limit[i]) << i);
    }
    return in_time;
}

/*
 * Seconds of a step with all microbatches of a rank of a node and what it waits at least, of the
 * pipe that `fit` turned to.
 */
double rk_base_work(const rk_plan_bounds *s, struct worker *w, const struct node *node,
                    size_t choice);

/* A step in which the mean rank works so many `seconds` of a microbatch on all ranks together. */
double rk_mean_work(const rk_plan_bounds *s, const struct batch *b, int64_t dp, int64_t pp,
                    double seconds);

/* Whether the schedule of a node runs with its number of microbatches. */
bool rk_schedule_runs(const struct node *node);

/*
 * Bounds all shapes of a node's pipeline degree: w->least, infinite where the states of no lane
 * fit and for schedules that do not run.  The table is without recompute.  Returns the smallest
 * bound.  For some parts, states have to fit into one of them, w->fitting is filled, and bounds
 * above the longest step of those where they do may be looser than necessary.  Without parts these
 * are whatever memory they allow, and bounds above `limit` or another one may be looser.
 */
double rk_bound_shapes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                       struct node node, double limit, unsigned parts);

/* Bounds all batches of a group together, a batch alone by its work. */
void rk_bound_group(const rk_plan_bounds *s, struct worker *w, struct group *group);

/*
 * Takes prices from the store, or makes new ones (false: not enough memory), and gives them back or
 * frees them.
 */
bool rk_get_prices(const rk_plan_bounds *s, struct worker *w);
void rk_put_prices(const rk_plan_bounds *s, struct worker *w);

/* Keeps the times of groups for searches that come after this one. */
rk_status rk_store_groups(const rk_plan_bounds *s, rk_error *err);

/* The same of the step that was found. */
void rk_store_pace(const rk_plan_bounds *s, double step);

/*
 * Bounds a group with its experts, and its batches one by one if that is within `reach`.  Bounds
 * above `limit` may be loose.
 */
void rk_open_group(const rk_plan_bounds *s, struct worker *w, struct group *group, double reach,
                   double limit);

/* Lowers bounds that hold for the last system alone until they hold for all, forgets prices. */
void rk_loosen_bounds(rk_plan_bounds *s);

/* ---- settling ------------------------------------------------------------------------------ */

/* Longest step that can still enter a top list, s. */
static inline double rk_limit_of(const rk_top *top)
{
    return -rk_top_floor(top) * (1 + RK_LOWER_BOUND_SLACK);
}

/*
 * Settles the strategies of a batch and of those that it leads, and adds the fastest to the top
 * lists of the worker, which are empty.  Returns whether there are any.
 */
bool rk_settle_batch(const rk_plan_bounds *s, struct worker *w, const struct batch *b);

/* ---- parts --------------------------------------------------------------------------------- */

/* The parts, a bit each, that have strategies of a batch, of a pipeline degree, and so on. */
unsigned rk_parts_of_batch(const rk_plan_bounds *s, const struct batch *b);
unsigned rk_parts_of_pipe(const rk_plan_bounds *s, const rk_plan_pipe *pipe);
unsigned rk_parts_of_recompute(const rk_plan_bounds *s, const rk_plan_recompute *recompute);

/* Bytes that a rank of a strategy may need in a part; `usual`: within the risk. */
static inline double rk_part_bytes(const rk_plan_bounds *s, double usual, int part)
{
    const rk_plan_part *p = &s->parts[part];
    const double limit = p->riskier ? s->limits.usable : usual;
    return p->max_memory > 0 ? rk_min(limit, p->max_memory) : limit;
}

/*
 * Of lanes that fit, those that belong to each of `parts` and fit into its memory.  Returns the
 * parts that have any.
 */
unsigned rk_part_lanes(const rk_plan_bounds *s, struct worker *w, const rk_strategy *strategy,
                       uint64_t fitting, unsigned parts, uint64_t lanes[RK_PLAN_PARTS]);

/* Turns to parts, bounds groups and open batches by their strategies in these, and sorts them. */
void rk_bound_parts(rk_plan_bounds *s, const rk_plan_part *parts, int count);

/*
 * Moves the batches of groups that have been opened to the queue, and sorts what waits there and
 * the other groups.
 */
void rk_queue_groups(rk_plan_bounds *s);

#endif
