/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of Megatron core as facts.  Source: megatron/training/arguments.py and
 * transformer_config.py of NVIDIA/Megatron-LM, commit d98e8a64.
 */
#include "launch/megatron_kit.h"

#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "launch/pipeline_layout.h"
#include "launch/read_megatron.h"
#include "launch/reader_kit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- keys ------------------------------------------------------------------------------------ */

const rk_launch_key *rk_kit_find(rk_launch *launch, const rk_megatron_kit *kit,
                                 const char *const *names)
{
    char path[160];
    for (size_t i = 0; names[i]; i++) {
        for (size_t j = 0; kit->starts[j]; j++) {
            (void)snprintf(path, sizeof(path), "%s%s", kit->starts[j], names[i]);
            const rk_launch_key *key = rk_launch_find(launch, path);
            if (key && (key->value || !key->json)) {
                return key;
            }
        }
    }
    return NULL;
}

static const rk_launch_key *find_one(rk_launch *launch, const rk_megatron_kit *kit,
                                     const char *name)
{
    const char *const names[] = {name, NULL};
    return rk_kit_find(launch, kit, names);
}

static const char *value_of(rk_launch *launch, const rk_megatron_kit *kit, const char *name)
{
    const rk_launch_key *key = find_one(launch, kit, name);
    return key ? key->value : NULL;
}

static int64_t count_of(rk_launch *launch, const rk_launch_key *key)
{
    const double value = key ? rk_launch_number(launch, key->name, 0) : 0;
    return value > 0 && value < 9e15 ? (int64_t)value : 0;
}

int64_t rk_kit_count(rk_launch *launch, const rk_megatron_kit *kit, const char *name)
{
    return count_of(launch, find_one(launch, kit, name));
}

static bool is_on(rk_launch *launch, const rk_launch_key *key, bool usual)
{
    return key ? rk_launch_is_on(launch, key->name, usual) : usual;
}

static bool setting_is_on(rk_launch *launch, const rk_megatron_kit *kit, const char *name,
                          bool usual)
{
    return is_on(launch, find_one(launch, kit, name), usual);
}

void rk_kit_state(rk_launch *launch, const char *field, const rk_launch_key *key, const char *value,
                  const char *usual)
{
    if (key && value) {
        rk_launch_state(launch, field, value, RK_FACT_STATED, key);
    } else if (usual) {
        rk_launch_assume_open(launch, field, usual);
    }
}

void rk_kit_strip(rk_launch *launch, const char *section)
{
    const size_t length = strlen(section);
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        key->name += strncmp(key->name, section, length) == 0 ? length : 0;
    }
}

