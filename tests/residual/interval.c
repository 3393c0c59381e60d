/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals from small sets of residuals whose answers are known. */
#include "../evidence/runs_test.h"

#include "../io/scratch.h"

#include "residual/interval.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const rk_similarity_key dense = {.stack = "megatron-2025-hopper",
                                        .family = "megatron",
                                        .product = "h100-sxm",
                                        .line = "h100",
                                        .stack_name = "megatron-2025",
                                        .accelerator_name = "h100-sxm",
                                        .tensor = RK_TENSOR_INSIDE};

static void set_stack(rk_similarity_key *key, const char *name, const char *family)
{
    snprintf(key->stack, sizeof(key->stack), "%s", name);
    snprintf(key->family, sizeof(key->family), "%s", family);
    snprintf(key->stack_name, sizeof(key->stack_name), "%s", name);
}

static void set_accelerator(rk_similarity_key *key, const char *product, const char *line)
{
    snprintf(key->product, sizeof(key->product), "%s", product);
    snprintf(key->line, sizeof(key->line), "%s", line);
    snprintf(key->accelerator_name, sizeof(key->accelerator_name), "%s", product);
}

static void add(rk_residuals *r, const rk_similarity_key *key, const char *model, double ratio,
                int times)
{
    rk_error err;
    for (int i = 0; i < times; i++) {
        assert_int_equal(rk_residuals_add(r, key, model, model, ratio, &err), RK_OK);
    }
}

/* Twelve runs of three groups that weigh the same: thirds of 0.8, 1 and 1.25. */
static void add_thirds(rk_residuals *r, const rk_similarity_key *key)
{
    add(r, key, "a", 1, 10);
    add(r, key, "b", 1.25, 1);
    add(r, key, "c", 0.8, 1);
}

static void test_percentiles(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_interval i;
    rk_error err;
    add_thirds(&r, &dense);
    assert_int_equal(rk_interval_of(&r, &dense, NULL, &i, &err), RK_OK);
    assert_int_equal(i.runs, 12);
    assert_int_equal(i.groups, 3);
    assert_near(i.low, 0.8, 1e-12);
    assert_near(i.high, 1.25, 1e-12);
    r.source_error[RK_RESIDUAL_DENSE] = sqrt(3) * log(1.25); /* variances add, of logarithms */
    assert_int_equal(rk_interval_of(&r, &dense, NULL, &i, &err), RK_OK);
    assert_near(i.low, 0.8 * 0.8, 1e-12);
    assert_near(i.high, 1.25 * 1.25, 1e-12);
    assert_string_equal(
        i.basis, "megatron-2025 on h100-sxm, dense, TP in a node, one node, 16 bits, facts stated");
    rk_residuals_clear(&r);
}

/* An error of the attention kernel adds its variance, of logarithms. */
static void test_kernel(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_interval i;
    rk_error err;
    rk_similarity_key key = dense;
    add_thirds(&r, &dense);
    key.kernel = sqrt(3) * log(1.25);
    assert_int_equal(rk_interval_of(&r, &key, NULL, &i, &err), RK_OK);
    assert_near(i.low, 0.8 * 0.8, 1e-12);
    assert_near(i.high, 1.25 * 1.25, 1e-12);
    assert_non_null(strstr(i.basis, "; rates of the attention kernel assumed"));
    rk_residuals_clear(&r);
}

