/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text, in the unit that reads best. */
#ifndef RK_BASE_TIME_TEXT_H
#define RK_BASE_TIME_TEXT_H

#define RK_TIME_TEXT_SIZE  32
#define RK_TIME_TITLE_SIZE 32

typedef struct rk_time_unit {
    const char *name; /* "µs", "ms", "s", "min", "h" or "days" */
    double seconds;   /* per unit */
} rk_time_unit;

/* The unit in which a time reads best; for a column, pass the largest time in it. */
rk_time_unit rk_time_unit_of(double seconds);

/* "12.473 s", "345.12 ms", "1.5000 µs": five significant digits.  Returns out. */
const char *rk_time_text(double seconds, char out[RK_TIME_TEXT_SIZE]);

/* Decimals that give a time in a unit five significant digits. */
int rk_time_decimals(double seconds, rk_time_unit unit);

/* "3.09 h", "30 s", "1.2 ms": at most three significant digits, minutes from 120 s on.  Returns
 * out. */
const char *rk_duration_text(double seconds, char out[RK_TIME_TEXT_SIZE]);

/* The title of a column of times in a unit: "step, ms".  Returns out. */
const char *rk_time_title(const char *what, rk_time_unit unit, char out[RK_TIME_TITLE_SIZE]);

#endif
