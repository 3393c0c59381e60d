/* SPDX-License-Identifier: Apache-2.0 */
/* Help text laid out from the option tables: usage line, options with choices, overview. */
#include "help.h"

#include "terminal.h"

#include <stdint.h>
#include <string.h>

#define LEFT_COLUMN 26 /* width of an option before its help */

void rk_write_overview(FILE *to)
{
    static const char *const others[][2] = {
        {"explore", "Print the address of the explorer, a page"},
        {"help", "Explain a command"},
        {"version", "Print the version"}};
    const rk_command *command;
    (void)fputs("usage: reckon COMMAND [MODEL] [Nx][SYSTEM] [OPTION...]\n\n"
                "Predicts the cost of training large language models and finds the best setup.\n\n",
                to);
    for (size_t i = 0; (command = rk_command_at(i)); i++) {
        (void)fprintf(to, "  %-10s %s\n", rk_command_name(command), rk_command_purpose(command));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        (void)fprintf(to, "  %-10s %s\n", others[i][0], others[i][1]);
    }
    (void)fputs("\nexample: reckon plan llama3-70b 64xh100\n"
                "'reckon COMMAND --help' explains a command.\n",
                to);
}

/* ---- lines that fit the terminal ------------------------------------------------------------- */

/* The position in a text: the column reached, and the indent of further lines. */
typedef struct wrapping {
    FILE *to;
    int column, indent, width;
} wrapping;

/* Writes a word, on a new line if it does not fit. */
static void write_word(wrapping *w, const char *word, int length)
{
    const int blank = w->column > w->indent;
    if (blank && w->column + 1 + length > w->width) {
        w->column = fprintf(w->to, "\n%*s", w->indent, "") - 1;
        w->column += fprintf(w->to, "%.*s", length, word);
        return;
    }
    w->column += fprintf(w->to, "%s%.*s", blank ? " " : "", length, word);
}

static void write_words(wrapping *w, const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, " ");
        if (length > 0) {
            write_word(w, text, (int)length);
        }
        text += length + strspn(text + length, " ");
    }
}

/* ---- the parts of a help text ---------------------------------------------------------------- */

/* The help text of a command. */
typedef struct help_text {
    FILE *to;
    const rk_command *command;
    int width;
    bool all;
} help_text;

/* The first of the command's own options; options of a strategy come before, --output last. */
static size_t find_own(const rk_command *command)
{
    const rk_option *option;
    size_t own = 0;
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        own = strcmp(info.name, "output") == 0 ? i + 1 : own;
    }
    return own;
}

/* Whether some options are common; of a command with options of a strategy, the model has to be. */
static bool has_common(const rk_command *command)
{
    const rk_option *option;
    const size_t own = find_own(command);
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        if (info.common && (own == 0 || info.catalogue)) {
            return true;
        }
    }
    return false;
}

/* Whether an option is usually given as a word: "llama3-70b 64xh100". */
static bool is_word(const rk_option_info *info)
{
    return info->catalogue &&
           (strcmp(info->catalogue, "models") == 0 || strcmp(info->catalogue, "systems") == 0);
}

static void write_usage(const help_text *h)
{
    const rk_option *option;
    bool optional = false;
    char piece[192];
    wrapping w = {.to = h->to, .indent = 8, .width = h->width};
    w.column = fprintf(h->to, "usage: reckon %s", rk_command_name(h->command));
    for (size_t i = 0; (option = rk_command_option(h->command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        if (info.positional) {
            (void)snprintf(piece, sizeof(piece), info.required ? "%s" : "[%s]", info.value);
        } else if (info.required && is_word(&info)) {
            (void)snprintf(piece, sizeof(piece), "%s",
                           info.catalogue[0] == 'm' ? "MODEL" : "[Nx]SYSTEM");
        } else if (info.required) {
            (void)snprintf(piece, sizeof(piece), "--%s %s", info.name, info.value);
        } else {
            optional = optional || info.help;
            continue;
        }
        write_word(&w, piece, (int)strlen(piece));
    }
    if (optional) {
        write_words(&w, "[OPTION...]");
    }
    (void)fputc('\n', h->to);
}

/* "-o, --output FILE", then what it does, its choices, and in the full help its other names. */
static void write_option(const help_text *h, const rk_option_info *info)
{
    char left[192];
    const char letter[] = {'-', info->letter, ',', ' ', '\0'};
    if (info->positional) {
        (void)snprintf(left, sizeof(left), "%s", info->value);
    } else {
        (void)snprintf(left, sizeof(left), "%s--%s%s%s", info->letter ? letter : "    ", info->name,
                       info->value ? " " : "", info->value ? info->value : "");
    }
    wrapping w = {.to = h->to, .indent = LEFT_COLUMN + 4, .width = h->width};
    w.column = fprintf(h->to, "  %-*s  ", LEFT_COLUMN, left);
    if (w.column > w.indent) {
        w.column = fprintf(h->to, "\n%*s", w.indent, "") - 1;
    }
    write_words(&w, info->help);
    for (size_t i = 0; h->all && info->choices && info->choices[i]; i++) {
        char choice[96];
        (void)snprintf(choice, sizeof(choice), "%s%s%s", i ? "" : "(", info->choices[i],
                       info->choices[i + 1] ? "," : ")");
        write_words(&w, choice);
    }
    for (size_t i = 0; h->all && i < info->alias_count && info->aliases[i]; i++) {
        char alias[96];
        (void)snprintf(alias, sizeof(alias), "%s--%s%s", i ? "" : "[", info->aliases[i],
                       i + 1 < info->alias_count && info->aliases[i + 1] ? "," : "]");
        write_words(&w, alias);
    }
    (void)fputc('\n', h->to);
}

static void write_options(const help_text *h, bool only_common, size_t from, size_t past)
{
    const rk_option *option;
    for (size_t i = from; i < past && (option = rk_command_option(h->command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        if (h->all && info.group) {
            (void)fprintf(h->to, "\n%s:\n", info.group);
        }
        if (info.help && (!only_common || info.common || info.required || info.positional)) {
            write_option(h, &info);
        }
    }
}

void rk_write_command_help(FILE *to, const rk_command *command, bool all)
{
    const bool some = !all && has_common(command);
    const help_text h = {to, command, rk_terminal_width(), !some};
    const char *notes = rk_command_notes(command);
    const char *example = notes ? strstr(notes, "example: ") : NULL;
    write_usage(&h);
    (void)fprintf(to, "\n%s.\n%s", rk_command_purpose(command), some ? "\n" : "");
    if (!some && !has_common(command)) {
        (void)fputc('\n', to);
    }
    if (some) { /* the command's own options first */
        const size_t own = find_own(command);
        write_options(&h, true, own, SIZE_MAX);
        write_options(&h, true, 0, own);
    } else {
        write_options(&h, false, 0, SIZE_MAX);
    }
    (void)fprintf(to, "%s  %-*s  %s\n", all && has_common(command) ? "\n" : "", LEFT_COLUMN,
                  "-h, --help",
                  some ? "print this text; --help-all lists every option" : "print this text");
    notes = some ? example : notes;
    if (notes) {
        (void)fprintf(to, "\n%s\n", notes);
    }
}
