/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space of mappings that a search enumerates, as a plan: cells of one (tensor, pipeline)
 * degree, and in each the interleavings, settings, microbatches and network tiers to combine.
 *
 * Order of enumeration, outermost first: cell (t, then p), v, setting, b, tensor tier, pipeline
 * tier, data tier.  The place of a mapping in it is its index.
 */
#ifndef RK_CALCULON_SPACE_H
#define RK_CALCULON_SPACE_H

#include "reckon/reckon.h"

/* The choices between interleaving and microbatch, in the order in which they nest. */
typedef struct rk_space_setting {
    rk_recompute recompute;
    bool optimizer_sharding;
    rk_tp_comm comm;
    bool redo;
    bool dp_overlap;
    rk_tp_overlap tp_overlap;
    bool weight_offload, activations_offload, optimizer_offload;
    bool fused;
} rk_space_setting;

#define RK_SETTING_CODES 8192 /* of rk_space_setting_code */

/* Which settings exist in a cell depends on two bits: t > 1, D > 1. */
enum { RK_CELL_TENSOR = 1, RK_CELL_DATA = 2, RK_CELL_TYPES = 4 };

typedef struct rk_space_cell {
    int64_t t, p, D, B;
    int type;
    size_t v_first, v_count; /* in plan->values */
    size_t b_first, b_count; /* in plan->values, ascending */
    int nets[3];             /* tiers to try for tensor, pipeline, data */
    uint64_t first;          /* index of the first mapping */
} rk_space_cell;

typedef struct rk_space_plan {
    rk_space_cell *cells; /* owned; cells of one t are neighbours, t ascending */
    size_t cell_count;
    int64_t *values;                           /* owned: the lists of v and b */
    rk_space_setting *settings[RK_CELL_TYPES]; /* owned */
    size_t setting_count[RK_CELL_TYPES];
    uint16_t *ordinal[RK_CELL_TYPES]; /* owned; place of a setting by its code */
    uint64_t total;
} rk_space_plan;

/* Builds the plan; the caller releases it with rk_space_plan_clear, also after a failure. */
rk_status rk_space_plan_init(const rk_calculon_app *app, const rk_calculon_sys *sys,
                             const rk_calculon_space *space, rk_space_plan *plan, rk_error *err);
void rk_space_plan_clear(rk_space_plan *plan);

/* A number below RK_SETTING_CODES that tells settings apart. */
static inline unsigned rk_space_setting_code(const rk_space_setting *s)
{
    return (unsigned)s->recompute | (unsigned)s->optimizer_sharding << 2 | (unsigned)s->comm << 3 |
           (unsigned)s->redo << 5 | (unsigned)s->dp_overlap << 6 | (unsigned)s->tp_overlap << 7 |
           (unsigned)s->weight_offload << 9 | (unsigned)s->activations_offload << 10 |
           (unsigned)s->optimizer_offload << 11 | (unsigned)s->fused << 12;
}

/* Places within a cell. */
typedef struct rk_space_place {
    size_t v_index, b_index;
    int nets[3]; /* tensor, pipeline, data */
} rk_space_place;

/* The index of a mapping, and the mapping itself. */
uint64_t rk_space_index(const rk_space_plan *plan, const rk_space_cell *cell,
                        const rk_space_setting *setting, const rk_space_place *place);
rk_calculon_exe rk_space_mapping(const rk_space_plan *plan, const rk_calculon_space *space,
                                 const rk_space_cell *cell, const rk_space_setting *setting,
                                 const rk_space_place *place);

/* Mappings of a cell that share v, setting and b. */
static inline uint64_t rk_space_net_count(const rk_space_cell *cell)
{
    return (uint64_t)cell->nets[0] * (uint64_t)cell->nets[1] * (uint64_t)cell->nets[2];
}

#endif
