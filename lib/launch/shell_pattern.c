/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns and braces of the shell. */
#include "launch/shell_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- patterns -------------------------------------------------------------------------------- */

/* The length of "[:digit:]" and the like; *found becomes true if the character is one. */
static size_t class_length(const char *at, char c, bool *found)
{
    static const struct {
        const char *name;
        int (*has)(int c);
    } classes[] = {{"[:digit:]", isdigit}, {"[:space:]", isspace}, {"[:alpha:]", isalpha},
                   {"[:alnum:]", isalnum}, {"[:upper:]", isupper}, {"[:lower:]", islower}};
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (strncmp(at, classes[i].name, strlen(classes[i].name)) == 0) {
            *found |= classes[i].has((unsigned char)c) != 0;
            return strlen(classes[i].name);
        }
    }
    return 0;
}

/* Whether a character is in the set "[...]" that begins at *pattern, which moves behind it. */
static bool is_in_set(const char **pattern, char c)
{
    const char *at = *pattern + 1;
    const bool negated = *at == '!' || *at == '^';
    bool found = false;
    at += negated;
    for (const char *first = at; *at && (*at != ']' || at == first); at++) {
        const size_t class = class_length(at, c, &found);
        if (class > 0) {
            at += class - 1;
            continue;
        }
        if (at[1] == '-' && at[2] && at[2] != ']') {
            found |= c >= at[0] && c <= at[2];
            at += 2;
        } else {
            found |= c == *at;
        }
    }
    *pattern = *at ? at + 1 : at;
    return found != negated;
}

bool rk_shell_matches(const char *pattern, const char *text, size_t length)
{
    const char *star = NULL;
    size_t at = 0, behind_star = 0;
    for (;;) {
        const char *next = pattern;
        bool same = false;
        if (*pattern == '*') {
            star = ++pattern;
            behind_star = at;
            continue;
        }
        if (at < length && *pattern) {
            if (*pattern == '[') {
                same = is_in_set(&next, text[at]);
            } else {
                next += *pattern == '\\' && pattern[1];
                same = (*pattern == '?') || *next == text[at];
                next++;
            }
        }
        if (same) {
            pattern = next;
            at++;
        } else if (at == length && *pattern == '\0') {
            return true;
        } else if (star && behind_star < length) {
            pattern = star;
            at = ++behind_star;
        } else {
            return false;
        }
    }
}

/* ---- braces ---------------------------------------------------------------------------------- */

/* "1..8" as numbers separated by blanks; NULL: it is no range, or too long. */
static const char *range_of(rk_shell *sh, const char *inside)
{
    int64_t from = 0, to = 0;
    const char *dots = strstr(inside, "..");
    rk_bytes made = {0};
    if (!dots ||
        !rk_shell_calculate(sh, rk_shell_keep(sh, inside, (size_t)(dots - inside)), &from) ||
        !rk_shell_calculate(sh, dots + 2, &to)) {
        return NULL;
    }
    const uint64_t first = (uint64_t)from, last = (uint64_t)to;
    if ((from <= to ? last - first : first - last) > RK_SHELL_LOOP_MAX) {
        return NULL;
    }
    const int64_t step = from <= to ? 1 : -1;
    for (int64_t i = from;; i += step) {
        char number[32];
        const int length = snprintf(number, sizeof(number), "%" PRId64 " ", i);
        rk_bytes_add(&made, number, (size_t)length);
        if (i == to) {
            break;
        }
    }
    const char *kept = rk_shell_keep_bytes(sh, &made);
    rk_bytes_clear(&made);
    return kept;
}

const char *rk_shell_braces(rk_shell *sh, const char *text, size_t at, size_t end)
{
    size_t open = at, close;
    while (open < end && text[open] != '{') {
        if (strchr("$\"'`\\", text[open])) {
            return NULL;
        }
        open++;
    }
    for (close = open; close < end && text[close] != '}'; close++) {
        if (strchr("$\"'`\\", text[close]) || (close > open && text[close] == '{')) {
            return NULL;
        }
    }
    if (close >= end) {
        return NULL;
    }
    const char *inside = rk_shell_keep(sh, text + open + 1, close - open - 1);
    const char *list = strchr(inside, ',') ? inside : range_of(sh, inside);
    rk_bytes made = {0};
    while (list && *list) {
        const size_t length = strcspn(list, ", ");
        rk_bytes_add(&made, text + at, open - at);
        rk_bytes_add(&made, list, length);
        rk_bytes_add(&made, text + close + 1, end - close - 1);
        rk_bytes_add(&made, " ", 1);
        list += length + (list[length] != '\0');
    }
    const char *kept = list ? rk_shell_keep_bytes(sh, &made) : NULL;
    rk_bytes_clear(&made);
    return kept;
}
