/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of Megatron-LM as facts.  Source: megatron/training/arguments.py and its configuration
 * classes, commit d98e8a64 of NVIDIA/Megatron-LM, and the same at the tags of its releases.
 */
#include "launch/read_megatron.h"

#include "base/named.h"
#include "base/units.h"
#include "launch/pipeline_layout.h"
#include "launch/reader_kit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ------------------------------------------------------------------------------------ */

const rk_launch_key *rk_megatron_find(rk_launch *launch, const char *name)
{
    char spelled[96];
    const rk_launch_key *key = rk_launch_find(launch, name);
    if (key || (size_t)snprintf(spelled, sizeof(spelled), "%s", name) >= sizeof(spelled)) {
        return key;
    }
    for (char *c = spelled; *c; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    return rk_launch_find(launch, spelled);
}

const char *rk_megatron_value(rk_launch *launch, const char *name)
{
    const rk_launch_key *key = rk_megatron_find(launch, name);
    return key && key->value && strcmp(key->value, "None") != 0 ? key->value : NULL;
}

bool rk_megatron_is_on(rk_launch *launch, const char *name, bool usual)
{
    const rk_launch_key *key = rk_megatron_find(launch, name);
    return key ? rk_launch_is_on(launch, key->name, usual) : usual;
}

int64_t rk_megatron_count(rk_launch *launch, const char *name)
{
    const rk_launch_key *key = rk_megatron_find(launch, name);
    const double value = key ? rk_launch_number(launch, key->name, 0) : 0;
    return value > 0 && value < 9e15 ? (int64_t)value : 0;
}

static void class_key(rk_launch *launch, const rk_launch_key *key, rk_key_use use, const char *note)
{
    rk_launch_key *own = &launch->keys[key - launch->keys];
    own->use = use;
    own->note = note;
}

void rk_megatron_leave(rk_launch *launch, const char *name)
{
    const rk_launch_key *key = rk_megatron_find(launch, name);
    if (key) {
        class_key(launch, key, RK_KEY_WITHOUT_COST, NULL);
    }
}

const rk_launch_key *rk_megatron_find_among(rk_launch *launch, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        const rk_launch_key *key = rk_megatron_find(launch, names[i]);
        if (key) {
            return key;
        }
    }
    return NULL;
}

bool rk_megatron_is_line(const rk_launch *launch)
{
    static const char *const flags[] = {"num-layers",
                                        "hidden-size",
                                        "num-attention-heads",
                                        "seq-length",
                                        "micro-batch-size",
                                        "train-iters",
                                        "tensor-model-parallel-size",
                                        "pipeline-model-parallel-size",
                                        "global-batch-size",
                                        NULL};
    return rk_launch_count_flags(launch, flags) >= 3;
}

/* Between the words of a list. */
static const char apart[] = " ,[]\"'";

const char *rk_megatron_join(rk_launch *launch, const char *value)
{
    char *list = (char *)(uintptr_t)rk_launch_keep(launch, value), *end = list;
    for (const char *at = value + strspn(value, apart); *at && *list; at += strspn(at, apart)) {
        const size_t length = strcspn(at, apart);
        if (end > list) {
            *end++ = '+';
        }
        memcpy(end, at, length);
        end += length;
        at += length;
    }
    if (*list) {
        *end = '\0';
    }
    return list;
}

/* Whether one of the words between blanks, commas and quotes begins with, or is, such a name. */
static bool trains(const char *modules, const char *const *names, bool whole)
{
    for (const char *at = modules + strspn(modules, apart); *at; at += strspn(at, apart)) {
        const size_t length = strcspn(at, apart);
        for (size_t i = 0; names[i]; i++) {
            const size_t own = strlen(names[i]);
            if (own <= length && strncmp(at, names[i], own) == 0 && (!whole || own == length)) {
                return true;
            }
        }
        at += length;
    }
    return false;
}

