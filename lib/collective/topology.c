/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Link numbers.  Ports: 2 r out of rank r, 2 r + 1 into it.  With servers, ports of the local
 * switch follow the NICs', or the links of each server's mesh.  Leaf switches have an uplink and a
 * downlink each, rails one pair per leaf of a rail.
 */
#include "collective/topology.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static int64_t out_of(int32_t rank)
{
    return 2 * (int64_t)rank;
}

static int64_t into(int32_t rank)
{
    return 2 * (int64_t)rank + 1;
}

/* ---- torus --------------------------------------------------------------------------------- */

/* The link out of `rank` along an axis; `back` turns against the count of coordinates. */
static int64_t torus_link(int32_t rank, int axis, bool back)
{
    return ((int64_t)rank * RK_TOPOLOGY_AXES + axis) * 2 + back;
}

/* Axis by axis, each the shorter way round; of two equal ways the one that counts up. */
static int torus_route(const rk_topology *w, int32_t source, int32_t target,
                       int64_t links[RK_ROUTE_MAX])
{
    int count = 0;
    int32_t stride = 1, at = source;
    for (int axis = 0; axis < RK_TOPOLOGY_AXES; axis++) {
        const int32_t size = w->axis[axis];
        int32_t from = at / stride % size;
        const int32_t to = target / stride % size;
        const int32_t ahead = (to - from + size) % size;
        const bool back = w->closed[axis] ? 2 * ahead > size : to < from;
        while (from != to) {
            const int32_t next = (from + (back ? size - 1 : 1)) % size;
            assert(count < RK_ROUTE_MAX);
            links[count++] = torus_link(at, axis, back);
            at += (next - from) * stride;
            from = next;
        }
        stride *= size;
    }
    return count;
}

/* ---- hybrid cube mesh ---------------------------------------------------------------------- */

#define CUBE 8

/*
 * NVLinks between the GPUs of a DGX-1 with V100, six each.  Source: nvidia-smi topo, DGX-1 system
 * architecture white paper.
 */
