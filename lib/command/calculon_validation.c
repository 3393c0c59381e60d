/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `calculon llm-validation`: the published measurements of sequence parallelism and selective
 * recomputation (Korthikanti et al., arXiv 2205.05198) next to the values of the model.
 */
#include "command/calculon.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/text.h"
#include "calculon/calculon_write.h"
#include "command/commands.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <unistd.h>

/* ---- what was measured ------------------------------------------------------------------- */

enum { MODELS = 4, MODES = 5, QUANTITIES = 2 };
enum mode { NONE, SEQ, SEL, SEQSEL, FULL };

static const struct {
    const char *name;
    int64_t num_procs, pipeline_par, batch_size, microbatch_size, interleaving;
} models[MODELS] = {
    {"megatron-22B", 8, 1, 4, 4, 1},
    {"gpt3-175B", 64, 8, 64, 1, 3},
    {"turing-530B", 280, 35, 280, 1, 3},
    {"megatron-1T", 512, 64, 512, 1, 1},
};

static const struct {
    const char *name;
    rk_recompute recompute;
    rk_tp_comm comm;
    bool redo;
} modes[MODES] = {
    [NONE] = {"none", RK_RECOMPUTE_NONE, RK_TP_AR, false},
    [SEQ] = {"seq", RK_RECOMPUTE_NONE, RK_TP_RS_AG, true},
    [SEL] = {"sel", RK_RECOMPUTE_ATTN, RK_TP_AR, false},
    [SEQSEL] = {"seqsel", RK_RECOMPUTE_ATTN, RK_TP_RS_AG, true},
    [FULL] = {"full", RK_RECOMPUTE_FULL, RK_TP_AR, false},
};

static double gib(double bytes)
{
    return bytes / (1024.0 * 1024.0 * 1024.0);
}

static double state_gib(const rk_calculon_stats *stats, const rk_calculon_stats *none)
{
    (void)none;
    return gib(stats->weight_space + stats->weight_grad_space + stats->optimizer_space);
}

static double activation_gib(const rk_calculon_stats *stats, const rk_calculon_stats *none)
{
    (void)none;
    return gib(stats->act_space);
}

/* Stored activations, in percent of those without recomputation. */
static double activation_share(const rk_calculon_stats *stats, const rk_calculon_stats *none)
{
    return 100.0 * (stats->act_space + stats->act_checkpoint_size) /
           (none->act_space + none->act_checkpoint_size);
}

static double step_seconds(const rk_calculon_stats *stats, const rk_calculon_stats *none)
{
    (void)none;
    return stats->total_time;
}

struct quantity {
    const char *name;
    /* `none`: the same model in the group's first mode. */
    double (*computed)(const rk_calculon_stats *stats, const rk_calculon_stats *none);
    double published[MODELS][MODES]; /* by the group's modes, in their order */
};

static const struct group {
    const char *title, *system;
    size_t mode_count, quantity_count;
    enum mode modes[MODES];
    struct quantity quantities[QUANTITIES];
} groups[] = {
    {"Figure 1: memory of a processor, GiB",
     "a100_80e",
     2,
     2,
     {NONE, SEQSEL},
     {{"parameters+optimizer",
       state_gib,
       {{45.5625, 45.5625},
        {45.5625, 45.5625},
        {31.640625, 31.640625},
        {32.958984375, 32.958984375}}},
      {"activations",
       activation_gib,
       {{59.25, 9.5625}, {66.84375, 12.3515625}, {114.0234375, 23.076171875}, {131.25, 26.5625}}}}},
    {"Figure 7: activations, percent of those without recomputation",
     "a100_80e",
     5,
     1,
     {NONE, SEQ, SEL, SEQSEL, FULL},
     {{"activations",
       activation_share,
       {{100.0, 66.84, 49.42, 16.18, 7.64},
        {100.0, 62.04, 56.53, 18.49, 8.71},
        {100.0, 58.31, 62.04, 20.27, 9.42},
        {100.0, 58.31, 62.04, 20.27, 9.42}}}}},
    {"Table 5: time of a step, s",
     "a100_80g",
     2,
     1,
     {FULL, SEQSEL},
     {{"time", step_seconds, {{1.42, 1.10}, {18.13, 13.75}, {49.05, 37.83}, {94.42, 71.49}}}}},
};

