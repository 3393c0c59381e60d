/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeepSpeed by its configuration: of a launch of the Hugging Face family, or by itself.  Source:
 * deepspeedai/DeepSpeed deepspeed/runtime/zero/config.py and runtime/config.py.
 */
#include "base/units.h"
#include "launch/hugging_face.h"
#include "launch/launch_parts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- DeepSpeed ------------------------------------------------------------------------------- */

void rk_hf_take_nvme(rk_launch *launch, const char *key, const char *what)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    if (by && by->value && strcasecmp(by->value, "nvme") == 0) {
        rk_hf_add_part(launch, "nvme", what, by);
    }
}

void rk_hf_take_device(rk_launch *launch, const char *key, const char *what)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    if (by && by->value && strcasecmp(by->value, "none") != 0) {
        rk_hf_add_offload(launch, what, by);
        rk_hf_take_nvme(launch, key, what);
    }
}

const char *rk_hf_overlap_of(int64_t stage, bool on)
{
    return !on || stage == 0 ? "none" : stage == 3 ? "grad+param" : "grad";
}

static void state_zero(rk_launch *launch)
{
    const char *key = rk_launch_has(launch, "zero_optimization") ? "zero_optimization"
                                                                 : "zero_optimization.stage";
    const rk_launch_key *by = rk_launch_find(launch, key);
    const double number = rk_launch_number(launch, "zero_optimization.stage", 0);
    const bool first = rk_launch_is_on(launch, "zero_optimization", false); /* of old releases */
    const int64_t stage = number >= 0 && number <= 3 && !first ? (int64_t)number : first;
    const bool overlap = rk_launch_is_on(launch, "zero_optimization.overlap_comm", stage == 3);
    rk_launch_state_count(launch, "zero", stage, by ? RK_FACT_STATED : RK_FACT_DERIVED, by);
    rk_hf_take_device(launch, "zero_optimization.offload_optimizer.device", "optimizer");
    rk_hf_take_device(launch, "zero_optimization.offload_param.device", "weights");
    if (rk_launch_is_on(launch, "zero_optimization.cpu_offload", false)) {
        rk_hf_add_offload(launch, "optimizer",
                          rk_launch_find(launch, "zero_optimization.cpu_offload"));
    }
    if (rk_launch_is_on(launch, "zero_optimization.cpu_offload_param", false)) {
        rk_hf_add_offload(launch, "weights",
                          rk_launch_find(launch, "zero_optimization.cpu_offload_param"));
    }
    rk_launch_state_by(launch, "overlap", rk_hf_overlap_of(stage, overlap),
                       "zero_optimization.overlap_comm");
}

void rk_hf_take_degree(rk_launch *launch, const char *key, const char *field)
{
    const double degree = rk_launch_number(launch, key, 0);
    if (degree > 1 && degree <= INT32_MAX) {
        rk_launch_state_count_by(launch, field, (int64_t)degree, key);
    }
}

void rk_hf_state_ulysses(rk_launch *launch, const char *key)
{
    rk_hf_take_degree(launch, key, "cp");
    if (rk_launch_number(launch, key, 0) > 1) {
        rk_launch_state(launch, "cp_kind", "ulysses", RK_FACT_DERIVED, rk_launch_find(launch, key));
    }
}

/* Values that the trainer fills in: the batch is its own, buffers follow the width of the model. */
static void take_auto(rk_launch *launch)
{
    static const char *const starts[] = {"zero_optimization.", "train_", "optimizer.params.",
                                         "scheduler.params."};
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        bool own = false;
        for (size_t s = 0; s < COUNT(starts); s++) {
            own |= strncmp(key->name, starts[s], strlen(starts[s])) == 0;
        }
        if (own && key->use == RK_KEY_UNREAD && key->value && strcmp(key->value, "auto") == 0) {
            key->use = RK_KEY_WITHOUT_COST;
        }
    }
}

