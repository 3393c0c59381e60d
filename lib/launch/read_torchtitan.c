/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchtitan: TOML of 0.2 with dotted flags, and records of the configurations that its registries
 * of 2026 build, in which "_" is the name of a class.  Sources: torchtitan/config/job_config.py of
 * v0.2.2, torchtitan/config of commit b5bcd76c66d0, torchtitan/distributed/parallel_dims.py.
 */
#include "launch/read_torchtitan.h"

#include "base/error.h"
#include "base/units.h"
#include "launch/launch_parts.h"
#include "launch/reader_kit.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Whether the value of a key has a part; absent keys have none. */
static bool value_has(rk_launch *launch, const char *key, const char *part)
{
    const char *value = rk_launch_value(launch, key);
    return value && strstr(value, part);
}

/* ---- layout ---------------------------------------------------------------------------------- */

/*
 * FSDP2 over the ranks that are left (-1) or over a number, and over context-parallel ranks;
 * replicas alone are DDP.
 */
static void state_sharding(rk_launch *launch, int64_t pp)
{
    const double shards = rk_launch_number(launch, "parallelism.data_parallel_shard_degree", -1);
    const int64_t replicas = rk_launch_count_of(launch, "hsdp");
    const char *reshard =
        rk_launch_value_or(launch, "parallelism.fsdp_reshard_after_forward", "default");
    const rk_launch_key *by = rk_launch_find(launch, "parallelism.fsdp_reshard_after_forward");
    const bool never = strcmp(reshard, "never") == 0 || (strcmp(reshard, "default") == 0 && pp > 1);
    const bool plain =
        shards == 1 && rk_launch_number(launch, "parallelism.context_parallel_degree", 1) <= 1;
    if (plain) {
        rk_launch_state(launch, "hsdp", "1", RK_FACT_STATED, NULL); /* replicas without shards */
    }
    rk_launch_state(launch, "zero", plain ? "0" : never ? "2" : "3", RK_FACT_DERIVED, by);
    if (shards >= 1 && replicas > 0 && replicas <= INT32_MAX && shards < 1e9) {
        rk_launch_state_count(launch, "dp", replicas * (int64_t)shards, RK_FACT_STATED, NULL);
    }
}

/* Keys of a pipeline that is not there say nothing. */
static void drop_pipeline(rk_launch *launch)
{
    static const char no_pipeline[] = "has no effect without a pipeline";
    static const char *const keys[] = {
        "schedule",    "schedule_",       "layers_per_stage",       "first_stage_",
        "last_stage_", "microbatch_size", "expert_parallel_overlap"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        rk_launch_mark(launch,
                       rk_launch_format(launch, "parallelism.pipeline_parallel_%s", keys[i]),
                       RK_KEY_WITHOUT_COST, no_pipeline);
    }
    rk_launch_mark(launch, "parallelism.module_fqns_", RK_KEY_WITHOUT_COST, no_pipeline);
    rk_launch_mark(launch, "parallelism.num_pp_microbatches", RK_KEY_WITHOUT_COST, no_pipeline);
}

