/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of runs: RFC 4180 as written by anybody, and faults told where they are. */
#include "runs_test.h"

#include "evidence/run_facts.h"

static rk_status parse(const char *text, rk_run_table *table, rk_error *err)
{
    return rk_run_table_parse(text, strlen(text), "test.csv", table, err);
}

/* The cell of a fact by its name. */
static const char *fact_of(const rk_run_table *table, size_t row, const char *name)
{
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        if (strcmp(rk_run_fact_fields[i].name, name) == 0) {
            return rk_run_fact_cell(table, row, i);
        }
    }
    fail_msg("no fact is called %s", name);
    return "";
}

static void test_cells(void **state)
{
    (void)state;
    rk_run_table t;
    rk_error err;
    assert_int_equal(parse("id,other,model\n1,x,\"a, \"\"b\"\"\nc\"\n2,,\n", &t, &err), RK_OK);
    assert_int_equal(t.rows, 2);
    assert_string_equal(rk_run_cell(&t, 0, RK_RUN_ID), "1");
    assert_string_equal(rk_run_cell(&t, 0, RK_RUN_MODEL), "a, \"b\"\nc");
    assert_string_equal(rk_run_cell(&t, 1, RK_RUN_MODEL), "");
    assert_string_equal(rk_run_cell(&t, 1, RK_RUN_TP), "");
    rk_run_table_clear(&t);
}

/* A spreadsheet's mark and line ends, empty lines, and no line end at the end. */
static void test_spreadsheet(void **state)
{
    (void)state;
    rk_run_table t;
    rk_error err;
    assert_int_equal(parse("\xef\xbb\xbfid,tp\r\n\"a\",4\r\n\r\nb,8.0", &t, &err), RK_OK);
    assert_int_equal(t.rows, 2);
    double tp = 0;
    assert_int_equal(rk_run_number(&t, 1, RK_RUN_TP, &tp, &err), RK_OK);
    assert_near(tp, 8, 0);
    assert_int_equal(rk_run_number(&t, 1, RK_RUN_PP, &tp, &err), RK_OK);
    assert_near(tp, 8, 0);
    rk_run_table_clear(&t);
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, column;
    } bad[] = {
        {"id,tp\n1,2\n3\n", 3, 1},         {"id,tp\n1,2,3\n", 2, 3}, {"id,tp\n1,\"2\n\n", 2, 2},
        {"id,tp\n\"1\n\",\"2\"x\n", 2, 2}, {"id,tp\n1,2\"\n", 2, 2},
    };
    rk_run_table t;
    rk_error err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(parse(bad[i].text, &t, &err), RK_ERR_SYNTAX);
        assert_int_equal(err.line, bad[i].line);
        assert_int_equal(err.column, bad[i].column);
        assert_string_equal(err.file, "test.csv");
    }
    assert_int_equal(parse("", &t, &err), RK_ERR_INVALID);
    assert_int_equal(parse("id,id\n", &t, &err), RK_ERR_INVALID);
    assert_int_equal(rk_run_table_load("no/such.csv", &t, &err), RK_ERR_IO);
}

static void test_numbers(void **state)
{
    (void)state;
    static const char *const bad[] = {"x", "-1", "nan", "inf", "4 nodes", "1e999"};
    char text[64] = "id,tp\n1,";
    rk_run_table t;
    rk_error err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double value = 7;
        text[8] = '\0';
        assert_int_equal(parse(strcat(text, bad[i]), &t, &err), RK_OK);
        assert_int_equal(rk_run_number(&t, 0, RK_RUN_TP, &value, &err), RK_ERR_INVALID);
        assert_near(value, 7, 0);
        assert_non_null(strstr(err.message, "row 1, column tp"));
        rk_run_table_clear(&t);
    }
}

/* Every column but those of text has a bit of its own. */
static void test_bits(void **state)
{
    uint64_t all = 0;
    (void)state;
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        const uint64_t bit = rk_run_column_bit(column);
        assert_int_equal(bit == 0, strcmp(rk_run_column_texts[column].type, "text") == 0);
        assert_int_equal(all & bit, 0);
        all |= bit;
    }
}

/* The message for a header; "": it is taken. */
static const char *check(const char *header, rk_error *err)
{
    rk_run_table t;
    *err = (rk_error){.message = ""};
    assert_int_equal(parse(header, &t, err), RK_OK);
    const rk_status status = rk_run_table_check(&t, err);
    assert_int_equal(status, err->message[0] ? RK_ERR_INVALID : RK_OK);
    rk_run_table_clear(&t);
    return err->message;
}

#define NEEDED "model,seq,accelerator,n_accel,gbs"

/* What a header lacks and misspells, all at once; a column beside the one it looks like is its
 * owner's, and so is one that looks like none. */
