/* SPDX-License-Identifier: Apache-2.0 */
/* Replays the messages of a phase over its links. */
#include "comm/link_loads.h"

#include "base/error.h"
#include "base/extremes.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

rk_status rk_link_loads_of(const rk_collective_phase *phase, rk_link_loads *loads, rk_error *err)
{
    rk_replay replay;
    const bool replayed = phase->job.ranks <= RK_PHASE_REPLAY_UNITS;
    *loads = (rk_link_loads){.topology = rk_phase_topology(phase)};
    loads->count = rk_topology_links(&loads->topology);
    loads->bytes = replayed ? calloc((size_t)loads->count, sizeof(*loads->bytes)) : NULL;
    if (!loads->bytes && replayed) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the loads of links");
    }
    return rk_phase_replay(phase, loads->bytes, &replay, err);
}

void rk_link_loads_clear(rk_link_loads *loads)
{
    free(loads->bytes);
    loads->bytes = NULL;
}

bool rk_link_exists(const rk_link_loads *loads, int64_t link)
{
    return loads->topology.kind != RK_TOPOLOGY_MESH ||
           link / loads->topology.ranks != link % loads->topology.ranks;
}

double rk_link_busy_s(const rk_link_loads *loads, int64_t link)
{
    return loads->bytes[link] / rk_topology_link_at(&loads->topology, link).bandwidth;
}

/* The name of a link without its numbers: links of a kind share it. */
static void name_kind(const rk_link_loads *loads, int64_t link, char text[RK_LINK_NAME_SIZE])
{
    char *to = text;
    rk_topology_link_name(&loads->topology, link, text);
    for (const char *from = text; *from; from++) {
        if (!isdigit((unsigned char)*from)) {
            *to++ = *from;
        } else if (to == text || to[-1] != 'i') {
            *to++ = 'i';
        }
    }
    *to = '\0';
}

static rk_link_kind *kind_of(rk_link_kind *kinds, size_t *count, const char *name)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    if (*count == RK_LINK_KIND_MAX) {
        return &kinds[RK_LINK_KIND_MAX - 1];
    }
    kinds[*count] = (rk_link_kind){.least = HUGE_VAL};
    memcpy(kinds[*count].name, name, strlen(name) + 1);
    return &kinds[(*count)++];
}

size_t rk_link_kinds_of(const rk_link_loads *loads, rk_link_kind kinds[RK_LINK_KIND_MAX])
{
    char name[RK_LINK_NAME_SIZE];
    size_t count = 0;
    for (int64_t i = 0; i < loads->count; i++) {
        if (!rk_link_exists(loads, i)) {
            continue;
        }
        name_kind(loads, i, name);
        rk_link_kind *kind = kind_of(kinds, &count, name);
        kind->count++;
        kind->sum += loads->bytes[i];
        kind->least = rk_min(kind->least, loads->bytes[i]);
        kind->most = rk_max(kind->most, loads->bytes[i]);
        kind->busy_s = rk_max(kind->busy_s, rk_link_busy_s(loads, i));
    }
    return count;
}
