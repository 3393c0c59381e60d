/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that rules about measured runs may set. */
#include "evidence/run_facts.h"

#include "base/error.h"
#include "base/units.h"
#include "strategy/optimizer.h"
#include "strategy/strategy_fields.h"

#include <assert.h>
#include <string.h>

const rk_run_facts rk_run_facts_default = {
    .memory = RK_RUN_RESERVED,
    .norm = RK_NORM_RMS,
    .gated = true,
    .dense_layers = -1,
    .mtp = true,
    .known = {.precision = RK_BF16,
              .lora_modules = RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN,
              .states = {2, 4, 12, 2, 4}},
};

static const char *const routing_names[] = {"uniform", "in_turn", "natural", NULL};

/* Modules of selective recompute in the order of their bits. */
static const char *const module_names[] = {
    "core_attention", "norm", "activation", "mla_up", "mlp", "moe",
    "operators",      "mhc",  "attn_proj",  NULL};

/* A list of names as bits in their order. */
static rk_status read_bits(const json_t *value, const char *path, const char *const *names,
                           void *out, rk_error *err)
{
    unsigned modules = 0;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    if (!json_is_array(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of modules, found %s",
                          rk_json_describe(value, found));
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const rk_field field = {.name = "module", .type = RK_FIELD_ENUM, .names = names};
        unsigned module;
        (void)rk_json_path_element(path, i, element);
        rk_status status = rk_field_read(json_array_get(value, i), element, &field, &module, err);
        if (status) {
            return status;
        }
        modules |= 1u << module;
    }
    memcpy(out, &modules, sizeof(modules));
    return RK_OK;
}

static rk_status read_modules(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_bits(value, path, module_names, out, err);
}

static const char *const offload_names[] = {RK_OFFLOAD_NAMES, NULL};

static rk_status read_offloads(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_bits(value, path, offload_names, out, err);
}

static rk_status read_adapted(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_bits(value, path, rk_adapted_names, out, err);
}

static const char *const graph_names[] = {RK_GRAPH_NAMES, NULL};

static rk_status read_graph_modules(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_bits(value, path, graph_names, out, err);
}

/* "none", then rk_flop_convention in order. */
static const char *const rate_names[] = {
    "none", "megatron", "full", "palm", "torchtitan", "nanotron", "megatron-bridge", NULL};
/* "printed", then rk_schedule_kind in order. */
static const char *const schedule_names[] = {"printed", RK_SCHEDULE_LIST(RK_SCHEDULE_NAME) NULL};
static const char *const memory_names[] = {"allocated", "reserved", "total", NULL};
static const char *const norm_names[] = {"rms", "layer", "layer_no_bias", "layer_no_weight", NULL};
static const char *const qk_norm_names[] = {"none", "head", "full", "head_bias", NULL};
static const char *const cp_names[] = {"ring", "all_gather", "ulysses", NULL};
/* rk_attention_kernel in order. */
static const char *const kernel_names[] = {
    "usual", "cudnn", "cudnn_fp8", "cudnn_mxfp8", "flash_attention_2", "flash_attention_3",
    "aiter", NULL};
static const char *const cross_entropy_names[] = {"usual", RK_CROSS_ENTROPY_NAMES, NULL};
/* "as_weights", then rk_frozen_type in order. */
static const char *const frozen_names[] = {"as_weights", RK_FROZEN_NAMES, NULL};
static const char *const sharding_names[] = {"none", "optimizer", "gradients", "all", NULL};

#define TEXT(key, place, text)                                                                     \
    RK_TEXT_FIELD(key, rk_run_facts, place, .optional = true, .blank = true, .help = text)
#define LIST(key, place, reader, text)                                                             \
    RK_FIELD(key, CUSTOM, offsetof(rk_run_facts, place), .optional = true, .read = reader,         \
             .help = text)
#define NUMBER(key, place, most, unit_, text)                                                      \
    RK_FIELD(key, NUMBER, offsetof(rk_run_facts, place), .optional = true, .max = most,            \
             .unit = unit_, .help = text)
#define INT(key, place, text)                                                                      \
    RK_FIELD(key, INT, offsetof(rk_run_facts, place), .optional = true, .max = 1e6, .help = text)
#define FLAG(key, place, text)                                                                     \
    RK_FIELD(key, BOOL, offsetof(rk_run_facts, place), .optional = true, .help = text)
#define NAMES(key, place, list, text)                                                              \
    RK_FIELD(key, ENUM, offsetof(rk_run_facts, place), .optional = true, .names = list,            \
             .help = text)

