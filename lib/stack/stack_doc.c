/* SPDX-License-Identifier: Apache-2.0 */
/* The table of stack constants with units and ideal values, and the reader of stack documents. */
#include "stack/stack_doc.h"

#include "base/error.h"
#include "base/named.h"
#include "base/units.h"
#include "io/fields.h"

#include <string.h>

/* ---- fields ----------------------------------------------------------------------------- */

#define NUMBER(key, most, unit_, text)                                                             \
    RK_FIELD(#key, NUMBER, offsetof(rk_stack, key), .optional = true, .max = most, .unit = unit_,  \
             .help = text)
/* A rate over another; far from 1 it would be a mistake. */
#define SHARE(key, text)                                                                           \
    RK_FIELD(#key, NUMBER, offsetof(rk_stack, key), .optional = true, .min = 0.05, .max = 2,       \
             .unit = "share", .help = text)
#define PASSES(key, text)  NUMBER(key, 100, "passes", text)
#define BYTES(key, text)   NUMBER(key, 1e4, "bytes", text)
#define KERNELS(key, text) NUMBER(key, 1e5, "launches", text)
#define EXPOSED(key, text) NUMBER(key, 2, "share", text)
#define SECONDS(key, text) NUMBER(key, 100, "s", text)
#define SIZE(key, name_, unit_, text)                                                              \
    RK_FIELD(name_, NUMBER, offsetof(rk_stack, key), .optional = true, .max = 1e6, .unit = unit_,  \
             .help = text)
