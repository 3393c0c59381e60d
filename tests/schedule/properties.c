/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random pipelines: closed forms against the play, and the play against a checker that knows the
 * schedules only by their rules.
 */
#include "pipelines.h"

#include "schedule/rank_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 400

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-10 * (fabs(a) + fabs(b) + 1e-3);
}

/* ---- the checker --------------------------------------------------------------------------- */

#define OPS_MAX 65536

struct log {
    rk_op ops[OPS_MAX];
    size_t count;
};

static void visit_log(void *user, const rk_op *op)
{
    struct log *log = user;
    assert_true(log->count < OPS_MAX);
    log->ops[log->count++] = *op;
}

/* The operation, or NULL. */
static const rk_op *find(const struct log *log, rk_op_kind kind, int64_t rank, int64_t chunk,
                         int64_t microbatch)
{
    for (size_t i = 0; i < log->count; i++) {
        const rk_op *op = &log->ops[i];
        if (op->kind == kind && op->rank == rank && op->chunk == chunk &&
            op->microbatch == microbatch) {
            return op;
        }
    }
    return NULL;
}

/* Two chunks per rank, the second on the way back. */
static bool is_v(rk_schedule_kind kind)
{
    return kind == RK_SCHEDULE_ZB_V || kind == RK_SCHEDULE_V_HALF || kind == RK_SCHEDULE_V_MIN;
}

/* The ranks and chunks a microbatch passes, first to last; returns their number. */
static int64_t route_of(const rk_pipeline *p, int64_t microbatch, int64_t *ranks, int64_t *chunks)
{
    const bool back = p->kind == RK_SCHEDULE_DUALPIPE && microbatch >= p->microbatches / 2;
    const int64_t rounds = p->kind == RK_SCHEDULE_DUALPIPE ? 1 : p->chunks_per_rank;
    int64_t count = 0;
    for (int64_t round = 0; round < rounds; round++) {
        const bool turned = back || (is_v(p->kind) && round == 1);
        for (int64_t i = 0; i < p->ranks; i++) {
            ranks[count] = turned ? p->ranks - 1 - i : i;
            chunks[count++] = back ? 1 : round;
        }
    }
    return count;
}

/* Earliest start that the inputs of one microbatch allow; fails when an operation is missing. */
static void check_route(const struct sample *s, const struct log *log, int64_t microbatch,
                        double *allowed)
{
    const rk_pipeline *p = &s->pipeline;
    const bool splits =
        is_v(p->kind) || p->kind == RK_SCHEDULE_ZB_H1 || p->kind == RK_SCHEDULE_ZB_H2;
    int64_t ranks[CHUNKS_MAX], chunks[CHUNKS_MAX];
    const int64_t count = route_of(p, microbatch, ranks, chunks);
    double arrived = 0;
    for (int64_t leg = 0; leg < 2 * count; leg++) {
        const int64_t i = leg < count ? leg : 2 * count - 1 - leg;
        const rk_op_kind kind = leg < count ? RK_OP_FORWARD : RK_OP_BACKWARD;
        const rk_op *op = find(log, kind, ranks[i], chunks[i], microbatch);
        assert_non_null(op);
        allowed[op - log->ops] = arrived;
        arrived = op->end;
        const int64_t next = leg + 1 < count ? leg + 1 : 2 * count - 2 - leg;
        if (leg + 1 < 2 * count && ranks[next] != ranks[i]) {
            arrived += p->send_seconds;
        }
        if (kind == RK_OP_BACKWARD) {
            const rk_op *weight = find(log, RK_OP_WEIGHT, ranks[i], chunks[i], microbatch);
            assert_true(p->kind == RK_SCHEDULE_DUALPIPE || (weight != NULL) == splits);
            if (weight) {
                allowed[weight - log->ops] = op->end;
            }
        }
    }
}

static bool is_pair(const rk_op *a, const rk_op *b)
{
    return a->kind == RK_OP_FORWARD && b->kind == RK_OP_BACKWARD && a->start == b->start &&
           a->end == b->end && a->chunk != b->chunk;
}

static double time_of(const struct sample *s, const struct log *log, const rk_op *op)
{
    const rk_chunk_times *t = &s->chunks[op->rank * s->pipeline.chunks_per_rank + op->chunk];
    switch (op->kind) {
    case RK_OP_FORWARD:
        return t->forward;
    case RK_OP_WEIGHT:
        return t->weight;
    default:
        return find(log, RK_OP_WEIGHT, op->rank, op->chunk, op->microbatch)
                   ? t->backward
                   : t->backward + t->weight;
    }
}

