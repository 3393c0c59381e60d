/* SPDX-License-Identifier: Apache-2.0 */
/* The output documents of the Calculon methodology, written as they are computed. */
#include "calculon/calculon_write.h"

#include "base/text.h"
#include "calculon/calculon_docs.h"
#include "io/json_write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- statistics ------------------------------------------------------------------------- */

/* clang-format off: one field a line, in the order of the document. */
#define REAL(field, unit, rule)                                                                    \
    {                                                                                              \
#field, RK_STAT_REAL, RK_FLOAT_##rule, offsetof(rk_calculon_stats, field), unit            \
    }
#define LONG(field, unit, rule)                                                                    \
    {                                                                                              \
#field, RK_STAT_LONG, RK_FLOAT_##rule, offsetof(rk_calculon_stats, field), unit            \
    }

const rk_stat_field rk_calculon_stat_fields[RK_CALCULON_STATS_COUNT] = {
    LONG(block_fw_flops, "FLOP", TP_FW),
    REAL(block_fw_flops_time, "s", ALWAYS),
    REAL(block_fw_mem_accessed, "B", NEVER),
    REAL(block_fw_mem_time, "s", ALWAYS),
    REAL(block_fw_time, "s", ALWAYS),
    REAL(baseblock_fw_tp_time, "s", TP),
    REAL(edgeblock_fw_tp_time, "s", TP),
    REAL(baseblock_fw_tp_time_exposed, "s", NOT_ZERO),
    REAL(edgeblock_fw_tp_time_exposed, "s", NOT_ZERO),
    LONG(block_re_flops, "FLOP", TP_RE),
    REAL(block_re_flops_time, "s", RECOMPUTE),
    REAL(block_re_mem_accessed, "B", NEVER),
    REAL(block_re_mem_time, "s", RECOMPUTE),
    REAL(block_re_time, "s", RECOMPUTE),
    REAL(baseblock_recomm_time, "s", TP_AGAIN),
    REAL(edgeblock_recomm_time, "s", TP_AGAIN),
    REAL(baseblock_recomm_time_exposed, "s", TP_AGAIN),
    REAL(edgeblock_recomm_time_exposed, "s", TP_AGAIN),
    LONG(block_agrad_flops, "FLOP", TP_BW),
    REAL(block_agrad_flops_time, "s", TRAINING),
    REAL(block_agrad_mem_accessed, "B", NEVER),
    REAL(block_agrad_mem_time, "s", TRAINING),
    REAL(block_agrad_time, "s", TRAINING),
    REAL(baseblock_agrad_tp_time, "s", NOT_ZERO),
    REAL(edgeblock_agrad_tp_time, "s", NOT_ZERO),
    REAL(baseblock_agrad_tp_time_exposed, "s", NOT_ZERO),
    REAL(edgeblock_agrad_tp_time_exposed, "s", NOT_ZERO),
    LONG(block_wgrad_flops, "FLOP", NEVER),
    REAL(block_wgrad_flops_time, "s", TRAINING),
    REAL(block_wgrad_mem_accessed, "B", NEVER),
    REAL(block_wgrad_mem_time, "s", TRAINING),
    REAL(block_wgrad_time, "s", TRAINING),
    REAL(block_optim_flops, "FLOP", TRAINING),
    REAL(block_optim_flops_time, "s", TRAINING),
    REAL(block_optim_mem_accessed, "B", TRAINING),
    REAL(block_optim_mem_time, "s", TRAINING),
    REAL(block_optim_time, "s", TRAINING),
    REAL(baseblock_fw_tp_size, "B", NEVER),
    REAL(edgeblock_fw_tp_size, "B", NEVER),
    REAL(baseblock_bw_tp_size, "B", NEVER),
    REAL(edgeblock_bw_tp_size, "B", NEVER),
    REAL(baseblock_recomm_size, "B", NEVER),
    REAL(edgeblock_recomm_size, "B", NEVER),
    REAL(block_fw_pp_size, "B", NEVER),
    REAL(block_bw_pp_size, "B", NEVER),
    REAL(block_dp_size, "B", NEVER),
    REAL(tp_bw_overlap_req, "B/s", TILED),
    REAL(dp_bw_overlap_req_chunk, "B/s", NOT_ZERO),
    REAL(dp_bw_overlap_req_tail, "B/s", NOT_ZERO),
    REAL(block_weight_space, "B", NEVER),
    REAL(block_act_working_space, "B", SHARE),
    REAL(block_act_storage_space, "B", SHARE_KEPT),
    REAL(block_act_checkpoint_size, "B", NEVER),
    REAL(block_weight_grad_space, "B", TRAINING),
    REAL(block_weight_grad_space_no_sharding, "B", NEVER),
    REAL(block_act_grad_space, "B", SHARE_GRAD),
    REAL(block_optimizer_space, "B", TRAINING),
    REAL(weight_space_with_offload, "B", NEVER),
    REAL(act_space_with_offload, "B", SHARE),
    REAL(act_checkpoint_size_with_offload, "B", NEVER),
    REAL(act_grad_space_with_offload, "B", SHARE_GRAD),
    REAL(weight_grad_space_with_offload, "B", TRAINING),
    REAL(optimizer_space_with_offload, "B", TRAINING),
    REAL(weight_space, "B", NEVER),
    REAL(act_space, "B", ACT),
    REAL(act_checkpoint_size, "B", CHECKPOINT),
    REAL(act_grad_space, "B", SHARE_GRAD),
    REAL(weight_grad_space, "B", BLOCKS),
    REAL(optimizer_space, "B", TRAINING),
    REAL(fw_time, "s", ALWAYS),
    REAL(bw_time, "s", TRAINING),
    REAL(optim_step_time, "s", TRAINING),
    REAL(recompute_time, "s", RECOMPUTE),
    REAL(recomm_link_time, "s", TP_AGAIN),
    REAL(recomm_exposed_time, "s", TP_AGAIN),
    REAL(bubble_time, "s", ALWAYS),
    REAL(tp_comm_link_time, "s", TP),
    REAL(pp_comm_link_time, "s", ALWAYS),
    REAL(dp_comm_link_time, "s", NOT_ZERO),
    REAL(tp_comm_exposed_time, "s", NOT_ZERO),
    REAL(pp_comm_exposed_time, "s", ALWAYS),
    REAL(dp_comm_exposed_time, "s", NOT_ZERO),
    REAL(fw_offload_exposed_time, "s", NOT_ZERO),
    REAL(bw_offload_exposed_time, "s", NOT_ZERO),
    REAL(total_time, "s", ALWAYS),
    REAL(act_offload_bw_req, "B/s", ALWAYS),
    REAL(weight_offload_bw_req, "B/s", ALWAYS),
    REAL(optim_offload_bw_req, "B/s", TRAINING),
    REAL(offload_mem_bw_req, "B/s", ALWAYS),
    REAL(proc_mem_tier1_cap_req, "B", MEM1),
    REAL(proc_mem_tier2_cap_req, "B", MEM2),
    LONG(useful_flops, "FLOP", TP_USEFUL),
    REAL(compute_efficiency, "", ALWAYS),
    REAL(system_efficiency, "", ALWAYS),
    REAL(total_efficiency, "", ALWAYS),
    REAL(sample_rate, "1/s", ALWAYS),
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

/* Whether layers of their own communicate between the ranks of tensor parallelism. */
static bool has_comm_layers(const rk_calculon_exe *exe)
{
    return exe->tensor_par > 1 && exe->tensor_par_overlap == RK_OVERLAP_NONE;
}

/* Whether some communication layers repeat their communication in the backward pass. */
static bool repeats_comm(const rk_calculon_exe *exe)
{
    return has_comm_layers(exe) && exe->training &&
           (exe->activation_recompute != RK_RECOMPUTE_NONE || exe->seq_par_ag_redo);
}

/* Whether layers run again; a repeated all-gather alone includes the fork behind it. */
static bool recomputes(const rk_calculon_exe *exe)
{
    const bool fork =
        exe->tensor_par_overlap == RK_OVERLAP_NONE || exe->attention_type == RK_MULTIQUERY;
    return exe->activation_recompute != RK_RECOMPUTE_NONE ||
           (exe->seq_par_ag_redo && exe->training && fork);
}

static bool is_float(const rk_calculon_exe *exe, const rk_calculon_stats *stats, rk_float_rule rule,
                     double value)
{
    const bool full = exe->activation_recompute == RK_RECOMPUTE_FULL;
    const bool chunks = exe->pipeline_interleaving > 1;
    const bool share =
        exe->tensor_par_comm_type == RK_TP_RS_AG && exe->tensor_par_overlap == RK_OVERLAP_NONE;
    const bool act = (chunks && exe->training && !full) || share;
    switch (rule) {
    case RK_FLOAT_NEVER:
        return false;
    case RK_FLOAT_ALWAYS:
        return true;
    case RK_FLOAT_NOT_ZERO:
        return value != 0;
    case RK_FLOAT_TRAINING:
        return exe->training;
    case RK_FLOAT_RECOMPUTE:
        return recomputes(exe);
    case RK_FLOAT_TP:
        return exe->tensor_par > 1;
    case RK_FLOAT_TP_FW:
        return has_comm_layers(exe);
    case RK_FLOAT_TP_RE:
        return has_comm_layers(exe) && full;
    case RK_FLOAT_TP_BW:
        return has_comm_layers(exe) && exe->training;
    case RK_FLOAT_TP_USEFUL:
        return has_comm_layers(exe) || exe->training;
    case RK_FLOAT_TP_AGAIN:
        return repeats_comm(exe) || value != 0;
    case RK_FLOAT_TILED:
        return exe->tensor_par_overlap != RK_OVERLAP_NONE;
    case RK_FLOAT_SHARE:
        return share;
    case RK_FLOAT_SHARE_KEPT:
        return share && !full;
    case RK_FLOAT_SHARE_GRAD:
        return share && exe->training;
    case RK_FLOAT_ACT:
        return act;
    case RK_FLOAT_CHECKPOINT:
        return full && chunks;
    case RK_FLOAT_BLOCKS:
        return exe->training && stats->weight_space > stats->block_weight_space;
    case RK_FLOAT_MEM1:
        return exe->training || share;
    case RK_FLOAT_MEM2:
        return exe->optimizer_offload || (exe->activations_offload && (full ? chunks : act));
    }
    return false;
}

/* An integer of any size has no point. */
static const char *integer_text(double value, char out[RK_STAT_TEXT_SIZE])
{
    if (value == floor(value) && fabs(value) < 1e30) {
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%.0f", value);
        return out;
    }
    return rk_double_text(value, out);
}

const char *rk_calculon_stat_text(const rk_calculon_exe *exe, const rk_calculon_stats *stats,
                                  const rk_stat_field *field, char out[RK_STAT_TEXT_SIZE])
{
    const double value = rk_calculon_stat_value(stats, field);
    if (isnan(value)) {
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "null");
        return out;
    }
    if (is_float(exe, stats, field->rule, value)) {
        return rk_python_float_text(value, out);
    }
    if (field->kind == RK_STAT_LONG) {
        const long double exact =
            *(const long double *)(const void *)((const char *)stats + field->offset);
        if (fabsl(exact) < 0x1p63L && exact == floorl(exact)) {
            (void)snprintf(out, RK_STAT_TEXT_SIZE, "%.0Lf", exact);
            return out;
        }
    }
    return integer_text(value, out);
}

