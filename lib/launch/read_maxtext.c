/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxText: a YAML file over base.yml, and key=value words over both.  Source: src/maxtext/configs
 * of AI-Hypercomputer/maxtext, commit e591f30cbbf2.
 */
#include "base/error.h"
#include "base/named.h"
#include "base/units.h"
#include "io/csv_in.h"
#include "launch/launch_parts.h"
#include "launch/reader_kit.h"

#include <string.h>

/* ---- files ----------------------------------------------------------------------------------- */

/* Adds the keys of a file that MaxText ships; false: it ships none of this name. */
static bool add_own_file(rk_launch *launch, const char *name)
{
    rk_csv_in files = {0};
    rk_error err;
    bool found = false;
    if (rk_csv_load_named("maxtext-files", "launch_models", &files, &err)) {
        launch->out_of_memory |= err.code == RK_ERR_MEMORY;
        rk_csv_in_clear(&files);
        return false;
    }
    for (size_t i = 0; i < files.rows && !found; i++) {
        char *const *cells = &files.cells[(i + 1) * files.columns];
        found = strcmp(cells[0], name) == 0;
        for (size_t c = 1; found && c < files.columns; c++) {
            const rk_launch_key key = {.name = rk_launch_keep(launch, files.cells[c]),
                                       .value = rk_launch_keep(launch, cells[c]),
                                       .source = rk_launch_keep(launch, name)};
            if (*cells[c]) {
                rk_launch_add_key(launch, &key);
            }
        }
    }
    rk_csv_in_clear(&files);
    return found;
}

/* The file is a word after the program; base.yml has only the defaults. */
static rk_status prepare(rk_launch *launch, rk_error *err)
{
    rk_status status = RK_OK;
    bool found = launch->document_count > 0;
    const char *named = NULL;
    for (size_t i = launch->program + 1; i < launch->word_count && !found && !status; i++) {
        const char *word = launch->words[i].text;
        const rk_launch_form form = rk_launch_form_of_name(word);
        if (form == RK_LAUNCH_YAML && !strchr(word, '=')) {
            named = word;
            status = rk_launch_open_named(launch, word, &found, err);
            found = found || strcmp(rk_launch_base_name(word), "base.yml") == 0 ||
                    add_own_file(launch, rk_launch_base_name(word));
        }
    }
    if (!status && named && !found) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "%s: the job is in the configuration %s, which is not there; put that "
                         "file beside %s",
                         launch->name, named, launch->name);
    }
    return status;
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* The product of an axis within a slice and over slices; 0: one is -1, the rest. */
static int64_t axis(rk_launch *launch, const char *name, double inside_usual, double outside_usual)
{
    const double inside = rk_launch_number(
        launch, rk_launch_format(launch, "ici_%s_parallelism", name), inside_usual);
    const double outside = rk_launch_number(
        launch, rk_launch_format(launch, "dcn_%s_parallelism", name), outside_usual);
    return inside >= 1 && outside >= 1 && inside * outside < 1e6
               ? (int64_t)inside * (int64_t)outside
               : 0;
}

/* States replicas and shards; `known`: tp, cp and pp are numbers. */
static void state_sharding(rk_launch *launch, bool known)
{
    const int64_t fsdp = axis(launch, "fsdp", -1, 1) * axis(launch, "fsdp_transpose", 1, 1);
    const bool replicas_left = !rk_launch_has(launch, "dcn_data_parallelism");
    const int64_t replicas = axis(launch, "data", 1, replicas_left ? 1 : -1);
    const bool optimizer = rk_launch_is_on(launch, "shard_optimizer_over_data", false);
    const bool once = rk_launch_is_on(launch, "pipeline_fsdp_ag_once", false);
    rk_launch_state(launch, "zero",
                    fsdp == 1 ? (optimizer ? "1" : "0")
                    : once    ? "2"
                              : "3",
                    RK_FACT_DERIVED, NULL);
    rk_launch_state(launch, "overlap", fsdp == 1 ? "grad" : "grad+param", RK_FACT_DERIVED, NULL);
    if (fsdp > 0 && replicas > 0 && fsdp < 100000 && replicas < 100000 && !replicas_left) {
        const int64_t experts = rk_launch_count_of(launch, "ep");
        const int64_t dp = fsdp * replicas * (experts > 0 && experts < 100000 ? experts : 1);
        rk_launch_state_count(launch, "dp", dp, RK_FACT_STATED, NULL);
        rk_launch_state_processes(launch);
    }
    if (fsdp != 1 && replicas > 1 && known) {
        rk_launch_derive_count(launch, "hsdp", replicas);
    }
}

