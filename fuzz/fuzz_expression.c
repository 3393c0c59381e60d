/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an expression: it is parsed or refused, and evaluated whatever its names stand for.
 */
#include "io/expression.h"

#include <math.h>
#include <string.h>

#include "target.h"

/* Values that the names take in turn. */
static const rk_value values[] = {
    {.type = RK_VALUE_INT, .integer = 12288},
    {.type = RK_VALUE_REAL, .real = -0.5},
    {.type = RK_VALUE_BOOL, .boolean = true},
    {.type = RK_VALUE_TEXT, .text = "float8"},
    {.type = RK_VALUE_NULL},
};
enum { VALUE_COUNT = sizeof(values) / sizeof(values[0]) };

static void require_value(const rk_expression *expression, size_t first)
{
    rk_value names[RK_EXPRESSION_SIZE_MAX];
    rk_expression_fault fault;
    const size_t count = rk_expression_name_count(expression);
    REQUIRE(count <= RK_EXPRESSION_SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(strlen(rk_expression_name(expression, i)) > 0);
        names[i] = values[(first + i) % VALUE_COUNT];
    }
    const rk_value value = rk_expression_value(expression, names, &fault);
    REQUIRE(value.type != RK_VALUE_REAL || isfinite(value.real));
    REQUIRE(value.type == RK_VALUE_NULL || !fault.reason);
    REQUIRE(!fault.reason || fault.position < strlen(rk_expression_text(expression)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_expression *expression;
    rk_error err;
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    const rk_status status = rk_expression_parse(text, &expression, &err);
    if (status) {
        REQUIRE(!expression);
        require_sound_error(&err, status);
    } else {
        for (size_t i = 0; i < VALUE_COUNT; i++) {
            require_value(expression, i);
        }
        rk_expression_free(expression);
    }
    free(text);
    return 0;
}
