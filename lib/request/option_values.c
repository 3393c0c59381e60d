/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of option names with their values: orders, precisions, optimizers, kernels, offloads. */
#include "request/option_values.h"

#include "base/units.h"
#include "strategy/optimizer.h"

const char *const rk_precision_choices[] = {
    "bf16", "fp16", "fp8", "fp4", "fp32", "tf32", "mxfp8", "nvfp4", "int8", NULL,
};
static const rk_precision precisions[] = {RK_BF16, RK_FP16, RK_FP8, RK_FP4, RK_FP32,
                                          RK_TF32, RK_FP8,  RK_FP4, RK_INT8};
enum { PRECISION_MXFP8 = 6 };

const char *const rk_attention_choices[] = {RK_ATTENTION_NAMES, NULL};
enum { ATTENTION_FLASH, ATTENTION_UNFUSED }; /* then kernels from RK_KERNEL_CUDNN on */

const char *const rk_weight_choices[] = {"fp32", "bf16", NULL};
static const double weight_bytes[] = {4, 2};

const char *const rk_frozen_choices[] = {RK_FROZEN_NAMES, NULL};
const char *const rk_cross_entropy_choices[] = {RK_CROSS_ENTROPY_NAMES, NULL};

const char *const rk_update_choices[] = {"foreach", "fused", NULL};
enum { UPDATE_FOREACH };

const char *const rk_gradient_choices[] = {"fp32", "bf16", NULL};
static const double gradient_bytes[] = {[RK_GRADIENTS_32] = 4, [RK_GRADIENTS_16] = 2};

const char *const rk_moment_choices[] = {"fp32", "bf16", "fp8", NULL};
static const double moment_bytes[] = {8, 4, 2}; /* of both moments */

/* Megatron-LM's adam decouples weight decay by default: it is AdamW. */
const char *const rk_optimizer_choices[] = {RK_OPTIMIZER_NAMES, "adam", NULL};

const char *const rk_offload_choices[] = {"none", RK_OFFLOAD_NAMES, "auto", NULL};
enum { OFFLOADS = sizeof(rk_offload_choices) / sizeof(rk_offload_choices[0]) - 3 };

const char *const rk_overlap_choices[] = {"none", RK_OVERLAP_NAMES, NULL};

/* Our names in the order of the bits, then Megatron-LM's names of some bits. */
const char *const rk_module_choices[] = {
    RK_MODULE_NAMES, "layernorm", "moe_act", "mla_up_proj", NULL,
};
enum { MODULES = sizeof(rk_module_choices) / sizeof(rk_module_choices[0]) - 4 }; /* of ours */

const char *const rk_graph_choices[] = {RK_GRAPH_NAMES, NULL};

unsigned rk_request_modules(const rk_request *r)
{
    const unsigned theirs = r->modules >> MODULES;
    return (r->modules & ((1U << MODULES) - 1)) | (theirs & 1 ? RK_MODULE_NORM : 0U) |
           (theirs & 2 ? RK_MODULE_ACTIVATION : 0U) | (theirs & 4 ? RK_MODULE_MLA_UP : 0U);
}

/* Likewise: Megatron-LM also names the place of experts, which is the place of cp. */
const char *const rk_order_choices[] = {RK_RANK_ORDER_NAMES, "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp",
                                        NULL};

unsigned rk_request_orders(const rk_request *r)
{
    const unsigned given = (r->orders | r->orders >> RK_ORDER_COUNT) & ((1U << RK_ORDER_COUNT) - 1);
    return given | (r->pipeline_first ? 1U << RK_ORDER_PIPELINE_DATA : 0U);
}

rk_precision rk_request_precision(const rk_request *r)
{
    return precisions[r->precision < 0 ? 0 : r->precision];
}

bool rk_request_is_mxfp8(const rk_request *r)
{
    return r->precision == PRECISION_MXFP8;
}

bool rk_request_is_flash(const rk_request *r)
{
    return r->attention != ATTENTION_UNFUSED;
}

rk_optimizer rk_request_optimizer(const rk_request *r)
{
    const bool adamw = r->optimizer < 0 || r->optimizer == RK_OPTIMIZER_COUNT; /* "adam" */
    return adamw ? RK_OPTIMIZER_ADAMW : (rk_optimizer)r->optimizer;
}

rk_attention_kernel rk_request_kernel(const rk_request *r)
{
    return r->attention > ATTENTION_UNFUSED
               ? (rk_attention_kernel)(r->attention - ATTENTION_UNFUSED)
               : RK_KERNEL_OF_STACK;
}

/* ---- other words for them: of PyTorch, Transformers, and people ------------------------------ */

const rk_named_text rk_precision_synonyms[] = {
    {"bfloat16", "bf16"}, {"torch.bfloat16", "bf16"}, {"bf16-mixed", "bf16"}, {"float16", "fp16"},
    {"half", "fp16"},     {"torch.float16", "fp16"},  {"fp16-mixed", "fp16"}, {"float8", "fp8"},
    {"float32", "fp32"},  {"torch.float32", "fp32"},  {NULL, NULL},
};

const rk_named_text rk_attention_synonyms[] = {
    {"fa2", "flash_attention_2"},
    {"flash2", "flash_attention_2"},
    {"fa3", "flash_attention_3"},
    {"flash3", "flash_attention_3"},
    {"flash_attention", "flash"},
    {"flash-attn", "flash"},
    {"flash-attn-2", "flash_attention_2"},
    {"flash-attn-3", "flash_attention_3"},
    {"sdpa", "flash"},    /* PyTorch's, which picks a fused kernel */
    {"eager", "unfused"}, /* of Transformers */
    {NULL, NULL},
};

const rk_named_text rk_framework_synonyms[] = {
    {"megatron-lm", "megatron"},
    {"megatron-core", "megatron"},
    {"mcore", "megatron"},
    {"nemo", "megatron"},
    {"megatron-bridge", "megatron"},
    {"fsdp", "torchtitan"}, /* PyTorch's own */
    {"fsdp2", "torchtitan"},
    {"pytorch", "torchtitan"},
    {"ds", "deepspeed"},
    {"hf", "huggingface"},
    {"transformers", "huggingface"},
    {"accelerate", "huggingface"},
    {"trl", "huggingface"},
    {"mindspeed-llm", "mindspeed"},
    {"neuronx-distributed", "neuronx"},
    {NULL, NULL},
};

rk_state_request rk_request_states(const rk_request *r)
{
    return (rk_state_request){
        .weight = r->weights < 0 ? 0 : weight_bytes[r->weights],
        .gradient = r->gradients < 0 ? 0 : gradient_bytes[r->gradients],
        .moments = r->moments < 0 ? 0 : moment_bytes[r->moments],
    };
}

bool rk_request_foreach(const rk_request *r, bool usual)
{
    const bool together = usual && !rk_optimizers[rk_request_optimizer(r)].on_device;
    return r->optimizer_impl < 0 ? together : r->optimizer_impl == UPDATE_FOREACH;
}

bool rk_request_quantises(const rk_request *r)
{
    return r->nf4_weights || r->frozen_type >= 0;
}

rk_frozen_type rk_request_frozen(const rk_request *r)
{
    return r->frozen_type < 0 ? RK_FROZEN_NF4 : (rk_frozen_type)r->frozen_type;
}

bool rk_request_searches_offload(const rk_request *r)
{
    return r->offloads >> (1 + OFFLOADS) & 1U;
}

unsigned rk_request_offloads(const rk_request *r)
{
    return r->offloads >> 1 & ((1U << OFFLOADS) - 1); /* behind "none" */
}
