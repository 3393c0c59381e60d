/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates the mappings of a search space, and converts between a mapping and its index. */
#include "calculon/space.h"

#include "base/divisors.h"
#include "base/error.h"
#include "base/list.h"
#include "calculon/calculon_inputs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- settings ---------------------------------------------------------------------------- */

/* The settings of a cell type, in the order of enumeration, while they are counted or listed. */
struct setting_list {
    rk_space_setting *items; /* NULL: only count */
    uint16_t *ordinal;
    size_t count;
};

static void add_setting(struct setting_list *list, const rk_space_setting *setting)
{
    if (list->items) {
        list->ordinal[rk_space_setting_code(setting)] = (uint16_t)list->count;
        list->items[list->count] = *setting;
    }
    list->count++;
}

/* The innermost levels: offloading of weights, activations, optimizer, then fused activation. */
static void list_offloads(const rk_calculon_space *space, bool has_mem2, rk_space_setting s,
                          struct setting_list *list)
{
    const int activations = has_mem2 && s.recompute != RK_RECOMPUTE_FULL;
    for (int w = has_mem2; w >= 0; w--) {
        for (int a = activations; a >= 0; a--) {
            for (int o = has_mem2; o >= 0; o--) {
                for (int f = 0; f < space->fused_count; f++) {
                    s.weight_offload = w;
                    s.activations_offload = a;
                    s.optimizer_offload = o;
                    s.fused = space->fused[f];
                    add_setting(list, &s);
                }
            }
        }
    }
}

static void list_comms(const rk_calculon_space *space, int type, bool has_mem2, rk_space_setting s,
                       struct setting_list *list)
{
    const bool gathers = s.comm == RK_TP_RS_AG && s.recompute != RK_RECOMPUTE_FULL;
    const bool data_overlap = (type & RK_CELL_DATA) && !space->no_dp_overlap;
    const bool tensor_overlap = (type & RK_CELL_TENSOR) && !space->no_tp_overlap;
    for (int redo = gathers; redo >= 0; redo--) {
        for (int dov = data_overlap; dov >= 0; dov--) {
            for (int tov = 0; tov <= (tensor_overlap ? RK_OVERLAP_PIPE : RK_OVERLAP_NONE); tov++) {
                s.redo = redo;
                s.dp_overlap = dov;
                s.tp_overlap = (rk_tp_overlap)tov;
                list_offloads(space, has_mem2, s, list);
            }
        }
    }
}

static void list_settings(const rk_calculon_space *space, int type, bool has_mem2,
                          struct setting_list *list)
{
    const int sharding = (type & RK_CELL_DATA) != 0;
    list->count = 0;
    for (int rec = RK_RECOMPUTE_FULL; rec <= RK_RECOMPUTE_NONE; rec++) {
        for (int osh = sharding; osh >= 0; osh--) {
            for (int comm = RK_TP_AR; comm <= RK_TP_RS_AG; comm++) {
                const rk_space_setting s = {.recompute = (rk_recompute)rec,
                                            .optimizer_sharding = osh,
                                            .comm = (rk_tp_comm)comm};
                list_comms(space, type, has_mem2, s, list);
            }
        }
    }
}

static rk_status plan_settings(const rk_calculon_sys *sys, const rk_calculon_space *space,
                               rk_space_plan *plan, rk_error *err)
{
    const bool has_mem2 = sys->mem2.capacity > 0;
    for (int type = 0; type < RK_CELL_TYPES; type++) {
        struct setting_list list = {0};
        list_settings(space, type, has_mem2, &list);
        list.items = malloc(list.count * sizeof(*list.items));
        list.ordinal = calloc(RK_SETTING_CODES, sizeof(*list.ordinal));
        plan->settings[type] = list.items;
        plan->ordinal[type] = list.ordinal;
        if (!list.items || !list.ordinal) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the settings of a search");
        }
        list_settings(space, type, has_mem2, &list);
        plan->setting_count[type] = list.count;
    }
    return RK_OK;
}

/* ---- cells ------------------------------------------------------------------------------- */

/* Lists in progress while the plan is built. */
struct planner {
    const rk_calculon_app *app;
    const rk_calculon_sys *sys;
    const rk_calculon_space *space;
    rk_space_plan *plan;
    size_t cell_room;
    rk_int_list values, tensor, pipeline, divisors;
};

static rk_status add_cell(struct planner *pl, const rk_space_cell *cell, rk_error *err)
{
    rk_space_plan *plan = pl->plan;
    rk_space_cell *cells =
        rk_list_grow(plan->cells, plan->cell_count, &pl->cell_room, sizeof(*cells));
    if (!cells) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu pairs of degrees",
                       plan->cell_count + 1);
    }
    plan->cells = cells;
    plan->cells[plan->cell_count++] = *cell;
    return RK_OK;
}

