/* SPDX-License-Identifier: Apache-2.0 */
/* Builtin commands, and the few programs whose output follows from the script alone. */
#include "base/text.h"
#include "launch/shell_parts.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct call {
    const rk_launch_word *words; /* words[0] is the name */
    size_t count;
    int line;
} call;

static void put(rk_shell *sh, const char *text, size_t length)
{
    if (sh->out && sh->out->size + length <= RK_SHELL_VALUE_MAX) {
        rk_bytes_add(sh->out, text, length);
    }
}

static void put_text(rk_shell *sh, const char *text)
{
    put(sh, text, strlen(text));
}

static const char *word(const call *c, size_t i)
{
    return i < c->count ? c->words[i].text : "";
}

/* The words after the name, each followed by a blank. */
static const char *join_words(rk_shell *sh, const call *c)
{
    rk_bytes all = {0};
    for (size_t i = 1; i < c->count; i++) {
        rk_bytes_add(&all, word(c, i), strlen(word(c, i)));
        rk_bytes_add(&all, " ", 1);
    }
    const char *kept = rk_shell_keep_bytes(sh, &all);
    rk_bytes_clear(&all);
    return kept;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The letter behind a backslash: a line end, a tab, or itself. */
static void put_escape(rk_shell *sh, const char *letter)
{
    put(sh, *letter == 'n' ? "\n" : *letter == 't' ? "\t" : letter, 1);
}

/* A text in which backslashes escape line ends, tabs and backslashes. */
static void put_escaped(rk_shell *sh, const char *text)
{
    for (const char *at = text; *at; at++) {
        if (*at == '\\' && at[1] && strchr("nt\\", at[1])) {
            put_escape(sh, ++at);
        } else {
            put(sh, at, 1);
        }
    }
}

/* -n, -e, -E, or several of these letters in one word. */
static bool is_echo_option(const char *text)
{
    size_t letters = 1;
    while (text[0] == '-' &&
           (text[letters] == 'n' || text[letters] == 'e' || text[letters] == 'E')) {
        letters++;
    }
    return letters > 1 && text[letters] == '\0';
}

static int run_echo(rk_shell *sh, const call *c)
{
    size_t i = 1;
    bool line_end = true, escapes = false;
    while (i < c->count && is_echo_option(word(c, i))) {
        for (const char *letter = word(c, i) + 1; *letter; letter++) {
            line_end = line_end && *letter != 'n';
            escapes = *letter == 'n' ? escapes : *letter == 'e';
        }
        i++;
    }
    for (size_t first = i; i < c->count; i++) {
        put_text(sh, i > first ? " " : "");
        if (escapes) {
            put_escaped(sh, word(c, i));
        } else {
            put_text(sh, word(c, i));
        }
    }
    put_text(sh, line_end ? "\n" : "");
    return 0;
}

/* A word as "%03d" or "%-8s", with a width of at most three digits, has it formatted. */
static void put_formatted(rk_shell *sh, const char *format, char kind, const char *text)
{
    const size_t flags = strspn(format, "-0"), digits = strspn(format + flags, "0123456789");
    const long width = digits > 0 && digits < 4 ? strtol(format + flags, NULL, 10) : 0;
    const bool left = memchr(format, '-', flags) != NULL;
    const char fill = kind != 's' && !left && memchr(format, '0', flags) ? '0' : ' ';
    const long size = (long)strlen(text), sign = fill == '0' && *text == '-';
    put(sh, text, (size_t)sign);
    for (long i = size; i < width && !left; i++) {
        put(sh, &fill, 1);
    }
    put_text(sh, text + sign);
    for (long i = size; i < width && left; i++) {
        put(sh, " ", 1);
    }
}

/* Formats of %s and %d; the format is used again as long as there are words. */
static int run_printf(rk_shell *sh, const call *c)
{
    size_t next = 2;
    do {
        const size_t before = next;
        for (const char *at = word(c, 1); *at; at++) {
            if (*at == '%' && at[1] == '%') {
                put(sh, at++, 1);
            } else if (*at == '%') {
                const char *format = at + 1;
                at += strcspn(format, "sdiufq") + 1;
                put_formatted(sh, format, *at, word(c, next++));
            } else if (*at == '\\' && at[1]) {
                put_escape(sh, ++at);
            } else {
                put(sh, at, 1);
            }
            if (!*at) {
                break;
            }
        }
        if (next == before) {
            break;
        }
    } while (next < c->count);
    return 0;
}

static int run_cat(rk_shell *sh, const call *c)
{
    const char *text = c->count > 1 ? rk_shell_file_text(sh, word(c, 1)) : sh->in;
    if (text) {
        put_text(sh, text);
    } else {
        sh->unknown = true;
    }
    return text ? 0 : 1;
}

static int run_seq(rk_shell *sh, const call *c)
{
    int64_t from = 1, step = 1, to = 0;
    const size_t numbers = c->count - 1;
    if (numbers < 1 || numbers > 3 || !rk_shell_calculate(sh, word(c, numbers), &to) ||
        (numbers > 1 && !rk_shell_calculate(sh, word(c, 1), &from)) ||
        (numbers > 2 && !rk_shell_calculate(sh, word(c, 2), &step)) || step == 0) {
        sh->unknown = true;
        return 1;
    }
    int64_t turns = 0;
    for (int64_t i = from; (step > 0 ? i <= to : i >= to) && turns < RK_SHELL_LOOP_MAX; turns++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%" PRId64 "\n", i);
        put_text(sh, text);
        if (__builtin_add_overflow(i, step, &i)) {
            break;
        }
    }
    return 0;
}

static int run_expr(rk_shell *sh, const call *c)
{
    int64_t value = 0;
    if (!rk_shell_calculate(sh, join_words(sh, c), &value)) {
        sh->unknown = true;
        return 1;
    }
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64 "\n", value);
    put_text(sh, text);
    return value == 0;
}

