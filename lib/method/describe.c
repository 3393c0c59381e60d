/* SPDX-License-Identifier: Apache-2.0 */
/* Phrases for models, machines and mappings: sizes in GiB, rates, tiers, changed settings. */
#include "method/describe.h"

#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "calculon/calculon_docs.h"
#include "system/flash_lent.h"
#include "system/measured.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENDLESS 0x1p60 /* bytes */

const char *rk_describe_gib(double bytes, char out[RK_GIB_SIZE])
{
    assert(bytes >= 0);
    if (bytes >= ENDLESS) {
        (void)snprintf(out, RK_GIB_SIZE, "unlimited");
    } else {
        (void)snprintf(out, RK_GIB_SIZE, "%.6g", bytes / GIB);
    }
    return out;
}

static void add_gib(rk_growing_text *to, double bytes)
{
    char gib[RK_GIB_SIZE];
    rk_text_add(to, "%s%s", rk_describe_gib(bytes, gib), bytes >= ENDLESS ? "" : " GiB");
}

static void add_rate(rk_growing_text *to, double bytes_per_s)
{
    const bool tera = bytes_per_s >= 1e12;
    rk_text_add(to, "%.4g %s/s", bytes_per_s / (tera ? 1e12 : 1e9), tera ? "TB" : "GB");
}

/* The best rate of a curve: at the largest sizes in all sensible documents. */
static double best_rate(const rk_curve *curve)
{
    double best = 0;
    for (int i = 0; i < curve->count; i++) {
        best = curve->rate[i] > best ? curve->rate[i] : best;
    }
    return best;
}

const char *rk_describe_app(const rk_calculon_app *app, char out[RK_WORDS_SIZE])
{
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    rk_text_add(&to, "%" PRId64 " blocks, hidden %" PRId64 ", feed-forward %" PRId64,
                app->num_blocks, app->hidden, app->feedforward);
    rk_text_add(&to, ", %" PRId64 " heads of %" PRId64 ", sequence %" PRId64, app->attn_heads,
                app->attn_size, app->seq_size);
    return out;
}

const char *rk_describe_engines(const rk_calculon_sys *sys, rk_datatype datatype,
                                char out[RK_WORDS_SIZE])
{
    assert((unsigned)datatype < RK_DATATYPE_COUNT);
    const rk_calculon_engine *matrix = &sys->matrix[datatype], *vector = &sys->vector[datatype];
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    rk_text_add(&to, "%s: ", rk_datatype_names[datatype]);
    if (matrix->present && vector->present) {
        rk_text_add(&to, "matrix %.6g TFLOP/s, vector %.6g TFLOP/s", matrix->peak / 1e12,
                    vector->peak / 1e12);
    } else {
        rk_text_add(&to, "not supported");
    }
    return out;
}

const char *rk_describe_memory(const rk_calculon_sys *sys, char out[RK_WORDS_SIZE])
{
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    add_gib(&to, sys->mem1.capacity);
    rk_text_add(&to, " at up to ");
    add_rate(&to, best_rate(&sys->mem1.curve));
    if (sys->mem2.capacity > 0) {
        rk_text_add(&to, "; offload to ");
        add_gib(&to, sys->mem2.capacity);
        rk_text_add(&to, " at up to ");
        add_rate(&to, best_rate(&sys->mem2.curve));
    } else {
        rk_text_add(&to, "; no offload memory");
    }
    return out;
}

const char *rk_describe_networks(const rk_calculon_sys *sys, char out[RK_WORDS_SIZE])
{
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    out[0] = '\0';
    for (int i = 0; i < sys->network_count; i++) {
        const rk_calculon_network *network = &sys->networks[i];
        rk_text_add(&to, "%stier %d: %" PRId64 "%s at ", i ? "; " : "", i, network->size,
                    i ? "" : " processors");
        add_rate(&to, network->bandwidth);
    }
    return out;
}

#define OFFLOAD_TEXT_SIZE 40

