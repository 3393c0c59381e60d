/* SPDX-License-Identifier: Apache-2.0 */
/* Names of collectives and of plans, and what NCCL and HCCL call the same. */
#include "system/collective_plan.h"

#include "base/named.h"

#include <string.h>
#include <strings.h>

const char *const rk_collective_names[] = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
    "send",       "scatter",        "gather",     "reduce",     NULL};

const char *const rk_collective_plan_names[RK_PLAN_NAME_COUNT + 1] = {RK_FLAT_RING_NAME,
                                                                      RK_FLAT_EXCHANGE_NAME,
                                                                      RK_CONCURRENT_NAME,
                                                                      RK_AXES_NAME,
                                                                      RK_AHC_NAME,
                                                                      RK_USUAL_NAME,
                                                                      NULL};

static const rk_named_text aliases[] = {
    {"nvls", "in-network"},         {"sharp", "in-network"},       {"nvls-tree", "tree"},
    {"double-binary-tree", "tree"}, {"h-d_r", "halving-doubling"}, /* HCCL_ALGO */
    {"pipeline", "concurrent"},     {"fullmesh", "mesh"},
};

const char *rk_collective_plan_name(const char *asked)
{
    for (size_t i = 0; rk_algorithms[i]; i++) {
        if (strcasecmp(asked, rk_algorithms[i]->name) == 0) {
            return rk_algorithms[i]->name;
        }
    }
    for (size_t i = 0; rk_collective_plan_names[i]; i++) {
        if (strcasecmp(asked, rk_collective_plan_names[i]) == 0) {
            return rk_collective_plan_names[i];
        }
    }
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcasecmp(asked, aliases[i].name) == 0) {
            return aliases[i].text;
        }
    }
    return NULL;
}
