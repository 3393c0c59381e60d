/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon plot`: figures and pages of results. */
#include "command/commands.h"
#include "figures/studies.h"
#include "job/output_form.h"

#include "base/error.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct plot_arguments {
    const char *document, *results, *output, *figure;
};

static const rk_option plot_options[] = {
    RK_OPTION("document", TEXT, offsetof(struct plot_arguments, document), .positional = true,
              .required = true, .value = "FIGURE.json", .help = "the figure, or a page of figures"),
    RK_OPTION("results", TEXT, offsetof(struct plot_arguments, results), .positional = true,
              .value = "RESULTS",
              .help = "results (.csv, .csv.gz or .db), in place of the document's"),
    RK_OPTION("output", TEXT, offsetof(struct plot_arguments, output), .letter = 'o',
              .writes = true, .value = "FILE",
              .help = "write a figure (.svg) or the page (.html, .md); default: the figure, to "
                      "standard output"),
    RK_OPTION("figure", TEXT, offsetof(struct plot_arguments, figure), .value = "NAME",
              .help = "figure of a page to draw"),
};

static rk_status check_plot(void *arguments, rk_error *err);
static rk_status run_plot(rk_job *job, void *arguments, rk_error *err);

const rk_command rk_command_plot = {
    .name = "plot",
    .purpose = "Plot results as SVG, HTML or Markdown",
    .options = plot_options,
    .option_count = sizeof(plot_options) / sizeof(plot_options[0]),
    .notes = "Exit status: 0 done, 2 wrong usage or wrong input.",
    .size = sizeof(struct plot_arguments),
    .complete = check_plot,
    .run = run_plot,
};

/* ---- writing --------------------------------------------------------------------------- */

static rk_status write_figure(const rk_job *job, const rk_study_item *item, const char *path,
                              rk_error *err)
{
    rk_out *out;
    rk_status status = rk_job_open(job, path, &out, err);
    if (status) {
        return status;
    }
    status = rk_plot_svg(&item->figure, false, out, err);
    if (status) {
        rk_out_abandon(out);
        return status;
    }
    return rk_out_close(out, err);
}

static rk_status write_one(const rk_job *job, const rk_study *study, const char *name,
                           const char *path, rk_error *err)
{
    const rk_study_item *item = rk_study_figure(study, name);
    if (item) {
        return write_figure(job, item, path, err);
    }
    return name
               ? rk_fail(err, RK_ERR_INVALID, "the document has no figure of the name \"%s\"", name)
               : rk_fail(err, RK_ERR_INVALID,
                         "the page has several figures or none: choose one with --figure, or "
                         "write all of it (-o FILE.html, -o FILE.md)");
}

/* Writes the figures of a page next to its file. */
static rk_status write_figures(const rk_job *job, const rk_study *study, const char *page,
                               rk_error *err)
{
    const char *slash = strrchr(page, '/');
    const int folder = slash ? (int)(slash - page) + 1 : 0;
    char path[4096];
    rk_status status = RK_OK;
    for (size_t i = 0; i < study->item_count && !status; i++) {
        if (study->items[i].kind != RK_STUDY_FIGURE) {
            continue;
        }
        const int length =
            snprintf(path, sizeof(path), "%.*s%s.svg", folder, page, study->items[i].name);
        status = length < 0 || (size_t)length >= sizeof(path)
                     ? rk_fail(err, RK_ERR_INVALID, "the name of the file is too long")
                     : write_figure(job, &study->items[i], path, err);
    }
    return status;
}

static rk_status write_page(const rk_job *job, const rk_study *study, const char *path, bool html,
                            rk_error *err)
{
    rk_out *out;
    rk_status status = rk_job_open(job, path, &out, err);
    if (status) {
        return status;
    }
    if (html) {
        status = rk_study_html(study, out, err);
    } else {
        rk_study_markdown(study, out);
    }
    if (status) {
        rk_out_abandon(out);
        return status;
    }
    return rk_out_close(out, err);
}

static rk_status write_output(const rk_job *job, const rk_study *study,
                              const struct plot_arguments *arguments, rk_error *err)
{
    const char *path = arguments->output ? arguments->output : "-";
    const bool html = rk_ends_with(path, ".html"), markdown = rk_ends_with(path, ".md");
    if (!html && !markdown) {
        return write_one(job, study, arguments->figure, path, err);
    }
    rk_status status = write_page(job, study, path, html, err);
    return status || html ? status : write_figures(job, study, path, err);
}

static rk_status check_plot(void *arguments, rk_error *err)
{
    const struct plot_arguments *args = arguments;
    const bool page = args->output && rk_ends_with(args->output, ".md");
    const unsigned written = 1U << RK_OUTPUT_SVG | 1U << RK_OUTPUT_HTML;
    return page ? RK_OK
                : rk_output_check("output", args->output, written,
                                  "plots are written as SVG; name a file that ends in .svg, or in "
                                  ".html or .md for the page",
                                  err);
}

static rk_status run_plot(rk_job *job, void *arguments, rk_error *err)
{
    const struct plot_arguments *args = arguments;
    rk_study study = {.title = NULL};
    rk_status status = rk_study_load(args->document, args->results, &study, err);
    if (!status) {
        status = write_output(job, &study, args, err);
    }
    rk_study_clear(&study);
    rk_job_set_found(job, true);
    return status;
}
