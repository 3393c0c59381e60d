/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep writes of its results: chosen columns, constraints, estimates, cut searches, fronts.
 */
#include "search/plan.h"

#include "grid.h"
#include "layer/model_load.h"
#include "sweep/run.h"

#include <math.h>

#define SMALL                                                                                      \
    "\"application\": \"megatron-126M\", \"system\": \"a100_80g\", \"datatype\": \"float16\", "

/* Runs a document and reads its table; the caller frees csv->text. */
static rk_sweep_totals run(const char *members, rk_sweep_options options, grid_csv *csv)
{
    scratch s;
    char text[4096];
    (void)snprintf(text, sizeof(text), "{%s}", members);
    assert_true(scratch_make(&s));
    options.control.csv = scratch_path(&s, "a.csv");
    rk_sweep_doc *doc = grid_parse(text);
    const rk_sweep_totals totals = grid_run(doc, &options);
    grid_csv_read(s.path, csv);
    rk_sweep_doc_free(doc);
    scratch_remove(&s);
    return totals;
}

static double real_cell(const grid_csv *csv, size_t row, const char *column)
{
    return strtod(grid_csv_cell(csv, row, column), NULL);
}

static const char axes[] = "\"axes\": [{\"key\": \"processors\", \"values\": [2, 4, 8]},"
                           "{\"key\": \"batch\", \"values\": [4, 8]}]";

/* ---- columns --------------------------------------------------------------------------------- */

static void test_columns(void **state)
{
    grid_csv whole, csv;
    char members[2048];
    (void)state;
    (void)snprintf(members, sizeof(members), SMALL "\"top\": 2, %s", axes);
    (void)run(members, (rk_sweep_options){.control.threads = 1}, &whole);
    (void)snprintf(members, sizeof(members),
                   SMALL
                   "\"top\": 2, \"columns\": [\"total_time\", {\"cost\": \"processors * "
                   "total_time / 3600\", \"per\": \"batch / processors\"}, \"data_par\","
                   " {\"hidden\": \"application.hidden\", \"share\": \"good / executed\"}], %s",
                   axes);
    (void)run(members, (rk_sweep_options){.control.threads = 2, .block_points = 1}, &csv);
    static const char *const names[] = {"point",      "processors", "batch",   "per", "hidden",
                                        "share",      "executed",   "good",    "bad", "rank",
                                        "total_time", "cost",       "data_par"};
    assert_int_equal(csv.columns, sizeof(names) / sizeof(names[0]));
    assert_int_equal(csv.rows, whole.rows);
    for (size_t i = 0; i < csv.columns; i++) {
        assert_string_equal(csv.cells[0][i], names[i]);
    }
    for (size_t row = 1; row < csv.rows; row++) {
        static const char *const same[] = {"point", "processors", "executed",
                                           "rank",  "total_time", "data_par"};
        for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
            assert_string_equal(grid_csv_cell(&csv, row, same[i]),
                                grid_csv_cell(&whole, row, same[i]));
        }
        assert_true(real_cell(&csv, row, "cost") ==
                    real_cell(&csv, row, "processors") * real_cell(&csv, row, "total_time") / 3600);
        assert_true(real_cell(&csv, row, "per") ==
                    real_cell(&csv, row, "batch") / real_cell(&csv, row, "processors"));
        assert_true(real_cell(&csv, row, "hidden") == 768);
        assert_true(real_cell(&csv, row, "share") ==
                    real_cell(&csv, row, "good") / real_cell(&csv, row, "executed"));
    }
    free(whole.text);
    free(csv.text);
}

