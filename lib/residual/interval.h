/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far an estimate may be off: the 10th to 90th percentile of measured over predicted step time
 * among comparable runs, of which each counts as far above as below the estimate.  Whether runs of
 * one source are slower or faster than predicted says little about another source; how far off they
 * are says more.
 *
 * Residuals are kept in groups of runs that err together (one model of one source on one
 * generation of accelerators); in a percentile every group weighs the same.  Comparable runs are
 * those that agree in stack, accelerator, dense or MoE, place of tensor parallelism, one or
 * several nodes, width of the formats, and whether facts of the run were assumed; where they are
 * fewer than RK_INTERVAL_RUNS, less has to agree, of other accelerators whether their rates were
 * assumed.  So an interval of a run whose facts or machine are guessed is made of such runs.  A run
 * to be estimated comes from an unknown source, and every source has an error of its own: its
 * variance adds to the variance of comparable runs, and is such that four in five runs of a source
 * lie in the intervals of the others.  It is found apart for tuned runs of dense models, for those
 * of mixtures of experts, and for what people run without such tuning.  Software on accelerators on
 * which no run has it errs by more: that error is found in the same way, by sources whose pair no
 * other source has.  Models with layers that none of the runs has are off by what published steps
 * of such models are at least.  Where the accelerator has no rates for the attention kernel of the
 * run, the error of the rates that are taken instead adds its variance, by the share of attention
 * in the step.
 */
#ifndef RK_RESIDUAL_INTERVAL_H
#define RK_RESIDUAL_INTERVAL_H

#include "estimate/estimate.h"

enum { RK_INTERVAL_RUNS = 12, RK_KEY_TEXT = 64, RK_BASIS_TEXT = 256 };

typedef enum rk_tensor_place {
    RK_TENSOR_NONE,
    RK_TENSOR_INSIDE, /* within the fastest tier */
    RK_TENSOR_ACROSS,
} rk_tensor_place;

extern const char *const rk_tensor_place_names[]; /* NULL-terminated, in enum order */

/* The properties by which runs are compared. */
typedef struct rk_similarity_key {
    /*
     * Facts of the documents, never their names: releases and generations of the stack
     * ("megatron-2025-hopper") and the family that it builds on, the accelerator as it is sold and
     * the line of products that it belongs to.  "": unknown, and like no other.
     */
    char stack[RK_KEY_TEXT], family[RK_KEY_TEXT];
    char product[RK_KEY_TEXT], line[RK_KEY_TEXT];
    char stack_name[RK_KEY_TEXT], accelerator_name[RK_KEY_TEXT]; /* of documents, for people */
    bool assumed;                                                /* facts of the run are */
    bool uncertain;         /* nobody measured what the matrix engine reaches */
    bool moe, several, low; /* several nodes; formats of 8 bits and less */
    bool untimed;           /* layers whose mixers none of the runs has */
    bool frozen;            /* adapters learn: like no run that trains all weights */
    bool untuned;           /* general software, or steps of one microbatch: benchmarks have more,
                               behind which the host and what a step costs once hide */
    double kernel;          /* how far the step may be off, as a logarithm, because the rates of its
                               attention kernel are another accelerator's; 0: they are not */
    rk_tensor_place tensor;
    rk_sharding sharding; /* of memory only: runs are not compared by it in time */
} rk_similarity_key;

/* `node`: accelerators of the fastest tier. */
static inline rk_tensor_place rk_tensor_place_of(const rk_strategy *strategy, int64_t node)
{
    return strategy->tp == 1      ? RK_TENSOR_NONE
           : strategy->tp <= node ? RK_TENSOR_INSIDE
                                  : RK_TENSOR_ACROSS;
}

/* `estimate`: of the strategy; NULL where only memory is compared. */
rk_similarity_key rk_similarity_key_of(const rk_system *system, const rk_stack *stack,
                                       const rk_model *model, const rk_strategy *strategy,
                                       const rk_estimate *estimate);

