/* SPDX-License-Identifier: Apache-2.0 */
/* Short text answers: question, strategy, time shares and totals within a screen. */
#include "method/brief.h"

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "method/describe.h"
#include "request/option_values.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- the question ---------------------------------------------------------------------------- */

enum { COLUMNS = 80, LABEL_COLUMNS = 10 };

/* Name and sizes in one line: without the last sizes that have no room. */
static void write_model(FILE *to, const char *name, char *sizes)
{
    char *comma;
    while (LABEL_COLUMNS + strlen(name) + strlen(": ") + strlen(sizes) > COLUMNS &&
           (comma = strrchr(sizes, ','))) {
        *comma = '\0';
    }
    rk_write_label(to, "model");
    (void)fprintf(to, "%s: %s\n", name, sizes);
}

/* Memory and tiers in one line: "usable" goes where it has no room. */
static void write_system(FILE *to, const rk_accelerator *a, const char *tiers)
{
    const double usable = a->memory_usable / GIB;
    const int length = snprintf(NULL, 0, "%s, %.1f GiB usable; %s GB/s", a->name, usable, tiers);
    rk_write_label(to, "system");
    (void)fprintf(to, "%s, %.1f GiB%s; %s GB/s\n", a->name, usable,
                  LABEL_COLUMNS + length > COLUMNS ? "" : " usable", tiers);
}

/* Numbers of the system that --set changes: "NVLink4 domain of 64, not 8; usable memory ...". */
static void write_changes(FILE *to, const rk_settings *settings)
{
    for (int i = 0; i < settings->change_count; i++) {
        if (i == 0) {
            rk_write_label(to, "set");
        }
        const rk_number *number = &settings->changed[i];
        const bool domain = number->kind == RK_NUMBER_DOMAIN;
        (void)fprintf(to, "%s%s %s%.5g%s%s, not %.5g", i ? "; " : "", number->name,
                      domain ? "of " : "", settings->now[i], domain ? "" : " ",
                      domain ? "" : number->unit, number->value);
    }
    (void)fputs(settings->change_count > 0 ? "\n" : "", to);
}

#define LARGE_BATCH 1e9 /* tokens: more likely counted in tokens by mistake than meant */

/* "64 accelerators, 512 sequences of 8,192 tokens (assumed -b, --seq)". */
static void write_batch(FILE *to, const rk_request *request, const rk_inputs *inputs,
                        int64_t accelerators)
{
    const int64_t seq = request->seq ? request->seq : inputs->model.seq;
    const bool assumes_seq = !request->seq || request->assumed_seq;
    const char *assumed = request->assumed_batch && assumes_seq ? " (assumed -b, --seq)"
                          : request->assumed_batch              ? " (assumed -b)"
                          : assumes_seq                         ? " (assumed --seq)"
                                                                : "";
    char number[RK_COUNTED_SIZE];
    rk_write_label(to, "question");
    if (accelerators > 0) {
        (void)fprintf(to, "%s, ", rk_counted((uint64_t)accelerators, "accelerator", number));
    }
    (void)fprintf(to, "%s of ",
                  request->global_batch > 0
                      ? rk_counted((uint64_t)request->global_batch, "sequence", number)
                      : "sequences");
    const double tokens = (double)request->global_batch * (double)seq;
    (void)fprintf(to, "%s%s", rk_counted((uint64_t)seq, "token", number), assumed);
    if (!request->assumed_batch && tokens >= LARGE_BATCH) {
        char all[RK_NUMBER_TEXT_SIZE];
        (void)fprintf(to, ": %s tokens a step", rk_count_text(tokens, all));
    }
    (void)fputc('\n', to);
}

