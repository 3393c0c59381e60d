/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What training frameworks can run and what they do by default: all of a framework is one entry
 * of the table in framework.c, but for the rules that only it has.  docs/frameworks.md lists the
 * entries with their sources.
 */
#ifndef RK_STRATEGY_FRAMEWORK_H
#define RK_STRATEGY_FRAMEWORK_H

#include "strategy/strategy.h"

/* Sets of rules that a framework checks; every framework checks those of arithmetic. */
enum rk_rule_set {
    RK_RULES_ARITHMETIC = 1,
    RK_RULES_ABILITY = 2,         /* what the entry lacks: schedules, shardings, modules... */
    RK_RULES_MEGATRON = 4,        /* arguments.py and transformer_config.py of Megatron Core */
    RK_RULES_EVEN_LAYERS = 8,     /* all stages hold equally many layers */
    RK_RULES_BALANCED_CP = 16,    /* a rank of cp has a chunk from either end of the sequence */
    RK_RULES_EXPERTS_SP = 32,     /* ep with tp needs sequence parallelism */
    RK_RULES_EXPERT_ACT = 64,     /* of activations, only those of experts are recomputed */
    RK_RULES_WHOLE_KV = 128,      /* key/value heads are not copied over tp */
    RK_RULES_PLAIN_DDP = 256,     /* without shards, data parallelism alone */
    RK_RULES_POLICIES = 512,      /* selective recompute always covers norms and activations */
    RK_RULES_XLA_PIPELINE = 1024, /* microbatches fill whole rounds of the stages */
    RK_RULES_ZERO_OFFLOAD = 2048, /* only what is sharded is offloaded */
};

typedef struct rk_framework_traits {
    const char *name;      /* of --framework */
    const char *title;     /* for people */
    const char *stacks[3]; /* families of data/stacks that run it, the usual one first */
    unsigned runs_on;      /* accelerators that it supports: bits 1 << rk_generation */
    unsigned usual_on;     /* those whose usual framework it is, of them */
    unsigned rules;        /* bits of rk_rule_set */
    unsigned schedules;    /* with pp > 1: bits 1 << rk_schedule_kind */
    unsigned shardings;    /* bits 1 << rk_sharding, */
    unsigned deep_shards;  /* and those of them that go with pp > 1 */
    unsigned cp_kinds;     /* bits 1 << rk_cp_kind */
    unsigned orders;       /* bits 1 << rk_rank_order */
    unsigned modules;      /* of selective recompute */
    bool sp;               /* sequence parallelism in the tensor group */
    bool etp;              /* experts are split by tensor parallelism of their own */
    bool some_layers;      /* full recompute can be limited to some layers of a stage */
    bool weight_offload;
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
} rk_framework_traits;

extern const rk_framework_traits rk_frameworks[RK_FRAMEWORK_COUNT];

static inline const rk_framework_traits *rk_framework_of(rk_framework framework)
{
    return &rk_frameworks[framework];
}

/* The usual framework of accelerators of a generation. */
rk_framework rk_framework_usual(rk_generation generation);

/* The framework that a family of stacks, or the one it builds on, runs; RK_FRAMEWORK_COUNT: none of
 * the table. */
rk_framework rk_framework_of_stack(const char *family, const char *base);

/*
 * Bytes of states in a precision, with gradients of `gradient` bytes and both moments of `moments`;
 * 0: the framework's.
 */
rk_state_recipe rk_framework_states(rk_framework framework, rk_precision precision, double gradient,
                                    double moments);

/* Shardings of a framework whose releases of `year` are used; 0: the newest. */
unsigned rk_framework_shardings(rk_framework framework, int64_t year);
bool rk_framework_replicates(rk_framework framework, int64_t year);

#endif
