/* SPDX-License-Identifier: Apache-2.0 */
/* Expansion of words: quotes, parameters, substitutions. */
#include "base/text.h"
#include "launch/shell_parts.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- fields ---------------------------------------------------------------------------------- */

void rk_shell_clear_fields(rk_shell_fields *fields)
{
    rk_bytes_clear(&fields->word);
}

void rk_shell_end_field(rk_shell *sh, rk_shell_fields *fields)
{
    if (!fields->started) {
        return;
    }
    const char *text = rk_shell_keep_bytes(sh, &fields->word);
    if (rk_shell_grow(sh, &fields->items, fields->count, &fields->room, sizeof(*fields->items))) {
        fields->items[fields->count++] = (rk_launch_word){text, fields->line};
    }
    rk_bytes_reset(&fields->word);
    fields->started = false;
}

void rk_shell_add_text(rk_shell_fields *fields, const char *text, size_t length, bool quoted)
{
    assert(fields->word.size <= RK_SHELL_VALUE_MAX);
    if (fields->word.size + length > RK_SHELL_VALUE_MAX) {
        return;
    }
    fields->started |= quoted || length > 0;
    for (size_t i = 0; fields->pattern && quoted && i < length; i++) {
        rk_bytes_add(&fields->word, "\\", strchr("*?[\\.+^$", text[i]) != NULL);
        rk_bytes_add(&fields->word, text + i, 1);
    }
    if (!fields->pattern || !quoted) {
        rk_bytes_add(&fields->word, text, length);
    }
}

/* The bytes of a word of a value, in which a command that is not run is whole, "$(nproc --all)". */
static size_t word_length(const char *text, const char *end)
{
    const size_t size = (size_t)(end - text);
    size_t i = 0;
    while (i < size && !strchr(" \t\n", text[i])) {
        i = text[i] == '$' && text[i + 1] == '(' ? rk_shell_paren_end(text, i + 2, size, 0)
            : text[i] == '`'                     ? rk_shell_backtick_end(text, i + 1, size)
                                                 : i + 1;
    }
    return i < size ? i : size;
}

/* A value without quotes: blanks end words. */
static void add_split(rk_shell *sh, rk_shell_fields *fields, const char *text, int line)
{
    const char *const end = text + strlen(text);
    const int before = fields->line;
    if (!fields->split) {
        rk_shell_add_text(fields, text, strlen(text), false);
        return;
    }
    while (*text) {
        const size_t length = word_length(text, end);
        fields->line = line > 0 ? line : before;
        rk_shell_add_text(fields, text, length, false);
        text += length;
        if (*text) {
            rk_shell_end_field(sh, fields);
            text += strspn(text, " \t\n");
        }
    }
    fields->line = fields->started ? fields->line : before;
}

static void add_value(rk_shell *sh, rk_shell_fields *fields, const char *text, bool quoted,
                      int line)
{
    if (quoted) {
        rk_shell_add_text(fields, text, strlen(text), true);
    } else {
        add_split(sh, fields, text, line);
    }
}

/* "$@" and "${A[@]}": each value is a word of its own. */
static void add_values(rk_shell *sh, rk_shell_fields *fields, const rk_launch_word *values,
                       size_t count, bool quoted, bool joined)
{
    fields->none |= count == 0 && !joined;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (joined || !fields->split)) {
            rk_shell_add_text(fields, " ", 1, quoted);
        } else if (i > 0) {
            rk_shell_end_field(sh, fields);
        }
        fields->line = values[i].line > 0 && fields->split ? values[i].line : fields->line;
        add_value(sh, fields, values[i].text, quoted, values[i].line);
    }
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* A parameter as it is found: one value, or several. */
typedef struct parameter {
    const char *name;            /* "" for "$1" and the like */
    rk_shell_variable *variable; /* NULL: none */
    const char *key;             /* of an element; NULL: `index` */
    int64_t index;
    bool element, all, joined; /* [x]; [@] or [*]; [*] */
    const char *value;         /* NULL: not set */
    int line;
    const rk_launch_word *values; /* of all */
    size_t count;
} parameter;

static const char *number_text(rk_shell *sh, int64_t number)
{
    char text[32];
    const int length = snprintf(text, sizeof(text), "%" PRId64, number);
    return rk_shell_keep(sh, text, (size_t)length);
}

