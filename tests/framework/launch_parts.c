/* SPDX-License-Identifier: Apache-2.0 */
/* What launch files refuse, and what they note that they do not express, each part alone. */
#include "launch_kit.h"

/* Three stages. */
#define lay_out(s, ...)                                                                            \
    do {                                                                                           \
        static const int16_t layout[3] = {__VA_ARGS__};                                            \
        (s)->layout = layout;                                                                      \
        (s)->layout_count = 3;                                                                     \
    } while (0)

/* Writer, model, what is changed of the model m and the strategy s, and the whole message. */
#define REFUSALS(X)                                                                                \
    X(r1, megatron, "llama3-8b", s->precision = RK_INT8,                                           \
      "Megatron-LM does not train in int8; use bf16 or fp8, or emit nothing")                      \
    X(r2, megatron, "llama3-8b", s->graph_capture = true;                                          \
      s->recompute = RK_REC_FULL, "Megatron-LM captures no graphs of layers with full recompute; " \
                                  "leave out --graph-capture, or use --recompute selective")       \
    X(r3, megatron, "mixtral-8x7b", s->graph_capture = true;                                       \
      s->graph_modules = RK_GRAPH_PREPROCESS,                                                      \
      "Megatron-LM captures moe_preprocess with moe_router only; add it to --graph-modules")       \
    X(r4, megatron, "mixtral-8x7b", s->graph_capture = true;                                       \
      s->graph_modules = RK_GRAPH_MOE,                                                             \
      "Megatron-LM captures whole mixtures of experts with a capacity only, and not with "         \
      "moe_router; put moe_router in place of moe in --graph-modules, or give --capacity-factor")  \
    X(r5, megatron, "mixtral-8x7b", s->graph_capture = true; s->capacity_factor = 1;               \
      s->graph_modules = RK_GRAPH_MOE | RK_GRAPH_ROUTER,                                           \
      "Megatron-LM captures whole mixtures of experts with a capacity only, and not with "         \
      "moe_router; put moe_router in place of moe in --graph-modules, or give --capacity-factor")  \
    X(r6, megatron, "llama3-8b", s->offload_activations = true,                                    \
      "Megatron-LM has no argument to offload all activations; leave it out of --offload")         \
    X(r7, megatron, "llama3-8b", s->offload_weights = true,                                        \
      "Megatron-LM has no argument to offload all weights; leave it out of --offload")             \
    X(r8, megatron, "granite-4.0-tiny-preview", s->recompute = RK_REC_FULL;                        \
      s->recompute_layers = 2,                                                                     \
      "Megatron-LM counts mixers and networks of granite-4.0-tiny-preview as layers of their "     \
      "own; leave out --recompute-layers")                                                         \
    X(r9, megatron, "nemotron-h-56b", m->mtp_layers = 1;                                           \
      s->mtp_before_head = true, "Megatron-LM runs multi-token prediction of a pattern of blocks " \
                                 "in the last stage; leave out --mtp-before-head")                 \
    X(r10, megatron, "nemotron-h-56b",                                                             \
      m->types[0].recurrence.conv_bias = !m->types[0].recurrence.conv_bias,                        \
      "--emit: megatron has no argument for the convolutions without a bias of nemotron-h-56b; "   \
      "its launch file would train another model")                                                 \
    X(r11, megatron, "nemotron-h-56b", m->types[0].recurrence.bare_output = true,                  \
      "--emit: megatron has no argument for the outputs of Mamba-2 that are not normed of "        \
      "nemotron-h-56b; its launch file would train another model")                                 \
    X(r12, megatron, "nemotron-h-56b", m->types[0].attention.window = 4096,                        \
      "--emit: megatron has no argument for the windows of attention in a pattern of blocks of "   \
      "nemotron-h-56b; its launch file would train another model")                                 \
    X(r13, megatron, "qwen3-next-80b-a3b", m->types[0].recurrence.conv_bias = true,                \
      "--emit: megatron has no argument for the biases of the convolutions of "                    \
      "qwen3-next-80b-a3b; its launch file would train another model")                             \
    X(r14, megatron, "llama3-8b", m->types[0].attention.value_size = 64,                           \
      "--emit: megatron has no argument for the size of value heads, which differs from that of "  \
      "query heads, of llama3-8b; its launch file would train another model")                      \
    X(r15, megatron, "llama3-8b", m->types[0].attention.relative_positions = true,                 \
      "--emit: megatron has no argument for the relative positions of llama3-8b; its launch file " \
      "would train another model")                                                                 \
    X(r16, megatron, "llama3-8b", m->details.alibi = true,                                         \
      "--emit: megatron has no argument for the positions (ALiBi) of llama3-8b; its launch file "  \
      "would train another model")                                                                 \
    X(r17, megatron, "llama3-8b", m->types[0].attention.head_gate = true,                          \
      "--emit: megatron has no argument for the gate of the attention heads of llama3-8b; its "    \
      "launch file would train another model")                                                     \
    X(r18, megatron, "llama3-8b", m->types[0].attention.kv_source = RK_KV_BORROWED,                \
      "--emit: megatron has no argument for the keys and values that layers or heads share of "    \
      "llama3-8b; its launch file would train another model")                                      \
    X(r19, megatron, "llama3-8b", m->final_norm = false,                                           \
      "--emit: megatron has no argument for the missing norm after the last layer of llama3-8b; "  \
      "its launch file would train another model")                                                 \
    X(r20, megatron, "llama3-8b", m->head_bias = true,                                             \
      "--emit: megatron has no argument for the bias of the output layer of llama3-8b; its "       \
      "launch file would train another model")                                                     \
    X(r21, megatron, "llama3-8b", m->norm = RK_NORM_LAYER_NO_BIAS,                                 \
      "--emit: megatron has no argument for the layer norms, which lack a gain or a bias, of "     \
      "llama3-8b; its launch file would train another model")                                      \
    X(r22, megatron, "llama3-8b", m->norm = RK_NORM_LAYER_NO_WEIGHT,                               \
      "--emit: megatron has no argument for the layer norms, which lack a gain or a bias, of "     \
      "llama3-8b; its launch file would train another model")                                      \
    X(r23, megatron, "llama3-8b", m->details.rope_scaling = RK_ROPE_OTHER,                         \
      "--emit: megatron has no argument for the scaling of rotary positions of llama3-8b; its "    \
      "launch file would train another model")                                                     \
    X(r24, megatron, "llama3-8b", m->types[0].attention.bias_out = true,                           \
      "--emit: megatron has no argument for the biases, which only some linears have, of "         \
      "llama3-8b; its launch file would train another model")                                      \
    X(r25, megatron, "llama3-8b", m->types[0].attention.bias_out = m->types[0].ffn.bias = true,    \
      "--emit: megatron has no argument for the biases, which only some linears have, of "         \
      "llama3-8b; its launch file would train another model")                                      \
    X(r26, megatron, "llama3-8b", m->streams = 4,                                                  \
      "--emit: megatron has no argument for the hyper-connections beside all that this model has " \
      "of llama3-8b; its launch file would train another model")                                   \
    X(r27, megatron, "llama3-8b", m->embedding_width = 1024,                                       \
      "--emit: megatron has no argument for the embedding, which is narrower than the layers, of " \
      "llama3-8b; its launch file would train another model")                                      \
    X(r28, megatron, "llama3-8b", m->layer_embedding = 256,                                        \
      "--emit: megatron has no argument for the second embedding or the learned factors of the "   \
      "layers of llama3-8b; its launch file would train another model")                            \
    X(r29, megatron, "llama3-8b", m->layer_scalar = true,                                          \
      "--emit: megatron has no argument for the second embedding or the learned factors of the "   \
      "layers of llama3-8b; its launch file would train another model")                            \
    X(r30, megatron, "mixtral-8x7b", m->types[0].moe.zero_experts = 2,                             \
      "--emit: megatron has no argument for the experts without weights, or beside the next "      \
      "layer, of mixtral-8x7b; its launch file would train another model")                         \
    X(r31, megatron, "mixtral-8x7b", m->types[0].moe.shortcut = true,                              \
      "--emit: megatron has no argument for the experts without weights, or beside the next "      \
      "layer, of mixtral-8x7b; its launch file would train another model")                         \
    X(r32, megatron, "mixtral-8x7b", m->types[0].moe.router_scales = true,                         \
      "--emit: megatron has no argument for the learned factors of the router of mixtral-8x7b; "   \
      "its launch file would train another model")                                                 \
    X(r33, megatron, "mixtral-8x7b", m->types[0].moe.router_bias = true;                           \
      m->details.router = RK_ROUTER_SOFTMAX,                                                       \
      "--emit: megatron has no argument for the bias of a router that scores by softmax of "       \
      "mixtral-8x7b; its launch file would train another model")                                   \
    X(r34, torchtitan, "nemotron-h-56b", (void)0,                                                  \
      "--emit: torchtitan has no argument for the layers that lack attention or a feed-forward "   \
      "network of nemotron-h-56b; its launch file would train another model")                      \
    X(r35, torchtitan, "deepseek-v3.2", (void)0,                                                   \
      "--emit: torchtitan has no argument for the indexer of the sparse attention of "             \
      "deepseek-v3.2; its launch file would train another model")                                  \
    X(r36, torchtitan, "deepseek-v4-flash", (void)0,                                               \
      "--emit: torchtitan has no argument for the compressed attention of deepseek-v4-flash; its " \
      "launch file would train another model")                                                     \
    X(r37, torchtitan, "llama3-8b", m->types[0].attention.kv_source = RK_KV_BORROWED,              \
      "--emit: torchtitan has no argument for the keys and values that layers or heads share of "  \
      "llama3-8b; its launch file would train another model")                                      \
    X(r38, torchtitan, "llama3-8b", m->types[0].attention.out_rank = 16,                           \
      "--emit: torchtitan has no argument for the compressed attention of llama3-8b; its launch "  \
      "file would train another model")                                                            \
    X(r39, torchtitan, "llama3-8b", m->types[0].attention.head_gate = true,                        \
      "--emit: torchtitan has no argument for the gate of the attention heads of llama3-8b; its "  \
      "launch file would train another model")                                                     \
    X(r40, torchtitan, "mixtral-8x7b", m->types[0].moe.zero_experts = 2,                           \
      "--emit: torchtitan has no argument for the experts without weights, or beside the next "    \
      "layer, of mixtral-8x7b; its launch file would train another model")                         \
    X(r41, torchtitan, "mixtral-8x7b", m->types[0].moe.shortcut = true,                            \
      "--emit: torchtitan has no argument for the experts without weights, or beside the next "    \
      "layer, of mixtral-8x7b; its launch file would train another model")                         \
    X(r42, torchtitan, "mixtral-8x7b", m->types[0].moe.router_scales = true,                       \
      "--emit: torchtitan has no argument for the learned factors of the router of mixtral-8x7b; " \
      "its launch file would train another model")                                                 \
    X(r43, torchtitan, "mixtral-8x7b", m->types[0].moe.latent = 512,                               \
      "--emit: torchtitan has no argument for the latent of the routed experts of mixtral-8x7b; "  \
      "its launch file would train another model")                                                 \
    X(r44, torchtitan, "llama3-8b", m->streams = 4,                                                \
      "--emit: torchtitan has no argument for the hyper-connections of llama3-8b; its launch "     \
      "file would train another model")                                                            \
    X(r45, torchtitan, "llama3-8b", m->embedding_width = 1024,                                     \
      "--emit: torchtitan has no argument for the embedding, which is narrower than the layers, "  \
      "of llama3-8b; its launch file would train another model")                                   \
    X(r46, torchtitan, "llama3-8b", m->layer_embedding = 256,                                      \
      "--emit: torchtitan has no argument for the second embedding or the learned factors of the " \
      "layers of llama3-8b; its launch file would train another model")                            \
    X(r47, torchtitan, "llama3-8b", m->layer_scalar = true,                                        \
      "--emit: torchtitan has no argument for the second embedding or the learned factors of the " \
      "layers of llama3-8b; its launch file would train another model")                            \
    X(r48, torchtitan, "llama3-8b", rk_strategy_freeze(m, 8, RK_ADAPTED_FFN, s),                   \
      "torchtitan has no adapters; leave out --lora-rank, or emit nothing")                        \
    X(r49, torchtitan, "llama3-8b", s->cp = 2;                                                     \
      s->cp_kind = RK_CP_ULYSSES,                                                                  \
      "torchtitan splits sequences by ring or all-gather, not by Ulysses")                         \
    X(r50, torchtitan, "llama3-8b", s->precision = RK_FP16,                                        \
      "torchtitan trains in bf16, fp32, or fp8 scaled by tensor (tensorwise) or in mxfp8, not in " \
      "fp16")                                                                                      \
    X(r51, torchtitan, "llama3-8b", s->precision = RK_FP4,                                         \
      "torchtitan trains in bf16, fp32, or fp8 scaled by tensor (tensorwise) or in mxfp8, not in " \
      "fp4")                                                                                       \
    X(r52, torchtitan, "llama3-8b", s->precision = RK_INT8,                                        \
      "torchtitan trains in bf16, fp32, or fp8 scaled by tensor (tensorwise) or in mxfp8, not in " \
      "int8")                                                                                      \
    X(r53, torchtitan, "llama3-8b", s->precision = RK_FP8;                                         \
      s->fp8_recipe = RK_FP8_BLOCKWISE, "torchtitan trains in bf16, fp32, or fp8 scaled by "       \
                                        "tensor (tensorwise) or in mxfp8, not in fp8 blockwise")   \
    X(r54, torchtitan, "llama3-8b", s->precision = RK_FP8;                                         \
      s->fp8_recipe = RK_FP8_DELAYED, "torchtitan trains in bf16, fp32, or fp8 scaled by tensor "  \
                                      "(tensorwise) or in mxfp8, not in fp8 delayed")              \
    X(r55, torchtitan, "llama3-8b", s->pp = 3;                                                     \
      lay_out(s, 16, 0, 16), "torchtitan runs no stage without modules, but stage 1 has no "       \
                             "layers; use another --layout or pp")                                 \
    X(r56, torchtitan, "llama3-8b", s->tp = 2; s->dp = 4;                                          \
      s->sharding = RK_SHARD_NONE, "torchtitan replicates unsharded weights (DDP) only without "   \
                                   "other parallelism; shard them with --zero 2 or 3")             \
    X(r57, torchtitan, "llama3-8b", s->recompute = RK_REC_FULL;                                    \
      s->recompute_layers = 5, "torchtitan recomputes every so many layers; choose "               \
                               "--recompute-layers that divides the layers of a stage")            \
    X(r58, torchtitan, "llama3-8b", s->recompute = RK_REC_SELECTIVE;                               \
      s->recompute_modules = RK_MODULE_NORM,                                                       \
      "torchtitan recomputes operators or layers, not modules; use --recompute-modules operators") \
    X(r59, torchtitan, "llama3-8b", s->offload_activations = true,                                 \
      "torchtitan offloads parameters with the optimizer, not activations alone; leave it out of " \
      "--offload")                                                                                 \
    X(r60, torchtitan, "llama3-8b", s->offload_weights = true,                                     \
      "torchtitan offloads parameters with the optimizer, not weights alone; leave it out of "     \
      "--offload")                                                                                 \
    X(r61, torchtitan, "llama3-8b", s->tp = 4;                                                     \
      s->seq = 4100,                                                                               \
      "torchtitan 0.2.2 needs a sequence that divides by 2 x tp x cp = 8, not 4100")               \
    X(r62, torchtitan, "mixtral-8x7b", s->tp = 4; s->ep = 2; s->etp = 2; s->dp = 2;                \
      s->sharding = RK_SHARD_ALL,                                                                  \
      "torchtitan 0.2.2 splits experts over 1 or tp 4 ranks, not over etp 2")                      \
    X(r63, torchtitan, "llama3-8b", s->tp = 2; s->tp_overlap = true; s->precision = RK_FP8;        \
      s->fp8_recipe = RK_FP8_MX,                                                                   \
      "torchtitan 0.2.2 overlaps tensor-parallel messages in compiled models only, and does not "  \
      "compile mxfp8 with tp 2; leave tp out of --overlap")                                        \
    X(r64, torchtitan, "deepseek-v3", s->tp = 2; s->precision = RK_FP8;                            \
      s->fp8_recipe = RK_FP8_TENSORWISE, "torchtitan 0.2.2 does not run deepseek_v3 with tp 2 "    \
                                         "and fp8 scaled by tensor; use tp 1 or bf16")             \
    X(r65, torchtitan_python, "mixtral-8x7b", s->tp = s->etp = 2,                                  \
      "torchtitan has not split experts over etp 2 ranks since 2026-04-30; use etp 1, or --emit "  \
      "torchtitan")                                                                                \
    X(r66, torchtitan_python, "llama3-8b", s->recompute = RK_REC_FULL;                             \
      s->recompute_layers = 8, "torchtitan of 2026 recomputes all layers or none; leave out "      \
                               "--recompute-layers, or --emit torchtitan")                         \
    X(r67, torchtitan_python, "llama3.2-1b", s->pp = 2,                                            \
      "torchtitan of 2026 does not split llama3.2-1b, whose embedding is tied, over pp 2; use pp " \
      "1")                                                                                         \
    X(r68, torchtitan_python, "llama3-8b", s->tp = 16,                                             \
      "torchtitan of 2026 does not copy key/value heads: 8 do not split over tp 16")               \
    X(r69, torchtitan_python, "llama3-8b", s->tp = 4; s->sp = true; s->cp = 2;                     \
      s->seq = 4104, "torchtitan needs tokens of a microbatch that divide over tp 4 and 2 x cp 2") \
    X(r70, torchtitan_python, "llama3-8b", s->precision = RK_FP8,                                  \
      "torchtitan of 2026 has no fp8 scaled by tensor; use --emit torchtitan, or bf16")