void rk_megatron_state_adapters(rk_launch *launch, const rk_launch_key *modules)
{
    static const char *const all[] = {"all-linear", "all", "all_linear", NULL};
    static const char *const feed[] = {"linear_fc", "fc",  "gate_proj", "up_proj",
                                       "down_proj", "mlp", NULL};
    static const char *const attention[] = {"linear_qkv", "linear_proj", "linear_q",  "linear_kv",
                                            "linear_k",   "linear_v",    "linear_o",  "q_",
                                            "k_",         "v_",          "o_",        "qkv",
                                            "query",      "dense",       "attention", NULL};
    const char *value = modules && modules->value ? modules->value : "all-linear";
    const bool both = trains(value, all, true);
    const bool mlp = both || trains(value, feed, false);
    const bool att = both || trains(value, attention, false);
    if (mlp || att) {
        rk_launch_state(launch, "lora_modules",
                        mlp && att ? "attention+mlp"
                        : mlp      ? "mlp"
                                   : "attention",
                        modules ? RK_FACT_STATED : RK_FACT_DEFAULT, modules);
    }
}

static const char *or_usual(const char *value, const char *usual)
{
    return value ? value : usual;
}

void rk_megatron_assume_count(rk_launch *launch, const char *field, int64_t value)
{
    if (!rk_launch_fact_of(launch, field)) {
        rk_launch_assume_count(launch, field, value);
    }
}

/* States what a key says, if it is there, and the framework's default otherwise. */
static void state_or_assume(rk_launch *launch, const char *field, const rk_launch_key *key,
                            const char *value, const char *usual)
{
    if (key) {
        rk_launch_state(launch, field, value, RK_FACT_STATED, key);
    } else {
        rk_launch_assume_open(launch, field, usual);
    }
}

void rk_megatron_state_truth(rk_launch *launch, const char *field, bool truth,
                             const rk_launch_key *key)
{
    rk_launch_state(launch, field, truth ? "true" : "false", key ? RK_FACT_STATED : RK_FACT_DEFAULT,
                    key);
}

/* ---- releases -------------------------------------------------------------------------------- */

