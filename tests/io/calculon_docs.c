/* SPDX-License-Identifier: Apache-2.0 */
/* The three Calculon documents: what is read, and every class of fault that is refused. */
#include "calculon/calculon_docs.h"
#include "base/units.h"
#include "calculon/execution.h"
#include "io/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char app_text[] =
    "{\"hidden\": 64, \"feedforward\": 256, \"seq_size\": 128, \"attn_heads\": 4,"
    " \"attn_size\": 16, \"num_blocks\": 8}";

static const char sys_text[] =
    "{\"matrix\": {\"float16\": {\"tflops\": 312, \"gflops_efficiency\": [[128, 0.99], [0, 0.3]]},"
    "              \"float8\": {\"tflops\": 78.5, \"gflops_efficiency\": [[0, 1]]}},"
    " \"vector\": {\"float16\": {\"tflops\": 78, \"gflops_efficiency\": [[0.1, 0.9], [-1, 0.7]]}},"
    " \"mem1\": {\"GiB\": 80, \"GBps\": 1935, \"MB_efficiency\": [[0, 0.3], [100, 0.9]]},"
    " \"mem2\": {\"GiB\": 0.5, \"GBps\": 0, \"MB_efficiency\": []},"
    " \"processing_mode\": \"roofline\","
    " \"networks\": ["
    "  {\"bandwidth\": 300, \"efficiency\": 0.65, \"size\": 8, \"latency\": 1e-05,"
    "   \"ops\": {\"p2p\": [1.0, null], \"reduce_scatter\": [1.0, -1], \"all_gather\": [1.25, 0.5],"
    "            \"all_reduce\": [2, 1, \"spare\"]},"
    "   \"must_be_filled\": true, \"processor_usage\": 0.15},"
    "  {\"bandwidth\": 25.5, \"efficiency\": 1, \"size\": 65536, \"latency\": 0,"
    "   \"ops\": {\"p2p\": [1.0, null], \"reduce_scatter\": [1, 0], \"all_gather\": [1, 0],"
    "            \"all_reduce\": [1, 0]},"
    "   \"must_be_filled\": false, \"processor_usage\": 0}]}";

static const char exe_text[] =
    "{\"num_procs\": 32, \"tensor_par\": 4, \"pipeline_par\": 2, \"data_par\": 4,"
    " \"tensor_par_net\": 0, \"pipeline_par_net\": 1, \"data_par_net\": 1, \"batch_size\": 48,"
    " \"microbatch_size\": 3, \"datatype\": \"bfloat16\", \"fused_activation\": true,"
    " \"attention_type\": \"multiquery\", \"activation_recompute\": \"attn_only\","
    " \"pipeline_interleaving\": 2, \"optimizer_sharding\": true,"
    " \"tensor_par_comm_type\": \"rs_ag\", \"tensor_par_overlap\": \"ring\","
    " \"seq_par_ag_redo\": true, \"data_par_overlap\": true, \"weight_offload\": false,"
    " \"activations_offload\": true, \"optimizer_offload\": true, \"training\": true}";

/*
 * Puts `text` (JSON; NULL removes) at a path like "networks[1].ops.p2p[0]" of a document.  Members
 * may be new, elements not; "[n]" one past the end appends.
 */
static void edit(json_t *root, const char *path, const char *text)
{
    json_t *at = root, *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    char key[64] = "";
    assert_true(!text || value);
    for (const char *p = path; *p;) {
        const size_t length = *p == '[' ? strcspn(p, "]") + 1 : strcspn(p, ".[");
        const bool last = p[length] == '\0';
        (void)snprintf(key, sizeof(key), "%.*s", (int)length, p);
        if (*p == '[') {
            const size_t index = (size_t)strtoul(p + 1, NULL, 10);
            if (last) {
                assert_int_equal(index < json_array_size(at) ? json_array_set_new(at, index, value)
                                                             : json_array_append_new(at, value),
                                 0);
            }
            at = json_array_get(at, index);
        } else {
            if (last) {
                assert_int_equal(
                    text ? json_object_set_new(at, key, value) : json_object_del(at, key), 0);
            }
            at = json_object_get(at, key);
        }
        assert_true(last || at);
        p += length + (p[length] == '.');
    }
}

