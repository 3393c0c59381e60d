/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the reckon model as text: inputs, strategy, memory fit, step time, stages, volumes. */
#include "method/answer.h"

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "estimate/stage.h"
#include "io/json.h"
#include "layer/all_kinds.h"
#include "method/brief.h"
#include "method/describe.h"
#include "method/estimate_fields.h"
#include "request/option_values.h"
#include "strategy/optimizer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* ---- numbers that add up -------------------------------------------------------------------- */

double rk_round_next(rk_rounding *r, double part)
{
    assert(r->digit > 0);
    r->sum += part;
    const double before = r->printed;
    r->printed = round(r->sum / r->digit) * r->digit;
    return r->printed - before;
}

/* ---- the question --------------------------------------------------------------------------- */

void rk_write_label(FILE *to, const char *label)
{
    (void)fprintf(to, "%-10s", label);
}

static void write_system(FILE *to, const rk_request *request, const rk_system *system)
{
    const rk_accelerator *a = &system->accelerator;
    char words[RK_WORDS_SIZE];
    rk_write_label(to, "system");
    (void)fprintf(to, "%s: %s, dense TFLOP/s %s\n", rk_json_title(request->system), a->name,
                  rk_describe_matrix(a, words));
    if (request->nodes > 0) {
        char nodes[RK_COUNTED_SIZE], all[RK_COUNTED_SIZE];
        rk_write_label(to, "");
        (void)fprintf(to, "%s of %" PRId64 " = %s\n",
                      rk_counted((uint64_t)request->nodes, rk_request_unit(system), nodes),
                      rk_system_unit_size(system),
                      rk_counted((uint64_t)request->accelerators, "accelerator", all));
    }
    rk_write_label(to, "");
    (void)fprintf(to, "%.1f GiB usable, %.0f GB/s\n", a->memory_usable / GIB,
                  a->memory_bandwidth / 1e9);
    rk_write_label(to, "");
    (void)fprintf(to, "%s GB/s\n", rk_describe_tiers(system, words));
    if (a->measured) {
        rk_write_label(to, "");
        (void)fprintf(to, "measured: %s\n", rk_describe_measured(a, words));
    }
}

/* Numbers of the machine that --set changes. */
static void write_changes(FILE *to, const rk_settings *settings)
{
    for (int i = 0; i < settings->change_count; i++) {
        const rk_number *was = &settings->changed[i];
        rk_write_label(to, i ? "" : "what if");
        (void)fprintf(to, "%s of %.6g %s, not %.6g as in the document\n", was->name,
                      settings->now[i], was->unit, was->value);
    }
}

/* Assumptions: sequence length, batch, rates of the attention kernel. */
static void write_assumed(FILE *to, const rk_request *request, const rk_inputs *inputs)
{
    char number[RK_COUNTED_SIZE], words[RK_WORDS_SIZE];
    const char *label = "assumed";
    if (request->seq == 0 || request->assumed_seq) {
        const int64_t seq = request->seq ? request->seq : inputs->model.seq;
        rk_write_label(to, label);
        (void)fprintf(to, "sequence of %s tokens, %s (--seq)\n",
                      rk_with_commas((uint64_t)seq, number),
                      seq == inputs->model.seq ? "the model's" : "usual in fine-tuning");
        label = "";
    }
    if (request->assumed_batch) {
        rk_write_label(to, label);
        (void)fprintf(to, "global batch of %s, %s (--global-batch)\n",
                      rk_counted((uint64_t)request->global_batch, "sequence", number),
                      request->tuning ? "a micro-batch of each accelerator" : "about 4 M tokens");
        label = "";
    }
    if (rk_describe_kernel(&inputs->system.accelerator, &inputs->software.stack,
                           rk_request_kernel(request), words)) {
        rk_write_label(to, label);
        (void)fprintf(to, "%s\n", words);
    }
}

