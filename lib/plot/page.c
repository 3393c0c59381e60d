/* SPDX-License-Identifier: Apache-2.0 */
#include "plot/page.h"

#include "plot/draw.h"

static const char style[] =
    "body{font:16px/1.5 Helvetica,Arial,'Liberation Sans',sans-serif;color:#222;background:#fff;"
    "max-width:60rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}\n"
    "figure{margin:1.5rem 0}figure svg{width:100%;height:auto;max-width:60rem}\n"
    "figcaption{font-size:.9rem;color:#555}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}\n"
    "th,td{padding:.2rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}\n"
    "th{border-bottom:2px solid "
    "#999}.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n";

static void element(const char *name, const char *text, rk_out *out)
{
    rk_out_printf(out, "<%s>", name);
    rk_draw_escaped(out, text);
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
    for (size_t row = 1; row <= rows; row++) {
        if (!rk_label_is_number(cells[row * columns + column])) {
            return false;
        }
    }
    return rows > 0;
}

static void draw_row(const char *const *cells, size_t rows, size_t columns, size_t row, rk_out *out)
{
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
