/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a sweep, read from its SQLite file. */
#ifndef RK_IO_SQLITE_IN_H
#define RK_IO_SQLITE_IN_H

#include "io/csv_in.h"

/*
 * Reads the tables `points` and `results` as the rows that the CSV file of the sweep has.
 * RK_ERR_INVALID where reckon is built without SQLite.  The caller releases the table with
 * rk_csv_in_clear.
 */
rk_status rk_sqlite_load(const char *path, rk_csv_in *table, rk_error *err);

#endif
