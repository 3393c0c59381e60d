/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue against measurements that no constant was fitted to: shapes of the hold-out half of
 * the tables named in README.md.  Errors are printed; bounds are a little above what they are.
 */
#include "machine.h"

#include <stdlib.h>

enum { LINE_SIZE = 256, FIELD_COUNT = 7, ROWS_MAX = 1000 };

typedef struct row {
    char *field[FIELD_COUNT];
} row;

/* Relative errors of a set of rows. */
typedef struct errors {
    double value[ROWS_MAX];
    size_t count;
} errors;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints and bounds: shares of 1. */
static void expect_errors(const char *what, errors *e, double most_rms, double most_median,
                          double most_bias)
{
    double square = 0, sum = 0;
    assert_true(e->count >= 40);
    for (size_t i = 0; i < e->count; i++) {
        square += e->value[i] * e->value[i];
        sum += e->value[i];
        e->value[i] = fabs(e->value[i]);
    }
    qsort(e->value, e->count, sizeof(e->value[0]), by_size);
    const double n = (double)e->count, rms = sqrt(square / n), bias = sum / n;
    const double median = e->value[e->count / 2], p90 = e->value[e->count * 9 / 10];
    printf("%-34s n %3zu: rms %4.1f%%, median %4.1f%%, p90 %4.1f%%, bias %+5.1f%%\n", what,
           e->count, 100 * rms, 100 * median, 100 * p90, 100 * bias);
    if (rms > most_rms || median > most_median || fabs(bias) > most_bias) {
        fail_msg("%s: at most rms %g, median %g, bias %g were expected", what, most_rms,
                 most_median, most_bias);
    }
}

/*
 * Calls `price` for each row of the file that starts with the cell `system` (and then with `more`,
 * unless NULL); collects predicted over measured (the last cell, microseconds) less 1.
 */
static void compare(const char *file, const char *system, const char *more,
                    double (*price)(const rk_system *system, const row *cells), errors *e)
{
    char path[1024], line[LINE_SIZE];
    const rk_system s = load_system(system);
    (void)snprintf(path, sizeof(path), "%s/%s", TEST_FOLDER, file);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    e->count = 0;
    while (fgets(line, sizeof(line), in)) {
        row cells = {{line}};
        size_t count = 1;
        for (char *at = line; *at; at++) {
            if (*at == ',' && count < FIELD_COUNT) {
                *at = '\0';
                cells.field[count++] = at + 1;
            }
        }
        if (strcmp(cells.field[0], system) || (more && strcmp(cells.field[1], more))) {
            continue;
        }
        assert_true(e->count < ROWS_MAX);
        const double measured = strtod(cells.field[count - 1], NULL) * 1e-6;
        e->value[e->count++] = price(&s, &cells) / measured - 1;
    }
    (void)fclose(in);
}

static double number(const row *cells, int field)
{
    return strtod(cells->field[field], NULL);
}

/* ---- GEMM: system, clock, m, n, k, us -------------------------------------------------------- */

static double gemm_price(const rk_system *system, const row *cells)
{
    const rk_accelerator burst = rk_accelerator_in_burst(&system->accelerator);
    const bool fast = strcmp(cells->field[1], "burst") == 0;
    return rk_gemm_seconds(fast ? &burst : &system->accelerator, RK_BF16, 1, number(cells, 2),
                           number(cells, 3), number(cells, 4), 0);
}

static void test_gemm(void **state)
{
    /* Repeated GEMMs, at the power limit, are not what training is either: the bias is wide. */
    static const struct {
        const char *system, *clock;
        double rms, median, bias;
    } sets[] = {
        {"a100-sxm-80gb", "burst", 0.08, 0.05, 0.02},  {"h100-sxm", "burst", 0.08, 0.05, 0.02},
        {"h200-sxm", "burst", 0.07, 0.05, 0.02},       {"h200-sxm", "repeated", 0.10, 0.06, 0.08},
        {"b200-sxm", "burst", 0.10, 0.06, 0.04},       {"b200-sxm", "repeated", 0.11, 0.06, 0.03},
        {"b300-sxm", "burst", 0.10, 0.08, 0.02},       {"gb200-nvl72", "burst", 0.08, 0.06, 0.03},
        {"gb200-nvl72", "repeated", 0.12, 0.10, 0.10}, {"gb300-nvl72", "burst", 0.07, 0.05, 0.02},
    };
    errors e;
    (void)state;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        char what[64];
        (void)snprintf(what, sizeof(what), "GEMM %s %s", sets[i].system, sets[i].clock);
        compare("gemm.csv", sets[i].system, sets[i].clock, gemm_price, &e);
        expect_errors(what, &e, sets[i].rms, sets[i].median, sets[i].bias);
    }
}

