/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole training runs: how long they take, how often they are interrupted, what they cost.
 *
 *     rk_run_request request;
 *     rk_run_outcome *run;
 *     rk_run_outcome_facts facts;
 *     rk_run_request_init(&request, sizeof(request));
 *     request.space = &space;
 *     request.tokens = 15e12;
 *     rk_status status = rk_predict_run(setup, &request, NULL, &run, &err);
 *     if (!status) {
 *         rk_run_outcome_describe(run, &facts, sizeof(facts));
 *         printf("%.1f days, 90 %% of runs within %.1f\n", facts.total_s / 86400,
 *                facts.simulated_total_s.p90 / 86400);
 *     }
 *     rk_run_outcome_free(run);
 *
 * Results are identical to `reckon run`; see docs/run.md.
 */
#ifndef RECKON_RUN_H
#define RECKON_RUN_H

#include "reckon/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- requests -------------------------------------------------------------------------------- */

/*
 * A run to predict.  Begin with rk_run_request_init.  Texts, strategy and space must live as long
 * as the call.
 */
typedef struct rk_run_request {
    size_t size;                 /* sizeof(rk_run_request); fields may be added at the end */
    const rk_strategy *strategy; /* to train with; NULL: the fastest of `space` */
    const rk_space *space;       /* to choose from, as for rk_plan_strategies; NULL: `strategy` */
    double tokens;               /* to train on; set one of tokens, steps and loss; or "phases" in
                                    the options of the space, as of `reckon run --phases` */
    double steps;                /* to train for */
    double loss;                 /* to reach, nats per token, by `law` */
    const char *law;             /* scaling law, by name or file; NULL: the usual one */
    double reference_batch;      /* batch size, in tokens, that `tokens` or `loss` assumes: a larger
                                    batch needs more; 0: any batch does */
    const char *batch_law;       /* law of the critical batch; NULL: the usual one */
    double step_s;               /* assumed step time; 0: predicted */
    double mfu_percent;          /* assumed MFU, %; up to 1 it is a share; 0: predicted */
    double stragglers_percent;   /* relative standard deviation of a worker's step time; 0: all
                                    equally fast */
    const char *reliability;     /* document of rates of interruptions; NULL: the published one */
    double failures;             /* per day and 1,000 accelerators; below 0: by `reliability` */
    double restart_s;            /* from an interruption to the next step, without reading; below 0:
                                    by `reliability` */
    int64_t spares;              /* hot spare nodes; negative: failed nodes are replaced at once */
    double storage_bytes_per_s;  /* of all storage; 0: as much per accelerator as for Llama 3 */
    double checkpoint_every_s;   /* of training between checkpoints; 0: the best interval */
    bool async_checkpoint;       /* training waits for the copy to host memory only */
    const char *near_checkpoint; /* tier for copies between checkpoints in storage: "host",
                                    "peer-host" or "nvme"; NULL: none are made */
    const char *storage_tiers;   /* document of these tiers; NULL: the published one */
    const char *prices;          /* price document; NULL: only the following prices are known */
    double price_per_hour;       /* of an accelerator, in any currency; below 0: by `prices` */
    double purchase_price; /* price per accelerator, including its share of the system; 0: rented */
    double life_years;     /* depreciation period of a purchase */
    double power_watts;    /* of an accelerator with its share of the node; 0: by `prices` */
    double pue;            /* power usage effectiveness of the building; 0: by `prices` */
    double carbon_g_per_kwh; /* of the power; below 0: by `prices` */
    int64_t simulated_runs;  /* for percentiles; 0: none */
    int64_t seed;            /* of the simulation: equal seeds give equal results */
} rk_run_request;

/* Fills the first `size` bytes with defaults: pass sizeof(rk_run_request). */
RK_API void rk_run_request_init(rk_run_request *request, size_t size);

/* ---- predictions ----------------------------------------------------------------------------- */

/* A whole run with its strategy. */
typedef struct rk_run_outcome rk_run_outcome;

