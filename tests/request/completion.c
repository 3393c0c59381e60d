/* SPDX-License-Identifier: Apache-2.0 */
/* The policies by which a strategy is completed, facts of --set, and where fields come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "command/commands.h"
#include "request/request.h"
#include "request/strategy_choices.h"
#include "stack/stack_doc.h"
#include "strategy/strategy_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#define HUB                                                                                        \
    "framework=huggingface tp=1 pp=1 cp=1 micro-batch=1 zero=3 recompute=full seq=4096 "           \
    "complete=observed"
#define TITAN "framework=torchtitan tp=8 pp=4 cp=1 vp=1 micro-batch=1 zero=3 recompute=full"
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

/* ---- what a fact changes ----------------------------------------------------------------------
 */

enum { CHANGES_SIZE = 1024 };

static void add_change(char *text, const char *key, const char *value)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, CHANGES_SIZE - used, "%s%s=%s", used ? " " : "", key, value);
}

static void add_number(char *text, const char *group, const char *key, double value)
{
    char name[128], number[32];
    (void)snprintf(name, sizeof(name), "%s%s%s", group, *group ? "." : "", key);
    (void)snprintf(number, sizeof(number), "%.6g", value);
    add_change(text, name, number);
}

static double number_at(const rk_stack *stack, const rk_field *field)
{
    const void *place = (const char *)stack + field->offset;
    return field->type == RK_FIELD_BOOL ? *(const bool *)place
                                        : *(const double *)place / rk_stack_unit(field);
}

/* The numbers of the stack and the machine and the fields of the strategy in which two differ. */
static void list_changes(const question *from, const question *to, char text[CHANGES_SIZE])
{
    const rk_stack *before = &from->inputs.software.stack, *after = &to->inputs.software.stack;
    const rk_accelerator *a = &from->inputs.system.accelerator, *b = &to->inputs.system.accelerator;
    const char *group;
    const rk_field *field;
    text[0] = '\0';
    if (strcmp(before->name, after->name) != 0) {
        add_change(text, "stack", after->name);
    }
    for (size_t i = 0; (field = rk_stack_field_at(i, &group)); i++) {
        if (number_at(before, field) != number_at(after, field)) {
            add_number(text, group, field->name, number_at(after, field));
        }
    }
    for (size_t i = 0; i < RK_STRATEGY_FIELD_COUNT; i++) {
        char one[RK_STRATEGY_TEXT_SIZE], other[RK_STRATEGY_TEXT_SIZE];
        const char *value = rk_strategy_text(&to->strategy, i, other);
        if (strcmp(rk_strategy_text(&from->strategy, i, one), value) != 0) {
            add_change(text, rk_strategy_key(i), value);
        }
    }
    if (from->strategy.offload_layers != to->strategy.offload_layers) {
        add_number(text, "", "offload_layers", (double)to->strategy.offload_layers);
    }
    if (a->memory_usable != b->memory_usable) {
        add_number(text, "", "memory_GiB", b->memory_usable / 0x1p30);
    }
}

