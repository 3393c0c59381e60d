/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a schedule compiled for fast evaluation; inside lib/schedule only.  A program lists
 * the operations of all ranks so that every operation comes after its inputs.  Once it is running,
 * a schedule repeats itself: a program of many microbatches is a beginning, a body that is repeated
 * and an end, so its length does not depend on the number of microbatches.
 */
#ifndef RK_SCHEDULE_PROGRAM_H
#define RK_SCHEDULE_PROGRAM_H

#include "schedule/order.h"

/* Durations of a chunk, by rk_step_kind. */
enum { RK_STEP_KINDS = RK_STEP_PAIR + 1 };

/*
 * One step of a rank.  Ends of steps are stored rank by rank, within a rank in its order and after
 * an entry that stays 0: so the end of the previous step is the end of `step - 1`.
 */
typedef struct rk_instruction {
    int32_t step;      /* where its end goes */
    int32_t inputs[2]; /* ends of steps of other ranks; 0, which stays 0: none */
    int32_t duration;  /* (rank * chunks_per_rank + chunk) * RK_STEP_KINDS + kind */
} rk_instruction;

typedef struct rk_program {
    rk_schedule_kind kind;
    int64_t ranks, chunks_per_rank;
    int64_t microbatches; /* microbatches it is for; the fewest, if it repeats its body */

    rk_instruction *instructions; /* owned */
    int64_t begin, body, end;     /* instructions of each part */
    int64_t *first;               /* owned; by rank: where its ends begin, after its 0; one more
                                     entry as if another rank followed */
    int64_t ends;                 /* room for the ends of steps */

    /* Of a program that repeats its body. */
    int64_t round_microbatches; /* microbatches of another round of the body; 0: there is no body */
    int64_t round_steps;        /* of a rank */
    int64_t *rounds;            /* owned; by rank: where the steps of the body begin; the round
                                   before directly precedes */
    struct rk_program *next;    /* in a list of programs */
} rk_program;

/*
 * The microbatches of the program of a pipeline: as many as it has, or the fewest with which the
 * same program runs its body once.
 */
int64_t rk_program_microbatches(const rk_pipeline *pipeline);

/* Compiles the order of a pipeline with any times; release with rk_program_free. */
rk_status rk_program_new(const rk_pipeline *pipeline, rk_program **program, rk_error *err);
void rk_program_free(rk_program *program);

#endif
