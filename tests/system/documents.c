/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of accelerators and clusters: the catalogue, and what is said about faults. */
#include "machine.h"
#include "system/system_doc.h"

/* ---- the catalogue ------------------------------------------------------------------------- */

static const char *const promised[] = {
    "v100-sxm2-32gb",
    "a100-sxm-40gb",
    "a100-sxm-80gb",
    "a100-pcie-80gb",
    "a800-sxm-80gb",
    "h100-sxm",
    "h100-pcie",
    "h800-sxm",
    "h200-sxm",
    "h20",
    "gh200",
    "b200-sxm",
    "gb200-nvl72",
    "b300-sxm",
    "gb300-nvl72",
    "mi250x",
    "mi300x",
    "mi325x",
    "mi355x",
    "tpu-v3",
    "tpu-v4",
    "tpu-v5e",
    "tpu-v5p",
    "tpu-v6e",
    "tpu-v7",
    "ascend-910a",
    "ascend-910b2",
    "ascend-910b3",
    "ascend-910c",
    "ascend-910c-package",
    "gaudi2",
    "gaudi3",
    "trainium1",
    "trainium2",
    "trainium3",
    "trn2-ultraserver",
    "selene",
    "dgx-a100-superpod",
    "dgx-h100-superpod",
    "hgx-b200-400g",
    "gb200-nvl72-pod",
    "tpu-v4-pod",
    "tpu-v5p-pod",
    "atlas-800t-a2",
    "cloudmatrix-384",
    "deepseek-v3-h800",
    "frontier",
    "perlmutter",
    "polaris",
    "alibaba-hpn",
};

static void test_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
        const rk_system system = load_system(promised[i]);
        assert_string_equal(system.name, promised[i]);
        assert_int_equal(rk_system_check(&system, NULL), RK_OK);
    }
}

/* A group holds numbers of its own; the lists and groups inside it are looked at by themselves. */
static bool holds_numbers(json_t *object)
{
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        if (json_is_number(json_object_iter_value(at))) {
            return true;
        }
    }
    return false;
}

/* Every group says where its numbers are from, and "uncertain" names keys of the group. */
static void check_sources(json_t *value, const char *where)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        check_sources(json_array_get(value, i), where);
    }
    if (!json_is_object(value)) {
        return;
    }
    if (holds_numbers(value) && json_string_length(json_object_get(value, "source")) < 5) {
        fail_msg("%s: a group of numbers without a source", where);
    }
    json_t *uncertain = json_object_get(value, "uncertain");
    for (size_t i = 0; i < json_array_size(uncertain); i++) {
        const char *key = json_string_value(json_array_get(uncertain, i));
        if (!json_object_get(value, key)) {
            fail_msg("%s: the uncertain \"%s\" is not a key of its group", where, key);
        }
    }
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        check_sources(json_object_iter_value(at), json_object_iter_key(at));
    }
}

static void test_sources(void **state)
{
    size_t count = 0;
    (void)state;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        const rk_catalogue_entry *entry = &rk_catalogue[i];
        rk_json_doc doc;
        if (strcmp(entry->kind, "accelerators") && strcmp(entry->kind, "systems")) {
            continue;
        }
        assert_int_equal(rk_json_parse(entry->text, entry->size, entry->name, &doc, NULL), RK_OK);
        assert_string_equal(json_string_value(json_object_get(doc.root, "name")), entry->name);
        assert_true(json_string_length(json_object_get(doc.root, "description")) > 5);
        check_sources(doc.root, entry->name);
        rk_json_clear(&doc);
        count++;
    }
    assert_true(count >= sizeof(promised) / sizeof(promised[0]));
}

/* ---- what is read -------------------------------------------------------------------------- */

static void test_units(void **state)
{
    const rk_system s = load_system("deepseek-v3-h800");
    const rk_accelerator *a = &s.accelerator;
    (void)state;
    assert_string_equal(a->name, "h800-sxm");
    assert_near(a->gemm[RK_BF16].peak, 989.4e12, 1e-12);
    assert_near(a->gemm[RK_FP16].peak, 989.4e12, 1e-12);
    assert_near(a->memory_usable, 79.1 * 0x1p30, 1e-12);
    assert_near(a->memory_bandwidth, 3352e9, 1e-12);
    assert_near(a->launch_seconds, 4e-6, 1e-12);
    assert_near(s.price, 2, 0);
    assert_int_equal(s.tier_count, 2);
    assert_int_equal(s.tiers[0].kind, RK_TIER_SWITCH);
    assert_near(s.tiers[0].bandwidth, 200e9, 1e-12);
    assert_near(s.tiers[0].step_latency, load_system("h800-sxm").tiers[0].step_latency, 0);
    assert_near(s.tiers[1].half_bytes, 0.5e6, 1e-12);
    assert_true(s.tiers[0].in_network_reduce);
    assert_int_equal(s.tiers[1].size, 2048);
    assert_false(load_system("a100-sxm-80gb").accelerator.gemm[RK_FP8].peak > 0);
}

