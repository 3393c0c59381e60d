/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of collectives on systems: closed forms against messages on links, published cases. */
#include "system/collective_plan.h"
#include "system/nccl.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

static rk_tier tier(rk_tier_kind kind, int64_t size, double bandwidth, double step)
{
    return (rk_tier){.kind = kind,
                     .size = size,
                     .bandwidth = bandwidth,
                     .efficiency = 1,
                     .step_latency = step,
                     .chunk_wait = 3.4e-6,
                     .message_start = 1e-6,
                     .exchange_share = 1};
}

/* Servers of `local` ranks that a switch or a mesh joins, with a NIC per rank. */
static rk_system servers(rk_tier_kind kind, int64_t local, double inside, double nic)
{
    return (rk_system){
        .tier_count = 2,
        .tiers = {tier(kind, local, inside, 0), tier(RK_TIER_FABRIC, local * 64, nic, 0)}};
}

static int32_t draw(uint64_t *seed, int32_t low, int32_t high)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int32_t)((*seed >> 33) % (uint64_t)(high - low + 1));
}

static rk_collective_plans list_chunked(const rk_system *system, const rk_group *group,
                                        rk_collective op, double bytes, int32_t chunks)
{
    const rk_collective_query query = {system, group, op, bytes, chunks};
    rk_collective_plans plans;
    rk_error err;
    assert_int_equal(rk_list_collective_plans(&query, &plans, &err), RK_OK);
    assert_true(plans.count >= 1);
    return plans;
}

static rk_collective_plans list(const rk_system *system, const rk_group *group, rk_collective op,
                                double bytes)
{
    return list_chunked(system, group, op, bytes, RK_CHUNKS_AS_MEASURED);
}

/* The plan of a name; NULL: the group has none. */
static const rk_collective_plan *named(const rk_collective_plans *plans, const char *name)
{
    for (size_t i = 0; i < plans->count; i++) {
        if (strcmp(plans->plans[i].name, name) == 0) {
            return &plans->plans[i];
        }
    }
    return NULL;
}

static double seconds_of(const rk_system *system, int32_t ranks, rk_collective op, double bytes,
                         const char *name)
{
    const rk_group group = rk_group_packed(system, ranks, 1);
    const rk_collective_query query = {system, &group, op, bytes, RK_CHUNKS_AS_MEASURED};
    rk_collective_plan plan;
    assert_true(rk_find_collective_plan(&query, name, &plan));
    return plan.seconds;
}

/* ---- phases against their messages --------------------------------------------------------- */

static void check_phases(const rk_collective_plan *plan)
{
    double sum = 0, longest = 0;
    for (int i = 0; i < plan->phase_count; i++) {
        const rk_collective_phase *p = &plan->phases[i];
        const rk_link link = rk_phase_link(p);
        rk_replay replay;
        rk_error err;
        assert_int_equal(rk_phase_replay(p, NULL, &replay, &err), RK_OK);
        assert_close(replay.seconds,
                     p->tier->latency + p->traffic.start_s +
                         closed_seconds(p->algorithm, &p->job, &link, 0),
                     1e-9);
        sum += p->seconds;
        longest = fmax(longest, p->seconds);
    }
    if (plan->phase_count > 0) {
        assert_true(longest <= plan->seconds && plan->seconds <= sum * (1 + 1e-12));
    }
}

/* A single plan is the one in the list. */
static void check_found(const rk_collective_query *query, const rk_collective_plans *plans)
{
    rk_collective_plan found;
    assert_true(rk_find_collective_plan(query, NULL, &found));
    assert_string_equal(found.name, plans->plans[0].name);
    for (size_t i = 0; i < plans->count; i++) {
        assert_true(rk_find_collective_plan(query, plans->plans[i].name, &found));
        assert_close(found.seconds, plans->plans[i].seconds, 0);
        assert_int_equal(found.phase_count, plans->plans[i].phase_count);
    }
    assert_false(rk_find_collective_plan(query, "rings", &found));
}

