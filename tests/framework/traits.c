/* SPDX-License-Identifier: Apache-2.0 */
/* What every framework runs and what it does by default, as docs/frameworks.md has it. */
#include "../layer/blocks.h"

#include "framework/framework.h"
#include "strategy/strategy_fields.h"

#include <stdio.h>

enum { TEXT_SIZE = 1024 };

static void add(char *text, const char *first, const char *second)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, TEXT_SIZE - used, "%s%s", first, second);
}

/* "; what: a b c" for a set with names. */
static void add_set(char *text, const char *what, unsigned set, const char *const *names)
{
    add(text, "; ", what);
    for (unsigned i = 0; names[i]; i++) {
        if (set >> i & 1U) {
            add(text, " ", names[i]);
        }
    }
}

static void describe(const rk_framework_traits *f, char text[TEXT_SIZE])
{
    static const char *const stages[] = {"0", "1", "2", "3", NULL};
    const rk_state_recipe *s = &f->states;
    const struct {
        bool has;
        const char *name;
    } abilities[] = {
        {f->all, "all"},
        {f->expert_act, "expert-act"},
        {f->sp, "sp"},
        {f->etp, "etp"},
        {f->whole_experts, "whole-experts"},
        {f->some_layers, "some-layers"},
        {f->every_layer, "every-layer"},
        {f->patterns, "patterns"},
        {f->plain_alone, "plain-alone"},
        {f->weight_offload, "weight-offload"},
        {f->nvme, "nvme"},
        {f->keeps_activations, "keeps-activations"},
        {f->shards_matrices, "shards-matrices"},
        {f->narrow_states, "narrow-states"},
        {f->half_sums, "half-sums"},
        {f->foreach_update, "foreach"},
        {f->unnamed_part != NULL, "launches"},
    };
    text[0] = '\0';
    add(text, f->title, "");
    add_set(text, "on", f->runs_on, rk_generation_names);
    add_set(text, "usual", f->usual_on, rk_generation_names);
    add(text, "; stacks", "");
    for (const char *const *stack = f->stacks; *stack; stack++) {
        add(text, " ", *stack);
    }
    add_set(text, "schedules", f->schedules, rk_schedule_names);
    add_set(text, "zero", f->shardings, stages);
    add_set(text, "with pp", f->deep_shards, stages);
    add_set(text, "cp", f->cp_kinds, rk_cp_kind_names);
    add_set(text, "order", f->orders, rk_rank_order_names);
    add_set(text, "modules", f->modules, rk_module_names);
    add_set(text, "always", f->always, rk_module_names);
    add(text, "; can", "");
    for (size_t i = 0; i < sizeof(abilities) / sizeof(abilities[0]); i++) {
        add(text, abilities[i].has ? " " : "", abilities[i].has ? abilities[i].name : "");
    }
    const size_t used = strlen(text);
    (void)snprintf(text + used, TEXT_SIZE - used,
                   "; default %s zero %d cp %s recompute %s states %g+%g+%g %g %g adapters %g %g "
                   "flops %s since %d %d",
                   rk_schedule_names[f->schedule], (int)f->sharding, rk_cp_kind_names[f->cp_kind],
                   rk_recompute_kind_names[f->recompute], s->weight, s->gradient, s->optimizer,
                   s->gather, s->reduce, f->frozen_bytes, f->adapter_bytes,
                   rk_flop_convention_names[f->convention], f->replicas_year, f->shards_year);
}

