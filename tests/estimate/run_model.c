/* SPDX-License-Identifier: Apache-2.0 */
/* The architecture and the machine of a measured run. */
#include "run_case.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- model --------------------------------------------------------------------------------- */

static int64_t whole(const run_table *t, size_t row, const char *column, int64_t missing)
{
    return (int64_t)run_number(t, row, column, (double)missing);
}

static bool names(const run_table *t, size_t row, const char *part)
{
    return run_has(t, row, "model", part);
}

/* GPT as of 2020: LayerNorm, GELU, biases, learned positions. */
static bool is_gpt(const run_table *t, size_t row)
{
    static const char *const old[] = {"gpt2", "gpt-2", "gpt3",  "gpt-3",  "gpt ",
                                      "opt-", "mpt-",  "bloom", "gpt-neo"};
    for (size_t i = 0; i < COUNT(old); i++) {
        if (names(t, row, old[i]) && !names(t, row, "gpt-oss")) {
            return true;
        }
    }
    return false;
}

static void set_attention(const run_table *t, size_t row, rk_attention_shape *a)
{
    const int64_t hidden = whole(t, row, "hidden", 0);
    a->query_heads = whole(t, row, "heads", 0);
    a->kv_heads = whole(t, row, "kv_heads", a->query_heads);
    a->head_size = whole(t, row, "head_dim", a->query_heads ? hidden / a->query_heads : 0);
    a->bias_qkv = a->bias_out = is_gpt(t, row);
    a->qk_norm = names(t, row, "qwen3") ? RK_QK_NORM_HEAD : RK_QK_NORM_NONE;
    if (names(t, row, "deepseek-v")) {
        *a = (rk_attention_shape){
            .kind = RK_ATTENTION_LATENT,
            .query_heads = a->query_heads,
            .kv_heads = a->query_heads,
            .q_rank = 1536,
            .kv_rank = 512,
            .nope_size = 128,
            .rope_size = 64,
            .value_size = 128,
        };
    }
}

/* Whether layer i of the model has experts. */
static bool has_experts(const run_table *t, size_t row, int i)
{
    if (whole(t, row, "moe_experts", 0) == 0) {
        return false;
    }
    if (names(t, row, "maverick")) {
        return i % 2 == 1;
    }
    const bool one = names(t, row, "deepseek-v2") || names(t, row, "truncated");
    return i >= (names(t, row, "deepseek-v") ? (one ? 1 : 3) : 0);
}

bool run_model_of(const run_table *t, size_t row, rk_model *model, const char **reason)
{
    enum { DENSE, SPARSE, DENSE_WINDOW, SPARSE_WINDOW, KINDS };
    rk_layer_type kinds[RK_LAYER_TYPE_MAX] = {{.ffn = {.width = 0}}};
    uint8_t kind_of[RK_LAYER_MAX];
    const bool gpt = is_gpt(t, row), windows = names(t, row, "gpt-oss");
    const int64_t layers = whole(t, row, "layers", 0), heads = whole(t, row, "heads", 0);
    *model = (rk_model){
        .hidden = whole(t, row, "hidden", 0),
        .vocab = whole(t, row, "vocab", 0),
        .seq = whole(t, row, "seq", 0),
        .norm = gpt ? RK_NORM_LAYER : RK_NORM_RMS,
        .norms_per_layer = 2,
        .final_norm = true,
        .tied = gpt,
        .learned_positions = gpt ? whole(t, row, "seq", 0) : 0,
    };
    if (layers < 1 || layers > RK_LAYER_MAX || heads < 1 || model->vocab < 1 || model->seq < 1) {
        *reason = "architecture not stated";
        return false;
    }
    (void)snprintf(model->name, sizeof(model->name), "%.63s", run_cell(t, row, "model"));
    if (run_has(t, row, "part", "hf_playbook")) {
        model->tied = model->hidden < 4096;
    }
    if (names(t, row, "deepseek-v3") && !names(t, row, "w/o MTP") && !names(t, row, "truncated")) {
        model->mtp_layers = 1;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        rk_layer_type *type = &kinds[kind];
        set_attention(t, row, &type->attention);
        type->attention.window = kind >= DENSE_WINDOW ? 128 : 0;
        type->ffn.gated = !gpt && !names(t, row, "nemotron");
        type->ffn.bias = gpt;
        if (kind == SPARSE || kind == SPARSE_WINDOW) {
            type->moe.experts = whole(t, row, "moe_experts", 0);
            type->moe.top_k = whole(t, row, "moe_topk", 1);
            type->moe.expert_width = whole(t, row, "moe_ffn", whole(t, row, "ffn", 0));
            type->moe.shared_experts = whole(t, row, "shared_experts", 0);
            type->moe.shared_width = type->moe.shared_experts ? type->moe.expert_width : 0;
            if (names(t, row, "deepseek-v")) { /* node-limited routing */
                type->moe.expert_groups = 8;
                type->moe.route_groups = names(t, row, "deepseek-v2") ? 3 : 4;
            }
        } else {
            type->ffn.width = whole(t, row, "ffn", 4 * model->hidden);
        }
    }
    for (int i = 0; i < layers; i++) {
        const int window = windows && i % 2 == 0 ? DENSE_WINDOW : DENSE;
        kind_of[i] = (uint8_t)(window + (has_experts(t, row, i) ? SPARSE : DENSE));
    }
    rk_model_set_layers(model, kinds, kind_of, (int)layers);
    rk_error err;
    *reason = "the model does not hold together";
    return rk_model_check(model, &err) == RK_OK;
}

