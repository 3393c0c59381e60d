/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules whose makespan, bubble and activations are known, and numbers that are refused. */
#include "pipelines.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-12

static void assert_near(double found, double expected, const struct sample *s)
{
    char text[160];
    if (fabs(found - expected) > TOLERANCE * (1 + fabs(expected))) {
        fail_msg("%s: %.17g instead of %.17g", describe(s, text), found, expected);
    }
}

/* Played and by closed form. */
static void assert_seconds(struct sample *s, double expected)
{
    assert_near(play(s, NULL, NULL), expected, s);
    assert_near(rk_pipeline_seconds(&s->pipeline), expected, s);
}

static void assert_in_flight(struct sample *s, const double *expected)
{
    const rk_pipeline *p = &s->pipeline;
    (void)play(s, NULL, NULL);
    for (int64_t r = 0; r < p->ranks; r++) {
        assert_near(s->in_flight[r], expected[r], s);
        assert_near(
            rk_pipeline_in_flight(p->kind, p->ranks, p->chunks_per_rank, p->microbatches, r),
            expected[r], s);
    }
}

/* F = 1 and B = 2 of a whole rank. */
static void fill_one_two(struct sample *s, rk_schedule_kind kind, int64_t p, int64_t v, int64_t m)
{
    fill_equal(s, kind, p, v, m, (rk_chunk_times){1.0 / (double)v, 2.0 / (double)v, 0});
}

