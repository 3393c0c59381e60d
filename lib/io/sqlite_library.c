/* SPDX-License-Identifier: Apache-2.0 */
/* Loads SQLite. */
#include "io/sqlite_library.h"

#include "base/library.h"

rk_status rk_sqlite_library_open(rk_sqlite *sqlite, rk_error *err)
{
#define SYMBOL(function) {"sqlite3_" #function, offsetof(rk_sqlite, function)},
    static const rk_named_count symbols[] = {RK_SQLITE_FUNCTIONS(SYMBOL)};
    return rk_library_open("libsqlite3.so.0", "libsqlite3-0", symbols,
                           sizeof(symbols) / sizeof(symbols[0]), sqlite, err);
}
