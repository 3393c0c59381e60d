/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the database of a sweep: read as a table, or refused with a reason. */
#include "io/sqlite_in.h"

#include "input_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_csv_in table = {0};
    rk_error err;
    const char *path = write_input(data, size, ".db");
    const rk_status status = rk_sqlite_load(path, &table, &err);
    (void)unlink(path);
    if (status) {
        REQUIRE(err.code == status && err.message[0]);
        return 0;
    }
    for (size_t i = 0; i < (table.rows + 1) * table.columns; i++) {
        REQUIRE(table.cells[i]);
    }
    rk_csv_in_clear(&table);
    return 0;
}
