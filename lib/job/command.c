/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and options in the public API. */
#include "io/catalogue.h"
#include "io/document.h"
#include "job/job.h"
#include "system/machine.h"

#include <string.h>

const char *rk_command_name(const rk_command *command)
{
    return command->name;
}

const char *rk_command_purpose(const rk_command *command)
{
    return command->purpose;
}

const char *rk_command_notes(const rk_command *command)
{
    return command->notes;
}

bool rk_command_is_shared(const rk_command *command)
{
    return command->is_shared;
}

const char *rk_command_shared_with(const rk_command *command)
{
    return command->shared_with;
}

size_t rk_command_option_count(const rk_command *command)
{
    return command->shared_count + command->option_count;
}

const rk_option *rk_command_option(const rk_command *command, size_t index)
{
    if (index >= rk_command_option_count(command)) {
        return NULL;
    }
    return index < command->shared_count ? &command->shared[index]
                                         : &command->options[index - command->shared_count];
}

void rk_option_describe(const rk_option *option, rk_option_info *info, size_t size)
{
    const rk_option_info all = {
        .name = option->name,
        .value = option->type == RK_OPTION_FLAG ? NULL
                 : option->value                ? option->value
                                                : "VALUE",
        .help = option->help,
        .letter = option->letter,
        .positional = option->positional,
        .required = option->required,
        .choices = option->choices,
        .aliases = option->aliases,
        .alias_count = RK_ALIAS_MAX,
        .catalogue = option->catalogue,
        .group = option->group,
        .common = option->common,
    };
    memcpy(info, &all, size < sizeof(all) ? size : sizeof(all));
}

const char *rk_catalogue_name(size_t index, const char **kind)
{
    if (index >= rk_catalogue_count) {
        return NULL;
    }
    *kind = rk_catalogue[index].kind;
    return rk_catalogue[index].name;
}

/* ---- by which method ------------------------------------------------------------------------- */

/* Whether a document is of a kind. One that cannot be read is not, unless memory ran out. */
static rk_status identify(const char *name, rk_document_kind kind, bool *is, rk_error *err)
{
    rk_document_kind found;
    rk_machine machine = {.count = 0};
    if (name && rk_machine_read_number_first(name, &machine, err) == RK_OK && machine.system[0]) {
        name = machine.system;
    }
    const rk_status status = name ? rk_document_identify(name, &found, err) : RK_ERR_INVALID;
    *is = *is || (status == RK_OK && found == kind);
    return status == RK_ERR_MEMORY ? status : RK_OK;
}

rk_status rk_command_resolve(const rk_command *command, const char *method, const char *model,
                             const char *system, const rk_command **resolved, rk_error *err)
{
    bool calculon = method && strcmp(method, "calculon") == 0;
    rk_status status = RK_OK;
    *resolved = command;
    if (!command->calculon) {
        return RK_OK;
    }
    if (!method) {
        status = identify(model, RK_DOCUMENT_CALCULON_APP, &calculon, err);
        status = status ? status : identify(system, RK_DOCUMENT_CALCULON_SYS, &calculon, err);
    }
    *resolved = calculon ? command->calculon : command;
    return status;
}
