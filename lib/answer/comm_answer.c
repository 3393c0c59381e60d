/* SPDX-License-Identifier: Apache-2.0 */
/* Times of collectives as text, JSON and CSV, with their phases and the loads of links. */
#include "answer/comm_answer.h"

#include "answer/comm_plot.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "comm/link_loads.h"
#include "io/csv_out.h"
#include "job/answer_writers.h"
#include "method/describe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A result as the writers get it. */
struct shown {
    const rk_comm_answer *answer;
    const rk_comm_servers *servers;
    const rk_comm_output *output;
};

/* ---- words ----------------------------------------------------------------------------------- */

/*
 * The collective library of an accelerator, if reckon has no model of how it chooses an algorithm.
 */
static const char *other_library(const rk_system *system)
{
    switch (system->accelerator.generation) {
    case RK_GENERATION_CDNA2:
    case RK_GENERATION_CDNA3:
    case RK_GENERATION_CDNA4:
        return "RCCL";
    case RK_GENERATION_GAUDI:
        return "Gaudi's HCCL";
    case RK_GENERATION_ASCEND:
        return "HCCL";
    case RK_GENERATION_TPU:
        return "XLA";
    case RK_GENERATION_TRAINIUM:
        return "Neuron";
    default:
        return NULL;
    }
}

#define CHOICE_SIZE 128

/* How the algorithm is chosen. */
static const char *describe_choice(const rk_comm_answer *answer, char out[CHOICE_SIZE])
{
    const char *asked = answer->algorithm, *library = other_library(answer->system);
    if (asked && strcmp(asked, "nccl") == 0) {
        (void)snprintf(out, CHOICE_SIZE, "that of NCCL's tuner");
    } else if (asked && strcmp(asked, "best") == 0) {
        (void)snprintf(out, CHOICE_SIZE, "the fastest of all algorithms");
    } else if (asked) {
        (void)snprintf(out, CHOICE_SIZE, "%s", strcmp(asked, "all") == 0 ? "all" : "as asked");
    } else if (library) {
        (void)snprintf(out, CHOICE_SIZE,
                       "the fastest that training software runs (no model of how %s chooses)",
                       library);
    } else {
        (void)snprintf(out, CHOICE_SIZE, "the fastest that training software runs");
    }
    return out;
}

/* Whether every plan is listed, so that lines need its name. */
static bool lists_all(const rk_comm_answer *answer)
{
    return answer->algorithm && strcmp(answer->algorithm, "all") == 0;
}

/* "4x4 in ICI 3D torus". */
static void write_axes(FILE *to, const rk_tier *torus)
{
    (void)fprintf(to, ", %" PRId64, torus->slice[0]);
    for (int i = 1; i < RK_TORUS_AXES && torus->slice[i] > 1; i++) {
        (void)fprintf(to, "x%" PRId64, torus->slice[i]);
    }
    (void)fprintf(to, " in %s", torus->name);
}

static void write_placement(FILE *to, const rk_counts *placement, const char *tier)
{
    for (int i = 0; i < placement->count; i++) {
        (void)fprintf(to, "%s%" PRId64, i > 0 ? "," : ", ", placement->values[i]);
    }
    (void)fprintf(to, " in domains of %s", tier);
}

/* How many ranks of the group share a domain of each tier. */
static void write_group(FILE *to, const rk_comm_answer *answer)
{
    const rk_comm_question *q = answer->question;
    const rk_system *system = answer->system;
    (void)fprintf(to, "group     %" PRId64 " ranks", answer->ranks);
    if (q->slice) {
        write_axes(to, &system->tiers[0]);
    } else if (q->placement.count > 0) {
        write_placement(to, &q->placement, system->tiers[0].name);
    }
    for (int i = q->slice || q->placement.count > 0 ? 1 : 0; i + 1 < system->tier_count; i++) {
        (void)fprintf(to, ", %" PRId64 " in a domain of %s", answer->group.within[i],
                      system->tiers[i].name);
    }
    (void)fprintf(to, "\nchoice    %s\n\n", describe_choice(answer, (char[CHOICE_SIZE]){0}));
}

/* ---- phases and links ------------------------------------------------------------------------ */

