/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon plan` by the reckon model for people. */
#include "command/reckon_plan.h"
#include "report/describe.h"

#include "base/extremes.h"
#include "base/time_text.h"
#include "base/units.h"
#include "command/found.h"
#include "report/estimate_fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- why the others are slower -------------------------------------------------------------- */

#define LINE_WIDTH 80
#define SHOWN      1e-5 /* s: parts that differ by less are not named */
#define LARGE      0.25 /* of the largest difference: parts that differ by as much are named */
#define SMALL      0.05 /* of the largest difference: what is not named, all of it */

enum { NAMED_MAX = 6, REASON_SIZE = 256 };

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
 * of two estimates, and parts of it that add up to it; nothing where no part differs by SHOWN.
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
static void write_reasons(FILE *to, const rk_plan_answer *plan)
{
    const rk_estimate *best = &plan->answers[0].estimate;
    for (size_t i = 1; i < plan->answer_count; i++) {
        const rk_estimate *e = &plan->answers[i].estimate;
        char label[RK_ALTERNATIVE_LABEL_SIZE], whole[REASON_SIZE], parts[REASON_SIZE];
        const bool labelled = plan->ranking.kinds[0] != 0;
        (void)rk_alternative_label(labelled ? plan->ranking.kinds[i] : 0, label);
        describe_difference(best, e, whole, parts);
        const int length =
            fprintf(to, "%zu%s%s%s is %.1f %% slower than 1%s", i + 1, labelled ? " (" : "", label,
                    labelled ? ")" : "", 100 * (e->step / best->step - 1), whole);
        if (parts[0]) {
            const bool fits = (size_t)length + strlen(": ") + strlen(parts) <= LINE_WIDTH;
            (void)fprintf(to, ":%s%s", fits ? " " : "\n    ", parts);
        }
        (void)fputc('\n', to);
    }
    (void)fputs(plan->answer_count > 1 ? "\n" : "", to);
}

/* ---- all of it ------------------------------------------------------------------------------ */

rk_status rk_plan_answer_write_best(FILE *to, const rk_plan_answer *plan, rk_table_style style,
                                    rk_error *err)
{
    const rk_answer *best = &plan->answers[0];
    write_reasons(to, plan);
    (void)fputs("The best of them:\n\n", to);
    rk_write_strategy(to, &best->strategy);
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

void rk_plan_answer_write_inputs(FILE *to, const rk_plan_answer *plan)
{
    const rk_strategy *base = &plan->space.base;
    char accelerators[RK_COUNTED_SIZE], batch[RK_COUNTED_SIZE];
    rk_write_inputs(to, plan->request, plan->inputs);
    (void)fprintf(to, "%-10s%s, batch of %s of %" PRId64 ", %s\n", "run",
                  rk_counted((uint64_t)plan->space.accelerators, "accelerator", accelerators),
                  rk_counted((uint64_t)plan->space.global_batch, "sequence", batch), base->seq,
                  rk_precision_names[base->precision]);
}
