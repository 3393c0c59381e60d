/* SPDX-License-Identifier: Apache-2.0 */
/* What runs are taken to be by their software: data/runs/defaults.json. */
#include "evidence/run_facts.h"

#include "rows.h"

#define OF_SOFTWARE COLUMNS ",year,framework"

/*
 * JAX keeps parameters in fp32 and gathers them in bf16, also where products are in 8 bits: MaxText
 * on TPU, Paxml with Transformer Engine.
 */
static void test_jax_weights(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "1,x," MODEL "TPU v6e,256,1,1,,256,2,512,full,FSDP,FP8,1,,,2024,maxtext\n",
        "1,x," MODEL "H100,64,1,1,,64,2,128,none,FSDP,FP8,1,,,2024,paxml\n",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        rk_error err;
        assert_int_equal(fill_under(OF_SOFTWARE, rows[i], &c, &err), RK_OK);
        assert_int_equal(c.strategy.precision, RK_FP8);
        assert_false(c.strategy.low_weights);
        assert_near(c.strategy.states.gather, 2, 0);
    }
}

/*
 * Megatron-FSDP and the recipes of Megatron-Bridge sum and send gradients in 16 bits; Megatron by
 * itself, and what came before its FSDP, in 32, on every accelerator.
 */
static void test_fsdp_gradients(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        double bytes;
    } cases[] = {
        {"1,x," MODEL "H100,64,1,1,,64,2,128,none,FSDP,BF16,1,,,2025-08,megatron-core\n", 2},
        {"1,x," MODEL "H100,64,1,1,,64,2,128,none,FSDP,BF16,1,,,2025-03,megatron-core\n", 4},
        {"1,x," MODEL "H100,64,1,1,,64,2,128,none,ZeRO-1,BF16,1,,,2026,megatron-core\n", 4},
        {"1,x," MODEL "B200,64,1,1,,64,2,128,none,ZeRO-1,BF16,1,,,2026,megatron-lm\n", 4},
        {"1,x," MODEL "B200,64,1,1,,64,2,128,none,FSDP,BF16,1,,,2026,megatron-core\n", 2},
        {"1,x," MODEL "B200,64,1,1,,64,2,128,none,ZeRO-1,BF16,1,,,2026,megatron-bridge\n", 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static rk_run_case c;
        rk_error err;
        assert_int_equal(fill_under(OF_SOFTWARE, cases[i].row, &c, &err), RK_OK);
        assert_near(c.strategy.states.gradient, cases[i].bytes, 0);
        assert_near(c.strategy.states.reduce, cases[i].bytes, 0);
    }
}

/*
 * Megatron sums gradients of fp16 in fp16, and those of bf16 in fp32: a parameter has 16 and 18
 * bytes of states.  The optimizer makes fp32 copies of fp16 gradients when it steps, 4 bytes more,
 * which is when a checkpointed model needs most.
 */
static void test_megatron_gradients(void **state)
{
    (void)state;
    static const struct {
        const char *precision;
        double gradient, states, step;
    } cases[] = {{"FP16", 2, 16, 20}, {"BF16", 4, 18, 18}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static rk_run_case c;
        rk_run_prediction found;
        fill_printed(OF_SOFTWARE, &c,
                     "1,x," MODEL "A100,8,1,1,,8,1,8,full,none,%s,1,,,2023,megatron-lm\n",
                     cases[i].precision);
        assert_near(c.strategy.states.gradient, cases[i].gradient, 0);
        assert_near(c.strategy.states.reduce, cases[i].gradient, 0);
        (void)rk_run_predict(&sources, &c, NULL, NULL, &found, NULL);
        const rk_stage_memory *memory = &found.estimate.memory;
        const double states = memory->part[RK_MEM_WEIGHTS] + memory->part[RK_MEM_GRADIENTS] +
                              memory->part[RK_MEM_OPTIMIZER];
        const double params = memory->part[RK_MEM_WEIGHTS] / 2;
        assert_near(states, cases[i].states * params, 1e-6 * states);
        const bool stepping = memory->part[RK_MEM_ACTIVATIONS] <= 0;
        assert_int_equal(stepping, cases[i].step > cases[i].states);
        if (stepping) { /* beside buffers of a layer's gradients and the workspace */
            assert_near(memory->allocated, cases[i].step * params, 0.01 * states);
        }
    }
}