/* A plan that uses all tiers at once. */
static void add_whole(rk_table *table, const rk_comm_answer *answer, const rk_comm_timing *t)
{
    char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
    rk_table_cell(table, "%s", rk_collective_names[t->op]);
    rk_table_cell(table, "%s", rk_with_commas((uint64_t)t->bytes, size));
    rk_table_cell(table, "%s", t->name);
    rk_table_cell(table, "all tiers");
    rk_table_cell(table, "%s", rk_collective_names[t->op]);
    rk_table_cell(table, "%s", t->name);
    rk_table_cell(table, "%" PRId64, answer->ranks);
    rk_table_cell(table, "%s", rk_time_text(t->seconds, time));
    for (int i = 0; i < 3; i++) {
        rk_table_cell(table, "%s", "");
    }
}

/* The messages of a phase; of a torus the bytes alone, of very many units nothing. */
static rk_status add_messages(rk_table *table, const rk_collective_phase *p, rk_error *err)
{
    char size[RK_COMMAS_SIZE], link[RK_LINK_NAME_SIZE];
    rk_replay replay;
    const rk_status status = rk_phase_replay(p, NULL, &replay, err);
    if (status == RK_OK) {
        rk_table_cell(table, "%s", rk_with_commas((uint64_t)replay.messages, size));
        rk_table_cell(table, "%s", rk_with_commas((uint64_t)(replay.busiest_bytes + 0.5), size));
        rk_table_cell(table, "%s", rk_phase_link_name(p, replay.busiest, link));
        return RK_OK;
    }
    const double moved = /* over one link of a torus */
        rk_phase_busy_seconds(p) * rk_phase_link(p).bandwidth;
    rk_table_cell(table, "%s", "");
    rk_table_cell(table, "%s", p->algorithm ? "" : rk_with_commas((uint64_t)(moved + 0.5), size));
    rk_table_cell(table, "%s", p->algorithm ? "" : "each way along an axis");
    return status == RK_ERR_MEMORY ? status : RK_OK;
}

/* The phases of a plan: what each sends over which links. */
static rk_status add_phases(rk_table *table, const rk_comm_answer *answer, const rk_comm_timing *t,
                            rk_error *err)
{
    rk_status status = RK_OK;
    if (t->plan.phase_count == 0) {
        add_whole(table, answer, t);
    }
    for (int i = 0; i < t->plan.phase_count && !status; i++) {
        const rk_collective_phase *p = &t->plan.phases[i];
        char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
        rk_table_cell(table, "%s", i > 0 ? "" : rk_collective_names[t->op]);
        rk_table_cell(table, "%s", i > 0 ? "" : rk_with_commas((uint64_t)t->bytes, size));
        rk_table_cell(table, "%s", i > 0 ? "" : t->name);
        rk_table_cell(table, "%s", p->tier->name);
        rk_table_cell(table, "%s", rk_collective_names[p->job.op]);
        rk_table_cell(table, "%s", rk_phase_name(p));
        rk_table_cell(table, "%d", (int)p->job.ranks);
        rk_table_cell(table, "%s", rk_time_text(p->seconds, time));
        status = add_messages(table, p, err);
    }
    return status;
}

/* A row per kind of link of each phase that can be replayed. */
static rk_status add_links(rk_table *table, const rk_collective_plan *plan, rk_error *err)
{
    for (int i = 0; i < plan->phase_count; i++) {
        const rk_collective_phase *phase = &plan->phases[i];
        rk_link_loads loads;
        rk_link_kind kinds[RK_LINK_KIND_MAX];
        const rk_status status = rk_link_loads_of(phase, &loads, err);
        const size_t count = status ? 0 : rk_link_kinds_of(&loads, kinds);
        rk_link_loads_clear(&loads);
        if (status == RK_ERR_MEMORY) {
            return status;
        }
        for (size_t k = 0; k < count; k++) {
            char time[RK_TIME_TEXT_SIZE];
            rk_table_cell(table, "%s in %s", rk_collective_names[phase->job.op], phase->tier->name);
            rk_table_cell(table, "%s", kinds[k].name);
            rk_table_cell(table, "%.0f", kinds[k].count);
            rk_table_cell(table, "%.4g", kinds[k].least);
            rk_table_cell(table, "%.4g", kinds[k].sum / kinds[k].count);
            rk_table_cell(table, "%.4g", kinds[k].most);
            rk_table_cell(table, "%s", rk_time_text(kinds[k].busy_s, time));
        }
    }
    return RK_OK;
}

