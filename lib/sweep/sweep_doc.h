/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of a sweep: one search, the axes along which its inputs vary, and expressions for
 * what follows from them.  The axes span a grid; its points are numbered row by row, the first axis
 * slowest.  Points that break a constraint are dropped; their numbers stay free.
 */
#ifndef RK_SWEEP_SWEEP_DOC_H
#define RK_SWEEP_SWEEP_DOC_H

#include "reckon/reckon.h"
#include "sweep/axis.h"
#include "sweep/formula.h"

#define RK_SWEEP_POINTS_MAX   10000000
#define RK_SWEEP_TOP_MAX      100000
#define RK_SWEEP_FORMULAS_MAX 64 /* of each kind */

/* Members of the document that are read by themselves, a bit each; what else there is. */
enum {
    RK_SWEEP_APPLICATION = 1,
    RK_SWEEP_MODEL = 2,
    RK_SWEEP_SYSTEM = 4,
    RK_SWEEP_STACK = 8,
    RK_SWEEP_STRATEGY = 16,
    RK_SWEEP_MEMORY = 32, /* max_memory */
    RK_SWEEP_OTHER = 64,
    RK_SWEEP_ALL = 127,
};

/* A key whose value an expression gives at every point. */
typedef struct rk_sweep_setting {
    rk_sweep_key key;
    rk_sweep_formula formula;
} rk_sweep_setting;

/* The action at the points of a sweep. */
typedef struct rk_sweep_mode {
    bool reckon;   /* by the reckon model, not the Calculon methodology */
    bool estimate; /* one strategy, not a search */
    bool bounded;  /* a search that skips what bounds settle, */
    bool recalls;  /* and what the points before it settle: it does not say how much it evaluates */
} rk_sweep_mode;

struct rk_sweep_doc {
    rk_sweep_mode mode;
    char *name; /* owned: the path, for messages and relative paths */
    json_t
        *base;  /* owned: the document that points are read from, with models and systems in full */
    char *text; /* owned; see rk_sweep_doc_text */
    uint64_t point_count;
    rk_sweep_axis axes[RK_SWEEP_AXES_MAX]; /* owned; axes of one dimension are neighbours */
    size_t axis_count, dimension_count;
    rk_sweep_setting settings[RK_SWEEP_FORMULAS_MAX]; /* owned; each after those that it uses */
    size_t setting_count;
    rk_sweep_formula constraints[RK_SWEEP_FORMULAS_MAX]; /* owned: of points */
    size_t constraint_count;
    json_t *result_constraints, *columns; /* owned; as they are written, or NULL */
};
typedef struct rk_sweep_doc rk_sweep_doc;

/*
 * Reads the document and every model and system that it names: catalogue names, or files (.json,
 * .json.gz), where a relative path starts from the folder of the document.  Axes and expressions
 * are checked; whether each point is valid, reading it tells.  The caller frees *doc.
 */
rk_status rk_sweep_doc_load(const char *path, rk_sweep_doc **doc, rk_error *err);

/* As rk_sweep_doc_load, from text; `name` serves as its path. */
rk_status rk_sweep_doc_parse(const char *text, size_t size, const char *name, rk_sweep_doc **doc,
                             rk_error *err);

/* NULL is legal. */
void rk_sweep_doc_free(rk_sweep_doc *doc);

/*
 * The whole sweep as one line of JSON: all models and systems written out, all values listed.
 * Documents with the same text describe the same sweep.  Lives as long as `doc`.
 */
const char *rk_sweep_doc_text(const rk_sweep_doc *doc);

/* Points of the grid, dropped ones included. */
uint64_t rk_sweep_doc_point_count(const rk_sweep_doc *doc);

/* The axes: their columns, and the values at a point (number < point count). */
size_t rk_sweep_doc_axis_count(const rk_sweep_doc *doc);
rk_column rk_sweep_doc_axis_column(const rk_sweep_doc *doc, size_t axis);
rk_value rk_sweep_doc_axis_value(const rk_sweep_doc *doc, size_t axis, uint64_t number);

/* Place of a point along an axis. */
size_t rk_sweep_doc_axis_index(const rk_sweep_doc *doc, size_t axis, uint64_t number);

/* Adds the document and the point to an error that arose at this point.  Returns err->code. */
rk_status rk_sweep_doc_fail_at(const rk_sweep_doc *doc, uint64_t number, rk_error *err);

/* ---- going from point to point --------------------------------------------------------------- */

/*
 * The document of one point at a time. Only differences from the last point are put in place, so
 * that moving to a neighbour is cheap.  Released with rk_sweep_cursor_clear.
 */
typedef struct rk_sweep_cursor {
    const rk_sweep_doc *doc;
    json_t *root;     /* owned; NULL before the first point */
    uint64_t number;  /* number of the point that `root` describes */
    unsigned changed; /* members changed since this was last set to 0 */
} rk_sweep_cursor;

void rk_sweep_cursor_init(rk_sweep_cursor *cursor, const rk_sweep_doc *doc);
void rk_sweep_cursor_clear(rk_sweep_cursor *cursor);

/* Goes to a point.  *kept says whether it meets all constraints.  An error names the point. */
rk_status rk_sweep_cursor_move(rk_sweep_cursor *cursor, uint64_t number, bool *kept, rk_error *err);

#endif
