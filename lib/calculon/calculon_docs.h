/* SPDX-License-Identifier: Apache-2.0 */
/* The three input documents of the Calculon methodology, from and to JSON. */
#ifndef RK_CALCULON_CALCULON_DOCS_H
#define RK_CALCULON_CALCULON_DOCS_H

#include "io/fields.h"

/* Largest count of a document: elements, tokens, sequences, processors of a network tier. */
#define RK_DOCUMENT_COUNT_MAX 0x1p40

/* Names of the enums in documents, NULL-terminated, in enum order. */
extern const char *const rk_datatype_names[];
extern const char *const rk_attention_names[];
extern const char *const rk_recompute_names[];
extern const char *const rk_tp_comm_names[];
extern const char *const rk_tp_overlap_names[];

/* The 23 fields of an execution document in the published order (also CSV columns). */
#define RK_CALCULON_EXE_FIELD_COUNT 23
extern const rk_field rk_calculon_exe_fields[RK_CALCULON_EXE_FIELD_COUNT];

/* Reading from a parsed object; `err` gets JSON path and message, the caller adds the file. */
rk_status rk_calculon_app_from_json(const json_t *object, bool lenient, rk_calculon_app *app,
                                    rk_error *err);
rk_status rk_calculon_sys_from_json(const json_t *object, bool lenient, rk_calculon_sys *sys,
                                    rk_error *err);
/* Checks all load-time rules of the mapping too (degrees multiply to num_procs, ...). */
rk_status rk_calculon_exe_from_json(const json_t *object, rk_calculon_exe *exe, rk_error *err);

/* Returns a new object, owned by the caller, or NULL when there is no memory. */
json_t *rk_calculon_exe_to_json(const rk_calculon_exe *exe);

#endif
