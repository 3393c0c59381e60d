/* SPDX-License-Identifier: Apache-2.0 */
#include "request/request.h"

#include "base/error.h"
#include "base/units.h"
#include "layer/model_load.h"
#include "report/estimate_fields.h"
#include "request/choices.h"
#include "request/request_check.h"
#include "request/sizes.h"
#include "strategy/optimizer.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define NOT_GIVEN    (-1)
#define DEGREE_MAX   (INT64_C(1) << 30)
#define MEMORY_MAX   1048576 /* GiB */
#define MOST_REPLICA (INT64_C(1) << 30)

/* ---- the table ------------------------------------------------------------------------------ */

static const char *const precision_choices[] = {
    "bf16", "fp16", "fp8", "fp4", "fp32", "tf32", "mxfp8", "nvfp4", NULL,
};
static const rk_precision precisions[] = {RK_BF16, RK_FP16, RK_FP8, RK_FP4,
                                          RK_FP32, RK_TF32, RK_FP8, RK_FP4};
enum { PRECISION_MXFP8 = 6 };

static const char *const attention_choices[] = {RK_ATTENTION_NAMES, NULL};
enum { ATTENTION_FLASH, ATTENTION_UNFUSED }; /* then kernels from RK_KERNEL_CUDNN on */

static const char *const gradient_choices[] = {"fp32", "bf16", NULL};
static const double gradient_bytes[] = {4, 2};

static const char *const moment_choices[] = {"fp32", "bf16", "fp8", NULL};
static const double moment_bytes[] = {8, 4, 2}; /* of both moments */

/* Megatron-LM's adam decouples weight decay by default: it is AdamW. */
static const char *const optimizer_choices[] = {RK_OPTIMIZER_NAMES, "adam", NULL};

static const char *const offload_choices[] = {"none", RK_OFFLOAD_NAMES, NULL};

static const char *const overlap_choices[] = {"none", RK_OVERLAP_NAMES, NULL};

/* Ours in the order of the bits, then what Megatron-LM calls some of them. */
static const char *const module_choices[] = {
    RK_MODULE_NAMES, "layernorm", "moe_act", "mla_up_proj", NULL,
};

static unsigned modules_of(unsigned choices)
{
    return (choices & 0xFF) | (choices >> 8 & 1 ? RK_MODULE_NORM : 0U) |
           (choices >> 9 & 1 ? RK_MODULE_ACTIVATION : 0U) |
           (choices >> 10 & 1 ? RK_MODULE_MLA_UP : 0U);
}

/* Likewise: Megatron-LM names the place of experts too, which is that of cp. */
static const char *const order_choices[] = {RK_RANK_ORDER_NAMES, "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp",
                                            NULL};

/* Sets of rk_rank_order; 0: not given. */
static unsigned orders_of(const rk_request *r)
{
    const unsigned given = (r->orders | r->orders >> RK_ORDER_COUNT) & ((1U << RK_ORDER_COUNT) - 1);
    return given | (r->pipeline_first ? 1U << RK_ORDER_PIPELINE_DATA : 0U);
}

#define PLACE(member) offsetof(rk_request, member)

/* Entries of the table; what follows the help are further members, such as .common. */
#define DEGREES(name_, alias_, member, ...)                                                        \
    {                                                                                              \
        .name = name_, .aliases = {alias_}, .type = RK_OPTION_COUNTS, .offset = PLACE(member),     \
        .min = 1, .max = DEGREE_MAX, .value = "N", .help = __VA_ARGS__                             \
    }
#define NUMBER(name_, alias_, member, ...)                                                         \
    {                                                                                              \
        .name = name_, .aliases = {alias_}, .type = RK_OPTION_COUNT, .offset = PLACE(member),      \
        .min = 1, .max = DEGREE_MAX, .value = "N", .help = __VA_ARGS__                             \
    }
#define CHOICE(name_, member, names, ...)                                                          \
    {                                                                                              \
        .name = name_, .type = RK_OPTION_CHOICE, .offset = PLACE(member), .choices = names,        \
        .value = "NAME", .help = __VA_ARGS__                                                       \
    }
#define SET(name_, alias_, member, names, ...)                                                     \
    {                                                                                              \
        .name = name_, .aliases = {alias_}, .type = RK_OPTION_SET, .offset = PLACE(member),        \
        .choices = names, .value = "NAME,...", .help = __VA_ARGS__                                 \
    }
