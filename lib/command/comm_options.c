/* SPDX-License-Identifier: Apache-2.0 */
/* The option table of `reckon comm`, and the combinations of options that it refuses. */
#include "command/comm_options.h"

#include "base/error.h"
#include "job/output_form.h"
#include "system/collective_plan.h"

#include <string.h>

#define PLACE(member) offsetof(rk_comm_args, member)

const rk_option rk_comm_options[RK_COMM_OPTIONS] = {
    RK_OPTION("collective", SET, PLACE(question.ops), .positional = true,
              .choices = rk_collective_names, .value = "NAME,...",
              .help = "collectives, such as all-reduce; default: all"),
    RK_OPTION("system", TEXT, PLACE(system), .value = "NAME|FILE", .catalogue = "systems",
              .word = RK_WORD_SYSTEM,
              .help = "machine: a name ('reckon list systems'), an accelerator, or a document"),
    RK_OPTION("set", TEXT, PLACE(settings), .joins = true, .value = "NAME=VALUE,...",
              .help = "numbers of the system: nvlink.size=72, nvlink.bandwidth=900GB/s"),
    RK_OPTION("ranks", COUNT, PLACE(question.ranks), .letter = 'p', .min = 2, .max = INT32_MAX,
              .value = "N", .word = RK_WORD_COUNT,
              .help = "ranks in the group; default: one innermost domain, such as a node"),
    RK_OPTION("stride", COUNT, PLACE(question.stride), .min = 1, .max = INT32_MAX, .value = "N",
              .help = "distance between consecutive ranks of the group; default: 1"),
    RK_OPTION("slice", TEXT, PLACE(question.slice), .value = "AxB[xC]",
              .help = "on a torus: ranks along each axis, such as 4x4 or 16; default: as many axes "
                      "as have 4 ranks each"),
    RK_OPTION("placement", COUNTS, PLACE(question.placement), .min = 1, .max = INT32_MAX,
              .value = "N,...", .help = "ranks on each node, in place of --ranks: 8,8,6,2"),
    RK_OPTION("op", SET, PLACE(question.ops), .choices = rk_collective_names, .value = "NAME,...",
              .help = "same as NAME"),
    RK_OPTION("bytes", COUNTS, PLACE(question.sizes), .aliases = {"size", "sizes", "message-size"},
              .letter = 'b', .min = 1, .max = INT64_C(1) << 50, .bytes = true, .value = "N,...",
              .help = "message sizes, counted as in nccl-tests: 64KiB, 1GiB; 1Mi..1Gi doubles from "
                      "the first to the last"),
    RK_OPTION("algorithm", TEXT, PLACE(question.algorithm), .letter = 'a', .value = "NAME",
              .help = "algorithm between nodes, or 'best', 'all' or 'nccl'; default: the one that "
                      "training software runs"),
    RK_OPTION("chunks", COUNT, PLACE(question.chunks), .max = RK_CHUNKS_MAX, .value = "N",
              .help = "pipeline the phases of the tiers in N chunks; 1: one phase after the other; "
                      "0: the fastest number; default: overlap as measured"),
    RK_OPTION("imbalance", REAL, PLACE(question.imbalance), .min = 1, .max = 1000000, .value = "X",
              .help = "uneven all-to-all: bytes on the busiest rank over the mean; default: 1"),
    RK_OPTION("sharing", COUNT, PLACE(question.sharing), .min = 1, .max = 1000000, .value = "N",
              .help = "groups that share the same links; default: 1"),
    RK_OPTION("with", CHOICE, PLACE(question.with), .choices = rk_collective_names, .value = "NAME",
              .help = "run a second collective at the same time on the same accelerators, and "
                      "print the time of both and the links they share"),
    RK_OPTION("with-ranks", COUNT, PLACE(question.with_ranks), .min = 2, .max = INT32_MAX,
              .value = "N", .help = "with --with: ranks in its group; default: --ranks"),
    RK_OPTION("with-stride", COUNT, PLACE(question.with_stride), .min = 1, .max = INT32_MAX,
              .value = "N",
              .help = "with --with: distance between its consecutive ranks; default: --stride"),
    RK_OPTION("with-bytes", COUNT, PLACE(question.with_bytes), .min = 1, .max = INT64_C(1) << 50,
              .bytes = true, .value = "N",
              .help = "with --with: its message size; default: that of the first collective"),
    RK_OPTION(
        "fabric-share", REAL, PLACE(question.fabric_share), .above = true, .max = 1, .value = "X",
        .help = "fraction of fabric bandwidth left after ECMP collisions, 0.6 to 0.9; default: 1"),
    RK_OPTION("servers", COUNT, PLACE(servers), .max = INT32_MAX, .value = "N",
              .help =
                  "compare the all-reduce with parameter servers, N of them on dedicated nodes"),
    RK_OPTION(
        "compute-ms", REAL, PLACE(compute_ms), .above = true, .max = INT32_MAX, .value = "X",
        .help =
            "with --servers: compute time of a step, for update rates and asynchronous servers"),
    RK_OPTION("staleness-price", REAL, PLACE(staleness_price), .max = 1000, .value = "X",
              .help = "with --compute-ms: extra steps per stale update, as a fraction; default: 0"),
    RK_OPTION("every", COUNT, PLACE(every), .min = 1, .max = INT32_MAX, .value = "N",
              .help = "with --servers: also average every N steps only (local SGD, DiLoCo)"),
    RK_OPTION("side-links", FLAG, PLACE(question.side_links),
              .help = "without --algorithm: split collectives over the side links of the system "
                      "too, such as a NIC beside NVLink"),
    RK_OPTION("explain", FLAG, PLACE(question.explain),
              .help = "list the phases of each way, their messages and link loads; with --csv, one "
                      "row per link; default algorithm: best"),
    RK_OPTION("plot", TEXT, PLACE(plot), .writes = true, .value = "FILE.svg",
              .help = "plot bus bandwidth by size, with a line for each collective and algorithm"),
    RK_OPTION("fit", TEXT, PLACE(fit), .value = "FILE",
              .help = "fit fabric constants to the output of nccl-tests, rccl-tests or hccl_test, "
                      "or to a table"),
    RK_OPTION("domains", COUNT, PLACE(domains), .min = 1, .max = INT32_MAX, .value = "N",
              .help = "with --fit: number of nodes, if the file does not list them"),
    RK_OPTION("json", FLAG, PLACE(json), .help = "write JSON"),
    RK_OPTION("csv", FLAG, PLACE(csv),
              .help = "write CSV, in the format of tables in system documents"),
    RK_OPTION("output", TEXT, PLACE(output), .letter = 'o', .writes = true, .value = "FILE",
              .help = "write to a file instead of standard output"),
};

