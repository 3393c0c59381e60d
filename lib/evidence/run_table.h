/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV file with a header, held in memory: a table of measured runs. */
#ifndef RK_EVIDENCE_RUN_TABLE_H
#define RK_EVIDENCE_RUN_TABLE_H

#include "reckon/reckon.h"

/* Columns that are no facts: X(place, name, type, unit, meaning).  A table may have others and may
 * lack any. */
#define RK_RUN_COLUMN_LIST(X)                                                                      \
    X(ID, "id", "text", "", "name of the row")                                                     \
    X(PART, "part", "text", "",                                                                    \
      "collection that the row comes from; groups errors, never read by a prediction")             \
    X(SOURCE, "source", "text", "", "table of the collection; never read by a prediction")         \
    X(RELEASE, "commit_or_version", "text", "", "of the source; never read by a prediction")       \
    X(MODEL, "model", "text", "",                                                                  \
      "name of the model: fills in what the catalogue or a family's name says")                    \
    X(LAYERS, "layers", "count", "", "layers")                                                     \
    X(HIDDEN, "hidden", "count", "", "width of the residual stream")                               \
    X(FFN, "ffn", "count", "", "width of a feed-forward layer; default: 4 x hidden")               \
    X(HEADS, "heads", "count", "",                                                                 \
      "query heads; default: heads nearest to 128 wide that divide hidden")                        \
    X(KV_HEADS, "kv_heads", "count", "", "heads of keys and values; default: heads")               \
    X(HEAD_SIZE, "head_dim", "count", "", "width of a head; default: hidden / heads")              \
    X(VOCAB, "vocab", "count", "",                                                                 \
      "entries of the vocabulary; default: 50304, as the padded vocabulary of GPT-2")              \
    X(SEQ, "seq", "count", "tokens", "length of a sequence")                                       \
    X(EXPERTS, "moe_experts", "count", "", "experts of a layer; empty: a dense model")             \
    X(TOP_K, "moe_topk", "count", "", "experts that a token goes to")                              \
    X(EXPERT_FFN, "moe_ffn", "count", "", "width of an expert; default: ffn")                      \
    X(SHARED_EXPERTS, "shared_experts", "count", "",                                               \
      "shared experts, of another width as \"1 (width 5632)\"")                                    \
    X(ACCELERATOR, "accelerator", "text", "",                                                      \
      "as its vendor or nvidia-smi spells it; its document is found by parts of it (H100, TPU "    \
      "v5p)")                                                                                      \
    X(ACCELERATORS, "n_accel", "count", "",                                                        \
      "accelerators: TPU chips, NeuronCores, half modules of MI250X")                              \
    X(PER_NODE, "gpus_per_node", "count", "",                                                      \
      "accelerators of a node; of a host, in racks that NVLink joins and in slices of TPUs")       \
    X(TP, "tp", "count", "",                                                                       \
      "tensor parallelism; default: the degrees of the fastest step that fits, where dp is "       \
      "missing or leaves ranks over, too")                                                         \
    X(PP, "pp", "count", "", "pipeline parallelism")                                               \
    X(VP, "vpp", "count", "", "virtual pipeline stages per rank")                                  \
    X(CP, "cp", "count", "", "context parallelism")                                                \
    X(EP, "ep", "count", "",                                                                       \
      "expert parallelism; default: as the fastest step that fits, of MaxText 1")                  \
    X(ETP, "etp", "count", "", "tensor parallelism of experts")                                    \
    X(DP, "dp", "count", "",                                                                       \
      "data-parallel replicas, sharded ones included: tp x pp x cp x dp = n_accel")                \
    X(MICRO_BATCH, "mbs", "count", "sequences",                                                    \
      "of a microbatch, of a TPU per device; default: 1 in a pipeline, otherwise the most that "   \
      "fit")                                                                                       \
    X(GLOBAL_BATCH, "gbs", "count", "sequences", "of a step")                                      \
    X(SP, "seq_parallel", "true or false", "", "sequence parallelism")                             \
    X(RECOMPUTE, "recompute", "name", "",                                                          \
      "activation recomputation; default: the least that fits")                                    \
    X(SHARDING, "sharding", "name", "",                                                            \
      "of states over data-parallel ranks: ZeRO-1 is optimizer, ZeRO-2 gradients, ZeRO-3 and "     \
      "FSDP all")                                                                                  \
    X(PRECISION, "precision", "name", "", "of the linear layers")                                  \
    X(FLAGS, "other_flags", "text", "", "words of the source; never read by a prediction")         \
    X(OUTCOME, "outcome", "name", "", "oom: the run ran out of memory; empty: it ran")             \
    X(STEP_SECONDS, "step_time_s", "number", "s", "measured")                                      \
    X(TOKENS_PER_SECOND, "tokens_per_s_per_gpu", "number", "tokens/s",                             \
      "measured, per accelerator")                                                                 \
    X(TFLOPS, "tflops_per_gpu", "number", "TFLOP/s",                                               \
      "as printed; compared where flop_convention is known and no time is printed")                \
    X(MFU, "mfu", "number", "", "likewise, as a share of the peak in bf16")                        \
    X(MEMORY, "peak_mem_gib", "number", "GiB", "measured peak of memory; memory_kind says which")  \
    X(INTERCONNECT, "interconnect", "text", "", "words of the source; never read by a prediction") \
    X(YEAR, "year", "text", "", "of the measurement, or year and month (2024-07)")                 \
    X(TIER, "tier", "text", "",                                                                    \
      "A: all that an estimate needs is known; B: up to four values are not")                      \
    X(SPLIT, "split", "name", "", "fit: constants may be fitted on the row; check: never")         \
    X(NOTES, "notes", "text", "", "never read by a prediction")                                    \
    X(TASK, "task", "name", "", "pretrain, sft or lora; empty: pretrain")                          \
    X(STACK, "stack", "text", "",                                                                  \
      "a name of data/stacks, or a file; default: by framework, release and accelerator")          \
    X(SYSTEM, "system", "text", "",                                                                \
      "a name of data/systems or data/accelerators, or a file; default: by accelerator")           \
    X(ARCHITECTURE, "architecture", "text", "",                                                    \
      "a name of data/models, or a file, for what the row does not print")                         \
    X(FRAMEWORK, "framework", "name", "",                                                          \
      "megatron-core, megatron-lm, megatron-bridge, nemo, megatron-deepspeed, gpt-neox, "          \
      "torchtitan, nemo-automodel, nanotron, llm-foundry, fsdp (other trainers of PyTorch), "      \
      "deepspeed, colossal-ai, maxtext (other trainers of JAX), paxml, mindspeed, neuronx, "       \
      "internevo, paddle; of any other, what is usual on the accelerator, listed as assumed")      \
    X(FRAMEWORK_VERSION, "framework_version", "text", "",                                          \
      "release, as 25.07; default: the release of the year")                                       \
    X(MIXER, "mixer", "name", "",                                                                  \
      "what mixes tokens: attention (default) or hybrid, whose layers are those of architecture, " \
      "or else of the catalogue's model of this name, if it has the sizes printed")                \
    X(COMPILE, "compile", "true or false", "",                                                     \
      "element-wise operators are fused by a compiler; default: true")                             \
    X(FP8_CAST, "fp8_cast", "name", "",                                                            \
      "eager: every operand is quantised by kernels that are not fused; default: fused")           \
    X(FABRIC, "fabric", "name", "",                                                                \
      "efa: nodes are joined by Elastic Fabric Adapters; default: as usual on the accelerator")    \
    X(NETWORK_STATE, "network_state", "name", "",                                                  \
      "slow: collectives at the start of the job reached less than half of the usual rate; "       \
      "default: normal")                                                                           \
    X(COMPOSED, "composed", "true or false", "",                                                   \
      "the time is composed from profiles, without what a step costs once; default: false")        \
    X(SCAN_LAYERS, "scan_layers", "true or false", "",                                             \
      "layers are one compiled loop, across which nothing is scheduled; default: false")           \
    X(CHUNK_OVERLAP, "chunk_overlap", "true or false", "",                                         \
      "interleaved chunks exchange gradients and parameters beside one another; default: as the "  \
      "stack")                                                                                     \
    X(FUSED_ACTIVATION, "fused_activation", "true or false", "",                                   \
      "the activation function is one kernel where the framework has a choice")                    \
    X(DROPOUT, "dropout", "true or false", "",                                                     \
      "dropout in attention and feed-forward layers; default: false")                              \
    X(STAGE_LAYERS, "stage_layers", "list", "",                                                    \
      "layers of each pipeline stage: 6+9+9+8; default: as evenly as the framework spreads them")  \
    X(LAUNCH_BLOCKING, "launch_blocking", "true or false", "",                                     \
      "the host waits for every kernel (CUDA_LAUNCH_BLOCKING=1); default: false")                  \
    X(DISPATCHER, "dispatcher", "name", "",                                                        \
      "alltoall: a token is sent once for each expert; deepep, hybridep: once for each node, in "  \
      "one node once for each rank; default: alltoall of megatron-core, otherwise as the stack")   \
    X(LOSS_FUSION, "loss_fusion", "name", "",                                                      \
      "kernels of Megatron's loss: none, native (of Megatron Core, over a copy in fp32), fused "   \
      "(over the logits); default: as the stack")                                                  \
    X(PERMUTE_FUSION, "permute_fusion", "true or false", "",                                       \
      "tokens of experts are permuted by one kernel each way; default: as the stack")              \
    X(ADAPTER_DROPOUT, "adapter_dropout", "true or false", "",                                     \
      "adapters read their inputs through dropout; default: false")                                \
    X(TILED_MLP, "tiled_mlp", "true or false", "",                                                 \
      "dense networks run tile by tile of the tokens; default: false")                             \
    X(EXPERT_LOOP, "expert_loop", "true or false", "",                                             \
      "experts run one by one, as in transformers before 5; default: grouped products")            \
    X(TRAINER, "trainer", "text", "",                                                              \
      "program that runs the steps, where its framework is not all that matters: litgpt, "         \
      "optimum-habana, fms-acceleration (experts of its ScatterMoE plugin)")                       \
    X(KERNELS, "kernels", "name", "",                                                              \
      "of attention, norms and products where the framework has a choice: transformer-engine, "    \
      "fused (norms and rotations of Liger, Foundation Model Stack); default: the framework's "    \
      "own")                                                                                       \
    X(INFERRED, "inferred", "list", "",                                                            \
      "columns of the row whose values are guesses: \"vpp+vocab\"")                                \
    X(FACTS, "facts", "text", "",                                                                  \
      "facts as pairs, for columns that are empty: loss=liger-fused; frozen_dtype=nf4 "            \
      "(also named new_fact; the pairs below)")                                                    \
    X(UNREAD, "unread", "text", "",                                                                \
      "what the source says besides, in its words; never read by a prediction")

