/* SPDX-License-Identifier: Apache-2.0 */
/* Maps lists, compile switches and kinds of context parallelism in launches to option values. */
#include "request/launch_words.h"

#include "base/units.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *rk_launch_list_of(const char *value, char out[RK_LAUNCH_LIST_SIZE])
{
    size_t used = 0;
    for (const char *c = value; *c && used + 1 < RK_LAUNCH_LIST_SIZE; c++) {
        const bool part = isalnum((unsigned char)*c) || strchr("_-.", *c);
        if (part) {
            out[used++] = *c;
        } else if (used > 0 && out[used - 1] != ',') {
            out[used++] = ',';
        }
    }
    used -= used > 0 && out[used - 1] == ',';
    out[used] = '\0';
    return out;
}

const char *rk_launch_choose(const char *value, const char *const *names,
                             char out[RK_LAUNCH_LIST_SIZE])
{
    char list[RK_LAUNCH_LIST_SIZE], *rest = rk_launch_list_of(value, list) ? list : NULL;
    size_t used = 0;
    out[0] = '\0';
    for (char *word; (word = strtok_r(rest, ",", &rest));) {
        for (size_t i = 0; names[i]; i++) {
            if (strcmp(names[i], word) == 0 && used + strlen(word) + 2 < RK_LAUNCH_LIST_SIZE) {
                used += (size_t)snprintf(out + used, RK_LAUNCH_LIST_SIZE - used, "%s%s",
                                         used ? "," : "", word);
            }
        }
    }
    return out;
}

bool rk_launch_compiles(const char *parts)
{
    return parts && (strcmp(parts, "true") == 0 || strstr(parts, "model"));
}

const char *rk_launch_cp_kind(const char *word)
{
    static const char *const kinds[][2] = {
        {"p2p", "ring"},
        {"megatron_cp_algo", "ring"},
        {"a2a", "ulysses"},
        {"ulysses_cp_algo", "ulysses"},
        {"all_gather", "all-gather"},
        {"allgather", "all-gather"},
        {"kvallgather_cp_algo", "all-gather"},
    };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strcmp(word, kinds[i][0]) == 0) {
            return kinds[i][1];
        }
    }
    return strncmp(word, "ulysses (", strlen("ulysses (")) == 0 ? "ulysses" : word; /* a note */
}