/* Fewer runs or groups than enough: those of other stacks and machines are looked at too. */
static void test_ladder(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_interval i;
    rk_error err;
    rk_similarity_key moe = dense, nemo = dense, other = dense;
    moe.moe = true;
    set_stack(&nemo, "nemo-2024", "megatron");
    set_accelerator(&nemo, "h100-pcie", "h100");
    set_stack(&other, "torchtitan", "torchtitan");
    add_thirds(&r, &nemo);
    add(&r, &moe, "m", 3, 20);

    assert_int_equal(rk_interval_of(&r, &dense, NULL, &i, &err), RK_OK);
    assert_int_equal(i.runs, 12); /* NeMo is a Megatron, an H100 an H100 */
    assert_string_equal(
        i.basis, "megatron on h100, dense, facts stated; too few of megatron-2025 on h100-sxm");
    assert_int_equal(rk_interval_of(&r, &other, NULL, &i, &err), RK_OK);
    assert_string_equal(
        i.basis,
        "any stack on any accelerator, dense, facts stated; none of torchtitan on h100-sxm");
    assert_int_equal(rk_interval_of(&r, &nemo, &(rk_left_out){"b", NULL}, &i, &err), RK_OK);
    assert_int_equal(i.runs, 31); /* without b there are eleven dense ones */
    assert_int_equal(i.groups, 3);
    assert_string_equal(i.basis, "any stack on any accelerator; too few of nemo-2024 on h100-pcie");
    assert_int_equal(rk_interval_of(&r, &moe, &(rk_left_out){"m", "m"}, &i, &err), RK_OK);
    assert_near(i.high, 1.25, 1e-12);
    /* The name of a document that says no line changes nothing either. */
    rk_similarity_key own = moe, renamed;
    rk_interval again;
    set_accelerator(&own, "", "");
    renamed = own;
    snprintf(renamed.accelerator_name, sizeof(renamed.accelerator_name), "anything-2099");
    add(&r, &own, "p", 2, 20);
    assert_int_equal(rk_interval_of(&r, &own, &(rk_left_out){"p", "p"}, &i, &err), RK_OK);
    assert_int_equal(rk_interval_of(&r, &renamed, &(rk_left_out){"p", "p"}, &again, &err), RK_OK);
    assert_true(again.runs == i.runs && again.low == i.low && again.high == i.high);
    rk_residuals_clear(&r);
    assert_int_equal(rk_interval_of(&r, &dense, NULL, &i, &err), RK_OK);
    assert_int_equal(i.runs, 0);
}

/*
 * A run whose facts are assumed is judged by such runs where they are enough, and an accelerator
 * whose rates are assumed by other such accelerators.
 */
static void test_doubts(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_interval i;
    rk_error err;
    rk_similarity_key guessed = dense, chip = dense, other = dense;
    guessed.assumed = true;
    chip.uncertain = true;
    set_accelerator(&chip, "tpu-v5p", "tpu");
    set_stack(&chip, "maxtext-tpu", "maxtext");
    other = chip;
    set_accelerator(&other, "trainium2", "trainium2");
    set_stack(&other, "neuronx", "neuronx");
    add(&r, &dense, "a", 1.1, 12);
    add(&r, &guessed, "b", 1.3, 12);
    add(&r, &chip, "c", 1.5, 12);
    const struct {
        const rk_similarity_key *key;
        double high;
    } wanted[] = {{&dense, 1.1}, {&guessed, 1.3}, {&other, 1.5}};
    for (size_t j = 0; j < sizeof(wanted) / sizeof(wanted[0]); j++) {
        assert_int_equal(rk_interval_of(&r, wanted[j].key, NULL, &i, &err), RK_OK);
        assert_near(i.high, wanted[j].high, 1e-12);
    }
    assert_non_null(strstr(i.basis, "rates assumed; none of neuronx on trainium2"));
    rk_residuals_clear(&r);
}

/* Fine-tuning by adapters is judged by such runs alone, which count among others, too. */
static void test_adapters(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_interval i;
    rk_error err;
    rk_similarity_key lora = dense;
    lora.frozen = true;
    add(&r, &dense, "a", 1.1, 12);
    assert_int_equal(rk_interval_of(&r, &lora, NULL, &i, &err), RK_OK);
    assert_int_equal(i.runs, 0);
    add(&r, &lora, "b", 1.4, 3);
    assert_int_equal(rk_interval_of(&r, &lora, NULL, &i, &err), RK_OK);
    assert_int_equal(i.runs, 3);
    assert_near(i.high, 1.4, 1e-12);
    assert_non_null(strstr(i.basis, "adapters"));
    assert_int_equal(rk_interval_of(&r, &dense, NULL, &i, &err), RK_OK);
    assert_int_equal(i.runs, 15);
    rk_residuals_clear(&r);
}

