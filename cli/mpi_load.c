/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the module with MPI from the run path of the program. */
#include "mpi_team.h"

#include <dlfcn.h>
#include <stddef.h>

const rk_mpi *rk_mpi_load(void)
{
#ifdef RK_MPI_MODULE
    void *module = dlopen(RK_MPI_MODULE, RTLD_NOW | RTLD_GLOBAL); /* stays loaded */
    return module ? dlsym(module, "rk_mpi_module") : NULL;
#else
    return NULL;
#endif
}