/* Only v6e and later have fp8; the 8 bits of v5e and v5p are integers. */
static void test_tpu_engines(void **state)
{
    static const struct {
        const char *name;
        double fp8, int8;
    } chips[] = {{"tpu-v5e", 0, 394e12},
                 {"tpu-v5p", 0, 918e12},
                 {"tpu-v6e", 918e12, 1836e12},
                 {"tpu-v7", 4614e12, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++) {
        const rk_accelerator a = load_system(chips[i].name).accelerator;
        assert_near(a.gemm[RK_FP8].peak, chips[i].fp8, 1e-12);
        assert_near(a.gemm[RK_INT8].peak, chips[i].int8, 1e-12);
    }
}

/* A rank of Ascend 910C is a die: half of the package in everything, two in a package. */
static void test_dies(void **state)
{
    const rk_system die = load_system("ascend-910c"), package = load_system("ascend-910c-package");
    const rk_system supernode = load_system("cloudmatrix-384");
    (void)state;
    assert_near(2 * die.accelerator.gemm[RK_BF16].peak, package.accelerator.gemm[RK_BF16].peak, 0);
    assert_near(2 * die.accelerator.memory_usable, package.accelerator.memory_usable, 0);
    assert_near(2 * die.accelerator.memory_bandwidth, package.accelerator.memory_bandwidth, 0);
    assert_near(2 * die.accelerator.power, package.accelerator.power, 0);
    assert_int_equal(supernode.tiers[0].size, 768);
    for (int i = 0; i < 2; i++) {
        assert_near(2 * die.tiers[i].bandwidth, package.tiers[i].bandwidth, 0);
        assert_near(supernode.tiers[i].bandwidth, die.tiers[i].bandwidth, 0);
    }
    assert_int_equal(die.tiers[0].size, 2 * package.tiers[0].size);
}

/* Trainium 2: a torus in the node, a ring of nodes in an UltraServer; hosts hold 128 GiB a chip. */
static void test_trainium(void **state)
{
    const rk_system node = load_system("trainium2"), ultra = load_system("trn2-ultraserver");
    const rk_system third = load_system("trainium3");
    static const double rates[] = {256e9, 320e9, 128e9, 25e9};
    (void)state;
    assert_near(node.tiers[0].bandwidth, 512e9, 1e-12);
    assert_int_equal(node.tiers[0].kind, RK_TIER_TORUS);
    assert_near(ultra.tiers[1].bandwidth, 128e9, 1e-12);
    assert_int_equal(ultra.tiers[1].size, 64);
    assert_near(node.accelerator.host_capacity, 128 * 0x1p30, 1e-12);
    assert_near(node.accelerator.gemm[RK_FP32].peak, 181e12, 1e-12);
    assert_near(load_system("trainium1").accelerator.gemm[RK_FP32].peak, 47.5e12, 1e-12);
    assert_int_equal(third.tier_count, (int)(sizeof(rates) / sizeof(rates[0])));
    for (int i = 0; i < third.tier_count; i++) {
        assert_near(third.tiers[i].bandwidth, rates[i], 1e-12);
    }
}

/* One set of constants per accelerator: clusters do not repeat the tiers of its node. */
static void test_tiers_once(void **state)
{
    int clusters = 0;
    (void)state;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        const rk_catalogue_entry *entry = &rk_catalogue[i];
        rk_json_doc doc;
        if (strcmp(entry->kind, "systems")) {
            continue;
        }
        assert_int_equal(rk_json_load(entry->name, entry->kind, &doc, NULL), RK_OK);
        const rk_system node =
            load_system(json_string_value(json_object_get(doc.root, "accelerator")));
        const json_t *tiers = json_object_get(doc.root, "tiers");
        for (size_t t = 0; t < json_array_size(tiers); t++) {
            const char *name = json_string_value(json_object_get(json_array_get(tiers, t), "name"));
            for (int n = 0; name && n < node.tier_count; n++) {
                if (strcmp(name, node.tiers[n].name) == 0) {
                    fail_msg("%s repeats %s of its accelerator", entry->name, name);
                }
            }
        }
        rk_json_clear(&doc);
        clusters++;
    }
    assert_true(clusters > 10);
}

