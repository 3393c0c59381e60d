/* SPDX-License-Identifier: Apache-2.0 */
/* A measured run as the inputs of an estimate. */
#ifndef TESTS_RUN_CASE_H
#define TESTS_RUN_CASE_H

#include "run_table.h"

#include "estimate/estimate.h"

/* What the printed memory is. */
typedef enum run_memory { RUN_ALLOCATED, RUN_RESERVED, RUN_TOTAL } run_memory;

typedef struct run_case {
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_strategy strategy;
    double step_seconds; /* measured; 0: not printed */
    double memory;       /* measured peak, bytes; 0: not printed */
    run_memory memory_kind;
    bool first_stage; /* the memory is that of pipeline rank 0, not of the worst */
} run_case;

/* Fills the case from a row.  False when it cannot be expressed, with the reason (static text). */
bool run_case_of(const run_table *table, size_t row, run_case *out, const char **reason);

/* The parts of a case. */
bool run_model_of(const run_table *table, size_t row, rk_model *model, const char **reason);
bool run_system_of(const run_table *table, size_t row, rk_system *system, const char **reason);

#endif
