/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of ms-swift's Megatron mode: "megatron sft", "megatron pt" and "megatron rlhf".
 * Source: swift/megatron/arguments of modelscope/ms-swift, commit 3602360a.
 */
#include "base/text.h"
#include "base/units.h"
#include "launch/read_megatron.h"
#include "launch/reader_kit.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

/* ---- the program ----------------------------------------------------------------------------- */

/* The task of "megatron sft", or of the module that it runs; NULL: neither is there. */
static const char *find_task(const rk_launch *launch)
{
    static const char *const tasks[] = {"sft", "pt", "rlhf"};
    for (size_t i = 0; i < launch->word_count; i++) {
        const char *word = launch->words[i].text;
        const char *before = i > 0 ? launch->words[i - 1].text : "";
        const bool module = strncmp(word, "swift.cli._megatron.", 20) == 0 ||
                            strstr(word, "swift/cli/_megatron/") != NULL;
        for (size_t j = 0; j < COUNT(tasks); j++) {
            if ((strcmp(before, "megatron") == 0 && strcmp(word, tasks[j]) == 0) ||
                (module && strstr(word, tasks[j]) != NULL)) {
                return tasks[j];
            }
        }
    }
    return NULL;
}

static int recognise(const rk_launch *launch)
{
    return find_task(launch) ? 30 : 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The file of arguments after the task, or after --config; NULL: none. */
static const char *find_file(rk_launch *launch)
{
    const char *named = rk_megatron_value(launch, "config");
    for (size_t i = 1; i < launch->word_count && !named; i++) {
        const char *word = launch->words[i].text, *before = launch->words[i - 1].text;
        if ((rk_ends_with(word, ".yaml") || rk_ends_with(word, ".yml") ||
             rk_ends_with(word, ".json")) &&
            strncmp(before, "--", 2) != 0) {
            named = word;
        }
    }
    return named;
}

static rk_status open_file(rk_launch *launch, rk_error *err)
{
    const char *file = find_file(launch);
    bool found = false;
    const rk_status status = file ? rk_launch_open_named(launch, file, &found, err) : RK_OK;
    if (file && !found && rk_launch_has(launch, "config")) {
        rk_launch_mark(
            launch, "config", RK_KEY_NOT_PRICED,
            rk_launch_format(launch, "%s is not here, so its settings are not counted", file));
    }
    return status;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void state_adapters(rk_launch *launch)
{
    static const char *const names[] = {"tuner_type", "train_type", NULL};
    const rk_launch_key *kind = rk_megatron_find_among(launch, names);
    const rk_launch_key *rank = rk_megatron_find(launch, "lora_rank");
    const rk_launch_key *modules = rk_megatron_find(launch, "target_modules");
    if (!kind || !kind->value || strcmp(kind->value, "lora") != 0) {
        return;
    }
    rk_launch_state(launch, "lora", rank && rank->value ? rank->value : "8", RK_FACT_STATED,
                    rank ? rank : kind);
    rk_megatron_state_adapters(launch, modules);
}

static void state_precision(rk_launch *launch)
{
    const rk_launch_key *key = rk_megatron_find(launch, "torch_dtype");
    if (key && key->value) {
        const char *type = rk_launch_precision_name(key->value);
        rk_launch_state(launch, "precision", type ? type : "bf16", RK_FACT_STATED, key);
    }
}

/* Marks the parts of preference optimisation and reinforcement learning that are not priced. */
static void mark_rlhf(rk_launch *launch, const char *task)
{
    const char *kind = rk_megatron_value(launch, "rlhf_type");
    if (strcmp(task, "rlhf") != 0) {
        return;
    }
    kind = kind ? kind : "dpo";
    const bool samples = strcasecmp(kind, "grpo") == 0 || strcasecmp(kind, "gkd") == 0;
    const char *note = samples ? "generation, reference and reward models are not priced"
                       : strcasecmp(kind, "rm") == 0
                           ? "pairs of a chosen and a rejected answer count as one sequence"
                           : "the forward pass of a reference model is not priced";
    rk_launch_mark(launch, "rlhf_type", RK_KEY_NOT_PRICED, note);
}

static void state_batch(rk_launch *launch)
{
    rk_megatron_assume_count(launch, "micro_batch", 1);
    rk_megatron_assume_count(launch, "global_batch", 16);
    rk_launch_assume_open(launch, "packing", "false");
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_megatron_usual usual = {.core = INT_MAX,
                                     .precision = "bf16",
                                     .recompute = "selective",
                                     .attention = "flash",
                                     .dispatcher = "alltoall",
                                     .loss = "fused native",
                                     .vp = "virtual-pipeline-model-parallel-size",
                                     .distributed = true,
                                     .whole_experts = true,
                                     .grouped = true,
                                     .no_dropout = true,
                                     .names_model = true};
    const char *task = find_task(launch);
    rk_status status = open_file(launch, err);
    if (status) {
        return status;
    }
    state_batch(launch);
    state_adapters(launch);
    state_precision(launch);
    rk_megatron_state_named_model(launch);
    status = rk_megatron_resolve(launch, &usual, err);
    mark_rlhf(launch, task ? task : "sft");
    return status;
}

const rk_launch_reader rk_launch_reader_ms_swift_megatron = {
    .name = "ms-swift-megatron",
    .framework = "megatron",
    .tables = {"ms-swift-megatron"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .resolve = resolve,
};
