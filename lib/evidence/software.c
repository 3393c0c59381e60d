/* SPDX-License-Identifier: Apache-2.0 */
/* Names of training software, as tables of runs print them. */
#include "evidence/run_facts.h"

#include "base/named.h"

#include <ctype.h>
#include <string.h>

/*
 * Words of a name, lower case and without separators, and the framework of data/runs/defaults.json
 * that they mean.  The name of a trainer means the engine that runs its steps: trainers of the
 * second half run eager PyTorch, over its FSDP by default.
 */
static const rk_named_text names[] = {
    {"megatroncore", "megatron-core"},
    {"mcore", "megatron-core"},
    {"megatronlm", "megatron-lm"},
    {"megatron", "megatron-lm"},
    {"megatronbridge", "megatron-bridge"},
    {"megatrondeepspeed", "megatron-deepspeed"},
    {"gptneox", "gpt-neox"},
    {"neox", "gpt-neox"},
    {"nemo", "nemo"},
    {"nemoframework", "nemo"},
    {"nemoautomodel", "nemo-automodel"},
    {"automodel", "nemo-automodel"},
    {"nanotron", "nanotron"},
    {"torchtitan", "torchtitan"},
    {"llmfoundry", "llm-foundry"},
    {"composer", "llm-foundry"},
    {"maxtext", "maxtext"},
    {"levanter", "maxtext"},
    {"easylm", "maxtext"},
    {"axlearn", "maxtext"},
    {"jax", "maxtext"},
    {"paxml", "paxml"},
    {"pax", "paxml"},
    {"mindspeed", "mindspeed"},
    {"mindspeedllm", "mindspeed"},
    {"modellink", "mindspeed"},
    {"neuronx", "neuronx"},
    {"neuronxdistributed", "neuronx"},
    {"optimumneuron", "neuronx"},
    {"internevo", "internevo"},
    {"paddle", "paddle"},
    {"paddlepaddle", "paddle"},
    {"paddlenlp", "paddle"},
    {"colossalai", "colossal-ai"},
    {"deepspeed", "deepspeed"},
    {"fsdp", "fsdp"},
    {"fsdp1", "fsdp"},
    {"fsdp2", "fsdp"},
    {"fullyshardeddataparallel", "fsdp"},
    {"pytorch", "fsdp"},
    {"lightning", "fsdp"},
    {"pytorchlightning", "fsdp"},
    {"fabric", "fsdp"},
    {"litgpt", "fsdp"},
    {"transformers", "fsdp"},
    {"huggingface", "fsdp"},
    {"hftrainer", "fsdp"},
    {"accelerate", "fsdp"},
    {"trl", "fsdp"},
    {"axolotl", "fsdp"},
    {"llamafactory", "fsdp"},
    {"torchtune", "fsdp"},
    {"msswift", "fsdp"},
    {"olmo", "fsdp"},
    {"olmocore", "fsdp"},
    {"openlm", "fsdp"},
    {"lingua", "fsdp"},
    {"fmsfsdp", "fsdp"},
    {"fairseq", "fsdp"},
    {"metaseq", "fsdp"},
    {"fairscale", "fsdp"},
};

enum { NAME_COUNT = sizeof(names) / sizeof(names[0]) };

/* Letters of `words` that are whole words at the start of `text`, with any separators; 0: none. */
static size_t letters_at(const char *text, const char *words)
{
    size_t letters = 0;
    for (; words[letters]; letters++, text++) {
        while (letters > 0 && *text && strchr("-_ .", *text)) {
            text++;
        }
        if (tolower((unsigned char)*text) != words[letters]) {
            return 0;
        }
    }
    return isalnum((unsigned char)*text) ? 0 : letters;
}

const char *rk_run_framework(const char *cell)
{
    const char *best = NULL;
    size_t most = 0;
    for (const char *at = cell; *at; at++) {
        const bool starts = at == cell || !isalnum((unsigned char)at[-1]);
        for (int i = 0; starts && i < NAME_COUNT; i++) {
            const size_t letters = letters_at(at, names[i].name);
            if (letters > most) {
                most = letters;
                best = names[i].text;
            }
        }
    }
    return best;
}
