/* SPDX-License-Identifier: Apache-2.0 */
/* Wall and CPU time in seconds, from POSIX clocks. */
#include "base/clock.h"

#include <time.h>

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t)) { /* WebAssembly has no clock of the process */
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
    }
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double rk_wall_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double rk_cpu_seconds(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}
