/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: writes a man page in scdoc's format.
 *
 *     page TEXT DETAILS COMMAND
 *
 * copies TEXT and replaces its line "@OPTIONS@" by the options of the command, as its table has
 * them, and "@OPTIONS calculon@" by those it has when it follows the Calculon method; "@COMMANDS@"
 * lists the commands.  DETAILS says more of some options, below lines "## OPTION" or "## COMMAND
 * OPTION".
 */
#include "reckon/reckon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 96

static void die(const char *what, const char *of)
{
    (void)fprintf(stderr, "page: %s %s\n", what, of);
    exit(1);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0, room = 0;
    if (!file) {
        die("cannot open", path);
    }
    do {
        room = 2 * room + 4096;
        char *more = realloc(text, room + 1);
        if (!more) {
            die("not enough memory for", path);
        }
        text = more;
        size += fread(text + size, 1, room - size, file);
    } while (size == room);
    (void)fclose(file);
    text[size] = '\0';
    return text;
}

/* The text below "## NAME\n" up to the next heading; NULL: there is none. */
static const char *find_details(const char *details, const char *name, size_t *length)
{
    char heading[NAME_SIZE + 8];
    (void)snprintf(heading, sizeof(heading), "\n## %s\n", name);
    const char *at = strstr(details, heading);
    if (!at) {
        return NULL;
    }
    at += strlen(heading);
    const char *end = strstr(at, "\n## ");
    *length = end ? (size_t)(end - at) : strlen(at);
    return at;
}

/* Writes a text as the body of an option: every line behind a tab. */
static void write_body(const char *text, size_t length)
{
    bool begun = false;
    for (size_t i = 0; i < length; i++) {
        if (!begun && text[i] != '\n') {
            (void)putchar('\t');
            begun = true;
        }
        (void)putchar(text[i]);
        begun = begun && text[i] != '\n';
    }
    if (begun) {
        (void)putchar('\n');
    }
}

/* Writes a word of the option tables, in which scdoc would see formats. */
static void write_plain(const char *text)
{
    for (; *text; text++) {
        if (strchr("*_\\#", *text)) {
            (void)putchar('\\');
        }
        (void)putchar(*text);
    }
}

static void write_heading(const rk_option_info *info)
{
    if (info->positional) {
        (void)printf("_%s_\n", info->value);
        return;
    }
    if (info->letter) {
        (void)printf("*-%c*, ", info->letter);
    }
    (void)printf("*--%s*", info->name);
    for (size_t i = 0; i < info->alias_count && info->aliases[i]; i++) {
        (void)printf(", *--%s*", info->aliases[i]);
    }
    if (info->value) {
        (void)fputs(" _", stdout);
        write_plain(info->value);
        (void)putchar('_');
    }
    (void)putchar('\n');
}

static void write_option(const rk_command *command, const rk_option_info *info, const char *details)
{
    char name[NAME_SIZE];
    size_t length = 0;
    write_heading(info);
    (void)putchar('\t');
    if (info->help[0] >= 'a' && info->help[0] <= 'z') {
        (void)putchar(info->help[0] - 'a' + 'A');
        write_plain(info->help + 1);
    } else {
        write_plain(info->help);
    }
    for (size_t i = 0; info->choices && info->choices[i]; i++) {
        (void)fputs(i ? ", " : ". One of ", stdout);
        write_plain(info->choices[i]);
    }
    (void)fputs(".\n", stdout);
    (void)snprintf(name, sizeof(name), "%s %s", rk_command_name(command), info->name);
    const char *more = find_details(details, name, &length);
    more = more ? more : find_details(details, info->name, &length);
    if (more) {
        write_body(more, length);
    }
    (void)putchar('\n');
}

static void write_options(const rk_command *command, const char *details)
{
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        if (info.group) {
            (void)printf("## %s\n\n", info.group);
        }
        if (info.help) {
            write_option(command, &info, details);
        }
    }
    (void)fputs("*-h*, *--help*, *--help-all*\n\tPrint the common options, or all of them.\n",
                stdout);
}

static void write_commands(void)
{
    const rk_command *command;
    for (size_t i = 0; (command = rk_command_at(i)); i++) {
        const char *name = rk_command_name(command);
        (void)printf("*%s*\n\t%s. See *reckon-%s*(1).\n\n", name, rk_command_purpose(command),
                     name);
    }
    (void)fputs("*help* [_COMMAND_]\n\tExplain a command.\n\n*version*\n\tPrint the version.\n",
                stdout);
}

/* Whether a line of `length` letters is the mark. */
static bool is_mark(const char *line, size_t length, const char *mark)
{
    return length == strlen(mark) && strncmp(line, mark, length) == 0;
}

int main(int argc, char **argv)
{
    rk_error err;
    if (argc != 4) {
        die("usage:", "page TEXT DETAILS COMMAND");
    }
    char *text = read_file(argv[1]), *details = read_file(argv[2]);
    const rk_command *command = rk_command_find(argv[3]), *calculon = command;
    if (command && rk_command_resolve(command, "calculon", NULL, NULL, &calculon, &err)) {
        die(err.message, argv[3]);
    }
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        if (is_mark(line, length, "@COMMANDS@")) {
            write_commands();
        } else if (command && is_mark(line, length, "@OPTIONS@")) {
            write_options(command, details);
        } else if (command && is_mark(line, length, "@OPTIONS calculon@")) {
            write_options(calculon, details);
        } else {
            (void)printf("%.*s\n", (int)length, line);
        }
        line += length + (line[length] == '\n');
    }
    free(text);
    free(details);
    return 0;
}
