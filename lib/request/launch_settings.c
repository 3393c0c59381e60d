/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that a launch names, as facts of --set. */
#include "base/named.h"
#include "base/units.h"
#include "launch/launch.h"
#include "request/launch_options.h"
#include "request/launch_words.h"

#include <string.h>

/* Whether --set already says a fact. */
static bool says(const char *settings, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = settings; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return true;
        }
    }
    return false;
}

/* Deduplicating kernels by their names; any other dispatcher sends a token to each expert. */
static const char *dispatcher_of(const rk_launch *launch)
{
    const char *name = rk_launch_fact_of(launch, "dispatcher");
    return !name || rk_launch_count_of(launch, "ep") <= 1        ? NULL
           : strstr(name, "hybridep")                            ? "hybridep"
           : strstr(name, "deepep") || strcmp(name, "flex") == 0 ? "deepep"
                                                                 : "alltoall";
}

/* Megatron's loss on shards of the vocabulary; others are --cross-entropy. */
static const char *loss_of(const rk_launch *launch)
{
    const char *name = rk_launch_fact_of(launch, "loss");
    return !name                          ? NULL
           : strcmp(name, "unfused") == 0 ? "none"
           : strcmp(name, "fused") == 0 || strcmp(name, "fused native") == 0 ||
                   strcmp(name, "fused te") == 0
               ? "fused"
               : NULL;
}

static const char *dropout_of(const rk_launch *launch)
{
    const char *name = rk_launch_fact_of(launch, "dropout");
    return !name || strcmp(name, "none") == 0 ? NULL : "true";
}

/* Whether the layers of torchtitan's stack, which is compiled, are not. */
static const char *compile_of(const rk_launch *launch, const char *stack)
{
    const char *parts = rk_launch_fact_of(launch, "compile");
    const bool off = parts && !rk_launch_compiles(parts);
    return off && stack && strcmp(stack, "torchtitan") == 0 ? "false" : NULL;
}

static const char *scan_of(const rk_launch *launch, const char *stack)
{
    const char *scan = rk_launch_fact_of(launch, "scan_layers");
    return !scan || !stack || strcmp(stack, "maxtext") != 0 ? NULL
           : strcmp(scan, "true") == 0                      ? "true"
                                                            : "false";
}

/*
 * Whether compiled layers of transformers have torchtitan's stack, but their own trainer:
 * torch.autocast leaves hidden states in fp32 beside weights in fp32, and the loss is compiled with
 * the model, where it keeps logarithms of the softmax and one gradient, in fp32.
 */
static bool compiles_transformers(const char *framework, const char *stack)
{
    return framework && strcmp(framework, "huggingface") == 0 && stack &&
           strcmp(stack, "torchtitan") == 0;
}

const char *rk_launch_settings_text(rk_launch *launch, const char *framework, const char *stack,
                                    const char *said)
{
    const bool megatron =
        !framework || strcmp(framework, "megatron") == 0 || strcmp(framework, "primus") == 0;
    const bool core = megatron || strcmp(framework, "mindspeed") == 0;
    const bool experts = rk_launch_count_of(launch, "model.experts") > 0;
    const rk_named_text settings[] = {
        {"dispatcher", core ? dispatcher_of(launch) : NULL},
        {"permute_fusion", core && experts ? rk_launch_fact_of(launch, "permute_fusion") : NULL},
        {"loss_fusion", megatron ? loss_of(launch) : NULL},
        {"dropout", dropout_of(launch)},
        {"adapter_dropout", rk_launch_fact_of(launch, "adapter_dropout")},
        {"tiled_mlp", rk_launch_fact_of(launch, "tiled_mlp")},
        {"compile", compile_of(launch, stack)},
        {"scan_layers", scan_of(launch, stack)},
        {"memory.autocasts", compiles_transformers(framework, stack) ? "true" : NULL},
        {"memory.logit_bytes", compiles_transformers(framework, stack) ? "8" : NULL},
    };
    const char *text = "";
    for (size_t i = 0; i < COUNT(settings); i++) {
        if (settings[i].text && !says(said, settings[i].name)) {
            text = rk_launch_format(launch, "%s%s%s=%s", text, *text ? "," : "", settings[i].name,
                                    settings[i].text);
        }
    }
    return *text ? text : NULL;
}
