/* SPDX-License-Identifier: Apache-2.0 */
/* Looking documents up in the embedded catalogue. */
#include "io/catalogue.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int compare_entry(const void *key, const void *element)
{
    const rk_catalogue_entry *a = key, *b = element;
    const int order = strcmp(a->kind, b->kind);
    return order ? order : strcmp(a->name, b->name);
}

const rk_catalogue_entry *rk_catalogue_find(const char *kind, const char *name)
{
    const rk_catalogue_entry key = {.kind = kind, .name = name};
    return bsearch(&key, rk_catalogue, rk_catalogue_count, sizeof(key), compare_entry);
}

const char *rk_catalogue_nearest(const char *kind, const char *name)
{
    const char **names = malloc(rk_catalogue_count * sizeof(*names));
    const char *nearest = NULL;
    size_t count = 0;
    for (size_t i = 0; names && i < rk_catalogue_count; i++) {
        if (strcmp(rk_catalogue[i].kind, kind) == 0) {
            names[count++] = rk_catalogue[i].name;
        }
    }
    if (names) {
        nearest = rk_nearest_name(name, names, count);
    }
    free(names);
    return nearest;
}
