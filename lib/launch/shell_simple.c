/* SPDX-License-Identifier: Apache-2.0 */
/* Simple commands of a shell script: assignments, words, redirections. */
#include "base/text.h"
#include "launch/launch_parts.h"
#include "launch/shell_parts.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* ---- between words --------------------------------------------------------------------------- */

char rk_shell_peek(const rk_shell *sh)
{
    return sh->at < sh->source.size ? sh->source.text[sh->at] : '\0';
}

bool rk_shell_looks_at(const rk_shell *sh, const char *token)
{
    const size_t length = strlen(token);
    return sh->at <= sh->source.size && sh->source.size - sh->at >= length &&
           memcmp(sh->source.text + sh->at, token, length) == 0;
}

void rk_shell_skip_blanks(rk_shell *sh)
{
    for (;;) {
        const char c = rk_shell_peek(sh);
        if (c == ' ' || c == '\t' || c == '\r') {
            sh->at++;
        } else if (c == '\\' &&
                   (rk_shell_looks_at(sh, "\\\n") || rk_shell_looks_at(sh, "\\\r\n"))) {
            sh->at += rk_shell_looks_at(sh, "\\\n") ? 2 : 3;
        } else if (c == '#') {
            while (sh->at < sh->source.size && rk_shell_peek(sh) != '\n') {
                sh->at++;
            }
        } else {
            return;
        }
    }
}

void rk_shell_skip_line_end(rk_shell *sh)
{
    if (sh->here_line > 0 && sh->at == sh->here_line) {
        sh->at = sh->here_behind;
        sh->here_line = 0;
    } else {
        sh->at++;
    }
}

/* ---- assignments ----------------------------------------------------------------------------- */

/* The place behind the bracket that closes the one at text[at]; `size`: none does. */
static size_t subscript_end(const char *text, size_t at, size_t size)
{
    while (at < size && text[at] != ']') {
        at = rk_shell_piece_end(text, at, size);
    }
    return at < size ? at + 1 : size;
}

/* "NAME=", "NAME+=", "NAME[key]=": the length of the name, and where the value begins; 0: none. */
static size_t assignment_of(const char *text, size_t size, size_t *value, bool *appends)
{
    const size_t name = rk_shell_name_length(text, size);
    size_t at = name;
    if (name > 0 && at < size && text[at] == '[') {
        at = subscript_end(text, at, size);
    }
    *appends = at + 1 < size && text[at] == '+' && text[at + 1] == '=';
    at += *appends;
    *value = at + 1;
    return name > 0 && at < size && text[at] == '=' ? name : 0;
}

/* The end of "NAME[key]" or "[key]" before "=", whose key may have blanks; else `at`. */
static size_t name_end(const char *text, size_t at, size_t size)
{
    const size_t name = rk_shell_name_length(text + at, size - at);
    if (at + name >= size || text[at + name] != '[') {
        return at;
    }
    const size_t behind = subscript_end(text, at + name, size);
    const size_t equals = behind + (behind < size && text[behind] == '+');
    const bool assigns = equals < size && text[equals] == '=';
    return assigns && !memchr(text + at, '\n', behind - at) ? behind : at;
}

/* Sets a variable, or the element that "[...]" behind the name at text[name] means. */
static void set_assigned(rk_shell *sh, const char *text, size_t name, const char *value,
                         bool appends, int line)
{
    rk_shell_variable *variable = rk_shell_make(sh, rk_shell_keep(sh, text, name));
    const char *key = NULL;
    int64_t index = 0;
    if (!variable) {
        return;
    }
    if (text[name] == '[') {
        const size_t behind = subscript_end(text, name, strlen(text));
        const char *inside = rk_shell_expand_text(sh, text, name + 1, behind - 1, false);
        variable->array = true;
        if (variable->associative) {
            key = inside;
        } else if (!rk_shell_calculate(sh, inside, &index)) {
            return;
        }
    }
    const rk_shell_element *old = rk_shell_element_of(variable, key, index);
    if (appends && old) {
        const size_t before = strlen(old->text), length = strlen(value);
        char *all =
            before + length < RK_SHELL_VALUE_MAX ? rk_shell_get(sh, before + length + 1, 1) : NULL;
        if (!all) {
            return;
        }
        memcpy(all, old->text, before);
        memcpy(all + before, value, length);
        value = all;
    }
    rk_shell_set_element(sh, variable, key, index, value, line);
}

