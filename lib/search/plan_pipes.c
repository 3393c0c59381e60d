/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipeline degrees of a plan: the schedules and layouts that a framework runs, which of their ranks
 * are alike, and the lanes that go with them.
 */
#include "base/error.h"
#include "estimate/stage.h"
#include "search/plan_lists.h"
#include "strategy/strategy_fields.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes of the pipeline ---------------------------------------------------------------- */

void rk_plan_set_shape(const rk_plan_shape *shape, rk_strategy *strategy)
{
    strategy->schedule = shape->schedule;
    strategy->vp = shape->vp;
    strategy->pp_overlap = shape->pp_overlap;
    strategy->first_stage_layers = shape->first_stage_layers;
    strategy->last_stage_layers = shape->last_stage_layers;
    strategy->count_embedding = shape->count_embedding;
    strategy->count_head = shape->count_head;
    strategy->layout = shape->layout;
    strategy->layout_count = shape->layout_count;
}

/* A strategy without anything else: all degrees 1 and microbatches enough for any schedule. */
static rk_strategy bare_strategy(const rk_plan_lists *l, int64_t pp)
{
    assert(pp >= 1);
    rk_strategy s = rk_strategy_defaults(l->model);
    s.pp = pp;
    s.global_batch = 2 * pp;
    return s;
}

/* Whether a framework splits the layers so. */
static bool is_legal_for(const rk_plan_lists *l, int64_t pp, const rk_plan_shape *shape,
                         rk_framework framework)
{
    rk_strategy s = bare_strategy(l, pp);
    rk_plan_set_shape(shape, &s);
    s.pp_overlap = true; /* does not depend on layers */
    return rk_strategy_legal(l->model, NULL, &s, framework, NULL);
}

static bool is_legal_shape(const rk_plan_lists *l, int64_t pp, const rk_plan_shape *shape)
{
    return is_legal_for(l, pp, shape, l->space->framework);
}

/* Whether only shorter ends let some framework of the space split the layers. */
static bool needs_trimmed(const rk_plan_lists *l, int64_t pp, const rk_plan_shape *trimmed)
{
    for (int i = 0; i < RK_FRAMEWORK_COUNT; i++) {
        const rk_framework f = (rk_framework)i;
        const rk_plan_shape even = {.schedule = rk_framework_of(f)->schedule, .vp = 1};
        rk_plan_shape counted = even, shorter = *trimmed;
        counted.count_embedding = counted.count_head = true;
        shorter.schedule = even.schedule;
        if ((f == l->space->framework || rk_framework_covers(l->space->framework, f)) &&
            !is_legal_for(l, pp, &even, f) && !is_legal_for(l, pp, &counted, f) &&
            is_legal_for(l, pp, &shorter, f)) {
            return true;
        }
    }
    return false;
}

/* Layers of the largest stage. */
static int64_t most_layers(const rk_plan_lists *l, int64_t pp, const rk_plan_shape *shape)
{
    const int64_t stages = rk_schedule_stages(shape->schedule, pp, shape->vp);
    int64_t most = shape->layout_count > 0 ? 0 : (l->model->layers + stages - 1) / stages;
    for (int i = 0; i < shape->layout_count; i++) {
        most = shape->layout[i] > most ? shape->layout[i] : most;
    }
    return most;
}

/*
 * Numbers of layers of a chunk that are checkpointed whole: all, or every eighth if the framework
 * can.  If the number is given, that one, or none when a chunk has fewer.
 */
static void list_layer_choices(const rk_plan_lists *l, int64_t pp, rk_plan_shape *shape)
{
    const int64_t most = most_layers(l, pp, shape);
    const bool some = rk_framework_of(l->space->framework)->some_layers;
    const int64_t given = l->space->recompute_layers;
    if (given >= 0) {
        shape->layer_choices[0] = given;
        shape->layer_choice_count = given <= most;
        return;
    }
    shape->layer_choices[shape->layer_choice_count++] = 0;
    for (int64_t i = 1; some && i < RK_PLAN_LAYER_CHOICES; i++) {
        const int64_t count = i * most / RK_PLAN_LAYER_CHOICES;
        if (count > shape->layer_choices[shape->layer_choice_count - 1]) {
            shape->layer_choices[shape->layer_choice_count++] = count;
        }
    }
}

