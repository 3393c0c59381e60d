/* SPDX-License-Identifier: Apache-2.0 */
/* Words without an option's name: `reckon plan llama3-70b 64xh100`. */
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/document.h"
#include "io/json.h"
#include "job/job.h"
#include "system/machine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const rk_option *find_taker(const rk_command *command, rk_word word)
{
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        if (option->word == word) {
            return option;
        }
    }
    return NULL;
}

/* The option that a word has the name of, as in "tp=8" and "TP8"; NULL: none. */
static const rk_option *find_named(const rk_command *command, const char *word, size_t length)
{
    const rk_option *option;
    for (size_t i = 0; length > 0 && (option = rk_command_option(command, i)); i++) {
        bool found = strlen(option->name) == length && strncasecmp(option->name, word, length) == 0;
        for (int j = 0; j < RK_ALIAS_MAX && option->aliases[j]; j++) {
            found = found || (strlen(option->aliases[j]) == length &&
                              strncasecmp(option->aliases[j], word, length) == 0);
        }
        if (found && option->type != RK_OPTION_FLAG) {
            return option;
        }
    }
    return NULL;
}

static rk_status fail_unexpected(const rk_job *job, const char *word, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE];
    const char *name = rk_command_name(rk_job_command(job));
    if (rk_ends_with(word, ".csv") && find_named(rk_job_command(job), "runs", strlen("runs"))) {
        return rk_fail(err, RK_ERR_INVALID, "unexpected argument '%s'; did you mean --runs %s?",
                       rk_json_printable(word, shown, sizeof(shown)), shown);
    }
    return rk_fail(err, RK_ERR_INVALID, "unexpected argument '%s'; 'reckon %s --help' says more",
                   rk_json_printable(word, shown, sizeof(shown)), name);
}

static rk_status set(rk_job *job, rk_word what, const char *word, rk_error *err)
{
    const rk_option *option = find_taker(rk_job_command(job), what);
    return option ? rk_job_set_by_word(job, option->name, word, err)
                  : fail_unexpected(job, word, err);
}

/* Sets the number of a machine: of accelerators, or of the nodes that the name means. */
static rk_status set_number(rk_job *job, const rk_machine *machine, rk_error *err)
{
    char count[RK_OPTION_WORD_SIZE];
    int64_t each;
    const rk_status status = rk_machine_unit(machine->system, &each, err);
    if (status) {
        return status;
    }
    if (each == 1 || find_taker(rk_job_command(job), RK_WORD_NODES)) {
        (void)snprintf(count, sizeof(count), "%" PRId64, machine->count);
        return set(job, each == 1 ? RK_WORD_COUNT : RK_WORD_NODES, count, err);
    }
    if (machine->count > INT64_MAX / each) {
        return fail_unexpected(job, machine->system, err);
    }
    (void)snprintf(count, sizeof(count), "%" PRId64, machine->count * each);
    return set(job, RK_WORD_COUNT, count, err);
}

static rk_status set_machine(rk_job *job, const rk_machine *machine, rk_error *err)
{
    const rk_status status = set_number(job, machine, err);
    return status ? status : set(job, RK_WORD_SYSTEM, machine->system, err);
}

rk_status rk_job_split_machine(rk_job *job, const char *word, bool *split, rk_error *err)
{
    rk_machine machine;
    *split = false;
    const rk_status status = rk_machine_read_number_first(word, &machine, err);
    if (status || machine.system[0] == '\0' || !find_taker(rk_job_command(job), RK_WORD_COUNT)) {
        return status;
    }
    *split = true;
    return set_machine(job, &machine, err);
}

/* Words that begin a launch line: torchrun and its script. */
static bool is_launcher(const char *word)
{
    static const char *const launchers[] = {"torchrun", "deepspeed", "accelerate", "launch",
                                            "python",   "python3",   "srun"};
    for (size_t i = 0; i < COUNT(launchers); i++) {
        if (strcmp(word, launchers[i]) == 0) {
            return true;
        }
    }
    return rk_ends_with(word, ".py");
}