/* On random machines and groups every phase takes what its messages take on the links. */
static void test_phases(void **state)
{
    static const rk_tier_kind kinds[] = {RK_TIER_SWITCH, RK_TIER_MESH, RK_TIER_FABRIC};
    uint64_t seed = 18;
    int checked = 0;
    (void)state;
    for (int trial = 0; trial < 3000; trial++) {
        const int64_t local = draw(&seed, 2, 9), nodes = draw(&seed, 2, 6);
        rk_system s = {
            .tier_count = 3,
            .tiers = {tier(kinds[draw(&seed, 0, 2)], local, draw(&seed, 10, 900) * 1e9, 1e-6),
                      tier(kinds[draw(&seed, 0, 2)], local * nodes, draw(&seed, 5, 90) * 1e9, 3e-6),
                      tier(RK_TIER_FABRIC, local * nodes * 4, draw(&seed, 5, 50) * 1e9, 5e-6)}};
        s.tiers[0].latency = 4e-6;
        s.tiers[0].in_network_reduce = draw(&seed, 0, 1);
        s.tiers[0].reduce_share = 0.9;
        s.tiers[2].serial = 0.5;
        const rk_group group =
            rk_group_packed(&s, draw(&seed, 2, (int32_t)(local * nodes * 4)), draw(&seed, 1, 3));
        const rk_collective op = (rk_collective)draw(&seed, 0, RK_COLL_COUNT - 1);
        if (group.size > s.tiers[2].size / 3) {
            continue;
        }
        const rk_collective_query query = {
            .system = &s, .group = &group, .op = op, .bytes = draw(&seed, 1, 100000) * 1e3};
        rk_collective_plans plans = list(&s, &group, op, query.bytes);
        for (size_t i = 0; i < plans.count; i++) {
            assert_true(i == 0 || plans.plans[i - 1].seconds <= plans.plans[i].seconds);
            assert_true(plans.plans[i].seconds > 0);
            check_phases(&plans.plans[i]);
            checked += plans.plans[i].phase_count;
        }
        check_found(&query, &plans);
        rk_collective_plans_clear(&plans);
    }
    assert_true(checked > 1000);
}

/* ---- all tiers at once --------------------------------------------------------------------- */

/*
 * Seconds of a round of `local` rings, each with its part of the tensor: in every server, ring c
 * goes round from rank c + 1 to rank c, from which it leaves.
 */
static double ring_round_seconds(const rk_topology *w, double bytes)
{
    const int32_t g = w->local, n = w->ranks;
    double *loads = calloc((size_t)rk_topology_links(w), sizeof(*loads));
    double longest = 0;
    assert_non_null(loads);
    for (int32_t rank = 0; rank < n; rank++) {
        for (int32_t ring = 0; ring < g; ring++) {
            const int32_t server = rank / g, place = rank % g, next = (place + 1) % g;
            const int32_t to = place == ring ? (server + 1) * g % n + next : server * g + next;
            int64_t links[RK_ROUTE_MAX];
            const int count = rk_topology_route(w, rank, to, links);
            for (int i = 0; i < count; i++) {
                loads[links[i]] += bytes / n / g;
            }
        }
    }
    for (int64_t i = 0; i < rk_topology_links(w); i++) {
        longest = fmax(longest, loads[i] / rk_topology_link_at(w, i).bandwidth);
    }
    free(loads);
    return longest;
}

static void test_all_tiers_at_once(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int trial = 0; trial < 100; trial++) {
        const int32_t local = draw(&seed, 2, 8), nodes = draw(&seed, 2, 8), n = local * nodes;
        const double inside = draw(&seed, 20, 900) * 1e9, nic = draw(&seed, 5, 100) * 1e9;
        const double bytes = draw(&seed, 1, 1000) * 1e6;
        const rk_system s = servers(RK_TIER_SWITCH, local, inside, nic);
        const rk_topology w = {.kind = RK_TOPOLOGY_SERVERS,
                               .ranks = n,
                               .bandwidth = nic,
                               .local = local,
                               .local_bandwidth = inside};
        assert_close(seconds_of(&s, n, RK_COLL_ALL_REDUCE, bytes, "flat-ring"),
                     2 * (n - 1) * ring_round_seconds(&w, bytes), 1e-9);
        const rk_collective_job job = {.op = RK_COLL_ALL_TO_ALL, .ranks = n, .bytes = bytes};
        rk_replay replay;
        rk_error err;
        assert_int_equal(
            rk_algorithm_replay(&rk_algorithm_direct, &job, &w, 0, NULL, &replay, &err), RK_OK);
        assert_close(seconds_of(&s, n, RK_COLL_ALL_TO_ALL, bytes, "flat-exchange"),
                     replay.seconds + (n - 1) * 1e-6, 1e-9);
    }
}

/*
 * The messages of HCCL's pipeline in servers of LOCAL ranks: every round a rank passes a chunk to
 * the next server, and hands the one that came in the round before to the ranks of its own.
 */
