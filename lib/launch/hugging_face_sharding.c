/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What shards a job of the Hugging Face family: DeepSpeed by its configuration, FSDP, or neither.
 * Sources: deepspeedai/DeepSpeed deepspeed/runtime/zero/config.py and runtime/config.py,
 * huggingface/accelerate src/accelerate/utils/dataclasses.py and commands/launch.py.
 */
#include "base/text.h"
#include "launch/hugging_face.h"
#include "launch/launch_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define OFFLOAD_TO_NVME "offload to NVMe is priced as offload to the host"

/* ---- DeepSpeed ------------------------------------------------------------------------------- */

/* Offload of one kind of state: none, cpu or nvme. */
static void take_device(rk_launch *launch, const char *key, const char *what)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    const char *device = by ? by->value : NULL;
    if (!device || strcasecmp(device, "none") == 0) {
        return;
    }
    rk_hf_add_offload(launch, what, RK_FACT_STATED, by);
    if (strcasecmp(device, "nvme") == 0) {
        rk_launch_mark(launch, key, RK_KEY_NOT_PRICED, OFFLOAD_TO_NVME);
    }
}

/* Of stage 3 the gathers of weights are fetched ahead, too; what stage 0 reduces, it does last. */
static const char *overlap_of(int64_t stage, bool on)
{
    return !on || stage == 0 ? "none" : stage == 3 ? "grad+param" : "grad";
}

static void state_zero(rk_launch *launch)
{
    const rk_launch_key *by = rk_launch_find(launch, "zero_optimization.stage");
    const double number = rk_launch_number(launch, "zero_optimization.stage", 0);
    const int64_t stage = number >= 0 && number <= 3 ? (int64_t)number : 0;
    const bool overlap = rk_launch_is_on(launch, "zero_optimization.overlap_comm", stage == 3);
    rk_launch_state_count(launch, "zero", stage, by ? RK_FACT_STATED : RK_FACT_DERIVED, by);
    take_device(launch, "zero_optimization.offload_optimizer.device", "optimizer");
    take_device(launch, "zero_optimization.offload_param.device", "weights");
    if (rk_launch_is_on(launch, "zero_optimization.cpu_offload", false)) {
        rk_hf_add_offload(launch, "optimizer", RK_FACT_STATED,
                          rk_launch_find(launch, "zero_optimization.cpu_offload"));
    }
    if (rk_launch_is_on(launch, "zero_optimization.cpu_offload_param", false)) {
        rk_hf_add_offload(launch, "weights", RK_FACT_STATED,
                          rk_launch_find(launch, "zero_optimization.cpu_offload_param"));
    }
    rk_launch_state(launch, "overlap", overlap_of(stage, overlap), RK_FACT_STATED,
                    rk_launch_find(launch, "zero_optimization.overlap_comm"));
}

/* A degree whose key is there and above 1. */
static void take_degree(rk_launch *launch, const char *key, const char *field)
{
    const double degree = rk_launch_number(launch, key, 0);
    if (degree > 1 && degree <= INT32_MAX) {
        rk_launch_state_count(launch, field, (int64_t)degree, RK_FACT_STATED,
                              rk_launch_find(launch, key));
    }
}

static void state_ulysses(rk_launch *launch, const char *key)
{
    take_degree(launch, key, "cp");
    if (rk_launch_number(launch, key, 0) > 1) {
        rk_launch_state(launch, "cp_kind", "ulysses", RK_FACT_DERIVED, rk_launch_find(launch, key));
    }
}

static void state_precision(rk_launch *launch, const char *key, const char *precision)
{
    const char *value = rk_launch_value(launch, key);
    const char *truth = value ? rk_launch_truth_text(value) : NULL;
    if (truth && strcmp(truth, "true") == 0) {
        rk_launch_state(launch, "precision", precision, RK_FACT_STATED,
                        rk_launch_find(launch, key));
    }
}

/* Values that the trainer fills in: the batch is its own, buffers follow the width of the model. */
static void take_auto(rk_launch *launch)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        const bool own = strncmp(key->name, "zero_optimization.", 18) == 0 ||
                         strncmp(key->name, "train_", 6) == 0 ||
                         strncmp(key->name, "optimizer.params.", 17) == 0 ||
                         strncmp(key->name, "scheduler.params.", 17) == 0;
        if (own && key->use == RK_KEY_UNREAD && key->value && strcmp(key->value, "auto") == 0) {
            key->use = RK_KEY_WITHOUT_COST;
        }
    }
}

