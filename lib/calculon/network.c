/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the parallel groups of a mapping fit on the network tiers it puts them on. */
#include "calculon/primitives.h"

rk_verdict rk_network_verdict(const rk_calculon_sys *sys, const rk_calculon_exe *exe, int *tier)
{
    const int64_t degree[3] = {exe->tensor_par, exe->pipeline_par, exe->data_par};
    const int64_t on[3] = {exe->tensor_par_net, exe->pipeline_par_net, exe->data_par_net};

    for (int i = 0; i < sys->network_count; i++) {
        /* Degrees divide num_procs, so their product on one tier cannot overflow. */
        int64_t span = 1;
        for (int k = 0; k < 3; k++) {
            if (on[k] == i && degree[k] > 1) {
                span *= degree[k];
            }
        }
        if (span == 1) {
            continue;
        }
        *tier = i;
        if (span > sys->networks[i].size) {
            return RK_NETWORK_TOO_SMALL;
        }
        if (sys->networks[i].must_be_filled && sys->networks[i].size % span != 0) {
            return RK_NETWORK_NOT_FILLED;
        }
    }
    return RK_FITS;
}
