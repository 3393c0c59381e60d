/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon shape`: the model of a given size that maps best onto a machine. */
#include "command/shape_command.h"

#include "answer/answers.h"
#include "base/error.h"
#include "command/commands.h"

#include <stdlib.h>

#define MOST_SHOWN 1000
#define MOST_VALUE (1 << 24) /* blocks, heads, sizes */
#define TOP        10        /* to show by default */

#define WISH(member) .offset = offsetof(rk_shape_args, wish.member)

#define REAL(member, text, least, most, unit, words)                                               \
    {                                                                                              \
        .name = text, .type = RK_OPTION_REAL, WISH(member), .min = least, .max = most,             \
        .value = unit, .common = true, .help = words                                               \
    }

#define COUNT(kind, member, text, unit, words)                                                     \
    {                                                                                              \
        .name = text, .type = kind, WISH(member), .min = 1, .max = MOST_VALUE, .value = unit,      \
        .common = true, .help = words                                                              \
    }

#define ONE_COUNT(member, text, words) COUNT(RK_OPTION_COUNT, member, text, "N", words)
#define COUNTS(member, text, words)    COUNT(RK_OPTION_COUNTS, member, text, "N,...", words)

#define TOP_OPTION(request)                                                                        \
    RK_OPTION("top", COUNT, offsetof(rk_shape_args, question.request.top), .letter = 'n',          \
              .min = 1, .max = MOST_SHOWN, .value = "N", .help = "shapes to show; default: 10")

/* clang-format off: a row each */
#define OPTIONS(BOTH, RECKON, CALCULON)                                                            \
    CALCULON({.name = "parameters",                                                                \
              .required = true,                                                                    \
              .type = RK_OPTION_REAL,                                                              \
              WISH(parameters),                                                                    \
              .min = 1,                                                                            \
              .max = INT64_MAX,                                                                    \
              .value = "N",                                                                        \
              .help = "parameters of the model: 1.1T"})                                            \
    CALCULON(RK_OPTION_SYSTEM)                                                                     \
    CALCULON(RK_OPTION_PROCESSORS(true))                                                           \
    CALCULON(RK_OPTION_BATCH)                                                                      \
    RECKON(REAL(parameters, "parameters", 1, INT64_MAX, "N",                                       \
                "number of parameters, such as 1.1T; default: that of --model"))                   \
    BOTH(REAL(tolerance_percent, "tolerance", 0, 50, "PERCENT",                                    \
              "tolerance around --parameters; default: 2"))                                        \
    BOTH(COUNTS(blocks, "blocks",                                                                  \
                "numbers of blocks to try; default: all within the aspect ratios"))                \
    BOTH(COUNTS(heads, "heads",                                                                    \
                "numbers of heads to try; default: all multiples of --head-multiple"))             \
    BOTH(ONE_COUNT(head_multiple, "head-multiple",                                                 \
                   "try multiples of this number of heads; default: 8"))                           \
    BOTH(REAL(aspect_min, "aspect-min", 0, INT64_MAX, "RATIO",                                     \
              "minimum hidden size over blocks; default: 64"))                                     \
    BOTH(REAL(aspect_max, "aspect-max", 0, INT64_MAX, "RATIO",                                     \
              "maximum hidden size over blocks; default: 256"))                                    \
    CALCULON(RK_OPTION("seq", COUNT, offsetof(rk_shape_args, seq), .min = 1, .max = MOST_VALUE,    \
                       .value = "N", .common = true,                                               \
                       .help = "tokens of a sequence; default: 2048"))                             \
    CALCULON(COUNTS(head_sizes, "head-size", "sizes of a head to try; default: 128"))              \
    CALCULON(REAL(feedforward, "feedforward", 1, 64, "RATIO",                                      \
                  "feed-forward over hidden size; default: 4"))                                    \
    RECKON(COUNTS(head_sizes, "head-size", "head sizes to try; default: that of --model"))         \
    RECKON(REAL(feedforward, "feedforward", 1, 64, "RATIO",                                        \
                "feed-forward size over hidden size; default: that of --model"))                   \
    CALCULON(TOP_OPTION(calculon))                                                                 \
    RECKON(TOP_OPTION(reckon))                                                                     \
    CALCULON(RK_OPTION_METHOD)                                                                     \
    CALCULON(RK_OPTIONS_OF_CALCULON)                                                               \
    RECKON(RK_OPTIONS_OF_SEARCH)
/* clang-format on */

static const rk_option calculon_options[] = {RK_CALCULON_ROWS_OF(OPTIONS)};
static const rk_option reckon_options[] = {RK_RECKON_ROWS_OF(OPTIONS)};

static void init_calculon(void *arguments)
{
    rk_shape_args *args = arguments;
    rk_question_args_calculon(&args->question);
    args->question.calculon.top = TOP;
    args->wish = rk_shape_usual;
    args->seq = 2048;
    args->wish.feedforward = 4;
    args->wish.head_sizes = (rk_counts){1, {128}};
}

static void init_reckon(void *arguments)
{
    rk_shape_args *args = arguments;
    rk_question_args_reckon(&args->question);
    args->question.reckon.top = TOP;
    args->wish = rk_shape_usual;
}

static rk_status run(rk_job *job, void *arguments, rk_error *err)
{
    const rk_shape_args *args = arguments;
    rk_shape_answer *s = calloc(1, sizeof(*s));
    if (!s) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    s->wish = args->wish;
    s->seq = args->seq;
    rk_status status = rk_question_load(args->question.method, args, &s->question, err);
    status = status ? status : rk_shape_answer_find(rk_job_work(job), s, err);
    status = status ? status : rk_shape_write(job, s, err);
    rk_job_set_found(job, s->runs > 0);
    free(s->shapes);
    rk_question_clear(&s->question);
    free(s);
    return status;
}

#define COMMON                                                                                     \
    .name = "shape", .purpose = "Find the best shape for a model of a given number of parameters", \
    .size = sizeof(rk_shape_args), .complete = rk_question_args_check, .run = run

static const rk_command calculon_shape = {
    COMMON,
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .notes = "By Calculon's method: blocks, heads and hidden size vary, and the best strategy\n"
             "is searched for each shape. --blocks and --heads fix what they name. Exit\n"
             "status: 0 done, 1 no shape runs, 2 wrong usage or input.\n"
             "\n"
             "example: reckon shape --parameters 1T --system h100-80g-off512g50-nvl8 \\\n"
             "             --processors 4096 --batch 3072 --seq 8192 --head-size 128,192",
    .init = init_calculon,
};

const rk_command rk_command_shape = {
    COMMON,
    RK_COMMAND_OF_STRATEGY,
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .notes = "Varies blocks, heads and hidden size, and searches the best strategy for each\n"
             "shape; everything else is that of --model. --blocks and --heads fix what they\n"
             "name. On systems of Calculon, Calculon's method is used; its options:\n"
             "'reckon shape --method calculon --help'. Exit status: 0 done, 1 no shape runs,\n"
             "2 wrong usage or input.\n\n"
             "example: reckon shape --model llama3-70b --system h100-sxm --accelerators 256 \\\n"
             "             --global-batch 1024",
    .calculon = &calculon_shape,
    .init = init_reckon,
};
