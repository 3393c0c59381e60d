/* SPDX-License-Identifier: Apache-2.0 */
/* The policies by which a strategy is completed, facts of --set, and where fields come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command/commands.h"
#include "request/request.h"
#include "request/strategy_choices.h"

/* A question of options, and its completed strategy. */
typedef struct question {
    rk_inputs inputs;
    rk_strategy strategy;
    rk_origins origins;
    rk_estimate estimate;
    bool searched; /* the origins are those of a space */
} question;

static rk_status complete(const rk_request *request, question *q, rk_error *err)
{
    rk_plan_space space;
    rk_status status = rk_request_load(request, &q->inputs, err);
    if (status) {
        return status;
    }
    q->searched = !q->inputs.completed.done && !rk_request_is_strategy(request, &q->inputs);
    if (q->searched) {
        status = rk_request_space(request, &q->inputs, &space, err);
        q->origins = space.origins;
        q->strategy = space.base;
        return status;
    }
    status = rk_request_complete_strategy(request, &q->inputs, &q->strategy, &q->origins, err);
    q->strategy.layout = NULL; /* the request may go */
    q->strategy.layout_count = 0;
    return status ? status
                  : rk_estimate_step(&q->inputs.model, &q->inputs.system, &q->inputs.software.stack,
                                     &q->strategy, RK_FLOPS_MEGATRON, &q->estimate);
}

/* Asks with words such as "tp=8 pp=2 explain", and 64 H100 unless they say otherwise. */
static rk_status ask(const char *words, question *q, rk_error *err)
{
    char text[512];
    rk_job *job = NULL;
    (void)snprintf(text, sizeof(text),
                   "model=llama3-70b system=h100 accelerators=64 global-batch=512 %s", words);
    *err = (rk_error){.message = ""};
    rk_status status = rk_job_create(rk_command_find("estimate"), &job, err);
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word && !status;
         word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        if (equals) {
            *equals = '\0';
        }
        status = rk_job_set(job, word, equals ? equals + 1 : NULL, err);
    }
    status = status ? status : rk_job_start(job, NULL, NULL, NULL, err);
    status = status ? status : complete(rk_job_arguments(job), q, err);
    rk_job_free(job);
    return status;
}

static question *asked(const char *words)
{
    static question questions[4];
    static unsigned next;
    rk_error err;
    question *q = &questions[next++ % 4];
    rk_inputs_clear(&q->inputs);
    memset(q, 0, sizeof(*q));
    if (ask(words, q, &err)) {
        fail_msg("%s: %s", words, err.message);
    }
    return q;
}

#define WHOLE "tp=8 pp=4 cp=1 ep=1 vp=1 micro-batch=1 zero=1 recompute=full framework=megatron"

/* Facts change the machine and the stack as the columns of a run table do. */
static void test_facts(void **state)
{
    (void)state;
    const question *usual = asked(WHOLE), *eager = asked(WHOLE " set=compile=false");
    const rk_stack *stack = &usual->inputs.software.stack, *own = &eager->inputs.software.stack;
    assert_true(eager->estimate.step > usual->estimate.step);
    assert_true(own->activation_passes == 2 * stack->activation_passes);
    assert_true(own->norm_forward == 3 * stack->norm_forward);

    const question *blocked = asked(WHOLE " set=launch_blocking=true");
    assert_true(blocked->inputs.software.stack.blocks_launches);
    assert_false(blocked->strategy.tp_overlap || blocked->strategy.grad_overlap ||
                 blocked->strategy.param_overlap);

    const question *machine = asked(WHOLE " set=network_GBps=25,power_W=400,memory_GBps=2400,"
                                          "memory_GiB=60,traffic.loss_bytes=20,"
                                          "memory.workspace_GiB=0.5");
    const rk_system *system = &machine->inputs.system;
    assert_true(system->tiers[system->tier_count - 1].bandwidth == 25e9);
    assert_true(system->accelerator.memory_bandwidth == 2400e9);
    assert_true(system->accelerator.memory_usable == 60 * 0x1p30);
    assert_true(machine->inputs.software.stack.loss_bytes == 20);
    assert_true(machine->inputs.software.stack.workspace_bytes == 0x1p29);
    assert_true(machine->estimate.step > usual->estimate.step);

    const question *states = asked(WHOLE " set=weight_bytes=4,gradient_bytes=2,optimizer_bytes=8,"
                                         "gather_bytes=1,reduce_bytes=2");
    const rk_state_recipe *s = &states->strategy.states;
    assert_true(s->weight == 4 && s->gradient == 2 && s->optimizer == 8 && s->gather == 1 &&
                s->reduce == 2);
    assert_int_equal(rk_origin_of(&states->origins, "weight_bytes_per_parameter"),
                     RK_ORIGIN_STATED);
    /* and no search over the recipes of all frameworks changes them */
    const question *any = asked("framework=any set=gradient_bytes=1");
    assert_true(any->searched && any->strategy.states.gradient == 1);
    assert_int_equal(rk_origin_of(&any->origins, "gradient_bytes_per_parameter"), RK_ORIGIN_STATED);
    assert_int_equal(rk_origin_of(&asked("framework=any")->origins, "gradient_bytes_per_parameter"),
                     RK_ORIGIN_SEARCHED);
    /* a value may have commas: the next item begins with a name */
    assert_non_null(asked(WHOLE " complete=observed set=accelerator=H100,roce,year=2024"));
}

