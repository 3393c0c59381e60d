/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of `run`: a whole run, and the clusters for one. */
#ifndef RK_ANSWER_RUN_ANSWER_H
#define RK_ANSWER_RUN_ANSWER_H

#include "answer/answer_fields.h"
#include "job/answer_writers.h"
#include "whole_run/clusters.h"

/* Writes a run, and its progress to the file `timeline` (NULL: none). */
rk_status rk_whole_run_write(const rk_job *job, const rk_whole_run *run, const char *timeline,
                             rk_error *err);
rk_status rk_clusters_write(const rk_job *job, const rk_clusters *clusters, rk_error *err);

enum { RK_RUN_TIER_FIELDS = 8 };
extern const rk_answer_field rk_run_tier_fields[RK_RUN_TIER_FIELDS]; /* of rk_run_tier */

/* Text of a run. */
rk_text_writer rk_whole_run_text;

/* The law of a target loss, its range, and what others say; nothing without --loss. */
void rk_run_write_target(FILE *to, const rk_run_question *question, const rk_loss_target *target,
                         bool full);

/* "15.6 T", "5.682 TB", "512"; returns `out`. */
#define RK_AMOUNT_SIZE 32
const char *rk_amount_text(double value, const char *unit, char out[RK_AMOUNT_SIZE]);

#endif