static rk_status add_shape(rk_plan_lists *l, rk_plan_pipe *pipe, const rk_plan_shape *shape,
                           rk_error *err)
{
    /* room is the power of two that holds them */
    if ((l->shape_count & (l->shape_count - 1)) == 0) {
        const size_t room = l->shape_count ? 2 * (size_t)l->shape_count : 1;
        rk_plan_shape *shapes = realloc(l->shapes, room * sizeof(*shapes));
        if (!shapes) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the layouts of a pipeline");
        }
        l->shapes = shapes;
    }
    rk_plan_shape *added = &l->shapes[l->shape_count];
    *added = *shape;
    list_layer_choices(l, pipe->pp, added);
    added->base_first = pipe->base_count;
    pipe->base_count += (size_t)added->layer_choice_count;
    pipe->shape_count++;
    l->shape_count++;
    return RK_OK;
}

/* The shape that the base gives; layers of its ends mean nothing on one rank. */
static rk_plan_shape base_shape(const rk_plan_lists *l, int64_t pp, rk_plan_shape shape)
{
    const rk_strategy *base = &l->space->base;
    if (pp > 1) {
        shape.first_stage_layers = base->first_stage_layers;
        shape.last_stage_layers = base->last_stage_layers;
        shape.count_embedding = base->count_embedding;
        shape.count_head = base->count_head;
    }
    shape.layout = base->layout_count > 0 ? base->layout : NULL;
    shape.layout_count = base->layout_count;
    return shape;
}

/* Middle ranks with as many layers as an even split rounded up, the two ends with the rest. */
static void trim_ends(const rk_model *model, int64_t pp, rk_plan_shape *shape)
{
    assert(pp >= 1 && shape->vp >= 1);
    const int64_t v = shape->vp;
    const int64_t middle = (model->layers + pp * v - 1) / (pp * v) * v;
    const int64_t rest = model->layers - middle * (pp - 2);
    shape->last_stage_layers = rest / v / 2 * v;
    shape->first_stage_layers = rest - shape->last_stage_layers;
}

/* Layouts with a shorter last rank are listed if the head, counted as one layer, delays its stage
 * by at least this share of an even one. */
#define LONG_HEAD_SHARE 0.15

/*
 * The further work of the last stage, as the number of layers whose matrix products take as long:
 * the head and, for every module of multi-token prediction, the module and the head again.
 */
static double layers_of_head(const rk_plan_lists *l)
{
    const rk_model *model = l->model;
    const int modules = l->space->base.mtp_before_head ? 0 : model->mtp_layers;
    const double head = (double)model->vocab * (double)rk_model_embedding_width(model);
    double ends = head, layers = 0;
    if (modules > 0) {
        ends += (double)rk_model_params_of(model).mtp_active + modules * head;
    }
    double counted[RK_LAYER_TYPE_MAX];
    for (int i = 0; i < model->type_count; i++) {
        counted[i] = (double)rk_layer_params_of(model, &model->types[i]).counted;
    }
    for (int i = 0; i < model->layers; i++) {
        layers += counted[model->type_of[i]];
    }
    return layers > 0 ? ends * model->layers / layers : 0;
}

/*
 * Layers of the last rank, fewer than an even share, with which it is as slow as the others: the
 * nearest number that the framework can run and that leaves equal chunks to the others; 0 if there
 * is none.
 */
static int64_t balanced_last(const rk_plan_lists *l, int64_t pp, double head_layers,
                             rk_plan_shape shape)
{
    assert(pp >= 2 && head_layers >= 0);
    const int64_t layers = l->model->layers;
    const double wanted = ((double)layers - head_layers * (double)(pp - 1)) / (double)pp;
    int64_t best = 0;
    for (int64_t last = shape.vp; last * pp < layers; last += shape.vp) {
        const bool nearer = best == 0 || fabs((double)last - wanted) < fabs((double)best - wanted);
        shape.last_stage_layers = last;
        if (nearer && (layers - last) % ((pp - 1) * shape.vp) == 0 &&
            is_legal_shape(l, pp, &shape)) {
            best = last;
        }
    }
    return best;
}

/* Layouts of a pipeline degree in the space. */
struct layouts {
    bool counted;       /* both ends taken as layers */
    bool trimmed;       /* shorter ends, because nothing else divides */
    double head_layers; /* a shorter last rank, for a head as long as so many layers; 0: none */
};

/*
 * Where stages may end anywhere, every number of chunks is legal.  A search leaves out stages of
 * unequal lengths that others make needless: those with a largest stage of as many layers as with
 * fewer chunks, which send fewer messages and whose ranks hold more equal numbers of layers; and
 * those whose ends do not count as layers, if they can.
 */
