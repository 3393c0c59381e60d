/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon calibrate`: fits constants of documents to measurements. */
#include "answer/calibrate_report.h"
#include "base/error.h"
#include "command/commands.h"
#include "job/output_form.h"

#include "work/parallel.h"

#include <stdlib.h>

typedef struct calibrate_arguments {
    const char *recipe, *output, *rows;
    int64_t threads;
    bool quick, write, json;
} calibrate_arguments;

static const rk_option calibrate_options[] = {
    RK_OPTION("recipe", TEXT, offsetof(calibrate_arguments, recipe), .positional = true,
              .required = true, .value = "RECIPE",
              .help = "the constants to fit, their documents, and the rows to fit them to"),
    RK_OPTION("write", FLAG, offsetof(calibrate_arguments, write), .letter = 'w',
              .help = "write the fitted values into the documents"),
    RK_OPTION("quick", FLAG, offsetof(calibrate_arguments, quick), .letter = 'q',
              .help = "skip the fits that leave out a group, which give the deviations"),
    RK_OPTION("threads", COUNT, offsetof(calibrate_arguments, threads), .letter = 't', .min = 1,
              .max = 4096, .value = "N", .help = "threads for those fits; default: one per core"),
    RK_OPTION("output", TEXT, offsetof(calibrate_arguments, output), .letter = 'o', .writes = true,
              .value = "FILE", .help = "write the report to a file"),
    RK_OPTION("rows", TEXT, offsetof(calibrate_arguments, rows), .writes = true,
              .value = "FILE.csv", .help = "write the error of every row to a file"),
    RK_OPTION("json", FLAG, offsetof(calibrate_arguments, json),
              .help = "write the report as JSON"),
};

static void init_calibrate(void *arguments)
{
    calibrate_arguments *args = arguments;
    args->output = "-";
    args->threads = rk_core_count();
}

static rk_status check_calibrate(void *arguments, rk_error *err)
{
    calibrate_arguments *args = arguments;
    const rk_output output = {.path = args->output,
                              .json = &args->json,
                              .message = "the report is written as .json or text"};
    const rk_status status = rk_output_settle(&output, err);
    return status ? status
                  : rk_output_check("rows", args->rows, 1U << RK_OUTPUT_CSV,
                                    "the errors of rows are written as .csv", err);
}

static rk_status run_calibrate(rk_job *job, void *arguments, rk_error *err)
{
    const calibrate_arguments *args = arguments;
    const rk_calibration_choice options = {.threads = args->threads, .quick = args->quick};
    rk_calibration *calibration = malloc(sizeof(*calibration));
    if (!calibration) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a calibration");
    }
    rk_status status = rk_calibrate(args->recipe, &options, calibration, err);
    if (!status) {
        status = rk_calibration_report(job, calibration, args->json, args->output, err);
    }
    if (!status && args->rows) {
        status = rk_calibration_rows(args->rows, calibration, err);
    }
    if (!status && args->write) {
        status = rk_calibration_write(calibration, err);
    }
    rk_calibration_clear(calibration);
    free(calibration);
    rk_job_set_found(job, true);
    return status;
}

const rk_command rk_command_calibrate = {
    .name = "calibrate",
    .purpose = "Fit constants of accelerators and stacks to measurements",
    .options = calibrate_options,
    .option_count = sizeof(calibrate_options) / sizeof(calibrate_options[0]),
    .notes = "Only rows whose column \"split\" is \"fit\" are fitted.\n\n"
             "docs/calibration.md describes recipes; the source tree has some.\n\n"
             "example: reckon calibrate recipe.json",
    .size = sizeof(calibrate_arguments),
    .init = init_calibrate,
    .complete = check_calibrate,
    .run = run_calibrate,
};
