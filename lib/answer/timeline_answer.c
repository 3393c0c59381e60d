/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of one step, as a trace, a picture or a table. */
#include "answer/timeline_answer.h"

#include "answer/answers.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/time_text.h"
#include "base/units.h"
#include "job/answer_writers.h"
#include "job/output_form.h"
#include "method/brief.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { BRIEF_RANKS = 6 };

enum { PICTURE_MAX = 100000 }; /* most operations in a picture: more would be too small to see */

/* ---- for people ---------------------------------------------------------------------------- */

/*
 * The character for what a rank does at a time: a digit of the microbatch going forward, a letter
 * going back.
 */
static char letter_at(const rk_timeline *t, size_t *next, size_t past, double time)
{
    assert(*next <= past);
    while (*next < past && t->ops[*next].end <= time) {
        ++*next;
    }
    if (time >= t->figures.pipeline_s) {
        return '=';
    }
    if (*next == past || t->ops[*next].start > time) {
        return '.';
    }
    const rk_op *op = &t->ops[*next];
    switch (op->kind) {
    case RK_OP_FORWARD:
        return (char)('0' + op->microbatch % 10);
    case RK_OP_BACKWARD:
        return (char)('a' + op->microbatch % 26);
    default:
        return '*';
    }
}

/* One line per rank, one character per interval of time. */
static void write_letters(FILE *to, const rk_timeline *t, rk_table_style style)
{
    const int columns = style.width > 30 ? style.width - 12 : 18;
    const int64_t ranks = t->strategy->pp;
    for (int64_t rank = 0; rank < ranks; rank++) {
        if (!style.full && ranks > BRIEF_RANKS &&
            rank * (BRIEF_RANKS - 1) / (ranks - 1) ==
                (rank - 1) * (BRIEF_RANKS - 1) / (ranks - 1) &&
            rank > 0) {
            continue; /* evenly spread, with the first and the last */
        }
        size_t next = rk_timeline_first(t, rank);
        const size_t past = rk_timeline_first(t, rank + 1);
        (void)fprintf(to, "rank %-5" PRId64, rank);
        for (int i = 0; i < columns; i++) {
            (void)fputc(letter_at(t, &next, past, (i + 0.5) / columns * t->figures.step_s), to);
        }
        (void)fputc('\n', to);
    }
    (void)fputs("\n0-9 forward, a-z backward, * weight gradients, . idle, = after the pipeline\n",
                to);
}

/* The ranks that wait least and most. */
static void write_idle(FILE *to, const rk_timeline *t)
{
    int64_t least = 0, most = 0;
    for (int64_t rank = 1; rank < t->strategy->pp; rank++) {
        least = t->idle[rank] < t->idle[least] ? rank : least;
        most = t->idle[rank] > t->idle[most] ? rank : most;
    }
    (void)fprintf(to, "idle: %.2f %% of the pipeline on rank %" PRId64,
                  100 * t->idle[least] / t->figures.pipeline_s, least);
    if (most != least) {
        (void)fprintf(to, ", %.2f %% on rank %" PRId64, 100 * t->idle[most] / t->figures.pipeline_s,
                      most);
    }
    (void)fputc('\n', to);
}

/* Seconds of a kind of operation on a rank. */
static double seconds_of(const rk_timeline *t, int64_t rank, rk_op_kind kind)
{
    assert(rank >= 0 && rank < t->strategy->pp);
    const size_t past = rk_timeline_first(t, rank + 1);
    double seconds = 0;
    for (size_t i = rk_timeline_first(t, rank); i < past; i++) {
        seconds += t->ops[i].kind == kind ? t->ops[i].end - t->ops[i].start : 0;
    }
    return seconds;
}

