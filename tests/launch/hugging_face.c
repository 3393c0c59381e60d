/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of the Hugging Face family and of DeepSpeed, and what no launch may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"

static rk_launch read_launch(const char *text, const char *name)
{
    rk_launch launch = {0};
    rk_error err = {0};
    if (rk_launch_parse(text, strlen(text), name, &launch, &err) ||
        rk_launch_resolve(&launch, &err)) {
        fail_msg("%s: %s", name, err.message);
    }
    return launch;
}

static void assert_fact(const rk_launch *launch, const char *field, const char *value)
{
    const char *found = rk_launch_fact_of(launch, field);
    if (!found || strcmp(found, value) != 0) {
        fail_msg("%s: %s expected, %s found", field, value, found ? found : "open");
    }
}

static rk_key_use use_of(const rk_launch *launch, const char *name)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        if (strcmp(launch->keys[i].name, name) == 0) {
            return launch->keys[i].use;
        }
    }
    return RK_KEY_UNREAD;
}

static rk_fact_origin origin_of(const rk_launch *launch, const char *field)
{
    for (size_t i = 0; i < launch->fact_count; i++) {
        if (strcmp(launch->facts[i].field, field) == 0) {
            return launch->facts[i].origin;
        }
    }
    return RK_FACT_OPEN;
}

/* ---- axolotl --------------------------------------------------------------------------------- */

static void test_axolotl_adapters(void **state)
{
    (void)state;
    rk_launch launch = read_launch("base_model: NousResearch/Llama-2-7b-hf\n"
                                   "adapter: qlora\n"
                                   "load_in_4bit: true\n"
                                   "lora_r: 32\n"
                                   "lora_dropout: 0.05\n"
                                   "lora_target_linear: true\n"
                                   "tiled_mlp: true\n"
                                   "sequence_len: 4096\n"
                                   "sample_packing: true\n"
                                   "micro_batch_size: 2\n"
                                   "gradient_accumulation_steps: 4\n"
                                   "optimizer: paged_adamw_32bit\n"
                                   "bf16: auto\n"
                                   "tf32: true\n"
                                   "gradient_checkpointing: offload\n"
                                   "attn_implementation: flash_attention_2\n"
                                   "val_set_size: 0.05\n",
                                   "qlora.yml");
    assert_string_equal(launch.reader->name, "axolotl");
    assert_fact(&launch, "qlora", "true");
    assert_fact(&launch, "lora", "32");
    assert_fact(&launch, "lora_modules", "attention,mlp");
    assert_fact(&launch, "adapter_dropout", "true");
    assert_fact(&launch, "tiled_mlp", "true");
    assert_fact(&launch, "optimizer", "paged adamw");
    assert_fact(&launch, "precision", "bf16");
    assert_fact(&launch, "offload", "activations");
    assert_fact(&launch, "recompute.granularity", "full");
    assert_fact(&launch, "model.layers", "32");
    assert_fact(&launch, "model.vocab", "32000");
    assert_int_equal(origin_of(&launch, "model.layers"), RK_FACT_DERIVED);
    assert_int_equal(use_of(&launch, "tf32"), RK_KEY_USED);
    rk_launch_clear(&launch);
}

/* The ranks of the file are shards times replicas; tensor parallelism is beside them. */
static void test_axolotl_degrees(void **state)
{
    (void)state;
    rk_launch launch = read_launch("base_model: meta-llama/Llama-3.1-8B\n"
                                   "dp_shard_size: 4\n"
                                   "dp_replicate_size: 2\n"
                                   "tensor_parallel_size: 2\n"
                                   "context_parallel_size: 1\n"
                                   "fsdp_version: 2\n"
                                   "fsdp_config:\n"
                                   "  offload_params: true\n"
                                   "  reshard_after_forward: false\n"
                                   "  activation_checkpointing: true\n"
                                   "gradient_checkpointing: false\n"
                                   "plugins:\n"
                                   "  - axolotl.integrations.cut_cross_entropy."
                                   "CutCrossEntropyPlugin\n"
                                   "  - axolotl.integrations.kernels.KernelsPlugin\n"
                                   "bf16: false\n"
                                   "fp16:\n",
                                   "hsdp.yaml");
    assert_fact(&launch, "dp", "8");
    assert_fact(&launch, "hsdp", "2");
    assert_fact(&launch, "tp", "2");
    assert_null(rk_launch_fact_of(&launch, "cp_kind"));
    assert_fact(&launch, "zero", "2");
    assert_fact(&launch, "offload", "optimizer+weights");
    assert_fact(&launch, "recompute.granularity", "full");
    assert_fact(&launch, "loss", "fused (cut cross entropy)");
    assert_fact(&launch, "precision", "fp32");
    assert_fact(&launch, "global_batch", "8");
    assert_fact(&launch, "framework", "huggingface");
    assert_int_equal(use_of(&launch, "plugins"), RK_KEY_NOT_PRICED);
    rk_launch_clear(&launch);
}

