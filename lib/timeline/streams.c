/* SPDX-License-Identifier: Apache-2.0 */
/* TP, CP and EP communication time per chunk, and the memory need of each pipeline rank. */
#include "timeline/streams.h"

#include "base/error.h"
#include "estimate/step_overheads.h"

#include <stdlib.h>

static const rk_part parts[RK_STREAM_COUNT] = {RK_PART_TP, RK_PART_CP, RK_PART_EP};

/* As rk_stage_times counts them: of all-to-all what hides on average is left out. */
static void fill_chunk(const rk_cost_table *table, const rk_model *model,
                       const rk_strategy *strategy, const rk_chunk *chunk, rk_stream_times *times)
{
    const double alone = rk_alone_share(strategy);
    rk_stage stage = {.layers = 0};
    const rk_stage_blocks blocks = rk_chunk_blocks_of(model, strategy, chunk);
    rk_stage_run(table, &blocks, &stage);
    for (int i = 0; i < RK_STREAM_COUNT; i++) {
        times->forward[i] = stage.forward.part[parts[i]];
        times->backward[i] = stage.backward.part[parts[i]];
    }
    times->backward[RK_STREAM_TP] += rk_stage_splits(strategy) ? stage.apart.sums : 0;
    times->forward[RK_STREAM_EP] += alone * stage.hidden_forward;
    times->backward[RK_STREAM_EP] += alone * stage.hidden_backward;
}

rk_status rk_streams_fill(const rk_model *model, const rk_system *system, const rk_stack *stack,
                          const rk_strategy *strategy, rk_streams *streams, rk_error *err)
{
    const int64_t chunks = rk_stage_chunks(strategy);
    rk_cost_table *table = malloc(sizeof(*table));
    rk_chunk *held = malloc(RK_CHUNK_MAX * sizeof(*held));
    double sent;
    *streams = (rk_streams){
        .chunks = chunks,
        .times = calloc((size_t)(strategy->pp * chunks), sizeof(*streams->times)),
        .needs = calloc((size_t)strategy->pp, sizeof(*streams->needs)),
    };
    const bool filled = table && held && streams->times && streams->needs;
    if (filled) {
        rk_cost_table_fill(model, system, stack, strategy, table);
        rk_strategy_chunks(model, strategy, held);
        streams->send = rk_send_seconds(table, strategy, &sent);
    }
    for (int64_t i = 0; filled && i < strategy->pp * chunks; i++) {
        fill_chunk(table, model, strategy, &held[i], &streams->times[i]);
    }
    for (int64_t rank = 0; filled && rank < strategy->pp; rank++) {
        const rk_stage stage = rk_stage_of(table, strategy, &held[rank * chunks]);
        streams->needs[rank] = rk_stage_need_of(table, strategy, &stage);
    }
    free(table);
    free(held);
    return filled ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a timeline");
}

void rk_streams_clear(rk_streams *streams)
{
    free(streams->times);
    free(streams->needs);
    *streams = (rk_streams){.chunks = 0};
}
