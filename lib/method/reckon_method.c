/* SPDX-License-Identifier: Apache-2.0 */
/* The reckon model. */
#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "method/brief.h"
#include "method/estimate_fields.h"
#include "method/reckon_answer.h"
#include "method/reckon_candidate.h"
#include "method/reckon_shortage.h"
#include "method/reshape.h"
#include "method/rows.h"
#include "method/team_search.h"
#include "request/shared_documents.h"
#include "search/bounded_plan.h"
#include "stack/stack_doc.h"
#include "system/system_doc.h"
#include "work/shared_work.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE 400000 /* strategies: tens of milliseconds */

/* Size of a space from which bounds are faster than an exhaustive search, see docs/search.md. */
#define BOUNDS_PAY_FROM 1000000

/* ---- the problem, from what is asked ------------------------------------------------------- */

static rk_status load_system(rk_problem *problem, const rk_source *source, rk_error *err)
{
    rk_system *system = &problem->reckon.inputs.system;
    rk_system_clear(system);
    const rk_status status = source->name
                                 ? rk_documents_system(source->documents, source->name, system, err)
                                 : rk_system_from_json(source->object, system, err);
    problem->reckon.memory_usable = system->accelerator.memory_usable;
    problem->reckon.node = 0;
    problem->reckon.tier_count = system->tier_count;
    memcpy(problem->reckon.tiers, system->tiers, sizeof(system->tiers));
    return status;
}

/* Takes back the size of nodes of another request; the machine is as it was loaded. */
static void restore_nodes(rk_problem *problem, int64_t node)
{
    rk_system *system = &problem->reckon.inputs.system;
    if (problem->reckon.node != node) {
        system->tier_count = problem->reckon.tier_count;
        memcpy(system->tiers, problem->reckon.tiers, sizeof(system->tiers));
        problem->reckon.node = node;
    }
}

static rk_status load(rk_problem *problem, rk_document_kind kind, const rk_source *source,
                      rk_error *err)
{
    rk_inputs *inputs = &problem->reckon.inputs;
    if (kind == RK_DOCUMENT_MODEL) {
        return source->name
                   ? rk_documents_model(source->documents, source->name, &inputs->model, err)
                   : rk_model_read(source->object, &inputs->model, err);
    }
    if (kind == RK_DOCUMENT_SYSTEM) {
        return load_system(problem, source, err);
    }
    assert(kind == RK_DOCUMENT_STACK);
    problem->reckon.has_usual = false;
    return source->name ? rk_stack_load(source->name, &inputs->software.stack, err)
                        : rk_stack_from_json(source->object, &inputs->software.stack, err);
}

static void clear(rk_problem *problem)
{
    rk_inputs_clear(&problem->reckon.inputs);
}

/*
 * Framework, stack and limits. Without a given stack, the usual one is looked up again only when
 * the framework or the generation has changed.
 */
static rk_status settle(rk_problem *problem, const rk_request *request, rk_error *err)
{
    rk_inputs *inputs = &problem->reckon.inputs;
    const rk_generation generation = inputs->system.accelerator.generation;
    const bool given = problem->reckon.stack_given;
    const bool known = given || (problem->reckon.has_usual &&
                                 problem->reckon.usual_framework == request->framework &&
                                 problem->reckon.usual_generation == generation);
    problem->reckon.has_usual = !given;
    problem->reckon.usual_framework = request->framework;
    problem->reckon.usual_generation = generation;
    inputs->system.accelerator.memory_usable = problem->reckon.memory_usable;
    restore_nodes(problem, request->gpus_per_node);
    return rk_request_apply(request, known, inputs, err);
}

static rk_status read_space(rk_problem *problem, const void *request, bool search, rk_error *err)
{
    const rk_request *r = request;
    const rk_inputs *inputs = &problem->reckon.inputs;
    const rk_status status = settle(problem, r, err);
    problem->reckon.space = (rk_plan_space){.accelerators = r->accelerators,
                                            .global_batch = r->global_batch,
                                            .framework = inputs->software.framework,
                                            .convention = inputs->software.convention};
    return status || !search ? status : rk_request_space(r, inputs, &problem->reckon.space, err);
}

