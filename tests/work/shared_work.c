/* SPDX-License-Identifier: Apache-2.0 */
/* Shared work: every task is taken in once, whoever does it and whoever is lost on the way. */
#include "work/shared_work.h"

#include "base/error.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* ---- bytes ----------------------------------------------------------------------------------- */

static void test_bytes(void **state)
{
    rk_bytes bytes = {0};
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        rk_bytes_add_number(&bytes, i * i);
        rk_bytes_add_text(&bytes, i % 2 ? "odd" : NULL);
    }
    rk_bytes_add(&bytes, "xyz", 3);
    rk_bytes_reader reader = rk_bytes_read(&bytes);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(rk_bytes_take_number(&reader), i * i);
        assert_string_equal(rk_bytes_take_text(&reader), i % 2 ? "odd" : "");
    }
    assert_int_equal(reader.left, 3);
    assert_false(reader.failed);
    assert_string_equal(rk_bytes_take_text(&reader), ""); /* it has no end */
    assert_true(reader.failed);
    assert_int_equal(rk_bytes_take_number(&reader), 0);
    rk_bytes_clear(&bytes);
    reader = rk_bytes_read(&bytes);
    assert_string_equal(rk_bytes_take_text(&reader), "");
    assert_true(reader.failed);
}

/* ---- ranks as threads ------------------------------------------------------------------------ */

#define RANKS_MAX 4

/* Messages on their way; those of a rank that is cut off vanish. */
struct post {
    pthread_mutex_t lock;
    struct letter {
        int from;
        rk_bytes bytes;
        struct letter *next;
    } * boxes[RANKS_MAX];
    bool cut[RANKS_MAX];
    bool spoken[RANKS_MAX]; /* has sent a letter */
};

struct address {
    struct post *post;
    int rank;
};

static void post_send(void *context, int to, const void *data, size_t size)
{
    struct address *self = context;
    struct post *post = self->post;
    (void)pthread_mutex_lock(&post->lock);
    if (!post->cut[self->rank] && !post->cut[to]) {
        struct letter **end = &post->boxes[to];
        struct letter *letter = calloc(1, sizeof(*letter));
        letter->from = self->rank;
        rk_bytes_add(&letter->bytes, data, size);
        while (*end) {
            end = &(*end)->next;
        }
        *end = letter;
        post->spoken[self->rank] = true;
    }
    (void)pthread_mutex_unlock(&post->lock);
}

static void *post_receive(void *context, int *from, size_t *size)
{
    struct address *self = context;
    struct post *post = self->post;
    (void)pthread_mutex_lock(&post->lock);
    struct letter *letter = post->boxes[self->rank];
    void *data = NULL;
    if (letter) {
        post->boxes[self->rank] = letter->next;
        *from = letter->from;
        data = letter->bytes.data;
        *size = letter->bytes.size;
        free(letter);
    }
    (void)pthread_mutex_unlock(&post->lock);
    return data;
}

/* ---- a job: the squares of 0 .. count-1 ------------------------------------------------------ */

#define TASKS 500

struct squares {
    uint64_t next, count;
    int taken[TASKS];
    uint64_t sum, told;
    uint64_t fail_at; /* work fails there; 0: nowhere */
    int ticks;        /* stop after so many; 0: never */
    int lost_rank;
    uint64_t lost_tasks;
    struct post *post;
    int cut_rank; /* is cut off after 20 results; 0: none */
    bool in_turn; /* the next task comes after the result of the last */
    uint64_t done;
};

static rk_status next(void *context, rk_bytes *task, rk_error *err)
{
    struct squares *job = context;
    (void)err;
    if (job->next < job->count && (!job->in_turn || job->done == job->next)) {
        rk_bytes_add_number(task, job->next++);
    }
    return RK_OK;
}

static rk_status work(void *context, int worker, const rk_bytes *task, rk_bytes *result,
                      const atomic_bool *stop, rk_error *err)
{
    const struct squares *job = context;
    rk_bytes_reader reader = rk_bytes_read(task);
    const uint64_t x = rk_bytes_take_number(&reader);
    const struct timespec pause = {.tv_nsec = (long)(x * 7919 % 5) * 100000};
    (void)worker;
    (void)nanosleep(&pause, NULL);
    if (atomic_load(stop)) {
        return rk_fail(err, RK_ERR_STOPPED, "stopped");
    }
    if (job->fail_at && x == job->fail_at) {
        return rk_fail(err, RK_ERR_LIMIT, "%d is too large", (int)x);
    }
    rk_bytes_add_number(result, x * x);
    return RK_OK;
}