/* Files that axolotl ships are known by their names, and may contain a DeepSpeed section. */
static void test_axolotl_deepspeed(void **state)
{
    (void)state;
    rk_launch launch = read_launch("base_model: Qwen/Qwen3-8B\n"
                                   "deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json\n",
                                   "zero.yml");
    assert_fact(&launch, "zero", "3");
    assert_fact(&launch, "offload", "optimizer+weights");
    assert_fact(&launch, "overlap", "grad+param");
    assert_int_equal(origin_of(&launch, "zero"), RK_FACT_DERIVED);
    rk_launch_clear(&launch);
    launch = read_launch("base_model: Qwen/Qwen3-8B\n"
                         "deepspeed:\n"
                         "  zero_optimization:\n"
                         "    stage: 1\n"
                         "    overlap_comm: true\n"
                         "    offload_optimizer:\n"
                         "      device: nvme\n"
                         "  train_batch_size: auto\n",
                         "inner.yml");
    assert_fact(&launch, "zero", "1");
    assert_fact(&launch, "overlap", "grad");
    assert_fact(&launch, "offload", "optimizer");
    assert_fact(&launch, "nvme", "optimizer");
    assert_int_equal(use_of(&launch, "train_batch_size"), RK_KEY_WITHOUT_COST);
    rk_launch_clear(&launch);
}

/* ---- LLaMA-Factory --------------------------------------------------------------------------- */

static const char llama_factory[] = "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\n"
                                    "stage: sft\n"
                                    "finetuning_type: full\n"
                                    "template: qwen3\n"
                                    "deepspeed: examples/deepspeed/ds_z3_config.json\n"
                                    "gradient_accumulation_steps: 2\n"
                                    "bf16: true\n";

static void test_llama_factory(void **state)
{
    (void)state;
    rk_launch launch = read_launch(llama_factory, "full.yaml");
    assert_string_equal(launch.reader->name, "llama-factory");
    assert_fact(&launch, "seq", "2048");
    assert_fact(&launch, "micro_batch", "8");
    assert_fact(&launch, "accumulation", "2");
    assert_fact(&launch, "zero", "3");
    assert_fact(&launch, "overlap", "none");
    assert_fact(&launch, "weights_loaded_as", "bf16 with fp32 masters");
    assert_fact(&launch, "model.hidden", "2560");
    assert_fact(&launch, "packing", "false");
    rk_launch_clear(&launch);
}

/* The launch's own file wins over the DeepSpeed file, whose "auto" says nothing. */
static void test_documents_in_order(void **state)
{
    (void)state;
    rk_launch launch = read_launch(
        "{\"argv\": [\"llamafactory-cli\", \"train\", \"x.yaml\", \"cutoff_len=4096\"], "
        "\"config\": "
        "{\"train\": {\"model_name_or_path\": \"Qwen/Qwen3-8B\", \"finetuning_type\": \"lora\", "
        "\"cutoff_len\": 1024, \"gradient_accumulation_steps\": 4}, \"deepspeed\": "
        "{\"gradient_accumulation_steps\": \"auto\", \"zero_optimization\": {\"stage\": 2, "
        "\"reduce_bucket_size\": 5e8, \"zero_quantized_gradients\": true}}}}",
        "record.json");
    assert_fact(&launch, "accumulation", "4");
    assert_fact(&launch, "seq", "4096");
    assert_fact(&launch, "zero", "2");
    assert_fact(&launch, "lora", "8");
    assert_int_equal(use_of(&launch, "zero_optimization.reduce_bucket_size"), RK_KEY_WITHOUT_COST);
    assert_int_equal(use_of(&launch, "zero_optimization.zero_quantized_gradients"),
                     RK_KEY_NOT_PRICED);
    rk_launch_clear(&launch);
}

