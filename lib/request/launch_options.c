/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the facts of a parsed launch to options that the command line leaves open. */
#include "request/launch_options.h"

#include "base/error.h"
#include "base/units.h"
#include "launch/launch.h"
#include "request/launch_words.h"
#include "request/option_values.h"
#include "request/strategy_choices.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct taking {
    rk_job *job;
    rk_request *own; /* a request of its own, which no option overrides; NULL: the job's */
    rk_launch *launch;
    bool search;  /* the command chooses a layout */
    bool machine; /* and the number of accelerators */
} taking;

static const char *fact(const taking *t, const char *field)
{
    return rk_launch_fact_of(t->launch, field);
}

static bool is_fact(const taking *t, const char *field, const char *value)
{
    const char *found = fact(t, field);
    return found && strcasecmp(found, value) == 0;
}

static rk_request *request_of(const taking *t)
{
    return t->own ? t->own : rk_job_arguments(t->job);
}

static bool is_given(const taking *t, const char *option)
{
    return !t->own && rk_job_has(t->job, option);
}

static bool is_any_given(const taking *t, const char *const *options, size_t count)
{
    for (size_t i = 0; i < count && options[i]; i++) {
        if (is_given(t, options[i])) {
            return true;
        }
    }
    return false;
}

static const rk_launch_key *key_of(const taking *t, const char *field)
{
    const rk_launch_fact *found = rk_launch_find_fact(t->launch, field);
    return found ? found->by : NULL;
}

/* ---- setting an option ----------------------------------------------------------------------- */

/* A fact for which there is no such option. */
static rk_status fail_fact(const taking *t, const char *field, const char *value,
                           const char *option, const char *reason, rk_error *err)
{
    const rk_launch_key *key = key_of(t, field);
    char place[112] = "";
    if (key && key->line > 0) {
        (void)snprintf(place, sizeof(place), " (%.60s, line %d)", key->name, key->line);
    } else if (key) {
        (void)snprintf(place, sizeof(place), " (%.60s)", key->name);
    }
    return rk_fail(err, RK_ERR_INVALID, "%s: %s %.100s%s%s%.300s; override it with --%s",
                   t->launch->name, field, value, place, reason ? ": " : " is not priced",
                   reason ? reason : "", option);
}

/* Notes that the strategy field of an option is the framework's default: nobody stated it. */
static void note_default(const taking *t, const char *option, const char *field)
{
    static const char *const fields[][2] = {
        {"tp", "tp"},
        {"pp", "pp"},
        {"cp", "cp"},
        {"ep", "ep"},
        {"etp", "etp"},
        {"vp", "vp"},
        {"zero", "zero"},
        {"hsdp", "hsdp_replicas"},
        {"sequence-parallel", "sp"},
        {"no-sp", "sp"},
        {"micro-batch", "micro_batch"},
        {"recompute", "recompute"},
        {"recompute-modules", "recompute_modules"},
        {"overlap", "overlap"},
        {"offload", "offload"},
        {"attention", "attention"},
        {"precision", "precision"},
        {"optimizer", "optimizer"},
        {"weights", "weight_bytes_per_parameter"},
        {"gradients", "gradient_bytes_per_parameter"},
    };
    const bool stated = rk_launch_origin_of(t->launch, field) > RK_FACT_DEFAULT;
    for (size_t i = 0; i < COUNT(fields) && !stated; i++) {
        if (strcmp(option, fields[i][0]) == 0) {
            rk_request_note_filled(request_of(t), fields[i][1]);
        }
    }
}

static rk_status set_own(rk_request *own, const char *option, const char *value, rk_error *err)
{
    size_t i = 0;
    while (i < RK_STRATEGY_OPTION_COUNT && strcmp(rk_strategy_options[i].name, option) != 0) {
        i++;
    }
    return i == RK_STRATEGY_OPTION_COUNT
               ? rk_fail(err, RK_ERR_INVALID, "there is no option --%s", option)
               : rk_option_read(&rk_strategy_options[i], value, own, err);
}

