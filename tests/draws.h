/* SPDX-License-Identifier: Apache-2.0 */
/* Random models, strategies, machines and stacks for tests of what must hold for all of them. */
#ifndef TESTS_DRAWS_H
#define TESTS_DRAWS_H

#include "layer/blocks.h"

#include "estimate/estimate.h"

/* ---- random numbers, of a state that is not 0 ----------------------------------------------- */

uint64_t draw_next(uint64_t *r);

/* 0 to limit - 1. */
int64_t draw_below(uint64_t *r, int64_t limit);

/* True once in `in` times. */
bool draw_chance(uint64_t *r, int64_t in);

/* 1, 2, 4 ... up to 2^most. */
int64_t draw_power(uint64_t *r, int64_t most);

/* ---- draws ---------------------------------------------------------------------------------- */

/* A model, machine, stack and legal strategy; machine and stack are from the catalogue. */
struct draw {
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_strategy strategy;
    rk_cost_table table;
};

/*
 * A model of dense layers, or of experts behind a few dense layers.  Vocabularies are multiples of
 * 128 t for all tensor-parallel degrees t in use, so that nothing is padded.
 */
rk_model draw_model(uint64_t *r);

/* Any strategy for the model; most are not legal. */
rk_strategy draw_strategy(uint64_t *r, const rk_model *model);

/* Loads the machines and stacks; a set-up function of a group of tests. */
int draw_load(void **state);

/* Fills a draw, with its table of costs; false: it is not legal. */
bool draw_legal(uint64_t *r, struct draw *d);

/* The usual number of draws times RK_TEST_SCALE of the environment, where that is given. */
int draw_count(int usual);

typedef void draw_check(const struct draw *d, uint64_t *r);

/* Calls `check` on so many legal draws. */
void draw_each(uint64_t seed, int wanted, draw_check *check);

#endif
