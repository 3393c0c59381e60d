/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a strategy as people state them: the option and the column of run tables that say a
 * field, and its place in a request.  This table determines the stated fields, the fields with
 * several values, rows of questions and options of rows.
 */
#ifndef RK_REQUEST_FIELD_OPTIONS_H
#define RK_REQUEST_FIELD_OPTIONS_H

#include "request/strategy_choices.h"

enum { RK_FIELD_NO_CHOICE = -1 };

typedef struct rk_field_option {
    const char *key;    /* of the strategy's field: rk_strategy_key */
    const char *option; /* without dashes */
    const char *column; /* of a run; NULL: no row can say it; "": by other columns */
    rk_option_type type;
    size_t offset; /* in rk_request */
    int choice;    /* of a search, which the option makes; RK_FIELD_NO_CHOICE: none */
    bool list;     /* several names are one value */
} rk_field_option;

#define RK_FIELD_OPTION_COUNT 57
extern const rk_field_option rk_field_options[RK_FIELD_OPTION_COUNT];

/* Whether a request gives the option, and whether it gives several values to choose from. */
bool rk_field_given(const rk_field_option *field, const rk_request *request);
bool rk_field_has_several(const rk_field_option *field, const rk_request *request);

/* The fields that a request states itself; of the others, the framework's defaults. */
rk_origins rk_request_stated(const rk_request *request);

/* The option of a field as a cell of a run: "8", "true", "norm+mlp"; "": not given. */
#define RK_FIELD_CELL_SIZE 256
const char *rk_field_cell(const rk_field_option *field, const rk_request *request,
                          char out[RK_FIELD_CELL_SIZE]);

#endif
