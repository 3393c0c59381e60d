/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of a microbatch as tables, as the member "operators" of a JSON document, as CSV. */
#include "answer/estimate_operators.h"

#include "answer/answer_fields.h"
#include "base/time_text.h"
#include "base/units.h"

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

#define FIGURE(member) RK_ANSWER_FIGURE(rk_operator_facts, member)

static const rk_answer_field fields[] = {
    {FIGURE(block)},
    {FIGURE(blocks)},
    {FIGURE(kind)},
    {FIGURE(pass)},
    {FIGURE(part)},
    {FIGURE(groups)},
    {FIGURE(M)},
    {FIGURE(N)},
    {FIGURE(K)},
    {FIGURE(flops)},
    {FIGURE(moved_bytes)},
    {FIGURE(saved_bytes)},
    {FIGURE(messages)},
    {FIGURE(message_bytes)},
    {FIGURE(sent_bytes)},
    {FIGURE(seconds)},
    {FIGURE(collective), .optional = true},
    {FIGURE(ranks), .positive = true, .optional = true},
};

void rk_operators_write_json(rk_json_writer *writer, const rk_operators *operators)
{
    rk_operator_facts facts;
    rk_json_open_member(writer, "operators", "[");
    for (size_t i = 0; rk_operator_at(operators, i, &facts); i++) {
        rk_answer_item(writer, fields, COUNT(fields), &facts);
    }
    rk_json_close(writer, "]");
}

void rk_operators_write_cells(rk_csv_out *csv, const rk_operators *operators)
{
    rk_operator_facts facts;
    rk_column columns[COUNT(fields)];
    rk_value row[COUNT(fields)];
    rk_csv_header(csv, columns, rk_answer_columns(fields, COUNT(fields), columns));
    for (size_t i = 0; rk_operator_at(operators, i, &facts); i++) {
        rk_csv_row(csv, row, rk_answer_values(fields, COUNT(fields), &facts, row));
    }
}
