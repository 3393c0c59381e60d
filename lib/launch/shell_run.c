/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of a shell script: read, and followed where a text decides what they do. */
#include "launch/shell_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- between words --------------------------------------------------------------------------- */

/* Whether the end of the commands of a pattern comes next: ";;", ";;&" or ";&". */
static bool is_case_end(const rk_shell *sh)
{
    return rk_shell_looks_at(sh, ";;") || rk_shell_looks_at(sh, ";&");
}

/* Skips what separates commands, except what ends a pattern of a case. */
static void skip_separators(rk_shell *sh)
{
    for (;;) {
        rk_shell_skip_blanks(sh);
        const char c = rk_shell_peek(sh);
        if (c == '\n') {
            rk_shell_skip_line_end(sh);
        } else if ((c == ';' && !is_case_end(sh)) || c == '&') {
            sh->at++;
        } else {
            return;
        }
    }
}

/* Whether `word` comes next, without quotes. */
static bool is_word(const rk_shell *sh, const char *word)
{
    const size_t length = strlen(word);
    const size_t behind = sh->at + length;
    return rk_shell_looks_at(sh, word) &&
           (behind >= sh->source.size || strchr(" \t\r\n;&|<>()", sh->source.text[behind]));
}

static bool take_word(rk_shell *sh, const char *word)
{
    if (!is_word(sh, word)) {
        return false;
    }
    sh->at += strlen(word);
    return true;
}

static bool is_stop(const rk_shell *sh, const char *const *stops)
{
    for (size_t i = 0; stops && stops[i]; i++) {
        if (is_word(sh, stops[i])) {
            return true;
        }
    }
    return false;
}

/* ---- compound commands ----------------------------------------------------------------------- */

static void run_condition(rk_shell *sh, const char *const *stops)
{
    sh->conditions++;
    rk_shell_run_list(sh, stops);
    sh->conditions--;
}

static void run_part(rk_shell *sh, bool live, const char *const *stops)
{
    assert(sh->skipping >= 0);
    sh->skipping += !live;
    rk_shell_run_list(sh, stops);
    sh->skipping -= !live;
}

static void run_if(rk_shell *sh)
{
    static const char *const then[] = {"then", NULL};
    static const char *const ends[] = {"elif", "else", "fi", NULL};
    static const char *const end[] = {"fi", NULL};
    bool done = false;
    do {
        sh->skipping += done;
        run_condition(sh, then);
        (void)take_word(sh, "then");
        const bool live = sh->status == 0;
        sh->skipping -= done;
        run_part(sh, !done && live, ends);
        done = done || live;
    } while (take_word(sh, "elif"));
    if (take_word(sh, "else")) {
        run_part(sh, !done, end);
    } else if (!done && rk_shell_is_on(sh)) {
        sh->status = 0;
    }
    (void)take_word(sh, "fi");
}

/* Handles break and continue in the body of a loop; false: the loop ends. */
static bool goes_on(rk_shell *sh)
{
    if (sh->flow == FLOW_BREAK || sh->flow == FLOW_CONTINUE) {
        const bool own = --sh->turns <= 0;
        assert(sh->turns >= 0);
        const bool on = sh->flow == FLOW_CONTINUE && own;
        sh->flow = own ? FLOW_ON : sh->flow;
        return on;
    }
    return sh->flow == FLOW_ON;
}

/* The body of a loop, once; it is read without being followed where the loop has ended. */
static bool run_body(rk_shell *sh, size_t body, bool live)
{
    static const char *const ends[] = {"done", "}", NULL};
    assert(body <= sh->source.size);
    sh->at = body;
    sh->here_line = 0;
    sh->loops += live;
    run_part(sh, live, ends);
    sh->loops -= live;
    return live && goes_on(sh);
}