static void test_open_tier(void **state)
{
    const rk_system racks = load_system("gb200-nvl72"), nodes = load_system("h100-sxm");
    (void)state;
    assert_int_equal(nodes.tiers[1].size, 1 << 20);
    assert_int_equal(racks.tiers[1].size % 72, 0);
    assert_true(racks.tiers[1].size > 1000000);
}

/* ---- documents of users --------------------------------------------------------------------- */

#define TIERS                                                                                      \
    "\"tiers\": [{\"name\": \"in\", \"kind\": \"switch\", \"size\": 4, \"bandwidth_GBps\": 100,"   \
    " \"efficiency\": 0.8}, {\"name\": \"out\", \"kind\": \"fabric\", \"bandwidth_GBps\": 25,"     \
    " \"efficiency\": 0.9}]"
#define CHIP                                                                                       \
    "\"name\": \"chip\", \"compute\": {\"cores\": 10, \"vector_tflops\": 5}, \"gemm\": {\"bf16\":" \
    " {\"tflops\": 100}}, \"attention\": {\"forward_tflops\": 50, \"backward_tflops\": 40},"       \
    " \"memory\": {\"capacity_GB\": 16, \"usable_GiB\": 14, \"bandwidth_GBps\": 900,"              \
    " \"efficiency\": 0.8}, \"host\": {\"bandwidth_GBps\": 16, \"efficiency\": 0.8}"

static rk_status read(const char *text, rk_system *system, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_parse(text, strlen(text), "test", &doc, err);
    assert_int_equal(status, RK_OK);
    status = rk_system_from_json(doc.root, system, err);
    rk_json_clear(&doc);
    return status;
}

static void test_own_chip(void **state)
{
    rk_system s;
    rk_error err;
    (void)state;
    assert_int_equal(read("{" CHIP "," TIERS "}", &s, &err), RK_OK);
    assert_string_equal(s.name, "chip");
    assert_near(s.accelerator.burst, 1, 0);
    assert_near(s.accelerator.gemm[RK_FP16].efficiency, 0.7, 1e-12);
    assert_near(s.tiers[1].exchange_share, 1, 0);
}

static void test_cluster(void **state)
{
    rk_system s;
    rk_error err;
    (void)state;
    assert_int_equal(read("{\"name\": \"c\", \"accelerator\": \"h100-sxm\", " TIERS
                          ", \"power_W\": 500, \"host_capacity_GiB\": 100, \"launch_us\": 9}",
                          &s, &err),
                     RK_OK);
    assert_int_equal(s.tiers[0].size, 4);
    assert_near(s.accelerator.power, 500, 0);
    assert_near(s.accelerator.host_capacity, 100 * 0x1p30, 1e-12);
    assert_near(s.accelerator.launch_seconds, 9e-6, 1e-12);
    assert_int_equal(read("{\"name\": \"c\", \"accelerator\": {" CHIP "," TIERS "}}", &s, &err),
                     RK_OK);
    assert_string_equal(s.name, "c");
    assert_string_equal(s.accelerator.name, "chip");
}

#define CLUSTER(tiers) "{\"name\": \"c\", \"accelerator\": \"h100-sxm\", \"tiers\": [" tiers "]}"

static void test_tier_as(void **state)
{
    const rk_system node = load_system("h100-sxm");
    rk_system s;
    rk_error err;
    (void)state;
    assert_int_equal(read(CLUSTER("{\"as\": \"NVLink4\"}, {\"as\": \"NDR InfiniBand\", \"name\":"
                                  " \"rail\", \"bandwidth_GBps\": 25}"),
                          &s, &err),
                     RK_OK);
    assert_memory_equal(&s.tiers[0], &node.tiers[0], sizeof(rk_tier));
    assert_string_equal(s.tiers[1].name, "rail");
    assert_near(s.tiers[1].bandwidth, 25e9, 1e-12);
    assert_near(s.tiers[1].step_latency, node.tiers[1].step_latency, 0);
}

#define TIER(more)       "{\"name\": \"t\", \"bandwidth_GBps\": 1, \"efficiency\": 1, " more "}"
#define WITH_TIERS(list) "{" CHIP ", \"tiers\": [" list "]}"

#define SIDE(more)  "{\"name\": \"PCIe\", \"bandwidth_GBps\": 50, \"efficiency\": 0.5" more "}"
#define SIDES(list) "\"kind\": \"switch\", \"side_links\": [" list "]"

