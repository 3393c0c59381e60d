/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON documents: reading with exact positions of what is wrong.  Only lib/io
 * and lib/sweep, which patches documents, know jansson.
 */
#ifndef RK_IO_JSON_H
#define RK_IO_JSON_H

#include "reckon/reckon.h"

#include <jansson.h>

/* A parsed document.  The caller releases it with rk_json_clear; all zero is an empty one. */
typedef struct rk_json_doc {
    json_t *root;   /* owned; an object */
    char name[256]; /* file path or catalogue name, for messages */
} rk_json_doc;

/*
 * Parses `size` bytes of text; `name` is used in messages.  Refuses duplicate keys, trailing
 * text, numbers that overflow, a root that is not an object, nesting deeper than jansson allows
 * (RK_ERR_SYNTAX with line and column, or RK_ERR_INVALID).
 */
rk_status rk_json_parse(const char *text, size_t size, const char *name, rk_json_doc *doc,
                        rk_error *err);

/* "Qwen/Qwen3-4B": an organisation and a model, and no path of this machine. */
bool rk_json_is_hub_id(const char *name);

/* Whether a name means a file and not a catalogue entry: it ends in .json or .json.gz. */
bool rk_json_is_file(const char *name);

/* Whether a name is itself a JSON document, that is, begins with '{'. */
bool rk_json_is_text(const char *name);

/* The title of a document in messages: its name, or "JSON text". */
const char *rk_json_title(const char *name);

/*
 * Loads a JSON text, a file (.json, or .json.gz read through zlib; any other extension is refused),
 * or, when `name` is neither, the catalogue entry of that name and kind ("calculon/applications").
 * A name that is neither is RK_ERR_IO (a path) or RK_ERR_INVALID (a name, with the nearest one).
 * `kind` may be NULL: files only.  Files above 64 MiB (unpacked) are refused.
 */
rk_status rk_json_load(const char *name, const char *kind, rk_json_doc *doc, rk_error *err);

/*
 * Reads the text of a JSON text or a file (unpacked) unchecked, and as it is but for Infinity,
 * -Infinity and NaN, which Python writes and JSON lacks: they are null.  The caller frees *text,
 * which is NULL after a failure.
 */
rk_status rk_json_read_text(const char *name, char **text, size_t *size, rk_error *err);

/* As rk_json_load of a file, but reads Infinity, -Infinity and NaN, which Python writes, as null.
 */
rk_status rk_json_load_python(const char *path, rk_json_doc *doc, rk_error *err);

void rk_json_clear(rk_json_doc *doc);

/* Names the JSON type of a value for a message: "an integer", "a string", "null"... */
const char *rk_json_type_name(const json_t *value);

#define RK_JSON_TEXT_SIZE 80

/* Describes a value for a message: 24, a real 8.0, a string "flaot8", an array.  Returns out. */
const char *rk_json_describe(const json_t *value, char out[RK_JSON_TEXT_SIZE]);

/*
 * Copies `text` so that it can be shown on one line of a terminal: control characters become '?',
 * and what does not fit is cut at a character and replaced by "...".  Returns out.
 */
const char *rk_json_printable(const char *text, char *out, size_t size);

#define RK_JSON_PATH_SIZE 128

/* The JSON path of a member ("a.b") or an element ("a[1]") of the value at `base` ("": root). */
const char *rk_json_path_member(const char *base, const char *key, char out[RK_JSON_PATH_SIZE]);
const char *rk_json_path_element(const char *base, size_t index, char out[RK_JSON_PATH_SIZE]);

#endif
