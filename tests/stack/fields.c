/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of stack documents: each moves a figure, has a unit, and is a row of the page that
 * explains them; each group of each document has a source.
 */
#include "../draws.h"

#include "base/units.h"
#include "io/catalogue.h"
#include "io/json.h"
#include "stack/stack_doc.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIELDS_MAX = 144, PAGE_MAX = 1 << 17 };

/* ---- figures -------------------------------------------------------------------------------- */

/* A value that is `factor` times as large, or is no longer 0. */
static void change(const rk_field *field, double factor, rk_stack *stack)
{
    char *place = (char *)stack + field->offset;
    if (field->type == RK_FIELD_BOOL) {
        bool *flag = (bool *)place;
        *flag = !*flag;
        return;
    }
    double *number = (double *)(void *)place;
    const char *unit = field->unit ? field->unit : "";
    if (*number > 0) {
        *number *= factor;
    } else if (strcmp(unit, "GiB") == 0 || strcmp(unit, "MiB") == 0) {
        *number = 0x1p26;
    } else {
        *number = strcmp(unit, "10^6") == 0 ? 1e7 : strcmp(unit, "s") == 0 ? 1e-3 : 0.5;
    }
}

static rk_estimate estimate_of(const struct draw *d, const rk_system *system, const rk_stack *stack)
{
    rk_estimate e;
    memset(&e, 0, sizeof(e));
    assert_int_equal(
        rk_estimate_step(&d->model, system, stack, &d->strategy, RK_FLOPS_MEGATRON, &e), RK_OK);
    return e;
}

static bool is_moved(const rk_estimate *a, const rk_estimate *b)
{
    return a->step != b->step || a->memory.total != b->memory.total ||
           a->memory.late != b->memory.late || a->host_bytes != b->host_bytes ||
           a->volumes.tensor != b->volumes.tensor || a->volumes.expert != b->volumes.expert ||
           a->volumes.data != b->volumes.data || a->volumes.pipeline != b->volumes.pipeline;
}

static bool moved[FIELDS_MAX];

/* Also with so little memory that the allocator has to give some back, if it can. */
static void try_fields(const struct draw *d)
{
    const rk_field *field;
    const char *group;
    rk_system small = d->system;
    const rk_estimate whole = estimate_of(d, &d->system, &d->stack);
    small.accelerator.memory_usable = whole.memory.total - whole.memory.late / 2;
    const rk_estimate tight = estimate_of(d, &small, &d->stack);
    for (size_t i = 0; (field = rk_stack_field_at(i, &group)) != NULL; i++) {
        static const double factors[] = {1.5, 0.2}; /* the longer of two limits may hide one */
        assert_true(i < FIELDS_MAX);
        for (int k = 0; k < 2 && !moved[i]; k++) {
            rk_stack other = d->stack;
            change(field, factors[k], &other);
            const rk_estimate a = estimate_of(d, &d->system, &other);
            const rk_estimate b = estimate_of(d, &small, &other);
            moved[i] = is_moved(&whole, &a) || is_moved(&tight, &b);
        }
    }
}

static void check_fields(const struct draw *given, uint64_t *r)
{
    static struct draw d;
    d = *given;
    for (int i = 0; i < d.model.type_count; i++) {
        d.model.types[i].ffn.clamped = draw_chance(r, 2);
    }
    try_fields(&d);
}

/* A model on one accelerator. */
static void begin(const char *model, const char *stack, struct draw *d)
{
    d->model = model_of(model);
    d->system = system_of("dgx-h100-superpod");
    d->stack = stack_of(stack);
    d->strategy = rk_strategy_defaults(&d->model);
}

/* Mixers that the draws do not have. */
static void try_recurrence(const char *model)
{
    static struct draw d;
    begin(model, "megatron-2025", &d);
    d.strategy.precision = RK_TF32; /* rates of delta rules are of 16 bits */
    try_fields(&d);
}

/* Moments of memory that the draws do not reach: all states are sharded over eight ranks.  With an
 * adapter rank below 0 the optimizer is on the host. */
