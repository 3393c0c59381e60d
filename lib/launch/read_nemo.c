/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of NeMo 1 (YAML of NeMo-Framework-Launcher 26e42fa9), recipes of NeMo 2
 * (NVIDIA-NeMo/NeMo 8cfedd72) and of Megatron-Bridge (067f987d).
 */
#include "base/error.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "io/csv_in.h"
#include "launch/launch_parts.h"
#include "launch/megatron_kit.h"
#include "launch/reader_kit.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names settings of an unknown recipe that the line does not repeat. */
static void warn_of_recipe(rk_launch *launch, const rk_megatron_kit *kit, const rk_launch_key *key)
{
    static const char *const sizes[] = {"tensor_model_parallel_size",
                                        "pipeline_model_parallel_size",
                                        "context_parallel_size",
                                        "sequence_parallel",
                                        "micro_batch_size",
                                        "global_batch_size",
                                        "seq_length"};
    const char *open = "";
    for (size_t i = 0; i < COUNT(sizes) && key; i++) {
        const char *const names[] = {sizes[i], NULL};
        if (!rk_kit_find(launch, kit, names)) {
            open = rk_launch_format(launch, "%s%s%s", open, *open ? ", " : "", sizes[i]);
        }
    }
    if (*open) {
        rk_launch_mark(launch, key->name, RK_KEY_NOT_PRICED,
                       rk_launch_format(launch,
                                        "settings of the recipe that the line does not repeat are "
                                        "not known; add %s",
                                        open));
    }
}

/* Nodes and accelerators of a node, where a key gives numbers. */
static void state_machine(rk_launch *launch, const rk_megatron_kit *kit, const char *nodes,
                          const char *node)
{
    const rk_named_text sizes[] = {{"nodes", nodes}, {"gpus_per_node", node}};
    for (size_t i = 0; i < 2; i++) {
        const int64_t value = rk_kit_count(launch, kit, sizes[i].text);
        const bool known = rk_launch_fact_of(launch, sizes[i].name) ||
                           (i == 0 && rk_launch_fact_of(launch, "processes"));
        if (value > 0 && !known) {
            rk_launch_state_count(launch, sizes[i].name, value, RK_FACT_STATED, NULL);
        }
    }
}

static void state_full_training(rk_launch *launch)
{
    rk_kit_state(launch, "optimizer", NULL, NULL, "adam");
    rk_kit_state(launch, "lora", NULL, NULL, "none");
    rk_kit_state(launch, "attention", NULL, NULL, "auto");
}

/* ---- NeMo 1 ---------------------------------------------------------------------------------- */

static const rk_megatron_kit nemo1 = {
    .starts = (const char *const[]){"trainer.", "model.", "model.optim.", "model.data.", "", NULL},
    .precision = "bf16",
    .loss = "unfused",
    .gradients = "fp32",
    .dispatcher = "alltoall",
};

/* megatron_gpt_pretraining.py, megatron_gpt_finetuning.py and the like. */
static bool is_nemo1_program(const rk_launch *launch)
{
    const char *program = rk_launch_program(launch);
    return strncmp(program, "megatron_gpt_", strlen("megatron_gpt_")) == 0;
}

static int recognise_nemo1(const rk_launch *launch)
{
    if (is_nemo1_program(launch)) {
        return 6;
    }
    const bool trainer =
        rk_kit_member(launch, "trainer.num_nodes") || rk_kit_member(launch, "trainer.devices");
    const bool model = rk_kit_member(launch, "model.tensor_model_parallel_size") ||
                       rk_kit_member(launch, "model.megatron_amp_O2") ||
                       rk_kit_member(launch, "model.encoder_seq_length");
    return trainer && model ? 6 : 0;
}

