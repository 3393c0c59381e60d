/* SPDX-License-Identifier: Apache-2.0 */
/* Writes HTML pages: Markdown links and code in text, tables, embedded figures. */
#include "figures/page.h"

#include "base/text.h"
#include "figures/draw.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define TARGET_SIZE 256

static const char style[] =
    "body{font:16px/1.5 Helvetica,Arial,'Liberation Sans',sans-serif;color:#222;background:#fff;"
    "max-width:60rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}\n"
    "figure{margin:1.5rem 0}figure svg{width:100%;height:auto;max-width:60rem}\n"
    "img{max-width:100%}figcaption{font-size:.9rem;color:#555}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}\n"
    "th,td{padding:.2rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}\n"
    "th{border-bottom:2px solid "
    "#999}.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n";

/* A part of a text, escaped. */
static void piece(const char *text, size_t length, rk_out *out)
{
    char part[TARGET_SIZE];
    for (size_t size; length > 0; text += size, length -= size) {
        size = length < sizeof(part) ? length : sizeof(part) - 1;
        while (size > 1 && size < length && ((unsigned char)text[size] & 0xc0) == 0x80) {
            size--; /* not within a character */
        }
        memcpy(part, text, size);
        part[size] = '\0';
        rk_draw_escaped(out, part);
    }
}

/*
 * A link or picture of Markdown, "[text](file)" or "![text](file)", to a file in the folder of the
 * page; a README.md is the page.html of its folder.  Returns its length; 0: none begins at `text`.
 */
static size_t write_link(const char *text, rk_out *out)
{
    static const char readme[] = "README.md";
    char target[TARGET_SIZE];
    const bool picture = text[0] == '!';
    if (text[picture] != '[') {
        return 0;
    }
    const char *shown = text + picture + 1, *middle = shown + strcspn(shown, "[]");
    const bool named = strncmp(middle, "](", 2) == 0;
    const size_t length = named ? strcspn(middle + 2, ") :") : 0;
    if (length == 0 || middle[2] == '/' || middle[2 + length] != ')' ||
        length + sizeof("page.html") > sizeof(target)) {
        return 0;
    }
    memcpy(target, middle + 2, length);
    target[length] = '\0';
    if (rk_ends_with(target, readme)) {
        memcpy(target + length - strlen(readme), "page.html", sizeof("page.html"));
    }
    rk_out_text(out, picture ? "<img src=\"" : "<a href=\"");
    rk_draw_escaped(out, target);
    rk_out_text(out, picture ? "\" alt=\"" : "\">");
    piece(shown, (size_t)(middle - shown), out);
    rk_out_text(out, picture ? "\"/>" : "</a>");
    return (size_t)(middle + 2 + length + 1 - text);
}

/* Code of Markdown, "`code`".  Returns its length; 0: none begins at `text`. */
static size_t write_code(const char *text, rk_out *out)
{
    const size_t length = text[0] == '`' ? strcspn(text + 1, "`") : 0;
    if (length == 0 || text[1 + length] != '`') {
        return 0;
    }
    rk_out_text(out, "<code>");
    piece(text + 1, length, out);
    rk_out_text(out, "</code>");
    return length + 2;
}

static void element(const char *name, const char *text, rk_out *out)
{
    rk_out_printf(out, "<%s>", name);
    while (*text) {
        const size_t plain = strcspn(text, "![`");
        piece(text, plain, out);
        text += plain;
        size_t length = *text ? write_link(text, out) : 0;
        length = *text && length == 0 ? write_code(text, out) : length;
        piece(text, *text && length == 0 ? 1 : 0, out);
        text += length > 0 ? length : *text != '\0';
    }
    rk_out_printf(out, "</%s>\n", name);
}

void rk_page_open(const char *title, rk_out *out)
{
    rk_out_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                     "<meta name=\"viewport\" content=\"width=device-width\"/>\n");
    element("title", title, out);
    rk_out_text(out, "<style>\n");
    rk_out_text(out, style);
    rk_out_text(out, "</style>\n</head>\n<body>\n");
    element("h1", title, out);
}

void rk_page_heading(const char *text, rk_out *out)
{
    element("h2", text, out);
}

void rk_page_paragraph(const char *text, rk_out *out)
{
    element("p", text, out);
}

rk_status rk_page_figure(const rk_plot_figure *figure, const char *caption, rk_out *out,
                         rk_error *err)
{
    rk_out_text(out, "<figure>\n");
    const rk_status status = rk_plot_svg(figure, true, out, err);
    if (caption) {
        element("figcaption", caption, out);
    }
    rk_out_text(out, "</figure>\n");
    return status;
}

/* ---- tables ---------------------------------------------------------------------------- */

bool rk_page_is_numeric(const char *const *cells, size_t rows, size_t columns, size_t column)
{
    assert(column < columns);
    for (size_t row = 1; row <= rows; row++) {
        if (!rk_label_is_number(cells[row * columns + column])) {
            return false;
        }
    }
    return rows > 0;
}

static void draw_row(const char *const *cells, size_t rows, size_t columns, size_t row, rk_out *out)
{
    assert(row <= rows);
    const char *const name = row == 0 ? "th" : "td";
    rk_out_text(out, "<tr>");
    for (size_t i = 0; i < columns; i++) {
        rk_out_printf(out, "<%s%s>", name,
                      rk_page_is_numeric(cells, rows, columns, i) ? " class=\"n\"" : "");
        rk_draw_escaped(out, cells[row * columns + i]);
        rk_out_printf(out, "</%s>", name);
    }
    rk_out_text(out, "</tr>\n");
}

void rk_page_table(const char *const *cells, size_t rows, size_t columns, rk_out *out)
{
    rk_out_text(out, "<div class=\"wide\">\n<table>\n<thead>\n");
    draw_row(cells, rows, columns, 0, out);
    rk_out_text(out, "</thead>\n<tbody>\n");
    for (size_t row = 1; row <= rows; row++) {
        draw_row(cells, rows, columns, row, out);
    }
    rk_out_text(out, "</tbody>\n</table>\n</div>\n");
}

void rk_page_close(rk_out *out)
{
    rk_out_text(out, "</body>\n</html>\n");
}