bool rk_shell_assign(rk_shell *sh, const char *text, size_t size, int line, const char **name)
{
    bool appends = false;
    size_t value = 0;
    const size_t length = assignment_of(text, size, &value, &appends);
    if (length == 0) {
        return false;
    }
    *name = rk_shell_keep(sh, text, length);
    set_assigned(sh, text, length, rk_shell_keep(sh, text + value, size - value), appends, line);
    return true;
}

static void expand_word(rk_shell *sh, size_t from, rk_shell_fields *fields)
{
    const char *braces = rk_shell_braces(sh, sh->source.text, from, sh->at);
    fields->line = rk_shell_line(sh, from);
    if (braces) {
        for (const char *at = braces; *at;) {
            const size_t length = strcspn(at, "\n");
            rk_shell_expand(sh, at, 0, length, fields);
            rk_shell_end_field(sh, fields);
            at += length + (at[length] == '\n');
        }
        return;
    }
    rk_shell_expand(sh, sh->source.text, from, sh->at, fields);
    rk_shell_end_field(sh, fields);
}

/* Elements of "(...)": those of a word that ends at sh->at, or "[key]=value". */
static void add_elements(rk_shell *sh, rk_shell_variable *variable, size_t from)
{
    const char *text = sh->source.text;
    const size_t end = sh->at;
    const int line = rk_shell_line(sh, from);
    const size_t behind = text[from] == '[' ? subscript_end(text, from, end) : end;
    int64_t index = 0;
    if (behind < end && text[behind] == '=') {
        const char *key = rk_shell_expand_text(sh, text, from + 1, behind - 1, false);
        const char *value = rk_shell_expand_text(sh, text, behind + 1, end, false);
        if (!variable->associative && !rk_shell_calculate(sh, key, &index)) {
            return;
        }
        rk_shell_set_element(sh, variable, variable->associative ? key : NULL, index, value, line);
        return;
    }
    rk_shell_fields fields = {.split = true};
    expand_word(sh, from, &fields);
    for (size_t i = 0; i < fields.count; i++) {
        index = variable->count > 0 ? variable->elements[variable->count - 1].index + 1 : 0;
        rk_shell_set_element(sh, variable, NULL, index, fields.items[i].text, fields.items[i].line);
    }
    rk_shell_clear_fields(&fields);
}

/* "(...)" behind "NAME=", over several lines and with comments. */
static void read_array(rk_shell *sh, const char *name, bool appends)
{
    rk_shell_variable *variable = NULL;
    rk_shell_variable made = {.name = name};
    if (rk_shell_is_on(sh) && (variable = rk_shell_make(sh, name))) {
        made.associative = variable->associative;
        made.exported = variable->exported;
        if (appends) {
            made.elements = variable->elements;
            made.count = variable->count;
            made.room = variable->room;
        }
        made.set = made.array = true;
    }
    sh->at++;
    for (;;) {
        rk_shell_skip_blanks(sh);
        if (rk_shell_peek(sh) == '\n') {
            rk_shell_skip_line_end(sh);
            continue;
        }
        const size_t from = sh->at, size = sh->source.size;
        sh->at = rk_shell_word_end(sh->source.text, name_end(sh->source.text, from, size), size);
        if (sh->at == from) {
            break;
        }
        if (variable && rk_shell_is_on(sh)) {
            add_elements(sh, &made, from);
        }
    }
    sh->at += rk_shell_peek(sh) == ')';
    if (variable) { /* its place in the bucket stays */
        made.next = variable->next;
        made.name = variable->name;
        *variable = made;
    }
}

/* ---- redirections ---------------------------------------------------------------------------- */

