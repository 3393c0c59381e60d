/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ranking: the first strategies are the same however many are asked for, on any number of
 * threads and by either search, and a narrower space has none that is faster.
 */
#include "models.h"
#include "search/bounded_plan.h"
#include "small.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 50, PROBLEMS = 12 };

struct ranking {
    rk_planned_strategy planned[MOST];
    size_t count;
};

struct problem {
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_plan_space space;
};

static struct problem random_problem(uint64_t seed)
{
    struct problem p;
    uint64_t r = seed;
    const int layers = (int)PICK(&r, 3, 6, 8, 11, 16);
    p.model = PICK(&r, 0, 1) ? dense_model(layers) : moe_model(layers, PICK(&r, 0, 1));
    load(&p.system, &p.stack);
    p.space = small_space(&p.model, &p.system, PICK(&r, 8, 16, 32), PICK(&r, 32, 48, 96),
                          (double)PICK(&r, 4, 8, 16));
    p.space.framework = (rk_framework)PICK(&r, 0, 1, 1, 2);
    p.space.base.pp_overlap = PICK(&r, 0, 1);
    p.space.offloads = (unsigned)PICK(&r, 1, 0xF, 0xFF, 1 << 3);
    return p;
}

static void rank(const struct problem *p, bool bounded, size_t top, int threads,
                 struct ranking *out)
{
    const rk_search_control control = {.threads = threads};
    rk_bounded_counts bounds;
    rk_plan_counts counts;
    rk_error err;
    const rk_status status =
        bounded ? rk_plan_search_bounded(&p->model, &p->system, &p->stack, &p->space, &control, top,
                                         out->planned, &out->count, &bounds, &err)
                : rk_plan_search(&p->model, &p->system, &p->stack, &p->space, &control, top,
                                 out->planned, &out->count, NULL, &counts, &err);
    assert_int_equal(status, RK_OK);
}

/* The first `top` of the ranking, with the same bits. */
static void assert_first(const struct ranking *all, const struct ranking *first, size_t top)
{
    assert_int_equal(first->count, all->count < top ? all->count : top);
    for (size_t i = 0; i < first->count; i++) {
        const rk_planned_strategy *a = &all->planned[i], *b = &first->planned[i];
        assert_int_equal(a->index, b->index);
        assert_memory_equal(&a->estimate.step, &b->estimate.step, sizeof(a->estimate.step));
        assert_memory_equal(&a->estimate.times, &b->estimate.times, sizeof(a->estimate.times));
    }
}

static void test_prefixes(void **state)
{
    static struct ranking all, some;
    size_t rows = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
        const struct problem p = random_problem(seed);
        rank(&p, false, MOST, 1, &all);
        rows += all.count;
        static const size_t tops[] = {1, 5, MOST};
        for (size_t i = 0; i < 3; i++) {
            rank(&p, false, tops[i], 2 + (int)(seed % 2), &some);
            assert_first(&all, &some, tops[i]);
            rank(&p, true, tops[i], 1 + (int)(seed % 3), &some);
            assert_first(&all, &some, tops[i]);
        }
    }
    assert_true(rows > 10 * PROBLEMS);
}

/* What a search ranks is what one estimate of the same strategy says. */
static void test_estimates(void **state)
{
    static struct ranking all;
    (void)state;
    for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
        const struct problem p = random_problem(seed);
        rank(&p, true, 5, 1, &all);
        for (size_t i = 0; i < all.count; i++) {
            const rk_planned_strategy *planned = &all.planned[i];
            rk_estimate e;
            rk_system system = p.system;
            system.accelerator.memory_usable =
                p.space.max_memory > 0 ? p.space.max_memory : system.accelerator.memory_usable;
            assert_int_equal(rk_estimate_step(&p.model, &system, &p.stack, &planned->strategy,
                                              p.space.convention, &e),
                             RK_OK);
            assert_memory_equal(&e.step, &planned->estimate.step, sizeof(e.step));
            assert_memory_equal(&e.times, &planned->estimate.times, sizeof(e.times));
        }
    }
}

/* Pinning what the best strategy has changes nothing, and pinning anything else is no faster. */
static void test_narrower(void **state)
{
    static struct ranking all, narrow;
    size_t slower = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
        struct problem p = random_problem(seed);
        rank(&p, false, 1, 2, &all);
        if (all.count == 0) {
            continue;
        }
        const rk_planned_strategy *best = &all.planned[0];
        const rk_plan_space whole = p.space;
        p.space.tp = (rk_choices){1, {best->strategy.tp}};
        p.space.pp = (rk_choices){1, {best->strategy.pp}};
        p.space.micro_batch = (rk_choices){1, {best->strategy.micro_batch}};
        rank(&p, true, 1, 1, &narrow);
        assert_int_equal(narrow.count, 1);
        assert_memory_equal(&narrow.planned[0].estimate.step, &best->estimate.step,
                            sizeof(best->estimate.step));
        for (int64_t pp = 1; pp <= 8; pp *= 2) {
            p.space = whole;
            p.space.pp = (rk_choices){1, {pp}};
            rank(&p, true, 1, 1, &narrow);
            assert_true(narrow.count == 0 ||
                        narrow.planned[0].estimate.step >= best->estimate.step);
            slower += narrow.count > 0 && narrow.planned[0].estimate.step > best->estimate.step;
        }
    }
    assert_true(slower > PROBLEMS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_narrower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