static rk_request_view view(const void *request)
{
    const rk_request *r = request;
    return (rk_request_view){.model = r->model,
                             .system = r->system,
                             .documents = r->documents,
                             .threads = r->threads,
                             .top = (size_t)r->top,
                             .kind = rk_plan_kind(r),
                             .json = r->json,
                             .csv = r->csv,
                             .output = r->output};
}

static int64_t *requested_accelerators(void *request)
{
    return &((rk_request *)request)->accelerators;
}

static void allow_offload(rk_problem *problem, const void *request)
{
    if (!((const rk_request *)request)->offloads) {
        problem->reckon.space.offloads = RK_PLAN_ALL_OFFLOADS;
    }
}

static int64_t batch(const rk_problem *problem)
{
    return problem->reckon.space.global_batch;
}

static int64_t seq(const rk_problem *problem)
{
    return problem->reckon.space.base.seq;
}

/* ---- searches ------------------------------------------------------------------------------ */

static rk_status count_strategies(const rk_problem *problem, uint64_t *strategies, rk_error *err)
{
    return rk_plan_count(&problem->reckon.inputs.model, &problem->reckon.inputs.system,
                         &problem->reckon.space, strategies, err);
}

rk_candidate rk_reckon_candidate(const rk_problem *problem, const rk_planned_strategy *planned)
{
    const rk_estimate *e = &planned->estimate;
    return (rk_candidate){
        .fits = e->fits,
        .risky = e->fits && problem->reckon.space.risk > 0 && e->risk > problem->reckon.space.risk,
        .step = e->step,
        .rate = (double)problem->reckon.space.global_batch / e->step,
        .efficiency = e->mfu,
        .memory = e->memory.total,
        .offloaded = e->host_bytes,
        .score = -e->step,
        .index = planned->index,
        .strategy = planned->strategy,
        .estimate = *e,
    };
}

/*
 * Searches again where nothing is within the risk, but something fits: at the least of some higher
 * risks that the strategy that needs least memory is within.
 */
static rk_status search_riskier(const rk_problem *problem, const rk_search_control *control,
                                bool by_bounds, size_t top, const rk_planned_strategy *least,
                                rk_planned_strategy *planned, size_t *found, rk_error *err)
{
    rk_plan_counts counts;
    rk_bounded_counts bounded;
    static const double risks[] = {0.2, 0.3, 0.4, RK_RISK_FITS};
    const rk_inputs *inputs = &problem->reckon.inputs;
    rk_plan_space space = problem->reckon.space;
    for (size_t i = 0; i < COUNT(risks) && space.risk < least->estimate.risk; i++) {
        space.risk = rk_max(risks[i], problem->reckon.space.risk);
    }
    return by_bounds
               ? rk_plan_search_bounded(&inputs->model, &inputs->system, &inputs->software.stack,
                                        &space, control, top, planned, found, &bounded, err)
               : rk_plan_search(&inputs->model, &inputs->system, &inputs->software.stack, &space,
                                control, top, planned, found, NULL, &counts, err);
}

/* Hands out what a search has found, and the strategy that needs least memory. */
static void hand_out(const rk_problem *problem, const rk_planned_strategy *planned, size_t found,
                     const rk_planned_strategy *least, rk_candidate *candidates,
                     rk_candidate *nearest)
{
    for (size_t i = 0; i < found; i++) {
        candidates[i] = rk_reckon_candidate(problem, &planned[i]);
    }
    if (nearest) {
        *nearest = least->index != UINT64_MAX ? rk_reckon_candidate(problem, least)
                                              : (rk_candidate){.index = UINT64_MAX};
    }
}