/* The same, and the notes of the file. */
#define NOTES(X)                                                                                   \
    X(n1, torchtitan, "llama2-7b", (void)0,                                                        \
      "the model, of which torchtitan ships no configuration: add yours")                          \
    X(n2, torchtitan, "deepseek-v3", (void)0, "multi-token prediction, which torchtitan lacks")    \
    X(n3, torchtitan, "llama3-8b", s->offload_optimizer = true,                                    \
      "offload of the optimizer alone; torchtitan offloads parameters with it")                    \
    X(n4, torchtitan, "llama3-8b", s->optimizer = RK_OPTIMIZER_SGD,                                \
      "the optimizer; torchtitan's configuration has AdamW")                                       \
    X(n5, torchtitan, "mixtral-8x7b", s->moe_overlap = true,                                       \
      "the model, of which torchtitan ships no configuration: add yours; expert messages behind "  \
      "compute")                                                                                   \
    X(n6, torchtitan, "llama3-8b", s->document = 512, "documents that attention does not cross")   \
    X(n7, torchtitan, "llama3-8b", s->attention_kernel = RK_KERNEL_CUDNN, "the attention kernel")  \
    X(n8, torchtitan, "llama3-8b", s->states.reduce = 2,                                           \
      "gradients reduced in bf16; torchtitan's are fp32")                                          \
    X(n9, torchtitan, "llama3-8b", s->order = RK_ORDER_PIPELINE_DATA,                              \
      "ranks numbered with pipeline stages before data parallelism")                               \
    X(n10, torchtitan_python, "llama3-8b", s->nf4_weights = true, "weights in NF4 (bitsandbytes)") \
    X(n11, torchtitan_python, "llama3-8b", s->low_activations = true,                              \
      "inputs of activations in fp8")                                                              \
    X(n12, torchtitan_python, "llama3-8b", s->cp = 2,                                              \
      "how ranks exchange keys and values, and FlexAttention, which cp needs")                     \
    X(n13, torchtitan_python, "llama3-8b", s->precision = RK_FP8;                                  \
      s->fp8_recipe = RK_FP8_MX,                                                                   \
      "linears in mxfp8: add MXFP8LinearConverter to the converters of the model")                 \
    X(n14, torchtitan_python, "llama3-8b", s->graph_capture = true, "")                            \
    X(n15, torchtitan_python, "llama3-8b", s->graph_capture = true;                                \
      s->pp = 2, "CUDA graphs, which exclude pp and ep")                                           \
    X(n16, torchtitan_python, "mixtral-8x7b", s->graph_step = true; s->ep = 2; s->dp = 2;          \
      s->sharding = RK_SHARD_ALL, "the model, of which torchtitan ships no configuration: add "    \
                                  "yours; CUDA graphs, which exclude pp and ep")                   \
    X(n17, megatron, "llama3-8b", s->nf4_weights = true, "weights in NF4 (bitsandbytes)")          \
    X(n18, megatron, "llama3-8b", s->low_activations = true,                                       \
      "activation_func_fp8_input_store, which is set in the configuration")                        \
    X(n19, megatron, "llama3-8b", s->precision = RK_TF32, "tf32, which is set in PyTorch itself")  \
    X(n20, megatron, "llama3-8b", s->document = 512, "documents that attention does not cross")    \
    X(n21, megatron, "llama3-8b", m->details.rope_base = 0,                                        \
      "the rotary base, which the model document does not give; Megatron's 10,000 holds")          \
    X(n22, megatron, "llama3-8b", m->details.rope_window_base = 1e4,                               \
      "another rotary base of windowed layers")                                                    \
    X(n23, megatron, "llama3-8b", m->details.rope_window_base = m->details.rope_base, "")          \
    X(n24, megatron, "opt-6.7b", m->details.activation = RK_ACTIVATION_GELU_TANH,                  \
      "GELU approximated by tanh; Megatron computes it exactly")                                   \
    X(n25, megatron, "llama3-8b", s->attention_kernel = RK_KERNEL_CUDNN, "the attention kernel")   \
    X(n26, megatron, "llama3-8b", s->optimizer = RK_OPTIMIZER_SGD, "")                             \
    X(n27, megatron, "llama3-8b", s->optimizer = RK_OPTIMIZER_ADAFACTOR,                           \
      "the optimizer, which Megatron-LM lacks")                                                    \
    X(n28, megatron, "llama3-8b", s->precision = RK_FP8, "")