/* The name of the optimizer says whether it shards; distributed_fused_adam overlaps gradients. */
static void state_nemo_optimizer(rk_launch *launch, rk_megatron_kit *kit)
{
    const rk_launch_key *key = rk_launch_find(launch, "model.optim.name");
    const char *name = key && key->value ? key->value : "fused_adam";
    const bool shards = strstr(name, "distributed") != NULL;
    const bool adam = strstr(name, "adam") || shards;
    const bool own = strcmp(name, "distributed_fused_adam") == 0;
    if (!rk_launch_is_on(launch, "model.fsdp", false)) {
        rk_kit_state(launch, "zero", key, shards ? "1" : "0", "0");
    }
    rk_kit_state(launch, "optimizer", key, adam ? "adam" : name, "adam");
    kit->overlap_grad = own;
    const char *type = rk_launch_value(launch, "model.optim.grad_sync_dtype");
    kit->gradients = type && strncmp(type, "bf16", 4) == 0 ? "bf16" : kit->gradients;
}

static void state_nemo_fsdp(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "model.fsdp_sharding_strategy");
    const char *name = key && key->value ? key->value : "full";
    const char *type = rk_launch_value(launch, "model.fsdp_grad_reduce_dtype");
    if (!rk_launch_is_on(launch, "model.fsdp", false)) {
        return;
    }
    rk_launch_state(launch, "zero", strcmp(name, "grad") == 0 ? "2" : "3", RK_FACT_STATED, key);
    if (type) {
        rk_launch_state(launch, "gradients", strncmp(type, "bf16", 4) == 0 ? "bf16" : "fp32",
                        RK_FACT_STATED, NULL);
    }
    if (rk_launch_is_on(launch, "model.fsdp_cpu_offload", false)) {
        rk_launch_state(launch, "offload", "optimizer+weights", RK_FACT_STATED, NULL);
    }
}

/* Weights in 16 bits with masters, or in 32 bits with autocast. */
static void state_nemo_weights(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "model.megatron_amp_O2");
    const bool on = rk_launch_is_on(launch, "model.megatron_amp_O2", false);
    const char *precision = rk_launch_fact_of(launch, "precision"); /* NULL: out of memory */
    const bool full = precision && strcmp(precision, "fp32") == 0;
    rk_kit_state(launch, "weights", key, on && !full ? "16 bits with fp32 masters" : "fp32",
                 "fp32");
    if (!on && !full) {
        rk_launch_mark(launch, "model.megatron_amp_O2", RK_KEY_NOT_PRICED,
                       "weights in fp32 with autocast are priced as weights in 16 bits");
    }
}

static void state_nemo_vocabulary(rk_launch *launch)
{
    const char *type = rk_launch_value(launch, "model.tokenizer.type");
    const double own = rk_launch_number(launch, "model.override_vocab_size", 0);
    const double multiple = rk_launch_number(launch, "model.make_vocab_size_divisible_by", 128);
    const bool gpt2 = type && strcmp(type, "GPT2BPETokenizer") == 0;
    rk_kit_state_vocabulary(launch,
                            own >= 1 && own < 1e9 ? (int64_t)own
                            : gpt2                ? 50257
                                                  : 0,
                            multiple, RK_FACT_STATED);
}

static void state_nemo_adapters(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "model.peft.peft_scheme");
    const double rank = rk_launch_number(launch, "model.peft.lora_tuning.adapter_dim", 32);
    if (key && key->value && strcasecmp(key->value, "lora") == 0 && rank >= 1 &&
        rank <= INT32_MAX) {
        rk_launch_state_count(launch, "lora", (int64_t)rank, RK_FACT_STATED, key);
    }
}

/* The file of --config-path and --config-name, whose settings the words replace. */
static rk_status prepare_nemo1(rk_launch *launch, rk_error *err)
{
    const char *folder = rk_launch_value(launch, "config-path");
    const char *name = rk_launch_value(launch, "config-name");
    bool found = launch->document_count > 0;
    if (!name || found) {
        return RK_OK;
    }
    const char *path =
        rk_launch_format(launch, "%s/%s%s", folder ? folder : "conf", name,
                         rk_ends_with(name, ".yaml") || rk_ends_with(name, ".yml") ? "" : ".yaml");
    const rk_status status = rk_launch_open_named(launch, path, &found, err);
    if (!status && !found) {
        rk_launch_mark(launch, "config-name", RK_KEY_NOT_PRICED,
                       rk_launch_format(launch,
                                        "%s is not here: settings that the line does not "
                                        "repeat are not known",
                                        path));
    }
    return status;
}

