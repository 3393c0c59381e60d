/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys: places in a document, such as "processors" or "system.networks[0].size".  A key whose first
 * name the document does not have is looked for among the variables in its member "let".
 */
#ifndef RK_SWEEP_KEY_H
#define RK_SWEEP_KEY_H

#include "base/value.h"
#include "io/json.h"

#define RK_SWEEP_KEY_PARTS 16 /* names and indices of one key, at most */

/* One part of a key: a name, or an index in brackets. */
typedef struct rk_sweep_key_part {
    const char *name; /* NULL: an index */
    size_t index;
} rk_sweep_key_part;

/* Released with rk_sweep_key_clear; all zero is an empty one. */
typedef struct rk_sweep_key {
    char *text;  /* owned */
    char *names; /* owned: names of the parts, each terminated */
    size_t count;
    rk_sweep_key_part parts[RK_SWEEP_KEY_PARTS];
} rk_sweep_key;

/* Errors: RK_ERR_INVALID for text that is not a key. */
rk_status rk_sweep_key_parse(const char *text, rk_sweep_key *key, rk_error *err);
void rk_sweep_key_clear(rk_sweep_key *key);

/* Whether two keys are the same place; "let.x" and "x" may be, and count as such. */
bool rk_sweep_key_same(const rk_sweep_key *a, const rk_sweep_key *b);

/*
 * Puts `value` (ownership is taken, also on failure) at the key's place in `root`. The containers
 * on the way must exist; the reader of `root` checks whether the key is valid there.
 */
rk_status rk_sweep_key_put(const rk_sweep_key *key, json_t *root, json_t *value, rk_error *err);

/* Finds the value at the key's place. Errors: there is none. */
rk_status rk_sweep_key_find(const rk_sweep_key *key, json_t *root, json_t **value, rk_error *err);

/* The same as a value: a number, text, true, false or null; an object or a list is refused. */
rk_status rk_sweep_key_get(const rk_sweep_key *key, json_t *root, rk_value *value, rk_error *err);

/* A JSON number, string, true, false or null as a value; text is borrowed. */
rk_value rk_sweep_value_of(const json_t *json);

#endif
