/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a program puts into the structs of the Calculon methodology, they are refused by name or
 * have finite statistics.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include "extremes.h"

#include <cmocka.h>

#include <reckon/reckon.h>

struct inputs {
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_exe exe;
    rk_calculon_space space;
    uint64_t answers;
    uint64_t refusals; /* a digest of the members that were refused */
};

static int open_inputs(void **state)
{
    struct inputs *in = calloc(1, sizeof(*in));
    rk_error err;
    assert_non_null(in);
    assert_int_equal(rk_calculon_app_load("megatron-22B", false, &in->app, &err), RK_OK);
    assert_int_equal(rk_calculon_sys_load("a100_80g", false, &in->sys, &err), RK_OK);
    in->exe = (rk_calculon_exe){.num_procs = 8,
                                .tensor_par = 8,
                                .pipeline_par = 1,
                                .data_par = 1,
                                .batch_size = 4,
                                .microbatch_size = 1,
                                .datatype = RK_FLOAT16,
                                .activation_recompute = RK_RECOMPUTE_FULL,
                                .pipeline_interleaving = 1,
                                .training = true};
    in->space = (rk_calculon_space){.num_procs = 2,
                                    .max_batch_size = 2,
                                    .datatype = RK_FLOAT16,
                                    .fused_count = 1,
                                    .fused = {true}};
    *state = in;
    return 0;
}

static int close_inputs(void **state)
{
    free(*state);
    return 0;
}

static void evaluate(struct inputs *in, const rk_calculon_app *app, const rk_calculon_sys *sys,
                     const rk_calculon_exe *exe)
{
    rk_calculon_stats stats;
    rk_calculon_layer_stats layers[RK_CALCULON_LAYER_MAX];
    rk_calculon_verdict verdict;
    rk_error err;
    int count = 0;
    if (rk_calculon_evaluate(app, sys, exe, &stats, layers, &count, &verdict, &err)) {
        assert_true(err.message[0] != '\0');
        note_refusal(&in->refusals, err.path);
    } else if (verdict.verdict == RK_FITS) {
        in->answers++;
        assert_true(isfinite(stats.total_time) && stats.total_time > 0);
        assert_true(isfinite(stats.sample_rate) && isfinite(stats.total_efficiency));
        assert_true(isfinite(stats.proc_mem_tier1_cap_req));
        assert_true(isfinite(stats.proc_mem_tier2_cap_req));
        for (int i = 0; i < count; i++) {
            assert_true(isfinite(layers[i].fw.processing_time) && isfinite(layers[i].weight));
        }
    }
}

static void use_app(const void *given, void *user)
{
    struct inputs *in = user;
    evaluate(in, given, &in->sys, &in->exe);
}

static void use_sys(const void *given, void *user)
{
    struct inputs *in = user;
    evaluate(in, &in->app, given, &in->exe);
}

static void use_exe(const void *given, void *user)
{
    struct inputs *in = user;
    evaluate(in, &in->app, &in->sys, given);
}

static void test_evaluations(void **state)
{
    struct inputs *in = *state;
    const struct target app = {&in->app, sizeof(in->app), NULL, 0};
    const struct target sys = {&in->sys, sizeof(in->sys), NULL, 0};
    /* its flags are read as they are: a program cannot set them to anything but 0 and 1 */
    const struct range flags[] = {
        KEEP(rk_calculon_exe, fused_activation),
        KEEP(rk_calculon_exe, optimizer_sharding),
        {offsetof(rk_calculon_exe, seq_par_ag_redo), sizeof(rk_calculon_exe)}};
    const struct target exe = {&in->exe, sizeof(in->exe), flags, COUNT(flags)};
    in->answers = in->refusals = 0;
    drive_slots(&app, use_app, in);
    drive_slots(&exe, use_exe, in);
    drive_slots(&sys, use_sys, in);
    REQUIRE_REFUSALS(in->refusals, 0xe172f8781a347bd1)
    drive_random(&app, 1000, 1, use_app, in);
    drive_random(&exe, 1000, 2, use_exe, in);
    drive_random(&sys, 5000, 3, use_sys, in);
    assert_true(in->answers > 1000);
}

static bool stop(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return false; /* a space that takes more than a tenth of a second */
}