/* Whether an operation has a message for another rank, which keeps its sender. */
static bool sends(const rk_pipeline *p, const rk_op *op)
{
    return op->kind != RK_OP_WEIGHT &&
           rk_chunk_sends(p, op->rank, op->chunk, op->kind == RK_OP_FORWARD ? 1 : -1);
}

/* One rank: no overlap, no needless wait, right durations; idle and activations as reported. */
static void check_rank(const struct sample *s, const struct log *log, const double *allowed,
                       int64_t rank, double seconds)
{
    const rk_pipeline *p = &s->pipeline;
    double free_at = 0, busy = 0;
    int64_t kept = 0, peak = 0;
    const rk_op *previous = NULL;
    for (size_t i = 0; i < log->count; i++) {
        const rk_op *op = &log->ops[i];
        if (op->rank != rank) {
            continue;
        }
        const bool paired = p->kind == RK_SCHEDULE_DUALPIPE && previous && is_pair(previous, op);
        const rk_op *after = i + 1 < log->count ? op + 1 : NULL;
        const bool pairs =
            p->kind == RK_SCHEDULE_DUALPIPE && after && after->rank == rank && is_pair(op, after);
        assert_true(op->end <= seconds);
        assert_true(op->start >= allowed[i] * (1 - 1e-12));
        kept += op->kind == RK_OP_FORWARD;
        peak = kept > peak ? kept : peak;
        kept -=
            op->kind == RK_OP_WEIGHT || (op->kind == RK_OP_BACKWARD &&
                                         !find(log, RK_OP_WEIGHT, rank, op->chunk, op->microbatch));
        if (!paired) {
            const double needs = pairs ? fmax(allowed[i], allowed[i + 1]) : allowed[i];
            const double sum = time_of(s, log, op) + (pairs ? time_of(s, log, after) : 0);
            const double wanted = pairs && p->overlapped_pair > 0 ? p->overlapped_pair : sum;
            assert_true(near(op->start, fmax(free_at, needs))); /* messages count in ticks */
            assert_true(near(op->end - op->start, wanted));
            busy += op->end - op->start;
            free_at = op->end + (sends(p, op) || (pairs && sends(p, after)) ? p->send_seconds : 0);
        }
        previous = op;
    }
    const double whole = p->kind == RK_SCHEDULE_DUALPIPE ? 1 : (double)p->chunks_per_rank;
    assert_int_equal(kept, 0);
    assert_true(near(s->idle[rank] + busy, seconds));
    assert_true(s->in_flight[rank] == (double)peak / whole);
}

static void check_play(struct sample *s)
{
    const rk_pipeline *p = &s->pipeline;
    struct log *log = calloc(1, sizeof(*log));
    double *allowed = calloc(OPS_MAX, sizeof(*allowed));
    char text[160];
    assert_non_null(log);
    assert_non_null(allowed);
    const double seconds = play(s, visit_log, log);
    size_t forwards = 0, backwards = 0;
    for (size_t i = 0; i < log->count; i++) {
        forwards += log->ops[i].kind == RK_OP_FORWARD;
        backwards += log->ops[i].kind == RK_OP_BACKWARD;
        allowed[i] = (double)NAN; /* an operation on no route fails its comparison */
    }
    const int64_t legs = p->kind == RK_SCHEDULE_DUALPIPE ? p->ranks : p->ranks * p->chunks_per_rank;
    if ((int64_t)forwards != legs * p->microbatches || backwards != forwards) {
        fail_msg("%s: %zu forwards, %zu backwards", describe(s, text), forwards, backwards);
    }
    for (int64_t i = 0; i < p->microbatches; i++) {
        check_route(s, log, i, allowed);
    }
    for (int64_t r = 0; r < p->ranks; r++) {
        check_rank(s, log, allowed, r, seconds);
    }
    free(allowed);
    free(log);
}

static void test_play_keeps_the_rules(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int kind = 0; kind < RK_SCHEDULE_KIND_COUNT; kind++) {
        for (int i = 0; i < 25; i++) {
            struct sample s;
            fill_random(&s, (rk_schedule_kind)kind, &seed);
            make_uneven(&s, 0.5, &seed);
            s.pipeline.overlapped_pair *= 2; /* still at least its longer half */
            if (i % 2) {
                s.pipeline.send_seconds = random_real(&seed, 0, 0.5);
            }
            check_play(&s);
        }
    }
}

/* ---- closed forms -------------------------------------------------------------------------- */