/* ---- system -------------------------------------------------------------------------------- */

/* The first line whose part (empty: any) and accelerator match. */
static const struct machine {
    const char *part, *accelerator, *system;
    double nic;   /* bytes/s per accelerator; 0: as in the document */
    double power; /* W; 0: as in the document */
} machines[] = {
    {"vtrain", "A100", "a100-4x200g", 0, 0},
    {"megatron_lm", "A100", "selene", 0, 0},
    {"nemo_launcher", "A100", "dgx-a100-superpod", 0, 0},
    {"bigscience", "A100", "a100-sxm-80gb", 6.25e9, 0},
    {"internevo", "A100", "a100-sxm-80gb", 6.25e9, 0},
    {"hf_playbook", "H100", "h100-p5-efa", 0, 0},
    {"dgxc", "H100", "dgx-h100-superpod", 0, 0},
    {"torchtitan", "H100", "h100-sxm", 0, 500},
    {"", "GB300", "gb300-nvl72-pod", 0, 0},
    {"", "GB200", "gb200-nvl72-pod", 0, 0},
    {"", "GH200", "gh200", 0, 0},
    {"", "B300", "b300-sxm", 0, 0},
    {"", "B200", "hgx-b200-400g", 0, 0},
    {"", "H200", "h200-sxm", 0, 0},
    {"", "H800", "h800-sxm", 0, 0},
    {"", "H100", "h100-sxm", 0, 0},
    {"", "A800", "a800-sxm-80gb", 0, 0},
    {"", "A100-PCIe", "a100-pcie-80gb", 0, 0},
    {"", "A100-SXM-40", "a100-sxm-40gb", 0, 0},
    {"", "A100", "a100-sxm-80gb", 0, 0},
    {"", "V100", "v100-sxm2-32gb", 0, 0},
    {"", "MI355X", "mi355x", 0, 0},
    {"", "MI300X", "mi300x", 0, 0},
    {"", "Ascend 910B", "atlas-800t-a2", 0, 0},
};

bool run_system_of(const run_table *t, size_t row, rk_system *system, const char **reason)
{
    const struct machine *m = NULL;
    rk_error err;
    *reason = "accelerator without a document";
    if (run_has(t, row, "accelerator", "SM100") ||
        run_has(t, row, "accelerator", "power limited")) {
        *reason = "accelerator not named, or limited by an unknown power";
        return false;
    }
    for (size_t i = 0; !m && i < COUNT(machines); i++) {
        if (run_has(t, row, "part", machines[i].part) &&
            run_has(t, row, "accelerator", machines[i].accelerator)) {
            m = &machines[i];
        }
    }
    if (!m || rk_system_load(m->system, system, &err)) {
        return false;
    }
    if (m->nic > 0) {
        system->tiers[system->tier_count - 1].bandwidth = m->nic;
    }
    if (m->power > 0) {
        system->accelerator = rk_accelerator_at_power(&system->accelerator, m->power);
        system->accelerator.memory_bandwidth = 2.4e12; /* HBM2e */
        system->accelerator.memory_usable = 94 * 0x1p30;
    }
    return true;
}
