/* SPDX-License-Identifier: Apache-2.0 */
/* A shell script as the commands that it starts. */
#include "launch/shell.h"

#include "base/error.h"
#include "base/text.h"
#include "launch/launch_parts.h"
#include "launch/shell_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- commands that are kept ------------------------------------------------------------------ */

static bool ends_in_py(const char *word)
{
    return rk_ends_with(word, ".py") && !strpbrk(word, " \n");
}

static bool is_python(const char *word)
{
    return strncmp(rk_launch_base_name(word), "python", strlen("python")) == 0;
}

static bool starts_program(const rk_launch_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = rk_launch_base_name(words[i].text);
        if (rk_launch_is_launcher(name) || rk_launch_is_trainer(name) || is_python(name) ||
            ends_in_py(name)) {
            return true;
        }
    }
    return count > 0 && rk_ends_with(words[0].text, ".sh");
}

/*
 * Variables that say how many processes there are, where the configuration is, and how PyTorch
 * allocates.
 */
static const char *const world_names[] = {"NNODES",
                                          "NPROC_PER_NODE",
                                          "WORLD_SIZE",
                                          "CUDA_VISIBLE_DEVICES",
                                          "NUM_NODES",
                                          "GPUS_PER_NODE",
                                          "NUM_GPUS",
                                          "ASCEND_RT_VISIBLE_DEVICES",
                                          "NGPU",
                                          "CONFIG_FILE",
                                          "EXP",
                                          "USE_MCA",
                                          "PYTORCH_CUDA_ALLOC_CONF",
                                          "PYTORCH_ALLOC_CONF",
                                          "PYTORCH_HIP_ALLOC_CONF",
                                          NULL};

static void add_before(rk_shell *sh, rk_shell_command *command)
{
    size_t room = 0;
    for (size_t i = 0; world_names[i]; i++) {
        const rk_shell_variable *variable = rk_shell_find(sh, world_names[i]);
        const char *value =
            variable && variable->exported ? rk_shell_value(sh, world_names[i]) : NULL;
        const size_t name = strlen(world_names[i]), length = value ? strlen(value) : 0;
        char *text = length > 0 ? rk_shell_get(sh, name + length + 2, 1) : NULL;
        if (text && rk_shell_grow(sh, &command->before, command->before_count, &room,
                                  sizeof(*command->before))) {
            memcpy(text, world_names[i], name);
            text[name] = '=';
            memcpy(text + name + 1, value, length);
            command->before[command->before_count++] =
                (rk_launch_word){text, variable->elements[0].line};
        }
    }
}

void rk_shell_record(rk_shell *sh, const rk_launch_word *words, size_t count)
{
    rk_shell_command command = {.around = sh->around, .around_count = sh->around_count};
    size_t room = 0;
    if (!starts_program(words, count)) {
        return;
    }
    add_before(sh, &command);
    for (size_t i = 0; i < count; i++) {
        if (rk_shell_grow(sh, &command.words, command.word_count, &room, sizeof(*command.words))) {
            command.words[command.word_count++] = (rk_launch_word){words[i].text, words[i].line};
        }
    }
    if (rk_shell_grow(sh, &sh->commands, sh->command_count, &sh->command_room, sizeof(command))) {
        sh->commands[sh->command_count++] = command;
    }
}

/* ---- which one trains ------------------------------------------------------------------------ */

static bool has_part(const char *word, const char *const *parts)
{
    for (size_t i = 0; parts[i]; i++) {
        if (strstr(word, parts[i])) {
            return true;
        }
    }
    return false;
}

/* How much a command looks like training. */
static int score(const rk_shell_command *command)
{
    static const char *const training[] = {"train", "finetune", "fine-tune", "fine_tune", "sft",
                                           "dpo",   "grpo",     "ppo",       "rlhf",      NULL};
    static const char *const other[] = {"convert", "preprocess", "prepare", "generate", "eval",
                                        "infer",   "serve",      "merge",   "download", NULL};
    int program = 0, launcher = 0;
    for (size_t i = 0; i < command->word_count; i++) {
        const char *word = command->words[i].text, *name = rk_launch_base_name(word);
        if (rk_shell_is_shell(word)) {
            return 0; /* what it runs is a command of its own */
        }
        const bool module = i > 0 && strcmp(command->words[i - 1].text, "-m") == 0;
        launcher |= rk_launch_is_launcher(name) || strstr(word, "torch.distributed") == word;
        if (rk_launch_is_trainer(name)) {
            program = 3;
            break;
        }
        if (ends_in_py(word) || (module && strstr(word, "torch.distributed") != word)) {
            program = has_part(name, other) && !has_part(name, training) ? 1
                      : has_part(name, training)                         ? 4
                                                                         : 3;
            break;
        }
    }
    return program == 0 ? 0 : program + 2 * launcher;
}

const rk_shell_command *rk_shell_find_training(const rk_shell_result *result)
{
    const rk_shell_command *best = NULL;
    int most = 0;
    for (size_t i = 0; i < result->count; i++) {
        const int value = score(&result->commands[i]);
        if (value > most) {
            most = value;
            best = &result->commands[i];
        }
    }
    return best ? best : result->count > 0 ? &result->commands[0] : NULL;
}

/* ---- #SBATCH --------------------------------------------------------------------------------- */

