/* SPDX-License-Identifier: Apache-2.0 */
/* Reads accuracy figures, evaluates their statistics over rows, and checks target and margin. */
#include "evidence/figures.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/text.h"
#include "base/units.h"
#include "io/fields.h"
#include "io/json_memory.h"
#include "io/json_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rk_figure_measures[] = {"time",         "memory",   "null", "verdict",
                                          "first_choice", "interval", "risk", NULL};
const char *const rk_figure_statistics[] = {"mean",     "median",     "p90",    "worst",
                                            "accuracy", "precision",  "recall", "coverage",
                                            "brier",    "impossible", "failed", NULL};

/* ---- reading -------------------------------------------------------------------------------- */

static int dimension_of(const char *name)
{
    int i = 0;
    while (i < RK_DIMENSION_COUNT && strcmp(rk_dimension_names[i], name) != 0) {
        i++;
    }
    return i;
}

/* Labels by dimension: a text or a list of texts; a final "*" matches anything. */
static rk_status read_where(const json_t *value, const char *path, void *out, rk_error *err)
{
    json_t *where = (json_t *)(uintptr_t)value; /* jansson iterates over no const object */
    char member[RK_JSON_PATH_SIZE];
    if (!json_is_object(where)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected an object of dimensions");
    }
    for (void *at = json_object_iter(where); at; at = json_object_iter_next(where, at)) {
        const char *key = json_object_iter_key(at);
        const json_t *labels = json_object_iter_value(at);
        bool good = json_is_string(labels) || json_array_size(labels) > 0;
        for (size_t i = 0; i < json_array_size(labels); i++) {
            good &= json_is_string(json_array_get(labels, i));
        }
        (void)rk_json_path_member(path, key, member);
        if (!good || dimension_of(key) == RK_DIMENSION_COUNT) {
            return rk_fail_at(err, RK_ERR_INVALID, member,
                              good ? "no dimension has this name"
                                   : "expected a text or a list of texts");
        }
    }
    memcpy(out, &where, sizeof(where));
    return RK_OK;
}

#define NUMBER(key, place, is_optional)                                                            \
    RK_FIELD(key, NUMBER, offsetof(rk_figure, place), .optional = is_optional, .max = 1e6)

static const rk_field figure_fields[] = {
    RK_TEXT_FIELD("name", rk_figure, name, .blank = true, .help = "a text"),
    RK_TEXT_FIELD("split", rk_figure, split, .optional = true, .blank = true, .help = "a text"),
    RK_FIELD("where", CUSTOM, offsetof(rk_figure, where), .optional = true, .read = read_where,
             .help = "an object of dimensions"),
    RK_FIELD("measure", ENUM, offsetof(rk_figure, measure), .names = rk_figure_measures),
    RK_FIELD("statistic", ENUM, offsetof(rk_figure, statistic), .names = rk_figure_statistics),
    NUMBER("target", target, false),
    NUMBER("target_most", target_most, true),
    NUMBER("value", value, true),
    NUMBER("margin", margin, false),
    RK_FIELD("runs", INT, offsetof(rk_figure, runs), .optional = true, .max = 1e9),
};

rk_status rk_figures_load(const char *path, rk_figures *figures, rk_error *err)
{
    rk_json_doc doc;
    *figures = (rk_figures){.count = 0};
    rk_status status = rk_json_load(path, NULL, &doc, err);
    if (status) {
        return status;
    }
    const json_t *list = json_object_get(doc.root, "figures");
    figures->document = doc.root;
    figures->list = calloc(json_array_size(list) + 1, sizeof(*figures->list));
    if (!figures->list) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the figures");
    } else if (json_array_size(list) == 0) {
        status = rk_fail_at(err, RK_ERR_INVALID, "figures", "expected a list of figures");
    }
    for (; !status && figures->count < json_array_size(list); figures->count++) {
        char element[RK_JSON_PATH_SIZE];
        rk_figure *figure = &figures->list[figures->count];
        *figure = (rk_figure){.value = -1};
        (void)rk_json_path_element("figures", figures->count, element);
        status = rk_fields_read(json_array_get(list, figures->count), element, figure_fields,
                                COUNT(figure_fields), RK_UNKNOWN_NEVER, figure, err);
    }
    if (status) {
        rk_error_set_file(err, doc.name);
        rk_figures_clear(figures);
    }
    return status;
}

