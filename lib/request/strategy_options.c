/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a strategy, which most commands share. */
#include "request/option_values.h"

#define DEGREE_MAX (INT64_C(1) << 30)
#define MEMORY_MAX 1048576 /* GiB */

#define PLACE(member) offsetof(rk_request, member)

/* Entries of the table; what follows the help are further members, such as .common. */
#define DEGREES(name_, alias_, member, ...)                                                        \
    RK_OPTION(name_, COUNTS, PLACE(member), .aliases = {alias_}, .min = 1, .max = DEGREE_MAX,      \
              .value = "N", .help = __VA_ARGS__)
#define NUMBER(name_, alias_, member, ...)                                                         \
    RK_OPTION(name_, COUNT, PLACE(member), .aliases = {alias_}, .min = 1, .max = DEGREE_MAX,       \
              .value = "N", .help = __VA_ARGS__)
#define CHOICE(name_, member, names, ...)                                                          \
    RK_OPTION(name_, CHOICE, PLACE(member), .choices = names, .value = "NAME", .help = __VA_ARGS__)
#define SET(name_, alias_, member, names, ...)                                                     \
    RK_OPTION(name_, SET, PLACE(member), .aliases = {alias_}, .choices = names,                    \
              .value = "NAME,...", .help = __VA_ARGS__)
#define FLAG(name_, alias_, member, ...)                                                           \
    RK_OPTION(name_, FLAG, PLACE(member), .aliases = {alias_}, .help = __VA_ARGS__)
#define ABOVE(name_, alias_, member, max_, ...)                                                    \
    RK_OPTION(name_, REAL, PLACE(member), .aliases = {alias_}, .above = true, .max = max_,         \
              .value = "X", .help = __VA_ARGS__)
#define REAL(name_, alias_, member, min_, max_, ...)                                               \
    RK_OPTION(name_, REAL, PLACE(member), .aliases = {alias_}, .min = min_, .max = max_,           \
              .value = "X", .help = __VA_ARGS__)