static rk_status write_ranks(FILE *to, const rk_timeline *t, rk_table_style style, rk_error *err)
{
    const rk_time_unit unit = rk_time_unit_of(t->figures.step_s);
    char titles[4][RK_TIME_TITLE_SIZE];
    const rk_table_column columns[] = {
        {"rank", RK_ALIGN_LEFT},
        {rk_time_title("forward", unit, titles[0]), RK_ALIGN_RIGHT},
        {rk_time_title("backward", unit, titles[1]), RK_ALIGN_RIGHT},
        {rk_time_title("weights", unit, titles[2]), RK_ALIGN_RIGHT},
        {rk_time_title("idle", unit, titles[3]), RK_ALIGN_RIGHT},
        {"idle, %", RK_ALIGN_RIGHT},
        {"in flight", RK_ALIGN_RIGHT},
    };
    rk_table table;
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int64_t rank = 0; rank < t->strategy->pp; rank++) {
        rk_table_cell(&table, "%" PRId64, rank);
        for (int kind = RK_OP_FORWARD; kind <= RK_OP_WEIGHT; kind++) {
            rk_table_cell(&table, "%.3f", seconds_of(t, rank, (rk_op_kind)kind) / unit.seconds);
        }
        rk_table_cell(&table, "%.3f", t->idle[rank] / unit.seconds);
        rk_table_cell(&table, "%.2f", 100 * t->idle[rank] / t->figures.pipeline_s);
        rk_table_cell(&table, "%.4g", t->in_flight[rank]);
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_timeline_answer *drawn = what;
    const rk_answer *answer = rk_plan_best(&drawn->plan);
    const rk_timeline *t = &drawn->timeline;
    char time[RK_TIME_TEXT_SIZE], part[RK_TIME_TEXT_SIZE];
    if (style.full) {
        rk_write_inputs(to, drawn->request, drawn->inputs);
        rk_plan_write_search(to, &drawn->plan);
    } else {
        rk_brief_write_question(to, drawn->request, drawn->inputs,
                                answer ? rk_strategy_ranks(&answer->strategy)
                                       : drawn->request->accelerators);
        (void)fputc('\n', to);
    }
    if (!answer) {
        (void)fputs(style.full ? "\n" : "", to);
        rk_plan_write_missing(to, &drawn->plan);
        return RK_OK;
    }
    if (style.full) {
        rk_write_strategy(to, drawn->plan.searched, &answer->strategy);
        (void)fputc('\n', to);
    } else {
        rk_plan_write_risk(to, &drawn->plan);
        rk_brief_write_strategy(to, drawn->inputs->software.framework, drawn->plan.searched,
                                &answer->strategy);
    }
    rk_write_label(to, "step");
    (void)fprintf(to, "%s, of which the pipeline %s\n", rk_time_text(t->figures.step_s, time),
                  rk_time_text(t->figures.pipeline_s, part));
    rk_write_label(to, "");
    for (int i = 0; i < t->after_count; i++) {
        (void)fprintf(to, "%s%s %s", i ? ", " : "then ", t->after[i].name,
                      rk_time_text(t->after[i].seconds, part));
    }
    (void)fputs("\n\n", to);
    write_letters(to, t, style);
    if (!style.full) {
        write_idle(to, t);
        rk_brief_write_more(to, "the times of every rank");
        return RK_OK;
    }
    (void)fputc('\n', to);
    return write_ranks(to, t, style, err);
}

/* ---- files --------------------------------------------------------------------------------- */

typedef enum output_form { FORM_TEXT, FORM_TABLE, FORM_TRACE, FORM_PICTURE } output_form;

/* Writes the format of the options, which the extension of the file has chosen. */
static output_form form_of(const rk_request *request)
{
    if (request->json) {
        return FORM_TRACE;
    }
    if (request->csv) {
        return FORM_TABLE;
    }
    return rk_output_form_of(request->output) == RK_OUTPUT_SVG ? FORM_PICTURE : FORM_TEXT;
}

#define TITLE_SIZE 256

static const char *title_of(const rk_timeline *t, const rk_inputs *inputs, char out[TITLE_SIZE])
{
    char step[RK_TIME_TEXT_SIZE];
    (void)snprintf(out, TITLE_SIZE,
                   "%s on %" PRId64 " %s, TP %" PRId64 ", CP %" PRId64 ", PP %" PRId64
                   ", DP %" PRId64 ", %s: %s per step",
                   inputs->model.name, rk_strategy_ranks(t->strategy),
                   inputs->system.accelerator.name, t->strategy->tp, t->strategy->cp,
                   t->strategy->pp, t->strategy->dp, rk_strategy_schedule(t->strategy),
                   rk_time_text(t->figures.step_s, step));
    return out;
}

static rk_status write_file(const rk_job *job, const rk_timeline_answer *drawn, output_form form,
                            rk_error *err)
{
    const rk_timeline *t = &drawn->timeline;
    char title[TITLE_SIZE];
    rk_out *out;
    if (form == FORM_PICTURE && t->op_count > PICTURE_MAX) {
        return rk_fail(err, RK_ERR_LIMIT,
                       "a picture of %zu operations shows nothing, at most %d do; ask for a trace "
                       "(.json), or give a smaller --global-batch",
                       t->op_count, PICTURE_MAX);
    }
    (void)title_of(t, drawn->inputs, title);
    const rk_status status = rk_job_open(job, drawn->request->output, &out, err);
    if (status) {
        return status;
    }
    if (form == FORM_PICTURE) {
        rk_timeline_write_picture(t, title, out);
    } else if (form == FORM_TRACE) {
        rk_timeline_write_trace(t, title, out);
    } else {
        rk_timeline_write_table(t, out);
    }
    return rk_out_close(out, err);
}