static void find_all(rk_shell *sh, parameter *p)
{
    const size_t count = p->variable && p->variable->set ? p->variable->count : 0;
    rk_launch_word *values = rk_shell_get(sh, count + 1, sizeof(*values));
    for (size_t i = 0; values && i < count; i++) {
        values[i] = (rk_launch_word){p->variable->elements[i].text, p->variable->elements[i].line};
    }
    p->values = values;
    p->count = values ? count : 0;
    p->value = p->count > 0 ? values[0].text : NULL;
}

static void find_argument(rk_shell *sh, parameter *p, const char *name)
{
    const int64_t number = name[0] ? (int64_t)strtoll(name, NULL, 10) : 0;
    p->value = number == 0                              ? sh->name
               : (uint64_t)number <= sh->argument_count ? sh->arguments[number - 1].text
                                                        : NULL;
}

static void find_special(rk_shell *sh, parameter *p, char name)
{
    if (name == '@' || name == '*') {
        p->all = true;
        p->joined = name == '*';
        p->values = sh->arguments;
        p->count = sh->argument_count;
        p->value = p->count > 0 ? p->values[0].text : NULL;
    } else {
        p->value = name == '#'   ? number_text(sh, (int64_t)sh->argument_count)
                   : name == '?' ? number_text(sh, sh->status)
                   : name == '$' ? "1"
                                 : NULL;
    }
}

/* Finds what "[...]" behind a name means; `at` is behind the bracket. */
static size_t find_element(rk_shell *sh, parameter *p, const char *text, size_t at, size_t end)
{
    size_t close = at;
    while (close < end && text[close] != ']') {
        close = rk_shell_piece_end(text, close, end);
    }
    close = close < end ? close : end;
    p->element = true;
    if (close == at + 1 && (text[at] == '@' || text[at] == '*')) {
        p->all = true;
        p->joined = text[at] == '*';
        find_all(sh, p);
        return close < end ? close + 1 : end;
    }
    const char *key = rk_shell_expand_text(sh, text, at, close, false);
    if (p->variable && p->variable->associative) {
        p->key = key;
    } else if (!rk_shell_calculate(sh, key, &p->index)) {
        p->index = 0;
    }
    const rk_shell_element *found =
        p->variable && p->variable->set ? rk_shell_element_of(p->variable, p->key, p->index) : NULL;
    p->value = found ? found->text : NULL;
    p->line = found ? found->line : 0;
    return close < end ? close + 1 : end;
}

static void find_variable(rk_shell *sh, parameter *p, const char *name)
{
    p->name = name;
    p->variable = rk_shell_find(sh, name);
    if (p->variable && p->variable->set) {
        const rk_shell_element *first =
            p->variable->associative ? NULL : rk_shell_element_of(p->variable, NULL, 0);
        p->value = first ? first->text : NULL;
        p->line = first ? first->line : 0;
    }
}

/* Reads the name of a parameter, and where "${...}" gives one, its element. */
static size_t find_parameter(rk_shell *sh, parameter *p, const char *text, size_t at, size_t end,
                             bool braced)
{
    const size_t length = rk_shell_name_length(text + at, end - at);
    *p = (parameter){.name = ""};
    if (length > 0) {
        find_variable(sh, p, rk_shell_keep(sh, text + at, length));
        at += length;
        return braced && at < end && text[at] == '[' ? find_element(sh, p, text, at + 1, end) : at;
    }
    size_t digits = 0;
    while (at + digits < end && isdigit((unsigned char)text[at + digits]) &&
           (braced || digits == 0)) {
        digits++;
    }
    if (digits > 0) {
        find_argument(sh, p, rk_shell_keep(sh, text + at, digits < 9 ? digits : 9));
        return at + digits;
    }
    find_special(sh, p, at < end ? text[at] : '\0');
    return at < end ? at + 1 : end;
}

/* ---- operators of "${...}" ------------------------------------------------------------------- */

static void add_parameter(rk_shell *sh, const parameter *p, bool quoted, rk_shell_fields *fields)
{
    if (p->all) {
        add_values(sh, fields, p->values, p->count, quoted, p->joined && quoted);
    } else if (p->value) {
        add_value(sh, fields, p->value, quoted, p->line);
    } else if (quoted) {
        rk_shell_add_text(fields, "", 0, true);
    }
}

static void expand_quoted(rk_shell *sh, const char *text, size_t at, size_t end,
                          rk_shell_fields *fields);