/* The option's word for a value of a fact; what it does not count is said of the key. */
static const char *word_of(const taking *t, const char *field, const char *value)
{
    const rk_launch_key *by = key_of(t, field);
    const char *note;
    const char *word = rk_launch_word_of(field, value, &note);
    if (note && by) {
        rk_launch_key *key = &t->launch->keys[by - t->launch->keys];
        key->use = RK_KEY_NOT_PRICED;
        key->note = note;
    }
    return word;
}

/* Sets an option that nobody gave, from the value of a fact. */
static rk_status set(const taking *t, const char *option, const char *value, const char *field,
                     rk_error *err)
{
    rk_error reason;
    if (!value || is_given(t, option)) {
        return RK_OK;
    }
    value = word_of(t, field, value);
    const rk_status status = t->own ? set_own(t->own, option, value, &reason)
                                    : rk_job_set_implied(t->job, option, value, &reason);
    if (!status) {
        note_default(t, option, field);
    }
    return !status                    ? RK_OK
           : status == RK_ERR_INVALID ? fail_fact(t, field, value, option, reason.message, err)
                                      : rk_fail(err, status, "%s", reason.message);
}

static rk_status set_count(const taking *t, const char *option, int64_t value, const char *field,
                           rk_error *err)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    return value > 0 ? set(t, option, text, field, err) : RK_OK;
}

/* Sets a switch where a fact says true. */
static rk_status set_switch(const taking *t, const char *option, const char *field, rk_error *err)
{
    return rk_launch_holds(t->launch, field) ? set(t, option, "true", field, err) : RK_OK;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* Options of the number of accelerators, or of a search for it. */
static const char *const machine_counts[] = {"accelerators", "nodes",  "gpus-per-node",
                                             "deadline",     "budget", "max-power"};

static rk_status set_machine(const taking *t, rk_error *err)
{
    rk_status status = set(t, "system", fact(t, "system"), "system", err);
    if (t->machine || is_any_given(t, machine_counts, COUNT(machine_counts))) {
        return status; /* the number is given, or searched */
    }
    const int64_t nodes = rk_launch_count_of(t->launch, "nodes");
    const int64_t node = rk_launch_count_of(t->launch, "gpus_per_node");
    const int64_t all = rk_launch_count_of(t->launch, "processes");
    const bool whole = nodes > 0 && node > 0;
    status = status ? status : set_count(t, "gpus-per-node", node, "gpus_per_node", err);
    if (!status && whole) {
        return set_count(t, "nodes", nodes, "nodes", err);
    }
    return status ? status : set_count(t, "accelerators", all, "processes", err);
}

/* Refuses a machine that neither the launch nor the person says in full. */
static rk_status check_machine(const taking *t, rk_error *err)
{
    const char *command = rk_command_name(rk_job_command(t->job));
    const rk_request *request = rk_job_arguments(t->job);
    if (!request->system) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s does not say which machine it is for; name it, as in 'reckon %s --from "
                       "%s 64xh100'",
                       t->launch->name, command, t->launch->name);
    }
    if (!t->machine && !is_any_given(t, machine_counts, COUNT(machine_counts)) && !request->dp) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s does not say how many accelerators it runs on; give the number, as in "
                       "'reckon %s --from %s 64x%s'",
                       t->launch->name, command, t->launch->name, request->system);
    }
    return RK_OK;
}

/* ---- batch ----------------------------------------------------------------------------------- */

enum { TRIES_MAX = 1 << 16 }; /* of sizes of a micro-batch */

/*
 * Whole sequences; where a rank has a number of tokens, as many as that holds, at least one.  The
 * framework balances its micro-batches, so the number divides the sequences of a rank.
 */
static rk_status set_micro_batch(const taking *t, rk_error *err)
{
    const int64_t tokens = rk_launch_count_of(t->launch, "max_tokens_per_gpu");
    const int64_t seq = rk_launch_count_of(t->launch, "seq"),
                  cp = rk_launch_count_of(t->launch, "cp");
    if (fact(t, "micro_batch") || tokens <= 0 || tokens > INT32_MAX || seq <= 0 || cp > INT32_MAX) {
        return set(t, "micro-batch", fact(t, "micro_batch"), "micro_batch", err);
    }
    const int64_t dp = rk_launch_count_of(t->launch, "dp");
    const int64_t share = rk_launch_count_of(t->launch, "global_batch") / (dp > 0 ? dp : 1);
    int64_t whole = tokens * (cp > 0 ? cp : 1) / seq;
    whole = share > 0 && whole > share ? share : whole;
    whole = whole > TRIES_MAX ? TRIES_MAX : whole;
    while (share > 0 && whole > 1 && share % whole != 0) {
        whole--;
    }
    return set_count(t, "micro-batch", whole > 0 ? whole : 1, "max_tokens_per_gpu", err);
}

