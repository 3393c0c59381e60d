/* SPDX-License-Identifier: Apache-2.0 */
/* What both methods promise: bounds and exhaustive searches agree, and shortages are what they say.
 */
#include "method/ranking.h"
#include "base/units.h"
#include "layer/model_load.h"
#include "method/alternatives.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TOP = 5, COLUMNS_MAX = 256 };

static rk_problem calculon_problem(void)
{
    rk_problem problem = {.method = &rk_method_calculon};
    rk_error err;
    assert_int_equal(rk_calculon_app_load("megatron-22B", false, &problem.calculon.app, &err),
                     RK_OK);
    assert_int_equal(
        rk_calculon_sys_load("h100-80g-off512g50-nvl8", false, &problem.calculon.sys, &err), RK_OK);
    problem.calculon.space = (rk_calculon_space){.num_procs = 16,
                                                 .max_batch_size = 32,
                                                 .datatype = RK_FLOAT16,
                                                 .fused_count = 1,
                                                 .fused = {true}};
    return problem;
}

static rk_problem reckon_problem(void)
{
    rk_problem problem = {.method = &rk_method_reckon};
    rk_error err;
    assert_int_equal(rk_model_load("llama3-8b", &problem.reckon.inputs.model, &err), RK_OK);
    assert_int_equal(rk_system_load("h100-sxm", &problem.reckon.inputs.system, &err), RK_OK);
    assert_int_equal(rk_stack_load("megatron-2025", &problem.reckon.inputs.software.stack, &err),
                     RK_OK);
    problem.reckon.space =
        rk_plan_space_defaults(&problem.reckon.inputs.model, &problem.reckon.inputs.system, 16, 32);
    return problem;
}

static void *receive_nothing(void *context, int *from, size_t *size)
{
    (void)context;
    (void)from;
    (void)size;
    return NULL;
}

/* A team of one rank finds in slices what one process finds. */
static void check_team(const rk_problem *problem, const rk_ranking *all)
{
    rk_team team = {.size = 1, .receive = receive_nothing};
    rk_ranking shared;
    rk_error err;
    assert_int_equal(
        rk_rank_strategies(problem, RK_SEARCH_EXHAUSTIVE, TOP, &team, NULL, &shared, &err), RK_OK);
    assert_int_equal(shared.count, all->count);
    assert_int_equal(rk_ranking_total(&shared), rk_ranking_total(all));
    for (size_t i = 0; i < all->count; i++) {
        assert_int_equal(shared.candidates[i].index, all->candidates[i].index);
        assert_true(shared.candidates[i].score == all->candidates[i].score);
    }
    assert_int_equal(shared.shortage.nearest.index, all->shortage.nearest.index);
    assert_true(shared.shortage.nearest.memory == all->shortage.nearest.memory);
    rk_ranking_clear(&shared);
}

/* Both searches, and the evaluation of what they find. */
static void check_searches(const rk_problem *problem)
{
    const rk_method *method = problem->method;
    rk_ranking all, bounded;
    rk_error err;
    uint64_t strategies = 0;
    assert_int_equal(method->count(problem, &strategies, &err), RK_OK);
    assert_int_equal(rk_rank_strategies(problem, RK_SEARCH_EXHAUSTIVE, TOP, NULL, NULL, &all, &err),
                     RK_OK);
    assert_int_equal(
        rk_rank_strategies(problem, RK_SEARCH_BOUNDED, TOP, NULL, NULL, &bounded, &err), RK_OK);
    assert_false(all.by_bounds);
    assert_true(bounded.by_bounds);
    assert_int_equal(rk_ranking_total(&all), strategies);
    assert_int_equal(rk_ranking_total(&bounded), strategies);
    assert_int_equal(all.count, TOP);
    assert_int_equal(bounded.count, TOP);
    for (size_t i = 0; i < TOP; i++) {
        const rk_candidate *a = &all.candidates[i], *b = &bounded.candidates[i];
        rk_candidate alone;
        char words[RK_WORDS_SIZE], misfit[RK_MISFIT_SIZE];
        assert_true(a->fits && a->step > 0 && a->rate > 0 && a->memory > 0);
        assert_int_equal(a->index, b->index);
        assert_true(a->score == b->score && a->step == b->step);
        assert_true(i == 0 || a->score <= all.candidates[i - 1].score);
        assert_string_equal(method->changes(a, b, words), "");
        assert_int_equal(method->misfit(problem, a, misfit, &err), RK_OK);
        assert_string_equal(misfit, "");
        memset(&alone, 0xa5, sizeof(alone)); /* what `candidate_size` leaves out is of no use */
        memcpy(&alone, a, method->candidate_size);
        assert_int_equal(method->evaluate(problem, &alone, &err), RK_OK);
        assert_true(alone.fits && alone.rate > 0.9 * a->rate && alone.rate < 1.1 * a->rate);
    }
    check_team(problem, &all);
    rk_ranking_clear(&all);
    rk_ranking_clear(&bounded);
}

