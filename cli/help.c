/* SPDX-License-Identifier: Apache-2.0 */
#include "help.h"

#include <string.h>

#define LINE_WIDTH  100
#define LEFT_COLUMN 28 /* letters of an option before its help */

void rk_write_overview(FILE *to)
{
    static const char *const others[][2] = {{"help", "Explain a command"},
                                            {"version", "Print the version"}};
    const rk_command *command;
    (void)fputs("usage: reckon COMMAND [ARGUMENT...]\n\n"
                "What training a large language model will cost on a machine, and how to lay it "
                "out.\n\ncommands:\n",
                to);
    for (size_t i = 0; (command = rk_command_at(i)); i++) {
        (void)fprintf(to, "  %-10s %s\n", rk_command_name(command), rk_command_purpose(command));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        (void)fprintf(to, "  %-10s %s\n", others[i][0], others[i][1]);
    }
    (void)fputs("\n'reckon help COMMAND' says more.  Exit status: 0 done, 1 no feasible answer, "
                "2 wrong usage\nor wrong input.\n",
                to);
}

/* Appends a piece of the usage line, which breaks before the piece when it gets too long. */
static int write_piece(FILE *to, int column, const char *piece)
{
    if (column + 1 + (int)strlen(piece) > LINE_WIDTH) {
        column = fprintf(to, "\n        ") - 1;
    }
    return column + fprintf(to, " %s", piece);
}

static void write_usage(FILE *to, const rk_command *command)
{
    const rk_option *option;
    bool optional = false;
    char piece[192];
    int column = fprintf(to, "usage: reckon %s", rk_command_name(command));
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        if (info.positional) {
            (void)snprintf(piece, sizeof(piece), info.required ? "%s" : "[%s]", info.value);
        } else if (info.required) {
            (void)snprintf(piece, sizeof(piece), "--%s %s", info.name, info.value);
        } else {
            optional = optional || info.help;
            continue;
        }
        column = write_piece(to, column, piece);
    }
    if (optional) {
        (void)write_piece(to, column, "[OPTION...]");
    }
    (void)fputc('\n', to);
}

static void write_option(FILE *to, const rk_option_info *info)
{
    char left[192];
    if (info->positional) {
        (void)snprintf(left, sizeof(left), "%s", info->value);
    } else {
        const char letter[] = {'-', info->letter, ',', ' ', '\0'};
        (void)snprintf(left, sizeof(left), "%s--%s%s%s", info->letter ? letter : "    ", info->name,
                       info->value ? " " : "", info->value ? info->value : "");
    }
    if (strlen(left) > LEFT_COLUMN) {
        (void)fprintf(to, "  %s\n  %-*s  %s", left, LEFT_COLUMN, "", info->help);
    } else {
        (void)fprintf(to, "  %-*s  %s", LEFT_COLUMN, left, info->help);
    }
    for (size_t i = 0; info->choices && info->choices[i]; i++) {
        (void)fprintf(to, "%s%s", i ? ", " : " (", info->choices[i]);
    }
    (void)fputs(info->choices ? ")\n" : "\n", to);
}

static void write_aliases(FILE *to, const rk_command *command)
{
    const char *introduction = "\nalso understood:\n";
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        for (size_t j = 0; j < info.alias_count && info.aliases[j]; j++) {
            (void)fprintf(to, "%s  --%s for --%s\n", introduction, info.aliases[j], info.name);
            introduction = "";
        }
    }
}

void rk_write_command_help(FILE *to, const rk_command *command)
{
    const rk_option *option;
    write_usage(to, command);
    (void)fprintf(to, "\n%s.\n\n", rk_command_purpose(command));
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        if (info.help) {
            write_option(to, &info);
        }
    }
    (void)fprintf(to, "  %-*s  %s\n", LEFT_COLUMN, "-h, --help", "print this text");
    write_aliases(to, command);
    if (rk_command_notes(command)) {
        (void)fprintf(to, "\n%s\n", rk_command_notes(command));
    }
}