/* The data that a mapping keeps in tier 2: "weights+activations", or "none". */
static const char *describe_offload(const rk_calculon_exe *exe, char out[OFFLOAD_TEXT_SIZE])
{
    const rk_named_count parts[] = {{"weights", exe->weight_offload},
                                    {"activations", exe->activations_offload},
                                    {"optimizer", exe->optimizer_offload}};
    rk_growing_text to = {.text = out, .size = OFFLOAD_TEXT_SIZE};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].value) {
            rk_text_add(&to, "%s%s", to.used ? "+" : "", parts[i].name);
        }
    }
    if (to.used == 0) {
        rk_text_add(&to, "none");
    }
    return out;
}

const char *rk_describe_exe(const rk_calculon_exe *exe, char out[RK_WORDS_SIZE])
{
    char offload[OFFLOAD_TEXT_SIZE];
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    rk_text_add(&to, "TP %" PRId64 ", PP %" PRId64 ", DP %" PRId64, exe->tensor_par,
                exe->pipeline_par, exe->data_par);
    rk_text_add(&to, ", interleaving %" PRId64 ", batch %" PRId64 ", microbatch %" PRId64,
                exe->pipeline_interleaving, exe->batch_size, exe->microbatch_size);
    rk_text_add(&to, ", recompute %s", rk_recompute_names[exe->activation_recompute]);
    rk_text_add(&to, ", TP communication %s", rk_tp_comm_names[exe->tensor_par_comm_type]);
    if (exe->optimizer_sharding) {
        rk_text_add(&to, ", sharded optimizer");
    }
    rk_text_add(&to, ", offload %s", describe_offload(exe, offload));
    return out;
}

static void add_change(rk_growing_text *to, const char *label, const char *is, const char *was)
{
    if (strcmp(is, was) != 0) {
        rk_text_add(to, "%s%s %s (was %s)", to->used ? ", " : "", label, is, was);
    }
}

static void add_number_change(rk_growing_text *to, const char *label, int64_t is, int64_t was)
{
    char a[24], b[24];
    (void)snprintf(a, sizeof(a), "%" PRId64, is);
    (void)snprintf(b, sizeof(b), "%" PRId64, was);
    add_change(to, label, a, b);
}

static const char *yes(bool flag)
{
    return flag ? "yes" : "no";
}

const char *rk_describe_exe_changes(const rk_calculon_exe *a, const rk_calculon_exe *b,
                                    char out[RK_WORDS_SIZE])
{
    char offload[2][OFFLOAD_TEXT_SIZE];
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    out[0] = '\0';
    add_number_change(&to, "TP", b->tensor_par, a->tensor_par);
    add_number_change(&to, "PP", b->pipeline_par, a->pipeline_par);
    add_number_change(&to, "DP", b->data_par, a->data_par);
    add_number_change(&to, "VP", b->pipeline_interleaving, a->pipeline_interleaving);
    add_number_change(&to, "batch", b->batch_size, a->batch_size);
    add_number_change(&to, "microbatch", b->microbatch_size, a->microbatch_size);
    add_change(&to, "recompute", rk_recompute_names[b->activation_recompute],
               rk_recompute_names[a->activation_recompute]);
    add_change(&to, "TP communication", rk_tp_comm_names[b->tensor_par_comm_type],
               rk_tp_comm_names[a->tensor_par_comm_type]);
    add_change(&to, "TP overlap", rk_tp_overlap_names[b->tensor_par_overlap],
               rk_tp_overlap_names[a->tensor_par_overlap]);
    add_change(&to, "repeat all-gather", yes(b->seq_par_ag_redo), yes(a->seq_par_ag_redo));
    add_change(&to, "DP overlap", yes(b->data_par_overlap), yes(a->data_par_overlap));
    add_change(&to, "fused activation", yes(b->fused_activation), yes(a->fused_activation));
    add_change(&to, "sharded optimizer", yes(b->optimizer_sharding), yes(a->optimizer_sharding));
    add_change(&to, "offload", describe_offload(b, offload[0]), describe_offload(a, offload[1]));
    add_number_change(&to, "network of TP", b->tensor_par_net, a->tensor_par_net);
    add_number_change(&to, "network of PP", b->pipeline_par_net, a->pipeline_par_net);
    add_number_change(&to, "network of DP", b->data_par_net, a->data_par_net);
    return out;
}

