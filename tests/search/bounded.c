/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded search of strategies against the exhaustive one, and its bounds. */
#include "base/extremes.h"
#include "base/units.h"
#include "search/bounded_plan.h"
#include "search/fewest_accelerators.h"

#include "estimate/lower_bounds.h"
#include "estimate/step_overheads.h"
#include "models.h"
#include "search/plan_lists.h"
#include "search/plan_store.h"
#include "system/machine_numbers.h"
#include "system/measured.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROBLEMS = 500, TOP_MAX = 1000 };

struct problem {
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_plan_space space;
    size_t top_n;
};

/* Any model, a system whose figures vary, and a space with hardly a choice taken away. */
static struct problem random_problem(uint64_t seed)
{
    static const char *const stacks[] = {"megatron-2025", "megatron-2021", "torchtitan",
                                         "nanotron"};
    uint64_t r = seed;
    struct problem p;
    rk_error err;
    assert_int_equal(rk_system_load("dgx-h100-superpod", &p.system, &err), RK_OK);
    assert_int_equal(rk_stack_load(stacks[next_random(&r) % 4], &p.stack, &err), RK_OK);
    const int layers = (int)PICK(&r, 4, 6, 8, 12, 17);
    p.model = PICK(&r, 0, 1) ? dense_model(layers) : moe_model(layers, PICK(&r, 0, 1));
    p.system.tiers[0].size = PICK(&r, 2, 4, 8);
    p.system.accelerator.host_capacity = (double)PICK(&r, 0, 2, 64) * GIB;
    p.system.accelerator.memory_bandwidth *= (double)PICK(&r, 1, 2, 4) / 2;
    p.space = rk_plan_space_defaults(&p.model, &p.system, PICK(&r, 1, 4, 6, 8, 16, 24),
                                     PICK(&r, 8, 16, 24, 32, 64));
    p.space.max_memory = (double)PICK(&r, 2, 3, 4, 6, 20) * GIB;
    p.space.framework = (rk_framework)PICK(&r, 0, 1, 1, 2, 3, 4, 5, 6, 7);
    p.space.schedules = (unsigned)PICK(&r, 127, 127, 6, 2);
    p.space.shardings = (unsigned)PICK(&r, 15, 15, 3, 2);
    p.space.recomputes = (unsigned)PICK(&r, 7, 7, 5, 4);
    p.space.hybrid = PICK(&r, 0, 1);
    p.space.orders = (unsigned)PICK(&r, 1, 1, 2, 3);
    p.space.base.precision = PICK(&r, 0, 1) ? RK_FP8 : RK_BF16;
    p.space.base.pp_overlap = PICK(&r, 0, 1);
    p.space.base.flash_attention = PICK(&r, 0, 1, 1, 1);
    if (PICK(&r, 0, 0, 0, 1)) {
        rk_strategy_freeze(&p.model, PICK(&r, 8, 64), (unsigned)PICK(&r, 1, 3), &p.space.base);
    }
    if (p.space.framework == RK_FRAMEWORK_ANY && PICK(&r, 0, 1)) {
        rk_plan_recipes_of_all(&p.model, &(rk_state_request){0}, &p.space);
    }
    p.top_n = (size_t)PICK(&r, 1, 1, 5, 10, 50, TOP_MAX);
    p.space.risk = (double)PICK(&r, 0, 0, 2, 10, 30) / 100;
    return p;
}

static void assert_same(const rk_planned_strategy *a, const rk_planned_strategy *b)
{
    assert_int_equal(a->index, b->index);
    assert_memory_equal(&a->estimate.step, &b->estimate.step, sizeof(a->estimate.step));
    assert_memory_equal(&a->estimate.times, &b->estimate.times, sizeof(a->estimate.times));
    assert_memory_equal(&a->estimate.memory, &b->estimate.memory, sizeof(a->estimate.memory));
    const int64_t x[] = {a->strategy.tp,       a->strategy.pp,       a->strategy.dp,
                         a->strategy.ep,       a->strategy.vp,       a->strategy.micro_batch,
                         a->strategy.schedule, a->strategy.sharding, a->strategy.recompute,
                         a->strategy.cp_kind,  a->strategy.order,    a->strategy.recompute_layers};
    const int64_t y[] = {b->strategy.tp,       b->strategy.pp,       b->strategy.dp,
                         b->strategy.ep,       b->strategy.vp,       b->strategy.micro_batch,
                         b->strategy.schedule, b->strategy.sharding, b->strategy.recompute,
                         b->strategy.cp_kind,  b->strategy.order,    b->strategy.recompute_layers};
    assert_memory_equal(x, y, sizeof(x));
}

