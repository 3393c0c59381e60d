/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks that this process shares its work with, once it has joined them. */
#ifndef RK_CLI_PROCESS_TEAM_H
#define RK_CLI_PROCESS_TEAM_H

#include "reckon/team.h"

/* Takes ownership of this process's team while its command runs. */
void rk_team_keep(rk_team *team);

/* The ranks; NULL: this process is alone. */
rk_team *rk_team_joined(void);

/* Whether this process is the one that writes, reports and prints errors. */
bool rk_team_is_first(void);

/*
 * Leaves the team, if it was joined.  Returns the exit status of this rank: the command's on rank
 * 0, else 0, so that rank 0 can report what went wrong before all end.
 */
int rk_team_end(int status);

#endif