#define FLAG(key, text)                                                                            \
    RK_FIELD(#key, BOOL, offsetof(rk_stack, key), .optional = true, .help = text)

static const rk_field rate_fields[] = {
    SHARE(gemm_share, "GEMM rate of 16-bit and wider formats over the accelerator's"),
    SHARE(low_gemm_share, "the same of 8- and 4-bit formats; default gemm_share"),
    SHARE(expert_gemm_share, "grouped GEMMs over plain ones"),
    SHARE(attention_share, "flash attention over the accelerator's rate"),
    SHARE(attention_backward_share, "the same in backward; default attention_share"),
    SHARE(other_attention_share,
          "the same both ways on generations that the document does not list; "
          "default attention_share"),
    NUMBER(attention_ramp_tokens, 1e5, "tokens",
           "sequence at which attention reaches half its rate; default: the accelerator's"),
    SHARE(stream_share, "memory-bound operators over the accelerator's rate"),
    SHARE(scan_flop_share, "scans of recurrences, of the peak of the matrix engine"),
    SHARE(scan_stream_share, "scans of recurrences, of the peak of memory bandwidth"),
    SHARE(delta_flop_share, "the same of delta rules and linear attention"),
    SHARE(delta_stream_share, "the same of delta rules and linear attention"),
};

static const rk_field traffic_fields[] = {
    BYTES(norm_forward, "two norms and residual adds of a layer, per hidden element"),
    BYTES(norm_backward, "the same in backward"),
    PASSES(activation_passes, "of the activation between the FFN's linears; 1: fused"),
    PASSES(clamped_passes, "of a clamped activation; default activation_passes"),
    BYTES(dropout_bytes, "bias, dropout and add of a layer, per hidden element and pass"),
    BYTES(score_forward, "attention that is not fused, per score"),
    BYTES(score_backward, "the same in backward"),
    BYTES(bias_bytes, "of the bias of ALiBi, read by fused attention, per score and pass"),
    BYTES(loss_bytes, "loss, per logit, forward and backward"),
    PASSES(cast_passes, "of casts to 8 bits over one kernel per operand"),
    PASSES(mx_cast_passes, "the same with MXFP8; default cast_passes"),
    PASSES(fp4_cast_passes, "the same to 4 bits; default cast_passes"),
    PASSES(unpack_passes, "of dequantising frozen weights; 1: one kernel"),
    PASSES(permute_passes, "of routed tokens; 1: fused"),
    PASSES(qk_passes, "over queries and keys, of their norms and rotations; 1: fused"),
    BYTES(dispatch_bytes, "of an element sent to its expert in forward"),
    BYTES(accumulation_bytes, "of adding gradients, per parameter and microbatch; 0: in GEMMs"),
    BYTES(optimizer_bytes, "of a step, per parameter of the shard"),
    BYTES(foreach_bytes, "more of them where all tensors step together, operator by operator"),
    BYTES(division_bytes,
          "of copying and dividing a gradient that a sharded optimizer reduces; not where weights "
          "are sharded"),
};

static const rk_field host_fields[] = {
    KERNELS(kernels_forward, "launches of a dense layer"),
    KERNELS(kernels_backward, "the same in backward"),
    KERNELS(tp_kernels, "more with tensor parallelism, each way"),
    KERNELS(moe_kernels_forward, "launches of a layer with experts"),
    KERNELS(moe_kernels_backward, "the same in backward"),
    KERNELS(exchange_kernels, "more where an all-to-all without a capacity sorts tokens, each way"),
    KERNELS(expert_kernels, "more per local expert, forward"),
    KERNELS(expert_cast_kernels, "and in 8 and 4 bits besides"),
    NUMBER(expert_backward_launches, 10, "ratio", "of these in backward, over forward"),
    NUMBER(capacity_launches, 1, "share", "of these with a capacity over without"),
    NUMBER(graph_share, 1, "share", "of the launches that remain with graph capture"),
    KERNELS(adapter_kernels, "of an adapter in forward; twice as many in backward"),
    NUMBER(launch_ratio, 10, "ratio", "time of a launch over that of the accelerator"),
    NUMBER(overlap_launches, 10, "ratio", "launches with all-to-all overlapped, over without"),
    SECONDS(router_seconds, "fixed time of routing a microbatch, each way"),
    SECONDS(expert_cast_seconds, "and in 8 and 4 bits besides"),
    FLAG(waits_for_counts, "in every layer the host waits for the tokens that experts receive"),
    FLAG(blocks_launches, "the host waits for a kernel before it launches the next"),
};

static const rk_field communication_fields[] = {
    EXPOSED(tp_forward_exposed, "visible share of tensor-parallel traffic in forward"),
    EXPOSED(tp_backward_exposed, "of gathering output gradients in backward"),
    EXPOSED(tp_reduce_exposed, "of reducing input gradients; default tp_backward_exposed"),
    EXPOSED(tp_overlap_exposed, "the same in all three with tp_overlap"),
    EXPOSED(regather_exposed, "of gathering saved inputs again in backward"),
    EXPOSED(dp_exposed, "of data-parallel traffic that is overlapped"),
    EXPOSED(dp_window, "of the compute of a microbatch under which that hides"),
    EXPOSED(contention, "of hidden traffic that slows the compute above it"),
    EXPOSED(pp_exposed, "of messages between stages with pp_overlap"),
    SECONDS(send_seconds, "of a message between stages, besides the network's"),
    EXPOSED(exchange_cores, "of the cores, which all-to-all takes from the compute beside it"),
    NUMBER(exchange_slowdown, 10, "ratio", "time of all-to-all beside compute, over alone"),
    EXPOSED(dispatch_exposed,
            "of the shorter of sending tokens to domains and spreading them there"),
    SIZE(dispatch_bandwidth, "dispatch_GBps", "GB/s",
         "at which de-duplicating kernels copy tokens; 0: no limit but the network's"),
    NUMBER(norm_rings, 100, "rings",
           "of the tensor group per norm and step: reduce-scatter and gather; 0: one message"),
    NUMBER(norm_rings_whole, 100, "rings", "more where the optimizer is not sharded"),
    SIZE(bucket_bytes, "bucket_MiB", "MiB", "of a message of gradients; 0: all in one"),
    SIZE(gather_bytes, "gather_MiB", "MiB", "of a message of parameters; 0: all in one"),
    SIZE(bucket_params, "bucket_Mparams", "10^6", "parameters of a message of either kind"),
    SIZE(bucket_rank_params, "bucket_rank_Mparams", "10^6",
         "and at least so many for every rank of the group"),
    FLAG(deduplicates, "dispatch sends one copy of a token per domain, in one domain per rank"),
    FLAG(routes_in_turn, "the gate gives token i experts i k to i k + k - 1, as benchmarks do"),
    FLAG(scatters_messages, "messages between stages are split over the tensor group"),
    FLAG(reduces_whole,
         "gradients of a sharded optimizer are all-reduced; not where weights are sharded"),
    FLAG(reduces_late, "gradients of a sharded optimizer are reduced after backward"),
    FLAG(ring_gathers,
         "a ring gathers keys and values of all query heads, passes their gradients in fp32"),
    FLAG(gathers_cast, "tensor ranks cast to tensorwise fp8 before they gather"),
    FLAG(copies_sequence, "what tensor ranks gather and scatter of sequences is copied besides"),
    FLAG(copies_shards, "gathered parameters are copied out of a buffer, gradients into one"),
    FLAG(scatters_last, "pipelines scatter sharded gradients with the last microbatch of a chunk"),
    FLAG(overlaps_chunks,
         "interleaved stages exchange gradients and parameters of a chunk beside other chunks"),
    FLAG(gathers_tensors, "fully sharded weights and gradients pass one by one, not by layers"),
    FLAG(masks_tokens, "with a capacity, products with masks take tokens to experts and back"),
};

static const rk_field step_fields[] = {
    SECONDS(step_seconds, "fixed time of a step"),
    SECONDS(adapter_seconds, "the same where adapters learn alone; default step_seconds"),
    SIZE(host_bandwidth, "host_GBps", "GB/s",
         "of the CPUs of a rank that steps its optimizer on the host; 0: the device does"),
    NUMBER(scale_growth, 1, "share", "relative, per doubling of accelerators beyond 8"),
};

static const rk_field memory_fields[] = {
    FLAG(recompute_stops, "recomputed layers stop with the last tensor that backward needs"),
    FLAG(keeps_gathered, "gathered inputs of linears are kept with sequence parallelism"),
    FLAG(keeps_activation, "a gated activation keeps its intermediate"),
    EXPOSED(gathered_share, "of the gathered inputs kept that live at the peak"),
    SHARE(activation_share, "of the activations by tensor list that live at the peak"),
    BYTES(wgrad_bytes, "buffers of weight gradients of a layer, per parameter"),
    BYTES(logit_bytes, "per logit, kept or made by the loss"),
    BYTES(split_logit_bytes,
          "the same where tensor ranks split the vocabulary; default logit_bytes"),
    BYTES(stale_logit_bytes, "of the microbatch before, per logit, not yet free"),
    NUMBER(gathered_buffers, 100, "tensors", "tensors of a whole sequence with tensor parallelism"),
    NUMBER(late_buffers, 100, "tensors",
           "more of them that wait for the device, where no stage holds the host back"),
    NUMBER(stage_tensors, 100, "tensors",
           "hidden states that the pipeline keeps beside activations, per microbatch in flight"),
    BYTES(optimizer_temporary, "per parameter while the optimizer steps"),
    NUMBER(frozen_inputs, 8, "tensors",
           "gradients of its input that the backward pass keeps of a sharded layer of frozen "
           "weights"),
    NUMBER(kept_outputs, 8, "tensors",
           "times that outputs of experts are kept: as weighted by the router; as added up one by "
           "one"),
    NUMBER(quantised_inputs, 8, "tensors",
           "times that the input of a linear in NF4 is kept, though backward does not read it"),
    FLAG(adapter_dropout,
         "adapters read their inputs through dropout: a copy and a mask of bytes of each"),
    FLAG(sums_whole, "sharded gradients are scattered with the last microbatch, whole before"),
    FLAG(tiled_mlp,
         "dense networks take as many tokens at a time as the hidden size, and run again"),
    FLAG(wide_softmax, "attention that is not fused keeps its softmax in fp32, and a copy"),
    FLAG(wide_norms, "norms run operator by operator, and keep their input in fp32"),
    FLAG(autocasts,
         "beside whole weights in fp32 hidden states are in fp32, and linears keep casts"),
    NUMBER(layer_tensors, 64, "tensors", "more hidden states in the backward of a layer"),
    NUMBER(inner_tensors, 8, "tensors", "more gradients inside a gated network in its backward"),
    BYTES(step_bytes, "per parameter of a shard while the optimizer steps its group"),
    NUMBER(step_params, 1e13, "parameters", "of such a group with ZeRO-3; 0: the whole shard"),
    NUMBER(live_params, 1e13, "parameters", "that ZeRO-3 leaves gathered; 0: those of two layers"),
    SIZE(bucket_memory, "bucket_GiB", "GiB", "buffers in which sharded gradients are reduced"),
    NUMBER(host_share, 8, "share", "more pinned host memory than the states on the host need"),
    NUMBER(stale_logits, 8, "sets", "of logits that stay cached from batches of other lengths"),
    FLAG(whole_experts, "sharding leaves experts whole on the ranks of an expert group"),
    FLAG(separate_blocks, "blocks cached for the loss serve no layer, and the other way round"),
    FLAG(keeps_root,
         "sharded embedding and head stay gathered for both passes, and one layer at a time"),
    FLAG(frees_gradients, "gradients are freed when the optimizer has used them"),
    FLAG(stream_pools, "collectives of shards keep blocks on streams of their own"),
    FLAG(drops_outputs,
         "recomputation by operators does not keep outputs that backward does not read"),
    FLAG(transposes_again,
         "transposed copies of 8-bit weights are made in every backward pass, not kept"),
    SECONDS(thrash_seconds,
            "per GiB beyond memory and microbatch, of giving back and taking again"),
    SIZE(context_bytes, "context_GiB", "GiB", "context and communicators"),
    SIZE(communicator_bytes, "communicator_GiB", "GiB", "besides, with more than one rank"),
    SIZE(workspace_bytes, "workspace_GiB", "GiB", "of libraries, inside the allocator"),
    NUMBER(fragmentation, 1, "share", "reserved over allocated, less 1"),
    NUMBER(stage_fragmentation, 1, "share", "the same of activations of pipeline stages"),
};

/* ---- groups ------------------------------------------------------------------------------- */

#define GROUP(key, table)                                                                          \
    RK_FIELD(key, GROUP, 0, .group = table, .group_count = COUNT(table),                           \
             .help = "a group of numbers")

static rk_status read_generations(const json_t *value, const char *path, void *out, rk_error *err)
{
    static const rk_field one = {
        .name = "generation", .type = RK_FIELD_ENUM, .names = rk_generation_names};
    rk_stack *stack = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    if (!json_is_array(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of generations, found %s",
                          rk_json_describe(value, found));
    }
    stack->generations = 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        unsigned generation;
        (void)rk_json_path_element(path, i, element);
        const rk_status status =
            rk_field_read(json_array_get(value, i), element, &one, &generation, err);
        if (status) {
            return status;
        }
        stack->generations |= 1u << generation;
    }
    return RK_OK;
}

