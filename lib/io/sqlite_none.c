/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces sqlite_in.c and sqlite_out.c in builds without SQLite: every call fails with a message.
 */
#include "base/error.h"
#include "io/sqlite_in.h"
#include "io/sqlite_out.h"

static rk_status fail_absent(rk_error *err)
{
    return rk_fail(err, RK_ERR_INVALID,
                   "this reckon was built without SQLite: write a CSV table, or install SQLite's "
                   "development files and build again");
}

rk_status rk_sqlite_open(const char *path, bool resume, const rk_sqlite_layout *layout,
                         rk_sqlite_out **out, rk_error *err)
{
    (void)resume;
    (void)layout;
    *out = NULL;
    (void)fail_absent(err);
    rk_error_set_file(err, path);
    return RK_ERR_INVALID;
}

rk_status rk_sqlite_add_point(rk_sqlite_out *out, const rk_value *row, rk_error *err)
{
    (void)out;
    (void)row;
    return fail_absent(err);
}

rk_status rk_sqlite_add_result(rk_sqlite_out *out, const rk_value *row, rk_error *err)
{
    (void)out;
    (void)row;
    return fail_absent(err);
}

rk_status rk_sqlite_commit(rk_sqlite_out *out, rk_error *err)
{
    (void)out;
    return fail_absent(err);
}

rk_status rk_sqlite_points(rk_sqlite_out *out,
                           void (*visit)(void *user, uint64_t number, bool has_results), void *user,
                           rk_error *err)
{
    (void)out;
    (void)visit;
    (void)user;
    return fail_absent(err);
}

rk_status rk_sqlite_read(rk_sqlite_out *out, uint64_t number, rk_value *row,
                         rk_status (*visit)(void *user, uint64_t number, rk_error *err), void *user,
                         rk_error *err)
{
    (void)out;
    (void)number;
    (void)row;
    (void)visit;
    (void)user;
    return fail_absent(err);
}

rk_status rk_sqlite_write_pareto(rk_sqlite_out *out, const uint64_t *points, const uint64_t *ranks,
                                 size_t count, rk_error *err)
{
    (void)out;
    (void)points;
    (void)ranks;
    (void)count;
    return fail_absent(err);
}

rk_status rk_sqlite_load(const char *path, rk_csv_in *table, rk_error *err)
{
    *table = (rk_csv_in){.text = NULL};
    (void)fail_absent(err);
    rk_error_set_file(err, path);
    return RK_ERR_INVALID;
}

void rk_sqlite_close(rk_sqlite_out *out)
{
    (void)out;
}
