/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a launch: a document made of its facts, or one that it names. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/named.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "launch/launch.h"
#include "layer/model_load.h"
#include "request/launch_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts that are members of a document, under its name. */
static const rk_named_text sizes[] = {
    {"model.hidden", "hidden"},        {"model.heads", "heads"},     {"model.kv_heads", "kv_heads"},
    {"model.head_size", "head_size"},  {"model.experts", "experts"}, {"model.topk", "top_k"},
    {"model.shared_ffn", "shared_ffn"}};

static void add_count(rk_bytes *text, const char *member, int64_t value)
{
    char item[96];
    if (value > 0) {
        const int length = snprintf(item, sizeof(item), ",\"%s\":%" PRId64, member, value);
        rk_bytes_add(text, item, (size_t)length);
    }
}

static void add_flag(rk_bytes *text, const char *member, const rk_launch *launch, const char *fact)
{
    char item[96];
    if (rk_launch_fact_of(launch, fact)) {
        const int length = snprintf(item, sizeof(item), ",\"%s\":%s", member,
                                    rk_launch_holds(launch, fact) ? "true" : "false");
        rk_bytes_add(text, item, (size_t)length);
    }
}

static int64_t first_of(const rk_launch *launch, const char *a, const char *b)
{
    const int64_t value = rk_launch_count_of(launch, a);
    return value > 0 ? value : rk_launch_count_of(launch, b);
}

/* Dense layers before those with experts, as two types and a pattern. */
static void add_pattern(rk_bytes *text, int64_t layers, int64_t dense)
{
    static const char types[] = ",\"types\":[{\"feed_forward\":\"dense\"},"
                                "{\"feed_forward\":\"experts\"}],\"pattern\":[";
    rk_bytes_add(text, types, strlen(types));
    for (int64_t i = 0; i < layers && i < RK_LAYER_MAX; i++) {
        const char *item = i >= dense ? ",1" : ",0";
        rk_bytes_add(text, item + (i == 0), 2 - (size_t)(i == 0));
    }
    rk_bytes_add(text, "]", 1);
}

/* Whether a document of dense attention and experts cannot describe the model. */
static bool is_special(const rk_launch *launch)
{
    const char *frequency = rk_launch_fact_of(launch, "model.moe_layer_freq");
    return rk_launch_holds(launch, "model.mla") ||
           rk_launch_fact_of(launch, "model.hybrid_pattern") ||
           (frequency && strcmp(frequency, "1") != 0 &&
            !rk_launch_count_of(launch, "model.dense_layers_first"));
}

const char *rk_launch_model_text(rk_launch *launch, int64_t seq)
{
    static const char start[] = "{\"name\":\"of the launch\"";
    const int64_t layers = first_of(launch, "model.layers_real", "model.layers");
    const int64_t vocab = first_of(launch, "model.vocab", "model.vocab_unpadded");
    const int64_t dense = rk_launch_count_of(launch, "model.dense_layers_first");
    const bool experts = rk_launch_count_of(launch, "model.experts") > 0;
    const bool whole = layers > 0 && seq > 0 && vocab > 0 &&
                       rk_launch_count_of(launch, "model.hidden") > 0 &&
                       rk_launch_count_of(launch, "model.heads") > 0 &&
                       first_of(launch, "model.ffn", "model.moe_ffn") > 0;
    rk_bytes text = {0};
    if (!whole || is_special(launch)) {
        return NULL;
    }
    rk_bytes_add(&text, start, strlen(start));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        add_count(&text, sizes[i].text, rk_launch_count_of(launch, sizes[i].name));
    }
    add_count(&text, "layers", layers);
    add_count(&text, "vocab", vocab);
    add_count(&text, "seq", seq);
    add_count(&text, "ffn", experts && dense == 0 ? 0 : rk_launch_count_of(launch, "model.ffn"));
    add_count(&text, "expert_ffn", experts ? first_of(launch, "model.moe_ffn", "model.ffn") : 0);
    add_count(&text, "shared_experts", rk_launch_count_of(launch, "model.shared_ffn") > 0);
    add_flag(&text, "tied", launch, "model.tied");
    add_flag(&text, "gated", launch, "model.gated");
    if (dense > 0 && experts) {
        add_pattern(&text, layers, dense);
    }
    rk_bytes_add(&text, "}", 1);
    launch->out_of_memory |= text.failed;
    const char *kept =
        text.failed ? NULL : rk_launch_keep_part(launch, (const char *)text.data, text.size);
    rk_bytes_clear(&text);
    return launch->out_of_memory ? NULL : kept;
}

