/* SPDX-License-Identifier: Apache-2.0 */
/* From keys to facts: the reader, its table, what follows, and what became of every key. */
#include "base/error.h"
#include "launch/launch_parts.h"
#include "launch/reader_kit.h"

#include <stdio.h>
#include <string.h>

enum { KEYS_MAX = 8192 };

/* ---- readers --------------------------------------------------------------------------------- */

#define RK_LAUNCH_READER_ENTRY(name) &rk_launch_reader_##name,
const rk_launch_reader *const rk_launch_readers[] = {RK_LAUNCH_READER_LIST(RK_LAUNCH_READER_ENTRY)
                                                         NULL};
#undef RK_LAUNCH_READER_ENTRY

/* The reader that the launch names, or the one that is surest. */
const rk_launch_reader *rk_launch_recognise(const rk_launch *launch)
{
    const rk_launch_reader *best = NULL;
    int most = 0;
    for (size_t i = 0; rk_launch_readers[i]; i++) {
        if (launch->framework && strcmp(rk_launch_readers[i]->name, launch->framework) == 0) {
            return rk_launch_readers[i];
        }
        const int sure = rk_launch_readers[i]->recognise(launch);
        if (sure > most) {
            most = sure;
            best = rk_launch_readers[i];
        }
    }
    return best;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The value of a key as its field has it. */
static const char *fact_value(const rk_launch_key *key, const rk_launch_flag *flag)
{
    if (strncmp(flag->type, "bool", strlen("bool")) != 0) {
        return key->value;
    }
    const char *truth = key->value ? rk_launch_truth_text(key->value) : "true";
    return truth ? truth : key->value;
}

static void state_by_table(rk_launch *launch, const rk_flag_table *table)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        const rk_launch_flag *flag = rk_flag_table_find(table, key->name);
        const char *value = flag && flag->field[0] ? fact_value(key, flag) : NULL;
        if (value && !strstr(value, "${") && (!key->json || !json_is_null(key->json)) &&
            rk_launch_key_decides(launch, key)) {
            key->use = RK_KEY_USED;
            rk_launch_state(launch, flag->field, value, RK_FACT_STATED, key);
        }
    }
}

/* Whether a value is the default, whichever way both are written: "False" is false, 1e9 is
 * 1000000000; of a switch without a default, off. */
static bool is_same(const char *value, const rk_launch_flag *flag)
{
    double a = 0, b = 0;
    const bool none = strcmp(flag->usual, "") == 0 || strcmp(flag->usual, "None") == 0;
    const char *truth = rk_launch_truth_text(value);
    const char *usual = rk_launch_truth_text(flag->usual);
    const bool off = strncmp(flag->type, "bool", strlen("bool")) == 0 || flag->type[0] == '\0';
    usual = usual || !none || !off ? usual : "false";
    return strcmp(value, flag->usual) == 0 || (truth && usual && strcmp(truth, usual) == 0) ||
           (rk_launch_read_number(value, &a) && rk_launch_read_number(flag->usual, &b) && a == b);
}

/* Whether a key only repeats what the framework does anyway. */
static bool is_usual(const rk_launch_key *key, const rk_launch_flag *flag)
{
    return key->value ? is_same(key->value, flag) : key->json != NULL; /* null */
}

/* The flag of a key, or of a map or a group without cost that it is part of. */
static const rk_launch_flag *find_flag(rk_launch *launch, const rk_flag_table *table,
                                       const char *name)
{
    const rk_launch_flag *flag = rk_flag_table_find(table, name);
    for (const char *dot = name + strlen(name); !flag && dot > name; dot--) {
        if (*dot == '.') {
            flag =
                rk_flag_table_find(table, rk_launch_keep_part(launch, name, (size_t)(dot - name)));
            flag = flag && (strcmp(flag->class, "no-cost") == 0 || strcmp(flag->type, "map") == 0)
                       ? flag
                       : NULL;
        }
    }
    return flag;
}

/* Whether a key states a fact, and whether one that predictions use. */
static bool states_fact(const rk_launch *launch, const rk_launch_key *key, bool *priced)
{
    bool states = false;
    *priced = false;
    for (size_t i = 0; i < launch->fact_count; i++) {
        const rk_launch_fact *fact = &launch->facts[i];
        if (fact->by == key && fact->origin != RK_FACT_OPEN) {
            states = true;
            *priced |= !rk_launch_find_unpriced(fact->field);
        }
    }
    return states;
}