static void state_layout(rk_launch *launch)
{
    const int64_t sequence = axis(launch, "tensor_sequence", 1, 1);
    const int64_t tp = axis(launch, "tensor", 1, 1) * sequence;
    const int64_t context = axis(launch, "context", 1, 1);
    const int64_t ulysses = axis(launch, "context_usp_ulysses", 1, 1);
    const int64_t cp = context * ulysses * axis(launch, "sequence", 1, 1);
    const int64_t pp = axis(launch, "pipeline", 1, 1);
    rk_launch_derive_count(launch, "tp", tp);
    rk_launch_derive_count(launch, "cp", cp);
    rk_launch_derive_count(launch, "pp", pp);
    rk_launch_derive_count(launch, "ep", axis(launch, "expert", 1, 1));
    rk_launch_state(launch, "sp", sequence > 1 ? "true" : "false", RK_FACT_DERIVED, NULL);
    const char *kind = rk_launch_value(launch, "context_parallel_strategy");
    if (cp > 1) {
        rk_launch_state(launch, "cp_kind",
                        !kind || strcmp(kind, "all_gather") == 0 ? "all-gather" : kind,
                        RK_FACT_DERIVED, rk_launch_find(launch, "context_parallel_strategy"));
    }
    state_sharding(launch, tp > 0 && cp > 0 && pp > 0);
}

/* The layers are in pp x repeats parts, each of some layers. */
static void state_virtual_stages(rk_launch *launch)
{
    const int64_t pp = rk_launch_count_of(launch, "pp");
    const int64_t layers = rk_launch_count_of(launch, "model.layers");
    const double repeats = rk_launch_number(launch, "num_pipeline_repeats", -1);
    const double part = rk_launch_number(launch, "num_layers_per_pipeline_stage", 1);
    const double derived = pp > 1 && part >= 1 ? (double)layers / ((double)pp * part) : 1;
    const double vp = pp <= 1 ? 1 : repeats >= 1 ? repeats : derived;
    rk_launch_state_count(launch, "vp", vp >= 1 && vp < 1e6 ? (int64_t)vp : 1, RK_FACT_DERIVED,
                          rk_launch_find(launch, "num_pipeline_repeats"));
}

/* ---- batch ----------------------------------------------------------------------------------- */

/*
 * Sequences are counted per device; the sequences of a data-parallel rank go through its
 * pipeline.
 */
static void state_batch(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "per_device_batch_size");
    const double per_device = rk_launch_number(launch, "per_device_batch_size", 12);
    const int64_t pp = rk_launch_count_of(launch, "pp");
    const double devices = (double)rk_launch_count_of(launch, "tp") *
                           (double)rk_launch_count_of(launch, "cp") * (double)(pp > 0 ? pp : 1);
    const double given = rk_launch_number(launch, "num_pipeline_microbatches", -1);
    const double parts = pp <= 1 ? 1 : given >= 1 ? given : (double)pp;
    const double micro = per_device * devices / parts;
    const rk_fact_origin origin = key ? RK_FACT_STATED : RK_FACT_DEFAULT;
    rk_launch_assume(launch, "seq", "2048");
    if (micro >= 1 && micro < 1e9) {
        rk_launch_state_count(launch, "micro_batch", (int64_t)micro, origin, key);
    } else if (key) {
        rk_launch_mark(launch, "per_device_batch_size", RK_KEY_NOT_PRICED,
                       "less than one sequence per rank: give --micro-batch and --cp");
    }
    rk_launch_assume_count(launch, "accumulation", 1);
    const int64_t steps = rk_launch_count_of(launch, "accumulation");
    if (parts > 1 && parts < 1e6 && steps <= INT32_MAX) {
        rk_launch_state_count_by(launch, "accumulation", steps * (int64_t)parts,
                                 "num_pipeline_microbatches");
    }
}

