/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies and estimates of the reckon model as named fields: one list of them is what tables,
 * JSON and CSV write, and what two strategies are compared by.
 */
#ifndef RK_REPORT_ESTIMATE_FIELDS_H
#define RK_REPORT_ESTIMATE_FIELDS_H

#include "estimate/estimate.h"
#include "io/json_write.h"
#include "io/value.h"

/* Keys of the parts of time and memory in documents, in enum order. */
extern const char *const rk_part_keys[RK_PART_COUNT];
extern const char *const rk_memory_part_keys[RK_MEMORY_PART_COUNT];

/* ---- strategies ---------------------------------------------------------------------------- */

#define RK_STRATEGY_FIELD_COUNT 46
#define RK_STRATEGY_TEXT_SIZE   1280 /* of a field in words: the layout of 256 stages */

/* What a field is called in documents and by people. */
const char *rk_strategy_key(size_t field);
const char *rk_strategy_label(size_t field);

/* The value of a field; text may stand in `out`. */
rk_value rk_strategy_value(const rk_strategy *strategy, size_t field,
                           char out[RK_STRATEGY_TEXT_SIZE]);

/* The same for people: "yes", "8", "norm+activation". */
const char *rk_strategy_text(const rk_strategy *strategy, size_t field,
                             char out[RK_STRATEGY_TEXT_SIZE]);

/* Whether two strategies have the same in a field; fields that follow from others always do. */
bool rk_strategy_same(const rk_strategy *a, const rk_strategy *b, size_t field);

/* What is different in b: "TP 8 (was 4), DP 2 (was 4)"; "" when they are equal.  Returns out. */
const char *rk_strategy_changes(const rk_strategy *a, const rk_strategy *b, char *out, size_t size);

/* ---- documents ----------------------------------------------------------------------------- */

/* Members of an object: "strategy", and "estimate" with its parts. */
void rk_strategy_write_json(rk_json_writer *writer, const rk_strategy *strategy);
void rk_estimate_write_json(rk_json_writer *writer, const rk_strategy *strategy,
                            const rk_estimate *estimate);

/* The member "stages": memory of every pipeline rank. */
void rk_stages_write_json(rk_json_writer *writer, const rk_stage_memory *stages, int64_t count,
                          double usable);

/* ---- tables -------------------------------------------------------------------------------- */

#define RK_ESTIMATE_COLUMN_SIZE 48 /* of a name */

/* The columns of an estimate: the strategy, then results with all parts.  Returns the type. */
size_t rk_estimate_column_count(void);
rk_value_type rk_estimate_column(size_t column, char name[RK_ESTIMATE_COLUMN_SIZE]);

/* Fills a value for each; text may stand in `texts`. */
typedef char rk_estimate_texts[RK_STRATEGY_FIELD_COUNT][RK_STRATEGY_TEXT_SIZE];
void rk_estimate_values(const rk_strategy *strategy, const rk_estimate *estimate,
                        rk_estimate_texts texts, rk_value *values);

/* A CSV table: the rank, the strategy, and its estimate with all parts. */
void rk_estimate_write_csv_header(rk_out *out);
void rk_estimate_write_csv_row(rk_out *out, size_t rank, const rk_strategy *strategy,
                               const rk_estimate *estimate);

#endif