/* Where the line of a command ends that text[at] is within; no newline in quotes ends it. */
static size_t command_line_end(const char *text, size_t at, size_t size)
{
    assert(at > 0);
    bool comment = false;
    while (at < size && text[at] != '\n') {
        const bool goes_on = size - at > 2 && memcmp(text + at, "\\\r\n", 3) == 0;
        comment = comment || (text[at] == '#' && strchr(" \t;&|()", text[at - 1]));
        at = comment ? at + 1 : goes_on ? at + 3 : rk_shell_piece_end(text, at, size);
    }
    return at;
}

/* The text of a here-document up to its end word, and its end. */
static const char *read_here(rk_shell *sh, const char *word, bool plain, bool tabs)
{
    const char *text = sh->source.text;
    const size_t size = sh->source.size, length = strlen(word);
    if (sh->here_line == 0) {
        sh->here_line = command_line_end(text, sh->at, size);
        sh->here_behind = sh->here_line < size ? sh->here_line + 1 : size;
    }
    rk_bytes lines = {0};
    for (bool closed = false; !closed && sh->here_behind < size;) {
        size_t start = sh->here_behind;
        const char *line_end = memchr(text + start, '\n', size - start);
        const size_t end = line_end ? (size_t)(line_end - text) : size;
        while (tabs && start < end && text[start] == '\t') {
            start++;
        }
        const size_t line = end - start - (end > start && text[end - 1] == '\r');
        sh->here_behind = end < size ? end + 1 : size;
        closed = line == length && memcmp(text + start, word, length) == 0;
        if (!closed && rk_shell_is_on(sh)) {
            rk_bytes_add(&lines, text + start, sh->here_behind - start);
        }
    }
    const char *inside = rk_shell_keep_bytes(sh, &lines); /* "" if memory ran out */
    rk_bytes_clear(&lines);
    return plain || !rk_shell_is_on(sh) ? inside
                                        : rk_shell_expand_here(sh, inside, 0, strlen(inside));
}

/* The word of a redirection, expanded. */
static const char *redirected_word(rk_shell *sh)
{
    rk_shell_skip_blanks(sh);
    const size_t from = sh->at;
    sh->at = rk_shell_word_end(sh->source.text, from, sh->source.size);
    return rk_shell_is_on(sh) ? rk_shell_expand_text(sh, sh->source.text, from, sh->at, false) : "";
}

static void read_here_word(rk_shell *sh, rk_shell_redirection *r)
{
    const bool tabs = rk_shell_peek(sh) == '-';
    char word[64];
    size_t length = 0;
    sh->at += tabs;
    rk_shell_skip_blanks(sh);
    const size_t from = sh->at;
    sh->at = rk_shell_word_end(sh->source.text, from, sh->source.size);
    bool plain = false;
    for (size_t i = from; i < sh->at && length + 1 < sizeof(word); i++) {
        const char c = sh->source.text[i];
        plain |= strchr("'\"\\", c) != NULL;
        if (!strchr("'\"\\", c)) {
            word[length++] = c;
        }
    }
    word[length] = '\0';
    if (length > 0) {
        r->in = read_here(sh, word, plain, tabs);
    }
}

bool rk_shell_read_redirection(rk_shell *sh, rk_shell_redirection *r)
{
    size_t at = sh->at;
    const char *text = sh->source.text;
    while (at < sh->source.size && isdigit((unsigned char)text[at])) {
        at++;
    }
    const bool both = at + 1 < sh->source.size && text[at] == '&' && text[at + 1] == '>';
    at += both;
    if (at >= sh->source.size || (text[at] != '<' && text[at] != '>')) {
        return false;
    }
    const bool errors = at > sh->at && !both && text[sh->at] != '1';
    sh->at = at + 1;
    if (text[at] == '<') {
        if (rk_shell_peek(sh) == '(') { /* the output of a command as a file */
            sh->at = rk_shell_paren_end(text, sh->at + 1, sh->source.size, 0);
        } else if (rk_shell_looks_at(sh, "<<")) {
            sh->at += 2;
            r->in = redirected_word(sh);
        } else if (rk_shell_peek(sh) == '<') {
            sh->at++;
            read_here_word(sh, r);
        } else {
            sh->at += rk_shell_peek(sh) == '&';
            const char *file = redirected_word(sh);
            r->in = rk_shell_is_on(sh) ? rk_shell_file_text(sh, file) : NULL;
        }
        return true;
    }
    const bool appends = rk_shell_peek(sh) == '>';
    sh->at += appends;
    if (rk_shell_peek(sh) == '(') {
        sh->at = rk_shell_paren_end(text, sh->at + 1, sh->source.size, 0);
        return true;
    }
    const bool copies = rk_shell_peek(sh) == '&';
    sh->at += copies || rk_shell_peek(sh) == '|';
    const char *file = redirected_word(sh);
    if (!copies && !errors && rk_shell_is_on(sh)) {
        r->to = file;
        r->appends = appends;
    }
    return true;
}

