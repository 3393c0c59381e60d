/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closed forms.  Letters: p ranks, v chunks per rank, m microbatches; F, B, W times of forward,
 * input and weight gradients.  Each schedule has its form in its own file; each was checked
 * against the played schedule, see tests/schedule.
 */
#include "schedule/rank_times.h"
#include "schedule/v_block.h"

#include <assert.h>

rk_pipeline_survey rk_survey_pipeline(const rk_pipeline *p)
{
    rk_pipeline_survey s = {0};
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times times = rk_rank_times(p, r);
        const double forward = times.forward, backward = times.backward + times.weight;
        s.weight_sum += times.weight;
        s.forward_sum += forward;
        s.backward_sum += backward;
        s.forward_max = forward > s.forward_max ? forward : s.forward_max;
        s.backward_max = backward > s.backward_max ? backward : s.backward_max;
        s.work_max = forward + backward > s.work_max ? forward + backward : s.work_max;
    }
    const double chunks = (double)(p->ranks * p->chunks_per_rank);
    s.mean = (rk_chunk_times){
        .forward = s.forward_sum / chunks,
        .backward = (s.backward_sum - s.weight_sum) / chunks,
        .weight = s.weight_sum / chunks,
    };
    return s;
}

double rk_pipeline_seconds(const rk_pipeline *pipeline)
{
    assert((unsigned)pipeline->kind < RK_SCHEDULE_KIND_COUNT);
    const rk_schedule *schedule = rk_schedules[pipeline->kind];
    if (!schedule->closed) {
        return rk_pipeline_bound(pipeline);
    }
    return (pipeline->rolls ? schedule->closed_rolling : schedule->closed)(pipeline);
}

double rk_pipeline_in_flight(rk_schedule_kind kind, int64_t ranks, int64_t chunks_per_rank,
                             int64_t microbatches, int64_t rank)
{
    assert(rank >= 0 && rank < ranks && microbatches >= 1);
    const rk_schedule *schedule = rk_schedules[kind];
    if (schedule->block) {
        const rk_v_block block = schedule->block(ranks);
        return rk_v_block_in_flight(&block, ranks, rank);
    }
    return schedule->in_flight(ranks, chunks_per_rank, microbatches, rank);
}
