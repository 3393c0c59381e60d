/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the targets that parse configuration files. */
#ifndef RK_FUZZ_CONFIG_H
#define RK_FUZZ_CONFIG_H

#include "target.h"

#include <jansson.h>

typedef rk_status config_parser(const char *text, size_t size, const char *name, json_t **root,
                                rk_error *err);

/* Any bytes: a faulty text has a position, a good one is JSON that can be written and read. */
static inline int fuzz_config(config_parser *parse, const uint8_t *data, size_t size)
{
    json_t *root;
    rk_error err;
    const rk_status status = parse((const char *)data, size, "input", &root, &err);
    if (status) {
        REQUIRE(!root);
        require_sound_error(&err, status);
        return 0;
    }
    char *text = json_dumps(root, JSON_REAL_PRECISION(17));
    REQUIRE(text && json_is_object(root));
    json_t *again = json_loads(text, 0, NULL);
    REQUIRE(json_equal(root, again));
    json_decref(again);
    free(text);
    json_decref(root);
    return 0;
}

#endif
