/* SPDX-License-Identifier: Apache-2.0 */
/* The search against its readable twin: every mapping enumerated and evaluated one by one. */
#include "base/top.h"
#include "calculon/space.h"
#include "reckon/reckon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the twin finds. */
struct twin {
    const rk_calculon_app *app;
    const rk_calculon_sys *sys;
    rk_search_counts counts;
    rk_top top;
    uint64_t next;
    bool mbs_break;
    /* with mbs_break: the setting and microbatch at hand, and whether it had a good mapping */
    rk_calculon_exe last;
    bool good, skipping;
    bool fault; /* some mapping is a fault, so the whole search must be */
};

/* Whether two neighbours of the enumeration share everything but microbatch and tiers. */
static bool same_setting(rk_calculon_exe a, const rk_calculon_exe *b)
{
    a.microbatch_size = b->microbatch_size;
    a.tensor_par_net = b->tensor_par_net;
    a.pipeline_par_net = b->pipeline_par_net;
    a.data_par_net = b->data_par_net;
    return a.tensor_par == b->tensor_par && a.pipeline_par == b->pipeline_par &&
           a.pipeline_interleaving == b->pipeline_interleaving &&
           a.activation_recompute == b->activation_recompute &&
           a.optimizer_sharding == b->optimizer_sharding &&
           a.tensor_par_comm_type == b->tensor_par_comm_type &&
           a.seq_par_ag_redo == b->seq_par_ag_redo && a.data_par_overlap == b->data_par_overlap &&
           a.tensor_par_overlap == b->tensor_par_overlap && a.weight_offload == b->weight_offload &&
           a.activations_offload == b->activations_offload &&
           a.optimizer_offload == b->optimizer_offload && a.fused_activation == b->fused_activation;
}

/* The published rule: no larger microbatch after one without any good mapping. */
static bool skips(struct twin *twin, uint64_t index, const rk_calculon_exe *exe)
{
    if (index == 0 || !same_setting(twin->last, exe)) {
        twin->skipping = false;
        twin->good = false;
    } else if (twin->last.microbatch_size != exe->microbatch_size) {
        twin->skipping = twin->skipping || !twin->good;
        twin->good = false;
    }
    twin->last = *exe;
    return twin->skipping;
}

static bool visit(void *user, uint64_t index, const rk_calculon_exe *exe)
{
    struct twin *twin = user;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_error err;
    assert_int_equal(index, twin->next);
    twin->next++;
    if (twin->mbs_break && skips(twin, index, exe)) {
        return true;
    }
    if (rk_calculon_evaluate(twin->app, twin->sys, exe, &stats, NULL, NULL, &verdict, &err)) {
        twin->fault = true;
        return false;
    }
    twin->counts.executed++;
    if (verdict.verdict != RK_FITS) {
        twin->counts.bad++;
        return true;
    }
    twin->counts.good++;
    twin->good = true;
    assert_int_equal(rk_top_offer(&twin->top, stats.sample_rate, index, exe, &err), 0);
    return true;
}

static void compare_with_twin(const rk_calculon_app *app, const rk_calculon_sys *sys,
                              const rk_calculon_space *space, size_t top_n, int threads)
{
    struct twin twin = {.app = app, .sys = sys, .mbs_break = space->mbs_break};
    rk_search_counts counts;
    rk_error err;
    size_t found;
    const rk_search_control control = {.threads = threads};
    rk_calculon_ranked *ranked = calloc(top_n, sizeof(*ranked));
    assert_non_null(ranked);
    rk_top_init(&twin.top, top_n, sizeof(rk_calculon_exe));
    assert_int_equal(rk_calculon_space_each(app, sys, space, visit, &twin, &err), 0);
    rk_top_sort(&twin.top);
    const rk_status status =
        rk_calculon_search(app, sys, space, &control, top_n, ranked, &found, &counts, &err);
    assert_int_equal(status, twin.fault ? RK_ERR_INVALID : RK_OK);
    if (twin.fault) {
        rk_top_clear(&twin.top);
        free(ranked);
        return;
    }
    assert_int_equal(counts.executed, twin.counts.executed);
    assert_int_equal(counts.good, twin.counts.good);
    assert_int_equal(counts.bad, twin.counts.bad);
    assert_int_equal(found, twin.top.count);
    for (size_t i = 0; i < found; i++) {
        const rk_calculon_exe *exe = rk_top_payload(&twin.top, i);
        assert_int_equal(ranked[i].index, twin.top.heap[i].index);
        assert_true(ranked[i].sample_rate == twin.top.heap[i].score);
        assert_true(same_setting(ranked[i].exe, exe));
        assert_int_equal(ranked[i].exe.microbatch_size, exe->microbatch_size);
    }
    rk_top_clear(&twin.top);
    free(ranked);
}