int rk_megatron_core(const rk_launch *launch, const rk_megatron_usual *usual)
{
    const char *release = launch->release ? launch->release : "";
    const char *core = strstr(release, "core");
    const char *digits = core ? core : release; /* "core_v0.12.1", "v0.12" */
    digits += strcspn(digits, "0123456789");
    int minor = 0;
    if (usual->core && !core) {
        return usual->core;
    }
    return sscanf(digits, "0.%d", &minor) == 1 ? minor : INT_MAX;
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* "(tt|)*29m|L": the modules are on a stage before the output layer. */
void rk_megatron_state_modules(rk_launch *launch, const char *layout)
{
    const char *module = strrchr(layout, 'm'), *head = strrchr(layout, 'L');
    if (module && head && module < head && memchr(module, '|', (size_t)(head - module))) {
        rk_launch_state(launch, "mtp_before_head", "true", RK_FACT_DERIVED, NULL);
    }
}

/* Chunks of a pipeline rank by the number of layers of each. */
static int64_t chunks_by_layers(rk_launch *launch, int64_t layers_of_chunk)
{
    const int64_t layers = rk_launch_count_of(launch, "model.layers") +
                           rk_launch_holds(launch, "count_embedding") +
                           rk_launch_holds(launch, "count_head");
    const int64_t pp = rk_launch_count_of(launch, "pp");
    return pp > 0 && layers_of_chunk > 0 && layers_of_chunk <= INT32_MAX && pp <= INT32_MAX
               ? layers / (pp * layers_of_chunk)
               : 0;
}

static void state_chunks(rk_launch *launch, const rk_megatron_usual *usual)
{
    static const char layers_flag[] = "num-layers-per-virtual-pipeline-stage";
    const char *chunks_flag = usual->vp ? usual->vp : "num-virtual-stages-per-pipeline-rank";
    const char *layout = rk_launch_fact_of(launch, "model.layout");
    const char *pattern = rk_launch_fact_of(launch, "model.hybrid_pattern");
    const int64_t pp = rk_launch_count_of(launch, "pp");
    int64_t chunks = rk_megatron_count(launch, chunks_flag);
    int stages = 0;
    const rk_launch_key *by = rk_megatron_find(launch, chunks_flag);
    if (!by) {
        by = rk_megatron_find(launch, layers_flag);
        chunks = chunks_by_layers(launch, rk_megatron_count(launch, layers_flag));
    }
    char list[RK_PIPELINE_LAYOUT_SIZE];
    bool listed = false;
    if (layout) {
        stages = rk_pipeline_layout_stages(layout);
        rk_megatron_state_modules(launch, layout);
        listed = rk_pipeline_layout_list(layout, list);
    } else if (pattern) {
        (void)rk_pipeline_pattern_blocks(pattern, &stages);
        listed = rk_pipeline_pattern_list(pattern, list);
    }
    if (listed) {
        rk_launch_state(launch, "layout", list, RK_FACT_DERIVED, NULL);
    }
    if (stages > 1 && pp > 0 && chunks == 0) {
        chunks = stages / pp;
        rk_launch_state_count(launch, "vp", chunks > 0 ? chunks : 1, RK_FACT_DERIVED, NULL);
    } else if (chunks > 0) {
        rk_launch_state_count(launch, "vp", chunks, RK_FACT_STATED, by);
    }
    rk_megatron_assume_count(launch, "vp", 1);
}

int rk_megatron_sharding_of(const char *strategy)
{
    static const char *const names[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
    for (int i = 0; i < (int)COUNT(names); i++) {
        if (strcmp(strategy, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static void state_zero(rk_launch *launch, const rk_megatron_usual *usual)
{
    static const char *const fsdp_names[] = {"use-megatron-fsdp", "use-custom-fsdp", NULL};
    const rk_launch_key *fsdp = rk_megatron_find_among(launch, fsdp_names);
    const rk_launch_key *torch = rk_megatron_find(launch, "use-torch-fsdp2");
    const rk_launch_key *distributed = rk_megatron_find(launch, "use-distributed-optimizer");
    const char *strategy = rk_megatron_value(launch, "data-parallel-sharding-strategy");
    const int core = rk_megatron_core(launch, usual);
    if (fsdp && rk_launch_is_on(launch, fsdp->name, true)) {
        const int zero = strategy                  ? rk_megatron_sharding_of(strategy)
                         : core >= 12 && core < 16 ? 0 /* no_shard was the default */
                                                   : 3;
        if (zero >= 0) {
            rk_launch_state_count(launch, "zero", zero, RK_FACT_STATED, fsdp);
        }
        rk_megatron_leave(launch, "use-distributed-optimizer");
    } else if (torch && rk_launch_is_on(launch, torch->name, true)) {
        const bool keeps = rk_megatron_is_on(launch, "torch-fsdp2-no-reshard-after-forward", false);
        rk_launch_state_count(launch, "zero", keeps ? 2 : 3, RK_FACT_STATED, torch);
    } else {
        const bool on = rk_megatron_is_on(launch, "use-distributed-optimizer", usual->distributed);
        rk_launch_state_count(launch, "zero", on, distributed ? RK_FACT_STATED : RK_FACT_DEFAULT,
                              distributed);
    }
    const rk_launch_key *replicas = rk_megatron_find(launch, "num-distributed-optimizer-instances");
    if (replicas) {
        rk_launch_state_count(launch, "hsdp", rk_megatron_count(launch, replicas->name),
                              RK_FACT_STATED, replicas);
    }
}

static void state_context_parallelism(rk_launch *launch)
{
    const rk_launch_key *kind = rk_megatron_find(launch, "cp-comm-type");
    if (kind && rk_launch_count_of(launch, "cp") <= 1) {
        rk_megatron_leave(launch, kind->name);
    }
    if (rk_launch_count_of(launch, "cp") > 1) {
        state_or_assume(launch, "cp_kind", kind,
                        kind && kind->value ? rk_megatron_join(launch, kind->value) : "p2p", "p2p");
    }
    if (kind && kind->value && strcmp(kind->value, "a2a+p2p") == 0) {
        (void)rk_megatron_find(launch, "hierarchical-context-parallel-sizes");
    }
}

void rk_megatron_state_layout(rk_launch *launch, const rk_megatron_usual *usual)
{
    rk_megatron_assume_count(launch, "tp", 1);
    rk_megatron_assume_count(launch, "pp", 1);
    rk_megatron_assume_count(launch, "cp", 1);
    rk_megatron_assume_count(launch, "ep", 1);
    const rk_launch_key *sp = rk_megatron_find(launch, "sequence-parallel");
    rk_megatron_state_truth(launch, "sp",
                            rk_megatron_is_on(launch, "sequence-parallel", false) &&
                                rk_launch_count_of(launch, "tp") > 1,
                            sp);
    state_chunks(launch, usual);
    state_zero(launch, usual);
    state_context_parallelism(launch);
    if (rk_megatron_is_on(launch, "use-tp-pp-dp-mapping", false)) {
        rk_launch_state(launch, "order", "tp-cp-pp-dp", RK_FACT_STATED,
                        rk_megatron_find(launch, "use-tp-pp-dp-mapping"));
    }
}

/* ---- batch ----------------------------------------------------------------------------------- */

/* The largest batch of "0:384 200B:768 400B:1152". */
static int64_t largest_of(const char *schedule)
{
    int64_t most = 0;
    for (const char *at = strchr(schedule, ':'); at; at = strchr(at + 1, ':')) {
        const long long size = strtoll(at + 1, NULL, 10);
        most = size > most ? size : most;
    }
    return most;
}

static void state_batch(rk_launch *launch)
{
    const rk_launch_key *schedule = rk_megatron_find(launch, "step-batch-size-schedule");
    rk_megatron_leave(launch, "rampup-batch-size"); /* the first steps only */
    if (schedule && schedule->value && !rk_launch_fact_of(launch, "global_batch")) {
        const int64_t largest = largest_of(schedule->value);
        if (largest > 0) {
            rk_launch_state_count(launch, "global_batch", largest, RK_FACT_STATED, schedule);
        }
    }
    if (!rk_launch_fact_of(launch, "global_batch")) {
        rk_megatron_assume_count(launch, "accumulation", 1);
    }
}

/* ---- precision ------------------------------------------------------------------------------- */

static const char *plain_type(const char *type)
{
    return or_usual(rk_launch_precision_name(type), type);
}

/*
 * Megatron-FSDP sums gradients in the type of the parameters unless told otherwise, since it has a
 * flag for that (Megatron Core 0.17).
 */
static bool sums_in_own_type(rk_launch *launch, const rk_megatron_usual *usual)
{
    const char *type = rk_megatron_value(launch, "megatron-fsdp-main-grads-dtype");
    return rk_megatron_is_on(launch, "use-megatron-fsdp", false) &&
           rk_megatron_core(launch, usual) >= 17 && (!type || strcmp(type, "fp32") != 0);
}

static void state_gradients(rk_launch *launch, const rk_megatron_usual *usual, bool aware)
{
    const rk_launch_key *low = rk_megatron_find(launch, "grad-reduce-in-bf16");
    const rk_launch_key *high = rk_megatron_find(launch, "accumulate-allreduce-grads-in-fp32");
    const char *precision = rk_launch_fact_of(launch, "precision");
    const char *main_type = rk_megatron_value(launch, "main-grads-dtype");
    const rk_launch_key *torch = rk_megatron_find(launch, "use-torch-fsdp2");
    if (torch && rk_launch_is_on(launch, torch->name, true)) { /* they have the type of weights */
        rk_launch_state(launch, "gradients", or_usual(precision, "bf16"), RK_FACT_STATED, torch);
    } else if (low && rk_launch_is_on(launch, low->name, true)) {
        rk_launch_state(launch, "gradients", "bf16", RK_FACT_STATED, low);
    } else if (aware && main_type && strcmp(main_type, "fp32") != 0) {
        rk_launch_state(launch, "gradients", plain_type(main_type), RK_FACT_STATED,
                        rk_megatron_find(launch, "main-grads-dtype"));
    } else if (high && rk_launch_is_on(launch, high->name, true)) {
        rk_launch_state(launch, "gradients", "fp32", RK_FACT_STATED, high);
    } else if (precision) {
        const bool own = sums_in_own_type(launch, usual) && strcmp(precision, "fp32") != 0;
        const char *type = own ? "bf16" : "fp32";
        rk_launch_assume_open(launch, "gradients", strcmp(precision, "fp16") == 0 ? "fp16" : type);
    }
}

/* The types of optimizer states, which only the precision-aware optimizer changes. */
static void state_states(rk_launch *launch, const rk_megatron_usual *usual)
{
    static const char *const rows[][2] = {{"states.main_params", "main-params-dtype"},
                                          {"states.exp_avg", "exp-avg-dtype"},
                                          {"states.exp_avg_sq", "exp-avg-sq-dtype"}};
    static const char *const types[] = {"main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype",
                                        "main-grads-dtype", NULL};
    const bool aware = rk_megatron_is_on(launch, "use-precision-aware-optimizer", false);
    if (!rk_megatron_find_among(launch, types)) {
        rk_megatron_leave(launch, "use-precision-aware-optimizer"); /* what costs are the types */
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        const rk_launch_key *key = rk_megatron_find(launch, rows[i][1]);
        const char *type = key && key->value && aware ? plain_type(key->value) : "fp32";
        if (key && key->value) {
            rk_launch_state(launch, rows[i][0], type, RK_FACT_STATED, key);
        }
        if (key && strcmp(type, "fp32") == 0) {
            class_key(launch, key, RK_KEY_WITHOUT_COST, NULL);
        }
    }
    state_gradients(launch, usual, aware);
}

/* The switches of old releases, and of Megatron-DeepSpeed. */
static void state_old_narrow_types(rk_launch *launch)
{
    static const char *const old[][2] = {{"fp8-e4m3", "e4m3"}, {"fp8-hybrid", "hybrid"}};
    for (size_t i = 0; i < 2; i++) {
        const rk_launch_key *key = rk_megatron_find(launch, old[i][0]);
        if (key && rk_launch_is_on(launch, key->name, true)) {
            rk_launch_state(launch, "fp8.format", old[i][1], RK_FACT_STATED, key);
        }
    }
}

static void state_narrow_types(rk_launch *launch)
{
    state_old_narrow_types(launch);
    const rk_launch_key *fp4 = rk_megatron_find(launch, "fp4-format");
    if (rk_launch_fact_of(launch, "fp8.format")) {
        rk_launch_assume_open(launch, "fp8.recipe", "delayed");
        rk_launch_assume_open(launch, "fp8.param_gather", "false");
    } else {
        rk_launch_drop(launch, "fp8.recipe");
        rk_launch_drop(launch, "fp8.param_gather");
    }
    if (fp4) {
        const char *recipe = rk_megatron_value(launch, "fp4-recipe");
        rk_launch_state(launch, "fp4.recipe", recipe ? recipe : "nvfp4", RK_FACT_STATED, fp4);
    }
}

void rk_megatron_state_precision(rk_launch *launch, const rk_megatron_usual *usual)
{
    static const char *const names[] = {"bf16", "fp16"};
    for (size_t i = 0; i < 2; i++) {
        const rk_launch_key *key = rk_megatron_find(launch, names[i]);
        if (key && rk_launch_is_on(launch, key->name, true)) {
            rk_launch_state(launch, "precision", names[i], RK_FACT_STATED, key);
        }
    }
    rk_launch_assume_open(launch, "precision", or_usual(usual->precision, "fp32"));
    state_narrow_types(launch);
    state_states(launch, usual);
    rk_launch_assume_open(launch, "optimizer", "adam");
    rk_launch_assume_open(launch, "lora", "none");
}

/* ---- activations ----------------------------------------------------------------------------- */

void rk_megatron_class_pieces(rk_launch *launch, const rk_launch_key *layers)
{
    const char *method = rk_launch_fact_of(launch, "recompute.method");
    const bool several = rk_launch_count_of(launch, "recompute.layers") > 1;
    if (layers && (!method || strcmp(method, "block") != 0)) {
        class_key(launch, layers, several ? RK_KEY_NOT_PRICED : RK_KEY_WITHOUT_COST,
                  several ? "all layers are recomputed; memory is priced for pieces of one layer"
                          : NULL);
    }
}

static void state_full_recompute(rk_launch *launch)
{
    static const char *const methods[] = {"recompute-method", "activations-checkpoint-method",
                                          NULL};
    const rk_launch_key *method = rk_megatron_find_among(launch, methods);
    const rk_launch_key *layers = rk_megatron_find(launch, "recompute-num-layers");
    if (method && method->value) {
        rk_launch_state(launch, "recompute.method", method->value, RK_FACT_STATED, method);
    }
    if (layers && layers->value) {
        rk_launch_state(launch, "recompute.layers", layers->value, RK_FACT_STATED, layers);
        rk_megatron_class_pieces(launch, layers);
    } else if (method) {
        rk_megatron_assume_count(launch, "recompute.layers", 1);
    }
}

void rk_megatron_state_recompute(rk_launch *launch, const rk_megatron_usual *usual)
{
    const rk_launch_key *key = rk_megatron_find(launch, "recompute-granularity");
    const rk_launch_key *old = rk_megatron_find(launch, "recompute-activations");
    static const char *const oldest[] = {"activations-checkpoint-method", "checkpoint-activations",
                                         NULL};
    const rk_launch_key *whole = rk_megatron_find_among(launch, oldest); /* before 2022 */
    const rk_launch_key *modules = rk_megatron_find(launch, "recompute-modules");
    if (key && rk_megatron_value(launch, "recompute-granularity")) {
        rk_launch_state(launch, "recompute.granularity", key->value, RK_FACT_STATED, key);
    } else if (old && rk_launch_is_on(launch, old->name, true)) {
        rk_launch_state(launch, "recompute.granularity", "selective", RK_FACT_STATED, old);
    } else if (whole) {
        rk_launch_state(launch, "recompute.granularity", "full", RK_FACT_STATED, whole);
    }
    rk_launch_assume_open(launch, "recompute.granularity", or_usual(usual->recompute, "none"));
    const char *granularity = rk_launch_fact_of(launch, "recompute.granularity");
    if (granularity && strcmp(granularity, "full") == 0) {
        state_full_recompute(launch);
    } else {
        rk_megatron_leave(launch, "recompute-method");
        rk_megatron_leave(launch, "recompute-num-layers");
    }
    if (granularity && strcmp(granularity, "selective") == 0) {
        state_or_assume(launch, "recompute.modules", modules && modules->value ? modules : NULL,
                        modules && modules->value ? rk_megatron_join(launch, modules->value) : "",
                        "core_attn");
    }
    if (rk_megatron_is_on(launch, "moe-layer-recompute", false)) {
        rk_launch_state(launch, "recompute_extra", "moe-layer-recompute", RK_FACT_STATED,
                        rk_megatron_find(launch, "moe-layer-recompute"));
    }
}

void rk_megatron_state_offload(rk_launch *launch)
{
    static const char *const activations[] = {"fine-grained-activation-offloading",
                                              "cpu-offloading-num-layers", "cpu-offloading", NULL};
    const char *list = "";
    const rk_launch_key *by = rk_megatron_find(launch, "optimizer-cpu-offload");
    if (by && rk_launch_is_on(launch, by->name, true)) {
        const rk_launch_key *key = rk_megatron_find(launch, "optimizer-offload-fraction");
        const double share = key ? rk_launch_number(launch, key->name, 1) : 1;
        list = share < 1 ? rk_launch_format(launch, "optimizer fraction %.6g", share) : "optimizer";
    }
    const rk_launch_key *other = rk_megatron_find_among(launch, activations);
    if (other && (!other->value || rk_launch_is_on(launch, other->name, true) ||
                  rk_launch_number(launch, other->name, 0) > 0)) {
        list = rk_launch_format(launch, "%s%sactivations", list, *list ? "+" : "");
        by = other;
    }
    const char *modules = rk_launch_fact_of(launch, "offload_modules");
    if (modules) {
        rk_launch_state(launch, "offload_modules", rk_megatron_join(launch, modules),
                        RK_FACT_STATED, rk_megatron_find(launch, "offload-modules"));
    }
    if (*list) {
        rk_launch_state(launch, "offload", list, RK_FACT_STATED, by);
    }
    rk_launch_assume_open(launch, "offload", "none");
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void state_attention(rk_launch *launch, const rk_megatron_usual *usual)
{
    const int core = rk_megatron_core(launch, usual);
    const char *stack = or_usual(rk_megatron_value(launch, "transformer-impl"),
                                 core < 6 ? "local" : "transformer_engine");
    const rk_launch_key *backend = rk_megatron_find(launch, "attention-backend");
    const bool legacy = rk_megatron_is_on(launch, "use-legacy-models", false);
    const bool flash = rk_megatron_is_on(launch, "use-flash-attn", false);
    const bool local = strcmp(stack, "local") == 0 || legacy;
    if (backend && backend->value) {
        const char *last = strrchr(backend->value, '.'); /* AttnBackend.flash */
        const char *name = last ? last + 1 : backend->value;
        rk_launch_state(launch, "attention", strcmp(name, "local") == 0 ? "unfused" : name,
                        RK_FACT_STATED, backend);
    }
    rk_launch_assume_open(launch, "attention",
                          usual->attention ? usual->attention
                          : !local         ? "auto"
                          : flash          ? "flash"
                                           : "unfused");
}

void rk_megatron_state_graphs(rk_launch *launch, const char *kind, const rk_launch_key *by,
                              const rk_launch_key *modules)
{
    const char *list = modules && modules->value ? rk_megatron_join(launch, modules->value) : "";
    const bool whole = strcmp(list, "full_iteration") == 0;
    if (strcmp(kind, "none") != 0 && *list && !whole && strcmp(list, "full") != 0) {
        rk_launch_state(launch, "graph_modules", list, RK_FACT_STATED, modules);
    }
    rk_launch_state(launch, "graphs", strcmp(kind, "none") != 0 && whole ? list : kind,
                    RK_FACT_STATED, by);
}

static void state_graphs(rk_launch *launch)
{
    static const char *const old[][2] = {{"enable-cuda-graph", "local"},
                                         {"external-cuda-graph", "transformer_engine"}};
    static const char *const names[] = {"cuda-graph-modules", "cuda-graph-scope", NULL};
    const rk_launch_key *modules = rk_megatron_find_among(launch, names);
    const rk_launch_key *key = rk_megatron_find(launch, "cuda-graph-impl");
    if (key && key->value) {
        rk_megatron_state_graphs(launch, key->value, key, modules);
    }
    for (size_t i = 0; i < 2; i++) {
        key = rk_megatron_find(launch, old[i][0]);
        if (key && rk_launch_is_on(launch, key->name, true)) {
            rk_megatron_state_graphs(launch, old[i][1], key, modules);
        }
    }
    rk_launch_assume_open(launch, "graphs", "none");
}

static void state_dropout(rk_launch *launch, const rk_megatron_usual *usual)
{
    const rk_launch_key *keys[] = {rk_megatron_find(launch, "hidden-dropout"),
                                   rk_megatron_find(launch, "attention-dropout")};
    double shares[2];
    for (size_t i = 0; i < 2; i++) {
        shares[i] = usual->no_dropout ? 0 : 0.1;
        shares[i] = keys[i] ? rk_launch_number(launch, keys[i]->name, shares[i]) : shares[i];
    }
    const rk_launch_key *by = keys[0] ? keys[0] : keys[1];
    const char *text = shares[0] > 0 || shares[1] > 0
                           ? rk_launch_format(launch, "%.6g+%.6g", shares[0], shares[1])
                           : "none";
    rk_launch_state(launch, "dropout", text, by ? RK_FACT_STATED : RK_FACT_DEFAULT, by);
}

/* The switches of softmax cost something only where attention is not fused. */
static void settle_softmax(rk_launch *launch)
{
    static const char *const names[] = {"attention-softmax-in-fp32", "no-masked-softmax-fusion",
                                        "masked-softmax-fusion", "use-flash-attn"};
    const char *attention = rk_launch_fact_of(launch, "attention");
    for (size_t i = 0; i < COUNT(names); i++) {
        const rk_launch_key *key = rk_megatron_find(launch, names[i]);
        if (key && attention && strcmp(attention, "unfused") != 0) {
            rk_launch_mark(launch, key->name, RK_KEY_WITHOUT_COST, NULL);
        } else if (key) {
            rk_launch_mark(launch, key->name, RK_KEY_UNREAD, NULL);
        }
    }
}

void rk_megatron_state_kernels(rk_launch *launch, const rk_megatron_usual *usual)
{
    const rk_launch_key *fused = rk_megatron_find(launch, "cross-entropy-loss-fusion");
    const char *kind = rk_megatron_value(launch, "cross-entropy-fusion-impl");
    const bool usually = usual->loss && strncmp(usual->loss, "fused", strlen("fused")) == 0;
    const rk_launch_key *by =
        fused || !usually ? fused : rk_megatron_find(launch, "cross-entropy-fusion-impl");
    if (by) {
        rk_launch_state(launch, "loss",
                        !fused || rk_launch_is_on(launch, fused->name, true)
                            ? rk_launch_format(launch, "fused %s", kind ? kind : "native")
                            : "unfused",
                        RK_FACT_STATED, by);
    }
    rk_launch_assume_open(launch, "loss", or_usual(usual->loss, "unfused"));
    rk_megatron_leave(launch, "cross-entropy-fusion-impl"); /* both write over the logits */
    state_attention(launch, usual);
    settle_softmax(launch);
    state_graphs(launch);
    state_dropout(launch, usual);
}

/* ---- experts --------------------------------------------------------------------------------- */

static const char *find_dispatcher(rk_launch *launch, const char *type)
{
    const char *backend = rk_megatron_value(launch, "moe-flex-dispatcher-backend");
    const bool deepep = rk_megatron_is_on(launch, "moe-enable-deepep", false);
    return strcmp(type, "flex") == 0 || deepep
               ? rk_launch_format(launch, "flex/%s", backend ? backend : "deepep")
               : type;
}

void rk_megatron_state_experts(rk_launch *launch, const rk_megatron_usual *usual)
{
    const rk_launch_key *type = rk_megatron_find(launch, "moe-token-dispatcher-type");
    type = type ? type : rk_megatron_find(launch, "moe-enable-deepep");
    const char *usual_type = or_usual(usual->dispatcher, "allgather");
    const rk_launch_key *grouped = rk_megatron_find(launch, "moe-grouped-gemm");
    const rk_launch_key *permute = rk_megatron_find(launch, "moe-permute-fusion");
    rk_launch_state(launch, "dispatcher",
                    find_dispatcher(launch, type && type->value ? type->value : usual_type),
                    type ? RK_FACT_STATED : RK_FACT_DEFAULT, type);
    rk_megatron_state_truth(launch, "grouped_gemm",
                            rk_megatron_is_on(launch, "moe-grouped-gemm", usual->grouped), grouped);
    rk_megatron_state_truth(launch, "permute_fusion",
                            rk_megatron_is_on(launch, "moe-permute-fusion", false), permute);
    if (type && rk_launch_count_of(launch, "ep") <= 1) {
        rk_megatron_leave(launch, type->name);
    }
    rk_megatron_assume_count(launch, "etp",
                             usual->whole_experts ? 1 : rk_launch_count_of(launch, "tp"));
}

/* ---- overlap --------------------------------------------------------------------------------- */

void rk_megatron_state_overlap(rk_launch *launch)
{
    static const char *const off[] = {"no-overlap-p2p-communication", NULL};
    const bool stages =
        rk_megatron_is_on(launch, "overlap-p2p-comm", true) && !rk_megatron_find_among(launch, off);
    const bool torch = rk_megatron_is_on(launch, "use-torch-fsdp2", false); /* always prefetches */
    const rk_named_count rows[] = {
        {"tp",
         rk_megatron_is_on(launch, "tp-comm-overlap", false) && rk_launch_holds(launch, "sp")},
        {"grad", rk_megatron_is_on(launch, "overlap-grad-reduce", false) || torch},
        {"param", rk_megatron_is_on(launch, "overlap-param-gather", false) || torch},
        {"pp",
         stages && rk_launch_count_of(launch, "vp") > 1 && rk_launch_count_of(launch, "pp") > 1},
        {"moe", rk_megatron_is_on(launch, "overlap-moe-expert-parallel-comm", false)},
    };
    const char *list = "";
    if (rk_launch_count_of(launch, "tp") <= 1) {
        rk_megatron_leave(launch, "tp-comm-overlap");
    }
    if (rk_launch_count_of(launch, "vp") <= 1) {
        rk_megatron_leave(launch, "overlap-p2p-comm");
        rk_megatron_leave(launch, off[0]);
    }
    if (rk_launch_count_of(launch, "ep") <= 1) {
        rk_megatron_leave(launch, "overlap-moe-expert-parallel-comm");
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].value) {
            list = rk_launch_format(launch, "%s%s%s", list, *list ? "+" : "", rows[i].name);
        }
    }
    rk_launch_state(launch, "overlap", *list ? list : "none", RK_FACT_DERIVED, NULL);
}

/* ---- the whole ------------------------------------------------------------------------------ */

rk_status rk_megatron_resolve(rk_launch *launch, const rk_megatron_usual *usual, rk_error *err)
{
    (void)err;
    if (!usual->names_model) {
        rk_megatron_state_model(launch, usual);
    }
    rk_megatron_state_layout(launch, usual);
    state_batch(launch);
    rk_megatron_state_precision(launch, usual);
    if (!usual->own_recompute) {
        rk_megatron_state_recompute(launch, usual);
    }
    rk_megatron_state_offload(launch);
    rk_megatron_state_kernels(launch, usual);
    if (usual->names_model || rk_launch_count_of(launch, "model.experts") > 0) {
        rk_megatron_state_experts(launch, usual);
    }
    rk_megatron_state_overlap(launch);
    if (!usual->names_model) {
        rk_megatron_state_document(launch, usual);
    }
    return RK_OK;
}
