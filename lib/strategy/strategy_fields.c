/* SPDX-License-Identifier: Apache-2.0 */
/* The table of strategy fields, with text and values of each, and differences of strategies. */
#include "strategy/strategy_fields.h"

#include "base/units.h"
#include "strategy/optimizer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- sets ---------------------------------------------------------------------------------- */

unsigned rk_strategy_offloads(const rk_strategy *strategy)
{
    return (unsigned)strategy->offload_optimizer | (unsigned)strategy->offload_activations << 1 |
           (unsigned)strategy->offload_weights << 2 | (unsigned)strategy->offload_gradients << 3 |
           (unsigned)strategy->nvme_optimizer << 4 | (unsigned)strategy->nvme_weights << 5;
}

void rk_strategy_set_offloads(rk_strategy *strategy, unsigned offloads)
{
    strategy->nvme_optimizer = offloads >> 4 & 1U;
    strategy->nvme_weights = offloads >> 5 & 1U;
    strategy->offload_optimizer = (offloads & 1U) || strategy->nvme_optimizer;
    strategy->offload_activations = offloads >> 1 & 1U;
    strategy->offload_weights = (offloads >> 2 & 1U) || strategy->nvme_weights;
    strategy->offload_gradients = offloads >> 3 & 1U;
}

static unsigned overlaps_of(const rk_strategy *strategy)
{
    return (unsigned)strategy->tp_overlap | (unsigned)strategy->grad_overlap << 1 |
           (unsigned)strategy->param_overlap << 2 | (unsigned)strategy->pp_overlap << 3 |
           (unsigned)strategy->moe_overlap << 4;
}

void rk_strategy_set_overlaps(rk_strategy *strategy, unsigned overlaps)
{
    strategy->tp_overlap = overlaps & 1U;
    strategy->grad_overlap = overlaps >> 1 & 1U;
    strategy->param_overlap = overlaps >> 2 & 1U;
    strategy->pp_overlap = overlaps >> 3 & 1U;
    strategy->moe_overlap = overlaps >> 4 & 1U;
}

/* ---- fields -------------------------------------------------------------------------------- */

struct field {
    const char *key, *label;
    rk_member member;         /* with its bounds; without a name: made by a function */
    const char *const *names; /* of an enumeration, or a bit each */
    rk_value (*make)(const rk_strategy *strategy, char out[RK_STRATEGY_TEXT_SIZE]);
    bool derived; /* made from other fields */
};

/* Writes the names of the bits that are set: "a+b", "none". */
static rk_value bits_value(unsigned bits, const char *const *names, char out[RK_STRATEGY_TEXT_SIZE])
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; names[i] && used < RK_STRATEGY_TEXT_SIZE; i++) {
        if (bits >> i & 1U) {
            used += (size_t)snprintf(out + used, RK_STRATEGY_TEXT_SIZE - used, "%s%s",
                                     used ? "+" : "", names[i]);
        }
    }
    return rk_value_text(used ? out : "none");
}

static rk_value make_offload(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    static const char *const names[] = {RK_OFFLOAD_NAMES, NULL};
    return bits_value(rk_strategy_offloads(s), names, out);
}

static rk_value make_overlap(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    static const char *const names[] = {RK_OVERLAP_NAMES, NULL};
    return bits_value(overlaps_of(s), names, out);
}

/* How operands of linears in 8 and 4 bits are scaled; int8 has the names of fp8. */
static rk_value make_recipe(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    (void)out;
    return rk_value_text(s->precision == RK_FP4    ? "nvfp4"
                         : rk_is_low(s->precision) ? rk_fp8_recipe_names[s->fp8_recipe]
                                                   : "none");
}

static rk_value make_attention(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    static const char *const names[] = {RK_ATTENTION_NAMES};
    (void)out;
    const size_t kernel = s->attention_kernel ? 1 + (size_t)s->attention_kernel : 0;
    return rk_value_text(names[s->flash_attention ? kernel : 1]);
}

static rk_value make_frozen(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    static const char *const names[] = {RK_FROZEN_NAMES};
    (void)out;
    return rk_value_text(s->nf4_weights ? names[s->frozen_type] : "none");
}

/* Context parallelism of one rank has no kind. */
static rk_value make_cp_kind(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    (void)out;
    return rk_value_text(s->cp > 1 ? rk_cp_kind_names[s->cp_kind] : "none");
}

static rk_value make_zero(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    (void)out;
    return rk_value_int((int64_t)s->sharding);
}

