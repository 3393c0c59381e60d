/* SPDX-License-Identifier: Apache-2.0 */
/* The table of mutually exclusive options, and checks of output formats and module sets. */
#include "request/request_check.h"

#include "base/error.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "request/option_values.h"

#include <limits.h>
#include <string.h>

/* Bits of options with several names; the first of both is "none". */
#define NONE_BIT 1U

/* ---- options --------------------------------------------------------------------------------- */

/* Whether a list is given and holds another value. */
static bool excludes(const rk_option_counts *counts, int64_t value)
{
    for (int i = 0; i < counts->count; i++) {
        if (counts->values[i] != value) {
            return true;
        }
    }
    return false;
}

/* Whether a set is given without the bit. */
static bool lacks(unsigned set, unsigned bit)
{
    return set && !(set & 1U << bit);
}

/* "none" with other names. */
static bool is_mixed(unsigned set)
{
    return (set & NONE_BIT) && (set & ~NONE_BIT);
}

/* "auto" with other names. */
static bool mixes_auto(const rk_request *r)
{
    return rk_request_searches_offload(r) && rk_request_offloads(r);
}

/* The order that --use-tp-pp-dp-mapping means, under both of its names. */
static bool lacks_pipeline_first(unsigned orders)
{
    const unsigned bits = 1U << RK_ORDER_PIPELINE_DATA;
    return orders && !(orders & (bits | bits << RK_ORDER_COUNT));
}

/* Fails with the first rule that is broken. */
static rk_status check_rules(const rk_named_case *rules, size_t count, rk_error *err)
{
    const char *broken = rk_first_that_holds(rules, count);
    return broken ? rk_fail(err, RK_ERR_INVALID, "%s", broken) : RK_OK;
}

/* Where states are, what the loss holds, and how far apart copies of the weights are. */
static rk_status check_states(const rk_request *r, rk_error *err)
{
    const rk_named_case rules[] = {
        {rk_request_quantises(r) && !r->lora_rank,
         "--qlora and --frozen-weights need --lora-rank, as in --lora-rank 16: weights that learn "
         "are not quantised"},
        {r->nf4_weights && r->frozen_type > 0,
         "--qlora keeps frozen weights in nf4, and --frozen-weights says otherwise; leave out one"},
        {r->loss_chunk > 0 && r->cross_entropy + 1 != RK_CROSS_ENTROPY_CHUNKED,
         "--loss-chunk is of --cross-entropy chunked; add it, or leave out --loss-chunk"},
        {r->offload_share > 0 && !(rk_request_offloads(r) & 1) && !rk_request_searches_offload(r),
         "--offload-share is of --offload optimizer; add it, or leave out --offload-share"},
        {r->step_in_backward && r->accumulation > 1,
         "--optimizer-in-backward keeps no gradients to add up; leave out --accumulation"},
        {!r->dp_sync && (r->sites > 0 || r->site_bandwidth > 0),
         "--sites and --site-GBps are of --dp-sync; add it, or leave them out"},
        {r->site_bandwidth > 0 && r->sites == 0, "--site-GBps needs --sites"},
    };
    return check_rules(rules, COUNT(rules), err);
}

rk_status rk_request_check(const rk_request *r, rk_error *err)
{
    const rk_named_case rules[] = {
        {r->json && r->csv, "--json and --csv exclude each other"},
        {r->emit >= 0 && r->json, "--emit writes a launch file and nothing else; leave out --json"},
        {r->emit >= 0 && r->csv, "--emit writes a launch file and nothing else; leave out --csv"},
        {r->emit >= 0 && r->explain,
         "--emit writes a launch file and nothing else; leave out --explain"},
        {r->lora_modules && !r->lora_rank,
         "--lora-modules needs --lora-rank: without adapters all weights learn"},
        {rk_request_optimizer(r) != RK_OPTIMIZER_ADAMW && r->moments >= 0,
         "--moments is of the optimizer adamw; leave it or --optimizer out"},
        {r->no_mtp && r->mtp_layers > 0, "--no-mtp and --mtp-layers exclude each other"},
        {r->sp && r->no_sp, "--sequence-parallel and --no-sp exclude each other"},
        {r->bounded && r->exhaustive, "--bounded and --exhaustive exclude each other"},
        {r->fsdp && r->distributed_optimizer,
         "--fsdp is --zero 3 and --use-distributed-optimizer is --zero 1; leave out one"},
        {r->distributed_optimizer && excludes(&r->zero, RK_SHARD_OPTIMIZER),
         "--use-distributed-optimizer is --zero 1, and --zero says otherwise; leave out one"},
        {r->replicas > 1 && r->zero.count > 0 && !excludes(&r->zero, RK_SHARD_NONE),
         "--hsdp copies shards, and --zero 0 shards nothing; leave out one"},
        {r->pipeline_first && lacks_pipeline_first(r->orders),
         "--use-tp-pp-dp-mapping is --order tp-cp-pp-dp, and --order says otherwise; leave out "
         "one"},
        {r->modules && lacks(r->recomputes, RK_REC_SELECTIVE),
         "--recompute-modules needs --recompute selective"},
        {r->recompute_layers && lacks(r->recomputes, RK_REC_FULL),
         "--recompute-layers needs --recompute full"},
        {r->modules && r->recompute_layers && !r->recomputes,
         "--recompute-modules is for selective recompute and --recompute-layers for full; leave "
         "out one"},
        {is_mixed(r->overlaps), "--overlap none excludes the other names"},
        {is_mixed(r->offloads), "--offload none excludes the other names"},
        {mixes_auto(r), "--offload auto searches all sets of offloads; leave out the other names"},
        {r->layout_count > 0 && (r->first_stage_layers || r->last_stage_layers),
         "--layout names the layers of every stage; leave out --first-stage-layers and "
         "--last-stage-layers"},
        {r->layout_count > 0 && (r->count_embedding || r->count_head),
         "--layout names the layers of every stage; leave out --count-embedding and --count-head"},
    };
    const rk_status status = check_rules(rules, COUNT(rules), err);
    return status ? status : check_states(r, err);
}

/* ---- files ----------------------------------------------------------------------------------- */

rk_status rk_request_settle_output(rk_request *request, rk_error *err)
{
    const rk_output output = {
        .path = request->output,
        .json = &request->json,
        .csv = &request->csv,
        .html = !request->pictures,
        .svg = request->pictures,
        .message = request->pictures
                       ? "a timeline is written as .json (a trace), .csv, .svg or text"
                       : RK_OUTPUT_MESSAGE,
    };
    return request->emit >= 0 ? RK_OK : rk_output_settle(&output, err);
}

rk_status rk_request_set_modules(const rk_request *request, rk_model *model, rk_error *err)
{
    if (request->lora_rank > model->hidden) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--lora-rank is at most the width of a layer, %lld, and not %lld",
                       (long long)model->hidden, (long long)request->lora_rank);
    }
    if (request->no_mtp) {
        model->mtp_layers = 0;
    } else if (request->mtp_layers > 0) {
        model->mtp_layers = (int)(request->mtp_layers < INT_MAX ? request->mtp_layers : INT_MAX);
        return rk_model_check(model, err);
    }
    return RK_OK;
}
