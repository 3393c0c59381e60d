/* SPDX-License-Identifier: Apache-2.0 */
/* Measured tables: what they change, what they leave, and the documents that name them. */
#include "machine.h"

#include "../io/scratch.h"
#include "system/measured.h"
#include "system/system_doc.h"

/* Of the logarithm at a node that one kernel is on, after two passes. */
static const double taken = 1 - 0.03 / 1.03 * 0.03 / 1.03;

static rk_measured_kernel gemm(double M, double N, double K)
{
    return (rk_measured_kernel){
        .kind = RK_KERNEL_GEMM,
        .gemm = {.precision = RK_BF16, .batch = 1, .M = M, .N = N, .K = K},
    };
}

static rk_measured_kernel attention(double seq, double heads, double size)
{
    return (rk_measured_kernel){
        .kind = RK_KERNEL_ATTENTION,
        .attention = {.flops = 4 * heads * seq * seq * size,
                      .seq = seq,
                      .heads = heads,
                      .qk_size = size},
    };
}

/* The kernel as if it took `ratio` of what the model says. */
static rk_measured_kernel taking(const rk_system *s, rk_measured_kernel k, double ratio)
{
    k.seconds = 1;
    k.seconds = ratio / rk_measured_ratio(s, &k);
    return k;
}

static void set(rk_system *s, const rk_measured_kernel *kernels, size_t count)
{
    rk_error err;
    assert_int_equal(rk_measured_set(s, kernels, count, &err), RK_OK);
}

static double price(const rk_accelerator *a, const rk_measured_kernel *k)
{
    return k->kind == RK_KERNEL_GEMM ? rk_gemm_seconds(a, k->gemm.precision, k->gemm.batch,
                                                       k->gemm.M, k->gemm.N, k->gemm.K, 0)
                                     : rk_attention_seconds(a, &k->attention);
}

/* Price with tables over price without. */
static double change(const rk_system *s, const rk_measured_kernel *k)
{
    rk_accelerator plain = s->accelerator;
    plain.measured = NULL;
    return price(&s->accelerator, k) / price(&plain, k);
}

static void test_near_and_far(void **state)
{
    rk_system s = load_system("h100-sxm");
    const rk_measured_kernel one = taking(&s, gemm(1024, 32768, 1024), 1.5);
    (void)state;
    set(&s, &one, 1);
    assert_near(change(&s, &one), pow(1.5, taken), 1e-12);
    const rk_measured_kernel wider = gemm(2048, 32768, 1024), far = gemm(1024, 32768, 16384);
    assert_true(change(&s, &wider) > 1 && change(&s, &wider) < change(&s, &one));
    assert_near(change(&s, &far), 1, 0);
    rk_system_clear(&s);
    assert_near(change(&s, &one), 1, 0);
}

/* What was not measured is priced by the model: other formats, batches, groups, passes, heads. */
static void test_others_stay(void **state)
{
    rk_system s = load_system("h100-sxm");
    const rk_measured_kernel both[] = {taking(&s, gemm(4096, 4096, 4096), 2),
                                       taking(&s, attention(4096, 32, 128), 2)};
    rk_measured_kernel other = gemm(4096, 4096, 4096);
    const rk_accelerator *a = &s.accelerator;
    (void)state;
    const double grouped = rk_grouped_gemm_seconds(a, RK_BF16, 8, 4096, 4096, 4096, 0);
    set(&s, both, 2);
    assert_int_equal(rk_measured_count(a->measured, RK_KERNEL_GEMM), 1);
    assert_int_equal(rk_measured_count(a->measured, RK_KERNEL_ATTENTION), 1);
    assert_near(rk_grouped_gemm_seconds(a, RK_BF16, 8, 4096, 4096, 4096, 0), grouped, 0);
    other.gemm.precision = RK_FP8;
    assert_near(change(&s, &other), 1, 0);
    other.gemm.precision = RK_FP16;
    assert_near(change(&s, &other), change(&s, &both[0]), 1e-12);
    other.gemm.batch = 2;
    assert_near(change(&s, &other), 1, 0);
    other = attention(4096, 32, 128);
    assert_true(change(&s, &other) > 1.8);
    other.attention.backward = true;
    assert_near(change(&s, &other), 1, 0);
    other = attention(4096, 32, 64);
    assert_near(change(&s, &other), 1, 0);
    rk_system_clear(&s);
}

