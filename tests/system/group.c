/* SPDX-License-Identifier: Apache-2.0 */
/* How groups of ranks lie in the tiers. */
#include "machine.h"

static rk_system three_tiers(int64_t a, int64_t b, int64_t c)
{
    return (rk_system){.tier_count = 3, .tiers = {{.size = a}, {.size = b}, {.size = c}}};
}

static void expect(const rk_system *system, int64_t size, int64_t stride, int64_t w0, int64_t w1)
{
    const rk_group group = rk_group_of(system, size, stride);
    assert_int_equal(group.size, size);
    assert_int_equal(group.within[0], w0);
    assert_int_equal(group.within[1], w1);
    for (int i = system->tier_count - 1; i < RK_TIER_MAX; i++) {
        assert_int_equal(group.within[i], size);
    }
}

static void test_known(void **state)
{
    const rk_system nodes = three_tiers(8, 3072, 24576);
    const rk_system racks = three_tiers(72, 576, 5760);
    (void)state;
    expect(&nodes, 1, 1, 1, 1);
    expect(&nodes, 8, 1, 8, 8);       /* tensor group in a node */
    expect(&nodes, 16, 1, 8, 16);     /* over two nodes */
    expect(&nodes, 4, 8, 1, 4);       /* one rank per node */
    expect(&nodes, 64, 4, 2, 64);     /* two ranks per node */
    expect(&nodes, 16, 1024, 1, 2);   /* three fit a pod, but 16 / 3 is not a whole number */
    expect(&nodes, 1024, 16, 1, 128); /* 192 fit */
    expect(&racks, 64, 1, 64, 64);
    expect(&racks, 128, 1, 64, 128); /* 72 fit; racks are filled in part */
    expect(&racks, 6, 12, 6, 6);
    expect(&racks, 7, 12, 1, 7);  /* 6 and 1 have no more links than a rank in each */
    expect(&nodes, 31, 1, 8, 31); /* 8, 8, 8 and 7, not 31 nodes */
    expect(&nodes, 12, 1, 6, 12); /* 6 and 6, not 8 and 4 */
    expect(&nodes, 33, 1, 3, 33); /* 8 four times and 1 have one link on the last node */
}

/* Counts the ranks 0, stride, 2 stride ... in the first domain. */
static int64_t count_in_domain(int64_t size, int64_t stride, int64_t domain)
{
    int64_t count = 0;
    for (int64_t rank = 0; rank < size; rank++) {
        count += rank * stride < domain;
    }
    return count;
}

/* Powers of two fill domains of powers of two exactly. */
static void test_counted(void **state)
{
    (void)state;
    for (int64_t domain = 2; domain <= 64; domain *= 2) {
        const rk_system system = three_tiers(domain, domain * 16, domain * 1024);
        for (int64_t size = 1; size <= 2048; size *= 2) {
            for (int64_t stride = 1; stride <= 4096; stride *= 2) {
                expect(&system, size, stride, count_in_domain(size, stride, domain),
                       count_in_domain(size, stride, domain * 16));
            }
        }
    }
}

/* 1 to 32. */
static int64_t random_power(uint64_t *seed)
{
    return (int64_t)1 << (int)log2(random_size(seed, 1, 64));
}

/* Parts of a group in powers of two, counted likewise. */
static void test_parts(void **state)
{
    const rk_system system = three_tiers(16, 256, 1 << 20);
    uint64_t seed = 5;
    (void)state;
    for (int i = 0; i < 5000; i++) {
        const int64_t stride = random_power(&seed), size = random_power(&seed);
        const int64_t count = random_power(&seed), apart = size * stride * random_power(&seed);
        const rk_group group = rk_group_of_parts(&system, size, stride, count, apart);
        int64_t within[2] = {0, 0};
        for (int64_t rank = 0; rank < size * count; rank++) {
            const int64_t place = rank / size * apart + rank % size * stride;
            within[0] += place < 16;
            within[1] += place < 256;
        }
        assert_int_equal(group.size, size * count);
        assert_int_equal(group.within[0], within[0]);
        assert_int_equal(group.within[1], within[1]);
        assert_int_equal(group.within[2], size * count);
    }
}

/* Packed: as many as a domain has room for, whether or not they divide the group. */
static void test_packed(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int i = 0; i < 5000; i++) {
        const int64_t a = (int64_t)random_size(&seed, 1, 100);
        const rk_system system = three_tiers(a, a * 16, a * 1000);
        const int64_t size = (int64_t)random_size(&seed, 1, 3000);
        const int64_t stride = (int64_t)random_size(&seed, 1, 300);
        const rk_group group = rk_group_packed(&system, size, stride);
        assert_int_equal(group.size, size);
        assert_int_equal(group.within[0], count_in_domain(size, stride, a));
        assert_int_equal(group.within[1], count_in_domain(size, stride, a * 16));
        assert_int_equal(group.within[2], size);
    }
}

static void test_any(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const int64_t a = (int64_t)random_size(&seed, 1, 100);
        const int64_t b = a * (int64_t)random_size(&seed, 2, 100);
        const rk_system system = three_tiers(a, b, b * 50);
        const int64_t size = (int64_t)random_size(&seed, 1, 50000);
        const int64_t stride = (int64_t)random_size(&seed, 1, 5000);
        const rk_group group = rk_group_of(&system, size, stride);
        if (size % group.within[0] != 0 || size % group.within[1] != 0) { /* not in equal parts */
            const int64_t fewest = rk_group_fewest(&group, 0);
            assert_int_equal(a % stride, 0);
            assert_int_equal(group.within[0], a / stride);
            assert_int_equal(fewest, (size - 1) % group.within[0] + 1);
            assert_true(fewest > 1);
            continue;
        }
        assert_int_equal(group.within[1] % group.within[0], 0);
        assert_int_equal(size % group.within[1], 0);
        assert_true(group.within[0] == 1 || group.within[0] * stride <= a);
        assert_true(group.within[1] == 1 || group.within[1] * stride <= b);
        /* No larger part would fit. */
        for (int64_t more = group.within[0] + 1; more <= a / stride && more <= 100; more++) {
            assert_true(group.within[1] % more != 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),  cmocka_unit_test(test_counted), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_packed), cmocka_unit_test(test_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