/* An expression about the point has a value where nothing fits; one about a result has none. */
static void test_columns_without_results(void **state)
{
    grid_csv csv;
    (void)state;
    (void)run(SMALL "\"processors\": 2, \"batch\": 4, \"columns\": [{\"twice\": \"2 * processors\","
                    "\"time\": \"total_time * 2\"}], \"axes\": [{\"key\": \"system.mem1.GiB\","
                    "\"values\": [80, 0.01]}]",
              (rk_sweep_options){.control.threads = 1}, &csv);
    assert_int_equal(csv.rows, 3);
    assert_string_equal(grid_csv_cell(&csv, 2, "rank"), "");
    assert_string_equal(grid_csv_cell(&csv, 2, "twice"), "4");
    assert_string_equal(grid_csv_cell(&csv, 2, "time"), "");
    free(csv.text);
}

/* ---- constraints ----------------------------------------------------------------------------- */

/* The best that meet the constraints, out of all: against a filter over a long list. */
static void test_constraints(void **state)
{
    static const char search[] = SMALL "\"processors\": 8, \"batch\": 8, \"top\": %d, %s"
                                       "\"columns\": [\"tensor_par\", \"pipeline_par\","
                                       "\"sample_rate\", \"proc_mem_tier1_cap_req\"]";
    static grid_csv csv;
    double rates[5], memory[5];
    char members[2048];
    size_t count = 0;
    (void)state;

    /* All of them, read by hand: the list is longer than a grid_csv. */
    scratch s;
    assert_true(scratch_make(&s));
    (void)snprintf(members, sizeof(members), "{%s}",
                   SMALL "\"processors\": 8, \"batch\": 8, "
                         "\"top\": 15000, \"columns\": "
                         "[\"tensor_par\", \"sample_rate\", "
                         "\"proc_mem_tier1_cap_req\"]");
    rk_sweep_doc *doc = grid_parse(members);
    const rk_sweep_options options = {.control.csv = scratch_path(&s, "all.csv"),
                                      .control.threads = 1};
    (void)grid_run(doc, &options);
    rk_sweep_doc_free(doc);
    size_t size;
    char *text = scratch_read(s.path, &size);
    int kept = 0, seen = 0, last = 0;
    for (char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        double tensor, rate, bytes;
        assert_int_equal(
            sscanf(line + 1, "%*d,%*d,%*d,%*d,%*d,%lf,%lf,%lf", &tensor, &rate, &bytes), 3);
        seen++;
        if (tensor == 8 && bytes > 1e9 && kept < 5) {
            rates[kept] = rate;
            memory[kept++] = bytes;
            last = seen;
        }
    }
    free(text);
    scratch_remove(&s);
    assert_int_equal(kept, 5);
    assert_true(last > 100); /* so that several rounds are needed */

    for (int threads = 1; threads <= 2; threads++) {
        (void)snprintf(members, sizeof(members), search, 5,
                       "\"result_constraints\": [\"tensor_par == 8\","
                       "\"proc_mem_tier1_cap_req > 1e9\"],");
        (void)run(members, (rk_sweep_options){.control.threads = threads}, &csv);
        assert_int_equal(csv.rows, 6);
        for (count = 1; count < csv.rows; count++) {
            assert_true(real_cell(&csv, count, "rank") == (double)count - 1);
            assert_true(real_cell(&csv, count, "sample_rate") == rates[count - 1]);
            assert_true(real_cell(&csv, count, "proc_mem_tier1_cap_req") == memory[count - 1]);
        }
        free(csv.text);
    }

    /* None of them: the point has one row without a result. */
    (void)snprintf(members, sizeof(members), search, 5,
                   "\"result_constraints\": [\"tensor_par > 100\"],");
    const rk_sweep_totals totals = run(members, (rk_sweep_options){.control.threads = 1}, &csv);
    assert_int_equal(totals.fitting, 0);
    assert_int_equal(csv.rows, 2);
    assert_string_equal(grid_csv_cell(&csv, 1, "rank"), "");
    assert_true(real_cell(&csv, 1, "good") > 10000);
    free(csv.text);
}

/* ---- cut searches ---------------------------------------------------------------------------- */

