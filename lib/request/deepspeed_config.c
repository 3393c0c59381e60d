/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: docs/_pages/config-json.md, runtime/config.py and runtime/zero/config.py of DeepSpeed
 * (edaa7221).  Members that cost nothing, such as gradient_clipping, are not read.
 */
#include "request/deepspeed_config.h"

#include "base/error.h"
#include "base/named.h"
#include "base/units.h"
#include "io/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Members as paths, and the options that they set. */
static const rk_named_text counts[] = {
    {"train_micro_batch_size_per_gpu", "micro-batch"},
    {"train_batch_size", "global-batch"},
    {"gradient_accumulation_steps", "accumulation"},
    {"zero_optimization.stage", "zero"},
};

static const rk_named_text names[] = {
    {"data_types.grad_accum_dtype", "gradients"},
};

/* Types of optimizers that differ in what they keep; others are refused. */
static const rk_named_text optimizers[] = {
    {"Adam", "adamw"},
    {"AdamW", "adamw"},
    {"FusedAdam", "adamw"},
    {"CPUAdam", "adamw"},
    {"SGD", "sgd"},
    {"Adafactor", "adafactor"},
    {"DeepSpeedCPUAdam", "adamw"},
    {"Muon", "muon"},
};

/* The member at "a.b"; NULL: there is none, or it is left to the trainer by "auto". */
static const json_t *find(const json_t *root, const char *path)
{
    char key[64];
    for (const json_t *at = root; at;) {
        const size_t length = strcspn(path, ".");
        (void)snprintf(key, sizeof(key), "%.*s", (int)length, path);
        at = json_object_get(at, key);
        if (path[length] == '\0') {
            const char *text = json_string_value(at);
            return text && strcmp(text, "auto") == 0 ? NULL : at;
        }
        path += length + 1;
    }
    return NULL;
}

static bool is_true(const json_t *root, const char *path)
{
    return json_is_true(find(root, path));
}

/* Sets an option that is not set yet. */
static rk_status set(rk_job *job, const char *option, const char *value, rk_error *err)
{
    return rk_job_has(job, option) ? RK_OK : rk_job_set(job, option, value, err);
}

static rk_status fail_member(const rk_json_doc *doc, const char *path, const char *wanted,
                             const json_t *found, rk_error *err)
{
    char text[RK_JSON_TEXT_SIZE];
    return rk_fail(err, RK_ERR_INVALID, "%s: %s: expected %s, found %s", doc->name, path, wanted,
                   rk_json_describe(found, text));
}

static rk_status set_counts(rk_job *job, const rk_json_doc *doc, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < COUNT(counts) && !status; i++) {
        const json_t *value = find(doc->root, counts[i].name);
        char number[32];
        if (!value) {
            continue;
        }
        if (!json_is_integer(value)) {
            return fail_member(doc, counts[i].name, "an integer or \"auto\"", value, err);
        }
        (void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(value));
        status = set(job, counts[i].text, number, err);
    }
    return status;
}

static rk_status set_names(rk_job *job, const rk_json_doc *doc, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < COUNT(names) && !status; i++) {
        const json_t *value = find(doc->root, names[i].name);
        if (value && !json_is_null(value)) {
            status = json_is_string(value)
                         ? set(job, names[i].text, json_string_value(value), err)
                         : fail_member(doc, names[i].name, "a string", value, err);
        }
    }
    return status;
}

static rk_status set_precision(rk_job *job, const json_t *root, rk_error *err)
{
    const bool bf16 = is_true(root, "bf16.enabled") || is_true(root, "bfloat16.enabled");
    if (!bf16 && !is_true(root, "fp16.enabled")) {
        return RK_OK;
    }
    return set(job, "precision", bf16 ? "bf16" : "fp16", err);
}

/* Reads where states go: "cpu", "nvme"; NULL: nowhere. */
static rk_status read_place(const rk_json_doc *doc, const char *path, const char *old_path,
                            const char **out, rk_error *err)
{
    const json_t *value = find(doc->root, path);
    const char *device = value && !json_is_null(value) ? json_string_value(value) : "none";
    const bool none = device && strcmp(device, "none") == 0;
    *out = !none ? device : is_true(doc->root, old_path) ? "cpu" : NULL;
    return none || (device && (strcmp(device, "cpu") == 0 || strcmp(device, "nvme") == 0))
               ? RK_OK
               : fail_member(doc, path, "\"cpu\", \"nvme\" or \"none\"", value, err);
}

/* The optimizer steps on the host, where its gradients go, too. */
static rk_status set_offload(rk_job *job, const rk_json_doc *doc, rk_error *err)
{
    const char *optimizer = NULL, *weights = NULL;
    rk_status status = read_place(doc, "zero_optimization.offload_optimizer.device",
                                  "zero_optimization.cpu_offload", &optimizer, err);
    status = status ? status
                    : read_place(doc, "zero_optimization.offload_param.device",
                                 "zero_optimization.cpu_offload_params", &weights, err);
    if (status) {
        return status;
    }
    char list[64];
    (void)snprintf(list, sizeof(list), "%s%s%s%s", optimizer ? "optimizer,gradients," : "",
                   optimizer && strcmp(optimizer, "nvme") == 0 ? "nvme-optimizer," : "",
                   weights ? "weights," : "",
                   weights && strcmp(weights, "nvme") == 0 ? "nvme-weights," : "");
    list[strlen(list) - (list[0] ? 1 : 0)] = '\0';
    const double ratio =
        json_number_value(find(doc->root, "zero_optimization.offload_optimizer.ratio"));
    char share[32];
    (void)snprintf(share, sizeof(share), "%.9g", ratio);
    status = list[0] ? set(job, "offload", list, err) : RK_OK;
    return status || !optimizer || !(ratio > 0) ? status : set(job, "offload-share", share, err);
}

static rk_status set_optimizer(rk_job *job, const rk_json_doc *doc, rk_error *err)
{
    const json_t *type = find(doc->root, "optimizer.type");
    const char *text = json_string_value(type);
    if (!type) {
        return RK_OK;
    }
    for (size_t i = 0; i < COUNT(optimizers); i++) {
        if (text && strcasecmp(text, optimizers[i].name) == 0) {
            return set(job, "optimizer", optimizers[i].text, err);
        }
    }
    return rk_job_has(job, "optimizer")
               ? RK_OK
               : fail_member(doc, "optimizer.type",
                             "Adam, AdamW, SGD, Adafactor or Muon (--optimizer chooses another)",
                             type, err);
}

/* Whether it is DeepSpeed's: it has a member that only its configurations have. */
static bool is_deepspeed(const json_t *root)
{
    return json_object_get(root, "zero_optimization") ||
           json_object_get(root, "train_batch_size") ||
           json_object_get(root, "train_micro_batch_size_per_gpu");
}

rk_status rk_request_take_deepspeed(rk_job *job, const char *path, rk_error *err)
{
    rk_json_doc doc = {0};
    rk_status status = rk_json_load(path, NULL, &doc, err);
    if (!status && !is_deepspeed(doc.root)) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "%s: no configuration of DeepSpeed: it has neither \"zero_optimization\" "
                         "nor \"train_batch_size\"",
                         doc.name);
    }
    if (!status) {
        status = set(job, "framework", "deepspeed", err);
    }
    status = status ? status : set_counts(job, &doc, err);
    status = status ? status : set_names(job, &doc, err);
    status = status ? status : set_precision(job, doc.root, err);
    status = status ? status : set_offload(job, &doc, err);
    status = status ? status : set_optimizer(job, &doc, err);
    rk_json_clear(&doc);
    return status;
}
