/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a strategy that a program fills: each has its place, its kind and its bounds. */
#include "strategy/strategy_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BOUNDS(kind, member, least, most)                                                          \
    {                                                                                              \
#member, RK_MEMBER_##kind, offsetof(rk_strategy, member), least, most, false, false, 0     \
    }
#define FLAG(member) BOUNDS(FLAG, member, 0, 1)

static void test_members(void **state)
{
    enum { COUNT = 1 << 30, AMOUNT = 1000000 };
    static const rk_member expected[] = {
        BOUNDS(ENUM, cp_kind, 0, 2),
        BOUNDS(ENUM, sharding, 0, 3),
        BOUNDS(ENUM, fp8_recipe, 0, 3),
        BOUNDS(ENUM, attention_kernel, 0, 6),
        BOUNDS(ENUM, frozen_type, 0, 3),
        BOUNDS(INT, layout_count, 0, 2052),
        BOUNDS(INT64, offload_layers, 0, COUNT),
        BOUNDS(REAL, learning, 0, AMOUNT),
        BOUNDS(REAL, outer_states, 0, AMOUNT),
        FLAG(flash_attention),
        FLAG(tp_overlap),
        FLAG(grad_overlap),
        FLAG(param_overlap),
        FLAG(pp_overlap),
        FLAG(moe_overlap),
        FLAG(offload_optimizer),
        FLAG(offload_activations),
        FLAG(offload_weights),
        FLAG(offload_gradients),
        FLAG(nvme_optimizer),
        FLAG(nvme_weights),
        BOUNDS(INT64, tp, 1, COUNT),
        FLAG(sp),
        BOUNDS(INT64, cp, 1, COUNT),
        BOUNDS(INT64, pp, 1, COUNT),
        BOUNDS(INT64, vp, 1, COUNT),
        BOUNDS(INT64, ep, 1, COUNT),
        BOUNDS(INT64, etp, 1, COUNT),
        BOUNDS(INT64, dp, 1, COUNT),
        BOUNDS(ENUM, order, 0, 1),
        BOUNDS(INT64, replicas, 1, COUNT),
        BOUNDS(INT64, micro_batch, 1, COUNT),
        BOUNDS(INT64, global_batch, 1, COUNT),
        BOUNDS(INT64, seq, 1, COUNT),
        BOUNDS(INT64, document, 0, COUNT),
        BOUNDS(ENUM, schedule, 0, RK_SCHEDULE_KIND_COUNT - 1),
        BOUNDS(ENUM, recompute, 0, 2),
        BOUNDS(UNSIGNED, recompute_modules, 0, 511),
        BOUNDS(INT64, recompute_layers, 0, COUNT),
        BOUNDS(ENUM, precision, 0, 6),
        FLAG(low_weights),
        FLAG(nf4_weights),
        FLAG(low_activations),
        BOUNDS(REAL, offload_share, 0, AMOUNT),
        FLAG(graph_capture),
        BOUNDS(UNSIGNED, graph_modules, 0, 63),
        FLAG(graph_step),
        BOUNDS(INT64, first_stage_layers, 0, COUNT),
        BOUNDS(INT64, last_stage_layers, 0, COUNT),
        FLAG(count_embedding),
        FLAG(count_head),
        FLAG(mtp_before_head),
        BOUNDS(INT64, adapter_rank, 0, COUNT),
        BOUNDS(UNSIGNED, adapter_modules, 0, 3),
        BOUNDS(REAL, capacity_factor, 0, AMOUNT),
        BOUNDS(REAL, imbalance, 1, AMOUNT),
        BOUNDS(ENUM, optimizer, 0, 9),
        BOUNDS(REAL, states.weight, 0, AMOUNT),
        BOUNDS(REAL, states.gradient, 0, AMOUNT),
        BOUNDS(REAL, states.optimizer, 0, AMOUNT),
        BOUNDS(REAL, states.gather, 0, AMOUNT),
        BOUNDS(REAL, states.reduce, 0, AMOUNT),
        FLAG(wide_residual),
        BOUNDS(REAL, adapter_bytes, 0, AMOUNT),
        FLAG(adapts_ends),
        FLAG(foreach_update),
        BOUNDS(REAL, step_params, 0, 1e13),
        FLAG(step_in_backward),
        BOUNDS(ENUM, cross_entropy, 0, 3),
        BOUNDS(REAL, logit_bytes, 0, AMOUNT),
        BOUNDS(INT64, loss_chunk, 0, COUNT),
        FLAG(expandable_segments),
    };
    rk_member members[RK_STRATEGY_MEMBERS_MAX];
    const size_t count = sizeof(expected) / sizeof(expected[0]);
    (void)state;
    assert_int_equal(rk_strategy_members(members), count);
    for (size_t i = 0; i < count; i++) {
        const rk_member *wanted = &expected[i], *found = &members[0];
        for (size_t at = 1; at < count && strcmp(found->name, wanted->name) != 0; at++) {
            found = &members[at];
        }
        if (strcmp(found->name, wanted->name) != 0 || found->kind != wanted->kind ||
            found->offset != wanted->offset || found->least < wanted->least ||
            found->least > wanted->least || found->most < wanted->most ||
            found->most > wanted->most || found->or_zero || found->above) {
            fail_msg("%s: kind %d at %zu from %g to %g", wanted->name, (int)found->kind,
                     found->offset, found->least, found->most);
        }
    }
}

