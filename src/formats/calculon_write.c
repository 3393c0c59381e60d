/* SPDX-License-Identifier: Apache-2.0 */
/* The output documents of the Calculon methodology, written as they are computed. */
#include "formats/calculon_write.h"

#include "base/text.h"
#include "formats/calculon_docs.h"
#include "formats/json_write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- statistics ------------------------------------------------------------------------- */

/* clang-format off: one field a line, in the order of the document. */
#define REAL(field, unit)                                                                          \
    {                                                                                              \
#field, RK_STAT_REAL, offsetof(rk_calculon_stats, field), unit                             \
    }
#define LONG(field, unit)                                                                          \
    {                                                                                              \
#field, RK_STAT_LONG, offsetof(rk_calculon_stats, field), unit                             \
    }

const rk_stat_field rk_calculon_stat_fields[RK_CALCULON_STATS_COUNT] = {
    LONG(block_fw_flops, "FLOP"),
    REAL(block_fw_flops_time, "s"),
    REAL(block_fw_mem_accessed, "B"),
    REAL(block_fw_mem_time, "s"),
    REAL(block_fw_time, "s"),
    REAL(baseblock_fw_tp_time, "s"),
    REAL(edgeblock_fw_tp_time, "s"),
    REAL(baseblock_fw_tp_time_exposed, "s"),
    REAL(edgeblock_fw_tp_time_exposed, "s"),
    LONG(block_re_flops, "FLOP"),
    REAL(block_re_flops_time, "s"),
    REAL(block_re_mem_accessed, "B"),
    REAL(block_re_mem_time, "s"),
    REAL(block_re_time, "s"),
    REAL(baseblock_recomm_time, "s"),
    REAL(edgeblock_recomm_time, "s"),
    REAL(baseblock_recomm_time_exposed, "s"),
    REAL(edgeblock_recomm_time_exposed, "s"),
    LONG(block_agrad_flops, "FLOP"),
    REAL(block_agrad_flops_time, "s"),
    REAL(block_agrad_mem_accessed, "B"),
    REAL(block_agrad_mem_time, "s"),
    REAL(block_agrad_time, "s"),
    REAL(baseblock_agrad_tp_time, "s"),
    REAL(edgeblock_agrad_tp_time, "s"),
    REAL(baseblock_agrad_tp_time_exposed, "s"),
    REAL(edgeblock_agrad_tp_time_exposed, "s"),
    LONG(block_wgrad_flops, "FLOP"),
    REAL(block_wgrad_flops_time, "s"),
    REAL(block_wgrad_mem_accessed, "B"),
    REAL(block_wgrad_mem_time, "s"),
    REAL(block_wgrad_time, "s"),
    REAL(block_optim_flops, "FLOP"),
    REAL(block_optim_flops_time, "s"),
    REAL(block_optim_mem_accessed, "B"),
    REAL(block_optim_mem_time, "s"),
    REAL(block_optim_time, "s"),
    REAL(baseblock_fw_tp_size, "B"),
    REAL(edgeblock_fw_tp_size, "B"),
    REAL(baseblock_bw_tp_size, "B"),
    REAL(edgeblock_bw_tp_size, "B"),
    REAL(baseblock_recomm_size, "B"),
    REAL(edgeblock_recomm_size, "B"),
    REAL(block_fw_pp_size, "B"),
    REAL(block_bw_pp_size, "B"),
    REAL(block_dp_size, "B"),
    REAL(tp_bw_overlap_req, "B/s"),
    REAL(dp_bw_overlap_req_chunk, "B/s"),
    REAL(dp_bw_overlap_req_tail, "B/s"),
    REAL(block_weight_space, "B"),
    REAL(block_act_working_space, "B"),
    REAL(block_act_storage_space, "B"),
    REAL(block_act_checkpoint_size, "B"),
    REAL(block_weight_grad_space, "B"),
    REAL(block_weight_grad_space_no_sharding, "B"),
    REAL(block_act_grad_space, "B"),
    REAL(block_optimizer_space, "B"),
    REAL(weight_space_with_offload, "B"),
    REAL(act_space_with_offload, "B"),
    REAL(act_checkpoint_size_with_offload, "B"),
    REAL(act_grad_space_with_offload, "B"),
    REAL(weight_grad_space_with_offload, "B"),
    REAL(optimizer_space_with_offload, "B"),
    REAL(weight_space, "B"),
    REAL(act_space, "B"),
    REAL(act_checkpoint_size, "B"),
    REAL(act_grad_space, "B"),
    REAL(weight_grad_space, "B"),
    REAL(optimizer_space, "B"),
    REAL(fw_time, "s"),
    REAL(bw_time, "s"),
    REAL(optim_step_time, "s"),
    REAL(recompute_time, "s"),
    REAL(recomm_link_time, "s"),
    REAL(recomm_exposed_time, "s"),
    REAL(bubble_time, "s"),
    REAL(tp_comm_link_time, "s"),
    REAL(pp_comm_link_time, "s"),
    REAL(dp_comm_link_time, "s"),
    REAL(tp_comm_exposed_time, "s"),
    REAL(pp_comm_exposed_time, "s"),
    REAL(dp_comm_exposed_time, "s"),
    REAL(fw_offload_exposed_time, "s"),
    REAL(bw_offload_exposed_time, "s"),
    REAL(total_time, "s"),
    REAL(act_offload_bw_req, "B/s"),
    REAL(weight_offload_bw_req, "B/s"),
    REAL(optim_offload_bw_req, "B/s"),
    REAL(offload_mem_bw_req, "B/s"),
    REAL(proc_mem_tier1_cap_req, "B"),
    REAL(proc_mem_tier2_cap_req, "B"),
    LONG(useful_flops, "FLOP"),
    REAL(compute_efficiency, ""),
    REAL(system_efficiency, ""),
    REAL(total_efficiency, ""),
    REAL(sample_rate, "1/s"),
};
/* clang-format on */

