/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the operators of each kind of layer, the embedding and the head on a pipeline rank. */
#include "method/block_operators.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void name_layer(const rk_model *model, int type, bool whole, rk_block_operators *block)
{
    assert(type >= 0 && type < model->type_count);
    const rk_layer_type *layer = &model->types[type];
    (void)snprintf(block->name, sizeof(block->name), "layer %d: %s + %s%s", type,
                   layer->mixer->part.name, layer->feed_forward->part.name,
                   whole ? ", recomputed" : "");
    block->count = 0;
    for (int i = 0; i < model->layers; i++) {
        block->count += model->type_of[i] == type;
    }
}

static rk_block_operators *add_block(rk_operators *operators)
{
    return &operators->blocks[operators->count++];
}

static rk_block_operators *add_end(rk_operators *operators, const char *name, int count)
{
    rk_block_operators *block = add_block(operators);
    (void)snprintf(block->name, sizeof(block->name), "%s", name);
    block->count = count;
    return block;
}

rk_status rk_operators_fill(const rk_inputs *inputs, const rk_strategy *strategy,
                            rk_operators *operators, rk_error *err)
{
    const rk_model *model = &inputs->model;
    const rk_block_context context =
        rk_block_context_of(model, &inputs->system, &inputs->software.stack, strategy);
    const bool whole = strategy->recompute == RK_REC_FULL;
    memset(operators, 0, sizeof(*operators));
    rk_status status = rk_list_embedding(&context, &add_end(operators, "embedding", 1)->list, err);
    for (int i = 0; !status && i < model->type_count; i++) {
        rk_block_operators *block = add_block(operators);
        name_layer(model, i, whole, block);
        status = rk_list_layer(&context, &model->types[i], whole, &block->list, err);
    }
    if (!status) {
        rk_block_operators *head = add_end(operators, "head and loss", 1 + model->mtp_layers);
        status = rk_list_head(&context, &head->list, err);
    }
    return status;
}

void rk_operators_clear(rk_operators *operators)
{
    for (int i = 0; i < operators->count; i++) {
        rk_operator_list_clear(&operators->blocks[i].list);
    }
    operators->count = 0;
}

bool rk_operator_at(const rk_operators *operators, size_t index, rk_operator_facts *facts)
{
    int b = 0;
    while (b < operators->count && index >= operators->blocks[b].list.count) {
        index -= operators->blocks[b++].list.count;
    }
    if (b == operators->count) {
        return false;
    }
    const rk_block_operators *block = &operators->blocks[b];
    const rk_operator *o = &block->list.items[index];
    const rk_message *message = &o->message;
    const bool sends = message->ranks > 1;
    *facts = (rk_operator_facts){
        .block = block->name,
        .blocks = block->count,
        .kind = rk_operator_kind_names[o->kind],
        .pass = rk_pass_names[o->pass],
        .part = rk_part_names[o->part],
        .groups = o->groups,
        .M = o->M,
        .N = o->N,
        .K = o->K,
        .flops = o->flops,
        .moved_bytes = o->bytes,
        .saved_bytes = o->saved,
        .collective = sends ? rk_collective_names[message->op] : NULL,
        .messages = message->times,
        .message_bytes = message->bytes,
        .ranks = sends ? message->ranks : 0,
        .sent_bytes = message->sent,
        .seconds = o->seconds,
    };
    return true;
}