/* States and recomputation that a configuration names beside the stage. */
static void state_states(rk_launch *launch)
{
    static const char *const masters[] = {"bf16.bf16_master_weights_and_grads",
                                          "fp16.fp16_master_weights_and_grads"};
    static const char *const types[] = {"bf16", "fp16"};
    for (size_t i = 0; i < sizeof(masters) / sizeof(masters[0]); i++) {
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
        rk_launch_state(launch, "recompute.granularity", "full", RK_FACT_STATED,
                        rk_launch_find(launch, "pipeline.activation_checkpoint_interval"));
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
    state_precision(launch, "fp16.enabled", "fp16");
    state_precision(launch, "bf16.enabled", "bf16");
    take_degree(launch, "tensor_parallel.autotp_size", "tp");
    take_degree(launch, "pipeline.stages", "pp");
    state_ulysses(launch, "sequence_parallel_size");
    if (!rk_launch_is_on(launch, "compile.disable", true)) {
        rk_launch_state(launch, "compile", "true", RK_FACT_DERIVED,
                        rk_launch_find(launch, "compile.disable"));
        (void)rk_launch_value(launch, "compile.backend");
    }
    const char *gradients =
        rk_hf_precision_name(rk_launch_value(launch, "data_types.grad_accum_dtype"));
    if (gradients) {
        rk_launch_state(launch, "gradients", gradients, RK_FACT_STATED,
                        rk_launch_find(launch, "data_types.grad_accum_dtype"));
    }
}

/* ---- files that are not there ---------------------------------------------------------------- */

/* The name of a file without its folders and its ending. */
static const char *plain_name(rk_launch *launch, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
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

/* The stage that a name tells: "zero3", "z2", "stage_1"; -1: none. */
static int stage_of_name(const char *name)
{
    static const char *const words[] = {"zero", "stage", "z"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
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
    rk_launch_state(launch, "overlap", overlap_of(preset->stage, preset->overlap), RK_FACT_DERIVED,
                    by);
    if (preset->offload) {
        rk_launch_state(launch, "offload", preset->offload, RK_FACT_DERIVED, by);
    }
}

static void state_by_name(rk_launch *launch, const char *key, const rk_hf_preset *presets)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    const char *name = plain_name(launch, by->value);
    const rk_hf_preset *known = find_preset(presets, name);
    const int stage = stage_of_name(name);
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
                                    "%s is not here: put it beside the launch, or give the ZeRO "
                                    "stage",
                                    by->value));
}

/* An object under a key of one of the launch's documents, as a document of its own. */
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

/* ---- FSDP ------------------------------------------------------------------------------------ */

/* Stage of ZeRO that a sharding strategy of FSDP is, by its name or its number. */
static int stage_of_strategy(const char *strategy)
{
    static const struct {
        const char *name, *number;
        int stage;
    } strategies[] = {
        {"FULL_SHARD", "1", 3},         {"SHARD_GRAD_OP", "2", 2}, {"NO_SHARD", "3", 0},
        {"HYBRID_SHARD_ZERO2", "5", 2}, {"HYBRID_SHARD", "4", 3},
    };
    for (size_t i = 0; strategy && i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        if (strcasecmp(strategy, strategies[i].name) == 0 ||
            strcmp(strategy, strategies[i].number) == 0) {
            return strategies[i].stage;
        }
    }
    return 3;
}

/* The value of a key of a group whose names may carry "fsdp_": fsdp_config.fsdp_version. */
static const char *fsdp_key(rk_launch *launch, const char *group, const char *name)
{
    const char *key = rk_launch_format(launch, "%s.fsdp_%s", group, name);
    return rk_launch_has(launch, key) ? key : rk_launch_format(launch, "%s.%s", group, name);
}

/* Replicas of a hybrid strategy are the nodes. */
static void state_replicas(rk_launch *launch, const char *strategy, const rk_launch_key *by)
{
    const int64_t nodes = rk_launch_count_of(launch, "nodes");
    if (strategy && strncasecmp(strategy, "HYBRID", strlen("HYBRID")) == 0 && nodes > 0) {
        rk_launch_state_count(launch, "hsdp", nodes, RK_FACT_DERIVED, by);
    }
}

