/* SPDX-License-Identifier: Apache-2.0 */
/* Step rates with servers on all machines, extra servers, both, and asynchronous updates. */
#include "comm/server_places.h"

#include "base/extremes.h"
#include "comm/parameter_server.h"

#include <math.h>

rk_server_place rk_server_place_of(const rk_system *system, const rk_group *group)
{
    const int outer = rk_group_outermost(system, group);
    const double local = outer > 0 ? (double)group->within[outer - 1] : 1;
    const rk_tier *tier = &system->tiers[outer];
    return (rk_server_place){
        .machines = ceil((double)group->size / local),
        .local = local,
        .node = outer > 0 ? (double)system->tiers[outer - 1].size : 1,
        .bandwidth = tier->bandwidth * tier->efficiency * local,
        .latency = tier->latency,
    };
}

/* All machines wait for the update. */
static rk_server_arrangement waiting(const char *name, const rk_server_place *place,
                                     const rk_server_question *question, double seconds)
{
    const double compute = question->compute_s;
    return (rk_server_arrangement){
        .name = name,
        .seconds = seconds,
        .rate = compute > 0 ? place->machines / (compute + seconds) : 0,
    };
}

size_t rk_server_arrangements(const rk_system *system, const rk_group *group,
                              const rk_server_question *question, double bytes,
                              rk_server_arrangement out[RK_SERVER_ARRANGEMENTS])
{
    const rk_server_place place = rk_server_place_of(system, group);
    const double n = place.machines, bandwidth = place.bandwidth, latency = place.latency;
    const double all_reduce = rk_collective_seconds(system, RK_COLL_ALL_REDUCE, bytes, group);
    rk_parameter_servers servers = {
        .workers = n,
        .servers = n,
        .bytes = bytes,
        .worker_bandwidth = bandwidth,
        .server_bandwidth = bandwidth,
        .latency = latency,
    };
    size_t count = 0;
    out[count++] = waiting("all-reduce", &place, question, all_reduce);
    out[count++] = waiting("servers on all machines", &place, question,
                           latency + rk_parameter_server_mixed_seconds(n, 0, bytes, bandwidth));
    if (question->extra > 0) {
        const double extra = rk_min(question->extra, n); /* more have nothing to do */
        out[count++] =
            waiting("all machines and extra servers", &place, question,
                    latency + rk_parameter_server_mixed_seconds(n, extra, bytes, bandwidth));
        servers.servers = question->extra;
        out[count++] =
            waiting("extra servers alone", &place, question, rk_parameter_server_seconds(&servers));
    }
    if (question->compute_s > 0) {
        out[count++] = (rk_server_arrangement){
            .name = "servers, asynchronous",
            .seconds = latency + 2 * bytes / bandwidth,
            .rate = rk_parameter_server_async_rate(&servers, question->compute_s),
            .staleness = rk_parameter_server_staleness(n, -1),
        };
    }
    if (question->every > 0) {
        out[count++] =
            waiting("periodic all-reduce", &place, question, all_reduce / question->every);
    }
    return count;
}
