/* SPDX-License-Identifier: Apache-2.0 */
/* The output documents of the Calculon methodology: statistics, ranked lists, tables, peers. */
#ifndef RK_CALCULON_CALCULON_WRITE_H
#define RK_CALCULON_CALCULON_WRITE_H

#include "io/json_write.h"

#include <stdio.h>

/* How a statistics field is stored in rk_calculon_stats. */
typedef enum rk_stat_kind { RK_STAT_REAL, RK_STAT_LONG } rk_stat_kind;

/*
 * When the published tool writes a field as a float (1.0) and not as an integer (1): Python keeps
 * the kind of the numbers that a value was formed from.  These rules hold for every one of its
 * 8,000 reference cases.
 */
typedef enum rk_float_rule {
    RK_FLOAT_NEVER,
    RK_FLOAT_ALWAYS,
    RK_FLOAT_NOT_ZERO,   /* 0 where nothing was added up */
    RK_FLOAT_TRAINING,   /* times and sizes of the backward pass and the optimizer */
    RK_FLOAT_RECOMPUTE,  /* what is computed again */
    RK_FLOAT_TP,         /* network times of tensor parallelism */
    RK_FLOAT_TP_FW,      /* FLOP of communication layers: forward, */
    RK_FLOAT_TP_RE,      /* forward again, */
    RK_FLOAT_TP_BW,      /* backward, */
    RK_FLOAT_TP_USEFUL,  /* and of all phases */
    RK_FLOAT_TP_AGAIN,   /* network times of repeated communication */
    RK_FLOAT_TILED,      /* what overlapped communication needs */
    RK_FLOAT_SHARE,      /* activations that communication layers split over TP */
    RK_FLOAT_SHARE_KEPT, /* those stored from forward to backward */
    RK_FLOAT_SHARE_GRAD, /* gradients of such activations */
    RK_FLOAT_ACT,        /* activations of all blocks and microbatches in flight */
    RK_FLOAT_CHECKPOINT, /* checkpoints of such activations */
    RK_FLOAT_BLOCKS,     /* gradients of blocks beyond the first */
    RK_FLOAT_MEM1,
    RK_FLOAT_MEM2,
} rk_float_rule;

typedef struct rk_stat_field {
    const char *name;
    rk_stat_kind kind; /* double, long double */
    rk_float_rule rule;
    size_t offset;
    const char *unit; /* "FLOP", "s", "B", "B/s", "1/s" or "" */
} rk_stat_field;

/* The 96 fields in the published order. */
extern const rk_stat_field rk_calculon_stat_fields[RK_CALCULON_STATS_COUNT];

/* Returns a field as a double. */
double rk_calculon_stat_value(const rk_calculon_stats *stats, const rk_stat_field *field);

#define RK_STAT_TEXT_SIZE 48
/* Writes a field of a mapping as JSON text (null if NaN).  Returns out. */
const char *rk_calculon_stat_text(const rk_calculon_exe *exe, const rk_calculon_stats *stats,
                                  const rk_stat_field *field, char out[RK_STAT_TEXT_SIZE]);

/* One evaluated mapping to be written. */
typedef struct rk_calculon_result {
    rk_calculon_exe exe;
    rk_calculon_stats stats;
    int layer_count; /* 0: no layer list */
    rk_calculon_layer_stats layers[RK_CALCULON_LAYER_MAX];
} rk_calculon_result;

/*
 * The layouts of JSON: indented by two blanks with one element a line and no newline at the end
 * (.json), or on one line (.json.gz).
 */
void rk_calculon_write_stats(rk_out *out, bool indented, const rk_calculon_result *result);

/* An execution document, as a value. */
void rk_calculon_write_exe(rk_json_writer *writer, const rk_calculon_exe *exe);

/* {"0": {"execution": ..., "stats": ...}, ...}; count may be 0 ("{}"). */
void rk_calculon_write_ranked(rk_out *out, bool indented, const rk_calculon_result *results,
                              size_t count);

/* CSV: with `index`, an empty first header cell and the row number in front. */
void rk_calculon_write_csv_header(rk_out *out, bool index);
void rk_calculon_write_csv_row(rk_out *out, bool index, size_t row,
                               const rk_calculon_result *result);

/* The peers document: for every processor its tensor, pipeline and data peers. */
void rk_calculon_write_peers(rk_out *out, bool indented, const rk_calculon_exe *exe);

#endif