static void test_four_ranks(void **state)
{
    static const struct {
        rk_schedule_kind kind;
        int64_t chunks;
        double seconds, in_flight[4];
    } cases[] = {
        {RK_SCHEDULE_GPIPE, 1, 33, {8, 8, 8, 8}},
        {RK_SCHEDULE_1F1B, 1, 33, {4, 3, 2, 1}},
        {RK_SCHEDULE_INTERLEAVED, 2, 28.5, {5.5, 4.5, 3.5, 2.5}},
        {RK_SCHEDULE_INTERLEAVED, 4, 26.25, {4.75, 4.25, 3.75, 3.25}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample s;
        fill_one_two(&s, cases[i].kind, 4, cases[i].chunks, 8);
        assert_seconds(&s, cases[i].seconds);
        assert_in_flight(&s, cases[i].in_flight);
        /* equal ranks idle equally: the bubble */
        for (int r = 0; r < 4; r++) {
            assert_near(s.idle[r], cases[i].seconds - 24, &s);
        }
    }
}

static void test_eight_ranks(void **state)
{
    struct sample s;
    (void)state;
    fill_one_two(&s, RK_SCHEDULE_1F1B, 8, 1, 16);
    assert_seconds(&s, 69);
    fill_one_two(&s, RK_SCHEDULE_INTERLEAVED, 8, 2, 16);
    assert_seconds(&s, 58.5);
    fill_one_two(&s, RK_SCHEDULE_INTERLEAVED, 8, 4, 16);
    assert_seconds(&s, 53.25);
}

static void test_zb_h1(void **state)
{
    struct sample s;
    (void)state;
    fill_equal(&s, RK_SCHEDULE_ZB_H1, 4, 1, 8, (rk_chunk_times){1, 1, 1});
    assert_seconds(&s, 27);
    assert_in_flight(&s, (const double[]){4, 4, 4, 4});
    fill_equal(&s, RK_SCHEDULE_ZB_H1, 8, 1, 24, (rk_chunk_times){1, 1.2, 0.8});
    assert_seconds(&s, 24 * 3 + 9.8);
}

/* First start and last end of each rank. */
/* The seconds of one of many steps. */
static double rolled(const struct sample *s)
{
    rk_makespans *makespans;
    rk_error err;
    double seconds = 0;
    assert_int_equal(rk_makespans_new(&makespans, &err), RK_OK);
    assert_int_equal(rk_pipeline_makespan(makespans, &s->pipeline, &seconds, &err), RK_OK);
    rk_makespans_free(makespans);
    return seconds;
}

struct spans {
    double first[8], last[8];
};

static void visit_span(void *user, const rk_op *op)
{
    struct spans *spans = user;
    spans->first[op->rank] = fmin(spans->first[op->rank], op->start);
    spans->last[op->rank] = fmax(spans->last[op->rank], op->end);
}

/* Twice the activations leave no wait within a rank; a barrier makes the span that of ZB-H1, and
 * without one a step takes the work of a rank (arXiv 2401.10241).
 */
static void test_zb_h2(void **state)
{
    struct sample s;
    struct spans spans = {{1e9, 1e9, 1e9, 1e9}, {0}};
    (void)state;
    fill_equal(&s, RK_SCHEDULE_ZB_H2, 4, 1, 8, (rk_chunk_times){1, 1, 1});
    assert_seconds(&s, 27);
    assert_in_flight(&s, (const double[]){7, 7, 7, 7});
    (void)play(&s, visit_span, &spans);
    for (int r = 0; r < 4; r++) {
        assert_near(spans.last[r] - spans.first[r], 24, &s);
    }
    fill_equal(&s, RK_SCHEDULE_ZB_H2, 8, 1, 24, (rk_chunk_times){1, 1.2, 0.8});
    assert_seconds(&s, 24 * 3 + 7);
    fill_equal(&s, RK_SCHEDULE_ZB_H2, 4, 1, 8, (rk_chunk_times){1, 1, 1});
    s.pipeline.rolls = true;
    assert_near(rolled(&s), 24, &s);
    /* the first rank of ZB-H1 and 1F1B waits within the step: nothing is gained */
    fill_equal(&s, RK_SCHEDULE_ZB_H1, 4, 1, 8, (rk_chunk_times){1, 1, 1});
    s.pipeline.rolls = true;
    assert_near(rolled(&s), 27, &s);
    fill_equal(&s, RK_SCHEDULE_1F1B, 4, 1, 8, (rk_chunk_times){1, 2, 0});
    s.pipeline.rolls = true;
    assert_near(rolled(&s), 33, &s);
}

static void test_zb_v(void **state)
{
    struct sample s;
    struct spans spans = {{1e9, 1e9, 1e9, 1e9}, {0}};
    (void)state;
    fill_equal(&s, RK_SCHEDULE_ZB_V, 4, 2, 8, (rk_chunk_times){10, 10, 10});
    assert_seconds(&s, 510);
    assert_in_flight(&s, (const double[]){4, 4, 4, 4});
    (void)play(&s, visit_span, &spans);
    for (int r = 0; r < 4; r++) { /* once started, a rank never waits */
        assert_near(spans.last[r] - spans.first[r], 480, &s);
    }
}

/*
 * What "Pipeline Parallelism with Controllable Memory" promises: at most (p + 2) / 2 and (p + 4) /
 * 3 microbatches, beside p of 1F1B.  With equal passes, V-Half waits about half as long as 1F1B,
 * V-Min two thirds.
 */
static void test_controllable_memory(void **state)
{
    (void)state;
    for (int64_t p = 1; p <= 32; p++) {
        const int64_t m = 3 * p;
        const double bubble = 6 * (double)(p - 1); /* of 1F1B, whose ranks do the same work */
        double waits[2];
        for (int i = 0; i < 2; i++) {
            struct sample s;
            fill_equal(&s, i ? RK_SCHEDULE_V_MIN : RK_SCHEDULE_V_HALF, p, 2, m,
                       (rk_chunk_times){1, 1, 1});
            waits[i] = play(&s, NULL, NULL) - 6 * (double)m;
            for (int64_t r = 0; r < p; r++) {
                const double most = i ? (double)(p + 4) / 3 : (double)(p + 2) / 2;
                assert_true(s.in_flight[r] <= ceil(most));
            }
        }
        if (p >= 8) {
            assert_true(waits[0] > 0.5 * bubble && waits[0] < 0.6 * bubble);
            assert_true(waits[1] > 0.6 * bubble && waits[1] < 0.7 * bubble);
        }
    }
}

static void test_dualpipe(void **state)
{
    struct sample s;
    double most = 0;
    (void)state;
    fill_equal(&s, RK_SCHEDULE_DUALPIPE, 8, 2, 20, (rk_chunk_times){1, 1, 1});
    s.pipeline.overlapped_pair = 3;
    assert_seconds(&s, 66);
    assert_in_flight(&s, (const double[]){9, 9, 9, 9, 9, 9, 9, 9});
    for (int r = 0; r < 8; r++) {
        assert_near(s.idle[r], 6, &s);
    }
    s.pipeline.overlapped_pair = 0; /* the sum of its parts: the same */
    assert_seconds(&s, 66);
    s.pipeline.overlapped_pair = 2.5;
    assert_near(rk_pipeline_seconds(&s.pipeline), play(&s, NULL, NULL), &s);
    for (int r = 0; r < 8; r++) {
        most = fmax(most, s.idle[r]);
    }
    assert_near(most, 4.5, &s);
    assert_near(s.idle[0], 3.5, &s);
    assert_near(s.idle[7], 3.5, &s);
}

/* Groups of microbatches that do not fill the ranks: no closed form, but the play is right. */
static void test_interleaved_remainder(void **state)
{
    static const double bubbles[] = {4.5, 9.0, 9.5, 5.5, 4.5, 10.0, 9.5};
    (void)state;
    for (int64_t m = 4; m <= 10; m++) {
        struct sample s;
        fill_one_two(&s, RK_SCHEDULE_INTERLEAVED, 4, 2, m);
        assert_near(play(&s, NULL, NULL) - 3 * (double)m, bubbles[m - 4], &s);
        assert_int_equal(rk_pipeline_check(&s.pipeline, NULL) == RK_OK, m % 4 == 0);
    }
}

/* Remainders may leave ranks waiting for one another, which is said, not hung on. */
static void test_interleaved_deadlock(void **state)
{
    static const int64_t stuck[] = {5, 9, 13};
    size_t found = 0;
    (void)state;
    for (int64_t m = 1; m <= 13; m++) {
        struct sample s;
        rk_error err = {0};
        rk_pipeline_result result = {.idle = s.idle, .in_flight = s.in_flight};
        fill_one_two(&s, RK_SCHEDULE_INTERLEAVED, 4, 3, m);
        if (rk_pipeline_play(&s.pipeline, &result, NULL, NULL, &err) == RK_OK) {
            continue;
        }
        assert_int_equal(err.code, RK_ERR_INVALID);
        assert_non_null(strstr(err.message, "multiple of 4 microbatches"));
        assert_true(found < 3);
        assert_int_equal(m, stuck[found++]);
    }
    assert_int_equal(found, 3);
}

static void test_names(void **state)
{
    int count = 0;
    (void)state;
    while (rk_schedule_names[count]) {
        count++;
    }
    assert_int_equal(count, RK_SCHEDULE_KIND_COUNT);
    assert_string_equal(rk_schedule_names[RK_SCHEDULE_1F1B], "1f1b");
    assert_string_equal(rk_schedule_names[RK_SCHEDULE_DUALPIPE], "dualpipe");
}

static void test_refused(void **state)
{
    static const struct {
        rk_schedule_kind kind;
        int64_t p, v, m;
        const char *says; /* part of the message */
        bool played;      /* the order exists none the less */
    } cases[] = {
        {RK_SCHEDULE_INTERLEAVED, 4, 2, 6,
         "interleaved on 4 ranks needs a multiple of 4 microbatches, not 6; nearest are 4 and 8",
         true},
        {RK_SCHEDULE_INTERLEAVED, 4, 2, 3,
         "interleaved on 4 ranks needs at least 4 microbatches, not 3", true},
        {RK_SCHEDULE_INTERLEAVED, 4, 1, 8, "interleaved needs 2 chunks per rank, not 1", false},
        {RK_SCHEDULE_1F1B, 4, 2, 8, "1f1b has 1 chunks per rank at most, not 2", false},
        {RK_SCHEDULE_ZB_H2, 4, 1, 6, "zb-h2 on 4 ranks needs at least 7 microbatches, not 6", true},
        {RK_SCHEDULE_ZB_H2, 4, 2, 8, "zb-h2 has 1 chunks per rank at most, not 2", false},
        {RK_SCHEDULE_ZB_V, 4, 2, 6, "zb-v on 4 ranks needs at least 7 microbatches, not 6", true},
        {RK_SCHEDULE_ZB_V, 4, 1, 8, "zb-v needs 2 chunks per rank, not 1", false},
        {RK_SCHEDULE_V_HALF, 4, 2, 5, "v-half on 4 ranks needs at least 6 microbatches, not 5",
         true},
        {RK_SCHEDULE_V_MIN, 4, 1, 8, "v-min needs 2 chunks per rank, not 1", false},
        {RK_SCHEDULE_DUALPIPE, 3, 2, 8, "dualpipe needs a multiple of 2 ranks, not 3", false},
        {RK_SCHEDULE_DUALPIPE, 4, 2, 6, "dualpipe on 4 ranks needs at least 8 microbatches, not 6",
         false},
        {RK_SCHEDULE_DUALPIPE, 4, 2, 11,
         "dualpipe on 4 ranks needs a multiple of 2 microbatches, not 11; nearest are 10 and 12",
         false},
        {RK_SCHEDULE_GPIPE, 0, 1, 8,
         "0 ranks, 1 chunks per rank and 8 microbatches: each must be from 1 to 536870911", false},
        {RK_SCHEDULE_GPIPE, 4, 1, 0,
         "4 ranks, 1 chunks per rank and 0 microbatches: each must be from 1 to 536870911", false},
        {RK_SCHEDULE_KIND_COUNT, 4, 1, 8, " is no schedule", false},
        {(rk_schedule_kind)-1, 4, 1, 8, "-1 is no schedule", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample s;
        rk_error err = {0};
        rk_pipeline_result result = {0};
        fill_one_two(&s, cases[i].kind, cases[i].p, cases[i].v, cases[i].m);
        assert_int_equal(rk_pipeline_check(&s.pipeline, &err), RK_ERR_INVALID);
        assert_int_equal(err.code, RK_ERR_INVALID);
        if (!strstr(err.message, cases[i].says)) {
            fail_msg("\"%s\" does not say \"%s\"", err.message, cases[i].says);
        }
        assert_int_equal(rk_pipeline_play(&s.pipeline, &result, NULL, NULL, NULL) == RK_OK,
                         cases[i].played);
    }
}

static void test_refused_times(void **state)
{
    struct sample s;
    rk_pipeline_result result = {0};
    (void)state;
    fill_one_two(&s, RK_SCHEDULE_1F1B, 4, 1, 8);
    s.chunks[2].forward = -1;
    assert_int_equal(rk_pipeline_check(&s.pipeline, NULL), RK_ERR_INVALID);
    s.chunks[2].forward = (double)NAN;
    assert_int_equal(rk_pipeline_check(&s.pipeline, NULL), RK_ERR_INVALID);
    s.chunks[2].forward = (double)INFINITY;
    assert_int_equal(rk_pipeline_play(&s.pipeline, &result, NULL, NULL, NULL), RK_ERR_INVALID);
    s.chunks[2].forward = 1;
    assert_int_equal(rk_pipeline_check(&s.pipeline, NULL), RK_OK);
    s.pipeline.send_seconds = -1;
    assert_int_equal(rk_pipeline_check(&s.pipeline, NULL), RK_ERR_INVALID);
    fill_equal(&s, RK_SCHEDULE_DUALPIPE, 4, 2, 8, (rk_chunk_times){1, 1, 1});
    s.pipeline.overlapped_pair = 1.5; /* shorter than the backward in it */
    assert_int_equal(rk_pipeline_check(&s.pipeline, NULL), RK_ERR_INVALID);
}

static void test_too_many_steps(void **state)
{
    struct sample s;
    rk_pipeline_result result = {0};
    (void)state;
    fill_one_two(&s, RK_SCHEDULE_1F1B, 4, 1, INT32_MAX / 8);
    assert_int_equal(rk_pipeline_play(&s.pipeline, &result, NULL, NULL, NULL), RK_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_ranks),
        cmocka_unit_test(test_eight_ranks),
        cmocka_unit_test(test_zb_h1),
        cmocka_unit_test(test_zb_h2),
        cmocka_unit_test(test_zb_v),
        cmocka_unit_test(test_controllable_memory),
        cmocka_unit_test(test_dualpipe),
        cmocka_unit_test(test_interleaved_remainder),
        cmocka_unit_test(test_interleaved_deadlock),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_times),
        cmocka_unit_test(test_too_many_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
