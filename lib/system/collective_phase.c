/* SPDX-License-Identifier: Apache-2.0 */
/* Prices one phase of a collective on a tier, and replays its messages on the links. */
#include "system/collective_phase.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

rk_tier_span rk_tier_span_of(const rk_system *system, const rk_group *group, int i)
{
    assert(i >= 0 && i < system->tier_count);
    const int64_t below = i > 0 ? group->within[i - 1] : 1;
    const int64_t domain = i > 0 ? system->tiers[i - 1].size : 1;
    return (rk_tier_span){
        .tier = &system->tiers[i],
        .units = (double)group->within[i] / (double)below,
        .links = (double)(system->tiers[i].size / domain),
        .ranks = (double)group->within[i],
    };
}

void rk_price_phase(const rk_tier_span *span, const rk_algorithm *algorithm, rk_collective op,
                    double bytes, rk_collective_phase *phase)
{
    assert(algorithm || span->tier->kind == RK_TIER_TORUS);
    assert(span->units > 1 && bytes >= 0);
    const rk_tier *tier = span->tier;
    phase->tier = tier;
    phase->algorithm = algorithm;
    phase->job = (rk_collective_job){
        .op = op, .ranks = (int32_t)ceil(span->units), .bytes = bytes, .chunks = 1};
    phase->links = span->links;
    phase->traffic = algorithm
                         ? rk_traffic_of(tier, algorithm, &phase->job, span->links, span->ranks)
                         : rk_traffic_on_axes(tier, op, span->units, bytes);
    phase->seconds = rk_traffic_seconds(tier, &phase->traffic);
}

const char *rk_phase_name(const rk_collective_phase *phase)
{
    return phase->algorithm ? phase->algorithm->name : RK_AXES_NAME;
}

rk_link rk_phase_link(const rk_collective_phase *phase)
{
    const rk_tier *tier = phase->tier;
    const bool exchange = phase->job.op == RK_COLL_ALL_TO_ALL;
    const double share = phase->algorithm == &rk_algorithm_in_network ? tier->reduce_share : 1;
    return (rk_link){
        .bandwidth = rk_tier_port(tier, exchange, (double)phase->job.ranks, phase->links) *
                     tier->efficiency * share,
        .latency = tier->step_latency,
    };
}

double rk_phase_busy_seconds(const rk_collective_phase *phase)
{
    const rk_traffic *t = &phase->traffic;
    return t->bytes / (t->bandwidth * phase->tier->efficiency);
}

/* ---- messages ------------------------------------------------------------------------------ */

rk_topology rk_phase_topology(const rk_collective_phase *phase)
{
    const rk_link link = rk_phase_link(phase);
    const bool mesh = phase->algorithm && phase->tier->kind == RK_TIER_MESH;
    return (rk_topology){
        .kind = mesh ? RK_TOPOLOGY_MESH : RK_TOPOLOGY_SWITCH,
        .ranks = phase->job.ranks,
        .bandwidth = link.bandwidth,
        .latency = link.latency,
    };
}

const char *rk_phase_link_name(const rk_collective_phase *phase, int64_t link,
                               char text[RK_LINK_NAME_SIZE])
{
    const rk_topology topology = rk_phase_topology(phase);
    return rk_topology_link_name(&topology, link, text);
}

rk_status rk_phase_replay(const rk_collective_phase *phase, double *loads, rk_replay *replay,
                          rk_error *err)
{
    const rk_topology topology = rk_phase_topology(phase);
    if (!phase->algorithm) {
        return rk_fail(err, RK_ERR_INVALID,
                       "messages of rings along the axes of a torus are not listed");
    }
    if (phase->job.ranks > RK_PHASE_REPLAY_UNITS) {
        return rk_fail(err, RK_ERR_INVALID,
                       "messages of %d units in %s are too many to list (at most %d units); lower "
                       "--ranks",
                       (int)phase->job.ranks, phase->tier->name, RK_PHASE_REPLAY_UNITS);
    }
    double *own = loads ? NULL : calloc((size_t)rk_topology_links(&topology), sizeof(*own));
    if (!loads && !own) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the loads of links");
    }
    const rk_status status = rk_algorithm_replay(phase->algorithm, &phase->job, &topology, 0,
                                                 loads ? loads : own, replay, err);
    replay->seconds += status ? 0 : phase->tier->latency + phase->traffic.start_s;
    free(own);
    return status;
}