/* ---- precision and memory -------------------------------------------------------------------- */

static const char *type_or(rk_launch *launch, const char *key, const char *usual)
{
    const char *value = rk_launch_value(launch, key);
    return value && *value ? rk_launch_data_type(launch, value) : usual;
}

static void state_quantization(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "quantization");
    const char *name = key && key->value ? key->value : "";
    if (strstr(name, "nvfp4")) {
        rk_launch_state(launch, "fp4.recipe", "nvfp4", RK_FACT_STATED, key);
    } else if (strstr(name, "fp8")) {
        rk_launch_state(launch, "fp8.format", "e4m3", RK_FACT_DERIVED, key);
        rk_launch_state(launch, "fp8.recipe",
                        strstr(name, "mxfp8")       ? "mxfp8"
                        : strstr(name, "delayed")   ? "delayed"
                        : strstr(name, "blockwise") ? "blockwise"
                                                    : "tensorwise",
                        RK_FACT_DERIVED, key);
    } else if (*name) {
        rk_launch_mark(launch, "quantization", RK_KEY_NOT_PRICED,
                       "products in integers are priced in the type of activations");
    }
}

static void state_precision(rk_launch *launch)
{
    const char *weights = type_or(launch, "weight_dtype", "fp32");
    rk_launch_state(launch, "precision", type_or(launch, "dtype", "bf16"), RK_FACT_DERIVED,
                    rk_launch_find(launch, "dtype"));
    rk_launch_state(launch, "weights", weights, RK_FACT_DERIVED,
                    rk_launch_find(launch, "weight_dtype"));
    rk_launch_state(launch, "gradients", type_or(launch, "grad_dtype", "fp32"), RK_FACT_DERIVED,
                    rk_launch_find(launch, "grad_dtype"));
    rk_launch_state(launch, "states.exp_avg", type_or(launch, "mu_dtype", weights), RK_FACT_DERIVED,
                    rk_launch_find(launch, "mu_dtype"));
    rk_launch_state(launch, "states.exp_avg_sq", weights, RK_FACT_DERIVED, NULL);
    if (strcmp(weights, "bf16") == 0) {
        rk_launch_state(launch, "weights_loaded_as", "bf16", RK_FACT_DERIVED, NULL);
    }
    state_quantization(launch);
}

/* Tensors of a layer that a policy keeps by name; "offload" ones go to the host. */
enum { QKV = 1, CONTEXT = 2, OUT = 4, MLP_IN = 8, MLP_OUT = 16 };

static const rk_named_count policies[] = {
    {"minimal_with_context", QKV | CONTEXT | OUT | MLP_IN | MLP_OUT},
    {"minimal_flash", QKV | CONTEXT | OUT | MLP_IN | MLP_OUT}, /* its older name */
    {"minimal_with_context_and_quantization", QKV | CONTEXT | OUT | MLP_IN | MLP_OUT},
    {"minimal_with_quantization", QKV | OUT | MLP_IN | MLP_OUT},
    {"minimal", QKV | OUT | MLP_IN | MLP_OUT},
    {"minimal_offloaded", QKV | OUT | MLP_IN | MLP_OUT},
    {"save_dot_with_context_except_mlp", QKV | CONTEXT | OUT},
    {"save_dot_except_mlp", QKV | OUT},
    {"save_dot_except_mlpwi", QKV | OUT | MLP_OUT},
    {"save_qkv_proj", QKV},
    {"qkv_proj_offloaded", QKV},
    {"save_out_proj", OUT},
};

