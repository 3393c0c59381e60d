/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the options that a launch line of Megatron-LM leaves open, by the defaults of its
 * arguments.
 */
#include "request/launch_job.h"

#include "base/units.h"
#include "request/launch_model.h"

#include <string.h>

/* ---- overlap --------------------------------------------------------------------------------- */

/* Bits of --overlap, behind "none". */
enum { NONE = 1, TENSOR = 2, GRADIENTS = 4, PARAMETERS = 8, PIPELINE = 16, EXPERTS = 32 };

bool rk_launch_take_overlap(rk_launch_line *line, const char *flag, const char *value,
                            rk_flag_use *use)
{
    static const struct {
        const char *flag;
        unsigned overlap;
        bool negated;
    } flags[] = {
        {"tp-comm-overlap", TENSOR, false},
        {"overlap-grad-reduce", GRADIENTS, false},
        {"overlap-param-gather", PARAMETERS, false},
        {"no-overlap-p2p-communication", PIPELINE, true},
        {"overlap-moe-expert-parallel-comm", EXPERTS, false},
    };
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (strcmp(flag, flags[i].flag) == 0) {
            const bool on = rk_launch_truth(value, use) != flags[i].negated;
            line->overlaps |= on ? flags[i].overlap : 0;
            line->no_overlaps |= on ? 0 : flags[i].overlap;
            return true;
        }
    }
    return false;
}

void rk_launch_settle_overlaps(rk_request *r)
{
    const unsigned usual = TENSOR | GRADIENTS | PARAMETERS | PIPELINE;
    const unsigned wanted = (usual | r->line.overlaps) & ~r->line.no_overlaps;
    if (r->overlaps == 0 && wanted != usual) {
        r->overlaps = wanted ? wanted : NONE;
    }
}

/* The first of rk_module_choices, the default of --recompute-modules. */
enum { CORE_ATTENTION = 1 };

/* ---- a whole job ----------------------------------------------------------------------------- */

static void set_default(rk_request *r, const char *field, rk_option_counts *counts, int64_t value)
{
    if (counts->count == 0) {
        *counts = (rk_option_counts){.values = {value}, .count = 1};
        rk_request_note_filled(r, field);
    }
}

static bool is_one(const rk_option_counts *counts)
{
    return counts->count == 1 && counts->values[0] == 1;
}

void rk_launch_drop_without_effect(rk_request *r)
{
    r->sp = r->sp && !is_one(&r->tp);
    r->cp_kinds = is_one(&r->cp) ? 0 : r->cp_kinds;
    if (is_one(&r->pp)) {
        r->first_stage_layers = r->last_stage_layers = 0;
        r->count_embedding = r->count_head = false;
    }
}

static bool is_megatron(const rk_request *r)
{
    return r->framework < 0 || r->framework == RK_FRAMEWORK_ANY ||
           r->framework == RK_FRAMEWORK_MEGATRON || r->framework == RK_FRAMEWORK_MINDSPEED ||
           r->framework == RK_FRAMEWORK_PRIMUS;
}

/*
 * Defaults of the other frameworks: their sharding and recomputation, and overlap of what is
 * sharded, which DeepSpeed has with ZeRO-3 alone and NeuronX never.
 */
static void complete_other(rk_request *r)
{
    const rk_framework_traits *f = rk_framework_of((rk_framework)r->framework);
    if (!r->distributed_optimizer && !r->fsdp) {
        set_default(r, "zero", &r->zero, (int64_t)f->sharding);
    }
    if (r->recomputes == 0 && r->modules == 0 && r->recompute_layers == 0) {
        r->recomputes = 1U << f->recompute;
        rk_request_note_filled(r, "recompute");
    }
    if (r->overlaps == 0) {
        const bool whole = r->fsdp || (r->zero.count == 1 && r->zero.values[0] == RK_SHARD_ALL);
        const bool overlaps =
            r->framework == RK_FRAMEWORK_DEEPSPEED ? whole : r->framework != RK_FRAMEWORK_NEURONX;
        r->overlaps = (overlaps ? GRADIENTS | PARAMETERS : 0U) | (is_one(&r->vp) ? 0U : PIPELINE);
        r->overlaps = r->overlaps ? r->overlaps : NONE;
        rk_request_note_filled(r, "overlap");
    }
}

