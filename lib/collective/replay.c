/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of an algorithm on the links of a topology: round by round, load by load. */
#include "collective/algorithm.h"

#include "base/error.h"
#include "base/extremes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct state {
    const rk_algorithm *algorithm;
    const rk_topology *topology;
    double reduce_seconds_per_byte;
    int32_t ranks, round;
    double *loads;   /* owned; of the round by link, or of all rounds if the algorithm streams */
    double *totals;  /* the caller's; by link, or NULL */
    double *reduced; /* owned; bytes by rank */
    int64_t *touched, touched_count; /* owned; links with a load */
    double seconds;
    int64_t messages, rounds;
};

/* Ends a round: the slowest link, then the rank that adds most. */
static void end_round(struct state *s)
{
    double slowest = 0, most = 0;
    for (int64_t i = 0; i < s->touched_count; i++) {
        const int64_t link = s->touched[i];
        const rk_link wire = rk_topology_link_at(s->topology, link);
        const double latency = s->algorithm->streams ? 0 : wire.latency;
        slowest = rk_max(slowest, latency + s->loads[link] / wire.bandwidth);
        s->loads[link] = 0;
    }
    for (int32_t rank = 0; rank < s->ranks; rank++) {
        most = rk_max(most, s->reduced[rank]);
        s->reduced[rank] = 0;
    }
    s->touched_count = 0;
    s->seconds += slowest + most * s->reduce_seconds_per_byte;
}

static void load_link(struct state *s, int64_t link, double bytes)
{
    if (!(s->loads[link] > 0)) {
        s->touched[s->touched_count++] = link;
    }
    s->loads[link] += bytes;
    if (s->totals) {
        s->totals[link] += bytes;
    }
}

static void visit(void *user, const rk_collective_message *m)
{
    struct state *s = user;
    assert(m->source != m->target && m->round >= s->round);
    int64_t links[RK_ROUTE_MAX];
    if (m->round != s->round) {
        if (!s->algorithm->streams) {
            end_round(s);
        }
        s->round = m->round;
        s->rounds++;
    }
    s->messages++;
    if (m->source == s->ranks || m->target == s->ranks) { /* the switch: one port of the rank */
        const bool sends = m->target == s->ranks;
        const int32_t rank = sends ? m->source : m->target;
        load_link(s, 2 * (int64_t)rank + !sends, m->bytes);
        return;
    }
    const int count = rk_topology_route(s->topology, m->source, m->target, links);
    for (int i = 0; i < count; i++) {
        load_link(s, links[i], m->bytes);
    }
    if (m->reduces) {
        s->reduced[m->target] += m->bytes;
    }
}

static void find_busiest(const rk_topology *topology, const double *totals, rk_replay *replay)
{
    double longest = 0;
    for (int64_t link = 0; link < rk_topology_links(topology); link++) {
        const double seconds = totals[link] / rk_topology_link_at(topology, link).bandwidth;
        if (seconds > longest) {
            longest = seconds;
            replay->busiest = link;
            replay->busiest_bytes = totals[link];
        }
    }
}

rk_status rk_algorithm_replay(const rk_algorithm *algorithm, const rk_collective_job *job,
                              const rk_topology *topology, double reduce_seconds_per_byte,
                              double *loads, rk_replay *replay, rk_error *err)
{
    assert(job->ranks >= 2 && topology->ranks >= job->ranks);
    const size_t links = (size_t)rk_topology_links(topology);
    struct state s = {
        .algorithm = algorithm,
        .topology = topology,
        .reduce_seconds_per_byte = reduce_seconds_per_byte,
        .ranks = job->ranks,
        .loads = calloc(links, sizeof(double)),
        .totals = loads,
        .reduced = calloc((size_t)job->ranks, sizeof(double)),
        .touched = calloc(links, sizeof(int64_t)),
        .rounds = 1,
    };
    rk_status status = RK_OK;
    if (!s.loads || !s.reduced || !s.touched) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the loads of %zu links", links);
    } else {
        for (size_t i = 0; loads && i < links; i++) {
            loads[i] = 0;
        }
        algorithm->send(job, visit, &s);
        end_round(&s);
        const double latency = rk_topology_link_at(topology, 0).latency;
        s.seconds += algorithm->streams ? (double)s.rounds * latency : 0;
        *replay = (rk_replay){.seconds = s.seconds, .messages = s.messages};
        if (loads) {
            find_busiest(topology, loads, replay);
        }
    }
    free(s.loads);
    free(s.reduced);
    free(s.touched);
    return status;
}
