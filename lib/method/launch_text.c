/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a launch, for people. */
#include "launch/launch.h"
#include "method/answer.h"

#include <assert.h>
#include <string.h>

static size_t count_keys(const rk_launch *launch, rk_key_use use)
{
    size_t count = 0;
    for (size_t i = 0; i < launch->key_count; i++) {
        count += launch->keys[i].use == use;
    }
    return count;
}

/* Whether a key before this one has its name: one line says it for both. */
static bool is_repeated(const rk_launch *launch, size_t key)
{
    assert(key < launch->key_count);
    for (size_t i = 0; i < key; i++) {
        if (launch->keys[i].use == launch->keys[key].use &&
            strcmp(launch->keys[i].name, launch->keys[key].name) == 0) {
            return true;
        }
    }
    return false;
}

static void write_not_priced(FILE *to, const rk_launch *launch)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        const rk_launch_key *key = &launch->keys[i];
        if (key->use == RK_KEY_NOT_PRICED && !is_repeated(launch, i)) {
            rk_write_label(to, "");
            (void)fprintf(to, "not priced: %s%s%.40s%s%s\n", key->name, key->value ? " " : "",
                          key->value ? key->value : "", key->note ? ": " : "",
                          key->note ? key->note : "");
        }
    }
}

static void write_unknown(FILE *to, const rk_launch *launch)
{
    const char *before = "unknown: ";
    rk_write_label(to, "");
    for (size_t i = 0; i < launch->key_count; i++) {
        if (launch->keys[i].use == RK_KEY_UNKNOWN && !is_repeated(launch, i)) {
            (void)fprintf(to, "%s%s", before, launch->keys[i].name);
            before = ", ";
        }
    }
    (void)fputc('\n', to);
}

/* The keys of a use by name, in one line. */
static void write_names(FILE *to, const rk_launch *launch, rk_key_use use, const char *heading)
{
    enum { MOST = 5 };
    size_t names = 0;
    for (size_t i = 0; i < launch->key_count; i++) {
        if (launch->keys[i].use == use && !is_repeated(launch, i)) {
            names++;
            if (names == 1) {
                rk_write_label(to, "");
            }
            if (names <= MOST) {
                (void)fprintf(to, "%s%s", names == 1 ? heading : ", ", launch->keys[i].name);
            }
        }
    }
    if (names > MOST) {
        (void)fprintf(to, " and %zu more", names - MOST);
    }
    (void)fputs(names ? "\n" : "", to);
}

void rk_launch_write_text(FILE *to, const rk_launch *launch, bool full)
{
    const size_t used = count_keys(launch, RK_KEY_USED);
    rk_write_label(to, "launch");
    (void)fprintf(to, "%s, %s; %zu %s used, %zu without cost\n", launch->name, launch->reader->name,
                  used, used == 1 ? "key" : "keys", count_keys(launch, RK_KEY_WITHOUT_COST));
    if (!full) {
        write_names(to, launch, RK_KEY_NOT_PRICED, "not priced: ");
        write_names(to, launch, RK_KEY_UNKNOWN, "unknown: ");
        return;
    }
    write_not_priced(to, launch);
    if (count_keys(launch, RK_KEY_UNKNOWN) > 0) {
        write_unknown(to, launch);
    }
}