/* Assumptions about a launch line, and its parts that are not predicted. */
static void write_launch(FILE *to, const rk_request *request)
{
    const rk_launch_line *line = &request->line;
    const char *label = line->file ? "" : "launch";
    if (line->complete && !line->file) {
        rk_write_label(to, label);
        (void)fputs(request->policy < 0
                        ? "a whole job: what the line does not say is Megatron-LM's default\n"
                        : "what is left open is the framework's default\n",
                    to);
        label = "";
    }
    if (rk_request_policy(request) == RK_POLICY_OBSERVED) {
        rk_write_label(to, "observed");
        (void)fputs("what is left open is inferred, as of a run that ran\n", to);
    }
    if (line->plain_states && !line->file) {
        rk_write_label(to, label);
        (void)fputs(line->script || line->megatron
                        ? "ZeRO-0, as the line has no --use-distributed-optimizer\n"
                        : "ZeRO-0, unless --zero or --use-distributed-optimizer is given\n",
                    to);
        label = "";
    }
    if (line->pieces > 1) {
        rk_write_label(to, label);
        (void)fprintf(to,
                      "recomputes all layers, in pieces of %" PRId64
                      "; memory is that of pieces of one\n",
                      line->pieces);
    }
}

void rk_write_software(FILE *to, const rk_request *request, const rk_inputs *inputs)
{
    char reason[RK_REASON_SIZE];
    (void)fprintf(to, "%s; framework %s", inputs->software.stack.name,
                  rk_framework_names[inputs->software.framework]);
    if (inputs->software.source != RK_FRAMEWORK_GIVEN) {
        (void)fprintf(to, " (%s)", rk_framework_reason(inputs, reason));
    }
    (void)fputc('\n', to);
    if (rk_stack_reason(request, inputs, reason)[0]) {
        rk_write_label(to, "");
        (void)fprintf(to, "%s\n", reason);
    }
}

void rk_write_inputs(FILE *to, const rk_request *request, const rk_inputs *inputs)
{
    char words[RK_WORDS_SIZE];
    rk_write_label(to, "model");
    const bool unnamed = rk_json_is_text(request->model) && inputs->model.name[0];
    (void)fprintf(to, "%s: %s\n", unnamed ? inputs->model.name : rk_json_title(request->model),
                  rk_describe_model(&inputs->model, words));
    if (inputs->model.note[0]) {
        rk_write_label(to, "");
        (void)fprintf(to, "%s\n", inputs->model.note);
    }
    write_system(to, request, &inputs->system);
    rk_write_label(to, "stack");
    rk_write_software(to, request, inputs);
    if (request->settings) {
        char settings[RK_WORDS_SIZE];
        rk_write_label(to, "set");
        (void)fprintf(to, "%s\n", rk_json_printable(request->settings, settings, sizeof(settings)));
    }
    write_changes(to, &inputs->settings);
    write_assumed(to, request, inputs);
    if (request->launch) {
        rk_launch_write_text(to, request->launch, true);
    }
    write_launch(to, request);
}

/* Writes a field of a strategy behind a comma. */
static void write_field(FILE *to, const rk_strategy *s, const char *key)
{
    char text[RK_STRATEGY_TEXT_SIZE];
    const size_t field = rk_find_strategy_field(key);
    (void)fprintf(to, ", %s %s", rk_strategy_label(field), rk_strategy_text(s, field, text));
}

void rk_write_origins(FILE *to, const rk_origins *origins)
{
    static const rk_origin shown[] = {RK_ORIGIN_STATED, RK_ORIGIN_SEARCHED, RK_ORIGIN_INFERRED,
                                      RK_ORIGIN_ASSUMED};
    for (size_t i = 0; i < COUNT(shown); i++) {
        bool any = false;
        for (size_t field = 0; field < RK_STRATEGY_FIELD_COUNT; field++) {
            if (origins->of[field] == shown[i]) {
                if (!any) {
                    rk_write_label(to, rk_origin_names[shown[i]]);
                }
                (void)fprintf(to, "%s%s", any ? ", " : "", rk_strategy_key(field));
                any = true;
            }
        }
        if (any) {
            (void)fputc('\n', to);
        }
    }
}

