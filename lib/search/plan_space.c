/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the value lists of a plan space and cuts it into units of work. */
#include "search/plan_lists.h"

#include "base/error.h"
#include "base/named.h"
#include "strategy/optimizer.h"
#include "strategy/strategy_fields.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks -------------------------------------------------------------------------------- */

/* Of any size: products of two do not overflow, and rules refuse more. */
#define LARGEST ((int64_t)1 << 30)

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

/* The numbers of a strategy that a space has several values of, by their places in both. */
#define DEGREE(member)                                                                             \
    {                                                                                              \
        offsetof(rk_plan_space, member), offsetof(rk_strategy, member)                             \
    }
static const struct {
    size_t choices, value;
} degrees[] = {
    DEGREE(tp), DEGREE(cp), DEGREE(pp), DEGREE(vp), DEGREE(ep), DEGREE(etp), DEGREE(micro_batch),
};

static rk_status check_degrees(const rk_plan_space *s, rk_error *err)
{
    for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
        const void *choices = (const char *)s + degrees[i].choices;
        const char *name = rk_strategy_key(rk_strategy_field_at(degrees[i].value));
        const rk_status status = check_choices(name, choices, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

static rk_status check_space(const rk_plan_space *s, rk_error *err)
{
    const rk_named_count sizes[] = {
        {"number of accelerators", s->accelerators},
        {"global batch", s->global_batch},
        {"sequence", s->base.seq},
    };
    const struct {
        const char *name;
        unsigned bits, known;
    } masks[] = {
        {"schedule", s->schedules, RK_SCHEDULES_ALL},
        {"sharding", s->shardings, (1U << (RK_SHARD_ALL + 1)) - 1},
        {"kind of recompute", s->recomputes, (1U << (RK_REC_FULL + 1)) - 1},
        {"kind of context parallelism", s->cp_kinds, (1U << (RK_CP_ULYSSES + 1)) - 1},
        {"order of ranks", s->orders, (1U << RK_ORDER_COUNT) - 1},
        {"set of offloads", s->offloads, RK_PLAN_ALL_OFFLOADS},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i].value < 1 || sizes[i].value > LARGEST) {
            return rk_fail(err, RK_ERR_INVALID, "the %s is %lld; it must be 1 to %lld",
                           sizes[i].name, (long long)sizes[i].value, (long long)LARGEST);
        }
    }
    if (s->recipe_count < 0 || s->recipe_count > RK_PLAN_RECIPE_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "%d recipes of states; give at most %d",
                       s->recipe_count, RK_PLAN_RECIPE_MAX);
    }
    if (!(s->max_memory >= 0)) {
        return rk_fail(err, RK_ERR_INVALID, "at most %g bytes of memory; give 0 or more",
                       s->max_memory);
    }
    if (!(s->risk >= 0 && s->risk <= RK_RISK_FITS)) {
        return rk_fail(err, RK_ERR_INVALID, "a risk of %g; give 0 to %g", s->risk, RK_RISK_FITS);
    }
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        if ((masks[i].bits & masks[i].known) == 0) {
            return rk_fail(err, RK_ERR_INVALID, "the space allows no %s", masks[i].name);
        }
    }
    return check_degrees(s, err);
}

/* ---- lists of values ----------------------------------------------------------------------- */

/* Fills an ascending list of the choices from `least` to `most` that divide `whole`. */
static rk_status list_degrees(const rk_choices *choices, int64_t whole, int64_t least, int64_t most,
                              rk_int_list *list, rk_error *err)
{
    assert(whole >= 1 && least >= 1);
    const rk_status status = rk_divisors(whole, list, err);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i] >= least && list->items[i] <= most &&
            rk_plan_allows(choices, list->items[i])) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    return status;
}

/* The degrees that split all layers with attention of so many heads, or with experts. */
struct sizes {
    int64_t heads, experts, expert_width; /* greatest common divisors; 0: none */
    bool dense, latent;                   /* some layer is */
};

