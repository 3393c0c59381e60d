/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two large collections of whole config.json files, where they are at hand: every file is read with
 * the counts of its index, or refused for the reason below.  The test prints what it finds.
 */
#include "io/csv_in.h"
#include "layer/model_load.h"

#include <stdlib.h>

#include "models.h"

/* Files that cannot be expressed, and a part of the reason, ending with NULL: none.  All others
 * must be read. */
static const char *const refused[][2] = {{NULL, NULL}};

/* An index and the columns that it has under names of its own. */
typedef struct collection {
    const char *folder, *name_column, *ending;
    int files;
} collection;

typedef struct tally {
    int exact, near, uncounted, refused;
} tally;

static const char *refusal_of(const char *name)
{
    for (size_t i = 0; refused[i][0]; i++) {
        if (strcmp(refused[i][0], name) == 0) {
            return refused[i][1];
        }
    }
    return NULL;
}

static void check_refusal(const char *name, const rk_error *err, tally *sum)
{
    char text[1024];
    const char *reason = refusal_of(name);
    if (!reason || !strstr(err->message, reason)) {
        fail_msg("%s: %s", name, rk_error_text(err, text, sizeof(text)));
    }
    sum->refused++;
    print_message("%-40s refused: %s: %s\n", name, err->path, err->message);
}

/* The counts of an index: of the whole model, of a token, of MTP; 0 where it has none. */
typedef struct counts {
    int64_t total, active, mtp;
    bool exact;
} counts;

static void check_counts(const char *name, const rk_model *model, const counts *index, tally *sum)
{
    const rk_model_params p = rk_model_params_of(model);
    if (refusal_of(name)) {
        fail_msg("%s is read, but the test says that it cannot be", name);
    }
    if (index->total == 0) {
        sum->uncounted++;
        print_message("%-40s read, no count in the index: %lld\n", name, (long long)p.total);
        return;
    }
    const bool same = p.total == index->total && p.active == index->active &&
                      (index->mtp == 0 || p.mtp == index->mtp);
    if (!same && index->exact) {
        fail_msg("%s: %lld total, %lld active, %lld of MTP", name, (long long)p.total,
                 (long long)p.active, (long long)p.mtp);
    }
    *(same ? &sum->exact : &sum->near) += 1;
    if (!same) {
        print_message("%-40s %lld, about %lld in the index\n", name, (long long)p.total,
                      (long long)index->total);
    }
}

/* Returns the cell of a column; "" where the index has no such column. */
static const char *cell_of(const rk_csv_in *table, size_t row, const char *column)
{
    for (size_t i = 0; i < table->columns; i++) {
        if (strcmp(table->cells[i], column) == 0) {
            return table->cells[table->columns * (row + 1) + i];
        }
    }
    return "";
}

static counts read_counts(const rk_csv_in *table, size_t row)
{
    const char *quality = cell_of(table, row, "count_quality"), *mtp = strstr(quality, "mtp ");
    return (counts){
        .total = strtoll(cell_of(table, row, "computed_total"), NULL, 10),
        .active = strtoll(cell_of(table, row, "computed_active"), NULL, 10),
        .mtp = strtoll(mtp ? mtp + 4 : cell_of(table, row, "computed_mtp_extra"), NULL, 10),
        .exact = strncmp(quality, "exact", 5) == 0,
    };
}

static void check_file(const collection *set, const rk_csv_in *table, size_t row, tally *sum)
{
    char path[512], name[128];
    rk_model model;
    rk_error err;
    const char *file = cell_of(table, row, set->name_column);
    (void)snprintf(path, sizeof(path), "%s/%s/%s%s", SHARED, set->folder, file, set->ending);
    (void)snprintf(name, sizeof(name), "%s", file);
    char *ending = strstr(name, ".config.json");
    if (ending) {
        *ending = '\0';
    }
    if (rk_model_load(path, &model, &err)) {
        check_refusal(name, &err, sum);
        return;
    }
    const counts index = read_counts(table, row);
    check_counts(name, &model, &index, sum);
}

static void test_collections(void **state)
{
    static const collection sets[] = {
        {"hf_configs", "name", ".config.json", 100},
        {"hf_configs_2", "file", "", 34},
    };
    tally sum = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(sets); i++) {
        char path[512];
        rk_csv_in table;
        rk_error err;
        (void)snprintf(path, sizeof(path), "%s/%s/INDEX.csv", SHARED, sets[i].folder);
        if (rk_csv_load(path, &table, &err)) {
            skip();
        }
        assert_int_equal(table.rows, sets[i].files);
        for (size_t row = 0; row < table.rows; row++) {
            check_file(&sets[i], &table, row, &sum);
        }
        rk_csv_in_clear(&table);
    }
    print_message("%d read with the exact count, %d near an approximate one, %d without a count, "
                  "%d refused\n",
                  sum.exact, sum.near, sum.uncounted, sum.refused);
    assert_int_equal(sum.refused, COUNT(refused) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
