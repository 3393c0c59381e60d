/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps an output from replacing a file that is read. */
#ifndef RK_IO_INPUTS_H
#define RK_IO_INPUTS_H

#include "reckon/reckon.h"

/*
 * Refuses `output` (NULL and "-": standard output) if it exists and is an input, or a
 * file that an input names: by the same path or another one, through links too.  Inputs are values
 * of options: names of files, lists of them between commas, JSON texts, names of the catalogue;
 * NULL is skipped.  Errors: RK_ERR_INVALID, RK_ERR_MEMORY.
 */
rk_status rk_refuse_input(const char *output, const char *const *inputs, size_t count,
                          rk_error *err);

#endif