#define RK_RUN_COLUMN_PLACE(place, name, type, unit, meaning) RK_RUN_##place,
typedef enum rk_run_column {
    RK_RUN_COLUMN_LIST(RK_RUN_COLUMN_PLACE) RK_RUN_COLUMN_COUNT
} rk_run_column;
#undef RK_RUN_COLUMN_PLACE

extern const char *const rk_run_column_names[]; /* as in the header; NULL-terminated */

/* Type, unit ("": none) and meaning of a column. */
typedef struct rk_run_column_text {
    const char *name, *type, *unit, *meaning;
} rk_run_column_text;
extern const rk_run_column_text rk_run_column_texts[RK_RUN_COLUMN_COUNT];

/* The bit of a column in a set of columns; 0 of text, which nobody guesses. */
uint64_t rk_run_column_bit(int column);

enum { RK_RUN_FACT_MAX = 112 };

struct rk_run_table {
    char name[256]; /* file, for messages */
    char *text;     /* owned; cut into cells */
    char **cells;   /* owned; rows * columns after the header */
    size_t rows, columns;
    int at[RK_RUN_COLUMN_COUNT];  /* place of a known column; -1: the table lacks it */
    int fact_at[RK_RUN_FACT_MAX]; /* the same, in the order of rk_run_fact_fields */
};

