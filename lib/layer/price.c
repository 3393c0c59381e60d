/* SPDX-License-Identifier: Apache-2.0 */
/* Time of an operator on a machine: GEMM, attention, scan, stream or message. */
#include "layer/price.h"

#include "base/extremes.h"

#include <assert.h>
#include <string.h>

static double price_gemm(const rk_accelerator *a, const struct rk_gemm_price *g)
{
    return g->batch < 0
               ? rk_grouped_gemm_seconds(a, g->precision, -g->batch, g->M, g->N, g->K,
                                         g->accumulate)
               : rk_gemm_seconds(a, g->precision, g->batch, g->M, g->N, g->K, g->accumulate);
}

static bool is_same_gemm(const struct rk_gemm_price *a, const struct rk_gemm_price *b)
{
    return a->M == b->M && a->N == b->N && a->K == b->K && a->batch == b->batch &&
           a->accumulate == b->accumulate && a->precision == b->precision;
}

static uint64_t bits_of(double size)
{
    uint64_t bits;
    memcpy(&bits, &size, sizeof(bits));
    return bits;
}

/* One of so many places, a power of two: the high bits choose it. */
static inline size_t place_of(uint64_t mixed, size_t places)
{
    return (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15) / (UINT64_MAX / places + 1);
}

/* Seconds of a GEMM; batch: below 0 of groups. */
static double gemm_seconds(const rk_block_context *context, const rk_operator *o, double batch,
                           double accumulate)
{
    assert(o->share > 0);
    const rk_accelerator *a = &context->system->accelerator;
    struct rk_gemm_price gemm = {.batch = batch,
                                 .M = o->M,
                                 .N = o->N,
                                 .K = o->K,
                                 .accumulate = accumulate,
                                 .precision = o->precision};
    if (!context->prices) {
        return price_gemm(a, &gemm);
    }
    /* odd multipliers, each of which moves a size to other bits */
    const uint64_t mixed = bits_of(o->M) * UINT64_C(0x9e3779b97f4a7c15) ^
                           bits_of(o->N) * UINT64_C(0xbf58476d1ce4e5b9) ^
                           bits_of(o->K) * UINT64_C(0x94d049bb133111eb) ^
                           bits_of(batch) * UINT64_C(0xd6e8feb86659fd93) ^
                           bits_of(accumulate) * UINT64_C(0xa0761d6478bd642f);
    struct rk_gemm_price *known = &context->prices->at[place_of(mixed, RK_GEMM_PRICES)];
    if (!(known->seconds > 0 && is_same_gemm(known, &gemm))) {
        gemm.seconds = price_gemm(a, &gemm);
        *known = gemm;
    }
    return known->seconds;
}

static double attention_seconds(const rk_accelerator *a, const rk_operator *o)
{
    const rk_attention_work work = {
        .flops = o->flops,
        .seq = o->N,
        .heads = o->groups,
        .qk_size = o->K,
        .group = o->sharing,
        .share = o->share,
        .backward = o->pass != RK_PASS_FORWARD,
    };
    return rk_attention_seconds(a, &work) * (o->relative > 0 ? o->relative : 1);
}

/*
 * A pass of a scan whose kernels are measured has their time; others have the longer of their FLOPs
 * at a share of the peak of the matrix engine and their bytes at a share of memory bandwidth, plus
 * the time of their kernels.
 */
static double scan_seconds(const rk_accelerator *a, const rk_operator *o)
{
    assert(o->share > 0 && o->stream_share > 0);
    const double rate = a->gemm[o->precision].peak * o->share;
    if (a->delta[o->rule].rate > 0) {
        return rk_delta_seconds(a, o->rule, o->flops, o->sequence, o->pass != RK_PASS_FORWARD);
    }
    return rk_max(o->flops / rate, o->bytes / (a->memory_bandwidth * o->stream_share)) +
           o->kernels * a->kernel_seconds;
}

double rk_price_stream(const rk_block_context *context, double bytes)
{
    const rk_accelerator *a = &context->system->accelerator;
    return (1 - a->vector_overlap) * rk_stream_seconds(a, bytes) / context->stack->stream_share;
}

