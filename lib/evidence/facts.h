/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a run: the columns of its row, and what data/runs/defaults.json adds. */
#ifndef RK_EVIDENCE_FACTS_H
#define RK_EVIDENCE_FACTS_H

#include "evidence/runs.h"
#include "io/fields.h"

typedef struct rk_run_facts {
    char unsupported[128]; /* why the row cannot be predicted; "": it can */
    /* Names of documents; "": none. */
    char stack[64], system[64], model[64];
    char group[64]; /* name under which the row's errors are reported; "": that of its part */
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
    /* Strategy. */
    int64_t micro_batch, vp, ep, etp; /* 0: none */
    bool layer_chunks;                /* of a layer each, where the row states none */
    int schedule;                     /* 1 + rk_schedule_kind; 0: as vp says */
    int64_t replicas;                 /* HSDP; 0: none */
    int64_t slice;           /* accelerators that share states where all are sharded; 0: all */
    bool keeps_gathered;     /* FSDP2 under pipelines */
    bool stage_microbatches; /* number of micro-batches equals pipeline ranks, if their size is not
                                stated */
    bool no_accumulation;    /* a step is one microbatch, whatever is printed */
    bool sp;
    rk_cp_kind cp_kind;
    rk_rank_order order;
    rk_sharding sharding;
    int64_t shard_ranks; /* of a group that shards; 0: all data-parallel ranks */
    rk_recompute_kind recompute;
    unsigned modules;
    int64_t recompute_every; /* of full recompute: one layer in so many; 0: all */
    rk_precision precision;
    rk_fp8_recipe fp8_recipe;
    bool low_weights, low_activations;
    rk_attention_kernel kernel;
    bool flash_attention, tp_overlap, grad_overlap, param_overlap, moe_overlap;
    bool graph_capture, graph_step;
    bool offload_activations;
    int64_t offload_layers;
    bool split_by_weight;  /* stages filled as nanotron does */
    bool short_last_stage; /* a layout by hand: fewer layers beside the loss */
    double capacity_factor;
    int routing;       /* of tokens to experts: uniform, or in turn; rules read it */
    int64_t lora_rank; /* 0: all weights learn */
    unsigned lora_modules;
    rk_state_recipe states;
    double bucket_bytes; /* per parameter, besides, with data parallelism */
    rk_optimizer optimizer;
    bool foreach_update, step_in_backward;
    unsigned offloads; /* bits of RK_OFFLOAD_NAMES */
    int frozen_type;   /* 1 + rk_frozen_type; 0: as states.weight */
    bool wide_residual;
    double adapter_bytes; /* of a weight of an adapter; 0: as the frozen ones */
    rk_cross_entropy cross_entropy;
    double logit_bytes;   /* 0: those of cross_entropy */
    int64_t loss_chunk;   /* tokens; 0: an eighth */
    int64_t fsdp_version; /* 1 or 2; 0: not stated */
    bool adapts_ends;
    bool padded_batches;     /* of samples as they come, of other lengths every time */
    double sub_group_params; /* that step at a time; 0: as the stack */
} rk_run_facts;

/* The values before any rule. */
extern const rk_run_facts rk_run_facts_default;

/* The columns of facts, which are also the keys of "set" and "assume". */
extern const rk_field rk_run_fact_fields[];
extern const size_t rk_run_fact_count;

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
    rk_run_change changes[RK_RUN_CHANGE_MAX];
    int change_count;
};

/* Whether a rule applies to a row. */
bool rk_run_rule_matches(const rk_run_rule *rule, const rk_run_table *table, size_t row);

/*
 * Applies all rules to a row; the changes of its stack go into the case. *assumed gets a bit (1 <<
 * rk_run_column) for each column that was filled in.
 */
rk_status rk_run_facts_of(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                          rk_run_facts *facts, rk_run_case *out, uint64_t *assumed, rk_error *err);

/* Fills the architecture of a row; *assumed gets a bit for each column that was filled in. */
rk_status rk_run_model_of(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                          const rk_run_facts *facts, rk_model *model, uint64_t *assumed,
                          rk_error *err);

/*
 * The model of the catalogue that a row means: the one that it names in the column architecture,
 * or, where it prints no layers or no width, the one that the catalogue finds by the model's name.
 * "": none.
 */
void rk_run_model_named(const rk_run_table *table, size_t row, char name[64]);

/*
 * The documents that the row itself names override those of rules; where neither names a system,
 * it is the accelerator of the catalogue whose name is in that of the row.
 */
rk_status rk_run_facts_named(const rk_run_table *table, size_t row, rk_run_facts *facts,
                             rk_error *err);

/* Loads the documents that `named` names and that are not in the lists yet. */
rk_status rk_run_documents_add(rk_run_sources *sources, const rk_run_facts *named, rk_error *err);
void rk_run_documents_clear(rk_run_sources *sources);

/* Index of a name in a list, or -1. */
int rk_run_place(char (*names)[64], size_t count, const char *name);

#endif
