/* SPDX-License-Identifier: Apache-2.0 */
/* Launch lines of the Megatron family, rule by rule. */
#include "launch/launch.h"
#include "launch/pipeline_layout.h"
#include "request/launch_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A small job, to which tests add flags. */
#define PRETRAIN                                                                                   \
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "               \
    "--num-attention-heads 16 --seq-length 2048 --micro-batch-size 2 --global-batch-size 64 "      \
    "--vocab-file v.json --bf16 "

typedef struct rule {
    const char *line;
    const char *field, *value; /* NULL: open */
} rule;

static void read_line(rk_launch *launch, const char *line, const char *release)
{
    rk_error err = {0};
    assert_int_equal(rk_launch_parse(line, strlen(line), "line", launch, &err), RK_OK);
    rk_launch_set_reader(launch, NULL, release);
    if (rk_launch_resolve(launch, &err)) {
        fail_msg("%s: %s", line, err.message);
    }
}

static void check(const rule *rules, size_t count, const char *release)
{
    for (size_t i = 0; i < count; i++) {
        rk_launch launch = {0};
        read_line(&launch, rules[i].line, release);
        const char *found = rk_launch_fact_of(&launch, rules[i].field);
        if (!found || !rules[i].value ? found != rules[i].value
                                      : strcmp(found, rules[i].value) != 0) {
            fail_msg("%s: %s is %s, not %s", rules[i].line, rules[i].field, found ? found : "open",
                     rules[i].value ? rules[i].value : "open");
        }
        rk_launch_clear(&launch);
    }
}

#define CHECK(rules)             check(rules, sizeof(rules) / sizeof((rules)[0]), NULL)
#define CHECK_AT(rules, release) check(rules, sizeof(rules) / sizeof((rules)[0]), release)

static void test_layout(void **state)
{
    static const rule rules[] = {
        {PRETRAIN, "tp", "1"},
        {PRETRAIN "--sequence-parallel", "sp", "false"},
        {PRETRAIN "--sequence-parallel --tensor-model-parallel-size 2", "sp", "true"},
        {PRETRAIN "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2",
         "vp", "2"},
        {PRETRAIN "--pipeline-model-parallel-size 5 --num-layers-per-virtual-pipeline-stage 1 "
                  "--account-for-embedding-in-pipeline-split "
                  "--account-for-loss-in-pipeline-split",
         "vp", "2"},
        {PRETRAIN "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 4", "vp",
         "4"},
        {PRETRAIN
         "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*3|(tt|)*2tL'",
         "vp", "2"},
        {PRETRAIN
         "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*3|(tt|)*2tL'",
         "layout", "3,2*2,1"},
        {PRETRAIN "--hybrid-layer-pattern 'M-|M*/*-' --pipeline-model-parallel-size 2", "layout",
         "2*2"},
        {PRETRAIN, "zero", "0"},
        {PRETRAIN "--use-distributed-optimizer", "zero", "1"},
        {PRETRAIN "--use-megatron-fsdp", "zero", "3"},
        {PRETRAIN "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", "zero", "2"},
        {PRETRAIN "--use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward", "zero", "2"},
        {PRETRAIN "--bf16 --use-torch-fsdp2", "gradients", "bf16"},
        {PRETRAIN "--bf16 --use-megatron-fsdp", "gradients", "bf16"},
        {PRETRAIN "--bf16 --use-megatron-fsdp --megatron-fsdp-main-grads-dtype fp32", "gradients",
         "fp32"},
        {PRETRAIN "--bf16 --use-distributed-optimizer", "gradients", "fp32"},
        {PRETRAIN "--use-distributed-optimizer --num-distributed-optimizer-instances 2", "hsdp",
         "2"},
        {PRETRAIN "--context-parallel-size 2", "cp_kind", "p2p"},
        {PRETRAIN "--context-parallel-size 2 --cp-comm-type a2a", "cp_kind", "a2a"},
        {PRETRAIN "--context-parallel-size 1 --cp-comm-type a2a", "cp_kind", NULL},
    };
    (void)state;
    CHECK(rules);
}

