/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layouts of output documents, byte for byte.  The golden files were made from the order of
 * keys in reference results, not with this library.
 */
#include "calculon/calculon_write.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"

static const rk_calculon_exe some_exe = {
    .num_procs = 32,
    .tensor_par = 4,
    .pipeline_par = 2,
    .data_par = 4,
    .pipeline_par_net = 1,
    .data_par_net = 1,
    .batch_size = 48,
    .microbatch_size = 3,
    .datatype = RK_BFLOAT16,
    .fused_activation = true,
    .attention_type = RK_MULTIQUERY,
    .activation_recompute = RK_RECOMPUTE_ATTN,
    .pipeline_interleaving = 2,
    .optimizer_sharding = true,
    .tensor_par_comm_type = RK_TP_RS_AG,
    .tensor_par_overlap = RK_OVERLAP_RING,
    .seq_par_ag_redo = true,
    .data_par_overlap = true,
    .activations_offload = true,
    .optimizer_offload = true,
    .training = true,
};

/* Every field tells its place: n.25, counts n * 1000003; a few have the values that are special. */
static void fill_stats(rk_calculon_stats *stats, int shift)
{
    for (int i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        void *place = (char *)stats + rk_calculon_stat_fields[i].offset;
        if (rk_calculon_stat_fields[i].kind == RK_STAT_LONG) {
            *(long double *)place = (i + 1) * 1000003.0L + shift;
        } else {
            *(double *)place = i + 1.25 + shift;
        }
    }
    stats->act_checkpoint_size_with_offload = (double)NAN;
    stats->total_time = 1e-05;
    stats->sample_rate = 0.1;
    stats->fw_time = 3;
    stats->block_dp_size = 1.2345678901234567e+25;
    stats->useful_flops = 9007199254740993.0L; /* no double */
}

/* Members in the order of the document, counted from `n`. */
static void fill_layer(rk_calculon_layer_stats *layer, const char *name, int n)
{
    rk_calculon_phase_stats *phases[] = {&layer->fw, &layer->agrad, &layer->wgrad, &layer->optim};
    rk_calculon_comm_stats *comms[] = {layer->fw_tp, layer->bw_tp, layer->recomm};
    double *spaces[] = {&layer->weight, &layer->activation, &layer->weight_grad,
                        &layer->activation_grad, &layer->optimizer};
    layer->name = name;
    layer->inputs_size = ++n;
    layer->outputs_size = ++n;
    for (int i = 0; i < 4; i++) {
        double *phase[] = {&phases[i]->flops, &phases[i]->mem_accessed,
                           &phases[i]->arithmetic_intensity, &phases[i]->processing_time};
        for (int j = 0; j < 4; j++) {
            *phase[j] = ++n + 0.5;
        }
        for (int j = 0; i < 3 && j < 8; j++) {
            rk_calculon_comm_stats *comm = &comms[i][j % 2];
            double *parts[] = {&comm->tile, &comm->size, &comm->time, &comm->time_exposed};
            *parts[j / 2] = ++n + 0.5;
        }
    }
    for (int i = 0; i < 5; i++) {
        *spaces[i] = ++n + 0.5;
    }
}

static rk_calculon_result results[2];

static int set_up(void **state)
{
    static scratch s;
    for (int i = 0; i < 2; i++) {
        results[i].exe = some_exe;
        fill_stats(&results[i].stats, i);
        fill_layer(&results[0].layers[i], i ? "Second" : "First", 100 * i);
    }
    *state = &s;
    return scratch_make(&s) ? 0 : -1;
}

static int tear_down(void **state)
{
    scratch_remove(*state);
    return 0;
}

static rk_out *open_out(scratch *s)
{
    rk_out *out;
    rk_error err;
    assert_int_equal(rk_out_open(scratch_path(s, "out"), &out, &err), RK_OK);
    return out;
}

/* Closes the output and compares it with a golden file. */
static void close_and_compare(scratch *s, rk_out *out, const char *golden)
{
    char path[1024];
    size_t size, golden_size;
    rk_error err;
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    (void)snprintf(path, sizeof(path), "%s/%s", GOLDEN, golden);
    char *ours = scratch_read(scratch_path(s, "out"), &size);
    char *theirs = scratch_read(path, &golden_size);
    assert_non_null(ours);
    assert_non_null(theirs);
    assert_string_equal(ours, theirs);
    assert_int_equal(size, golden_size);
    free(theirs);
    free(ours);
}

static void test_stats(void **state)
{
    rk_out *out = open_out(*state);
    results[0].layer_count = 2;
    rk_calculon_write_stats(out, true, &results[0]);
    close_and_compare(*state, out, "stats.json");
}

