/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of a fabric from measurements: logs and tables read, known constants found again. */
#include "comm/comm_errors.h"

#include "check.h"
#include "system/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading ------------------------------------------------------------------------------- */

/* Loads a text as a file. */
static rk_status load_text(const char *text, const rk_comm_hint *hint, rk_comm_results *results)
{
    char path[] = "/tmp/reckon-fit-XXXXXX";
    rk_error err;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(close(file), 0);
    const rk_status status = rk_comm_results_load(path, hint, results, &err);
    assert_int_equal(unlink(path), 0);
    return status;
}

static const char nccl_log[] =
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4294967296 step: 2(factor) warmup iters: 5\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  1001 on  node-a device  0 [0x53] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid  1002 on  node-a device  1 [0x64] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid  2001 on  node-b device  0 [0x53] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid  2002 on  node-b device  1 [0x64] NVIDIA H100 80GB HBM3\n"
    "# Collective test starting: all_gather_perf\n"
    "#                                                              out-of-place      in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
    "     1048576         65536     float    none      -1    54.20   19.35   14.51      0\n"
    "  1073741824      67108864     float    none      -1    16384   65.54   49.15      0\n"
    "# Out of bounds values : 0 OK\n";

static const char hccl_log[] =
    "./bin/all_reduce_test -b 8K -e 64M -f 2 -d fp32 -o sum -p 8\n"
    "the minbytes is 8192, maxbytes is 67108864, iters is 20, warmup_iters is 5\n"
    "data_size(Bytes):     | aveg_time(us):  | alg_bandwidth(GB/s): | check_result:\n"
    "8192                  | 46.10           | 0.17770              | success\n"
    "67108864              | 812.40          | 82.60567             | success\n";

static void test_logs(void **state)
{
    rk_comm_results results;
    rk_comm_hint hint = {0};
    (void)state;
    assert_int_equal(load_text(nccl_log, &hint, &results), RK_OK);
    assert_int_equal(results.count, 1);
    assert_int_equal(results.sets[0].op, RK_COLL_ALL_GATHER);
    assert_int_equal(results.sets[0].count, 2);
    const rk_comm_row row = results.sets[0].rows[1];
    assert_close(row.ranks, 4, 0);
    assert_close(row.domains, 2, 0);
    assert_close(row.bytes, 0x1p30, 0);
    assert_close(row.seconds, 16384e-6, 1e-12);
    rk_comm_results_clear(&results);

    assert_int_equal(load_text(hccl_log, &hint, &results), RK_ERR_INVALID); /* how many ranks? */
    rk_comm_results_clear(&results);
    hint.ranks = 8;
    assert_int_equal(load_text(hccl_log, &hint, &results), RK_OK);
    assert_int_equal(results.sets[0].op, RK_COLL_ALL_REDUCE);
    assert_int_equal(results.sets[0].count, 2);
    assert_close(results.sets[0].rows[0].seconds, 46.1e-6, 1e-12);
    rk_comm_results_clear(&results);

    assert_int_equal(load_text("hello\n", &hint, &results), RK_ERR_SYNTAX);
    rk_comm_results_clear(&results);
    assert_int_equal(
        load_text("op,ranks,ranks_per_node,bytes,us\nall_reduce,16,8,1e6,-3\n", &hint, &results),
        RK_ERR_SYNTAX);
    rk_comm_results_clear(&results);
}