void rk_brief_write_question(FILE *to, const rk_request *request, const rk_inputs *inputs,
                             int64_t accelerators)
{
    const rk_accelerator *a = &inputs->system.accelerator;
    char words[RK_WORDS_SIZE];
    const bool unnamed = rk_json_is_text(request->model) && inputs->model.name[0];
    (void)rk_describe_model(&inputs->model, words);
    write_model(to, unnamed ? inputs->model.name : rk_json_title(request->model), words);
    write_system(to, a, rk_describe_tiers(&inputs->system, words));
    rk_write_label(to, "software");
    rk_write_software(to, request, inputs);
    write_changes(to, &inputs->settings);
    write_batch(to, request, inputs, accelerators);
    if (rk_describe_kernel(a, &inputs->software.stack, rk_request_kernel(request), words)) {
        rk_write_label(to, "assumed");
        (void)fprintf(to, "%s\n", words);
    }
    if (request->launch) {
        rk_launch_write_text(to, request->launch, false);
    }
}

/* ---- the strategy ---------------------------------------------------------------------------- */

static void write_degree(FILE *to, const char *name, int64_t degree)
{
    if (degree > 1) {
        (void)fprintf(to, ", %s %" PRId64, name, degree);
    }
}

/* A field of a strategy that differs from its plain value, behind a comma. */
static void write_field(FILE *to, const rk_strategy *s, const char *key, const char *plain)
{
    char room[RK_STRATEGY_TEXT_SIZE];
    const size_t field = rk_find_strategy_field(key);
    const char *text = rk_strategy_text(s, field, room);
    if (strcmp(text, plain) != 0) {
        (void)fprintf(to, ", %s %s", rk_strategy_label(field), text);
    }
}

void rk_brief_write_split(FILE *to, const rk_strategy *s)
{
    static const char *const counted[] = {"", ", embedding as layer", ", head as layer",
                                          ", embedding and head as layers"};
    char number[RK_COUNTED_SIZE];
    if (s->first_stage_layers > 0) {
        (void)fprintf(to, ", %s on the first rank",
                      rk_counted((uint64_t)s->first_stage_layers, "layer", number));
    }
    if (s->last_stage_layers > 0) {
        (void)fprintf(to, ", %s on the last rank",
                      rk_counted((uint64_t)s->last_stage_layers, "layer", number));
    }
    (void)fputs(counted[(s->count_embedding ? 1 : 0) + (s->count_head ? 2 : 0)], to);
}

/*
 * Types of states and overlap, where a search over all frameworks chooses them: those that are not
 * the default of `framework`.
 */
static void write_states(FILE *to, rk_framework framework, const rk_strategy *s)
{
    if (!rk_framework_of(framework)->all) {
        return;
    }
    const rk_state_request none = {.weight = 0};
    const rk_state_recipe usual = rk_framework_states(framework, s->precision, &none);
    const double learning = rk_strategy_learning(s);
    if (s->states.weight > 1.5 * usual.weight) {
        (void)fputs(", weights in fp32", to);
    }
    if (s->states.reduce < 0.75 * learning * usual.reduce) {
        (void)fputs(", gradients in 16 bits", to); /* bf16, or fp16 as the products */
    }
    if (s->tp > 1 && !s->sp && s->tp_overlap) {
        write_field(to, s, "overlap", "none");
    }
}

void rk_brief_write_strategy(FILE *to, rk_framework framework, bool recommended,
                             const rk_strategy *s)
{
    const char *begin = recommended ? RK_MARK_BEST : "", *end = recommended ? RK_MARK_END : "";
    const bool selective = s->recompute == RK_REC_SELECTIVE;
    char modules[RK_STRATEGY_TEXT_SIZE];
    rk_write_label(to, recommended ? "best" : "strategy");
    (void)fprintf(to, "%sTP %" PRId64 "%s", begin, s->tp, s->tp > 1 && s->sp ? " with SP" : "");
    write_degree(to, "CP", s->cp);
    write_degree(to, "PP", s->pp);
    write_degree(to, "VP", s->vp);
    write_degree(to, "EP", s->ep);
    write_degree(to, "ETP", s->etp);
    (void)fprintf(to, ", DP %" PRId64 ", ZeRO-%d", s->dp, (int)s->sharding);
    write_degree(to, "HSDP", s->replicas);
    (void)fprintf(to, ", micro-batch %" PRId64 "%s\n", s->micro_batch, end);
    rk_write_label(to, "");
    (void)fprintf(
        to, "%srecompute %s%s%s%s", begin, rk_recompute_kind_names[s->recompute],
        selective ? " (" : "",
        selective ? rk_strategy_text(s, rk_find_strategy_field("recompute_modules"), modules) : "",
        selective ? ")" : "");
    if (s->recompute_layers > 0) {
        (void)fprintf(to, " of %" PRId64 " layers per stage", s->recompute_layers);
    }
    if (s->cp > 1) {
        (void)fprintf(to, ", CP by %s", rk_cp_kind_names[s->cp_kind]);
    }
    if (s->pp > 1) {
        (void)fprintf(to, ", %s", rk_strategy_schedule(s));
    }
    rk_brief_write_split(to, s);
    write_field(to, s, "rank_order", "tp-cp-dp-pp");
    (void)fprintf(to, ", %s", rk_precision_names[s->precision]);
    write_states(to, framework, s);
    write_field(to, s, "offload", "none");
    write_field(to, s, "layout", "none");
    if (s->adapter_rank > 0) {
        (void)fprintf(to, ", adapters of rank %" PRId64, s->adapter_rank);
    }
    (void)fprintf(to, "%s\n", end);
}