/* Nothing of an empty table. */
static rk_status write_listing(FILE *to, rk_table *table, rk_status status, rk_table_style style,
                               rk_error *err)
{
    if (status || (table->cell_count == 0 && !table->failed)) {
        rk_table_clear(table);
        return status;
    }
    (void)fputs("\n", to);
    return rk_write_table(to, table, style, err);
}

static rk_status explain(FILE *to, const rk_comm_answer *answer, rk_table_style style,
                         rk_error *err)
{
    static const rk_table_column columns[] = {
        {"collective", RK_ALIGN_LEFT},   {"bytes", RK_ALIGN_RIGHT},
        {"way", RK_ALIGN_LEFT},          {"tier", RK_ALIGN_LEFT},
        {"phase", RK_ALIGN_LEFT},        {"algorithm", RK_ALIGN_LEFT},
        {"units", RK_ALIGN_RIGHT},       {"time", RK_ALIGN_RIGHT},
        {"messages", RK_ALIGN_RIGHT},    {"link bytes", RK_ALIGN_RIGHT},
        {"busiest link", RK_ALIGN_LEFT},
    };
    static const rk_table_column links[] = {
        {"phase", RK_ALIGN_LEFT},       {"links", RK_ALIGN_LEFT},
        {"number", RK_ALIGN_RIGHT},     {"least bytes", RK_ALIGN_RIGHT},
        {"mean bytes", RK_ALIGN_RIGHT}, {"most bytes", RK_ALIGN_RIGHT},
        {"busy", RK_ALIGN_RIGHT},
    };
    rk_status status = RK_OK;
    rk_table table;
    rk_table_init(&table, columns, COUNT(columns));
    for (size_t i = 0; i < answer->count && !status; i++) {
        status = add_phases(&table, answer, &answer->timings[i], err);
    }
    status = write_listing(to, &table, status, style, err);
    rk_table_init(&table, links, COUNT(links));
    for (size_t i = 0; i < answer->count && !status; i++) {
        status = add_links(&table, &answer->timings[i].plan, err);
    }
    return write_listing(to, &table, status, style, err);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* With another collective at the same time: times alone and together, and demand on the links. */
static rk_status write_with(FILE *to, const rk_comm_answer *answer, rk_table_style style,
                            rk_error *err)
{
    static const rk_table_column columns[] = {
        {"collective", RK_ALIGN_LEFT}, {"bytes", RK_ALIGN_RIGHT},
        {"together", RK_ALIGN_RIGHT},  {"second", RK_ALIGN_RIGHT},
        {"together", RK_ALIGN_RIGHT},  {"demand on links", RK_ALIGN_LEFT},
    };
    const rk_comm_question *q = answer->question;
    const rk_system *system = answer->system;
    rk_table table;
    (void)fprintf(to, "\nwith      %s of %" PRId64 " ranks", rk_collective_names[q->with],
                  answer->with_group.size);
    if (q->with_stride > 1) {
        (void)fprintf(to, ", every %" PRId64 "th", q->with_stride);
    }
    (void)fputs(", at the same time\n\n", to);
    rk_table_init(&table, columns, COUNT(columns));
    for (size_t i = 0; i < answer->count; i++) {
        const rk_comm_timing *t = &answer->timings[i];
        const rk_comm_concurrent both = rk_comm_concurrent_of(answer, t);
        const double seconds[] = {both.pair.seconds[0], both.other.seconds, both.pair.seconds[1]};
        char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
        int most = 0;
        rk_table_cell(&table, "%s%s%s", rk_collective_names[t->op], lists_all(answer) ? ", " : "",
                      lists_all(answer) ? t->name : "");
        rk_table_cell(&table, "%s", rk_with_commas((uint64_t)t->bytes, size));
        for (size_t k = 0; k < COUNT(seconds); k++) {
            rk_table_cell(&table, "%s", rk_time_text(seconds[k], time));
        }
        for (int k = 0; k < system->tier_count; k++) {
            most = both.pair.wanted[k] > both.pair.wanted[most] ? k : most;
        }
        rk_table_cell(&table, "%s %.0f %%", system->tiers[most].name, 100 * both.pair.wanted[most]);
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_times(FILE *to, const rk_comm_answer *answer, rk_table_style style,
                             rk_error *err)
{
    static const rk_table_column columns[] = {
        {"collective", RK_ALIGN_LEFT},   {"algorithm", RK_ALIGN_LEFT},
        {"bytes", RK_ALIGN_RIGHT},       {"time", RK_ALIGN_RIGHT},
        {"algbw, GB/s", RK_ALIGN_RIGHT}, {"busbw, GB/s", RK_ALIGN_RIGHT},
    };
    rk_table table;
    rk_table_init(&table, columns, COUNT(columns));
    for (size_t i = 0; i < answer->count; i++) {
        const rk_comm_timing *t = &answer->timings[i];
        char size[RK_COMMAS_SIZE], time[RK_TIME_TEXT_SIZE];
        rk_table_cell(&table, "%s", rk_collective_names[t->op]);
        rk_table_cell(&table, "%s", t->name);
        rk_table_cell(&table, "%s", rk_with_commas((uint64_t)t->bytes, size));
        rk_table_cell(&table, "%s", rk_time_text(t->seconds, time));
        rk_table_cell(&table, "%.2f", t->algorithm / 1e9);
        rk_table_cell(&table, "%.2f", t->bus / 1e9);
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const struct shown *shown = what;
    const rk_comm_answer *answer = shown->answer;
    const rk_comm_question *q = answer->question;
    char words[RK_WORDS_SIZE];
    (void)fprintf(to, "system    %s: %s GB/s\n", answer->system->name,
                  rk_describe_tiers(answer->system, words));
    if (shown->output->settings) {
        (void)fprintf(to, "set       %s\n", shown->output->settings);
    }
    write_group(to, answer);
    rk_status status = write_times(to, answer, style, err);
    if (!status && q->explain) {
        status = explain(to, answer, style, err);
    }
    if (!status && q->with != RK_COLL_COUNT) {
        status = write_with(to, answer, style, err);
    }
    return status || !shown->servers ? status
                                     : rk_comm_servers_write(to, shown->servers, answer->system,
                                                             &answer->group, &q->sizes, style, err);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void write_collective(rk_json_writer *writer, const rk_comm_answer *answer,
                             const rk_comm_timing *t)
{
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_json_string(writer, "op", rk_collective_names[t->op]);
    rk_json_string(writer, "algorithm", t->plan.chunks > 0 ? t->plan.name : t->name);
    if (t->plan.chunks > 0) {
        rk_json_count(writer, "chunks", (uint64_t)t->plan.chunks);
    }
    rk_json_real(writer, "bytes", t->bytes);
    rk_json_real(writer, "seconds", t->seconds);
    rk_json_real(writer, "algorithm_bytes_per_s", t->algorithm);
    rk_json_real(writer, "bus_bytes_per_s", t->bus);
    if (answer->question->with != RK_COLL_COUNT) {
        const rk_comm_concurrent both = rk_comm_concurrent_of(answer, t);
        rk_json_open_member(writer, "with", "{");
        rk_json_string(writer, "op", rk_collective_names[answer->question->with]);
        rk_json_count(writer, "ranks", (uint64_t)answer->with_group.size);
        rk_json_real(writer, "alone_seconds", both.other.seconds);
        rk_json_real(writer, "together_seconds", both.pair.seconds[1]);
        rk_json_close(writer, "}");
        rk_json_real(writer, "together_seconds", both.pair.seconds[0]);
        rk_json_string(writer, "shared_tier",
                       both.pair.tier < 0 ? "none" : answer->system->tiers[both.pair.tier].name);
    }
    rk_json_close(writer, "}");
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const struct shown *shown = what;
    const rk_comm_answer *answer = shown->answer;
    rk_json_string(writer, "system", answer->system->name);
    if (shown->output->settings) {
        rk_json_string(writer, "set", shown->output->settings);
    }
    rk_json_count(writer, "ranks", (uint64_t)answer->ranks);
    rk_json_count(writer, "ranks_of_innermost_domain", (uint64_t)answer->group.within[0]);
    rk_json_string(writer, "choice", describe_choice(answer, (char[CHOICE_SIZE]){0}));
    rk_json_open_member(writer, "collectives", "[");
    for (size_t i = 0; i < answer->count; i++) {
        write_collective(writer, answer, &answer->timings[i]);
    }
    rk_json_close(writer, "]");
}

static void write_cells(rk_csv_out *csv, const void *what)
{
    static const rk_column columns[] = {{"op", RK_VALUE_TEXT},
                                        {"ranks", RK_VALUE_INT},
                                        {"ranks_per_node", RK_VALUE_INT},
                                        {"bytes", RK_VALUE_REAL},
                                        {"seconds", RK_VALUE_REAL}};
    const rk_comm_answer *answer = ((const struct shown *)what)->answer;
    rk_csv_header(csv, columns, COUNT(columns));
    for (size_t i = 0; i < answer->count; i++) {
        const rk_comm_timing *t = &answer->timings[i];
        const rk_value row[COUNT(columns)] = {rk_value_text(rk_collective_names[t->op]),
                                              rk_value_int(answer->ranks),
                                              rk_value_int(answer->group.within[0]),
                                              rk_value_real(t->bytes), rk_value_real(t->seconds)};
        rk_csv_row(csv, row, COUNT(columns));
    }
}

/* A row per link of each phase. */
static rk_status write_links(rk_out *out, const rk_comm_timing *t, rk_error *err)
{
    rk_status status = RK_OK;
    for (int i = 0; i < t->plan.phase_count && !status; i++) {
        const rk_collective_phase *phase = &t->plan.phases[i];
        rk_link_loads loads;
        char name[RK_LINK_NAME_SIZE];
        status = rk_link_loads_of(phase, &loads, err);
        for (int64_t k = 0; k < loads.count && !status; k++) {
            if (rk_link_exists(&loads, k)) {
                rk_out_printf(out, "%s,%.0f,%s,%s,", rk_collective_names[t->op], t->bytes,
                              t->plan.name, rk_collective_names[phase->job.op]);
                rk_csv_cell(out, phase->tier->name);
                rk_out_text(out, ",");
                rk_csv_cell(out, rk_phase_link_name(phase, k, name));
                rk_out_printf(out, ",%.17g,%.6g\n", loads.bytes[k],
                              rk_link_busy_s(&loads, k) / phase->seconds);
            }
        }
        rk_link_loads_clear(&loads);
    }
    return status;
}

static rk_status write_all_links(const rk_job *job, const rk_comm_answer *answer, const char *path,
                                 rk_error *err)
{
    rk_out *out;
    rk_status status = rk_job_open(job, path, &out, err);
    if (status) {
        return status;
    }
    rk_out_text(out, "op,bytes,algorithm,phase,tier,link,link_bytes,busy\n");
    for (size_t i = 0; i < answer->count && !status; i++) {
        status = write_links(out, &answer->timings[i], err);
    }
    if (status) {
        rk_out_abandon(out);
        return status;
    }
    return rk_out_close(out, err);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static rk_status plot(const rk_job *job, const rk_comm_answer *answer, const char *path,
                      rk_error *err)
{
    char title[160], name[RK_COMM_LINE_NAME_SIZE];
    rk_comm_lines *lines = rk_comm_lines_create();
    if (!lines) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the figure");
    }
    (void)snprintf(title, sizeof(title), "Bus bandwidth of %" PRId64 " ranks on %s", answer->ranks,
                   answer->system->name);
    for (size_t i = 0; i < answer->count; i++) {
        const rk_comm_timing *t = &answer->timings[i];
        (void)snprintf(name, sizeof(name), "%s%s%s", rk_collective_names[t->op],
                       lists_all(answer) ? ", " : "", lists_all(answer) ? t->plan.name : "");
        rk_comm_lines_add(lines, name, t->bytes, t->bus);
    }
    const rk_status status = rk_comm_lines_plot(job, lines, title, path, err);
    free(lines);
    return status;
}

rk_status rk_comm_write(const rk_job *job, const rk_comm_answer *answer,
                        const rk_comm_servers *servers, const rk_comm_output *output, rk_error *err)
{
    static const rk_answer_writers writers = {
        .text = write_text, .members = write_members, .cells = write_cells};
    const struct shown shown = {.answer = answer, .servers = servers, .output = output};
    const rk_status status = output->plot ? plot(job, answer, output->plot, err) : RK_OK;
    if (status) {
        return status;
    }
    return output->csv && answer->question->explain
               ? write_all_links(job, answer, output->path, err)
               : rk_job_answer(job, &writers, &shown, output->json, output->csv, output->path, err);
}