/* The table that `reckon comm --csv` writes. */
static void test_table(void **state)
{
    const rk_comm_hint hint = {0};
    rk_comm_results results;
    (void)state;
    assert_int_equal(load_text("op,ranks,ranks_per_node,bytes,seconds\n"
                               "all_reduce,16,8,1000000,1e-4\n"
                               "all_to_all,16,8,1000000,2e-4\nall_reduce,32,8,1000000,1.2e-4\n",
                               &hint, &results),
                     RK_OK);
    assert_int_equal(results.count, 2);
    assert_int_equal(results.sets[0].count, 2);
    assert_close(results.sets[0].rows[1].domains, 4, 0);
    assert_close(results.sets[0].rows[1].seconds, 120e-6, 1e-12);
    assert_string_equal(results.sets[0].machine, "measured");
    assert_int_equal(results.sets[0].links, RK_COMM_LINKS_UNKNOWN);
    rk_comm_results_clear(&results);

    assert_int_equal(load_text("system,machine,links,op,ranks,bytes,us\n"
                               "a with x,a,reducing switch,all_reduce,8,1000000,100\n",
                               &hint, &results),
                     RK_OK);
    assert_string_equal(results.sets[0].machine, "a");
    assert_int_equal(results.sets[0].links, RK_COMM_LINKS_REDUCING);
    assert_close(results.sets[0].rows[0].seconds, 100e-6, 1e-12);
    rk_comm_results_clear(&results);
    assert_int_equal(
        load_text("links,op,ranks,bytes,us\nstring,all_reduce,8,1000000,100\n", &hint, &results),
        RK_ERR_SYNTAX);
    rk_comm_results_clear(&results);
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* Rows that a curve makes give the curve back. */
static void test_found_again(void **state)
{
    static const rk_collective ops[] = {RK_COLL_ALL_REDUCE, RK_COLL_ALL_GATHER, RK_COLL_ALL_TO_ALL,
                                        RK_COLL_BROADCAST, RK_COLL_SEND};
    const rk_comm_curve given = {6e-6, 25e-6, 42e9};
    (void)state;
    for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
        rk_comm_row rows[48];
        size_t count = 0;
        for (int nodes = 2; nodes <= 16; nodes *= 2) {
            for (int i = 0; i < 12; i++) {
                rows[count] = (rk_comm_row){
                    .op = ops[k], .ranks = nodes * 8, .domains = nodes, .bytes = ldexp(1e4, 2 * i)};
                rows[count].seconds = rk_comm_curve_seconds(&given, &rows[count]);
                count++;
            }
        }
        const rk_comm_curve found = rk_comm_curve_fit(rows, NULL, count);
        assert_close(found.step_s, given.step_s, 0.02);
        assert_close(found.chunk_step_s, given.chunk_step_s, 0.02);
        assert_close(found.bandwidth, given.bandwidth, 0.02);
    }
}

/* What the host copies into commands takes longer than larger messages, and the fit finds both. */
static void test_injected(void **state)
{
    const rk_comm_curve given = {23e-6, 10e-6, 5e9};
    rk_comm_row rows[24];
    (void)state;
    for (int i = 0; i < 24; i++) {
        rows[i] = (rk_comm_row){.op = RK_COLL_ALL_TO_ALL,
                                .ranks = 1024,
                                .domains = 256,
                                .bytes = ldexp(1024 * 96, i / 2),
                                .inject_bytes = 192};
        rows[i].seconds = rk_comm_curve_seconds(&given, &rows[i]);
    }
    assert_true(rk_comm_row_injects(&rows[2]) && !rk_comm_row_injects(&rows[4])); /* 192, 384 B */
    assert_close(rows[2].seconds - rows[4].seconds, 1023 * 13e-6, 0.02);
    const rk_comm_curve found = rk_comm_curve_fit(rows, NULL, 24);
    assert_close(found.step_s, given.step_s, 0.02);
    assert_close(found.chunk_step_s, given.chunk_step_s, 0.02);

    rk_comm_row ring = rows[2], inside = rows[2];
    ring.op = RK_COLL_ALL_GATHER; /* buffers of the host */
    inside.domains = 1;
    assert_false(rk_comm_row_may_inject(&ring) || rk_comm_row_may_inject(&inside));
}

/* Rows below 1 MB weigh as much as the many from there on: here with a third of those they win. */
static void test_weights(void **state)
{
    rk_comm_row rows[20];
    (void)state;
    for (int i = 0; i < 20; i++) { /* 4 small rows and 5 of 16 large ones say 10 us, 11 say 30 us */
        const double step = i < 9 ? 10e-6 : 30e-6;
        const rk_comm_curve curve = {step, step, 1e12};
        rows[i] = (rk_comm_row){
            .op = RK_COLL_BROADCAST, .ranks = 16, .domains = 2, .bytes = i < 4 ? 0.99e6 : 1.01e6};
        rows[i].seconds = rk_comm_curve_seconds(&curve, &rows[i]);
    }
    const rk_comm_curve found = rk_comm_curve_fit(rows, NULL, 20);
    assert_close(rk_comm_curve_seconds(&found, &rows[0]), rows[0].seconds, 0.1);
}

/* ---- measured clusters --------------------------------------------------------------------- */

static const rk_comm_set *set_of(const rk_comm_results *results, const char *system,
                                 rk_collective op)
{
    for (size_t i = 0; i < results->count; i++) {
        if (results->sets[i].op == op && strstr(results->sets[i].system, system)) {
            return &results->sets[i];
        }
    }
    fail_msg("no %s of %s", rk_collective_names[op], system);
    return NULL;
}

/* Half of the time is latency at this size. */
static double latency_bound(const rk_comm_curve *curve, rk_collective op, double ranks,
                            double domains)
{
    const rk_comm_curve links = {1e-15, 1e-15, curve->bandwidth};
    double bytes = 1e3;
    for (;; bytes *= 1.1) {
        const rk_comm_row row = {.op = op, .ranks = ranks, .domains = domains, .bytes = bytes};
        if (rk_comm_curve_seconds(&links, &row) > 0.5 * rk_comm_curve_seconds(curve, &row)) {
            return bytes;
        }
    }
}

