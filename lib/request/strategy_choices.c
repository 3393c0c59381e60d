/* SPDX-License-Identifier: Apache-2.0 */
/* Bit sets of the choices that a request states, implies or leaves open. */
#include "request/strategy_choices.h"

#include "framework/framework.h"
#include "request/field_options.h"

#include <stdio.h>

const char *const rk_choice_names[RK_CHOICE_COUNT] = {
    [RK_CHOICE_TP] = "TP",
    [RK_CHOICE_CP] = "CP",
    [RK_CHOICE_PP] = "PP",
    [RK_CHOICE_VP] = "VP",
    [RK_CHOICE_EP] = "EP",
    [RK_CHOICE_ETP] = "ETP",
    [RK_CHOICE_MICRO_BATCH] = "micro-batch",
    [RK_CHOICE_ZERO] = "ZeRO",
    [RK_CHOICE_RECOMPUTE] = "recompute",
    [RK_CHOICE_DP] = "DP",
    [RK_CHOICE_SCHEDULE] = "schedule",
    [RK_CHOICE_CP_KIND] = "CP kind",
    [RK_CHOICE_ORDER] = "rank order",
    [RK_CHOICE_SPLIT] = "split of layers",
    [RK_CHOICE_OFFLOAD] = "offload",
};
const char *const rk_choice_keys[RK_CHOICE_COUNT] = {
    [RK_CHOICE_TP] = "tp",
    [RK_CHOICE_CP] = "cp",
    [RK_CHOICE_PP] = "pp",
    [RK_CHOICE_VP] = "vp",
    [RK_CHOICE_EP] = "ep",
    [RK_CHOICE_ETP] = "etp",
    [RK_CHOICE_MICRO_BATCH] = "micro_batch",
    [RK_CHOICE_ZERO] = "zero",
    [RK_CHOICE_RECOMPUTE] = "recompute",
    [RK_CHOICE_DP] = "dp",
    [RK_CHOICE_SCHEDULE] = "schedule",
    [RK_CHOICE_CP_KIND] = "cp_kind",
    [RK_CHOICE_ORDER] = "rank_order",
    [RK_CHOICE_SPLIT] = "split",
    [RK_CHOICE_OFFLOAD] = "offload",
};

#define BIT(choice) (1U << (choice))

/* ---- what is given --------------------------------------------------------------------------- */

static unsigned given_choices(const rk_request *r)
{
    unsigned set = 0;
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT; i++) {
        const rk_field_option *field = &rk_field_options[i];
        set |= field->choice >= 0 && rk_field_given(field, r) ? BIT(field->choice) : 0;
    }
    return set;
}

/* Options with more than one value, which `plan` chooses from. */
static unsigned several_choices(const rk_request *r)
{
    unsigned set = 0;
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT; i++) {
        const rk_field_option *field = &rk_field_options[i];
        set |= field->choice >= 0 && rk_field_has_several(field, r) ? BIT(field->choice) : 0;
    }
    return set;
}

/* ---- what follows ---------------------------------------------------------------------------- */

static int64_t value_of(const rk_option_counts *counts)
{
    return counts->count == 1 ? counts->values[0] : 0; /* 0: open */
}

/* Whether a degree is 1: given so, or because no accelerators are left for it. */
static bool is_one(const rk_option_counts *counts, bool used_up)
{
    return value_of(counts) == 1 || (counts->count == 0 && used_up);
}

/* Whether the degrees that are given take all accelerators. */
static bool uses_all(const rk_request *r)
{
    const rk_option_counts *lists[] = {&r->tp, &r->cp, &r->pp};
    double used = r->dp ? (double)r->dp : 1;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        used *= value_of(lists[i]) ? (double)value_of(lists[i]) : 1;
    }
    return used >= (double)r->accelerators;
}

/* Choices that have one possibility, whether they are given or not. */
static unsigned determined_choices(const rk_request *r, const rk_inputs *inputs)
{
    const bool used_up = uses_all(r);
    const bool one_tp = is_one(&r->tp, used_up), one_cp = is_one(&r->cp, used_up);
    const bool one_pp = is_one(&r->pp, used_up), experts = rk_model_has_experts(&inputs->model);
    const bool whole = rk_framework_of(inputs->software.framework)->whole_experts;
    const bool interleaves = !r->schedules || rk_schedules_have_vp(r->schedules);
    const bool determined[RK_CHOICE_COUNT] = {
        [RK_CHOICE_TP] = one_tp,
        [RK_CHOICE_CP] = one_cp,
        [RK_CHOICE_PP] = one_pp,
        [RK_CHOICE_VP] = one_pp || !interleaves || r->layout_count > 0,
        [RK_CHOICE_EP] = !experts || whole,
        /* expert tensor groups stay inside tensor groups */
        [RK_CHOICE_ETP] = !experts || one_tp || r->line.complete,
        [RK_CHOICE_DP] = true,
        [RK_CHOICE_SCHEDULE] = one_pp || r->line.complete,
        [RK_CHOICE_CP_KIND] = one_cp || r->line.complete,
        [RK_CHOICE_ORDER] = one_pp || r->line.complete,
        [RK_CHOICE_SPLIT] = one_pp || r->line.complete,
        [RK_CHOICE_OFFLOAD] = true, /* not given: none */
    };
    unsigned set = 0;
    for (int i = 0; i < RK_CHOICE_COUNT; i++) {
        set |= determined[i] ? BIT(i) : 0;
    }
    return set;
}

rk_choice_sets rk_request_choices(const rk_request *request, const rk_inputs *inputs)
{
    const unsigned given = given_choices(request), several = several_choices(request);
    rk_choice_sets sets = {.given = given, .several = several, .open = several};
    if (request->accelerators > 0) {
        const unsigned all = BIT(RK_CHOICE_COUNT) - 1;
        sets.open |= all & ~given & ~determined_choices(request, inputs);
    }
    return sets;
}

bool rk_request_is_strategy(const rk_request *request, const rk_inputs *inputs)
{
    const unsigned degrees = BIT(RK_CHOICE_MICRO_BATCH) - 1;
    const rk_choice_sets sets = rk_request_choices(request, inputs);
    if (request->accelerators == 0 && !request->dp && !(sets.given & degrees)) {
        return false;
    }
    return (sets.open & RK_CHOICES_NEEDED) == 0 && sets.several == 0;
}

rk_request rk_request_open(const rk_request *request)
{
    rk_request open = *request;
    rk_option_counts *lists[] = {&open.tp, &open.cp,  &open.pp,          &open.vp,
                                 &open.ep, &open.etp, &open.micro_batch, &open.zero};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        lists[i]->count = 0;
    }
    open.dp = open.replicas = 0;
    open.schedules = open.recomputes = open.modules = open.cp_kinds = open.orders = 0;
    open.recompute_layers = open.first_stage_layers = open.last_stage_layers = 0;
    open.layout_count = 0;
    open.distributed_optimizer = open.pipeline_first = open.no_sp = open.sp = false;
    open.count_embedding = open.count_head = false;
    return open;
}

/* ---- in words -------------------------------------------------------------------------------- */

const char *rk_choice_list(unsigned choices, char out[RK_CHOICE_LIST_SIZE])
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < RK_CHOICE_COUNT; i++) {
        if ((choices & BIT(i)) && used < RK_CHOICE_LIST_SIZE) {
            const bool last = (choices >> i) == 1;
            used += (size_t)snprintf(out + used, RK_CHOICE_LIST_SIZE - used, "%s%s",
                                     used == 0 ? ""
                                     : last    ? " and "
                                               : ", ",
                                     rk_choice_names[i]);
        }
    }
    return out;
}