static void state_layout(rk_launch *launch, const rk_torchtitan_base *base)
{
    static const rk_named_text ones[] = {{"tp", "1"}, {"pp", "1"},   {"cp", "1"},
                                         {"ep", "1"}, {"hsdp", "1"}, {"vp", "1"}};
    rk_launch_assume_all(launch, ones, COUNT(ones));
    const int64_t tp = rk_launch_count_of(launch, "tp"), pp = rk_launch_count_of(launch, "pp");
    if (!base->is_main) {
        rk_launch_assume_count(launch, "etp", 1);
    }
    const bool sequence =
        rk_launch_is_on(launch, "parallelism.enable_sequence_parallel", true) && tp > 1;
    rk_launch_state(launch, "sp", sequence ? "true" : "false", RK_FACT_DERIVED, NULL);
    state_sharding(launch, pp);
    if (pp > 1) {
        rk_torchtitan_state_stages(launch, pp);
    } else {
        drop_pipeline(launch);
    }
    if (rk_launch_count_of(launch, "cp") > 1) {
        const char *rotation =
            rk_launch_value_or(launch, "parallelism.context_parallel_rotate_method", "allgather");
        rk_launch_state(launch, "cp_kind",
                        strcmp(rotation, "alltoall") == 0 ? "ring" : "all-gather", RK_FACT_DERIVED,
                        NULL);
    } else {
        rk_launch_mark(launch, "parallelism.context_parallel_rotate_method", RK_KEY_WITHOUT_COST,
                       "has no effect without context parallelism");
    }
    if (rk_launch_count_of(launch, "ep") > 1) {
        const char *backend = rk_launch_value_or(
            launch, "parallelism.expert_parallel_comm_backend",
            rk_launch_value_or(launch, "model_spec.moe_comm_backend", "standard"));
        rk_launch_state(launch, "dispatcher",
                        strcmp(backend, "standard") == 0 ? "alltoall" : backend, RK_FACT_DERIVED,
                        NULL);
    } else {
        rk_launch_mark(launch, "parallelism.expert_parallel_comm_backend", RK_KEY_WITHOUT_COST,
                       "has no effect without expert parallelism");
    }
}

/* ---- batch ----------------------------------------------------------------------------------- */

/* With a pipeline the local batch is cut into micro-batches; without one it is the micro-batch. */
static void state_batch_of_sequences(rk_launch *launch)
{
    const char *name = rk_launch_has(launch, "training.local_batch_size")
                           ? "training.local_batch_size"
                           : "training.batch_size";
    const rk_launch_key *key = rk_launch_find(launch, name);
    const double local = rk_launch_number(launch, name, 8);
    const double global = rk_launch_number(launch, "training.global_batch_size", -1);
    const double micro =
        rk_launch_number(launch, "parallelism.pipeline_parallel_microbatch_size", 1);
    const int64_t dp = rk_launch_count_of(launch, "dp");
    const bool pipelined = rk_launch_count_of(launch, "pp") > 1 && micro >= 1 && local >= micro;
    rk_launch_assume(launch, "seq", "2048");
    if (!(local >= 1 && local < 1e9 && micro < 1e9)) {
        return;
    }
    rk_launch_state_count(launch, "micro_batch", (int64_t)(pipelined ? micro : local),
                          key ? RK_FACT_STATED : RK_FACT_DEFAULT, key);
    const int64_t parts = pipelined ? (int64_t)(local / micro) : 1;
    if (global >= 1 && global < 9e15) {
        rk_launch_state_count_by(launch, "global_batch", (int64_t)global,
                                 "training.global_batch_size");
        if (dp > 0 && local * (double)dp <= global) {
            rk_launch_state_count(launch, "accumulation",
                                  (int64_t)(global / (local * (double)dp)) * parts, RK_FACT_DERIVED,
                                  NULL);
        }
    } else {
        rk_launch_state_count(launch, "accumulation", parts, RK_FACT_DERIVED, NULL);
    }
}

static void state_batch_of_tokens(rk_launch *launch)
{
    const char *name = "training.num_tokens_per_microbatch_per_dp_rank";
    const rk_launch_key *key = rk_launch_find(launch, name);
    rk_launch_assume(launch, "seq", "2048");
    const double seq = (double)rk_launch_count_of(launch, "seq");
    const double parts = rk_launch_count_of(launch, "pp") > 1
                             ? rk_launch_number(launch, "parallelism.num_pp_microbatches", 1)
                             : 1;
    const double tokens = rk_launch_number(launch, name, 16384) / (parts >= 1 ? parts : 1);
    const double step = rk_launch_number(launch, "training.num_tokens_per_train_step", -1);
    rk_launch_state_sequences(launch, "micro_batch", tokens, seq,
                              key ? RK_FACT_STATED : RK_FACT_DEFAULT, key);
    if (step >= 1) {
        rk_launch_state_sequences(launch, "global_batch", step, seq, RK_FACT_STATED,
                                  rk_launch_find(launch, "training.num_tokens_per_train_step"));
    } else if (parts >= 1 && parts < 1e9) {
        rk_launch_state_count(launch, "accumulation", (int64_t)parts, RK_FACT_DERIVED, NULL);
    }
}

