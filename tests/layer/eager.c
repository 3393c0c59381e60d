/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch keeps and makes where models run operator by operator: norms, caps, scores, experts.
 */
#include "blocks.h"

#include "estimate/stage.h"

static rk_model model;
static rk_system machine;
static rk_stack stack;
static rk_strategy s;

/* A model of transformers in 16 bits, of which all weights learn. */
static void take(const char *name)
{
    model = model_of(name);
    s = rk_strategy_defaults(&model);
    s.seq = 4096;
    s.states = (rk_state_recipe){2, 2, 4, 2, 2};
    s.cross_entropy = RK_CROSS_ENTROPY_FULL;
}

static void freeze(void)
{
    s.adapter_bytes = 4;
    rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION, &s);
}

static rk_cost_table costs(void)
{
    rk_cost_table table;
    assert_legal(&model, &machine, &s);
    rk_cost_table_fill(&model, &machine, &stack, &s, &table);
    return table;
}

/* Gemma multiplies with 1 + gain before the cast: of learning norms 4 bytes are kept, not 2. */
static void test_gains(void **state)
{
    (void)state;
    take("gemma2-2b");
    const double hidden = 4096.0 * 2304;
    const rk_cost_table wide = costs();
    model.wide_gain = false;
    assert_near(wide.layers[0][0].saved - costs().layers[0][0].saved, 4 * 2 * hidden, 1e-9);
    assert_near(wide.head.saved - costs().head.saved, 2 * hidden, 1e-9);
    freeze(); /* no gradient of a gain reads the normed input */
    const rk_cost_table frozen = costs();
    model.wide_gain = true;
    assert_near(costs().layers[0][0].saved, frozen.layers[0][0].saved, 1e-12);
}

/* With torch.autocast hidden states beside weights in fp32 are in fp32; a compiler keeps no casts.
 */
static void test_compiled(void **state)
{
    (void)state;
    take("llama3.2-1b");
    const double hidden = 4096.0 * 2048;
    stack.wide_norms = false;
    const rk_cost_table narrow = costs();
    s.states = (rk_state_recipe){4, 4, 8, 2, 2};
    const rk_cost_table wide = costs();
    stack.wide_norms = true;
    assert_near(wide.layers[0][0].saved - narrow.layers[0][0].saved, 2 * 2 * hidden, 1e-9);
    assert_near(wide.layers[0][1].saved, 4 * hidden, 1e-12);
    assert_near(wide.head.saved - narrow.head.saved, 2 * hidden, 1e-9);
}

/* A tanh keeps its result: of every score that is written, of logits unless the loss is fused. */
static void test_caps(void **state)
{
    (void)state;
    take("gemma2-2b");
    const double scores = 8 * 4096.0 * 4096, logits = 4096.0 * 256000;
    for (int fused = 0; fused < 2; fused++) {
        s.flash_attention = fused;
        s.cross_entropy = fused ? RK_CROSS_ENTROPY_FUSED : RK_CROSS_ENTROPY_FULL;
        const rk_cost_table capped = costs();
        model.types[0].attention.capped_scores = model.capped_logits = false;
        const rk_cost_table plain = costs();
        model.types[0].attention.capped_scores = model.capped_logits = true;
        const double layer = capped.layers[0][0].saved - plain.layers[0][0].saved;
        const double head = capped.head.saved - plain.head.saved;
        assert_near(layer, fused ? 0 : 2 * scores, 1e-9);
        assert_near(head, fused ? 0 : 2 * logits, 1e-9);
    }
    s.cross_entropy = RK_CROSS_ENTROPY_CHUNKED;
    s.loss_chunk = 256;
    const double chunk = costs().head.saved;
    model.capped_logits = false;
    assert_near(chunk - costs().head.saved, 2 * 256 * 256000.0, 1e-9);
}

/*
 * Backward of a softmax in fp32 has its result, its gradient, their product and the gradient of the
 * scores: 16 bytes a score, beside what mixer and layer keep but the network, which is done.
 */
static void test_scores(void **state)
{
    (void)state;
    take("llama2-7b");
    const rk_cost fused = costs().layers[0][0];
    s.flash_attention = false;
    const rk_cost eager = costs().layers[0][0];
    const double hidden = 4096.0 * 4096, scores = 32 * hidden, sums = 4 * 32 * 4096.0;
    const double network = 8 * 4096.0 * 11008; /* gate, up, its activation, both multiplied */
    const double norms = 2 * hidden * (2 + 2 + 4);
    assert_near(eager.saved + eager.transient,
                fused.saved - sums + 16 * scores - network - norms / 2 + 2 * hidden, 1e-9);
    model.parallel_block = true; /* both end together */
    s.flash_attention = true;
    const double beside = costs().layers[0][0].saved;
    s.flash_attention = false;
    const rk_cost block = costs().layers[0][0];
    assert_near(block.saved + block.transient, beside - sums + 16 * scores + 2 * hidden, 1e-9);
}

/*
 * Experts in groups keep their outputs for the weights of the router; frozen ones are fullest in
 * forward, with what they read, their outputs weighted, and those in order.  In a loop, what
 * index_add_ adds is kept once more, and temporaries are those of one expert.
 */
static void test_experts(void **state)
{
    (void)state;
    take("olmoe-1b-7b");
    freeze();
    const double rows = 8 * 4096.0, outputs = 2 * rows * 2048, hidden = 2 * 4096.0 * 2048;
    const double more = stack.layer_tensors * hidden;
    stack.kept_outputs = 0;
    const rk_cost none = costs().layers[0][0];
    stack.kept_outputs = 1;
    const rk_cost groups = costs().layers[0][0];
    stack.kept_outputs = 2;
    const rk_cost loop = costs().layers[0][0];
    stack.kept_outputs = 1;
    assert_near(groups.saved - none.saved, outputs, 1e-9);
    assert_near(loop.saved - groups.saved, outputs, 1e-9);
    assert_near(none.transient, 2 * rows * 2 * 1024 + hidden + more, 1e-9);
    assert_near(groups.transient, 3 * outputs + hidden + more, 1e-9);
    assert_near(loop.transient, 3 * outputs / 64 + hidden + more, 1e-9);
    take("olmoe-1b-7b"); /* learning ones keep what they read */
    assert_near(costs().layers[0][0].transient, 2 * outputs + hidden, 1e-9);
}

static int set_up(void **state)
{
    *state = &machine;
    machine = system_of("h200-sxm");
    stack = stack_of("huggingface-hopper");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gains),  cmocka_unit_test(test_compiled), cmocka_unit_test(test_caps),
        cmocka_unit_test(test_scores), cmocka_unit_test(test_experts),
    };
    return cmocka_run_group_tests(tests, set_up, clear_machine);
}