/* Layers that no run has widen an interval that is narrow, and no other. */
static void test_untimed_layers(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_interval i, same;
    rk_error err;
    rk_similarity_key hybrid = dense;
    hybrid.untimed = true;
    add(&r, &dense, "a", 1.02, 12);
    assert_int_equal(rk_interval_of(&r, &dense, NULL, &i, &err), RK_OK);
    assert_near(i.high, 1.02, 1e-12);
    assert_null(strstr(i.basis, "layers"));
    assert_int_equal(rk_interval_of(&r, &hybrid, NULL, &i, &err), RK_OK);
    assert_true(i.high > 1.25 && i.high < 1.5);
    assert_near(i.low * i.high, 1, 1e-12);
    assert_non_null(strstr(i.basis, "kinds of layers"));
    rk_residuals_clear(&r);
    add(&r, &dense, "a", 2, 12);
    assert_int_equal(rk_interval_of(&r, &dense, NULL, &same, &err), RK_OK);
    assert_int_equal(rk_interval_of(&r, &hybrid, NULL, &i, &err), RK_OK);
    assert_near(i.high, same.high, 0);
    rk_residuals_clear(&r);
}

/*
 * Sources that agree have no error of their own.  Where one of four is off by more than the three
 * others say, three in four lie inside, which is too few: the error reaches the fourth.
 */
static void test_source_error(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_error err;
    char source[] = "a";
    for (; source[0] < 'd'; source[0]++) {
        add(&r, &dense, source, source[0] == 'b' ? exp(-0.01) : exp(0.01), 12);
    }
    assert_int_equal(rk_residuals_source_error(&r, &err), RK_OK);
    assert_near(r.source_error[RK_RESIDUAL_DENSE], 0, 1e-8); /* the root of what rounding leaves */
    add(&r, &dense, "d", exp(0.026), 12);
    assert_int_equal(rk_residuals_source_error(&r, &err), RK_OK);
    assert_near(r.source_error[RK_RESIDUAL_DENSE], 0.024, 1e-9);
    rk_residuals_clear(&r);
}

/*
 * A run of software on accelerators on which no other source has it says by how much such pairs
 * are off, not by how much a source is; only intervals of such pairs are wider for it.
 */
static void test_pair_error(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_error err;
    rk_interval old, pair;
    rk_similarity_key other = dense, third = dense;
    snprintf(other.line, sizeof(other.line), "other");
    snprintf(other.product, sizeof(other.product), "other");
    snprintf(third.line, sizeof(third.line), "third");
    snprintf(third.product, sizeof(third.product), "third");
    for (char source[] = "a"; source[0] < 'd'; source[0]++) {
        add(&r, &dense, source, exp(0.1), 12);
    }
    add(&r, &other, "d", exp(0.26), 12);
    assert_int_equal(rk_residuals_source_error(&r, &err), RK_OK);
    assert_near(r.source_error[RK_RESIDUAL_DENSE], 0, 1e-8);
    assert_near(r.pair_error[RK_RESIDUAL_DENSE], 0.24, 1e-9); /* 0.26^2 = 0.1^2 + 0.24^2 */
    assert_int_equal(rk_interval_of(&r, &dense, NULL, &old, &err), RK_OK);
    assert_false(old.new_pair);
    assert_near(log(old.high), 0.1, 1e-9);
    assert_int_equal(rk_interval_of(&r, &third, &(rk_left_out){.source = "d"}, &pair, &err), RK_OK);
    assert_true(pair.new_pair);
    assert_near(log(pair.high), 0.26, 1e-9);
    assert_non_null(strstr(pair.basis, "; none of "));
    rk_residuals_clear(&r);
}

/*
 * Runs without tuning are held by an error of their own sources, which tuned ones do not pay for,
 * whether dense or with experts, which have their own in turn.
 */
static void test_kinds(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_error err;
    rk_interval i;
    rk_similarity_key everyday = dense, moe = dense, both = dense;
    everyday.untuned = both.untuned = true;
    moe.moe = both.moe = true;
    for (char source[] = "a"; source[0] < 'd'; source[0]++) {
        add(&r, &dense, source, exp(0.1), 12);
        add(&r, &moe, source, exp(0.15), 12);
    }
    add(&r, &everyday, "d", exp(0.26), 12);
    assert_int_equal(rk_residuals_source_error(&r, &err), RK_OK);
    assert_near(r.source_error[RK_RESIDUAL_DENSE], 0, 1e-8);
    assert_near(r.source_error[RK_RESIDUAL_EXPERTS], 0, 1e-8);
    assert_near(r.source_error[RK_RESIDUAL_UNTUNED], 0.24, 1e-9); /* 0.26^2 = 0.1^2 + 0.24^2 */
    const rk_left_out own = {.source = "d"};
    const struct {
        const rk_similarity_key *key;
        double off;
    } wanted[] = {{&dense, 0.1}, {&moe, 0.15}, {&everyday, 0.26}, {&both, hypot(0.15, 0.24)}};
    for (size_t j = 0; j < sizeof(wanted) / sizeof(wanted[0]); j++) {
        assert_int_equal(rk_interval_of(&r, wanted[j].key, &own, &i, &err), RK_OK);
        assert_near(log(i.high), wanted[j].off, 1e-9);
        assert_true((strstr(i.basis, ", so wider") != NULL) == wanted[j].key->untuned);
    }
    rk_residuals_clear(&r);
}

