/* SPDX-License-Identifier: Apache-2.0 */
/* A study as HTML and as Markdown. */
#include "figures/studies.h"

#include "figures/page.h"

#include <string.h>

rk_status rk_study_html(const rk_study *study, rk_out *out, rk_error *err)
{
    rk_status status = RK_OK;
    rk_page_open(study->title, out);
    for (size_t i = 0; i < study->item_count && !status; i++) {
        const rk_study_item *item = &study->items[i];
        switch (item->kind) {
        case RK_STUDY_HEADING:
            rk_page_heading(item->text, out);
            break;
        case RK_STUDY_TEXT:
            rk_page_paragraph(item->text, out);
            break;
        case RK_STUDY_FIGURE:
            status = rk_page_figure(&item->figure, item->text, out, err);
            break;
        case RK_STUDY_TABLE:
            rk_page_table(item->cells, item->rows, item->columns, out);
            break;
        }
    }
    rk_page_close(out);
    return status;
}

/* ---- Markdown -------------------------------------------------------------------------- */

/*
 * Breaks text into lines of up to 100 characters, none of which starts with a character that has a
 * meaning in Markdown.
 */
static void wrapped(const char *text, rk_out *out)
{
    enum { LINE = 100 };
    size_t column = 0;
    while (*text) {
        const size_t length = strcspn(text, " \n");
        if (column > 0 && column + 1 + length > LINE) {
            rk_out_text(out, "\n");
            column = 0;
        } else if (column > 0) {
            rk_out_text(out, " ");
            column++;
        }
        rk_out_write(out, text, length);
        column += length;
        text += length + strspn(text + length, " \n");
    }
    rk_out_text(out, "\n\n");
}

/* A cell with the characters escaped that would end it. */
static void cell(const char *text, rk_out *out)
{
    rk_out_text(out, " ");
    for (; *text; text++) {
        rk_out_text(out, *text == '|' ? "\\" : "");
        rk_out_write(out, *text == '\n' ? " " : text, 1);
    }
    rk_out_text(out, " |");
}

static void markdown_table(const rk_study_item *item, rk_out *out)
{
    for (size_t row = 0; row <= item->rows; row++) {
        rk_out_text(out, "|");
        for (size_t column = 0; column < item->columns; column++) {
            cell(item->cells[row * item->columns + column], out);
        }
        rk_out_text(out, "\n");
        for (size_t column = 0; row == 0 && column < item->columns; column++) {
            rk_out_text(out, column == 0 ? "|" : "");
            rk_out_text(out, rk_page_is_numeric(item->cells, item->rows, item->columns, column)
                                 ? " ---: |"
                                 : " --- |");
        }
        rk_out_text(out, row == 0 ? "\n" : "");
    }
    rk_out_text(out, "\n");
}

void rk_study_markdown(const rk_study *study, rk_out *out)
{
    rk_out_printf(out, "# %s\n\n", study->title);
    for (size_t i = 0; i < study->item_count; i++) {
        const rk_study_item *item = &study->items[i];
        switch (item->kind) {
        case RK_STUDY_HEADING:
            rk_out_printf(out, "## %s\n\n", item->text);
            break;
        case RK_STUDY_TEXT:
            wrapped(item->text, out);
            break;
        case RK_STUDY_FIGURE:
            rk_out_printf(out, "![%s](%s.svg)\n\n", item->figure.title ? item->figure.title : "",
                          item->name);
            if (item->text) {
                wrapped(item->text, out);
            }
            break;
        case RK_STUDY_TABLE:
            markdown_table(item, out);
            break;
        }
    }
}