#define LOCAL 8

static void concurrent_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t n = job->ranks, servers = n / LOCAL;
    for (int32_t round = 0; round < servers; round++) {
        for (int32_t rank = 0; rank < n; rank++) {
            const int32_t server = rank / LOCAL;
            /* the chunk that reached this server in the round before; in the first, the own one */
            const int32_t origin = (server - round + servers) % servers * LOCAL + rank % LOCAL;
            rk_collective_message m = {
                .round = round,
                .source = rank,
                .target = (rank + LOCAL) % n,
                .first_block = origin,
                .blocks = 1,
                .bytes = job->bytes / (double)n,
            };
            if (round < servers - 1) {
                visit(user, &m);
            }
            for (int32_t peer = 0; peer < LOCAL; peer++) {
                m.target = server * LOCAL + peer;
                if (m.target != rank) {
                    visit(user, &m);
                }
            }
        }
    }
}

static void test_concurrent(void **state)
{
    const rk_algorithm algorithm = {.send = concurrent_send};
    uint64_t seed = 36;
    (void)state;
    for (int trial = 0; trial < 100; trial++) {
        rk_system s =
            servers(RK_TIER_MESH, LOCAL, draw(&seed, 50, 900) * 1e9, draw(&seed, 5, 100) * 1e9);
        const rk_collective_job job = {.op = RK_COLL_ALL_GATHER,
                                       .ranks = LOCAL * draw(&seed, 2, 8),
                                       .bytes = draw(&seed, 1, 1000) * 1e6};
        s.tiers[0].step_latency = draw(&seed, 1, 9) * 1e-6;
        s.tiers[1].step_latency = draw(&seed, 1, 20) * 1e-6;
        const rk_topology joined = {.kind = RK_TOPOLOGY_SERVERS,
                                    .ranks = job.ranks,
                                    .bandwidth = s.tiers[1].bandwidth,
                                    .latency = s.tiers[1].step_latency,
                                    .local = LOCAL,
                                    .local_mesh = true,
                                    .local_bandwidth = s.tiers[0].bandwidth / (LOCAL - 1),
                                    .local_latency = s.tiers[0].step_latency};
        rk_replay replay;
        rk_error err;
        assert_int_equal(rk_algorithm_replay(&algorithm, &job, &joined, 0, NULL, &replay, &err),
                         RK_OK);
        assert_close(seconds_of(&s, job.ranks, RK_COLL_ALL_GATHER, job.bytes, "concurrent"),
                     replay.seconds, 1e-12);
        assert_close(seconds_of(&s, job.ranks, RK_COLL_ALL_REDUCE, job.bytes, "concurrent"),
                     2 * replay.seconds, 1e-12);
    }
}

/* ---- published cases ----------------------------------------------------------------------- */

/* UT-34 and UT-36 through a system. */
static void test_known(void **state)
{
    const rk_system one = {.tier_count = 1, .tiers = {tier(RK_TIER_FABRIC, 8, 450e9, 3e-6)}};
    rk_system s = servers(RK_TIER_MESH, 8, 7 * 56e9, 50e9);
    (void)state;
    assert_close(seconds_of(&one, 8, RK_COLL_ALL_REDUCE, 0x1p30, "ring"), 4.2177e-3, 1e-4);
    s.tiers[0].step_latency = 5e-6;
    s.tiers[1].step_latency = 10e-6;
    s.tiers[1].serial = 1;
    assert_close(seconds_of(&s, 32, RK_COLL_ALL_GATHER, 0x1p30, "concurrent"), 2.647e-3, 1e-3);
    assert_close(seconds_of(&s, 32, RK_COLL_ALL_GATHER, 0x1p30, "ring"), 4.445e-3, 1e-2);
}

/* NCCL's machine, from a system. */
static void test_nccl(void **state)
{
    rk_system s = servers(RK_TIER_SWITCH, 8, 450e9, 50e9);
    rk_group group = rk_group_packed(&s, 32, 1);
    rk_nccl_graph graph;
    (void)state;
    assert_false(rk_nccl_graph_of(&s, &group, &graph));
    s.accelerator.generation = RK_GENERATION_HOPPER;
    assert_true(rk_nccl_graph_of(&s, &group, &graph));
    assert_int_equal(graph.nodes, 4);
    assert_close(graph.channels * graph.intra_GBps, 18 * 20.6, 1e-12);
    assert_close(graph.channels * graph.inter_GBps, 400, 1e-12);
    group = rk_group_packed(&s, 31, 1);
    assert_false(rk_nccl_graph_of(&s, &group, &graph)); /* a node with 7 */
}

