/* SPDX-License-Identifier: Apache-2.0 */
/* Reads application, system and strategy of a point, and skips unchanged parts. */
#include "sweep/calculon_point.h"

#include "base/error.h"
#include "base/named.h"
#include "base/units.h"
#include "calculon/calculon_docs.h"
#include "calculon/execution.h"
#include "io/json_memory.h"

#include <stdio.h>
#include <string.h>

/* Members of a search's document, and where an execution document has the same. */
static const rk_named_text shared_fields[] = {
    {"processors", "num_procs"}, {"batch", "batch_size"}, {"datatype", "datatype"}};

static rk_status read_application(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_sweep_read_document(out, RK_DOCUMENT_MODEL, RK_SWEEP_APPLICATION, value, path, err);
}

static rk_status read_fused(const json_t *value, const char *path, void *out, rk_error *err)
{
    int *fused = out;
    char text[RK_JSON_TEXT_SIZE];
    if (json_is_boolean(value)) {
        *fused = json_is_true(value) ? RK_FUSED_TRUE : RK_FUSED_FALSE;
        return RK_OK;
    }
    if (json_is_string(value) && strcmp(json_string_value(value), "both") == 0) {
        *fused = RK_FUSED_BOTH;
        return RK_OK;
    }
    return rk_fail_at(err, RK_ERR_INVALID, path, "expected true, false or \"both\", found %s",
                      rk_json_describe(value, text));
}

/* Processors, batch and datatype of the mapping come from the document if that has them. */
static rk_status read_strategy(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_sweep_point *point = out;
    char text[RK_JSON_TEXT_SIZE];
    if (!(point->common.changed & (RK_SWEEP_STRATEGY | RK_SWEEP_OTHER))) {
        return RK_OK;
    }
    if (!json_is_object(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected an execution document, found %s",
                          rk_json_describe(value, text));
    }
    json_t *object = rk_json_copy(value);
    int failed = !object;
    for (size_t i = 0; i < sizeof(shared_fields) / sizeof(shared_fields[0]); i++) {
        json_t *shared = json_object_get(point->root, shared_fields[i].name);
        failed |= shared && object && json_object_set(object, shared_fields[i].text, shared);
    }
    rk_status status =
        failed ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for a point")
               : rk_fields_read(object, path, rk_calculon_exe_fields, RK_CALCULON_EXE_FIELD_COUNT,
                                RK_UNKNOWN_REFUSE, &point->exe, err);
    json_decref(object);
    return status;
}

#define PLACE(member) offsetof(rk_sweep_point, request.member)

#define INPUT_FIELDS                                                                               \
    {.name = "application",                                                                        \
     .type = RK_FIELD_CUSTOM,                                                                      \
     .read = read_application,                                                                     \
     .help = "the model: catalogue name, file or object"},                                         \
    {                                                                                              \
        .name = "system", .type = RK_FIELD_CUSTOM, .read = rk_sweep_read_system,                   \
        .help = "the machine: catalogue name, file or object"                                      \
    }

#define FLAG(member, explanation)                                                                  \
    RK_FIELD(#member, BOOL, PLACE(member), .optional = true, .help = explanation)

static const rk_field search_fields[] = {
    INPUT_FIELDS,
    RK_FIELD("processors", INT, PLACE(processors), .min = 1, .max = 0x1p40,
             .help = "processors to use"),
    RK_FIELD("batch", INT, PLACE(batch), .min = 1, .max = 0x1p40, .unit = "sequences",
             .help = "largest global batch"),
    RK_FIELD("datatype", ENUM, PLACE(datatype), .names = rk_datatype_names,
             .help = "datatype of weights and activations"),
    RK_FIELD("fused", CUSTOM, PLACE(fused), .optional = true, .read = read_fused,
             .help = "fused activations: true (default), false or \"both\""),
    FLAG(no_tp_overlap, "leave out overlap of tensor-parallel communication"),
    FLAG(no_dp_overlap, "leave out overlap of data-parallel communication"),
    FLAG(mbs_break, "skip larger microbatches once one does not run"),
    RK_SWEEP_COMMON_FIELDS(rk_sweep_point),
};

/* These members override an execution document's. */
#define SHARED(name_, help_)                                                                       \
    RK_FIELD(name_, CUSTOM, 0, .optional = true, .read = rk_field_pass, .help = help_)

static const rk_field estimate_fields[] = {
    INPUT_FIELDS,
    SHARED("processors", "num_procs of the strategy"),
    SHARED("batch", "batch_size of the strategy"),
    SHARED("datatype", "datatype of the strategy"),
    RK_FIELD("strategy", CUSTOM, 0, .read = read_strategy,
             .help = "the mapping to estimate, as an execution document"),
    RK_SWEEP_COMMON_FIELDS(rk_sweep_point),
};

rk_status rk_sweep_point_read(rk_sweep_point *point, bool estimate, const json_t *root,
                              unsigned changed, rk_error *err)
{
    rk_problem *problem = &point->common.problem;
    point->request = (rk_calculon_request){.fused = RK_FUSED_TRUE};
    problem->method = &rk_method_calculon;
    point->common.top = 1;
    point->root = root;
    point->common.changed = changed;
    const rk_status status = estimate
                                 ? rk_fields_read(root, "", estimate_fields, COUNT(estimate_fields),
                                                  RK_UNKNOWN_REFUSE, point, err)
                                 : rk_fields_read(root, "", search_fields, COUNT(search_fields),
                                                  RK_UNKNOWN_REFUSE, point, err);
    if (estimate) {
        point->request.datatype = (int)point->exe.datatype;
    }
    return status ? status : problem->method->space(problem, &point->request, !estimate, err);
}

/* ---- the reader ------------------------------------------------------------------------------ */

static rk_status read_point(void *point, bool estimate, const json_t *root, unsigned changed,
                            rk_error *err)
{
    const rk_sweep_point *read = point;
    const rk_status status = rk_sweep_point_read(point, estimate, root, changed, err);
    return status == RK_OK && changed & ~(unsigned)RK_SWEEP_APPLICATION
               ? rk_calculon_sys_check(&read->common.problem.calculon.sys,
                                       read->common.problem.calculon.space.datatype, err)
               : status;
}

static rk_status strategy_of(const void *point, rk_candidate *candidate, rk_error *err)
{
    const rk_sweep_point *read = point;
    candidate->exe = read->exe;
    return rk_calculon_exe_check(&read->exe, err);
}

const rk_sweep_reader rk_sweep_reader_calculon = {
    .method = &rk_method_calculon,
    .size = sizeof(rk_sweep_point),
    .read = read_point,
    .strategy = strategy_of,
};
