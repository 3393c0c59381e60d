/* SPDX-License-Identifier: Apache-2.0 */
/* Every algorithm computes its collective, and its closed form is what its messages take. */
#include "collective/algorithm.h"

#include "check.h"
#include "system/system.h"

#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 40

/* ---- what ranks hold ----------------------------------------------------------------------- */

/* Of every block of every rank: whose contributions it has added up, a bit per rank; 0: nothing. */
struct data {
    const rk_collective_job *job;
    int32_t blocks, round;
    uint64_t *now, *before; /* (ranks + 1) x blocks; a switch is the last rank */
};

static uint64_t *at(const struct data *d, uint64_t *of, int32_t rank, int32_t block)
{
    return &of[(size_t)rank * (size_t)d->blocks + (size_t)block];
}

static void deliver(void *user, const rk_collective_message *m)
{
    struct data *d = user;
    const size_t size = (size_t)(d->job->ranks + 1) * (size_t)d->blocks * sizeof(*d->now);
    assert_true(m->round == d->round || m->round == d->round + 1);
    if (m->round != d->round) {
        memcpy(d->before, d->now, size);
        d->round = m->round;
    }
    for (int32_t i = 0; i < m->blocks; i++) {
        const int32_t block = (m->first_block + i) % d->blocks;
        /* a switch forwards what arrives in the same round */
        uint64_t *source = at(d, m->source == d->job->ranks ? d->now : d->before, m->source, block);
        uint64_t *target = at(d, d->now, m->target, block);
        assert_true(*source != 0);
        if (m->reduces) {
            assert_true((*source & *target) == 0); /* nothing is added twice */
            *target |= *source;
        } else {
            *target = *source;
        }
    }
}

/* Contribution of a block of a rank before the collective. */
static uint64_t given(const rk_collective_job *job, int32_t blocks, int32_t rank, int32_t block)
{
    const uint64_t own = UINT64_C(1) << rank;
    switch (job->op) {
    case RK_COLL_ALL_TO_ALL:
        return block / job->ranks == rank ? own : 0;
    case RK_COLL_ALL_GATHER:
    case RK_COLL_GATHER:
        return blocks == job->ranks && block == rank ? own : 0;
    case RK_COLL_BROADCAST:
    case RK_COLL_SCATTER:
        return rank == 0 ? own : 0;
    default:
        return own;
    }
}

/* What it has to be afterwards; 0: anything. */
static uint64_t wanted(const rk_collective_job *job, int32_t rank, int32_t block)
{
    const uint64_t all = (UINT64_C(1) << job->ranks) - 1;
    switch (job->op) {
    case RK_COLL_ALL_TO_ALL:
        return block % job->ranks == rank ? UINT64_C(1) << block / job->ranks : 0;
    case RK_COLL_ALL_GATHER:
        return UINT64_C(1) << block;
    case RK_COLL_GATHER:
        return rank == 0 ? UINT64_C(1) << block : 0;
    case RK_COLL_BROADCAST:
        return 1;
    case RK_COLL_SCATTER:
        return block == rank ? 1 : 0;
    case RK_COLL_ALL_REDUCE:
        return all;
    case RK_COLL_REDUCE_SCATTER:
        return block == rank ? all : 0;
    default:
        return rank == 0 ? all : 0;
    }
}

static void check_data(const rk_algorithm *algorithm, const rk_collective_job *job)
{
    struct data d = {.job = job, .blocks = algorithm->blocks(job)};
    const size_t count = (size_t)(job->ranks + 1) * (size_t)d.blocks;
    d.now = calloc(count, sizeof(*d.now));
    d.before = calloc(count, sizeof(*d.before));
    assert_non_null(d.now);
    assert_non_null(d.before);
    for (int32_t rank = 0; rank < job->ranks; rank++) {
        for (int32_t block = 0; block < d.blocks; block++) {
            *at(&d, d.now, rank, block) = given(job, d.blocks, rank, block);
        }
    }
    memcpy(d.before, d.now, count * sizeof(*d.now));
    algorithm->send(job, deliver, &d);
    for (int32_t rank = 0; rank < job->ranks; rank++) {
        for (int32_t block = 0; block < d.blocks; block++) {
            const uint64_t want = wanted(job, rank, block);
            if (want && *at(&d, d.now, rank, block) != want) {
                fail_msg("%s, %s of %d ranks: rank %d has %llx of block %d", algorithm->name,
                         rk_collective_names[job->op], job->ranks, rank,
                         (unsigned long long)*at(&d, d.now, rank, block), block);
            }
        }
    }
    free(d.now);
    free(d.before);
}

/* Calls `check` for every algorithm, collective and number of ranks. */
static void for_all(void (*check)(const rk_algorithm *algorithm, const rk_collective_job *job))
{
    for (size_t i = 0; rk_algorithms[i]; i++) {
        for (int op = 0; op < RK_COLL_COUNT; op++) {
            for (int32_t ranks = 2; ranks <= RANKS_MAX; ranks++) {
                if (rk_algorithm_runs(rk_algorithms[i], (rk_collective)op, ranks)) {
                    check(rk_algorithms[i], &(rk_collective_job){.op = (rk_collective)op,
                                                                 .ranks = ranks,
                                                                 .bytes = 3e6 + 1e5 * ranks,
                                                                 .chunks = 1 + ranks % 5});
                }
            }
        }
    }
}

