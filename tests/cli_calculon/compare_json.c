/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_json EXPECTED ACTUAL: same structure and order of keys, same strings and integers,
 * reals within a relative 1e-9.  Tells the first difference by its path.
 */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const double tolerance = 1e-9;

static bool compare(const char *path, json_t *expected, json_t *actual);

static bool differ(const char *path, const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", path[0] ? path : "(root)", what);
    return false;
}

static bool compare_numbers(const char *path, json_t *expected, json_t *actual)
{
    const double x = json_number_value(expected), y = json_number_value(actual);
    const bool exact = json_is_integer(expected) && json_is_integer(actual);
    if (exact ? json_integer_value(expected) == json_integer_value(actual)
              : fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y))) {
        return true;
    }
    char text[128];
    (void)snprintf(text, sizeof(text), "expected %.17g, found %.17g", x, y);
    return differ(path, text);
}

static bool compare_arrays(const char *path, json_t *expected, json_t *actual)
{
    if (json_array_size(expected) != json_array_size(actual)) {
        return differ(path, "arrays of different length");
    }
    for (size_t i = 0; i < json_array_size(expected); i++) {
        char inner[1024];
        (void)snprintf(inner, sizeof(inner), "%s[%zu]", path, i);
        if (!compare(inner, json_array_get(expected, i), json_array_get(actual, i))) {
            return false;
        }
    }
    return true;
}

static bool compare_objects(const char *path, json_t *expected, json_t *actual)
{
    if (json_object_size(expected) != json_object_size(actual)) {
        return differ(path, "objects of different size");
    }
    void *i = json_object_iter(expected), *j = json_object_iter(actual);
    for (; i && j; i = json_object_iter_next(expected, i), j = json_object_iter_next(actual, j)) {
        char inner[1024];
        (void)snprintf(inner, sizeof(inner), "%s.%s", path, json_object_iter_key(i));
        if (strcmp(json_object_iter_key(i), json_object_iter_key(j)) != 0) {
            return differ(inner, "another key stands here");
        }
        if (!compare(inner, json_object_iter_value(i), json_object_iter_value(j))) {
            return false;
        }
    }
    return true;
}

static bool compare(const char *path, json_t *expected, json_t *actual)
{
    if (json_is_number(expected) && json_is_number(actual)) {
        return compare_numbers(path, expected, actual);
    }
    if (json_typeof(expected) != json_typeof(actual)) {
        return differ(path, "values of different type");
    }
    if (json_is_object(expected)) {
        return compare_objects(path, expected, actual);
    }
    if (json_is_array(expected)) {
        return compare_arrays(path, expected, actual);
    }
    return json_equal(expected, actual) || differ(path, "different values");
}

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root) {
        (void)fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
    }
    return root;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: compare_json EXPECTED ACTUAL\n");
        return 2;
    }
    json_t *expected = load(argv[1]), *actual = load(argv[2]);
    const bool loaded = expected && actual;
    const bool same = loaded && compare("", expected, actual);
    json_decref(expected);
    json_decref(actual);
    return !loaded ? 2 : same ? 0 : 1;
}
