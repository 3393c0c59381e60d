/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive halving and doubling.  With n' the largest power of two up to n, partners of a
 * reduce-scatter exchange half of what they still have at distances n'/2, n'/4 ... 1; an all-gather
 * goes back the same way.  An all-reduce of other numbers of ranks first adds the tensors of the
 * ranks beyond n' to their partners' tensors, and copies the result back at the end.
 *
 *     reduce-scatter, all-gather   log2(n) alpha + (n-1)/n S/B [+ (n-1)/n S gamma]
 *     all-reduce, n = n'           2 log2(n) alpha + 2 (n-1)/n S/B + (n-1)/n S gamma
 *     all-reduce, otherwise        (2 log2(n') + 2) alpha + (2 (n'-1)/n' + 2) S/B
 *                                  + ((n'-1)/n' + 1) S gamma
 *
 * Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
 * MPICH", IJHPCA 19 (2005).
 */
#include "collective/algorithm.h"

#include <assert.h>

static int32_t power_below(int32_t n)
{
    assert(n >= 1);
    int32_t power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

static double steps_of(int32_t power)
{
    double steps = 0;
    for (; power > 1; power /= 2) {
        steps++;
    }
    return steps;
}

static rk_collective_cost halving_cost(const rk_collective_job *job)
{
    const int32_t power = power_below(job->ranks);
    const double share = ((double)power - 1) / (double)power * job->bytes;
    const double passes = job->op == RK_COLL_ALL_REDUCE ? 2 : 1;
    rk_collective_cost cost = {
        .rounds = passes * steps_of(power),
        .bytes = passes * share,
        .reduced = job->op == RK_COLL_ALL_GATHER ? 0 : share,
    };
    if (power < job->ranks) {
        cost.rounds += 2;
        cost.bytes += 2 * job->bytes;
        cost.reduced += job->bytes;
    }
    cost.messages = cost.rounds;
    return cost;
}

static int32_t halving_blocks(const rk_collective_job *job)
{
    return power_below(job->ranks);
}

/* Whole tensors between rank power + i and rank i. */
static int32_t send_extra(const rk_collective_job *job, int32_t round, bool in,
                          rk_message_visitor *visit, void *user)
{
    const int32_t power = power_below(job->ranks);
    for (int32_t i = 0; power + i < job->ranks; i++) {
        visit(user, &(rk_collective_message){
                        .round = round,
                        .source = in ? power + i : i,
                        .target = in ? i : power + i,
                        .first_block = 0,
                        .blocks = power,
                        .reduces = in,
                        .bytes = job->bytes,
                    });
    }
    return power < job->ranks ? round + 1 : round;
}

/*
 * Partners at one distance: rank i has the 2 `distance` blocks from base on, of which its partner
 * is to have the half that its own number falls into.  A gather sends the own half instead.
 */
static void send_halves(const rk_collective_job *job, int32_t round, int32_t distance, bool reduces,
                        rk_message_visitor *visit, void *user)
{
    const int32_t power = power_below(job->ranks);
    assert(distance >= 1 && distance < power);
    for (int32_t i = 0; i < power; i++) {
        const int32_t partner = i ^ distance, whose = reduces ? partner : i;
        visit(user, &(rk_collective_message){
                        .round = round,
                        .source = i,
                        .target = partner,
                        .first_block = whose - whose % distance,
                        .blocks = distance,
                        .reduces = reduces,
                        .bytes = job->bytes * (double)distance / (double)power,
                    });
    }
}

static void halving_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t power = power_below(job->ranks);
    int32_t round = send_extra(job, 0, true, visit, user);
    for (int32_t distance = power / 2; distance >= 1 && job->op != RK_COLL_ALL_GATHER;
         distance /= 2) {
        send_halves(job, round++, distance, true, visit, user);
    }
    for (int32_t distance = 1; distance < power && job->op != RK_COLL_REDUCE_SCATTER;
         distance *= 2) {
        send_halves(job, round++, distance, false, visit, user);
    }
    (void)send_extra(job, round, false, visit, user);
}

const rk_algorithm rk_algorithm_halving_doubling = {
    .name = "halving-doubling",
    .purpose = "exchange of halves at growing distances; few rounds and least bytes",
    .ops = 1U << RK_COLL_ALL_REDUCE | 1U << RK_COLL_REDUCE_SCATTER | 1U << RK_COLL_ALL_GATHER,
    .powers_of_two = true,
    .any_ranks = 1U << RK_COLL_ALL_REDUCE,
    .cost = halving_cost,
    .blocks = halving_blocks,
    .send = halving_send,
};
