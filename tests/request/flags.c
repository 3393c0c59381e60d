/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flags of launch lines set, one by one: each option that a line of flags gives a command, by
 * what the tools' documentation says of their flags.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "command/commands.h"
#include "job/job.h"
#include "request/request.h"
#include "request/strategy_choices.h"
#include "strategy/strategy_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 2048 };

typedef struct flag_case {
    const char *line, *given; /* what it gives, or "!" and why it is refused */
} flag_case;

/* ---- what is given, as text ------------------------------------------------------------------ */

/* Adds two texts. */
static void add(char *text, const char *first, const char *second)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, TEXT_SIZE - used, "%s%s", first, second);
}

/* The value of an option in the struct of its command. */
static const char *value_of(const rk_option *option, const char *arguments, char text[TEXT_SIZE])
{
    const void *at = arguments + option->offset;
    const rk_option_counts *counts = at;
    char number[32];
    text[0] = '\0';
    switch (option->type) {
    case RK_OPTION_TEXT:
        add(text, "", *(const char *const *)at ? *(const char *const *)at : "");
        break;
    case RK_OPTION_FLAG:
        add(text, "", *(const bool *)at ? "true" : "false");
        break;
    case RK_OPTION_COUNT:
        (void)snprintf(text, TEXT_SIZE, "%" PRId64, *(const int64_t *)at);
        break;
    case RK_OPTION_CHOICE:
        add(text, "", *(const int *)at < 0 ? "" : option->choices[*(const int *)at]);
        break;
    case RK_OPTION_REAL:
        (void)snprintf(text, TEXT_SIZE, "%.6g", *(const double *)at);
        break;
    case RK_OPTION_COUNTS:
        for (int i = 0; i < counts->count; i++) {
            (void)snprintf(number, sizeof(number), "%s%" PRId64, i ? "," : "", counts->values[i]);
            add(text, "", number);
        }
        break;
    case RK_OPTION_SET:
        for (unsigned i = 0; option->choices[i]; i++) {
            if (*(const unsigned *)at >> i & 1U) {
                add(text, text[0] ? "," : "", option->choices[i]);
            }
        }
        break;
    default:
        fail_msg("no such type of an option");
    }
    return text;
}

/* The options that differ from those of a job without any, and the fields by default. */
static void describe(rk_job *job, rk_job *usual, char text[TEXT_SIZE])
{
    const rk_request *request = rk_job_arguments(job);
    const rk_option *option;
    char value[TEXT_SIZE], before[TEXT_SIZE];
    text[0] = '\0';
    for (size_t i = 0; (option = rk_command_option(rk_job_command(job), i)); i++) {
        value_of(option, rk_job_arguments(usual), before);
        if (strcmp(value_of(option, rk_job_arguments(job), value), before) != 0) {
            add(text, text[0] ? " " : "", option->name);
            add(text, "=", value);
        }
    }
    add(text, "", request->line.complete ? "; by default" : "");
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        if (request->filled >> i & 1U) {
            add(text, " ", rk_strategy_key(i));
        }
    }
    add(text, "", request->line.plain_states ? "; plain" : "");
    if (request->line.pieces) {
        (void)snprintf(value, sizeof(value), "; pieces of %" PRId64, request->line.pieces);
        add(text, "", value);
    }
}

/* ---- reading lines --------------------------------------------------------------------------- */

/* Gives a job the words of a line: flags with what follows them, and words of a launcher. */
static rk_status read_line(rk_job *job, char *line, rk_error *err)
{
    char *rest = line, *word = strtok_r(rest, " ", &rest);
    rk_status status = RK_OK;
    while (word && !status) {
        char *next = strtok_r(rest, " ", &rest);
        rk_flag_use use = RK_FLAG_WITH_VALUE;
        if (strncmp(word, "--", 2) != 0) {
            rk_job_take_launch_word(job, word);
            word = next;
            continue;
        }
        const bool value = next && strncmp(next, "--", 2) != 0;
        status = rk_job_set_launch_flag(job, word + 2, value ? next : NULL, &use, err);
        word = value && use == RK_FLAG_WITH_VALUE ? strtok_r(rest, " ", &rest) : next;
    }
    return status;
}

static rk_status create(const char *command, rk_job **job, rk_error *err)
{
    rk_status status = rk_job_create(rk_command_find(command), job, err);
    status = status ? status : rk_job_set(*job, "model", "llama3-8b", err);
    return status ? status : rk_job_set(*job, "system", "h100", err);
}

/* What a line of a command gives: "run: --tokens 1T", and `estimate` where it names none. */
static void read_case(const char *line, char text[TEXT_SIZE])
{
    const char *colon = strchr(line, ':');
    char words[TEXT_SIZE], command[32] = "estimate";
    rk_job *job = NULL, *usual = NULL;
    rk_error err = {.message = ""};
    if (colon) {
        (void)snprintf(command, sizeof(command), "%.*s", (int)(colon - line), line);
        line = colon + 1;
    }
    (void)snprintf(words, sizeof(words), "%s", line);
    rk_status status = create(command, &usual, &err);
    status = status ? status : create(command, &job, &err);
    status = status ? status : read_line(job, words, &err);
    status = status ? status : rk_job_start(job, NULL, NULL, NULL, &err);
    if (status) {
        (void)snprintf(text, TEXT_SIZE, "!%s", err.message);
    } else {
        describe(job, usual, text);
    }
    rk_job_free(job);
    rk_job_free(usual);
}

