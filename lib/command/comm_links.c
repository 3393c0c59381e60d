/* SPDX-License-Identifier: Apache-2.0 */
/* Replays the messages of each phase and tabulates traffic and busy time by kind of link. */
#include "command/comm_links.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/time_text.h"
#include "io/csv_out.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The links of a phase and their loads. */
struct links {
    rk_topology topology;
    int64_t count;
    double *loads; /* owned; bytes */
};

/* Refuses phases that cannot be replayed. */
static rk_status get_links(const rk_collective_phase *phase, struct links *links, rk_error *err)
{
    rk_replay replay;
    *links = (struct links){.topology = rk_phase_topology(phase)};
    links->count = rk_topology_links(&links->topology);
    links->loads = phase->job.ranks > RK_PHASE_REPLAY_UNITS
                       ? NULL
                       : calloc((size_t)links->count, sizeof(*links->loads));
    if (!links->loads && phase->job.ranks <= RK_PHASE_REPLAY_UNITS) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the loads of links");
    }
    return rk_phase_replay(phase, links->loads, &replay, err);
}

static double busy_seconds(const struct links *links, int64_t link)
{
    return links->loads[link] / rk_topology_link_at(&links->topology, link).bandwidth;
}

/* The name of a link without its numbers: links of a kind share it. */
static void name_kind(const struct links *links, int64_t link, char text[RK_LINK_NAME_SIZE])
{
    char *to = text;
    rk_topology_link_name(&links->topology, link, text);
    for (const char *from = text; *from; from++) {
        if (!isdigit((unsigned char)*from)) {
            *to++ = *from;
        } else if (to == text || to[-1] != 'i') {
            *to++ = 'i';
        }
    }
    *to = '\0';
}

struct kind {
    char name[RK_LINK_NAME_SIZE];
    double count, least, sum, most, busy;
};

enum { KIND_MAX = 16 };

static struct kind *kind_of(struct kind *kinds, size_t *count, const char *name)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    if (*count == KIND_MAX) {
        return &kinds[KIND_MAX - 1];
    }
    kinds[*count] = (struct kind){.least = HUGE_VAL};
    memcpy(kinds[*count].name, name, strlen(name) + 1);
    return &kinds[(*count)++];
}

/* A mesh has no link from a rank to itself. */
static bool exists(const struct links *links, int64_t link)
{
    return links->topology.kind != RK_TOPOLOGY_MESH ||
           link / links->topology.ranks != link % links->topology.ranks;
}

static void add_kinds(rk_table *table, const rk_collective_phase *phase, const struct links *links)
{
    struct kind kinds[KIND_MAX];
    char name[RK_LINK_NAME_SIZE];
    size_t count = 0;
    for (int64_t i = 0; i < links->count; i++) {
        if (exists(links, i)) {
            name_kind(links, i, name);
            struct kind *kind = kind_of(kinds, &count, name);
            kind->count++;
            kind->sum += links->loads[i];
            kind->least = rk_min(kind->least, links->loads[i]);
            kind->most = rk_max(kind->most, links->loads[i]);
            kind->busy = rk_max(kind->busy, busy_seconds(links, i));
        }
    }
    for (size_t i = 0; i < count; i++) {
        char time[RK_TIME_TEXT_SIZE];
        rk_table_cell(table, "%s in %s", rk_collective_names[phase->job.op], phase->tier->name);
        rk_table_cell(table, "%s", kinds[i].name);
        rk_table_cell(table, "%.0f", kinds[i].count);
        rk_table_cell(table, "%.4g", kinds[i].least);
        rk_table_cell(table, "%.4g", kinds[i].sum / kinds[i].count);
        rk_table_cell(table, "%.4g", kinds[i].most);
        rk_table_cell(table, "%s", rk_time_text(kinds[i].busy, time));
    }
}

rk_status rk_comm_links_add(rk_table *table, const rk_collective_plan *plan, rk_error *err)
{
    for (int i = 0; i < plan->phase_count; i++) {
        struct links links;
        const rk_status status = get_links(&plan->phases[i], &links, err);
        if (status == RK_OK) {
            add_kinds(table, &plan->phases[i], &links);
        }
        free(links.loads);
        if (status == RK_ERR_MEMORY) {
            return status;
        }
    }
    return RK_OK;
}

rk_status rk_comm_links_write(rk_out *out, rk_collective op, double bytes,
                              const rk_collective_plan *plan, rk_error *err)
{
    assert(bytes >= 0 && plan->phase_count >= 1);
    rk_status status = RK_OK;
    for (int i = 0; i < plan->phase_count && !status; i++) {
        const rk_collective_phase *phase = &plan->phases[i];
        struct links links;
        char name[RK_LINK_NAME_SIZE];
        status = get_links(phase, &links, err);
        for (int64_t k = 0; k < links.count && !status; k++) {
            if (exists(&links, k)) {
                rk_out_printf(out, "%s,%.0f,%s,%s,", rk_collective_names[op], bytes, plan->name,
                              rk_collective_names[phase->job.op]);
                rk_csv_cell(out, phase->tier->name);
                rk_out_text(out, ",");
                rk_csv_cell(out, rk_topology_link_name(&links.topology, k, name));
                rk_out_printf(out, ",%.17g,%.6g\n", links.loads[k],
                              busy_seconds(&links, k) / phase->seconds);
            }
        }
        free(links.loads);
    }
    return status;
}
