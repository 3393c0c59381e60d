/* SPDX-License-Identifier: Apache-2.0 */
#include "search/plan_space.h"

#include "base/error.h"
#include "estimate/stage.h"

#include <stdlib.h>
#include <string.h>

/* ---- checks -------------------------------------------------------------------------------- */

#define ACCELERATORS_MAX ((int64_t)1 << 30)
#define BATCH_MAX        ((int64_t)1 << 40)

static rk_status check_choices(const char *name, const rk_choices *choices, rk_error *err)
{
    if (choices->count < 0 || choices->count > RK_CHOICE_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "%d values of %s: give at most %d", choices->count,
                       name, RK_CHOICE_MAX);
    }
    for (int i = 0; i < choices->count; i++) {
        if (choices->values[i] < 1) {
            return rk_fail(err, RK_ERR_INVALID, "%s is %lld; it must be 1 or more", name,
                           (long long)choices->values[i]);
        }
    }
    return RK_OK;
}

static rk_status check_space(const rk_plan_space *s, rk_error *err)
{
    const struct {
        const char *name;
        const rk_choices *choices;
    } lists[] = {
        {"tp", &s->tp},
        {"cp", &s->cp},
        {"pp", &s->pp},
        {"vp", &s->vp},
        {"ep", &s->ep},
        {"etp", &s->etp},
        {"micro_batch", &s->micro_batch},
    };
    const struct {
        const char *name;
        unsigned bits, known;
    } masks[] = {
        {"schedule", s->schedules, (1U << RK_SCHEDULE_KIND_COUNT) - 1},
        {"sharding", s->shardings, (1U << (RK_SHARD_ALL + 1)) - 1},
        {"kind of recompute", s->recomputes, (1U << (RK_REC_FULL + 1)) - 1},
        {"kind of context parallelism", s->cp_kinds, (1U << (RK_CP_ULYSSES + 1)) - 1},
    };
    if (s->accelerators < 1 || s->accelerators > ACCELERATORS_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "%lld accelerators; give 1 to %lld",
                       (long long)s->accelerators, (long long)ACCELERATORS_MAX);
    }
    if (s->global_batch < 1 || s->global_batch > BATCH_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "a global batch of %lld sequences; give 1 to %lld",
                       (long long)s->global_batch, (long long)BATCH_MAX);
    }
    if (!(s->max_memory >= 0)) {
        return rk_fail(err, RK_ERR_INVALID, "at most %g bytes of memory; give 0 or more",
                       s->max_memory);
    }
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        if ((masks[i].bits & masks[i].known) == 0) {
            return rk_fail(err, RK_ERR_INVALID, "the space allows no %s", masks[i].name);
        }
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const rk_status status = check_choices(lists[i].name, lists[i].choices, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

/* ---- lists of values ----------------------------------------------------------------------- */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/*
 * Fills an ascending list of what divides `whole`: of the choices, or, when they are free, of all
 * up to `most`.
 */
static rk_status list_degrees(const rk_choices *choices, int64_t whole, int64_t most,
                              rk_int_list *list, rk_error *err)
{
    rk_status status = rk_divisors(whole, list, err);
    size_t kept = 0;
    for (size_t i = 0; i < list->count && !status; i++) {
        bool wanted = choices->count == 0 && list->items[i] <= most;
        for (int j = 0; j < choices->count; j++) {
            wanted = wanted || choices->values[j] == list->items[i];
        }
        if (wanted) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    return status;
}

/* What all layers with attention of so many heads, or with experts, can be split by. */
struct sizes {
    int64_t heads, experts, expert_width; /* greatest common divisors; 0: none */
    bool dense, latent;                   /* some layer is */
};

static struct sizes survey_model(const rk_model *model)
{
    struct sizes sizes = {0};
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        sizes.heads = common_divisor(type->attention.query_heads, sizes.heads);
        sizes.experts = common_divisor(type->moe.experts, sizes.experts);
        if (rk_layer_is_moe(type)) {
            sizes.expert_width = common_divisor(type->moe.expert_width, sizes.expert_width);
        }
        sizes.dense = sizes.dense || !rk_layer_is_moe(type);
        sizes.latent = sizes.latent || type->attention.kind == RK_ATTENTION_LATENT;
    }
    return sizes;
}

static rk_status list_all_degrees(rk_plan_lists *l, const struct sizes *sizes, rk_error *err)
{
    const rk_plan_space *s = l->space;
    const int64_t n = s->accelerators;
    const int64_t seq = s->base.seq;
    const int64_t experts = sizes->experts ? sizes->experts : 1;
    const int64_t width = sizes->experts ? sizes->expert_width : 1;
    rk_status status;
    (void)((status = list_degrees(&s->tp, common_divisor(n, sizes->heads), n, &l->tp, err)) ||
           (status = list_degrees(&s->cp, common_divisor(n, seq), n, &l->cp, err)) ||
           (status = list_degrees(&s->pp, n, l->model->layers + 2, &l->pp, err)) ||
           (status = list_degrees(&s->ep, common_divisor(n, experts), n, &l->ep, err)) ||
           (status = list_degrees(&s->etp, common_divisor(n, width), n, &l->etp, err)) ||
           (status = list_degrees(&s->micro_batch, s->global_batch, s->global_batch,
                                  &l->micro_batch, err)));
    return status;
}

/* The module sets that are in use: cheap element-wise outputs, up-projections, whole FFNs. */
static void list_recomputes(rk_plan_lists *l, const struct sizes *sizes)
{
    const rk_plan_space *s = l->space;
    const unsigned element_wise = RK_MODULE_NORM | RK_MODULE_ACTIVATION;
    const unsigned ffn =
        (sizes->dense ? RK_MODULE_MLP : 0U) | (sizes->experts ? RK_MODULE_MOE : 0U);
    const unsigned sets[] = {
        s->base.flash_attention ? 0 : RK_MODULE_CORE_ATTENTION,
        element_wise,
        sizes->latent ? RK_MODULE_MLA_UP : 0,
        sizes->latent ? element_wise | RK_MODULE_MLA_UP : 0,
        ffn,
    };
    if (s->recomputes & 1U << RK_REC_NONE) {
        l->recomputes[l->recompute_count++] = (rk_plan_recompute){RK_REC_NONE, 0};
    }
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        if ((s->recomputes & 1U << RK_REC_SELECTIVE) && sets[i]) {
            l->recomputes[l->recompute_count++] = (rk_plan_recompute){RK_REC_SELECTIVE, sets[i]};
        }
    }
    if (s->recomputes & 1U << RK_REC_FULL) {
        l->recomputes[l->recompute_count++] = (rk_plan_recompute){RK_REC_FULL, 0};
    }
}