/* FSDP as a group of keys tells it; the stage is stated unless words already told it. */
static void state_fsdp_group(rk_launch *launch, const char *group)
{
    const char *version_key = fsdp_key(launch, group, "version");
    const char *strategy_key = fsdp_key(launch, group, "sharding_strategy");
    const char *reshard_key = fsdp_key(launch, group, "reshard_after_forward");
    const double version =
        rk_launch_number(launch, version_key, rk_launch_number(launch, "fsdp_version", 1));
    const rk_launch_key *by = rk_launch_find(launch, strategy_key);
    const char *strategy = by ? by->value : NULL;
    const char *reshard = rk_launch_value(launch, reshard_key);
    const char *truth = reshard ? rk_launch_truth_text(reshard) : NULL;
    int stage = stage_of_strategy(strategy ? strategy : truth ? NULL : reshard);
    if (version >= 2 || (!strategy && truth)) {
        stage = truth && strcmp(truth, "false") == 0 ? 2 : 3;
        by = rk_launch_find(launch, reshard_key);
    }
    rk_launch_state_count(launch, "zero", stage, RK_FACT_STATED,
                          by ? by : rk_launch_find(launch, version_key));
    state_replicas(launch, strategy, by);
    if (rk_launch_is_on(launch, fsdp_key(launch, group, "offload_params"), false)) {
        rk_hf_add_offload(launch, "optimizer+weights", RK_FACT_STATED,
                          rk_launch_find(launch, fsdp_key(launch, group, "offload_params")));
    }
    const char *checkpointing = fsdp_key(launch, group, "activation_checkpointing");
    if (rk_launch_is_on(launch, checkpointing, false)) {
        rk_hf_state_recompute(launch, true, checkpointing);
    }
    const char *prefetch = rk_launch_value(launch, fsdp_key(launch, group, "backward_prefetch"));
    const bool ahead = (prefetch && strcasecmp(prefetch, "NO_PREFETCH") != 0) || version >= 2 ||
                       rk_launch_is_on(launch, fsdp_key(launch, group, "forward_prefetch"), false);
    rk_launch_assume(launch, "overlap", ahead ? "grad+param" : "grad");
    (void)rk_launch_value(launch, fsdp_key(launch, group, "transformer_layer_cls_to_wrap"));
    const char *wrap = rk_launch_value(launch, fsdp_key(launch, group, "auto_wrap_policy"));
    if (wrap && strcasecmp(wrap, "NO_WRAP") == 0) {
        rk_launch_mark(launch, fsdp_key(launch, group, "auto_wrap_policy"), RK_KEY_NOT_PRICED,
                       "the whole model is gathered at once, which is not counted");
    }
}

/* Whether keys of a group are there: fsdp_config.fsdp_version. */
static bool has_group(const rk_launch *launch, const char *group)
{
    const size_t length = strlen(group);
    for (size_t i = 0; i < launch->key_count; i++) {
        const char *name = launch->keys[i].name;
        if (strncmp(name, group, length) == 0 && name[length] == '.') {
            return true;
        }
    }
    return false;
}

/* "full_shard auto_wrap", "[\"full_shard\",\"auto_wrap\"]", or the name of a preset or a file. */
static void state_fsdp_words(rk_launch *launch, const char *words, const rk_launch_key *by)
{
    const bool file = rk_ends_with(words, ".json") || rk_hf_has_part(words, "fsdp");
    const bool hybrid = !file && strstr(words, "hybrid_shard") != NULL;
    const bool states =
        !file && (strstr(words, "shard_grad_op") || strstr(words, "hybrid_shard_zero2"));
    const int stage = states ? 2 : !file && strstr(words, "no_shard") ? 0 : 3;
    rk_launch_state_count(launch, "zero", stage, file ? RK_FACT_DERIVED : RK_FACT_STATED, by);
    state_replicas(launch, hybrid ? "HYBRID_SHARD" : NULL, by);
    if (!file && strstr(words, "offload")) {
        rk_hf_add_offload(launch, "optimizer+weights", RK_FACT_STATED, by);
    }
}