/* The facts of docs/completion.md: what the rules of data/runs/defaults.json say of each. */
static const struct {
    const char *words, *set, *changes;
} facts_set[] = {
    {WHOLE, "compile=false",
     "traffic.norm_forward=48 traffic.norm_backward=60 traffic.activation_passes=2"},
    {WHOLE, "compile=true", ""},
    {WHOLE, "fp8_cast=eager", "traffic.cast_passes=1.2"},
    {WHOLE, "fp8_cast=fused", ""},
    {WHOLE, "dispatcher=alltoall", "host.waits_for_counts=1 communication.deduplicates=0"},
    {WHOLE, "dispatcher=deepep", "host.waits_for_counts=1"},
    {WHOLE, "dispatcher=hybridep", ""},
    {WHOLE, "loss_fusion=none",
     "traffic.loss_bytes=40 memory.logit_bytes=6 memory.split_logit_bytes=6"},
    {WHOLE, "loss_fusion=native",
     "traffic.loss_bytes=28 memory.logit_bytes=6 memory.split_logit_bytes=6"},
    {WHOLE, "loss_fusion=fused", ""},
    {WHOLE " stack=megatron-2024", "loss_fusion=fused",
     "traffic.loss_bytes=8 memory.logit_bytes=2 memory.split_logit_bytes=2"},
    {WHOLE, "permute_fusion=true", ""},
    {WHOLE, "permute_fusion=false", "traffic.permute_passes=1.67 host.exchange_kernels=160"},
    {WHOLE " stack=megatron-2024", "permute_fusion=true",
     "traffic.permute_passes=1 host.exchange_kernels=84"},
    {WHOLE, "dropout=true", "traffic.dropout_bytes=18"},
    {WHOLE, "dropout=false", ""},
    {WHOLE, "tiled_mlp=true", "memory.tiled_mlp=1"},
    {WHOLE, "tiled_mlp=false", ""},
    {WHOLE, "adapter_dropout=true", "memory.adapter_dropout=1"},
    {WHOLE, "adapter_dropout=false", ""},
    {WHOLE, "expert_loop=true",
     "host.expert_kernels=16 host.expert_backward_launches=1.75 host.waits_for_counts=1 "
     "memory.kept_outputs=2"},
    {WHOLE, "expert_loop=false", ""},
    {WHOLE, "launch_blocking=true", "host.blocks_launches=1 overlap=none"},
    {WHOLE " overlap=grad", "launch_blocking=true", "host.blocks_launches=1"},
    {WHOLE, "launch_blocking=false", ""},
    {WHOLE, "composed=true", "step.step_seconds=0"},
    {WHOLE, "composed=false", ""},
    {WHOLE, "scan_layers=true", "communication.dp_exposed=0.82"},
    {WHOLE, "scan_layers=false", ""},
    {WHOLE, "chunk_overlap=true", ""},
    {WHOLE, "chunk_overlap=false", "communication.overlaps_chunks=0"},
    {WHOLE, "fused_activation=true", ""},
    {"system=atlas-800t-a2 tp=8 pp=4 cp=1 ep=1 vp=1 micro-batch=1 zero=1 recompute=full "
     "framework=mindspeed",
     "fused_activation=true", "traffic.activation_passes=1"},
    {WHOLE, "routing=uniform", ""},
    {WHOLE, "routing=in_turn", "communication.routes_in_turn=1"},
    {WHOLE, "routing=natural", "imbalance=1.52"},
    {WHOLE " imbalance=1.25", "routing=natural", ""},
    {WHOLE, "network_state=slow", "memory.gathered_share=0"},
    {WHOLE, "network_state=normal", ""},
    {WHOLE, "fabric=efa", ""},
    {WHOLE, "kernels=transformer-engine", ""},
    {TITAN, "kernels=transformer-engine",
     "rates.gemm_share=1 rates.attention_share=1.11 rates.attention_backward_share=1.06 "
     "rates.attention_ramp_tokens=1590 rates.stream_share=0.8 traffic.permute_passes=1"},
    {TITAN, "kernels=framework", ""},
    {WHOLE, "kernels=fused", ""},
    {WHOLE, "trainer=litgpt", ""},
    {WHOLE, "trainer=optimum-habana", ""},
    {TITAN, "trainer=optimum-habana", ""},
    {TITAN, "compile=false",
     "traffic.norm_forward=48 traffic.norm_backward=60 traffic.activation_passes=2 "
     "memory.keeps_activation=1 memory.logit_bytes=12 memory.drops_outputs=0"},
    {HUB, "trainer=optimum-habana", "traffic.norm_forward=16 traffic.norm_backward=20"},
    /* adapters of attention: 8 x 51,200 x 80 weights of 70.55e9, which are held in 2 bytes */
    {HUB " lora-rank=8", "trainer=litgpt",
     "memory.adapter_dropout=1 weight_bytes_per_parameter=2.000928881036232 "
     "adapter_bytes_per_weight=2"},
    {HUB " lora-rank=8", "trainer=litgpt,adapter_dropout=false",
     "weight_bytes_per_parameter=2.000928881036232 adapter_bytes_per_weight=2"},
    {HUB " set=task=sft", "trainer=litgpt", "memory.sums_whole=1"},
    {HUB " set=task=sft", "kernels=fused",
     "traffic.norm_forward=16 traffic.norm_backward=20 traffic.qk_passes=1"},
    {WHOLE, "trainer=fms-acceleration", "memory.whole_experts=1"},
    {WHOLE, "offload_layers=2", "offload_layers=2"},
    {WHOLE, "sub_group_params=1e8", "step_parameters=100000000"},
    {WHOLE, "logit_bytes=4", "logit_bytes=4"},
    {WHOLE, "adapter_bytes=4", "adapter_bytes_per_weight=4"},
    {WHOLE, "wide_residual=1", ""},
    {WHOLE " lora-rank=8 qlora", "wide_residual=true", "wide_residual=yes"},
    {WHOLE " lora-rank=8", "wide_residual=true", ""},
    {WHOLE " lora-rank=8", "adapts_embeddings=true", "adapts_embeddings=yes"},
    {WHOLE, "adapts_embeddings=true", ""},
    {WHOLE " max-memory=40", "memory_GiB=60", ""},
};

