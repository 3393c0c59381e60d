/* SPDX-License-Identifier: Apache-2.0 */
/* Launch files say what was planned, name what they cannot, and refuse to start another model. */
#include "launch_kit.h"

static rk_status launch(const rk_model *model, const char *machine, const rk_strategy *s,
                        char *text, rk_error *err)
{
    return launch_by(rk_launch_megatron, model, machine, s, text, err);
}

/* ---- scripts --------------------------------------------------------------------------------- */

static void test_pipeline(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    const rk_model model = model_of("llama3.1-405b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 8;
    s.sp = s.tp_overlap = s.grad_overlap = s.param_overlap = true;
    s.pp = 16;
    s.vp = 8;
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    s.count_embedding = s.count_head = true;
    s.dp = 128;
    s.global_batch = 2048;
    s.sharding = RK_SHARD_OPTIMIZER;
    s.order = RK_ORDER_PIPELINE_DATA;
    assert_int_equal(launch(&model, "h100-roce-24k", &s, text, &err), RK_OK);
    assert_holds(text, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
    assert_holds(text, "--tensor-model-parallel-size 8 \\\n    --sequence-parallel");
    assert_holds(text, "--pipeline-model-parallel-size 16 \\\n    "
                       "--num-virtual-stages-per-pipeline-rank 8 \\\n    "
                       "--account-for-embedding-in-pipeline-split \\\n    "
                       "--account-for-loss-in-pipeline-split");
    assert_holds(text, "--use-tp-pp-dp-mapping");
    assert_holds(text, "--num-query-groups 8");
    assert_int_equal(notes.count, 0);
    s.vp = 1;
    s.schedule = RK_SCHEDULE_ZB_H1;
    assert_int_equal(launch(&model, "h100-roce-24k", &s, text, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "zb-h1; use 1f1b or interleaved"));
}

static void test_experts(void **state)
{
    (void)state;
    static char text[MOST];
    static const int16_t layout[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1};
    rk_error err;
    const rk_model model = model_of("deepseek-v3");
    rk_strategy s = rk_strategy_defaults(&model);
    s.pp = 16;
    s.dp = s.ep = 64;
    s.global_batch = 15360;
    s.layout = layout;
    s.layout_count = 16;
    s.recompute = RK_REC_SELECTIVE;
    s.recompute_modules = RK_MODULE_NORM | RK_MODULE_ACTIVATION | RK_MODULE_MLA_UP;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "--moe-layer-freq \"([0]*3+[1]*58)\"");
    assert_holds(text, "--recompute-modules layernorm moe_act mla_up_proj");
    assert_holds(text, "--pipeline-model-parallel-layout \"Et*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|"
                       "t*4|t*4|t*4|t*4|t*4|t*4|t*1mL\"");
    assert_holds(text, "--mtp-num-layers 1 ");
    assert_holds(text, "--moe-flex-dispatcher-backend hybridep");
    assert_holds(text, "--ffn-hidden-size 18432");
    assert_holds(text, "--moe-ffn-hidden-size 2048");
    assert_holds(text, "--moe-shared-expert-intermediate-size 2048");
    s.mtp_before_head = true;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "|t*4|t*4m|t*1L\"");
    s.capacity_factor = 1;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "--moe-token-dispatcher-type alltoall");
}

static void test_refusals(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    const rk_model model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION, &s);
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "no adapters"));
    s = rk_strategy_defaults(&model);
    rk_model named = model;
    (void)snprintf(named.name, sizeof(named.name), "a\nrm -r b");
    assert_int_equal(launch(&named, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "for a?rm -r b on 1 ");
    s.recompute = RK_REC_SELECTIVE;
    s.recompute_modules = RK_MODULE_OPERATORS;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "not operators"));
}

