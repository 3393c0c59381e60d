/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of Megatron-LM as the framework of a launch writes the same settings. */
#include "base/bytes.h"
#include "base/error.h"
#include "launch/launch_parts.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 128 };

typedef struct spelling {
    const rk_launch *launch;
    rk_flag_table core, own; /* of Megatron-LM, and of the reader */
    bool alike;              /* the reader has Megatron-LM's flags */
} spelling;

static bool is_alike(const rk_launch_reader *reader)
{
    bool alike = false;
    for (size_t i = 0; i < RK_LAUNCH_TABLES_MAX && reader->tables[i]; i++) {
        alike = alike || strcmp(reader->tables[i], "megatron-lm") == 0;
    }
    return alike;
}

/* The key that states a field in this launch; NULL: none. */
static const rk_launch_key *key_of(const rk_launch *launch, const char *field)
{
    const rk_launch_fact *fact = rk_launch_find_fact(launch, field);
    return fact && fact->origin == RK_FACT_STATED ? fact->by : NULL;
}

/* "tensor_model_parallel_size", also as the end of "trainer.strategy.tensor_model_parallel_size".
 */
static bool ends_alike(const char *name, const char *wanted)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;
    while (*last && (*last == *wanted || (*last == '_' && *wanted == '-'))) {
        last++;
        wanted++;
    }
    return *last == '\0' && *wanted == '\0';
}

/* The reader's own flag for a flag of Megatron-LM: of the same fact, or of the same name. */
static const rk_launch_flag *find_own(const spelling *s, const char *name, const char *field)
{
    const rk_launch_key *key = *field ? key_of(s->launch, field) : NULL;
    const rk_launch_flag *flag = key ? rk_flag_table_find(&s->own, key->name) : NULL;
    if (flag && strcmp(flag->field, field) == 0) {
        return flag;
    }
    /* One that the launch has comes first: a name may end flags of several sections. */
    const rk_launch_flag *best = NULL;
    for (int by_name = 1; by_name >= 0 && !best; by_name--) {
        for (size_t i = 0; i < s->own.count; i++) {
            flag = &s->own.names[i].flag;
            if (!(by_name ? ends_alike(flag->name, name)
                          : *field && strcmp(flag->field, field) == 0)) {
                continue;
            }
            if (rk_launch_has(s->launch, flag->name)) {
                return flag;
            }
            best = !best && strcmp(flag->class, "unsupported") != 0 ? flag : best;
        }
    }
    return best;
}

/* Whether settings are "tp: 4" or "tp=4", a line each. */
static bool is_paired(const spelling *s)
{
    return s->launch->document_count > 0 || s->launch->reader->words_are_pairs;
}

/* "--tp 4", "tp=4" or "tp: 4", and without a value "tp", or its truth. */
static void add_own(const spelling *s, const rk_launch_flag *flag, const char *value, size_t length,
                    bool removed, rk_bytes *out)
{
    const bool document = s->launch->document_count > 0, pair = is_paired(s);
    const bool truth = length == 0 && (pair || strncmp(flag->type, "bool-value", 10) == 0);
    rk_bytes_add(out, "--", pair ? 0 : 2);
    rk_bytes_add(out, flag->name, strlen(flag->name));
    if (!removed && (length > 0 || truth)) {
        const char *between = document ? ": " : pair ? "=" : " ";
        rk_bytes_add(out, between, strlen(between));
        rk_bytes_add(out, truth ? "true" : value, truth ? 4 : length);
    }
}

/* The name of the flag text[0 .. length-1]; returns its end. */
static size_t read_name(const char *text, size_t length, char name[NAME_SIZE])
{
    const size_t start = strspn(text, "-");
    size_t end = start;
    while (end < length && text[end] != ' ') {
        end++;
    }
    (void)snprintf(name, NAME_SIZE, "%.*s", (int)(end - start), text + start);
    return end;
}

/* The flag of the launch that says the same in another way, and conflicts with a new one. */
static const rk_launch_key *find_rival(const spelling *s, const char *text, size_t length)
{
    char name[NAME_SIZE];
    (void)read_name(text, length, name);
    const rk_launch_flag *core = rk_flag_table_find(&s->core, name);
    const rk_launch_key *key =
        core && core->field[0] && length > 0 ? key_of(s->launch, core->field) : NULL;
    return s->alike && key && strcmp(key->name, core->name) != 0 ? key : NULL;
}

