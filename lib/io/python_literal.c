/* SPDX-License-Identifier: Apache-2.0 */
/* Prints JSON values as Python's repr() does: quotes, True, None, floats. */
#include "io/python_literal.h"

#include "base/error.h"
#include "base/text.h"
#include "base/text_stream.h"
#include "io/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes above ASCII pass as they are: Python shows printable characters unescaped. */
static void write_string(FILE *to, const char *text)
{
    const char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
    (void)fputc(quote, to);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '\\' || c == (unsigned char)quote) {
            (void)fprintf(to, "\\%c", c);
        } else if (c == '\n' || c == '\r' || c == '\t') {
            (void)fprintf(to, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        } else if (c < ' ' || c == 127) {
            (void)fprintf(to, "\\x%02x", c);
        } else {
            (void)fputc(c, to);
        }
    }
    (void)fputc(quote, to);
}

/* Recursion is bounded by the depth of nesting that the JSON reader allows. */
static void write_value(FILE *to, json_t *value)
{
    const char *separator = "";
    char number[RK_NUMBER_TEXT_SIZE];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        (void)fputc('{', to);
        for (void *i = json_object_iter(value); i; i = json_object_iter_next(value, i)) {
            (void)fputs(separator, to);
            write_string(to, json_object_iter_key(i));
            (void)fputs(": ", to);
            write_value(to, json_object_iter_value(i));
            separator = ", ";
        }
        (void)fputc('}', to);
        break;
    case JSON_ARRAY:
        (void)fputc('[', to);
        for (size_t i = 0; i < json_array_size(value); i++) {
            (void)fputs(separator, to);
            write_value(to, json_array_get(value, i));
            separator = ", ";
        }
        (void)fputc(']', to);
        break;
    case JSON_STRING:
        write_string(to, json_string_value(value));
        break;
    case JSON_INTEGER:
        (void)fprintf(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        (void)fputs(rk_python_float_text(json_real_value(value), number), to);
        break;
    case JSON_TRUE:
        (void)fputs("True", to);
        break;
    case JSON_FALSE:
        (void)fputs("False", to);
        break;
    case JSON_NULL:
        (void)fputs("None", to);
        break;
    }
}

rk_status rk_python_literal_of_value(json_t *value, char **text, rk_error *err)
{
    rk_text_stream stream;
    size_t size;
    *text = NULL;
    if (value && rk_text_stream_open(&stream)) {
        write_value(stream.file, value);
        *text = rk_text_stream_close(&stream, &size);
    }
    return *text ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "no memory to print a document");
}

rk_status rk_python_literal_of_document(const char *name, const char *kind, char **text,
                                        rk_error *err)
{
    rk_json_doc doc = {0};
    rk_status status = rk_json_load(name, kind, &doc, err);
    if (status == RK_OK) {
        status = rk_python_literal_of_value(doc.root, text, err);
    }
    rk_json_clear(&doc);
    return status;
}