/*
 * Predicts a whole run; when no strategy of the space fits, rk_run_outcome_facts.found is false.
 * `control` is as for rk_plan_strategies and may be NULL.  *run refers to the setup and to
 * strategy->layout, which must outlive it; free it with rk_run_outcome_free; it is NULL after a
 * failure.  Errors: RK_ERR_INVALID for a number out of range, for options, a document or a strategy
 * that the framework refuses, and where interruptions leave no time to advance; RK_ERR_STOPPED;
 * RK_ERR_MEMORY.
 */
RK_API rk_status rk_predict_run(const rk_setup *setup, const rk_run_request *request,
                                const rk_job_control *control, rk_run_outcome **run, rk_error *err);

/* NULL is legal. */
RK_API void rk_run_outcome_free(rk_run_outcome *run);

/* Statistics over all simulated runs. */
typedef struct rk_spread {
    double mean;  /* of runs that finished */
    double error; /* standard error of the mean */
    double p10;   /* 10th percentile of all runs; infinite: no end */
    double p50;   /* the median of all runs; infinite: no end */
    double p90;   /* and the 90th percentile */
} rk_spread;

/* Results of a run; the five times after total_s and start_s add up to it. */
typedef struct rk_run_outcome_facts {
    bool found;                        /* a strategy fits; otherwise the rest is 0 */
    double tokens;                     /* to train on */
    double steps;                      /* of the optimizer */
    double step_s;                     /* of an uninterrupted step, with stragglers */
    double accelerators;               /* to train on */
    double checkpoint_bytes;           /* of one, of all accelerators */
    double total_s;                    /* expected, from the start to the last step */
    double training_s;                 /* in steps */
    double checkpoints_s;              /* waiting for checkpoints */
    double lost_s;                     /* work since the last checkpoint that is repeated */
    double restarts_s;                 /* from interruptions to the next step */
    double planned_s;                  /* stops that lose no work */
    double goodput;                    /* share of the steps in total_s */
    double mtbf_s;                     /* between interruptions; infinite without */
    double failures;                   /* expected interruptions */
    double checkpoint_interval_s;      /* infinite: there are no checkpoints */
    double near_copies_per_checkpoint; /* per checkpoint in storage; 1: none are made nearby */
    double checkpoint_write_s;         /* to write one to storage, or to read it */
    double checkpoint_blocking_s;      /* that training waits for one */
    double accelerator_hours;          /* of all accelerators, spares included */
    double cost;                       /* in the currency of the price; 0: not known */
    double energy_J;                   /* building included; 0: not known */
    double carbon_kg;                  /* of CO2; 0: not known */
    int64_t simulated_runs;            /* 0: the rest is 0 */
    int64_t unfinished_runs;           /* simulated runs that never finish */
    rk_spread simulated_total_s;       /* time of a run */
    rk_spread simulated_goodput;       /* share of its steps */
    rk_spread simulated_interruptions; /* of a run */
    rk_spread simulated_cost;          /* of a run; 0: not known */
    double start_s;                    /* from the start of the job to its first step */
} rk_run_outcome_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_run_outcome_facts). */
RK_API void rk_run_outcome_describe(const rk_run_outcome *run, rk_run_outcome_facts *facts,
                                    size_t size);

/*
 * The strategy of the run and its prediction, as an outcome with one strategy, or with what is
 * missing where none fits.  It belongs to the run.
 */
RK_API const rk_outcome *rk_run_outcome_strategies(const rk_run_outcome *run);

/* An uncertain assumption, and the length of the run at both ends of its range. */
typedef struct rk_run_assumption {
    const char *name;    /* static */
    double low;          /* as a factor of what is assumed */
    double high;         /* as a factor of what is assumed */
    double low_total_s;  /* of the run at the low end; infinite: it does not advance */
    double high_total_s; /* at the high end */
} rk_run_assumption;

/*
 * Fills the first `size` bytes for assumption `index`, those with the largest effect first.
 * Returns false, and fills nothing, past the last.
 */
RK_API bool rk_run_outcome_assumption(const rk_run_outcome *run, size_t index,
                                      rk_run_assumption *assumption, size_t size);

#ifdef __cplusplus
}
#endif

#endif