/* Layers that differ in one of their sizes, or have a part that others lack, are not launched. */
static void test_several_shapes(void **state)
{
#define PLACE(member) offsetof(rk_layer_type, member)
    static const size_t sizes[] = {
        PLACE(attention.query_heads), PLACE(attention.kv_heads),
        PLACE(attention.head_size),   PLACE(attention.value_size),
        PLACE(attention.q_rank),      PLACE(attention.kv_rank),
        PLACE(attention.nope_size),   PLACE(attention.rope_size),
        PLACE(moe.experts),           PLACE(moe.top_k),
        PLACE(moe.expert_width),      PLACE(moe.expert_groups),
        PLACE(moe.route_groups),      PLACE(moe.latent),
        PLACE(moe.shared_experts),
    };
    static const size_t flags[] = {
        PLACE(attention.bias_qkv),    PLACE(attention.bias_out), PLACE(attention.sinks),
        PLACE(attention.output_gate), PLACE(ffn.gated),          PLACE(ffn.clamped),
    };
    static char text[MOST];
    rk_error err;
    rk_model model = model_of("mixtral-8x7b");
    const rk_strategy s = rk_strategy_defaults(&model);
    (void)state;
    model.type_count = 2;
    model.type_of[1] = 1;
    model.types[0].moe.shared_width = 128;
    for (size_t i = 0; i <= COUNT(sizes) + COUNT(flags); i++) {
        model.types[1] = model.types[0];
        if (i < COUNT(sizes)) {
            *(int64_t *)(void *)((char *)&model.types[1] + sizes[i]) += 2;
        } else if (i < COUNT(sizes) + COUNT(flags)) {
            bool *flag = (bool *)((char *)&model.types[1] + flags[i - COUNT(sizes)]);
            *flag = !*flag;
        } else {
            assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
            break;
        }
        assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_ERR_INVALID);
        if (!strstr(err.message, "the layers, which have several shapes,")) {
            fail_msg("%zu: %s", i, err.message);
        }
    }
}

/* What differs from model to model is in the script with the model's own numbers. */
static void test_details(void **state)
{
    (void)state;
    static char text[MOST];
    static const struct {
        const char *model, *holds[5], *lacks;
    } cases[] = {
        {"deepseek-v3",
         {"--moe-router-score-function sigmoid", "--moe-router-enable-expert-bias",
          "--moe-router-topk-scaling-factor 2.5", "--moe-router-num-groups 8", "--qk-layernorm"},
         "--moe-router-pre-softmax"},
        {"deepseek-v2-lite",
         {"--moe-router-pre-softmax", "--mscale 0.707", "--kv-lora-rank 512", "--v-head-dim 128",
          "--rotary-scaling-factor 40"},
         "--q-lora-rank"},
        {"mixtral-8x7b",
         {"--rotary-base 1000000", "--moe-router-topk 2", "--num-query-groups 8", "--swiglu",
          "--disable-bias-linear"},
         "--moe-router-"}, /* but for top-k */
        {"qwen3-8b",
         {"--qk-layernorm", "--norm-epsilon 1e-06", "--rotary-base 1000000", "--swiglu",
          "--group-query-attention"},
         "--add-qkv-bias"},
        {"gpt-oss-20b",
         {"--quick-geglu", "--softmax-type learnable", "--window-size \"(127,0)\"",
          "--position-embedding-type yarn", "--window-attn-skip-freq \"(([1]*1+[0]*1)*12)\""},
         "--disable-bias-linear"},
        {"llama3.1-405b",
         {"--use-rope-scaling", "--rope-scaling-factor 8", "--rotary-base 500000",
          "--untie-embeddings-and-output-weights", "--vocab-size 128256"},
         "--qk-layernorm"},
        {"qwen2.5-7b",
         {"--add-qkv-bias", "--disable-bias-linear", "--rotary-base 1000000", "--swiglu",
          "--kv-channels 128"},
         "--qk-layernorm"},
        {"nemotron-4-340b",
         {"--squared-relu", "--rotary-percent 0.5", "--normalization LayerNorm",
          "--disable-bias-linear", "--untie-embeddings-and-output-weights"},
         "--swiglu"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_error err;
        const rk_model model = model_of(cases[i].model);
        rk_strategy s = rk_strategy_defaults(&model);
        assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
        for (size_t k = 0; k < sizeof(cases[i].holds) / sizeof(cases[i].holds[0]); k++) {
            assert_holds(text, cases[i].holds[k]);
        }
        char *topk = strstr(text, "--moe-router-topk ");
        if (topk) {
            topk[2] = '_';
        }
        if (strstr(text, cases[i].lacks)) {
            fail_msg("%s of %s in\n%s", cases[i].lacks, cases[i].model, text);
        }
    }
}

/* Softmax over one chosen score is 1 whatever the score: Megatron-LM refuses it. */
static void test_one_expert(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    rk_model model = model_of("mixtral-8x7b");
    model.types[0].moe.top_k = 1;
    const rk_strategy s = rk_strategy_defaults(&model);
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "--moe-router-topk 1 ");
    assert_holds(text, "--moe-router-pre-softmax");
}

/*
 * The pattern of Nemotron 3 Super is that of Megatron-LM's functional test
 * nemotron3_super_release_gb200.  Stages of a pattern may have different numbers of layers.
 */