/* Both searches on one problem. */
static rk_bounded_counts compare(const struct problem *p, rk_planned_strategy *all,
                                 rk_planned_strategy *best)
{
    rk_plan_counts counts;
    rk_bounded_counts bounded, again;
    rk_error err;
    size_t all_count, count;
    rk_search_control control = {.threads = 1};
    assert_int_equal(rk_plan_search(&p->model, &p->system, &p->stack, &p->space, &control, p->top_n,
                                    all, &all_count, NULL, &counts, &err),
                     RK_OK);
    for (int threads = 1; threads <= 3; threads += 2) {
        control.threads = threads;
        assert_int_equal(rk_plan_search_bounded(&p->model, &p->system, &p->stack, &p->space,
                                                &control, p->top_n, best, &count, &bounded, &err),
                         RK_OK);
        assert_int_equal(count, all_count);
        for (size_t i = 0; i < count; i++) {
            assert_same(&best[i], &all[i]);
            assert_true(best[i].estimate.fits);
            assert_true(best[i].estimate.risk <= (p->space.risk > 0 ? p->space.risk : 0.5) + 1e-9);
        }
        if (threads > 1) {
            assert_memory_equal(&bounded, &again, sizeof(again));
        }
        again = bounded;
    }
    assert_int_equal(bounded.total, counts.enumerated);
    assert_int_equal(bounded.evaluated + bounded.by_time + bounded.by_memory +
                         bounded.by_dominance + bounded.by_rule,
                     bounded.total);
    return bounded;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[PROBLEMS])
{
    qsort(values, PROBLEMS, sizeof(values[0]), compare_doubles);
    return values[PROBLEMS / 2];
}

/* Equal rankings, and at most a tenth of the estimates, even of the legal strategies alone. */
static void test_random_problems(void **state)
{
    static double evaluated[PROBLEMS], legal[PROBLEMS], work[PROBLEMS];
    rk_planned_strategy *all = calloc(TOP_MAX, sizeof(*all)),
                        *best = calloc(TOP_MAX, sizeof(*best));
    uint64_t seed = 0;
    (void)state;
    assert_true(all && best);
    for (int i = 0; i < PROBLEMS; i++) {
        rk_bounded_counts counts;
        do {
            const struct problem p = random_problem(++seed);
            counts = compare(&p, all, best);
        } while (counts.total == counts.by_rule);
        const double some = fmax(1, (double)counts.evaluated);
        evaluated[i] = (double)counts.total / some;
        legal[i] = (double)(counts.total - counts.by_rule) / some;
        work[i] = (double)counts.total / (some + (double)counts.bounds);
    }
    print_message("%d problems of %d seeds: strategies for each one evaluated, median %.0f, of "
                  "legal ones %.1f; strategies for each evaluation or bound, median %.1f\n",
                  PROBLEMS, (int)seed, median(evaluated), median(legal), median(work));
    assert_true(median(evaluated) >= 10);
    assert_true(median(legal) >= 10);
    free(all);
    free(best);
}

/* Some of the shapes of a schedule have no choice of layers where their number is given. */
static void test_given_layers(void **state)
{
    rk_planned_strategy *all = calloc(TOP_MAX, sizeof(*all)),
                        *best = calloc(TOP_MAX, sizeof(*best));
    (void)state;
    assert_true(all && best);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct problem p = random_problem(seed);
        p.space.recomputes = seed % 2 ? 1U << RK_REC_FULL : 7;
        p.space.recompute_layers = 1 + (int64_t)(seed % 3);
        (void)compare(&p, all, best);
    }
    free(all);
    free(best);
}

/* ---- parts --------------------------------------------------------------------------------- */

static const rk_plan_part parts[] = {
    {.ones = RK_DEGREE_TP},
    {.ones = RK_DEGREE_CP},
    {.ones = RK_DEGREE_PP},
    {.ones = RK_DEGREE_VP},
    {.ones = RK_DEGREE_EP},
    {.ones = RK_DEGREE_TP | RK_DEGREE_PP},
    {.shardings = 1U << RK_SHARD_OPTIMIZER},
    {.shardings = 1U << RK_SHARD_ALL},
    {.recomputes = 1U << RK_REC_NONE},
    {.recomputes = 1U << RK_REC_FULL},
    {.max_memory = 3 * GIB},
    {.riskier = true},
};

