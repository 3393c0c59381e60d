/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns and braces of the shell. */
#include "launch/shell_parts.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns -------------------------------------------------------------------------------- */

/* The length of "[:digit:]" and the like; *found becomes true if the character is one. */
static size_t class_length(const char *at, char c, bool *found)
{
    static const struct {
        const char *name;
        int (*has)(int c);
    } classes[] = {{"[:digit:]", isdigit}, {"[:space:]", isspace}, {"[:alpha:]", isalpha},
                   {"[:alnum:]", isalnum}, {"[:upper:]", isupper}, {"[:lower:]", islower},
                   {"[:punct:]", ispunct}};
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
    if (!*at) { /* no set: the character itself */
        ++*pattern;
        return c == '[';
    }
    *pattern = at + 1;
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

/* ---- where a pattern matches ------------------------------------------------------------------
 */

#define NOWHERE SIZE_MAX

/* Places in a pattern that a text has reached: of each, where the match began; NOWHERE: none. */
typedef struct places {
    size_t *from;
    bool longest; /* of two beginnings the first counts */
} places;

static void reach(const places *p, size_t place, size_t from)
{
    assert(from < NOWHERE);
    const size_t old = p->from[place];
    if (old == NOWHERE || (p->longest ? from < old : from > old)) {
        p->from[place] = from;
    }
}

/* A star may match nothing. */
static void pass_stars(const places *p, const char *pattern)
{
    for (size_t i = 0; pattern[i]; i++) {
        if (pattern[i] == '*' && p->from[i] != NOWHERE) {
            reach(p, i + 1, p->from[i]);
        }
    }
}

/* The places after one more character. */
static void step(const places *now, const places *next, const char *pattern, size_t length, char c)
{
    for (size_t i = 0; i <= length; i++) {
        next->from[i] = NOWHERE;
    }
    for (size_t i = 0; i < length; i++) {
        const char *behind = pattern + i + 1;
        bool same = pattern[i] == '*' || pattern[i] == '?' || pattern[i] == c;
        if (now->from[i] == NOWHERE) {
            continue;
        }
        if (pattern[i] == '[') {
            behind = pattern + i;
            same = is_in_set(&behind, c);
        } else if (pattern[i] == '\\' && pattern[i + 1]) {
            same = pattern[i + 1] == c;
            behind++;
        }
        if (same) {
            reach(next, pattern[i] == '*' ? i : (size_t)(behind - pattern), now->from[i]);
        }
    }
    pass_stars(next, pattern);
}

bool rk_shell_find_match(rk_shell *sh, const char *pattern, const char *text, bool start,
                         bool longest, size_t *place)
{
    const size_t length = strlen(pattern), size = strlen(text);
    size_t *room = rk_shell_get(sh, 2 * (length + 1), sizeof(*room));
    bool found = false;
    if (!room || size > (RK_SHELL_MATCH_MAX - sh->matched) / (length + 1)) {
        rk_shell_stop(sh);
        return false;
    }
    sh->matched += size * (length + 1);
    places now = {room, longest}, next = {room + length + 1, longest};
    for (size_t i = 0; i <= length; i++) {
        now.from[i] = NOWHERE;
    }
    for (size_t at = 0; at <= size && !(found && start && !longest); at++) {
        if (at == 0 || !start) {
            reach(&now, 0, at);
            pass_stars(&now, pattern);
        }
        if (now.from[length] != NOWHERE && (start || at == size)) {
            *place = start ? at : now.from[length];
            found = true;
        }
        step(&now, &next, pattern, length, text[at]);
        const places before = now;
        now = next;
        next = before;
    }
    return found;
}

/* ---- braces ---------------------------------------------------------------------------------- */

/* An end of a range, a number or a letter, of `length` bytes; false: it is neither. */
static bool end_of_range(const char *text, size_t length, bool *letter, int64_t *value)
{
    char *end = NULL;
    *letter = length == 1 && isalpha((unsigned char)text[0]);
    *value = *letter ? text[0] : strtoll(text, &end, 10);
    return *letter || (length > 0 && !isspace((unsigned char)text[0]) && end == text + length);
}

/* Whether "08" or "-08" is to have as many digits in the whole range. */
static bool is_padded(const char *text)
{
    text += *text == '-';
    return text[0] == '0' && isdigit((unsigned char)text[1]);
}

/* "1..8", "01..08", "a..c" or "1..8..2" as words separated by blanks; NULL: no range, or too long.
 */
static const char *range_of(rk_shell *sh, const char *inside)
{
    int64_t from = 0, to = 0, step = 1;
    bool letter = false, letters = false, stepped = false;
    const char *dots = strstr(inside, ".."), *more = dots ? strstr(dots + 2, "..") : NULL;
    const char *end = more ? more : inside + strlen(inside);
    rk_bytes made = {0};
    if (!dots || !end_of_range(inside, (size_t)(dots - inside), &letter, &from) ||
        !end_of_range(dots + 2, (size_t)(end - dots - 2), &letters, &to) || letter != letters ||
        (more && (!end_of_range(more + 2, strlen(more + 2), &stepped, &step) || stepped ||
                  step == INT64_MIN))) {
        return NULL;
    }
    const int64_t size = dots - inside, other = end - dots - 2;
    const int width =
        is_padded(inside) || is_padded(dots + 2) ? (int)(size > other ? size : other) : 0;
    const uint64_t first = (uint64_t)from, last = (uint64_t)to;
    const uint64_t far = from <= to ? last - first : first - last;
    if (far > RK_SHELL_LOOP_MAX || width > 20) {
        return NULL;
    }
    const uint64_t by = step == 0 ? 1 : (uint64_t)(step < 0 ? -step : step);
    for (uint64_t gone = 0; gone <= far; gone += by) {
        char number[32];
        const int64_t value = from <= to ? from + (int64_t)gone : from - (int64_t)gone;
        const int length = letter
                               ? snprintf(number, sizeof(number), "%c ", (int)value)
                               : snprintf(number, sizeof(number), "%0*" PRId64 " ", width, value);
        rk_bytes_add(&made, number, (size_t)length);
        if (by > far) {
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
        open = rk_shell_piece_end(text, open, end);
    }
    for (close = open; close < end && text[close] != '}'; close++) {
        if (strchr("$\"'`\\", text[close]) || (close > open && text[close] == '{')) {
            return NULL;
        }
    }
    if (close >= end || memchr(text + at, '\n', end - at)) {
        return NULL;
    }
    if (++sh->depth > RK_SHELL_DEPTH_MAX) {
        rk_shell_stop(sh);
        sh->depth--;
        return NULL;
    }
    const char *inside = rk_shell_keep(sh, text + open + 1, close - open - 1);
    const char *list = strchr(inside, ',') ? inside : range_of(sh, inside);
    const char *ends = list ? rk_shell_braces(sh, text, close + 1, end) : NULL;
    ends = ends ? ends : rk_shell_keep(sh, text + close + 1, end - close - 1);
    rk_bytes made = {0};
    sh->depth--;
    while (list && *list && made.size <= RK_SHELL_VALUE_MAX) {
        const size_t length = strcspn(list, ", ");
        const char *behind = ends;
        do { /* an item with each end */
            const size_t size = strcspn(behind, "\n");
            rk_bytes_add(&made, text + at, open - at);
            rk_bytes_add(&made, list, length);
            rk_bytes_add(&made, behind, size);
            rk_bytes_add(&made, "\n", 1);
            behind += size + (behind[size] != '\0');
        } while (*behind && made.size <= RK_SHELL_VALUE_MAX);
        list += length + (list[length] != '\0');
    }
    const bool whole = list && made.size <= RK_SHELL_VALUE_MAX;
    const char *kept = whole ? rk_shell_keep_bytes(sh, &made) : NULL;
    rk_bytes_clear(&made);
    return kept;
}
