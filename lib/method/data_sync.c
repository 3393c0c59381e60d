/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas: comm/parameter_server.h.  The ranks of a data parallel group in one node are a machine:
 * they add up first and have a NIC each.  With TP and PP as many groups work at once as there are
 * ranks of a replica, and nodes that only serve are shared among them.
 */
#include "method/data_sync.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/time_text.h"
#include "base/units.h"
#include "comm/parameter_server.h"
#include "comm/server_places.h"

/* Inputs that all alternatives share. */
struct sync_case {
    const rk_request *request;
    const rk_answer *answer;
    double machines;          /* of a data parallel group */
    double extra;             /* nodes of this group that only serve; may be a fraction */
    double alone_s;           /* a step without data parallel traffic */
    double shown;             /* share of that traffic that a step waits for */
    double all_reduce_s;      /* of the gradients */
    double parameters_fp32_b; /* of a replica */
    double latency;
    rk_sync *sync;
};

static rk_sync_alternative *add_way(struct sync_case *c, const char *name, double sync_s,
                                    double step_s)
{
    rk_sync_alternative *way = &c->sync->ways[c->sync->count++];
    *way =
        (rk_sync_alternative){.name = name, .sync_s = sync_s, .step_s = step_s, .worth_s = step_s};
    return way;
}

static void add_servers(struct sync_case *c)
{
    const rk_sync *s = c->sync;
    const double own =
        c->latency + rk_parameter_server_mixed_seconds(c->machines, 0, s->bytes, s->bandwidth);
    add_way(c, "parameter servers on all nodes", own, c->alone_s + c->shown * own);
    if (c->extra > 0) {
        const double extra = rk_min(c->extra, c->machines); /* more have nothing to do */
        const double more = c->latency + rk_parameter_server_mixed_seconds(c->machines, extra,
                                                                           s->bytes, s->bandwidth);
        add_way(c, "and on extra nodes", more, c->alone_s + c->shown * more);
    }
}

/*
 * Each machine proceeds independently; a step counts as many updates as there are machines. The
 * machines are alike, so that a bound on staleness changes nothing.
 */
static void add_asynchronous(struct sync_case *c)
{
    const rk_sync *s = c->sync;
    const rk_parameter_servers servers = {
        .workers = c->machines,
        .servers = c->machines,
        .bytes = s->bytes,
        .worker_bandwidth = s->bandwidth,
        .server_bandwidth = s->bandwidth,
        .latency = c->latency,
    };
    const double rate = rk_parameter_server_async_rate(&servers, c->alone_s);
    rk_sync_alternative *way = add_way(c, "asynchronous servers", 0, c->machines / rate);
    way->staleness = rk_parameter_server_staleness(c->machines, -1);
    way->worth_s = way->step_s * rk_staleness_steps(way->staleness, c->request->staleness_price);
}

static void add_outer_steps(struct sync_case *c)
{
    const rk_request *r = c->request;
    const double every = r->dp_every > 0 ? (double)r->dp_every : 500; /* DiLoCo, arXiv 2311.08105 */
    add_way(c, "local SGD", c->all_reduce_s,
            rk_outer_step_seconds(c->alone_s, c->all_reduce_s, every, false));
    if (r->sites > 1) {
        const double sites = (double)r->sites;
        const double average =
            2 * (sites - 1) / sites * c->parameters_fp32_b / (r->site_bandwidth * 1e9);
        add_way(c, "DiLoCo between sites", average,
                rk_outer_step_seconds(c->answer->estimate.step, average, every, false));
        add_way(c, "streaming DiLoCo", average,
                rk_outer_step_seconds(c->answer->estimate.step, average, every, true));
    }
}