/* An edit of a good document that makes it bad, and where and how that is reported. */
typedef struct bad_edit {
    const char *path, *text; /* as edit() takes them */
    const char *at;          /* path of the error; NULL: the path of the edit */
    const char *says;        /* part of the message */
} bad_edit;

typedef rk_status reader(const json_t *root, rk_error *err);

static rk_status read_app(const json_t *root, rk_error *err)
{
    rk_calculon_app app;
    return rk_calculon_app_from_json(root, false, &app, err);
}

static rk_status read_sys(const json_t *root, rk_error *err)
{
    static rk_calculon_sys sys;
    return rk_calculon_sys_from_json(root, false, &sys, err);
}

static rk_status read_exe(const json_t *root, rk_error *err)
{
    rk_calculon_exe exe;
    return rk_calculon_exe_from_json(root, &exe, err);
}

static json_t *parse(const char *text)
{
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    return root;
}

static void check_refusals(const char *good, reader *read, const bad_edit *cases, size_t count)
{
    rk_error err;
    for (size_t i = 0; i < count; i++) {
        json_t *root = parse(good);
        assert_int_equal(read(root, &err), RK_OK);
        edit(root, cases[i].path, cases[i].text);
        if (read(root, &err) != RK_ERR_INVALID) {
            fail_msg("%s = %s is not refused", cases[i].path, cases[i].text);
        }
        assert_string_equal(err.path, cases[i].at ? cases[i].at : cases[i].path);
        if (!strstr(err.message, cases[i].says)) {
            fail_msg("%s = %s: %s", cases[i].path, cases[i].text, err.message);
        }
        json_decref(root);
    }
}

static void test_app_faults(void **state)
{
    static const bad_edit cases[] = {
        {"hidden", NULL, "", "\"hidden\" is missing: expected an integer from 1 to"},
        {"num_blocks", NULL, "", "\"num_blocks\" is missing"},
        {"hidden", "0", NULL, "from 1 to 1099511627776, found 0"},
        {"hidden", "-64", NULL, "found -64"},
        {"hidden", "1099511627777", NULL, "found 1099511627777"},
        {"hidden", "8.0", NULL, "expected an integer from 1 to 1099511627776, found a real 8.0"},
        {"hidden", "true", NULL, "found true"},
        {"hidden", "\"64\"", NULL, "found a string \"64\""},
        {"hidden", "null", NULL, "found null"},
        {"hidden", "[64]", NULL, "found an array"},
        {"hiden", "64", NULL, "did you mean \"hidden\"?"},
        {"dropout", "1", NULL, "the keys are hidden, feedforward, seq_size"},
    };
    (void)state;
    check_refusals(app_text, read_app, cases, COUNT(cases));
}

