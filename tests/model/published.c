/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.json files of published models, with the keys of their releases, against the parameters
 * that are published.  "parameters" is a count to the last one: of the weights on the Hub where
 * "source" says so, else that of the model that "source" names.  "about" is a rounded figure of a
 * model card.  "refused" is a part of the reason why a file cannot be read.
 */
#include "layer/all_kinds.h"
#include "model/hf_config.h"

#include <math.h>

#include "models.h"

enum { FILES_LEAST = 100 }; /* so that an empty list does not pass */

static void check_read(const json_t *entry, const char *name, const rk_model *model)
{
    const json_t *about = json_object_get(entry, "about");
    const int64_t total = rk_model_params_of(model).total;
    if (about) {
        if (fabs((double)total / json_number_value(about) - 1) > 0.005) {
            fail_msg("%s: %lld parameters, published %g", name, (long long)total,
                     json_number_value(about));
        }
    } else if (total != json_integer_value(json_object_get(entry, "parameters"))) {
        fail_msg("%s: %lld parameters, published %lld", name, (long long)total,
                 (long long)json_integer_value(json_object_get(entry, "parameters")));
    }
}

static void test_published(void **state)
{
    rk_json_doc doc;
    rk_error err;
    (void)state;
    assert_int_equal(rk_json_load_python(PUBLISHED, &doc, &err), RK_OK);
    const json_t *list = json_object_get(doc.root, "models");
    const size_t count = json_array_size(list);
    size_t read = 0;
    for (size_t i = 0; i < count; i++) {
        rk_model model;
        const json_t *entry = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *refused = json_string_value(json_object_get(entry, "refused"));
        const rk_status status =
            rk_hf_config_read(json_object_get(entry, "config"), NULL, &rk_all_kinds, &model, &err);
        if (refused) {
            assert_int_not_equal(status, RK_OK);
            assert_non_null(strstr(err.message, refused));
            continue;
        }
        if (status) {
            fail_msg("%s: %s: %s", name, err.path, err.message);
        }
        check_read(entry, name, &model);
        read++;
    }
    assert_true(read >= FILES_LEAST);
    rk_json_clear(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
