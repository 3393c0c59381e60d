/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request of `reckon estimate`, `fit` and `plan`: a model, a system, a stack, and a strategy,
 * complete or in part.
 */
#ifndef RK_REQUEST_REQUEST_H
#define RK_REQUEST_REQUEST_H

#include "evidence/run_facts.h"
#include "framework/launch_file.h"
#include "framework/software_choice.h"
#include "job/option.h"
#include "request/launch_line.h"
#include "search/plan.h"
#include "strategy/origin.h"
#include "system/machine_numbers.h"

#define RK_LAYOUT_MAX 256 /* stages of --layout */

/* How the open fields of a strategy are completed; docs/completion.md. */
typedef enum rk_policy { RK_POLICY_SEARCH, RK_POLICY_LAUNCH, RK_POLICY_OBSERVED } rk_policy;
extern const char *const rk_policy_names[];

/* The command lines of the three commands; 0, a count of 0 or NULL: not given. */
typedef struct rk_request {
    const char *model, *system, *stack; /* catalogue names or files */
    const char *from, *reader;          /* a launch and its framework; NULL: none, recognised */
    const struct rk_launch *launch;     /* read from it; owned by the job, no option */
    rk_documents *documents;            /* of the job; NULL: none are kept; no option */
    const struct rk_request *launched;  /* the launch's own layout where one is searched */
    int64_t accelerators, global_batch, seq;
    int64_t nodes, gpus_per_node;
    int64_t accumulation; /* micro-batches of a rank, in place of global_batch */
    int64_t vp_layers;    /* layers of a virtual stage, in place of vp */
    rk_launch_line line;  /* facts of a pasted launch line without an option */
    bool assumed_batch;   /* global_batch is a default; not an option */
    bool tuning;          /* sizes that are not given are usual for fine-tuning; not an option */
    bool assumed_seq;     /* the sequence is such a size; not an option */
    bool fsdp;
    rk_option_counts tp, cp, pp, vp, ep, etp, micro_batch, zero;
    int64_t dp, replicas;
    unsigned schedules, recomputes, cp_kinds, orders; /* a bit per name */
    unsigned modules, offloads, overlaps, graph_modules;
    int64_t recompute_layers, first_stage_layers, last_stage_layers;
    int64_t lora_rank, document;
    int64_t mtp_layers;      /* modules that train; 0: as the model has */
    unsigned lora_modules;   /* a bit per rk_adapted */
    const char *layout_text; /* "7,8*14,6" */
    int16_t layout[RK_LAYOUT_MAX];
    int layout_count;
    int fp8_recipe;                                /* index of the choice; below 0: not given */
    int precision, attention, optimizer;           /* indices of choices */
    int gradients, moments, framework, convention; /* likewise; below 0: not given */
    int weights, cross_entropy, frozen_type, optimizer_impl; /* likewise */
    int64_t loss_chunk;                                      /* tokens */
    bool step_in_backward, expandable_segments;
    double capacity_factor, imbalance, max_memory; /* the last in GiB */
    double offload_share;                          /* 0: not given */
    double host_memory;                            /* of a node, GiB */
    double risk; /* of running out of memory, %; 0: the usual one */
    bool no_sp, sp, count_embedding, count_head, mtp_before_head, graph_capture, graph_step,
        distributed_optimizer, pipeline_first;
    bool side_links;
    bool low_weights, low_activations, nf4_weights, no_mtp;
    bool json, csv, explain, operators, bounded, exhaustive;
    bool changes; /* of estimate: what single changes gain */
    bool dp_sync; /* of estimate: compare ways of data parallelism */
    int64_t dp_servers, dp_every, sites;
    double staleness_price, site_bandwidth; /* the last in GB/s */
    bool ranked;                            /* of plan: the fastest strategies, not alternatives */
    bool verbose;                           /* the whole answer as text */
    bool pictures;                          /* the command writes SVG too; not an option */
    const char *settings;                   /* of --set */
    const char *output;                     /* file, or "-" */
    int64_t top, threads;                   /* top 0: alternatives */
    int method;                             /* of plan */
    int emit;                               /* index in rk_launch_names; below 0: nothing */
    int policy;                             /* an rk_policy; below 0: follows from the question */
    uint64_t filled; /* strategy fields, a bit each, that are the framework's defaults */
} rk_request;

#define RK_OPTION_EMIT                                                                             \
    RK_OPTION("emit", CHOICE, offsetof(rk_request, emit), .choices = rk_launch_names,              \
              .value = "NAME", .common = true, .help = "write a launch file for the strategy")

#define RK_OPTION_COMPLETE                                                                         \
    RK_OPTION("complete", CHOICE, offsetof(rk_request, policy), .choices = rk_policy_names,        \
              .value = "NAME",                                                                     \
              .help =                                                                              \
                  "what is left open: search it, as the framework's launch has it, or as an "      \
                  "observed run must have had it; default: launch for a launch line, else search")

