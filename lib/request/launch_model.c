/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: megatron/training/arguments.py and transformer_config.py of NVIDIA/Megatron-LM, commit
 * d98e8a64.
 */
#include "request/launch_model.h"

#include "base/error.h"
#include "base/units.h"
#include "framework/megatron_flags.h"
#include "framework/rules.h"
#include "launch/model_document.h"
#include "layer/model_load.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- flags ----------------------------------------------------------------------------------- */

bool rk_launch_truth(const char *word, rk_flag_use *use)
{
    const char *truth = rk_truth_of(word);
    *use = truth ? RK_FLAG_WITH_VALUE : RK_FLAG_ALONE;
    return !truth || strcmp(truth, "true") == 0;
}

static rk_launch_line *line_of(rk_job *job)
{
    return &((rk_request *)rk_job_arguments(job))->line;
}

/* The model of the request is made of the flags, as long as nothing else is named. */
static rk_status set_document(rk_job *job, rk_error *err)
{
    rk_request *request = rk_job_arguments(job);
    rk_launch_line *line = &request->line;
    char text[RK_MODEL_DOCUMENT_SIZE];
    if (request->model && request->model != line->model) {
        return RK_OK;
    }
    const rk_status status =
        rk_job_set_implied(job, "model", rk_model_document(&line->flags, text), err);
    line->model = request->model;
    return status;
}

rk_status rk_launch_take_layers_flag(rk_job *job, const char *flag, rk_error *err)
{
    rk_launch_line *line = line_of(job);
    if (!line->unbuilt[0]) {
        (void)snprintf(line->unbuilt, sizeof(line->unbuilt), "%s", flag);
    }
    return set_document(job, err);
}

rk_status rk_launch_take_model_flag(rk_job *job, const char *flag, const char *value,
                                    rk_flag_use *use, bool *known, rk_error *err)
{
    rk_model_flag_kind kind;
    *known = rk_model_flag_place(flag, &kind) != RK_SHAPE_COUNT;
    if (!*known) {
        return RK_OK;
    }
    *use = RK_FLAG_WITH_VALUE;
    if (kind == RK_MODEL_FLAG_ALONE && !rk_launch_truth(value, use)) {
        return RK_OK;
    }
    const rk_status status = rk_model_flags_take(&line_of(job)->flags, flag, value, err);
    return status ? status : set_document(job, err);
}

/* ---- a model that is named ------------------------------------------------------------------- */

