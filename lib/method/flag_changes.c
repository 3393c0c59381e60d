/* SPDX-License-Identifier: Apache-2.0 */
/* A change of a strategy as the difference of two launch files. */
#include "base/bytes.h"
#include "base/error.h"
#include "framework/launch_file.h"
#include "method/gains.h"

#include <stdio.h>
#include <string.h>

/* ---- a launch file in memory ----------------------------------------------------------------- */

/* The first writer of a framework, or of the one it is built on; NULL: it has none. */
static rk_launch_writer *find_writer(rk_framework framework)
{
    const bool core = framework == RK_FRAMEWORK_PRIMUS || framework == RK_FRAMEWORK_MINDSPEED;
    framework = core ? RK_FRAMEWORK_MEGATRON : framework;
    for (size_t i = 0; rk_launch_names[i]; i++) {
        if (rk_launch_kinds[i].framework == framework) {
            return rk_launch_kinds[i].write;
        }
    }
    return NULL;
}

/* Leaves the file empty where the framework has no writer, or it refuses the strategy. */
static rk_status write_file(const rk_setting *setting, const rk_strategy *strategy, rk_bytes *file,
                            rk_error *err)
{
    rk_error refusal; /* what the writer refuses is said in other words */
    rk_out *out = NULL;
    rk_launch_notes notes = {.count = 0};
    const rk_launch_file launch = {.model = setting->model,
                                   .system = setting->system,
                                   .stack = setting->stack,
                                   .strategy = strategy,
                                   .title = "",
                                   .notes = &notes};
    rk_launch_writer *write = find_writer(setting->framework);
    rk_status status = write ? rk_out_open_writer(rk_bytes_take_in, file, &out, err) : RK_OK;
    if (!write || status) {
        return status;
    }
    const rk_status written = write(&launch, out, &refusal);
    status = rk_out_close(out, err);
    rk_bytes_add(file, "", 1);
    if (file->failed || written == RK_ERR_MEMORY) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the flags of a change");
    }
    if (written) {
        rk_bytes_clear(file);
    }
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A line without indentation and the backslash that continues it; moves *at behind it. */
static const char *next_line(const char **at, size_t *length)
{
    const char *line = *at + strspn(*at, " \t");
    const char *end = line + strcspn(line, "\n");
    *at = *end ? end + 1 : end;
    while (end > line && strchr(" \\\t", end[-1])) {
        end--;
    }
    *length = (size_t)(end - line);
    return line;
}

/* The name of a flag or a key: up to the first blank or "=". */
static size_t name_length(const char *line, size_t length)
{
    size_t i = 0;
    while (i < length && line[i] != ' ' && line[i] != '=') {
        i++;
    }
    return i;
}

/* Whether a file has a line, or one of its name. */
static bool has_line(const rk_bytes *file, const char *wanted, size_t length)
{
    size_t found = 0;
    for (const char *at = (const char *)file->data; *at;) {
        const char *line = next_line(&at, &found);
        if (found >= length && strncmp(line, wanted, length) == 0 &&
            (found == length || line[length] == ' ' || line[length] == '=')) {
            return true;
        }
    }
    return false;
}

/* Flags of the strategy; how the vocabulary is padded is the framework's own arithmetic. */
static bool is_flag(const char *line, size_t length)
{
    static const char padding[] = "--make-vocab-size-divisible-by";
    return length > 0 && strncmp(line, padding, sizeof(padding) - 1) != 0 && line[0] != '#' &&
           line[0] != '[' && strncmp(line, "export ", strlen("export ")) != 0 &&
           (line[0] == '-' || strchr(line, '='));
}

/* Appends a line behind what is there; what does not fit is cut. */
static void add(char out[RK_FLAG_CHANGE_TEXT], const char *between, const char *line, size_t length)
{
    const size_t used = strlen(out);
    (void)snprintf(out + used, RK_FLAG_CHANGE_TEXT - used, "%s%.*s", used > 0 ? between : "",
                   (int)length, line);
}

/* Collects the lines that are new or different in `to`, and the names that it lacks. */
static void compare(const rk_bytes *from, const rk_bytes *to, char *set, char *unset,
                    const char *between)
{
    size_t length = 0;
    for (const char *at = (const char *)to->data; *at;) {
        const char *line = next_line(&at, &length);
        if (is_flag(line, length) && !has_line(from, line, length)) {
            add(set, between, line, length);
        }
    }
    for (const char *at = (const char *)from->data; *at;) {
        const char *line = next_line(&at, &length);
        const size_t name = name_length(line, length);
        if (is_flag(line, length) && !has_line(to, line, name)) {
            add(unset, between, line, name);
        }
    }
}

/* Compares the launch files of two strategies; *written: both have one. */
static rk_status find_changes(const rk_setting *setting, const rk_strategy *from,
                              const rk_strategy *to, const char *between, rk_flag_changes *changes,
                              bool *written, rk_error *err)
{
    rk_bytes before = {0}, after = {0};
    changes->set[0] = changes->unset[0] = '\0';
    rk_status status = write_file(setting, from, &before, err);
    status = status ? status : write_file(setting, to, &after, err);
    *written = !status && before.data && after.data;
    if (*written) {
        compare(&before, &after, changes->set, changes->unset, between);
    }
    rk_bytes_clear(&before);
    rk_bytes_clear(&after);
    return status;
}

rk_status rk_find_flag_changes(const rk_setting *setting, const rk_strategy *from,
                               const rk_strategy *to, rk_flag_changes *changes, rk_error *err)
{
    bool written = false;
    const rk_fit_change change = {.strategy = *to, .kinds = rk_change_kinds(from, to)};
    const rk_status status = find_changes(setting, from, to, " ", changes, &written, err);
    if (!status && !written && change.kinds) {
        char text[RK_FIT_CHANGE_TEXT];
        (void)snprintf(changes->set, sizeof(changes->set), "%s",
                       rk_fit_change_text(from, &change, text));
    }
    return status;
}

rk_status rk_flag_change_text(const rk_setting *setting, const rk_strategy *from,
                              const rk_fit_change *change, char out[RK_FLAG_CHANGE_TEXT],
                              rk_error *err)
{
    rk_flag_changes changes;
    bool written = false;
    const rk_status status =
        find_changes(setting, from, &change->strategy, ", ", &changes, &written, err);
    out[0] = '\0';
    add(out, "", changes.set, strlen(changes.set));
    for (const char *at = changes.unset; *at;) {
        const size_t length = strcspn(at, ",");
        add(out, ", ", "without ", strlen("without "));
        add(out, "", at, length);
        at += length + strspn(at + length, ", ");
    }
    if (!status && !out[0]) {
        char text[RK_FIT_CHANGE_TEXT];
        (void)snprintf(out, RK_FLAG_CHANGE_TEXT, "%s", rk_fit_change_text(from, change, text));
    }
    return status;
}
