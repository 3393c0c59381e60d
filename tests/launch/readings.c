/* SPDX-License-Identifier: Apache-2.0 */
/* Launch lines of readers with options of their own: each option both ways, by what is stated. */
#include "launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct reading {
    const char *line;
    const char *facts; /* "field=value field=value"; without a value: open; "~" is a blank */
} reading;

/* Checks the facts of a launch in order, and says what is found where one differs. */
static int wrong_facts(const rk_launch *launch, const reading *row)
{
    int wrong = 0;
    for (const char *at = row->facts; *at;) {
        const size_t length = strcspn(at, " "), name = strcspn(at, "=");
        char field[64];
        (void)snprintf(field, sizeof(field), "%.*s", (int)name, at);
        const char *found = rk_launch_fact_of(launch, field), *value = at + name + 1;
        const size_t size = length - name - 1;
        bool same = size == 0 ? !found : found && strlen(found) == size;
        for (size_t i = 0; same && i < size; i++) {
            same = found[i] == (value[i] == '~' ? ' ' : value[i]);
        }
        if (!same) {
            print_error("%s: %.*s expected, %s found\n", row->line, (int)length, at,
                        found ? found : "nothing");
            wrong++;
        }
        at += length + (at[length] == ' ');
    }
    return wrong;
}

static void check(const reading *rows, size_t count)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        rk_launch launch = {0};
        rk_error err = {0};
        if (rk_launch_parse(rows[i].line, strlen(rows[i].line), "line", &launch, &err) ||
            rk_launch_resolve(&launch, &err)) {
            print_error("%s: %s\n", rows[i].line, err.message);
            wrong++;
        } else {
            wrong += wrong_facts(&launch, &rows[i]);
        }
        rk_launch_clear(&launch);
    }
    assert_int_equal(wrong, 0);
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

#define MAXTEXT "python3 -m MaxText.train MaxText/configs/base.yml "

static void test_maxtext(void **state)
{
    static const reading rows[] = {
        {MAXTEXT, "zero=3 overlap=grad+param dp= tp=1 cp=1 pp=1 sp=false micro_batch=12 seq=2048 "
                  "accumulation=1 optimizer=adamw loss=full~logits hsdp= vp=1 offload=none"},
        {MAXTEXT "ici_fsdp_parallelism=1", "zero=0 overlap=grad"},
        {MAXTEXT "ici_fsdp_parallelism=1 shard_optimizer_over_data=true", "zero=1 overlap=grad"},
        {MAXTEXT "pipeline_fsdp_ag_once=true", "zero=2 overlap=grad+param"},
        {MAXTEXT "ici_fsdp_parallelism=4 ici_data_parallelism=2 dcn_data_parallelism=3",
         "dp=24 hsdp=6"},
        {MAXTEXT "ici_fsdp_parallelism=4 ici_expert_parallelism=2 dcn_data_parallelism=1",
         "dp=8 ep=2 hsdp="},
        {MAXTEXT "ici_fsdp_parallelism=4 ici_data_parallelism=2", "dp= hsdp=2"},
        {MAXTEXT "ici_fsdp_parallelism=4 ici_tensor_parallelism=-1 ici_data_parallelism=2",
         "dp= hsdp="},
        {MAXTEXT "ici_tensor_sequence_parallelism=4 ici_tensor_parallelism=2", "tp=8 sp=true"},
        {MAXTEXT "ici_context_parallelism=2", "cp=2 cp_kind=all-gather"},
        {MAXTEXT "ici_context_parallelism=2 context_parallel_strategy=all_gather",
         "cp_kind=all-gather"},
        {MAXTEXT "ici_context_parallelism=2 context_parallel_strategy=ring", "cp_kind=ring"},
        {MAXTEXT "ici_sequence_parallelism=2 ici_context_parallelism=4", "cp=8"},
        {MAXTEXT "context_parallel_strategy=ring", "cp=1 cp_kind="},
        {MAXTEXT "ici_pipeline_parallelism=4 num_layers_per_pipeline_stage=2 "
                 "per_device_batch_size=2",
         "pp=4 vp=2 micro_batch=2 accumulation=4"},
        {MAXTEXT "ici_pipeline_parallelism=4 num_pipeline_repeats=3", "vp=3"},
        {MAXTEXT "ici_pipeline_parallelism=4 num_pipeline_repeats=0", "vp=4"},
        {MAXTEXT "ici_pipeline_parallelism=4 num_layers_per_pipeline_stage=99", "vp=1"},
        {MAXTEXT "ici_pipeline_parallelism=2 num_pipeline_microbatches=8 per_device_batch_size=4",
         "micro_batch=1 accumulation=8"},
        {MAXTEXT "ici_pipeline_parallelism=2 num_pipeline_microbatches=8 per_device_batch_size=4 "
                 "gradient_accumulation_steps=3",
         "micro_batch=1 accumulation=24"},
        {MAXTEXT "per_device_batch_size=0.5", "micro_batch="},
        {MAXTEXT "per_device_batch_size=0.5 ici_tensor_parallelism=4", "micro_batch=2"},
        {MAXTEXT "quantization=nvfp4", "fp4.recipe=nvfp4 fp8.recipe="},
        {MAXTEXT "quantization=fp8", "fp8.format=e4m3 fp8.recipe=tensorwise"},
        {MAXTEXT "quantization=te_mxfp8", "fp8.recipe=mxfp8"},
        {MAXTEXT "quantization=te_fp8_delayedscaling", "fp8.recipe=delayed"},
        {MAXTEXT "quantization=fp8_blockwise", "fp8.recipe=blockwise"},
        {MAXTEXT "quantization=int8", "fp8.format= fp4.recipe="},
        {MAXTEXT "remat_policy=none", "recompute.granularity=none recompute.policy=none"},
        {MAXTEXT "remat_policy=own", "recompute.granularity=policy recompute.modules="},
        {MAXTEXT "remat_policy=custom", "recompute.granularity=policy recompute.modules="},
        {MAXTEXT "remat_policy=custom decoder_layer_input=device qkv_proj=remat",
         "recompute.modules="},
        {MAXTEXT "remat_policy=custom context=device", "recompute.modules=norm,act,attn_proj,mlp"},
        {MAXTEXT "remat_policy=custom query_proj=device",
         "recompute.modules=norm,act,core_attn,attn_proj,mlp"},
        {MAXTEXT "remat_policy=custom key_proj=offload out_proj=device",
         "recompute.modules=norm,act,core_attn,mlp"},
        {MAXTEXT "remat_policy=custom value_proj=device mlpwi_0=device",
         "recompute.modules=norm,act,core_attn,attn_proj"},
        {MAXTEXT "remat_policy=custom qkv_proj=device mlpwi_1=device out_proj=device "
                 "context=device",
         "recompute.modules=norm,act"},
        {MAXTEXT "remat_policy=custom mlpwi=device",
         "recompute.modules=norm,act,core_attn,attn_proj"},
        {MAXTEXT "remat_policy=custom mlpwo=device",
         "recompute.modules=norm,act,core_attn,attn_proj,mlp"},
        {MAXTEXT "remat_policy=custom moe_mlpwo=device num_experts=8",
         "recompute.modules=norm,act,core_attn,attn_proj,moe"},
        {MAXTEXT "remat_policy=custom moe_mlpwi_0=device num_experts=8",
         "recompute.modules=norm,act,core_attn,attn_proj"},
        {MAXTEXT "optimizer_memory_host_offload=true parameter_memory_host_offload=true",
         "offload=optimizer+weights"},
        {MAXTEXT "remat_policy=minimal_offloaded optimizer_memory_host_offload=true",
         "offload=activations+optimizer"},
        {MAXTEXT "opt_type=ADAM_PAX num_vocab_tiling=4", "optimizer=adam_pax loss=chunked"},
        {MAXTEXT "num_vocab_tiling=1", "loss=full~logits"},
        {MAXTEXT "model_name=default", "model.hidden=2048 model.name="},
        {MAXTEXT "num_experts=8", "model.moe_ffn=7168"},
        {MAXTEXT "num_experts=8 base_moe_mlp_dim=512", "model.moe_ffn=512"},
        {MAXTEXT "model_name=llama3.1-8b base_emb_dim=512", "model.name= model.hidden=512"},
        {MAXTEXT "dtype=float32", "precision=fp32"},
    };
    (void)state;
    CHECK(rows);
}

