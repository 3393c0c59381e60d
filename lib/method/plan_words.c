/* SPDX-License-Identifier: Apache-2.0 */
/* Searched strategies and choices, as text and as JSON. */
#include "method/plan_result.h"
#include "method/ranking_text.h"
#include "request/strategy_choices.h"

#include <string.h>

#define LINE_WIDTH 80

/* Writes "given TP, PP and ZeRO" below a label, over as many lines as necessary. */
static void write_list(FILE *to, const char *word, unsigned choices)
{
    char list[RK_CHOICE_LIST_SIZE];
    const char *rest = rk_choice_list(choices, list);
    int column = fprintf(to, "%-10s%s", "", word);
    while (*rest) {
        const int length = (int)strcspn(rest, " ");
        const bool breaks = column + 1 + length > LINE_WIDTH;
        (void)fprintf(to, "%s%.*s", breaks ? "\n          " : " ", length, rest);
        column = breaks ? 10 + length : column + 1 + length;
        rest += length + (rest[length] == ' ');
    }
    (void)fputc('\n', to);
}

void rk_plan_write_choices(FILE *to, const rk_plan *plan)
{
    const rk_choice_sets sets = rk_request_choices(plan->request, plan->inputs);
    if (sets.given) {
        write_list(to, "given", sets.given);
        write_list(to, "searched", sets.open);
    }
}

/* Whether the best strategy fits, but none is within the risk. */
static bool exceeds_risk(const rk_plan *plan)
{
    const rk_answer *best = rk_plan_best(plan);
    return best && plan->searched && best->estimate.fits &&
           !rk_is_within_risk(&plan->setting, &best->estimate);
}

void rk_plan_write_risk(FILE *to, const rk_plan *plan)
{
    char risk[RK_RISK_TEXT_SIZE];
    if (exceeds_risk(plan)) {
        (void)fprintf(
            to,
            RK_MARK_TIGHT
            "No strategy is within the risk of %.3g %% of running out of memory" RK_MARK_END
            "; the best one\nthat may fit has %s.\n\n",
            100 * plan->setting.risk, rk_risk_text(rk_plan_best(plan)->estimate.risk, risk));
    }
}

void rk_plan_write_search(FILE *to, const rk_plan *plan)
{
    if (plan->searched) {
        rk_ranking_write(to, &rk_method_reckon, &plan->ranking, plan->cpu_s);
        rk_plan_write_choices(to, plan);
    }
    if (exceeds_risk(plan)) {
        char risk[RK_RISK_TEXT_SIZE];
        rk_write_label(to, "");
        (void)fprintf(to, "none is within the risk of %.3g %%; the best that may fit has %s\n",
                      100 * plan->setting.risk,
                      rk_risk_text(rk_plan_best(plan)->estimate.risk, risk));
    }
}

static void write_keys(rk_json_writer *writer, const char *key, unsigned choices)
{
    rk_json_open_member(writer, key, "[");
    for (int i = 0; i < RK_CHOICE_COUNT; i++) {
        if (choices >> i & 1) {
            char text[32];
            (void)snprintf(text, sizeof(text), "\"%s\"", rk_choice_keys[i]);
            rk_json_item(writer);
            rk_json_value(writer, text);
        }
    }
    rk_json_close(writer, "]");
}

void rk_plan_write_search_json(rk_json_writer *writer, const rk_plan *plan)
{
    if (plan->searched) {
        const rk_choice_sets sets = rk_request_choices(plan->request, plan->inputs);
        rk_ranking_write_json(writer, &rk_method_reckon, &plan->ranking, plan->cpu_s, plan->wall_s);
        write_keys(writer, "given", sets.given);
        write_keys(writer, "searched", sets.open);
    }
    if (rk_plan_best(plan)) {
        rk_origins_write_json(writer, &plan->origins);
    }
}