/* Whether a policy of your own keeps a tensor, on the device or the host. */
static bool keeps(rk_launch *launch, const char *tensor)
{
    const char *place = rk_launch_value(launch, tensor);
    return place && strcmp(place, "remat") != 0;
}

static int kept_by_tensor(rk_launch *launch)
{
    const bool qkv = keeps(launch, "qkv_proj") || keeps(launch, "query_proj") ||
                     keeps(launch, "key_proj") || keeps(launch, "value_proj");
    const bool in = keeps(launch, "mlpwi") || keeps(launch, "mlpwi_0") ||
                    keeps(launch, "mlpwi_1") || keeps(launch, "moe_mlpwi_0");
    const bool out = keeps(launch, "mlpwo") || keeps(launch, "moe_mlpwo");
    return (qkv ? QKV : 0) | (keeps(launch, "context") ? CONTEXT : 0) |
           (keeps(launch, "out_proj") ? OUT : 0) | (in ? MLP_IN : 0) | (out ? MLP_OUT : 0);
}

/* States the modules that run again: the policy keeps none of their tensors. */
static void state_policy(rk_launch *launch, const char *name)
{
    const int kept = strcmp(name, "custom") == 0
                         ? kept_by_tensor(launch)
                         : (int)rk_named_count_of(policies, COUNT(policies), name, -1);
    if (kept <= 0) {
        if (kept < 0) {
            rk_launch_mark(launch, "remat_policy", RK_KEY_NOT_PRICED,
                           "a policy of no known name is priced as full recomputation");
        }
        return;
    }
    const bool mlp = !(kept & MLP_IN);
    const bool experts = rk_launch_count_of(launch, "model.experts") > 1;
    rk_launch_state(launch, "recompute.modules",
                    rk_launch_format(launch, "norm,act%s%s%s", kept & CONTEXT ? "" : ",core_attn",
                                     kept & OUT ? "" : ",attn_proj",
                                     !mlp      ? ""
                                     : experts ? ",moe"
                                               : ",mlp"),
                    RK_FACT_DERIVED, rk_launch_find(launch, "remat_policy"));
    if (!(kept & QKV) || (kept & MLP_OUT && mlp)) {
        rk_launch_mark(launch, "remat_policy", RK_KEY_NOT_PRICED,
                       kept & QKV
                           ? "the output of the network, which it keeps, is not counted"
                           : "queries, keys and values, which it drops, are counted as kept");
    }
}

