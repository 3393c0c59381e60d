/* SPDX-License-Identifier: Apache-2.0 */
/* Published whole runs next to predictions, of `validate --whole`. */
#include "answer/validate_answer.h"

#include "evidence/published.h"

#include <assert.h>
#include <math.h>

/* ---- cells --------------------------------------------------------------------------------- */

/* A figure of this many digits, or a dash if it is not known. */
static void write_figure(FILE *to, double value, int digits)
{
    assert(digits >= 1);
    if (value > 0) {
        (void)fprintf(to, " %.*g |", digits, value);
    } else {
        (void)fputs(" - |", to);
    }
}

static void write_layout(FILE *to, const rk_strategy *s)
{
    (void)fprintf(to, " %lld: TP %lld PP %lld", (long long)rk_strategy_ranks(s), (long long)s->tp,
                  (long long)s->pp);
    if (s->ep > 1) {
        (void)fprintf(to, " EP %lld", (long long)s->ep);
    }
    (void)fprintf(to, ", batch %lld x %lld |", (long long)s->global_batch, (long long)s->seq);
}

static void write_error(FILE *to, const rk_published_run *run)
{
    if (isfinite(run->error)) {
        (void)fprintf(to, " %s %+.0f %%%s |", rk_published_target_names[run->target],
                      100 * run->error,
                      !run->confirmed                  ? " (not counted)"
                      : fabs(run->error) <= run->bound ? ""
                                                       : " **off**");
    } else {
        (void)fputs(" - |", to);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void write_run(FILE *to, const rk_published_run *run)
{
    (void)fprintf(to, "| %s |", run->id);
    if (!run->predicted) {
        (void)fprintf(to, " %s | | | | | | | | | |\n", run->reason);
        return;
    }
    write_layout(to, &run->strategy);
    write_figure(to, run->step_published, 4);
    write_figure(to, run->step, 4);
    write_figure(to, run->days_published, 4);
    write_figure(to, run->days, 4);
    write_figure(to, run->hours_published / 1e3, 4);
    write_figure(to, run->hours / 1e3, 4);
    write_figure(to, 100 * run->goodput_published, 3);
    write_figure(to, 100 * run->goodput, 3);
    (void)fprintf(to, " %s |", run->fits ? "fits" : "**no**");
    write_error(to, run);
    (void)fputc('\n', to);
}

static void write_notes(FILE *to, const rk_published *published)
{
    (void)fputs(
        "\n| run | assumed | recalled, not read again | source |\n| --- | --- | --- | --- |\n", to);
    for (size_t i = 0; i < published->count; i++) {
        const rk_published_run *run = &published->runs[i];
        (void)fprintf(to, "| %s | %s", run->id, run->assumed);
        if (run->settled[0]) {
            (void)fprintf(to, "; to fit in memory: %s", run->settled);
        }
        (void)fprintf(to, " | %s | %s%s%s |\n", run->recalled, run->source,
                      run->note[0] ? "; " : "", run->note);
    }
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_published *published = what;
    size_t counted, fitting = 0;
    const size_t within = rk_published_within(published, &counted);
    (void)style;
    (void)err;
    (void)fputs("| run | accelerators and layout | step, s | predicted | days | predicted | "
                "1,000 hours | predicted | goodput, % | predicted | memory | error |\n"
                "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --- | --- |\n",
                to);
    for (size_t i = 0; i < published->count; i++) {
        write_run(to, &published->runs[i]);
        fitting += published->runs[i].fits;
    }
    (void)fprintf(to,
                  "\n%zu of %zu confirmed runs are within 15 %% (25 %% for days or hours without a "
                  "published goodput): %.0f %%. %zu of %zu fit into memory.\n",
                  within, counted, counted > 0 ? 100.0 * (double)within / (double)counted : 0,
                  fitting, published->count);
    write_notes(to, published);
    return RK_OK;
}

rk_status rk_published_write(const rk_job *job, const rk_validate_request *request, bool *found,
                             rk_error *err)
{
    rk_published published;
    rk_status status = rk_published_load(request->runs, &published, err);
    if (status) {
        return status;
    }
    *found = false;
    for (size_t i = 0; i < published.count; i++) {
        *found |= published.runs[i].predicted;
    }
    status = rk_job_print(job, request->output, write_text, &published, err);
    rk_published_clear(&published);
    return status;
}