static rk_value make_accelerators(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    (void)out;
    return rk_value_int(rk_strategy_ranks(s));
}

static rk_value make_microbatches(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    (void)out;
    return rk_value_int(rk_strategy_microbatches(s));
}

/* "7,9*2,7" as in --layout. */
static rk_value make_layout(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    size_t used = 0;
    int stages = 0; /* that have as many layers as stage i */
    for (int i = 0; i < s->layout_count && used < RK_STRATEGY_TEXT_SIZE; i += stages) {
        stages = 1;
        while (i + stages < s->layout_count && s->layout[i + stages] == s->layout[i]) {
            stages++;
        }
        used += (size_t)snprintf(out + used, RK_STRATEGY_TEXT_SIZE - used,
                                 stages > 1 ? "%s%d*%d" : "%s%d", used ? "," : "", s->layout[i],
                                 stages);
    }
    if (used >= RK_STRATEGY_TEXT_SIZE) {
        (void)snprintf(out + RK_STRATEGY_TEXT_SIZE - 4, 4, "...");
    }
    return rk_value_text(used ? out : "none");
}

static const char *const graph_names[] = {RK_GRAPH_NAMES, NULL};
static const char *const cross_entropy_names[] = {"stack", RK_CROSS_ENTROPY_NAMES, NULL};

#define COUNT_MAX  (1 << 30) /* of degrees, batches and tokens, as of options */
#define AMOUNT_MAX 1e6       /* of bytes per parameter, ratios and shares */
#define PARAMS_MAX 1e13      /* of a group of parameters, as of stacks */

#define MEMBER(kind, m, least, most) RK_MEMBER(rk_strategy, kind, m, least, most)
#define COUNT_FIELD(key, label, m, least)                                                          \
    {                                                                                              \
        key, label, MEMBER(INT64, m, least, COUNT_MAX), NULL, NULL, false                          \
    }
#define FLAG(key, label, m)                                                                        \
    {                                                                                              \
        key, label, RK_FLAG(rk_strategy, m), NULL, NULL, false                                     \
    }
#define REAL(key, label, m, least)                                                                 \
    {                                                                                              \
        key, label, MEMBER(REAL, m, least, AMOUNT_MAX), NULL, NULL, false                          \
    }
#define ENUM(key, label, m, count, names)                                                          \
    {                                                                                              \
        key, label, MEMBER(ENUM, m, 0, (count)-1), names, NULL, false                              \
    }
#define BITS(key, label, m, last, names)                                                           \
    {                                                                                              \
        key, label, MEMBER(UNSIGNED, m, 0, 2 * (last)-1), names, NULL, false                       \
    }
#define CUSTOM(key, label, make)                                                                   \
    {                                                                                              \
        key, label, {.name = NULL}, NULL, make, false                                              \
    }
#define DERIVED(key, label, make)                                                                  \
    {                                                                                              \
        key, label, {.name = NULL}, NULL, make, true                                               \
    }