double rk_price(const rk_block_context *context, const rk_operator *o)
{
    const rk_accelerator *a = &context->system->accelerator;
    switch (o->kind) {
    case RK_OPERATOR_LINEAR:
        return gemm_seconds(context, o, o->groups > 0 ? -o->groups : 1, o->accumulate) / o->share;
    case RK_OPERATOR_PRODUCT:
        return gemm_seconds(context, o, o->groups, 0) / o->share;
    case RK_OPERATOR_ATTENTION:
        return attention_seconds(a, o);
    case RK_OPERATOR_SCAN:
        return scan_seconds(a, o);
    case RK_OPERATOR_STREAM:
        return rk_price_stream(context, o->bytes);
    default:
        return o->seconds;
    }
}

static bool is_same_group(const rk_group *a, const rk_group *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Seconds of a collective; batches of layers that differ in recomputation alone send the same. */
static double message_seconds(const rk_block_context *context, rk_collective op, double bytes,
                              const rk_group *ranks)
{
    _Static_assert(sizeof(rk_group) == (1 + RK_TIER_MAX) * sizeof(int64_t), "groups have no gaps");
    if (!context->prices || ranks->size < 2) {
        return rk_collective_seconds(context->system, op, bytes, ranks);
    }
    const uint64_t mixed = bits_of(bytes) * UINT64_C(0x9e3779b97f4a7c15) ^
                           (uint64_t)ranks->size * UINT64_C(0xbf58476d1ce4e5b9) ^
                           (uint64_t)ranks->within[0] * UINT64_C(0x94d049bb133111eb) ^
                           (uint64_t)op * UINT64_C(0xd6e8feb86659fd93);
    struct rk_message_price *known = &context->prices->messages[place_of(mixed, RK_MESSAGE_PRICES)];
    if (!(known->seconds > 0 && known->op == op && known->bytes == bytes &&
          is_same_group(&known->group, ranks))) {
        *known = (struct rk_message_price){
            .bytes = bytes,
            .group = *ranks,
            .op = op,
            .seconds = rk_collective_seconds(context->system, op, bytes, ranks),
        };
    }
    return known->seconds;
}

rk_message rk_message_of(const rk_block_context *context, rk_collective op, rk_group_kind group,
                         double bytes, double times)
{
    assert(group < RK_GROUP_LAYER_COUNT && bytes >= 0 && times >= 0);
    const rk_group *ranks = &context->groups[group];
    return (rk_message){
        .op = op,
        .group = group,
        .ranks = ranks->size,
        .times = times,
        .bytes = bytes,
        .seconds = times * message_seconds(context, op, bytes, ranks),
        .sent = times * rk_collective_sent(op, bytes, (double)ranks->size),
    };
}

/*
 * Seconds in which a few cores copy `bytes` to the ranks of a domain, those for themselves
 * included: of an all-to-all, but no less than the bytes over the bandwidth of the kernels.
 */
static double spread_seconds(const rk_block_context *context, double bytes, const rk_group *domain)
{
    const double bandwidth = context->stack->dispatch_bandwidth;
    const double network = message_seconds(context, RK_COLL_ALL_TO_ALL, bytes, domain);
    return bandwidth > 0 ? rk_max(network, bytes / bandwidth) : network;
}

rk_message rk_exchange_of(const rk_block_context *context, rk_group_kind group, double bytes,
                          double spread)
{
    rk_message m = rk_message_of(context, RK_COLL_ALL_TO_ALL, group, bytes, 1);
    rk_group domain = context->groups[group];
    m.spread = spread;
    if (spread <= 0) {
        return m;
    }
    domain.size = domain.within[0];
    for (int i = 1; i < RK_TIER_MAX; i++) {
        domain.within[i] = domain.size;
    }
    const double inside = spread_seconds(context, spread, &domain);
    const double network = m.ranks > domain.size ? m.seconds : 0;
    m.seconds =
        rk_max(network, inside) + context->stack->dispatch_exposed * rk_min(network, inside);
    return m;
}
