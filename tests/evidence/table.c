/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of runs: RFC 4180 as written by anybody, and faults told where they are. */
#include "runs_test.h"

#include "evidence/run_facts.h"

static rk_status parse(const char *text, rk_run_table *table, rk_error *err)
{
    return rk_run_table_parse(text, strlen(text), "test.csv", table, err);
}

/* The cell of a fact, or else of another column, by its name. */
static const char *fact_of(const rk_run_table *table, size_t row, const char *name)
{
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        if (strcmp(rk_run_fact_fields[i].name, name) == 0) {
            return rk_run_fact_cell(table, row, i);
        }
    }
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        if (strcmp(rk_run_column_names[column], name) == 0) {
            return rk_run_cell(table, row, (rk_run_column)column);
        }
    }
    fail_msg("no column is called %s", name);
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
    assert_int_equal(rk_run_table_load("id,tp\n1,2\n3\n", &t, &err), RK_ERR_SYNTAX);
    assert_string_equal(err.file, "CSV text");
    assert_int_equal(rk_run_table_load("id,tp\n1,2\n", &t, &err), RK_OK); /* a text of lines */
    assert_string_equal(rk_run_cell(&t, 0, RK_RUN_TP), "2");
    rk_run_table_clear(&t);
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

/* Usual names of columns, words of them, and slips of the pen: the columns that are meant. */
static void test_resembled(void **state)
{
    static const struct {
        const char *name, *column;
    } names[] = {
        {"gpus", "n_accel"},          {"num_gpus", "n_accel"},
        {"world_size", "n_accel"},    {"gpu", "accelerator"},
        {"gpu_type", "accelerator"},  {"batch_size", "gbs"},
        {"global_batch_size", "gbs"}, {"micro_batch_size", "mbs"},
        {"seq_len", "seq"},           {"seqlen", "seq"},
        {"sequence_length", "seq"},   {"zero", "sharding"},
        {"fsdp", "sharding"},         {"dtype", "precision"},
        {"peak_gib", "peak_mem_gib"}, {"tokens_gpu", "tokens_per_s_per_gpu"},
        {"recomputes", "recompute"},  {"lora_ranks", "lora_rank"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char header[128], unknown[128];
        rk_error err;
        (void)snprintf(header, sizeof(header), "%s\n", names[i].name);
        (void)snprintf(unknown, sizeof(unknown), "unknown column: %s (did you mean %s?)",
                       names[i].name, names[i].column);
        const char *said = check(header, &err);
        if (!strstr(said, unknown)) {
            fail_msg("%s: %s", names[i].name, said);
        }
    }
    rk_error err;
    assert_string_equal(check(NEEDED ",tokens_T,target,days,accel_hours,goodput_pct,confirmed,"
                                     "assumed,recalled,note,url,link,comment,gib,per_tokens\n",
                              &err),
                        "");
    /* no more than a message holds */
    char many[400] = NEEDED;
    for (int i = 0; i < 9; i++) {
        (void)snprintf(many + strlen(many), sizeof(many) - strlen(many), ",tokens_per_s_per_gp%d",
                       i);
    }
    const char *said = check(strcat(many, "\n"), &err);
    const char *last = strstr(said, "tokens_per_s_per_gp4 (did you mean tokens_per_s_per_gpu?)");
    assert_non_null(last);
    assert_string_equal(last, "tokens_per_s_per_gp4 (did you mean tokens_per_s_per_gpu?); see "
                              "docs/columns.md");
}

/* Columns by the names that answers have; the column itself goes before. */
static void test_answers(void **state)
{
    static const struct {
        const char *name;
        rk_run_column column;
    } names[] = {{"accelerators", RK_RUN_ACCELERATORS},
                 {"micro_batch", RK_RUN_MICRO_BATCH},
                 {"global_batch", RK_RUN_GLOBAL_BATCH},
                 {"seq_tokens", RK_RUN_SEQ},
                 {"vp", RK_RUN_VP},
                 {"sp", RK_RUN_SP},
                 {"step_measured_s", RK_RUN_STEP_SECONDS}};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[128];
        rk_run_table t;
        rk_error err;
        (void)snprintf(text, sizeof(text), "id,%s\n1,7\n", names[i].name);
        assert_int_equal(parse(text, &t, &err), RK_OK);
        assert_string_equal(rk_run_cell(&t, 0, names[i].column), "7");
        rk_run_table_clear(&t);
        (void)snprintf(text, sizeof(text), "%s,%s\n7,8\n", names[i].name,
                       rk_run_column_names[names[i].column]);
        assert_int_equal(parse(text, &t, &err), RK_OK);
        assert_string_equal(rk_run_cell(&t, 0, names[i].column), "8");
        rk_run_table_clear(&t);
    }
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

/* Pairs fill columns that are empty, in the words of trainers; other keys and values say nothing:
 * the pairs of docs/columns.md. */
static const struct {
    const char *pairs, *column, *value;
} pairs[] = {
    {"loss=liger-fused; torch=2.4.1", "cross_entropy", "fused"},
    {"loss=liger-fused", "kernels", "fused"},
    {"loss=foak-cross-entropy", "kernels", "fused"},
    {"loss=foak-cross-entropy", "cross_entropy", "full"},
    {"loss=cut cross entropy", "cross_entropy", "fused"},
    {"loss=cut cross entropy", "kernels", ""},
    {"trainer=hf-sft; loss=linear-ce-chunked:8", "cross_entropy", "chunked"},
    {"loss=linear-ce-chunked:8", "loss_chunk", ""},
    {"loss=chunked_nll:256", "cross_entropy", "chunked"},
    {"loss=chunked_nll:256", "loss_chunk", "256"},
    {"loss=chunked_nll", "loss_chunk", ""},
    {"task_type=seq_cls", "cross_entropy", "chunked"},
    {"loss=hf-eager; task_type=seq_cls", "loss_chunk", "1"},
    {"loss=pointwise_reranker; task_type=generative_reranker", "cross_entropy", "chunked"},
    {"loss=pointwise_reranker; task_type=generative_reranker", "loss_chunk", "1"},
    {"loss=hf-eager", "cross_entropy", "full"},
    {"loss=hf-eager; transformers=4.44.2", "logit_bytes", "14"},
    {"loss=hf-eager; transformers=4.52.4", "logit_bytes", ""},
    {"transformers=4.48.1;loss=foak-cross-entropy", "logit_bytes", "10"},
    {"loss=foak-cross-entropy; transformers=4.45.2", "logit_bytes", "8"},
    {"loss=compiled", "cross_entropy", "full"},
    {"loss=compiled", "logit_bytes", "8"},
    {"loss=plain", "cross_entropy", "full"},
    {"loss=plain", "logit_bytes", ""},
    {"frozen_dtype=nf4; double_quant=1", "frozen_type", "nf4"},
    {"frozen_dtype=nf4; double_quant=0", "frozen_type", "nf4_plain"},
    {"frozen_dtype=nf4; quantize=bnb.nf4", "frozen_type", "nf4_plain"},
    {"quantize=bnb.nf4-dq", "frozen_type", "nf4"},
    {"frozen_dtype=gptq4", "frozen_type", "int4"},
    {"frozen_dtype=int4", "frozen_type", "int4"},
    {"frozen_dtype=gptq8", "frozen_type", "int8"},
    {"frozen_dtype=int8", "frozen_type", "int8"},
    {"frozen_dtype=bf16", "frozen_type", ""},
    {"frozen_dtype=gptq4; kernels_fused=rope+norm+lora", "adapter_bytes", "2"},
    {"frozen_dtype=nf4; kernels_fused=lora", "adapter_bytes", "2"},
    {"frozen_dtype=nf4; kernels_fused=rope+norm", "adapter_bytes", ""},
    {"frozen_dtype=bf16; kernels_fused=rope+norm+lora", "adapter_bytes", ""},
    {"kbit_upcast=1", "wide_residual", "true"},
    {"kbit_upcast=0", "wide_residual", ""},
    {"trainable_embeddings=1", "adapts_embeddings", "true"},
    {"modules_to_save=embed_tokens+lm_head", "adapts_embeddings", "true"},
    {"modules_to_save=score", "adapts_embeddings", ""},
    {"trainer=torchtune", "adapter_bytes", "2"},
    {"trainer=torchtune", "fsdp_version", "2"},
    {"fsdp=2", "fsdp_version", "2"},
    {"fsdp=1", "fsdp_version", ""},
    {"trainer=litgpt", "trainer", "litgpt"},
    {"trainer=optimum-habana", "trainer", "optimum-habana"},
    {"optimizer=adamw", "optimizer", "adamw"},
    {"optimizer=paged-adamw8bit", "optimizer", "adamw-8bit"},
    {"optimizer=adamw 4bit", "optimizer", "adamw-4bit"},
    {"optimizer=adamw bf16 states", "optimizer", "adamw-bf16"},
    {"optimizer=paged-adamw8bit", "offload", "optimizer"},
    {"optimizer=adamw", "offload", ""},
    {"optimizer=adamw fused", "foreach_update", "false"},
    {"optimizer_impl=foreach", "foreach_update", "true"},
    {"optimizer_impl=fused", "foreach_update", "false"},
    {"optimizer_impl=for-loop", "foreach_update", ""},
    {"allocator=expandable_segments", "expandable_segments", "true"},
    {"expandable_segments=1", "expandable_segments", "true"},
    {"expandable_segments=0", "expandable_segments", ""},
    {"optimizer_in_backward=1", "step_in_backward", "true"},
    {"offload=optimizer", "offload", "optimizer+gradients"},
    {"offload=optimizer+weights", "offload", "optimizer+gradients+weights"},
    {"offload=optimizer+params", "offload", "optimizer+gradients+weights"},
    {"offload=fsdp_cpu_offload", "offload", "optimizer+gradients+weights"},
    {"fsdp_cpu_offload=true", "offload", "optimizer+gradients+weights"},
    {"deepspeed=zero3_offload", "offload", "optimizer+gradients+weights"},
    {"deepspeed=zero3", "offload", ""},
    {"optimizer_offload_fraction=0.25", "offload", "optimizer"},
    {"optimizer_offload_fraction=0.25", "offload_share", "0.25"},
    {"optimizer_offload_fraction=1", "offload", "optimizer"},
    {"optimizer_offload_fraction=1", "offload_share", "1"},
    {"optimizer_offload=cpu", "offload", "optimizer"},
    {"optimizer_offload=1.0 (CPU Adam)", "offload", "optimizer"},
    {"activation_offload=1", "offload_activations", "true"},
    {"master=none", "weight_bytes", "2"},
    {"master=fp32", "weight_bytes", ""},
    {"sub_group_size=1e5", "sub_group_params", "1e5"},
    {"sub_group_size=1e9 (default)", "sub_group_params", ""},
    {"packing=0", "varied_lengths", "true"},
    {"packing=1", "varied_lengths", ""},
    {"routing=natural", "routing", "natural"},
    {"routing=forced_balance", "routing", "uniform"},
    {"routing=natural;mtp_layers=2;mode=mock data", "mtp_layers", "2"},
    {"tiled_mlp=1", "tiled_mlp", "true"},
    {"tiled_mlp=0", "tiled_mlp", ""},
    {"moe_impl=hf-eager", "expert_loop", "true"},
    {"moe_impl=grouped_mm", "expert_loop", "false"},
    {"trainer=hf-sft; moe_impl=scattermoe", "trainer", "fms-acceleration"},
    {"moe_impl=scattermoe", "trainer", ""},
    {"fabric=EFA", "fabric", "efa"},
    {"fabric=InfiniBand", "fabric", ""},
    {"fused_loss=true", "loss_fusion", "fused"},
    {"fused_loss=false", "loss_fusion", "none"},
    {"permute_fusion=false", "permute_fusion", "false"},
    {"sync_free_stage=0", "permute_fusion", "false"},
    {"sync_free_stage=1", "permute_fusion", "true"},
    {"sync_free_stage=3", "permute_fusion", "true"},
    {"graph_scope=attn+mamba; capture_time_s=5", "graph_modules", "attn+mamba"},
    {"graph_scope=mamba", "graph_modules", "mamba"},
    {"graph_scope=mlp", "graph_modules", "mlp"},
    {"graph_scope=moe_router+moe_preprocess", "graph_modules", "moe_router+moe_preprocess"},
    {"graph_scope=full_iteration", "graph_modules", ""},
    {"graph_scope=full_iteration", "graph_step", "true"},
    {"graph_scope=attn", "graph_step", ""},
    {"graph_scope=none", "graph_modules", ""},
    {"compile_components=loss; master=fp32", "logit_bytes", "4"},
    {"compile_components=loss", "compile", "false"},
    {"compile_components=model+loss", "compile", "true"},
    {"compile_components=model", "compile", "true"},
    {"compile_components=model", "logit_bytes", ""},
    {" loss = plain ;; x", "cross_entropy", "full"},
    {"no pair; loss", "cross_entropy", ""},
};

static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        for (int other = 0; other < 2; other++) {
            rk_run_table t;
            rk_error err;
            char text[256];
            (void)snprintf(text, sizeof(text), "id,%s\n1,%s\n2,\n", other ? "new_fact" : "facts",
                           pairs[i].pairs);
            assert_int_equal(parse(text, &t, &err), RK_OK);
            assert_string_equal(fact_of(&t, 0, pairs[i].column), pairs[i].value);
            assert_string_equal(fact_of(&t, 1, pairs[i].column), "");
            rk_run_table_clear(&t);
        }
    }
}