static rk_status read_kernel(const json_t *value, const char *path, void *out, rk_error *err)
{
    static const rk_field one = {
        .name = "attention_kernel", .type = RK_FIELD_ENUM, .names = rk_flash_library_names};
    unsigned library = 0;
    const rk_status status = rk_field_read(value, path, &one, &library, err);
    *(rk_attention_kernel *)out = (rk_attention_kernel)(RK_KERNEL_CUDNN + (int)library);
    return status;
}

static const rk_field groups[] = {
    RK_TEXT_FIELD("family", rk_stack, family, .optional = true, .blank = true,
                  .help = "what the software is called over the years"),
    RK_TEXT_FIELD("base", rk_stack, base, .optional = true, .blank = true,
                  .help = "family that it builds on"),
    RK_FIELD("year", INT, offsetof(rk_stack, year), .optional = true, .min = 2015, .max = 2100,
             .help = "of its releases"),
    RK_FIELD("generations", CUSTOM, 0, .optional = true, .read = read_generations,
             .help = "of accelerators that it was fitted on"),
    RK_FIELD("general", BOOL, offsetof(rk_stack, general), .optional = true,
             .help = "runs models and loops that users bring, without tuned recipes"),
    RK_FIELD("attention_kernel", CUSTOM, offsetof(rk_stack, attention_kernel), .optional = true,
             .read = read_kernel, .help = "library that flash attention is of"),
    GROUP("rates", rate_fields),
    GROUP("traffic", traffic_fields),
    GROUP("host", host_fields),
    GROUP("communication", communication_fields),
    GROUP("step", step_fields),
    GROUP("memory", memory_fields),
};

