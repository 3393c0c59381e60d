/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a step as a picture. */
#include "timeline/operations.h"

#include "base/extremes.h"
#include "base/time_text.h"
#include "base/units.h"
#include "figures/draw.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define WIDTH  1100.0
#define LEFT   64.0
#define RIGHT  68.0
#define TOP    86.0
#define ROW    20.0
#define MEMORY 16.0 /* height of the memory of a rank, below its row */
#define GAP    6.0  /* between ranks */
#define AXIS   56.0 /* below the ranks of a panel: its axis, and the title of the next */
#define TEXT   12.0
#define SMALL  9.0

/* Boxes narrower than LEGIBLE on average are shown again, enlarged to ENLARGED; px. */
#define LEGIBLE  12.0
#define ENLARGED 26.0

/* Forward, backward, weight gradients: of the first virtual stage, and of the last. */
static const unsigned char fills[][2][3] = {
    {{0x2f, 0x55, 0xc4}, {0xc3, 0xcf, 0xf2}},
    {{0x2b, 0x86, 0x3d}, {0xbd, 0xe6, 0xc4}},
    {{0xe0, 0x9f, 0x00}, {0xfb, 0xe7, 0xb8}},
};
static const char *const stream_fills[RK_STREAM_COUNT] = {"#e0523f", "#8e5bd0", "#e377c2"};
static const char *const stream_names[RK_STREAM_COUNT] = {"TP communication", "CP communication",
                                                          "EP communication"};
static const char idle_fill[] = "#eeeff2", state_fill[] = "#d5d8de", kept_fill[] = "#8b93a3";
static const char edge[] = "#ffffff";

/* One panel: all ranks between two times. */
struct picture {
    const rk_timeline *timeline;
    rk_out *out;
    double to;    /* s */
    double scale; /* px/s */
    double top;   /* px */
    double most;  /* memory of the fullest rank at its fullest, bytes */
};

static double x_of(const struct picture *p, double seconds)
{
    return LEFT + p->scale * rk_min(seconds, p->to);
}

static double y_of(const struct picture *p, int64_t rank)
{
    return p->top + (double)rank * (ROW + MEMORY + GAP);
}

/* ---- boxes of one colour --------------------------------------------------------------------- */

/* Boxes of one colour and height as one path of thick lines: pictures with thousands of operations
 * stay small. */
struct boxes {
    rk_out *out;
    const char *fill;
    double height;
    bool open;
};

/* A tenth of a pixel is enough for boxes. */
static void draw_tenth(rk_out *out, double value)
{
    rk_draw_number(out, round(value * 10) / 10);
}

static void move_to(rk_out *out, double x, double y)
{
    rk_out_text(out, "M");
    draw_tenth(out, x);
    rk_out_text(out, " ");
    rk_draw_number(out, y);
}

/* Adds the part of a span within the panel; `y`: of its upper edge. */
static void add_span(struct boxes *boxes, const struct picture *p, double y, double start,
                     double end)
{
    const double x = x_of(p, start), width = x_of(p, end) - x;
    if (width <= 0) {
        return;
    }
    if (!boxes->open) {
        rk_out_printf(boxes->out, "<path stroke=\"%s\" stroke-width=\"%g\" d=\"", boxes->fill,
                      boxes->height);
        boxes->open = true;
    }
    move_to(boxes->out, x, y + boxes->height / 2);
    rk_out_text(boxes->out, "h");
    draw_tenth(boxes->out, rk_max(width, 0.1));
}

