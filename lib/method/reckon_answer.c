/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers of the reckon model. */
#include "method/reckon_answer.h"

#include "base/extremes.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "method/brief.h"
#include "method/describe.h"
#include "method/estimate_fields.h"
#include "method/launch_comparison.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- why the others are slower -------------------------------------------------------------- */

#define LINE_WIDTH 80
#define SHOWN      1e-5 /* s: parts that differ by less are not named */
#define LARGE      0.25 /* of the largest difference: parts that differ by as much are named */
#define SMALL      0.05 /* of the largest difference: the part that is not named, in total */

enum { NAMED_MAX = 6, REASON_SIZE = 256 };

enum { BRIEF_ROWS = 4, BRIEF_DEGREES = 6 }; /* of the answer on one screen */

/* The part that differs most between two estimates of those not named; RK_PART_COUNT: none left. */
static int most_different(const rk_estimate *a, const rk_estimate *b, unsigned named)
{
    int most = RK_PART_COUNT;
    for (int i = 0; i < RK_PART_COUNT; i++) {
        const double d = fabs(b->times.part[i] - a->times.part[i]);
        if (!(named >> i & 1) &&
            (most == RK_PART_COUNT || d > fabs(b->times.part[most] - a->times.part[most]))) {
            most = i;
        }
    }
    return most;
}

/* A difference in whole units of the last decimal that is printed, so that sums are exact. */
struct digits {
    rk_time_unit unit;
    int decimals;
    double last; /* s of a 1 in the last decimal */
};

static struct digits digits_of(double largest)
{
    const rk_time_unit unit = rk_time_unit_of(largest);
    const int decimals = rk_time_decimals(largest, unit);
    return (struct digits){unit, decimals, unit.seconds / pow(10, decimals)};
}

/* Appends "recompute +1.3658 s" to a list. */
static size_t add_change(char out[REASON_SIZE], size_t used, const char *name,
                         const struct digits *digits, double counted)
{
    assert(digits->last > 0);
    const int length =
        used < REASON_SIZE
            ? snprintf(out + used, REASON_SIZE - used, "%s%s %+.*f %s", used ? ", " : "", name,
                       digits->decimals, counted * digits->last / digits->unit.seconds,
                       digits->unit.name)
            : 0;
    return used + (size_t)length;
}

/*
 * ", +959.52 ms" and "recompute +1365.80 ms, PP comm -406.27 ms, others -0.01 ms": the difference
 * of two estimates, and parts that add up to it; nothing if no part differs by SHOWN.
 */
static void describe_difference(const rk_estimate *best, const rk_estimate *e,
                                char whole[REASON_SIZE], char parts[REASON_SIZE])
{
    const int first = most_different(best, e, 0);
    const double longer = e->step - best->step;
    const double largest = fabs(e->times.part[first] - best->times.part[first]);
    const struct digits digits = digits_of(rk_max(largest, fabs(longer)));
    double rest = round(longer / digits.last);
    size_t used = 0;
    unsigned named = 0;
    whole[0] = parts[0] = '\0';
    if (largest < SHOWN) {
        return;
    }
    (void)add_change(whole, 0, ",", &digits, rest);
    for (int i = 0; i < NAMED_MAX; i++) {
        const int part = most_different(best, e, named);
        const double more = e->times.part[part] - best->times.part[part];
        if (fabs(more) < SHOWN ||
            (fabs(more) < LARGE * largest && fabs(rest) * digits.last < SMALL * largest)) {
            break;
        }
        const double counted = round(more / digits.last);
        used = add_change(parts, used, rk_part_names[part], &digits, counted);
        named |= 1U << part;
        rest -= counted;
    }
    if (fabs(rest) > 0.5) {
        (void)add_change(parts, used, "others", &digits, rest);
    }
}