static void test_columns(void **state)
{
    (void)state;
    rk_error err;
    assert_string_equal(check("model,accelerator\n", &err),
                        "missing required columns: seq, n_accel, gbs (see docs/columns.md)");
    assert_string_equal(check("layers,seq,system,n_accel\n", &err),
                        "missing required column: gbs (see docs/columns.md)");
    assert_string_equal(check(NEEDED ",step_s\n", &err),
                        "unknown column: step_s (did you mean step_time_s?); see docs/columns.md");
    assert_string_equal(
        check(NEEDED ",step_time,peak_memory_gib,shardng\n", &err),
        "unknown columns: step_time (did you mean step_time_s?), peak_memory_gib (did you mean "
        "peak_mem_gib?), shardng (did you mean sharding?); see docs/columns.md");
    assert_string_equal(
        check("model,seqlen,accelerator,gpus,gbs\n", &err),
        "missing required columns: seq, n_accel; unknown columns: seqlen (did you mean seq?), gpus "
        "(did you mean n_accel?) (see docs/columns.md)");
    assert_string_equal(check(NEEDED ",step_s,step_time_s\n", &err), "");
    /* names that answers have; beside the column itself they are ignored */
    assert_string_equal(
        check("model,seq_tokens,accelerator,accelerators,global_batch,micro_batch,vp,sp,"
              "step_measured_s\n",
              &err),
        "");
    assert_string_equal(check(NEEDED ",accelerators\n", &err), "");
    assert_string_equal(check(NEEDED ",notes,source,url,loss,wandb run\n", &err), "");
}

static void test_ignored(void **state)
{
    (void)state;
    rk_run_table t;
    rk_error err;
    assert_int_equal(parse(NEEDED ",loss,url,,unread\n", &t, &err), RK_OK);
    size_t place = 0;
    assert_string_equal(rk_run_column_ignored(&t, &place), "loss");
    assert_int_equal(place, 6);
    assert_null(rk_run_column_ignored(&t, &place));
    assert_false(rk_run_table_measures(&t));
    rk_run_table_clear(&t);
    assert_int_equal(parse(NEEDED ",mfu\n", &t, &err), RK_OK);
    assert_true(rk_run_table_measures(&t));
    rk_run_table_clear(&t);
}

/* Pairs fill columns that are empty, in the words of trainers; other keys say nothing. */
static void test_pairs(void **state)
{
    static const struct {
        const char *pairs, *column, *value;
    } cases[] = {
        {"loss=liger-fused; torch=2.4.1", "cross_entropy", "fused"},
        {"trainer=hf-sft; loss=linear-ce-chunked:8", "cross_entropy", "chunked"},
        {"loss=chunked_nll:256", "loss_chunk", "256"},
        {"loss=pointwise_reranker; task_type=generative_reranker", "cross_entropy", "chunked"},
        {"loss=hf-eager; task_type=seq_cls", "loss_chunk", "1"},
        {"loss=hf-eager; transformers=4.44.2", "logit_bytes", "14"},
        {"loss=hf-eager; transformers=4.52.4", "logit_bytes", ""},
        {"transformers=4.48.1;loss=foak-cross-entropy", "logit_bytes", "10"},
        {"loss=foak-cross-entropy; transformers=4.45.2", "logit_bytes", "8"},
        {"frozen_dtype=nf4; double_quant=1", "frozen_type", "nf4"},
        {"frozen_dtype=nf4; double_quant=0", "frozen_type", "nf4_plain"},
        {"frozen_dtype=nf4; quantize=bnb.nf4", "frozen_type", "nf4_plain"},
        {"frozen_dtype=gptq4", "frozen_type", "int4"},
        {"frozen_dtype=bf16", "frozen_type", ""},
        {"frozen_dtype=gptq4; kernels_fused=rope+norm+lora", "adapter_bytes", "2"},
        {"frozen_dtype=nf4; kernels_fused=rope+norm", "adapter_bytes", ""},
        {"frozen_dtype=bf16; kernels_fused=rope+norm+lora", "adapter_bytes", ""},
        {"trainer=torchtune", "adapter_bytes", "2"},
        {"optimizer=paged-adamw8bit", "optimizer", "adamw-8bit"},
        {"optimizer=paged-adamw8bit", "offload", "optimizer"},
        {"offload=optimizer+weights", "offload", "optimizer+gradients+weights"},
        {"optimizer_impl=foreach", "foreach_update", "true"},
        {"sub_group_size=1e5", "sub_group_params", "1e5"},
        {"sub_group_size=1e9 (default)", "sub_group_params", ""},
        {"packing=0", "varied_lengths", "true"},
        {"optimizer_offload=1.0 (CPU Adam)", "offload", "optimizer"},
        {"routing=natural;mtp_layers=2;mode=mock data", "mtp_layers", "2"},
        {"graph_scope=attn+mamba; capture_time_s=5", "graph_modules", "attn+mamba"},
        {"graph_scope=moe_router+moe_preprocess", "graph_modules", "moe_router+moe_preprocess"},
        {"graph_scope=full_iteration", "graph_modules", ""},
        {"graph_scope=full_iteration", "graph_step", "true"},
        {"graph_scope=none", "graph_modules", ""},
        {"compile_components=loss; master=fp32", "logit_bytes", "4"},
        {"compile_components=model", "logit_bytes", ""},
        {"no pair; loss", "cross_entropy", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int other = 0; other < 2; other++) {
            rk_run_table t;
            rk_error err;
            char text[256];
            (void)snprintf(text, sizeof(text), "id,%s\n1,%s\n2,\n", other ? "new_fact" : "facts",
                           cases[i].pairs);
            assert_int_equal(parse(text, &t, &err), RK_OK);
            assert_string_equal(fact_of(&t, 0, cases[i].column), cases[i].value);
            assert_string_equal(fact_of(&t, 1, cases[i].column), "");
            rk_run_table_clear(&t);
        }
    }
}

