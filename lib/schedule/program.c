/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles orders into a topologically sorted program with a repeated round. */
#include "schedule/program.h"

#include "base/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- what repeats -------------------------------------------------------------------------- */

/*
 * A schedule with many microbatches runs the same steps over and over, in rounds; compile_rounds
 * checks that what a schedule says of its rounds holds.  Returns steps = 0 for a pipeline with too
 * few microbatches for two rounds of every rank.
 */
static rk_schedule_round round_of(const rk_pipeline *p)
{
    const rk_schedule *schedule = rk_schedules[p->kind];
    if (!schedule->round || p->ranks == 1) {
        return (rk_schedule_round){0};
    }
    const rk_schedule_round round = schedule->round(p);
    return p->microbatches < round.least + round.microbatches ? (rk_schedule_round){0} : round;
}

int64_t rk_program_microbatches(const rk_pipeline *pipeline)
{
    const int64_t m = pipeline->microbatches;
    const rk_schedule_round round = round_of(pipeline);
    if (round.steps == 0) {
        return m;
    }
    const int64_t least = round.least + round.microbatches;
    return least + (m - least) % round.microbatches;
}

/* ---- compiling ----------------------------------------------------------------------------- */

/* The chunk of another rank that a chunk waits for. */
struct source {
    int32_t rank;  /* -1: it waits for none */
    int32_t chunk; /* rank * chunks_per_rank + chunk */
};

struct compiler {
    const rk_pipeline *pipeline;
    rk_program *program;
    rk_orders orders;
    int64_t *first;          /* the program's */
    int64_t *next;           /* by rank: the step to emit */
    struct source *forward;  /* by chunk: what its forwards wait for */
    struct source *backward; /* likewise */
    int32_t *forward_of;     /* by chunk and microbatch: place of the step that runs it */
    int32_t *backward_of;
    int64_t emitted;
};

static void release(struct compiler *c)
{
    rk_orders_clear(&c->orders);
    free(c->next);
    free(c->forward);
    free(c->forward_of);
}

static struct source source_of(const rk_pipeline *p, rk_place place, int direction)
{
    rk_place from;
    if (!rk_place_next(p, place, direction, &from) || from.rank == place.rank) {
        return (struct source){.rank = -1}; /* a step of the same rank is ordered already */
    }
    return (struct source){(int32_t)from.rank,
                           (int32_t)(from.rank * p->chunks_per_rank + from.chunk)};
}

static int32_t *place_in(const struct compiler *c, int32_t *places, rk_place place,
                         int64_t microbatch)
{
    const rk_pipeline *p = c->pipeline;
    return &places[(place.rank * p->chunks_per_rank + place.chunk) * p->microbatches + microbatch];
}

/* The chunk that runs the backward of a step. */
static rk_place backward_place(int64_t rank, const rk_step *step)
{
    return (rk_place){rank, rk_step_backward_chunk(step)};
}

/* Writes all orders, and the index of every forward and backward in them. */
static rk_status prepare(struct compiler *c, rk_error *err)
{
    const rk_pipeline *p = c->pipeline;
    const rk_status status = rk_orders_init(p, &c->orders, err);
    if (status) {
        return status;
    }
    const int64_t chunks = p->ranks * p->chunks_per_rank, all = chunks * p->microbatches;
    c->next = calloc((size_t)p->ranks, sizeof(*c->next));
    c->first = c->program->first = calloc((size_t)p->ranks + 1, sizeof(*c->first));
    c->forward = malloc(2 * (size_t)chunks * sizeof(*c->forward));
    c->forward_of = malloc(2 * (size_t)all * sizeof(*c->forward_of));
    if (!c->first || !c->next || !c->forward || !c->forward_of) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %lld places of a schedule",
                       (long long)(2 * all));
    }
    c->backward = c->forward + chunks;
    c->backward_of = c->forward_of + all;
    for (int64_t i = 0; i < chunks; i++) {
        const rk_place place = {i / p->chunks_per_rank, i % p->chunks_per_rank};
        c->forward[i] = source_of(p, place, -1);
        c->backward[i] = source_of(p, place, 1);
    }
    int64_t place = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_order *order = &c->orders.ranks[r];
        c->first[r] = ++place; /* after the entry that stays 0 */
        for (int64_t i = 0; i < order->count; i++, place++) {
            const rk_step *step = &order->steps[i];
            if (rk_step_has_forward(step)) {
                *place_in(c, c->forward_of, (rk_place){r, step->chunk}, step->microbatch) =
                    (int32_t)place;
            }
            if (rk_step_has_backward(step)) {
                *place_in(c, c->backward_of, backward_place(r, step),
                          rk_step_backward_microbatch(step)) = (int32_t)place;
            }
        }
    }
    c->first[p->ranks] = place + 1;
    c->program->ends = place;
    return RK_OK;
}

/*
 * Finds the step on another rank that a step waits for; 0 if there is none. Returns whether it has
 * been emitted.
 */
static inline bool find_input(const struct compiler *c, const int32_t *places,
                              const struct source *from, int64_t microbatch, int32_t *input)
{
    if (from->rank < 0) {
        *input = 0;
        return true;
    }
    *input = places[from->chunk * c->pipeline->microbatches + microbatch];
    return *input < c->first[from->rank] + c->next[from->rank];
}

