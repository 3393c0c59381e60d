/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the reckon model as JSON and CSV: request, intervals, origins, launch files. */
#include "method/answer.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/time_text.h"
#include "base/units.h"
#include "framework/launch_file.h"
#include "io/json.h"
#include "launch/launch.h"
#include "method/describe.h"
#include "method/estimate_fields.h"
#include "request/option_values.h"
#include "system/measured.h"

/* The member "what_if": numbers of the machine, by key, as in its document and as --set has them.
 */
static void write_changes(rk_json_writer *writer, const rk_settings *settings)
{
    rk_json_open_member(writer, "what_if", "{");
    for (int i = 0; i < settings->change_count; i++) {
        rk_json_open_member(writer, settings->changed[i].key, "{");
        rk_json_real(writer, "value", settings->now[i]);
        rk_json_real(writer, "document", settings->changed[i].value);
        rk_json_string(writer, "unit", settings->changed[i].unit);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "}");
}

void rk_request_write_json(rk_json_writer *writer, const rk_request *request,
                           const rk_inputs *inputs)
{
    const rk_model_params params = rk_model_params_of(&inputs->model);
    const rk_accelerator *accelerator = &inputs->system.accelerator;
    char reason[RK_REASON_SIZE], words[RK_WORDS_SIZE];
    rk_json_open_member(writer, "request", "{");
    rk_json_string(writer, "model", rk_json_title(request->model));
    rk_json_string(writer, "system", rk_json_title(request->system));
    rk_json_string(writer, "stack", inputs->software.stack.name);
    rk_json_string(writer, "framework", rk_framework_names[inputs->software.framework]);
    rk_json_string(writer, "framework_reason", rk_framework_reason(inputs, reason));
    if (rk_stack_reason(request, inputs, reason)[0]) {
        rk_json_string(writer, "stack_reason", reason);
    }
    const char *kernel =
        rk_describe_kernel(accelerator, &inputs->software.stack, rk_request_kernel(request), words);
    if (request->settings) {
        rk_json_string(writer, "set", request->settings);
    }
    if (inputs->settings.change_count > 0) {
        write_changes(writer, &inputs->settings);
    }
    rk_json_string(writer, "completion", rk_policy_names[rk_request_policy(request)]);
    const bool assumes_seq = request->seq == 0 || request->assumed_seq;
    if (assumes_seq || request->assumed_batch || request->line.plain_states || kernel) {
        rk_json_open_member(writer, "assumed", "{");
        if (assumes_seq) {
            rk_json_count(writer, "seq",
                          (uint64_t)(request->seq ? request->seq : inputs->model.seq));
        }
        if (request->assumed_batch) {
            rk_json_count(writer, "global_batch", (uint64_t)request->global_batch);
        }
        if (request->line.plain_states) {
            rk_json_count(writer, "zero", RK_SHARD_NONE);
        }
        if (kernel) {
            rk_json_string(writer, "attention_kernel", kernel);
        }
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "}");
    if (request->launch) {
        rk_json_open_member(writer, "launch", "{");
        rk_launch_write_json(writer, request->launch);
        rk_json_close(writer, "}");
    }
    rk_json_open_member(writer, "model", "{");
    rk_json_count(writer, "parameters", (uint64_t)params.total);
    rk_json_count(writer, "active_parameters", (uint64_t)params.active);
    if (inputs->model.mtp_layers > 0) {
        rk_json_count(writer, "mtp_parameters", (uint64_t)params.mtp);
    }
    if (inputs->model.note[0]) {
        rk_json_string(writer, "note", rk_json_title(inputs->model.note));
    }
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "system", "{");
    rk_json_string(writer, "accelerator", accelerator->name);
    rk_json_real(writer, "bf16_peak_flops_per_s", accelerator->gemm[RK_BF16].peak);
    rk_json_real(writer, "memory_usable_bytes", accelerator->memory_usable);
    rk_json_real(writer, "host_memory_bytes", accelerator->host_capacity);
    rk_json_count(writer, "measured_gemms",
                  rk_measured_count(accelerator->measured, RK_KERNEL_GEMM));
    rk_json_count(writer, "measured_attention_kernels",
                  rk_measured_count(accelerator->measured, RK_KERNEL_ATTENTION));
    rk_json_count(writer, "measured_collectives",
                  rk_measured_count(accelerator->measured, RK_KERNEL_COLLECTIVE));
    rk_json_close(writer, "}");
}

/* The member "memory_interval": the likely range of what a run needs, and the runs it rests on. */
static void write_memory_interval(rk_json_writer *writer, const rk_answer *answer)
{
    const rk_interval *interval = &answer->memory;
    rk_json_open_member(writer, "memory_interval", "{");
    rk_json_real(writer, "memory_p10_bytes", answer->estimate.memory_low);
    rk_json_real(writer, "memory_p90_bytes", answer->estimate.memory_high);
    rk_json_count(writer, "runs", interval->runs);
    rk_json_count(writer, "models", interval->groups);
    rk_json_string(writer, "comparable", interval->basis);
    rk_json_close(writer, "}");
}

