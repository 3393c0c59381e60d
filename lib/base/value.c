/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a table value: an integer, a real that reads back exactly, a boolean, or nothing. */
#include "base/value.h"

#include <inttypes.h>
#include <stdio.h>

const char *rk_value_format(const rk_value *value, char out[RK_NUMBER_TEXT_SIZE])
{
    switch (value->type) {
    case RK_VALUE_INT:
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "%" PRId64, value->integer);
        return out;
    case RK_VALUE_REAL:
        return rk_double_text(value->real, out);
    case RK_VALUE_BOOL:
        return value->boolean ? "true" : "false";
    case RK_VALUE_TEXT:
        return value->text;
    case RK_VALUE_NULL:
        break;
    }
    return "";
}