/* Cuts a rank off once it has said something, so that there is someone to lose. */
static void cut_off(struct post *post, int rank)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    while (!post->cut[rank]) {
        (void)pthread_mutex_lock(&post->lock);
        post->cut[rank] = post->spoken[rank];
        (void)pthread_mutex_unlock(&post->lock);
        (void)nanosleep(&pause, NULL);
    }
}

static rk_status done(void *context, const rk_bytes *task, const rk_bytes *result, rk_error *err)
{
    struct squares *job = context;
    rk_bytes_reader asked = rk_bytes_read(task), answered = rk_bytes_read(result);
    const uint64_t x = rk_bytes_take_number(&asked), square = rk_bytes_take_number(&answered);
    (void)err;
    assert_true(x < TASKS && square == x * x && !answered.failed);
    job->taken[x]++;
    job->sum += square;
    if (++job->done == 20 && job->cut_rank) {
        cut_off(job->post, job->cut_rank);
    }
    return RK_OK;
}

static bool tick(void *context)
{
    struct squares *job = context;
    return job->ticks == 0 || --job->ticks > 0;
}

static void lost(void *context, int rank, const rk_task_list *tasks)
{
    struct squares *job = context;
    job->lost_rank = rank;
    for (const rk_task *task = tasks->first; task; task = task->next) {
        job->lost_tasks++;
    }
}

static rk_status tell(void *context, rk_bytes *outcome, rk_error *err)
{
    const struct squares *job = context;
    (void)err;
    rk_bytes_add_number(outcome, job->sum);
    return RK_OK;
}

static rk_status hear(void *context, const rk_bytes *outcome, rk_error *err)
{
    struct squares *job = context;
    rk_bytes_reader reader = rk_bytes_read(outcome);
    (void)err;
    job->told = rk_bytes_take_number(&reader);
    return RK_OK;
}

/* One rank with its own copy of the job. */
struct member {
    struct address address;
    rk_team team;
    struct squares job;
    uint64_t fingerprint;
    int threads;
    bool leaves;
    rk_status status;
    rk_error error;
};

static void *run_member(void *argument)
{
    struct member *m = argument;
    const bool falls_silent = m->job.cut_rank > 0; /* and the others are at most slow */
    const rk_share_job job = {.context = &m->job,
                              .work = work,
                              .next = next,
                              .done = done,
                              .tick = tick,
                              .lost = lost,
                              .tell = tell,
                              .hear = hear,
                              .fingerprint = m->fingerprint,
                              .silent_seconds = falls_silent ? 4 : 60};
    if (m->leaves) {
        (void)rk_fail(&m->error, RK_ERR_IO, "no such file");
        rk_share_leave(&m->team, &m->error);
    } else {
        m->status = rk_share_run(&job, &m->team, m->threads, &m->error);
    }
    return NULL;
}

static void make_members(struct post *post, struct member *members, int size)
{
    memset(post, 0, sizeof(*post));
    (void)pthread_mutex_init(&post->lock, NULL);
    for (int rank = 0; rank < size; rank++) {
        struct member *m = &members[rank];
        *m = (struct member){.address = {post, rank}, .threads = 1 + rank % 2};
        m->job.count = TASKS;
        m->job.post = post;
        m->team = (rk_team){.rank = rank,
                            .size = size,
                            .context = &m->address,
                            .send = post_send,
                            .receive = post_receive};
    }
}

static void run_members(struct post *post, struct member *members, int size)
{
    pthread_t threads[RANKS_MAX];
    for (int rank = 0; rank < size; rank++) {
        assert_int_equal(pthread_create(&threads[rank], NULL, run_member, &members[rank]), 0);
    }
    (void)pthread_join(threads[0], NULL);
    /* What is cut off waits for ten minutes: tell it that all is over. */
    (void)pthread_mutex_lock(&post->lock);
    memset(post->cut, 0, sizeof(post->cut));
    (void)pthread_mutex_unlock(&post->lock);
    const uint64_t stop[] = {members[0].team.runs, 5};
    for (int rank = 1; rank < size; rank++) {
        post_send(&members[0].address, rank, stop, sizeof(stop));
        (void)pthread_join(threads[rank], NULL);
    }
    for (int rank = 0; rank < size; rank++) {
        size_t rest;
        int from;
        for (void *data; (data = post_receive(&members[rank].address, &from, &rest));) {
            free(data);
        }
    }
    (void)pthread_mutex_destroy(&post->lock);
}

