/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The makespan of a schedule, bit for bit as rk_pipeline_play has it, for searches that compute it
 * millions of times: orders are compiled once, and rounds that only repeat the previous one are
 * skipped.
 */
#include "schedule/program.h"
#include "schedule/rank_times.h"
#include "schedule/ticks.h"

#include "base/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

/*
 * Limit on cached instructions; beyond it, all programs are released and compiled again on demand.
 */
#define KEPT_MAX ((int64_t)1 << 22)

struct rk_makespans {
    rk_program *programs[BUCKETS]; /* owned */
    int64_t kept;                  /* instructions of all ranks */
    int64_t *ends, *durations;     /* owned; ticks */
    size_t end_room, duration_room;
};

rk_status rk_makespans_new(rk_makespans **makespans, rk_error *err)
{
    *makespans = calloc(1, sizeof(**makespans));
    return *makespans ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for schedules");
}

static void forget_programs(rk_makespans *m)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (rk_program *p = m->programs[i], *next; p; p = next) {
            next = p->next;
            rk_program_free(p);
        }
        m->programs[i] = NULL;
    }
    m->kept = 0;
}

void rk_makespans_free(rk_makespans *makespans)
{
    if (makespans) {
        forget_programs(makespans);
        free(makespans->ends);
        free(makespans->durations);
        free(makespans);
    }
}

void rk_makespans_trim(rk_makespans *makespans)
{
    if (makespans->kept > KEPT_MAX) {
        forget_programs(makespans);
    }
}

/* ---- programs ------------------------------------------------------------------------------ */

static rk_status find_program(rk_makespans *m, const rk_pipeline *p, const rk_program **found,
                              rk_error *err)
{
    const int64_t count = rk_program_microbatches(p);
    const uint64_t key =
        (((uint64_t)p->kind * 1031 + (uint64_t)p->ranks) * 1031 + (uint64_t)p->chunks_per_rank) *
            1031 +
        (uint64_t)count;
    rk_program **bucket = &m->programs[key * 0x9e3779b97f4a7c15U >> 56];
    for (rk_program *at = *bucket; at; at = at->next) {
        if (at->kind == p->kind && at->ranks == p->ranks &&
            at->chunks_per_rank == p->chunks_per_rank && at->microbatches == count) {
            *found = at;
            return RK_OK;
        }
    }
    rk_makespans_trim(m);
    rk_program *made;
    const rk_status status = rk_program_new(p, &made, err);
    if (!status) {
        made->next = *bucket;
        *bucket = made;
        m->kept += made->begin + made->body + made->end;
        *found = made;
    }
    return status;
}

static rk_status make_room(int64_t **room, size_t *size, size_t wanted, rk_error *err)
{
    if (wanted > *size) {
        int64_t *more = realloc(*room, wanted * sizeof(*more));
        if (!more) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the steps of a schedule");
        }
        *room = more;
        *size = wanted;
    }
    return RK_OK;
}

/* ---- durations ----------------------------------------------------------------------------- */

/* A message that is not overlapped keeps its sender: it counts as part of the step that sends. */
static void fill_durations(const rk_pipeline *p, rk_clock clock, int64_t *durations)
{
    const int64_t send = rk_to_ticks(clock, p->send_seconds);
    const rk_chunk_times *t = p->chunks;
    int64_t forward = 0, backward = 0, weight = 0;
    const int64_t of_rank = p->chunks_per_rank * RK_STEP_KINDS;
    for (int64_t r = 0; r < p->ranks; r++) {
        if (send == 0 && rk_same_as_before(p, r)) {
            memcpy(durations, durations - of_rank, (size_t)of_rank * sizeof(*durations));
            durations += of_rank;
            t += p->chunks_per_rank;
            continue;
        }
        for (int64_t i = 0; i < p->chunks_per_rank; i++, t++, durations += RK_STEP_KINDS) {
            if (t == p->chunks || memcmp(t, t - 1, sizeof(*t)) != 0) {
                forward = rk_to_ticks(clock, t->forward);
                backward = rk_to_ticks(clock, t->backward);
                weight = rk_to_ticks(clock, t->weight);
            }
            const int64_t up = send && rk_chunk_sends(p, r, i, 1) ? send : 0;
            const int64_t down = send && rk_chunk_sends(p, r, i, -1) ? send : 0;
            durations[RK_STEP_FORWARD] = forward + up;
            durations[RK_STEP_BACKWARD] = backward + weight + down;
            durations[RK_STEP_INPUT] = backward + down;
            durations[RK_STEP_WEIGHT] = weight;
            durations[RK_STEP_PAIR] = 0;
        }
    }
}