/* Links have names that differ. */
static void test_link_names(void **state)
{
    const rk_topology kinds[] = {
        {.kind = RK_TOPOLOGY_SWITCH, .ranks = 6, .local = 6},
        {.kind = RK_TOPOLOGY_MESH, .ranks = 6, .local = 6},
        {.kind = RK_TOPOLOGY_TORUS, .ranks = 8, .axis = {2, 2, 2}, .local = 8},
        {.kind = RK_TOPOLOGY_CUBE_MESH, .ranks = 8, .local = 8},
        {.kind = RK_TOPOLOGY_SERVERS, .ranks = 8, .local = 4},
        {.kind = RK_TOPOLOGY_SERVERS, .ranks = 8, .local = 4, .local_mesh = true},
        {.kind = RK_TOPOLOGY_FAT_TREE, .ranks = 8, .local = 4},
        {.kind = RK_TOPOLOGY_RAILS, .ranks = 16, .local = 4, .leaf_servers = 2},
        {.kind = RK_TOPOLOGY_DRAGONFLY, .ranks = 8, .local = 4},
    };
    static const struct {
        int kind;
        int64_t link;
        const char *name;
    } names[] = {
        {0, 3, "port of 1, in"},
        {1, 2 * 6 + 3, "2 to 3"},
        {2, 3 * 2 * RK_TOPOLOGY_AXES + 2 + 1, "3 along axis 1, back"},
        {3, 7 * 8 + 1, "7 to 1"},
        {4, 16 + 5, "local port of 2, in"},
        {5, 16 + 5 * 4 + 2, "5 to 6"},
        {6, 16, "uplinks of leaf of 0, out"},
        {7, 32 + 32 + 2, "uplinks of rail leaf of 1, out"},
        {8, 16 + 2, "group 1 to group 0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[RK_LINK_NAME_SIZE];
        assert_string_equal(rk_topology_link_name(&kinds[names[i].kind], names[i].link, name),
                            names[i].name);
    }
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const int64_t links = rk_topology_links(&kinds[k]);
        for (int64_t i = 0; i < links; i++) {
            char name[RK_LINK_NAME_SIZE], other[RK_LINK_NAME_SIZE];
            rk_topology_link_name(&kinds[k], i, name);
            for (int64_t j = 0; j < i; j++) {
                assert_string_not_equal(name, rk_topology_link_name(&kinds[k], j, other));
            }
        }
    }
}

/* Small tensors go by few rounds, large ones by few bytes. */
static void test_best(void **state)
{
    const rk_system s = {.tier_count = 1, .tiers = {tier(RK_TIER_FABRIC, 64, 50e9, 5e-6)}};
    const rk_group group = rk_group_packed(&s, 64, 1);
    (void)state;
    rk_collective_plans plans = list(&s, &group, RK_COLL_ALL_GATHER, 1024);
    assert_true(named(&plans, "ring")->seconds > 63 * 5e-6);
    assert_true(named(&plans, "pat")->seconds < 6.1 * 5e-6);
    assert_null(named(&plans, "tree"));
    assert_null(named(&plans, "flat-ring")); /* one tier */
    rk_collective_plans_clear(&plans);
    plans = list(&s, &group, RK_COLL_SEND, 1e6);
    assert_int_equal(plans.count, 1);
    assert_close(plans.plans[0].seconds, 5e-6 + 1e6 / 50e9, 1e-9);
    rk_collective_plans_clear(&plans);
}

/*
 * In one tier, and by one ring through all, an algorithm takes here what estimates take for it, and
 * no estimate in one tier is below the cheapest plan.
 */
static void check_agreement(const rk_system *s, int32_t most, uint64_t *seed, int *same)
{
    const rk_group group = rk_group_packed(s, draw(seed, 2, most), 1);
    const rk_collective op = (rk_collective)draw(seed, 0, RK_COLL_COUNT - 1);
    const double bytes = exp(draw(seed, 0, 24));
    rk_collective_plan usual;
    rk_system plain = *s;
    plain.accelerator.measured = NULL;
    for (int i = 0; i < plain.tier_count; i++) {
        plain.tiers[i].side_count = 0;
    }
    rk_plan_collective(&(rk_collective_query){&plain, &group, op, bytes, 0}, &usual);
    assert_close(rk_collective_seconds(&plain, op, bytes, &group), usual.seconds, 0);
    rk_collective_plans plans = list(&plain, &group, op, bytes);
    const rk_collective_plan *plan = named(&plans, usual.name);
    const bool one = group.within[0] == group.size;
    assert_true(!one || plans.plans[0].seconds <= usual.seconds * (1 + 1e-12));
    if (plan && (one || strcmp(usual.name, RK_FLAT_RING_NAME) == 0)) {
        assert_close(plan->seconds, usual.seconds, 1e-12);
        ++*same;
    }
    rk_collective_plans_clear(&plans);
}

