/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a job that launches state, and the options of estimate that take their values. */
#include "base/units.h"
#include "launch/launch.h"

#include <string.h>

const rk_launch_field rk_launch_fields[] = {
    {"framework", "framework", "rules of the strategy: deepspeed, torchtitan, ..."},
    {"stack", "stack", "training software whose rates hold, where it is not the framework's usual"},
    {"objective", NULL,
     "what is trained for where other models run next to the one that trains: dpo, ..."},
    /* machine */
    {"nodes", "nodes", "nodes of the launch"},
    {"gpus_per_node", "gpus-per-node", "accelerators of a node"},
    {"processes", "accelerators", "accelerators in all"},
    {"system", "system", "catalogue name of the machine, where the launch says it"},
    /* layout */
    {"tp", "tp", "tensor-parallel ranks"},
    {"pp", "pp", "pipeline ranks"},
    {"vp", "vp", "virtual stages of a pipeline rank"},
    {"cp", "cp", "context-parallel ranks"},
    {"cp_kind", "cp-kind", "ring, all-gather, ulysses; two levels: not priced"},
    {"ep", "ep", "expert-parallel ranks"},
    {"ep_effective", NULL, "ranks that share the experts, where tensor-parallel ranks do too"},
    {"etp", "etp", "tensor-parallel ranks of an expert"},
    {"dp", NULL, "data-parallel ranks, shards and replicas together"},
    {"hsdp", "hsdp", "replicas of shard groups"},
    {"sp", NULL, "sequence parallelism in addition to tp: true, false"},
    {"zero", "zero", "0 to 3: what data-parallel ranks shard"},
    {"schedule", "schedule", "pipeline schedule, as --schedule has it"},
    {"layout", "layout", "layers of each stage, as --layout has them"},
    {"first_stage_layers", "first-stage-layers", "layers of the first pipeline rank"},
    {"last_stage_layers", "last-stage-layers", "layers of the last pipeline rank"},
    {"expandable_segments", "expandable-segments",
     "PyTorch's allocator extends segments: true or false"},
    {"count_embedding", "count-embedding", "the embedding counts as a layer: true"},
    {"count_head", "count-head", "the output layer counts as a layer: true"},
    {"order", "order", "order of ranks, as --order has it"},
    {"mtp_before_head", "mtp-before-head",
     "the modules of multi-token prediction are on the stage before the output layer: true"},
    /* batch */
    {"micro_batch", "micro-batch", "sequences of a micro-batch"},
    {"accumulation", "accumulation", "micro-batches of a rank per step"},
    {"global_batch", "global-batch", "sequences of a step"},
    {"seq", "seq", "tokens of a sequence"},
    {"packing", NULL, "examples are packed into sequences: true, false"},
    {"tokens_per_microbatch", NULL, "tokens of a micro-batch, where it is counted in tokens"},
    {"tokens_per_step", NULL, "tokens of a step, likewise"},
    {"max_tokens_per_gpu", NULL, "tokens of a micro-batch on a rank, where its sequences vary"},
    {"samples_per_step", NULL, "examples of a step, of reinforcement learning"},
    {"samples_per_rollout", NULL, "examples that one rollout makes"},
    /* precision and states */
    {"precision", "precision", "of compute: bf16, fp16, fp32"},
    {"fp8.format", NULL, "hybrid, e4m3"},
    {"fp8.recipe", NULL, "delayed, tensorwise, blockwise, mxfp8"},
    {"fp8.param_gather", NULL, "weights are gathered in fp8: true, false"},
    {"fp4.recipe", NULL, "nvfp4, mxfp4"},
    {"gradients", "gradients", "data type of gradient accumulation: fp32, bf16, fp16"},
    {"weights", "weights", "data type in which weights are held: fp32, bf16"},
    {"weights_loaded_as", NULL,
     "data type of the weights that train, where no master copy is made"},
    {"states.main_params", NULL, "data type of the master copy"},
    {"states.exp_avg", NULL, "data type of the first moment"},
    {"states.exp_avg_sq", NULL, "data type of the second moment"},
    {"optimizer", "optimizer", "adam, adamw, muon, sgd, adafactor, adamw_8bit, ..."},
    {"optimizer_impl", "optimizer-impl", "PyTorch's update: foreach, fused"},
    {"optimizer_in_backward", NULL, "each gradient is used and dropped in backward: true"},
    {"offload", NULL, "none, or what goes to the host: optimizer, weights, gradients, activations"},
    {"nvme", NULL, "of what goes to the host, what lies on NVMe disks: optimizer, weights"},
    {"offload_modules", NULL, "modules whose activations go to the host"},
    /* activations */
    {"recompute.granularity", NULL, "none, selective, full, budget, policy"},
    {"recompute.method", NULL, "uniform, block"},
    {"recompute.layers", NULL, "uniform: layers of a chunk; block: layers of a virtual stage"},
    {"recompute.modules", "recompute-modules", "modules of selective recomputation"},
    {"recompute_extra", NULL, "what else is recomputed, by switches of its own"},
    {"recompute.policy", NULL, "policy of MaxText by name"},
    {"recompute.option", NULL, "option of selective recomputation of torchtitan"},
    /* overlap and kernels */
    {"overlap", NULL, "list of grad, param, tp, pp, moe; none"},
    {"attention", NULL, "kernel of attention: flash, unfused, auto, ..."},
    {"loss", NULL, "full logits, unfused, fused, chunked"},
    {"dispatcher", NULL, "of tokens to experts: allgather, alltoall, flex, deepep, hybridep"},
    {"grouped_gemm", NULL, "experts of a rank are one grouped GEMM: true, false"},
    {"permute_fusion", NULL, "permutation of tokens is fused: true, false"},
    {"scan_layers", NULL, "one compiled layer runs for all: true, false"},
    {"compile", NULL, "a compiler fuses operators: true, false"},
    {"graphs", NULL, "how CUDA graphs are made, or full_iteration; none"},
    {"graph_modules", "graph-modules", "modules of layers that CUDA graphs hold"},
    {"turbo.enable_primus_turbo", NULL, "kernels of Primus-Turbo: true, false"},
    {"turbo.use_turbo_attention", NULL, "its attention: true, false"},
    {"turbo.use_turbo_grouped_gemm", NULL, "its grouped GEMM: true, false"},
    {"turbo.use_turbo_deepep", NULL, "its dispatcher: true, false"},
    {"turbo.turbo_sync_free_moe_stage", NULL, "steps of experts that wait for no host: 0 to 3"},
    {"dropout", NULL, "of the residual stream + of attention: 0.1+0.1; none"},
    /* adapters */
    {"lora", "lora", "rank of adapters; none"},
    {"lora_modules", "lora-modules", "attention, mlp: what adapters train"},
    {"adapter_dropout", NULL, "adapters read their inputs through dropout: true"},
    {"tiled_mlp", NULL, "dense networks run tile by tile of the tokens: true"},
    {"qlora", NULL, "the frozen model is held in 4 bits (NF4): true"},
    {"nested_quant", NULL, "scales of a base in 4 bits are quantised again: true, false"},
    {"base_8bit", NULL, "the frozen model is held in 8 bits: true"},
    {"base_quantised", NULL, "the stored model is quantised: gptq, awq, aqlm"},
    /* model */
    {"model.name", "model", "hub id, catalogue name or folder"},
    {"model.layers", NULL, "layers, those that do nothing counted"},
    {"model.layers_real", NULL, "layers that compute, where some do nothing"},
    {"model.hidden", NULL, "width"},
    {"model.ffn", NULL, "width of the feed-forward part"},
    {"model.heads", NULL, "query heads"},
    {"model.kv_heads", NULL, "key and value heads"},
    {"model.head_size", NULL, "width of a head"},
    {"model.vocab", NULL, "rows of the embedding as the model has them, padded"},
    {"model.vocab_unpadded", NULL, "entries of the tokenizer"},
    {"model.tied", NULL, "embedding and output layer share their weights: true, false"},
    {"model.gated", NULL, "feed-forward parts are gated (SwiGLU): true, false"},
    {"model.experts", NULL, "routed experts"},
    {"model.topk", NULL, "experts of a token"},
    {"model.moe_ffn", NULL, "width of an expert"},
    {"model.shared_ffn", NULL, "width of the shared experts together"},
    {"model.moe_layer_freq", NULL, "which layers have experts"},
    {"model.dense_layers_first", NULL, "dense layers before those with experts"},
    {"model.mla", NULL, "multi-head latent attention: true"},
    {"model.mla.q_lora", NULL, "rank of the latent of queries"},
    {"model.mla.kv_lora", NULL, "rank of the latent of keys and values"},
    {"model.mla.qk_nope", NULL, "width of a head without rotary positions"},
    {"model.mla.qk_rope", NULL, "width of a head with rotary positions"},
    {"model.mla.v", NULL, "width of a value head"},
    {"model.mtp", NULL, "modules of multi-token prediction"},
    {"model.hybrid_pattern", NULL, "a letter per block of a hybrid model"},
    {"model.layout", NULL, "layout of pipeline stages as the framework writes it"},
    {"model.document", NULL, "a model document or config.json in JSON, made from the launch"},
};

const size_t rk_launch_field_count = sizeof(rk_launch_fields) / sizeof(rk_launch_fields[0]);

static const char turbo[] = "kernels are priced at the rates of the stack";

static const rk_launch_unpriced unpriced[] = {
    {"packing", "true", "every sequence is priced at its full length"},
    {"offload_modules", NULL, "activations of all modules are priced as offloaded"},
    {"samples_per_rollout", NULL, NULL}, /* a step trains some */
    {"samples_per_step", NULL, NULL},
    {"grouped_gemm", "true", "experts of a rank are priced as one grouped GEMM"},
    {"states.main_params", "fp32", "the master copy is priced in fp32"},
    {"turbo.enable_primus_turbo", "false", turbo},
    {"turbo.use_turbo_attention", "false", turbo},
    {"turbo.use_turbo_grouped_gemm", "false", turbo},
    {"turbo.turbo_sync_free_moe_stage", "0", "waits for the host are priced as the stack has them"},
};

const rk_launch_unpriced *rk_launch_find_unpriced(const char *field)
{
    for (size_t i = 0; i < COUNT(unpriced); i++) {
        if (strcmp(unpriced[i].field, field) == 0) {
            return &unpriced[i];
        }
    }
    return NULL;
}
