/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates of the reckon model as named fields: tables, JSON and CSV write one list of fields,
 * after the fields of the strategy.
 */
#ifndef RK_METHOD_ESTIMATE_FIELDS_H
#define RK_METHOD_ESTIMATE_FIELDS_H

#include "base/value.h"
#include "estimate/estimate.h"
#include "io/json_write.h"
#include "strategy/strategy_fields.h"

/* Keys of the parts of time and memory in documents, in enum order. */
extern const char *const rk_part_keys[RK_PART_COUNT];
extern const char *const rk_memory_part_keys[RK_MEMORY_PART_COUNT];

/* ---- programs ------------------------------------------------------------------------------ */

/* The figures of an estimate for programs, without comparable runs. */
rk_prediction rk_prediction_of(const rk_estimate *estimate);

/* The memory of a rank by part. */
void rk_memory_parts_of(const rk_stage_memory *memory, double out[RK_MEMORY_ROOM]);

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

/* Fills a value for each column; texts may be written to `texts`. */
typedef char rk_estimate_texts[RK_STRATEGY_FIELD_COUNT][RK_STRATEGY_TEXT_SIZE];
void rk_estimate_values(const rk_strategy *strategy, const rk_estimate *estimate,
                        rk_estimate_texts texts, rk_value *values);

/* A CSV table: the rank, the strategy, its estimate with all parts, and `rest`, e.g. ",label". */
void rk_estimate_write_csv_header(rk_out *out, const char *rest);
void rk_estimate_write_csv_row(rk_out *out, size_t rank, const rk_strategy *strategy,
                               const rk_estimate *estimate, const char *rest);

#endif