void rk_write_strategy(FILE *to, bool recommended, const rk_strategy *s)
{
    char number[RK_COUNTED_SIZE];
    rk_write_label(to, "strategy");
    (void)fprintf(to,
                  "%s%s: TP %" PRId64 "%s, CP %" PRId64 "%s%s, PP %" PRId64 ", DP %" PRId64
                  ", EP %" PRId64 ", ETP %" PRId64 "; ZeRO-%d",
                  recommended ? RK_MARK_BEST : "",
                  rk_counted((uint64_t)rk_strategy_ranks(s), "accelerator", number), s->tp,
                  s->tp > 1 && s->sp ? " with SP" : "", s->cp, s->cp > 1 ? " by " : "",
                  s->cp > 1 ? rk_cp_kind_names[s->cp_kind] : "", s->pp, s->dp, s->ep, s->etp,
                  (int)s->sharding);
    if (s->replicas > 1) {
        write_field(to, s, "hsdp_replicas");
    }
    if (s->order != RK_ORDER_DATA_PIPELINE) {
        write_field(to, s, "rank_order");
    }
    (void)fputs(recommended ? RK_MARK_END "\n" : "\n", to);
    rk_write_label(to, "");
    (void)fprintf(to,
                  "batch %" PRId64 " = DP %" PRId64 " x %" PRId64 " microbatch%s of %" PRId64
                  ", sequence %" PRId64,
                  s->global_batch, s->dp, rk_strategy_microbatches(s),
                  rk_strategy_microbatches(s) == 1 ? "" : "es", s->micro_batch, s->seq);
    if (s->document > 0) {
        (void)fprintf(to, " of documents of %" PRId64, s->document);
    }
    (void)fputc('\n', to);
    rk_write_label(to, "");
    (void)fprintf(to, "%s schedule", rk_strategy_schedule(s));
    if (s->vp > 1) {
        (void)fprintf(to, " with %" PRId64 " virtual stages per rank", s->vp);
    }
    if (s->layout_count > 0) {
        write_field(to, s, "layout");
    }
    rk_brief_write_split(to, s);
    write_field(to, s, "recompute");
    if (s->recompute == RK_REC_SELECTIVE) {
        write_field(to, s, "recompute_modules");
    }
    if (s->recompute_layers > 0) {
        write_field(to, s, "recompute_layers");
    }
    write_field(to, s, "offload");
    (void)fputc('\n', to);
    rk_write_label(to, "");
    if (rk_is_low(s->precision)) {
        char recipe[RK_STRATEGY_TEXT_SIZE];
        (void)fprintf(to, "%s by the recipe %s, weights in %s\n", rk_precision_names[s->precision],
                      rk_strategy_text(s, rk_find_strategy_field("recipe"), recipe),
                      rk_precision_names[s->low_weights ? s->precision : RK_BF16]);
        rk_write_label(to, "");
    } else {
        (void)fprintf(to, "%s, ", rk_precision_names[s->precision]);
    }
    char kernel[RK_STRATEGY_TEXT_SIZE];
    (void)fprintf(to, "%s attention",
                  rk_strategy_text(s, rk_find_strategy_field("attention"), kernel));
    write_field(to, s, "overlap");
    (void)fprintf(to, ", states of %.4g + %.4g + %.4g bytes per parameter", s->states.weight,
                  s->states.gradient, s->states.optimizer);
    if (s->optimizer != RK_OPTIMIZER_ADAMW) {
        (void)fprintf(to, ", optimizer %s", rk_optimizer_names[s->optimizer]);
    }
    (void)fputc('\n', to);
    if (s->adapter_rank > 0) {
        char on[RK_STRATEGY_TEXT_SIZE];
        rk_write_label(to, "");
        (void)fprintf(to, "adapters of rank %" PRId64 " on %s learn, %.2f %% of the parameters\n",
                      s->adapter_rank,
                      rk_strategy_text(s, rk_find_strategy_field("adapter_modules"), on),
                      100 * s->learning);
    }
}

/* ---- results -------------------------------------------------------------------------------- */

const char *rk_risk_text(double risk, char out[RK_RISK_TEXT_SIZE])
{
    assert(risk >= 0 && risk <= 1);
    (void)snprintf(out, RK_RISK_TEXT_SIZE,
                   risk < 0.01                  ? "< 1 %%"
                   : risk >= RK_RISK_IMPOSSIBLE ? "> 99 %%"
                                                : "%.0f %%",
                   100 * risk);
    return out;
}