/* Every column has a name of its own, and a value of its type or none. */
static void check_columns(const rk_problem *problem)
{
    const rk_method *method = problem->method;
    const size_t count = method->column_count();
    char names[COLUMNS_MAX][RK_METHOD_COLUMN_SIZE];
    rk_value values[COLUMNS_MAX];
    rk_candidate best;
    rk_bounded_counts counts;
    rk_error err;
    size_t found;
    char *texts = malloc(method->text_size + 1);
    assert_non_null(texts);
    assert_true(count > 50 && count <= COLUMNS_MAX);
    assert_int_equal(method->bound(problem, NULL, 1, &best, &found, &counts, &err), RK_OK);
    assert_int_equal(method->values(problem, &best, texts, values, &err), RK_OK);
    for (size_t i = 0; i < count; i++) {
        const rk_value_type type = method->column(i, names[i]);
        assert_true(values[i].type == type || values[i].type == RK_VALUE_NULL ||
                    type == RK_VALUE_NULL);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(names[i], names[j]);
        }
    }
    free(texts);
}

/* A model of its own sizes is the model. */
static void check_shape(const rk_problem *problem, int64_t blocks, int64_t heads, int64_t head_size)
{
    const rk_method *method = problem->method;
    rk_problem same = *problem;
    rk_model_sizes sizes;
    uint64_t before = 0, after = 0;
    rk_error err;
    assert_true(method->shape(problem, blocks, heads, head_size, 0, &sizes));
    method->reshape(&same, &sizes, 0);
    assert_int_equal(sizes.blocks, blocks);
    assert_int_equal(sizes.hidden, heads * head_size);
    assert_int_equal(method->count(problem, &before, &err), RK_OK);
    assert_int_equal(method->count(&same, &after, &err), RK_OK);
    assert_int_equal(before, after);
}

static void test_calculon(void **state)
{
    const rk_problem problem = calculon_problem();
    const rk_calculon_app *app = &problem.calculon.app;
    (void)state;
    check_searches(&problem);
    check_columns(&problem);
    check_shape(&problem, app->num_blocks, app->attn_heads, app->attn_size);
}

static void test_reckon(void **state)
{
    const rk_problem problem = reckon_problem();
    (void)state;
    check_searches(&problem);
    check_columns(&problem);
    check_shape(&problem, problem.reckon.inputs.model.layers, 32, 128);
}

/* With the memory that a shortage names, the search finds something; with less it does not. */
static void test_calculon_shortage(void **state)
{
    rk_problem problem = calculon_problem();
    rk_ranking ranking;
    rk_error err;
    (void)state;
    problem.calculon.sys.mem1.capacity = 2 * GIB;
    problem.calculon.sys.mem2.capacity = 1 * GIB;
    for (int bounded = 0; bounded < 2; bounded++) {
        assert_int_equal(rk_rank_strategies(&problem,
                                            bounded ? RK_SEARCH_BOUNDED : RK_SEARCH_EXHAUSTIVE, 1,
                                            NULL, NULL, &ranking, &err),
                         RK_OK);
        const rk_shortage shortage = ranking.shortage;
        assert_int_equal(ranking.count, 0);
        rk_ranking_clear(&ranking);
        assert_true(shortage.fastest.fits && shortage.least[0].fits);
        assert_true(shortage.least[0].memory > 2 * GIB);
        rk_problem enough = problem;
        enough.calculon.sys.mem1.capacity = shortage.least[0].memory;
        assert_int_equal(
            rk_rank_strategies(&enough, RK_SEARCH_BOUNDED, 1, NULL, NULL, &ranking, &err), RK_OK);
        assert_int_equal(ranking.count, 1);
        rk_ranking_clear(&ranking);
        enough.calculon.sys.mem1.capacity = 0.98 * shortage.least[0].memory;
        assert_int_equal(
            rk_rank_strategies(&enough, RK_SEARCH_BOUNDED, 1, NULL, NULL, &ranking, &err), RK_OK);
        assert_int_equal(ranking.count, 0);
        rk_ranking_clear(&ranking);
    }
}