static void test_data(void **state)
{
    (void)state;
    for_all(check_data);
}

/* ---- what it takes ------------------------------------------------------------------------- */

static void check_seconds(const rk_algorithm *algorithm, const rk_collective_job *job)
{
    const double gamma = 1.3e-12 * (1 + job->ranks % 3);
    const rk_link link = {.bandwidth = 1e9 * (7 + job->ranks), .latency = 1e-6 * (1 + job->ranks)};
    const rk_topology topology = {
        .kind = algorithm->mesh ? RK_TOPOLOGY_MESH : RK_TOPOLOGY_SWITCH,
        .ranks = job->ranks,
        .bandwidth = link.bandwidth,
        .latency = link.latency,
    };
    rk_replay replay;
    rk_error err;
    assert_int_equal(rk_algorithm_replay(algorithm, job, &topology, 0, NULL, &replay, &err), RK_OK);
    const double seconds = closed_seconds(algorithm, job, &link, 0);
    if (fabs(replay.seconds - seconds) > 1e-12 * seconds) {
        fail_msg("%s, %s of %d ranks: %.17g s, its messages take %.17g", algorithm->name,
                 rk_collective_names[job->op], job->ranks, seconds, replay.seconds);
    }
    assert_int_equal(rk_algorithm_replay(algorithm, job, &topology, gamma, NULL, &replay, &err),
                     RK_OK);
    const double adding = closed_seconds(algorithm, job, &link, gamma);
    /* what a switch adds takes ranks no time */
    if (algorithm != &rk_algorithm_in_network && fabs(replay.seconds - adding) > 1e-12 * adding) {
        fail_msg("%s, %s of %d ranks, adding: %.17g s, its messages take %.17g", algorithm->name,
                 rk_collective_names[job->op], job->ranks, adding, replay.seconds);
    }
}

static void test_seconds(void **state)
{
    (void)state;
    for_all(check_seconds);
}

/* ---- known numbers ------------------------------------------------------------------------- */

static double seconds_of(const char *name, rk_collective op, int32_t ranks, double bytes,
                         double bandwidth, double latency)
{
    const rk_collective_job job = {.op = op, .ranks = ranks, .bytes = bytes, .chunks = 1};
    const rk_link link = {.bandwidth = bandwidth, .latency = latency};
    const rk_algorithm *algorithm = NULL;
    for (size_t i = 0; rk_algorithms[i]; i++) {
        algorithm = strcmp(rk_algorithms[i]->name, name) == 0 ? rk_algorithms[i] : algorithm;
    }
    assert_non_null(algorithm);
    return closed_seconds(algorithm, &job, &link, 0);
}

static void test_known(void **state)
{
    (void)state;
    /* ring of 8 at 450 GB/s, 1 GiB: 14 rounds of 3 us and 2 * 7/8 GiB */
    assert_close(seconds_of("ring", RK_COLL_ALL_REDUCE, 8, 0x1p30, 450e9, 3e-6), 4.2177e-3, 1e-4);
    /* six ranks fold into four and out again: 6 rounds, (2 * 3/4 + 2) S */
    assert_close(seconds_of("halving-doubling", RK_COLL_ALL_REDUCE, 6, 1e6, 1e9, 1e-6),
                 6e-6 + 3.5e-3, 1e-12);
    /* 8 ranks: 3 rounds of half the buffer */
    assert_close(seconds_of("bruck", RK_COLL_ALL_TO_ALL, 8, 1e6, 1e9, 1e-6), 3e-6 + 1.5e-3, 1e-12);
    /* PAT: 384 ranks gather in 9 rounds what a ring gathers in 383 */
    assert_close(seconds_of("pat", RK_COLL_ALL_GATHER, 384, 1024, 392e9, 1e-6),
                 9e-6 + 383.0 / 384 * 1024 / 392e9, 1e-12);
    /* a switch that adds: ideal bus bandwidth 2 (n-1)/(n+1) B, 700 GB/s of 450 */
    const double s = seconds_of("in-network", RK_COLL_ALL_REDUCE, 8, 1e12, 450e9, 0);
    assert_close(2 * 7.0 / 8 * 1e12 / s, 700e9, 1e-12);
}

static void test_ranks(void **state)
{
    (void)state;
    assert_false(rk_algorithm_runs(&rk_algorithm_halving_doubling, RK_COLL_ALL_GATHER, 6));
    assert_true(rk_algorithm_runs(&rk_algorithm_halving_doubling, RK_COLL_ALL_REDUCE, 6));
    assert_false(rk_algorithm_runs(&rk_algorithm_ring, RK_COLL_ALL_TO_ALL, 8));
    assert_false(rk_algorithm_runs(&rk_algorithm_ring, RK_COLL_ALL_REDUCE, 1));
    const rk_algorithm halves = {.ops = (1U << RK_COLL_COUNT) - 1, .powers_of_two = true};
    for (int op = 0; op < RK_COLL_COUNT; op++) {
        assert_true(rk_algorithm_runs(&halves, (rk_collective)op, 8));
        assert_false(rk_algorithm_runs(&halves, (rk_collective)op, 6));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