static void test_document(void **state)
{
    (void)state;
    char folder[] = "/tmp/residuals-XXXXXX", path[64];
    rk_residuals r = {.cells = NULL}, again;
    rk_interval i, j;
    rk_error err;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/residuals.json", folder);
    add_thirds(&r, &dense);
    for (int kind = 0; kind < RK_RESIDUAL_KIND_COUNT; kind++) {
        r.source_error[kind] = 0.05;
        r.pair_error[kind] = 0.25 + 0.125 * kind;
    }
    assert_int_equal(rk_residuals_write(&r, path, "a test", &err), RK_OK);
    assert_int_equal(rk_residuals_load(path, &again, &err), RK_OK);
    unlink(path);
    rmdir(folder);
    assert_int_equal(rk_interval_of(&r, &dense, &(rk_left_out){"b", "b"}, &i, &err), RK_OK);
    assert_int_equal(rk_interval_of(&again, &dense, &(rk_left_out){"b", "b"}, &j, &err), RK_OK);
    assert_int_equal(i.runs, j.runs);
    assert_memory_equal(again.pair_error, r.pair_error, sizeof(r.pair_error));
    assert_near(i.low, j.low, 1e-3);
    assert_near(i.high, j.high, 1e-3);
    rk_residuals_clear(&r);
    rk_residuals_clear(&again);
    assert_int_equal(rk_residuals_load("no", &again, &err), RK_ERR_INVALID);
}

static void check_built_in(const rk_residuals *b, const char *name, size_t least)
{
    rk_residuals r;
    rk_error err;
    assert_int_equal(rk_residuals_load(name, &r, &err), RK_OK);
    assert_true(b->ratio_count > least);
    assert_true(b->of_memory == r.of_memory);
    assert_int_equal(b->cell_count, r.cell_count);
    assert_int_equal(b->ratio_count, r.ratio_count);
    assert_memory_equal(b->ratios, r.ratios, r.ratio_count * sizeof(*r.ratios));
    assert_memory_equal(b->source_error, r.source_error, sizeof(r.source_error));
    assert_memory_equal(b->pair_error, r.pair_error, sizeof(r.pair_error));
    for (size_t i = 0; i < r.cell_count; i++) {
        const rk_residual_cell *x = &b->cells[i], *y = &r.cells[i];
        assert_string_equal(x->source, y->source);
        assert_string_equal(x->model, y->model);
        assert_string_equal(x->key.stack, y->key.stack);
        assert_string_equal(x->key.family, y->key.family);
        assert_string_equal(x->key.product, y->key.product);
        assert_string_equal(x->key.line, y->key.line);
        assert_true(x->key.moe == y->key.moe && x->key.several == y->key.several &&
                    x->key.low == y->key.low && x->key.frozen == y->key.frozen &&
                    x->key.tensor == y->key.tensor && x->key.assumed == y->key.assumed &&
                    x->key.uncertain == y->key.uncertain && x->key.sharding == y->key.sharding &&
                    x->key.untuned == y->key.untuned);
        assert_true(x->peer == y->peer && x->first == y->first && x->count == y->count);
    }
    rk_residuals_clear(&r);
}

/* The tables that are built in are documents of the catalogue. */
static void test_built_in(void **state)
{
    (void)state;
    check_built_in(&rk_residuals_built_in, "residuals", 1000);
    check_built_in(&rk_memory_residuals_built_in, "memory_residuals", 250);
}

/* ---- which runs are comparable ----------------------------------------------------------------
 */

/*
 * What two runs may have in common, a letter and a bit each: the software, its family; the product,
 * its line; dense or not; place of TP; nodes; width; facts assumed; rates assumed; ZeRO.
 */
static const char properties[] = "sfplktnwarz";

enum { PROPERTIES = sizeof(properties) - 1 };

