/* SPDX-License-Identifier: Apache-2.0 */
#include "report/estimate_fields.h"
#include "strategy/optimizer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const rk_part_keys[RK_PART_COUNT] = {
    [RK_PART_LINEAR] = "linear",   [RK_PART_ATTENTION] = "attention",
    [RK_PART_EXPERT] = "expert",   [RK_PART_STREAM] = "memory_bound",
    [RK_PART_CAST] = "cast",       [RK_PART_HEAD] = "head",
    [RK_PART_HOST] = "host",       [RK_PART_RECOMPUTE] = "recompute",
    [RK_PART_TP] = "tp_comm",      [RK_PART_CP] = "cp_comm",
    [RK_PART_EP] = "ep_comm",      [RK_PART_PP] = "pp_comm",
    [RK_PART_OFFLOAD] = "offload", [RK_PART_BUBBLE] = "bubble",
    [RK_PART_DP] = "dp_comm",      [RK_PART_OPTIMIZER] = "optimizer",
    [RK_PART_FIXED] = "fixed",
};

const char *const rk_memory_part_keys[RK_MEMORY_PART_COUNT] = {
    [RK_MEM_WEIGHTS] = "weights",       [RK_MEM_GRADIENTS] = "gradients",
    [RK_MEM_OPTIMIZER] = "optimizer",   [RK_MEM_ACTIVATIONS] = "activations",
    [RK_MEM_RECOMPUTED] = "recomputed", [RK_MEM_LOGITS] = "logits",
    [RK_MEM_TRANSIENT] = "temporaries", [RK_MEM_FRAGMENTATION] = "fragmentation",
    [RK_MEM_CONTEXT] = "context",
};

/* ---- fields of a strategy ------------------------------------------------------------------ */

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
    static const char *const names[] = {"optimizer", "activations", "weights", NULL};
    return bits_value((unsigned)s->offload_optimizer | (unsigned)s->offload_activations << 1 |
                          (unsigned)s->offload_weights << 2,
                      names, out);
}

static rk_value make_overlap(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    static const char *const names[] = {"tp", "grad", "param", "pp", "moe", NULL};
    return bits_value((unsigned)s->tp_overlap | (unsigned)s->grad_overlap << 1 |
                          (unsigned)s->param_overlap << 2 | (unsigned)s->pp_overlap << 3 |
                          (unsigned)s->moe_overlap << 4,
                      names, out);
}

/* How operands of linears in 8 and 4 bits are scaled. */
static rk_value make_recipe(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    (void)out;
    return rk_value_text(s->precision == RK_FP8   ? rk_fp8_recipe_names[s->fp8_recipe]
                         : s->precision == RK_FP4 ? "nvfp4"
                                                  : "none");
}