static struct sizes survey_model(const rk_model *model)
{
    struct sizes sizes = {0};
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        sizes.heads = rk_common_divisor(type->attention.query_heads, sizes.heads);
        sizes.heads = rk_common_divisor(type->recurrence.heads, sizes.heads);
        sizes.experts = rk_common_divisor(type->moe.experts, sizes.experts);
        if (rk_layer_is_moe(type)) {
            sizes.expert_width = rk_common_divisor(type->moe.expert_width, sizes.expert_width);
        }
        sizes.dense = sizes.dense || !rk_layer_is_moe(type);
        sizes.latent = sizes.latent || rk_attention_is_latent(&type->attention);
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
    const int64_t tp = s->above_one & RK_DEGREE_TP ? 2 : 1;
    const int64_t cp = s->above_one & RK_DEGREE_CP ? 2 : 1;
    const int64_t pp = s->above_one & RK_DEGREE_PP ? 2 : 1;
    (void)((status =
                list_degrees(&s->tp, rk_common_divisor(n, sizes->heads), tp, n, &l->tp, err)) ||
           (status = list_degrees(&s->cp, rk_common_divisor(n, seq), cp, n, &l->cp, err)) ||
           (status = list_degrees(&s->pp, n, pp, l->model->layers + 2, &l->pp, err)) ||
           (status = list_degrees(&s->ep, rk_common_divisor(n, experts), 1, n, &l->ep, err)) ||
           (status = list_degrees(&s->etp, rk_common_divisor(n, width), 1, n, &l->etp, err)) ||
           (status = list_degrees(&s->micro_batch, s->global_batch, 1, s->global_batch,
                                  &l->micro_batch, err)));
    return status;
}

static void add_recompute(rk_plan_lists *l, rk_recompute_kind kind, unsigned modules)
{
    for (int i = 0; i < l->recompute_count; i++) {
        if (l->recomputes[i].kind == kind && l->recomputes[i].modules == modules) {
            return;
        }
    }
    const int64_t given = kind == RK_REC_FULL ? l->space->recompute_layers : 0;
    l->recomputes[l->recompute_count++] = (rk_plan_recompute){kind, modules, given > 0 ? given : 0};
}

/* The module sets that a framework tries: cheap element-wise outputs, up-projections, whole FFNs.
 */
static void list_modules(rk_plan_lists *l, const struct sizes *sizes,
                         const rk_framework_traits *framework)
{
    const unsigned has = framework->modules;
    const bool act = sizes->experts || !framework->expert_act;
    const unsigned element_wise = (RK_MODULE_NORM | (act ? RK_MODULE_ACTIVATION : 0U)) & has;
    const unsigned always = framework->always;
    const unsigned ffn =
        ((sizes->dense ? RK_MODULE_MLP : 0U) | (sizes->experts ? RK_MODULE_MOE : 0U)) & has;
    const unsigned latent = sizes->latent ? RK_MODULE_MLA_UP & has : 0U;
    const unsigned sets[] = {
        l->space->base.flash_attention ? 0U : RK_MODULE_CORE_ATTENTION & has,
        element_wise,
        RK_MODULE_OPERATORS & has,
        latent,
        latent ? element_wise | latent : 0U,
        ffn,
    };
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        if (sets[i]) {
            add_recompute(l, RK_REC_SELECTIVE, sets[i] | always);
        }
    }
}

static void list_recomputes(rk_plan_lists *l, const struct sizes *sizes)
{
    const rk_plan_space *s = l->space;
    if (s->recomputes & 1U << RK_REC_NONE) {
        add_recompute(l, RK_REC_NONE, 0);
    }
    for (int i = 0; i < RK_FRAMEWORK_COUNT; i++) {
        if ((s->recomputes & 1U << RK_REC_SELECTIVE) && !s->modules &&
            rk_framework_covers(s->framework, (rk_framework)i)) {
            list_modules(l, sizes, rk_framework_of((rk_framework)i));
        }
    }
    if ((s->recomputes & 1U << RK_REC_SELECTIVE) && s->modules) {
        add_recompute(l, RK_REC_SELECTIVE, s->modules);
    }
    if (s->recomputes & 1U << RK_REC_FULL) {
        add_recompute(l, RK_REC_FULL, 0);
    }
}