/* Options of sbatch, and the variables that a job has by them. */
static const struct {
    const char *option, *letter, *variables[2];
} allocations[] = {
    {"--nodes", "-N", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
    {"--ntasks-per-node", NULL, {"SLURM_NTASKS_PER_NODE", NULL}},
    {"--ntasks", "-n", {"SLURM_NTASKS", "SLURM_NPROCS"}},
    {"--gpus-per-node", NULL, {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
    {"--gres", NULL, {NULL, NULL}},
    {"--gpus", "-G", {"SLURM_GPUS", NULL}},
};

/* The value of an option "--nodes=2", "-N 2" or "-N2"; NULL: it is another one. */
static const char *allocation_value(rk_shell *sh, const char *at, const char *end,
                                    const char *option)
{
    const size_t length = option ? strlen(option) : 0;
    if (length == 0 || (size_t)(end - at) <= length || strncmp(at, option, length) != 0 ||
        !(strchr("= \t", at[length]) || (length == 2 && isdigit((unsigned char)at[length])))) {
        return NULL;
    }
    const char *from = at + length + strspn(at + length, "= \t");
    const char *to = from;
    while (to < end && !strchr(" \t\r\n#", *to)) {
        to++;
    }
    return from < end ? rk_shell_keep(sh, from, (size_t)(to - from)) : NULL;
}

static void add_allocated(rk_shell *sh, const char *word, int line)
{
    if (rk_shell_grow(sh, &sh->allocation, sh->allocation_count, &sh->allocation_room,
                      sizeof(*sh->allocation))) {
        sh->allocation[sh->allocation_count++] = (rk_launch_word){word, line};
    }
}

/* "gpu:a100:8" and "a100:8": the number. */
static const char *count_of(const char *value)
{
    const char *colon = strrchr(value, ':');
    return colon ? colon + 1 : value;
}

/* Sets what an option at the start of a text allocates, if it is one of the above. */
static void allocate(rk_shell *sh, const char *option, const char *end, int line)
{
    for (size_t i = 0; i < sizeof(allocations) / sizeof(allocations[0]); i++) {
        const char *value = allocation_value(sh, option, end, allocations[i].option);
        value = value ? value : allocation_value(sh, option, end, allocations[i].letter);
        for (size_t j = 0; value && j < 2 && allocations[i].variables[j]; j++) {
            rk_shell_set(sh, allocations[i].variables[j], count_of(value), line);
        }
        if (value && sh->allocation_count == 0) {
            add_allocated(sh, "sbatch", line);
        }
        if (value) {
            add_allocated(sh, allocations[i].option, line);
            add_allocated(sh, value, line);
        }
    }
}

void rk_shell_read_allocation(rk_shell *sh, const char *text)
{
    static const char start[] = "#SBATCH";
    int line = 1;
    for (const char *at = text; *at; line++) {
        const char *end = at + strcspn(at, "\n");
        const bool allocates = strncmp(at, start, strlen(start)) == 0;
        at = allocates ? at + strlen(start) : end;
        while (at += strspn(at, " \t\r"), at < end && *at != '#') { /* a line may have several */
            allocate(sh, at, end, line);
            at += strcspn(at, " \t\r\n");
        }
        at = *end ? end + 1 : end;
    }
}

/* ---- a script -------------------------------------------------------------------------------- */

static void find_lines(rk_shell *sh)
{
    size_t count = 0, used = 0;
    for (size_t i = 0; i < sh->source.size; i++) {
        count += sh->source.text[i] == '\n';
    }
    size_t *lines = calloc(count + 1, sizeof(*lines));
    for (size_t i = 0; lines && i < sh->source.size; i++) {
        if (sh->source.text[i] == '\n') {
            lines[used++] = i + 1;
        }
    }
    sh->source.lines = lines;
    sh->source.line_count = lines ? count : 0;
    sh->out_of_memory |= !lines;
}

static void set_places(rk_shell *sh)
{
    const char *folder = sh->folder ? sh->folder : ".";
    rk_shell_variable *source = rk_shell_make(sh, "BASH_SOURCE");
    rk_shell_set(sh, "PWD", folder, 0);
    rk_shell_set(sh, "BASH_SOURCE", sh->name, 0);
    if (source) {
        source->array = true;
    }
}

rk_status rk_shell_read(const char *text, size_t size, const char *name, const char *folder,
                        const char *const *arguments, size_t argument_count,
                        rk_shell_result *result, rk_error *err)
{
    rk_shell *sh = calloc(1, sizeof(*sh));
    *result = (rk_shell_result){.shell = sh};
    if (!sh) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the script %s", name);
    }
    sh->folder = folder;
    sh->name = rk_shell_keep(sh, name, strlen(name));
    const char *kept = rk_shell_keep(sh, text, size);
    sh->source = (rk_shell_source){.text = kept, .size = strlen(kept), .line = 1};
    find_lines(sh);
    rk_launch_word *given = rk_shell_get(sh, argument_count + 1, sizeof(*given));
    for (size_t i = 0; given && i < argument_count; i++) {
        given[i].text = rk_shell_keep(sh, arguments[i], strlen(arguments[i]));
    }
    sh->arguments = given;
    sh->argument_count = given ? argument_count : 0;
    set_places(sh);
    rk_shell_read_allocation(sh, kept);
    rk_shell_run_list(sh, NULL);
    result->allocation = sh->allocation;
    result->allocation_count = sh->allocation_count;
    result->commands = sh->commands;
    result->count = sh->command_count;
    result->files = sh->files;
    result->file_count = sh->file_count;
    result->cut = sh->cut;
    free(sh->source.lines);
    return sh->out_of_memory
               ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for the script %s", name)
               : RK_OK;
}

void rk_shell_clear(rk_shell_result *result)
{
    if (result->shell) {
        rk_arena_clear(&result->shell->arena);
        free(result->shell);
    }
    *result = (rk_shell_result){0};
}
