/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command line, read without the command. */
#include "words.h"

#include <stdlib.h>
#include <string.h>

static rk_request kept;

static rk_status keep(rk_job *job, void *request, rk_error *err)
{
    (void)job;
    (void)err;
    kept = *(const rk_request *)request;
    return RK_OK;
}

static const rk_command command = {
    .name = "words",
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .size = sizeof(rk_request),
    .init = rk_request_init,
    .complete = rk_request_finish,
    .run = keep,
};

/* The option that a word names by its letter or its name, which ends at '=' or the word. */
static const rk_option *find(const char *word, size_t length)
{
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(&command, i)); i++) {
        const bool letter = length == 2 && word[1] == option->letter;
        const bool name = length > 2 && strlen(option->name) == length - 2 &&
                          strncmp(word + 2, option->name, length - 2) == 0;
        if (letter || name) {
            return option;
        }
    }
    return NULL;
}

rk_status words_read(const char *line, rk_job **job, rk_request *request, rk_error *err)
{
    char *text = strdup(line), *rest = text;
    rk_status status = text ? rk_job_create(&command, job, err) : RK_ERR_MEMORY;
    for (char *word; !status && (word = strtok_r(rest, " ", &rest));) {
        const size_t length = strcspn(word, "=");
        const rk_option *option = find(word, length);
        char *value = word[length] ? word + length + 1 : NULL;
        if (option && !value && option->type != RK_OPTION_FLAG) {
            value = strtok_r(rest, " ", &rest);
        }
        status = rk_job_set(*job, option ? option->name : word, value, err);
    }
    status = status ? status : rk_job_run(*job, NULL, err);
    free(text);
    *request = kept;
    return status;
}