/* ---- a model that is named ------------------------------------------------------------------- */

/* The first fact that a model contradicts; NULL: none. */
static const char *contradiction(const rk_launch *launch, const rk_model *model, int64_t *has)
{
    const rk_named_count known[] = {
        {"model.layers_real", model->layers},
        {"model.layers", rk_launch_fact_of(launch, "model.layers_real") ? 0 : model->layers},
        {"model.hidden", model->hidden},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        const int64_t said = rk_launch_count_of(launch, known[i].name);
        if (said > 0 && known[i].value > 0 && said != known[i].value) {
            *has = known[i].value;
            return known[i].name;
        }
    }
    return NULL;
}

rk_status rk_launch_check_model_name(const rk_launch *launch, const char *name, rk_error *err)
{
    int64_t has = 0;
    rk_model *model = malloc(sizeof(*model));
    rk_status status = model ? rk_model_load(name, model, err)
                             : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a model");
    const char *field = status ? NULL : contradiction(launch, model, &has);
    if (field) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "--model %.100s contradicts %s: %s is %" PRId64 ", but %s in the "
                         "launch; leave out --model, or name the model that the launch trains",
                         rk_json_title(name), launch->name, field + strlen("model."), has,
                         rk_launch_fact_of(launch, field));
    }
    free(model);
    return status;
}

rk_status rk_launch_knows_model(const rk_launch *launch, const char *name, bool *known,
                                rk_error *err)
{
    int64_t has = 0;
    rk_error reason;
    rk_model *model = malloc(sizeof(*model));
    const rk_status status = model ? rk_model_load(name, model, &reason) : RK_ERR_MEMORY;
    *known = !status && contradiction(launch, model, &has) == NULL;
    free(model);
    return status == RK_ERR_MEMORY
               ? rk_fail(err, status, "not enough memory for the model %s", name)
               : RK_OK;
}

/* The first size that a model needs and the launch lacks. */
static const char *missing_size(const rk_launch *launch)
{
    static const char *const needed[][2] = {{"model.layers", "the number of layers"},
                                            {"model.hidden", "the width"},
                                            {"model.heads", "the attention heads"},
                                            {"model.vocab", "the vocabulary"},
                                            {"seq", "the sequence length (--seq)"}};
    for (size_t i = 0; i < COUNT(needed); i++) {
        if (!rk_launch_fact_of(launch, needed[i][0])) {
            return needed[i][1];
        }
    }
    return "all parts";
}

/* Whether a launch describes its model at all. */
static bool describes_model(const rk_launch *launch)
{
    return rk_launch_fact_of(launch, "model.layers") || rk_launch_fact_of(launch, "model.hidden") ||
           rk_launch_fact_of(launch, "model.heads") || rk_launch_fact_of(launch, "model.vocab");
}

rk_status rk_launch_fail_model(const rk_launch *launch, const char *name, rk_error *err)
{
    const char *slash = name ? strrchr(name, '/') : NULL;
    const char *near = name ? rk_catalogue_nearest("models", slash ? slash + 1 : name) : NULL;
    const bool hub = name && rk_json_is_hub_id(name);
    if (!name && !describes_model(launch)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s does not say which model it trains; name it, as in --model llama3-8b, "
                       "or give --model with its config.json",
                       launch->name);
    }
    if (!name && strcmp(missing_size(launch), "the vocabulary") == 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s does not say the vocabulary of the model, as its tokenizer is not "
                       "known; add --vocab-size N to it, or name the model with --model",
                       launch->name);
    }
    if (!name) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s does not say %s of the model; name the model with --model, or give its "
                       "config.json",
                       launch->name, missing_size(launch));
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "%s trains %.200s, which the catalogue lacks; give --model with its config.json"
                   "%s%.200s%s%s%s%s",
                   launch->name, name, hub ? " (https://huggingface.co/" : "", hub ? name : "",
                   hub ? "/resolve/main/config.json)" : "", near ? ", or --model " : "",
                   near ? near : "", near ? " if that is its shape" : "");
}
