/* SPDX-License-Identifier: Apache-2.0 */
/* A search in slices: what each has found arrives whole, and all of them find what one does. */
#include "sweep/worker.h"

#include "grid.h"

#include <math.h>

static rk_sweep_doc *doc;
static rk_sweep_table table;
static rk_sweep_worker worker;

static int start(void **state)
{
    rk_error err;
    bool kept;
    (void)state;
    doc = grid_parse(grid_small);
    return rk_sweep_table_init(doc, &table, &err) || rk_sweep_worker_init(&worker, &table, &err) ||
           rk_sweep_worker_read(&worker, 1, &kept, &err) || !kept;
}

static int end(void **state)
{
    (void)state;
    rk_sweep_worker_clear(&worker);
    rk_sweep_table_clear(&table);
    rk_sweep_doc_free(doc);
    return 0;
}

/* What a slice has found, as bytes; the caller releases them. */
static rk_bytes search_slice(uint64_t slice, uint64_t slices)
{
    const double floor = -(double)INFINITY;
    const rk_search_control control = {
        .threads = 1, .slice = slice, .slices = slices, .floor = &floor};
    rk_bytes result = {.data = NULL};
    rk_error err;
    assert_int_equal(rk_sweep_worker_slice(&worker, 0, &control, &result, &err), RK_OK);
    return result;
}

/* Searches the point in slices, which arrive last first, and sorts what is kept. */
static void search(uint64_t slices, rk_point_result *found)
{
    rk_error err;
    rk_point_result_start(&worker, 0, found);
    for (uint64_t i = slices; i-- > 0;) {
        rk_bytes result = search_slice(i, slices);
        assert_int_equal(rk_point_result_add(&worker, found, i + 1 == slices, &result, &err),
                         RK_OK);
        rk_bytes_clear(&result);
    }
    rk_top_sort(&found->top);
}

static void test_slices_find_the_same(void **state)
{
    rk_point_result whole = {.reason = ""};
    (void)state;
    search(1, &whole);
    assert_int_equal(whole.top.count, GRID_TOP);
    for (uint64_t slices = 1; slices <= 7; slices++) {
        rk_point_result found = {.reason = ""};
        search(slices, &found);
        assert_int_equal(found.top.count, whole.top.count);
        for (size_t i = 0; i < found.top.count; i++) {
            const rk_candidate *candidate = rk_top_payload(&found.top, i);
            assert_true(found.top.heap[i].score == whole.top.heap[i].score);
            assert_int_equal(found.top.heap[i].index, whole.top.heap[i].index);
            assert_int_equal(found.top.heap[i].index, candidate->index);
            assert_true(found.top.heap[i].score == candidate->score);
        }
        for (size_t i = 0; i < RK_SWEEP_COUNTS_MAX; i++) {
            assert_int_equal(found.counts[i].integer, whole.counts[i].integer);
        }
        rk_top_clear(&found.top);
    }
    rk_top_clear(&whole.top);
}

/* Wherever the bytes of a slice are cut, they are refused. */
static void test_cut_result(void **state)
{
    rk_bytes result = search_slice(0, 1);
    const size_t size = result.size;
    (void)state;
    for (result.size = 0; result.size < size; result.size++) {
        rk_point_result found = {.reason = ""};
        rk_error err;
        rk_point_result_start(&worker, 0, &found);
        assert_int_equal(rk_point_result_add(&worker, &found, true, &result, &err), RK_ERR_INVALID);
        assert_string_equal(err.message, "a part of a search has arrived incomplete");
        rk_top_clear(&found.top);
    }
    rk_bytes_clear(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_find_the_same),
        cmocka_unit_test(test_cut_result),
    };
    return cmocka_run_group_tests(tests, start, end);
}
