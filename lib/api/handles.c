/* SPDX-License-Identifier: Apache-2.0 */
/* Models, systems and stacks as handles. */
#include "api/handles.h"

#include "base/error.h"
#include "layer/model_load.h"
#include "system/machine.h"

#include <stdlib.h>

rk_status rk_find_name(const char *what, const char *name, const char *const *names, int *index,
                       rk_error *err)
{
    const rk_option option =
        RK_OPTION(what, CHOICE, 0, .positional = true, .value = what, .choices = names);
    const rk_status status = rk_need(name, what, err);
    return status ? status : rk_option_read(&option, name, index, err);
}

/* ---- models ---------------------------------------------------------------------------------- */

rk_status rk_model_create(const char *document, rk_model **model, rk_error *err)
{
    rk_status status = rk_need(document, "name of a model", err);
    *model = rk_allocate(sizeof(**model), "a model", &status, err);
    status = status ? status : rk_model_load(document, *model, err);
    return RK_CREATED(status, model, free);
}

void rk_model_free(rk_model *model)
{
    free(model);
}

void rk_model_describe(const rk_model *model, rk_model_facts *facts, size_t size)
{
    const rk_model_params params = rk_model_params_of(model);
    rk_model_facts all = {
        .name = model->name,
        .parameters = params.total,
        .active_parameters = params.active,
        .mtp_parameters = params.mtp,
        .layers = model->layers,
        .hidden = model->hidden,
        .vocabulary = model->vocab,
        .sequence_tokens = model->seq,
    };
    for (int i = 0; i < model->type_count; i++) {
        all.has_experts = all.has_experts || rk_layer_is_moe(&model->types[i]);
    }
    rk_abi_copy(facts, size, &all, sizeof(all));
}

rk_status rk_model_count_flops(const rk_model *model, int64_t sequence, const char *convention,
                               double *flops_per_token, rk_error *err)
{
    int index = 0;
    rk_status status = rk_need(model, "model", err);
    status =
        status ? status
               : rk_find_name("FLOP convention", convention, rk_flop_convention_names, &index, err);
    if (status) {
        return status;
    }
    if (sequence < 0 || sequence > INT32_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "a sequence has 1 to %d tokens (0: the usual number)",
                       INT32_MAX);
    }
    *flops_per_token = rk_model_flops_per_token(model, sequence > 0 ? sequence : model->seq,
                                                (rk_flop_convention)index);
    return RK_OK;
}

/* ---- systems --------------------------------------------------------------------------------- */

rk_status rk_system_create(const char *document, rk_system **system, rk_error *err)
{
    rk_machine machine;
    int64_t each;
    rk_status status = rk_need(document, "name of a system", err);
    *system = rk_allocate(sizeof(**system), "a system", &status, err);
    status = status ? status : rk_machine_read_number_first(document, &machine, err);
    if (!status && machine.system[0]) {
        status = rk_machine_unit(machine.system, &each, err);
        status = status ? status
                        : rk_fail(err, RK_ERR_INVALID,
                                  "%.200s is a number and a system: create \"%.200s\", and give "
                                  "\"accelerators\": %lld with the strategy",
                                  document, machine.system, (long long)(machine.count * each));
    }
    status = status ? status : rk_system_load(document, *system, err);
    return RK_CREATED(status, system, free);
}

RK_DEFINE_FREE(rk_system, rk_system_clear)

void rk_system_describe(const rk_system *system, rk_system_facts *facts, size_t size)
{
    const rk_accelerator *a = &system->accelerator;
    const rk_system_facts all = {
        .name = system->name,
        .accelerator = a->name,
        .accelerators = system->tier_count > 0 ? system->tiers[system->tier_count - 1].size : 1,
        .node = system->tier_count > 0 ? system->tiers[0].size : 1,
        .tiers = system->tier_count,
        .memory_bytes = a->memory_capacity,
        .memory_usable_bytes = a->memory_usable,
        .memory_bytes_per_s = a->memory_bandwidth,
        .vector_flops_per_s = a->vector_peak,
        .host_memory_bytes = a->host_capacity,
        .host_bytes_per_s = a->host_bandwidth,
        .power_watts = a->power,
        .price_per_hour = system->price,
    };
    rk_abi_copy(facts, size, &all, sizeof(all));
}

double rk_system_peak(const rk_system *system, rk_precision precision)
{
    const bool known = (int)precision >= 0 && (int)precision < RK_PRECISION_COUNT;
    return known ? system->accelerator.gemm[precision].peak : 0;
}

bool rk_system_tier(const rk_system *system, int index, rk_tier_facts *facts, size_t size)
{
    if (index < 0 || index >= system->tier_count) {
        return false;
    }
    const rk_tier *tier = &system->tiers[index];
    const rk_tier_facts all = {
        .name = tier->name,
        .accelerators = tier->size,
        .bytes_per_s = tier->bandwidth,
        .latency_s = tier->latency,
    };
    return rk_abi_copy(facts, size, &all, sizeof(all));
}

/* ---- stacks ---------------------------------------------------------------------------------- */

rk_status rk_stack_create(const char *document, const rk_system *system, rk_stack **stack,
                          rk_error *err)
{
    rk_status status = rk_need(document, "name of a stack", err);
    *stack = rk_allocate(sizeof(**stack), "a stack", &status, err);
    if (!status) {
        status = system ? rk_stack_choose(document, &system->accelerator, *stack, err)
                        : rk_stack_load(document, *stack, err);
    }
    return RK_CREATED(status, stack, free);
}

void rk_stack_free(rk_stack *stack)
{
    free(stack);
}

void rk_stack_describe(const rk_stack *stack, rk_stack_facts *facts, size_t size)
{
    const rk_stack_facts all = {
        .name = stack->name, .family = stack->family, .base = stack->base, .year = stack->year};
    rk_abi_copy(facts, size, &all, sizeof(all));
}
