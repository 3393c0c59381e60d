/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each reader makes of each of its names: the cases of readings.txt, whose head has their
 * form.
 *
 *     test_launch_readings CASES RECORDED    compares all that is read with RECORDED too
 *     test_launch_readings CASES             writes it
 *
 * Recorded are the facts with their origins, the use and the note of every key, the options of a
 * job, and refusals: for the first launch of a section all of them, for each other what differs.
 */
#define _POSIX_C_SOURCE 200809L
#include "job/job.h"
#include "launch/launch.h"
#include "reckon/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 4096 };

/* Cases that share a launch. */
typedef struct section {
    char reader[64], release[64];
    char launch[LINE_MOST]; /* "@" is replaced by the text of a case */
    char *first;            /* all that is read from the first launch that is not refused, owned */
} section;

/* A copy with "\n" as the end of a line and "~" as `blank`. */
static void copy_text(char *to, size_t size, const char *from, size_t length, char blank)
{
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < size; i++) {
        const bool end = from[i] == '\\' && i + 1 < length && from[i + 1] == 'n';
        to[n++] = (char)(end ? '\n' : from[i] == '~' ? blank : from[i]);
        i += end;
    }
    to[n] = '\0';
}

/* Whether a launch has a key of a use; any of the uses of a name counts. */
static bool has_use(const rk_launch *launch, const char *name, rk_key_use use)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        if (strcmp(launch->keys[i].name, name) == 0 && launch->keys[i].use == use) {
            return true;
        }
    }
    return false;
}

/* Whether a launch meets an expectation; `message`: why it is refused, "" where it is read. */
static bool meets(const rk_launch *launch, const char *message, char *expected)
{
    char *value = strchr(expected, '=');
    if (*expected == '!' || *message) {
        return *expected == '!' && *message && strstr(message, expected + 1) != NULL;
    }
    if (strchr("?+-%", *expected)) {
        return has_use(launch, expected + 1,
                       *expected == '?'   ? RK_KEY_NOT_PRICED
                       : *expected == '+' ? RK_KEY_USED
                       : *expected == '%' ? RK_KEY_UNKNOWN
                                          : RK_KEY_WITHOUT_COST);
    }
    if (!value) {
        return false;
    }
    *value++ = '\0';
    const char *found = rk_launch_fact_of(launch, expected);
    const bool met = *value ? found && strcmp(found, value) == 0 : !found;
    value[-1] = '=';
    if (!met) {
        printf("%s found: ", found ? found : "nothing");
    }
    return met;
}

/* ---- the record ------------------------------------------------------------------------------ */

static void write_value(FILE *to, const char *value)
{
    for (const char *at = value ? value : ""; *at; at++) {
        (void)fputs(*at == '\n' ? "\\n" : (char[]){*at, '\0'}, to);
    }
}

static void write_line_number(FILE *to, int line)
{
    if (line > 1) {
        (void)fprintf(to, ", line %d", line);
    }
}

/* The value of an option that a job has, in the struct of its command. */
static void write_option(FILE *to, const rk_option *option, const char *arguments)
{
    const void *at = arguments + option->offset;
    const rk_option_counts *counts = at;
    switch (option->type) {
    case RK_OPTION_TEXT:
        write_value(to, *(const char *const *)at);
        break;
    case RK_OPTION_FLAG:
        (void)fputs(*(const bool *)at ? "true" : "false", to);
        break;
    case RK_OPTION_COUNT:
        (void)fprintf(to, "%" PRId64, *(const int64_t *)at);
        break;
    case RK_OPTION_CHOICE:
        (void)fputs(option->choices[*(const int *)at], to);
        break;
    case RK_OPTION_REAL:
        (void)fprintf(to, "%.9g", *(const double *)at);
        break;
    case RK_OPTION_COUNTS:
        for (int i = 0; i < counts->count; i++) {
            (void)fprintf(to, "%s%" PRId64, i > 0 ? "," : "", counts->values[i]);
        }
        break;
    case RK_OPTION_SET:
        for (size_t i = 0, many = 0; option->choices[i]; i++) {
            if (*(const unsigned *)at >> i & 1U) {
                (void)fprintf(to, "%s%s", many++ ? "," : "", option->choices[i]);
            }
        }
    }
}

