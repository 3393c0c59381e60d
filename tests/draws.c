/* SPDX-License-Identifier: Apache-2.0 */
/* Random models, strategies, machines and stacks. */
#include "draws.h"
#include "layer/all_kinds.h"

#include "framework/framework.h"

#include <stdlib.h>

/* ---- random numbers ------------------------------------------------------------------------- */

uint64_t draw_next(uint64_t *r)
{
    *r ^= *r << 13;
    *r ^= *r >> 7;
    *r ^= *r << 17;
    return *r >> 16;
}

int64_t draw_below(uint64_t *r, int64_t limit)
{
    return (int64_t)(draw_next(r) % (uint64_t)limit);
}

bool draw_chance(uint64_t *r, int64_t in)
{
    return draw_below(r, in) == 0;
}

int64_t draw_power(uint64_t *r, int64_t most)
{
    return (int64_t)1 << draw_below(r, most + 1);
}

static rk_attention_shape random_attention(uint64_t *r)
{
    const int64_t heads = 8 * draw_power(r, 4);
    if (draw_chance(r, 4)) {
        return (rk_attention_shape){
            .query_heads = heads,
            .kv_heads = heads,
            .q_rank = draw_chance(r, 2) ? 0 : 1536,
            .kv_rank = 512,
            .nope_size = 128,
            .rope_size = 64,
            .value_size = 128,
        };
    }
    const int64_t group = draw_power(r, 3);
    return (rk_attention_shape){
        .query_heads = heads,
        .kv_heads = heads / group,
        .head_size = 64 * draw_power(r, 1),
        .window = draw_chance(r, 4) ? 1024 : 0,
        .qk_norm = (rk_qk_norm)draw_below(r, 3),
        .bias_qkv = draw_chance(r, 3),
        .bias_out = draw_chance(r, 3),
        .sinks = draw_chance(r, 8),
        .output_gate = draw_chance(r, 8),
        .head_gate = draw_chance(r, 8),
        .kv_source = draw_chance(r, 8) ? RK_KV_KEYS : RK_KV_OWN,
    };
}

rk_model draw_model(uint64_t *r)
{
    enum { PLAIN, EXPERTS };
    rk_layer_type kinds[2] = {{.ffn = {.gated = draw_chance(r, 2), .bias = draw_chance(r, 4)}}};
    uint8_t kind_of[RK_LAYER_MAX];
    const bool moe = draw_chance(r, 2);
    const int layers = (int)(4 * draw_power(r, 4) + (draw_chance(r, 3) ? draw_below(r, 4) : 0));
    rk_model model = {
        .name = "random",
        .hidden = 1024 * (1 + draw_below(r, 8)),
        .vocab = 8192 * (1 + draw_below(r, 16)),
        .seq = 2048 * draw_power(r, 3),
        .norm = (rk_norm_kind)draw_below(r, 4),
        .norms_per_layer = (int)draw_power(r, 2),
        .final_norm = !draw_chance(r, 8),
        .parallel_block = draw_chance(r, 8),
        .tied = draw_chance(r, 3),
        .embedding_norm = draw_chance(r, 8),
        .head_bias = draw_chance(r, 8),
        .learned_positions = draw_chance(r, 4) ? 2048 : 0,
        .mtp_layers = draw_chance(r, 8) ? 1 : 0,
    };
    kinds[PLAIN].attention = random_attention(r);
    kinds[EXPERTS] = kinds[PLAIN];
    kinds[PLAIN].ffn.width = 512 * (1 + draw_below(r, 32));
    kinds[EXPERTS].moe = (rk_moe_shape){
        .experts = 8 * draw_power(r, 4),
        .top_k = draw_power(r, 3),
        .expert_width = 256 * draw_power(r, 3),
        .shared_experts = draw_below(r, 3),
        .shared_width = 512,
        .router_bias = draw_chance(r, 2),
        .expert_bias = draw_chance(r, 4),
    };
    if (!kinds[EXPERTS].moe.shared_experts) {
        kinds[EXPERTS].moe.shared_width = 0;
    }
    rk_layer_set_kinds(&kinds[PLAIN], &rk_all_kinds);
    rk_layer_set_kinds(&kinds[EXPERTS], &rk_all_kinds);
    const int dense = (int)draw_below(r, 3);
    for (int i = 0; i < layers; i++) {
        kind_of[i] = moe && i >= dense ? EXPERTS : PLAIN;
    }
    rk_model_set_layers(&model, kinds, kind_of, layers);
    return model;
}

