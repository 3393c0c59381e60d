/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a number of accelerators and a system: "64xh100". */
#ifndef RK_SYSTEM_MACHINE_H
#define RK_SYSTEM_MACHINE_H

#include "reckon/base.h"

#include <stdint.h>

#define RK_MACHINE_NAME_SIZE 1024

/* A number, of accelerators or of the units that the system's name means, and a system. */
typedef struct rk_machine {
    int64_t count;
    char system[RK_MACHINE_NAME_SIZE]; /* "": the word is no such thing */
} rk_machine;

/*
 * Reads "64xh100", "64*h100", "h100:64", "h100x64", and slices of TPUs, "v5p-128" or "2xv5e-256".
 * Errors: RK_ERR_INVALID for numbers that count nothing ("-5xh100", "1e9xh100", "8x8xh100"), with
 * what to type.
 */
rk_status rk_machine_read(const char *word, rk_machine *machine, rk_error *err);

/* The same for words that begin with the number only. */
rk_status rk_machine_read_number_first(const char *word, rk_machine *machine, rk_error *err);

/*
 * Accelerators of what a number before the name of a system counts: of a node, a rack; else 1, also
 * of a document that cannot be read.  Errors: RK_ERR_MEMORY.
 */
rk_status rk_machine_unit(const char *system, int64_t *each, rk_error *err);

#endif