/* ---- attention: system, head_size, heads, kv_heads, batch, seq, us -----------------------------
 */

/*
 * The rows time a module of an inference stack: besides the kernel, positions and the write of keys
 * and values, which pass over queries, keys and values about twice, and 20 us of small kernels.
 */
static double attention_price(const rk_system *system, const row *cells)
{
    const double size = number(cells, 1), heads = number(cells, 2), kv_heads = number(cells, 3);
    const double batch = number(cells, 4), seq = number(cells, 5);
    const rk_attention_work work = {
        .flops = 2 * batch * heads * seq * seq * size,
        .seq = seq,
        .heads = batch * heads,
        .qk_size = size,
    };
    const double qkv = 2 * batch * seq * (heads + 2 * kv_heads) * size;
    return rk_attention_seconds(&system->accelerator, &work) +
           rk_stream_seconds(&system->accelerator, 2 * qkv) + 20e-6 -
           3 * system->accelerator.kernel_seconds;
}

static void test_attention(void **state)
{
    static const struct {
        const char *system;
        double rms, median, bias;
    } sets[] = {
        {"h100-sxm", 0.09, 0.07, 0.03},    {"h200-sxm", 0.09, 0.06, 0.05},
        {"b200-sxm", 0.10, 0.06, 0.05},    {"b300-sxm", 0.09, 0.06, 0.03},
        {"gb200-nvl72", 0.10, 0.05, 0.05},
    };
    errors e;
    (void)state;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        char what[64];
        (void)snprintf(what, sizeof(what), "attention %s", sets[i].system);
        compare("attention.csv", sets[i].system, NULL, attention_price, &e);
        expect_errors(what, &e, sets[i].rms, sets[i].median, sets[i].bias);
    }
}

/* ---- collectives: system, op, ranks, bytes, us --------------------------------------------------
 */

static double collective_price(const rk_system *system, const row *cells)
{
    static const struct {
        const char *name;
        rk_collective op;
    } names[] = {
        {"all_reduce", RK_COLL_ALL_REDUCE},
        {"reduce_scatter", RK_COLL_REDUCE_SCATTER},
        {"all_gather", RK_COLL_ALL_GATHER},
        {"alltoall", RK_COLL_ALL_TO_ALL},
    };
    size_t i = 0;
    while (strcmp(names[i].name, cells->field[1])) {
        i++;
        assert_true(i < sizeof(names) / sizeof(names[0]));
    }
    const rk_group group = rk_group_of(system, (int64_t)number(cells, 2), 1);
    return rk_collective_seconds(system, names[i].op, number(cells, 3), &group);
}

static void test_collectives(void **state)
{
    static const char *const systems[] = {
        "a100-sxm-80gb", "h100-sxm",    "h200-sxm",    "b200-sxm",
        "b300-sxm",      "gb200-nvl72", "gb300-nvl72",
    };
    static const char *const names[] = {"all_reduce", "reduce_scatter", "all_gather", "alltoall",
                                        NULL};
    errors all, one;
    (void)state;
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        char what[64];
        (void)snprintf(what, sizeof(what), "collectives %s", systems[i]);
        compare("collective.csv", systems[i], NULL, collective_price, &all);
        expect_errors(what, &all, 0.15, 0.08, 0.06);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        all.count = 0;
        for (size_t j = 0; j < sizeof(systems) / sizeof(systems[0]); j++) {
            compare("collective.csv", systems[j], names[i], collective_price, &one);
            memcpy(all.value + all.count, one.value, one.count * sizeof(one.value[0]));
            all.count += one.count;
        }
        expect_errors(names[i] ? names[i] : "all collectives", &all, 0.14, names[i] ? 0.08 : 0.06,
                      0.07);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
