/* SPDX-License-Identifier: Apache-2.0 */
/* Units and the length of arrays. */
#ifndef RK_BASE_UNITS_H
#define RK_BASE_UNITS_H

#define GIB    0x1p30  /* bytes */
#define MINUTE 60.0    /* s */
#define HOUR   3600.0  /* s */
#define DAY    86400.0 /* s */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
