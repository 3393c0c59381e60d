/* SPDX-License-Identifier: Apache-2.0 */
/* The readable twin of rk_plan_search: legality and cost of each strategy. */
#include "twin.h"

#include "estimate/stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct walk {
    const rk_model *model;
    rk_system system; /* with the memory of the space */
    const rk_stack *stack;
    const rk_plan_space *space;
    struct twin *twin;
};

/* What a framework runs, as its documents say; that of any is all of it. */
struct facts {
    unsigned schedules, shardings; /* searched, bits as in the space */
    bool even;                     /* stages hold equally many layers, */
    bool plain;                    /* and no other layout is known */
    bool some_layers;              /* of a stage are checkpointed whole */
    bool expert_act;               /* of activations, only those of experts are recomputed */
    unsigned modules, always;      /* that are recomputed: some, and in any case */
};

static const struct facts facts[RK_FRAMEWORK_COUNT] = {
    [RK_FRAMEWORK_ANY] = {.schedules = RK_SCHEDULES_ALL, .shardings = 0xf, .some_layers = true},
    [RK_FRAMEWORK_MEGATRON] = {0x06, 0xf, true, false, true, true, 0x3f, 0},
    [RK_FRAMEWORK_TORCHTITAN] = {0x27, 0xc, false, false, false, false, RK_MODULE_OPERATORS, 0},
    [RK_FRAMEWORK_DEEPSPEED] = {0x02, 0xf, false, false, true, false, 0x3f, 0},
    [RK_FRAMEWORK_MINDSPEED] = {0x06, 0xb, true, false, true, false, 0x3f, 0},
    [RK_FRAMEWORK_MAXTEXT] = {0x01, 0xb, true, true, false, false, 0x37,
                              RK_MODULE_NORM | RK_MODULE_ACTIVATION},
    [RK_FRAMEWORK_NEURONX] = {0x06, 0x3, false, false, false, false, 0x33, 0},
    [RK_FRAMEWORK_HUGGINGFACE] = {0x02, 0xd, false, false, false, false, 0, 0},
    [RK_FRAMEWORK_PRIMUS] = {0x1ae, 0xf, true, false, true, true, 0x3f, 0},
};

static const struct facts *facts_of(const struct walk *w)
{
    return &facts[w->space->framework];
}

static bool chosen(const rk_choices *choices, int64_t value)
{
    bool found = choices->count == 0;
    for (int i = 0; i < choices->count; i++) {
        found = found || choices->values[i] == value;
    }
    return found;
}

static int offloads(const rk_strategy *s)
{
    return s->offload_optimizer + s->offload_activations + s->offload_weights;
}

/* ---- one strategy -------------------------------------------------------------------------- */

/* Bytes that the fullest rank needs, and what its host lacks. */
static double needed_bytes(const struct walk *w, const rk_strategy *s)
{
    rk_cost_table table;
    rk_chunk chunks[RK_CHUNK_MAX];
    double most = 0;
    rk_cost_table_fill(w->model, &w->system, w->stack, s, &table);
    rk_strategy_chunks(w->model, s, chunks);
    for (int64_t r = 0; r < s->pp; r++) {
        const rk_stage stage = rk_stage_of(&table, s, &chunks[r * rk_stage_chunks(s)]);
        const double in_flight = rk_pipeline_in_flight(s->schedule, s->pp, rk_stage_chunks(s),
                                                       rk_strategy_microbatches(s), r);
        const rk_stage_need need = rk_stage_need_of(&table, s, &stage);
        const double lacks =
            rk_stage_host_at(&need, in_flight) - w->system.accelerator.host_capacity;
        const rk_stage_memory memory = rk_stage_memory_at(&need, in_flight);
        most = fmax(most, memory.total + fmax(lacks, 0));
    }
    return most;
}

static void keep(struct twin *twin, const rk_planned_strategy *planned)
{
    if (twin->fitting_count == twin->room) {
        twin->room = twin->room ? 2 * twin->room : 1024;
        twin->fitting = realloc(twin->fitting, twin->room * sizeof(*twin->fitting));
        if (!twin->fitting) {
            abort();
        }
    }
    twin->fitting[twin->fitting_count++] = *planned;
}