static unsigned bits_of(const char *letters)
{
    unsigned bits = 0;
    for (; *letters; letters++) {
        bits |= 1U << (strchr(properties, *letters) - properties);
    }
    return bits;
}

static bool lacks(unsigned bits, char letter)
{
    return !(bits >> (strchr(properties, letter) - properties) & 1U);
}

/* A key that has in common with `dense` what `bits` say, and nothing else. */
static rk_similarity_key key_with(unsigned bits)
{
    rk_similarity_key key = dense;
    set_stack(&key, lacks(bits, 's') ? "torchtitan" : dense.stack,
              lacks(bits, 'f') ? "torchtitan" : dense.family);
    set_accelerator(&key, lacks(bits, 'p') ? "b200-sxm" : dense.product,
                    lacks(bits, 'l') ? "b200" : dense.line);
    key.moe = lacks(bits, 'k');
    key.tensor = lacks(bits, 't') ? RK_TENSOR_ACROSS : key.tensor;
    key.several = lacks(bits, 'n');
    key.low = lacks(bits, 'w');
    key.assumed = lacks(bits, 'a');
    key.uncertain = lacks(bits, 'r');
    key.sharding = lacks(bits, 'z') ? RK_SHARD_ALL : key.sharding;
    return key;
}

/* What is comparable, strictest first: all of `common` is. */
typedef struct rung {
    const char *common, *basis;
} rung;

/* Of every set of properties, the first rung that it holds; a dozen such runs are enough. */
static void check_rungs(const rung *rungs, bool of_memory)
{
    for (unsigned bits = 0; bits < 1U << PROPERTIES; bits++) {
        rk_residuals r = {.of_memory = of_memory};
        rk_interval i;
        rk_error err;
        char basis[RK_BASIS_TEXT];
        const rk_similarity_key key = key_with(bits);
        const rung *first = rungs;
        while ((bits_of(first->common) & ~bits) != 0) {
            first++;
        }
        const bool paired = of_memory || !(lacks(bits, 'f') || lacks(bits, 'l'));
        const bool both = strchr(first->common, 's') && strchr(first->common, 'p');
        (void)snprintf(basis, sizeof(basis), "%s%s%s%s", first->basis,
                       both     ? ""
                       : paired ? "; too few"
                                : "; none",
                       both ? "" : " of megatron-2025 on h100-sxm",
                       of_memory && !*first->common
                           ? "; none is of its kind, so at least 28 % either way"
                           : "");
        add(&r, &key, "a", 1.1, RK_INTERVAL_RUNS);
        assert_int_equal(rk_interval_of(&r, &dense, NULL, &i, &err), RK_OK);
        assert_int_equal(i.runs, RK_INTERVAL_RUNS);
        if (strcmp(i.basis, basis) != 0 || i.new_pair == paired) {
            fail_msg("%#x: %s, not %s", bits, i.basis, basis);
        }
        rk_residuals_clear(&r);
    }
}

static void test_rungs(void **state)
{
    static const rung time[] = {
        {"spktnwa",
         "megatron-2025 on h100-sxm, dense, TP in a node, one node, 16 bits, facts stated"},
        {"spktna", "megatron-2025 on h100-sxm, dense, TP in a node, one node, facts stated"},
        {"spka", "megatron-2025 on h100-sxm, dense, facts stated"},
        {"spk", "megatron-2025 on h100-sxm, dense"},
        {"skar", "megatron-2025 on any accelerator, dense, facts stated"},
        {"flkar", "megatron on h100, dense, facts stated"},
        {"fkar", "megatron on any accelerator, dense, facts stated"},
        {"kar", "any stack on any accelerator, dense, facts stated"},
        {"k",
         "any stack on any accelerator, dense"}, /* of such rates first, which it does not say */
        {"", "any stack on any accelerator"},
    };
    static const rung memory[] = {
        {"spktzwa",
         "megatron-2025 on h100-sxm, dense, TP in a node, ZeRO-0, 16 bits, facts stated"},
        {"sktwa", "megatron-2025 on any accelerator, dense, TP in a node, 16 bits, facts stated"},
        {"skwa", "megatron-2025 on any accelerator, dense, 16 bits, facts stated"},
        {"fkwa", "megatron on any accelerator, dense, 16 bits, facts stated"},
        {"fkw", "megatron on any accelerator, dense, 16 bits"},
        {"kwa", "any stack on any accelerator, dense, 16 bits, facts stated"},
        {"kw", "any stack on any accelerator, dense, 16 bits"},
        {"", "any stack on any accelerator"},
    };
    (void)state;
    check_rungs(time, false);
    check_rungs(memory, true);
}

