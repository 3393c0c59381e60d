/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the readers of the Hugging Face family: the Trainer, TRL, axolotl, LLaMA-Factory,
 * ms-swift and accelerate.  They share one trainer, so a model, an optimizer, adapters
 * and sharding mean the same everywhere; only the keys differ.
 */
#ifndef RK_LAUNCH_HUGGING_FACE_H
#define RK_LAUNCH_HUGGING_FACE_H

#include "launch/launch.h"
#include "launch/reader_kit.h"

/* The framework of a launch that neither DeepSpeed nor Megatron runs. */
#define RK_HF_FRAMEWORK "huggingface"

/* Why keys of adapters cost nothing. */
#define RK_HF_NO_ADAPTERS "has no effect without adapters"

/* ---- the trainer ----------------------------------------------------------------------------- */

/* Degrees that are 1 where nothing says otherwise, no sharding, no offload, no compiler. */
void rk_hf_assume_layout(rk_launch *launch);

/* States a fact where a switch is on. */
void rk_hf_state_switch(rk_launch *launch, const char *key, const char *field, const char *value);

/* States the count that a key gives, from 1 to INT32_MAX; false: it gives none. */
bool rk_hf_state_count(rk_launch *launch, const char *key, const char *field);

/* The model that a key names, and its shape where the catalogue has it. */
void rk_hf_state_model(rk_launch *launch, const char *key);

/* Sizes that a key changes in the configuration of the model: "n_layer=12,n_embd=768". */
void rk_hf_take_overrides(rk_launch *launch, const char *key);

/* Micro-batches per step, from a key whose value may be "auto". */
void rk_hf_state_accumulation(rk_launch *launch, const char *key, int64_t usual);

/* The optimizer by its name in transformers: "adamw_bnb_8bit" is adam-8bit. */
void rk_hf_state_optimizer(rk_launch *launch, const char *key, const char *usual);

/* Rank of the adapters and what they train; `modules` is a key, or NULL. */
void rk_hf_state_adapters(rk_launch *launch, const char *rank, int64_t usual, const char *modules);

/* Whether adapters drop elements of their inputs: a share of `usual` unless the launch says
 * another.
 */
void rk_hf_state_adapter_dropout(rk_launch *launch, double usual);

/* Whether the scales of a base in 4 bits are quantised again, by a key or by default. */
void rk_hf_state_nested(rk_launch *launch, const char *key, bool usual);

/* Recomputation of whole layers, or none. */
void rk_hf_state_recompute(rk_launch *launch, bool on, const char *key);

/* The defaults of a trainer of the family. */
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

/* Whether a text contains a part, ignoring case. */
bool rk_hf_has_part(const char *text, const char *part);

/* The type of the weights that train; `by` may be NULL. */
void rk_hf_state_weights(rk_launch *launch, const char *type, const rk_launch_key *by);

/*
 * The objective by its name ("sft", "dpo", "grpo", "rm").  If it needs generation, pairs or other
 * models, states it and adds a key that says what is not priced.
 */
void rk_hf_state_objective(rk_launch *launch, const char *name);

/* Adds a word to a fact that is a list, unless it is there. */
void rk_hf_add_part(rk_launch *launch, const char *field, const char *what,
                    const rk_launch_key *by);

/* Adds a word of what is offloaded: "optimizer", "weights", "activations". */
void rk_hf_add_offload(rk_launch *launch, const char *what, const rk_launch_key *by);

/* Whether one of the documents has a member; for recognition, before there are keys. */
bool rk_hf_document_has(const rk_launch *launch, const char *member);

/* Opens the file of options that a line names; not if it is NULL or there are documents. */
rk_status rk_hf_open_options(rk_launch *launch, const char *path, rk_error *err);

/* The place of a word among the words, by its file name; word_count: it is not there. */
size_t rk_hf_find_word(const rk_launch *launch, const char *word);

/* The number that an assignment before the program gives to a variable, "NNODES=2"; 0: none. */
int64_t rk_hf_environment(const rk_launch *launch, const char *variable);

/* Nodes and accelerators of each from NNODES and NPROC_PER_NODE; without the latter from the
 * visible devices if the program uses them all (`visible`). */
void rk_hf_state_environment(rk_launch *launch, bool visible);

/* ---- sharding -------------------------------------------------------------------------------- */

/* A configuration that a framework ships, by its file name without folders and ending. */
typedef struct rk_hf_preset {
    const char *name;
    int stage;           /* of ZeRO; FSDP is 3 */
    const char *offload; /* "optimizer+weights"; NULL: none */
    bool overlap; /* stages 1 and 2 reduce during the backward pass, stage 3 gathers ahead too */
} rk_hf_preset;

/*
 * The DeepSpeed configuration under `key`: an object of the launch's own file, a file next to the
 * launch, a name of `presets` (which ends with a row without a name, or is NULL), or a missing file
 * whose name says the stage.
 */
rk_status rk_hf_take_deepspeed(rk_launch *launch, const char *key, const rk_hf_preset *presets,
                               rk_error *err);

/* States a degree whose key is above 1. */
void rk_hf_take_degree(rk_launch *launch, const char *key, const char *field);

/* States a degree of Ulysses. */
void rk_hf_state_ulysses(rk_launch *launch, const char *key);

/* Adds `what` to what lies on NVMe disks, where the device of a key is that. */
void rk_hf_take_nvme(rk_launch *launch, const char *key, const char *what);

/* States the offload of `what` to the device of a key: none, cpu or nvme. */
void rk_hf_take_device(rk_launch *launch, const char *key, const char *what);

/* The overlap at a stage of ZeRO: stage 3 also gathers weights ahead. */
const char *rk_hf_overlap_of(int64_t stage, bool on);

/* The name of a file without its folders and its ending. */
const char *rk_hf_plain_name(rk_launch *launch, const char *path);

/* The stage of ZeRO in the name of a file; -1: none. */
int rk_hf_stage_of_name(const char *name);

/* States the keys of a DeepSpeed configuration. */
void rk_hf_state_deepspeed(rk_launch *launch);

/* Classes the batch sizes of a DeepSpeed configuration, which repeat options of the program. */
void rk_hf_class_batch(rk_launch *launch);

/* States the flags of `accelerate launch`, and its file or a known one. */
rk_status rk_hf_take_accelerate(rk_launch *launch, rk_error *err);

/* States the keys of a file of accelerate. */
rk_status rk_hf_state_accelerate(rk_launch *launch, rk_error *err);

/* FSDP as the Trainer writes it: words ("full_shard auto_wrap") and a configuration. */
rk_status rk_hf_take_fsdp(rk_launch *launch, const char *words, const char *config, rk_error *err);

/*
 * What trainers with the arguments of Hugging Face begin with: their layout, and the files of
 * accelerate, DeepSpeed (`presets` as above) and FSDP.
 */
rk_status rk_hf_take_files(rk_launch *launch, const rk_hf_preset *presets, rk_error *err);

/* Completes framework, overlap and types of states; call it after all of the above. */
void rk_hf_finish_sharding(rk_launch *launch);

#endif