/* A forward of one chunk of a rank with a backward of the other. */
static void fill_pairs(const rk_pipeline *p, rk_clock clock, int64_t *durations)
{
    const int64_t send = rk_to_ticks(clock, p->send_seconds);
    for (int64_t r = 0; r < p->ranks; r++) {
        for (int64_t i = 0; i < 2; i++) {
            const rk_chunk_times *forward = &p->chunks[2 * r + i];
            const rk_chunk_times *back = &p->chunks[2 * r + 1 - i];
            const bool sends = rk_place_sends(p, (rk_place){r, i}, 1) ||
                               rk_place_sends(p, (rk_place){r, 1 - i}, -1);
            const int64_t both = rk_to_ticks(clock, forward->forward) +
                                 rk_to_ticks(clock, back->backward) +
                                 rk_to_ticks(clock, back->weight);
            durations[(2 * r + i) * RK_STEP_KINDS + RK_STEP_PAIR] =
                (p->overlapped_pair > 0 ? rk_to_ticks(clock, p->overlapped_pair) : both) +
                (sends ? send : 0);
        }
    }
}

/* ---- evaluation ---------------------------------------------------------------------------- */

static void run(const rk_instruction *at, int64_t count, const int64_t *durations, int64_t *ends)
{
    for (int64_t i = 0; i < count; i++, at++) {
        const int64_t input = rk_later(ends[at->inputs[0]], ends[at->inputs[1]]);
        ends[at->step] = rk_later(ends[at->step - 1], input) + durations[at->duration];
    }
}

/* Whether the last round equals the one before, later by *shift on every rank. */
static bool repeats_itself(const rk_program *program, const int64_t *ends, int64_t *shift)
{
    const int64_t steps = program->round_steps;
    *shift = ends[program->rounds[0]] - ends[program->rounds[0] - steps];
    for (int64_t r = 0; r < program->ranks; r++) {
        const int64_t *round = &ends[program->rounds[r]];
        for (int64_t i = 0; i < steps; i++) {
            if (round[i] - round[i - steps] != *shift) {
                return false;
            }
        }
    }
    return true;
}

static void shift_round(const rk_program *program, int64_t *ends, int64_t shift)
{
    for (int64_t r = 0; r < program->ranks; r++) {
        for (int64_t i = 0; i < program->round_steps; i++) {
            ends[program->rounds[r] + i] += shift;
        }
    }
}

/* Later rounds depend on the last round only, so once rounds repeat, the rest are skipped. */
static void run_rounds(const rk_program *program, int64_t microbatches, const int64_t *durations,
                       int64_t *ends)
{
    assert(microbatches >= program->microbatches);
    assert((microbatches - program->microbatches) % program->round_microbatches == 0);
    int64_t left = 1 + (microbatches - program->microbatches) / program->round_microbatches;
    int64_t shift;
    while (left > 0) {
        run(program->instructions + program->begin, program->body, durations, ends);
        left--;
        if (left > 0 && repeats_itself(program, ends, &shift)) {
            shift_round(program, ends, left * shift);
            left = 0;
        }
        for (int64_t r = 0; r < program->ranks && left > 0; r++) {
            int64_t *round = &ends[program->rounds[r]];
            memcpy(round - program->round_steps, round,
                   (size_t)program->round_steps * sizeof(*round));
        }
    }
}

