/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The makespan of interleaved 1F1B for whole groups of p microbatches, step by step but without a
 * list of steps.  A rank runs forwards 0, 1, ... and backwards 0, 1, ..., p of a chunk after the
 * other; input n of a rank is output n of its neighbour, and of the rank at the end of the line
 * output n - p of the rank at the other.  So it is enough to know when each rank is free and when
 * the last p outputs came.  Letters: d = p - 1 - r ranks behind rank r.
 *
 * 1. Forwards of all chunks but the last: chunk by chunk, in each rank by rank.
 * 2. Rank r runs 2 d more forwards and then a forward and a backward in turn.  In wave t it runs
 *    forward t - r, counted from here, and then backward t - (p - 1) - d: outputs of neighbours are
 *    of an earlier wave.
 * 3. Backwards of all chunks but the last, as in 1.
 *
 * Runs of like chunks repeat themselves, and so do the p v waves of a group: once both free ranks
 * and outputs are later by the same than one repetition ago, they are after every other.
 */
#include "schedule/program.h"
#include "schedule/rank_times.h"
#include "schedule/ticks.h"

#include <string.h>

/* All in ticks; arrays by rank, outputs by microbatch of the group. */
struct line {
    int64_t ranks, chunks; /* p, v */
    const int64_t *durations;
    int64_t *forward_out, *free, *backward_out; /* p each, in a row */
    int64_t *forward, *backward;                /* durations of the chunks at hand, p each */
    int64_t *before;                            /* room for the 3 p before a repetition */
};

static inline const int64_t *duration_at(const struct line *l, int64_t rank, int64_t chunk,
                                         rk_step_kind kind)
{
    return &l->durations[(rank * l->chunks + chunk) * RK_STEP_KINDS + (int64_t)kind];
}

/* Whether all `count` values are later by the same than before. */
static bool repeats(const int64_t *now, const int64_t *before, int64_t count, int64_t *shift)
{
    *shift = now[0] - before[0];
    for (int64_t i = 1; i < count; i++) {
        if (now[i] - before[i] != *shift) {
            return false;
        }
    }
    return true;
}

static void delay(int64_t *values, int64_t count, int64_t ticks)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] += ticks;
    }
}

/* ---- one direction ------------------------------------------------------------------------- */

/* How many of the next `most` chunks in a direction last on every rank as long as `chunk`. */
static int64_t count_alike(const struct line *l, int64_t chunk, rk_step_kind kind, int64_t most)
{
    const int64_t next = kind == RK_STEP_FORWARD ? RK_STEP_KINDS : -RK_STEP_KINDS;
    for (int64_t r = 0; r < l->ranks; r++) {
        const int64_t *at = duration_at(l, r, chunk, kind), ticks = *at;
        int64_t alike = 0;
        while (alike < most && *(at += next) == ticks) {
            alike++;
        }
        most = alike;
    }
    return most;
}

/* A group of microbatches through one chunk of every rank. */
static void run_chunk(const struct line *l, int64_t chunk, rk_step_kind kind, int64_t *out)
{
    const int64_t p = l->ranks;
    for (int64_t k = 0; k < p; k++) {
        const int64_t r = kind == RK_STEP_FORWARD ? k : p - 1 - k;
        const int64_t ticks = *duration_at(l, r, chunk, kind);
        int64_t end = l->free[r];
        for (int64_t i = 0; i < p; i++) {
            end = rk_later(end, out[i]) + ticks;
            out[i] = end;
        }
        l->free[r] = end;
    }
}

/* All chunks but the last: forwards from the first, backwards to it. */
static void run_chunks(const struct line *l, rk_step_kind kind)
{
    const bool back = kind == RK_STEP_BACKWARD;
    int64_t *out = back ? l->backward_out : l->forward_out, *state = back ? l->free : out;
    const int64_t count = 2 * l->ranks;
    int64_t shift;
    for (int64_t left = l->chunks - 1; left > 0;) {
        const int64_t chunk = back ? left - 1 : l->chunks - 1 - left;
        memcpy(l->before, state, (size_t)count * sizeof(*state));
        run_chunk(l, chunk, kind, out);
        left--;
        if (left > 0 && repeats(state, l->before, count, &shift)) {
            const int64_t alike = count_alike(l, chunk, kind, left);
            delay(state, count, alike * shift);
            left -= alike;
        }
    }
}

/* ---- both directions ----------------------------------------------------------------------- */

/*
 * A wave, and the rank that comes to its next chunk in it: ranks do one after the other, forwards
 * upwards and backwards downwards.
 */
struct wave {
    int64_t number;
    int64_t forward_rank, forward_chunk;
    int64_t backward_rank, backward_chunk;
};