static void test_wrong_facts(void **state)
{
    static const struct {
        const char *words, *message;
    } cases[] = {
        {"set=compil=false", "--set compil: no such fact; did you mean compile?"},
        {"set=compile=maybe", "--set compile: expected one of true false, found 'maybe'"},
        {"set=dispatcher=deep",
         "--set dispatcher: expected one of alltoall deepep hybridep, found 'deep'"},
        {"set=recompute=full", "--set recompute: strategies have options for it ('reckon estimate "
                               "--help'); as a fact of a run it needs --complete observed"},
        {"set=traffic.none=1",
         "--set traffic.none: stacks have no number of this name (docs/method/documents.md), and "
         "h100-sxm has memory, hbm, peak, host_memory, host_link, nvlink.size, nvlink.bandwidth, "
         "nvlink.latency, infiniband.bandwidth, infiniband.latency"},
        {"set=traffic.loss_bytes=-1",
         "--set traffic.loss_bytes: expected a number from 0 to 10000, found '-1'"},
        {"set=memory.recompute_stops=2",
         "--set memory.recompute_stops: expected true or false, found '2'"},
        {"set=power_W=much",
         "column power_W: expected a number from 0 to 100000 (W), found a string \"much\""},
        {"set=compile",
         "--set needs up to 96 items such as nvlink.size=72,compile=false, not 'compile'"},
        {"complete=observed set=accelerator=H100,,compil=false",
         "--set compil: no such fact; did you mean compile?"},
        {"set=system_accelerators=8", "--set system_accelerators: expected a number from 1048576, "
                                      "as h100-sxm has, to 16777216, found '8'"},
        {"complete=observed optimizer=muon",
         "--complete observed does not take --optimizer; leave one of the two out"},
        {"complete=observed tp=2,4",
         "--tp has several values, and one strategy has one; 'reckon plan' searches them"},
        {"complete=observed tp=3",
         "degrees do not multiply to the accelerators: tp 3 x pp 1 x cp 1 x dp 21, n_accel 64"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static question q;
        rk_error err;
        memset(&q, 0, sizeof(q));
        assert_int_equal(ask(cases[i].words, &q, &err), RK_ERR_INVALID);
        if (!strstr(err.message, cases[i].message)) {
            fail_msg("%s: %s", cases[i].words, err.message);
        }
        rk_inputs_clear(&q.inputs);
    }
}

/* Open fields are searched, or get the framework's default or a value that fits. */
static void test_policies(void **state)
{
    (void)state;
    static const char open[] = "tp=8 pp=2 micro-batch=1";
    assert_true(asked(open)->searched);

    const question *launch = asked("tp=8 pp=2 micro-batch=1 complete=launch");
    assert_false(launch->searched);
    assert_false(launch->strategy.tp_overlap || launch->strategy.grad_overlap);
    assert_int_equal(launch->strategy.sharding, RK_SHARD_NONE);
    assert_int_equal(launch->strategy.recompute, RK_REC_NONE);
    assert_false(launch->estimate.fits); /* a default may not fit */
    assert_int_equal(rk_origin_of(&launch->origins, "zero"), RK_ORIGIN_DEFAULT);
    assert_int_equal(rk_origin_of(&launch->origins, "recompute"), RK_ORIGIN_DEFAULT);
    assert_int_equal(rk_origin_of(&launch->origins, "overlap"), RK_ORIGIN_DEFAULT);
    assert_int_equal(rk_origin_of(&launch->origins, "tp"), RK_ORIGIN_STATED);

    const question *sharded = asked("complete=launch framework=torchtitan micro-batch=1");
    assert_int_equal(sharded->strategy.sharding, RK_SHARD_ALL);
    assert_true(sharded->strategy.grad_overlap && !sharded->strategy.tp_overlap);

    const question *observed = asked("tp=8 pp=2 micro-batch=1 complete=observed");
    assert_false(observed->searched);
    assert_false(observed->strategy.tp_overlap);
    assert_true(observed->estimate.fits);
    assert_int_equal(rk_origin_of(&observed->origins, "recompute"), RK_ORIGIN_INFERRED);
    assert_int_equal(rk_origin_of(&observed->origins, "zero"), RK_ORIGIN_INFERRED);
    assert_int_equal(rk_origin_of(&observed->origins, "micro_batch"), RK_ORIGIN_STATED);
    assert_int_equal(rk_origin_of(&observed->origins, "dp"), RK_ORIGIN_DERIVED);

    /* a stated value is an order */
    const question *stated = asked("tp=8 pp=2 micro-batch=1 zero=0 recompute=none "
                                   "complete=observed");
    assert_int_equal(stated->strategy.sharding, RK_SHARD_NONE);
    assert_int_equal(stated->strategy.recompute, RK_REC_NONE);
    assert_int_equal(rk_origin_of(&stated->origins, "zero"), RK_ORIGIN_STATED);
}

/* NeMo's recipes overlap tensor parallelism: the same empty option by the same rules as a row. */
static void test_framework_facts(void **state)
{
    (void)state;
    const question *plain = asked(WHOLE " complete=observed sequence-parallel");
    const question *nemo = asked("tp=8 pp=4 cp=1 ep=1 vp=1 micro-batch=1 zero=1 recompute=full "
                                 "framework=any complete=observed "
                                 "set=framework=nemo,framework_version=25.07");
    assert_false(plain->strategy.tp_overlap);
    assert_true(nemo->strategy.tp_overlap);
    assert_string_equal(nemo->inputs.software.stack.name, "nemo-2025");
}

/* More accelerators than the document of the system has were there, if a run used them. */
static void test_wide_systems(void **state)
{
    (void)state;
    static question q;
    rk_error err;
    assert_int_equal(
        ask("system=dgx-h100-superpod accelerators=2048 global-batch=2048 " WHOLE, &q, &err),
        RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "1024, not 2048"));
    rk_inputs_clear(&q.inputs);
    const question *observed = asked("system=dgx-h100-superpod accelerators=2048 "
                                     "global-batch=2048 complete=observed " WHOLE);
    const question *said = asked("system=dgx-h100-superpod accelerators=2048 global-batch=2048 "
                                 "set=system_accelerators=4096 " WHOLE);
    assert_true(observed->estimate.step > 0 && said->estimate.step > 0);
}