static void test_batch(void **state)
{
    static const rule rules[] = {
        {PRETRAIN "--rampup-batch-size 16 16 1000", "global_batch", "64"},
        {"pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 2 "
         "--micro-batch-size 4 --step-batch-size-schedule 0:16 2B:128",
         "global_batch", "128"},
        {"pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 2 "
         "--micro-batch-size 4",
         "accumulation", "1"},
    };
    (void)state;
    CHECK(rules);
}

static void test_precision(void **state)
{
    static const rule rules[] = {
        {PRETRAIN, "gradients", "fp32"},
        {PRETRAIN "--grad-reduce-in-bf16", "gradients", "bf16"},
        {PRETRAIN "--main-grads-dtype bf16", "gradients", "fp32"},
        {PRETRAIN "--main-grads-dtype bf16 --use-precision-aware-optimizer", "gradients", "bf16"},
        {PRETRAIN "--exp-avg-dtype bf16 --use-precision-aware-optimizer", "states.exp_avg", "bf16"},
        {PRETRAIN "--exp-avg-dtype bf16", "states.exp_avg", "fp32"},
        {"pretrain_gpt.py --num-layers 2 --fp16", "gradients", "fp16"},
        {"pretrain_gpt.py --num-layers 2 --fp16 --accumulate-allreduce-grads-in-fp32", "gradients",
         "fp32"},
        {"pretrain_gpt.py --num-layers 2", "precision", "fp32"},
        {PRETRAIN "--fp8-format hybrid", "fp8.recipe", "delayed"},
        {PRETRAIN "--fp8-recipe blockwise", "fp8.recipe", NULL},
        {PRETRAIN "--fp8-hybrid", "fp8.format", "hybrid"},
        {PRETRAIN "--fp4-format e2m1", "fp4.recipe", "nvfp4"},
    };
    (void)state;
    CHECK(rules);
}

static void test_recompute(void **state)
{
    static const rule rules[] = {
        {PRETRAIN, "recompute.granularity", "none"},
        {PRETRAIN "--recompute-activations", "recompute.granularity", "selective"},
        {PRETRAIN "--recompute-granularity selective", "recompute.modules", "core_attn"},
        {PRETRAIN "--recompute-granularity selective --recompute-modules moe_act layernorm",
         "recompute.modules", "moe_act+layernorm"},
        {PRETRAIN "--recompute-granularity full --recompute-method block --recompute-num-layers 3",
         "recompute.layers", "3"},
        {PRETRAIN "--recompute-method block --recompute-num-layers 3", "recompute.layers", NULL},
    };
    (void)state;
    CHECK(rules);
}

static void test_overlap(void **state)
{
    static const rule rules[] = {
        {PRETRAIN, "overlap", "none"},
        {PRETRAIN "--overlap-grad-reduce --overlap-param-gather", "overlap", "grad+param"},
        {PRETRAIN "--tp-comm-overlap --tensor-model-parallel-size 2", "overlap", "none"},
        {PRETRAIN "--tp-comm-overlap --tensor-model-parallel-size 2 --sequence-parallel", "overlap",
         "tp"},
        {PRETRAIN "--pipeline-model-parallel-size 2", "overlap", "none"},
        {PRETRAIN "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2",
         "overlap", "pp"},
        {PRETRAIN "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
                  "--no-overlap-p2p-communication",
         "overlap", "none"},
    };
    (void)state;
    CHECK(rules);
}

static void test_kernels(void **state)
{
    static const rule rules[] = {
        {PRETRAIN, "attention", "auto"},
        {PRETRAIN "--transformer-impl local", "attention", "unfused"},
        {PRETRAIN "--transformer-impl local --use-flash-attn", "attention", "flash"},
        {PRETRAIN "--attention-backend local", "attention", "unfused"},
        {PRETRAIN "--attention-backend AttnBackend.fused", "attention", "fused"},
        {PRETRAIN "--cross-entropy-loss-fusion", "loss", "fused native"},
        {PRETRAIN "--cross-entropy-loss-fusion --cross-entropy-fusion-impl te", "loss", "fused te"},
        {PRETRAIN "--external-cuda-graph", "graphs", "transformer_engine"},
        {PRETRAIN "--external-cuda-graph --cuda-graph-scope attn mlp", "graph_modules", "attn+mlp"},
        {PRETRAIN "--enable-cuda-graph --cuda-graph-scope full_iteration", "graphs",
         "full_iteration"},
        {PRETRAIN "--cuda-graph-impl transformer_engine --cuda-graph-modules [attn,moe_router]",
         "graph_modules", "attn+moe_router"},
        {PRETRAIN "--cuda-graph-impl full_iteration", "graphs", "full_iteration"},
        {PRETRAIN, "dropout", "0.1+0.1"},
        {PRETRAIN "--hidden-dropout 0 --attention-dropout 0.0", "dropout", "none"},
        {PRETRAIN "--optimizer-cpu-offload --optimizer-offload-fraction 0.5", "offload",
         "optimizer fraction 0.5"},
        {PRETRAIN "--optimizer-cpu-offload --cpu-offloading-num-layers 2", "offload",
         "optimizer+activations"},
        {PRETRAIN "--cpu-offloading-num-layers 0", "offload", "none"},
    };
    (void)state;
    CHECK(rules);
}

