/* SPDX-License-Identifier: Apache-2.0 */
/* How a bounded search went. */
#ifndef RK_COMMAND_BOUNDED_H
#define RK_COMMAND_BOUNDED_H

#include "io/json_write.h"

#include <stdio.h>

/* The lines of a header from "search" on; `method` is its name. */
void rk_write_bounded(FILE *to, const rk_bounded_counts *counts, const char *method, double cpu_s);

/* Members of an object that is open. */
void rk_bounded_write_json(rk_json_writer *writer, const rk_bounded_counts *counts);

#endif
