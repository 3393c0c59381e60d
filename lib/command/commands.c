/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands. */
#include "command/commands.h"

#include "base/text.h"

#include <string.h>

/* In the order of the help text. */
static const rk_command *const commands[] = {
    &rk_command_plan,      &rk_command_estimate, &rk_command_fit,     &rk_command_run,
    &rk_command_timeline,  &rk_command_comm,     &rk_command_explain, &rk_command_design,
    &rk_command_shape,     &rk_command_sweep,    &rk_command_plot,    &rk_command_validate,
    &rk_command_calibrate, &rk_command_convert,  &rk_command_list,    &rk_command_show,
    &rk_command_calculon,
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

/* Commands of `reckon calculon`, with the short names of the published command line. */
static const struct {
    const rk_command *command;
    const char *alias;
} published[] = {
    {&rk_command_calculon_llm, NULL},           {&rk_command_calculon_loe, "calculon loe"},
    {&rk_command_calculon_lae, "calculon lae"}, {&rk_command_calculon_lpc, "calculon lpc"},
    {&rk_command_calculon_lv, "calculon lv"},   {&rk_command_calculon_version, "calculon v"},
};

const rk_command *rk_command_at(size_t index)
{
    return index < COMMAND_COUNT ? commands[index] : NULL;
}

const rk_command *rk_command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        const rk_command *command = published[i].command;
        if (strcmp(command->name, name) == 0 ||
            (published[i].alias && strcmp(published[i].alias, name) == 0)) {
            return command;
        }
    }
    return NULL;
}

const char *rk_command_suggest(const char *name)
{
    const char *names[COMMAND_COUNT + sizeof(published) / sizeof(published[0])];
    const bool inner = strncmp(name, "calculon ", strlen("calculon ")) == 0;
    size_t count = 0;
    for (size_t i = 0; i < COMMAND_COUNT && !inner; i++) {
        names[count++] = commands[i]->name;
    }
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]) && inner; i++) {
        names[count++] = published[i].command->name;
    }
    return rk_nearest_name(name, names, count);
}