const rk_option rk_strategy_options[RK_STRATEGY_OPTION_COUNT] = {
    RK_OPTION(
        "model", TEXT, PLACE(model), .required = true, .value = "NAME|FILE", .catalogue = "models",
        .word = RK_WORD_MODEL, .group = "Model and machine", .common = true,
        .help = "model: a name ('reckon list models'), a document, or a Hugging Face config.json"),
    RK_OPTION("system", TEXT, PLACE(system), .required = true, .value = "NAME|FILE",
              .catalogue = "systems", .word = RK_WORD_SYSTEM, .common = true,
              .help = "machine: a name ('reckon list systems'), an accelerator, or a document"),
    RK_OPTION(
        "from", TEXT, PLACE(from), .aliases = {"launch"}, .value = "FILE", .word = RK_WORD_LAUNCH,
        .common = true,
        .help = "launch to take the job from: script, YAML, TOML or JSON; - reads standard input"),
    RK_OPTION("reader", TEXT, PLACE(reader), .value = "NAME",
              .help = "framework that the launch of --from is written for; default: recognised"),
    RK_OPTION("accelerators", COUNT, PLACE(accelerators), .aliases = {"gpus", "processors"},
              .letter = 'p', .min = 1, .max = DEGREE_MAX, .value = "N", .word = RK_WORD_COUNT,
              .common = true, .help = "number of accelerators"),
    RK_OPTION("nodes", COUNT, PLACE(nodes), .aliases = {"nnodes", "num-nodes"}, .min = 1,
              .max = DEGREE_MAX, .value = "N", .word = RK_WORD_NODES,
              .help = "number of nodes, in place of --accelerators"),
    NUMBER("gpus-per-node", "nproc-per-node", gpus_per_node,
           "accelerators per node, where it is not the usual node of the system"),
    ABOVE("max-memory", NULL, max_memory, MEMORY_MAX,
          "memory limit per accelerator, GiB, or with a unit such as 70GB; default: all of it",
          .gib = true),
    ABOVE("host-memory", NULL, host_memory, MEMORY_MAX,
          "host memory of a node, GiB, or with a unit such as 1TB; default: the system's",
          .gib = true),
    ABOVE("risk", NULL, risk, (int64_t)(100 * RK_RISK_FITS),
          "recommend what runs out of memory with at most this probability, in %; default: 10"),
    CHOICE("framework", framework, rk_framework_names,
           "framework whose constraints and defaults apply; default: the accelerator's usual one",
           .synonyms = rk_framework_synonyms),
    RK_OPTION("stack", TEXT, PLACE(stack), .value = "NAME|FILE", .catalogue = "stacks",
              .help =
                  "training software ('reckon list stacks'); default: the framework's usual one"),
    RK_OPTION(
        "set", TEXT, PLACE(settings), .joins = true, .value = "NAME=VALUE,...",
        .help = "numbers of the system (nvlink.size=72, memory=192GiB, hbm=8TB/s) or of the stack "
                "(traffic.activation_passes=2), or facts of a run (compile=false, power_W=400)"),
    RK_OPTION("global-batch", COUNT, PLACE(global_batch),
              .aliases = {"global-batch-size", "batch", "gbs"}, .letter = 'b', .min = 1,
              .max = DEGREE_MAX, .value = "N", .group = "Batch and sequences", .common = true,
              .help = "sequences per step; default: about 4 M tokens, with adapters a micro-batch "
                      "per accelerator"),
    RK_OPTION("micro-batch", COUNTS, PLACE(micro_batch), .aliases = {"micro-batch-size", "mbs"},
              .min = 1, .max = DEGREE_MAX, .value = "N", .help = "sequences per micro-batch"),
    RK_OPTION("accumulation", COUNT, PLACE(accumulation),
              .aliases = {"gradient-accumulation-steps", "grad-accum"}, .min = 1, .max = DEGREE_MAX,
              .value = "N",
              .help = "micro-batches per step and data-parallel rank, in place of --global-batch"),
    RK_OPTION("seq", COUNT, PLACE(seq), .aliases = {"seq-length", "seq-len", "sequence"}, .min = 1,
              .max = DEGREE_MAX, .binary = true, .value = "N", .common = true,
              .help = "sequence length in tokens, such as 8192 or 8k; default: the model's"),
    NUMBER("document-tokens", NULL, document,
           "document length in tokens; attention stops at its end; default: the sequence length"),
    DEGREES("tp", "tensor-model-parallel-size", tp, "tensor parallelism", .group = "Parallelism",
            .common = true),
    DEGREES("pp", "pipeline-model-parallel-size", pp, "pipeline parallelism", .common = true),
    DEGREES("cp", "context-parallel-size", cp, "context parallelism"),
    DEGREES("ep", "expert-model-parallel-size", ep, "expert parallelism", .common = true),
    DEGREES("etp", "expert-tensor-parallel-size", etp, "tensor parallelism of experts"),
    NUMBER("dp", "data-parallel-size", dp, "data parallelism; default: the remaining accelerators"),
    RK_OPTION("zero", COUNTS, PLACE(zero), .aliases = {"zero-stage"}, .max = RK_SHARD_ALL,
              .value = "0..3", .common = true,
              .help =
                  "ZeRO stage: 1 shards optimizer states, 2 gradients too, 3 weights too (FSDP)"),
    FLAG("fsdp", NULL, fsdp, "same as --zero 3"),
    FLAG("use-distributed-optimizer", NULL, distributed_optimizer, "same as --zero 1"),
    NUMBER("hsdp", "num-distributed-optimizer-instances", replicas,
           "replicas of the shards (HSDP); default: 1"),
    FLAG("sequence-parallel", NULL, sp,
         "use sequence parallelism; default with tensor parallelism"),
    FLAG("no-sp", NULL, no_sp, "use tensor parallelism without sequence parallelism"),
    SET("cp-kind", NULL, cp_kinds, rk_cp_kind_names, "communication of context parallelism"),
    SET("order", "rank-order", orders, rk_order_choices,
        "order of ranks, fastest-varying first; default: tp-cp-dp-pp"),
    FLAG("use-tp-pp-dp-mapping", NULL, pipeline_first, "same as --order tp-cp-pp-dp"),
    SET("schedule", NULL, schedules, rk_schedule_names, "pipeline schedule", .group = "Pipeline"),
    DEGREES("vp", "num-virtual-stages-per-pipeline-rank", vp, "virtual pipeline stages per rank"),
    NUMBER("vp-layers", NULL, vp_layers, "layers per virtual stage, in place of --vp"),
    NUMBER("first-stage-layers", "decoder-first-pipeline-num-layers", first_stage_layers,
           "layers of the first pipeline rank"),
    NUMBER("last-stage-layers", "decoder-last-pipeline-num-layers", last_stage_layers,
           "layers of the last pipeline rank"),
    RK_OPTION("layout", TEXT, PLACE(layout_text), .value = "N,N*TIMES,...",
              .help = "layers of every stage, in the order of the model"),
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
    SET("recompute-modules", NULL, modules, rk_module_choices,
        "modules of selective recomputation"),
    NUMBER("recompute-layers", "recompute-num-layers", recompute_layers,
           "layers per virtual stage that full recomputation covers; default: all"),
    SET("offload", NULL, offloads, rk_offload_choices,
        "offload to host memory, exactly these; auto: search; default: none"),
    ABOVE("offload-share", "optimizer-offload-fraction", offload_share, 1,
          "share of the optimizer that --offload optimizer takes; default: 1"),
    CHOICE("precision", precision, rk_precision_choices,
           "data type of linear layers; default: bf16, or fp16 on hardware without bf16",
           .synonyms = rk_precision_synonyms, .group = "Precision and optimizer", .common = true),
    CHOICE("fp8-recipe", fp8_recipe, rk_fp8_recipe_names, "scaling of fp8; default: tensorwise"),
    FLAG("fp8-param-gather", NULL, low_weights,
         "keep weights of low-precision linear layers in that type only, and gather them in it"),
    FLAG("fp8-activation-input", "activation-func-fp8-input-store", low_activations,
         "keep the inputs of gated activations in fp8"),
    CHOICE("weights", weights, rk_weight_choices,
           "data type in which the optimizer updates weights: bf16 has no copy in fp32, and "
           "gradients and moments in bf16; default: the framework's"),
    CHOICE("gradients", gradients, rk_gradient_choices, "data type of gradient accumulation"),
    CHOICE("optimizer", optimizer, rk_optimizer_choices, "optimizer; default: adamw"),
    CHOICE("moments", moments, rk_moment_choices, "data type of Adam's moments"),
    CHOICE("optimizer-impl", optimizer_impl, rk_update_choices,
           "PyTorch's update: foreach makes temporaries as large as the weights"),
    FLAG("optimizer-in-backward", NULL, step_in_backward,
         "update a weight and free its gradient as soon as backward has made it"),
    FLAG("expandable-segments", NULL, expandable_segments,
         "PyTorch's allocator extends segments (PYTORCH_CUDA_ALLOC_CONF), and leaves fewer "
         "fragments"),
    CHOICE("cross-entropy", cross_entropy, rk_cross_entropy_choices,
           "loss: whole logits in fp32, fused with the output layer, or on chunks of the tokens; "
           "default: the stack's"),
    NUMBER("loss-chunk", NULL, loss_chunk,
           "tokens of a chunk of --cross-entropy chunked; default: an eighth of the micro-batch"),
    CHOICE("attention", attention, rk_attention_choices,
           "attention kernel; default: flash, the stack's", .synonyms = rk_attention_synonyms,
           .group = "Kernels and overlap"),
    SET("overlap", NULL, overlaps, rk_overlap_choices,
        "communication to overlap with compute; default: all but moe"),
    FLAG("side-links", NULL, side_links,
         "split collectives over the side links of the system too, such as a NIC beside NVLink"),
    FLAG("graph-capture", "enable-cuda-graph", graph_capture, "launch kernels as CUDA graphs"),
    SET("graph-modules", "cuda-graph-modules", graph_modules, rk_graph_choices,
        "modules that CUDA graphs hold; default: all that they can"),
    FLAG("graph-step", NULL, graph_step, "capture the whole step in one graph"),
    ABOVE("capacity-factor", "moe-expert-capacity-factor", capacity_factor, 1000,
          "expert capacity factor; default: no token is dropped"),
    REAL("imbalance", NULL, imbalance, 1, 1000,
         "expert load imbalance: tokens on the busiest rank over the mean; default: 1"),
    NUMBER("lora-rank", "peft-dim", lora_rank, "fine-tune LoRA adapters of this rank",
           .group = "Fine-tuning"),
    FLAG("qlora", NULL, nf4_weights, "keep the frozen linear weights in NF4 (QLoRA)"),
    CHOICE("frozen-weights", frozen_type, rk_frozen_choices,
           "data type of the frozen linear weights; default: 16 bits, with --qlora nf4"),
    SET("lora-modules", NULL, lora_modules, rk_adapted_names,
        "modules with adapters; default: both"),
    CHOICE("mfu-convention", convention, rk_flop_convention_names,
           "FLOP convention; default: the framework's", .group = "Output"),
    FLAG("verbose", NULL, verbose, "the whole answer, not one screen of it", .letter = 'v',
         .common = true),
    FLAG("json", NULL, json, "write JSON", .common = true),
    FLAG("csv", NULL, csv, "write CSV"),
    RK_OPTION("output", TEXT, PLACE(output), .letter = 'o', .writes = true, .value = "FILE",
              .common = true, .help = "write to a file instead of standard output"),
};

rk_request rk_request_defaults(void)
{
    return (rk_request){
        .imbalance = 1,
        .precision = RK_NOT_GIVEN,
        .attention = RK_NOT_GIVEN,
        .optimizer = RK_NOT_GIVEN,
        .framework = RK_NOT_GIVEN,
        .convention = RK_NOT_GIVEN,
        .gradients = RK_NOT_GIVEN,
        .moments = RK_NOT_GIVEN,
        .weights = RK_NOT_GIVEN,
        .cross_entropy = RK_NOT_GIVEN,
        .frozen_type = RK_NOT_GIVEN,
        .optimizer_impl = RK_NOT_GIVEN,
        .output = "-",
        .top = 5,
        .method = RK_NOT_GIVEN,
        .emit = RK_NOT_GIVEN,
        .policy = RK_NOT_GIVEN,
        .fp8_recipe = RK_NOT_GIVEN,
    };
}
