/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Double binary tree: each of two trees reduces half of the tensor to its root and broadcasts the
 * sum back.  A rank with two children in one tree has none in the other, so ports are loaded alike:
 *
 *     2 ceil(log2 n) alpha + 2 S/B + S gamma
 *
 * for pipelined chunks that are much smaller than the tensor.
 *
 * The trees: the root's only child heads the binary search tree of the other n - 1 ranks; rank r of
 * the second tree is rank (r + 1) mod n of the first.
 *
 * Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan", Parallel Computing 35 (2009); NCCL 2.4 all-reduces by such trees.
 */
#include "collective/algorithm.h"
#include "collective/doubling.h"

#include <assert.h>

/*
 * Nodes 1 .. n-1 in the order of a binary search tree: the level of node i above the leaves is the
 * number of its trailing zeros.
 */
static int32_t lowest_bit(int32_t node)
{
    return node & -node;
}

/*
 * The parent of node i: the neighbour half a step further up that is among the nodes.  Node 0 is
 * the root; the highest power of two below n is its only child.
 */
static int32_t parent_of(int32_t node, int32_t n)
{
    assert(node > 0 && node < n);
    const int32_t bit = lowest_bit(node);
    int32_t up = (node ^ bit) | (bit << 1);
    if (up >= n) {
        up = node ^ bit;
    }
    return up;
}

/* Hops from a node to the root. */
static int32_t level_of(int32_t node, int32_t n)
{
    int32_t level = 0;
    for (; node != 0; node = parent_of(node, n)) {
        level++;
    }
    return level;
}

/*
 * Bytes through the busiest port over bytes of the tensor.  Of each half, a rank with two children
 * receives theirs and its parent's; of the other half, as a leaf, its parent's: 4 times S/2. Groups
 * of two and three have no such rank.
 */
static double port_share(int32_t n)
{
    return n == 2 ? 1 : n == 3 ? 1.5 : 2;
}

static rk_collective_cost tree_cost(const rk_collective_job *job)
{
    return (rk_collective_cost){
        .rounds = 2 * (double)rk_doubling_rounds(job->ranks),
        .bytes = port_share(job->ranks) * job->bytes,
        .reduced = (job->ranks == 2 ? 0.5 : 1) * job->bytes,
        .messages = 4,
    };
}

static int32_t tree_blocks(const rk_collective_job *job)
{
    (void)job;
    return 2;
}

/* The messages between one level and its parents; `half` is the tree and the block that it moves.
 */
static void send_level(const rk_collective_job *job, int32_t half, int32_t level, bool up,
                       int32_t round, rk_message_visitor *visit, void *user)
{
    const int32_t n = job->ranks;
    for (int32_t node = 1; node < n; node++) {
        if (level_of(node, n) != level) {
            continue;
        }
        const int32_t child = (node + half) % n, parent = (parent_of(node, n) + half) % n;
        visit(user, &(rk_collective_message){
                        .round = round,
                        .source = up ? child : parent,
                        .target = up ? parent : child,
                        .first_block = half,
                        .blocks = 1,
                        .reduces = up,
                        .bytes = job->bytes / 2,
                    });
    }
}

static void tree_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t depth = rk_doubling_rounds(job->ranks);
    for (int32_t round = 0; round < 2 * depth; round++) {
        const bool up = round < depth;
        const int32_t level = up ? depth - round : round - depth + 1;
        send_level(job, 0, level, up, round, visit, user);
        send_level(job, 1, level, up, round, visit, user);
    }
}

const rk_algorithm rk_algorithm_tree = {
    .name = "tree",
    .purpose = "double binary tree; latency grows with the logarithm of the ranks",
    .ops = 1U << RK_COLL_ALL_REDUCE,
    .streams = true,
    .cost = tree_cost,
    .blocks = tree_blocks,
    .send = tree_send,
};