/* Appends the divisors of n, with the condition that t divides divisor * factor, to the values. */
static rk_status add_divisors(struct planner *pl, int64_t n, int64_t t, int64_t factor,
                              size_t *first, size_t *count, rk_error *err)
{
    assert(n >= 1 && t >= 1 && factor >= 1);
    rk_status status = rk_divisors(n, &pl->divisors, err);
    *first = pl->values.count;
    for (size_t i = 0; i < pl->divisors.count && !status; i++) {
        const int64_t d = pl->divisors.items[i];
        /* (d * factor) % t without the product */
        if ((d % t) * (factor % t) % t == 0) {
            status = rk_int_list_add(&pl->values, d, err);
        }
    }
    *count = pl->values.count - *first;
    return status;
}

static rk_status plan_cell(struct planner *pl, int64_t t, int64_t p, rk_error *err)
{
    assert(t >= 1 && p >= 1 && pl->space->num_procs % t == 0);
    rk_space_plan *plan = pl->plan;
    const int64_t D = pl->space->num_procs / t / p;
    const int tiers = pl->sys->network_count;
    if (D > pl->space->max_batch_size) {
        return RK_OK;
    }
    const int64_t batch = pl->space->max_batch_size / D;
    rk_space_cell cell = {
        .t = t,
        .p = p,
        .D = D,
        .B = D * batch,
        .type = (t > 1 ? RK_CELL_TENSOR : 0) | (D > 1 ? RK_CELL_DATA : 0),
        .nets = {t > 1 ? tiers : 1, p > 1 ? tiers : 1, D > 1 ? tiers : 1},
        .first = plan->total,
    };
    const int64_t interleavings = p == 1 ? 1 : pl->app->num_blocks / p;
    rk_status status;
    if ((status = add_divisors(pl, interleavings, 1, 1, &cell.v_first, &cell.v_count, err)) ||
        (status =
             add_divisors(pl, batch, t, pl->app->seq_size, &cell.b_first, &cell.b_count, err))) {
        return status;
    }
    if (cell.b_count == 0) {
        return RK_OK;
    }
    if (pl->app->feedforward % t != 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the search reaches tensor_par %" PRId64
                       ", which divides hidden and attn_heads but not feedforward (%" PRId64
                       "): make feedforward a multiple of it",
                       t, pl->app->feedforward);
    }
    plan->total += (uint64_t)cell.v_count * plan->setting_count[cell.type] *
                   (uint64_t)cell.b_count * rk_space_net_count(&cell);
    return add_cell(pl, &cell, err);
}

static rk_status plan_cells(struct planner *pl, rk_error *err)
{
    const int64_t procs = pl->space->num_procs, blocks = pl->app->num_blocks;
    rk_status status = rk_divisors(procs, &pl->tensor, err);
    for (size_t i = 0; i < pl->tensor.count && !status; i++) {
        const int64_t t = pl->tensor.items[i];
        if (pl->app->hidden % t != 0 || pl->app->attn_heads % t != 0) {
            continue;
        }
        const int64_t rest = procs / t;
        status = rk_divisors(rest < blocks ? rest : blocks, &pl->pipeline, err);
        for (size_t j = 0; j < pl->pipeline.count && !status; j++) {
            const int64_t p = pl->pipeline.items[j];
            if (rest % p == 0 && blocks % p == 0) {
                status = plan_cell(pl, t, p, err);
            }
        }
    }
    return status;
}

rk_status rk_space_plan_init(const rk_calculon_app *app, const rk_calculon_sys *sys,
                             const rk_calculon_space *space, rk_space_plan *plan, rk_error *err)
{
    struct planner pl = {.app = app, .sys = sys, .space = space, .plan = plan};
    rk_status status;
    *plan = (rk_space_plan){0};
    if (!(status = rk_calculon_space_check(space, err)) &&
        !(status = rk_calculon_inputs_check(app, sys, err)) &&
        !(status = plan_settings(sys, space, plan, err))) {
        status = plan_cells(&pl, err);
    }
    plan->values = pl.values.items;
    rk_int_list_clear(&pl.tensor);
    rk_int_list_clear(&pl.pipeline);
    rk_int_list_clear(&pl.divisors);
    return status;
}

void rk_space_plan_clear(rk_space_plan *plan)
{
    for (int type = 0; type < RK_CELL_TYPES; type++) {
        free(plan->settings[type]);
        free(plan->ordinal[type]);
    }
    free(plan->cells);
    free(plan->values);
    *plan = (rk_space_plan){0};
}

/* ---- mappings ---------------------------------------------------------------------------- */