static void next_wave(const struct line *l, struct wave *w)
{
    w->number++;
    if (++w->forward_rank == l->ranks) {
        w->forward_rank = 0;
        w->forward_chunk = w->forward_chunk + 1 < l->chunks ? w->forward_chunk + 1 : 0;
    }
    if (w->backward_rank-- == 0) {
        w->backward_rank = l->ranks - 1;
        w->backward_chunk = (w->backward_chunk > 0 ? w->backward_chunk : l->chunks) - 1;
    }
}

/* Forwards of a wave, of the `count` of every rank. */
static void run_forwards(const struct line *l, const struct wave *w, int64_t count)
{
    const int64_t p = l->ranks, turns = w->forward_rank;
    const int64_t first = rk_later(w->number - count + 1, 0), past = rk_least_of(w->number + 1, p);
    const bool enters = w->forward_chunk == 0; /* rank 0 waits for none */
    int64_t i = turns - first + (turns < first ? p : 0);
    if (turns < past) {
        l->forward[turns] = *duration_at(l, turns, w->forward_chunk, RK_STEP_FORWARD);
    }
    int64_t *const out = l->forward_out, *const end = l->free;
    const int64_t *const ticks = l->forward;
    for (int64_t r = first; r < past; r++, i = (i > 0 ? i : p) - 1) {
        const int64_t input = r == 0 && enters ? 0 : out[i];
        out[i] = end[r] = rk_later(end[r], input) + ticks[r];
    }
}

static void run_backwards(const struct line *l, const struct wave *w, int64_t count)
{
    const int64_t p = l->ranks, turns = w->backward_rank;
    const int64_t number = w->number - 2 * (p - 1); /* of the backward of rank 0 */
    const int64_t first = rk_later(-number, 0), past = rk_least_of(count - number, p);
    const bool enters = w->backward_chunk == l->chunks - 1; /* the last rank waits for none */
    int64_t i = first - turns + (first < turns ? p : 0);
    if (turns >= first && turns < past) {
        l->backward[turns] = *duration_at(l, turns, w->backward_chunk, RK_STEP_BACKWARD);
    }
    int64_t *const out = l->backward_out, *const end = l->free;
    const int64_t *const ticks = l->backward;
    for (int64_t r = first; r < past; r++, i = i + 1 < p ? i + 1 : 0) {
        const int64_t input = r == p - 1 && enters ? 0 : out[i];
        out[i] = end[r] = rk_later(end[r], input) + ticks[r];
    }
}

static void run_waves_until(const struct line *l, struct wave *w, int64_t past, int64_t count)
{
    for (; w->number < past; next_wave(l, w)) {
        run_forwards(l, w, count);
        run_backwards(l, w, count);
    }
}

/* `count` forwards and backwards of every rank. */
static void run_waves(const struct line *l, int64_t count)
{
    const int64_t p = l->ranks, start = 2 * (p - 1), round = p * l->chunks, room = 3 * p;
    struct wave w = {0, 0, l->chunks - 1, p - 2, l->chunks};
    int64_t shift;
    run_waves_until(l, &w, start, count);
    for (bool repeated = false; !repeated && w.number + 2 * round <= count;) {
        memcpy(l->before, l->forward_out, (size_t)room * sizeof(*l->before));
        run_waves_until(l, &w, w.number + round, count);
        repeated = repeats(l->forward_out, l->before, room, &shift);
        if (repeated) {
            const int64_t left = (count - w.number) / round;
            delay(l->forward_out, room, left * shift);
            w.number += left * round;
        }
    }
    run_waves_until(l, &w, count + start, count);
}

int64_t rk_interleaved_ticks(const rk_pipeline *pipeline, const int64_t *durations, int64_t *room)
{
    const int64_t p = pipeline->ranks, v = pipeline->chunks_per_rank;
    if (pipeline->microbatches % p != 0 || pipeline->rolls) {
        return -1;
    }
    const struct line l = {.ranks = p,
                           .chunks = v,
                           .durations = durations,
                           .forward_out = room,
                           .free = room + p,
                           .backward_out = room + 2 * p,
                           .forward = room + 3 * p,
                           .backward = room + 4 * p,
                           .before = room + 5 * p};
    int64_t last = 0;
    memset(room, 0, (size_t)(5 * p) * sizeof(*room));
    run_chunks(&l, RK_STEP_FORWARD);
    run_waves(&l, pipeline->microbatches * v - (v - 1) * p);
    run_chunks(&l, RK_STEP_BACKWARD);
    for (int64_t r = 0; r < p; r++) {
        last = rk_later(last, l.free[r]);
    }
    return last;
}