static void test_equal_stages(void **state)
{
    uint64_t seed = 1;
    char text[160];
    (void)state;
    for (int i = 0; i < SAMPLES * RK_SCHEDULE_KIND_COUNT; i++) {
        struct sample s;
        fill_random(&s, (rk_schedule_kind)(i % RK_SCHEDULE_KIND_COUNT), &seed);
        assert_int_equal(rk_pipeline_check(&s.pipeline, NULL), RK_OK);
        const double played = play(&s, NULL, NULL), closed = rk_pipeline_seconds(&s.pipeline);
        if (rk_schedules[s.pipeline.kind]->closed ? !near(played, closed)
                                                  : closed > played * (1 + 1e-12)) {
            fail_msg("%s: played %.17g, closed %.17g", describe(&s, text), played, closed);
        }
    }
}

static void test_in_flight(void **state)
{
    uint64_t seed = 2;
    char text[160];
    (void)state;
    for (int i = 0; i < SAMPLES * RK_SCHEDULE_KIND_COUNT; i++) {
        struct sample s;
        fill_random(&s, (rk_schedule_kind)(i % RK_SCHEDULE_KIND_COUNT), &seed);
        make_uneven(&s, 0.3, &seed); /* the peak depends on the order alone */
        s.pipeline.overlapped_pair *= 2;
        (void)play(&s, NULL, NULL);
        const rk_pipeline *p = &s.pipeline;
        for (int64_t r = 0; r < p->ranks; r++) {
            const double closed =
                rk_pipeline_in_flight(p->kind, p->ranks, p->chunks_per_rank, p->microbatches, r);
            if (s.in_flight[r] != closed) {
                fail_msg("%s rank %d: played %g, closed %g", describe(&s, text), (int)r,
                         s.in_flight[r], closed);
            }
        }
    }
}

/* Relative error of the closed form. */
static double error_of(struct sample *s)
{
    return rk_pipeline_seconds(&s->pipeline) / play(s, NULL, NULL) - 1;
}

/* The bounds stated for random stages, with `rounds` times p microbatches. */
static void test_uneven_stages(void **state)
{
    static const struct {
        rk_schedule_kind kind;
        int64_t chunks, rounds;
        double spread, low, high;
    } cases[] = {
        {RK_SCHEDULE_GPIPE, 1, 2, 0.25, -1e-12, 1e-12},
        {RK_SCHEDULE_1F1B, 1, 2, 0.25, -1e-12, 0.10},
        {RK_SCHEDULE_1F1B, 1, 8, 0.25, -1e-12, 0.023},
        {RK_SCHEDULE_INTERLEAVED, 2, 4, 0.10, -0.015, 0.06},
        {RK_SCHEDULE_INTERLEAVED, 4, 4, 0.10, -0.015, 0.06},
        {RK_SCHEDULE_ZB_H1, 1, 4, 0.10, -0.02, 0.02},
        {RK_SCHEDULE_ZB_H2, 1, 4, 0.10, -0.03, 0.03},
        {RK_SCHEDULE_ZB_V, 2, 4, 0.10, -0.03, 0.03},
        {RK_SCHEDULE_DUALPIPE, 2, 4, 0.10, -0.02, 0.05},
    };
    uint64_t seed = 3;
    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        double low = 1, high = -1;
        for (int i = 0; i < SAMPLES; i++) {
            const int64_t p = 2 * random_int(&seed, 2, 4);
            struct sample s;
            fill_equal(&s, cases[c].kind, p, cases[c].chunks, cases[c].rounds * p,
                       (rk_chunk_times){1, 1.1, 0.9});
            make_uneven(&s, cases[c].spread, &seed);
            const double error = error_of(&s);
            low = fmin(low, error);
            high = fmax(high, error);
        }
        print_message("%s x %d: closed form off by %+.2f%% to %+.2f%%\n",
                      rk_schedule_names[cases[c].kind], (int)cases[c].rounds, 100 * low,
                      100 * high);
        assert_true(low >= cases[c].low);
        assert_true(high <= cases[c].high);
    }
}

/* A pipeline whose last stage holds the head. */
static void test_slowest_last(void **state)
{
    uint64_t seed = 4;
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        struct sample s;
        fill_random(&s, RK_SCHEDULE_1F1B, &seed);
        make_uneven(&s, 0.2, &seed);
        rk_chunk_times *last = &s.chunks[s.pipeline.ranks - 1];
        last->forward = 1.5 * last->forward + 2;
        last->backward = 1.5 * last->backward + 3;
        assert_true(fabs(error_of(&s)) < 1e-12);
    }
}

