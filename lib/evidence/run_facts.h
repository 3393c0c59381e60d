/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a run: the columns of its row, and what data/runs/defaults.json adds. */
#ifndef RK_EVIDENCE_RUN_FACTS_H
#define RK_EVIDENCE_RUN_FACTS_H

#include "evidence/partial_strategy.h"
#include "evidence/runs.h"
#include "io/fields.h"

typedef struct rk_run_facts {
    char unsupported[128]; /* why the row cannot be predicted; "": it can */
    /* Names of documents; "": none. */
    char stack[64], system[64], model[64];
    char group[64]; /* name under which the row's errors are reported; "": the name of its part */
    /* The machine, if it differs from the document. */
    double network_bandwidth, power, memory_bandwidth, memory_usable; /* GB/s, W, GB/s, GiB */
    /* Memory as the source means it. */
    rk_run_memory memory;
    bool decimal_memory; /* printed in GB of 10^9 bytes */
    bool first_stage, out_of_memory;
    bool untimed;             /* the time of the step depends on something else */
    rk_flop_convention flops; /* that the source counts utilisation by */
    int rate; /* how printed TFLOP/s or MFU count: 1 + rk_flop_convention; 0: not to be used */
    /* Architecture. */
    rk_norm_kind norm;
    bool gated, biases, tied, learned_positions, parallel_block;
    rk_qk_norm qk_norm;
    int64_t vocab;        /* where the row prints none */
    int64_t dense_layers; /* leading dense layers; -1: as in the catalogue, or none */
    bool mtp, hybrid;
    int64_t mtp_layers;        /* modules of multi-token prediction; 0: as mtp says */
    rk_partial_strategy known; /* the strategy */
    int routing;          /* of tokens to experts: uniform, in turn or natural; rules read it */
    int64_t fsdp_version; /* of PyTorch: 1 or 2; 0: not stated; rules read it */
    bool padded_batches;  /* of samples as they come, of other lengths every time */
} rk_run_facts;

/* The values before any rule. */
extern const rk_run_facts rk_run_facts_default;

/* The columns of facts, which are also the keys of "set" and "assume". */
extern const rk_field rk_run_fact_fields[];
extern const size_t rk_run_fact_count;

/* Place of a name in these; rk_run_fact_count: none. */
size_t rk_run_fact_of(const char *name);

/* The place of field `index` among rk_run_column_names, or RK_RUN_COLUMN_COUNT. */
rk_run_column rk_run_fact_column(size_t index);

/* Reads the cells of a row that are not empty over `facts`. */
rk_status rk_run_facts_read(const rk_run_table *table, size_t row, rk_run_facts *facts,
                            rk_error *err);

/* The framework that a name of training software means ("PyTorch FSDP2" is fsdp); NULL: unknown. */
const char *rk_run_framework(const char *cell);

/* A rule of the document. */
struct rk_run_rule {
    const json_t *match, *set, *assume; /* in the document; NULL: none */
    rk_run_changes changes;
};

/*
 * Applies all rules to a row, or only rules that read a non-empty cell other than model,
 * accelerator, framework and date.  *assumed gets a bit (1 << rk_run_column) for each column that
 * was filled in.
 */
typedef enum rk_run_rules { RK_RUN_RULES_ALL, RK_RUN_RULES_OF_CELLS } rk_run_rules;
rk_status rk_run_facts_of(const rk_run_sources *sources, rk_run_rules which,
                          const rk_run_table *table, size_t row, rk_run_facts *facts,
                          rk_run_changes *changes, uint64_t *assumed, rk_error *err);

/* Reads the rules alone, without the documents that they name. */
rk_status rk_run_rules_load(rk_run_sources *sources, rk_error *err);

/* The machine that facts describe; its node is not among the facts, and kept. */
void rk_run_machine_of(const rk_run_facts *facts, rk_run_machine *machine);

/*
 * Reads what a row states of the strategy in addition to facts: degrees, batch, stages; fields that
 * rules assumed are marked as guesses.
 */
rk_status rk_run_known_of(const rk_run_table *table, size_t row, uint64_t assumed,
                          rk_partial_strategy *known, rk_error *err);

/* Fills the architecture of a row; *assumed gets a bit for each column that was filled in. */
rk_status rk_run_model_of(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                          const rk_run_facts *facts, rk_model *model, uint64_t *assumed,
                          rk_error *err);

/*
 * The model of the catalogue that a row means: the one that it names in the column architecture,
 * or, if the row prints no layers or no width, the one that the catalogue finds by the model's
 * name. "": none.
 */
void rk_run_model_named(const rk_run_table *table, size_t row, char name[64]);

/*
 * Documents that the row itself names override documents of rules; if neither names a system, it is
 * the accelerator of the catalogue whose name is part of the name in the row.
 */
rk_status rk_run_facts_named(const rk_run_table *table, size_t row, rk_run_facts *facts,
                             rk_error *err);

/* Loads the documents that `named` names and that are not in the lists yet. */
rk_status rk_run_documents_add(rk_run_sources *sources, const rk_run_facts *named, rk_error *err);
void rk_run_documents_clear(rk_run_sources *sources);

/* Index of a name in a list, or -1. */
int rk_run_place(char (*names)[64], size_t count, const char *name);

#endif