static void test_hybrids(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    rk_model model = model_of("nemotron-3-super-120b");
    rk_strategy s = rk_strategy_defaults(&model);
    model.mtp_layers = 2;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "--spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec ");
    assert_holds(text, "--hybrid-layer-pattern \"MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*"
                       "EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME/*E/*E\"");
    assert_holds(text, "--position-embedding-type none");
    assert_holds(text, "--moe-latent-size 1024");
    assert_holds(text, "\"$PRETRAIN\" \\");
    s.mtp_before_head = true;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "--mtp-before-head"));

    model = model_of("nemotron-h-56b"); /* 118 layers, uneven over four stages */
    s = rk_strategy_defaults(&model);
    s.pp = 4;
    s.tp = s.global_batch = 8;
    assert_true(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, NULL));
    assert_false(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MINDSPEED, NULL));
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    static const size_t stages[] = {30, 30, 29, 29};
    const char *at = strstr(text, "--hybrid-layer-pattern \"");
    assert_non_null(at);
    at += strlen("--hybrid-layer-pattern \"");
    for (int stage = 0, layer = 0; stage < 4; stage++) {
        assert_int_equal(strcspn(at, "|\""), stages[stage]);
        for (size_t i = 0; i < stages[stage]; i++) {
            assert_int_equal(at[i], "M-*"[model.type_of[layer++]]);
        }
        at += stages[stage] + 1;
    }
    assert_null(strstr(text, "--decoder-"));
}

/* Layers of two parts are two blocks of a pattern; Megatron-LM counts them as such. */
static void test_blocks(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    rk_model model = model_of("llama3-8b");
    cut_layers(&model, 4);
    model.types[1] = model.types[0];
    model.types[1].mixer = &rk_mixer_mamba2;
    model.types[1].attention = (rk_attention_shape){0};
    model.types[1].recurrence = (rk_recurrence_shape){.heads = 128,
                                                      .key_heads = 8,
                                                      .key_size = 128,
                                                      .value_size = 64,
                                                      .conv_width = 4,
                                                      .conv_bias = true,
                                                      .chunk = 256};
    model.type_count = 2;
    model.type_of[0] = model.type_of[2] = 1;
    rk_strategy s = rk_strategy_defaults(&model);
    s.pp = s.global_batch = 2;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "--num-layers 8 ");
    assert_holds(text, "--hybrid-layer-pattern \"M-*-|M-*-\"");
    assert_holds(text, "--position-embedding-type rope"); /* its attention has positions */
    assert_int_equal(notes.count, 1);                     /* chunks of 256 tokens */
    s.recompute = RK_REC_FULL;
    s.recompute_layers = 1;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "--recompute-layers"));
    s = rk_strategy_defaults(&model);
    model.types[1].recurrence.conv_width = 3;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "the width of the convolutions"));
}

/* A delta rule in most layers, by a number or by a list; keys that an indexer picks. */
static void test_variants(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    rk_model model = model_of("qwen3-next-80b-a3b");
    rk_strategy s = rk_strategy_defaults(&model);
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "--experimental-attention-variant gdn ");
    assert_holds(text, "--linear-attention-freq 4 ");
    assert_holds(text, "--linear-num-value-heads 32 ");
    assert_holds(text, "--attention-output-gate");
    assert_holds(text, " pretrain_gpt.py ");
    model.type_of[47] = model.type_of[0];
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "--linear-attention-freq \"([1]*3+[0]*1+[1]*3+");
    model = model_of("deepseek-v3.2");
    s = rk_strategy_defaults(&model);
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "--experimental-attention-variant dsa ");
    assert_holds(text, "--dsa-indexer-topk 2048 ");
    assert_holds(text, "--no-rope-fusion");
    s.cp = 2;
    assert_false(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, NULL));
    s.cp_kind = RK_CP_ALL_GATHER;
    assert_true(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, NULL));
}

