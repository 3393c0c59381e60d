/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks that this process shares its work with, once it has joined them. */
#ifndef RK_CLI_JOINED_H
#define RK_CLI_JOINED_H

#include "reckon/team.h"

/* Takes over the team that this process is in, from the start of its command to its end. */
void rk_team_keep(rk_team *team);

/* The ranks; NULL: this process is alone. */
rk_team *rk_team_joined(void);

/* Whether this process does what only one may do: write, report, fail aloud. */
bool rk_team_is_first(void);

/*
 * Ends what was joined, if anything.  Returns the exit status of this rank: that of the command on
 * rank 0, else 0, so that rank 0 can report what went wrong before all end.
 */
int rk_team_end(int status);

#endif