static const int cube_links[CUBE][CUBE] = {
    {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
};

/* Straight, or over the partner in the other mesh. */
static int cube_route(int32_t source, int32_t target, int64_t links[RK_ROUTE_MAX])
{
    const int32_t partner = (source + CUBE / 2) % CUBE;
    if (cube_links[source][target] > 0) {
        links[0] = (int64_t)source * CUBE + target;
        return 1;
    }
    links[0] = (int64_t)source * CUBE + partner;
    links[1] = (int64_t)partner * CUBE + target;
    return 2;
}

/* ---- servers, leaves, groups --------------------------------------------------------------- */

static int64_t servers_of(const rk_topology *w)
{
    return w->ranks / w->local;
}

/* First link behind the NIC ports. */
static int64_t behind_ports(const rk_topology *w)
{
    return 2 * (int64_t)w->ranks;
}

static int64_t local_links(const rk_topology *w)
{
    return w->local_mesh ? (int64_t)w->ranks * w->local : 2 * (int64_t)w->ranks;
}

/* Inside a server. */
static int local_route(const rk_topology *w, int32_t source, int32_t target,
                       int64_t links[RK_ROUTE_MAX])
{
    const int64_t first = behind_ports(w);
    if (w->local_mesh) {
        links[0] = first + (int64_t)source * w->local + target % w->local;
        return 1;
    }
    links[0] = first + out_of(source);
    links[1] = first + into(target);
    return 2;
}

static int server_route(const rk_topology *w, int32_t source, int32_t target,
                        int64_t links[RK_ROUTE_MAX])
{
    if (source / w->local == target / w->local) {
        return local_route(w, source, target, links);
    }
    links[0] = out_of(source);
    links[1] = into(target);
    return 2;
}

static int leaf_route(const rk_topology *w, int32_t source, int32_t target,
                      int64_t links[RK_ROUTE_MAX])
{
    const int32_t from = source / w->local, to = target / w->local;
    int count = 0;
    links[count++] = out_of(source);
    if (from != to) {
        links[count++] = behind_ports(w) + out_of(from);
        links[count++] = behind_ports(w) + into(to);
    }
    links[count++] = into(target);
    return count;
}

/*
 * A message to another rail first goes to the rank of its own server on that rail
 * (NCCL: PXN), so that it never changes rails on the way.
 */
static int rail_route(const rk_topology *w, int32_t source, int32_t target,
                      int64_t links[RK_ROUTE_MAX])
{
    const int32_t server = source / w->local, other = target / w->local, rail = target % w->local;
    const int32_t sender = server * w->local + rail;
    const int32_t from = server / w->leaf_servers, to = other / w->leaf_servers;
    if (server == other) {
        return local_route(w, source, target, links);
    }
    int count = sender == source ? 0 : local_route(w, source, sender, links);
    links[count++] = out_of(sender);
    if (from != to) {
        const int64_t first = behind_ports(w) + local_links(w);
        links[count++] = first + out_of(from * w->local + rail);
        links[count++] = first + into(to * w->local + rail);
    }
    links[count++] = into(target);
    return count;
}

/* Minimal routing: over the links that join the two groups. */
static int dragonfly_route(const rk_topology *w, int32_t source, int32_t target,
                           int64_t links[RK_ROUTE_MAX])
{
    const int64_t from = source / w->local, to = target / w->local;
    int count = 0;
    links[count++] = out_of(source);
    if (from != to) {
        links[count++] = behind_ports(w) + from * servers_of(w) + to;
    }
    links[count++] = into(target);
    return count;
}

/* ---- all kinds ----------------------------------------------------------------------------- */

int64_t rk_topology_links(const rk_topology *w)
{
    switch (w->kind) {
    case RK_TOPOLOGY_SWITCH:
        return 2 * (int64_t)w->ranks;
    case RK_TOPOLOGY_MESH:
        return (int64_t)w->ranks * w->ranks;
    case RK_TOPOLOGY_TORUS:
        return (int64_t)w->ranks * RK_TOPOLOGY_AXES * 2;
    case RK_TOPOLOGY_SERVERS:
        return behind_ports(w) + local_links(w);
    case RK_TOPOLOGY_FAT_TREE:
        return behind_ports(w) + 2 * servers_of(w);
    case RK_TOPOLOGY_RAILS:
        return behind_ports(w) + local_links(w) +
               2 * ((servers_of(w) + w->leaf_servers - 1) / w->leaf_servers) * w->local;
    case RK_TOPOLOGY_CUBE_MESH:
        return CUBE * CUBE;
    case RK_TOPOLOGY_DRAGONFLY:
        return behind_ports(w) + servers_of(w) * servers_of(w);
    }
    return 0;
}

int rk_topology_route(const rk_topology *w, int32_t source, int32_t target,
                      int64_t links[RK_ROUTE_MAX])
{
    assert(source != target && source >= 0 && source < w->ranks && target >= 0 &&
           target < w->ranks);
    switch (w->kind) {
    case RK_TOPOLOGY_SWITCH:
        links[0] = out_of(source);
        links[1] = into(target);
        return 2;
    case RK_TOPOLOGY_MESH:
        links[0] = (int64_t)source * w->ranks + target;
        return 1;
    case RK_TOPOLOGY_TORUS:
        return torus_route(w, source, target, links);
    case RK_TOPOLOGY_SERVERS:
        return server_route(w, source, target, links);
    case RK_TOPOLOGY_FAT_TREE:
        return leaf_route(w, source, target, links);
    case RK_TOPOLOGY_RAILS:
        return rail_route(w, source, target, links);
    case RK_TOPOLOGY_CUBE_MESH:
        return cube_route(source, target, links);
    case RK_TOPOLOGY_DRAGONFLY:
        return dragonfly_route(w, source, target, links);
    }
    return 0;
}

rk_link rk_topology_link_at(const rk_topology *w, int64_t link)
{
    assert(link >= 0 && link < rk_topology_links(w));
    const rk_link port = {w->bandwidth, w->latency};
    const bool is_port = link < behind_ports(w);
    switch (w->kind) {
    case RK_TOPOLOGY_SWITCH:
    case RK_TOPOLOGY_MESH:
    case RK_TOPOLOGY_TORUS:
        return port;
    case RK_TOPOLOGY_SERVERS:
        return is_port ? port : (rk_link){w->local_bandwidth, w->local_latency};
    case RK_TOPOLOGY_FAT_TREE:
        return is_port ? port : (rk_link){w->bandwidth * (double)w->local / w->oversubscription, 0};
    case RK_TOPOLOGY_RAILS:
        if (is_port) {
            return port;
        }
        return link < behind_ports(w) + local_links(w)
                   ? (rk_link){w->local_bandwidth, w->local_latency}
                   : (rk_link){w->bandwidth * (double)w->leaf_servers / w->oversubscription, 0};
    case RK_TOPOLOGY_CUBE_MESH:
        return (rk_link){w->bandwidth * cube_links[link / CUBE][link % CUBE], w->latency};
    case RK_TOPOLOGY_DRAGONFLY:
        return is_port ? port : (rk_link){w->global_bandwidth, w->global_latency};
    }
    return port;
}

/* A port or a pair of links that both number 2 i out of i and 2 i + 1 into it. */
static void name_port(const char *what, int64_t link, char text[RK_LINK_NAME_SIZE])
{
    (void)snprintf(text, RK_LINK_NAME_SIZE, "%s of %" PRId64 ", %s", what, link / 2,
                   link % 2 ? "in" : "out");
}

static void name_local(const rk_topology *w, int64_t link, char text[RK_LINK_NAME_SIZE])
{
    if (w->local_mesh) {
        const int64_t source = link / w->local;
        (void)snprintf(text, RK_LINK_NAME_SIZE, "%" PRId64 " to %" PRId64, source,
                       source / w->local * w->local + link % w->local);
    } else {
        name_port("local port", link, text);
    }
}

const char *rk_topology_link_name(const rk_topology *w, int64_t link, char text[RK_LINK_NAME_SIZE])
{
    const int64_t behind = link - behind_ports(w);
    switch (w->kind) {
    case RK_TOPOLOGY_MESH:
    case RK_TOPOLOGY_CUBE_MESH:
        (void)snprintf(text, RK_LINK_NAME_SIZE, "%" PRId64 " to %" PRId64, link / w->ranks,
                       link % w->ranks);
        return text;
    case RK_TOPOLOGY_TORUS:
        (void)snprintf(text, RK_LINK_NAME_SIZE, "%" PRId64 " along axis %d, %s",
                       link / (2 * RK_TOPOLOGY_AXES), (int)(link / 2 % RK_TOPOLOGY_AXES),
                       link % 2 ? "back" : "ahead");
        return text;
    default:
        break;
    }
    if (behind < 0) {
        name_port("port", link, text);
    } else if (w->kind == RK_TOPOLOGY_DRAGONFLY) {
        (void)snprintf(text, RK_LINK_NAME_SIZE, "group %" PRId64 " to group %" PRId64,
                       behind / servers_of(w), behind % servers_of(w));
    } else if (w->kind == RK_TOPOLOGY_FAT_TREE) {
        name_port("uplinks of leaf", behind, text);
    } else if (behind < local_links(w)) {
        name_local(w, behind, text);
    } else {
        name_port("uplinks of rail leaf", behind - local_links(w), text);
    }
    return text;
}
