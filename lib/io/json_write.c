/* SPDX-License-Identifier: Apache-2.0 */
/* The two layouts of JSON: indented and on one line. */
#include "io/json_write.h"

#include "base/text.h"
#include "io/catalogue.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static void new_line(rk_json_writer *writer)
{
    static const char blanks[] = "                ";
    int indent = 2 * writer->depth;
    rk_out_write(writer->out, "\n", 1);
    while (indent > 0) {
        const int some = indent < (int)sizeof(blanks) - 1 ? indent : (int)sizeof(blanks) - 1;
        rk_out_write(writer->out, blanks, (size_t)some);
        indent -= some;
    }
}

void rk_json_item(rk_json_writer *writer)
{
    if (writer->started) {
        rk_out_text(writer->out, writer->indented ? "," : ", ");
    }
    if (writer->indented) {
        new_line(writer);
    }
    writer->started = true;
}

void rk_json_key(rk_json_writer *writer, const char *name)
{
    rk_json_item(writer);
    rk_out_write(writer->out, "\"", 1);
    rk_out_text(writer->out, name);
    rk_out_write(writer->out, "\": ", 3);
}

/* Whether a text is a number that is not finite, in any spelling, or empty. */
static bool is_no_value(const char *text)
{
    const char *word = text + (*text == '-');
    return !*word || *word == 'I' || *word == 'i' || *word == 'N' || strncmp(word, "nan", 3) == 0;
}

void rk_json_value(rk_json_writer *writer, const char *text)
{
    rk_out_text(writer->out, is_no_value(text) ? "null" : text);
}

bool rk_json_is_number(const char *text)
{
    static const char digits[] = "0123456789";
    const char *c = text + (*text == '-');
    const size_t whole = strspn(c, digits);
    if (whole == 0 || (whole > 1 && *c == '0')) {
        return false;
    }
    c += whole;
    if (*c == '.') {
        const size_t decimals = strspn(c + 1, digits);
        if (decimals == 0) {
            return false;
        }
        c += 1 + decimals;
    }
    if (*c == 'e' || *c == 'E') {
        c += c[1] == '-' || c[1] == '+' ? 2 : 1;
        const size_t exponent = strspn(c, digits);
        return exponent > 0 && c[exponent] == '\0';
    }
    return *c == '\0';
}

void rk_json_open(rk_json_writer *writer, const char *bracket)
{
    rk_out_text(writer->out, bracket);
    writer->depth++;
    writer->started = false;
}

void rk_json_close(rk_json_writer *writer, const char *bracket)
{
    writer->depth--;
    if (writer->indented && writer->started) {
        new_line(writer);
    }
    rk_out_text(writer->out, bracket);
    writer->started = true;
}

/* ---- members --------------------------------------------------------------------------- */

void rk_json_count(rk_json_writer *writer, const char *key, uint64_t value)
{
    rk_json_key(writer, key);
    rk_out_printf(writer->out, "%" PRIu64, value);
}

void rk_json_real(rk_json_writer *writer, const char *key, double value)
{
    char text[RK_NUMBER_TEXT_SIZE];
    rk_json_key(writer, key);
    rk_json_value(writer, rk_double_text(value, text));
}

void rk_json_flag(rk_json_writer *writer, const char *key, bool value)
{
    rk_json_key(writer, key);
    rk_json_value(writer, value ? "true" : "false");
}

void rk_json_text(rk_json_writer *writer, const char *text)
{
    rk_out_text(writer->out, "\"");
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] - 0x20U < 0x60 && text[plain] != '"' &&
               text[plain] != '\\') {
            plain++;
        }
        rk_out_write(writer->out, text, plain);
        text += plain;
        const unsigned char *end = (const unsigned char *)text;
        if (*end >= 0x80) {
            const uint32_t code = rk_next_character(&end);
            const size_t size = (size_t)((const char *)end - text);
            rk_out_write(writer->out, code == 0xFFFD ? "\xEF\xBF\xBD" : text,
                         code == 0xFFFD ? 3 : size);
            text += size;
        } else if (*text) {
            rk_out_printf(writer->out, *end < 0x20 ? "\\u%04x" : "\\%c", *text);
            text++;
        }
    }
    rk_out_text(writer->out, "\"");
}

void rk_json_string(rk_json_writer *writer, const char *key, const char *text)
{
    rk_json_key(writer, key);
    rk_json_text(writer, text);
}

void rk_json_open_member(rk_json_writer *writer, const char *key, const char *bracket)
{
    rk_json_key(writer, key);
    rk_json_open(writer, bracket);
}

void rk_json_open_answer(rk_json_writer *writer)
{
    const rk_catalogue_entry *page =
        rk_out_is_page(writer->out) ? rk_catalogue_find("pages", "report") : NULL;
    if (page) {
        rk_out_begin_page(writer->out, page->text, page->size);
        (void)rk_out_fill_place(writer->out, "answer");
    }
    rk_json_open(writer, "{");
    rk_json_count(writer, "schema_version", RK_SCHEMA_VERSION);
    rk_json_string(writer, "reckon", rk_version());
}

void rk_json_performance(rk_json_writer *writer, double cpu_s, double wall_s)
{
    assert(cpu_s >= 0);
    rk_json_open_member(writer, "performance", "{");
    rk_json_real(writer, "processor_time_s", cpu_s);
    if (wall_s >= 0) {
        rk_json_real(writer, "wall_time_s", wall_s);
    }
    rk_json_close(writer, "}");
}