/* ---- simple commands ------------------------------------------------------------------------- */

rk_shell_function *rk_shell_find_function(const rk_shell *sh, const char *name)
{
    rk_shell_function *function = sh->functions;
    while (function && strcmp(function->name, name) != 0) {
        function = function->next;
    }
    return function;
}

static void run_function(rk_shell *sh, const rk_shell_function *function,
                         const rk_launch_word *words, size_t count)
{
    const rk_shell_source source = sh->source;
    const rk_launch_word *arguments = sh->arguments;
    const size_t at = sh->at, argument_count = sh->argument_count;
    const size_t here_line = sh->here_line, here_behind = sh->here_behind;
    rk_shell_local *const locals = sh->locals;
    const bool inside = sh->in_function;
    const int loops = sh->loops;
    sh->source = function->source;
    sh->at = function->at;
    sh->here_line = 0;
    sh->arguments = words + 1;
    sh->argument_count = count - 1;
    sh->locals = NULL;
    sh->in_function = true;
    sh->loops = 0;
    rk_shell_run_command(sh);
    sh->flow = sh->flow == FLOW_RETURN ? FLOW_ON : sh->flow;
    for (const rk_shell_local *local = sh->locals; local; local = local->next) {
        rk_shell_variable *variable = rk_shell_find(sh, local->before.name);
        rk_shell_variable *const next = variable ? variable->next : NULL;
        if (variable) {
            *variable = local->before;
            variable->next = next;
        }
    }
    sh->locals = locals;
    sh->in_function = inside;
    sh->loops = loops;
    sh->source = source;
    sh->at = at;
    sh->here_line = here_line;
    sh->here_behind = here_behind;
    sh->arguments = arguments;
    sh->argument_count = argument_count;
}

/* Keeps the words before a shell for the commands that it runs; those around them stay before. */
static void set_around(rk_shell *sh, const rk_launch_word *words, size_t count)
{
    rk_launch_word *around = rk_shell_get(sh, sh->around_count + count + 1, sizeof(*around));
    if (!around) {
        return;
    }
    if (sh->around_count > 0) {
        memcpy(around, sh->around, sh->around_count * sizeof(*around));
    }
    for (size_t i = 0; i < count; i++) {
        around[sh->around_count + i] = (rk_launch_word){words[i].text, words[i].line};
    }
    sh->around = around;
    sh->around_count += count;
}

bool rk_shell_is_shell(const char *word)
{
    const char *name = rk_launch_base_name(word);
    return strcmp(name, "bash") == 0 || strcmp(name, "sh") == 0;
}

/* Whether a script may start; one that starts itself does so once, as a task of Slurm. */
static bool may_start(rk_shell *sh, const char *path)
{
    static const char *const tasks[] = {"SLURM_JOB_ID", "SLURM_PROCID", "SLURM_LOCALID",
                                        "SLURM_NODEID", NULL};
    const bool itself = strcmp(rk_launch_base_name(path), rk_launch_base_name(sh->name)) == 0;
    const bool again = itself && sh->restarted;
    for (size_t i = 0; itself && !again && tasks[i]; i++) {
        rk_shell_set(sh, tasks[i], "0", 0);
    }
    sh->restarted |= itself;
    return !again;
}