static rk_status set_batch(const taking *t, rk_error *err)
{
    const bool given = is_given(t, "global-batch") || is_given(t, "accumulation");
    const int64_t global = rk_launch_count_of(t->launch, "global_batch");
    const bool own = rk_launch_origin_of(t->launch, "global_batch") != RK_FACT_DERIVED;
    const bool steps = rk_launch_count_of(t->launch, "accumulation") > 0 && !t->search;
    rk_status status = set(t, "seq", fact(t, "seq"), "seq", err);
    if (!status && !t->search) {
        status = set_micro_batch(t, err);
    }
    if (status || given) {
        return status;
    }
    return global > 0 && (own || !steps) ? set_count(t, "global-batch", global, "global_batch", err)
           : steps ? set(t, "accumulation", fact(t, "accumulation"), "accumulation", err)
                   : RK_OK;
}

/* The framework that the launch chooses, or its reader's; NULL: neither. */
static const char *framework_of(const taking *t)
{
    const char *chosen = fact(t, "framework");
    return chosen ? chosen : t->launch->reader->framework;
}

static bool runs(const taking *t, const char *name)
{
    const char *framework = framework_of(t);
    return framework && strcmp(framework, name) == 0;
}

/* ---- precision and states -------------------------------------------------------------------- */

static rk_status set_precision(const taking *t, rk_error *err)
{
    const char *recipe = fact(t, "fp8.recipe"), *fp4 = fact(t, "fp4.recipe");
    const bool fp8 = fact(t, "fp8.format") && !is_fact(t, "fp8.format", "none");
    const bool mx = fp8 && recipe && strcasecmp(recipe, "mxfp8") == 0;
    if (is_given(t, "precision")) {
        return RK_OK;
    }
    if (fp4 && strcasecmp(fp4, "none") != 0) {
        return set(t, "precision", strcasecmp(fp4, "nvfp4") == 0 ? "nvfp4" : "fp4", "fp4.recipe",
                   err);
    }
    if (!fp8) {
        return set(t, "precision", fact(t, "precision"), "precision", err);
    }
    rk_status status = set(t, "precision", mx ? "mxfp8" : "fp8", "fp8.format", err);
    if (!status && recipe && !mx) {
        status = set(t, "fp8-recipe", recipe, "fp8.recipe", err);
    }
    return status ? status : set_switch(t, "fp8-param-gather", "fp8.param_gather", err);
}

static rk_status set_moments(const taking *t, rk_error *err)
{
    const rk_request *request = rk_job_arguments(t->job);
    const char *first = fact(t, "states.exp_avg"), *second = fact(t, "states.exp_avg_sq");
    const bool same = first && second && strcmp(first, second) == 0;
    if (rk_request_optimizer(request) != RK_OPTIMIZER_ADAMW || !same ||
        is_fact(t, "states.exp_avg", "fp32")) {
        return RK_OK;
    }
    return set(t, "moments", first, "states.exp_avg", err);
}

/* Weights, gradients and moments of full training in bf16, without a copy in fp32. */
static bool is_pure(const taking *t)
{
    const char *type = fact(t, fact(t, "weights") ? "weights" : "weights_loaded_as");
    return type && rk_launch_count_of(t->launch, "lora") == 0 &&
           (strcmp(type, "bf16") == 0 || strcmp(type, "bfloat16") == 0);
}

/* FSDP of Hugging Face reduces in the type of compute, not in the type of its gradients. */
static bool reduces_low(const taking *t)
{
    return runs(t, "huggingface") && rk_launch_count_of(t->launch, "zero") > 0;
}

