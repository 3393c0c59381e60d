/* SPDX-License-Identifier: Apache-2.0 */
/* The launch file of --emit. */
#include "answer/answers.h"

static void remark(void *job, const char *line)
{
    rk_job_remark(job, "%s", line);
}

rk_status rk_launch_write(rk_job *job, const rk_request *request, const rk_inputs *inputs,
                          const rk_answer *answer, rk_error *err)
{
    rk_out *out;
    if (!answer) {
        rk_remark_no_file(job, "launch file", "emit");
        return RK_OK;
    }
    const rk_status status = rk_job_open(job, request->output, &out, err);
    return status ? status
                  : rk_answer_write_launch(answer, inputs, request->emit, out, remark, job, err);
}

void rk_remark_no_file(const rk_job *job, const char *file, const char *option)
{
    rk_job_remark(job,
                  "no strategy fits, so there is no %s; without --%s, the answer says what is "
                  "missing",
                  file, option);
}
