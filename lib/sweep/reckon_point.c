/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a point of a sweep by the reckon model: documents, and a request as of `reckon plan`. */
#include "base/error.h"
#include "request/request_json.h"
#include "sweep/doc_common.h"

/* The contents of a point. */
struct point {
    rk_sweep_common common;
    rk_request request;
};

/* ---- reading --------------------------------------------------------------------------------- */

static rk_status read_model(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_sweep_read_document(out, RK_DOCUMENT_MODEL, RK_SWEEP_MODEL, value, path, err);
}

static rk_status read_stack(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_sweep_read_document(out, RK_DOCUMENT_STACK, RK_SWEEP_STACK, value, path, err);
}

#define DOCUMENT(name_, read_, optional_, help_)                                                   \
    RK_FIELD(#name_, CUSTOM, 0, .optional = optional_, .read = read_, .help = help_)

/* Members that the request reads. */
#define REQUEST(name_, help_)                                                                      \
    RK_FIELD(name_, CUSTOM, 0, .optional = true, .read = rk_field_pass, .help = help_)

static const rk_field point_fields[] = {
    DOCUMENT(model, read_model, false, "catalogue name, file or object"),
    DOCUMENT(system, rk_sweep_read_system, false, "catalogue name, file or object"),
    DOCUMENT(stack, read_stack, true, "catalogue name, file or object"),
    REQUEST("accelerators", "accelerators to train on"),
    REQUEST("global_batch", "sequences per step"),
    REQUEST("seq", "tokens of a sequence"),
    REQUEST("framework", "framework whose constraints apply"),
    REQUEST("max_memory", "GiB an accelerator may use"),
    REQUEST("risk", "at most this probability of running out of memory, %"),
    REQUEST("mfu_convention", "how FLOPs are counted"),
    REQUEST("strategy", "the strategy, or as much of it as is known"),
    RK_SWEEP_COMMON_FIELDS(struct point),
};

static rk_status read_point(void *read, bool estimate, const json_t *root, unsigned changed,
                            rk_error *err)
{
    struct point *point = read;
    point->common.top = 1;
    point->common.changed = changed;
    rk_status status =
        rk_fields_read(root, "", point_fields, sizeof(point_fields) / sizeof(point_fields[0]),
                       RK_UNKNOWN_REFUSE, point, err);
    if (!status) {
        status = rk_request_read_json(root, &point->request, err);
    }
    rk_problem *problem = &point->common.problem;
    problem->reckon.stack_given = json_object_get(root, "stack") != NULL;
    if (!status && !estimate && point->request.layout_count > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--layout belongs to one strategy, and a sweep keeps those that it finds "
                       "without one: use the task estimate, or leave out the layout");
    }
    return status ? status : problem->method->space(problem, &point->request, !estimate, err);
}

static rk_status strategy_of(const void *read, rk_candidate *candidate, rk_error *err)
{
    const struct point *point = read;
    return rk_request_strategy(&point->request, &point->common.problem.reckon.inputs,
                               &candidate->strategy, err);
}

const rk_sweep_reader rk_sweep_reader_reckon = {
    .method = &rk_method_reckon,
    .size = sizeof(struct point),
    .read = read_point,
    .strategy = strategy_of,
};
