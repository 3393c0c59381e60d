/* SPDX-License-Identifier: Apache-2.0 */
/* Parses text into jansson documents; every error carries a file and a position or path. */
#include "io/json.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/json_fault.h"
#include "io/json_memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { FILE_SIZE_MAX = 64 << 20, READ_STEP = 64 << 10 };

const char *rk_json_type_name(const json_t *value)
{
    if (!value) {
        return "nothing";
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a real";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "null";
    }
}

const char *rk_json_describe(const json_t *value, char out[RK_JSON_TEXT_SIZE])
{
    char text[RK_JSON_TEXT_SIZE / 2];
    if (json_is_integer(value)) {
        (void)snprintf(out, RK_JSON_TEXT_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        (void)rk_double_text(json_real_value(value), text);
        (void)snprintf(out, RK_JSON_TEXT_SIZE, "a real %s%s", text,
                       strpbrk(text, ".e") ? "" : ".0");
    } else if (json_is_string(value)) {
        (void)snprintf(out, RK_JSON_TEXT_SIZE, "a string \"%s\"",
                       rk_json_printable(json_string_value(value), text, sizeof(text)));
    } else {
        (void)snprintf(out, RK_JSON_TEXT_SIZE, "%s", rk_json_type_name(value));
    }
    return out;
}

const char *rk_json_printable(const char *text, char *out, size_t size)
{
    assert(size > 3);
    static const char ellipsis[] = "...";
    size_t length = strlen(text);
    const bool cut = length >= size;
    if (cut) {
        length = size - sizeof(ellipsis);
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--;
        }
    }
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        out[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
    }
    memcpy(out + length, cut ? ellipsis : "", cut ? sizeof(ellipsis) : 1);
    return out;
}

/* Built by hand because every value that is read needs a path: snprintf is ten times slower. */
static size_t append_path(char out[RK_JSON_PATH_SIZE], size_t used, const char *text)
{
    assert(used < RK_JSON_PATH_SIZE);
    while (*text && used + 1 < RK_JSON_PATH_SIZE) {
        out[used++] = *text++;
    }
    out[used] = '\0';
    return used;
}

static bool is_plain(const char *text)
{
    while (*text > ' ' && *text <= '~') {
        text++;
    }
    return *text == '\0';
}

const char *rk_json_path_member(const char *base, const char *key, char out[RK_JSON_PATH_SIZE])
{
    char shown[RK_JSON_PATH_SIZE / 2];
    const bool whole = is_plain(key) && strlen(key) < sizeof(shown);
    size_t used = append_path(out, 0, base);
    used = append_path(out, used, base[0] ? "." : "");
    (void)append_path(out, used, whole ? key : rk_json_printable(key, shown, sizeof(shown)));
    return out;
}

const char *rk_json_path_element(const char *base, size_t index, char out[RK_JSON_PATH_SIZE])
{
    char digits[24] = "", *first = &digits[sizeof(digits) - 1];
    do {
        *--first = (char)('0' + index % 10);
        index /= 10;
    } while (index > 0);
    size_t used = append_path(out, 0, base);
    used = append_path(out, used, "[");
    used = append_path(out, used, first);
    (void)append_path(out, used, "]");
    return out;
}

/*
 * The token that jansson quotes at the end of its message ("... near 'foo'"), as a slice of the
 * message; *size is 0 if it quotes none.
 */
static const char *token_in_message(const char *message, size_t *size)
{
    static const char mark[] = " near '";
    const char *token = strstr(message, mark);
    const size_t length = strlen(message);
    *size = 0;
    if (!token || message[length - 1] != '\'') {
        return "";
    }
    token += sizeof(mark) - 1;
    *size = (size_t)(message + length - 1 - token);
    return token;
}

/*
 * Column of the fault.  jansson gives the last character that it read, which is the end of a
 * misplaced token, where its start helps more; inside an unfinished string it is the right one.
 */
static int fault_column(const json_error_t *error, const char *token, size_t size)
{
    const bool unfinished = size > 0 && token[0] == '"' && (size == 1 || token[size - 1] != '"');
    int column = error->column > 0 ? error->column : 1;
    for (size_t i = 1; i < size && !unfinished && column > 1; i++) {
        column -= ((unsigned char)token[i] & 0xc0) != 0x80;
    }
    return column;
}

