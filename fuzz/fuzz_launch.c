/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a launch: a script, YAML, TOML or JSON by the first of them.  It is read by the
 * reader that is recognised and by the one of RECKON_FUZZ_READER, or else one that the size names,
 * and every fact is one of the table.
 */
#include "launch/launch.h"

#include <string.h>

#include "target.h"

static bool is_field(const char *name)
{
    for (size_t i = 0; i < rk_launch_field_count; i++) {
        if (strcmp(rk_launch_fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void require_launch(const rk_launch *launch)
{
    for (size_t i = 0; i < launch->fact_count; i++) {
        REQUIRE(is_field(launch->facts[i].field) && launch->facts[i].value);
    }
    for (size_t i = 0; i < launch->key_count; i++) {
        REQUIRE(launch->keys[i].name && launch->keys[i].use != RK_KEY_UNREAD);
    }
    REQUIRE(launch->program <= launch->word_count);
}

static void read_launch(const char *text, size_t size, const char *name, const char *framework)
{
    rk_launch launch = {0};
    rk_error err;
    rk_status status = rk_launch_parse(text, size, name, &launch, &err);
    rk_launch_set_reader(&launch, framework, NULL);
    status = status ? status : rk_launch_resolve(&launch, &err);
    if (status) {
        require_sound_error(&err, status);
    } else {
        require_launch(&launch);
    }
    rk_launch_clear(&launch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"run.sh", "run.yaml", "run.toml", "run.json"};
    const char *only = getenv("RECKON_FUZZ_READER");
    size_t readers = 0;
    char *text = size > 0 ? malloc(size) : NULL;
    if (!text) {
        return 0;
    }
    while (rk_launch_readers[readers]) {
        readers++;
    }
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    read_launch(text, size - 1, names[data[0] % 4], NULL);
    read_launch(text, size - 1, names[data[0] % 4],
                only ? only : rk_launch_readers[size % readers]->name);
    free(text);
    return 0;
}
