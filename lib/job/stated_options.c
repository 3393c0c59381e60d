/* SPDX-License-Identifier: Apache-2.0 */
/* Records stated options and writes them as the question that an answer repeats. */
#include "job/stated_options.h"

#include "io/json.h"
#include "io/json_write.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

/* Ends the words; the next one takes the place of the end. */
static void end_words(rk_stated *stated)
{
    rk_bytes_add(&stated->words, "", 1);
    stated->words.size -= !stated->words.failed;
}

void rk_stated_word(rk_stated *stated, const char *word)
{
    rk_bytes_add_word(&stated->words, word);
    end_words(stated);
}

/* The name of an option, which needs no quotes, with the value of a flag or NULL. */
static void state_name(rk_stated *stated, const char *name, const char *value)
{
    rk_bytes *words = &stated->words;
    rk_bytes_add(words, " ", words->size > 0);
    rk_bytes_add(words, "--", 2);
    rk_bytes_add(words, name, strlen(name));
    if (value) {
        rk_bytes_add(words, "=", 1);
        rk_bytes_add(words, value, strlen(value));
    }
    end_words(stated);
}

/* Whether an option only chooses the form of the answer, and its file. */
static bool is_form(const rk_option *option)
{
    return option->writes || strcmp(option->name, "json") == 0 ||
           strcmp(option->name, "csv") == 0 || strcmp(option->name, "verbose") == 0;
}

void rk_stated_option(rk_stated *stated, const rk_command *command, size_t i, const char *name,
                      const char *value)
{
    assert(i < rk_command_option_count(command));
    const rk_option *option = rk_command_option(command, i);
    const bool flag = option->type == RK_OPTION_FLAG;
    if (is_form(option)) {
        return;
    }
    stated->options[i] = true;
    if (!option->positional) {
        state_name(stated, name, flag ? value : NULL);
    }
    if (value && !flag) {
        rk_stated_word(stated, value);
    }
}

/* The option of the form of the answer that a word names: "-o", "--json"; NULL: none. */
static const rk_option *find_form(const rk_command *command, const char *word)
{
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        const char letter[] = {'-', option->letter, '\0'};
        const bool named = strncmp(word, "--", 2) == 0 && strcmp(word + 2, option->name) == 0;
        if (is_form(option) && (named || (option->letter && strcmp(word, letter) == 0))) {
            return option;
        }
    }
    return NULL;
}

void rk_stated_line(rk_stated *stated, const rk_command *command, const char *const *words,
                    size_t count)
{
    stated->more = true;
    for (size_t i = 0; i < count; i++) {
        const rk_option *form = find_form(command, words[i]);
        if (!form) {
            rk_stated_word(stated, words[i]);
        }
        i += form && form->type != RK_OPTION_FLAG; /* its value */
    }
}

/* ---- in a report ----------------------------------------------------------------------------- */

#define DOCUMENT_MAX (128 << 10) /* bytes of a document that a report holds */

/* The text of a document that the value of an option names as a file, or is; NULL: neither, or an
 * error. */
static char *read_document(const rk_option *option, const char *value, rk_status *status)
{
    rk_error reason;
    char *text = NULL;
    size_t size = 0;
    rk_json_doc doc = {0};
    *status = RK_OK;
    if (option->type != RK_OPTION_TEXT || !option->catalogue ||
        !(rk_json_is_file(value) || rk_json_is_text(value))) {
        return NULL;
    }
    *status = rk_json_read_text(value, &text, &size, &reason);
    *status = *status ? *status : rk_json_parse(text, size, value, &doc, &reason);
    rk_json_clear(&doc);
    if (*status || size > DOCUMENT_MAX) {
        free(text);
        return NULL;
    }
    char *ended = realloc(text, size + 1);
    if (!ended) {
        free(text);
        *status = RK_ERR_MEMORY;
        return NULL;
    }
    ended[size] = '\0';
    return ended;
}

static void write_value(rk_json_writer *writer, const rk_option *option, const char *value)
{
    rk_status status;
    char *document = read_document(option, value, &status);
    const bool plain =
        document || (option->type == RK_OPTION_FLAG
                         ? strcmp(value, "true") == 0 || strcmp(value, "false") == 0
                         : (option->type == RK_OPTION_COUNT || option->type == RK_OPTION_REAL) &&
                               rk_json_is_number(value));
    if (status == RK_ERR_MEMORY) {
        rk_out_fail_memory(writer->out);
    }
    rk_json_key(writer, option->name);
    if (plain) {
        rk_json_value(writer, document ? document : value);
    } else {
        rk_json_text(writer, value);
    }
    free(document);
}

void rk_job_write_question(const rk_job *job, rk_out *out)
{
    rk_json_writer writer = {.out = out, .indented = true};
    const rk_command *command = rk_job_command(job);
    const rk_stated *stated = rk_job_stated(job);
    if (!rk_out_fill_place(out, "question")) {
        return;
    }
    if (stated->words.failed) {
        rk_out_fail_memory(out);
        return;
    }
    rk_json_open(&writer, "{");
    rk_json_string(&writer, "command", rk_command_name(command));
    rk_json_string(&writer, "words", stated->words.data ? (const char *)stated->words.data : "");
    if (!stated->more) {
        const rk_option *option;
        rk_json_open_member(&writer, "request", "{");
        for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
            if (stated->options[i]) {
                write_value(&writer, option, rk_job_given(job, i));
            }
        }
        rk_json_close(&writer, "}");
    }
    rk_json_close(&writer, "}");
}