static rk_status search(const rk_problem *problem, rk_team *team, const rk_search_control *control,
                        size_t top, rk_candidate *candidates, size_t *found, rk_candidate *nearest,
                        uint64_t counts[RK_METHOD_COUNTS], rk_error *err)
{
    assert(top >= 1);
    rk_planned_strategy least = {.index = UINT64_MAX}, *planned = calloc(top, sizeof(*planned));
    rk_plan_counts searched = {0};
    *found = 0;
    if (!planned) {
        const rk_status failed = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
        rk_share_leave(team, err);
        return failed;
    }
    rk_status status =
        rk_plan_search_shared(team, &problem->reckon.inputs.model, &problem->reckon.inputs.system,
                              &problem->reckon.inputs.software.stack, &problem->reckon.space,
                              control, top, planned, found, &least, &searched, err);
    const bool risky = !status && !team && *found == 0 && least.index != UINT64_MAX;
    if (risky && least.estimate.fits) {
        status = search_riskier(problem, control, false, top, &least, planned, found, err);
    }
    counts[0] = searched.enumerated;
    counts[1] = searched.legal;
    counts[2] = searched.fitting;
    least.index = status ? UINT64_MAX : least.index;
    hand_out(problem, planned, status ? 0 : *found, &least, candidates, nearest);
    free(planned);
    return status;
}

static rk_status search_nearest(const rk_problem *problem, const rk_search_control *control,
                                size_t top, rk_candidate *candidates, size_t *found,
                                rk_candidate *nearest, rk_error *err)
{
    assert(top >= 1);
    const rk_inputs *inputs = &problem->reckon.inputs;
    rk_planned_strategy least, *planned = calloc(top, sizeof(*planned));
    *found = 0;
    if (!planned) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
    }
    rk_status status =
        rk_plan_find_nearest(&inputs->model, &inputs->system, &inputs->software.stack,
                             &problem->reckon.space, control, false, &least, err);
    if (!status && least.index != UINT64_MAX && least.estimate.fits) {
        status = search_riskier(problem, control, true, top, &least, planned, found, err);
    }
    least.index = status ? UINT64_MAX : least.index;
    hand_out(problem, planned, status ? 0 : *found, &least, candidates, nearest);
    free(planned);
    return status;
}

/* Remembers what a search found. */
static void remember(const rk_accelerator *a, const rk_planned_strategy *planned, size_t found,
                     rk_known_bounds *bounds)
{
    bounds->bests[bounds->searches++ % RK_KNOWN_BESTS] =
        (rk_known_best){.usable = a->memory_usable,
                        .host_capacity = a->host_capacity,
                        .host_bandwidth = a->host_bandwidth,
                        .found = found > 0,
                        .best = planned[0]};
}

/*
 * Searches with the most memory that the bounds hold for, in at most `longest` seconds: what is
 * best there and fits in less is best there, too.
 */
static rk_status search_largest(const rk_system *largest, double longest, rk_known_bounds *known,
                                rk_error *err)
{
    rk_planned_strategy best;
    rk_bounded_counts counts;
    size_t found;
    rk_status status = rk_plan_bounds_turn(known->bounds, largest, 1, err);
    status = status ? status
                    : rk_plan_bounds_search_again(known->bounds, longest, 1, &best, &found, &counts,
                                                  err);
    if (!status) {
        remember(&largest->accelerator, &best, found, known);
    }
    return status;
}

/* Searches from scratch, and keeps the bounds for the searches after it. */
static rk_status open_bounds(const rk_problem *problem, rk_known_bounds *known,
                             const rk_search_control *control, size_t top,
                             rk_planned_strategy *planned, size_t *found, rk_bounded_counts *counts,
                             rk_error *err)
{
    const rk_inputs *inputs = &problem->reckon.inputs;
    rk_system largest = inputs->system;
    rk_known_bounds_clear(known);
    known->most_memory = rk_max(rk_max(known->most_memory, problem->reckon.memory_usable),
                                largest.accelerator.memory_usable);
    largest.accelerator.memory_usable = known->most_memory;
    rk_status status = rk_plan_bounds_open(&inputs->model, &largest, &inputs->software.stack,
                                           &problem->reckon.space, control, &known->bounds, err);
    status = status ? status : rk_plan_bounds_turn(known->bounds, &inputs->system, 1, err);
    status =
        status ? status : rk_plan_bounds_search(known->bounds, top, planned, found, counts, err);
    if (!status) {
        known->strategies = counts->total;
        remember(&inputs->system.accelerator, planned, *found, known);
    }
    return !status && top == 1 && inputs->system.accelerator.memory_usable < known->most_memory
               ? search_largest(&largest, *found ? planned->estimate.step : 0, known, err)
               : status;
}