/* The part as a space of its own. */
static rk_plan_space space_of(const rk_plan_space *space, const rk_plan_part *part)
{
    const rk_choices one = {.count = 1, .values = {1}};
    rk_plan_space own = *space;
    own.tp = part->ones & RK_DEGREE_TP ? one : own.tp;
    own.cp = part->ones & RK_DEGREE_CP ? one : own.cp;
    own.pp = part->ones & RK_DEGREE_PP ? one : own.pp;
    own.vp = part->ones & RK_DEGREE_VP ? one : own.vp;
    own.ep = part->ones & RK_DEGREE_EP ? one : own.ep;
    if (part->shardings) { /* alone it would be tried though the framework does not have it */
        own.shardings &= part->shardings & rk_framework_of(own.framework)->shardings;
    }
    own.recomputes &= part->recomputes ? part->recomputes : own.recomputes;
    own.risk = part->riskier ? 0 : own.risk;
    own.max_memory = part->max_memory > 0 ? fmin(part->max_memory, own.max_memory) : own.max_memory;
    return own;
}

enum { PART_COUNT = sizeof(parts) / sizeof(parts[0]) };

/* A part that can be searched as a space of its own, and the fastest there. */
struct part_answer {
    size_t number;
    rk_planned_strategy best;
    size_t found;
};

/* Searches each part alone, exhaustively.  Returns how many parts can be compared. */
static size_t search_alone(const struct problem *p, const rk_search_control *control,
                           struct part_answer *answers)
{
    size_t kept = 0;
    for (size_t i = 0; i < PART_COUNT; i++) {
        const rk_plan_space space = space_of(&p->space, &parts[i]);
        struct part_answer *a = &answers[kept];
        rk_plan_counts counts;
        rk_error err;
        if (space.shardings == 0 || space.recomputes == 0) {
            continue;
        }
        if (parts[i].max_memory > 0 && (space.risk > 0 || p->stack.thrash_seconds > 0)) {
            continue; /* a smaller memory has other limits, and thrashes */
        }
        a->number = i;
        assert_int_equal(rk_plan_search(&p->model, &p->system, &p->stack, &space, control, 1,
                                        &a->best, &a->found, NULL, &counts, &err),
                         RK_OK);
        /* nothing to shard: the whole space has it as not sharded */
        const rk_strategy *best = &a->best.strategy;
        kept += a->found == 0 || !parts[i].shardings || best->dp * best->cp > 1;
    }
    return kept;
}

/* Searches some parts together, with a limit of `share` of the step of each; 0: without. */
static void search_together(rk_plan_bounds *bounds, const struct part_answer *answers, size_t count,
                            double share)
{
    rk_plan_part some[RK_PLAN_PARTS];
    rk_planned_strategy planned[RK_PLAN_PARTS];
    bool found[RK_PLAN_PARTS];
    rk_error err;
    for (size_t i = 0; i < count; i++) {
        some[i] = parts[answers[i].number];
        some[i].longest_step_s = answers[i].found ? share * answers[i].best.estimate.step : 0;
    }
    assert_int_equal(rk_plan_bounds_search_parts(bounds, some, (int)count, planned, found, &err),
                     RK_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i], answers[i].found && !(share > 0 && share < 1));
        if (found[i]) {
            planned[i].index = answers[i].best.index; /* in another space */
            assert_same(&planned[i], &answers[i].best);
        }
    }
}

/* The fastest of a part is that of an exhaustive search of the part alone. */
static void test_parts(void **state)
{
    int found_of[PART_COUNT] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        const struct problem p = random_problem(seed);
        const rk_search_control control = {.threads = 1 + (int)(seed % 2)};
        struct part_answer answers[PART_COUNT];
        rk_planned_strategy best;
        rk_plan_bounds *bounds;
        rk_bounded_counts bounded;
        size_t count;
        rk_error err;
        assert_int_equal(
            rk_plan_bounds_open(&p.model, &p.system, &p.stack, &p.space, &control, &bounds, &err),
            RK_OK);
        assert_int_equal(rk_plan_bounds_search(bounds, 1, &best, &count, &bounded, &err), RK_OK);
        const size_t kept = search_alone(&p, &control, answers);
        for (size_t i = 0; i < kept; i += RK_PLAN_PARTS) {
            const size_t rest = kept - i;
            const size_t some = rest < RK_PLAN_PARTS ? rest : RK_PLAN_PARTS;
            search_together(bounds, &answers[i], some, 0);
            search_together(bounds, &answers[i], some, 1);
            search_together(bounds, &answers[i], some, 0.999);
        }
        for (size_t i = 0; i < kept; i++) {
            found_of[answers[i].number] += answers[i].found > 0;
        }
        rk_plan_bounds_close(bounds);
    }
    for (size_t i = 0; i < PART_COUNT; i++) {
        assert_true(found_of[i] >= 10);
    }
}

/* ---- searches that share ------------------------------------------------------------------- */

/* How often something was found, and with fewer or more bounds than by a search alone. */
struct seen {
    int found, fewer, more;
};

