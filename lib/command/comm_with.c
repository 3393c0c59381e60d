/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of `reckon comm --with`: times alone and together, and demand on the links. */
#include "command/comm_with.h"

#include "base/time_text.h"
#include "report/describe.h"

#include <assert.h>

rk_comm_concurrent rk_comm_concurrent_of(const rk_comm_with *with, const rk_collective_query *query,
                                         double seconds, const char *name)
{
    assert(seconds > 0);
    const rk_collective_query other = {
        .system = with->system, .group = &with->group, .op = with->op, .bytes = with->bytes};
    rk_collective_plan plan;
    rk_plan_collective(&other, &plan);
    rk_comm_concurrent both = {
        .one = rk_comm_flow_of(query, name, seconds),
        .other = rk_comm_flow_of(&other, plan.name, plan.seconds),
    };
    both.pair = rk_comm_pair_of(&both.one, &both.other, with->system->tier_count);
    return both;
}

const char *rk_comm_shared_tier(const rk_comm_with *with, const rk_comm_pair *pair)
{
    return pair->tier < 0 ? "none" : with->system->tiers[pair->tier].name;
}

const rk_table_column rk_comm_with_columns[RK_COMM_WITH_COLUMNS] = {
    {"collective", RK_ALIGN_LEFT}, {"bytes", RK_ALIGN_RIGHT},    {"together", RK_ALIGN_RIGHT},
    {"second", RK_ALIGN_RIGHT},    {"together", RK_ALIGN_RIGHT}, {"demand on links", RK_ALIGN_LEFT},
};

void rk_comm_with_add(rk_table *table, const rk_comm_with *with, const char *name, double bytes,
                      const rk_comm_concurrent *both)
{
    const double seconds[] = {both->pair.seconds[0], both->other.seconds, both->pair.seconds[1]};
    char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
    int most = 0;
    rk_table_cell(table, "%s", name);
    rk_table_cell(table, "%s", rk_with_commas((uint64_t)bytes, size));
    for (int i = 0; i < 3; i++) {
        rk_table_cell(table, "%s", rk_time_text(seconds[i], time));
    }
    for (int i = 0; i < with->system->tier_count; i++) {
        most = both->pair.wanted[i] > both->pair.wanted[most] ? i : most;
    }
    rk_table_cell(table, "%s %.0f %%", with->system->tiers[most].name,
                  100 * both->pair.wanted[most]);
}