/* Allocations at each moment; the one that decides comes first. */
static void write_peaks(FILE *to, const rk_stage_memory *memory)
{
    static const char *const names[] = {"in backward", "at the loss", "in update"};
    const rk_peak most = rk_stage_peak(memory);
    rk_write_label(to, "");
    (void)fprintf(to, "(allocated %s %.1f GiB", names[most], memory->peak[most] / GIB);
    for (int i = 0; i < RK_PEAK_COUNT; i++) {
        if (i != (int)most && memory->peak[i] > 0) {
            (void)fprintf(to, ", %s %.1f", names[i], memory->peak[i] / GIB);
        }
    }
    (void)fputs(")\n", to);
}

/* The likely range of memory, the risk, and in full the runs that they rest on. */
static void write_risk(FILE *to, const rk_answer *answer, bool full)
{
    const rk_estimate *e = &answer->estimate;
    const rk_interval *i = &answer->memory;
    const bool tight = e->risk > RK_RISK_USUAL;
    char risk[RK_RISK_TEXT_SIZE];
    rk_write_label(to, "");
    (void)fprintf(to, "10th to 90th percentile %.1f to %.1f GiB; %srisk of running out %s%s\n",
                  e->memory_low / GIB, e->memory_high / GIB, tight ? RK_MARK_TIGHT : "",
                  rk_risk_text(e->risk, risk), tight ? RK_MARK_END : "");
    if (full) {
        write_peaks(to, &e->memory);
        rk_write_label(to, "");
        (void)fprintf(to, "(memory: %zu runs of %zu model%s, %s)\n", i->runs, i->groups,
                      i->groups == 1 ? "" : "s", i->basis);
    }
}

void rk_write_fit(FILE *to, const rk_inputs *inputs, const rk_answer *answer, bool full)
{
    const rk_estimate *e = &answer->estimate;
    const double host = inputs->system.accelerator.host_capacity;
    const double needed = rk_needed_bytes(&e->memory) / GIB;
    const double usable = e->usable / GIB;
    rk_write_label(to, "memory");
    if (needed > usable) {
        (void)fprintf(to,
                      RK_MARK_TIGHT "does not fit: %.2f GiB on stage %" PRId64
                                    ", %.2f GiB over the %.2f GiB available" RK_MARK_END "\n",
                      needed, e->worst_stage, needed - usable, usable);
    } else if (e->host_bytes > host) {
        (void)fprintf(to,
                      RK_MARK_TIGHT
                      "does not fit: %.2f GiB of host memory per accelerator, %.2f GiB "
                      "available" RK_MARK_END "\n",
                      e->host_bytes / GIB, host / GIB);
    } else {
        (void)fprintf(to, "fits: %.2f of %.2f GiB on stage %" PRId64 ", %.2f GiB left\n", needed,
                      usable, e->worst_stage, usable - needed);
    }
    if (e->thrashes) {
        rk_write_label(to, "");
        (void)fprintf(
            to,
            RK_MARK_TIGHT
            "thrashes: at %.2f GiB the allocator has to free and allocate again" RK_MARK_END "\n",
            e->memory.total / GIB);
    }
    write_risk(to, answer, full);
    if (e->host_bytes > 0 && e->host_bytes <= host) {
        rk_write_label(to, "");
        (void)fprintf(to, "and %.2f of %.2f GiB of host memory an accelerator\n",
                      e->host_bytes / GIB, host / GIB);
    }
    if (e->nvme_bytes > 0) {
        rk_write_label(to, "");
        (void)fprintf(to, "and %.2f GiB on NVMe disks an accelerator\n", e->nvme_bytes / GIB);
    }
}

int rk_largest_part(const rk_stage_memory *memory)
{
    int most = 0;
    for (int i = 1; i < RK_MEMORY_PART_COUNT; i++) {
        most = memory->part[i] > memory->part[most] ? i : most;
    }
    return most;
}

