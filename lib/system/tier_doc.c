/* SPDX-License-Identifier: Apache-2.0 */
/* The tiers of a document: links inside nodes and between them. */
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "system/doc_fields.h"

#include <string.h>

static const rk_field side_fields[] = {
    RK_TEXT_FIELD("name", rk_side_link, name, .help = "a text"),
    RATE("bandwidth_GBps", rk_side_link, bandwidth, "GB/s", "per accelerator and direction"),
    SHARE("efficiency", rk_side_link, efficiency, "of large messages"),
    OPTIONAL("latency_us", rk_side_link, latency, 1e6, "us", "of a collective"),
    RK_FIELD("used", BOOL, offsetof(rk_side_link, used), .optional = true,
             .help = "whether collectives use it unless told to"),
    UNCERTAIN,
};

/* Links that are used first. */
static void sort_sides(rk_tier *tier, const rk_side_link *links, size_t count)
{
    tier->side_count = tier->idle_sides = 0;
    for (size_t i = 0; i < count; i++) {
        if (links[i].used) {
            tier->sides[tier->side_count++] = links[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!links[i].used) {
            tier->sides[tier->side_count + tier->idle_sides++] = links[i];
        }
    }
}

/* `out` is the tier. */
static rk_status read_sides(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_tier *tier = out;
    const size_t count = json_array_size(value);
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    rk_side_link links[RK_SIDE_LINK_MAX] = {{.used = true}, {.used = true}, {.used = true}};
    rk_status status = RK_OK;
    if (!json_is_array(value) || count > RK_SIDE_LINK_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of up to %d links, found %s",
                          RK_SIDE_LINK_MAX, rk_json_describe(value, found));
    }
    for (size_t i = 0; i < count && !status; i++) {
        (void)rk_json_path_element(path, i, element);
        status = rk_system_read_group(json_array_get(value, i), element, side_fields,
                                      COUNT(side_fields), &links[i], err);
    }
    sort_sides(tier, links, count);
    return status;
}

/* A fit as the document has it. */
struct named_fit {
    rk_collective op;
    rk_tier_fit fit;
};

static const rk_field fit_fields[] = {
    RK_FIELD("op", ENUM, offsetof(struct named_fit, op), .names = rk_collective_names),
    RK_FIELD("step_us", NUMBER, offsetof(struct named_fit, fit.step), .min = 1e-6, .max = 1e6,
             .unit = "us", .help = "of a small message"),
    RK_FIELD("chunk_step_us", NUMBER, offsetof(struct named_fit, fit.chunk_step), .min = 1e-6,
             .max = 1e6, .unit = "us", .help = "of a large message"),
    RK_FIELD("share", NUMBER, offsetof(struct named_fit, fit.share), .min = SHARE_LEAST, .max = 10,
             .help = "of the tier's bandwidth"),
    OPTIONAL("inject_bytes", struct named_fit, fit.inject_bytes, 1e9, NULL,
             "of a message that the host copies into a command"),
    UNCERTAIN,
};

/* `out` is the tier. */
static rk_status read_fits(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_tier *tier = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    rk_status status = RK_OK;
    if (!json_is_array(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of fits, found %s",
                          rk_json_describe(value, found));
    }
    memset(tier->fits, 0, sizeof(tier->fits));
    for (size_t i = 0; i < json_array_size(value) && !status; i++) {
        struct named_fit fit = {0};
        (void)rk_json_path_element(path, i, element);
        status = rk_system_read_group(json_array_get(value, i), element, fit_fields,
                                      COUNT(fit_fields), &fit, err);
        if (!status) {
            tier->fits[fit.op] = fit.fit;
        }
    }
    return status;
}

#define TIER_INT(key, place, text)                                                                 \
    RK_FIELD(key, INT, offsetof(rk_tier, place), .optional = true, .min = 1, .max = 0x1p31,        \
             .help = text)

/* read_tier() looks the name up; here it is checked to be one. */
static rk_status read_as(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    (void)out;
    return json_is_string(value)
               ? RK_OK
               : rk_fail_at(err, RK_ERR_INVALID, path, "expected the name of a tier, found %s",
                            rk_json_describe(value, found));
}

static const rk_field tier_fields[] = {
    RK_FIELD("as", CUSTOM, 0, .optional = true, .read = read_as,
             .help = "a tier of the accelerator, or SYSTEM/TIER, whose values hold where none is "
                     "given here"),
    RK_TEXT_FIELD("name", rk_tier, name, .help = "a text"),
    RK_FIELD("kind", ENUM, offsetof(rk_tier, kind), .names = rk_tier_kind_names),
    TIER_INT("size", size, "accelerators of a domain; the last tier may leave it open"),
    RATE("bandwidth_GBps", rk_tier, bandwidth, "GB/s", "per accelerator and direction"),
    SHARE("efficiency", rk_tier, efficiency, "of large messages"),
    OPTIONAL("latency_us", rk_tier, latency, 1e6, "us", "of a collective"),
    OPTIONAL("step_latency_us", rk_tier, step_latency, 1e6, "us", "per rank of a ring"),
    OPTIONAL("chunk_us", rk_tier, chunk_wait, 1e6, "us", "per step of a large message in a switch"),
    OPTIONAL("message_us", rk_tier, message_start, 1e6, "us",
             "to start one of many messages that are under way at once"),
    OPTIONAL("half_MB", rk_tier, half_bytes, 1e6, "MB", "scale of the ramp by size"),
    RATIO("exchange_share", rk_tier, exchange_share, 10, "all-to-all over rings"),
    OPTIONAL("serial", rk_tier, serial, 1, NULL, "how far inner tiers wait, 0 to 1"),
    RK_FIELD("in_network_reduce", BOOL, offsetof(rk_tier, in_network_reduce), .optional = true),
    RATIO("reduce_share", rk_tier, reduce_share, 1, "in-network all-reduce over rings"),
    TIER_INT("planes", planes, "that a NIC is split over"),
    RATIO("flow_share", rk_tier, flow_share, 1, "bandwidth that colliding flows leave each other"),
    TIER_INT("axes", axes, "of a torus"),
    TIER_INT("ring", ring, "units along a closed axis of a torus"),
    RK_FIELD("side_links", CUSTOM, 0, .optional = true, .read = read_sides,
             .help = "a list of links that work beside the tier's in collectives inside a domain"),
    RK_FIELD("fits", CUSTOM, 0, .optional = true, .read = read_fits,
             .help = "a list of constants of collectives that comm --fit found"),
    UNCERTAIN,
};