#define FLAG(name_, alias_, member, ...)                                                           \
    {                                                                                              \
        .name = name_, .aliases = {alias_}, .type = RK_OPTION_FLAG, .offset = PLACE(member),       \
        .help = __VA_ARGS__                                                                        \
    }
#define ABOVE(name_, alias_, member, max_, ...)                                                    \
    {                                                                                              \
        .name = name_, .aliases = {alias_}, .type = RK_OPTION_REAL, .offset = PLACE(member),       \
        .above = true, .max = max_, .value = "X", .help = __VA_ARGS__                              \
    }
#define REAL(name_, alias_, member, min_, max_, ...)                                               \
    {                                                                                              \
        .name = name_, .aliases = {alias_}, .type = RK_OPTION_REAL, .offset = PLACE(member),       \
        .min = min_, .max = max_, .value = "X", .help = __VA_ARGS__                                \
    }

const rk_option rk_strategy_options[RK_STRATEGY_OPTION_COUNT] = {
    {.name = "model",
     .required = true,
     .offset = PLACE(model),
     .value = "NAME|FILE",
     .catalogue = "models",
     .word = RK_WORD_MODEL,
     .group = "Model and machine",
     .common = true,
     .help = "model: a name ('reckon list models'), a document, or a Hugging Face config.json"},
    {.name = "system",
     .required = true,
     .offset = PLACE(system),
     .value = "NAME|FILE",
     .catalogue = "systems",
     .word = RK_WORD_SYSTEM,
     .common = true,
     .help = "machine: a name ('reckon list systems'), an accelerator, or a document"},
    {.name = "accelerators",
     .aliases = {"gpus", "processors"},
     .letter = 'p',
     .type = RK_OPTION_COUNT,
     .offset = PLACE(accelerators),
     .min = 1,
     .max = DEGREE_MAX,
     .value = "N",
     .word = RK_WORD_COUNT,
     .common = true,
     .help = "number of accelerators"},
    {.name = "nodes",
     .aliases = {"nnodes", "num-nodes"},
     .type = RK_OPTION_COUNT,
     .offset = PLACE(nodes),
     .min = 1,
     .max = DEGREE_MAX,
     .value = "N",
     .word = RK_WORD_NODES,
     .help = "number of nodes, in place of --accelerators"},
    NUMBER("gpus-per-node", "nproc-per-node", gpus_per_node,
           "accelerators per node; checked against the system"),
    ABOVE("max-memory", NULL, max_memory, MEMORY_MAX,
          "memory limit per accelerator, GiB; default: all of it"),
    CHOICE("framework", framework, rk_framework_names,
           "framework whose constraints and defaults apply; default: the accelerator's usual one"),
    {.name = "stack",
     .offset = PLACE(stack),
     .value = "NAME|FILE",
     .catalogue = "stacks",
     .help = "training software ('reckon list stacks'); default: the framework's usual one"},
    {.name = "global-batch",
     .aliases = {"global-batch-size", "batch", "gbs"},
     .letter = 'b',
     .type = RK_OPTION_COUNT,
     .offset = PLACE(global_batch),
     .min = 1,
     .max = DEGREE_MAX,
     .value = "N",
     .group = "Batch and sequences",
     .common = true,
     .help = "sequences per step; default: about 4 M tokens"},
    {.name = "micro-batch",
     .aliases = {"micro-batch-size", "mbs"},
     .type = RK_OPTION_COUNTS,
     .offset = PLACE(micro_batch),
     .min = 1,
     .max = DEGREE_MAX,
     .value = "N",
     .help = "sequences per micro-batch"},
    {.name = "seq",
     .aliases = {"seq-length", "seq-len"},
     .type = RK_OPTION_COUNT,
     .offset = PLACE(seq),
     .min = 1,
     .max = DEGREE_MAX,
     .binary = true,
     .value = "N",
     .common = true,
     .help = "sequence length in tokens, such as 8192 or 8k; default: the model's"},
    NUMBER("document-tokens", NULL, document,
           "document length in tokens; attention stops at its end; default: the sequence length"),
    DEGREES("tp", "tensor-model-parallel-size", tp, "tensor parallelism", .group = "Parallelism",
            .common = true),
    DEGREES("pp", "pipeline-model-parallel-size", pp, "pipeline parallelism", .common = true),
    DEGREES("cp", "context-parallel-size", cp, "context parallelism"),
    DEGREES("ep", "expert-model-parallel-size", ep, "expert parallelism", .common = true),
    DEGREES("etp", "expert-tensor-parallel-size", etp, "tensor parallelism of experts"),
    NUMBER("dp", "data-parallel-size", dp, "data parallelism; default: the remaining accelerators"),
    {.name = "zero",
     .aliases = {"zero-stage"},
     .type = RK_OPTION_COUNTS,
     .offset = PLACE(zero),
     .max = RK_SHARD_ALL,
     .value = "0..3",
     .common = true,
     .help = "ZeRO stage: 1 shards optimizer states, 2 gradients too, 3 weights too (FSDP)"},
    FLAG("fsdp", NULL, fsdp, "same as --zero 3"),
    FLAG("use-distributed-optimizer", NULL, distributed_optimizer, "same as --zero 1"),
    NUMBER("hsdp", "num-distributed-optimizer-instances", replicas,
           "replicas of the shards (HSDP); default: 1"),
    FLAG("sequence-parallel", NULL, sp,
         "use sequence parallelism; default with tensor parallelism"),
    FLAG("no-sp", NULL, no_sp, "use tensor parallelism without sequence parallelism"),
    SET("cp-kind", NULL, cp_kinds, rk_cp_kind_names, "communication of context parallelism"),
    SET("order", "rank-order", orders, order_choices,
        "order of ranks, fastest-varying first; default: tp-cp-dp-pp"),
    FLAG("use-tp-pp-dp-mapping", NULL, pipeline_first, "same as --order tp-cp-pp-dp"),
    SET("schedule", NULL, schedules, rk_schedule_names, "pipeline schedule", .group = "Pipeline"),
    DEGREES("vp", "num-virtual-stages-per-pipeline-rank", vp, "virtual pipeline stages per rank"),
    NUMBER("vp-layers", NULL, vp_layers, "layers per virtual stage, in place of --vp"),
    NUMBER("first-stage-layers", "decoder-first-pipeline-num-layers", first_stage_layers,
           "layers of the first pipeline rank"),
    NUMBER("last-stage-layers", "decoder-last-pipeline-num-layers", last_stage_layers,
           "layers of the last pipeline rank"),
    {.name = "layout",
     .offset = PLACE(layout_text),
     .value = "N,N*TIMES,...",
     .help = "layers of every stage, in the order of the model"},
    FLAG("count-embedding", "account-for-embedding-in-pipeline-split", count_embedding,
         "count the embedding as a layer when splitting stages"),
    FLAG("count-head", "account-for-loss-in-pipeline-split", count_head,
         "count the output layer as a layer when splitting stages"),
    NUMBER("mtp-layers", "mtp-num-layers", mtp_layers,
           "multi-token prediction modules; default: the model's"),
    FLAG("no-mtp", NULL, no_mtp, "train without multi-token prediction"),
    FLAG("mtp-before-head", NULL, mtp_before_head,
         "put MTP layers on the stage before the one with the output layer"),
    SET("recompute", "recompute-granularity", recomputes, rk_recompute_kind_names,
        "activation recomputation", .group = "Memory", .common = true),
    SET("recompute-modules", NULL, modules, module_choices, "modules of selective recomputation"),
    NUMBER("recompute-layers", "recompute-num-layers", recompute_layers,
           "layers per virtual stage that full recomputation covers; default: all"),
    SET("offload", NULL, offloads, offload_choices, "offload to host memory; default: none"),
    CHOICE("precision", precision, precision_choices, "data type of linear layers; default: bf16",
           .group = "Precision and optimizer", .common = true),
    CHOICE("fp8-recipe", fp8_recipe, rk_fp8_recipe_names, "scaling of fp8; default: tensorwise"),
    FLAG("fp8-param-gather", NULL, low_weights,
         "keep weights of fp8 and fp4 linear layers in that type only, and gather them in it"),
    FLAG("fp8-activation-input", "activation-func-fp8-input-store", low_activations,
         "keep the inputs of gated activations in fp8"),
    CHOICE("gradients", gradients, gradient_choices, "data type of gradient accumulation"),
    CHOICE("optimizer", optimizer, optimizer_choices, "optimizer; default: adamw"),
    CHOICE("moments", moments, moment_choices, "data type of Adam's moments"),
    CHOICE("attention", attention, attention_choices,
           "attention kernel; default: flash, the stack's", .group = "Kernels and overlap"),
    SET("overlap", NULL, overlaps, overlap_choices,
        "communication to overlap with compute; default: all but moe"),
    FLAG("graph-capture", "enable-cuda-graph", graph_capture, "launch kernels as CUDA graphs"),
    FLAG("graph-step", NULL, graph_step, "capture the whole step in one graph"),
    ABOVE("capacity-factor", "moe-expert-capacity-factor", capacity_factor, 1000,
          "expert capacity factor; default: no token is dropped"),
    REAL("imbalance", NULL, imbalance, 1, 1000,
         "expert load imbalance: tokens on the busiest rank over the mean; default: 1"),
    NUMBER("lora-rank", "peft-dim", lora_rank, "fine-tune LoRA adapters of this rank",
           .group = "Fine-tuning"),
    FLAG("qlora", NULL, nf4_weights, "keep the frozen linear weights in NF4 (QLoRA)"),
    SET("lora-modules", NULL, lora_modules, rk_adapted_names,
        "modules with adapters; default: both"),
    CHOICE("mfu-convention", convention, rk_flop_convention_names,
           "FLOP convention; default: the framework's", .group = "Output"),
    FLAG("json", NULL, json, "write JSON", .common = true),
    FLAG("csv", NULL, csv, "write CSV"),
    {.name = "output",
     .letter = 'o',
     .offset = PLACE(output),
     .value = "FILE",
     .common = true,
     .help = "write to a file instead of standard output"},
};

