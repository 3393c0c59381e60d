/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers stand on which chunk.  A layout names the layers of every stage.  Without one,
 * layers, and embedding and head where they count as such, are shared evenly in the order of the
 * model; what does not divide goes to the earlier stages.  The first and the last rank may have
 * numbers of their own.
 */
#include "strategy/strategy.h"

/* Units that the first `count` of `parts` shares hold. */
static int64_t share(int64_t units, int64_t parts, int64_t count)
{
    const int32_t each = parts > 0 ? (int32_t)units / (int32_t)parts : 0;
    const int64_t over = units - each * parts;
    return each * count + (count < over ? count : over);
}

/* Chunks of rank `rank` among the first `stage` stages. */
static int64_t chunks_before(const rk_strategy *s, int64_t chunks, int64_t rank, int64_t stage)
{
    int64_t count = 0;
    for (int64_t i = 0; i < chunks; i++) {
        count += rk_schedule_stage(s->schedule, s->pp, rank, i) < stage;
    }
    return count;
}

/* Units before virtual stage `stage` when the first or last rank has its own number. */
static int64_t uneven_before(const rk_strategy *s, int64_t units, int64_t stage)
{
    const int64_t chunks = rk_schedule_stages(s->schedule, 1, s->vp);
    const int64_t first = s->first_stage_layers, last = s->last_stage_layers;
    const int64_t ranks = s->pp - (first > 0) - (last > 0);
    const int64_t of_first = first > 0 ? chunks_before(s, chunks, 0, stage) : 0;
    const int64_t of_last = last > 0 ? chunks_before(s, chunks, s->pp - 1, stage) : 0;
    return share(first, chunks, of_first) + share(last, chunks, of_last) +
           share(units - first - last, ranks * chunks, stage - of_first - of_last);
}

int64_t rk_strategy_layout_before(const rk_strategy *strategy, int64_t stage)
{
    int64_t layers = 0;
    for (int64_t i = 0; i < stage; i++) {
        layers += strategy->layout[i];
    }
    return layers;
}

static int64_t units_before(const rk_strategy *s, int64_t units, int64_t stages, int64_t stage)
{
    if (s->layout_count > 0) {
        return rk_strategy_layout_before(s, stage);
    }
    return (s->first_stage_layers | s->last_stage_layers) != 0 ? uneven_before(s, units, stage)
                                                               : share(units, stages, stage);
}

rk_chunk rk_strategy_chunk(const rk_model *model, const rk_strategy *strategy, int64_t rank,
                           int64_t chunk)
{
    const rk_strategy *s = strategy;
    const int64_t stages = rk_schedule_stages(s->schedule, s->pp, s->vp);
    const int64_t stage = rk_schedule_stage(s->schedule, s->pp, rank, chunk);
    const int64_t units = model->layers + s->count_embedding + s->count_head;
    int64_t begin = units_before(s, units, stages, stage) - s->count_embedding;
    int64_t end = units_before(s, units, stages, stage + 1) - s->count_embedding;
    begin = begin > 0 ? begin : 0;
    end = end < model->layers ? end : model->layers;
    return (rk_chunk){
        .first = (int)begin,
        .count = (int)(end - begin),
        .embedding = stage == 0,
        .head = stage == stages - 1,
        .mtp = stage == (s->mtp_before_head && stages > 1 ? stages - 2 : stages - 1),
    };
}

void rk_strategy_layout_by_weight(const rk_model *model, int64_t stages, int16_t *layout)
{
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
