/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV file with a header, held in memory: a table of measured runs. */
#ifndef RK_EVIDENCE_RUN_TABLE_H
#define RK_EVIDENCE_RUN_TABLE_H

#include "reckon/reckon.h"

/* Columns that mean something here; a table may have others and may lack any.  See
 * data/runs/README.md for units and conventions. */
typedef enum rk_run_column {
    RK_RUN_ID,
    RK_RUN_PART,   /* collection that the row comes from */
    RK_RUN_SOURCE, /* table of the collection, with its release */
    RK_RUN_RELEASE,
    RK_RUN_MODEL,
    RK_RUN_LAYERS,
    RK_RUN_HIDDEN,
    RK_RUN_FFN,
    RK_RUN_HEADS,
    RK_RUN_KV_HEADS,
    RK_RUN_HEAD_SIZE,
    RK_RUN_VOCAB,
    RK_RUN_SEQ,
    RK_RUN_EXPERTS,
    RK_RUN_TOP_K,
    RK_RUN_EXPERT_FFN,
    RK_RUN_SHARED_EXPERTS,
    RK_RUN_ACCELERATOR,
    RK_RUN_ACCELERATORS,
    RK_RUN_PER_NODE,
    RK_RUN_TP,
    RK_RUN_PP,
    RK_RUN_VP,
    RK_RUN_CP,
    RK_RUN_EP,
    RK_RUN_ETP,
    RK_RUN_DP,
    RK_RUN_MICRO_BATCH,
    RK_RUN_GLOBAL_BATCH,
    RK_RUN_SP,
    RK_RUN_RECOMPUTE,
    RK_RUN_SHARDING,
    RK_RUN_PRECISION,
    RK_RUN_FLAGS,
    RK_RUN_OUTCOME, /* "oom": the run ran out of memory; empty: it ran */
    RK_RUN_STEP_SECONDS,
    RK_RUN_TOKENS_PER_SECOND,
    RK_RUN_TFLOPS,
    RK_RUN_MFU,
    RK_RUN_MEMORY,
    RK_RUN_INTERCONNECT,
    RK_RUN_YEAR,
    RK_RUN_TIER,
    RK_RUN_SPLIT,
    RK_RUN_NOTES,
    RK_RUN_TASK,   /* pretrain, sft, lora; empty: pretrain */
    RK_RUN_STACK,  /* a name of data/stacks, or a file; empty: as rules say */
    RK_RUN_SYSTEM, /* a name of data/systems or data/accelerators, or a file; likewise */
    RK_RUN_COLUMN_COUNT,
} rk_run_column;

extern const char *const rk_run_column_names[]; /* as in the header; NULL-terminated */

typedef struct rk_run_table {
    char name[256]; /* file, for messages */
    char *text;     /* owned; cut into cells */
    char **cells;   /* owned; rows * columns after the header */
    size_t rows, columns;
    int at[RK_RUN_COLUMN_COUNT]; /* place of a known column; -1: the table lacks it */
} rk_run_table;

/*
 * Reads a file (.csv, or .csv.gz) or a text: RFC 4180 with LF or CRLF, one header.  A fault is
 * RK_ERR_SYNTAX with the line and, as its column, the number of the cell; files above 256 MiB
 * (unpacked) are refused. The caller releases the table with rk_run_table_clear; all zero is an
 * empty one.
 */
rk_status rk_run_table_load(const char *path, rk_run_table *table, rk_error *err);
rk_status rk_run_table_parse(const char *text, size_t size, const char *name, rk_run_table *table,
                             rk_error *err);
void rk_run_table_clear(rk_run_table *table);

/* Cell of a row (0-based, the header not counted); "" where the table lacks the column. */
const char *rk_run_cell(const rk_run_table *table, size_t row, rk_run_column column);

/*
 * A cell that holds a count or a measure: a finite number of at least 0, or nothing (*value keeps
 * what it had).  Anything else is RK_ERR_INVALID, naming the row and the column.
 */
rk_status rk_run_number(const rk_run_table *table, size_t row, rk_run_column column, double *value,
                        rk_error *err);

/* Refuses a table that lacks a column without which no row can be a run. */
rk_status rk_run_table_check(const rk_run_table *table, rk_error *err);

/* Whether `text` contains `part`, letters of either case alike. */
bool rk_run_contains(const char *text, const char *part);

#endif
