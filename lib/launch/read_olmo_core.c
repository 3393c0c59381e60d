/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OLMo-core: config.json of a run, values of its scripts, and their dotted flags.  Batches are in
 * tokens.  Source: src/olmo_core of allenai/OLMo-core, commit fa6c5014c9f6.
 */
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "launch/reader_kit.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRAIN "train_module."

/* The key by its name in the configuration or, in short, among the values of a script. */
static const rk_launch_key *find(rk_launch *launch, const char *name, const char *brief)
{
    const rk_launch_key *key = rk_launch_find(launch, name);
    const rk_launch_key *other = rk_launch_find(launch, brief);
    return key && key->value ? key : other && other->value ? other : NULL;
}

static const char *value_of(const rk_launch_key *key, const char *usual)
{
    return key ? key->value : usual;
}

static bool is_true(const rk_launch_key *key)
{
    return key && strcasecmp(key->value, "true") == 0;
}

/* ---- layout ---------------------------------------------------------------------------------- */

/*
 * Shard groups are nodes unless a number of replicas or of shards is given.  Without the number of
 * nodes the replicas stay words.
 */
static void state_replicas(rk_launch *launch)
{
    const rk_launch_key *replicas = find(launch, TRAIN "dp_config.num_replicas", "num_replicas");
    const rk_launch_key *shards = find(launch, TRAIN "dp_config.shard_degree", "shard_degree");
    const bool known = rk_launch_origin_of(launch, "nodes") == RK_FACT_STATED;
    const int64_t nodes = known ? rk_launch_count_of(launch, "nodes") : 0;
    const int64_t node = rk_launch_count_of(launch, "gpus_per_node");
    char *end = NULL;
    const long long count = replicas ? strtoll(replicas->value, &end, 10) : 0;
    const bool is_count = replicas && count > 0 && count < INT32_MAX && *end == '\0';
    long long size = shards ? strtoll(shards->value, NULL, 10) : 0;
    size = shards && size == 0 && strncmp(shards->value, "GPUS_PER_NODE", 13) == 0
               ? (node > 0 ? node : 8)
               : size;
    const int64_t dp = known ? rk_launch_count_of(launch, "dp") : 0;
    if (is_count) {
        rk_launch_state_count(launch, "hsdp", count, RK_FACT_STATED, replicas);
    } else if (size > 0 && dp > 0 && dp % size == 0) {
        rk_launch_state_count(launch, "hsdp", dp / size, RK_FACT_DERIVED, shards);
    } else if (size > 0) {
        rk_launch_state(launch, "hsdp", rk_launch_format(launch, "shards %lld", size),
                        RK_FACT_STATED, shards);
    } else if (nodes > 0) {
        rk_launch_state_count(launch, "hsdp", nodes, RK_FACT_DERIVED, NULL);
    } else {
        rk_launch_assume(launch, "hsdp", "one node per shard group");
    }
}

static void state_layout(rk_launch *launch)
{
    static const rk_named_text ones[] = {{"tp", "1"}, {"pp", "1"}, {"vp", "1"},
                                         {"cp", "1"}, {"ep", "1"}, {"sp", "false"}};
    static const char *const groups[] = {TRAIN "dp_config.num_replicas", "num_replicas",
                                         TRAIN "dp_config.shard_degree", "shard_degree"};
    const rk_launch_key *key = find(launch, TRAIN "dp_config.name", "dp");
    const char *kind = value_of(key, "fsdp");
    const bool plain = strcmp(kind, "ddp") == 0;
    rk_launch_assume_all(launch, ones, COUNT(ones));
    rk_launch_derive(launch); /* dp */
    rk_launch_state(launch, "zero", plain ? "0" : "3", RK_FACT_DERIVED, key);
    const bool asynchronous = rk_launch_is_on(launch, TRAIN "tp_config.enable_async", false);
    rk_launch_state(launch, "overlap",
                    plain          ? "grad"
                    : asynchronous ? "grad+param+tp"
                                   : "grad+param",
                    RK_FACT_DERIVED, NULL);
    if (strcmp(kind, "hsdp") == 0) {
        state_replicas(launch);
    } else {
        for (size_t i = 0; i < COUNT(groups); i++) {
            rk_launch_mark(launch, groups[i], RK_KEY_WITHOUT_COST,
                           "has no effect without replicas of shards (hsdp)");
        }
    }
    const bool ulysses = rk_launch_value(launch, TRAIN "cp_config.uly") != NULL;
    const rk_launch_key *ring = rk_launch_find(launch, TRAIN "cp_config.ring");
    const bool zigzag = ring && ring->value && strstr(ring->value, "zig_zag");
    if (rk_launch_count_of(launch, "cp") > 1) {
        rk_launch_state(launch, "cp_kind",
                        ulysses  ? "ulysses"
                        : zigzag ? "ring"
                                 : "all-gather",
                        ulysses || ring ? RK_FACT_STATED : RK_FACT_DEFAULT, ring);
    }
}