static void search(struct inputs *in, const rk_calculon_space *space,
                   const rk_search_control *control)
{
    rk_calculon_ranked ranked[2];
    rk_search_counts counts;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        const rk_status status =
            i == 0 ? rk_calculon_search(&in->app, &in->sys, space, control, 2, ranked, &count,
                                        &counts, &err)
                   : rk_calculon_search_bounded(&in->app, &in->sys, space, control, 2, ranked,
                                                &count, &bounded, &err);
        if (status) {
            assert_true(err.message[0] != '\0');
            if (err.path[0]) {
                note_refusal(&in->refusals, err.path);
            }
            continue;
        }
        in->answers++;
        for (size_t k = 0; k < count; k++) {
            assert_true(isfinite(ranked[k].sample_rate) && ranked[k].sample_rate > 0);
        }
    }
}

static void use_space(const void *given, void *user)
{
    const rk_search_control control = {.threads = 1, .progress = stop};
    search(user, given, &control);
}

static void use_control(const void *given, void *user)
{
    struct inputs *in = user;
    search(in, &in->space, given);
}

static void test_searches(void **state)
{
    struct inputs *in = *state;
    const rk_search_control control = {.threads = 1, .progress = stop};
    const struct range kept[] = {KEEP(rk_search_control, progress), KEEP(rk_search_control, user),
                                 KEEP(rk_search_control, floor)};
    const struct target space = {&in->space, sizeof(in->space), NULL, 0};
    const struct target controls = {&control, sizeof(control), kept, COUNT(kept)};
    in->answers = in->refusals = 0;
    drive_slots(&space, use_space, in);
    drive_slots(&controls, use_control, in);
    REQUIRE_REFUSALS(in->refusals, 0xf6616833e53866ae)
    assert_true(in->answers > 20);
}

static void test_names(void **state)
{
    struct inputs *in = *state;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_calculon_sys sys = in->sys;
    rk_calculon_exe exe = in->exe;
    rk_error err;
    sys.networks[0].latency = (double)NAN;
    assert_int_equal(rk_calculon_evaluate(&in->app, &sys, &exe, &stats, NULL, NULL, &verdict, &err),
                     RK_ERR_INVALID);
    assert_string_equal(err.path, "networks[0].latency");
    sys = in->sys;
    sys.mem1.curve.count = RK_CURVE_MAX + 1;
    assert_int_equal(rk_calculon_evaluate(&in->app, &sys, &exe, &stats, NULL, NULL, &verdict, &err),
                     RK_ERR_INVALID);
    assert_string_equal(err.path, "mem1.curve.count");
    exe.tensor_par_overlap = (rk_tp_overlap)3;
    assert_int_equal(
        rk_calculon_evaluate(&in->app, &in->sys, &exe, &stats, NULL, NULL, &verdict, &err),
        RK_ERR_INVALID);
    assert_string_equal(err.path, "tensor_par_overlap");
}

/* The published message of each misfit. */
static void test_verdicts(void **state)
{
    static const struct {
        rk_calculon_verdict verdict;
        const char *text;
    } cases[] = {
        {{RK_FITS, 0, 0, 0}, "fits"},
        {{RK_NETWORK_TOO_SMALL, 1, 0, 0}, "Network tier1 isn't big enough"},
        {{RK_NETWORK_NOT_FILLED, 2, 0, 0}, "Network tier2 isn't fully used"},
        {{RK_INTERLEAVING_TOO_LARGE, 0, 0, 0},
         "Pipeline interleaving must be less than or equal to the number of blocks per processor"},
        {{RK_INTERLEAVING_NOT_FACTOR, 0, 0, 0},
         "Pipeline interleaving must be a factor value of the number of blocks per processor"},
        {{RK_OFFLOAD_TOO_FEW_BLOCKS, 0, 0, 0},
         "Offloading requires each processor to handle at least 3 blocks"},
        {{RK_MEM1_TOO_SMALL, 0, 3 << 20, 2048}, "Mem tier1 needs 3.000 MiB but only has 2.000 kiB"},
        {{RK_MEM2_TOO_SMALL, 0, 2048, 1024}, "Mem tier2 needs 2.000 kiB but only has 1.000 kiB"},
    };
    char text[256];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_string_equal(rk_calculon_verdict_text(&cases[i].verdict, text, sizeof(text)),
                            cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_evaluations),
        cmocka_unit_test(test_searches),
    };
    return cmocka_run_group_tests(tests, open_inputs, close_inputs);
}