/* By operation, size, ranks and ranks of a node. */
static void test_collectives(void **state)
{
    rk_system s = load_system("dgx-h100-superpod");
    const rk_group node = rk_group_of(&s, 8, 1), rails = rk_group_of(&s, 8, 8);
    rk_measured_kernel k = {.kind = RK_KERNEL_COLLECTIVE,
                            .collective = {RK_COLL_ALL_REDUCE, 32 << 20, node}};
    const struct {
        rk_collective op;
        double bytes;
        const rk_group *group;
        bool changes;
    } cases[] = {
        {RK_COLL_ALL_REDUCE, 32 << 20, &node, true},  {RK_COLL_ALL_REDUCE, 48 << 20, &node, true},
        {RK_COLL_ALL_REDUCE, 1 << 30, &node, false},  {RK_COLL_ALL_REDUCE, 32 << 20, &rails, false},
        {RK_COLL_ALL_GATHER, 32 << 20, &node, false},
    };
    double before[5];
    (void)state;
    for (int i = 0; i < 5; i++) {
        before[i] = rk_collective_seconds(&s, cases[i].op, cases[i].bytes, cases[i].group);
    }
    k = taking(&s, k, 1.5);
    set(&s, &k, 1);
    assert_int_equal(rk_measured_count(s.accelerator.measured, RK_KERNEL_COLLECTIVE), 1);
    for (int i = 0; i < 5; i++) {
        const double now =
            rk_collective_seconds(&s, cases[i].op, cases[i].bytes, cases[i].group) / before[i];
        assert_true(cases[i].changes ? now > 1.2 && now < 1.5 : fabs(now - 1) < 1e-12);
    }
    rk_system_clear(&s);
}

static void test_groups(void **state)
{
    rk_system s = load_system("h100-sxm");
    rk_measured_kernel k = gemm(1024, 1024, 1024);
    const rk_accelerator *a = &s.accelerator;
    (void)state;
    k.gemm.grouped = true;
    k.gemm.batch = 16;
    const double before = rk_grouped_gemm_seconds(a, RK_BF16, 16, 1024, 1024, 1024, 0);
    k.seconds = 3 * before;
    set(&s, &k, 1);
    assert_near(rk_grouped_gemm_seconds(a, RK_BF16, 16, 1024, 1024, 1024, 0),
                before * pow(3, taken), 1e-12);
    const rk_measured_kernel alone = gemm(1024, 1024, 1024);
    assert_near(change(&s, &alone), 1, 0);
    rk_system_clear(&s);
}

/* Short rows of short benchmarks are compared with the model at that clock, long ones with
 * training. */
static void test_burst(void **state)
{
    rk_system s = load_system("h100-sxm");
    rk_measured_kernel k = gemm(1, 1, 1);
    const rk_accelerator fast = rk_accelerator_at_clock(&s.accelerator, RK_CLOCK_BURST);
    (void)state;
    assert_true(s.accelerator.burst > 1);
    k.gemm.clock = RK_CLOCK_BURST;
    for (double size = 512; size <= 65536; size *= 128) {
        k.gemm.M = k.gemm.N = k.gemm.K = size;
        k.seconds = price(size < 1000 ? &fast : &s.accelerator, &k);
        assert_near(rk_measured_ratio(&s, &k), 1, 0.01);
    }
    rk_system_clear(&s);
}