/*
 * Gives a model the modules of multi-token prediction of the request; refuses adapters of a rank
 * above its width.
 */
rk_status rk_request_set_modules(const rk_request *request, rk_model *model, rk_error *err);

/* The defaults of a request; `request` is an rk_request. */
rk_request rk_request_defaults(void);
void rk_request_init(void *request);

#define RK_STRATEGY_OPTION_COUNT 79
extern const rk_option rk_strategy_options[RK_STRATEGY_OPTION_COUNT];

/* Notes that the value of a strategy field, by its key, is the framework's default. */
void rk_request_note_filled(rk_request *request, const char *field);

/* How what the request leaves open is completed. */
rk_policy rk_request_policy(const rk_request *request);

/* Reads the layout of a request, and refuses options that exclude each other. */
rk_status rk_request_complete(rk_request *request, rk_error *err);

/* The same, with the format by the extension of the output; `request` is an rk_request. */
rk_status rk_request_finish(void *request, rk_error *err);

#define RK_WHAT_IF_MAX 8 /* numbers of the machine that --set changes */

/*
 * The items of --set: facts of the run, in the order of rk_run_fact_fields, and numbers of the
 * machine, as its document has them, with their new values.
 */
typedef struct rk_settings {
    rk_run_facts facts;
    bool said[RK_RUN_FACT_MAX];
    rk_number changed[RK_WHAT_IF_MAX];
    double now[RK_WHAT_IF_MAX];
    int change_count;
} rk_settings;

/* A strategy that is complete before any search, of the policy "observed". */
typedef struct rk_completed_strategy {
    bool done;
    rk_strategy strategy; /* its layout lies below */
    int16_t layout[RK_LAYOUT_MAX];
    rk_origins origins;
} rk_completed_strategy;

/* The documents that a request names, and the values derived from them. */
typedef struct rk_inputs {
    rk_model model;
    rk_system system; /* with the request's limit of memory and size of nodes */
    double risk;      /* of running out of memory, at most, of a recommended strategy */
    rk_software software;
    rk_settings settings;
    rk_completed_strategy completed;
    struct rk_plan_store *store; /* of searches, see rk_inputs_keep_times; NULL: none */
} rk_inputs;

/*
 * Loads them, and refuses what no strategy can have: more accelerators than there are.  The caller
 * releases the inputs, also after a failure, with rk_inputs_clear.
 */
rk_status rk_request_load(const rk_request *request, rk_inputs *inputs, rk_error *err);
void rk_inputs_clear(rk_inputs *inputs);

/*
 * Lets searches of plans keep times and prices for later ones that differ in accelerators and batch
 * alone; rk_inputs_forget_times frees these, of the inputs that were first given them.
 */
rk_status rk_inputs_keep_times(rk_inputs *inputs, rk_error *err);
void rk_inputs_forget_times(rk_inputs *inputs);

/* The second half, once the model and the system are read. */
rk_status rk_request_apply(const rk_request *request, bool stack_given, rk_inputs *inputs,
                           rk_error *err);

/*
 * The steps of that.  The framework is the one given, or follows from --stack or the accelerator,
 * and the stack and the FLOP convention from the framework.  `stack_given`: inputs->software.stack
 * is already the one that the request names.
 */
rk_status rk_request_settle(const rk_request *request, bool stack_given, rk_inputs *inputs,
                            rk_error *err);
rk_status rk_request_limit(const rk_request *request, rk_system *system, rk_error *err);

/* The name of a system's nodes: "node", "rack". */
const char *rk_request_unit(const rk_system *system);

/* Why this framework and this stack, in words; the second is empty where nothing is unusual. */
const char *rk_framework_reason(const rk_inputs *inputs, char out[RK_REASON_SIZE]);
const char *rk_stack_reason(const rk_request *request, const rk_inputs *inputs,
                            char out[RK_REASON_SIZE]);

/*
 * The strategy of a command line; what is not given follows from the rest.  Refuses lists of
 * values, and what the framework refuses: the error names the rule and the nearest legal choice.
 * The strategy borrows its layout from the request.
 */
rk_status rk_request_strategy(const rk_request *request, const rk_inputs *inputs,
                              rk_strategy *strategy, rk_error *err);

/* The same, and where its fields come from; `origins` may be NULL. */
rk_status rk_request_complete_strategy(const rk_request *request, const rk_inputs *inputs,
                                       rk_strategy *strategy, rk_origins *origins, rk_error *err);

/*
 * The strategies that a command line leaves open, and where their fields come from.  Refuses what a
 * search does not take, and degrees that the accelerators are not a multiple of.
 */
rk_status rk_request_space(const rk_request *request, const rk_inputs *inputs, rk_plan_space *space,
                           rk_error *err);

#endif
