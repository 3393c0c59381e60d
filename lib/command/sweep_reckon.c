/* SPDX-License-Identifier: Apache-2.0 */
#include "command/sweep_reckon.h"

#include "base/error.h"
#include "base/units.h"
#include "command/reckon_plan.h"
#include "io/document.h"
#include "layer/model_load.h"
#include "model/hf_config.h"
#include "model/model_doc.h"
#include "report/estimate_fields.h"
#include "request/request_json.h"
#include "search/bounded_plan.h"
#include "stack/stack_doc.h"
#include "sweep/common.h"
#include "system/system_doc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE    400000 /* strategies: tens of milliseconds */
#define MOST_TOP 1000

/* What is read of a point. */
struct point {
    rk_sweep_common common;
    rk_request request;
    rk_inputs inputs;
    double memory_usable;           /* of the accelerator, without the request's limit */
    unsigned changed;               /* while it is read */
    bool has_usual;                 /* inputs.stack is the usual one */
    int usual_given;                /* of the framework that was given, */
    rk_generation usual_generation; /* on this generation */
};

struct rk_sweep_state {
    bool estimate, bounded;
    struct point point;
    rk_planned *planned; /* owned; of a search, or the results of a point */
    size_t room;
    rk_estimate_texts texts;
};

/* ---- columns --------------------------------------------------------------------------------- */

static const rk_column *count_columns(const rk_sweep_mode *mode, size_t *count)
{
    static const rk_column searched[] = {
        {"strategies", RK_VALUE_INT}, {"legal", RK_VALUE_INT}, {"fitting", RK_VALUE_INT}};
    return rk_sweep_count_columns(mode, searched, count);
}

static rk_value_type result_column(size_t index, char name[RK_SWEEP_COLUMN_SIZE])
{
    _Static_assert(RK_ESTIMATE_COLUMN_SIZE <= RK_SWEEP_COLUMN_SIZE, "names of columns fit");
    return rk_estimate_column(index, name);
}

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
    return rk_sweep_prefix_path(rk_stack_from_json(value, &point->inputs.stack, err), path, err);
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
    REQUEST("framework", "whose rules hold"),
    REQUEST("max_memory", "GiB an accelerator may use"),
    REQUEST("mfu_convention", "how FLOPs are counted"),
    REQUEST("strategy", "the strategy, or as much of it as is known"),
    RK_SWEEP_COMMON_FIELDS(struct point),
};

static rk_sweep_state *open_state(const rk_sweep_mode *mode)
{
    rk_sweep_state *state = calloc(1, sizeof(*state));
    if (state) {
        state->estimate = mode->estimate;
        state->bounded = mode->bounded;
    }
    return state;
}

static void close_state(rk_sweep_state *state)
{
    if (state) {
        rk_inputs_clear(&state->point.inputs);
        free(state->planned);
        free(state);
    }
}

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

static rk_status read_point(rk_sweep_state *state, json_t *root, unsigned changed, int64_t *top,
                            rk_error *err)
{
    struct point *point = &state->point;
    rk_plan_space space;
    point->common = rk_sweep_common_defaults;
    point->changed = changed;
    rk_status status =
        rk_fields_read(root, "", point_fields, sizeof(point_fields) / sizeof(point_fields[0]),
                       RK_UNKNOWN_REFUSE, point, err);
    *top = point->common.top;
    if (!status) {
        status = rk_request_read_json(root, &point->request, err);
    }
    if (!status) {
        status = settle_stack(point, json_object_get(root, "stack") != NULL, err);
    }
    if (!status) {
        status = rk_request_limit(&point->request, &point->inputs.system, err);
    }
    return status || state->estimate
               ? status
               : rk_request_space(&point->request, &point->inputs, &space, err);
}

static rk_status count_strategies(rk_sweep_state *state, uint64_t *strategies, rk_error *err)
{
    const struct point *point = &state->point;
    rk_plan_space space;
    const rk_status status = rk_request_space(&point->request, &point->inputs, &space, err);
    return status ? status
                  : rk_plan_count(&point->inputs.model, &point->inputs.system, &space, strategies,
                                  err);
}

/* ---- a search -------------------------------------------------------------------------------- */

static rk_status make_room(rk_sweep_state *state, size_t room, rk_error *err)
{
    if (room <= state->room) {
        return RK_OK;
    }
    free(state->planned);
    state->planned = calloc(room, sizeof(*state->planned));
    state->room = state->planned ? room : 0;
    return state->planned ? RK_OK
                          : rk_fail(err, RK_ERR_MEMORY, "no memory to rank %zu strategies", room);
}