static void test_agreement(void **state)
{
    static const char *const systems[] = {"h100-sxm",    "a100-sxm-80gb", "gb200-nvl72-pod",
                                          "mi300x",      "atlas-800t-a2", "cloudmatrix-384",
                                          "tpu-v5p-pod", "h100-p5-efa",   "selene"};
    uint64_t seed = 3;
    int same = 0;
    (void)state;
    for (size_t k = 0; k < sizeof(systems) / sizeof(systems[0]); k++) {
        rk_system s;
        rk_error err;
        assert_int_equal(rk_system_load(systems[k], &s, &err), RK_OK);
        for (int i = 0; i < 200; i++) {
            const int32_t most = (int32_t)s.tiers[i % 2 ? s.tier_count - 1 : 0].size;
            check_agreement(&s, most < 4096 ? most : 4096, &seed, &same);
        }
        rk_system_clear(&s);
    }
    assert_true(same > 1000);
}

/* A rank per server uses no link inside, and a torus takes rings along its axes. */
static void test_tiers_left_out(void **state)
{
    rk_system s = servers(RK_TIER_SWITCH, 8, 450e9, 50e9);
    rk_group group = rk_group_packed(&s, 8, 8);
    rk_replay replay;
    rk_error err;
    (void)state;
    rk_collective_plans plans = list(&s, &group, RK_COLL_ALL_REDUCE, 1e8);
    for (size_t i = 0; i < plans.count; i++) {
        assert_true(plans.plans[i].phase_count <= 1);
    }
    rk_collective_plans_clear(&plans);
    s.tiers[0] = tier(RK_TIER_TORUS, 256, 180e9, 1e-6);
    s.tiers[0].axes = 2;
    s.tiers[0].ring = 16;
    s.tiers[1].size = 1024;
    group = rk_group_packed(&s, 256, 1);
    plans = list(&s, &group, RK_COLL_ALL_REDUCE, 1e8);
    assert_int_equal(plans.count, 1);
    assert_string_equal(plans.plans[0].name, "axes");
    assert_close(plans.plans[0].seconds, rk_collective_seconds(&s, RK_COLL_ALL_REDUCE, 1e8, &group),
                 1e-12);
    assert_int_equal(rk_phase_replay(&plans.plans[0].phases[0], NULL, &replay, &err),
                     RK_ERR_INVALID);
    rk_collective_plans_clear(&plans);
}

/* ---- the usual plan ------------------------------------------------------------------------ */

/* Its phases: what each tier runs, on which part of the tensor, and how they overlap. */
static void test_usual(void **state)
{
    rk_system s = servers(RK_TIER_SWITCH, 8, 450e9, 50e9);
    const rk_group group = rk_group_packed(&s, 32, 1);
    rk_collective_query query = {.system = &s, .group = &group, .bytes = 1e9};
    rk_collective_plan plan;
    (void)state;
    s.tiers[0].in_network_reduce = true;
    s.tiers[0].reduce_share = 1;
    s.tiers[1].serial = 0.25;
    s.tiers[1].step_latency = 5e-6;
    rk_plan_collective(&query, &plan);
    assert_string_equal(plan.name, "tree");
    assert_int_equal(plan.phase_count, 2);
    assert_ptr_equal(plan.phases[0].algorithm, &rk_algorithm_in_network);
    assert_ptr_equal(plan.phases[0].tier, &s.tiers[0]);
    assert_close(plan.phases[0].job.bytes, 1e9, 1e-12);
    assert_ptr_equal(plan.phases[1].algorithm, &rk_algorithm_tree);
    assert_close(plan.phases[1].job.bytes, 1e9 / 8, 1e-12);
    const double a = plan.phases[0].seconds, b = plan.phases[1].seconds;
    assert_close(plan.seconds, fmax(a, b) + 0.25 * fmin(a, b), 1e-12);

    s.tiers[0].in_network_reduce = false; /* NCCL has the ring alone */
    s.tiers[1].step_latency = 0;
    s.tiers[1].serial = 1;
    rk_plan_collective(&query, &plan);
    assert_string_equal(plan.name, RK_FLAT_RING_NAME);
    assert_int_equal(plan.phase_count, 0);

    s.tiers[1].fits[RK_COLL_ALL_REDUCE] = (rk_tier_fit){1e-5, 3e-5, 1, 0};
    rk_plan_collective(&query, &plan);
    assert_string_equal(plan.name, RK_FIT_NAME);
}