/* The options of a job on 64 H100, or as many as its launch says, or why there is none. */
static void write_job(FILE *to, const rk_launch *launch, const char *line)
{
    char text[2 * LINE_MOST + 2];
    rk_error err = {0};
    rk_job *job = NULL;
    rk_status status = rk_job_create(rk_command_find("estimate"), &job, &err);
    (void)snprintf(text, sizeof(text), "%s\n", line); /* by its end a text, no path */
    status = status ? status : rk_job_set(job, "system", "h100-sxm", &err);
    if (!status && !rk_launch_fact_of(launch, "processes")) {
        status = rk_job_set(job, "accelerators", "64", &err);
    }
    status = status ? status : rk_job_set(job, "from", text, &err);
    status = status ? status : rk_job_start(job, NULL, NULL, NULL, &err);
    if (status) {
        (void)fputs("no job\t", to);
        write_value(to, err.message);
        (void)fputc('\n', to);
    }
    for (size_t i = 0; !status && i < rk_command_option_count(rk_job_command(job)); i++) {
        const rk_option *option = rk_command_option(rk_job_command(job), i);
        if (rk_job_has(job, option->name) && strcmp(option->name, "from") != 0) {
            (void)fprintf(to, "--%s\t", option->name);
            write_option(to, option, rk_job_arguments(job));
            (void)fputc('\n', to);
        }
    }
    rk_job_free(job);
}

/* All that is read, a line each: "tp", a tab, "2 stated by tensor-model-parallel-size"; first how
 * sure readers are. */
static char *write_launch(const rk_launch *launch, const char *line)
{
    static const char *const origins[] = {"open", "by default", "derived", "stated"};
    static const char *const uses[] = {"unread", "used", "without cost", "not priced", "unknown"};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    for (size_t i = 0; to && rk_launch_readers[i]; i++) {
        const int sure = rk_launch_readers[i]->recognise(launch);
        if (sure > 0) {
            (void)fprintf(to, "sure %s\t%d\n", rk_launch_readers[i]->name, sure);
        }
    }
    for (size_t i = 0; to && i < launch->fact_count; i++) {
        const rk_launch_fact *fact = &launch->facts[i];
        (void)fprintf(to, "%s\t", fact->field);
        write_value(to, fact->origin == RK_FACT_OPEN ? "" : fact->value);
        (void)fprintf(to, " %s", origins[fact->origin]);
        if (fact->by) {
            (void)fprintf(to, " by %s", fact->by->name);
            write_line_number(to, fact->by->line);
        }
        (void)fputc('\n', to);
    }
    for (size_t i = 0; to && i < launch->key_count; i++) {
        const rk_launch_key *key = &launch->keys[i];
        (void)fprintf(to, "key %s\t%s", key->name, uses[key->use]);
        if (key->source) {
            (void)fprintf(to, ", %s: ", key->source);
            write_value(to, key->value);
        }
        write_line_number(to, key->line);
        (void)fputs(key->note ? ": " : "", to);
        write_value(to, key->note);
        (void)fputc('\n', to);
    }
    if (to) {
        write_job(to, launch, line);
    }
    if (!to || fclose(to)) {
        abort();
    }
    return text;
}

/* Whether a text has a line that begins with this one, of `length`, up to its end if `whole`. */
static bool has_line(const char *text, const char *line, size_t length, bool whole)
{
    for (const char *at = text; at && *at; at += *at == '\n') {
        if (strncmp(at, line, length) == 0 && (!whole || at[length] == '\n')) {
            return true;
        }
        at = strchr(at, '\n');
    }
    return false;
}

