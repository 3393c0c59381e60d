/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces sqlite_library.c in static programs, which have SQLite linked. */
#include "io/sqlite_library.h"

rk_status rk_sqlite_library_open(rk_sqlite *sqlite, rk_error *err)
{
#define LINKED(function) .function = sqlite3_##function,
    (void)err;
    *sqlite = (rk_sqlite){RK_SQLITE_FUNCTIONS(LINKED)};
    return RK_OK;
}