rk_request rk_request_defaults(void)
{
    return (rk_request){
        .imbalance = 1,
        .framework = NOT_GIVEN,
        .convention = NOT_GIVEN,
        .gradients = NOT_GIVEN,
        .moments = NOT_GIVEN,
        .output = "-",
        .top = 5,
        .method = NOT_GIVEN,
        .emit = NOT_GIVEN,
        .fp8_recipe = NOT_GIVEN,
    };
}

/* Reads "8" or "8*14", layers and the stages that have as many, and moves *text behind it. */
static bool read_run(const char **text, long *layers, long *stages)
{
    char *end = NULL;
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    *layers = strtol(*text, &end, 10);
    *stages = 1;
    if (*end == '*' && isdigit((unsigned char)end[1])) {
        *stages = strtol(end + 1, &end, 10);
    }
    *text = end;
    return *layers <= RK_LAYER_MAX && *stages >= 1;
}

/* Reads "7,8*14,6" into the layout of the request. */
static bool read_layout(const char *text, rk_request *r)
{
    bool more = true;
    while (more) {
        long layers = 0, stages = 0;
        if (!read_run(&text, &layers, &stages) || stages > RK_LAYOUT_MAX - r->layout_count) {
            return false;
        }
        for (long i = 0; i < stages; i++) {
            r->layout[r->layout_count++] = (int16_t)layers;
        }
        more = *text == ',';
        text += more;
    }
    return *text == '\0';
}

