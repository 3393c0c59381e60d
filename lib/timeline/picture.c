/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a step as a picture: a row per pipeline rank, a box per operation. */
#include "timeline/operations.h"

#include "base/time_text.h"
#include "plot/draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define WIDTH  1100.0
#define LEFT   64.0
#define RIGHT  16.0
#define TOP    64.0
#define ROW    20.0
#define GAP    3.0 /* between rows */
#define BOTTOM 48.0
#define TEXT   12.0
#define SMALL  9.0

/* Dark of the first chunk, light of the others: forward, backward, weight gradients. */
static const char *const fills[][2] = {
    {"#4269d0", "#97a9e3"}, {"#3ca951", "#97d4a3"}, {"#efb118", "#f7d98b"}};
static const char after_fill[] = "#9498a0";
static const char edge[] = "#ffffff";

struct picture {
    const rk_timeline *timeline;
    rk_out *out;
    double scale; /* px/s */
    double height;
};

static double x_of(const struct picture *p, double seconds)
{
    return LEFT + p->scale * seconds;
}

static double y_of(int64_t rank)
{
    return TOP + (double)rank * (ROW + GAP);
}

/* A box of a row; a white edge separates boxes that touch, where there is room for one. */
static void draw_span(const struct picture *p, double y, double height, double start, double end,
                      const char *fill)
{
    const double x = x_of(p, start), width = p->scale * (end - start);
    rk_draw_box(p->out, x, y, width, height, fill);
    if (width > 4) {
        rk_draw_line(p->out, x, y, x, y + height, edge, 1, false);
    }
}

/* Whether an operation runs beside its neighbour in the order of the rank. */
static bool is_paired(const rk_op *op, const rk_op *other)
{
    return other->rank == op->rank && other->kind != op->kind && !(other->start < op->start) &&
           !(other->start > op->start);
}

/* Of a pair, the forward takes the upper half of the row and the backward the lower. */
static void draw_op(const struct picture *p, size_t i)
{
    const rk_timeline *t = p->timeline;
    const rk_op *op = &t->ops[i];
    const bool light = op->chunk % 2 == 1;
    const bool paired =
        (i > 0 && is_paired(op, op - 1)) || (i + 1 < t->op_count && is_paired(op, op + 1));
    const double height = paired ? ROW / 2 : ROW;
    const double y = y_of(op->rank) + (paired && op->kind != RK_OP_FORWARD ? height : 0);
    char number[16];
    draw_span(p, y, height, op->start, op->end, fills[op->kind][light]);
    (void)snprintf(number, sizeof(number), "%" PRId32, op->microbatch);
    if (rk_text_width(number, SMALL) + 1 < p->scale * (op->end - op->start)) {
        rk_draw_text(p->out, x_of(p, (op->start + op->end) / 2), y + height / 2 + SMALL / 3, number,
                     (rk_text_style){.size = SMALL,
                                     .anchor = RK_ANCHOR_MIDDLE,
                                     .color = light || op->kind == RK_OP_WEIGHT ? NULL : edge});
    }
}

static void draw_rows(const struct picture *p)
{
    const rk_timeline *t = p->timeline;
    for (int64_t rank = 0; rank < t->strategy->pp; rank++) {
        char label[32];
        (void)snprintf(label, sizeof(label), "rank %" PRId64, rank);
        rk_draw_text(p->out, LEFT - 6, y_of(rank) + ROW / 2 + TEXT / 3, label,
                     (rk_text_style){.size = TEXT, .anchor = RK_ANCHOR_END});
        rk_draw_box(p->out, LEFT, y_of(rank), p->scale * t->step, ROW, "#eeeff2");
        double done = t->pipeline;
        for (int i = 0; i < t->after_count; i++) {
            draw_span(p, y_of(rank), ROW, done, done + t->after[i].seconds, after_fill);
            done += t->after[i].seconds;
        }
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
    const rk_time_unit unit = rk_time_unit_of(p->timeline->step);
    const double length = p->timeline->step / unit.seconds, tick = tick_of(length);
    const double y = y_of(p->timeline->strategy->pp) + 4;
    rk_draw_line(p->out, LEFT, y, x_of(p, p->timeline->step), y, "#444", 1, false);
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

static void draw_legend(const struct picture *p)
{
    static const char *const names[] = {"forward",
                                        "backward",
                                        "weight gradients",
                                        "after the pipeline",
                                        "idle",
                                        "lighter: odd virtual stages"};
    const char *const colors[] = {fills[0][0], fills[1][0], fills[2][0],
                                  after_fill,  "#eeeff2",   fills[0][1]};
    bool used[] = {true, true, false, p->timeline->after_count > 0, true, false};
    double x = LEFT;
    for (size_t i = 0; i < p->timeline->op_count; i++) {
        used[2] = used[2] || p->timeline->ops[i].kind == RK_OP_WEIGHT;
        used[5] = used[5] || p->timeline->ops[i].chunk % 2 == 1;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (used[i]) {
            rk_draw_box(p->out, x, 38, 12, 12, colors[i]);
            rk_draw_text(p->out, x + 17, 48, names[i], (rk_text_style){.size = TEXT});
            x += 35 + rk_text_width(names[i], TEXT);
        }
    }
}

void rk_timeline_write_picture(const rk_timeline *timeline, const char *title, rk_out *out)
{
    const struct picture p = {
        .timeline = timeline,
        .out = out,
        .scale = (WIDTH - LEFT - RIGHT) / timeline->step,
        .height = y_of(timeline->strategy->pp) + BOTTOM,
    };
    rk_out_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\">\n",
                  WIDTH, p.height, WIDTH, p.height);
    rk_draw_box(out, 0, 0, WIDTH, p.height, "#ffffff");
    rk_draw_text(out, LEFT, 22, title, (rk_text_style){.size = 14, .bold = true});
    draw_legend(&p);
    draw_rows(&p);
    draw_axis(&p);
    rk_out_text(out, "</svg>\n");
}
