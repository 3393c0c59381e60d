/* SPDX-License-Identifier: Apache-2.0 */
/* Fits collective constants to logs, and writes them with errors as text, JSON or CSV. */
#include "answer/comm_answer.h"

#include "base/named.h"
#include "base/text.h"
#include "comm/comm_errors.h"
#include "io/csv_out.h"
#include "job/answer_writers.h"

#include <stdio.h>

struct fit {
    rk_comm_results results;
    rk_comm_fits fits;
};

/* ---- text ---------------------------------------------------------------------------------- */

static void add_percent(rk_table *table, const rk_comm_error *error, double value)
{
    if (error->rows > 0) {
        rk_table_cell(table, "%.1f", 100 * value);
    } else {
        rk_table_cell(table, "-");
    }
}

static void add_set(rk_table *table, const rk_comm_set *set, const rk_comm_fitted *fitted)
{
    rk_table_cell(table, "%s", set->system);
    rk_table_cell(table, "%s", rk_collective_names[set->op]);
    rk_table_cell(table, "%zu", set->count);
    rk_table_cell(table, "%.1f", 1e6 * fitted->curve.step_s);
    rk_table_cell(table, "%.1f", 1e6 * fitted->curve.chunk_step_s);
    rk_table_cell(table, "%.1f", fitted->curve.bandwidth / 1e9);
    add_percent(table, &fitted->all, fitted->all.median);
    add_percent(table, &fitted->all, fitted->all.p90);
    add_percent(table, &fitted->held, fitted->held.median);
    add_percent(table, &fitted->left_out, fitted->left_out.median);
}

/* Their places in rk_comm_fits. */
static const rk_named_count summaries[] = {
    {"all rows", offsetof(rk_comm_fits, all)},
    {"not slower than a larger size", offsetof(rk_comm_fits, sound)},
    {"held out", offsetof(rk_comm_fits, held)},
    {"machines by others", offsetof(rk_comm_fits, left_out)},
};
enum { SUMMARY_COUNT = sizeof(summaries) / sizeof(summaries[0]) };

static const rk_comm_error *summary_at(const rk_comm_fits *fits, size_t which)
{
    return (const rk_comm_error *)(const void *)((const char *)fits + summaries[which].value);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"machine", RK_ALIGN_LEFT},    {"collective", RK_ALIGN_LEFT},
        {"rows", RK_ALIGN_RIGHT},      {"step, µs", RK_ALIGN_RIGHT},
        {"chunk, µs", RK_ALIGN_RIGHT}, {"GB/s", RK_ALIGN_RIGHT},
        {"median, %", RK_ALIGN_RIGHT}, {"p90, %", RK_ALIGN_RIGHT},
        {"held, %", RK_ALIGN_RIGHT},   {"by others, %", RK_ALIGN_RIGHT},
    };
    static const rk_table_column errors[] = {
        {"error without sign", RK_ALIGN_LEFT},
        {"from 1 MB, rows", RK_ALIGN_RIGHT},
        {"median, %", RK_ALIGN_RIGHT},
        {"p90, %", RK_ALIGN_RIGHT},
        {"below, rows", RK_ALIGN_RIGHT},
        {"median, %", RK_ALIGN_RIGHT},
        {"p90, %", RK_ALIGN_RIGHT},
    };
    const struct fit *fit = what;
    rk_table table;
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < fit->results.count; i++) {
        add_set(&table, &fit->results.sets[i], &fit->fits.of[i]);
    }
    const rk_status status = rk_write_table(to, &table, style, err);
    if (status) {
        return status;
    }
    (void)fputs("\n", to);
    rk_table_init(&table, errors, sizeof(errors) / sizeof(errors[0]));
    for (size_t i = 0; i < SUMMARY_COUNT; i++) {
        const rk_comm_error *error = summary_at(&fit->fits, i);
        rk_table_cell(&table, "%s", summaries[i].name);
        for (int size = 0; size < RK_COMM_SIZE_COUNT; size++) {
            rk_table_cell(&table, "%zu", error[size].rows);
            add_percent(&table, &error[size], error[size].median);
            add_percent(&table, &error[size], error[size].p90);
        }
    }
    return rk_write_table(to, &table, style, err);
}

/* ---- data ---------------------------------------------------------------------------------- */

static void write_error(rk_json_writer *writer, const char *name, const rk_comm_error *error)
{
    rk_json_open_member(writer, name, "{");
    rk_json_count(writer, "rows", error->rows);
    if (error->rows > 0) {
        rk_json_real(writer, "median", error->median);
        rk_json_real(writer, "p90", error->p90);
    }
    rk_json_close(writer, "}");
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const struct fit *fit = what;
    rk_json_open_member(writer, "fits", "[");
    for (size_t i = 0; i < fit->results.count; i++) {
        const rk_comm_set *set = &fit->results.sets[i];
        const rk_comm_fitted *fitted = &fit->fits.of[i];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "machine", set->system);
        rk_json_string(writer, "op", rk_collective_names[set->op]);
        rk_json_real(writer, "step_s", fitted->curve.step_s);
        rk_json_real(writer, "chunk_step_s", fitted->curve.chunk_step_s);
        rk_json_real(writer, "bandwidth_bytes_per_s", fitted->curve.bandwidth);
        if (set->nominal > 0) { /* in the format of a system's tiers */
            rk_json_open_member(writer, "tier_fit", "{");
            rk_json_string(writer, "op", rk_collective_names[set->op]);
            rk_json_real(writer, "step_us", 1e6 * fitted->curve.step_s);
            rk_json_real(writer, "chunk_step_us", 1e6 * fitted->curve.chunk_step_s);
            rk_json_real(writer, "share", fitted->curve.bandwidth / set->nominal);
            if (rk_comm_set_may_inject(set)) {
                rk_json_real(writer, "inject_bytes", set->rows[0].inject_bytes);
            }
            rk_json_close(writer, "}");
        }
        write_error(writer, "error", &fitted->all);
        write_error(writer, "held_out", &fitted->held);
        write_error(writer, "by_other_machines", &fitted->left_out);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

static void write_lines(rk_out *out, const void *what)
{
    const struct fit *fit = what;
    rk_out_text(out, "machine,op,rows,step_us,chunk_step_us,GBps,median,p90\n");
    for (size_t i = 0; i < fit->results.count; i++) {
        const rk_comm_set *set = &fit->results.sets[i];
        const rk_comm_fitted *fitted = &fit->fits.of[i];
        rk_csv_cell(out, set->system);
        rk_out_printf(out, ",%s,%zu,%.4g,%.4g,%.4g,%.4g,%.4g\n", rk_collective_names[set->op],
                      set->count, 1e6 * fitted->curve.step_s, 1e6 * fitted->curve.chunk_step_s,
                      fitted->curve.bandwidth / 1e9, fitted->all.median, fitted->all.p90);
    }
}

rk_status rk_comm_fit_write(const rk_job *job, const char *path, const rk_comm_hint *hint,
                            const rk_comm_output *output, rk_error *err)
{
    static const rk_answer_writers writers = {
        .text = write_text, .members = write_members, .lines = write_lines};
    struct fit fit = {0};
    rk_status status = rk_comm_results_load(path, hint, &fit.results, err);
    status = status ? status : rk_comm_fits_find(&fit.results, &fit.fits, err);
    if (!status) {
        status = rk_job_answer(job, &writers, &fit, output->json, output->csv, output->path, err);
    }
    rk_comm_fits_clear(&fit.fits);
    rk_comm_results_clear(&fit.results);
    return status;
}
