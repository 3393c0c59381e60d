/* SPDX-License-Identifier: Apache-2.0 */
/* Which form a text of a launch has, and documents of every form. */
#include "base/text.h"
#include "io/toml_in.h"
#include "io/yaml_in.h"
#include "launch/launch_parts.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* ---- forms by content ------------------------------------------------------------------------ */

/* The first line that is neither empty nor a comment. */
static const char *first_line(const char *text, size_t size, size_t *length)
{
    const char *end = text + size;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        while (text < stop && isspace((unsigned char)*text)) {
            text++;
        }
        if (text < stop && (*text != '#' || (stop - text > 1 && text[1] == '!'))) {
            *length = (size_t)(stop - text);
            return text;
        }
        text = stop + (stop < end);
    }
    *length = 0;
    return text;
}

/* [table] and [[table]] alone on their line, but for a comment. */
static bool is_toml_header(const char *line, size_t length)
{
    assert(length > 0);
    const char *close = line[0] == '[' ? memchr(line, ']', length) : NULL;
    if (!close || close == line + 1) {
        return false;
    }
    for (const char *c = line + 1; c < close; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("_-.[\" ", *c)) {
            return false;
        }
    }
    const char *rest = close + 1, *end = line + length;
    while (rest < end && (isspace((unsigned char)*rest) || *rest == ']')) {
        rest++;
    }
    return rest == end || *rest == '#';
}

rk_launch_form rk_launch_form_of_text(const char *text, size_t size)
{
    size_t length = 0;
    const char *line = first_line(text, size, &length), *end = line + length;
    if (length == 0) {
        return RK_LAUNCH_WORDS;
    }
    if (line[0] == '{') {
        return RK_LAUNCH_JSON;
    }
    if (is_toml_header(line, length)) {
        return RK_LAUNCH_TOML;
    }
    if (length >= 3 && memcmp(line, "---", 3) == 0 && (length == 3 || isspace(line[3]))) {
        return RK_LAUNCH_YAML;
    }
    const char *c = line;
    while (c < end && (isalnum((unsigned char)*c) || strchr("_-.", *c))) {
        c++;
    }
    if (c == line) {
        return RK_LAUNCH_WORDS;
    }
    if (c < end && *c == ':') {
        return c + 1 == end || isspace((unsigned char)c[1]) ? RK_LAUNCH_YAML : RK_LAUNCH_WORDS;
    }
    const char *blank = c;
    while (c < end && (*c == ' ' || *c == '\t')) {
        c++;
    }
    return c > blank && c < end && *c == '=' ? RK_LAUNCH_TOML : RK_LAUNCH_WORDS;
}

/* ---- forms by name --------------------------------------------------------------------------- */

rk_launch_form rk_launch_form_of_name(const char *name)
{
    return rk_ends_with(name, ".yaml") || rk_ends_with(name, ".yml") ? RK_LAUNCH_YAML
           : rk_ends_with(name, ".toml")                             ? RK_LAUNCH_TOML
           : rk_ends_with(name, ".json")                             ? RK_LAUNCH_JSON
                                                                     : RK_LAUNCH_WORDS;
}

rk_status rk_launch_parse_document(rk_launch_form form, const char *text, size_t size,
                                   const char *name, json_t **root, rk_error *err)
{
    rk_json_doc doc = {0};
    rk_status status = RK_OK;
    switch (form) {
    case RK_LAUNCH_YAML:
        return rk_yaml_parse(text, size, name, root, err);
    case RK_LAUNCH_TOML:
        return rk_toml_parse(text, size, name, root, err);
    default:
        status = rk_json_parse(text, size, name, &doc, err);
        *root = status ? NULL : json_incref(doc.root);
        rk_json_clear(&doc);
        return status;
    }
}