/* A launch file is for one framework, so that its rules and defaults have to hold. */
static rk_status choose_framework(rk_request *request, rk_error *err)
{
    if (request->emit < 0) {
        return RK_OK;
    }
    const rk_framework usual = rk_launch_kinds[request->emit].framework;
    if (request->framework != NOT_GIVEN && request->framework != (int)usual) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--emit %s writes for --framework %s, not %s; leave out one of the two",
                       rk_launch_names[request->emit], rk_framework_names[usual],
                       rk_framework_names[request->framework]);
    }
    request->framework = (int)usual;
    return RK_OK;
}

rk_status rk_request_complete(rk_request *request, rk_error *err)
{
    const rk_status status = choose_framework(request, err);
    if (status) {
        return status;
    }
    if (request->optimizer == RK_OPTIMIZER_COUNT) {
        request->optimizer = RK_OPTIMIZER_ADAMW;
    }
    if (request->fsdp) {
        request->zero.values[0] = RK_SHARD_ALL;
        request->zero.count = 1;
    }
    if (request->fp8_recipe != NOT_GIVEN &&
        (precisions[request->precision] != RK_FP8 ||
         (request->precision == PRECISION_MXFP8 && request->fp8_recipe != RK_FP8_MX))) {
        return rk_fail(err, RK_ERR_INVALID, "--fp8-recipe %s needs --precision fp8, not %s",
                       rk_fp8_recipe_names[request->fp8_recipe],
                       precision_choices[request->precision]);
    }
    if (request->layout_text && !read_layout(request->layout_text, request)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--layout needs the layers of up to %d stages such as 7,8*14,6, at most %d "
                       "each, not '%.200s'",
                       RK_LAYOUT_MAX, RK_LAYER_MAX, request->layout_text);
    }
    const rk_status checked = rk_request_check(request, err);
    return checked ? checked : rk_request_settle_sizes(request, err);
}

void rk_request_init(void *request)
{
    *(rk_request *)request = rk_request_defaults();
}

