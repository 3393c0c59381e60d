/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One strategy on one system: the time of a step and the memory of every pipeline rank, each with
 * a breakdown that adds up exactly to its total.
 */
#ifndef RK_ESTIMATE_ESTIMATE_H
#define RK_ESTIMATE_ESTIMATE_H

#include "framework/framework.h"
#include "layer/layer.h"
#include "schedule/schedule.h"

/*
 * Contents of memory at the worst moment of a rank, in the order of reports.  The moment is the
 * backward of a layer, the loss, or the update of the optimizer; parts that are gone by then are 0.
 */
typedef enum rk_memory_part {
    RK_MEM_WEIGHTS,
    RK_MEM_GRADIENTS,
    RK_MEM_OPTIMIZER,
    RK_MEM_ACTIVATIONS, /* of microbatches in flight */
    RK_MEM_RECOMPUTED,  /* one layer, recomputed */
    RK_MEM_LOGITS,      /* and what else the head and the loss hold */
    RK_MEM_TRANSIENT,   /* temporaries, gathered parameters, workspaces */
    RK_MEM_FRAGMENTATION,
    RK_MEM_CONTEXT, /* context and communication buffers, outside the allocator */
    RK_MEMORY_PART_COUNT,
} rk_memory_part;

extern const char *const rk_memory_part_names[]; /* NULL-terminated, in enum order */

/* When memory may be fullest. */
typedef enum rk_peak {
    RK_PEAK_BACKWARD, /* of a layer, and its end */
    RK_PEAK_LOSS,
    RK_PEAK_STEP, /* of the optimizer */
    RK_PEAK_COUNT,
} rk_peak;

typedef struct rk_stage_memory {
    double part[RK_MEMORY_PART_COUNT]; /* bytes */
    double allocated;                  /* up to and without fragmentation */
    double reserved;                   /* allocated and fragmentation */
    double total;                      /* of all parts */
    double late;                       /* part that the allocator frees when it runs out */
    double peak[RK_PEAK_COUNT];        /* allocated then, by rk_stage_fill_peaks; 0: none */
} rk_stage_memory;

/* The moment that decides. */
rk_peak rk_stage_peak(const rk_stage_memory *memory);

/* Bytes without which a rank does not run. */
static inline double rk_needed_bytes(const rk_stage_memory *memory)
{
    return memory->total - memory->late;
}

/* Bytes that one rank sends in a step, by group, forward and backward. */
typedef struct rk_volumes {
    double tensor, context, expert, pipeline, data;
} rk_volumes;

typedef struct rk_estimate {
    double step;                          /* s; the sum of times.part */
    rk_times times;                       /* of the slowest rank */
    double model_flops, hardware_flops;   /* per step and accelerator; model by convention below */
    double counted_flops, executed_flops; /* of a token: by convention; as kernels run it, once */
    rk_flop_convention convention;
    double mfu, hfu;          /* against the dense peak of bf16, or of fp16 without bf16 */
    double tokens_per_second; /* of the whole system */
    rk_volumes volumes;
    bool fits;                      /* on every rank: what it needs is at most what it may use */
    bool thrashes;                  /* fits, but only while memory is given back and taken again */
    int64_t worst_stage;            /* pipeline rank that needs most memory */
    rk_stage_memory memory;         /* of that rank */
    double usable;                  /* bytes it may use */
    double memory_low, memory_high; /* 10th and 90th percentile of what it needs, and the */
    double risk;                    /* P(running out of memory): by rk_predict_estimate, else 0 */
    double host_bytes;              /* offloaded, per accelerator, of the worst rank */
    double nvme_bytes;              /* the same on disks */
} rk_estimate;

/* Costs of all blocks of a model under a strategy; they do not depend on pp, vp, dp, schedule. */
typedef struct rk_cost_table {
    rk_block_context context;
    rk_cost mixers[RK_LAYER_TYPE_MAX];    /* by type, part of what follows */
    rk_cost layers[RK_LAYER_TYPE_MAX][2]; /* by type; [1]: checkpointed whole */
    rk_cost embedding, head, mtp;         /* mtp: all zero when the model has none */
    double executed_flops;                /* rk_executed_flops of them; 0: not added up yet */
} rk_cost_table;

void rk_cost_table_fill(const rk_model *model, const rk_system *system, const rk_stack *stack,
                        const rk_strategy *strategy, rk_cost_table *table);

/* Prices of GEMMs and messages, none yet; free() frees them.  NULL: not enough memory. */
rk_gemm_prices *rk_gemm_prices_create(void);

/* Forgets them, for another machine. */
void rk_gemm_prices_clear(rk_gemm_prices *prices);

/* Forgets prices of messages, for another network of the same accelerators. */
void rk_gemm_prices_clear_messages(rk_gemm_prices *prices);

/*
 * The costs that estimates of strategies need: of layers that are checkpointed whole only if the
 * strategy has such.  `prices` on that machine, which it adds to; NULL: none is kept.
 */