const char *rk_kit_lower(rk_launch *launch, const char *text)
{
    char *lower = (char *)(uintptr_t)rk_launch_keep(launch, text);
    for (char *c = lower; *c; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    return lower;
}

const json_t *rk_kit_member(const rk_launch *launch, const char *path)
{
    for (size_t i = 0; i < launch->document_count; i++) {
        const json_t *at = launch->documents[i].root;
        char member[64];
        const char *rest = path;
        while (at && *rest) {
            const size_t length = strcspn(rest, ".");
            (void)snprintf(member, sizeof(member), "%.*s", (int)length, rest);
            at = json_object_get(at, member);
            rest += length + (rest[length] == '.');
        }
        if (at) {
            return at;
        }
    }
    return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Facts that are a setting unchanged, by its names; without it, the default. */
static const rk_megatron_number numbers[] = {
    {"tp", {"tensor_model_parallel_size", "tensor_parallelism"}, 1},
    {"pp", {"pipeline_model_parallel_size", "pipeline_parallelism"}, 1},
    {"cp", {"context_parallel_size", "context_parallelism"}, 1},
    {"ep", {"expert_model_parallel_size", "expert_parallelism", "expert_model_parallelism"}, 1},
    {"etp", {"expert_tensor_parallel_size", "expert_tensor_parallelism"}, 0},
    {"vp",
     {"virtual_pipeline_model_parallel_size", "virtual_pipeline_parallelism",
      "num_virtual_stages_per_pipeline_rank"},
     0},
    {"first_stage_layers", {"num_layers_in_first_pipeline_stage"}, 0},
    {"last_stage_layers", {"num_layers_in_last_pipeline_stage"}, 0},
    {"micro_batch", {"micro_batch_size"}, 0},
    {"global_batch", {"global_batch_size"}, 0},
    {"seq", {"encoder_seq_length", "seq_length", "sequence_length"}, 0},
    {"hsdp", {"num_distributed_optimizer_instances", "data_parallel_replicate_degree"}, 0},
    {"model.layers", {"num_layers"}, 0},
    {"model.hidden", {"hidden_size"}, 0},
    {"model.heads", {"num_attention_heads"}, 0},
    {"model.kv_heads", {"num_query_groups"}, 0},
    {"model.head_size", {"kv_channels"}, 0},
    {"model.ffn", {"ffn_hidden_size"}, 0},
    {"model.experts", {"num_moe_experts", "num_experts"}, 0},
    {"model.topk", {"moe_router_topk"}, 0},
    {"model.moe_ffn", {"moe_ffn_hidden_size"}, 0},
    {"model.shared_ffn", {"moe_shared_expert_intermediate_size"}, 0},
    {"model.vocab_unpadded", {"vocab_size"}, 0},
    {"model.mtp", {"mtp_num_layers"}, 0},
};

static void state_numbers(rk_launch *launch, const rk_megatron_kit *kit)
{
    for (size_t i = 0; i < COUNT(numbers); i++) {
        const rk_launch_key *key = rk_kit_find(launch, kit, numbers[i].names);
        const int64_t value = count_of(launch, key);
        if (value > 0) {
            rk_launch_state_count(launch, numbers[i].field, value, RK_FACT_STATED, key);
        } else if (numbers[i].usual > 0 && !rk_launch_fact_of(launch, numbers[i].field)) {
            rk_launch_assume_count(launch, numbers[i].field, numbers[i].usual);
        }
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void state_layout(rk_launch *launch, const rk_megatron_kit *kit)
{
    static const char *const sp[] = {"sequence_parallel", "sequence_parallelism", NULL};
    const rk_launch_key *key = rk_kit_find(launch, kit, sp);
    const rk_launch_key *layout = find_one(launch, kit, "pipeline_model_parallel_layout");
    const bool split = rk_launch_count_of(launch, "tp") > 1;
    const int64_t pp = rk_launch_count_of(launch, "pp");
    rk_kit_state(launch, "sp", key, is_on(launch, key, false) && split ? "true" : "false",
                 kit->sequence && split ? "true" : "false");
    if (layout && layout->value && pp > 0) {
        const int64_t stages = rk_pipeline_layout_stages(layout->value);
        char list[RK_PIPELINE_LAYOUT_SIZE];
        rk_launch_state(launch, "model.layout", layout->value, RK_FACT_STATED, layout);
        rk_megatron_state_modules(launch, layout->value);
        if (stages % pp == 0 && stages > 0) {
            rk_launch_state_count(launch, "vp", stages / pp, RK_FACT_STATED, layout);
        }
        if (rk_pipeline_layout_list(layout->value, list)) {
            rk_launch_state(launch, "layout", list, RK_FACT_DERIVED, layout);
        }
    }
    rk_kit_state(launch, "vp", NULL, NULL, "1");
    if (setting_is_on(launch, kit, "account_for_embedding_in_pipeline_split", false)) {
        rk_launch_state(launch, "count_embedding", "true", RK_FACT_STATED, NULL);
    }
    if (setting_is_on(launch, kit, "account_for_loss_in_pipeline_split", false)) {
        rk_launch_state(launch, "count_head", "true", RK_FACT_STATED, NULL);
    }
    if (setting_is_on(launch, kit, "use_tp_pp_dp_mapping", false)) {
        rk_launch_state(launch, "order", "tp-cp-pp-dp", RK_FACT_STATED, NULL);
    }
}

/* The states that the optimizer, Megatron-FSDP or PyTorch's FSDP shards. */
static void state_sharding(rk_launch *launch, const rk_megatron_kit *kit)
{
    static const char *const fsdp[] = {"use_megatron_fsdp", "use_custom_fsdp", "fsdp", NULL};
    const rk_launch_key *own = rk_kit_find(launch, kit, fsdp);
    const rk_launch_key *torch = find_one(launch, kit, "use_torch_fsdp2");
    const rk_launch_key *plain = find_one(launch, kit, "use_distributed_optimizer");
    const char *strategy = value_of(launch, kit, "data_parallel_sharding_strategy");
    if (is_on(launch, torch, false)) {
        rk_launch_state(launch, "zero", "3", RK_FACT_STATED, torch);
        return;
    }
    if (own &&
        (is_on(launch, own, false) || strcmp(own->value ? own->value : "", "megatron") == 0)) {
        const int stage = strategy ? rk_megatron_sharding_of(strategy) : 3;
        rk_launch_state_count(launch, "zero", stage >= 0 ? stage : 3, RK_FACT_STATED, own);
        return;
    }
    rk_kit_state(launch, "zero", plain, is_on(launch, plain, kit->distributed) ? "1" : "0",
                 kit->distributed ? "1" : "0");
}

/* ---- activations ----------------------------------------------------------------------------- */

/* Classes a setting that has no effect in this launch as without cost; NULL: none. */
static void leave(rk_launch *launch, const rk_megatron_kit *kit, const char *const *names)
{
    const rk_launch_key *key = names ? rk_kit_find(launch, kit, names) : NULL;
    if (key) {
        rk_launch_mark(launch, key->name, RK_KEY_WITHOUT_COST, NULL);
    }
}

static void state_recompute(rk_launch *launch, const rk_megatron_kit *kit)
{
    static const char *const granularities[] = {"recompute_granularity",
                                                "activations_checkpoint_granularity", NULL};
    static const char *const methods[] = {"recompute_method", "activations_checkpoint_method",
                                          NULL};
    static const char *const counts[] = {"recompute_num_layers",
                                         "activations_checkpoint_num_layers", NULL};
    const rk_launch_key *key = rk_kit_find(launch, kit, granularities);
    const rk_launch_key *method = rk_kit_find(launch, kit, methods);
    const rk_launch_key *layers = rk_kit_find(launch, kit, counts);
    const rk_launch_key *modules = find_one(launch, kit, "recompute_modules");
    const bool whole = key && key->value && strcmp(key->value, "full") == 0;
    const bool known = whole || (key && key->value && strcmp(key->value, "selective") == 0);
    rk_kit_state(launch, "recompute.granularity", known ? key : NULL, known ? key->value : NULL,
                 setting_is_on(launch, kit, "recompute_activations", false) ? "selective" : "none");
    if (whole && method) {
        rk_kit_state(launch, "recompute.method", method, method->value, NULL);
    }
    if (whole && count_of(launch, layers) > 0) {
        rk_launch_state_count(launch, "recompute.layers", count_of(launch, layers), RK_FACT_STATED,
                              layers);
    }
    leave(launch, kit, whole ? NULL : methods);
    leave(launch, kit, whole ? NULL : counts);
    if (!whole && known && modules) {
        rk_kit_state(launch, "recompute.modules", modules, modules->value, NULL);
    }
}

static void state_offload(rk_launch *launch, const rk_megatron_kit *kit)
{
    static const char *const activations[] = {
        "cpu_offloading", "fine_grained_activation_offloading", "cpu_offload", "offload", NULL};
    const rk_launch_key *optimizer = find_one(launch, kit, "optimizer_cpu_offload");
    const rk_launch_key *host = NULL;
    for (size_t i = 0; activations[i] && !host; i++) {
        const rk_launch_key *key = find_one(launch, kit, activations[i]);
        host = is_on(launch, key, false) ? key : NULL;
    }
    const bool states = is_on(launch, optimizer, false);
    rk_kit_state(launch, "offload",
                 host     ? host
                 : states ? optimizer
                          : NULL,
                 host && states ? "optimizer+activations"
                 : host         ? "activations"
                                : "optimizer",
                 "none");
}

/* ---- overlap --------------------------------------------------------------------------------- */

static bool overlaps(rk_launch *launch, const rk_megatron_kit *kit, const char *const *names,
                     bool usual)
{
    return is_on(launch, rk_kit_find(launch, kit, names), usual);
}

static void state_overlap(rk_launch *launch, const rk_megatron_kit *kit)
{
    static const char *const grad[] = {"overlap_grad_reduce", "overlap_grad_sync", NULL};
    static const char *const param[] = {"overlap_param_gather", "overlap_param_sync", NULL};
    static const char *const tp[] = {"tp_comm_overlap", "ub_tp_comm_overlap", NULL};
    static const char *const pp[] = {"overlap_p2p_comm", NULL};
    static const char *const sharding[] = {"use_distributed_optimizer", NULL};
    static const char *const moe[] = {"overlap_moe_expert_parallel_comm", "moe_a2a_overlap",
                                      "patch_moe_overlap", NULL};
    const bool interleaves = rk_launch_count_of(launch, "vp") > 1;
    const bool fsdp2 = setting_is_on(launch, kit, "use_torch_fsdp2", false);
    const bool sharded =
        !rk_launch_fact_of(launch, "zero") || rk_launch_count_of(launch, "zero") > 0;
    const bool reduces = overlaps(launch, kit, grad, kit->overlap_grad);
    const bool gathers = overlaps(launch, kit, param, kit->overlap_param);
    const rk_named_count all[] = {
        {"tp", overlaps(launch, kit, tp, false) && rk_launch_count_of(launch, "tp") > 1},
        {"grad", reduces || fsdp2},
        {"param", (gathers && sharded) || fsdp2},
        {"pp", overlaps(launch, kit, pp, interleaves) && interleaves},
        {"moe", overlaps(launch, kit, moe, false) && rk_launch_count_of(launch, "ep") > 1},
    };
    const char *list = "";
    leave(launch, kit, interleaves ? NULL : pp);
    leave(launch, kit, fsdp2 ? grad : NULL);
    leave(launch, kit, fsdp2 ? param : NULL);
    leave(launch, kit, fsdp2 ? sharding : NULL);
    for (size_t i = 0; i < COUNT(all); i++) {
        if (all[i].value) {
            list = rk_launch_format(launch, "%s%s%s", list, *list ? "+" : "", all[i].name);
        }
    }
    rk_launch_state(launch, "overlap", *list ? list : "none", RK_FACT_STATED, NULL);
}

/* ---- precision ------------------------------------------------------------------------------- */

/* "bfloat16", "bf16-mixed" and "16-mixed" as bf16, fp16; NULL: neither. */
static const char *precision_of(const char *value)
{
    return strncasecmp(value, "bf", 2) == 0     ? "bf16"
           : strncmp(value, "16", 2) == 0       ? "fp16"
           : strncasecmp(value, "fp16", 4) == 0 ? "fp16"
           : strncmp(value, "32", 2) == 0       ? "fp32"
           : strncasecmp(value, "fp32", 4) == 0 ? "fp32"
                                                : NULL;
}

static void state_compute(rk_launch *launch, const rk_megatron_kit *kit)
{
    const rk_launch_key *name = find_one(launch, kit, "precision");
    const rk_launch_key *half = find_one(launch, kit, "fp16");
    const rk_launch_key *brain = find_one(launch, kit, "bf16");
    const char *named = name && name->value ? precision_of(name->value) : NULL;
    if (named) {
        rk_kit_state(launch, "precision", name, named, NULL);
    } else if (is_on(launch, half, false)) {
        rk_kit_state(launch, "precision", half, "fp16", NULL);
    } else if (brain) {
        rk_kit_state(launch, "precision", brain, is_on(launch, brain, true) ? "bf16" : "fp32",
                     NULL);
    }
    rk_kit_state(launch, "precision", NULL, NULL, kit->precision);
}

/* fp8: true, a format, or null; NeMo has a switch for each format. */
static void state_fp8(rk_launch *launch, const rk_megatron_kit *kit)
{
    const rk_launch_key *key = find_one(launch, kit, "fp8");
    const rk_launch_key *recipe = find_one(launch, kit, "fp8_recipe");
    const char *value = key && key->value ? key->value : "";
    const bool named = strcmp(value, "hybrid") == 0 || strcmp(value, "e4m3") == 0;
    if (!named && !is_on(launch, key, false)) {
        return;
    }
    const bool e4m3 = setting_is_on(launch, kit, "fp8_e4m3", false);
    rk_kit_state(launch, "fp8.format", key, named ? value : e4m3 ? "e4m3" : "hybrid", NULL);
    rk_kit_state(launch, "fp8.recipe", recipe, recipe ? recipe->value : NULL, "delayed");
    const rk_launch_key *gather = find_one(launch, kit, "fp8_param_gather");
    gather = gather ? gather : find_one(launch, kit, "fp8_params");
    rk_kit_state(launch, "fp8.param_gather", gather,
                 is_on(launch, gather, false) ? "true" : "false", "false");
}

static void state_gradients(rk_launch *launch, const rk_megatron_kit *kit)
{
    const rk_launch_key *low = find_one(launch, kit, "grad_reduce_in_bf16");
    const rk_launch_key *full = find_one(launch, kit, "grad_reduce_in_fp32");
    const rk_launch_key *type = find_one(launch, kit, "main_grads_dtype");
    const rk_launch_key *torch = find_one(launch, kit, "use_torch_fsdp2");
    if (is_on(launch, low, false) || is_on(launch, torch, false)) {
        rk_kit_state(launch, "gradients", is_on(launch, low, false) ? low : torch, "bf16", NULL);
    } else if (full) {
        rk_kit_state(launch, "gradients", full, is_on(launch, full, true) ? "fp32" : "bf16", NULL);
    } else if (type && setting_is_on(launch, kit, "use_precision_aware_optimizer", false)) {
        const char *named = precision_of(type->value ? type->value : "");
        rk_kit_state(launch, "gradients", type, named, NULL);
    }
    rk_kit_state(launch, "gradients", NULL, NULL,
                 rk_launch_fact_of(launch, "precision") &&
                         strcmp(rk_launch_fact_of(launch, "precision"), "bf16") == 0
                     ? kit->gradients
                     : rk_launch_fact_of(launch, "precision"));
}

static void state_states(rk_launch *launch, const rk_megatron_kit *kit)
{
    static const char *const names[][2] = {{"states.main_params", "main_params_dtype"},
                                           {"states.exp_avg", "exp_avg_dtype"},
                                           {"states.exp_avg_sq", "exp_avg_sq_dtype"}};
    const bool aware = setting_is_on(launch, kit, "use_precision_aware_optimizer", false);
    for (size_t i = 0; i < COUNT(names); i++) {
        const rk_launch_key *key = find_one(launch, kit, names[i][1]);
        const bool stated = key && key->value && aware;
        rk_kit_state(launch, names[i][0], stated ? key : NULL, stated ? key->value : NULL, "fp32");
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void state_kernels(rk_launch *launch, const rk_megatron_kit *kit)
{
    static const char *const graphs[] = {"cuda_graph_impl", "enable_cuda_graph", NULL};
    static const char *const modules[] = {"cuda_graph_modules", "cuda_graph_scope", NULL};
    const rk_launch_key *fused = find_one(launch, kit, "cross_entropy_loss_fusion");
    const rk_launch_key *kind = find_one(launch, kit, "cross_entropy_fusion_impl");
    const rk_launch_key *graph = rk_kit_find(launch, kit, graphs);
    const rk_launch_key *dropout = find_one(launch, kit, "hidden_dropout");
    const bool te = kind && kind->value && strcmp(kind->value, "te") == 0;
    const bool usually = kit->loss && strncmp(kit->loss, "fused", strlen("fused")) == 0;
    rk_kit_state(launch, "loss", fused || !usually ? fused : kind,
                 !is_on(launch, fused, usually) ? "unfused"
                 : te                           ? "fused te"
                                                : "fused",
                 kit->loss);
    if (kind) {
        rk_launch_mark(launch, kind->name, RK_KEY_WITHOUT_COST, NULL);
    }
    if (graph && graph->value &&
        (is_on(launch, graph, false) || strcmp(graph->value, "local") == 0 ||
         strcmp(graph->value, "transformer_engine") == 0 ||
         strcmp(graph->value, "full_iteration") == 0)) {
        rk_megatron_state_graphs(launch, graph->value, graph, rk_kit_find(launch, kit, modules));
    }
    if (dropout) { /* of the residual stream and of attention */
        const char *attention = value_of(launch, kit, "attention_dropout");
        const bool none = rk_launch_number(launch, dropout->name, 0) <= 0 &&
                          (!attention || strtod(attention, NULL) <= 0);
        rk_kit_state(launch, "dropout", dropout,
                     none ? "none"
                          : rk_launch_format(launch, "%.20s+%.20s",
                                             dropout->value ? dropout->value : "0",
                                             attention ? attention : "0"),
                     NULL);
    }
}

static void state_experts(rk_launch *launch, const rk_megatron_kit *kit)
{
    const rk_launch_key *dispatcher = find_one(launch, kit, "moe_token_dispatcher_type");
    const rk_launch_key *turbo = find_one(launch, kit, "use_turbo_deepep");
    const rk_launch_key *grouped = find_one(launch, kit, "moe_grouped_gemm");
    const rk_launch_key *permute = find_one(launch, kit, "moe_permute_fusion");
    if (rk_launch_count_of(launch, "model.experts") == 0) {
        return;
    }
    if (is_on(launch, turbo, false)) {
        rk_kit_state(launch, "dispatcher", turbo, "deepep", NULL);
    }
    rk_kit_state(launch, "dispatcher", rk_launch_fact_of(launch, "dispatcher") ? NULL : dispatcher,
                 dispatcher ? dispatcher->value : NULL, kit->dispatcher);
    rk_kit_state(launch, "grouped_gemm", grouped,
                 is_on(launch, grouped, kit->grouped) ? "true" : "false",
                 kit->grouped ? "true" : "false");
    if (permute) {
        rk_kit_state(launch, "permute_fusion", permute,
                     is_on(launch, permute, false) ? "true" : "false", NULL);
    }
    if (kit->whole_experts) {
        rk_kit_state(launch, "etp", NULL, NULL, "1");
    }
    rk_kit_state(launch, "model.topk", NULL, NULL, "2");
}

/* ---- the model ------------------------------------------------------------------------------- */

void rk_kit_state_model(rk_launch *launch, const char *name, const rk_launch_key *by)
{
    const size_t ending_length = rk_ends_with(name, ".yaml") ? strlen(".yaml") : 0;
    char *plain =
        (char *)(uintptr_t)rk_launch_keep_part(launch, name, strlen(name) - ending_length);
    rk_launch_state(launch, "model.name", plain, RK_FACT_STATED, by);
    if (rk_launch_state_named_model(launch, plain, by)) {
        return;
    }
    /* "llama31_70b" is llama3.1-70b, "mixtral_8x7B_v0.1" mixtral-8x7b */
    for (char *c = plain; *c; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    char *ending = strstr(plain, "-v0.1");
    if (ending && ending[5] == '\0') {
        *ending = '\0';
    }
    char *context = strrchr(plain, '-'); /* "-16k" is a length of sequences */
    if (context && strspn(context + 1, "0123456789") == strlen(context + 1) - 1 &&
        plain[strlen(plain) - 1] == 'k') {
        *context = '\0';
    }
    const char *dash = strchr(plain, '-');
    const size_t first = dash ? (size_t)(dash - plain) : strlen(plain);
    const bool release = first > 2 && strspn(plain + first - 2, "0123456789") >= 2;
    const char *spelled =
        release ? rk_launch_format(launch, "%.*s.%s", (int)first - 1, plain, plain + first - 1)
                : plain;
    if (rk_launch_state_named_model(launch, spelled, by)) {
        rk_launch_state(launch, "model.name", spelled, RK_FACT_STATED, by);
    }
}

void rk_kit_state_vocabulary(rk_launch *launch, int64_t entries, double multiple,
                             rk_fact_origin origin)
{
    const int64_t divisor = multiple >= 1 && multiple <= 1e6 ? (int64_t)multiple : 128;
    if (entries > 0 && entries < INT32_MAX) {
        rk_launch_state_count(launch, "model.vocab_unpadded", entries, origin, NULL);
        rk_launch_state_count(
            launch, "model.vocab",
            rk_megatron_pad_vocabulary(entries, divisor, rk_launch_count_of(launch, "tp")), origin,
            NULL);
    }
}

static void state_shape(rk_launch *launch, const rk_megatron_kit *kit)
{
    const rk_launch_key *activation = find_one(launch, kit, "activation");
    const rk_launch_key *tied = find_one(launch, kit, "share_embeddings_and_output_weights");
    const rk_launch_key *untied = find_one(launch, kit, "untie_embeddings_and_output_weights");
    const char *name = activation && activation->value ? activation->value : "";
    const int64_t hidden = rk_launch_count_of(launch, "model.hidden");
    if (hidden > 0 && !rk_launch_fact_of(launch, "model.ffn")) {
        rk_launch_assume_count(launch, "model.ffn", 4 * hidden);
    }
    if (!rk_launch_fact_of(launch, "model.kv_heads") && rk_launch_fact_of(launch, "model.heads")) {
        rk_launch_assume(launch, "model.kv_heads", rk_launch_fact_of(launch, "model.heads"));
    }
    if (activation) {
        rk_kit_state(launch, "model.gated", activation,
                     strstr(name, "swiglu") || strstr(name, "geglu") || strstr(name, "reglu")
                         ? "true"
                         : "false",
                     NULL);
    }
    if (tied) {
        rk_kit_state(launch, "model.tied", tied, is_on(launch, tied, true) ? "true" : "false",
                     NULL);
    } else if (untied) {
        rk_kit_state(launch, "model.tied", untied, is_on(launch, untied, true) ? "false" : "true",
                     NULL);
    }
}

void rk_kit_resolve(rk_launch *launch, const rk_megatron_kit *kit)
{
    state_numbers(launch, kit);
    state_layout(launch, kit);
    state_sharding(launch, kit);
    state_compute(launch, kit);
    state_fp8(launch, kit);
    state_gradients(launch, kit);
    state_states(launch, kit);
    state_recompute(launch, kit);
    state_offload(launch, kit);
    state_overlap(launch, kit);
    state_shape(launch, kit);
    state_experts(launch, kit);
    state_kernels(launch, kit);
}
