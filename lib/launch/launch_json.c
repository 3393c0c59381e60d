/* SPDX-License-Identifier: Apache-2.0 */
/* A launch as members of a JSON answer. */
#include "launch/launch.h"

#include <assert.h>
#include <string.h>

static const char *const origin_names[] = {
    [RK_FACT_OPEN] = "open",
    [RK_FACT_DEFAULT] = "framework default",
    [RK_FACT_DERIVED] = "derived",
    [RK_FACT_STATED] = "stated",
};

static const char *const use_names[RK_KEY_USE_COUNT] = {
    [RK_KEY_UNREAD] = "unread",        [RK_KEY_USED] = "used",
    [RK_KEY_WITHOUT_COST] = "no_cost", [RK_KEY_NOT_PRICED] = "not_priced",
    [RK_KEY_UNKNOWN] = "unknown",
};

/* A number or a truth without quotes, anything else as text. */
static void write_value(rk_json_writer *writer, const char *value)
{
    const bool truth = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    if (truth || rk_json_is_number(value)) {
        rk_json_value(writer, value);
    } else {
        rk_json_text(writer, value);
    }
}

static void write_fact(rk_json_writer *writer, const rk_launch_fact *fact)
{
    rk_json_key(writer, fact->field);
    rk_json_open(writer, "{");
    rk_json_key(writer, "value");
    write_value(writer, fact->value);
    rk_json_string(writer, "origin", origin_names[fact->origin]);
    if (fact->by) {
        rk_json_string(writer, "by", fact->by->name);
        if (fact->by->line > 0) {
            rk_json_count(writer, "line", (uint64_t)fact->by->line);
        }
    }
    rk_json_close(writer, "}");
}

static void write_keys(rk_json_writer *writer, const rk_launch *launch, rk_key_use use)
{
    assert(use < sizeof(use_names) / sizeof(use_names[0]));
    rk_json_open_member(writer, use_names[use], "[");
    for (size_t i = 0; i < launch->key_count; i++) {
        const rk_launch_key *key = &launch->keys[i];
        if (key->use != use) {
            continue;
        }
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "key", key->name);
        if (key->value) {
            rk_json_string(writer, "value", key->value);
        }
        if (key->note) {
            rk_json_string(writer, "note", key->note);
        }
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

void rk_launch_write_json(rk_json_writer *writer, const rk_launch *launch)
{
    rk_json_string(writer, "reader", launch->reader ? launch->reader->name : "");
    rk_json_open_member(writer, "facts", "{");
    for (size_t i = 0; i < launch->fact_count; i++) {
        if (launch->facts[i].origin != RK_FACT_OPEN) {
            write_fact(writer, &launch->facts[i]);
        }
    }
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "keys", "{");
    for (int use = RK_KEY_USED; use < RK_KEY_USE_COUNT; use++) {
        write_keys(writer, launch, (rk_key_use)use);
    }
    rk_json_close(writer, "}");
}