/* ":-", "-", ":=", "=", ":+", "+", ":?", "?" with a word behind it; false: no such operator. */
static bool add_alternative(rk_shell *sh, parameter *p, const char *text, size_t at, size_t end,
                            bool quoted, rk_shell_fields *fields)
{
    const bool colon = text[at] == ':';
    const char kind = at + colon < end ? text[at + colon] : '\0';
    const bool is_set = p->all ? p->count > 0 : p->value && (!colon || p->value[0]);
    if (!kind || !strchr("-=+?", kind)) {
        return false;
    }
    at += colon + 1U;
    if (is_set != (kind == '+')) {
        if (kind != '+') {
            add_parameter(sh, p, quoted, fields);
        }
        return true;
    }
    if (kind == '=' && p->name[0] && !p->element) {
        p->value = rk_shell_expand_text(sh, text, at, end, false);
        rk_shell_set(sh, p->name, p->value, rk_shell_line(sh, sh->at));
        add_parameter(sh, p, quoted, fields);
    } else if (kind != '?') {
        const bool operand = fields->operand;
        fields->operand = true;
        if (++sh->depth > RK_SHELL_DEPTH_MAX) {
            rk_shell_stop(sh);
        }
        (quoted ? expand_quoted : rk_shell_expand)(sh, text, at, end, fields);
        sh->depth--;
        fields->operand = operand;
    }
    return true;
}

/* Removes the shortest or longest start or end of a value that matches. */
static const char *strip(rk_shell *sh, const char *value, const char *pattern, bool start,
                         bool longest)
{
    size_t at = 0;
    if (!rk_shell_find_match(sh, pattern, value, start, longest, &at)) {
        return value;
    }
    return start ? rk_shell_keep(sh, value + at, strlen(value + at)) : rk_shell_keep(sh, value, at);
}

/* The longest match of a pattern at the start of a text; 0: there is none. */
static size_t match_length(rk_shell *sh, const char *pattern, const char *text)
{
    size_t length = 0;
    return rk_shell_find_match(sh, pattern, text, true, true, &length) ? length : 0;
}

static const char *replace(rk_shell *sh, const char *value, const char *pattern, const char *with,
                           bool all)
{
    rk_bytes made = {0};
    const bool anchored = pattern[0] == '#' || pattern[0] == '%';
    bool done = false;
    if (strlen(value) > 4096) {
        return value;
    }
    for (const char *at = value; *at;) {
        size_t length = done && !all ? 0 : match_length(sh, pattern + anchored, at);
        if (anchored && (pattern[0] == '#' ? at > value : at[length] != '\0')) {
            length = 0;
        }
        if (length > 0) {
            rk_bytes_add(&made, with, strlen(with));
            done = true;
        } else {
            rk_bytes_add(&made, at, 1);
        }
        at += length > 0 ? length : 1;
    }
    const char *kept = rk_shell_keep_bytes(sh, &made);
    rk_bytes_clear(&made);
    return kept;
}

static const char *change_case(rk_shell *sh, const char *value, bool upper, bool all)
{
    char *changed = (char *)(uintptr_t)rk_shell_keep(sh, value, strlen(value));
    for (size_t i = 0; changed[i] && (all || i == 0); i++) {
        changed[i] =
            (char)(upper ? toupper((unsigned char)changed[i]) : tolower((unsigned char)changed[i]));
    }
    return changed;
}

/* Reads "offset" or "offset:length"; a length that is not there stays as it is. */
static void read_range(rk_shell *sh, const char *expression, int64_t *from, int64_t *length)
{
    const char *colon = strchr(expression, ':');
    const char *first =
        colon ? rk_shell_keep(sh, expression, (size_t)(colon - expression)) : expression;
    (void)rk_shell_calculate(sh, first, from);
    if (colon && !rk_shell_calculate(sh, colon + 1, length)) {
        *length = 0;
    }
}

/* ${X:1:2} */
static const char *part_of(rk_shell *sh, const char *value, const char *expression)
{
    const int64_t size = (int64_t)strlen(value);
    int64_t from = 0, length = size;
    read_range(sh, expression, &from, &length);
    from = from < 0 ? from + size : from;
    from = from < 0 || from > size ? size : from;
    length = length < 0 ? size - from + length : length;
    length = length < 0 ? 0 : length > size - from ? size - from : length;
    return rk_shell_keep(sh, value + from, (size_t)length);
}

