/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole training run: what its steps, checkpoints and failures take together, and what that
 * costs in money, energy and carbon.
 */
#ifndef RK_RUN_TRAINING_H
#define RK_RUN_TRAINING_H

#include "run/checkpoint.h"

/* A training run; times in s, sizes in bytes. */
typedef struct rk_training {
    double tokens;          /* to train on */
    double tokens_per_step; /* of the whole run */
    double step;            /* of one that nothing interrupts */
    double accelerators;
    /* Failures and what follows them. */
    double failure_rate; /* interruptions of the run, per accelerator and s; 0: none */
    double restart;      /* from an interruption to the first step after it, but for reading */
    /* Checkpoints. */
    double checkpoint; /* bytes of one, of all accelerators */
    double storage;    /* bytes/s of all storage, written and read */
    double host;       /* bytes/s to host memory, per accelerator: training waits for this copy
                          alone while storage is written; 0: it waits for storage */
    double interval;   /* from the end of one to the start of the next; 0: the best */
    /* Copies nearby, between those in storage (run/checkpoint.h). */
    double near_write; /* s that training waits for one; 0: none are made */
    double near_read;  /* s */
    double near_share; /* of the interruptions, after which the near copy is usable */
    /* Corruption that nobody notices at first; training since then is done again. */
    double silent_share; /* of the interruptions */
    double silent;       /* s of training until it is noticed */
    /* Stops that were planned and lose no work. */
    double planned_share; /* for each unexpected interruption */
    double window;        /* s of a maintenance window, after which the run restarts */
    double window_every;  /* s from one to the next; 0: there are none */
    double start;         /* s from the start of the job to its first step, but for reading */
    /* Prices; 0: not known. */
    double spares;     /* spare accelerators, which are paid for */
    double power;      /* W per accelerator in training, with its share of the node */
    double idle_power; /* the same while it waits: restarts, stops, spares */
    double pue;        /* power of the building relative to its machines */
    double price;      /* of an accelerator-hour */
    double carbon;     /* g per kWh */
} rk_training;

/* Where the time of a run goes; the parts add up to the total. */
typedef enum rk_training_part {
    RK_TRAINING_STEPS,
    RK_TRAINING_CHECKPOINTS, /* training waits for them */
    RK_TRAINING_LOST,        /* work since the last checkpoint, done again */
    RK_TRAINING_RESTARTS,
    RK_TRAINING_PLANNED, /* stops that lose no work */
    RK_TRAINING_START,   /* until the first step */
    RK_TRAINING_PART_COUNT,
} rk_training_part;

extern const char *const rk_training_part_names[]; /* NULL-terminated, in enum order */

typedef struct rk_training_result {
    double steps;
    double mtbf;                         /* s between interruptions; infinite without */
    double failures;                     /* expected in the run */
    double blocking;                     /* s that training waits for a checkpoint */
    double writing;                      /* s until it is in storage; reading is as long */
    double interval;                     /* s; infinite: there are no checkpoints */
    double far_every;                    /* near copies per one in storage; 1: no near copies */
    double part[RK_TRAINING_PART_COUNT]; /* s */
    double total;                        /* s */
    double goodput;                      /* share of steps in the total */
    double goodput_first;                /* the same by the first-order law (run/checkpoint.h); 0:
                                            copies nearby, which it does not know */
    double accelerator_hours;
    double energy, cost, carbon; /* J, money, kg; 0: not known */
} rk_training_result;

/*
 * Interruptions, restarts and storage of a published cluster of this size, where nothing else is
 * known: the document published of data/reliability, and 0.122 GB/s of storage an accelerator, as
 * for Llama 3 405B (2 TB/s for 16,384 H100, arXiv 2407.21783).  Everything else is 0.
 */
rk_status rk_training_usual(double accelerators, rk_training *training, rk_error *err);

/*
 * The expected run.  Fails with RK_ERR_INVALID where interruptions, corruption or maintenance leave
 * no time to advance, and where an interval is shorter than the writing of a checkpoint.
 */
rk_status rk_training_run(const rk_training *training, rk_training_result *result, rk_error *err);

#endif
