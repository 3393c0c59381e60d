/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns a table of runs has, lacks and misspells. */
#include "base/error.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "evidence/run_facts.h"

#include <stdio.h>
#include <string.h>

/* Columns of tables of whole runs, which evidence/published.c reads, and remarks. */
static const char *const others[] = {"tokens_T",    "target",    "days",    "accel_hours",
                                     "goodput_pct", "confirmed", "assumed", "recalled",
                                     "note",        "url",       "link",    "comment"};

/* Usual names of columns that are no misspelling of ours. */
static const rk_named_text synonyms[] = {
    {"gpus", "n_accel"},          {"num_gpus", "n_accel"},
    {"world_size", "n_accel"},    {"gpu", "accelerator"},
    {"gpu_type", "accelerator"},  {"batch_size", "gbs"},
    {"global_batch_size", "gbs"}, {"micro_batch_size", "mbs"},
    {"seq_len", "seq"},           {"seqlen", "seq"},
    {"sequence_length", "seq"},   {"zero", "sharding"},
    {"fsdp", "sharding"},         {"dtype", "precision"},
};

static bool is_known(const char *name)
{
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        if (strcmp(rk_run_column_names[column], name) == 0) {
            return true;
        }
    }
    for (size_t fact = 0; fact < rk_run_fact_count; fact++) {
        if (strcmp(rk_run_fact_fields[fact].name, name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        if (strcmp(others[i], name) == 0) {
            return true;
        }
    }
    return name[0] == '\0'; /* a column that a spreadsheet leaves empty */
}

const char *rk_run_column_ignored(const rk_run_table *table, size_t *place)
{
    while (*place < table->columns) {
        const char *name = table->cells[(*place)++];
        if (!is_known(name)) {
            return name;
        }
    }
    return NULL;
}

/* Whether `name` is two words or more, joined by _, that follow one another in `column`. */
static bool abbreviates(const char *name, const char *column)
{
    size_t words = 0;
    for (const char *at = name; *at; words++) {
        const size_t length = strcspn(at, "_");
        size_t own = strcspn(column, "_");
        while (*column && (own != length || strncmp(column, at, length) != 0)) {
            column += own + (column[own] == '_');
            own = strcspn(column, "_");
        }
        if (!*column) {
            return false;
        }
        column += own + (column[own] == '_');
        at += length + (at[length] == '_');
    }
    return words > 1;
}

static bool has_column(const rk_run_table *table, const char *name)
{
    for (size_t place = 0; place < table->columns; place++) {
        if (strcmp(table->cells[place], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The column that an unknown one looks like; NULL: none. */
static const char *resembled(const char *name)
{
    const char *names[RK_RUN_COLUMN_COUNT + RK_RUN_FACT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < COUNT(synonyms); i++) {
        if (strcmp(synonyms[i].name, name) == 0) {
            return synonyms[i].text;
        }
    }
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        names[count++] = rk_run_column_names[column];
    }
    for (size_t fact = 0; fact < rk_run_fact_count; fact++) {
        names[count++] = rk_run_fact_fields[fact].name;
    }
    for (size_t i = 0; i < count; i++) {
        if (abbreviates(name, names[i])) {
            return names[i];
        }
    }
    return rk_nearest_name_within(name, names, count, strlen(name) / 3);
}

/* Columns without which no row says what ran; of a list, the table needs one. */
static const rk_run_column needed[][3] = {
    {RK_RUN_MODEL, RK_RUN_LAYERS, RK_RUN_ARCHITECTURE},
    {RK_RUN_SEQ, RK_RUN_SEQ, RK_RUN_SEQ},
    {RK_RUN_ACCELERATOR, RK_RUN_SYSTEM, RK_RUN_SYSTEM},
    {RK_RUN_ACCELERATORS, RK_RUN_ACCELERATORS, RK_RUN_ACCELERATORS},
    {RK_RUN_GLOBAL_BATCH, RK_RUN_GLOBAL_BATCH, RK_RUN_GLOBAL_BATCH},
};

/* Names in a row: "seq, n_accel". */
typedef struct list {
    char text[300];
    size_t length, count;
} list;

static void add(list *l, const char *name, const char *column)
{
    const size_t room = sizeof(l->text) - l->length;
    const int added =
        snprintf(l->text + l->length, room, "%s%.40s%s%s%s", l->count ? ", " : "", name,
                 column ? " (did you mean " : "", column ? column : "", column ? "?)" : "");
    const bool fits = added > 0 && (size_t)added < room;
    l->length += fits ? (size_t)added : 0;
    l->text[l->length] = '\0';
    l->count++;
}

static const char *plural(const list *l)
{
    return l->count == 1 ? "" : "s";
}

/* Whether another column says what a missing one would: of the accelerator, or of a measurement. */
static bool has_other(const rk_run_table *table, const char *column)
{
    static const char *const measures[] = {RK_RUN_MEASURES};
    bool measure = false, other = false;
    for (size_t i = 0; i < COUNT(measures); i++) {
        measure = measure || strcmp(measures[i], column) == 0;
    }
    for (size_t i = 0; i < COUNT(needed); i++) {
        bool among = false, present = false;
        for (size_t j = 0; j < COUNT(needed[i]); j++) {
            among = among || strcmp(rk_run_column_names[needed[i][j]], column) == 0;
            present = present || table->at[needed[i][j]] >= 0;
        }
        other = other || (among && present);
    }
    return other || (measure && rk_run_table_measures(table));
}

rk_status rk_run_table_check(const rk_run_table *table, rk_error *err)
{
    list missing = {.count = 0}, unknown = {.count = 0};
    for (size_t i = 0; i < COUNT(needed); i++) {
        const rk_run_column *one = needed[i];
        if (table->at[one[0]] < 0 && table->at[one[1]] < 0 && table->at[one[2]] < 0) {
            add(&missing, rk_run_column_names[one[0]], NULL);
        }
    }
    for (size_t place = 0; place < table->columns; place++) {
        const char *name = table->cells[place];
        const char *column = is_known(name) ? NULL : resembled(name);
        if (column && !has_column(table, column) && !has_other(table, column)) {
            add(&unknown, name, column);
        }
    }
    if (missing.count == 0 && unknown.count == 0) {
        return RK_OK;
    }
    if (unknown.count == 0) {
        (void)rk_fail(err, RK_ERR_INVALID, "missing required column%s: %s (see docs/columns.md)",
                      plural(&missing), missing.text);
    } else if (missing.count == 0) {
        (void)rk_fail(err, RK_ERR_INVALID, "unknown column%s: %s; see docs/columns.md",
                      plural(&unknown), unknown.text);
    } else {
        (void)rk_fail(err, RK_ERR_INVALID,
                      "missing required column%s: %s; unknown column%s: %s (see docs/columns.md)",
                      plural(&missing), missing.text, plural(&unknown), unknown.text);
    }
    rk_error_set_file(err, table->name);
    return RK_ERR_INVALID;
}

bool rk_run_table_measures(const rk_run_table *table)
{
    static const char *const names[] = {RK_RUN_MEASURES};
    bool found = false;
    for (size_t i = 0; i < COUNT(names); i++) {
        found = found || has_column(table, names[i]);
    }
    return found;
}