/* Searches into state->planned, and fills the counts. */
static rk_status search_space(rk_sweep_state *state, const rk_plan_space *space,
                              const rk_search_control *control, size_t top, size_t *count,
                              rk_value *told, rk_error *err)
{
    const rk_inputs *inputs = &state->point.inputs;
    rk_status status;
    if (state->bounded) {
        rk_bounded_counts counts = {0};
        status = rk_plan_search_bounded(&inputs->model, &inputs->system, &inputs->stack, space,
                                        control, top, state->planned, count, &counts, err);
        told[0] = rk_value_int((int64_t)counts.total);
        told[1] = rk_value_int((int64_t)counts.evaluated);
    } else {
        rk_plan_counts counts = {0};
        status = rk_plan_search(&inputs->model, &inputs->system, &inputs->stack, space, control,
                                top, state->planned, count, NULL, &counts, err);
        told[0] = rk_value_int((int64_t)counts.enumerated);
        told[1] = rk_value_int((int64_t)counts.legal);
        told[2] = rk_value_int((int64_t)counts.fitting);
    }
    return status;
}

static rk_status search(rk_sweep_state *state, const rk_search_control *control,
                        rk_sweep_found *found, rk_error *err)
{
    rk_plan_space space;
    size_t count = 0;
    rk_status status = rk_request_space(&state->point.request, &state->point.inputs, &space, err);
    if (!status) {
        status = make_room(state, found->top.limit, err);
    }
    if (!status) {
        status = search_space(state, &space, control, found->top.limit, &count, found->counts, err);
    }
    for (size_t i = 0; i < count && !status; i++) {
        rk_planned *planned = &state->planned[i];
        planned->strategy.layout = NULL; /* a search has none, and pointers do not travel */
        status = rk_top_offer(&found->top, -planned->estimate.step, planned->index, planned, err);
    }
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Plays the schedule of a strategy. */
static rk_status play(const struct point *point, rk_planned *planned, rk_error *err)
{
    const rk_inputs *inputs = &point->inputs;
    return rk_estimate_exact(&inputs->model, &inputs->system, &inputs->stack, &planned->strategy,
                             point->inputs.convention, &planned->estimate, NULL, err);
}

static rk_status estimate(rk_sweep_state *state, rk_sweep_found *found, rk_error *err)
{
    const struct point *point = &state->point;
    rk_planned planned = {.index = 0};
    rk_error fault = {0};
    rk_status status =
        rk_request_strategy(&point->request, &point->inputs, &planned.strategy, &fault);
    if (status == RK_ERR_INVALID) {
        (void)snprintf(found->reason, sizeof(found->reason), "%s", fault.message);
        found->counts[0] = rk_value_text(found->reason);
        return RK_OK;
    }
    status = play(point, &planned, err);
    if (!status && !planned.estimate.fits) {
        (void)snprintf(found->reason, sizeof(found->reason), "needs %.1f GiB of %.1f GiB",
                       planned.estimate.memory.total / GIB, planned.estimate.usable / GIB);
        found->counts[0] = rk_value_text(found->reason);
    }
    return status ? status : rk_top_offer(&found->top, -planned.estimate.step, 0, &planned, err);
}

/* What a search finds are results already. */
static rk_status refine(rk_sweep_state *state, rk_top *top, size_t wanted, size_t *count,
                        rk_error *err)
{
    const rk_status status = make_room(state, top->count, err);
    rk_top_sort(top);
    for (size_t i = 0; i < top->count && !status; i++) {
        memcpy(&state->planned[i], rk_top_payload(top, i), sizeof(state->planned[i]));
    }
    *count = status ? 0 : top->count < wanted ? top->count : wanted;
    return status;
}

static rk_status result(rk_sweep_state *state, const rk_top *top, size_t index, rk_value *values,
                        rk_error *err)
{
    (void)top;
    (void)err;
    rk_estimate_values(&state->planned[index].strategy, &state->planned[index].estimate,
                       state->texts, values);
    return RK_OK;
}

const rk_sweep_method rk_sweep_reckon = {
    .count_columns = count_columns,
    .result_count = rk_estimate_column_count,
    .result_column = result_column,
    .top_max = MOST_TOP,
    .open = open_state,
    .close = close_state,
    .read = read_point,
    .count = count_strategies,
    .candidate_size = sizeof(rk_planned),
    .candidates = 1,
    .slice = SLICE,
    .search = search,
    .estimate = estimate,
    .refine = refine,
    .result = result,
};