void rk_cost_table_fill_with(const rk_model *model, const rk_system *system, const rk_stack *stack,
                             const rk_strategy *strategy, rk_gemm_prices *prices,
                             rk_cost_table *table);

/*
 * The same of a strategy without recompute, but for the costs of layers with experts, which
 * rk_cost_table_lower_experts or rk_cost_table_fill_experts has to fill.
 */
void rk_cost_table_fill_mixers(const rk_model *model, const rk_system *system,
                               const rk_stack *stack, const rk_strategy *strategy,
                               rk_gemm_prices *prices, rk_cost_table *table);

/*
 * As rk_cost_table_fill_with, for a table that was filled for a strategy that differs at most in
 * ep, etp and in what tables do not depend on.
 */
void rk_cost_table_fill_experts(const rk_strategy *strategy, rk_cost_table *table);

/*
 * The costs of a strategy that differs at most in recompute from one without that has the costs
 * `like`, or with layers that are checkpointed whole.
 */
void rk_cost_table_fill_layers(const rk_cost_table *like, const rk_strategy *strategy,
                               rk_cost_table *table);

/*
 * What the networks of layers with experts take at least: those that take least, by pass, without
 * exchanges that may be hidden.  The strategy recomputes nothing and differs from that of the
 * table at most in ep, etp and in what tables do not depend on.
 */
rk_chunk_times rk_least_experts(const rk_cost_table *table, const rk_strategy *strategy);

/*
 * Leaves of layers with experts what they take at least if their networks take `experts`: that and
 * the times of their mixers, and their parameters outside of experts.
 */
void rk_cost_table_lower_experts(const rk_chunk_times *experts, rk_cost_table *table);

/*
 * Estimates from a table that was filled for the same model, system and stack, and for a strategy
 * that differs at most in pp, vp, dp, schedule, global_batch, sharding, replicas, the split of
 * layers, the number of checkpointed layers, offloading, and the overlap of gradients, parameters
 * and messages.  The strategy must be legal (rk_strategy_legal).  The step has the makespan of its
 * schedule played event by event; the same strategy has the same bits in every search and command.
 * `stages` (may be NULL) gets the memory of every pipeline rank, [0 .. pp-1].
 */
rk_status rk_estimate_table(const rk_cost_table *table, const rk_strategy *strategy,
                            rk_flop_convention convention, rk_makespans *makespans,
                            rk_estimate *estimate, rk_stage_memory *stages, rk_error *err);

/*
 * Keeps between estimates what the next may share: compiled orders of schedules, and the costs of
 * blocks.  Threads may share a store: while one uses what is kept, the others make their own, and
 * what was put back last is kept.  Models, systems and stacks stay as they are while it lives.
 */
typedef struct rk_estimate_store rk_estimate_store;

rk_status rk_estimate_store_new(rk_estimate_store **store, rk_error *err);
void rk_estimate_store_free(rk_estimate_store *store);

/* The job that a strategy is estimated for. */
typedef struct rk_setting {
    const rk_model *model;
    const rk_system *system;
    const rk_stack *stack;
    rk_framework framework; /* decides what is legal */
    rk_flop_convention convention;
    rk_estimate_store *store; /* for estimates one after the other; NULL: nothing is kept */
    double risk; /* of running out of memory that a change may have; 0: all that fits */
} rk_setting;

/* The same from documents, whose table is filled for this strategy alone. */
rk_status rk_estimate_exact(const rk_setting *setting, const rk_strategy *strategy,
                            rk_estimate *estimate, rk_stage_memory *stages, rk_error *err);

/* rk_estimate_exact without what few ask for. */
rk_status rk_estimate_step(const rk_model *model, const rk_system *system, const rk_stack *stack,
                           const rk_strategy *strategy, rk_flop_convention convention,
                           rk_estimate *estimate);

/*
 * With the closed form of the schedule in place of its makespan: about ten microseconds.  For
 * calibration, which estimates the same runs thousands of times; nothing that is ranked or reported
 * uses it.
 */
rk_status rk_estimate_closed(const rk_model *model, const rk_system *system, const rk_stack *stack,
                             const rk_strategy *strategy, rk_flop_convention convention,
                             rk_estimate *estimate, rk_error *err);

/*
 * Plays the pipeline of a strategy, with the messages that hold their sender: `visit` gets every
 * operation, as of rk_pipeline_play.  *outside: what a step has outside its pipeline, by part, but
 * for overlapped messages between stages and RK_PART_FIXED, which are outside as a whole.
 */
rk_status rk_estimate_visit(const rk_model *model, const rk_system *system, const rk_stack *stack,
                            const rk_strategy *strategy, rk_pipeline_result *result,
                            rk_times *outside, void (*visit)(void *user, const rk_op *op),
                            void *user, rk_error *err);

#endif
