/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded search against the exhaustive one: the same ranking, bit for bit, for less work. */
#include "calculon/bounds.h"
#include "calculon/primitives.h"
#include "reckon/reckon.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROBLEMS = 500, TOP_MAX = 20000 };

struct problem {
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_space space;
    size_t top_n;
};

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

static void load(const char *model, const char *machine, rk_calculon_app *app, rk_calculon_sys *sys)
{
    rk_error err;
    assert_int_equal(rk_calculon_app_load(model, false, app, &err), 0);
    assert_int_equal(rk_calculon_sys_load(machine, false, sys, &err), 0);
}

/* Any mix of a model, a machine whose figures are scaled, and a space. */
static struct problem random_problem(uint64_t seed)
{
    static const char *const machines[] = {"a100_80g", "h100-3tier", "h100-80g-off512g50-nvl8",
                                           "h100-80g-off0g0-nvl16",
                                           "h100-80g-off512g100-nvl8-roofline"};
    uint64_t r = seed;
    struct problem p;
    load("megatron-126M", machines[next_random(&r) % 5], &p.app, &p.sys);
    p.app.attn_heads = PICK(&r, 12, 32, 48, 64, 96, 128);
    p.app.attn_size = PICK(&r, 64, 96, 128, 160);
    p.app.hidden = p.app.attn_heads * PICK(&r, 64, 128, 192);
    p.app.feedforward = p.app.hidden * PICK(&r, 1, 4, 4, 8);
    p.app.seq_size = PICK(&r, 250, 1024, 2048, 8192);
    p.app.num_blocks = PICK(&r, 3, 8, 12, 20, 32, 48, 64, 96, 105, 128);
    p.sys.mem1.capacity *= (double)PICK(&r, 1, 1, 2, 4) / (double)PICK(&r, 1, 1, 2, 8);
    p.sys.mem2.capacity *= (double)PICK(&r, 0, 1, 1, 4) / (double)PICK(&r, 1, 8);
    p.sys.roofline = next_random(&r) % 2;
    for (int i = 0; i < p.sys.network_count; i++) {
        rk_calculon_network *net = &p.sys.networks[i];
        net->bandwidth *= (double)PICK(&r, 1, 2, 10) / (double)PICK(&r, 1, 2, 20);
        net->latency *= (double)PICK(&r, 0, 1, 100);
        net->must_be_filled = net->must_be_filled && next_random(&r) % 2;
        net->processor_usage = (double)PICK(&r, 0, 5, 20, 60) / 100;
        net->size *= PICK(&r, 1, 1, 2, 4);
    }
    const bool both = next_random(&r) % 2;
    p.space = (rk_calculon_space){
        .num_procs = PICK(&r, 1, 4, 8, 24, 64, 96, 128, 256, 512, 1024),
        .max_batch_size = PICK(&r, 8, 30, 64, 96, 512, 1024, 3072),
        .datatype = p.sys.matrix[RK_FLOAT8].present && next_random(&r) % 2 ? RK_FLOAT8 : RK_FLOAT16,
        .fused_count = both ? 2 : 1,
        .fused = {both ? false : next_random(&r) % 2, true},
        .no_tp_overlap = PICK(&r, 0, 0, 0, 1),
        .no_dp_overlap = PICK(&r, 0, 0, 0, 1),
        .mbs_break = PICK(&r, 0, 0, 1),
    };
    p.top_n = (size_t)PICK(&r, 1, 1, 5, 10, 100, TOP_MAX);
    return p;
}

static void assert_same_ranking(const rk_calculon_ranked *a, const rk_calculon_ranked *b,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(a[i].index, b[i].index);
        assert_true(a[i].sample_rate == b[i].sample_rate);
    }
    /* the index says everything about a mapping; look at one in full all the same */
    for (size_t i = 0; i < count && i < 1; i++) {
        assert_int_equal(a[i].exe.tensor_par, b[i].exe.tensor_par);
        assert_int_equal(a[i].exe.pipeline_par, b[i].exe.pipeline_par);
        assert_int_equal(a[i].exe.batch_size, b[i].exe.batch_size);
        assert_int_equal(a[i].exe.microbatch_size, b[i].exe.microbatch_size);
        assert_int_equal(a[i].exe.pipeline_interleaving, b[i].exe.pipeline_interleaving);
        assert_int_equal(a[i].exe.data_par_net, b[i].exe.data_par_net);
        assert_int_equal(a[i].exe.weight_offload, b[i].exe.weight_offload);
        assert_int_equal(a[i].exe.data_par_overlap, b[i].exe.data_par_overlap);
    }
}