static rk_status fail_syntax(const json_error_t *error, const char *document, size_t document_size,
                             rk_error *err)
{
    size_t size;
    char text[JSON_ERROR_TEXT_LENGTH];
    const char *token = token_in_message(rk_json_printable(error->text, text, sizeof(text)), &size);
    const int shown = (int)size;
    const char *foreign = rk_json_foreign_text(document, document_size);
    if (foreign) {
        (void)rk_fail(err, RK_ERR_SYNTAX, "%s", foreign);
        if (err) {
            err->line = err->column = 1;
        }
        return RK_ERR_SYNTAX;
    }
    switch (json_error_code(error)) {
    case json_error_out_of_memory:
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to read the document");
    case json_error_duplicate_key:
        (void)rk_fail(err, RK_ERR_SYNTAX, "the key %.*s occurs twice in the same object", shown,
                      token);
        break;
    case json_error_numeric_overflow:
        (void)rk_fail(err, RK_ERR_SYNTAX, "the number %.*s is too large to be stored", shown,
                      token);
        break;
    case json_error_end_of_input_expected:
        (void)rk_fail(err, RK_ERR_SYNTAX, "text follows the end of the document");
        break;
    case json_error_stack_overflow:
        (void)rk_fail(err, RK_ERR_SYNTAX, "the document is nested too deeply");
        break;
    case json_error_null_character:
    case json_error_null_byte_in_key:
        (void)rk_fail(err, RK_ERR_SYNTAX, "a string contains the character \\u0000");
        break;
    default:
        foreign = rk_json_foreign_number(document, document_size,
                                         error->position > 0 ? (size_t)error->position : 0);
        if (foreign) {
            (void)rk_fail(err, RK_ERR_SYNTAX,
                          "JSON has no number %s; give a finite one, or leave the member out",
                          foreign);
        } else {
            (void)rk_fail(err, RK_ERR_SYNTAX, "%s", text);
        }
        break;
    }
    if (err) {
        err->line = error->line > 0 ? error->line : 1;
        err->column = fault_column(error, token, size);
    }
    return RK_ERR_SYNTAX;
}

rk_status rk_json_parse(const char *text, size_t size, const char *name, rk_json_doc *doc,
                        rk_error *err)
{
    json_error_t error;
    rk_status status = RK_OK;
    memset(doc, 0, sizeof(*doc));
    (void)rk_json_printable(name, doc->name, sizeof(doc->name));
    bool is_short;
    doc->root =
        rk_json_read(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error, &is_short);
    if (is_short) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory to read the document");
    } else if (!doc->root) {
        status = fail_syntax(&error, text, size, err);
    } else if (!json_is_object(doc->root)) {
        status = rk_fail(err, RK_ERR_INVALID, "expected a JSON object, found %s",
                         rk_json_type_name(doc->root));
    }
    if (status) {
        rk_error_set_file(err, doc->name);
        rk_json_clear(doc);
    }
    return status;
}

void rk_json_clear(rk_json_doc *doc)
{
    json_decref(doc->root);
    doc->root = NULL;
}

/* Reads all of an open file into *text, which the caller frees. */
static rk_status read_all(gzFile file, char **text, size_t *size, rk_error *err)
{
    size_t capacity = 0;
    *text = NULL;
    *size = 0;
    for (;;) {
        if (*size > FILE_SIZE_MAX) {
            return rk_fail(err, RK_ERR_LIMIT, "the file holds more than %d MiB",
                           FILE_SIZE_MAX >> 20);
        }
        if (capacity - *size < READ_STEP) {
            capacity = 2 * capacity + READ_STEP;
            char *larger = realloc(*text, capacity);
            if (!larger) {
                return rk_fail(err, RK_ERR_MEMORY, "not enough memory to read the file");
            }
            *text = larger;
        }
        const int got = gzread(file, *text + *size, READ_STEP);
        if (got < 0) {
            int code;
            const char *why = gzerror(file, &code);
            return code == Z_ERRNO
                       ? rk_fail(err, RK_ERR_IO, "cannot read: %s", strerror(errno))
                       : rk_fail(err, RK_ERR_IO, "the compressed data is damaged: %s", why);
        }
        if (got == 0) {
            return RK_OK;
        }
        *size += (size_t)got;
    }
}