#define ACCELERATE(flags)                                                                          \
    "accelerate launch --num_processes 8 " flags " sft.py --model_name_or_path Qwen/Qwen3-8B "     \
    "--dataset_name x"
#define FSDP "--use_fsdp "

static void test_accelerate(void **state)
{
    static const reading rows[] = {
        {ACCELERATE(FSDP), "zero=3 overlap=grad processes=8 nodes= dp=8 offload=none"},
        {ACCELERATE(FSDP "--fsdp_sharding_strategy 1"), "zero=3"},
        {ACCELERATE(FSDP "--fsdp_sharding_strategy 2"), "zero=2"},
        {ACCELERATE(FSDP "--fsdp_sharding_strategy 3"), "zero=0"},
        {ACCELERATE(FSDP "--fsdp_sharding_strategy shard_grad_op"), "zero=2 hsdp="},
        {ACCELERATE(FSDP "--fsdp_sharding_strategy NO_SHARD"), "zero=0"},
        {ACCELERATE(FSDP "--fsdp_sharding_strategy other"), "zero=3"},
        {ACCELERATE("--num_machines 2 " FSDP "--fsdp_sharding_strategy HYBRID_SHARD"),
         "zero=3 hsdp=2 gpus_per_node=4"},
        {ACCELERATE("--num_machines 2 " FSDP "--fsdp_sharding_strategy hybrid_shard_zero2"),
         "zero=2 hsdp=2"},
        {ACCELERATE("--num_machines 3 " FSDP), "nodes=3 gpus_per_node= hsdp="},
        {ACCELERATE(FSDP "--fsdp_reshard_after_forward false"), "zero=2"},
        {ACCELERATE(FSDP "--fsdp_reshard_after_forward true"), "zero=3"},
        {ACCELERATE(FSDP "--fsdp_reshard_after_forward NO_SHARD"), "zero=0"},
        {ACCELERATE(FSDP "--fsdp_version 2 --fsdp_reshard_after_forward false"),
         "zero=2 overlap=grad+param weights=fp32"},
        {ACCELERATE(FSDP "--fsdp_version 2 --fsdp_sharding_strategy NO_SHARD"), "zero=3"},
        {ACCELERATE(FSDP "--fsdp_offload_params true"), "offload=optimizer+weights"},
        {ACCELERATE(FSDP "--fsdp_backward_prefetch BACKWARD_PRE"), "overlap=grad+param"},
        {ACCELERATE(FSDP "--fsdp_backward_prefetch no_prefetch"), "overlap=grad"},
        {ACCELERATE(FSDP "--fsdp_forward_prefetch true"), "overlap=grad+param"},
        {ACCELERATE(FSDP "--fsdp_forward_prefetch=false"), "overlap=grad"},
        {ACCELERATE(FSDP "--fsdp_activation_checkpointing true"), "recompute.granularity=full"},
        {ACCELERATE("--mixed_precision fp16"), "precision=fp16 fp8.format="},
        {ACCELERATE("--mixed_precision fp8"),
         "precision=bf16 fp8.format=hybrid fp8.recipe=delayed"},
        {ACCELERATE("--mixed_precision fp8 --fp8_format E4M3"), "fp8.format=e4m3"},
        {ACCELERATE("--dynamo_backend inductor"), "compile=true"},
        {ACCELERATE("--dynamo-backend no"), "compile=false"},
        {ACCELERATE("--use_deepspeed"), "zero=2 overlap=none offload=none"},
        {ACCELERATE("--use_deepspeed --zero_stage 3 --offload_param_device cpu"),
         "zero=3 overlap=grad+param offload=weights"},
        {ACCELERATE("--use_deepspeed --zero_stage 9"), "zero=2"},
        {ACCELERATE("--use_deepspeed --zero_stage 1"), "zero=1 overlap=none"},
        {ACCELERATE("--use_deepspeed --zero_stage 0"), "zero=0"},
        {ACCELERATE("--use_deepspeed --gradient_accumulation_steps 4"), "accumulation=4"},
        {ACCELERATE("--use_parallelism_config --parallelism_config_tp_size 2 "
                    "--parallelism_config_dp_replicate_size 2"),
         "tp=2 hsdp=2"},
        {ACCELERATE("--parallelism_config_cp_size 2"), "cp=2 cp_kind=all-gather"},
        {ACCELERATE(
             "--parallelism_config_cp_size 2 --parallelism_config_cp_comm_strategy alltoall"),
         "cp_kind=ring"},
        {ACCELERATE("--parallelism_config_cp_size 2 "
                    "--parallelism_config_cp_comm_strategy allgather"),
         "cp_kind=all-gather"},
        {ACCELERATE("--parallelism_config_dp_shard_size 4"), "zero=3"},
        {ACCELERATE("--parallelism_config_dp_shard_size 1"), "zero=0"},
    };
    (void)state;
    CHECK(rows);
}

