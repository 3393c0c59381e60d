/* SPDX-License-Identifier: Apache-2.0 */
/* Splits node power into boards and the rest, and weighs busy and idle boards by utilisation. */
#include "run/power.h"

#include "base/extremes.h"

#include <assert.h>

rk_node_power rk_node_power_of(double board, double busy, double idle)
{
    assert(board >= 0 && busy >= 1);
    return (rk_node_power){
        .board = board,
        .board_idle = rk_min(board, rk_max(board * (idle - (busy - 1)), 0)),
        .rest = board * (busy - 1),
    };
}

double rk_node_power_at(const rk_node_power *power, double utilisation)
{
    return power->rest + power->board_idle + utilisation * (power->board - power->board_idle);
}
