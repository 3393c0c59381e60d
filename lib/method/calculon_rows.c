/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of the Calculon method in rows. */
#include "method/rows.h"

#include "base/text.h"
#include "base/units.h"
#include "calculon/calculon_docs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define EXE(member) offsetof(rk_calculon_exe, member)

/* A row that shows a field of the mapping. */
static const struct {
    const char *label;
    rk_field_type type;
    size_t offset;
    const char *const *names;
} choices[] = {
    {"tensor parallel, TP", RK_FIELD_INT, EXE(tensor_par), NULL},
    {"pipeline parallel, PP", RK_FIELD_INT, EXE(pipeline_par), NULL},
    {"data parallel, DP", RK_FIELD_INT, EXE(data_par), NULL},
    {"interleaving, VP", RK_FIELD_INT, EXE(pipeline_interleaving), NULL},
    {"batch", RK_FIELD_INT, EXE(batch_size), NULL},
    {"microbatch", RK_FIELD_INT, EXE(microbatch_size), NULL},
    {"recompute", RK_FIELD_ENUM, EXE(activation_recompute), rk_recompute_names},
    {"TP communication", RK_FIELD_ENUM, EXE(tensor_par_comm_type), rk_tp_comm_names},
    {"TP overlap", RK_FIELD_ENUM, EXE(tensor_par_overlap), rk_tp_overlap_names},
    {"repeat all-gather", RK_FIELD_BOOL, EXE(seq_par_ag_redo), NULL},
    {"DP overlap", RK_FIELD_BOOL, EXE(data_par_overlap), NULL},
    {"fused activation", RK_FIELD_BOOL, EXE(fused_activation), NULL},
    {"sharded optimizer", RK_FIELD_BOOL, EXE(optimizer_sharding), NULL},
    {"offload weights", RK_FIELD_BOOL, EXE(weight_offload), NULL},
    {"offload activations", RK_FIELD_BOOL, EXE(activations_offload), NULL},
    {"offload optimizer", RK_FIELD_BOOL, EXE(optimizer_offload), NULL},
};

enum { CHOICES = sizeof(choices) / sizeof(choices[0]) };

static const char *choice_text(const rk_calculon_exe *exe, size_t row, char out[RK_CELL_SIZE])
{
    assert(row < sizeof(choices) / sizeof(choices[0]));
    const void *place = (const char *)exe + choices[row].offset;
    if (choices[row].type == RK_FIELD_BOOL) {
        return *(const bool *)place ? "yes" : "no";
    }
    if (choices[row].type == RK_FIELD_ENUM) {
        return choices[row].names[*(const unsigned *)place];
    }
    (void)snprintf(out, RK_CELL_SIZE, "%" PRId64, *(const int64_t *)place);
    return out;
}

/* Time and memory of a strategy. */
enum cost { NETWORKS, STEP, SAMPLES, TOKENS, EFFICIENCY, MEMORY, OFFLOADED, COSTS };

static const char *const cost_labels[COSTS] = {
    [NETWORKS] = "networks, TP/PP/DP",
    [STEP] = "step time, s",
    [SAMPLES] = "samples/s",
    [TOKENS] = "tokens/s",
    [EFFICIENCY] = "efficiency, %",
    [MEMORY] = "memory, GiB",
    [OFFLOADED] = "offload memory, GiB",
};

static const char *cost_text(const rk_problem *problem, const rk_candidate *c, enum cost cost,
                             char out[RK_CELL_SIZE])
{
    const rk_calculon_exe *exe = &c->exe;
    switch (cost) {
    case NETWORKS:
        (void)snprintf(out, RK_CELL_SIZE, "%" PRId64 "/%" PRId64 "/%" PRId64, exe->tensor_par_net,
                       exe->pipeline_par_net, exe->data_par_net);
        return out;
    case TOKENS:
        return rk_human_text(c->rate * (double)problem->calculon.app.seq_size, RK_HUMAN_BASE10,
                             out);
    case STEP:
    case SAMPLES:
        (void)snprintf(out, RK_CELL_SIZE, "%.5g", cost == STEP ? c->step : c->rate);
        return out;
    case EFFICIENCY:
        (void)snprintf(out, RK_CELL_SIZE, "%.2f", 100 * c->efficiency);
        return out;
    default:
        (void)snprintf(out, RK_CELL_SIZE, "%.2f",
                       (cost == MEMORY ? c->memory : c->offloaded) / GIB);
        return out;
    }
}

_Static_assert(RK_CALCULON_ROWS == CHOICES + COSTS, "rows are counted");

const char *rk_calculon_row_label(size_t row)
{
    return row < CHOICES ? choices[row].label : cost_labels[row - CHOICES];
}

const char *rk_calculon_describe(const rk_problem *problem, const rk_candidate *candidate,
                                 size_t row, char out[RK_CELL_SIZE])
{
    return row < CHOICES ? choice_text(&candidate->exe, row, out)
                         : cost_text(problem, candidate, (enum cost)(row - CHOICES), out);
}