#define PLACE(member) offsetof(rk_run_facts, member)
#define KNOWN(member) offsetof(rk_run_facts, known.member)

/* Reads the cell of one column over facts that are all zero. */
static void read_fact(const char *column, const char *cell, rk_run_facts *facts)
{
    rk_run_table t;
    rk_error err = {0};
    char text[256];
    memset(facts, 0, sizeof(*facts));
    (void)snprintf(text, sizeof(text), "id,%s\n1,%s\n", column, cell);
    assert_int_equal(parse(text, &t, &err), RK_OK);
    if (rk_run_facts_read(&t, 0, facts, &err)) {
        fail_msg("%s=%s: %s", column, cell, err.message);
    }
    rk_run_table_clear(&t);
}

/* Facts that are zero but for one member. */
static void assert_only(const char *what, const rk_run_facts *facts, size_t offset,
                        const void *value, size_t size)
{
    rk_run_facts wanted;
    memset(&wanted, 0, sizeof(wanted));
    memcpy((char *)&wanted + offset, value, size);
    if (memcmp(&wanted, facts, sizeof(wanted)) != 0) {
        fail_msg("%s does not fill its own place, or not as it should", what);
    }
}

/* Every column of numbers and of truths fills its own place. */
static const struct {
    const char *column;
    size_t offset;
} numbers[] = {{"network_GBps", PLACE(network_bandwidth)},
               {"power_W", PLACE(power)},
               {"memory_GBps", PLACE(memory_bandwidth)},
               {"memory_GiB", PLACE(memory_usable)},
               {"imbalance", KNOWN(imbalance)},
               {"capacity_factor", KNOWN(capacity_factor)},
               {"weight_bytes", KNOWN(states.weight)},
               {"gradient_bytes", KNOWN(states.gradient)},
               {"optimizer_bytes", KNOWN(states.optimizer)},
               {"gather_bytes", KNOWN(states.gather)},
               {"reduce_bytes", KNOWN(states.reduce)},
               {"bucket_bytes", KNOWN(bucket_bytes)},
               {"offload_share", KNOWN(offload_share)},
               {"adapter_bytes", KNOWN(adapter_bytes)},
               {"logit_bytes", KNOWN(logit_bytes)},
               {"sub_group_params", KNOWN(sub_group_params)}},
  counts[] = {{"vocab", PLACE(vocab)},
              {"dense_layers", PLACE(dense_layers)},
              {"mtp_layers", PLACE(mtp_layers)},
              {"fsdp_version", PLACE(fsdp_version)},
              {"mbs", KNOWN(micro_batch)},
              {"vpp", KNOWN(vp)},
              {"slice", KNOWN(slice)},
              {"replicas", KNOWN(replicas)},
              {"ep", KNOWN(ep)},
              {"etp", KNOWN(etp)},
              {"shard_ranks", KNOWN(shard_ranks)},
              {"recompute_every", KNOWN(recompute_every)},
              {"offload_layers", KNOWN(offload_layers)},
              {"lora_rank", KNOWN(lora_rank)},
              {"loss_chunk", KNOWN(loss_chunk)}},
  flags[] = {{"memory_decimal", PLACE(decimal_memory)},
             {"memory_of_first_stage", PLACE(first_stage)},
             {"untimed", PLACE(untimed)},
             {"out_of_memory", PLACE(out_of_memory)},
             {"gated", PLACE(gated)},
             {"biases", PLACE(biases)},
             {"tied", PLACE(tied)},
             {"learned_positions", PLACE(learned_positions)},
             {"parallel_block", PLACE(parallel_block)},
             {"hybrid", PLACE(hybrid)},
             {"mtp", PLACE(mtp)},
             {"varied_lengths", PLACE(padded_batches)},
             {"layer_chunks", KNOWN(layer_chunks)},
             {"no_accumulation", KNOWN(no_accumulation)},
             {"seq_parallel", KNOWN(sp)},
             {"keeps_gathered", KNOWN(keeps_gathered)},
             {"stage_microbatches", KNOWN(stage_microbatches)},
             {"low_weights", KNOWN(low_weights)},
             {"low_activations", KNOWN(low_activations)},
             {"flash_attention", KNOWN(flash_attention)},
             {"tp_overlap", KNOWN(tp_overlap)},
             {"grad_overlap", KNOWN(grad_overlap)},
             {"param_overlap", KNOWN(param_overlap)},
             {"moe_overlap", KNOWN(moe_overlap)},
             {"offload_activations", KNOWN(offload_activations)},
             {"graph_capture", KNOWN(graph_capture)},
             {"graph_step", KNOWN(graph_step)},
             {"split_by_weight", KNOWN(split_by_weight)},
             {"short_last_stage", KNOWN(short_last_stage)},
             {"foreach_update", KNOWN(foreach_update)},
             {"step_in_backward", KNOWN(step_in_backward)},
             {"expandable_segments", KNOWN(expandable_segments)},
             {"wide_residual", KNOWN(wide_residual)},
             {"adapts_embeddings", KNOWN(adapts_ends)}};

