/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of a model: the sizes of one layer and of what surrounds the layers; few keys for
 * a stack of equal layers.  Layers that differ are described
 *   - by rules: the first `dense_first` layers have no experts, only every `moe_every`-th layer has
 *     them, and `window_pattern` ("wwwf", repeated) says which layers see a window and which all;
 *   - or as a list: `types` holds objects with the keys in which a type of layer differs from the
 *     document, `pattern` (repeated) the type of each layer.
 */
#include "model/model_doc.h"

#include "base/error.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In place of query heads, of which only layers with attention need a number. */
#define HEADS_ABSENT INT64_MIN

/* Contents of a document, before its layers are laid out. */
typedef struct draft {
    const rk_kinds *kinds;
    rk_model model;
    rk_layer_type layer;
    int64_t layers, mtp_layers, norms_per_layer;
    int64_t dense_first, moe_every;
    const json_t *mixer, *feed_forward; /* their names; NULL: by the sizes */
    const json_t *name, *window_pattern, *types, *pattern, *mtp_pattern; /* NULL: absent */
    double published, published_active;                                  /* for people and tests */
} draft;

/* Takes a string that is not empty as it is, to be read when everything else is known. */
static rk_status take_string(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    if (json_string_length(value) == 0) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a string, found %s",
                          rk_json_describe(value, found));
    }
    memcpy(out, &value, sizeof(value));
    return RK_OK;
}

static rk_status take_array(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    if (json_array_size(value) == 0) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected an array of at least one, found %s",
                          rk_json_describe(value, found));
    }
    memcpy(out, &value, sizeof(value));
    return RK_OK;
}

/* ---- fields ----------------------------------------------------------------------------- */

static const char *const norm_names[] = {"rms", "layer", "layer_no_bias", "layer_no_weight", NULL};

