/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates against measured runs: reads DIRECTORY/NAME.csv and prints the errors of step time and
 * peak memory by source, and how well out-of-memory outcomes are predicted.  Not a test: it is
 * looked at by people.  Usage: runs [-v PART] [DIRECTORY [NAME...]], by default data/runs, fit.
 */
#include "evidence/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_MAX = 64, REASON_MAX = 64, NAME_SIZE = 40 };

/* Relative errors of one source. */
typedef struct errors {
    char part[NAME_SIZE];
    double *time, *memory; /* owned */
    size_t time_count, memory_count;
} errors;

typedef struct report {
    errors parts[PART_MAX];
    size_t part_count;
    char reasons[REASON_MAX][512]; /* why rows were left out */
    size_t reason_rows[REASON_MAX], reason_count;
    const char *verbose; /* part whose rows are printed; NULL: none */
} report;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints mean, median, 90th percentile of |error| and the mean error, in percent. */
static void print_errors(const char *part, const char *what, double *error, size_t count)
{
    double mean = 0, bias = 0;
    if (count == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bias += error[i] / (double)count;
        error[i] = fabs(error[i]);
        mean += error[i] / (double)count;
    }
    qsort(error, count, sizeof(*error), compare);
    printf("%-28s %-7s %5zu  %6.1f  %6.1f  %6.1f  %+6.1f\n", part, what, count, 100 * mean,
           100 * error[count / 2], 100 * error[(9 * count + 9) / 10 - 1], 100 * bias);
}

static errors *part_of(report *r, const char *part, size_t rows)
{
    for (size_t i = 0; i < r->part_count; i++) {
        if (strcmp(r->parts[i].part, part) == 0) {
            return &r->parts[i];
        }
    }
    if (r->part_count == PART_MAX) {
        return NULL;
    }
    errors *e = &r->parts[r->part_count++];
    (void)snprintf(e->part, sizeof(e->part), "%s", part);
    e->time = malloc(rows * sizeof(*e->time));
    e->memory = malloc(rows * sizeof(*e->memory));
    if (!e->time || !e->memory) {
        perror("runs");
        exit(EXIT_FAILURE);
    }
    return e;
}

static void leave_out(report *r, const char *reason)
{
    size_t i = 0;
    while (i < r->reason_count && strcmp(r->reasons[i], reason) != 0) {
        i++;
    }
    if (i == r->reason_count && i < REASON_MAX) {
        (void)snprintf(r->reasons[r->reason_count++], sizeof(r->reasons[0]), "%s", reason);
    }
    r->reason_rows[i < REASON_MAX ? i : 0]++;
}

static void print_row(const rk_run_table *t, size_t row, const rk_run_case *c, const rk_estimate *e,
                      double memory)
{
    const rk_strategy *s = &c->strategy;
    printf("%-22s %-24.24s n%-5lld tp%-2lld pp%-2lld vp%-2lld cp%-2lld ep%-2lld dp%-4lld mbs%-3lld "
           "gbs%-5lld s%-6lld",
           rk_run_cell(t, row, RK_RUN_ID), c->model.name, (long long)rk_strategy_ranks(s),
           (long long)s->tp, (long long)s->pp, (long long)s->vp, (long long)s->cp, (long long)s->ep,
           (long long)s->dp, (long long)s->micro_batch, (long long)s->global_batch,
           (long long)s->seq);
    printf(" step %.3f / %.3f %+.1f%%", e->step, c->step_seconds,
           c->step_seconds > 0 ? 100 * (e->step / c->step_seconds - 1) : 0.0);
    printf(" mem %.2f / %.2f %+.1f%%", memory / 0x1p30, c->memory / 0x1p30,
           c->memory > 0 ? 100 * (memory / c->memory - 1) : 0.0);
    for (int i = 0; i < RK_PART_COUNT; i++) {
        if (e->times.part[i] > 0.005 * e->step) {
            printf(" %s %.1f%%", rk_part_names[i], 100 * e->times.part[i] / e->step);
        }
    }
    for (int i = 0; i < RK_MEMORY_PART_COUNT; i++) {
        if (c->memory > 0 && e->memory.part[i] > 0) {
            printf(" %s %.2f", rk_memory_part_names[i], e->memory.part[i] / 0x1p30);
        }
    }
    printf("\n");
}

