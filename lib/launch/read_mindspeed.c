/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of MindSpeed-LLM, and of Megatron-LM with MindSpeed, on Ascend.  Source: the
 * arguments of the features of Ascend/MindSpeed and Ascend/MindSpeed-LLM, 2026-08-21, on Megatron
 * core 0.12.1.
 */
#include "base/units.h"
#include "launch/pipeline_layout.h"
#include "launch/read_megatron.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int recognise_core(const rk_launch *launch)
{
    static const char *const flags[] = {
        "reuse-fp32-param",      "use-fused-rmsnorm", "use-fused-swiglu",
        "use-ascend-mc2",        "use-ascend-coc",    "use-fused-rotary-pos-emb",
        "context-parallel-algo", "moe-fb-overlap",    "moe-alltoall-overlap-comm",
        "swap-attention",        "schedules-method",  "noop-layers",
        "optimization-level",    "moe-tp-extend-ep",  "recompute-activation-function",
        "swap-optimizer",        "moe-zero-memory",   NULL};
    const int own = rk_megatron_is_line(launch) ? rk_launch_count_flags(launch, flags) : 0;
    return own > 0 ? 10 + own : 0;
}

static int recognise_llm(const rk_launch *launch)
{
    static const char *const flags[] = {"handler-name",
                                        "enable-hf2mg-convert",
                                        "model-type-hf",
                                        "prompt-type",
                                        "use-mc2",
                                        "is-instruction-dataset",
                                        "shape-order",
                                        "num-layer-list",
                                        "mla-mm-split",
                                        "first-k-dense-replace",
                                        "stage",
                                        "lora-target-modules",
                                        "gelu-tanh",
                                        "tokenizer-not-use-fast",
                                        NULL};
    const int own = rk_megatron_is_line(launch) ? rk_launch_count_flags(launch, flags) : 0;
    const bool program = strncmp(rk_launch_program(launch), "posttrain_", 10) == 0;
    return own > 0 || program ? recognise_core(launch) + own + (program ? 15 : 6) : 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The names of a list whose flags are on, joined by "+". */
static const char *list_of(rk_launch *launch, const char *list, const char *const (*rows)[2],
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const bool there = strstr(list, rows[i][1]) != NULL; /* by another flag */
        if (rk_megatron_is_on(launch, rows[i][0], false) && !there) {
            list = rk_launch_format(launch, "%s%s%s", list, *list ? "+" : "", rows[i][1]);
        }
    }
    return list;
}

static void state_overlap(rk_launch *launch)
{
    static const char *const rows[][2] = {
        {"use-ascend-mc2", "tp"},
        {"use-mc2", "tp"},
        {"use-ascend-coc", "tp"},
        {"moe-fb-overlap", "moe"},
        {"moe-alltoall-overlap-comm", "moe"},
        {"moe-allgather-overlap-comm", "moe"},
        {"moe-alltoall-mc2", "moe"},
    };
    const char *before = rk_launch_fact_of(launch, "overlap");
    const char *list =
        list_of(launch, before && strcmp(before, "none") != 0 ? before : "", rows, COUNT(rows));
    rk_launch_state(launch, "overlap", *list ? list : "none", RK_FACT_DERIVED, NULL);
}

static void state_offload(rk_launch *launch)
{
    static const char *const rows[][2] = {
        {"swap-optimizer", "optimizer (swapped)"},     {"swap-attention", "activations"},
        {"swap-layer-input", "activations"},           {"mla-swap-core-attn-out", "activations"},
        {"moe-unperm2-mem-optim-swap", "activations"},
    };
    const char *list = list_of(launch, "", rows, COUNT(rows));
    if (*list) {
        rk_launch_state(launch, "offload", list, RK_FACT_STATED, NULL);
    }
}

/* ---- activations ----------------------------------------------------------------------------- */

