/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a step as a picture. */
#include "timeline/operations.h"

#include "base/extremes.h"
#include "base/time_text.h"
#include "base/units.h"
#include "figures/draw.h"

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
    double from, to; /* s */
    double scale;    /* px/s */
    double top;      /* px */
    double most;     /* memory of the fullest rank at its fullest, bytes */
};

static double x_of(const struct picture *p, double seconds)
{
    return LEFT + p->scale * (rk_min(rk_max(seconds, p->from), p->to) - p->from);
}

static double y_of(const struct picture *p, int64_t rank)
{
    return p->top + (double)rank * (ROW + MEMORY + GAP);
}

/* The part of a span within the panel; a white edge separates spans wide enough for one. */
static void draw_span(const struct picture *p, double y, double height, double start, double end,
                      const char *fill)
{
    const double x = x_of(p, start), width = x_of(p, end) - x;
    if (width > 0) {
        rk_draw_box(p->out, x, y, width, height, fill);
        if (width > 4) {
            rk_draw_line(p->out, x, y, x, y + height, edge, 1, false);
        }
    }
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

/* The number of the microbatch, in the middle of the computation. */
static void draw_number(const struct picture *p, const rk_op *op, double y, double height,
                        double computed, bool light)
{
    char number[16];
    const double x = x_of(p, op->start), right = x_of(p, computed);
    (void)snprintf(number, sizeof(number), "%" PRId32, op->microbatch);
    if (op->end <= p->to && rk_text_width(number, SMALL) + 1 < right - x) {
        rk_draw_text(p->out, (x + right) / 2, y + height / 2 + SMALL / 3, number,
                     (rk_text_style){
                         .size = SMALL, .anchor = RK_ANCHOR_MIDDLE, .color = light ? NULL : edge});
    }
}

/* Of a pair, the forward is in the upper half of the row and the backward in the lower. */
static void draw_op(const struct picture *p, size_t i)
{
    const rk_timeline *t = p->timeline;
    const rk_op *op = &t->ops[i];
    const bool paired =
        (i > 0 && is_paired(op, op - 1)) || (i + 1 < t->op_count && is_paired(op, op + 1));
    const double height = paired ? ROW / 2 : ROW;
    const double y = y_of(p, op->rank) + (paired && op->kind != RK_OP_FORWARD ? height : 0);
    double seconds[RK_STREAM_COUNT], from = op->end;
    char fill[8];
    bool light;
    if (op->start >= p->to) {
        return;
    }
    rk_timeline_communication(t, op, seconds);
    for (int k = 0; k < RK_STREAM_COUNT; k++) {
        from -= seconds[k];
    }
    (void)fill_of(t, op->kind, op->chunk, fill, &light);
    draw_span(p, y, height, op->start, op->end, fill);
    draw_number(p, op, y, height, from, light);
    for (int k = 0; k < RK_STREAM_COUNT; k++) {
        if (seconds[k] > 0) {
            const double x = x_of(p, from), width = x_of(p, from + seconds[k]) - x;
            rk_draw_box(p->out, x, y, width, height, stream_fills[k]);
        }
        from += seconds[k];
    }
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
    double base, at; /* y of no memory; the time reached */
    double kept;     /* activations since, bytes */
    double most;
};

static double height_of(const struct picture *p, double bytes)
{
    return p->most > 0 ? MEMORY * bytes / p->most : 0;
}

/* At a change, draws the activations kept until then, above the constant part. */
static void draw_kept(void *user, double at, const rk_stage_memory *memory)
{
    struct curve *c = user;
    const struct picture *p = c->picture;
    const double activations = memory->part[RK_MEM_ACTIVATIONS];
    const double stays = height_of(p, memory->total - activations);
    const double height = height_of(p, c->kept), x = x_of(p, c->at), right = x_of(p, at);
    if (right > x && height > 0) {
        rk_draw_box(p->out, x, c->base - stays - height, right - x, height, kept_fill);
    }
    c->at = rk_max(c->at, at);
    c->kept = activations;
    c->most = rk_max(c->most, memory->total);
}

static void draw_memory(const struct picture *p, int64_t rank)
{
    struct curve c = {.picture = p, .base = y_of(p, rank) + ROW + MEMORY, .at = p->from};
    const rk_stage_memory empty = rk_stage_memory_at(&p->timeline->streams.needs[rank], 0);
    const double stays = height_of(p, empty.total - empty.part[RK_MEM_ACTIVATIONS]);
    char number[RK_LABEL_SIZE], label[64];
    rk_draw_box(p->out, LEFT, c.base - stays, x_of(p, p->to) - LEFT, stays, state_fill);
    if (!rk_timeline_visit_memory(p->timeline, rank, draw_kept, &c)) {
        rk_out_fail_memory(p->out);
    }
    draw_kept(&c, p->to, &empty);
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
        double done = t->pipeline;
        (void)snprintf(label, sizeof(label), "rank %" PRId64, rank);
        rk_draw_text(p->out, LEFT - 6, y + ROW / 2 + TEXT / 3, label,
                     (rk_text_style){.size = TEXT, .anchor = RK_ANCHOR_END});
        rk_draw_box(p->out, LEFT, y, x_of(p, p->to) - LEFT, ROW, idle_fill);
        for (int i = 0; i < t->after_count; i++) {
            draw_span(p, y, ROW, done, done + t->after[i].seconds, after_fill(t->after[i].part));
            done += t->after[i].seconds;
        }
        draw_memory(p, rank);
    }
    for (size_t i = 0; i < t->op_count; i++) {
        draw_op(p, i);
    }
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
    p.scale = (WIDTH - LEFT - RIGHT) / (p.to - p.from);
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
    return mean * wide < LEGIBLE * t->step ? mean * wide / ENLARGED : 0;
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
    draw_panel(p, timeline->step, TOP);
    if (detail > 0) {
        rk_draw_text(out, LEFT, TOP + panel - 14, "The beginning, enlarged",
                     (rk_text_style){.size = TEXT, .bold = true});
        draw_panel(p, detail, TOP + panel);
    }
    rk_out_text(out, "</svg>\n");
}
