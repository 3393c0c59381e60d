/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the usual memory savings in order, from micro-batch 1 to LoRA and offloading. */
#include "method/usual_savings.h"

#include "base/error.h"
#include "method/answer.h"
#include "request/option_values.h"
#include "request/strategy_choices.h"
#include "search/fewest_accelerators.h"

#include <stdlib.h>

/* ---- a number of accelerators ---------------------------------------------------------------- */

static int64_t only(const rk_option_counts *counts)
{
    return counts->count == 1 ? counts->values[0] : 1;
}

rk_status rk_request_find_fewest(const rk_request *request, const rk_inputs *inputs,
                                 const rk_search_control *control, int64_t *fewest,
                                 rk_planned_strategy *leanest, rk_error *err)
{
    rk_request r = *request;
    rk_plan_space space;
    r.accelerators = only(&r.tp) * only(&r.cp) * only(&r.pp); /* any that the degrees divide */
    r.global_batch = request->global_batch ? request->global_batch : r.accelerators;
    const rk_status status = rk_request_space(&r, inputs, &space, err);
    space.global_batch = request->global_batch;
    return status ? status
                  : rk_find_fewest_accelerators(&inputs->model, &inputs->system,
                                                &inputs->software.stack, &space, control, fewest,
                                                leanest, err);
}

/* ---- cures ----------------------------------------------------------------------------------- */

/* Each changes a request, and returns whether that is another one. */

static bool states_recompute(const rk_request *r)
{
    return r->recomputes || r->modules || r->recompute_layers;
}

static bool as_asked(rk_request *r)
{
    r->recomputes = states_recompute(r) ? r->recomputes : 1U << RK_REC_NONE;
    return true;
}

static bool take_one_sequence(rk_request *r)
{
    const bool several = r->micro_batch.count > 0 && only(&r->micro_batch) > 1;
    r->micro_batch = several ? (rk_option_counts){.count = 1, .values = {1}} : r->micro_batch;
    return several;
}

static bool checkpoint(rk_request *r)
{
    const bool open = r->recomputes != 1U << RK_REC_FULL;
    r->recomputes = 1U << RK_REC_FULL;
    r->modules = 0;
    return open;
}

static bool fuse_loss(rk_request *r)
{
    const bool open = r->cross_entropy < 0;
    r->cross_entropy = open ? RK_CROSS_ENTROPY_FUSED - 1 : r->cross_entropy;
    return open;
}

static bool adapt(rk_request *r)
{
    const bool open = r->lora_rank == 0;
    r->lora_rank = open ? 16 : r->lora_rank;
    return open;
}

static bool quantise(rk_request *r)
{
    const bool open = !rk_request_quantises(r);
    (void)adapt(r);
    r->nf4_weights = true;
    return open;
}

static bool narrow_states(rk_request *r)
{
    const bool open = r->lora_rank == 0 && r->optimizer < 0 && r->weights < 0;
    r->optimizer = RK_OPTIMIZER_ADAMW_8BIT;
    r->weights = RK_WEIGHTS_IN_BF16;
    return open;
}

static bool offload(rk_request *r)
{
    const bool open = r->lora_rank == 0 && r->offloads == 0;
    r->offloads = RK_OFFLOAD_THE_STEP;
    return open;
}

/* In the order in which people try them; `after`: the cure that it adds to. */
static const struct {
    const char *name, *options;
    bool (*change)(rk_request *);
    int after;
} cures_known[] = {
    {"as asked, nothing recomputed", "", as_asked, 0},
    {"micro-batch of one sequence", "--micro-batch 1", take_one_sequence, 0},
    {"checkpoints of layers", "--recompute full", checkpoint, 1},
    {"fused loss", "--cross-entropy fused", fuse_loss, 2},
    {"LoRA", "--lora-rank 16", adapt, 3},
    {"QLoRA", "--qlora", quantise, 4},
    {"AdamW in 8 bits", "--weights bf16 --optimizer adamw-8bit", narrow_states, 3},
    {"AdamW on the host", "--offload optimizer,gradients", offload, 3},
};
enum { KNOWN = sizeof(cures_known) / sizeof(cures_known[0]) };
_Static_assert(KNOWN <= RK_USUAL_SAVING_MAX, "a place for every cure");

/* The request that one accelerator answers, sequence by sequence. */
static rk_request alone(const rk_request *request)
{
    rk_request r = rk_request_open(request);
    const rk_option_counts one = {.count = 1, .values = {1}};
    r.recomputes = request->recomputes;
    r.modules = request->modules;
    r.micro_batch = request->micro_batch.count == 1 ? request->micro_batch : one;
    r.tp = r.cp = r.pp = r.ep = one;
    r.accelerators = 1;
    r.global_batch = only(&r.micro_batch);
    return r;
}

/* A cure that the framework refuses is left out. */
static rk_status judge(const rk_request *request, const rk_inputs *inputs,
                       const rk_search_control *control, rk_usual_saving *cure, bool *legal,
                       rk_error *err)
{
    const rk_setting setting = rk_setting_of(inputs);
    const rk_request one = alone(request);
    rk_error refused;
    *legal = !rk_request_strategy(&one, inputs, &cure->alone, &refused);
    if (!*legal) {
        return RK_OK;
    }
    const rk_status status =
        rk_predict_estimate(&setting, &cure->alone, &cure->estimate, NULL, err);
    return status ? status
                  : rk_request_find_fewest(request, inputs, control, &cure->fewest, &cure->leanest,
                                           err);
}

rk_status rk_usual_savings_find(const rk_request *request, const rk_inputs *inputs,
                                const rk_search_control *control, rk_usual_savings *cures,
                                rk_error *err)
{
    rk_request *changed = calloc(KNOWN, sizeof(*changed)); /* large, each */
    rk_status status =
        changed ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    cures->count = 0;
    for (int i = 0; i < KNOWN && !status; i++) {
        bool legal = false;
        rk_usual_saving *cure = &cures->items[cures->count];
        *cure = (rk_usual_saving){.name = cures_known[i].name, .options = cures_known[i].options};
        cure->name = i == 0 && states_recompute(request) ? "as asked" : cure->name;
        changed[i] = i == 0 ? *request : changed[cures_known[i].after];
        if (cures_known[i].change(&changed[i])) {
            status = judge(&changed[i], inputs, control, cure, &legal, err);
        }
        cures->count += legal ? 1 : 0;
    }
    free(changed);
    return status;
}