/* Field by field: between them lies what nobody set. */
static void assert_same_exe(const rk_calculon_exe *a, const rk_calculon_exe *b)
{
#define FIELDS(e)                                                                                  \
    {                                                                                              \
        (e)->num_procs, (e)->tensor_par, (e)->pipeline_par, (e)->data_par, (e)->tensor_par_net,    \
            (e)->pipeline_par_net, (e)->data_par_net, (e)->batch_size, (e)->microbatch_size,       \
            (e)->datatype, (e)->fused_activation, (e)->attention_type, (e)->activation_recompute,  \
            (e)->pipeline_interleaving, (e)->optimizer_sharding, (e)->tensor_par_comm_type,        \
            (e)->tensor_par_overlap, (e)->seq_par_ag_redo, (e)->data_par_overlap,                  \
            (e)->weight_offload, (e)->activations_offload, (e)->optimizer_offload, (e)->training   \
    }
    const int64_t x[] = FIELDS(a), y[] = FIELDS(b);
#undef FIELDS
    assert_memory_equal(x, y, sizeof(x));
}

/* Slices of a search are the search. */
static void test_slices(void **state)
{
    enum { TOP = 50 };
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_error err;
    const rk_calculon_space space = {.num_procs = 32,
                                     .max_batch_size = 64,
                                     .datatype = RK_FLOAT16,
                                     .fused_count = 2,
                                     .fused = {true, false}};
    (void)state;
    assert_int_equal(rk_calculon_app_load("megatron-22B", false, &app, &err), RK_OK);
    assert_int_equal(rk_calculon_sys_load("a100_80g", false, &sys, &err), RK_OK);
    static rk_calculon_ranked whole[TOP], part[TOP];
    rk_search_counts counts, sums;
    size_t count;
    assert_int_equal(
        rk_calculon_search(&app, &sys, &space, NULL, TOP, whole, &count, &counts, &err), RK_OK);
    assert_int_equal(count, TOP);
    for (uint64_t slices = 1; slices <= 64; slices += 9) {
        rk_top top;
        rk_top_init(&top, TOP, sizeof(rk_calculon_exe));
        sums = (rk_search_counts){0};
        for (uint64_t slice = 0; slice < slices; slice++) {
            const rk_search_control control = {.threads = 1, .slice = slice, .slices = slices};
            rk_search_counts some;
            assert_int_equal(
                rk_calculon_search(&app, &sys, &space, &control, TOP, part, &count, &some, &err),
                RK_OK);
            sums.executed += some.executed;
            sums.good += some.good;
            sums.bad += some.bad;
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(
                    rk_top_offer(&top, part[i].sample_rate, part[i].index, &part[i].exe, &err),
                    RK_OK);
            }
        }
        rk_top_sort(&top);
        assert_memory_equal(&sums, &counts, sizeof(sums));
        assert_int_equal(top.count, TOP);
        for (size_t i = 0; i < TOP; i++) {
            assert_int_equal(top.heap[i].index, whole[i].index);
            assert_true(top.heap[i].score == whole[i].sample_rate);
            assert_same_exe(rk_top_payload(&top, i), &whole[i].exe);
        }
        rk_top_clear(&top);
    }
}

