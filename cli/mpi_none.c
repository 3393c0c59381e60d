/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces mpi_team.c in builds without MPI. */
#include "mpi_team.h"

#include <stddef.h>

bool rk_mpi_is_built(void)
{
    return false;
}

rk_team *rk_mpi_begin(void)
{
    return NULL;
}

void rk_mpi_end(rk_team *team, int status)
{
    (void)team;
    (void)status;
}
