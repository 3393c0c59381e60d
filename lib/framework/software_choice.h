/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the framework and stack for a question, and says why. */
#ifndef RK_FRAMEWORK_SOFTWARE_CHOICE_H
#define RK_FRAMEWORK_SOFTWARE_CHOICE_H

#include "framework/framework.h"
#include "stack/stack.h"

#define RK_REASON_SIZE 256

/* The software that a user requests. */
typedef struct rk_software_request {
    const char *stack;     /* a name or a file; NULL: any */
    const rk_stack *known; /* the stack itself if it is already loaded, otherwise NULL */
    int framework;         /* rk_framework; below 0: any */
    int convention;        /* rk_flop_convention; below 0: the framework's */
    bool quantised;        /* frozen weights are: QLoRA */
} rk_software_request;

typedef enum rk_framework_source {
    RK_FRAMEWORK_GIVEN,
    RK_FRAMEWORK_BY_STACK,
    RK_FRAMEWORK_BY_ACCELERATOR,
    RK_FRAMEWORK_OF_TUNING, /* usual for fine-tuning */
} rk_framework_source;

typedef struct rk_software {
    rk_framework framework;
    rk_framework_source source;
    rk_stack stack;
    rk_stack_match match; /* of the stack and the accelerator */
    rk_flop_convention convention;
    int64_t year; /* of the framework's releases; 0: the newest */
} rk_software;

/*
 * The requested framework, otherwise the stack's, otherwise the one in which most people fine-tune
 * quantised models where it runs, otherwise the usual one of the accelerator; the requested stack,
 * otherwise the usual one of the framework.  Fails as rk_stack_choose does.
 */
rk_status rk_software_choose(const rk_software_request *wish, const rk_accelerator *accelerator,
                             rk_software *software, rk_error *err);

/* Why this framework, and why this stack; the second is empty for the usual stack. */
const char *rk_software_framework_reason(const rk_software *software,
                                         const rk_accelerator *accelerator,
                                         char out[RK_REASON_SIZE]);
const char *rk_software_stack_reason(const char *asked, const rk_software *software,
                                     const rk_accelerator *accelerator, char out[RK_REASON_SIZE]);

#endif