/* What is known of a problem before it is searched. */
struct foreknowledge {
    bool settled; /* `best` is the answer, or nothing fits */
    bool holds;   /* `best`, the fastest that other searches found, is within the risk here */
    rk_planned_strategy best;
};

/* Whether nothing fits or is faster here that did not or was not in another search. */
static bool offers_no_more(const rk_accelerator *a, const rk_known_best *other)
{
    return a->memory_usable <= other->usable && a->host_capacity <= other->host_capacity &&
           a->host_bandwidth <= other->host_bandwidth;
}

/* Predicts here what another search found. */
static rk_status look_at(const rk_problem *problem, const rk_known_best *other,
                         struct foreknowledge *known, rk_error *err)
{
    const double risk = problem->reckon.space.risk;
    const rk_setting setting = rk_setting_of(&problem->reckon.inputs);
    const rk_estimate *estimate = &known->best.estimate;
    rk_planned_strategy best = other->best;
    const bool less = offers_no_more(&setting.system->accelerator, other);
    if (!other->found) {
        known->settled = less;
        return RK_OK;
    }
    const rk_status status =
        rk_predict_estimate(&setting, &best.strategy, &best.estimate, NULL, err);
    if (status || !best.estimate.fits || (risk > 0 && best.estimate.risk > risk)) {
        return status;
    }
    known->settled = less && best.estimate.step <= other->best.estimate.step;
    if (!known->holds || known->settled || best.estimate.step < estimate->step) {
        known->best = best;
    }
    known->holds = true;
    return RK_OK;
}

/* Looks at what the last searches found. */
static rk_status recall(const rk_problem *problem, const rk_known_bounds *bounds,
                        struct foreknowledge *known, rk_error *err)
{
    rk_status status = RK_OK;
    for (int i = bounds->searches;
         i-- > 0 && i >= bounds->searches - RK_KNOWN_BESTS && !status && !known->settled;) {
        status = look_at(problem, &bounds->bests[i % RK_KNOWN_BESTS], known, err);
    }
    return status;
}

static rk_status search_again(const rk_problem *problem, rk_known_bounds *bounds, size_t top,
                              rk_planned_strategy *planned, size_t *found,
                              rk_bounded_counts *counts, rk_error *err)
{
    struct foreknowledge known = {.settled = false};
    rk_status status = top == 1 ? recall(problem, bounds, &known, err) : RK_OK;
    if (!status && known.settled) {
        const uint64_t evaluated = known.holds;
        planned[0] = known.best;
        *found = known.holds;
        *counts = (rk_bounded_counts){.total = bounds->strategies,
                                      .evaluated = evaluated,
                                      .by_time = bounds->strategies - evaluated};
        return RK_OK;
    }
    const double longest = known.holds ? known.best.estimate.step : 0;
    status = status ? status
                    : rk_plan_bounds_turn(bounds->bounds, &problem->reckon.inputs.system, 1, err);
    status = status ? status
                    : rk_plan_bounds_search_again(bounds->bounds, longest, top, planned, found,
                                                  counts, err);
    assert(status || *found > 0 || !known.holds);
    if (!status) {
        remember(&problem->reckon.inputs.system.accelerator, planned, *found, bounds);
    }
    return status;
}