static rk_status set_states(const taking *t, rk_error *err)
{
    /* sums in fp16 are as wide as those in bf16 */
    const char *gradients = is_fact(t, "gradients", "fp16") ? "bf16" : fact(t, "gradients");
    rk_status status = is_pure(t) ? set(t, "weights", "bf16", "weights", err) : RK_OK;
    if (!status && is_fact(t, "weights", "fp32") &&
        (runs(t, "any") || (runs(t, "huggingface") && rk_launch_count_of(t->launch, "lora") > 0))) {
        status = set(t, "weights", "fp32", "weights", err);
    }
    if (!status && !reduces_low(t)) {
        status = set(t, "gradients", gradients, "gradients", err);
    }
    status = status ? status : set(t, "optimizer", fact(t, "optimizer"), "optimizer", err);
    status = status || !runs(t, "huggingface")
                 ? status
                 : set(t, "optimizer-impl", fact(t, "optimizer_impl"), "optimizer_impl", err);
    return status ? status : set_moments(t, err);
}

/* Adapters, which belong to the model as much as to the strategy. */
static rk_status set_adapters(const taking *t, rk_error *err)
{
    char list[RK_LAUNCH_LIST_SIZE];
    const char *modules = fact(t, "lora_modules");
    const int64_t rank = rk_launch_count_of(t->launch, "lora");
    if (rank <= 0) {
        return RK_OK;
    }
    rk_status status = set_count(t, "lora-rank", rank, "lora", err);
    if (!status && modules) {
        status = set(t, "lora-modules", rk_launch_list_of(modules, list), "lora_modules", err);
    }
    if (!status && rk_launch_holds(t->launch, "base_8bit")) {
        status = set(t, "frozen-weights", "int8", "base_8bit", err);
    }
    const char *stored = fact(t, "base_quantised");
    if (!status && stored && strstr(stored, "4 bits")) {
        status = set(t, "frozen-weights", "int4", "base_quantised", err);
    }
    if (rk_launch_holds(t->launch, "qlora") && is_fact(t, "nested_quant", "false")) {
        return status ? status : set(t, "frozen-weights", "nf4_plain", "nested_quant", err);
    }
    return status ? status : set_switch(t, "qlora", "qlora", err);
}

/* ---- layout ---------------------------------------------------------------------------------- */

/*
 * Facts that are options as they are, where the degree of `needs` is above 1 (NULL: always) and
 * none of the options `unless` is given.
 */
static const struct {
    const char *field, *option, *needs;
    const char *unless[3];
} same[] = {
    {"tp", "tp", NULL, {NULL}},
    {"pp", "pp", NULL, {NULL}},
    {"cp", "cp", NULL, {NULL}},
    {"ep", "ep", NULL, {NULL}},
    {"etp", "etp", NULL, {NULL}},
    {"zero", "zero", NULL, {"fsdp", "use-distributed-optimizer"}},
    {"vp", "vp", "pp", {"vp-layers"}},
    {"cp_kind", "cp-kind", "cp", {NULL}},
    {"schedule", "schedule", "pp", {NULL}},
    {"layout", "layout", "pp", {"pp", "vp", "vp-layers"}},
    {"first_stage_layers", "first-stage-layers", "pp", {"pp", "layout"}},
    {"last_stage_layers", "last-stage-layers", "pp", {"pp", "layout"}},
    {"count_embedding", "count-embedding", "pp", {"layout"}},
    {"count_head", "count-head", "pp", {"layout"}},
    {"order", "order", "pp", {"use-tp-pp-dp-mapping"}},
    {"expandable_segments", "expandable-segments", NULL, {NULL}},
    {"mtp_before_head", "mtp-before-head", "pp", {"layout"}},
};

/* Of Megatron core: an expert is split as the model is, where nothing else is said. */
static bool splits_experts(const taking *t)
{
    return !framework_of(t) || runs(t, "megatron") || runs(t, "mindspeed") || runs(t, "primus");
}

/* Whether a degree of the request, the launch's or the person's, is above 1. */
static bool is_split(const taking *t, const char *degree)
{
    const rk_request *r = request_of(t);
    const rk_option_counts *counts = strcmp(degree, "pp") == 0   ? &r->pp
                                     : strcmp(degree, "cp") == 0 ? &r->cp
                                                                 : &r->tp;
    return counts->count > 1 || (counts->count == 1 && counts->values[0] > 1);
}