/* Ranges are left to rk_model_check, which knows them for models from anywhere. */
#define REQUIRED(key, kind, place, text) RK_FIELD(#key, kind, offsetof(draft, place), .help = text)
#define OPTIONAL(key, kind, place, text)                                                           \
    RK_FIELD(#key, kind, offsetof(draft, place), .optional = true, .help = text)
#define SIZE(key, place, text) OPTIONAL(key, INT, place, text)
#define FLAG(key, place, text) OPTIONAL(key, BOOL, place, text)
#define CHOICE(key, place, values, text)                                                           \
    RK_FIELD(#key, ENUM, offsetof(draft, place), .optional = true, .names = values, .help = text)
#define TAKE(key, place, reader)                                                                   \
    RK_FIELD(#key, CUSTOM, offsetof(draft, place), .optional = true, .read = reader)
/* A number of the model's details; 0: the key is absent. */
#define DETAIL(key, most, text)                                                                    \
    RK_FIELD(#key, NUMBER, offsetof(draft, model.details.key), .optional = true, .min = 0,         \
             .max = (most), .above_min = true, .help = text)
#define PUBLISHED(key, place, text)                                                                \
    RK_FIELD(#key, NUMBER, offsetof(draft, place), .optional = true, .min = 1, .max = 0x1p62,      \
             .help = text)

/* The parts of a layer, if its sizes do not determine them. */
static const rk_field kind_fields[] = {
    TAKE(mixer, mixer, take_string),
    TAKE(feed_forward, feed_forward, take_string),
};

/* Of the model as a whole; the keys of layers come with the kinds. */
static const rk_field model_fields[] = {
    REQUIRED(hidden, INT, model.hidden, "width of the residual stream"),
    REQUIRED(layers, INT, layers, "layers, without those of MTP"),
    REQUIRED(vocab, INT, model.vocab, "rows of the embedding"),
    REQUIRED(seq, INT, model.seq, "usual training sequence length, tokens"),
    REQUIRED(tied, BOOL, model.tied, "the output layer shares the embedding"),
    SIZE(embedding_width, model.embedding_width, "of embedding and output layer; default hidden"),
    SIZE(layer_embedding, model.layer_embedding, "width of a second embedding for every layer"),
    FLAG(layer_scalar, model.layer_scalar, "a learned factor on the output of every layer"),
    FLAG(embedding_norm, model.embedding_norm, "a norm after the embedding"),
    FLAG(head_bias, model.head_bias, "the output layer has a bias"),
    FLAG(wide_gain, model.wide_gain, "norms multiply by their gains in fp32"),
    FLAG(capped_logits, model.capped_logits, "a tanh limits the logits"),
    SIZE(learned_positions, model.learned_positions, "rows of the position table"),
    CHOICE(norm, model.norm, norm_names, "of the residual stream; default rms"),
    SIZE(norms_per_layer, norms_per_layer, "default 2"),
    SIZE(streams, model.streams, "of the residual, with hyper-connections; default one, plain"),
    FLAG(final_norm, model.final_norm, "default true"),
    FLAG(parallel_block, model.parallel_block, "attention and FFN side by side"),
    SIZE(mtp_layers, mtp_layers, "modules of multi-token prediction"),
    SIZE(dense_first, dense_first, "layers at the start that have no experts"),
    SIZE(moe_every, moe_every, "every n-th layer has experts; default 1"),
    TAKE(window_pattern, window_pattern, take_string),
    TAKE(types, types, take_array),
    TAKE(pattern, pattern, take_array),
    TAKE(mtp_pattern, mtp_pattern, take_array),
    TAKE(name, name, take_string),
    CHOICE(activation, model.details.activation, rk_activation_names,
           "of FFN and experts; default usual: silu where gated, else gelu"),
    DETAIL(norm_epsilon, 1, "epsilon of the norms"),
    CHOICE(router, model.details.router, rk_router_score_names, "scores of experts"),
    FLAG(router_raw, model.details.router_raw, "scores of chosen experts do not sum to 1"),
    DETAIL(router_scale, 1e6, "factor on the scores of chosen experts"),
    FLAG(alibi, model.details.alibi, "ALiBi in place of rotary positions"),
    DETAIL(rope_base, 1e12, "base of rotary positions"),
    DETAIL(rope_window_base, 1e12, "of windowed layers, where it is another"),
    DETAIL(rope_share, 1, "of the elements of a head that rotate; default all"),
    CHOICE(rope_scaling, model.details.rope_scaling, rk_rope_scaling_names,
           "of rotary positions beyond rope_positions; default none"),
    DETAIL(rope_factor, 1e6, "of rope_scaling"),
    SIZE(rope_positions, model.details.rope_positions, "sequence length before rope_scaling"),
    DETAIL(rope_mscale, 1e6, "YaRN: factor on attention"),
    DETAIL(rope_mscale_all, 1e6, "YaRN: factor on attention, of all dimensions"),
    DETAIL(rope_beta_fast, 1e6, "YaRN: rotations above which nothing is scaled"),
    DETAIL(rope_beta_slow, 1e6, "YaRN: rotations below which all is scaled"),
    PUBLISHED(published_parameters, published, "exact where it is an integer"),
    PUBLISHED(published_active_parameters, published_active, "per token"),
};

/* The keys of all kinds of layers, and of what surrounds the layers. */
enum { FIELDS_MAX = 160 };

static size_t add_fields(const rk_field *from, size_t count, size_t offset, rk_field *to)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].offset += offset;
    }
    return count;
}

/* Lists the keys of layers, which the objects of `types` may override. */
static size_t list_layer_fields(const rk_kinds *kinds, rk_field fields[FIELDS_MAX])
{
    size_t count = add_fields(kind_fields, COUNT(kind_fields), 0, fields);
    const rk_field *shared = NULL; /* keys that several kinds read */
    for (const rk_mixer *const *mixer = kinds->mixers; *mixer; mixer++) {
        const rk_part_kind *part = &(*mixer)->part;
        if (part->fields != shared) {
            count +=
                add_fields(part->fields, part->field_count, offsetof(draft, layer), &fields[count]);
        }
        shared = part->fields;
    }
    for (const rk_feed_forward *const *network = kinds->feed_forwards; *network; network++) {
        count += add_fields((*network)->part.fields, (*network)->part.field_count,
                            offsetof(draft, layer), &fields[count]);
    }
    assert(count + COUNT(model_fields) <= FIELDS_MAX);
    return count;
}

