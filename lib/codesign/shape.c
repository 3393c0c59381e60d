/* SPDX-License-Identifier: Apache-2.0 */
/* Lists model shapes near a parameter count and searches the best strategy of each. */
#include "codesign/shape.h"

#include "base/error.h"
#include "base/list.h"
#include "codesign/parallel_searches.h"

#include <assert.h>
#include <stdlib.h>

#define SHAPES_MAX 100000
#define HEADS_MAX  100000

struct survey {
    const rk_shape_choice *wanted;
    const rk_problem *problem;
    rk_shape *shapes;
    size_t count, room;
};

/* ---- shapes -------------------------------------------------------------------------------- */

static rk_status add_shape(struct survey *s, const rk_model_sizes *sizes, rk_error *err)
{
    if (s->count == SHAPES_MAX) {
        return rk_fail(err, RK_ERR_LIMIT,
                       "more than %d shapes: give blocks or heads, or a smaller tolerance",
                       SHAPES_MAX);
    }
    rk_shape *shapes = rk_list_grow(s->shapes, s->count, &s->room, sizeof(*shapes));
    if (!shapes) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu shapes", s->count + 1);
    }
    s->shapes = shapes;
    s->shapes[s->count++] = (rk_shape){.sizes = *sizes};
    return RK_OK;
}

/* Adds a shape if it is close enough in size. *larger: it has too many parameters. */
static rk_status try_shape(struct survey *s, int64_t blocks, int64_t heads, int64_t head_size,
                           bool *larger, rk_error *err)
{
    assert(blocks >= 1 && heads >= 1);
    const rk_shape_choice *w = s->wanted;
    rk_model_sizes sizes = {0};
    (void)s->problem->method->shape(s->problem, blocks, heads, head_size, w->feedforward, &sizes);
    const double aspect = (double)sizes.hidden / (double)blocks;
    const double tolerance = w->tolerance_percent / 100;
    *larger = sizes.parameters > w->parameters * (1 + tolerance);
    const bool near = !*larger && sizes.parameters >= w->parameters * (1 - tolerance);
    const bool admitted =
        w->blocks.count > 0 || (aspect >= w->aspect_min && aspect <= w->aspect_max);
    return near && admitted ? add_shape(s, &sizes, err) : RK_OK;
}

/* Tries all numbers of heads for a number of blocks. */
static rk_status list_heads(struct survey *s, int64_t blocks, int64_t head_size, rk_error *err)
{
    const rk_shape_choice *w = s->wanted;
    rk_status status = RK_OK;
    bool larger = false;
    for (int i = 0; i < w->heads.count && !status; i++) {
        status = try_shape(s, blocks, w->heads.values[i], head_size, &larger, err);
    }
    for (int64_t heads = w->head_multiple;
         w->heads.count == 0 && heads <= HEADS_MAX && !larger && !status;
         heads += w->head_multiple) {
        status = try_shape(s, blocks, heads, head_size, &larger, err);
    }
    return status;
}

static rk_status list_shapes(struct survey *s, rk_error *err)
{
    const rk_shape_choice *w = s->wanted;
    const int64_t most = s->problem->method->most_blocks;
    rk_status status = RK_OK;
    for (int i = 0; i < w->head_sizes.count && !status; i++) {
        for (int j = 0; j < w->blocks.count && !status; j++) {
            status = list_heads(s, w->blocks.values[j], w->head_sizes.values[i], err);
        }
        for (int64_t n = 1; w->blocks.count == 0 && n <= most && !status; n++) {
            status = list_heads(s, n, w->head_sizes.values[i], err);
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
    const rk_method *method = s->problem->method;
    rk_shape *shape = &s->shapes[index];
    rk_problem problem = *s->problem;
    rk_bounded_counts own;
    size_t found;
    method->reshape(&problem, &shape->sizes, s->wanted->feedforward);
    const rk_status status = method->bound(&problem, &control, 1, &shape->best, &found, &own, err);
    rk_bounded_counts_add(counts, &own);
    shape->mappings = own.total;
    shape->runs = !status && found > 0;
    return status;
}

static int compare(const void *a, const void *b)
{
    const rk_shape *x = a, *y = b;
    if (x->best.efficiency != y->best.efficiency) {
        return x->best.efficiency < y->best.efficiency ? 1 : -1;
    }
    if (x->mappings != y->mappings) {
        return x->mappings < y->mappings ? 1 : -1;
    }
    if (x->sizes.blocks != y->sizes.blocks) {
        return x->sizes.blocks > y->sizes.blocks ? 1 : -1;
    }
    return (x->sizes.heads > y->sizes.heads) - (x->sizes.heads < y->sizes.heads);
}

rk_status rk_shape_search(const rk_shape_choice *wanted, const rk_problem *problem,
                          const rk_search_control *control, rk_shape **shapes, size_t *count,
                          rk_bounded_counts *counts, rk_error *err)
{
    struct survey s = {.wanted = wanted, .problem = problem};
    *shapes = NULL;
    *count = 0;
    *counts = (rk_bounded_counts){0};
    rk_status status = list_shapes(&s, err);
    if (!status) {
        status = rk_search_each(s.count, search_shape, &s, control, counts, err);
    }
    if (status) {
        free(s.shapes);
        return status;
    }
    if (s.count > 0) {
        qsort(s.shapes, s.count, sizeof(*s.shapes), compare);
    }
    *shapes = s.shapes;
    *count = s.count;
    return RK_OK;
}