/*
 * Reads a table of the catalogue (data/runs, for example "check"), a file (.csv or .csv.gz), or a
 * text: JSON (rk_csv_of_json, member "rows") or CSV, which has more than one line.  CSV follows
 * RFC 4180 with LF or CRLF, one header.  A fault is RK_ERR_SYNTAX with the line and, as its
 * column, the number of the cell; files above 256 MiB (unpacked) are refused. The caller releases
 * the table with rk_run_table_clear; all zero is an empty one.
 */
rk_status rk_run_table_load(const char *name, rk_run_table *table, rk_error *err);
rk_status rk_run_table_parse(const char *text, size_t size, const char *name, rk_run_table *table,
                             rk_error *err);
void rk_run_table_clear(rk_run_table *table);

/* Cell of a row for a fact, by its place in rk_run_fact_fields. */
const char *rk_run_fact_cell(const rk_run_table *table, size_t row, size_t fact);

/* Cell of a row (0-based, the header not counted); "" where the table lacks the column. */
const char *rk_run_cell(const rk_run_table *table, size_t row, rk_run_column column);

/* A number of a row, and where it goes. */
typedef struct rk_run_whole_number {
    rk_run_column column;
    int64_t *place;
} rk_run_whole_number;

/*
 * A cell that holds a count or a measure: a finite number of at least 0, or nothing (*value keeps
 * what it had).  Anything else is RK_ERR_INVALID, naming the row and the column.
 */
rk_status rk_run_number(const rk_run_table *table, size_t row, rk_run_column column, double *value,
                        rk_error *err);

/*
 * Refuses a table that lacks columns without which no row can be a run, or that has columns which
 * look like misspelt ones it lacks; the message names them all.  Other unknown columns are ignored.
 */
rk_status rk_run_table_check(const rk_run_table *table, rk_error *err);

/* The next column of the header from `place` on that means nothing; moves *place; NULL: none. */
const char *rk_run_column_ignored(const rk_run_table *table, size_t *place);

/* Whether the table has a column of outcomes. */
#define RK_RUN_MEASURES                                                                            \
    "step_time_s", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu", "peak_mem_gib", "outcome",     \
        "out_of_memory"
bool rk_run_table_measures(const rk_run_table *table);

/* Whether `text` contains `part`, letters of either case alike. */
bool rk_run_contains(const char *text, const char *part);

#endif
