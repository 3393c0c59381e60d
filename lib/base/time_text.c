/* SPDX-License-Identifier: Apache-2.0 */
/* Picks unit and decimals of a time, from microseconds to days, and formats it. */
#include "base/time_text.h"

#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* Units in ascending order.  `below`: times under it take this unit. */
static const struct time_row {
    rk_time_unit unit;
    double below;         /* s */
    double below_roughly; /* s; larger units start earlier when few digits are printed */
} rows[] = {
    {{"µs", 1e-6}, 1e-3, 1e-3},      {{"ms", 1e-3}, 1, 1},
    {{"s", 1}, 1000, 2 * MINUTE},    {{"min", MINUTE}, 2 * HOUR, 2 * HOUR},
    {{"h", HOUR}, 2 * DAY, 2 * DAY}, {{"days", DAY}, (double)INFINITY, (double)INFINITY},
};
enum { LAST = COUNT(rows) - 1 };

rk_time_unit rk_time_unit_of(double seconds)
{
    const double size = fabs(seconds);
    int i = 0;
    if (size == 0) {
        return rows[2].unit;
    }
    while (i < LAST && !(size < rows[i].below)) {
        i++;
    }
    return rows[i].unit;
}

int rk_time_decimals(double seconds, rk_time_unit unit)
{
    assert(unit.seconds > 0);
    const double number = fabs(seconds) / unit.seconds; /* at least 1 in its own unit */
    return number < 10 ? 4 : number < 100 ? 3 : number < 1000 ? 2 : 1;
}

const char *rk_time_text(double seconds, char out[RK_TIME_TEXT_SIZE])
{
    const rk_time_unit unit = rk_time_unit_of(seconds);
    (void)snprintf(out, RK_TIME_TEXT_SIZE, "%.*f %s", rk_time_decimals(seconds, unit),
                   seconds / unit.seconds, unit.name);
    return out;
}

const char *rk_duration_text(double seconds, char out[RK_TIME_TEXT_SIZE])
{
    int i = seconds == 0 ? 2 : 0;
    while (i < LAST && !(seconds < rows[i].below_roughly)) {
        i++;
    }
    (void)snprintf(out, RK_TIME_TEXT_SIZE, "%.3g %s", seconds / rows[i].unit.seconds,
                   rows[i].unit.name);
    return out;
}

const char *rk_time_title(const char *what, rk_time_unit unit, char out[RK_TIME_TITLE_SIZE])
{
    (void)snprintf(out, RK_TIME_TITLE_SIZE, "%s, %s", what, unit.name);
    return out;
}