/* What people read of every field: its label. */
static void test_labels(void **state)
{
    static const char *const labels[][2] = {
        {"accelerators", "accelerators"},
        {"tp", "TP"},
        {"sp", "sequence parallel"},
        {"cp", "CP"},
        {"cp_kind", "CP kind"},
        {"pp", "PP"},
        {"vp", "VP"},
        {"ep", "EP"},
        {"etp", "ETP"},
        {"dp", "DP"},
        {"rank_order", "order of ranks"},
        {"zero", "ZeRO"},
        {"hsdp_replicas", "HSDP replicas"},
        {"micro_batch", "microbatch"},
        {"global_batch", "global batch"},
        {"microbatches", "microbatches"},
        {"seq_tokens", "sequence"},
        {"document_tokens", "document"},
        {"schedule", "schedule"},
        {"recompute", "recompute"},
        {"recompute_modules", "modules"},
        {"recompute_layers", "recomputed layers"},
        {"precision", "precision"},
        {"recipe", "recipe"},
        {"low_precision_weights", "weights in low precision"},
        {"nf4_weights", "weights in NF4"},
        {"fp8_activation_input", "inputs of activations in fp8"},
        {"attention", "attention"},
        {"offload", "offload"},
        {"offload_share", "share offloaded"},
        {"overlap", "overlap"},
        {"graph_capture", "graph capture"},
        {"graph_modules", "modules in graphs"},
        {"graph_step", "graph of the step"},
        {"first_stage_layers", "layers, first stage"},
        {"last_stage_layers", "layers, last stage"},
        {"count_embedding", "embedding as layer"},
        {"count_head", "head as layer"},
        {"mtp_before_head", "MTP before the head"},
        {"layout", "layout"},
        {"adapter_rank", "rank of adapters"},
        {"adapter_modules", "adapters on"},
        {"capacity_factor", "capacity factor"},
        {"imbalance", "expert imbalance"},
        {"optimizer", "optimizer"},
        {"weight_bytes_per_parameter", "bytes, weight"},
        {"gradient_bytes_per_parameter", "bytes, gradient"},
        {"optimizer_bytes_per_parameter", "bytes, optimizer"},
        {"gather_bytes_per_parameter", "bytes, gathered"},
        {"reduce_bytes_per_parameter", "bytes, reduced"},
        {"quantised_weights", "frozen weights in"},
        {"wide_residual", "hidden states in fp32"},
        {"adapter_bytes_per_weight", "bytes, adapter"},
        {"adapts_embeddings", "embedding and head learn"},
        {"foreach_update", "foreach optimizer"},
        {"step_parameters", "parameters of a step"},
        {"step_in_backward", "optimizer in backward"},
        {"cross_entropy", "cross-entropy"},
        {"logit_bytes", "bytes, logit"},
        {"loss_chunk_tokens", "chunk of the loss"},
        {"expandable_segments", "expandable segments"},
    };
    (void)state;
    assert_int_equal(sizeof(labels) / sizeof(labels[0]), RK_STRATEGY_FIELD_COUNT);
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        assert_string_equal(rk_strategy_key(i), labels[i][0]);
        assert_string_equal(rk_strategy_label(i), labels[i][1]);
        assert_int_equal(rk_find_strategy_field(labels[i][0]), i);
    }
}

/* Stages with as many layers are written once; a layout of very many stages ends in dots. */
static void test_layout_text(void **state)
{
    static const struct {
        int16_t layout[6];
        int count;
        const char *text;
    } cases[] = {
        {{7, 8, 8, 8, 6}, 5, "7,8*3,6"},
        {{8, 8}, 2, "8*2"},
        {{1}, 1, "1"},
        {{5, 4, 5}, 3, "5,4,5"},
        {{0, 0, 12, 12, 0, 0}, 6, "0*2,12*2,0*2"},
    };
    static int16_t many[2000];
    char out[RK_STRATEGY_TEXT_SIZE];
    const size_t field = rk_find_strategy_field("layout");
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_strategy s = {.layout = cases[i].layout, .layout_count = cases[i].count};
        assert_string_equal(rk_strategy_text(&s, field, out), cases[i].text);
    }
    for (int i = 0; i < 2000; i++) {
        many[i] = (int16_t)(10 + i % 2);
    }
    const rk_strategy s = {.layout = many, .layout_count = 2000};
    const char *text = rk_strategy_text(&s, field, out);
    assert_int_equal(strlen(text), RK_STRATEGY_TEXT_SIZE - 1);
    assert_string_equal(text + strlen(text) - 3, "...");
    assert_memory_equal(text, "10,11,10,11,", 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_layout_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