/* Checks that a search found what one alone did (NULL: nothing), and counts every strategy once. */
static void count_alike(const rk_planned_strategy *own, const rk_bounded_counts *alone,
                        const rk_planned_strategy *best, const rk_bounded_counts *again,
                        struct seen *seen)
{
    assert_int_equal(best != NULL, own != NULL);
    if (best) {
        assert_same(best, own);
    }
    assert_int_equal(again->evaluated + again->by_time + again->by_memory + again->by_dominance +
                         again->by_rule,
                     again->total);
    seen->found += best != NULL;
    seen->fewer += again->bounds < alone->bounds;
    seen->more += again->bounds > alone->bounds;
}

/* ---- systems nearby ------------------------------------------------------------------------ */

/* Any numbers of a system better, by 1.1 times, but for the sizes of domains. */
static rk_system improved(const struct problem *p, uint64_t *r)
{
    rk_number numbers[RK_NUMBER_MAX];
    rk_system system = p->system;
    const size_t count = rk_system_numbers(&p->system, p->space.base.precision, numbers);
    for (size_t i = 0; i < count; i++) {
        const rk_number *n = &numbers[i];
        if (n->kind != RK_NUMBER_DOMAIN && n->value > 0 && PICK(r, 0, 1)) {
            rk_system_set_number(&system, n, n->lower ? n->value / 1.1 : n->value * 1.1);
        }
    }
    return system;
}

/* Bounds of one system find on others what bounds of these find; not by luck of the first. */
static void test_nearby(void **state)
{
    struct seen seen = {0, 0, 0};
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct problem p = random_problem(seed * 7);
        const rk_search_control control = {.threads = 1 + (int)(seed % 2)};
        uint64_t r = seed;
        rk_plan_bounds *bounds;
        rk_error err;
        p.space.base.attention_kernel = (rk_attention_kernel)PICK(
            &r, RK_KERNEL_OF_STACK, RK_KERNEL_OF_STACK, RK_KERNEL_FLASH_2, RK_KERNEL_FLASH_3);
        assert_int_equal(
            rk_plan_bounds_open(&p.model, &p.system, &p.stack, &p.space, &control, &bounds, &err),
            RK_OK);
        for (int i = 0; i < 4; i++) {
            const rk_system other = improved(&p, &r);
            rk_planned_strategy own, best;
            rk_bounded_counts alone, again;
            size_t own_count, count;
            assert_int_equal(rk_plan_search_bounded(&p.model, &other, &p.stack, &p.space, &control,
                                                    1, &own, &own_count, &alone, &err),
                             RK_OK);
            const double longest = own_count && PICK(&r, 0, 1) ? own.estimate.step : 0;
            assert_int_equal(rk_plan_bounds_turn(bounds, &other, 1.1, &err), RK_OK);
            assert_int_equal(
                rk_plan_bounds_search_again(bounds, longest, 1, &best, &count, &again, &err),
                RK_OK);
            count_alike(own_count ? &own : NULL, &alone, count ? &best : NULL, &again, &seen);
        }
        rk_plan_bounds_close(bounds);
    }
    assert_true(seen.found >= 80);
    assert_true(seen.fewer > seen.more);
}

/* ---- clusters of other sizes --------------------------------------------------------------- */

/* Searches find the same with what searches of other sizes have kept, with fewer bounds. */
static void test_store(void **state)
{
    static const int64_t sizes[] = {16, 8, 24, 32, 12};
    struct seen seen = {0, 0, 0};
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct problem p = random_problem(seed * 11);
        rk_plan_store *store;
        rk_error err;
        uint64_t r = seed;
        assert_int_equal(rk_plan_store_new(&store, &err), RK_OK);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            rk_search_control control = {.threads = 1 + (int)(seed % 2)};
            rk_planned_strategy own, best;
            rk_bounded_counts alone, again;
            size_t own_count, count;
            p.space.accelerators = sizes[i];
            p.space.global_batch = sizes[i] * PICK(&r, 1, 2, 4);
            p.space.store = NULL;
            assert_int_equal(rk_plan_search_bounded(&p.model, &p.system, &p.stack, &p.space,
                                                    &control, 1, &own, &own_count, &alone, &err),
                             RK_OK);
            if (own_count > 0 && PICK(&r, 0, 1)) {
                control.least_rate = (double)p.space.global_batch / own.estimate.step;
            }
            p.space.store = store;
            assert_int_equal(rk_plan_search_bounded(&p.model, &p.system, &p.stack, &p.space,
                                                    &control, 1, &best, &count, &again, &err),
                             RK_OK);
            count_alike(own_count ? &own : NULL, &alone, count ? &best : NULL, &again, &seen);
        }
        rk_plan_store_free(store);
    }
    assert_true(seen.found >= 25);
    assert_true(seen.fewer > 4 * seen.more);
}