/* One step from the starts of the ranks, which precede their ends. */
static void run_step(const rk_program *program, const rk_pipeline *p, const int64_t *durations,
                     int64_t *ends)
{
    run(program->instructions, program->begin, durations, ends);
    if (program->body > 0) {
        run_rounds(program, p->microbatches, durations, ends);
    }
    run(program->instructions + program->begin + program->body, program->end, durations, ends);
}

/*
 * How much later a step ends than the one before when ranks do not wait for each other between
 * steps: of the rank that falls behind most, until all do by the same.  Every step begins anew at
 * the start of rank 0, because an input that is not there has come at 0.
 */
static int64_t roll(const rk_program *program, const rk_pipeline *p, const int64_t *durations,
                    int64_t *ends)
{
    int64_t most = 0;
    bool settled = false;
    for (int i = 0; i < RK_ROLLED_STEPS && !settled; i++) {
        int64_t least = INT64_MAX;
        const int64_t first = ends[program->first[1] - 2];
        most = 0;
        for (int64_t r = 0; r < program->ranks; r++) {
            ends[program->first[r] - 1] = ends[program->first[r + 1] - 2] - first;
        }
        run_step(program, p, durations, ends);
        for (int64_t r = 0; r < program->ranks; r++) {
            const int64_t took = ends[program->first[r + 1] - 2] - ends[program->first[r] - 1];
            most = rk_later(most, took);
            least = took < least ? took : least;
        }
        settled = most == least;
    }
    return most;
}

static int64_t evaluate(const rk_program *program, const rk_pipeline *p, const int64_t *durations,
                        int64_t *ends)
{
    int64_t last = 0;
    ends[0] = 0;
    for (int64_t r = 0; r < program->ranks; r++) {
        ends[program->first[r] - 1] = 0;
    }
    run_step(program, p, durations, ends);
    if (p->rolls) {
        return roll(program, p, durations, ends);
    }
    for (int64_t r = 0; r < program->ranks; r++) {
        last = rk_later(last, ends[program->first[r + 1] - 2]);
    }
    return last;
}

/* One rank runs its microbatches one after the other. */
static int64_t alone_ticks(const rk_pipeline *p, const int64_t *durations, int64_t *room)
{
    (void)room;
    int64_t sum = 0;
    for (int64_t i = 0; i < p->chunks_per_rank; i++, durations += RK_STEP_KINDS) {
        sum += durations[RK_STEP_FORWARD] + durations[RK_STEP_BACKWARD];
    }
    return p->microbatches * sum;
}

rk_status rk_pipeline_makespan(rk_makespans *m, const rk_pipeline *p, double *seconds,
                               rk_error *err)
{
    const size_t durations = (size_t)(p->ranks * p->chunks_per_rank) * RK_STEP_KINDS;
    const rk_program *program;
    const rk_clock clock = rk_clock_of(p);
    if (!clock.finite) {
        *seconds = (double)INFINITY;
        return RK_OK;
    }
    rk_status status = make_room(&m->durations, &m->duration_room, durations, err);
    if (!status) {
        status = make_room(&m->ends, &m->end_room, (size_t)p->ranks * RK_TICKS_ROOM, err);
    }
    if (status) {
        return status;
    }
    fill_durations(p, clock, m->durations);
    const rk_schedule *schedule = rk_schedules[p->kind];
    if (schedule->pairs) {
        fill_pairs(p, clock, m->durations);
    }
    int64_t ticks = -1;
    if (p->ranks == 1 || schedule->ticks) {
        ticks = (p->ranks == 1 ? alone_ticks : schedule->ticks)(p, m->durations, m->ends);
    }
    if (ticks >= 0) {
        *seconds = rk_to_seconds(clock, ticks);
        return RK_OK;
    }
    status = find_program(m, p, &program, err);
    if (!status) {
        status = make_room(&m->ends, &m->end_room, (size_t)program->ends, err);
    }
    if (!status) {
        *seconds = rk_to_seconds(clock, evaluate(program, p, m->durations, m->ends));
    }
    return status;
}
