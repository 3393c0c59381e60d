/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of the shell: [ ... ] and [[ ... ]]. */
#include "launch/shell_parts.h"

#include <ctype.h>
#include <string.h>

/* ---- one condition --------------------------------------------------------------------------- */

/* -z, -n and -v; the only files that exist are those that the script writes. */
static bool test_one(const rk_shell *sh, const char *operator, const char * value)
{
    switch (operator[1]) {
    case 'z':
        return value[0] == '\0';
    case 'n':
        return value[0] != '\0';
    case 'v':
        return rk_shell_value(sh, value) != NULL;
    case 'f':
    case 'e':
    case 's':
        return rk_shell_file_text(sh, value) != NULL;
    default:
        return false;
    }
}

static bool is_unary(const char *word)
{
    return word[0] == '-' && word[1] && !word[2] && strchr("znvfedsrwxhLtpSbcgkuNO", word[1]);
}

/* One piece of a regular expression: a character, a set or ".". */
static const char *behind_piece(const char *pattern)
{
    if (*pattern == '[') {
        const char *at = pattern + 1 + (pattern[1] == '^');
        at += *at == ']';
        while (*at && *at != ']') {
            const char *class = strncmp(at, "[:", 2) == 0 ? strstr(at, ":]") : NULL;
            at = class ? class + 2 : at + 1;
        }
        return *at ? at + 1 : at;
    }
    return pattern + (*pattern == '\\' && pattern[1] ? 2 : 1);
}

static bool piece_matches(rk_shell *sh, const char *pattern, const char *end, char c)
{
    if (*pattern == '.') {
        return c != '\0';
    }
    const char *set = rk_shell_keep(sh, pattern, (size_t)(end - pattern));
    return c && rk_shell_matches(set, &c, 1);
}

/* A regular expression without groups at the start of a text: the pieces with *, + and ?. */
static bool regex_here(rk_shell *sh, const char *pattern, const char *text, int depth)
{
    if (*pattern == '\0' || depth > RK_SHELL_DEPTH_MAX || ++sh->steps > RK_SHELL_STEPS_MAX) {
        return *pattern == '\0';
    }
    if (pattern[0] == '$' && pattern[1] == '\0') {
        return *text == '\0';
    }
    const char *end = behind_piece(pattern);
    const char repeat = *end && strchr("*+?", *end) ? *end : '\0';
    const char *rest = end + (repeat != '\0');
    size_t most = 0;
    const size_t limit = repeat == '*' || repeat == '+' ? 256 : 1;
    while (most < limit && piece_matches(sh, pattern, end, text[most])) {
        most++;
    }
    const size_t least = repeat == '*' || repeat == '?' ? 0 : 1;
    for (size_t i = most + 1; i-- > least;) {
        if (regex_here(sh, rest, text + i, depth + 1)) {
            return true;
        }
    }
    return false;
}

static bool regex_matches(rk_shell *sh, const char *pattern, const char *text)
{
    if (strpbrk(pattern, "(|{") || strlen(pattern) > 64 || strlen(text) > 256) {
        return false;
    }
    if (*pattern == '^') {
        return regex_here(sh, pattern + 1, text, 0);
    }
    for (const char *at = text;; at++) {
        if (regex_here(sh, pattern, at, 0)) {
            return true;
        }
        if (*at == '\0') {
            return false;
        }
    }
}

