/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/point.h"

#include "base/error.h"
#include "formats/calculon_docs.h"

#include <stdio.h>
#include <string.h>

/* Completes the path of an error in the document that stands at `path`. */
static rk_status prefix_path(rk_status status, const char *path, rk_error *err)
{
    if (status != RK_OK && err) {
        char inner[sizeof(err->path)];
        memcpy(inner, err->path, sizeof(inner));
        if (inner[0]) {
            (void)rk_json_path_member(path, inner, err->path);
        } else {
            (void)snprintf(err->path, sizeof(err->path), "%s", path);
        }
    }
    return status;
}

static rk_status read_application(const json_t *value, const char *path, void *out, rk_error *err)
{
    return prefix_path(rk_calculon_app_from_json(value, false, out, err), path, err);
}

static rk_status read_system(const json_t *value, const char *path, void *out, rk_error *err)
{
    return prefix_path(rk_calculon_sys_from_json(value, false, out, err), path, err);
}

static rk_status read_fused(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_calculon_space *space = out;
    char text[RK_JSON_TEXT_SIZE];
    if (json_is_boolean(value)) {
        space->fused_count = 1;
        space->fused[0] = json_is_true(value);
        return RK_OK;
    }
    if (json_is_string(value) && strcmp(json_string_value(value), "both") == 0) {
        space->fused_count = 2;
        space->fused[0] = false;
        space->fused[1] = true;
        return RK_OK;
    }
    return rk_fail_at(err, RK_ERR_INVALID, path, "expected true, false or \"both\", found %s",
                      rk_json_describe(value, text));
}

/* What is about all points is taken out of the document before one is read. */
static rk_status refuse(const json_t *value, const char *path, void *out, rk_error *err)
{
    (void)value;
    (void)out;
    return rk_fail_at(err, RK_ERR_INVALID, path, "this is about all points and cannot be varied");
}

/* Variables stand for themselves. */
static rk_status pass(const json_t *value, const char *path, void *out, rk_error *err)
{
    (void)value;
    (void)path;
    (void)out;
    (void)err;
    return RK_OK;
}

#define PLACE(member) offsetof(rk_sweep_point, member)

static const rk_field point_fields[] = {
    {.name = "application",
     .type = RK_FIELD_CUSTOM,
     .offset = PLACE(app),
     .read = read_application,
     .help = "the model: catalogue name, file or object"},
    {.name = "system",
     .type = RK_FIELD_CUSTOM,
     .offset = PLACE(sys),
     .read = read_system,
     .help = "the machine: catalogue name, file or object"},
    {.name = "processors",
     .type = RK_FIELD_INT,
     .offset = PLACE(space.num_procs),
     .min = 1,
     .max = 0x1p40,
     .help = "processors to use"},
    {.name = "batch",
     .type = RK_FIELD_INT,
     .offset = PLACE(space.max_batch_size),
     .min = 1,
     .max = 0x1p40,
     .unit = "sequences",
     .help = "largest global batch"},
    {.name = "datatype",
     .type = RK_FIELD_ENUM,
     .offset = PLACE(space.datatype),
     .names = rk_datatype_names,
     .help = "datatype of weights and activations"},
    {.name = "fused",
     .type = RK_FIELD_CUSTOM,
     .offset = PLACE(space),
     .optional = true,
     .read = read_fused,
     .help = "fused activations: true (unless given), false or \"both\""},
    {.name = "no_tp_overlap",
     .type = RK_FIELD_BOOL,
     .offset = PLACE(space.no_tp_overlap),
     .optional = true,
     .help = "leave out overlap of tensor-parallel communication"},
    {.name = "no_dp_overlap",
     .type = RK_FIELD_BOOL,
     .offset = PLACE(space.no_dp_overlap),
     .optional = true,
     .help = "leave out overlap of data-parallel communication"},
    {.name = "mbs_break",
     .type = RK_FIELD_BOOL,
     .offset = PLACE(space.mbs_break),
     .optional = true,
     .help = "skip larger microbatches once one does not run"},
    {.name = "top",
     .type = RK_FIELD_INT,
     .offset = PLACE(top),
     .optional = true,
     .min = 1,
     .max = RK_SWEEP_TOP_MAX,
     .help = "mappings to rank at each point (1)"},
    {.name = "let", .type = RK_FIELD_CUSTOM, .optional = true, .read = pass, .help = "variables"},
    {.name = "axes",
     .type = RK_FIELD_CUSTOM,
     .optional = true,
     .read = refuse,
     .help = "what varies"},
    {.name = "set",
     .type = RK_FIELD_CUSTOM,
     .optional = true,
     .read = refuse,
     .help = "what follows from it"},
    {.name = "point_constraints",
     .type = RK_FIELD_CUSTOM,
     .optional = true,
     .read = refuse,
     .help = "which points are dropped"},
};

rk_status rk_sweep_point_read(rk_sweep_cursor *cursor, uint64_t number, rk_sweep_point *point,
                              bool *kept, rk_error *err)
{
    rk_status status = rk_sweep_cursor_move(cursor, number, kept, err);
    if (status != RK_OK || !*kept) {
        return status;
    }
    *point = (rk_sweep_point){.space = {.fused_count = 1, .fused = {true}}, .top = 1};
    status = rk_fields_read(cursor->root, "", point_fields,
                            sizeof(point_fields) / sizeof(point_fields[0]), RK_UNKNOWN_REFUSE,
                            point, err);
    return status == RK_OK ? RK_OK : rk_sweep_doc_fail_at(cursor->doc, number, err);
}

rk_status rk_sweep_point_at(const rk_sweep_doc *doc, uint64_t number, rk_sweep_point *point,
                            bool *kept, rk_error *err)
{
    rk_sweep_cursor cursor;
    rk_sweep_cursor_init(&cursor, doc);
    const rk_status status = rk_sweep_point_read(&cursor, number, point, kept, err);
    rk_sweep_cursor_clear(&cursor);
    return status;
}