void rk_write_largest_part(FILE *to, const rk_estimate *e)
{
    const int most = rk_largest_part(&e->memory);
    (void)fprintf(to, "To cut: %s, %.2f GiB or %.0f %% of the memory of stage %" PRId64 ".\n",
                  rk_memory_part_names[most], e->memory.part[most] / GIB,
                  100 * e->memory.part[most] / e->memory.total, e->worst_stage);
}

/* The 16-bit format whose peak utilisation is relative to. */
static rk_precision wide_precision(const rk_accelerator *accelerator)
{
    return accelerator->no_bf16 ? RK_FP16 : RK_BF16;
}

/* Utilisation of the peak of the GEMMs' own precision, if that is another. */
static void write_own_peak(FILE *to, const rk_inputs *inputs, const rk_answer *answer)
{
    const rk_accelerator *a = &inputs->system.accelerator;
    const rk_precision precision = answer->strategy.precision;
    const double peak = a->gemm[precision].peak;
    const rk_estimate *e = &answer->estimate;
    const bool same = precision == RK_BF16 || precision == wide_precision(a);
    if (!same && peak > 0) {
        rk_write_label(to, "");
        (void)fprintf(to, "MFU %.2f %%, HFU %.2f %% of the dense %s peak of %.1f TFLOP/s\n",
                      100 * e->model_flops / e->step / peak,
                      100 * e->hardware_flops / e->step / peak, rk_precision_names[precision],
                      peak / 1e12);
    }
}

/* Warns when lower precision makes a step slower. */
static void write_slower_than_bf16(FILE *to, const rk_answer *answer)
{
    const double bf16 = answer->bf16_step, step = answer->estimate.step;
    if (bf16 > 0 && step > bf16) {
        char time[RK_TIME_TEXT_SIZE];
        rk_write_label(to, "");
        (void)fprintf(to, "slower than bf16: the same strategy in bf16 takes %s, %.1f %% less\n",
                      rk_time_text(bf16, time), 100 * (step - bf16) / step);
    }
}

/* Warns when sparse attention makes a step slower, as it does for short sequences. */
static void write_slower_than_dense(FILE *to, const rk_answer *answer)
{
    const double dense = answer->dense_step, step = answer->estimate.step;
    if (dense > 0 && step > dense) {
        char time[RK_TIME_TEXT_SIZE];
        rk_write_label(to, "");
        (void)fprintf(to,
                      "slower than dense attention: with all keys the same strategy takes %s,\n",
                      rk_time_text(dense, time));
        rk_write_label(to, "");
        (void)fprintf(to, "%.1f %% less; picked keys pay in longer sequences\n",
                      100 * (step - dense) / step);
    }
}

void rk_write_slower(FILE *to, const rk_answer *answer)
{
    write_slower_than_bf16(to, answer);
    write_slower_than_dense(to, answer);
}

/* The interval of the step, and the runs it rests on. */
static void write_interval(FILE *to, const rk_answer *answer)
{
    const rk_interval *i = &answer->interval;
    const double step = answer->estimate.step;
    const rk_time_unit unit = rk_time_unit_of(step);
    if (i->runs > 0) {
        rk_write_label(to, "");
        (void)fprintf(to, "10th to 90th percentile %.3g to %.3g %s, by %zu runs of %zu model%s:\n",
                      i->low * step / unit.seconds, i->high * step / unit.seconds, unit.name,
                      i->runs, i->groups, i->groups == 1 ? "" : "s");
        rk_write_label(to, "");
        (void)fprintf(to, "%s\n", i->basis);
    }
}

/*
 * Frameworks count FLOPs of recurrences and indexers with their own formulas, some with sizes that
 * the layer does not have. Shows both counts where they differ.
 */
static void write_executed(FILE *to, const rk_model *model, const rk_estimate *e)
{
    bool usual = true;
    for (int i = 0; i < model->type_count; i++) {
        const rk_mixer *mixer = model->types[i].mixer;
        usual = usual && (mixer == &rk_mixer_grouped || mixer == &rk_mixer_latent);
    }
    if (!usual) {
        rk_write_label(to, "");
        (void)fprintf(to, "%.2f GFLOP a token by this convention, %.2f executed (%+.1f %%)\n",
                      e->counted_flops / 1e9, e->executed_flops / 1e9,
                      100 * (e->executed_flops / e->counted_flops - 1));
    }
}