/* Writes the lines that the first launch of its section lacks, and the names of those it has. */
static void record_case(section *of, const char *line, const rk_launch *launch, const char *refusal,
                        FILE *to)
{
    if (*refusal) {
        (void)fprintf(to, "    refused: %s\n", refusal);
        return;
    }
    char *text = write_launch(launch, line);
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        const size_t length = strcspn(at, "\n");
        if (!has_line(of->first, at, length, true)) {
            (void)fprintf(to, "    %.*s\n", (int)length, at);
        }
    }
    const bool has_job = !has_line(text, "no job\t", 7, false);
    for (const char *at = of->first; at && *at; at = strchr(at, '\n') + 1) {
        const size_t length = strcspn(at, "\t") + 1;
        if (!has_line(text, at, length, false) && (has_job || *at != '-')) {
            (void)fprintf(to, "    without %.*s\n", (int)length - 1, at);
        }
    }
    if (of->first) {
        free(text);
    } else {
        of->first = text;
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Reads the launch of a case, and checks all that is expected of it. */
static int check(section *of, const char *text, size_t length, const char *expected, FILE *record)
{
    static char line[2 * LINE_MOST];
    const char *at = strchr(of->launch, '@');
    const size_t before = at ? (size_t)(at - of->launch) : strlen(of->launch);
    char whole[2 * LINE_MOST];
    (void)snprintf(whole, sizeof(whole), "%.*s%.*s%s", (int)before, of->launch, (int)length, text,
                   at ? at + 1 : "");
    copy_text(line, sizeof(line), whole, strlen(whole), '~');
    rk_launch launch = {0};
    rk_error err = {0};
    rk_status status = rk_launch_parse(line, strlen(line), "line", &launch, &err);
    if (!status) {
        rk_launch_set_reader(&launch, NULL, *of->release ? of->release : NULL);
        status = rk_launch_resolve(&launch, &err);
    }
    int wrong = 0;
    const char *reader = launch.reader ? launch.reader->name : "no reader";
    if (strcmp(reader, of->reader) != 0) {
        printf("%s: %s, not %s\n", line, reader, of->reader);
        wrong++;
    }
    while (*expected) {
        const size_t size = strcspn(expected, " \n");
        char one[LINE_MOST];
        copy_text(one, sizeof(one), expected, size, ' ');
        if (size && !meets(&launch, status ? err.message : "", one)) {
            printf("%s: %s expected%s%s\n", line, one, status ? ": " : "",
                   status ? err.message : "");
            wrong++;
        }
        expected += size + (expected[size] != '\0');
    }
    (void)fprintf(record, "  @ %.*s\n", (int)length, text);
    record_case(of, line, &launch, status ? err.message : "", record);
    rk_launch_clear(&launch);
    return wrong;
}

/* "= READER[/RELEASE]: LAUNCH" */
static bool open_section(const char *line, section *to)
{
    const char *colon = strchr(line, ':');
    if (!colon || colon[1] != ' ') {
        return false;
    }
    char name[128];
    free(to->first);
    to->first = NULL;
    copy_text(name, sizeof(name), line + 2, (size_t)(colon - line) - 2, ' ');
    char *release = strchr(name, '/');
    if (release) {
        *release++ = '\0';
    }
    copy_text(to->reader, sizeof(to->reader), name, strlen(name), ' ');
    copy_text(to->release, sizeof(to->release), release ? release : "",
              release ? strlen(release) : 0, ' ');
    (void)snprintf(to->launch, sizeof(to->launch), "%.*s", (int)strcspn(colon + 2, "\n"),
                   colon + 2);
    return true;
}

/* Whether the record is that of a file; prints where they part. */
static bool compare(const char *record, const char *path)
{
    FILE *file = fopen(path, "r");
    static char line[8 * LINE_MOST];
    char part[LINE_MOST] = "", text[LINE_MOST] = "";
    bool same = file != NULL;
    while (same && fgets(line, sizeof(line), file)) {
        const size_t length = strlen(line);
        same = strncmp(record, line, length) == 0;
        if (!same) {
            printf("%s%sin %s: %snow: %.*s\n", part, text, path, line, (int)strcspn(record, "\n"),
                   record);
        } else if (strncmp(line, "    ", 4) != 0) {
            copy_text(*line == '=' ? part : text, LINE_MOST, line, length, '~');
        }
        record += same ? length : 0;
    }
    if (file) {
        (void)fclose(file);
    }
    if (!same || *record) {
        printf("%s is not what is read now; where that is meant, ninja -C build renew-launches\n",
               path);
    }
    return same && !*record;
}

int main(int count, char **words)
{
    FILE *file = count > 1 ? fopen(words[1], "r") : NULL;
    char *read = NULL;
    size_t size = 0;
    FILE *record = file ? open_memstream(&read, &size) : NULL;
    if (!record) {
        return 1;
    }
    static section now;
    static char line[LINE_MOST];
    int wrong = 0, cases = 0;
    while (fgets(line, sizeof(line), file)) {
        const char *arrow = strstr(line, " ->");
        if (*line == '\n' || (*line == '#' && strchr(" \n", line[1]))) {
            continue;
        }
        if (strncmp(line, "= ", 2) == 0) {
            wrong += !open_section(line, &now);
            (void)fputs(line, record);
        } else if (arrow) {
            wrong += check(&now, line, (size_t)(arrow - line), arrow + 3, record);
            cases++;
        } else {
            printf("neither a launch nor a case: %s", line);
            wrong++;
        }
    }
    (void)fclose(file);
    (void)fclose(record);
    free(now.first);
    if (count > 2) {
        wrong += !compare(read, words[2]);
        printf("%d cases, %d faults\n", cases, wrong);
    } else {
        (void)fputs(read, stdout);
    }
    free(read);
    return wrong > 0 || cases == 0;
}