#define TITAN                                                                                      \
    "torchrun --nproc_per_node 8 -m torchtitan.train --model.name llama3 --model.flavor 8B "

static void test_torchtitan(void **state)
{
    static const reading rows[] = {
        {TITAN, "precision=bf16 gradients=fp32 weights=fp32 weights_loaded_as= micro_batch=8 "
                "seq=2048 optimizer=adamw offload=none loss=full~logits overlap=grad+param"},
        {TITAN "--training.local_batch_size 4 --training.global_batch_size 64",
         "micro_batch=4 global_batch=64 accumulation=2"},
        {TITAN "--training.local_batch_size 4 --training.global_batch_size 8", "accumulation="},
        {TITAN "--training.local_batch_size 0", "micro_batch="},
        {TITAN "--training.batch_size 3", "micro_batch=3"},
        {TITAN "--parallelism.pipeline_parallel_degree 2 --training.local_batch_size 8",
         "micro_batch=1"},
        {TITAN "--parallelism.pipeline_parallel_degree 2 --training.local_batch_size 8 "
               "--parallelism.pipeline_parallel_microbatch_size 4 --training.global_batch_size 64",
         "micro_batch=4 accumulation=4"},
        {TITAN "--parallelism.pipeline_parallel_degree 2 --training.local_batch_size 2 "
               "--parallelism.pipeline_parallel_microbatch_size 4",
         "micro_batch=2"},
        {TITAN "--training.mixed_precision_param float32 --training.mixed_precision_reduce "
               "bfloat16",
         "precision=fp32 gradients=bf16"},
        {TITAN "--training.dtype bfloat16", "weights=bf16 weights_loaded_as=bf16"},
        {TITAN "--training.dtype float32", "weights=fp32 weights_loaded_as="},
        {TITAN "--model.converters float8",
         "fp8.format=e4m3 fp8.recipe=tensorwise fp8.param_gather="},
        {TITAN "--model.converters mx", "fp8.recipe=mxfp8"},
        {TITAN "--model.converters float8 --float8.enable_fsdp_float8_all_gather",
         "fp8.param_gather=true"},
        {TITAN "--activation_checkpoint.mode full", "recompute.granularity=full"},
        {TITAN "--activation_checkpoint.mode none", "recompute.granularity=none"},
        {TITAN
         "--activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option 2",
         "recompute.granularity=selective recompute.option=2"},
        {TITAN "--activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option "
               "op",
         "recompute.option=per~operator"},
        {TITAN "--optimizer.name Adam --training.enable_cpu_offload "
               "--optimizer.early_step_in_backward",
         "optimizer=adam offload=optimizer+weights optimizer_in_backward=true"},
        {TITAN "--compile.enable", "compile=model+loss"},
        {TITAN "--training.compile", "compile=model+loss"},
        {TITAN "--compile.enable --compile.components model", "compile=model"},
        {TITAN "--compile.enable --compile.components loss", "compile=loss"},
        {TITAN "--compile.enable --compile.components model,loss", "compile=model+loss"},
        {TITAN "--compile.enable --compile.components none", "compile=false"},
        {TITAN "--compile.components model", "compile=false"},
        {TITAN "--parallelism.enable_async_tensor_parallel --compile.enable "
               "--parallelism.tensor_parallel_degree 2",
         "overlap=grad+param+tp"},
        {TITAN "--parallelism.enable_async_tensor_parallel --compile.enable", "overlap=grad+param"},
        {TITAN "--parallelism.enable_async_tensor_parallel "
               "--parallelism.tensor_parallel_degree 2",
         "overlap=grad+param"},
        {TITAN "--parallelism.data_parallel_replicate_degree 2", "hsdp=2 zero=3 dp=8"},
        {TITAN "--parallelism.data_parallel_replicate_degree 2 "
               "--parallelism.data_parallel_shard_degree 4",
         "hsdp=2 zero=3 dp=8"},
        {TITAN "--parallelism.data_parallel_shard_degree 1 "
               "--parallelism.context_parallel_degree 2",
         "zero=3 cp=2 cp_kind=all-gather"},
        {TITAN "--parallelism.context_parallel_degree 2 "
               "--parallelism.context_parallel_rotate_method alltoall",
         "cp_kind=ring"},
        {TITAN "--parallelism.fsdp_reshard_after_forward never", "zero=2"},
        {TITAN "--parallelism.fsdp_reshard_after_forward always "
               "--parallelism.pipeline_parallel_degree 2",
         "zero=3"},
        {TITAN "--parallelism.pipeline_parallel_degree 2", "zero=2"},
        {TITAN "--parallelism.tensor_parallel_degree 2", "tp=2 sp=true"},
        {TITAN
         "--parallelism.tensor_parallel_degree 2 --parallelism.enable_sequence_parallel false",
         "sp=false"},
        {TITAN "--parallelism.enable_sequence_parallel", "sp=false"},
        {TITAN "--parallelism.data_parallel_replicate_degree 2 "
               "--parallelism.data_parallel_shard_degree 1",
         "hsdp=1 dp=2 zero=0 overlap=grad"},
    };
    (void)state;
    CHECK(rows);
}

#define NEMO                                                                                       \
    "python megatron_gpt_pretraining.py trainer.num_nodes=2 trainer.devices=8 "                    \
    "model.num_layers=12 model.hidden_size=768 model.num_attention_heads=12 "                      \
    "model.encoder_seq_length=2048 model.micro_batch_size=2 model.global_batch_size=64 "

