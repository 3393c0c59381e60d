/* SPDX-License-Identifier: Apache-2.0 */
/* The load of every link in each phase of a collective, for `reckon comm --explain`. */
#ifndef RK_COMMAND_COMM_LINKS_H
#define RK_COMMAND_COMM_LINKS_H

#include "io/json_write.h"
#include "report/table.h"
#include "system/collective_plan.h"

/*
 * Adds a row per kind of link of each phase: how many there are, the bytes that the least, the mean
 * and the most loaded carry, and how long that one is busy.  Columns: phase, links, count, least,
 * mean, most, busy.
 */
rk_status rk_comm_links_add(rk_table *table, const rk_collective_plan *plan, rk_error *err);

/* A row per link: op, bytes, algorithm, phase, tier, link, bytes it carries, share of the phase. */
#define RK_COMM_LINKS_TITLE "op,bytes,algorithm,phase,tier,link,link_bytes,busy\n"
rk_status rk_comm_links_write(rk_out *out, rk_collective op, double bytes,
                              const rk_collective_plan *plan, rk_error *err);

#endif