/* Moves an error to the path of the key that it is about. */
static rk_status fail_below(const char *path, rk_error *err)
{
    char message[sizeof(err->message)];
    (void)snprintf(message, sizeof(message), "%s", err->message);
    return rk_fail_at(err, RK_ERR_INVALID, path, "%s", message);
}

/* ---- layers ----------------------------------------------------------------------------- */

/* Fills in what follows from the keys of the layer, which was found at `path`. */
static rk_status complete_layer(draft *d, const char *path, rk_error *err)
{
    rk_layer_type *layer = &d->layer;
    const int64_t hidden = d->model.hidden;
    char member[RK_JSON_PATH_SIZE];
    if (rk_layer_choose_kinds(layer, d->kinds, json_string_value(d->mixer),
                              json_string_value(d->feed_forward), err)) {
        return fail_below(rk_json_path_member(path, err->path, member), err);
    }
    const rk_part_kind *mixer = &layer->mixer->part, *network = &layer->feed_forward->part;
    if ((mixer->shapes & RK_SHAPE_ATTENTION) && layer->attention.query_heads == HEADS_ABSENT) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "the key \"heads\" is missing: expected an integer, or a \"mixer\" "
                          "without attention");
    }
    rk_status status = mixer->complete ? mixer->complete(layer, hidden, path, err) : RK_OK;
    if (!status && network->complete) {
        status = network->complete(layer, hidden, path, err);
    }
    return status;
}

/* Refuses a key that changes nothing, because it is a mistake about something else. */
static rk_status fail_unused(const char *key, const char *why, rk_error *err)
{
    return rk_fail_at(err, RK_ERR_INVALID, key, "the key \"%s\" has no effect: %s", key, why);
}

static rk_status check_window_pattern(const draft *d, rk_error *err)
{
    const char *pattern = json_string_value(d->window_pattern);
    if (pattern[strspn(pattern, "wf")] != '\0') {
        char found[RK_JSON_TEXT_SIZE];
        return rk_fail_at(err, RK_ERR_INVALID, "window_pattern",
                          "expected a string of w (window) and f (full), found %s",
                          rk_json_describe(d->window_pattern, found));
    }
    return d->layer.attention.window != 0
               ? RK_OK
               : fail_unused("window_pattern", "the document has no \"window\"", err);
}

/* Checks and completes the layer that the rules vary. */
static rk_status check_rules(draft *d, bool has_experts, rk_error *err)
{
    if (d->moe_every < 1) {
        return rk_fail_at(err, RK_ERR_INVALID, "moe_every", "expected at least 1, found %" PRId64,
                          d->moe_every);
    }
    if (!has_experts && (d->dense_first != 0 || d->moe_every != 1)) {
        return fail_unused(d->dense_first != 0 ? "dense_first" : "moe_every",
                           "the document has no \"experts\"", err);
    }
    rk_status status = d->window_pattern ? check_window_pattern(d, err) : RK_OK;
    if (!status) {
        status = complete_layer(d, "", err);
    }
    if (!status && !has_experts) {
        status = rk_layer_type_check(&d->layer, err); /* keys of experts would be lost below */
    }
    return status;
}

