/* SPDX-License-Identifier: Apache-2.0 */
/* Output files: complete under their name or not there at all. */
#include "io/out.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "scratch.h"

static void assert_holds(const char *path, const char *text)
{
    size_t size;
    char *found = scratch_read(path, &size);
    assert_non_null(found);
    assert_string_equal(found, text);
    free(found);
}

static rk_out *open_out(const char *path)
{
    rk_out *out;
    rk_error err;
    assert_int_equal(rk_out_open(path, &out, &err), RK_OK);
    assert_non_null(out);
    return out;
}

static void test_appears_when_complete(void **state)
{
    scratch *s = *state;
    rk_error err;
    char path[512], longer[2001];
    (void)snprintf(path, sizeof(path), "%s", scratch_path(s, "a.txt"));
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';

    rk_out *out = open_out(path);
    rk_out_text(out, "one ");
    rk_out_write(out, "twofold", 3);
    rk_out_printf(out, " %d %s", 3, longer);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    char expected[2100];
    (void)snprintf(expected, sizeof(expected), "one two 3 %s", longer);
    assert_holds(path, expected);
    assert_int_equal(scratch_count(s), 1);
}

static void test_replaces_when_complete(void **state)
{
    scratch *s = *state;
    rk_error err;
    char path[512];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%s", scratch_path(s, "a.txt"));
    assert_true(scratch_write(s, "a.txt", "old", 3));
    assert_int_equal(chmod(path, 0640), 0);

    rk_out *out = open_out(path);
    rk_out_text(out, "new");
    assert_holds(path, "old");
    rk_out_abandon(out);
    assert_holds(path, "old");
    assert_int_equal(scratch_count(s), 1);

    out = open_out(path);
    rk_out_text(out, "new");
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    assert_holds(path, "new");
    assert_int_equal(scratch_count(s), 1);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void test_link_stays(void **state)
{
    scratch *s = *state;
    rk_error err;
    char path[512], link[512];
    struct stat info;
    (void)snprintf(path, sizeof(path), "%s", scratch_path(s, "a.txt"));
    (void)snprintf(link, sizeof(link), "%s", scratch_path(s, "b.txt"));
    assert_true(scratch_write(s, "a.txt", "old", 3));
    assert_int_equal(symlink("a.txt", link), 0);
    rk_out *out = open_out(link);
    rk_out_text(out, "new");
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    assert_holds(path, "new");
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

/* Two writers of one file do not meet; the last to finish wins. */
static void test_two_writers(void **state)
{
    scratch *s = *state;
    rk_error err;
    char path[512];
    (void)snprintf(path, sizeof(path), "%s", scratch_path(s, "a.txt"));
    rk_out *first = open_out(path), *second = open_out(path);
    rk_out_text(first, "first");
    rk_out_text(second, "second");
    assert_int_equal(rk_out_close(second, &err), RK_OK);
    assert_int_equal(rk_out_close(first, &err), RK_OK);
    assert_holds(path, "first");
    assert_int_equal(scratch_count(s), 1);
}

static void test_cannot_open(void **state)
{
    scratch *s = *state;
    rk_error err;
    rk_out *out = (rk_out *)s;
    assert_int_equal(rk_out_open(scratch_path(s, "absent/a.txt"), &out, &err), RK_ERR_IO);
    assert_null(out);
    assert_string_equal(err.file, s->path);
    assert_int_equal(rk_out_open(s->folder, &out, &err), RK_ERR_IO);
    assert_int_equal(rk_out_open("", &out, &err), RK_ERR_IO);
    assert_int_equal(scratch_count(s), 0);
    rk_out_abandon(NULL);
}

static void test_device(void **state)
{
    rk_error err;
    (void)state;
    rk_out *out = open_out("/dev/null");
    rk_out_text(out, "gone");
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    if (access("/dev/full", W_OK) == 0) {
        out = open_out("/dev/full");
        rk_out_text(out, "no room");
        assert_int_equal(rk_out_close(out, &err), RK_ERR_IO);
        assert_string_equal(err.file, "/dev/full");
        assert_non_null(strstr(err.message, "No space left"));
    }
}

/* A write that fails half-way, here for a limit on the size of files, leaves what was there. */
static void test_failed_write(void **state)
{
    scratch *s = *state;
    static const char *const names[] = {"a.txt", "a.txt.gz"};
    struct rlimit old, low;
    rk_error err;
    unsigned noise = 1;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = 100000;
    (void)signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        assert_true(scratch_write(s, names[i], "old", 3));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
        rk_out *out = open_out(scratch_path(s, names[i]));
        for (int j = 0; j < 400000; j++) {
            noise = noise * 1664525u + 1013904223u;
            rk_out_printf(out, "%u", noise >> 8);
        }
        assert_int_equal(rk_out_close(out, &err), RK_ERR_IO);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_non_null(strstr(err.message, "File too large"));
        assert_string_equal(err.file, s->path);
        assert_holds(s->path, "old");
        assert_int_equal(scratch_count(s), i + 1);
    }
}

static int set_up(void **state)
{
    static scratch s;
    *state = &s;
    return scratch_make(&s) ? 0 : -1;
}

static int tear_down(void **state)
{
    scratch_remove(*state);
    return 0;
}

static void count_piece(void *user, const char *text, size_t size)
{
    size_t *counts = user;
    assert_true(size > 0 && size <= 16384 && text[0] == 'x' && text[size - 1] == 'x');
    counts[0]++;
    counts[1] += size;
}

/* A program's writer gets whole pieces, and no empty one. */
static void test_writer(void **state)
{
    static const size_t sizes[][2] = {{0, 0}, {1, 1}, {16384, 1}, {16385, 2}, {40000, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t counts[2] = {0, 0};
        rk_out *out;
        rk_error err;
        assert_int_equal(rk_out_open_writer(count_piece, counts, &out, &err), RK_OK);
        for (size_t j = 0; j < sizes[i][0]; j++) {
            rk_out_write(out, "x", 1);
        }
        assert_int_equal(rk_out_close(out, &err), RK_OK);
        assert_int_equal(counts[0], sizes[i][1]);
        assert_int_equal(counts[1], sizes[i][0]);
    }
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(test_appears_when_complete),
        IN_SCRATCH(test_replaces_when_complete),
        IN_SCRATCH(test_link_stays),
        IN_SCRATCH(test_two_writers),
        IN_SCRATCH(test_cannot_open),
        IN_SCRATCH(test_device),
        IN_SCRATCH(test_failed_write),
        cmocka_unit_test(test_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
