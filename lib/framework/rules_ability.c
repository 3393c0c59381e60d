/* SPDX-License-Identifier: Apache-2.0 */
/* Abilities that a framework lacks. */
#include "framework/rules.h"

static int64_t order_unknown(const struct question *q)
{
    return q->strategy->pp > 1 && !(rk_traits_of(q)->orders >> q->strategy->order & 1U);
}

static int64_t schedule_unknown(const struct question *q)
{
    return q->strategy->pp > 1 && !(rk_traits_of(q)->schedules >> q->strategy->schedule & 1U);
}

static int64_t expert_tensor_parallel(const struct question *q)
{
    return q->strategy->etp > 1 && !rk_traits_of(q)->etp && rk_rule_moe_type(q->model);
}

static int64_t context_unknown(const struct question *q)
{
    return q->strategy->cp > 1 && !(rk_traits_of(q)->cp_kinds >> q->strategy->cp_kind & 1U);
}

static int64_t sequence_parallel(const struct question *q)
{
    return q->strategy->sp && q->strategy->tp > 1 && !rk_traits_of(q)->sp;
}

static int64_t sharding_unknown(const struct question *q)
{
    return !(rk_traits_of(q)->shardings >> q->strategy->sharding & 1U);
}

static int64_t sharding_with_pipeline(const struct question *q)
{
    return q->strategy->pp > 1 && !sharding_unknown(q) &&
           !(rk_traits_of(q)->deep_shards >> q->strategy->sharding & 1U);
}

/* DDP by itself, where the other degrees build on a mesh of shards. */
static int64_t plain_with_degrees(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return rk_traits_of(q)->plain_alone && s->sharding == RK_SHARD_NONE && s->dp > 1 &&
           s->tp * s->cp * s->pp * s->ep > 1;
}

/* Modules that the framework does not recompute. */
static int64_t modules_unknown(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return rk_rule_recomputes(s, ~rk_traits_of(q)->modules)
               ? (int64_t)(s->recompute_modules & ~rk_traits_of(q)->modules)
               : 0;
}

static int64_t policy_unknown(const struct question *q)
{
    const unsigned always = rk_traits_of(q)->always;
    return q->strategy->recompute == RK_REC_SELECTIVE &&
           (q->strategy->recompute_modules & always) != always;
}

static int64_t some_layers_recomputed(const struct question *q)
{
    const rk_framework_traits *traits = rk_traits_of(q);
    return traits->some_layers || traits->every_layer ? 0 : q->strategy->recompute_layers;
}

static int64_t activation_recompute_without_experts(const struct question *q)
{
    return rk_traits_of(q)->expert_act && rk_rule_recomputes(q->strategy, RK_MODULE_ACTIVATION) &&
           !rk_rule_moe_type(q->model);
}

static int64_t weights_offloaded(const struct question *q)
{
    return q->strategy->offload_weights && !rk_traits_of(q)->weight_offload;
}

static int64_t on_nvme(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return (s->nvme_optimizer || s->nvme_weights) && !rk_traits_of(q)->nvme;
}

const struct rk_rule rk_rules_ability[] = {
    {"order of the framework", order_unknown, VARY_NONE,
     "{framework} numbers ranks in the order tp-cp-dp-pp only"},
    {"schedule of the framework", schedule_unknown, VARY_NONE,
     "{framework} does not run the schedule {schedule}; it runs {schedules}"},
    {"etp", expert_tensor_parallel, VARY_DEGREE(etp),
     "{framework} does not split experts, but etp is {etp}"},
    {"cp of the framework", context_unknown, RULE_OF_DEGREES,
     "{framework} does not split sequences by {cp_kind}; use cp of the kind {cp_kinds}, or cp 1"},
    {"sp", sequence_parallel, VARY_NONE,
     "{framework} has no sequence parallelism in the tensor group; turn it off"},
    {"sharding with pp", sharding_with_pipeline, VARY(pp),
     "{framework} does not run ZeRO-{zero} with pp {pp}; use ZeRO-{deep_shards}"},
    {"sharding of the framework", sharding_unknown, VARY_NONE,
     "{framework} does not run ZeRO-{zero}; use ZeRO-{shardings}"},
    {"ZeRO-0 needs data parallelism alone", plain_with_degrees, VARY_NONE,
     "{framework} shards parameters as soon as tp, cp, pp or ep is above 1; use ZeRO-{shards}"},
    {"modules of the framework", modules_unknown, VARY_NONE,
     "{framework} does not recompute the modules {lacking}; it recomputes {modules}"},
    {"policy of the framework", policy_unknown, VARY_NONE,
     "every policy of {framework} recomputes norms and activations; name the modules norm and act "
     "too"},
    {"recompute layers of the framework", some_layers_recomputed, VARY_NONE,
     "{framework} recomputes all layers or none, not {n} of a stage"},
    {"act needs experts", activation_recompute_without_experts, VARY_NONE,
     "the module act is the activation of experts (moe_act), but {model} has none; drop it, or "
     "recompute the module mlp"},
    {"weight offload of the framework", weights_offloaded, VARY_NONE,
     "{framework} does not offload weights"},
    {"NVMe of the framework", on_nvme, VARY_NONE,
     "{framework} does not offload to NVMe disks; DeepSpeed does"},
    {0},
};