/* Size of a tier without one: larger than any job. */
enum { OPEN_SIZE = 1 << 20 };

/* The tier of that name; `as` is the document's entry. */
static rk_status take_tier(const char *name, const char *as, const char *path,
                           const rk_system *system, rk_tier *tier, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE];
    const char *names[RK_TIER_MAX];
    for (int i = 0; i < system->tier_count; i++) {
        names[i] = system->tiers[i].name;
        if (strcmp(names[i], name) == 0) {
            *tier = system->tiers[i];
            return RK_OK;
        }
    }
    (void)rk_json_printable(as, shown, sizeof(shown));
    const char *nearest = rk_nearest_name(name, names, (size_t)system->tier_count);
    return rk_fail_at(err, RK_ERR_INVALID, path, "the %s has no tier \"%s\"%s%s%s",
                      name == as ? "accelerator" : "system", shown,
                      nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                      nearest ? "\"?" : "");
}

/* "NVLink4" of the accelerator's `node`, or "h100-p5-efa/EFA" of a system of the catalogue. */
static rk_status find_tier(const char *as, const char *path, const rk_system *node, rk_tier *tier,
                           rk_error *err)
{
    char name[sizeof(node->name)];
    rk_system other;
    const char *slash = strchr(as, '/');
    if (!slash || (size_t)(slash - as) >= sizeof(name)) {
        return take_tier(as, as, path, node, tier, err);
    }
    memcpy(name, as, (size_t)(slash - as));
    name[slash - as] = '\0';
    /* files may name each other in a circle, documents of the catalogue do not */
    if (!rk_catalogue_find("systems", name)) {
        return take_tier(as, as, path, node, tier, err);
    }
    rk_status status = rk_system_load(name, &other, err);
    if (!status) {
        status = take_tier(slash + 1, as, path, &other, tier, err);
        rk_system_clear(&other);
    }
    return status;
}

/*
 * What documents leave out.  A step of Simple takes 3.4 us on NVLink (NCCL's tuning model).  A
 * message starts within 1 to 3 us where accelerators ring the NIC themselves (IBGDA, DeepEP's small
 * messages).
 */
static const rk_tier usual = {
    .exchange_share = 1,
    .serial = 0.5,
    .flow_share = 1,
    .chunk_wait = 3.4e-6,
    .message_start = 1e-6,
};

/* A tier; one that is as a tier of the accelerator's `node` says only what is different. */
static rk_status read_tier(const json_t *value, const char *path, const rk_system *node,
                           rk_tier *tier, rk_error *err)
{
    rk_field fields[COUNT(tier_fields)];
    const char *as = json_string_value(json_object_get(value, "as"));
    *tier = usual;
    if (!as) {
        return rk_system_read_group(value, path, tier_fields, COUNT(tier_fields), tier, err);
    }
    const rk_status status = find_tier(as, path, node, tier, err);
    if (status) {
        return status;
    }
    tier->size = tier->size > OPEN_SIZE / 2 ? 0 : tier->size; /* open, regardless of the tiers below
                                                               * it */
    memcpy(fields, tier_fields, sizeof(fields));
    for (size_t i = 0; i < COUNT(fields); i++) {
        fields[i].optional = true;
    }
    return rk_system_read_group(value, path, fields, COUNT(fields), tier, err);
}

rk_status rk_system_read_tiers(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_system *system = out;
    const rk_system node = *system; /* of the accelerator */
    const size_t count = json_array_size(value);
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    if (count < 1 || count > RK_TIER_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of 1 to %d tiers, found %s",
                          RK_TIER_MAX, rk_json_describe(value, found));
    }
    int64_t below = 1;
    for (size_t i = 0; i < count; i++) {
        rk_tier *tier = &system->tiers[i];
        (void)rk_json_path_element(path, i, element);
        rk_status status = read_tier(json_array_get(value, i), element, &node, tier, err);
        if (status) {
            return status;
        }
        tier->efficiency *= tier->flow_share;
        tier->flow_share = 1;
        if (tier->size == 0 && i + 1 < count) {
            return rk_fail_at(err, RK_ERR_INVALID, element,
                              "the key \"size\" is missing: only the last tier may leave it open");
        }
        if (tier->size == 0) {
            tier->size = below < OPEN_SIZE ? OPEN_SIZE / below * below : below * 2;
        }
        below = tier->size;
    }
    system->tier_count = (int)count;
    return RK_OK;
}
