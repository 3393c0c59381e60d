/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts and pasted lines as the words of a launch. */
#include "base/error.h"
#include "launch/launch_parts.h"
#include "launch/shell.h"

#include <string.h>

static void add_words(rk_launch *launch, const rk_launch_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rk_launch_add_word(launch, words[i].text, words[i].line);
    }
}

/* A line that starts nothing: flags alone, which are words unchanged. */
static void add_plain_words(rk_launch *launch, const char *text)
{
    int line = 1;
    while (*text) {
        const size_t length = strcspn(text, " \t\r\n");
        if (length > 0 && strncmp(text, "\\", length) != 0) {
            rk_launch_add_word(launch, rk_launch_keep_part(launch, text, length), line);
        }
        line += text[length] == '\n';
        text += length + (text[length] != '\0');
    }
}

/* Files that the script writes, which its program opens. */
static void keep_files(rk_launch *launch, const rk_shell_result *result)
{
    for (size_t i = 0; i < result->file_count; i++) {
        rk_launch_add_written(launch, result->files[i].name, result->files[i].text);
    }
}

#define ARGUMENTS_MAX 64

/* Words for the script, as its positional arguments. */
static size_t split_arguments(rk_launch *launch, const char *words[ARGUMENTS_MAX])
{
    size_t count = 0;
    const char *at = launch->arguments ? launch->arguments : "";
    for (at += strspn(at, " "); *at && count < ARGUMENTS_MAX; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        words[count++] = rk_launch_keep_part(launch, at, length);
        at += length;
    }
    return count;
}

rk_status rk_launch_read_script(rk_launch *launch, const char *text, size_t size, rk_error *err)
{
    rk_shell_result result;
    const char *words[ARGUMENTS_MAX];
    const size_t count = split_arguments(launch, words);
    rk_status status =
        rk_shell_read(text, size, launch->name, launch->folder, words, count, &result, err);
    const rk_shell_command *command = status ? NULL : rk_shell_find_training(&result);
    if (command) {
        add_words(launch, result.allocation, result.allocation_count);
        add_words(launch, command->before, command->before_count);
        add_words(launch, command->around, command->around_count);
        add_words(launch, command->words, command->word_count);
        keep_files(launch, &result);
    } else if (!status && result.cut > 0) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "%s: read up to line %d, by which it loops, nests or makes more text than "
                         "a launch does, and starts no program; give the line that starts the "
                         "training",
                         launch->name, result.cut);
    } else if (!status && size > 0 && text[strspn(text, " \t\r\n")] == '-') {
        add_plain_words(launch, text);
    } else if (!status) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "%s: not a launch of a framework that is known: no command of it starts "
                         "a program, as torchrun, deepspeed, accelerate, srun and python do",
                         launch->name);
    }
    rk_shell_clear(&result);
    return status;
}