/* One line for each of the others; long explanations go below. */
static void write_reasons(FILE *to, const rk_plan *plan)
{
    const rk_estimate *best = &plan->answers[0].estimate;
    for (size_t i = 1; i < plan->answer_count; i++) {
        const rk_estimate *e = &plan->answers[i].estimate;
        char label[RK_ALTERNATIVE_LABEL_SIZE], whole[REASON_SIZE], parts[REASON_SIZE];
        const bool labelled = plan->ranking.kinds[0] != 0;
        (void)rk_alternative_label(labelled ? plan->ranking.kinds[i] : 0, label);
        describe_difference(best, e, whole, parts);
        const double more = 100 * (e->step / best->step - 1);
        char risk[RK_RISK_TEXT_SIZE];
        int length =
            fprintf(to, "%zu%s%s%s is %.1f %% %s than 1%s", i + 1, labelled ? " (" : "", label,
                    labelled ? ")" : "", fabs(more), more < 0 ? "faster" : "slower", whole);
        if (more < 0) {
            length += fprintf(to, ", risk %s", rk_risk_text(e->risk, risk));
        }
        if (parts[0]) {
            const bool fits = (size_t)length + strlen(": ") + strlen(parts) <= LINE_WIDTH;
            (void)fprintf(to, ":%s%s", fits ? " " : "\n    ", parts);
        }
        (void)fputc('\n', to);
    }
    (void)fputs(plan->answer_count > 1 ? "\n" : "", to);
}

/* ---- for people ----------------------------------------------------------------------------- */

rk_status rk_reckon_predict(rk_question *question, rk_error *err)
{
    rk_plan *plan = &question->plan;
    plan->request = question->request;
    plan->inputs = &question->problem.reckon.inputs;
    plan->setting = rk_setting_of(plan->inputs);
    plan->space = question->problem.reckon.space;
    return rk_plan_predict(plan, err);
}

void rk_reckon_write_documents(FILE *to, const rk_question *question)
{
    rk_write_inputs(to, question->request, &question->problem.reckon.inputs);
}

void rk_reckon_write_run(FILE *to, const rk_question *question, unsigned parts)
{
    const rk_plan_space *space = &question->problem.reckon.space;
    char number[RK_COUNTED_SIZE];
    rk_write_label(to, "run");
    if (parts & RK_SAYS_ACCELERATORS) {
        (void)fprintf(to, "%s, ", rk_counted((uint64_t)space->accelerators, "accelerator", number));
    }
    (void)fprintf(to, "batch of %s of %" PRId64 ", %s\n",
                  rk_counted((uint64_t)question->batch, "sequence", number), question->seq,
                  rk_precision_names[space->base.precision]);
}

void rk_reckon_write_choices(FILE *to, const rk_question *question)
{
    rk_plan_write_choices(to, &question->plan);
}

rk_status rk_reckon_write_best(FILE *to, const rk_question *question, rk_table_style style,
                               rk_error *err)
{
    const rk_plan *plan = &question->plan;
    const rk_answer *best = &plan->answers[0];
    rk_plan_write_risk(to, plan);
    write_reasons(to, plan);
    rk_launch_comparison_write(to, plan);
    (void)fputs("The best of them:\n\n", to);
    rk_write_strategy(to, true, &best->strategy);
    rk_write_summary(to, plan->inputs, best);
    (void)fputc('\n', to);
    rk_status status = rk_write_time(to, &best->estimate, style, err);
    (void)fputc('\n', to);
    if (!status) {
        status = rk_write_memory(to, best, style, err);
        (void)fputc('\n', to);
    }
    if (!status) {
        status = rk_write_volumes(to, plan->inputs, best, style, err);
    }
    if (!status) {
        (void)fputc('\n', to);
        rk_rules_write_time(to, &plan->rules);
        rk_rules_write(to, &plan->rules);
    }
    if (!status && plan->request->dp_sync) {
        (void)fputc('\n', to);
        status = rk_sync_write(to, &plan->sync, style, err);
    }
    return status;
}