/* Attention that writes its scores: loops of XLA, and the one kernel of Transformer Engine. */
static void test_jax_scores(void **state)
{
    (void)state;
    static const struct {
        const char *kernels;
        double forward, backward;
    } rows[] = {{"", 8, 14}, {"transformer-engine", 4, 6}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c, changed;
        rk_run_prediction ruled, set;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "1,x," MODEL "A100,8,1,1,,8,1,8,none,none,BF16,1,,,2024,paxml,false,%s\n",
                       rows[i].kernels);
        assert_int_equal(fill_under(OF_SOFTWARE ",flash_attention,kernels", row, &c, &err), RK_OK);
        changed = c;
        changed.changes.count = 0;
        rk_stack stack = sources.stacks[c.stack];
        stack.score_forward = rows[i].forward;
        stack.score_backward = rows[i].backward;
        (void)rk_run_predict(&sources, &c, NULL, NULL, &ruled, NULL);
        (void)rk_run_predict(&sources, &changed, NULL, &stack, &set, NULL);
        assert_near(ruled.estimate.step, set.estimate.step, 1e-12);
    }
}

/* Bytes that Megatron's losses move and keep for a logit: its own fused one works on a copy in
 * fp32. */
static void test_losses(void **state)
{
    (void)state;
    static const struct {
        const char *loss;
        double moved, kept;
    } rows[] = {{"", 8, 2}, {"none", 40, 6}, {"native", 28, 6}, {"fused", 8, 2}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "1,x," MODEL "B200,8,1,1,,8,1,8,none,none,BF16,1,,,2026,megatron-core,%s\n",
                       rows[i].loss);
        assert_int_equal(fill_under(OF_SOFTWARE ",loss_fusion", row, &c, &err), RK_OK);
        rk_stack stack = sources.stacks[c.stack];
        rk_run_changes_apply(&c.changes, &stack);
        assert_near(stack.loss_bytes, rows[i].moved, 0);
        assert_near(stack.logit_bytes, rows[i].kept, 0);
        assert_near(stack.split_logit_bytes, rows[i].kept, 0);
    }
}

/* Whether interleaved chunks exchange beside one another is the stack's, unless the row says so. */
static void test_chunk_overlap(void **state)
{
    (void)state;
    static const char columns[] = OF_SOFTWARE ",network_GBps,chunk_overlap";
    double steps[3];
    for (int i = 0; i < 3; i++) {
        static const char *const said[] = {"", "false", "true"};
        static rk_run_case c;
        rk_run_prediction prediction;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "1,x," MODEL "H100,512,1,8,4,64,1,512,none,ZeRO-1,BF16,1,,,2024,nemo,2,%s\n",
                       said[i]);
        assert_int_equal(fill_under(columns, row, &c, &err), RK_OK);
        (void)rk_run_predict(&sources, &c, NULL, NULL, &prediction, NULL);
        steps[i] = prediction.estimate.step;
    }
    assert_near(steps[1], steps[0], 0);
    assert_true(steps[2] < steps[0]);
}