static const struct {
    const char *name;
    const rk_field *fields;
    size_t count;
} tables[] = {
    {"rates", rate_fields, COUNT(rate_fields)},
    {"traffic", traffic_fields, COUNT(traffic_fields)},
    {"host", host_fields, COUNT(host_fields)},
    {"communication", communication_fields, COUNT(communication_fields)},
    {"step", step_fields, COUNT(step_fields)},
    {"memory", memory_fields, COUNT(memory_fields)},
};

const rk_field *rk_stack_field_at(size_t index, const char **group)
{
    for (size_t i = 0; i < COUNT(tables); i++) {
        if (index < tables[i].count) {
            *group = tables[i].name;
            return &tables[i].fields[index];
        }
        index -= tables[i].count;
    }
    return NULL;
}

const rk_field *rk_stack_field(const char *key)
{
    const rk_field *field;
    const char *group;
    for (size_t i = 0; (field = rk_stack_field_at(i, &group)) != NULL; i++) {
        const size_t length = strlen(group);
        if (strncmp(key, group, length) == 0 && key[length] == '.' &&
            strcmp(key + length + 1, field->name) == 0) {
            return field;
        }
    }
    return NULL;
}

double rk_stack_unit(const rk_field *field)
{
    static const rk_named_real units[] = {
        {"10^6", 1e6}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"GB/s", 1e9}};
    return field->unit ? rk_named_real_of(units, COUNT(units), field->unit, 1) : 1;
}