void rk_reckon_write_brief_question(FILE *to, const rk_question *question, unsigned parts)
{
    const rk_problem *problem = &question->problem;
    const rk_request *request = question->request;
    rk_request asked = *request;
    asked.global_batch = question->batch;
    asked.seq = asked.seq ? question->seq : 0;
    rk_brief_write_question(to, &asked, &problem->reckon.inputs,
                            parts & RK_SAYS_ACCELERATORS ? problem->reckon.space.accelerators : 0);
}

/* "8/1/2/4/4": the degrees of the columns that are not 1 for all strategies. */
static void add_degrees(char out[64], const int64_t *degrees, unsigned shown)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < BRIEF_DEGREES && used < 64; i++) {
        if (shown >> i & 1U) {
            used +=
                (size_t)snprintf(out + used, 64 - used, "%s%" PRId64, used ? "/" : "", degrees[i]);
        }
    }
}

static void list_degrees(const rk_strategy *s, int64_t out[BRIEF_DEGREES])
{
    const int64_t degrees[BRIEF_DEGREES] = {s->tp, s->cp, s->pp, s->vp, s->ep, s->dp};
    memcpy(out, degrees, sizeof(degrees));
}

/* A row for the best strategy and each alternative: three, or as many as are asked for. */
static rk_status write_alternatives(FILE *to, const rk_plan *plan, rk_table_style style,
                                    rk_error *err)
{
    static const char *const names[BRIEF_DEGREES] = {"TP", "CP", "PP", "VP", "EP", "DP"};
    const bool labelled = plan->ranking.kinds[0] != 0;
    const size_t count =
        labelled && plan->answer_count > BRIEF_ROWS ? BRIEF_ROWS : plan->answer_count;
    const rk_time_unit unit = rk_time_unit_of(plan->answers[0].estimate.step);
    int64_t degrees[BRIEF_DEGREES];
    unsigned shown = 1U << 0 | 1U << (BRIEF_DEGREES - 1);
    char title[64] = "", step[RK_TIME_TITLE_SIZE], cell[64], label[RK_ALTERNATIVE_LABEL_SIZE];
    rk_table table;
    for (size_t i = 0; i < count; i++) {
        list_degrees(&plan->answers[i].strategy, degrees);
        for (int j = 0; j < BRIEF_DEGREES; j++) {
            shown |= degrees[j] > 1 ? 1U << j : 0U;
        }
    }
    for (int i = 0; i < BRIEF_DEGREES; i++) {
        const size_t used = strlen(title);
        if (shown >> i & 1U) {
            (void)snprintf(title + used, sizeof(title) - used, "%s%s", used ? "/" : "", names[i]);
        }
    }
    const rk_table_column columns[] = {
        {labelled ? "alternative" : "rank", RK_ALIGN_LEFT},
        {title, RK_ALIGN_RIGHT},
        {"ZeRO", RK_ALIGN_RIGHT},
        {"recompute", RK_ALIGN_LEFT},
        {rk_time_title("step", unit, step), RK_ALIGN_RIGHT},
        {"MFU, %", RK_ALIGN_RIGHT},
        {"GiB", RK_ALIGN_RIGHT},
    };
    rk_table_init(&table, columns, COUNT(columns));
    for (size_t i = 0; i < count; i++) {
        const rk_strategy *s = &plan->answers[i].strategy;
        const rk_estimate *e = &plan->answers[i].estimate;
        list_degrees(s, degrees);
        add_degrees(cell, degrees, shown);
        (void)snprintf(label, sizeof(label), "%zu", i + 1);
        rk_table_cell(&table, i == 0 ? RK_MARK_BEST "%s" RK_MARK_END : "%s",
                      labelled ? rk_alternative_name(plan->ranking.kinds[i]) : label);
        rk_table_cell(&table, "%s", cell);
        rk_table_cell(&table, "%d", (int)s->sharding);
        rk_table_cell(&table, "%s", rk_recompute_kind_names[s->recompute]);
        rk_table_cell(&table, "%.3f", e->step / unit.seconds);
        rk_table_cell(&table, "%.2f", 100 * e->mfu);
        rk_table_cell(&table, "%.1f", rk_needed_bytes(&e->memory) / GIB);
    }
    return rk_write_table(to, &table, style, err);
}

