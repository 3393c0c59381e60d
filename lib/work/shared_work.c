/* SPDX-License-Identifier: Apache-2.0 */
/* The leader and follower protocol of a team: hello, tasks, results, heartbeats, lost ranks. */
#include "work/shared_work.h"

#include "base/clock.h"
#include "base/error.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_SECONDS   0.1
#define POLL_SECONDS   0.001 /* between checks for messages */
#define ALIVE_SECONDS  1.0   /* longest silence of a healthy rank */
#define SILENT_SECONDS 60.0  /* silence after which a rank counts as lost */
/* Other ranks are more patient with rank 0, which also checks points and writes files. */
#define PATIENT_SECONDS 3600.0

/* A message starts with the number of the run and its kind. */
enum message {
    HELLO,  /* to rank 0: version, fingerprint, threads */
    TASK,   /* number, task */
    RESULT, /* to rank 0: number, processor time, status, error, result */
    ALIVE,
    LEAVE, /* to rank 0: error */
    STOP,
    END, /* outcome */
};

/* Rank 0's knowledge about a rank; [0]: its own threads. */
struct peer {
    bool joined, lost;
    uint64_t room, given; /* tasks it may hold, and tasks it holds */
    double heard;         /* time of its last message */
    double cpu_s;         /* processor time spent so far */
};

struct share {
    const rk_share_job *job;
    rk_team *team;
    rk_pool *pool;
    struct peer *peers; /* owned */
    int size;
    rk_task_list away;  /* given to other ranks */
    rk_task_list again; /* to be reassigned */
    uint64_t numbered, given;
    bool exhausted; /* no more tasks until a result arrives */
    rk_bytes message;
    double ticked, spoken;
    double cpu_started; /* of this process */
};

uint64_t rk_share_fingerprint_of(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * 1099511628211U;
    }
    return hash;
}

uint64_t rk_share_fingerprint(const char *text)
{
    return rk_share_fingerprint_of(text, strlen(text));
}

/* ---- messages -------------------------------------------------------------------------------- */

static void begin(rk_bytes *message, const rk_team *team, enum message kind)
{
    rk_bytes_reset(message);
    rk_bytes_add_number(message, team->runs);
    rk_bytes_add_number(message, (uint64_t)kind);
}

static rk_status send(rk_bytes *message, const rk_team *team, int to, rk_error *err)
{
    assert(to >= 0 && to < team->size && to != team->rank);
    if (message->failed) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a message to rank %d", to);
    }
    team->send(team->context, to, message->data, message->size);
    return RK_OK;
}

/* Receives the next message of this run; *kind is the format of the rest. */
static bool receive(struct share *s, int *from, enum message *kind, rk_bytes_reader *reader)
{
    size_t size;
    for (void *data; (data = s->team->receive(s->team->context, from, &size));) {
        rk_bytes_clear(&s->message);
        s->message = (rk_bytes){.data = data, .size = size, .room = size};
        *reader = rk_bytes_read(&s->message);
        const uint64_t run = rk_bytes_take_number(reader);
        *kind = (enum message)rk_bytes_take_number(reader);
        if (!reader->failed && run == s->team->runs && *from >= 0 && *from < s->team->size) {
            return true;
        }
    }
    return false;
}

static void take_error(rk_bytes_reader *reader, rk_error *err)
{
    rk_error found;
    rk_bytes_take(reader, &found, sizeof(found));
    if (err) {
        *err = found;
    }
}

/*
 * Tasks a rank holds at a time: a few more than its threads, so that no thread waits for a message.
 */
static uint64_t room_for(uint64_t threads)
{
    return threads + threads / 2 + 1;
}

/* ---- rank 0: handing out --------------------------------------------------------------------- */

static rk_status give(struct share *s, int rank, rk_task *task, rk_error *err)
{
    assert(rank >= 0 && rank < s->size);
    task->rank = rank;
    s->given++;
    s->peers[rank].given++;
    if (rank == 0) {
        rk_pool_push(s->pool, task);
        return RK_OK;
    }
    rk_task_append(&s->away, task);
    begin(&s->message, s->team, TASK);
    rk_bytes_add_number(&s->message, task->number);
    rk_bytes_add(&s->message, task->bytes.data, task->bytes.size);
    return send(&s->message, s->team, rank, err);
}

