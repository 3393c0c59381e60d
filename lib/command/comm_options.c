/* SPDX-License-Identifier: Apache-2.0 */
#include "command/comm_options.h"

#include "base/error.h"

#include <string.h>

#define PLACE(member) offsetof(rk_comm_args, member)

const rk_option rk_comm_options[RK_COMM_OPTIONS] = {
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
    {.name = "with",
     .type = RK_OPTION_CHOICE,
     .offset = PLACE(with),
     .choices = rk_collective_names,
     .value = "NAME",
     .help = "a second collective that starts at the same time on the same accelerators: what both "
             "take, and which links they share"},
    {.name = "with-ranks",
     .type = RK_OPTION_COUNT,
     .offset = PLACE(with_ranks),
     .min = 2,
     .max = INT32_MAX,
     .value = "N",
     .help = "of the groups of --with; default: --ranks"},
    {.name = "with-stride",
     .type = RK_OPTION_COUNT,
     .offset = PLACE(with_stride),
     .min = 1,
     .max = INT32_MAX,
     .value = "N",
     .help = "from one rank of such a group to the next; default: --stride"},
    {.name = "with-bytes",
     .type = RK_OPTION_COUNT,
     .offset = PLACE(with_bytes),
     .min = 1,
     .max = INT64_C(1) << 50,
     .bytes = true,
     .value = "N",
     .help = "of --with; default: the size of the collective beside it"},
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

void rk_comm_init(void *arguments)
{
    *(rk_comm_args *)arguments = (rk_comm_args){
        .output = "-",
        .stride = 1,
        .imbalance = 1,
        .servers = -1,
        .sharing = 1,
        .with = RK_COLL_COUNT,
        .fabric_share = 1,
        .ops = RK_COMM_ALL_OPS,
        .sizes = {.count = 5,
                  .values = {INT64_C(1) << 16, INT64_C(1) << 20, INT64_C(1) << 24, INT64_C(1) << 28,
                             INT64_C(1) << 32}},
    };
}

static rk_status check_with(const rk_comm_args *args, rk_error *err)
{
    if (args->with == RK_COLL_COUNT &&
        (args->with_ranks > 0 || args->with_stride > 0 || args->with_bytes > 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--with-ranks, --with-stride and --with-bytes need --with: the second "
                       "collective");
    }
    if (args->with != RK_COLL_COUNT &&
        (args->csv || (args->algorithm && strcmp(args->algorithm, "nccl") == 0))) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--with goes with text and --json, and with algorithms other than nccl");
    }
    return RK_OK;
}

rk_status rk_comm_check(const rk_comm_args *args, rk_error *err)
{
    if (args->json && args->csv) {
        return rk_fail(err, RK_ERR_INVALID, "--json and --csv exclude each other");
    }
    if (args->explain && (!args->algorithm || strcmp(args->algorithm, "nccl") == 0)) {
        return rk_fail(err, RK_ERR_INVALID, "--explain needs --algorithm best, all or a name");
    }
    if (args->fit) {
        return RK_OK;
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
    return check_with(args, err);
}
