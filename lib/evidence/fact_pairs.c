/* SPDX-License-Identifier: Apache-2.0 */
/* Splits "key=value" cells of a run table and spreads the pairs over known columns. */
#include "evidence/fact_pairs.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define PAIRS       "facts"
#define OTHER_PAIRS "new_fact"

/*
 * The meaning of a pair, in the words of trainers and their libraries: where the value of `key`
 * contains `word` ("": any value), `column` gets `value` (NULL: the value of the pair; ":": the
 * part after its colon).  `with`: only if the row also has a pair of this key whose value contains
 * `with_word`.  The first entry that fills a cell decides.
 */
static const struct meaning {
    const char *key, *word, *column, *value, *with, *with_word;
} meanings[] = {
    /* classifiers, reward models and rerankers read one position of a sequence */
    {"task_type", "seq_cls", "cross_entropy", "chunked", NULL, NULL},
    {"task_type", "rerank", "cross_entropy", "chunked", NULL, NULL},
    {"task_type", "seq_cls", "loss_chunk", "1", NULL, NULL},
    {"task_type", "rerank", "loss_chunk", "1", NULL, NULL},
    {"loss", "liger", "cross_entropy", "fused", NULL, NULL},
    /* both libraries bring norms and rotations of one kernel each beside their loss */
    {"loss", "liger", "kernels", "fused", NULL, NULL},
    {"loss", "foak", "kernels", "fused", NULL, NULL},
    {"loss", "cut", "cross_entropy", "fused", NULL, NULL},
    {"loss", "chunked", "cross_entropy", "chunked", NULL, NULL},
    {"loss", "chunked_nll", "loss_chunk", ":", NULL, NULL},
    {"loss", "hf-eager", "cross_entropy", "full", NULL, NULL},
    /* the labels are shifted, not the logits, since 4.49 */
    {"loss", "hf-eager", "logit_bytes", "14", "transformers", "4.4"},
    /* a kernel writes gradients over its logits, of which 4.48 keeps a copy */
    {"loss", "foak", "cross_entropy", "full", NULL, NULL},
    {"loss", "foak", "logit_bytes", "10", "transformers", "4.48"},
    {"loss", "foak", "logit_bytes", "8", NULL, NULL},
    {"loss", "compiled", "cross_entropy", "full", NULL, NULL},
    {"loss", "plain", "cross_entropy", "full", NULL, NULL},
    {"loss", "compiled", "logit_bytes", "8", NULL, NULL},
    /* torchtitan: what torch.compile sees; a compiled loss keeps logits and gradient in 16 bits */
    {"compile_components", "model", "compile", "true", NULL, NULL},
    {"compile_components", "", "compile", "false", NULL, NULL},
    {"compile_components", "loss", "logit_bytes", "4", NULL, NULL},
    {"quantize", "nf4-dq", "frozen_type", "nf4", NULL, NULL},
    {"quantize", "nf4", "frozen_type", "nf4_plain", NULL, NULL},
    /* Primus: stage 1 fuses the permutation of tokens */
    {"sync_free_stage", "0", "permute_fusion", "false", NULL, NULL},
    {"sync_free_stage", "", "permute_fusion", "true", NULL, NULL},
    {"permute_fusion", "", "permute_fusion", NULL, NULL, NULL},
    /* Megatron: the modules whose kernels CUDA graphs hold */
    {"graph_scope", "full_iteration", "graph_step", "true", NULL, NULL},
    {"graph_scope", "attn", "graph_modules", NULL, NULL, NULL},
    {"graph_scope", "mamba", "graph_modules", NULL, NULL, NULL},
    {"graph_scope", "mlp", "graph_modules", NULL, NULL, NULL},
    {"graph_scope", "moe", "graph_modules", NULL, NULL, NULL},
    {"fused_loss", "true", "loss_fusion", "fused", NULL, NULL},
    {"fused_loss", "false", "loss_fusion", "none", NULL, NULL},
    {"fabric", "efa", "fabric", "efa", NULL, NULL},
    {"routing", "natural", "routing", "natural", NULL, NULL},
    {"routing", "forced_balance", "routing", "uniform", NULL, NULL},
    {"frozen_dtype", "nf4", "frozen_type", "nf4_plain", "double_quant", "0"},
    {"frozen_dtype", "nf4", "frozen_type", "nf4", NULL, NULL},
    {"frozen_dtype", "gptq4", "frozen_type", "int4", NULL, NULL},
    {"frozen_dtype", "int4", "frozen_type", "int4", NULL, NULL},
    {"frozen_dtype", "gptq8", "frozen_type", "int8", NULL, NULL},
    {"frozen_dtype", "int8", "frozen_type", "int8", NULL, NULL},
    /* of quantised weights alone: they cast the adapter, not its input (fms-acceleration) */
    {"kernels_fused", "lora", "adapter_bytes", "2", "frozen_dtype", "nf4"},
    {"kernels_fused", "lora", "adapter_bytes", "2", "frozen_dtype", "gptq"},
    {"kbit_upcast", "1", "wide_residual", "true", NULL, NULL},
    {"optimizer", "8bit", "optimizer", "adamw-8bit", NULL, NULL},
    {"optimizer", "4bit", "optimizer", "adamw-4bit", NULL, NULL},
    {"optimizer", "bf16 states", "optimizer", "adamw-bf16", NULL, NULL},
    {"optimizer", "adam", "optimizer", "adamw", NULL, NULL},
    {"optimizer", "paged", "offload", "optimizer", NULL, NULL},
    {"optimizer", "fused", "foreach_update", "false", NULL, NULL},
    {"optimizer_impl", "foreach", "foreach_update", "true", NULL, NULL},
    {"optimizer_impl", "fused", "foreach_update", "false", NULL, NULL},
    {"allocator", "expandable_segments", "expandable_segments", "true", NULL, NULL},
    {"expandable_segments", "1", "expandable_segments", "true", NULL, NULL},
    {"optimizer_in_backward", "1", "step_in_backward", "true", NULL, NULL},
    {"fsdp_cpu_offload", "", "offload", "optimizer+gradients+weights", NULL, NULL},
    {"offload", "fsdp_cpu_offload", "offload", "optimizer+gradients+weights", NULL, NULL},
    {"offload", "optimizer+weights", "offload", "optimizer+gradients+weights", NULL, NULL},
    {"offload", "optimizer+params", "offload", "optimizer+gradients+weights", NULL, NULL},
    {"offload", "optimizer", "offload", "optimizer+gradients", NULL, NULL},
    {"deepspeed", "offload", "offload", "optimizer+gradients+weights", NULL, NULL},
    {"optimizer_offload_fraction", "0.", "offload", "optimizer", NULL, NULL},
    {"optimizer_offload_fraction", "1", "offload", "optimizer", NULL, NULL},
    {"optimizer_offload_fraction", "", "offload_share", NULL, NULL, NULL},
    /* Megatron's CPU Adam, and MindSpeed's optimizer that is swapped */
    {"optimizer_offload", "", "offload", "optimizer", NULL, NULL},
    {"activation_offload", "", "offload_activations", "true", NULL, NULL},
    {"moe_impl", "hf-eager", "expert_loop", "true", NULL, NULL},
    {"moe_impl", "", "expert_loop", "false", NULL, NULL},
    {"tiled_mlp", "1", "tiled_mlp", "true", NULL, NULL},
    {"mtp_layers", "", "mtp_layers", NULL, NULL, NULL},
    {"master", "none", "weight_bytes", "2", NULL, NULL},
    {"trainable_embeddings", "1", "adapts_embeddings", "true", NULL, NULL},
    {"modules_to_save", "embed", "adapts_embeddings", "true", NULL, NULL},
    {"packing", "0", "varied_lengths", "true", NULL, NULL},
    {"fsdp", "2", "fsdp_version", "2", NULL, NULL},
    {"trainer", "torchtune", "fsdp_version", "2", NULL, NULL},
    {"trainer", "torchtune", "adapter_bytes", "2", NULL, NULL}, /* dtype is that of adapters, too */
    {"moe_impl", "scattermoe", "trainer", "fms-acceleration", "trainer", "hf"},
    {"trainer", "litgpt", "trainer", "litgpt", NULL, NULL},
    {"trainer", "optimum-habana", "trainer", "optimum-habana", NULL, NULL},
    {"sub_group_size", "", "sub_group_params", NULL, NULL, NULL},
};

