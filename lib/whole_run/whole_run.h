/* SPDX-License-Identifier: Apache-2.0 */
/* The verb run: a whole run of one strategy, its time, failures, checkpoints and cost. */
#ifndef RK_WHOLE_RUN_WHOLE_RUN_H
#define RK_WHOLE_RUN_WHOLE_RUN_H

#include "method/plan_result.h"
#include "run/power.h"
#include "run/price_list.h"
#include "run/reliability.h"
#include "run/scaling_law.h"
#include "run/sensitivity.h"
#include "run/simulate.h"
#include "run/storage.h"
#include "run/training.h"

/*
 * Defaults: the years over which a purchase is paid off, as design documents assume, and the runs
 * of the simulation.
 */
#define RK_RUN_LIFE_YEARS 4.0
#define RK_RUN_SIMULATED  1000

#define RK_PHASES_MAX 16

/* A part of a run with its own sequence and batch. */
typedef struct rk_run_phase {
    int64_t seq, batch;
    bool assumed_batch;
    double tokens, step_s, days; /* days without interruptions */
} rk_run_phase;

/* A batch that rises in steps to the full batch, over the first tokens of the run. */
typedef struct rk_batch_ramp {
    double from, tokens;
    int64_t steps; /* 0: it does not rise */
} rk_batch_ramp;

/* The inputs of a run; numbers are below 0 if they are not given and 0 is a legal value. */
typedef struct rk_run_question {
    rk_request request;
    rk_run_request asked; /* as of programs; from options without a strategy and a space */
    const char *far;
    double start, silent, idle_power; /* minutes, minutes, W; below 0: not given */
    double barriers, token_bytes;     /* the latter 0: by the vocabulary */
    double window_hours, window_days; /* maintenance, and from one to the next; 0: none */
    double slow_percent, slow_by; /* accelerators that are slower, by as many percent; 0: none */
    int phase_count;              /* 0: none are given */
    rk_run_phase phases[RK_PHASES_MAX];
    rk_batch_ramp ramp;
    double deadline, max_power, budget; /* days, W, money; 0: no limit */
    bool compare_tiers;
} rk_run_question;

/* A run that saves to a storage tier. */
typedef struct rk_run_tier {
    rk_storage_tier tier;
    bool holds;                          /* two checkpoints */
    double copy_s, restart_s;            /* to write or read one; from an interruption */
    double share;                        /* of the interruptions that it survives */
    double interval_s, goodput, total_s; /* of the run that saves there; 0: it does not advance */
} rk_run_tier;

/* The tokens of a target loss: by the law that was asked for, and by others of the same text. */
typedef struct rk_loss_target {
    rk_loss_law law;
    double parameters; /* of the model, as the law counts them */
    bool experts;      /* the model has inactive parameters */
    double tokens;
    int other_count;
    rk_law_tokens others[RK_LAWS_MAX];
} rk_loss_target;

/* A whole run of one strategy. */
typedef struct rk_whole_run {
    const rk_run_question *question;
    const rk_inputs *inputs;
    rk_request first_request; /* of the first phase, if phases are given; `plan` refers to it */
    rk_plan plan;
    rk_reliability reliability;
    double rate_spread; /* of the rate of interruptions; 0: it is given */
    rk_price_list prices;
    const rk_hour_price *hour; /* of `prices`; NULL: the price is given, or not known */
    rk_node_power node;
    double utilisation;           /* share of a step in which accelerators compute */
    double peak_power;            /* W per accelerator, with its share of the node */
    double data_bytes, data_rate; /* of the tokens; bytes/s that training reads */
    double slow_share, slow_by;   /* of the accelerators, and what they take longer */
    int tier_count;               /* 0: not requested */
    rk_run_tier tiers[RK_STORAGE_TIERS_MAX];
    rk_loss_target target;          /* if a loss is given */
    double tokens_factor, critical; /* tokens with the batch over those with the reference batch;
                                       batch in tokens; 0: not requested */
    double straggling;              /* factor of the step */
    int64_t best_batch;             /* by step-law, where a batch is assumed; 0: it is that one */
    int phase_count;                /* 0: one phase, none given */
    rk_run_phase phases[RK_PHASES_MAX];
    double parameters; /* of the model, active */
    rk_training training;
    rk_training_result result;
    rk_rules rules;
    rk_simulation simulation;
    rk_simulated simulated; /* if simulation.runs is above 0 */
    rk_assumed_range ranges[RK_ASSUMPTION_COUNT];
    int range_count;
} rk_whole_run;