void rk_figures_clear(rk_figures *figures)
{
    free(figures->list);
    json_decref(figures->document);
    *figures = (rk_figures){.count = 0};
}

/* ---- evaluating ----------------------------------------------------------------------------- */

static bool label_matches(const char *label, const json_t *wanted)
{
    const char *text = json_string_value(wanted);
    const size_t length = strlen(text);
    return length > 0 && text[length - 1] == '*' ? strncmp(label, text, length - 1) == 0
                                                 : strcmp(label, text) == 0;
}

static bool matches(const rk_compared *row, const rk_figure *figure)
{
    json_t *where = figure->where;
    if (!row->selected || !row->predicted ||
        (figure->split[0] &&
         strcmp(rk_run_cell(row->table, row->row, RK_RUN_SPLIT), figure->split) != 0)) {
        return false;
    }
    for (void *at = json_object_iter(where); at; at = json_object_iter_next(where, at)) {
        const json_t *wanted = json_object_iter_value(at);
        char label[RK_LABEL_TEXT];
        bool found = false;
        (void)rk_compared_label(row, (rk_dimension)dimension_of(json_object_iter_key(at)), label);
        for (size_t i = 0; !found && i < json_array_size(wanted); i++) {
            found = label_matches(label, json_array_get(wanted, i));
        }
        if (!found && !(json_is_string(wanted) && label_matches(label, wanted))) {
            return false;
        }
    }
    return true;
}

static double error_statistic(const rk_errors *e, rk_statistic statistic)
{
    return statistic == RK_STATISTIC_MEAN     ? e->mean
           : statistic == RK_STATISTIC_MEDIAN ? e->median
           : statistic == RK_STATISTIC_P90    ? e->p90
           : statistic == RK_STATISTIC_WORST  ? e->worst
                                              : (double)NAN;
}

static void set_errors(const rk_errors *e, rk_figure *f)
{
    f->now = e->count ? error_statistic(e, f->statistic) : (double)NAN;
    f->runs_now = (int64_t)e->count;
}

static void set_verdict(const rk_verdicts *v, rk_figure *f)
{
    f->now = f->statistic == RK_STATISTIC_ACCURACY    ? rk_verdicts_accuracy(v)
             : f->statistic == RK_STATISTIC_PRECISION ? rk_verdicts_precision(v)
             : f->statistic == RK_STATISTIC_RECALL    ? rk_verdicts_recall(v)
                                                      : (double)NAN;
    f->runs_now = (int64_t)(v->ran_fits + v->ran_not + v->oom_fits + v->oom_not);
}

static void set_first_choice(const rk_regret *r, rk_figure *f)
{
    f->now = f->statistic == RK_STATISTIC_MEAN     ? r->mean
             : f->statistic == RK_STATISTIC_MEDIAN ? r->median
             : f->statistic == RK_STATISTIC_P90    ? r->p90
             : f->statistic == RK_STATISTIC_WORST  ? r->worst
                                                   : (double)NAN;
    f->runs_now = (int64_t)(r->groups - r->failed);
    f->now = f->runs_now > 0 ? f->now : (double)NAN;
}

static void set_risk(const rk_risk_score *r, const rk_regret *choice, rk_figure *f)
{
    f->now = f->statistic == RK_STATISTIC_WORST        ? r->worst_bin
             : f->statistic == RK_STATISTIC_BRIER      ? r->brier / r->verdict_brier
             : f->statistic == RK_STATISTIC_IMPOSSIBLE ? (double)r->impossible / (double)r->ran
             : f->statistic == RK_STATISTIC_FAILED ? (double)choice->failed / (double)choice->groups
                                                   : (double)NAN;
    f->runs_now = f->statistic == RK_STATISTIC_FAILED ? (int64_t)choice->groups : (int64_t)r->runs;
    f->now = f->runs_now > 0 ? f->now : (double)NAN;
}

