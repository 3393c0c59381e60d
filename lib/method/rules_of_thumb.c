/* SPDX-License-Identifier: Apache-2.0 */
/* Training time by 6ND or 8ND, bytes of states, and weak and strong scaling, for comparison. */
#include "method/rules_of_thumb.h"

#include "base/error.h"
#include "base/units.h"
#include "estimate/stage.h"
#include "framework/framework.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define TERA 1e12
#define GIGA 1e9

int rk_rule_flops(bool recompute)
{
    return recompute ? 8 : 6;
}

double rk_training_rule_s(double tokens, double parameters, double accelerators, double rate,
                          bool recompute)
{
    return rk_rule_flops(recompute) * tokens * parameters / (accelerators * rate);
}

/* ---- scale factors ------------------------------------------------------------------------- */

/* The least data parallelism on which the experts can be placed. */
static int64_t least_dp(const rk_strategy *s)
{
    const int64_t others = s->tp * s->cp, experts = s->ep * s->etp;
    int64_t dp = (experts + others - 1) / others;
    while (dp < s->dp && (s->dp % dp || dp * others % experts)) {
        dp++;
    }
    return dp < s->dp ? dp : s->dp;
}

/* FLOP/s that an accelerator executes with `dp` replicas and a batch; 0 if that is not legal. */
static rk_status rate_on(const rk_setting *setting, const rk_strategy *strategy, int64_t dp,
                         int64_t batch, double *rate, rk_error *err)
{
    assert(dp >= 1 && batch >= 1);
    rk_strategy part = *strategy;
    rk_estimate estimate;
    part.dp = dp;
    part.global_batch = batch;
    part.replicas = 1;
    *rate = 0;
    if (!rk_strategy_legal(setting->model, setting->system, &part, setting->framework, NULL)) {
        return RK_OK;
    }
    const rk_status status = rk_estimate_exact(setting, &part, &estimate, NULL, err);
    *rate = status ? 0 : estimate.hardware_flops / estimate.step;
    return status;
}

/*
 * Bytes of weights, gradients and optimizer states of the whole model, once: as on a rank that
 * shares nothing.  *bytes is unchanged after a failure.
 */
static rk_status count_states(const rk_setting *setting, const rk_strategy *strategy, double *bytes,
                              rk_error *err)
{
    rk_strategy alone = *strategy;
    rk_chunk chunk;
    rk_cost_table *table = malloc(sizeof(*table));
    alone.tp = alone.cp = alone.pp = alone.vp = alone.dp = alone.ep = alone.etp = 1;
    alone.replicas = 1;
    alone.global_batch = alone.micro_batch;
    alone.sp = false;
    alone.schedule = rk_schedule_usual(1);
    alone.sharding = RK_SHARD_NONE;
    alone.layout = NULL;
    alone.layout_count = 0;
    alone.first_stage_layers = alone.last_stage_layers = 0;
    alone.offload_optimizer = alone.offload_weights = alone.offload_activations = false;
    if (!table) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the states of a model");
    }
    rk_cost_table_fill(setting->model, setting->system, setting->stack, &alone, table);
    rk_strategy_chunks(setting->model, &alone, &chunk);
    const rk_stage stage = rk_stage_of(table, &alone, &chunk);
    const rk_stage_need need = rk_stage_need_of(table, &alone, &stage);
    *bytes = need.weights + need.gradients + need.optimizer;
    free(table);
    return RK_OK;
}

/* Bytes of a rank's memory that are not states of the model. */
static double other_bytes(const rk_stage_memory *memory)
{
    return memory->total - memory->part[RK_MEM_WEIGHTS] - memory->part[RK_MEM_GRADIENTS] -
           memory->part[RK_MEM_OPTIMIZER];
}

static double over(double value, double base)
{
    return base > 0 ? value / base : 0;
}

