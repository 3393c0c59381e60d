/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of an MPI run as a team.  All of MPI is in its source file. */
#ifndef RK_CLI_MPI_TEAM_H
#define RK_CLI_MPI_TEAM_H

#include "reckon/team.h"

/* How many processes mpirun, srun or the like has started together with this one; 0: none did. */
int rk_mpi_started(void);

/* Whether this program was built with MPI. */
bool rk_mpi_is_built(void);

/*
 * Begins MPI; NULL: there is no memory, or MPI does not work.  Called once in a process, from the
 * thread that will send and receive.
 */
rk_team *rk_mpi_begin(void);

/*
 * Waits for all ranks and ends MPI.  When ranks are lost this is not possible: then the process
 * ends here and now with this exit status.  NULL is legal.
 */
void rk_mpi_end(rk_team *team, int status);

#endif
