/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system document of the Calculon methodology.  Units are applied here, in the published
 * order, so that rates and thresholds agree with the published tool to the last bit.
 */
#include "calculon/calculon_docs.h"

#include "base/error.h"
#include "base/units.h"

#include <assert.h>
#include <string.h>

#define RATE_MOST  1e12 /* GB/s, TFLOP/s; use of a zero is refused */
#define OTHER_MOST 1e18 /* thresholds, capacities, factors */

/* ---- lists of pairs ---------------------------------------------------------------------- */

typedef double pair[2];

/* Reads a list that starts with two values and, when `exact`, ends there. */
static rk_status read_pair(const json_t *value, const char *path, const rk_field fields[2],
                           bool exact, pair *out, rk_error *err)
{
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t size = json_array_size(value);
    if (!json_is_array(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list [%s, %s], found %s",
                          fields[0].name, fields[1].name, rk_json_describe(value, found));
    }
    if (size < 2 || (exact && size > 2)) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a list [%s, %s], found a list of %zu elements", fields[0].name,
                          fields[1].name, size);
    }
    for (size_t i = 0; i < 2; i++) {
        (void)rk_json_path_element(path, i, element);
        rk_status status = rk_field_read(json_array_get(value, i), element, &fields[i], out, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

static const rk_field step_fields[2] = {
    RK_FIELD("threshold", NUMBER, 0, .min = -OTHER_MOST, .max = OTHER_MOST),
    RK_FIELD("efficiency", NUMBER, sizeof(double), .max = 1, .above_min = true),
};

/* Reads the steps unchanged: thresholds in the document's unit, efficiencies as rates. */
static rk_status read_curve(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_curve *curve = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t size = json_array_size(value);
    if (!json_is_array(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a list of [threshold, efficiency], found %s",
                          rk_json_describe(value, found));
    }
    if (size > RK_CURVE_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "a curve has at most %d steps, and this one has %zu", RK_CURVE_MAX, size);
    }
    curve->count = (int)size;
    for (size_t i = 0; i < size; i++) {
        pair step;
        (void)rk_json_path_element(path, i, element);
        rk_status status =
            read_pair(json_array_get(value, i), element, step_fields, true, &step, err);
        if (status) {
            return status;
        }
        curve->threshold[i] = step[0];
        curve->rate[i] = step[1];
    }
    return RK_OK;
}

/*
 * As read_curve, for engines: thresholds must fall.  As in the published tool, what follows a
 * threshold of zero is not compared with it.
 */
static rk_status read_falling_curve(const json_t *value, const char *path, void *out, rk_error *err)
{
    const rk_curve *curve = out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    rk_status status = read_curve(value, path, out, err);
    for (int i = 1; !status && i < curve->count; i++) {
        const double last = curve->threshold[i - 1];
        if ((last < 0 || last > 0) && curve->threshold[i] >= last) {
            const json_t *step = json_array_get(value, (size_t)i);
            (void)rk_json_path_element(path, (size_t)i, element);
            status = rk_fail_at(err, RK_ERR_INVALID, element,
                                "thresholds must fall from step to step, and %s is not below the "
                                "one before",
                                rk_json_describe(json_array_get(step, 0), found));
        }
    }
    return status;
}

/*
 * Brings a curve that was read from `path` to plain units; `peak` is the rate at efficiency 1.
 * Rates below 1 a second are refused, lest times overflow; a peak of zero is left to its use.
 */
static rk_status scale_curve(rk_curve *curve, double unit, double peak, const char *path,
                             rk_error *err)
{
    assert(unit > 0);
    char element[RK_JSON_PATH_SIZE];
    for (int i = 0; i < curve->count; i++) {
        curve->threshold[i] *= unit;
        curve->rate[i] *= peak;
        if (peak > 0 && curve->rate[i] < 1) {
            (void)rk_json_path_element(path, (size_t)i, element);
            return rk_fail_at(err, RK_ERR_INVALID, element,
                              "the efficiency leaves a rate of %g a second, less than 1",
                              curve->rate[i]);
        }
    }
    return RK_OK;
}

/* ---- engines and memories ---------------------------------------------------------------- */

/* Where a part of the system goes, and which unknown keys its objects may have. */
typedef struct place {
    void *part; /* an engine, the four datatypes of one, or a memory */
    rk_unknown_keys unknown;
} place;

static const rk_field engine_fields[] = {
    RK_FIELD("tflops", NUMBER, offsetof(rk_calculon_engine, peak), .max = RATE_MOST,
             .unit = "TFLOP/s", .help = "peak rate"),
    RK_FIELD("gflops_efficiency", CUSTOM, offsetof(rk_calculon_engine, curve),
             .read = read_falling_curve,
             .help = "a list of [GFLOP of an operation, efficiency], largest first"),
};

static rk_status read_engine(const json_t *value, const char *path, void *out, rk_error *err)
{
    const place *to = out;
    rk_calculon_engine *engine = to->part;
    rk_status status =
        rk_fields_read(value, path, engine_fields, COUNT(engine_fields), to->unknown, engine, err);
    if (!status) {
        char curve[RK_JSON_PATH_SIZE];
        engine->present = true;
        engine->peak *= 1e12;
        (void)rk_json_path_member(path, engine_fields[1].name, curve);
        status = scale_curve(&engine->curve, 1e9, engine->peak, curve, err);
    }
    return status;
}

#define DATATYPE(key, index)                                                                       \
    RK_FIELD(key, CUSTOM, (index) * sizeof(place), .optional = true, .read = read_engine,          \
             .help = "rates of this datatype")

static const rk_field datatype_fields[RK_DATATYPE_COUNT] = {
    DATATYPE("float8", RK_FLOAT8),
    DATATYPE("float16", RK_FLOAT16),
    DATATYPE("bfloat16", RK_BFLOAT16),
    DATATYPE("float32", RK_FLOAT32),
};

static rk_status read_engines(const json_t *value, const char *path, void *out, rk_error *err)
{
    const place *all = out;
    place datatypes[RK_DATATYPE_COUNT];
    for (int i = 0; i < RK_DATATYPE_COUNT; i++) {
        datatypes[i] =
            (place){.part = (rk_calculon_engine *)all->part + i, .unknown = all->unknown};
    }
    return rk_fields_read(value, path, datatype_fields, RK_DATATYPE_COUNT, RK_UNKNOWN_NEVER,
                          datatypes, err);
}

typedef struct memory_document {
    double GiB, GBps;
    rk_curve curve;
} memory_document;

static const rk_field memory_fields[] = {
    RK_FIELD("GiB", NUMBER, offsetof(memory_document, GiB), .max = OTHER_MOST, .unit = "GiB",
             .help = "capacity; 0 in mem2: no offload memory"),
    RK_FIELD("GBps", NUMBER, offsetof(memory_document, GBps), .max = RATE_MOST, .unit = "GB/s",
             .help = "bandwidth; zero fails as soon as a mapping is evaluated"),
    RK_FIELD(
        "MB_efficiency", CUSTOM, offsetof(memory_document, curve), .read = read_curve,
        .help =
            "a list of [MB of an access, efficiency], of which the first that is reached counts"),
};

static rk_status read_memory(const json_t *value, const char *path, void *out, rk_error *err)
{
    const place *to = out;
    rk_calculon_memory *memory = to->part;
    memory_document document = {0};
    rk_status status = rk_fields_read(value, path, memory_fields, COUNT(memory_fields), to->unknown,
                                      &document, err);
    if (!status) {
        char curve[RK_JSON_PATH_SIZE];
        (void)rk_json_path_member(path, memory_fields[2].name, curve);
        status = scale_curve(&document.curve, 1e6, document.GBps * 1e9, curve, err);
    }
    memory->capacity = document.GiB * 0x1p30;
    memory->peak = document.GBps * 1e9;
    memory->curve = document.curve;
    return status;
}

/* ---- networks ---------------------------------------------------------------------------- */

static rk_status read_null(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    *(double *)out = 0;
    return json_is_null(value)
               ? RK_OK
               : rk_fail_at(err, RK_ERR_INVALID, path, "the offset of p2p must be null, found %s",
                            rk_json_describe(value, found));
}

#define SCALAR_FIELD RK_FIELD("scalar", NUMBER, 0, .max = OTHER_MOST, .above_min = true)

static const rk_field p2p_fields[2] = {
    SCALAR_FIELD,
    RK_FIELD("null", CUSTOM, sizeof(double), .read = read_null),
};

static const rk_field collective_fields[2] = {
    SCALAR_FIELD,
    {.name = "offset",
     .type = RK_FIELD_NUMBER,
     .offset = sizeof(double),
     .min = -2, /* a message to two participants shrinks to nothing, never below */
     .max = OTHER_MOST},
};

static rk_status read_p2p(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_pair(value, path, p2p_fields, false, out, err);
}

static rk_status read_collective(const json_t *value, const char *path, void *out, rk_error *err)
{
    return read_pair(value, path, collective_fields, false, out, err);
}

#define OP(key, index, reader, text)                                                               \
    RK_FIELD(key, CUSTOM, (index) * sizeof(pair), .read = reader, .help = text)

static const rk_field op_fields[RK_NET_OP_COUNT] = {
    OP("p2p", RK_P2P, read_p2p, "a list [scalar, null]"),
    OP("reduce_scatter", RK_REDUCE_SCATTER, read_collective, "a list [scalar, offset]"),
    OP("all_gather", RK_ALL_GATHER, read_collective, "a list [scalar, offset]"),
    OP("all_reduce", RK_ALL_REDUCE, read_collective, "a list [scalar, offset]"),
};

static rk_status read_ops(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_calculon_network *network = out;
    pair ops[RK_NET_OP_COUNT] = {{0}};
    rk_status status =
        rk_fields_read(value, path, op_fields, RK_NET_OP_COUNT, RK_UNKNOWN_NEVER, ops, err);
    for (int i = 0; i < RK_NET_OP_COUNT; i++) {
        network->scalar[i] = ops[i][0];
        network->offset[i] = ops[i][1];
    }
    return status;
}

static const rk_field network_fields[] = {
    RK_FIELD("bandwidth", NUMBER, offsetof(rk_calculon_network, bandwidth), .max = RATE_MOST,
             .above_min = true, .unit = "GB/s", .help = "per processor"),
    RK_FIELD("efficiency", NUMBER, offsetof(rk_calculon_network, efficiency), .max = 1,
             .above_min = true, .help = "share of the bandwidth that messages get"),
    RK_FIELD("size", INT, offsetof(rk_calculon_network, size), .max = RK_DOCUMENT_COUNT_MAX,
             .help = "processors that one instance of the tier spans"),
    RK_FIELD("latency", NUMBER, offsetof(rk_calculon_network, latency), .max = OTHER_MOST,
             .unit = "s", .help = "added once per operation"),
    RK_FIELD("ops", CUSTOM, 0, .read = read_ops, .help = "an object of the four operations"),
    RK_FIELD("must_be_filled", BOOL, offsetof(rk_calculon_network, must_be_filled),
             .help = "groups on the tier must divide its size"),
    RK_FIELD("processor_usage", NUMBER, offsetof(rk_calculon_network, processor_usage), .max = 1,
             .below_max = true, .help = "share of compute lost while the tier communicates"),
};

static rk_status read_networks(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_calculon_sys *sys = *(rk_calculon_sys **)out;
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    const size_t size = json_array_size(value);
    if (!json_is_array(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of network tiers, found %s",
                          rk_json_describe(value, found));
    }
    if (size == 0 || size > RK_NETWORK_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected 1 to %d network tiers, found %zu",
                          RK_NETWORK_MAX, size);
    }
    for (size_t i = 0; i < size; i++) {
        rk_calculon_network *network = &sys->networks[i];
        (void)rk_json_path_element(path, i, element);
        rk_status status = rk_fields_read(json_array_get(value, i), element, network_fields,
                                          COUNT(network_fields), RK_UNKNOWN_NEVER, network, err);
        if (status) {
            return status;
        }
        network->bandwidth *= 1e9;
        if (network->bandwidth * network->efficiency < 1) {
            return rk_fail_at(err, RK_ERR_INVALID, element,
                              "bandwidth and efficiency leave %g bytes a second, less than 1",
                              network->bandwidth * network->efficiency);
        }
    }
    sys->network_count = (int)size;
    return RK_OK;
}

