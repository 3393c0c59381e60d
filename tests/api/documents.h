/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of a group of tests of typed functions, and what the tests keep of them. */
#ifndef RK_TESTS_API_DOCUMENTS_H
#define RK_TESTS_API_DOCUMENTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include <reckon/reckon.h>

struct documents {
    rk_model *model;
    rk_system *system;
    rk_setup *setup;
    rk_strategy strategy;
    rk_outcome *outcome;
    rk_space space;
    uint64_t answers;  /* calls that returned OK */
    uint64_t refusals; /* a digest of the members that others refused */
};

/* Opens a setup, and reads a strategy for it (NULL: none). */
static inline struct documents *open_setup(const char *model, const char *system,
                                           const char *strategy)
{
    struct documents *d = calloc(1, sizeof(*d));
    rk_error err;
    assert_non_null(d);
    assert_int_equal(rk_model_create(model, &d->model, &err), RK_OK);
    assert_int_equal(rk_system_create(system, &d->system, &err), RK_OK);
    assert_int_equal(rk_setup_create(d->model, d->system, NULL, &d->setup, &err), RK_OK);
    if (strategy) {
        assert_int_equal(
            rk_strategy_read(d->setup, strategy, &d->strategy, sizeof(d->strategy), &err), RK_OK);
    }
    return d;
}

static inline int close_documents(void **state)
{
    struct documents *d = *state;
    rk_outcome_free(d->outcome);
    rk_setup_free(d->setup);
    rk_system_free(d->system);
    rk_model_free(d->model);
    free(d);
    return 0;
}

#endif
