/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by a rule of thumb, and how the rate of a run scales, next to the prediction. */
#ifndef RK_METHOD_RULES_OF_THUMB_H
#define RK_METHOD_RULES_OF_THUMB_H

#include "method/answer.h"

/* FLOPs per token and parameter: forward 2, backward 4, and forward again with full recompute. */
int rk_rule_flops(bool recompute);

/*
 * Rule of thumb for the time of a run with full recompute (Narayanan et al. 2021, equation 4):
 * 8 tokens parameters / (accelerators rate), rate in achieved FLOP/s; 6 in place of 8 without
 * recompute.
 */
double rk_training_rule_s(double tokens, double parameters, double accelerators, double rate,
                          bool recompute);

typedef struct rk_rules {
    double weights;         /* bytes of the parameters in fp32: 700 GB of 175B */
    double memory;          /* bytes of all accelerators, predicted */
    double states;          /* bytes of the states of one replica of the model, wherever they are */
    double others;          /* bytes of the rest of the memory of the accelerators of a replica */
    double replica;         /* accelerators of a replica: TP x CP x PP */
    double rate;            /* FLOP/s that an accelerator executes, with recompute */
    double accelerators;    /* of the run, and of its smallest part that trains the model */
    double part, part_rate; /* rate there, with its share of the batch; 0: not legal */
    double trillion_s;      /* of a trillion tokens by 8 T P / (n X), or 6 without recompute */
    double predicted_s;     /* of as many, by the prediction */
    bool recompute;
    double weak, strong; /* rate relative to the part's, with its share and with all of the batch */
} rk_rules;

/*
 * Fills the rules of an answer. The smallest part has as little data parallelism as experts allow.
 */
rk_status rk_rules_fill(const rk_setting *setting, const rk_answer *answer, rk_rules *rules,
                        rk_error *err);

void rk_rules_write(FILE *to, const rk_rules *rules);

/* The time of a trillion tokens, for answers that have no budget of tokens. */
void rk_rules_write_time(FILE *to, const rk_rules *rules);

/* Everything in a line each for time, memory and scaling. */
void rk_rules_write_brief(FILE *to, const rk_rules *rules);

/* The member "scaling", in bytes, FLOP/s and seconds. */
void rk_rules_write_json(rk_json_writer *writer, const rk_rules *rules);

#endif
