/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a row: every size from its own column, what follows of the others, the catalogue. */
#include "rows.h"

#define SIZES                                                                                      \
    "model,layers,hidden,ffn,heads,kv_heads,head_dim,vocab,seq,moe_experts,moe_topk,moe_ffn,"      \
    "shared_experts,dense_layers,architecture"
#define PLACED ",accelerator,n_accel,tp,pp,dp,mbs,gbs,precision,recompute,framework"
#define PLACE  "B200,64,1,1,64,1,64,BF16,full,megatron-core"

/* A model by the sizes of its first and its last layer. */
typedef struct sizes {
    int64_t layers, hidden, vocab, seq, heads, kv_heads, head_size;
    int64_t ffn; /* of the first layer; 0: it has experts */
    int64_t experts, top_k, expert_width, shared_experts, shared_width; /* of the last */
    bool gated;
} sizes;

static sizes sizes_of(const rk_model *m)
{
    const rk_layer_type *first = &m->types[m->type_of[0]];
    const rk_layer_type *last = &m->types[m->type_of[m->layers - 1]];
    return (sizes){m->layers,
                   m->hidden,
                   m->vocab,
                   m->seq,
                   last->attention.query_heads,
                   last->attention.kv_heads,
                   last->attention.head_size,
                   rk_layer_is_moe(first) ? 0 : first->ffn.width,
                   last->moe.experts,
                   last->moe.top_k,
                   last->moe.expert_width,
                   last->moe.shared_experts,
                   last->moe.shared_width,
                   first->ffn.gated};
}

static void test_sizes(void **state)
{
    static const struct {
        const char *cells;
        sizes wanted;
    } rows[] = {
        /* all printed, none of which follows from another */
        {"x,24,3072,8192,24,8,96,32001,2048,16,3,1024,2 (width 1536),2,",
         {24, 3072, 32001, 2048, 24, 8, 96, 8192, 16, 3, 1024, 2, 1536, true}},
        /* 4 x hidden in two matrices, a head for each query, hidden over heads */
        {"x,24,3072,,24,,,32001,2048,,,,,,",
         {24, 3072, 32001, 2048, 24, 24, 128, 12288, 0, 0, 0, 0, 0, false}},
        /* experts as wide as ffn, shared ones as wide as the others */
        {"x,24,3072,8192,24,8,,32001,2048,16,3,,2,1,",
         {24, 3072, 32001, 2048, 24, 8, 128, 8192, 16, 3, 8192, 2, 8192, true}},
        {"x,24,3072,8192,24,8,,32001,2048,16,3,1024,2,,",
         {24, 3072, 32001, 2048, 24, 8, 128, 0, 16, 3, 1024, 2, 1024, true}},
        /* the catalogue's, whole, by a name of the family, and of other layers and words */
        {",,,,,,,,4096,,,,,,llama3-8b",
         {32, 4096, 128256, 4096, 32, 8, 128, 14336, 0, 0, 0, 0, 0, true}},
        {"Llama-3-8B,,,,,,,,4096,,,,,,",
         {32, 4096, 128256, 4096, 32, 8, 128, 14336, 0, 0, 0, 0, 0, true}},
        {"x,12,,,,,,32001,4096,,,,,,llama3-8b",
         {12, 4096, 32001, 4096, 32, 8, 128, 14336, 0, 0, 0, 0, 0, true}},
        {"x,40,,,,,,,4096,,,,,,llama3-8b",
         {40, 4096, 128256, 4096, 32, 8, 128, 14336, 0, 0, 0, 0, 0, true}},
        /* where its width is printed, so is the rest, but for the vocabulary and the matrices */
        {"x,12,2048,5632,16,,,,4096,,,,,,llama3-8b",
         {12, 2048, 128256, 4096, 16, 16, 128, 5632, 0, 0, 0, 0, 0, true}},
        {",,,,,,,,4096,,,,,,mixtral-8x7b",
         {32, 4096, 32000, 4096, 32, 8, 128, 0, 8, 2, 14336, 0, 0, false}},
        {"x,8,,,,,,,4096,,,,,,mixtral-8x7b",
         {8, 4096, 32000, 4096, 32, 8, 128, 0, 8, 2, 14336, 0, 0, false}},
        {"x,8,,,,,,,4096,16,4,7168,,,mixtral-8x7b",
         {8, 4096, 32000, 4096, 32, 8, 128, 0, 16, 4, 7168, 0, 0, false}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        fill_printed(SIZES PLACED, &c, "%s," PLACE "\n", rows[i].cells);
        const sizes found = sizes_of(&c.model), *wanted = &rows[i].wanted;
        const int64_t numbers[][2] = {
            {found.layers, wanted->layers},
            {found.hidden, wanted->hidden},
            {found.vocab, wanted->vocab},
            {found.seq, wanted->seq},
            {found.heads, wanted->heads},
            {found.kv_heads, wanted->kv_heads},
            {found.head_size, wanted->head_size},
            {found.ffn, wanted->ffn},
            {found.experts, wanted->experts},
            {found.top_k, wanted->top_k},
            {found.expert_width, wanted->expert_width},
            {found.shared_experts, wanted->shared_experts},
            {found.shared_width, wanted->shared_width},
            {found.ffn == 0 || found.gated, wanted->ffn == 0 || wanted->gated},
        };
        for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
            if (numbers[j][0] != numbers[j][1]) {
                fail_msg("%s: number %zu is %lld, not %lld", rows[i].cells, j,
                         (long long)numbers[j][0], (long long)numbers[j][1]);
            }
        }
    }
}

