/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an answer through its writer functions: text, JSON, CSV or lines. */
#include "job/answer_writers.h"

#include "job/stated_options.h"

static rk_status write_cells(const rk_job *job, const rk_answer_writers *writers, const void *what,
                             const char *output, rk_error *err)
{
    rk_csv_out *csv;
    const rk_status status = rk_job_open_csv(job, output, &csv, err);
    if (status) {
        return status;
    }
    writers->cells(csv, what);
    return rk_csv_close(csv, err);
}

rk_status rk_job_answer(const rk_job *job, const rk_answer_writers *writers, const void *what,
                        bool json, bool csv, const char *output, rk_error *err)
{
    rk_out *out;
    if (!json && !csv) {
        return rk_job_print(job, output, writers->text, what, err);
    }
    if (!json && writers->cells) {
        return write_cells(job, writers, what, output, err);
    }
    const rk_status status = rk_job_open(job, output, &out, err);
    if (status) {
        return status;
    }
    if (json) {
        rk_json_writer writer = {.out = out, .indented = true};
        rk_json_open_answer(&writer);
        writers->members(&writer, what);
        rk_json_close(&writer, "}");
        rk_out_text(out, "\n");
        rk_job_write_question(job, out);
        if (writers->drawings && rk_out_fill_place(out, "drawings")) {
            rk_json_writer list = {.out = out, .indented = true};
            rk_json_open(&list, "[");
            writers->drawings(&list, what);
            rk_json_close(&list, "]");
        }
    } else {
        writers->lines(out, what);
    }
    return rk_out_close(out, err);
}
