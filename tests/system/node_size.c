/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of another size than a document has. */
#include "machine.h"

/* Nodes of four on NVLink, of six whose pod no longer has whole ones, and of one. */
static void test_switch(void **state)
{
    (void)state;
    rk_error err;
    rk_system system = load_system("dgx-h100-superpod"); /* 8, 1024 a pod */
    const rk_system documented = system;
    assert_int_equal(rk_system_node(&system), 8);
    assert_true(rk_system_set_node(&system, 8));
    assert_memory_equal(&system, &documented, sizeof(system));
    assert_true(rk_system_set_node(&system, 4));
    assert_int_equal(rk_system_node(&system), 4);
    assert_near(system.tiers[0].bandwidth, documented.tiers[0].bandwidth, 0);
    assert_int_equal(system.tiers[1].size, 1024);
    assert_true(rk_system_set_node(&system, 6));
    assert_int_equal(system.tiers[1].size, 1020);
    assert_int_equal(rk_system_check(&system, &err), RK_OK);
    const rk_group whole = rk_group_of(&documented, 8, 1), split = rk_group_of(&system, 8, 1);
    assert_true(rk_collective_seconds(&documented, RK_COLL_ALL_REDUCE, 1e8, &whole) <
                rk_collective_seconds(&system, RK_COLL_ALL_REDUCE, 1e8, &split));
    assert_true(rk_system_set_node(&system, 1));
    assert_int_equal(rk_system_node(&system), 1);
    assert_int_equal(system.tier_count, documented.tier_count - 1);
    assert_string_equal(system.tiers[0].name, documented.tiers[1].name);
    assert_true(rk_system_set_node(&system, 1));
    assert_false(rk_system_set_node(&system, 4)); /* by what links? */
}

/* Half a mesh has as many links between two accelerators; a larger one is another machine. */
static void test_mesh(void **state)
{
    (void)state;
    rk_system system = load_system("mi300x");
    const double bandwidth = system.tiers[0].bandwidth;
    assert_false(rk_system_set_node(&system, 16));
    assert_true(rk_system_set_node(&system, 4));
    assert_near(system.tiers[0].bandwidth, bandwidth * 3 / 7, 1e-12);
    system = load_system("v100-sxm2-32gb");
    assert_false(rk_system_set_node(&system, 16)); /* a cube mesh joins eight */
}

/* The node is what is inside the network; its parts stay whole. */
static void test_parts(void **state)
{
    (void)state;
    rk_system system = load_system("a100-pcie-80gb"); /* pairs on a bridge, 8 on PCIe */
    assert_int_equal(rk_system_node(&system), 8);
    assert_false(rk_system_set_node(&system, 3));
    assert_false(rk_system_set_node(&system, 2));
    assert_true(rk_system_set_node(&system, 4));
    assert_int_equal(system.tiers[0].size, 2);
    assert_int_equal(system.tiers[1].size, 4);
}

/* Trays and hosts do not end the links of a rack or a torus. */
static void test_racks(void **state)
{
    (void)state;
    static const char *const names[] = {"gb200-nvl72", "ascend-910c", "tpu-v5p", "tpu-v6e"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        rk_system system = load_system(names[i]);
        const rk_system documented = system;
        assert_true(rk_system_set_node(&system, 4));
        assert_false(rk_system_set_node(&system, 11));
        assert_memory_equal(&system, &documented, sizeof(system));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_mesh),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_racks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
