/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. */
#ifndef RK_BASE_CLOCK_H
#define RK_BASE_CLOCK_H

/* Seconds on a clock that only runs forward, and seconds of processor time of this process. */
double rk_wall_seconds(void);
double rk_cpu_seconds(void);

#endif