/* Cells that are no facts, and what is said. */
static void test_wrong_facts(void **state)
{
    static const struct {
        const char *column, *cell, *message;
    } cases[] = {
        {"group", "caf\xe9", "column group: not UTF-8"},
        {"stack", "\xff", "column stack: not UTF-8"},
        {"group", "caf\xc3\xa9", ""},
        {"power_W", "-1",
         "column power_W: expected a number from 0 to 100000 (W), found a real -1.0"},
        {"power_W", "many",
         "column power_W: expected a number from 0 to 100000 (W), found a string \"many\""},
        {"vocab", "1.5", "column vocab: expected an integer from 0 to 1000000, found a real 1.5"},
        {"gated", "perhaps", "column gated: expected true or false, found a string \"perhaps\""},
        {"norm", "batch",
         "column norm: expected \"rms\", \"layer\", \"layer_no_bias\" or \"layer_no_weight\", "
         "found a string \"batch\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_run_table t;
        rk_run_facts facts = {0};
        rk_error err = {0};
        char text[256];
        (void)snprintf(text, sizeof(text), "id,%s\n1,%s\n", cases[i].column, cases[i].cell);
        assert_int_equal(parse(text, &t, &err), RK_OK);
        assert_int_equal(rk_run_facts_read(&t, 0, &facts, &err),
                         *cases[i].message ? RK_ERR_INVALID : RK_OK);
        assert_string_equal(err.message, cases[i].message);
        rk_run_table_clear(&t);
    }
}

/* Pairs fill columns that are no facts of the strategy, too. */
static void test_pairs_of_columns(void **state)
{
    (void)state;
    rk_run_table t;
    rk_error err;
    assert_int_equal(parse("id,facts\n1,fused_loss=false; permute_fusion=false\n2,fused_loss=true\n"
                           "3,compile_components=loss\n4,compile_components=model+loss\n"
                           "5,trainer=hf-sft; moe_impl=scattermoe\n6,moe_impl=scattermoe\n",
                           &t, &err),
                     RK_OK);
    assert_string_equal(rk_run_cell(&t, 0, RK_RUN_LOSS_FUSION), "none");
    assert_string_equal(rk_run_cell(&t, 0, RK_RUN_PERMUTE_FUSION), "false");
    assert_string_equal(rk_run_cell(&t, 1, RK_RUN_LOSS_FUSION), "fused");
    assert_string_equal(rk_run_cell(&t, 2, RK_RUN_COMPILE), "false");
    assert_string_equal(rk_run_cell(&t, 3, RK_RUN_COMPILE), "true");
    assert_string_equal(rk_run_cell(&t, 4, RK_RUN_TRAINER), "fms-acceleration");
    assert_string_equal(rk_run_cell(&t, 5, RK_RUN_TRAINER), "");
    rk_run_table_clear(&t);
}

/* A column of its own overrides a pair. */
static void test_pairs_beside_columns(void **state)
{
    (void)state;
    rk_run_table t;
    rk_error err;
    assert_int_equal(
        parse("cross_entropy,facts\nfull,loss=liger-fused\n,loss=liger-fused\n", &t, &err), RK_OK);
    assert_string_equal(fact_of(&t, 0, "cross_entropy"), "full");
    assert_string_equal(fact_of(&t, 1, "cross_entropy"), "fused");
    rk_run_table_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_spreadsheet),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pairs_of_columns),
        cmocka_unit_test(test_wrong_facts),
        cmocka_unit_test(test_pairs_beside_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