static rk_status read_file(const char *path, char **text, size_t *size, rk_error *err)
{
    const bool packed = rk_ends_with(path, ".gz");
    rk_status status;
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file) {
        return rk_fail(err, RK_ERR_IO, "cannot open: %s", strerror(errno ? errno : ENOMEM));
    }
    if (packed == (gzdirect(file) != 0)) {
        status = packed ? rk_fail(err, RK_ERR_IO, "the file is not gzip data")
                        : rk_fail(err, RK_ERR_IO, "the file is gzip data: end its name in .gz");
        (void)gzclose_r(file);
        return status;
    }
    status = read_all(file, text, size, err);
    if (gzclose_r(file) != Z_OK && !status) {
        status = rk_fail(err, RK_ERR_IO, "the compressed data ends too early");
    }
    return status;
}

/* Replaces *text (freed) by a copy without NaN and Infinity, which JSON lacks. */
static rk_status replace_numbers(char **text, size_t *size, rk_error *err)
{
    char *plain = malloc(2 * *size + 1);
    if (!plain) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to read the file");
    }
    *size = rk_json_replace_numbers(*text, *size, plain);
    free(*text);
    *text = plain;
    return RK_OK;
}

rk_status rk_json_read_text(const char *name, char **text, size_t *size, rk_error *err)
{
    rk_status status = RK_OK;
    *text = NULL;
    if (!rk_json_is_text(name)) {
        status = read_file(name, text, size, err);
        rk_error_set_file(status ? err : NULL, name);
    } else {
        *text = strdup(name);
        *size = strlen(name);
        status = *text ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a document");
    }
    status = status ? status : replace_numbers(text, size, err);
    if (status) {
        free(*text);
        *text = NULL;
    }
    return status;
}

static rk_status load_file(const char *path, bool python, rk_json_doc *doc, rk_error *err)
{
    char *text = NULL;
    size_t size = 0;
    rk_status status = read_file(path, &text, &size, err);
    if (!status && python) {
        status = replace_numbers(&text, &size, err);
    }
    if (!status) {
        status = rk_json_parse(text, size, path, doc, err);
    }
    free(text);
    rk_error_set_file(status ? err : NULL, path);
    return status;
}

/* Whether `reckon list` has the names of a kind. */
static bool is_listed(const char *kind)
{
    return strcmp(kind, "models") == 0 || strcmp(kind, "systems") == 0 ||
           strcmp(kind, "accelerators") == 0 || strcmp(kind, "stacks") == 0;
}

bool rk_json_is_hub_id(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && slash > name && slash[1] && !strchr(slash + 1, '/') && name[0] != '.' &&
           name[0] != '~' && access(name, F_OK) != 0;
}

static rk_status fail_hub_id(const char *name, const char *shown, rk_error *err)
{
    const char *nearest = rk_catalogue_nearest("models", strchr(name, '/') + 1);
    return rk_fail(err, RK_ERR_INVALID,
                   "the catalogue has no model \"%s\"; %s%s%sgive its config.json, which is at "
                   "https://huggingface.co/%s/resolve/main/config.json",
                   shown, nearest ? "did you mean \"" : "", nearest ? nearest : "",
                   nearest ? "\"? Or " : "", shown);
}

static rk_status fail_unknown_name(const char *name, const char *kind, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE];
    (void)rk_json_printable(name, shown, sizeof(shown));
    if (rk_catalogue_check_missing(name, err)) {
        return RK_ERR_INVALID;
    }
    if (kind && strcmp(kind, "models") == 0 && rk_json_is_hub_id(name)) {
        return fail_hub_id(name, shown, err);
    }
    const char *nearest = kind ? rk_catalogue_nearest(kind, name) : NULL;
    if (!kind || strchr(name, '/') || access(name, F_OK) == 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "\"%s\" is no JSON file: its name must end in .json or .json.gz", shown);
    }
    const bool calculon = strncmp(kind, "calculon/", strlen("calculon/")) == 0;
    char longer[160] = "";
    if (rk_catalogue_list(kind, name, longer, sizeof(longer)) > 1) {
        return rk_fail(err, RK_ERR_INVALID, "\"%s\" is not a whole name; there are %s", shown,
                       longer);
    }
    if (!calculon && rk_catalogue_list_ending(kind, name, longer, sizeof(longer)) > 0) {
        return rk_fail(err, RK_ERR_INVALID, "\"%s\" is the end of a name; the catalogue has %s",
                       shown, longer);
    }
    if (!nearest && rk_catalogue_list_family(kind, name, longer, sizeof(longer)) > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the catalogue has no \"%s\" in %s; it has %s; another is given by its "
                       "document, a .json file",
                       shown, kind, longer);
    }
    if (!nearest && is_listed(kind)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the catalogue has no \"%s\" in %s; 'reckon list %s' shows its names, and a "
                       "file's name ends in .json or .json.gz",
                       shown, kind, kind);
    }
    return rk_fail(err, RK_ERR_INVALID, "the catalogue has no \"%s\" in %s; %s%s%s%s", shown, kind,
                   nearest    ? "did you mean \""
                   : calculon ? "'reckon list' shows what the Calculon methodology knows; "
                              : "",
                   nearest ? nearest : "", nearest ? "\"?" : "",
                   nearest ? "" : "a file's name ends in .json or .json.gz");
}