static void test_sys_faults(void **state)
{
    static const bad_edit cases[] = {
        {"matrix", NULL, "", "\"matrix\" is missing"},
        {"mem2", NULL, "", "\"mem2\" is missing"},
        {"networks", NULL, "", "\"networks\" is missing"},
        {"matrix", "[]", NULL, "expected an object, found an array"},
        {"matrix.float16.tflops", NULL, "matrix.float16", "\"tflops\" is missing"},
        {"matrix.float16.tflops", "-1", NULL, "(TFLOP/s), found -1"},
        {"matrix.float16.tflops", "1e13", NULL, "found a real"},
        {"matrix.float64", "{}", NULL, "the keys are float8, float16, bfloat16, float32"},
        {"matrix.float16.gflops_efficiency", "0.9", NULL, "a list of [threshold, efficiency]"},
        {"matrix.float16.gflops_efficiency[0]", "128", NULL, "expected a list [threshold, "},
        {"matrix.float16.gflops_efficiency[0]", "[128]", NULL, "a list of 1 elements"},
        {"matrix.float16.gflops_efficiency[0]", "[128, 1, 1]", NULL, "a list of 3 elements"},
        {"matrix.float16.gflops_efficiency[0][1]", "0", NULL, "above 0 and at most 1, found 0"},
        {"matrix.float16.gflops_efficiency[0][1]", "1.01", NULL, "found a real 1.01"},
        {"matrix.float16.gflops_efficiency[0][0]", "\"128\"", NULL, "found a string"},
        {"matrix.float16.gflops_efficiency[1][0]", "128", "matrix.float16.gflops_efficiency[1]",
         "thresholds must fall"},
        {"matrix.float8.gflops_efficiency[0][1]", "2", NULL, "found 2"}, /* unused is checked too */
        {"vector.float16.gflops_efficiency[2]", "[-0.5, 0.7]", NULL, "thresholds must fall"},
        {"mem1.GiB", "-1", NULL, "found -1"},
        {"mem1.GBps", "-1", NULL, "found -1"},
        {"mem1.GBps", "false", NULL, "found false"},
        {"mem1.MB_efficiency[1][1]", "1.5", NULL, "found a real 1.5"},
        {"mem1.gib", "80", NULL, "did you mean \"GiB\"?"},
        {"processing_mode", "\"rooflin\"", NULL, "did you mean \"roofline\"?"},
        {"processing_mode", "\"both\"", NULL, "expected \"roofline\" or \"no_overlap\""},
        {"processing_mode", "1", NULL, "found 1"},
        {"networks", "{}", NULL, "expected a list of network tiers, found an object"},
        {"networks", "[]", NULL, "1 to 16 network tiers, found 0"},
        {"networks[1]", "7", NULL, "expected an object, found 7"},
        {"networks[1].bandwidth", "0", NULL, "above 0 and"},
        {"networks[1].efficiency", "0", NULL, "above 0 and"},
        {"networks[1].size", "-1", NULL, "found -1"},
        {"networks[1].size", "8.0", NULL, "expected an integer from 0"},
        {"networks[1].latency", "-1e-06", NULL, "found a real -1e-06"},
        {"networks[1].must_be_filled", "1", NULL, "expected true or false, found 1"},
        {"networks[1].processor_usage", "1", NULL, "and below 1, found 1"},
        {"networks[1].bandwith", "25", NULL, "did you mean \"bandwidth\"?"},
        {"networks[1].name", "\"InfiniBand\"", NULL, "unknown key \"name\""},
        {"networks[1].ops.broadcast", "[1, 0]", NULL, "unknown key \"broadcast\""},
        {"networks[1].ops.p2p", NULL, "networks[1].ops", "\"p2p\" is missing"},
        {"networks[1].ops.p2p[1]", "0", NULL, "must be null, found 0"},
        {"networks[1].ops.p2p[0]", "0", NULL, "above 0 and"},
        {"networks[1].ops.all_gather", "[1]", NULL, "[scalar, offset], found a list of 1"},
        {"networks[1].ops.all_gather[0]", "-1", NULL, "found -1"},
        {"networks[1].ops.all_gather[1]", "null", NULL, "found null"},
        {"networks[1].ops.all_gather[1]", "-2.5", NULL, "from -2 to"},
        {"networks[1].bandwidth", "1e-300", "networks[1]", "less than 1"},
        {"networks[1].efficiency", "1e-300", "networks[1]", "less than 1"},
        {"mem1.GBps", "1e-300", "mem1.MB_efficiency[0]", "less than 1"},
        {"vector.float16.gflops_efficiency[1][1]", "1e-300", "vector.float16.gflops_efficiency[1]",
         "less than 1"},
        {"system", "1", NULL, "unknown key \"system\""},
    };
    (void)state;
    check_refusals(sys_text, read_sys, cases, COUNT(cases));
}