static rk_status resolve_nemo1(rk_launch *launch, rk_error *err)
{
    if (rk_launch_has(launch, "model.encoder.num_layers") ||
        rk_kit_member(launch, "model.decoder")) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s: trains an encoder and a decoder, which is not priced; reckon predicts "
                       "decoder models",
                       launch->name);
    }
    rk_megatron_kit kit = nemo1;
    state_machine(launch, &kit, "num_nodes", "devices");
    state_nemo_optimizer(launch, &kit);
    rk_kit_resolve(launch, &kit);
    state_nemo_fsdp(launch); /* the kit takes model.fsdp for Megatron-FSDP, which shards all */
    state_nemo_weights(launch);
    state_nemo_vocabulary(launch);
    state_nemo_adapters(launch);
    if (!rk_launch_is_on(launch, "model.use_flash_attention", true)) {
        rk_launch_state_by(launch, "attention", "unfused", "model.use_flash_attention");
    }
    if (rk_launch_fact_of(launch, "model.layers")) { /* GPT of NeMo */
        rk_kit_state(launch, "model.tied", NULL, NULL, "true");
        rk_kit_state(launch, "model.gated", NULL, NULL, "false");
    }
    state_full_training(launch);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_nemo1 = {
    .name = "nemo1",
    .framework = "megatron",
    .tables = {"nemo1"},
    .words_are_pairs = true,
    .recognise = recognise_nemo1,
    .prepare = prepare_nemo1,
    .resolve = resolve_nemo1,
};

/* ---- NeMo 2 ---------------------------------------------------------------------------------- */

static const rk_megatron_kit nemo2 = {
    .starts = (const char *const[]){"trainer.strategy.", "trainer.strategy.ddp.", "trainer.",
                                    "data.", "model.config.", "optim.config.", "pretrain_recipe.",
                                    "finetune_recipe.", "", NULL},
    .precision = "bf16",
    .loss = "fused",
    .gradients = "fp32",
    .dispatcher = "alltoall",
    .distributed = true,
    .overlap_grad = true,
    .overlap_param = true,
    .grouped = true,
};

static int recognise_nemo2(const rk_launch *launch)
{
    return strcmp(rk_launch_program(launch), "nemo") == 0 ||
                   rk_kit_member(launch, "pretrain_recipe") ||
                   rk_kit_member(launch, "finetune_recipe") ||
                   rk_kit_member(launch, "trainer.strategy.tensor_model_parallel_size")
               ? 7
               : 0;
}

/* The recipe that --factory names, "llama3_70b" or "llama3_70b(num_nodes=2)"; NULL: none. */
static const char *recipe_of(rk_launch *launch, const rk_launch_key **key, const char **arguments)
{
    *key = rk_launch_find(launch, "factory");
    const char *name = *key ? (*key)->value : NULL;
    for (size_t i = 0; !name && i + 1 < launch->word_count; i++) {
        name = strcmp(launch->words[i].text, "--factory") == 0 ? launch->words[i + 1].text : NULL;
    }
    *arguments = name ? strchr(name, '(') : NULL;
    return name ? rk_launch_keep_part(launch, name, strcspn(name, "(")) : NULL;
}

static bool finetunes(const rk_launch *launch)
{
    bool found = rk_kit_member(launch, "finetune_recipe") != NULL;
    for (size_t i = 0; i < launch->word_count; i++) {
        found |= strcmp(launch->words[i].text, "finetune") == 0;
    }
    return found;
}