static void write_missing(rk_json_writer *writer, const void *what)
{
    const rk_timeline_answer *drawn = what;
    rk_request_write_json(writer, drawn->request, drawn->inputs);
    rk_plan_write_search_json(writer, &drawn->plan);
    rk_json_flag(writer, "fits", false);
    rk_plan_write_missing_json(writer, &drawn->plan);
}

/* Nothing fits: what is missing as a JSON document, and neither pictures nor tables. */
static rk_status write_nothing(const rk_job *job, const rk_timeline_answer *drawn, output_form form,
                               rk_error *err)
{
    const rk_request *request = drawn->request;
    if (form != FORM_TRACE) {
        rk_remark_no_file(job, form == FORM_PICTURE ? "picture" : "table",
                          strcmp(request->output, "-") != 0 ? "output" : "csv");
        return RK_OK;
    }
    rk_job_remark(job, "no strategy fits, so there is no trace; the JSON document says what is "
                       "missing");
    return rk_job_answer(job, &(rk_answer_writers){.members = write_missing}, drawn, true, false,
                         request->output, err);
}

static rk_status write_form(const rk_job *job, const rk_timeline_answer *drawn, rk_error *err)
{
    const output_form form = form_of(drawn->request);
    const rk_answer *answer = rk_plan_best(&drawn->plan);
    if (form == FORM_TEXT) {
        return rk_job_print(job, drawn->request->output, write_text, drawn, err);
    }
    if (!answer) {
        return write_nothing(job, drawn, form, err);
    }
    if (!answer->estimate.fits) {
        rk_job_remark(job, "the strategy does not fit: stage %" PRId64 " needs %.2f GiB of %.2f",
                      answer->estimate.worst_stage, rk_needed_bytes(&answer->estimate.memory) / GIB,
                      answer->estimate.usable / GIB);
    }
    return write_file(job, drawn, form, err);
}

static rk_status play(const rk_inputs *inputs, const rk_answer *answer, rk_timeline *timeline,
                      rk_error *err)
{
    return rk_timeline_fill(&inputs->model, &inputs->system, &inputs->software.stack,
                            &answer->strategy, &answer->estimate, timeline, err);
}

rk_status rk_timeline_write(const rk_job *job, rk_timeline_answer *drawn, rk_error *err)
{
    const rk_answer *best = rk_plan_best(&drawn->plan);
    rk_status status = best ? play(drawn->inputs, best, &drawn->timeline, err) : RK_OK;
    status = status ? status : write_form(job, drawn, err);
    rk_timeline_clear(&drawn->timeline);
    return status;
}

/* ---- reports --------------------------------------------------------------------------------- */

enum {
    DRAWING_OPS = 12000,      /* most operations of a drawing */
    DRAWINGS_SIZE = 512 << 10 /* of all of a page */
};

/* Draws the step of a strategy to `svg`, which stays empty where it is too large. */
static rk_status draw_step(const rk_inputs *inputs, const rk_answer *answer, rk_bytes *svg,
                           rk_error *err)
{
    rk_timeline timeline = {0};
    char title[TITLE_SIZE];
    rk_out *out = NULL;
    rk_status status = play(inputs, answer, &timeline, err);
    if (!status && timeline.op_count <= DRAWING_OPS) {
        status = rk_out_open_writer(rk_bytes_take_in, svg, &out, err);
        if (!status) {
            rk_timeline_write_picture(&timeline, title_of(&timeline, inputs, title), out);
            status = rk_out_close(out, err) /* fails for no other reason, as it writes no file */
                         ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for a drawing")
                         : RK_OK;
        }
    }
    rk_timeline_clear(&timeline);
    return status;
}

void rk_plan_write_drawings(rk_json_writer *writer, const rk_plan *plan, size_t most)
{
    size_t left = DRAWINGS_SIZE;
    for (size_t i = 0; plan->answers && i < plan->answer_count && i < most; i++) {
        rk_error reason;
        rk_bytes svg = {0};
        const rk_status status = draw_step(plan->inputs, &plan->answers[i], &svg, &reason);
        rk_bytes_add(&svg, "", 1);
        const bool shown = !status && !svg.failed && svg.size > 1 && svg.size <= left;
        left -= shown ? svg.size : 0;
        rk_json_item(writer);
        if (shown) {
            rk_json_text(writer, (const char *)svg.data);
        } else {
            rk_json_value(writer, "null");
        }
        if (svg.failed || status == RK_ERR_MEMORY) {
            rk_out_fail_memory(writer->out);
        }
        rk_bytes_clear(&svg);
    }
}