/* ${A[@]:1:2} and ${@:2} */
static void take_part(rk_shell *sh, parameter *p, const char *expression)
{
    int64_t from = 0, count = (int64_t)p->count;
    read_range(sh, expression, &from, &count);
    from -= p->values == sh->arguments && from > 0; /* "$@" counts from 1 */
    from = from < 0 ? from + (int64_t)p->count : from;
    from = from < 0 || from > (int64_t)p->count ? (int64_t)p->count : from;
    count = count < 0 ? 0 : count > (int64_t)p->count - from ? (int64_t)p->count - from : count;
    p->values += from;
    p->count = (size_t)count;
}

static void change(rk_shell *sh, parameter *p, const char *text, size_t at, size_t end)
{
    const char kind = text[at];
    const bool twice = at + 1 < end && text[at + 1] == kind;
    const size_t behind = at + 1 + twice;
    const char *value = p->value ? p->value : "";
    if (kind == '#' || kind == '%') {
        p->value =
            strip(sh, value, rk_shell_expand_text(sh, text, behind, end, true), kind == '#', twice);
    } else if (kind == '^' || kind == ',') {
        p->value = change_case(sh, value, kind == '^', twice);
    } else if (kind == '/') {
        size_t slash = behind;
        while (slash < end && text[slash] != '/') {
            slash += text[slash] == '\\' && slash + 1 < end ? 2 : 1;
        }
        slash = slash < end ? slash : end;
        p->value = replace(sh, value, rk_shell_expand_text(sh, text, behind, slash, true),
                           slash < end ? rk_shell_expand_text(sh, text, slash + 1, end, false) : "",
                           twice);
    } else if (kind == ':') {
        const char *expression = rk_shell_expand_text(sh, text, at + 1, end, false);
        if (p->all) {
            take_part(sh, p, expression);
        } else {
            p->value = part_of(sh, value, expression);
        }
    }
}

/* "${#X}", the length of a value, and "${!A[@]}", the keys of an array, or "${!X}" */
static size_t find_prefixed(rk_shell *sh, parameter *p, const char *text, size_t at, size_t end)
{
    const bool length = text[at] == '#';
    const size_t behind = find_parameter(sh, p, text, at + 1, end, true);
    if (length) {
        p->value = number_text(sh, p->all     ? (int64_t)p->count
                                   : p->value ? (int64_t)strlen(p->value)
                                              : 0);
        p->all = false;
    } else if (p->all && p->variable) { /* keys */
        rk_launch_word *keys = rk_shell_get(sh, p->count + 1, sizeof(*keys));
        for (size_t i = 0; keys && i < p->count; i++) {
            const rk_shell_element *e = &p->variable->elements[i];
            keys[i].text = e->key ? e->key : number_text(sh, e->index);
        }
        p->values = keys;
        p->count = keys ? p->count : 0;
    } else if (p->value) {
        const char *name = p->value;
        (void)find_parameter(sh, p, name, 0, strlen(name), true);
    }
    return length ? end : behind;
}

/* Expands the text between "${" and "}". */
static void add_braced(rk_shell *sh, const char *text, size_t at, size_t end, bool quoted,
                       rk_shell_fields *fields)
{
    parameter p;
    const bool prefixed =
        at + 1 < end && (text[at] == '#' || text[at] == '!') && !strchr("-=+?:}", text[at + 1]);
    const size_t behind = prefixed ? find_prefixed(sh, &p, text, at, end)
                                   : find_parameter(sh, &p, text, at, end, true);
    if (behind < end && add_alternative(sh, &p, text, behind, end, quoted, fields)) {
        return;
    }
    if (behind < end && p.all && text[behind] != ':') {
        rk_launch_word *changed = rk_shell_get(sh, p.count + 1, sizeof(*changed));
        for (size_t i = 0; changed && i < p.count; i++) {
            parameter each = {.name = "", .value = p.values[i].text};
            change(sh, &each, text, behind, end);
            changed[i] = (rk_launch_word){each.value, p.values[i].line};
        }
        p.values = changed ? changed : p.values;
    } else if (behind < end) {
        change(sh, &p, text, behind, end);
    }
    add_parameter(sh, &p, quoted, fields);
}

/* ---- substitutions --------------------------------------------------------------------------- */

