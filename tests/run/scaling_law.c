/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of loss and batch: worked figures, and that they invert. */
#include "run/scaling_law.h"
#include "base/units.h"
#include "layer/model_load.h"
#include "method/rules_of_thumb.h"
#include "whole_run/whole_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double known, double tolerance)
{
    if (!(fabs(value - known) <= tolerance * fabs(known))) {
        fail_msg("%.10g is not %.10g within %g", value, known, tolerance);
    }
}

static rk_loss_law loss_law(const char *name)
{
    rk_loss_law law;
    rk_error err;
    if (rk_loss_law_load(name, &law, &err)) {
        fail_msg("%s", err.message);
    }
    return law;
}

static rk_batch_law batch_law(const char *name)
{
    rk_batch_law law;
    rk_error err;
    if (rk_batch_law_load(name, &law, &err)) {
        fail_msg("%s", err.message);
    }
    return law;
}

/* Model specification 7.2, UT-46, and the optimum of two budgets by each set of constants. */
static void test_losses(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double loss;
    } known[] = {
        {"chinchilla", 1.9366}, {"chinchilla-4-digits", 1.9174}, {"chinchilla-refit", 1.9739}};
    for (size_t i = 0; i < COUNT(known); i++) {
        const rk_loss_law law = loss_law(known[i].name);
        assert_near(rk_loss_of(&law, 70e9, 1.4e12), known[i].loss, 5e-5);
    }
    /* Llama-3.1-405B, Llama-2-70B and GPT-3 by the default law. */
    const rk_loss_law law = loss_law("chinchilla-refit");
    assert_near(rk_loss_of(&law, 405e9, 15.6e12), 1.8926, 5e-5);
    assert_near(rk_loss_of(&law, 69e9, 2e12), 1.9651, 5e-5);
    assert_near(rk_loss_of(&law, 175e9, 0.3e12), 2.0086, 5e-5);
}

static void test_tokens(void **state)
{
    (void)state;
    static const struct {
        double loss, parameters, tokens;
    } known[] = {{2.10, 8.03e9, 4.98e11}, {2.10, 70e9, 9.48e10}, {2.10, 405e9, 5.96e10},
                 {2.00, 8.03e9, 3.74e14}, {2.00, 70e9, 6.20e11}, {1.95, 70e9, 3.98e12},
                 {1.90, 405e9, 8.70e12}};
    const rk_loss_law law = loss_law("chinchilla-refit");
    rk_error err;
    double tokens;
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_int_equal(rk_loss_tokens(&law, known[i].parameters, known[i].loss, &tokens, &err),
                         RK_OK);
        assert_near(tokens, known[i].tokens, 6e-3);
        assert_near(rk_loss_of(&law, known[i].parameters, tokens), known[i].loss, 1e-12);
    }
    /* At or below the floor there is no time, however long. */
    assert_near(rk_loss_of(&law, 8.03e9, HUGE_VAL), 1.9903, 5e-5);
    assert_int_equal(rk_loss_tokens(&law, 8.03e9, 1.95, &tokens, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "cannot reach a loss of 1.9500"));
}

/* Kaplan et al.: both ends of the joint law, and its inverse. */
static void test_kaplan(void **state)
{
    (void)state;
    const rk_loss_law law = loss_law("kaplan");
    rk_error err;
    double tokens;
    assert_near(rk_loss_of(&law, 175e9, HUGE_VAL), 1.6044, 1e-4);
    assert_near(rk_loss_of(&law, 1e30, 3e11), 1.6378, 1e-4);
    assert_int_equal(rk_loss_tokens(&law, 175e9, 1.7, &tokens, &err), RK_OK);
    assert_near(rk_loss_of(&law, 175e9, tokens), 1.7, 1e-12);
}

/* Laws of dense models count the active parameters of a mixture; Kaplan's none of the ends. */
static void test_parameters(void **state)
{
    (void)state;
    const rk_loss_law all = loss_law("chinchilla-refit"), inner = loss_law("kaplan");
    double counted[RK_LAW_COUNTS_COUNT];
    rk_model model;
    rk_error err;
    assert_int_equal(rk_model_load("llama3-8b", &model, &err), RK_OK);
    rk_law_parameters(&model, counted);
    assert_near(counted[all.counts], 8.03e9, 1e-3);
    assert_near(counted[inner.counts], 8.03e9 - 2 * 128256 * 4096.0, 1e-3);
    assert_int_equal(rk_model_load("qwen3-235b-a22b", &model, &err), RK_OK);
    rk_law_parameters(&model, counted);
    assert_near(counted[all.counts], 22.19e9, 1e-3);
    assert_near(counted[inner.counts], 22.19e9 - 2 * 151936 * 4096.0, 1e-3);
}

/* Losses below what a law's largest runs reach are refused, and others of the same text compared.
 */