/* Rows of benchmarks that run for a second are compared at the clock of these. */
static void test_sustained(void **state)
{
    static const char *const names[] = {"gb200-nvl72", "h200-sxm", "a100-sxm-80gb"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rk_system s = load_system(names[i]);
        rk_measured_kernel k = gemm(8192, 8192, 8192);
        k.gemm.clock = RK_CLOCK_TRAINING;
        k.seconds = price(&s.accelerator, &k);
        const double training = rk_measured_ratio(&s, &k);
        k.gemm.clock = RK_CLOCK_SUSTAINED;
        assert_near(training, 1, 1e-12);
        assert_near(rk_measured_ratio(&s, &k), s.accelerator.sustained, 0.01);
        rk_system_clear(&s);
    }
}

/* The ratio lies among those of the rows, and moves by little with sizes. */
static void test_smooth(void **state)
{
    enum { KERNELS = 40, PLACES = 4000 };
    rk_system s = load_system("a100-sxm-80gb");
    rk_measured_kernel kernels[KERNELS];
    uint64_t r = 7;
    (void)state;
    for (int i = 0; i < KERNELS; i++) {
        const double M = random_size(&r, 256, 65536), N = random_size(&r, 256, 65536);
        const double K = random_size(&r, 256, 65536), ratio = random_size(&r, 60, 180) / 100;
        kernels[i] = taking(&s, gemm(M, N, K), ratio);
    }
    set(&s, kernels, KERNELS);
    for (int i = 0; i < PLACES; i++) {
        const double M = random_size(&r, 1, 1e6), N = random_size(&r, 1, 1e6),
                     K = random_size(&r, 1, 1e6);
        const double ratio = rk_measured_gemm(s.accelerator.measured, RK_BF16, false, M, N, K);
        assert_true(ratio >= 0.6 - 1e-9 && ratio <= 1.8 + 1e-9);
        assert_near(rk_measured_gemm(s.accelerator.measured, RK_BF16, false, M * 1.01, N, K), ratio,
                    0.03);
    }
    rk_system_clear(&s);
}

/* New tables take the place of old ones; a copy under another power limit borrows them. */
static void test_replaced(void **state)
{
    rk_system s = load_system("h100-sxm");
    const rk_measured_kernel slow = taking(&s, gemm(4096, 4096, 4096), 2);
    const rk_measured_kernel fast = taking(&s, gemm(4096, 4096, 4096), 0.5);
    (void)state;
    set(&s, &slow, 1);
    set(&s, &fast, 1);
    assert_true(change(&s, &slow) < 1);
    rk_system limited = s;
    limited.accelerator = rk_accelerator_at_power(&s.accelerator, 500);
    assert_near(change(&limited, &slow), change(&s, &slow), 1e-12);
    rk_system_clear(&s);
    for (int p = 0; p < RK_PRECISION_COUNT; p++) { /* each stays where only others are new */
        const rk_measured_kernel other = taking(&s, attention(4096, 32, 128), 2);
        rk_measured_kernel own = gemm(4096, 4096, 4096);
        s = load_system("h100-sxm");
        own.gemm.precision = (rk_precision)p;
        own.seconds = 2 * price(&s.accelerator, &own);
        if (isfinite(own.seconds)) {
            set(&s, &own, 1);
            set(&s, &other, 1);
            assert_true(change(&s, &own) > 1.5);
        }
        rk_system_clear(&s);
    }
}

static void test_limit(void **state)
{
    rk_system s = load_system("h100-sxm");
    rk_measured_kernel far[] = {attention(1, 1, 8), attention(0x1p40, 0x1p40, 4096)};
    rk_error err;
    (void)state;
    far[0].seconds = far[1].seconds = 1;
    assert_int_equal(rk_measured_set(&s, far, 2, &err), RK_ERR_LIMIT);
    assert_null(s.accelerator.measured);
}

/* ---- documents ----------------------------------------------------------------------------- */

#define GEMM_HEAD "precision,m,n,k,us\n"

static void write_text(scratch *files, const char *name, const char *text)
{
    assert_true(scratch_write(files, name, text, strlen(text)));
}

