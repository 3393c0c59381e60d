/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families whose files are not at hand.  The files of hf_classes are written from the keys that the
 * configuration class of each family documents, with the sizes of its published model.
 */
#include "layer/all_kinds.h"
#include "layer/model_load.h"

#include "models.h"

#include <math.h>

typedef struct family {
    const char *name;
    int64_t total, active;
} family;

static void check(const family *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%s.json", CLASSES_FOLDER, cases[i].name);
        const rk_model model = load_model(path);
        const rk_model_params p = rk_model_params_of(&model);
        if (p.total != cases[i].total || p.active != cases[i].active) {
            fail_msg("%s: %lld total, %lld active", cases[i].name, (long long)p.total,
                     (long long)p.active);
        }
    }
}

/* Totals that the Hub or the model card states, to the last parameter. */
static void test_published(void **state)
{
    static const family cases[] = {
        {"chatglm-6b", 6173286400, 6173286400},
        {"codegen-16b", 16032155648, 16032155648},
        {"codestral-mamba-7b", 7285403648, 7285403648},
        {"exaone-3.5-7.8b", 7818448896, 7818448896},
        {"falcon-mamba-7b", 7272665088, 7272665088},
        {"falcon-h1-0.5b", 521411104, 521411104},
        {"gpt-j-6b", 6050882784, 6050882784},
        {"granite-4.0-h-micro", 3191396096, 3191396096},
        {"granite-4.0-h-small", 32207337984, 8803121664},
        {"granite-4.0-h-tiny", 6939037248, 1465470528},
        {"internlm2-7b", 7737708544, 7737708544},
        {"kimi-linear-48b", 49122681728, 3484459904},
        {"mamba-130m", 129135360, 129135360},
        {"mamba-2.8b", 2768345600, 2768345600},
        {"olmo-7b", 6888095744, 6888095744},
        {"smollm3-3b", 3075098624, 3075098624},
        {"stablelm-3b-4e1t", 2795443200, 2795443200},
        {"vaultgemma-1b", 1038741120, 1038741120},
    };
    (void)state;
    check(cases, COUNT(cases));
}

/* Totals by a sum of the tensors of the modelling class, made apart from this code. */
static void test_summed(void **state)
{
    static const family cases[] = {
        {"arctic", 478584608768, 17318647808},
        {"bamba-9b", 9780235392, 9780235392},
        {"ernie-4.5-21b-a3b", 21825437888, 3352150208},
        {"ernie-4.5-vl-28b", 21825437888, 3352150208},
        {"falcon-40b-old", 41303293952, 41303293952},
        {"falcon-7b-old", 6921720704, 6921720704},
        {"gemma3-no-type", 3880263168, 3880263168},
        {"grok-1", 315684820992, 83756587008},
        {"grok-2", 269515497472, 114896674816},
        {"internlm-7b", 7321948160, 7321948160},
        {"jais-13b", 13020811920, 13020811920},
        {"k-exaone-236b", 236571156352, 23668285312},
        {"ling-2.5", 370784, 370784},
        {"ling-3.0-tiny", 7893245344, 1381588384},
        {"minicpm-moe-8x2b", 13873291776, 4318142976},
        {"mistral-small-4", 118972826624, 6632588288},
        {"olmo-hybrid-7b", 7430870688, 7430870688},
        {"orion-14b", 14498703360, 14498703360},
        {"persimmon-8b", 9397175296, 9397175296},
        {"solar-open-100b", 102651799552, 12054833152},
        {"stablelm-2-12b", 12143185920, 12143185920},
        {"trinity-mini", 26123974400, 3474732800},
        {"youtu-llm-2b", 1961560064, 1961560064},
    };
    (void)state;
    check(cases, COUNT(cases));
}

static rk_model load_class(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s.json", CLASSES_FOLDER, name);
    return load_model(path);
}

/* What counts do not show, and what notes say. */
static void test_layers(void **state)
{
    char letters[RK_LAYER_MAX + 1];
    rk_model model = load_class("trinity-mini");
    (void)state;
    assert_memory_equal(letters_of(&model, letters), "wwWFWWWF", 8);
    assert_true(model.types[0].attention.output_gate);
    model = load_class("k-exaone-236b");
    assert_memory_equal(letters_of(&model, letters), "wWWFWWWF", 8);
    assert_int_equal(model.mtp_layers, 1);
    model = load_class("ling-2.5"); /* latent attention behind lightning */
    assert_ptr_equal(model.types[model.type_of[2]].mixer, &rk_mixer_lightning);
    assert_ptr_equal(model.types[model.type_of[3]].mixer, &rk_mixer_latent);
    model = load_class("ling-3.0-tiny"); /* and behind Kimi delta attention */
    assert_ptr_equal(model.types[model.type_of[2]].mixer, &rk_mixer_kimi_delta);
    assert_ptr_equal(model.types[model.type_of[3]].mixer, &rk_mixer_latent);
    assert_non_null(strstr(model.note, "gates of the heads of latent attention"));
    model = load_class("kimi-linear-48b"); /* UT-L14: as Megatron-Bridge counts it */
    assert_true(fabs(rk_model_flops_per_token(&model, 4096, RK_FLOPS_BRIDGE) / 20.715e9 - 1) <
                1e-4);
    model = load_class("bamba-9b"); /* half of a head rotates */
    assert_true(model.details.rope_base == 10000 && model.details.rope_share == 0.5);
    model = load_class("granite-4.0-h-tiny");
    assert_true(model.details.rope_base == 0);
    model = load_class("grok-2");
    assert_non_null(strstr(model.note, "read as \"grok-1\" by the name of its class"));
    model = load_class("ernie-4.5-vl-28b");
    assert_non_null(strstr(model.note, "experts of the tokens of pictures"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_summed),
        cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