/* A combination of the space. */
static void meet(struct walk *w, const rk_strategy *s)
{
    struct twin *twin = w->twin;
    rk_planned_strategy planned = {
        .strategy = *s, .index = twin->counts.enumerated++, .needed = (double)twin->bases};
    if (!rk_strategy_legal(w->model, &w->system, s, w->space->framework, NULL)) {
        return;
    }
    twin->counts.legal++;
    rk_estimate_step(w->model, &w->system, w->stack, s, w->space->convention, &planned.estimate);
    if (planned.estimate.fits) {
        twin->counts.fitting++;
        keep(twin, &planned);
    }
    const double bytes = needed_bytes(w, s);
    if (twin->nearest.index == UINT64_MAX || bytes < twin->nearest_bytes) {
        twin->nearest = planned;
        twin->nearest_bytes = bytes;
    }
}

/* ---- the space, innermost loop first ------------------------------------------------------- */

static void walk_offloads(struct walk *w, rk_strategy s)
{
    for (unsigned bits = 0; bits < 8; bits++) {
        if (w->space->offloads >> bits & 1) {
            s.offload_optimizer = bits & 1;
            s.offload_activations = bits & 2;
            s.offload_weights = bits & 4;
            meet(w, &s);
        }
    }
}

/* Shardings differ when some parameter has a second copy. */
static void walk_shardings(struct walk *w, rk_strategy s)
{
    w->twin->bases++;
    const bool copies = s.dp * s.cp > 1 || s.tp * s.cp * s.dp > s.ep * s.etp;
    bool any = false;
    const unsigned both = w->space->shardings & facts_of(w)->shardings;
    const unsigned shardings = both ? both : w->space->shardings;
    for (unsigned i = RK_SHARD_NONE; i <= RK_SHARD_ALL; i++) {
        if ((shardings >> i & 1) && (copies || !any)) {
            s.sharding = (rk_sharding)i;
            any = true;
            walk_offloads(w, s);
        }
    }
    const int64_t ranks = s.dp * s.cp;
    const int64_t inside = rk_strategy_group(&w->system, &s, RK_GROUP_DATA).within[0];
    if (w->space->hybrid && (shardings >> RK_SHARD_ALL & 1) && s.replicas == 1 && 1 < inside &&
        inside < ranks) {
        s.sharding = RK_SHARD_ALL;
        s.replicas = ranks / inside;
        walk_offloads(w, s);
    }
}

/* Checkpointed layers of a chunk: all, then one to seven eighths of the largest. */
static void walk_layers(struct walk *w, rk_strategy s)
{
    const int64_t stages = rk_schedule_stages(s.schedule, s.pp, s.vp);
    const int64_t layers = (w->model->layers + stages - 1) / stages;
    if (s.recompute == RK_REC_FULL && w->space->recompute_layers >= 0) {
        s.recompute_layers = w->space->recompute_layers;
        if (s.recompute_layers <= layers) {
            walk_shardings(w, s);
        }
        return;
    }
    walk_shardings(w, s);
    for (int64_t i = 1; i < 8 && s.recompute == RK_REC_FULL && facts_of(w)->some_layers; i++) {
        if (i * layers / 8 > s.recompute_layers) {
            s.recompute_layers = i * layers / 8;
            walk_shardings(w, s);
        }
    }
}

/* Whether `units` layers split evenly over `stages`, or the framework does not mind. */
static bool splits(const struct walk *w, int64_t units, int64_t stages)
{
    return stages == 0 ? units == 0
                       : units >= stages && (!facts_of(w)->even || units % stages == 0);
}

/*
 * Layers of a last rank that is shorter for its head and modules of multi-token prediction, which
 * take as long as `extra` layers: all ranks take alike if it has (layers + extra) / pp - extra.
 */
