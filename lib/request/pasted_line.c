/* SPDX-License-Identifier: Apache-2.0 */
/* Launch lines among the arguments of a command, also in quotes: "reckon estimate trl sft ...". */
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"
#include "launch/launch.h"
#include "request/launch_options.h"

#include <string.h>

/* Whether a line is one of a framework that is read. */
static bool is_read(const char *text)
{
    rk_error reason;
    rk_launch launch = {0};
    const rk_status status = rk_launch_parse(text, strlen(text), "the line", &launch, &reason);
    const rk_launch_reader *reader = status ? NULL : rk_launch_recognise(&launch);
    rk_launch_clear(&launch);
    return reader != NULL;
}

rk_status rk_request_take_launch_line(rk_job *job, const char *const *words, size_t count,
                                      bool *taken, rk_error *err)
{
    rk_bytes text = {0};
    const bool quoted = count == 1 && strpbrk(words[0], " \t\n");
    *taken = false;
    if (!quoted && !rk_launch_begins_line(words, count)) {
        return RK_OK;
    }
    for (size_t i = 0; i < count && !quoted; i++) {
        rk_bytes_add_word(&text, words[i]);
    }
    rk_bytes_add(&text, quoted ? words[0] : "", 1 + (quoted ? strlen(words[0]) : 0));
    if (text.failed) {
        rk_bytes_clear(&text);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the line");
    }
    *taken = is_read((const char *)text.data);
    const rk_status status = *taken ? rk_job_set(job, "from", (const char *)text.data, err) : RK_OK;
    ((rk_request *)rk_job_arguments(job))->line.pasted = *taken;
    rk_bytes_clear(&text);
    return status;
}

rk_status rk_request_take_own(rk_job *job, rk_launch *launch, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < launch->key_count && !status; i++) {
        rk_launch_key *key = &launch->keys[i];
        const char *name = key->use == RK_KEY_UNKNOWN ? rk_job_option_name(job, key->name) : NULL;
        if (name) {
            key->use = RK_KEY_USED;
            status = rk_job_set(job, name, key->value ? key->value : "true", err);
        }
    }
    return status;
}

rk_status rk_request_prepare(rk_job *job, rk_error *err)
{
    rk_request *request = rk_job_arguments(job);
    request->documents = rk_job_work(job)->documents;
    if (request->reader && !request->from) {
        return rk_fail(err, RK_ERR_INVALID, "--reader needs --from, the launch that it reads");
    }
    return request->from && !request->launch ? rk_request_take_launch(job, request->from, err)
                                             : RK_OK;
}