static void test_exe_faults(void **state)
{
    static const bad_edit cases[] = {
        {"training", NULL, "", "\"training\" is missing: expected true or false"},
        {"name", "\"best\"", NULL, "unknown key \"name\""},
        {"num_procs", "0", NULL, "from 1 to 2147483648"},
        {"num_procs", "32.0", NULL, "found a real 32.0"},
        {"num_procs", "24", NULL, "data_par is 32, but num_procs is 24"},
        {"tensor_par", "2147483648", "num_procs", "is 17179869184, but num_procs is 32"},
        {"tensor_par_net", "-1", NULL, "from 0 to 15"},
        {"tensor_par_net", "16", NULL, "found 16"},
        {"batch_size", "50", NULL, "50 is not a multiple of data_par 4; the nearest is 52"},
        {"batch_size", "49", NULL, "the nearest is 48"},
        {"batch_size", "1", NULL, "the nearest is 4"},
        {"microbatch_size", "8", NULL,
         "data_par is 12, which is not a multiple of microbatch_size 8"},
        {"microbatch_size", "1099511627776", NULL, "; 4 would do"},
        {"datatype", "8", NULL, "expected \"float8\", \"float16\", \"bfloat16\" or"},
        {"fused_activation", "1", NULL, "expected true or false"},
        {"attention_type", "\"grouped\"", NULL, "expected \"multihead\" or \"multiquery\""},
        {"activation_recompute", "\"attn\"", NULL, "expected"},
        {"pipeline_interleaving", "0", NULL, "found 0"},
        {"tensor_par_comm_type", "\"rs-ag\"", NULL, "did you mean \"rs_ag\"?"},
        {"activation_recompute", "\"full\"", "seq_par_ag_redo", "full recomputation"},
        {"tensor_par_comm_type", "\"ar\"", "seq_par_ag_redo", "\"rs_ag\""},
        {"training", "false", "activation_recompute", "needs training"},
    };
    (void)state;
    check_refusals(exe_text, read_exe, cases, COUNT(cases));
}

/* Rules that take two edits: the first keeps the document good. */
static void test_exe_rules(void **state)
{
    static const struct {
        const char *first[2], *second[2], *third[2]; /* path and text each; third is the bad one */
        const char *at, *says;
    } cases[] = {
        {{"num_procs", "16"}, {"pipeline_interleaving", "1"}, {"pipeline_par", "1"}, NULL, NULL},
        {{"num_procs", "16"},
         {"pipeline_par", "1"},
         {"pipeline_interleaving", "2"},
         "pipeline_interleaving",
         "interleaving needs pipeline_par above 1; use 1 without pipeline parallelism"},
        {{"num_procs", "8"},
         {"data_par_overlap", "false"},
         {"data_par", "1"},
         "optimizer_sharding",
         "sharding the optimizer needs data_par above 1; use false"},
        {{"num_procs", "8"},
         {"optimizer_sharding", "false"},
         {"data_par", "1"},
         "data_par_overlap",
         "overlap of gradients needs data_par above 1; use false"},
        {{"num_procs", "8"},
         {"tensor_par", "1"},
         {"tensor_par_overlap", "\"pipe\""},
         "tensor_par_overlap",
         "overlap needs tensor_par above 1; use \"none\" without tensor parallelism"},
        {{"activation_recompute", "\"none\""},
         {"optimizer_offload", "false"},
         {"training", "false"},
         "data_par_overlap",
         "overlap of gradients needs training; use false for inference"},
        {{"activation_recompute", "\"none\""},
         {"data_par_overlap", "false"},
         {"training", "false"},
         "optimizer_offload",
         "inference has no optimizer to offload; use false"},
    };
    rk_error err;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *root = parse(exe_text);
        edit(root, cases[i].first[0], cases[i].first[1]);
        edit(root, cases[i].second[0], cases[i].second[1]);
        edit(root, cases[i].third[0], cases[i].third[1]);
        if (!cases[i].at) {
            assert_int_equal(read_exe(root, &err), RK_OK);
        } else {
            assert_int_equal(read_exe(root, &err), RK_ERR_INVALID);
            assert_string_equal(err.path, cases[i].at);
            assert_non_null(strstr(err.message, cases[i].says));
        }
        json_decref(root);
    }
}