/* Fetches the next task to assign; *task is NULL when there is none. */
static rk_status take_next(struct share *s, rk_task **task, rk_error *err)
{
    *task = rk_task_take_first(&s->again);
    if (*task || s->exhausted) {
        return RK_OK;
    }
    rk_task *made = rk_task_new(++s->numbered);
    if (!made) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a task");
    }
    rk_status status = s->job->next(s->job->context, &made->bytes, err);
    if (status == RK_OK && made->bytes.failed) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for a task");
    }
    if (status != RK_OK || made->bytes.size == 0) {
        s->exhausted = status == RK_OK;
        rk_task_free(made);
        return status;
    }
    *task = made;
    return RK_OK;
}

/* Assigns tasks until every rank is full. */
static rk_status hand_out(struct share *s, rk_error *err)
{
    bool more = true;
    rk_status status = RK_OK;
    while (more && status == RK_OK) {
        more = false;
        for (int rank = 0; rank < s->size && status == RK_OK; rank++) {
            const struct peer *peer = &s->peers[rank];
            rk_task *task = NULL;
            if (!peer->joined || peer->lost || peer->given >= peer->room) {
                continue;
            }
            status = take_next(s, &task, err);
            if (task) {
                status = give(s, rank, task, err);
                more = true;
            }
        }
    }
    return status;
}

/* ---- rank 0: taking in ----------------------------------------------------------------------- */

/* Removes the task with this number from a list; NULL if it is not in the list. */
static rk_task *take_number(rk_task_list *list, uint64_t number)
{
    rk_task_list rest = {NULL, NULL};
    rk_task *found = NULL;
    for (rk_task *task; (task = rk_task_take_first(list)) != NULL;) {
        if (task->number == number && !found) {
            found = task;
        } else {
            rk_task_append(&rest, task);
        }
    }
    *list = rest;
    return found;
}

/* Delivers the result of a finished task and frees the task. */
static rk_status settle(struct share *s, rk_task *task, rk_error *err)
{
    rk_status status = task->status;
    s->given--;
    s->peers[task->rank].given--;
    s->exhausted = false;
    if (status == RK_OK) {
        status = s->job->done(s->job->context, &task->bytes, &task->result, err);
    } else if (err) {
        *err = task->error;
    }
    rk_task_free(task);
    return status;
}

static rk_status take_result(struct share *s, int rank, rk_bytes_reader *reader, rk_error *err)
{
    rk_task *task = take_number(&s->away, rk_bytes_take_number(reader));
    rk_bytes_take(reader, &s->peers[rank].cpu_s, sizeof(s->peers[rank].cpu_s));
    if (!task) {
        /* The rank was declared lost too early; its tasks may still be waiting for reassignment. */
        return RK_OK;
    }
    task->status = (rk_status)rk_bytes_take_number(reader);
    take_error(reader, &task->error);
    rk_bytes_add(&task->result, reader->at, reader->left);
    if (reader->failed || task->result.failed) {
        task->status = rk_fail(&task->error, RK_ERR_MEMORY, "not enough memory for a result");
    }
    return settle(s, task, err);
}

static rk_status take_hello(struct share *s, int rank, rk_bytes_reader *reader, rk_error *err)
{
    struct peer *peer = &s->peers[rank];
    const char *version = rk_bytes_take_text(reader);
    const uint64_t fingerprint = rk_bytes_take_number(reader);
    const uint64_t threads = rk_bytes_take_number(reader);
    if (reader->failed || strcmp(version, rk_version()) != 0) {
        return rk_fail(err, RK_ERR_INVALID, "rank %d runs another version of reckon", rank);
    }
    if (fingerprint != s->job->fingerprint) {
        return rk_fail(err, RK_ERR_INVALID,
                       "rank %d reads other documents under the same names: share one file system",
                       rank);
    }
    peer->joined = true;
    peer->room = room_for(threads);
    return RK_OK;
}

static rk_status take_messages(struct share *s, rk_error *err)
{
    rk_bytes_reader reader;
    enum message kind;
    int from;
    rk_status status = RK_OK;
    while (status == RK_OK && s->team && receive(s, &from, &kind, &reader)) {
        s->peers[from].heard = rk_wall_seconds();
        if (kind == HELLO) {
            status = take_hello(s, from, &reader, err);
        } else if (kind == RESULT) {
            status = take_result(s, from, &reader, err);
        } else if (kind == LEAVE) {
            rk_error fault;
            take_error(&reader, &fault);
            char text[sizeof(fault.message)];
            (void)rk_error_text(&fault, text, sizeof(text));
            status = rk_fail(err, RK_ERR_INVALID, "rank %d: %.480s", from, text);
        }
    }
    return status;
}