/*
 * An empty space: the least batch with which it is not.  Degrees that divide 64 heads, 48 blocks
 * and 1,120 = 32 x 35 processors leave 35 data-parallel ranks at least, with a sequence each.
 */
static void test_calculon_batch(void **state)
{
    rk_problem problem = calculon_problem();
    rk_ranking ranking;
    rk_error err;
    (void)state;
    problem.calculon.space.num_procs = 1120;
    for (int64_t most = 1; most < 40; most++) {
        problem.calculon.space.max_batch_size = most;
        uint64_t count = 0;
        assert_int_equal(problem.method->count(&problem, &count, &err), RK_OK);
        assert_int_equal(count > 0, most >= 35);
        if (count == 0) {
            assert_int_equal(
                rk_rank_strategies(&problem, RK_SEARCH_ANY, 1, NULL, NULL, &ranking, &err), RK_OK);
            assert_int_equal(rk_ranking_total(&ranking), 0);
            assert_int_equal(ranking.shortage.least_batch, 35);
            rk_ranking_clear(&ranking);
        }
    }
}

/* The nearest strategy does not fit, what it is changed to does, and so do more accelerators. */
static void test_reckon_shortage(void **state)
{
    rk_problem problem = reckon_problem();
    rk_ranking ranking;
    rk_error err;
    (void)state;
    problem.reckon.space.accelerators = 2;
    problem.reckon.space.offloads = RK_PLAN_NO_OFFLOAD;
    problem.reckon.inputs.system.accelerator.memory_usable = 30 * GIB;
    for (int kind = RK_SEARCH_ANY; kind <= RK_SEARCH_BOUNDED; kind++) {
        assert_int_equal(
            rk_rank_strategies(&problem, (rk_search_kind)kind, 1, NULL, NULL, &ranking, &err),
            RK_OK);
        const rk_shortage *shortage = &ranking.shortage;
        char misfit[RK_MISFIT_SIZE];
        assert_int_equal(ranking.count, 0);
        assert_int_equal(ranking.by_bounds, kind == RK_SEARCH_BOUNDED);
        assert_true(shortage->legal && !shortage->nearest.fits);
        assert_true(shortage->nearest.memory > 30 * GIB);
        assert_int_equal(problem.method->misfit(&problem, &shortage->nearest, misfit, &err), RK_OK);
        assert_non_null(strstr(misfit, "of 30.0 GiB"));
        assert_true(shortage->changes == 0 || shortage->changed.fits);
        assert_true(shortage->accelerators >= 4);
        check_team(&problem, &ranking);
        rk_ranking_clear(&ranking);
    }
    rk_problem many = problem; /* strategies with equal memory in different slices */
    many.reckon.space.accelerators = 64;
    many.reckon.inputs.system.accelerator.memory_usable = 1 * GIB;
    assert_int_equal(rk_rank_strategies(&many, RK_SEARCH_ANY, 1, NULL, NULL, &ranking, &err),
                     RK_OK);
    check_team(&many, &ranking);
    rk_ranking_clear(&ranking);
    problem.reckon.space.tp = (rk_choices){1, {3}};
    assert_int_equal(rk_rank_strategies(&problem, RK_SEARCH_ANY, 1, NULL, NULL, &ranking, &err),
                     RK_OK);
    assert_false(ranking.shortage.legal);
    assert_true(ranking.shortage.reasons.indivisible[0] != '\0');
    rk_ranking_clear(&ranking);
}