void rk_write_summary(FILE *to, const rk_inputs *inputs, const rk_answer *answer)
{
    const rk_estimate *e = &answer->estimate;
    const rk_accelerator *a = &inputs->system.accelerator;
    const double ranks = (double)rk_strategy_ranks(&answer->strategy);
    char tokens[RK_COMMAS_SIZE], step[RK_TIME_TEXT_SIZE];
    rk_write_label(to, "step");
    (void)fprintf(to, "%s; %s tokens/s, %.1f tokens/s/GPU, %.1f TFLOP/s/GPU\n",
                  rk_time_text(e->step, step),
                  rk_with_commas((uint64_t)llround(e->tokens_per_second), tokens),
                  e->tokens_per_second / ranks, e->model_flops / e->step / 1e12);
    write_interval(to, answer);
    rk_write_label(to, "");
    (void)fprintf(
        to, "MFU %.2f %%, HFU %.2f %% of the dense %s peak of %.1f TFLOP/s (FLOP convention: %s)\n",
        100 * e->mfu, 100 * e->hfu, rk_precision_names[wide_precision(a)],
        a->gemm[RK_BF16].peak / 1e12, rk_flop_convention_names[e->convention]);
    write_executed(to, &inputs->model, e);
    write_own_peak(to, inputs, answer);
    rk_write_slower(to, answer);
    rk_write_fit(to, inputs, answer, true);
}

rk_status rk_write_time(FILE *to, const rk_estimate *estimate, rk_table_style style, rk_error *err)
{
    const rk_time_unit unit = rk_time_unit_of(estimate->step);
    const rk_table_column columns[] = {
        {"time of a step", RK_ALIGN_LEFT}, {unit.name, RK_ALIGN_RIGHT}, {"%", RK_ALIGN_RIGHT}};
    rk_rounding time = {.digit = 1e-3}, percent = {.digit = 1e-2};
    rk_table table;
    rk_table_init(&table, columns, COUNT(columns));
    for (int i = 0; i < RK_PART_COUNT; i++) {
        const double seconds = estimate->times.part[i];
        const double shown = rk_round_next(&time, seconds / unit.seconds);
        const double share = rk_round_next(&percent, 100 * seconds / estimate->step);
        if (shown > 0) {
            rk_table_cell(&table, "%s", rk_part_names[i]);
            rk_table_cell(&table, "%.3f", shown);
            rk_table_cell(&table, "%.2f", share);
        }
    }
    rk_table_rule(&table);
    rk_table_cell(&table, "step");
    rk_table_cell(&table, "%.3f", time.printed);
    rk_table_cell(&table, "%.2f", percent.printed);
    return rk_write_table(to, &table, style, err);
}

static void add_memory_row(rk_table *table, const char *name, double gib)
{
    rk_table_cell(table, "%s", name);
    rk_table_cell(table, "%.3f", gib);
}

rk_status rk_write_memory(FILE *to, const rk_answer *answer, rk_table_style style, rk_error *err)
{
    const rk_estimate *e = &answer->estimate;
    char title[48];
    const rk_table_column columns[] = {{title, RK_ALIGN_LEFT}, {"GiB", RK_ALIGN_RIGHT}};
    rk_rounding sum = {.digit = 1e-3};
    rk_table table;
    (void)snprintf(title, sizeof(title), "memory of stage %" PRId64, e->worst_stage);
    rk_table_init(&table, columns, COUNT(columns));
    for (int i = 0; i < RK_MEMORY_PART_COUNT; i++) {
        if (i == RK_MEM_FRAGMENTATION || i == RK_MEM_CONTEXT) {
            rk_table_rule(&table);
            add_memory_row(&table, i == RK_MEM_CONTEXT ? "reserved" : "allocated", sum.printed);
        }
        if (e->memory.part[i] > 0) {
            add_memory_row(&table, rk_memory_part_names[i],
                           rk_round_next(&sum, e->memory.part[i] / GIB));
        }
    }
    rk_table_rule(&table);
    add_memory_row(&table, "total", sum.printed);
    if (e->memory.late > 0) {
        add_memory_row(&table, "of it reclaimable", e->memory.late / GIB);
        add_memory_row(&table, "needed", rk_needed_bytes(&e->memory) / GIB);
    }
    add_memory_row(&table, "available", e->usable / GIB);
    return rk_write_table(to, &table, style, err);
}