/* The length of a path without slashes at its end, but for "/" itself. */
static size_t path_length(const char *path, size_t length)
{
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    return length;
}

/* The length of the part of a path up to its last slash, of a path without slashes at its end. */
static size_t folder_length(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    return length;
}

static int run_basename(rk_shell *sh, const call *c)
{
    const char *path = word(c, 1);
    const size_t length = path_length(path, strlen(path)), folder = folder_length(path, length);
    const char *name = folder < length ? rk_shell_keep(sh, path + folder, length - folder) : path;
    const size_t size = folder < length ? length - folder : length;
    const bool ending = c->count > 2 && rk_ends_with(name, word(c, 2)) && strlen(word(c, 2)) < size;
    put(sh, name, ending ? size - strlen(word(c, 2)) : size);
    put_text(sh, "\n");
    return 0;
}

static int run_dirname(rk_shell *sh, const call *c)
{
    const char *path = word(c, 1);
    const size_t folder = folder_length(path, path_length(path, strlen(path)));
    if (folder > 0) {
        put(sh, path, path_length(path, folder));
    } else {
        put_text(sh, ".");
    }
    put_text(sh, "\n");
    return 0;
}

static int run_pwd(rk_shell *sh, const call *c)
{
    const char *folder = rk_shell_value(sh, "PWD");
    (void)c;
    put_text(sh, folder ? folder : ".");
    put_text(sh, "\n");
    return 0;
}

/* realpath and readlink -f: the path as it is given */
static int run_realpath(rk_shell *sh, const call *c)
{
    put_text(sh, word(c, c->count - 1));
    put_text(sh, "\n");
    return 0;
}

/* wc -w and wc -l of a text that is known */
static int run_wc(rk_shell *sh, const call *c)
{
    char text[32];
    size_t words = 0, lines = 0;
    bool inside = false;
    if (!sh->in || c->count != 2) {
        sh->unknown = true;
        return 1;
    }
    for (const char *at = sh->in; *at; at++) {
        words += !isspace((unsigned char)*at) && !inside;
        inside = !isspace((unsigned char)*at);
        lines += *at == '\n';
    }
    (void)snprintf(text, sizeof(text), "%zu\n", strcmp(word(c, 1), "-l") == 0 ? lines : words);
    put_text(sh, text);
    return 0;
}