static void test_nemo(void **state)
{
    static const reading rows[] = {
        {NEMO, "nodes=2 gpus_per_node=8 offload=none recompute.granularity=none fp8.format="},
        {NEMO "model.activations_checkpoint_granularity=full "
              "model.activations_checkpoint_method=block "
              "model.activations_checkpoint_num_layers=3",
         "recompute.granularity=full recompute.method=block recompute.layers=3"},
        {NEMO "model.activations_checkpoint_granularity=full "
              "model.activations_checkpoint_num_layers=0",
         "recompute.granularity=full recompute.method= recompute.layers="},
        {NEMO "model.activations_checkpoint_granularity=selective "
              "model.activations_checkpoint_method=block "
              "model.activations_checkpoint_num_layers=3",
         "recompute.granularity=selective recompute.method= recompute.layers="},
        {NEMO "model.activations_checkpoint_granularity=other", "recompute.granularity=none"},
        {NEMO "trainer.precision=bf16-mixed", "precision=bf16"},
        {NEMO "trainer.precision=16-mixed", "precision=fp16"},
        {NEMO "trainer.precision=fp16", "precision=fp16"},
        {NEMO "trainer.precision=32", "precision=fp32 gradients=fp32"},
        {NEMO "trainer.precision=FP32", "precision=fp32"},
        {NEMO "model.fp8=true", "fp8.format=hybrid fp8.recipe=delayed fp8.param_gather=false"},
        {NEMO "model.fp8=true model.fp8_e4m3=true model.fp8_params=true",
         "fp8.format=e4m3 fp8.param_gather=true"},
        {NEMO "model.fp8=false model.fp8_e4m3=true", "fp8.format="},
        {NEMO "model.fp8=e4m3", "fp8.format=e4m3"},
        {NEMO "model.ub_tp_comm_overlap=true", "overlap=none"},
        {NEMO "model.ub_tp_comm_overlap=true model.tensor_model_parallel_size=2", "overlap=tp"},
        {NEMO "model.hidden_dropout=0 model.attention_dropout=0", "dropout=none"},
        {NEMO "model.hidden_dropout=0.1 model.attention_dropout=0", "dropout=0.1+0"},
        {NEMO "model.hidden_dropout=0 model.attention_dropout=0.2", "dropout=0+0.2"},
        {NEMO "model.optim.name=distributed_fused_adam", "zero=1 overlap=grad optimizer=adam"},
        {NEMO "model.optim.name=fused_adam", "zero=0 overlap=none"},
        {NEMO "model.optim.name=sgd", "zero=0 optimizer=sgd"},
        {NEMO "model.optim.name=distributed_fused_adam model.optim.grad_sync_dtype=bf16 "
              "trainer.precision=bf16",
         "gradients=bf16"},
        {NEMO "model.fsdp=true model.fsdp_sharding_strategy=full", "zero=3"},
        {NEMO "model.fsdp=true model.fsdp_sharding_strategy=grad "
              "model.fsdp_grad_reduce_dtype=bf16 model.fsdp_cpu_offload=true",
         "zero=2 gradients=bf16 offload=optimizer+weights"},
        {NEMO "model.fsdp=true model.fsdp_grad_reduce_dtype=32", "gradients=fp32"},
        {NEMO "model.megatron_amp_O2=true trainer.precision=bf16",
         "weights=16~bits~with~fp32~masters"},
        {NEMO "model.megatron_amp_O2=true trainer.precision=32", "weights=fp32"},
        {NEMO "model.override_vocab_size=1000 model.make_vocab_size_divisible_by=64",
         "model.vocab=1024"},
        {NEMO "model.tokenizer.type=GPT2BPETokenizer", "model.vocab=50304"},
        {NEMO "model.peft.peft_scheme=LoRA model.peft.lora_tuning.adapter_dim=16", "lora=16"},
        {NEMO "model.peft.peft_scheme=lora", "lora=32"},
        {NEMO "model.peft.peft_scheme=ia3", "lora=none"},
        {NEMO "model.fsdp=true model.fsdp_sharding_strategy=hybrid", "zero=3"},
    };
    (void)state;
    CHECK(rows);
}

#define FOUNDRY                                                                                    \
    "max_seq_len: 2048\nglobal_train_batch_size: 64\nmodel: {name: mpt_causal_lm, d_model: 1024, " \
    "n_heads: 16, n_layers: 4, vocab_size: 50368}\n"

static void test_foundry(void **state)
{
    static const reading rows[] = {
        {FOUNDRY,
         "zero=0 overlap=grad hsdp= micro_batch= precision=bf16 gradients=fp32 weights=fp32 "
         "optimizer=decoupled_adamw compile=false model.ffn=4096 model.kv_heads=16 "
         "model.gated=false model.tied=true offload=none recompute.granularity=none"},
        {FOUNDRY "fsdp_config: {sharding_strategy: NO_SHARD}", "zero=0 overlap=grad"},
        {FOUNDRY "fsdp_config: {mixed_precision: DEFAULT}",
         "zero=3 overlap=grad+param gradients=fp32"},
        {FOUNDRY "fsdp_config: {sharding_strategy: SHARD_GRAD_OP}", "zero=2 hsdp="},
        {FOUNDRY "fsdp_config: {sharding_strategy: _HYBRID_SHARD_ZERO2}", "zero=2 hsdp="},
        {FOUNDRY "device_train_microbatch_size: 3", "micro_batch=3 accumulation="},
        {FOUNDRY "device_train_microbatch_size: auto", "micro_batch="},
        {FOUNDRY "precision: amp_fp8", "precision=bf16 fp8.format=hybrid fp8.recipe=delayed"},
        {FOUNDRY "precision: amp_fp16\nfsdp_config: {mixed_precision: pure}",
         "precision=fp16 gradients=fp16 fp8.format="},
        {FOUNDRY "fsdp_config: {activation_checkpointing: true, cpu_offload: true}",
         "recompute.granularity=full offload=optimizer+weights"},
        {FOUNDRY "fsdp_config: {activation_cpu_offload: true, cpu_offload: true}",
         "recompute.granularity=none offload=activations+optimizer+weights"},
        {FOUNDRY "fsdp_config: {activation_cpu_offload: true}", "offload=activations"},
        {FOUNDRY "optimizer: {name: Decoupled_LionW}\ncompile_config: {mode: default}",
         "optimizer=decoupled_lionw compile=true"},
    };
    (void)state;
    CHECK(rows);
}