enum { MEANING_COUNT = sizeof(meanings) / sizeof(meanings[0]), PAIR_MAX = 64 };

typedef struct pairs {
    const char *keys[PAIR_MAX], *values[PAIR_MAX];
    int count;
} pairs;

/* Ends a word before the spaces in front of `end`, and returns its start. */
static char *trimmed(char *from, char *end)
{
    while (from < end && *from == ' ') {
        from++;
    }
    while (end > from && end[-1] == ' ') {
        end--;
    }
    *end = '\0';
    return from;
}

/* Cuts a cell into its pairs, in place. */
static pairs cut(char *cell)
{
    pairs all = {.count = 0};
    while (*cell && all.count < PAIR_MAX) {
        const size_t length = strcspn(cell, ";");
        char *next = cell + length + (cell[length] == ';');
        char *equals = memchr(cell, '=', length);
        if (equals) {
            all.values[all.count] = trimmed(equals + 1, cell + length);
            all.keys[all.count++] = trimmed(cell, equals);
        }
        cell = next;
    }
    return all;
}

/* The value of the pair of a key with a word in it; NULL: none. */
static const char *value_of(const pairs *all, const char *key, const char *word)
{
    for (int i = 0; i < all->count; i++) {
        if (strcmp(all->keys[i], key) == 0 && rk_run_contains(all->values[i], word)) {
            return all->values[i];
        }
    }
    return NULL;
}