/* Lays the layers out by the rules dense_first, moe_every and window_pattern. */
static rk_status lay_by_rules(draft *d, rk_error *err)
{
    const char *pattern = d->window_pattern ? json_string_value(d->window_pattern) : "w";
    const size_t period = strlen(pattern);
    const bool has_experts = d->layer.moe.experts != 0;
    rk_layer_type kinds[RK_KIND_COUNT];
    uint8_t kind_of[RK_LAYER_MAX];
    unsigned seen = 0;
    const rk_status status = check_rules(d, has_experts, err);
    if (status) {
        return status;
    }
    const rk_attention_shape windowed = d->layer.attention;
    d->layer.attention.window = 0;
    d->layer.attention.chunked = false;
    rk_layer_kinds(&d->layer, &windowed, d->kinds, kinds);
    for (int i = 0; i < RK_KIND_COUNT; i++) { /* by their names, which no sizes claim */
        kinds[i].mixer = d->mixer ? d->layer.mixer : kinds[i].mixer;
        kinds[i].feed_forward =
            d->feed_forward && !has_experts ? d->layer.feed_forward : kinds[i].feed_forward;
    }
    for (int i = 0; i < d->layers; i++) {
        const bool in_window = pattern[(size_t)i % period] == 'w';
        const bool moe = has_experts && i >= d->dense_first && (i + 1) % d->moe_every == 0;
        kind_of[i] = (uint8_t)((in_window ? RK_KIND_WINDOWED : 0) | (moe ? RK_KIND_MOE : 0));
        seen |= moe ? 2U : 1U;
    }
    if (has_experts && !(seen & 2U)) {
        return fail_unused("experts", "no layer has them", err);
    }
    if (has_experts && !(seen & 1U) && d->layer.ffn.width != 0) {
        return fail_unused("ffn", "every layer has experts (expert_ffn is their width)", err);
    }
    rk_model_set_layers(&d->model, kinds, kind_of, (int)d->layers);
    return RK_OK;
}

/* Reads an object of `types`: the layer of the document with some keys changed. */
static rk_status read_type(const draft *base, size_t index, rk_layer_type *type, rk_error *err)
{
    rk_field overrides[FIELDS_MAX];
    const size_t count = list_layer_fields(base->kinds, overrides);
    char path[RK_JSON_PATH_SIZE], member[RK_JSON_PATH_SIZE];
    draft d = *base;
    for (size_t i = 0; i < count; i++) {
        overrides[i].optional = true;
    }
    (void)rk_json_path_element("types", index, path);
    rk_status status = rk_fields_read(json_array_get(base->types, index), path, overrides, count,
                                      RK_UNKNOWN_REFUSE, &d, err);
    if (!status) {
        status = complete_layer(&d, path, err);
    }
    if (!status && rk_layer_type_check(&d.layer, err)) {
        status = fail_below(rk_json_path_member(path, err->path, member), err);
    }
    *type = d.layer;
    return status;
}

/* Reads an index of `count` types. */
static rk_status read_index(const json_t *list, const char *key, size_t at, size_t count,
                            uint8_t *out, rk_error *err)
{
    const json_t *entry = json_array_get(list, at);
    const json_int_t type = json_integer_value(entry);
    if (!json_is_integer(entry) || type < 0 || type >= (json_int_t)count) {
        char path[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
        return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_element(key, at, path),
                          "expected an index of types, 0 to %zu, found %s", count - 1,
                          rk_json_describe(entry, found));
    }
    *out = (uint8_t)type;
    return RK_OK;
}

/* The layers of a module of multi-token prediction, where the document names them. */
static rk_status lay_mtp(draft *d, const rk_layer_type *kinds, rk_error *err)
{
    uint8_t kind_of[RK_MTP_LAYERS_MAX];
    const size_t layers = json_array_size(d->mtp_pattern), types = json_array_size(d->types);
    if (layers > RK_MTP_LAYERS_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, "mtp_pattern",
                          "expected at most %d layers, found %zu", RK_MTP_LAYERS_MAX, layers);
    }
    for (size_t i = 0; i < layers; i++) {
        const rk_status status =
            read_index(d->mtp_pattern, "mtp_pattern", i, types, &kind_of[i], err);
        if (status) {
            return status;
        }
    }
    return rk_model_set_mtp(&d->model, kinds, kind_of, (int)layers, err);
}