#define NEOX                                                                                       \
    "num_layers: 4\nhidden_size: 1024\nnum_attention_heads: 16\nseq_length: 2048\n"                \
    "train_micro_batch_size_per_gpu: 4\n"

static void test_neox(void **state)
{
    static const reading rows[] = {
        {NEOX "pipe_parallel_size: 0\nmodel_parallel_size: 2\nsequence_parallel: true",
         "tp=2 pp=1 cp=1 ep=1 vp=1 sp=true micro_batch=4 accumulation=1 seq=2048 zero=0"},
        {NEOX "pipe_parallel_size: 2\nmodel_parallel_size: 1\nsequence_parallel: true",
         "tp=1 pp=2 sp=false precision=fp32 optimizer=adam recompute.granularity=none"},
        {NEOX "model_parallel_size: 1\nzero_optimization: {stage: 1}", "zero=1 offload=none"},
        {NEOX "model_parallel_size: 1\nzero_optimization: {stage: 3}", "zero=3 overlap=grad+param"},
        {NEOX "model_parallel_size: 1\nzero_optimization: {stage: 3, overlap_comm: false}",
         "zero=3 overlap=none"},
        {NEOX "model_parallel_size: 1\nzero_optimization: {stage: 4}", "zero=0"},
        {NEOX "model_parallel_size: 1\nzero_optimization: {stage: 2, cpu_offload: true}",
         "zero=2 offload=optimizer"},
        {NEOX "model_parallel_size: 1\nzero_optimization: {stage: 3, offload_param: {device: cpu}}",
         "offload=weights"},
        {NEOX "model_parallel_size: 1\nzero_optimization: {stage: 3, offload_param: {device: cpu}, "
              "offload_optimizer: {device: cpu}}",
         "offload=optimizer+weights"},
        {NEOX
         "model_parallel_size: 1\nzero_optimization: {stage: 3, offload_param: {device: none}, "
         "offload_optimizer: {device: none}}",
         "offload=none"},
        {NEOX "model_parallel_size: 1\nprecision: bfloat16", "precision=bf16"},
        {NEOX "model_parallel_size: 1\nprecision: fp16", "precision=fp16"},
        {NEOX "model_parallel_size: 1\nbf16: {enabled: true}", "precision=bf16"},
        {NEOX "model_parallel_size: 1\nfp16: {enabled: true}", "precision=fp16"},
        {NEOX "model_parallel_size: 1\nfp16: {fp16: true, type: bfloat16}", "precision=bf16"},
        {NEOX "model_parallel_size: 1\nfp16: {enabled: false}", "precision=fp32"},
        {NEOX "model_parallel_size: 1\nte_fp8_format: hybrid\nte_fp8_mlp: true",
         "fp8.format=hybrid fp8.recipe=delayed"},
        {NEOX "model_parallel_size: 1\nte_fp8_format: hybrid", "fp8.format="},
        {NEOX "model_parallel_size: 1\noptimizer: {type: OneBitAdam}", "optimizer=adam"},
        {NEOX "model_parallel_size: 1\noptimizer: {type: SGD}", "optimizer=sgd"},
        {NEOX "model_parallel_size: 1\noptimizer: {type: Lion}", "optimizer=Lion"},
        {NEOX "model_parallel_size: 1\noptimizer: {type: Adam}\nuse_bnb_optimizer: true",
         "optimizer=adam-8bit"},
        {NEOX "model_parallel_size: 1\ncheckpoint_activations: true\ncheckpoint_num_layers: 2",
         "recompute.granularity=full recompute.layers=2"},
        {NEOX "model_parallel_size: 1\ncheckpoint_activations: true",
         "recompute.granularity=full recompute.layers=1"},
        {NEOX "model_parallel_size: 1\nattention_config: [[[flash], 4]]", "attention=flash"},
        {NEOX "model_parallel_size: 1\nattention_config: [[[global], 4]]", "attention=unfused"},
    };
    (void)state;
    CHECK(rows);
}

#define TUNE "model: {_component_: torchtune.models.llama3.llama3_8b}\ndataset: {packed: true}\n"
#define OLMO                                                                                       \
    "dataset: {sequence_length: 4096}\ndata_loader: {global_batch_size: 4096}\nmodel: {d_model: "  \
    "1024, vocab_size: 100352, n_layers: 4, block: {attention: {n_heads: 16}, feed_forward: "      \
    "{hidden_size: 4096}}}\n"

