/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured runs, compared with predictions. */
#include "api/handles.h"

#include "base/error.h"
#include "evidence/run_table.h"
#include "evidence/validate_runs.h"

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

rk_status rk_validate_runs(const rk_run_table *const *tables, size_t count,
                           const rk_validation_choice *choice, rk_validation **validation,
                           rk_error *err)
{
    rk_validation_choice own;
    rk_status status =
        rk_take_choice(choice, &own, sizeof(own), "rk_validation_choice", NULL, 0, err);
    for (size_t i = 0; i < count && !status; i++) {
        status = rk_need(tables ? tables[i] : NULL, "table", err);
    }
    rk_validation *v = rk_allocate(sizeof(*v), "a validation", &status, err);
    *validation = v;
    status = status ? status : read_choice(&own, &v->request, err);
    status = status ? status : rk_run_sources_load(v->request.sources, &v->sources, err);
    for (size_t i = 0; i < count && !status; i++) {
        status = rk_validation_add(v, tables[i], err);
    }
    status = status ? status : rk_validation_compare(v, err);
    return RK_CREATED(status, validation, rk_validation_free);
}

RK_DEFINE_FREE(rk_validation, rk_validation_clear)

static const rk_compared *find_row(const rk_validation *validation, size_t index)
{
    const rk_comparison *comparison = &validation->comparison;
    return index < comparison->selected_count ? comparison->selected[index] : NULL;
}

bool rk_validation_at(const rk_validation *validation, size_t index, rk_validation_row *row,
                      size_t size)
{
    const rk_compared *found = find_row(validation, index);
    if (!found) {
        return false;
    }
    const rk_validation_row all = rk_compared_figures(found);
    return rk_abi_copy(row, size, &all, sizeof(all));
}

bool rk_validation_strategy(const rk_validation *validation, size_t index, rk_strategy *strategy,
                            size_t size)
{
    const rk_compared *found = find_row(validation, index);
    return found && found->predicted && rk_strategy_abi_copy(&found->strategy, strategy, size);
}

static bool hand_out_score(const rk_grouping *grouping, size_t index, rk_score *score, size_t size)
{
    return index < grouping->count &&
           rk_abi_copy(score, size, &grouping->groups[index].score, sizeof(*score));
}

bool rk_validation_score(const rk_validation *validation, rk_score *score, size_t size)
{
    return hand_out_score(&validation->all, 0, score, size);
}

bool rk_validation_group(const rk_validation *validation, size_t index, rk_score *score,
                         size_t size)
{
    return hand_out_score(&validation->by, index, score, size);
}
