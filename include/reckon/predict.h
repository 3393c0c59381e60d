/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictions by the reckon model: one strategy, the best ones, what fits.
 *
 *     rk_model *model;
 *     rk_system *system;
 *     rk_setup *setup;
 *     rk_outcome *outcome;
 *     rk_prediction best;
 *     rk_space space = {.size = sizeof(space), .accelerators = 64, .global_batch = 512};
 *     rk_status status = rk_model_create("llama3-70b", &model, &err);
 *     status = status ? status : rk_system_create("h100-sxm", &system, &err);
 *     status = status ? status : rk_setup_create(model, system, NULL, &setup, &err);
 *     status = status ? status : rk_plan_strategies(setup, &space, NULL, &outcome, &err);
 *     if (!status && rk_outcome_count(outcome) > 0) {
 *         rk_outcome_prediction(outcome, 0, &best, sizeof(best));
 *     }
 *
 * Results are identical to `reckon plan`, `estimate`, `fit` and `comm`.  docs/method.md describes
 * the model and its sources.
 *
 * Enumerations, numbers and flags of all structs that a program passes are checked before anything
 * is computed: RK_ERR_INVALID for a member that is out of its bounds, NaN or infinite, and its name
 * in rk_error.path.  NULL in place of a handle, a struct or a name that is needed is
 * RK_ERR_INVALID.
 */
#ifndef RECKON_PREDICT_H
#define RECKON_PREDICT_H

#include "reckon/command.h"
#include "reckon/document.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- model, system and software -------------------------------------------------------------- */

/* A model, a system and training software; all functions below use one. */
typedef struct rk_setup rk_setup;

/* Choice of software.  All zero except `size`: the accelerator's usual software. */
typedef struct rk_setup_choice {
    size_t size;           /* sizeof(rk_setup_choice) */
    const char *framework; /* whose constraints apply: "megatron", "torchtitan", "any"...; NULL: the
                              stack's, or the usual one of the accelerator */
    const rk_stack *stack; /* NULL: the usual one of the framework */
    const char *mfu_convention; /* how model FLOPs are counted: "megatron", "palm"...; NULL: the
                                   framework's */
    double max_memory_bytes;    /* memory per accelerator that training may use; 0: all */
    double max_risk; /* of running out of memory that a recommended strategy may have, up to 0.5;
                        0: 0.1 */
} rk_setup_choice;

/*
 * Combines documents; `choice` may be NULL.  *setup has copies of model and stack and refers
 * to the system, which must outlive it.  Free it with rk_setup_free.  Errors: RK_ERR_INVALID
 * for a name, with those that exist; RK_ERR_MEMORY.
 */
RK_API rk_status rk_setup_create(const rk_model *model, const rk_system *system,
                                 const rk_setup_choice *choice, rk_setup **setup, rk_error *err);

/* NULL is legal. */
RK_API void rk_setup_free(rk_setup *setup);

/* The choices made.  Texts live as long as the setup. */
typedef struct rk_setup_facts {
    const char *framework;        /* "megatron" */
    const char *framework_reason; /* "usual on hopper" */
    const char *stack;            /* name of the stack document */
    const char *stack_reason;     /* a warning where the stack is unusual; "" */
    const char *mfu_convention;   /* "megatron" */
} rk_setup_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_setup_facts). */
RK_API void rk_setup_describe(const rk_setup *setup, rk_setup_facts *facts, size_t size);

/* ---- strategies ------------------------------------------------------------------------------ */

/*
 * Makes a strategy from options as `reckon estimate` does: `options` is a JSON object, e.g.
 * {"accelerators": 64, "tp": 8, "pp": 2, "global_batch": 128}; options that are not given follow
 * from the others or have the framework's default.  Fills the first `size` bytes: pass
 * sizeof(rk_strategy). Errors: RK_ERR_SYNTAX; RK_ERR_INVALID for an option, and for a strategy that
 * the framework does not run, with the rule and the nearest legal choice.  "layout" is refused
 * because it would outlive its text; set rk_strategy.layout instead.
 */
RK_API rk_status rk_strategy_read(const rk_setup *setup, const char *options, rk_strategy *strategy,
                                  size_t size, rk_error *err);

/* Whether a strategy is legal. */
typedef struct rk_legality {
    bool legal;        /* it breaks no rule */
    const char *rule;  /* the first broken rule, e.g. "heads % tp"; static; NULL: none */
    char message[256]; /* what was found, and the nearest legal choice; "" */
} rk_legality;

/*
 * Checks a strategy against the model and against the constraints of the framework
 * (docs/frameworks.md names their sources).  Fills the first `size` bytes: pass
 * sizeof(rk_legality).  Errors: RK_ERR_INVALID for a member out of its bounds.
 */
