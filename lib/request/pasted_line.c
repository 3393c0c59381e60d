/* SPDX-License-Identifier: Apache-2.0 */
/* Launch lines among the arguments of a command: "reckon estimate 8xh100 trl sft ...". */
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"
#include "launch/launch.h"
#include "request/launch_options.h"

#include <string.h>

/* The words as a shell would take them apart again: each between quotes where it has to be. */
static void quote_words(const char *const *words, size_t count, rk_bytes *text)
{
    for (size_t i = 0; i < count; i++) {
        const bool plain = words[i][strcspn(words[i], " \t\n\"'\\$`;&|<>()*?[]{}#~")] == '\0';
        rk_bytes_add(text, " ", i > 0);
        rk_bytes_add(text, "'", !plain);
        for (const char *c = words[i]; *c; c++) {
            rk_bytes_add(text, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
        }
        rk_bytes_add(text, "'", !plain);
    }
    rk_bytes_add(text, "", 1);
}

/* Whether a line begins with a launcher whose options are none of ours, whatever it starts. */
static bool has_launcher(const char *const *words, size_t count)
{
    static const char *const names[] = {"srun", "mpirun", "mpiexec", "megatron", "swift"};
    static const char *const runners[] = {"python", "python3", "torchrun"};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (strcmp(words[0], names[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(runners) && count > 1; i++) {
        if (strcmp(words[0], runners[i]) == 0 && strcmp(words[1], "-m") == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a line is one whose reader takes it whole. */
static bool is_pasted(const char *text)
{
    rk_error reason;
    rk_launch launch = {0};
    const rk_status status = rk_launch_parse(text, strlen(text), "the line", &launch, &reason);
    const rk_launch_reader *reader = status ? NULL : rk_launch_recognise(&launch);
    rk_launch_clear(&launch);
    return reader && reader->pasted;
}

rk_status rk_request_take_launch_line(rk_job *job, const char *const *words, size_t count,
                                      bool *taken, rk_error *err)
{
    rk_bytes text = {0};
    *taken = false;
    if (!rk_launch_begins_line(words, count)) {
        return RK_OK;
    }
    quote_words(words, count, &text);
    if (text.failed) {
        rk_bytes_clear(&text);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the line");
    }
    *taken = has_launcher(words, count) || is_pasted((const char *)text.data);
    const rk_status status = *taken ? rk_job_set(job, "from", (const char *)text.data, err) : RK_OK;
    rk_bytes_clear(&text);
    return status;
}

rk_status rk_request_prepare(rk_job *job, rk_error *err)
{
    const rk_request *request = rk_job_arguments(job);
    if (request->reader && !request->from) {
        return rk_fail(err, RK_ERR_INVALID, "--reader needs --from, the launch that it reads");
    }
    return request->from && !request->launch ? rk_request_take_launch(job, request->from, err)
                                             : RK_OK;
}
