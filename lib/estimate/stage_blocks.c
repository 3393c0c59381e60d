/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks of a model a stage holds, and how many of each are checkpointed. */
#include "estimate/stage.h"

#include <assert.h>
#include <string.h>

/* Layers of a chunk of `count` that are checkpointed whole. */
static int checkpointed(const rk_strategy *strategy, int count)
{
    assert(count >= 0);
    if (strategy->recompute != RK_REC_FULL) {
        return 0;
    }
    const bool all = strategy->recompute_layers == 0 || strategy->recompute_layers > count;
    return all ? count : (int)strategy->recompute_layers;
}

/* Adds the blocks of a run of chunks that all hold the same. */
static void count_chunks(const rk_model *model, const rk_strategy *strategy, const rk_chunk *chunk,
                         int64_t run, rk_stage_blocks *blocks)
{
    const uint8_t *types = &model->type_of[chunk->first];
    const int whole = checkpointed(strategy, chunk->count);
    for (int i = 0; i < chunk->count; i++) {
        blocks->layers[types[i]][i < whole] += (int16_t)run;
    }
    blocks->embedding = blocks->embedding || chunk->embedding;
    blocks->head = blocks->head || chunk->head;
    if (chunk->mtp) {
        uint8_t mtp[RK_MTP_LAYERS_MAX];
        const int each = rk_model_mtp_types(model, mtp);
        blocks->mtp = true;
        for (int i = 0; i < each; i++) {
            blocks->layers[mtp[i]][checkpointed(strategy, 1)] += (int16_t)(run * model->mtp_layers);
        }
    }
}

rk_stage_blocks rk_stage_blocks_of(const rk_model *model, const rk_strategy *strategy,
                                   const rk_chunk *chunks)
{
    rk_stage_blocks blocks;
    memset(&blocks, 0, sizeof(blocks)); /* padding too: blocks are compared as bytes */
    blocks.halved = rk_schedule_copies(strategy->schedule) == 2;
    for (int64_t i = 0, run, v = rk_stage_chunks(strategy); i < v; i += run) {
        run = rk_chunk_run(model, &chunks[i], v - i);
        count_chunks(model, strategy, &chunks[i], run, &blocks);
    }
    return blocks;
}

rk_stage_blocks rk_chunk_blocks_of(const rk_model *model, const rk_strategy *strategy,
                                   const rk_chunk *chunk)
{
    rk_stage_blocks blocks;
    memset(&blocks, 0, sizeof(blocks));
    count_chunks(model, strategy, chunk, 1, &blocks);
    return blocks;
}
