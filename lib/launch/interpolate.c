/* SPDX-License-Identifier: Apache-2.0 */
/* References of OmegaConf among the values of a configuration. */
#include "launch/launch_parts.h"
#include "launch/reader_kit.h"

#include <string.h>

enum { ROUNDS_MAX = 8, REFERENCES_MAX = 16, REFERENCE_MAX = 128, KEYS_MAX = 8192 };

/* The key that a reference of a key names: "a.b", or relative to it ".b" and "..b". */
static rk_launch_key *find_reference(const rk_launch *launch, const char *from,
                                     const char *reference)
{
    char name[2 * REFERENCE_MAX];
    size_t length = 0;
    if (reference[0] == '.') {
        length = strlen(from);
        for (; *reference == '.'; reference++) {
            while (length > 0 && from[length - 1] != '.') {
                length--;
            }
            length -= length > 0;
        }
        if (length + 1 >= REFERENCE_MAX) {
            return NULL;
        }
        memcpy(name, from, length);
        name[length] = '.';
        length += length > 0;
    }
    memcpy(name + length, reference, strlen(reference) + 1);
    return rk_launch_key_of(launch, name);
}

/* The value of a reference; NULL: it cannot be resolved. */
static const char *resolve_reference(rk_launch *launch, const rk_launch_key *from, char *reference)
{
    char *colon = strchr(reference, ':');
    if (colon) {
        *colon = '\0';
        const char *comma = strchr(colon + 1, ',');
        const bool environment = strcmp(reference, "oc.env") == 0 || strcmp(reference, "env") == 0;
        return environment && comma ? rk_launch_keep(launch, comma + 1 + strspn(comma + 1, " "))
                                    : NULL;
    }
    rk_launch_key *key = find_reference(launch, from->name, reference);
    if (!key || key == from || !key->value || strstr(key->value, "${")) {
        return NULL;
    }
    key->use = RK_KEY_USED;
    return key->value;
}

/* Replaces the first reference that can be resolved; false: there is none. */
static bool interpolate_once(rk_launch *launch, rk_launch_key *key)
{
    const char *start = key->value;
    while ((start = strstr(start, "${"))) {
        const char *end = strchr(start, '}');
        const size_t length = end ? (size_t)(end - start) - 2 : 0;
        char reference[REFERENCE_MAX];
        if (end && length > 0 && length < sizeof(reference)) {
            memcpy(reference, start + 2, length);
            reference[length] = '\0';
            const char *value = resolve_reference(launch, key, reference);
            if (value && strlen(key->value) + strlen(value) < 4096) {
                key->value = rk_launch_format(launch, "%.*s%s%s", (int)(start - key->value),
                                              key->value, value, end + 1);
                return true;
            }
        }
        start += 2;
    }
    return false;
}

/* A value that refers to another, which refers to a third, needs one more round. */
void rk_launch_interpolate(rk_launch *launch)
{
    bool changed = launch->key_count <= KEYS_MAX; /* no configuration has more */
    for (int round = 0; changed && round < ROUNDS_MAX; round++) {
        changed = false;
        for (size_t i = 0; i < launch->key_count; i++) {
            rk_launch_key *key = &launch->keys[i];
            for (int n = 0; key->value && key->json && n < REFERENCES_MAX; n++) {
                if (!interpolate_once(launch, key)) {
                    break;
                }
                changed = true;
            }
        }
    }
}
