/* SPDX-License-Identifier: Apache-2.0 */
/* Reads storage documents; time and capacity of checkpoints on each storage tier. */
#include "run/storage.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "io/fields.h"

#include <stdio.h>
#include <string.h>

#define MOST 1e12
#define GIGA 1e9

/* ---- times --------------------------------------------------------------------------------- */

/* Instances of a tier: one per accelerator, one per node, or one for all. */
static double sharers(const rk_storage_tier *tier, double accelerators, double per_node)
{
    return tier->per == RK_PER_ACCELERATOR ? accelerators
           : tier->per == RK_PER_NODE      ? rk_max(accelerators / per_node, 1)
                                           : 1;
}

double rk_storage_time_s(const rk_storage_tier *tier, double bytes, double accelerators,
                         double per_node)
{
    return tier->latency_s + bytes / (tier->bandwidth * sharers(tier, accelerators, per_node));
}

bool rk_storage_holds(const rk_storage_tier *tier, double bytes, double copies, double accelerators,
                      double per_node)
{
    return !(tier->capacity > 0) ||
           bytes * copies <= tier->capacity * sharers(tier, accelerators, per_node);
}

const rk_storage_tier *rk_storage_find(const rk_storage *storage, const char *name, rk_error *err)
{
    char names[256] = "";
    for (int i = 0; i < storage->count; i++) {
        if (strcmp(storage->tiers[i].name, name) == 0) {
            return &storage->tiers[i];
        }
        const size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                       storage->tiers[i].name);
    }
    (void)rk_fail(err, RK_ERR_INVALID, "the storage %s has no tier \"%s\"; it has %s",
                  storage->name, name, names);
    return NULL;
}

/* ---- documents ----------------------------------------------------------------------------- */

static const char *const per_names[] = {"accelerator", "node", "system", NULL};
static const char *const survives_names[] = {"process", "node", "system", NULL};

#define TIER(name_, type_, member, ...)                                                            \
    RK_FIELD(name_, type_, offsetof(rk_storage_tier, member), __VA_ARGS__)

static const rk_field tier_fields[] = {
    RK_TEXT_FIELD("name", rk_storage_tier, name, .help = "of the tier"),
    TIER("GBps", NUMBER, bandwidth, .above_min = true, .max = MOST, .unit = "GB/s",
         .help = "written and read, for each of per"),
    TIER("per", ENUM, per, .names = per_names, .help = "what has that bandwidth"),
    TIER("latency_s", NUMBER, latency_s, .optional = true, .max = MOST, .unit = "s",
         .help = "of a checkpoint; default: 0"),
    TIER("capacity_GB", NUMBER, capacity, .optional = true, .max = MOST, .unit = "GB",
         .help = "for each of per; default: enough"),
    TIER("survives", ENUM, survives, .names = survives_names,
         .help = "the loss of a process, of a node, or of the system"),
};

static rk_status read_tiers(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_storage *storage = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t given = json_array_size(value);
    if (given < 1 || given > RK_STORAGE_TIERS_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of 1 to %d tiers, found %s",
                          RK_STORAGE_TIERS_MAX, rk_json_describe(value, found));
    }
    for (size_t i = 0; i < given; i++) {
        rk_storage_tier *tier = &storage->tiers[i];
        const rk_status status =
            rk_fields_read(json_array_get(value, i), rk_json_path_element(path, i, element),
                           tier_fields, COUNT(tier_fields), RK_UNKNOWN_REFUSE, tier, err);
        if (status) {
            return status;
        }
        tier->bandwidth *= GIGA;
        tier->capacity *= GIGA;
    }
    storage->count = (int)given;
    return RK_OK;
}

static const rk_field storage_fields[] = {
    RK_FIELD("tiers", CUSTOM, 0, .read = read_tiers, .help = "the fastest first"),
};

rk_status rk_storage_load(const char *name, rk_storage *storage, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, "storage", &doc, err);
    if (status) {
        return status;
    }
    *storage = (rk_storage){.count = 0};
    (void)snprintf(storage->name, sizeof(storage->name), "%s", name);
    status = rk_fields_read(doc.root, "", storage_fields, COUNT(storage_fields), RK_UNKNOWN_REFUSE,
                            storage, err);
    rk_error_set_file(status ? err : NULL, doc.name);
    rk_json_clear(&doc);
    return status;
}