static void run_while(rk_shell *sh, bool until)
{
    static const char *const do_word[] = {"do", NULL};
    const size_t condition = sh->at;
    const bool live = rk_shell_is_on(sh);
    int status = 0; /* of the body */
    bool on = live;
    for (int turns = 0;; turns++) {
        sh->at = condition;
        sh->here_line = 0;
        sh->skipping += !on;
        sh->loops += on;
        run_condition(sh, do_word);
        sh->loops -= on;
        (void)take_word(sh, "do");
        sh->skipping -= !on;
        on = on && goes_on(sh) && (sh->status == 0) != until && turns < RK_SHELL_LOOP_MAX;
        const bool again = run_body(sh, sh->at, on);
        if (!on) {
            break;
        }
        status = sh->status;
        on = again;
    }
    sh->status = live && rk_shell_is_on(sh) ? status : sh->status;
    (void)take_word(sh, "done");
}

/* Reads "((...))"; returns its text, expanded, or `otherwise` where commands are passed over. */
static const char *read_double_parens(rk_shell *sh, const char *otherwise)
{
    const size_t from = sh->at + 2;
    sh->at = rk_shell_paren_end(sh->source.text, sh->at + 1, sh->source.size, 0);
    const size_t end = sh->at > from + 1 ? sh->at - 2 : from;
    return rk_shell_is_on(sh) ? rk_shell_expand_text(sh, sh->source.text, from, end, false)
                              : otherwise;
}

/* for ((a; b; c)) */
static void run_counted(rk_shell *sh)
{
    int64_t value = 0;
    const bool live = rk_shell_is_on(sh);
    const char *all = read_double_parens(sh, ";;");
    const char *second = strchr(all, ';'), *third = second ? strchr(second + 1, ';') : NULL;
    skip_separators(sh);
    (void)(take_word(sh, "do") || take_word(sh, "{"));
    const size_t body = sh->at;
    bool on = live && third;
    const char *test = third ? rk_shell_keep(sh, second + 1, (size_t)(third - second - 1)) : "";
    if (on) {
        sh->status = 0;
        (void)rk_shell_calculate(sh, rk_shell_keep(sh, all, (size_t)(second - all)), &value);
    }
    for (int turns = 0;; turns++) {
        on = on && turns < RK_SHELL_LOOP_MAX && rk_shell_calculate(sh, test, &value) && value != 0;
        const bool again = run_body(sh, body, on);
        if (!on) {
            break;
        }
        on = again;
        if (on) {
            (void)rk_shell_calculate(sh, third + 1, &value);
        }
    }
    (void)(take_word(sh, "done") || take_word(sh, "}"));
}

static void run_for(rk_shell *sh)
{
    rk_shell_fields fields = {.split = true};
    rk_shell_skip_blanks(sh);
    if (rk_shell_looks_at(sh, "((")) {
        run_counted(sh);
        return;
    }
    const size_t from = sh->at;
    sh->at = rk_shell_word_end(sh->source.text, from, sh->source.size);
    const char *name = rk_shell_keep(sh, sh->source.text + from, sh->at - from);
    rk_shell_skip_blanks(sh);
    const bool live = rk_shell_is_on(sh);
    if (take_word(sh, "in")) {
        rk_shell_redirection unused = {0};
        rk_shell_prefix none[1];
        size_t count = RK_SHELL_PREFIXES_MAX;
        rk_shell_add_text(&fields, "in", 2, true);
        rk_shell_end_field(sh, &fields);
        while (rk_shell_read_item(sh, &fields, &unused, none, &count)) {
        }
    }
    const rk_launch_word *values = fields.count > 0 ? fields.items + 1 : sh->arguments;
    const size_t value_count = fields.count > 0 ? fields.count - 1 : sh->argument_count;
    skip_separators(sh);
    (void)take_word(sh, "do");
    const size_t body = sh->at;
    bool on = live && rk_shell_is_on(sh);
    for (size_t i = 0; on && i < value_count && i < RK_SHELL_LOOP_MAX; i++) {
        rk_shell_set(sh, name, values[i].text, values[i].line);
        on = run_body(sh, body, true);
    }
    if (!live || value_count == 0) {
        sh->status = live ? 0 : sh->status;
        (void)run_body(sh, body, false);
    }
    (void)take_word(sh, "done");
    rk_shell_clear_fields(&fields);
}