#define CHANGE(id, writer, model, code, says)                                                      \
    static void change_##id(rk_model *m, rk_strategy *s)                                           \
    {                                                                                              \
        (void)m;                                                                                   \
        (void)s;                                                                                   \
        code;                                                                                      \
    }
REFUSALS(CHANGE)
NOTES(CHANGE)

typedef struct part {
    const char *id;
    rk_launch_writer *write;
    const char *model;
    void (*change)(rk_model *, rk_strategy *);
    const char *says;
} part;

#define ROW(id, writer, model, code, says) {#id, rk_launch_##writer, model, change_##id, says},
static const part refusals[] = {REFUSALS(ROW)}, noted[] = {NOTES(ROW)};

/* Changes a model and its default strategy, whose batch fills a pipeline, and writes the file. */
static rk_status write_part(const part *p, char *text, rk_error *err)
{
    rk_model model = model_of(p->model);
    rk_strategy s = rk_strategy_defaults(&model);
    s.seq = 4096;
    p->change(&model, &s);
    s.global_batch = 8 * s.dp;
    return launch_by(p->write, &model, "dgx-h100-superpod", &s, text, err);
}

static void test_refusals(void **state)
{
    static char text[MOST];
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        rk_error err = {.message = "it is written"};
        const rk_status status = write_part(&refusals[i], text, &err);
        if (status != RK_ERR_INVALID || strcmp(err.message, refusals[i].says) != 0) {
            print_error("%s says: %s\n", refusals[i].id, err.message);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void test_notes(void **state)
{
    static char text[MOST];
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++) {
        char all[1024] = "", line[512];
        rk_error err = {.message = ""};
        const rk_status status = write_part(&noted[i], text, &err);
        for (int n = 0; n < notes.count && !status; n++) {
            const size_t used = strlen(all);
            (void)snprintf(all + used, sizeof(all) - used, "%s%s", n ? "; " : "", notes.words[n]);
            (void)snprintf(line, sizeof(line), "# Not expressed in this %s: %s.\n",
                           noted[i].write == rk_launch_megatron ? "script" : "file",
                           notes.words[n]);
            assert_holds(text, line);
        }
        if (status || strcmp(all, noted[i].says) != 0) {
            print_error("%s says: %s%s\n", noted[i].id, all, err.message);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