/* NCCL's tuner gives its own names to the plan, and leaves its time. */
static void test_usual_by_nccl(void **state)
{
    rk_system s = servers(RK_TIER_SWITCH, 8, 450e9, 50e9);
    const rk_group group = rk_group_packed(&s, 32, 1);
    rk_collective_query query = {.system = &s, .group = &group, .bytes = 1e9};
    rk_collective_plan plan;
    (void)state;
    rk_plan_collective(&query, &plan);
    const double seconds = plan.seconds;
    const char *name = plan.name;
    rk_name_plan_by_nccl(&query, &plan);
    assert_string_equal(plan.name, name);
    assert_null(plan.protocol);
    s.accelerator.generation = RK_GENERATION_HOPPER;
    rk_name_plan_by_nccl(&query, &plan);
    assert_string_equal(plan.name, "ring");
    assert_string_equal(plan.protocol, "simple");
    assert_close(plan.seconds, seconds, 0);
    query.op = RK_COLL_ALL_TO_ALL;
    rk_plan_collective(&query, &plan);
    rk_name_plan_by_nccl(&query, &plan);
    assert_string_equal(plan.name, "direct");
    assert_null(plan.protocol);
}

/* ---- slices of a torus --------------------------------------------------------------------- */

#define SIM_CHIPS 64

/*
 * The most bytes that a link carries in an all-gather of 1 byte over `axes` axes of `along` chips.
 * A part for each axis takes the axes in turn, from that one on; along a line blocks go to both
 * ends, around a ring half of the way each (of an even ring, half of the farthest block either
 * way).
 */
static double busiest_link(int axes, int along, bool closed)
{
    double loads[SIM_CHIPS][RK_TORUS_AXES][2] = {{{0}}}, most = 0;
    const int chips = (int)lround(pow(along, axes));
    for (int part = 0; part < axes; part++) {
        double block = 1. / chips / axes; /* that a chip has */
        for (int stage = 0; stage < axes; stage++, block *= along) {
            const int axis = (part + stage) % axes, stride = (int)lround(pow(along, axis));
            for (int chip = 0; chip < chips; chip++) {
                const int place = chip / stride % along;
                const double before = closed ? (along - 1) / 2. : place + 1;
                loads[chip][axis][0] += closed || place + 1 < along ? before * block : 0;
                loads[chip][axis][1] +=
                    closed ? before * block : (place > 0 ? along - place : 0) * block;
            }
        }
    }
    for (int chip = 0; chip < chips; chip++) {
        for (int axis = 0; axis < axes; axis++) {
            most = fmax(most, fmax(loads[chip][axis][0], loads[chip][axis][1]));
        }
    }
    return most;
}

/* Gathers on 4x4, 5x5, 4x4x4... equal their messages; on rings the textbook counts n for n - 1. */
static void test_slices(void **state)
{
    (void)state;
    for (int axes = 1; axes <= 3; axes++) {
        for (int along = 3; pow(along, axes) <= SIM_CHIPS; along++) {
            for (int closed = 0; closed < 2; closed++) {
                const int chips = (int)lround(pow(along, axes));
                rk_tier torus = tier(RK_TIER_TORUS, 4096, 6e9, 0);
                torus.axes = 3;
                torus.ring = closed ? along : 4096;
                torus.efficiency = 1;
                torus.half_bytes = 0;
                for (int i = 0; i < RK_TORUS_AXES; i++) {
                    torus.slice[i] = i < axes ? along : 1;
                }
                const rk_traffic t = rk_traffic_on_axes(&torus, RK_COLL_ALL_GATHER, chips, 1);
                const double lacks = closed ? (chips - 1.) / chips : 1;
                assert_close(lacks * t.bytes / t.bandwidth, busiest_link(axes, along, closed) / 1e9,
                             1e-12);
            }
        }
    }
}

/* ---- chunks -------------------------------------------------------------------------------- */

