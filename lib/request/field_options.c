/* SPDX-License-Identifier: Apache-2.0 */
/* The table of strategy fields with their options and run-table columns, and its look-ups. */
#include "request/field_options.h"

#include "base/text.h"
#include "request/option_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROW(key, option, column, type, member, choice, ...)                                        \
    {                                                                                              \
        key, option, column, RK_OPTION_##type, offsetof(rk_request, member), choice, __VA_ARGS__   \
    }
#define CHOICE(name, key, option, column, type, member)                                            \
    ROW(key, option, column, type, member, RK_CHOICE_##name, false)
#define FIELD(key, option, column, type, member)                                                   \
    ROW(key, option, column, type, member, RK_FIELD_NO_CHOICE, true)

const rk_field_option rk_field_options[RK_FIELD_OPTION_COUNT] = {
    FIELD("accelerators", "accelerators", "n_accel", COUNT, accelerators),
    FIELD("global_batch", "global-batch", "gbs", COUNT, global_batch),
    FIELD("seq_tokens", "seq", "seq", COUNT, seq),
    FIELD("document_tokens", "document-tokens", NULL, COUNT, document),
    CHOICE(TP, "tp", "tp", "tp", COUNTS, tp),
    CHOICE(CP, "cp", "cp", "cp", COUNTS, cp),
    CHOICE(PP, "pp", "pp", "pp", COUNTS, pp),
    CHOICE(VP, "vp", "vp", "vpp", COUNTS, vp),
    CHOICE(EP, "ep", "ep", "ep", COUNTS, ep),
    CHOICE(ETP, "etp", "etp", "etp", COUNTS, etp),
    CHOICE(MICRO_BATCH, "micro_batch", "micro-batch", "mbs", COUNTS, micro_batch),
    CHOICE(ZERO, "zero", "zero", "sharding", COUNTS, zero),
    FIELD("zero", "fsdp", "", FLAG, fsdp),
    CHOICE(ZERO, "zero", "use-distributed-optimizer", "", FLAG, distributed_optimizer),
    FIELD("hsdp_replicas", "hsdp", "replicas", COUNT, replicas),
    CHOICE(DP, "dp", "dp", "dp", COUNT, dp),
    FIELD("sp", "sequence-parallel", "seq_parallel", FLAG, sp),
    FIELD("sp", "no-sp", "", FLAG, no_sp),
    CHOICE(CP_KIND, "cp_kind", "cp-kind", "cp_kind", SET, cp_kinds),
    CHOICE(ORDER, "rank_order", "order", "rank_order", SET, orders),
    CHOICE(ORDER, "rank_order", "use-tp-pp-dp-mapping", "", FLAG, pipeline_first),
    CHOICE(SCHEDULE, "schedule", "schedule", "schedule", SET, schedules),
    CHOICE(RECOMPUTE, "recompute", "recompute", "recompute", SET, recomputes),
    ROW("recompute_modules", "recompute-modules", "recompute_modules", SET, modules,
        RK_CHOICE_RECOMPUTE, true),
    CHOICE(RECOMPUTE, "recompute_layers", "recompute-layers", NULL, COUNT, recompute_layers),
    CHOICE(SPLIT, "first_stage_layers", "first-stage-layers", NULL, COUNT, first_stage_layers),
    CHOICE(SPLIT, "last_stage_layers", "last-stage-layers", NULL, COUNT, last_stage_layers),
    CHOICE(SPLIT, "count_embedding", "count-embedding", NULL, FLAG, count_embedding),
    CHOICE(SPLIT, "count_head", "count-head", NULL, FLAG, count_head),
    CHOICE(SPLIT, "layout", "layout", "stage_layers", TEXT, layout_text),
    FIELD("mtp_before_head", "mtp-before-head", NULL, FLAG, mtp_before_head),
    ROW("offload", "offload", "", SET, offloads, RK_CHOICE_OFFLOAD, true),
    FIELD("offload_share", "offload-share", "offload_share", REAL, offload_share),
    FIELD("overlap", "overlap", "", SET, overlaps),
    FIELD("precision", "precision", "precision", CHOICE, precision),
    FIELD("recipe", "fp8-recipe", "fp8_recipe", CHOICE, fp8_recipe),
    FIELD("low_precision_weights", "fp8-param-gather", "low_weights", FLAG, low_weights),
    FIELD("nf4_weights", "qlora", NULL, FLAG, nf4_weights),
    FIELD("fp8_activation_input", "fp8-activation-input", "low_activations", FLAG, low_activations),
    FIELD("attention", "attention", "", CHOICE, attention),
    FIELD("graph_capture", "graph-capture", "graph_capture", FLAG, graph_capture),
    ROW("graph_modules", "graph-modules", "graph_modules", SET, graph_modules, RK_FIELD_NO_CHOICE,
        true),
    FIELD("graph_step", "graph-step", "graph_step", FLAG, graph_step),
    FIELD("capacity_factor", "capacity-factor", "capacity_factor", REAL, capacity_factor),
    FIELD("imbalance", "imbalance", "imbalance", REAL, imbalance),
    FIELD("adapter_rank", "lora-rank", "lora_rank", COUNT, lora_rank),
    FIELD("adapter_modules", "lora-modules", "lora_modules", SET, lora_modules),
    FIELD("optimizer", "optimizer", NULL, CHOICE, optimizer),
    FIELD("weight_bytes_per_parameter", "weights", NULL, CHOICE, weights),
    FIELD("foreach_update", "optimizer-impl", NULL, CHOICE, optimizer_impl),
    FIELD("step_in_backward", "optimizer-in-backward", "step_in_backward", FLAG, step_in_backward),
    FIELD("expandable_segments", "expandable-segments", "expandable_segments", FLAG,
          expandable_segments),
    FIELD("cross_entropy", "cross-entropy", "cross_entropy", CHOICE, cross_entropy),
    FIELD("loss_chunk_tokens", "loss-chunk", "loss_chunk", COUNT, loss_chunk),
    FIELD("quantised_weights", "frozen-weights", "frozen_type", CHOICE, frozen_type),
    FIELD("gradient_bytes_per_parameter", "gradients", NULL, CHOICE, gradients),
    FIELD("optimizer_bytes_per_parameter", "moments", NULL, CHOICE, moments),
};

bool rk_field_given(const rk_field_option *field, const rk_request *request)
{
    const void *place = (const char *)request + field->offset;
    switch (field->type) {
    case RK_OPTION_COUNTS:
        return ((const rk_option_counts *)place)->count > 0;
    case RK_OPTION_COUNT:
        return *(const int64_t *)place != 0;
    case RK_OPTION_SET:
        return *(const unsigned *)place != 0;
    case RK_OPTION_FLAG:
        return *(const bool *)place;
    case RK_OPTION_CHOICE:
        return *(const int *)place >= 0;
    case RK_OPTION_REAL: /* the imbalance is 1 by default */
        return *(const double *)place > (place == &request->imbalance ? 1 : 0);
    case RK_OPTION_TEXT:
        return *(const char *const *)place != NULL;
    }
    return false;
}

bool rk_field_has_several(const rk_field_option *field, const rk_request *request)
{
    const void *place = (const char *)request + field->offset;
    if (field->type == RK_OPTION_COUNTS) {
        return ((const rk_option_counts *)place)->count > 1;
    }
    if (field->choice == RK_CHOICE_OFFLOAD) {
        return rk_request_searches_offload(request);
    }
    if (field->type != RK_OPTION_SET || field->list) {
        return false;
    }
    const unsigned set =
        field->choice == RK_CHOICE_ORDER ? rk_request_orders(request) : *(const unsigned *)place;
    return (set & (set - 1)) != 0;
}

rk_origins rk_request_stated(const rk_request *request)
{
    rk_origins origins = {{RK_ORIGIN_DEFAULT}};
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT; i++) {
        if (rk_field_given(&rk_field_options[i], request)) {
            const size_t field = rk_find_strategy_field(rk_field_options[i].key);
            const bool filled = request->filled >> field & 1U;
            origins.of[field] = filled ? RK_ORIGIN_DEFAULT : RK_ORIGIN_STATED;
        }
    }
    return origins;
}

