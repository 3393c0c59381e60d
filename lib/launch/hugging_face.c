/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trainer of the Hugging Face family.  Sources: huggingface/transformers
 * src/transformers/training_args.py, huggingface/peft src/peft/tuners/lora/config.py.
 */
#include "launch/hugging_face.h"

#include "base/error.h"
#include "base/units.h"
#include "launch/launch_parts.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- defaults -------------------------------------------------------------------------------- */

void rk_hf_assume_layout(rk_launch *launch)
{
    static const char *const degrees[] = {"tp", "pp", "vp", "cp", "ep"};
    for (size_t i = 0; i < COUNT(degrees); i++) {
        rk_launch_assume_count(launch, degrees[i], 1);
    }
    if (rk_launch_count_of(launch, "gpus_per_node") > 0) {
        rk_launch_assume_count(launch, "nodes", 1);
    }
    rk_launch_assume(launch, "sp", "false");
    rk_launch_assume(launch, "zero", "0");
    rk_launch_assume(launch, "offload", "none");
    rk_launch_assume(launch, "compile", "false");
}

/* ---- keys ------------------------------------------------------------------------------------ */

void rk_hf_state_switch(rk_launch *launch, const char *key, const char *field, const char *value)
{
    if (rk_launch_is_on(launch, key, false)) {
        rk_launch_state_by(launch, field, value, key);
    }
}

bool rk_hf_state_count(rk_launch *launch, const char *key, const char *field)
{
    const double count = rk_launch_number(launch, key, 0);
    const bool given = count >= 1 && count <= INT32_MAX;
    if (given) {
        rk_launch_state_count_by(launch, field, (int64_t)count, key);
    }
    return given;
}

/* ---- model ----------------------------------------------------------------------------------- */

/* How the weights of a model are stored, which its name says by convention. */
static const char *const quantised_names[][2] = {
    {"-gptq", "gptq, 4 bits"}, {"-awq", "awq, 4 bits"}, {"-aqlm", "aqlm, 2 bits"}};

bool rk_hf_has_part(const char *text, const char *part)
{
    for (const char *at = text; *at; at++) {
        if (strncasecmp(at, part, strlen(part)) == 0) {
            return true;
        }
    }
    return false;
}

void rk_hf_state_model(rk_launch *launch, const char *key)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    if (!by || !by->value) {
        return;
    }
    rk_launch_state(launch, "model.name", by->value, RK_FACT_STATED, by);
    (void)rk_launch_state_named_model(launch, by->value, by);
    for (size_t i = 0; i < COUNT(quantised_names); i++) {
        if (rk_hf_has_part(by->value, quantised_names[i][0])) {
            rk_launch_state(launch, "base_quantised", quantised_names[i][1], RK_FACT_DERIVED, by);
        }
    }
}

/* Names of sizes in configurations of models, and the fields that they are. */
static const char *const size_names[][2] = {
    {"hidden_size", "model.hidden"},
    {"n_embd", "model.hidden"},
    {"num_hidden_layers", "model.layers"},
    {"n_layer", "model.layers"},
    {"num_attention_heads", "model.heads"},
    {"n_head", "model.heads"},
    {"num_key_value_heads", "model.kv_heads"},
    {"head_dim", "model.head_size"},
    {"intermediate_size", "model.ffn"},
    {"n_inner", "model.ffn"},
    {"vocab_size", "model.vocab"},
};

/* The field of a size, from 1 to INT32_MAX, that "n_layer=12" gives; NULL: none. */
static const char *size_of(const char *pair, size_t length, int64_t *value)
{
    for (size_t i = 0; i < COUNT(size_names); i++) {
        const size_t name = strlen(size_names[i][0]);
        if (length > name && strncmp(pair, size_names[i][0], name) == 0 && pair[name] == '=') {
            const long number = strtol(pair + name + 1, NULL, 10);
            *value = number;
            return number >= 1 && number <= INT32_MAX ? size_names[i][1] : NULL;
        }
    }
    return NULL;
}