/* ---- layers ----------------------------------------------------------------------------- */

/* When a field of a layer is written as a float: see rk_float_rule. */
typedef enum layer_rule {
    COUNT, /* never; the field is an int64_t */
    NEVER,
    ALWAYS,
    NOT_ZERO,
    LOCAL,    /* processing time, which communication layers lack */
    REDUCED,  /* additions of a reduction forward */
    GATHERED, /* and of one backward */
    TILE,
    NET,   /* network time */
    AGAIN, /* of repeated communication */
    SHARE, /* of activations */
} layer_rule;

typedef struct layer_field {
    const char *name;
    layer_rule rule;
    size_t offset;
} layer_field;

/* clang-format off: as above. */
#define PLACE(member) offsetof(rk_calculon_layer_stats, member)
#define PHASE(phase, flops_rule, mem_rule)                                                         \
    {#phase "_flops", flops_rule, PLACE(phase.flops)},                                             \
        {#phase "_mem_accessed", mem_rule, PLACE(phase.mem_accessed)},                             \
        {#phase "_arithmetic_intensity", NOT_ZERO, PLACE(phase.arithmetic_intensity)},             \
    {                                                                                              \
#phase "_processing_time", LOCAL, PLACE(phase.processing_time)                             \
    }
#define PAIR(name, rule, array, member)                                                            \
    {"baseblock_" name, rule, PLACE(array[0].member)},                                             \
    {                                                                                              \
        "edgeblock_" name, rule, PLACE(array[1].member)                                            \
    }
#define COMM(name, rule, array)                                                                    \
    PAIR(name "_tile", TILE, array, tile), PAIR(name "_size", NEVER, array, size),                 \
        PAIR(name "_time", rule, array, time),                                                     \
        PAIR(name "_time_exposed", rule, array, time_exposed)

static const layer_field layer_fields[] = {
    {"inputs_size", COUNT, PLACE(inputs_size)},
    {"outputs_size", COUNT, PLACE(outputs_size)},
    PHASE(fw, REDUCED, NEVER),
    COMM("fw_tp_comm", NET, fw_tp),
    PHASE(agrad, GATHERED, NEVER),
    COMM("bw_tp_comm", NET, bw_tp),
    PHASE(wgrad, NEVER, NEVER),
    COMM("recomm", AGAIN, recomm),
    PHASE(optim, ALWAYS, ALWAYS),
    {"weight", NEVER, PLACE(weight)},
    {"activation", SHARE, PLACE(activation)},
    {"weight_grad", ALWAYS, PLACE(weight_grad)},
    {"activation_grad", SHARE, PLACE(activation_grad)},
    {"optimizer", ALWAYS, PLACE(optimizer)},
};
/* clang-format on */

static bool is_layer_float(const rk_calculon_exe *exe, const char *name, layer_rule rule,
                           double value)
{
    const bool gathers = rk_ends_with(name, "Block_F"), reduces = rk_ends_with(name, "Block_G");
    const bool several = exe->tensor_par > 1;
    const bool full = exe->activation_recompute == RK_RECOMPUTE_FULL;
    const bool attention = exe->activation_recompute == RK_RECOMPUTE_ATTN && name[0] == 'A';
    switch (rule) {
    case ALWAYS:
        return true;
    case NOT_ZERO:
        return value != 0;
    case LOCAL:
        return !gathers && !reduces;
    case REDUCED:
        return reduces && several;
    case GATHERED:
        return gathers && several;
    case TILE:
        return rk_ends_with(name, "_AG") || rk_ends_with(name, "_RS");
    case NET:
        return value != 0 || ((gathers || reduces) && several);
    case AGAIN:
        return value != 0 || (several && reduces && full) ||
               (several && gathers && (full || exe->seq_par_ag_redo || attention));
    case SHARE:
        return (gathers || reduces) && exe->tensor_par_comm_type == RK_TP_RS_AG;
    default:
        return false;
    }
}

static const char *layer_text(const rk_calculon_exe *exe, const rk_calculon_layer_stats *layer,
                              const layer_field *field, char out[RK_STAT_TEXT_SIZE])
{
    const void *place = (const char *)layer + field->offset;
    if (field->rule == COUNT) {
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%" PRId64, *(const int64_t *)place);
        return out;
    }
    const double value = *(const double *)place;
    return is_layer_float(exe, layer->name, field->rule, value) ? rk_python_float_text(value, out)
                                                                : integer_text(value, out);
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
            rk_json_value(writer, layer_text(&result->exe, layer, &layer_fields[f], text));
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
        rk_json_value(writer, rk_calculon_stat_text(&result->exe, &result->stats, field, text));
    }
    if (result->layer_count > 0) {
        rk_json_key(writer, "layers");
        write_layers(writer, result);
    }
    rk_json_close(writer, "}");
}

/* How the fields of a mapping are spelt: falsehood, truth, and quotes. */
static const char *const json_spelling[] = {"false", "true", "\""};
static const char *const csv_spelling[] = {"False", "True", ""};

static const char *exe_text(const rk_calculon_exe *exe, const rk_field *field,
                            const char *const as[3], char out[RK_STAT_TEXT_SIZE])
{
    const void *place = (const char *)exe + field->offset;
    switch (field->type) {
    case RK_FIELD_INT:
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%" PRId64, *(const int64_t *)place);
        break;
    case RK_FIELD_BOOL:
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%s", as[*(const bool *)place]);
        break;
    default:
        assert(field->type == RK_FIELD_ENUM);
        (void)snprintf(out, RK_STAT_TEXT_SIZE, "%s%s%s", as[2],
                       field->names[*(const unsigned *)place], as[2]);
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
        rk_json_value(writer, exe_text(exe, field, json_spelling, text));
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
        rk_out_text(out, exe_text(&result->exe, field, csv_spelling, text));
        comma = ",";
    }
    for (size_t i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        const rk_stat_field *field = &rk_calculon_stat_fields[i];
        const bool null = isnan(rk_calculon_stat_value(&result->stats, field));
        rk_out_write(out, ",", 1);
        rk_out_text(out, null ? "None"
                              : rk_calculon_stat_text(&result->exe, &result->stats, field, text));
    }
    rk_out_write(out, "\n", 1);
}

/* ---- peers ------------------------------------------------------------------------------ */

/* Writes `count` processors from `first` on, each `step` after the one before. */
static void write_group(rk_json_writer *writer, int64_t first, int64_t step, int64_t count)
{
    assert(count >= 1);
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
