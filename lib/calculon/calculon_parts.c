/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a Calculon result into named parts of time and memory. */
#include "calculon/calculon_parts.h"

void rk_calculon_time_parts(const rk_calculon_stats *s,
                            rk_calculon_time_part parts[RK_CALCULON_TIME_PARTS])
{
    const rk_calculon_time_part all[RK_CALCULON_TIME_PARTS] = {
        {"forward", "forward_s", true, s->fw_time},
        {"backward", "backward_s", true, s->bw_time},
        {"optimizer step", "optimizer_s", true, s->optim_step_time},
        {"recompute", "recompute_s", false, s->recompute_time},
        {"recompute communication", "recompute_comm_s", false, s->recomm_exposed_time},
        {"tensor-parallel communication", "tensor_comm_s", false, s->tp_comm_exposed_time},
        {"pipeline communication", "pipeline_comm_s", false, s->pp_comm_exposed_time},
        {"data-parallel communication", "data_comm_s", false, s->dp_comm_exposed_time},
        {"pipeline bubble", "bubble_s", false, s->bubble_time},
        {"forward offload", "forward_offload_s", false, s->fw_offload_exposed_time},
        {"backward offload", "backward_offload_s", false, s->bw_offload_exposed_time},
    };
    for (int i = 0; i < RK_CALCULON_TIME_PARTS; i++) {
        parts[i] = all[i];
    }
}

/* Offloaded data keeps a working set in tier 1 and everything in tier 2. */
void rk_calculon_memory_parts(const rk_calculon_exe *exe, const rk_calculon_stats *s,
                              rk_calculon_memory_part parts[RK_CALCULON_MEMORY_PARTS])
{
    const bool weights = exe->weight_offload, activations = exe->activations_offload;
    const bool optimizer = exe->optimizer_offload;
    const bool full = exe->activation_recompute == RK_RECOMPUTE_FULL;
    const double act2 = activations && !full ? s->act_space : 0;
    const double checkpoint2 = activations && full ? s->act_checkpoint_size : 0;
    const double weights2 = weights ? s->weight_space : 0;
    const double optimizer2 = optimizer ? s->optimizer_space : 0;
    /* In tier 2 gradients are sharded throughout; no statistic has their size there alone. */
    const double gradients2 =
        optimizer ? s->proc_mem_tier2_cap_req - weights2 - act2 - checkpoint2 - optimizer2 : 0;
    const rk_calculon_memory_part all[RK_CALCULON_MEMORY_PARTS] = {
        {"weights", "weights_bytes", weights ? s->weight_space_with_offload : s->weight_space,
         weights2},
        {"activations", "activations_bytes", activations ? s->act_space_with_offload : s->act_space,
         act2},
        {"activation checkpoints", "checkpoints_bytes",
         !full         ? 0
         : activations ? s->act_checkpoint_size_with_offload
                       : s->act_checkpoint_size,
         checkpoint2},
        {"activation gradients", "activation_gradients_bytes", s->act_grad_space, 0},
        {"weight gradients", "weight_gradients_bytes",
         optimizer ? s->weight_grad_space_with_offload : s->weight_grad_space, gradients2},
        {"optimizer state", "optimizer_bytes",
         optimizer ? s->optimizer_space_with_offload : s->optimizer_space, optimizer2},
    };
    for (int i = 0; i < RK_CALCULON_MEMORY_PARTS; i++) {
        parts[i] = all[i];
    }
}