/* The layer's value of a flag; false: the flag does not describe such layers. */
static bool find_in_layer(rk_model_place place, const rk_layer_type *t, int64_t *found)
{
    const rk_attention_shape *a = &t->attention;
    const bool attends = rk_megatron_has_attention(t), moe = rk_layer_is_moe(t);
    const bool latent = attends && rk_attention_is_latent(a);
    const bool network = rk_megatron_has_network(t), mamba = rk_rule_is_mixer(t, "mamba2");
    const bool delta = rk_rule_is_mixer(t, "gated_delta");
    const rk_recurrence_shape *r = &t->recurrence;
    const struct {
        rk_model_place place;
        bool has;
        int64_t value;
    } rows[] = {
        {RK_SHAPE_HEADS, attends, a->query_heads},
        {RK_SHAPE_KV_HEADS, attends && !latent, a->kv_heads},
        {RK_SHAPE_HEAD_SIZE, attends && !latent, a->head_size},
        {RK_SHAPE_FFN_WIDTH, network, moe ? t->moe.expert_width : t->ffn.width},
        {RK_SHAPE_EXPERTS, moe, t->moe.experts},
        {RK_SHAPE_TOP_K, moe, t->moe.top_k},
        {RK_SHAPE_EXPERT_FFN, moe, t->moe.expert_width},
        {RK_SHAPE_SHARED_FFN, moe, t->moe.shared_experts * t->moe.shared_width},
        {RK_SHAPE_EXPERT_LATENT, moe, t->moe.latent},
        {RK_SHAPE_Q_RANK, latent, a->q_rank},
        {RK_SHAPE_KV_RANK, latent, a->kv_rank},
        {RK_SHAPE_NOPE_SIZE, latent, a->nope_size},
        {RK_SHAPE_ROPE_SIZE, latent, a->rope_size},
        {RK_SHAPE_VALUE_SIZE, latent, rk_attention_value_size(a)},
        {RK_SHAPE_STATE_SIZE, mamba, r->key_size},
        {RK_SHAPE_STATE_HEAD_SIZE, mamba, r->value_size},
        {RK_SHAPE_STATE_GROUPS, mamba, r->key_heads},
        {RK_SHAPE_STATE_HEADS, mamba, r->heads},
        {RK_SHAPE_DELTA, delta, 1},
        {RK_SHAPE_DELTA_KEY_SIZE, delta, r->key_size},
        {RK_SHAPE_DELTA_VALUE_SIZE, delta, r->value_size},
        {RK_SHAPE_DELTA_KEY_HEADS, delta, r->key_heads},
        {RK_SHAPE_DELTA_VALUE_HEADS, delta, r->heads},
        {RK_SHAPE_INDEXER, attends && a->index.keys > 0, 1},
        {RK_SHAPE_INDEX_HEADS, attends && a->index.keys > 0, a->index.heads},
        {RK_SHAPE_INDEX_SIZE, attends && a->index.keys > 0, a->index.size},
        {RK_SHAPE_INDEX_KEYS, attends && a->index.keys > 0, a->index.keys},
        {RK_SHAPE_SWIGLU, network, t->ffn.gated},
        {RK_SHAPE_NO_BIAS, attends, !a->bias_out},
        {RK_SHAPE_QKV_BIAS, attends, a->bias_qkv},
        {RK_SHAPE_QK_NORM, attends, latent || a->qk_norm != RK_QK_NORM_NONE},
        {RK_SHAPE_OUTPUT_GATE, attends, a->output_gate},
        {RK_SHAPE_SINKS, attends, a->sinks},
        {RK_SHAPE_QUICK_GEGLU, network, t->ffn.gated},
        {RK_SHAPE_SQUARED_RELU, network, !t->ffn.gated},
        {RK_SHAPE_SHARED_GATE, moe, t->moe.shared_gate},
        {RK_SHAPE_ROUTER_BIAS, moe, t->moe.router_bias},
        {RK_SHAPE_EXPERT_GROUPS, moe, t->moe.expert_groups},
        {RK_SHAPE_ROUTE_GROUPS, moe, t->moe.route_groups},
        {RK_SHAPE_LATENT, attends, latent},
        {RK_SHAPE_WINDOW, attends && a->window > 0, a->window},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].place == place && rows[i].has) {
            *found = rows[i].value;
            return true;
        }
    }
    return false;
}

/* A window is given as Megatron-LM means it, or with the query itself. */
static bool is_same(rk_model_place place, int64_t found, int64_t given)
{
    enum { PADDING = 1024 }; /* rows of a vocabulary: a multiple of 128 x TP */
    const int64_t apart = found > given ? found - given : given - found;
    return apart == 0 || (place == RK_SHAPE_WINDOW && given - found == 1) ||
           (place == RK_SHAPE_VOCAB && apart < PADDING);
}

/* The model's value of a flag; false: the flag describes layers. */
static bool find_in_model(rk_model_place place, const rk_model *m, int64_t given, int64_t *found)
{
    switch (place) {
    case RK_SHAPE_LAYERS: /* of a hybrid, blocks or layers */
        *found = given == rk_megatron_layers(m) ? given : m->layers;
        return true;
    case RK_SHAPE_HIDDEN:
        *found = m->hidden;
        return true;
    case RK_SHAPE_VOCAB:
        *found = m->vocab;
        return true;
    case RK_SHAPE_UNTIED:
        *found = !m->tied;
        return true;
    case RK_SHAPE_ROPE:
        *found = m->learned_positions == 0;
        return true;
    case RK_SHAPE_RMS:
        *found = m->norm == RK_NORM_RMS;
        return true;
    case RK_SHAPE_HYBRID:
        *found = rk_megatron_is_hybrid(m);
        return true;
    case RK_SHAPE_POSITIONS: /* the sequence is --seq-length */
    case RK_SHAPE_GROUPED:
    case RK_SHAPE_TOKENIZER:
        *found = given;
        return true;
    default:
        return false;
    }
}

