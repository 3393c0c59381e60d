/* SPDX-License-Identifier: Apache-2.0 */
/* How many entries a tokenizer has, by its class or by the model in its path: data/tokenizers. */
#include "io/csv_in.h"
#include "launch/read_megatron.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a name is in a text as a word: not after a letter, and not before a digit. */
static bool has_name(const char *text, const char *name, size_t length)
{
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
        const bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (begins && !isdigit((unsigned char)at[length])) {
            return true;
        }
    }
    return false;
}

/* The length of the longest of several names that is in a text; 0: none is. */
static size_t longest_name(const char *text, const char *names)
{
    size_t most = 0;
    for (const char *at = names + strspn(names, " "); *at; at += strspn(at, " ")) {
        char name[64];
        const size_t length = strcspn(at, " ");
        if (length < sizeof(name)) {
            (void)snprintf(name, sizeof(name), "%.*s", (int)length, at);
            most = length > most && has_name(text, name, length) ? length : most;
        }
        at += length;
    }
    return most;
}

int64_t rk_launch_tokenizer_entries(const char *name)
{
    char text[256];
    rk_csv_in table = {0};
    rk_error err;
    int64_t entries = 0;
    size_t best = 0;
    if ((size_t)snprintf(text, sizeof(text), "%s", name) >= sizeof(text) ||
        rk_csv_load_named("entries", "tokenizers", &table, &err)) {
        return 0;
    }
    for (char *c = text; *c; c++) {
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    }
    for (size_t row = 1; row <= table.rows; row++) {
        const size_t length = longest_name(text, table.cells[row * table.columns]);
        if (length > best) {
            best = length;
            entries = strtoll(table.cells[row * table.columns + 1], NULL, 10);
        }
    }
    rk_csv_in_clear(&table);
    return entries;
}