static rk_status open_nearby(const rk_problem *problem, const rk_search_control *control,
                             rk_known_bounds *known, rk_error *err)
{
    const rk_inputs *inputs = &problem->reckon.inputs;
    rk_system largest = inputs->system;
    largest.accelerator.memory_usable *= known->faster;
    return rk_plan_bounds_open(&inputs->model, &largest, &inputs->software.stack,
                               &problem->reckon.space, control, &known->bounds, err);
}

/* Searches one of the systems that the bounds were opened for, for steps that are fast enough. */
static rk_status search_nearby(const rk_problem *problem, const rk_known_bounds *known,
                               const rk_search_control *control, size_t top,
                               rk_planned_strategy *planned, size_t *found,
                               rk_bounded_counts *counts, rk_error *err)
{
    const double least_rate = control ? control->least_rate : 0;
    const double longest =
        least_rate > 0 ? (double)problem->reckon.space.global_batch / least_rate : 0;
    const rk_status status =
        rk_plan_bounds_turn(known->bounds, &problem->reckon.inputs.system, known->faster, err);
    return status ? status
                  : rk_plan_bounds_search_again(known->bounds, longest, top, planned, found, counts,
                                                err);
}

static rk_status bound_again(const rk_problem *problem, rk_known_bounds *known,
                             const rk_search_control *control, size_t top, rk_candidate *candidates,
                             size_t *found, rk_bounded_counts *counts, rk_error *err)
{
    assert(top >= 1);
    const bool nearby = known && known->faster > 0;
    assert(!known || nearby || !control ||
           !(control->least_rate > 0)); /* else nothing is known of what fits */
    rk_planned_strategy *planned = calloc(top, sizeof(*planned));
    *found = 0;
    *counts = (rk_bounded_counts){0};
    if (!planned) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
    }
    const rk_inputs *inputs = &problem->reckon.inputs;
    rk_status status;
    if (!known) {
        status = rk_plan_search_bounded(&inputs->model, &inputs->system, &inputs->software.stack,
                                        &problem->reckon.space, control, top, planned, found,
                                        counts, err);
    } else if (nearby) {
        status = search_nearby(problem, known, control, top, planned, found, counts, err);
    } else if (known->bounds && inputs->system.accelerator.memory_usable <= known->most_memory) {
        status = search_again(problem, known, top, planned, found, counts, err);
    } else {
        status = open_bounds(problem, known, control, top, planned, found, counts, err);
    }
    for (size_t i = 0; i < *found && !status; i++) {
        candidates[i] = rk_reckon_candidate(problem, &planned[i]);
    }
    free(planned);
    return status;
}

void rk_known_bounds_clear(rk_known_bounds *known)
{
    rk_plan_bounds_close(known->bounds);
    known->bounds = NULL;
    known->searches = 0;
}

static rk_status bound(const rk_problem *problem, const rk_search_control *control, size_t top,
                       rk_candidate *candidates, size_t *found, rk_bounded_counts *counts,
                       rk_error *err)
{
    return bound_again(problem, NULL, control, top, candidates, found, counts, err);
}

static rk_status evaluate(const rk_problem *problem, rk_candidate *candidate, rk_error *err)
{
    rk_planned_strategy planned = {.strategy = candidate->strategy, .index = candidate->index};
    const rk_setting setting = rk_setting_of(&problem->reckon.inputs);
    const rk_status status =
        rk_predict_estimate(&setting, &planned.strategy, &planned.estimate, NULL, err);
    if (!status) {
        *candidate = rk_reckon_candidate(problem, &planned);
    }
    return status;
}

static rk_status misfit(const rk_problem *problem, const rk_candidate *candidate,
                        char out[RK_MISFIT_SIZE], rk_error *err)
{
    const rk_estimate *e = &candidate->estimate;
    (void)problem;
    (void)err;
    out[0] = '\0';
    if (!e->fits) {
        (void)snprintf(out, RK_MISFIT_SIZE, "needs %.1f GiB of %.1f GiB",
                       rk_needed_bytes(&e->memory) / GIB, e->usable / GIB);
    }
    return RK_OK;
}

