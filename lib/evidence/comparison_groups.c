/* SPDX-License-Identifier: Apache-2.0 */
/* The group of a compared run. */
#include "evidence/compare.h"
#include "evidence/run_facts.h"

#include <assert.h>
#include <stdio.h>

const char *const rk_dimension_names[] = {
    "source",      "accelerator", "nodes", "precision", "kind",  "tensor", "schedule",
    "utilisation", "stack",       "model", "tier",      "split", "memory", NULL,
};

/* Bands of a number: the first whose bound it does not exceed. */
static int band(double value, const double *bounds, size_t count)
{
    assert(count > 0);
    size_t i = 0;
    while (i < count && value > bounds[i]) {
        i++;
    }
    return (int)i;
}

static int nodes_label(const rk_compared *row, char out[RK_LABEL_TEXT])
{
    static const double bounds[] = {1, 8, 32, 128};
    static const char *const names[] = {"1 node", "2-8 nodes", "9-32 nodes", "33-128 nodes",
                                        "129+ nodes"};
    const int i = band((double)row->nodes, bounds, 4);
    (void)snprintf(out, RK_LABEL_TEXT, "%s", names[i]);
    return 1 + i;
}

static int utilisation_label(const rk_compared *row, char out[RK_LABEL_TEXT])
{
    static const double bounds[] = {0.05, 0.2, 0.35, 0.5};
    static const char *const names[] = {"MFU 0-5%", "MFU 5-20%", "MFU 20-35%", "MFU 35-50%",
                                        "MFU over 50%"};
    if (row->utilisation <= 0) {
        (void)snprintf(out, RK_LABEL_TEXT, "not measured");
        return 9;
    }
    const int i = band(row->utilisation, bounds, 4);
    (void)snprintf(out, RK_LABEL_TEXT, "%s", names[i]);
    return 1 + i;
}

/* Whether tensor parallelism leaves the fastest tier. */
static int tensor_label(const rk_compared *row, char out[RK_LABEL_TEXT])
{
    const bool none = row->strategy.tp == 1;
    const bool inside = row->strategy.tp <= row->system->tiers[0].size;
    (void)snprintf(out, RK_LABEL_TEXT, "%s",
                   none     ? "no TP"
                   : inside ? "TP in a node"
                            : "TP across nodes");
    return none ? 1 : inside ? 2 : 3;
}

static int schedule_label(const rk_compared *row, char out[RK_LABEL_TEXT])
{
    const bool none = row->strategy.pp == 1;
    (void)snprintf(out, RK_LABEL_TEXT, "%s",
                   none ? "no pipeline" : rk_schedule_names[row->strategy.schedule]);
    return none ? 1 : 2 + (int)row->strategy.schedule;
}

/* What the peak of memory is: rounded ones, and those of a card that is a guess, prove little. */
static int memory_label(const rk_compared *row, char out[RK_LABEL_TEXT])
{
    const char *kind = rk_run_fact_cell(row->table, row->row, rk_run_fact_of("memory_kind"));
    const bool guessed =
        rk_run_contains(rk_run_cell(row->table, row->row, RK_RUN_INFERRED), "accelerator");
    const bool rounded =
        rk_run_contains(rk_run_cell(row->table, row->row, RK_RUN_UNREAD), "rounded");
    (void)snprintf(out, RK_LABEL_TEXT, "%s",
                   guessed   ? "guessed card"
                   : rounded ? "rounded"
                   : *kind   ? kind
                             : "memory not stated");
    return guessed ? 3 : rounded ? 2 : 1;
}

int rk_compared_label(const rk_compared *row, rk_dimension dimension, char out[RK_LABEL_TEXT])
{
    assert(dimension < RK_DIMENSION_COUNT);
    static const rk_run_column columns[RK_DIMENSION_COUNT] = {
        [RK_BY_MODEL] = RK_RUN_MODEL, [RK_BY_TIER] = RK_RUN_TIER, [RK_BY_SPLIT] = RK_RUN_SPLIT};
    if (dimension == RK_BY_SOURCE) {
        (void)snprintf(out, RK_LABEL_TEXT, "%s", row->group);
    } else if (columns[dimension]) {
        (void)snprintf(out, RK_LABEL_TEXT, "%.63s",
                       rk_run_cell(row->table, row->row, columns[dimension]));
    } else if (dimension == RK_BY_MEMORY) {
        return memory_label(row, out);
    } else if (!row->stack) {
        (void)snprintf(out, RK_LABEL_TEXT, "unknown");
    } else if (dimension == RK_BY_NODES) {
        return nodes_label(row, out);
    } else if (dimension == RK_BY_UTILISATION) {
        return utilisation_label(row, out);
    } else if (dimension == RK_BY_TENSOR) {
        return tensor_label(row, out);
    } else if (dimension == RK_BY_SCHEDULE) {
        return schedule_label(row, out);
    } else {
        (void)snprintf(out, RK_LABEL_TEXT, "%s",
                       dimension == RK_BY_ACCELERATOR ? row->system->accelerator.name
                       : dimension == RK_BY_STACK     ? row->stack->name
                       : dimension == RK_BY_KIND      ? (row->moe ? "MoE" : "dense")
                                                 : rk_precision_names[row->strategy.precision]);
    }
    return 0;
}