/* What the tables say, and how well three constants say it. */
static void test_measured(void **state)
{
    const rk_comm_hint hint = {0};
    rk_comm_results results;
    rk_comm_fits fits;
    rk_error err;
    (void)state;
    assert_int_equal(
        rk_comm_results_load(DATA_FOLDER "/collectives/measured.csv", &hint, &results, &err),
        RK_OK);
    assert_int_equal(rk_comm_fits_find(&results, &fits, &err), RK_OK);
    assert_true(fits.all[RK_COMM_LARGE].rows > 1200);
    assert_true(fits.all[RK_COMM_LARGE].median <= 0.035 && fits.all[RK_COMM_LARGE].p90 <= 0.17);
    assert_true(fits.held[RK_COMM_LARGE].median <= 0.04 && fits.held[RK_COMM_LARGE].p90 <= 0.23);
    assert_true(fits.all[RK_COMM_SMALL].median <= 0.07 && fits.all[RK_COMM_SMALL].p90 <= 0.35);
    /* 12 of 1,418 rows took longer than a larger size that the host need not copy either */
    const size_t rows = fits.all[RK_COMM_SMALL].rows + fits.all[RK_COMM_LARGE].rows;
    assert_int_equal(rows - fits.sound[RK_COMM_SMALL].rows - fits.sound[RK_COMM_LARGE].rows, 12);
    assert_true(fits.left_out[RK_COMM_LARGE].rows > 1000);
    assert_true(fits.left_out[RK_COMM_LARGE].median <= 0.15);

    /* each set of Slingshot settles what a copied message takes, and all three agree */
    double least = HUGE_VAL, most = 0;
    for (size_t i = 0; i < results.count; i++) {
        const rk_comm_set *set = &results.sets[i];
        if (set->op == RK_COLL_ALL_TO_ALL && strstr(set->system, "Slingshot")) {
            least = fmin(least, fits.of[i].curve.step_s);
            most = fmax(most, fits.of[i].curve.step_s);
        }
    }
    assert_true(least > 22e-6 && most < 1.05 * least);

    /* over hundreds of ranks an all-gather is bound by latency up to larger sizes */
    const rk_comm_set *gather = set_of(&results, "settings 5, NCCL 2.18", RK_COLL_ALL_GATHER);
    const rk_comm_set *reduce = set_of(&results, "settings 5, NCCL 2.18", RK_COLL_ALL_REDUCE);
    const rk_comm_curve gathers = fits.of[gather - results.sets].curve;
    const rk_comm_curve reduces = fits.of[reduce - results.sets].curve;
    assert_true(latency_bound(&gathers, RK_COLL_ALL_GATHER, 512, 128) >
                4 * latency_bound(&reduces, RK_COLL_ALL_REDUCE, 512, 128));
    rk_comm_fits_clear(&fits);
    rk_comm_results_clear(&results);
}

/* Large all-to-all reaches 0.84 to 0.98 of the NICs where every rank has one. */
static void test_exchange(void **state)
{
    static const char *const clusters[] = {"8 rails", "MI355X", "Sophia settings 1",
                                           "B300, NVLink"};
    const rk_comm_hint hint = {0};
    rk_comm_results results;
    rk_error err;
    int checked = 0;
    (void)state;
    assert_int_equal(
        rk_comm_results_load(DATA_FOLDER "/collectives/measured.csv", &hint, &results, &err),
        RK_OK);
    for (size_t k = 0; k < results.count; k++) {
        const rk_comm_set *set = &results.sets[k];
        for (size_t c = 0; c < sizeof(clusters) / sizeof(clusters[0]); c++) {
            for (size_t i = 0; i < set->count && set->op == RK_COLL_ALL_TO_ALL; i++) {
                const rk_comm_row *r = &set->rows[i];
                const double n = r->ranks, bus = r->bytes * (n - 1) / n / r->seconds;
                if (strstr(set->system, clusters[c]) && r->domains > 1 && r->bytes > 1e9) {
                    const double share = bus / (set->nominal * (n - 1) / (n - n / r->domains));
                    assert_true(share >= 0.84 && share <= 0.98);
                    checked++;
                }
            }
        }
    }
    assert_true(checked >= 15);
    rk_comm_results_clear(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logs),        cmocka_unit_test(test_table),
        cmocka_unit_test(test_found_again), cmocka_unit_test(test_measured),
        cmocka_unit_test(test_injected),    cmocka_unit_test(test_weights),
        cmocka_unit_test(test_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