static void test_range(void **state)
{
    (void)state;
    const rk_loss_law law = loss_law("chinchilla-refit"), old = loss_law("kaplan");
    rk_law_tokens others[RK_LAWS_MAX];
    double counted[RK_LAW_COUNTS_COUNT];
    rk_model model;
    rk_error err;
    double tokens;
    int count;
    assert_near(rk_loss_lowest(&law, 70e9), 1.9739, 5e-5);
    assert_near(rk_loss_lowest(&law, 405e9), 1.9739, 5e-5); /* of the largest run */
    assert_near(rk_loss_lowest(&law, 8.03e9), rk_loss_of(&law, 8.03e9, 1.4e12), 1e-12);
    assert_int_equal(rk_loss_tokens_in_range(&law, 70e9, 2.00, &tokens, &err), RK_OK);
    assert_near(tokens, 6.20e11, 6e-3);
    assert_int_equal(rk_loss_tokens_in_range(&law, 70e9, 1.90, &tokens, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "up to 70 B parameters and 1.4 T tokens"));
    assert_non_null(strstr(err.message, "losses of 1.974 or more"));
    assert_int_equal(rk_loss_tokens_in_range(&law, 8.03e9, 2.05, &tokens, &err), RK_ERR_INVALID);
    rk_loss_law bare = law;
    bare.most_tokens = bare.most_parameters = 0; /* a law that states no range */
    assert_int_equal(rk_loss_tokens_in_range(&bare, 70e9, 1.90, &tokens, &err), RK_OK);
    assert_int_equal(rk_model_load("llama3-70b", &model, &err), RK_OK);
    rk_law_parameters(&model, counted);
    assert_int_equal(rk_loss_others(&law, counted, 2, others, &count, &err), RK_OK);
    assert_int_equal(count, 2);
    assert_string_equal(others[0].name, "chinchilla-4-digits");
    assert_string_equal(others[1].name, "chinchilla");
    assert_near(others[1].tokens, pow(410.7 / (2 - 1.69 - 406.4 / pow(70.5537e9, 0.34)), 1 / 0.28),
                1e-4);
    assert_int_equal(rk_loss_others(&old, counted, 2.6, others, &count, &err), RK_OK);
    assert_int_equal(count, 0); /* nothing else is of WebText2 */
}

static void test_batches(void **state)
{
    (void)state;
    const rk_batch_law lines = batch_law("power-lines"), old = batch_law("kaplan");
    assert_near(rk_batch_critical(&lines, 1e10, 0), 4.02e6, 3e-3);
    assert_near(rk_batch_critical(&lines, 1.4e12, 0), 3.94e7, 3e-3);
    assert_near(rk_batch_critical(&lines, 1.5e13, 0), 1.18e8, 3e-3);
    static const struct {
        double loss, batch;
    } by_loss[] = {{4, 2.72e5},   {3, 1.07e6}, {2.57, 2.23e6},
                   {2.2, 4.68e6}, {2, 7.37e6}, {1.9, 9.41e6}};
    for (size_t i = 0; i < COUNT(by_loss); i++) {
        assert_near(rk_batch_critical(&old, 1, by_loss[i].loss), by_loss[i].batch, 3e-3);
    }
    assert_near(
        rk_batch_critical(&(rk_batch_law){.term = {0.58, 0.571}, .unit_tokens = 1}, 1e12, 0),
        0.58 * pow(1e12, 0.571), 1e-12);
    /* Tokens with a critical batch of 4 M. */
    assert_near(rk_batch_tokens_factor(16e6, 0, 4e6), 5, 1e-12);
    /* 8 B parameters to a loss of 2.1: 16 M in place of 4 M tokens a step. */
    const double critical = rk_batch_critical(&lines, 4.98e11, 0);
    assert_near(critical, 2.45e7, 2e-3);
    assert_near(rk_batch_tokens_factor(16e6, 4e6, critical), 1.421, 1e-3);
}

/* Model specification 7.1 and 7.3: UT-44 and UT-45. */
static void test_rules(void **state)
{
    (void)state;
    assert_near(rk_training_rule_s(300e9, 174.6e9, 1024, 140e12, true) / DAY, 33.9, 3e-3);
    assert_near(rk_training_rule_s(450e9, 1e12, 3072, 163e12, true) / DAY, 83.2, 3e-3);
    const double flops = 15.6e12 * 2.524e12;
    assert_near(flops, 3.94e25, 1e-3);
    assert_near(flops / (30.84e6 * HOUR), 354.6e12, 1e-3);
    assert_near(flops / (30.84e6 * HOUR) / 400e12, 0.89, 5e-3);
    assert_near(rk_training_rule_s(1, 1, 1, 1, false), 6, 0);
}

static void test_refusals(void **state)
{
    (void)state;
    rk_loss_law law;
    rk_error err;
    assert_int_equal(rk_loss_law_load("chinchila", &law, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"chinchilla\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses), cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_kaplan), cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_range),  cmocka_unit_test(test_batches),
        cmocka_unit_test(test_rules),  cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
