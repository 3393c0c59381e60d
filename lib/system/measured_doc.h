/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member "measured" of documents of machines: tables of kernels that were timed.
 *
 *     "measured": {"gemm": "my-gemm.csv", "collective": "nccl.csv",
 *                  "attention": {"file": "all.csv", "where": {"library": "x"}}}
 *
 * A name that ends in .csv or .csv.gz is a file in the document's folder, any other is of the
 * catalogue (data/measured).  "where" keeps the rows whose cells are so.  Columns, times in us:
 *
 *     gemm       precision,m,n,k,us; also batch,grouped,accumulate_bytes,clock,module
 *     attention  pass,head_size,heads,batch,seq,us; also causal,kv_heads,module
 *     collective op,ranks,bytes,us; also ranks_per_node
 *
 * as in data/ops/README.md; rows with module 1 time more than the kernel and are passed over.
 */
#ifndef RK_SYSTEM_MEASURED_DOC_H
#define RK_SYSTEM_MEASURED_DOC_H

#include "io/json.h"
#include "system/operator_rows.h"

/* Refuses what is no such member, without reading tables. */
rk_status rk_measured_doc_check(const json_t *value, const char *path, rk_error *err);

/*
 * Reads the tables that `value` (NULL: none) names into an accelerator whose other numbers are
 * read. `document`: the file that says so, or a name of the catalogue.
 */
rk_status rk_measured_doc_read(const json_t *value, const char *document, rk_system *system,
                               rk_error *err);

/*
 * Makes the tables that a document of a machine names relative to the working directory instead of
 * `file`, which the document came from: for documents that become part of others.
 */
rk_status rk_measured_doc_rebase(json_t *document, const char *file, rk_error *err);

/* Kernels of some tables.  All zero is none; the caller frees `rows`. */
typedef struct rk_measured_kernels {
    rk_measured_kernel *rows; /* owned */
    size_t count;
} rk_measured_kernels;

/*
 * Appends the rows of a table whose cells are as `where` (NULL: any) says.  Refuses faulty rows,
 * sizes and times that no kernel of the machine has, and a table without a row that counts.
 */
rk_status rk_measured_kernels_read(const rk_cells *table, rk_kernel_kind kind, json_t *where,
                                   const rk_system *system, rk_measured_kernels *list,
                                   rk_error *err);

#endif