/* ---- precision and memory -------------------------------------------------------------------- */

static void state_fp8(rk_launch *launch, const char *recipe, const rk_launch_key *by)
{
    rk_launch_state(launch, "fp8.format", "e4m3", RK_FACT_DERIVED, by);
    rk_launch_state(launch, "fp8.recipe", recipe, RK_FACT_STATED, by);
}

/* Scales of rows have no recipe here. */
static void mark_rowwise(rk_launch *launch, const char *name)
{
    const char *recipe = rk_launch_value(launch, name);
    if (recipe && strncmp(recipe, "rowwise", strlen("rowwise")) == 0) {
        rk_launch_mark(launch, name, RK_KEY_NOT_PRICED,
                       "scaling by rows is priced as scaling by tensors");
    }
}

/* Converters: names in 0.2, classes in 2026. */
static void state_converters(rk_launch *launch)
{
    const char *name = rk_launch_has(launch, "model_spec.converters") ? "model_spec.converters"
                                                                      : "model.converters";
    const rk_launch_key *key = rk_launch_find(launch, name);
    if (!key || !key->value) {
        return;
    }
    if (strstr(key->value, "MXFP8") || strstr(key->value, "mx")) {
        state_fp8(launch, "mxfp8", key);
    } else if (strstr(key->value, "NVFP4")) {
        rk_launch_state(launch, "fp4.recipe", "nvfp4", RK_FACT_STATED, key);
    } else if (strstr(key->value, "float8") || strstr(key->value, "Float8")) {
        state_fp8(launch, "tensorwise", key);
        mark_rowwise(launch, "quantize.linear.float8.recipe_name");
        mark_rowwise(launch, "float8.recipe_name");
    }
    if (rk_launch_is_on(launch, "quantize.linear.float8.enable_fsdp_float8_all_gather", false) ||
        rk_launch_is_on(launch, "float8.enable_fsdp_float8_all_gather", false)) {
        rk_launch_state(launch, "fp8.param_gather", "true", RK_FACT_STATED, NULL);
    }
}

/* Keys of converters that are not there say nothing. */
static void drop_quantization(rk_launch *launch)
{
    static const char none[] = "has no effect without its converter";
    if (!rk_launch_fact_of(launch, "fp8.format") && !rk_launch_fact_of(launch, "fp4.recipe")) {
        rk_launch_mark(launch, "quantize.", RK_KEY_WITHOUT_COST, none);
        rk_launch_mark(launch, "float8.", RK_KEY_WITHOUT_COST, none);
    }
}

/* The rank of a LoRAConverter, which is one of a list of classes. */
static void state_adapters(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "model_spec.converters");
    size_t i = 0;
    json_t *converter = NULL;
    json_array_foreach(key ? (json_t *)(uintptr_t)key->json : NULL, i, converter)
    {
        const char *class = json_string_value(json_object_get(converter, "_"));
        if (class && strstr(class, "LoRA")) {
            const json_t *rank = json_object_get(converter, "rank");
            rk_launch_state_count(launch, "lora",
                                  json_is_integer(rank) ? json_integer_value(rank) : 8,
                                  RK_FACT_STATED, key);
        }
    }
    rk_launch_assume(launch, "lora", "none");
}

