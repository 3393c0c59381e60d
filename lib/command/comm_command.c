/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon comm`: what collectives take on a system, by size, in nccl-tests format. */
#include "base/error.h"
#include "base/text.h"
#include "base/time_text.h"
#include "comm/nccl.h"
#include "comm/way.h"
#include "command/comm.h"
#include "command/comm_fit.h"
#include "command/comm_links.h"
#include "command/comm_servers.h"
#include "command/commands.h"
#include "io/json_write.h"
#include "report/describe.h"
#include "system/transport.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALL_OPS ((1U << RK_COLL_COUNT) - 1)

/* ---- options ------------------------------------------------------------------------------- */

struct comm_args {
    const char *system, *output, *algorithm, *fit;
    int64_t ranks, stride, domains;
    int64_t servers, every, sharing;
    double imbalance, compute_ms, staleness_price, fabric_share;
    unsigned ops; /* a bit per rk_collective */
    rk_option_counts sizes;
    bool explain, json, csv;
};

#define PLACE(member) offsetof(struct comm_args, member)

static const rk_option comm_options[] = {
    {.name = "collective",
     .positional = true,
     .type = RK_OPTION_SET,
     .offset = PLACE(ops),
     .choices = rk_collective_names,
     .value = "NAME,...",
     .help = "which collectives, all-reduce or all_reduce; default: all"},
    {.name = "system",
     .offset = PLACE(system),
     .value = "NAME|FILE",
     .catalogue = "systems",
     .word = RK_WORD_SYSTEM,
     .help = "the machine: a name of 'reckon list systems', an accelerator, or a document"},
    {.name = "ranks",
     .letter = 'p',
     .type = RK_OPTION_COUNT,
     .offset = PLACE(ranks),
     .min = 2,
     .max = INT32_MAX,
     .value = "N",
     .word = RK_WORD_COUNT,
     .help = "of the group; default: those of one innermost domain"},
    {.name = "stride",
     .type = RK_OPTION_COUNT,
     .offset = PLACE(stride),
     .min = 1,
     .max = INT32_MAX,
     .value = "N",
     .help = "from one rank of the group to the next; default: 1"},
    {.name = "op",
     .type = RK_OPTION_SET,
     .offset = PLACE(ops),
     .choices = rk_collective_names,
     .value = "NAME,...",
     .help = "the same as an option"},
    {.name = "bytes",
     .aliases = {"size", "sizes", "message-size"},
     .letter = 'b',
     .type = RK_OPTION_COUNTS,
     .offset = PLACE(sizes),
     .min = 1,
     .max = INT64_C(1) << 50,
     .bytes = true,
     .value = "N,...",
     .help =
         "sizes, as nccl-tests count them: 64KiB, 1GiB; 1Mi..1Gi doubles from one to the other"},
    {.name = "algorithm",
     .letter = 'a',
     .offset = PLACE(algorithm),
     .value = "NAME",
     .help = "the algorithm between the outermost domains, 'best', 'all', or 'nccl'; default: what "
             "estimates use, which is what training software runs"},
    {.name = "imbalance",
     .type = RK_OPTION_REAL,
     .offset = PLACE(imbalance),
     .min = 1,
     .max = 1000000,
     .value = "X",
     .help = "all-to-all with counts that differ: bytes of the busiest rank over the mean; "
             "default: 1"},
    {.name = "sharing",
     .type = RK_OPTION_COUNT,
     .offset = PLACE(sharing),
     .min = 1,
     .max = 1000000,
     .value = "N",
     .help = "groups that use the same links at once; default: 1"},
    {.name = "fabric-share",
     .type = RK_OPTION_REAL,
     .offset = PLACE(fabric_share),
     .above = true,
     .max = 1,
     .value = "X",
     .help =
         "bandwidth of fabrics that flows leave each other, as colliding ECMP hashes do: 0.6 to "
         "0.9; default: 1"},
    {.name = "servers",
     .type = RK_OPTION_COUNT,
     .offset = PLACE(servers),
     .max = INT32_MAX,
     .value = "N",
     .help = "compare the all-reduce with parameter servers, N of them on machines of their own"},
    {.name = "compute-ms",
     .type = RK_OPTION_REAL,
     .offset = PLACE(compute_ms),
     .above = true,
     .max = INT32_MAX,
     .value = "X",
     .help = "with --servers: a step without communication, for rates and asynchronous servers"},
    {.name = "staleness-price",
     .type = RK_OPTION_REAL,
     .offset = PLACE(staleness_price),
     .max = 1000,
     .value = "X",
     .help = "with --compute-ms: steps more per update of staleness, as a share; default: 0"},
    {.name = "every",
     .type = RK_OPTION_COUNT,
     .offset = PLACE(every),
     .min = 1,
     .max = INT32_MAX,
     .value = "N",
     .help = "with --servers: and with an average every N steps alone (local SGD, DiLoCo)"},
    {.name = "explain",
     .type = RK_OPTION_FLAG,
     .offset = PLACE(explain),
     .help = "with --algorithm: the phases of each way, their messages and the load of links; with "
             "--csv a row per link"},
    {.name = "fit",
     .offset = PLACE(fit),
     .value = "FILE",
     .help =
         "fit the constants of a fabric to output of nccl-tests, rccl-tests or hccl_test, or to "
         "a table"},
    {.name = "domains",
     .type = RK_OPTION_COUNT,
     .offset = PLACE(domains),
     .min = 1,
     .max = INT32_MAX,
     .value = "N",
     .help = "with --fit: nodes that the ranks are on, where the file does not list them"},
    {.name = "json",
     .type = RK_OPTION_FLAG,
     .offset = PLACE(json),
     .help = "write the answer as JSON"},
    {.name = "csv",
     .type = RK_OPTION_FLAG,
     .offset = PLACE(csv),
     .help = "write a table like those that documents of systems name"},
    {.name = "output",
     .letter = 'o',
     .offset = PLACE(output),
     .value = "FILE",
     .help = "write to a file instead of standard output"},
};

struct comm {
    const struct comm_args *args;
    const rk_system *system;
    rk_group group;
};

/* ---- one collective -------------------------------------------------------------------------- */

/*
 * Bandwidth of the links over that of the algorithm (nccl-tests, PERFORMANCE.md): what a ring would
 * have to carry for each byte of the size.
 */
double rk_comm_bus_factor(rk_collective op, double ranks)
{
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

typedef struct timing {
    rk_collective op;
    double bytes, seconds, algorithm, bus; /* the last two in bytes/s */
    const rk_way *way;                     /* NULL: the choice of estimates */
    char name[48];                         /* of the algorithm */
} timing;

typedef void visit_timing(void *to, const struct comm *comm, const timing *timing);

static void visit_seconds(const struct comm *comm, timing *t, visit_timing *visit, void *to)
{
    t->algorithm = t->bytes / t->seconds;
    t->bus = t->algorithm * rk_comm_bus_factor(t->op, (double)comm->group.size);
    visit(to, comm, t);
}

/* As estimates choose and price it; with --algorithm nccl beside NCCL's choice. */
static void visit_model(const struct comm *comm, timing *t, double moved, visit_timing *visit,
                        void *to)
{
    rk_nccl_graph graph;
    const char *algorithm;
    t->seconds = rk_collective_choose(comm->system, t->op, moved, &comm->group, &algorithm);
    (void)snprintf(t->name, sizeof(t->name), "%s", algorithm);
    if (comm->args->algorithm && rk_nccl_graph_of(comm->system, &comm->group, &graph) &&
        (t->op == RK_COLL_ALL_REDUCE || t->op == RK_COLL_REDUCE_SCATTER ||
         t->op == RK_COLL_ALL_GATHER)) {
        const rk_nccl_choice choice = rk_nccl_choose(&graph, t->op, moved);
        (void)snprintf(t->name, sizeof(t->name), "%s, %s",
                       rk_nccl_algorithm_names[choice.algorithm],
                       rk_nccl_protocol_names[choice.protocol]);
    }
    visit_seconds(comm, t, visit, to);
}

static void visit_ways(const struct comm *comm, timing *t, double moved, visit_timing *visit,
                       void *to)
{
    rk_way ways[RK_WAY_MAX];
    const char *asked = comm->args->algorithm;
    const bool best = strcmp(asked, "best") == 0, all = strcmp(asked, "all") == 0;
    const int count = rk_ways_find(comm->system, &comm->group, t->op, moved, ways);
    for (int i = 0; i < (best ? 1 : count); i++) {
        if (best || all || strcmp(ways[i].name, asked) == 0) {
            t->way = &ways[i];
            t->seconds = ways[i].seconds;
            (void)snprintf(t->name, sizeof(t->name), "%s", ways[i].name);
            visit_seconds(comm, t, visit, to);
        }
    }
}

static void for_each(const struct comm *comm, visit_timing *visit, void *to)
{
    const char *asked = comm->args->algorithm;
    for (int op = 0; rk_collective_names[op]; op++) {
        for (int i = 0; comm->args->ops >> op & 1 && i < comm->args->sizes.count; i++) {
            timing t = {.op = (rk_collective)op, .bytes = (double)comm->args->sizes.values[i]};
            const double moved = t.bytes * (op == RK_COLL_ALL_TO_ALL ? comm->args->imbalance : 1);
            (asked && strcmp(asked, "nccl") != 0 ? visit_ways : visit_model)(comm, &t, moved, visit,
                                                                             to);
        }
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

static void count_timing(void *to, const struct comm *comm, const timing *t)
{
    (void)comm;
    (void)t;
    ++*(int *)to;
}

/* Refuses names that no way has, and ways that this group cannot use for any of the collectives. */
static rk_status check_algorithm(const struct comm *comm, rk_error *err)
{
    static const char *const choices[] = {"best", "all", "nccl", NULL};
    const char *asked = comm->args->algorithm;
    char names[400];
    int count = 0;
    size_t length = 0;
    rk_nccl_graph graph;
    if (!asked) {
        return RK_OK;
    }
    if (!is_name(asked, choices) && !is_name(asked, rk_way_names) && !rk_algorithm_find(asked)) {
        for (size_t i = 0; rk_algorithms[i]; i++) {
            length += (size_t)snprintf(names + length, sizeof(names) - length, "%s, ",
                                       rk_algorithms[i]->name);
        }
        for (size_t i = 0; rk_way_names[i]; i++) {
            length +=
                (size_t)snprintf(names + length, sizeof(names) - length, "%s, ", rk_way_names[i]);
        }
        return rk_fail(err, RK_ERR_INVALID, "--algorithm must be %sbest, all or nccl, not '%s'",
                       names, asked);
    }
    if (strcmp(asked, "nccl") == 0 && !rk_nccl_graph_of(comm->system, &comm->group, &graph)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "NCCL's choice is known for even groups on NVIDIA's accelerators only; "
                       "--algorithm best takes the cheapest");
    }
    for_each(comm, count_timing, &count);
    return count > 0 ? RK_OK
                     : rk_fail(err, RK_ERR_INVALID,
                               "no collective that is asked for can run as '%s' on this group; "
                               "--algorithm all lists what can",
                               asked);
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

/* How many ranks of the group share a domain of each tier. */
static void write_group(FILE *to, const struct comm *comm)
{
    const rk_system *system = comm->system;
    (void)fprintf(to, "group     %" PRId64 " ranks", comm->group.size);
    for (int i = 0; i + 1 < system->tier_count; i++) {
        (void)fprintf(to, ", %" PRId64 " in a domain of %s", comm->group.within[i],
                      system->tiers[i].name);
    }
    (void)fputs("\n\n", to);
}

/* A way that uses all tiers at once. */
static void add_whole(rk_table *table, const struct comm *comm, const timing *t)
{
    char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
    rk_table_cell(table, "%s", rk_collective_names[t->op]);
    rk_table_cell(table, "%s", rk_with_commas((uint64_t)t->bytes, size));
    rk_table_cell(table, "%s", t->name);
    rk_table_cell(table, "all at once");
    rk_table_cell(table, "%s", rk_collective_names[t->op]);
    rk_table_cell(table, "%s", t->name);
    rk_table_cell(table, "%" PRId64, comm->group.size);
    rk_table_cell(table, "%s", rk_time_text(t->seconds, time));
    for (int i = 0; i < 3; i++) {
        rk_table_cell(table, "%s", "");
    }
}

/* The phases of a way: what each sends over which links. */
static void add_phases(void *to, const struct comm *comm, const timing *t)
{
    rk_table *table = to;
    if (t->way && t->way->phase_count == 0) {
        add_whole(table, comm, t);
    }
    for (int i = 0; t->way && i < t->way->phase_count; i++) {
        const rk_way_phase *p = &t->way->phases[i];
        const rk_wiring wiring = rk_way_wiring(p);
        char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE], link[RK_LINK_NAME_SIZE];
        rk_replay replay;
        rk_error err;
        rk_table_cell(table, "%s", i > 0 ? "" : rk_collective_names[t->op]);
        rk_table_cell(table, "%s", i > 0 ? "" : rk_with_commas((uint64_t)t->bytes, size));
        rk_table_cell(table, "%s", i > 0 ? "" : t->name);
        rk_table_cell(table, "%s", p->tier->name);
        rk_table_cell(table, "%s", rk_collective_names[p->job.op]);
        rk_table_cell(table, "%s", p->algorithm ? p->algorithm->name : "axes");
        rk_table_cell(table, "%d", (int)p->job.ranks);
        rk_table_cell(table, "%s", rk_time_text(p->seconds, time));
        if (rk_way_replay(p, NULL, &replay, &err)) {
            rk_table_cell(table, "%s", "");
            rk_table_cell(table, "%s", "");
            rk_table_cell(table, "%s", "");
            continue;
        }
        rk_table_cell(table, "%s", rk_with_commas((uint64_t)replay.messages, size));
        rk_table_cell(table, "%s", rk_with_commas((uint64_t)(replay.busiest_bytes + 0.5), size));
        rk_table_cell(table, "%s", rk_wiring_name(&wiring, replay.busiest, link));
    }
}

/* What all links carry, until something fails. */
struct links {
    rk_table table;
    rk_out *out;
    rk_status status;
    rk_error *err;
};

static void add_links(void *to, const struct comm *comm, const timing *t)
{
    struct links *links = to;
    (void)comm;
    if (t->way && !links->status) {
        links->status = rk_comm_links_add(&links->table, t->way, links->err);
    }
}

static void write_links(void *to, const struct comm *comm, const timing *t)
{
    struct links *links = to;
    (void)comm;
    if (t->way && !links->status) {
        links->status = rk_comm_links_write(links->out, t->op, t->bytes, t->way, links->err);
    }
}

static rk_status explain(FILE *to, const struct comm *comm, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"collective", RK_ALIGN_LEFT},   {"bytes", RK_ALIGN_RIGHT},
        {"way", RK_ALIGN_LEFT},          {"tier", RK_ALIGN_LEFT},
        {"phase", RK_ALIGN_LEFT},        {"algorithm", RK_ALIGN_LEFT},
        {"units", RK_ALIGN_RIGHT},       {"time", RK_ALIGN_RIGHT},
        {"messages", RK_ALIGN_RIGHT},    {"bytes", RK_ALIGN_RIGHT},
        {"busiest link", RK_ALIGN_LEFT},
    };
    static const rk_table_column links[] = {
        {"phase", RK_ALIGN_LEFT},       {"links", RK_ALIGN_LEFT},
        {"number", RK_ALIGN_RIGHT},     {"least bytes", RK_ALIGN_RIGHT},
        {"mean bytes", RK_ALIGN_RIGHT}, {"most bytes", RK_ALIGN_RIGHT},
        {"most busy", RK_ALIGN_RIGHT},
    };
    struct links all = {.err = err};
    rk_table table;
    (void)fputs("\n", to);
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for_each(comm, add_phases, &table);
    rk_status status = rk_write_table(to, &table, style, err);
    rk_table_init(&all.table, links, sizeof(links) / sizeof(links[0]));
    for_each(comm, add_links, &all);
    status = status ? status : all.status;
    if (!status) {
        (void)fputs("\n", to);
        status = rk_write_table(to, &all.table, style, err);
    }
    return status;
}

/* What else is asked for. */
static rk_status write_more(FILE *to, const struct comm *comm, rk_table_style style, rk_error *err)
{
    const struct comm_args *args = comm->args;
    const rk_comm_servers servers = {
        .extra = args->servers,
        .compute_s = 1e-3 * args->compute_ms,
        .price = args->staleness_price,
        .every = args->every,
    };
    rk_status status = args->explain ? explain(to, comm, style, err) : RK_OK;
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
                  comm->group.size, comm->group.within[0], t->bytes,
                  rk_double_text(1e6 * t->seconds, us));
}

static void add_json(void *to, const struct comm *comm, const timing *t)
{
    rk_json_writer *writer = to;
    (void)comm;
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_json_string(writer, "op", rk_collective_names[t->op]);
    rk_json_string(writer, "algorithm", t->name);
    rk_json_real(writer, "bytes", t->bytes);
    rk_json_real(writer, "seconds", t->seconds);
    rk_json_real(writer, "algorithm_bytes_per_s", t->algorithm);
    rk_json_real(writer, "bus_bytes_per_s", t->bus);
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
        struct links links = {.out = out, .err = err};
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
    rk_json_count(&writer, "ranks", (uint64_t)comm->group.size);
    rk_json_count(&writer, "ranks_of_innermost_domain", (uint64_t)comm->group.within[0]);
    rk_json_open_member(&writer, "collectives", "[");
    for_each(comm, add_json, &writer);
    rk_json_close(&writer, "]");
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
    return rk_out_close(out, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

rk_status rk_comm_place(const rk_system *system, int64_t ranks, int64_t stride, rk_group *group,
                        rk_error *err)
{
    if (system->tier_count == 0) {
        return rk_fail(err, RK_ERR_INVALID, "the system document has no \"tiers\": its network");
    }
    const int64_t most = system->tiers[system->tier_count - 1].size;
    const int64_t size = ranks > 0 ? ranks : system->tiers[0].size;
    if (size < 2 || (size - 1) > (most - 1) / stride) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%" PRId64 " ranks, %" PRId64 " from one to the next, do not fit on %" PRId64
                       " accelerators; give --ranks and --stride that do",
                       size, stride, most);
    }
    *group = rk_group_packed(system, size, stride);
    return RK_OK;
}

static void init_comm(void *arguments)
{
    *(struct comm_args *)arguments = (struct comm_args){
        .output = "-",
        .stride = 1,
        .imbalance = 1,
        .servers = -1,
        .sharing = 1,
        .fabric_share = 1,
        .ops = ALL_OPS,
        .sizes = {.count = 5,
                  .values = {INT64_C(1) << 16, INT64_C(1) << 20, INT64_C(1) << 24, INT64_C(1) << 28,
                             INT64_C(1) << 32}},
    };
}

/* The first of the collectives that were asked for; all: none was named. */
static rk_status fit(rk_job *job, const struct comm_args *args, rk_error *err)
{
    rk_comm_hint hint = {
        .has_op = args->ops != ALL_OPS, .ranks = args->ranks, .domains = args->domains};
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

static rk_status run_comm(rk_job *job, void *arguments, rk_error *err)
{
    const struct comm_args *args = arguments;
    rk_system system;
    if (args->json && args->csv) {
        return rk_fail(err, RK_ERR_INVALID, "--json and --csv exclude each other");
    }
    if (args->explain && (!args->algorithm || strcmp(args->algorithm, "nccl") == 0)) {
        return rk_fail(err, RK_ERR_INVALID, "--explain needs --algorithm best, all or a name");
    }
    if (args->fit) {
        return fit(job, args, err);
    }
    if (args->servers >= 0 && (args->json || args->csv)) {
        return rk_fail(err, RK_ERR_INVALID, "--servers is written as text only");
    }
    if (args->servers < 0 && (args->compute_ms > 0 || args->every > 0)) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "--compute-ms and --every need --servers; --servers 0 for none of their own");
    }
    if (!args->system) {
        return rk_fail(err, RK_ERR_INVALID, "--system is required, or --fit with a file");
    }
    rk_status status = rk_system_load(args->system, &system, err);
    if (status) {
        return status;
    }
    for (int i = 0; i < system.tier_count; i++) {
        system.tiers[i].bandwidth *=
            (rk_tier_is_fabric(&system.tiers[i]) ? args->fabric_share : 1) / (double)args->sharing;
    }
    struct comm comm = {.args = args, .system = &system};
    status = rk_comm_place(&system, args->ranks, args->stride, &comm.group, err);
    status = status ? status : check_algorithm(&comm, err);
    if (!status) {
        status = args->json || args->csv ? write_data(job, &comm, err)
                                         : rk_job_print(job, args->output, write_text, &comm, err);
    }
    rk_system_clear(&system);
    rk_job_set_found(job, true);
    return status;
}

const rk_command rk_command_comm = {
    .name = "comm",
    .purpose = "Predict time and bandwidth of collectives",
    .options = comm_options,
    .option_count = sizeof(comm_options) / sizeof(comm_options[0]),
    .notes = "Sizes and bandwidths are those of nccl-tests. Exit status: 0 done, 2 wrong usage\n"
             "or input.\n"
             "\n"
             "example: reckon comm all-reduce 64xdgx-h100-superpod --bytes 1Mi..1Gi --explain",
    .size = sizeof(struct comm_args),
    .init = init_comm,
    .run = run_comm,
};