static bool experts_only(const rk_model *m)
{
    bool only = true;
    for (int i = 0; i < m->type_count; i++) {
        only = only && rk_layer_is_moe(&m->types[i]);
    }
    return only;
}

/* The value of the model; 0: it has none. */
static int64_t find_value(rk_model_place place, const rk_model *m, int64_t given)
{
    int64_t found = 0, first = 0;
    if (find_in_model(place, m, given, &found)) {
        return found;
    }
    if (place == RK_SHAPE_FFN_WIDTH && experts_only(m)) {
        return given; /* scripts state it with the width of an expert; no layer has it */
    }
    const bool grouped_only = place == RK_SHAPE_KV_HEADS || place == RK_SHAPE_HEAD_SIZE;
    for (int i = 0; i < m->type_count; i++) {
        const rk_layer_type *type = &m->types[i];
        if (grouped_only && rk_attention_is_latent(&type->attention)) {
            return given; /* latent attention has no use for it */
        }
        if (!find_in_layer(place, type, &found)) {
            continue;
        }
        if (is_same(place, found, given)) {
            return found;
        }
        first = first ? first : found;
    }
    return first;
}

/* Whether the layers of a kind are those that a flag lists. */
static bool has_layers(const rk_model *m, const rk_launch_line *line, rk_model_place place)
{
    const bool experts = place == RK_SHAPE_EXPERT_LAYERS, delta = place == RK_SHAPE_DELTA_LAYERS;
    const rk_layer_list *list = experts ? &line->flags.experts
                                : delta ? &line->flags.linear
                                        : &line->flags.windows;
    bool same = list->every > 0 || list->count == m->layers;
    for (int i = 0; same && i < m->layers; i++) {
        const rk_layer_type *type = &m->types[m->type_of[i]];
        const bool is = experts ? rk_layer_is_moe(type)
                        : delta ? rk_rule_is_mixer(type, "gated_delta")
                                : type->attention.window > 0;
        same = is == rk_layer_list_has(
                         list, i, experts ? rk_launch_is_every_expert : rk_launch_is_every_window);
    }
    return same;
}

/* Whether the model has as many blocks of each kind as the letters. */
static bool has_blocks(const rk_model *m, const char *letters)
{
    int mixers = 0, attention = 0, dense = 0, experts = 0;
    for (int i = 0; i < m->layers; i++) {
        const rk_layer_type *type = &m->types[m->type_of[i]];
        const bool attends = rk_megatron_has_attention(type);
        const bool network = rk_megatron_has_network(type), moe = rk_layer_is_moe(type);
        mixers += !attends && type->mixer->part.shapes != 0;
        attention += attends;
        dense += network && !moe;
        experts += network && moe;
    }
    for (const char *c = letters; *c; c++) {
        mixers -= *c == 'M' || *c == 'G';
        attention -= *c == '*' || *c == 'D' || *c == '+';
        dense -= *c == '-';
        experts -= *c == 'E';
    }
    return mixers == 0 && attention == 0 && dense == 0 && experts == 0;
}

static rk_status fail_contradiction(const rk_request *r, const rk_model *m, rk_model_place place,
                                    int64_t found, rk_error *err)
{
    const char *flag = rk_model_flag_name(place);
    const bool named = !rk_json_is_text(r->model);
    const char *model = named ? r->model : m->name;
    if (!rk_model_flag_is_number(place)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--%s contradicts the model %.200s; leave out one of --%s and --model", flag,
                       model, flag);
    }
    char has[32] = "none";
    if (found > 0) {
        (void)snprintf(has, sizeof(has), "%" PRId64, found);
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "--%s %" PRId64
                   " contradicts the model %.200s, which has %s; leave out one of --%s and --model",
                   flag, r->line.flags.size[place], model, has, flag);
}