/* Widths that follow from others, of a model that was made wider or narrower. */
static void scale_widths(rk_launch *launch, int64_t before, const char *given)
{
    assert(before >= 0);
    const int64_t hidden = rk_launch_count_of(launch, "model.hidden");
    const int64_t ffn = rk_launch_count_of(launch, "model.ffn");
    const int64_t heads = rk_launch_count_of(launch, "model.heads");
    if (before <= 0 || hidden <= 0) {
        return;
    }
    if (!strstr(given, "n_inner") && !strstr(given, "intermediate_size") && ffn == 4 * before) {
        rk_launch_state_count(launch, "model.ffn", 4 * hidden, RK_FACT_DERIVED, NULL);
    }
    if (!strstr(given, "head_dim") && heads > 0 && hidden % heads == 0) {
        rk_launch_state_count(launch, "model.head_size", hidden / heads, RK_FACT_DERIVED, NULL);
    }
    if (!strstr(given, "num_key_value_heads") && strstr(given, "n_head")) {
        rk_launch_state_count(launch, "model.kv_heads", heads, RK_FACT_DERIVED, NULL);
    }
}

void rk_hf_take_overrides(rk_launch *launch, const char *key)
{
    const char *list = rk_launch_value(launch, key);
    const int64_t before = rk_launch_count_of(launch, "model.hidden");
    bool changed = false;
    for (const char *at = list; at && *at; at += strspn(at, ",")) {
        const size_t length = strcspn(at, ",");
        int64_t value = 0;
        const char *field = size_of(at, length, &value);
        if (field) {
            rk_launch_state_count_by(launch, field, value, key);
            changed = true;
        }
        at += length;
    }
    if (changed) {
        scale_widths(launch, before, list);
        rk_launch_drop(launch, "model.name"); /* it is another model */
    }
}

/* ---- batch, precision ------------------------------------------------------------------------ */

void rk_hf_state_accumulation(rk_launch *launch, const char *key, int64_t usual)
{
    if (!rk_hf_state_count(launch, key, "accumulation") && usual > 0) {
        rk_launch_assume_count(launch, "accumulation", usual);
    }
}

void rk_hf_state_weights(rk_launch *launch, const char *type, const rk_launch_key *by)
{
    rk_launch_state(launch, "weights_loaded_as", type, by ? RK_FACT_STATED : RK_FACT_DEFAULT, by);
}

void rk_hf_state_recompute(rk_launch *launch, bool on, const char *key)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    const char *before = rk_launch_fact_of(launch, "recompute.granularity");
    if (!on && before && strcmp(before, "full") == 0) {
        return; /* FSDP recomputes independently of the trainer */
    }
    rk_launch_state(launch, "recompute.granularity", on ? "full" : "none",
                    by ? RK_FACT_STATED : RK_FACT_DEFAULT, by);
}

/* ---- optimizer ------------------------------------------------------------------------------- */

/* Names in transformers, and in the library; the others stay as they are. */
static const char *const optimizer_names[][2] = {
    {"adamw_torch", "adamw"},
    {"adamw_torch_fused", "adamw"},
    {"adamw_torch_npu_fused", "adamw"},
    {"adamw_torch_xla", "adamw"},
    {"adamw_hf", "adamw"},
    {"adamw_apex_fused", "adamw"},
    {"adamw", "adamw"},
    {"adam", "adamw"},
    {"adamw_8bit", "adam-8bit"},
    {"adamw_bnb_8bit", "adam-8bit"},
    {"adamw_torch_8bit", "adam-8bit"},
    {"ao_adamw_8bit", "adam-8bit"},
    {"sgd", "sgd-plain"}, /* --optim_args may ask for a momentum, which is not read */
    {"ademamix_8bit", "ademamix 8-bit"},
    {"paged_adamw", "paged adamw"},
    {"paged_adamw_32bit", "paged adamw"},
    {"paged_adamw_8bit", "paged adam-8bit"},
};

void rk_hf_state_optimizer(rk_launch *launch, const char *key, const char *usual)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    const char *name = by ? by->value : NULL;
    rk_launch_assume(launch, "optimizer_impl", "fused"); /* of PyTorch 2.8 and later */
    if (!name) {
        rk_launch_assume(launch, "optimizer", usual);
        return;
    }
    if (strcasecmp(name, "adamw_torch") == 0) {
        rk_launch_state(launch, "optimizer_impl", "foreach", RK_FACT_STATED, by);
    }
    for (size_t i = 0; i < COUNT(optimizer_names); i++) {
        if (strcasecmp(name, optimizer_names[i][0]) == 0) {
            name = optimizer_names[i][1];
            break;
        }
    }
    rk_launch_state(launch, "optimizer", name, RK_FACT_STATED, by);
}

