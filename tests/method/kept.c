/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A problem that is asked again, as for the points of a sweep, keeps nothing of the request before:
 * with each field set and then left out, it answers as a problem that never saw that field.
 */
#include "io/document.h"
#include "method/method.h"
#include "request/request.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIELD(field, type, member, set)                                                            \
    {                                                                                              \
        .name = #field, .offset = offsetof(rk_request, field), .size = sizeof(type),               \
        .value.member = (set)                                                                      \
    }
#define COUNT_FIELD(field, set) FIELD(field, int64_t, count, set)
#define INDEX_FIELD(field, set) FIELD(field, int, index, set)
#define REAL_FIELD(field, set)  FIELD(field, double, real, set)
#define TRUTH_FIELD(field)      FIELD(field, bool, truth, true)

/* Fields that change what a request makes of the machine, the software, the model or the space. */
static const struct field {
    const char *name;
    size_t offset, size;
    union {
        int64_t count;
        double real;
        int index;
        bool truth;
    } value;
} fields[] = {
    COUNT_FIELD(gpus_per_node, 4),  COUNT_FIELD(gpus_per_node, 2),   COUNT_FIELD(accelerators, 32),
    COUNT_FIELD(global_batch, 128), COUNT_FIELD(seq, 2048),          COUNT_FIELD(lora_rank, 16),
    COUNT_FIELD(document, 1024),    COUNT_FIELD(mtp_layers, 2),      INDEX_FIELD(framework, 0),
    INDEX_FIELD(framework, 1),      INDEX_FIELD(framework, 2),       INDEX_FIELD(convention, 1),
    INDEX_FIELD(convention, 2),     INDEX_FIELD(precision, 1),       INDEX_FIELD(optimizer, 2),
    INDEX_FIELD(gradients, 1),      REAL_FIELD(max_memory, 41.5),    REAL_FIELD(risk, 30),
    REAL_FIELD(imbalance, 1.5),     REAL_FIELD(host_memory, 300),    TRUTH_FIELD(graph_capture),
    TRUTH_FIELD(side_links),        TRUTH_FIELD(expandable_segments)};

static rk_request usual_request(const char *system)
{
    rk_request request = rk_request_defaults();
    request.model = "llama3-8b";
    request.system = system;
    request.accelerators = 16;
    request.global_batch = 64;
    request.tp.count = request.pp.count = request.cp.count = request.micro_batch.count = 1;
    request.tp.values[0] = 8; /* a node */
    request.pp.values[0] = request.cp.values[0] = request.micro_batch.values[0] = 1;
    return request;
}

static void load(rk_problem *problem, const rk_request *request)
{
    rk_error err;
    *problem = (rk_problem){.method = &rk_method_reckon};
    assert_int_equal(problem->method->load(problem, RK_DOCUMENT_MODEL,
                                           &(rk_source){.name = request->model}, &err),
                     RK_OK);
    assert_int_equal(problem->method->load(problem, RK_DOCUMENT_SYSTEM,
                                           &(rk_source){.name = request->system}, &err),
                     RK_OK);
}

/* The strategy of a request, evaluated; says why where it is refused. */
static rk_status ask(rk_problem *problem, const rk_request *request, rk_candidate *candidate)
{
    rk_error err;
    memset(candidate, 0, sizeof(*candidate));
    rk_status status = problem->method->space(problem, request, true, &err);
    if (!status) {
        status = rk_request_strategy(request, &problem->reckon.inputs, &candidate->strategy, &err);
    }
    status = status ? status : problem->method->evaluate(problem, candidate, &err);
    if (status) {
        print_message("%s\n", err.message);
    }
    return status;
}

static bool is_same(const rk_candidate *one, const rk_candidate *other)
{
    const double a[] = {one->step, one->memory, one->efficiency, one->offloaded},
                 b[] = {other->step, other->memory, other->efficiency, other->offloaded};
    return memcmp(a, b, sizeof(a)) == 0 && one->fits == other->fits && one->risky == other->risky;
}

static void require_same(const rk_problem *one, const rk_problem *other)
{
    const rk_inputs *a = &one->reckon.inputs, *b = &other->reckon.inputs;
    assert_int_equal(a->system.tier_count, b->system.tier_count);
    assert_memory_equal(a->system.tiers, b->system.tiers, sizeof(a->system.tiers));
    assert_memory_equal(&a->system.accelerator.memory_usable, &b->system.accelerator.memory_usable,
                        sizeof(double));
    assert_int_equal(a->software.framework, b->software.framework);
    assert_int_equal(a->software.convention, b->software.convention);
    assert_string_equal(a->software.stack.name, b->software.stack.name);
    assert_memory_equal(&a->risk, &b->risk, sizeof(a->risk));
}

/* Returns the number of fields that moved the answer. */
static size_t check_fields(const char *system)
{
    const rk_request without = usual_request(system);
    rk_problem fresh;
    rk_candidate expected, before, after;
    size_t moved = 0;
    load(&fresh, &without);
    assert_int_equal(ask(&fresh, &without, &expected), RK_OK);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        rk_problem problem;
        rk_request with = without;
        memcpy((char *)&with + fields[i].offset, &fields[i].value, fields[i].size);
        load(&problem, &without);
        const rk_status answered = ask(&problem, &with, &before);
        moved += answered == RK_OK && !is_same(&before, &expected);
        assert_int_equal(ask(&problem, &without, &after), RK_OK);
        if (!is_same(&after, &expected)) {
            fail_msg("%s: a step of %.9g s where %.9g s is expected", fields[i].name, after.step,
                     expected.step);
        }
        require_same(&problem, &fresh);
        assert_int_equal(ask(&problem, &with, &after), answered); /* and the other way round */
        assert_true(is_same(&after, &before));
        problem.method->clear(&problem);
    }
    fresh.method->clear(&fresh);
    return moved;
}

static void test_fields(void **state)
{
    static const char *const systems[] = {"h100-sxm", "gb200-nvl72", "frontier"};
    (void)state;
    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        const size_t moved = check_fields(systems[i]);
        print_message("%s: %zu fields move the step\n", systems[i], moved);
        assert_true(moved >= 10); /* the others matter to what is not asked here */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