RK_API rk_status rk_strategy_check(const rk_setup *setup, const rk_strategy *strategy,
                                   rk_legality *legality, size_t size, rk_error *err);

/*
 * A field of a strategy for people: *name is static, e.g. "TP", and `text` gets the value, e.g.
 * "8" or "norm+act", cut at `size` bytes.  Returns false past the last field.
 */
RK_API bool rk_strategy_field(const rk_strategy *strategy, size_t index, const char **name,
                              char *text, size_t size);

/* ---- predictions ----------------------------------------------------------------------------- */

/* Maximum number of parts of a step. */
#define RK_TIME_ROOM 32

/* Maximum number of parts of memory. */
#define RK_MEMORY_ROOM 16

/* The name of a part of a step in documents, e.g. "linear"; NULL past the last. */
RK_API const char *rk_time_part_name(size_t part);

/* The name of a part of memory in documents, e.g. "weights"; NULL past the last. */
RK_API const char *rk_memory_part_name(size_t part);

/* One optimizer step of a strategy. */
typedef struct rk_prediction {
    double step_s;               /* of one optimizer step */
    double time_s[RK_TIME_ROOM]; /* by rk_time_part_name; adds up to step_s */
    double model_flops;          /* per step and accelerator, by the convention of the setup */
    double hardware_flops;       /* the same, as executed */
    double mfu;                  /* model FLOPs over the dense peak of bf16, or fp16 */
    double hfu;                  /* hardware FLOPs over it */
    double tokens_per_s;         /* of all accelerators */
    double tensor_sent_bytes;    /* bytes a rank sends per step, by group: of tensor parallelism */
    double context_sent_bytes;   /* of context parallelism */
    double expert_sent_bytes;    /* of expert parallelism */
    double pipeline_sent_bytes;  /* of the pipeline */
    double data_sent_bytes;      /* of data parallelism */
    bool fits;                   /* on every stage */
    bool thrashes;               /* fits, but the allocator keeps freeing and reallocating memory */
    int64_t worst_stage;         /* pipeline rank that needs most memory */
    double memory_total_bytes;   /* of that stage */
    double memory_part_bytes[RK_MEMORY_ROOM]; /* by rk_memory_part_name; adds up to
                                                 memory_total_bytes */
    double memory_usable_bytes;               /* available to it */
    double host_memory_bytes;                 /* offloaded, per accelerator of that stage */
    /* Interval of measured steps of comparable runs (docs/accuracy.md); 0 runs: none is comparable,
     * or rk_predict_step was called. */
    double step_p10_s;         /* 10th percentile */
    double step_p90_s;         /* 90th percentile */
    size_t comparable_runs;    /* measured runs */
    size_t comparable_models;  /* their models */
    char comparable_text[256]; /* which runs: "nanotron on h100-sxm, dense, TP in a node" */
    double bf16_step_s;        /* of a strategy in fp8 or fp4, its step in bf16; 0: none */
    double
        memory_needed_bytes;   /* of memory_total_bytes, without what the allocator can give back */
    double memory_p10_bytes;   /* 10th percentile of what runs like it need */
    double memory_p90_bytes;   /* 90th percentile */
    double out_of_memory_risk; /* probability that it needs more than memory_usable_bytes; `fits`
                                  means 0.5 or less, 0.99 and more is taken to be impossible */
    double nvme_bytes;         /* offloaded to disks, per accelerator of that stage */
} rk_prediction;

/* Memory of one pipeline rank. */
typedef struct rk_stage_use {
    double total_bytes;                       /* of all parts */
    double memory_part_bytes[RK_MEMORY_ROOM]; /* by rk_memory_part_name */
    double allocated_bytes;                   /* by tensors */
    double reserved_bytes;                    /* by the allocator: with fragmentation */
} rk_stage_use;

/*
 * Predicts a step of a legal strategy, without stages and comparable runs: for programs that
 * predict many strategies.  Fills the first `size` bytes: pass sizeof(rk_prediction).  Errors:
 * RK_ERR_INVALID for a member out of its bounds, and if the strategy is not legal, with the rule;
 * RK_ERR_MEMORY.
 */
RK_API rk_status rk_predict_step(const rk_setup *setup, const rk_strategy *strategy,
                                 rk_prediction *prediction, size_t size, rk_error *err);

/* ---- outcomes -------------------------------------------------------------------------------- */

/* Strategies with their full predictions. */
typedef struct rk_outcome rk_outcome;

/*
 * Predicts one strategy in full; rk_outcome_count is 1 even if it does not fit.  *outcome refers to
 * the setup and to strategy->layout, which must outlive it; free it with rk_outcome_free; it is
 * NULL after a failure.  Errors as of rk_predict_step.
 */
