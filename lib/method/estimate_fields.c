/* SPDX-License-Identifier: Apache-2.0 */
/* The field table of estimates, and its JSON members and CSV columns. */
#include "method/estimate_fields.h"

#include "base/named.h"
#include "residual/risk.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static double needed_bytes(const rk_strategy *s, const rk_estimate *e)
{
    (void)s;
    return rk_needed_bytes(&e->memory);
}

static const struct {
    const char *key;
    size_t offset; /* of a double in rk_estimate, without a function */
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
    {"memory_needed_bytes", 0, needed_bytes},
    {"memory_p10_bytes", offsetof(rk_estimate, memory_low), NULL},
    {"memory_p90_bytes", offsetof(rk_estimate, memory_high), NULL},
    {"memory_usable_bytes", offsetof(rk_estimate, usable), NULL},
    {"out_of_memory_risk", offsetof(rk_estimate, risk), NULL},
    {"host_memory_bytes", offsetof(rk_estimate, host_bytes), NULL},
};
#define RESULT_COUNT (sizeof(results) / sizeof(results[0]))

static double result_value(size_t i, const rk_strategy *s, const rk_estimate *e)
{
    return results[i].make ? results[i].make(s, e)
                           : *(const double *)((const char *)e + results[i].offset);
}

/* Their places in rk_volumes. */
static const rk_named_count volumes[] = {
    {"tensor", offsetof(rk_volumes, tensor)}, {"context", offsetof(rk_volumes, context)},
    {"expert", offsetof(rk_volumes, expert)}, {"pipeline", offsetof(rk_volumes, pipeline)},
    {"data", offsetof(rk_volumes, data)},
};
#define VOLUME_COUNT (sizeof(volumes) / sizeof(volumes[0]))

static double volume_value(size_t i, const rk_volumes *v)
{
    return *(const double *)((const char *)v + volumes[i].value);
}

/* ---- programs ------------------------------------------------------------------------------ */

static_assert((int)RK_PART_COUNT <= RK_TIME_ROOM, "parts of a step");
static_assert((int)RK_MEMORY_PART_COUNT <= RK_MEMORY_ROOM, "parts of memory");

void rk_memory_parts_of(const rk_stage_memory *memory, double out[RK_MEMORY_ROOM])
{
    for (int i = 0; i < RK_MEMORY_ROOM; i++) {
        out[i] = i < RK_MEMORY_PART_COUNT ? memory->part[i] : 0;
    }
}

rk_prediction rk_prediction_of(const rk_estimate *e)
{
    rk_prediction p = {
        .step_s = e->step,
        .model_flops = e->model_flops,
        .hardware_flops = e->hardware_flops,
        .mfu = e->mfu,
        .hfu = e->hfu,
        .tokens_per_s = e->tokens_per_second,
        .tensor_sent_bytes = e->volumes.tensor,
        .context_sent_bytes = e->volumes.context,
        .expert_sent_bytes = e->volumes.expert,
        .pipeline_sent_bytes = e->volumes.pipeline,
        .data_sent_bytes = e->volumes.data,
        .fits = e->fits,
        .thrashes = e->thrashes,
        .worst_stage = e->worst_stage,
        .memory_total_bytes = e->memory.total,
        .memory_usable_bytes = e->usable,
        .host_memory_bytes = e->host_bytes,
        .nvme_bytes = e->nvme_bytes,
        .memory_needed_bytes = rk_needed_bytes(&e->memory),
        .memory_p10_bytes = e->memory_low,
        .memory_p90_bytes = e->memory_high,
        .out_of_memory_risk = e->risk,
    };
    for (int i = 0; i < RK_PART_COUNT; i++) {
        p.time_s[i] = e->times.part[i];
    }
    rk_memory_parts_of(&e->memory, p.memory_part_bytes);
    return p;
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
        write_value(writer, rk_strategy_key(i), &value);
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
    rk_json_real(writer, "flops_per_token", estimate->counted_flops);
    rk_json_real(writer, "executed_flops_per_token", estimate->executed_flops);
    if (estimate->nvme_bytes > 0) {
        rk_json_real(writer, "nvme_bytes", estimate->nvme_bytes);
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
        rk_json_real(writer, volumes[i].name, volume_value(i, &estimate->volumes));
    }
    rk_json_close(writer, "}");
    rk_json_close(writer, "}");
}

/* The moment that decides, and what is allocated at each. */
static void write_peaks(rk_json_writer *writer, const rk_stage_memory *memory)
{
    static const char *const names[] = {"backward", "loss", "step"};
    rk_json_string(writer, "peak", names[rk_stage_peak(memory)]);
    rk_json_open_member(writer, "peaks_bytes", "{");
    for (int i = 0; i < RK_PEAK_COUNT; i++) {
        rk_json_real(writer, names[i], memory->peak[i]);
    }
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
        write_peaks(writer, &stages[i]);
        write_memory_parts(writer, &stages[i]);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

/* ---- columns ------------------------------------------------------------------------------- */

/* The columns of an estimate, after its strategy's. */
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

rk_value_type rk_estimate_column(size_t column, char name[RK_ESTIMATE_COLUMN_SIZE])
{
    const size_t size = RK_ESTIMATE_COLUMN_SIZE;
    assert(column < COLUMN_COUNT);
    if (column >= FIRST_VOLUME) {
        (void)snprintf(name, size, "%s_sent_bytes", volumes[column - FIRST_VOLUME].name);
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
                                            : rk_strategy_key(column));
        return column >= FITS ? RK_VALUE_BOOL : rk_strategy_type(column);
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

void rk_estimate_write_csv_header(rk_out *out, const char *rest)
{
    char name[RK_ESTIMATE_COLUMN_SIZE];
    rk_out_text(out, "rank");
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        (void)rk_estimate_column(i, name);
        rk_out_printf(out, ",%s", name);
    }
    rk_out_printf(out, "%s\n", rest);
}

void rk_estimate_write_csv_row(rk_out *out, size_t rank, const rk_strategy *strategy,
                               const rk_estimate *estimate, const char *rest)
{
    struct {
        rk_estimate_texts texts;
        rk_value values[COLUMN_COUNT];
    } *row = malloc(sizeof(*row));
    char number[RK_NUMBER_TEXT_SIZE];
    if (!row) {
        rk_out_fail_memory(out);
        return;
    }
    rk_out_printf(out, "%zu", rank);
    rk_estimate_values(strategy, estimate, row->texts, row->values);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        rk_out_printf(out, ",%s", rk_value_format(&row->values[i], number));
    }
    rk_out_printf(out, "%s\n", rest);
    free(row);
}