/* States and recomputation that a configuration names in addition to the stage. */
static void state_states(rk_launch *launch)
{
    static const char *const masters[] = {"bf16.bf16_master_weights_and_grads",
                                          "fp16.fp16_master_weights_and_grads"};
    static const char *const types[] = {"bf16", "fp16"};
    for (size_t i = 0; i < COUNT(masters); i++) {
        if (rk_launch_is_on(launch, masters[i], false)) {
            const rk_launch_key *by = rk_launch_find(launch, masters[i]);
            rk_launch_state(launch, "states.main_params", types[i], RK_FACT_STATED, by);
            rk_launch_state(launch, "gradients", types[i], RK_FACT_STATED, by);
        }
    }
    if (rk_launch_is_on(launch, "bf16.bf16_optimizer_states", false)) {
        const rk_launch_key *by = rk_launch_find(launch, "bf16.bf16_optimizer_states");
        rk_launch_state(launch, "states.exp_avg", "bf16", RK_FACT_STATED, by);
        rk_launch_state(launch, "states.exp_avg_sq", "bf16", RK_FACT_STATED, by);
    }
    if (rk_launch_number(launch, "pipeline.activation_checkpoint_interval", 0) > 0) {
        rk_launch_state_by(launch, "recompute.granularity", "full",
                           "pipeline.activation_checkpoint_interval");
    }
}

/* MiCS shards within groups of ranks; the groups are replicas of each other. */
static void state_mics(rk_launch *launch)
{
    static const char key[] = "zero_optimization.mics_shard_size";
    const double size = rk_launch_number(launch, key, 0);
    const int64_t processes = rk_launch_count_of(launch, "processes");
    if (size < 1 || size > INT32_MAX) {
        return;
    }
    if (processes > 0 && processes % (int64_t)size == 0) {
        rk_launch_state_count(launch, "hsdp", processes / (int64_t)size, RK_FACT_DERIVED,
                              rk_launch_find(launch, key));
    } else {
        rk_launch_mark(launch, key, RK_KEY_NOT_PRICED,
                       "MiCS shards within groups of ranks; how many there are is not known");
    }
}

void rk_hf_state_deepspeed(rk_launch *launch)
{
    take_auto(launch);
    rk_launch_state(launch, "framework", "deepspeed", RK_FACT_DERIVED, NULL);
    state_zero(launch);
    state_states(launch);
    rk_launch_derive(launch); /* the number of processes */
    state_mics(launch);
    rk_hf_state_switch(launch, "fp16.enabled", "precision", "fp16");
    rk_hf_state_switch(launch, "bf16.enabled", "precision", "bf16");
    rk_hf_take_degree(launch, "tensor_parallel.autotp_size", "tp");
    rk_hf_take_degree(launch, "pipeline.stages", "pp");
    rk_hf_state_ulysses(launch, "sequence_parallel_size");
    if (!rk_launch_is_on(launch, "compile.disable", true)) {
        rk_launch_state(launch, "compile", "true", RK_FACT_DERIVED,
                        rk_launch_find(launch, "compile.disable"));
        (void)rk_launch_value(launch, "compile.backend");
    }
    const char *gradients =
        rk_launch_precision_name(rk_launch_value(launch, "data_types.grad_accum_dtype"));
    if (gradients) {
        rk_launch_state_by(launch, "gradients", gradients, "data_types.grad_accum_dtype");
    }
}

/* Source: HfTrainerDeepSpeedConfig of transformers, which refuses sizes that differ. */
void rk_hf_class_batch(rk_launch *launch)
{
    static const char *const sizes[][2] = {{"train_batch_size", "global_batch"},
                                           {"train_micro_batch_size_per_gpu", "micro_batch"},
                                           {"gradient_accumulation_steps", "accumulation"}};
    for (size_t i = 0; i < COUNT(sizes) && rk_launch_fact_of(launch, "micro_batch"); i++) {
        rk_launch_key *key = rk_launch_key_of(launch, sizes[i][0]);
        double size = 0;
        if (key && key->use == RK_KEY_UNREAD && key->value) {
            const int64_t own = rk_launch_count_of(launch, sizes[i][1]);
            const bool same = own == 0 || !rk_launch_read_number(key->value, &size) ||
                              size == (double)own; /* "auto" is filled in */
            key->use = same ? RK_KEY_WITHOUT_COST : RK_KEY_NOT_PRICED;
            key->note = same ? "repeats the options of the program"
                             : "contradicts the options of the program, which are priced";
        }
    }
}

/* ---- files that are not there ---------------------------------------------------------------- */