static void state_precision(rk_launch *launch)
{
    const rk_launch_key *param = rk_launch_find(launch, "training.mixed_precision_param");
    const rk_launch_key *reduce = rk_launch_find(launch, "training.mixed_precision_reduce");
    const rk_launch_key *type = rk_launch_find(launch, "training.dtype");
    const bool pure =
        type && type->value && strcmp(rk_launch_data_type(launch, type->value), "bf16") == 0;
    rk_launch_state(launch, "precision",
                    param && param->value ? rk_launch_data_type(launch, param->value) : "bf16",
                    param ? RK_FACT_STATED : RK_FACT_DEFAULT, param);
    rk_launch_state(launch, "gradients",
                    reduce && reduce->value ? rk_launch_data_type(launch, reduce->value) : "fp32",
                    reduce ? RK_FACT_STATED : RK_FACT_DEFAULT, reduce);
    rk_launch_state(launch, "weights", pure ? "bf16" : "fp32",
                    type ? RK_FACT_STATED : RK_FACT_DEFAULT, type);
    if (pure) { /* weights, gradients and moments */
        rk_launch_state(launch, "weights_loaded_as", "bf16", RK_FACT_STATED, type);
    }
    state_converters(launch);
    drop_quantization(launch);
    state_adapters(launch);
}

static void state_recompute(rk_launch *launch, const rk_torchtitan_base *base)
{
    const char *name = base->is_main ? "activation_checkpoint._" : "activation_checkpoint.mode";
    const rk_launch_key *key = rk_launch_find(launch, name);
    const char *mode = key && key->value ? key->value : base->recompute;
    const char *option =
        rk_launch_value_or(launch, "activation_checkpoint.selective_ac_option", base->selective);
    const rk_fact_origin origin = key ? RK_FACT_STATED : RK_FACT_DEFAULT;
    if (strncmp(mode, "Full", 4) == 0 || strcmp(mode, "full") == 0) {
        rk_launch_state(launch, "recompute.granularity", "full", origin, key);
    } else if (strncmp(mode, "Selective", 9) == 0 || strcmp(mode, "selective") == 0) {
        const bool by_operator = base->is_main || strcmp(option, "op") == 0;
        rk_launch_state(launch, "recompute.granularity", "selective", origin, key);
        rk_launch_state(launch, "recompute.option", by_operator ? "per operator" : option,
                        RK_FACT_DERIVED, key);
    } else if (strncmp(mode, "MemoryBudget", 12) == 0 || strcmp(mode, "memory_budget") == 0) {
        rk_launch_state_budget(launch, "activation_checkpoint.memory_budget", 0.5, key);
    } else {
        rk_launch_state(launch, "recompute.granularity", "none", origin, key);
    }
}

static void state_memory(rk_launch *launch, const rk_torchtitan_base *base)
{
    const rk_launch_key *optimizer = rk_launch_find(launch, "optimizer.name");
    rk_launch_state(launch, "optimizer",
                    optimizer && optimizer->value ? rk_launch_lower(launch, optimizer->value)
                                                  : "adamw",
                    optimizer ? RK_FACT_STATED : RK_FACT_DEFAULT, optimizer);
    const bool offload = rk_launch_is_on(launch, "training.enable_cpu_offload", false);
    rk_launch_state(launch, "offload", offload ? "optimizer+weights" : "none",
                    offload ? RK_FACT_STATED : RK_FACT_DEFAULT,
                    rk_launch_find(launch, "training.enable_cpu_offload"));
    state_recompute(launch, base);
    const bool chunked = value_has(launch, "loss._", "Chunked");
    rk_launch_state(launch, "loss", chunked ? "chunked" : "full logits", RK_FACT_DERIVED,
                    rk_launch_find(launch, "loss._"));
    if (rk_launch_is_on(launch, "optimizer.early_step_in_backward", false)) {
        rk_launch_state(launch, "optimizer_in_backward", "true", RK_FACT_STATED, NULL);
    }
}

/* ---- kernels and overlap --------------------------------------------------------------------- */

/* The parts that are compiled: "model+loss"; "false": none. */
static const char *compiled_parts(rk_launch *launch, const rk_torchtitan_base *base)
{
    const bool on = rk_launch_is_on(launch, "compile.enable", base->compile) ||
                    rk_launch_is_on(launch, "training.compile", false);
    const rk_launch_key *parts = rk_launch_find(launch, "compile.components");
    if (!on) {
        return "false";
    }
    if (!parts || !parts->value) {
        return "model+loss";
    }
    const bool model = strstr(parts->value, "model"), loss = strstr(parts->value, "loss");
    return model && loss ? "model+loss" : model ? "model" : loss ? "loss" : "false";
}

