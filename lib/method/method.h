/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method of predicting what a strategy costs.  What plans, explains, designs and sweeps is
 * written once against this interface, which has two instances: the Calculon method, number for
 * number as published, and the reckon model.
 */
#ifndef RK_METHOD_METHOD_H
#define RK_METHOD_METHOD_H

#include "io/json_write.h"
#include "io/value.h"
#include "method/numbers.h"
#include "report/describe.h"
#include "search/plan.h"

typedef struct rk_method rk_method;

/*
 * A model on a system, and the strategies to choose from.  Copies are shallow: what the documents
 * point to belongs to whoever has loaded them.
 */
typedef struct rk_problem {
    const rk_method *method; /* says which member of the union is in use */
    union {
        struct {
            rk_calculon_app app;
            rk_calculon_sys sys;
            rk_calculon_space space;
        } calculon;
        struct {
            rk_model model;
            rk_system system;
            rk_stack stack;
            rk_plan_space space;
        } reckon;
    };
} rk_problem;

/* A strategy and what it comes to. */
typedef struct rk_candidate {
    bool fits;
    double step;       /* s */
    double rate;       /* sequences/s */
    double efficiency; /* of all FLOPs, see rk_method.efficiency_name */
    uint64_t index;    /* place in the enumeration of the space; orders equal times */
    union {
        rk_calculon_exe exe; /* by the Calculon method */
        struct {             /* by the reckon model */
            rk_strategy strategy;
            rk_estimate estimate;
        };
    };
} rk_candidate;

/* The sizes that shapes of a model differ in. */
typedef struct rk_model_sizes {
    int64_t blocks, heads, head_size;
    int64_t hidden, feedforward, seq; /* feedforward: of an expert where the last layer has some */
    double parameters;
} rk_model_sizes;

/* A column for a parallel degree. */
typedef struct rk_degree {
    const char *key;   /* "tp", "tensor_par" */
    const char *label; /* "TP" */
    bool basic;        /* one of tensor, pipeline and data parallelism */
} rk_degree;

#define RK_DEGREE_MAX 5

struct rk_method {
    const char *name;            /* "calculon", "reckon" */
    const char *efficiency_key;  /* in documents: "efficiency", "mfu" */
    const char *efficiency_name; /* for people: "efficiency", "MFU" */
    const char *efficiency_short;
    int64_t most_blocks; /* of a model */
    rk_degree degrees[RK_DEGREE_MAX];
    size_t degree_count;

    /* Strategies of the space. */
    rk_status (*count)(const rk_problem *problem, uint64_t *strategies, rk_error *err);

    /*
     * Finds the `top` fastest strategies that fit, best first, without evaluating what bounds
     * settle.  By the reckon model with closed forms of schedules.
     */
    rk_status (*bound)(const rk_problem *problem, const rk_search_control *control, size_t top,
                       rk_candidate *candidates, size_t *found, rk_bounded_counts *counts,
                       rk_error *err);

    /*
     * Evaluates the strategy of a candidate and fills the rest; what does not fit gets no times by
     * the Calculon method.  By the reckon model the schedule is played.
     */
    rk_status (*evaluate)(const rk_problem *problem, rk_candidate *candidate, rk_error *err);

    /* ---- the problem, changed ---- */

    /* The numbers of the system.  Returns how many. */
    size_t (*numbers)(const rk_problem *problem, rk_number out[RK_NUMBER_MAX]);
    void (*set_number)(rk_problem *problem, const rk_number *number, double value);

    /* The accelerators to train on. */
    int64_t (*accelerators)(const rk_problem *problem);
    void (*set_accelerators)(rk_problem *problem, int64_t accelerators);

    /* Refuses a system that cannot be: tiers hold whole domains, and all accelerators. */
    rk_status (*check)(const rk_problem *problem, rk_error *err);

    /*
     * The sizes of the model with other blocks and heads.  `feedforward`: ratio to the hidden size,
     * 0: as the model has it.  False when there is none: heads that do not divide by those of keys,
     * widths that are not whole.
     */
    bool (*shape)(const rk_problem *problem, int64_t blocks, int64_t heads, int64_t head_size,
                  double feedforward, rk_model_sizes *sizes);

    /* Gives the model sizes that `shape` has made with the same ratio. */
    void (*reshape)(rk_problem *problem, const rk_model_sizes *sizes, double feedforward);

    /* ---- a strategy in words ---- */

    /* What is different in b: "TP 8 (was 4), DP 2 (was 4)"; "" when they are equal.  Returns out.
     */
    const char *(*changes)(const rk_candidate *a, const rk_candidate *b, char out[RK_WORDS_SIZE]);

    /* The member "strategy". */
    void (*write_json)(rk_json_writer *writer, const rk_candidate *candidate);

    /* The values of `degrees`. */
    void (*degree_values)(const rk_candidate *candidate, int64_t values[RK_DEGREE_MAX]);
};

extern const rk_method rk_method_calculon, rk_method_reckon;

/* Adds the counts of a bounded search to a sum. */
void rk_bounded_counts_add(rk_bounded_counts *sum, const rk_bounded_counts *counts);

#endif
