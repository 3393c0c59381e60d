/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibrations whose answer is known: tables made by the model itself from other constants than a
 * document has, with noise.
 */
#include "evidence/calibrate.h"
#include "evidence/calibrate_search.h"

#include "../io/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOISE 0.02

/* A fixed sequence (xorshift), even from 0 to 1. */
static double draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

static double size_from(uint64_t *state, double low, double high)
{
    return 64 * floor(low / 64 * pow(high / low, draw(state)));
}

/* Copies a document of the catalogue into the folder as `name`.json. */
static void copy_document(scratch *s, const char *document, const char *name)
{
    size_t size;
    char path[600], file[80];
    (void)snprintf(path, sizeof(path), "%s/%s.json", DATA_FOLDER, document);
    (void)snprintf(file, sizeof(file), "%s.json", name);
    char *text = scratch_read(path, &size);
    assert_non_null(text);
    assert_true(scratch_write(s, file, text, size));
    free(text);
}

/*
 * A table of GEMMs on the accelerator with other constants: rows of two libraries, the `second`
 * `bias` slower, the last tenth of each held out and ten times too slow.
 */
static void write_gemms(scratch *s, const rk_accelerator *a, double bias, const char *second)
{
    uint64_t random = 7;
    FILE *out = fopen(scratch_path(s, "gemm.csv"), "w");
    assert_non_null(out);
    (void)fprintf(out, "accelerator,library,clock,precision,module,grouped,batch,m,n,k,"
                       "accumulate_bytes,us,split\n");
    for (int i = 0; i < 600; i++) {
        const double m = size_from(&random, 512, 16384), n = size_from(&random, 512, 16384);
        const double k = size_from(&random, 512, 16384);
        const double noise = 1 + NOISE * 2 * (draw(&random) - 0.5);
        const bool held = i % 10 == 9;
        const double seconds = rk_gemm_seconds(a, RK_BF16, 1, m, n, k, 0) * noise;
        (void)fprintf(out, "machine,%s,sustained,bf16,0,0,1,%g,%g,%g,0,%.6g,%s\n",
                      i % 2 ? "first" : second, m, n, k,
                      1e6 * seconds * (held ? 10 : 1) * (i % 2 ? 1 : bias), held ? "check" : "fit");
    }
    assert_int_equal(fclose(out), 0);
}

static const char gemm_recipe[] =
    "{\"name\": \"test\", \"documents\": \"machine.json\", \"constants\": ["
    "{\"key\": \"gemm.bf16.efficiency\", \"start\": 0.9, \"min\": 0.3, \"max\": 1.2, \"meaning\": "
    "\"a\"},"
    "{\"key\": \"gemm.bf16.prologue\", \"start\": 10, \"min\": 1, \"max\": 1000, "
    "\"logarithmic\": true, \"meaning\": \"b\"},"
    "{\"key\": \"compute.kernel_us\", \"start\": 1, \"min\": 0, \"max\": 20, \"unit\": \"us\", "
    "\"meaning\": \"c\"},"
    "{\"key\": \"attention.ramp_tokens\", \"start\": 100, \"min\": 0, \"max\": 1000, \"meaning\": "
    "\"nothing here depends on it\"}],"
    "\"data\": [{\"kind\": \"gemm\", \"file\": \"gemm.csv\", \"group_by\": [\"library\"]}]}";

static rk_system load(const char *name)
{
    rk_system system;
    rk_error err;
    assert_int_equal(rk_system_load(name, &system, &err), RK_OK);
    return system;
}