static void try_shards(const char *stack, int64_t micro_batch, int64_t adapter_rank)
{
    static struct draw d;
    begin("llama3-8b", stack, &d);
    d.strategy.dp = 8;
    d.strategy.micro_batch = micro_batch;
    d.strategy.global_batch = 8 * micro_batch;
    d.strategy.seq = 512;
    d.strategy.sharding = RK_SHARD_ALL;
    d.strategy.recompute = RK_REC_FULL;
    d.strategy.cross_entropy = RK_CROSS_ENTROPY_FUSED;
    d.strategy.offload_optimizer = adapter_rank < 0;
    if (adapter_rank > 0) {
        rk_strategy_freeze(&d.model, adapter_rank, RK_ADAPTED_ATTENTION, &d.strategy);
        d.strategy.nf4_weights = d.strategy.low_weights = true;
    }
    try_fields(&d);
}

/* Draws have no experts on the ranks of several nodes, several on each. */
static void try_nodes_of_experts(void)
{
    static struct draw d;
    begin("qwen3-30b-a3b", "megatron-2025", &d);
    d.strategy.dp = d.strategy.ep = d.strategy.global_batch = 16;
    try_fields(&d);
}

/* Weights in fp32 that autocast casts, and an update operator by operator. */
static void try_autocast(void)
{
    static struct draw d;
    begin("llama3-8b", "huggingface-hopper", &d);
    d.strategy.states = (rk_state_recipe){4, 4, 8, 2, 2};
    d.strategy.foreach_update = true;
    try_fields(&d);
}

/* Fused attention that reads the bias of a model's positions. */
static void try_bias(void)
{
    static struct draw d;
    begin("baichuan2-13b", "mindspeed", &d);
    d.strategy.flash_attention = true;
    try_fields(&d);
}

/* Layers that run again by operators, of which activations are the fullest. */
static void try_operators(void)
{
    static struct draw d;
    begin("llama3-8b", "torchtitan", &d);
    d.strategy.dp = d.strategy.global_batch = 8;
    d.strategy.sharding = RK_SHARD_ALL;
    d.strategy.recompute = RK_REC_SELECTIVE;
    d.strategy.recompute_modules = RK_MODULE_OPERATORS;
    try_fields(&d);
}

static void test_every_field_moves_a_figure(void **state)
{
    const rk_field *field;
    const char *group;
    (void)state;
    const int draws = draw_count(400);
    draw_each(11, draws < 400 ? 400 : draws, check_fields); /* fewer leave fields without effect */
    try_recurrence("nemotron-h-56b");
    try_recurrence("qwen3-next-80b-a3b");
    try_nodes_of_experts();
    try_autocast();
    try_bias();
    try_operators();
    try_shards("deepspeed-hopper", 1, 0);  /* the update is the fullest */
    try_shards("deepspeed-hopper", 64, 0); /* a layer is */
    try_shards("huggingface-hopper", 64, 16);
    try_shards("deepspeed-hopper", 1, -1); /* the optimizer is on the host */
    int still = 0;
    for (size_t i = 0; (field = rk_stack_field_at(i, &group)) != NULL; i++) {
        if (!moved[i]) {
            print_message("%s.%s moves no figure\n", group, field->name);
            still++;
        }
    }
    assert_int_equal(still, 0);
}

/* ---- documents ------------------------------------------------------------------------------ */

/* Units in the table of fields and on the page; a flag has "flag". */
static void read_page(char page[PAGE_MAX])
{
    FILE *file = fopen(DOCUMENTS_PAGE, "r");
    assert_non_null(file);
    const size_t size = fread(page, 1, PAGE_MAX - 1, file);
    (void)fclose(file);
    assert_in_range(size, 1, PAGE_MAX - 2);
    page[size] = '\0';
}

static void test_page(void **state)
{
    static char page[PAGE_MAX];
    const rk_field *field;
    const char *group;
    (void)state;
    read_page(page);
    for (size_t i = 0; (field = rk_stack_field_at(i, &group)) != NULL; i++) {
        char row[128];
        const char *unit = field->type == RK_FIELD_BOOL ? "flag" : field->unit;
        assert_non_null(unit);
        (void)snprintf(row, sizeof(row), "\n| `%s.%s` | %s |", group, field->name, unit);
        if (!strstr(page, row)) {
            fail_msg("docs/method/documents.md lacks the row \"%s\"", row + 1);
        }
    }
}

