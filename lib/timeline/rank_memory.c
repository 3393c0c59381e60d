/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a rank during a step. */
#include "timeline/operations.h"

#include <assert.h>
#include <stdlib.h>

/* The place of an operation's microbatch within its rank. */
static size_t pass_of(const rk_timeline *line, const rk_op *op)
{
    const size_t microbatches = (size_t)rk_strategy_microbatches(line->strategy);
    return (size_t)op->chunk * microbatches + (size_t)op->microbatch;
}

/* Reports the memory while the activations of `kept` passes are kept. */
static void visit(const rk_timeline *line, int64_t rank, double at, int64_t kept,
                  void (*take)(void *user, double at, const rk_stage_memory *memory), void *user)
{
    const rk_stage_memory memory =
        rk_stage_memory_at(&line->streams.needs[rank], (double)kept / (double)line->streams.chunks);
    take(user, at, &memory);
}

/*
 * A forward keeps its activations until the backward of its microbatch, or its weight gradients
 * where they are computed apart.
 */
bool rk_timeline_visit_memory(const rk_timeline *line, int64_t rank,
                              void (*take)(void *user, double at, const rk_stage_memory *memory),
                              void *user)
{
    assert(rank >= 0 && rank < line->strategy->pp);
    const size_t first = rk_timeline_first(line, rank), past = rk_timeline_first(line, rank + 1);
    const size_t passes =
        (size_t)line->streams.chunks * (size_t)rk_strategy_microbatches(line->strategy);
    bool *apart = calloc(passes, sizeof(*apart));
    int64_t kept = 0;
    for (size_t i = first; apart && i < past; i++) {
        const rk_op *op = &line->ops[i];
        apart[pass_of(line, op)] = apart[pass_of(line, op)] || op->kind == RK_OP_WEIGHT;
    }
    for (size_t i = first; apart && i < past; i++) {
        const rk_op *op = &line->ops[i];
        const bool releases =
            op->kind == RK_OP_WEIGHT || (op->kind == RK_OP_BACKWARD && !apart[pass_of(line, op)]);
        if (i == first) {
            visit(line, rank, 0, 0, take, user);
        }
        if (op->kind == RK_OP_FORWARD || releases) {
            kept += releases ? -1 : 1;
            visit(line, rank, releases ? op->end : op->start, kept, take, user);
        }
    }
    const bool visited = apart != NULL;
    free(apart);
    return visited;
}