/* A script with its arguments; one of a framework may not be here, and its reader knows it. */
static void run_script(rk_shell *sh, const rk_launch_word *words, size_t count)
{
    if (!may_start(sh, words[0].text)) {
        return;
    }
    if (!rk_shell_run_file(sh, words[0].text, words + 1, count - 1)) {
        rk_shell_record(sh, words, count);
    }
}

/* "bash -c TEXT", "bash FILE" and "bash" that reads, which words[0] names. */
static void run_shell(rk_shell *sh, const rk_launch_word *words, size_t count, int line)
{
    size_t next = 1;
    bool text = false;
    while (next + 1 < count && words[next].text[0] == '-') {
        text |= strchr(words[next].text, 'c') != NULL && words[next].text[1] != '-';
        next++;
    }
    if (next < count && text) {
        rk_shell_run_text(sh, words[next].text, strlen(words[next].text), line);
    } else if (next < count) {
        run_script(sh, words + next, count - next);
    } else if (sh->in) {
        rk_shell_run_text(sh, sh->in, strlen(sh->in), line);
    }
}

static bool is_script(const char *word)
{
    return rk_ends_with(word, ".sh") || rk_ends_with(word, ".slurm") ||
           rk_ends_with(word, ".sbatch");
}

/*
 * The word of a command that runs a text or a script of its own: a shell, --wrap of sbatch, or the
 * script that a launcher starts; count: none.
 */
static size_t find_inner(const rk_launch_word *words, size_t count)
{
    const bool starts = rk_launch_is_launcher(rk_launch_base_name(words[0].text));
    bool python = false;
    for (size_t i = 0; i < count; i++) {
        const char *word = words[i].text;
        if (rk_shell_is_shell(word) ||
            (starts && !python && i > 0 &&
             (is_script(word) || strncmp(word, "--wrap", strlen("--wrap")) == 0))) {
            return i;
        }
        python |= rk_ends_with(word, ".py") || strcmp(word, "-m") == 0;
    }
    return count;
}

/* Options of sbatch as the lines of a script have them. */
static void take_options(rk_shell *sh, const rk_launch_word *words, size_t count)
{
    rk_bytes lines = {0};
    for (size_t i = 1; i < count; i++) {
        const char *word = words[i].text;
        const char *start = word[0] == '-' ? "\n#SBATCH " : " ";
        rk_bytes_add(&lines, start, strlen(start));
        rk_bytes_add(&lines, word, strlen(word));
    }
    const char *text = rk_shell_keep_bytes(sh, &lines);
    rk_shell_read_allocation(sh, text ? text : "");
    rk_bytes_clear(&lines);
}

/* Submits a script to Slurm: its #SBATCH lines count, too, and options before it win. */
static void submit(rk_shell *sh, const rk_launch_word *words, size_t count, size_t inner, int line)
{
    const char *word = inner < count ? words[inner].text : "";
    const bool wraps = strncmp(word, "--wrap", strlen("--wrap")) == 0;
    const char *equals = wraps ? strchr(word, '=') : NULL;
    const char *text = NULL;
    if (wraps) {
        text = equals ? equals + 1 : inner + 1 < count ? words[inner + 1].text : NULL;
    } else if (inner == count) {
        text = sh->in;
    } else if (may_start(sh, word)) {
        text = rk_shell_open_file(sh, word);
    }
    if (!text) {
        return;
    }
    rk_shell_read_allocation(sh, wraps ? "" : text);
    take_options(sh, words, inner);
    if (wraps || inner == count) {
        rk_shell_run_text(sh, text, strlen(text), line);
    } else {
        (void)rk_shell_run_file(sh, word, words + inner + 1, count - inner - 1);
    }
}

/* "ssh node1 'cd x && torchrun ...'": the text that another machine runs; NULL: none. */
static const char *remote_text(const rk_launch_word *words, size_t count)
{
    static const char *const names[] = {"ssh", "pdsh", "clush", NULL};
    const char *last = words[count - 1].text;
    for (size_t i = 0; names[i] && strchr(last, ' '); i++) {
        if (strcmp(rk_launch_base_name(words[0].text), names[i]) == 0) {
            return last;
        }
    }
    return NULL;
}

