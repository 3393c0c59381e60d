/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each reader makes of each of its names: the cases of readings.txt, whose head has their
 * form.
 *
 *     test_launch_readings CASES
 */
#include "launch/launch.h"

#include <stdio.h>
#include <string.h>

enum { LINE_MOST = 4096 };

/* Cases that share a launch. */
typedef struct section {
    char reader[64], release[64];
    char launch[LINE_MOST]; /* "@" is replaced by the text of a case */
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
    if (strchr("?+-", *expected)) {
        return has_use(launch, expected + 1,
                       *expected == '?'   ? RK_KEY_NOT_PRICED
                       : *expected == '+' ? RK_KEY_USED
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

/* Reads the launch of a case, and checks all that is expected of it. */
static int check(const section *of, const char *text, size_t length, const char *expected)
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

int main(int count, char **words)
{
    FILE *file = count > 1 ? fopen(words[1], "r") : NULL;
    if (!file) {
        return 1;
    }
    static section now;
    static char line[LINE_MOST];
    int wrong = 0, cases = 0;
    while (fgets(line, sizeof(line), file)) {
        const char *arrow = strstr(line, " -> ");
        if (*line == '\n' || (*line == '#' && strchr(" \n", line[1]))) {
            continue;
        }
        if (strncmp(line, "= ", 2) == 0) {
            wrong += !open_section(line, &now);
        } else if (arrow) {
            wrong += check(&now, line, (size_t)(arrow - line), arrow + 4);
            cases++;
        } else {
            printf("neither a launch nor a case: %s", line);
            wrong++;
        }
    }
    (void)fclose(file);
    printf("%d cases, %d faults\n", cases, wrong);
    return wrong > 0 || cases == 0;
}
