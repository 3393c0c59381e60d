/* SPDX-License-Identifier: Apache-2.0 */
/* Compared rows as fields, and counts of their remarks. */
#include "evidence/validate_runs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

const rk_column rk_compared_columns[RK_COMPARED_FIELDS] = {
    {"file", RK_VALUE_TEXT},
    {"row", RK_VALUE_INT},
    {"id", RK_VALUE_TEXT},
    {"source", RK_VALUE_TEXT},
    {"model", RK_VALUE_TEXT},
    {"system", RK_VALUE_TEXT},
    {"accelerator", RK_VALUE_TEXT},
    {"stack", RK_VALUE_TEXT},
    {"accelerators", RK_VALUE_INT},
    {"nodes", RK_VALUE_INT},
    {"moe", RK_VALUE_BOOL},
    {"precision", RK_VALUE_TEXT},
    {"schedule", RK_VALUE_TEXT},
    {"tp", RK_VALUE_INT},
    {"pp", RK_VALUE_INT},
    {"vp", RK_VALUE_INT},
    {"cp", RK_VALUE_INT},
    {"ep", RK_VALUE_INT},
    {"dp", RK_VALUE_INT},
    {"micro_batch", RK_VALUE_INT},
    {"global_batch", RK_VALUE_INT},
    {"seq", RK_VALUE_INT},
    {"step_s", RK_VALUE_REAL},
    {"step_measured_s", RK_VALUE_REAL},
    {"step_error", RK_VALUE_REAL},
    {"step_p10_s", RK_VALUE_REAL},
    {"step_p90_s", RK_VALUE_REAL},
    {"null_step_s", RK_VALUE_REAL},
    {"tokens_per_s", RK_VALUE_REAL},
    {"flops_per_s", RK_VALUE_REAL},
    {"mfu", RK_VALUE_REAL},
    {"mfu_measured", RK_VALUE_REAL},
    {"memory_bytes", RK_VALUE_REAL},
    {"memory_measured_bytes", RK_VALUE_REAL},
    {"memory_error", RK_VALUE_REAL},
    {"memory_p10_bytes", RK_VALUE_REAL},
    {"memory_p90_bytes", RK_VALUE_REAL},
    {"memory_needed_bytes", RK_VALUE_REAL},
    {"memory_usable_bytes", RK_VALUE_REAL},
    {"out_of_memory_risk", RK_VALUE_REAL},
    {"fits", RK_VALUE_TEXT},
    {"ran_out_of_memory", RK_VALUE_BOOL},
    {"assumed", RK_VALUE_TEXT},
    {"left_out", RK_VALUE_TEXT},
};

static const rk_value nothing = {.type = RK_VALUE_NULL};

/* A number that is written only if it is above 0. */
static rk_value positive(double value)
{
    return value > 0 && isfinite(value) ? rk_value_real(value) : nothing;
}

static rk_value error_of(double predicted, double measured)
{
    return measured > 0 ? rk_value_real(rk_compared_error(predicted, measured)) : nothing;
}

const char *rk_compared_fits(const rk_compared *row)
{
    return row->thrashes ? "will thrash" : row->fits ? "yes" : row->unsure ? "unknown" : "no";
}

/* Fields of a predicted row, from "system" on. */
static rk_value predicted_value(const rk_compared *c, size_t field)
{
    const rk_strategy *s = &c->strategy;
    const rk_value values[] = {
        rk_value_text(c->system->name),
        rk_value_text(c->system->accelerator.name),
        rk_value_text(c->stack->name),
        rk_value_int(c->ranks),
        rk_value_int(c->nodes),
        rk_value_bool(c->moe),
        rk_value_text(rk_precision_names[s->precision]),
        rk_value_text(s->pp > 1 ? rk_schedule_names[s->schedule] : "none"),
        rk_value_int(s->tp),
        rk_value_int(s->pp),
        rk_value_int(s->vp),
        rk_value_int(s->cp),
        rk_value_int(s->ep),
        rk_value_int(s->dp),
        rk_value_int(s->micro_batch),
        rk_value_int(s->global_batch),
        rk_value_int(s->seq),
        rk_value_real(c->step),
        positive(c->step_measured),
        error_of(c->step, c->step_measured),
        positive(c->low),
        positive(c->high),
        positive(c->null_step),
        rk_value_real(c->tokens_per_second),
        rk_value_real(c->flops_per_second),
        rk_value_real(c->mfu),
        positive(c->mfu_measured),
        rk_value_real(c->memory),
        positive(c->memory_measured),
        error_of(c->memory, c->memory_measured),
        rk_value_real(c->memory_low),
        rk_value_real(c->memory_high),
        rk_value_real(c->need),
        rk_value_real(c->usable),
        rk_value_real(c->risk),
        rk_value_text(rk_compared_fits(c)),
        rk_value_bool(c->out_of_memory),
        rk_value_text(c->assumed),
        nothing,
    };
    return values[field];
}

rk_value rk_compared_value(const rk_compared *row, size_t field)
{
    enum { OWN = 5 };
    switch (field) {
    case 0:
        return rk_value_text(row->table->name);
    case 1:
        return rk_value_int((int64_t)row->row + 1);
    case 2:
        return rk_value_text(rk_run_cell(row->table, row->row, RK_RUN_ID));
    case 3:
        return rk_value_text(row->group);
    case 4:
        return rk_value_text(rk_run_cell(row->table, row->row, RK_RUN_MODEL));
    default:
        break;
    }
    if (row->predicted) {
        return predicted_value(row, field - OWN);
    }
    return field == RK_COMPARED_FIELDS - 1 ? rk_value_text(row->reason) : nothing;
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
    for (size_t i = 0; i < v->comparison.count; i++) {
        const rk_compared *row = &v->comparison.rows[i];
        if (row->selected && !row->predicted) {
            add_remark(out, &count, row->reason, strlen(row->reason));
        }
    }
    qsort(out, count, sizeof(*out), compare_remarks);
    return count;
}

size_t rk_validation_assumed(const rk_validation *v, rk_remark out[RK_REMARK_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < v->comparison.count; i++) {
        const rk_compared *row = &v->comparison.rows[i];
        for (const char *at = row->assumed; row->selected && row->predicted && *at;) {
            const size_t length = strcspn(at, ",");
            add_remark(out, &count, at, length);
            at += length + strspn(at + length, ", ");
        }
    }
    qsort(out, count, sizeof(*out), compare_remarks);
    return count;
}
