/* SPDX-License-Identifier: Apache-2.0 */
/* The question and the answer of `reckon run`. */
#ifndef RK_COMMAND_WHOLE_RUN_H
#define RK_COMMAND_WHOLE_RUN_H

#include "method/plan_result.h"
#include "run/power.h"
#include "run/price_list.h"
#include "run/reliability.h"
#include "run/scaling_law.h"
#include "run/sensitivity.h"
#include "run/simulate.h"
#include "run/storage.h"
#include "run/training.h"

/* Options; below 0 if a number is not given and 0 is a legal value. */
typedef struct rk_run_args {
    rk_request request;
    double tokens, steps, loss, reference_batch; /* the last in tokens; 0: not given */
    double mfu, step_s;                          /* a share, s; 0: as estimated */
    const char *law, *batch_law, *reliability, *prices, *timeline;
    double failures, restart, storage, interval, stragglers;
    double price, power, pue, carbon, purchase, life;
    const char *phases, *batch_ramp, *near, *far, *storage_tiers;
    const char *maintenance, *slow_devices; /* "4:30", "0.5:10" (run_pairs.c) */
    double start, silent, idle_power;       /* minutes, minutes, W; below 0: not given */
    double barriers, token_bytes;           /* the latter 0: by the vocabulary */
    int64_t spares, simulated, seed;
    const char *deadline, *max_power; /* "30d", "20MW"; NULL: no limit */
    double budget;                    /* 0: not asked */
    bool async, compare_tiers;
} rk_run_args;

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
    double tokens;
    int other_count;
    rk_law_tokens others[RK_LAWS_MAX];
} rk_loss_target;

/* A whole run of one strategy. */
typedef struct rk_whole_run {
    const rk_run_args *args;
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
    rk_training training;
    rk_training_result result;
    rk_rules rules;
    rk_simulation simulation;
    rk_simulated simulated; /* if simulation.runs is above 0 */
    rk_assumed_range ranges[RK_ASSUMPTION_COUNT];
    int range_count;
} rk_whole_run;

/* Whether the command line asks for a cluster rather than for a run on one. */
bool rk_run_is_question(const rk_run_args *args);

/*
 * The tokens of a run, from --tokens or from --loss and its law, which fills the target; 0: from
 * --steps and the batch.
 */
rk_status rk_run_tokens(const rk_run_args *args, const rk_model *model, rk_loss_target *target,
                        double *tokens, rk_error *err);

/* Refuses a run that is less than one step, before its strategy is searched. */
rk_status rk_run_check_tokens(const rk_run_args *args, const rk_model *model, rk_error *err);

/* The batch that the law step-law finds best for so many tokens, in sequences of `seq`. */
rk_status rk_run_best_batch(const rk_request *request, int64_t seq, double tokens, int64_t *batch,
                            rk_error *err);

/*
 * Fills a run whose strategy has been found: tokens, step, interruptions, prices, simulation and
 * sensitivities.
 */
rk_status rk_whole_run_fill(rk_job *job, rk_whole_run *run, rk_error *err);

/*
 * Finds the strategy of a run, whose args and inputs are set, and fills the run if one fits. The
 * caller clears run->plan, also after a failure.
 */
rk_status rk_whole_run_find(rk_job *job, rk_whole_run *run, rk_error *err);

/* The step time of an estimate, or the one given by options; without stragglers, s. */
double rk_run_step_s(const rk_run_args *args, const rk_estimate *estimate);

/* Whether options give the step time, or the MFU. */
bool rk_run_step_is_stated(const rk_run_args *args);

/* Reads the options that are two numbers with a colon between them. */
rk_status rk_run_read_pairs(rk_whole_run *run, rk_error *err);

/* Applies the storage tiers chosen for checkpoints and for nearby copies. */
rk_status rk_run_fill_tiers(rk_whole_run *run, rk_error *err);

/* Compares the same run with every tier of the storage document, if requested. */
rk_status rk_run_compare_tiers(rk_whole_run *run, rk_error *err);

/* Fills the phases of a rising batch, if requested; the layout does not change. */
rk_status rk_run_ramp_fill(rk_whole_run *run, rk_error *err);

/* Fills prices and power. */
rk_status rk_run_fill_prices(rk_whole_run *run, rk_error *err);

/* What a second of the run costs; 0: not known. */
double rk_whole_run_cost_rate(const rk_whole_run *run);

/*
 * Refuses tokens of less than one step, such as 15 where 15T is meant; `option` has given them.
 */
rk_status rk_run_check_length(const char *option, double tokens, int64_t batch, int64_t seq,
                              rk_error *err);

/* Reads "SEQUENCE:TOKENS[:BATCH],...".  Sets phase_count. */
rk_status rk_run_phases_read(rk_whole_run *run, rk_error *err);

/* The request as an answer shows it: what phases give is not assumed. */
rk_request rk_run_shown_request(const rk_whole_run *run);

/*
 * Estimates, or searches, the strategy of every phase; the first is that of the run.  Sets
 * run->plan, and the step and days of all phases.
 */
rk_status rk_run_phases_fill(rk_job *job, rk_whole_run *run, rk_error *err);

/* Writes a run as text, JSON or CSV, and its timeline if requested. */
rk_status rk_whole_run_write(const rk_job *job, const rk_whole_run *run, rk_error *err);

/* Text of a run. */
rk_text_writer rk_whole_run_text;

/* The law of a target loss, its range, and what others say; nothing without --loss. */
void rk_run_write_target(FILE *to, const rk_run_args *args, const rk_model *model,
                         const rk_loss_target *target);

/* "15.6 T", "5.682 TB", "512"; returns `out`. */
#define RK_AMOUNT_SIZE 32
const char *rk_amount_text(double value, const char *unit, char out[RK_AMOUNT_SIZE]);

#endif
