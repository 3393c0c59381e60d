/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training frameworks: what each can run, what it does by default, and which strategies it accepts.
 * Each framework is one file, which docs/howto/framework.md describes; docs/frameworks.md names the
 * sources.
 */
#ifndef RK_FRAMEWORK_FRAMEWORK_H
#define RK_FRAMEWORK_FRAMEWORK_H

#include "strategy/strategy.h"

/*
 * All frameworks: RK_FRAMEWORK_<kind>, the entry rk_framework_<entry> that its file defines, and
 * its name.  To add one, add one file and one line here.
 */
#define RK_FRAMEWORK_LIST(X)                                                                       \
    X(ANY, any, "any") /* refuses only what is arithmetically impossible */                        \
    X(MEGATRON, megatron, "megatron")                                                              \
    X(TORCHTITAN, torchtitan, "torchtitan")                                                        \
    X(DEEPSPEED, deepspeed, "deepspeed")                                                           \
    X(MINDSPEED, mindspeed, "mindspeed")                                                           \
    X(MAXTEXT, maxtext, "maxtext")                                                                 \
    X(NEURONX, neuronx, "neuronx")                                                                 \
    X(PRIMUS, primus, "primus")                                                                    \
    X(HUGGINGFACE, huggingface, "huggingface")

#define RK_FRAMEWORK_KIND(kind, entry, name) RK_FRAMEWORK_##kind,
typedef enum rk_framework { RK_FRAMEWORK_LIST(RK_FRAMEWORK_KIND) RK_FRAMEWORK_COUNT } rk_framework;
#undef RK_FRAMEWORK_KIND

extern const char *const rk_framework_names[]; /* NULL-terminated, in enum order */

struct rk_rule;

#define RK_FRAMEWORK_RULES 11

typedef struct rk_framework_traits {
    const char *title;     /* for people */
    const char *stacks[3]; /* families of data/stacks that run it, the usual one first */
    bool all;              /* does what any framework does; "any" tries the others with it */
    unsigned runs_on;      /* accelerators that it supports: bits 1 << rk_generation */
    unsigned usual_on;     /* accelerators whose usual framework it is */
    const struct rk_rule *rules[RK_FRAMEWORK_RULES]; /* tables in their order, NULL after them */
    unsigned schedules;                              /* with pp > 1: bits 1 << rk_schedule_kind */
    /* Their names in launch files; NULL: other settings say it. */
    const char *launch_schedules[RK_SCHEDULE_KIND_COUNT];
    unsigned shardings;   /* bits 1 << rk_sharding, */
    unsigned deep_shards; /* and the ones that work with pp > 1 */
    unsigned cp_kinds;    /* bits 1 << rk_cp_kind */
    unsigned orders;      /* bits 1 << rk_rank_order */
    unsigned modules;     /* of selective recompute */
    unsigned always;      /* modules that every selective recompute covers */
    bool expert_act;      /* the only activations that it recomputes are the experts' */
    bool sp;              /* sequence parallelism within the tensor group */
    bool etp;             /* experts are split by tensor parallelism of their own */
    bool whole_experts;   /* experts are split only where expert parallelism is stated */
    bool some_layers;     /* full recompute can be limited to some layers of a stage, */
    bool every_layer;     /* or to every so many of them, which no search tries */
    bool patterns;        /* stages of hybrids end wherever their pattern says */
    bool plain_alone;     /* unsharded data parallelism excludes every other degree */
    bool weight_offload;
    bool nvme;              /* offloads to disks */
    bool keeps_activations; /* has no offload of activations */
    bool shards_matrices;   /* Muon updates matrices that are sharded, whole one by one */
    bool narrow_states;     /* gradients and moments of the optimizer in fewer bits */
    bool half_sums;         /* gradients are summed in fp16 where fp16 trains */
    bool foreach_update;    /* the optimizer steps all tensors together, with temporaries */
    double frozen_bytes;    /* per weight of a model with adapters; 0: as if it learned */
    double adapter_bytes;   /* per weight of an adapter; 0: as the frozen ones */
    /* Defaults. */
    rk_schedule_kind schedule; /* with pp > 1 */
    rk_sharding sharding;
    rk_cp_kind cp_kind;
    rk_recompute_kind recompute;
    rk_state_recipe states;
    rk_flop_convention convention;
    /* Years of the releases that brought these; 0: as old as the framework. */
    int replicas_year; /* replicas of shards (HSDP) */
    int shards_year;   /* sharded gradients and parameters (ZeRO-2 and 3) */
    /*
     * Names the part of a model that its launch files cannot express; NULL (also the function):
     * none.
     */
    const char *(*unnamed_part)(const rk_model *model);
} rk_framework_traits;