/* ---- computing ----------------------------------------------------------------------------- */

static rk_calculon_exe execution_of(size_t model, enum mode mode)
{
    assert(model < sizeof(models) / sizeof(models[0]));
    return (rk_calculon_exe){
        .num_procs = models[model].num_procs,
        .tensor_par = 8,
        .pipeline_par = models[model].pipeline_par,
        .data_par = 1,
        .tensor_par_net = 0,
        .pipeline_par_net = 1,
        .data_par_net = 1,
        .batch_size = models[model].batch_size,
        .microbatch_size = models[model].microbatch_size,
        .datatype = RK_FLOAT16,
        .attention_type = RK_MULTIHEAD,
        .activation_recompute = modes[mode].recompute,
        .pipeline_interleaving = models[model].interleaving,
        .tensor_par_comm_type = modes[mode].comm,
        .tensor_par_overlap = RK_OVERLAP_NONE,
        .seq_par_ag_redo = modes[mode].redo,
        .training = true,
    };
}

/* Finds a document below `base` (NULL: nowhere); writes its path, or the bare name, to `out`. */
static const char *find_document(const char *base, const char *const *folders, const char *name,
                                 char out[4096])
{
    for (size_t i = 0; base && folders[i]; i++) {
        const int n = snprintf(out, 4096, "%s/%s/%s.json", base, folders[i], name);
        if (n > 0 && n < 4096 && access(out, R_OK) == 0) {
            return out;
        }
    }
    (void)snprintf(out, 4096, "%s", name);
    return out;
}

