/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon shape`: the model of so many parameters that maps best on a machine. */
#include "cli/shape.h"

#include "cli/calculon_options.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

#define PLACE_OF(member) offsetof(rk_shape_args, member)
#define MOST_SHOWN       1000
#define MOST_VALUE       (1 << 24) /* blocks, heads, sizes */

#define REAL(member, text, least, most, unit, words)                                               \
    {                                                                                              \
        .name = text, .type = RK_OPTION_REAL, .offset = PLACE_OF(member), .min = least,            \
        .max = most, .value = unit, .help = words                                                  \
    }

#define COUNTS(member, text, words)                                                                \
    {                                                                                              \
        .name = text, .type = RK_OPTION_COUNTS, .offset = PLACE_OF(member), .min = 1,              \
        .max = MOST_VALUE, .value = "N,...", .help = words                                         \
    }

static const rk_option shape_options[] = {
    {.name = "parameters",
     .required = true,
     .type = RK_OPTION_REAL,
     .offset = PLACE_OF(parameters),
     .min = 1,
     .max = INT64_MAX,
     .value = "N",
     .help = "parameters of the model: 1.1T"},
    RK_OPTION_SYSTEM,
    RK_OPTION_PROCESSORS(true),
    RK_OPTION_BATCH,
    REAL(tolerance, "tolerance", 0, 50, "PERCENT",
         "how far from --parameters a shape may be; 2 unless given"),
    {.name = "seq",
     .type = RK_OPTION_COUNT,
     .offset = PLACE_OF(seq),
     .min = 1,
     .max = MOST_VALUE,
     .value = "N",
     .help = "tokens of a sequence; 2048 unless given"},
    COUNTS(blocks, "blocks", "blocks to try; all that --aspect allows unless given"),
    COUNTS(heads, "heads", "heads to try; all multiples of --head-multiple unless given"),
    COUNTS(head_sizes, "head-size", "sizes of a head to try; 128 unless given"),
    {.name = "head-multiple",
     .type = RK_OPTION_COUNT,
     .offset = PLACE_OF(head_multiple),
     .min = 1,
     .max = MOST_VALUE,
     .value = "N",
     .help = "heads are multiples of it; 8 unless given"},
    REAL(feedforward, "feedforward", 1, 64, "RATIO",
         "feed-forward over hidden size; 4 unless given"),
    REAL(aspect_min, "aspect-min", 0, INT64_MAX, "RATIO",
         "least hidden size over blocks; 64 unless given"),
    REAL(aspect_max, "aspect-max", 0, INT64_MAX, "RATIO", "and the most; 256 unless given"),
    {.name = "top",
     .letter = 'n',
     .type = RK_OPTION_COUNT,
     .offset = PLACE_OF(request.top),
     .min = 1,
     .max = MOST_SHOWN,
     .value = "N",
     .help = "shapes to show; 10 unless given"},
    RK_OPTION_DATATYPE,
    RK_OPTION_FUSED,
    RK_OPTION_NO_TP_OVERLAP,
    RK_OPTION_NO_DP_OVERLAP,
    RK_OPTION_THREADS,
    RK_OPTION_JSON,
    RK_OPTION_CSV,
    RK_OPTION_OUTPUT,
};

static const rk_shape_args defaults = {
    .tolerance = 2,
    .seq = 2048,
    .head_multiple = 8,
    .head_sizes = {1, {128}},
    .feedforward = 4,
    .aspect_min = 64,
    .aspect_max = 256,
};

/* Values that are given stand for themselves: blocks may have any aspect. */
static rk_shape_space space_of(const rk_shape_args *args)
{
    const bool all = args->blocks.count == 0;
    rk_shape_space space = {
        .parameters = args->parameters,
        .tolerance = args->tolerance / 100,
        .seq = args->seq,
        .feedforward_ratio = args->feedforward,
        .head_multiple = args->head_multiple,
        .aspect_min = all ? args->aspect_min : 0,
        .aspect_max = all ? args->aspect_max : (double)INT64_MAX,
        .block_count = args->blocks.count,
        .head_size_count = args->head_sizes.count,
        .head_count = args->heads.count,
    };
    memcpy(space.blocks, args->blocks.values, sizeof(space.blocks));
    memcpy(space.head_sizes, args->head_sizes.values, sizeof(space.head_sizes));
    memcpy(space.heads, args->heads.values, sizeof(space.heads));
    return space;
}

static rk_status search(rk_shaping *s, rk_error *err)
{
    rk_progress progress;
    const rk_search_control control = {
        .threads = (int)s->args.request.threads, .progress = rk_cli_progress, .user = &progress};
    s->space = space_of(&s->args);
    rk_progress_start(&progress, "shapes");
    const double started = rk_cpu_seconds();
    const rk_status status = rk_shape_search(&s->space, &s->plan.sys, &s->plan.space, &control,
                                             &s->shapes, &s->count, &s->counts, err);
    s->cpu_s = rk_cpu_seconds() - started;
    rk_progress_end(&progress);
    for (size_t i = 0; i < s->count; i++) {
        s->runs += s->shapes[i].runs;
    }
    return status;
}

static rk_status write_answer(const rk_shaping *s, rk_error *err)
{
    const rk_plan_request *request = &s->args.request;
    if (request->json) {
        return rk_shaping_write_json(s, err);
    }
    return request->csv ? rk_shaping_write_csv(s, err)
                        : rk_print_text(request->output, rk_shaping_write_text, s, err);
}

static int run_shape(int argc, char **argv)
{
    rk_shaping s = {.args = defaults};
    rk_error err;
    s.args.request = rk_plan_request_defaults;
    s.args.request.top = 10;
    int result = rk_options_parse(&rk_command_shape, argc, argv, &s.args);
    if (result != RK_PARSED) {
        return result;
    }
    if (s.args.request.json && s.args.request.csv) {
        return rk_command_fail(&rk_command_shape, "--json and --csv exclude each other");
    }
    s.plan.request = s.args.request;
    rk_status status = rk_plan_load(&s.plan, &err);
    if (!status) {
        status = search(&s, &err);
    }
    if (!status) {
        status = write_answer(&s, &err);
    }
    result = rk_command_end(&rk_command_shape, status, s.runs > 0, &err);
    free(s.shapes);
    return result;
}

const rk_command rk_command_shape = {
    .name = "shape",
    .purpose = "Find the shape in which a model of so many parameters trains best on a machine",
    .options = shape_options,
    .option_count = sizeof(shape_options) / sizeof(shape_options[0]),
    .notes = "By the Calculon methodology: blocks, heads and hidden size are varied, and the best "
             "strategy is\nsearched for each shape.  What is given with --blocks or --heads "
             "stands for itself.  Exit status: 0\ndone, 1 no shape runs, 2 wrong usage or "
             "input.\n\n"
             "example: reckon shape --parameters 1T --system h100-80g-off512g50-nvl8 \\\n"
             "             --processors 4096 --batch 3072 --seq 8192 --head-size 128,192",
    .run = run_shape,
};