/* ---- adapters -------------------------------------------------------------------------------- */

static bool has_any(const char *list, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rk_hf_has_part(list, parts[i])) {
            return true;
        }
    }
    return false;
}

/* Whether a list of modules names any of attention, or of the feed-forward part. */
static bool names_attention(const char *list)
{
    static const char *const parts[] = {
        "all",      "attn",     "attention", "q_proj",     "k_proj",      "v_proj",
        "o_proj",   "qkv",      "query_key", "query",      "c_attn",      "W_pack",
        "out_proj", "q_a_proj", "kv_a_proj", "linear_qkv", "linear_proj", "Wqkv"};
    return has_any(list, parts, COUNT(parts));
}

static bool names_mlp(const char *list)
{
    static const char *const parts[] = {"all",       "mlp",     "gate_proj", "up_proj", "down_proj",
                                        "gate_up",   "fc1",     "fc2",       "dense_h", "w1",
                                        "linear_fc", "experts", "ffn"};
    return has_any(list, parts, COUNT(parts));
}

void rk_hf_state_adapters(rk_launch *launch, const char *rank, int64_t usual, const char *modules)
{
    const rk_launch_key *by = modules ? rk_launch_find(launch, modules) : NULL;
    if (!rk_hf_state_count(launch, rank, "lora")) {
        rk_launch_assume_count(launch, "lora", usual);
    }
    if (by && by->value) {
        const bool attention = names_attention(by->value), mlp = names_mlp(by->value);
        if (attention || mlp) {
            rk_launch_state(launch, "lora_modules",
                            attention && mlp ? "attention,mlp"
                            : attention      ? "attention"
                                             : "mlp",
                            RK_FACT_STATED, by);
        }
    }
}

void rk_hf_state_adapter_dropout(rk_launch *launch, double usual)
{
    const rk_launch_key *by = rk_launch_find(launch, "lora_dropout");
    if (rk_launch_number(launch, "lora_dropout", usual) > 0) {
        rk_launch_state(launch, "adapter_dropout", "true", by ? RK_FACT_STATED : RK_FACT_DEFAULT,
                        by);
    } else if (by) {
        rk_launch_mark(launch, "lora_dropout", RK_KEY_WITHOUT_COST, "adapters drop nothing");
    }
}

void rk_hf_state_nested(rk_launch *launch, const char *key, bool usual)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    if (rk_launch_holds(launch, "qlora")) {
        rk_launch_state(launch, "nested_quant",
                        rk_launch_is_on(launch, key, usual) ? "true" : "false",
                        by ? RK_FACT_STATED : RK_FACT_DEFAULT, by);
    } else if (by) {
        rk_launch_mark(launch, key, RK_KEY_WITHOUT_COST, "has no effect without a base of 4 bits");
    }
}

/* ---- options of the trainer ------------------------------------------------------------------ */

/* Whether a switch is on; "--no_x" turns one off that is on by default. */
static bool is_on(rk_launch *launch, const char *key, bool usual)
{
    const char *negative = rk_launch_format(launch, "no_%s", key);
    return rk_launch_is_on(launch, key, usual) && !rk_launch_is_on(launch, negative, false);
}

static void state_precision(rk_launch *launch, bool bf16)
{
    const char *key = is_on(launch, "fp16", false)  ? "fp16"
                      : is_on(launch, "bf16", bf16) ? "bf16"
                                                    : NULL;
    if (key) {
        const rk_launch_key *by = rk_launch_find(launch, key);
        rk_launch_state(launch, "precision", key, by ? RK_FACT_STATED : RK_FACT_DEFAULT, by);
    } else {
        rk_launch_assume(launch, "precision", "fp32");
    }
}

void rk_hf_take_tf32(rk_launch *launch)
{
    const char *precision = rk_launch_fact_of(launch, "precision");
    if (rk_launch_is_on(launch, "tf32", false) && precision && strcmp(precision, "fp32") == 0) {
        rk_launch_mark(launch, "tf32", RK_KEY_NOT_PRICED, "TF32 products are counted as fp32");
    }
}

