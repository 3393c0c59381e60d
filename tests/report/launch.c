/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts name arguments that there are, with values that they take, and say what was planned. */
#include "../block/blocks.h"

#include "report/launch.h"

#include <stdlib.h>
#include <unistd.h>

enum { MOST = 1 << 16, NAME = 64 };

static char known[MOST]; /* of megatron_flags.txt */

static void read_file(const char *path, char *text)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail_msg("cannot open %s", path);
    }
    text[fread(text, 1, MOST - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
}

static int read_known(void **state)
{
    (void)state;
    read_file(getenv("MEGATRON_FLAGS"), known);
    return 0;
}

static rk_status launch_by(rk_launch_writer *write, const rk_model *model, const char *machine,
                           const rk_strategy *s, char *text, rk_error *err)
{
    char path[] = "/tmp/reckon-launch-XXXXXX";
    const rk_stack stack = stack_of("megatron-2025");
    rk_system system = system_of(machine);
    const rk_launch what = {model, &system, &stack, s, "a title"};
    rk_out *out;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(rk_out_open(path, &out, err), RK_OK);
    const rk_status status = write(&what, out, err);
    if (status) {
        rk_out_abandon(out);
    } else {
        assert_int_equal(rk_out_close(out, err), RK_OK);
        read_file(path, text);
    }
    (void)unlink(path);
    rk_system_clear(&system);
    return status;
}

static rk_status launch(const rk_model *model, const char *machine, const rk_strategy *s,
                        char *text, rk_error *err)
{
    return launch_by(rk_launch_megatron, model, machine, s, text, err);
}

/* ---- what arguments there are ---------------------------------------------------------------- */

/* The line of an argument, "name kind choices". */
static bool find_known(const char *name, char kind[NAME], char choices[256])
{
    char line[NAME + 4];
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *found = strstr(known, line);
    choices[0] = '\0';
    return found && sscanf(found + strlen(line), "%63[a-z]%*[ ]%255[^\n]", kind, choices) >= 1;
}

static bool is_choice(const char *choices, const char *value)
{
    char list[300], item[NAME + 4];
    (void)snprintf(list, sizeof(list), ",%s,", choices);
    (void)snprintf(item, sizeof(item), ",%s,", value);
    return choices[0] == '\0' || strstr(list, item);
}

/* "    --name value...": one line of a script. */
static void check_line(const char *line)
{
    char name[NAME], kind[NAME] = "", choices[256], rest[512] = "";
    assert_true(sscanf(line, " --%63[a-z0-9-] %511[^\\\n]", name, rest) >= 1);
    if (!find_known(name, kind, choices)) {
        fail_msg("Megatron-LM has no --%s", name);
    }
    size_t length = strlen(rest);
    while (length > 0 && rest[length - 1] == ' ') {
        rest[--length] = '\0';
    }
    if (strcmp(kind, "flag") == 0 ? length > 0 : length == 0) {
        fail_msg("--%s with \"%s\"", name, rest);
    }
    if (strcmp(kind, "int") == 0) {
        char *end;
        (void)strtol(rest, &end, 10);
        assert_true(*end == '\0');
    }
    for (char *word = strtok(rest, " "); word; word = strtok(NULL, " ")) {
        if (!is_choice(choices, word)) {
            fail_msg("--%s takes %s, not %s", name, choices, word);
        }
    }
}

static void check_script(const char *text)
{
    int lines = 0;
    for (const char *line = strstr(text, "\n    --"); line; line = strstr(line + 1, "\n    --")) {
        check_line(line + 1);
        lines++;
    }
    assert_true(lines > 15);
    assert_memory_equal(text, "# a title\n# ", 12);
    assert_null(strstr(text, "\\\n\n"));
}

/* ---- scripts --------------------------------------------------------------------------------- */

static void test_catalogue(void **state)
{
    (void)state;
    static const char *const names[] = {
        "llama3-70b",   "gpt3-175b",  "deepseek-v3", "gpt-oss-120b", "gemma3-27b",      "qwen3-8b",
        "mixtral-8x7b", "falcon-40b", "bloom-176b",  "qwen2.5-7b",   "llama4-maverick", "phi-2"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        static char text[MOST];
        rk_error err;
        const rk_model model = model_of(names[i]);
        rk_strategy s = rk_strategy_defaults(&model);
        s.dp = s.global_batch = 64;
        for (int k = 0; k < 8; k++) {
            s.sharding = (rk_sharding)(k % 4);
            s.recompute = (rk_recompute_kind)(k % 3);
            s.recompute_modules = k % 3 == RK_REC_SELECTIVE ? RK_MODULE_NORM | RK_MODULE_MLP : 0;
            s.precision = k % 2 ? RK_FP8 : RK_BF16;
            s.fp8_recipe = (rk_fp8_recipe)(k / 2);
            s.low_weights = k % 4 == 1;
            s.graph_capture = k == 5;
            s.graph_step = k == 7;
            s.offload_optimizer = k == 6;
            s.cp = k == 3 ? 2 : 1;
            s.cp_kind = (rk_cp_kind)(k % 3);
            s.capacity_factor = k == 2 ? 1.25 : 0;
            assert_int_equal(launch(&model, "dgx-h100-superpod", &s, text, &err), RK_OK);
            check_script(text);
        }
    }
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("\"%s\" is not in\n%s", part, text);
    }
}

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
    check_script(text);
    assert_holds(text, "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
    assert_holds(text, "--tensor-model-parallel-size 8 \\\n    --sequence-parallel");
    assert_holds(text, "--pipeline-model-parallel-size 16 \\\n    "
                       "--num-virtual-stages-per-pipeline-rank 8 \\\n    "
                       "--account-for-embedding-in-pipeline-split \\\n    "
                       "--account-for-loss-in-pipeline-split");
    assert_holds(text, "--use-tp-pp-dp-mapping");
    assert_holds(text, "--num-query-groups 8");
    assert_null(strstr(text, "Not said"));
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
    check_script(text);
    assert_holds(text, "--moe-layer-freq \"([0]*3+[1]*58)\"");
    assert_holds(text, "--recompute-modules layernorm moe_act mla_up_proj");
    assert_holds(text, "--pipeline-model-parallel-layout \"Et*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|t*4|"
                       "t*4|t*4|t*4|t*4|t*4|t*4|t*1mL\"");
    assert_holds(text, "--mtp-num-layers 1 ");
    assert_holds(text, "--moe-flex-dispatcher-backend deepep");
    assert_holds(text, "--ffn-hidden-size 18432");
    assert_holds(text, "--moe-ffn-hidden-size 2048");
    assert_holds(text, "--moe-shared-expert-intermediate-size 2048");
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
    assert_memory_equal(text, "# a title\n# torchtitan", 22);
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
    assert_null(strstr(text, "Not said"));
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
    assert_holds(text, "[quantize.linear.float8]\nrecipe_name = \"tensorwise\"\n"
                       "enable_fsdp_float8_all_gather = true\n");
    s.vp = 1;
    s.schedule = RK_SCHEDULE_ZB_H2;
    assert_int_equal(launch_by(rk_launch_torchtitan, &model, "dgx-h100-superpod", &s, text, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "zb-h2; use gpipe"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue), cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_experts),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_titan),
    };
    return cmocka_run_group_tests(tests, read_known, NULL);
}
