/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of an MPI run as a team.  All of MPI is in mpi_team.c, a module that only processes
 * load which mpirun or srun has started: MPI and what it links is ten libraries.
 */
#ifndef RK_CLI_MPI_TEAM_H
#define RK_CLI_MPI_TEAM_H

#include "reckon/team.h"

/*
 * How many processes mpirun, srun or the like has started together with this one, and which of them
 * it is; 0: none did.
 */
int rk_mpi_started(int *rank);

/* The module exports one of these as rk_mpi_module. */
typedef struct rk_mpi {
    /*
     * Begins MPI; NULL: there is no memory, or MPI does not work.  Called once in a process, from
     * the thread that will send and receive.
     */
    rk_team *(*begin)(void);
    /*
     * Waits for all ranks and ends MPI.  When ranks are lost this is not possible: then the process
     * ends here and now with this exit status.
     */
    void (*end)(rk_team *team, int status);
} rk_mpi;

/* Loads the module; NULL: this program was built without MPI, or the module cannot be loaded. */
const rk_mpi *rk_mpi_load(void);

#endif
