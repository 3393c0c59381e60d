/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a model that a launch only names, from the catalogue. */
#include "io/catalogue.h"
#include "io/json.h"
#include "launch/launch.h"
#include "layer/model_load.h"

typedef struct shape_facts {
    rk_launch *launch;
    const rk_launch_key *by;
} shape_facts;

/* States a size that follows from the name; 0: the model has none. */
static void state_size(const shape_facts *to, const char *field, int64_t value)
{
    if (value > 0) {
        rk_launch_state_count(to->launch, field, value, RK_FACT_DERIVED, to->by);
    }
}

/* The first type of layer that `has` something; NULL: none. */
static const rk_layer_type *first_type(const rk_model *model, bool (*has)(const rk_layer_type *))
{
    for (int i = 0; i < model->type_count; i++) {
        if (has(&model->types[i])) {
            return &model->types[i];
        }
    }
    return NULL;
}

static bool has_attention(const rk_layer_type *type)
{
    return type->attention.query_heads > 0;
}

static bool has_dense(const rk_layer_type *type)
{
    return !rk_layer_is_moe(type) && type->ffn.width > 0;
}

static int64_t dense_layers_first(const rk_model *model)
{
    int layer = 0;
    while (layer < model->layers && !rk_layer_is_moe(&model->types[model->type_of[layer]])) {
        layer++;
    }
    return layer;
}

static void state_experts(const shape_facts *to, const rk_model *model)
{
    const rk_layer_type *type = first_type(model, rk_layer_is_moe);
    if (type) {
        state_size(to, "model.experts", type->moe.experts);
        state_size(to, "model.topk", type->moe.top_k);
        state_size(to, "model.moe_ffn", type->moe.expert_width);
        state_size(to, "model.shared_ffn", type->moe.shared_experts * type->moe.shared_width);
        state_size(to, "model.dense_layers_first", dense_layers_first(model));
    }
}

static void state_shape(const shape_facts *to, const rk_model *model)
{
    const rk_layer_type *mixer = first_type(model, has_attention);
    const rk_layer_type *dense = first_type(model, has_dense);
    const rk_layer_type *experts = first_type(model, rk_layer_is_moe);
    state_size(to, "model.layers", model->layers);
    state_size(to, "model.hidden", model->hidden);
    state_size(to, "model.vocab", model->vocab);
    state_size(to, "model.mtp", model->mtp_layers);
    if (dense || experts) {
        state_size(to, "model.ffn", dense ? dense->ffn.width : experts->moe.expert_width);
    }
    if (mixer) {
        state_size(to, "model.heads", mixer->attention.query_heads);
        state_size(to, "model.kv_heads", mixer->attention.kv_heads);
        state_size(to, "model.head_size", rk_attention_value_size(&mixer->attention));
        if (rk_attention_is_latent(&mixer->attention)) {
            rk_launch_state(to->launch, "model.mla", "true", RK_FACT_DERIVED, to->by);
        }
    }
    rk_launch_state(to->launch, "model.tied", model->tied ? "true" : "false", RK_FACT_DERIVED,
                    to->by);
    state_experts(to, model);
}

/* Says what the model has in addition to the language model whose shape is stated. */
static void name_left_out(const shape_facts *to, const char *name, const char *shape)
{
    char words[RK_CATALOGUE_WORDS_SIZE];
    if (to->by && rk_catalogue_left_out(name, words)) {
        rk_launch_mark(to->launch, to->by->name, RK_KEY_NOT_PRICED,
                       rk_launch_format(to->launch, "priced with the shape of %s; not priced: %s",
                                        shape, words));
    }
}

bool rk_launch_state_named_model(rk_launch *launch, const char *name, const rk_launch_key *by)
{
    const rk_catalogue_entry *entry = name ? rk_catalogue_find("models", name) : NULL;
    rk_json_doc doc = {0};
    rk_model model;
    rk_error err;
    if (!entry || rk_json_parse(entry->text, entry->size, entry->name, &doc, &err)) {
        launch->out_of_memory |= entry && err.code == RK_ERR_MEMORY;
        return false;
    }
    const rk_status status = rk_model_read(doc.root, &model, &err);
    rk_json_clear(&doc);
    launch->out_of_memory |= status == RK_ERR_MEMORY;
    if (!status) {
        state_shape(&(shape_facts){launch, by}, &model);
        name_left_out(&(shape_facts){launch, by}, name, entry->name);
    }
    return !status;
}
