/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the readers of the Hugging Face family: the Trainer, TRL, axolotl, LLaMA-Factory,
 * ms-swift and accelerate.  One trainer stands behind them, so what they mean by a model, an
 * optimizer, adapters and sharding is the same; only the keys differ.
 */
#ifndef RK_LAUNCH_HUGGING_FACE_H
#define RK_LAUNCH_HUGGING_FACE_H

#include "launch/launch.h"

/* ---- what the trainer does ------------------------------------------------------------------- */

/* Degrees that are 1 where nothing says otherwise, no sharding, no offload, no compiler. */
void rk_hf_assume_layout(rk_launch *launch);

/* Assumes a value where none is known, be it of another default. */
void rk_hf_assume_open(rk_launch *launch, const char *field, const char *value);

/* The model that a key names, and its shape where the catalogue has it. */
void rk_hf_state_model(rk_launch *launch, const char *key);

/* Micro-batches per step, from a key whose value may be "auto". */
void rk_hf_state_accumulation(rk_launch *launch, const char *key, int64_t usual);

/* The optimizer by its name in transformers: "adamw_bnb_8bit" is adam-8bit. */
void rk_hf_state_optimizer(rk_launch *launch, const char *key, const char *usual);

/* Rank of the adapters and what they train; `modules` is a key, or NULL. */
void rk_hf_state_adapters(rk_launch *launch, const char *rank, int64_t usual, const char *modules);

/* Recomputation of whole layers, or none. */
void rk_hf_state_recompute(rk_launch *launch, bool on, const char *key);

/* What a trainer of the family does where its options do not say otherwise. */
typedef struct rk_hf_trainer {
    int64_t micro_batch;
    bool bf16, recompute;
    bool steps_stated; /* the reader has stated micro-steps itself */
} rk_hf_trainer;

/*
 * The options that all trainers of the family share: batch, optimizer, precision, recomputation,
 * compiler, loss, attention.
 */
void rk_hf_state_trainer(rk_launch *launch, const rk_hf_trainer *usual);

/* TF32, which matters to fp32 alone; after the precision is known. */
void rk_hf_take_tf32(rk_launch *launch);

/* A program that plain Python runs is one process. */
void rk_hf_state_single(rk_launch *launch);

/* Whether the launch is written for a release before major.minor; false: none is named. */
bool rk_hf_is_before(const rk_launch *launch, int major, int minor);

/* Whether a text has a part, whatever their case. */
bool rk_hf_has_part(const char *text, const char *part);

/* The type of the weights that train; `by` may be NULL. */
void rk_hf_state_weights(rk_launch *launch, const char *type, const rk_launch_key *by);

/* "bf16" of "bfloat16", "torch.bfloat16"; NULL: no type by name ("auto"). */
const char *rk_hf_precision_name(const char *type);

/*
 * What is trained for, by its name ("sft", "dpo", "grpo", "rm"): where other models or generation
 * belong to it, the objective is stated and a key says what is not priced.
 */
void rk_hf_state_objective(rk_launch *launch, const char *name);

/* Says which key is missing where the length of sequences is that of the data. */
void rk_hf_ask_sequence(rk_launch *launch, const char *key);

/* Adds a word of what is offloaded: "optimizer", "weights", "activations". */
void rk_hf_add_offload(rk_launch *launch, const char *what, rk_fact_origin origin,
                       const rk_launch_key *by);

/* Whether one of the documents has a member; for recognition, before there are keys. */
bool rk_hf_document_has(const rk_launch *launch, const char *member);

/* Opens the file that a line takes its options from; NULL, and where there are documents: none. */
rk_status rk_hf_open_options(rk_launch *launch, const char *path, rk_error *err);

/* The place of a word among the words, by its file name; word_count: it is not there. */
size_t rk_hf_find_word(const rk_launch *launch, const char *word);

/* The number that an assignment before the program gives to a variable, "NNODES=2"; 0: none. */
int64_t rk_hf_environment(const rk_launch *launch, const char *variable);

/* Nodes and accelerators of each from NNODES and NPROC_PER_NODE, and from the devices that are
 * visible where `visible` says that the program takes all of them. */
void rk_hf_state_environment(rk_launch *launch, bool visible);

/* ---- what shards ----------------------------------------------------------------------------- */

/* A configuration that a framework ships, by its file name without folders and ending. */
typedef struct rk_hf_preset {
    const char *name;
    int stage;           /* of ZeRO; FSDP is 3 */
    const char *offload; /* "optimizer+weights"; NULL: none */
    bool overlap;        /* stages 1 and 2 reduce beside the backward pass */
} rk_hf_preset;

/*
 * The DeepSpeed configuration under `key`: an object of the launch's own file, a file beside the
 * launch, a name of `presets` (which a row without a name ends), or a file that is not there, whose
 * name has to tell the stage.
 */
rk_status rk_hf_take_deepspeed(rk_launch *launch, const char *key, const rk_hf_preset *presets,
                               rk_error *err);

/* Parts of these that several of them need: a degree whose key is above 1, */
void rk_hf_take_degree(rk_launch *launch, const char *key, const char *field);

/* a degree of Ulysses, */
void rk_hf_state_ulysses(rk_launch *launch, const char *key);

/* a device, none, cpu or nvme, to which `what` is offloaded, */
void rk_hf_take_device(rk_launch *launch, const char *key, const char *what);

/* what overlaps at a stage of ZeRO: of 3 weights are gathered ahead, too, */
const char *rk_hf_overlap_of(int64_t stage, bool on);

/* the name of a file without its folders and its ending, and the stage that it tells; -1: none. */
const char *rk_hf_plain_name(rk_launch *launch, const char *path);
int rk_hf_stage_of_name(const char *name);

/* What the keys of a DeepSpeed configuration say. */
void rk_hf_state_deepspeed(rk_launch *launch);

/* What `accelerate launch` says before the program: its file or a known one, and its flags. */
rk_status rk_hf_take_accelerate(rk_launch *launch, rk_error *err);

/* What the keys of a file of accelerate say. */
rk_status rk_hf_state_accelerate(rk_launch *launch, rk_error *err);

/* FSDP as the Trainer writes it: words ("full_shard auto_wrap") and a configuration. */
rk_status rk_hf_take_fsdp(rk_launch *launch, const char *words, const char *config, rk_error *err);

/* Whose rules hold, and what overlaps where nothing said so: after all of the above. */
void rk_hf_finish_sharding(rk_launch *launch);

#endif
