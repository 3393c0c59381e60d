/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a study's document. Texts and nested values are borrowed from the document; absent
 * members are NULL or 0.
 */
#ifndef RK_FIGURES_SPEC_H
#define RK_FIGURES_SPEC_H

#include "figures/data.h"
#include "io/json.h"

/* A quantity to show: an expression over rows, and the format of its values. */
typedef struct rk_spec_quantity {
    const char *value; /* expression; NULL: no such quantity */
    const char *title;
    const char *prefix, *suffix; /* of a value as text */
    const char *missing;         /* shown for no value in a table */
    const json_t *names;         /* object: text in place of a value */
    const json_t *ticks;         /* list of numbers */
    const json_t *categories;    /* list of values, in their order */
    bool category;               /* numbers are categories too */
    bool logarithmic, zero, labels;
    double from, to;
    int64_t decimals; /* -1: as many as there are */
} rk_spec_quantity;

typedef struct rk_spec_series {
    const char *name, *table, *where, *x, *y, *low, *high;
    unsigned kind; /* rk_plot_kind */
    int64_t color, decimals;
    bool dashed, plain, labels;
} rk_spec_series;

#define RK_SPEC_HEAT 3u /* the kind after the last of series */

typedef struct rk_spec_panel {
    const char *title, *table, *where, *missing;
    unsigned kind; /* rk_plot_kind or RK_SPEC_HEAT */
    rk_spec_quantity x, y, by, heat;
    const char *low, *high;
    const json_t *series, *rules, *notes;
    bool no_legend, plain, labels;
} rk_spec_panel;

typedef struct rk_spec_figure {
    rk_spec_panel panel; /* the only one, unless there are `panels` */
    const char *name, *caption;
    double width, height;
    int64_t columns;
    bool one_legend;
    const json_t *panels;
} rk_spec_figure;

typedef struct rk_spec_table {
    const char *table, *where;
    const json_t *columns; /* list of quantities; or the next three */
    rk_spec_quantity rows, by, value;
} rk_spec_table;

typedef struct rk_spec_value {
    const char *table, *where, *value;
    unsigned of; /* rk_spec_of */
} rk_spec_value;

/* How values of several rows are reduced to one. */
typedef enum rk_spec_of {
    RK_OF_ONLY,
    RK_OF_FIRST,
    RK_OF_LAST,
    RK_OF_MIN,
    RK_OF_MAX,
    RK_OF_SUM,
    RK_OF_MEAN,
    RK_OF_COUNT,
} rk_spec_of;

typedef struct rk_spec_claim {
    const char *paper, *here, *holds, *partly;
} rk_spec_claim;

typedef struct rk_spec_rule {
    const json_t *slope, *x, *y; /* exactly one: a number or an expression over values */
    const char *label;
} rk_spec_rule;

typedef struct rk_spec_note {
    const json_t *x, *y; /* numbers or expressions over values */
    unsigned side;
    const char *text;
} rk_spec_note;

typedef struct rk_spec_item {
    const json_t *heading, *text, *figure, *table, *lines, *claims;
} rk_spec_item;

typedef struct rk_spec_source {
    const char *file;
    const json_t *columns; /* object of expressions */
    const json_t *beside;  /* object of objects: rk_reference_value */
    bool all_ranks;
} rk_spec_source;

typedef struct rk_spec_document {
    const char *title, *table;
    const json_t *tables, *names, *values, *page, *figure;
} rk_spec_document;

/* Each reads an object at a JSON path; unknown keys are refused with the nearest right one. */
rk_status rk_spec_read_series(const json_t *value, const char *path, rk_spec_series *out,
                              rk_error *err);
rk_status rk_spec_read_panel(const json_t *value, const char *path, rk_spec_panel *out,
                             rk_error *err);
rk_status rk_spec_read_figure(const json_t *value, const char *path, rk_spec_figure *out,
                              rk_error *err);
rk_status rk_spec_read_table(const json_t *value, const char *path, rk_spec_table *out,
                             rk_error *err);
rk_status rk_spec_read_value(const json_t *value, const char *path, rk_spec_value *out,
                             rk_error *err);
rk_status rk_spec_read_claim(const json_t *value, const char *path, rk_spec_claim *out,
                             rk_error *err);
rk_status rk_spec_read_rule(const json_t *value, const char *path, rk_spec_rule *out,
                            rk_error *err);
rk_status rk_spec_read_note(const json_t *value, const char *path, rk_spec_note *out,
                            rk_error *err);
rk_status rk_spec_read_item(const json_t *value, const char *path, rk_spec_item *out,
                            rk_error *err);
rk_status rk_spec_read_source(const json_t *value, const char *path, rk_spec_source *out,
                              rk_error *err);
rk_status rk_spec_read_beside(const json_t *value, const char *path, rk_reference_value *out,
                              rk_error *err);
rk_status rk_spec_read_document(const json_t *value, const char *path, rk_spec_document *out,
                                rk_error *err);

/* An expression alone ("sample_rate"), or an object. */
rk_status rk_spec_read_quantity(const json_t *value, const char *path, void *out, rk_error *err);

#endif
