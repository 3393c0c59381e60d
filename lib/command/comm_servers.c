/* SPDX-License-Identifier: Apache-2.0 */
#include "command/comm_servers.h"

#include "base/extremes.h"
#include "base/text.h"
#include "base/time_text.h"
#include "comm/parameter_server.h"
#include "report/describe.h"

#include <math.h>

/* An arrangement at one size. */
struct row {
    const char *name;
    double bytes;
    double seconds;   /* of communication in a step */
    double rate;      /* updates of all machines per second; 0: compute time is not known */
    double staleness; /* updates by others between pull and push */
};

struct page {
    const rk_comm_servers *asked;
    double machines, bandwidth, latency; /* bandwidth of a machine: all of its NICs */
    rk_table *table;
};

static void add_row(const struct page *page, const struct row *row)
{
    const rk_comm_servers *asked = page->asked;
    const double worth = row->rate / rk_staleness_steps(row->staleness, asked->price);
    char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
    rk_table_cell(page->table, "%s", row->name);
    rk_table_cell(page->table, "%s", rk_with_commas((uint64_t)row->bytes, size));
    rk_table_cell(page->table, "%s", rk_time_text(row->seconds, time));
    if (asked->compute_s > 0) {
        rk_table_cell(page->table, "%.3f", row->rate);
        rk_table_cell(page->table, "%.0f", row->staleness);
        rk_table_cell(page->table, "%.3f", worth);
    }
}

/* All machines wait for the update. */
static void add_waiting(const struct page *page, const char *name, double bytes, double seconds)
{
    const double compute = page->asked->compute_s;
    add_row(page, &(struct row){
                      .name = name,
                      .bytes = bytes,
                      .seconds = seconds,
                      .rate = compute > 0 ? page->machines / (compute + seconds) : 0,
                  });
}

static void add_asynchronous(const struct page *page, const rk_parameter_servers *servers)
{
    add_row(page, &(struct row){
                      .name = "servers, asynchronous",
                      .bytes = servers->bytes,
                      .seconds = servers->latency + 2 * servers->bytes / servers->worker_bandwidth,
                      .rate = rk_parameter_server_async_rate(servers, page->asked->compute_s),
                      .staleness = rk_parameter_server_staleness(page->machines, -1),
                  });
}

static void add_size(const struct page *page, const rk_system *system, const rk_group *group,
                     double bytes)
{
    const rk_comm_servers *asked = page->asked;
    const double all_reduce = rk_collective_seconds(system, RK_COLL_ALL_REDUCE, bytes, group);
    rk_parameter_servers servers = {
        .workers = page->machines,
        .servers = page->machines,
        .bytes = bytes,
        .worker_bandwidth = page->bandwidth,
        .server_bandwidth = page->bandwidth,
        .latency = page->latency,
    };
    add_waiting(page, "all-reduce", bytes, all_reduce);
    add_waiting(page, "servers on all machines", bytes,
                servers.latency +
                    rk_parameter_server_mixed_seconds(page->machines, 0, bytes, page->bandwidth));
    if (asked->extra > 0) {
        const double extra = rk_min((double)asked->extra, page->machines);
        add_waiting(page, "all machines and extra servers", bytes,
                    servers.latency + rk_parameter_server_mixed_seconds(page->machines, extra,
                                                                        bytes, page->bandwidth));
        servers.servers = (double)asked->extra;
        add_waiting(page, "extra servers alone", bytes, rk_parameter_server_seconds(&servers));
    }
    if (asked->compute_s > 0) {
        add_asynchronous(page, &servers);
    }
    if (asked->every > 0) {
        add_waiting(page, "periodic all-reduce", bytes, all_reduce / (double)asked->every);
    }
}

rk_status rk_comm_servers_write(FILE *to, const rk_comm_servers *asked, const rk_system *system,
                                const rk_group *group, const rk_option_counts *sizes,
                                rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"arrangement", RK_ALIGN_LEFT}, {"bytes", RK_ALIGN_RIGHT},
        {"time", RK_ALIGN_RIGHT},       {"updates/s", RK_ALIGN_RIGHT},
        {"staleness", RK_ALIGN_RIGHT},  {"effective, updates/s", RK_ALIGN_RIGHT},
    };
    const int outer = rk_group_outermost(system, group);
    rk_table table;
    const double local = outer > 0 ? (double)group->within[outer - 1] : 1;
    const rk_tier *tier = &system->tiers[outer];
    const struct page page = {
        .asked = asked,
        .machines = ceil((double)group->size / local),
        .bandwidth = tier->bandwidth * tier->efficiency * local,
        .latency = tier->latency,
        .table = &table,
    };
    (void)fprintf(to, "\nparameter servers: %.0f machines of %.4g GB/s%s\n\n", page.machines,
                  page.bandwidth / 1e9, asked->extra > 0 ? ", and dedicated servers" : "");
    rk_table_init(&table, columns, asked->compute_s > 0 ? 6 : 3);
    for (int i = 0; i < sizes->count; i++) {
        add_size(&page, system, group, (double)sizes->values[i]);
    }
    return rk_write_table(to, &table, style, err);
}