/* ---- the reckon model ---------------------------------------------------------------------- */

const char *rk_describe_model(const rk_model *model, char out[RK_WORDS_SIZE])
{
    const rk_model_params params = rk_model_params_of(model);
    char number[RK_NUMBER_TEXT_SIZE];
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    rk_text_add(&to, "%s parameters", rk_count_text((double)params.total, number));
    if (params.active != params.total) {
        rk_text_add(&to, ", %s active", rk_count_text((double)params.active, number));
    }
    rk_text_add(&to, ", %d layer%s, hidden %" PRId64, model->layers, model->layers == 1 ? "" : "s",
                model->hidden);
    return out;
}

const char *rk_describe_matrix(const rk_accelerator *accelerator, char out[RK_WORDS_SIZE])
{
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    out[0] = '\0';
    for (int i = RK_BF16; i < RK_PRECISION_COUNT; i++) {
        const bool lent = i == RK_BF16 && accelerator->no_bf16;
        if (accelerator->gemm[i].peak > 0 && !lent) {
            rk_text_add(&to, "%s%s %.5g", to.used ? ", " : "", rk_precision_names[i],
                        accelerator->gemm[i].peak / 1e12);
        }
    }
    return out;
}

/* A fabric of unlimited size has the largest size that nests. */
#define ENDLESS_TIER ((int64_t)1000000)

const char *rk_describe_measured(const rk_accelerator *accelerator, char out[RK_WORDS_SIZE])
{
    static const char *const kinds[RK_KERNEL_KINDS] = {"GEMMs", "attention kernels", "collectives"};
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    if (!accelerator->measured) {
        return NULL;
    }
    out[0] = '\0';
    for (int kind = 0; kind < RK_KERNEL_KINDS; kind++) {
        const size_t count = rk_measured_count(accelerator->measured, (rk_kernel_kind)kind);
        if (count > 0) {
            rk_text_add(&to, "%s%zu %s", out[0] ? ", " : "", count, kinds[kind]);
        }
    }
    return out;
}

const char *rk_describe_kernel(const rk_accelerator *accelerator, const rk_stack *stack,
                               rk_attention_kernel kernel, char out[RK_WORDS_SIZE])
{
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    const rk_flash_library library = rk_flash_library_of(kernel);
    if (!rk_stack_lacks_kernel(stack, kernel) || rk_flash_is_measured(accelerator, library) ||
        !rk_flash_exists(accelerator, library)) {
        return NULL;
    }
    const char *name = rk_flash_library_names[library];
    const rk_accelerator *lender = rk_flash_lender(accelerator, library);
    if (accelerator->flash[library].forward > 0) {
        rk_text_add(
            &to,
            "attention kernel %s: %s has rates of forward only; backward at the same ratio to "
            "cudnn",
            name, accelerator->name);
    } else if (lender) {
        rk_text_add(&to, "attention kernel %s: at its ratio to cudnn on %s; %s has no rates of it",
                    name, lender->name, accelerator->name);
    } else {
        rk_text_add(&to, "attention kernel %s: as fast as the usual one; %s has no rates of it",
                    name, accelerator->name);
    }
    return out;
}

const char *rk_describe_tiers(const rk_system *system, char out[RK_WORDS_SIZE])
{
    rk_growing_text to = {.text = out, .size = RK_WORDS_SIZE};
    out[0] = '\0';
    for (int i = 0; i < system->tier_count; i++) {
        const rk_tier *tier = &system->tiers[i];
        rk_text_add(&to, "%s%s: ", i ? "; " : "", tier->name);
        if (tier->size < ENDLESS_TIER) {
            rk_text_add(&to, "%" PRId64 " x ", tier->size);
        }
        rk_text_add(&to, "%.4g", tier->bandwidth / 1e9);
        for (int j = 0; j < tier->side_count; j++) {
            rk_text_add(&to, " + %s %.4g", tier->sides[j].name, tier->sides[j].bandwidth / 1e9);
        }
    }
    return out;
}