static void close_boxes(const struct boxes *boxes)
{
    rk_out_text(boxes->out, boxes->open ? "\"/>\n" : "");
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The colour of an operation: the later its virtual stage, the lighter.  Returns out. */
static const char *fill_of(const rk_timeline *t, rk_op_kind kind, int64_t chunk, char out[8],
                           bool *light)
{
    const double last = (double)(t->streams.chunks - 1);
    const double share = last > 0 ? (double)chunk / last : 0;
    int rgb[3];
    for (int i = 0; i < 3; i++) {
        rgb[i] = (int)lround(fills[kind][0][i] + share * (fills[kind][1][i] - fills[kind][0][i]));
    }
    *light = share > 0.4 || kind == RK_OP_WEIGHT;
    (void)snprintf(out, 8, "#%02x%02x%02x", (unsigned)rgb[0] & 255, (unsigned)rgb[1] & 255,
                   (unsigned)rgb[2] & 255);
    return out;
}

/* Whether an operation overlaps its neighbour in the order of the rank. */
static bool is_paired(const rk_op *op, const rk_op *other)
{
    return other->rank == op->rank && other->kind != op->kind && !(other->start < op->start) &&
           !(other->start > op->start);
}

/* Where an operation is drawn: of a pair, the forward takes the upper half of the row. */
struct op_place {
    bool paired;
    double y, height;
    double seconds[RK_STREAM_COUNT]; /* of visible communication */
    double computed;                 /* when it ends computing and communicates, s */
};

static struct op_place place_of(const struct picture *p, size_t i)
{
    const rk_timeline *t = p->timeline;
    const rk_op *op = &t->ops[i];
    struct op_place place = {.computed = op->end};
    place.paired =
        (i > 0 && is_paired(op, op - 1)) || (i + 1 < t->op_count && is_paired(op, op + 1));
    place.height = place.paired ? ROW / 2 : ROW;
    place.y = y_of(p, op->rank) + (place.paired && op->kind != RK_OP_FORWARD ? place.height : 0);
    rk_timeline_communication(t, op, place.seconds);
    for (int k = 0; k < RK_STREAM_COUNT; k++) {
        place.computed -= place.seconds[k];
    }
    return place;
}

/* The operations of a kind and a virtual stage. */
static void draw_ops(const struct picture *p, rk_op_kind kind, int64_t chunk, bool paired)
{
    const rk_timeline *t = p->timeline;
    char fill[8];
    bool light;
    struct boxes boxes = {.out = p->out,
                          .fill = fill_of(t, kind, chunk, fill, &light),
                          .height = paired ? ROW / 2 : ROW};
    for (size_t i = 0; i < t->op_count; i++) {
        const rk_op *op = &t->ops[i];
        const bool drawn = op->kind == kind && op->chunk == chunk && op->start < p->to;
        const struct op_place place = drawn ? place_of(p, i) : (struct op_place){0};
        if (drawn && place.paired == paired) {
            add_span(&boxes, p, place.y, op->start, op->end);
        }
    }
    close_boxes(&boxes);
}

/* The communication of one stream. */
static void draw_stream(const struct picture *p, int stream, bool paired)
{
    assert(stream >= 0 && stream < (int)(sizeof(stream_fills) / sizeof(stream_fills[0])));
    const rk_timeline *t = p->timeline;
    struct boxes boxes = {
        .out = p->out, .fill = stream_fills[stream], .height = paired ? ROW / 2 : ROW};
    for (size_t i = 0; i < t->op_count; i++) {
        const bool drawn = t->ops[i].start < p->to;
        const struct op_place place = drawn ? place_of(p, i) : (struct op_place){0};
        double from = place.computed;
        for (int k = 0; k < stream; k++) {
            from += place.seconds[k];
        }
        if (drawn && place.paired == paired) {
            add_span(&boxes, p, place.y, from, from + place.seconds[stream]);
        }
    }
    close_boxes(&boxes);
}

/* White edges separate operations that are wide enough for one. */
static void draw_edges(const struct picture *p)
{
    const rk_timeline *t = p->timeline;
    rk_out_printf(p->out, "<path stroke=\"%s\" d=\"", edge);
    for (size_t i = 0; i < t->op_count; i++) {
        const double x = x_of(p, t->ops[i].start);
        if (x_of(p, t->ops[i].end) - x > 4) {
            const struct op_place place = place_of(p, i);
            move_to(p->out, x, place.y);
            rk_out_text(p->out, "v");
            rk_draw_number(p->out, place.height);
        }
    }
    rk_out_text(p->out, "\"/>\n");
}

/* The numbers of microbatches, each in the middle of the computation, dark or white. */
static void draw_numbers(const struct picture *p, bool dark)
{
    const rk_timeline *t = p->timeline;
    rk_out_printf(p->out, "<g font-size=\"%g\" text-anchor=\"middle\" fill=\"%s\">\n", SMALL,
                  dark ? "#222" : edge);
    for (size_t i = 0; i < t->op_count; i++) {
        const rk_op *op = &t->ops[i];
        if (op->end > p->to) {
            continue;
        }
        const struct op_place place = place_of(p, i);
        const double x = x_of(p, op->start), right = x_of(p, place.computed);
        char number[16], fill[8];
        bool light;
        (void)fill_of(t, op->kind, op->chunk, fill, &light);
        (void)snprintf(number, sizeof(number), "%" PRId32, op->microbatch);
        if (light == dark && rk_text_width(number, SMALL) + 1 < right - x) {
            rk_out_text(p->out, "<text x=\"");
            rk_draw_number(p->out, (x + right) / 2);
            rk_out_text(p->out, "\" y=\"");
            rk_draw_number(p->out, place.y + place.height / 2 + SMALL / 3);
            rk_out_printf(p->out, "\">%s</text>\n", number);
        }
    }
    rk_out_text(p->out, "</g>\n");
}

static const char *after_fill(rk_part part)
{
    return part == RK_PART_DP          ? "#b3742f"
           : part == RK_PART_PP        ? "#5b6b86"
           : part == RK_PART_OPTIMIZER ? "#c9a86a"
           : part == RK_PART_OFFLOAD   ? "#49a6b0"
                                       : "#9498a0";
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void take_most(void *user, double at, const rk_stage_memory *memory)
{
    double *most = user;
    (void)at;
    *most = rk_max(*most, memory->total);
}

struct curve {
    const struct picture *picture;
    double base;        /* y of no memory */
    double total, most; /* of now, and the most, bytes */
};

static double height_of(const struct picture *p, double bytes)
{
    return p->most > 0 ? MEMORY * bytes / p->most : 0;
}

/* Draws the outline of the memory up to a change, and the change. */
static void draw_change(void *user, double at, const rk_stage_memory *memory)
{
    struct curve *c = user;
    const struct picture *p = c->picture;
    const bool changes = memory->total < c->total || memory->total > c->total;
    c->most = rk_max(c->most, memory->total);
    if (changes && at <= p->to) {
        rk_out_text(p->out, "H");
        draw_tenth(p->out, x_of(p, at));
        rk_out_text(p->out, "V");
        draw_tenth(p->out, c->base - height_of(p, memory->total));
        c->total = memory->total;
    }
}

static void draw_memory(const struct picture *p, int64_t rank)
{
    const rk_stage_memory empty = rk_stage_memory_at(&p->timeline->streams.needs[rank], 0);
    struct curve c = {.picture = p, .base = y_of(p, rank) + ROW + MEMORY};
    char number[RK_LABEL_SIZE], label[64];
    const double stays = height_of(p, empty.total - empty.part[RK_MEM_ACTIVATIONS]);
    rk_draw_box(p->out, LEFT, c.base - stays, x_of(p, p->to) - LEFT, stays, state_fill);
    rk_out_printf(p->out, "<path fill=\"%s\" d=\"", kept_fill);
    move_to(p->out, LEFT, c.base - stays);
    if (!rk_timeline_visit_memory(p->timeline, rank, draw_change, &c)) {
        rk_out_fail_memory(p->out);
    }
    rk_out_text(p->out, "H");
    draw_tenth(p->out, x_of(p, p->to));
    rk_out_text(p->out, "V");
    draw_tenth(p->out, c.base - stays);
    rk_out_text(p->out, "z\"/>\n");
    (void)snprintf(label, sizeof(label), "%s GiB", rk_label_short(c.most / GIB, number));
    rk_draw_text(p->out, WIDTH - RIGHT + 6, c.base - 1, label, (rk_text_style){.size = SMALL + 1});
}

/* ---- a panel --------------------------------------------------------------------------------- */

static void draw_rows(const struct picture *p)
{
    const rk_timeline *t = p->timeline;
    for (int64_t rank = 0; rank < t->strategy->pp; rank++) {
        char label[32];
        const double y = y_of(p, rank);
        double done = t->figures.pipeline_s;
        (void)snprintf(label, sizeof(label), "rank %" PRId64, rank);
        rk_draw_text(p->out, LEFT - 6, y + ROW / 2 + TEXT / 3, label,
                     (rk_text_style){.size = TEXT, .anchor = RK_ANCHOR_END});
        rk_draw_box(p->out, LEFT, y, x_of(p, p->to) - LEFT, ROW, idle_fill);
        for (int i = 0; i < t->after_count; i++) {
            struct boxes boxes = {
                .out = p->out, .fill = after_fill(t->after[i].part), .height = ROW};
            add_span(&boxes, p, y, done, done + t->after[i].seconds);
            close_boxes(&boxes);
            done += t->after[i].seconds;
        }
        draw_memory(p, rank);
    }
    for (int paired = 0; paired < 2; paired++) {
        for (int kind = RK_OP_FORWARD; kind <= RK_OP_WEIGHT; kind++) {
            for (int64_t chunk = 0; chunk < t->streams.chunks; chunk++) {
                draw_ops(p, (rk_op_kind)kind, chunk, paired != 0);
            }
        }
        for (int k = 0; k < RK_STREAM_COUNT; k++) {
            draw_stream(p, k, paired != 0);
        }
    }
    draw_edges(p);
    draw_numbers(p, false);
    draw_numbers(p, true);
}

/* A step of 1, 2 or 5 times a power of ten that gives about ten ticks. */
static double tick_of(double length)
{
    const double power = pow(10, floor(log10(length / 10))), share = length / 10 / power;
    return power * (share > 5 ? 10 : share > 2 ? 5 : share > 1 ? 2 : 1);
}

static void draw_axis(const struct picture *p)
{
    const rk_time_unit unit = rk_time_unit_of(p->to);
    const double length = p->to / unit.seconds, tick = tick_of(length);
    const double y = y_of(p, p->timeline->strategy->pp);
    rk_draw_line(p->out, LEFT, y, x_of(p, p->to), y, "#444", 1, false);
    for (int i = 0; i * tick <= length; i++) {
        char label[RK_LABEL_SIZE];
        const double x = x_of(p, i * tick * unit.seconds);
        rk_draw_line(p->out, x, y, x, y + 5, "#444", 1, false);
        rk_draw_text(p->out, x, y + 18, rk_label_short(i * tick, label),
                     (rk_text_style){.size = TEXT, .anchor = RK_ANCHOR_MIDDLE});
    }
    rk_draw_text(p->out, LEFT - 6, y + 18, unit.name,
                 (rk_text_style){.size = TEXT, .anchor = RK_ANCHOR_END});
}

/* ---- the legend ------------------------------------------------------------------------------ */

/* An entry at *x, *y, or on the next line for lack of room. */
static void draw_entry(const struct picture *p, double *x, double *y, const char *fill,
                       const char *name)
{
    const double width = 35 + rk_text_width(name, TEXT);
    if (*x + width > WIDTH) {
        *x = LEFT;
        *y += 20;
    }
    rk_draw_box(p->out, *x, *y, 12, 12, fill);
    rk_draw_text(p->out, *x + 17, *y + 10, name, (rk_text_style){.size = TEXT});
    *x += width;
}

static void draw_legend(const struct picture *p)
{
    static const char *const names[] = {"forward", "backward", "weight gradients"};
    const rk_timeline *t = p->timeline;
    bool used[3] = {true, true, false}, sent[RK_STREAM_COUNT] = {false}, light;
    double x = LEFT, y = 34;
    char fill[8];
    for (size_t i = 0; i < t->op_count; i++) {
        double seconds[RK_STREAM_COUNT];
        used[RK_OP_WEIGHT] = used[RK_OP_WEIGHT] || t->ops[i].kind == RK_OP_WEIGHT;
        rk_timeline_communication(t, &t->ops[i], seconds);
        for (int k = 0; k < RK_STREAM_COUNT; k++) {
            sent[k] = sent[k] || seconds[k] > 0;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (used[i]) {
            draw_entry(p, &x, &y, fill_of(t, (rk_op_kind)i, 0, fill, &light), names[i]);
        }
    }
    if (t->streams.chunks > 1) {
        draw_entry(p, &x, &y, fill_of(t, RK_OP_FORWARD, t->streams.chunks - 1, fill, &light),
                   "lighter: later virtual stages");
    }
    for (int k = 0; k < RK_STREAM_COUNT; k++) {
        if (sent[k]) {
            draw_entry(p, &x, &y, stream_fills[k], stream_names[k]);
        }
    }
    draw_entry(p, &x, &y, idle_fill, "idle");
    for (int i = 0; i < t->after_count; i++) {
        draw_entry(p, &x, &y, after_fill(t->after[i].part), t->after[i].name);
    }
    draw_entry(p, &x, &y, state_fill, "memory: weights, optimizer...");
    draw_entry(p, &x, &y, kept_fill, "activations");
}

/* ---- the picture ----------------------------------------------------------------------------- */

static void draw_panel(struct picture p, double to, double top)
{
    p.to = to;
    p.top = top;
    assert(to > 0);
    p.scale = (WIDTH - LEFT - RIGHT) / to;
    draw_rows(&p);
    draw_axis(&p);
}

/* The time that is shown enlarged, s; 0: all is legible. */
static double detail_of(const rk_timeline *t)
{
    double busy = 0;
    for (size_t i = 0; i < t->op_count; i++) {
        busy += t->ops[i].end - t->ops[i].start;
    }
    const double wide = WIDTH - LEFT - RIGHT, mean = busy / (double)t->op_count;
    return mean * wide < LEGIBLE * t->figures.step_s ? mean * wide / ENLARGED : 0;
}

void rk_timeline_write_picture(const rk_timeline *timeline, const char *title, rk_out *out)
{
    struct picture p = {.timeline = timeline, .out = out};
    const double detail = detail_of(timeline);
    const double panel = (double)timeline->strategy->pp * (ROW + MEMORY + GAP) + AXIS;
    const double height = TOP + panel * (detail > 0 ? 2 : 1) - 20;
    for (int64_t rank = 0; rank < timeline->strategy->pp; rank++) {
        if (!rk_timeline_visit_memory(timeline, rank, take_most, &p.most)) {
            rk_out_fail_memory(out);
        }
    }
    rk_out_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\">\n",
                  WIDTH, height, WIDTH, height);
    rk_draw_box(out, 0, 0, WIDTH, height, "#ffffff");
    rk_draw_text(out, LEFT, 22, title, (rk_text_style){.size = 14, .bold = true});
    draw_legend(&p);
    draw_panel(p, timeline->figures.step_s, TOP);
    if (detail > 0) {
        rk_draw_text(out, LEFT, TOP + panel - 14, "The beginning, enlarged",
                     (rk_text_style){.size = TEXT, .bold = true});
        draw_panel(p, detail, TOP + panel);
    }
    rk_out_text(out, "</svg>\n");
}