static void test_experts(void **state)
{
    static const rule rules[] = {
        {PRETRAIN, "dispatcher", NULL},
        {PRETRAIN "--num-experts 8", "dispatcher", "allgather"},
        {PRETRAIN "--num-experts 8 --moe-token-dispatcher-type flex", "dispatcher", "flex/deepep"},
        {PRETRAIN "--num-experts 8 --moe-token-dispatcher-type flex "
                  "--moe-flex-dispatcher-backend hybridep",
         "dispatcher", "flex/hybridep"},
        {PRETRAIN "--num-experts 8 --tensor-model-parallel-size 2", "etp", "2"},
        {PRETRAIN "--num-experts 8 --tensor-model-parallel-size 2 --expert-tensor-parallel-size 1",
         "etp", "1"},
        {PRETRAIN "--num-experts 8", "model.topk", "2"},
        {PRETRAIN "--num-experts 8", "model.moe_ffn", "4096"},
        {PRETRAIN "--moe-router-topk 4", "model.topk", NULL},
        {PRETRAIN "--num-experts 8 --moe-layer-freq [0]*2+[1]*6", "model.moe_layer_freq",
         "([0]*2+[1]*6)"},
        {PRETRAIN "--num-experts 8 --moe-grouped-gemm", "grouped_gemm", "true"},
    };
    (void)state;
    CHECK(rules);
}

static void test_model(void **state)
{
    static const rule rules[] = {
        {PRETRAIN, "model.ffn", "4096"},
        {PRETRAIN "--swiglu", "model.ffn", "2688"},
        {PRETRAIN, "model.tied", "true"},
        {PRETRAIN "--untie-embeddings-and-output-weights", "model.tied", "false"},
        {PRETRAIN "--num-query-groups 4", "model.kv_heads", "16"},
        {PRETRAIN "--num-query-groups 4 --group-query-attention", "model.kv_heads", "4"},
        {PRETRAIN "--group-query-attention", "model.kv_heads", "1"},
        {PRETRAIN, "model.vocab_unpadded", "50257"},
        {PRETRAIN, "model.vocab", "50304"},
        {PRETRAIN "--tensor-model-parallel-size 8", "model.vocab", "51200"},
        {PRETRAIN "--vocab-size 1000 --make-vocab-size-divisible-by 64", "model.vocab", "1024"},
        {PRETRAIN "--padded-vocab-size 777", "model.vocab", "777"},
        {PRETRAIN "--tokenizer-model /models/Meta-Llama-3.1-8B", "model.vocab", "128256"},
        {PRETRAIN "--tokenizer-model /models/Qwen2.5-7B/tokenizer.json", "model.vocab_unpadded",
         "151665"},
        {PRETRAIN "--multi-latent-attention", "model.mla.kv_lora", "32"},
        {PRETRAIN "--multi-latent-attention --kv-lora-rank 512", "model.mla.kv_lora", "512"},
        {PRETRAIN "--kv-lora-rank 512", "model.mla.kv_lora", NULL},
        {PRETRAIN "--hybrid-layer-pattern 'M-M*|E-/*E'", "model.layers", "6"},
    };
    (void)state;
    CHECK(rules);
}

