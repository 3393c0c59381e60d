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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_members)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
