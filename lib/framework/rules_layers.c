/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about how layers are shared out over stages. */
#include "framework/rules.h"
#include "model/kinds.h"

static int64_t layout_below_zero(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    for (int i = 0; i < s->layout_count; i++) {
        if (s->layout[i] < 0) {
            return s->layout[i];
        }
    }
    return s->layout_count < 0;
}

static int64_t layout_and_split(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->layout_count > 0 && ((s->first_stage_layers | s->last_stage_layers) != 0 ||
                                   s->count_embedding || s->count_head);
}

static int64_t layout_stages(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    if (s->layout_count == 0) {
        return 0;
    }
    const int64_t stages = rk_schedule_stages(s->schedule, s->pp, s->vp);
    return s->layout_count != stages ? stages : 0;
}

static int64_t layout_rest(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->layout_count > 0 ? q->model->layers - rk_strategy_layout_before(s, s->layout_count)
                               : 0;
}

/* Layers that remain to be split evenly once the first and last rank have their own numbers. */
struct rest {
    int64_t units;  /* layers, and the ends of the model where they count as such */
    int64_t ranks;  /* that share them */
    int64_t chunks; /* parts of the model per rank */
};

static struct rest rest_of(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    if (s->layout_count > 0) {
        return (struct rest){0}; /* it names the layers of every rank */
    }
    const bool first = s->first_stage_layers > 0, last = s->last_stage_layers > 0;
    return (struct rest){
        .units = q->model->layers + s->count_embedding + s->count_head - s->first_stage_layers -
                 s->last_stage_layers,
        .ranks = s->pp - first - last,
        .chunks = rk_schedule_stages(s->schedule, 1, s->vp),
    };
}

static int64_t own_layers_without_pipeline(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->pp == 1 && (s->first_stage_layers | s->last_stage_layers) != 0;
}

static int64_t own_layers_and_counted_ends(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return (s->first_stage_layers | s->last_stage_layers) != 0 &&
           (s->count_embedding || s->count_head);
}

static int64_t own_layers_too_few(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    const int64_t chunks = rk_schedule_stages(s->schedule, 1, s->vp);
    return (s->first_stage_layers > 0 && s->first_stage_layers < chunks) ||
                   (s->last_stage_layers > 0 && s->last_stage_layers < chunks)
               ? chunks
               : 0;
}

static int64_t layers_too_few(const struct question *q)
{
    const struct rest rest = rest_of(q);
    const bool too_few = rest.units < rest.ranks * rest.chunks;
    const bool too_many = rest.ranks == 0 && rest.units > 0 && q->strategy->pp > 1;
    return too_few || too_many ? q->model->layers : 0;
}

/*
 * The pattern of a hybrid has a mark wherever a stage of Megatron-LM ends (arguments.py:849): its
 * stages need not have as many layers.
 */
static bool splits_anywhere(const struct question *q)
{
    return rk_traits_of(q)->patterns && rk_rule_is_hybrid(q->model);
}

static int64_t layers_rest_ranks(const struct question *q)
{
    const struct rest rest = rest_of(q);
    const bool even = rest.ranks == 0 || rk_rule_divides(rest.ranks, rest.units);
    return even || splits_anywhere(q) ? 0 : rest.units;
}

static int64_t layers_rest_chunks(const struct question *q)
{
    const struct rest rest = rest_of(q);
    const bool even = rest.ranks == 0 || rk_rule_divides(rest.ranks * rest.chunks, rest.units);
    return even || splits_anywhere(q) ? 0 : rest.units;
}

static int64_t own_layers_rest(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return !rk_rule_divides(s->vp, s->first_stage_layers) ||
           !rk_rule_divides(s->vp, s->last_stage_layers);
}

/* Stages that start with a layer which borrows keys and values: no framework sends these. */
static int64_t borrowed_apart(const struct question *q)
{
    const rk_model *model = q->model;
    rk_chunk chunks[RK_CHUNK_MAX];
    bool borrows = false;
    for (int i = 0; i < model->type_count; i++) {
        borrows = borrows || model->types[i].attention.kv_source == RK_KV_BORROWED;
    }
    const int64_t count = q->strategy->pp * rk_stage_chunks(q->strategy);
    /* a layout of other stages is what another rule tells */
    if (!borrows || q->strategy->pp == 1 || layout_stages(q) > 0) {
        return 0;
    }
    if (count > RK_CHUNK_MAX) {
        return 1; /* with fewer layers than stages, one of them starts there */
    }
    rk_strategy_chunks(model, q->strategy, chunks);
    for (int64_t i = 0; i < count; i++) {
        const rk_chunk *chunk = &chunks[i];
        if (chunk->count > 0 &&
            model->types[model->type_of[chunk->first]].attention.kv_source == RK_KV_BORROWED) {
            return chunk->first;
        }
    }
    return 0;
}

/* A stage behind the first with a layer that borrows the weights of a block: it may own none. */
static int64_t block_apart(const struct question *q)
{
    const rk_model *model = q->model;
    for (int i = 0; q->strategy->pp > 1 && i < model->layers; i++) {
        if (model->types[model->type_of[i]].shared.borrowed) {
            return i;
        }
    }
    return 0;
}

const struct rk_rule rk_rules_layers[] = {
    {"layout", layout_below_zero, VARY_NONE,
     "every stage of a layout must have 0 layers or more, not {n}"},
    {"layout", layout_and_split, VARY_NONE,
     "a layout names the layers of every stage, so layers of the first or last stage and embedding "
     "or head as layers say nothing; drop one of the two"},
    {"layout", layout_stages, VARY(pp),
     "the layout has {given} stages, but pp {pp} with {chunks} stages each needs {n}"},
    {"layout", layout_rest, VARY_NONE,
     "the layout has {sum} layers, but {model} has {layers}; {repair}"},
    {"stage layers need pp > 1", own_layers_without_pipeline, VARY(pp),
     "layers of the first and last stage are given, but pp is 1"},
    {"stage layers or counted ends", own_layers_and_counted_ends, VARY_NONE,
     "layers of the first or last stage are given ({first_stage_layers}, {last_stage_layers}), so "
     "embedding and head cannot "
     "count as layers too; drop one of the two"},
    {"layers of a given stage", own_layers_too_few, VARY_NONE,
     "each of the {n} chunks of a stage needs a layer, but {first_stage_layers} and "
     "{last_stage_layers} are given for the "
     "first and last stage"},
    {"layers >= stages", layers_too_few, VARY(pp),
     "{n} layers do not split over pp {pp} with {chunks} stages each{ends}"},
    {"borrowed keys and values", borrowed_apart, VARY(vp),
     "a stage starts with layer {n}, whose keys and values are those of a layer before it; use "
     "stages that keep such layers together (pp {pp}, vp {vp})"},
    {"shared blocks", block_apart, VARY(pp),
     "layer {n} borrows the weights of an earlier layer, so all layers must be on one stage; use "
     "pp 1, not {pp}"},
    {0},
};

/* All stages have as many layers. */
const struct rk_rule rk_rules_even_layers[] = {
    {"layers % (pp*vp)", layers_rest_ranks, VARY(pp),
     "{n} layers do not split evenly over pp {pp}"},
    {"layers % (pp*vp)", layers_rest_chunks, VARY(vp),
     "{n} layers do not split evenly over pp {pp} x vp {vp}"},
    {"stage layers % vp", own_layers_rest, VARY(vp),
     "the {first_stage_layers} and {last_stage_layers} layers given for the first and last stage "
     "do not split over vp {vp}"},
    {0},
};