/* ---- the bounds ---------------------------------------------------------------------------- */

/*
 * A rank works on all microbatches and holds still for its messages, unless these overlap; its
 * times and of the ranks that it waits for have no recomputation.
 */
static void audit_messages(const struct problem *p, const rk_cost_table *table,
                           const rk_strategy *s, const rk_chunk_times *times, double send,
                           double step)
{
    const rk_pipeline pipeline = rk_pipeline_of(s, times, 0);
    const rk_schedule *schedule = rk_schedules[s->schedule];
    const double microbatches = (double)rk_strategy_microbatches(s);
    const double most = rk_overlapped_sends(&p->stack, s, send);
    double before = 0;
    for (int64_t r = 0; r < s->pp && !schedule->pairs; r++) {
        const rk_chunk_times *own = &times[r * rk_stage_chunks(s)];
        const double sends = microbatches * (double)rk_pipeline_sends(&pipeline, r) * send;
        const rk_makespan least = {.work = before + microbatches * rk_rank_seconds(s, own),
                                   .sends = rk_min(sends, most)};
        assert_true(rk_least_step(table, s, &least) <= step);
        before += schedule->rolls    ? 0
                  : schedule->splits ? own->forward
                                     : own->forward + own->backward + own->weight;
    }
}

/* With fewer modules recomputed the model takes no longer, unless only one set spares a gather. */
static void audit_modules(const struct problem *p, const rk_strategy *s, const rk_cost_table *own,
                          const rk_stage_blocks *all)
{
    int experts;
    const double seconds = rk_whole_seconds(own, all, &experts) * (1 + RK_LOWER_BOUND_SLACK);
    for (unsigned bit = 1; bit <= s->recompute_modules; bit *= 2) {
        if ((s->recompute_modules & bit) && bit != RK_MODULE_OPERATORS) {
            rk_cost_table table;
            rk_strategy fewer = *s;
            fewer.recompute_modules &= ~bit;
            fewer.recompute = fewer.recompute_modules ? RK_REC_SELECTIVE : RK_REC_NONE;
            rk_cost_table_fill(&p->model, &p->system, &p->stack, &fewer, &table);
            assert_true(rk_whole_seconds(&table, all, &experts) <= seconds);
        }
    }
}

/* Checks the bounds of a strategy that the exhaustive search has found. */
static void audit(const struct problem *p, const rk_planned_strategy *planned)
{
    const rk_strategy *s = &planned->strategy;
    const int64_t v = rk_stage_chunks(s);
    rk_strategy plain = *s;
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_chunk_times times[RK_CHUNK_MAX], less[RK_CHUNK_MAX], mixers[RK_CHUNK_MAX];
    rk_cost_table own, none, without;
    rk_cost_table_fill(&p->model, &p->system, &p->stack, s, &own);
    plain.recompute = RK_REC_NONE;
    plain.recompute_modules = 0;
    rk_cost_table_fill(&p->model, &p->system, &p->stack, &plain, &none);
    without = none;
    const rk_chunk_times experts = rk_least_experts(&none, &plain);
    rk_cost_table_lower_experts(&experts, &without);
    rk_strategy_chunks(&p->model, s, chunks);
    for (int64_t r = 0; r < s->pp; r++) {
        rk_stage_times(&own, s, &chunks[r * v], false, &times[r * v]);
        rk_stage_times(&none, &plain, &chunks[r * v], false, &less[r * v]);
        rk_stage_times(&without, &plain, &chunks[r * v], false, &mixers[r * v]);
    }
    const rk_stage_blocks all = rk_whole_blocks(&p->model, s);
    if (s->recompute == RK_REC_SELECTIVE) {
        audit_modules(p, s, &own, &all);
    }
    const rk_stage whole = rk_whole_model(&own, &all), least = rk_whole_model(&none, &all);
    const rk_stage dense = rk_whole_model(&without, &all);
    const double step = planned->estimate.step * (1 + RK_LOWER_BOUND_SLACK);
    double sent;
    const double send = rk_send_seconds(&own, s, &sent);
    /* recompute only adds */
    const rk_pipeline with = rk_pipeline_of(s, times, 0), without_any = rk_pipeline_of(s, less, 0);
    const rk_makespan makespan = rk_least_makespan(&p->stack, s, &with, send, (double)INFINITY);
    const rk_makespan shorter =
        rk_least_makespan(&p->stack, s, &without_any, send, (double)INFINITY);
    const double bound = rk_least_step(&own, s, &makespan);
    assert_true(bound <= step);
    assert_true(rk_least_step(&none, s, &shorter) <= bound * (1 + RK_LOWER_BOUND_SLACK));
    audit_messages(p, &none, s, less, send, step);
    if (s->sharding == RK_SHARD_ALL) { /* and the rest of a model to layers that gather */
        const rk_gathering gathering = rk_gathering_of(&none, &all);
        const double seconds = rk_least_gathering_seconds(&none, s, &gathering);
        const rk_makespan waits = {.work = (double)rk_strategy_microbatches(s) * seconds};
        assert_true(rk_least_step(&none, s, &waits) <= step);
    }
    /* and so do experts */
    const rk_pipeline bare_one = rk_pipeline_of(s, mixers, 0);
    const rk_makespan bare = rk_least_makespan(&p->stack, s, &bare_one, send, (double)INFINITY);
    assert_true(bare.work <= shorter.work * (1 + RK_LOWER_BOUND_SLACK));
    assert_true(rk_least_step(&without, s, &bare) <= bound * (1 + RK_LOWER_BOUND_SLACK));
    const double memory = planned->estimate.memory.total * (1 + RK_LOWER_BOUND_SLACK);
    assert_true(rk_least_memory(&own, s, &whole) <= memory);
    assert_true(rk_least_memory(&none, s, &least) <= memory);
    assert_true(rk_least_memory(&without, s, &dense) <= memory);
}

