/* SPDX-License-Identifier: Apache-2.0 */
/* Derives accelerators, batch, accumulation and virtual stages from one another or by default. */
#include "request/derived_sizes.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "request/shared_documents.h"
#include "request/what_if.h"
#include "system/system.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define TUNING_TOKENS 4096 /* of a sequence, at most, in fine-tuning where none is given */

int64_t rk_global_batch_near(int64_t accelerators, int64_t micro_batch, int64_t seq, double tokens)
{
    assert(accelerators >= 1 && micro_batch >= 1 && seq >= 1 && tokens > 0);
    const double wanted = tokens / (double)seq;
    double odd = (double)accelerators * (double)micro_batch;
    while (fmod(odd, 2) == 0) {
        odd /= 2;
    }
    const double power = round(log2(rk_max(wanted / odd, 1)));
    return (int64_t)(odd * exp2(power));
}

/*
 * The numbers of accelerators that nodes of a machine can be given, as "1 to 16" or "1, 2, 4": as
 * many as there is room for.
 */
static const char *node_sizes(const rk_system *system, char *out, size_t size)
{
    const int64_t most = rk_system_node_most(system);
    int64_t first = 0; /* of numbers in a row; 0: none */
    size_t used = 0;
    out[0] = '\0';
    for (int64_t n = 1; n <= most + 1 && used + 48 < size; n++) {
        rk_system changed = *system;
        const bool legal = n <= most && rk_system_set_node(&changed, n);
        if (!legal && first) {
            used +=
                (size_t)snprintf(out + used, size - used, "%s%" PRId64, used ? ", " : "", first);
            used += n - 1 > first ? (size_t)snprintf(out + used, size - used, "%s%" PRId64,
                                                     n - 2 > first ? " to " : ", ", n - 1)
                                  : 0;
        }
        first = legal ? first ? first : n : 0;
    }
    (void)snprintf(out + used, size - used, "%s", used + 48 < size ? "" : ", ...");
    return out;
}

rk_status rk_request_set_node(const rk_request *request, rk_system *system, rk_error *err)
{
    char sizes[160], word[RK_TIER_WORD_SIZE], what_if[96] = "";
    if (!request->gpus_per_node || rk_system_set_node(system, request->gpus_per_node)) {
        return RK_OK;
    }
    if (system->tier_count > 1 && system->tiers[0].kind != RK_TIER_TORUS) {
        (void)snprintf(what_if, sizeof(what_if), ", or what if: --set %s.size=%" PRId64,
                       rk_what_if_tier(&system->tiers[0], word), request->gpus_per_node);
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "--gpus-per-node %" PRId64 ": %s can have nodes of %s (default: "
                   "%" PRId64 "); for others, give a system document%s",
                   request->gpus_per_node, system->name, node_sizes(system, sizes, sizeof(sizes)),
                   rk_system_node(system), what_if);
}

/* Accelerators of a node: by the options, otherwise by the machine. */
static rk_status find_node(const rk_request *r, int64_t *node, rk_error *err)
{
    rk_system system = {.accelerator.measured = NULL};
    rk_status status = rk_documents_system(r->documents, r->system, &system, err);
    if (!status) {
        status = rk_request_set_node(r, &system, err);
        *node = r->gpus_per_node ? r->gpus_per_node : rk_system_unit_size(&system);
    }
    rk_system_clear(&system);
    return status;
}

static rk_status settle_nodes(rk_request *r, rk_error *err)
{
    int64_t node = 0;
    if (!r->system || (!r->nodes && !r->gpus_per_node)) {
        return RK_OK;
    }
    const rk_status status = find_node(r, &node, err);
    if (status || !r->nodes) {
        return status;
    }
    if (r->accelerators && r->accelerators != r->nodes * node) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%" PRId64 " %s of %s %s %" PRId64 " accelerators, not %" PRId64
                       "; leave out one of --nodes and --accelerators",
                       r->nodes, r->nodes == 1 ? "node" : "nodes", r->system,
                       r->nodes == 1 ? "has" : "have", r->nodes * node, r->accelerators);
    }
    r->accelerators = r->nodes * node;
    return RK_OK;
}

/* Virtual stages of --vp-layers layers each. */
static rk_status settle_virtual_stages(rk_request *r, const rk_model *model, rk_error *err)
{
    if (r->vp.count > 0 || r->pp.count != 1) {
        return rk_fail(err, RK_ERR_INVALID, "--vp-layers %s",
                       r->vp.count > 0 ? "and --vp exclude each other"
                                       : "needs --pp with one number");
    }
    const double stage = (double)r->pp.values[0] * (double)r->vp_layers;
    const double stages = model->layers / stage;
    if (stages < 1 || floor(stages) < stages) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--vp-layers %" PRId64 ": %d layers are not a multiple of %.0f = pp %" PRId64
                       " x %" PRId64,
                       r->vp_layers, (int)model->layers, stage, r->pp.values[0], r->vp_layers);
    }
    r->vp.values[0] = (int64_t)stages;
    r->vp.count = 1;
    r->vp_layers = 0;
    return RK_OK;
}