static void test_ranked(void **state)
{
    rk_out *out = open_out(*state);
    results[0].layer_count = 0;
    rk_calculon_write_ranked(out, true, results, 2);
    close_and_compare(*state, out, "ranked.json");

    out = open_out(*state);
    results[0].layer_count = 2;
    rk_calculon_write_ranked(out, false, results, 1);
    close_and_compare(*state, out, "ranked_line.json");
}

static void test_empty_ranked(void **state)
{
    scratch *s = *state;
    rk_error err;
    size_t size;
    for (int indented = 0; indented < 2; indented++) {
        rk_out *out = open_out(s);
        rk_calculon_write_ranked(out, indented, NULL, 0);
        assert_int_equal(rk_out_close(out, &err), RK_OK);
        char *text = scratch_read(s->path, &size);
        assert_string_equal(text, "{}");
        free(text);
    }
}

static void test_csv(void **state)
{
    scratch *s = *state;
    rk_error err;
    size_t size;
    rk_out *out = open_out(s);
    rk_calculon_write_csv_header(out, true);
    rk_calculon_write_csv_row(out, true, 0, &results[0]);
    rk_calculon_write_csv_row(out, true, 1, &results[1]);
    close_and_compare(s, out, "table.csv");

    /* Without the index, lines are the same but for the first cell. */
    char *indexed = scratch_read(scratch_path(s, "out"), &size);
    out = open_out(s);
    rk_calculon_write_csv_header(out, false);
    rk_calculon_write_csv_row(out, false, 7, &results[0]);
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    char *plain = scratch_read(scratch_path(s, "out"), &size);
    const char *rest = plain, *line = indexed;
    for (int i = 0; i < 2; i++) {
        line = strchr(line, ',') + 1;
        const size_t length = strcspn(line, "\n") + 1;
        assert_memory_equal(rest, line, length);
        rest += length;
        line += length;
    }
    assert_string_equal(rest, "");
    free(plain);
    free(indexed);
}

static void test_peers(void **state)
{
    rk_calculon_exe exe = some_exe;
    rk_out *out = open_out(*state);
    exe.tensor_par = 2;
    exe.pipeline_par = 3;
    exe.data_par = 2;
    rk_calculon_write_peers(out, true, &exe);
    close_and_compare(*state, out, "peers.json");

    exe.tensor_par = exe.data_par = 1;
    out = open_out(*state);
    rk_calculon_write_peers(out, false, &exe);
    close_and_compare(*state, out, "peers_line.json");
}

static void test_stat_text(void **state)
{
    rk_calculon_stats stats = {0};
    rk_calculon_exe exe = some_exe;
    char text[RK_STAT_TEXT_SIZE];
    const rk_stat_field *flops = NULL;
    (void)state;
    for (int i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        if (rk_calculon_stat_fields[i].kind == RK_STAT_LONG) {
            flops = &rk_calculon_stat_fields[i];
        }
    }
    assert_non_null(flops);
    assert_string_equal(flops->name, "useful_flops");
    exe.training = true; /* a float, as Python writes it */
    stats.useful_flops = 1.0L;
    assert_string_equal(rk_calculon_stat_text(&exe, &stats, flops, text), "1.0");
    stats.useful_flops = 1e16L;
    assert_string_equal(rk_calculon_stat_text(&exe, &stats, flops, text), "1e+16");
    exe.training = false; /* an integer */
    exe.tensor_par = 1;
    stats.useful_flops = 1e16L;
    assert_string_equal(rk_calculon_stat_text(&exe, &stats, flops, text), "10000000000000000");
    stats.useful_flops = 0.5L;
    assert_string_equal(rk_calculon_stat_text(&exe, &stats, flops, text), "0.5");
    stats.useful_flops = 9223372036854775807.0L;
    assert_string_equal(rk_calculon_stat_text(&exe, &stats, flops, text), "9223372036854775807");
    stats.useful_flops = 1e30L;
    assert_string_equal(rk_calculon_stat_text(&exe, &stats, flops, text), "1e+30");
    stats.useful_flops = -(long double)INFINITY;
    assert_string_equal(rk_calculon_stat_text(&exe, &stats, flops, text), "-Infinity");
    stats.useful_flops = (long double)NAN;
    assert_string_equal(rk_calculon_stat_text(&exe, &stats, flops, text), "null");
    assert_true(isnan(rk_calculon_stat_value(&stats, flops)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats),        cmocka_unit_test(test_ranked),
        cmocka_unit_test(test_empty_ranked), cmocka_unit_test(test_csv),
        cmocka_unit_test(test_peers),        cmocka_unit_test(test_stat_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