/* Recipes of fine-tuning train adapters by default. */
static void state_nemo2_adapters(rk_launch *launch)
{
    static const char *const names[] = {"peft_scheme", "peft", NULL};
    const rk_launch_key *key = rk_kit_find(launch, &nemo2, names);
    const bool lora = key && key->value ? strcasecmp(key->value, "lora") == 0 : finetunes(launch);
    const double rank = rk_launch_number(launch, "peft.dim", 8);
    if (lora && rank >= 1 && rank <= INT32_MAX) {
        rk_launch_state_count(launch, "lora", (int64_t)rank, key ? RK_FACT_STATED : RK_FACT_DEFAULT,
                              key);
    }
}

/* "bf16_with_fp8_mixed", "fp16_mixed": the precision of the plugin. */
static void state_mixed_precision(rk_launch *launch, const rk_launch_key *key)
{
    static const rk_named_text recipes[] = {{"mx", "mxfp8"},
                                            {"current", "tensorwise"},
                                            {"subchannel", "blockwise"},
                                            {"blockwise", "blockwise"},
                                            {"delayed", "delayed"},
                                            {"cs", "tensorwise"},
                                            {"sc", "blockwise"},
                                            {"ds", "delayed"},
                                            {"fp8", "delayed"}};
    const char *value = key && key->value ? rk_kit_lower(launch, key->value) : "";
    if (strstr(value, "nvfp4")) {
        rk_launch_state(launch, "fp4.recipe", "nvfp4", RK_FACT_STATED, key);
    } else if (strstr(value, "fp8")) {
        size_t i = 0;
        while (i + 1 < COUNT(recipes) && !strstr(value, recipes[i].name)) {
            i++;
        }
        rk_launch_state(launch, "fp8.format", i == 0 ? "e4m3" : "hybrid", RK_FACT_STATED, key);
        rk_launch_state(launch, "fp8.recipe", recipes[i].text, RK_FACT_STATED, key);
    }
    if (*value) {
        rk_launch_state(launch, "precision", strncmp(value, "fp16", 4) == 0 ? "fp16" : "bf16",
                        RK_FACT_STATED, key);
    }
}

/* The machine of "llama3_70b(num_nodes=2, num_gpus_per_node=4)". */
static void state_arguments(rk_launch *launch, const char *recipe, const rk_launch_key *key,
                            const char *arguments)
{
    const size_t length = strlen(recipe);
    static const char *const names[][2] = {{"num_nodes=", "nodes"},
                                           {"num_gpus_per_node=", "gpus_per_node"}};
    for (size_t i = 0; i < COUNT(names) && arguments; i++) {
        const char *found = strstr(arguments, names[i][0]);
        const long count = found ? strtol(found + strlen(names[i][0]), NULL, 10) : 0;
        if (count > 0) {
            rk_launch_state_count(launch, names[i][1], count, RK_FACT_STATED, key);
        }
    }
    for (size_t i = 0; i < launch->key_count; i++) { /* the same word, cut at its "=" */
        const char *name = launch->keys[i].name;
        if (strncmp(name, recipe, length) == 0 && name[length] == '(') {
            rk_launch_mark(launch, name, RK_KEY_WITHOUT_COST, NULL);
        }
    }
}

/*
 * The settings of a recipe of pre-training, which the line may change: a row of
 * data/launch_recipes/nemo2.csv, whose columns are facts.  *known: there is such a row.
 */
static rk_status assume_recipe(rk_launch *launch, const char *recipe, bool *known, rk_error *err)
{
    rk_csv_in table = {0};
    const rk_status status = rk_csv_load_named("nemo2", "launch_recipes", &table, err);
    for (size_t row = 1; !status && row <= table.rows; row++) {
        const char *const *cells = (const char *const *)&table.cells[row * table.columns];
        if (strcmp(cells[0], recipe) != 0) {
            continue;
        }
        *known = true;
        for (size_t i = 1; i < table.columns; i++) {
            if (*cells[i] && !rk_launch_fact_of(launch, table.cells[i])) {
                rk_launch_assume(launch, table.cells[i], cells[i]);
            }
        }
    }
    rk_csv_in_clear(&table);
    if (rk_kit_count(launch, &nemo2, "tensor_model_parallel_size") == 1) {
        rk_launch_assume(launch, "sp", "false"); /* nothing to share */
    }
    return status;
}

