/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured runs, compared with predictions. */
#include "api/handles.h"
#include "api/struct_tables.h"

#include "base/error.h"
#include "evidence/run_table.h"
#include "evidence/validate_runs.h"

#include <math.h>
#include <stdlib.h>

/* ---- tables ---------------------------------------------------------------------------------- */

rk_status rk_run_table_create(const char *document, rk_run_table **table, rk_error *err)
{
    rk_status status = rk_need(document, "name of a table", err);
    *table = rk_allocate(sizeof(**table), "a table", &status, err);
    status = status ? status : rk_run_table_load(document, *table, err);
    status = status ? status : rk_run_table_check(*table, err);
    return RK_CREATED(status, table, rk_run_table_free);
}

RK_DEFINE_FREE(rk_run_table, rk_run_table_clear)

size_t rk_run_table_count(const rk_run_table *table)
{
    return table->rows;
}

/* ---- validation ------------------------------------------------------------------------------ */

/* A validation, with the rows that its request selects. */
struct checking {
    rk_validation validation; /* first member: the handle of programs */
    rk_validate_request request;
    const rk_compared **rows; /* owned */
    size_t row_count;
};

static const struct checking *checking_of(const rk_validation *validation)
{
    return (const struct checking *)(const void *)validation;
}

/* The names in a choice. */
static const rk_option choice_names[] = {
    RK_OPTION("split", CHOICE, offsetof(rk_validate_request, split), .choices = rk_split_names),
    RK_OPTION("by", SET, offsetof(rk_validate_request, by), .choices = rk_dimension_names),
};

static rk_status read_choice(const rk_validation_choice *choice, rk_validate_request *request,
                             rk_error *err)
{
    rk_validate_request_init(request);
    request->only = choice->only;
    request->sources = choice->sources;
    const rk_status status =
        choice->split ? rk_option_read(&choice_names[0], choice->split, request, err) : RK_OK;
    return status || !choice->by ? status
                                 : rk_option_read(&choice_names[1], choice->by, request, err);
}

static rk_status list_rows(struct checking *c, rk_error *err)
{
    const rk_comparison *comparison = &c->validation.comparison;
    c->rows = calloc(comparison->count + 1, sizeof(*c->rows));
    if (!c->rows) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the rows of a table");
    }
    for (size_t i = 0; i < comparison->count; i++) {
        if (comparison->rows[i].selected) {
            c->rows[c->row_count++] = &comparison->rows[i];
        }
    }
    return RK_OK;
}

static rk_status compare(struct checking *c, const rk_run_table *const *tables, size_t count,
                         rk_error *err)
{
    rk_validation *v = &c->validation;
    v->request = &c->request;
    rk_status status = rk_run_sources_load(c->request.sources, &v->sources, err);
    for (size_t i = 0; i < count && !status; i++) {
        status = rk_validation_add(v, tables[i], err);
    }
    status = status ? status : rk_validation_compare(v, err);
    return status ? status : list_rows(c, err);
}

rk_status rk_validate_runs(const rk_run_table *const *tables, size_t count,
                           const rk_validation_choice *choice, rk_validation **validation,
                           rk_error *err)
{
    rk_validation_choice own;
    rk_status status = rk_take_validation_choice(choice, &own, err);
    for (size_t i = 0; i < count && !status; i++) {
        status = rk_need(tables ? tables[i] : NULL, "table", err);
    }
    struct checking *created = rk_allocate(sizeof(*created), "a validation", &status, err);
    *validation = created ? &created->validation : NULL;
    status = status ? status : read_choice(&own, &created->request, err);
    status = status ? status : compare(created, tables, count, err);
    return RK_CREATED(status, validation, rk_validation_free);
}

void rk_validation_free(rk_validation *validation)
{
    if (validation) {
        struct checking *c = (struct checking *)(void *)validation;
        rk_validation_clear(validation);
        free(c->rows);
        free(c);
    }
}

bool rk_validation_at(const rk_validation *validation, size_t index, rk_validation_row *row,
                      size_t size)
{
    const struct checking *checking = checking_of(validation);
    if (index >= checking->row_count) {
        return false;
    }
    const rk_validation_row all = rk_compared_figures(checking->rows[index]);
    return rk_abi_copy(row, size, &all, sizeof(all));
}

bool rk_validation_strategy(const rk_validation *validation, size_t index, rk_strategy *strategy,
                            size_t size)
{
    const struct checking *checking = checking_of(validation);
    if (index >= checking->row_count || !checking->rows[index]->predicted) {
        return false;
    }
    rk_strategy_abi_copy(&checking->rows[index]->strategy, strategy, size);
    return true;
}

static void hand_out_score(const rk_score_group *group, rk_score *score, size_t size)
{
    const rk_row_score *s = &group->score;
    const rk_score all = {
        .group = group->label,
        .step = s->time,
        .null_model = s->null,
        .intervals = s->intervals,
        .interval_coverage = rk_score_coverage(s),
        .interval_width = s->intervals > 0 ? s->width : (double)NAN,
        .memory = s->memory,
        .first_choice = s->regret,
        .out_of_memory = s->verdicts,
    };
    rk_abi_copy(score, size, &all, sizeof(all));
}

bool rk_validation_score(const rk_validation *validation, rk_score *score, size_t size)
{
    if (validation->all.count == 0) {
        return false;
    }
    hand_out_score(&validation->all.groups[0], score, size);
    return true;
}

bool rk_validation_group(const rk_validation *validation, size_t index, rk_score *score,
                         size_t size)
{
    if (index >= validation->by.count) {
        return false;
    }
    hand_out_score(&validation->by.groups[index], score, size);
    return true;
}
