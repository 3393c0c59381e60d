/* SPDX-License-Identifier: Apache-2.0 */
/* The output documents of the Calculon methodology: statistics, ranked lists, tables, peers. */
#ifndef RK_FORMATS_CALCULON_WRITE_H
#define RK_FORMATS_CALCULON_WRITE_H

#include "formats/json_write.h"

#include <stdio.h>

/* How a statistics field is stored in rk_calculon_stats. */
typedef enum rk_stat_kind { RK_STAT_REAL, RK_STAT_LONG } rk_stat_kind;

typedef struct rk_stat_field {
    const char *name;
    rk_stat_kind kind; /* double, long double */
    size_t offset;
    const char *unit; /* "FLOP", "s", "B", "B/s", "1/s" or "" */
} rk_stat_field;

/* The 96 fields in the published order. */
extern const rk_stat_field rk_calculon_stat_fields[RK_CALCULON_STATS_COUNT];

/* Returns a field as a double. */
double rk_calculon_stat_value(const rk_calculon_stats *stats, const rk_stat_field *field);

#define RK_STAT_TEXT_SIZE 48
/* Writes a field as JSON text (null where it is NaN).  Returns out. */
const char *rk_calculon_stat_text(const rk_calculon_stats *stats, const rk_stat_field *field,
                                  char out[RK_STAT_TEXT_SIZE]);

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