static const struct field fields[RK_STRATEGY_FIELD_COUNT] = {
    DERIVED("accelerators", "accelerators", make_accelerators),
    COUNT_FIELD("tp", "TP", tp, 1),
    FLAG("sp", "sequence parallel", sp),
    COUNT_FIELD("cp", "CP", cp, 1),
    CUSTOM("cp_kind", "CP kind", make_cp_kind),
    COUNT_FIELD("pp", "PP", pp, 1),
    COUNT_FIELD("vp", "VP", vp, 1),
    COUNT_FIELD("ep", "EP", ep, 1),
    COUNT_FIELD("etp", "ETP", etp, 1),
    COUNT_FIELD("dp", "DP", dp, 1),
    ENUM("rank_order", "order of ranks", order, RK_ORDER_COUNT, rk_rank_order_names),
    CUSTOM("zero", "ZeRO", make_zero),
    COUNT_FIELD("hsdp_replicas", "HSDP replicas", replicas, 1),
    COUNT_FIELD("micro_batch", "microbatch", micro_batch, 1),
    COUNT_FIELD("global_batch", "global batch", global_batch, 1),
    DERIVED("microbatches", "microbatches", make_microbatches),
    COUNT_FIELD("seq_tokens", "sequence", seq, 1),
    COUNT_FIELD("document_tokens", "document", document, 0),
    ENUM("schedule", "schedule", schedule, RK_SCHEDULE_KIND_COUNT, rk_schedule_names),
    ENUM("recompute", "recompute", recompute, RK_REC_FULL + 1, rk_recompute_kind_names),
    BITS("recompute_modules", "modules", recompute_modules, RK_MODULE_PROJECTION, rk_module_names),
    COUNT_FIELD("recompute_layers", "recomputed layers", recompute_layers, 0),
    ENUM("precision", "precision", precision, RK_PRECISION_COUNT, rk_precision_names),
    CUSTOM("recipe", "recipe", make_recipe),
    FLAG("low_precision_weights", "weights in low precision", low_weights),
    FLAG("nf4_weights", "weights in NF4", nf4_weights),
    FLAG("fp8_activation_input", "inputs of activations in fp8", low_activations),
    CUSTOM("attention", "attention", make_attention),
    CUSTOM("offload", "offload", make_offload),
    REAL("offload_share", "share offloaded", offload_share, 0),
    CUSTOM("overlap", "overlap", make_overlap),
    FLAG("graph_capture", "graph capture", graph_capture),
    BITS("graph_modules", "modules in graphs", graph_modules, RK_GRAPH_PREPROCESS, graph_names),
    FLAG("graph_step", "graph of the step", graph_step),
    COUNT_FIELD("first_stage_layers", "layers, first stage", first_stage_layers, 0),
    COUNT_FIELD("last_stage_layers", "layers, last stage", last_stage_layers, 0),
    FLAG("count_embedding", "embedding as layer", count_embedding),
    FLAG("count_head", "head as layer", count_head),
    FLAG("mtp_before_head", "MTP before the head", mtp_before_head),
    CUSTOM("layout", "layout", make_layout),
    COUNT_FIELD("adapter_rank", "rank of adapters", adapter_rank, 0),
    BITS("adapter_modules", "adapters on", adapter_modules, RK_ADAPTED_FFN, rk_adapted_names),
    REAL("capacity_factor", "capacity factor", capacity_factor, 0),
    REAL("imbalance", "expert imbalance", imbalance, 1),
    ENUM("optimizer", "optimizer", optimizer, RK_OPTIMIZER_COUNT, rk_optimizer_names),
    REAL("weight_bytes_per_parameter", "bytes, weight", states.weight, 0),
    REAL("gradient_bytes_per_parameter", "bytes, gradient", states.gradient, 0),
    REAL("optimizer_bytes_per_parameter", "bytes, optimizer", states.optimizer, 0),
    REAL("gather_bytes_per_parameter", "bytes, gathered", states.gather, 0),
    REAL("reduce_bytes_per_parameter", "bytes, reduced", states.reduce, 0),
    CUSTOM("quantised_weights", "frozen weights in", make_frozen),
    FLAG("wide_residual", "hidden states in fp32", wide_residual),
    REAL("adapter_bytes_per_weight", "bytes, adapter", adapter_bytes, 0),
    FLAG("adapts_embeddings", "embedding and head learn", adapts_ends),
    FLAG("foreach_update", "foreach optimizer", foreach_update),
    {"step_parameters", "parameters of a step", MEMBER(REAL, step_params, 0, PARAMS_MAX), NULL,
     NULL, false},
    FLAG("step_in_backward", "optimizer in backward", step_in_backward),
    ENUM("cross_entropy", "cross-entropy", cross_entropy, RK_CROSS_ENTROPY_COUNT,
         cross_entropy_names),
    REAL("logit_bytes", "bytes, logit", logit_bytes, 0),
    COUNT_FIELD("loss_chunk_tokens", "chunk of the loss", loss_chunk, 0),
    FLAG("expandable_segments", "expandable segments", expandable_segments),
};

/* Members that several fields, or none, are made from. */
static const rk_member other_members[] = {
    MEMBER(ENUM, cp_kind, 0, RK_CP_ULYSSES),
    MEMBER(ENUM, sharding, 0, RK_SHARD_ALL),
    MEMBER(ENUM, fp8_recipe, 0, RK_FP8_MX),
    MEMBER(ENUM, attention_kernel, 0, RK_KERNEL_COUNT - 1),
    MEMBER(ENUM, frozen_type, 0, RK_FROZEN_COUNT - 1),
    MEMBER(INT, layout_count, 0, RK_CHUNK_MAX),
    MEMBER(INT64, offload_layers, 0, COUNT_MAX),
    MEMBER(REAL, learning, 0, AMOUNT_MAX),
    MEMBER(REAL, outer_states, 0, AMOUNT_MAX),
    RK_FLAG(rk_strategy, flash_attention),
    RK_FLAG(rk_strategy, tp_overlap),
    RK_FLAG(rk_strategy, grad_overlap),
    RK_FLAG(rk_strategy, param_overlap),
    RK_FLAG(rk_strategy, pp_overlap),
    RK_FLAG(rk_strategy, moe_overlap),
    RK_FLAG(rk_strategy, offload_optimizer),
    RK_FLAG(rk_strategy, offload_activations),
    RK_FLAG(rk_strategy, offload_weights),
    RK_FLAG(rk_strategy, offload_gradients),
    RK_FLAG(rk_strategy, nvme_optimizer),
    RK_FLAG(rk_strategy, nvme_weights),
};

