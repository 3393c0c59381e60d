/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a list of searches on the worker threads and merges their counts; the first error wins. */
#include "codesign/parallel_searches.h"

#include "base/error.h"
#include "work/parallel.h"

#include <stdlib.h>

/* Results of one thread. */
struct worker {
    rk_bounded_counts counts;
    rk_status status;
    uint64_t failed; /* search of the error */
    rk_error error;
};

struct run {
    rk_each_search *search;
    void *context;
    struct worker *workers;
};

static void run_unit(void *context, int worker_index, uint64_t unit, rk_parallel *shared)
{
    struct run *run = context;
    struct worker *w = &run->workers[worker_index];
    if (!w->status) {
        w->status = run->search(run->context, unit, &w->counts, &w->error);
        w->failed = unit;
    }
    atomic_fetch_add_explicit(&shared->done, 1, memory_order_relaxed);
    if (w->status) {
        atomic_store(&shared->stop, true);
    }
}

rk_status rk_search_each(uint64_t count, rk_each_search *search, void *context,
                         const rk_search_control *control, rk_bounded_counts *counts, rk_error *err)
{
    const int threads = control && control->threads > 0 ? control->threads : rk_core_count();
    struct run run = {.search = search,
                      .context = context,
                      .workers = calloc((size_t)threads, sizeof(*run.workers))};
    const struct worker *first = NULL; /* searches are taken in order */
    *counts = (rk_bounded_counts){0};
    if (!run.workers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %d threads", threads);
    }
    rk_status status = rk_parallel_search(control, 0, count, threads, count, run_unit, &run, err);
    for (int i = 0; i < threads; i++) {
        const struct worker *w = &run.workers[i];
        rk_bounded_counts_add(counts, &w->counts);
        if (w->status && (!first || w->failed < first->failed)) {
            first = w;
        }
    }
    if (!status && first) {
        *err = first->error;
        status = first->status;
    }
    free(run.workers);
    return status;
}