static rk_status compare(const rk_request *r, const rk_model *m, rk_error *err)
{
    const rk_launch_line *line = &r->line;
    for (int i = 0; i < RK_SHAPE_COUNT; i++) {
        const rk_model_place place = (rk_model_place)i;
        const int64_t given = line->flags.size[place];
        bool same = true;
        int64_t found = given;
        if (!rk_model_flag_is_given(&line->flags, place)) {
            continue;
        }
        if (place == RK_SHAPE_EXPERT_LAYERS || place == RK_SHAPE_WINDOW_LAYERS ||
            place == RK_SHAPE_DELTA_LAYERS) {
            same = has_layers(m, line, place);
        } else if (place == RK_SHAPE_BLOCKS) {
            same = has_blocks(m, line->flags.blocks);
        } else {
            found = find_value(place, m, given);
            same = is_same(place, found, given);
        }
        if (!same) {
            return fail_contradiction(r, m, place, found, err);
        }
    }
    return RK_OK;
}

/* ---- a model of flags ------------------------------------------------------------------------ */

/* The reason why no document can be made; NULL: none. */
static const char *find_unbuilt(const rk_launch_line *line)
{
    const rk_model_place place = rk_model_flags_unbuilt(&line->flags);
    return place != RK_SHAPE_COUNT ? rk_model_flag_name(place)
           : line->unbuilt[0]      ? line->unbuilt
                                   : NULL;
}

static rk_status check_whole(const rk_launch_line *line, rk_error *err)
{
    static const rk_model_place needed[] = {RK_SHAPE_LAYERS, RK_SHAPE_HIDDEN, RK_SHAPE_HEADS,
                                            RK_SHAPE_VOCAB};
    char names[COUNT(needed)][RK_OPTION_WORD_SIZE], list[256];
    const char *missing[COUNT(needed)], *unbuilt = find_unbuilt(line);
    size_t count = 0;
    if (unbuilt) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--model is missing: --%s describes layers that flags cannot; give --model "
                       "a name, a document or a config.json",
                       unbuilt);
    }
    for (size_t i = 0; i < COUNT(needed); i++) {
        const bool may_lack = (needed[i] == RK_SHAPE_VOCAB && !line->flags.tokenizer[0]) ||
                              (needed[i] == RK_SHAPE_LAYERS && line->flags.blocks[0]);
        if (!rk_model_flag_is_given(&line->flags, needed[i]) && !may_lack) {
            (void)snprintf(names[count], sizeof(names[count]), "--%s",
                           rk_model_flag_name(needed[i]));
            missing[count] = names[count];
            count++;
        }
    }
    const rk_layer_list *lists[] = {&line->flags.experts, &line->flags.windows};
    for (size_t i = 0; i < COUNT(lists) && count == 0; i++) {
        if (lists[i]->count > 0 && lists[i]->count != line->flags.size[RK_SHAPE_LAYERS]) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--%s lists %d layers, and --num-layers is %" PRId64
                           "; list each layer once",
                           i == 0 ? "moe-layer-freq" : "window-attn-skip-freq", lists[i]->count,
                           line->flags.size[RK_SHAPE_LAYERS]);
        }
    }
    return count == 0 ? RK_OK
                      : rk_fail(err, RK_ERR_INVALID,
                                "--model is missing, and to make it of flags, %s; give either",
                                rk_join_words(missing, count, " and ", list, sizeof(list)));
}

rk_status rk_launch_check_model(const rk_request *request, rk_error *err)
{
    const rk_launch_line *line = &request->line;
    rk_model model;
    if (line->model && request->model == line->model) {
        return check_whole(line, err);
    }
    if (line->flags.given == 0 || !request->model) {
        return RK_OK;
    }
    const rk_status status = rk_model_load(request->model, &model, err);
    return status ? status : compare(request, &model, err);
}
