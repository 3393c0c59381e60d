/* SPDX-License-Identifier: Apache-2.0 */
/* Every figure of the gallery is well-formed XML, the same twice, and stays within its view. */
#include "gallery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "figures/page.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 32

/* ---- a checker of XML ------------------------------------------------------------------ */

/* Only the entities that every XML has. */
static const char *skip_entity(const char *c)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strncmp(c, known[i], strlen(known[i])) == 0) {
            return c + strlen(known[i]);
        }
    }
    fail_msg("a bare ampersand: %.40s", c);
    return NULL;
}

static const char *skip_text(const char *c, char end)
{
    while (*c && *c != end) {
        assert_true((unsigned char)*c >= ' ' || *c == '\n');
        assert_true(*c != '<');
        c = *c == '&' ? skip_entity(c) : c + 1;
    }
    return c;
}

/* name="value" until the end of the tag; no name twice. */
static const char *skip_attributes(const char *c)
{
    char names[16][32];
    size_t count = 0;
    while (*c == ' ') {
        const size_t length = strcspn(++c, "=");
        assert_true(length > 0 && length < sizeof(names[0]) && count < 16);
        (void)snprintf(names[count], sizeof(names[0]), "%.*s", (int)length, c);
        for (size_t i = 0; i < count; i++) {
            assert_string_not_equal(names[i], names[count]);
        }
        count++;
        assert_int_equal(c[length + 1], '"');
        c = skip_text(c + length + 2, '"');
        assert_int_equal(*c++, '"');
    }
    return c;
}

/* Fails the test unless all tags match, with one element around all. */
static void check_well_formed(const char *c)
{
    char open[DEPTH_MAX][32];
    size_t depth = 0, roots = 0;
    for (; *c; c = skip_text(c, '<')) {
        if (*c != '<') {
            continue;
        }
        if (strncmp(c, "<?xml ", 6) == 0 || strncmp(c, "<!DOCTYPE html>", 15) == 0) {
            c = strchr(c, '>') + 1;
            continue;
        }
        const bool closing = c[1] == '/';
        c += closing ? 2 : 1;
        const size_t length = strspn(c, "abcdefghijklmnopqrstuvwxyz0123456789");
        assert_true(length > 0 && length < sizeof(open[0]));
        if (closing) {
            assert_true(depth > 0);
            assert_int_equal(strlen(open[--depth]), length);
            assert_memory_equal(open[depth], c, length);
            c += length;
        } else {
            assert_true(depth < DEPTH_MAX);
            roots += depth == 0;
            (void)snprintf(open[depth++], sizeof(open[0]), "%.*s", (int)length, c);
            c = skip_attributes(c + length);
        }
        if (*c == '/') {
            depth--;
            c++;
        }
        assert_int_equal(*c++, '>');
    }
    assert_int_equal(depth, 0);
    assert_int_equal(roots, 1);
}

/* ---- figures as text ------------------------------------------------------------------- */

/* Reads a file, then removes it; the caller frees the text. */
static char *take_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    char *text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)size, file), (size_t)size);
    (void)fclose(file);
    (void)remove(path);
    return text;
}

static const char *file_name(void)
{
    static char name[64];
    (void)snprintf(name, sizeof(name), "test_figure-%ld.svg", (long)getpid());
    return name;
}

static char *draw(const rk_plot_figure *figure)
{
    rk_out *out;
    rk_error err;
    assert_int_equal(rk_out_open(file_name(), &out, &err), RK_OK);
    assert_int_equal(rk_plot_svg(figure, false, out, &err), RK_OK);
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    return take_file(file_name());
}

static void test_well_formed(void **state)
{
    (void)state;
    for (size_t i = 0; i < gallery_count; i++) {
        char *text = draw(&gallery[i].figure), *again = draw(&gallery[i].figure);
        check_well_formed(text);
        assert_string_equal(text, again);
        assert_null(strstr(text, "\"nan"));
        assert_null(strstr(text, "1000000000")); /* what has no place must not be drawn */
        assert_null(strstr(text, "<script"));
        free(text);
        free(again);
    }
}

/* The value of an attribute that follows; moves on. */
static double attribute(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

static void test_text_within_view(void **state)
{
    (void)state;
    for (size_t i = 0; i < gallery_count; i++) {
        char *text = draw(&gallery[i].figure);
        const double width = attribute(text, " width=\""), height = attribute(text, " height=\"");
        size_t count = 0;
        for (const char *at = strstr(text, "<text"); at; at = strstr(at + 1, "<text")) {
            const double x = attribute(at, " x=\""), y = attribute(at, " y=\"");
            assert_true(x >= 0 && x <= width && y >= 0 && y <= height);
            count++;
        }
        assert_true(count > 4);
        free(text);
    }
}

/* One legend of several panels has rows of its own, and none where no series has a name. */
static void test_one_legend(void **state)
{
    (void)state;
    static const double value[] = {1, 2};
    static const char *const names[] = {"a series", NULL};
    double heights[2];
    for (int i = 0; i < 2; i++) {
        const rk_plot_series series = {.name = names[i], .x = value, .y = value, .count = 2};
        const rk_plot_panel panel = {.series = &series, .series_count = 1};
        const rk_plot_panel panels[] = {panel, panel};
        char *text =
            draw(&(rk_plot_figure){.panels = panels, .panel_count = 2, .one_legend = true});
        heights[i] = attribute(text, " height=\"");
        free(text);
    }
    assert_true(heights[0] > heights[1] + 8);
}

static void test_page(void **state)
{
    (void)state;
    static const char *const cells[] = {"a", "<b>", "12.5", ""};
    rk_out *out;
    rk_error err;
    assert_int_equal(rk_out_open(file_name(), &out, &err), RK_OK);
    rk_page_open("A & B", out);
    rk_page_heading("heading", out);
    rk_page_paragraph("1 < 2: `a < b`, [a page](x/README.md), a lone ` and [", out);
    assert_int_equal(rk_page_figure(&gallery[0].figure, "caption", out, &err), RK_OK);
    rk_page_table(cells, 1, 2, out);
    rk_page_close(out);
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    char *text = take_file(file_name());
    check_well_formed(text);
    assert_non_null(strstr(text, "<td class=\"n\">12.5</td><td></td>"));
    assert_non_null(strstr(text, "<th>&lt;b&gt;</th>"));
    assert_non_null(
        strstr(text, "<p>1 &lt; 2: <code>a &lt; b</code>, <a href=\"x/page.html\">a page</a>, a "
                     "lone ` and [</p>"));
    assert_null(strstr(text, "<?xml"));
    free(text);
}

static void test_refused(void **state)
{
    (void)state;
    static const double cell = 1;
    static const char *const name = "one";
    const rk_plot_panel wrong = {.x = {.categories = &name, .category_count = 1},
                                 .heat = {.values = &cell, .rows = 1, .columns = 1}};
    const rk_plot_panel many = {.series_count = RK_PLOT_SERIES_MAX + 1};
    const rk_plot_figure figures[] = {
        {.panel_count = 0},
        {.panels = &wrong, .panel_count = RK_PLOT_PANELS_MAX + 1},
        {.panels = &wrong, .panel_count = 1},
        {.panels = &many, .panel_count = 1},
    };
    rk_out *out;
    rk_error err;
    assert_int_equal(rk_out_open(file_name(), &out, &err), RK_OK);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        assert_int_equal(rk_plot_svg(&figures[i], false, out, &err), RK_ERR_INVALID);
    }
    rk_out_abandon(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_well_formed), cmocka_unit_test(test_text_within_view),
        cmocka_unit_test(test_one_legend),  cmocka_unit_test(test_page),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
