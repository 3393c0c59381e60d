/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document of an accelerator or a stack whose numbers are changed by their path, to be read as
 * machine or software again and again, and written back with all the rest as it was.
 */
#ifndef RK_EVIDENCE_EDITABLE_DOCUMENT_H
#define RK_EVIDENCE_EDITABLE_DOCUMENT_H

#include "stack/stack.h"
#include "system/system.h"

typedef struct rk_editable rk_editable;

typedef enum rk_editable_kind { RK_EDITABLE_SYSTEM, RK_EDITABLE_STACK } rk_editable_kind;

/* Reads a file of either kind, and checks it.  The caller frees *tuned. */
rk_status rk_editable_open(const char *path, rk_editable **tuned, rk_error *err);

/* A deep copy, for another thread. */
rk_status rk_editable_copy(const rk_editable *tuned, rk_editable **copy, rk_error *err);

/* NULL is legal. */
void rk_editable_free(rk_editable *tuned);

rk_editable_kind rk_editable_kind_of(const rk_editable *tuned);

/* Name of the document: its file without folders and extension. */
const char *rk_editable_name(const rk_editable *tuned);

/* Value at a path; `missing` when the group of the path exists and lacks the key. */
rk_status rk_editable_get(const rk_editable *tuned, const char *path, double missing, double *value,
                          rk_error *err);

/* Changes a number, or adds it. */
rk_status rk_editable_set(rk_editable *tuned, const char *path, double value, rk_error *err);

/* The document with its changes; machines without their measured tables. */
rk_status rk_editable_system(const rk_editable *tuned, rk_system *system, rk_error *err);
rk_status rk_editable_stack(const rk_editable *tuned, rk_stack *stack, rk_error *err);

/* A cluster of the catalogue or of a file, with this document as its accelerator. */
rk_status rk_editable_cluster(const rk_editable *tuned, const char *name, rk_system *system,
                              rk_error *err);

/* Sets the text of the member "provenance" of a group ("gemm.bf16", "tiers[0]"). */
rk_status rk_editable_note(rk_editable *tuned, const char *group, const char *note, rk_error *err);

/* Writes the document with its changes and notes; every other byte stays as it was read. */
rk_status rk_editable_write(const rk_editable *tuned, const char *path, rk_error *err);

#endif
