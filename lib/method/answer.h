/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the reckon model's answers, from which `reckon estimate`, `fit` and `plan` compose
 * theirs.
 */
#ifndef RK_METHOD_ANSWER_H
#define RK_METHOD_ANSWER_H

#include "io/json_write.h"
#include "io/table.h"
#include "method/estimate_explain.h"
#include "request/request.h"
#include "residual/risk.h"

/* One strategy in full. */
typedef struct rk_answer {
    rk_strategy strategy;
    rk_estimate estimate;
    rk_stage_memory *stages; /* owned; strategy.pp entries */
    rk_interval interval;    /* of measured over predicted time, by comparable runs */
    rk_interval memory;      /* the same of memory */
    double bf16_step;        /* s; of a strategy in fp8 or fp4, its step in bf16; else 0 */
    double dense_step;       /* s; of a model with picked keys, its step with all keys; else 0 */
} rk_answer;

/* Estimates a legal strategy with its schedule played; cleared with free(answer->stages). */
rk_status rk_answer_fill(const rk_setting *setting, const rk_strategy *strategy, rk_answer *answer,
                         rk_error *err);

/* The figures of an answer for programs. */
rk_prediction rk_answer_figures(const rk_answer *answer);

rk_setting rk_setting_of(const rk_inputs *inputs);

/* The same with a store of costs, which rk_setting_close releases, also after a failure. */
rk_status rk_setting_open(const rk_inputs *inputs, rk_setting *setting, rk_error *err);
void rk_setting_close(rk_setting *setting);

/* The smallest batch of at least so many sequences that is legal for a strategy, or its own. */
int64_t rk_batch_at_least(const rk_setting *setting, const rk_strategy *strategy, double sequences);

/* The estimate of a strategy with another batch that is legal. */
rk_status rk_estimate_batch(const rk_setting *setting, const rk_strategy *strategy, int64_t batch,
                            rk_estimate *estimate, rk_error *err);

/* ---- for people ---------------------------------------------------------------------------- */

/*
 * Rounds parts so that the printed parts add up to the printed total: each is the difference of
 * two rounded running sums, in units of the last printed digit.
 */
typedef struct rk_rounding {
    double digit; /* the last one printed */
    double sum, printed;
} rk_rounding;

double rk_round_next(rk_rounding *rounding, double part);

/* "12 %", "< 1 %". */
#define RK_RISK_TEXT_SIZE 16
const char *rk_risk_text(double risk, char out[RK_RISK_TEXT_SIZE]);

/* Starts a line of the form "model     ..."; "" continues the one before. */
void rk_write_label(FILE *to, const char *label);

/*
 * The keys of a launch: how many are used, which have a cost that is not priced, which unknown;
 * in full with what they cost.
 */
void rk_launch_write_text(FILE *to, const struct rk_launch *launch, bool full);

/* The stack and the framework, each with its reason. */
void rk_write_software(FILE *to, const rk_request *request, const rk_inputs *inputs);

/* The documents with their main figures, and the strategy in words. */
void rk_write_inputs(FILE *to, const rk_request *request, const rk_inputs *inputs);
void rk_write_strategy(FILE *to, bool recommended, const rk_strategy *strategy);

/*
 * Step, rates and utilisation; and whether it fits, by how much, on which stage, with what risk,
 * and in full by which runs.
 */
void rk_write_summary(FILE *to, const rk_inputs *inputs, const rk_answer *answer);
void rk_write_fit(FILE *to, const rk_inputs *inputs, const rk_answer *answer, bool full);

/* Warns where bf16, or attention to all keys, would be faster. */
void rk_write_slower(FILE *to, const rk_answer *answer);

/* The largest part of memory, and a line about it: "To cut: ...". */
int rk_largest_part(const rk_stage_memory *memory);
void rk_write_largest_part(FILE *to, const rk_estimate *estimate);

/* The parts of a step; what is printed adds up to the printed total. */
rk_status rk_write_time(FILE *to, const rk_estimate *estimate, rk_table_style style, rk_error *err);

/* Memory by part on the rank that needs most, and memory of every rank. */
rk_status rk_write_memory(FILE *to, const rk_answer *answer, rk_table_style style, rk_error *err);
rk_status rk_write_stages(FILE *to, const rk_inputs *inputs, const rk_answer *answer,
                          rk_table_style style, rk_error *err);

/* Bytes that a rank sends in a step, and over which links. */
rk_status rk_write_volumes(FILE *to, const rk_inputs *inputs, const rk_answer *answer,
                           rk_table_style style, rk_error *err);

/* The bound of the step, and the gain from each hardware number. */
rk_status rk_write_explanation(FILE *to, const rk_answer *answer,
                               const rk_sensitivities *sensitivities, rk_table_style style,
                               rk_error *err);

/* ---- for programs -------------------------------------------------------------------------- */

/* The members "request", "model" and "system", which repeat the question. */
void rk_request_write_json(rk_json_writer *writer, const rk_request *request,
                           const rk_inputs *inputs);

/* The members "strategy", "estimate" and "stages". */
void rk_answer_write_json(rk_json_writer *writer, const rk_answer *answer);

/* The member "provenance": where each field of the strategy comes from. */
void rk_origins_write_json(rk_json_writer *writer, const rk_origins *origins);

/* Lines that name the fields that are neither derived nor defaults. */
void rk_write_origins(FILE *to, const rk_origins *origins);

/* The member "explanation": the sensitivities. */
void rk_explanation_write_json(rk_json_writer *writer, const rk_answer *answer,
                               const rk_sensitivities *sensitivities);

/* Receives a line that is not part of an answer. */
typedef void rk_remark_line(void *user, const char *line);

/*
 * Writes the strategy as a launch file, an index of rk_launch_names, and closes `out`; abandons it
 * after a failure.  What the file does not say goes to `remark`; NULL: nowhere.
 */
rk_status rk_answer_write_launch(const rk_answer *answer, const rk_inputs *inputs, int kind,
                                 rk_out *out, rk_remark_line *remark, void *user, rk_error *err);

/* The same as a text that the caller frees. */
rk_status rk_answer_launch_text(const rk_answer *answer, const rk_inputs *inputs, int kind,
                                rk_remark_line *remark, void *user, char **text, rk_error *err);

/* Answers as lines of a CSV table with a header. */
void rk_answers_write_lines(rk_out *out, const rk_answer *answers, size_t count);

#endif