/* Mappings built in memory are checked as documents are. */
static void test_exe_check(void **state)
{
    rk_calculon_exe exe;
    rk_error err;
    json_t *root = parse(exe_text);
    (void)state;
    assert_int_equal(rk_calculon_exe_from_json(root, &exe, &err), RK_OK);
    json_decref(root);
    assert_int_equal(rk_calculon_exe_check(&exe, &err), RK_OK);
    exe.data_par = 0;
    assert_int_equal(rk_calculon_exe_check(&exe, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "data_par");
    exe.data_par = INT64_MAX;
    assert_int_equal(rk_calculon_exe_check(&exe, &err), RK_ERR_INVALID);
    exe.data_par = 4;
    exe.activation_recompute = (rk_recompute)7;
    assert_int_equal(rk_calculon_exe_check(&exe, &err), RK_ERR_INVALID);
    exe.activation_recompute = RK_RECOMPUTE_NONE;
    assert_int_equal(rk_calculon_exe_check(&exe, &err), RK_OK);
    assert_int_equal(rk_calculon_exe_check(&exe, NULL), RK_OK);
}

/* An unknown datatype is read; the evaluation refuses it, but names a misfit network first. */
static void test_exe_unknown_datatype(void **state)
{
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_exe exe;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_error err;
    json_t *root = parse(exe_text);
    (void)state;
    assert_int_equal(json_object_set_new(root, "datatype", json_string("float64")), 0);
    assert_int_equal(rk_calculon_exe_from_json(root, &exe, &err), RK_OK);
    json_decref(root);
    assert_true(exe.datatype == RK_DATATYPE_UNKNOWN);
    assert_int_equal(rk_calculon_app_load("megatron-1T", false, &app, &err), RK_OK);
    assert_int_equal(rk_calculon_sys_load("a100_80g", false, &sys, &err), RK_OK);
    sys.networks[0].size = sys.networks[1].size = 1 << 20;
    sys.networks[0].must_be_filled = false;
    assert_int_equal(rk_calculon_evaluate(&app, &sys, &exe, &stats, NULL, NULL, &verdict, &err),
                     RK_ERR_INVALID);
    assert_string_equal(err.path, "datatype");
    sys.networks[0].size = sys.networks[1].size = 1;
    assert_int_equal(rk_calculon_evaluate(&app, &sys, &exe, &stats, NULL, NULL, &verdict, &err),
                     RK_OK);
    assert_int_equal(verdict.verdict, RK_NETWORK_TOO_SMALL);

    /* It is refused before the blocks of a processor are counted. */
    sys.networks[0].size = sys.networks[1].size = 1 << 20;
    exe.optimizer_offload = true;
    app.num_blocks = 2;
    assert_int_equal(rk_calculon_evaluate(&app, &sys, &exe, &stats, NULL, NULL, &verdict, &err),
                     RK_ERR_INVALID);
    assert_string_equal(err.path, "datatype");
}

static void test_lenient(void **state)
{
    rk_calculon_app app;
    static rk_calculon_sys sys;
    rk_error err;
    json_t *root = parse(app_text);
    (void)state;
    edit(root, "hiden", "1");
    assert_int_equal(rk_calculon_app_from_json(root, true, &app, &err), RK_OK);
    edit(root, "hidden", NULL);
    assert_int_equal(rk_calculon_app_from_json(root, true, &app, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "hiden");
    json_decref(root);

    root = parse(sys_text);
    edit(root, "price", "1");
    edit(root, "mem1.kind", "\"HBM\"");
    edit(root, "matrix.float16.sparse", "false");
    assert_int_equal(rk_calculon_sys_from_json(root, true, &sys, &err), RK_OK);
    edit(root, "networks[0].kind", "1");
    assert_int_equal(rk_calculon_sys_from_json(root, true, &sys, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "networks[0].kind");
    json_decref(root);

    root = parse(app_text); /* remarks pass without leniency too */
    edit(root, "source", "\"a paper\"");
    assert_int_equal(rk_calculon_app_from_json(root, false, &app, &err), RK_OK);
    json_decref(root);
}

/* Lists that are too long for the structs. */
static void test_sys_limits(void **state)
{
    static rk_calculon_sys sys;
    char path[64], step[64];
    rk_error err;
    json_t *root = parse(sys_text);
    (void)state;
    for (int i = 2; i <= RK_CURVE_MAX; i++) {
        assert_int_equal(rk_calculon_sys_from_json(root, false, &sys, &err), RK_OK);
        assert_int_equal(sys.mem1.curve.count, i);
        (void)snprintf(path, sizeof(path), "mem1.MB_efficiency[%d]", i);
        (void)snprintf(step, sizeof(step), "[%d, 0.5]", i);
        edit(root, path, step);
    }
    assert_int_equal(rk_calculon_sys_from_json(root, false, &sys, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "at most 64 steps, and this one has 65"));
    json_decref(root);

    root = parse(sys_text);
    json_t *tiers = json_object_get(root, "networks");
    for (int i = 2; i <= RK_NETWORK_MAX; i++) {
        assert_int_equal(rk_calculon_sys_from_json(root, false, &sys, &err), RK_OK);
        assert_int_equal(sys.network_count, i);
        assert_int_equal(json_array_append(tiers, json_array_get(tiers, 0)), 0);
    }
    assert_int_equal(rk_calculon_sys_from_json(root, false, &sys, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "1 to 16 network tiers, found 17"));
    json_decref(root);
}

/* Units are applied in the published order, so that results agree to the last bit. */
static void test_sys_values(void **state)
{
    static rk_calculon_sys sys;
    rk_error err;
    json_t *root = parse(sys_text);
    (void)state;
    edit(root, "matrix.float16.gflops_efficiency[2]", "[7, 0.5]"); /* after zero: not compared */
    assert_int_equal(rk_calculon_sys_from_json(root, false, &sys, &err), RK_OK);
    json_decref(root);

    const rk_calculon_engine *engine = &sys.matrix[RK_FLOAT16];
    assert_true(engine->present && sys.matrix[RK_FLOAT8].present && sys.vector[1].present);
    assert_false(sys.matrix[RK_BFLOAT16].present || sys.vector[RK_FLOAT8].present);
    assert_true(engine->peak == 312e12 && engine->curve.count == 3);
    assert_true(engine->curve.threshold[0] == 128e9 && engine->curve.rate[0] == 312e12 * 0.99);
    assert_true(engine->curve.threshold[1] == 0 && engine->curve.rate[1] == 312e12 * 0.3);
    assert_true(sys.vector[RK_FLOAT16].curve.threshold[0] == 0.1 * 1e9);
    assert_true(sys.vector[RK_FLOAT16].curve.threshold[1] == -1e9);
    assert_true(sys.mem1.capacity == 85899345920.0 && sys.mem2.capacity == 536870912.0);
    assert_true(sys.mem1.curve.threshold[1] == 100e6);
    assert_true(sys.mem1.curve.rate[1] == 1935e9 * 0.9);
    assert_int_equal(sys.mem2.curve.count, 0);
    assert_true(sys.roofline);

    assert_int_equal(sys.network_count, 2);
    const rk_calculon_network *net = &sys.networks[0];
    assert_true(net->bandwidth == 300e9 && net->efficiency == 0.65 && net->size == 8);
    assert_true(net->latency == 1e-05 && net->must_be_filled && net->processor_usage == 0.15);
    assert_true(net->scalar[RK_P2P] == 1 && net->offset[RK_P2P] == 0);
    assert_true(net->scalar[RK_REDUCE_SCATTER] == 1 && net->offset[RK_REDUCE_SCATTER] == -1);
    assert_true(net->scalar[RK_ALL_GATHER] == 1.25 && net->offset[RK_ALL_GATHER] == 0.5);
    assert_true(net->scalar[RK_ALL_REDUCE] == 2 && net->offset[RK_ALL_REDUCE] == 1);
    assert_true(sys.networks[1].bandwidth == 25.5e9 && !sys.networks[1].must_be_filled);
}

static void test_exe_round_trip(void **state)
{
    rk_calculon_exe exe, again;
    rk_error err;
    json_t *root = parse(exe_text);
    (void)state;
    assert_int_equal(rk_calculon_exe_from_json(root, &exe, &err), RK_OK);
    assert_true(exe.num_procs == 32 && exe.microbatch_size == 3 && exe.datatype == RK_BFLOAT16);
    assert_true(exe.tensor_par_overlap == RK_OVERLAP_RING && exe.seq_par_ag_redo);
    assert_true(exe.activations_offload && !exe.weight_offload && exe.training);

    json_t *written = rk_calculon_exe_to_json(&exe);
    assert_true(json_equal(root, written));
    assert_int_equal(rk_calculon_exe_from_json(written, &again, &err), RK_OK);
    assert_memory_equal(&exe, &again, sizeof(exe)); /* both zeroed before they are filled */

    /* Keys come out in the published order, which is that of the text above. */
    void *a = json_object_iter(root), *b = json_object_iter(written);
    for (; a && b; a = json_object_iter_next(root, a), b = json_object_iter_next(written, b)) {
        assert_string_equal(json_object_iter_key(a), json_object_iter_key(b));
    }
    assert_true(!a && !b);
    json_decref(written);
    json_decref(root);
}

static void test_catalogue_documents(void **state)
{
    static rk_calculon_sys sys;
    rk_calculon_app app;
    rk_error err;
    int apps = 0, systems = 0;
    (void)state;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        const rk_catalogue_entry *entry = &rk_catalogue[i];
        if (strcmp(entry->kind, "calculon/applications") == 0) {
            assert_int_equal(rk_calculon_app_load(entry->name, false, &app, &err), RK_OK);
            apps++;
        } else if (strcmp(entry->kind, "calculon/systems") == 0) {
            assert_int_equal(rk_calculon_sys_load(entry->name, false, &sys, &err), RK_OK);
            systems++;
        }
    }
    assert_true(apps >= 25 && systems >= 26);

    assert_int_equal(rk_calculon_app_load("gpt3-175B", false, &app, &err), RK_OK);
    assert_true(app.hidden == 12288 && app.feedforward == 49152 && app.seq_size == 2048);
    assert_true(app.attn_heads == 96 && app.attn_size == 128 && app.num_blocks == 96);
    assert_int_equal(rk_calculon_sys_load("gpt3-175B", false, &sys, &err), RK_ERR_INVALID);
    assert_int_equal(rk_calculon_exe_load("gpt3-175B", &(rk_calculon_exe){0}, &err),
                     RK_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_app_faults),
        cmocka_unit_test(test_sys_faults),
        cmocka_unit_test(test_exe_faults),
        cmocka_unit_test(test_exe_rules),
        cmocka_unit_test(test_exe_check),
        cmocka_unit_test(test_exe_unknown_datatype),
        cmocka_unit_test(test_lenient),
        cmocka_unit_test(test_sys_limits),
        cmocka_unit_test(test_sys_values),
        cmocka_unit_test(test_exe_round_trip),
        cmocka_unit_test(test_catalogue_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
