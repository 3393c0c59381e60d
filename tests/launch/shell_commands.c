/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the commands that a shell script would start, a line of JSON each: shell_commands FILE
 * [ARGUMENT...].  scripts.py compares them.
 */
#include "base/error.h"
#include "launch/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const rk_shell_command *command)
{
    json_t *words = json_array();
    for (size_t i = 0; i < command->before_count; i++) {
        (void)json_array_append_new(words, json_string(command->before[i].text));
    }
    for (size_t i = 0; i < command->word_count; i++) {
        (void)json_array_append_new(words, json_string(command->words[i].text));
    }
    char *text = json_dumps(words, 0);
    (void)puts(text ? text : "");
    free(text);
    json_decref(words);
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    char *text = malloc(4U << 20), folder[4096];
    if (!file || !text) {
        (void)fputs("usage: shell_commands FILE [ARGUMENT...]\n", stderr);
        return 2;
    }
    const size_t size = fread(text, 1, 4U << 20, file);
    const char *slash = strrchr(argv[1], '/');
    rk_shell_result result;
    rk_error err;
    (void)fclose(file);
    (void)snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - argv[1]) : 1,
                   slash ? argv[1] : ".");
    const rk_status status =
        rk_shell_read(text, size, argv[1], folder, (const char *const *)argv + 2, (size_t)argc - 2,
                      &result, &err);
    for (size_t i = 0; !status && i < result.count; i++) {
        print(&result.commands[i]);
    }
    if (status) {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    rk_shell_clear(&result);
    free(text);
    return status != RK_OK;
}
