/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon shape`: the model of a given size that maps best onto a machine. */
#include "command/shape_command.h"

#include "base/error.h"
#include "command/calculon_options.h"
#include "command/commands.h"
#include "request/launch_flags.h"
#include "request/launch_options.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SHOWN    1000
#define MOST_VALUE    (1 << 24) /* blocks, heads, sizes */
#define TOP           10        /* to show by default */
#define TOLERANCE     2         /* % */
#define HEAD_MULTIPLE 8
#define ASPECT_MIN    64
#define ASPECT_MAX    256

/* ---- options ------------------------------------------------------------------------------- */

/* The command lines of the two methods. */
struct calculon_args {
    rk_calculon_request request;
    rk_shape_wish wish;
};

struct reckon_args {
    rk_request request;
    rk_shape_wish wish;
};

#define REAL(args, member, text, least, most, unit, words)                                         \
    {                                                                                              \
        .name = text, .type = RK_OPTION_REAL, .offset = offsetof(struct args, wish.member),        \
        .min = least, .max = most, .value = unit, .help = words                                    \
    }

#define ONE_COUNT(args, member, text, words)                                                       \
    {                                                                                              \
        .name = text, .type = RK_OPTION_COUNT, .offset = offsetof(struct args, wish.member),       \
        .min = 1, .max = MOST_VALUE, .value = "N", .help = words                                   \
    }

#define COUNTS(args, member, text, words)                                                          \
    {                                                                                              \
        .name = text, .type = RK_OPTION_COUNTS, .offset = offsetof(struct args, wish.member),      \
        .min = 1, .max = MOST_VALUE, .value = "N,...", .help = words                               \
    }

#define SHAPES(args)                                                                               \
    REAL(args, tolerance, "tolerance", 0, 50, "PERCENT",                                           \
         "tolerance around --parameters; default: 2"),                                             \
        COUNTS(args, blocks, "blocks",                                                             \
               "numbers of blocks to try; default: all within the aspect ratios"),                 \
        COUNTS(args, heads, "heads",                                                               \
               "numbers of heads to try; default: all multiples of --head-multiple"),              \
        ONE_COUNT(args, head_multiple, "head-multiple",                                            \
                  "try multiples of this number of heads; default: 8"),                            \
        REAL(args, aspect_min, "aspect-min", 0, INT64_MAX, "RATIO",                                \
             "minimum hidden size over blocks; default: 64"),                                      \
        REAL(args, aspect_max, "aspect-max", 0, INT64_MAX, "RATIO",                                \
             "maximum hidden size over blocks; default: 256")

#define TOP_OPTION(args)                                                                           \
    {                                                                                              \
        .name = "top", .letter = 'n', .type = RK_OPTION_COUNT,                                     \
        .offset = offsetof(struct args, request.top), .min = 1, .max = MOST_SHOWN, .value = "N",   \
        .help = "shapes to show; default: 10"                                                      \
    }

static const rk_option calculon_options[] = {
    {.name = "parameters",
     .required = true,
     .type = RK_OPTION_REAL,
     .offset = offsetof(struct calculon_args, wish.parameters),
     .min = 1,
     .max = INT64_MAX,
     .value = "N",
     .help = "parameters of the model: 1.1T"},
    RK_OPTION_SYSTEM,
    RK_OPTION_PROCESSORS(true),
    RK_OPTION_BATCH,
    SHAPES(calculon_args),
    ONE_COUNT(calculon_args, seq, "seq", "tokens of a sequence; default: 2048"),
    COUNTS(calculon_args, head_sizes, "head-size", "sizes of a head to try; default: 128"),
    REAL(calculon_args, feedforward, "feedforward", 1, 64, "RATIO",
         "feed-forward over hidden size; default: 4"),
    TOP_OPTION(calculon_args),
    RK_OPTION_METHOD,
    RK_OPTION_DATATYPE,
    RK_OPTION_FUSED,
    RK_OPTION_NO_TP_OVERLAP,
    RK_OPTION_NO_DP_OVERLAP,
    RK_OPTION_THREADS,
    RK_OPTION_JSON,
    RK_OPTION_CSV,
    RK_OPTION_OUTPUT,
};

static const rk_option reckon_options[] = {
    REAL(reckon_args, parameters, "parameters", 1, INT64_MAX, "N",
         "number of parameters, such as 1.1T; default: that of --model"),
    SHAPES(reckon_args),
    COUNTS(reckon_args, head_sizes, "head-size", "head sizes to try; default: that of --model"),
    REAL(reckon_args, feedforward, "feedforward", 1, 64, "RATIO",
         "feed-forward size over hidden size; default: that of --model"),
    TOP_OPTION(reckon_args),
    RK_OPTIONS_OF_SEARCH,
};

static const rk_shape_wish wish_defaults = {
    .tolerance = TOLERANCE,
    .head_multiple = HEAD_MULTIPLE,
    .aspect_min = ASPECT_MIN,
    .aspect_max = ASPECT_MAX,
};

/* ---- both methods -------------------------------------------------------------------------- */

/* Given values are used as they are, whatever the aspect ratio. */
static rk_shape_space space_of(const rk_shape_wish *wish)
{
    const bool all = wish->blocks.count == 0;
    rk_shape_space space = {
        .parameters = wish->parameters,
        .tolerance = wish->tolerance / 100,
        .feedforward_ratio = wish->feedforward,
        .head_multiple = wish->head_multiple,
        .aspect_min = all ? wish->aspect_min : 0,
        .aspect_max = all ? wish->aspect_max : (double)INT64_MAX,
        .block_count = wish->blocks.count,
        .head_size_count = wish->head_sizes.count,
        .head_count = wish->heads.count,
    };
    memcpy(space.blocks, wish->blocks.values, sizeof(space.blocks));
    memcpy(space.head_sizes, wish->head_sizes.values, sizeof(space.head_sizes));
    memcpy(space.heads, wish->heads.values, sizeof(space.heads));
    return space;
}

static rk_status search(rk_job *job, rk_shape_answer *s, rk_error *err)
{
    const rk_search_control control = rk_job_search_control(job, "shapes", s->asked.threads);
    s->space = space_of(&s->wish);
    const double started = rk_job_cpu_s(job);
    const rk_status status = rk_shape_search(&s->space, &s->asked.problem, &control, &s->shapes,
                                             &s->count, &s->counts, err);
    s->cpu_s = rk_job_cpu_s(job) - started;
    for (size_t i = 0; i < s->count; i++) {
        s->runs += s->shapes[i].runs;
    }
    return status;
}

/* The model supplies what the request leaves open. */
static rk_status complete_wish(const rk_asked *asked, rk_shape_wish *wish, rk_error *err)
{
    rk_model_sizes sizes;
    asked->planner->method->sizes(&asked->problem, &sizes);
    if (sizes.blocks > 0 && sizes.heads == 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "shapes vary the heads of attention, and the first layer of this model has "
                       "none; take a model whose first layer has attention");
    }
    if (!(wish->parameters > 0)) {
        wish->parameters = sizes.parameters;
    }
    if (wish->head_sizes.count == 0) {
        wish->head_sizes = (rk_option_counts){1, {sizes.head_size}};
    }
    return RK_OK;
}

rk_status rk_shape_answer_find(rk_job *job, rk_shape_answer *s, rk_error *err)
{
    const rk_planner *planner = s->asked.planner;
    if (planner->set_seq) {
        planner->set_seq(&s->asked, s->wish.seq);
    }
    const rk_status status = complete_wish(&s->asked, &s->wish, err);
    return status ? status : search(job, s, err);
}

static rk_status write_answer(const rk_job *job, const rk_shape_answer *s, rk_error *err)
{
    const rk_asked *asked = &s->asked;
    return asked->json  ? rk_shape_answer_write_json(job, s, err)
           : asked->csv ? rk_shape_answer_write_csv(job, s, err)
                        : rk_job_print(job, asked->output, rk_shape_answer_write_text, s, err);
}

static rk_status run(const rk_planner *planner, rk_job *job, const void *options,
                     const rk_shape_wish *wish, rk_error *err)
{
    rk_shape_answer *s = calloc(1, sizeof(*s));
    if (!s) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    s->wish = *wish;
    rk_status status = rk_asked_load(planner, options, &s->asked, err);
    status = status ? status : rk_shape_answer_find(job, s, err);
    if (!status) {
        status = write_answer(job, s, err);
    }
    rk_job_set_found(job, s->runs > 0);
    free(s->shapes);
    rk_asked_clear(&s->asked);
    free(s);
    return status;
}

/* ---- the methods --------------------------------------------------------------------------- */

static void init_calculon(void *arguments)
{
    struct calculon_args *args = arguments;
    rk_calculon_request_init(&args->request);
    args->request.top = TOP;
    args->wish = wish_defaults;
    args->wish.seq = 2048;
    args->wish.feedforward = 4;
    args->wish.head_sizes = (rk_option_counts){1, {128}};
}

static rk_status run_calculon(rk_job *job, void *arguments, rk_error *err)
{
    const struct calculon_args *args = arguments;
    return run(&rk_planner_calculon, job, &args->request, &args->wish, err);
}

const rk_shape_wish *rk_shape_wish_of(const void *options)
{
    return &((const struct reckon_args *)options)->wish;
}

static void init_reckon(void *arguments)
{
    struct reckon_args *args = arguments;
    rk_request_init(&args->request);
    args->request.top = TOP;
    args->wish = wish_defaults;
}

static rk_status run_reckon(rk_job *job, void *arguments, rk_error *err)
{
    const struct reckon_args *args = arguments;
    return run(&rk_planner_reckon, job, &args->request, &args->wish, err);
}

/* ---- the commands -------------------------------------------------------------------------- */

static const rk_command calculon_shape = {
    .name = "shape",
    .purpose = "Find the best shape for a model of a given number of parameters",
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .notes = "By Calculon's method: blocks, heads and hidden size vary, and the best strategy\n"
             "is searched for each shape. --blocks and --heads fix what they name. Exit\n"
             "status: 0 done, 1 no shape runs, 2 wrong usage or input.\n"
             "\n"
             "example: reckon shape --parameters 1T --system h100-80g-off512g50-nvl8 \\\n"
             "             --processors 4096 --batch 3072 --seq 8192 --head-size 128,192",
    .size = sizeof(struct calculon_args),
    .init = init_calculon,
    .complete = rk_calculon_request_check,
    .run = run_calculon,
};

const rk_command rk_command_shape = {
    .name = "shape",
    .purpose = "Find the best shape for a model of a given number of parameters",
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .take_launch_flag = rk_request_take_launch_flag,
    .note_launch_word = rk_request_note_launch_word,
    .prepare = rk_request_prepare,
    .notes = "Varies blocks, heads and hidden size, and searches the best strategy for each\n"
             "shape; everything else is that of --model. --blocks and --heads fix what they\n"
             "name. On systems of Calculon, Calculon's method is used; its options:\n"
             "'reckon shape --method calculon --help'. Exit status: 0 done, 1 no shape runs,\n"
             "2 wrong usage or input.\n\n"
             "example: reckon shape --model llama3-70b --system h100-sxm --accelerators 256 \\\n"
             "             --global-batch 1024",
    .calculon = &calculon_shape,
    .size = sizeof(struct reckon_args),
    .init = init_reckon,
    .complete = rk_request_finish,
    .run = run_reckon,
};
