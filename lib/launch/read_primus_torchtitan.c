/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Primus on torchtitan: YAML whose overrides are torchtitan's keys, on a base of its own.
 * Source: primus/configs/modules/torchtitan/pre_trainer.yaml of AMD-AGI/Primus at fd1eeabbad15.
 */
#include "base/text.h"
#include "launch/read_torchtitan.h"
#include "launch/reader_kit.h"

#include <string.h>

#define MODULE "modules.pre_trainer."

static int recognise(const rk_launch *launch)
{
    const json_t *root = rk_launch_document_of(launch, "config");
    const json_t *module = json_object_get(json_object_get(root, "modules"), "pre_trainer");
    const char *framework = json_string_value(json_object_get(module, "framework"));
    return framework && strcmp(framework, "torchtitan") == 0 ? 9 : 0;
}

static rk_status prepare(rk_launch *launch, rk_error *err)
{
    (void)err;
    rk_launch_shorten_keys(launch, MODULE "overrides.");
    return RK_OK;
}

/*
 * The model is a file of Primus, "deepseek_v3_16b-fp8.yaml": family, flavor, and "-fp8" where its
 * converters put linear layers into float8, which the launch itself does not say.
 */
static void state_model(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, MODULE "model");
    const char *name = rk_launch_base_name(key && key->value ? key->value : "");
    const size_t length = strcspn(name, "-") < strlen(name) && strstr(name, "-fp8.yaml")
                              ? (size_t)(strstr(name, "-fp8.yaml") - name)
                              : strlen(name) - (rk_ends_with(name, ".yaml") ? 5 : 0);
    const char *stem = rk_launch_keep_part(launch, name, length), *cut = strrchr(stem, '_');
    if (length == 0) {
        return;
    }
    const bool known =
        cut && rk_launch_state_built_model(
                   launch, "torchtitan",
                   rk_launch_format(launch, "%.*s %s", (int)(cut - stem), stem, cut + 1), key);
    if (!known) {
        rk_launch_state(launch, "model.name", stem, RK_FACT_STATED, key);
    }
    if (name[length] == '-') {
        const bool gather =
            rk_launch_is_on(launch, "quantize.linear.float8.enable_fsdp_float8_all_gather", false);
        rk_launch_state(launch, "fp8.format", "e4m3", RK_FACT_DERIVED, key);
        rk_launch_state(launch, "fp8.recipe", "tensorwise", RK_FACT_DERIVED, key);
        rk_launch_state(launch, "fp8.param_gather", gather ? "true" : "false", RK_FACT_DERIVED,
                        rk_launch_find(launch, "quantize.linear.float8."
                                               "enable_fsdp_float8_all_gather"));
    }
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    static const rk_torchtitan_base base = {.recompute = "none", .selective = "2", .compile = true};
    (void)err;
    state_model(launch);
    rk_torchtitan_state(launch, &base);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_primus_torchtitan = {
    .name = "primus-torchtitan",
    .framework = "torchtitan",
    .tables = {"torchtitan-0.2", "primus-torchtitan"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