static void test_side_links(void **state)
{
    rk_system s;
    rk_error err;
    (void)state;
    assert_int_equal(
        read(WITH_TIERS(TIER(SIDES(SIDE("") "," SIDE(", \"latency_us\": 30")))), &s, &err), RK_OK);
    assert_int_equal(s.tiers[0].side_count, 2);
    assert_string_equal(s.tiers[0].sides[1].name, "PCIe");
    assert_near(s.tiers[0].sides[1].bandwidth, 50e9, 1e-12);
    assert_near(s.tiers[0].sides[1].efficiency, 0.5, 1e-12);
    assert_near(s.tiers[0].sides[1].latency, 30e-6, 1e-12);
    assert_near(s.tiers[0].sides[0].latency, 0, 0);
    assert_true(rk_system_use_side_links(&s));
    assert_int_equal(s.tiers[0].side_count, 2);
    s.tiers[0].sides[1].latency = 2;
    assert_int_equal(rk_system_check(&s, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "tiers[0].side_links[1].latency");
    s.tiers[0].side_count = RK_SIDE_LINK_MAX + 1;
    assert_int_equal(rk_system_check(&s, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "tiers[0].side_links");
    assert_string_equal(err.message, "expected at most 3 links, found 4");
}

/* Links of the catalogue that wait until somebody asks for them. */
static void test_idle_side_links(void **state)
{
    const rk_group node = {.size = 8, .within = {8, 8, 8, 8}};
    rk_system s;
    rk_error err;
    (void)state;
    assert_int_equal(rk_system_load("deepseek-v3-h800", &s, &err), RK_OK);
    assert_int_equal(s.tiers[0].side_count, 0);
    assert_int_equal(s.tiers[0].idle_sides, 2);
    const double alone = rk_collective_seconds(&s, RK_COLL_ALL_GATHER, 1e9, &node);
    assert_true(rk_system_use_side_links(&s));
    assert_int_equal(s.tiers[0].side_count, 2);
    assert_int_equal(s.tiers[0].idle_sides, 0);
    /* 160 GB/s and 2 x 22.5 GB/s */
    const double split = rk_collective_seconds(&s, RK_COLL_ALL_GATHER, 1e9, &node);
    assert_near(alone / split, 205. / 160, 0.02);
    rk_system_clear(&s);
    assert_int_equal(rk_system_load("h100-sxm", &s, &err), RK_OK);
    assert_false(rk_system_use_side_links(&s));
    rk_system_clear(&s);
}

static void expect_fault(const char *text, const char *path, const char *message)
{
    rk_system s;
    rk_error err;
    assert_int_equal(read(text, &s, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, path);
    if (!strstr(err.message, message)) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, message);
    }
}

static void test_faults(void **state)
{
    (void)state;
    expect_fault("{\"name\": \"x\"}", "", "\"compute\" is missing");
    expect_fault("{" CHIP "}", "", "\"tiers\" is missing");
    expect_fault(WITH_TIERS(""), "tiers", "1 to 4 tiers");
    expect_fault(WITH_TIERS(TIER("\"kind\": \"swich\"")), "tiers[0].kind",
                 "did you mean \"switch\"");
    expect_fault(WITH_TIERS(TIER("\"kind\": \"switch\", \"bandwith_GBps\": 2")),
                 "tiers[0].bandwith_GBps", "did you mean \"bandwidth_GBps\"");
    expect_fault(WITH_TIERS(TIER("\"kind\": \"switch\"") "," TIER("\"kind\": \"fabric\"")),
                 "tiers[0]", "only the last tier");
    expect_fault(WITH_TIERS(TIER("\"kind\": \"switch\", \"size\": 8") "," TIER(
                     "\"kind\": \"fabric\", \"size\": 12")),
                 "tiers[1].size", "multiple of the 8");
    expect_fault(WITH_TIERS(TIER("\"kind\": \"torus\", \"size\": 16")), "tiers[0].axes",
                 "at least 1 in a torus");
    expect_fault(WITH_TIERS(TIER("\"kind\": \"switch\", \"in_network_reduce\": true")),
                 "tiers[0].reduce_share", "above 0");
    expect_fault(WITH_TIERS(TIER("\"kind\": \"switch\", \"side_links\": {}")),
                 "tiers[0].side_links", "a list of up to 3 links");
    expect_fault(WITH_TIERS(TIER(SIDES(SIDE("") "," SIDE("") "," SIDE("") "," SIDE("")))),
                 "tiers[0].side_links", "a list of up to 3 links");
    expect_fault(WITH_TIERS(TIER(SIDES(SIDE(", \"latency_u\": 30")))),
                 "tiers[0].side_links[0].latency_u", "did you mean \"latency_us\"");
    expect_fault(WITH_TIERS(TIER(SIDES("{\"name\": \"PCIe\", \"efficiency\": 1}"))),
                 "tiers[0].side_links[0]", "\"bandwidth_GBps\" is missing");
    expect_fault(CLUSTER("{\"as\": \"NVLink5\"}"), "tiers[0]", "did you mean \"NVLink4\"");
    expect_fault(CLUSTER("{\"as\": 4, \"name\": \"t\", \"kind\": \"switch\", \"efficiency\": 1,"
                         " \"bandwidth_GBps\": 1}"),
                 "tiers[0].as", "the name of a tier");
    expect_fault(WITH_TIERS("{\"as\": \"NVLink4\"}"), "tiers[0]", "has no tier");
    expect_fault("{\"name\": \"c\", \"accelerator\": 3}", "accelerator", "a name or an object");
    expect_fault("{\"name\": \"c\", \"accelerator\": \"h100-sxm\", \"power_W\": 0}", "power_W",
                 "from 1 to 1000000000000 (W)");
    /* Numbers that no machine has, and whose times are infinite. */
    expect_fault(CLUSTER("{\"as\": \"NVLink4\", \"bandwidth_GBps\": 5e-324}"),
                 "tiers[0].bandwidth_GBps", "from 0.001 to 1000000000000 (GB/s)");
    expect_fault(CLUSTER("{\"as\": \"NVLink4\", \"efficiency\": 1e-300}"), "tiers[0].efficiency",
                 "from 0.01 to 1");
    expect_fault(CLUSTER("{\"as\": \"NVLink4\", \"exchange_share\": 0}"), "tiers[0].exchange_share",
                 "from 0.01 to 10");
    expect_fault("{\"name\": \"c\", \"accelerator\": \"h100-sxm\", \"power_W\": 1e-9}", "power_W",
                 "from 1 to 1000000000000 (W)");
    expect_fault("{\"name\": \"c\", \"accelerator\": \"h100-sxn\"}", "", "h100-sxm");
    expect_fault("{\"name\": \"\", \"accelerator\": \"h100-sxm\"}", "name", "1 to 63 characters");
}

static void test_struct_faults(void **state)
{
    rk_system s = load_system("h100-sxm");
    rk_error err;
    (void)state;
    s.accelerator.memory_efficiency = 1.5;
    assert_int_equal(rk_system_check(&s, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "accelerator.memory_efficiency");
    s.accelerator.memory_efficiency = nan("");
    assert_int_equal(rk_system_check(&s, NULL), RK_ERR_INVALID);
    s = load_system("h100-sxm");
    s.accelerator.memory_usable *= 2;
    assert_int_equal(rk_system_check(&s, &err), RK_ERR_INVALID);
    s = load_system("h100-sxm");
    memset(s.accelerator.gemm, 0, sizeof(s.accelerator.gemm));
    assert_int_equal(rk_system_check(&s, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "accelerator.gemm");
    s = load_system("h100-sxm");
    s.tier_count = 0;
    assert_int_equal(rk_system_check(&s, &err), RK_ERR_INVALID);
}

static void expect_no_system(const char *name, rk_status status, const char *message)
{
    rk_system s;
    rk_error err;
    assert_int_equal(rk_system_load(name, &s, &err), status);
    if (!strstr(err.message, message)) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, message);
    }
}

static void test_names(void **state)
{
    (void)state;
    expect_no_system("h100-smx", RK_ERR_INVALID, "did you mean \"h100-sxm\"?");
    expect_no_system("slene", RK_ERR_INVALID, "did you mean \"selene\"?");
    expect_no_system("h100-x", RK_ERR_INVALID, "h100-sxm");
    expect_no_system("", RK_ERR_INVALID, "the catalogue has no system");
    expect_no_system("nothing-like-that", RK_ERR_INVALID, "ends in .json");
    expect_no_system("absent/file.json", RK_ERR_IO, "cannot open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promised),        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_units),           cmocka_unit_test(test_open_tier),
        cmocka_unit_test(test_own_chip),        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_faults),          cmocka_unit_test(test_struct_faults),
        cmocka_unit_test(test_names),           cmocka_unit_test(test_side_links),
        cmocka_unit_test(test_idle_side_links), cmocka_unit_test(test_tier_as),
        cmocka_unit_test(test_tpu_engines),     cmocka_unit_test(test_dies),
        cmocka_unit_test(test_trainium),        cmocka_unit_test(test_tiers_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