static bool is_left_out(const rk_plan_lists *l, int64_t pp, const rk_plan_shape *shape)
{
    const int64_t ends = shape->count_embedding + shape->count_head;
    const int64_t units = l->model->layers + ends;
    const int64_t stages = rk_schedule_stages(shape->schedule, pp, shape->vp);
    const bool given = shape->layout_count > 0 || shape->first_stage_layers > 0 ||
                       shape->last_stage_layers > 0 || l->space->vp.count > 0;
    if (!rk_framework_of(l->space->framework)->patterns || given || units % stages == 0) {
        return false;
    }
    const bool like_fewer =
        shape->vp > 1 && (units + stages - 1) / stages == (units + stages - pp - 1) / (stages - pp);
    return like_fewer || (ends == 0 && stages > 2);
}

/* Adds the layouts of a schedule; the base's comes first. */
static rk_status add_layouts(rk_plan_lists *l, rk_plan_pipe *pipe, const struct layouts *layouts,
                             rk_plan_shape shape, rk_error *err)
{
    /* one or two stages hold the same with and without their ends counted */
    const bool counted =
        layouts->counted && rk_schedule_stages(shape.schedule, pipe->pp, shape.vp) > 2;
    rk_plan_shape choices[] = {base_shape(l, pipe->pp, shape), shape, shape, shape};
    rk_status status = RK_OK;
    choices[1].count_embedding = choices[1].count_head = true;
    trim_ends(l->model, pipe->pp, &choices[2]);
    if (layouts->head_layers > 0 && rk_schedules[shape.schedule]->placement == RK_PLACEMENT_LOOP) {
        choices[3].last_stage_layers = balanced_last(l, pipe->pp, layouts->head_layers, shape);
    }
    const bool wanted[] = {true, counted, layouts->trimmed && choices[2].last_stage_layers > 0,
                           choices[3].last_stage_layers > 0};
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]) && !status; i++) {
        if (wanted[i] && !is_left_out(l, pipe->pp, &choices[i]) &&
            is_legal_shape(l, pipe->pp, &choices[i])) {
            status = add_shape(l, pipe, &choices[i], err);
        }
    }
    return status;
}

/* A base with a layout of its own has no others. */
static struct layouts layouts_of(const rk_plan_lists *l, int64_t pp)
{
    const rk_strategy *base = &l->space->base;
    rk_plan_shape trimmed = {.vp = 1};
    if (pp == 1 || base->first_stage_layers || base->last_stage_layers || base->count_embedding ||
        base->count_head || base->layout_count > 0) {
        return (struct layouts){0};
    }
    trim_ends(l->model, pp, &trimmed);
    const double head_layers = layers_of_head(l);
    return (struct layouts){
        .counted = true,
        .trimmed = trimmed.last_stage_layers > 0 && needs_trimmed(l, pp, &trimmed),
        .head_layers =
            (head_layers - 1) * (double)pp >= LONG_HEAD_SHARE * l->model->layers ? head_layers : 0,
    };
}

/* Frameworks overlap messages between stages with virtual stages alone. */
static bool overlaps_messages(const rk_plan_space *space, int64_t vp)
{
    return space->base.pp_overlap && (vp > 1 || space->overlaps_stated);
}

static rk_status add_shapes(rk_plan_lists *l, rk_plan_pipe *pipe, rk_error *err)
{
    const struct layouts layouts = layouts_of(l, pipe->pp);
    rk_status status = RK_OK;
    for (unsigned i = 0; i < RK_SCHEDULE_KIND_COUNT; i++) {
        const bool chunked = rk_schedule_has_vp((rk_schedule_kind)i);
        const int64_t least = chunked ? 2 : 1;
        const int64_t most = chunked ? (l->model->layers + 2) / pipe->pp : 1;
        /* one rank runs its microbatches one after the other under any schedule */
        const bool wanted =
            pipe->pp == 1 ? i == rk_schedule_usual(1) : l->space->schedules >> i & 1;
        for (int64_t v = least; wanted && v <= most && !status; v++) {
            if (rk_plan_allows(&l->space->vp, v)) {
                const rk_plan_shape shape = {.schedule = (rk_schedule_kind)i,
                                             .vp = v,
                                             .pp_overlap = overlaps_messages(l->space, v)};
                status = add_layouts(l, pipe, &layouts, shape, err);
            }
        }
    }
    return status;
}

/* ---- equal ranks --------------------------------------------------------------------------- */

