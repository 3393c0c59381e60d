/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of a microbatch as tables, as the member "operators" of a JSON document, as CSV. */
#include "answer/estimate_operators.h"

#include "base/time_text.h"
#include "io/csv_out.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---------------------------------------------------------------------------------- */

enum { SIZE_TEXT = 96 };

static const char *size_text(const rk_operator *o, char out[SIZE_TEXT])
{
    const char *by = o->kind == RK_OPERATOR_ATTENTION ? "heads of " : "x ";
    const rk_message *m = &o->message;
    out[0] = '\0';
    if (o->K > 0 && (o->groups > 1 || o->kind == RK_OPERATOR_ATTENTION)) {
        (void)snprintf(out, SIZE_TEXT, "%.6g %s%.6g x %.6g x %.6g", o->groups, by, o->M, o->N,
                       o->K);
    } else if (o->K > 0) {
        (void)snprintf(out, SIZE_TEXT, "%.6g x %.6g x %.6g", o->M, o->N, o->K);
    } else if (o->bytes > 0) {
        (void)snprintf(out, SIZE_TEXT, "%.4g MB", o->bytes / 1e6);
    } else if (m->ranks > 1) {
        char times[24] = "";
        if (m->times > 1) {
            (void)snprintf(times, sizeof(times), "%.6g x ", m->times);
        }
        (void)snprintf(out, SIZE_TEXT, "%s%s %.4g MB over %lld", times, rk_collective_names[m->op],
                       m->bytes / 1e6, (long long)m->ranks);
    }
    return out;
}

static void add_amount(rk_table *table, double value, double unit)
{
    assert(unit > 0);
    if (value > 0 || value < 0) {
        rk_table_cell(table, "%.3f", value / unit);
    } else {
        rk_table_cell(table, "%s", "");
    }
}

static double seconds_of(const rk_operator_list *list)
{
    double seconds = 0;
    for (size_t i = 0; i < list->count; i++) {
        seconds += list->items[i].seconds;
    }
    return seconds;
}

static rk_status write_block(FILE *to, const rk_block_operators *block, rk_table_style style,
                             rk_error *err)
{
    char title[128], size[SIZE_TEXT], time[RK_TIME_TITLE_SIZE];
    const rk_time_unit unit = rk_time_unit_of(seconds_of(&block->list));
    const rk_table_column columns[] = {
        {title, RK_ALIGN_LEFT},        {"pass", RK_ALIGN_LEFT},
        {"part", RK_ALIGN_LEFT},       {"size", RK_ALIGN_LEFT},
        {"GFLOP", RK_ALIGN_RIGHT},     {"sent, MB", RK_ALIGN_RIGHT},
        {"saved, MB", RK_ALIGN_RIGHT}, {rk_time_title("time", unit, time), RK_ALIGN_RIGHT},
    };
    double seconds = 0, flops = 0, sent = 0, saved = 0;
    rk_table table;
    (void)snprintf(title, sizeof(title), "%s (%d)", block->name, block->count);
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < block->list.count; i++) {
        const rk_operator *o = &block->list.items[i];
        rk_table_cell(&table, "%s", rk_operator_kind_names[o->kind]);
        rk_table_cell(&table, "%s", rk_pass_names[o->pass]);
        rk_table_cell(&table, "%s", rk_part_names[o->part]);
        rk_table_cell(&table, "%s", size_text(o, size));
        add_amount(&table, o->flops, 1e9);
        add_amount(&table, o->message.sent, 1e6);
        add_amount(&table, o->saved, 1e6);
        add_amount(&table, o->seconds, unit.seconds);
        seconds += o->seconds;
        flops += o->flops;
        sent += o->message.sent;
        saved += o->saved;
    }
    rk_table_rule(&table);
    rk_table_cell(&table, "of a microbatch");
    rk_table_cell(&table, "%s", "");
    rk_table_cell(&table, "%s", "");
    rk_table_cell(&table, "%s", "");
    add_amount(&table, flops, 1e9);
    add_amount(&table, sent, 1e6);
    add_amount(&table, saved, 1e6);
    add_amount(&table, seconds, unit.seconds);
    return rk_write_table(to, &table, style, err);
}