static void load(const char *model, const char *machine, rk_calculon_app *app, rk_calculon_sys *sys)
{
    rk_error err;
    assert_int_equal(rk_calculon_app_load(model, false, app, &err), 0);
    assert_int_equal(rk_calculon_sys_load(machine, false, sys, &err), 0);
}

/* Every mapping of these spaces is ranked, so every total time is compared bit for bit. */
static void test_whole_spaces(void **state)
{
    static const struct {
        const char *model, *machine;
        int64_t procs, batch;
        rk_datatype datatype;
        bool mbs_break, both_fused, no_tp, no_dp;
    } cases[] = {
        {"megatron-126M", "a100_80g", 4, 6, RK_FLOAT16, false, false, false, false},
        {"megatron-126M", "a100_80g", 6, 12, RK_FLOAT16, true, true, false, true},
        {"megatron-22B", "a100_80g", 8, 8, RK_FLOAT16, true, false, true, false},
        {"gpt3-13B", "h100-3tier", 4, 4, RK_FLOAT8, false, false, false, false},
        {"gpt3-13B", "h100-80g-off0g0-nvl8", 8, 8, RK_FLOAT16, true, true, false, false},
        {"gpt3-175B", "h100-80g-off512g100-nvl8-roofline", 24, 5, RK_FLOAT8, false, false, true,
         true},
        {"turing-530B", "h100-80g-off512g50-nvl8", 40, 4, RK_FLOAT8, true, false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_calculon_app app;
        rk_calculon_sys sys;
        load(cases[i].model, cases[i].machine, &app, &sys);
        const rk_calculon_space space = {
            .num_procs = cases[i].procs,
            .max_batch_size = cases[i].batch,
            .datatype = cases[i].datatype,
            .fused_count = cases[i].both_fused ? 2 : 1,
            .fused = {!cases[i].both_fused, true},
            .no_tp_overlap = cases[i].no_tp,
            .no_dp_overlap = cases[i].no_dp,
            .mbs_break = cases[i].mbs_break,
        };
        compare_with_twin(&app, &sys, &space, 250000, 1);
        compare_with_twin(&app, &sys, &space, 17, 3);
    }
}

/* A small generator with its own state, so that a seed says everything. */
static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15U;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static int64_t pick(uint64_t *state, const int64_t *from, size_t count)
{
    return from[next_random(state) % count];
}

#define PICK(state, ...)                                                                           \
    pick(state, (const int64_t[]){__VA_ARGS__},                                                    \
         sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void test_random_spaces(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t r = seed;
        rk_calculon_app app;
        rk_calculon_sys sys;
        load("megatron-126M", seed % 2 ? "h100-3tier" : "a100_80g", &app, &sys);
        app.attn_heads = PICK(&r, 4, 6, 12);
        app.attn_size = PICK(&r, 16, 33, 64);
        app.hidden = app.attn_heads * PICK(&r, 16, 40, 64);
        app.feedforward = app.hidden * PICK(&r, 1, 4);
        app.seq_size = PICK(&r, 64, 250, 1024);
        app.num_blocks = PICK(&r, 3, 8, 12, 20);
        sys.roofline = next_random(&r) % 2;
        sys.mem1.capacity = (double)PICK(&r, 300, 3000, 80000) * 1e6;
        sys.mem2.capacity = (double)PICK(&r, 0, 2000, 100000) * 1e6;
        sys.networks[0].size = PICK(&r, 2, 4, 8);
        const rk_calculon_space space = {
            .num_procs = PICK(&r, 1, 2, 4, 6, 8),
            .max_batch_size = PICK(&r, 1, 5, 8),
            .datatype = seed % 2 ? RK_FLOAT8 : RK_FLOAT16,
            .fused_count = 1,
            .fused = {next_random(&r) % 2},
            .no_tp_overlap = next_random(&r) % 2,
            .no_dp_overlap = next_random(&r) % 2,
            .mbs_break = next_random(&r) % 2,
        };
        print_message("seed %d\n", (int)seed);
        compare_with_twin(&app, &sys, &space, (size_t)PICK(&r, 1, 10, 50000), 2);
    }
}

/* Published counts of enumerations. */
static void test_counts(void **state)
{
    static const struct {
        const char *model, *machine;
        int64_t procs, batch;
        int fused;
        bool no_tp, no_dp, mbs_break;
        uint64_t count;
    } cases[] = {
        {"megatron-126M", "a100_80g", 8, 16, 1, false, false, false, 197448},
        {"megatron-126M", "a100_80g", 8, 16, 1, false, false, true, 50312},
        {"megatron-126M", "a100_80g", 8, 16, 2, true, false, false, 165680},
        {"megatron-126M", "h100-80g-off512g50-nvl8", 12, 30, 1, false, true, false, 169632},
        {"gpt3-13B", "h100-80g-off0g0-nvl8", 32, 32, 1, false, false, false, 102872},
        {"gpt3-13B", "h100-3tier", 40, 24, 1, false, false, true, 749208},
        {"megatron-22B", "a100_80g", 64, 64, 1, false, false, false, 2393240},
        {"turing-530B", "a100_80g", 280, 40, 1, false, false, false, 582464},
        {"gpt3-175B", "h100-80g-off0g0-nvl16", 256, 64, 2, true, true, false, 192192},
        {"palm-540B", "h100-80g-off512g50-nvl8", 472, 100, 1, false, false, false, 236208},
        {"seed-1T", "h100-80g-off512g50-nvl8", 512, 64, 1, false, false, true, 1026000},
        {"megatron-1T", "a100_80g", 1120, 33, 1, false, false, false, 0},
        {"seed-1T", "h100-80g-off512g50-nvl8", 4096, 3072, 1, false, false, false, 15904064},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_calculon_app app;
        rk_calculon_sys sys;
        rk_error err;
        uint64_t count;
        load(cases[i].model, cases[i].machine, &app, &sys);
        const rk_calculon_space space = {
            .num_procs = cases[i].procs,
            .max_batch_size = cases[i].batch,
            .datatype = RK_FLOAT16,
            .fused_count = cases[i].fused,
            .fused = {false, true},
            .no_tp_overlap = cases[i].no_tp,
            .no_dp_overlap = cases[i].no_dp,
            .mbs_break = cases[i].mbs_break,
        };
        assert_int_equal(rk_calculon_space_count(&app, &sys, &space, &count, &err), 0);
        assert_int_equal(count, cases[i].count);
    }
}

/* Counts of FLOPs beyond 63 bits, in microbatches that no one would run, do not end a search. */
static void test_large_microbatches(void **state)
{
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_ranked best;
    rk_search_counts counts;
    rk_error err;
    size_t found;
    uint64_t count;
    (void)state;
    load("seed-128T", "h100-80g-off512g50-nvl8", &app, &sys);
    const rk_calculon_space space = {.num_procs = 4096,
                                     .max_batch_size = 1 << 20,
                                     .datatype = RK_FLOAT8,
                                     .fused_count = 1,
                                     .fused = {true}};
    assert_int_equal(rk_calculon_space_count(&app, &sys, &space, &count, &err), RK_OK);
    assert_int_equal(rk_calculon_search(&app, &sys, &space, NULL, 1, &best, &found, &counts, &err),
                     RK_OK);
    assert_int_equal(counts.executed, count);
}

/* A tensor degree that feedforward is not a multiple of ends the search with an error. */
static void test_feedforward_fault(void **state)
{
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_ranked best;
    rk_search_counts counts;
    rk_error err;
    size_t found;
    (void)state;
    load("megatron-126M", "a100_80g", &app, &sys);
    app.feedforward = 3074;
    const rk_calculon_space space = {.num_procs = 4,
                                     .max_batch_size = 4,
                                     .datatype = RK_FLOAT16,
                                     .fused_count = 1,
                                     .fused = {true}};
    assert_int_equal(rk_calculon_search(&app, &sys, &space, NULL, 1, &best, &found, &counts, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "feedforward"));
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
    int *calls = user;
    ++*calls;
    assert_true(done <= total);
    return false;
}

/* A progress callback that returns false ends a long search early. */
static void test_stop(void **state)
{
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_ranked best;
    rk_search_counts counts;
    rk_error err;
    size_t found;
    int calls = 0;
    (void)state;
    load("gpt3-175B", "h100-3tier", &app, &sys);
    app.num_blocks = 55440;
    app.attn_heads = app.hidden = app.feedforward = 5040;
    app.attn_size = 1;
    app.seq_size = 4;
    const rk_calculon_space space = {.num_procs = 55440,
                                     .max_batch_size = 698377680,
                                     .datatype = RK_FLOAT8,
                                     .fused_count = 2,
                                     .fused = {true, false}};
    /* one thread: two may be done before the first call, a tenth of a second later */
    const rk_search_control control = {.threads = 1, .progress = stop_at_once, .user = &calls};
    assert_int_equal(
        rk_calculon_search(&app, &sys, &space, &control, 1, &best, &found, &counts, &err),
        RK_ERR_STOPPED);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),        cmocka_unit_test(test_whole_spaces),
        cmocka_unit_test(test_random_spaces), cmocka_unit_test(test_feedforward_fault),
        cmocka_unit_test(test_stop),          cmocka_unit_test(test_large_microbatches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