static int64_t short_last(const struct walk *w, const rk_strategy *s)
{
    const rk_model *m = w->model;
    const int64_t others = (s->pp - 1) * s->vp;
    const double head = (double)(m->vocab * rk_model_embedding_width(m));
    double mean = 0, extra = head, off = HUGE_VAL;
    int64_t found = 0;
    for (int i = 0; i < m->layers; i++) {
        mean += (double)rk_layer_params_of(m, &m->types[m->type_of[i]]).counted / m->layers;
    }
    if (!s->mtp_before_head && m->mtp_layers > 0) {
        extra += (double)rk_model_params_of(m).mtp_active + m->mtp_layers * head;
    }
    extra /= mean;
    if (facts_of(w)->plain || rk_schedules[s->schedule]->placement != RK_PLACEMENT_LOOP ||
        (extra - 1) * (double)s->pp < 0.15 * m->layers) {
        return 0;
    }
    for (int64_t last = s->vp; last < m->layers; last += s->vp) {
        const double away = fabs((m->layers + extra) / (double)s->pp - extra - (double)last);
        if (last * s->pp < m->layers && (m->layers - last) % others == 0 && away < off) {
            found = last;
            off = away;
        }
    }
    return found;
}

/* Ranks between the ends have as many layers as an even split rounded up; each chunk has a layer.
 */
static void walk_shorter_ends(struct walk *w, rk_strategy s, int64_t chunks)
{
    const int64_t layers = w->model->layers, v = s.vp;
    const int64_t middle = (layers + s.pp * v - 1) / (s.pp * v) * v;
    const int64_t rest = layers - (s.pp - 2) * middle;
    const int64_t last = rest / v / 2 * v;
    const bool whole = s.pp == 2 || middle % chunks == 0;
    const bool divides = (rest % v == 0 && whole) || !facts_of(w)->even;
    if (divides && last >= chunks && (s.pp > 2 ? middle >= chunks : rest == layers)) {
        s.last_stage_layers = last;
        s.first_stage_layers = rest - s.last_stage_layers;
        walk_layers(w, s);
    }
}

/*
 * Ends of the model take the place of layers; where no layout divides, they have fewer of them; and
 * the last rank has fewer if its head takes long.
 */
static void walk_layouts(struct walk *w, rk_strategy s)
{
    const int64_t layers = w->model->layers, v = s.vp;
    const int64_t stages = rk_schedule_stages(s.schedule, s.pp, v);
    const bool own = s.first_stage_layers || s.last_stage_layers;
    /* some framework splits evenly only */
    const bool even = facts_of(w)->even || w->space->framework == RK_FRAMEWORK_ANY;
    const bool plain = facts_of(w)->plain;
    const bool none = !plain && even && (layers < s.pp || layers % s.pp) && (layers + 2) % s.pp;
    if (own || s.pp == 1) {
        const int64_t ends = s.first_stage_layers + s.last_stage_layers;
        const bool divides = s.first_stage_layers % v == 0 && s.last_stage_layers % v == 0;
        if (s.pp == 1) {
            s.first_stage_layers = s.last_stage_layers = 0;
            walk_layers(w, s);
        } else if (divides && !facts_of(w)->plain && splits(w, layers - ends, stages - 2 * v)) {
            walk_layers(w, s);
        }
        return;
    }
    if (splits(w, layers, stages)) {
        walk_layers(w, s);
    }
    if (!plain && stages > 2 && splits(w, layers + 2, stages)) {
        s.count_embedding = s.count_head = true;
        walk_layers(w, s);
        s.count_embedding = s.count_head = false;
    }
    if (none) {
        walk_shorter_ends(w, s, stages / s.pp);
    }
    s.first_stage_layers = 0;
    s.last_stage_layers = short_last(w, &s);
    if (s.last_stage_layers > 0) {
        walk_layers(w, s);
    }
}

/* Schedules that the framework runs, with their chunks. */
static void walk_schedules(struct walk *w, rk_strategy s)
{
    for (unsigned i = 0; i < RK_SCHEDULE_KIND_COUNT; i++) {
        const bool allowed = (w->space->schedules & facts_of(w)->schedules) >> i & 1;
        s.schedule = (rk_schedule_kind)i;
        if (s.pp == 1 ? i != RK_SCHEDULE_1F1B : !allowed) {
            continue;
        }
        if (i == RK_SCHEDULE_DUALPIPE && s.pp % 2) {
            continue;
        }
        for (int64_t v = 1; v <= w->model->layers + 2; v++) {
            if ((v > 1) == (i == RK_SCHEDULE_INTERLEAVED) && chosen(&w->space->vp, v)) {
                s.vp = v;
                s.pp_overlap = w->space->base.pp_overlap && (v > 1 || w->space->overlaps_stated);
                walk_layouts(w, s);
            }
        }
    }
}