/* Defaults that releases have changed. */
static void test_releases(void **state)
{
    static const rule old[] = {
        {PRETRAIN "--use-megatron-fsdp", "zero", "0"},
        {PRETRAIN "--bf16 --use-megatron-fsdp", "gradients", "fp32"},
        {PRETRAIN "--tokenizer-type NullTokenizer --vocab-size 1023", "model.vocab", "1024"},
        {PRETRAIN "--tokenizer-type NullTokenizer --vocab-size 1024", "model.vocab", "1152"},
        {PRETRAIN, "attention", "auto"},
    };
    static const rule older[] = {
        {PRETRAIN, "attention", "unfused"},
        {PRETRAIN "--use-flash-attn", "attention", "flash"},
    };
    static const rule newest[] = {
        {PRETRAIN "--tokenizer-type NullTokenizer --vocab-size 1024", "model.vocab", "1024"},
    };
    (void)state;
    CHECK_AT(old, "core 0.12.1");
    CHECK_AT(old, "core_v0.15.0");
    CHECK_AT(older, "0.5");
    CHECK_AT(older, "v0.4.0");
    CHECK_AT(newest, "2026-08-22 (core 0.19+)");
}

/* ---- frameworks that build on it ------------------------------------------------------------- */

#define DEEPSPEED                                                                                  \
    "deepspeed pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 "          \
    "--seq-length 1024 --micro-batch-size 1 --global-batch-size 8 --fp16 --deepspeed "

#define ASCEND PRETRAIN "--use-fused-rmsnorm --use-flash-attn --use-distributed-optimizer "

#define SLIME                                                                                      \
    "ray job submit -- python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 "          \
    "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --vocab-size 1000 "                  \
    "--rollout-batch-size 16 --n-samples-per-prompt 8 "

#define SWIFT "NPROC_PER_NODE=4 megatron sft --model Qwen/Qwen3-8B "

#define VERL                                                                                       \
    "python3 -m verl.trainer.main_ppo data.train_batch_size=64 data.max_prompt_length=512 "        \
    "data.max_response_length=1536 actor_rollout_ref.rollout.n=4 "                                 \
    "actor_rollout_ref.actor.ppo_mini_batch_size=16 trainer.nnodes=2 trainer.n_gpus_per_node=8 "   \
    "actor_rollout_ref.model.path=Qwen/Qwen3-8B "

static void test_deepspeed(void **state)
{
    static const rule rules[] = {
        {DEEPSPEED, "attention", "unfused"},
        {DEEPSPEED "--use-flash-attn-v2", "attention", "flash"},
        {DEEPSPEED "--zero-stage 2", "zero", "2"},
        {DEEPSPEED "--zero-stage 3 --remote-device nvme", "nvme", "weights"},
        {DEEPSPEED "--zero-stage 3 --remote-device cpu", "nvme", NULL},
        {DEEPSPEED "--zero-stage 3 --remote-device cpu", "offload", "weights"},
        {DEEPSPEED "--cpu-optimizer", "offload", "optimizer"},
        {DEEPSPEED "--deepspeed-activation-checkpointing", "recompute.granularity", "none"},
        {DEEPSPEED "--checkpoint-activations", "recompute.granularity", "full"},
        {DEEPSPEED "--num-experts 1", "model.experts", NULL},
        {DEEPSPEED "--num-experts 64 128", "model.experts", "64"},
        {DEEPSPEED "--num-experts 64 128", "model.topk", "1"},
        {DEEPSPEED "--num-experts 64", "model.moe_layer_freq", "2"},
        {DEEPSPEED "--pad-vocab-size-to 250880", "model.vocab", "250880"},
        {DEEPSPEED "--ds-sequence-parallel-size 2", "cp_kind", "ulysses"},
        {DEEPSPEED "--no-pipeline-parallel --pipeline-model-parallel-size 4", "pp", "1"},
        {DEEPSPEED "--pp-partition-method 'type:transformer|embedding'", "count_head", "true"},
    };
    (void)state;
    CHECK(rules);
}