/* Classes keys that readers look up, but that only repeat a default, as without cost. */
static void class_repeated(rk_launch *launch, const rk_flag_table *table)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        bool priced = false;
        const rk_launch_flag *flag =
            key->use == RK_KEY_USED ? rk_flag_table_find(table, key->name) : NULL;
        const bool null = key->json && !key->value;
        if (key->use == RK_KEY_USED && (null || (flag && is_usual(key, flag))) &&
            !states_fact(launch, key, &priced)) {
            key->use = RK_KEY_WITHOUT_COST;
        }
    }
}

/* Classes keys of facts that no prediction counts, unless the fact is the value that it assumes. */
static void class_unpriced(rk_launch *launch)
{
    for (size_t i = 0; i < launch->fact_count; i++) {
        const rk_launch_fact *fact = &launch->facts[i];
        const rk_launch_unpriced *field = rk_launch_find_unpriced(fact->field);
        bool priced = false;
        if (!field || fact->origin == RK_FACT_OPEN ||
            (fact->by && states_fact(launch, fact->by, &priced) && priced)) {
            continue;
        }
        const bool same = field->assumed && strcmp(fact->value, field->assumed) == 0;
        rk_launch_key key = {.name = fact->field, .value = fact->value};
        rk_launch_key *by = fact->by ? &launch->keys[fact->by - launch->keys] : &key;
        if (!same) {
            by->use = field->note ? RK_KEY_NOT_PRICED : RK_KEY_WITHOUT_COST;
            by->note = field->note;
        }
        if (!same && by == &key && field->note) {
            rk_launch_add_key(launch, &key);
        }
    }
}

static bool costs_nothing(const rk_launch_flag *flag)
{
    return strcmp(flag->class, "no-cost") == 0 || strcmp(flag->class, "data") == 0 ||
           strcmp(flag->class, "launcher") == 0;
}

/* Why the value of a key is not known; NULL: it is. */
static const char *why_open(rk_launch *launch, const rk_launch_key *key, const rk_launch_flag *flag)
{
    if (key->value && (strstr(key->value, "$(") || strchr(key->value, '`'))) {
        return rk_launch_format(launch,
                                "%s is not run, so its value is not known: the default is "
                                "priced; write the value itself",
                                key->value);
    }
    const bool counts = strcmp(flag->type, "int") == 0 || strcmp(flag->type, "float") == 0;
    return counts && !key->json && (!key->value || !*key->value)
               ? "has no value, as of a variable that is not set: the default is priced; set it"
               : NULL;
}

/* Names keys that decide something by a value that the launch does not hold. */
static void class_open(rk_launch *launch, const rk_flag_table *table)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        const rk_launch_flag *flag = find_flag(launch, table, key->name);
        const char *why = flag && !costs_nothing(flag) && key->use != RK_KEY_WITHOUT_COST
                              ? why_open(launch, key, flag)
                              : NULL;
        if (why) {
            key->use = RK_KEY_NOT_PRICED;
            key->note = why;
        }
    }
}

static void class_keys(rk_launch *launch, const rk_flag_table *table)
{
    class_repeated(launch, table);
    class_unpriced(launch);
    class_open(launch, table);
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_launch_key *key = &launch->keys[i];
        if (key->use != RK_KEY_UNREAD) {
            continue;
        }
        const rk_launch_flag *flag = find_flag(launch, table, key->name);
        if (!flag) {
            key->use = RK_KEY_UNKNOWN;
        } else if (!rk_launch_key_decides(launch, key)) {
            key->use = RK_KEY_WITHOUT_COST;
            key->note = rk_launch_keep(launch, "given twice; another value counts");
        } else if (costs_nothing(flag) || is_usual(key, flag)) {
            key->use = RK_KEY_WITHOUT_COST;
            key->note = !is_usual(key, flag) && flag->note[0] ? rk_launch_keep(launch, flag->note)
                                                              : key->note;
        } else {
            const bool open = key->value && strstr(key->value, "${");
            key->use = RK_KEY_NOT_PRICED;
            key->note = rk_launch_keep(launch, open ? "refers to what the launch does not say"
                                               : flag->note[0] ? flag->note
                                                               : "is not counted here");
        }
    }
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* a x b, or 0 where one is not known or it is too much to be meant. */
static int64_t times(int64_t a, int64_t b)
{
    return a > 0 && b > 0 && a <= INT32_MAX && b <= INT32_MAX ? a * b : 0;
}

