/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of searches, and the processor time of a team. */
#include "work/control.h"

#include "base/clock.h"

bool rk_control_report(const rk_control *control, const rk_job_progress *progress)
{
    return !control->progress || control->progress(control->user, progress);
}

static bool report_search(void *user, uint64_t done, uint64_t total)
{
    const rk_control *control = user;
    const rk_job_progress progress = {.what = control->counted, .done = done, .total = total};
    return rk_control_report(control, &progress);
}

rk_search_control rk_control_search(rk_control *control, const char *what, int64_t threads)
{
    const rk_team *team = rk_control_team(control);
    control->counted = what;
    return (rk_search_control){.threads = threads > 0 || !team ? (int)threads : team->cores,
                               .progress = report_search,
                               .user = control};
}

rk_team *rk_control_team(const rk_control *control)
{
    rk_team *team = control->team;
    return team && team->size > 1 ? team : NULL;
}

bool rk_control_is_first(const rk_control *control)
{
    return !control->team || control->team->rank == 0;
}

double rk_control_cpu_s(const rk_control *control)
{
    const rk_team *team = rk_control_team(control);
    double all = rk_cpu_seconds();
    for (int rank = 1; team && rank < team->size; rank++) {
        all += team->cpu_s[rank];
    }
    return all;
}
