/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon validate`: compares measured runs with predictions. */
#include "answer/validate_answer.h"

#include "base/error.h"
#include "command/commands.h"
#include "io/json.h"
#include "job/output_form.h"
#include "request/case_options.h"

#include <stdlib.h>
#include <string.h>

#define PLACE(field) offsetof(rk_validate_request, field)

static const rk_option validate_options[] = {
    RK_OPTION(
        "runs", TEXT, PLACE(runs), .value = "TABLE,...",
        .help = "tables of measured runs, names or .csv files (columns: docs/columns.md); default: "
                "check,check_2, to which no constant was fitted; with --whole: published"),
    RK_OPTION("split", CHOICE, PLACE(split), .choices = rk_split_names,
              .help = "only rows of this split; the null model is still fitted to split fit"),
    RK_OPTION("only", TEXT, PLACE(only), .value = "TEXT",
              .help = "only rows whose id, source, model, accelerator or stack contains this text"),
    RK_OPTION("by", SET, PLACE(by), .choices = rk_dimension_names,
              .help = "group errors by one or two dimensions; default: source,kind"),
    RK_OPTION("rows", FLAG, PLACE(rows),
              .help = "print every run, with the main parts of its predicted time"),
    RK_OPTION("options", CHOICE, PLACE(options), .choices = rk_case_extent_names, .value = "NAME",
              .help = "with --json, list for every run the options with which 'reckon estimate' "
                      "predicts the same step: of the whole strategy, or what its row states"),
    RK_OPTION("whole", FLAG, PLACE(whole),
              .help = "compare whole runs (days, accelerator-hours, goodput) in a Markdown table"),
    RK_OPTION("sources", TEXT, PLACE(sources), .value = "FILE.json",
              .help = "defaults for empty cells, in place of the built-in ones"),
    RK_OPTION("residuals", TEXT, PLACE(residuals), .writes = true, .value = "FILE.json",
              .help = "write the residuals from which intervals of step times are computed"),
    RK_OPTION("memory-residuals", TEXT, PLACE(memory_residuals), .writes = true,
              .value = "FILE.json",
              .help = "write those from which intervals of memory and risks are computed"),
    RK_OPTION("intervals", TEXT, PLACE(intervals), .value = "FILE.json",
              .help = "compute intervals from these residuals, in place of the built-in ones"),
    RK_OPTION("figures", TEXT, PLACE(figures), .value = "FILE.json",
              .help = "compare with these figures; exit status 1 if one got worse"),
    RK_OPTION("plot", TEXT, PLACE(plot), .writes = true, .value = "FILE.svg",
              .help = "plot predicted against measured step times, and errors"),
    RK_OPTION("verbose", FLAG, PLACE(verbose), .letter = 'v',
              .help = "the whole answer, not one screen of it"),
    RK_OPTION("json", FLAG, PLACE(json), .help = "write JSON"),
    RK_OPTION("csv", FLAG, PLACE(csv), .help = "write all runs as CSV"),
    RK_OPTION("output", TEXT, PLACE(output), .letter = 'o', .writes = true, .value = "FILE",
              .help = "write to a file instead of standard output"),
};

static rk_status load_table(const char *name, rk_validation *v, rk_error *err)
{
    rk_run_table table;
    rk_status status = rk_run_table_load(name, &table, err);
    if (!status) {
        const size_t before = v->table_count;
        status = rk_validation_add(v, &table, err);
        if (v->table_count == before) {
            rk_run_table_clear(&table);
        }
    }
    return status;
}

/* Loads the tables of a comma-separated list, or one given as text. */
static rk_status load_tables(const char *list, rk_validation *v, rk_error *err)
{
    char path[1024];
    if (rk_json_is_text(list) || strchr(list, '\n')) {
        return load_table(list, v, err);
    }
    rk_status status = RK_OK;
    for (const char *at = list; *at && !status;) {
        const size_t length = strcspn(at, ",");
        if (length >= sizeof(path)) {
            return rk_fail(err, RK_ERR_INVALID, "a name of --runs is longer than %zu bytes",
                           sizeof(path) - 1);
        }
        memcpy(path, at, length);
        path[length] = '\0';
        status = load_table(path, v, err);
        at += length + (at[length] == ',');
    }
    return status;
}

static rk_status write_answer(const rk_job *job, const rk_validation *v, rk_error *err)
{
    const rk_validate_request *request = &v->request;
    rk_status status = request->plot ? rk_validation_plot(job, v, request->plot, err) : RK_OK;
    status = status ? status : rk_validation_write_residuals(v, false, err);
    status = status ? status : rk_validation_write_residuals(v, true, err);
    if (status) {
        return status;
    }
    return request->json  ? rk_validation_write_json(job, v, err)
           : request->csv ? rk_validation_write_csv(job, v, err)
                          : rk_job_print(job, request->output, rk_validation_write_text, v, err);
}

static rk_status write_figures(const rk_job *job, const rk_figures *figures, const char *path,
                               rk_error *err)
{
    rk_out *out;
    rk_status status = rk_job_open(job, path, &out, err);
    if (status) {
        return status;
    }
    status = rk_figures_write(figures, out, err);
    if (status) {
        rk_out_abandon(out);
        return status;
    }
    return rk_out_close(out, err);
}

/* Compares with recorded figures; *worse: a figure is worse. */
static rk_status judge(const rk_job *job, const rk_validation *v, bool *worse, rk_error *err)
{
    const rk_validate_request *request = &v->request;
    rk_figures figures;
    rk_status status = rk_figures_load(request->figures, &figures, err);
    if (status) {
        return status;
    }
    status = rk_figures_evaluate(&figures, &v->comparison, err);
    if (!status) {
        status = request->json ? write_figures(job, &figures, request->output, err)
                               : rk_job_print(job, request->output, rk_validation_write_figures,
                                              &figures, err);
    }
    *worse = false;
    for (size_t i = 0; i < figures.count; i++) {
        *worse |= figures.list[i].worse;
    }
    rk_figures_clear(&figures);
    return status;
}

static void init_validate(void *arguments)
{
    rk_validate_request_init(arguments);
}

/* The formats that the files ask for. */
static rk_status settle_files(rk_validate_request *request, rk_error *err)
{
    const rk_output output = {
        .path = request->output,
        .json = request->whole ? NULL : &request->json,
        .csv = request->whole ? NULL : &request->csv,
        .html = !request->whole,
        .message = request->whole ? "whole runs are compared in a Markdown table: .md or text"
                                  : RK_OUTPUT_MESSAGE,
    };
    rk_status status = rk_output_settle(&output, err);
    status = status ? status
                    : rk_output_check("residuals", request->residuals, 1U << RK_OUTPUT_JSON,
                                      "residuals are written as .json", err);
    status = status ? status
                    : rk_output_check("memory-residuals", request->memory_residuals,
                                      1U << RK_OUTPUT_JSON, "residuals are written as .json", err);
    return status ? status : rk_output_check_plot("plot", request->plot, err);
}

static rk_status check_request(void *arguments, rk_error *err)
{
    rk_validate_request *request = arguments;
    if (!request->runs) {
        request->runs = request->whole ? "published" : "check,check_2";
    }
    if (request->json && request->csv) {
        return rk_fail(err, RK_ERR_INVALID, "--json and --csv exclude each other");
    }
    if (request->whole && (request->json || request->csv)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--whole compares in a Markdown table: leave out --json and --csv");
    }
    const rk_status status = settle_files(request, err);
    if (status) {
        return status;
    }
    if (request->options >= 0 && !request->json) {
        return rk_fail(err, RK_ERR_INVALID, "--options needs --json");
    }
    return request->figures && (request->split >= 0 || request->only || request->csv)
               ? rk_fail(err, RK_ERR_INVALID,
                         "--figures chooses rows itself: leave out --split, --only and --csv")
               : RK_OK;
}

static void free_validation(rk_validation *v)
{
    rk_validation_clear(v);
    for (size_t i = 0; i < v->table_count; i++) {
        rk_run_table_clear(&v->tables[i]);
    }
    free(v);
}

static rk_status run_validate(rk_job *job, void *arguments, rk_error *err)
{
    const rk_validate_request *request = arguments;
    if (request->whole) {
        bool found = false;
        const rk_status status = rk_published_write(job, request, &found, err);
        rk_job_set_found(job, found);
        return status;
    }
    rk_validation *v = calloc(1, sizeof(*v));
    if (!v) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory");
    }
    v->request = *request;
    bool worse = false;
    rk_status status = rk_run_sources_load(request->sources, &v->sources, err);
    status = status ? status : load_tables(request->runs, v, err);
    status = status ? status : rk_validation_compare(v, err);
    if (!status) {
        status = request->figures ? judge(job, v, &worse, err) : write_answer(job, v, err);
    }
    rk_job_set_found(job, v->all.count > 0 && !worse);
    free_validation(v);
    return status;
}

const rk_command rk_command_validate = {
    .name = "validate",
    .purpose = "Compare predictions with measured runs",
    .options = validate_options,
    .option_count = sizeof(validate_options) / sizeof(validate_options[0]),
    .notes = "Exit status: 0 done, 1 no run could be predicted, or a figure got worse, 2 wrong\n"
             "usage or input.\n"
             "\n"
             "example: reckon validate --by accelerator,precision --plot errors.svg",
    .size = sizeof(rk_validate_request),
    .init = init_validate,
    .complete = check_request,
    .run = run_validate,
};