/* Lays the layers out by the list of types and their pattern. */
static rk_status lay_by_types(draft *d, rk_error *err)
{
    const size_t count = json_array_size(d->types), period = json_array_size(d->pattern);
    rk_layer_type kinds[RK_LAYER_TYPE_MAX];
    uint8_t kind_of[RK_LAYER_MAX];
    if (d->mtp_pattern && !d->types) {
        return fail_unused("mtp_pattern", "the document has no \"types\"", err);
    }
    if (!d->types || !d->pattern) {
        return rk_fail_at(err, RK_ERR_INVALID, "",
                          "the keys \"types\" and \"pattern\" need each other");
    }
    if (d->dense_first != 0 || d->moe_every != 1 || d->window_pattern) {
        return fail_unused(d->window_pattern     ? "window_pattern"
                           : d->dense_first != 0 ? "dense_first"
                                                 : "moe_every",
                           "\"types\" and \"pattern\" say what each layer is", err);
    }
    if (count > RK_LAYER_TYPE_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, "types", "expected at most %d types, found %zu",
                          RK_LAYER_TYPE_MAX, count);
    }
    for (size_t i = 0; i < count; i++) {
        const rk_status status = read_type(d, i, &kinds[i], err);
        if (status) {
            return status;
        }
    }
    for (size_t i = 0; i < (size_t)d->layers; i++) {
        const rk_status status =
            read_index(d->pattern, "pattern", i % period, count, &kind_of[i], err);
        if (status) {
            return status;
        }
    }
    rk_model_set_layers(&d->model, kinds, kind_of, (int)d->layers);
    return lay_mtp(d, kinds, err);
}

/* ---- the document ----------------------------------------------------------------------- */

/* Checks and narrows a small count of the model. */
static rk_status narrow(int64_t value, const char *key, int min, int max, int *out, rk_error *err)
{
    assert(min <= max);
    if (value < min || value > max) {
        return rk_fail_at(err, RK_ERR_INVALID, key,
                          "expected an integer from %d to %d, found %" PRId64, min, max, value);
    }
    *out = (int)value;
    return RK_OK;
}

