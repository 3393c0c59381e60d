/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hot paths cost, in processor time.
 *
 * Usage: bench [RECKON]  With the path of the command, the time of a whole process is measured too.
 */
#include "layer/model_load.h"
#include "reckon/reckon.h"
#include "search/plan.h"
#include "system/system.h"
#include "work/parallel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double wall_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void require(rk_status status, const rk_error *err)
{
    char text[1024];
    if (status) {
        (void)fprintf(stderr, "bench: %s\n", rk_error_text(err, text, sizeof(text)));
        exit(1);
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Searches five times and prints the median. */
static void bench_search(const char *model, const char *machine, int64_t procs, int64_t batch,
                         rk_datatype datatype, int threads)
{
    enum { RUNS = 5 };
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_error err;
    rk_search_counts counts = {0};
    double seconds[RUNS];
    require(rk_calculon_app_load(model, false, &app, &err), &err);
    require(rk_calculon_sys_load(machine, false, &sys, &err), &err);
    const rk_calculon_space space = {.num_procs = procs,
                                     .max_batch_size = batch,
                                     .datatype = datatype,
                                     .fused_count = 1,
                                     .fused = {true}};
    const rk_search_control control = {.threads = threads};
    for (int i = 0; i < RUNS; i++) {
        rk_calculon_ranked best;
        size_t found;
        const double start = cpu_seconds();
        require(rk_calculon_search(&app, &sys, &space, &control, 1, &best, &found, &counts, &err),
                &err);
        seconds[i] = cpu_seconds() - start;
    }
    qsort(seconds, RUNS, sizeof(seconds[0]), compare_doubles);
    const double median = seconds[RUNS / 2];
    (void)printf("%-14s %-28s %6ld %8d %11.0f %8.3f %9.2f %9.1f\n", model, machine, (long)procs,
                 threads, (double)counts.executed, median, median / (double)counts.executed * 1e9,
                 (double)counts.executed / median * 1e-6);
}

static void bench_evaluation(void)
{
    enum { RUNS = 200000 };
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_error err;
    double sum = 0;
    require(rk_calculon_app_load("gpt3-175B", false, &app, &err), &err);
    require(rk_calculon_sys_load("a100_80e", false, &sys, &err), &err);
    rk_calculon_exe exe = {.num_procs = 64,
                           .tensor_par = 8,
                           .pipeline_par = 8,
                           .data_par = 1,
                           .pipeline_par_net = 1,
                           .data_par_net = 1,
                           .batch_size = 64,
                           .microbatch_size = 1,
                           .datatype = RK_FLOAT16,
                           .activation_recompute = RK_RECOMPUTE_ATTN,
                           .pipeline_interleaving = 3,
                           .tensor_par_comm_type = RK_TP_RS_AG,
                           .seq_par_ag_redo = true,
                           .training = true};
    const double start = cpu_seconds();
    for (int i = 0; i < RUNS; i++) {
        exe.batch_size = 64 + i % 4;
        require(rk_calculon_evaluate(&app, &sys, &exe, &stats, NULL, NULL, &verdict, &err), &err);
        sum += stats.total_time;
    }
    const double each = (cpu_seconds() - start) / RUNS;
    (void)printf("one evaluation: %.3f us (mean step %.3f s)\n", each * 1e6, sum / RUNS);
}

/* Microseconds of one estimate of many with the same setup, of the best round. */
static double estimate_us(const rk_model *model, const rk_system *system, const rk_stack *stack,
                          const rk_strategy *strategy)
{
    enum { ROUNDS = 10, RUNS = 2000 };
    rk_estimate estimate;
    rk_estimate_store *store;
    rk_error err;
    require(rk_estimate_store_new(&store, &err), &err);
    const rk_setting setting = {.model = model,
                                .system = system,
                                .stack = stack,
                                .convention = RK_FLOPS_MEGATRON,
                                .store = store};
    double least = (double)INFINITY;
    for (int i = 0; i < ROUNDS; i++) {
        const double start = cpu_seconds();
        for (int j = 0; j < RUNS; j++) {
            require(rk_estimate_exact(&setting, strategy, &estimate, NULL, &err), &err);
        }
        least = fmin(least, (cpu_seconds() - start) / RUNS * 1e6);
    }
    rk_estimate_store_free(store);
    return least;
}

/* Searches the whole space that Megatron runs, by the reckon model. */
static void bench_plan(const char *name, const char *machine, int64_t accelerators, int64_t batch,
                       int64_t seq)
{
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_planned_strategy best;
    rk_plan_counts counts;
    rk_error err;
    size_t found;
    require(rk_model_load(name, &model, &err), &err);
    require(rk_system_load(machine, &system, &err), &err);
    require(rk_stack_load("megatron-2025", &stack, &err), &err);
    rk_plan_space space = rk_plan_space_defaults(&model, &system, accelerators, batch);
    space.base.seq = seq;
    const rk_search_control control = {.threads = 1};
    const double start = cpu_seconds();
    require(rk_plan_search(&model, &system, &stack, &space, &control, 1, &best, &found, NULL,
                           &counts, &err),
            &err);
    const double seconds = cpu_seconds() - start;
    const double us = found ? estimate_us(&model, &system, &stack, &best.strategy) : 0;
    (void)printf("%-14s %-18s %6ld %12.0f %11.0f %11.0f %8.3f %9.2f %9.1f %9.2f\n", name, machine,
                 (long)accelerators, (double)counts.enumerated, (double)counts.legal,
                 (double)counts.fitting, seconds, seconds / (double)counts.legal * 1e9,
                 (double)counts.legal / seconds * 1e-6, us);
}

/* Time from starting the command to its end, median of 21. */
static void bench_process(const char *reckon)
{
    enum { RUNS = 21 };
    double seconds[RUNS];
    (void)fflush(stdout); /* or every child would print it again */
    for (int i = 0; i < RUNS; i++) {
        const double start = wall_seconds();
        const pid_t child = fork();
        if (child == 0) {
            if (freopen("/dev/null", "w", stdout)) {
                (void)execl(reckon, reckon, "calculon", "lpc", "megatron-22B", (char *)NULL);
            }
            _exit(127);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            (void)fprintf(stderr, "bench: cannot run %s\n", reckon);
            exit(1);
        }
        seconds[i] = wall_seconds() - start;
    }
    qsort(seconds, RUNS, sizeof(seconds[0]), compare_doubles);
    (void)printf("process, start to answer: %.2f ms\n", seconds[RUNS / 2] * 1e3);
}

/* What a collective takes, asked over and over with other sizes. */
static void bench_collective(const char *machine, rk_collective op, int64_t ranks)
{
    enum { RUNS = 1000000 };
    rk_system system;
    rk_error err;
    double sum = 0;
    require(rk_system_load(machine, &system, &err), &err);
    const rk_group group = rk_group_of(&system, ranks, 1);
    const double start = cpu_seconds();
    for (int i = 0; i < RUNS; i++) {
        sum += rk_collective_seconds(&system, op, 1e6 + i, &group);
    }
    const double seconds = cpu_seconds() - start;
    (void)printf("%-14s %-18s %6ld %39.0f ns each (mean %.3g s)\n", rk_collective_names[op],
                 machine, (long)ranks, seconds / RUNS * 1e9, sum / RUNS);
    rk_system_clear(&system);
}

int main(int argc, char **argv)
{
    const int cores = rk_core_count();
    (void)printf("%-14s %-28s %6s %8s %11s %8s %9s %9s\n", "model", "system", "procs", "threads",
                 "strategies", "cpu s", "ns each", "M/cpu s");
    bench_search("seed-1T", "h100-80g-off512g50-nvl8", 4096, 3072, RK_FLOAT8, 1);
    bench_search("seed-1T", "h100-80g-off512g50-nvl8", 4096, 3072, RK_FLOAT8, cores);
    bench_search("seed-1T", "h100-80g-off0g0-nvl8", 4096, 3072, RK_FLOAT8, 1);
    bench_search("megatron-22B", "a100_80g", 64, 64, RK_FLOAT16, 1);
    bench_search("gpt3-13B", "h100-3tier", 40, 24, RK_FLOAT8, 1);
    bench_evaluation();
    (void)printf("%-14s %-18s %6s %12s %11s %11s %8s %9s %9s %9s\n", "plan", "system", "ranks",
                 "enumerated", "legal", "fitting", "cpu s", "ns/legal", "M/cpu s", "us/best");
    bench_plan("llama3-8b", "dgx-h100-superpod", 8, 128, 8192);
    bench_plan("llama3-70b", "dgx-h100-superpod", 64, 512, 8192);
    bench_plan("llama3.1-405b", "h100-sxm", 16384, 2048, 8192);
    bench_plan("deepseek-v3", "deepseek-v3-h800", 2048, 15360, 4096);
    bench_collective("dgx-h100-superpod", RK_COLL_ALL_REDUCE, 8);
    bench_collective("dgx-h100-superpod", RK_COLL_ALL_REDUCE, 512);
    bench_collective("dgx-h100-superpod", RK_COLL_ALL_TO_ALL, 512);
    bench_collective("gb200-nvl72-pod", RK_COLL_ALL_GATHER, 576);
    if (argc > 1) {
        bench_process(argv[1]);
    }
    return 0;
}