static void test_slices_of_plans(void **state)
{
    enum { TOP = 20 };
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_error err;
    (void)state;
    assert_int_equal(rk_model_load("mixtral-8x7b", &model, &err), RK_OK);
    assert_int_equal(rk_system_load("dgx-h100-superpod", &system, &err), RK_OK);
    assert_int_equal(rk_stack_load("megatron-2025", &stack, &err), RK_OK);
    const rk_plan_space space = rk_plan_space_defaults(&model, &system, 32, 64);
    static rk_planned_strategy whole[TOP], part[TOP];
    rk_plan_counts counts;
    size_t count;
    uint64_t strategies = 0;
    assert_int_equal(rk_plan_search(&model, &system, &stack, &space, NULL, TOP, whole, &count, NULL,
                                    &counts, &err),
                     RK_OK);
    assert_int_equal(count, TOP);
    assert_int_equal(rk_plan_count(&model, &system, &space, &strategies, &err), RK_OK);
    assert_int_equal(strategies, counts.enumerated);
    for (uint64_t slices = 1; slices <= 11; slices += 5) {
        rk_plan_counts sums = {0};
        rk_top top;
        rk_top_init(&top, TOP, sizeof(double));
        for (uint64_t slice = 0; slice < slices; slice++) {
            const rk_search_control control = {.threads = 1, .slice = slice, .slices = slices};
            rk_plan_counts some;
            assert_int_equal(rk_plan_search(&model, &system, &stack, &space, &control, TOP, part,
                                            &count, NULL, &some, &err),
                             RK_OK);
            sums.enumerated += some.enumerated;
            sums.legal += some.legal;
            sums.fitting += some.fitting;
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(rk_top_offer(&top, -part[i].estimate.step, part[i].index,
                                              &part[i].estimate.step, &err),
                                 RK_OK);
            }
        }
        rk_top_sort(&top);
        assert_memory_equal(&sums, &counts, sizeof(sums));
        assert_int_equal(top.count, TOP);
        for (size_t i = 0; i < TOP; i++) {
            assert_int_equal(top.heap[i].index, whole[i].index);
        }
        rk_top_clear(&top);
    }
}

/* A search that is large enough to be cut says the same as one that is not. */
static void test_cut_search(void **state)
{
    static const char search[] =
        "\"application\": \"gpt3-175B\", \"system\": \"h100-80g-off512g50-nvl8\","
        "\"datatype\": \"float8\", \"processors\": 2048, \"top\": 4, \"fused\": \"both\", %s"
        "\"axes\": [{\"key\": \"batch\", \"values\": [64, 2048, 128]}]";
    static grid_csv alone, shared;
    (void)state;
    for (int constrained = 0; constrained < 2; constrained++) {
        char members[1024];
        (void)snprintf(members, sizeof(members), search,
                       constrained ? "\"result_constraints\": [\"optimizer_offload\","
                                     "\"tensor_par_comm_type == 'ar'\"],"
                                   : "");
        (void)run(members, (rk_sweep_options){.control.threads = 1}, &alone);
        const rk_sweep_totals totals =
            run(members, (rk_sweep_options){.control.threads = 3}, &shared);
        assert_true(totals.strategies > 16000000);
        assert_int_equal(alone.size, shared.size);
        assert_memory_equal(alone.text, shared.text, alone.size);
        free(alone.text);
        free(shared.text);
    }
}

/* ---- bounded searches and estimates ---------------------------------------------------------- */

static void test_bounded(void **state)
{
    grid_csv all, bounded;
    char members[1024];
    (void)state;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(members, sizeof(members),
                       SMALL "\"top\": 3, \"search\": \"%s\", "
                             "\"columns\": [\"tensor_par\", \"sample_rate\"], %s",
                       i ? "bounded" : "exhaustive", axes);
        (void)run(members, (rk_sweep_options){.control.threads = 2}, i ? &bounded : &all);
    }
    assert_int_equal(all.rows, bounded.rows);
    for (size_t row = 1; row < all.rows; row++) {
        assert_string_equal(grid_csv_cell(&all, row, "executed"),
                            grid_csv_cell(&bounded, row, "strategies"));
        assert_true(real_cell(&bounded, row, "evaluated") < real_cell(&all, row, "executed"));
        assert_string_equal(grid_csv_cell(&all, row, "tensor_par"),
                            grid_csv_cell(&bounded, row, "tensor_par"));
        assert_string_equal(grid_csv_cell(&all, row, "sample_rate"),
                            grid_csv_cell(&bounded, row, "sample_rate"));
    }
    free(all.text);
    free(bounded.text);
}