/* A DeepSpeed JSON that the line names decides. */
static void test_deepspeed_json(void **state)
{
    static const char record[] =
        "{\"argv\": [\"deepspeed\", \"pretrain_gpt.py\", \"--num-layers\", \"4\", "
        "\"--hidden-size\", "
        "\"512\", \"--num-attention-heads\", \"8\", \"--deepspeed\", \"--zero-stage\", \"1\"], "
        "\"config\": {\"zero_optimization\": {\"stage\": 3, \"overlap_comm\": false, "
        "\"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": "
        "\"nvme\"}}, \"bf16\": {\"enabled\": true}, "
        "\"data_types\": {\"grad_accum_dtype\": \"bf16\"}}}";
    static const char *const rows[][2] = {{"zero", "3"},         {"precision", "bf16"},
                                          {"gradients", "bf16"}, {"overlap", "none"},
                                          {"nvme", "weights"},   {"offload", "optimizer+weights"}};
    rk_launch launch = {0};
    (void)state;
    read_line(&launch, record, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(rk_launch_fact_of(&launch, rows[i][0]), rows[i][1]);
    }
    rk_launch_clear(&launch);
}

static void test_ascend(void **state)
{
    static const rule rules[] = {
        {ASCEND, "attention", "flash"},
        {PRETRAIN "--use-fused-rmsnorm", "attention", "unfused"},
        {PRETRAIN "--use-fused-rmsnorm --context-parallel-size 2", "attention", "flash"},
        {ASCEND "--context-parallel-size 2", "cp_kind", "megatron_cp_algo"},
        {ASCEND "--context-parallel-size 2 --context-parallel-algo ulysses_cp_algo", "cp_kind",
         "ulysses_cp_algo"},
        {ASCEND "--use-ascend-mc2 --overlap-grad-reduce", "overlap", "grad+tp"},
        {ASCEND "--moe-fb-overlap --moe-alltoall-overlap-comm", "overlap", "moe"},
        {ASCEND "--swap-optimizer --swap-attention", "offload", "optimizer (swapped)+activations"},
        {ASCEND "--noop-layers 6,7", "model.layers_real", "6"},
        {ASCEND "--noop-layers 6,7 --pipeline-model-parallel-size 4", "layout", "2,2,2,0"},
        {ASCEND "--noop-layers 0,7 --pipeline-model-parallel-size 2 "
                "--num-layers-per-virtual-pipeline-stage 2",
         "layout", "1,2,2,1"},
        {ASCEND "--noop-layers 0,99,x,0 --pipeline-model-parallel-size 2", "model.layers_real",
         "7"},
        {ASCEND "--lora-target-modules linear_fc1 linear_fc2", "lora_modules", "mlp"},
        {ASCEND "--lora-target-modules linear_q_up_proj", "lora_modules", "attention"},
        {ASCEND "--schedules-method dualpipev", "schedule", "dualpipe-v"},
        {ASCEND "--num-experts 8 --n-shared-experts 2 --moe-ffn-hidden-size 256",
         "model.shared_ffn", "512"},
        {ASCEND "--num-experts 8 --tensor-model-parallel-size 4 --moe-tp-extend-ep "
                "--expert-model-parallel-size 2",
         "ep_effective", "8"},
        {ASCEND "--lora-target-modules linear_qkv linear_proj", "lora", "16"},
        {ASCEND "--loss-compute-mode chunk", "loss", "chunked"},
        {ASCEND "--moe-zero-memory level1 --recompute-activation-function", "recompute_extra",
         "recompute-activation-function+moe-zero-memory level1"},
        {ASCEND "--o2-gradient", "gradients", "bf16"},
    };
    (void)state;
    CHECK(rules);
}

#define VERL_SFT                                                                                   \
    "torchrun --nproc_per_node 8 -m verl.trainer.sft_trainer model.path=Qwen/Qwen3-8B "            \
    "data.train_batch_size=96"