/* Dense layers come first, as many as are stated. */
static void test_dense_layers(void **state)
{
    (void)state;
    for (int dense = 0; dense < 4; dense++) {
        static rk_run_case c;
        fill_printed(SIZES PLACED, &c, "x,4,3072,8192,24,8,,32001,2048,16,3,1024,,%d,," PLACE "\n",
                     dense);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(rk_layer_is_moe(&c.model.types[c.model.type_of[i]]), i >= dense);
        }
    }
}

/* What kind of model a row is: the usual one, and each property on its own. */
static void test_kinds(void **state)
{
    static const char header[] = SIZES PLACED ",norm,gated,biases,tied,learned_positions,"
                                              "parallel_block,qk_norm";
    static const char *const cells[] = {
        ",,,,,,",      "layer,,,,,,", "layer_no_bias,,,,,,", "layer_no_weight,,,,,,",
        ",false,,,,,", ",,true,,,,",  ",,,true,,,",          ",,,,true,,",
        ",,,,,true,",  ",,,,,,head",  ",,,,,,full",          ",,,,,,head_bias",
    };
    (void)state;
    for (int i = 0; i < (int)(sizeof(cells) / sizeof(cells[0])); i++) {
        static rk_run_case c;
        const rk_model *m = &c.model;
        const rk_layer_type *layer = &m->types[0];
        fill_printed(header, &c, "x,4,3072,8192,24,8,,32001,2048,,,,,,," PLACE ",%s\n", cells[i]);
        assert_int_equal(m->norm, i == 1   ? RK_NORM_LAYER
                                  : i == 2 ? RK_NORM_LAYER_NO_BIAS
                                  : i == 3 ? RK_NORM_LAYER_NO_WEIGHT
                                           : RK_NORM_RMS);
        assert_int_equal(layer->ffn.gated, i != 4);
        assert_int_equal(layer->ffn.bias, i == 5);
        assert_int_equal(layer->attention.bias_qkv, i == 5);
        assert_int_equal(layer->attention.bias_out, i == 5);
        assert_int_equal(m->tied, i == 6);
        assert_int_equal(m->learned_positions, i == 7 ? 2048 : 0);
        assert_int_equal(m->parallel_block, i == 8);
        assert_int_equal(m->norms_per_layer, i == 8 ? 1 : 2);
        assert_int_equal(layer->attention.qk_norm, i == 9    ? RK_QK_NORM_HEAD
                                                   : i == 10 ? RK_QK_NORM_FULL
                                                   : i == 11 ? RK_QK_NORM_HEAD_BIAS
                                                             : RK_QK_NORM_NONE);
        assert_true(m->final_norm);
    }
}

