/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon plan` for people. */
#include "command/calculon_plan.h"

#include "base/text.h"
#include "base/units.h"
#include "calculon/calculon_docs.h"
#include "command/bounded.h"
#include "report/calculon_parts.h"
#include "report/describe.h"

#include <inttypes.h>
#include <string.h>

#define LABEL_WIDTH      24 /* of the first column of the comparison */
#define STRATEGY_WIDTH   11 /* of each further one, with its gap */
#define SIDE_BY_SIDE_MAX 10

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

static void write_search(FILE *to, const rk_calculon_plan *plan)
{
    const rk_calculon_request *request = &plan->request;
    char number[RK_COMMAS_SIZE];
    if (plan->ranking.by_bounds) {
        rk_write_bounded(to, &plan->ranking.bounded, rk_calculon_methods[request->method],
                         plan->cpu_s);
        return;
    }
    (void)fprintf(to, "%-10s%s strategies, ", "search",
                  rk_with_commas(plan->ranking.counts[0], number));
    (void)fprintf(to, "%s fit; %s method\n", rk_with_commas(plan->ranking.counts[1], number),
                  rk_calculon_methods[request->method]);
    (void)fprintf(to, "%-10s%.3f s of processor time", "", plan->cpu_s);
    if (plan->cpu_s > 0 && plan->ranking.counts[0] > 0) {
        (void)fprintf(to, ", %.1f million strategies/s",
                      (double)plan->ranking.counts[0] / plan->cpu_s / 1e6);
    }
    (void)fputc('\n', to);
}

/* ---- strategies side by side ------------------------------------------------------------- */

#define EXE(member) offsetof(rk_calculon_exe, member)

/* What a strategy is: a field of the mapping. */
static const struct {
    const char *label;
    rk_field_type type;
    size_t offset;
    const char *const *names;
} choices[] = {
    {"tensor parallel, TP", RK_FIELD_INT, EXE(tensor_par), NULL},
    {"pipeline parallel, PP", RK_FIELD_INT, EXE(pipeline_par), NULL},
    {"data parallel, DP", RK_FIELD_INT, EXE(data_par), NULL},
    {"interleaving, VP", RK_FIELD_INT, EXE(pipeline_interleaving), NULL},
    {"batch", RK_FIELD_INT, EXE(batch_size), NULL},
    {"microbatch", RK_FIELD_INT, EXE(microbatch_size), NULL},
    {"recompute", RK_FIELD_ENUM, EXE(activation_recompute), rk_recompute_names},
    {"TP communication", RK_FIELD_ENUM, EXE(tensor_par_comm_type), rk_tp_comm_names},
    {"TP overlap", RK_FIELD_ENUM, EXE(tensor_par_overlap), rk_tp_overlap_names},
    {"repeat all-gather", RK_FIELD_BOOL, EXE(seq_par_ag_redo), NULL},
    {"DP overlap", RK_FIELD_BOOL, EXE(data_par_overlap), NULL},
    {"fused activation", RK_FIELD_BOOL, EXE(fused_activation), NULL},
    {"sharded optimizer", RK_FIELD_BOOL, EXE(optimizer_sharding), NULL},
    {"offload weights", RK_FIELD_BOOL, EXE(weight_offload), NULL},
    {"offload activations", RK_FIELD_BOOL, EXE(activations_offload), NULL},
    {"offload optimizer", RK_FIELD_BOOL, EXE(optimizer_offload), NULL},
};

static void add_choice(rk_table *table, size_t row, const rk_calculon_exe *exe)
{
    const void *place = (const char *)exe + choices[row].offset;
    if (choices[row].type == RK_FIELD_INT) {
        rk_table_cell(table, "%" PRId64, *(const int64_t *)place);
    } else if (choices[row].type == RK_FIELD_BOOL) {
        rk_table_cell(table, "%s", *(const bool *)place ? "yes" : "no");
    } else {
        rk_table_cell(table, "%s", choices[row].names[*(const unsigned *)place]);
    }
}

/* What a strategy costs. */
static void add_networks(rk_table *table, const rk_calculon_plan *plan, const rk_calculon_result *s)
{
    (void)plan;
    rk_table_cell(table, "%" PRId64 "/%" PRId64 "/%" PRId64, s->exe.tensor_par_net,
                  s->exe.pipeline_par_net, s->exe.data_par_net);
}

static void add_step_time(rk_table *table, const rk_calculon_plan *plan,
                          const rk_calculon_result *s)
{
    (void)plan;
    rk_table_cell(table, "%.5g", s->stats.total_time);
}

static void add_samples(rk_table *table, const rk_calculon_plan *plan, const rk_calculon_result *s)
{
    (void)plan;
    rk_table_cell(table, "%.5g", s->stats.sample_rate);
}

static void add_tokens(rk_table *table, const rk_calculon_plan *plan, const rk_calculon_result *s)
{
    char text[RK_NUMBER_TEXT_SIZE];
    rk_table_cell(table, "%s",
                  rk_human_text(s->stats.sample_rate * (double)plan->problem.calculon.app.seq_size,
                                RK_HUMAN_BASE10, text));
}

static void add_efficiency(rk_table *table, const rk_calculon_plan *plan,
                           const rk_calculon_result *s)
{
    (void)plan;
    rk_table_cell(table, "%.2f", 100 * s->stats.total_efficiency);
}

static void add_memory(rk_table *table, const rk_calculon_plan *plan, const rk_calculon_result *s)
{
    (void)plan;
    rk_table_cell(table, "%.2f", s->stats.proc_mem_tier1_cap_req / GIB);
}

static void add_offload_memory(rk_table *table, const rk_calculon_plan *plan,
                               const rk_calculon_result *s)
{
    (void)plan;
    rk_table_cell(table, "%.2f", s->stats.proc_mem_tier2_cap_req / GIB);
}

static const struct {
    const char *label;
    void (*add)(rk_table *table, const rk_calculon_plan *plan, const rk_calculon_result *s);
} costs[] = {
    {"networks, TP/PP/DP", add_networks},
    {"step time, s", add_step_time},
    {"samples/s", add_samples},
    {"tokens/s", add_tokens},
    {"efficiency, %", add_efficiency},
    {"memory, GiB", add_memory},
    {"offload memory, GiB", add_offload_memory},
};

/* Compares `count` strategies from `first` on. */
static rk_status write_comparison(FILE *to, const rk_calculon_plan *plan, size_t first,
                                  size_t count, rk_table_style style, rk_error *err)
{
    char titles[SIDE_BY_SIDE_MAX][24];
    rk_table_column columns[SIDE_BY_SIDE_MAX + 1] = {{"rank", RK_ALIGN_LEFT}};
    const rk_calculon_result *strategies = plan->strategies + first;
    rk_table table;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(titles[i], sizeof(titles[i]), "%zu", first + i + 1);
        columns[i + 1] = (rk_table_column){titles[i], RK_ALIGN_RIGHT};
    }
    rk_table_init(&table, columns, count + 1);
    for (size_t row = 0; row < sizeof(choices) / sizeof(choices[0]); row++) {
        rk_table_cell(&table, "%s", choices[row].label);
        for (size_t i = 0; i < count; i++) {
            add_choice(&table, row, &strategies[i].exe);
        }
    }
    for (size_t row = 0; row < sizeof(costs) / sizeof(costs[0]); row++) {
        rk_table_cell(&table, "%s", costs[row].label);
        for (size_t i = 0; i < count; i++) {
            costs[row].add(&table, plan, &strategies[i]);
        }
    }
    return rk_write_table(to, &table, style, err);
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

/* Says in one sentence where the time goes. */
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

static rk_status write_best(FILE *to, const rk_calculon_plan *plan, rk_table_style style,
                            rk_error *err)
{
    rk_calculon_time_part parts[RK_CALCULON_TIME_PARTS];
    const rk_calculon_result *best = &plan->strategies[0];
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

/* Writes a strategy that does not fit; `short_of` is what its tier lacks, in bytes. */
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

static void write_shortage(FILE *to, const rk_calculon_plan *plan)
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

/* ---- all of it --------------------------------------------------------------------------- */

rk_status rk_calculon_plan_write_text(FILE *to, const void *what, rk_table_style style, int width,
                                      rk_error *err)
{
    const rk_calculon_plan *plan = what;
    size_t together = SIDE_BY_SIDE_MAX;
    while (together > 1 && LABEL_WIDTH + (int)together * STRATEGY_WIDTH > width) {
        together--;
    }
    rk_calculon_plan_write_inputs(to, plan);
    write_search(to, plan);
    (void)fputc('\n', to);
    if (plan->strategy_count == 0) {
        write_shortage(to, plan);
        return RK_OK;
    }
    for (size_t first = 0; first < plan->strategy_count; first += together) {
        const size_t left = plan->strategy_count - first;
        const rk_status status =
            write_comparison(to, plan, first, left < together ? left : together, style, err);
        if (status) {
            return status;
        }
        (void)fputc('\n', to);
    }
    (void)fputs("efficiency: FLOP of all layers, recompute left out, over time and matrix peak\n"
                "networks: the tier that carries each dimension\n\n",
                to);
    return write_best(to, plan, style, err);
}