const char *rk_hf_plain_name(rk_launch *launch, const char *path)
{
    const char *name = rk_launch_base_name(path), *dot = strrchr(name, '.');
    return dot ? rk_launch_keep_part(launch, name, (size_t)(dot - name)) : name;
}

static const rk_hf_preset *find_preset(const rk_hf_preset *presets, const char *name)
{
    for (size_t i = 0; presets && presets[i].name; i++) {
        if (strcmp(presets[i].name, name) == 0) {
            return &presets[i];
        }
    }
    return NULL;
}

/* "zero3", "z2", "stage_1" */
int rk_hf_stage_of_name(const char *name)
{
    static const char *const words[] = {"zero", "stage", "z"};
    for (size_t i = 0; i < COUNT(words); i++) {
        const size_t length = strlen(words[i]);
        for (const char *at = name; *at; at++) {
            if (strncasecmp(at, words[i], length) == 0) {
                const char *digit = at + length + strspn(at + length, "_-");
                if (*digit >= '0' && *digit <= '3' && !isdigit((unsigned char)digit[1])) {
                    return *digit - '0';
                }
            }
        }
    }
    return -1;
}

static void state_preset(rk_launch *launch, const rk_hf_preset *preset, const rk_launch_key *by)
{
    rk_launch_state(launch, "framework", "deepspeed", RK_FACT_DERIVED, by);
    rk_launch_state_count(launch, "zero", preset->stage, RK_FACT_DERIVED, by);
    rk_launch_state(launch, "overlap", rk_hf_overlap_of(preset->stage, preset->overlap),
                    RK_FACT_DERIVED, by);
    if (preset->offload) {
        rk_launch_state(launch, "offload", preset->offload, RK_FACT_DERIVED, by);
    }
}

static void state_by_name(rk_launch *launch, const char *key, const rk_hf_preset *presets)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    const char *name = rk_hf_plain_name(launch, by->value);
    const rk_hf_preset *known = find_preset(presets, name);
    const int stage = rk_hf_stage_of_name(name);
    if (known) {
        state_preset(launch, known, by);
        return;
    }
    if (stage >= 0) {
        const bool offloads =
            rk_hf_has_part(name, "offload") && !rk_hf_has_part(name, "no_offload");
        const rk_hf_preset guess = {name, stage,
                                    !offloads    ? NULL
                                    : stage == 3 ? "optimizer+weights"
                                                 : "optimizer",
                                    stage == 3};
        state_preset(launch, &guess, by);
        rk_launch_mark(launch, key, RK_KEY_NOT_PRICED,
                       rk_launch_format(launch,
                                        "%s is not here: ZeRO stage and offload are read from its "
                                        "name",
                                        by->value));
        return;
    }
    rk_launch_drop(launch, "zero");
    rk_launch_state(launch, "framework", "deepspeed", RK_FACT_DERIVED, by);
    rk_launch_mark(launch, key, RK_KEY_NOT_PRICED,
                   rk_launch_format(launch,
                                    "%s is not here: put it next to the launch, or give the ZeRO "
                                    "stage",
                                    by->value));
}

/* Adds the object under a key of one of the documents as one more document. */
static bool open_inner(rk_launch *launch, const char *key)
{
    for (size_t i = 0; i < launch->document_count; i++) {
        json_t *inner = json_object_get(launch->documents[i].root, key);
        if (json_is_object(inner)) {
            const size_t count = launch->document_count;
            rk_launch_mark(launch, rk_launch_format(launch, "%s.", key), RK_KEY_USED, NULL);
            rk_launch_add_document(launch, "deepspeed", json_incref(inner));
            if (launch->document_count > count) {
                rk_launch_flatten_document(launch, count);
            }
            return true;
        }
    }
    return false;
}

rk_status rk_hf_take_deepspeed(rk_launch *launch, const char *key, const rk_hf_preset *presets,
                               rk_error *err)
{
    bool found = rk_launch_document_of(launch, "deepspeed") || open_inner(launch, key);
    const char *path = rk_launch_value(launch, key);
    if (!found && !path) {
        return RK_OK;
    }
    if (!found && !find_preset(presets, path)) {
        const rk_status status = rk_launch_open_named(launch, path, &found, err);
        if (status) {
            return status;
        }
    }
    if (found) {
        rk_hf_state_deepspeed(launch);
    } else {
        state_by_name(launch, key, presets);
    }
    return RK_OK;
}