static void walk_pipelines(struct walk *w, rk_strategy s)
{
    const int64_t n = w->space->accelerators;
    for (int64_t pp = 1; pp <= n; pp++) {
        if (n % (s.tp * s.cp * pp) || !chosen(&w->space->pp, pp) ||
            (pp == 1 && w->space->above_one & RK_DEGREE_PP)) {
            continue;
        }
        s.pp = pp;
        s.dp = n / (s.tp * s.cp * pp);
        /* pipeline before data is data before pipeline where there is one of either */
        const bool again = s.order == RK_ORDER_PIPELINE_DATA && (pp == 1 || s.dp == 1) &&
                           (w->space->orders >> RK_ORDER_DATA_PIPELINE & 1);
        if (!again && s.tp * s.cp * s.dp % (s.ep * s.etp) == 0 &&
            s.global_batch % (s.micro_batch * s.dp) == 0) {
            walk_schedules(w, s);
        }
    }
}

static void walk_recomputes(struct walk *w, rk_strategy s)
{
    const rk_model *model = w->model;
    bool moe = false, dense = false, latent = false;
    for (int i = 0; i < model->type_count; i++) {
        moe = moe || model->types[i].moe.experts > 0;
        dense = dense || model->types[i].moe.experts == 0;
        latent = latent || rk_attention_is_latent(&model->types[i].attention);
    }
    unsigned tried[32];
    size_t count = 0;
    for (int f = RK_FRAMEWORK_ANY + 1; f < RK_FRAMEWORK_COUNT; f++) {
        const struct facts *has = &facts[f];
        const bool act = moe || !has->expert_act;
        const unsigned cheap = (RK_MODULE_NORM | (act ? RK_MODULE_ACTIVATION : 0U)) & has->modules;
        const unsigned up = latent ? RK_MODULE_MLA_UP & has->modules : 0U;
        const unsigned sets[] = {
            s.flash_attention ? 0U : RK_MODULE_CORE_ATTENTION & has->modules,
            cheap,
            RK_MODULE_OPERATORS & has->modules,
            up,
            up ? cheap | up : 0U,
            ((dense ? RK_MODULE_MLP : 0U) | (moe ? RK_MODULE_MOE : 0U)) & has->modules,
        };
        if (w->space->framework != RK_FRAMEWORK_ANY && (int)w->space->framework != f) {
            continue;
        }
        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
            const unsigned modules = sets[i] ? sets[i] | has->always : 0U;
            bool known = false;
            for (size_t j = 0; j < count; j++) {
                known = known || tried[j] == modules;
            }
            if (modules && !known) {
                tried[count++] = modules;
            }
        }
    }
    if (w->space->recomputes >> RK_REC_NONE & 1) {
        walk_pipelines(w, s);
    }
    for (size_t i = 0; i < count; i++) {
        if (w->space->recomputes >> RK_REC_SELECTIVE & 1) {
            s.recompute = RK_REC_SELECTIVE;
            s.recompute_modules = tried[i];
            walk_pipelines(w, s);
        }
    }
    if (w->space->recomputes >> RK_REC_FULL & 1) {
        s.recompute = RK_REC_FULL;
        s.recompute_modules = 0;
        walk_pipelines(w, s);
    }
}

static void walk_microbatches(struct walk *w, rk_strategy s)
{
    bool any = false;
    for (unsigned kind = 0; kind <= RK_CP_ULYSSES; kind++) {
        if (!(w->space->cp_kinds >> kind & 1) || (s.cp == 1 && any)) {
            continue;
        }
        any = true;
        s.cp_kind = (rk_cp_kind)kind;
        for (s.micro_batch = 1; s.micro_batch <= s.global_batch; s.micro_batch++) {
            if (s.global_batch % s.micro_batch == 0 &&
                chosen(&w->space->micro_batch, s.micro_batch)) {
                walk_recomputes(w, s);
            }
        }
    }
}

/* Whether a degree divides heads, experts and their widths in all layers. */
static bool divides_model(const rk_model *model, const rk_strategy *s)
{
    bool moe = false;
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        if (type->attention.query_heads % s->tp) {
            return false;
        }
        if (type->moe.experts && (type->moe.experts % s->ep || type->moe.expert_width % s->etp)) {
            return false;
        }
        moe = moe || type->moe.experts;
    }
    return moe || (s->ep == 1 && s->etp == 1);
}