double rk_calculon_stat_value(const rk_calculon_stats *stats, const rk_stat_field *field)
{
    const void *place = (const char *)stats + field->offset;
    switch (field->kind) {
    case RK_STAT_LONG:
        return (double)*(const long double *)place;
    default:
        return *(const double *)place;
    }
}

static const char *real_text(double value, char out[RK_STAT_TEXT_SIZE])
{
    if (isnan(value)) {
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "null");
        return out;
    }
    return rk_double_text(value, out);
}

const char *rk_calculon_stat_text(const rk_calculon_stats *stats, const rk_stat_field *field,
                                  char out[RK_STAT_TEXT_SIZE])
{
    const void *place = (const char *)stats + field->offset;
    if (field->kind == RK_STAT_LONG) {
        const long double value = *(const long double *)place;
        if (fabsl(value) < 0x1p63L && value == floorl(value)) {
            (void)snprintf(out, RK_STAT_TEXT_SIZE, "%.0Lf", value);
            return out;
        }
    }
    return real_text(rk_calculon_stat_value(stats, field), out);
}

/* ---- layers ----------------------------------------------------------------------------- */

typedef struct layer_field {
    const char *name;
    bool count; /* int64_t; otherwise double */
    size_t offset;
} layer_field;

/* clang-format off: as above. */
#define PLACE(member) offsetof(rk_calculon_layer_stats, member)
#define PHASE(phase)                                                                               \
    {#phase "_flops", false, PLACE(phase.flops)},                                                  \
        {#phase "_mem_accessed", false, PLACE(phase.mem_accessed)},                                \
        {#phase "_arithmetic_intensity", false, PLACE(phase.arithmetic_intensity)},                \
    {                                                                                              \
#phase "_processing_time", false, PLACE(phase.processing_time)                             \
    }
#define PAIR(name, array, member)                                                                  \
    {"baseblock_" name, false, PLACE(array[0].member)},                                            \
    {                                                                                              \
        "edgeblock_" name, false, PLACE(array[1].member)                                           \
    }
#define COMM(name, array)                                                                          \
    PAIR(name "_tile", array, tile), PAIR(name "_size", array, size),                              \
        PAIR(name "_time", array, time), PAIR(name "_time_exposed", array, time_exposed)

static const layer_field layer_fields[] = {
    {"inputs_size", true, PLACE(inputs_size)},
    {"outputs_size", true, PLACE(outputs_size)},
    PHASE(fw),
    COMM("fw_tp_comm", fw_tp),
    PHASE(agrad),
    COMM("bw_tp_comm", bw_tp),
    PHASE(wgrad),
    COMM("recomm", recomm),
    PHASE(optim),
    {"weight", false, PLACE(weight)},
    {"activation", false, PLACE(activation)},
    {"weight_grad", false, PLACE(weight_grad)},
    {"activation_grad", false, PLACE(activation_grad)},
    {"optimizer", false, PLACE(optimizer)},
};
/* clang-format on */

static const char *layer_text(const rk_calculon_layer_stats *layer, const layer_field *field,
                              char out[RK_STAT_TEXT_SIZE])
{
    const void *place = (const char *)layer + field->offset;
    if (field->count) {
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%" PRId64, *(const int64_t *)place);
        return out;
    }
    return real_text(*(const double *)place, out);
}

static void write_layers(rk_json_writer *writer, const rk_calculon_result *result)
{
    char text[RK_STAT_TEXT_SIZE];
    rk_json_open(writer, "[");
    for (int i = 0; i < result->layer_count; i++) {
        const rk_calculon_layer_stats *layer = &result->layers[i];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_key(writer, "name");
        rk_out_printf(writer->out, "\"%s\"", layer->name);
        for (size_t f = 0; f < sizeof(layer_fields) / sizeof(layer_fields[0]); f++) {
            rk_json_key(writer, layer_fields[f].name);
            rk_json_value(writer, layer_text(layer, &layer_fields[f], text));
        }
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

/* ---- JSON documents --------------------------------------------------------------------- */

static void write_stats(rk_json_writer *writer, const rk_calculon_result *result)
{
    char text[RK_STAT_TEXT_SIZE];
    rk_json_open(writer, "{");
    for (size_t i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        const rk_stat_field *field = &rk_calculon_stat_fields[i];
        rk_json_key(writer, field->name);
        rk_json_value(writer, rk_calculon_stat_text(&result->stats, field, text));
    }
    if (result->layer_count > 0) {
        rk_json_key(writer, "layers");
        write_layers(writer, result);
    }
    rk_json_close(writer, "}");
}

/* How the fields of a mapping are spelt. */
typedef struct spelling {
    const char *quote, *truth[2];
} spelling;

static const spelling json_spelling = {"\"", {"false", "true"}};
static const spelling csv_spelling = {"", {"False", "True"}};

static const char *exe_text(const rk_calculon_exe *exe, const rk_field *field, const spelling *as,
                            char out[RK_STAT_TEXT_SIZE])
{
    const void *place = (const char *)exe + field->offset;
    switch (field->type) {
    case RK_FIELD_INT:
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%" PRId64, *(const int64_t *)place);
        break;
    case RK_FIELD_BOOL:
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%s", as->truth[*(const bool *)place]);
        break;
    default:
        assert(field->type == RK_FIELD_ENUM);
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%s%s%s", as->quote,
                       field->names[*(const unsigned *)place], as->quote);
        break;
    }
    return out;
}

void rk_calculon_write_exe(rk_json_writer *writer, const rk_calculon_exe *exe)
{
    char text[RK_STAT_TEXT_SIZE];
    rk_json_open(writer, "{");
    for (size_t i = 0; i < RK_CALCULON_EXE_FIELD_COUNT; i++) {
        const rk_field *field = &rk_calculon_exe_fields[i];
        rk_json_key(writer, field->name);
        rk_json_value(writer, exe_text(exe, field, &json_spelling, text));
    }
    rk_json_close(writer, "}");
}

void rk_calculon_write_stats(rk_out *out, bool indented, const rk_calculon_result *result)
{
    rk_json_writer writer = {.out = out, .indented = indented};
    write_stats(&writer, result);
}

void rk_calculon_write_ranked(rk_out *out, bool indented, const rk_calculon_result *results,
                              size_t count)
{
    rk_json_writer writer = {.out = out, .indented = indented};
    char rank[RK_STAT_TEXT_SIZE];
    rk_json_open(&writer, "{");
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(rank, sizeof(rank), "%zu", i);
        rk_json_key(&writer, rank);
        rk_json_open(&writer, "{");
        rk_json_key(&writer, "execution");
        rk_calculon_write_exe(&writer, &results[i].exe);
        rk_json_key(&writer, "stats");
        write_stats(&writer, &results[i]);
        rk_json_close(&writer, "}");
    }
    rk_json_close(&writer, "}");
}

/* ---- CSV -------------------------------------------------------------------------------- */

void rk_calculon_write_csv_header(rk_out *out, bool index)
{
    const char *comma = index ? "," : "";
    for (size_t i = 0; i < RK_CALCULON_EXE_FIELD_COUNT; i++) {
        rk_out_printf(out, "%s%s", comma, rk_calculon_exe_fields[i].name);
        comma = ",";
    }
    for (size_t i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        rk_out_printf(out, ",%s", rk_calculon_stat_fields[i].name);
    }
    rk_out_write(out, "\n", 1);
}

void rk_calculon_write_csv_row(rk_out *out, bool index, size_t row,
                               const rk_calculon_result *result)
{
    char text[RK_STAT_TEXT_SIZE];
    const char *comma = "";
    if (index) {
        rk_out_printf(out, "%zu", row);
        comma = ",";
    }
    for (size_t i = 0; i < RK_CALCULON_EXE_FIELD_COUNT; i++) {
        const rk_field *field = &rk_calculon_exe_fields[i];
        rk_out_text(out, comma);
        rk_out_text(out, exe_text(&result->exe, field, &csv_spelling, text));
        comma = ",";
    }
    for (size_t i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        const rk_stat_field *field = &rk_calculon_stat_fields[i];
        const bool null = isnan(rk_calculon_stat_value(&result->stats, field));
        rk_out_write(out, ",", 1);
        rk_out_text(out, null ? "None" : rk_calculon_stat_text(&result->stats, field, text));
    }
    rk_out_write(out, "\n", 1);
}

/* ---- peers ------------------------------------------------------------------------------ */

/* Writes `count` processors from `first` on, each `step` after the one before. */
static void write_group(rk_json_writer *writer, int64_t first, int64_t step, int64_t count)
{
    char text[RK_STAT_TEXT_SIZE];
    rk_json_open(writer, "[");
    for (int64_t i = 0; i < count; i++) {
        (void)snprintf(text, sizeof(text), "%" PRId64, first + i * step);
        rk_json_item(writer);
        rk_json_value(writer, text);
    }
    rk_json_close(writer, "]");
}

void rk_calculon_write_peers(rk_out *out, bool indented, const rk_calculon_exe *exe)
{
    rk_json_writer writer = {.out = out, .indented = indented};
    const int64_t t = exe->tensor_par, p = exe->pipeline_par, d = exe->data_par;
    char text[RK_STAT_TEXT_SIZE];
    rk_json_open(&writer, "{");
    for (int64_t id = 0; id < t * p * d; id++) {
        const int64_t rank = id % t, stage = id / t % p, replica = id / (t * p);
        (void)snprintf(text, sizeof(text), "%" PRId64, id);
        rk_json_key(&writer, text);
        rk_json_open(&writer, "{");
        if (t > 1) {
            rk_json_key(&writer, "tensor");
            write_group(&writer, id - rank, 1, t);
        }
        if (p > 1) {
            const int64_t next = (stage + 1) % p;
            (void)snprintf(text, sizeof(text), "%" PRId64, (replica * p + next) * t + rank);
            rk_json_key(&writer, "pipeline");
            rk_json_value(&writer, text);
        }
        if (d > 1) {
            rk_json_key(&writer, "data");
            write_group(&writer, stage * t + rank, t * p, d);
        }
        rk_json_close(&writer, "}");
    }
    rk_json_close(&writer, "}");
}