/* Both searches on one problem.  Returns false when it is a fault or has no mapping. */
static bool compare(const struct problem *p, rk_calculon_ranked *all, rk_calculon_ranked *best,
                    rk_bounded_counts *bounded)
{
    rk_search_counts counts;
    rk_bounded_counts again;
    rk_error err;
    size_t all_count, count;
    uint64_t total;
    rk_search_control control = {.threads = 1};
    rk_calculon_space whole = p->space;
    const rk_status status = rk_calculon_search(&p->app, &p->sys, &p->space, &control, p->top_n,
                                                all, &all_count, &counts, &err);
    assert_int_equal(rk_calculon_search_bounded(&p->app, &p->sys, &p->space, &control, p->top_n,
                                                best, &count, bounded, &err),
                     status);
    if (status || counts.executed == 0) {
        return false;
    }
    assert_int_equal(count, all_count);
    assert_same_ranking(all, best, count);

    whole.mbs_break = false;
    assert_int_equal(rk_calculon_space_count(&p->app, &p->sys, &whole, &total, &err), 0);
    assert_int_equal(bounded->total, total);
    assert_int_equal(bounded->evaluated + bounded->by_time + bounded->by_memory + bounded->by_rule +
                         bounded->by_dominance,
                     total);
    control.threads = 3;
    assert_int_equal(rk_calculon_search_bounded(&p->app, &p->sys, &p->space, &control, p->top_n,
                                                best, &count, &again, &err),
                     0);
    assert_memory_equal(bounded, &again, sizeof(again));
    assert_int_equal(count, all_count);
    assert_same_ranking(all, best, count);
    return true;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[PROBLEMS])
{
    qsort(values, PROBLEMS, sizeof(values[0]), compare_doubles);
    return values[PROBLEMS / 2];
}

/*
 * Equal rankings, and at most a tenth of the work: even when bounds, each of which serves a group,
 * count as evaluations, and mappings that no network holds are left out of the total.
 */
static void test_random_problems(void **state)
{
    static double evaluated[PROBLEMS], work[PROBLEMS];
    rk_calculon_ranked *all = calloc(TOP_MAX, sizeof(*all)), *best = calloc(TOP_MAX, sizeof(*best));
    uint64_t seed = 0;
    (void)state;
    assert_true(all && best);
    for (int i = 0; i < PROBLEMS; i++) {
        rk_bounded_counts counts;
        struct problem p;
        do {
            p = random_problem(++seed);
        } while (!compare(&p, all, best, &counts));
        const double placed = (double)(counts.total - counts.by_rule);
        evaluated[i] = (double)counts.total / fmax(1, (double)counts.evaluated);
        work[i] = placed / fmax(1, (double)(counts.evaluated + counts.bounds));
    }
    print_message("%d problems of %d seeds: mappings for each one evaluated, median %.0f; mappings "
                  "that networks hold for each evaluation or bound, median %.1f\n",
                  PROBLEMS, (int)seed, median(evaluated), median(work));
    assert_true(median(evaluated) >= 10);
    assert_true(median(work) >= 10);
    free(all);
    free(best);
}

/* ---- the bounds alone -------------------------------------------------------------------- */

/* The mappings of a problem, of which some are compared with their bounds. */
struct audit {
    const struct problem *problem;
    uint64_t every; /* one mapping of so many */
    uint64_t compared;
};

/* The bounds of the node and interleaving that a mapping belongs to. */
static void bound_mapping(const struct problem *p, const rk_calculon_exe *exe, double *seconds,
                          double *bytes)
{
    const rk_family family = {exe->activation_recompute, exe->tensor_par_comm_type,
                              exe->seq_par_ag_redo, exe->tensor_par_overlap, exe->fused_activation};
    const int64_t b = exe->microbatch_size, tiers = rk_families_tiers(&p->sys, exe->tensor_par);
    const bool data = exe->data_par > 1;
    rk_space_cell cell = {.t = exe->tensor_par,
                          .p = exe->pipeline_par,
                          .D = exe->data_par,
                          .B = exe->batch_size,
                          .v_count = 1,
                          .nets = {(int)tiers, exe->pipeline_par > 1 ? p->sys.network_count : 1,
                                   data ? p->sys.network_count : 1}};
    int64_t v = exe->pipeline_interleaving;
    const rk_space_plan plan = {.values = &v};
    rk_block_column columns[RK_NETWORK_MAX];
    rk_optimizer_cost own, least;
    rk_batch_counts n, shallow;
    rk_net_fits nets;
    rk_error err;
    const bool tiled = exe->tensor_par_overlap != RK_OVERLAP_NONE;
    assert_int_equal(rk_families_price(&p->app, &p->sys, &p->space, &family, 1, exe->tensor_par, b,
                                       columns, &err),
                     RK_OK);
    assert_int_equal(rk_optimizer_cost_of(&p->app, &p->sys, &p->space, &cell, b, tiled,
                                          exe->optimizer_sharding, &own, &err),
                     RK_OK);
    assert_int_equal(
        rk_optimizer_cost_of(&p->app, &p->sys, &p->space, &cell, b, tiled, data, &least, &err),
        RK_OK);
    rk_batches_fill(&p->app, &plan, &cell, b, &n);
    v = 1;
    rk_batches_fill(&p->app, &plan, &cell, b, &shallow);
    rk_net_fits_of(&p->sys, &cell, &nets);
    const rk_block_column *column = &columns[exe->tensor_par_net];
    const rk_bound_block block = rk_bound_block_of(column);
    const double message =
        rk_network_seconds(&p->sys.networks[exe->pipeline_par_net], RK_P2P, column->pp_size, 2);
    *seconds = rk_bound_pipeline(&block, &n, message) +
               rk_bound_once(&p->app, &p->sys, &cell, &nets, column, &own, exe->optimizer_sharding);
    *bytes = rk_bound_memory(&p->sys, column, &least, &shallow,
                             exe->activation_recompute == RK_RECOMPUTE_FULL);
}

