/* SPDX-License-Identifier: Apache-2.0 */
/* `calculon llm`, one evaluation, and `calculon llm-parameter-calculator`. */
#include "command/calculon.h"

#include "base/error.h"
#include "base/text.h"
#include "base/text_stream.h"
#include "calculon/calculon_docs.h"
#include "calculon/calculon_report.h"
#include "calculon/calculon_write.h"
#include "command/commands.h"
#include "io/python_literal.h"

#include <stdlib.h>
#include <string.h>

struct llm {
    rk_calculon_globals globals;
    const char *application, *execution, *system, *stats, *peers;
    bool with_layers;
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_result result;
};

static const rk_option llm_options[] = {
    RK_OPTION("application", TEXT, offsetof(struct llm, application), .positional = true,
              .required = true, .value = "application", .catalogue = "calculon/applications",
              .help = "the model: .json, .json.gz or a catalogue name"),
    RK_OPTION("execution", TEXT, offsetof(struct llm, execution), .positional = true,
              .required = true, .value = "execution", .help = "the mapping: .json or .json.gz"),
    RK_OPTION("system", TEXT, offsetof(struct llm, system), .positional = true, .required = true,
              .value = "system", .catalogue = "calculon/systems",
              .help = "the machine: .json, .json.gz or a catalogue name"),
    RK_OPTION("stats", TEXT, offsetof(struct llm, stats), .positional = true, .required = true,
              .writes = true, .value = "stats",
              .help = "statistics to write: .json or .json.gz; - prints a report"),
    RK_OPTION("peers", TEXT, offsetof(struct llm, peers), .letter = 'p', .writes = true,
              .value = "FILE", .help = "peers of every processor to write: .json or .json.gz"),
    RK_OPTION("layers", FLAG, offsetof(struct llm, with_layers), .letter = 'l',
              .help = "add the list of layers to the statistics file"),
};

/* Refuses before any work the outputs that could not be written after it. */
static rk_status check_outputs(void *arguments, rk_error *err)
{
    const struct llm *llm = arguments;
    if (strcmp(llm->stats, "-") != 0 &&
        !rk_calculon_path_ends(llm->stats, rk_calculon_json_endings)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "stats is - or a path that ends in .json or .json.gz, not '%s'", llm->stats);
    }
    if (llm->peers && !rk_calculon_path_ends(llm->peers, rk_calculon_json_endings)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--peers is a path that ends in .json or .json.gz, not '%s'", llm->peers);
    }
    return RK_OK;
}

static rk_status write_report(const rk_calculon_log *log, const struct llm *llm, rk_error *err)
{
    if (log->level > RK_LOG_INFO) {
        return RK_OK;
    }
    char *execution = NULL, *system = NULL;
    json_t *exe = rk_calculon_exe_to_json(&llm->result.exe);
    rk_status status = rk_python_literal_of_value(exe, &execution, err);
    json_decref(exe);
    if (status == RK_OK) {
        status = rk_python_literal_of_document(llm->system, "calculon/systems", &system, err);
    }
    if (status == RK_OK) {
        rk_text_stream stream;
        size_t size = 0;
        FILE *to = rk_text_stream_open(&stream);
        if (to) {
            rk_calculon_report_write(to, &llm->app, &llm->result.exe, &llm->result.stats, execution,
                                     system);
        }
        char *text = to ? rk_text_stream_close(&stream, &size) : NULL;
        if (text) {
            rk_out_write(log->out, text, size);
        } else {
            status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the report");
        }
        free(text);
    }
    free(execution);
    free(system);
    return status;
}

/* Writes a JSON document by `write`. */
static rk_status write_json(const rk_job *job, const char *path, const rk_calculon_result *result,
                            void (*write)(rk_out *out, bool indented,
                                          const rk_calculon_result *result),
                            rk_error *err)
{
    rk_out *out = NULL;
    const rk_status status = rk_job_open(job, path, &out, err);
    if (status != RK_OK) {
        return status;
    }
    write(out, !rk_ends_with(path, ".gz"), result);
    return rk_out_close(out, err);
}

static void write_peers(rk_out *out, bool indented, const rk_calculon_result *result)
{
    rk_calculon_write_peers(out, indented, &result->exe);
}