/* The first rank that is like `rank`. */
static int64_t first_alike(const rk_plan_lists *l, const rk_plan_shape *shape,
                           const rk_chunk *chunks, int64_t v, int64_t rank)
{
    assert(rank >= 0);
    for (size_t i = 0; i < shape->kind_count; i++) {
        const int64_t kind = l->kinds.items[shape->kind_first + i];
        if (rk_chunks_alike(l->model, &chunks[kind * v], &chunks[rank * v], v)) {
            return kind;
        }
    }
    return rank;
}

static rk_status list_ranks(rk_plan_lists *l, int64_t pp, rk_plan_shape *shape, rk_error *err)
{
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_strategy s = {.pp = pp, .mtp_before_head = l->space->base.mtp_before_head};
    rk_status status = RK_OK;
    rk_plan_set_shape(shape, &s);
    rk_strategy_chunks(l->model, &s, chunks);
    shape->rank_first = l->ranks.count;
    shape->kind_first = l->kinds.count;
    for (int64_t r = 0; r < pp && !status; r++) {
        const int64_t kind = first_alike(l, shape, chunks, rk_stage_chunks(&s), r);
        status = rk_int_list_add(&l->ranks, kind, err);
        if (kind == r && !status) {
            status = rk_int_list_add(&l->kinds, r, err);
            shape->kind_count++;
        }
    }
    return status;
}

/* ---- what ranks hold ----------------------------------------------------------------------- */