/* Adds the output of a command, or its text in the script where only a program could tell. */
static void add_output(rk_shell *sh, const char *text, size_t at, size_t end, const char *whole,
                       size_t whole_length, bool quoted, rk_shell_fields *fields)
{
    rk_bytes made = {0};
    rk_bytes *const before = sh->out;
    const bool unknown = sh->unknown;
    const char *folder = rk_shell_value(sh, "PWD");
    const int line = rk_shell_line(sh, sh->at);
    sh->out = &made;
    sh->unknown = false;
    sh->captured++;
    rk_shell_run_text(sh, text + at, end - at, line);
    sh->captured--;
    sh->flow = sh->stopped ? sh->flow : FLOW_ON; /* exit leaves the substitution alone */
    sh->out = before;
    if (folder) {
        rk_shell_set(sh, "PWD", folder, 0);
    }
    if (sh->unknown) {
        rk_shell_add_text(fields, whole, whole_length, true);
    } else {
        while (made.size > 0 && made.data[made.size - 1] == '\n') {
            made.size--;
        }
        add_value(sh, fields, rk_shell_keep_bytes(sh, &made), quoted, 0);
    }
    sh->unknown = unknown;
    rk_bytes_clear(&made);
}

static void add_backticks(rk_shell *sh, const char *text, size_t at, size_t behind, bool quoted,
                          rk_shell_fields *fields)
{
    const size_t close = behind > at + 1 && text[behind - 1] == '`' ? behind - 1 : behind;
    rk_bytes inside = {0}; /* without the backslashes before "$", "`" and a backslash */
    for (size_t i = at + 1; i < close; i++) {
        i += text[i] == '\\' && i + 1 < close && strchr(quoted ? "$`\\\"" : "$`\\", text[i + 1]);
        rk_bytes_add(&inside, text + i, 1);
    }
    const char *command = rk_shell_keep_bytes(sh, &inside);
    rk_bytes_clear(&inside);
    add_output(sh, command, 0, strlen(command), text + at, behind - at, quoted, fields);
}

static void add_arithmetic(rk_shell *sh, const char *text, size_t at, size_t behind,
                           rk_shell_fields *fields)
{
    int64_t value = 0;
    const char *expression = rk_shell_expand_text(sh, text, at + 3, behind - 2, false);
    if (rk_shell_calculate(sh, expression, &value)) {
        const char *number = number_text(sh, value);
        rk_shell_add_text(fields, number, strlen(number), true);
    } else {
        rk_shell_add_text(fields, text + at, behind - at, true);
    }
}

/* Whether "$((" up to `behind` is arithmetic, and no command in parentheses. */
static bool is_arithmetic(const char *text, size_t at, size_t behind)
{
    return behind >= at + 5 && text[at + 1] == '(' && text[at + 2] == '(' &&
           text[behind - 1] == ')' && text[behind - 2] == ')';
}

/* $'...' */
static void add_ansi(rk_shell_fields *fields, const char *text, size_t at, size_t end)
{
    while (at < end) {
        char c = text[at++];
        if (c == '\\' && at < end) {
            c = text[at++];
            c = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c);
        }
        rk_shell_add_text(fields, &c, 1, true);
    }
}

