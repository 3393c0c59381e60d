/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the ranks with which a command shares its work. */
#ifndef RK_CLI_JOIN_TEAM_H
#define RK_CLI_JOIN_TEAM_H

#include "reckon/command.h"

/*
 * Joins the other processes that mpirun or srun has started.  Returns RK_PARSED, or the exit status
 * when this program cannot do that.  A command that was started alone has nobody to join.  One that
 * shares nothing spares rank 0 the start of MPI, and is done on the other ranks.
 */
int rk_team_join(const rk_command *command, bool shares);

/* Reports on standard error how much processor time each rank has spent on the shared work. */
void rk_team_report(const rk_command *command);

#endif