static void check_all_taken(const struct squares *job)
{
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(job->taken[i], 1);
    }
}

static void test_threads(void **state)
{
    (void)state;
    for (int threads = 0; threads <= 4; threads++) {
        struct squares squares = {.count = TASKS, .in_turn = threads == 3};
        const rk_share_job job = {.context = &squares, .work = work, .next = next, .done = done};
        rk_error err;
        assert_int_equal(rk_share_run(&job, NULL, threads, &err), RK_OK);
        check_all_taken(&squares);
    }
}

static void test_ranks(void **state)
{
    (void)state;
    for (int size = 1; size <= RANKS_MAX; size++) {
        static struct member members[RANKS_MAX];
        struct post post;
        make_members(&post, members, size);
        members[0].job.in_turn = size == 3;
        run_members(&post, members, size);
        check_all_taken(&members[0].job);
        for (int rank = 0; rank < size; rank++) {
            assert_int_equal(members[rank].status, RK_OK);
            assert_true(rank == 0 || members[rank].job.told == members[0].job.sum);
        }
        assert_int_equal(members[0].job.lost_rank, 0);
    }
}

/* A rank that falls silent is given up, and what it had is done by others. */
static void test_lost_rank(void **state)
{
    static struct member members[RANKS_MAX];
    struct post post;
    (void)state;
    make_members(&post, members, 3);
    members[0].job.cut_rank = 2;
    run_members(&post, members, 3);
    assert_int_equal(members[0].status, RK_OK);
    assert_int_equal(members[1].status, RK_OK);
    assert_int_equal(members[2].status, RK_ERR_STOPPED);
    assert_int_equal(members[0].job.lost_rank, 2);
    assert_true(members[0].job.lost_tasks > 0);
    check_all_taken(&members[0].job);
}

static void test_failures(void **state)
{
    static struct member members[RANKS_MAX];
    struct post post;
    (void)state;
    make_members(&post, members, 3); /* work fails on whatever rank it is */
    for (int rank = 0; rank < 3; rank++) {
        members[rank].job.fail_at = 250;
    }
    run_members(&post, members, 3);
    assert_int_equal(members[0].status, RK_ERR_LIMIT);
    assert_string_equal(members[0].error.message, "250 is too large");
    assert_int_equal(members[1].status, RK_ERR_STOPPED);

    make_members(&post, members, 2); /* stopped from outside */
    members[0].job.ticks = 1;
    members[0].job.count = members[1].job.count = TASKS;
    run_members(&post, members, 2);
    assert_true(members[0].status == RK_ERR_STOPPED || members[0].job.done == TASKS);
    assert_int_equal(members[1].status, members[0].status);

    make_members(&post, members, 2);
    members[1].fingerprint = 1;
    run_members(&post, members, 2);
    assert_int_equal(members[0].status, RK_ERR_INVALID);
    assert_non_null(strstr(members[0].error.message, "rank 1 reads other documents"));

    make_members(&post, members, 2);
    members[1].leaves = true;
    run_members(&post, members, 2);
    assert_true(members[0].status == RK_ERR_INVALID || members[0].job.done == TASKS);

    make_members(&post, members, 2);
    members[0].leaves = true;
    run_members(&post, members, 2);
    assert_int_equal(members[1].status, RK_ERR_STOPPED);
}

static void test_fingerprint(void **state)
{
    (void)state;
    assert_true(rk_share_fingerprint("") != rk_share_fingerprint("a"));
    assert_true(rk_share_fingerprint("ab") != rk_share_fingerprint("ba"));
    assert_true(rk_share_fingerprint("ab") == rk_share_fingerprint("ab"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),    cmocka_unit_test(test_threads),
        cmocka_unit_test(test_ranks),    cmocka_unit_test(test_lost_rank),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_fingerprint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