uint64_t rk_space_index(const rk_space_plan *plan, const rk_space_cell *cell,
                        const rk_space_setting *setting, const rk_space_place *place)
{
    const uint64_t ordinal = plan->ordinal[cell->type][rk_space_setting_code(setting)];
    uint64_t index = place->v_index * plan->setting_count[cell->type] + ordinal;
    index = index * cell->b_count + place->b_index;
    for (int i = 0; i < 3; i++) {
        index = index * (uint64_t)cell->nets[i] + (uint64_t)place->nets[i];
    }
    return cell->first + index;
}

rk_calculon_exe rk_space_mapping(const rk_space_plan *plan, const rk_calculon_space *space,
                                 const rk_space_cell *cell, const rk_space_setting *setting,
                                 const rk_space_place *place)
{
    return (rk_calculon_exe){
        .num_procs = space->num_procs,
        .tensor_par = cell->t,
        .pipeline_par = cell->p,
        .data_par = cell->D,
        .tensor_par_net = place->nets[0],
        .pipeline_par_net = place->nets[1],
        .data_par_net = place->nets[2],
        .batch_size = cell->B,
        .microbatch_size = plan->values[cell->b_first + place->b_index],
        .datatype = space->datatype,
        .fused_activation = setting->fused,
        .attention_type = RK_MULTIHEAD,
        .activation_recompute = setting->recompute,
        .pipeline_interleaving = plan->values[cell->v_first + place->v_index],
        .optimizer_sharding = setting->optimizer_sharding,
        .tensor_par_comm_type = setting->comm,
        .tensor_par_overlap = setting->tp_overlap,
        .seq_par_ag_redo = setting->redo,
        .data_par_overlap = setting->dp_overlap,
        .weight_offload = setting->weight_offload,
        .activations_offload = setting->activations_offload,
        .optimizer_offload = setting->optimizer_offload,
        .training = true,
    };
}

/* Visits the mappings of one (cell, v, setting).  Returns false to stop. */
struct visitor {
    const rk_space_plan *plan;
    const rk_calculon_space *space;
    bool (*visit)(void *user, uint64_t index, const rk_calculon_exe *exe);
    void *user;
    uint64_t index;
};

static bool visit_setting(struct visitor *v, const rk_space_cell *cell,
                          const rk_space_setting *setting, rk_space_place place)
{
    for (place.b_index = 0; place.b_index < cell->b_count; place.b_index++) {
        const uint64_t nets = rk_space_net_count(cell);
        for (uint64_t n = 0; n < nets; n++) {
            const uint64_t inner = (uint64_t)cell->nets[1] * (uint64_t)cell->nets[2];
            place.nets[0] = (int)(n / inner);
            place.nets[1] = (int)(n / (uint64_t)cell->nets[2] % (uint64_t)cell->nets[1]);
            place.nets[2] = (int)(n % (uint64_t)cell->nets[2]);
            const rk_calculon_exe exe = rk_space_mapping(v->plan, v->space, cell, setting, &place);
            if (!v->visit(v->user, v->index++, &exe)) {
                return false;
            }
        }
    }
    return true;
}

static bool visit_cell(struct visitor *v, const rk_space_cell *cell)
{
    rk_space_place place = {0};
    for (place.v_index = 0; place.v_index < cell->v_count; place.v_index++) {
        for (size_t i = 0; i < v->plan->setting_count[cell->type]; i++) {
            if (!visit_setting(v, cell, &v->plan->settings[cell->type][i], place)) {
                return false;
            }
        }
    }
    return true;
}

rk_status rk_calculon_space_each(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                 const rk_calculon_space *space,
                                 bool (*visit)(void *user, uint64_t index,
                                               const rk_calculon_exe *exe),
                                 void *user, rk_error *err)
{
    rk_space_plan plan;
    const rk_status status = rk_space_plan_init(app, sys, space, &plan, err);
    if (!status) {
        struct visitor v = {.plan = &plan, .space = space, .visit = visit, .user = user};
        for (size_t i = 0; i < plan.cell_count && visit_cell(&v, &plan.cells[i]); i++) {
        }
    }
    rk_space_plan_clear(&plan);
    return status;
}

rk_status rk_calculon_space_count(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                  const rk_calculon_space *space, uint64_t *count, rk_error *err)
{
    rk_space_plan plan;
    const rk_status status = rk_space_plan_init(app, sys, space, &plan, err);
    *count = plan.total;
    if (!status && space->mbs_break) {
        *count = 0;
        for (size_t i = 0; i < plan.cell_count; i++) {
            const rk_space_cell *cell = &plan.cells[i];
            *count += cell->v_count * plan.setting_count[cell->type] * rk_space_net_count(cell);
        }
    }
    rk_space_plan_clear(&plan);
    return status;
}