static void add_row(report *r, const rk_run_sources *sources, const rk_run_table *t, size_t row)
{
    static rk_run_case c;
    rk_run_prediction p;
    char part[NAME_SIZE];
    rk_error err;
    if (rk_run_case_fill(sources, t, row, &c, &err) ||
        rk_run_predict_exact(sources, &c, NULL, NULL, &p, &err)) {
        leave_out(r, err.message);
        return;
    }
    const bool moe = rk_run_cell(t, row, RK_RUN_EXPERTS)[0] != '\0';
    const bool nodes = strcmp(rk_run_cell(t, row, RK_RUN_PART), "vtrain") == 0;
    (void)snprintf(part, sizeof(part), "%.30s%s", rk_run_cell(t, row, RK_RUN_PART),
                   moe                                             ? " MoE"
                   : nodes && rk_strategy_ranks(&c.strategy) >= 64 ? " nodes"
                   : nodes                                         ? " one node"
                                                                   : "");
    errors *to = part_of(r, part, t->rows);
    if (to && c.step_seconds > 0) {
        to->time[to->time_count++] = p.estimate.step / c.step_seconds - 1;
    }
    if (to && c.memory > 0) {
        to->memory[to->memory_count++] = p.memory / c.memory - 1;
    }
    if (r->verbose && strstr(part, r->verbose)) {
        print_row(t, row, &c, &p.estimate, p.memory);
    }
}

static void print_report(report *r)
{
    printf("%-28s %-7s %5s  %6s  %6s  %6s  %6s\n", "source, error in %", "of", "runs", "mean",
           "median", "p90", "bias");
    for (size_t i = 0; i < r->part_count; i++) {
        errors *e = &r->parts[i];
        print_errors(e->part, "time", e->time, e->time_count);
        print_errors(e->part, "memory", e->memory, e->memory_count);
        free(e->time);
        free(e->memory);
    }
    printf("left out:");
    for (size_t i = 0; i < r->reason_count; i++) {
        printf("%s %zu %s", i ? ";" : "", r->reason_rows[i], r->reasons[i]);
    }
    printf("\n");
}

/* ---- out of memory ------------------------------------------------------------------------- */

/* Counts rows of the nanotron sweep by whether they are predicted to fit. */
static void count_fits(const rk_run_sources *sources, const rk_run_table *t, size_t *fits,
                       size_t *fails)
{
    static rk_run_case c;
    for (size_t row = 0; row < t->rows; row++) {
        rk_run_prediction p;
        if (rk_run_contains(rk_run_cell(t, row, RK_RUN_PART), "hf_playbook") &&
            rk_run_case_fill(sources, t, row, &c, NULL) == RK_OK) {
            (void)rk_run_predict(sources, &c, NULL, NULL, &p, NULL);
            *fits += p.estimate.fits;
            *fails += !p.estimate.fits;
        }
    }
}

static void print_fits(const rk_run_sources *sources, const char *directory, const char *name,
                       const rk_run_table *good)
{
    char path[512];
    rk_run_table bad;
    size_t right = 0, wrong_fail = 0, wrong_fit = 0, caught = 0;
    (void)snprintf(path, sizeof(path), "%s/oom_%s.csv", directory, name);
    if (rk_run_table_load(path, &bad, NULL)) {
        return;
    }
    count_fits(sources, good, &right, &wrong_fail);
    count_fits(sources, &bad, &wrong_fit, &caught);
    const size_t all = right + wrong_fail + wrong_fit + caught;
    if (all > 0) {
        printf("out of memory: %zu of %zu right (%.1f%%), precision %.1f%%, recall %.1f%%\n",
               right + caught, all, 100.0 * (double)(right + caught) / (double)all,
               100.0 * (double)caught / (double)(caught + wrong_fail),
               100.0 * (double)caught / (double)(caught + wrong_fit));
    }
    rk_run_table_clear(&bad);
}

int main(int argc, char **argv)
{
    static char usual[] = "fit";
    static char *usual_names[] = {usual};
    report blank = {.verbose = NULL};
    int at = 1;
    if (at + 1 < argc && strcmp(argv[at], "-v") == 0) {
        blank.verbose = argv[at + 1];
        at += 2;
    }
    rk_run_sources sources;
    rk_error err;
    char message[1024];
    if (rk_run_sources_load(NULL, &sources, &err)) {
        printf("%s\n", rk_error_text(&err, message, sizeof(message)));
        return EXIT_FAILURE;
    }
    const char *directory = at < argc ? argv[at++] : "data/runs";
    char **names = at < argc ? argv + at : usual_names;
    const int name_count = at < argc ? argc - at : 1;
    for (int i = 0; i < name_count; i++) {
        char path[512];
        rk_run_table table;
        (void)snprintf(path, sizeof(path), "%s/%s.csv", directory, names[i]);
        if (rk_run_table_load(path, &table, &err)) {
            printf("%s\n", rk_error_text(&err, message, sizeof(message)));
            continue;
        }
        report r = blank;
        printf("%s\n", path);
        for (size_t row = 0; row < table.rows; row++) {
            add_row(&r, &sources, &table, row);
        }
        print_report(&r);
        print_fits(&sources, directory, names[i], &table);
        rk_run_table_clear(&table);
    }
    rk_run_sources_clear(&sources);
    return EXIT_SUCCESS;
}