/* "a|b)" of a case; whether a word matches. */
static bool read_patterns(rk_shell *sh, const char *word, bool live)
{
    bool matches = false;
    skip_separators(sh);
    sh->at += rk_shell_peek(sh) == '(';
    while (sh->at < sh->source.size) {
        rk_shell_skip_blanks(sh);
        const size_t from = sh->at;
        sh->at = rk_shell_word_end(sh->source.text, from, sh->source.size);
        if (live && rk_shell_is_on(sh) && sh->at > from) {
            const char *pattern = rk_shell_expand_text(sh, sh->source.text, from, sh->at, true);
            matches = matches || rk_shell_matches(pattern, word, strlen(word));
        }
        rk_shell_skip_blanks(sh);
        if (rk_shell_peek(sh) != '|') {
            break;
        }
        sh->at++;
    }
    sh->at += rk_shell_peek(sh) == ')';
    return matches;
}

static void run_case(rk_shell *sh)
{
    static const char *const end[] = {"esac", NULL};
    rk_shell_skip_blanks(sh);
    const size_t from = sh->at;
    sh->at = rk_shell_word_end(sh->source.text, from, sh->source.size);
    const char *word =
        rk_shell_is_on(sh) ? rk_shell_expand_text(sh, sh->source.text, from, sh->at, false) : "";
    bool done = !rk_shell_is_on(sh), falls = false, taken = done;
    skip_separators(sh);
    (void)take_word(sh, "in");
    for (;;) {
        skip_separators(sh);
        const size_t before = sh->at;
        if (sh->at >= sh->source.size || take_word(sh, "esac")) {
            sh->status = taken ? sh->status : 0;
            return;
        }
        const bool live = read_patterns(sh, word, !done) || falls;
        run_part(sh, live, end);
        falls = live && rk_shell_looks_at(sh, ";&"); /* into the next, by no pattern */
        done = done || live;
        taken = taken || live;
        if (rk_shell_looks_at(sh, ";;&")) { /* the next patterns are tried, too */
            sh->at += 3;
            done = done && !live;
        } else if (is_case_end(sh)) {
            sh->at += 2;
        }
        sh->at += sh->at == before; /* never stays in place */
    }
}

/* The function of a name, which a later definition replaces; NULL if memory ran out. */
static rk_shell_function *declare_function(rk_shell *sh, const char *name)
{
    rk_shell_function *function = rk_shell_find_function(sh, name);
    if (!function && (function = rk_shell_get(sh, 1, sizeof(*function)))) {
        *function = (rk_shell_function){.next = sh->functions, .name = name};
        sh->functions = function;
    }
    return function;
}

/* "name() body" and "function name body": kept, and passed over. */
static void define_function(rk_shell *sh, size_t from, size_t end)
{
    assert(from <= end && end <= sh->source.size);
    skip_separators(sh);
    if (rk_shell_is_on(sh)) {
        rk_shell_function *function =
            declare_function(sh, rk_shell_keep(sh, sh->source.text + from, end - from));
        if (function) {
            function->source = sh->source;
            function->at = sh->at;
        }
    }
    sh->skipping++;
    rk_shell_run_command(sh);
    sh->skipping--;
}