rk_status rk_sync_fill(const rk_request *request, const rk_setting *setting,
                       const rk_answer *answer, rk_sync *sync, rk_error *err)
{
    const rk_strategy *s = &answer->strategy;
    const rk_estimate *e = &answer->estimate;
    const rk_group group = rk_strategy_group(setting->system, s, RK_GROUP_DATA);
    const double n = (double)group.size;
    if (group.size < 2 || !(e->volumes.data > 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--dp-sync compares ways of data parallelism, and this strategy has none; "
                       "give --dp 2 or more accelerators");
    }
    if (request->sites > 1 && !(request->site_bandwidth > 0)) {
        return rk_fail(err, RK_ERR_INVALID, "--sites needs --site-GBps, the link of a site");
    }
    const rk_server_place place = rk_server_place_of(setting->system, &group);
    const double groups = (double)rk_strategy_ranks(s) / n;
    *sync = (rk_sync){.bytes = e->volumes.data * n / (2 * (n - 1)), .bandwidth = place.bandwidth};
    const double visible = e->times.part[RK_PART_DP];
    struct sync_case c = {
        .request = request,
        .answer = answer,
        .machines = place.machines,
        .extra = (double)request->dp_servers * place.node / (groups * place.local),
        .alone_s = e->step - visible,
        .all_reduce_s =
            rk_collective_seconds(setting->system, RK_COLL_ALL_REDUCE, sync->bytes, &group),
        .parameters_fp32_b = 4 * (double)rk_model_params_of(setting->model).total,
        .latency = place.latency,
        .sync = sync,
    };
    c.shown = rk_min(visible / c.all_reduce_s, 1);
    add_way(&c, "all-reduce", c.all_reduce_s, e->step);
    add_servers(&c);
    add_asynchronous(&c);
    add_outer_steps(&c);
    const double tokens = e->tokens_per_second * e->step;
    for (int i = 0; i < sync->count; i++) {
        sync->ways[i].tokens_second = tokens / sync->ways[i].worth_s;
    }
    return RK_OK;
}

rk_status rk_sync_write(FILE *to, const rk_sync *sync, rk_table_style style, rk_error *err)
{
    const rk_time_unit unit = rk_time_unit_of(sync->ways[0].step_s);
    char sync_title[RK_TIME_TITLE_SIZE], step_title[RK_TIME_TITLE_SIZE];
    const rk_table_column columns[] = {
        {"data parallelism by", RK_ALIGN_LEFT},
        {rk_time_title("sync", unit, sync_title), RK_ALIGN_RIGHT},
        {rk_time_title("step", unit, step_title), RK_ALIGN_RIGHT},
        {"staleness", RK_ALIGN_RIGHT},
        {"effective, tokens/s", RK_ALIGN_RIGHT},
    };
    rk_table table;
    rk_table_init(&table, columns, COUNT(columns));
    for (int i = 0; i < sync->count; i++) {
        const rk_sync_alternative *way = &sync->ways[i];
        rk_table_cell(&table, "%s", way->name);
        if (way->sync_s > 0) {
            rk_table_cell(&table, "%.3f", way->sync_s / unit.seconds);
        } else {
            rk_table_cell(&table, "-");
        }
        rk_table_cell(&table, "%.3f", way->step_s / unit.seconds);
        rk_table_cell(&table, "%.4g", way->staleness);
        rk_table_cell(&table, "%.0f", way->tokens_second);
    }
    (void)fprintf(to,
                  "a step moves %.4g GB of gradients a rank and as much of parameters, over "
                  "all\nmicrobatches, at %.4g GB/s of its group in a node\n",
                  sync->bytes / 1e9, sync->bandwidth / 1e9);
    return rk_write_table(to, &table, style, err);
}

void rk_sync_write_json(rk_json_writer *writer, const rk_sync *sync)
{
    rk_json_open_member(writer, "dp_sync", "[");
    for (int i = 0; i < sync->count; i++) {
        const rk_sync_alternative *way = &sync->ways[i];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "name", way->name);
        rk_json_real(writer, "sync_s", way->sync_s);
        rk_json_real(writer, "step_s", way->step_s);
        rk_json_real(writer, "staleness", way->staleness);
        rk_json_real(writer, "worth_step_s", way->worth_s);
        rk_json_real(writer, "worth_tokens_per_s", way->tokens_second);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}
