/* SPDX-License-Identifier: Apache-2.0 */
#include "codesign/shape.h"

#include "base/error.h"
#include "codesign/each.h"
#include "search/bounded_plan.h"

#include <math.h>
#include <stdlib.h>

#define SHAPES_MAX 100000
#define BLOCKS_MAX 4096 /* that are tried unless they are given */
#define HEADS_MAX  100000
#define WIDTH      128 /* widths of feed-forward parts are multiples of it, so that they split */

struct survey {
    const rk_shape_space *wanted;
    const rk_calculon_sys *sys; /* with space, or else setting and plans */
    const rk_calculon_space *space;
    const rk_setting *setting;
    const rk_plan_space *plans;
    rk_shape *shapes;
    size_t count, room;
};

/* ---- shapes -------------------------------------------------------------------------------- */

static rk_status add_shape(struct survey *s, const rk_calculon_app *app, double parameters,
                           rk_error *err)
{
    if (s->count == SHAPES_MAX) {
        return rk_fail(err, RK_ERR_LIMIT,
                       "more than %d shapes: give blocks or heads, or a smaller tolerance",
                       SHAPES_MAX);
    }
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        rk_shape *shapes = realloc(s->shapes, room * sizeof(*shapes));
        if (!shapes) {
            return rk_fail(err, RK_ERR_MEMORY, "no memory for %zu shapes", room);
        }
        s->shapes = shapes;
        s->room = room;
    }
    s->shapes[s->count++] = (rk_shape){.app = *app, .parameters = parameters};
    return RK_OK;
}

static rk_calculon_app shape_of(const rk_shape_space *w, int64_t blocks, int64_t heads,
                                int64_t head_size)
{
    /* a multiple of the heads, so that what splits them splits it too */
    const double inner = floor(w->feedforward_ratio * (double)head_size + 0.5);
    return (rk_calculon_app){
        .hidden = heads * head_size,
        .feedforward = heads * (int64_t)inner,
        .seq_size = w->seq,
        .attn_heads = heads,
        .attn_size = head_size,
        .num_blocks = blocks,
    };
}

/* A width that grows with the hidden size. */
static int64_t widen(int64_t width, double factor)
{
    const int64_t units = (int64_t)floor((double)width * factor / WIDTH + 0.5);
    return width == 0 ? 0 : units > 0 ? units * WIDTH : WIDTH;
}

/* Fills a kind of layer; false when there is none with so many heads. */
static bool reshape_type(const rk_layer_type *like, int64_t heads, double size, double factor,
                         double width, rk_layer_type *type)
{
    const rk_attention_shape *was = &like->attention;
    rk_attention_shape *a = &type->attention;
    *type = *like;
    a->query_heads = heads;
    a->kv_heads = was->kv_heads == was->query_heads ? heads : was->kv_heads;
    a->head_size = (int64_t)((double)was->head_size * size);
    a->value_size = (int64_t)((double)was->value_size * size);
    type->ffn.width = widen(like->ffn.width, width);
    type->moe.expert_width = widen(like->moe.expert_width, factor);
    type->moe.shared_width = widen(like->moe.shared_width, factor);
    return heads % a->kv_heads == 0;
}

bool rk_model_reshape(const rk_model *like, const rk_shape_space *shapes_space, int64_t blocks,
                      int64_t heads, int64_t head_size, rk_model *out)
{
    const rk_attention_shape *first = &like->types[0].attention;
    const rk_ffn_shape *ffn = &like->types[0].ffn;
    const double ratio = shapes_space->feedforward_ratio;
    /* of one head, then of the hidden size, as the model has it for each head */
    const double size = head_size > 0 && first->kind == RK_ATTENTION_GROUPED
                            ? (double)head_size / (double)first->head_size
                            : 1;
    const double hidden = (double)like->hidden / (double)first->query_heads * size * (double)heads;
    const double factor = hidden / (double)like->hidden;
    const double width = ratio > 0 && ffn->width > 0 ? ratio * hidden / (double)ffn->width : factor;
    bool legal = blocks > 0 && blocks <= RK_LAYER_MAX && hidden == floor(hidden) && hidden < 0x1p24;
    if (!legal) {
        return false;
    }
    *out = *like;
    out->hidden = (int64_t)hidden;
    out->layers = (int)blocks;
    for (int i = 0; i < like->type_count; i++) {
        legal = legal && reshape_type(&like->types[i], heads, size, factor, width, &out->types[i]);
    }
    for (int64_t i = 0; i < blocks; i++) { /* each kind keeps its share and its place */
        out->type_of[i] = like->type_of[i * like->layers / blocks];
    }
    return legal && rk_model_check(out, NULL) == RK_OK;
}