/* The only value of an option; what is not given is 1, as in launch scripts. */
static rk_status settle_single(rk_option_counts *counts, rk_error *err)
{
    if (counts->count > 1) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--accumulation needs one value of --tp, --cp, --pp and --micro-batch; or "
                       "leave it out and give --global-batch");
    }
    counts->values[0] = counts->count ? counts->values[0] : 1;
    counts->count = 1;
    return RK_OK;
}

/* The data-parallel ranks that --accumulation multiplies. */
static rk_status settle_ranks(rk_request *r, double *ranks, rk_error *err)
{
    rk_option_counts *const degrees[] = {&r->tp, &r->cp, &r->pp};
    double model = 1;
    for (size_t i = 0; i < COUNT(degrees); i++) {
        const rk_status status = settle_single(degrees[i], err);
        if (status) {
            return status;
        }
        model *= (double)degrees[i]->values[0];
    }
    *ranks = rk_max(floor((double)r->accelerators / model), 1);
    *ranks = r->accelerators || !r->dp ? *ranks : (double)r->dp;
    return RK_OK;
}

/*
 * global batch = micro-batch x accumulation x data-parallel ranks: of the two batches, the one that
 * is not given; the micro-batch is 1 if neither is.
 */
static rk_status settle_accumulation(rk_request *r, rk_error *err)
{
    double ranks = 1;
    rk_status status = settle_ranks(r, &ranks, err);
    const double each = ranks * (double)r->accumulation;
    if (!status && r->global_batch && r->micro_batch.count == 0 &&
        fmod((double)r->global_batch, each) == 0) {
        r->micro_batch.values[0] = (int64_t)((double)r->global_batch / each);
        r->micro_batch.count = 1;
    }
    status = status ? status : settle_single(&r->micro_batch, err);
    const double batch = each * (double)r->micro_batch.values[0];
    if (status || (double)r->global_batch == batch) {
        return status;
    }
    if (r->global_batch || batch > INT32_MAX) {
        const int64_t wanted = r->global_batch ? r->global_batch : INT32_MAX;
        return rk_fail(err, RK_ERR_INVALID,
                       "--accumulation %" PRId64 " x micro-batch %" PRId64
                       " x %.0f data-parallel ranks make a batch of %.0f, %s %" PRId64 "; %s",
                       r->accumulation, r->micro_batch.values[0], ranks, batch,
                       r->global_batch ? "not" : "more than", wanted,
                       r->global_batch ? "leave out one of --accumulation and --global-batch"
                                       : "give a smaller --accumulation");
    }
    r->global_batch = (int64_t)batch;
    return RK_OK;
}

int64_t rk_request_batch_of(const rk_request *r, int64_t seq, double tokens)
{
    const int64_t micro_batch = r->micro_batch.count == 1 ? r->micro_batch.values[0] : 1;
    return rk_global_batch_near(r->accelerators, micro_batch, seq, tokens);
}

void rk_request_assume_batch(rk_request *r, int64_t seq)
{
    r->global_batch = rk_request_batch_of(r, r->seq ? r->seq : seq, RK_USUAL_BATCH_TOKENS);
    r->assumed_batch = true;
}

void rk_request_take_tuning_sizes(rk_request *r, int64_t seq)
{
    const int64_t micro_batch = r->micro_batch.count == 1 ? r->micro_batch.values[0] : 1;
    r->tuning = true;
    r->assumed_seq = r->assumed_seq || r->seq == 0;
    r->seq = r->seq ? r->seq : seq < TUNING_TOKENS ? seq : TUNING_TOKENS;
    if (r->accelerators > 0 && (r->assumed_batch || r->global_batch == 0)) {
        r->assumed_batch = true;
        r->global_batch = r->accelerators * micro_batch;
    }
}

/* Completes options from the model, which is read only if necessary. */
static rk_status settle_by_model(rk_request *r, rk_error *err)
{
    const bool tunes = r->lora_rank > 0 && rk_request_policy(r) == RK_POLICY_SEARCH;
    const bool batch = !r->global_batch && r->accelerators;
    const bool sizes = batch || (tunes && !r->seq);
    rk_model model;
    if (!r->model || (!sizes && !r->vp_layers)) {
        return RK_OK;
    }
    rk_status status = rk_documents_model(r->documents, r->model, &model, err);
    if (!status && r->vp_layers) {
        status = settle_virtual_stages(r, &model, err);
    }
    if (!status && sizes && tunes) {
        rk_request_take_tuning_sizes(r, model.seq);
    } else if (!status && batch) {
        rk_request_assume_batch(r, model.seq);
    }
    return status;
}

rk_status rk_request_settle_sizes(rk_request *request, rk_error *err)
{
    rk_status status = settle_nodes(request, err);
    if (!status && request->accumulation) {
        status = settle_accumulation(request, err);
    }
    return status ? status : settle_by_model(request, err);
}