/* A program that is not started: recorded if it trains, else passed over. */
static void run_program(rk_shell *sh, const rk_launch_word *words, size_t count, int line)
{
    const rk_launch_word *const around = sh->around;
    const size_t around_count = sh->around_count;
    sh->unknown |= sh->captured > 0;
    sh->status = sh->conditions > 0;
    if (sh->captured > 0) {
        return;
    }
    const size_t inner = find_inner(words, count);
    const bool submits = strcmp(words[0].text, "sbatch") == 0;
    const char *remote = remote_text(words, count);
    if (inner > 0 && !submits && (inner == count || rk_shell_is_shell(words[inner].text))) {
        rk_shell_record(sh, words, count);
    }
    if (inner < count && !submits && !remote) { /* srun bash -c "torchrun ..." */
        set_around(sh, words, inner);
    }
    if (remote) {
        rk_shell_run_text(sh, remote, strlen(remote), line);
    } else if (submits) {
        submit(sh, words, count, inner, line);
    } else if (inner < count && rk_shell_is_shell(words[inner].text)) {
        run_shell(sh, words + inner, count - inner, line);
    } else if (inner < count || is_script(words[0].text)) {
        const size_t first = inner < count ? inner : 0;
        run_script(sh, words + first, count - first);
    }
    sh->flow = sh->stopped ? FLOW_EXIT : FLOW_ON;
    sh->around = around;
    sh->around_count = around_count;
}

static void run_words(rk_shell *sh, const rk_launch_word *words, size_t count, int line)
{
    const bool last = strcmp(words[0].text, "exec") == 0 && count > 1 && words[1].text[0] != '-';
    if (strcmp(words[0].text, "command") == 0 || strcmp(words[0].text, "exec") == 0 ||
        strcmp(words[0].text, "time") == 0 || strcmp(words[0].text, "nohup") == 0) {
        if (count > 1 && words[1].text[0] != '-') {
            words++;
            count--;
        }
    }
    const rk_shell_function *function = rk_shell_find_function(sh, words[0].text);
    if (function) {
        run_function(sh, function, words, count);
    } else if (!rk_shell_run_builtin(sh, words, count, line)) {
        run_program(sh, words, count, line);
    }
    if (last && sh->command_count > 0) { /* the program takes the place of the shell */
        sh->flow = FLOW_EXIT;
    }
}

/* Runs words with what they read and where they write. */
static void run_redirected(rk_shell *sh, const rk_launch_word *words, size_t count,
                           const rk_shell_redirection *r, int line)
{
    rk_bytes made = {0};
    rk_bytes *const out = sh->out;
    const char *const in = sh->in;
    const bool unknown = sh->unknown;
    const bool tee = strcmp(words[0].text, "tee") == 0;
    sh->in = r->in ? r->in : sh->in;
    sh->out = r->to ? &made : sh->out;
    if (tee && sh->in) {
        for (size_t i = 1; i < count; i++) {
            rk_shell_write(sh, words[i].text, sh->in, strlen(sh->in), false);
        }
    } else {
        run_words(sh, words, count, line);
    }
    sh->out_of_memory |= made.failed;
    if (r->to && strncmp(r->to, "/dev/", 5) != 0 && made.size > 0) {
        rk_shell_write(sh, r->to, (const char *)made.data, made.size, r->appends);
    }
    sh->unknown = r->to ? unknown : sh->unknown;
    sh->out = out;
    sh->in = r->in ? in : sh->in; /* lines that a command has read are gone for the next */
    rk_bytes_clear(&made);
}

/* Gives a variable elements of its own, which it shares with no saved value. */
static void own_elements(rk_shell *sh, rk_shell_variable *variable)
{
    rk_shell_element *own =
        variable->count > 0 ? rk_shell_get(sh, variable->room, sizeof(*own)) : NULL;
    if (own) {
        memcpy(own, variable->elements, variable->count * sizeof(*own));
        variable->elements = own;
    }
}