static void test_each_fact(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof(facts_set) / sizeof(facts_set[0]); i++) {
        char words[256], text[CHANGES_SIZE];
        (void)snprintf(words, sizeof(words), "%s set=%s", facts_set[i].words, facts_set[i].set);
        const question *usual = asked(facts_set[i].words);
        list_changes(usual, asked(words), text);
        if (strcmp(text, facts_set[i].changes) != 0) {
            print_error("%s changes: %s\n", words, text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* Numbers of the machine, by their names and keys, in each of their units. */
static void test_numbers(void **state)
{
    static const struct {
        const char *set, *changes;
    } cases[] = {
        {"memory=64GiB", "memory_GiB=64"},
        {"memory=64GB", "memory_GiB=59.6046"}, /* 64e9 / 2^30 */
        {"memory=0.0625TiB", "memory_GiB=64"},
        {"memory=0.064TB", "memory_GiB=59.6046"},
        {"hbm=8TB/s", "memory_GBps=8000"},
        {"hbm=8000GB/s", "memory_GBps=8000"},
        {"hbm=8000gb/s", "memory_GBps=1000"}, /* with a small b, bits */
        {"hbm=8000GBps", "memory_GBps=8000"},
        {"hbm=8TBps", "memory_GBps=8000"},
        {"hbm=64000Gb/s", "memory_GBps=8000"},
        {"hbm=64Tb/s", "memory_GBps=8000"},
        {"peak=2PFLOP/s", "matrix_TFLOPps=2000"},
        {"peak=2000TFLOP/s", "matrix_TFLOPps=2000"},
        {"peak=2pflops", "matrix_TFLOPps=2000"},
        {"peak=2000TFLOPS", "matrix_TFLOPps=2000"},
        {"matrix_TFLOPps=2000", "matrix_TFLOPps=2000"},
        {"host_memory=0.5TiB", "offload_GiB=512"},
        {"offload_GiB=512", "offload_GiB=512"},
        {"host_link=128GB/s", "offload_GBps=128"},
        {"offload_GBps=128", "offload_GBps=128"},
        {"launch=7us", "launch_us=7"},
        {"launch=7000ns", "launch_us=7"},
        {"launch=0.007ms", "launch_us=7"},
        {"launch_us=7", "launch_us=7"},
        {"nvlink.size=16", "domain=16"},
        {"domain=16", "domain=16"},
        {"NVLink4.bandwidth=900GB/s", "tier0_GBps=900"},
        {"tier0.bandwidth=900GB/s", "tier0_GBps=900"},
        {"tier0_GBps=900", "tier0_GBps=900"},
        {"tier0_us=9", "tier0_us=9"},
        {"infiniband.bandwidth=100GB/s", "tier1_GBps=100"},
        {"ndr.latency=9us", "tier1_us=9"},
        {"network.latency=9us", "tier1_us=9"},
        {"tier1_us=9,tier1_GBps=100,hbm=8TB/s", "memory_GBps=8000 tier1_GBps=100 tier1_us=9"},
    };
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char words[256], text[CHANGES_SIZE] = "";
        rk_number before[RK_NUMBER_MAX], after[RK_NUMBER_MAX];
        (void)snprintf(words, sizeof(words), WHOLE " set=%s", cases[i].set);
        const size_t count = rk_system_numbers(&asked(WHOLE)->inputs.system, RK_BF16, before);
        assert_int_equal(count, rk_system_numbers(&asked(words)->inputs.system, RK_BF16, after));
        for (size_t n = 0; n < count; n++) {
            if (before[n].value != after[n].value) {
                add_number(text, "", after[n].key, after[n].value);
            }
        }
        if (strcmp(text, cases[i].changes) != 0) {
            print_error("%s changes: %s\n", cases[i].set, text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
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
        {"stack=megatron-2024 hsdp=2 zero=1 tp=8 pp=1 cp=1 ep=1 micro-batch=1 recompute=full",
         "the rule releases of the framework: Megatron-LM replicates shards since 2025, and the "
         "stack megatron-2024 is of 2024; leave out --hsdp, or use a later stack"},
        {"stack=megatron-2024 zero=3 tp=8 pp=1 cp=1 ep=1 micro-batch=1 recompute=full",
         "the rule releases of the framework: Megatron-LM has ZeRO-3 since 2025, and the stack "
         "megatron-2024 is of 2024; use ZeRO-1, or a later stack"},
        {"framework=deepspeed sequence-parallel tp=8 pp=1 cp=1 ep=1 micro-batch=1 zero=1 "
         "recompute=full",
         "DeepSpeed has no sequence parallelism; leave out --sequence-parallel"},
        {"framework=deepspeed tp=8 pp=2 vp=2 cp=1 ep=1 micro-batch=1 zero=1 recompute=full",
         "DeepSpeed runs no schedule with virtual pipeline stages; leave out --vp"},
        {"vp-layers=2 vp=2 pp=4", "--vp-layers and --vp exclude each other"},
        {"vp-layers=2", "--vp-layers needs --pp with one number"},
        {"vp-layers=2 pp=2,4", "--vp-layers needs --pp with one number"},
        {"vp-layers=3 pp=4", "--vp-layers 3: 80 layers are not a multiple of 12 = pp 4 x 3"},
        {"vp-layers=40 pp=4", "--vp-layers 40: 80 layers are not a multiple of 160 = pp 4 x 40"},
        {"accelerators=128 nodes=8",
         "8 nodes of h100 have 64 accelerators, not 128; leave out one of --nodes and "
         "--accelerators"},
        {"accelerators=64 nodes=1",
         "1 node of h100 has 8 accelerators, not 64; leave out one of --nodes and --accelerators"},
        {"lora-rank=8193", "--lora-rank is at most the width of a layer, 8192, and not 8193"},
        {"set=launch=2s", "--set launch needs a number such as 5us, not '2s'"},
        {"set=tier7_us=3", "--set tier7_us: stacks have no number of this name "
                           "(docs/method/documents.md), and h100-sxm has memory"},
        {"system=tpu-v5p set=none.size=4",
         "--set none.size: stacks have no number of this name (docs/method/documents.md), and "
         "tpu-v5p has memory, hbm, peak, host_memory, host_link, torus.bandwidth, torus.latency, "
         "dcn.bandwidth, dcn.latency"},
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

/* Whether a field is that of a second option, which the first one needs. */
static bool goes_with(const char *options, size_t field)
{
    static const struct {
        const char *option, *field;
    } needed[] = {
        {" offload=optimizer", "offload"},
        {" precision=fp8", "precision"},
        {"graph-capture ", "graph_capture"},
        {" lora-rank=8", "adapter_rank"},
        {" cross-entropy=", "cross_entropy"},
        {" count-head pp=2", "count_head"},
        {" count-embedding pp=2", "count_embedding"},
    };
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (strstr(options, needed[i].option) && rk_find_strategy_field(needed[i].field) == field) {
            return true;
        }
    }
    return false;
}

/* Every option makes its field a stated one, and no other option does. */
static void test_origins(void **state)
{
    static const struct {
        const char *option, *field;
    } fields[] = {
        {"seq=4096", "seq_tokens"},
        {"dp=2", "dp"},
        {"no-sp", "sp"},
        {"use-tp-pp-dp-mapping", "rank_order"},
        {"recompute-layers=10", "recompute_layers"},
        {"first-stage-layers=17", "first_stage_layers"},
        {"count-embedding count-head pp=2", "count_embedding"},
        {"count-head count-embedding pp=2", "count_head"},
        {"layout=20,20,20,20", "layout"},
        {"offload-share=0.5 offload=optimizer", "offload_share"},
        {"fp8-recipe=delayed precision=fp8", "recipe"},
        {"fp8-param-gather precision=fp8", "low_precision_weights"},
        {"fp8-activation-input precision=fp8", "fp8_activation_input"},
        {"graph-capture graph-modules=attn", "graph_modules"},
        {"graph-capture graph-step", "graph_step"},
        {"lora-modules=mlp lora-rank=8", "adapter_modules"},
        {"qlora lora-rank=8", "nf4_weights"},
        {"frozen-weights=int8 lora-rank=8", "quantised_weights"},
        {"weights=fp32", "weight_bytes_per_parameter"},
        {"gradients=fp32", "gradient_bytes_per_parameter"},
        {"moments=bf16", "optimizer_bytes_per_parameter"},
        {"optimizer-impl=fused", "foreach_update"},
        {"expandable-segments", "expandable_segments"},
        {"cross-entropy=full", "cross_entropy"},
        {"loss-chunk=512 cross-entropy=chunked", "loss_chunk_tokens"},
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
            const bool stated = own.of[f] == RK_ORIGIN_STATED && !goes_with(fields[i].option, f);
            if (stated != (f == field || usual.of[f] == RK_ORIGIN_STATED)) {
                fail_msg("%s: %s is %s", fields[i].option, rk_strategy_key(f),
                         rk_origin_names[own.of[f]]);
            }
        }
        assert_int_not_equal(usual.of[field], RK_ORIGIN_STATED);
    }
}

/* An option and a fact of the same column say the same of an observed run. */
static void test_columns(void **state)
{
#define MIXTURE OPEN "model=mixtral-8x7b "
#define OPEN    "framework=megatron seq=4096 complete=observed "
    static const struct {
        const char *base, *option, *column;
    } pairs[] = {
        {OPEN, "tp=4", "tp=4"},
        {OPEN, "pp=2", "pp=2"},
        {OPEN, "cp=2", "cp=2"},
        {OPEN "pp=4", "vp=5", "vpp=5"},
        {OPEN "tp=4", "dp=16", "dp=16"},
        {OPEN, "micro-batch=2", "mbs=2"},
        {OPEN, "zero=2", "sharding=gradients"},
        {OPEN, "hsdp=2 zero=1", "replicas=2,sharding=optimizer"},
        {OPEN "tp=4", "sequence-parallel", "seq_parallel=true"},
        {OPEN "tp=4", "no-sp", "seq_parallel=false"},
        {OPEN "cp=2", "cp-kind=ulysses", "cp_kind=ulysses"},
        {OPEN "pp=4", "order=tp-cp-pp-dp", "rank_order=tp-cp-pp-dp"},
        {OPEN "pp=4", "use-tp-pp-dp-mapping", "rank_order=tp-cp-pp-dp"},
        {OPEN, "use-distributed-optimizer", "sharding=optimizer"},
        {OPEN, "recompute-modules=norm", "recompute=selective,recompute_modules=norm"},
        {MIXTURE, "ep=4", "ep=4"},
        {MIXTURE "ep=4 tp=2 sequence-parallel", "etp=1", "etp=1"},
        {MIXTURE "ep=4", "capacity-factor=1.25", "capacity_factor=1.25"},
        {MIXTURE "ep=4", "imbalance=1.5", "imbalance=1.5"},
        {MIXTURE "ep=4", "overlap=moe,tp",
         "tp_overlap=true,grad_overlap=false,param_overlap=false,moe_overlap=true"},
        {OPEN "pp=4 vp=1", "schedule=1f1b", "schedule=1f1b"},
        {OPEN, "recompute=full", "recompute=full"},
        {OPEN, "recompute=selective recompute-modules=norm,mlp",
         "recompute=selective,recompute_modules=norm+mlp"},
        {OPEN "pp=4", "layout=20,18,20,22", "stage_layers=20+18+20+22"},
        {OPEN, "precision=fp8", "precision=fp8"},
        {OPEN "precision=fp8", "fp8-recipe=blockwise", "fp8_recipe=blockwise"},
        {OPEN "precision=fp8", "fp8-param-gather", "low_weights=true"},
        {OPEN "precision=fp8", "fp8-activation-input", "low_activations=true"},
        {OPEN, "graph-capture", "graph_capture=true"},
        {OPEN "graph-capture", "graph-modules=attn,mlp", "graph_modules=attn+mlp"},
        {OPEN "graph-capture", "graph-step", "graph_step=true"},
        {OPEN, "lora-rank=16", "task=lora,lora_rank=16"},
        {OPEN "lora-rank=16", "lora-modules=mlp", "lora_modules=mlp"},
        {OPEN "lora-rank=16", "frozen-weights=int8", "frozen_type=int8"},
        {OPEN, "expandable-segments", "expandable_segments=true"},
        {OPEN, "cross-entropy=chunked", "cross_entropy=chunked"},
        {OPEN "cross-entropy=chunked", "loss-chunk=512", "loss_chunk=512"},
        {OPEN, "attention=unfused", "flash_attention=false"},
        {OPEN, "attention=flash_attention_2",
         "flash_attention=true,attention_kernel=flash_attention_2"},
        {OPEN, "overlap=grad",
         "tp_overlap=false,grad_overlap=true,param_overlap=false,moe_overlap=false"},
        {OPEN, "overlap=param",
         "tp_overlap=false,grad_overlap=false,param_overlap=true,moe_overlap=false"},
        {OPEN, "offload=none", "offload_activations=false"},
        {OPEN "recompute=none tp=8", "offload=activations", "offload_activations=true"},
    };
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char words[256], text[CHANGES_SIZE];
        (void)snprintf(words, sizeof(words), "%s %s", pairs[i].base, pairs[i].option);
        const question *option = asked(words);
        (void)snprintf(words, sizeof(words), "%s set=%s", pairs[i].base, pairs[i].column);
        const question *column = asked(words);
        list_changes(option, column, text);
        for (size_t f = 0; f < RK_STRATEGY_FIELD_COUNT; f++) {
            if (option->origins.of[f] != column->origins.of[f]) {
                add_change(text, rk_strategy_key(f), rk_origin_names[column->origins.of[f]]);
            }
        }
        if (text[0]) {
            print_error("%s is not %s: %s\n", pairs[i].option, pairs[i].column, text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
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
        cmocka_unit_test(test_facts),        cmocka_unit_test(test_each_fact),
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_wrong_facts),
        cmocka_unit_test(test_policies),     cmocka_unit_test(test_framework_facts),
        cmocka_unit_test(test_wide_systems), cmocka_unit_test(test_origins),
        cmocka_unit_test(test_columns),      cmocka_unit_test(test_searched_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