static void state_memory(rk_launch *launch)
{
    const rk_launch_key *policy = rk_launch_find(launch, "remat_policy");
    const char *name = policy && policy->value ? policy->value : "full";
    const bool whole = strcmp(name, "full") == 0 || strcmp(name, "none") == 0;
    const bool optimizer = rk_launch_is_on(launch, "optimizer_memory_host_offload", false);
    const bool weights = rk_launch_is_on(launch, "parameter_memory_host_offload", false);
    const bool activations = strstr(name, "offload") != NULL;
    const char *list = rk_launch_format(launch, "%s%s%s", activations ? "+activations" : "",
                                        optimizer ? "+optimizer" : "", weights ? "+weights" : "");
    const rk_launch_key *kind = rk_launch_find(launch, "opt_type");
    const double tiles = rk_launch_number(launch, "num_vocab_tiling", 1);
    rk_launch_state(launch, "recompute.policy", name, policy ? RK_FACT_STATED : RK_FACT_DEFAULT,
                    policy);
    rk_launch_state(launch, "recompute.granularity", whole ? name : "policy", RK_FACT_DERIVED,
                    policy);
    if (!whole) {
        state_policy(launch, name);
    }
    rk_launch_state(launch, "offload", *list ? list + 1 : "none", RK_FACT_DERIVED, NULL);
    rk_launch_state(launch, "optimizer",
                    kind && kind->value ? rk_launch_lower(launch, kind->value) : "adamw",
                    kind ? RK_FACT_STATED : RK_FACT_DEFAULT, kind);
    rk_launch_state(launch, "loss", tiles > 1 ? "chunked" : "full logits", RK_FACT_DERIVED,
                    rk_launch_find(launch, "num_vocab_tiling"));
    rk_launch_assume(launch, "attention", "autoselected");
    rk_launch_assume(launch, "lora", "none");
    rk_launch_assume(launch, "compile", "true");
    rk_launch_assume(launch, "scan_layers", "true");
    rk_launch_assume(launch, "packing", "true");
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool changes_shape(const rk_launch *launch)
{
    static const char *const keys[] = {
        "base_emb_dim", "base_num_query_heads",    "base_num_kv_heads",
        "base_mlp_dim", "base_num_decoder_layers", "head_dim",
        "num_experts",  "base_moe_mlp_dim",        "vocab_size"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (rk_launch_has(launch, keys[i])) {
            return true;
        }
    }
    return false;
}

/* Without a name it is the shape of base.yml: 16 layers of width 2048. */
static void state_model(rk_launch *launch)
{
    static const rk_named_text base[] = {
        {"model.hidden", "2048"}, {"model.heads", "16"},   {"model.kv_heads", "16"},
        {"model.ffn", "7168"},    {"model.layers", "16"},  {"model.head_size", "128"},
        {"model.vocab", "32000"}, {"model.tied", "false"}, {"model.gated", "true"}};
    const rk_launch_key *key = rk_launch_find(launch, "model_name");
    const bool named = key && key->value && strcmp(key->value, "default") != 0;
    if (named) {
        (void)rk_launch_state_built_model(launch, "maxtext", key->value, key);
    } else {
        rk_launch_assume_all(launch, base, COUNT(base));
    }
    if (named && changes_shape(launch)) {
        rk_launch_drop(launch, "model.name"); /* it is another model */
    }
    const rk_launch_key *expert = rk_launch_find(launch, "base_moe_mlp_dim");
    const double width = rk_launch_number(launch, "base_moe_mlp_dim", -1);
    if (expert && width >= 1 && width < 1e9) {
        rk_launch_state_count(launch, "model.moe_ffn", (int64_t)width, RK_FACT_STATED, expert);
    } else if (rk_launch_count_of(launch, "model.experts") > 1) {
        rk_launch_assume_size(launch, "model.moe_ffn", rk_launch_count_of(launch, "model.ffn"));
    }
    const bool grouped =
        rk_launch_is_on(launch, "megablox", true) || rk_launch_is_on(launch, "sparse_matmul", true);
    if (rk_launch_count_of(launch, "model.experts") > 1) {
        rk_launch_assume(launch, "model.topk", "1");
        rk_launch_state(launch, "grouped_gemm", grouped ? "true" : "false", RK_FACT_DERIVED, NULL);
    }
}

/* ---- the reader ------------------------------------------------------------------------------ */

static int recognise(const rk_launch *launch)
{
    const json_t *root = rk_launch_document_of(launch, "config");
    for (size_t i = 0; i < launch->word_count; i++) {
        const char *word = launch->words[i].text;
        if (strncmp(word, "maxtext.", 8) == 0 || strncmp(word, "MaxText.", 8) == 0 ||
            strstr(word, "MaxText/train") || strstr(word, "maxtext/train")) {
            return 8;
        }
    }
    return json_object_get(root, "per_device_batch_size") ||
                   (json_object_get(root, "base_config") &&
                    json_object_get(root, "max_target_length"))
               ? 7
               : 0;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    (void)err;
    state_model(launch);
    state_layout(launch);
    state_virtual_stages(launch);
    state_batch(launch);
    state_precision(launch);
    state_memory(launch);
    if (rk_launch_is_on(launch, "use_dpo", false)) {
        rk_launch_state(launch, "objective", "dpo", RK_FACT_STATED, NULL);
        rk_launch_mark(launch, "use_dpo", RK_KEY_NOT_PRICED,
                       "DPO: the forward passes of the reference model are not priced");
    }
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_maxtext = {
    .name = "maxtext",
    .framework = "maxtext",
    .tables = {"maxtext"},
    .words_are_pairs = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