void rk_plan_recipes_of_all(const rk_model *model, const rk_state_request *wish,
                            rk_plan_space *space)
{
    space->recipe_count = 0;
    for (int i = 0; i < RK_FRAMEWORK_COUNT; i++) {
        const rk_framework framework = (rk_framework)i;
        if (rk_framework_of(framework)->all) {
            continue;
        }
        rk_strategy s = space->base;
        bool known = false;
        s.states = rk_framework_states(framework, s.precision, wish);
        rk_optimizer_set(s.optimizer, wish->weight == 2, &s);
        if (s.adapter_rank > 0) {
            rk_strategy_freeze(model, s.adapter_rank, s.adapter_modules, &s);
        }
        const rk_plan_recipe recipe = {rk_framework_of(framework)->sp, s.states};
        for (int j = 0; j < space->recipe_count; j++) {
            const rk_plan_recipe *other = &space->recipes[j];
            known = known || (other->sp == recipe.sp &&
                              memcmp(&other->states, &recipe.states, sizeof(s.states)) == 0);
        }
        if (!known) {
            space->recipes[space->recipe_count++] = recipe;
        }
    }
}

static void list_recipes(rk_plan_lists *l)
{
    const rk_plan_space *s = l->space;
    for (int i = 0; i < s->recipe_count; i++) {
        if (s->recipes[i].sp || !s->sp) {
            l->recipes[l->recipe_count] = s->recipes[i];
            l->recipes[l->recipe_count++].sp = s->recipes[i].sp && !s->no_sp;
        }
    }
    if (s->recipe_count == 0) {
        l->recipes[l->recipe_count++] =
            (rk_plan_recipe){rk_framework_of(s->framework)->sp && !s->no_sp, s->base.states};
    }
}

/* Shardings of the space that its framework runs; if it runs none, all: rules say why. */
static unsigned listed_shardings(const rk_plan_space *s)
{
    const rk_framework_traits *f = rk_framework_of(s->framework);
    /* replication that goes with no other degree; lanes of a base agree in their degrees */
    const unsigned plain = f->plain_alone ? 1U << RK_SHARD_NONE : 0U;
    const unsigned listed = s->shardings & f->shardings & ~plain;
    return listed ? listed : s->shardings;
}

/* The first lane with the same sharding and offloads that gathers and reduces as much. */
static int first_like(const rk_plan_lists *l, int lane)
{
    const rk_plan_lane *own = &l->lanes[lane];
    for (int i = own->number; i < lane; i += l->sharding_count * l->offload_count) {
        const rk_state_recipe *a = &l->lanes[i].recipe->states, *b = &own->recipe->states;
        if (memcmp(&a->gather, &b->gather, sizeof(a->gather)) == 0 &&
            memcmp(&a->reduce, &b->reduce, sizeof(a->reduce)) == 0) {
            return i;
        }
    }
    return lane;
}

static void list_lanes(rk_plan_lists *l)
{
    const int own = l->sharding_count * l->offload_count;
    const bool apart = l->recipe_count * own <= RK_PLAN_LANES;
    l->lane_count = apart ? l->recipe_count * own : own;
    for (int i = 0; i < l->lane_count; i++) {
        l->lanes[i] = (rk_plan_lane){
            .recipe = apart ? &l->recipes[i / own] : NULL,
            .sharding = l->shardings[i % own / l->offload_count],
            .offloads = l->offloads[i % l->offload_count],
            .number = i % own,
        };
        l->lanes[i].traffic = first_like(l, i);
        l->hybrid_lanes |= (uint64_t)l->lanes[i].sharding.hybrid << i;
    }
}

