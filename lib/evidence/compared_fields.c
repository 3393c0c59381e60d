/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of compared rows, and counts of their remarks. */
#include "evidence/validate_runs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

const char *rk_compared_fits(const rk_compared *row)
{
    return row->thrashes ? "will thrash" : row->fits ? "yes" : row->unsure ? "unknown" : "no";
}

/* NaN where nothing was measured. */
static double error_of(double predicted, double measured)
{
    return measured > 0 ? rk_compared_error(predicted, measured) : (double)NAN;
}

static void add_predicted(const rk_compared *c, rk_validation_row *row)
{
    row->assumed = c->assumed;
    row->system = c->system->name;
    row->accelerator = c->system->accelerator.name;
    row->stack = c->stack->name;
    row->accelerators = c->ranks;
    row->nodes = c->nodes;
    row->moe = c->moe;
    row->step_s = c->step;
    row->step_measured_s = c->step_measured;
    row->step_error = error_of(c->step, c->step_measured);
    row->step_p10_s = c->low;
    row->step_p90_s = c->high;
    row->null_step_s = c->null_step;
    row->tokens_per_s = c->tokens_per_second;
    row->flops_per_s = c->flops_per_second;
    row->mfu = c->mfu;
    row->mfu_measured = c->mfu_measured;
    row->memory_bytes = c->memory;
    row->memory_measured_bytes = c->memory_measured;
    row->memory_error = error_of(c->memory, c->memory_measured);
    row->memory_needed_bytes = c->need;
    row->memory_usable_bytes = c->usable;
    row->fits = c->fits;
    row->thrashes = c->thrashes;
    row->unsure = c->unsure;
    row->ran_out_of_memory = c->out_of_memory;
}

rk_validation_row rk_compared_figures(const rk_compared *c)
{
    rk_validation_row row = {
        .file = c->table->name,
        .row = (int64_t)c->row + 1,
        .id = rk_run_cell(c->table, c->row, RK_RUN_ID),
        .source = c->group,
        .model = rk_run_cell(c->table, c->row, RK_RUN_MODEL),
        .predicted = c->predicted,
        .left_out = c->reason,
        .assumed = "",
        .system = "",
        .accelerator = "",
        .stack = "",
    };
    if (c->predicted) {
        add_predicted(c, &row);
    }
    return row;
}

/* ---- remarks --------------------------------------------------------------------------------- */

static void add_remark(rk_remark *remarks, size_t *count, const char *text, size_t length)
{
    assert(*count <= RK_REMARK_MAX && length > 0);
    size_t i = 0;
    while (i < *count && (strncmp(remarks[i].text, text, length) != 0 || remarks[i].text[length])) {
        i++;
    }
    if (i == RK_REMARK_MAX) {
        return;
    }
    if (i == *count) {
        remarks[i] = (rk_remark){.rows = 0};
        (void)snprintf(remarks[i].text, sizeof(remarks[i].text), "%.*s", (int)length, text);
        ++*count;
    }
    remarks[i].rows++;
}

static int compare_remarks(const void *a, const void *b)
{
    const rk_remark *x = a, *y = b;
    const int order = (x->rows < y->rows) - (x->rows > y->rows);
    return order ? order : strcmp(x->text, y->text);
}

size_t rk_validation_left_out(const rk_validation *v, rk_remark out[RK_REMARK_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        const rk_compared *row = v->comparison.selected[i];
        if (!row->predicted) {
            add_remark(out, &count, row->reason, strlen(row->reason));
        }
    }
    qsort(out, count, sizeof(*out), compare_remarks);
    return count;
}

size_t rk_validation_assumed(const rk_validation *v, rk_remark out[RK_REMARK_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        const rk_compared *row = v->comparison.selected[i];
        for (const char *at = row->assumed; row->predicted && *at;) {
            const size_t length = strcspn(at, ",");
            add_remark(out, &count, at, length);
            at += length + strspn(at + length, ", ");
        }
    }
    qsort(out, count, sizeof(*out), compare_remarks);
    return count;
}