/*
 * The layers that the chunks of a pipeline rank hold, and whether it holds the embedding or the
 * head.
 */
static int rank_layers(const rk_chunk *chunks, int64_t count, bool *embedding, bool *head)
{
    int layers = 0;
    *embedding = *head = false;
    for (int64_t i = 0; i < count; i++) {
        layers += chunks[i].count;
        *embedding = *embedding || chunks[i].embedding;
        *head = *head || chunks[i].head;
    }
    return layers;
}

rk_status rk_write_stages(FILE *to, const rk_inputs *inputs, const rk_answer *answer,
                          rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"stage", RK_ALIGN_LEFT},           {"layers", RK_ALIGN_RIGHT},
        {"allocated, GiB", RK_ALIGN_RIGHT}, {"reserved, GiB", RK_ALIGN_RIGHT},
        {"need, GiB", RK_ALIGN_RIGHT},      {"left, GiB", RK_ALIGN_RIGHT}};
    const int64_t v = rk_stage_chunks(&answer->strategy);
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_table table;
    rk_strategy_chunks(&inputs->model, &answer->strategy, chunks);
    rk_table_init(&table, columns, COUNT(columns));
    for (int64_t i = 0; i < answer->strategy.pp; i++) {
        const rk_stage_memory *memory = &answer->stages[i];
        bool embedding, head;
        const int layers = rank_layers(&chunks[i * v], v, &embedding, &head);
        rk_table_cell(&table, "%" PRId64 "%s%s", i, embedding ? " +embedding" : "",
                      head ? " +head" : "");
        rk_table_cell(&table, "%d", layers);
        rk_table_cell(&table, "%.2f", memory->allocated / GIB);
        rk_table_cell(&table, "%.2f", memory->reserved / GIB);
        rk_table_cell(&table, "%.2f", rk_needed_bytes(memory) / GIB);
        rk_table_cell(&table, "%.2f", (answer->estimate.usable - rk_needed_bytes(memory)) / GIB);
    }
    return rk_write_table(to, &table, style, err);
}

/* ---- communication -------------------------------------------------------------------------- */

/* Adds a cell "NVLink4 (8), NDR InfiniBand": the tiers in use, and ranks in each but the last. */
static void add_placement(rk_table *table, const rk_system *system, const rk_group *group)
{
    char text[RK_WORDS_SIZE] = "";
    size_t used = 0;
    int64_t below = 1;
    for (int i = 0; i < system->tier_count && below < group->size && used < sizeof(text); i++) {
        const bool last = group->within[i] == group->size;
        if (group->within[i] > below) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
                                     system->tiers[i].name);
            if (!last) {
                used += (size_t)snprintf(text + used, sizeof(text) - used, " (%" PRId64 ")",
                                         group->within[i]);
            }
            below = group->within[i];
        }
    }
    rk_table_cell(table, "%s", text);
}