/* The defaults of a request. */
rk_run_request rk_run_request_usual(void);

/* Copies the request of a program, whose version may differ; refuses numbers out of bounds. */
rk_status rk_run_request_take(const rk_run_request *given, rk_run_request *own, rk_error *err);

/* The MFU that is assumed, a share; 0: as estimated. */
double rk_run_stated_mfu(const rk_run_question *question);

/* Whether a cluster is asked for rather than a run on one. */
bool rk_run_asks_for_cluster(const rk_run_question *question);

/*
 * Parameters of a model as laws count them.  The laws are fitted to dense models; of a mixture of
 * experts these are the active ones.
 */
void rk_law_parameters(const rk_model *model, double out[RK_LAW_COUNTS_COUNT]);

/*
 * The tokens of a run, from --tokens or from --loss and its law, which fills the target; 0: from
 * --steps and the batch.
 */
rk_status rk_run_tokens(const rk_run_question *question, const rk_model *model,
                        rk_loss_target *target, double *tokens, rk_error *err);

/* Refuses a run that is less than one step, before its strategy is searched. */
rk_status rk_run_check_tokens(const rk_run_question *question, const rk_model *model,
                              rk_error *err);

/* The batch that the law step-law finds best for so many tokens, in sequences of `seq`. */
rk_status rk_run_best_batch(const rk_request *request, int64_t seq, double tokens, int64_t *batch,
                            rk_error *err);

/*
 * Fills a run whose strategy has been found: tokens, step, interruptions, prices, simulation and
 * sensitivities.
 */
rk_status rk_whole_run_fill(rk_whole_run *run, rk_error *err);

/*
 * Finds the strategy of a run, whose question and inputs are set, and fills the run if one fits.
 * The caller clears run->plan, also after a failure.
 */
rk_status rk_whole_run_find(rk_control *control, rk_whole_run *run, rk_error *err);

/* The step time of an estimate, or the one given by options; without stragglers, s. */
double rk_run_step_s(const rk_run_question *question, const rk_estimate *estimate);

/* Whether options give the step time, or the MFU. */
bool rk_run_step_is_stated(const rk_run_question *question);

/* Applies the storage tiers chosen for checkpoints and for nearby copies. */
rk_status rk_run_fill_tiers(rk_whole_run *run, rk_error *err);

/* Compares the same run with every tier of the storage document, if requested. */
rk_status rk_run_compare_tiers(rk_whole_run *run, rk_error *err);

/* Fills the phases of a rising batch, if requested; the layout does not change. */
rk_status rk_run_ramp_fill(rk_whole_run *run, rk_error *err);

/* Fills prices and power. */
rk_status rk_run_fill_prices(rk_whole_run *run, rk_error *err);

/* The cost of a second of the run; 0: not known. */
double rk_whole_run_cost_rate(const rk_whole_run *run);

/*
 * Refuses tokens of less than one step, such as 15 where 15T is meant; `option` has given them.
 */
rk_status rk_run_check_length(const char *option, double tokens, int64_t batch, int64_t seq,
                              rk_error *err);

/* The figures of a run, and of its simulation; all zero if no strategy fits. */
rk_run_outcome_facts rk_whole_run_figures(const rk_whole_run *run);

/* The request as an answer shows it: what phases give is not assumed. */
rk_request rk_run_shown_request(const rk_whole_run *run);

/*
 * Estimates, or searches, the strategy of every phase.  Sets run->plan, to the strategy of the
 * first phase, and the step time of all phases.
 */
rk_status rk_run_phases_fill(rk_control *control, rk_whole_run *run, rk_error *err);

#endif