RK_API rk_status rk_estimate_strategy(const rk_setup *setup, const rk_strategy *strategy,
                                      rk_outcome **outcome, rk_error *err);

/* Maximum number of entries in a list. */
#define RK_COUNTS_MAX 32

/* Values to choose from; count 0: all possible ones. */
typedef struct rk_counts {
    int count;                     /* at most RK_COUNTS_MAX */
    int64_t values[RK_COUNTS_MAX]; /* each at least 1; of `zero` at least 0 */
} rk_counts;

/* The strategies to choose from.  All zero except `size` and the first two: the usual space. */
typedef struct rk_space {
    size_t size;           /* sizeof(rk_space) */
    int64_t accelerators;  /* to train on */
    int64_t global_batch;  /* sequences per step */
    rk_counts tp;          /* tensor parallelism */
    rk_counts cp;          /* context parallelism */
    rk_counts pp;          /* pipeline parallelism */
    rk_counts vp;          /* virtual pipeline stages per rank */
    rk_counts ep;          /* expert parallelism */
    rk_counts etp;         /* tensor parallelism of experts */
    rk_counts micro_batch; /* sequences */
    rk_counts zero;        /* ZeRO stages: values of rk_sharding */
    unsigned schedules;    /* bits 1 << rk_schedule_kind; 0: all of the framework */
    unsigned recomputes;   /* bits 1 << rk_recompute_kind; 0: all */
    int64_t top;           /* strategies to rank; 0: 5 */
    int64_t threads;       /* 0: one per core */
    bool bounded;        /* rule out most strategies by bounds; same ranking, see docs/search.md */
    bool exhaustive;     /* evaluate every strategy; neither: by bounds where that is faster */
    const char *options; /* more options of `reckon plan`, as a JSON object: {"precision":
                            "fp8"}; they come after the fields above.  NULL: none */
} rk_space;

/*
 * Finds the fastest strategies of a space that fit, best first; equal times keep the order of
 * enumeration, and neither ranking nor counts depend on the number of threads.  rk_outcome_count
 * is 0 when nothing fits; see rk_outcome_nearest then.  `control` may be NULL; the search uses its
 * `progress` (which may stop the search: RK_ERR_STOPPED), `remark` and `team`. Ownership as of
 * rk_estimate_strategy.  Errors: RK_ERR_INVALID for options; RK_ERR_STOPPED; RK_ERR_MEMORY.
 */
RK_API rk_status rk_plan_strategies(const rk_setup *setup, const rk_space *space,
                                    const rk_job_control *control, rk_outcome **outcome,
                                    rk_error *err);

/*
 * Checks whether a strategy fits, or any strategy of a space with open choices, and if not, finds
 * what would make it fit: rk_outcome_change, and the fewest accelerators of rk_outcome_describe.
 * Otherwise as rk_plan_strategies.
 */
RK_API rk_status rk_fit_strategies(const rk_setup *setup, const rk_space *space,
                                   const rk_job_control *control, rk_outcome **outcome,
                                   rk_error *err);

/* NULL is legal. */
RK_API void rk_outcome_free(rk_outcome *outcome);

/* How the search went. */
typedef struct rk_outcome_facts {
    bool searched;               /* choices were open; otherwise the rest is 0, except the last */
    bool bounded;                /* bounds ruled out most strategies */
    uint64_t strategies;         /* of the space in which every degree divides */
    uint64_t evaluated;          /* whose step or memory was computed */
    uint64_t legal;              /* for model and framework; 0 when bounded */
    uint64_t fitting;            /* within memory; 0 when bounded */
    int64_t enough_accelerators; /* when nothing fits: a number of accelerators on which something
                                    does; 0: unknown */
    int64_t fewest_accelerators; /* on which some strategy fits: rk_fit_strategies; 0: unknown */
} rk_outcome_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_outcome_facts). */
RK_API void rk_outcome_describe(const rk_outcome *outcome, rk_outcome_facts *facts, size_t size);

/* Strategies of an outcome. */
RK_API size_t rk_outcome_count(const rk_outcome *outcome);

/*
 * Fills the first `size` bytes for strategy `index`, best first: pass sizeof(rk_strategy).  Its
 * layout lives as long as the outcome.  Returns false, and fills nothing, past the last.
 */
RK_API bool rk_outcome_strategy(const rk_outcome *outcome, size_t index, rk_strategy *strategy,
                                size_t size);

/* The same for its prediction: pass sizeof(rk_prediction). */
RK_API bool rk_outcome_prediction(const rk_outcome *outcome, size_t index,
                                  rk_prediction *prediction, size_t size);

/* The same for the memory of pipeline rank `stage`, [0, pp). */
RK_API bool rk_outcome_stage(const rk_outcome *outcome, size_t index, int64_t stage,
                             rk_stage_use *use, size_t size);