/* Loads a cluster of H100 whose member "measured" is `member`. */
static rk_status load_measured(scratch *files, const char *member, rk_system *s, rk_error *err)
{
    char text[1600];
    (void)snprintf(text, sizeof(text),
                   "{\"name\": \"c\", \"accelerator\": \"h100-sxm\", \"measured\": %s}", member);
    write_text(files, "machine.json", text);
    return rk_system_load(scratch_path(files, "machine.json"), s, err);
}

static void test_document(void **state)
{
    scratch files;
    rk_system s;
    rk_error err;
    (void)state;
    assert_true(scratch_make(&files));
    write_text(&files, "gemm.csv",
               "card,precision,m,n,k,us,module,batch\nmine,bf16,4096,4096,4096,400,0,1\n"
               "mine,bf16,4096,4096,8192,1,1,1\nmine,bf16,1024,1024,64,9,0,32\n"
               "theirs,fp16,4096,4096,4096,9000,0,1\n");
    write_text(&files, "attention.csv",
               "pass,head_size,heads,batch,seq,us,causal\nforward,128,32,1,4096,300,1\n");
    write_text(&files, "nccl.csv",
               "op,ranks,ranks_per_node,bytes,us\nall_reduce,8,8,1048576,40\n"
               "all_reduce,4,1,1048576,90\nsend,2,1,1048576,30\n");
    assert_int_equal(load_measured(&files,
                                   "{\"gemm\": {\"file\": \"gemm.csv\", \"where\": {\"card\": "
                                   "\"mine\"}}, \"attention\": \"attention.csv\", "
                                   "\"collective\": \"nccl.csv\"}",
                                   &s, &err),
                     RK_OK);
    assert_int_equal(rk_measured_count(s.accelerator.measured, RK_KERNEL_COLLECTIVE), 3);
    const rk_group rails = rk_group_of(&s, 4, 8);
    assert_near(rk_collective_seconds(&s, RK_COLL_ALL_REDUCE, 1048576, &rails), 90e-6, 0.1);
    assert_int_equal(rk_measured_count(s.accelerator.measured, RK_KERNEL_GEMM), 1);
    assert_int_equal(rk_measured_count(s.accelerator.measured, RK_KERNEL_ATTENTION), 1);
    const double now = rk_gemm_seconds(&s.accelerator, RK_BF16, 1, 4096, 4096, 4096, 0);
    assert_true(now > 330e-6 && now < 410e-6);
    rk_system_clear(&s);
    scratch_remove(&files);
}

/* Tables of the chip serve its clusters, unless a cluster has its own. */
static void test_chip_and_cluster(void **state)
{
    scratch files;
    rk_system s;
    rk_error err;
    (void)state;
    assert_true(scratch_make(&files));
    write_text(&files, "chip.csv", GEMM_HEAD "bf16,4096,4096,4096,400\n");
    write_text(&files, "attention.csv",
               "pass,head_size,heads,batch,seq,us\nforward,128,32,1,4096,600\n");
    write_text(&files, "two.csv", GEMM_HEAD "bf16,4096,4096,4096,600\nbf16,512,512,512,50\n");
    const rk_catalogue_entry *h100 = rk_catalogue_find("accelerators", "h100-sxm");
    char *text = calloc(1, h100->size + 100);
    assert_non_null(text);
    (void)snprintf(text, h100->size + 100, "{\"measured\": {\"gemm\": \"chip.csv\"}, %.*s",
                   (int)h100->size - 1, h100->text + 1);
    write_text(&files, "chip.json", text);
    free(text);

    assert_int_equal(rk_system_load(scratch_path(&files, "chip.json"), &s, &err), RK_OK);
    assert_int_equal(rk_measured_count(s.accelerator.measured, RK_KERNEL_GEMM), 1);
    rk_system_clear(&s);
    for (int own = 0; own < 3; own++) {
        char cluster[800];
        (void)snprintf(cluster, sizeof(cluster), "{\"name\": \"c\", \"accelerator\": \"%s\"%s}",
                       scratch_path(&files, "chip.json"),
                       own == 2   ? ", \"measured\": {\"attention\": \"attention.csv\"}"
                       : own == 1 ? ", \"measured\": {\"gemm\": \"two.csv\"}"
                                  : "");
        write_text(&files, "cluster.json", cluster);
        assert_int_equal(rk_system_load(scratch_path(&files, "cluster.json"), &s, &err), RK_OK);
        assert_int_equal(rk_measured_count(s.accelerator.measured, RK_KERNEL_GEMM),
                         own == 1 ? 2 : 1);
        assert_int_equal(rk_measured_count(s.accelerator.measured, RK_KERNEL_ATTENTION), own == 2);
        assert_true(rk_gemm_seconds(&s.accelerator, RK_BF16, 1, 4096, 4096, 4096, 0) > 300e-6);
        rk_system_clear(&s);
    }
    scratch_remove(&files);
}