static void test_components(void **state)
{
    static const reading rows[] = {
        {TUNE, "zero=3 overlap=grad+param precision=bf16 gradients=bf16 weights_loaded_as=bf16 "
               "optimizer=adamw recompute.granularity=none offload=none loss=chunked lora=none "
               "packing=true attention=flex compile=false dp="},
        {TUNE "fsdp_reshard_after_forward: false", "zero=2"},
        {TUNE "data_parallel_shard_dim: 4\ndata_parallel_replicate_dim: 2", "dp=8 hsdp=2"},
        {TUNE "data_parallel_shard_dim: 4", "dp=4"},
        {TUNE "context_parallel_dim: 2", "cp=2 cp_kind=all-gather"},
        {TUNE "dtype: fp32", "precision=fp32 gradients=fp32 weights_loaded_as=fp32"},
        {TUNE "optimizer: {_component_: bitsandbytes.optim.PagedAdamW8bit}",
         "optimizer=paged~adam-8bit"},
        {TUNE "optimizer: {_component_: bitsandbytes.optim.AdamW8bit}", "optimizer=adam-8bit"},
        {TUNE "optimizer: {_component_: bitsandbytes.optim.PagedAdamW}\noptimizer_in_bwd: true",
         "optimizer=adamw optimizer_in_backward=true"},
        {TUNE "optimizer: {_component_: torch.optim.SGD}", "optimizer=sgd optimizer_in_backward="},
        {TUNE "ac_mode: selective\nac_option: 2",
         "recompute.granularity=selective recompute.option=2"},
        {TUNE "ac_mode: selective\nac_option: op", "recompute.option=per~operator"},
        {TUNE "ac_mode: selective", "recompute.option=per~operator"},
        {TUNE "enable_activation_checkpointing: true\nenable_activation_offloading: true",
         "recompute.granularity=full offload=activations"},
        {TUNE "fsdp_cpu_offload: true\nenable_activation_offloading: true",
         "offload=activations+optimizer+weights"},
        {TUNE "fsdp_cpu_offload: true", "offload=optimizer+weights"},
        {TUNE "loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}",
         "loss=chunked"},
        {TUNE "loss: {_component_: torchtune.modules.loss.LinearCrossEntropyLoss}", "loss=chunked"},
        {TUNE "loss: {_component_: torch.nn.CrossEntropyLoss}\ncompile: true",
         "loss=full~logits compile=true"},
        {"model: {_component_: torchtune.models.llama3.lora_llama3_8b, apply_lora_to_mlp: true, "
         "lora_attn_modules: [q_proj], lora_rank: 4}\ndataset: {packed: false}",
         "lora=4 lora_modules=attention+mlp packing=false attention=sdpa qlora="},
        {"model: {_component_: torchtune.models.llama3.lora_llama3_8b, apply_lora_to_mlp: true}\n"
         "dataset: {packed: false}",
         "lora=8 lora_modules=mlp"},
        {"model: {_component_: torchtune.models.llama3.qlora_llama3_8b, lora_attn_modules: "
         "[q_proj]}\ndataset: {packed: false}",
         "lora_modules=attention qlora=true"},
        /* OLMo-core counts tokens */
        {OLMO "train_module: {rank_microbatch_size: 4096}",
         "micro_batch=1 global_batch=1 tokens_per_step=4096 cp=1 cp_kind= precision=bf16 "
         "gradients=fp32 weights=fp32 recompute.granularity=none"},
        {OLMO "train_module: {rank_microbatch_size: 4095}",
         "micro_batch= tokens_per_microbatch=4095"},
        {OLMO "train_module: {rank_microbatch_size: 8191}", "micro_batch=1"},
        {OLMO "train_module: {rank_microbatch_size: 8192}", "micro_batch=2"},
        {OLMO "train_module: {rank_microbatch_size: 4096, dp_config: {name: fsdp, param_dtype: "
              "float32, reduce_dtype: bfloat16}}",
         "precision=fp32 gradients=bf16"},
        {OLMO
         "train_module: {rank_microbatch_size: 4096, dp_config: {name: hsdp, num_replicas: 2}}",
         "hsdp=2"},
        {OLMO "train_module: {rank_microbatch_size: 4096, ac_config: {mode: full}}",
         "recompute.granularity=full recompute.option="},
        {OLMO "train_module: {rank_microbatch_size: 4096, ac_config: {mode: selected_blocks, "
              "block_interval: 2}}",
         "recompute.granularity=selective recompute.option=2"},
        {OLMO "train_module: {rank_microbatch_size: 4096, ac_config: {mode: selected_ops}}",
         "recompute.option=per~operator"},
        {OLMO "train_module: {rank_microbatch_size: 4096, ac_config: {mode: selected_modules, "
              "modules: [blocks.*.attention]}}",
         "recompute.modules=attention"},
    };
    (void)state;
    CHECK(rows);
}

#define ZERO(keys) "{\"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": {" keys "}}"
#define CLM(flags)                                                                                 \
    "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path openai-community/gpt2 "           \
    "--output_dir o " flags
#define TRL(kind, flags) "trl " kind " --model_name_or_path Qwen/Qwen3-8B --dataset_name x " flags

