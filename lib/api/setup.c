/* SPDX-License-Identifier: Apache-2.0 */
/* A model on a system with its software, and its strategies. */
#include "api/handles.h"

#include "base/error.h"
#include "base/units.h"
#include "command/commands.h"

#include <stdlib.h>

/* ---- the setup ------------------------------------------------------------------------------- */

static rk_status choose_software(const rk_setup_choice *choice, rk_setup *setup, rk_error *err)
{
    rk_software_request wish = {.known = choice->stack, .framework = -1, .convention = -1};
    rk_inputs *inputs = &setup->inputs;
    rk_software chosen;
    rk_status status = choice->framework ? rk_find_name("framework", choice->framework,
                                                        rk_framework_names, &wish.framework, err)
                                         : RK_OK;
    if (!status && choice->mfu_convention) {
        status = rk_find_name("FLOP convention", choice->mfu_convention, rk_flop_convention_names,
                              &wish.convention, err);
    }
    status = status ? status : rk_software_choose(&wish, &inputs->system.accelerator, &chosen, err);
    if (status) {
        return status;
    }
    inputs->software = chosen;
    (void)rk_software_framework_reason(&chosen, &inputs->system.accelerator,
                                       setup->framework_reason);
    (void)rk_software_stack_reason(NULL, &chosen, &inputs->system.accelerator, setup->stack_reason);
    return RK_OK;
}

rk_status rk_setup_create(const rk_model *model, const rk_system *system,
                          const rk_setup_choice *choice, rk_setup **setup, rk_error *err)
{
    static const rk_member members[] = {
        RK_MEMBER(rk_setup_choice, REAL, max_memory_bytes, 0, RK_MEMBER_REAL_MAX),
        RK_MEMBER(rk_setup_choice, REAL, max_risk, 0, RK_RISK_FITS),
    };
    rk_setup_choice known;
    rk_status status = rk_need(model, "model", err);
    status = status ? status : rk_need(system, "system", err);
    status = status ? status
                    : rk_take_choice(choice, &known, sizeof(known), "rk_setup_choice", members,
                                     COUNT(members), err);
    rk_setup *created = rk_allocate(sizeof(*created), "a setup", &status, err);
    *setup = created;
    if (status) {
        return status;
    }
    created->inputs.model = *model;
    created->inputs.system = *system;
    if (known.max_memory_bytes > 0) {
        created->inputs.system.accelerator.memory_usable = known.max_memory_bytes;
    }
    created->inputs.risk = known.max_risk > 0 ? known.max_risk : RK_RISK_USUAL;
    status = choose_software(&known, created, err);
    status = status ? status : rk_setting_open(&created->inputs, &created->setting, err);
    return RK_CREATED(status, setup, free);
}

static void clear_setup(rk_setup *setup)
{
    rk_setting_close(&setup->setting);
}
RK_DEFINE_FREE(rk_setup, clear_setup)

void rk_setup_describe(const rk_setup *setup, rk_setup_facts *facts, size_t size)
{
    const rk_setup_facts all = {
        .framework = rk_framework_names[setup->inputs.software.framework],
        .framework_reason = setup->framework_reason,
        .stack = setup->inputs.software.stack.name,
        .stack_reason = setup->stack_reason,
        .mfu_convention = rk_flop_convention_names[setup->inputs.software.convention],
    };
    rk_abi_copy(facts, size, &all, sizeof(all));
}

/* ---- strategies ------------------------------------------------------------------------------ */

/* A copy of a program's strategy, and whether it is legal. */
static rk_status judge_strategy(const rk_setup *setup, const rk_strategy *given,
                                rk_strategy *strategy, rk_legality *legality, rk_error *err)
{
    rk_status status = rk_need(setup, "setup", err);
    status = status ? status : rk_take_strategy(given, strategy, err);
    if (!status) {
        const rk_inputs *inputs = &setup->inputs;
        (void)rk_strategy_legal(&inputs->model, &inputs->system, strategy,
                                inputs->software.framework, legality);
    }
    return status;
}

rk_status rk_strategy_adopt_legal(const rk_setup *setup, const rk_strategy *given,
                                  rk_strategy *strategy, rk_error *err)
{
    rk_legality legality;
    const rk_status status = judge_strategy(setup, given, strategy, &legality, err);
    return status || legality.legal
               ? status
               : rk_fail(err, RK_ERR_INVALID, "the rule %s: %s", legality.rule, legality.message);
}

bool rk_strategy_abi_copy(const rk_strategy *strategy, rk_strategy *out, size_t size)
{
    rk_strategy all = *strategy;
    all.size = size;
    all.layout = all.layout_count > 0 ? all.layout : NULL; /* not a dangling pointer */
    return rk_abi_copy(out, size, &all, sizeof(all));
}

rk_status rk_strategy_check(const rk_setup *setup, const rk_strategy *strategy,
                            rk_legality *legality, size_t size, rk_error *err)
{
    rk_strategy own;
    rk_legality all = {.legal = false};
    const rk_status status = judge_strategy(setup, strategy, &own, &all, err);
    if (!status) {
        rk_abi_copy(legality, size, &all, sizeof(all));
    }
    return status;
}

bool rk_strategy_field(const rk_strategy *strategy, size_t index, const char **name, char *text,
                       size_t size)
{
    rk_strategy own;
    rk_error err;
    char value[RK_STRATEGY_TEXT_SIZE];
    if (index >= RK_STRATEGY_FIELD_COUNT || rk_take_strategy(strategy, &own, &err)) {
        return false;
    }
    *name = rk_strategy_label(index);
    (void)snprintf(text, size, "%s", rk_strategy_text(&own, index, value));
    return true;
}

/* ---- strategies from options ----------------------------------------------------------------- */

static rk_status read_strategy(const rk_setup *setup, const char *options, rk_job *job,
                               rk_strategy *strategy, size_t size, rk_error *err)
{
    const rk_space space = {.size = sizeof(space), .options = options};
    const rk_request *request = rk_job_arguments(job);
    rk_strategy own;
    rk_status status = rk_start_job(setup, &space, NULL, job, err);
    if (!status && request->layout_count > 0) {
        status = rk_fail(err, RK_ERR_INVALID, "set rk_strategy.layout in place of \"layout\"");
    }
    status = status ? status : rk_request_strategy(request, &setup->inputs, &own, err);
    if (!status) {
        rk_strategy_abi_copy(&own, strategy, size);
    }
    return status;
}

rk_status rk_strategy_read(const rk_setup *setup, const char *options, rk_strategy *strategy,
                           size_t size, rk_error *err)
{
    rk_job *job = NULL;
    rk_status status = rk_open_job(setup, &rk_command_estimate, &job, err);
    status = status ? status : read_strategy(setup, options, job, strategy, size, err);
    rk_job_free(job);
    return status;
}