static void list_bits(rk_plan_lists *l)
{
    const rk_plan_space *s = l->space;
    for (unsigned i = 0; i <= RK_CP_ULYSSES; i++) {
        if (s->cp_kinds & 1U << i) {
            l->cp_kinds[l->cp_kind_count++] = (rk_cp_kind)i;
        }
    }
    for (unsigned i = 0; i <= RK_SHARD_ALL; i++) {
        if (s->shardings & 1U << i) {
            l->shardings[l->sharding_count++] = (rk_plan_sharding){.kind = (rk_sharding)i};
        }
    }
    if (s->hybrid && s->base.replicas == 1 && (s->shardings & 1U << RK_SHARD_ALL)) {
        l->shardings[l->sharding_count++] = (rk_plan_sharding){RK_SHARD_ALL, .hybrid = true};
    }
    for (unsigned i = 0; i < RK_PLAN_OFFLOADS; i++) {
        if ((i & ~s->offloads) == 0) {
            l->offloads[l->offload_count++] = i;
        }
    }
    for (int i = 0; i < l->sharding_count * l->offload_count; i++) {
        l->hybrid_lanes |= (uint64_t)l->shardings[i / l->offload_count].hybrid << i;
    }
}

/* ---- shapes of the pipeline ---------------------------------------------------------------- */

