/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of machines.
 *
 * An accelerator (data/accelerators) describes a chip in groups of numbers: compute, gemm,
 * attention, memory, host; and the tiers of its usual node and NIC.  A cluster (data/systems) names
 * an accelerator, or holds one, and says what is different: the tiers, the power limit, the host
 * memory, the price.  Either may name tables of kernels that were timed (measured_doc.h).  Keys
 * carry units.  Every group has a "source", and an "uncertain" list of the keys that the source
 * does not settle.
 */
#ifndef RK_SYSTEM_SYSTEM_DOC_H
#define RK_SYSTEM_SYSTEM_DOC_H

#include "io/json.h"
#include "system/system.h"

/*
 * Reads either document and checks it; `err` gets the JSON path, the caller adds the file.  Tables
 * that it names are found from the working directory.  The caller releases what was read with
 * rk_system_clear.
 */
rk_status rk_system_from_json(const json_t *object, rk_system *system, rk_error *err);

/* Makes the accelerator's file that a cluster names relative to `document`, the cluster's file. */
rk_status rk_system_doc_rebase(json_t *cluster, const char *document, rk_error *err);

#endif