static rk_status set_degrees(const taking *t, rk_error *err)
{
    bool replaced[COUNT(same)]; /* by options of the person, before the launch's own are set */
    rk_status status = RK_OK;
    for (size_t i = 0; i < COUNT(same); i++) {
        replaced[i] = is_any_given(t, same[i].unless, COUNT(same[i].unless));
    }
    for (size_t i = 0; i < COUNT(same) && !status; i++) {
        const char *value = fact(t, same[i].field);
        if (strcmp(same[i].field, "ep") == 0 && fact(t, "ep_effective")) {
            value = fact(t, "ep_effective"); /* tensor-parallel ranks share the experts, too */
        }
        const bool off = value && strcmp(value, "false") == 0;
        if (value && !off && !replaced[i] && (!same[i].needs || is_split(t, same[i].needs))) {
            status = set(t, same[i].option, value, same[i].field, err);
        }
    }
    if (!status && !fact(t, "etp") && !splits_experts(t)) {
        status = set(t, "etp", "1", "etp", err);
    }
    if (!status && rk_launch_count_of(t->launch, "hsdp") > 1) {
        status = set(t, "hsdp", fact(t, "hsdp"), "hsdp", err);
    }
    if (status || !fact(t, "sp") || is_given(t, "sequence-parallel") || is_given(t, "no-sp")) {
        return status;
    }
    const bool sequence = rk_launch_holds(t->launch, "sp") && is_split(t, "tp");
    return set(t, sequence ? "sequence-parallel" : "no-sp", "true", "sp", err);
}

/* ---- activations, overlap, kernels ----------------------------------------------------------- */

/* "2" of torchtitan's selective recomputation: every second layer in full. */
static rk_status set_every_layer(const taking *t, int64_t every, rk_error *err)
{
    const int64_t layers = rk_launch_count_of(t->launch, "model.layers");
    const int64_t pp = rk_launch_count_of(t->launch, "pp");
    const int64_t vp = rk_launch_count_of(t->launch, "vp");
    const int64_t halves = is_fact(t, "schedule", "zb-v") ? 2 : 1; /* chunks of a V */
    const int64_t stage = layers / (halves * (pp > 0 ? pp : 1) * (vp > 0 ? vp : 1));
    const rk_status status = set(t, "recompute", "full", "recompute.granularity", err);
    return status || every == 1
               ? status
               : set_count(t, "recompute-layers", stage / every > 0 ? stage / every : 1,
                           "recompute.option", err);
}

/* Modules as --recompute-modules has them: attention as a whole is two modules. */
static const char *modules_of(const char *value, char out[RK_LAUNCH_LIST_SIZE])
{
    char list[2 * RK_LAUNCH_LIST_SIZE];
    (void)snprintf(list, sizeof(list), "%s%s", value,
                   strstr(value, "attention") ? ",core_attn,attn_proj" : "");
    return rk_launch_choose(list, rk_module_choices, out);
}

/* Adds modules that switches of their own recompute to the chosen ones. */
static const char *add_extra(const taking *t, const char *chosen, char out[RK_LAUNCH_LIST_SIZE])
{
    static const char *const switches[][2] = {
        {"recompute-activation-function", "act"}, {"recompute-norm", "norm"},
        {"recompute-mla-up-proj", "mla_up"},      {"mla-zero-memory", "mla_up"},
        {"moe-layer-recompute", "moe"},
    };
    const char *extra = fact(t, "recompute_extra");
    (void)snprintf(out, RK_LAUNCH_LIST_SIZE, "%.*s", RK_LAUNCH_LIST_SIZE / 2, chosen);
    for (size_t i = 0; extra && i < COUNT(switches); i++) {
        const size_t used = strlen(out);
        if (strstr(extra, switches[i][0])) {
            (void)snprintf(out + used, RK_LAUNCH_LIST_SIZE - used, "%s%s", used ? "," : "",
                           switches[i][1]);
        }
    }
    return out;
}