static rk_status compute(const char *base, const struct group *group,
                         rk_calculon_stats stats[MODELS][MODES], rk_error *err)
{
    static const char *const app_folders[] = {"applications", "models", NULL};
    static const char *const sys_folders[] = {"systems", NULL};
    char path[4096];
    rk_calculon_sys sys;
    rk_status status = rk_calculon_sys_load(find_document(base, sys_folders, group->system, path),
                                            true, &sys, err);
    for (size_t i = 0; i < MODELS && status == RK_OK; i++) {
        rk_calculon_app app;
        status = rk_calculon_app_load(find_document(base, app_folders, models[i].name, path), true,
                                      &app, err);
        for (size_t j = 0; j < group->mode_count && status == RK_OK; j++) {
            const rk_calculon_exe exe = execution_of(i, group->modes[j]);
            rk_calculon_verdict verdict = {0};
            status =
                rk_calculon_evaluate(&app, &sys, &exe, &stats[i][j], NULL, NULL, &verdict, err);
            if (status == RK_OK && verdict.verdict != RK_FITS) {
                char text[160];
                status = rk_fail(err, RK_ERR_INVALID, "%s, %s: %s", models[i].name,
                                 modes[group->modes[j]].name,
                                 rk_calculon_verdict_text(&verdict, text, sizeof(text)));
            }
        }
    }
    return status;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void print_statistics(const rk_calculon_log *log, const struct group *group,
                             rk_calculon_stats stats[MODELS][MODES])
{
    for (size_t i = 0; i < MODELS; i++) {
        for (size_t j = 0; j < group->mode_count; j++) {
            const rk_calculon_exe exe = execution_of(i, group->modes[j]);
            rk_calculon_log_print(log, RK_LOG_INFO, "%s,%s,%s", models[i].name,
                                  modes[group->modes[j]].name, group->system);
            for (size_t k = 0; k < RK_CALCULON_STATS_COUNT; k++) {
                char text[RK_STAT_TEXT_SIZE];
                rk_calculon_log_print(
                    log, RK_LOG_INFO, "%s,%s", rk_calculon_stat_fields[k].name,
                    rk_calculon_stat_text(&exe, &stats[i][j], &rk_calculon_stat_fields[k], text));
            }
        }
    }
}

static void print_group(const rk_calculon_log *log, const struct group *group,
                        rk_calculon_stats stats[MODELS][MODES])
{
    rk_calculon_log_print(log, RK_LOG_INFO, "%s", group->title);
    for (size_t q = 0; q < group->quantity_count; q++) {
        const struct quantity *quantity = &group->quantities[q];
        double sum = 0.0, worst = 0.0;
        rk_calculon_log_print(log, RK_LOG_INFO, "model,mode,%s published,computed,deviation %%",
                              quantity->name);
        for (size_t i = 0; i < MODELS; i++) {
            for (size_t j = 0; j < group->mode_count; j++) {
                const double published = quantity->published[i][j];
                const double computed = quantity->computed(&stats[i][j], &stats[i][0]);
                const double deviation = 100.0 * (1.0 - computed / published);
                sum += fabs(deviation);
                worst = rk_max(worst, fabs(deviation));
                rk_calculon_log_print(log, RK_LOG_INFO, "%s,%s,%.2f,%.2f,%.2f", models[i].name,
                                      modes[group->modes[j]].name, published, computed, deviation);
            }
        }
        rk_calculon_log_print(log, RK_LOG_INFO, "average absolute deviation %%,%.2f",
                              sum / (double)(MODELS * group->mode_count));
        rk_calculon_log_print(log, RK_LOG_INFO, "maximum absolute deviation %%,%.2f", worst);
    }
}

struct validation {
    rk_calculon_globals globals;
    const char *base;
    bool verbose;
};

static const rk_option options[] = {
    {.name = "base_dir",
     .letter = 'b',
     .offset = offsetof(struct validation, base),
     .value = "DIR",
     .help = "folder of documents to use instead of the built-in ones"},
    {.name = "verbose",
     .letter = 'v',
     .type = RK_OPTION_FLAG,
     .offset = offsetof(struct validation, verbose),
     .help = "print all statistics of each execution as well"},
};

static rk_status check_folder(void *arguments, rk_error *err)
{
    const struct validation *validation = arguments;
    return validation->base && access(validation->base, R_OK | X_OK) != 0
               ? rk_fail(err, RK_ERR_INVALID, "--base_dir: cannot read '%s'", validation->base)
               : RK_OK;
}

static rk_status run(rk_job *job, void *arguments, rk_error *err)
{
    const struct validation *validation = arguments;
    rk_calculon_log log;
    rk_status status = rk_calculon_log_open(job, &validation->globals, &log, err);
    if (status) {
        return status;
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]) && !status; i++) {
        rk_calculon_stats stats[MODELS][MODES];
        status = compute(validation->base, &groups[i], stats, err);
        if (!status && validation->verbose) {
            print_statistics(&log, &groups[i], stats);
        }
        if (!status) {
            print_group(&log, &groups[i], stats);
        }
    }
    rk_job_set_found(job, true);
    return rk_calculon_log_close(&log, status, err);
}

const rk_command rk_command_calculon_lv = {
    .name = "calculon llm-validation",
    .purpose = "Compare 36 computed executions with published measurements (arXiv 2205.05198)",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .shared = rk_calculon_global_options,
    .shared_count = RK_CALCULON_GLOBALS,
    .notes =
        "Models and systems are those of the built-in catalogue.  With --base_dir DIR, a file\n"
        "DIR/applications/NAME.json or DIR/models/NAME.json, and DIR/systems/NAME.json, stands\n"
        "in for the built-in document of that name where it exists.",
    .size = sizeof(struct validation),
    .complete = check_folder,
    .run = run,
};