/* A rank that holds no less and runs no fewer microbatches ahead needs no less than its floor. */
static void audit_floor(const struct problem *p, const rk_planned_strategy *planned,
                        uint64_t *random)
{
    const rk_strategy *s = &planned->strategy;
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_cost_table table, none;
    rk_stage held, less, plain;
    rk_strategy without = *s;
    without.recompute = RK_REC_NONE;
    without.recompute_modules = 0;
    rk_cost_table_fill(&p->model, &p->system, &p->stack, s, &table);
    rk_cost_table_fill(&p->model, &p->system, &p->stack, &without, &none);
    rk_strategy_chunks(&p->model, s, chunks);
    rk_stage_blocks blocks = rk_stage_blocks_of(&p->model, s, chunks), flat = blocks;
    const double in_flight = rk_pipeline_in_flight(s->schedule, s->pp, rk_stage_chunks(s),
                                                   rk_strategy_microbatches(s), 0);
    rk_stage_keep(&table, &blocks, &held);
    /* with gradients that backward frees, the mean rank needs no more either */
    rk_strategy stepped = *s;
    stepped.step_in_backward = true;
    const rk_stage_blocks all = rk_whole_blocks(&p->model, s);
    const rk_stage whole = rk_whole_model(&table, &all);
    const rk_stage_memory freed = rk_stage_memory_of(&table, &stepped, &held, in_flight);
    assert_true(s->pp > 1 || rk_least_memory(&table, &stepped, &whole) <=
                                 rk_needed_bytes(&freed) * (1 + RK_LOWER_BOUND_SLACK));
    const rk_stage_memory memory = rk_stage_memory_of(&table, s, &held, in_flight);
    for (int i = 0; i < 4; i++) {
        for (int type = 0; type < p->model.type_count; type++) {
            for (int full = 0; full < 2; full++) {
                int16_t *count = &blocks.layers[type][full];
                *count = (int16_t)(next_random(random) % ((uint64_t)*count + 1));
            }
        }
        rk_stage_keep(&table, &blocks, &less);
        const rk_stage_need need = rk_stage_need_of(&table, s, &less);
        const double needed = rk_needed_bytes(&memory) * (1 + RK_LOWER_BOUND_SLACK);
        assert_true(rk_least_of_rank(&table, &need, in_flight / (double)(1 + i)) <= needed);
        /* nor with what is known without recomputation */
        for (int type = 0; type < p->model.type_count; type++) {
            flat.layers[type][0] = (int16_t)(blocks.layers[type][0] + blocks.layers[type][1]);
            flat.layers[type][1] = 0;
        }
        rk_stage_keep(&none, &flat, &plain);
        const rk_rank_floor floor = rk_rank_floor_of(&none, s, &plain, in_flight / (double)(1 + i));
        const rk_least_kept kept = rk_least_kept_of(&table, s, &blocks);
        assert_true(rk_rank_floor_bytes(&floor, &kept) <= needed);
        /* states aside, one that shards less needs no more */
        rk_strategy wider = *s;
        const int kinds = s->step_in_backward || s->offload_gradients ? 0 : (int)s->sharding + 1;
        for (int kind = 0; kind < kinds; kind++) {
            wider.sharding = (rk_sharding)kind;
            const rk_rank_floor other =
                rk_rank_floor_of(&none, &wider, &plain, in_flight / (double)(1 + i));
            assert_true(rk_rank_floor_unsharded(&other, &kept) <= needed);
        }
    }
}

