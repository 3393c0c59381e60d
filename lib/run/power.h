/* SPDX-License-Identifier: Apache-2.0 */
/* Power of a node, by component and by how busy its accelerators are. */
#ifndef RK_RUN_POWER_H
#define RK_RUN_POWER_H

/* A node, per accelerator; W. */
typedef struct rk_node_power {
    double board;      /* of a busy board */
    double board_idle; /* of one that waits */
    double rest;       /* hosts, network adapters, fans: independent of the boards */
} rk_node_power;

/*
 * A node whose busy power is `busy` times, and whose idle power is `idle` times the power of its
 * busy boards.  The rest draws the excess over the boards when they are busy, and idle boards draw
 * the idle power less the rest: board_idle = board (idle - (busy - 1)), within 0 and board.
 */
rk_node_power rk_node_power_of(double board, double busy, double idle);

/* W per accelerator while boards compute for a share `utilisation` (0 to 1) of the time. */
double rk_node_power_at(const rk_node_power *power, double utilisation);

#endif