/* An accelerator that is written out, as in sweeps, is what its document is: at lower power, too.
 */
static void test_written_out(void **state)
{
    scratch files;
    rk_system s;
    rk_error err;
    double seconds[2];
    (void)state;
    assert_true(scratch_make(&files));
    write_text(&files, "chip.csv", GEMM_HEAD "bf16,4096,4096,4096,400\n");
    const rk_catalogue_entry *h100 = rk_catalogue_find("accelerators", "h100-sxm");
    const size_t size = h100->size + 300;
    char *chip = calloc(1, size), *cluster = calloc(1, size);
    assert_true(chip && cluster);
    (void)snprintf(chip, size, "{\"measured\": {\"gemm\": \"chip.csv\"}, %.*s", (int)h100->size - 1,
                   h100->text + 1);
    write_text(&files, "chip.json", chip);
    for (int i = 0; i < 2; i++) {
        char name[300];
        (void)snprintf(name, sizeof(name), "\"%s/chip.json\"", files.folder);
        (void)snprintf(cluster, size, "{\"name\": \"c\", \"power_W\": 400, \"accelerator\": %s}",
                       i ? chip : name);
        write_text(&files, "cluster.json", cluster);
        assert_int_equal(rk_system_load(scratch_path(&files, "cluster.json"), &s, &err), RK_OK);
        seconds[i] = rk_gemm_seconds(&s.accelerator, RK_BF16, 1, 4096, 4096, 4096, 0);
        rk_system_clear(&s);
    }
    assert_true(seconds[0] > 420e-6); /* slower than measured at full power */
    assert_near(seconds[1], seconds[0], 1e-12);
    free(chip);
    free(cluster);
    scratch_remove(&files);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *member, *table, *message;
    } cases[] = {
        {"[]", "", "expected an object, found an array"},
        {"{\"gems\": \"t.csv\"}", "",
         "unknown key \"gems\"; the keys are gemm, attention, collective; did you mean \"gemm\"?"},
        {"{\"gemm\": 5}", "", "expected the name of a table, found 5"},
        {"{\"gemm\": {\"file\": \"t.csv\", \"where\": {\"m\": 5}}}", "",
         "expected the text of a cell, found 5"},
        {"{\"gemm\": {\"file\": \"t.csv\", \"where\": {\"card\": \"mine\"}}}",
         GEMM_HEAD "bf16,64,64,64,1\n", "no row of the table is a kernel that was asked for"},
        {"{\"gemm\": \"no-such\"}", "",
         "the catalogue has no measured table \"no-such\"; a file's name ends in .csv or .csv.gz"},
        {"{\"gemm\": \"gone.csv\"}", "", "cannot open: No such file or directory"},
        {"{\"gemm\": \"t.csv\"}", "precision,m,n,us\nbf16,1,1,1\n", "the column k is missing"},
        {"{\"gemm\": \"t.csv\"}", GEMM_HEAD "bf16,64,x,64,1\n",
         "row 1, column n: expected a number above 0, found \"x\""},
        {"{\"gemm\": \"t.csv\"}", GEMM_HEAD "int7,64,64,64,1\n",
         "row 1, column precision: expected one of fp32, tf32, bf16, fp16, fp8, fp4, int8, found "
         "\"int7\"; did you mean \"int8\"?"},
        {"{\"gemm\": \"t.csv\"}", GEMM_HEAD "bf16,64,64,64,0.0000001\n",
         "row 1: 1e-07 us is 3.28e-08 times what the model of this machine says: are these "
         "microseconds?"},
        {"{\"gemm\": \"t.csv\"}", GEMM_HEAD "bf16,4096,4096,4096,0.4\n",
         "row 1: 0.4 us is 0.00187 times what the model of this machine says: are these "
         "microseconds?"},
        {"{\"gemm\": \"t.csv\"}", GEMM_HEAD "bf16,1e17,64,64,1\n",
         "row 1: sizes are from 1 to 2^40, of heads and their groups to 4096"},
        {"{\"gemm\": \"t.csv\"}", GEMM_HEAD "fp4,64,64,64,5\n",
         "row 1: the machine has no rate of fp4"},
        {"{\"gemm\": \"t.csv\"}", GEMM_HEAD, "no row of the table is a kernel that was asked for"},
        {"{\"collective\": \"t.csv\"}", "op,ranks,bytes,us\nbarrier,8,64,9\n",
         "row 1, column op: expected one of all_reduce, reduce_scatter, all_gather, all_to_all, "
         "broadcast, send, scatter, gather, reduce, found \"barrier\""},
        {"{\"collective\": \"t.csv\"}", "op,ranks,bytes,us\nall_gather,1,64,9\n",
         "row 1, column ranks: expected a number of at least 2, found \"1\""},
        {"{\"collective\": \"t.csv\"}", "op,ranks,bytes,us\nall_gather,2,2e18,9\n",
         "row 1, column bytes: expected a number of at most 1e+18, found \"2e18\""},
        {"{\"collective\": \"t.csv\"}", "op,ranks,ranks_per_node,bytes,us\nall_gather,12,8,64,9\n",
         "row 1: 12 ranks are no whole number of nodes with 8 of at most 8"},
        {"{\"attention\": \"t.csv\"}", "pass,head_size,heads,batch,seq,us\nforward,9000,1,1,64,9\n",
         "row 1: sizes are from 1 to 2^40, of heads and their groups to 4096"},
        {"{\"attention\": \"t.csv\"}",
         "pass,head_size,heads,batch,seq,us\nforward,64,3e12,1,4096,9\n",
         "row 1: sizes are from 1 to 2^40, of heads and their groups to 4096"},
        {"{\"attention\": \"t.csv\"}", "pass,head_size,heads,batch,seq,us\nforward,64,1,1,3e12,9\n",
         "row 1: sizes are from 1 to 2^40, of heads and their groups to 4096"},
        {"{\"attention\": \"t.csv\"}",
         "pass,head_size,heads,batch,seq,us\nforward,4097,1,1,4096,9\n",
         "row 1: sizes are from 1 to 2^40, of heads and their groups to 4096"},
    };
    scratch files;
    (void)state;
    assert_true(scratch_make(&files));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_system s;
        rk_error err;
        char text[900];
        write_text(&files, "t.csv", cases[i].table);
        if (load_measured(&files, cases[i].member, &s, &err) == RK_OK) {
            fail_msg("case %zu was not refused", i);
        }
        assert_null(s.accelerator.measured);
        if (strcmp(err.message, cases[i].message) != 0) {
            fail_msg("case %zu: %s", i, rk_error_text(&err, text, sizeof(text)));
        }
    }
    char member[1200];
    rk_system s;
    rk_error err;
    (void)snprintf(member, sizeof(member), "{\"gemm\": \"%01100d.csv\"}", 7);
    assert_int_equal(load_measured(&files, member, &s, &err), RK_ERR_INVALID);
    assert_string_equal(err.message, "the name of the table is too long");
    scratch_remove(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_and_far), cmocka_unit_test(test_others_stay),
        cmocka_unit_test(test_groups),       cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_burst),        cmocka_unit_test(test_sustained),
        cmocka_unit_test(test_smooth),       cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_document),     cmocka_unit_test(test_chip_and_cluster),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_limit),
        cmocka_unit_test(test_written_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
