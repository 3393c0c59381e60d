/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a Calculon strategy and its statistics, with their values. */
#include "method/calculon_columns.h"

#include "calculon/calculon_docs.h"
#include "calculon/calculon_write.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

size_t rk_calculon_column_count(void)
{
    return RK_CALCULON_EXE_FIELD_COUNT + RK_CALCULON_STATS_COUNT;
}

rk_value_type rk_calculon_column(size_t index, char name[RK_CALCULON_COLUMN_SIZE])
{
    static const rk_value_type exe_types[] = {
        [RK_FIELD_INT] = RK_VALUE_INT,     [RK_FIELD_NUMBER] = RK_VALUE_REAL,
        [RK_FIELD_BOOL] = RK_VALUE_BOOL,   [RK_FIELD_ENUM] = RK_VALUE_TEXT,
        [RK_FIELD_CUSTOM] = RK_VALUE_NULL,
    };
    if (index < RK_CALCULON_EXE_FIELD_COUNT) {
        (void)snprintf(name, RK_CALCULON_COLUMN_SIZE, "%s", rk_calculon_exe_fields[index].name);
        return exe_types[rk_calculon_exe_fields[index].type];
    }
    /* Stores a long double as an integer if it is integral. */
    const rk_stat_field *field = &rk_calculon_stat_fields[index - RK_CALCULON_EXE_FIELD_COUNT];
    (void)snprintf(name, RK_CALCULON_COLUMN_SIZE, "%s", field->name);
    return field->kind == RK_STAT_REAL ? RK_VALUE_REAL : RK_VALUE_NULL;
}

static rk_value exe_value(const rk_calculon_exe *exe, const rk_field *field)
{
    const void *place = (const char *)exe + field->offset;
    switch (field->type) {
    case RK_FIELD_INT:
        return rk_value_int(*(const int64_t *)place);
    case RK_FIELD_NUMBER:
        return rk_value_real(*(const double *)place);
    case RK_FIELD_BOOL:
        return rk_value_bool(*(const bool *)place);
    case RK_FIELD_ENUM:
        return rk_value_text(field->names[*(const unsigned *)place]);
    default:
        return (rk_value){0};
    }
}

static rk_value stat_value(const rk_calculon_stats *stats, const rk_stat_field *field)
{
    const void *place = (const char *)stats + field->offset;
    if (field->kind == RK_STAT_LONG) {
        const long double value = *(const long double *)place;
        if (fabsl(value) < 0x1p63L && value == floorl(value)) {
            return rk_value_int((int64_t)value);
        }
    }
    const double value = rk_calculon_stat_value(stats, field);
    return isnan(value) ? (rk_value){0} : rk_value_real(value);
}

void rk_calculon_values(const rk_calculon_exe *exe, const rk_calculon_stats *stats,
                        rk_value *values)
{
    for (size_t i = 0; i < RK_CALCULON_EXE_FIELD_COUNT; i++) {
        *values++ = exe_value(exe, &rk_calculon_exe_fields[i]);
    }
    for (size_t i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        *values++ = stat_value(stats, &rk_calculon_stat_fields[i]);
    }
}