static rk_value make_attention(const rk_strategy *s, char out[RK_STRATEGY_TEXT_SIZE])
{
    (void)out;
    return rk_value_text(s->flash_attention ? "flash" : "unfused");
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

/* "7,9*2,7" as --layout takes it. */
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
    {"attention", "attention", FIELD_CUSTOM, 0, NULL, make_attention},
    {"offload", "offload", FIELD_CUSTOM, 0, NULL, make_offload},
    {"overlap", "overlap", FIELD_CUSTOM, 0, NULL, make_overlap},
    FLAG("graph_capture", "graph capture", graph_capture),
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

/* ---- results ------------------------------------------------------------------------------- */

static double tokens_per_rank(const rk_strategy *s, const rk_estimate *e)
{
    return e->tokens_per_second / (double)rk_strategy_ranks(s);
}

static double model_tflops(const rk_strategy *s, const rk_estimate *e)
{
    (void)s;
    return e->model_flops / e->step / 1e12;
}

static double hardware_tflops(const rk_strategy *s, const rk_estimate *e)
{
    (void)s;
    return e->hardware_flops / e->step / 1e12;
}

static const struct {
    const char *key;
    size_t offset; /* of a double in rk_estimate, where there is no function */
    double (*make)(const rk_strategy *strategy, const rk_estimate *estimate);
} results[] = {
    {"step_s", offsetof(rk_estimate, step), NULL},
    {"tokens_per_s", offsetof(rk_estimate, tokens_per_second), NULL},
    {"tokens_per_s_per_accelerator", 0, tokens_per_rank},
    {"tflops_per_accelerator", 0, model_tflops},
    {"hardware_tflops_per_accelerator", 0, hardware_tflops},
    {"mfu", offsetof(rk_estimate, mfu), NULL},
    {"hfu", offsetof(rk_estimate, hfu), NULL},
    {"memory_allocated_bytes", offsetof(rk_estimate, memory.allocated), NULL},
    {"memory_reserved_bytes", offsetof(rk_estimate, memory.reserved), NULL},
    {"memory_total_bytes", offsetof(rk_estimate, memory.total), NULL},
    {"memory_usable_bytes", offsetof(rk_estimate, usable), NULL},
    {"host_memory_bytes", offsetof(rk_estimate, host_bytes), NULL},
};
#define RESULT_COUNT (sizeof(results) / sizeof(results[0]))

static double result_value(size_t i, const rk_strategy *s, const rk_estimate *e)
{
    return results[i].make ? results[i].make(s, e)
                           : *(const double *)((const char *)e + results[i].offset);
}

static const struct {
    const char *key;
    size_t offset;
} volumes[] = {
    {"tensor", offsetof(rk_volumes, tensor)}, {"context", offsetof(rk_volumes, context)},
    {"expert", offsetof(rk_volumes, expert)}, {"pipeline", offsetof(rk_volumes, pipeline)},
    {"data", offsetof(rk_volumes, data)},
};
#define VOLUME_COUNT (sizeof(volumes) / sizeof(volumes[0]))

static double volume_value(size_t i, const rk_volumes *v)
{
    return *(const double *)((const char *)v + volumes[i].offset);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void write_value(rk_json_writer *writer, const char *key, const rk_value *value)
{
    char text[RK_NUMBER_TEXT_SIZE];
    if (value->type == RK_VALUE_TEXT) {
        rk_json_string(writer, key, value->text);
    } else {
        rk_json_key(writer, key);
        rk_json_value(writer, rk_value_format(value, text));
    }
}

void rk_strategy_write_json(rk_json_writer *writer, const rk_strategy *strategy)
{
    char text[RK_STRATEGY_TEXT_SIZE];
    rk_json_open_member(writer, "strategy", "{");
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        const rk_value value = rk_strategy_value(strategy, i, text);
        write_value(writer, fields[i].key, &value);
    }
    rk_json_close(writer, "}");
}

static void write_memory_parts(rk_json_writer *writer, const rk_stage_memory *memory)
{
    rk_json_open_member(writer, "parts_bytes", "{");
    for (int i = 0; i < RK_MEMORY_PART_COUNT; i++) {
        rk_json_real(writer, rk_memory_part_keys[i], memory->part[i]);
    }
    rk_json_close(writer, "}");
}

void rk_estimate_write_json(rk_json_writer *writer, const rk_strategy *strategy,
                            const rk_estimate *estimate)
{
    rk_json_open_member(writer, "estimate", "{");
    rk_json_flag(writer, "fits", estimate->fits);
    rk_json_flag(writer, "thrashes", estimate->thrashes);
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        rk_json_real(writer, results[i].key, result_value(i, strategy, estimate));
    }
    rk_json_string(writer, "mfu_convention", rk_flop_convention_names[estimate->convention]);
    rk_json_count(writer, "worst_stage", (uint64_t)estimate->worst_stage);
    rk_json_open_member(writer, "time_s", "{");
    for (int i = 0; i < RK_PART_COUNT; i++) {
        rk_json_real(writer, rk_part_keys[i], estimate->times.part[i]);
    }
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "memory_of_worst_stage", "{");
    write_memory_parts(writer, &estimate->memory);
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "sent_bytes_per_step", "{");
    for (size_t i = 0; i < VOLUME_COUNT; i++) {
        rk_json_real(writer, volumes[i].key, volume_value(i, &estimate->volumes));
    }
    rk_json_close(writer, "}");
    rk_json_close(writer, "}");
}