/* A stack of groups that say nothing but one number; `of`: its group. */
static rk_stack stack_that_says(const char *of, const char *key, double value)
{
    static const char *const groups[] = {"rates",         "traffic", "host",
                                         "communication", "step",    "memory"};
    rk_stack stack;
    rk_error err;
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        json_t *group = json_object();
        (void)json_object_set_new(group, "source", json_string("none"));
        if (key && strcmp(groups[i], of) == 0) {
            (void)json_object_set_new(group, key, json_real(value));
        }
        (void)json_object_set_new(object, groups[i], group);
    }
    (void)json_object_set_new(object, "family", json_string("own"));
    (void)json_object_set_new(object, "year", json_integer(2025));
    (void)json_object_set_new(object, "generations", json_array());
    if (rk_stack_from_json(object, &stack, &err)) {
        fail_msg("%s.%s: %s", of, key ? key : "", err.message);
    }
    json_decref(object);
    return stack;
}

static double value_in(const rk_stack *stack, const rk_field *field)
{
    const void *place = (const char *)stack + field->offset;
    return field->type == RK_FIELD_BOOL ? *(const bool *)place
                                        : *(const double *)place / rk_stack_unit(field);
}

/* What a document leaves out is what the page says: a number, false, or another key's value. */
static void test_defaults(void **state)
{
    static char page[PAGE_MAX];
    const rk_stack empty = stack_that_says("", NULL, 0);
    const rk_field *field;
    const char *group;
    int followers = 0;
    (void)state;
    read_page(page);
    for (size_t i = 0; (field = rk_stack_field_at(i, &group)) != NULL; i++) {
        char row[128], usual[64] = "";
        (void)snprintf(row, sizeof(row), "\n| `%s.%s` | ", group, field->name);
        const char *at = strstr(page, row);
        assert_non_null(at);
        (void)sscanf(at + strlen(row), "%*[^|]| %63[^|]", usual);
        usual[strcspn(usual, " ")] = '\0';
        const bool follows = usual[0] == '`' || strcmp(usual, "step_seconds") == 0;
        if (!follows) { /* "the accelerator's" is 0, and so is an empty cell */
            char *end = NULL;
            const double number = strtod(usual, &end);
            if (value_in(&empty, field) != (*end ? 0 : number)) {
                fail_msg("%s.%s is %g, not %s", group, field->name, value_in(&empty, field), usual);
            }
            continue;
        }
        const size_t quote = usual[0] == '`';
        usual[strcspn(usual + quote, "`") + quote] = '\0';
        const rk_stack other = stack_that_says(group, usual + quote, 0.5);
        const rk_stack own = stack_that_says(group, field->name, 0.25);
        if (value_in(&other, field) != 0.5 || value_in(&own, field) != 0.25) {
            fail_msg("%s.%s does not follow %s", group, field->name, usual);
        }
        followers++;
    }
    assert_int_equal(followers, 8);
}

static void test_sources(void **state)
{
    int documents = 0;
    (void)state;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        rk_json_doc doc;
        rk_error err;
        const char *key;
        json_t *group;
        if (strcmp(rk_catalogue[i].kind, "stacks") != 0) {
            continue;
        }
        documents++;
        assert_int_equal(rk_json_parse(rk_catalogue[i].text, rk_catalogue[i].size,
                                       rk_catalogue[i].name, &doc, &err),
                         RK_OK);
        json_object_foreach(doc.root, key, group)
        {
            const char *source = json_string_value(json_object_get(group, "source"));
            if (json_is_object(group) && (!source || strlen(source) < 10)) {
                fail_msg("%s: %s has no source", rk_catalogue[i].name, key);
            }
        }
        rk_json_clear(&doc);
    }
    assert_true(documents > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_moves_a_figure),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_sources),
    };
    return cmocka_run_group_tests(tests, draw_load, NULL);
}