void rk_plan_set_shape(const rk_plan_shape *shape, rk_strategy *strategy)
{
    strategy->schedule = shape->schedule;
    strategy->vp = shape->vp;
    strategy->first_stage_layers = shape->first_stage_layers;
    strategy->last_stage_layers = shape->last_stage_layers;
    strategy->count_embedding = shape->count_embedding;
    strategy->count_head = shape->count_head;
}

/* A strategy without anything else: all degrees 1 and microbatches enough for any schedule. */
static rk_strategy bare_strategy(const rk_plan_lists *l, int64_t pp)
{
    rk_strategy s = rk_strategy_defaults(l->model);
    s.pp = pp;
    s.global_batch = 2 * pp;
    return s;
}

/* Whether the framework splits the layers so. */
static bool is_legal_shape(const rk_plan_lists *l, int64_t pp, const rk_plan_shape *shape)
{
    rk_strategy s = bare_strategy(l, pp);
    rk_plan_set_shape(shape, &s);
    return rk_strategy_legal(l->model, NULL, &s, l->space->framework, NULL);
}

/* All layers of a chunk, or every eighth of them: what is checkpointed whole. */
static void list_layer_choices(const rk_model *model, int64_t pp, rk_plan_shape *shape)
{
    const int64_t stages = rk_schedule_stages(shape->schedule, pp, shape->vp);
    const int64_t most = (model->layers + stages - 1) / stages;
    shape->layer_choices[shape->layer_choice_count++] = 0;
    for (int64_t i = 1; i < RK_PLAN_LAYER_CHOICES; i++) {
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
        const size_t room = l->shape_count ? 2 * l->shape_count : 1;
        rk_plan_shape *shapes = realloc(l->shapes, room * sizeof(*shapes));
        if (!shapes) {
            return rk_fail(err, RK_ERR_MEMORY, "no memory for the layouts of a pipeline");
        }
        l->shapes = shapes;
    }
    rk_plan_shape *added = &l->shapes[l->shape_count];
    *added = *shape;
    list_layer_choices(l->model, pipe->pp, added);
    pipe->base_count += (uint64_t)added->layer_choice_count;
    pipe->shape_count++;
    l->shape_count++;
    return RK_OK;
}

/* The shape with the layout of the base, which means nothing on one rank. */
static rk_plan_shape base_shape(const rk_plan_lists *l, int64_t pp, rk_plan_shape shape)
{
    const rk_strategy *base = &l->space->base;
    if (pp > 1) {
        shape.first_stage_layers = base->first_stage_layers;
        shape.last_stage_layers = base->last_stage_layers;
        shape.count_embedding = base->count_embedding;
        shape.count_head = base->count_head;
    }
    return shape;
}

/* Middle ranks with as many layers as an even split rounded up, the two ends with the rest. */
static void trim_ends(const rk_model *model, int64_t pp, rk_plan_shape *shape)
{
    const int64_t v = shape->vp;
    const int64_t middle = (model->layers + pp * v - 1) / (pp * v) * v;
    const int64_t rest = model->layers - middle * (pp - 2);
    shape->last_stage_layers = rest / v / 2 * v;
    shape->first_stage_layers = rest - shape->last_stage_layers;
}

/* Layouts of a pipeline degree that the space asks for. */
struct layouts {
    bool counted; /* both ends taken as layers */
    bool trimmed; /* shorter ends, because nothing else divides */
};

/* Adds the layouts of a schedule; that of the base comes first. */
static rk_status add_layouts(rk_plan_lists *l, rk_plan_pipe *pipe, const struct layouts *layouts,
                             rk_plan_shape shape, rk_error *err)
{
    /* one or two stages hold the same with and without their ends counted */
    const bool counted =
        layouts->counted && rk_schedule_stages(shape.schedule, pipe->pp, shape.vp) > 2;
    rk_plan_shape choices[] = {base_shape(l, pipe->pp, shape), shape, shape};
    const bool wanted[] = {true, counted, layouts->trimmed};
    rk_status status = RK_OK;
    choices[1].count_embedding = choices[1].count_head = true;
    trim_ends(l->model, pipe->pp, &choices[2]);
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]) && !status; i++) {
        if (wanted[i] && is_legal_shape(l, pipe->pp, &choices[i])) {
            status = add_shape(l, pipe, &choices[i], err);
        }
    }
    return status;
}

