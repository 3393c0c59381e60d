/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a recipe: what is read of it lies in bounds. */
#include "evidence/recipe.h"

#include <string.h>

#include "target.h"

static void require_constant(const rk_recipe *recipe, const rk_constant *constant)
{
    REQUIRE(constant->key_count >= 1 && constant->key_count <= RK_RECIPE_KEYS);
    REQUIRE(constant->min < constant->max);
    REQUIRE(constant->start >= constant->min && constant->start <= constant->max);
    REQUIRE(!constant->logarithmic || constant->min > 0);
    REQUIRE(constant->documents != 0 && constant->documents >> recipe->document_count == 0);
    for (int i = 0; i < constant->key_count; i++) {
        REQUIRE(strlen(constant->keys[i]) < RK_RECIPE_NAME);
    }
}

static void require_table(const rk_recipe_table *table)
{
    REQUIRE(table->kind <= RK_TABLE_RUNS && table->weight > 0);
    REQUIRE(table->condition_count <= RK_RECIPE_CONDITIONS);
    REQUIRE(table->group_count <= RK_RECIPE_GROUPS);
    for (int i = 0; i < table->condition_count; i++) {
        const rk_condition *condition = &table->conditions[i];
        REQUIRE(condition->kind <= RK_CONDITION_RANGE);
        REQUIRE(condition->kind == RK_CONDITION_RANGE || condition->text_count >= 1);
        REQUIRE(condition->text_count <= RK_RECIPE_TEXTS);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_recipe *recipe;
    rk_error err;
    const rk_status status = rk_recipe_parse((const char *)data, size, "a/input", &recipe, &err);
    if (status) {
        REQUIRE(!recipe);
        require_sound_error(&err, status);
        return 0;
    }
    REQUIRE(recipe->document_count >= 1 && recipe->document_count <= RK_RECIPE_DOCUMENTS);
    REQUIRE(recipe->constant_count >= 1 && recipe->constant_count <= RK_RECIPE_CONSTANTS);
    REQUIRE(recipe->table_count >= 1 && recipe->table_count <= RK_RECIPE_TABLES);
    for (int i = 0; i < recipe->constant_count; i++) {
        require_constant(recipe, &recipe->constants[i]);
    }
    for (int i = 0; i < recipe->table_count; i++) {
        require_table(&recipe->tables[i]);
    }
    rk_recipe_free(recipe);
    return 0;
}