/* The choices of an option. */
static const char *const *names_of(const rk_field_option *field)
{
    const rk_option *option = rk_strategy_options;
    while (strcmp(option->name, field->option) != 0) {
        option++;
    }
    return option->choices;
}

static void join_names(unsigned set, const char *const *names, char out[RK_FIELD_CELL_SIZE])
{
    size_t used = 0;
    for (int i = 0; names[i] && used < RK_FIELD_CELL_SIZE; i++) {
        if (set >> i & 1U) {
            used += (size_t)snprintf(out + used, RK_FIELD_CELL_SIZE - used, "%s%s", used ? "+" : "",
                                     names[i]);
        }
    }
}

const char *rk_field_cell(const rk_field_option *field, const rk_request *request,
                          char out[RK_FIELD_CELL_SIZE])
{
    const void *place = (const char *)request + field->offset;
    out[0] = '\0';
    if (!rk_field_given(field, request)) {
        return out;
    }
    switch (field->type) {
    case RK_OPTION_COUNTS:
        place = ((const rk_option_counts *)place)->values;
        /* fall through */
    case RK_OPTION_COUNT:
        (void)snprintf(out, RK_FIELD_CELL_SIZE, "%" PRId64, *(const int64_t *)place);
        break;
    case RK_OPTION_SET:
        join_names(*(const unsigned *)place, names_of(field), out);
        break;
    case RK_OPTION_CHOICE:
        (void)snprintf(out, RK_FIELD_CELL_SIZE, "%s", names_of(field)[*(const int *)place]);
        break;
    case RK_OPTION_REAL:
        (void)rk_double_text(*(const double *)place, out);
        break;
    case RK_OPTION_FLAG:
        (void)snprintf(out, RK_FIELD_CELL_SIZE, "true");
        break;
    case RK_OPTION_TEXT: /* a layout has a cell of another form */
        break;
    }
    return out;
}
