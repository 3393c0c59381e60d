/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of a measured run. */
#include "evidence/runs.h"

#include "base/error.h"
#include "base/extremes.h"

#include <stdlib.h>
#include <string.h>

void rk_run_machine_apply(const rk_run_machine *machine, rk_system *system)
{
    if (machine->node > 0) {
        (void)rk_system_set_node(system, machine->node); /* an impossible size says nothing */
    }
    if (machine->network_bandwidth > 0) {
        system->tiers[system->tier_count - 1].bandwidth = machine->network_bandwidth;
    }
    if (machine->power > 0) {
        system->accelerator = rk_accelerator_at_power(&system->accelerator, machine->power);
    }
    if (machine->memory_bandwidth > 0) {
        system->accelerator.memory_bandwidth = machine->memory_bandwidth;
    }
    if (machine->memory_usable > 0) {
        system->accelerator.memory_usable = machine->memory_usable;
    }
}

void rk_run_system(const rk_run_case *run, const rk_system *documented, rk_system *out)
{
    *out = *documented;
    rk_run_machine_apply(&run->machine, out);
}

static bool changes_system(const rk_run_machine *m)
{
    return m->node > 0 || m->network_bandwidth > 0 || m->power > 0 || m->memory_bandwidth > 0 ||
           m->memory_usable > 0;
}

void rk_run_changes_apply(const rk_run_changes *changes, rk_stack *stack)
{
    for (int i = 0; i < changes->count; i++) {
        const rk_run_change *change = &changes->list[i];
        void *place = (char *)stack + change->offset;
        if (change->boolean) {
            *(bool *)place = change->value > 0;
        } else {
            double *number = place;
            *number = change->scales ? *number * change->value : change->value;
        }
    }
}

/* The documents of a run: those listed, or replacements, with the run's own changes. */
typedef struct documents {
    const rk_system *system;
    const rk_stack *stack;
    rk_system own_system;
    rk_stack own_stack;
} documents;

static void choose(const rk_run_sources *sources, const rk_run_case *run, const rk_system *system,
                   const rk_stack *stack, documents *d)
{
    d->system = system ? system : &sources->systems[run->system];
    d->stack = stack ? stack : &sources->stacks[run->stack];
    if (changes_system(&run->machine)) {
        rk_run_system(run, d->system, &d->own_system);
        d->system = &d->own_system;
    }
    if (run->changes.count > 0) {
        d->own_stack = *d->stack;
        rk_run_changes_apply(&run->changes, &d->own_stack);
        d->stack = &d->own_stack;
    }
}

/* The strategy with the layout of the case, which may have been copied since it was filled. */
static rk_strategy strategy_of(const rk_run_case *run)
{
    rk_strategy s = run->strategy;
    s.layout = s.layout_count > 0 ? run->layout : NULL;
    return s;
}

static void finish(const rk_run_case *run, const rk_stage_memory *memory, rk_run_prediction *out)
{
    const rk_estimate *e = &out->estimate;
    /* of what fits, an allocator holds no more than there is, and gives back what it could spare */
    const bool runs = rk_needed_bytes(memory) <= e->usable;
    const double held = runs ? rk_min(memory->total, e->usable) : memory->total;
    out->memory = run->memory_kind == RK_RUN_ALLOCATED  ? memory->allocated
                  : run->memory_kind == RK_RUN_RESERVED ? memory->reserved - memory->total + held
                                                        : held;
    out->tokens_per_second = e->tokens_per_second / (double)rk_strategy_ranks(&run->strategy);
    out->flops_per_second = e->step > 0 ? e->model_flops / e->step : 0;
}

rk_status rk_run_predict(const rk_run_sources *sources, const rk_run_case *run,
                         const rk_system *system, const rk_stack *stack, rk_run_prediction *out,
                         rk_error *err)
{
    documents d;
    const rk_strategy strategy = strategy_of(run);
    choose(sources, run, system, stack, &d);
    const rk_status status = rk_estimate_closed(&run->model, d.system, d.stack, &strategy,
                                                RK_FLOPS_MEGATRON, &out->estimate, err);
    if (!status) {
        finish(run, &out->estimate.memory, out);
    }
    return status;
}

rk_status rk_run_predict_exact(const rk_run_sources *sources, const rk_run_case *run,
                               const rk_system *system, const rk_stack *stack,
                               rk_run_prediction *out, rk_error *err)
{
    documents d;
    const rk_strategy strategy = strategy_of(run);
    rk_stage_memory *stages = malloc((size_t)strategy.pp * sizeof(*stages));
    if (!stages) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to predict a run");
    }
    choose(sources, run, system, stack, &d);
    const rk_setting setting = {.model = &run->model,
                                .system = d.system,
                                .stack = d.stack,
                                .convention = RK_FLOPS_MEGATRON};
    const rk_status status = rk_estimate_exact(&setting, &strategy, &out->estimate, stages, err);
    if (!status) {
        finish(run, run->first_stage ? &stages[0] : &out->estimate.memory, out);
    }
    free(stages);
    return status;
}