/* ---- batch ----------------------------------------------------------------------------------- */

static double number_of(const rk_launch_key *key)
{
    return key ? strtod(key->value, NULL) : 0;
}

static void state_tokens(rk_launch *launch, const char *field, const rk_launch_key *key)
{
    const double tokens = number_of(key);
    if (tokens >= 1 && tokens < 9e15) {
        rk_launch_state_count(launch, field, (int64_t)tokens, RK_FACT_STATED, key);
    }
}

static void state_batch(rk_launch *launch)
{
    const rk_launch_key *step = find(launch, "data_loader.global_batch_size", "global_batch_size");
    const rk_launch_key *micro = find(launch, TRAIN "rank_microbatch_size", "rank_microbatch_size");
    const double seq = (double)rk_launch_count_of(launch, "seq");
    state_tokens(launch, "tokens_per_step", step);
    state_tokens(launch, "tokens_per_microbatch", micro);
    rk_launch_state_sequences(launch, "global_batch", number_of(step), seq, RK_FACT_STATED, step);
    rk_launch_state_sequences(launch, "micro_batch", number_of(micro), seq, RK_FACT_STATED, micro);
}

/* ---- precision and memory -------------------------------------------------------------------- */

static void state_recompute(rk_launch *launch)
{
    const rk_launch_key *key = find(launch, TRAIN "ac_config.mode", "ac_mode");
    const rk_launch_key *modules = find(launch, TRAIN "ac_config.modules", "ac_modules");
    const rk_launch_key *interval = rk_launch_find(launch, TRAIN "ac_config.block_interval");
    const char *mode = value_of(key, "none");
    const bool selected = strncmp(mode, "selected", strlen("selected")) == 0;
    if (strcmp(mode, "budget") == 0) {
        rk_launch_state_budget(launch, TRAIN "ac_config.activation_memory_budget", 1, key);
        return;
    }
    rk_launch_state(launch, "recompute.granularity", selected ? "selective" : mode,
                    key ? RK_FACT_STATED : RK_FACT_DEFAULT, key);
    if (strcmp(mode, "selected_modules") == 0 && modules) {
        const bool mlp = strstr(modules->value, "feed_forward");
        const bool attention = strstr(modules->value, "attention");
        rk_launch_state(launch, "recompute.modules",
                        mlp && attention ? "attention+mlp"
                        : mlp            ? "mlp"
                        : attention      ? "attention"
                                         : modules->value,
                        RK_FACT_DERIVED, modules);
        if (!mlp && !attention) {
            rk_launch_mark(launch, modules->name, RK_KEY_NOT_PRICED,
                           "recomputation of these modules is not counted");
        }
    } else if (strcmp(mode, "selected_blocks") == 0 && interval && interval->value) {
        rk_launch_state(launch, "recompute.option", interval->value, RK_FACT_STATED, interval);
    } else if (strcmp(mode, "selected_ops") == 0) {
        rk_launch_state(launch, "recompute.option", "per operator", RK_FACT_DERIVED, key);
    }
}

