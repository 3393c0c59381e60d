/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured runs: a row of a table becomes the inputs of an estimate, and the estimate is
 * compared with measurements.  A row is its columns of facts (docs/columns.md); empty cells follow
 * from the rules of data/runs/defaults.json, which run_rules.c applies.  No name of a row, a
 * source or a collection, and no free text, changes a prediction.
 *
 *     rk_run_sources_load -> rk_run_case_fill (once per row) -> rk_run_predict (any number of
 *     times, with the documents of the case or with others in their place)
 */
#ifndef RK_EVIDENCE_RUNS_H
#define RK_EVIDENCE_RUNS_H

#include "estimate/estimate.h"
#include "evidence/partial_strategy.h"
#include "evidence/run_table.h"

/* ---- defaults of rows ----------------------------------------------------------------------- */

typedef struct rk_run_rule rk_run_rule;

/* The rules, and every stack and system that a rule names, each once. */
typedef struct rk_run_sources {
    rk_run_rule *rules; /* owned */
    size_t rule_count;
    rk_stack *stacks;        /* owned; the caller may change them in place, e.g. to fit constants */
    char (*stack_names)[64]; /* owned; as a rule names them: names of the catalogue, or files */
    size_t stack_count;
    rk_system *systems; /* owned; may be changed in place */
    char (*system_names)[64];
    size_t system_count;
    rk_model *models; /* owned; what the catalogue says of models that rows name */
    char (*model_names)[64];
    size_t model_count;
    struct json_t *document; /* owned */
} rk_run_sources;

/* Reads rules: a file, or NULL for the built-in ones.  Released with rk_run_sources_clear. */
rk_status rk_run_sources_load(const char *name, rk_run_sources *sources, rk_error *err);
void rk_run_sources_clear(rk_run_sources *sources);

/* Loads the documents that the rows of a table name themselves (its columns stack and system). */
rk_status rk_run_sources_add(rk_run_sources *sources, const rk_run_table *table, rk_error *err);

/* ---- cases ---------------------------------------------------------------------------------- */

/* The meaning of "memory" in a source. */
typedef enum rk_run_memory { RK_RUN_ALLOCATED, RK_RUN_RESERVED, RK_RUN_TOTAL } rk_run_memory;

/* A number of the stack or the machine that this run has otherwise. */
typedef struct rk_run_change {
    uint32_t offset; /* of a double (or a bool) in rk_stack */
    bool scales, boolean;
    double value;
} rk_run_change;

enum { RK_RUN_CHANGE_MAX = 32, RK_RUN_NOTE_SIZE = 160 };

typedef struct rk_run_changes {
    int count;
    rk_run_change list[RK_RUN_CHANGE_MAX];
} rk_run_changes;

/* Differences of the machine from its document; 0: as documented. */
typedef struct rk_run_machine {
    int64_t node;                           /* accelerators of a node */
    double network_bandwidth;               /* bytes/s of the outermost tier */
    double power;                           /* W */
    double memory_bandwidth, memory_usable; /* bytes/s, bytes */
} rk_run_machine;

void rk_run_machine_apply(const rk_run_machine *machine, rk_system *system);
void rk_run_changes_apply(const rk_run_changes *changes, rk_stack *stack);

typedef struct rk_run_case {
    char group[64]; /* name under which its errors are reported: the source, or its part */
    rk_model model;
    rk_strategy strategy;         /* its layout is below */
    rk_state_recipe whole_states; /* bytes of its states, were no weight frozen */
    int stack, system;            /* into the lists of rk_run_sources */
    rk_run_changes changes;       /* of the stack */
    rk_run_machine machine;
    double step_seconds; /* measured; 0: not printed */
    double memory;       /* measured peak, bytes; 0: not printed */
    rk_run_memory memory_kind;
    int16_t layout[RK_KNOWN_STAGES_MAX]; /* of the strategy, if any */
    bool first_stage;                    /* memory of pipeline rank 0, not of the worst rank */
    bool out_of_memory;                  /* measured: the run ended so */
    rk_flop_convention convention;       /* that the source counts utilisation by */
    char assumed[RK_RUN_NOTE_SIZE];      /* columns that were empty and got a default: "vpp, mbs" */
    bool uncounted; /* printed as utilisation alone, and nothing says how that counts */
    bool settled;   /* open recomputation is not the assumed one, which does not fit */
    bool filled;    /* columns that decide the step were filled in */
    bool unsure;    /* a value that decides how much memory it needs is assumed */
} rk_run_case;

/*
 * Fills a case from a row.  A row that lacks what is needed, or that cannot be expressed, is
 * RK_ERR_INVALID with the reason as the message (without the row's name).
 */
rk_status rk_run_case_fill(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                           rk_run_case *out, rk_error *err);

/* The system as the run had it: its nodes, network, power and memory. */
void rk_run_system(const rk_run_case *run, const rk_system *documented, rk_system *out);

/* ---- predictions ---------------------------------------------------------------------------- */

typedef struct rk_run_prediction {
    rk_estimate estimate;
    double memory;            /* peak, bytes, in the sense of the source */
    double tokens_per_second; /* per accelerator */
    double flops_per_second;  /* model FLOP/s per accelerator */
} rk_run_prediction;

/*
 * The case with its documents, or with others in their place (NULL: as listed), by the closed
 * forms of schedules: microseconds.  Errors: RK_ERR_MEMORY.  memory is for the worst rank even
 * for first_stage.
 */
rk_status rk_run_predict(const rk_run_sources *sources, const rk_run_case *run,
                         const rk_system *system, const rk_stack *stack, rk_run_prediction *out,
                         rk_error *err);

/*
 * The same with the schedule played event by event, and the memory of the right rank.
 */
rk_status rk_run_predict_exact(const rk_run_sources *sources, const rk_run_case *run,
                               const rk_system *system, const rk_stack *stack,
                               rk_run_prediction *out, rk_error *err);

#endif
