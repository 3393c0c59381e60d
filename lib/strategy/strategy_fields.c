/* SPDX-License-Identifier: Apache-2.0 */
/* The table of strategy fields, with text and values of each, and differences of strategies. */
#include "strategy/strategy_fields.h"

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

unsigned rk_strategy_overlaps(const rk_strategy *strategy)
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

enum field_kind {
    FIELD_COUNT,   /* int64_t */
    FIELD_FLAG,    /* bool */
    FIELD_REAL,    /* double */
    FIELD_ENUM,    /* enum with names */
    FIELD_BITS,    /* unsigned, a bit per name */
    FIELD_CUSTOM,  /* made by a function */
    FIELD_DERIVED, /* likewise, and follows from other fields */
};

struct field {
    const char *key, *label;
    enum field_kind kind;
    size_t offset;
    const char *const *names;
    rk_value (*make)(const rk_strategy *strategy, char out[RK_STRATEGY_TEXT_SIZE]);
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
    return bits_value(rk_strategy_overlaps(s), names, out);
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

#define AT(member) offsetof(rk_strategy, member)
#define FIELD_COUNT(key, label, m)                                                                 \
    {                                                                                              \
        key, label, FIELD_COUNT, AT(m), NULL, NULL                                                 \
    }
#define FLAG(key, label, m)                                                                        \
    {                                                                                              \
        key, label, FIELD_FLAG, AT(m), NULL, NULL                                                  \
    }
#define REAL(key, label, m)                                                                        \
    {                                                                                              \
        key, label, FIELD_REAL, AT(m), NULL, NULL                                                  \
    }

static const struct field fields[RK_STRATEGY_FIELD_COUNT] = {
    {"accelerators", "accelerators", FIELD_DERIVED, 0, NULL, make_accelerators},
    FIELD_COUNT("tp", "TP", tp),
    FLAG("sp", "sequence parallel", sp),
    FIELD_COUNT("cp", "CP", cp),
    {"cp_kind", "CP kind", FIELD_CUSTOM, 0, NULL, make_cp_kind},
    FIELD_COUNT("pp", "PP", pp),
    FIELD_COUNT("vp", "VP", vp),
    FIELD_COUNT("ep", "EP", ep),
    FIELD_COUNT("etp", "ETP", etp),
    FIELD_COUNT("dp", "DP", dp),
    {"rank_order", "order of ranks", FIELD_ENUM, AT(order), rk_rank_order_names, NULL},
    {"zero", "ZeRO", FIELD_CUSTOM, 0, NULL, make_zero},
    FIELD_COUNT("hsdp_replicas", "HSDP replicas", replicas),
    FIELD_COUNT("micro_batch", "microbatch", micro_batch),
    FIELD_COUNT("global_batch", "global batch", global_batch),
    {"microbatches", "microbatches", FIELD_DERIVED, 0, NULL, make_microbatches},
    FIELD_COUNT("seq_tokens", "sequence", seq),
    FIELD_COUNT("document_tokens", "document", document),
    {"schedule", "schedule", FIELD_ENUM, AT(schedule), rk_schedule_names, NULL},
    {"recompute", "recompute", FIELD_ENUM, AT(recompute), rk_recompute_kind_names, NULL},
    {"recompute_modules", "modules", FIELD_BITS, AT(recompute_modules), rk_module_names, NULL},
    FIELD_COUNT("recompute_layers", "recomputed layers", recompute_layers),
    {"precision", "precision", FIELD_ENUM, AT(precision), rk_precision_names, NULL},
    {"recipe", "recipe", FIELD_CUSTOM, 0, NULL, make_recipe},
    FLAG("low_precision_weights", "weights in low precision", low_weights),
    FLAG("nf4_weights", "weights in NF4", nf4_weights),
    FLAG("fp8_activation_input", "inputs of activations in fp8", low_activations),
    {"attention", "attention", FIELD_CUSTOM, 0, NULL, make_attention},
    {"offload", "offload", FIELD_CUSTOM, 0, NULL, make_offload},
    REAL("offload_share", "share offloaded", offload_share),
    {"overlap", "overlap", FIELD_CUSTOM, 0, NULL, make_overlap},
    FLAG("graph_capture", "graph capture", graph_capture),
    {"graph_modules", "modules in graphs", FIELD_BITS, AT(graph_modules), graph_names, NULL},
    FLAG("graph_step", "graph of the step", graph_step),
    FIELD_COUNT("first_stage_layers", "layers, first stage", first_stage_layers),
    FIELD_COUNT("last_stage_layers", "layers, last stage", last_stage_layers),
    FLAG("count_embedding", "embedding as layer", count_embedding),
    FLAG("count_head", "head as layer", count_head),
    FLAG("mtp_before_head", "MTP before the head", mtp_before_head),
    {"layout", "layout", FIELD_CUSTOM, 0, NULL, make_layout},
    FIELD_COUNT("adapter_rank", "rank of adapters", adapter_rank),
    {"adapter_modules", "adapters on", FIELD_BITS, AT(adapter_modules), rk_adapted_names, NULL},
    REAL("capacity_factor", "capacity factor", capacity_factor),
    REAL("imbalance", "expert imbalance", imbalance),
    {"optimizer", "optimizer", FIELD_ENUM, AT(optimizer), rk_optimizer_names, NULL},
    REAL("weight_bytes_per_parameter", "bytes, weight", states.weight),
    REAL("gradient_bytes_per_parameter", "bytes, gradient", states.gradient),
    REAL("optimizer_bytes_per_parameter", "bytes, optimizer", states.optimizer),
    REAL("gather_bytes_per_parameter", "bytes, gathered", states.gather),
    REAL("reduce_bytes_per_parameter", "bytes, reduced", states.reduce),
    {"quantised_weights", "frozen weights in", FIELD_CUSTOM, 0, NULL, make_frozen},
    FLAG("wide_residual", "hidden states in fp32", wide_residual),
    REAL("adapter_bytes_per_weight", "bytes, adapter", adapter_bytes),
    FLAG("adapts_embeddings", "embedding and head learn", adapts_ends),
    FLAG("foreach_update", "foreach optimizer", foreach_update),
    REAL("step_parameters", "parameters of a step", step_params),
    FLAG("step_in_backward", "optimizer in backward", step_in_backward),
    {"cross_entropy", "cross-entropy", FIELD_ENUM, AT(cross_entropy), cross_entropy_names, NULL},
    REAL("logit_bytes", "bytes, logit", logit_bytes),
    FIELD_COUNT("loss_chunk_tokens", "chunk of the loss", loss_chunk),
    FLAG("expandable_segments", "expandable segments", expandable_segments),
};

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
    while (fields[field].kind != FIELD_COUNT || fields[field].offset != offset) {
        field++;
        assert(field < RK_STRATEGY_FIELD_COUNT);
    }
    return field;
}