/* Every option makes its field a stated one, and no other option does. */
static void test_origins(void **state)
{
    static const struct {
        const char *option, *field;
    } fields[] = {
        {"seq=4096", "seq_tokens"},
        {"document-tokens=512", "document_tokens"},
        {"precision=bf16", "precision"},
        {"attention=flash", "attention"},
        {"optimizer=adamw", "optimizer"},
        {"overlap=grad", "overlap"},
        {"order=tp-cp-pp-dp", "rank_order"},
        {"offload=none", "offload"},
        {"graph-capture", "graph_capture"},
        {"imbalance=1.5", "imbalance"},
        {"hsdp=2", "hsdp_replicas"},
        {"sequence-parallel", "sp"},
        {"schedule=1f1b", "schedule"},
        {"last-stage-layers=17", "last_stage_layers"},
        {"etp=1", "etp"},
        {"lora-rank=8", "adapter_rank"},
    };
    const rk_origins usual = asked(WHOLE)->origins;
    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        char words[256];
        (void)snprintf(words, sizeof(words), WHOLE " %s", fields[i].option);
        const rk_origins own = asked(words)->origins;
        const size_t field = rk_find_strategy_field(fields[i].field);
        for (size_t f = 0; f < RK_STRATEGY_FIELD_COUNT; f++) {
            const bool stated = own.of[f] == RK_ORIGIN_STATED;
            if (stated != (f == field || usual.of[f] == RK_ORIGIN_STATED)) {
                fail_msg("%s: %s is %s", fields[i].option, rk_strategy_key(f),
                         rk_origin_names[own.of[f]]);
            }
        }
        assert_int_not_equal(usual.of[field], RK_ORIGIN_STATED);
    }
}

/* Of a search: several are searched, one is stated, and what has one value follows. */
static void test_searched_origins(void **state)
{
    (void)state;
    const question *q = asked("tp=8 pp=2,4");
    static const struct {
        const char *field;
        rk_origin origin;
    } fields[] = {
        {"accelerators", RK_ORIGIN_STATED},  {"tp", RK_ORIGIN_STATED},
        {"pp", RK_ORIGIN_SEARCHED},          {"cp", RK_ORIGIN_SEARCHED},
        {"vp", RK_ORIGIN_SEARCHED},          {"ep", RK_ORIGIN_DERIVED},
        {"dp", RK_ORIGIN_DERIVED},           {"zero", RK_ORIGIN_SEARCHED},
        {"micro_batch", RK_ORIGIN_SEARCHED}, {"recompute", RK_ORIGIN_SEARCHED},
        {"global_batch", RK_ORIGIN_STATED},  {"overlap", RK_ORIGIN_ASSUMED},
        {"seq_tokens", RK_ORIGIN_ASSUMED},   {"sp", RK_ORIGIN_DEFAULT},
    };
    assert_true(q->searched);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (rk_origin_of(&q->origins, fields[i].field) != fields[i].origin) {
            fail_msg("%s is %s", fields[i].field,
                     rk_origin_names[rk_origin_of(&q->origins, fields[i].field)]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_wrong_facts),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_framework_facts),
        cmocka_unit_test(test_wide_systems),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_searched_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