static void detach(rk_candidate *candidate)
{
    candidate->strategy.layout = NULL;
}

/* ---- the problem, changed ------------------------------------------------------------------ */

static size_t list_numbers(const rk_problem *problem, rk_number out[RK_NUMBER_MAX])
{
    return rk_system_numbers(&problem->reckon.inputs.system, problem->reckon.space.base.precision,
                             out);
}

static void set_number(rk_problem *problem, const rk_number *number, double value)
{
    rk_system_set_number(&problem->reckon.inputs.system, number, value);
}

static bool uses_number(const rk_problem *problem, const rk_number *number)
{
    const bool offload =
        number->kind == RK_NUMBER_OFFLOAD_RATE || number->kind == RK_NUMBER_OFFLOAD_SIZE;
    return !offload || problem->reckon.space.offloads != RK_PLAN_NO_OFFLOAD;
}

static int64_t accelerators(const rk_problem *problem)
{
    return problem->reckon.space.accelerators;
}

static void set_accelerators(rk_problem *problem, int64_t count)
{
    problem->reckon.space.accelerators = count;
}

static rk_status check(const rk_problem *problem, rk_error *err)
{
    const rk_system *system = &problem->reckon.inputs.system;
    const int64_t most = system->tiers[system->tier_count - 1].size;
    const rk_status status = rk_system_check(system, err);
    return !status && problem->reckon.space.accelerators > most
               ? rk_fail(err, RK_ERR_INVALID, "the system has %" PRId64, most)
               : status;
}

/* The sizes of a model; heads: of its first kind of layer. */
static rk_model_sizes sizes_of(const rk_model *model, int64_t seq)
{
    assert(model->layers >= 1 && seq >= 1);
    const rk_attention_shape *attention = &model->types[0].attention;
    const rk_layer_type *last = &model->types[model->type_of[model->layers - 1]];
    return (rk_model_sizes){
        .blocks = model->layers,
        .heads = attention->query_heads,
        .head_size = rk_attention_qk_size(attention),
        .hidden = model->hidden,
        .feedforward = last->moe.experts > 0 ? last->moe.expert_width : last->ffn.width,
        .seq = seq,
        .parameters = (double)rk_model_params_of(model).total,
    };
}

static void own_sizes(const rk_problem *problem, rk_model_sizes *sizes)
{
    *sizes = sizes_of(&problem->reckon.inputs.model, problem->reckon.space.base.seq);
}

static bool shape(const rk_problem *problem, int64_t blocks, int64_t heads, int64_t head_size,
                  double feedforward, rk_model_sizes *sizes)
{
    rk_model model;
    if (!rk_model_reshape(&problem->reckon.inputs.model, feedforward, blocks, heads, head_size,
                          &model)) {
        return false;
    }
    *sizes = sizes_of(&model, problem->reckon.space.base.seq);
    return true;
}

static void reshape(rk_problem *problem, const rk_model_sizes *sizes, double feedforward)
{
    const rk_model like = problem->reckon.inputs.model;
    (void)rk_model_reshape(
        &like, feedforward, sizes->blocks, sizes->heads, sizes->head_size,
        &problem->reckon.inputs.model); /* as it was when `shape` made the sizes */
}

/* ---- a strategy in words ------------------------------------------------------------------- */

static const char *changes(const rk_candidate *a, const rk_candidate *b, char out[RK_WORDS_SIZE])
{
    return rk_strategy_changes(&a->strategy, &b->strategy, out, RK_WORDS_SIZE);
}

static void write_json(rk_json_writer *writer, const rk_candidate *candidate)
{
    rk_strategy_write_json(writer, &candidate->strategy);
}

static void write_strategy(FILE *to, const rk_candidate *candidate)
{
    rk_write_strategy(to, true, &candidate->strategy);
}

static void write_brief_strategy(FILE *to, const rk_problem *problem, const rk_candidate *candidate)
{
    rk_brief_write_strategy(to, problem->reckon.inputs.software.framework, true,
                            &candidate->strategy);
}

