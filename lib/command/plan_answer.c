/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `plan` by either method: as text, JSON and CSV. */
#include "command/planner.h"

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_asked *asked = what;
    const rk_planner *planner = asked->planner;
    const rk_ranking *ranking = asked->ranking;
    planner->write_inputs(to, asked);
    rk_ranking_write(to, planner->method, ranking, asked->time.cpu_s);
    if (planner->write_choices) {
        planner->write_choices(to, asked);
    }
    (void)fputc('\n', to);
    if (ranking->count == 0) {
        planner->write_shortage(to, asked);
        return RK_OK;
    }
    const rk_status status = rk_write_comparison(to, &asked->problem, ranking, style, err);
    return status ? status : planner->write_best(to, asked, style, err);
}

static rk_status write_json(const rk_job *job, const rk_asked *asked, rk_error *err)
{
    const rk_planner *planner = asked->planner;
    rk_out *out;
    const rk_status status = rk_job_open(job, asked->output, &out, err);
    if (status) {
        return status;
    }
    rk_json_writer writer = {.out = out, .indented = true};
    rk_json_open_answer(&writer);
    planner->write_request_json(&writer, asked);
    rk_ranking_write_json(&writer, planner->method, asked->ranking, asked->time);
    if (asked->ranking->count == 0) {
        planner->write_shortage_json(&writer, asked);
    } else if (planner->write_best_json) {
        planner->write_best_json(&writer, asked);
    }
    planner->write_strategies_json(&writer, asked);
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
    return rk_out_close(out, err);
}

rk_status rk_plan_write(const rk_job *job, const rk_asked *asked, rk_error *err)
{
    const rk_planner *planner = asked->planner;
    if (planner->emits && planner->emits(asked)) {
        return planner->emit(job, asked, err);
    }
    if (asked->json) {
        return write_json(job, asked, err);
    }
    return asked->csv ? planner->write_csv(job, asked, err)
                      : rk_job_print(job, asked->output, write_text, asked, err);
}
