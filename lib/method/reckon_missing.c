/* SPDX-License-Identifier: Apache-2.0 */
/* Why no strategy fits, or none is legal, and changes that would help. */
#include "method/plan_result.h"

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "method/describe.h"
#include "method/estimate_fields.h"

#include <inttypes.h>

/* ---- one strategy --------------------------------------------------------------------------- */

static void write_remedy(FILE *to, const rk_answer *answer, const rk_shortage *shortage)
{
    const rk_estimate *e = &answer->estimate, *then = &shortage->changed.estimate;
    char changes[RK_WORDS_SIZE], step[RK_TIME_TEXT_SIZE], before[RK_TIME_TEXT_SIZE];
    char risk[RK_RISK_TEXT_SIZE];
    rk_write_largest_part(to, e);
    if (shortage->changes == 0) {
        (void)fputs("No change of one or two of its choices makes it fit.\n", to);
        return;
    }
    (void)fprintf(to,
                  "Smallest change that fits: %s.\nThen stage %" PRId64
                  " needs %.2f GiB of %.2f, risk %s, and a step takes %s instead of %s "
                  "(%+.1f %%).\n",
                  rk_strategy_changes(&answer->strategy, &shortage->changed.strategy, changes,
                                      sizeof(changes)),
                  then->worst_stage, rk_needed_bytes(&then->memory) / GIB, then->usable / GIB,
                  rk_risk_text(then->risk, risk), rk_time_text(then->step, step),
                  rk_time_text(e->step, before), 100 * (then->step / e->step - 1));
}