/* Runs of the same rates come before others of their kind. */
static void test_rates(void **state)
{
    (void)state;
    rk_residuals r = {.cells = NULL};
    rk_interval i;
    rk_error err;
    const rk_similarity_key same = key_with(bits_of("kr")), other = key_with(bits_of("ka"));
    add(&r, &same, "a", 1.1, 12);
    add(&r, &other, "b", 1.3, 12);
    assert_int_equal(rk_interval_of(&r, &dense, NULL, &i, &err), RK_OK);
    assert_int_equal(i.runs, 12);
    assert_near(i.high, 1.1, 1e-12);
    rk_residuals_clear(&r);
}

/* Ratios of a group lie together, whenever they come. */
static void test_order(void **state)
{
    static const double wanted[] = {1.1, 1.4, 1.2, 1.5, 1.3};
    rk_residuals r = {.cells = NULL};
    (void)state;
    add(&r, &dense, "a", 1.1, 1);
    add(&r, &dense, "b", 1.2, 1);
    add(&r, &dense, "c", 1.3, 1);
    add(&r, &dense, "a", 1.4, 1);
    add(&r, &dense, "b", 1.5, 1);
    assert_int_equal(r.cell_count, 3);
    for (size_t i = 0; i < 5; i++) {
        assert_near(r.ratios[i], wanted[i], 0);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(r.cells[i].first, 2 * i);
        assert_int_equal(r.cells[i].count, i < 2 ? 2 : 1);
        assert_int_equal(r.cells[i].peer, i);
    }
    rk_residuals_clear(&r);
}

/* The words for each property of a run. */
static void test_words(void **state)
{
    static const struct {
        bool of_memory;
        const char *basis;
    } cases[] = {
        {false, "megatron-2025 on h100-sxm, MoE, TP none, several nodes, 8 bits or less, facts "
                "assumed"},
        {true, "megatron-2025 on h100-sxm, MoE, TP none, ZeRO-2, 8 bits or less, facts assumed"},
        {false, "megatron-2025 on h100-sxm, MoE, adapters, TP across nodes, several nodes, 8 bits "
                "or less, facts assumed"},
        {true, "megatron-2025 on h100-sxm, MoE, adapters, TP across nodes, ZeRO-2, 8 bits or less, "
               "facts assumed"},
    };
    (void)state;
    for (int c = 0; c < 4; c++) {
        rk_residuals r = {.of_memory = cases[c].of_memory};
        rk_interval i;
        rk_error err;
        rk_similarity_key key = dense;
        key.moe = key.several = key.low = key.assumed = key.uncertain = true;
        key.sharding = RK_SHARD_GRADIENTS;
        key.tensor = c < 2 ? RK_TENSOR_NONE : RK_TENSOR_ACROSS;
        key.frozen = c >= 2;
        add(&r, &key, "a", 1.1, 12);
        assert_int_equal(rk_interval_of(&r, &key, NULL, &i, &err), RK_OK);
        assert_string_equal(i.basis, cases[c].basis);
        key.untimed = true;
        key.untuned = true;
        key.kernel = 0.01;
        assert_int_equal(rk_interval_of(&r, &key, NULL, &i, &err), RK_OK);
        char basis[2 * RK_BASIS_TEXT];
        (void)snprintf(basis, sizeof(basis),
                       "%s%s; rates of the attention kernel assumed; none has its kinds of layers, "
                       "so at least %d %% either way",
                       cases[c].basis,
                       cases[c].of_memory ? ""
                                          : "; general software or one microbatch a step, so "
                                            "wider",
                       cases[c].of_memory ? 28 : 36); /* exp(0.25), exp(0.31) */
        basis[RK_BASIS_TEXT - 1] = '\0';
        assert_string_equal(i.basis, basis);
        rk_residuals_clear(&r);
    }
}

/* ---- documents --------------------------------------------------------------------------------
 */

#define HEAD(name, what, option)                                                                   \
    "{\n  \"name\": \"" name "\",\n  \"description\": \"Measured over predicted " what             \
    " of runs, in groups that err together; what intervals of estimates are made of\",\n"          \
    "  \"source\": \"reckon validate --" option ": a test\",\n"