rk_status rk_rules_fill(const rk_setting *setting, const rk_answer *answer, rk_rules *rules,
                        rk_error *err)
{
    const rk_strategy *s = &answer->strategy;
    const rk_model_params params = rk_model_params_of(setting->model);
    const int64_t dp = least_dp(s);
    double all = 0;
    *rules = (rk_rules){
        .weights = 4 * (double)params.total,
        .rate = answer->estimate.hardware_flops / answer->estimate.step,
        .accelerators = (double)rk_strategy_ranks(s),
    };
    rules->recompute = s->recompute == RK_REC_FULL;
    rules->trillion_s = rk_training_rule_s(TERA, (double)params.active, rules->accelerators,
                                           rules->rate, rules->recompute);
    rules->predicted_s = TERA / answer->estimate.tokens_per_second;
    rules->part = rules->accelerators / (double)s->dp * (double)dp;
    for (int64_t i = 0; i < s->pp; i++) {
        rules->memory += answer->stages[i].total * rules->accelerators / (double)s->pp;
        rules->others += other_bytes(&answer->stages[i]) * (double)(s->tp * s->cp);
    }
    rules->replica = (double)(s->tp * s->cp * s->pp);
    rk_status status = count_states(setting, s, &rules->states, err);
    status = status ? status
                    : rate_on(setting, s, dp, s->global_batch / s->dp * dp, &rules->part_rate, err);
    status = status ? status : rate_on(setting, s, dp, s->global_batch, &all, err);
    rules->weak = over(rules->rate, rules->part_rate);
    rules->strong = over(rules->rate, all);
    return status;
}

/* ---- output -------------------------------------------------------------------------------- */

void rk_rules_write_time(FILE *to, const rk_rules *r)
{
    rk_write_label(to, "rule");
    (void)fprintf(to,
                  "%d T P / (n X) gives %.4g days a trillion tokens at %.4g TFLOP/s; predicted "
                  "%.4g\n",
                  rk_rule_flops(r->recompute), r->trillion_s / DAY, r->rate / TERA,
                  r->predicted_s / DAY);
}

void rk_rules_write_brief(FILE *to, const rk_rules *r)
{
    rk_write_label(to, "rules");
    (void)fprintf(to, "%d T P / (n X): %.4g days a trillion tokens; predicted %.4g\n",
                  rk_rule_flops(r->recompute), r->trillion_s / DAY, r->predicted_s / DAY);
    rk_write_label(to, "");
    (void)fprintf(to, "memory of a replica: 7 to 8 x %.4g GB in fp32; predicted %.2f x\n",
                  r->weights / GIGA, (r->states + r->others) / r->weights);
    if (r->part_rate > 0 && r->part < r->accelerators) {
        rk_write_label(to, "");
        (void)fprintf(to, "%.4g PFLOP/s, scale factor weak %.3f, strong %.3f from %.0f\n",
                      r->rate * r->accelerators / 1e15, r->weak, r->strong, r->part);
    }
}

void rk_rules_write(FILE *to, const rk_rules *r)
{
    rk_write_label(to, "memory");
    (void)fprintf(to,
                  "7 to 8 times %.4g GB of weights in fp32 is %.0f to %.0f GB for one replica; "
                  "predicted %.0f GB, of which %.0f GB are states\n",
                  r->weights / GIGA, 7 * r->weights / GIGA, 8 * r->weights / GIGA,
                  (r->states + r->others) / GIGA, r->states / GIGA);
    rk_write_label(to, "");
    (void)fprintf(to, "a replica is on %.0f of %.0f accelerators, which hold %.0f GB in all\n",
                  r->replica, r->accelerators, r->memory / GIGA);
    if (r->part_rate > 0 && r->part < r->accelerators) {
        rk_write_label(to, "scaling");
        (void)fprintf(to,
                      "%.1f TFLOP/s x %.0f accelerators x %.3f = %.4g PFLOP/s, relative to %.0f "
                      "accelerator%s\n",
                      r->part_rate / TERA, r->accelerators, r->weak,
                      r->rate * r->accelerators / 1e15, r->part, r->part > 1 ? "s" : "");
        rk_write_label(to, "");
        (void)fprintf(to, "efficiency: weak %.3f (larger batch), strong %.3f (same batch)\n",
                      r->weak, r->strong);
    }
}

void rk_rules_write_json(rk_json_writer *writer, const rk_rules *r)
{
    rk_json_open_member(writer, "scaling", "{");
    rk_json_real(writer, "flops_per_s_per_accelerator", r->rate);
    rk_json_real(writer, "seconds_per_trillion_tokens", r->trillion_s);
    rk_json_real(writer, "predicted_seconds_per_trillion_tokens", r->predicted_s);
    rk_json_real(writer, "weights_fp32_bytes", r->weights);
    rk_json_real(writer, "memory_predicted_bytes", r->memory);
    rk_json_real(writer, "replica_accelerators", r->replica);
    rk_json_real(writer, "replica_states_bytes", r->states);
    rk_json_real(writer, "replica_memory_bytes", r->states + r->others);
    rk_json_real(writer, "scaling_from_accelerators", r->part);
    rk_json_real(writer, "scale_factor_weak", r->weak);
    rk_json_real(writer, "scale_factor_strong", r->strong);
    rk_json_close(writer, "}");
}