/* A model that would come out as another one is refused, by the part that is missing. */
static void test_other_models(void **state)
{
    (void)state;
    static char text[MOST];
    static const char *const cases[][2] = {
        {"gemma3-27b", "the norms of a layer"},
        {"falcon-40b", "side by side"},
        {"bloom-176b", "norm of the embedding"},
        {"gemma-7b", "not SwiGLU"},
        {"llama4-maverick", "fixed chunks"},
        {"olmo2-7b", "over all heads"},
        {"opt-6.7b", "neither GELU"},
        {"dbrx", "lack a gain or a bias"},
        {"glm-5.2", "layers that share an indexer"},
        {"minimax-m3", "indexer of blocks of keys"},
        {"falcon-h1-34b", "state space side by side"},
        {"lfm2-1.2b", "short convolutions"},
        {"minimax-text-01", "lightning attention"},
        {"deepseek-v4-flash", "compressed attention"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_error err;
        const rk_model model = model_of(cases[i][0]);
        const rk_strategy s = rk_strategy_defaults(&model);
        if (launch(&model, "dgx-h100-superpod", &s, text, &err) != RK_ERR_INVALID) {
            fail_msg("%s is written", cases[i][0]);
        }
        assert_holds(err.message, cases[i][1]);
        assert_holds(err.message, model.name);
    }
}

static void test_start(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    const rk_model model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.global_batch = 32;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_memory_equal(text, "#!/bin/bash\n# a title\n", 22);
    assert_holds(text, "NNODES=${NNODES:-4}\nNODE_RANK=${NODE_RANK:-0}\n"
                       "MASTER_ADDR=${MASTER_ADDR:-localhost}\nMASTER_PORT=${MASTER_PORT:-29500}\n"
                       "GPUS_PER_NODE=${GPUS_PER_NODE:-8}\n");
    assert_holds(text, "\n    --bf16 \\\n    --cross-entropy-loss-fusion \\\n    \"$@\"\n");
    assert_null(strstr(text, "SLURM"));
    assert_int_equal(launch_by(rk_launch_megatron_slurm, &model, "gb200-nvl72-pod", &s, text, &err),
                     RK_OK);
    assert_memory_equal(text,
                        "#!/bin/bash\n#SBATCH --job-name=llama3-8b\n#SBATCH --nodes=8\n"
                        "#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=4\n",
                        105);
    assert_holds(text, "srun torchrun --nnodes \"$NNODES\" ");
    assert_null(strstr(text, "NODE_RANK"));
}

static void test_places(void **state)
{
    (void)state;
    static char text[MOST];
    static const char *const cases[][2] = {{"tpu-v5p-pod", "MaxText"},
                                           {"trainium2", "NeuronX"},
                                           {"gaudi3", "DeepSpeed"},
                                           {"atlas-800t-a2", "MindSpeed"}};
    rk_launch_writer *const writers[] = {rk_launch_megatron, rk_launch_torchtitan};
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        rk_error err;
        const rk_model model = model_of("llama3-8b");
        const rk_strategy s = rk_strategy_defaults(&model);
        assert_int_equal(launch_by(writers[i % 2], &model, cases[i / 2][0], &s, text, &err),
                         RK_ERR_INVALID);
        assert_holds(err.message, i % 2 ? "torchtitan does not run" : "megatron does not run");
        assert_holds(err.message, cases[i / 2][1]);
    }
}

/* Parts of a strategy that have no argument are noted, or refused where memory depends on them. */
static void test_strategy_parts(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    const rk_model model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.document = 2048;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_int_equal(notes.count, 1);
    assert_holds(text,
                 "# Not expressed in this script: documents that attention does not cross.\n");
    s.document = 0;
    s.offload_activations = true;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_ERR_INVALID);
    assert_holds(err.message, "all activations");
    s.offload_activations = false;
    s.precision = RK_FP32;
    s.states.optimizer = 8; /* moments in fp32; weights are the master copy */
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_null(strstr(text, "--use-precision-aware-optimizer"));
    assert_null(strstr(text, "--exp-avg-dtype"));
    s.states.optimizer = 4; /* moments in bf16 */
    s.pp = 2;
    s.vp = 4;
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    s.pp_overlap = false;
    assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_null(strstr(text, "--bf16"));
    assert_holds(text, "--exp-avg-dtype bf16 \\\n    --exp-avg-sq-dtype bf16");
    assert_holds(text, "--no-overlap-p2p-communication");
}

/* ---- torchtitan ------------------------------------------------------------------------------ */

