/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of making a run of a row: its degrees, and what it leaves open. */
#ifndef RK_EVIDENCE_CASE_PARTS_H
#define RK_EVIDENCE_CASE_PARTS_H

#include "evidence/facts.h"

/* Degrees and batch of a row; 0: not stated. */
typedef struct rk_run_degrees {
    int64_t ranks, tp, pp, vp, cp, ep, etp, dp, micro_batch, global_batch;
} rk_run_degrees;

enum { RK_RUN_DEGREE_MOST = 1 << 24 };

/* A run while its row is read. */
typedef struct rk_run_filling {
    const rk_run_sources *sources;
    rk_run_case *run;
    bool *no_memory; /* the caller's: set when an estimate had no memory, whatever follows */
    rk_run_facts facts;
    rk_run_degrees d;
    uint64_t assumed;                 /* bits of columns */
    int16_t stages[RK_RUN_STAGE_MAX]; /* layers of each, where they are stated */
    int stage_count;
} rk_run_filling;

static inline int64_t rk_at_least_1(int64_t value)
{
    return value < 1 ? 1 : value;
}

static inline uint64_t rk_run_bit(rk_run_column column)
{
    return rk_run_column_bit((int)column);
}

rk_status rk_run_read_degrees(const rk_run_table *table, size_t row, rk_run_degrees *out,
                              rk_error *err);

/* Whether the degrees follow from what is stated; with all states sharded, none is needed. */
bool rk_run_degrees_stated(const rk_run_degrees *degrees, const rk_run_facts *facts);

/*
 * The default of a row without a micro-batch: 1 in a pipeline, as in most recipes, otherwise the
 * whole batch of a rank.
 */
int64_t rk_run_usual_micro_batch(const rk_run_facts *facts, const rk_strategy *strategy);

/* The strategy of degrees and facts; `layout` holds its layout, if it has one. */
void rk_run_set_strategy(const rk_run_degrees *degrees, const rk_run_facts *facts,
                         const rk_model *model, rk_strategy *strategy, int16_t *layout);

/* The estimate of the run as it is filled so far; all zero without memory, see no_memory. */
rk_estimate rk_run_estimate_now(const rk_run_filling *f);

/* Layers of each stage, where the row states them: "6+9+9+8". */
rk_status rk_run_read_stages(const rk_run_table *table, size_t row, rk_run_filling *f,
                             rk_error *err);

/*
 * The strategy that the row states, with the usual choices where it states none.  States that are
 * assumed to be whole on every rank, and do not fit so, are sharded as by ZeRO-1.
 */
rk_status rk_run_fill_strategy(rk_run_filling *f, rk_error *err);

#endif