/* Runs that agree in everything and err together. */
typedef struct rk_residual_cell {
    rk_similarity_key key;
    char source[RK_KEY_TEXT], model[RK_KEY_TEXT];
    size_t peer;         /* the first cell of the same group */
    size_t first, count; /* in ratios */
} rk_residual_cell;

/* Kinds of runs, each with an error of its sources; of memory all have the same. */
typedef enum rk_residual_kind {
    RK_RESIDUAL_DENSE,
    RK_RESIDUAL_EXPERTS,
    RK_RESIDUAL_UNTUNED, /* of any model */
    RK_RESIDUAL_KIND_COUNT,
} rk_residual_kind;

extern const char *const rk_residual_kind_names[]; /* NULL-terminated, in enum order */

typedef struct rk_residuals {
    const rk_residual_cell *cells;
    const double *ratios; /* measured over predicted */
    size_t cell_count, ratio_count;
    /* Errors of an unknown source, as logarithms; 0: as of known ones. */
    double source_error[RK_RESIDUAL_KIND_COUNT];
    /* Of software on accelerators that no run pairs; of step times. */
    double pair_error[RK_RESIDUAL_KIND_COUNT];
    bool of_memory; /* otherwise of step times */
    /* The same lists if owned, and their capacities; NULL and 0 for the built-in ones. */
    rk_residual_cell *own_cells;
    double *own_ratios;
    size_t cell_room, ratio_room;
} rk_residuals;

/*
 * data/runs/residuals.json and memory_residuals.json, made tables by tools/residual_table.py when
 * reckon is built.
 */
extern const rk_residuals rk_residuals_built_in, rk_memory_residuals_built_in;

typedef struct rk_interval {
    double low, high; /* of measured over predicted; 0: nothing is comparable, in time */
    size_t runs, groups;
    bool new_pair;             /* no run has its family of software on its line of accelerators */
    char basis[RK_BASIS_TEXT]; /* which runs: "nanotron on h100-sxm, dense, TP in a node" */
} rk_interval;

/* Runs to leave out of an interval. */
typedef struct rk_left_out {
    const char *source;
    const char *model; /* on the generation of the accelerator in question; NULL: any model */
} rk_left_out;

/*
 * The interval of runs like `key`, leaving out some runs (NULL: none). The only failure is
 * RK_ERR_MEMORY.
 */
rk_status rk_interval_of(const rk_residuals *residuals, const rk_similarity_key *key,
                         const rk_left_out *except, rk_interval *out, rk_error *err);

/*
 * The same for runs like `key` but for their tensor parallelism and sharding, which are the
 * indices; without what the intervals are made of.
 */
rk_status rk_class_intervals_of(const rk_residuals *residuals, const rk_similarity_key *key,
                                rk_interval out[RK_TENSOR_ACROSS + 1][RK_SHARD_ALL + 1],
                                rk_error *err);

/* The interval of a kind of runs that nobody measured. */
void rk_interval_unknown(const rk_residuals *residuals, rk_interval *out);

/* ---- making and keeping residuals ------------------------------------------------------------ */

/* Adds a run.  All zero is an empty set of times; released with rk_residuals_clear. */
rk_status rk_residuals_add(rk_residuals *residuals, const rk_similarity_key *key,
                           const char *source, const char *model, double ratio, rk_error *err);
void rk_residuals_clear(rk_residuals *residuals);

/*
 * Finds the errors of a source: the smallest up to 1 with which four in five runs of a kind lie in
 * the intervals that are made of all other sources; every source of RK_INTERVAL_RUNS runs and more
 * weighs the same.  Runs whose pair of software and accelerators the others lack decide the error
 * of such pairs, and the rest the error of a source; runs of all kinds where none of a kind does.
 */
rk_status rk_residuals_source_error(rk_residuals *residuals, rk_error *err);

/* Reads residuals of a file. */
rk_status rk_residuals_load(const char *name, rk_residuals *residuals, rk_error *err);

/* Writes them as a document; `source` says what they were made of. */
rk_status rk_residuals_write(const rk_residuals *residuals, const char *path, const char *source,
                             rk_error *err);

#endif
