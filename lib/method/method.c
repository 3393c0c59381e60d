/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of search counts, common to both methods. */
#include "method/method.h"

void rk_bounded_counts_add(rk_bounded_counts *sum, const rk_bounded_counts *counts)
{
    sum->total += counts->total;
    sum->evaluated += counts->evaluated;
    sum->by_time += counts->by_time;
    sum->by_memory += counts->by_memory;
    sum->by_dominance += counts->by_dominance;
    sum->by_rule += counts->by_rule;
    sum->bounds += counts->bounds;
}