static void random_placement(uint64_t *r, rk_strategy *s)
{
    static const rk_schedule_kind schedules[] = {
        RK_SCHEDULE_1F1B,     RK_SCHEDULE_INTERLEAVED, RK_SCHEDULE_GPIPE,
        RK_SCHEDULE_ZB_H1,    RK_SCHEDULE_ZB_H2,       RK_SCHEDULE_ZB_V,
        RK_SCHEDULE_DUALPIPE, RK_SCHEDULE_V_HALF,      RK_SCHEDULE_V_MIN,
    };
    enum { COUNT = sizeof(schedules) / sizeof(schedules[0]) };
    s->tp = draw_power(r, 3);
    s->cp = draw_chance(r, 2) ? 1 : draw_power(r, 3);
    s->pp = draw_chance(r, 3) ? 1 : draw_power(r, 4);
    s->dp = draw_power(r, 5);
    s->ep = draw_chance(r, 2) ? 1 : draw_power(r, 5);
    s->etp = draw_chance(r, 6) ? draw_power(r, 2) : 1;
    s->sp = s->tp > 1 && !draw_chance(r, 3);
    s->cp_kind = (rk_cp_kind)draw_below(r, 3);
    s->order = (rk_rank_order)draw_below(r, 2);
    s->schedule = s->pp > 1 ? schedules[draw_below(r, COUNT)] : RK_SCHEDULE_1F1B;
    s->vp = s->schedule == RK_SCHEDULE_INTERLEAVED ? draw_power(r, 2) : 1;
    s->micro_batch = draw_power(r, 2);
    s->global_batch = s->micro_batch * s->dp * s->pp * (1 + draw_below(r, 4));
    s->sharding = (rk_sharding)draw_below(r, 4);
    s->replicas = s->sharding && draw_chance(r, 4) ? draw_power(r, 2) : 1;
}

rk_strategy draw_strategy(uint64_t *r, const rk_model *model)
{
    static const rk_precision precisions[] = {RK_BF16, RK_BF16, RK_FP16, RK_FP8, RK_FP4};
    rk_strategy s = rk_strategy_defaults(model);
    random_placement(r, &s);
    s.recompute = (rk_recompute_kind)draw_below(r, 3);
    s.recompute_modules = (unsigned)draw_below(r, 64);
    s.recompute_layers = s.recompute == RK_REC_FULL && draw_chance(r, 2) ? draw_below(r, 4) : 0;
    s.precision = precisions[draw_below(r, 5)];
    s.fp8_recipe = (rk_fp8_recipe)draw_below(r, 4);
    s.low_weights = (s.precision == RK_FP8 || s.precision == RK_FP4) && draw_chance(r, 2);
    s.flash_attention = !draw_chance(r, 4);
    s.tp_overlap = s.sp && draw_chance(r, 2);
    s.grad_overlap = draw_chance(r, 2);
    s.param_overlap = draw_chance(r, 2);
    s.pp_overlap = draw_chance(r, 2);
    s.moe_overlap = draw_chance(r, 2);
    s.graph_capture = draw_chance(r, 2);
    s.offload_optimizer = draw_chance(r, 8);
    s.offload_activations = draw_chance(r, 8);
    s.offload_weights = draw_chance(r, 8);
    s.count_embedding = s.count_head = draw_chance(r, 4);
    s.mtp_before_head = draw_chance(r, 2);
    s.graph_step = draw_chance(r, 4);
    s.capacity_factor = draw_chance(r, 4) ? 1.25 : 0;
    s.imbalance = draw_chance(r, 2) ? 1 : 1.3;
    s.low_activations = model->types[0].ffn.gated && s.graph_step && s.pp_overlap;
    return s;
}

static struct {
    rk_system systems[4];
    rk_stack stacks[8];
} catalogue;

int draw_load(void **state)
{
    static const char *const systems[] = {"dgx-h100-superpod", "gb200-nvl72-pod", "h100-p5-efa",
                                          "gh200"};
    static const char *const stacks[] = {"megatron-2021",    "nemo-2024",
                                         "megatron-2025",    "megatron-2025-blackwell",
                                         "fsdp-llm-foundry", "fsdp-llm-foundry-hopper",
                                         "torchtitan",       "nanotron"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        catalogue.systems[i] = system_of(systems[i]);
    }
    for (size_t i = 0; i < 8; i++) {
        catalogue.stacks[i] = stack_of(stacks[i]);
    }
    return 0;
}

/* ---- draws ---------------------------------------------------------------------------------- */

int draw_count(int usual)
{
    const char *scale = getenv("RK_TEST_SCALE");
    return scale && atof(scale) > 0 ? (int)ceil(usual * atof(scale)) : usual;
}

bool draw_legal(uint64_t *r, struct draw *d)
{
    rk_error err;
    d->model = draw_model(r);
    d->strategy = draw_strategy(r, &d->model);
    d->system = catalogue.systems[draw_below(r, 4)];
    d->stack = catalogue.stacks[draw_below(r, 8)];
    if (rk_model_check(&d->model, &err) != RK_OK ||
        !rk_strategy_legal(&d->model, &d->system, &d->strategy, RK_FRAMEWORK_ANY, NULL)) {
        return false;
    }
    rk_cost_table_fill(&d->model, &d->system, &d->stack, &d->strategy, &d->table);
    return true;
}

void draw_each(uint64_t seed, int wanted, draw_check *check)
{
    static struct draw d;
    uint64_t r = seed;
    int legal = 0;
    for (int i = 0; i < 40 * wanted && legal < wanted; i++) {
        if (draw_legal(&r, &d)) {
            check(&d, &r);
            legal++;
        }
    }
    if (legal < wanted) {
        fail_msg("%d legal strategies of %d tries, seed %llx", legal, 40 * wanted,
                 (unsigned long long)seed);
    }
}
