/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace events (the JSON of chrome://tracing, which Perfetto reads): processes are pipeline ranks,
 * numbered from 1 since some viewers hide 0; threads have numbers of their own in the whole file,
 * since Perfetto finds names by them.  Start and end are rounded alike, so that slices that follow
 * each other do not overlap by a rounding.
 */
#include "timeline/timeline.h"

#include "io/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { LANES = 100 }; /* threads of a process at the most */

typedef enum trace_lane { LANE_COMPUTE, LANE_BACKWARD } trace_lane;

struct trace {
    const rk_timeline *timeline;
    rk_out *out;
    int64_t rank;
    bool started; /* an event stands before */
};

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

static void write_slice(struct trace *t, trace_lane lane, const char *name, const char *category,
                        const char *color, double start, double end)
{
    const double from = microseconds(start), to = microseconds(end);
    begin_event(t, lane);
    rk_out_printf(t->out,
                  ",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\",\"cat\":\"%s\","
                  "\"cname\":\"%s\"",
                  from, to - from, name, category, color);
}

static void write_op(struct trace *t, const rk_op *op)
{
    static const char *const colors[] = {"good", "rail_response", "rail_load"};
    const bool pairs = rk_schedules[t->timeline->strategy->schedule]->pairs;
    const trace_lane lane = pairs && op->kind != RK_OP_FORWARD ? LANE_BACKWARD : LANE_COMPUTE;
    char name[RK_OP_NAME_SIZE];
    write_slice(t, lane, rk_timeline_op_name(t->timeline, op, name), rk_op_kind_names[op->kind],
                colors[op->kind], op->start, op->end);
    rk_out_printf(t->out, ",\"args\":{\"microbatch\":%" PRId32 ",\"chunk\":%" PRId32 "}}",
                  op->microbatch, op->chunk);
}

static void write_idle(struct trace *t, double start, double end)
{
    if (microseconds(end) > microseconds(start)) {
        write_slice(t, LANE_COMPUTE, "idle", "bubble", "grey", start, end);
        rk_out_text(t->out, "}");
    }
}

static void write_rank(struct trace *t)
{
    const rk_timeline *line = t->timeline;
    const size_t past = rk_timeline_first(line, t->rank + 1);
    double done = 0;
    char name[32];
    (void)snprintf(name, sizeof(name), "rank %02" PRId64, t->rank);
    write_name(t, LANE_COMPUTE, "process_name", name);
    write_name(t, LANE_COMPUTE, "thread_name", "0 compute");
    if (rk_schedules[line->strategy->schedule]->pairs) {
        write_name(t, LANE_BACKWARD, "thread_name", "1 backward");
    }
    for (size_t i = rk_timeline_first(line, t->rank); i < past; i++) {
        write_idle(t, done, line->ops[i].start);
        write_op(t, &line->ops[i]);
        done = fmax(done, line->ops[i].end);
    }
    write_idle(t, done, line->pipeline);
    done = line->pipeline;
    for (int i = 0; i < line->after_count; i++) {
        write_slice(t, LANE_COMPUTE, line->after[i].name, "after", "generic_work", done,
                    done + line->after[i].seconds);
        rk_out_text(t->out, "}");
        done += line->after[i].seconds;
    }
}

void rk_timeline_write_trace(const rk_timeline *timeline, const char *title, rk_out *out)
{
    struct trace t = {.timeline = timeline, .out = out};
    rk_json_writer writer = {.out = out};
    rk_json_open(&writer, "{");
    rk_json_string(&writer, "displayTimeUnit", "ms");
    rk_json_open_member(&writer, "otherData", "{");
    rk_json_string(&writer, "reckon", rk_version());
    rk_json_string(&writer, "title", title);
    rk_json_real(&writer, "step_us", microseconds(timeline->step));
    rk_json_close(&writer, "}");
    rk_json_open_member(&writer, "traceEvents", "[");
    for (t.rank = 0; t.rank < timeline->strategy->pp; t.rank++) {
        write_rank(&t);
    }
    rk_json_close(&writer, "]");
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
}