static void test_titan(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    const rk_model model = model_of("llama3.1-405b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 8;
    s.sp = s.tp_overlap = true;
    s.pp = 16;
    s.vp = 8;
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    s.count_embedding = s.count_head = true;
    s.dp = 4;
    s.global_batch = 128;
    s.sharding = RK_SHARD_ALL;
    s.replicas = 2;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_OK);
    assert_memory_equal(text, "# a title\n# torchtitan 0.2.2", 28);
    assert_holds(text, "\n[training]\nlocal_batch_size = 32\nglobal_batch_size = 128\n");
    assert_holds(text, "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 2\n"
                       "fsdp_reshard_after_forward = \"always\"\ntensor_parallel_degree = 8\n"
                       "enable_async_tensor_parallel = true\npipeline_parallel_degree = 16\n"
                       "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
                       "pipeline_parallel_microbatch_size = 1\n"
                       "pipeline_parallel_layers_per_stage = 1\n"
                       "pipeline_parallel_first_stage_less_layers = 1\n"
                       "pipeline_parallel_last_stage_less_layers = 1\n");
    assert_holds(text, "[activation_checkpoint]\nmode = \"none\"\n");
    assert_int_equal(notes.count, 0);
    s.replicas = 8;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "dp 4 has no 8 equal parts"));
    s.replicas = 1;
    s.sharding = RK_SHARD_OPTIMIZER;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "does not shard the optimizer alone"));
    s.sharding = RK_SHARD_ALL;
    s.recompute = RK_REC_SELECTIVE;
    s.recompute_modules = RK_MODULE_NORM;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_ERR_INVALID);
    s.recompute_modules = RK_MODULE_OPERATORS;
    s.precision = RK_FP8;
    s.states.gather = 1;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_OK);
    assert_holds(text, "mode = \"selective\"\nselective_ac_option = \"op\"\n");
    assert_holds(text, "[quantize.linear.float8]\nenable_fsdp_float8_all_gather = true\n");
    assert_holds(text, "converters = [\"quantize.linear.float8\"]\n");
    s.fp8_recipe = RK_FP8_DELAYED;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "not in fp8 delayed"));
    s.fp8_recipe = RK_FP8_TENSORWISE;
    s.vp = 1;
    s.schedule = RK_SCHEDULE_ZB_H2;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "zb-h2; use gpipe"));
}

/* Experts lie within the ranks over which weights are sharded. */
static void test_titan_mesh(void **state)
{
    (void)state;
    static char text[MOST];
    rk_error err;
    const rk_model model = model_of("mixtral-8x7b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.sharding = RK_SHARD_ALL;
    s.dp = s.global_batch = 16;
    s.ep = 8;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_OK);
    s.replicas = 4;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_ERR_INVALID);
    assert_holds(err.message, "the 4 that share shards");
    s.replicas = 1;
    s.sharding = RK_SHARD_NONE; /* every rank is a replica */
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_ERR_INVALID);
    assert_holds(err.message, "the 1 that share shards");
}

/* Stages that torchtitan would not make by itself are listed, every module once. */
static void test_titan_stages(void **state)
{
    (void)state;
    static char text[MOST];
    static const int16_t layout[] = {1, 9, 9, 9, 4};
    rk_error err;
    const rk_model model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.sharding = RK_SHARD_ALL;
    s.global_batch = 40;
    s.pp = 5; /* 7, 7, 6, 6, 6 */
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_OK);
    assert_null(strstr(text, "layers_per_stage"));
    assert_null(strstr(text, "module_fqns"));
    assert_holds(text, "first_stage_less_layers = 0\n");
    s.vp = 3; /* 15 stages: 3 layers each would make 11, 2 would make 16 */
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_OK);
    assert_holds(text, "module_fqns_per_model_part = [\n    [\"tok_embeddings\", \"layers.0\", "
                       "\"layers.1\", \"layers.2\"],\n");
    assert_holds(text, "    [\"layers.30\", \"layers.31\", \"norm\", \"output\"],\n]\n");
    s.vp = 1;
    s.schedule = RK_SCHEDULE_1F1B;
    s.layout = layout;
    s.layout_count = 5;
    assert_int_equal(
        launch_by(rk_launch_torchtitan_python, &model, "dgx-h100-superpod", &s, text, &err), RK_OK);
    assert_holds(text, "    config.parallelism.module_fqns_per_model_part = [\n"
                       "    [\"tok_embeddings\", \"layers.0\"],\n    [\"layers.1\", ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipeline),       cmocka_unit_test(test_experts),
        cmocka_unit_test(test_hybrids),        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_variants),       cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_titan),          cmocka_unit_test(test_details),
        cmocka_unit_test(test_one_expert),     cmocka_unit_test(test_other_models),
        cmocka_unit_test(test_start),          cmocka_unit_test(test_places),
        cmocka_unit_test(test_strategy_parts), cmocka_unit_test(test_titan_stages),
        cmocka_unit_test(test_titan_mesh),     cmocka_unit_test(test_several_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
