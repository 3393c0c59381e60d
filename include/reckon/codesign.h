/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Co-design: the value of each hardware number, the cheapest machine that is fast enough, the model
 * shape that trains best.
 *
 *     rk_explanation *explanation;
 *     rk_number_worth worth;
 *     rk_status status = rk_explain_system(setup, &space, 0.1, NULL, &explanation, &err);
 *     for (size_t i = 0; !status && rk_explanation_at(explanation, i, &worth, sizeof(worth)); i++)
 * { printf("10 %% better %s: %+.1f %%\n", worth.name, 100 * worth.gain);
 *     }
 *     rk_explanation_free(explanation);
 *
 * Results are identical to `reckon explain`, `design` and `shape` with the reckon model; see
 * docs/codesign.md.  For the Calculon methodology, use jobs (reckon/command.h).
 *
 * In all three, `space` is as for rk_plan_strategies, with accelerators and global batch; `control`
 * may be NULL and is used as there; results refer to the setup, which must outlive them, and are
 * NULL after a failure.  Errors: RK_ERR_INVALID for options, RK_ERR_STOPPED, RK_ERR_MEMORY.
 */
#ifndef RECKON_CODESIGN_H
#define RECKON_CODESIGN_H

#include "reckon/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what each number is worth --------------------------------------------------------------- */

/* The best strategy on a machine, with each hardware number changed in turn. */
typedef struct rk_explanation rk_explanation;

/*
 * Finds the best strategy, then searches again with each hardware number improved by `change`, one
 * at a time (0.1: 10 %; from -0.9 to 9; negative: worse); the domain of the fastest network
 * doubles. Free *explanation with rk_explanation_free.
 */
RK_API rk_status rk_explain_system(const rk_setup *setup, const rk_space *space, double change,
                                   const rk_job_control *control, rk_explanation **explanation,
                                   rk_error *err);

/* NULL is legal. */
RK_API void rk_explanation_free(rk_explanation *explanation);

/* The unchanged system, and the size of the searches. */
typedef struct rk_explanation_facts {
    bool found;             /* a strategy fits; otherwise there is nothing to explain */
    double change;          /* as requested */
    double step_s;          /* best step time on the unchanged system */
    double sequences_per_s; /* the same in sequences/s */
    int64_t numbers;        /* that were changed */
    uint64_t strategies;    /* strategies of all searches, ruled out by bounds or evaluated */
    uint64_t evaluated;     /* strategies that were evaluated */
} rk_explanation_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_explanation_facts). */
RK_API void rk_explanation_describe(const rk_explanation *explanation, rk_explanation_facts *facts,
                                    size_t size);

/* The value of one hardware number. */
typedef struct rk_number_worth {
    const char *key;   /* in documents: "tier1_GBps"; lives as long as the explanation, like
                          the next */
    const char *name;  /* for people: "NVLink4 bandwidth" */
    const char *unit;  /* of the next two; static */
    double from;       /* current value */
    double to;         /* changed value */
    double old_step_s; /* step time of the strategy that was best before; 0: it no longer runs */
    bool runs;         /* some strategy fits; otherwise the rest is 0 */
    double step_s;     /* of the best strategy with the change */
    double sequences_per_s; /* of the best strategy */
    double gain;            /* relative gain in throughput */
} rk_number_worth;

/*
 * Fills the first `size` bytes for number `index`, the largest gain first.  Returns false, and
 * fills nothing, past the last.
 */
RK_API bool rk_explanation_at(const rk_explanation *explanation, size_t index,
                              rk_number_worth *worth, size_t size);

/*
 * The best strategy with number `index` changed; `text` (may be NULL) gets what is different in it:
 * "TP 8 (was 4)", cut at `text_size` bytes.  Returns false past the last, and where none fits.
 */
RK_API bool rk_explanation_strategy(const rk_explanation *explanation, size_t index,
                                    rk_strategy *strategy, size_t size, char *text,
                                    size_t text_size);

/* ---- the cheapest machine -------------------------------------------------------------------- */

/* All machines of a grid of priced components. */
typedef struct rk_machines rk_machines;

/* Targets for a machine.  With only the first two set: the Pareto front of cost and speed. */
typedef struct rk_machine_target {
    size_t size;         /* sizeof(rk_machine_target) */
    const char *prices;  /* document of hardware numbers to vary, with prices: a name or file */
    double step_s;       /* maximum step time; 0: any */
    double tokens_per_s; /* least rate */
    double days;         /* maximum time to train on `tokens` */
    double tokens;       /* to train on; 0: not known */
} rk_machine_target;

/*
 * Searches for the best strategy on every machine of the price list.  Where they have an axis of
 * processors, space->accelerators is 0.  Free *machines with rk_machines_free.
 */
