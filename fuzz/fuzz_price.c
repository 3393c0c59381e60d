/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a document of prices: every value and every price is a finite amount. */
#include "codesign/prices.h"

#include <math.h>
#include <string.h>

#include "input_file.h"

static bool is_amount(double value)
{
    return value >= 0 && isfinite(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_prices prices;
    rk_error err;
    const char *path = write_input(data, size, ".json");
    const rk_status status = rk_prices_load(path, &prices, &err);
    (void)unlink(path);
    if (status) {
        require_sound_error(&err, status);
        return 0;
    }
    REQUIRE(is_amount(prices.processor));
    REQUIRE(prices.life_days == 0 || prices.life_days >= 1);
    REQUIRE(strlen(prices.currency) < sizeof(prices.currency));
    REQUIRE(prices.axis_count >= 1 && prices.axis_count <= RK_PRICE_AXES_MAX);
    for (int i = 0; i < prices.axis_count; i++) {
        const rk_price_axis *axis = &prices.axes[i];
        REQUIRE(axis->count >= 1 && axis->count <= RK_PRICE_VALUES_MAX);
        for (int j = 0; j < axis->count; j++) {
            REQUIRE(is_amount(axis->values[j]) && is_amount(axis->prices[j]));
        }
    }
    return 0;
}
