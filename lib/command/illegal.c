/* SPDX-License-Identifier: Apache-2.0 */
/* Why no strategy is legal, in words and as JSON. */
#include "command/reckon_plan.h"

#include "report/describe.h"

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

void rk_write_illegal(FILE *to, const rk_plan_answer *plan)
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

void rk_illegal_write_json(rk_json_writer *writer, const rk_plan_answer *plan)
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