/* A base with a layout of its own has no others. */
static struct layouts layouts_of(const rk_plan_lists *l, int64_t pp)
{
    const rk_strategy *base = &l->space->base;
    const rk_plan_shape even = {.schedule = RK_SCHEDULE_1F1B, .vp = 1};
    rk_plan_shape counted = even, trimmed = even;
    if (pp == 1 || base->first_stage_layers || base->last_stage_layers || base->count_embedding ||
        base->count_head) {
        return (struct layouts){false, false};
    }
    counted.count_embedding = counted.count_head = true;
    trim_ends(l->model, pp, &trimmed);
    return (struct layouts){
        .counted = true,
        .trimmed = trimmed.last_stage_layers > 0 && !is_legal_shape(l, pp, &even) &&
                   !is_legal_shape(l, pp, &counted),
    };
}

static bool is_chosen(const rk_choices *choices, int64_t value)
{
    for (int i = 0; i < choices->count; i++) {
        if (choices->values[i] == value) {
            return true;
        }
    }
    return choices->count == 0;
}

static rk_status add_shapes(rk_plan_lists *l, rk_plan_pipe *pipe, rk_error *err)
{
    const struct layouts layouts = layouts_of(l, pipe->pp);
    rk_status status = RK_OK;
    for (unsigned i = 0; i < RK_SCHEDULE_KIND_COUNT; i++) {
        const bool interleaved = i == RK_SCHEDULE_INTERLEAVED;
        const int64_t least = interleaved ? 2 : 1;
        const int64_t most = interleaved ? (l->model->layers + 2) / pipe->pp : 1;
        /* one rank runs its microbatches one after the other, whatever the schedule */
        const bool wanted = pipe->pp == 1 ? i == RK_SCHEDULE_1F1B : l->space->schedules >> i & 1;
        for (int64_t v = least; wanted && v <= most && !status; v++) {
            if (is_chosen(&l->space->vp, v)) {
                const rk_plan_shape shape = {.schedule = (rk_schedule_kind)i, .vp = v};
                status = add_layouts(l, pipe, &layouts, shape, err);
            }
        }
    }
    return status;
}

/* ---- equal ranks --------------------------------------------------------------------------- */

/* Whether two ranks hold the same blocks. */
static bool is_alike(const rk_model *model, const rk_strategy *s, int64_t a, int64_t b)
{
    for (int64_t i = 0; i < rk_stage_chunks(s); i++) {
        const rk_chunk x = rk_strategy_chunk(model, s, a, i);
        const rk_chunk y = rk_strategy_chunk(model, s, b, i);
        if (x.count != y.count || x.embedding != y.embedding || x.head != y.head ||
            memcmp(&model->type_of[x.first], &model->type_of[y.first], (size_t)x.count) != 0) {
            return false;
        }
    }
    return true;
}

/* The first rank that is like `rank`. */
static int64_t first_alike(const rk_plan_lists *l, const rk_plan_shape *shape, const rk_strategy *s,
                           int64_t rank)
{
    for (size_t i = 0; i < shape->kind_count; i++) {
        const int64_t kind = l->kinds.items[shape->kind_first + i];
        if (is_alike(l->model, s, kind, rank)) {
            return kind;
        }
    }
    return rank;
}

static rk_status list_ranks(rk_plan_lists *l, int64_t pp, rk_plan_shape *shape, rk_error *err)
{
    rk_strategy s = {.pp = pp};
    rk_status status = RK_OK;
    rk_plan_set_shape(shape, &s);
    shape->rank_first = l->ranks.count;
    shape->kind_first = l->kinds.count;
    for (int64_t r = 0; r < pp && !status; r++) {
        const int64_t kind = first_alike(l, shape, &s, r);
        status = rk_int_list_add(&l->ranks, kind, err);
        if (kind == r && !status) {
            status = rk_int_list_add(&l->kinds, r, err);
            shape->kind_count++;
        }
    }
    return status;
}

