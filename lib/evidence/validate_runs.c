/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the tables of `reckon validate`, compares their rows, and scores all and each group. */
#include "evidence/validate_runs.h"

#include "base/error.h"

const char *const rk_split_names[] = {"fit", "check", NULL};

void rk_validate_request_init(rk_validate_request *request)
{
    *request = (rk_validate_request){
        .split = -1, .options = -1, .output = "-", .by = 1U << RK_BY_SOURCE | 1U << RK_BY_KIND};
}

rk_status rk_validation_add(rk_validation *v, const rk_run_table *table, rk_error *err)
{
    if (v->table_count == RK_VALIDATION_TABLES) {
        return rk_fail(err, RK_ERR_INVALID, "at most %d tables are compared at once",
                       RK_VALIDATION_TABLES);
    }
    const rk_status status = rk_run_table_check(table, err);
    if (status) {
        return status;
    }
    v->tables[v->table_count] = *table;
    return rk_run_sources_add(&v->sources, &v->tables[v->table_count++], err);
}

static rk_status set_intervals(rk_validation *v, rk_error *err)
{
    rk_residuals residuals;
    rk_status status = rk_compare_intervals(&v->comparison, &rk_residuals_built_in, err);
    status =
        status ? status : rk_compare_intervals(&v->comparison, &rk_memory_residuals_built_in, err);
    if (status || !v->request.intervals) {
        return status;
    }
    status = rk_residuals_load(v->request.intervals, &residuals, err);
    if (!status) {
        status = rk_compare_intervals(&v->comparison, &residuals, err);
        rk_residuals_clear(&residuals);
    }
    return status;
}

rk_status rk_validation_compare(rk_validation *v, rk_error *err)
{
    const rk_validate_request *request = &v->request;
    const char *split = request->split < 0 ? NULL : rk_split_names[request->split];
    rk_dimension by[RK_DIMENSION_COUNT];
    size_t by_count = 0;
    for (unsigned i = 0; i < RK_DIMENSION_COUNT; i++) {
        if (request->by >> i & 1) {
            by[by_count++] = (rk_dimension)i;
        }
    }
    if (by_count > 2) {
        return rk_fail(err, RK_ERR_INVALID, "--by takes one or two dimensions");
    }
    rk_status status = rk_compare_runs(&v->sources, v->tables, v->table_count, split, request->only,
                                       &v->comparison, err);
    status = status ? status : set_intervals(v, err);
    status = status ? status : rk_score_groups(&v->comparison, NULL, 0, &v->all, err);
    return status ? status : rk_score_groups(&v->comparison, by, by_count, &v->by, err);
}

rk_status rk_validation_write_residuals(const rk_validation *v, bool of_memory, rk_error *err)
{
    const rk_validate_request *request = &v->request;
    const char *path = of_memory ? request->memory_residuals : request->residuals;
    rk_residuals residuals;
    if (!path) {
        return RK_OK;
    }
    rk_status status = (of_memory ? rk_compare_memory_residuals
                                  : rk_compare_residuals)(&v->comparison, &residuals, err);
    if (!status) {
        status = rk_residuals_write(&residuals, path, request->runs, err);
        rk_residuals_clear(&residuals);
    }
    return status;
}

void rk_validation_clear(rk_validation *v)
{
    rk_grouping_clear(&v->all);
    rk_grouping_clear(&v->by);
    rk_comparison_clear(&v->comparison);
    rk_run_sources_clear(&v->sources);
}