/* Prepares a folder and fits; the caller clears the calibration and removes the folder. */
static void calibrate(scratch *s, const char *recipe, int threads, rk_calibration *c)
{
    const rk_calibration_choice options = {.threads = threads};
    rk_error err;
    char text[900];
    assert_true(scratch_write(s, "recipe.json", recipe, strlen(recipe)));
    if (rk_calibrate(scratch_path(s, "recipe.json"), &options, c, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
}

static void prepare_gemms(scratch *s, double bias, const char *second)
{
    rk_system system = load("h100-sxm");
    rk_gemm_engine *engine = &system.accelerator.gemm[RK_BF16];
    assert_true(scratch_make(s));
    copy_document(s, "accelerators/h100-sxm", "machine");
    engine->efficiency = 0.55;
    engine->prologue = 200;
    system.accelerator.kernel_seconds = 6e-6;
    write_gemms(s, &system.accelerator, bias, second);
}

/* How much the loss grows where a constant alone is at the bound that is worse. */
static void check_importance(rk_calibration *c)
{
    const int count = c->recipe->constant_count;
    double values[RK_RECIPE_CONSTANTS];
    rk_error err;
    for (int i = 0; i < count; i++) {
        values[i] = c->constants[i].figures.value;
    }
    assert_true(rk_fit_setup_loss(&c->bench, -1) == c->facts.loss);
    for (int i = 0; i < count; i++) {
        const rk_constant *constant = &c->recipe->constants[i];
        const double bounds[] = {constant->min, constant->max};
        double most = 0;
        for (int side = 0; side < 2; side++) {
            values[i] = bounds[side];
            assert_int_equal(rk_fit_setup_set(&c->bench, values, &err), RK_OK);
            most = fmax(most, rk_fit_setup_loss(&c->bench, -1));
        }
        values[i] = c->constants[i].figures.value;
        assert_true(fabs(c->constants[i].figures.importance - (most / c->facts.loss - 1)) < 1e-9);
    }
}

/* One more start, drawn from the same seed, never ends at a greater loss. */
static void test_starts(void **state)
{
    rk_calibration c;
    scratch s;
    rk_error err;
    (void)state;
    prepare_gemms(&s, 1, "second");
    calibrate(&s, gemm_recipe, 1, &c);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        double least = HUGE_VAL;
        for (int64_t starts = 1; starts <= 4; starts++) {
            double values[RK_RECIPE_CONSTANTS];
            for (int i = 0; i < c.recipe->constant_count; i++) {
                values[i] = c.recipe->constants[i].start;
            }
            assert_int_equal(rk_search(&c.bench, -1, starts, seed, values, &err), RK_OK);
            assert_int_equal(rk_fit_setup_set(&c.bench, values, &err), RK_OK);
            const double loss = rk_fit_setup_loss(&c.bench, -1);
            assert_true(loss <= least);
            least = loss;
        }
    }
    rk_calibration_clear(&c);
    scratch_remove(&s);
}

static void test_recovers(void **state)
{
    static const double known[] = {0.55, 200, 6};
    rk_calibration c;
    scratch s;
    (void)state;
    prepare_gemms(&s, 1, "second");
    calibrate(&s, gemm_recipe, 1, &c);
    assert_int_equal(c.facts.fitted.rows, 540);
    for (int i = 0; i < 3; i++) {
        if (fabs(c.constants[i].figures.value / known[i] - 1) > 0.05) {
            fail_msg("constant %d: %g is not near %g", i, c.constants[i].figures.value, known[i]);
        }
        assert_false(c.constants[i].figures.at_bound || c.constants[i].figures.idle);
        /* 1/sqrt(540) of the noise is not seen in the width, which is that of 1% of the loss */
        assert_true(fabs(c.constants[i].figures.value - known[i]) <
                    3 * c.constants[i].figures.width);
        assert_int_equal(c.constants[i].deciding_count, RK_DECIDING_ROWS);
    }
    /* even noise from -2% to 2% has a mean of half its range */
    assert_true(c.facts.fitted.mean > 0.4 * NOISE && c.facts.fitted.mean < 0.6 * NOISE);
    assert_true(c.facts.start.mean > 5 * c.facts.fitted.mean && c.facts.loss < c.facts.loss_found);
    /* what is held out was not fitted, and is reported separately */
    assert_int_equal(c.facts.held_out.rows, 60);
    assert_true(c.facts.held_out.bias < -0.85);
    /* a constant that nothing depends on stays where it was */
    assert_true(c.constants[3].figures.idle && c.constants[3].figures.value == 100);
    check_importance(&c);
    rk_calibration_clear(&c);
    scratch_remove(&s);
}

/* Two libraries that disagree by 10%: leaving one out moves the efficiency by half of that. */
static void test_groups(void **state)
{
    rk_calibration c;
    scratch s;
    (void)state;
    prepare_gemms(&s, 1.1, "second");
    calibrate(&s, gemm_recipe, 2, &c);
    assert_int_equal(c.group_count, 2);
    assert_true(fabs(c.constants[0].figures.value - 0.525) < 0.015);
    assert_true(fabs(c.constants[0].figures.deviation - 0.025) < 0.01);
    assert_true(c.facts.by_the_others.mean > 0.08 && c.facts.by_the_others.mean < 0.12);
    assert_true(c.facts.fitted.mean > 0.035 && c.facts.fitted.mean < 0.065);
    rk_calibration_clear(&c);
    scratch_remove(&s);
}

/* The same with libraries that share their first word: weighed apart, left out as one. */
static void test_leave_out(void **state)
{
    char recipe[sizeof(gemm_recipe) + 40];
    rk_calibration c;
    scratch s;
    (void)state;
    (void)snprintf(recipe, sizeof(recipe), "%.*s, \"leave_out\": \"library\"}]}",
                   (int)sizeof(gemm_recipe) - 4, gemm_recipe);
    prepare_gemms(&s, 1.1, "first too");
    calibrate(&s, recipe, 2, &c);
    assert_int_equal(c.rows.cluster_count, 2);
    assert_int_equal(c.group_count, 1);
    assert_false(c.refitted);
    assert_null(c.by_others);
    rk_calibration_clear(&c);
    scratch_remove(&s);
    prepare_gemms(&s, 1.1, "second");
    calibrate(&s, recipe, 2, &c);
    assert_int_equal(c.group_count, 2);
    for (size_t i = 0; i < c.rows.count; i++) { /* half of the bias each way, told of the rest */
        const rk_observation *row = &c.rows.rows[i];
        assert_true(row->held || (fabs(c.by_others[i]) > 0.05 && fabs(c.by_others[i]) < 0.15));
    }
    rk_calibration_clear(&c);
    scratch_remove(&s);
}

/* A ridge above all that the rows say holds constants at what is known before any run. */
static void test_ridge(void **state)
{
    char recipe[sizeof(gemm_recipe) + 40];
    rk_calibration c;
    scratch s;
    (void)state;
    (void)snprintf(recipe, sizeof(recipe), "%.*s, \"loss\": {\"ridge\": 10}}",
                   (int)sizeof(gemm_recipe) - 2, gemm_recipe);
    prepare_gemms(&s, 1, "second");
    calibrate(&s, recipe, 1, &c);
    for (int i = 0; i < c.recipe->constant_count; i++) {
        const rk_constant *constant = &c.recipe->constants[i];
        assert_true(fabs(rk_constant_share(constant, c.constants[i].figures.value) -
                         rk_constant_share(constant, constant->start)) < 0.05);
    }
    assert_true(c.facts.fitted.mean > 0.05); /* test_recovers: 0.01 */
    rk_calibration_clear(&c);
    scratch_remove(&s);
}

static void test_same_again(void **state)
{
    rk_calibration first, second;
    size_t size;
    scratch s;
    rk_error err;
    (void)state;
    prepare_gemms(&s, 1.1, "second");
    calibrate(&s, gemm_recipe, 1, &first);
    assert_int_equal(rk_calibration_write(&first, &err), RK_OK);
    char *once = scratch_read(scratch_path(&s, "machine.json"), &size);
    calibrate(&s, gemm_recipe, 3, &second);
    for (int i = 0; i < first.recipe->constant_count; i++) {
        assert_true(first.constants[i].figures.value == second.constants[i].figures.value);
        assert_true(first.constants[i].figures.deviation == second.constants[i].figures.deviation);
        assert_true(second.constants[i].figures.found == second.constants[i].figures.value);
    }
    assert_int_equal(rk_calibration_write(&second, &err), RK_OK);
    char *twice = scratch_read(scratch_path(&s, "machine.json"), &size);
    assert_string_equal(once, twice);
    assert_non_null(strstr(once, "\"provenance\": \"reckon "));
    assert_non_null(strstr(once, ", recipe test: kernel_us "));
    assert_non_null(strstr(once, ", recipe test: efficiency 0."));
    assert_non_null(strstr(once, ", recipe test: ramp_tokens 100"));
    assert_non_null(strstr(once, " rows of gemm.csv, median error "));
    free(once);
    free(twice);
    rk_calibration_clear(&first);
    rk_calibration_clear(&second);
    scratch_remove(&s);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static void write_cell(FILE *out, const char *cell)
{
    const bool quoted = strpbrk(cell, ",\"") != NULL;
    (void)fputs(quoted ? "\"" : "", out);
    for (; *cell; cell++) {
        (void)fputs(*cell == '"' ? "\"\"" : (char[]){*cell, 0}, out);
    }
    (void)fputs(quoted ? "\"" : "", out);
}

/* A row of the measured runs with another step time; the header with none. */
static void write_row(FILE *out, const rk_run_table *table, char *const *cells, double step)
{
    for (size_t i = 0; i < table->columns; i++) {
        const char *column = table->cells[i], *cell = cells[i];
        (void)fputs(i ? "," : "", out);
        if (step > 0 && strcmp(column, "step_time_s") == 0) {
            (void)fprintf(out, "%.6g", step);
        } else if (step <= 0 || strcmp(column, "tokens_per_s_per_gpu") != 0) {
            write_cell(out, cell);
        }
    }
    (void)fputc('\n', out);
}

/* llm-foundry's runs on A100, taking what they would with other shares. */
static void write_runs(scratch *s, double gemm_share, double stream_share)
{
    rk_run_table table;
    rk_run_sources sources;
    rk_error err;
    uint64_t random = 11;
    assert_int_equal(rk_run_table_load(DATA_FOLDER "/runs/fit.csv", &table, &err), RK_OK);
    assert_int_equal(rk_run_sources_load(NULL, &sources, &err), RK_OK);
    FILE *out = fopen(scratch_path(s, "runs.csv"), "w");
    assert_non_null(out);
    write_row(out, &table, table.cells, 0);
    for (size_t row = 0; row < table.rows; row++) {
        rk_run_case run;
        rk_run_prediction p;
        if (rk_run_case_fill(&sources, &table, row, &run, NULL) ||
            strcmp(sources.stack_names[run.stack], "fsdp-llm-foundry") != 0) {
            continue;
        }
        rk_stack stack = sources.stacks[run.stack];
        stack.gemm_share = stack.low_gemm_share = gemm_share;
        stack.stream_share = stream_share;
        (void)rk_run_predict(&sources, &run, NULL, &stack, &p, NULL);
        write_row(out, &table, table.cells + (row + 1) * table.columns,
                  p.estimate.step * (1 + NOISE * 2 * (draw(&random) - 0.5)));
    }
    assert_int_equal(fclose(out), 0);
    rk_run_table_clear(&table);
    rk_run_sources_clear(&sources);
}

static void test_runs(void **state)
{
    static const char recipe[] =
        "{\"name\": \"test\", \"documents\": \"fsdp-llm-foundry.json\", \"constants\": ["
        "{\"key\": \"rates.gemm_share\", \"start\": 1, \"min\": 0.4, \"max\": 1.2, \"meaning\": "
        "\"a\"}, {\"key\": \"rates.stream_share\", \"start\": 1, \"min\": 0.2, \"max\": 1.2, "
        "\"meaning\": \"b\"}], \"data\": [{\"kind\": \"runs\", \"file\": \"runs.csv\", "
        "\"group_by\": \"model\"}]}";
    rk_calibration c;
    scratch s;
    (void)state;
    assert_true(scratch_make(&s));
    copy_document(&s, "stacks/fsdp-llm-foundry", "fsdp-llm-foundry");
    write_runs(&s, 0.7, 0.5);
    calibrate(&s, recipe, 2, &c);
    assert_true(c.facts.fitted.rows > 150 && c.rows.skipped == 0);
    assert_true(fabs(c.constants[0].figures.value - 0.7) < 0.01);
    assert_true(fabs(c.constants[1].figures.value - 0.5) < 0.015);
    assert_true(c.facts.fitted.mean < 0.6 * NOISE && c.facts.by_the_others.mean < 0.8 * NOISE);
    rk_calibration_clear(&c);
    scratch_remove(&s);
}

/* Bounds that exclude the truth are kept, and said. */
static void test_bounds(void **state)
{
    static const char recipe[] =
        "{\"name\": \"test\", \"documents\": \"machine.json\", \"constants\": ["
        "{\"key\": [\"gemm.bf16.efficiency\", \"gemm.tf32.efficiency\"], \"start\": 0.9, \"min\": "
        "0.7, \"max\": 1.2, \"meaning\": \"a\"}],"
        "\"data\": [{\"kind\": \"gemm\", \"file\": \"gemm.csv\", \"where\": {\"library\": "
        "\"first\", \"m\": {\"max\": 8192}}}]}";
    rk_calibration c;
    rk_error err;
    double value;
    scratch s;
    (void)state;
    prepare_gemms(&s, 1, "second");
    calibrate(&s, recipe, 1, &c);
    assert_true(c.constants[0].figures.value == 0.7 && c.constants[0].figures.at_bound);
    assert_false(c.refitted); /* of one group */
    for (size_t i = 0; i < c.rows.count; i++) {
        assert_string_equal(rk_observation_cell(&c.rows, &c.rows.rows[i], "library"), "first");
        assert_true(c.rows.rows[i].op.kernel.gemm.M <= 8192);
    }
    assert_int_equal(
        rk_editable_get(c.bench.documents[0], "gemm.tf32.efficiency", -1, &value, &err), RK_OK);
    assert_true(value == 0.7);
    rk_calibration_clear(&c);
    scratch_remove(&s);
}

static void expect_refusal(scratch *s, const char *recipe, const char *message)
{
    const rk_calibration_choice options = {.threads = 1, .quick = true};
    rk_calibration c;
    rk_error err;
    assert_true(scratch_write(s, "recipe.json", recipe, strlen(recipe)));
    assert_int_not_equal(rk_calibrate(scratch_path(s, "recipe.json"), &options, &c, &err), RK_OK);
    if (!strstr(err.message, message)) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, message);
    }
    rk_calibration_clear(&c);
}