/* Refuses sizes of a state where no layer has one. */
static rk_status check_states(const json_t *object, const rk_field *fields, size_t count,
                              const draft *d, rk_error *err)
{
    const size_t from = offsetof(draft, layer.recurrence);
    for (int i = 0; i < d->model.type_count; i++) {
        if (d->model.types[i].mixer->part.shapes & RK_SHAPE_RECURRENCE) {
            return RK_OK;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const bool state =
            fields[i].offset >= from && fields[i].offset < from + sizeof(d->layer.recurrence);
        if (state && json_object_get(object, fields[i].name)) {
            return fail_unused(fields[i].name, "no \"mixer\" of the document has a state", err);
        }
    }
    return RK_OK;
}

/* Reads and lays out a model; `fields` has room for FIELDS_MAX. */
static rk_status fill_draft(const json_t *object, rk_field *fields, draft *d, rk_error *err)
{
    size_t count = list_layer_fields(d->kinds, fields);
    count += add_fields(model_fields, COUNT(model_fields), 0, &fields[count]);
    rk_status status = rk_fields_read(object, "", fields, count, RK_UNKNOWN_REFUSE, d, err);
    if (!status) {
        status = narrow(d->layers, "layers", 1, RK_LAYER_MAX, &d->model.layers, err);
    }
    if (!status) {
        status = narrow(d->mtp_layers, "mtp_layers", 0, INT_MAX, &d->model.mtp_layers, err);
    }
    if (!status) {
        status = narrow(d->norms_per_layer, "norms_per_layer", 0, INT_MAX,
                        &d->model.norms_per_layer, err);
    }
    if (!status) {
        status =
            d->types || d->pattern || d->mtp_pattern ? lay_by_types(d, err) : lay_by_rules(d, err);
    }
    status = status ? status : check_states(object, fields, count, d, err);
    return status ? status : rk_model_check(&d->model, err);
}

/* The values of keys that a document lacks. */
static void clear_draft(const rk_kinds *kinds, draft *d)
{
    *d = (draft){
        .kinds = kinds,
        .model = {.final_norm = true},
        .layer = {.ffn = {.gated = true}, .attention = {.query_heads = HEADS_ABSENT}},
        .norms_per_layer = 2,
        .moe_every = 1,
    };
}

rk_status rk_model_from_json(const json_t *object, const rk_kinds *kinds, rk_model *model,
                             rk_error *err)
{
    /* too large for the stack of a thread */
    rk_field *fields = malloc(FIELDS_MAX * sizeof(*fields));
    draft *d = malloc(sizeof(*d));
    rk_status status = RK_OK;
    if (fields && d) {
        clear_draft(kinds, d);
        status = fill_draft(object, fields, d, err);
    } else {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for a model");
    }
    if (!status) {
        (void)rk_json_printable(d->name ? json_string_value(d->name) : "", d->model.name,
                                sizeof(d->model.name));
        *model = d->model;
    }
    free(fields);
    free(d);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------- */

/* Adds the required fields, and those in which a draft differs from an empty document. */
static bool write_changed(json_t *object, const rk_field *fields, size_t count, const draft *d,
                          const draft *empty)
{
    json_t *all = rk_fields_write(fields, count, d), *usual = rk_fields_write(fields, count, empty);
    bool written = all && usual;
    for (size_t i = 0; i < count && written; i++) {
        json_t *value = json_object_get(all, fields[i].name);
        if (value &&
            !(fields[i].optional && json_equal(value, json_object_get(usual, fields[i].name)))) {
            written = json_object_set(object, fields[i].name, value) == 0;
        }
    }
    json_decref(all);
    json_decref(usual);
    return written;
}

static json_t *write_indices(const uint8_t *indices, int count)
{
    assert(count >= 0 && count <= RK_LAYER_MAX);
    json_t *list = json_array();
    for (int i = 0; list && i < count; i++) {
        if (json_array_append_new(list, json_integer(indices[i]))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The layers as a list of types; `fields`: the fields of layers. */
static bool write_layers(const rk_model *model, const rk_field *fields, size_t count, draft *d,
                         const draft *empty, json_t *document)
{
    json_t *types = json_array();
    bool written = json_object_set_new(document, "types", types) == 0;
    for (int i = 0; i < model->type_count && written; i++) {
        json_t *type = json_object();
        d->layer = model->types[i];
        written = json_array_append_new(types, type) == 0 &&
                  !json_object_set_new(type, "mixer", json_string(d->layer.mixer->part.name)) &&
                  !json_object_set_new(type, "feed_forward",
                                       json_string(d->layer.feed_forward->part.name)) &&
                  write_changed(type, fields, count, d, empty);
    }
    const int period = model->type_count > 1 ? model->layers : 1;
    return written &&
           !json_object_set_new(document, "pattern", write_indices(model->type_of, period)) &&
           (model->mtp_each == 0 ||
            !json_object_set_new(document, "mtp_pattern",
                                 write_indices(model->mtp_type, model->mtp_each)));
}

json_t *rk_model_to_json(const rk_model *model, const rk_kinds *kinds)
{
    rk_field *fields = malloc(FIELDS_MAX * sizeof(*fields));
    draft *d = malloc(2 * sizeof(*d));
    json_t *document = json_object();
    bool written = fields && d && document;
    if (written) {
        clear_draft(kinds, &d[1]);
        d[0] = d[1];
        d->model = *model;
        d->layers = model->layers;
        d->mtp_layers = model->mtp_layers;
        d->norms_per_layer = model->norms_per_layer;
        const size_t count = list_layer_fields(kinds, fields);
        written = !json_object_set_new(document, "name", json_string(model->name)) &&
                  write_changed(document, model_fields, COUNT(model_fields), d, &d[1]) &&
                  write_layers(model, fields, count, d, &d[1], document);
    }
    free(fields);
    free(d);
    if (!written) {
        json_decref(document);
        return NULL;
    }
    return document;
}