/* Equal for equal blocks, and hardly for others. */
static int64_t sign_of(const rk_stage_blocks *blocks)
{
    uint32_t words[sizeof(*blocks) / sizeof(uint32_t)];
    uint64_t sign = 0;
    _Static_assert(sizeof(words) == sizeof(*blocks), "blocks are whole words");
    memcpy(words, blocks, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        sign = (sign ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return (int64_t)(sign >> 1);
}

/*
 * The place of blocks among those from `first` on, which get them if they are new; `signs` has the
 * signs of these.
 */
static rk_status place_blocks(rk_stage_blocks **list, size_t first, size_t *count,
                              rk_int_list *signs, const rk_stage_blocks *blocks, size_t *place,
                              rk_error *err)
{
    const int64_t sign = sign_of(blocks);
    for (*place = 0; first + *place < *count; (*place)++) {
        if (signs->items[*place] == sign &&
            memcmp(&(*list)[first + *place], blocks, sizeof(*blocks)) == 0) {
            return RK_OK;
        }
    }
    if ((*count & (*count - 1)) == 0) { /* room is the power of two that holds them */
        const size_t room = *count ? 2 * *count : 1;
        rk_stage_blocks *more = realloc(*list, room * sizeof(*more));
        if (!more) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the stages of a plan");
        }
        *list = more;
    }
    (*list)[(*count)++] = *blocks;
    return rk_int_list_add(signs, sign, err);
}

/* The signs of what the ranks of a pipeline degree hold. */
struct signs {
    rk_int_list blocks, pieces;
};

/* Lists what each chunk of a rank holds. */
static rk_status list_pieces(rk_plan_lists *l, const rk_plan_pipe *pipe, struct signs *signs,
                             const rk_strategy *s, const rk_chunk *chunks, rk_error *err)
{
    rk_status status = RK_OK;
    for (int64_t i = 0; i < rk_stage_chunks(s) && !status; i++) {
        const rk_stage_blocks blocks = rk_chunk_blocks_of(l->model, s, &chunks[i]);
        size_t place = 0;
        status = place_blocks(&l->pieces, pipe->piece_first, &l->piece_count, &signs->pieces,
                              &blocks, &place, err);
        status = status ? status : rk_int_list_add(&l->piece_of, (int64_t)place, err);
    }
    return status;
}

/* Lists what each kind of rank of a shape holds, by how many layers are checkpointed. */
static rk_status list_held(rk_plan_lists *l, rk_plan_pipe *pipe, struct signs *signs,
                           rk_plan_shape *shape, rk_error *err)
{
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_strategy s = {.pp = pipe->pp, .mtp_before_head = l->space->base.mtp_before_head};
    rk_status status = RK_OK;
    rk_plan_set_shape(shape, &s);
    rk_strategy_chunks(l->model, &s, chunks);
    const int64_t v = rk_stage_chunks(&s);
    shape->held_first = l->held.count;
    shape->piece_first = l->piece_of.count;
    shape->chunks = (int)v;
    for (int choice = 0; choice <= shape->layer_choice_count; choice++) {
        s.recompute = choice ? RK_REC_FULL : RK_REC_NONE;
        s.recompute_layers = choice ? shape->layer_choices[choice - 1] : 0;
        for (size_t i = 0; i < shape->kind_count && !status; i++) {
            const int64_t rank = l->kinds.items[shape->kind_first + i];
            const rk_stage_blocks blocks = rk_stage_blocks_of(l->model, &s, &chunks[rank * v]);
            size_t place = 0;
            status = place_blocks(&l->blocks, pipe->block_first, &l->block_count, &signs->blocks,
                                  &blocks, &place, err);
            status = status ? status : rk_int_list_add(&l->held, (int64_t)place, err);
            status = status ? status : list_pieces(l, pipe, signs, &s, &chunks[rank * v], err);
        }
    }
    return status;
}

/* Leaves of `least` what `blocks` has as well. */
static void lower_blocks(rk_stage_blocks *least, const rk_stage_blocks *blocks)
{
    for (int type = 0; type < RK_LAYER_TYPE_MAX; type++) {
        for (int full = 0; full < 2; full++) {
            const int16_t count = blocks->layers[type][full];
            int16_t *to = &least->layers[type][full];
            *to = count < *to ? count : *to;
        }
    }
    least->embedding &= blocks->embedding;
    least->head &= blocks->head;
    least->mtp &= blocks->mtp;
}

/* Lists the floor of the shapes of a schedule, of which `first` is the first. */
static rk_status list_floor(rk_plan_lists *l, const rk_plan_pipe *pipe, struct signs *signs,
                            const rk_plan_shape *first, rk_error *err)
{
    rk_plan_floor *floor = &l->floors[first->floor];
    rk_status status = RK_OK;
    for (size_t choice = 0; choice < RK_PLAN_CHOICES && !status; choice++) {
        const rk_plan_shape *end = &l->shapes[pipe->shape_first + pipe->shape_count];
        rk_stage_blocks least;
        bool has = false;
        for (const rk_plan_shape *shape = first; shape < end; shape++) {
            if (shape->floor == first->floor && choice <= (size_t)shape->layer_choice_count) {
                const size_t place = pipe->block_first + rk_plan_held(l, shape, choice, 0);
                if (has) {
                    lower_blocks(&least, &l->blocks[place]);
                } else {
                    least = l->blocks[place];
                }
                has = true;
            }
        }
        status = !has ? RK_OK
                      : place_blocks(&l->blocks, pipe->block_first, &l->block_count, &signs->blocks,
                                     &least, &floor->blocks[choice], err);
    }
    return status;
}

/* Whether a floor that begins with shape `a` is tight for `b` too: first ranks are nearly alike. */
static bool is_near(const rk_plan_lists *l, const rk_plan_pipe *pipe, const rk_plan_shape *a,
                    const rk_plan_shape *b)
{
    const rk_stage_blocks *x = &l->blocks[pipe->block_first + rk_plan_held(l, a, 0, 0)];
    const rk_stage_blocks *y = &l->blocks[pipe->block_first + rk_plan_held(l, b, 0, 0)];
    int differ = 0, layers = 0;
    for (int type = 0; type < l->model->type_count; type++) {
        differ += abs(x->layers[type][0] - y->layers[type][0]);
        layers += x->layers[type][0];
    }
    return a->schedule == b->schedule && a->vp <= b->vp && b->vp < 2 * a->vp &&
           4 * differ <= layers;
}

/* Lists the floors of a pipeline degree: one for the shapes that are near its first. */
static rk_status list_floors(rk_plan_lists *l, const rk_plan_pipe *pipe, struct signs *signs,
                             rk_error *err)
{
    const size_t before = l->floor_count, room = before + pipe->shape_count;
    rk_plan_floor *floors = realloc(l->floors, (room + 1) * sizeof(*floors));
    rk_status status = RK_OK;
    if (!floors) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the stages of a plan");
    }
    l->floors = floors;
    for (size_t i = 0; i < pipe->shape_count; i++) {
        rk_plan_shape *shape = &l->shapes[pipe->shape_first + i];
        size_t own = before;
        while (own < l->floor_count && !is_near(l, pipe, &l->shapes[floors[own].first], shape)) {
            own++;
        }
        if (own == l->floor_count) {
            floors[l->floor_count++] = (rk_plan_floor){.first = pipe->shape_first + i};
        }
        shape->floor = own;
        floors[own].vp = shape->vp > floors[own].vp ? shape->vp : floors[own].vp;
    }
    for (size_t i = before; i < l->floor_count && !status; i++) {
        status = list_floor(l, pipe, signs, &l->shapes[floors[i].first], err);
    }
    return status;
}