rk_status rk_operators_write_text(FILE *to, const rk_operators *operators, rk_table_style style,
                                  rk_error *err)
{
    rk_status status = RK_OK;
    for (int i = 0; !status && i < operators->count; i++) {
        (void)fputc('\n', to);
        status = write_block(to, &operators->blocks[i], style, err);
    }
    return status;
}

/* ---- data ---------------------------------------------------------------------------------- */

/* The numbers of an entry, in the order of columns. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"groups", offsetof(rk_operator, groups)},
    {"M", offsetof(rk_operator, M)},
    {"N", offsetof(rk_operator, N)},
    {"K", offsetof(rk_operator, K)},
    {"flops", offsetof(rk_operator, flops)},
    {"moved_bytes", offsetof(rk_operator, bytes)},
    {"saved_bytes", offsetof(rk_operator, saved)},
    {"messages", offsetof(rk_operator, message.times)},
    {"message_bytes", offsetof(rk_operator, message.bytes)},
    {"sent_bytes", offsetof(rk_operator, message.sent)},
    {"seconds", offsetof(rk_operator, seconds)},
};

enum { NUMBER_COUNT = sizeof(numbers) / sizeof(numbers[0]) };

static double number_at(const rk_operator *o, size_t i)
{
    double value;
    memcpy(&value, (const char *)o + numbers[i].offset, sizeof(value));
    return value;
}

static void write_entry(rk_json_writer *writer, const rk_block_operators *block,
                        const rk_operator *o)
{
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_json_string(writer, "block", block->name);
    rk_json_count(writer, "blocks", (uint64_t)block->count);
    rk_json_string(writer, "kind", rk_operator_kind_names[o->kind]);
    rk_json_string(writer, "pass", rk_pass_names[o->pass]);
    rk_json_string(writer, "part", rk_part_names[o->part]);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        rk_json_real(writer, numbers[i].name, number_at(o, i));
    }
    if (o->message.ranks > 1) {
        rk_json_string(writer, "collective", rk_collective_names[o->message.op]);
        rk_json_count(writer, "ranks", (uint64_t)o->message.ranks);
    }
    rk_json_close(writer, "}");
}

void rk_operators_write_json(rk_json_writer *writer, const rk_operators *operators)
{
    rk_json_open_member(writer, "operators", "[");
    for (int b = 0; b < operators->count; b++) {
        const rk_block_operators *block = &operators->blocks[b];
        for (size_t i = 0; i < block->list.count; i++) {
            write_entry(writer, block, &block->list.items[i]);
        }
    }
    rk_json_close(writer, "]");
}

void rk_operators_write_lines(rk_out *out, const rk_operators *operators)
{
    rk_out_text(out, "block,blocks,kind,pass,part");
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        rk_out_printf(out, ",%s", numbers[i].name);
    }
    rk_out_text(out, ",collective,ranks\n");
    for (int b = 0; b < operators->count; b++) {
        const rk_block_operators *block = &operators->blocks[b];
        for (size_t i = 0; i < block->list.count; i++) {
            const rk_operator *o = &block->list.items[i];
            rk_csv_cell(out, block->name);
            rk_out_printf(out, ",%d,%s,%s,%s", block->count, rk_operator_kind_names[o->kind],
                          rk_pass_names[o->pass], rk_part_names[o->part]);
            for (size_t n = 0; n < NUMBER_COUNT; n++) {
                rk_out_printf(out, ",%.17g", number_at(o, n));
            }
            if (o->message.ranks > 1) {
                rk_out_printf(out, ",%s,%lld\n", rk_collective_names[o->message.op],
                              (long long)o->message.ranks);
            } else {
                rk_out_text(out, ",,\n");
            }
        }
    }
}