/* Distance of a value from the ideal. */
static double badness(const rk_figure *f, double value)
{
    if (f->statistic == RK_STATISTIC_COVERAGE) {
        return rk_max(rk_max(f->target - value, value - f->target_most), 0);
    }
    const bool share = f->statistic == RK_STATISTIC_ACCURACY ||
                       f->statistic == RK_STATISTIC_PRECISION ||
                       f->statistic == RK_STATISTIC_RECALL;
    return share ? 1 - value : value;
}

static void judge(rk_figure *f)
{
    const double slack = 1e-9;
    const double now = badness(f, f->now);
    f->meets = now <= badness(f, f->target) + slack;
    f->worse = f->value >= 0 &&
               (!(now <= badness(f, f->value) + f->margin + slack) || f->runs_now < f->runs);
}

static rk_status evaluate(rk_figure *f, const rk_comparison *comparison, const rk_compared **rows,
                          rk_error *err)
{
    rk_score score;
    rk_risk_score risk;
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        if (matches(&comparison->rows[i], f)) {
            rows[count++] = &comparison->rows[i];
        }
    }
    const rk_status status = rk_score_rows(rows, count, &score, &risk, err);
    if (status) {
        return status;
    }
    switch (f->measure) {
    case RK_MEASURE_TIME:
        set_errors(&score.step, f);
        break;
    case RK_MEASURE_MEMORY:
        set_errors(&score.memory, f);
        break;
    case RK_MEASURE_NULL:
        set_errors(&score.null_model, f);
        break;
    case RK_MEASURE_VERDICT:
        set_verdict(&score.out_of_memory, f);
        break;
    case RK_MEASURE_FIRST_CHOICE:
        set_first_choice(&score.first_choice, f);
        break;
    case RK_MEASURE_INTERVAL:
        f->runs_now = (int64_t)score.intervals;
        f->now = score.interval_coverage;
        break;
    case RK_MEASURE_RISK:
        set_risk(&risk, &score.first_choice, f);
        break;
    }
    judge(f);
    return RK_OK;
}

rk_status rk_figures_evaluate(rk_figures *figures, const rk_comparison *comparison, rk_error *err)
{
    const rk_compared **rows = malloc((comparison->count + 1) * sizeof(*rows));
    rk_status status = RK_OK;
    if (!rows) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the figures");
    }
    for (size_t i = 0; !status && i < figures->count; i++) {
        status = evaluate(&figures->list[i], comparison, rows, err);
    }
    free(rows);
    return status;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The value as recorded: four digits after the point. */
static double rounded(double value)
{
    return round(value * 1e4) / 1e4;
}

rk_status rk_figures_write(const rk_figures *figures, rk_out *out, rk_error *err)
{
    json_t *document = figures->document;
    const json_t *list = json_object_get(document, "figures");
    for (size_t i = 0; i < figures->count; i++) {
        json_t *object = json_array_get(list, i);
        const rk_figure *f = &figures->list[i];
        if (isfinite(f->now) && f->runs_now > 0 &&
            (json_object_set_new(object, "value", json_real(rounded(f->now))) ||
             json_object_set_new(object, "runs", json_integer(f->runs_now)))) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the figures");
        }
    }
    const char *description = json_string_value(json_object_get(document, "description"));
    rk_json_writer w = {.out = out};
    rk_out_text(out, "{\n  ");
    rk_json_string(&w, "description", description ? description : "");
    rk_out_text(out, ",\n  \"figures\": [\n");
    for (size_t i = 0; i < figures->count; i++) {
        char *text = rk_json_dump(json_array_get(list, i), JSON_REAL_PRECISION(6));
        if (!text) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the figures");
        }
        rk_out_printf(out, "    %s%s\n", text, i + 1 < figures->count ? "," : "");
        free(text);
    }
    rk_out_text(out, "  ]\n}\n");
    return RK_OK;
}