void rk_launch_derive(rk_launch *launch)
{
    rk_launch_derive_count(
        launch, "processes",
        times(rk_launch_count_of(launch, "nodes"), rk_launch_count_of(launch, "gpus_per_node")));
    const int64_t processes = rk_launch_count_of(launch, "processes");
    const int64_t layout =
        times(times(rk_launch_count_of(launch, "tp"), rk_launch_count_of(launch, "pp")),
              rk_launch_count_of(launch, "cp"));
    if (layout > 0 && processes > 0 && processes % layout == 0) {
        rk_launch_derive_count(launch, "dp", processes / layout);
    }
    const int64_t dp = rk_launch_count_of(launch, "dp");
    const int64_t micro = rk_launch_count_of(launch, "micro_batch");
    const int64_t global = rk_launch_count_of(launch, "global_batch");
    const int64_t accumulation = rk_launch_count_of(launch, "accumulation");
    if (global == 0) {
        rk_launch_derive_count(launch, "global_batch", times(times(micro, accumulation), dp));
    } else if (accumulation == 0 && times(micro, dp) > 0 && global % (micro * dp) == 0) {
        rk_launch_derive_count(launch, "accumulation", global / (micro * dp));
    } else if (micro == 0 && times(accumulation, dp) > 0 && global % (accumulation * dp) == 0) {
        rk_launch_derive_count(launch, "micro_batch", global / (accumulation * dp));
    }
}

/* Names of the readers, for messages. */
static const char *list_readers(char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; rk_launch_readers[i] && used < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                                 rk_launch_readers[i]->name);
    }
    return out;
}

rk_status rk_launch_name_reader(rk_launch *launch, const char *framework, const char *release,
                                rk_error *err)
{
    char names[512];
    for (size_t i = 0; rk_launch_readers[i]; i++) {
        if (strcmp(rk_launch_readers[i]->name, framework) == 0) {
            rk_launch_set_reader(launch, framework, release);
            return RK_OK;
        }
    }
    return rk_fail(err, RK_ERR_INVALID, "--reader %.60s: there are %s", framework,
                   list_readers(names, sizeof(names)));
}

rk_status rk_launch_resolve(rk_launch *launch, rk_error *err)
{
    bool opened = false;
    launch->reader = rk_launch_recognise(launch);
    if (!launch->reader && !launch->out_of_memory && launch->document_count == 0) {
        const rk_status failure = rk_launch_open_own(launch, &opened, err);
        if (failure) {
            return failure;
        }
        launch->reader = opened ? rk_launch_recognise(launch) : NULL;
    }
    if (!launch->reader && launch->out_of_memory) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the launch %s", launch->name);
    }
    if (!launch->reader) {
        char names[512];
        return rk_fail(err, RK_ERR_INVALID,
                       "%s: not a launch of a framework that is known; name the framework with "
                       "--reader (%s), or give the strategy as options",
                       launch->name, list_readers(names, sizeof(names)));
    }
    rk_flag_table table;
    rk_status status = rk_flag_table_load(launch->reader, &table, err);
    if (!status) {
        rk_launch_cut_words(launch, &table);
        rk_launch_flatten_documents(launch);
        status = launch->reader->prepare ? launch->reader->prepare(launch, err) : RK_OK;
    }
    if (!status && launch->key_count > KEYS_MAX) {
        status = rk_fail(err, RK_ERR_INVALID, "%s: more than %d options, which no launch has",
                         launch->name, KEYS_MAX);
    }
    if (!status) {
        state_by_table(launch, &table);
        status = launch->reader->resolve(launch, err);
    }
    if (!status) {
        rk_launch_derive(launch);
        class_keys(launch, &table);
    }
    rk_flag_table_clear(&table);
    return launch->out_of_memory
               ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for the launch %s", launch->name)
               : status;
}