/* ---- alternatives ---------------------------------------------------------------------------- */

/* The space of a kind of alternative, as its label says; false: it is about memory or risk. */
static bool pin(const char *label, rk_plan_space *space)
{
    const struct {
        const char *label;
        rk_choices *degree;
        unsigned *set;
        unsigned value;
    } pins[] = {
        {"no pipeline", &space->pp, NULL, 1},
        {"no TP", &space->tp, NULL, 1},
        {"ZeRO 1", NULL, &space->shardings, 1U << RK_SHARD_OPTIMIZER},
        {"ZeRO 3", NULL, &space->shardings, 1U << RK_SHARD_ALL},
        {"no recompute", NULL, &space->recomputes, 1U << RK_REC_NONE},
        {"full recompute", NULL, &space->recomputes, 1U << RK_REC_FULL},
    };
    for (size_t i = 0; i < sizeof(pins) / sizeof(pins[0]); i++) {
        if (strcmp(pins[i].label, label) != 0) {
            continue;
        }
        if (pins[i].degree) {
            *pins[i].degree = (rk_choices){1, {1}};
        } else {
            *pins[i].set = pins[i].value;
        }
        return true;
    }
    return false;
}

/* The fastest strategy of a space; `fits` is unset where none is within memory and risk. */
static rk_candidate fastest_of(const rk_problem *problem)
{
    rk_candidate best = {.fits = false};
    rk_ranking ranking;
    rk_error err;
    assert_int_equal(
        rk_rank_strategies(problem, RK_SEARCH_EXHAUSTIVE, 1, NULL, NULL, &ranking, &err), RK_OK);
    if (ranking.count > 0 && !ranking.candidates[0].risky) {
        best = ranking.candidates[0];
    }
    rk_ranking_clear(&ranking);
    return best;
}

/* The alternatives of a kind: at most one, which is what a search of its part finds. */
static void check_kind(const rk_problem *problem, const rk_ranking *found, int kind)
{
    const char *label = rk_alternative_name(1U << kind);
    const rk_candidate *fastest = &found->candidates[0], *own = NULL;
    rk_problem part = *problem;
    char words[RK_WORDS_SIZE];
    for (size_t i = 0; i < found->count; i++) {
        if (found->kinds[i] >> kind & 1) {
            assert_null(own);
            own = &found->candidates[i];
        }
    }
    const double bytes = own ? rk_needed_bytes(&own->estimate.memory) : 0;
    const double most = rk_needed_bytes(&fastest->estimate.memory);
    if (pin(label, &part.reckon.space)) {
        const rk_candidate best = fastest_of(&part);
        const bool has = best.fits && best.step <= 1.5 * fastest->step;
        if (has && best.step == fastest->step && !own) {
            assert_string_equal(problem->method->changes(fastest, &best, words), "");
            return; /* the fastest itself is of the kind */
        }
        assert_int_equal(own != NULL, has);
        if (own) {
            assert_true(own->step == best.step);
            assert_string_equal(problem->method->changes(own, &best, words), "");
        }
    } else if (strcmp(label, "half the memory") == 0 && own) {
        assert_true(own->fits && !own->risky && bytes <= 0.5 * most);
    } else if (strcmp(label, "10 % of memory free") == 0) {
        assert_true(!own || most > 0.9 * fastest->estimate.usable);
        assert_true(!own || (!own->risky && bytes <= 0.9 * fastest->estimate.usable));
    } else if (strcmp(label, "faster, riskier") == 0) {
        part.reckon.space.risk = 0;
        const rk_candidate best = fastest_of(&part);
        assert_int_equal(own != NULL, best.step <= 0.99 * fastest->step);
        assert_true(!own || (own->step == best.step && own->risky));
    }
}

