/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon comm`: what collectives take on a system, by size, as nccl-tests tell it. */
#include "base/error.h"
#include "base/text.h"
#include "command/commands.h"
#include "io/json_write.h"
#include "report/describe.h"
#include "system/system.h"

#include <inttypes.h>

#define ALL_OPS ((1U << RK_COLL_COUNT) - 1)

/* ---- options ------------------------------------------------------------------------------- */

struct comm_args {
    const char *system, *output;
    int64_t ranks, stride;
    unsigned ops; /* a bit per rk_collective */
    rk_option_counts sizes;
    bool json, csv;
};

#define PLACE(member) offsetof(struct comm_args, member)

static const rk_option comm_options[] = {
    {.name = "system",
     .required = true,
     .offset = PLACE(system),
     .value = "NAME|FILE",
     .catalogue = "systems",
     .help = "the machine: a name of 'reckon list systems', an accelerator, or a document"},
    {.name = "ranks",
     .letter = 'p',
     .type = RK_OPTION_COUNT,
     .offset = PLACE(ranks),
     .min = 2,
     .max = INT32_MAX,
     .value = "N",
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
     .help = "which collectives; default: all"},
    {.name = "bytes",
     .letter = 'b',
     .type = RK_OPTION_COUNTS,
     .offset = PLACE(sizes),
     .min = 1,
     .max = INT64_C(1) << 50,
     .bytes = true,
     .value = "N,...",
     .help = "sizes, as nccl-tests count them: 64KiB, 1GiB"},
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
static double bus_factor(rk_collective op, double ranks)
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
} timing;

static timing time_of(const struct comm *comm, rk_collective op, int64_t size)
{
    const double ranks = (double)comm->group.size, bytes = (double)size;
    timing t = {.op = op, .bytes = bytes};
    t.seconds = rk_collective_seconds(comm->system, op, bytes, &comm->group);
    t.algorithm = bytes / t.seconds;
    t.bus = t.algorithm * bus_factor(op, ranks);
    return t;
}

typedef void visit_timing(void *to, const struct comm *comm, const timing *timing);

static void for_each(const struct comm *comm, visit_timing *visit, void *to)
{
    for (int op = 0; rk_collective_names[op]; op++) {
        for (int i = 0; comm->args->ops >> op & 1 && i < comm->args->sizes.count; i++) {
            const timing t = time_of(comm, (rk_collective)op, comm->args->sizes.values[i]);
            visit(to, comm, &t);
        }
    }
}

/* ---- what is written ------------------------------------------------------------------------- */

static void add_row(void *to, const struct comm *comm, const timing *t)
{
    rk_table *table = to;
    char size[RK_COMMAS_SIZE];
    (void)comm;
    rk_table_cell(table, "%s", rk_collective_names[t->op]);
    rk_table_cell(table, "%s", rk_with_commas((uint64_t)t->bytes, size));
    rk_table_cell(table, "%.1f", 1e6 * t->seconds);
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

static rk_status write_text(FILE *to, const void *what, rk_table_style style, int width,
                            rk_error *err)
{
    static const rk_table_column columns[] = {
        {"collective", RK_ALIGN_LEFT},   {"bytes", RK_ALIGN_RIGHT},
        {"time, us", RK_ALIGN_RIGHT},    {"algbw, GB/s", RK_ALIGN_RIGHT},
        {"busbw, GB/s", RK_ALIGN_RIGHT},
    };
    const struct comm *comm = what;
    char words[RK_WORDS_SIZE];
    rk_table table;
    (void)width;
    (void)fprintf(to, "system    %s: %s GB/s\n", comm->system->name,
                  rk_describe_tiers(comm->system, words));
    write_group(to, comm);
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for_each(comm, add_row, &table);
    return rk_write_table(to, &table, style, err);
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
    if (comm->args->csv) {
        rk_out_text(out, "op,ranks,ranks_per_node,bytes,us\n");
        for_each(comm, add_csv, out);
        return rk_out_close(out, err);
    }
    rk_json_writer writer = {.out = out, .indented = true};
    rk_json_open(&writer, "{");
    rk_json_string(&writer, "reckon", rk_version());
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

/* The group that is asked for; refuses one that the machine has not the room for. */
static rk_status place_group(const struct comm_args *args, const rk_system *system, rk_group *group,
                             rk_error *err)
{
    if (system->tier_count == 0) {
        return rk_fail(err, RK_ERR_INVALID, "the system document has no \"tiers\": its network");
    }
    const int64_t most = system->tiers[system->tier_count - 1].size;
    const int64_t ranks = args->ranks > 0 ? args->ranks : system->tiers[0].size;
    if (ranks < 2 || (ranks - 1) > (most - 1) / args->stride) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%" PRId64 " ranks, %" PRId64 " from one to the next, do not fit on %" PRId64
                       " accelerators; give --ranks and --stride that do",
                       ranks, args->stride, most);
    }
    *group = rk_group_packed(system, ranks, args->stride);
    return RK_OK;
}

static void init_comm(void *arguments)
{
    *(struct comm_args *)arguments = (struct comm_args){
        .output = "-",
        .stride = 1,
        .ops = ALL_OPS,
        .sizes = {.count = 5,
                  .values = {INT64_C(1) << 16, INT64_C(1) << 20, INT64_C(1) << 24, INT64_C(1) << 28,
                             INT64_C(1) << 32}},
    };
}

static rk_status run_comm(rk_job *job, void *arguments, rk_error *err)
{
    const struct comm_args *args = arguments;
    rk_system system;
    if (args->json && args->csv) {
        return rk_fail(err, RK_ERR_INVALID, "--json and --csv exclude each other");
    }
    rk_status status = rk_system_load(args->system, &system, err);
    if (status) {
        return status;
    }
    struct comm comm = {.args = args, .system = &system};
    status = place_group(args, &system, &comm.group, err);
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
    .purpose = "Predict collectives on a system, by size: time and bandwidth",
    .options = comm_options,
    .option_count = sizeof(comm_options) / sizeof(comm_options[0]),
    .notes = "Sizes and bandwidths are those of nccl-tests.  Exit status: 0 done, 2 wrong usage or "
             "input.\n\n"
             "example: reckon comm --system dgx-h100-superpod --ranks 64 --op all_reduce \\\n"
             "             --bytes 1Mi,16Mi,256Mi,1Gi",
    .size = sizeof(struct comm_args),
    .init = init_comm,
    .run = run_comm,
};
