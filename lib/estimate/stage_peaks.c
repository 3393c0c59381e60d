/* SPDX-License-Identifier: Apache-2.0 */
/* The moments of a step at which the memory of a stage may be fullest, and what each takes. */
#include "base/compat.h"
#include "base/extremes.h"
#include "estimate/stage.h"

/* Share of late memory that an allocator gets back when it runs out: docs/method/memory.md. */
static const double reclaimed = 0.9;

/* Adds memory that the allocator holds without tensors: cached blocks that nothing fits into. */
static void add_fragments(const rk_stage_need *need, rk_stage_memory *m)
{
    const double of_stages = need->stage_fragmentation;
    m->part[RK_MEM_FRAGMENTATION] =
        need->fragmentation * m->allocated + of_stages * m->part[RK_MEM_ACTIVATIONS] + need->cached;
    m->late = reclaimed * m->late + need->cached;
}

/* Passes whose activations the device keeps, of so many in flight. */
static double kept_passes(const rk_stage_need *need, double in_flight)
{
    const double away = need->offloaded * in_flight;
    return need->live * (in_flight - away + rk_min(need->most, away));
}

static double kept_activations(const rk_stage_need *need, double kept, double in_flight)
{
    return kept * need->saved + need->ahead + in_flight * need->ends;
}

void rk_stage_fill_peaks(const rk_stage_need *need, double in_flight, rk_stage_memory *m)
{
    const double activations = kept_activations(need, kept_passes(need, in_flight), in_flight);
    const double states = need->weights + need->gradients + need->optimizer + need->always;
    const double layer = need->unsaved + need->layer, first = activations - need->later;
    const double ends = rk_max(need->last, need->later > 0 ? layer - need->unmade : 0);
    m->peak[RK_PEAK_BACKWARD] = states + rk_max(first + layer, ends);
    m->peak[RK_PEAK_LOSS] = need->head > 0 ? states + first + need->head : 0;
    m->peak[RK_PEAK_STEP] = states + need->update;
}

rk_peak rk_stage_peak(const rk_stage_memory *memory)
{
    rk_peak peak = RK_PEAK_BACKWARD;
    for (int i = 1; i < RK_PEAK_COUNT; i++) {
        peak = memory->peak[i] > memory->peak[peak] ? (rk_peak)i : peak;
    }
    return peak;
}

/* Inline, so that searches pay for no more than the sum. */
static RK_ALWAYS_INLINE rk_stage_memory memory_at(const rk_stage_need *need, double in_flight)
{
    const double kept = kept_passes(need, in_flight);
    const double activations = kept_activations(need, kept, in_flight);
    const double layer = need->unsaved + need->layer;
    const double first = activations + rk_max(layer, need->head); /* the backward pass begins */
    double last = rk_max(need->update, need->last);               /* and ends; or the update */
    if (need->later > 0) {
        last = rk_max(last, layer - need->unmade);
    }
    rk_stage_memory m = {
        .part =
            {
                [RK_MEM_WEIGHTS] = need->weights,
                [RK_MEM_GRADIENTS] = need->gradients,
                [RK_MEM_OPTIMIZER] = need->optimizer,
                [RK_MEM_ACTIVATIONS] = activations,
                [RK_MEM_TRANSIENT] = need->always,
            },
    };
    /* The peak is the worst of four moments, also when what is late is given back. */
    const double worst = last + need->later;
    m.late = rk_min(kept * need->late + need->ahead, rk_max(first - worst, 0));
    if (worst > first) {
        m.part[RK_MEM_ACTIVATIONS] = 0;
        m.part[RK_MEM_TRANSIENT] += last;
    } else if (need->head > layer) {
        m.part[RK_MEM_GRADIENTS] -= need->later;
        m.part[RK_MEM_LOGITS] = need->head;
    } else {
        m.part[RK_MEM_GRADIENTS] -= need->later;
        m.part[RK_MEM_RECOMPUTED] = need->unsaved;
        m.part[RK_MEM_TRANSIENT] += need->layer;
    }
    for (int i = 0; i < RK_MEM_FRAGMENTATION; i++) {
        m.allocated += m.part[i];
    }
    add_fragments(need, &m);
    m.part[RK_MEM_CONTEXT] = need->context;
    m.reserved = m.allocated + m.part[RK_MEM_FRAGMENTATION];
    m.total = m.reserved + m.part[RK_MEM_CONTEXT];
    return m;
}

rk_stage_memory rk_stage_memory_at(const rk_stage_need *need, double in_flight)
{
    return memory_at(need, in_flight);
}

double rk_stage_needed_at(const rk_stage_need *need, double in_flight)
{
    const rk_stage_memory memory = memory_at(need, in_flight);
    return rk_needed_bytes(&memory);
}

rk_stage_memory rk_stage_memory_of(const rk_cost_table *table, const rk_strategy *s,
                                   const rk_stage *stage, double in_flight)
{
    const rk_stage_need need = rk_stage_need_of(table, s, stage);
    return rk_stage_memory_at(&need, in_flight);
}

double rk_stage_host_at(const rk_stage_need *need, double in_flight)
{
    return need->host + in_flight * need->host_saved;
}