/* Chunks go through the phases; a tier works on one at a time, the oldest that waits first. */
static double simulate_chunks(const rk_collective_plan *plan, const rk_tier *tiers)
{
    double ready[64] = {0}, end = 0; /* of chunks: when the next phase may begin */
    int next[64] = {0};
    double free_at[RK_TIER_MAX] = {0};
    for (int left = plan->chunks * plan->phase_count; left > 0; left--) {
        int first = -1;
        double start = HUGE_VAL;
        for (int c = 0; c < plan->chunks; c++) {
            if (next[c] < plan->phase_count) {
                const double t = fmax(ready[c], free_at[plan->phases[next[c]].tier - tiers]);
                first = t < start ? c : first;
                start = fmin(t, start);
            }
        }
        const rk_collective_phase *p = &plan->phases[next[first]++];
        ready[first] = free_at[p->tier - tiers] = start + p->seconds;
        end = fmax(end, ready[first]);
    }
    return end;
}

/* With chunks requested, all plans are in chunks. */
static void test_asked_chunks(void **state)
{
    static const int32_t asked[] = {1, 4, RK_CHUNKS_BEST};
    rk_system s;
    rk_error err;
    (void)state;
    assert_int_equal(rk_system_load(DATA_FOLDER "/systems/atlas-800t-a2.json", &s, &err), RK_OK);
    const rk_group group = rk_group_packed(&s, 64, 1);
    for (int op = 0; op < RK_COLL_COUNT; op++) {
        for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
            rk_collective_plans plans =
                list_chunked(&s, &group, (rk_collective)op, 0x1p30, asked[i]);
            for (size_t k = 0; k < plans.count; k++) {
                const int32_t chunks = plans.plans[k].chunks;
                assert_true(asked[i] > 0 ? chunks == asked[i] : chunks >= 1);
            }
            rk_collective_plans_clear(&plans);
        }
    }
    rk_system_clear(&s);
}

static void test_chunks(void **state)
{
    static const rk_collective ops[] = {RK_COLL_ALL_REDUCE, RK_COLL_ALL_GATHER,
                                        RK_COLL_REDUCE_SCATTER, RK_COLL_ALL_TO_ALL};
    uint64_t seed = 11;
    (void)state;
    for (int i = 0; i < 500; i++) {
        rk_system s =
            servers(RK_TIER_SWITCH, 8, 1e9 * draw(&seed, 50, 900), 1e9 * draw(&seed, 10, 200));
        const rk_group group = rk_group_packed(&s, 8 * draw(&seed, 2, 8), 1);
        const rk_collective op = ops[draw(&seed, 0, 3)];
        const double bytes = ldexp(1e4, draw(&seed, 0, 16));
        const int32_t chunks = draw(&seed, 2, 64);
        rk_collective_plans serial = list_chunked(&s, &group, op, bytes, 1);
        rk_collective_plans parts = list_chunked(&s, &group, op, bytes, chunks);
        rk_collective_plans best = list_chunked(&s, &group, op, bytes, RK_CHUNKS_BEST);
        for (size_t k = 0; k < serial.count; k++) {
            const rk_collective_plan *one = &serial.plans[k];
            double sum = 0, longest = 0;
            assert_true(one->phase_count > 0);
            for (int p = 0; p < one->phase_count; p++) {
                sum += one->phases[p].seconds;
            }
            assert_close(one->seconds, sum, 1e-12);
            const rk_collective_plan *plan = named(&parts, one->name);
            assert_int_equal(plan->chunks, chunks);
            assert_true(named(&best, one->name)->seconds <= one->seconds * (1 + 1e-12));
            for (int p = 0; p < plan->phase_count; p++) {
                longest = fmax(longest, plan->phases[p].seconds);
            }
            const double simulated = simulate_chunks(plan, s.tiers);
            /* two phases in one tier leave gaps that the closed form does not count, or fill some
             */
            assert_true(plan->phase_count == 3 ? fabs(simulated - plan->seconds) <= 2 * longest
                                               : fabs(simulated / plan->seconds - 1) < 1e-12);
        }
        rk_collective_plans_clear(&serial);
        rk_collective_plans_clear(&parts);
        rk_collective_plans_clear(&best);
    }
}

/* ---- nodes with different numbers of ranks ------------------------------------------------- */

static double link_bytes(const rk_collective_phase *phase)
{
    return rk_phase_busy_seconds(phase) * rk_phase_link(phase).bandwidth;
}