/* Words that say what a number counts, or join words: "64 gpus", "on h100". */
static bool is_filler(const char *word)
{
    static const char *const fillers[] = {"x", "on", "gpu", "gpus", "accelerators", "chips"};
    for (size_t i = 0; i < COUNT(fillers); i++) {
        if (strcasecmp(word, fillers[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a word is a file that a training framework is started with, by its ending; arguments of
 * a script may follow: "run.sh 70b". */
static bool is_launch(const char *given)
{
    char word[256];
    (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(given, " "), given);
    static const char *const endings[] = {".sh",   ".bash", ".slurm", ".sbatch",
                                          ".yaml", ".yml",  ".toml"};
    for (size_t i = 0; i < COUNT(endings); i++) {
        if (rk_ends_with(word, endings[i])) {
            return true;
        }
    }
    return false;
}

/* Refuses words that are something else than a model or a system, with what to type. */
static rk_status check_word(const rk_job *job, const char *word, rk_error *err)
{
    static const char *const amounts[][2] = {{"million", "M"}, {"billion", "B"}, {"trillion", "T"},
                                             {"hours", "h"},   {"days", "d"},    {"weeks", "d"},
                                             {"months", "d"}};
    const rk_command *command = rk_job_command(job);
    const size_t letters = strcspn(word, "=0123456789");
    const char *value = word + letters + (word[letters] == '=');
    const bool number = *value && value[strspn(value, "0123456789")] == '\0';
    const rk_option *option =
        word[letters] == '=' || number ? find_named(command, word, letters) : NULL;
    if (option && *value) {
        return rk_fail(err, RK_ERR_INVALID, "unexpected argument '%.100s'; did you mean --%s %s?",
                       word, option->name, value);
    }
    for (size_t i = 0; i < COUNT(amounts); i++) {
        if (strcasecmp(word, amounts[i][0]) == 0) {
            return rk_fail(err, RK_ERR_INVALID,
                           "unexpected argument '%s'; write %s directly after the number, as in "
                           "15%s",
                           word, amounts[i][1], amounts[i][1]);
        }
    }
    return strcmp(word, "nodes") == 0 && find_taker(command, RK_WORD_NODES)
               ? rk_fail(err, RK_ERR_INVALID,
                         "unexpected argument 'nodes'; did you mean --nodes and their number?")
               : RK_OK;
}

static bool has_word(const rk_job *job, rk_word what)
{
    const rk_option *option = find_taker(rk_job_command(job), what);
    return option && rk_job_has(job, option->name);
}

/* Refuses a word that names no document, where a model and a system are given already. */
static rk_status fail_further(const rk_job *job, const char *word, rk_error *err)
{
    const char *formats[] = {"json", "csv"};
    char ending[8];
    for (size_t i = 0; i < COUNT(formats); i++) {
        (void)snprintf(ending, sizeof(ending), ".%s", formats[i]);
        if (rk_job_has(job, formats[i]) && rk_ends_with(word, ending)) {
            return rk_fail(err, RK_ERR_INVALID, "--%s takes no file; did you mean -o %.200s?",
                           formats[i], word);
        }
    }
    if (rk_job_has(job, "set") && strpbrk(word, "0123456789")) {
        return rk_fail(err, RK_ERR_INVALID,
                       "unexpected argument '%.100s'; write --set NAME=%.100s, with a \"=\"", word,
                       word);
    }
    return fail_unexpected(job, word, err);
}

/* "64h100": a number and a system without what joins them. */
static rk_status check_joint(const char *word, size_t digits, rk_error *err)
{
    assert(digits <= strlen(word));
    const char *name = word + digits;
    const bool system = digits > 0 && (rk_catalogue_find("accelerators", name) ||
                                       rk_catalogue_find("systems", name));
    return system && !rk_catalogue_find("models", word)
               ? rk_fail(err, RK_ERR_INVALID,
                         "unexpected argument '%.100s'; did you mean %.*sx%.100s?", word,
                         (int)digits, word, name)
               : RK_OK;
}

/* "8x7b" is the end of a model's name, and no number of systems. */
static bool is_ending(const rk_machine *machine, const char *word)
{
    char list[8] = "";
    return !rk_catalogue_find("accelerators", machine->system) &&
           !rk_catalogue_find("systems", machine->system) &&
           rk_catalogue_list_ending("models", word, list, sizeof(list)) > 0;
}

/* Whether a word lists systems, as in "h100,gb200" and "h100:64,gb200": by the first of them. */
static bool is_list_of_systems(const char *word)
{
    char first[RK_OPTION_WORD_SIZE];
    rk_document_kind kind;
    rk_error err;
    (void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(word, ":,"), word);
    return strchr(word, ',') && !rk_document_identify(first, &kind, &err) &&
           (kind == RK_DOCUMENT_ACCELERATOR || kind == RK_DOCUMENT_SYSTEM);
}

rk_status rk_job_set_word(rk_job *job, const char *word, rk_error *err)
{
    const size_t digits = strspn(word, "0123456789");
    rk_document_kind kind;
    rk_machine machine;
    if (digits > 0 && word[digits] == '\0') {
        const bool system = rk_catalogue_find("accelerators", word) && /* "4090" */
                            !has_word(job, RK_WORD_SYSTEM);
        return set(job, system ? RK_WORD_SYSTEM : RK_WORD_COUNT, word, err);
    }
    rk_status status = rk_machine_read(word, &machine, err);
    if (status || (machine.system[0] && !is_ending(&machine, word))) {
        return status ? status : set_machine(job, &machine, err);
    }
    status = check_word(job, word, err);
    status = status ? status : check_joint(word, digits, err);
    if (status) {
        return status;
    }
    if (rk_job_command(job)->take_launch_flag && is_launcher(word)) {
        rk_job_take_launch_word(job, word);
        return RK_OK;
    }
    if (is_launch(word) && find_taker(rk_job_command(job), RK_WORD_LAUNCH)) {
        return set(job, RK_WORD_LAUNCH, word, err);
    }
    if (!find_taker(rk_job_command(job), RK_WORD_SYSTEM)) {
        return fail_unexpected(job, word, err);
    }
    if (is_filler(word)) {
        return RK_OK;
    }
    if (is_list_of_systems(word)) {
        return set(job, RK_WORD_SYSTEM, word, err);
    }
    status = rk_document_identify(word, &kind, err);
    if (status) {
        const bool further = has_word(job, RK_WORD_MODEL) && has_word(job, RK_WORD_SYSTEM) &&
                             access(word, F_OK) != 0;
        return further ? fail_further(job, word, err) : status;
    }
    switch (kind) {
    case RK_DOCUMENT_MODEL:
    case RK_DOCUMENT_CALCULON_APP:
        return set(job, RK_WORD_MODEL, word, err);
    case RK_DOCUMENT_ACCELERATOR:
    case RK_DOCUMENT_SYSTEM:
    case RK_DOCUMENT_CALCULON_SYS:
        return set(job, RK_WORD_SYSTEM, word, err);
    default:
        return fail_unexpected(job, word, err);
    }
}
