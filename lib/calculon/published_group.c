/* SPDX-License-Identifier: Apache-2.0 */
/* Figures 1 and 7 and Table 5 of arXiv 2205.05198, next to the values of the model. */
#include "calculon/published_group.h"

#include "base/error.h"
#include "calculon/calculon_write.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

/* ---- what was measured ------------------------------------------------------------------- */

enum mode { NONE, SEQ, SEL, SEQSEL, FULL };

static const struct {
    const char *name;
    int64_t num_procs, pipeline_par, batch_size, microbatch_size, interleaving;
} models[RK_PUBLISHED_MODELS] = {
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
} modes[RK_PUBLISHED_MODES] = {
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

const rk_published_group rk_published_groups[RK_PUBLISHED_GROUPS] = {
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

rk_calculon_exe rk_published_execution(size_t model, int mode)
{
    assert(model < RK_PUBLISHED_MODELS && mode >= 0 && mode < RK_PUBLISHED_MODES);
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

rk_status rk_published_evaluate(const rk_published_group *group, const char *base,
                                rk_calculon_stats stats[RK_PUBLISHED_MODELS][RK_PUBLISHED_MODES],
                                rk_error *err)
{
    static const char *const app_folders[] = {"applications", "models", NULL};
    static const char *const sys_folders[] = {"systems", NULL};
    char path[4096];
    rk_calculon_sys sys;
    rk_status status = rk_calculon_sys_load(find_document(base, sys_folders, group->system, path),
                                            true, &sys, err);
    for (size_t i = 0; i < RK_PUBLISHED_MODELS && status == RK_OK; i++) {
        rk_calculon_app app;
        status = rk_calculon_app_load(find_document(base, app_folders, models[i].name, path), true,
                                      &app, err);
        for (size_t j = 0; j < group->mode_count && status == RK_OK; j++) {
            const rk_calculon_exe exe = rk_published_execution(i, group->modes[j]);
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

const char *rk_published_model_name(size_t model)
{
    assert(model < RK_PUBLISHED_MODELS);
    return models[model].name;
}

const char *rk_published_mode_name(int mode)
{
    assert(mode >= 0 && mode < RK_PUBLISHED_MODES);
    return modes[mode].name;
}