const rk_field rk_run_fact_fields[] = {
    TEXT("unsupported", unsupported, "why such rows cannot be predicted"),
    TEXT("stack", stack, "a name of data/stacks"),
    TEXT("system", system, "a name of data/systems or data/accelerators"),
    TEXT("architecture", model, "a name of data/models, for what the row does not print"),
    TEXT("group", group, "name under which errors are reported"),
    NUMBER("network_GBps", network_bandwidth, 1e5, "GB/s",
           "bandwidth of the outermost tier, per accelerator and direction"),
    NUMBER("power_W", power, 1e5, "W", "limit of the board"),
    NUMBER("memory_GBps", memory_bandwidth, 1e6, "GB/s", "bandwidth of device memory"),
    NUMBER("memory_GiB", memory_usable, 1e5, "GiB", "memory that a process can allocate"),
    NAMES("memory_kind", memory, memory_names, "what peak_mem_gib is"),
    FLAG("memory_decimal", decimal_memory, "peak_mem_gib is in GB of 10^9 bytes"),
    FLAG("memory_of_first_stage", first_stage, "peak_mem_gib is that of pipeline rank 0"),
    FLAG("untimed", untimed, "the time is not compared, only memory"),
    FLAG("out_of_memory", out_of_memory, "the run ended so"),
    NAMES("flop_convention", rate, rate_names,
          "how tflops_per_gpu or mfu count, where no time is printed"),
    INT("vocab", vocab, "entries of the vocabulary"),
    NAMES("flops", flops, rk_flop_convention_names, "how the source counts FLOPs of a step"),
    NAMES("norm", norm, norm_names, "kind of norm"),
    FLAG("gated", gated, "feed-forward layers have three matrices"),
    FLAG("biases", biases, "linears have biases"),
    FLAG("tied", tied, "the head shares the embedding"),
    FLAG("learned_positions", learned_positions, "a table of positions"),
    FLAG("parallel_block", parallel_block,
         "attention and feed-forward layer side by side, after one norm"),
    NAMES("qk_norm", qk_norm, qk_norm_names, "norm of queries and keys"),
    INT("dense_layers", dense_layers, "leading layers without experts"),
    FLAG("hybrid", hybrid, "has layers that are not of attention; needs a model of the catalogue"),
    FLAG("mtp", mtp, "multi-token prediction as the catalogue has it"),
    INT("mtp_layers", mtp_layers, "modules of multi-token prediction that train; 0: as mtp says"),
    INT("mbs", known.micro_batch, "sequences"),
    INT("vpp", known.vp, "chunks of a pipeline rank"),
    FLAG("layer_chunks", known.layer_chunks,
         "chunks are of one layer where the row does not state them"),
    NAMES("schedule", known.schedule, schedule_names, "of the pipeline; default: as vpp says"),
    INT("slice", known.slice,
        "accelerators of a slice, within which states are sharded where all are; 0: all"),
    INT("replicas", known.replicas, "copies of the sharded states (HSDP); 0: one"),
    INT("ep", known.ep, "expert parallelism"),
    INT("etp", known.etp, "tensor parallelism of experts; 0: none"),
    FLAG("no_accumulation", known.no_accumulation, "a step is one microbatch, whatever mbs says"),
    FLAG("seq_parallel", known.sp, "sequence parallelism"),
    NAMES("cp_kind", known.cp_kind, cp_names, "kind of context parallelism"),
    NAMES("rank_order", known.order, rk_rank_order_names, "order of ranks, the fastest first"),
    NAMES("sharding", known.sharding, sharding_names, "of states over data-parallel ranks"),
    FLAG("keeps_gathered", known.keeps_gathered,
         "with a pipeline, sharded parameters are gathered once a step and gradients reduced once"),
    FLAG("stage_microbatches", known.stage_microbatches,
         "a pipeline has as many microbatches as ranks where mbs is empty"),
    INT("shard_ranks", known.shard_ranks, "ranks of a group that shards; 0: all"),
    NAMES("recompute", known.recompute, rk_recompute_kind_names, "kind of recompute"),
    LIST("recompute_modules", known.modules, read_modules,
         "recomputed modules, joined by +: core_attention, norm, activation, mla_up, mlp, moe, "
         "operators, mhc, attn_proj"),
    INT("recompute_every", known.recompute_every,
        "with full recompute, one layer in so many is checkpointed; 0: all"),
    NAMES("precision", known.precision, rk_precision_names, "of the linears"),
    NAMES("fp8_recipe", known.fp8_recipe, rk_fp8_recipe_names, "how fp8 is scaled"),
    FLAG("low_weights", known.low_weights, "weights of low-precision linears are kept in it alone"),
    FLAG("low_activations", known.low_activations, "inputs of gated activations are kept in fp8"),
    FLAG("flash_attention", known.flash_attention, "attention does not write its scores"),
    NAMES("attention_kernel", known.kernel, kernel_names,
          "of flash attention, where it is not the stack's in 16 bits"),
    FLAG("tp_overlap", known.tp_overlap,
         "tensor-parallel traffic beside matrix products, where there is sequence parallelism"),
    FLAG("grad_overlap", known.grad_overlap, "gradients are reduced beside the backward pass"),
    FLAG("param_overlap", known.param_overlap, "parameters are gathered beside the forward pass"),
    FLAG("moe_overlap", known.moe_overlap, "all-to-all beside the compute of another microbatch"),
    FLAG("offload_activations", known.offload_activations,
         "activations that are kept go to the host"),
    INT("offload_layers", known.offload_layers, "layers whose activations are offloaded; 0: all"),
    FLAG("graph_capture", known.graph_capture, "CUDA graphs of layers"),
    LIST("graph_modules", known.graph_modules, read_graph_modules,
         "of graph_capture, modules that graphs hold, joined by +: attn, mamba, mlp, moe, "
         "moe_router, moe_preprocess"),
    FLAG("graph_step", known.graph_step, "a CUDA graph of the step"),
    FLAG("split_by_weight", known.split_by_weight,
         "stages take layers until their share of the weights, head included"),
    FLAG("short_last_stage", known.short_last_stage, "the last stage has fewer layers"),
    INT("lora_rank", known.lora_rank, "rank of adapters; 0: all weights learn"),
    LIST("lora_modules", known.lora_modules, read_adapted,
         "modules with adapters, joined by +: attention, mlp"),
    NAMES("routing", routing, routing_names,
          "in_turn: a benchmark's gate gives tokens consecutive experts, most of them on one rank; "
          "natural: the router of a model in training decides"),
    NUMBER("imbalance", known.imbalance, 1000, NULL,
           "tokens on the busiest expert rank over the mean; 0: as routing says"),
    NUMBER("capacity_factor", known.capacity_factor, 100, NULL,
           "capacity factor of experts; 0: dropless"),
    NUMBER("weight_bytes", known.states.weight, 16, "bytes", "state kept per parameter"),
    NUMBER("gradient_bytes", known.states.gradient, 16, "bytes", "state kept per parameter"),
    NUMBER("optimizer_bytes", known.states.optimizer, 32, "bytes", "state kept per parameter"),
    NUMBER("gather_bytes", known.states.gather, 16, "bytes", "sent per gathered parameter"),
    NUMBER("reduce_bytes", known.states.reduce, 16, "bytes", "sent per reduced gradient"),
    NUMBER("bucket_bytes", known.bucket_bytes, 16, "bytes",
           "buckets per parameter, with data parallelism"),
    NAMES("optimizer", known.optimizer, rk_optimizer_names,
          "its kind; its states are those of optimizer_bytes"),
    FLAG("foreach_update", known.foreach_update,
         "the optimizer steps all tensors together, with temporaries as large as the weights"),
    FLAG("step_in_backward", known.step_in_backward,
         "the optimizer steps as soon as a gradient is there, and frees it"),
    FLAG("expandable_segments", known.expandable_segments,
         "PyTorch's allocator extends segments, and leaves fewer fragments"),
    LIST("offload", known.offloads, read_offloads,
         "what is on the host, joined by +: optimizer, activations, weights, gradients; of these "
         "on disks: nvme-optimizer, nvme-weights"),
    NUMBER("offload_share", known.offload_share, 1, "share",
           "of the optimizer that is on the host; 0: all"),
    NAMES("frozen_type", known.frozen_type, frozen_names,
          "of the frozen weights of linears, with adapters"),
    FLAG("wide_residual", known.wide_residual,
         "hidden states, norms, embedding and head in fp32 beside quantised weights"),
    NUMBER("adapter_bytes", known.adapter_bytes, 16, "bytes",
           "weight of an adapter, per parameter; 0: as the frozen ones"),
    NAMES("cross_entropy", known.cross_entropy, cross_entropy_names,
          "how the loss is computed: full (whole logits in fp32), fused with the head, chunked; "
          "usual: as the stack"),
    NUMBER("logit_bytes", known.logit_bytes, 64, "bytes",
           "held per logit where logits are whole; 0: those of cross_entropy"),
    INT("loss_chunk", known.loss_chunk,
        "tokens of a chunk of the loss; 0: an eighth of the microbatch"),
    INT("fsdp_version", fsdp_version, "of PyTorch: 1 or 2; 0: not stated"),
    FLAG("adapts_embeddings", known.adapts_ends,
         "copies of embedding and output layer learn beside adapters"),
    FLAG("varied_lengths", padded_batches, "batches have other lengths every time: no packing"),
    NUMBER("sub_group_params", known.sub_group_params, 1e13, "parameters",
           "that the optimizer of ZeRO-3 steps at a time; 0: the stack's"),
};
const size_t rk_run_fact_count = COUNT(rk_run_fact_fields);

size_t rk_run_fact_of(const char *name)
{
    size_t fact = 0;
    while (fact < rk_run_fact_count && strcmp(rk_run_fact_fields[fact].name, name) != 0) {
        fact++;
    }
    return fact;
}

void rk_run_machine_of(const rk_run_facts *facts, rk_run_machine *machine)
{
    machine->network_bandwidth = 1e9 * facts->network_bandwidth;
    machine->power = facts->power;
    machine->memory_bandwidth = 1e9 * facts->memory_bandwidth;
    machine->memory_usable = GIB * facts->memory_usable;
}

rk_run_column rk_run_fact_column(size_t index)
{
    assert(index < rk_run_fact_count);
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        if (strcmp(rk_run_column_names[column], rk_run_fact_fields[index].name) == 0) {
            return (rk_run_column)column;
        }
    }
    return RK_RUN_COLUMN_COUNT;
}