void rk_hf_state_trainer(rk_launch *launch, const rk_hf_trainer *usual)
{
    rk_launch_assume_count(launch, "micro_batch", usual->micro_batch);
    rk_hf_state_accumulation(launch, "gradient_accumulation_steps", usual->steps_stated ? 0 : 1);
    rk_hf_state_optimizer(launch, "optim", "adamw");
    rk_hf_state_switch(launch, "adafactor", "optimizer", "adafactor");
    state_precision(launch, usual->bf16);
    rk_hf_take_tf32(launch);
    rk_hf_state_recompute(launch, is_on(launch, "gradient_checkpointing", usual->recompute),
                          "gradient_checkpointing");
    if (rk_launch_is_on(launch, "torch_compile", false) ||
        rk_launch_value(launch, "torch_compile_backend") ||
        rk_launch_value(launch, "torch_compile_mode")) {
        rk_launch_state(launch, "compile", "true", RK_FACT_DERIVED, NULL);
    }
    rk_hf_state_switch(launch, "use_liger_kernel", "loss", "fused (liger)");
    rk_launch_assume_open(launch, "loss", "full logits");
    rk_launch_assume_open(launch, "attention", "sdpa");
    rk_launch_assume_open(launch, "packing", "false");
}

void rk_hf_state_single(rk_launch *launch)
{
    static const char *const launchers[] = {"torchrun",
                                            "accelerate",
                                            "deepspeed",
                                            "srun",
                                            "mpirun",
                                            "mpiexec",
                                            "ray",
                                            "torch.distributed.run",
                                            "torch.distributed.launch"};
    for (size_t i = 0; i < COUNT(launchers); i++) {
        if (rk_launch_runs_by(launch, launchers[i])) {
            return;
        }
    }
    if (rk_launch_runs_by(launch, "python") || rk_launch_runs_by(launch, "python3")) {
        rk_launch_assume_count(launch, "processes", 1);
    }
}

bool rk_hf_is_before(const rk_launch *launch, int major, int minor)
{
    assert(major >= 0 && minor >= 0);
    for (const char *at = launch->release; at && *at; at++) {
        const size_t digits = strspn(at, "0123456789");
        if (digits > 0 && digits < 4 && at[digits] == '.' &&
            isdigit((unsigned char)at[digits + 1])) {
            const long first = strtol(at, NULL, 10), second = strtol(at + digits + 1, NULL, 10);
            return first < major || (first == major && second < minor);
        }
        at += digits > 0 ? digits - 1 : 0;
    }
    return false;
}

/* ---- objectives ------------------------------------------------------------------------------ */

#define PAIRS      "examples are pairs, and only one sequence of a pair is counted"
#define REFERENCE  "the forward pass of the reference model is not priced"
#define GENERATION "generation and the models that do not train are not priced"
#define TEACHER    "the forward pass of the teacher is not priced"
#define NO_HEAD    "output layer and loss are priced as for a language model, not for this objective"

/* Objectives, by the beginning of their names; the first that fits. */
static const char *const objectives[][2] = {
    {"online_dpo", GENERATION},
    {"dpo", REFERENCE "; " PAIRS},
    {"ipo", REFERENCE "; " PAIRS},
    {"kto", REFERENCE},
    {"bco", REFERENCE},
    {"orpo", PAIRS},
    {"cpo", PAIRS},
    {"simpo", PAIRS},
    {"mpo", REFERENCE "; " PAIRS},
    {"tpo", PAIRS},
    {"grpo", GENERATION},
    {"gspo", GENERATION},
    {"dapo", GENERATION},
    {"gdpo", GENERATION},
    {"rloo", GENERATION},
    {"ppo", GENERATION},
    {"nash", GENERATION},
    {"xpo", GENERATION},
    {"ebft", GENERATION},
    {"sdpo", GENERATION},
    {"sdft", TEACHER},
    {"ssd", TEACHER},
    {"gkd", TEACHER},
    {"gold", TEACHER},
    {"minillm", TEACHER},
    {"distill", TEACHER},
    {"rm", NO_HEAD "; " PAIRS},
    {"reward", NO_HEAD "; " PAIRS},
    {"prm", NO_HEAD},
    {"seq_cls", NO_HEAD},
    {"embedding", NO_HEAD},
    {"reranker", NO_HEAD},
    {"generative_reranker", NO_HEAD},
    {"diffusion", "masking and generation of a diffusion model are not priced"},
};