static void list_bits(rk_plan_lists *l)
{
    const rk_plan_space *s = l->space;
    for (unsigned i = 0; i < RK_ORDER_COUNT; i++) {
        if (s->orders & 1U << i) {
            l->orders[l->order_count++] = (rk_rank_order)i;
        }
    }
    for (unsigned i = 0; i <= RK_CP_ULYSSES; i++) {
        if (s->cp_kinds & 1U << i) {
            l->cp_kinds[l->cp_kind_count++] = (rk_cp_kind)i;
        }
    }
    const unsigned shardings = listed_shardings(s);
    for (unsigned i = 0; i <= RK_SHARD_ALL; i++) {
        if (shardings & 1U << i) {
            l->shardings[l->sharding_count++] = (rk_plan_sharding){.kind = (rk_sharding)i};
        }
    }
    if (s->hybrid && s->base.replicas == 1 && (shardings & 1U << RK_SHARD_ALL)) {
        l->shardings[l->sharding_count++] = (rk_plan_sharding){RK_SHARD_ALL, .hybrid = true};
    }
    for (unsigned i = 0; i < RK_PLAN_OFFLOADS; i++) {
        if (s->offloads >> i & 1U) {
            l->offloads[l->offload_count++] = i;
        }
    }
    list_lanes(l);
}

/* ---- units --------------------------------------------------------------------------------- */

/* 0: the accelerators cannot be split so, or the first order has placed all ranks alike. */
static int64_t data_parallel(const rk_plan_lists *l, const rk_plan_unit *unit, int64_t pp)
{
    const int64_t n = l->space->accelerators;
    /* each divides n, so no product of two exceeds 2^60 */
    const int64_t inner = unit->tp * unit->cp;
    if (n % inner || n / inner % pp || n / pp % (unit->ep * unit->etp)) {
        return 0;
    }
    const int64_t dp = n / inner / pp;
    if (l->space->dp && dp != l->space->dp) {
        return 0;
    }
    return unit->order != l->orders[0] && (pp == 1 || dp == 1) ? 0 : dp;
}

/*
 * The first so many shardings make a difference: one where no state has a second copy, not the
 * hybrid where the ranks of a domain are one or all.
 */
static int count_shardings(const rk_plan_lists *l, const rk_plan_unit *unit, int64_t pp, int64_t dp)
{
    assert(dp >= 1 && unit->cp >= 1);
    const int64_t ranks = dp * unit->cp;
    if (ranks == 1 && unit->tp == unit->ep * unit->etp) {
        return 1;
    }
    const rk_strategy strategy = {
        .order = unit->order, .tp = unit->tp, .cp = unit->cp, .pp = pp, .dp = dp};
    const int64_t domains = rk_plan_domains(l, &strategy);
    const bool hybrid = l->shardings[l->sharding_count - 1].hybrid;
    return l->sharding_count - (hybrid && (domains == 1 || domains == ranks));
}

rk_plan_degree rk_plan_degree_of(const rk_plan_lists *l, const rk_plan_unit *unit, int64_t pp)
{
    const int64_t dp = data_parallel(l, unit, pp), batch = l->space->global_batch;
    if (dp == 0 || batch % dp) {
        return (rk_plan_degree){.dp = 0};
    }
    return (rk_plan_degree){.dp = dp,
                            .samples = batch / dp,
                            .lanes = count_shardings(l, unit, pp, dp) * l->offload_count};
}

/* Micro-batches that a degree leaves. */
static uint64_t count_micro_batches(const rk_plan_lists *l, const rk_plan_degree *degree)
{
    uint64_t count = 0;
    for (size_t i = 0; degree->dp && i < l->micro_batch.count; i++) {
        count += degree->samples % l->micro_batch.items[i] == 0;
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
        const rk_plan_degree degree = rk_plan_degree_of(l, unit, pipe->pp);
        count += count_micro_batches(l, &degree) * (uint64_t)degree.lanes *
                 (plain * pipe->shape_count + full * pipe->base_count);
    }
    return count * (uint64_t)rk_plan_cp_kinds(l, unit->cp);
}

/* Without a tensor group, recipes with and without sequence parallelism are the same. */
static bool is_repeated(const rk_plan_lists *l, const rk_plan_unit *unit)
{
    for (const rk_plan_recipe *before = l->recipes; unit->tp == 1 && before < unit->recipe;
         before++) {
        if (memcmp(&before->states, &unit->recipe->states, sizeof(before->states)) == 0) {
            return true;
        }
    }
    return false;
}

uint64_t rk_plan_recipe_lanes(const rk_plan_lists *l, const rk_plan_recipe *recipe)
{
    const int own = l->sharding_count * l->offload_count;
    const int first = l->lanes[0].recipe ? (int)(recipe - l->recipes) * own : 0;
    return (((uint64_t)1 << own) - 1) << first;
}