rk_value_type rk_strategy_type(size_t field)
{
    assert(field < RK_STRATEGY_FIELD_COUNT);
    switch (fields[field].kind) {
    case FIELD_COUNT:
    case FIELD_DERIVED:
        return RK_VALUE_INT;
    case FIELD_FLAG:
        return RK_VALUE_BOOL;
    case FIELD_REAL:
        return RK_VALUE_REAL;
    default:
        return fields[field].make == make_zero ? RK_VALUE_INT : RK_VALUE_TEXT;
    }
}

rk_value rk_strategy_value(const rk_strategy *strategy, size_t field,
                           char out[RK_STRATEGY_TEXT_SIZE])
{
    assert(field < RK_STRATEGY_FIELD_COUNT);
    const struct field *f = &fields[field];
    const void *place = (const char *)strategy + f->offset;
    switch (f->kind) {
    case FIELD_COUNT:
        return rk_value_int(*(const int64_t *)place);
    case FIELD_FLAG:
        return rk_value_bool(*(const bool *)place);
    case FIELD_REAL:
        return rk_value_real(*(const double *)place);
    case FIELD_ENUM:
        return rk_value_text(f->names[*(const unsigned *)place]);
    case FIELD_BITS:
        return bits_value(*(const unsigned *)place, f->names, out);
    default:
        return f->make(strategy, out);
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
    return fields[field].kind == FIELD_DERIVED ||
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
