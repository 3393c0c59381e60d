/* SPDX-License-Identifier: Apache-2.0 */
/* Detects an MPI launch by the environment variables of Open MPI, MPICH and Slurm. */
#include "mpi_team.h"

#include <stdlib.h>

int rk_mpi_started(void)
{
    /* Environment variables with the number of processes that were started together. */
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"}, /* Open MPI */
        {"PMI_RANK", "PMI_SIZE"},                         /* MPICH, and srun for it */
        {"PMIX_RANK", "SLURM_NTASKS"},                    /* srun for Open MPI */
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (getenv(names[i][0])) {
            const char *size = getenv(names[i][1]);
            const long count = size ? strtol(size, NULL, 10) : 1;
            return count > 1 && count < 1000000 ? (int)count : 1;
        }
    }
    return 0;
}
