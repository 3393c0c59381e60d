/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of prices. */
#include "base/error.h"
#include "base/units.h"
#include "codesign/prices.h"
#include "io/fields.h"

#include <stdio.h>
#include <string.h>

#define MOST 1e15 /* of a price or a value */

/* ---- values -------------------------------------------------------------------------------- */

/* Numbers that are not negative.  Sets *count. */
static rk_status read_numbers(const json_t *value, const char *path, double *out, int *count,
                              rk_error *err)
{
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t given = json_array_size(value); /* 0 of what is not an array */
    if (given < 1 || given > RK_PRICE_VALUES_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of 1 to %d numbers, found %s",
                          RK_PRICE_VALUES_MAX, rk_json_describe(value, found));
    }
    for (size_t i = 0; i < given; i++) {
        const json_t *item = json_array_get(value, i);
        out[i] = json_number_value(item);
        if (!json_is_number(item) || !(out[i] >= 0) || out[i] > MOST) {
            return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_element(path, i, element),
                              "expected a number from 0 to %g, found %s", MOST,
                              rk_json_describe(item, found));
        }
    }
    *count = (int)given;
    return RK_OK;
}

/* ---- axes ---------------------------------------------------------------------------------- */

struct list {
    double numbers[RK_PRICE_VALUES_MAX];
    int count;
};

static rk_status read_list(const json_t *value, const char *path, void *out, rk_error *err)
{
    struct list *list = out;
    return read_numbers(value, path, list->numbers, &list->count, err);
}

/* An axis as it is written. */
struct axis_fields {
    char key[sizeof(((rk_price_axis *)0)->key)];
    struct list values, prices;
    double price_per_unit;
};

static const rk_field axis_fields[] = {
    RK_TEXT_FIELD(
        "key", struct axis_fields, key,
        .help = "\"accelerators\", or the number that varies: memory_GiB, offload_GBps, domain..."),
    RK_FIELD("values", CUSTOM, offsetof(struct axis_fields, values), .read = read_list,
             .help = "what is on offer"),
    RK_FIELD("price_per_unit", NUMBER, offsetof(struct axis_fields, price_per_unit),
             .optional = true, .max = MOST,
             .help = "of one accelerator, for every unit of the value"),
    RK_FIELD("prices", CUSTOM, offsetof(struct axis_fields, prices), .optional = true,
             .read = read_list, .help = "of one accelerator, for each value, instead"),
};

static rk_status read_axis(const json_t *value, const char *path, rk_price_axis *axis,
                           rk_error *err)
{
    struct axis_fields read = {.price_per_unit = 0};
    char member[RK_JSON_PATH_SIZE];
    const rk_status status =
        rk_fields_read(value, path, axis_fields, COUNT(axis_fields), RK_UNKNOWN_REFUSE, &read, err);
    if (status) {
        return status;
    }
    if (read.prices.count > 0 && read.prices.count != read.values.count) {
        return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_member(path, "prices", member),
                          "%d prices for %d values", read.prices.count, read.values.count);
    }
    if (read.prices.count > 0 && read.price_per_unit > 0) {
        return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_member(path, "prices", member),
                          "prices and price_per_unit exclude each other");
    }
    const bool old = strcmp(read.key, "processors") == 0;
    (void)snprintf(axis->key, sizeof(axis->key), "%s", old ? RK_PROCESSORS_KEY : read.key);
    axis->count = read.values.count;
    for (int i = 0; i < axis->count; i++) {
        axis->values[i] = read.values.numbers[i];
        axis->prices[i] = read.prices.count > 0 ? read.prices.numbers[i]
                                                : read.price_per_unit * read.values.numbers[i];
    }
    return RK_OK;
}

static rk_status read_axes(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_prices *prices = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t given = json_array_size(value);
    rk_status status = RK_OK;
    if (given < 1 || given > RK_PRICE_AXES_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of 1 to %d axes, found %s",
                          RK_PRICE_AXES_MAX, rk_json_describe(value, found));
    }
    for (size_t i = 0; i < given && !status; i++) {
        rk_price_axis *axis = &prices->axes[i];
        (void)rk_json_path_element(path, i, element);
        status = read_axis(json_array_get(value, i), element, axis, err);
        for (size_t j = 0; j < i && !status; j++) {
            if (strcmp(axis->key, prices->axes[j].key) == 0) {
                status = rk_fail_at(err, RK_ERR_INVALID, element, "a second axis of %s", axis->key);
            }
        }
    }
    prices->axis_count = (int)given;
    return status;
}

/* ---- the document -------------------------------------------------------------------------- */

static const rk_field price_fields[] = {
    RK_TEXT_FIELD("currency", rk_prices, currency, .optional = true, .help = "default: \"$\""),
    RK_FIELD("accelerator", NUMBER, offsetof(rk_prices, processor), .max = MOST,
             .help = "price of an accelerator with everything that no axis prices"),
    RK_FIELD("life_days", NUMBER, offsetof(rk_prices, life_days), .optional = true, .min = 1,
             .max = 1e6, .unit = "days",
             .help = "over which a machine is paid off; gives what a run costs"),
    RK_FIELD("axes", CUSTOM, 0, .read = read_axes, .help = "the numbers that vary, with prices"),
};

rk_status rk_prices_load(const char *name, rk_prices *prices, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, "prices", &doc, err);
    if (status) {
        return status;
    }
    if (json_object_get(doc.root, "hours")) {
        rk_json_clear(&doc);
        return rk_fail(
            err, RK_ERR_INVALID,
            "%s has prices of hours, for 'reckon run'; a design needs prices of the parts "
            "of a machine, as example has",
            rk_json_title(name));
    }
    json_t *old = json_object_get(doc.root, "processor"); /* the older name, docs/figures.md */
    if (old && !json_object_get(doc.root, "accelerator")) {
        if (json_object_set(doc.root, "accelerator", old)) {
            rk_json_clear(&doc);
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the prices");
        }
        json_object_del(doc.root, "processor");
    }
    *prices = (rk_prices){.currency = "$"};
    (void)snprintf(prices->name, sizeof(prices->name), "%s", name);
    status = rk_fields_read(doc.root, "", price_fields, COUNT(price_fields), RK_UNKNOWN_REFUSE,
                            prices, err);
    rk_error_set_file(status ? err : NULL, doc.name);
    rk_json_clear(&doc);
    return status;
}