static void test_reinforcement(void **state)
{
    static const rule rules[] = {
        {SLIME, "nodes", "2"},
        {SLIME, "samples_per_rollout", "128"},
        {SLIME, "global_batch", "128"},
        {SLIME "--num-steps-per-rollout 2", "global_batch", "64"},
        {SLIME "--global-batch-size 32", "global_batch", "32"},
        {SLIME, "micro_batch", "1"},
        {SLIME "--use-dynamic-batch-size --max-tokens-per-gpu 4096", "micro_batch", NULL},
        {SLIME "--use-dynamic-batch-size --max-tokens-per-gpu 4096", "max_tokens_per_gpu", "4096"},
        {SLIME, "zero", "1"},
        {SLIME "--num-experts 8 --moe-token-dispatcher-type allgather", "dispatcher", "alltoall"},
        {SLIME "--context-parallel-size 2 --allgather-cp", "cp_kind", "all_gather"},
        {VERL, "samples_per_step", "256"},
        {VERL, "global_batch", "64"},
        {VERL, "seq", "2048"},
        {VERL, "zero", "3"},
        {VERL, "recompute.granularity", "full"},
        {VERL "actor_rollout_ref.actor.fsdp_config.fsdp_size=8", "hsdp", "2"},
        {VERL "actor_rollout_ref.actor.ulysses_sequence_parallel_size=4", "cp", "4"},
        {VERL "actor_rollout_ref.actor.strategy=megatron "
              "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2",
         "sp", "true"},
        {VERL "actor_rollout_ref.actor.strategy=megatron", "recompute.granularity", "none"},
        {VERL "--config-name=ppo_megatron_trainer", "zero", "1"},
        {VERL "actor_rollout_ref.model.use_fused_kernels=True", "loss", "fused"},
        {VERL, "model.layers", "36"},
        {VERL_SFT, "global_batch", "96"},
        {VERL_SFT, "seq", "1024"},
        {VERL_SFT, "model.hidden", "4096"},
    };
    (void)state;
    CHECK(rules);
}

static void test_swift(void **state)
{
    static const rule rules[] = {
        {SWIFT, "recompute.granularity", "selective"},
        {SWIFT, "global_batch", "16"},
        {SWIFT, "loss", "fused native"},
        {SWIFT, "etp", "1"},
        {SWIFT "--tensor_model_parallel_size 2 --sequence_parallel true", "sp", "true"},
        {SWIFT "--tensor_model_parallel_size 2 --sequence_parallel false", "sp", "false"},
        {SWIFT "--tuner_type lora", "lora", "8"},
        {SWIFT "--lora_rank 64", "lora", "none"},
        {SWIFT "--tuner_type lora --target_modules all-linear", "lora_modules", "attention+mlp"},
        {SWIFT "--tuner_type lora --target_modules q_proj v_proj", "lora_modules", "attention"},
        {SWIFT "--packing true", "packing", "true"},
        {SWIFT "--optimizer_cpu_offload true --optimizer_offload_fraction 0.25", "offload",
         "optimizer fraction 0.25"},
        {SWIFT "--cross_entropy_loss_fusion false", "loss", "unfused"},
        {"megatron rlhf --tensor_model_parallel_size 4 --external_plugins plugin.py", "tp", "4"},
        {SWIFT, "model.hidden", "4096"},
    };
    (void)state;
    CHECK(rules);
}

/* ---- which framework it is ------------------------------------------------------------------- */