/* Returns the kinds that it finds, a bit each. */
static unsigned check_alternatives(const rk_problem *problem)
{
    rk_ranking found;
    rk_error err;
    unsigned kinds = 0;
    assert_int_equal(rk_rank_alternatives(problem, RK_SEARCH_ANY, NULL, NULL, &found, &err), RK_OK);
    assert_true(found.count > 0 && found.kinds[0] == 1);
    const rk_candidate best = fastest_of(problem);
    assert_int_equal(found.candidates[0].index, best.index);
    for (size_t i = 0; i < found.count; i++) {
        const rk_candidate *c = &found.candidates[i];
        assert_true(found.kinds[i] != 0 && c->step <= 1.5 * best.step);
        assert_true(i < 2 || c->step >= c[-1].step);
        for (size_t j = 0; j < i; j++) {
            assert_true(found.candidates[j].index != c->index);
        }
        kinds |= found.kinds[i];
    }
    for (int kind = 1; kind < RK_ALTERNATIVE_KINDS; kind++) {
        check_kind(problem, &found, kind);
    }
    rk_ranking_clear(&found);
    return kinds;
}

/* Every kind of alternative is the fastest of its part, and every kind is found. */
static void test_alternatives(void **state)
{
    static const struct {
        const char *model;
        double gib;
        int64_t accelerators, batch;
        double risk;
        unsigned kinds; /* a bit each, in the order of alternatives.c */
    } cases[] = {
        {"llama3-8b", 79, 8, 16, 0, 0x1d9},     {"llama3-8b", 40, 16, 32, 0.1, 0x1fd},
        {"llama2-13b", 60, 8, 16, 0.1, 0x35d},  {"llama3-70b", 79, 32, 16, 0.1, 0x25f},
        {"llama3-70b", 79, 64, 128, 0.1, 0xd7},
    };
    unsigned kinds = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_problem problem = reckon_problem();
        rk_error err;
        assert_int_equal(rk_model_load(cases[i].model, &problem.reckon.inputs.model, &err), RK_OK);
        problem.reckon.inputs.system.accelerator.memory_usable = cases[i].gib * GIB;
        problem.reckon.space =
            rk_plan_space_defaults(&problem.reckon.inputs.model, &problem.reckon.inputs.system,
                                   cases[i].accelerators, cases[i].batch);
        problem.reckon.space.risk = cases[i].risk;
        problem.reckon.space.schedules = 1U << RK_SCHEDULE_1F1B | 1U << RK_SCHEDULE_INTERLEAVED;
        assert_int_equal(check_alternatives(&problem), cases[i].kinds);
        kinds |= cases[i].kinds;
    }
    assert_int_equal(kinds, (1U << RK_ALTERNATIVE_KINDS) - 1);
}

/* Wants no more when it is asked for the second time, a tick after the first. */
static bool is_first(void *user, uint64_t done, uint64_t total)
{
    int *calls = user;
    (void)done;
    (void)total;
    return ++*calls < 2;
}

/* Slices of a fifth of a second, as every strategy fits: the search ends within one. */
static void test_stopped_team(void **state)
{
    int calls = 0;
    rk_team team = {.size = 1, .receive = receive_nothing};
    const rk_search_control control = {.threads = 1, .progress = is_first, .user = &calls};
    rk_problem problem = reckon_problem();
    rk_plan_space *space = &problem.reckon.space;
    rk_ranking ranking;
    rk_error err;
    (void)state;
    assert_int_equal(rk_model_load("llama3-405b", &problem.reckon.inputs.model, &err), RK_OK);
    *space = rk_plan_space_defaults(&problem.reckon.inputs.model, &problem.reckon.inputs.system,
                                    1 << 14, 1 << 17);
    space->offloads = RK_PLAN_ALL_OFFLOADS;
    space->recompute_layers = -1;
    space->max_memory = HUGE_VAL;
    assert_int_equal(
        rk_rank_strategies(&problem, RK_SEARCH_EXHAUSTIVE, 1, &team, &control, &ranking, &err),
        RK_ERR_STOPPED);
    assert_int_equal(calls, 2);
    assert_string_equal(err.message, "stopped before the end");
    rk_ranking_clear(&ranking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calculon),          cmocka_unit_test(test_reckon),
        cmocka_unit_test(test_calculon_shortage), cmocka_unit_test(test_calculon_batch),
        cmocka_unit_test(test_reckon_shortage),   cmocka_unit_test(test_stopped_team),
        cmocka_unit_test(test_alternatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