static rk_status set_selective(const taking *t, rk_error *err)
{
    char list[RK_LAUNCH_LIST_SIZE];
    const char *option = fact(t, "recompute.option"), *modules = fact(t, "recompute.modules");
    const int64_t every = rk_launch_count_of(t->launch, "recompute.option");
    if (every > 0) {
        return set_every_layer(t, every, err);
    }
    const rk_status status = set(t, "recompute", "selective", "recompute.granularity", err);
    char all[RK_LAUNCH_LIST_SIZE];
    const char *chosen = modules ? modules_of(modules, list) : option ? "operators" : "";
    chosen = add_extra(t, chosen, all);
    return status || !chosen[0] ? status
                                : set(t, "recompute-modules", chosen, "recompute.modules", err);
}

static rk_status set_recompute(const taking *t, rk_error *err)
{
    static const char *const options[] = {"recompute", "recompute-modules", "recompute-layers"};
    if (is_any_given(t, options, COUNT(options)) || !fact(t, "recompute.granularity")) {
        return RK_OK;
    }
    const char *option = fact(t, "recompute.option");
    if (is_fact(t, "recompute.granularity", "policy")) {
        return fact(t, "recompute.modules")
                   ? set_selective(t, err)
                   : set(t, "recompute", "full", "recompute.granularity", err);
    }
    if (is_fact(t, "recompute.granularity", "budget")) {
        return option && strcmp(option, "per operator") == 0
                   ? set_selective(t, err)
                   : set(t, "recompute", option ? option : "full", "recompute.granularity", err);
    }
    char extra[RK_LAUNCH_LIST_SIZE];
    const bool none = is_fact(t, "recompute.granularity", "none");
    if (is_fact(t, "recompute.granularity", "selective") || (none && *add_extra(t, "", extra))) {
        return set_selective(t, err);
    }
    rk_status status =
        set(t, "recompute", fact(t, "recompute.granularity"), "recompute.granularity", err);
    if (!status && is_fact(t, "recompute.granularity", "full") &&
        is_fact(t, "recompute.method", "block")) {
        status = set(t, "recompute-layers", fact(t, "recompute.layers"), "recompute.layers", err);
    }
    return status;
}

/* Sets the names of a list that an option knows; "none" if it knows no name. */
static rk_status set_list(const taking *t, const char *field, const char *const *names,
                          rk_error *err)
{
    char list[RK_LAUNCH_LIST_SIZE];
    const char *value = fact(t, field);
    if (!value) {
        return RK_OK;
    }
    (void)rk_launch_choose(value, names, list);
    return set(t, field, list[0] ? list : "none", field, err);
}

/*
 * What goes to the host, and of that to disks.  PyTorch's FSDP and DeepSpeed step an offloaded
 * optimizer there, and send its gradients; states of bitsandbytes that are paged come back for it.
 */
static rk_status set_offload(const taking *t, rk_error *err)
{
    static const char *const disks[] = {"optimizer", "weights", NULL};
    char host[RK_LAUNCH_LIST_SIZE], on_disk[RK_LAUNCH_LIST_SIZE], list[2 * RK_LAUNCH_LIST_SIZE];
    const char *value = fact(t, "offload"), *nvme = fact(t, "nvme"), *kind = fact(t, "optimizer");
    if (!value) {
        return RK_OK;
    }
    (void)rk_launch_choose(value, rk_offload_choices, host);
    (void)rk_launch_choose(nvme ? nvme : "", disks, on_disk);
    const bool steps = (runs(t, "deepspeed") || runs(t, "huggingface") || runs(t, "torchtitan")) &&
                       !(kind && strstr(kind, "paged"));
    const bool sends = steps && strstr(host, "optimizer") && !strstr(host, "gradients");
    (void)snprintf(list, sizeof(list), "%s%s%s%s", host[0] ? host : "none",
                   sends ? ",gradients" : "", strstr(on_disk, "optimizer") ? ",nvme-optimizer" : "",
                   strstr(on_disk, "weights") ? ",nvme-weights" : "");
    static const char before[] = "optimizer fraction ";
    const char *fraction = strstr(value, before);
    const rk_status status = set(t, "offload", list, "offload", err);
    if (status || !fraction) {
        return status;
    }
    fraction += strlen(before);
    (void)snprintf(list, sizeof(list), "%.*s", (int)strcspn(fraction, "+"), fraction);
    return set(t, "offload-share", list, "offload", err);
}

