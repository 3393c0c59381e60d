/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question has one answer: however many strategies are asked for, by an exhaustive or a bounded
 * search, on one thread or two.  A space that is part of another has no faster one.  What the
 * stages of every answer hold of the model's states is what the shapes ask for.
 *
 *     test_ask [FIRST COUNT [LARGEST ROWS]]    so many random questions that have an answer, about
 *                                              at most LARGEST strategies, 1, 5 and ROWS of which
 *                                              are asked for; default: 0 50 2000 40
 *     test_ask --print FIRST COUNT             their words
 */
#include "questions.h"
#include "states.h"

#include "method/estimate_fields.h"
#include "method/plan_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_QUESTIONS = 50, MOST_ROWS = 1000 };

/* Strategies of a space that is worth asking about. */
static const uint64_t least_space = 2;
static uint64_t largest_space = 2000;

static size_t most_rows = 40;

struct tally {
    int answered, empty, compared, narrowed, counted, wrong;
    uint64_t strategies;
};

/* ---- one search ----------------------------------------------------------------------------- */

struct way {
    size_t rows;
    bool bounded;
    int threads;
};

static bool find(const question *q, rk_request request, const rk_inputs *inputs,
                 const struct way *way, rk_plan *plan)
{
    rk_error err;
    char text[1024];
    request.bounded = way->bounded;
    request.threads = way->threads;
    request.top = (int64_t)way->rows;
    const rk_status status =
        rk_plan_request(rk_job_work(q->job), &request, inputs, way->rows, plan, &err);
    if (status) {
        (void)printf("  error: %s\n", rk_error_text(&err, text, sizeof(text)));
    }
    return status == RK_OK;
}

static bool same_answer(const rk_answer *a, const rk_answer *b)
{
    char changes[1024];
    return memcmp(&a->estimate.step, &b->estimate.step, sizeof(a->estimate.step)) == 0 &&
           !rk_strategy_changes(&a->strategy, &b->strategy, changes, sizeof(changes))[0];
}

/* The first rows of two answers to the same question; the number of the first that differs, or 0.
 */
static size_t first_difference(const rk_plan *all, const rk_plan *some, size_t rows)
{
    const size_t wanted = all->answer_count < rows ? all->answer_count : rows;
    for (size_t i = 0; i < wanted; i++) {
        if (i >= some->answer_count || !same_answer(&all->answers[i], &some->answers[i])) {
            return i + 1;
        }
    }
    return some->answer_count > wanted ? wanted + 1 : 0;
}

static void report(const question *q, const struct way *way, const rk_plan *all,
                   const rk_plan *some, size_t row)
{
    char changes[1024] = "";
    const bool both = row <= all->answer_count && row <= some->answer_count;
    (void)printf("  %s -n %zu%s -t %d: row %zu", q->text, way->rows,
                 way->bounded ? " --bounded" : "", way->threads, row);
    if (both) {
        const rk_answer *a = &all->answers[row - 1], *b = &some->answers[row - 1];
        (void)printf(" is %.17g s instead of %.17g: %s", b->estimate.step, a->estimate.step,
                     rk_strategy_changes(&a->strategy, &b->strategy, changes, sizeof(changes)));
    } else {
        (void)printf(": %zu rows instead of %zu", some->answer_count, all->answer_count);
    }
    (void)printf("\n");
}

/* ---- narrower spaces ------------------------------------------------------------------------ */

static void give(rk_option_counts *counts, int64_t value)
{
    counts->count = 1;
    counts->values[0] = value;
}

/*
 * With one degree of a row of the answer given, the best is the first row that has it: nothing
 * faster, for the space is smaller, and nothing slower, for that row is in it.
 */
static void check_narrower(const question *q, rk_request request, const rk_inputs *inputs,
                           const rk_plan *all, uint64_t number, struct tally *tally)
{
    const size_t row = (size_t)(number % all->answer_count);
    const rk_strategy *s = &all->answers[row].strategy;
    const struct {
        const char *name;
        rk_option_counts *counts;
        size_t place;
    } degrees[] = {
        {"tp", &request.tp, offsetof(rk_strategy, tp)},
        {"pp", &request.pp, offsetof(rk_strategy, pp)},
        {"cp", &request.cp, offsetof(rk_strategy, cp)},
        {"ep", &request.ep, offsetof(rk_strategy, ep)},
        {"micro-batch", &request.micro_batch, offsetof(rk_strategy, micro_batch)},
    };
    const size_t chosen = (size_t)(number / 7 % 5);
    const size_t place = degrees[chosen].place;
    const int64_t value = *(const int64_t *)(const void *)((const char *)s + place);
    size_t first = 0;
    while (*(const int64_t *)(const void *)((const char *)&all->answers[first].strategy + place) !=
           value) {
        first++;
    }
    rk_plan plan;
    give(degrees[chosen].counts, value);
    if (find(q, request, inputs, &(struct way){1, false, 1}, &plan)) {
        const double step = plan.answer_count ? plan.answers[0].estimate.step : (double)INFINITY;
        const double wanted = all->answers[first].estimate.step;
        if (!(step >= wanted && step <= wanted)) {
            (void)printf("  %s --%s %lld: %.17g s instead of the %.17g of row %zu\n", q->text,
                         degrees[chosen].name, (long long)value, step, wanted, first + 1);
            tally->wrong++;
        }
        tally->narrowed++;
    } else {
        tally->wrong++;
    }
    rk_plan_clear(&plan);
}

/* ---- states --------------------------------------------------------------------------------- */

static bool is_near(double found, double wanted)
{
    return fabs(found - wanted) <= 1e-9 * wanted;
}

