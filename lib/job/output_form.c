/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the output format from a file's suffix and the options, and refuses contradictions. */
#include "job/output_form.h"

#include "base/error.h"
#include "base/named.h"
#include "base/text.h"

#include <string.h>

rk_output_form rk_output_form_of(const char *output)
{
    static const rk_named_count forms[] = {
        {".txt", RK_OUTPUT_TEXT},        {".md", RK_OUTPUT_TEXT},
        {".json", RK_OUTPUT_JSON},       {".csv", RK_OUTPUT_CSV},
        {".svg", RK_OUTPUT_SVG},         {".html", RK_OUTPUT_HTML},
        {".htm", RK_OUTPUT_HTML},        {".png", RK_OUTPUT_UNKNOWN},
        {".jpg", RK_OUTPUT_UNKNOWN},     {".jpeg", RK_OUTPUT_UNKNOWN},
        {".gif", RK_OUTPUT_UNKNOWN},     {".webp", RK_OUTPUT_UNKNOWN},
        {".pdf", RK_OUTPUT_UNKNOWN},     {".eps", RK_OUTPUT_UNKNOWN},
        {".ps", RK_OUTPUT_UNKNOWN},      {".xlsx", RK_OUTPUT_UNKNOWN},
        {".xls", RK_OUTPUT_UNKNOWN},     {".ods", RK_OUTPUT_UNKNOWN},
        {".tsv", RK_OUTPUT_UNKNOWN},     {".yaml", RK_OUTPUT_UNKNOWN},
        {".yml", RK_OUTPUT_UNKNOWN},     {".parquet", RK_OUTPUT_UNKNOWN},
        {".sqlite", RK_OUTPUT_UNKNOWN},  {".db", RK_OUTPUT_UNKNOWN},
        {".zip", RK_OUTPUT_UNKNOWN},     {".xz", RK_OUTPUT_UNKNOWN},
        {".zst", RK_OUTPUT_UNKNOWN},     {".bz2", RK_OUTPUT_UNKNOWN},
        {".trace", RK_OUTPUT_UNKNOWN},   {".perfetto-trace", RK_OUTPUT_UNKNOWN},
        {".pftrace", RK_OUTPUT_UNKNOWN}, {".perfetto", RK_OUTPUT_UNKNOWN},
        {".xml", RK_OUTPUT_UNKNOWN},     {".toml", RK_OUTPUT_UNKNOWN},
        {".docx", RK_OUTPUT_UNKNOWN},    {".ipynb", RK_OUTPUT_UNKNOWN},
    };
    char name[512];
    size_t length = strlen(output);
    if (strcmp(output, "-") == 0) {
        return RK_OUTPUT_ANY;
    }
    if (rk_ends_with(output, ".gz")) {
        length -= 3;
    }
    const size_t from = length < sizeof(name) ? 0 : length - sizeof(name) + 1;
    memcpy(name, output + from, length - from);
    name[length - from] = '\0';
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (rk_ends_with(name, forms[i].name)) {
            return (rk_output_form)forms[i].value;
        }
    }
    return RK_OUTPUT_ANY;
}

static rk_status refuse(const char *option, const char *path, const char *message, rk_error *err)
{
    return rk_fail(err, RK_ERR_INVALID, "--%s %.200s: %s", option, path, message);
}

rk_status rk_output_check(const char *option, const char *path, unsigned written,
                          const char *message, rk_error *err)
{
    const rk_output_form form = path ? rk_output_form_of(path) : RK_OUTPUT_ANY;
    return form == RK_OUTPUT_ANY || written >> form & 1 ? RK_OK
                                                        : refuse(option, path, message, err);
}

rk_status rk_output_check_plot(const char *option, const char *path, rk_error *err)
{
    return rk_output_check(option, path, 1U << RK_OUTPUT_SVG,
                           "plots are written as SVG; name a file that ends in .svg", err);
}

rk_status rk_output_settle(const rk_output *output, rk_error *err)
{
    const rk_output_form form = rk_output_form_of(output->path);
    const unsigned written = 1U << RK_OUTPUT_TEXT | (output->json ? 1U << RK_OUTPUT_JSON : 0) |
                             (output->csv ? 1U << RK_OUTPUT_CSV : 0) |
                             (output->html ? 1U << RK_OUTPUT_HTML : 0) |
                             (output->svg ? 1U << RK_OUTPUT_SVG : 0);
    const bool json = form == RK_OUTPUT_JSON || form == RK_OUTPUT_HTML;
    const rk_status status = rk_output_check("output", output->path, written, output->message, err);
    if (status) {
        return status;
    }
    if (output->json && *output->json && form != RK_OUTPUT_ANY && !json) {
        return refuse("output", output->path, "--json says otherwise; leave out one", err);
    }
    if (output->csv && *output->csv && form != RK_OUTPUT_ANY && form != RK_OUTPUT_CSV) {
        return refuse("output", output->path, "--csv says otherwise; leave out one", err);
    }
    if (output->json) {
        *output->json = *output->json || json;
    }
    if (output->csv) {
        *output->csv = *output->csv || form == RK_OUTPUT_CSV;
    }
    return RK_OK;
}