/* ---- lanes --------------------------------------------------------------------------------- */

/* Domains over which the ranks with the same parameters are spread. */
static int64_t count_domains(const rk_plan_lists *l, int64_t ranks, int64_t stride)
{
    return ranks / rk_group_of(l->system, ranks, stride).within[0];
}

void rk_plan_set_lane(const rk_plan_lists *l, int lane, rk_strategy *strategy)
{
    const unsigned offloads = l->offloads[lane % l->offload_count];
    const rk_plan_sharding *sharding = &l->shardings[lane / l->offload_count];
    strategy->sharding = sharding->kind;
    strategy->replicas = sharding->hybrid
                             ? count_domains(l, strategy->dp * strategy->cp, strategy->tp)
                             : l->space->base.replicas;
    strategy->offload_optimizer = offloads & 1;
    strategy->offload_activations = offloads >> 1 & 1;
    strategy->offload_weights = offloads >> 2 & 1;
}

void rk_plan_set_recompute(const rk_plan_recompute *recompute, rk_strategy *strategy)
{
    strategy->recompute = recompute->kind;
    strategy->recompute_modules = recompute->modules;
    strategy->recompute_layers = 0;
}

/*
 * Frameworks tie sharding and offload to pp, to recompute and to each other, and to nothing else:
 * so a strategy without other degrees tells which lanes they run.
 */
static void list_lanes(const rk_plan_lists *l, rk_plan_pipe *pipe)
{
    rk_strategy s = bare_strategy(l, pipe->pp);
    rk_plan_set_shape(&l->shapes[pipe->shape_first], &s);
    s.dp = l->space->base.replicas;
    s.global_batch *= s.dp;
    for (int i = 0; i < l->recompute_count; i++) {
        rk_plan_set_recompute(&l->recomputes[i], &s);
        for (int lane = 0; lane < l->sharding_count * l->offload_count; lane++) {
            rk_plan_set_lane(l, lane, &s);
            if (rk_strategy_legal(l->model, NULL, &s, l->space->framework, NULL)) {
                pipe->legal_lanes[i] |= (uint64_t)1 << lane;
            }
        }
    }
}

static rk_status list_pipes(rk_plan_lists *l, rk_error *err)
{
    rk_status status = RK_OK;
    l->pipes = calloc(l->pp.count + 1, sizeof(*l->pipes));
    if (!l->pipes) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory for the pipeline degrees of a plan");
    }
    for (size_t i = 0; i < l->pp.count && !status; i++) {
        rk_plan_pipe *pipe = &l->pipes[l->pipe_count];
        *pipe = (rk_plan_pipe){
            .pp = l->pp.items[i], .shape_first = l->shape_count, .base_first = l->base_count};
        status = add_shapes(l, pipe, err);
        for (size_t j = 0; j < pipe->shape_count && !status; j++) {
            status = list_ranks(l, pipe->pp, &l->shapes[pipe->shape_first + j], err);
        }
        if (pipe->shape_count > 0) {
            list_lanes(l, pipe);
            l->base_count += pipe->base_count;
            l->pipe_count++;
        }
    }
    return status;
}

/* ---- units --------------------------------------------------------------------------------- */

int64_t rk_plan_data_parallel(const rk_plan_lists *l, const rk_plan_unit *unit, int64_t pp)
{
    const int64_t n = l->space->accelerators;
    /* each divides n, so no product of two exceeds 2^60 */
    const int64_t inner = unit->tp * unit->cp;
    if (n % inner || n / inner % pp || n / pp % (unit->ep * unit->etp)) {
        return 0;
    }
    return n / inner / pp;
}