static void test_readers(void **state)
{
    static const char *const rows[][2] = {
        {PRETRAIN, "megatron-lm"},
        {DEEPSPEED, "megatron-deepspeed"},
        {ASCEND, "mindspeed"},
        {ASCEND "--handler-name GeneralPretrainHandler", "mindspeed-llm"},
        {PRETRAIN "--patch-tokenizer-type Qwen2Tokenizer --extra-vocab-size 293",
         "pai-megatron-patch"},
        {SLIME, "slime"},
        {VERL, "verl"},
        {SWIFT, "ms-swift-megatron"},
        {"--num-layers 2 --hidden-size 64 --num-attention-heads 2 --train-iters 5", "megatron-lm"},
        /* a folder as in OLMo-core */
        {"python scripts/train/pretrain_gpt.py --num-layers 2 --hidden-size 64 "
         "--num-attention-heads 2 --train-iters 5",
         "megatron-lm"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_launch launch = {0};
        read_line(&launch, rows[i][0], NULL);
        assert_string_equal(launch.reader->name, rows[i][1]);
        rk_launch_clear(&launch);
    }
}

/* ---- settings -------------------------------------------------------------------------------- */

/* Dropout of 0.1 is Megatron's, and a setting; without it there is none. */
static void test_dropout(void **state)
{
    static const struct {
        const char *line;
        bool drops;
    } rows[] = {{PRETRAIN, true}, {PRETRAIN "--hidden-dropout 0 --attention-dropout 0", false}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_launch launch = {0};
        read_line(&launch, rows[i].line, NULL);
        const char *set = rk_launch_settings_text(&launch, "megatron", NULL, NULL);
        assert_int_equal(set && strstr(set, "dropout=true"), rows[i].drops);
        rk_launch_clear(&launch);
    }
}

/* ---- documents ------------------------------------------------------------------------------- */

static void test_documents(void **state)
{
    static const struct {
        const char *line, *part; /* of the document; NULL: there is none */
    } rows[] = {
        {PRETRAIN, "\"layers\":8"},
        {PRETRAIN, "\"vocab\":50304"},
        {PRETRAIN "--tokenizer-type HuggingFaceTokenizer --tokenizer-model /own", NULL},
        {PRETRAIN "--hybrid-layer-pattern M-M-ME*E", "\"mixer\":\"mamba2\""},
        {PRETRAIN "--hybrid-layer-pattern M-D", NULL},
        {PRETRAIN "--is-hybrid-model", NULL},
        {PRETRAIN "--is-hybrid-model --hybrid-layer-pattern M", "\"mixer\":\"mamba2\""},
        {PRETRAIN "--linear-attention-freq 4 --experimental-attention-variant gated_delta_net",
         "\"pattern\":[1,1,1,0,1,1,1,0]"},
        {PRETRAIN "--multi-latent-attention --kv-lora-rank 64 --mtp-num-layers 1",
         "\"mtp_layers\":1"},
        {PRETRAIN "--num-experts 8 --moe-layer-freq '([0]*1+[1]*7)'", "\"pattern\":[0,1,1,1,"},
        {PRETRAIN "--num-experts 8 --moe-layer-freq '([0]*1+[1]*9)'", NULL},
        {DEEPSPEED "--num-experts 8", "\"pattern\":[0,1,0,1]"},
        {ASCEND "--num-experts 8 --first-k-dense-replace 1 --noop-layers 7",
         "\"pattern\":[0,1,1,1,1,1,1]"},
        {ASCEND "--full-attention-interval 4", "gated_delta"},
        {ASCEND "--multi-latent-attention --enable-dsa-indexer --index-topk 512",
         "\"index_heads\":64,\"index_size\":128,\"index_keys\":512"},
        {ASCEND "--interleave-sliding-window 1024", "\"pattern\":[1,0,1,0,1,0,1,0]"},
        {SWIFT, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_launch launch = {0};
        read_line(&launch, rows[i].line, NULL);
        const char *found = rk_launch_fact_of(&launch, "model.document");
        if (rows[i].part ? !found || !strstr(found, rows[i].part) : found != NULL) {
            fail_msg("%s: the document is %s", rows[i].line, found ? found : "open");
        }
        rk_launch_clear(&launch);
    }
}

/* ---- strings --------------------------------------------------------------------------------- */

static void test_layout_strings(void **state)
{
    static const struct {
        const char *text;
        int stages;
    } rows[] = {
        {"Et*2|(tt|)*5t|tmL", 8},
        {"E|t|tL", 3},
        {"(t|)*3,tL", 4},
        {"((t|)*2t|)*2L", 7},
        {"Et*7|t*7mL", 2},
        {"", 0},
        {"E|x", 0},
        {"(t", 0},
        {"t)", 0},
        {"t*", 0},
        {"t*99999999999", 0},
        {"((((((((((t))))))))))", 0},
        {"(t*9999)*9999", 0},
        {"t*-1", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(rk_pipeline_layout_stages(rows[i].text), rows[i].stages);
    }
}

/* ---- what is not meant ----------------------------------------------------------------------- */

/* Lines of other things must not crash, nor be taken for more than they are. */
static void test_garbage(void **state)
{
    static const char *const lines[] = {
        PRETRAIN "--num-layers-per-virtual-pipeline-stage 0 --pipeline-model-parallel-size 0",
        PRETRAIN "--num-layers 999999999999999999999 --hidden-size -5 --num-attention-heads 0",
        PRETRAIN "--tensor-model-parallel-size 99999999999 --vocab-size 9999999999999999",
        PRETRAIN "--hybrid-layer-pattern |||| --pipeline-model-parallel-layout ((((",
        PRETRAIN "--step-batch-size-schedule ::: --cp-comm-type --recompute-modules",
        PRETRAIN "--num-experts x --moe-layer-freq '([0]*3'",
        PRETRAIN "--= --num-layers= --fp8-format",
        ASCEND "--noop-layers ,,,, --num-layer-list",
        SLIME "--rollout-batch-size 9999999999999 --n-samples-per-prompt -1",
        VERL "=1 ~x +actor_rollout_ref.actor.megatron=null data.max_response_length=1e300",
        DEEPSPEED "--num-experts 99999999999999999999 --zero-stage",
        SWIFT "--packing --target_modules",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        rk_launch launch = {0};
        rk_error err = {0};
        assert_int_equal(rk_launch_parse(lines[i], strlen(lines[i]), "line", &launch, &err), RK_OK);
        (void)rk_launch_resolve(&launch, &err);
        rk_launch_clear(&launch);
    }
}

/* Keys that cost and that nothing prices are named, those of generation too. */
static void test_unpriced(void **state)
{
    static const struct {
        const char *line, *key;
        rk_key_use use;
    } rows[] = {
        {PRETRAIN "--deterministic-mode", "deterministic-mode", RK_KEY_NOT_PRICED},
        {PRETRAIN "--log-interval 1", "log-interval", RK_KEY_WITHOUT_COST},
        {PRETRAIN "--attention-softmax-in-fp32", "attention-softmax-in-fp32", RK_KEY_WITHOUT_COST},
        {PRETRAIN "--attention-softmax-in-fp32 --attention-backend unfused",
         "attention-softmax-in-fp32", RK_KEY_NOT_PRICED},
        {PRETRAIN "--spec my.layers spec", "spec", RK_KEY_NOT_PRICED},
        {PRETRAIN "--vocab-size 1000 --tokenizer-model /own", "tokenizer-model",
         RK_KEY_WITHOUT_COST},
        {PRETRAIN "--tokenizer-type HuggingFaceTokenizer --tokenizer-model /own", "tokenizer-model",
         RK_KEY_NOT_PRICED},
        {PRETRAIN "--no-such-flag 1", "no-such-flag", RK_KEY_UNKNOWN},
        {VERL "actor_rollout_ref.rollout.name=vllm", "actor_rollout_ref.rollout.name",
         RK_KEY_NOT_PRICED},
        {VERL, "actor_rollout_ref.rollout.n", RK_KEY_USED},
        {"megatron rlhf --rlhf_type dpo --beta 0.1", "rlhf_type", RK_KEY_NOT_PRICED},
        {ASCEND "--use-fused-swiglu", "use-fused-swiglu", RK_KEY_WITHOUT_COST},
        {PRETRAIN, "num-layers", RK_KEY_USED},
        {PRETRAIN "--hybrid-override-pattern M-M*-MM-", "num-layers", RK_KEY_WITHOUT_COST},
        {PRETRAIN "--num-experts 8 --moe-token-dispatcher-type alltoall",
         "moe-token-dispatcher-type", RK_KEY_WITHOUT_COST},
        {PRETRAIN "--num-experts 8 --moe-token-dispatcher-type alltoall "
                  "--expert-model-parallel-size 8",
         "moe-token-dispatcher-type", RK_KEY_USED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_launch launch = {0};
        int use = -1;
        read_line(&launch, rows[i].line, NULL);
        for (size_t j = 0; j < launch.key_count; j++) {
            use = strcmp(launch.keys[j].name, rows[i].key) == 0 ? (int)launch.keys[j].use : use;
        }
        if (use != (int)rows[i].use) {
            fail_msg("%s: %s is of use %d, not %d", rows[i].line, rows[i].key, use,
                     (int)rows[i].use);
        }
        rk_launch_clear(&launch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),         cmocka_unit_test(test_batch),
        cmocka_unit_test(test_precision),      cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_overlap),        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_experts),        cmocka_unit_test(test_model),
        cmocka_unit_test(test_releases),       cmocka_unit_test(test_deepspeed),
        cmocka_unit_test(test_deepspeed_json), cmocka_unit_test(test_ascend),
        cmocka_unit_test(test_reinforcement),  cmocka_unit_test(test_swift),
        cmocka_unit_test(test_readers),        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_documents),      cmocka_unit_test(test_layout_strings),
        cmocka_unit_test(test_garbage),        cmocka_unit_test(test_unpriced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
