/* SPDX-License-Identifier: Apache-2.0 */
/* One value of a result table: what CSV prints and SQLite stores. */
#ifndef RK_BASE_VALUE_H
#define RK_BASE_VALUE_H

#include "base/text.h"
#include "reckon/sweep.h"

#include <stdbool.h>
#include <stdint.h>

static inline rk_value rk_value_int(int64_t integer)
{
    return (rk_value){.type = RK_VALUE_INT, .integer = integer};
}

static inline rk_value rk_value_real(double real)
{
    return (rk_value){.type = RK_VALUE_REAL, .real = real};
}

static inline rk_value rk_value_bool(bool boolean)
{
    return (rk_value){.type = RK_VALUE_BOOL, .boolean = boolean};
}

static inline rk_value rk_value_text(const char *text)
{
    return (rk_value){.type = RK_VALUE_TEXT, .text = text};
}

/* Returns the value as text, "" for none; numbers are written to `out`. */
const char *rk_value_format(const rk_value *value, char out[RK_NUMBER_TEXT_SIZE]);

#endif