/* A shape by the reckon model; its sizes stand in *app. */
static double shape_model(const struct survey *s, int64_t blocks, int64_t heads, int64_t head_size,
                          rk_calculon_app *app)
{
    rk_model model;
    if (!rk_model_reshape(s->setting->model, s->wanted, blocks, heads, head_size, &model)) {
        return 0;
    }
    const rk_layer_type *last = &model.types[model.type_of[blocks - 1]];
    *app = (rk_calculon_app){.hidden = model.hidden,
                             .feedforward =
                                 last->moe.experts > 0 ? last->moe.expert_width : last->ffn.width,
                             .seq_size = s->plans->base.seq,
                             .attn_heads = heads,
                             .attn_size = rk_attention_qk_size(&last->attention),
                             .num_blocks = blocks};
    return (double)rk_model_params_of(&model).total;
}

/* Adds a shape when it is near enough.  *larger says whether it has too many parameters. */
static rk_status try_shape(struct survey *s, int64_t blocks, int64_t heads, int64_t head_size,
                           bool *larger, rk_error *err)
{
    const rk_shape_space *w = s->wanted;
    rk_calculon_app app = {.hidden = 0};
    double parameters;
    if (s->setting) {
        parameters = shape_model(s, blocks, heads, head_size, &app);
    } else {
        app = shape_of(w, blocks, heads, head_size);
        parameters = rk_calculon_parameters(&app);
    }
    const double aspect = (double)app.hidden / (double)blocks;
    *larger = parameters > w->parameters * (1 + w->tolerance);
    const bool near = !*larger && parameters >= w->parameters * (1 - w->tolerance);
    return near && aspect >= w->aspect_min && aspect <= w->aspect_max
               ? add_shape(s, &app, parameters, err)
               : RK_OK;
}

/* All numbers of heads for so many blocks. */
static rk_status list_heads(struct survey *s, int64_t blocks, int64_t head_size, rk_error *err)
{
    const rk_shape_space *w = s->wanted;
    rk_status status = RK_OK;
    bool larger = false;
    for (int i = 0; i < w->head_count && !status; i++) {
        status = try_shape(s, blocks, w->heads[i], head_size, &larger, err);
    }
    for (int64_t heads = w->head_multiple;
         w->head_count == 0 && heads <= HEADS_MAX && !larger && !status;
         heads += w->head_multiple) {
        status = try_shape(s, blocks, heads, head_size, &larger, err);
    }
    return status;
}

static rk_status list_shapes(struct survey *s, rk_error *err)
{
    const rk_shape_space *w = s->wanted;
    const int64_t most = s->setting ? RK_LAYER_MAX : BLOCKS_MAX;
    rk_status status = RK_OK;
    for (int i = 0; i < w->head_size_count && !status; i++) {
        for (int j = 0; j < w->block_count && !status; j++) {
            status = list_heads(s, w->blocks[j], w->head_sizes[i], err);
        }
        for (int64_t n = 1; w->block_count == 0 && n <= most && !status; n++) {
            status = list_heads(s, n, w->head_sizes[i], err);
        }
    }
    return status;
}

/* ---- searches ------------------------------------------------------------------------------ */