static void state_kernels(rk_launch *launch, const rk_torchtitan_base *base)
{
    const char *compiled = compiled_parts(launch, base);
    const bool asynchronous =
        (rk_launch_is_on(launch, "parallelism.enable_async_tensor_parallel", false) ||
         rk_launch_is_on(launch, "compile.enable_async_tensor_parallel", false)) &&
        strstr(compiled, "model") && rk_launch_count_of(launch, "tp") > 1;
    const int64_t zero = rk_launch_count_of(launch, "zero");
    /* The runtime of PyTorch's looped schedules posts messages before it waits for them. */
    const bool looped =
        rk_launch_count_of(launch, "pp") > 1 && rk_launch_count_of(launch, "vp") > 1;
    rk_launch_state(launch, "compile", compiled, RK_FACT_DERIVED,
                    rk_launch_find(launch, "compile.enable"));
    rk_launch_state(launch, "overlap",
                    rk_launch_format(launch, "grad%s%s%s", zero > 0 ? "+param" : "",
                                     asynchronous ? "+tp" : "", looped ? "+pp" : ""),
                    RK_FACT_DERIVED, NULL);
    const rk_launch_key *attention = rk_launch_find(launch, "model_spec.attn_backend");
    if (attention && attention->value) {
        rk_launch_state(launch, "attention", attention->value, RK_FACT_STATED, attention);
    }
    if (!base->is_main) {
        return;
    }
    /* Refused with a pipeline, and with experts over ranks and the plain dispatcher. */
    const char *dispatcher = rk_launch_fact_of(launch, "dispatcher");
    const bool refused =
        rk_launch_count_of(launch, "pp") > 1 || (dispatcher && strcmp(dispatcher, "alltoall") == 0);
    const bool off = rk_launch_is_on(launch, "training.disable_cuda_graphs", false) || refused;
    rk_launch_state(launch, "graphs", off ? "false" : "true", RK_FACT_DERIVED,
                    rk_launch_find(launch, "training.disable_cuda_graphs"));
}

void rk_torchtitan_state(rk_launch *launch, const rk_torchtitan_base *base)
{
    state_layout(launch, base);
    if (base->is_main) {
        state_batch_of_tokens(launch);
    } else {
        state_batch_of_sequences(launch);
    }
    state_precision(launch);
    state_memory(launch, base);
    state_kernels(launch, base);
    rk_launch_state_processes(launch);
    rk_launch_mark(launch, "loss.", RK_KEY_USED, NULL);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The first argument of model_registry("8B"). */
static const char *registry_argument(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "model_spec.args");
    const char *flavor = key ? json_string_value(json_array_get(key->json, 0)) : NULL;
    return flavor ? flavor : rk_launch_value(launch, "model_spec.flavor");
}

/* "8B_flex" is the shape "8B" with another kernel. */
static bool state_flavor(rk_launch *launch, const char *family, const char *flavor,
                         const rk_launch_key *by)
{
    const char *cut = strchr(flavor, '_');
    const int whole = (int)(cut ? cut - flavor : (ptrdiff_t)strlen(flavor));
    const char *plain = rk_launch_format(launch, "%s %.*s", family, whole, flavor);
    if (rk_launch_state_built_model(launch, "torchtitan", plain, by)) {
        return true;
    }
    rk_launch_state(launch, "model.name", rk_launch_format(launch, "%s %s", family, flavor),
                    RK_FACT_STATED, by);
    return false;
}