/* Sizes that are missing, too large or no numbers, and what is said. */
static void test_wrong_sizes(void **state)
{
    static const struct {
        const char *cells, *message;
    } rows[] = {
        {"x,,3072,8192,24,8,,32001,2048,,,,,,", "architecture not stated: layers is missing"},
        {"x,1025,3072,8192,24,8,,32001,2048,,,,,,", "architecture not stated: layers is missing"},
        {"x,4,,8192,24,8,,32001,2048,,,,,,", "architecture not stated: hidden is missing"},
        {"x,,,8192,24,8,,32001,2048,,,,,,",
         "architecture not stated: layers is missing, and the catalogue has no model of this name"},
        {",,,8192,24,8,,32001,2048,,,,,,", "architecture not stated: layers is missing"},
        {"x,4,3072,8192,24,8,,32001,,,,,,,", "length of sequences not stated: seq is missing"},
        {"x,4,3072,8192,24,8,,32001,2048,16,,,,,", "architecture not stated: moe_topk is missing"},
        {"x,4,16777217,8192,24,8,,32001,2048,,,,,,", "column hidden: no model is that large"},
        {"x,4,3072,16777217,24,8,,32001,2048,,,,,,", "column ffn: no model is that large"},
        {"x,4,3072,8192,24,8,,32001,2048,16,3,1024,2 (width 0),,",
         "row 1, column shared_experts: expected a number of at least 0, found \"2 (width 0)\""},
        {"x,4,3072,8192,24,8,,32001,2048,16,3,1024,2 (width 9) x,,",
         "row 1, column shared_experts: expected a number of at least 0, found \"2 (width 9) x\""},
        {"x,4,3072,8192,24,8,,32001,2048,16,3,1024,-2 (width 9),,",
         "row 1, column shared_experts: expected a number of at least 0, found \"-2 (width 9)\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row), "%s," PLACE "\n", rows[i].cells);
        assert_int_equal(fill_under(SIZES PLACED, row, &c, &err), RK_ERR_INVALID);
        assert_string_equal(err.message, rows[i].message);
    }
}

/* Every degree from its own column, and those of a batch. */
static void test_degrees(void **state)
{
    static rk_run_case c;
    rk_error err;
    (void)state;
    fill_printed("model,layers,hidden,ffn,heads,vocab,seq,moe_experts,moe_topk,accelerator,n_accel,"
                 "tp,pp,vpp,cp,ep,etp,dp,mbs,gbs,precision,recompute,framework",
                 &c,
                 "x,48,3072,8192,24,32001,6144,16,2,B200,384,2,4,3,6,8,1,8,2,192,BF16,full,"
                 "megatron-core\n");
    const rk_strategy *s = &c.strategy;
    const int64_t numbers[][2] = {{s->tp, 2},
                                  {s->pp, 4},
                                  {s->vp, 3},
                                  {s->cp, 6},
                                  {s->ep, 8},
                                  {s->etp, 1},
                                  {s->dp, 8},
                                  {s->micro_batch, 2},
                                  {s->global_batch, 192},
                                  {rk_strategy_ranks(s), 384}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_int_equal(numbers[i][0], numbers[i][1]);
    }
    assert_int_equal(fill_under("model,seq,accelerator,n_accel,gbs",
                                "llama3-8b,4096,H100,16777217,8\n", &c, &err),
                     RK_ERR_INVALID);
    assert_string_equal(err.message, "column n_accel: expected at most 16777216");
}

#define OF(member) offsetof(rk_strategy, member)

/* What facts of a row make of its strategy, and what they need for that. */
static void test_facts(void **state)
{
    static const struct {
        const char *columns, *cells;
        size_t member;
        char type; /* b: a truth, i: an integer, e: of an enum, d: a number */
        double value;
    } cases[] = {
        {"sharding,replicas", "all,4", OF(replicas), 'i', 4},
        {"sharding,slice", "all,16", OF(replicas), 'i', 4}, /* 64 ranks in slices of 16 */
        {"sharding,slice", "optimizer,16", OF(replicas), 'i', 1},
        {"sharding,shard_ranks", "optimizer,8", OF(replicas), 'i', 8},
        {"sharding,shard_ranks", "none,8", OF(replicas), 'i', 1},
        {"lora_rank,adapter_bytes", "8,2", OF(adapter_bytes), 'd', 2},
        {"adapter_bytes", "2", OF(adapter_bytes), 'd', 0},
        {"lora_rank,frozen_type", "8,int4", OF(frozen_type), 'e', RK_FROZEN_INT4},
        {"lora_rank,frozen_type", "8,int8", OF(nf4_weights), 'b', 1},
        {"lora_rank,frozen_type", "8,nf4", OF(low_weights), 'b', 1},
        {"lora_rank", "8", OF(low_weights), 'b', 0},
        {"frozen_type", "int4", OF(nf4_weights), 'b', 0},
        {"lora_rank,frozen_type,sharding,wide_residual", "8,nf4,none,true", OF(wide_residual), 'b',
         1},
        {"lora_rank,frozen_type,sharding,wide_residual", "8,nf4,all,true", OF(wide_residual), 'b',
         0}, /* FSDP casts them */
        {"lora_rank,wide_residual", "8,true", OF(wide_residual), 'b', 0},
        {"lora_rank,adapts_embeddings", "8,true", OF(adapts_ends), 'b', 1},
        {"adapts_embeddings", "true", OF(adapts_ends), 'b', 0},
        {"recompute_every", "5", OF(recompute_layers), 'i', 5}, /* of 24 */
        {"recompute_every", "24", OF(recompute_layers), 'i', 1},
        {"recompute_every", "1", OF(recompute_layers), 'i', 0},
        {"flash_attention,attention_kernel", "true,cudnn", OF(attention_kernel), 'e',
         RK_KERNEL_CUDNN},
        {"flash_attention,attention_kernel", "false,cudnn", OF(attention_kernel), 'e',
         RK_KERNEL_OF_STACK},
        {"flash_attention", "false", OF(flash_attention), 'b', 0},
        {"seq_parallel,tp_overlap", "true,true", OF(tp_overlap), 'b', 0}, /* of one rank */
        {"gradient_bytes,bucket_bytes", "4,2", OF(states.gradient), 'd', 6},
        {"imbalance", "3", OF(imbalance), 'd', 3},
        {"imbalance", "0.5", OF(imbalance), 'd', 1},
        {"cross_entropy", "fused", OF(cross_entropy), 'e', RK_CROSS_ENTROPY_FUSED},
        {"logit_bytes", "8", OF(logit_bytes), 'd', 8},
        {"loss_chunk", "64", OF(loss_chunk), 'i', 64},
        {"sub_group_params", "1e6", OF(step_params), 'd', 1e6},
        {"foreach_update", "true", OF(foreach_update), 'b', 1},
        {"step_in_backward", "true", OF(step_in_backward), 'b', 1},
        {"expandable_segments", "true", OF(expandable_segments), 'b', 1},
        {"grad_overlap", "false", OF(grad_overlap), 'b', 0},
        {"grad_overlap", "true", OF(grad_overlap), 'b', 1},
        {"param_overlap", "false", OF(param_overlap), 'b', 0},
        {"param_overlap", "true", OF(param_overlap), 'b', 1},
        {"graph_capture", "true", OF(graph_capture), 'b', 1},
        {"graph_capture,graph_modules", "true,mlp", OF(graph_modules), 'e', RK_GRAPH_MLP},
        {"graph_step", "true", OF(graph_step), 'b', 1},
        {"offload", "optimizer", OF(offload_optimizer), 'b', 1},
        {"offload,offload_share", "optimizer,0.25", OF(offload_share), 'd', 0.25},
        {"offload_activations,offload_layers", "true,3", OF(offload_layers), 'i', 3},
        {"rank_order", "tp-cp-pp-dp", OF(order), 'e', RK_ORDER_PIPELINE_DATA},
        {"sharding,optimizer", "none,muon", OF(optimizer), 'e', RK_OPTIMIZER_MUON},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static rk_run_case c;
        char header[512];
        (void)snprintf(header, sizeof(header), "%s%s,%s", SIZES, PLACED, cases[i].columns);
        fill_printed(header, &c, "x,24,3072,8192,24,8,,32001,2048,,,,,,," PLACE ",%s\n",
                     cases[i].cells);
        const char *at = (const char *)&c.strategy + cases[i].member;
        double found = 0;
        if (cases[i].type == 'b') {
            found = *(const bool *)at;
        } else if (cases[i].type == 'i') {
            found = (double)*(const int64_t *)(const void *)at;
        } else if (cases[i].type == 'e') {
            found = *(const unsigned *)(const void *)at;
        } else {
            found = *(const double *)(const void *)at;
        }
        if (found < cases[i].value || found > cases[i].value) {
            fail_msg("%s=%s: %g, not %g", cases[i].columns, cases[i].cells, found, cases[i].value);
        }
    }
}

/* Which degrees are enough to know the others: data parallelism and an inner one, or all of them.
 */
static void test_known_degrees(void **state)
{
    static const struct {
        int64_t ranks, tp, pp, cp, dp;
        rk_sharding sharding;
        bool known;
    } cases[] = {
        {8, 0, 0, 0, 8, RK_SHARD_NONE, true},  {8, 0, 0, 0, 4, RK_SHARD_NONE, false},
        {8, 0, 4, 0, 2, RK_SHARD_NONE, true},  {8, 0, 4, 0, 1, RK_SHARD_NONE, false},
        {8, 2, 0, 0, 4, RK_SHARD_NONE, true},  {8, 0, 0, 2, 4, RK_SHARD_NONE, true},
        {8, 2, 4, 0, 0, RK_SHARD_NONE, true},  {8, 2, 0, 0, 0, RK_SHARD_NONE, false},
        {8, 0, 4, 0, 0, RK_SHARD_NONE, false}, {8, 0, 0, 0, 0, RK_SHARD_ALL, true},
        {1, 0, 0, 0, 0, RK_SHARD_NONE, true},  {8, 0, 0, 0, 0, RK_SHARD_GRADIENTS, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_partial_strategy known = {.ranks = cases[i].ranks,
                                           .tp = cases[i].tp,
                                           .pp = cases[i].pp,
                                           .cp = cases[i].cp,
                                           .dp = cases[i].dp,
                                           .sharding = cases[i].sharding};
        assert_int_equal(rk_known_degrees(&known), cases[i].known);
    }
}

/* Layers of stages: as stated, fewer on the last, with the ends as layers, or evenly. */
static void test_stages(void **state)
{
    static const struct {
        int layers, pp, vp;
        bool short_last;
        int stage_count;
        int16_t stages[4];
        bool fits;
        int layout_count;
        int16_t layout[8];
        bool ends, before_head; /* the ends count as layers; MTP modules precede the head */
    } cases[] = {
        {30, 4, 1, true, 0, {0}, true, 4, {8, 8, 8, 6}, false, false},
        {9, 4, 1, true, 0, {0}, true, 4, {3, 3, 3, 0}, false, false},
        {5, 4, 1, true, 0, {0}, true, 4, {3, 2, 0, 0}, false, true},
        {6, 2, 1, true, 0, {0}, true, 0, {0}, false, false}, /* two stages are split evenly */
        {14, 2, 4, true, 0, {0}, true, 8, {2, 2, 2, 2, 2, 2, 2, 0}, false, false},
        {30, 4, 1, false, 0, {0}, true, 0, {0}, true, false}, /* 32 with the ends */
        {32, 4, 1, false, 0, {0}, true, 0, {0}, false, false},
        {31, 4, 1, false, 0, {0}, true, 0, {0}, false, false},
        {30, 4, 1, false, 4, {9, 7, 7, 7}, true, 4, {9, 7, 7, 7}, false, false},
        {30, 4, 1, true, 4, {9, 7, 7, 7}, true, 4, {9, 7, 7, 7}, false, false},
        {30, 4, 1, false, 3, {10, 10, 10}, false, 0, {0}, true, false},
        {30, 4, 1, false, 4, {9, 7, 7, 8}, false, 0, {0}, true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static rk_run_case c;
        static rk_partial_strategy known;
        int16_t layout[RK_KNOWN_STAGES_MAX] = {0};
        rk_strategy s;
        fill_printed(SIZES PLACED, &c, "x,%d,3072,8192,24,8,,32001,2048,,,,,,," PLACE "\n",
                     cases[i].layers);
        known = (rk_partial_strategy){.ranks = 8,
                                      .tp = 1,
                                      .pp = cases[i].pp,
                                      .vp = cases[i].vp,
                                      .global_batch = 64,
                                      .micro_batch = 1,
                                      .short_last_stage = cases[i].short_last,
                                      .stage_count = cases[i].stage_count,
                                      .precision = RK_BF16,
                                      .states = {2, 4, 12, 2, 4}};
        memcpy(known.stages, cases[i].stages, sizeof(cases[i].stages));
        assert_int_equal(rk_known_strategy(&known, &c.model, &s, layout), cases[i].fits);
        assert_int_equal(s.dp, 8 / cases[i].pp);
        assert_int_equal(s.layout_count, cases[i].layout_count);
        for (int j = 0; j < s.layout_count; j++) {
            assert_int_equal(s.layout[j], cases[i].layout[j]);
        }
        assert_int_equal(s.count_embedding, cases[i].ends);
        assert_int_equal(s.count_head, cases[i].ends);
        assert_int_equal(s.mtp_before_head, cases[i].before_head);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_degrees), cmocka_unit_test(test_stages),
        cmocka_unit_test(test_facts),         cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_dense_layers),  cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_wrong_sizes),   cmocka_unit_test(test_degrees),
    };
    return cmocka_run_group_tests(tests, load_sources, clear_sources);
}
