/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study: figures, tables and text made from tables of results, as described by a JSON document
 * (docs/plot.md).
 */
#ifndef RK_FIGURES_STUDIES_H
#define RK_FIGURES_STUDIES_H

#include "base/arena.h"
#include "figures/plot.h"
#include "io/json.h"
#include "io/out.h"

typedef enum rk_study_kind {
    RK_STUDY_HEADING,
    RK_STUDY_TEXT,
    RK_STUDY_FIGURE,
    RK_STUDY_TABLE,
} rk_study_kind;

/* One piece of a page. */
typedef struct rk_study_item {
    rk_study_kind kind;
    const char *text; /* heading, paragraph, or caption of the figure (NULL: none) */
    const char *name; /* of a figure: its file is NAME.svg */
    rk_plot_figure figure;
    const char *const *cells; /* of a table: a row of titles, then `rows` rows; never NULL */
    size_t rows, columns;
} rk_study_item;

typedef struct rk_study {
    const char *title;
    rk_study_item *items;
    size_t item_count;
    rk_arena arena;  /* owns all of the above */
    rk_json_doc doc; /* owns its texts */
} rk_study;

/*
 * Reads the document and the tables that it names; relative paths start from its folder.
 * `results` (may be NULL) replaces the document's "table".  The caller releases the study with
 * rk_study_clear; all zero is an empty one.
 */
rk_status rk_study_load(const char *path, const char *results, rk_study *study, rk_error *err);

/* As rk_study_load, from text; `name` replaces its path. */
rk_status rk_study_parse(const char *text, size_t size, const char *name, const char *results,
                         rk_study *study, rk_error *err);

void rk_study_clear(rk_study *study);

/* The figure of that name; with NULL, the only figure. NULL if there is none, or more than one. */
const rk_study_item *rk_study_figure(const rk_study *study, const char *name);

/* Write the page.  In Markdown the figures are links to NAME.svg. */
rk_status rk_study_html(const rk_study *study, rk_out *out, rk_error *err);
void rk_study_markdown(const rk_study *study, rk_out *out);

#endif