static rk_status resolve_nemo2(rk_launch *launch, rk_error *err)
{
    const rk_launch_key *key = NULL;
    const char *arguments = NULL;
    const char *recipe = recipe_of(launch, &key, &arguments);
    if (rk_launch_has(launch, "data.seq_length_dec")) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s: trains an encoder and a decoder, which is not priced; reckon predicts "
                       "decoder models",
                       launch->name);
    }
    state_machine(launch, &nemo2, "num_nodes", "num_gpus_per_node");
    state_machine(launch, &nemo2, "num_nodes", "devices");
    if (recipe) {
        bool known = false;
        rk_kit_state_model(launch, recipe, key);
        state_arguments(launch, recipe, key, arguments);
        const rk_status status =
            finetunes(launch) ? RK_OK : assume_recipe(launch, recipe, &known, err);
        if (status) {
            return status;
        }
        if (!known) {
            rk_launch_assume_open(launch, "nodes", "1");
            rk_launch_assume_open(launch, "gpus_per_node", "8");
            warn_of_recipe(launch, &nemo2, key);
        }
    }
    state_mixed_precision(launch, rk_launch_find(launch, "trainer.plugins"));
    const char *strategy = rk_launch_value(launch, "trainer.strategy");
    if (strategy && strcmp(strategy, "ddp") == 0) { /* PyTorch's, of models of Hugging Face */
        rk_launch_state_by(launch, "zero", "0", "trainer.strategy");
    }
    rk_kit_resolve(launch, &nemo2);
    const char *callbacks = rk_launch_value(launch, "trainer.callbacks");
    if (callbacks && strstr(callbacks, "CommOverlap")) {
        rk_launch_mark(launch, "trainer.callbacks", RK_KEY_NOT_PRICED,
                       "overlap of tensor-parallel communication is not counted");
    } else {
        rk_launch_mark(launch, "trainer.callbacks", RK_KEY_WITHOUT_COST, NULL);
    }
    state_nemo2_adapters(launch);
    state_full_training(launch);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_nemo2 = {
    .name = "nemo2",
    .framework = "megatron",
    .tables = {"nemo2"},
    .words_are_pairs = true,
    .recognise = recognise_nemo2,
    .resolve = resolve_nemo2,
};

/* ---- Megatron-Bridge ------------------------------------------------------------------------- */

static const rk_megatron_kit bridge = {
    .starts = (const char *const[]){"model.", "train.", "optimizer.", "ddp.", "comm_overlap.",
                                    "mixed_precision.", "dataset.", "", NULL},
    .precision = "bf16",
    .loss = "fused",
    .gradients = "fp32",
    .dispatcher = "alltoall",
    .distributed = true,
    .overlap_grad = true,
    .overlap_param = true,
    .whole_experts = true,
    .grouped = true,
};

static int recognise_bridge(const rk_launch *launch)
{
    const char *program = rk_launch_program(launch);
    bool named = strcmp(program, "setup_experiment.py") == 0 ||
                 strcmp(program, "run_recipe.py") == 0 || strcmp(program, "run_script.py") == 0 ||
                 strcmp(program, "run_performance_script.py") == 0;
    for (size_t i = 0; i < launch->word_count; i++) {
        named |= strstr(launch->words[i].text, "megatron.bridge") != NULL ||
                 strstr(launch->words[i].text, "Megatron-Bridge") != NULL ||
                 strstr(launch->words[i].text, "scripts.performance.llm.") != NULL ||
                 strstr(launch->words[i].text, "scripts/performance/llm/") != NULL;
    }
    const bool table = rk_kit_member(launch, "tensor_model_parallel_size") &&
                       rk_kit_member(launch, "expert_model_parallel_size") &&
                       rk_kit_member(launch, "precision");
    const bool sections = rk_kit_member(launch, "model.tensor_model_parallel_size") &&
                          (rk_kit_member(launch, "train.micro_batch_size") ||
                           rk_kit_member(launch, "ddp") || rk_kit_member(launch, "checkpoint"));
    return named || table || sections ? 7 : 0;
}

