/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers of the Calculon method for people. */
#include "method/calculon_answer.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/text.h"
#include "base/units.h"
#include "calculon/calculon_docs.h"
#include "calculon/calculon_parts.h"
#include "method/describe.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- predictions ------------------------------------------------------------------------- */

rk_status rk_calculon_evaluate_roomy(const rk_problem *problem, const rk_candidate *candidate,
                                     rk_calculon_result *result, rk_error *err)
{
    rk_calculon_sys sys = problem->calculon.sys;
    rk_calculon_verdict verdict;
    sys.mem1.capacity = rk_max(sys.mem1.capacity, candidate->memory);
    sys.mem2.capacity = rk_max(sys.mem2.capacity, candidate->offloaded);
    result->exe = candidate->exe;
    result->layer_count = 0;
    return rk_calculon_evaluate(&problem->calculon.app, &sys, &candidate->exe, &result->stats, NULL,
                                NULL, &verdict, err);
}

rk_status rk_calculon_predict(rk_question *question, rk_error *err)
{
    rk_plan *plan = &question->plan;
    const rk_ranking *ranking = &plan->ranking;
    rk_status status = RK_OK;
    plan->results = calloc(ranking->count + 1, sizeof(*plan->results));
    if (!plan->results) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answers");
    }
    for (; !status && plan->answer_count < ranking->count; plan->answer_count++) {
        status =
            rk_calculon_evaluate_roomy(&question->problem, &ranking->candidates[plan->answer_count],
                                       &plan->results[plan->answer_count], err);
    }
    return status;
}

/* ---- what was asked ---------------------------------------------------------------------- */

static void write_line(FILE *to, const char *label, const char *words)
{
    (void)fprintf(to, "%-10s%s\n", label, words);
}

void rk_calculon_write_documents(FILE *to, const rk_question *question)
{
    const rk_calculon_app *app = &question->problem.calculon.app;
    char words[RK_WORDS_SIZE], parameters[RK_NUMBER_TEXT_SIZE];
    (void)rk_human_text(rk_calculon_parameters(app), RK_HUMAN_BASE10, parameters);
    (void)fprintf(to, "%-10s%s, %s parameters\n", "model", question->view.model, parameters);
    write_line(to, "", rk_describe_app(app, words));
    rk_calculon_write_machine(to, question);
}

void rk_calculon_write_machine(FILE *to, const rk_question *question)
{
    const rk_calculon_sys *sys = &question->problem.calculon.sys;
    char words[RK_WORDS_SIZE];
    write_line(to, "system", question->view.system);
    write_line(to, "", rk_describe_engines(sys, question->problem.calculon.space.datatype, words));
    (void)fprintf(to, "%-10smemory %s\n", "", rk_describe_memory(sys, words));
    (void)fprintf(to, "%-10snetwork %s\n", "", rk_describe_networks(sys, words));
}

void rk_calculon_write_run(FILE *to, const rk_question *question, unsigned parts)
{
    const rk_calculon_space *space = &question->problem.calculon.space;
    char number[RK_COMMAS_SIZE];
    (void)fprintf(to, "%-10s", "run");
    if (parts & RK_SAYS_ACCELERATORS) {
        (void)fprintf(to, "%s processors, ", rk_with_commas((uint64_t)space->num_procs, number));
    }
    (void)fprintf(to, "batch of up to %s sequences",
                  rk_with_commas((uint64_t)question->batch, number));
    if (parts & RK_SAYS_SEQ) {
        (void)fprintf(to, " of %" PRId64, question->seq);
    }
    (void)fprintf(to, ", %s\n", rk_datatype_names[space->datatype]);
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

static rk_status write_memory(FILE *to, const rk_calculon_sys *sys, const rk_calculon_result *best,
                              rk_table_style style, rk_error *err)
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
    rk_table_cell(&table, "%s", rk_describe_gib(sys->mem1.capacity, gib));
    rk_table_cell(&table, "%s", rk_describe_gib(sys->mem2.capacity, gib));
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

rk_status rk_calculon_write_best(FILE *to, const rk_question *question, rk_table_style style,
                                 rk_error *err)
{
    rk_calculon_time_part parts[RK_CALCULON_TIME_PARTS];
    const rk_calculon_result *best = &question->plan.results[0];
    (void)fputs("efficiency: FLOP of all layers, recompute left out, over time and matrix peak\n"
                "networks: the tier that carries each dimension\n\n",
                to);
    rk_calculon_time_parts(&best->stats, parts);
    rk_status status = write_time(to, parts, best->stats.total_time, style, err);
    if (!status) {
        (void)fputc('\n', to);
        status = write_memory(to, &question->problem.calculon.sys, best, style, err);
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

void rk_calculon_write_missing(FILE *to, const rk_question *question)
{
    const rk_shortage *shortage = &question->plan.ranking.shortage;
    const rk_candidate *least = shortage->least;
    const rk_calculon_sys *sys = &question->problem.calculon.sys;
    char number[RK_COMMAS_SIZE], words[RK_WORDS_SIZE];
    if (rk_ranking_total(&question->plan.ranking) == 0) {
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
                      rk_describe_memory(sys, words));
        write_need(to, "The least memory that does, to 1 %", &least[0],
                   least[0].memory - sys->mem1.capacity);
        write_need(to, "The least offload memory that does, to 1 %", &least[1],
                   least[1].offloaded - sys->mem2.capacity);
        write_need(to, "The fastest if memory were no limit", &shortage->fastest, 0);
    }
}