/* Batch sizes of a DeepSpeed file repeat the trainer's options, or contradict them. */
static void test_repeated_batch(void **state)
{
    (void)state;
    static const struct {
        int size;
        rk_key_use use;
    } rows[] = {{2, RK_KEY_WITHOUT_COST}, {1, RK_KEY_NOT_PRICED}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[512];
        (void)snprintf(
            text, sizeof(text),
            "{\"argv\": [\"torchrun\", \"--nproc_per_node\", \"8\", \"run_clm.py\", "
            "\"--model_name_or_path\", \"Qwen/Qwen3-8B\", \"--output_dir\", \"o\", "
            "\"--per_device_train_batch_size\", \"2\", \"--deepspeed\", \"ds.json\"], \"config\": "
            "{\"deepspeed\": {\"train_micro_batch_size_per_gpu\": %d, \"train_batch_size\": "
            "\"auto\", \"zero_optimization\": {\"stage\": 2}}}}",
            rows[i].size);
        rk_launch launch = read_launch(text, "record.json");
        assert_fact(&launch, "micro_batch", "2");
        assert_int_equal(use_of(&launch, "train_micro_batch_size_per_gpu"), rows[i].use);
        assert_int_equal(use_of(&launch, "train_batch_size"), RK_KEY_WITHOUT_COST);
        rk_launch_clear(&launch);
    }
}

/* ---- DeepSpeed, accelerate ------------------------------------------------------------------- */

static void test_deepspeed(void **state)
{
    (void)state;
    rk_launch launch = read_launch(
        "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 4, \"bf16\": {\"enabled\": "
        "true}, \"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}}, "
        "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}, \"tensor_parallel\": {\"autotp_size\": "
        "4}, \"wall_clock_breakdown\": false, \"optimizer\": {\"type\": \"AdamW\", \"params\": "
        "{\"lr\": 1e-5}}}",
        "ds_config.json");
    assert_string_equal(launch.reader->name, "deepspeed-json");
    assert_string_equal(launch.reader->framework, "deepspeed");
    assert_fact(&launch, "zero", "3");
    assert_fact(&launch, "overlap", "grad+param");
    assert_fact(&launch, "offload", "weights");
    assert_fact(&launch, "gradients", "fp32");
    assert_fact(&launch, "precision", "bf16");
    assert_fact(&launch, "tp", "4");
    assert_fact(&launch, "global_batch", "64");
    assert_fact(&launch, "micro_batch", "4");
    assert_fact(&launch, "optimizer", "adamw");
    assert_int_equal(use_of(&launch, "optimizer.params.lr"), RK_KEY_WITHOUT_COST);
    rk_launch_clear(&launch);
}

static void test_accelerate(void **state)
{
    (void)state;
    rk_launch launch = read_launch("compute_environment: LOCAL_MACHINE\n"
                                   "distributed_type: DEEPSPEED\n"
                                   "deepspeed_config:\n"
                                   "  zero_stage: 3\n"
                                   "  offload_optimizer_device: cpu\n"
                                   "mixed_precision: bf16\n"
                                   "num_machines: 2\n"
                                   "num_processes: 16\n"
                                   "parallelism_config:\n"
                                   "  parallelism_config_sp_size: 2\n",
                                   "zero3.yaml");
    assert_string_equal(launch.reader->name, "accelerate");
    assert_fact(&launch, "zero", "3");
    assert_fact(&launch, "offload", "optimizer");
    assert_fact(&launch, "precision", "bf16");
    assert_fact(&launch, "gpus_per_node", "8");
    assert_fact(&launch, "cp", "2");
    assert_fact(&launch, "cp_kind", "ulysses");
    assert_fact(&launch, "dp", "8");
    assert_fact(&launch, "framework", "deepspeed");
    rk_launch_clear(&launch);
}