static void test_admissible(void **state)
{
    rk_planned_strategy *all = calloc(TOP_MAX, sizeof(*all));
    size_t audited = 0, gathering = 0;
    uint64_t random = 1;
    (void)state;
    assert_non_null(all);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        const struct problem p = random_problem(seed);
        rk_plan_counts counts;
        rk_error err;
        size_t count;
        assert_int_equal(rk_plan_search(&p.model, &p.system, &p.stack, &p.space, NULL, TOP_MAX, all,
                                        &count, NULL, &counts, &err),
                         RK_OK);
        for (size_t i = 0; i < count; i += 1 + count / 80) {
            audit(&p, &all[i]);
            audit_floor(&p, &all[i], &random);
            audited++;
            gathering += all[i].strategy.sharding == RK_SHARD_ALL;
        }
    }
    print_message("%zu strategies, %zu gather their layers\n", audited, gathering);
    assert_true(audited > 1500 && gathering > 300);
    free(all);
}

static uint64_t find_within_risk(const struct problem *p)
{
    rk_planned_strategy found;
    rk_error err;
    assert_int_equal(
        rk_plan_find_nearest(&p->model, &p->system, &p->stack, &p->space, NULL, true, &found, &err),
        RK_OK);
    return found.index;
}

/* Where nothing fits, the strategy that needs least memory is the one of all, whatever is skipped.
 */
static void test_nearest(void **state)
{
    int found_count = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct problem p = random_problem(seed);
        rk_planned_strategy nearest, quick;
        rk_plan_counts counts;
        rk_error err;
        size_t found;
        p.space.max_memory = 1e6;
        assert_int_equal(rk_plan_search(&p.model, &p.system, &p.stack, &p.space, NULL, 0, NULL,
                                        &found, &nearest, &counts, &err),
                         RK_OK);
        assert_int_equal(found, 0);
        assert_int_equal(rk_plan_find_nearest(&p.model, &p.system, &p.stack, &p.space, NULL, false,
                                              &quick, &err),
                         RK_OK);
        assert_true(nearest.index == quick.index);
        if (nearest.index != UINT64_MAX) {
            assert_true(nearest.needed == quick.needed &&
                        nearest.estimate.step == quick.estimate.step);
            p.space.risk = 0;
            p.space.max_memory = nearest.needed; /* then it fits */
            assert_int_equal(find_within_risk(&p), nearest.index);
            assert_true(rk_least_accelerators(&p.model, &p.system, &p.space) <=
                        (double)p.space.accelerators);
            p.space.max_memory *= 1 - 1e-6;
            assert_true(find_within_risk(&p) == UINT64_MAX);
            found_count++;
        }
    }
    assert_true(found_count > 100);
}

/* Gives the machine tables of kernels that are faster and slower than the model. */
static void measure(rk_system *system, uint64_t seed)
{
    enum { KERNELS = 90 };
    rk_measured_kernel kernels[KERNELS];
    uint64_t r = seed;
    rk_error err;
    for (int i = 0; i < KERNELS; i++) {
        rk_measured_kernel *k = &kernels[i];
        *k = (rk_measured_kernel){.kind = (rk_kernel_kind)PICK(&r, 0, 1, 2), .seconds = 1};
        if (k->kind == RK_KERNEL_GEMM) {
            k->gemm = (rk_gemm_work){.precision = PICK(&r, 0, 1) ? RK_FP8 : RK_BF16,
                                     .batch = 1,
                                     .M = (double)(next_random(&r) % 8192 + 1),
                                     .N = (double)(next_random(&r) % 8192 + 1),
                                     .K = (double)(next_random(&r) % 8192 + 1),
                                     .grouped = PICK(&r, 0, 1)};
        } else if (k->kind == RK_KERNEL_COLLECTIVE) {
            k->collective = (rk_collective_work){
                .op = (rk_collective)PICK(&r, 0, 1, 2, 3, 5),
                .bytes = (double)(1ULL << (next_random(&r) % 16 + 12)),
                .group = rk_group_of(system, PICK(&r, 2, 4, 8, 16), PICK(&r, 1, 1, 2, 8))};
        } else {
            k->attention = (rk_attention_work){.flops = 1e12,
                                               .seq = (double)(next_random(&r) % 8192 + 1),
                                               .heads = (double)PICK(&r, 1, 4, 16, 64),
                                               .qk_size = 128,
                                               .backward = PICK(&r, 0, 1)};
        }
        k->seconds = (double)PICK(&r, 50, 90, 150, 300) / 100 / rk_measured_ratio(system, k);
    }
    assert_int_equal(rk_measured_set(system, kernels, KERNELS, &err), RK_OK);
}