/* ---- the whole --------------------------------------------------------------------------- */

enum { MODE_ROOFLINE, MODE_NO_OVERLAP };
static const char *const mode_names[] = {"roofline", "no_overlap", NULL};

typedef struct sys_document {
    place matrix, vector, mem1, mem2;
    unsigned mode;
    rk_calculon_sys *sys;
} sys_document;

#define SYS_PART(key, place, reader, text)                                                         \
    RK_FIELD(key, CUSTOM, offsetof(sys_document, place), .read = reader, .help = text)

static const rk_field sys_fields[] = {
    SYS_PART("matrix", matrix, read_engines, "an object of datatypes"),
    SYS_PART("vector", vector, read_engines, "an object of datatypes"),
    SYS_PART("mem1", mem1, read_memory, "an object (the device memory)"),
    SYS_PART("mem2", mem2, read_memory, "an object (the offload memory)"),
    RK_FIELD("processing_mode", ENUM, offsetof(sys_document, mode), .names = mode_names,
             .help = "whether compute and memory time overlap"),
    SYS_PART("networks", sys, read_networks, "a list of network tiers"),
};

rk_status rk_calculon_sys_from_json(const json_t *object, bool lenient, rk_calculon_sys *sys,
                                    rk_error *err)
{
    const rk_unknown_keys unknown = lenient ? RK_UNKNOWN_IGNORE : RK_UNKNOWN_REFUSE;
    sys_document document = {
        .matrix = {sys->matrix, unknown},
        .vector = {sys->vector, unknown},
        .mem1 = {&sys->mem1, unknown},
        .mem2 = {&sys->mem2, unknown},
        .sys = sys,
    };
    memset(sys, 0, sizeof(*sys));
    rk_status status =
        rk_fields_read(object, "", sys_fields, COUNT(sys_fields), unknown, &document, err);
    sys->roofline = document.mode == MODE_ROOFLINE;
    return status;
}
