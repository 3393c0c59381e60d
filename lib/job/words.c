/* SPDX-License-Identifier: Apache-2.0 */
/* Words without an option's name: `reckon plan llama3-70b 64xh100`. */
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "io/document.h"
#include "io/json.h"
#include "job/job.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

static rk_status fail_unexpected(const rk_job *job, const char *word, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE];
    const char *name = rk_command_name(rk_job_command(job));
    return rk_fail(err, RK_ERR_INVALID, "unexpected argument '%s'; 'reckon %s --help' says more",
                   rk_json_printable(word, shown, sizeof(shown)), name);
}

static rk_status set(rk_job *job, rk_word what, const char *word, rk_error *err)
{
    const rk_option *option = find_taker(rk_job_command(job), what);
    return option ? rk_job_set(job, option->name, word, err) : fail_unexpected(job, word, err);
}

/* Vendors' nodes are counted as nodes: "2xdgx-h100" is 16 accelerators. A pod is not a node. */
static bool is_node(const char *system)
{
    const bool made = strncasecmp(system, "dgx", 3) == 0 || strncasecmp(system, "hgx", 3) == 0;
    return made && !strstr(system, "pod");
}

/* "64xh100": a number of accelerators or nodes, and the system. */
static rk_status set_machine(rk_job *job, const char *word, size_t digits, rk_error *err)
{
    char count[RK_OPTION_WORD_SIZE];
    const char *system = word + digits + 1;
    const bool nodes = is_node(system) && find_taker(rk_job_command(job), RK_WORD_NODES);
    if (digits >= sizeof(count)) {
        return fail_unexpected(job, word, err);
    }
    if (is_node(system) && !nodes) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s counts nodes, and 'reckon %s' takes accelerators: give their number and "
                       "the system as two words",
                       word, rk_command_name(rk_job_command(job)));
    }
    memcpy(count, word, digits);
    count[digits] = '\0';
    const rk_status status = set(job, nodes ? RK_WORD_NODES : RK_WORD_COUNT, count, err);
    return status ? status : set(job, RK_WORD_SYSTEM, system, err);
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

rk_status rk_job_set_word(rk_job *job, const char *word, rk_error *err)
{
    const size_t digits = strspn(word, "0123456789");
    rk_document_kind kind;
    if (digits > 0 && word[digits] == '\0') {
        return set(job, RK_WORD_COUNT, word, err);
    }
    if (digits > 0 && (word[digits] == 'x' || word[digits] == 'X') && word[digits + 1]) {
        return set_machine(job, word, digits, err);
    }
    if (rk_job_command(job)->take_launch_flag && is_launcher(word)) {
        if (rk_job_command(job)->note_launch_word) {
            rk_job_command(job)->note_launch_word(rk_job_arguments(job), word);
        }
        return RK_OK;
    }
    if (!find_taker(rk_job_command(job), RK_WORD_SYSTEM)) {
        return fail_unexpected(job, word, err);
    }
    const rk_status status = rk_document_identify(word, &kind, err);
    if (status) {
        return status;
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