/* Emits the next step of a rank if its inputs have been. */
static bool emit(struct compiler *c, int64_t rank)
{
    assert(c->next[rank] < c->orders.ranks[rank].count);
    const rk_pipeline *p = c->pipeline;
    const rk_step *step = &c->orders.ranks[rank].steps[c->next[rank]];
    const int64_t chunks = rank * p->chunks_per_rank;
    rk_instruction in = {
        .step = (int32_t)(c->first[rank] + c->next[rank]),
        .duration = (int32_t)((chunks + step->chunk) * RK_STEP_KINDS) + (int32_t)step->kind,
    };
    if (rk_step_has_forward(step) &&
        !find_input(c, c->forward_of, &c->forward[chunks + step->chunk], step->microbatch,
                    &in.inputs[0])) {
        return false;
    }
    if (rk_step_has_backward(step) &&
        !find_input(c, c->backward_of, &c->backward[chunks + rk_step_backward_chunk(step)],
                    rk_step_backward_microbatch(step), &in.inputs[1])) {
        return false;
    }
    c->program->instructions[c->emitted++] = in;
    c->next[rank]++;
    return true;
}

/*
 * Emits the steps of all ranks before the steps in `until` (NULL: all), rank by rank as far as each
 * can go.  Returns false when ranks wait for one another.
 */
static bool emit_until(struct compiler *c, const int64_t *until)
{
    const int64_t ranks = c->pipeline->ranks;
    bool moved = true, done = false;
    while (moved && !done) {
        moved = false;
        done = true;
        for (int64_t i = 0; i < 2 * ranks; i++) { /* forwards go up the ranks, backwards down */
            const int64_t r = i < ranks ? i : 2 * ranks - 1 - i;
            const int64_t end = until ? until[r] : c->orders.ranks[r].count;
            while (c->next[r] < end && emit(c, r)) {
                moved = true;
            }
            done = done && c->next[r] >= end;
        }
    }
    return done;
}

/* Whether all inputs of instructions [from, to) come from index `since` of their rank or later. */
static inline bool reaches_back_to(const struct compiler *c, int64_t from, int64_t to,
                                   const int64_t *since)
{
    const rk_pipeline *p = c->pipeline;
    for (int64_t i = from; i < to; i++) {
        for (int k = 0; k < 2; k++) {
            const int32_t input = c->program->instructions[i].inputs[k];
            for (int64_t r = 0; r < p->ranks && input > 0; r++) {
                const int64_t at = input - c->first[r];
                if (at >= 0 && at < c->orders.ranks[r].count && at < since[r]) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* A program for this number of microbatches. */
static rk_status compile_whole(struct compiler *c, rk_error *err)
{
    if (!emit_until(c, NULL)) {
        return rk_orders_fail_cycle(c->pipeline, err);
    }
    c->program->begin = c->emitted;
    return RK_OK;
}

/* A program for any number of microbatches: the first of two rounds belongs to the beginning. */
static rk_status compile_rounds(struct compiler *c, rk_error *err)
{
    const rk_pipeline *p = c->pipeline;
    const rk_schedule_round round = round_of(p);
    rk_program *program = c->program;
    int64_t *cuts = calloc(3 * (size_t)p->ranks, sizeof(*cuts));
    program->rounds = calloc((size_t)p->ranks, sizeof(*program->rounds));
    if (!cuts || !program->rounds) {
        free(cuts);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the rounds of a pipeline");
    }
    int64_t *round0 = cuts, *round1 = cuts + p->ranks, *after = cuts + 2 * p->ranks;
    for (int64_t r = 0; r < p->ranks; r++) {
        round0[r] = rk_schedules[p->kind]->first_round(p, r);
        round1[r] = round0[r] + round.steps;
        after[r] = round1[r] + round.steps;
        program->rounds[r] = c->first[r] + round1[r];
    }
    program->round_microbatches = round.microbatches;
    program->round_steps = round.steps;
    bool done = emit_until(c, round1);
    program->begin = c->emitted;
    done = done && emit_until(c, after);
    program->body = c->emitted - program->begin;
    done = done && emit_until(c, NULL);
    program->end = c->emitted - program->begin - program->body;
    assert(done && reaches_back_to(c, program->begin, c->emitted - program->end, round0) &&
           reaches_back_to(c, c->emitted - program->end, c->emitted, round1));
    free(cuts);
    return done ? RK_OK : rk_orders_fail_cycle(p, err);
}

rk_status rk_program_new(const rk_pipeline *pipeline, rk_program **program, rk_error *err)
{
    rk_pipeline p = *pipeline;
    p.microbatches = rk_program_microbatches(pipeline);
    struct compiler c = {.pipeline = &p, .program = calloc(1, sizeof(**program))};
    rk_status status =
        c.program ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a schedule");
    if (!status) {
        c.program->kind = p.kind;
        c.program->ranks = p.ranks;
        c.program->chunks_per_rank = p.chunks_per_rank;
        c.program->microbatches = p.microbatches;
        status = prepare(&c, err);
    }
    if (!status) {
        c.program->instructions = malloc((size_t)c.program->ends * sizeof(rk_instruction));
        status = c.program->instructions
                     ? (round_of(&p).steps > 0 ? compile_rounds(&c, err) : compile_whole(&c, err))
                     : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the steps of a schedule");
    }
    release(&c);
    if (status) {
        rk_program_free(c.program);
        c.program = NULL;
    }
    *program = c.program;
    return status;
}

void rk_program_free(rk_program *program)
{
    if (program) {
        free(program->instructions);
        free(program->rounds);
        free(program->first);
        free(program);
    }
}
