/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon plan` by the reckon model for people. */
#include "command/reckon_plan.h"
#include "report/describe.h"

#include "base/units.h"
#include "command/found.h"
#include "report/estimate_fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define TOGETHER_MAX 10
#define CELL_SIZE    RK_STRATEGY_TEXT_SIZE
#define LABEL_WIDTH  20
#define GAP_WIDTH    2

/* ---- strategies side by side ---------------------------------------------------------------- */

static const char *cell_step(const rk_answer *a, char out[CELL_SIZE])
{
    (void)snprintf(out, CELL_SIZE, "%.2f", 1e3 * a->estimate.step);
    return out;
}

static const char *cell_tokens(const rk_answer *a, char out[CELL_SIZE])
{
    (void)snprintf(out, CELL_SIZE, "%.1f",
                   a->estimate.tokens_per_second / (double)rk_strategy_ranks(&a->strategy));
    return out;
}

static const char *cell_flops(const rk_answer *a, char out[CELL_SIZE])
{
    (void)snprintf(out, CELL_SIZE, "%.1f", a->estimate.model_flops / a->estimate.step / 1e12);
    return out;
}

static const char *cell_mfu(const rk_answer *a, char out[CELL_SIZE])
{
    (void)snprintf(out, CELL_SIZE, "%.2f", 100 * a->estimate.mfu);
    return out;
}

static const char *cell_memory(const rk_answer *a, char out[CELL_SIZE])
{
    (void)snprintf(out, CELL_SIZE, "%.2f", a->estimate.memory.total / GIB);
    return out;
}

static const char *cell_host(const rk_answer *a, char out[CELL_SIZE])
{
    (void)snprintf(out, CELL_SIZE, "%.2f", a->estimate.host_bytes / GIB);
    return out;
}

static const struct {
    const char *label;
    const char *(*cell)(const rk_answer *answer, char out[CELL_SIZE]);
} costs[] = {
    {"step, ms", cell_step}, {"tokens/s/GPU", cell_tokens}, {"TFLOP/s/GPU", cell_flops},
    {"MFU, %", cell_mfu},    {"memory, GiB", cell_memory},  {"host memory, GiB", cell_host},
};
#define COST_COUNT (sizeof(costs) / sizeof(costs[0]))

/* Shown for all; the others where some strategy is not as the space has it. */
static const char *const usual_keys[] = {"tp",   "cp",          "pp",       "vp",       "dp",
                                         "zero", "micro_batch", "schedule", "recompute"};

static bool is_usual(const char *key)
{
    for (size_t i = 0; i < sizeof(usual_keys) / sizeof(usual_keys[0]); i++) {
        if (strcmp(usual_keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a row says anything about the strategies. */
static bool is_shown(const rk_plan_answer *plan, size_t field)
{
    const rk_strategy *base = &plan->space.base;
    bool differs = false;
    for (size_t i = 0; i < plan->answer_count; i++) {
        differs = differs || !rk_strategy_same(&plan->answers[i].strategy, base, field);
    }
    const bool asked = strcmp(rk_strategy_key(field), "global_batch") == 0;
    return is_usual(rk_strategy_key(field)) || (differs && !asked);
}

/* Widest cell of a strategy. */
static size_t column_width(const rk_plan_answer *plan, const rk_answer *answer)
{
    char text[CELL_SIZE];
    size_t widest = 0;
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        const size_t width = strlen(rk_strategy_text(&answer->strategy, i, text));
        widest = is_shown(plan, i) && width > widest ? width : widest;
    }
    for (size_t i = 0; i < COST_COUNT; i++) {
        const size_t width = strlen(costs[i].cell(answer, text));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* How many strategies from `first` on have room side by side; at least one. */
static size_t count_together(const rk_plan_answer *plan, size_t first, int width)
{
    size_t used = LABEL_WIDTH, count = 0;
    while (first + count < plan->answer_count && count < TOGETHER_MAX) {
        used += GAP_WIDTH + column_width(plan, &plan->answers[first + count]);
        if (count > 0 && used > (size_t)width) {
            break;
        }
        count++;
    }
    return count;
}

static rk_status write_together(FILE *to, const rk_plan_answer *plan, size_t first, size_t count,
                                rk_table_style style, rk_error *err)
{
    char titles[TOGETHER_MAX][24], text[CELL_SIZE];
    rk_table_column columns[TOGETHER_MAX + 1] = {{"rank", RK_ALIGN_LEFT}};
    const rk_answer *answers = plan->answers + first;
    rk_table table;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(titles[i], sizeof(titles[i]), "%zu", first + i + 1);
        columns[i + 1] = (rk_table_column){titles[i], RK_ALIGN_RIGHT};
    }
    rk_table_init(&table, columns, count + 1);
    for (size_t field = 0; field < RK_STRATEGY_FIELD_COUNT; field++) {
        if (is_shown(plan, field)) {
            rk_table_cell(&table, "%s", rk_strategy_label(field));
            for (size_t i = 0; i < count; i++) {
                rk_table_cell(&table, "%s", rk_strategy_text(&answers[i].strategy, field, text));
            }
        }
    }
    for (size_t cost = 0; cost < COST_COUNT; cost++) {
        if (costs[cost].cell == cell_host && plan->space.offloads == 0) {
            continue;
        }
        rk_table_cell(&table, "%s", costs[cost].label);
        for (size_t i = 0; i < count; i++) {
            rk_table_cell(&table, "%s", costs[cost].cell(&answers[i], text));
        }
    }
    return rk_write_table(to, &table, style, err);
}

/* ---- why the others are slower -------------------------------------------------------------- */

#define SHOWN 0.5e-5 /* s: less is printed as 0.00 ms */

/*
 * The part that differs most between two estimates, but for one; RK_PART_COUNT: none differs by as
 * much as is printed.
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

static void write_reasons(FILE *to, const rk_plan_answer *plan)
{
    const rk_estimate *best = &plan->answers[0].estimate;
    for (size_t i = 1; i < plan->answer_count; i++) {
        const rk_estimate *e = &plan->answers[i].estimate;
        const int first = most_different(best, e, -1);
        const int second = first < RK_PART_COUNT ? most_different(best, e, first) : first;
        (void)fprintf(to, "%zu is %.2f ms slower than 1", i + 1, 1e3 * (e->step - best->step));
        if (first < RK_PART_COUNT) {
            (void)fprintf(to, ": %s %+.2f ms", rk_part_names[first],
                          1e3 * (e->times.part[first] - best->times.part[first]));
        }
        if (second < RK_PART_COUNT) {
            (void)fprintf(to, ", %s %+.2f ms", rk_part_names[second],
                          1e3 * (e->times.part[second] - best->times.part[second]));
        }
        (void)fputc('\n', to);
    }
    (void)fputs(plan->answer_count > 1 ? "\n" : "", to);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rk_status write_best(FILE *to, const rk_plan_answer *plan, rk_table_style style,
                            rk_error *err)
{
    const rk_answer *best = &plan->answers[0];
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
    return status;
}

void rk_plan_answer_write_inputs(FILE *to, const rk_plan_answer *plan)
{
    const rk_strategy *base = &plan->space.base;
    char accelerators[RK_COMMAS_SIZE], batch[RK_COMMAS_SIZE];
    rk_write_inputs(to, plan->request, plan->inputs);
    (void)fprintf(to, "%-10s%s accelerators, batch of %s sequences of %" PRId64 ", %s\n", "run",
                  rk_with_commas((uint64_t)plan->space.accelerators, accelerators),
                  rk_with_commas((uint64_t)plan->space.global_batch, batch), base->seq,
                  rk_precision_names[base->precision]);
}

rk_status rk_plan_answer_write_text(FILE *to, const void *what, rk_table_style style, int width,
                                    rk_error *err)
{
    const rk_plan_answer *plan = what;
    rk_status status = RK_OK;
    rk_plan_answer_write_inputs(to, plan);
    rk_write_search(to, plan);
    rk_write_choices(to, plan);
    (void)fputc('\n', to);
    if (plan->answer_count == 0) {
        rk_write_shortage(to, plan);
        return RK_OK;
    }
    for (size_t first = 0; first < plan->answer_count && !status;) {
        const size_t count = count_together(plan, first, width);
        status = write_together(to, plan, first, count, style, err);
        (void)fputc('\n', to);
        first += count;
    }
    if (!status) {
        write_reasons(to, plan);
        status = write_best(to, plan, style, err);
    }
    return status;
}