/* The value that an entry gives the cell of a row; NULL: none. */
static const char *meant(const pairs *all, const struct meaning *m)
{
    const char *value = value_of(all, m->key, m->word);
    if (!value || (m->with && !value_of(all, m->with, m->with_word))) {
        return NULL;
    }
    if (!m->value) {
        return strchr(value, ' ') ? NULL : value;
    }
    const char *colon = strchr(value, ':');
    return strcmp(m->value, ":") != 0 ? m->value : colon ? colon + 1 : NULL;
}

static size_t place_of(const rk_run_table *table, const char *name)
{
    size_t at = 0;
    while (at < table->columns && strcmp(table->cells[at], name) != 0) {
        at++;
    }
    return at;
}

/* Gives the table the columns that meanings fill and it lacks, with empty cells. */
static rk_status widen(rk_run_table *table, rk_error *err)
{
    const char *added[MEANING_COUNT];
    size_t count = 0;
    for (int i = 0; i < MEANING_COUNT; i++) {
        size_t known = 0;
        while (known < count && strcmp(added[known], meanings[i].column) != 0) {
            known++;
        }
        if (known == count && place_of(table, meanings[i].column) == table->columns) {
            added[count++] = meanings[i].column;
        }
    }
    const size_t columns = table->columns + count;
    char **cells = calloc((table->rows + 1) * columns, sizeof(*cells));
    if (!cells) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the facts of runs");
    }
    for (size_t row = 0; row <= table->rows; row++) {
        memcpy(&cells[row * columns], &table->cells[row * table->columns],
               table->columns * sizeof(*cells));
        for (size_t i = 0; i < count; i++) {
            const char *text = row == 0 ? added[i] : "";
            cells[row * columns + table->columns + i] = (char *)(uintptr_t)text;
        }
    }
    free(table->cells);
    table->cells = cells;
    table->columns = columns;
    return RK_OK;
}

static void spread(rk_run_table *table, size_t row, const pairs *all)
{
    for (int i = 0; i < MEANING_COUNT; i++) {
        char **cell = &table->cells[row * table->columns + place_of(table, meanings[i].column)];
        const char *text = (*cell)[0] ? NULL : meant(all, &meanings[i]);
        if (text) {
            *cell = (char *)(uintptr_t)text; /* nothing writes to cells */
        }
    }
}

rk_status rk_run_spread_pairs(rk_run_table *table, rk_error *err)
{
    size_t at = place_of(table, PAIRS);
    at = at < table->columns ? at : place_of(table, OTHER_PAIRS);
    if (at == table->columns) {
        return RK_OK;
    }
    table->cells[at] = (char *)(uintptr_t)PAIRS;
    const rk_status status = widen(table, err);
    for (size_t row = 1; row <= table->rows && !status; row++) {
        char **cell = &table->cells[row * table->columns + at];
        const pairs all = cut(*cell);
        spread(table, row, &all);
    }
    return status;
}