static void degree_values(const rk_candidate *candidate, int64_t values[RK_DEGREE_MAX])
{
    const rk_strategy *s = &candidate->strategy;
    values[0] = s->tp;
    values[1] = s->cp;
    values[2] = s->pp;
    values[3] = s->ep;
    values[4] = s->dp;
}

static rk_value_type column(size_t index, char name[RK_METHOD_COLUMN_SIZE])
{
    _Static_assert(RK_ESTIMATE_COLUMN_SIZE <= RK_METHOD_COLUMN_SIZE, "names of columns fit");
    return rk_estimate_column(index, name);
}

static rk_status values(const rk_problem *problem, const rk_candidate *candidate, char *texts,
                        rk_value *out, rk_error *err)
{
    (void)problem;
    (void)err;
    rk_estimate_values(&candidate->strategy, &candidate->estimate,
                       (char(*)[RK_STRATEGY_TEXT_SIZE])texts, out);
    return RK_OK;
}

const rk_method rk_method_reckon = {
    .name = "reckon",
    .efficiency_key = "mfu",
    .efficiency_name = "MFU",
    .efficiency_short = "MFU",
    .most_blocks = RK_LAYER_MAX,
    .counts = {"strategies", "legal", "fitting"},
    .bounds_pay_from = BOUNDS_PAY_FROM,
    .slice = SLICE,
    .most_results = 1000,
    .candidate_size = sizeof(rk_candidate),
    .text_size = sizeof(rk_estimate_texts),
    .degrees = {{"tp", "TP", true},
                {"cp", "CP", false},
                {"pp", "PP", true},
                {"ep", "EP", false},
                {"dp", "DP", true}},
    .degree_count = 5,
    .accelerators_option = "accelerators",
    .shape_key = "shape",
    .efficiency_note = "",
    .load = load,
    .clear = clear,
    .space = read_space,
    .view = view,
    .requested_accelerators = requested_accelerators,
    .allow_offload = allow_offload,
    .batch = batch,
    .seq = seq,
    .count = count_strategies,
    .search = search,
    .search_nearest = search_nearest,
    .bound = bound,
    .bound_again = bound_again,
    .open_nearby = open_nearby,
    .evaluate = evaluate,
    .misfit = misfit,
    .find_shortage = rk_reckon_find_shortage,
    .detach = detach,
    .numbers = list_numbers,
    .set_number = set_number,
    .uses_number = uses_number,
    .accelerators = accelerators,
    .set_accelerators = set_accelerators,
    .check = check,
    .sizes = own_sizes,
    .shape = shape,
    .reshape = reshape,
    .counted = {"strategies", "legal", "within the risk"},
    .search_note = "",
    .label_width = 20,
    .row_count = RK_RECKON_ROWS,
    .row_label = rk_reckon_row_label,
    .describe = rk_reckon_describe,
    .row_tells = rk_reckon_row_tells,
    .predict = rk_reckon_predict,
    .write_documents = rk_reckon_write_documents,
    .write_machine = rk_reckon_write_documents,
    .write_run = rk_reckon_write_run,
    .write_request_json = rk_reckon_write_request_json,
    .write_choices = rk_reckon_write_choices,
    .write_best = rk_reckon_write_best,
    .write_missing = rk_reckon_write_missing,
    .write_best_json = rk_reckon_write_best_json,
    .write_missing_json = rk_reckon_write_missing_json,
    .write_strategies_json = rk_reckon_write_strategies_json,
    .write_csv = rk_reckon_write_csv,
    .write_brief_question = rk_reckon_write_brief_question,
    .write_brief_strategy = write_brief_strategy,
    .write_brief = rk_reckon_write_brief,
    .write_strategy = write_strategy,
    .changes = changes,
    .write_json = write_json,
    .degree_values = degree_values,
    .column_count = rk_estimate_column_count,
    .column = column,
    .values = values,
};