void rk_stages_write_json(rk_json_writer *writer, const rk_stage_memory *stages, int64_t count,
                          double usable)
{
    rk_json_open_member(writer, "stages", "[");
    for (int64_t i = 0; i < count; i++) {
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_count(writer, "stage", (uint64_t)i);
        rk_json_real(writer, "allocated_bytes", stages[i].allocated);
        rk_json_real(writer, "reserved_bytes", stages[i].reserved);
        rk_json_real(writer, "total_bytes", stages[i].total);
        rk_json_real(writer, "left_bytes", usable - stages[i].total);
        write_memory_parts(writer, &stages[i]);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

/* ---- columns ------------------------------------------------------------------------------- */

/* The columns of an estimate behind those of its strategy. */
enum {
    FITS = RK_STRATEGY_FIELD_COUNT,
    THRASHES,
    FIRST_RESULT,
    CONVENTION = FIRST_RESULT + RESULT_COUNT,
    WORST_STAGE,
    FIRST_PART,
    FIRST_MEMORY = FIRST_PART + RK_PART_COUNT,
    FIRST_VOLUME = FIRST_MEMORY + RK_MEMORY_PART_COUNT,
    COLUMN_COUNT = FIRST_VOLUME + VOLUME_COUNT,
};

size_t rk_estimate_column_count(void)
{
    return COLUMN_COUNT;
}

static rk_value_type field_type(const struct field *field)
{
    switch (field->kind) {
    case FIELD_COUNT:
    case FIELD_DERIVED:
        return RK_VALUE_INT;
    case FIELD_FLAG:
        return RK_VALUE_BOOL;
    case FIELD_REAL:
        return RK_VALUE_REAL;
    default:
        return field->make == make_zero ? RK_VALUE_INT : RK_VALUE_TEXT;
    }
}

rk_value_type rk_estimate_column(size_t column, char name[RK_ESTIMATE_COLUMN_SIZE])
{
    const size_t size = RK_ESTIMATE_COLUMN_SIZE;
    assert(column < COLUMN_COUNT);
    if (column >= FIRST_VOLUME) {
        (void)snprintf(name, size, "%s_sent_bytes", volumes[column - FIRST_VOLUME].key);
    } else if (column >= FIRST_MEMORY) {
        (void)snprintf(name, size, "%s_bytes", rk_memory_part_keys[column - FIRST_MEMORY]);
    } else if (column >= FIRST_PART) {
        (void)snprintf(name, size, "%s_s", rk_part_keys[column - FIRST_PART]);
    } else if (column >= CONVENTION) {
        (void)snprintf(name, size, column == CONVENTION ? "mfu_convention" : "worst_stage");
        return column == CONVENTION ? RK_VALUE_TEXT : RK_VALUE_INT;
    } else if (column >= FIRST_RESULT) {
        (void)snprintf(name, size, "%s", results[column - FIRST_RESULT].key);
    } else {
        (void)snprintf(name, size, "%s",
                       column == FITS       ? "fits"
                       : column == THRASHES ? "thrashes"
                                            : fields[column].key);
        return column >= FITS ? RK_VALUE_BOOL : field_type(&fields[column]);
    }
    return RK_VALUE_REAL;
}

static rk_value number_value(double number)
{
    return isnan(number) ? (rk_value){.type = RK_VALUE_NULL} : rk_value_real(number);
}

void rk_estimate_values(const rk_strategy *strategy, const rk_estimate *estimate,
                        rk_estimate_texts texts, rk_value *values)
{
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        *values++ = rk_strategy_value(strategy, i, texts[i]);
    }
    *values++ = rk_value_bool(estimate->fits);
    *values++ = rk_value_bool(estimate->thrashes);
    for (size_t i = 0; i < RESULT_COUNT; i++) {
        *values++ = number_value(result_value(i, strategy, estimate));
    }
    *values++ = rk_value_text(rk_flop_convention_names[estimate->convention]);
    *values++ = rk_value_int(estimate->worst_stage);
    for (int i = 0; i < RK_PART_COUNT; i++) {
        *values++ = number_value(estimate->times.part[i]);
    }
    for (int i = 0; i < RK_MEMORY_PART_COUNT; i++) {
        *values++ = number_value(estimate->memory.part[i]);
    }
    for (size_t i = 0; i < VOLUME_COUNT; i++) {
        *values++ = number_value(volume_value(i, &estimate->volumes));
    }
}

/* ---- CSV ----------------------------------------------------------------------------------- */

void rk_estimate_write_csv_header(rk_out *out)
{
    char name[RK_ESTIMATE_COLUMN_SIZE];
    rk_out_text(out, "rank");
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        (void)rk_estimate_column(i, name);
        rk_out_printf(out, ",%s", name);
    }
    rk_out_text(out, "\n");
}

void rk_estimate_write_csv_row(rk_out *out, size_t rank, const rk_strategy *strategy,
                               const rk_estimate *estimate)
{
    rk_estimate_texts texts;
    rk_value values[COLUMN_COUNT];
    char number[RK_NUMBER_TEXT_SIZE];
    rk_out_printf(out, "%zu", rank);
    rk_estimate_values(strategy, estimate, texts, values);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        rk_out_printf(out, ",%s", rk_value_format(&values[i], number));
    }
    rk_out_text(out, "\n");
}