/* The estimate of what a search has found is what the search said of it. */
static void test_estimates(void **state)
{
    static grid_csv searched, estimated;
    char members[4096], strategy[2048] = "";
    (void)state;
    (void)run(SMALL "\"processors\": 8, \"batch\": 8, \"top\": 30",
              (rk_sweep_options){.control.threads = 1}, &searched);
    for (size_t row = 1; row < searched.rows; row += 7) {
        size_t used = 0;
        for (size_t i = 5; i < 28; i++) { /* behind point, counts and rank */
            const char *cell = searched.cells[row][i];
            const bool text = (cell[0] >= 'a' && cell[0] <= 'z') && strcmp(cell, "true") != 0 &&
                              strcmp(cell, "false") != 0;
            used += (size_t)snprintf(strategy + used, sizeof(strategy) - used,
                                     text ? "%s\"%s\": \"%s\"" : "%s\"%s\": %s", i > 5 ? ", " : "",
                                     searched.cells[0][i], cell);
        }
        (void)snprintf(members, sizeof(members),
                       SMALL "\"task\": \"estimate\", \"strategy\": {%s}, \"axes\": [{\"key\": "
                             "\"processors\", \"values\": [8, 16]}]",
                       strategy);
        const rk_sweep_totals totals =
            run(members, (rk_sweep_options){.control.threads = 1}, &estimated);
        assert_int_equal(totals.strategies, 2);
        assert_int_equal(totals.fitting, 1);
        assert_int_equal(estimated.rows, 3);
        for (size_t i = 5; i < searched.columns; i++) {
            assert_string_equal(grid_csv_cell(&estimated, 1, searched.cells[0][i]),
                                searched.cells[row][i]);
        }
        /* With other processors the degrees do not multiply up to them. */
        assert_string_equal(grid_csv_cell(&estimated, 2, "rank"), "");
        assert_non_null(strstr(grid_csv_cell(&estimated, 2, "reason"), "num_procs"));
        free(estimated.text);
    }
    free(searched.text);
}

/* New columns and constraints may use new columns that stand before. */
static void test_new_columns(void **state)
{
    static const char *const first[] = {
        "point", "processors", "cores",      "twice", "constant", "executed",   "good",
        "bad",   "rank",       "total_time", "cost",  "more",     "processors_"};
    static grid_csv csv;
    (void)state;
    const rk_sweep_totals totals =
        run(SMALL "\"batch\": 8, \"top\": 3, \"columns\": [{\"cores\": \"8 * processors\","
                  "\"twice\": \"2 * cores\"}, \"total_time\", {\"cost\": \"twice * total_time\","
                  "\"more\": \"cost + twice\", \"constant\": \"cores - cores + 7\"},"
                  "{\"processors_\": \"round(more - cost, 1) / 16\"}],"
                  "\"result_constraints\": [\"more - cost > 33\"],"
                  "\"axes\": [{\"key\": \"processors\", \"values\": [1, 2, 4, 8]}]",
            (rk_sweep_options){.control.threads = 1}, &csv);
    assert_int_equal(csv.columns, sizeof(first) / sizeof(first[0]));
    for (size_t i = 0; i < csv.columns; i++) {
        assert_string_equal(csv.cells[0][i], first[i]);
    }
    /* less than four processors are not worth so much */
    assert_int_equal(totals.fitting, 2);
    assert_int_equal(csv.rows, 1 + 2 + 2 * 3);
    for (size_t row = 1; row < csv.rows; row++) {
        const double processors = real_cell(&csv, row, "processors");
        assert_true(real_cell(&csv, row, "twice") == 16 * processors);
        assert_true(real_cell(&csv, row, "constant") == 7);
        if (processors <= 2) {
            assert_string_equal(grid_csv_cell(&csv, row, "more"), "");
            continue;
        }
        const double cost = 16 * processors * real_cell(&csv, row, "total_time");
        assert_true(real_cell(&csv, row, "cost") == cost);
        assert_true(real_cell(&csv, row, "more") == cost + 16 * processors);
        assert_true(real_cell(&csv, row, "processors_") == processors);
    }
    free(csv.text);
}