static void compare(const flag_case *cases, size_t count)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        char text[TEXT_SIZE];
        read_case(cases[i].line, text);
        if (strcmp(text, cases[i].given) != 0) {
            print_error("%s\n    gives: %s\n    not:   %s\n", cases[i].line, text, cases[i].given);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

#define COMPARE(cases) compare(cases, sizeof(cases) / sizeof(cases[0]))

/* ---- names ----------------------------------------------------------------------------------- */

/* Where the batch is not given, it is the power of 2 next to 4 M tokens, of 12 ranks 3 x 2^7. */
static const flag_case named[] = {
    {"--gpu x1", "system=x1"},
    {"--gpu-type x2", "system=x2"},
    {"--hardware x3", "system=x3"},
    {"--cluster x4", "system=x4"},
    {"--machine x5", "system=x5"},
    {"--model_name m1", "model=m1"},
    {"--model_name_or_path m2", "model=m2"},
    /* numbers of accelerators, each with degrees in one tool's words */
    {"--num_gpus 2048 --tensor-parallel-size 2 --pipeline-parallel-size 4 "
     "--expert-parallel-size 8 --context-parallel 16 --data-parallel 16",
     "accelerators=2048 global-batch=512 tp=2 pp=4 cp=16 ep=8 dp=16"},
    {"--n-gpus 2048 --tensor-parallel 2 --pipeline-parallel 4 --expert-parallel 8 --cp-size 16 "
     "--dp-size 16",
     "accelerators=2048 global-batch=512 tp=2 pp=4 cp=16 ep=8 dp=16"},
    {"--ngpus 1024 --tp-size 2 --pp_size 4 --ep-size 8",
     "accelerators=1024 global-batch=512 tp=2 pp=4 ep=8"},
    {"--world_size 64", "accelerators=64 global-batch=512"},
    {"--processors 64", "accelerators=64 global-batch=512"},
    {"--gpus 64", "accelerators=64 global-batch=512"},
    {"--nnodes 2", "accelerators=16 nodes=2 global-batch=512"},
    {"--num-nodes 2", "accelerators=16 nodes=2 global-batch=512"},
    {"--nodes 2", "accelerators=16 nodes=2 global-batch=512"},
    {"--nodes 2 --nproc-per-node 4", "accelerators=8 nodes=2 gpus-per-node=4 global-batch=512"},
    {"--nodes 2 --gpus-per-node 4", "accelerators=8 nodes=2 gpus-per-node=4 global-batch=512"},
    /* the launcher of DeepSpeed starts as many processes on each node, and one node by default
     */
    {"deepspeed --num_gpus 4", "accelerators=4 nodes=1 gpus-per-node=4 global-batch=512"},
    {"deepspeed --num_nodes 3 --num_gpus 4",
     "accelerators=12 nodes=3 gpus-per-node=4 global-batch=384"},
    {"deepspeed --num_gpus 4 --accelerators 8", "accelerators=8 gpus-per-node=4 global-batch=512"},
    /* sequences and batches */
    {"--sequence-length 128", "seq=128"},
    {"--seqlen 128", "seq=128"},
    {"--seq-len 128", "seq=128"},
    {"--seq-length 128", "seq=128"},
    {"--sequence 128", "seq=128"},
    {"--context-length 128", "seq=128"},
    {"--max_seq_len 128", "seq=128"},
    {"--max_seq_length 128", "seq=128"},
    {"--max_length 128", "seq=128"},
    {"--block_size 128", "seq=128"},
    {"--per_device_train_batch_size 3 --train_batch_size 24", "global-batch=24 micro-batch=3"},
    {"--train_micro_batch_size_per_gpu 3 --global-batch-size 24", "global-batch=24 micro-batch=3"},
    {"--micro-batch-size 3 --batch 24", "global-batch=24 micro-batch=3"},
    {"--mbs 3 --gbs 24", "global-batch=24 micro-batch=3"},
    {"--data-parallel-size 4 --zero-stage 2 --num-distributed-optimizer-instances 2",
     "dp=4 zero=2 hsdp=2"},
    {"--pp 4 --context-parallel-size 2 --expert-tensor-parallel-size 2 "
     "--num-virtual-stages-per-pipeline-rank 3",
     "pp=4 cp=2 etp=2 vp=3"},
    {"--rank-order tp-cp-ep-pp-dp", "order=tp-cp-ep-pp-dp"},
    {"--pp 4 --decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 5",
     "pp=4 first-stage-layers=7 last-stage-layers=5"},
    {"--pp 4 --account-for-embedding-in-pipeline-split", "pp=4 count-embedding=true"},
    {"--pp 4 --account-for-loss-in-pipeline-split", "pp=4 count-head=true"},
    {"--enable-cuda-graph --cuda-graph-modules mamba,mlp",
     "graph-capture=true graph-modules=mamba,mlp"},
    {"--moe-expert-capacity-factor 1.5 --mtp-num-layers 2 --peft-dim 16",
     "seq=4096 mtp-layers=2 capacity-factor=1.5 lora-rank=16"},
    {"--optimizer-cpu-offload --optimizer-offload-fraction 0.5",
     "offload=optimizer offload-share=0.5"},
    /* memory and kernels */
    {"--memory 70", "max-memory=70"},
    {"--gpu_memory 70GiB", "max-memory=70"},
    {"--attn_implementation flash2", "attention=flash_attention_2"},
    {"--attn_implementation flash-attn", "attention=flash"},
    {"--attn_implementation flash_attention", "attention=flash"},
    {"--attn_implementation flash-attn-2", "attention=flash_attention_2"},
    {"--attn_implementation fa2", "attention=flash_attention_2"},
    {"--attn_implementation flash3", "attention=flash_attention_3"},
    {"--attn_implementation flash-attn-3", "attention=flash_attention_3"},
    {"--attn_implementation fa3", "attention=flash_attention_3"},
    {"--attn_implementation sdpa", "attention=flash"},
    {"--attn_implementation eager", "attention=unfused"},
    {"--dtype half", "precision=fp16"},
    {"--torch_dtype torch.bfloat16", "precision=bf16"},
    {"--torch_dtype torch.float16", "precision=fp16"},
    {"--torch_dtype torch.float32", "precision=fp32"},
    {"--mixed_precision bf16-mixed", "precision=bf16"},
    {"--mixed_precision fp16-mixed", "precision=fp16"},
    {"--dtype float16", "precision=fp16"},
    {"--dtype float32", "precision=fp32"},
    {"--dtype float8", "precision=fp8"},
    {"--dtype bfloat16", "precision=bf16"},
    {"--framework megatron-core", "framework=megatron"},
    {"--framework mcore", "framework=megatron"},
    {"--framework megatron-bridge", "framework=megatron"},
    {"--framework fsdp2", "framework=torchtitan"},
    {"--framework pytorch", "framework=torchtitan"},
    {"--framework ds", "framework=deepspeed"},
    {"--framework hf", "framework=huggingface"},
    {"--framework transformers", "framework=huggingface"},
    {"--framework accelerate", "framework=huggingface"},
    {"--framework trl", "framework=huggingface"},
    {"--framework mindspeed-llm", "framework=mindspeed"},
    {"--framework neuronx-distributed", "framework=neuronx"},
};

static void test_names(void **state)
{
    (void)state;
    COMPARE(named);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_values(void **state)
{
    static const flag_case cases[] = {
        {"--activation-checkpointing none", "recompute=none"},
        {"--activation-checkpointing selective", "recompute=selective"},
        {"--activation-checkpointing Full", "recompute=full"},
        {"--activation-checkpointing uniform", "recompute=full"},
        {"--activation-checkpointing true", "recompute=full"},
        {"--activation-checkpointing", "recompute=full"},
        {"--activation-checkpointing false", ""},
        {"--recomputation none", "recompute=none"},
        {"--recomputation false", "recompute=none"},
        {"--recomputation True", "recompute=full"},
        {"--gradient_checkpointing", "recompute=full"},
        {"--gradient_checkpointing False", ""},
        {"--no-recompute", "recompute=none"},
        {"--cpu-offload", "offload=optimizer"},
        {"--fp8", "precision=fp8"},
        {"--fp4", "precision=fp4"},
        {"--fp8-format hybrid", "precision=fp8"},
        {"--fp4-format e2m1", "precision=fp4"},
        {"--bf16", "precision=bf16"},
        {"--fp16 1", "precision=fp16"},
        {"--bf16 0", ""},
        {"--zero1", "zero=1"},
        {"--zero2", "zero=2"},
        {"--zero3", "zero=3"},
        {"--zero3 false", ""},
        {"--sharding_strategy full_shard", "zero=3"},
        {"--sharding_strategy SHARD_GRAD_OP", "zero=2"},
        {"--sharding_strategy NO_SHARD", "zero=0"},
        {"--sharding_strategy HYBRID_SHARD",
         "!--sharding-strategy HYBRID_SHARD has no counterpart here; give --zero"},
        {"--recompute-activations", "recompute=selective"},
        {"--cp 2 --cp-comm-type p2p", "cp=2 cp-kind=ring"},
        {"--cp 2 --cp-comm-type all_gather", "cp=2 cp-kind=all-gather"},
        {"--cp 2 --cp-comm-type allgather", "cp=2 cp-kind=all-gather"},
        {"--cp 2 --cp-comm-type a2a", "cp=2 cp-kind=ulysses"},
        {"--cp 2 --cp-comm-type P2P", "!--cp-comm-type must be p2p, all_gather or a2a, not 'P2P'"},
        {"--cp 2 --cp-comm-type", "!--cp-comm-type must be p2p, all_gather or a2a, not ''"},
        {"--pp 2 --pipeline-model-parallel-layout Ettt|tL", "pp=2 layout=3,1"},
        {"--pipeline-model-parallel-layout",
         "!--pipeline-model-parallel-layout needs a letter for each part (E, t, m, L) and | "
         "between stages, such as 'Et|(tt|)*30mL', not ''"},
        {"--num-layers-per-virtual-pipeline-stage 4 --pp 2", "pp=2 vp=4"},
        {"--deepspeed", "framework=deepspeed"},
        {"--deepspeed --framework hf", "framework=huggingface"},
        {"--framework hf --deepspeed", "framework=huggingface"},
        {"--deepspeed-config", "!--deepspeed-config needs a file that ends in .json"},
        /* flags that say too little */
        {"--batch-tokens 4M",
         "!instead of --batch-tokens give --global-batch: tokens of a step / sequence length"},
        {"--global-batch-tokens 4M",
         "!instead of --global-batch-tokens give --global-batch: tokens of a step / sequence "
         "length"},
        {"--num_train_epochs 3",
         "!instead of --num-train-epochs give --tokens to 'reckon run': tokens of the data set x "
         "epochs"},
        {"--time 3",
         "!instead of --time give --deadline to 'reckon run', which chooses the number of "
         "accelerators"},
        /* of a whole run */
        {"--tokens 1T", "!--tokens is an option of 'reckon run', not of 'reckon estimate'"},
        {"plan: --deadline 1d", "!--deadline is an option of 'reckon run', not of 'reckon plan'"},
        {"fit: --price 2", "!--price is an option of 'reckon run', not of 'reckon fit'"},
        {"--loss 2", "!--loss is an option of 'reckon run', not of 'reckon estimate'"},
        {"--step-time 2", "!--step-time is an option of 'reckon run', not of 'reckon estimate'"},
        {"run: --tokens 1T --cost-per-gpu-hour 2.5", "tokens=1e+12 price=2.5"},
        {"run: --tokens 1T --price_per_gpu_hour 2.5", "tokens=1e+12 price=2.5"},
        {"--seqlen", "!--seqlen needs a value, as --seq does"},
        {"deepspeed --num_gpus", "!--num-gpus needs a value, as --gpus-per-node does"},
    };
    (void)state;
    COMPARE(cases);
}

/* ---- Megatron-LM ----------------------------------------------------------------------------- */

static void test_overlaps(void **state)
{
    static const flag_case cases[] = {
        /* a question in our options has our default, all but moe, as far as no flag says else */
        {"--mbs 1 --tp-comm-overlap", "micro-batch=1"},
        {"--mbs 1 --tp-comm-overlap false", "micro-batch=1 overlap=grad,param,pp"},
        {"--mbs 1 --overlap-grad-reduce false", "micro-batch=1 overlap=tp,param,pp"},
        {"--mbs 1 --overlap-param-gather 0", "micro-batch=1 overlap=tp,grad,pp"},
        {"--mbs 1 --no-overlap-p2p-communication", "micro-batch=1 overlap=tp,grad,param"},
        {"--mbs 1 --no-overlap-p2p-communication false", "micro-batch=1"},
        {"--mbs 1 --overlap-moe-expert-parallel-comm",
         "micro-batch=1 overlap=tp,grad,param,pp,moe"},
        {"--mbs 1 --overlap-moe-expert-parallel-comm false", "micro-batch=1"},
        {"--mbs 1 --tp-comm-overlap false --overlap-grad-reduce false --overlap-param-gather false "
         "--no-overlap-p2p-communication",
         "micro-batch=1 overlap=none"},
        {"--mbs 1 --overlap moe --tp-comm-overlap false", "micro-batch=1 overlap=moe"},
    };
    (void)state;
    COMPARE(cases);
}

/* What a whole launch leaves out is the default of Megatron-LM's arguments. */
static void test_megatron(void **state)
{
#define JOB "pretrain_gpt.py --gpus 8 --micro-batch-size 1 "
    static const flag_case cases[] = {
        {JOB "--tensor-model-parallel-size 2",
         "accelerators=8 global-batch=4 micro-batch=1 accumulation=1 tp=2 pp=1 cp=1 ep=1 zero=0 "
         "no-sp=true vp=1 recompute=none overlap=none; by default sp cp pp vp ep zero recompute "
         "overlap; plain"},
        {JOB
         "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --context-parallel-size "
         "2 --use-distributed-optimizer --sequence-parallel --tp-comm-overlap "
         "--overlap-grad-reduce --num-virtual-stages-per-pipeline-rank 2 --global-batch-size 64 "
         "--recompute-granularity selective",
         "accelerators=8 global-batch=64 micro-batch=1 tp=2 pp=2 cp=2 ep=1 "
         "use-distributed-optimizer=true sequence-parallel=true vp=2 recompute=selective "
         "recompute-modules=core_attn overlap=tp,grad,pp; by default ep recompute_modules overlap"},
        /* messages hide between interleaved stages, of a layout too */
        {JOB "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
             "Et*8|t*8|t*8|t*8L --overlap-param-gather",
         "accelerators=8 global-batch=4 micro-batch=1 accumulation=1 tp=1 pp=2 cp=1 ep=1 zero=0 "
         "no-sp=true layout=8*4 recompute=none overlap=param,pp; by default tp sp cp ep zero "
         "recompute overlap; plain"},
        {JOB "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*16|t*16L "
             "--overlap-moe-expert-parallel-comm",
         "accelerators=8 global-batch=4 micro-batch=1 accumulation=1 tp=1 pp=2 cp=1 ep=1 zero=0 "
         "no-sp=true layout=16*2 recompute=none overlap=moe; by default tp sp cp ep zero "
         "recompute "
         "overlap; plain"},
        {JOB "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
             "--no-overlap-p2p-communication",
         "accelerators=8 global-batch=4 micro-batch=1 accumulation=1 tp=1 pp=2 cp=1 ep=1 zero=0 "
         "no-sp=true vp=2 recompute=none overlap=none; by default tp sp cp ep zero recompute "
         "overlap; plain"},
    /* FSDP2 gathers ahead by itself, and has gradients of the weights' type */
#define ALL_ONE    "accelerators=8 global-batch=8 micro-batch=1 accumulation=1 tp=1 pp=1 cp=1 ep=1 "
#define BY_DEFAULT "; by default tp sp cp pp vp ep recompute overlap"
        {JOB "--use-torch-fsdp2 --use-distributed-optimizer", ALL_ONE
         "zero=3 no-sp=true vp=1 recompute=none gradients=bf16 overlap=grad,param" BY_DEFAULT},
        {JOB "--use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward --overlap-grad-reduce false",
         ALL_ONE "zero=2 no-sp=true vp=1 recompute=none gradients=bf16 overlap=param" BY_DEFAULT},
        {JOB "--use-torch-fsdp2 --gradients fp32", ALL_ONE
         "zero=3 no-sp=true vp=1 recompute=none gradients=fp32 overlap=grad,param" BY_DEFAULT},
        {JOB "--use-torch-fsdp2 --zero 1",
         ALL_ONE "zero=1 no-sp=true vp=1 recompute=none overlap=grad,param" BY_DEFAULT},
        {JOB "--use-megatron-fsdp",
         ALL_ONE "zero=3 no-sp=true vp=1 recompute=none overlap=none" BY_DEFAULT},
        {JOB "--use-custom-fsdp --data-parallel-sharding-strategy optim_grads",
         ALL_ONE "zero=2 no-sp=true vp=1 recompute=none overlap=none" BY_DEFAULT},
        {JOB "--use-megatron-fsdp --data-parallel-sharding-strategy no_shard",
         ALL_ONE "zero=0 no-sp=true vp=1 recompute=none overlap=none" BY_DEFAULT},
        {JOB "--data-parallel-sharding-strategy all",
         "!--data-parallel-sharding-strategy must be no_shard, optim, optim_grads or "
         "optim_grads_params, not 'all'"},
        {JOB "--data-parallel-sharding-strategy",
         "!--data-parallel-sharding-strategy must be no_shard, optim, optim_grads or "
         "optim_grads_params, not ''"},
        /* details of recomputation have no effect without a granularity */
        {JOB "--zero 1 --recompute-method uniform --recompute-num-layers 4 --recompute-modules mlp",
         ALL_ONE "zero=1 no-sp=true vp=1 recompute=none overlap=none" BY_DEFAULT},
        {JOB "--zero 1 --recompute-granularity full --recompute-method uniform "
             "--recompute-num-layers 4",
         ALL_ONE "zero=1 no-sp=true vp=1 recompute=full overlap=none; by default tp sp cp pp vp ep "
                 "overlap; pieces of 4"},
        {JOB
         "--zero 1 --recompute-granularity full --recompute-method block --recompute-num-layers 4",
         ALL_ONE
         "zero=1 no-sp=true vp=1 recompute=full recompute-layers=4 overlap=none; by default "
         "tp sp cp pp vp ep overlap"},
        {JOB "--recompute-granularity selective --recompute-method uniform",
         "!--recompute-method uniform needs --recompute-granularity full"},
        {JOB "--recompute-method all", "!--recompute-method must be uniform or block, not 'all'"},
        {JOB "--recompute-method", "!--recompute-method must be uniform or block, not ''"},
        {"--mbs 1 --recompute-method uniform --recompute-num-layers 4",
         "micro-batch=1 recompute=full; pieces of 4"},
        /* degrees of 1 leave nothing to split */
        {JOB
         "--zero 1 --sequence-parallel --cp-comm-type a2a --decoder-first-pipeline-num-layers 6 "
         "--account-for-embedding-in-pipeline-split",
         ALL_ONE "zero=1 no-sp=true vp=1 recompute=none overlap=none; by default tp cp pp vp ep "
                 "recompute overlap"},
        {JOB "--zero 1 --decoder-last-pipeline-num-layers 6 --account-for-loss-in-pipeline-split",
         ALL_ONE "zero=1 no-sp=true vp=1 recompute=none overlap=none" BY_DEFAULT},
    };
    (void)state;
    COMPARE(cases);
}

/* ---- other frameworks ------------------------------------------------------------------------ */

/* A launch of another framework has its sharding, its recomputation, and what it overlaps. */
static void test_frameworks(void **state)
{
#define LAUNCH "--complete launch --gpus 8 --mbs 1 --framework "
#define OF(framework)                                                                              \
    "accelerators=8 framework=" framework                                                          \
    " global-batch=8 micro-batch=1 accumulation=1 tp=1 pp=1 cp=1 ep=1 "
#define FILLED " complete=launch; by default tp cp pp vp ep "
    static const flag_case cases[] = {
        {LAUNCH "deepspeed",
         OF("deepspeed") "zero=0 vp=1 recompute=none overlap=none" FILLED "zero recompute overlap"},
        {LAUNCH "deepspeed --zero 3",
         OF("deepspeed") "zero=3 vp=1 recompute=none overlap=grad,param" FILLED
                         "recompute overlap"},
        {LAUNCH "deepspeed --zero 2",
         OF("deepspeed") "zero=2 vp=1 recompute=none overlap=none" FILLED "recompute overlap"},
        {LAUNCH "deepspeed --zero 3,2",
         OF("deepspeed") "zero=3,2 vp=1 recompute=none overlap=none" FILLED "recompute overlap"},
        {LAUNCH "deepspeed --fsdp",
         OF("deepspeed") "zero=3 fsdp=true vp=1 recompute=none overlap=grad,param" FILLED
                         "recompute overlap"},
        {LAUNCH "deepspeed --vp 2", OF("deepspeed") "zero=0 vp=2 recompute=none overlap=pp "
                                                    "complete=launch; by default tp cp pp ep zero "
                                                    "recompute overlap"},
        {LAUNCH "neuronx",
         OF("neuronx") "zero=1 vp=1 recompute=none overlap=none" FILLED "zero recompute overlap"},
        {LAUNCH "neuronx --vp 2 --zero 3",
         OF("neuronx") "zero=3 vp=2 recompute=none overlap=pp complete=launch; by default tp cp pp "
                       "ep recompute "
                       "overlap"},
        {LAUNCH "maxtext", OF("maxtext") "zero=3 vp=1 recompute=full overlap=grad,param" FILLED
                                         "zero recompute overlap"},
        {LAUNCH "huggingface --recompute-modules mlp",
         OF("huggingface") "zero=3 vp=1 recompute-modules=mlp overlap=grad,param" FILLED
                           "zero overlap"},
        {LAUNCH "torchtitan --use-distributed-optimizer --recompute-layers 4 --overlap none",
         OF("torchtitan") "use-distributed-optimizer=true vp=1 recompute-layers=4 overlap=none "
                          "complete=launch; by "
                          "default tp cp pp vp ep"},
        {LAUNCH "primus",
         OF("primus") "zero=0 no-sp=true vp=1 recompute=none overlap=none complete=launch; by "
                      "default tp sp cp pp vp "
                      "ep zero recompute overlap; plain"},
        {LAUNCH "mindspeed --zero 1",
         OF("mindspeed") "zero=1 no-sp=true vp=1 recompute=none "
                         "overlap=none complete=launch; by default tp sp cp pp "
                         "vp ep recompute overlap"},
    };
    (void)state;
    COMPARE(cases);
}

/* torchtitan: 8 sequences of 2048 tokens on a rank, shards, and messages that hide. */
static void test_torchtitan(void **state)
{
#define TITAN "accelerators=8 framework=torchtitan "
#define USUAL "cp=1 ep=1 zero=3 vp=1 recompute=none overlap=grad,param"
#define TP    "--gpus 8 --parallelism.tensor_parallel_degree 2 "
#define PP    "--gpus 8 --parallelism.pipeline_parallel_degree 2 "
    static const flag_case cases[] = {
        {TP, TITAN "global-batch=32 micro-batch=8 accumulation=1 seq=2048 tp=2 pp=1 " USUAL
                   "; by default cp pp vp ep zero micro_batch seq_tokens recompute overlap"},
        {TP "--training.num_tokens_per_microbatch_per_dp_rank 8192 --training.max_context_length "
            "4096",
         TITAN "global-batch=8 micro-batch=2 accumulation=1 seq=4096 tp=2 pp=1 " USUAL
               "; by default cp pp vp ep zero recompute overlap"},
        {TP "--training.num_tokens_per_microbatch_per_dp_rank 1000 --training.seq_len 4096",
         TITAN "global-batch=4 micro-batch=1 accumulation=1 seq=4096 tp=2 pp=1 " USUAL
               "; by default cp pp vp ep zero recompute overlap"},
        {TP "--training.num_tokens_per_microbatch_per_dp_rank -1 --training.seq_len 4096",
         TITAN "global-batch=32 micro-batch=8 accumulation=1 seq=4096 tp=2 pp=1 " USUAL
               "; by default cp pp vp ep zero micro_batch recompute overlap"},
        {TP "--training.local_batch_size 2 --training.num_tokens_per_microbatch_per_dp_rank 8192",
         TITAN "global-batch=8 micro-batch=2 accumulation=1 seq=2048 tp=2 pp=1 " USUAL
               "; by default cp pp vp ep zero seq_tokens recompute overlap"},
        /* context-parallel ranks shard at any degree */
        {TP "--training.global_batch_size 64 --parallelism.data_parallel_shard_degree 1",
         TITAN "global-batch=64 micro-batch=8 seq=2048 tp=2 pp=1 cp=1 ep=1 zero=0 vp=1 "
               "recompute=none overlap=grad,param; by default cp pp vp ep micro_batch seq_tokens "
               "recompute overlap"},
        {TP "--training.global_batch_size 64 --parallelism.data_parallel_shard_degree 1 "
            "--parallelism.context_parallel_degree 2",
         TITAN "global-batch=64 micro-batch=8 seq=2048 tp=2 pp=1 cp=2 ep=1 zero=3 vp=1 "
               "recompute=none overlap=grad,param; by default pp vp ep micro_batch seq_tokens "
               "recompute overlap"},
        {TP "--training.global_batch_size 64 --parallelism.data_parallel_shard_degree -1 "
            "--parallelism.data_parallel_replicate_degree 2 --parallelism.expert_parallel_degree 4 "
            "--parallelism.expert_tensor_parallel_degree 1",
         TITAN
         "global-batch=64 micro-batch=8 seq=2048 tp=2 pp=1 cp=1 ep=4 etp=1 zero=3 hsdp=2 vp=1 "
         "recompute=none overlap=grad,param; by default cp pp vp micro_batch seq_tokens "
         "recompute overlap"},
        /* a pipeline cuts the batch of a rank into sequences; schedules of several stages take two
         */
        {PP, TITAN "global-batch=32 micro-batch=1 accumulation=8 seq=2048 tp=1 pp=2 " USUAL
                   "; by default tp cp vp ep zero micro_batch seq_tokens recompute overlap"},
        {PP "--training.global_batch_size 64 --parallelism.pipeline_parallel_schedule gpipe",
         TITAN "global-batch=64 micro-batch=1 seq=2048 tp=1 pp=2 cp=1 ep=1 zero=3 schedule=gpipe "
               "vp=1 recompute=none overlap=grad,param; by default tp cp vp ep zero micro_batch "
               "seq_tokens recompute overlap"},
        {PP
         "--parallelism.pipeline_parallel_schedule Interleaved1F1B --training.local_batch_size 4 "
         "--activation_checkpoint.mode full",
         TITAN
         "global-batch=16 micro-batch=1 accumulation=4 seq=2048 tp=1 pp=2 cp=1 ep=1 zero=3 "
         "schedule=interleaved vp=2 recompute=full overlap=grad,param,pp; by default tp cp vp "
         "ep zero seq_tokens overlap"},
        {PP "--parallelism.pipeline_parallel_schedule DualPipeV",
         "!--parallelism.pipeline-parallel-schedule DualPipeV has no counterpart here; give "
         "--schedule"},
        {PP "--parallelism.pipeline_parallel_schedule NO_SHARD",
         "!--parallelism.pipeline-parallel-schedule NO_SHARD has no counterpart here; give "
         "--schedule"},
        /* with an option of ours it is a question of our options */
        {"--gpus 8 --tp 2 --gbs 8 --activation_checkpoint.mode none --model.converters "
         "quantize.linear.float8",
         TITAN "global-batch=8 tp=2 recompute=none precision=fp8"},
        {"--gpus 8 --tp 2 --gbs 8 --model.converters quantize.linear.mx",
         TITAN "global-batch=8 tp=2 precision=mxfp8"},
        {"--gpus 8 --tp 2 --gbs 8 --model.converters none", TITAN "global-batch=8 tp=2"},
        {"--gpus 8 --tp 2 --gbs 8 --model.converters", TITAN "global-batch=8 tp=2"},
        {"--gpus 8 --tp 2 --gbs 8 --parallelism.data_parallel_shard_degree",
         TITAN "global-batch=8 tp=2 zero=3"},
        {"--gpus 8 --tp 2 --gbs 8 --profiling.enable_profiling", TITAN "global-batch=8 tp=2"},
        {"--gpus 8 --tp 2 --gbs 8 --job.description text", TITAN "global-batch=8 tp=2"},
        {"--gpus 8 --tp 2 --gbs 8 --framework megatron --metrics.log_freq 10",
         "accelerators=8 framework=megatron global-batch=8 tp=2"},
    };
    (void)state;
    COMPARE(cases);
}

/* ---- flags of the model -----------------------------------------------------------------------
 */

/* Numbers of named models, as their documents have them; another number contradicts the model. */
static void test_model_numbers(void **state)
{
    static const struct {
        const char *model, *flag;
        int value;
    } cases[] = {
        {"llama3-8b", "num-layers", 32},
        {"llama3-8b", "hidden-size", 4096},
        {"llama3-8b", "num-attention-heads", 32},
        {"llama3-8b", "num-query-groups", 8},
        {"llama3-8b", "kv-channels", 128},
        {"llama3-8b", "ffn-hidden-size", 14336},
        {"mixtral-8x7b", "num-experts", 8},
        {"mixtral-8x7b", "moe-router-topk", 2},
        {"mixtral-8x7b", "moe-ffn-hidden-size", 14336},
        {"deepseek-v3", "moe-shared-expert-intermediate-size", 2048},
        {"deepseek-v3", "q-lora-rank", 1536},
        {"deepseek-v3", "kv-lora-rank", 512},
        {"deepseek-v3", "qk-head-dim", 128},
        {"deepseek-v3", "qk-pos-emb-head-dim", 64},
        {"deepseek-v3", "v-head-dim", 128},
        {"deepseek-v3", "moe-router-num-groups", 8},
        {"deepseek-v3", "moe-router-group-topk", 4},
        {"nemotron-h-56b", "mamba-state-dim", 256},
        {"nemotron-h-56b", "mamba-head-dim", 64},
        {"nemotron-h-56b", "mamba-num-groups", 8},
        {"nemotron-h-56b", "mamba-num-heads", 256},
        {"nemotron-3-super-120b", "moe-latent-size", 1024},
        {"qwen3-next-80b-a3b", "linear-key-head-dim", 128},
        {"qwen3-next-80b-a3b", "linear-value-head-dim", 128},
        {"qwen3-next-80b-a3b", "linear-num-key-heads", 16},
        {"qwen3-next-80b-a3b", "linear-num-value-heads", 32},
        {"deepseek-v3.2", "dsa-indexer-n-heads", 64},
        {"deepseek-v3.2", "dsa-indexer-head-dim", 128},
        {"deepseek-v3.2", "dsa-indexer-topk", 2048},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int other = 0; other < 2; other++) {
            char line[128], text[TEXT_SIZE], wanted[TEXT_SIZE] = "";
            const int given = other ? 2 * cases[i].value : cases[i].value;
            (void)snprintf(line, sizeof(line), "--model %s --%s %d", cases[i].model, cases[i].flag,
                           given);
            (void)snprintf(wanted, sizeof(wanted),
                           "!--%s %d contradicts the model %s, which has "
                           "%d; leave out one of --%s and --model",
                           cases[i].flag, given, cases[i].model, cases[i].value, cases[i].flag);
            read_case(line, text);
            if (other ? strcmp(text, wanted) != 0 : text[0] == '!') {
                fail_msg("%s: %s", line, text);
            }
        }
    }
}

/* Flags that a named model has, or that contradict it. */
static void test_model_switches(void **state)
{
    static const struct {
        const char *flag, *has, *lacks; /* models */
    } cases[] = {
        {"swiglu", "llama3-8b", "opt-6.7b"},
        {"squared-relu", "nemotron-4-15b", "llama3-8b"},
        {"untie-embeddings-and-output-weights", "llama3-8b", "llama3.2-1b"},
        {"disable-bias-linear", "llama3-8b", "opt-6.7b"},
        {"add-qkv-bias", "qwen2.5-7b", "llama3-8b"},
        {"qk-layernorm", "qwen3-8b", "llama3-8b"},
        {"qk-layernorm", "deepseek-v3", "llama3-8b"},
        {"attention-output-gate", "qwen3-next-80b-a3b", "qwen3-8b"},
        {"moe-shared-expert-gate", "qwen3-next-80b-a3b", "deepseek-v3"},
        {"moe-router-enable-expert-bias", "deepseek-v3", "mixtral-8x7b"},
        {"multi-latent-attention", "deepseek-v3", "llama3-8b"},
        {"is-hybrid-model", "nemotron-h-56b", "llama3-8b"},
        {"normalization RMSNorm", "llama3-8b", "opt-6.7b"},
        {"use-rotary-position-embeddings", "llama3-8b", "opt-6.7b"},
        {"position-embedding-type rope", "llama3-8b", NULL},
        {"window-size 128,0", "gpt-oss-20b", "mistral-7b"},
        {"group-query-attention", "llama3-8b", NULL},
        {"max-position-embeddings 4096", "llama3-8b", NULL},
        {"tokenizer-type HuggingFaceTokenizer", "llama3-8b", NULL},
        {"vocab-size 128000", "llama3-8b", NULL},       /* rows are padded */
        {"num-query-groups 4", "deepseek-v3", NULL},    /* latent attention has no use for it */
        {"ffn-hidden-size 4096", "mixtral-8x7b", NULL}, /* nor have experts */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128], text[TEXT_SIZE], name[64];
        (void)snprintf(name, sizeof(name), "--%.*s ", (int)strcspn(cases[i].flag, " "),
                       cases[i].flag);
        (void)snprintf(line, sizeof(line), "--model %s --%s", cases[i].has, cases[i].flag);
        read_case(line, text);
        if (text[0] == '!') {
            fail_msg("%s: %s", line, text);
        }
        if (cases[i].lacks) {
            (void)snprintf(line, sizeof(line), "--model %s --%s", cases[i].lacks, cases[i].flag);
            read_case(line, text);
            if (text[0] != '!' || !strstr(text, " contradicts the model ") ||
                strncmp(text + 1, name, strlen(name)) != 0) {
                fail_msg("%s: %s", line, text);
            }
        }
        if (cases[i].lacks && !strchr(cases[i].flag, ' ')) { /* as if it were not there */
            (void)snprintf(line, sizeof(line), "--model %s --%s false", cases[i].lacks,
                           cases[i].flag);
            read_case(line, text);
            if (text[0] == '!') {
                fail_msg("%s: %s", line, text);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),         cmocka_unit_test(test_values),
        cmocka_unit_test(test_overlaps),      cmocka_unit_test(test_megatron),
        cmocka_unit_test(test_frameworks),    cmocka_unit_test(test_torchtitan),
        cmocka_unit_test(test_model_numbers), cmocka_unit_test(test_model_switches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