rk_status rk_write_volumes(FILE *to, const rk_inputs *inputs, const rk_answer *answer,
                           rk_table_style style, rk_error *err)
{
    const rk_estimate *e = &answer->estimate;
    const rk_time_unit unit = rk_time_unit_of(e->step);
    char visible[RK_TIME_TITLE_SIZE];
    const rk_table_column columns[] = {{"communication", RK_ALIGN_LEFT},
                                       {"ranks", RK_ALIGN_RIGHT},
                                       {"sent, GiB", RK_ALIGN_RIGHT},
                                       {rk_time_title("visible", unit, visible), RK_ALIGN_RIGHT},
                                       {"over", RK_ALIGN_LEFT}};
    const struct {
        const char *name;
        rk_group_kind kind;
        double bytes;
        rk_part part;
    } rows[] = {
        {"tensor", RK_GROUP_TENSOR, e->volumes.tensor, RK_PART_TP},
        {"context", RK_GROUP_CONTEXT, e->volumes.context, RK_PART_CP},
        {"expert", RK_GROUP_EXPERT, e->volumes.expert, RK_PART_EP},
        {"pipeline", RK_GROUP_PIPELINE, e->volumes.pipeline, RK_PART_PP},
        {"data", RK_GROUP_DATA, e->volumes.data, RK_PART_DP},
    };
    rk_table table;
    rk_table_init(&table, columns, COUNT(columns));
    for (size_t i = 0; i < COUNT(rows); i++) {
        const rk_group group = rk_strategy_group(&inputs->system, &answer->strategy, rows[i].kind);
        if (group.size > 1) {
            rk_table_cell(&table, "%s", rows[i].name);
            rk_table_cell(&table, "%" PRId64, group.size);
            rk_table_cell(&table, "%.2f", rows[i].bytes / GIB);
            rk_table_cell(&table, "%.3f", e->times.part[rows[i].part] / unit.seconds);
            add_placement(&table, &inputs->system, &group);
        }
    }
    const rk_status status = table.cell_count ? rk_write_table(to, &table, style, err) : RK_OK;
    rk_table_clear(&table);
    return status;
}

/* ---- why ------------------------------------------------------------------------------------ */

/* One sentence: the hardware number that matters most, and what costs most time. */
static void write_bound(FILE *to, const rk_estimate *e, const rk_sensitivity *worth)
{
    int most = 0;
    for (int i = 1; i < RK_PART_COUNT; i++) {
        most = e->times.part[i] > e->times.part[most] ? i : most;
    }
    (void)fprintf(to, "Of the step, %.1f %% is %s; ", 100 * e->times.part[most] / e->step,
                  rk_part_names[most]);
    const double gain = 100 * (e->step - worth->step) / e->step;
    if (gain < 0.05) {
        (void)fprintf(to, "no single hardware number limits it.\n");
    } else {
        (void)fprintf(to, "%s10 %% %s saves %.1f %%.\n", worth->lower ? "-" : "+", worth->name,
                      gain);
    }
}

rk_status rk_write_explanation(FILE *to, const rk_answer *answer,
                               const rk_sensitivities *sensitivities, rk_table_style style,
                               rk_error *err)
{
    const rk_sensitivity *worth = sensitivities->items;
    const size_t count = sensitivities->count;
    const rk_estimate *e = &answer->estimate;
    const rk_time_unit unit = rk_time_unit_of(e->step);
    char step[RK_TIME_TITLE_SIZE], saves[RK_TIME_TITLE_SIZE];
    const rk_table_column columns[] = {{"if 10 % better", RK_ALIGN_LEFT},
                                       {"from", RK_ALIGN_RIGHT},
                                       {"unit", RK_ALIGN_LEFT},
                                       {rk_time_title("step", unit, step), RK_ALIGN_RIGHT},
                                       {rk_time_title("saves", unit, saves), RK_ALIGN_RIGHT},
                                       {"saves, %", RK_ALIGN_RIGHT}};
    rk_table table;
    write_bound(to, e, &worth[0]);
    (void)fputc('\n', to);
    rk_table_init(&table, columns, COUNT(columns));
    for (size_t i = 0; i < count; i++) {
        rk_table_cell(&table, "%s", worth[i].name);
        rk_table_cell(&table, "%.5g", worth[i].value);
        rk_table_cell(&table, "%s", worth[i].unit);
        rk_table_cell(&table, "%.3f", worth[i].step / unit.seconds);
        rk_table_cell(&table, "%.3f", (e->step - worth[i].step) / unit.seconds);
        rk_table_cell(&table, "%.2f", 100 * (e->step - worth[i].step) / e->step);
    }
    const rk_status status = rk_write_table(to, &table, style, err);
    for (size_t i = 0; i < count && !status; i++) {
        char changes[RK_WORDS_SIZE];
        if (worth[i].changes) {
            (void)fprintf(to, "\nMore %s would allow: %s.\n", worth[i].name,
                          rk_strategy_changes(&answer->strategy, &worth[i].strategy, changes,
                                              sizeof(changes)));
        }
    }
    return status;
}
