/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of configuration files: defaults, data types, references, built models. */
#ifndef RK_LAUNCH_READER_KIT_H
#define RK_LAUNCH_READER_KIT_H

#include "base/named.h"
#include "launch/launch.h"

/* Assumes a value where none is known, be it of another default. */
void rk_launch_assume_open(rk_launch *launch, const char *field, const char *value);

/* Facts of a framework that says nothing else, by field. */
void rk_launch_assume_all(rk_launch *launch, const rk_named_text *defaults, size_t count);

/* Assumes a size that follows from another; nothing if that is unknown, 0. */
void rk_launch_assume_size(rk_launch *launch, const char *field, int64_t value);

/* States a count that follows from others; nothing if that is unknown, 0. */
void rk_launch_derive_count(rk_launch *launch, const char *field, int64_t value);

/* The value of a key, or `usual` where it has none. */
const char *rk_launch_value_or(rk_launch *launch, const char *key, const char *usual);

/* A copy in lower case, "" of NULL. */
const char *rk_launch_lower(rk_launch *launch, const char *text);

/* bf16, fp16 or fp32 of "bfloat16", "torch.bfloat16", "float32", "amp_bf16"; NULL: no type by name
 * ("auto"). */
const char *rk_launch_precision_name(const char *type);

/* The same; of another type its last part. */
const char *rk_launch_data_type(rk_launch *launch, const char *text);

/* The last part of a dotted name: "AdamW" of "torch.optim.AdamW". */
const char *rk_launch_last_part(const char *dotted);

/*
 * Replaces ${a.b} and ${.b} in the values of keys by the values of the keys that they name, and
 * ${oc.env:X,default} by the default, as OmegaConf does.  Names that it cannot resolve stay.
 */
void rk_launch_interpolate(rk_launch *launch);

/* Leaves out the beginning of the names of keys: "modules.trainer.training.steps". */
void rk_launch_shorten_keys(rk_launch *launch, const char *start);

/*
 * Opens the file of a launch that has no document, for readers' `prepare`; a path of NULL is none.
 * A file that is not there is an error.
 */
rk_status rk_launch_open_config(rk_launch *launch, const char *path, rk_error *err);

/* Refuses a launch whose configuration was not found among its words. */
rk_status rk_launch_require_document(const rk_launch *launch, bool found, rk_error *err);

/*
 * States name and shape of a model that a framework builds by a name of its own ("llama3 8B",
 * "llama3_1.llama3_1_8b"), from data/launch_models/TABLE.csv and the catalogue.  Where the table
 * lacks the name, that is model.name and nothing more is stated: false.
 */
bool rk_launch_state_built_model(rk_launch *launch, const char *table, const char *name,
                                 const rk_launch_key *by);

/*
 * States the accelerators that the degrees need together, and the nodes, if the launch does not say
 * them.  Launchers default to one node: degrees that need more imply more.
 */
void rk_launch_state_processes(rk_launch *launch);

/* Names the key that would state the length of sequences; without it their length is the data's. */
void rk_launch_ask_sequence(rk_launch *launch, const char *key);

/*
 * States recomputation under a budget of activations, which the compiler spends: with a half or
 * more it recomputes cheap operators, all but matrix products and attention, and with less
 * everything.
 */
void rk_launch_state_budget(rk_launch *launch, const char *key, double usual,
                            const rk_launch_key *mode);

/*
 * Names how sequences of several examples are priced: without packing each example is a whole
 * sequence, and with packing attention spans the sequence even if examples see only themselves
 * (`masked`).
 */
void rk_launch_name_packing(rk_launch *launch, const char *key, bool masked);

/* States sequences of a number of tokens, rounded down; nothing where either is not known. */
void rk_launch_state_sequences(rk_launch *launch, const char *field, double tokens, double seq,
                               rk_fact_origin origin, const rk_launch_key *by);

#endif
