/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluations of whatever a document can hold: bytes choose values, often extreme ones, and what
 * comes out is a reason or finite numbers.
 */
#include "calculon/calculon_docs.h"
#include "calculon/calculon_write.h"
#include "calculon/execution.h"

#include <math.h>
#include <string.h>

#include "target.h"

typedef struct bytes {
    const uint8_t *data;
    size_t left;
} bytes;

static unsigned next(bytes *from)
{
    if (from->left == 0) {
        return 0;
    }
    from->left--;
    return *from->data++;
}

/* Small numbers, round ones and huge ones, up to 2^most. */
static int64_t next_size(bytes *from, int most)
{
    const unsigned byte = next(from);
    const int shift = (int)(next(from) % 64u);
    return byte % 4u || shift > most ? 1 + (int64_t)(byte / 4u) : INT64_C(1) << shift;
}

/* Zero, ordinary rates and extreme ones. */
static double next_rate(bytes *from)
{
    static const double rates[] = {0, 1e-3, 1, 50, 312, 1e6, 1e12};
    return rates[next(from) % (sizeof(rates) / sizeof(rates[0]))];
}

static double next_share(bytes *from)
{
    static const double shares[] = {1, 0.5, 0.1, 1e-6};
    return shares[next(from) % (sizeof(shares) / sizeof(shares[0]))];
}

/* Mostly a curve that covers everything, sometimes one that does not. */
static void next_curve(bytes *from, double unit, double peak, rk_curve *curve)
{
    curve->count = (int)(next(from) % 4u);
    for (int i = 0; i < curve->count; i++) {
        const bool last = i == curve->count - 1 && next(from) % 8u;
        curve->threshold[i] = (last ? 0 : 1000.0 / (1 + i)) * unit;
        curve->rate[i] = next_share(from) * peak;
    }
}

static void next_system(bytes *from, rk_calculon_sys *sys)
{
    rk_calculon_engine *engines[] = {sys->matrix, sys->vector};
    rk_calculon_memory *memories[] = {&sys->mem1, &sys->mem2};
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < RK_DATATYPE_COUNT; j++) {
            rk_calculon_engine *engine = &engines[i][j];
            engine->present = next(from) % 8u;
            engine->peak = engine->present ? next_rate(from) * 1e12 : 0;
            if (engine->present) {
                next_curve(from, 1e9, engine->peak, &engine->curve);
            }
        }
        memories[i]->capacity = next_rate(from) * 0x1p30;
        next_curve(from, 1e6, next_rate(from) * 1e9, &memories[i]->curve);
    }
    sys->roofline = next(from) % 2u;
    sys->network_count = 1 + (int)(next(from) % 3u);
    for (int i = 0; i < sys->network_count; i++) {
        rk_calculon_network *net = &sys->networks[i];
        net->bandwidth = fmax(next_rate(from), 1e-3) * 1e9;
        net->efficiency = next_share(from);
        net->size = next_size(from, 40);
        net->latency = next_rate(from);
        for (int op = 0; op < RK_NET_OP_COUNT; op++) {
            net->scalar[op] = fmax(next_rate(from), 5e-324);
            net->offset[op] = op == RK_P2P ? 0 : next_rate(from) - 2;
        }
        net->must_be_filled = next(from) % 2u;
        net->processor_usage = 1 - next_share(from);
    }
}

static void next_execution(bytes *from, rk_calculon_exe *exe)
{
    const int64_t microbatches = next_size(from, 20);
    exe->tensor_par = next_size(from, 10);
    exe->pipeline_par = next_size(from, 10);
    exe->data_par = next_size(from, 10);
    exe->num_procs = exe->tensor_par * exe->pipeline_par * exe->data_par;
    exe->tensor_par_net = next(from) % 3u;
    exe->pipeline_par_net = next(from) % 3u;
    exe->data_par_net = next(from) % 3u;
    exe->microbatch_size = next_size(from, 20);
    exe->batch_size = exe->data_par * microbatches * exe->microbatch_size;
    exe->pipeline_interleaving = next_size(from, 31);
    exe->datatype = (rk_datatype)(next(from) % RK_DATATYPE_COUNT);
    exe->attention_type = (rk_attention)(next(from) % 2u);
    exe->activation_recompute = (rk_recompute)(next(from) % 3u);
    exe->tensor_par_comm_type = (rk_tp_comm)(next(from) % 3u);
    exe->tensor_par_overlap = (rk_tp_overlap)(next(from) % 3u);
    const unsigned switches = next(from);
    exe->fused_activation = switches & 1u;
    exe->optimizer_sharding = switches & 2u;
    exe->seq_par_ag_redo = switches & 4u;
    exe->data_par_overlap = switches & 8u;
    exe->weight_offload = switches & 16u;
    exe->activations_offload = switches & 32u;
    exe->optimizer_offload = switches & 64u;
    exe->training = !(switches & 128u);
}

static void require_sound_stats(const rk_calculon_stats *stats)
{
    for (int i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        const rk_stat_field *field = &rk_calculon_stat_fields[i];
        const double value = rk_calculon_stat_value(stats, field);
        const bool null =
            isnan(value) && strcmp(field->name, "act_checkpoint_size_with_offload") == 0;
        if (!null && !isfinite(value)) {
            (void)fprintf(stderr, "%s is %g\n", field->name, value);
        }
        REQUIRE(null || isfinite(value));
    }
    REQUIRE(stats->total_time > 0 && stats->sample_rate > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes from = {data, size};
    rk_calculon_sys sys = {0};
    rk_calculon_exe exe = {0};
    rk_calculon_stats stats;
    rk_calculon_layer_stats layers[RK_CALCULON_LAYER_MAX];
    rk_calculon_verdict verdict;
    rk_error err;
    int layer_count = 0;
    const int64_t head = next_size(&from, 20);
    rk_calculon_app app = {
        .hidden = next_size(&from, 40),
        .feedforward = next_size(&from, 40),
        .seq_size = next_size(&from, 40),
        .attn_heads = next_size(&from, 20),
        .attn_size = head,
        .num_blocks = next_size(&from, 40),
    };
    next_execution(&from, &exe);
    next_system(&from, &sys);
    if (rk_calculon_exe_check(&exe, &err)) {
        return 0;
    }
    rk_status status =
        rk_calculon_evaluate(&app, &sys, &exe, &stats, layers, &layer_count, &verdict, &err);
    if (status) {
        require_sound_error(&err, status);
    } else if (verdict.verdict == RK_FITS) {
        require_sound_stats(&stats);
        REQUIRE(layer_count > 0 && layer_count <= RK_CALCULON_LAYER_MAX);
    }
    return 0;
}