bool rk_json_is_file(const char *name)
{
    return rk_ends_with(name, ".json") || rk_ends_with(name, ".json.gz");
}

bool rk_json_is_text(const char *name)
{
    return name[strspn(name, " \t\r\n")] == '{';
}

const char *rk_json_title(const char *name)
{
    return rk_json_is_text(name) ? "JSON text" : name;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n')) {
        at++;
    }
    return at;
}

/* The end of the string that begins at `at`, behind its second quote. */
static const char *string_end(const char *at, const char *end)
{
    do {
        at = memchr(at + 1, '"', (size_t)(end - at - 1));
    } while (at && at[-1] == '\\');
    return at ? at + 1 : end;
}

/* The end of a member that says where numbers come from; NULL: none begins at `at`. */
static const char *remark_end(const char *at, const char *end)
{
    static const char *const keys[] = {"\"source\":", "\"provenance\":"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        const size_t length = strlen(keys[i]);
        if ((size_t)(end - at) > length && memcmp(at, keys[i], length) == 0) {
            const char *value = skip_blanks(at + length, end);
            return value < end && *value == '"' ? string_end(value, end) : NULL;
        }
    }
    return NULL;
}

/*
 * Copies a document of the catalogue without blanks and remarks, which are most of it: the parser
 * needs a hundred instructions for a letter.  Returns the size.
 */
static size_t copy_figures(const rk_catalogue_entry *entry, char *to)
{
    const char *at = entry->text, *end = at + entry->size;
    char *out = to;
    while ((at = skip_blanks(at, end)) < end) {
        const char *remark = *at == '"' ? remark_end(at, end) : NULL;
        if (remark) {
            at = skip_blanks(remark, end);
            if (at < end && *at == ',') {
                at++;
            } else if (out[-1] == ',') { /* it was the last member */
                out--;
            }
            continue;
        }
        const size_t length = (size_t)((*at == '"' ? string_end(at, end) : at + 1) - at);
        memcpy(out, at, length);
        out += length;
        at += length;
    }
    return (size_t)(out - to);
}

/* Reads figures of a document of the catalogue. */
static rk_status parse_figures(const rk_catalogue_entry *entry, const char *name, rk_json_doc *doc,
                               rk_error *err)
{
    char *figures = malloc(entry->size);
    if (!figures) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to read the document");
    }
    const rk_status status = rk_json_parse(figures, copy_figures(entry, figures), name, doc, err);
    free(figures);
    return status;
}

rk_status rk_json_load(const char *name, const char *kind, rk_json_doc *doc, rk_error *err)
{
    memset(doc, 0, sizeof(*doc));
    if (rk_json_is_text(name)) {
        return rk_json_parse(name, strlen(name), rk_json_title(name), doc, err);
    }
    if (rk_json_is_file(name)) {
        return load_file(name, false, doc, err);
    }
    const rk_catalogue_entry *entry = kind ? rk_catalogue_find(kind, name) : NULL;
    if (!entry) {
        return fail_unknown_name(name, kind, err);
    }
    return is_listed(entry->kind) ? parse_figures(entry, name, doc, err)
                                  : rk_json_parse(entry->text, entry->size, name, doc, err);
}

rk_status rk_json_load_python(const char *path, rk_json_doc *doc, rk_error *err)
{
    memset(doc, 0, sizeof(*doc));
    return load_file(path, true, doc, err);
}