/* A kernel that has a name here; for any other the stack's rates are used. */
static rk_status set_attention(const taking *t, rk_error *err)
{
    const char *value = fact(t, "attention");
    bool known = false;
    for (size_t i = 0; value && rk_attention_choices[i]; i++) {
        known = known || strcmp(rk_attention_choices[i], value) == 0;
    }
    for (size_t i = 0; value && rk_attention_synonyms[i].name; i++) {
        known = known || strcmp(rk_attention_synonyms[i].name, value) == 0;
    }
    return known ? set(t, "attention", value, "attention", err) : RK_OK;
}

/* Whether a compiler is on in a framework that is usually eager. */
static bool compiles(const taking *t)
{
    return (runs(t, "huggingface") || runs(t, "deepspeed")) &&
           rk_launch_compiles(fact(t, "compile"));
}

/*
 * Losses of PyTorch's family; Megatron core's, on shards of the vocabulary, and compiled ones are
 * the stack's.
 */
static rk_status set_loss(const taking *t, rk_error *err)
{
    static const char *const losses[][2] = {{"full logits", "full"},
                                            {"chunked", "chunked"},
                                            {"fused (cut", "fused"},
                                            {"fused (liger", "fused"}};
    const char *value = fact(t, "loss"), *compiled = fact(t, "compile");
    const bool apart = runs(t, "torchtitan") && compiled && strstr(compiled, "loss");
    for (size_t i = apart || compiles(t) ? 1 : 0; value && i < COUNT(losses); i++) {
        if (strncmp(value, losses[i][0], strlen(losses[i][0])) == 0) {
            return set(t, "cross-entropy", losses[i][1], "loss", err);
        }
    }
    return RK_OK;
}

/* Graphs of the step, or of the layers and what these hold. */
static rk_status set_graphs(const taking *t, rk_error *err)
{
    const char *graphs = fact(t, "graphs"), *modules = fact(t, "graph_modules");
    if (!graphs || strcmp(graphs, "none") == 0 || strcmp(graphs, "false") == 0) {
        return RK_OK;
    }
    if (strcmp(graphs, "full_iteration") == 0) {
        return set(t, "graph-step", "true", "graphs", err);
    }
    char list[RK_LAUNCH_LIST_SIZE];
    const rk_status status = set(t, "graph-capture", "true", "graphs", err);
    const char *chosen = modules ? rk_launch_choose(modules, rk_graph_choices, list) : "";
    return status || !*chosen ? status : set(t, "graph-modules", chosen, "graph_modules", err);
}

static rk_status set_strategy(const taking *t, rk_error *err)
{
    rk_status status = set_degrees(t, err);
    status = status ? status : set_recompute(t, err);
    status = status ? status : set_list(t, "overlap", rk_overlap_choices, err);
    status = status ? status : set_attention(t, err);
    status = status ? status : set_offload(t, err);
    status = status ? status : set_loss(t, err);
    if (!status) {
        status = set_switch(t, "optimizer-in-backward", "optimizer_in_backward", err);
    }
    return status ? status : set_graphs(t, err);
}

/*
 * The training software whose rates hold; NULL: the framework's usual one.  The stacks of
 * torchtitan and MaxText are compiled; those of the other PyTorch frameworks are eager, and
 * torchtitan's applies if a compiler is on.
 */
static const char *stack_of(const taking *t)
{
    const char *stack = fact(t, "stack");
    return !stack && compiles(t) ? "torchtitan" : stack;
}