static void test_megatron_plugin(void **state)
{
    (void)state;
    rk_launch launch = read_launch("compute_environment: LOCAL_MACHINE\n"
                                   "distributed_type: MEGATRON_LM\n"
                                   "megatron_lm_config:\n"
                                   "  megatron_lm_tp_degree: 4\n"
                                   "  megatron_lm_pp_degree: 2\n"
                                   "  megatron_lm_num_micro_batches: 8\n"
                                   "num_machines: 2\n"
                                   "num_processes: 16\n",
                                   "megatron.yaml");
    assert_fact(&launch, "framework", "megatron");
    assert_fact(&launch, "tp", "4");
    assert_fact(&launch, "pp", "2");
    assert_fact(&launch, "accumulation", "8");
    rk_launch_clear(&launch);
}

/* Moments have the type of the weights, but for optimizers that keep them in 8 bits. */
static void test_moments(void **state)
{
    (void)state;
    static const struct {
        const char *optim, *moments; /* NULL: open */
    } cases[] = {{"adamw_torch", "bf16"}, {"adamw_8bit", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[256];
        (void)snprintf(
            line, sizeof(line),
            "trl sft --model_name_or_path gpt2 --dataset_name x --dtype bfloat16 --optim %s",
            cases[i].optim);
        rk_launch launch = read_launch(line, "line");
        if (cases[i].moments) {
            assert_fact(&launch, "states.exp_avg", cases[i].moments);
        } else {
            assert_null(rk_launch_fact_of(&launch, "states.exp_avg"));
        }
        rk_launch_clear(&launch);
    }
}

/* Defaults follow the release: TRL recomputes since 0.22 and chunks its loss since 1.6. */
static void test_releases(void **state)
{
    (void)state;
    static const char line[] = "{\"argv\": [\"trl\", \"sft\", \"--model_name_or_path\", \"gpt2\", "
                               "\"--dataset_name\", \"x\"], \"release\": \"%s\"}";
    static const struct {
        const char *release, *recompute, *loss, *precision;
    } releases[] = {{"0.15.2", "none", "full logits", "fp32"},
                    {"2025-07 (trl 0.19)", "none", "full logits", "bf16"},
                    {"1.5", "full", "full logits", "bf16"},
                    {"1.10.dev (2026-07)", "full", "chunked", "bf16"}};
    for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), line, releases[i].release);
        rk_launch launch = read_launch(text, "record.json");
        assert_fact(&launch, "recompute.granularity", releases[i].recompute);
        assert_fact(&launch, "loss", releases[i].loss);
        assert_fact(&launch, "precision", releases[i].precision);
        rk_launch_clear(&launch);
    }
}

/* ---- files in the folder of the launch ------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text, char *path,
                       size_t size)
{
    (void)snprintf(path, size, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A DeepSpeed file in the folder of the launch is opened, whatever path the launch gives. */
static void test_named_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/launch-XXXXXX", path[256], config[256];
    assert_non_null(mkdtemp(folder));
    write_file(folder, "own.json", "{\"zero_optimization\": {\"stage\": 1}}", config,
               sizeof(config));
    write_file(folder, "run.yml",
               "base_model: Qwen/Qwen3-8B\ndeepspeed: /data/elsewhere/own.json\n", path,
               sizeof(path));
    rk_launch launch;
    rk_error err = {0};
    assert_int_equal(rk_launch_load(path, &launch, &err), RK_OK);
    assert_int_equal(rk_launch_resolve(&launch, &err), RK_OK);
    assert_fact(&launch, "zero", "1");
    assert_int_equal(origin_of(&launch, "zero"), RK_FACT_STATED);
    rk_launch_clear(&launch);
    write_file(folder, "own.json", "{\"zero_optimization\": {\"stage\": 1}", config,
               sizeof(config));
    assert_int_equal(rk_launch_load(path, &launch, &err), RK_OK);
    assert_int_equal(rk_launch_resolve(&launch, &err), RK_ERR_SYNTAX);
    rk_launch_clear(&launch);
    assert_int_equal(remove(config) | remove(path) | remove(folder), 0);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* The text of `count` copies of a part between a start and an end; the caller frees it. */
static char *repeat(const char *start, const char *part, size_t count, const char *end)
{
    const size_t each = strlen(part);
    char *text = calloc(strlen(start) + count * each + strlen(end) + 1, 1);
    assert_non_null(text);
    char *at = stpcpy(text, start);
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, part);
    }
    (void)stpcpy(at, end);
    return text;
}

