/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace events (the JSON of chrome://tracing, which Perfetto reads).  Processes are pipeline ranks,
 * numbered from 1 since some viewers hide 0; threads have numbers of their own in the whole file,
 * since Perfetto finds names by them.  Start and end are rounded alike, so that slices that follow
 * each other do not overlap by a rounding.
 */
#include "timeline/operations.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "io/json_write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LANES = 100 }; /* most threads of a process */

typedef enum trace_lane {
    LANE_COMPUTE,
    LANE_BACKWARD, /* backward of a pair, drawn next to its forward */
    LANE_TP,
    LANE_CP,
    LANE_EP,
    LANE_DP,
    LANE_PP_FORWARD,
    LANE_PP_BACKWARD,
    LANE_HOST,
    LANE_COUNT
} trace_lane;

/* Names sort as the lanes do: some viewers know no other order. */
static const char *const lane_names[LANE_COUNT] = {
    "0 compute", "1 backward",        "2 TP comm",          "3 CP comm", "4 EP comm",
    "5 DP comm", "6 PP send forward", "7 PP send backward", "8 host",
};

/* Names of colors that chrome://tracing knows. */
static const char *const lane_colors[LANE_COUNT] = {
    "good",           "rail_response", "bad",       "yellow", "thread_state_iowait",
    "rail_animation", "rail_idle",     "rail_idle", "grey",
};
static const char *const op_colors[] = {"good", "rail_response", "rail_load"};

struct trace {
    const rk_timeline *timeline;
    rk_out *out;
    const rk_op *
        *chains; /* of all operations but weight gradients, by kind, microbatch and start */
    size_t chained;
    int64_t rank;
    bool started;          /* an event precedes */
    bool used[LANE_COUNT]; /* by any rank */
};

/* ---- events ---------------------------------------------------------------------------------- */

static double microseconds(double seconds)
{
    return round(1e9 * seconds) / 1e3;
}

static void begin_event(struct trace *t, trace_lane lane)
{
    rk_out_printf(t->out, "%s\n{\"pid\":%" PRId64 ",\"tid\":%" PRId64, t->started ? "," : "",
                  t->rank + 1, (t->rank + 1) * LANES + (int64_t)lane);
    t->started = true;
}

static void write_name(struct trace *t, trace_lane lane, const char *kind, const char *name)
{
    begin_event(t, lane);
    rk_out_printf(t->out, ",\"ph\":\"M\",\"name\":\"%s\",\"args\":{\"name\":\"%s\"}}", kind, name);
}

/* A slice up to its closing brace, so that members can follow. */
static void begin_slice(struct trace *t, trace_lane lane, const char *name, const char *category,
                        const char *color, double start, double end)
{
    assert(end >= start);
    const double from = microseconds(start), to = microseconds(end);
    begin_event(t, lane);
    rk_out_printf(t->out,
                  ",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\",\"cat\":\"%s\","
                  "\"cname\":\"%s\"",
                  from, to - from, name, category, color);
}

static void write_slice(struct trace *t, trace_lane lane, const char *name, const char *category,
                        const char *color, double start, double end)
{
    begin_slice(t, lane, name, category, color, start, end);
    rk_out_text(t->out, "}");
}

/* ---- operations ------------------------------------------------------------------------------ */

bool rk_timeline_pairs_passes(const rk_timeline *timeline)
{
    return rk_schedules[timeline->strategy->schedule]->pairs;
}

static trace_lane lane_of(const rk_timeline *timeline, const rk_op *op)
{
    return rk_timeline_pairs_passes(timeline) && op->kind != RK_OP_FORWARD ? LANE_BACKWARD
                                                                           : LANE_COMPUTE;
}

void rk_timeline_communication(const rk_timeline *timeline, const rk_op *op,
                               double seconds[RK_STREAM_COUNT])
{
    const rk_streams *streams = &timeline->streams;
    const rk_stream_times *times = &streams->times[op->rank * streams->chunks + op->chunk];
    const double *visible = op->kind == RK_OP_FORWARD ? times->forward : times->backward;
    const bool apart = op->kind == RK_OP_WEIGHT || rk_timeline_pairs_passes(timeline);
    for (int i = 0; i < RK_STREAM_COUNT; i++) {
        seconds[i] = apart ? 0 : visible[i];
    }
}

static void write_op(struct trace *t, const rk_op *op)
{
    const rk_timeline *line = t->timeline;
    double seconds[RK_STREAM_COUNT], visible = 0;
    char name[RK_OP_NAME_SIZE];
    rk_timeline_communication(line, op, seconds);
    for (int i = 0; i < RK_STREAM_COUNT; i++) {
        visible += seconds[i];
    }
    (void)rk_timeline_op_name(line, op, name);
    begin_slice(t, lane_of(line, op), name, rk_op_kind_names[op->kind], op_colors[op->kind],
                op->start, op->end - visible);
    rk_out_printf(t->out, ",\"args\":{\"microbatch\":%" PRId32 ",\"chunk\":%" PRId32 "}}",
                  op->microbatch, op->chunk);
    double from = op->end - visible;
    for (int i = 0; i < RK_STREAM_COUNT; i++) {
        const trace_lane lane = (trace_lane)(LANE_TP + i);
        const double to = from + seconds[i];
        if (microseconds(to) > microseconds(from)) {
            write_slice(t, lane, name, "communication", lane_colors[lane], from, to);
        }
        from = to;
    }
}

static void write_idle(struct trace *t, double start, double end)
{
    if (microseconds(end) > microseconds(start)) {
        write_slice(t, LANE_COMPUTE, "idle", "bubble", "grey", start, end);
    }
}

static trace_lane lane_of_part(rk_part part)
{
    return part == RK_PART_DP        ? LANE_DP
           : part == RK_PART_PP      ? LANE_PP_FORWARD
           : part == RK_PART_OFFLOAD ? LANE_HOST
                                     : LANE_COMPUTE;
}

static void write_after(struct trace *t)
{
    double done = t->timeline->figures.pipeline_s;
    for (int i = 0; i < t->timeline->after_count; i++) {
        const rk_timeline_after *after = &t->timeline->after[i];
        const trace_lane lane = lane_of_part(after->part);
        write_slice(t, lane, after->name, "after",
                    lane == LANE_COMPUTE ? "generic_work" : lane_colors[lane], done,
                    done + after->seconds);
        done += after->seconds;
    }
}

static void write_memory(void *user, double at, const rk_stage_memory *memory)
{
    struct trace *t = user;
    const double activations = memory->part[RK_MEM_ACTIVATIONS];
    begin_event(t, LANE_COMPUTE);
    rk_out_printf(t->out,
                  ",\"ph\":\"C\",\"ts\":%.3f,\"name\":\"memory GiB\",\"args\":{\"static\":%.4f,"
                  "\"activations\":%.4f}}",
                  microseconds(at), (memory->total - activations) / GIB, activations / GIB);
}

static void write_rank(struct trace *t)
{
    const rk_timeline *line = t->timeline;
    const size_t first = rk_timeline_first(line, t->rank);
    const size_t past = rk_timeline_first(line, t->rank + 1);
    double done = 0;
    char name[32];
    (void)snprintf(name, sizeof(name), "rank %02" PRId64, t->rank);
    write_name(t, LANE_COMPUTE, "process_name", name);
    for (int lane = 0; lane < LANE_COUNT; lane++) {
        if (t->used[lane]) {
            write_name(t, (trace_lane)lane, "thread_name", lane_names[lane]);
        }
    }
    for (size_t i = first; i < past; i++) {
        write_idle(t, done, line->ops[i].start);
        write_op(t, &line->ops[i]);
        done = rk_max(done, line->ops[i].end);
    }
    write_idle(t, done, line->figures.pipeline_s);
    write_after(t);
    if (!rk_timeline_visit_memory(line, t->rank, write_memory, t)) {
        rk_out_fail_memory(t->out);
    }
}

/* ---- messages between stages ----------------------------------------------------------------- */

static int compare_chained(const void *a, const void *b)
{
    const rk_op *one = *(const rk_op *const *)a, *other = *(const rk_op *const *)b;
    if (one->kind != other->kind) {
        return one->kind < other->kind ? -1 : 1;
    }
    if (one->microbatch != other->microbatch) {
        return one->microbatch < other->microbatch ? -1 : 1;
    }
    return (one->start > other->start) - (one->start < other->start);
}

/* Sorts the passes of every microbatch: each hands its result to the next. */
static void chain_passes(struct trace *t)
{
    const rk_timeline *line = t->timeline;
    t->chains = malloc((line->op_count + 1) * sizeof(*t->chains));
    for (size_t i = 0; t->chains && i < line->op_count; i++) {
        if (line->ops[i].kind != RK_OP_WEIGHT) {
            t->chains[t->chained++] = &line->ops[i];
        }
    }
    if (!t->chains) {
        rk_out_fail_memory(t->out);
        return;
    }
    qsort(t->chains, t->chained, sizeof(*t->chains), compare_chained);
}

static void write_flow(struct trace *t, const rk_op *op, char end, size_t id, double at)
{
    t->rank = op->rank;
    begin_event(t, lane_of(t->timeline, op));
    rk_out_printf(t->out,
                  ",\"ph\":\"%c\",\"ts\":%.3f,\"name\":\"p2p\",\"cat\":\"pp\",\"id\":%zu%s}", end,
                  microseconds(at), id, end == 'f' ? ",\"bp\":\"e\"" : "");
}

/* A message from one pass to the next, if it goes to another rank: an arrow, and a slice. */
static void write_message(struct trace *t, const rk_op *from, const rk_op *to, size_t id)
{
    const trace_lane lane = from->kind == RK_OP_FORWARD ? LANE_PP_FORWARD : LANE_PP_BACKWARD;
    /* no longer than the pass, so that the messages of a rank do not overlap */
    const double most = rk_min(t->timeline->streams.send, from->end - from->start);
    const double end = rk_min(from->end + most, to->start);
    char name[RK_OP_NAME_SIZE];
    if (from->kind != to->kind || from->microbatch != to->microbatch || from->rank == to->rank) {
        return;
    }
    /* inside the first slice, which excludes its end */
    write_flow(t, from, 's', id, from->start);
    write_flow(t, to, 'f', id, to->start);
    t->rank = from->rank;
    if (t->used[lane] && microseconds(end) > microseconds(from->end)) {
        write_slice(t, lane, rk_timeline_op_name(t->timeline, from, name), "send",
                    lane_colors[lane], from->end, end);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Which threads have events: empty ones are not named. */
static void find_used(struct trace *t)
{
    const rk_timeline *line = t->timeline;
    const rk_strategy *s = line->strategy;
    const bool pairs = rk_timeline_pairs_passes(line);
    t->used[LANE_COMPUTE] = true;
    t->used[LANE_BACKWARD] = pairs;
    for (int64_t i = 0; !pairs && i < s->pp * line->streams.chunks; i++) {
        for (int k = 0; k < RK_STREAM_COUNT; k++) {
            const rk_stream_times *times = &line->streams.times[i];
            t->used[LANE_TP + k] =
                t->used[LANE_TP + k] || times->forward[k] > 0 || times->backward[k] > 0;
        }
    }
    t->used[LANE_PP_FORWARD] = t->used[LANE_PP_BACKWARD] =
        s->pp > 1 && s->pp_overlap && !pairs && !rk_schedules[s->schedule]->rolls;
    for (int i = 0; i < line->after_count; i++) {
        t->used[lane_of_part(line->after[i].part)] = true;
    }
}

static void write_events(struct trace *t)
{
    for (t->rank = 0; t->rank < t->timeline->strategy->pp; t->rank++) {
        write_rank(t);
    }
    /* ranks that roll have clocks of their own */
    const bool rolls = rk_schedules[t->timeline->strategy->schedule]->rolls;
    for (size_t i = 0; !rolls && i + 1 < t->chained; i++) {
        write_message(t, t->chains[i], t->chains[i + 1], i + 1);
    }
}

void rk_timeline_write_trace(const rk_timeline *timeline, const char *title, rk_out *out)
{
    struct trace t = {.timeline = timeline, .out = out};
    rk_json_writer writer = {.out = out};
    chain_passes(&t);
    find_used(&t);
    rk_json_open(&writer, "{");
    rk_json_string(&writer, "displayTimeUnit", "ms");
    rk_json_open_member(&writer, "otherData", "{");
    rk_json_string(&writer, "reckon", rk_version());
    rk_json_string(&writer, "title", title);
    rk_json_real(&writer, "step_us", microseconds(timeline->figures.step_s));
    rk_json_string(&writer, "communication",
                   "the visible part, at the end of the pass that waits for it");
    rk_json_close(&writer, "}");
    rk_json_open_member(&writer, "traceEvents", "[");
    write_events(&t);
    rk_json_close(&writer, "]");
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
    free(t.chains);
}