rk_status rk_request_finish(void *request, rk_error *err)
{
    const rk_status status = rk_request_complete(request, err);
    return status ? status : rk_request_settle_output(request, err);
}

/* ---- documents ------------------------------------------------------------------------------ */

static rk_status check_accelerators(const rk_request *request, const rk_system *system,
                                    rk_error *err)
{
    const int64_t most = system->tiers[system->tier_count - 1].size;
    if (system->tier_count == 0 || request->accelerators <= most) {
        return RK_OK;
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "the rule accelerators of the system: %s has %" PRId64 ", not %" PRId64
                   "; give fewer, or a system document of more",
                   system->name, most, request->accelerators);
}

rk_status rk_request_limit(const rk_request *request, rk_system *system, rk_error *err)
{
    const rk_status status = check_accelerators(request, system, err);
    if (!status && request->max_memory > 0) {
        system->accelerator.memory_usable = request->max_memory * GIB;
    }
    return status;
}

rk_status rk_request_load(const rk_request *request, rk_inputs *inputs, rk_error *err)
{
    inputs->system.accelerator.measured = NULL;
    rk_status status = rk_model_load(request->model, &inputs->model, err);
    if (!status) {
        status = rk_request_set_modules(request, &inputs->model, err);
    }
    if (!status) {
        status = rk_system_load(request->system, &inputs->system, err);
    }
    return status ? status : rk_request_apply(request, false, inputs, err);
}

rk_status rk_request_apply(const rk_request *request, bool stack_given, rk_inputs *inputs,
                           rk_error *err)
{
    rk_status status = rk_request_settle(request, stack_given, inputs, err);
    if (!status && request->emit >= 0) {
        status = rk_launch_check(rk_launch_kinds[request->emit].framework, &inputs->model,
                                 &inputs->system, err);
    }
    return status ? status : rk_request_limit(request, &inputs->system, err);
}

void rk_inputs_clear(rk_inputs *inputs)
{
    rk_system_clear(&inputs->system);
}

/* ---- a strategy ----------------------------------------------------------------------------- */

/* Bytes of gradients and of both moments; 0: not given. */
static double given_gradient(const rk_request *r)
{
    return r->gradients < 0 ? 0 : gradient_bytes[r->gradients];
}

static double given_moments(const rk_request *r)
{
    return r->moments < 0 ? 0 : moment_bytes[r->moments];
}

static rk_state_recipe state_recipe(const rk_request *r, rk_framework framework)
{
    return rk_framework_states(framework, precisions[r->precision], given_gradient(r),
                               given_moments(r));
}

/* The only sharding that an optimizer on whole matrices has; `usual` of the others. */
static rk_sharding sharding_of(const rk_request *r, rk_sharding usual)
{
    const rk_optimizer_traits *traits = &rk_optimizers[r->optimizer];
    return !traits->orthogonalizes  ? usual
           : traits->deals_matrices ? RK_SHARD_OPTIMIZER
                                    : RK_SHARD_NONE;
}

static rk_fp8_recipe recipe_of(const rk_request *r)
{
    const rk_fp8_recipe usual = r->precision == PRECISION_MXFP8 ? RK_FP8_MX : RK_FP8_TENSORWISE;
    return r->fp8_recipe == NOT_GIVEN ? usual : (rk_fp8_recipe)r->fp8_recipe;
}

/* With adapters, all weights of the model are frozen. */
static void freeze(const rk_request *r, const rk_model *model, rk_strategy *s)
{
    const unsigned both = RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN;
    if (r->lora_rank > 0) {
        rk_strategy_freeze(model, r->lora_rank, r->lora_modules ? r->lora_modules : both, s);
    }
}

/* What does not depend on the degrees, and is the same in all strategies of a space. */
static void apply_base(const rk_request *r, const rk_inputs *inputs, rk_strategy *s)
{
    s->seq = r->seq ? r->seq : s->seq;
    s->document = r->document;
    s->precision = precisions[r->precision];
    s->fp8_recipe = recipe_of(r);
    s->low_weights = r->low_weights || r->nf4_weights;
    s->nf4_weights = r->nf4_weights;
    s->low_activations = r->low_activations;
    s->flash_attention = r->attention != ATTENTION_UNFUSED;
    s->attention_kernel = r->attention > ATTENTION_UNFUSED
                              ? (rk_attention_kernel)(r->attention - ATTENTION_UNFUSED)
                              : RK_KERNEL_OF_STACK;
    s->states = state_recipe(r, inputs->software.framework);
    rk_optimizer_set((rk_optimizer)r->optimizer, s);
    s->replicas = r->replicas ? r->replicas : 1;
    s->graph_capture = r->graph_capture;
    s->graph_step = r->graph_step;
    s->first_stage_layers = r->first_stage_layers;
    s->last_stage_layers = r->last_stage_layers;
    s->count_embedding = r->count_embedding;
    s->count_head = r->count_head;
    s->mtp_before_head = r->mtp_before_head;
    s->capacity_factor = r->capacity_factor;
    s->imbalance = r->imbalance;
    freeze(r, &inputs->model, s);
    if (r->overlaps) {
        rk_strategy_set_overlaps(s, r->overlaps >> 1); /* behind "none" */
    }
}