static void test_refusals(void **state)
{
#define GEMM(key, where)                                                                           \
    "{\"name\": \"test\", \"documents\": \"machine.json\", \"constants\": [{\"key\": \"" key       \
    "\", \"start\": 1, \"min\": 0.5, \"max\": 1.5, \"meaning\": \"a\"}], \"data\": [{\"kind\": "   \
    "\"gemm\", \"file\": \"gemm.csv\", \"where\": {" where "}}]}"
#define RUNS(file)                                                                                 \
    "{\"name\": \"test\", \"documents\": \"machine.json\", \"constants\": [{\"key\": "             \
    "\"gemm.bf16.efficiency\", \"start\": 1, \"min\": 0.5, \"max\": 1.5, \"meaning\": \"a\"}], "   \
    "\"data\": [{\"kind\": \"runs\", \"file\": \"" file "\"}]}"
    static const char checked[] = "id,part,split\na,b,check\n", unmarked[] = "id,part\na,b\n";
    scratch s;
    (void)state;
    prepare_gemms(&s, 1, "second");
    assert_true(scratch_write(&s, "check.csv", checked, sizeof(checked) - 1));
    assert_true(scratch_write(&s, "unmarked.csv", unmarked, sizeof(unmarked) - 1));
    expect_refusal(&s, GEMM("gem.bf16.efficiency", ""), "expected a number to fit, found nothing");
    expect_refusal(&s, GEMM("gemm.bf16.source", ""), "expected a number to fit, found a string");
    expect_refusal(&s, GEMM("gemm.bf16.efficency", ""), "efficiency");
    expect_refusal(&s, GEMM("gemm.bf16.efficiency", "\"libary\": \"first\""), "library");
    expect_refusal(&s, GEMM("gemm.bf16.efficiency", "\"library\": \"third\""), "0 rows to fit");
    expect_refusal(&s, GEMM("gemm.bf16.efficiency", "\"split\": \"check\""), "0 rows to fit");
    expect_refusal(&s, RUNS("check.csv"), "0 rows to fit");
    expect_refusal(&s, RUNS("unmarked.csv"), "no column \"split\"");
    expect_refusal(&s, RUNS("nowhere.csv"), "cannot open");
    expect_refusal(&s, RUNS("gemm.csv"), "0 rows to fit");
    scratch_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recovers), cmocka_unit_test(test_starts),
        cmocka_unit_test(test_groups),   cmocka_unit_test(test_leave_out),
        cmocka_unit_test(test_ridge),    cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_runs),     cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
