/* SPDX-License-Identifier: Apache-2.0 */
#include "command/bounded.h"

#include "report/describe.h"

void rk_write_bounded(FILE *to, const rk_bounded_counts *counts, const char *method, double cpu_s)
{
    const struct {
        const char *name;
        uint64_t count;
    } settled[] = {
        {"time", counts->by_time},
        {"memory", counts->by_memory},
        {"dominance", counts->by_dominance},
        {"rules", counts->by_rule},
    };
    const char *separator = "settled by ";
    char number[RK_COMMAS_SIZE];
    (void)fprintf(to, "%-10s%s strategies, ", "search", rk_with_commas(counts->total, number));
    (void)fprintf(to, "%s of them evaluated; %s method\n",
                  rk_with_commas(counts->evaluated, number), method);
    (void)fprintf(to, "%-10s", "");
    for (size_t i = 0; i < sizeof(settled) / sizeof(settled[0]); i++) {
        (void)fprintf(to, "%s%s %s", separator, settled[i].name,
                      rk_with_commas(settled[i].count, number));
        separator = ", ";
    }
    (void)fprintf(to, "\n%-10s%.3f s of processor time\n", "", cpu_s);
}

void rk_bounded_write_json(rk_json_writer *writer, const rk_bounded_counts *counts)
{
    rk_json_count(writer, "strategies", counts->total);
    rk_json_count(writer, "evaluated", counts->evaluated);
    rk_json_open_member(writer, "settled", "{");
    rk_json_count(writer, "by_time", counts->by_time);
    rk_json_count(writer, "by_memory", counts->by_memory);
    rk_json_count(writer, "by_dominance", counts->by_dominance);
    rk_json_count(writer, "by_rule", counts->by_rule);
    rk_json_close(writer, "}");
    rk_json_count(writer, "bounds", counts->bounds);
}