int rk_plan_shardings(const rk_plan_lists *l, const rk_plan_unit *unit, int64_t dp)
{
    const int64_t ranks = dp * unit->cp;
    if (ranks == 1 && unit->tp == unit->ep * unit->etp) {
        return 1;
    }
    const int64_t domains = count_domains(l, ranks, unit->tp);
    const bool hybrid = l->shardings[l->sharding_count - 1].hybrid;
    return l->sharding_count - (hybrid && (domains == 1 || domains == ranks));
}

/* Microbatches that a data-parallel degree leaves. */
static uint64_t count_microbatches(const rk_plan_lists *l, int64_t dp)
{
    uint64_t count = 0;
    if (l->space->global_batch % dp == 0) {
        for (size_t i = 0; i < l->micro_batch.count; i++) {
            count += l->space->global_batch / dp % l->micro_batch.items[i] == 0;
        }
    }
    return count;
}

static uint64_t count_unit(const rk_plan_lists *l, const rk_plan_unit *unit)
{
    uint64_t plain = 0, full = 0, count = 0; /* recomputes without and with choices of layers */
    for (int i = 0; i < l->recompute_count; i++) {
        plain += l->recomputes[i].kind != RK_REC_FULL;
        full += l->recomputes[i].kind == RK_REC_FULL;
    }
    for (size_t i = 0; i < l->pipe_count; i++) {
        const rk_plan_pipe *pipe = &l->pipes[i];
        const int64_t dp = rk_plan_data_parallel(l, unit, pipe->pp);
        if (dp) {
            const int lanes = rk_plan_shardings(l, unit, dp) * l->offload_count;
            count += count_microbatches(l, dp) * (uint64_t)lanes *
                     (plain * pipe->shape_count + full * pipe->base_count);
        }
    }
    return count * (uint64_t)rk_plan_cp_kinds(l, unit->cp);
}

static rk_status list_units(rk_plan_lists *l, rk_error *err)
{
    const size_t most = l->tp.count * l->cp.count * l->ep.count * l->etp.count;
    l->units = malloc((most + 1) * sizeof(*l->units));
    if (!l->units) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory for the units of a plan");
    }
    for (size_t i = 0; i < most; i++) {
        size_t rest = i;
        rk_plan_unit unit = {.first = l->total};
        unit.etp = l->etp.items[rest % l->etp.count];
        rest /= l->etp.count;
        unit.ep = l->ep.items[rest % l->ep.count];
        rest /= l->ep.count;
        unit.cp = l->cp.items[rest % l->cp.count];
        unit.tp = l->tp.items[rest / l->cp.count];
        /* free expert tensor groups stay inside tensor groups */
        if (l->space->etp.count || unit.tp % unit.etp == 0) {
            unit.count = count_unit(l, &unit);
        }
        if (unit.count) {
            l->units[l->unit_count++] = unit;
            l->total += unit.count;
        }
    }
    return RK_OK;
}

rk_status rk_plan_lists_init(const rk_model *model, const rk_system *system,
                             const rk_plan_space *space, rk_plan_lists *lists, rk_error *err)
{
    *lists = (rk_plan_lists){.model = model, .system = system, .space = space};
    rk_status status = check_space(space, err);
    if (!status) {
        const struct sizes sizes = survey_model(model);
        status = list_all_degrees(lists, &sizes, err);
        list_recomputes(lists, &sizes);
        list_bits(lists);
    }
    if (!status) {
        status = list_pipes(lists, err);
    }
    return status ? status : list_units(lists, err);
}

void rk_plan_lists_clear(rk_plan_lists *lists)
{
    rk_int_list_clear(&lists->tp);
    rk_int_list_clear(&lists->cp);
    rk_int_list_clear(&lists->pp);
    rk_int_list_clear(&lists->ep);
    rk_int_list_clear(&lists->etp);
    rk_int_list_clear(&lists->micro_batch);
    rk_int_list_clear(&lists->ranks);
    rk_int_list_clear(&lists->kinds);
    free(lists->pipes);
    free(lists->shapes);
    free(lists->units);
    *lists = (rk_plan_lists){0};
}