static rk_status search_shape(void *context, uint64_t index, rk_bounded_counts *counts,
                              rk_error *err)
{
    const struct survey *s = context;
    const rk_search_control control = {.threads = 1};
    rk_shape *shape = &s->shapes[index];
    rk_calculon_ranked best;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_bounded_counts own;
    size_t found;
    rk_status status = rk_calculon_search_bounded(&shape->app, s->sys, s->space, &control, 1, &best,
                                                  &found, &own, err);
    rk_bounded_counts_add(counts, &own);
    shape->mappings = own.total;
    shape->runs = !status && found > 0;
    if (shape->runs) {
        status =
            rk_calculon_evaluate(&shape->app, s->sys, &best.exe, &stats, NULL, NULL, &verdict, err);
        shape->rate = best.sample_rate;
        shape->exe = best.exe;
        shape->step = stats.total_time;
        shape->efficiency = stats.total_efficiency;
    }
    return status;
}

static rk_status search_model(void *context, uint64_t index, rk_bounded_counts *counts,
                              rk_error *err)
{
    const struct survey *s = context;
    const rk_setting *setting = s->setting;
    const rk_search_control control = {.threads = 1};
    rk_shape *shape = &s->shapes[index];
    rk_model model;
    rk_planned best;
    rk_bounded_counts own;
    size_t found;
    (void)rk_model_reshape(setting->model, s->wanted, shape->app.num_blocks, shape->app.attn_heads,
                           shape->app.attn_size, &model); /* as it was when it was listed */
    const rk_status status = rk_plan_search_bounded(
        &model, setting->system, setting->stack, s->plans, &control, 1, &best, &found, &own, err);
    rk_bounded_counts_add(counts, &own);
    shape->mappings = own.total;
    shape->runs = !status && found > 0;
    if (shape->runs) {
        shape->step = best.estimate.step;
        shape->rate = (double)s->plans->global_batch / best.estimate.step;
        shape->efficiency = best.estimate.mfu;
        shape->strategy = best.strategy;
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    const rk_shape *x = a, *y = b;
    if (x->efficiency != y->efficiency) {
        return x->efficiency < y->efficiency ? 1 : -1;
    }
    if (x->mappings != y->mappings) {
        return x->mappings < y->mappings ? 1 : -1;
    }
    if (x->app.num_blocks != y->app.num_blocks) {
        return x->app.num_blocks > y->app.num_blocks ? 1 : -1;
    }
    return (x->app.attn_heads > y->app.attn_heads) - (x->app.attn_heads < y->app.attn_heads);
}

static rk_status search_all(struct survey *s, rk_each_search *search,
                            const rk_search_control *control, rk_shape **shapes, size_t *count,
                            rk_bounded_counts *counts, rk_error *err)
{
    *shapes = NULL;
    *count = 0;
    *counts = (rk_bounded_counts){0};
    rk_status status = list_shapes(s, err);
    if (!status) {
        status = rk_search_each(s->count, search, s, control, counts, err);
    }
    if (status) {
        free(s->shapes);
        return status;
    }
    if (s->count > 0) {
        qsort(s->shapes, s->count, sizeof(*s->shapes), compare);
    }
    *shapes = s->shapes;
    *count = s->count;
    return RK_OK;
}

rk_status rk_shape_search(const rk_shape_space *shapes_space, const rk_calculon_sys *sys,
                          const rk_calculon_space *space, const rk_search_control *control,
                          rk_shape **shapes, size_t *count, rk_bounded_counts *counts,
                          rk_error *err)
{
    struct survey s = {.wanted = shapes_space, .sys = sys, .space = space};
    return search_all(&s, search_shape, control, shapes, count, counts, err);
}

rk_status rk_plan_shape_search(const rk_shape_space *shapes_space, const rk_setting *setting,
                               const rk_plan_space *space, const rk_search_control *control,
                               rk_shape **shapes, size_t *count, rk_bounded_counts *counts,
                               rk_error *err)
{
    struct survey s = {.wanted = shapes_space, .setting = setting, .plans = space};
    return search_all(&s, search_model, control, shapes, count, counts, err);
}