static void state_recompute(rk_launch *launch)
{
    static const char *const rows[][2] = {
        {"recompute-activation-function", "recompute-activation-function"},
        {"recompute-norm", "recompute-norm"},
        {"mla-zero-memory", "mla-zero-memory"},
        {"recompute-mla-up-proj", "recompute-mla-up-proj"},
    };
    const char *list = list_of(launch, "", rows, COUNT(rows));
    const char *granularity = rk_launch_fact_of(launch, "recompute.granularity");
    for (size_t i = 0; i < COUNT(rows) && granularity && strcmp(granularity, "full") == 0; i++) {
        rk_megatron_leave(launch, rows[i][0]);
    }
    const char *level = rk_megatron_value(launch, "moe-zero-memory");
    if (level && strcmp(level, "disable") != 0) {
        rk_launch_mark(launch, "moe-zero-memory", RK_KEY_NOT_PRICED,
                       "activations of the experts that it recomputes are priced as kept");
        list = rk_launch_format(launch, "%s%smoe-zero-memory %s", list, *list ? "+" : "", level);
    }
    if (*list) {
        rk_launch_state(launch, "recompute_extra", list, RK_FACT_STATED, NULL);
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

enum { LAYERS_MAX = 4096 };

/* Marks the layers that do nothing, as "61,62,63" lists them; returns their number. */
static int64_t mark_noops(const char *list, int64_t layers, bool noop[LAYERS_MAX])
{
    assert(layers >= 0 && layers <= LAYERS_MAX);
    int64_t count = 0;
    for (const char *at = list + strspn(list, ", "); *at; at += strspn(at, ", ")) {
        const long layer = isdigit((unsigned char)*at) ? strtol(at, NULL, 10) : -1;
        if (layer >= 0 && layer < layers && !noop[layer]) {
            noop[layer] = true;
            count++;
        }
        at += strcspn(at, ", ");
    }
    return count;
}

/* Layers of each stage that do something. */
static bool list_stages(const bool *noop, int64_t layers, int64_t each,
                        char list[RK_PIPELINE_LAYOUT_SIZE])
{
    assert(each >= 1);
    size_t used = 0;
    bool fits = true;
    for (int64_t first = 0; first < layers && fits; first += each) {
        int count = 0;
        for (int64_t i = first; i < first + each; i++) {
            count += !noop[i];
        }
        fits = rk_pipeline_add_stages(list, &used, count, 1);
    }
    return fits;
}

static void state_noops(rk_launch *launch)
{
    bool noop[LAYERS_MAX] = {false};
    const rk_launch_key *key = rk_megatron_find(launch, "noop-layers");
    const int64_t layers = rk_launch_count_of(launch, "model.layers");
    if (!key || !key->value || layers <= 0 || layers > LAYERS_MAX) {
        return;
    }
    const int64_t noops = mark_noops(key->value, layers, noop);
    if (noops > 0 && layers > noops) {
        rk_launch_state_count(launch, "model.layers_real", layers - noops, RK_FACT_DERIVED, key);
    }
}

/* The layers of each stage without those that do nothing, if the schedule is not bidirectional. */
static void state_stages(rk_launch *launch)
{
    char list[RK_PIPELINE_LAYOUT_SIZE];
    bool noop[LAYERS_MAX] = {false};
    const rk_launch_key *key = rk_megatron_find(launch, "noop-layers");
    const int64_t layers = rk_launch_count_of(launch, "model.layers");
    const int64_t pp = rk_launch_count_of(launch, "pp"), vp = rk_launch_count_of(launch, "vp");
    if (!key || !key->value || layers <= 0 || layers > LAYERS_MAX || pp <= 1 || pp > layers ||
        vp < 1 || vp > layers || layers % (pp * vp) != 0 ||
        rk_megatron_find(launch, "schedules-method")) {
        return;
    }
    if (mark_noops(key->value, layers, noop) > 0 &&
        list_stages(noop, layers, layers / (pp * vp), list)) {
        rk_launch_state(launch, "layout", list, RK_FACT_DERIVED, key);
    }
}

static void state_layout(rk_launch *launch)
{
    const rk_launch_key *list = rk_megatron_find(launch, "num-layer-list");
    const char *schedule = rk_megatron_value(launch, "schedules-method");
    const rk_launch_key *kind = rk_megatron_find(launch, "context-parallel-algo");
    if (list && list->value) {
        rk_launch_state(launch, "layout", list->value, RK_FACT_STATED, list);
    }
    if (schedule && strcmp(schedule, "dualpipev") == 0) {
        rk_launch_state(launch, "schedule", "dualpipe-v", RK_FACT_STATED,
                        rk_megatron_find(launch, "schedules-method"));
        rk_launch_state_count(launch, "vp", 2, RK_FACT_STATED, NULL); /* both arms of the V */
    }
    if (rk_launch_count_of(launch, "cp") > 1) {
        rk_launch_state(launch, "cp_kind", kind && kind->value ? kind->value : "megatron_cp_algo",
                        kind ? RK_FACT_STATED : RK_FACT_DEFAULT, kind);
        rk_megatron_leave(launch, "use-flash-attn"); /* it is on */
    } else {
        (void)rk_megatron_find(launch, "use-flash-attn");
        rk_megatron_leave(launch, "context-parallel-algo");
    }
    const rk_launch_key *extended = rk_megatron_find(launch, "moe-tp-extend-ep");
    if (extended && rk_launch_is_on(launch, extended->name, true) &&
        rk_launch_count_of(launch, "model.experts") > 0) {
        const int64_t ep = rk_launch_count_of(launch, "ep"), tp = rk_launch_count_of(launch, "tp");
        rk_launch_state_count(launch, "etp", 1, RK_FACT_STATED, extended);
        rk_launch_state_count(launch, "ep_effective",
                              ep <= INT32_MAX && tp <= INT32_MAX ? ep * tp : ep, RK_FACT_DERIVED,
                              extended);
    }
    const rk_launch_key *fsdp = rk_megatron_find(launch, "layerzero");
    fsdp = fsdp ? fsdp : rk_megatron_find(launch, "fsdp2-config-path");
    if (fsdp) {
        rk_launch_state_count(launch, "zero", 3, RK_FACT_STATED, fsdp);
    }
}

/* ---- states ---------------------------------------------------------------------------------- */

static void state_states(rk_launch *launch)
{
    static const char *const low_names[] = {"o2-gradient", "quant-grads", NULL};
    const rk_launch_key *low = rk_megatron_find_among(launch, low_names);
    const rk_launch_key *modules = rk_megatron_find(launch, "lora-target-modules");
    const rk_launch_key *rank = rk_megatron_find(launch, "lora-r");
    if (low && rk_launch_is_on(launch, low->name, true)) {
        rk_launch_state(launch, "gradients", "bf16", RK_FACT_STATED, low);
    }
    if (modules) {
        rk_launch_state(launch, "lora", rank && rank->value ? rank->value : "16", RK_FACT_STATED,
                        rank ? rank : modules);
        rk_megatron_state_adapters(launch, modules);
    }
}

static void state_loss(rk_launch *launch)
{
    const char *mode = rk_megatron_value(launch, "loss-compute-mode");
    if (mode && strcmp(mode, "chunk") == 0) {
        rk_launch_state(launch, "loss", "chunked", RK_FACT_STATED,
                        rk_megatron_find(launch, "loss-compute-mode"));
    } else {
        rk_launch_mark(launch, "loss-chunk-size", RK_KEY_WITHOUT_COST, NULL);
    }
}

static void mark_stage(rk_launch *launch)
{
    const char *stage = rk_megatron_value(launch, "stage");
    rk_megatron_leave(launch, "stage");
    if (stage && strcmp(stage, "sft") != 0) {
        rk_launch_mark(launch, "stage", RK_KEY_NOT_PRICED,
                       rk_launch_format(launch,
                                        "%s: passes of a reference or reward model are not priced",
                                        stage));
    }
}

/* Kernels that the stack is measured with. */
static void mark_fused(rk_launch *launch)
{
    static const char *const names[] = {"use-fused-",       "gemm-gradient-accumulation-fusion",
                                        "use-triton-gdn",   "use-sparse-flash-attn",
                                        "coc-fused-kernel", "transformer-impl"};
    for (size_t i = 0; i < COUNT(names); i++) {
        rk_launch_mark(launch, names[i], RK_KEY_WITHOUT_COST, NULL);
    }
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const int64_t cp = rk_launch_count_of(launch, "cp");
    const bool flash = rk_megatron_is_on(launch, "use-flash-attn", false);
    const rk_megatron_usual usual = {.core = 12,
                                     .attention = flash || cp > 1 ? "flash" : "unfused"};
    state_noops(launch);
    const rk_status status = rk_megatron_resolve(launch, &usual, err);
    state_layout(launch);
    state_stages(launch);
    state_overlap(launch);
    state_offload(launch);
    state_recompute(launch);
    state_states(launch);
    state_loss(launch);
    mark_fused(launch);
    mark_stage(launch);
    return status;
}

const rk_launch_reader rk_launch_reader_mindspeed_llm = {
    .name = "mindspeed-llm",
    .framework = "mindspeed",
    .tables = {"mindspeed-llm", "mindspeed", "megatron-lm"},
    .recognise = recognise_llm,
    .resolve = resolve,
};

const rk_launch_reader rk_launch_reader_mindspeed = {
    .name = "mindspeed",
    .framework = "mindspeed",
    .tables = {"mindspeed", "mindspeed-llm", "megatron-lm"},
    .recognise = recognise_core,
    .resolve = resolve,
};
