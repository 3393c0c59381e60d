/* SPDX-License-Identifier: Apache-2.0 */
/* The team of this process, kept between joining and the end of the command. */
#include "process_team.h"

#include "arguments.h"
#include "mpi_team.h"

#include <stddef.h>

/* A process is in one team at most. */
static rk_team *joined;

void rk_team_keep(rk_team *team)
{
    joined = team;
}

rk_team *rk_team_joined(void)
{
    return joined && joined->size > 1 ? joined : NULL;
}

bool rk_team_is_first(void)
{
    return !joined || joined->rank == 0;
}

int rk_team_end(int status)
{
    const int told = rk_team_is_first() ? status : RK_EXIT_DONE;
    const rk_mpi *mpi = joined ? rk_mpi_load() : NULL;
    if (mpi) {
        mpi->end(joined, told);
    }
    joined = NULL;
    return told;
}