static void walk_degrees(struct walk *w, rk_strategy s, bool sp, bool repeated)
{
    const int64_t n = w->space->accelerators;
    for (s.tp = 1; s.tp <= n; s.tp++) {
        for (s.cp = 1; s.cp <= n; s.cp++) {
            for (s.ep = 1; s.ep <= n; s.ep++) {
                for (s.etp = 1; s.etp <= n; s.etp++) {
                    s.sp = s.tp > 1 && sp;
                    if ((s.tp > 1 || !repeated) && chosen(&w->space->tp, s.tp) &&
                        (s.tp > 1 || !(w->space->above_one & RK_DEGREE_TP)) &&
                        (s.cp > 1 || !(w->space->above_one & RK_DEGREE_CP)) &&
                        chosen(&w->space->cp, s.cp) && chosen(&w->space->ep, s.ep) &&
                        chosen(&w->space->etp, s.etp) &&
                        (w->space->etp.count || s.tp % s.etp == 0) && s.seq % s.cp == 0 &&
                        divides_model(w->model, &s)) {
                        walk_microbatches(w, s);
                    }
                }
            }
        }
    }
}

/* The fastest first; of equal ones in a base the one that offloads least. */
static int by_time(const void *a, const void *b)
{
    const rk_planned_strategy *x = a, *y = b;
    const int more = x->needed == y->needed ? offloads(&x->strategy) - offloads(&y->strategy) : 0;
    if (x->estimate.step < y->estimate.step || x->estimate.step > y->estimate.step) {
        return x->estimate.step < y->estimate.step ? -1 : 1;
    }
    return more ? more : (x->index > y->index) - (x->index < y->index);
}

/* Whether b is a with other sharding and offload, and takes as long. */
static bool is_variant(const rk_planned_strategy *a, const rk_planned_strategy *b)
{
    return a->needed == b->needed && a->strategy.replicas == b->strategy.replicas &&
           b->estimate.step - a->estimate.step <= 1e-4 * a->estimate.step;
}

/* Keeps of sorted strategies those that are no variant of one before. */
static void drop_variants(struct twin *twin)
{
    size_t kept = 0;
    for (size_t i = 0; i < twin->fitting_count; i++) {
        bool differs = true;
        for (size_t j = kept; j > 0 && differs; j--) {
            const rk_planned_strategy *before = &twin->fitting[j - 1];
            differs = !is_variant(before, &twin->fitting[i]);
            if (twin->fitting[i].estimate.step > before->estimate.step * 1.001) {
                break; /* those before are faster still */
            }
        }
        if (differs) {
            twin->fitting[kept++] = twin->fitting[i];
        }
    }
    twin->fitting_count = kept;
    for (size_t i = 0; i < kept; i++) {
        twin->fitting[i].needed = 0;
    }
}

void twin_run(const rk_model *model, const rk_system *system, const rk_stack *stack,
              const rk_plan_space *space, struct twin *twin)
{
    struct walk w = {model, *system, stack, space, twin};
    rk_strategy s = space->base;
    *twin = (struct twin){.nearest = {.index = UINT64_MAX}};
    if (space->max_memory > 0) {
        w.system.accelerator.memory_usable = space->max_memory;
    }
    s.global_batch = space->global_batch;
    for (int i = 0; i < (space->recipe_count ? space->recipe_count : 1); i++) {
        const rk_plan_recipe *recipe = &space->recipes[i];
        bool repeated = false; /* without a tensor group: the same states came before */
        s.states = space->recipe_count ? recipe->states : space->base.states;
        for (int j = 0; j < i; j++) {
            repeated = repeated || memcmp(&space->recipes[j].states, &recipe->states,
                                          sizeof(recipe->states)) == 0;
        }
        for (unsigned order = 0; order < RK_ORDER_COUNT; order++) {
            s.order = (rk_rank_order)order;
            if (space->orders >> order & 1) {
                walk_degrees(&w, s,
                             space->recipe_count ? recipe->sp
                                                 : space->framework != RK_FRAMEWORK_DEEPSPEED,
                             repeated);
            }
        }
    }
    if (twin->fitting_count) {
        qsort(twin->fitting, twin->fitting_count, sizeof(*twin->fitting), by_time);
        drop_variants(twin);
    }
}
