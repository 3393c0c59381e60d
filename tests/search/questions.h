/* SPDX-License-Identifier: Apache-2.0 */
/* Random questions about the catalogue, as words of a command line. */
#ifndef RK_TESTS_PLAN_QUESTIONS_H
#define RK_TESTS_PLAN_QUESTIONS_H

#include "../request/words.h"

#include <stdint.h>
#include <stdio.h>

#define QUESTION_SIZE 512

typedef struct question {
    char text[QUESTION_SIZE]; /* "--model llama3-8b --system ..." */
    rk_job *job;              /* holds the texts of what was read */
} question;

/*
 * Fills one of any number of questions: a model, a machine, accelerators, a batch, and some degrees
 * that are given.  Nobody has checked that it has an answer.
 */
void question_fill(uint64_t number, question *q);

/* Reads what it asks; the caller releases the inputs, if it is RK_OK, and the question. */
rk_status question_read(question *q, rk_request *request, rk_inputs *inputs, rk_error *err);

void question_clear(question *q);

#endif
