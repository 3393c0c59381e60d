/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of output files: by their ending, and as commands write them. */
#ifndef RK_JOB_OUTPUT_FORM_H
#define RK_JOB_OUTPUT_FORM_H

#include "reckon/base.h"

#include <stdbool.h>

/* The format that the ending of an output file means; a final ".gz" does not count. */
typedef enum rk_output_form {
    RK_OUTPUT_ANY, /* standard output, or an ending that says nothing */
    RK_OUTPUT_TEXT,
    RK_OUTPUT_JSON,
    RK_OUTPUT_CSV,
    RK_OUTPUT_SVG,
    RK_OUTPUT_HTML,
    RK_OUTPUT_UNKNOWN, /* of a format that no command writes: .png, .pdf... */
} rk_output_form;

rk_output_form rk_output_form_of(const char *output);

/*
 * Refuses an ending of a format that is not in `written`, a bit per rk_output_form, with `message`:
 * "plots are written as SVG".  A NULL path passes.
 */
rk_status rk_output_check(const char *option, const char *path, unsigned written,
                          const char *message, rk_error *err);

/* A plot that an option such as --plot names. */
rk_status rk_output_check_plot(const char *option, const char *path, rk_error *err);

/* The answer of a command: text, or the format that an option selects. */
typedef struct rk_output {
    const char *path;    /* of --output */
    bool *json, *csv;    /* set by the ending; NULL: the command does not write it */
    bool html;           /* it writes reports too: JSON in a page (rk_json_open_answer) */
    bool svg;            /* it writes pictures too */
    const char *message; /* what it writes: RK_OUTPUT_MESSAGE */
} rk_output;

#define RK_OUTPUT_MESSAGE "the answer is written as .html (a report), .json, .csv or text"

/*
 * Takes --json or --csv from the ending of the output file.  Refuses an ending that says otherwise
 * than the options, and formats that are not written.
 */
rk_status rk_output_settle(const rk_output *output, rk_error *err);

#endif
