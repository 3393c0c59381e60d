/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline of one training step: what every pipeline rank does, and when.
 *
 *     rk_timeline *timeline;
 *     rk_timeline_event event;
 *     rk_status status = rk_timeline_create(outcome, 0, &timeline, &err);
 *     for (size_t i = 0; !status && rk_timeline_at(timeline, i, &event, sizeof(event)); i++) {
 *         printf("rank %d: %s %d from %g s for %g s\n", (int)event.rank, event.kind,
 *                (int)event.micro_batch, event.start_s, event.duration_s);
 *     }
 *     rk_timeline_free(timeline);
 *
 * Events are identical to `reckon timeline`; rk_answer_request("timeline", ...) writes them as a
 * trace for Perfetto.
 */
#ifndef RECKON_TIMELINE_H
#define RECKON_TIMELINE_H

#include "reckon/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A simulated step. */
typedef struct rk_timeline rk_timeline;

/*
 * Simulates a step of strategy `index` of an outcome.  *timeline refers to the outcome, which must
 * outlive it; free it with rk_timeline_free; it is NULL after a failure.  Errors: RK_ERR_INVALID
 * past the last strategy; RK_ERR_MEMORY.  Source: docs/method/schedules.md.
 */
RK_API rk_status rk_timeline_create(const rk_outcome *outcome, size_t index, rk_timeline **timeline,
                                    rk_error *err);

/* NULL is legal. */
RK_API void rk_timeline_free(rk_timeline *timeline);

/* Summary of a step. */
typedef struct rk_timeline_facts {
    double step_s;        /* of the whole step */
    double pipeline_s;    /* until the last rank has finished its last microbatch */
    int64_t ranks;        /* of the pipeline */
    int64_t events;       /* number of events */
    int64_t microbatches; /* of a data-parallel replica */
} rk_timeline_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_timeline_facts). */
RK_API void rk_timeline_describe(const rk_timeline *timeline, rk_timeline_facts *facts,
                                 size_t size);

/* An activity of a rank. */
typedef struct rk_timeline_event {
    int64_t rank;        /* of the pipeline, from 0; -1: all ranks, after the pipeline */
    const char *stream;  /* "compute"; "backward" where a schedule overlaps it with forward; of what
                            follows the pipeline "dp", "pp", "host" or "compute"; static */
    const char *kind;    /* "forward", "backward", "weight", or the part of the step after the
                            pipeline, such as "optimizer"; static */
    int64_t chunk;       /* of the rank's layers, from 0; -1: none */
    int64_t micro_batch; /* from 0; -1: none */
    double start_s;      /* since the start of the step */
    double duration_s;   /* of the event */
    double tensor_s;  /* part that is visible tensor-parallel communication, which alternates with
                         computation layer by layer; also the next two */
    double context_s; /* of context parallelism */
    double expert_s;  /* of expert parallelism */
} rk_timeline_event;

/*
 * Fills the first `size` bytes for event `index`: rank by rank in order of their start, then what
 * follows the pipeline.  Returns false, and fills nothing, past the last.
 */
RK_API bool rk_timeline_at(const rk_timeline *timeline, size_t index, rk_timeline_event *event,
                           size_t size);

/* Idle time and stored activations of a pipeline rank. */
typedef struct rk_timeline_rank {
    double idle_s;         /* while the pipeline runs */
    double most_in_flight; /* micro-batches whose activations it stores at once */
} rk_timeline_rank;

/* Fills the first `size` bytes for a rank.  Returns false, and fills nothing, past the last. */
RK_API bool rk_timeline_rank_at(const rk_timeline *timeline, int64_t rank, rk_timeline_rank *use,
                                size_t size);

#ifdef __cplusplus
}
#endif

#endif