void rk_hf_state_objective(rk_launch *launch, const char *name)
{
    for (size_t i = 0; name && i < COUNT(objectives); i++) {
        const char *known = objectives[i][0];
        if (strncasecmp(name, known, strlen(known)) == 0) {
            const rk_launch_key key = {
                .name = known, .use = RK_KEY_NOT_PRICED, .note = objectives[i][1]};
            rk_launch_add_key(launch, &key);
            rk_launch_state(launch, "objective", known, RK_FACT_STATED, NULL);
            return;
        }
    }
}

/* ---- offload --------------------------------------------------------------------------------- */

void rk_hf_add_part(rk_launch *launch, const char *field, const char *what, const rk_launch_key *by)
{
    const char *before = rk_launch_fact_of(launch, field);
    const bool first = !before || strcmp(before, "none") == 0;
    if (first || !strstr(before, what)) {
        rk_launch_state(launch, field,
                        first ? what : rk_launch_format(launch, "%s+%s", before, what),
                        RK_FACT_STATED, by);
    }
}

void rk_hf_add_offload(rk_launch *launch, const char *what, const rk_launch_key *by)
{
    rk_hf_add_part(launch, "offload", what, by);
}

/* ---- recognition ----------------------------------------------------------------------------- */

bool rk_hf_document_has(const rk_launch *launch, const char *member)
{
    for (size_t i = 0; i < launch->document_count; i++) {
        if (json_object_get(launch->documents[i].root, member)) {
            return true;
        }
    }
    return false;
}

size_t rk_hf_find_word(const rk_launch *launch, const char *word)
{
    for (size_t i = 0; i < launch->word_count; i++) {
        if (strcmp(rk_launch_base_name(launch->words[i].text), word) == 0) {
            return i;
        }
    }
    return launch->word_count;
}

/* ---- files ----------------------------------------------------------------------------------- */

rk_status rk_hf_open_options(rk_launch *launch, const char *path, rk_error *err)
{
    bool found = true;
    const rk_status status = path && launch->document_count == 0
                                 ? rk_launch_open_named(launch, path, &found, err)
                                 : RK_OK;
    return status || found
               ? status
               : rk_fail(
                     err, RK_ERR_INVALID,
                     "%s takes its options from %s, which is not here or is not a configuration; "
                     "read that file instead, or put it next to the launch",
                     launch->name, path);
}

/* ---- environment ----------------------------------------------------------------------------- */

int64_t rk_hf_environment(const rk_launch *launch, const char *variable)
{
    const char *value = rk_launch_environment(launch, variable);
    const long number = value ? strtol(value, NULL, 10) : 0;
    return number > 0 && number <= 1000000 ? number : 0;
}

/* Devices of a list such as "0,1,2,3"; 0: none is given. */
static int64_t count_devices(const char *list)
{
    int64_t count = list && isdigit((unsigned char)*list) ? 1 : 0;
    for (const char *c = list; count > 0 && *c; c++) {
        count += *c == ',' && isdigit((unsigned char)c[1]);
    }
    return count;
}

void rk_hf_state_environment(rk_launch *launch, bool visible)
{
    const int64_t nodes = rk_hf_environment(launch, "NNODES");
    const int64_t each = rk_hf_environment(launch, "NPROC_PER_NODE");
    const int64_t devices = count_devices(rk_launch_environment(launch, "CUDA_VISIBLE_DEVICES"));
    if (nodes > 0) {
        rk_launch_state_count(launch, "nodes", nodes, RK_FACT_STATED, NULL);
    }
    if (each > 0) {
        rk_launch_state_count(launch, "gpus_per_node", each, RK_FACT_STATED, NULL);
    } else if (visible && devices > 0 && rk_launch_count_of(launch, "processes") == 0) {
        rk_launch_state_count(launch, "gpus_per_node", devices, RK_FACT_DERIVED, NULL);
    }
    if (rk_launch_count_of(launch, "gpus_per_node") > 0) {
        rk_launch_assume_count(launch, "nodes", 1);
    }
}
