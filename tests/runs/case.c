/* SPDX-License-Identifier: Apache-2.0 */
/* Rows become cases: what is printed, what is known of the source, what is assumed. */
#include "runs_test.h"

#include <stdio.h>

#define HEADER                                                                                     \
    "id,part,model,layers,hidden,ffn,heads,vocab,seq,accelerator,n_accel,tp,pp,vpp,dp,mbs,gbs,"    \
    "recompute,zero_or_fsdp,precision,step_time_s,tokens_per_s_per_gpu,peak_mem_gib\n"
#define MODEL "llama,32,4096,11008,32,32000,4096,"
#define SHAPE MODEL "H100,"

static rk_run_sources sources;

static rk_status fill(const char *row, rk_run_case *run, rk_error *err)
{
    char text[1024] = HEADER;
    rk_run_table table;
    strcat(text, row);
    assert_int_equal(rk_run_table_parse(text, strlen(text), "test.csv", &table, err), RK_OK);
    const rk_status status = rk_run_case_fill(&sources, &table, 0, run, err);
    rk_run_table_clear(&table);
    return status;
}

static void test_printed(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(fill("1,mine," SHAPE "64,4,2,2,8,1,256,full,ZeRO-1,FP8,2.5,,40\n", &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.tp * 1000 + c.strategy.pp * 100 + c.strategy.dp, 4208);
    assert_int_equal(c.strategy.vp, 2);
    assert_int_equal(c.strategy.schedule, RK_SCHEDULE_INTERLEAVED);
    assert_int_equal(c.strategy.recompute, RK_REC_FULL);
    assert_int_equal(c.strategy.sharding, RK_SHARD_OPTIMIZER);
    assert_int_equal(c.strategy.precision, RK_FP8);
    assert_near(c.step_seconds, 2.5, 0);
    assert_near(c.memory, 40 * 0x1p30, 0);
    assert_int_equal(c.model.types[0].attention.head_size, 128);
    assert_string_equal(c.assumed, "seq_parallel");
}

/* What a row calls its precision names the format and the recipe of its scales. */
static void test_precision(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        rk_precision precision;
        rk_fp8_recipe recipe;
        bool low_weights;
    } names[] = {
        {"BF16", RK_BF16, RK_FP8_TENSORWISE, false},
        {"NVFP4", RK_FP4, RK_FP8_TENSORWISE, false},
        {"FP8-CS", RK_FP8, RK_FP8_TENSORWISE, true},
        {"FP8 (TE hybrid)", RK_FP8, RK_FP8_DELAYED, true},
        {"MXFP8", RK_FP8, RK_FP8_MX, true},

    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row), "1,mine," MODEL "B200,8,8,1,,1,1,16,none,none,%s,1,,\n",
                       names[i].text);
        assert_int_equal(fill(row, &c, &err), RK_OK);
        assert_int_equal(c.strategy.precision, names[i].precision);
        assert_int_equal(c.strategy.fp8_recipe, names[i].recipe);
        assert_int_equal(c.strategy.low_weights, names[i].low_weights);
    }
}

/* Tokens per second say the same as a step. */
static void test_rate(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(fill("1,mine," SHAPE "8,8,1,,1,1,16,,,,,1024,\n", &c, &err), RK_OK);
    assert_near(c.step_seconds, 16.0 * 4096 / (1024 * 8), 1e-12);
    assert_string_equal(c.assumed, "seq_parallel, recompute, zero_or_fsdp, precision");
}

/* A source's rules choose stack and machine; a cell that is filled stays. */
static void test_sources(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(fill("1,hf_playbook," SHAPE "16,8,1,,2,1,16,none,,BF16,1,,30\n", &c, &err),
                     RK_OK);
    assert_string_equal(sources.stack_names[c.stack], "nanotron");
    assert_string_equal(sources.system_names[c.system], "h100-p5-efa");
    assert_true(c.first_stage);
    assert_near(c.strategy.states.gradient, 6, 0); /* fp32 and the buckets of DDP */
    assert_int_equal(fill("1,llm_foundry," SHAPE "16,1,1,,16,1,16,none,,BF16,1,,30\n", &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_ALL);
    assert_int_equal(
        fill("1,llm_foundry," SHAPE "16,1,1,,16,1,16,none,ZeRO-1,BF16,1,,30\n", &c, &err), RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_OPTIMIZER);
}

static void test_missing(void **state)
{
    (void)state;
    static rk_run_case c;
    static const struct {
        const char *row, *reason;
    } bad[] = {
        {"1,x," SHAPE "8,8,1,,1,1,,,,,1,,\n", "batch not stated"},
        {"1,x," SHAPE ",8,1,,1,1,16,,,,1,,\n", "number of accelerators not stated"},
        {"1,x,llama,32,4096,11008,,32000,4096,H100,8,8,1,,1,1,16,,,,1,,\n", "heads is missing"},
        {"1,x,llama,32,4096,1,32,9,4096,Abacus,8,8,1,,1,1,16,,,,1,,\n", "without a document"},
        {"1,x," SHAPE "24,8,1,,2,1,16,,,,1,,\n", "do not multiply"},
        {"1,x," SHAPE "8,eight,1,,1,1,16,,,,1,,\n", "row 1, column tp"},
        {"1,x," SHAPE "3,3,1,,1,1,16,,,,1,,\n", "heads"},
    };
    rk_error err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(fill(bad[i].row, &c, &err), RK_ERR_INVALID);
        assert_non_null(strstr(err.message, bad[i].reason));
    }
}

/* Documents can be exchanged, and the run's own changes hold for any. */
static void test_exchange(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_run_prediction usual, slow, played;
    rk_error err;
    assert_int_equal(
        fill("1,bigscience,g,32,4096,11008,32,32000,4096,A100,64,4,2,,8,1,256,full,,FP16,2.5,,40\n",
             &c, &err),
        RK_OK);
    assert_near(c.network_bandwidth, 2.67e9, 0);
    rk_run_predict(&sources, &c, NULL, NULL, &usual);
    assert_int_equal(rk_run_predict_exact(&sources, &c, NULL, NULL, &played, &err), RK_OK);
    assert_near(played.estimate.step / usual.estimate.step, 1, 0.02);
    assert_near(usual.tokens_per_second * 64 * usual.estimate.step, 256 * 4096, 1);

    rk_stack stack = sources.stacks[c.stack];
    stack.gemm_share /= 2;
    stack.accumulation_bytes = 1e4; /* the rule of the source replaces it */
    rk_run_predict(&sources, &c, NULL, &stack, &slow);
    assert_true(slow.estimate.step > 1.3 * usual.estimate.step);
    assert_true(slow.estimate.step < 2 * usual.estimate.step);

    rk_system system = sources.systems[c.system];
    system.tiers[system.tier_count - 1].bandwidth = 1; /* likewise */
    rk_run_predict(&sources, &c, &system, NULL, &slow);
    assert_near(slow.estimate.step, usual.estimate.step, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printed), cmocka_unit_test(test_precision),
        cmocka_unit_test(test_rate),    cmocka_unit_test(test_sources),
        cmocka_unit_test(test_missing), cmocka_unit_test(test_exchange),
    };
    rk_error err;
    if (rk_run_sources_load(NULL, &sources, &err)) {
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rk_run_sources_clear(&sources);
    return failed;
}
