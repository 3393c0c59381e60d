/* SPDX-License-Identifier: Apache-2.0 */
/* Closed forms of parameter servers: synchronous, mixed and asynchronous rates, and staleness. */
#include "comm/parameter_server.h"

#include "base/extremes.h"

static double ways(const rk_parameter_servers *s)
{
    return s->half_duplex ? 2 : 1;
}

double rk_parameter_server_seconds(const rk_parameter_servers *s)
{
    const double worker = s->bytes / s->worker_bandwidth;
    const double server = s->workers * s->bytes / (s->servers * s->server_bandwidth);
    return s->latency + ways(s) * rk_max(worker, server);
}

double rk_parameter_server_mixed_seconds(double machines, double extra, double bytes,
                                         double bandwidth)
{
    const double n = machines, k = extra;
    return 2 * n * (n - 1) * bytes / ((n * n + k * n - 2 * k) * bandwidth);
}

double rk_parameter_server_async_rate(const rk_parameter_servers *s, double compute_s)
{
    const double alone = s->latency + 2 * s->bytes / s->worker_bandwidth;
    const double capacity = s->servers * s->server_bandwidth / (ways(s) * s->bytes);
    return rk_min(s->workers / (compute_s + alone), capacity);
}

double rk_parameter_server_staleness(double workers, double bound)
{
    const double others = workers - 1;
    return bound < 0 ? others : rk_min(others, bound * others);
}

double rk_staleness_steps(double staleness, double price)
{
    return 1 + price * staleness;
}

double rk_outer_step_seconds(double step_s, double sync_s, double every, bool overlapped)
{
    const double part = sync_s / every;
    return overlapped ? rk_max(step_s, part) : step_s + part;
}
