/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of points as bytes, which pass between threads and ranks. */
#include "sweep/worker.h"

void rk_sweep_rows_begin(rk_bytes *rows, uint64_t number, uint64_t count)
{
    rk_bytes_add_number(rows, number);
    rk_bytes_add_number(rows, count);
}

void rk_sweep_rows_add(rk_bytes *rows, const rk_value *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char type = (unsigned char)row[i].type;
        rk_bytes_add(rows, &type, 1);
        switch (row[i].type) {
        case RK_VALUE_INT:
            rk_bytes_add(rows, &row[i].integer, sizeof(row[i].integer));
            break;
        case RK_VALUE_REAL:
            rk_bytes_add(rows, &row[i].real, sizeof(row[i].real));
            break;
        case RK_VALUE_BOOL:
            rk_bytes_add(rows, &row[i].boolean, sizeof(row[i].boolean));
            break;
        case RK_VALUE_TEXT:
            rk_bytes_add_text(rows, row[i].text);
            break;
        case RK_VALUE_NULL:
            break;
        }
    }
}

bool rk_sweep_rows_next(rk_bytes_reader *reader, uint64_t *number, uint64_t *count)
{
    if (reader->left == 0) {
        return false;
    }
    *number = rk_bytes_take_number(reader);
    *count = rk_bytes_take_number(reader);
    return !reader->failed;
}

void rk_sweep_rows_take(rk_bytes_reader *reader, rk_value *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char type;
        rk_bytes_take(reader, &type, 1);
        row[i] = (rk_value){.type = (rk_value_type)type};
        switch (row[i].type) {
        case RK_VALUE_INT:
            rk_bytes_take(reader, &row[i].integer, sizeof(row[i].integer));
            break;
        case RK_VALUE_REAL:
            rk_bytes_take(reader, &row[i].real, sizeof(row[i].real));
            break;
        case RK_VALUE_BOOL:
            rk_bytes_take(reader, &row[i].boolean, sizeof(row[i].boolean));
            break;
        case RK_VALUE_TEXT:
            row[i].text = rk_bytes_take_text(reader);
            break;
        default:
            break;
        }
    }
}