size_t rk_strategy_members(rk_member members[RK_STRATEGY_MEMBERS_MAX])
{
    size_t count = COUNT(other_members);
    memcpy(members, other_members, sizeof(other_members));
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        if (fields[i].member.name) {
            members[count++] = fields[i].member;
        }
    }
    assert(count <= RK_STRATEGY_MEMBERS_MAX);
    return count;
}

const char *rk_strategy_key(size_t field)
{
    assert(field < RK_STRATEGY_FIELD_COUNT);
    return fields[field].key;
}

const char *rk_strategy_label(size_t field)
{
    assert(field < RK_STRATEGY_FIELD_COUNT);
    return fields[field].label;
}

size_t rk_find_strategy_field(const char *key)
{
    size_t field = 0;
    while (field + 1 < RK_STRATEGY_FIELD_COUNT && strcmp(fields[field].key, key) != 0) {
        field++;
    }
    assert(strcmp(fields[field].key, key) == 0);
    return field;
}

size_t rk_strategy_field_at(size_t offset)
{
    size_t field = 0;
    while (!fields[field].member.name || fields[field].member.offset != offset) {
        field++;
        assert(field < RK_STRATEGY_FIELD_COUNT);
    }
    return field;
}

rk_value_type rk_strategy_type(size_t field)
{
    assert(field < RK_STRATEGY_FIELD_COUNT);
    const struct field *f = &fields[field];
    if (!f->member.name) {
        return f->derived || f->make == make_zero ? RK_VALUE_INT : RK_VALUE_TEXT;
    }
    switch (f->member.kind) {
    case RK_MEMBER_INT64:
        return RK_VALUE_INT;
    case RK_MEMBER_FLAG:
        return RK_VALUE_BOOL;
    case RK_MEMBER_REAL:
        return RK_VALUE_REAL;
    default:
        return RK_VALUE_TEXT;
    }
}

rk_value rk_strategy_value(const rk_strategy *strategy, size_t field,
                           char out[RK_STRATEGY_TEXT_SIZE])
{
    assert(field < RK_STRATEGY_FIELD_COUNT);
    const struct field *f = &fields[field];
    const void *place = (const char *)strategy + f->member.offset;
    if (f->make) {
        return f->make(strategy, out);
    }
    switch (f->member.kind) {
    case RK_MEMBER_INT64:
        return rk_value_int(*(const int64_t *)place);
    case RK_MEMBER_FLAG:
        return rk_value_bool(*(const bool *)place);
    case RK_MEMBER_REAL:
        return rk_value_real(*(const double *)place);
    case RK_MEMBER_ENUM:
        return rk_value_text(f->names[*(const unsigned *)place]);
    default:
        return bits_value(*(const unsigned *)place, f->names, out);
    }
}

const char *rk_strategy_text(const rk_strategy *strategy, size_t field,
                             char out[RK_STRATEGY_TEXT_SIZE])
{
    const rk_value value = rk_strategy_value(strategy, field, out);
    if (value.type == RK_VALUE_BOOL) {
        return value.boolean ? "yes" : "no";
    }
    return rk_value_format(&value, out);
}

bool rk_strategy_same(const rk_strategy *a, const rk_strategy *b, size_t field)
{
    char texts[2][RK_STRATEGY_TEXT_SIZE];
    return fields[field].derived ||
           strcmp(rk_strategy_text(a, field, texts[0]), rk_strategy_text(b, field, texts[1])) == 0;
}

const char *rk_strategy_changes(const rk_strategy *a, const rk_strategy *b, char *out, size_t size)
{
    char was[RK_STRATEGY_TEXT_SIZE], is[RK_STRATEGY_TEXT_SIZE];
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT && used < size; i++) {
        if (!rk_strategy_same(a, b, i)) {
            used += (size_t)snprintf(out + used, size - used, "%s%s %s (was %s)", used ? ", " : "",
                                     fields[i].label, rk_strategy_text(b, i, is),
                                     rk_strategy_text(a, i, was));
        }
    }
    return out;
}