rk_status rk_hf_take_fsdp(rk_launch *launch, const char *words, const char *config, rk_error *err)
{
    const char *list = rk_launch_value(launch, words);
    const char *truth = list ? rk_launch_truth_text(list) : NULL;
    const bool off = !list || (truth && strcmp(truth, "false") == 0) || strcmp(list, "[]") == 0 ||
                     strcmp(list, "") == 0;
    bool found = false;
    rk_status status = !off && rk_ends_with(list, ".json")
                           ? rk_launch_open_named(launch, list, &found, err)
                           : RK_OK;
    const char *file = rk_launch_value(launch, config);
    if (!status && file && strchr(file, '.')) {
        status = rk_launch_open_named(launch, file, &found, err);
    }
    if (status || (off && !has_group(launch, config))) {
        return status;
    }
    rk_launch_state(launch, "framework", "torchtitan", RK_FACT_DERIVED, NULL);
    (void)rk_launch_value(launch, "fsdp_transformer_layer_cls_to_wrap");
    if (!off) {
        state_fsdp_words(launch, list, rk_launch_find(launch, words));
    }
    if (has_group(launch, config)) {
        state_fsdp_group(launch, config);
    }
    return RK_OK;
}

/* ---- accelerate ------------------------------------------------------------------------------ */

/* Files of examples/accelerate_configs of TRL, recipes/accelerate_configs of the alignment
 * handbook, and examples/accelerate of LLaMA-Factory; FSDP has a stage above 3. */
enum { FSDP = 10 };

static const struct {
    const char *name;
    int stage, processes; /* 0 processes: they differ */
} accelerate_files[] = {
    {"deepspeed_zero1", 1, 8},
    {"deepspeed_zero2", 2, 8},
    {"deepspeed_zero3", 3, 8},
    {"zero3", 3, 8},
    {"zero2", 2, 8},
    {"zero1", 1, 8},
    {"fsdp1", FSDP, 8},
    {"fsdp2", FSDP, 8},
    {"fsdp", FSDP, 8},
    {"fsdp_config", FSDP, 2},
    {"fsdp2_config", FSDP, 2},
    {"multi_gpu", 0, 8},
    {"ddp", 0, 8},
    {"single_gpu", 0, 1},
};

/* Flags of `accelerate launch` are keys of its file by another name. */
static const char *file_key(rk_launch *launch, const char *flag)
{
    static const char *const deepspeed[] = {"zero_stage", "offload_optimizer_device",
                                            "offload_param_device", "deepspeed_config_file",
                                            "zero3_init_flag"};
    static const char *const same[] = {"mixed_precision", "num_processes", "num_machines",
                                       "config_file",     "multi_gpu",     "use_fsdp",
                                       "use_deepspeed"};
    static const char *const groups[][2] = {{"fsdp_", "fsdp_config"},
                                            {"parallelism_config_", "parallelism_config"},
                                            {"megatron_lm_", "megatron_lm_config"},
                                            {"fp8_", "fp8_config"},
                                            {"dynamo_", "dynamo_config"}};
    for (size_t i = 0; i < sizeof(deepspeed) / sizeof(deepspeed[0]); i++) {
        if (strcmp(flag, deepspeed[i]) == 0) {
            return rk_launch_format(launch, "deepspeed_config.%s", flag);
        }
    }
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        if (strcmp(flag, same[i]) == 0) {
            return same[i];
        }
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (strncmp(flag, groups[i][0], strlen(groups[i][0])) == 0) {
            return rk_launch_format(launch, "%s.%s", groups[i][1], flag);
        }
    }
    return NULL;
}

/* The flags between `accelerate launch` and the program as keys of its file. */
static void cut_accelerate_words(rk_launch *launch)
{
    const size_t end = launch->program < launch->word_count ? launch->program : 0;
    for (size_t i = rk_hf_find_word(launch, "accelerate"); i < end; i++) {
        const char *word = launch->words[i].text;
        if (strncmp(word, "--", 2) != 0) {
            continue;
        }
        const size_t length = strcspn(word + 2, "=");
        char *flag = (char *)(uintptr_t)rk_launch_keep_part(launch, word + 2, length);
        for (char *c = flag; *c; c++) {
            *c = *c == '-' ? '_' : *c;
        }
        const bool joined = word[2 + length] == '=';
        const bool alone = i + 1 >= end || launch->words[i + 1].text[0] == '-';
        const rk_launch_key key = {
            .name = file_key(launch, flag),
            .value = joined  ? word + 2 + length + 1
                     : alone ? "true"
                             : launch->words[i + 1].text,
            .line = launch->words[i].line,
        };
        if (key.name) {
            rk_launch_add_key(launch, &key);
        }
    }
}

