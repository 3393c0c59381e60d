/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon plan` by the reckon model for people. */
#include "command/reckon_plan.h"
#include "report/describe.h"

#include "base/time_text.h"
#include "base/units.h"
#include "command/found.h"
#include "report/estimate_fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- why the others are slower -------------------------------------------------------------- */

#define LINE_WIDTH 80
#define SHOWN      1e-5 /* s: smaller differences are not mentioned */

/*
 * The part that differs most between two estimates, one excepted; RK_PART_COUNT if none differs by
 * SHOWN.
 */
static int most_different(const rk_estimate *a, const rk_estimate *b, int but)
{
    int most = RK_PART_COUNT;
    double difference = SHOWN;
    for (int i = 0; i < RK_PART_COUNT; i++) {
        const double d = fabs(b->times.part[i] - a->times.part[i]);
        if (i != but && d > difference) {
            most = i;
            difference = d;
        }
    }
    return most;
}

#define REASON_SIZE 256

/* "PP comm -406.27 ms, recompute +1.3658 s"; "" where no part differs by SHOWN. */
static const char *describe_difference(const rk_estimate *best, const rk_estimate *e,
                                       char out[REASON_SIZE])
{
    const int first = most_different(best, e, -1);
    const int second = first < RK_PART_COUNT ? most_different(best, e, first) : first;
    const int parts[] = {first, second};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < 2 && parts[i] < RK_PART_COUNT && used < REASON_SIZE; i++) {
        char change[RK_TIME_TEXT_SIZE];
        const double more = e->times.part[parts[i]] - best->times.part[parts[i]];
        used += (size_t)snprintf(out + used, REASON_SIZE - used, "%s%s %s", used ? ", " : "",
                                 rk_part_names[parts[i]], rk_time_change_text(more, change));
    }
    return out;
}

/* One line for each of the others; long explanations go below. */
static void write_reasons(FILE *to, const rk_plan_answer *plan)
{
    const rk_estimate *best = &plan->answers[0].estimate;
    for (size_t i = 1; i < plan->answer_count; i++) {
        const rk_estimate *e = &plan->answers[i].estimate;
        char label[RK_ALTERNATIVE_LABEL_SIZE], difference[REASON_SIZE];
        const bool labelled = plan->ranking.kinds[0] != 0;
        (void)rk_alternative_label(labelled ? plan->ranking.kinds[i] : 0, label);
        (void)describe_difference(best, e, difference);
        const int length =
            fprintf(to, "%zu%s%s%s is %.1f %% slower than 1", i + 1, labelled ? " (" : "", label,
                    labelled ? ")" : "", 100 * (e->step / best->step - 1));
        if (difference[0]) {
            const bool fits = (size_t)length + strlen(": ") + strlen(difference) <= LINE_WIDTH;
            (void)fprintf(to, ":%s%s", fits ? " " : "\n    ", difference);
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