/* ---- fronts ---------------------------------------------------------------------------------- */

static void test_pareto(void **state)
{
    static grid_csv all, front;
    char members[1024];
    (void)state;
    (void)snprintf(members, sizeof(members),
                   SMALL
                   "\"top\": 10, \"columns\": [\"total_time\", \"proc_mem_tier1_cap_req\","
                   "{\"cost\": \"round(processors * total_time, 0.01)\"}, \"sample_rate\"], %s",
                   axes);
    (void)run(members, (rk_sweep_options){.control.threads = 1}, &all);
    (void)run(members,
              (rk_sweep_options){
                  .control.threads = 2, .block_points = 1, .control.pareto = "memory,cost,rate"},
              &front);
    size_t kept = 0;
    for (size_t i = 1; i < all.rows; i++) {
        bool beaten = false;
        for (size_t j = 1; j < all.rows; j++) {
            const double less[] = {real_cell(&all, j, "proc_mem_tier1_cap_req") -
                                       real_cell(&all, i, "proc_mem_tier1_cap_req"),
                                   real_cell(&all, j, "cost") - real_cell(&all, i, "cost"),
                                   real_cell(&all, i, "sample_rate") -
                                       real_cell(&all, j, "sample_rate")};
            beaten = beaten || (less[0] <= 0 && less[1] <= 0 && less[2] <= 0 &&
                                (less[0] < 0 || less[1] < 0 || less[2] < 0));
        }
        if (!beaten) {
            kept++;
            assert_true(kept < front.rows);
            for (size_t column = 0; column < all.columns; column++) {
                assert_string_equal(front.cells[kept][column], all.cells[i][column]);
            }
        }
    }
    assert_int_equal(kept + 1, front.rows);
    assert_true(kept > 1 && kept < all.rows - 1);
    free(all.text);
    free(front.text);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_faults(void **state)
{
    static const struct {
        const char *members, *pareto, *path, *says;
    } faults[] = {
        {"\"columns\": 3", NULL, "columns", "expected a list of columns"},
        {"\"columns\": [3]", NULL, "columns[0]", "expected the name of a column"},
        {"\"columns\": [\"totl_time\"]", NULL, "columns[0]", "did you mean \"total_time\"?"},
        {"\"columns\": [\"total_time\", \"*\"]", NULL, "columns[1]", "another column"},
        {"\"columns\": [{\"Rank\": \"1\"}]", NULL, "columns", "another column \"rank\""},
        {"\"columns\": [{\"a\": \"1 +\"}]", NULL, "columns[0].a", "found the end"},
        {"\"columns\": [{\"a\": \"2 * b\", \"b\": \"total_time\"}]", NULL, "b", "no \"b\" here"},
        {"\"columns\": [{\"a\": \"total_tim\"}]", NULL, "total_tim", "there is no \"total_tim\""},
        {"\"result_constraints\": \"x\"", NULL, "result_constraints", "expected a list"},
        {"\"result_constraints\": [\"total_time\"]", NULL, "result_constraints[0]",
         "expected a condition"},
        {"\"result_constraints\": [\"total_time > 'x'\"]", NULL, "result_constraints[0]",
         "different types"},
        {"\"task\": \"guess\"", NULL, "task", "\"estimate\""},
        {"\"search\": \"bound\"", NULL, "search", "\"bounded\""},
        {"\"task\": \"estimate\", \"search\": \"bounded\"", NULL, "search", "searches nothing"},
        {"\"task\": \"estimate\"", NULL, "", "\"strategy\" is missing"},
        {"\"strategy\": {}", NULL, "strategy", "unknown"},
        {"\"top\": 2", "time,speed", "", "no column \"speed\""},
        {"\"top\": 2", "max:sampl_rate", "", "did you mean \"sample_rate\"?"},
        {"\"top\": 2", "rate,rate,rate,rate,rate,rate,rate,rate,rate", "", "at most 8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char text[1024];
        rk_sweep_doc *doc = NULL;
        rk_sweep_totals totals;
        rk_error err = {0};
        const rk_sweep_options options = {.control.threads = 1, .control.pareto = faults[i].pareto};
        (void)snprintf(text, sizeof(text), "{" SMALL "\"processors\": 2, \"batch\": 4, %s}",
                       faults[i].members);
        rk_status status = rk_sweep_doc_parse(text, strlen(text), "grid.json", &doc, &err);
        if (status == RK_OK) {
            status = rk_sweep_run(doc, &options, &totals, &err);
        }
        if (status == RK_OK || strcmp(err.path, faults[i].path) != 0 ||
            !strstr(err.message, faults[i].says)) {
            fail_msg("%s: got %d, %s: %s", faults[i].members, status, err.path, err.message);
        }
        rk_sweep_doc_free(doc);
    }
}

/* ---- ranks that are lost --------------------------------------------------------------------- */

struct heard {
    int rank;
    char points[RK_SWEEP_LIST_SIZE];
};

static void hear_lost(void *user, int rank, const char *points)
{
    struct heard *heard = user;
    heard->rank = rank;
    (void)snprintf(heard->points, sizeof(heard->points), "%s", points);
}

/* Adds a task of a kind, with what is behind its place and its strategies. */
static void add_task(rk_task_list *tasks, enum rk_sweep_task_kind kind, const uint64_t *numbers,
                     size_t count)
{
    rk_task *task = rk_task_new(0);
    assert_non_null(task);
    rk_bytes_add_number(&task->bytes, (uint64_t)kind);
    rk_bytes_add_number(&task->bytes, 1000);
    rk_bytes_add_number(&task->bytes, 2000);
    for (size_t i = 0; i < count; i++) {
        rk_bytes_add_number(&task->bytes, numbers[i]);
    }
    rk_task_append(tasks, task);
}

/* The points of the tasks of a rank that is lost: blocks of them, and slices of the search at one.
 */
static void test_lost(void **state)
{
    struct heard heard = {0};
    rk_sweep_options options = {.lost = hear_lost, .control.user = &heard};
    rk_sweep_running run = {.options = &options};
    rk_task_list tasks = {0};
    (void)state;
    rk_sweep_lost(&run, 2, &tasks);
    assert_int_equal(heard.rank, 2);
    assert_string_equal(heard.points, "");
    add_task(&tasks, RK_SWEEP_POINTS, (uint64_t[]){3, 4, 7}, 3);
    add_task(&tasks, RK_SWEEP_SLICE, (uint64_t[]){12, 1, 5, 64}, 4);
    add_task(&tasks, RK_SWEEP_POINTS, (uint64_t[]){20}, 1);
    rk_sweep_lost(&run, 3, &tasks);
    assert_int_equal(heard.rank, 3);
    assert_string_equal(heard.points, "3-7, 12, 20");
    for (uint64_t i = 0; i < 200; i++) { /* more than a line has room for */
        add_task(&tasks, RK_SWEEP_POINTS, &i, 1);
    }
    rk_sweep_lost(&run, 4, &tasks);
    assert_int_equal(strlen(heard.points), RK_SWEEP_LIST_SIZE - 1);
    options.lost = NULL;
    rk_sweep_lost(&run, 5, &tasks);
    assert_int_equal(heard.rank, 4);
    rk_task_list_free(&tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),         cmocka_unit_test(test_columns_without_results),
        cmocka_unit_test(test_constraints),     cmocka_unit_test(test_slices),
        cmocka_unit_test(test_slices_of_plans), cmocka_unit_test(test_cut_search),
        cmocka_unit_test(test_bounded),         cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_new_columns),     cmocka_unit_test(test_pareto),
        cmocka_unit_test(test_faults),          cmocka_unit_test(test_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