/* From the units of the document to parameters and bytes. */
static void scale_to_units(rk_stack *stack)
{
    const rk_field *field;
    const char *group;
    for (size_t i = 0; (field = rk_stack_field_at(i, &group)) != NULL; i++) {
        if (rk_stack_unit(field) != 1) {
            *(double *)(void *)((char *)stack + field->offset) *= rk_stack_unit(field);
        }
    }
}

/* A number that was not given equals another key's. */
enum { NOT_GIVEN = -1 };

static void follow(double *value, double other)
{
    *value = *value < 0 ? other : *value;
}

rk_status rk_stack_from_json(const json_t *object, rk_stack *stack, rk_error *err)
{
    *stack = (rk_stack){
        .gemm_share = 1,
        .low_gemm_share = NOT_GIVEN,
        .expert_gemm_share = 1,
        .attention_share = 1,
        /* docs/method/layers.md, Recurrences, says where these are from. */
        .scan_flop_share = 0.1,
        .scan_stream_share = 0.4,
        .delta_flop_share = 0.05,
        .delta_stream_share = 0.3,
        .attention_backward_share = NOT_GIVEN,
        .split_logit_bytes = NOT_GIVEN,
        .stream_share = 1,
        .norm_forward = 16,
        .norm_backward = 20,
        .activation_passes = 1,
        .clamped_passes = NOT_GIVEN,
        .score_forward = 13,
        .score_backward = 19,
        .loss_bytes = 8,
        .cast_passes = 1,
        .mx_cast_passes = NOT_GIVEN,
        .fp4_cast_passes = NOT_GIVEN,
        .unpack_passes = 1,
        .permute_passes = 1,
        .qk_passes = 1,
        .dispatch_bytes = 2,
        .optimizer_bytes = 38,
        .graph_share = 1,
        .expert_backward_launches = 1,
        .capacity_launches = 1,
        .adapter_kernels = 4, /* two products, a scaling and a sum */
        .launch_ratio = 1,
        .overlap_launches = 1,
        .tp_forward_exposed = 1,
        .tp_backward_exposed = 1,
        .tp_reduce_exposed = NOT_GIVEN,
        .tp_overlap_exposed = 1,
        .regather_exposed = 1,
        .dp_window = 1,
        .adapter_seconds = NOT_GIVEN,
        .pp_exposed = 1,
        .exchange_cores = 0.15,
        .exchange_slowdown = 1.45,
        .gathered_share = 1,
        .activation_share = 1,
        .logit_bytes = 2,
    };
    const rk_status status =
        rk_fields_read(object, "", groups, COUNT(groups), RK_UNKNOWN_REFUSE, stack, err);
    follow(&stack->low_gemm_share, stack->gemm_share);
    follow(&stack->split_logit_bytes, stack->logit_bytes);
    follow(&stack->attention_backward_share, stack->attention_share);
    follow(&stack->mx_cast_passes, stack->cast_passes);
    follow(&stack->fp4_cast_passes, stack->cast_passes);
    follow(&stack->clamped_passes, stack->activation_passes);
    follow(&stack->adapter_seconds, stack->step_seconds);
    follow(&stack->tp_reduce_exposed, stack->tp_backward_exposed);
    scale_to_units(stack);
    return status;
}

/* ---- files and catalogue ------------------------------------------------------------------ */

rk_status rk_stack_load(const char *name, rk_stack *stack, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, "stacks", &doc, err);
    if (status) {
        return status;
    }
    status = rk_stack_from_json(doc.root, stack, err);
    if (status) {
        rk_error_set_file(err, doc.name);
    } else {
        const char *given = json_string_value(json_object_get(doc.root, "name"));
        (void)rk_json_printable(given ? given : rk_json_title(name), stack->name,
                                sizeof(stack->name));
    }
    rk_json_clear(&doc);
    return status;
}
