/* SPDX-License-Identifier: Apache-2.0 */
/* Reads price documents, finds hourly prices of accelerators, and spreads a purchase over hours. */
#include "run/price_list.h"

#include "base/error.h"
#include "base/units.h"
#include "io/fields.h"

#include <stdio.h>
#include <string.h>

#define MOST 1e15

static const rk_field hour_fields[] = {
    RK_TEXT_FIELD("accelerator", rk_hour_price, accelerator, .help = "a name of data/accelerators"),
    RK_FIELD("price", NUMBER, offsetof(rk_hour_price, price), .max = MOST, .help = "of an hour"),
    RK_TEXT_FIELD("date", rk_hour_price, date, .optional = true,
                  .help = "of the price; default: that of the list"),
};

static rk_status read_hours(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_price_list *list = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t given = json_array_size(value);
    if (given < 1 || given > RK_PRICE_HOURS_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of 1 to %d prices, found %s",
                          RK_PRICE_HOURS_MAX, rk_json_describe(value, found));
    }
    for (size_t i = 0; i < given; i++) {
        const rk_status status = rk_fields_read(
            json_array_get(value, i), rk_json_path_element(path, i, element), hour_fields,
            COUNT(hour_fields), RK_UNKNOWN_REFUSE, &list->hours[i], err);
        if (status) {
            return status;
        }
    }
    list->count = (int)given;
    return RK_OK;
}

static const rk_field list_fields[] = {
    RK_TEXT_FIELD("currency", rk_price_list, currency, .help = "of all prices"),
    RK_TEXT_FIELD("date", rk_price_list, date, .help = "of the prices"),
    RK_FIELD("hours", CUSTOM, 0, .read = read_hours, .help = "prices of accelerator-hours"),
    RK_FIELD("pue", NUMBER, offsetof(rk_price_list, pue), .min = 1, .max = 10,
             .help = "power of the building over that of its machines"),
    RK_FIELD("node_power", NUMBER, offsetof(rk_price_list, node_power), .min = 1, .max = 10,
             .help = "power of a busy node over that of its boards"),
    RK_FIELD("idle_power", NUMBER, offsetof(rk_price_list, idle_power), .optional = true,
             .above_min = true, .max = 10,
             .help = "power of an idle node over that of its busy boards; default: as a busy node"),
    RK_FIELD("carbon_g_per_kWh", NUMBER, offsetof(rk_price_list, carbon), .max = MOST,
             .unit = "g/kWh", .help = "of the grid"),
};

/*
 * The rest of a node draws the same power whether its boards are busy or idle, and no idle board
 * draws more than a busy one.
 */
static rk_status check_idle(const rk_price_list *list, rk_error *err)
{
    const double least = list->node_power - 1, most = list->node_power, idle = list->idle_power;
    return idle == 0 || (idle >= least && idle <= most)
               ? RK_OK
               : rk_fail_at(err, RK_ERR_INVALID, "idle_power",
                            "expected a number from %g to %g, as \"node_power\" is %g, found %g",
                            least, most, most, idle);
}

rk_status rk_price_list_load(const char *name, rk_price_list *list, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, "prices", &doc, err);
    if (status) {
        return status;
    }
    if (json_object_get(doc.root, "axes")) {
        rk_json_clear(&doc);
        return rk_fail(err, RK_ERR_INVALID,
                       "%s prices the parts of a machine, for 'reckon design'; a run needs prices "
                       "of hours: published or cloud-2026",
                       rk_json_title(name));
    }
    *list = (rk_price_list){.count = 0};
    (void)snprintf(list->name, sizeof(list->name), "%s", name);
    status =
        rk_fields_read(doc.root, "", list_fields, COUNT(list_fields), RK_UNKNOWN_REFUSE, list, err);
    status = status ? status : check_idle(list, err);
    rk_error_set_file(status ? err : NULL, doc.name);
    rk_json_clear(&doc);
    return status;
}

rk_status rk_price_list_find(const rk_price_list *list, const char *accelerator,
                             const rk_hour_price **price, rk_error *err)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->hours[i].accelerator, accelerator) == 0) {
            *price = &list->hours[i];
            return RK_OK;
        }
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "price list %s has no hourly price for %s; give it with --price", list->name,
                   accelerator);
}

double rk_price_of_purchase(double price, double life_s)
{
    return price / (life_s / HOUR);
}