/* Software as tables of runs print it, and the framework that runs its steps. */
static void test_software_names(void **state)
{
    static const rk_named_text cases[] = {
        {"Megatron-Core 0.8", "megatron-core"},
        {"mcore", "megatron-core"},
        {"Megatron-LM", "megatron-lm"},
        {"megatron", "megatron-lm"},
        {"Megatron-Bridge", "megatron-bridge"},
        {"Megatron-DeepSpeed", "megatron-deepspeed"},
        {"GPT-NeoX", "gpt-neox"},
        {"neox", "gpt-neox"},
        {"NeMo 2", "nemo"},
        {"NeMo Framework", "nemo"},
        {"NeMo AutoModel", "nemo-automodel"},
        {"Automodel", "nemo-automodel"},
        {"Nanotron", "nanotron"},
        {"TorchTitan", "torchtitan"},
        {"LLM Foundry", "llm-foundry"},
        {"Composer", "llm-foundry"},
        {"MaxText", "maxtext"},
        {"Levanter", "maxtext"},
        {"EasyLM", "maxtext"},
        {"AXLearn", "maxtext"},
        {"JAX", "maxtext"},
        {"Paxml", "paxml"},
        {"pax", "paxml"},
        {"MindSpeed", "mindspeed"},
        {"MindSpeed-LLM", "mindspeed"},
        {"ModelLink", "mindspeed"},
        {"NeuronX", "neuronx"},
        {"NeuronX Distributed", "neuronx"},
        {"Optimum-Neuron", "neuronx"},
        {"InternEvo", "internevo"},
        {"Paddle", "paddle"},
        {"PaddlePaddle", "paddle"},
        {"PaddleNLP", "paddle"},
        {"Colossal-AI", "colossal-ai"},
        {"DeepSpeed", "deepspeed"},
        {"FSDP", "fsdp"},
        {"fsdp1", "fsdp"},
        {"FSDP2", "fsdp"},
        {"Fully Sharded Data Parallel", "fsdp"},
        {"PyTorch 2.3", "fsdp"},
        {"Lightning", "fsdp"},
        {"PyTorch Lightning", "fsdp"},
        {"Fabric", "fsdp"},
        {"LitGPT", "fsdp"},
        {"transformers", "fsdp"},
        {"Hugging Face", "fsdp"},
        {"HF Trainer", "fsdp"},
        {"Accelerate", "fsdp"},
        {"TRL", "fsdp"},
        {"axolotl", "fsdp"},
        {"LLaMA-Factory", "fsdp"},
        {"torchtune", "fsdp"},
        {"MS-Swift", "fsdp"},
        {"OLMo", "fsdp"},
        {"OLMo-core", "fsdp"},
        {"open_lm", "fsdp"},
        {"lingua", "fsdp"},
        {"fms-fsdp", "fsdp"},
        {"FMSFSDP", "fsdp"},
        {"fairseq", "fsdp"},
        {"metaseq", "fsdp"},
        {"FairScale", "fsdp"},
        {"PyTorch and Megatron-Core", "megatron-core"}, /* the name with most letters */
        {"x-DeepSpeed", "deepspeed"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *found = rk_run_framework(cases[i].name);
        if (!found || strcmp(found, cases[i].text) != 0) {
            fail_msg("%s: %s", cases[i].name, found ? found : "none");
        }
    }
    assert_null(rk_run_framework("deepspeeds"));
    assert_null(rk_run_framework("xdeepspeed"));
    assert_null(rk_run_framework("tensorflow"));
    assert_null(rk_run_framework(""));
}

/* Rules that are refused, with the place and the whole message. */
static void test_wrong_rules(void **state)
{
    static const struct {
        const char *rules, *path, *message;
    } cases[] = {
        {"[]", "rules", "expected a list of rules"},
        {"3", "rules", "expected a list of rules"},
        {"[3]", "rules[0]", "a rule says its \"reason\""},
        {"[{}]", "rules[0]", "a rule says its \"reason\""},
        {"[{\"if\": {}, \"reason\": \"\"}]", "rules[0]", "a rule says its \"reason\""},
        {"[{\"if\": {}, \"reason\": 3}]", "rules[0]", "a rule says its \"reason\""},
        {"[{\"if\": {}, \"reason\": \"r\", \"sett\": {}}]", "rules[0]",
         "unknown key; the keys are if, set, assume, stack_set, stack_scale, reason"},
        {"[{\"if\": 3, \"reason\": \"r\"}]", "rules[0].if",
         "expected an object of columns, found 3"},
        {"[{\"reason\": \"r\"}]", "rules[0].if", "expected an object of columns, found nothing"},
        {"[{\"if\": {\"id\": \"x\"}, \"reason\": \"r\"}]", "rules[0].if.id",
         "a rule reads facts: this column names the row or describes it"},
        {"[{\"if\": {\"notes\": \"x\"}, \"reason\": \"r\"}]", "rules[0].if.notes",
         "a rule reads facts: this column names the row or describes it"},
        {"[{\"if\": {\"other_flags\": \"x\"}, \"reason\": \"r\"}]", "rules[0].if.other_flags",
         "a rule reads facts: this column names the row or describes it"},
        {"[{\"if\": {\"commit_or_version\": \"x\"}, \"reason\": \"r\"}]",
         "rules[0].if.commit_or_version",
         "a rule reads facts: this column names the row or describes it"},
        {"[{\"if\": {\"framewrok\": \"x\"}, \"reason\": \"r\"}]", "rules[0].if.framewrok",
         "no column of runs has this name; did you mean \"framework\"?"},
        {"[{\"if\": {\"zzzzzzzzzzzz\": \"x\"}, \"reason\": \"r\"}]", "rules[0].if.zzzzzzzzzzzz",
         "no column of runs has this name"},
        {"[{\"if\": {\"tp\": true}, \"reason\": \"r\"}]", "rules[0].if.tp",
         "expected a text, a number, a list of them or {\"all\": a list}, found true"},
        {"[{\"if\": {\"tp\": []}, \"reason\": \"r\"}]", "rules[0].if.tp",
         "expected a text, a number, a list of them or {\"all\": a list}, found an array"},
        {"[{\"if\": {\"tp\": [1, true]}, \"reason\": \"r\"}]", "rules[0].if.tp",
         "expected a text, a number, a list of them or {\"all\": a list}, found an array"},
        {"[{\"if\": {\"tp\": {\"all\": 3}}, \"reason\": \"r\"}]", "rules[0].if.tp",
         "expected a text, a number, a list of them or {\"all\": a list}, found an object"},
        {"[{\"if\": {\"tp\": {\"any\": [3]}}, \"reason\": \"r\"}]", "rules[0].if.tp",
         "expected a text, a number, a list of them or {\"all\": a list}, found an object"},
        {"[{\"if\": {}, \"set\": {\"vocab\": -1}, \"reason\": \"r\"}]", "rules[0].set.vocab",
         "expected an integer from 0 to 1000000, found -1"},
        {"[{\"if\": {}, \"set\": {\"recompute_modules\": \"norm\"}, \"reason\": \"r\"}]",
         "rules[0].set.recompute_modules", "expected a list of modules, found a string \"norm\""},
        {"[{\"if\": {}, \"assume\": {\"lora_modules\": [\"mlp\", 3]}, \"reason\": \"r\"}]",
         "rules[0].assume.lora_modules[1]", "expected \"attention\" or \"mlp\", found 3"},
        {"[{\"if\": {}, \"set\": 3, \"reason\": \"r\"}]", "rules[0].set",
         "expected an object, found 3"},
        {"[{\"if\": {}, \"assume\": {\"gated\": 3}, \"reason\": \"r\"}]", "rules[0].assume.gated",
         "expected true or false, found 3"},
        {"[{\"if\": {}, \"set\": {\"stack\": \"no-such\"}, \"reason\": \"r\"}]", "",
         "the catalogue has no \"no-such\" in stacks; 'reckon list stacks' shows its names, and a "
         "file's name ends in .json or .json.gz"},
        {"[{\"if\": {}, \"stack_set\": 3, \"reason\": \"r\"}]", "rules[0].stack_set",
         "expected an object of numbers, found 3"},
        {"[{\"if\": {}, \"stack_set\": {\"loss\": 3}, \"reason\": \"r\"}]",
         "rules[0].stack_set.loss", "expected \"group.key\" as in a document of data/stacks"},
        {"[{\"if\": {}, \"stack_set\": {\"traffic.loss_bytes\": \"x\"}, \"reason\": \"r\"}]",
         "rules[0].stack_set.traffic.loss_bytes", "expected a number, found a string \"x\""},
        {"[{\"if\": {}, \"stack_set\": {\"memory.transposes_again\": 1}, \"reason\": \"r\"}]",
         "rules[0].stack_set.memory.transposes_again", "expected true or false, found 1"},
        {"[{\"if\": {}, \"stack_scale\": {\"traffic.loss_bytes\": true}, \"reason\": \"r\"}]",
         "rules[0].stack_scale.traffic.loss_bytes", "expected a number, found true"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        rk_run_sources wrong;
        rk_error err = {0};
        (void)snprintf(text, sizeof(text), "{\"rules\": %s}", cases[i].rules);
        assert_int_not_equal(rk_run_sources_load(text, &wrong, &err), RK_OK);
        assert_null(wrong.rules);
        if (strcmp(err.path, cases[i].path) != 0 || strcmp(err.message, cases[i].message) != 0) {
            fail_msg("%s: %s: %s", cases[i].rules, err.path, err.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_software_names), cmocka_unit_test(test_jax_weights),
        cmocka_unit_test(test_fsdp_gradients), cmocka_unit_test(test_megatron_gradients),
        cmocka_unit_test(test_jax_scores),     cmocka_unit_test(test_losses),
        cmocka_unit_test(test_chunk_overlap),  cmocka_unit_test(test_wrong_rules),
    };
    return cmocka_run_group_tests(tests, load_sources, clear_sources);
}