/* The only value of a list; `usual` when it is empty. */
static int64_t only_value(const rk_option_counts *counts, int64_t usual)
{
    return counts->count ? counts->values[0] : usual;
}

/* The index of the only bit of a set; `usual` when it is empty. */
static unsigned only_bit(unsigned set, unsigned usual)
{
    unsigned index = 0;
    while (set >> index > 1) {
        index++;
    }
    return set ? index : usual;
}

/* Refuses an option that was given several values. */
static rk_status check_single(const rk_request *r, rk_error *err)
{
    const struct {
        const char *name;
        bool several;
    } options[] = {
        {"tp", r->tp.count > 1},
        {"cp", r->cp.count > 1},
        {"pp", r->pp.count > 1},
        {"vp", r->vp.count > 1},
        {"ep", r->ep.count > 1},
        {"etp", r->etp.count > 1},
        {"micro-batch", r->micro_batch.count > 1},
        {"zero", r->zero.count > 1},
        {"schedule", (r->schedules & (r->schedules - 1)) != 0},
        {"recompute", (r->recomputes & (r->recomputes - 1)) != 0},
        {"cp-kind", (r->cp_kinds & (r->cp_kinds - 1)) != 0},
        {"order", (orders_of(r) & (orders_of(r) - 1)) != 0},
        {"offload", (r->offloads & 1U) && r->offloads > 1},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].several) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--%s has several values, and one strategy has one; 'reckon plan' "
                           "searches them",
                           options[i].name);
        }
    }
    return RK_OK;
}

/* Refuses degrees that the accelerators are not a multiple of, or that leave another --dp. */
static rk_status check_degrees(const rk_request *r, int64_t tp, int64_t cp, int64_t pp, bool all,
                               rk_error *err)
{
    const double each = (double)tp * (double)cp * (double)pp;
    const int64_t fit = each <= (double)r->accelerators ? (int64_t)each : 0;
    if (fit == 0 || r->accelerators % fit) {
        const double times = fit ? (double)(r->accelerators / fit) : 0;
        return rk_fail(err, RK_ERR_INVALID,
                       "the rule accelerators %% (tp*cp*pp): %" PRId64
                       " accelerators are not a multiple of %.0f = tp %" PRId64 " x cp %" PRId64
                       " x pp %" PRId64 "; nearest legal accelerators: %.0f or %.0f",
                       r->accelerators, each, tp, cp, pp, each * fmax(times, 1),
                       each * (fmax(times, 1) + 1));
    }
    const int64_t rest = r->accelerators / fit;
    if (r->dp && (all ? rest != r->dp : rest % r->dp != 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the rule accelerators = tp*cp*pp*dp: %" PRId64
                       " accelerators make dp %" PRId64 "%s, not %" PRId64
                       "; leave out one of --accelerators and --dp",
                       r->accelerators, rest, all ? "" : " or a divisor of it", r->dp);
    }
    return RK_OK;
}

/* Degrees that multiply up to the accelerators; what is not given is the rest, or 1. */
static rk_status apply_degrees(const rk_request *r, rk_strategy *s, rk_error *err)
{
    s->tp = only_value(&r->tp, 1);
    s->cp = only_value(&r->cp, 1);
    s->pp = only_value(&r->pp, 1);
    s->vp = only_value(&r->vp, 1);
    s->ep = only_value(&r->ep, 1);
    s->etp = only_value(&r->etp, 1);
    s->dp = r->dp ? r->dp : 1;
    if (r->accelerators == 0) {
        return RK_OK;
    }
    const rk_status status = check_degrees(r, s->tp, s->cp, s->pp, true, err);
    if (!status) {
        s->dp = r->accelerators / (s->tp * s->cp * s->pp);
    }
    return status;
}

