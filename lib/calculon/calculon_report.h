/* SPDX-License-Identifier: Apache-2.0 */
/* The published report that people read after one evaluation. */
#ifndef RK_CALCULON_CALCULON_REPORT_H
#define RK_CALCULON_CALCULON_REPORT_H

#include "reckon/reckon.h"

#include <stdio.h>

/*
 * Writes the report of one evaluation.  `execution` and `system` are the documents as the
 * published tool prints them (io/python_literal.h).
 */
void rk_calculon_report_write(FILE *to, const rk_calculon_app *app, const rk_calculon_exe *exe,
                              const rk_calculon_stats *stats, const char *execution,
                              const char *system);

#endif
