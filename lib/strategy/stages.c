/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of each chunk.  A layout names the layers of every stage.  Without one, layers, and
 * embedding and head where they count as such, are shared evenly in the order of the model; what
 * does not divide goes to the earlier stages.  The first and the last rank may have numbers of
 * their own.
 */
#include "strategy/strategy.h"

#include <assert.h>
#include <string.h>

const char *rk_strategy_schedule(const rk_strategy *strategy)
{
    return rk_schedule_names[strategy->schedule];
}

int64_t rk_strategy_layout_before(const rk_strategy *strategy, int64_t stage)
{
    assert(stage >= 0 && stage <= strategy->layout_count);
    int64_t layers = 0;
    for (int64_t i = 0; i < stage; i++) {
        layers += strategy->layout[i];
    }
    return layers;
}

/* ---- what stages hold ---------------------------------------------------------------------- */

/* Ranks by how the units of their stages are counted. */
enum owner { OTHERS, FIRST, LAST, OWNER_COUNT };

/* Units of each remaining stage; the first `over` have one more. */
struct shares {
    int64_t each, over;
};

static struct shares shares_of(int64_t units, int64_t parts)
{
    const int64_t each = parts > 0 ? (int32_t)units / (int32_t)parts : 0;
    return (struct shares){each, units - each * parts};
}

/* Shares `units` among the stages: bounds[i] units come before stage i. */
static void fill_bounds(const rk_strategy *s, int64_t units, int64_t stages, int32_t *bounds)
{
    const int64_t chunks = rk_schedule_stages(s->schedule, 1, s->vp);
    const int64_t first = s->first_stage_layers, last = s->last_stage_layers;
    const int64_t ranks = s->pp - (first > 0) - (last > 0);
    struct shares shares[OWNER_COUNT] = {
        [OTHERS] = shares_of(units - first - last, ranks * chunks),
        [FIRST] = shares_of(first, chunks),
        [LAST] = shares_of(last, chunks),
    };
    if (first == 0 && last == 0) {
        const int32_t each = (int32_t)shares[OTHERS].each, more = (int32_t)shares[OTHERS].over;
        for (int32_t i = 0; i < more; i++) {
            bounds[i] = i * (each + 1);
        }
        for (int32_t i = more; i <= (int32_t)stages; i++) {
            bounds[i] = i * each + more;
        }
        return;
    }
    uint8_t owners[RK_CHUNK_MAX];
    memset(owners, OTHERS, (size_t)stages);
    for (int64_t i = 0; i < chunks && first > 0; i++) {
        owners[rk_schedule_stage(s->schedule, s->pp, 0, i)] = FIRST;
    }
    for (int64_t i = 0; i < chunks && last > 0; i++) {
        owners[rk_schedule_stage(s->schedule, s->pp, s->pp - 1, i)] = LAST;
    }
    bounds[0] = 0;
    for (int64_t i = 0; i < stages; i++) {
        struct shares *share = &shares[owners[i]];
        bounds[i + 1] = bounds[i] + (int32_t)(share->each + (share->over-- > 0));
    }
}

static void fill_bounds_of_layout(const rk_strategy *s, int64_t stages, int32_t *bounds)
{
    assert(stages == s->layout_count);
    bounds[0] = 0;
    for (int64_t i = 0; i < stages; i++) {
        bounds[i + 1] = bounds[i] + s->layout[i];
    }
}

void rk_strategy_chunks(const rk_model *model, const rk_strategy *strategy, rk_chunk *chunks)
{
    const rk_strategy *s = strategy;
    const int64_t stages = rk_schedule_stages(s->schedule, s->pp, s->vp), v = rk_stage_chunks(s);
    const int64_t mtp = s->mtp_before_head && stages > 1 ? stages - 2 : stages - 1;
    const int32_t layers = model->layers, before = s->count_embedding;
    int32_t bounds[RK_CHUNK_MAX + 1];
    assert(s->pp * v <= RK_CHUNK_MAX);
    if (s->layout_count > 0) {
        fill_bounds_of_layout(s, stages, bounds);
    } else {
        fill_bounds(s, layers + s->count_embedding + s->count_head, stages, bounds);
    }
    for (int64_t i = 0; i <= stages; i++) { /* from units to layers */
        const int32_t layer = bounds[i] - before;
        bounds[i] = layer < 0 ? 0 : layer < layers ? layer : layers;
    }
    for (int64_t rank = 0; rank < s->pp; rank++) {
        const int64_t next = rk_schedule_stage(s->schedule, s->pp, rank, 1) - rank;
        for (int64_t i = 0, stage = rank; i < v; i++, stage += next) {
            chunks[rank * v + i] = (rk_chunk){
                .first = bounds[stage],
                .count = bounds[stage + 1] - bounds[stage],
                .embedding = stage == 0,
                .head = stage == stages - 1,
                .mtp = stage == mtp,
            };
        }
    }
}

static bool is_alike(const rk_model *model, const rk_chunk *a, const rk_chunk *b)
{
    return a->count == b->count && a->embedding == b->embedding && a->head == b->head &&
           a->mtp == b->mtp &&
           (model->type_count == 1 ||
            memcmp(&model->type_of[a->first], &model->type_of[b->first], (size_t)a->count) == 0);
}

bool rk_chunks_alike(const rk_model *model, const rk_chunk *a, const rk_chunk *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!is_alike(model, &a[i], &b[i])) {
            return false;
        }
    }
    return true;
}

int64_t rk_chunk_run(const rk_model *model, const rk_chunk *chunks, int64_t count)
{
    int64_t run = 1;
    while (run < count && is_alike(model, &chunks[0], &chunks[run])) {
        run++;
    }
    return run;
}

void rk_strategy_layout_by_weight(const rk_model *model, int64_t stages, int16_t *layout)
{
    assert(stages >= 1);
    double weights[RK_LAYER_TYPE_MAX], all = (double)model->vocab * (double)model->hidden, sum = 0;
    int64_t stage = 0;
    for (int i = 0; i < model->type_count; i++) {
        weights[i] = (double)rk_layer_params_of(model, &model->types[i]).gemm;
    }
    for (int i = 0; i < model->layers; i++) {
        all += weights[model->type_of[i]];
    }
    for (int64_t i = 0; i < stages; i++) {
        layout[i] = 0;
    }
    for (int i = 0; i < model->layers; i++) {
        layout[stage]++;
        sum += weights[model->type_of[i]];
        stage += stage + 1 < stages && sum * (double)stages >= all * (double)(stage + 1);
    }
}