/* Declares a rank lost and queues its tasks for reassignment. */
static void lose(struct share *s, int rank)
{
    assert(rank > 0 && rank < s->size);
    rk_task_list rest = {NULL, NULL}, taken = {NULL, NULL};
    struct peer *peer = &s->peers[rank];
    for (rk_task *task; (task = rk_task_take_first(&s->away)) != NULL;) {
        rk_task_append(task->rank == rank ? &taken : &rest, task);
    }
    s->away = rest;
    peer->lost = true;
    s->team->broken = true;
    s->given -= peer->given;
    peer->given = 0;
    if (s->job->lost) {
        s->job->lost(s->job->context, rank, &taken);
    }
    for (rk_task *task; (task = rk_task_take_first(&taken)) != NULL;) {
        rk_task_append(&s->again, task);
    }
}

/* Sends this rank's heartbeat and declares ranks lost that have been silent for too long. */
static void keep_in_touch(struct share *s)
{
    const double time = rk_wall_seconds();
    const double most = s->job->silent_seconds > 0 ? s->job->silent_seconds : SILENT_SECONDS;
    if (time - s->spoken >= ALIVE_SECONDS) {
        s->spoken = time;
        begin(&s->message, s->team, ALIVE);
        for (int rank = 1; rank < s->size; rank++) {
            (void)send(&s->message, s->team, rank, NULL);
        }
    }
    for (int rank = 1; rank < s->size; rank++) {
        const struct peer *peer = &s->peers[rank];
        if (peer->joined && !peer->lost && time - peer->heard > most) {
            lose(s, rank);
        }
    }
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

static rk_status tick(struct share *s, rk_error *err)
{
    const double time = rk_wall_seconds();
    if (time - s->ticked < TICK_SECONDS) {
        return RK_OK;
    }
    s->ticked = time;
    return !s->job->tick || s->job->tick(s->job->context)
               ? RK_OK
               : rk_fail(err, RK_ERR_STOPPED, "stopped before the end");
}

static rk_status lead(struct share *s, rk_error *err)
{
    rk_status status = RK_OK;
    for (;;) {
        status = hand_out(s, err);
        if (status != RK_OK || s->given == 0) {
            return status;
        }
        rk_task *task = rk_pool_pop(s->pool, s->size > 1 ? POLL_SECONDS : TICK_SECONDS);
        while (task && status == RK_OK) {
            status = settle(s, task, err);
            task = status == RK_OK ? rk_pool_pop(s->pool, 0) : NULL;
        }
        if (status == RK_OK && s->team) {
            status = take_messages(s, err);
            keep_in_touch(s);
        }
        if (status == RK_OK) {
            status = tick(s, err);
        }
        if (status != RK_OK) {
            return status;
        }
    }
}

/* Tells the other ranks how the run ended. */
static rk_status end(struct share *s, rk_status status, rk_error *err)
{
    if (s->size < 2) {
        return status;
    }
    begin(&s->message, s->team, status == RK_OK ? END : STOP);
    if (status == RK_OK && s->job->tell) {
        status = s->job->tell(s->job->context, &s->message, err);
        if (status != RK_OK) {
            begin(&s->message, s->team, STOP);
        }
    }
    for (int rank = 1; rank < s->size; rank++) {
        const rk_status sent = send(&s->message, s->team, rank, status == RK_OK ? err : NULL);
        status = status == RK_OK ? sent : status;
    }
    return status;
}

static rk_status run_first(struct share *s, int threads, rk_error *err)
{
    assert(s->size >= 1 && threads >= 1);
    s->peers = calloc((size_t)s->size, sizeof(*s->peers));
    if (!s->peers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %d ranks", s->size);
    }
    for (int rank = 0; rank < s->size; rank++) {
        s->peers[rank].heard = rk_wall_seconds();
    }
    s->peers[0].joined = true;
    s->peers[0].room = room_for((uint64_t)threads);
    const rk_status status = end(s, lead(s, err), err);
    s->peers[0].cpu_s = rk_cpu_seconds() - s->cpu_started;
    for (int rank = 0; rank < s->size && s->team && s->team->cpu_s; rank++) {
        s->team->cpu_s[rank] += s->peers[rank].cpu_s;
    }
    rk_task_list_free(&s->away);
    rk_task_list_free(&s->again);
    free(s->peers);
    return status;
}

/* ---- the other ranks ------------------------------------------------------------------------- */

static rk_status send_result(struct share *s, const rk_task *task, rk_error *err)
{
    begin(&s->message, s->team, RESULT);
    const double cpu_s = rk_cpu_seconds() - s->cpu_started;
    rk_bytes_add_number(&s->message, task->number);
    rk_bytes_add(&s->message, &cpu_s, sizeof(cpu_s));
    rk_bytes_add_number(&s->message, (uint64_t)task->status);
    rk_bytes_add(&s->message, &task->error, sizeof(task->error));
    rk_bytes_add(&s->message, task->result.data, task->result.size);
    s->spoken = rk_wall_seconds();
    return send(&s->message, s->team, 0, err);
}

/* Handles the messages of rank 0; *ended is set after the last one. */
static rk_status follow(struct share *s, bool *ended, rk_error *err)
{
    rk_bytes_reader reader;
    enum message kind;
    int from;
    rk_status status = RK_OK;
    while (status == RK_OK && !*ended && receive(s, &from, &kind, &reader)) {
        s->ticked = rk_wall_seconds();
        if (kind == TASK) {
            rk_task *task = rk_task_new(rk_bytes_take_number(&reader));
            if (!task) {
                return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a task");
            }
            rk_bytes_add(&task->bytes, reader.at, reader.left);
            rk_pool_push(s->pool, task);
        } else if (kind == STOP) {
            return rk_fail(err, RK_ERR_STOPPED, "rank 0 has stopped");
        } else if (kind == END) {
            rk_bytes outcome = {0};
            rk_bytes_add(&outcome, reader.at, reader.left);
            *ended = true;
            status = s->job->hear ? s->job->hear(s->job->context, &outcome, err) : RK_OK;
            rk_bytes_clear(&outcome);
        }
    }
    return status;
}

static rk_status say_hello(struct share *s, int threads, rk_error *err)
{
    begin(&s->message, s->team, HELLO);
    rk_bytes_add_text(&s->message, rk_version());
    rk_bytes_add_number(&s->message, s->job->fingerprint);
    rk_bytes_add_number(&s->message, (uint64_t)threads);
    s->spoken = s->ticked = rk_wall_seconds();
    return send(&s->message, s->team, 0, err);
}

static rk_status run_other(struct share *s, int threads, rk_error *err)
{
    bool ended = false;
    rk_status status = say_hello(s, threads, err);
    while (status == RK_OK && !ended) {
        rk_task *task = rk_pool_pop(s->pool, POLL_SECONDS);
        if (task) {
            status = send_result(s, task, err);
            rk_task_free(task);
        } else if (rk_wall_seconds() - s->spoken >= ALIVE_SECONDS) {
            begin(&s->message, s->team, ALIVE);
            status = send(&s->message, s->team, 0, err);
            s->spoken = rk_wall_seconds();
        }
        if (status == RK_OK) {
            status = follow(s, &ended, err);
        }
        if (status == RK_OK && rk_wall_seconds() - s->ticked > PATIENT_SECONDS) {
            status = rk_fail(err, RK_ERR_IO, "rank 0 has been silent for too long");
        }
    }
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Tells rank 0 that this rank does not take part in the run. */
static void leave(const rk_team *team, const rk_error *err)
{
    rk_bytes message = {0};
    if (!team || team->size < 2) {
        return;
    }
    begin(&message, team, team->rank == 0 ? STOP : LEAVE);
    if (err) {
        rk_bytes_add(&message, err, sizeof(*err));
    }
    for (int rank = team->rank == 0 ? 1 : 0; rank < (team->rank == 0 ? team->size : 1); rank++) {
        (void)send(&message, team, rank, NULL);
    }
    rk_bytes_clear(&message);
}

rk_status rk_share_run(const rk_share_job *job, rk_team *team, int threads, rk_error *err)
{
    struct share s = {
        .job = job, .team = team, .size = team ? team->size : 1, .cpu_started = rk_cpu_seconds()};
    threads = threads > 1 ? threads : 1;
    if (team) {
        team->runs++;
    }
    rk_status status = rk_pool_start(threads, job->work, job->context, &s.pool, err);
    if (status != RK_OK) {
        leave(team, err);
        return status;
    }
    status = team && team->rank > 0 ? run_other(&s, threads, err) : run_first(&s, threads, err);
    rk_pool_free(s.pool);
    rk_bytes_clear(&s.message);
    return status;
}

void rk_share_leave(rk_team *team, const rk_error *err)
{
    if (team) {
        team->runs++;
        leave(team, err);
    }
}