/* The member "interval": the likely range of the measured step, and the runs it rests on. */
static void write_interval(rk_json_writer *writer, const rk_answer *answer)
{
    const rk_interval *interval = &answer->interval;
    rk_json_open_member(writer, "interval", "{");
    rk_json_real(writer, "step_p10_s", interval->low * answer->estimate.step);
    rk_json_real(writer, "step_p90_s", interval->high * answer->estimate.step);
    rk_json_count(writer, "runs", interval->runs);
    rk_json_count(writer, "models", interval->groups);
    rk_json_string(writer, "comparable", interval->basis);
    rk_json_close(writer, "}");
}

void rk_answer_write_json(rk_json_writer *writer, const rk_answer *answer)
{
    rk_strategy_write_json(writer, &answer->strategy);
    rk_estimate_write_json(writer, &answer->strategy, &answer->estimate);
    if (answer->interval.runs > 0) {
        write_interval(writer, answer);
    }
    write_memory_interval(writer, answer);
    if (answer->bf16_step > 0) {
        rk_json_real(writer, "bf16_step_s", answer->bf16_step);
    }
    rk_stages_write_json(writer, answer->stages, answer->strategy.pp, answer->estimate.usable);
}

void rk_origins_write_json(rk_json_writer *writer, const rk_origins *origins)
{
    rk_json_open_member(writer, "provenance", "{");
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        rk_json_string(writer, rk_strategy_key(i), rk_origin_names[origins->of[i]]);
    }
    rk_json_close(writer, "}");
}

void rk_explanation_write_json(rk_json_writer *writer, const rk_answer *answer,
                               const rk_sensitivities *sensitivities)
{
    const rk_sensitivity *worth = sensitivities->items;
    const double step = answer->estimate.step;
    rk_json_open_member(writer, "explanation", "[");
    for (size_t i = 0; i < sensitivities->count; i++) {
        char changes[512];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "number", worth[i].key);
        rk_json_string(writer, "name", worth[i].name);
        rk_json_real(writer, "value", worth[i].value);
        rk_json_string(writer, "unit", worth[i].unit);
        rk_json_real(writer, "factor", worth[i].lower ? RK_LESS : RK_MORE);
        rk_json_real(writer, "step_s", worth[i].step);
        rk_json_real(writer, "saved_s", step - worth[i].step);
        rk_json_real(writer, "saved_share", (step - worth[i].step) / step);
        if (worth[i].changes) {
            rk_json_string(writer, "change",
                           rk_strategy_changes(&answer->strategy, &worth[i].strategy, changes,
                                               sizeof(changes)));
        }
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

void rk_answers_write_lines(rk_out *out, const rk_answer *answers, size_t count)
{
    rk_estimate_write_csv_header(out, "");
    for (size_t i = 0; i < count; i++) {
        rk_estimate_write_csv_row(out, i + 1, &answers[i].strategy, &answers[i].estimate, "");
    }
}

/* What the file does not say, as lines for the caller. */
static void remark_launch(const rk_estimate *e, const rk_launch_notes *notes,
                          rk_remark_line *remark, void *user)
{
    char line[256];
    for (int i = 0; i < notes->count; i++) {
        (void)snprintf(line, sizeof(line), "warning: not expressed in the launch file: %s",
                       notes->words[i]);
        remark(user, line);
    }
    if (!e->fits) {
        (void)snprintf(line, sizeof(line),
                       "warning: the strategy of the launch file does not fit: it needs %.1f of "
                       "%.1f GiB",
                       rk_needed_bytes(&e->memory) / GIB, e->usable / GIB);
        remark(user, line);
    }
}

rk_status rk_answer_write_launch(const rk_answer *answer, const rk_inputs *inputs, int kind,
                                 rk_out *out, rk_remark_line *remark, void *user, rk_error *err)
{
    const rk_estimate *e = &answer->estimate;
    rk_launch_notes notes = {0};
    char title[160], step[RK_TIME_TEXT_SIZE];
    (void)snprintf(title, sizeof(title), "reckon %s: %s a step, MFU %.1f %%, %.1f of %.1f GiB%s",
                   rk_version(), rk_time_text(e->step, step), 100 * e->mfu,
                   rk_needed_bytes(&e->memory) / GIB, e->usable / GIB,
                   e->fits ? "" : ": it does not fit");
    const rk_launch_file launch = {.model = &inputs->model,
                                   .system = &inputs->system,
                                   .stack = &inputs->software.stack,
                                   .strategy = &answer->strategy,
                                   .title = title,
                                   .notes = &notes};
    const rk_status status = rk_launch_kinds[kind].write(&launch, out, err);
    if (status) {
        rk_out_abandon(out);
        return status;
    }
    if (remark) {
        remark_launch(e, &notes, remark, user);
    }
    return rk_out_close(out, err);
}

rk_status rk_answer_launch_text(const rk_answer *answer, const rk_inputs *inputs, int kind,
                                rk_remark_line *remark, void *user, char **text, rk_error *err)
{
    rk_bytes written = {0};
    rk_out *out = NULL;
    rk_status status = rk_out_open_writer(rk_bytes_take_in, &written, &out, err);
    if (!status) {
        status = rk_answer_write_launch(answer, inputs, kind, out, remark, user, err);
    }
    rk_bytes_add(&written, "", 1);
    if (!status && written.failed) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for a launch file");
    }
    if (status) {
        rk_bytes_clear(&written);
        return status;
    }
    *text = (char *)written.data;
    return RK_OK;
}
