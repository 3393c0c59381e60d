/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of a sweep: one search and the axes along which its inputs vary.  The axes span a
 * grid; its points are numbered row by row, the first axis slowest.
 */
#ifndef RK_FORMATS_SWEEP_DOC_H
#define RK_FORMATS_SWEEP_DOC_H

#include "formats/value.h"
#include "reckon/reckon.h"

#define RK_SWEEP_AXES_MAX   16
#define RK_SWEEP_POINTS_MAX 10000000
#define RK_SWEEP_TOP_MAX    100000

/* The search at one point. */
typedef struct rk_sweep_point {
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_space space;
    int64_t top; /* mappings to rank */
} rk_sweep_point;

typedef struct rk_sweep_doc rk_sweep_doc;

/*
 * Reads the document and every model and system that it names: catalogue names, or files (.json,
 * .json.gz), where a relative path starts from the folder of the document.  The axes are checked;
 * whether each point is valid, rk_sweep_doc_point tells.  The caller frees *doc.
 */
rk_status rk_sweep_doc_load(const char *path, rk_sweep_doc **doc, rk_error *err);

/* As rk_sweep_doc_load, from text; `name` stands for its path. */
rk_status rk_sweep_doc_parse(const char *text, size_t size, const char *name, rk_sweep_doc **doc,
                             rk_error *err);

/* NULL is legal. */
void rk_sweep_doc_free(rk_sweep_doc *doc);

uint64_t rk_sweep_doc_point_count(const rk_sweep_doc *doc);

/*
 * The whole sweep as one line of JSON: all models and systems written out, all values listed.
 * Documents with the same text describe the same sweep.  Lives as long as `doc`.
 */
const char *rk_sweep_doc_text(const rk_sweep_doc *doc);

/* The axes: their columns, and the values at a point (number < point count). */
size_t rk_sweep_doc_axis_count(const rk_sweep_doc *doc);
rk_column rk_sweep_doc_axis_column(const rk_sweep_doc *doc, size_t axis);
rk_value rk_sweep_doc_axis_value(const rk_sweep_doc *doc, size_t axis, uint64_t number);

/* Reads a point with all checks of its documents; an error names the point. */
rk_status rk_sweep_doc_point(const rk_sweep_doc *doc, uint64_t number, rk_sweep_point *point,
                             rk_error *err);

/* Adds the document and the point to an error that arose at this point.  Returns err->code. */
rk_status rk_sweep_doc_fail_at(const rk_sweep_doc *doc, uint64_t number, rk_error *err);

#endif