static bool audit_mapping(void *user, uint64_t index, const rk_calculon_exe *exe)
{
    struct audit *audit = user;
    const struct problem *p = audit->problem;
    rk_calculon_stats stats, plain_stats;
    rk_calculon_verdict verdict;
    rk_error err;
    if (index % audit->every ||
        rk_calculon_evaluate(&p->app, &p->sys, exe, &stats, NULL, NULL, &verdict, &err) ||
        verdict.verdict != RK_FITS) {
        return true;
    }
    double seconds, bytes;
    bound_mapping(p, exe, &seconds, &bytes);
    assert_true(seconds <= stats.total_time * (1 + RK_BOUND_SLACK));
    assert_true(bytes <= stats.proc_mem_tier1_cap_req * (1 + RK_BOUND_SLACK));
    audit->compared++;

    /* dominance: without offload it is no slower, but for messages that collide */
    rk_calculon_exe plain = *exe;
    rk_calculon_sys roomy = p->sys;
    plain.weight_offload = plain.activations_offload = plain.optimizer_offload = false;
    roomy.mem1.capacity = 1e30;
    assert_int_equal(
        rk_calculon_evaluate(&p->app, &roomy, &plain, &plain_stats, NULL, NULL, &verdict, &err),
        RK_OK);
    assert_int_equal(verdict.verdict, RK_FITS);
    const bool shared = exe->data_par_overlap && exe->data_par_net == exe->pipeline_par_net;
    const double message = rk_network_seconds(&p->sys.networks[exe->pipeline_par_net], RK_P2P,
                                              stats.block_fw_pp_size, 2);
    const double spare =
        shared ? (double)((exe->pipeline_interleaving - 1) * exe->pipeline_par) * message : 0;
    assert_true(plain_stats.total_time - spare <= stats.total_time * (1 + RK_BOUND_SLACK));
    return true;
}

/* No mapping is faster or smaller than its bounds say. */
static void test_admissible(void **state)
{
    struct audit audit = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        const struct problem p = random_problem(seed);
        uint64_t total;
        rk_error err;
        if (rk_calculon_space_count(&p.app, &p.sys, &p.space, &total, &err) || total == 0) {
            continue;
        }
        audit.problem = &p;
        audit.every = total / 500 * 2 + 1; /* odd, so that every choice is met */
        assert_int_equal(
            rk_calculon_space_each(&p.app, &p.sys, &p.space, audit_mapping, &audit, &err), 0);
    }
    print_message("%llu mappings compared\n", (unsigned long long)audit.compared);
    assert_true(audit.compared > 10000);
}

/* What bounds cannot hold for is refused, by both searches in the same words. */
static void test_without_bounds(void **state)
{
    rk_calculon_ranked all[20], best[20];
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct problem p;
        rk_search_counts counts;
        rk_bounded_counts bounded;
        size_t all_count, count;
        rk_error err, same;
        load("gpt3-13B", "h100-80g-off512g50-nvl8", &p.app, &p.sys);
        p.space = (rk_calculon_space){.num_procs = 8,
                                      .max_batch_size = 8,
                                      .datatype = RK_FLOAT8,
                                      .fused_count = 1,
                                      .fused = {true}};
        if (i == 0) {
            p.sys.networks[0].latency = -1e-6;
        } else if (i == 1) {
            p.sys.networks[1].offset[RK_ALL_REDUCE] = -3;
        } else {
            /* bound by memory alone, without any time to offload in */
            p.sys.roofline = true;
            for (int j = 0; j < p.sys.mem1.curve.count; j++) {
                p.sys.mem1.curve.rate[j] = 1e9;
            }
        }
        const rk_status status =
            rk_calculon_search(&p.app, &p.sys, &p.space, NULL, 20, all, &all_count, &counts, &err);
        assert_int_equal(rk_calculon_search_bounded(&p.app, &p.sys, &p.space, NULL, 20, best,
                                                    &count, &bounded, &same),
                         status);
        assert_int_equal(status, RK_ERR_INVALID);
        assert_string_equal(err.message, same.message);
        assert_string_equal(err.path, same.path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_problems),
        cmocka_unit_test(test_admissible),
        cmocka_unit_test(test_without_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
