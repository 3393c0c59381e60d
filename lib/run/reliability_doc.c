/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of data/reliability. */
#include "run/reliability.h"

#include "base/error.h"
#include "base/units.h"
#include "io/fields.h"

#include <stdio.h>

#define MOST 1e12 /* of a count or a duration */

/* ---- clusters ------------------------------------------------------------------------------ */

#define CLUSTER(name_, type_, member, ...)                                                         \
    RK_FIELD(name_, type_, offsetof(rk_cluster_record, member), __VA_ARGS__)

static const rk_field cluster_fields[] = {
    RK_TEXT_FIELD("name", rk_cluster_record, name, .help = "of the cluster"),
    CLUSTER("accelerators", NUMBER, accelerators, .above_min = true, .max = MOST, .help = "in use"),
    CLUSTER("days", NUMBER, days, .above_min = true, .max = MOST, .unit = "days",
            .help = "observed"),
    CLUSTER("interruptions", NUMBER, interruptions, .above_min = true, .max = MOST,
            .help = "that were not planned"),
    CLUSTER("counted", BOOL, counted, .optional = true,
            .help = "part of the usual rate; default: true"),
};

static rk_status read_clusters(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_reliability *reliability = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t given = json_array_size(value); /* 0 of what is not an array */
    if (given < 1 || given > RK_CLUSTERS_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a list of 1 to %d clusters, found %s", RK_CLUSTERS_MAX,
                          rk_json_describe(value, found));
    }
    for (size_t i = 0; i < given; i++) {
        rk_cluster_record *record = &reliability->clusters[i];
        *record = (rk_cluster_record){.counted = true};
        const rk_status status =
            rk_fields_read(json_array_get(value, i), rk_json_path_element(path, i, element),
                           cluster_fields, COUNT(cluster_fields), RK_UNKNOWN_REFUSE, record, err);
        if (status) {
            return status;
        }
    }
    reliability->cluster_count = (int)given;
    return RK_OK;
}

/* ---- causes -------------------------------------------------------------------------------- */

#define COMPONENT(name_, type_, member, ...)                                                       \
    RK_FIELD(name_, type_, offsetof(rk_component, member), __VA_ARGS__)

static const rk_field component_fields[] = {
    RK_TEXT_FIELD("name", rk_component, name, .help = "of the cause"),
    COMPONENT("events", NUMBER, events, .max = MOST,
              .help = "counted; all causes share the rate by these"),
    COMPONENT("hang", BOOL, hang, .optional = true,
              .help = "found by a time-out of the collectives; default: false"),
    COMPONENT("hardware", BOOL, hardware, .optional = true,
              .help = "a part has to be replaced; default: true"),
    COMPONENT("one_node", BOOL, one_node, .optional = true,
              .help = "other nodes keep memory and disks; default: true"),
    COMPONENT("silent", BOOL, silent, .optional = true,
              .help = "wrong results that are noticed late; default: false"),
};

static rk_status read_components(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_reliability *reliability = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t given = json_array_size(value);
    double events = 0;
    if (given < 1 || given > RK_COMPONENTS_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of 1 to %d causes, found %s",
                          RK_COMPONENTS_MAX, rk_json_describe(value, found));
    }
    for (size_t i = 0; i < given; i++) {
        rk_component *component = &reliability->components[i];
        *component = (rk_component){.hardware = true, .one_node = true};
        const rk_status status = rk_fields_read(
            json_array_get(value, i), rk_json_path_element(path, i, element), component_fields,
            COUNT(component_fields), RK_UNKNOWN_REFUSE, component, err);
        if (status) {
            return status;
        }
        events += component->events;
    }
    reliability->component_count = (int)given;
    return events > 0 ? RK_OK
                      : rk_fail_at(err, RK_ERR_INVALID, path, "no cause has events; count some");
}

/* ---- the document -------------------------------------------------------------------------- */

#define SECONDS(name_, ...)                                                                        \
    RK_FIELD(#name_, NUMBER, offsetof(rk_reliability, name_), .max = MOST, .unit = "s",            \
             .help = __VA_ARGS__)

static const rk_field reliability_fields[] = {
    RK_FIELD("accelerators_per_node", NUMBER, offsetof(rk_reliability, node), .min = 1, .max = MOST,
             .help = "that leave together when one is replaced"),
    RK_FIELD("clusters", CUSTOM, 0, .read = read_clusters,
             .help = "published clusters; those that count give the usual rate and its spread"),
    RK_FIELD("components", CUSTOM, 0, .read = read_components, .help = "causes of interruptions"),
    RK_FIELD("planned_share", NUMBER, offsetof(rk_reliability, planned_share), .optional = true,
             .max = 1000, .help = "planned interruptions for each that is not; default: 0"),
    SECONDS(detect_s, "from a crash until it is noticed"),
    SECONDS(hang_s, "from a hang until it is noticed"),
    SECONDS(restart_s, "from there to the first step, without reading a checkpoint"),
    SECONDS(standby_restart_s, "the same where spare nodes stand by"),
    SECONDS(repair_s, "until a node is back"),
    SECONDS(start_s, "from the start of a job to its first step, without reading; default: 0",
            .optional = true),
    SECONDS(silent_s, "training until wrong results are noticed; default: 0", .optional = true),
};

rk_status rk_reliability_load(const char *name, rk_reliability *reliability, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, "reliability", &doc, err);
    if (status) {
        return status;
    }
    *reliability = (rk_reliability){.node = 1};
    (void)snprintf(reliability->name, sizeof(reliability->name), "%s", name);
    status = rk_fields_read(doc.root, "", reliability_fields, COUNT(reliability_fields),
                            RK_UNKNOWN_REFUSE, reliability, err);
    rk_error_set_file(status ? err : NULL, doc.name);
    rk_json_clear(&doc);
    if (!status) {
        (void)rk_reliability_pool(reliability, -1, &reliability->rate, &reliability->spread);
    }
    return status;
}
