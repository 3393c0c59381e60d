/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the keys of a config.json of Hugging Face, and saying what is wrong with one. */
#include "base/error.h"
#include "base/units.h"
#include "model/hf_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Keys of the file that hold for its language model too. */
static const char *const shared_keys[] = {"tie_word_embeddings", "num_nextn_predict_layers"};

const json_t *rk_hf_value(const json_t *object, const char *key)
{
    char first[64];
    const char *dot = strchr(key, '.');
    if (!dot) {
        return json_object_get(object, key);
    }
    (void)snprintf(first, sizeof(first), "%.*s", (int)(dot - key), key);
    return rk_hf_value(json_object_get(object, first), dot + 1);
}

const json_t *rk_hf_find_raw(const hf_draft *draft, const char *key)
{
    const json_t *value = rk_hf_value(draft->config, key);
    for (size_t i = 0; !value && i < COUNT(shared_keys); i++) {
        if (strcmp(key, shared_keys[i]) == 0) {
            value = json_object_get(draft->root, key);
        }
    }
    return value;
}

const json_t *rk_hf_find(const hf_draft *draft, const char *key)
{
    const json_t *value = rk_hf_find_raw(draft, key);
    return json_is_null(value) ? NULL : value;
}

rk_status rk_hf_fail(const hf_draft *draft, const char *key, rk_error *err, const char *format, ...)
{
    char path[RK_JSON_PATH_SIZE], message[sizeof(err->message)];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_member(draft->path, key, path), "%s",
                      message);
}

rk_status rk_hf_read_flag(const hf_draft *draft, hf_flag flag, bool *out, rk_error *err)
{
    const json_t *value = flag.key ? rk_hf_find(draft, flag.key) : NULL;
    char found[RK_JSON_TEXT_SIZE];
    if (value && !json_is_boolean(value)) {
        return rk_hf_fail(draft, flag.key, err, "expected true or false, found %s",
                          rk_json_describe(value, found));
    }
    *out = value ? json_is_true(value) : flag.value;
    return RK_OK;
}

rk_status rk_hf_read_size(const hf_draft *draft, const char *key, const json_t *value, int64_t *out,
                          rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    const json_int_t size = json_integer_value(value);
    if (!json_is_integer(value) || size < 0 || size > HF_SIZE_MOST) {
        return rk_hf_fail(draft, key, err, "expected an integer from 0 to %" PRId64 ", found %s",
                          HF_SIZE_MOST, rk_json_describe(value, found));
    }
    *out = size;
    return RK_OK;
}

rk_status rk_hf_read_or(const hf_draft *draft, const char *key, int64_t usual, int64_t *out,
                        rk_error *err)
{
    const json_t *value = rk_hf_find(draft, key);
    *out = usual;
    return value ? rk_hf_read_size(draft, key, value, out, err) : RK_OK;
}

rk_status rk_hf_read_key(const hf_draft *draft, const char *key, int64_t *out, rk_error *err)
{
    const json_t *value = rk_hf_find(draft, key);
    return value ? rk_hf_read_size(draft, key, value, out, err)
                 : rk_hf_fail(draft, key, err, "this key is missing");
}

rk_status rk_hf_read_slots(const hf_draft *draft, const hf_slot *slots, size_t count, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; !status && i < count; i++) {
        status = slots[i].usual == HF_NEEDED
                     ? rk_hf_read_key(draft, slots[i].key, slots[i].out, err)
                     : rk_hf_read_or(draft, slots[i].key, slots[i].usual, slots[i].out, err);
    }
    return status;
}