/* Rows of the performance tables, and options of the scripts behind them: gradients in bf16. */
static void state_performance(rk_launch *launch)
{
    static const char *const names[] = {"compute_dtype", "precision", NULL};
    const rk_launch_key *key = rk_kit_find(launch, &bridge, names);
    if (!key) {
        return;
    }
    state_mixed_precision(launch, key);
    rk_launch_state(launch, "gradients", "bf16", RK_FACT_DEFAULT, key);
}

/* The model of "llama3_8b_pretrain_config" and "llama3_8b_sft_config". */
static const char *plain_recipe(rk_launch *launch, const char *name)
{
    static const char *const ends[] = {"_pretrain_config", "_finetune_config", "_sft_config",
                                       "_peft_config"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        if (rk_ends_with(name, ends[i])) {
            return rk_launch_keep_part(launch, name, strlen(name) - strlen(ends[i]));
        }
    }
    return name;
}

/* "llama3_70b" of "-m llama3 -s 70b", and of the script pretrain_llama3_70b.py; NULL: none. */
static const char *find_size(rk_launch *launch)
{
    static const char start[] = "pretrain_";
    const char *family = rk_launch_value(launch, "model_family_name");
    const char *size = rk_launch_value(launch, "model_size");
    const char *script = strstr(rk_launch_program(launch), start);
    if (family && size) {
        return rk_launch_format(launch, "%s_%s", family, size);
    }
    script = script ? script + strlen(start) : NULL;
    return script ? rk_launch_keep_part(launch, script, strcspn(script, ".")) : NULL;
}

static rk_status resolve_bridge(rk_launch *launch, rk_error *err)
{
    static const char *const recipes[] = {"model_recipe_name", "recipe", NULL};
    const rk_launch_key sized = {.name = "recipe", .value = find_size(launch)};
    const rk_launch_key *recipe = rk_kit_find(launch, &bridge, recipes);
    (void)err;
    if (!recipe && sized.value) {
        rk_launch_add_key(launch, &sized);
        recipe = rk_kit_find(launch, &bridge, recipes);
    }
    state_machine(launch, &bridge, "num_nodes", "gpus_per_node");
    if (!rk_launch_fact_of(launch, "processes") && rk_kit_count(launch, &bridge, "num_gpus") > 0) {
        rk_launch_state_count_by(launch, "processes", rk_kit_count(launch, &bridge, "num_gpus"),
                                 "num_gpus");
    }
    if (recipe && recipe->value) {
        rk_kit_state_model(launch, plain_recipe(launch, recipe->value), recipe);
        warn_of_recipe(launch, &bridge, recipe);
    }
    state_performance(launch);
    state_mixed_precision(launch, rk_launch_find(launch, "mixed_precision"));
    rk_kit_resolve(launch, &bridge);
    const char *task = rk_launch_value(launch, "task");
    const double rank = rk_launch_number(launch, "peft.dim", 32);
    if ((task && strcmp(task, "lora") == 0) || rk_launch_has(launch, "peft.dim")) {
        rk_launch_state_count_by(launch, "lora",
                                 rank >= 1 && rank <= INT32_MAX ? (int64_t)rank : 32, "peft.dim");
    }
    state_full_training(launch);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_megatron_bridge = {
    .name = "megatron-bridge",
    .framework = "megatron",
    .tables = {"megatron-bridge"},
    .words_are_pairs = true,
    .recognise = recognise_bridge,
    .resolve = resolve_bridge,
};