/* torchtitan's batch: 8 sequences of 2048 tokens on a rank, or as many as a number of tokens is. */
static void complete_titan(rk_request *r)
{
    if (!r->seq) {
        r->seq = 2048;
        rk_request_note_filled(r, "seq_tokens");
    }
    if (r->line.titan_tokens > 0 && r->micro_batch.count == 0) {
        const int64_t sequences = r->line.titan_tokens / r->seq;
        r->micro_batch = (rk_option_counts){.values = {rk_at_least_1(sequences)}, .count = 1};
    }
    if (r->line.one_shard && r->zero.count == 1 && r->zero.values[0] == RK_SHARD_NONE &&
        r->cp.count == 1 && r->cp.values[0] > 1) {
        r->zero.values[0] = RK_SHARD_ALL; /* context-parallel ranks shard at any degree */
    }
    set_default(r, "micro_batch", &r->micro_batch, 8);
    if (r->pp.count == 1 && r->pp.values[0] > 1 && r->micro_batch.count == 1 &&
        r->accumulation == 0) { /* a pipeline cuts it into sequences */
        r->accumulation = r->global_batch == 0 ? r->micro_batch.values[0] : 0;
        r->micro_batch.values[0] = 1;
    }
}

/* Whether passes hide messages; a layout of one stage a rank interleaves nothing. */
static bool interleaves(const rk_request *r)
{
    return r->layout_count > 0 ? !r->pp.count || r->layout_count > r->pp.values[0]
                               : !is_one(&r->vp);
}

static void complete_megatron(rk_request *r)
{
    if (!r->sp && !r->no_sp) {
        rk_request_note_filled(r, "sp");
    }
    r->no_sp = !r->sp || is_one(&r->tp);
    r->sp = !r->no_sp;
    if (r->recomputes == 0) { /* without a granularity its details have no effect */
        rk_request_note_filled(r, "recompute");
        r->recomputes = 1U << RK_REC_NONE;
        r->modules = 0;
        r->recompute_layers = 0;
    }
    if (r->recomputes == 1U << RK_REC_SELECTIVE && r->modules == 0) {
        rk_request_note_filled(r, "recompute_modules");
        r->modules = CORE_ATTENTION;
    }
    if (r->overlaps == 0) {
        const unsigned ahead = r->line.torch_fsdp ? GRADIENTS | PARAMETERS : 0U; /* by itself */
        rk_request_note_filled(r, "overlap");
        r->overlaps =
            (r->line.overlaps | ahead | (interleaves(r) ? PIPELINE : 0U)) & ~r->line.no_overlaps;
        r->overlaps = r->overlaps ? r->overlaps : NONE;
    }
}

void rk_launch_complete(rk_request *r)
{
    if (r->line.titan && !r->line.file) {
        complete_titan(r);
    }
    const struct {
        const char *field;
        rk_option_counts *counts;
    } degrees[] = {{"tp", &r->tp}, {"pp", &r->pp}, {"cp", &r->cp}, {"ep", &r->ep}};
    for (size_t i = 0; i < COUNT(degrees); i++) {
        set_default(r, degrees[i].field, degrees[i].counts, 1);
    }
    if (r->nodes == 0 && r->accelerators == 0 && r->gpus_per_node > 0) {
        r->nodes = 1; /* torchrun's default */
    }
    if (r->global_batch == 0 && r->accumulation == 0 && r->micro_batch.count == 1) {
        r->accumulation = 1;
    }
    if (r->vp_layers == 0 && r->layout_text == NULL) {
        /* torchtitan gives a rank two stages if the schedule has several */
        const bool several = r->line.titan && r->schedules == 1U << RK_SCHEDULE_INTERLEAVED;
        set_default(r, "vp", &r->vp, several ? 2 : 1);
    }
    if (is_megatron(r)) {
        complete_megatron(r);
    } else {
        complete_other(r);
    }
}

int64_t rk_launch_expert_tensor(const rk_request *r, const rk_model *model, int64_t tp)
{
    return r->line.complete && is_megatron(r) && r->etp.count == 0 && rk_model_has_experts(model)
               ? tp
               : 0;
}
