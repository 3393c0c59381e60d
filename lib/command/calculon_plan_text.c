/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon plan` for people. */
#include "command/calculon_plan.h"

#include "base/text.h"
#include "base/units.h"
#include "calculon/calculon_docs.h"
#include "report/calculon_parts.h"
#include "report/describe.h"

#include <inttypes.h>
#include <string.h>

/* ---- what was asked ---------------------------------------------------------------------- */

static void write_line(FILE *to, const char *label, const char *words)
{
    (void)fprintf(to, "%-10s%s\n", label, words);
}

void rk_calculon_plan_write_model(FILE *to, const rk_calculon_plan *plan)
{
    char words[RK_WORDS_SIZE], parameters[RK_NUMBER_TEXT_SIZE];
    (void)rk_human_text(rk_calculon_parameters(&plan->problem.calculon.app), RK_HUMAN_BASE10,
                        parameters);
    (void)fprintf(to, "%-10s%s, %s parameters\n", "model", plan->request.model, parameters);
    write_line(to, "", rk_describe_app(&plan->problem.calculon.app, words));
}

void rk_calculon_plan_write_system(FILE *to, const rk_calculon_plan *plan)
{
    char words[RK_WORDS_SIZE];
    write_line(to, "system", plan->request.system);
    write_line(to, "",
               rk_describe_engines(&plan->problem.calculon.sys,
                                   plan->problem.calculon.space.datatype, words));
    (void)fprintf(to, "%-10smemory %s\n", "",
                  rk_describe_memory(&plan->problem.calculon.sys, words));
    (void)fprintf(to, "%-10snetwork %s\n", "",
                  rk_describe_networks(&plan->problem.calculon.sys, words));
}

void rk_calculon_plan_write_inputs(FILE *to, const rk_calculon_plan *plan)
{
    const rk_calculon_request *request = &plan->request;
    char number[RK_COMMAS_SIZE];
    rk_calculon_plan_write_model(to, plan);
    rk_calculon_plan_write_system(to, plan);
    (void)fprintf(to, "%-10s%s processors, ", "run",
                  rk_with_commas((uint64_t)request->processors, number));
    (void)fprintf(to, "batch of up to %s sequences, %s\n",
                  rk_with_commas((uint64_t)request->batch, number),
                  rk_datatype_names[request->datatype]);
}

/* ---- the best strategy ------------------------------------------------------------------- */

static rk_status write_time(FILE *to, const rk_calculon_time_part parts[RK_CALCULON_TIME_PARTS],
                            double total, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {{"step time of the best strategy", RK_ALIGN_LEFT},
                                              {"s", RK_ALIGN_RIGHT},
                                              {"%", RK_ALIGN_RIGHT}};
    rk_table table;
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < RK_CALCULON_TIME_PARTS; i++) {
        if (parts[i].seconds != 0) {
            rk_table_cell(&table, "%s", parts[i].name);
            rk_table_cell(&table, "%.4f", parts[i].seconds);
            rk_table_cell(&table, "%.2f", 100 * parts[i].seconds / total);
        }
    }
    rk_table_rule(&table);
    rk_table_cell(&table, "total");
    rk_table_cell(&table, "%.4f", total);
    rk_table_cell(&table, "%.2f", 100.0);
    return rk_write_table(to, &table, style, err);
}

static void add_memory_row(rk_table *table, const char *name, double tier1, double tier2)
{
    rk_table_cell(table, "%s", name);
    rk_table_cell(table, "%.2f", tier1 / GIB);
    rk_table_cell(table, "%.2f", tier2 / GIB);
}

static rk_status write_memory(FILE *to, const rk_calculon_plan *plan,
                              const rk_calculon_result *best, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {{"memory of one processor", RK_ALIGN_LEFT},
                                              {"GiB", RK_ALIGN_RIGHT},
                                              {"offloaded GiB", RK_ALIGN_RIGHT}};
    rk_calculon_memory_part parts[RK_CALCULON_MEMORY_PARTS];
    rk_table table;
    char gib[RK_GIB_SIZE];
    rk_calculon_memory_parts(&best->exe, &best->stats, parts);
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < RK_CALCULON_MEMORY_PARTS; i++) {
        if (parts[i].tier1 != 0 || parts[i].tier2 != 0) {
            add_memory_row(&table, parts[i].name, parts[i].tier1, parts[i].tier2);
        }
    }
    rk_table_rule(&table);
    add_memory_row(&table, "total", best->stats.proc_mem_tier1_cap_req,
                   best->stats.proc_mem_tier2_cap_req);
    rk_table_cell(&table, "there is");
    rk_table_cell(&table, "%s", rk_describe_gib(plan->problem.calculon.sys.mem1.capacity, gib));
    rk_table_cell(&table, "%s", rk_describe_gib(plan->problem.calculon.sys.mem2.capacity, gib));
    return rk_write_table(to, &table, style, err);
}

/* One sentence about where the time goes. */
static void write_verdict(FILE *to, const rk_calculon_time_part parts[RK_CALCULON_TIME_PARTS],
                          double total)
{
    double compute = 0;
    const rk_calculon_time_part *most = NULL;
    for (int i = 0; i < RK_CALCULON_TIME_PARTS; i++) {
        if (parts[i].compute) {
            compute += parts[i].seconds;
        } else if (parts[i].seconds > 0 && (!most || parts[i].seconds > most->seconds)) {
            most = &parts[i];
        }
    }
    (void)fprintf(to, "Forward, backward and optimizer take %.1f %% of the step; ",
                  100 * compute / total);
    if (most) {
        (void)fprintf(to, "%s costs most of the rest: %.1f %%.\n", most->name,
                      100 * most->seconds / total);
    } else {
        (void)fprintf(to, "there is nothing else.\n");
    }
}

rk_status rk_calculon_plan_write_best(FILE *to, const rk_calculon_plan *plan, rk_table_style style,
                                      rk_error *err)
{
    rk_calculon_time_part parts[RK_CALCULON_TIME_PARTS];
    const rk_calculon_result *best = &plan->strategies[0];
    (void)fputs("efficiency: FLOP of all layers, recompute left out, over time and matrix peak\n"
                "networks: the tier that carries each dimension\n\n",
                to);
    rk_calculon_time_parts(&best->stats, parts);
    rk_status status = write_time(to, parts, best->stats.total_time, style, err);
    if (!status) {
        (void)fputc('\n', to);
        status = write_memory(to, plan, best, style, err);
    }
    if (!status) {
        (void)fputc('\n', to);
        write_verdict(to, parts, best->stats.total_time);
    }
    return status;
}

/* ---- nothing fits ------------------------------------------------------------------------ */

/* Writes a strategy that does not fit; `short_of` is the number of bytes missing in its tier. */
static void write_need(FILE *to, const char *intro, const rk_candidate *need, double short_of)
{
    char words[RK_WORDS_SIZE];
    if (!need->fits) {
        return;
    }
    (void)fprintf(to, "\n%s: %.2f GiB", intro, need->memory / GIB);
    if (need->offloaded > 0) {
        (void)fprintf(to, " and %.2f GiB offloaded", need->offloaded / GIB);
    }
    if (short_of > 0) {
        (void)fprintf(to, " (%.2f GiB more than there is)", short_of / GIB);
    }
    (void)fprintf(to, ", %.5g s a step\n  %s\n", need->step, rk_describe_exe(&need->exe, words));
}

void rk_calculon_plan_write_shortage(FILE *to, const rk_calculon_plan *plan)
{
    const rk_shortage *shortage = &plan->ranking.shortage;
    const rk_candidate *least = shortage->least;
    char number[RK_COMMAS_SIZE], words[RK_WORDS_SIZE];
    if (rk_ranking_total(&plan->ranking) == 0) {
        (void)fprintf(to, "No strategy exists: TP must divide hidden and heads, PP the blocks, and "
                          "DP, the rest of the\nprocessors, must not exceed the batch.\n");
        if (shortage->least_batch > 0) {
            (void)fprintf(to, "The least batch for these processors is %s.\n",
                          rk_with_commas((uint64_t)shortage->least_batch, number));
        }
    } else if (!shortage->fastest.fits) {
        (void)fprintf(to, "No strategy runs, whatever the memory: %s.\n", shortage->misfit);
    } else {
        (void)fprintf(to, "Nothing fits in the memory of a processor: %s.\n",
                      rk_describe_memory(&plan->problem.calculon.sys, words));
        write_need(to, "The least memory that does, to 1 %", &least[0],
                   least[0].memory - plan->problem.calculon.sys.mem1.capacity);
        write_need(to, "The least offload memory that does, to 1 %", &least[1],
                   least[1].offloaded - plan->problem.calculon.sys.mem2.capacity);
        write_need(to, "The fastest if memory were no limit", &shortage->fastest, 0);
    }
}