/* Sets a variable before a command, which has its old value again afterwards. */
static void take_assignment(rk_shell *sh, size_t from, size_t name, size_t value, bool appends,
                            rk_shell_prefix *prefixes, size_t *count)
{
    const char *text = sh->source.text;
    const char *kept = rk_shell_keep(sh, text + from, name);
    rk_shell_variable *variable = rk_shell_make(sh, kept);
    const char *set = rk_shell_expand_text(sh, text, value, sh->at, false);
    if (!variable) {
        return;
    }
    if (*count < RK_SHELL_PREFIXES_MAX) {
        prefixes[(*count)++] = (rk_shell_prefix){variable, *variable};
    }
    if (text[from + name] != '[' && !appends) {
        rk_shell_unset(variable);
    } else if (rk_shell_peek(sh) == ' ') { /* a command may follow */
        own_elements(sh, variable);
    }
    set_assigned(sh, rk_shell_keep(sh, text + from, value - from), name, set, appends,
                 rk_shell_line(sh, from));
}

static void restore(rk_shell_prefix *prefixes, size_t count)
{
    while (count > 0) {
        rk_shell_prefix *p = &prefixes[--count];
        rk_shell_variable *const next = p->variable->next;
        *p->variable = p->before;
        p->variable->next = next;
    }
}

/* Whether the words behind this command are assignments too. */
static bool declares(const rk_shell_fields *fields)
{
    static const char *const names[] = {"export", "local", "declare", "typeset", "readonly"};
    for (size_t i = 0; fields->count > 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(fields->items[0].text, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool rk_shell_read_item(rk_shell *sh, rk_shell_fields *fields, rk_shell_redirection *r,
                        rk_shell_prefix *prefixes, size_t *count)
{
    bool appends = false;
    size_t value = 0;
    rk_shell_skip_blanks(sh);
    if (rk_shell_read_redirection(sh, r)) {
        return true;
    }
    const char *text = sh->source.text;
    const size_t from = sh->at;
    sh->at = rk_shell_word_end(text, name_end(text, from, sh->source.size), sh->source.size);
    if (sh->at == from) {
        return false;
    }
    const size_t name = assignment_of(text + from, sh->at - from, &value, &appends);
    const bool declared = declares(fields);
    if (name > 0 && value == sh->at - from && rk_shell_peek(sh) == '(' &&
        (fields->count == 0 || declared)) {
        if (declared && rk_shell_is_on(sh)) {
            rk_shell_add_text(fields, text + from, name, true);
            rk_shell_end_field(sh, fields);
            /* its kind has to be known before its elements */
            (void)rk_shell_run_builtin(sh, fields->items, fields->count, 0);
            fields->count--;
        }
        read_array(sh, rk_shell_keep(sh, text + from, name), appends);
    } else if (!rk_shell_is_on(sh)) {
        return true;
    } else if (name > 0 && fields->count == 0) {
        take_assignment(sh, from, name, from + value, appends, prefixes, count);
    } else if (name > 0 && declared) { /* its value is not split */
        rk_shell_add_text(fields, text + from, value, true);
        const char *set = rk_shell_expand_text(sh, text, from + value, sh->at, false);
        rk_shell_add_text(fields, set, strlen(set), true);
        fields->line = rk_shell_line(sh, from);
        rk_shell_end_field(sh, fields);
    } else {
        expand_word(sh, from, fields);
    }
    return true;
}

void rk_shell_run_simple(rk_shell *sh)
{
    rk_shell_fields fields = {.split = true};
    rk_shell_redirection r = {0};
    rk_shell_prefix prefixes[RK_SHELL_PREFIXES_MAX];
    size_t count = 0;
    const int line = rk_shell_line(sh, sh->at);
    while (rk_shell_read_item(sh, &fields, &r, prefixes, &count)) {
    }
    if (rk_shell_is_on(sh) && fields.count > 0) {
        for (size_t i = 0; i < count; i++) {
            prefixes[i].variable->exported = true;
        }
        run_redirected(sh, fields.items, fields.count, &r, line);
        restore(prefixes, count);
    } else if (rk_shell_is_on(sh)) {
        sh->status = 0;
    }
    rk_shell_clear_fields(&fields);
}