extern const rk_framework_traits *const rk_frameworks[RK_FRAMEWORK_COUNT]; /* in enum order */

static inline const rk_framework_traits *rk_framework_of(rk_framework framework)
{
    return rk_frameworks[framework];
}

/* Whether a search for `framework` includes what `one` runs. */
static inline bool rk_framework_covers(rk_framework framework, rk_framework one)
{
    return rk_frameworks[framework]->all ? !rk_frameworks[one]->all : framework == one;
}

/* The usual framework of accelerators of a generation. */
rk_framework rk_framework_usual(rk_generation generation);

/* The framework that a family of stacks, or the one it builds on, runs; RK_FRAMEWORK_COUNT: none of
 * the table. */
rk_framework rk_framework_of_stack(const char *family, const char *base);

/* Requested bytes of model states per parameter; 0: as the framework. */
typedef struct rk_state_request {
    double weight;   /* that the optimizer writes: 4, or 2 without a copy in fp32 */
    double gradient; /* also as it is reduced */
    double moments;  /* both of AdamW */
} rk_state_request;

/* Bytes of the states of AdamW in a precision. */
rk_state_recipe rk_framework_states(rk_framework framework, rk_precision precision,
                                    const rk_state_request *wish);

/* Modules worth recomputing selectively: those that are cheap to recompute. */
unsigned rk_framework_cheap_modules(rk_framework framework, const rk_model *model,
                                    bool flash_attention);

/* Shardings of a framework whose releases of `year` are used; 0: the newest. */
unsigned rk_framework_shardings(rk_framework framework, int64_t year);
bool rk_framework_replicates(rk_framework framework, int64_t year);

/* ---- rules --------------------------------------------------------------------------------- */

/*
 * Whether the strategy is legal.  Returns true, or false with the first broken rule; `violation`
 * may be NULL (then no text is made, for the search), `system` too (then any precision passes).
 */
bool rk_strategy_legal(const rk_model *model, const rk_system *system, const rk_strategy *strategy,
                       rk_framework framework, rk_legality *violation);

/*
 * The same for a search.  *nowhere: the broken rule is of degrees within layers, so that no other
 * pipeline, recompute or sharding is legal either.
 */
bool rk_strategy_legal_here(const rk_model *model, const rk_system *system,
                            const rk_strategy *strategy, rk_framework framework, bool *nowhere);

/*
 * Name of rule `index` of a framework in the order in which it checks them, NULL past the last;
 * several may share a name.
 */
const char *rk_framework_rule(rk_framework framework, size_t index);

/*
 * Writes the indices of the first `most` rules that a strategy breaks, in their order.  Returns how
 * many it breaks.
 */
size_t rk_strategy_broken(const rk_model *model, const rk_system *system,
                          const rk_strategy *strategy, rk_framework framework, size_t *rules,
                          size_t most);

/* Fills the message of a rule that the strategy breaks. */
void rk_strategy_explain_rule(const rk_model *model, const rk_system *system,
                              const rk_strategy *strategy, rk_framework framework, size_t rule,
                              rk_legality *violation);

#endif
