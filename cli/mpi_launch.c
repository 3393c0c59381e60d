/* SPDX-License-Identifier: Apache-2.0 */
/* Detects an MPI launch by the environment variables of Open MPI, MPICH and Slurm. */
#include "mpi_team.h"

#include <stdlib.h>

int rk_mpi_started(int *rank)
{
    /* Environment variables with the rank, and the number of processes started together. */
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, /* Open MPI */
        {"PMI_RANK", "PMI_SIZE"},                         /* MPICH, and srun for it */
        {"PMIX_RANK", "SLURM_NTASKS"},                    /* srun for Open MPI */
    };
    *rank = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *place = getenv(names[i][0]), *size = getenv(names[i][1]);
        if (place || (size && i == 0)) {
            const long count = size ? strtol(size, NULL, 10) : 1;
            *rank = place ? (int)strtol(place, NULL, 10) : 0;
            return count > 1 && count < 1000000 ? (int)count : 1;
        }
    }
    return 0;
}