/* Whether "name ( )", a function, begins here; *end is the end of the name, *behind of all. */
static bool is_function(const rk_shell *sh, size_t *end, size_t *behind)
{
    const char *text = sh->source.text;
    size_t at = rk_shell_word_end(text, sh->at, sh->source.size);
    *end = at;
    while (at < sh->source.size && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    if (*end == sh->at || at >= sh->source.size || text[at] != '(' ||
        memchr(text + sh->at, '=', *end - sh->at)) {
        return false;
    }
    for (at++; at < sh->source.size && (text[at] == ' ' || text[at] == '\t');) {
        at++;
    }
    *behind = at + 1;
    return at < sh->source.size && text[at] == ')';
}

static void run_arithmetic(rk_shell *sh)
{
    int64_t value = 0;
    const char *text = read_double_parens(sh, NULL);
    if (text) {
        sh->status = !(rk_shell_calculate(sh, text, &value) && value != 0);
    }
}

static void run_group(rk_shell *sh, const char *close)
{
    const char *const stops[] = {close, NULL};
    sh->at++;
    rk_shell_run_list(sh, stops);
    skip_separators(sh);
    sh->at += rk_shell_looks_at(sh, close);
}

/* A command that holds others; false: none begins here. */
static bool run_compound(rk_shell *sh)
{
    size_t end = 0, behind = 0;
    if (rk_shell_looks_at(sh, "((")) {
        run_arithmetic(sh);
    } else if (rk_shell_peek(sh) == '(') {
        const char *folder = rk_shell_value(sh, "PWD");
        const rk_shell_flow before = sh->flow;
        run_group(sh, ")");
        sh->flow = sh->stopped ? sh->flow : before; /* exit, return and break leave it alone */
        if (folder) {
            rk_shell_set(sh, "PWD", folder, 0);
        }
    } else if (is_word(sh, "{")) {
        run_group(sh, "}");
    } else if (take_word(sh, "[[")) {
        const bool value = rk_shell_test_expression(sh);
        sh->status = rk_shell_is_on(sh) ? !value : sh->status;
    } else if (take_word(sh, "if")) {
        run_if(sh);
    } else if (is_word(sh, "while") || is_word(sh, "until")) {
        const bool until = is_word(sh, "until");
        sh->at += strlen("while");
        run_while(sh, until);
    } else if (take_word(sh, "for") || take_word(sh, "select")) {
        run_for(sh);
    } else if (take_word(sh, "case")) {
        run_case(sh);
    } else if (take_word(sh, "function")) {
        rk_shell_skip_blanks(sh);
        const size_t from = sh->at;
        const bool brackets = is_function(sh, &end, &behind);
        sh->at = brackets ? behind : end;
        define_function(sh, from, end);
    } else if (is_function(sh, &end, &behind)) {
        const size_t from = sh->at;
        sh->at = behind;
        define_function(sh, from, end);
    } else {
        return false;
    }
    return true;
}

void rk_shell_run_command(rk_shell *sh)
{
    assert(sh->depth >= 0);
    const bool long_run = rk_shell_is_on(sh) && ++sh->steps > RK_SHELL_STEPS_MAX;
    if (++sh->depth > RK_SHELL_DEPTH_MAX || long_run || sh->stopped) {
        rk_shell_stop(sh);
        sh->at = sh->source.size;
    } else if (run_compound(sh)) {
        rk_shell_redirection unused = {0};
        rk_shell_skip_blanks(sh);
        while (rk_shell_read_redirection(sh, &unused)) {
            rk_shell_skip_blanks(sh);
        }
    } else {
        rk_shell_run_simple(sh);
    }
    sh->depth--;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* "a | b | c": each command reads what the one before it writes. */
static void run_pipeline(rk_shell *sh)
{
    bool negated = false;
    rk_shell_skip_blanks(sh);
    while (take_word(sh, "!")) {
        negated = !negated;
        rk_shell_skip_blanks(sh);
    }
    rk_bytes *const out = sh->out;
    const char *in = NULL;
    bool more = true, piped = false;
    while (more) {
        rk_bytes made = {0};
        const bool unknown = sh->unknown;
        sh->out = &made;
        sh->unknown = false;
        rk_shell_run_command(sh);
        rk_shell_skip_blanks(sh);
        more = rk_shell_peek(sh) == '|' && !rk_shell_looks_at(sh, "||");
        sh->at += more;
        sh->at += more && rk_shell_peek(sh) == '&';
        sh->out = out;
        sh->out_of_memory |= made.failed;
        if (more) { /* a program that reads what is not known writes what is not known */
            in = piped ? in : sh->in;
            piped = true;
            sh->in = sh->unknown ? NULL : rk_shell_keep_bytes(sh, &made);
            sh->unknown = unknown;
            while (rk_shell_skip_blanks(sh), rk_shell_peek(sh) == '\n') {
                rk_shell_skip_line_end(sh);
            }
        } else {
            sh->unknown |= unknown;
            if (out && made.size > 0 && out->size + made.size <= RK_SHELL_VALUE_MAX) {
                rk_bytes_add(out, made.data, made.size);
            }
        }
        rk_bytes_clear(&made);
    }
    sh->in = piped ? in : sh->in;
    sh->status = rk_shell_is_on(sh) && negated ? !sh->status : sh->status;
}

static void run_and_or(rk_shell *sh)
{
    run_pipeline(sh);
    for (;;) {
        rk_shell_skip_blanks(sh);
        const bool both = rk_shell_looks_at(sh, "&&");
        if (!both && !rk_shell_looks_at(sh, "||")) {
            return;
        }
        sh->at += 2;
        const bool passed = rk_shell_is_on(sh) && (sh->status == 0) != both;
        while (rk_shell_skip_blanks(sh), rk_shell_peek(sh) == '\n') {
            rk_shell_skip_line_end(sh);
        }
        sh->skipping += passed;
        run_pipeline(sh);
        sh->skipping -= passed;
    }
}

void rk_shell_run_list(rk_shell *sh, const char *const *stops)
{
    while (sh->at < sh->source.size) {
        skip_separators(sh);
        if (sh->at >= sh->source.size || is_stop(sh, stops) ||
            (stops && (rk_shell_peek(sh) == ')' || is_case_end(sh)))) {
            return;
        }
        const size_t before = sh->at;
        run_and_or(sh);
        sh->at += sh->at == before; /* a stray word or bracket */
    }
}

/* ---- texts and files ------------------------------------------------------------------------- */

static void run_source(rk_shell *sh, const rk_shell_source *source)
{
    const rk_shell_source before = sh->source;
    const size_t at = sh->at, here_line = sh->here_line, here_behind = sh->here_behind;
    if (++sh->depth <= RK_SHELL_DEPTH_MAX) {
        sh->source = *source;
        sh->at = 0;
        sh->here_line = 0;
        rk_shell_run_list(sh, NULL);
    }
    sh->depth--;
    sh->source = before;
    sh->at = at;
    sh->here_line = here_line;
    sh->here_behind = here_behind;
}

void rk_shell_run_text(rk_shell *sh, const char *text, size_t size, int line)
{
    const rk_shell_source source = {.text = text, .size = size, .line = line};
    run_source(sh, &source);
}

static char *read_small(const char *path, size_t *size)
{
    enum { SIZE_MOST = 1 << 20 };
    struct stat status;
    FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
    char *text = file ? malloc(SIZE_MOST + 1) : NULL;
    if (text) {
        *size = fread(text, 1, SIZE_MOST, file);
        text[*size] = '\0';
        *size = strlen(text);
    }
    if (file) {
        (void)fclose(file);
    }
    return text;
}

const char *rk_shell_open_file(rk_shell *sh, const char *path)
{
    const char *written = rk_shell_file_text(sh, path), *kept = NULL;
    const char *base = rk_launch_base_name(path);
    const size_t folder = sh->folder ? strlen(sh->folder) : 0;
    const bool whole = path[0] == '/' || (sh->folder && strncmp(path, sh->folder, folder) == 0 &&
                                          path[folder] == '/');
    if (written || !sh->folder) {
        return written;
    }
    const bool own = strcmp(base, rk_launch_base_name(sh->name)) == 0; /* of another folder */
    for (int next = 0; next < 2 - own && !kept; next++) { /* as named, or next to the script */
        char place[4096];
        size_t size = 0;
        const int length = whole && !next ? snprintf(place, sizeof(place), "%s", path)
                                          : snprintf(place, sizeof(place), "%s/%s", sh->folder,
                                                     next ? base : path);
        char *text = length > 0 && (size_t)length < sizeof(place) ? read_small(place, &size) : NULL;
        kept = text ? rk_shell_keep(sh, text, size) : NULL;
        free(text);
    }
    return kept;
}

bool rk_shell_run_file(rk_shell *sh, const char *path, const rk_launch_word *arguments,
                       size_t count)
{
    const char *text = rk_shell_open_file(sh, path);
    if (!text) {
        return false;
    }
    const rk_launch_word *before = sh->arguments;
    const size_t before_count = sh->argument_count;
    sh->arguments = arguments;
    sh->argument_count = count;
    rk_shell_run_text(sh, text, strlen(text), rk_shell_line(sh, sh->at));
    sh->flow = sh->flow == FLOW_RETURN ? FLOW_ON : sh->flow;
    if (arguments != before) { /* a sourced file without words shifts those of the script */
        sh->arguments = before;
        sh->argument_count = before_count;
    }
    return true;
}