rk_status rk_reckon_write_brief(FILE *to, const rk_question *question, rk_table_style style,
                                rk_error *err)
{
    const rk_plan *plan = &question->plan;
    rk_reckon_write_brief_question(to, question, RK_SAYS_ACCELERATORS);
    (void)fputc('\n', to);
    if (plan->answer_count == 0) {
        rk_plan_write_missing(to, plan);
        return RK_OK;
    }
    rk_plan_write_risk(to, plan);
    rk_brief_write_strategy(to, plan->inputs->software.framework, true, &plan->answers[0].strategy);
    rk_brief_write_step(to, plan->inputs, &plan->answers[0]);
    (void)fputc('\n', to);
    rk_status status = write_alternatives(to, plan, style, err);
    if (!status && plan->request->dp_sync) {
        (void)fputc('\n', to);
        status = rk_sync_write(to, &plan->sync, style, err);
    }
    if (!status) {
        rk_brief_write_more(to, "why alternatives are slower, and all parts of time and memory");
    }
    return status;
}

void rk_reckon_write_missing(FILE *to, const rk_question *question)
{
    rk_launch_comparison_write(to, &question->plan);
    rk_plan_write_missing(to, &question->plan);
}

/* ---- for programs --------------------------------------------------------------------------- */

void rk_reckon_write_request_json(rk_json_writer *writer, const rk_question *question)
{
    rk_request_write_json(writer, question->request, &question->problem.reckon.inputs);
}

void rk_reckon_write_best_json(rk_json_writer *writer, const rk_question *question)
{
    rk_launch_comparison_write_json(writer, &question->plan);
    rk_rules_write_json(writer, &question->plan.rules);
    if (question->plan.request->dp_sync) {
        rk_sync_write_json(writer, &question->plan.sync);
    }
}

void rk_reckon_write_missing_json(rk_json_writer *writer, const rk_question *question)
{
    rk_launch_comparison_write_json(writer, &question->plan);
    rk_plan_write_missing_json(writer, &question->plan);
}

void rk_reckon_write_strategies_json(rk_json_writer *writer, const rk_question *question)
{
    const rk_plan *plan = &question->plan;
    if (plan->answer_count > 0) {
        rk_origins_write_json(writer, &plan->space.origins);
    }
    rk_json_open_member(writer, "strategies", "[");
    for (size_t i = 0; i < plan->answer_count; i++) {
        rk_json_item(writer);
        rk_json_open(writer, "{");
        if (plan->ranking.kinds[0]) {
            char label[RK_ALTERNATIVE_LABEL_SIZE];
            rk_json_string(writer, "label", rk_alternative_label(plan->ranking.kinds[i], label));
            rk_json_real(writer, "slowdown", rk_plan_slowdown(plan, i));
        }
        rk_answer_write_json(writer, &plan->answers[i]);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

/* With a label and the slowdown of each alternative. */
void rk_reckon_write_csv(rk_out *out, const rk_question *question)
{
    const rk_plan *plan = &question->plan;
    const bool labelled = plan->ranking.kinds[0] != 0;
    char label[RK_ALTERNATIVE_LABEL_SIZE], rest[RK_ALTERNATIVE_LABEL_SIZE + 32] = "";
    rk_estimate_write_csv_header(out, labelled ? ",label,slowdown" : "");
    for (size_t i = 0; i < plan->answer_count; i++) {
        const rk_answer *answer = &plan->answers[i];
        if (labelled) {
            (void)snprintf(rest, sizeof(rest), ",%s,%.6g",
                           rk_alternative_label(plan->ranking.kinds[i], label),
                           rk_plan_slowdown(plan, i));
        }
        rk_estimate_write_csv_row(out, i + 1, &answer->strategy, &answer->estimate, rest);
    }
}
