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
#include "calculon/published_group.h"
#include "command/commands.h"

#include <math.h>
#include <stddef.h>
#include <unistd.h>

/* ---- printing ------------------------------------------------------------------------------ */

static void print_statistics(const rk_calculon_log *log, const rk_published_group *group,
                             rk_calculon_stats stats[RK_PUBLISHED_MODELS][RK_PUBLISHED_MODES])
{
    for (size_t i = 0; i < RK_PUBLISHED_MODELS; i++) {
        for (size_t j = 0; j < group->mode_count; j++) {
            const rk_calculon_exe exe = rk_published_execution(i, group->modes[j]);
            rk_calculon_log_print(log, RK_LOG_INFO, "%s,%s,%s", rk_published_model_name(i),
                                  rk_published_mode_name(group->modes[j]), group->system);
            for (size_t k = 0; k < RK_CALCULON_STATS_COUNT; k++) {
                char text[RK_STAT_TEXT_SIZE];
                rk_calculon_log_print(
                    log, RK_LOG_INFO, "%s,%s", rk_calculon_stat_fields[k].name,
                    rk_calculon_stat_text(&exe, &stats[i][j], &rk_calculon_stat_fields[k], text));
            }
        }
    }
}

static void print_group(const rk_calculon_log *log, const rk_published_group *group,
                        rk_calculon_stats stats[RK_PUBLISHED_MODELS][RK_PUBLISHED_MODES])
{
    rk_calculon_log_print(log, RK_LOG_INFO, "%s", group->title);
    for (size_t q = 0; q < group->quantity_count; q++) {
        const rk_published_quantity *quantity = &group->quantities[q];
        double sum = 0.0, worst = 0.0;
        rk_calculon_log_print(log, RK_LOG_INFO, "model,mode,%s published,computed,deviation %%",
                              quantity->name);
        for (size_t i = 0; i < RK_PUBLISHED_MODELS; i++) {
            for (size_t j = 0; j < group->mode_count; j++) {
                const double published = quantity->published[i][j];
                const double computed = quantity->computed(&stats[i][j], &stats[i][0]);
                const double deviation = 100.0 * (1.0 - computed / published);
                sum += fabs(deviation);
                worst = rk_max(worst, fabs(deviation));
                rk_calculon_log_print(
                    log, RK_LOG_INFO, "%s,%s,%.2f,%.2f,%.2f", rk_published_model_name(i),
                    rk_published_mode_name(group->modes[j]), published, computed, deviation);
            }
        }
        rk_calculon_log_print(log, RK_LOG_INFO, "average absolute deviation %%,%.2f",
                              sum / (double)(RK_PUBLISHED_MODELS * group->mode_count));
        rk_calculon_log_print(log, RK_LOG_INFO, "maximum absolute deviation %%,%.2f", worst);
    }
}

struct validation {
    rk_calculon_globals globals;
    const char *base;
    bool verbose;
};

static const rk_option options[] = {
    RK_OPTION("base_dir", TEXT, offsetof(struct validation, base), .letter = 'b', .value = "DIR",
              .help = "folder of documents to use instead of the built-in ones"),
    RK_OPTION("verbose", FLAG, offsetof(struct validation, verbose), .letter = 'v',
              .help = "print all statistics of each execution as well"),
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
    for (size_t i = 0; i < RK_PUBLISHED_GROUPS && !status; i++) {
        rk_calculon_stats stats[RK_PUBLISHED_MODELS][RK_PUBLISHED_MODES];
        status = rk_published_evaluate(&rk_published_groups[i], validation->base, stats, err);
        if (!status && validation->verbose) {
            print_statistics(&log, &rk_published_groups[i], stats);
        }
        if (!status) {
            print_group(&log, &rk_published_groups[i], stats);
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