/* The states of all stages of an answer, against those of the shapes. */
static void check_states(const question *q, const rk_inputs *inputs, const rk_answer *answer,
                         struct tally *tally)
{
    const rk_strategy *s = &answer->strategy;
    const bool low = s->precision == RK_FP8 || s->precision == RK_FP4;
    if (low || s->offload_weights || s->offload_optimizer || s->adapter_rank > 0) {
        return;
    }
    const states wanted = states_of(&inputs->model, s);
    states found = {0, 0, 0};
    for (int64_t i = 0; i < s->pp; i++) {
        found.weights += answer->stages[i].part[RK_MEM_WEIGHTS];
        found.gradients += answer->stages[i].part[RK_MEM_GRADIENTS];
        found.optimizer += answer->stages[i].part[RK_MEM_OPTIMIZER];
    }
    /* pipelines with sharded gradients keep some of them whole: tests/reference has how many */
    const bool whole = s->pp > 1 && s->sharding >= RK_SHARD_GRADIENTS;
    const bool alike =
        is_near(found.weights, wanted.weights) && is_near(found.gradients, wanted.gradients);
    if (!(alike || whole) || !is_near(found.optimizer, wanted.optimizer)) {
        (void)printf(
            "  %s: tp %lld pp %lld ep %lld ZeRO-%d of %lld replicas: states of %.9g + %.9g "
            "+ %.9g bytes instead of %.9g + %.9g + %.9g\n",
            q->text, (long long)s->tp, (long long)s->pp, (long long)s->ep, (int)s->sharding,
            (long long)s->replicas, found.weights, found.gradients, found.optimizer, wanted.weights,
            wanted.gradients, wanted.optimizer);
        tally->wrong++;
    }
    tally->counted++;
}

/* ---- one question --------------------------------------------------------------------------- */

static void compare_ways(const question *q, const rk_request *request, const rk_inputs *inputs,
                         const rk_plan *all, struct tally *tally)
{
    const struct way ways[] = {
        {1, false, 1},        {5, false, 1},        {1, false, 2},         {5, false, 2},
        {1, true, 1},         {1, true, 2},         {5, true, 1},          {5, true, 2},
        {most_rows, true, 1}, {most_rows, true, 2}, {most_rows, false, 2},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        rk_plan some;
        if (!find(q, *request, inputs, &ways[i], &some)) {
            tally->wrong++;
        } else {
            const size_t row = first_difference(all, &some, ways[i].rows);
            if (row) {
                report(q, &ways[i], all, &some, row);
                tally->wrong++;
            }
            tally->compared++;
        }
        rk_plan_clear(&some);
    }
}

/* Whether a question is read and its space neither empty nor too large for a test. */
static bool is_asked(question *q, rk_request *request, rk_inputs *inputs)
{
    rk_plan_space space;
    rk_error err;
    uint64_t count = 0;
    if (question_read(q, request, inputs, &err)) {
        return false;
    }
    if (rk_request_space(request, inputs, &space, &err) ||
        rk_plan_count(&inputs->model, &inputs->system, &space, &count, &err) ||
        count < least_space || count > largest_space) {
        rk_inputs_clear(inputs);
        return false;
    }
    return true;
}

/* Returns whether the question has an answer; that it has none is the same for all searches too. */
static bool ask(uint64_t number, struct tally *tally, bool print)
{
    static question q;
    static rk_inputs inputs;
    rk_request request;
    rk_plan all;
    question_clear(&q);
    question_fill(number, &q);
    if (!is_asked(&q, &request, &inputs)) {
        return false;
    }
    if (!find(&q, request, &inputs, &(struct way){print ? 1 : most_rows, false, 1}, &all)) {
        tally->wrong++;
    } else if (print) {
        if (all.answer_count > 0) {
            (void)printf("%s\n", q.text);
        }
    } else {
        tally->strategies += all.ranking.counts[0];
        compare_ways(&q, &request, &inputs, &all, tally);
        for (size_t i = 0; i < all.answer_count; i++) {
            check_states(&q, &inputs, &all.answers[i], tally);
        }
        if (all.answer_count > 0) {
            check_narrower(&q, request, &inputs, &all, number, tally);
        }
    }
    const bool answered = all.answer_count > 0;
    tally->answered += answered;
    tally->empty += !answered;
    rk_plan_clear(&all);
    rk_inputs_clear(&inputs);
    return answered;
}

int main(int argc, char **argv)
{
    const bool print = argc > 1 && strcmp(argv[1], "--print") == 0;
    const int at = print ? 2 : 1;
    uint64_t number = argc > at ? strtoull(argv[at], NULL, 10) : 0;
    const int wanted = argc > at + 1 ? atoi(argv[at + 1]) : USUAL_QUESTIONS;
    struct tally tally = {0};
    largest_space = argc > at + 2 ? strtoull(argv[at + 2], NULL, 10) : largest_space;
    most_rows = argc > at + 3 ? strtoull(argv[at + 3], NULL, 10) : most_rows;
    if (most_rows < 1 || most_rows > MOST_ROWS) {
        (void)fprintf(stderr, "give 1 to %d rows\n", MOST_ROWS);
        return 2;
    }
    for (int asked = 0; asked < wanted; number++) {
        asked += ask(number, &tally, print);
    }
    if (!print) {
        (void)printf("%d questions, %d without an answer, %llu strategies; %d comparisons, %d "
                     "narrower spaces, states of %d answers; %d differences\n",
                     tally.answered + tally.empty, tally.empty,
                     (unsigned long long)tally.strategies, tally.compared, tally.narrowed,
                     tally.counted, tally.wrong);
    }
    return tally.wrong > 0 || tally.answered == 0;
}