void rk_comm_init(void *arguments)
{
    *(rk_comm_args *)arguments = (rk_comm_args){
        .output = "-",
        .servers = -1,
        .question = {.ops = RK_COMM_ALL_OPS,
                     .sizes = {.count = 5,
                               .values = {INT64_C(1) << 16, INT64_C(1) << 20, INT64_C(1) << 24,
                                          INT64_C(1) << 28, INT64_C(1) << 32}},
                     .stride = 1,
                     .chunks = -1,
                     .imbalance = 1,
                     .sharing = 1,
                     .fabric_share = 1,
                     .with = RK_COLL_COUNT},
    };
}

static rk_status check_with(const rk_comm_args *args, rk_error *err)
{
    const rk_comm_question *q = &args->question;
    if (q->with == RK_COLL_COUNT &&
        (q->with_ranks > 0 || q->with_stride > 0 || q->with_bytes > 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--with-ranks, --with-stride and --with-bytes need --with");
    }
    if (q->with != RK_COLL_COUNT &&
        (args->csv || (q->algorithm && strcmp(q->algorithm, "nccl") == 0))) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--with cannot be combined with --csv or --algorithm nccl");
    }
    return RK_OK;
}

/* Options that need a named plan, or an even group. */
static rk_status check_plans(const rk_comm_args *args, rk_error *err)
{
    const rk_comm_question *q = &args->question;
    if (q->side_links && (q->algorithm || q->explain || q->chunks >= 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--side-links cannot be combined with --algorithm, --explain or --chunks");
    }
    if (q->chunks >= 0 && q->algorithm && strcmp(q->algorithm, "nccl") == 0) {
        return rk_fail(err, RK_ERR_INVALID, "--chunks needs --algorithm best, all or a name");
    }
    if (q->placement.count > 0 && (q->ranks > 0 || q->stride > 1 || q->slice ||
                                   q->with != RK_COLL_COUNT || args->servers >= 0)) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "--placement cannot be combined with --ranks, --stride, --slice, --with or --servers");
    }
    if (q->slice && q->stride > 1) {
        return rk_fail(err, RK_ERR_INVALID, "--slice and --stride exclude each other");
    }
    if (args->plot && (args->json || args->csv)) {
        return rk_fail(err, RK_ERR_INVALID, "--plot cannot be combined with --json or --csv");
    }
    return RK_OK;
}

/* The formats that the files ask for. */
static rk_status settle_files(rk_comm_args *args, rk_error *err)
{
    const rk_output output = {.path = args->output,
                              .json = &args->json,
                              .csv = &args->csv,
                              .html = true,
                              .message = RK_OUTPUT_MESSAGE};
    const rk_status status = rk_output_settle(&output, err);
    return status ? status : rk_output_check_plot("plot", args->plot, err);
}

rk_status rk_comm_check(rk_comm_args *args, rk_error *err)
{
    const rk_comm_question *q = &args->question;
    const rk_status settled = settle_files(args, err);
    if (settled) {
        return settled;
    }
    if (args->json && args->csv) {
        return rk_fail(err, RK_ERR_INVALID, "--json and --csv exclude each other");
    }
    if (q->explain && q->algorithm && strcmp(q->algorithm, "nccl") == 0) {
        return rk_fail(err, RK_ERR_INVALID, "--explain needs --algorithm best, all or a name");
    }
    if (args->fit) {
        return RK_OK;
    }
    if (args->domains > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--domains is of --fit; --placement places ranks on nodes");
    }
    if (args->servers >= 0 && (args->json || args->csv)) {
        return rk_fail(err, RK_ERR_INVALID, "--servers prints text only, no JSON or CSV");
    }
    if (args->servers < 0 && (args->compute_ms > 0 || args->every > 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--compute-ms and --every need --servers N (0: no dedicated nodes)");
    }
    if (!args->system) {
        return rk_fail(err, RK_ERR_INVALID, "--system is required, or --fit with a file");
    }
    const rk_status status = check_plans(args, err);
    return status ? status : check_with(args, err);
}
