/* SPDX-License-Identifier: Apache-2.0 */
/* States off the device: bytes in host memory and on NVMe disks, and the seconds of their update.
 */
#ifndef RK_ESTIMATE_OFFLOAD_H
#define RK_ESTIMATE_OFFLOAD_H

#include "estimate/stage.h"

/* Share of the optimizer that is off the device. */
double rk_away_share(const rk_strategy *strategy);

/* Whether CPUs step the optimizer that is on the host. */
bool rk_steps_on_host(const rk_stack *stack, const rk_strategy *strategy);

/* Bytes of the gradients of a parameter that an optimizer on the host reads. */
double rk_host_gradient_bytes(const rk_stack *stack, const rk_strategy *strategy);

/* Bytes of a rank that leave the device, and the parameters that its optimizer steps. */
typedef struct rk_offloaded_states {
    double optimizer, gradients, weights, stepped;
} rk_offloaded_states;

/* Places them in host memory and on disks. */
void rk_place_away(const rk_stack *stack, const rk_strategy *strategy,
                   const rk_offloaded_states *away, rk_stage_need *need);

/* Seconds of a step for an optimizer that is off the device, of which `backward` hides copies. */
double rk_away_step_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                            const rk_stage *heaviest, double backward);

/* Seconds in which the weights of a stage come to the device once. */
double rk_weights_in_seconds(const rk_accelerator *accelerator, const rk_strategy *strategy,
                             const rk_stage *stage);

#endif
