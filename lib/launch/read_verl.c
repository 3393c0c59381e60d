/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of verl: reinforcement learning and supervised fine-tuning as key=value words.  The
 * job is the training part of the actor.  Source: verl/trainer/config and verl/workers of
 * verl-project/verl, commit 1dda039b.
 */
#include "base/units.h"
#include "launch/read_megatron.h"
#include "launch/reader_kit.h"

#include <stdint.h>
#include <string.h>

#define ACTOR    "actor_rollout_ref.actor."
#define OVERRIDE ACTOR "megatron.override_transformer_config."

static int recognise(const rk_launch *launch)
{
    for (size_t i = 0; i < launch->word_count; i++) {
        const char *word = launch->words[i].text + strspn(launch->words[i].text, "+");
        if (strncmp(word, "actor_rollout_ref.", strlen("actor_rollout_ref.")) == 0 ||
            strncmp(word, "verl.trainer.", strlen("verl.trainer.")) == 0) {
            return 30;
        }
    }
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* A value that is not null, as Hydra writes nothing. */
static const char *value_of(rk_launch *launch, const char *name)
{
    const char *value = rk_launch_value(launch, name);
    return value && strcmp(value, "null") != 0 && strcmp(value, "None") != 0 ? value : NULL;
}

static int64_t count_of(rk_launch *launch, const char *name, int64_t usual)
{
    const double value = value_of(launch, name) ? rk_launch_number(launch, name, 0) : 0;
    return value > 0 && value <= INT32_MAX ? (int64_t)value : usual;
}

/* States a fact by the first of the keys that is there; NULL-terminated. */
static void state_first(rk_launch *launch, const char *field, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        const char *value = value_of(launch, names[i]);
        if (value && !rk_launch_fact_of(launch, field)) {
            rk_launch_state_by(launch, field, value, names[i]);
        }
    }
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* Whether settings of the Megatron actor are among the words. */
static bool has_actor(const rk_launch *launch)
{
    static const char start[] = ACTOR "megatron.";
    for (size_t i = 0; i < launch->key_count; i++) {
        if (strncmp(launch->keys[i].name, start, strlen(start)) == 0) {
            return true;
        }
    }
    return false;
}

/* The engine that trains the actor: "megatron", "fsdp", "fsdp2", "veomni", ... */
static const char *find_engine(rk_launch *launch)
{
    static const char *const names[] = {"model_engine", ACTOR "strategy", "engine.strategy",
                                        "engine", NULL};
    const char *config = value_of(launch, "config-name");
    rk_launch_mark(launch, ACTOR "fsdp_config.strategy", RK_KEY_WITHOUT_COST, NULL);
    const char *engine = NULL;
    for (size_t i = 0; names[i] && !engine; i++) {
        engine = value_of(launch, names[i]);
    }
    if (engine) {
        return engine;
    }
    return (config && strstr(config, "megatron")) || has_actor(launch) ? "megatron" : "fsdp";
}

static bool is_engine(const char *engine, const char *name)
{
    return strncmp(engine, name, strlen(name)) == 0;
}

/* ---- batch ----------------------------------------------------------------------------------- */

static void state_samples(rk_launch *launch)
{
    rk_megatron_assume_count(launch, "nodes", 1);
    rk_megatron_assume_count(launch, "gpus_per_node", 8);
    const int64_t samples = count_of(launch, "actor_rollout_ref.rollout.n", 1);
    const int64_t prompts = count_of(launch, "data.train_batch_size", 1024);
    const int64_t mini = count_of(launch, ACTOR "ppo_mini_batch_size", 256);
    const int64_t longest = count_of(launch, "data.max_prompt_length", 512) +
                            count_of(launch, "data.max_response_length", 512);
    rk_launch_state_count(launch, "samples_per_step", prompts * samples, RK_FACT_DERIVED, NULL);
    rk_launch_state_count(launch, "global_batch", mini * samples, RK_FACT_DERIVED, NULL);
    rk_launch_state_count(launch, "seq", longest, RK_FACT_DERIVED, NULL);
    if (rk_launch_has(launch, ACTOR "ppo_mini_batch_size")) {
        rk_launch_mark(launch, "data.train_batch_size", RK_KEY_WITHOUT_COST, NULL);
    }
    if (rk_launch_is_on(launch, ACTOR "use_dynamic_bsz", false)) {
        rk_launch_drop(launch, "micro_batch"); /* limited by tokens of a rank */
        rk_launch_mark(launch, ACTOR "ppo_micro_batch_size", RK_KEY_WITHOUT_COST, NULL);
        rk_launch_mark(launch, ACTOR "ppo_micro_batch_size_", RK_KEY_WITHOUT_COST, NULL);
        rk_launch_state_count_by(launch, "max_tokens_per_gpu",
                                 count_of(launch, ACTOR "ppo_max_token_len_per_gpu", 16384),
                                 ACTOR "ppo_max_token_len_per_gpu");
    } else {
        rk_launch_mark(launch, ACTOR "ppo_max_token_len_per_gpu", RK_KEY_WITHOUT_COST, NULL);
    }
}

/* Supervised fine-tuning counts sequences. */
static void state_sequences(rk_launch *launch)
{
    static const char *const paths[] = {"model.path", "model.partial_pretrain", NULL};
    rk_launch_state_count_by(launch, "global_batch", count_of(launch, "data.train_batch_size", 256),
                             "data.train_batch_size");
    rk_megatron_assume_count(launch, "seq", 1024);
    state_first(launch, "model.name", paths);
}

/* ---- Megatron -------------------------------------------------------------------------------- */

static void state_degrees(rk_launch *launch)
{
    static const rk_megatron_number rows[] = {
        {"tp",
         {ACTOR "megatron.tensor_model_parallel_size", "engine.tensor_model_parallel_size",
          ACTOR "engine.tp"},
         0},
        {"pp",
         {ACTOR "megatron.pipeline_model_parallel_size", "engine.pipeline_model_parallel_size",
          ACTOR "engine.pp"},
         0},
        {"vp", {ACTOR "megatron.virtual_pipeline_model_parallel_size", ACTOR "engine.vpp"}, 0},
        {"cp",
         {ACTOR "megatron.context_parallel_size", "engine.context_parallel_size",
          ACTOR "engine.cp"},
         0},
        {"ep",
         {ACTOR "megatron.expert_model_parallel_size", "engine.expert_model_parallel_size",
          ACTOR "engine.ep"},
         0},
        {"etp", {ACTOR "megatron.expert_tensor_parallel_size", ACTOR "engine.etp"}, 0},
        {"first_stage_layers", {OVERRIDE "num_layers_in_first_pipeline_stage"}, 0},
        {"last_stage_layers", {OVERRIDE "num_layers_in_last_pipeline_stage"}, 0},
        {"dispatcher", {OVERRIDE "moe_token_dispatcher_type"}, 0},
        {"recompute.granularity", {OVERRIDE "recompute_granularity"}, 0},
        {"recompute.method", {OVERRIDE "recompute_method"}, 0},
        {"recompute.layers", {OVERRIDE "recompute_num_layers"}, 0},
        {"attention", {OVERRIDE "attention_backend", ACTOR "engine.attention_backend_override"}, 0},
    };
    static const char *const repeated[] = {OVERRIDE "tensor_model_parallel_size",
                                           OVERRIDE "context_parallel_size",
                                           OVERRIDE "use_flash_attn"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        state_first(launch, rows[i].field, rows[i].names);
    }
    for (size_t i = 0; i < COUNT(repeated); i++) {
        rk_launch_mark(launch, repeated[i], RK_KEY_WITHOUT_COST, NULL);
    }
}

static void state_recompute(rk_launch *launch)
{
    const char *modules = value_of(launch, OVERRIDE "recompute_modules");
    const char *granularity = rk_launch_fact_of(launch, "recompute.granularity");
    if (granularity && strcmp(granularity, "selective") == 0) {
        rk_launch_state(launch, "recompute.modules",
                        modules ? rk_megatron_join(launch, modules) : "core_attn", RK_FACT_STATED,
                        NULL);
    } else if (granularity && strcmp(granularity, "full") == 0) {
        rk_megatron_class_pieces(launch, rk_launch_find(launch, OVERRIDE "recompute_num_layers"));
    } else {
        rk_launch_drop(launch, "recompute.method");
        rk_launch_drop(launch, "recompute.layers");
    }
    rk_launch_assume_open(launch, "recompute.granularity", "none");
}

static void state_host_optimizer(rk_launch *launch)
{
    static const char on[] = ACTOR "optim.override_optimizer_config.optimizer_cpu_offload";
    static const char share[] = ACTOR "optim.override_optimizer_config.optimizer_offload_fraction";
    if (rk_launch_is_on(launch, on, false)) {
        rk_launch_state_by(
            launch, "offload",
            rk_launch_format(launch, "optimizer fraction %.6g", rk_launch_number(launch, share, 1)),
            on);
    }
}

static void state_megatron(rk_launch *launch)
{
    static const char sequence[] = ACTOR "megatron.sequence_parallel";
    state_degrees(launch);
    rk_megatron_assume_count(launch, "tp", 1);
    const int64_t tp = rk_launch_count_of(launch, "tp");
    const bool sp = rk_launch_is_on(launch, sequence, true) && tp > 1;
    const bool sharded = rk_launch_is_on(launch, ACTOR "megatron.use_distributed_optimizer", true);
    rk_launch_state(launch, "sp", sp ? "true" : "false", RK_FACT_DERIVED, NULL);
    rk_megatron_assume_count(launch, "etp", tp);
    rk_launch_assume_open(launch, "zero",
                          rk_launch_is_on(launch, ACTOR "megatron.use_megatron_fsdp", false) ? "3"
                          : sharded                                                          ? "1"
                                                                                             : "0");
    state_recompute(launch);
    state_host_optimizer(launch);
    rk_launch_assume_open(launch, "optimizer", "adam");
    rk_launch_assume_open(launch, "gradients", "fp32");
    rk_launch_assume_open(launch, "dispatcher", "alltoall");
    rk_launch_assume_open(launch, "grouped_gemm", "true");
}

/* ---- FSDP ------------------------------------------------------------------------------------ */

/* Replicas: all ranks divided by the ranks of a shard group. */
static void state_replicas(rk_launch *launch)
{
    static const char *const names[] = {ACTOR "fsdp_config.fsdp_size", "engine.fsdp_size",
                                        ACTOR "veomni.fsdp_size", NULL};
    const int64_t nodes = rk_launch_count_of(launch, "nodes");
    const int64_t ranks = rk_launch_count_of(launch, "gpus_per_node");
    for (size_t i = 0; names[i]; i++) {
        const int64_t size = count_of(launch, names[i], 0);
        if (size > 0 && nodes > 0 && nodes <= INT32_MAX && ranks > 0 && ranks <= INT32_MAX &&
            nodes * ranks % size == 0) {
            rk_launch_state_count(launch, "hsdp", nodes * ranks / size, RK_FACT_DERIVED,
                                  rk_launch_find(launch, names[i]));
        }
    }
}

static void state_host_shards(rk_launch *launch)
{
    static const char policy[] = ACTOR "fsdp_config.offload_policy";
    if (rk_launch_is_on(launch, policy, false)) {
        rk_launch_state_by(launch, "offload", "optimizer+weights", policy);
    }
}

static void state_fsdp(rk_launch *launch, const char *engine)
{
    static const char reshard[] = ACTOR "fsdp_config.reshard_after_forward";
    static const char *const ulysses[] = {
        ACTOR "ulysses_sequence_parallel_size",
        ACTOR "fsdp_config.ulysses_sequence_parallel_size",
        ACTOR "veomni.ulysses_parallel_size",
        ACTOR "fsdp_config.turbo_config.distributed.ulysses_parallel_size",
        "engine.ulysses_sequence_parallel_size",
        "ulysses_sequence_parallel_size",
        NULL};
    static const char *const experts[] = {ACTOR "veomni.expert_parallel_size",
                                          ACTOR "torchtitan.expert_parallel_size", NULL};
    static const char *const tensor[] = {ACTOR "torchtitan.tensor_parallel_size", NULL};
    static const char *const types[] = {ACTOR "fsdp_config.model_dtype", "engine.model_dtype",
                                        NULL};
    static const char *const checkpoints[] = {
        "actor_rollout_ref.model.enable_gradient_checkpointing",
        "model.enable_gradient_checkpointing"};
    const bool gathered = is_engine(engine, "fsdp") && !rk_launch_is_on(launch, reshard, true);
    state_first(launch, "cp", ulysses);
    state_first(launch, "ep", experts);
    state_first(launch, "tp", tensor);
    state_first(launch, "weights_loaded_as", types);
    state_replicas(launch);
    rk_launch_assume_open(launch, "zero", gathered ? "2" : "3");
    rk_launch_assume_open(launch, "weights_loaded_as", "fp32");
    rk_launch_assume_open(launch, "sp", "false");
    rk_launch_assume_open(launch, "recompute.granularity",
                          rk_launch_is_on(launch, checkpoints[0], true) &&
                                  rk_launch_is_on(launch, checkpoints[1], true)
                              ? "full"
                              : "none");
    rk_launch_assume_open(launch, "optimizer", "adamw");
    state_host_shards(launch);
    if (rk_launch_count_of(launch, "cp") > 1) {
        rk_launch_state(launch, "cp_kind", "ulysses", RK_FACT_DERIVED, NULL);
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void state_common(rk_launch *launch)
{
    static const char *const ranks[] = {"actor_rollout_ref.model.lora_rank",
                                        "actor_rollout_ref.model.lora.rank", "model.lora_rank",
                                        NULL};
    const bool fused = rk_launch_is_on(launch, "actor_rollout_ref.model.use_fused_kernels", false);
    state_first(launch, "lora", ranks);
    if (rk_launch_fact_of(launch, "lora") && rk_launch_count_of(launch, "lora") == 0) {
        rk_launch_drop(launch, "lora");
    }
    rk_launch_assume_open(launch, "lora", "none");
    rk_launch_assume_open(launch, "loss", fused ? "fused" : "full logits");
    rk_launch_assume_open(launch, "attention", "flash");
    rk_launch_assume_open(launch, "precision", "bf16");
    rk_launch_assume_open(launch, "offload", "none");
    rk_megatron_assume_count(launch, "tp", 1);
    rk_megatron_assume_count(launch, "pp", 1);
    rk_megatron_assume_count(launch, "vp", 1);
    rk_megatron_assume_count(launch, "cp", 1);
    rk_megatron_assume_count(launch, "ep", 1);
}

/* Marks keys of other parts than the training of the actor, unless they decide a fact. */
static void mark_rest(rk_launch *launch)
{
    static const char *const rows[][2] = {
        {"actor_rollout_ref.rollout.", "generation is not priced"},
        {"rollout.", "generation is not priced"},
        {"actor_rollout_ref.ref.", "the forward pass of the reference model is not priced"},
        {"critic.", "the critic is not priced"},
        {"reward", "the reward model is not priced"},
        {"distillation.", "the teacher model is not priced"},
    };
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        for (size_t j = 0; j < COUNT(rows); j++) {
            if (key->use == RK_KEY_UNREAD &&
                strncmp(key->name, rows[j][0], strlen(rows[j][0])) == 0) {
                key->use = RK_KEY_NOT_PRICED;
                key->note = rows[j][1];
            }
        }
    }
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const char *engine = find_engine(launch);
    const bool sft = strstr(rk_launch_program(launch), "sft_trainer") != NULL;
    (void)err;
    if (sft) {
        state_sequences(launch);
    } else {
        state_samples(launch);
    }
    rk_megatron_state_named_model(launch);
    rk_launch_state(launch, "framework",
                    is_engine(engine, "megatron")     ? "megatron"
                    : is_engine(engine, "torchtitan") ? "torchtitan"
                                                      : "huggingface", /* models of transformers */
                    RK_FACT_DERIVED, NULL);
    if (is_engine(engine, "megatron")) {
        state_megatron(launch);
    } else {
        state_fsdp(launch, engine);
    }
    state_common(launch);
    if (!sft) {
        mark_rest(launch);
    }
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_verl = {
    .name = "verl",
    .tables = {"verl"},
    .words_are_pairs = true,
    .recognise = recognise,
    .resolve = resolve,
};
