/* SPDX-License-Identifier: Apache-2.0 */
/* Options as members of a JSON request. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "io/json.h"
#include "io/json_memory.h"
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

/* Appends a value as on the command line: a number, a word, or an item of a list. */
static rk_status append_value(const json_t *value, rk_bytes *text, const char *path, rk_error *err)
{
    char number[RK_NUMBER_TEXT_SIZE], found[RK_JSON_TEXT_SIZE];
    const char *word = number;
    if (json_is_string(value)) {
        word = json_string_value(value);
    } else if (json_is_integer(value)) {
        (void)rk_integer_text((int64_t)json_integer_value(value), number);
    } else if (json_is_real(value)) {
        (void)rk_double_text(json_real_value(value), number);
    } else if (json_is_boolean(value)) {
        word = json_is_true(value) ? "true" : "false";
    } else {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a number, a text, true or false, not %s",
                          rk_json_describe(value, found));
    }
    rk_bytes_add(text, word, strlen(word));
    return RK_OK;
}

/* A list becomes its items between commas; an object is a document and becomes its text. */
static rk_status write_value(const json_t *value, rk_bytes *text, const char *path, rk_error *err)
{
    rk_status status = RK_OK;
    if (json_is_object(value)) {
        char *document = rk_json_dump(value, JSON_REAL_PRECISION(17));
        if (!document) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the request");
        }
        rk_bytes_add(text, document, strlen(document));
        free(document);
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value) && !status; i++) {
            char item[RK_JSON_PATH_SIZE];
            rk_bytes_add(text, ",", i > 0);
            status = append_value(json_array_get(value, i), text,
                                  rk_json_path_element(path, i, item), err);
        }
    } else {
        status = append_value(value, text, path, err);
    }
    rk_bytes_add(text, "", 1);
    return !status && text->failed
               ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for the request")
               : status;
}

static rk_status set_member(rk_job *job, const char *name, const json_t *value, rk_error *err)
{
    rk_bytes text = {0};
    if (json_is_null(value)) {
        return RK_OK; /* as if it were absent */
    }
    rk_status status = write_value(value, &text, name, err);
    if (!status) {
        status = rk_job_set(job, name, (const char *)text.data, err);
    }
    rk_bytes_clear(&text);
    return status;
}

rk_status rk_job_set_json(rk_job *job, const char *request, rk_error *err)
{
    rk_json_doc doc = {0};
    const char *name;
    json_t *value;
    rk_status status = rk_json_parse(request, strlen(request), "the request", &doc, err);
    json_object_foreach(status ? NULL : doc.root, name, value)
    {
        status = status ? status : set_member(job, name, value, err);
    }
    rk_json_clear(&doc);
    return status;
}
