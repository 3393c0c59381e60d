/* SPDX-License-Identifier: Apache-2.0 */
/* The context from which the parts of a study are built; private to the files of studies. */
#ifndef RK_FIGURES_BUILD_H
#define RK_FIGURES_BUILD_H

#include "figures/data.h"
#include "figures/spec.h"
#include "figures/studies.h"

typedef struct rk_builder {
    rk_arena *arena;
    rk_spec_document doc;
    const char *folder;  /* of the document, with the last '/'; "": the current one */
    const char *results; /* in place of the document's table; NULL: that */
    rk_data *tables;
    size_t table_count;
    rk_named_values values;
} rk_builder;

/* The table of that name; NULL: the document's own. */
rk_status rk_builder_table(rk_builder *builder, const char *name, const char *path,
                           const rk_data **data, rk_error *err);

/* A value as text, in the format of the quantity. */
rk_status rk_quantity_text(rk_builder *builder, const rk_spec_quantity *quantity,
                           const rk_value *value, const char **text, rk_error *err);

/* The distinct values of a list in order of appearance. */
typedef struct rk_distinct_values {
    rk_value *values;
    size_t count, room;
} rk_distinct_values;

/* The index of a value, which is added if it is new; there must be room. */
size_t rk_distinct_place(rk_distinct_values *distinct, const rk_value *value);

rk_status rk_build_figure(rk_builder *builder, const json_t *value, const char *path,
                          rk_study_item *item, rk_error *err);
rk_status rk_build_table(rk_builder *builder, const json_t *value, const char *path,
                         rk_study_item *item, rk_error *err);
rk_status rk_build_lines(rk_builder *builder, const json_t *value, const char *path,
                         rk_study_item *item, rk_error *err);
rk_status rk_build_claims(rk_builder *builder, const json_t *value, const char *path,
                          rk_study_item *item, rk_error *err);

/* Text with values in place of {name} and {name:decimals}; {{ is a brace. */
rk_status rk_build_text(rk_builder *builder, const char *text, const char *path, const char **out,
                        rk_error *err);

#endif