static size_t add_dollar(rk_shell *sh, const char *text, size_t at, size_t end, bool quoted,
                         rk_shell_fields *fields)
{
    parameter p;
    const char next = at + 1 < end ? text[at + 1] : '\0';
    if (next == '(') {
        const size_t behind = rk_shell_paren_end(text, at + 2, end, 0);
        if (is_arithmetic(text, at, behind)) {
            add_arithmetic(sh, text, at, behind, fields);
        } else {
            const size_t close = behind > at + 2 && text[behind - 1] == ')' ? behind - 1 : behind;
            add_output(sh, text, at + 2, close, text + at, behind - at, quoted, fields);
        }
        return behind;
    }
    if (next == '{') {
        const size_t behind = rk_shell_brace_end(text, at + 2, end, quoted, 0);
        add_braced(sh, text, at + 2, behind > at + 2 ? behind - 1 : behind, quoted, fields);
        return behind;
    }
    if (next == '\'' && !quoted) {
        const size_t behind = rk_shell_word_end(text, at, end);
        size_t close = at + 2;
        while (close < behind && text[close] != '\'') {
            close += text[close] == '\\' ? 2 : 1;
        }
        close = close < behind ? close : behind;
        add_ansi(fields, text, at + 2, close);
        fields->started = true;
        return close < behind ? close + 1 : behind;
    }
    if (next && (strchr("@*#?$!-", next) || isdigit((unsigned char)next) ||
                 rk_shell_name_length(text + at + 1, 1) > 0)) {
        const size_t behind = find_parameter(sh, &p, text, at + 1, end, false);
        add_parameter(sh, &p, quoted, fields);
        return behind;
    }
    rk_shell_add_text(fields, "$", 1, false);
    return at + 1;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The inside of double quotes, in which an operand has quotes of its own, and of here-documents. */
static void expand_quoted(rk_shell *sh, const char *text, size_t at, size_t end,
                          rk_shell_fields *fields)
{
    fields->started = true;
    while (at < end && rk_shell_is_on(sh)) {
        const char c = text[at];
        if (c == '\\' && at + 1 < end && strchr("$`\"\\\n", text[at + 1])) {
            rk_shell_add_text(fields, text + at + 1, text[at + 1] != '\n', true);
            at += 2;
        } else if (c == '$') {
            at = add_dollar(sh, text, at, end, true, fields);
        } else if (c == '`') {
            const size_t behind = rk_shell_backtick_end(text, at + 1, end);
            add_backticks(sh, text, at, behind, true, fields);
            at = behind;
        } else if (c == '"' && fields->operand) {
            at++;
        } else {
            size_t plain = at;
            while (plain < end && !strchr("\\$`\"", text[plain])) {
                plain++;
            }
            plain += plain == at;
            rk_shell_add_text(fields, text + at, plain - at, true);
            at = plain;
        }
    }
}

static size_t expand_double(rk_shell *sh, const char *text, size_t at, size_t end,
                            rk_shell_fields *fields)
{
    const size_t behind = rk_shell_double_end(text, at + 1, end, 0);
    const size_t close = behind > at + 1 && text[behind - 1] == '"' ? behind - 1 : behind;
    const size_t words = fields->count;
    const bool started = fields->started;
    fields->none = false;
    expand_quoted(sh, text, at + 1, close, fields);
    if (fields->none && fields->count == words && fields->word.size == 0 && !started) {
        fields->started = false;
    }
    return behind;
}

static void add_plain(rk_shell *sh, rk_shell_fields *fields, const char *text, size_t length)
{
    if (fields->operand) {
        add_split(sh, fields, rk_shell_keep(sh, text, length), 0);
    } else {
        rk_shell_add_text(fields, text, length, false);
    }
}

void rk_shell_expand(rk_shell *sh, const char *text, size_t at, size_t end, rk_shell_fields *fields)
{
    while (at < end && rk_shell_is_on(sh)) {
        const char c = text[at];
        if (c == '\\') {
            const bool line_end = at + 1 < end && text[at + 1] == '\n';
            rk_shell_add_text(fields, text + at + 1, at + 1 < end && !line_end, true);
            at += 2;
        } else if (c == '\'') {
            const char *close = memchr(text + at + 1, '\'', end - at - 1);
            const size_t behind = close ? (size_t)(close - text) : end;
            rk_shell_add_text(fields, text + at + 1, behind - at - 1, true);
            at = behind + 1;
        } else if (c == '"') {
            at = expand_double(sh, text, at, end, fields);
        } else if (c == '$') {
            at = add_dollar(sh, text, at, end, false, fields);
        } else if (c == '`') {
            const size_t behind = rk_shell_backtick_end(text, at + 1, end);
            add_backticks(sh, text, at, behind, false, fields);
            at = behind;
        } else {
            size_t plain = at;
            while (plain < end && !strchr("\\'\"$`", text[plain])) {
                plain++;
            }
            add_plain(sh, fields, text + at, plain - at);
            at = plain;
        }
    }
}

const char *rk_shell_expand_text(rk_shell *sh, const char *text, size_t at, size_t end,
                                 bool pattern)
{
    rk_shell_fields fields = {.pattern = pattern};
    if (++sh->depth > RK_SHELL_DEPTH_MAX) {
        rk_shell_stop(sh);
    }
    rk_shell_expand(sh, text, at, end, &fields);
    sh->depth--;
    const char *made = rk_shell_keep_bytes(sh, &fields.word);
    rk_shell_clear_fields(&fields);
    return made;
}

const char *rk_shell_expand_here(rk_shell *sh, const char *text, size_t at, size_t end)
{
    rk_shell_fields fields = {0};
    expand_quoted(sh, text, at, end, &fields);
    const char *made = rk_shell_keep_bytes(sh, &fields.word);
    rk_shell_clear_fields(&fields);
    return made;
}
