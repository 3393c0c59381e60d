/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks that a command shares its work with. */
#ifndef RK_CLI_TEAM_H
#define RK_CLI_TEAM_H

#include "reckon/team.h"

/*
 * Joins the other processes that mpirun or srun has started.  Returns RK_PARSED, or the exit status
 * when this program cannot do that.  A command that was started alone has nobody to join.
 */
int rk_team_join(const rk_command *command);

/* The ranks; NULL: this process is alone. */
rk_team *rk_team_joined(void);

/* Whether this process does what only one may do: write, report, fail aloud. */
bool rk_team_is_first(void);

/* Reports on standard error how much processor time each rank has spent on what they shared. */
void rk_team_report(const rk_command *command);

/*
 * Ends what was joined, if anything.  Returns the exit status of this rank: that of the command on
 * rank 0, else 0, so that rank 0 can report what went wrong before all end.
 */
int rk_team_end(int status);

#endif