/* Stages that differ by half: 1F1B takes no longer than the closed form, and not much less. */
static void test_1f1b_bound(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (int i = 0; i < 4 * SAMPLES; i++) {
        struct sample s;
        fill_random(&s, RK_SCHEDULE_1F1B, &seed);
        make_uneven(&s, 0.5, &seed);
        const double error = error_of(&s);
        assert_true(error >= -1e-12);
        assert_true(error <=
                    (double)(s.pipeline.ranks - 1) / (double)s.pipeline.microbatches + 1e-12);
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

/* A blocking message costs its sender: the closed form counts it as work. */
static void test_blocking_messages(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        struct sample s, longer;
        fill_random(&s, RK_SCHEDULE_1F1B, &seed);
        const int64_t p = s.pipeline.ranks;
        s.pipeline.send_seconds = random_real(&seed, 0, 0.3);
        longer = s;
        longer.pipeline.chunks = longer.chunks;
        longer.pipeline.send_seconds = 0;
        for (int64_t r = 0; r < p; r++) {
            longer.chunks[r].forward += r < p - 1 ? s.pipeline.send_seconds : 0;
            longer.chunks[r].backward += r > 0 ? s.pipeline.send_seconds : 0;
        }
        assert_true(near(play(&s, NULL, NULL), play(&longer, NULL, NULL)));
        assert_true(near(rk_pipeline_seconds(&s.pipeline), rk_pipeline_seconds(&longer.pipeline)));
    }
}

/* ---- makespans and bounds -------------------------------------------------------------------- */

/*
 * Any legal pipeline: few microbatches and many, stages that are equal, equal but for the ends, a
 * little uneven and very uneven, with and without messages.
 */
static void fill_any(struct sample *s, rk_schedule_kind kind, uint64_t *seed)
{
    fill_random(s, kind, seed);
    rk_pipeline *p = &s->pipeline;
    const int64_t count = p->ranks * p->chunks_per_rank;
    static const double spreads[] = {0, 0, 0.02, 0.3, 1};
    const int64_t mode = random_int(seed, 0, 4);
    if (random_int(seed, 0, 3) == 0) {
        const rk_schedule_needs needs = rk_schedule_needs_of(kind, p->ranks);
        p->microbatches += random_int(seed, 0, 200) * needs.microbatch_multiple;
    }
    make_uneven(s, spreads[mode], seed);
    if (mode == 1 && kind != RK_SCHEDULE_DUALPIPE) {
        s->chunks[0].forward *= random_real(seed, 0, 2);
        s->chunks[0].backward *= random_real(seed, 0, 2);
        s->chunks[count - 1].forward *= random_real(seed, 0.99, 1.5);
    }
    p->overlapped_pair *= mode == 0 ? 1 : 6; /* at least the longer half */
    p->send_seconds = random_int(seed, 0, 1) ? random_real(seed, 0, 0.5) : 0;
}

/* Rounds that are skipped change no bit of the makespan. */
static void test_makespans(void **state)
{
    uint64_t seed = 8;
    char text[160];
    rk_makespans *makespans;
    rk_error err;
    (void)state;
    assert_int_equal(rk_makespans_new(&makespans, &err), RK_OK);
    for (int i = 0; i < 30000; i++) {
        struct sample s;
        double seconds = 0;
        fill_any(&s, (rk_schedule_kind)(i % RK_SCHEDULE_KIND_COUNT), &seed);
        const double played = play(&s, NULL, NULL);
        assert_int_equal(rk_pipeline_makespan(makespans, &s.pipeline, &seconds, &err), RK_OK);
        if (memcmp(&seconds, &played, sizeof(played)) != 0) {
            fail_msg("%s: played %.17g, makespan %.17g", describe(&s, text), played, seconds);
        }
    }
    rk_makespans_free(makespans);
}

/*
 * Steps without a barrier: never longer than with one, nor shorter than the work of a rank and the
 * bound; of equal stages as the closed form says.
 */
static void test_rolling(void **state)
{
    uint64_t seed = 11;
    char text[160];
    rk_makespans *makespans;
    rk_error err;
    double gain = 0;
    (void)state;
    assert_int_equal(rk_makespans_new(&makespans, &err), RK_OK);
    for (int i = 0; i < 20000; i++) {
        struct sample s;
        double barrier = 0, seconds = 0;
        if (i % 2) {
            fill_random(&s, RK_SCHEDULE_ZB_H2, &seed);
        } else {
            fill_any(&s, RK_SCHEDULE_ZB_H2, &seed);
        }
        assert_int_equal(rk_pipeline_makespan(makespans, &s.pipeline, &barrier, &err), RK_OK);
        s.pipeline.rolls = true;
        assert_int_equal(rk_pipeline_makespan(makespans, &s.pipeline, &seconds, &err), RK_OK);
        const double closed = rk_pipeline_seconds(&s.pipeline);
        assert_true(play(&s, NULL, NULL) == seconds);
        if (seconds > barrier * (1 + 1e-11) ||
            rk_pipeline_bound(&s.pipeline) > seconds * (1 + 1e-11) ||
            (i % 2 && !near(closed, seconds))) {
            fail_msg("%s: rolling %.17g, closed %.17g, with a barrier %.17g", describe(&s, text),
                     seconds, closed, barrier);
        }
        gain = fmax(gain, barrier / seconds - 1);
    }
    assert_true(gain > 0.2);
    rk_makespans_free(makespans);
}

/* Orders that are not of whole groups have makespans too, or none where ranks wait for ever. */
static void test_odd_microbatches(void **state)
{
    uint64_t seed = 9;
    rk_makespans *makespans;
    rk_error err;
    int ends = 0, waits = 0;
    (void)state;
    assert_int_equal(rk_makespans_new(&makespans, &err), RK_OK);
    for (int i = 0; i < 2000; i++) {
        struct sample s;
        double seconds = 0;
        fill_any(&s, i % 2 ? RK_SCHEDULE_INTERLEAVED : RK_SCHEDULE_ZB_V, &seed);
        s.pipeline.microbatches = random_int(&seed, 1, 4 * s.pipeline.ranks);
        rk_pipeline_result result = {0};
        const rk_status played = rk_pipeline_play(&s.pipeline, &result, NULL, NULL, &err);
        assert_int_equal(rk_pipeline_makespan(makespans, &s.pipeline, &seconds, &err), played);
        assert_true(played || seconds == result.seconds);
        ends += played == RK_OK;
        waits += played != RK_OK;
    }
    assert_true(ends > 100 && waits > 100);
    rk_makespans_free(makespans);
}

/* The bound is one, and what equal stages of the usual schedules take. */
static void test_bounds(void **state)
{
    uint64_t seed = 10;
    char text[160];
    double most[RK_SCHEDULE_KIND_COUNT] = {0};
    const int64_t first_ranks[CHUNKS_MAX] = {0};
    (void)state;
    for (int i = 0; i < 70000; i++) {
        struct sample s;
        const rk_schedule_kind kind = (rk_schedule_kind)(i % RK_SCHEDULE_KIND_COUNT);
        fill_any(&s, kind, &seed);
        const double played = play(&s, NULL, NULL), bound = rk_pipeline_bound(&s.pipeline);
        if (bound > played * (1 + 1e-11)) {
            fail_msg("%s: played %.17g, bound %.17g", describe(&s, text), played, bound);
        }
        most[kind] = fmax(most[kind], played / bound);
        fill_random(&s, kind, &seed);
        rk_pipeline alike = s.pipeline; /* all ranks are */
        alike.alike = first_ranks;
        assert_true(rk_pipeline_bound(&alike) <= rk_pipeline_bound(&s.pipeline) * (1 + 1e-11));
        if (kind <= RK_SCHEDULE_INTERLEAVED) {
            assert_true(near(rk_pipeline_bound(&s.pipeline), play(&s, NULL, NULL)));
            assert_true(near(rk_pipeline_bound(&alike), play(&s, NULL, NULL)));
        }
    }
    for (int i = 0; i < RK_SCHEDULE_KIND_COUNT; i++) {
        print_message("%s: up to %.3f of its bound\n", rk_schedule_names[i], most[i]);
    }
}

/* Messages that hold their senders add at least the sends of the longest path without them. */
static void test_least_sends(void **state)
{
    uint64_t seed = 12;
    char text[160];
    double most = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct sample s;
        fill_any(&s, (rk_schedule_kind)(i % RK_SCHEDULE_KIND_COUNT), &seed);
        const double send = s.pipeline.send_seconds = random_real(&seed, 0, 0.5);
        const double with = play(&s, NULL, NULL);
        s.pipeline.send_seconds = 0;
        const double without = play(&s, NULL, NULL);
        const double least = rk_pipeline_least_sends(&s.pipeline, without) * send;
        if (least > 0 && least > with - without) {
            fail_msg("%s: %.17g more, at least %.17g", describe(&s, text), with - without, least);
        }
        most = fmax(most, least > 0 ? least / (with - without) : 0);
    }
    assert_true(most > 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_play_keeps_the_rules),
        cmocka_unit_test(test_equal_stages),
        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_uneven_stages),
        cmocka_unit_test(test_slowest_last),
        cmocka_unit_test(test_1f1b_bound),
        cmocka_unit_test(test_blocking_messages),
        cmocka_unit_test(test_makespans),
        cmocka_unit_test(test_rolling),
        cmocka_unit_test(test_odd_microbatches),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_least_sends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
