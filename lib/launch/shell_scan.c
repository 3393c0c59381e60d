/* SPDX-License-Identifier: Apache-2.0 */
/* Where words, quotes and substitutions of a shell script end. */
#include "launch/shell_parts.h"

#include <assert.h>
#include <string.h>

static size_t single_end(const char *text, size_t at, size_t end)
{
    assert(at <= end);
    const char *found = at < end ? memchr(text + at, '\'', end - at) : NULL;
    return found ? (size_t)(found - text) + 1 : end;
}

/* $'...', in which a backslash keeps a quote */
static size_t ansi_end(const char *text, size_t at, size_t end)
{
    while (at < end && text[at] != '\'') {
        at += text[at] == '\\' && at + 1 < end ? 2 : 1;
    }
    return at < end ? at + 1 : end;
}

size_t rk_shell_backtick_end(const char *text, size_t at, size_t end)
{
    while (at < end && text[at] != '`') {
        at += text[at] == '\\' && at + 1 < end ? 2 : 1;
    }
    return at < end ? at + 1 : end;
}

/* Behind "$x", "$(...)", "${...}": at most the part that needs an end of its own. */
static size_t dollar_end(const char *text, size_t at, size_t end, bool in_double, int depth)
{
    const char next = at + 1 < end ? text[at + 1] : '\0';
    if (next == '(') {
        return rk_shell_paren_end(text, at + 2, end, depth + 1);
    }
    if (next == '{') {
        return rk_shell_brace_end(text, at + 2, end, in_double, depth + 1);
    }
    return next == '\'' && !in_double ? ansi_end(text, at + 2, end) : at + 1;
}

size_t rk_shell_double_end(const char *text, size_t at, size_t end, int depth)
{
    if (depth > RK_SHELL_DEPTH_MAX) {
        return end;
    }
    while (at < end && text[at] != '"') {
        at = text[at] == '\\'  ? at + 2
             : text[at] == '$' ? dollar_end(text, at, end, true, depth)
             : text[at] == '`' ? rk_shell_backtick_end(text, at + 1, end)
                               : at + 1;
    }
    return at < end ? at + 1 : end;
}

/* Behind one character of a text, or all of what begins with it. */
static size_t piece_end(const char *text, size_t at, size_t end, bool in_double, int depth)
{
    assert(at < end);
    switch (text[at]) {
    case '\\':
        return at + 2 < end ? at + 2 : end;
    case '\'':
        return in_double ? at + 1 : single_end(text, at + 1, end);
    case '"':
        return rk_shell_double_end(text, at + 1, end, depth + 1);
    case '`':
        return rk_shell_backtick_end(text, at + 1, end);
    case '$':
        return dollar_end(text, at, end, in_double, depth);
    default:
        return at + 1;
    }
}

size_t rk_shell_piece_end(const char *text, size_t at, size_t end)
{
    const size_t behind = piece_end(text, at, end, false, 0);
    return behind < end ? behind : end;
}

size_t rk_shell_paren_end(const char *text, size_t at, size_t end, int depth)
{
    assert(depth >= 0);
    int open = 1;
    if (depth > RK_SHELL_DEPTH_MAX) {
        return end;
    }
    while (at < end) {
        open += (text[at] == '(') - (text[at] == ')');
        if (open == 0) {
            return at + 1;
        }
        at = piece_end(text, at, end, false, depth);
    }
    return end;
}

size_t rk_shell_brace_end(const char *text, size_t at, size_t end, bool in_double, int depth)
{
    if (depth > RK_SHELL_DEPTH_MAX) {
        return end;
    }
    while (at < end && text[at] != '}') {
        at = piece_end(text, at, end, in_double, depth);
    }
    return at < end ? at + 1 : end;
}

size_t rk_shell_word_end(const char *text, size_t at, size_t end)
{
    assert(at <= end);
    while (at < end && !strchr(" \t\r\n;&|<>()", text[at])) {
        at = piece_end(text, at, end, false, 0);
    }
    return at < end ? at : end;
}