/* Spells one flag, text[0 .. length-1]; a flag that the reader lacks stays as it is. */
static void spell(const spelling *s, const char *text, size_t length, bool removed, rk_bytes *out)
{
    char name[NAME_SIZE];
    const size_t end = read_name(text, length, name);
    const rk_launch_flag *core = rk_flag_table_find(&s->core, name);
    const rk_launch_flag *own = s->alike ? NULL : find_own(s, name, core ? core->field : "");
    const rk_launch_key *rival = removed ? find_rival(s, text, length) : NULL;
    if (rival) {
        rk_bytes_add(out, "--", 2);
        rk_bytes_add(out, rival->name, strlen(rival->name));
    } else if (own) {
        const size_t value = end < length ? end + 1 : length;
        add_own(s, own, text + value, length - value, removed, out);
    } else {
        rk_bytes_add(out, text, length);
    }
}

/* Where a flag ends that begins at `at`: before the next one, or before a comma. */
static size_t flag_length(const char *at)
{
    const char *next = strstr(at + 1, " --"), *comma = strstr(at, ", ");
    next = !next || (comma && comma < next) ? comma : next;
    return next ? (size_t)(next - at) : strlen(at);
}

static void add_rival(rk_bytes *rivals, const char *between, const char *name)
{
    rk_bytes_add(rivals, between, strlen(between));
    rk_bytes_add(rivals, "--", 2);
    rk_bytes_add(rivals, name, strlen(name));
}

/* Spells all flags of a text; flags of the launch that conflict with new ones go to `rivals`. */
static void spell_all(const spelling *s, const char *flags, bool names, const char *between,
                      rk_bytes *out, rk_bytes *rivals)
{
    static const char without[] = "without ";
    for (const char *at = flags; *at;) {
        const bool named = strncmp(at, without, strlen(without)) == 0;
        const char *flag = named ? at + strlen(without) : at;
        const size_t length = flag_length(flag);
        const rk_launch_key *rival = named || names ? NULL : find_rival(s, flag, length);
        rk_bytes_add(out, without, named ? strlen(without) : 0);
        if (strncmp(flag, "--", 2) == 0) {
            spell(s, flag, length, named || names, out);
        } else {
            rk_bytes_add(out, flag, length);
        }
        if (rival) {
            add_rival(rivals, between, rival->name);
        }
        at = flag + length;
        const size_t separator = strspn(at, ", ");
        const bool lines = separator == 1 && !s->alike && is_paired(s);
        rk_bytes_add(out, lines ? "\n" : at, separator);
        at += separator;
    }
}

static rk_status keep(rk_bytes *text, char *out, size_t size, rk_error *err)
{
    rk_bytes_add(text, "", 1);
    if (text->failed) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for flags");
    }
    (void)snprintf(out, size, "%s", (const char *)text->data);
    return RK_OK;
}

rk_status rk_launch_spell_flags(const rk_launch *launch, char *flags, char *removed, size_t size,
                                rk_error *err)
{
    spelling s = {.launch = launch, .alike = is_alike(launch->reader)};
    rk_bytes set = {0}, unset = {0}, rivals = {0};
    rk_status status = rk_flag_table_load(&rk_launch_reader_megatron_lm, &s.core, err);
    status = status ? status : rk_flag_table_load(launch->reader, &s.own, err);
    if (!status) {
        spell_all(&s, flags, false, removed ? " " : ", without ", &set, &rivals);
        if (removed) {
            spell_all(&s, removed, true, "", &unset, &rivals);
        }
        rk_bytes *rest = removed ? &unset : &set;
        const size_t skip = rest->size == 0 && rivals.size > 0;
        rest->failed |= rivals.failed;
        if (rivals.size > skip) {
            rk_bytes_add(rest, (const char *)rivals.data + skip, rivals.size - skip);
        }
        status = keep(&set, flags, size, err);
    }
    if (!status && removed) {
        status = keep(&unset, removed, size, err);
    }
    rk_bytes_clear(&set);
    rk_bytes_clear(&unset);
    rk_bytes_clear(&rivals);
    rk_flag_table_clear(&s.core);
    rk_flag_table_clear(&s.own);
    return status;
}