#define NAMES                                                                                      \
    "    {\"source\": \"s\", \"model\": \"m\", \"stack\": \"megatron-2025-hopper\", \"family\": "  \
    "\"megatron\", \"product\": \"h100-sxm\", \"line\": \"h100\", "

#define WRITTEN_TIME                                                                               \
    HEAD("residuals", "step time", "residuals")                                                    \
    "  \"source_error\": {\"dense\": 0.1000, \"experts\": 0.2000, \"untuned\": 0.3000},\n"         \
    "  \"pair_error\": {\"dense\": 0.4000, \"experts\": 0.5000, \"untuned\": 0.6000},\n"           \
    "  \"cells\": [\n" NAMES                                                                       \
    "\"moe\": %s, \"tensor\": \"in a node\", \"several_nodes\": %s, \"low_precision\": %s, "       \
    "\"adapters\": %s, \"untuned\": %s, \"assumed\": %s, \"uncertain\": %s, "                      \
    "\"ratios\": [1.234, 0.500]},\n"
#define WRITTEN_MEMORY                                                                             \
    HEAD("memory_residuals", "memory", "memory-residuals")                                         \
    "  \"source_error\": 0.1000,\n  \"pair_error\": 0.4000,\n"                                     \
    "  \"cells\": [\n" NAMES                                                                       \
    "\"moe\": %s, \"tensor\": \"in a node\", \"sharding\": \"gradients\", \"several_nodes\": %s, " \
    "\"low_precision\": %s, \"adapters\": %s, \"assumed\": %s, \"uncertain\": %s, "                \
    "\"ratios\": [1.234, 0.500]},\n"

/* What is written, and read again; each truth in turn is the one that holds. */
static void test_written(void **state)
{
    (void)state;
    for (int c = 0; c < 14; c++) {
        scratch files;
        rk_residuals r = {.of_memory = c >= 7}, again;
        rk_error err;
        rk_similarity_key key = dense;
        bool *const flags[] = {&key.moe,     &key.several, &key.low,      &key.frozen,
                               &key.untuned, &key.assumed, &key.uncertain};
        const char *says[7];
        char text[2048], start[2048];
        for (int i = 0; i < 7; i++) {
            *flags[i] = i == c % 7;
            says[i] = *flags[i] ? "true" : "false";
            if (i < 6) {
                *(i < 3 ? &r.source_error[i] : &r.pair_error[i - 3]) = 0.1 * (i + 1);
            }
        }
        key.sharding = RK_SHARD_GRADIENTS;
        assert_int_equal(rk_residuals_add(&r, &key, "s", "m", 1.2341, &err), RK_OK);
        assert_int_equal(rk_residuals_add(&r, &key, "s", "m", 0.5, &err), RK_OK);
        assert_int_equal(rk_residuals_add(&r, &dense, "s2", "m", 1, &err), RK_OK);
        assert_true(scratch_make(&files));
        const char *path = scratch_path(&files, "r.json");
        assert_int_equal(rk_residuals_write(&r, path, "a test", &err), RK_OK);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        (void)fclose(file);
        if (c < 7) {
            (void)snprintf(start, sizeof(start), WRITTEN_TIME, says[0], says[1], says[2], says[3],
                           says[4], says[5], says[6]);
        } else {
            (void)snprintf(start, sizeof(start), WRITTEN_MEMORY, says[0], says[1], says[2], says[3],
                           says[5], says[6]);
        }
        text[strlen(start)] = '\0';
        assert_string_equal(text, start);
        assert_int_equal(rk_residuals_load(path, &again, &err), RK_OK);
        assert_int_equal(again.cell_count, 2);
        const rk_similarity_key *found = &again.cells[0].key;
        assert_true(found->moe == key.moe && found->several == key.several &&
                    found->low == key.low && found->frozen == key.frozen &&
                    found->untuned == (c < 7 && key.untuned) && found->assumed == key.assumed &&
                    found->uncertain == key.uncertain && found->tensor == RK_TENSOR_INSIDE);
        assert_int_equal(found->sharding, c < 7 ? RK_SHARD_NONE : RK_SHARD_GRADIENTS);
        assert_string_equal(found->stack, dense.stack);
        assert_string_equal(found->family, dense.family);
        assert_string_equal(found->product, dense.product);
        assert_string_equal(found->line, dense.line);
        assert_near(again.source_error[2], c < 7 ? 0.3 : 0.1, 1e-12);
        assert_near(again.pair_error[2], c < 7 ? 0.6 : 0.4, 1e-12);
        assert_true(again.of_memory == r.of_memory);
        scratch_remove(&files);
        rk_residuals_clear(&r);
        rk_residuals_clear(&again);
    }
}

