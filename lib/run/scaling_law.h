/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws that relate loss, parameters, tokens and batches: documents of data/scaling_laws and
 * data/batch_laws.  Losses are nats per token; they compare runs on the same text only.
 */
#ifndef RK_RUN_SCALING_LAW_H
#define RK_RUN_SCALING_LAW_H

#include "reckon/base.h"

#include <stdbool.h>

/* ---- loss ------------------------------------------------------------------------------------ */

typedef enum rk_loss_form {
    RK_LOSS_SUM,   /* floor + A / N^a + B / D^b */
    RK_LOSS_JOINT, /* ((A / N)^(a/b) + B / D)^b */
} rk_loss_form;

/* Which parameters of a model a law counts. */
typedef enum rk_law_counts {
    RK_LAW_COUNTS_ALL,
    RK_LAW_COUNTS_WITHOUT_EMBEDDING, /* nor head, nor positions */
    RK_LAW_COUNTS_COUNT,
} rk_law_counts;

/* One constant of a law with its exponent. */
typedef struct rk_law_term {
    double coefficient, exponent;
} rk_law_term;

#define RK_LAW_NAME_SIZE 64

typedef struct rk_loss_law {
    char name[RK_LAW_NAME_SIZE];
    char text[RK_LAW_NAME_SIZE]; /* that the losses are of; "": not known */
    rk_loss_form form;
    rk_law_counts counts;
    double floor;
    rk_law_term parameters, tokens;      /* A, a and B, b */
    double most_parameters, most_tokens; /* of the runs that it rests on; 0: not known */
} rk_loss_law;

/* Reads a document: a file, or a name of the catalogue data/scaling_laws. */
rk_status rk_loss_law_load(const char *name, rk_loss_law *law, rk_error *err);

/* Loss of a model of so many parameters after so many tokens; HUGE_VAL tokens: its floor. */
double rk_loss_of(const rk_loss_law *law, double parameters, double tokens);

/* Fills the tokens that reach a loss; RK_ERR_INVALID at or below the floor of the parameters. */
rk_status rk_loss_tokens(const rk_loss_law *law, double parameters, double loss, double *tokens,
                         rk_error *err);

/*
 * The lowest loss of a model within the range of a law: after the most tokens, and no lower than
 * the loss of its largest run; 0 if the law states no range.
 */
double rk_loss_lowest(const rk_loss_law *law, double parameters);

/*
 * As rk_loss_tokens, and refuses a loss below that lowest one: near the floor a hundredth of a nat
 * decides between some trillion tokens and any number.
 */
rk_status rk_loss_tokens_in_range(const rk_loss_law *law, double parameters, double loss,
                                  double *tokens, rk_error *err);

/* Tokens to a loss by a law. */
typedef struct rk_law_tokens {
    char name[RK_LAW_NAME_SIZE];
    double tokens;
} rk_law_tokens;

#define RK_LAWS_MAX 16

/*
 * Fills the tokens by the other laws of the catalogue that are of the same text and reach the loss
 * within their range, the fewest tokens first.  `parameters` of the model are by rk_law_counts.
 */
rk_status rk_loss_others(const rk_loss_law *law, const double parameters[RK_LAW_COUNTS_COUNT],
                         double loss, rk_law_tokens others[RK_LAWS_MAX], int *count, rk_error *err);

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct rk_batch_law {
    char name[RK_LAW_NAME_SIZE];
    bool by_loss; /* coefficient / L^exponent; otherwise coefficient D^exponent */
    rk_law_term term;
    double unit_tokens; /* of the unit in which it counts */
} rk_batch_law;

/* Reads a document: a file, or a name of the catalogue data/batch_laws. */
rk_status rk_batch_law_load(const char *name, rk_batch_law *law, rk_error *err);

/* Tokens of the critical batch of a run over so many tokens to such a loss. */
double rk_batch_critical(const rk_batch_law *law, double tokens, double loss);

/*
 * Tokens that a batch needs relative to a reference batch, for the same loss (McCandlish et al.
 * 2018): (1 + batch/critical) / (1 + reference/critical).
 */
double rk_batch_tokens_factor(double batch, double reference, double critical);

#endif
