/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with the JSON that they mean, and texts that are refused, for readers of other forms. */
#ifndef RK_TESTS_IO_FORMS_H
#define RK_TESTS_IO_FORMS_H

#include "reckon/reckon.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef rk_status parse_function(const char *text, size_t size, const char *name, json_t **root,
                                 rk_error *err);

typedef struct good_text {
    const char *text, *json;
} good_text;

typedef struct bad_text {
    const char *text;
    size_t size;
    int line, column;
    const char *says; /* part of the message */
} bad_text;

#define TEXT(literal) literal, sizeof(literal) - 1

static inline void require_meaning(parse_function *parse, const good_text *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *root = NULL;
        rk_error err;
        if (parse(cases[i].text, strlen(cases[i].text), "x", &root, &err)) {
            fail_msg("%s: %s", cases[i].text, err.message);
        }
        json_t *wanted = json_loads(cases[i].json, 0, NULL);
        char *found = json_dumps(root, JSON_COMPACT);
        assert_non_null(wanted);
        if (!json_equal(root, wanted)) {
            fail_msg("%s: %s expected, %s found", cases[i].text, cases[i].json, found);
        }
        free(found);
        json_decref(wanted);
        json_decref(root);
    }
}

static inline void require_refusal(parse_function *parse, const bad_text *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *root = NULL;
        rk_error err;
        if (parse(cases[i].text, cases[i].size, "x", &root, &err) != RK_ERR_SYNTAX) {
            fail_msg("read: %s", cases[i].text);
        }
        if (!strstr(err.message, cases[i].says) || err.line != cases[i].line ||
            err.column != cases[i].column) {
            fail_msg("%s: %d:%d: %s", cases[i].text, err.line, err.column, err.message);
        }
        assert_string_equal(err.file, "x");
        assert_null(root);
    }
}

#endif