/* Lists what the ranks of all shapes of a pipeline degree are and hold. */
static rk_status list_all_held(rk_plan_lists *l, rk_plan_pipe *pipe, rk_error *err)
{
    struct signs signs = {.blocks = {0}};
    rk_status status = RK_OK;
    for (size_t i = 0; i < pipe->shape_count && !status; i++) {
        rk_plan_shape *shape = &l->shapes[pipe->shape_first + i];
        status = list_ranks(l, pipe->pp, shape, err);
        status = status ? status : list_held(l, pipe, &signs, shape, err);
    }
    status = status ? status : list_floors(l, pipe, &signs, err);
    rk_int_list_clear(&signs.blocks);
    rk_int_list_clear(&signs.pieces);
    pipe->block_count = l->block_count - pipe->block_first;
    pipe->piece_count = l->piece_count - pipe->piece_first;
    return status;
}

/* ---- lanes --------------------------------------------------------------------------------- */

int64_t rk_plan_domains(const rk_plan_lists *l, const rk_strategy *strategy)
{
    const rk_group group = rk_strategy_group(l->system, strategy, RK_GROUP_DATA);
    return group.size % group.within[0] ? 1 : group.size / group.within[0];
}

void rk_plan_set_lane(const rk_plan_lists *l, int lane, rk_strategy *strategy)
{
    assert(lane >= 0 && lane < l->lane_count);
    const rk_plan_lane *set = &l->lanes[lane];
    if (set->recipe) {
        strategy->states = set->recipe->states;
    }
    strategy->sharding = set->sharding.kind;
    strategy->replicas =
        set->sharding.hybrid ? rk_plan_domains(l, strategy) : l->space->base.replicas;
    rk_strategy_set_offloads(strategy, set->offloads);
    strategy->offload_gradients = l->space->base.offload_gradients;
    strategy->nvme_optimizer = l->space->base.nvme_optimizer;
    strategy->nvme_weights = l->space->base.nvme_weights;
}

void rk_plan_set_recompute(const rk_plan_recompute *recompute, rk_strategy *strategy)
{
    strategy->recompute = recompute->kind;
    strategy->recompute_modules = recompute->modules;
    strategy->recompute_layers = recompute->layers;
}

/*
 * Frameworks tie sharding and offload to pp, to recompute, to precision and to each other, and to
 * nothing else: so a strategy without other degrees tells which lanes they run.
 */
static void list_lanes(const rk_plan_lists *l, rk_plan_pipe *pipe)
{
    const rk_strategy *given = &l->space->base;
    rk_strategy s = bare_strategy(l, pipe->pp);
    rk_plan_set_shape(&l->shapes[pipe->shape_first], &s);
    s.precision = given->precision;
    s.fp8_recipe = given->fp8_recipe;
    s.low_weights = given->low_weights && !given->nf4_weights; /* NF4 bears all lanes */
    s.low_activations = given->low_activations;
    s.dp = given->replicas;
    s.global_batch *= s.dp;
    for (int i = 0; i < l->recompute_count; i++) {
        rk_plan_set_recompute(&l->recomputes[i], &s);
        for (int lane = 0; lane < l->lane_count; lane++) {
            rk_plan_set_lane(l, lane, &s);
            if (rk_strategy_legal(l->model, NULL, &s, l->space->framework, NULL)) {
                pipe->legal_lanes[i] |= (uint64_t)1 << lane;
            }
        }
    }
}

rk_status rk_plan_list_pipes(rk_plan_lists *l, bool outline, rk_error *err)
{
    rk_status status = RK_OK;
    l->pipes = calloc(l->pp.count + 1, sizeof(*l->pipes));
    if (!l->pipes) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the pipeline degrees of a plan");
    }
    for (size_t i = 0; i < l->pp.count && !status; i++) {
        rk_plan_pipe *pipe = &l->pipes[l->pipe_count];
        *pipe = (rk_plan_pipe){
            .pp = l->pp.items[i],
            .shape_first = l->shape_count,
            .base_first = l->base_count,
            .block_first = l->block_count,
            .piece_first = l->piece_count,
        };
        status = add_shapes(l, pipe, err);
        status = status || outline ? status : list_all_held(l, pipe, err);
        if (pipe->shape_count > 0) {
            list_lanes(l, pipe);
            l->base_count +=
                pipe->base_count > pipe->shape_count ? pipe->base_count : pipe->shape_count;
            l->pipe_count++;
        }
    }
    return status;
}
