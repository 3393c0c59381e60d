/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep by the reckon model reads of a point: documents, and a request as of `reckon plan`.
 */
#include "layer/model_load.h"
#include "request/request.h"
#include "request/request_json.h"
#include "stack/stack_doc.h"
#include "sweep/common.h"
#include "system/system_doc.h"

/* What is read of a point. */
struct point {
    rk_sweep_common common;
    rk_request request;
    rk_inputs inputs;
    double memory_usable;           /* of the accelerator, without the request's limit */
    unsigned changed;               /* while it is read */
    bool has_usual;                 /* inputs.software.stack is the usual one */
    int usual_given;                /* of the framework that was given, */
    rk_generation usual_generation; /* on this generation */
};

/* ---- reading --------------------------------------------------------------------------------- */

static rk_status read_model(const json_t *value, const char *path, void *out, rk_error *err)
{
    struct point *point = out;
    if (!(point->changed & RK_SWEEP_MODEL)) {
        return RK_OK;
    }
    rk_model *model = &point->inputs.model;
    return rk_sweep_prefix_path(rk_model_read(value, model, err), path, err);
}

static rk_status read_system(const json_t *value, const char *path, void *out, rk_error *err)
{
    struct point *point = out;
    rk_system *system = &point->inputs.system;
    if (!(point->changed & RK_SWEEP_SYSTEM)) {
        system->accelerator.memory_usable = point->memory_usable;
        return RK_OK;
    }
    rk_system_clear(system);
    const rk_status status =
        rk_sweep_prefix_path(rk_system_from_json(value, system, err), path, err);
    point->memory_usable = system->accelerator.memory_usable;
    return status;
}

static rk_status read_stack(const json_t *value, const char *path, void *out, rk_error *err)
{
    struct point *point = out;
    if (!(point->changed & RK_SWEEP_STACK)) {
        return RK_OK;
    }
    point->has_usual = false;
    return rk_sweep_prefix_path(rk_stack_from_json(value, &point->inputs.software.stack, err), path,
                                err);
}

#define DOCUMENT(name_, optional_, help_)                                                          \
    {                                                                                              \
        .name = #name_, .type = RK_FIELD_CUSTOM, .optional = optional_, .read = read_##name_,      \
        .help = help_                                                                              \
    }

/* Members that the request reads. */
#define REQUEST(name_, help_)                                                                      \
    {                                                                                              \
        .name = name_, .type = RK_FIELD_CUSTOM, .optional = true, .read = rk_sweep_pass,           \
        .help = help_                                                                              \
    }

static const rk_field point_fields[] = {
    DOCUMENT(model, false, "catalogue name, file or object"),
    DOCUMENT(system, false, "catalogue name, file or object"),
    DOCUMENT(stack, true, "catalogue name, file or object"),
    REQUEST("accelerators", "accelerators to train on"),
    REQUEST("global_batch", "sequences per step"),
    REQUEST("seq", "tokens of a sequence"),
    REQUEST("framework", "framework whose constraints apply"),
    REQUEST("max_memory", "GiB an accelerator may use"),
    REQUEST("mfu_convention", "how FLOPs are counted"),
    REQUEST("strategy", "the strategy, or as much of it as is known"),
    RK_SWEEP_COMMON_FIELDS(struct point),
};

/* The framework of the point and, where it names none, the stack of the catalogue. */
static rk_status settle_stack(struct point *point, bool given, rk_error *err)
{
    const rk_accelerator *accelerator = &point->inputs.system.accelerator;
    const bool known =
        given || (point->has_usual && point->usual_given == point->request.framework &&
                  accelerator->generation == point->usual_generation);
    point->has_usual = !given;
    point->usual_given = point->request.framework;
    point->usual_generation = accelerator->generation;
    return rk_request_settle(&point->request, known, &point->inputs, err);
}

/* The problem of what was read: its documents belong to the point. */
static void set_problem(struct point *point, const rk_plan_space *space)
{
    rk_problem *problem = &point->common.problem;
    problem->reckon.model = point->inputs.model;
    problem->reckon.system = point->inputs.system;
    problem->reckon.stack = point->inputs.software.stack;
    problem->reckon.space = *space;
}

static rk_status read_space(struct point *point, bool estimate, rk_error *err)
{
    rk_plan_space space = {.accelerators = point->request.accelerators,
                           .global_batch = point->request.global_batch,
                           .framework = point->inputs.software.framework,
                           .convention = point->inputs.software.convention};
    const rk_status status =
        estimate ? RK_OK : rk_request_space(&point->request, &point->inputs, &space, err);
    if (!status) {
        set_problem(point, &space);
    }
    return status;
}

static rk_status read_point(void *read, bool estimate, const json_t *root, unsigned changed,
                            rk_error *err)
{
    struct point *point = read;
    point->common.top = 1;
    point->changed = changed;
    rk_status status =
        rk_fields_read(root, "", point_fields, sizeof(point_fields) / sizeof(point_fields[0]),
                       RK_UNKNOWN_REFUSE, point, err);
    if (!status) {
        status = rk_request_read_json(root, &point->request, err);
    }
    if (!status) {
        status = settle_stack(point, json_object_get(root, "stack") != NULL, err);
    }
    if (!status) {
        status = rk_request_limit(&point->request, &point->inputs.system, err);
    }
    return status ? status : read_space(point, estimate, err);
}

static rk_status strategy_of(const void *read, rk_candidate *candidate, rk_error *err)
{
    const struct point *point = read;
    return rk_request_strategy(&point->request, &point->inputs, &candidate->strategy, err);
}

static void clear_point(void *point)
{
    rk_inputs_clear(&((struct point *)point)->inputs);
}

const rk_sweep_reader rk_sweep_reader_reckon = {
    .method = &rk_method_reckon,
    .size = sizeof(struct point),
    .clear = clear_point,
    .read = read_point,
    .strategy = strategy_of,
};
