/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of SQLite in use.  Only what opens a database loads the library. */
#ifndef RK_IO_SQLITE_LIBRARY_H
#define RK_IO_SQLITE_LIBRARY_H

#include "reckon/reckon.h"

#include <sqlite3.h>

#define RK_SQLITE_FUNCTIONS(X)                                                                     \
    X(bind_double)                                                                                 \
    X(bind_int)                                                                                    \
    X(bind_int64)                                                                                  \
    X(bind_null)                                                                                   \
    X(bind_text)                                                                                   \
    X(busy_timeout)                                                                                \
    X(close)                                                                                       \
    X(column_count)                                                                                \
    X(column_decltype)                                                                             \
    X(column_double)                                                                               \
    X(column_int)                                                                                  \
    X(column_int64)                                                                                \
    X(column_name)                                                                                 \
    X(column_text)                                                                                 \
    X(column_type)                                                                                 \
    X(errcode)                                                                                     \
    X(errmsg)                                                                                      \
    X(exec)                                                                                        \
    X(finalize)                                                                                    \
    X(free)                                                                                        \
    X(get_autocommit)                                                                              \
    X(mprintf)                                                                                     \
    X(open_v2)                                                                                     \
    X(prepare_v2)                                                                                  \
    X(reset)                                                                                       \
    X(step)                                                                                        \
    X(str_appendall)                                                                               \
    X(str_appendf)                                                                                 \
    X(str_errcode)                                                                                 \
    X(str_finish)                                                                                  \
    X(str_new)                                                                                     \
    X(system_errno)

/* sqlite3_NAME is the member NAME. */
typedef struct rk_sqlite {
#define MEMBER(name) __typeof__(sqlite3_##name) *name;
    RK_SQLITE_FUNCTIONS(MEMBER)
#undef MEMBER
} rk_sqlite;

/* RK_ERR_INVALID where SQLite is not installed. */
rk_status rk_sqlite_library_open(rk_sqlite *sqlite, rk_error *err);

#endif
