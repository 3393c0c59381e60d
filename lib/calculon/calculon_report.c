/* SPDX-License-Identifier: Apache-2.0 */
/* Formats Calculon statistics, line by line in the published order. */
#include "calculon/calculon_report.h"

#include "base/text.h"

#include <inttypes.h>
#include <stddef.h>

enum line_style { BYTES, BANDWIDTH, SECONDS, PERCENT, PLAIN };

#define LINE(label, style, field)                                                                  \
    {                                                                                              \
        label, style, offsetof(rk_calculon_stats, field)                                           \
    }

/* The lines below the documents, in the published order; all are doubles. */
static const struct {
    const char *label;
    enum line_style style;
    size_t offset; /* in rk_calculon_stats */
} lines[] = {
    LINE("Weights", BYTES, weight_space),
    LINE("Act", BYTES, act_space),
    LINE("Act CP", BYTES, act_checkpoint_size),
    LINE("Act grad", BYTES, act_grad_space),
    LINE("Weight grad", BYTES, weight_grad_space),
    LINE("Optim space", BYTES, optimizer_space),
    LINE("Batch FW time", SECONDS, fw_time),
    LINE("Batch BW time", SECONDS, bw_time),
    LINE("Batch optim time", SECONDS, optim_step_time),
    LINE("Batch FW offload overhead", SECONDS, fw_offload_exposed_time),
    LINE("Batch BW offload overhead", SECONDS, bw_offload_exposed_time),
    LINE("Batch recompute overhead", SECONDS, recompute_time),
    LINE("Batch recomm overhead", SECONDS, recomm_exposed_time),
    LINE("Batch bubble overhead", SECONDS, bubble_time),
    LINE("Batch TP comm overhead", SECONDS, tp_comm_exposed_time),
    LINE("Batch PP comm overhead", SECONDS, pp_comm_exposed_time),
    LINE("Batch DP comm overhead", SECONDS, dp_comm_exposed_time),
    LINE("Batch TP comm time on link", SECONDS, tp_comm_link_time),
    LINE("Batch PP comm time on link", SECONDS, pp_comm_link_time),
    LINE("Batch DP comm time on link", SECONDS, dp_comm_link_time),
    LINE("Batch total time", SECONDS, total_time),
    LINE("Activation offload required BW", BANDWIDTH, act_offload_bw_req),
    LINE("Weight offload required BW", BANDWIDTH, weight_offload_bw_req),
    LINE("Optimizer offload required BW", BANDWIDTH, optim_offload_bw_req),
    LINE("Total offload required BW", BANDWIDTH, offload_mem_bw_req),
    LINE("Mem tier1 capacity requirement", BYTES, proc_mem_tier1_cap_req),
    LINE("Mem tier2 capacity requirement", BYTES, proc_mem_tier2_cap_req),
    LINE("Mem tier2 BW for offload", BANDWIDTH, offload_mem_bw_req),
    LINE("Compute efficiency", PERCENT, compute_efficiency),
    LINE("System efficiency", PERCENT, system_efficiency),
    LINE("Total efficiency", PERCENT, total_efficiency),
    LINE("Sample rate", PLAIN, sample_rate),
};

static void write_value(FILE *to, enum line_style style, double value)
{
    char text[RK_NUMBER_TEXT_SIZE];
    switch (style) {
    case BYTES:
        (void)fputs(rk_human_text(value, RK_HUMAN_BYTES, text), to);
        break;
    case BANDWIDTH:
        (void)fputs(rk_human_text(value, RK_HUMAN_BANDWIDTH, text), to);
        break;
    case SECONDS:
        (void)fprintf(to, "%.4f", value);
        break;
    case PERCENT:
        (void)fprintf(to, "%.2f%%", value * 100.0);
        break;
    case PLAIN:
        (void)fprintf(to, "%.2f", value);
        break;
    }
}

void rk_calculon_report_write(FILE *to, const rk_calculon_app *app, const rk_calculon_exe *exe,
                              const rk_calculon_stats *stats, const char *execution,
                              const char *system)
{
    const int64_t blocks =
        app->num_blocks / exe->pipeline_par + (app->num_blocks % exe->pipeline_par != 0);

    for (int i = 0; i < 80; i++) {
        (void)fputc('=', to);
    }
    (void)fprintf(to, "\nblocks=%" PRId64 ", hidden=%" PRId64 ", feedforward=%" PRId64 "\n",
                  app->num_blocks, app->hidden, app->feedforward);
    (void)fprintf(to, "num attn heads: %" PRId64 ", attn_size=%" PRId64 "\n", app->attn_heads,
                  app->attn_size);
    (void)fprintf(to, "Run on %" PRId64 " processors with:\n", exe->num_procs);
    (void)fprintf(to, "TP=%" PRId64 "\nPP=%" PRId64 "\nDP=%" PRId64 "\n", exe->tensor_par,
                  exe->pipeline_par, exe->data_par);
    (void)fprintf(to, "Blocks per processor: %" PRId64 "\n", blocks);
    (void)fprintf(to, "Execution: %s;\nSystem: %s;\n", execution, system);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const double *value = (const void *)((const char *)stats + lines[i].offset);
        (void)fprintf(to, "%s: ", lines[i].label);
        write_value(to, lines[i].style, *value);
        (void)fputs(";\n", to);
    }
}
