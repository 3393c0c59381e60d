/* SPDX-License-Identifier: Apache-2.0 */
/* Advice in flags of Megatron-LM, as the framework of a launch writes it. */
#include "launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MEGATRON                                                                                   \
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "               \
    "--num-attention-heads 16 --seq-length 2048 --micro-batch-size 2 --global-batch-size 64 "      \
    "--vocab-file v.json --bf16 "
#define STAGES                                                                                     \
    MEGATRON "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 "
#define BRIDGE                                                                                     \
    "torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe "                         \
    "llama3_8b_pretrain_config "
#define NEMO                                                                                       \
    "torchrun --nproc_per_node=8 examples/nlp/language_modeling/megatron_gpt_pretraining.py "      \
    "model.num_layers=8 model.hidden_size=1024 model.num_attention_heads=16 "                      \
    "model.encoder_seq_length=2048 model.micro_batch_size=2 model.global_batch_size=64 "           \
    "trainer.precision=bf16 "

#define YAML                                                                                       \
    "{\"trainer\": {\"devices\": 8, \"num_nodes\": 1, \"precision\": \"bf16\"}, \"model\": "       \
    "{\"num_layers\": 8, \"hidden_size\": 1024, \"num_attention_heads\": 16, "                     \
    "\"encoder_seq_length\": 2048, \"micro_batch_size\": 2, \"global_batch_size\": 64, "           \
    "\"sequence_parallel\": true, \"mcore_gpt\": true}}"

enum { SIZE = 1024 };

typedef struct spelling {
    const char *launch;          /* a line, or a document as JSON */
    const char *flags, *spelled; /* of Megatron-LM, and as this launch has them */
    const char *names, *left;    /* of flags to leave out; NULL: the list has them as "without" */
} spelling;

static void read_launch(rk_launch *launch, const char *text)
{
    rk_error err = {0};
    if (text[0] == '{') {
        json_t *root = json_loads(text, 0, NULL);
        assert_non_null(root);
        rk_launch_add_document(launch, "launch.yaml", root);
    } else {
        assert_int_equal(rk_launch_parse(text, strlen(text), "line", launch, &err), RK_OK);
    }
    if (rk_launch_resolve(launch, &err)) {
        fail_msg("%s: %s", text, err.message);
    }
}

static void check(const spelling *one)
{
    rk_launch launch = {0};
    rk_error err = {0};
    char flags[SIZE], names[SIZE];
    read_launch(&launch, one->launch);
    (void)snprintf(flags, SIZE, "%s", one->flags);
    (void)snprintf(names, SIZE, "%s", one->names ? one->names : "");
    assert_int_equal(rk_launch_spell_flags(&launch, flags, one->names ? names : NULL, SIZE, &err),
                     RK_OK);
    assert_string_equal(flags, one->spelled);
    assert_string_equal(names, one->left ? one->left : "");
    rk_launch_clear(&launch);
}

static void test_spellings(void **state)
{
    static const spelling all[] = {
        {MEGATRON, "--tensor-model-parallel-size 4, --sequence-parallel, without --fp8-format",
         "--tensor-model-parallel-size 4, --sequence-parallel, without --fp8-format", NULL, NULL},
        {STAGES, "--num-virtual-stages-per-pipeline-rank 4",
         "--num-virtual-stages-per-pipeline-rank 4, without "
         "--num-layers-per-virtual-pipeline-stage",
         NULL, NULL},
        {STAGES, "--num-virtual-stages-per-pipeline-rank 4 --sequence-parallel",
         "--num-virtual-stages-per-pipeline-rank 4 --sequence-parallel", "--overlap-grad-reduce",
         "--overlap-grad-reduce --num-layers-per-virtual-pipeline-stage"},
        {STAGES, "--num-virtual-stages-per-pipeline-rank 4",
         "--num-virtual-stages-per-pipeline-rank 4", "", "--num-layers-per-virtual-pipeline-stage"},
        {STAGES, "--micro-batch-size 1, without --num-virtual-stages-per-pipeline-rank",
         "--micro-batch-size 1, without --num-layers-per-virtual-pipeline-stage", NULL, NULL},
        {BRIDGE,
         "--tensor-model-parallel-size 4, --sequence-parallel, without --overlap-grad-reduce",
         "model.tensor_model_parallel_size=4, model.sequence_parallel=true, without "
         "comm_overlap.overlap_grad_reduce",
         NULL, NULL},
        {BRIDGE, "--tensor-model-parallel-size 4 --sequence-parallel",
         "model.tensor_model_parallel_size=4\nmodel.sequence_parallel=true",
         "--overlap-grad-reduce", "comm_overlap.overlap_grad_reduce"},
        {NEMO, "--tensor-model-parallel-size 4 --sequence-parallel",
         "model.tensor_model_parallel_size=4\nmodel.sequence_parallel=true", "--micro-batch-size",
         "model.micro_batch_size"},
        {NEMO, "--tensor-model-parallel-size 4, no flag, --global-batch-size 32",
         "model.tensor_model_parallel_size=4, no flag, model.global_batch_size=32", NULL, NULL},
        {YAML, "--tensor-model-parallel-size 4 --sequence-parallel",
         "model.tensor_model_parallel_size: 4\nmodel.sequence_parallel: true", "--micro-batch-size",
         "model.micro_batch_size"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        check(&all[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
