/* SPDX-License-Identifier: Apache-2.0 */
/* Names of ways, and what NCCL and HCCL call the same. */
#include "comm/way.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *theirs, *ours;
} aliases[] = {
    {"nvls", "in-network"},         {"sharp", "in-network"},       {"nvls-tree", "tree"},
    {"double-binary-tree", "tree"}, {"h-d_r", "halving-doubling"}, /* HCCL_ALGO */
    {"pipeline", "concurrent"},     {"fullmesh", "mesh"},
};

const char *rk_way_name_of(const char *asked)
{
    for (size_t i = 0; rk_algorithms[i]; i++) {
        if (strcasecmp(asked, rk_algorithms[i]->name) == 0) {
            return rk_algorithms[i]->name;
        }
    }
    for (size_t i = 0; rk_way_names[i]; i++) {
        if (strcasecmp(asked, rk_way_names[i]) == 0) {
            return rk_way_names[i];
        }
    }
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcasecmp(asked, aliases[i].theirs) == 0) {
            return aliases[i].ours;
        }
    }
    return NULL;
}