/* tr a b and tr -d a, of single characters; "a-z A-Z" too */
static int run_tr(rk_shell *sh, const call *c)
{
    const bool deletes = strcmp(word(c, 1), "-d") == 0;
    const char *from = word(c, deletes ? 2 : 1), *to = deletes ? "" : word(c, 2);
    const bool upper = strcmp(to, "A-Z") == 0 || strcmp(to, "[:upper:]") == 0;
    const bool lower = strcmp(to, "a-z") == 0 || strcmp(to, "[:lower:]") == 0;
    if (!sh->in || c->count < 3 ||
        (!deletes && !upper && !lower && (strlen(from) != 1 || strlen(to) != 1))) {
        sh->unknown = true;
        return 1;
    }
    for (const char *at = sh->in; *at; at++) {
        const char changed = (char)(upper   ? toupper((unsigned char)*at)
                                    : lower ? tolower((unsigned char)*at)
                                            : *at);
        if (upper || lower) {
            put(sh, &changed, 1);
        } else if (!strchr(from, *at)) {
            put(sh, at, 1);
        } else if (!deletes) {
            put(sh, to, 1);
        }
    }
    return 0;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Saves the value that a variable has outside of the function. */
static void make_local(rk_shell *sh, const char *name)
{
    rk_shell_variable *variable = rk_shell_make(sh, name);
    rk_shell_local *local = rk_shell_get(sh, 1, sizeof(*local));
    if (variable && local) {
        *local = (rk_shell_local){sh->locals, *variable};
        sh->locals = local;
        rk_shell_unset(variable);
    }
}

/* export, local, declare, typeset, readonly: options, then names with or without a value */
static int run_declare(rk_shell *sh, const call *c)
{
    const char *kind = word(c, 0);
    bool associative = false, array = false;
    bool exported = strcmp(kind, "export") == 0;
    const bool local =
        sh->in_function && strcmp(kind, "export") != 0 && strcmp(kind, "readonly") != 0;
    for (size_t i = 1; i < c->count; i++) {
        const char *text = word(c, i);
        if (text[0] == '-' || text[0] == '+') {
            associative |= strchr(text, 'A') != NULL;
            array |= strchr(text, 'a') != NULL;
            exported |= strchr(text, 'x') != NULL;
            continue;
        }
        const size_t length = rk_shell_name_length(text, strlen(text));
        const char *name = rk_shell_keep(sh, text, length);
        if (length == 0) {
            continue;
        }
        if (local) {
            make_local(sh, name);
        }
        rk_shell_variable *variable = rk_shell_make(sh, name);
        if (variable) {
            variable->associative |= associative;
            variable->array |= associative || array;
            variable->exported |= exported;
        }
        (void)rk_shell_assign(sh, text, strlen(text), c->words[i].line, &name);
    }
    return 0;
}

static int run_unset(rk_shell *sh, const call *c)
{
    for (size_t i = 1; i < c->count; i++) {
        rk_shell_variable *variable = rk_shell_find(sh, word(c, i));
        if (variable) {
            rk_shell_unset(variable);
        }
    }
    return 0;
}

static void set_arguments(rk_shell *sh, const rk_launch_word *words, size_t count)
{
    rk_launch_word *copy = rk_shell_get(sh, count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = words[i];
    }
    sh->arguments = copy;
    sh->argument_count = copy ? count : 0;
}

/* set -- a b; options have no effect */
static int run_set(rk_shell *sh, const call *c)
{
    for (size_t i = 1; i < c->count; i++) {
        if (strcmp(word(c, i), "--") == 0) {
            set_arguments(sh, c->words + i + 1, c->count - i - 1);
            return 0;
        }
        if (word(c, i)[0] != '-' && word(c, i)[0] != '+' && word(c, i - 1)[0] != '-') {
            set_arguments(sh, c->words + i, c->count - i);
            return 0;
        }
    }
    return 0;
}

static int run_shift(rk_shell *sh, const call *c)
{
    int64_t count = 1;
    if (c->count > 1 && !rk_shell_calculate(sh, word(c, 1), &count)) {
        count = 1;
    }
    if (count < 0 || (uint64_t)count > sh->argument_count) {
        return 1;
    }
    sh->arguments += count;
    sh->argument_count -= (size_t)count;
    return 0;
}

static int run_let(rk_shell *sh, const call *c)
{
    int64_t value = 0;
    for (size_t i = 1; i < c->count; i++) {
        (void)rk_shell_calculate(sh, word(c, i), &value);
    }
    return value == 0;
}

/* read -r A B, and read -ra A, of a text that is known; its first line is gone then */
static int run_read(rk_shell *sh, const call *c)
{
    const char *separators = rk_shell_value(sh, "IFS");
    const char *text = sh->in;
    size_t i = 1;
    bool array = false;
    separators = separators ? separators : " \t\n";
    while (i < c->count && word(c, i)[0] == '-') {
        array |= strchr(word(c, i), 'a') != NULL;
        i++;
    }
    if (!text || i >= c->count) {
        return 1;
    }
    const size_t size = strcspn(text, "\n");
    const bool line_end = text[size] == '\n';
    const bool blank = strchr(separators, ' ') != NULL; /* any number of them separates */
    const size_t start = blank ? strspn(text, " \t") : 0;
    size_t end = size > start ? size : start;
    while (blank && end > start && strchr(" \t", text[end - 1])) {
        end--;
    }
    sh->in = text + size + line_end;
    text = rk_shell_keep(sh, text + start, end - start);
    rk_shell_variable *variable = array ? rk_shell_make(sh, word(c, i)) : NULL;
    if (variable) {
        rk_shell_unset(variable);
        variable->array = true;
    }
    for (int64_t element = 0; *text || (!array && i < c->count); element++) {
        const bool last = !array && i + 1 == c->count;
        const size_t length = last ? strlen(text) : strcspn(text, separators);
        const char *value = rk_shell_keep(sh, text, length);
        if (variable) {
            rk_shell_set_element(sh, variable, NULL, element, value, c->line);
        } else if (i < c->count) {
            rk_shell_set(sh, word(c, i++), value, c->line);
        }
        text += length + (text[length] != '\0');
        text += blank ? strspn(text, " \t") : 0;
        if ((!array && i >= c->count) || sh->stopped) {
            break;
        }
    }
    return !line_end;
}

static int run_cd(rk_shell *sh, const call *c)
{
    const char *path = word(c, 1), *folder = rk_shell_value(sh, "PWD");
    rk_bytes made = {0};
    if (path[0] && path[0] != '/' && folder && strcmp(path, ".") != 0) {
        rk_bytes_add(&made, folder, strlen(folder));
        rk_bytes_add(&made, "/", 1);
    }
    if (strcmp(path, ".") != 0) {
        rk_bytes_add(&made, path, strlen(path));
        rk_shell_set(sh, "PWD", rk_shell_keep_bytes(sh, &made), c->line);
    }
    rk_bytes_clear(&made);
    return 0;
}

/* ---- flow ------------------------------------------------------------------------------------ */

static int run_leave(rk_shell *sh, const call *c)
{
    const char *name = word(c, 0);
    int64_t number = sh->status;
    if (c->count > 1 && !rk_shell_calculate(sh, word(c, 1), &number)) {
        number = 0;
    }
    if (strcmp(name, "exit") == 0) {
        /* a script that has started nothing yet gives up for lack of what is not here */
        sh->flow = sh->command_count > 0 || sh->captured ? FLOW_EXIT : FLOW_ON;
    } else if (strcmp(name, "return") == 0) {
        sh->flow = FLOW_RETURN;
    } else {
        const int64_t turns = c->count > 1 && number > 0 ? number : 1;
        sh->flow = sh->loops == 0               ? FLOW_ON
                   : strcmp(name, "break") == 0 ? FLOW_BREAK
                                                : FLOW_CONTINUE;
        sh->turns = turns < sh->loops ? (int)turns : sh->loops;
    }
    return name[0] == 'e' || name[0] == 'r' ? (int)(number & 255) : 0;
}

static int run_eval(rk_shell *sh, const call *c)
{
    const char *text = join_words(sh, c);
    rk_shell_run_text(sh, text, strlen(text), c->line);
    return sh->status;
}

static int run_source(rk_shell *sh, const call *c)
{
    const bool arguments = c->count > 2;
    return !rk_shell_run_file(sh, word(c, 1), arguments ? c->words + 2 : sh->arguments,
                              arguments ? c->count - 2 : sh->argument_count);
}

static int run_test(rk_shell *sh, const call *c)
{
    const bool bracket = strcmp(word(c, 0), "[") == 0;
    const bool closed = bracket && strcmp(word(c, c->count - 1), "]") == 0;
    return !rk_shell_test(sh, c->words + 1, c->count - 1 - closed);
}

static int run_true(rk_shell *sh, const call *c)
{
    (void)sh;
    (void)c;
    return 0;
}

static int run_false(rk_shell *sh, const call *c)
{
    (void)sh;
    (void)c;
    return 1;
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int (*run)(rk_shell *sh, const call *c);
} builtins[] = {
    {"echo", run_echo},
    {"printf", run_printf},
    {"cat", run_cat},
    {"seq", run_seq},
    {"expr", run_expr},
    {"basename", run_basename},
    {"dirname", run_dirname},
    {"pwd", run_pwd},
    {"realpath", run_realpath},
    {"readlink", run_realpath},
    {"wc", run_wc},
    {"tr", run_tr},
    {"export", run_declare},
    {"local", run_declare},
    {"declare", run_declare},
    {"typeset", run_declare},
    {"readonly", run_declare},
    {"unset", run_unset},
    {"set", run_set},
    {"shift", run_shift},
    {"let", run_let},
    {"read", run_read},
    {"cd", run_cd},
    {"exit", run_leave},
    {"return", run_leave},
    {"break", run_leave},
    {"continue", run_leave},
    {"eval", run_eval},
    {"source", run_source},
    {".", run_source},
    {"test", run_test},
    {"[", run_test},
    {":", run_true},
    {"true", run_true},
    {"false", run_false},
    {"trap", run_true},
    {"wait", run_true},
    {"ulimit", run_true},
    {"umask", run_true},
    {"shopt", run_true},
};

bool rk_shell_run_builtin(rk_shell *sh, const rk_launch_word *words, size_t count, int line)
{
    assert(count >= 1);
    const call c = {words, count, line};
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        if (strcmp(words[0].text, builtins[i].name) == 0) {
            sh->status = builtins[i].run(sh, &c);
            return true;
        }
    }
    return false;
}