/*
 * When nothing fits, the legal strategy that needs the least memory.  Each of the two may be NULL.
 * Returns false if something fits, or if no strategy is legal.
 */
RK_API bool rk_outcome_nearest(const rk_outcome *outcome, rk_strategy *strategy,
                               size_t strategy_size, rk_prediction *prediction,
                               size_t prediction_size);

/*
 * A change of one or two choices that makes the strategy fit, fastest first (rk_fit_strategies).
 * `text` gets it in words: "TP 1 to 2", cut at `text_size` bytes.  Returns false past the last.
 */
RK_API bool rk_outcome_change(const rk_outcome *outcome, size_t index, char *text, size_t text_size,
                              rk_strategy *strategy, size_t strategy_size);

/*
 * Writes a launch file for strategy `index`: `name` is "megatron", "megatron-slurm", "torchtitan"
 * or "torchtitan-python".  Free *text with rk_free.  `remark` (may be NULL) receives, with `user`,
 * each setting that the file cannot express.  Errors: RK_ERR_INVALID where the framework cannot run
 * it, with the reason.
 */
RK_API rk_status rk_outcome_write_launch(const rk_outcome *outcome, size_t index, const char *name,
                                         void (*remark)(void *user, const char *line), void *user,
                                         char **text, rk_error *err);

/* ---- operators ------------------------------------------------------------------------------- */

/* The operators of every block of a model under a strategy, in one microbatch on one rank. */
typedef struct rk_operators rk_operators;

/*
 * Lists the operators of strategy `index` of an outcome.  *operators refers to nothing; free it
 * with rk_operators_free; it is NULL after a failure.  Errors: RK_ERR_INVALID past the last
 * strategy; RK_ERR_MEMORY.  Source: docs/method/layers.md.
 */
RK_API rk_status rk_operators_create(const rk_outcome *outcome, size_t index,
                                     rk_operators **operators, rk_error *err);

/* NULL is legal. */
RK_API void rk_operators_free(rk_operators *operators);

/* One operator in one pass of a microbatch on a rank; sizes are 0 where the kind has none. */
typedef struct rk_operator_facts {
    const char *block;      /* "layer 0: grouped + dense"; lives as long as the list */
    int64_t blocks;         /* of this kind in the model */
    const char *kind;       /* "linear", "attention", "scan", "stream", "message"...; static */
    const char *pass;       /* "forward", "backward" or "weight gradients"; static */
    const char *part;       /* of the step, where its time counts; static */
    double groups;          /* GEMMs of a batch, experts, or heads */
    double M;               /* rows of a GEMM, or queries */
    double N;               /* columns, or keys */
    double K;               /* inner dimension, or size of a head */
    double flops;           /* executed */
    double moved_bytes;     /* by memory-bound work */
    double saved_bytes;     /* kept for backward; negative: freed */
    const char *collective; /* of a message: "all_reduce"; static; NULL: it sends none */
    double messages;        /* of the same size, one after the other */
    double message_bytes;   /* of one message, an argument of rk_predict_collective */
    int64_t ranks;          /* of the group of a message */
    double sent_bytes;      /* of all messages */
    double seconds;         /* on the critical path of the pass */
} rk_operator_facts;

/*
 * Fills the first `size` bytes for operator `index`, block by block in the order of execution: pass
 * sizeof(rk_operator_facts).  Returns false, and fills nothing, past the last.
 */
RK_API bool rk_operators_at(const rk_operators *operators, size_t index, rk_operator_facts *facts,
                            size_t size);

/* ---- collectives ----------------------------------------------------------------------------- */

/* One collective operation, in the terms of nccl-tests. */
typedef struct rk_collective_timing {
    double seconds;               /* duration */
    double algorithm_bytes_per_s; /* size over time */
    double bus_bytes_per_s; /* algorithm bandwidth times the bytes on a ring's links per byte */
    int64_t ranks;          /* of the group */
    int64_t ranks_of_innermost_domain; /* in a full domain of the fastest tier */
} rk_collective_timing;

/*
 * Predicts a collective of `bytes` (as nccl-tests count them) over `ranks` accelerators (0: one
 * innermost domain), `stride` (at least 1) from one to the next.  `name`: "all_reduce",
 * "all_gather", "reduce_scatter", "all_to_all"... as of `reckon comm --op`.  Fills the first `size`
 * bytes of `timing`.  Errors: RK_ERR_INVALID for a name or a group that the system has no room for.
 * Source: docs/method/collectives.md.
 */
RK_API rk_status rk_predict_collective(const rk_system *system, const char *name, int64_t ranks,
                                       int64_t stride, double bytes, rk_collective_timing *timing,
                                       size_t size, rk_error *err);

#ifdef __cplusplus
}
#endif

#endif
