/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon comm`: what collectives take on a system, by size, in nccl-tests format. */
#include "base/error.h"
#include "base/text.h"
#include "base/time_text.h"
#include "command/comm.h"
#include "command/comm_fit.h"
#include "command/comm_links.h"
#include "command/comm_options.h"
#include "command/comm_plot.h"
#include "command/comm_servers.h"
#include "command/comm_with.h"
#include "command/commands.h"
#include "io/json_write.h"
#include "job/stated.h"
#include "report/describe.h"
#include "request/what_if.h"
#include "system/collective_plan.h"
#include "system/nccl.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A collective of one size by one plan. */
typedef struct timing {
    rk_collective op;
    double bytes, seconds, algorithm, bus; /* the last two in bytes/s */
    rk_collective_plan plan;
    char name[48]; /* of the plan, with its chunks or protocol */
} timing;

struct comm {
    const rk_comm_args *args;
    const rk_system *system;
    rk_group group;
    const char *algorithm; /* a name of plans, "best", "all" or "nccl"; NULL: none asked for */
    int32_t chunks;        /* as rk_collective_query has them */
    int64_t placed;        /* ranks with --placement; 0: the ranks of the group */
    rk_comm_with with;     /* with.system NULL: no second collective */
    timing *timings;       /* owned; for each collective and size those asked for */
    size_t count, room;
};

/* Ranks of the group. */
static int64_t ranks_of(const struct comm *comm)
{
    return comm->placed > 0 ? comm->placed : comm->group.size;
}

/*
 * The collective library of an accelerator, if reckon has no model of how it chooses an algorithm.
 */
static const char *other_library(const rk_system *system)
{
    switch (system->accelerator.generation) {
    case RK_GENERATION_CDNA2:
    case RK_GENERATION_CDNA3:
    case RK_GENERATION_CDNA4:
        return "RCCL";
    case RK_GENERATION_GAUDI:
        return "Gaudi's HCCL";
    case RK_GENERATION_ASCEND:
        return "HCCL";
    case RK_GENERATION_TPU:
        return "XLA";
    case RK_GENERATION_TRAINIUM:
        return "Neuron";
    default:
        return NULL;
    }
}

#define CHOICE_SIZE 128

/* How the algorithm is chosen. */
static const char *describe_choice(const struct comm *comm, char out[CHOICE_SIZE])
{
    const char *asked = comm->algorithm, *library = other_library(comm->system);
    if (asked && strcmp(asked, "nccl") == 0) {
        (void)snprintf(out, CHOICE_SIZE, "that of NCCL's tuner");
    } else if (asked && strcmp(asked, "best") == 0) {
        (void)snprintf(out, CHOICE_SIZE, "the fastest of all algorithms");
    } else if (asked) {
        (void)snprintf(out, CHOICE_SIZE, "%s", strcmp(asked, "all") == 0 ? "all" : "as asked");
    } else if (library) {
        (void)snprintf(out, CHOICE_SIZE,
                       "the fastest that training software runs (no model of how %s chooses)",
                       library);
    } else {
        (void)snprintf(out, CHOICE_SIZE, "the fastest that training software runs");
    }
    return out;
}

/* ---- one collective -------------------------------------------------------------------------- */

/*
 * Bus bandwidth over algorithm bandwidth (nccl-tests, PERFORMANCE.md): what a ring would
 * have to carry for each byte of the size.
 */
double rk_comm_bus_factor(rk_collective op, double ranks)
{
    assert(ranks >= 1);
    switch (op) {
    case RK_COLL_ALL_REDUCE:
        return 2 * (ranks - 1) / ranks;
    case RK_COLL_REDUCE_SCATTER:
    case RK_COLL_ALL_GATHER:
    case RK_COLL_ALL_TO_ALL:
    case RK_COLL_SCATTER:
    case RK_COLL_GATHER:
        return (ranks - 1) / ranks;
    default:
        return 1;
    }
}

/* Of a message size; the busiest rank of an all-to-all may send more. */
static rk_collective_query query_of(const struct comm *comm, rk_collective op, double bytes)
{
    return (rk_collective_query){
        .system = comm->system,
        .group = &comm->group,
        .op = op,
        .bytes = bytes * (op == RK_COLL_ALL_TO_ALL ? comm->args->imbalance : 1),
        .chunks = comm->chunks,
    };
}

static void name_timing(timing *t)
{
    const rk_collective_plan *plan = &t->plan;
    if (plan->chunks > 0) {
        (void)snprintf(t->name, sizeof(t->name), "%s, chunks %d", plan->name, (int)plan->chunks);
    } else {
        (void)snprintf(t->name, sizeof(t->name), "%s%s%s", plan->name, plan->protocol ? ", " : "",
                       plan->protocol ? plan->protocol : "");
    }
}

static rk_status add_timing(struct comm *comm, rk_collective op, double bytes,
                            const rk_collective_plan *plan, rk_error *err)
{
    assert(comm->count <= comm->room && bytes >= 0);
    if (comm->count == comm->room) {
        const size_t room = 2 * comm->room + 16;
        timing *timings = realloc(comm->timings, room * sizeof(*timings));
        if (!timings) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the times of collectives");
        }
        comm->timings = timings;
        comm->room = room;
    }
    timing *t = &comm->timings[comm->count++];
    *t = (timing){.op = op, .bytes = bytes, .seconds = plan->seconds, .plan = *plan};
    t->algorithm = bytes / plan->seconds;
    t->bus = t->algorithm * rk_comm_bus_factor(op, (double)ranks_of(comm));
    name_timing(t);
    return RK_OK;
}

static rk_status add_all(struct comm *comm, const rk_collective_query *query, double bytes,
                         rk_error *err)
{
    rk_collective_plans all;
    rk_status status = rk_list_collective_plans(query, &all, err);
    for (size_t i = 0; i < all.count && !status; i++) {
        status = add_timing(comm, query->op, bytes, &all.plans[i], err);
    }
    rk_collective_plans_clear(&all);
    return status;
}

/* The plans of one size: as in estimates, named, or all. */
static rk_status add_size(struct comm *comm, rk_collective op, double bytes, rk_error *err)
{
    const char *asked = comm->algorithm;
    const rk_collective_query query = query_of(comm, op, bytes);
    rk_collective_plan plan;
    if (!asked || strcmp(asked, "nccl") == 0) {
        rk_plan_collective(&query, &plan);
        if (asked) {
            rk_name_plan_by_nccl(&query, &plan);
        }
        return add_timing(comm, op, bytes, &plan, err);
    }
    if (strcmp(asked, "all") == 0) {
        return add_all(comm, &query, bytes, err);
    }
    return rk_find_collective_plan(&query, strcmp(asked, "best") == 0 ? NULL : asked, &plan)
               ? add_timing(comm, op, bytes, &plan, err)
               : RK_OK;
}

static rk_status find_timings(struct comm *comm, rk_error *err)
{
    const rk_option_counts *sizes = &comm->args->sizes;
    rk_status status = RK_OK;
    for (int op = 0; rk_collective_names[op]; op++) {
        for (int i = 0; comm->args->ops >> op & 1 && i < sizes->count && !status; i++) {
            status = add_size(comm, (rk_collective)op, (double)sizes->values[i], err);
        }
    }
    return status;
}

typedef void visit_timing(void *to, const struct comm *comm, const timing *timing);

static void for_each(const struct comm *comm, visit_timing *visit, void *to)
{
    for (size_t i = 0; i < comm->count; i++) {
        visit(to, comm, &comm->timings[i]);
    }
}

/* ---- algorithms ------------------------------------------------------------------------------ */

static bool is_name(const char *asked, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(asked, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Sets the name that is asked for; refuses unknown ones. */
static rk_status find_algorithm(struct comm *comm, rk_error *err)
{
    static const char *const choices[] = {"best", "all", "nccl", NULL};
    const bool plans = comm->args->explain || comm->args->chunks >= 0;
    const char *asked = comm->args->algorithm ? comm->args->algorithm : plans ? "best" : NULL;
    char names[(RK_ALGORITHM_COUNT + RK_PLAN_NAME_COUNT) * 32];
    size_t length = 0;
    if (!asked) {
        return RK_OK;
    }
    comm->algorithm = is_name(asked, choices) ? asked : rk_collective_plan_name(asked);
    if (comm->algorithm) {
        return RK_OK;
    }
    for (int i = 0; i < RK_ALGORITHM_COUNT + RK_PLAN_NAME_COUNT; i++) {
        const char *name = i < RK_ALGORITHM_COUNT
                               ? rk_algorithms[i]->name
                               : rk_collective_plan_names[i - RK_ALGORITHM_COUNT];
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%.29s, ", name);
    }
    return rk_fail(err, RK_ERR_INVALID, "--algorithm must be %sbest, all or nccl, not '%s'", names,
                   asked);
}

/* The outermost tier that the group spans. */
static const rk_tier *outermost(const struct comm *comm)
{
    return &comm->system->tiers[rk_group_outermost(comm->system, &comm->group)];
}

/* Refuses algorithms that this group cannot use for any of the collectives. */
static rk_status check_algorithm(const struct comm *comm, rk_error *err)
{
    const char *asked = comm->args->algorithm ? comm->args->algorithm : comm->algorithm;
    rk_nccl_graph graph;
    if (!comm->algorithm) {
        return RK_OK;
    }
    if (strcmp(comm->algorithm, "nccl") == 0 &&
        !rk_nccl_graph_of(comm->system, &comm->group, &graph)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "NCCL's choice is known for even groups on NVIDIA's accelerators only; "
                       "--algorithm best takes the fastest");
    }
    if (comm->count > 0) {
        return RK_OK;
    }
    if (comm->args->chunks >= 0 && is_name(comm->algorithm, rk_collective_plan_names) &&
        strcmp(comm->algorithm, RK_AXES_NAME) != 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "'%s' uses all tiers at once and has no chunks; leave out --chunks, or name "
                       "an algorithm that runs tier by tier, such as ring",
                       asked);
    }
    if (strcmp(comm->algorithm, "in-network") == 0 && !outermost(comm)->in_network_reduce) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "'%s' between the domains of this group needs switches that reduce "
            "(\"in_network_reduce\"), and %s has none; NVLS inside a node needs no option",
            comm->args->algorithm, outermost(comm)->name);
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "'%s' runs none of these collectives on %" PRId64
                   " ranks in %s; --algorithm all lists what does",
                   asked, ranks_of(comm), outermost(comm)->name);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void add_row(void *to, const struct comm *comm, const timing *t)
{
    rk_table *table = to;
    char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
    (void)comm;
    rk_table_cell(table, "%s", rk_collective_names[t->op]);
    rk_table_cell(table, "%s", t->name);
    rk_table_cell(table, "%s", rk_with_commas((uint64_t)t->bytes, size));
    rk_table_cell(table, "%s", rk_time_text(t->seconds, time));
    rk_table_cell(table, "%.2f", t->algorithm / 1e9);
    rk_table_cell(table, "%.2f", t->bus / 1e9);
}

/* "4x4 in ICI 3D torus". */
static void write_axes(FILE *to, const rk_tier *torus)
{
    (void)fprintf(to, ", %" PRId64, torus->slice[0]);
    for (int i = 1; i < RK_TORUS_AXES && torus->slice[i] > 1; i++) {
        (void)fprintf(to, "x%" PRId64, torus->slice[i]);
    }
    (void)fprintf(to, " in %s", torus->name);
}

static void write_placement(FILE *to, const rk_option_counts *placement, const char *tier)
{
    for (int i = 0; i < placement->count; i++) {
        (void)fprintf(to, "%s%" PRId64, i > 0 ? "," : ", ", placement->values[i]);
    }
    (void)fprintf(to, " in domains of %s", tier);
}

/* How many ranks of the group share a domain of each tier. */
static void write_group(FILE *to, const struct comm *comm)
{
    const rk_system *system = comm->system;
    (void)fprintf(to, "group     %" PRId64 " ranks", ranks_of(comm));
    if (comm->args->slice) {
        write_axes(to, &system->tiers[0]);
    } else if (comm->args->placement.count > 0) {
        write_placement(to, &comm->args->placement, system->tiers[0].name);
    }
    for (int i = comm->args->slice || comm->args->placement.count > 0 ? 1 : 0;
         i + 1 < system->tier_count; i++) {
        (void)fprintf(to, ", %" PRId64 " in a domain of %s", comm->group.within[i],
                      system->tiers[i].name);
    }
    (void)fprintf(to, "\nchoice    %s\n\n", describe_choice(comm, (char[CHOICE_SIZE]){0}));
}

/* A plan that uses all tiers at once. */
static void add_whole(rk_table *table, const struct comm *comm, const timing *t)
{
    char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
    rk_table_cell(table, "%s", rk_collective_names[t->op]);
    rk_table_cell(table, "%s", rk_with_commas((uint64_t)t->bytes, size));
    rk_table_cell(table, "%s", t->name);
    rk_table_cell(table, "all tiers");
    rk_table_cell(table, "%s", rk_collective_names[t->op]);
    rk_table_cell(table, "%s", t->name);
    rk_table_cell(table, "%" PRId64, ranks_of(comm));
    rk_table_cell(table, "%s", rk_time_text(t->seconds, time));
    for (int i = 0; i < 3; i++) {
        rk_table_cell(table, "%s", "");
    }
}

/* A list of plans, until an error occurs. */
struct listing {
    rk_table table;
    rk_out *out;
    rk_status status;
    rk_error *err;
};

/* The messages of a phase; of a torus the bytes alone, of very many units nothing. */
static void add_messages(struct listing *listing, const rk_collective_phase *p)
{
    const rk_topology topology = rk_phase_topology(p);
    rk_table *table = &listing->table;
    char size[RK_COMMAS_SIZE], link[RK_LINK_NAME_SIZE];
    rk_replay replay;
    const rk_status status = rk_phase_replay(p, NULL, &replay, listing->err);
    if (status == RK_OK) {
        rk_table_cell(table, "%s", rk_with_commas((uint64_t)replay.messages, size));
        rk_table_cell(table, "%s", rk_with_commas((uint64_t)(replay.busiest_bytes + 0.5), size));
        rk_table_cell(table, "%s", rk_topology_link_name(&topology, replay.busiest, link));
        return;
    }
    const double moved = /* over one link of a torus */
        rk_phase_busy_seconds(p) * rk_phase_link(p).bandwidth;
    rk_table_cell(table, "%s", "");
    rk_table_cell(table, "%s", p->algorithm ? "" : rk_with_commas((uint64_t)(moved + 0.5), size));
    rk_table_cell(table, "%s", p->algorithm ? "" : "each way along an axis");
    listing->status = status == RK_ERR_MEMORY ? status : RK_OK;
}

/* The phases of a plan: what each sends over which links. */
static void add_phases(void *to, const struct comm *comm, const timing *t)
{
    struct listing *listing = to;
    rk_table *table = &listing->table;
    if (t->plan.phase_count == 0) {
        add_whole(table, comm, t);
    }
    for (int i = 0; i < t->plan.phase_count && !listing->status; i++) {
        const rk_collective_phase *p = &t->plan.phases[i];
        char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
        rk_table_cell(table, "%s", i > 0 ? "" : rk_collective_names[t->op]);
        rk_table_cell(table, "%s", i > 0 ? "" : rk_with_commas((uint64_t)t->bytes, size));
        rk_table_cell(table, "%s", i > 0 ? "" : t->name);
        rk_table_cell(table, "%s", p->tier->name);
        rk_table_cell(table, "%s", rk_collective_names[p->job.op]);
        rk_table_cell(table, "%s", rk_phase_name(p));
        rk_table_cell(table, "%d", (int)p->job.ranks);
        rk_table_cell(table, "%s", rk_time_text(p->seconds, time));
        add_messages(listing, p);
    }
}

static void add_links(void *to, const struct comm *comm, const timing *t)
{
    struct listing *listing = to;
    (void)comm;
    if (!listing->status) {
        listing->status = rk_comm_links_add(&listing->table, &t->plan, listing->err);
    }
}

static void write_links(void *to, const struct comm *comm, const timing *t)
{
    struct listing *listing = to;
    (void)comm;
    if (!listing->status) {
        listing->status =
            rk_comm_links_write(listing->out, t->op, t->bytes, &t->plan, listing->err);
    }
}

/* Nothing of an empty table. */
static rk_status write_listing(FILE *to, struct listing *listing, rk_table_style style,
                               rk_error *err)
{
    if (listing->status || (listing->table.cell_count == 0 && !listing->table.failed)) {
        rk_table_clear(&listing->table);
        return listing->status;
    }
    return rk_write_table(to, &listing->table, style, err);
}

static rk_status explain(FILE *to, const struct comm *comm, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"collective", RK_ALIGN_LEFT},   {"bytes", RK_ALIGN_RIGHT},
        {"way", RK_ALIGN_LEFT},          {"tier", RK_ALIGN_LEFT},
        {"phase", RK_ALIGN_LEFT},        {"algorithm", RK_ALIGN_LEFT},
        {"units", RK_ALIGN_RIGHT},       {"time", RK_ALIGN_RIGHT},
        {"messages", RK_ALIGN_RIGHT},    {"link bytes", RK_ALIGN_RIGHT},
        {"busiest link", RK_ALIGN_LEFT},
    };
    static const rk_table_column links[] = {
        {"phase", RK_ALIGN_LEFT},       {"links", RK_ALIGN_LEFT},
        {"number", RK_ALIGN_RIGHT},     {"least bytes", RK_ALIGN_RIGHT},
        {"mean bytes", RK_ALIGN_RIGHT}, {"most bytes", RK_ALIGN_RIGHT},
        {"busy", RK_ALIGN_RIGHT},
    };
    struct listing phases = {.err = err}, all = {.err = err};
    (void)fputs("\n", to);
    rk_table_init(&phases.table, columns, sizeof(columns) / sizeof(columns[0]));
    for_each(comm, add_phases, &phases);
    rk_status status = write_listing(to, &phases, style, err);
    if (status) {
        return status;
    }
    rk_table_init(&all.table, links, sizeof(links) / sizeof(links[0]));
    for_each(comm, add_links, &all);
    if (all.table.cell_count > 0) { /* else nothing is sent message by message */
        (void)fputs("\n", to);
    }
    return write_listing(to, &all, style, err);
}

static rk_comm_concurrent concurrent_of(const struct comm *comm, const timing *t)
{
    const rk_collective_query query = query_of(comm, t->op, t->bytes);
    const double other = comm->with.bytes > 0 ? comm->with.bytes : t->bytes;
    rk_comm_with with = comm->with;
    with.bytes = query_of(comm, with.op, other).bytes;
    return rk_comm_concurrent_of(&with, &query, t->seconds, t->name);
}

static void add_concurrent(void *to, const struct comm *comm, const timing *t)
{
    const char *asked = comm->algorithm;
    const rk_comm_concurrent both = concurrent_of(comm, t);
    char name[sizeof(t->name) + 32];
    (void)snprintf(name, sizeof(name), "%s%s%s", rk_collective_names[t->op],
                   asked && strcmp(asked, "all") == 0 ? ", " : "",
                   asked && strcmp(asked, "all") == 0 ? t->name : "");
    rk_comm_with_add(to, &comm->with, name, t->bytes, &both);
}

/* With another collective at the same time. */
static rk_status write_with(FILE *to, const struct comm *comm, rk_table_style style, rk_error *err)
{
    rk_table table;
    (void)fprintf(to, "\nwith      %s of %" PRId64 " ranks", rk_collective_names[comm->with.op],
                  comm->with.group.size);
    if (comm->args->with_stride > 1) {
        (void)fprintf(to, ", every %" PRId64 "th", comm->args->with_stride);
    }
    (void)fputs(", at the same time\n\n", to);
    rk_table_init(&table, rk_comm_with_columns, RK_COMM_WITH_COLUMNS);
    for_each(comm, add_concurrent, &table);
    return rk_write_table(to, &table, style, err);
}

static void add_point(void *to, const struct comm *comm, const timing *t)
{
    char name[RK_COMM_LINE_NAME_SIZE];
    const bool all = comm->algorithm && strcmp(comm->algorithm, "all") == 0;
    const char *algorithm = all ? t->plan.name : NULL;
    (void)snprintf(name, sizeof(name), "%s%s%s", rk_collective_names[t->op], algorithm ? ", " : "",
                   algorithm ? algorithm : "");
    rk_comm_lines_add(to, name, t->bytes, t->bus);
}

static rk_status plot(const rk_job *job, const struct comm *comm, rk_error *err)
{
    char title[160];
    rk_comm_lines *lines = rk_comm_lines_create();
    if (!lines) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the figure");
    }
    (void)snprintf(title, sizeof(title), "Bus bandwidth of %" PRId64 " ranks on %s", ranks_of(comm),
                   comm->system->name);
    for_each(comm, add_point, lines);
    const rk_status status = rk_comm_lines_plot(job, lines, title, comm->args->plot, err);
    free(lines);
    return status;
}

/* Further requested tables. */
static rk_status write_more(FILE *to, const struct comm *comm, rk_table_style style, rk_error *err)
{
    const rk_comm_args *args = comm->args;
    const rk_comm_servers servers = {
        .extra = args->servers,
        .compute_s = 1e-3 * args->compute_ms,
        .price = args->staleness_price,
        .every = args->every,
    };
    rk_status status = args->explain ? explain(to, comm, style, err) : RK_OK;
    if (!status && comm->with.system) {
        status = write_with(to, comm, style, err);
    }
    if (!status && args->servers >= 0) {
        status = rk_comm_servers_write(to, &servers, comm->system, &comm->group, &args->sizes,
                                       style, err);
    }
    return status;
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"collective", RK_ALIGN_LEFT},   {"algorithm", RK_ALIGN_LEFT},
        {"bytes", RK_ALIGN_RIGHT},       {"time", RK_ALIGN_RIGHT},
        {"algbw, GB/s", RK_ALIGN_RIGHT}, {"busbw, GB/s", RK_ALIGN_RIGHT},
    };
    const struct comm *comm = what;
    char words[RK_WORDS_SIZE];
    rk_table table;
    (void)fprintf(to, "system    %s: %s GB/s\n", comm->system->name,
                  rk_describe_tiers(comm->system, words));
    if (comm->args->settings) {
        (void)fprintf(to, "set       %s\n", comm->args->settings);
    }
    write_group(to, comm);
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for_each(comm, add_row, &table);
    const rk_status status = rk_write_table(to, &table, style, err);
    return status ? status : write_more(to, comm, style, err);
}

static void add_csv(void *to, const struct comm *comm, const timing *t)
{
    char us[RK_NUMBER_TEXT_SIZE];
    rk_out_printf(to, "%s,%" PRId64 ",%" PRId64 ",%.0f,%s\n", rk_collective_names[t->op],
                  ranks_of(comm), comm->group.within[0], t->bytes,
                  rk_double_text(1e6 * t->seconds, us));
}

static void add_json(void *to, const struct comm *comm, const timing *t)
{
    rk_json_writer *writer = to;
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_json_string(writer, "op", rk_collective_names[t->op]);
    rk_json_string(writer, "algorithm", t->plan.chunks > 0 ? t->plan.name : t->name);
    if (t->plan.chunks > 0) {
        rk_json_count(writer, "chunks", (uint64_t)t->plan.chunks);
    }
    rk_json_real(writer, "bytes", t->bytes);
    rk_json_real(writer, "seconds", t->seconds);
    rk_json_real(writer, "algorithm_bytes_per_s", t->algorithm);
    rk_json_real(writer, "bus_bytes_per_s", t->bus);
    if (comm->with.system) {
        const rk_comm_concurrent both = concurrent_of(comm, t);
        rk_json_open_member(writer, "with", "{");
        rk_json_string(writer, "op", rk_collective_names[comm->with.op]);
        rk_json_count(writer, "ranks", (uint64_t)comm->with.group.size);
        rk_json_real(writer, "alone_seconds", both.other.seconds);
        rk_json_real(writer, "together_seconds", both.pair.seconds[1]);
        rk_json_close(writer, "}");
        rk_json_real(writer, "together_seconds", both.pair.seconds[0]);
        rk_json_string(writer, "shared_tier", rk_comm_shared_tier(&comm->with, &both.pair));
    }
    rk_json_close(writer, "}");
}

static rk_status write_data(const rk_job *job, const struct comm *comm, rk_error *err)
{
    rk_out *out;
    const rk_status status = rk_job_open(job, comm->args->output, &out, err);
    if (status) {
        return status;
    }
    if (comm->args->csv && comm->args->explain) {
        struct listing links = {.out = out, .err = err};
        rk_out_text(out, RK_COMM_LINKS_TITLE);
        for_each(comm, write_links, &links);
        const rk_status closed = rk_out_close(out, links.status ? NULL : err);
        return links.status ? links.status : closed;
    }
    if (comm->args->csv) {
        rk_out_text(out, "op,ranks,ranks_per_node,bytes,us\n");
        for_each(comm, add_csv, out);
        return rk_out_close(out, err);
    }
    rk_json_writer writer = {.out = out, .indented = true};
    rk_json_open_answer(&writer);
    rk_json_string(&writer, "system", comm->system->name);
    if (comm->args->settings) {
        rk_json_string(&writer, "set", comm->args->settings);
    }
    rk_json_count(&writer, "ranks", (uint64_t)ranks_of(comm));
    rk_json_count(&writer, "ranks_of_innermost_domain", (uint64_t)comm->group.within[0]);
    rk_json_string(&writer, "choice", describe_choice(comm, (char[CHOICE_SIZE]){0}));
    rk_json_open_member(&writer, "collectives", "[");
    for_each(comm, add_json, &writer);
    rk_json_close(&writer, "]");
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
    rk_job_write_question(job, out);
    return rk_out_close(out, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The first of the collectives that were asked for; all: none was named. */
static rk_status fit(rk_job *job, const rk_comm_args *args, rk_error *err)
{
    rk_comm_hint hint = {
        .has_op = args->ops != RK_COMM_ALL_OPS, .ranks = args->ranks, .domains = args->domains};
    while (hint.has_op && !(args->ops >> hint.op & 1)) {
        hint.op++;
    }
    rk_job_set_found(job, true);
    return rk_comm_fit(job, args->fit, &hint, args->output,
                       args->json  ? RK_COMM_JSON
                       : args->csv ? RK_COMM_CSV
                                   : RK_COMM_TEXT,
                       err);
}

/* The groups of the second collective. */
static rk_status place_with(struct comm *comm, rk_error *err)
{
    const rk_comm_args *args = comm->args;
    comm->with = (rk_comm_with){
        .system = comm->system, .op = (rk_collective)args->with, .bytes = (double)args->with_bytes};
    return rk_comm_place(comm->system, args->with_ranks > 0 ? args->with_ranks : comm->group.size,
                         args->with_stride > 0 ? args->with_stride : args->stride,
                         &comm->with.group, err);
}

/* The group, and the fields that plans need. */
static rk_status place(struct comm *comm, rk_system *system, rk_error *err)
{
    const rk_comm_args *args = comm->args;
    int64_t ranks = args->ranks;
    comm->chunks = args->chunks < 0    ? RK_CHUNKS_AS_MEASURED
                   : args->chunks == 0 ? RK_CHUNKS_BEST
                                       : (int32_t)args->chunks;
    if (args->placement.count > 0) {
        return rk_comm_place_unevenly(system, &args->placement, &comm->group, &comm->placed, err);
    }
    const rk_status status = args->slice ? rk_comm_slice(system, args->slice, &ranks, err) : RK_OK;
    return status ? status : rk_comm_place(system, ranks, args->stride, &comm->group, err);
}

static rk_status answer(rk_job *job, const struct comm *comm, rk_error *err)
{
    const rk_comm_args *args = comm->args;
    const rk_status status = args->plot ? plot(job, comm, err) : RK_OK;
    if (status) {
        return status;
    }
    return args->json || args->csv ? write_data(job, comm, err)
                                   : rk_job_print(job, args->output, write_text, comm, err);
}

static rk_status run_comm(rk_job *job, void *arguments, rk_error *err)
{
    rk_comm_args *args = arguments;
    rk_system system;
    rk_status status = rk_comm_check(args, err);
    if (status || args->fit) {
        return status ? status : fit(job, args, err);
    }
    status = rk_system_load(args->system, &system, err);
    if (status) {
        return status;
    }
    status = args->settings ? rk_what_if_set_all(args->settings, &system, err) : RK_OK;
    for (int i = 0; i < system.tier_count; i++) {
        system.tiers[i].bandwidth *=
            (rk_tier_is_fabric(&system.tiers[i]) ? args->fabric_share : 1) / (double)args->sharing;
    }
    struct comm comm = {.args = args, .system = &system};
    status = status ? status : find_algorithm(&comm, err);
    if (!status && args->side_links && !rk_system_use_side_links(&system)) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "--side-links needs a tier with \"side_links\"; %s has none", system.name);
    }
    status = status ? status : place(&comm, &system, err);
    status = status ? status : find_timings(&comm, err);
    status = status ? status : check_algorithm(&comm, err);
    if (!status && args->with != RK_COLL_COUNT) {
        status = place_with(&comm, err);
    }
    status = status ? status : answer(job, &comm, err);
    free(comm.timings);
    rk_system_clear(&system);
    rk_job_set_found(job, true);
    return status;
}

const rk_command rk_command_comm = {
    .name = "comm",
    .purpose = "Predict time and bandwidth of collectives",
    .options = rk_comm_options,
    .option_count = RK_COMM_OPTIONS,
    .notes = "Sizes and bandwidths are those of nccl-tests. Exit status: 0 done, 2 wrong usage\n"
             "or input.\n"
             "\n"
             "example: reckon comm all-reduce 8xdgx-h100-superpod --bytes 1Mi..1Gi --explain",
    .size = sizeof(rk_comm_args),
    .init = rk_comm_init,
    .run = run_comm,
};