static void apply_schedule(const rk_request *r, const rk_inputs *inputs, rk_strategy *s)
{
    const rk_framework_traits *f = rk_framework_of(inputs->software.framework);
    const rk_schedule_kind usual = s->pp > 1 && s->vp == 1 ? f->schedule : rk_schedule_usual(s->vp);
    s->schedule = (rk_schedule_kind)only_bit(r->schedules, usual);
    s->recompute = (rk_recompute_kind)only_bit(
        r->recomputes,
        r->modules ? RK_REC_SELECTIVE : (r->recompute_layers ? RK_REC_FULL : f->recompute));
    s->recompute_modules = modules_of(r->modules);
    if (s->recompute == RK_REC_SELECTIVE && !r->modules) {
        s->recompute_modules = rk_framework_cheap_modules(inputs->software.framework,
                                                          &inputs->model, s->flash_attention);
    }
    s->recompute_layers = r->recompute_layers;
}

/* Refuses what later releases of the framework brought. */
static rk_status check_year(const rk_inputs *inputs, const rk_strategy *strategy, rk_error *err)
{
    const rk_framework_traits *f = rk_framework_of(inputs->software.framework);
    const bool sharded =
        rk_framework_shardings(inputs->software.framework, inputs->software.year) >>
            strategy->sharding &
        1U;
    const bool replicated =
        strategy->replicas == 1 ||
        rk_framework_replicates(inputs->software.framework, inputs->software.year);
    if ((f->shardings >> strategy->sharding & 1U) && !sharded) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the rule releases of the framework: %s has ZeRO-%d since %d, and the stack "
                       "%s is of %" PRId64 "; use ZeRO-1, or a later stack",
                       f->title, (int)strategy->sharding, f->shards_year,
                       inputs->software.stack.name, inputs->software.year);
    }
    if (!replicated) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the rule releases of the framework: %s replicates shards since %d, and the "
                       "stack %s is of %" PRId64 "; leave out --hsdp, or use a later stack",
                       f->title, f->replicas_year, inputs->software.stack.name,
                       inputs->software.year);
    }
    return RK_OK;
}

static rk_status check_legal(const rk_inputs *inputs, const rk_strategy *strategy, rk_error *err)
{
    rk_violation violation;
    if (rk_strategy_legal(&inputs->model, &inputs->system, strategy, inputs->software.framework,
                          &violation)) {
        return RK_OK;
    }
    return rk_fail(err, RK_ERR_INVALID, "the rule %s: %s", violation.rule, violation.message);
}

rk_status rk_request_strategy(const rk_request *request, const rk_inputs *inputs,
                              rk_strategy *strategy, rk_error *err)
{
    const rk_request *r = request;
    const rk_framework_traits *f = rk_framework_of(inputs->software.framework);
    *strategy = rk_strategy_defaults(&inputs->model);
    rk_status status = check_single(r, err);
    if (!status) {
        status = apply_degrees(r, strategy, err);
    }
    if (status) {
        return status;
    }
    apply_base(r, inputs, strategy);
    apply_schedule(r, inputs, strategy);
    strategy->sp = rk_strategy_splits_sequence(strategy->tp, f->sp && !r->no_sp);
    strategy->tp_overlap = r->overlaps ? strategy->tp_overlap : strategy->sp;
    strategy->layout = r->layout;
    strategy->layout_count = r->layout_count;
    strategy->cp_kind = (rk_cp_kind)only_bit(r->cp_kinds, f->cp_kind);
    strategy->order = (rk_rank_order)only_bit(orders_of(r), RK_ORDER_DATA_PIPELINE);
    strategy->micro_batch = only_value(&r->micro_batch, 1);
    strategy->global_batch =
        r->global_batch ? r->global_batch : strategy->micro_batch * strategy->dp;
    strategy->sharding = (rk_sharding)only_value(
        &r->zero, r->distributed_optimizer ? RK_SHARD_OPTIMIZER : sharding_of(r, f->sharding));
    rk_strategy_set_offloads(strategy, r->offloads >> 1); /* behind "none" */
    status = check_year(inputs, strategy, err);
    return status ? status : check_legal(inputs, strategy, err);
}

/* ---- a space -------------------------------------------------------------------------------- */

static void restrict_choices(const rk_option_counts *given, rk_choices *choices)
{
    for (int i = 0; i < given->count; i++) {
        choices->values[i] = given->values[i];
    }
    choices->count = given->count ? given->count : choices->count;
}

static int64_t single_value(const rk_option_counts *counts)
{
    return counts->count == 1 ? counts->values[0] : 1;
}