static void state_precision(rk_launch *launch)
{
    const rk_launch_key *param = rk_launch_find(launch, TRAIN "dp_config.param_dtype");
    const rk_launch_key *reduce = rk_launch_find(launch, TRAIN "dp_config.reduce_dtype");
    const rk_launch_key *fp8 = find(launch, TRAIN "float8_config.enabled", "float8");
    rk_launch_state(launch, "precision",
                    param && param->value ? rk_launch_data_type(launch, param->value) : "bf16",
                    param ? RK_FACT_STATED : RK_FACT_DEFAULT, param);
    rk_launch_state(launch, "gradients",
                    reduce && reduce->value ? rk_launch_data_type(launch, reduce->value) : "fp32",
                    reduce ? RK_FACT_STATED : RK_FACT_DEFAULT, reduce);
    rk_launch_assume(launch, "weights", "fp32");
    if (is_true(fp8)) {
        rk_launch_state(launch, "fp8.format", "e4m3", RK_FACT_DERIVED, fp8);
        rk_launch_state(launch, "fp8.recipe", "tensorwise", RK_FACT_DEFAULT, fp8);
    }
}

static void state_memory(rk_launch *launch)
{
    const rk_launch_key *optimizer = find(launch, TRAIN "optim._CLASS_", "optim");
    const rk_launch_key *compiled = find(launch, TRAIN "compile_model", "compile_model");
    const rk_launch_key *loss = rk_launch_find(launch, "model.lm_head.loss_implementation");
    const char *name = rk_launch_last_part(value_of(optimizer, "adamw"));
    const size_t length = strlen(name);
    const bool config = length > 6 && rk_ends_with(name, "Config");
    rk_launch_state(
        launch, "optimizer",
        rk_launch_lower(launch, rk_launch_keep_part(launch, name, length - (config ? 6 : 0))),
        optimizer ? RK_FACT_STATED : RK_FACT_DEFAULT, optimizer);
    rk_launch_state(launch, "compile", is_true(compiled) ? "true" : "false",
                    compiled ? RK_FACT_STATED : RK_FACT_DEFAULT, compiled);
    const bool fused = loss && loss->value && strncmp(loss->value, "fused", 5) == 0;
    rk_launch_state(launch, "loss", fused ? "fused" : "full logits",
                    loss ? RK_FACT_STATED : RK_FACT_DEFAULT, loss);
    rk_launch_assume(launch, "stack", "torchtitan"); /* compiled PyTorch with FSDP2 */
    rk_launch_assume(launch, "offload", "none");
    rk_launch_assume(launch, "lora", "none");
    rk_launch_assume(launch, "packing", "true");
    const bool flash = rk_launch_is_on(launch, "model.block.attention.use_flash",
                                       rk_launch_is_on(launch, "model.use_flash", true));
    rk_launch_assume(launch, "attention", flash ? "flash" : "sdpa");
    state_recompute(launch);
}

/* ---- the reader ------------------------------------------------------------------------------ */

static bool is_script(const rk_launch *launch)
{
    for (size_t i = 0; i < launch->word_count; i++) {
        const char *word = launch->words[i].text;
        if (strstr(word, "olmo_core") || strstr(word, "OLMo-core") ||
            (strstr(word, "scripts/train/") && strstr(word, ".py") && !strstr(word, "yaml"))) {
            return true;
        }
    }
    return false;
}

static int recognise(const rk_launch *launch)
{
    const json_t *root = rk_launch_document_of(launch, "config");
    if (json_object_get(root, "rank_microbatch_size") ||
        json_object_get(json_object_get(root, "train_module"), "rank_microbatch_size")) {
        return 8;
    }
    return !root && is_script(launch) ? 4 : 0;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_launch_key *model = rk_launch_find(launch, "model");
    if (launch->document_count == 0) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "%s: the job is in the Python script %s, which is not read; give config.json "
            "of the run's folder",
            launch->name, rk_launch_program(launch));
    }
    if (model && model->value) {
        (void)rk_launch_state_built_model(launch, "olmo-core", model->value, model);
    } else {
        rk_launch_assume_size(launch, "model.kv_heads", rk_launch_count_of(launch, "model.heads"));
        rk_launch_assume(launch, "model.tied", "false");
    }
    rk_launch_assume(launch, "model.gated", "true");
    state_layout(launch);
    state_batch(launch);
    state_precision(launch);
    state_memory(launch);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_olmo_core = {
    .name = "olmo-core",
    .framework = "any",
    .tables = {"olmo-core"},
    .recognise = recognise,
    .resolve = resolve,
};
