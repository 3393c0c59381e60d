/* SPDX-License-Identifier: Apache-2.0 */
/* `calculon llm`, one evaluation, and `calculon llm-parameter-calculator`. */
#include "cli/calculon.h"

#include "base/text.h"
#include "calculon/calculon_docs.h"
#include "calculon/calculon_write.h"
#include "io/python_literal.h"
#include "report/calculon_report.h"

#include <stdlib.h>
#include <string.h>

struct llm {
    const char *application, *execution, *system, *stats, *peers;
    bool with_layers;
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_result result;
};

static const rk_option llm_options[] = {
    {.name = "application",
     .positional = true,
     .required = true,
     .offset = offsetof(struct llm, application),
     .value = "application",
     .catalogue = "calculon/applications",
     .help = "the model: .json, .json.gz or a catalogue name"},
    {.name = "execution",
     .positional = true,
     .required = true,
     .offset = offsetof(struct llm, execution),
     .value = "execution",
     .help = "the mapping: .json or .json.gz"},
    {.name = "system",
     .positional = true,
     .required = true,
     .offset = offsetof(struct llm, system),
     .value = "system",
     .catalogue = "calculon/systems",
     .help = "the machine: .json, .json.gz or a catalogue name"},
    {.name = "stats",
     .positional = true,
     .required = true,
     .offset = offsetof(struct llm, stats),
     .value = "stats",
     .help = "statistics to write: .json or .json.gz; - prints a report"},
    {.name = "peers",
     .letter = 'p',
     .offset = offsetof(struct llm, peers),
     .value = "FILE",
     .help = "peers of every processor to write: .json or .json.gz"},
    {.name = "layers",
     .letter = 'l',
     .type = RK_OPTION_FLAG,
     .offset = offsetof(struct llm, with_layers),
     .help = "add the list of layers to the statistics file"},
};

static const rk_command llm_command = {
    .name = "calculon llm",
    .purpose = "Evaluate one mapping of a model on a system",
    .options = llm_options,
    .option_count = sizeof(llm_options) / sizeof(llm_options[0]),
};

/* Refuses before any work the outputs that could not be written after it. */
static int check_outputs(const struct llm *llm)
{
    if (strcmp(llm->stats, "-") != 0 &&
        !rk_calculon_path_ends(llm->stats, rk_calculon_json_endings)) {
        return rk_command_fail(&llm_command,
                               "stats is - or a path that ends in .json or .json.gz, not '%s'",
                               llm->stats);
    }
    if (llm->peers && !rk_calculon_path_ends(llm->peers, rk_calculon_json_endings)) {
        return rk_command_fail(
            &llm_command, "--peers is a path that ends in .json or .json.gz, not '%s'", llm->peers);
    }
    return RK_PARSED;
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
        rk_calculon_report_write(log->file, &llm->app, &llm->result.exe, &llm->result.stats,
                                 execution, system);
    }
    free(execution);
    free(system);
    return status;
}

/* Writes a JSON document by `write`. */
static rk_status write_json(const char *path, const rk_calculon_result *result,
                            void (*write)(rk_out *out, bool indented,
                                          const rk_calculon_result *result),
                            rk_error *err)
{
    rk_out *out = NULL;
    const rk_status status = rk_out_open(path, &out, err);
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
static rk_status evaluate(const rk_calculon_log *log, struct llm *llm, rk_calculon_verdict *verdict,
                          rk_error *err)
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
                 : write_json(llm->stats, result, rk_calculon_write_stats, err);
    if (status == RK_OK && llm->peers) {
        status = write_json(llm->peers, result, write_peers, err);
    }
    return status;
}

int rk_calculon_llm(const rk_calculon_log *log, int argc, char **argv)
{
    struct llm llm = {0};
    int done = rk_options_parse(&llm_command, argc, argv, &llm);
    if (done == RK_PARSED) {
        done = check_outputs(&llm);
    }
    if (done != RK_PARSED) {
        return done;
    }
    rk_error err = {0};
    rk_calculon_verdict verdict = {0};
    if (evaluate(log, &llm, &verdict, &err) != RK_OK) {
        return rk_command_fail_error(&llm_command, &err);
    }
    if (verdict.verdict != RK_FITS) {
        char text[160];
        (void)printf("ERROR: %s\n", rk_calculon_verdict_text(&verdict, text, sizeof(text)));
        return RK_EXIT_MINUS_ONE;
    }
    return RK_EXIT_DONE;
}

/* ---- llm-parameter-calculator ------------------------------------------------------------ */

struct parameters {
    const char *application;
    int64_t alignment;
};

static const rk_option parameters_options[] = {
    {.name = "application",
     .positional = true,
     .required = true,
     .offset = offsetof(struct parameters, application),
     .value = "application",
     .catalogue = "calculon/applications",
     .help = "the model: .json, .json.gz or a catalogue name"},
    {.name = "alignment",
     .letter = 'a',
     .type = RK_OPTION_COUNT,
     .offset = offsetof(struct parameters, alignment),
     .min = 0,
     .max = 1000,
     .value = "N",
     .help = "width of the column of names, 13 by default"},
};

static const rk_command parameters_command = {
    .name = "calculon llm-parameter-calculator",
    .purpose = "Count the parameters of a model",
    .options = parameters_options,
    .option_count = sizeof(parameters_options) / sizeof(parameters_options[0]),
};

/* Finds the file name in a path, without directory and last extension.  Returns its length. */
static int find_name(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    const char *dot = strrchr(*name, '.');
    return (int)(dot && dot > *name ? (size_t)(dot - *name) : strlen(*name));
}

int rk_calculon_parameter_calculator(const rk_calculon_log *log, int argc, char **argv)
{
    struct parameters parameters = {.alignment = 13};
    const int done = rk_options_parse(&parameters_command, argc, argv, &parameters);
    if (done != RK_PARSED) {
        return done;
    }
    rk_error err = {0};
    rk_calculon_app app;
    if (rk_calculon_app_load(parameters.application, true, &app, &err) != RK_OK) {
        return rk_command_fail_error(&parameters_command, &err);
    }
    const char *name;
    const int length = find_name(parameters.application, &name);
    char number[RK_NUMBER_TEXT_SIZE];
    rk_calculon_log_print(log, RK_LOG_INFO, "%-*.*s -> %s", (int)parameters.alignment, length, name,
                          rk_human_text(rk_calculon_parameters(&app), RK_HUMAN_BASE10, number));
    return RK_EXIT_DONE;
}
