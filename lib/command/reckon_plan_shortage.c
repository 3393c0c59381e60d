/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing when a strategy, or every strategy, does not fit, and what would help. */
#include "command/reckon_plan.h"

#include "base/time_text.h"
#include "base/units.h"
#include "report/describe.h"
#include "report/estimate_fields.h"

#include <inttypes.h>

/* ---- one strategy --------------------------------------------------------------------------- */

/* The part of memory that takes most. */
static int largest_part(const rk_stage_memory *memory)
{
    int most = 0;
    for (int i = 1; i < RK_MEMORY_PART_COUNT; i++) {
        most = memory->part[i] > memory->part[most] ? i : most;
    }
    return most;
}

static void write_remedy(FILE *to, const rk_answer *answer, const rk_shortage *shortage)
{
    const rk_estimate *e = &answer->estimate, *then = &shortage->changed.estimate;
    const int most = largest_part(&e->memory);
    char changes[RK_WORDS_SIZE], step[RK_TIME_TEXT_SIZE], before[RK_TIME_TEXT_SIZE];
    (void)fprintf(to, "To cut: %s, %.2f GiB or %.0f %% of the memory of stage %" PRId64 ".\n",
                  rk_memory_part_names[most], e->memory.part[most] / GIB,
                  100 * e->memory.part[most] / e->memory.total, e->worst_stage);
    if (shortage->changes == 0) {
        (void)fputs("No change of one or two of its choices makes it fit.\n", to);
        return;
    }
    (void)fprintf(to,
                  "Smallest change that fits: %s.\nThen stage %" PRId64
                  " needs %.2f GiB of %.2f, and a step takes %s instead of %s (%+.1f %%).\n",
                  rk_strategy_changes(&answer->strategy, &shortage->changed.strategy, changes,
                                      sizeof(changes)),
                  then->worst_stage, then->memory.total / GIB, then->usable / GIB,
                  rk_time_text(then->step, step), rk_time_text(e->step, before),
                  100 * (then->step / e->step - 1));
}

static void write_remedy_json(rk_json_writer *writer, const rk_answer *answer,
                              const rk_shortage *shortage)
{
    const rk_estimate *e = &answer->estimate;
    char changes[RK_WORDS_SIZE];
    rk_json_open_member(writer, "shortage", "{");
    rk_json_count(writer, "stage", (uint64_t)e->worst_stage);
    rk_json_real(writer, "missing_bytes", e->memory.total - e->usable);
    rk_json_string(writer, "largest_part", rk_memory_part_keys[largest_part(&e->memory)]);
    rk_json_count(writer, "changes", (uint64_t)shortage->changes);
    if (shortage->changes > 0) {
        rk_json_string(writer, "change",
                       rk_strategy_changes(&answer->strategy, &shortage->changed.strategy, changes,
                                           sizeof(changes)));
        rk_json_open_member(writer, "changed", "{");
        rk_strategy_write_json(writer, &shortage->changed.strategy);
        rk_estimate_write_json(writer, &shortage->changed.strategy, &shortage->changed.estimate);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "}");
}

/* ---- none of a search ----------------------------------------------------------------------- */

void rk_write_shortage(FILE *to, const rk_plan_answer *plan)
{
    const rk_shortage *shortage = &plan->ranking.shortage;
    char number[RK_COMMAS_SIZE];
    if (!shortage->legal) {
        rk_write_illegal(to, plan);
        return;
    }
    (void)fputs("Nothing fits.  The strategy that needs least memory:\n\n", to);
    rk_write_strategy(to, &plan->nearest.strategy);
    rk_write_fit(to, plan->inputs, &plan->nearest);
    (void)fputc('\n', to);
    write_remedy(to, &plan->nearest, shortage);
    if (shortage->accelerators > 0) {
        (void)fprintf(to, "With accelerators doubled, strategies that fit appear at %s.\n",
                      rk_with_commas((uint64_t)shortage->accelerators, number));
    }
}

void rk_shortage_write_json(rk_json_writer *writer, const rk_plan_answer *plan)
{
    const rk_shortage *shortage = &plan->ranking.shortage;
    if (!shortage->legal) {
        rk_illegal_write_json(writer, plan);
    }
    if (shortage->legal) {
        rk_json_open_member(writer, "nearest", "{");
        rk_answer_write_json(writer, &plan->nearest);
        write_remedy_json(writer, &plan->nearest, shortage);
        rk_json_close(writer, "}");
    }
    if (shortage->accelerators > 0) {
        rk_json_count(writer, "accelerators_that_fit", (uint64_t)shortage->accelerators);
    }
}