static void test_hugging_face(void **state)
{
    static const reading rows[] = {
        {ZERO("\"stage\": 3, \"offload_optimizer\": {\"device\": \"nvme\"}"),
         "zero=3 nvme=optimizer"},
        {ZERO("\"stage\": 3, \"offload_param\": {\"device\": \"nvme\"}"), "nvme=weights"},
        {ZERO("\"stage\": 3, \"offload_optimizer\": {\"device\": \"none\"}"), "offload=none"},
        {ZERO("\"stage\": 4"), "zero=0"},
        {ZERO("\"stage\": 3, \"overlap_comm\": false"), "overlap=none"},
        {"{\"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": {\"stage\": 2}, \"bf16\": "
         "{\"enabled\": true, \"bf16_master_weights_and_grads\": true}}",
         "states.main_params=bf16 gradients=bf16"},
        {"{\"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": {\"stage\": 2}, \"fp16\": "
         "{\"enabled\": true, \"fp16_master_weights_and_grads\": true}}",
         "states.main_params=fp16 gradients=fp16 precision=fp16"},
        {"{\"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": {\"stage\": 0}, "
         "\"pipeline\": {\"activation_checkpoint_interval\": 1}}",
         "recompute.granularity=full"},
        {CLM(""),
         "precision=fp32 compile=false optimizer=adamw recompute.granularity=none loss=full~logits "
         "model.hidden=768 model.ffn=3072 model.kv_heads=12 lora=none"},
        {CLM("--config_overrides n_embd=1024,n_layer=4"),
         "model.hidden=1024 model.layers=4 model.ffn=4096"},
        {CLM("--config_overrides n_embd=1024,n_inner=512"), "model.ffn=512"},
        {CLM("--config_overrides n_embd=1024,n_head=16"),
         "model.heads=16 model.kv_heads=16 model.head_size=64"},
        {CLM("--config_overrides n_layer=0"), "model.layers=12"},
        {CLM("--fp16 --adafactor"), "precision=fp16 optimizer=adafactor"},
        {CLM("--bf16 --no_bf16"), "precision=fp32"},
        {CLM("--torch_compile_mode default"), "compile=true"},
        {CLM("--torch_compile_backend inductor"), "compile=true"},
        {CLM("--torch_compile False"), "compile=false"},
        {CLM("--gradient_checkpointing"), "recompute.granularity=full"},
        {CLM("--use_peft"), "lora=8 lora_modules=attention"},
        {CLM("--lora_r 4"), "lora=4"},
        {CLM("--use_peft --load_in_8bit"), "base_8bit=true qlora="},
        {CLM("--torch_dtype float16"), "weights_loaded_as=fp16"},
        {CLM("--torch_dtype auto"), "weights_loaded_as=as~stored"},
        {CLM("--deepspeed zero2.json"), "zero=2 offload=none framework=deepspeed"},
        {CLM("--deepspeed ds_z3_offload.json"), "zero=3 offload=optimizer+weights"},
        {CLM("--deepspeed stage_1_offload.json"), "zero=1 offload=optimizer"},
        {CLM("--deepspeed zero3_no_offload.json"), "zero=3"},
        {CLM("--deepspeed zero12.json"), "zero="},
        {TRL("sft", "--load_in_4bit --use_peft"), "qlora=true lora=16 lora_modules=attention"},
        {TRL("sft", "--load_in_8bit --use_peft --lora_r 8"), "base_8bit=true qlora= lora=8"},
        {TRL("sft", "--lora_r 8"), "lora=none"},
        {TRL("sft", "--loss_type nll"), "loss=full~logits"},
        {TRL("sft", "--loss_type chunked_nll"), "loss=chunked"},
        {TRL("sft", "--use_liger_kernel --loss_type chunked_nll"), "loss=fused~(liger)"},
        {TRL("dpo", ""), "loss=full~logits seq=1024"},
        {TRL("grpo", "--max_completion_length 256"), "seq=256"},
        {TRL("grpo", "--max_prompt_length 128 --max_completion_length 256"), "seq=384"},
        {TRL("rloo", ""), "seq=512"},
        {TRL("dpo", "--max_prompt_length 128 --max_completion_length 256"), "seq=1024"},
        {"model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\nbf16: true\n"
         "pure_bf16: true",
         "weights_loaded_as=bf16~(pure:~no~fp32~copy)"},
        {"model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\nbf16: true",
         "weights_loaded_as=fp32~(trainable~weights~are~upcast) lora=none"},
        {"model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\nbf16: true\n"
         "quantization_bit: 4",
         "qlora=true base_8bit= base_quantised="},
        {"model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\nbf16: true\n"
         "quantization_bit: 8",
         "base_8bit=true qlora="},
        {"model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\nbf16: true\n"
         "quantization_bit: 2\nquantization_method: hqq",
         "base_quantised=hqq,~2~bits "
         "weights_loaded_as=hqq~base~of~2~bits,~16-~or~32-bit~adapters"},
        {"model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\nbf16: true",
         "weights_loaded_as=bf16~base,~fp32~adapters"},
    };
    (void)state;
    CHECK(rows);
}

#define ACTOR "actor_rollout_ref.actor."
#define VERL(words)                                                                                \
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B " words
#define VERL_SFT(words)                                                                            \
    "torchrun --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer "                          \
    "model.path=Qwen/Qwen3-8B " words
#define FACTORY(words)                                                                             \
    "llamafactory-cli train --model_name_or_path Qwen/Qwen3-8B --stage sft " words

/* Each of several names or ways of the same thing alone. */
static void test_ways(void **state)
{
    static const reading rows[] = {
        {VERL(""), "zero=3 offload=none tp=1 cp=1 ep=1 lora=none loss=full~logits attention=flash "
                   "optimizer=adamw weights_loaded_as=fp32 recompute.granularity=full"},
        {VERL(ACTOR "fsdp_config.reshard_after_forward=False"), "zero=2"},
        {VERL(ACTOR "fsdp_config.offload_policy=True"), "offload=optimizer+weights"},
        {VERL(ACTOR "fsdp_config.model_dtype=bfloat16"), "weights_loaded_as=bfloat16"},
        {VERL(ACTOR "fsdp_config.fsdp_size=4"), "hsdp=2"},
        {VERL(ACTOR "ulysses_sequence_parallel_size=2"), "cp=2 cp_kind=ulysses"},
        {VERL("actor_rollout_ref.model.enable_gradient_checkpointing=False"),
         "recompute.granularity=none"},
        {VERL("actor_rollout_ref.model.use_fused_kernels=True"), "loss=fused"},
        {VERL("actor_rollout_ref.model.lora_rank=8"), "lora=8"},
        {VERL("actor_rollout_ref.model.lora.rank=8"), "lora=8"},
        {VERL("actor_rollout_ref.model.lora_rank=0"), "lora=none"},
        {VERL(ACTOR "strategy=megatron"), "zero=1 optimizer=adam sp=false gradients=fp32 "
                                          "recompute.granularity=none offload=none"},
        {VERL("model_engine=megatron"), "zero=1 optimizer=adam"},
        {VERL("--config-name=ppo_megatron_trainer"), "zero=1 optimizer=adam"},
        {VERL(ACTOR "megatron.use_distributed_optimizer=False"), "zero=0 optimizer=adam"},
        {VERL(ACTOR "megatron.use_megatron_fsdp=True"), "zero=3 optimizer=adam"},
        {VERL(ACTOR "megatron.tensor_model_parallel_size=2"), "tp=2 etp=2 sp=true"},
        {VERL(ACTOR "megatron.tensor_model_parallel_size=2 " ACTOR
                    "megatron.sequence_parallel=False"),
         "tp=2 sp=false"},
        {VERL(ACTOR "megatron.expert_tensor_parallel_size=1 " ACTOR
                    "megatron.tensor_model_parallel_size=2"),
         "tp=2 etp=1"},
        {VERL(ACTOR "strategy=megatron " ACTOR
                    "optim.override_optimizer_config.optimizer_cpu_offload=True"),
         "offload=optimizer~fraction~1"},
        {VERL(ACTOR "strategy=megatron " ACTOR
                    "optim.override_optimizer_config.optimizer_cpu_offload=True " ACTOR
                    "optim.override_optimizer_config.optimizer_offload_fraction=0.5"),
         "offload=optimizer~fraction~0.5"},
        {VERL_SFT("engine=megatron engine.tensor_model_parallel_size=2 "
                  "engine.pipeline_model_parallel_size=2 engine.context_parallel_size=2 "
                  "engine.expert_model_parallel_size=2"),
         "zero=1 tp=2 pp=2 cp=2 ep=2"},
        {VERL_SFT("engine.strategy=megatron"), "zero=1"},
        {VERL_SFT("engine.fsdp_size=4"), "zero=3 hsdp=2"},
        {VERL_SFT("engine.ulysses_sequence_parallel_size=2"), "cp=2 cp_kind=ulysses"},
        {VERL_SFT("engine.model_dtype=bf16"), "weights_loaded_as=bf16"},
        {VERL_SFT("model.enable_gradient_checkpointing=False"), "recompute.granularity=none"},
        {VERL_SFT("model.lora_rank=4"), "lora=4"},
        {FACTORY("--bf16 true"), "framework=huggingface optimizer=adamw"},
        {FACTORY("--use_mca true"), "framework=megatron"},
        {FACTORY("--use_megatron_bridge true"), "framework=megatron"},
        {"USE_MCA=1 " FACTORY(""), "framework=megatron"},
        {"USE_MCA=0 " FACTORY(""), "framework=huggingface"},
        {FACTORY("--tensor_model_parallel_size 2"), "framework=megatron tp=2"},
        {FACTORY("--pipeline_model_parallel_size 2"), "framework=megatron pp=2"},
        {ACCELERATE("--use_megatron_lm --megatron_lm_tp_degree 2 --megatron_lm_pp_degree 2 "
                    "--megatron_lm_context_parallel_size 2 --megatron_lm_num_micro_batches 4"),
         "framework=megatron tp=2 pp=2 cp=2 accumulation=4"},
        {ACCELERATE("--use_megatron_lm --megatron_lm_use_distributed_optimizer true"), "zero=1"},
        {ACCELERATE("--use_megatron_lm --megatron_lm_sequence_parallelism true"), "sp=true"},
        {ACCELERATE("--use_megatron_lm --megatron_lm_recompute_activations true"),
         "recompute.granularity=selective"},
        {ACCELERATE("--use_megatron_lm --megatron_lm_expert_model_parallel_size 2"), "ep=2"},
        {ACCELERATE("--mixed_precision fp8 --fp8_backend AO"), "fp8.recipe=torchao"},
        {ACCELERATE("--config_file deepspeed_zero1.yaml"), "zero=1 framework=deepspeed"},
        {ACCELERATE("--config_file deepspeed_zero2.yaml"), "zero=2 framework=deepspeed"},
        {CLM("--optim adamw_torch_npu_fused"), "optimizer=adamw"},
        {CLM("--optim adamw_torch_xla"), "optimizer=adamw"},
        {CLM("--optim adamw_hf"), "optimizer=adamw"},
        {CLM("--optim adamw_apex_fused"), "optimizer=adamw"},
    };
    (void)state;
    CHECK(rows);
}

/* Keys that decide nothing in their launch, and the same keys where they do. */
static void test_without_cost(void **state)
{
    static const struct {
        const char *line, *key;
        rk_key_use use;
    } rows[] = {
        {TRL("sft", "--use_peft --lora_dropout 0"), "lora_dropout", RK_KEY_WITHOUT_COST},
        {TRL("sft", "--use_peft --lora_dropout 0.1"), "lora_dropout", RK_KEY_USED},
        {TRL("sft", "--lora_alpha 8 --lora_r 4"), "lora_alpha", RK_KEY_WITHOUT_COST},
        {TRL("sft", "--use_peft --use_bnb_nested_quant true"), "use_bnb_nested_quant",
         RK_KEY_WITHOUT_COST},
        {TRL("sft", "--use_peft --load_in_4bit --use_bnb_nested_quant true"),
         "use_bnb_nested_quant", RK_KEY_USED},
        {FACTORY("--finetuning_type full --lora_rank 8"), "lora_rank", RK_KEY_WITHOUT_COST},
        {FACTORY("--finetuning_type lora --lora_rank 8"), "lora_rank", RK_KEY_USED},
        {VERL(ACTOR "fsdp_config.strategy=fsdp2"), ACTOR "fsdp_config.strategy",
         RK_KEY_WITHOUT_COST},
        {VERL(ACTOR "ppo_mini_batch_size=64 data.train_batch_size=128"), "data.train_batch_size",
         RK_KEY_WITHOUT_COST},
        {VERL(ACTOR "use_dynamic_bsz=True " ACTOR "ppo_micro_batch_size=4"),
         ACTOR "ppo_micro_batch_size", RK_KEY_WITHOUT_COST},
        {VERL(ACTOR "ppo_max_token_len_per_gpu=4096"), ACTOR "ppo_max_token_len_per_gpu",
         RK_KEY_WITHOUT_COST},
        {VERL(ACTOR "use_dynamic_bsz=True " ACTOR "ppo_max_token_len_per_gpu=4096"),
         ACTOR "ppo_max_token_len_per_gpu", RK_KEY_USED},
        {VERL(ACTOR "strategy=megatron " ACTOR
                    "megatron.override_transformer_config.context_parallel_size=2"),
         ACTOR "megatron.override_transformer_config.context_parallel_size", RK_KEY_WITHOUT_COST},
        {TITAN "--parallelism.pipeline_parallel_schedule 1F1B",
         "parallelism.pipeline_parallel_schedule", RK_KEY_WITHOUT_COST},
        {TITAN "--parallelism.pipeline_parallel_degree 2 "
               "--parallelism.pipeline_parallel_schedule 1F1B",
         "parallelism.pipeline_parallel_schedule", RK_KEY_USED},
        {TITAN "--parallelism.context_parallel_rotate_method alltoall",
         "parallelism.context_parallel_rotate_method", RK_KEY_WITHOUT_COST},
        {TITAN "--parallelism.context_parallel_degree 2 "
               "--parallelism.context_parallel_rotate_method alltoall",
         "parallelism.context_parallel_rotate_method", RK_KEY_USED},
    };
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_launch launch = {0};
        rk_error err;
        assert_int_equal(rk_launch_parse(rows[i].line, strlen(rows[i].line), "line", &launch, &err),
                         RK_OK);
        assert_int_equal(rk_launch_resolve(&launch, &err), RK_OK);
        bool found = false;
        for (size_t k = 0; k < launch.key_count; k++) {
            found = found || (strcmp(launch.keys[k].name, rows[i].key) == 0 &&
                              launch.keys[k].use == rows[i].use);
        }
        if (!found) {
            print_error("%s: the use of %s is not %d\n", rows[i].line, rows[i].key, rows[i].use);
            wrong++;
        }
        rk_launch_clear(&launch);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maxtext),    cmocka_unit_test(test_accelerate),
        cmocka_unit_test(test_torchtitan), cmocka_unit_test(test_nemo),
        cmocka_unit_test(test_foundry),    cmocka_unit_test(test_neox),
        cmocka_unit_test(test_components), cmocka_unit_test(test_hugging_face),
        cmocka_unit_test(test_ways),       cmocka_unit_test(test_without_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