static void state_processes(rk_launch *launch)
{
    const double processes = rk_launch_number(launch, "num_processes", 0);
    const double nodes = rk_launch_number(launch, "num_machines", 0);
    if (nodes >= 1 && nodes <= INT32_MAX) {
        rk_launch_state_count(launch, "nodes", (int64_t)nodes, RK_FACT_STATED,
                              rk_launch_find(launch, "num_machines"));
    }
    if (processes >= 1 && processes <= INT32_MAX) {
        rk_launch_state_count(launch, "processes", (int64_t)processes, RK_FACT_STATED,
                              rk_launch_find(launch, "num_processes"));
        const int64_t count = rk_launch_count_of(launch, "nodes");
        if (count > 0 && (int64_t)processes % count == 0) {
            rk_launch_state_count(launch, "gpus_per_node", (int64_t)processes / count,
                                  RK_FACT_DERIVED, NULL);
        }
    }
}

static void state_parallelism(rk_launch *launch)
{
    static const char start[] = "parallelism_config.parallelism_config_";
    char key[sizeof(start) + 32];
    (void)snprintf(key, sizeof(key), "%sdp_replicate_size", start);
    take_degree(launch, key, "hsdp");
    (void)snprintf(key, sizeof(key), "%stp_size", start);
    take_degree(launch, key, "tp");
    (void)snprintf(key, sizeof(key), "%ssp_size", start);
    state_ulysses(launch, key);
    (void)snprintf(key, sizeof(key), "%scp_size", start);
    take_degree(launch, key, "cp");
    if (rk_launch_number(launch, key, 0) > 1) {
        (void)snprintf(key, sizeof(key), "%scp_comm_strategy", start);
        const char *strategy = rk_launch_value(launch, key);
        const bool ring = strategy && strcmp(strategy, "alltoall") == 0;
        rk_launch_state(launch, "cp_kind", ring ? "ring" : "all-gather", RK_FACT_DERIVED, NULL);
    }
    (void)snprintf(key, sizeof(key), "%sdp_shard_size", start);
    if (rk_launch_number(launch, key, 0) > 1) {
        rk_launch_state(launch, "zero", "3", RK_FACT_DERIVED, rk_launch_find(launch, key));
    }
}

static void state_megatron_plugin(rk_launch *launch)
{
    rk_launch_state(launch, "framework", "megatron", RK_FACT_DERIVED, NULL);
    take_degree(launch, "megatron_lm_config.megatron_lm_tp_degree", "tp");
    take_degree(launch, "megatron_lm_config.megatron_lm_pp_degree", "pp");
    take_degree(launch, "megatron_lm_config.megatron_lm_context_parallel_size", "cp");
    take_degree(launch, "megatron_lm_config.megatron_lm_expert_model_parallel_size", "ep");
    take_degree(launch, "megatron_lm_config.megatron_lm_num_micro_batches", "accumulation");
}

static rk_status state_deepspeed_plugin(rk_launch *launch, rk_error *err)
{
    static const char stage_key[] = "deepspeed_config.zero_stage";
    if (rk_launch_value(launch, "deepspeed_config.deepspeed_config_file")) {
        return rk_hf_take_deepspeed(launch, "deepspeed_config.deepspeed_config_file", NULL, err);
    }
    const double number = rk_launch_number(launch, stage_key, 2);
    const int64_t stage = number >= 0 && number <= 3 ? (int64_t)number : 2;
    rk_launch_state(launch, "framework", "deepspeed", RK_FACT_DERIVED, NULL);
    rk_launch_state_count(launch, "zero", stage, RK_FACT_STATED, rk_launch_find(launch, stage_key));
    rk_launch_state(launch, "overlap", overlap_of(stage, stage == 3), RK_FACT_DERIVED, NULL);
    take_device(launch, "deepspeed_config.offload_optimizer_device", "optimizer");
    take_device(launch, "deepspeed_config.offload_param_device", "weights");
    const double steps =
        rk_launch_number(launch, "deepspeed_config.gradient_accumulation_steps", 0);
    if (steps >= 1 && steps <= INT32_MAX) {
        rk_launch_state_count(launch, "accumulation", (int64_t)steps, RK_FACT_DERIVED, NULL);
    }
    return RK_OK;
}