/* Loads, evaluates and writes.  `*verdict` says whether the mapping runs. */
static rk_status evaluate(const rk_job *job, const rk_calculon_log *log, struct llm *llm,
                          rk_calculon_verdict *verdict, rk_error *err)
{
    rk_calculon_result *result = &llm->result;
    rk_status status = rk_calculon_app_load(llm->application, true, &llm->app, err);
    if (status == RK_OK) {
        status = rk_calculon_exe_load(llm->execution, &result->exe, err);
    }
    if (status == RK_OK) {
        status = rk_calculon_sys_load(llm->system, true, &llm->sys, err);
    }
    if (status == RK_OK) {
        status = rk_calculon_evaluate(&llm->app, &llm->sys, &result->exe, &result->stats,
                                      result->layers, &result->layer_count, verdict, err);
    }
    if (status != RK_OK || verdict->verdict != RK_FITS) {
        return status;
    }
    if (!llm->with_layers) {
        result->layer_count = 0;
    }
    status = strcmp(llm->stats, "-") == 0
                 ? write_report(log, llm, err)
                 : write_json(job, llm->stats, result, rk_calculon_write_stats, err);
    if (status == RK_OK && llm->peers) {
        status = write_json(job, llm->peers, result, write_peers, err);
    }
    return status;
}

static rk_status run_llm(rk_job *job, void *arguments, rk_error *err)
{
    struct llm *llm = arguments;
    rk_calculon_verdict verdict = {0};
    rk_calculon_log log;
    rk_status status = rk_calculon_log_open(job, &llm->globals, &log, err);
    if (status) {
        return status;
    }
    status = evaluate(job, &log, llm, &verdict, err);
    if (!status && verdict.verdict != RK_FITS) {
        char text[160];
        rk_out *out;
        status = rk_job_open(job, "-", &out, err);
        if (!status) {
            rk_out_printf(out, "ERROR: %s\n",
                          rk_calculon_verdict_text(&verdict, text, sizeof(text)));
            status = rk_out_close(out, err);
        }
    }
    rk_job_set_found(job, verdict.verdict == RK_FITS);
    return rk_calculon_log_close(&log, status, err);
}

const rk_command rk_command_calculon_llm = {
    .name = "calculon llm",
    .purpose = "Evaluate one mapping of a model on a system",
    .options = llm_options,
    .option_count = sizeof(llm_options) / sizeof(llm_options[0]),
    .shared = rk_calculon_global_options,
    .shared_count = RK_CALCULON_GLOBALS,
    .size = sizeof(struct llm),
    .complete = check_outputs,
    .run = run_llm,
};

/* ---- llm-parameter-calculator ------------------------------------------------------------ */

struct parameters {
    rk_calculon_globals globals;
    const char *application;
    int64_t alignment;
};

static const rk_option parameters_options[] = {
    RK_OPTION("application", TEXT, offsetof(struct parameters, application), .positional = true,
              .required = true, .value = "application", .catalogue = "calculon/applications",
              .help = "the model: .json, .json.gz or a catalogue name"),
    RK_OPTION("alignment", COUNT, offsetof(struct parameters, alignment), .letter = 'a', .min = 0,
              .max = 1000, .value = "N", .help = "width of the column of names, 13 by default"),
};

/* Finds the file name in a path, without directory and last extension.  Returns its length. */
static int find_name(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    const char *dot = strrchr(*name, '.');
    return (int)(dot && dot > *name ? (size_t)(dot - *name) : strlen(*name));
}

static rk_status run_parameters(rk_job *job, void *arguments, rk_error *err)
{
    const struct parameters *parameters = arguments;
    char number[RK_NUMBER_TEXT_SIZE];
    rk_calculon_app app;
    rk_calculon_log log;
    const char *name;
    rk_status status = rk_calculon_app_load(parameters->application, true, &app, err);
    status = status ? status : rk_calculon_log_open(job, &parameters->globals, &log, err);
    if (status) {
        return status;
    }
    const int length = find_name(parameters->application, &name);
    rk_calculon_log_print(&log, RK_LOG_INFO, "%-*.*s -> %s", (int)parameters->alignment, length,
                          name,
                          rk_human_text(rk_calculon_parameters(&app), RK_HUMAN_BASE10, number));
    rk_job_set_found(job, true);
    return rk_calculon_log_close(&log, RK_OK, err);
}

static void init_parameters(void *arguments)
{
    ((struct parameters *)arguments)->alignment = 13;
}

const rk_command rk_command_calculon_lpc = {
    .name = "calculon llm-parameter-calculator",
    .purpose = "Count the parameters of a model",
    .options = parameters_options,
    .option_count = sizeof(parameters_options) / sizeof(parameters_options[0]),
    .shared = rk_calculon_global_options,
    .shared_count = RK_CALCULON_GLOBALS,
    .size = sizeof(struct parameters),
    .init = init_parameters,
    .run = run_parameters,
};