static rk_status state_model(rk_launch *launch, rk_error *err)
{
    const rk_launch_key *family = rk_launch_find(launch, "model.name");
    const rk_launch_key *flavor = rk_launch_find(launch, "model.flavor");
    const rk_launch_key *hub = rk_launch_find(launch, "hf_transformers.model");
    family = family ? family : rk_launch_find(launch, "module");
    const char *name = family && family->value ? family->value : "llama3";
    const char *dot = strrchr(name, '.'); /* a package: torchtitan.models.llama3 */
    const char *size = flavor && flavor->value ? flavor->value : registry_argument(launch);
    name = dot ? dot + 1 : name;
    if (strcmp(name, "flux") == 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s: flux is an image model; only language models are priced", launch->name);
    }
    const rk_launch_key *assets = rk_launch_find(launch, "hf_assets_path");
    if (!family && assets && assets->value &&
        rk_launch_state_named_model(launch, rk_launch_base_name(assets->value), assets)) {
        rk_launch_state(launch, "model.name", rk_launch_base_name(assets->value), RK_FACT_STATED,
                        assets);
    } else if (hub && hub->value) {
        rk_launch_state(launch, "model.name", hub->value, RK_FACT_STATED, hub);
        (void)rk_launch_state_named_model(launch, hub->value, hub);
    } else if (size) {
        (void)state_flavor(launch, name, size, flavor ? flavor : family);
    }
    return RK_OK;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static bool has_section(const json_t *root, const char *section, const char *member)
{
    return json_object_get(json_object_get(root, section), member) != NULL;
}

static int recognise(const rk_launch *launch)
{
    const json_t *root = rk_launch_document_of(launch, "config");
    for (size_t i = 0; i < launch->word_count; i++) {
        const char *word = launch->words[i].text;
        if (strncmp(word, "torchtitan.", 11) == 0 || strstr(word, "torchtitan/train.py") ||
            strncmp(word, "--job.config", 12) == 0 ||
            strcmp(rk_launch_base_name(word), "run_train.sh") == 0) {
            return 8;
        }
    }
    const bool main_config =
        has_section(root, "training", "num_tokens_per_microbatch_per_dp_rank") ||
        has_section(root, "model_spec", "_");
    const bool toml =
        has_section(root, "model", "flavor") ||
        has_section(root, "parallelism", "data_parallel_shard_degree") ||
        (has_section(root, "training", "local_batch_size") && json_object_get(root, "parallelism"));
    return main_config || toml ? 7 : 0;
}

/* run_train.sh reads the path of its configuration from the environment. */
static rk_status prepare(rk_launch *launch, rk_error *err)
{
    const char *path = rk_launch_has(launch, "job.config_file")
                           ? rk_launch_value(launch, "job.config_file")
                           : rk_launch_environment(launch, "CONFIG_FILE");
    return rk_launch_open_config(launch, path, err);
}

static bool is_of_2026(const rk_launch *launch)
{
    return rk_launch_has(launch, "training.max_context_length") ||
           rk_launch_has(launch, "training.num_tokens_per_microbatch_per_dp_rank") ||
           rk_launch_has(launch, "model_spec._") || rk_launch_has(launch, "module") ||
           (launch->release && strncmp(launch->release, "main", 4) == 0);
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_torchtitan_base base = {
        .is_main = is_of_2026(launch),
        .recompute = is_of_2026(launch) ? "none" : "selective",
        .selective = "2",
    };
    if (launch->document_count == 0 && !rk_launch_has(launch, "model.flavor")) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s: the job is in a Python function, which --config names; give the "
                       "configuration that it makes (--debug.save_config_file writes it)",
                       launch->name);
    }
    if (strcmp(rk_launch_program(launch), "run_train.sh") == 0) {
        rk_launch_assume_count(launch, "nodes", 1);
        rk_launch_assume_count(launch, "gpus_per_node", 8); /* without NGPU */
    }
    (void)rk_launch_find(launch, "config"); /* names the function that makes the configuration */
    const rk_status status = state_model(launch, err);
    if (!status) {
        rk_torchtitan_state(launch, &base);
    }
    return status;
}

const rk_launch_reader rk_launch_reader_torchtitan = {
    .name = "torchtitan",
    .framework = "torchtitan",
    .tables = {"torchtitan-0.2", "torchtitan-main"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
