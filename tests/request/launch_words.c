/* SPDX-License-Identifier: Apache-2.0 */
/* Words and lists of launches as values of options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "request/launch_words.h"

#include <stdbool.h>
#include <string.h>

/* What a word of a framework means here, and what that leaves out. */
static void test_words(void **state)
{
    static const char two_levels[] = "priced as one ring, without groups that share heads";
    static const char low_rank[] = "priced as AdamW, whose states are not of low rank";
    static const char one_less[] = "priced as AdamW, which has a state less";
    static const char as_many[] = "priced as SGD with momentum, which has as many states";
    static const struct {
        const char *field, *word, *as, *note;
    } cases[] = {
        {"cp_kind", "p2p", "ring", NULL},
        {"cp_kind", "megatron_cp_algo", "ring", NULL},
        {"cp_kind", "a2a", "ulysses", NULL},
        {"cp_kind", "ulysses_cp_algo", "ulysses", NULL},
        {"cp_kind", "ulysses (with DeepSpeed)", "ulysses", NULL},
        {"cp_kind", "all_gather", "all-gather", NULL},
        {"cp_kind", "allgather", "all-gather", NULL},
        {"cp_kind", "kvallgather_cp_algo", "all-gather", NULL},
        {"cp_kind", "a2a+p2p", "ring", two_levels},
        {"cp_kind", "hybrid_cp_algo", "ring", two_levels},
        {"cp_kind", "hybrid_adaptive_cp_algo", "ring", two_levels},
        {"cp_kind", "adaptive_cp_algo", "ring", "priced as a ring that sends all blocks"},
        {"cp_kind", "ring", "ring", NULL},
        {"cp_kind", "hexa", "hexa", NULL},
        {"schedule", "dualpipe-v", "interleaved", "priced as interleaved: its V has less idle"},
        {"schedule", "interleavedzerobubble", "interleaved",
         "priced as interleaved: gradients of weights do not fill its bubble"},
        {"schedule", "loopedbfs", "interleaved", "priced as interleaved, which holds less"},
        {"schedule", "dualpipe", "dualpipe", NULL},
        {"optimizer", "galore_adamw_8bit", "adamw", low_rank},
        {"optimizer", "apollo_adamw_layerwise", "adamw", low_rank},
        {"optimizer", "grokadamw", "adamw", one_less},
        {"optimizer", "paged_ademamix_8bit", "adamw", one_less},
        {"optimizer", "adalomo", "adafactor", "priced as Adafactor, whose states are as small"},
        {"optimizer", "came_pytorch", "adafactor",
         "priced as Adafactor, whose states are about as small"},
        {"optimizer", "lomo", "sgd-plain", "priced as SGD that keeps gradients for a whole step"},
        {"optimizer", "paged_lion_8bit", "sgd", as_many},
        {"optimizer", "rmsprop_bnb", "sgd", as_many},
        {"optimizer", "adagrad", "sgd", as_many},
        {"optimizer", "optimi_dion", "muon", "priced as Muon"},
        {"optimizer", "adamw-bf16", "adamw-bf16", NULL},
        {"optimizer", "adamw_torch_fused", "adamw", NULL},
        {"optimizer", "adam", "adamw", NULL},
        {"optimizer", "paged_adamw_8bit", "adam-8bit", NULL},
        {"optimizer", "adam-8-bit", "adam-8bit", NULL},
        {"optimizer", "adamw_bnb", "adam-8bit", NULL},
        {"optimizer", "adamw_torch_4bit", "adamw-4bit", NULL},
        {"optimizer", "sgd", "sgd", NULL},
        {"optimizer", "muon", "muon", NULL},
        {"precision", "adam", "adam", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *note = "";
        assert_string_equal(rk_launch_word_of(cases[i].field, cases[i].word, &note), cases[i].as);
        if (!note || !cases[i].note ? note != cases[i].note : strcmp(note, cases[i].note) != 0) {
            fail_msg("%s %s: %s", cases[i].field, cases[i].word, note ? note : "no note");
        }
    }
}

/* Lists as Python, YAML and shells write them. */
static void test_lists(void **state)
{
    static const char *const names[] = {"norm", "act", "mlp", NULL};
    static const struct {
        const char *list, *words, *chosen;
    } cases[] = {
        {"['norm', \"mlp\"]", "norm,mlp", "norm,mlp"},
        {"mlp norm", "mlp,norm", "mlp,norm"},
        {"[core_attn,norm]", "core_attn,norm", "norm"},
        {"a-b_c.d;e", "a-b_c.d,e", ""},
        {"norms", "norms", ""},
        {"[]", "", ""},
        {"", "", ""},
        {", mlp ,", "mlp", "mlp"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[RK_LAUNCH_LIST_SIZE];
        assert_string_equal(rk_launch_list_of(cases[i].list, out), cases[i].words);
        assert_string_equal(rk_launch_choose(cases[i].list, names, out), cases[i].chosen);
    }
    assert_true(rk_launch_compiles("true") && rk_launch_compiles("model+loss"));
    assert_false(rk_launch_compiles("loss") || rk_launch_compiles("false") ||
                 rk_launch_compiles(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