static void write_remedy_json(rk_json_writer *writer, const rk_answer *answer,
                              const rk_shortage *shortage)
{
    const rk_estimate *e = &answer->estimate;
    char changes[RK_WORDS_SIZE];
    rk_json_open_member(writer, "shortage", "{");
    rk_json_count(writer, "stage", (uint64_t)e->worst_stage);
    rk_json_real(writer, "missing_bytes", rk_needed_bytes(&e->memory) - e->usable);
    rk_json_string(writer, "largest_part", rk_memory_part_keys[rk_largest_part(&e->memory)]);
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

/* ---- why none is legal ---------------------------------------------------------------------- */

/* "9,984 or 10,112 accelerators", "tp 2 or 4", "--framework torchtitan". */
static void write_help(FILE *to, const rk_help *help)
{
    char number[RK_COMMAS_SIZE];
    const bool framework = help->kind == RK_HELP_FRAMEWORK;
    const bool accelerators = help->kind == RK_HELP_ACCELERATORS;
    if (!accelerators) {
        (void)fprintf(to, "%s%s ", framework ? "--" : "", rk_help_names[help->kind]);
    }
    for (int i = 0; i < help->count; i++) {
        const int64_t value = help->values[i];
        (void)fprintf(to, "%s%s", i > 0 ? " or " : "",
                      framework ? rk_framework_names[value]
                                : rk_with_commas((uint64_t)value, number));
    }
    (void)fputs(accelerators ? " accelerators" : "", to);
}

static void write_illegal(FILE *to, const rk_plan *plan)
{
    const rk_reasons *reasons = &plan->ranking.shortage.reasons;
    char number[RK_COUNTED_SIZE];
    (void)fputs("No strategy of this space is legal.\n", to);
    if (reasons->indivisible[0]) {
        (void)fprintf(to, "None exists because %s.\n", reasons->indivisible);
    } else if (reasons->strategies == 0 && plan->space.base.layout_count > 0) {
        (void)fprintf(to, "No pipeline of this space has the %d stages of the layout.\n",
                      plan->space.base.layout_count);
    } else if (reasons->strategies == 0) {
        (void)fprintf(
            to,
            "No product of degrees is %s and leaves a data-parallel degree "
            "that divides the global batch of %s.\n",
            rk_counted((uint64_t)plan->space.accelerators, "accelerator", number),
            rk_with_commas((uint64_t)plan->space.global_batch, (char[RK_COMMAS_SIZE]){0}));
    }
    for (int i = 0; i < reasons->rule_count; i++) {
        const rk_excluding_rule *rule = &reasons->rules[i];
        const bool all = rule->excluded == reasons->checked;
        (void)fprintf(to, "The rule %s excludes %s%s", rule->name, all ? "all " : "",
                      rk_with_commas(rule->excluded, number));
        (void)fprintf(to, "%s: %s.\n", all ? "" : " of them", rule->message);
        if (rule->alone > 0) {
            break; /* this rule excludes everything that the others do */
        }
    }
    for (int i = 0; i < reasons->help_count; i++) {
        (void)fputs(i == 0 ? "Legal strategies exist with: " : "; ", to);
        write_help(to, &reasons->helps[i]);
    }
    (void)fputs(reasons->help_count > 0 ? "\n" : "", to);
}

static void write_illegal_json(rk_json_writer *writer, const rk_plan *plan)
{
    const rk_reasons *reasons = &plan->ranking.shortage.reasons;
    rk_json_open_member(writer, "illegal", "{");
    rk_json_count(writer, "strategies", reasons->strategies);
    rk_json_count(writer, "checked", reasons->checked);
    if (reasons->indivisible[0]) {
        rk_json_string(writer, "indivisible", reasons->indivisible);
    }
    rk_json_open_member(writer, "rules", "[");
    for (int i = 0; i < reasons->rule_count; i++) {
        const rk_excluding_rule *rule = &reasons->rules[i];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "rule", rule->name);
        rk_json_count(writer, "excluded", rule->excluded);
        rk_json_count(writer, "excluded_by_it_alone", rule->alone);
        rk_json_string(writer, "message", rule->message);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
    rk_json_open_member(writer, "legal_with", "[");
    for (int i = 0; i < reasons->help_count; i++) {
        const rk_help *help = &reasons->helps[i];
        for (int j = 0; j < help->count; j++) {
            rk_json_item(writer);
            rk_json_open(writer, "{");
            rk_json_string(writer, "change", rk_help_names[help->kind]);
            if (help->kind == RK_HELP_FRAMEWORK) {
                rk_json_string(writer, "value", rk_framework_names[help->values[j]]);
            } else {
                rk_json_count(writer, "value", (uint64_t)help->values[j]);
            }
            rk_json_close(writer, "}");
        }
    }
    rk_json_close(writer, "]");
    rk_json_close(writer, "}");
}

/* ---- none of a search ----------------------------------------------------------------------- */

void rk_plan_write_cures(FILE *to, const rk_plan *plan)
{
    const rk_request *r = plan->request;
    const rk_system *system = &plan->inputs->system;
    const bool named = r->model && !rk_json_is_text(r->model) && !r->launch;
    if (named && r->lora_rank == 0 && r->accelerators <= system->tiers[0].size) {
        (void)fprintf(to, "'reckon fit %s %s' says what LoRA and QLoRA need.\n",
                      rk_json_title(r->model), system->accelerator.name);
    }
}

void rk_plan_write_missing(FILE *to, const rk_plan *plan)
{
    const rk_shortage *shortage = &plan->ranking.shortage;
    char number[RK_COMMAS_SIZE];
    if (!shortage->legal) {
        write_illegal(to, plan);
        return;
    }
    (void)fputs(RK_MARK_TIGHT "Nothing fits." RK_MARK_END
                              "  The strategy that needs least memory:\n\n",
                to);
    rk_write_strategy(to, false, &plan->nearest.strategy);
    rk_write_fit(to, plan->inputs, &plan->nearest, false);
    (void)fputc('\n', to);
    write_remedy(to, &plan->nearest, shortage);
    if (shortage->accelerators > 0) {
        (void)fprintf(to, "Doubled until something fits: %s accelerators.\n",
                      rk_with_commas((uint64_t)shortage->accelerators, number));
    }
    rk_plan_write_cures(to, plan);
}

void rk_plan_write_missing_json(rk_json_writer *writer, const rk_plan *plan)
{
    const rk_shortage *shortage = &plan->ranking.shortage;
    if (!shortage->legal) {
        write_illegal_json(writer, plan);
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
