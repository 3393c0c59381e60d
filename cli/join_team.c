/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the MPI ranks of this launch at the start of a command, and reports CPU time by rank. */
#include "join_team.h"

#include "arguments.h"
#include "mpi_team.h"
#include "process_team.h"

#include <stdio.h>

int rk_team_join(const rk_command *command, bool shares)
{
    int rank;
    const int started = rk_mpi_started(&rank);
    if (started == 0 || !shares) {
        return started > 1 && rank > 0 ? RK_EXIT_DONE : RK_PARSED;
    }
    const rk_mpi *mpi = rk_mpi_load();
    if (!mpi) {
        return started == 1 ? RK_PARSED
                            : rk_fail_command(command,
                                              "this reckon was built without MPI, and each of the "
                                              "%d processes would do all of the work: install MPI "
                                              "(libopenmpi-dev) and build again, or start one",
                                              started);
    }
    rk_team *joined = mpi->begin();
    rk_team_keep(joined);
    if (joined && joined->size == 1 && started > 1) {
        return rk_fail_command(command,
                               "this is one of %d processes, but MPI does not see the others, and "
                               "each would do all of the work: start them by the mpirun of the MPI "
                               "that reckon was built with, or by srun --mpi=pmix",
                               started);
    }
    if (joined && joined->rank > 0 && !freopen("/dev/null", "w", stdout)) {
        return RK_EXIT_USAGE; /* it would repeat what rank 0 prints */
    }
    return joined ? RK_PARSED : rk_fail_command(command, "MPI does not work here");
}

void rk_team_report(const rk_command *command)
{
    const rk_team *team = rk_team_joined();
    if (!team || team->rank > 0) {
        return;
    }
    double all = 0;
    for (int rank = 0; rank < team->size; rank++) {
        all += team->cpu_s[rank];
    }
    (void)fprintf(stderr, "reckon %s: processor time by rank:", rk_command_name(command));
    for (int rank = 0; rank < team->size; rank++) {
        (void)fprintf(stderr, "%s %.3f s (%.1f %%)", rank ? "," : "", team->cpu_s[rank],
                      all > 0 ? 100 * team->cpu_s[rank] / all : 0);
    }
    (void)fputc('\n', stderr);
}