static void test_traits(void **state)
{
    static const char *const expected[RK_FRAMEWORK_COUNT] = {
        [RK_FRAMEWORK_ANY] =
            "any framework; on none volta ampere hopper blackwell cdna2 cdna3 cdna4 gaudi ascend "
            "tpu trainium; usual; stacks megatron; schedules gpipe 1f1b interleaved zb-h1 zb-h2 "
            "zb-v dualpipe v-half v-min; zero 0 1 2 3; with pp 0 1 2 3; cp ring all-gather "
            "ulysses; order tp-cp-dp-pp tp-cp-pp-dp; modules core_attn norm act mla_up mlp moe "
            "operators mhc attn_proj; always; can all sp etp some-layers weight-offload "
            "narrow-states; default 1f1b zero 1 cp ring recompute none states 2+4+12 2 4 adapters "
            "0 0 flops megatron since 0 0",
        [RK_FRAMEWORK_MEGATRON] =
            "Megatron-LM; on none volta ampere hopper blackwell cdna2 cdna3 cdna4; usual none "
            "volta ampere hopper blackwell cdna2 cdna3 cdna4; stacks megatron; schedules 1f1b "
            "interleaved; zero 0 1 2 3; with pp 0 1; cp ring all-gather ulysses; order tp-cp-dp-pp "
            "tp-cp-pp-dp; modules core_attn norm act mla_up mlp moe mhc; always; can expert-act sp "
            "etp some-layers patterns weight-offload narrow-states half-sums launches; default "
            "1f1b zero 1 cp ring recompute none states 2+4+12 2 4 adapters 0 0 flops megatron "
            "since 2025 2025",
        [RK_FRAMEWORK_TORCHTITAN] =
            "torchtitan; on none volta ampere hopper blackwell cdna2 cdna3 cdna4; usual; stacks "
            "torchtitan; schedules gpipe 1f1b interleaved zb-v; zero 0 2 3; with pp 0 2 3; cp ring "
            "all-gather; order tp-cp-dp-pp; modules operators; always; can sp every-layer "
            "plain-alone weight-offload keeps-activations shards-matrices launches; default 1f1b "
            "zero 3 cp ring recompute none states 4+4+8 2 4 adapters 0 0 flops torchtitan since 0 "
            "0",
        [RK_FRAMEWORK_DEEPSPEED] =
            "DeepSpeed; on none volta ampere hopper blackwell cdna2 cdna3 cdna4 gaudi ascend; "
            "usual gaudi; stacks deepspeed; schedules 1f1b; zero 0 1 2 3; with pp 0 1; cp ulysses; "
            "order tp-cp-dp-pp tp-cp-pp-dp; modules core_attn norm act mla_up mlp moe mhc; always; "
            "can whole-experts some-layers weight-offload nvme shards-matrices; default 1f1b zero "
            "0 cp ulysses recompute none states 2+2+12 2 2 adapters 0 0 flops megatron since 0 0",
        [RK_FRAMEWORK_MINDSPEED] =
            "MindSpeed-LLM; on ascend; usual ascend; stacks mindspeed; schedules 1f1b interleaved; "
            "zero 0 1 3; with pp 0 1; cp ring all-gather ulysses; order tp-cp-dp-pp tp-cp-pp-dp; "
            "modules core_attn norm act mla_up mlp moe mhc; always; can sp etp some-layers "
            "half-sums; default 1f1b zero 1 cp ring recompute none states 2+4+12 2 4 adapters 0 0 "
            "flops megatron since 0 0",
        [RK_FRAMEWORK_MAXTEXT] =
            "MaxText; on none volta ampere hopper blackwell cdna2 cdna3 cdna4 tpu; usual tpu; "
            "stacks maxtext; schedules gpipe; zero 0 1 3; with pp 0 1 3; cp ring all-gather "
            "ulysses; order tp-cp-dp-pp tp-cp-pp-dp; modules core_attn norm act mlp moe attn_proj; "
            "always norm act; can sp etp weight-offload; default gpipe zero 3 cp all-gather "
            "recompute full states 4+4+8 2 4 adapters 0 0 flops megatron since 0 0",
        [RK_FRAMEWORK_NEURONX] =
            "NeuronX Distributed; on trainium; usual trainium; stacks neuronx-distributed; "
            "schedules 1f1b interleaved; zero 0 1; with pp 0 1; cp ring; order tp-cp-dp-pp; "
            "modules core_attn norm mlp moe; always; can sp; default 1f1b zero 1 cp ring recompute "
            "none states 2+4+12 2 4 adapters 0 0 flops megatron since 0 0",
        [RK_FRAMEWORK_PRIMUS] =
            "Primus; on cdna3 cdna4; usual; stacks megatron; schedules 1f1b interleaved zb-h1 zb-v "
            "v-half v-min; zero 0 1 2 3; with pp 0 1; cp ring all-gather ulysses; order "
            "tp-cp-dp-pp tp-cp-pp-dp; modules core_attn norm act mla_up mlp moe mhc; always; can "
            "expert-act sp etp some-layers weight-offload narrow-states half-sums; default 1f1b "
            "zero 1 cp ring recompute none states 2+4+12 2 4 adapters 0 0 flops megatron since 0 0",
        [RK_FRAMEWORK_HUGGINGFACE] =
            "Hugging Face; on none volta ampere hopper blackwell cdna2 cdna3 cdna4; usual; stacks "
            "huggingface; schedules 1f1b; zero 0 2 3; with pp 0 2 3; cp ring all-gather ulysses; "
            "order tp-cp-dp-pp; modules; always; can whole-experts weight-offload shards-matrices "
            "foreach; default 1f1b zero 3 cp ring recompute none states 4+4+8 2 2 adapters 2 4 "
            "flops megatron since 0 0",
    };
    size_t wrong = 0;
    (void)state;
    for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
        char text[TEXT_SIZE];
        describe(rk_framework_of((rk_framework)f), text);
        if (strcmp(text, expected[f]) != 0) {
            print_error("%s: %s\n", rk_framework_names[f], text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* The modules that a search recomputes first: those that cost next to nothing. */
static void test_cheap_modules(void **state)
{
    enum { NORM = RK_MODULE_NORM, ACT = RK_MODULE_ACTIVATION, CORE = RK_MODULE_CORE_ATTENTION };
    static const struct {
        rk_framework framework;
        const char *model;
        bool flash;
        unsigned modules;
    } cases[] = {
        {RK_FRAMEWORK_ANY, "llama3-8b", true, NORM | ACT},
        {RK_FRAMEWORK_MEGATRON, "llama3-8b", true, NORM}, /* of experts alone it recomputes act */
        {RK_FRAMEWORK_MEGATRON, "mixtral-8x7b", true, NORM | ACT},
        {RK_FRAMEWORK_MEGATRON, "deepseek-v3", true, NORM | ACT}, /* the first layers are dense */
        {RK_FRAMEWORK_MEGATRON, "mixtral-8x7b", false, CORE},
        {RK_FRAMEWORK_MINDSPEED, "llama3-8b", true, NORM | ACT},
        {RK_FRAMEWORK_NEURONX, "llama3-8b", true, NORM},
        {RK_FRAMEWORK_NEURONX, "llama3-8b", false, CORE},
        {RK_FRAMEWORK_MAXTEXT, "llama3-8b", true, NORM | ACT},
        {RK_FRAMEWORK_MAXTEXT, "llama3-8b", false, NORM | ACT}, /* every policy has them */
        {RK_FRAMEWORK_TORCHTITAN, "llama3-8b", true, RK_MODULE_OPERATORS},
        {RK_FRAMEWORK_TORCHTITAN, "llama3-8b", false, RK_MODULE_OPERATORS},
        {RK_FRAMEWORK_HUGGINGFACE, "llama3-8b", true, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_model model = model_of(cases[i].model);
        assert_int_equal(rk_framework_cheap_modules(cases[i].framework, &model, cases[i].flash),
                         cases[i].modules);
    }
}

/* ZeRO-2 and 3 and replicas of shards by the year of a stack; 0: of no release. */
static void test_years(void **state)
{
    static const struct {
        rk_framework framework;
        int64_t year;
        unsigned shardings;
        bool replicates;
    } cases[] = {
        {RK_FRAMEWORK_MEGATRON, 2024, 3, false},  {RK_FRAMEWORK_MEGATRON, 2025, 15, true},
        {RK_FRAMEWORK_MEGATRON, 2026, 15, true},  {RK_FRAMEWORK_MEGATRON, 0, 15, true},
        {RK_FRAMEWORK_DEEPSPEED, 2021, 15, true}, {RK_FRAMEWORK_TORCHTITAN, 2021, 13, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(rk_framework_shardings(cases[i].framework, cases[i].year),
                         cases[i].shardings);
        assert_int_equal(rk_framework_replicates(cases[i].framework, cases[i].year),
                         cases[i].replicates);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traits),
        cmocka_unit_test(test_cheap_modules),
        cmocka_unit_test(test_years),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