static void test_placement(void **state)
{
    rk_system s = servers(RK_TIER_SWITCH, 8, 450e9, 50e9);
    const rk_group full = rk_group_packed(&s, 32, 1);
    const rk_group group = rk_group_packed(&s, 26, 1); /* 8, 8, 8 and 2 */
    rk_collective_plans even, plans;
    (void)state;
    for (int op = 0; op < RK_COLL_COUNT; op++) {
        if (op == RK_COLL_SEND) {
            continue;
        }
        even = list(&s, &full, (rk_collective)op, 1e9);
        plans = list(&s, &group, (rk_collective)op, 1e9);
        for (size_t i = 0; i < even.count; i++) {
            assert_true(named(&plans, even.plans[i].name)->seconds >= even.plans[i].seconds);
        }
        rk_collective_plans_clear(&even);
        rk_collective_plans_clear(&plans);
        assert_true(rk_collective_seconds(&s, (rk_collective)op, 1e9, &group) >=
                    rk_collective_seconds(&s, (rk_collective)op, 1e9, &full));
    }
    /* two NICs carry what a node sends of an all-reduce, and what it lacks of an all-gather */
    plans = list(&s, &group, RK_COLL_ALL_REDUCE, 1e9);
    assert_close(link_bytes(&named(&plans, "ring")->phases[1]), 2 * 3. / 4 * 1e9 / 2, 1e-12);
    rk_collective_plans_clear(&plans);
    plans = list(&s, &group, RK_COLL_ALL_GATHER, 1e9);
    assert_close(link_bytes(&named(&plans, "ring")->phases[0]), 24. / 26 * 1e9 / 2, 1e-12);
    rk_collective_plans_clear(&plans);
    assert_true(rk_collective_seconds(&s, RK_COLL_ALL_GATHER, 1e9, &group) >=
                24. / 26 * 1e9 / 1e11);
    assert_true(rk_collective_seconds(&s, RK_COLL_ALL_TO_ALL, 1e9, &group) >=
                24. / 26 * 1e9 / 50e9 * (1 - 1e-12));
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(rk_collective_plan_name("NVLS"), "in-network");
    assert_string_equal(rk_collective_plan_name("H-D_R"), "halving-doubling");
    assert_string_equal(rk_collective_plan_name("Ring"), "ring");
    assert_string_equal(rk_collective_plan_name("AHC"), "ahc");
    assert_null(rk_collective_plan_name("rings"));
    static const char *const others[][2] = {
        {"sharp", "in-network"},           {"NVLS-Tree", "tree"}, {"double-binary-tree", "tree"},
        {"pipeline", "concurrent"},        {"FullMesh", "mesh"},  {"axes", "axes"},
        {"flat-exchange", "flat-exchange"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_string_equal(rk_collective_plan_name(others[i][0]), others[i][1]);
    }
    for (size_t i = 0; rk_algorithms[i]; i++) {
        assert_ptr_equal(rk_collective_plan_name(rk_algorithms[i]->name), rk_algorithms[i]->name);
    }
}

/* What the rank that sends most sends, of a buffer of 8 bytes and 4 ranks; of one rank nothing. */
static void test_sent(void **state)
{
    static const struct {
        rk_collective op;
        double sent;
    } cases[] = {
        {RK_COLL_ALL_REDUCE, 12}, /* scatters and gathers */
        {RK_COLL_REDUCE_SCATTER, 6}, {RK_COLL_ALL_GATHER, 6},
        {RK_COLL_ALL_TO_ALL, 6},     {RK_COLL_SCATTER, 6}, /* the root keeps its part */
        {RK_COLL_BROADCAST, 8},      {RK_COLL_SEND, 8},
        {RK_COLL_REDUCE, 8},         {RK_COLL_GATHER, 2}, /* each its part */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_close(rk_collective_sent(cases[i].op, 8, 4), cases[i].sent, 1e-12);
        assert_close(rk_collective_sent(cases[i].op, 8, 1), 0, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),     cmocka_unit_test(test_asked_chunks),
        cmocka_unit_test(test_chunks),     cmocka_unit_test(test_placement),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_sent),
        cmocka_unit_test(test_phases),     cmocka_unit_test(test_all_tiers_at_once),
        cmocka_unit_test(test_concurrent), cmocka_unit_test(test_known),
        cmocka_unit_test(test_best),       cmocka_unit_test(test_tiers_left_out),
        cmocka_unit_test(test_usual),      cmocka_unit_test(test_usual_by_nccl),
        cmocka_unit_test(test_nccl),       cmocka_unit_test(test_link_names),
        cmocka_unit_test(test_agreement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