/* Whether a word is an operator between two values. */
static bool is_binary(const char *word)
{
    static const char *const words[] = {"=",   "==",  "!=",  "=~",  "<",   ">",
                                        "-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* `patterns`: the right side of == and != is a pattern, as in [[. */
static bool test_two(rk_shell *sh, const char *left, const char *operator, const char * right,
                     bool patterns)
{
    int64_t a = 0, b = 0;
    if (operator[0] == '-') {
        if (!rk_shell_calculate(sh, left, &a) || !rk_shell_calculate(sh, right, &b)) {
            return false;
        }
        switch (operator[1]) {
        case 'e':
            return a == b;
        case 'n':
            return a != b;
        case 'l':
            return operator[2] == 't' ? a < b : a <= b;
        default:
            return operator[2] == 't' ? a > b : a >= b;
        }
    }
    if (operator[0] == '<' || operator[0] == '>') {
        return operator[0] == '<' ? strcmp(left, right) < 0 : strcmp(left, right) > 0;
    }
    if (operator[1] == '~') {
        return regex_matches(sh, right, left);
    }
    const bool same =
        patterns ? rk_shell_matches(right, left, strlen(left)) : strcmp(left, right) == 0;
    return same != (operator[0] == '!');
}

/* ---- [ ... ] --------------------------------------------------------------------------------- */

typedef struct test_words {
    rk_shell *sh;
    const rk_launch_word *words;
    size_t at, count;
    int depth;
} test_words;

static const char *word_at(const test_words *t, size_t ahead)
{
    return t->at + ahead < t->count ? t->words[t->at + ahead].text : "";
}

static bool test_or(test_words *t);

static bool test_primary(test_words *t)
{
    const size_t left = t->count - t->at;
    if (left == 0 || ++t->depth > RK_SHELL_DEPTH_MAX) {
        t->at = t->count;
        return false;
    }
    if (left >= 3 && is_binary(word_at(t, 1))) {
        t->at += 3;
        return test_two(t->sh, t->words[t->at - 3].text, t->words[t->at - 2].text,
                        t->words[t->at - 1].text, false);
    }
    if (strcmp(word_at(t, 0), "!") == 0 && left > 1) {
        t->at++;
        return !test_primary(t);
    }
    if (strcmp(word_at(t, 0), "(") == 0 && left > 1) {
        t->at++;
        const bool value = test_or(t);
        t->at += strcmp(word_at(t, 0), ")") == 0;
        return value;
    }
    if (left >= 2 && is_unary(word_at(t, 0))) {
        t->at += 2;
        return test_one(t->sh, t->words[t->at - 2].text, t->words[t->at - 1].text);
    }
    t->at++;
    return t->words[t->at - 1].text[0] != '\0';
}

static bool test_and(test_words *t)
{
    bool value = test_primary(t);
    while (strcmp(word_at(t, 0), "-a") == 0) {
        t->at++;
        const bool right = test_primary(t);
        value = value && right;
    }
    return value;
}

static bool test_or(test_words *t)
{
    bool value = test_and(t);
    while (strcmp(word_at(t, 0), "-o") == 0) {
        t->at++;
        const bool right = test_and(t);
        value = value || right;
    }
    return value;
}

bool rk_shell_test(rk_shell *sh, const rk_launch_word *words, size_t count)
{
    test_words t = {.sh = sh, .words = words, .count = count};
    return count > 0 && test_or(&t);
}

/* ---- [[ ... ]] ------------------------------------------------------------------------------- */

static bool expression_or(rk_shell *sh, bool live);

static void skip_to_word(rk_shell *sh)
{
    const rk_shell_source *source = &sh->source;
    while (sh->at < source->size) {
        if (strchr(" \t\r\n", source->text[sh->at])) {
            sh->at++;
        } else if (source->text[sh->at] == '\\' && sh->at + 1 < source->size &&
                   source->text[sh->at + 1] == '\n') {
            sh->at += 2;
        } else {
            return;
        }
    }
}

static bool take(rk_shell *sh, const char *token)
{
    skip_to_word(sh);
    if (!rk_shell_looks_at(sh, token)) {
        return false;
    }
    sh->at += strlen(token);
    return true;
}

/* The next word, expanded; "<" and ">" are words here, and a regular expression may hold "(". */
static const char *next_word(rk_shell *sh, bool live, bool pattern, bool regex)
{
    const char *text = sh->source.text;
    skip_to_word(sh);
    const size_t from = sh->at;
    if (from < sh->source.size && strchr("<>", text[from])) {
        sh->at++;
        return text[from] == '<' ? "<" : ">";
    }
    if (regex) {
        while (sh->at < sh->source.size && !strchr(" \t\n", text[sh->at])) {
            sh->at++;
        }
    } else {
        sh->at = rk_shell_word_end(text, from, sh->source.size);
    }
    return live && rk_shell_is_on(sh) ? rk_shell_expand_text(sh, text, from, sh->at, pattern) : "";
}

/* Whether the condition ends here. */
static bool is_end(rk_shell *sh)
{
    skip_to_word(sh);
    const char next = rk_shell_peek(sh);
    return sh->at >= sh->source.size || next == ')' || next == ';' || rk_shell_looks_at(sh, "]]") ||
           rk_shell_looks_at(sh, "&&") || rk_shell_looks_at(sh, "||");
}

static bool expression_primary(rk_shell *sh, bool live)
{
    bool value = false;
    if (is_end(sh)) {
        return false;
    }
    if (++sh->depth > RK_SHELL_DEPTH_MAX) {
        sh->depth--;
        sh->at = sh->source.size;
        return false;
    }
    const size_t from = sh->at;
    if (take(sh, "(")) {
        value = expression_or(sh, live);
        (void)take(sh, ")");
    } else if (sh->source.text[from] == '!' && from + 1 < sh->source.size &&
               strchr(" \t", sh->source.text[from + 1])) {
        sh->at++;
        value = !expression_primary(sh, live);
    } else {
        const char *left = next_word(sh, live, false, false);
        const size_t raw = sh->at - from;
        const bool unary = raw == 2 && sh->source.text[from] == '-';
        if (is_end(sh)) {
            value = left[0] != '\0';
        } else if (unary) {
            const char *operand = next_word(sh, live, false, false);
            value = live && is_unary(left) && test_one(sh, left, operand);
        } else {
            const char *operator= next_word(sh, true, false, false);
            const bool regex = strcmp(operator, "=~") == 0;
            const bool pattern = operator[0] == '=' || operator[0] == '!';
            const char *right = next_word(sh, live, pattern, regex);
            value = live && is_binary(operator) && test_two(sh, left, operator, right, true);
        }
    }
    sh->depth--;
    sh->at += sh->at == from; /* never stays in place */
    return value;
}

static bool expression_and(rk_shell *sh, bool live)
{
    bool value = expression_primary(sh, live);
    while (take(sh, "&&")) {
        const bool right = expression_primary(sh, live && value);
        value = value && right;
    }
    return value;
}

static bool expression_or(rk_shell *sh, bool live)
{
    bool value = expression_and(sh, live);
    while (take(sh, "||")) {
        const bool right = expression_and(sh, live && !value);
        value = value || right;
    }
    return value;
}

bool rk_shell_test_expression(rk_shell *sh)
{
    const bool value = expression_or(sh, rk_shell_is_on(sh));
    while (!take(sh, "]]") && sh->at < sh->source.size && sh->source.text[sh->at] != '\n') {
        sh->at++;
    }
    return value;
}