static rk_status status_of(const char *text, const char *name)
{
    rk_launch launch = {0};
    rk_error err = {0};
    rk_status status = rk_launch_parse(text, strlen(text), name, &launch, &err);
    status = status ? status : rk_launch_resolve(&launch, &err);
    rk_launch_clear(&launch);
    return status;
}

static void test_bounds(void **state)
{
    (void)state;
    char *words = repeat("swift sft --target_modules ", "a ", 200000, "");
    char *flags = repeat("swift sft ", "--max_length 1 ", 20000, "");
    char *nested = repeat("{\"base_model\": \"x\", \"b\": ", "{\"a\": ", 200, "1");
    char *closed = repeat(nested, "}", 200, "}");
    assert_int_equal(status_of(words, "words.txt"), RK_OK);
    assert_int_equal(status_of(flags, "flags.txt"), RK_ERR_INVALID);
    assert_int_equal(status_of(closed, "nested.json"), RK_OK);
    free(words);
    free(flags);
    free(nested);
    free(closed);
}

/* Values that are no numbers, no lists, or of another kind than the reader expects. */
static void test_garbage(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "base_model: 7\nmicro_batch_size: -1\nsequence_len: 1e300\nlora_r: x\nadapter: lora\n",
        "base_model: [a, b]\nplugins: {a: 1}\nfsdp: 3\nfsdp_config: no\ndeepspeed: 5\n",
        "base_model: x\ndp_shard_size: 1e99\ndp_replicate_size: .nan\nbatch_size: -4\nrl: [1]\n",
        "model_name_or_path: x\nfinetuning_type: {a: b}\nquantization_bit: 4.5\nstage: 1\n",
        "distributed_type: [x]\nnum_processes: -3\nnum_machines: 0\nfsdp_config: {}\n",
        "zero_optimization: 3\ntrain_batch_size: {}\n",
        "zero_optimization:\n  stage: 99\n  offload_param: cpu\n  mics_shard_size: 0.5\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(status_of(texts[i], "garbage.yaml"), RK_OK);
    }
}

/* ---- one value ------------------------------------------------------------------------------- */

static void test_one_value(void **state)
{
    static const struct {
        const char *name, *text, *field, *value;
    } cases[] = {
        {"ds.json",
         "{\"train_micro_batch_size_per_gpu\": 1,"
         " \"zero_optimization\": {\"stage\": 0, \"overlap_comm\": true}}",
         "overlap", "none"},
        {"ds.json",
         "{\"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": {\"stage\": 2}}",
         "overlap", "none"},
        {"ds.json",
         "{\"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": {\"stage\": 1},"
         " \"bf16\": {\"enabled\": true, \"bf16_optimizer_states\": true}}",
         "states.exp_avg_sq", "bf16"},
        {"fp16.yml", "base_model: a/b\nfp16: true\nbf16: false\nmicro_batch_size: 1\n", "precision",
         "fp16"},
        {"nemo.yaml",
         "trainer: {num_nodes: 1, devices: 8}\n"
         "model: {encoder_seq_length: 2048, num_layers: 12, hidden_size: 768,"
         " num_attention_heads: 12, fsdp: true, fsdp_sharding_strategy: grad}\n",
         "zero", "2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_launch launch = read_launch(cases[i].text, cases[i].name);
        assert_fact(&launch, cases[i].field, cases[i].value);
        rk_launch_clear(&launch);
    }
}

/* Every reader is found by its name. */
static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; rk_launch_readers[i]; i++) {
        rk_launch launch = {0};
        rk_error err = {0};
        assert_int_equal(rk_launch_name_reader(&launch, rk_launch_readers[i]->name, NULL, &err),
                         RK_OK);
        rk_launch_clear(&launch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),           cmocka_unit_test(test_axolotl_adapters),
        cmocka_unit_test(test_axolotl_degrees), cmocka_unit_test(test_axolotl_deepspeed),
        cmocka_unit_test(test_llama_factory),   cmocka_unit_test(test_documents_in_order),
        cmocka_unit_test(test_repeated_batch),  cmocka_unit_test(test_deepspeed),
        cmocka_unit_test(test_moments),         cmocka_unit_test(test_megatron_plugin),
        cmocka_unit_test(test_accelerate),      cmocka_unit_test(test_releases),
        cmocka_unit_test(test_named_file),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_garbage),         cmocka_unit_test(test_one_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
