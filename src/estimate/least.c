/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate/least.h"

#include "estimate/once.h"

rk_stage rk_whole_model(const rk_cost_table *table, const rk_strategy *strategy)
{
    rk_strategy s = *strategy;
    s.pp = s.vp = 1;
    s.schedule = RK_SCHEDULE_1F1B;
    s.recompute = RK_REC_NONE;
    s.first_stage_layers = s.last_stage_layers = 0;
    s.count_embedding = s.count_head = false;
    s.layout_count = 0;
    rk_chunk chunk;
    rk_strategy_chunks(table->context.model, &s, &chunk);
    return rk_stage_of(table, &s, &chunk);
}

double rk_least_send(const rk_cost_table *table, const rk_strategy *s)
{
    double bytes = 0;
    return rk_send_seconds(table, s, &bytes);
}

double rk_least_step_of(const rk_cost_table *table, const rk_strategy *s,
                        const rk_chunk_times *chunks, double send)
{
    const rk_pipeline pipeline = rk_pipeline_of(s, chunks, send);
    const double seconds =
        rk_pipeline_seconds(&pipeline) + rk_overlapped_sends(table->context.stack, s, send);
    return seconds + rk_fixed_seconds(table->context.stack, s, seconds);
}

double rk_least_step(const rk_cost_table *table, const rk_strategy *s, const rk_stage *whole,
                     double send)
{
    const rk_pipeline pipeline = rk_pipeline_of(s, NULL, send);
    const double stages = (double)rk_schedule_stages(s->schedule, s->pp, s->vp);
    const double weight = rk_stage_splits(s) ? whole->weight_seconds : 0;
    const rk_chunk_times chunk = {
        .forward = rk_times_sum(&whole->forward) / stages,
        .backward = (rk_times_sum(&whole->backward) - weight) / stages,
        .weight = weight / stages,
    };
    const double seconds = rk_pipeline_least_seconds(&pipeline, &chunk) +
                           rk_overlapped_sends(table->context.stack, s, send);
    return seconds + rk_fixed_seconds(table->context.stack, s, seconds);
}

double rk_least_memory(const rk_cost_table *table, const rk_strategy *s, const rk_stage *whole)
{
    /* DualPipe has every stage on two ranks. */
    const double share = (s->schedule == RK_SCHEDULE_DUALPIPE ? 2.0 : 1.0) / (double)s->pp;
    const rk_stage mean = {
        .dense_params = share * whole->dense_params,
        .expert_params = share * whole->expert_params,
        .low_dense_params = share * whole->low_dense_params,
        .low_expert_params = share * whole->low_expert_params,
    };
    return rk_stage_memory_of(table, s, &mean, 0).total;
}
