/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `reckon comm --servers`: time, updates/s and staleness of each arrangement. */
#include "answer/comm_servers.h"

#include "base/time_text.h"
#include "comm/parameter_server.h"
#include "comm/server_places.h"
#include "method/describe.h"

#include <assert.h>

static void add_row(rk_table *table, const rk_comm_servers *asked, double bytes,
                    const rk_server_arrangement *row)
{
    assert(bytes > 0 && row->seconds >= 0);
    char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
    rk_table_cell(table, "%s", row->name);
    rk_table_cell(table, "%s", rk_with_commas((uint64_t)bytes, size));
    rk_table_cell(table, "%s", rk_time_text(row->seconds, time));
    if (asked->compute_s > 0) {
        rk_table_cell(table, "%.3f", row->rate);
        rk_table_cell(table, "%.0f", row->staleness);
        rk_table_cell(table, "%.3f", row->rate / rk_staleness_steps(row->staleness, asked->price));
    }
}

rk_status rk_comm_servers_write(FILE *to, const rk_comm_servers *asked, const rk_system *system,
                                const rk_group *group, const rk_counts *sizes, rk_table_style style,
                                rk_error *err)
{
    static const rk_table_column columns[] = {
        {"arrangement", RK_ALIGN_LEFT}, {"bytes", RK_ALIGN_RIGHT},
        {"time", RK_ALIGN_RIGHT},       {"updates/s", RK_ALIGN_RIGHT},
        {"staleness", RK_ALIGN_RIGHT},  {"effective, updates/s", RK_ALIGN_RIGHT},
    };
    const rk_server_question question = {.extra = (double)asked->extra,
                                         .compute_s = asked->compute_s,
                                         .every = (double)asked->every};
    const rk_server_place place = rk_server_place_of(system, group);
    rk_server_arrangement rows[RK_SERVER_ARRANGEMENTS];
    rk_table table;
    (void)fprintf(to, "\nparameter servers: %.0f machines of %.4g GB/s%s\n\n", place.machines,
                  place.bandwidth / 1e9, asked->extra > 0 ? ", and dedicated servers" : "");
    rk_table_init(&table, columns, asked->compute_s > 0 ? 6 : 3);
    for (int i = 0; i < sizes->count; i++) {
        const double bytes = (double)sizes->values[i];
        const size_t count = rk_server_arrangements(system, group, &question, bytes, rows);
        for (size_t row = 0; row < count; row++) {
            add_row(&table, asked, bytes, &rows[row]);
        }
    }
    return rk_write_table(to, &table, style, err);
}