static void test_measured_tables(void **state)
{
    rk_planned_strategy *all = calloc(TOP_MAX, sizeof(*all)),
                        *best = calloc(TOP_MAX, sizeof(*best));
    (void)state;
    assert_true(all && best);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct problem p = random_problem(seed);
        measure(&p.system, seed);
        (void)compare(&p, all, best);
        rk_system_clear(&p.system);
    }
    free(all);
    free(best);
}

/* Filling the experts of a table again gives that of the other degrees; without experts, of both.
 */
static void test_fill_experts(void **state)
{
    struct problem p = random_problem(1);
    rk_cost_table table, other, without;
    rk_strategy a, b;
    (void)state;
    p.model = moe_model(6, true);
    a = rk_strategy_defaults(&p.model);
    a.tp = 2;
    a.sp = true;
    a.dp = 4;
    a.global_batch = 16;
    a.recompute = RK_REC_FULL; /* else layers that are checkpointed whole have no costs */
    b = a;
    b.ep = 4;
    b.etp = 2;
    memset(&table, 0, sizeof(table));
    memset(&other, 0, sizeof(other));
    rk_cost_table_fill(&p.model, &p.system, &p.stack, &a, &table);
    const rk_chunk_times nothing = {0, 0, 0};
    without = table;
    rk_cost_table_lower_experts(&nothing, &without);
    rk_cost_table_fill_experts(&b, &table);
    rk_cost_table_fill(&p.model, &p.system, &p.stack, &b, &other);
    assert_true(table.layers[1][0].forward.part[RK_PART_EP] > 0);
    assert_memory_equal(&table.layers, &other.layers, sizeof(table.layers));
    assert_memory_equal(&table.head, &other.head, sizeof(table.head));
    assert_memory_equal(&table.mtp, &other.mtp, sizeof(table.mtp));
    assert_memory_equal(&table.embedding, &other.embedding, sizeof(table.embedding));
    rk_cost_table_lower_experts(&nothing, &other);
    assert_true(other.layers[1][0].forward_seconds < table.layers[1][0].forward_seconds);
    assert_memory_equal(&without.layers, &other.layers, sizeof(without.layers));
    /* which need not be filled for that, also where linears in 8 bits are counted */
    for (int low = 0; low < 2; low++) {
        rk_strategy plain = a;
        plain.recompute = RK_REC_NONE;
        plain.precision = low ? RK_FP8 : RK_BF16;
        memset(&other, 0, sizeof(other));
        rk_cost_table_fill(&p.model, &p.system, &p.stack, &plain, &without);
        rk_cost_table_fill_mixers(&p.model, &p.system, &p.stack, &plain, NULL, &other);
        rk_cost_table_lower_experts(&nothing, &without);
        rk_cost_table_lower_experts(&nothing, &other);
        assert_true(low == (other.layers[1][0].low_dense_params > 0));
        assert_memory_equal(&without.layers[1], &other.layers[1], sizeof(without.layers[1]));
        assert_memory_equal(&without.layers[0][0], &other.layers[0][0], sizeof(rk_cost));
    }
    /* and of one that differs in recompute */
    b.recompute = RK_REC_SELECTIVE;
    b.recompute_modules = RK_MODULE_NORM | RK_MODULE_ACTIVATION;
    memset(&without, 0, sizeof(without));
    memset(&other, 0, sizeof(other));
    rk_cost_table_fill_layers(&table, &b, &without);
    rk_cost_table_fill_with(&p.model, &p.system, &p.stack, &b, NULL, &other);
    assert_true(other.layers[1][0].saved < table.layers[1][0].saved);
    assert_memory_equal(&without.layers, &other.layers, sizeof(without.layers));
    assert_memory_equal(&without.mixers, &other.mixers, sizeof(without.mixers));
    assert_memory_equal(&without.head, &other.head, sizeof(without.head));
    assert_memory_equal(&without.mtp, &other.mtp, sizeof(without.mtp));
    assert_memory_equal(&without.embedding, &other.embedding, sizeof(without.embedding));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_problems), cmocka_unit_test(test_given_layers),
        cmocka_unit_test(test_parts),           cmocka_unit_test(test_admissible),
        cmocka_unit_test(test_nearest),         cmocka_unit_test(test_measured_tables),
        cmocka_unit_test(test_fill_experts),    cmocka_unit_test(test_nearby),
        cmocka_unit_test(test_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