#define CELL(rest)                                                                                 \
    "{\"source\": \"s\", \"model\": \"m\", \"stack\": \"\", \"family\": \"\", \"product\": \"\", " \
    "\"line\": \"\", \"moe\": false, \"tensor\": \"none\", \"several_nodes\": false, "             \
    "\"low_precision\": false, \"adapters\": false, \"assumed\": false, \"uncertain\": false" rest \
    "}"
#define ERRORS "\"source_error\": 0, \"pair_error\": 1, "

/* Documents that are refused, with the place and the message. */
static void test_wrong_documents(void **state)
{
    static const struct {
        const char *text, *path, *message;
    } cases[] = {
        {"{\"pair_error\": 0, \"cells\": []}", "source_error", "expected numbers from 0 to 1"},
        {"{\"source_error\": 0, \"cells\": []}", "pair_error", "expected numbers from 0 to 1"},
        {"{\"source_error\": -0.1}", "source_error", "expected numbers from 0 to 1"},
        {"{\"source_error\": 1.1}", "source_error", "expected numbers from 0 to 1"},
        {"{\"source_error\": \"0\"}", "source_error", "expected numbers from 0 to 1"},
        {"{\"source_error\": {\"dense\": 0, \"experts\": 0}}", "source_error",
         "expected numbers from 0 to 1"},
        {"{" ERRORS "\"cells\": {}}", "cells", "expected a list"},
        {"{" ERRORS "\"cells\": [3]}", "cells[0]", "expected an object, found 3"},
        {"{" ERRORS "\"cells\": [" CELL(", \"ratios\": [1]") ", " CELL(", \"ratios\": []") "]}",
         "cells[1].ratios", "expected a list of positive numbers, found an array"},
        {"{" ERRORS "\"cells\": [" CELL(", \"ratios\": [1, 0]") "]}", "cells[0].ratios",
         "expected a list of positive numbers, found an array"},
        {"{" ERRORS "\"cells\": [" CELL(", \"ratios\": 1") "]}", "cells[0].ratios",
         "expected a list of positive numbers, found 1"},
        {"{" ERRORS "\"cells\": [" CELL("") "]}", "cells[0]",
         "the key \"ratios\" is missing: expected a list of positive numbers"},
        {"{" ERRORS "\"cells\": [" CELL(", \"ratios\": [1], \"sharding\": \"zero\"") "]}",
         "cells[0].sharding",
         "expected \"none\", \"optimizer\", \"gradients\" or \"all\", found a string \"zero\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_residuals r;
        rk_error err = {0};
        assert_int_equal(rk_residuals_load(cases[i].text, &r, &err), RK_ERR_INVALID);
        assert_int_equal(r.cell_count, 0);
        if (strcmp(err.path, cases[i].path) != 0 || strcmp(err.message, cases[i].message) != 0) {
            fail_msg("%s: %s: %s", cases[i].text, err.path, err.message);
        }
    }
    rk_residuals r;
    rk_error err;
    assert_int_equal(
        rk_residuals_load("{" ERRORS "\"cells\": [" CELL(", \"ratios\": [1]") "]}", &r, &err),
        RK_OK);
    assert_near(r.pair_error[RK_RESIDUAL_EXPERTS], 1, 0);
    rk_residuals_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentiles),     cmocka_unit_test(test_ladder),
        cmocka_unit_test(test_kernel),          cmocka_unit_test(test_source_error),
        cmocka_unit_test(test_document),        cmocka_unit_test(test_doubts),
        cmocka_unit_test(test_adapters),        cmocka_unit_test(test_built_in),
        cmocka_unit_test(test_untimed_layers),  cmocka_unit_test(test_pair_error),
        cmocka_unit_test(test_kinds),           cmocka_unit_test(test_rungs),
        cmocka_unit_test(test_rates),           cmocka_unit_test(test_words),
        cmocka_unit_test(test_order),           cmocka_unit_test(test_written),
        cmocka_unit_test(test_wrong_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
