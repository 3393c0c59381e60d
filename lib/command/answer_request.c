/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to JSON requests. */
#include "base/bytes.h"
#include "base/error.h"
#include "io/json.h"
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

/* The command that answers a request, chosen by its method and documents. */
static rk_status resolve(const char *name, const char *request, const rk_command **command,
                         rk_error *err)
{
    static const char *const keys[] = {"method", "model", "system"};
    const char *values[] = {NULL, NULL, NULL};
    rk_json_doc doc = {0};
    const rk_command *found = rk_command_find(name);
    if (!found) {
        return rk_fail(err, RK_ERR_INVALID, "no command has the name '%s'", name);
    }
    rk_status status = rk_json_parse(request, strlen(request), "the request", &doc, err);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !status; i++) {
        values[i] = json_string_value(json_object_get(doc.root, keys[i]));
    }
    status =
        status ? status : rk_command_resolve(found, values[0], values[1], values[2], command, err);
    rk_json_clear(&doc);
    return status;
}

/* Asks for JSON where the command writes it; a sweep answers with CSV, a plot with SVG. */
static rk_status ask_for_json(rk_job *job, const rk_command *command, rk_error *err)
{
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(command, i)) != NULL; i++) {
        if (strcmp(option->name, "json") == 0) {
            return rk_job_set(job, "json", NULL, err);
        }
    }
    return RK_OK;
}

rk_status rk_answer_request(const char *command, const char *request, const rk_job_control *control,
                            char **response, rk_error *err)
{
    rk_bytes text = {0};
    rk_job *job = NULL;
    const rk_command *found = NULL;
    rk_job_control own = {.size = sizeof(own)};
    *response = NULL;
    if (control) {
        memcpy(&own, control, control->size < sizeof(own) ? control->size : sizeof(own));
    }
    rk_status status = resolve(command, request, &found, err);
    status = status ? status : rk_job_create(found, &job, err);
    status = status ? status : rk_job_set_json(job, request, err);
    status = status ? status : ask_for_json(job, found, err);
    status = status ? status : rk_job_run_into(job, &own, rk_bytes_take_in, &text, err);
    rk_bytes_add(&text, "", 1);
    if (!status && text.failed) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the response");
    }
    rk_job_free(job);
    if (status) {
        rk_bytes_clear(&text);
    } else {
        *response = (char *)text.data;
    }
    return status;
}

void rk_free(void *text)
{
    free(text);
}