rk_status rk_hf_state_accelerate(rk_launch *launch, rk_error *err)
{
    const rk_launch_key *by = rk_launch_find(launch, "distributed_type");
    const char *type = by ? by->value : NULL;
    const bool fsdp =
        rk_launch_is_on(launch, "use_fsdp", false) || (type && strcasecmp(type, "FSDP") == 0);
    const bool deepspeed = rk_launch_is_on(launch, "use_deepspeed", false) ||
                           (type && strcasecmp(type, "DEEPSPEED") == 0);
    (void)rk_launch_value(launch, "multi_gpu");
    state_processes(launch);
    state_parallelism(launch);
    const char *precision = rk_hf_precision_name(rk_launch_value(launch, "mixed_precision"));
    if (precision) {
        rk_launch_state(launch, "precision", precision, RK_FACT_STATED,
                        rk_launch_find(launch, "mixed_precision"));
    }
    if (type && strcasecmp(type, "MEGATRON_LM") == 0) {
        state_megatron_plugin(launch);
    }
    if (deepspeed) {
        return state_deepspeed_plugin(launch, err);
    }
    if (fsdp) {
        rk_launch_state(launch, "framework", "torchtitan", RK_FACT_DERIVED, NULL);
        state_fsdp_group(launch, "fsdp_config");
    } else if (type) {
        rk_launch_state(launch, "zero", "0", RK_FACT_STATED, by);
    }
    return RK_OK;
}

/* A file of accelerate that is not there: one that a framework ships, or one whose name tells. */
static void state_accelerate_name(rk_launch *launch, const char *key)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    const char *name = plain_name(launch, by->value);
    int stage = stage_of_name(name);
    stage = stage < 0 && rk_hf_has_part(name, "fsdp") ? FSDP : stage;
    for (size_t i = 0; i < sizeof(accelerate_files) / sizeof(accelerate_files[0]); i++) {
        if (strcmp(accelerate_files[i].name, name) == 0) {
            stage = accelerate_files[i].stage;
            if (accelerate_files[i].processes > 0) {
                rk_launch_state_count(launch, "processes", accelerate_files[i].processes,
                                      RK_FACT_DERIVED, by);
            }
        }
    }
    if (stage < 0) {
        rk_launch_mark(launch, key, RK_KEY_NOT_PRICED,
                       rk_launch_format(launch,
                                        "%s is not here: put it beside the launch, or give "
                                        "accelerators and ZeRO stage",
                                        by->value));
        return;
    }
    rk_launch_state_count(launch, "zero", stage == FSDP ? 3 : stage, RK_FACT_DERIVED, by);
    if (stage == FSDP) {
        rk_launch_state(launch, "framework", "torchtitan", RK_FACT_DERIVED, by);
    } else if (stage > 0) {
        rk_launch_state(launch, "framework", "deepspeed", RK_FACT_DERIVED, by);
        rk_launch_state(launch, "overlap", overlap_of(stage, stage == 3), RK_FACT_DERIVED, by);
    }
}

rk_status rk_hf_take_accelerate(rk_launch *launch, rk_error *err)
{
    cut_accelerate_words(launch);
    bool found = rk_launch_document_of(launch, "accelerate") != NULL;
    /* TRL names its own files by --accelerate_config. */
    const char *key =
        rk_launch_has(launch, "accelerate_config") ? "accelerate_config" : "config_file";
    const char *path = rk_launch_value(launch, key);
    if (path && !found) {
        const rk_status status = rk_launch_open_named(launch, path, &found, err);
        if (status) {
            return status;
        }
        if (!found) {
            state_accelerate_name(launch, key);
        }
    }
    return found || rk_launch_runs_by(launch, "accelerate") ||
                   rk_launch_has(launch, "num_processes")
               ? rk_hf_state_accelerate(launch, err)
               : RK_OK;
}

/* ---- what is left ---------------------------------------------------------------------------- */

void rk_hf_finish_sharding(rk_launch *launch)
{
    rk_hf_assume_open(launch, "framework", "torchtitan");
    rk_hf_assume_open(launch, "overlap",
                      rk_launch_count_of(launch, "zero") >= 2 ? "grad+param" : "grad");
}