uint64_t rk_plan_first_lanes(const rk_plan_lists *l, int count)
{
    uint64_t lanes = 0;
    for (int first = 0; first < l->lane_count; first += l->sharding_count * l->offload_count) {
        lanes |= (((uint64_t)1 << count) - 1) << first;
    }
    return lanes;
}

const rk_plan_unit *rk_plan_unit_with(const rk_plan_lists *l, const rk_plan_unit *unit,
                                      const rk_plan_recipe *recipe)
{
    for (const rk_plan_unit *u = l->units; u < l->units + l->unit_count; u++) {
        if (u->recipe == recipe && u->order == unit->order && u->tp == unit->tp &&
            u->cp == unit->cp && u->ep == unit->ep && u->etp == unit->etp) {
            return u;
        }
    }
    return NULL;
}

void rk_plan_set_unit(const rk_plan_unit *unit, rk_strategy *strategy)
{
    strategy->order = unit->order;
    strategy->tp = unit->tp;
    strategy->cp = unit->cp;
    strategy->ep = unit->ep;
    strategy->etp = unit->etp;
    strategy->sp = rk_strategy_splits_sequence(unit->tp, unit->recipe->sp);
    strategy->states = unit->recipe->states;
}

static rk_status list_units(rk_plan_lists *l, rk_error *err)
{
    const size_t most = (size_t)l->recipe_count * (size_t)l->order_count * l->tp.count *
                        l->cp.count * l->ep.count * l->etp.count;
    l->units = malloc((most + 1) * sizeof(*l->units));
    if (!l->units) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the units of a plan");
    }
    for (size_t i = 0; i < most; i++) {
        size_t rest = i;
        rk_plan_unit unit = {.first = l->total};
        unit.etp = l->etp.items[rest % l->etp.count];
        rest /= l->etp.count;
        unit.ep = l->ep.items[rest % l->ep.count];
        rest /= l->ep.count;
        unit.cp = l->cp.items[rest % l->cp.count];
        rest /= l->cp.count;
        unit.tp = l->tp.items[rest % l->tp.count];
        rest /= l->tp.count;
        unit.order = l->orders[rest % (size_t)l->order_count];
        unit.recipe = &l->recipes[rest / (size_t)l->order_count];
        /* free expert tensor groups stay inside tensor groups */
        if (l->space->etp.count || unit.tp % unit.etp == 0) {
            unit.count = is_repeated(l, &unit) ? 0 : count_unit(l, &unit);
        }
        if (unit.count) {
            l->units[l->unit_count++] = unit;
            l->total += unit.count;
        }
    }
    return RK_OK;
}

static rk_status fill_lists(const rk_model *model, const rk_system *system,
                            const rk_plan_space *space, bool outline, rk_plan_lists *lists,
                            rk_error *err)
{
    *lists = (rk_plan_lists){.model = model, .system = system, .space = space};
    rk_status status = check_space(space, err);
    if (!status) {
        const struct sizes sizes = survey_model(model);
        status = list_all_degrees(lists, &sizes, err);
        list_recomputes(lists, &sizes);
        list_recipes(lists);
        list_bits(lists);
    }
    if (!status) {
        status = rk_plan_list_pipes(lists, outline, err);
    }
    return status ? status : list_units(lists, err);
}

rk_status rk_plan_lists_init(const rk_model *model, const rk_system *system,
                             const rk_plan_space *space, rk_plan_lists *lists, rk_error *err)
{
    return fill_lists(model, system, space, false, lists, err);
}

rk_status rk_plan_lists_outline(const rk_model *model, const rk_system *system,
                                const rk_plan_space *space, rk_plan_lists *lists, rk_error *err)
{
    return fill_lists(model, system, space, true, lists, err);
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
    rk_int_list_clear(&lists->held);
    rk_int_list_clear(&lists->piece_of);
    free(lists->pipes);
    free(lists->shapes);
    free(lists->units);
    free(lists->blocks);
    free(lists->pieces);
    free(lists->floors);
    *lists = (rk_plan_lists){0};
}