static void test_places(void **state)
{
    rk_run_facts facts;
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const double value = 0.75;
        read_fact(numbers[i].column, "0.75", &facts);
        assert_only(numbers[i].column, &facts, numbers[i].offset, &value, sizeof(value));
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const int64_t value = 6;
        read_fact(counts[i].column, "6", &facts);
        assert_only(counts[i].column, &facts, counts[i].offset, &value, sizeof(value));
    }
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        static const char *const words[] = {"true", "True", "1"};
        const bool value = true, no = false;
        read_fact(flags[i].column, words[i % 3], &facts);
        assert_only(flags[i].column, &facts, flags[i].offset, &value, sizeof(value));
        read_fact(flags[i].column, i % 2 ? "FALSE" : "0", &facts);
        assert_only(flags[i].column, &facts, flags[i].offset, &no, sizeof(no));
    }
}

/* Names as sources write them: of either case, joined by nothing, a space, - or _. */
static const struct {
    const char *column;
    size_t offset;
    const char *cell;
    unsigned value;
} names[] = {
    {"sharding", KNOWN(sharding), "ZeRO-0", RK_SHARD_NONE},
    {"sharding", KNOWN(sharding), "DDP", RK_SHARD_NONE},
    {"sharding", KNOWN(sharding), "NO_SHARD", RK_SHARD_NONE},
    {"sharding", KNOWN(sharding), "none", RK_SHARD_NONE},
    {"sharding", KNOWN(sharding), "0", RK_SHARD_NONE},
    {"sharding", KNOWN(sharding), "ZeRO-1", RK_SHARD_OPTIMIZER},
    {"sharding", KNOWN(sharding), "optim", RK_SHARD_OPTIMIZER},
    {"sharding", KNOWN(sharding), "Distributed Optimizer", RK_SHARD_OPTIMIZER},
    {"sharding", KNOWN(sharding), "optimizer", RK_SHARD_OPTIMIZER},
    {"sharding", KNOWN(sharding), "1", RK_SHARD_OPTIMIZER},
    {"sharding", KNOWN(sharding), "zero_2", RK_SHARD_GRADIENTS},
    {"sharding", KNOWN(sharding), "optim_grads", RK_SHARD_GRADIENTS},
    {"sharding", KNOWN(sharding), "SHARD_GRAD_OP", RK_SHARD_GRADIENTS},
    {"sharding", KNOWN(sharding), "gradients", RK_SHARD_GRADIENTS},
    {"sharding", KNOWN(sharding), "2", RK_SHARD_GRADIENTS},
    {"sharding", KNOWN(sharding), "ZeRO 3", RK_SHARD_ALL},
    {"sharding", KNOWN(sharding), "FULL_SHARD", RK_SHARD_ALL},
    {"sharding", KNOWN(sharding), "HSDP", RK_SHARD_ALL},
    {"sharding", KNOWN(sharding), "FSDP", RK_SHARD_ALL},
    {"sharding", KNOWN(sharding), "fsdp2", RK_SHARD_ALL},
    {"sharding", KNOWN(sharding), "Megatron-FSDP", RK_SHARD_ALL},
    {"sharding", KNOWN(sharding), "optim_grads_params", RK_SHARD_ALL},
    {"sharding", KNOWN(sharding), "all", RK_SHARD_ALL},
    {"sharding", KNOWN(sharding), "3", RK_SHARD_ALL},
    {"recompute_modules", KNOWN(modules), "core_attention", RK_MODULE_CORE_ATTENTION},
    {"recompute_modules", KNOWN(modules), "core_attn", RK_MODULE_CORE_ATTENTION},
    {"recompute_modules", KNOWN(modules), "norm", RK_MODULE_NORM},
    {"recompute_modules", KNOWN(modules), "layernorm", RK_MODULE_NORM},
    {"recompute_modules", KNOWN(modules), "activation", RK_MODULE_ACTIVATION},
    {"recompute_modules", KNOWN(modules), "act", RK_MODULE_ACTIVATION},
    {"recompute_modules", KNOWN(modules), "moe_act", RK_MODULE_ACTIVATION},
    {"recompute_modules", KNOWN(modules), "mla_up", RK_MODULE_MLA_UP},
    {"recompute_modules", KNOWN(modules), "mla_up_proj", RK_MODULE_MLA_UP},
    {"recompute_modules", KNOWN(modules), "mlp", RK_MODULE_MLP},
    {"recompute_modules", KNOWN(modules), "moe", RK_MODULE_MOE},
    {"recompute_modules", KNOWN(modules), "operators", RK_MODULE_OPERATORS},
    {"recompute_modules", KNOWN(modules), "mhc", RK_MODULE_STREAMS},
    {"recompute_modules", KNOWN(modules), "attn_proj", RK_MODULE_PROJECTION},
    {"recompute_modules", KNOWN(modules), "layernorm+moe_act+mlp",
     RK_MODULE_NORM | RK_MODULE_ACTIVATION | RK_MODULE_MLP},
    {"graph_modules", KNOWN(graph_modules), "attn", RK_GRAPH_ATTENTION},
    {"graph_modules", KNOWN(graph_modules), "mamba", RK_GRAPH_MAMBA},
    {"graph_modules", KNOWN(graph_modules), "mlp", RK_GRAPH_MLP},
    {"graph_modules", KNOWN(graph_modules), "moe", RK_GRAPH_MOE},
    {"graph_modules", KNOWN(graph_modules), "moe_router", RK_GRAPH_ROUTER},
    {"graph_modules", KNOWN(graph_modules), "moe_preprocess", RK_GRAPH_PREPROCESS},
    {"graph_modules", KNOWN(graph_modules), "attn+moe_router",
     RK_GRAPH_ATTENTION | RK_GRAPH_ROUTER},
    {"lora_modules", KNOWN(lora_modules), "attention", RK_ADAPTED_ATTENTION},
    {"lora_modules", KNOWN(lora_modules), "mlp", RK_ADAPTED_FFN},
    {"lora_modules", KNOWN(lora_modules), "attention+mlp", RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN},
    {"offload", KNOWN(offloads), "optimizer", 1},
    {"offload", KNOWN(offloads), "activations", 2},
    {"offload", KNOWN(offloads), "weights", 4},
    {"offload", KNOWN(offloads), "gradients", 8},
    {"offload", KNOWN(offloads), "nvme-optimizer", 16},
    {"offload", KNOWN(offloads), "nvme-weights", 32},
    {"offload", KNOWN(offloads), "Optimizer+Gradients", 9},
    {"cp_kind", KNOWN(cp_kind), "ring", RK_CP_RING},
    {"cp_kind", KNOWN(cp_kind), "all_gather", RK_CP_ALL_GATHER},
    {"cp_kind", KNOWN(cp_kind), "AllGather", RK_CP_ALL_GATHER},
    {"cp_kind", KNOWN(cp_kind), "Ulysses", RK_CP_ULYSSES},
    {"rank_order", KNOWN(order), "tp-cp-dp-pp", RK_ORDER_DATA_PIPELINE},
    {"rank_order", KNOWN(order), "tp-cp-ep-dp-pp", RK_ORDER_DATA_PIPELINE},
    {"rank_order", KNOWN(order), "tp-cp-pp-dp", RK_ORDER_PIPELINE_DATA},
    {"rank_order", KNOWN(order), "tp-cp-ep-pp-dp", RK_ORDER_PIPELINE_DATA},
    {"recompute", KNOWN(recompute), "none", RK_REC_NONE},
    {"recompute", KNOWN(recompute), "false", RK_REC_NONE},
    {"recompute", KNOWN(recompute), "selective", RK_REC_SELECTIVE},
    {"recompute", KNOWN(recompute), "full", RK_REC_FULL},
    {"recompute", KNOWN(recompute), "True", RK_REC_FULL},
    {"precision", KNOWN(precision), "fp32", RK_FP32},
    {"precision", KNOWN(precision), "float32", RK_FP32},
    {"precision", KNOWN(precision), "tf32", RK_TF32},
    {"precision", KNOWN(precision), "BF16", RK_BF16},
    {"precision", KNOWN(precision), "bfloat16", RK_BF16},
    {"precision", KNOWN(precision), "fp16", RK_FP16},
    {"precision", KNOWN(precision), "float16", RK_FP16},
    {"precision", KNOWN(precision), "fp8", RK_FP8},
    {"precision", KNOWN(precision), "float8", RK_FP8},
    {"precision", KNOWN(precision), "MXFP8", RK_FP8},
    {"precision", KNOWN(precision), "fp4", RK_FP4},
    {"precision", KNOWN(precision), "NVFP4", RK_FP4},
    {"precision", KNOWN(precision), "int8", RK_INT8},
    {"fp8_recipe", KNOWN(fp8_recipe), "tensorwise", RK_FP8_TENSORWISE},
    {"fp8_recipe", KNOWN(fp8_recipe), "current", RK_FP8_TENSORWISE},
    {"fp8_recipe", KNOWN(fp8_recipe), "current scaling", RK_FP8_TENSORWISE},
    {"fp8_recipe", KNOWN(fp8_recipe), "delayed", RK_FP8_DELAYED},
    {"fp8_recipe", KNOWN(fp8_recipe), "hybrid", RK_FP8_DELAYED},
    {"fp8_recipe", KNOWN(fp8_recipe), "Delayed-Scaling", RK_FP8_DELAYED},
    {"fp8_recipe", KNOWN(fp8_recipe), "blockwise", RK_FP8_BLOCKWISE},
    {"fp8_recipe", KNOWN(fp8_recipe), "block_scaling", RK_FP8_BLOCKWISE},
    {"fp8_recipe", KNOWN(fp8_recipe), "MXFP8", RK_FP8_MX},
    {"attention_kernel", KNOWN(kernel), "usual", RK_KERNEL_OF_STACK},
    {"attention_kernel", KNOWN(kernel), "flash", RK_KERNEL_OF_STACK},
    {"attention_kernel", KNOWN(kernel), "cuDNN", RK_KERNEL_CUDNN},
    {"attention_kernel", KNOWN(kernel), "cuDNN FP8", RK_KERNEL_CUDNN_FP8},
    {"attention_kernel", KNOWN(kernel), "cudnn-mxfp8", RK_KERNEL_CUDNN_MXFP8},
    {"attention_kernel", KNOWN(kernel), "FA2", RK_KERNEL_FLASH_2},
    {"attention_kernel", KNOWN(kernel), "FlashAttention-2", RK_KERNEL_FLASH_2},
    {"attention_kernel", KNOWN(kernel), "FA3", RK_KERNEL_FLASH_3},
    {"attention_kernel", KNOWN(kernel), "flash_attention_3", RK_KERNEL_FLASH_3},
    {"attention_kernel", KNOWN(kernel), "aiter", RK_KERNEL_AITER},
    {"optimizer", KNOWN(optimizer), "adamw", RK_OPTIMIZER_ADAMW},
    {"optimizer", KNOWN(optimizer), "adamw-bf16", RK_OPTIMIZER_ADAMW_BF16},
    {"optimizer", KNOWN(optimizer), "adam-8bit", RK_OPTIMIZER_ADAM_8BIT},
    {"optimizer", KNOWN(optimizer), "adafactor", RK_OPTIMIZER_ADAFACTOR},
    {"optimizer", KNOWN(optimizer), "sgd", RK_OPTIMIZER_SGD},
    {"optimizer", KNOWN(optimizer), "sgd-plain", RK_OPTIMIZER_SGD_PLAIN},
    {"optimizer", KNOWN(optimizer), "muon", RK_OPTIMIZER_MUON},
    {"optimizer", KNOWN(optimizer), "dist-muon", RK_OPTIMIZER_DIST_MUON},
    {"optimizer", KNOWN(optimizer), "adamw-8bit", RK_OPTIMIZER_ADAMW_8BIT},
    {"optimizer", KNOWN(optimizer), "adamw-4bit", RK_OPTIMIZER_ADAMW_4BIT},
    {"cross_entropy", KNOWN(cross_entropy), "usual", RK_CROSS_ENTROPY_OF_STACK},
    {"cross_entropy", KNOWN(cross_entropy), "full", RK_CROSS_ENTROPY_FULL},
    {"cross_entropy", KNOWN(cross_entropy), "fused", RK_CROSS_ENTROPY_FUSED},
    {"cross_entropy", KNOWN(cross_entropy), "chunked", RK_CROSS_ENTROPY_CHUNKED},
    {"frozen_type", KNOWN(frozen_type), "as_weights", 0},
    {"frozen_type", KNOWN(frozen_type), "nf4", 1 + RK_FROZEN_NF4},
    {"frozen_type", KNOWN(frozen_type), "nf4_plain", 1 + RK_FROZEN_NF4_PLAIN},
    {"frozen_type", KNOWN(frozen_type), "int4", 1 + RK_FROZEN_INT4},
    {"frozen_type", KNOWN(frozen_type), "int8", 1 + RK_FROZEN_INT8},
    {"schedule", KNOWN(schedule), "printed", 0},
    {"schedule", KNOWN(schedule), "gpipe", 1 + RK_SCHEDULE_GPIPE},
    {"schedule", KNOWN(schedule), "1F1B", 1 + RK_SCHEDULE_1F1B},
    {"schedule", KNOWN(schedule), "interleaved", 1 + RK_SCHEDULE_INTERLEAVED},
    {"schedule", KNOWN(schedule), "zb-h1", 1 + RK_SCHEDULE_ZB_H1},
    {"schedule", KNOWN(schedule), "zb-h2", 1 + RK_SCHEDULE_ZB_H2},
    {"schedule", KNOWN(schedule), "zb-v", 1 + RK_SCHEDULE_ZB_V},
    {"schedule", KNOWN(schedule), "DualPipe", 1 + RK_SCHEDULE_DUALPIPE},
    {"schedule", KNOWN(schedule), "v-half", 1 + RK_SCHEDULE_V_HALF},
    {"schedule", KNOWN(schedule), "v-min", 1 + RK_SCHEDULE_V_MIN},
    {"memory_kind", PLACE(memory), "allocated", RK_RUN_ALLOCATED},
    {"memory_kind", PLACE(memory), "reserved", RK_RUN_RESERVED},
    {"memory_kind", PLACE(memory), "total", RK_RUN_TOTAL},
    {"flop_convention", PLACE(rate), "none", 0},
    {"flop_convention", PLACE(rate), "megatron", 1 + RK_FLOPS_MEGATRON},
    {"flop_convention", PLACE(rate), "full", 1 + RK_FLOPS_FULL},
    {"flop_convention", PLACE(rate), "palm", 1 + RK_FLOPS_PALM},
    {"flop_convention", PLACE(rate), "torchtitan", 1 + RK_FLOPS_TORCHTITAN},
    {"flop_convention", PLACE(rate), "nanotron", 1 + RK_FLOPS_NANOTRON},
    {"flop_convention", PLACE(rate), "megatron-bridge", 1 + RK_FLOPS_BRIDGE},
    {"flops", PLACE(flops), "megatron", RK_FLOPS_MEGATRON},
    {"flops", PLACE(flops), "full", RK_FLOPS_FULL},
    {"flops", PLACE(flops), "palm", RK_FLOPS_PALM},
    {"flops", PLACE(flops), "torchtitan", RK_FLOPS_TORCHTITAN},
    {"flops", PLACE(flops), "nanotron", RK_FLOPS_NANOTRON},
    {"flops", PLACE(flops), "megatron-bridge", RK_FLOPS_BRIDGE},
    {"norm", PLACE(norm), "rms", RK_NORM_RMS},
    {"norm", PLACE(norm), "layer", RK_NORM_LAYER},
    {"norm", PLACE(norm), "layer_no_bias", RK_NORM_LAYER_NO_BIAS},
    {"norm", PLACE(norm), "layer_no_weight", RK_NORM_LAYER_NO_WEIGHT},
    {"qk_norm", PLACE(qk_norm), "none", RK_QK_NORM_NONE},
    {"qk_norm", PLACE(qk_norm), "head", RK_QK_NORM_HEAD},
    {"qk_norm", PLACE(qk_norm), "full", RK_QK_NORM_FULL},
    {"qk_norm", PLACE(qk_norm), "head_bias", RK_QK_NORM_HEAD_BIAS},
    {"routing", PLACE(routing), "uniform", 0},
    {"routing", PLACE(routing), "in_turn", 1},
    {"routing", PLACE(routing), "natural", 2},
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char what[128];
        rk_run_facts facts;
        read_fact(names[i].column, names[i].cell, &facts);
        (void)snprintf(what, sizeof(what), "%s=%s", names[i].column, names[i].cell);
        assert_only(what, &facts, names[i].offset, &names[i].value, sizeof(names[i].value));
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
        cmocka_unit_test(test_cells),       cmocka_unit_test(test_spreadsheet),
        cmocka_unit_test(test_faults),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_bits),        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_ignored),     cmocka_unit_test(test_resembled),
        cmocka_unit_test(test_answers),     cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_wrong_facts), cmocka_unit_test(test_pairs_beside_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