/* Refuses what is missing for a search, and what a search does not take. */
static rk_status check_space(const rk_request *r, const rk_model *model, rk_error *err)
{
    if (r->accelerators == 0 || r->global_batch == 0) {
        return rk_fail(err, RK_ERR_INVALID, "--%s is missing: a search needs it%s",
                       r->accelerators == 0 ? "accelerators" : "global-batch",
                       r->accelerators == 0 ? ", as in 64xh100" : "");
    }
    const rk_strategy listed = {.layout = r->layout, .layout_count = r->layout_count};
    const int64_t layers = rk_strategy_layout_before(&listed, listed.layout_count);
    if (r->layout_count > 0 && layers != model->layers) {
        return rk_fail(err, RK_ERR_INVALID, "--layout has %" PRId64 " layers, but %s has %d",
                       layers, model->name, model->layers);
    }
    return check_degrees(r, single_value(&r->tp), single_value(&r->cp), single_value(&r->pp), false,
                         err);
}

/* The kinds of recompute that an option or its details ask for; 0: any. */
static unsigned wanted_recomputes(const rk_request *r)
{
    if (r->recomputes) {
        return r->recomputes;
    }
    return (r->modules ? 1U << RK_REC_SELECTIVE : 0) |
           (r->recompute_layers ? 1U << RK_REC_FULL : 0);
}

/* Leaves out what later releases of the framework brought than the stack stands for. */
static rk_status limit_to_year(const rk_inputs *inputs, rk_plan_space *space, rk_error *err)
{
    const unsigned has = rk_framework_shardings(inputs->software.framework, inputs->software.year);
    const unsigned given =
        space->shardings & rk_framework_of(inputs->software.framework)->shardings;
    rk_strategy strategy = {.sharding = RK_SHARD_ALL, .replicas = space->base.replicas};
    if (given & has) {
        space->shardings &= has;
        strategy.sharding = RK_SHARD_NONE;
    } else if (!(given >> RK_SHARD_ALL & 1U)) {
        strategy.sharding = given ? RK_SHARD_GRADIENTS : RK_SHARD_NONE;
    }
    space->hybrid =
        space->hybrid && rk_framework_replicates(inputs->software.framework, inputs->software.year);
    return check_year(inputs, &strategy, err);
}

rk_status rk_request_space(const rk_request *request, const rk_inputs *inputs, rk_plan_space *space,
                           rk_error *err)
{
    const rk_request *r = request;
    const rk_status status = check_space(r, &inputs->model, err);
    if (status) {
        return status;
    }
    *space =
        rk_plan_space_defaults(&inputs->model, &inputs->system, r->accelerators, r->global_batch);
    space->framework = inputs->software.framework;
    space->convention = inputs->software.convention;
    apply_base(r, inputs, &space->base);
    space->base.layout = r->layout;
    space->base.layout_count = r->layout_count;
    restrict_choices(&r->tp, &space->tp);
    restrict_choices(&r->cp, &space->cp);
    restrict_choices(&r->pp, &space->pp);
    restrict_choices(&r->vp, &space->vp);
    restrict_choices(&r->ep, &space->ep);
    restrict_choices(&r->etp, &space->etp);
    restrict_choices(&r->micro_batch, &space->micro_batch);
    space->schedules = r->schedules ? r->schedules : space->schedules;
    space->recomputes = wanted_recomputes(r) ? wanted_recomputes(r) : space->recomputes;
    space->modules = modules_of(r->modules);
    space->recompute_layers = r->recompute_layers;
    space->dp = r->dp;
    space->no_sp = r->no_sp;
    space->base.tp_overlap = space->base.tp_overlap && (r->overlaps || !r->no_sp);
    space->orders = orders_of(r) ? orders_of(r) : space->orders;
    space->cp_kinds = r->cp_kinds ? r->cp_kinds : space->cp_kinds;
    if (rk_optimizers[r->optimizer].orthogonalizes) {
        space->shardings = 1U << sharding_of(r, RK_SHARD_NONE);
    }
    if (r->distributed_optimizer) {
        space->shardings = 1U << RK_SHARD_OPTIMIZER;
    }
    for (int i = 0; i < r->zero.count; i++) {
        space->shardings = (i ? space->shardings : 0) | 1U << r->zero.values[i];
    }
    if (rk_framework_of(space->framework)->all) {
        rk_plan_recipes_of_all(&inputs->model, given_gradient(r), given_moments(r), space);
    }
    space->offloads = r->offloads >> 1; /* asked for only: what it costs the host is not seen */
    return limit_to_year(inputs, space, err);
}