/* ---- results --------------------------------------------------------------------------------- */

void rk_brief_write_shares(FILE *to, const char *const *names, const double *parts, int count,
                           double total, int most)
{
    assert(count >= 0 && count <= 64 && total > 0);
    uint64_t written = 0; /* a bit each */
    for (int shown = 0; shown < most; shown++) {
        int next = -1;
        for (int i = 0; i < count; i++) {
            next = !(written >> i & 1) && (next < 0 || parts[i] > parts[next]) ? i : next;
        }
        if (next < 0 || !(parts[next] >= 0.0005 * total)) {
            break;
        }
        (void)fprintf(to, "%s%s %.1f %%", shown ? ", " : "", names[next],
                      100 * parts[next] / total);
        written |= UINT64_C(1) << next;
    }
    (void)fputc('\n', to);
}

void rk_brief_write_totals(FILE *to, const rk_inputs *inputs, const rk_answer *answer)
{
    const rk_estimate *e = &answer->estimate;
    char step[RK_TIME_TEXT_SIZE];
    rk_write_label(to, "step");
    (void)fprintf(to, "%s, MFU %.2f %%\n", rk_time_text(e->step, step), 100 * e->mfu);
    rk_write_fit(to, inputs, answer, false);
}

void rk_brief_write_step(FILE *to, const rk_inputs *inputs, const rk_answer *answer)
{
    const rk_estimate *e = &answer->estimate;
    const rk_interval *interval = &answer->interval;
    const rk_time_unit unit = rk_time_unit_of(e->step);
    const double ranks = (double)rk_strategy_ranks(&answer->strategy);
    char step[RK_TIME_TEXT_SIZE];
    rk_write_label(to, "step");
    (void)fprintf(to, "%s", rk_time_text(e->step, step));
    if (interval->runs > 0) {
        (void)fprintf(to, ", likely %.3g to %.3g %s (as %zu runs of %zu model%s)",
                      interval->low * e->step / unit.seconds,
                      interval->high * e->step / unit.seconds, unit.name, interval->runs,
                      interval->groups, interval->groups == 1 ? "" : "s");
    }
    (void)fputc('\n', to);
    rk_write_label(to, "");
    (void)fprintf(to, "MFU %.2f %%, %.1f TFLOP/s and %.1f tokens/s per accelerator\n", 100 * e->mfu,
                  e->model_flops / e->step / 1e12, e->tokens_per_second / ranks);
    rk_write_slower(to, answer);
    if (e->fits) {
        rk_write_label(to, "time");
        rk_brief_write_shares(to, rk_part_names, e->times.part, RK_PART_COUNT, e->step, 3);
    }
    rk_write_fit(to, inputs, answer, false);
    rk_write_label(to, "");
    rk_brief_write_shares(to, rk_memory_part_names, e->memory.part, RK_MEMORY_PART_COUNT,
                          e->memory.total, 3);
}

void rk_brief_write_more(FILE *to, const char *what)
{
    (void)fprintf(to, "\n-v adds %s\n", what);
}