RK_API rk_status rk_design_machines(const rk_setup *setup, const rk_space *space,
                                    const rk_machine_target *target, const rk_job_control *control,
                                    rk_machines **machines, rk_error *err);

/* NULL is legal. */
RK_API void rk_machines_free(rk_machines *machines);

/* A machine with its best strategy. */
typedef struct rk_machine_facts {
    int64_t accelerators; /* number in the machine */
    double cost_of_one;   /* price per accelerator, including its share of the system */
    double cost;          /* total price, in the currency of the prices */
    bool runs;            /* some strategy fits; otherwise the rest is 0 */
    bool on_front;     /* on the Pareto front: no other is both at least as cheap and as fast, and
                          better in one */
    bool meets_target; /* it is fast enough */
    bool cheapest;     /* of those that meet a target */
    double step_s;     /* of the batch */
    double sequences_per_s; /* by its best strategy */
    double tokens_per_s;    /* of the same strategy */
    double mfu;             /* of the same strategy */
    double days;            /* to train on the tokens of the target; 0: unknown */
    double run_cost;        /* cost x days / depreciation period; 0: unknown */
} rk_machine_facts;

/*
 * Fills the first `size` bytes for machine `index`, cheapest first, of equal prices the fastest.
 * Returns false, and fills nothing, past the last.
 */
RK_API bool rk_machines_at(const rk_machines *machines, size_t index, rk_machine_facts *facts,
                           size_t size);

/*
 * Number `axis` of machine `index`: its key in documents, which lives as long as the machines, and
 * its value.  Returns false past the last of either.
 */
RK_API bool rk_machines_number(const rk_machines *machines, size_t index, size_t axis,
                               const char **key, double *value);

/* The best strategy of machine `index`.  Returns false past the last, and where none fits. */
RK_API bool rk_machines_strategy(const rk_machines *machines, size_t index, rk_strategy *strategy,
                                 size_t size);

/* ---- the shape of a model -------------------------------------------------------------------- */

/* Models of similar size that differ in blocks, heads and widths. */
typedef struct rk_shapes rk_shapes;

/* Shapes to try.  All zero except `size`: shapes close to the model. */
typedef struct rk_shape_choice {
    size_t size;              /* sizeof(rk_shape_choice) */
    double parameters;        /* parameters of a shape; 0: as many as the model has */
    double tolerance_percent; /* tolerance in percent; 0: 2 */
    rk_counts blocks;         /* to try; count 0: all within the aspect ratio */
    rk_counts heads;          /* to try; count 0: all multiples of head_multiple */
    rk_counts head_sizes;     /* to try; count 0: the model's */
    int64_t head_multiple;    /* number of heads must be a multiple of this; 0: 8 */
    double feedforward;       /* width over hidden size; 0: the model's */
    double aspect_min;        /* least hidden size over blocks; 0: 64 */
    double aspect_max;        /* and the most; 0: 256 */
} rk_shape_choice;

/*
 * Searches for the best strategy of every shape; shapes differ from the setup's model in sizes
 * only. `choice` may be NULL.  Free *shapes with rk_shapes_free.
 */
RK_API rk_status rk_shape_models(const rk_setup *setup, const rk_space *space,
                                 const rk_shape_choice *choice, const rk_job_control *control,
                                 rk_shapes **shapes, rk_error *err);

/* NULL is legal. */
RK_API void rk_shapes_free(rk_shapes *shapes);

/* A shape with its best strategy. */
typedef struct rk_shape_facts {
    int64_t blocks;         /* layers */
    int64_t hidden;         /* heads times head_size */
    int64_t feedforward;    /* width; of an expert where the last layer has some */
    int64_t heads;          /* of queries */
    int64_t head_size;      /* of each */
    double parameters;      /* of the whole model */
    uint64_t mappings;      /* strategies, whether they fit or not */
    bool runs;              /* some strategy fits; otherwise the rest is 0 */
    double mfu;             /* by the best strategy */
    double step_s;          /* by the best strategy */
    double sequences_per_s; /* by the best strategy */
    double tokens_per_s;    /* by the best strategy */
} rk_shape_facts;

/*
 * Fills the first `size` bytes for shape `index`, the most efficient first.  Returns false, and
 * fills nothing, past the last.
 */
RK_API bool rk_shapes_at(const rk_shapes *shapes, size_t index, rk_shape_facts *facts, size_t size);

/* The best strategy of shape `index`.  Returns false past the last, and where none fits. */
RK_API bool rk_shapes_strategy(const rk_shapes *shapes, size_t index, rk_strategy *strategy,
                               size_t size);

#ifdef __cplusplus
}
#endif

#endif