static rk_status set_kernels(const taking *t, rk_error *err)
{
    const rk_request *request = rk_job_arguments(t->job);
    const char *framework = framework_of(t), *stack = stack_of(t);
    const bool own = is_given(t, "stack") && (!stack || strcmp(stack, request->stack) != 0);
    const char *text = rk_launch_settings_text(t->launch, framework,
                                               own     ? NULL
                                               : stack ? stack
                                                       : framework,
                                               request->settings);
    return text ? rk_job_set_implied(t->job, "set", text, err) : RK_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

static rk_status set_model(const taking *t, rk_error *err)
{
    const rk_request *request = rk_job_arguments(t->job);
    const char *name = fact(t, "model.name");
    const int64_t seq = request->seq ? request->seq : rk_launch_count_of(t->launch, "seq");
    if (is_given(t, "model")) {
        return rk_launch_check_model_name(t->launch, request->model, err);
    }
    const char *text = fact(t, "model.document");
    if (!text && name) {
        bool known = false;
        const rk_status status = rk_launch_knows_model(t->launch, name, &known, err);
        if (status) {
            return status;
        }
        text = known ? name : NULL;
    }
    text = text ? text : rk_launch_model_text(t->launch, seq);
    if (t->launch->out_of_memory) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the launch %s", t->launch->name);
    }
    if (!text) {
        return rk_launch_fail_model(t->launch, name, err);
    }
    const rk_status status = rk_job_set_implied(t->job, "model", text, err);
    return status ? status : rk_launch_check_model_name(t->launch, request->model, err);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static rk_status set_stack(const taking *t, rk_error *err)
{
    return set(t, "stack", stack_of(t), fact(t, "stack") ? "stack" : "compile", err);
}

/*
 * Completes a second request with the layout of the launch itself, which no option changes, in
 * addition to the one that is searched.  A layout that is refused is left out.
 */
static rk_status take_launched(const taking *search, rk_error *err)
{
    rk_request *request = rk_job_arguments(search->job);
    rk_request *own = malloc(sizeof(*own));
    rk_error refusal;
    if (!own || !rk_job_keep(search->job, own, free)) {
        free(own);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the launch %s",
                       search->launch->name);
    }
    const taking t = {.job = search->job, .own = own, .launch = search->launch};
    *own = rk_request_open(request);
    own->line.open = own->fsdp = own->graph_capture = own->graph_step = false;
    own->graph_modules = 0;
    own->overlaps = own->offloads = 0;
    own->vp_layers = 0;
    own->layout_text = NULL;
    own->emit = RK_NOT_GIVEN;
    rk_status status = set_micro_batch(&t, &refusal);
    status = status ? status : set_strategy(&t, &refusal);
    status = status ? status : rk_request_complete(own, &refusal);
    request->launched = status ? NULL : own;
    return status == RK_ERR_MEMORY ? rk_fail(err, status, "%s", refusal.message) : RK_OK;
}

static void clear_launch(void *launch)
{
    rk_launch_clear(launch);
    free(launch);
}

/* States the text of a launch that is all of it, so that the question can be asked again. */
static rk_status state_text(rk_job *job, const rk_launch *launch, rk_error *err)
{
    return launch->text && !launch->opens_files && !launch->arguments[0]
               ? rk_job_state_text(job, "from", launch->text, err)
               : RK_OK;
}

rk_status rk_request_take_launch(rk_job *job, const char *path, rk_error *err)
{
    rk_request *request = rk_job_arguments(job);
    rk_launch *launch = calloc(1, sizeof(*launch));
    if (!launch || !rk_job_keep(job, launch, clear_launch)) {
        free(launch);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the launch %s", path);
    }
    const bool design = strcmp(rk_command_name(rk_job_command(job)), "design") == 0;
    const taking t = {job, NULL, launch, request->line.open || design, design};
    rk_status status = rk_launch_load(path, launch, err);
    if (!status && request->reader) {
        status = rk_launch_name_reader(launch, request->reader, NULL, err);
    }
    status = status ? status : rk_launch_resolve(launch, err);
    status = status || !request->line.pasted ? status : rk_request_take_own(job, launch, err);
    status = status ? status : set(&t, "framework", framework_of(&t), "framework", err);
    status = status ? status : set_stack(&t, err);
    status = status ? status : set_model(&t, err);
    status = status ? status : set_machine(&t, err);
    status = status ? status : check_machine(&t, err);
    status = status ? status : set_batch(&t, err);
    status = status ? status : set_precision(&t, err);
    status = status ? status : set_states(&t, err);
    status = status ? status : set_adapters(&t, err);
    status = status ? status : set_kernels(&t, err);
    if (!status && !t.search) {
        status = set_strategy(&t, err);
    }
    status = status ? status : state_text(job, launch, err);
    request->launch = launch;
    request->line.file = true;
    return status || !t.search || design ? status : take_launched(&t, err);
}
