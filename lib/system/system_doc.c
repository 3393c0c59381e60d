/* SPDX-License-Identifier: Apache-2.0 */
#include "system/system_doc.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/fields.h"
#include "system/doc_fields.h"
#include "system/measured_doc.h"

#include <stdio.h>
#include <string.h>

static const char system_folder[] = "systems", accelerator_folder[] = "accelerators";

/* ---- fields ----------------------------------------------------------------------------- */

/* Units of keys, and what they are in the structs. */
static const struct {
    const char *unit;
    double factor;
} units[] = {
    {"GB/s", 1e9},     {"GB", 1e9},  {"GiB", 0x1p30}, {"MB", 1e6},
    {"TFLOP/s", 1e12}, {"us", 1e-6}, {"ns", 1e-9},
};

static double unit_factor(const rk_field *field)
{
    for (size_t i = 0; field->unit && i < COUNT(units); i++) {
        if (strcmp(field->unit, units[i].unit) == 0) {
            return units[i].factor;
        }
    }
    return 1;
}

/* As rk_fields_read, into a struct of seconds, bytes and FLOP. */
rk_status rk_system_read_group(const json_t *object, const char *path, const rk_field *fields,
                               size_t count, void *out, rk_error *err)
{
    rk_status status = rk_fields_read(object, path, fields, count, RK_UNKNOWN_REFUSE, out, err);
    for (size_t i = 0; !status && i < count; i++) {
        if (fields[i].type == RK_FIELD_NUMBER && json_object_get(object, fields[i].name)) {
            *(double *)((char *)out + fields[i].offset) *= unit_factor(&fields[i]);
        }
    }
    return status;
}

/* The list of doubtful keys is for people and tests; see says_uncertain for what it changes. */
rk_status rk_system_read_uncertain(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    bool good = json_is_array(value);
    (void)out;
    for (size_t i = 0; good && i < json_array_size(value); i++) {
        good = json_is_string(json_array_get(value, i));
    }
    return good ? RK_OK
                : rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of keys, found %s",
                             rk_json_describe(value, found));
}

/* ---- the accelerator ---------------------------------------------------------------------- */

static const rk_field compute_fields[] = {
    {.name = "cores",
     .type = RK_FIELD_INT,
     .offset = offsetof(rk_accelerator, cores),
     .min = 1,
     .max = 1e6,
     .help = "units that run a tile each: SMs, compute units, matrix units"},
    {.name = "tensor_cores",
     .type = RK_FIELD_INT,
     .offset = offsetof(rk_accelerator, tensor_cores),
     .optional = true,
     .min = 1,
     .max = 64,
     .help = "TensorCores of a TPU chip; names of slices, such as v5p-128, count them"},
    RATE("vector_tflops", rk_accelerator, vector_peak, "TFLOP/s", "vector rate in fp32"),
    OPTIONAL("kernel_us", rk_accelerator, kernel_seconds, 1e6, "us", "fixed cost of a kernel"),
    OPTIONAL("launch_us", rk_accelerator, launch_seconds, 1e6, "us", "host time of a launch"),
    {.name = "power_W",
     .type = RK_FIELD_NUMBER,
     .offset = offsetof(rk_accelerator, power),
     .optional = true,
     .min = POWER_LEAST,
     .max = RATE_MOST,
     .unit = "W",
     .help = "limit of the board"},
    {.name = "burst",
     .type = RK_FIELD_NUMBER,
     .offset = offsetof(rk_accelerator, burst),
     .optional = true,
     .min = 1,
     .max = 10,
     .help = "GEMM rate of short benchmarks over that of training"},
    {.name = "sustained",
     .type = RK_FIELD_NUMBER,
     .offset = offsetof(rk_accelerator, sustained),
     .optional = true,
     .min = 0.1,
     .max = 10,
     .help = "the same of benchmarks repeated for a second"},
    {.name = "fp8_one_layout",
     .type = RK_FIELD_BOOL,
     .offset = offsetof(rk_accelerator, fp8_one_layout),
     .optional = true,
     .help = "8-bit GEMMs read both operands along K only, so transposed copies are kept"},
    UNCERTAIN,
};

static const rk_field engine_fields[] = {
    RATE("tflops", rk_gemm_engine, peak, "TFLOP/s", "dense peak"),
    RATIO("efficiency", rk_gemm_engine, efficiency, 2, "of the main loop, sustained in training"),
    OPTIONAL("feed", rk_gemm_engine, feed, 1e4, NULL, "cost of feeding a tile, elements"),
    OPTIONAL("prologue", rk_gemm_engine, prologue, 1e6, NULL, "extra K per tile"),
    OPTIONAL("wave_share", rk_gemm_engine, wave_share, 1, NULL, "cost of a partial wave, 0 to 1"),
    UNCERTAIN,
};

static rk_status read_engine(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_gemm_engine *engine = out;
    /* Defaults are the middle of what is measured on Hopper and later chips. */
    *engine = (rk_gemm_engine){.efficiency = 0.7, .feed = 2, .prologue = 100, .wave_share = 0.3};
    return rk_system_read_group(value, path, engine_fields, COUNT(engine_fields), engine, err);
}

#define ENGINE(key, index)                                                                         \
    {                                                                                              \
        .name = key, .type = RK_FIELD_CUSTOM, .offset = (index) * sizeof(rk_gemm_engine),          \
        .optional = true, .read = read_engine, .help = "an engine"                                 \
    }

static const rk_field gemm_fields[] = {
    ENGINE("fp32", RK_FP32), ENGINE("tf32", RK_TF32), ENGINE("bf16", RK_BF16),
    ENGINE("fp16", RK_FP16), ENGINE("fp8", RK_FP8),   ENGINE("fp4", RK_FP4),
    ENGINE("int8", RK_INT8),
};

static const rk_field attention_fields[] = {
    RATE("forward_tflops", rk_accelerator, attention_forward, "TFLOP/s",
         "head size 128, long sequences"),
    RATE("backward_tflops", rk_accelerator, attention_backward, "TFLOP/s",
         "head size 128, long sequences"),
    OPTIONAL("ramp_tokens", rk_accelerator, attention_ramp, 1e6, NULL,
             "sequence that reaches half the rate"),
    OPTIONAL("softmax_elements", rk_accelerator, attention_softmax, 1e4, NULL,
             "head size whose products take as long as the softmax"),
    UNCERTAIN,
};

static const rk_field memory_fields[] = {
    RATE("capacity_GB", rk_accelerator, memory_capacity, "GB", "nominal"),
    RATE("usable_GiB", rk_accelerator, memory_usable, "GiB", "that a process can allocate"),
    RATE("bandwidth_GBps", rk_accelerator, memory_bandwidth, "GB/s", "peak"),
    SHARE("efficiency", rk_accelerator, memory_efficiency, "of streaming kernels"),
    UNCERTAIN,
};

static const rk_field host_fields[] = {
    RATE("bandwidth_GBps", rk_accelerator, host_bandwidth, "GB/s", "of the link, each way"),
    SHARE("efficiency", rk_accelerator, host_efficiency, "of large pinned copies"),
    OPTIONAL("capacity_GiB", rk_accelerator, host_capacity, RATE_MOST, "GiB",
             "host memory per accelerator"),
    UNCERTAIN,
};

static rk_status read_compute(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_system_read_group(value, path, compute_fields, COUNT(compute_fields), out, err);
}

/* Whether a group says that one of its keys is doubtful. */
static bool says_uncertain(const json_t *group, const char *key)
{
    const json_t *list = json_object_get(group, "uncertain");
    bool found = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        found |= strcmp(json_string_value(json_array_get(list, i)), key) == 0;
    }
    return found;
}

/* The two 16-bit formats run alike everywhere; a chip that lacks one is used with the other. */
static rk_status read_gemm(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_gemm_engine *engines = ((rk_accelerator *)out)->gemm;
    rk_status status =
        rk_system_read_group(value, path, gemm_fields, COUNT(gemm_fields), engines, err);
    const char *wide = json_object_get(value, "bf16") ? "bf16" : "fp16";
    if (!status) {
        ((rk_accelerator *)out)->uncertain =
            says_uncertain(json_object_get(value, wide), "efficiency"); /* widens intervals */
    }
    if (!json_object_get(value, "fp16")) {
        engines[RK_FP16] = engines[RK_BF16];
    } else if (!json_object_get(value, "bf16")) {
        engines[RK_BF16] = engines[RK_FP16];
        ((rk_accelerator *)out)->no_bf16 = true;
    }
    return status;
}

static rk_status read_attention(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_system_read_group(value, path, attention_fields, COUNT(attention_fields), out, err);
}

static rk_status read_memory(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_system_read_group(value, path, memory_fields, COUNT(memory_fields), out, err);
}

static rk_status read_host(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_system_read_group(value, path, host_fields, COUNT(host_fields), out, err);
}

/* ---- tiers -------------------------------------------------------------------------------- */

static rk_status read_tier_name(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_field_text(value, path, out, sizeof(((rk_tier *)NULL)->name), err);
}

static rk_status read_side_name(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_field_text(value, path, out, sizeof(((rk_side_link *)NULL)->name), err);
}

static const rk_field side_fields[] = {
    {.name = "name",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_side_link, name),
     .read = read_side_name,
     .help = "a text"},
    RATE("bandwidth_GBps", rk_side_link, bandwidth, "GB/s", "per accelerator and direction"),
    SHARE("efficiency", rk_side_link, efficiency, "of large messages"),
    OPTIONAL("latency_us", rk_side_link, latency, 1e6, "us", "of a collective"),
    {.name = "used",
     .type = RK_FIELD_BOOL,
     .offset = offsetof(rk_side_link, used),
     .optional = true,
     .help = "whether collectives use it unless told to"},
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
    {.name = "op",
     .type = RK_FIELD_ENUM,
     .offset = offsetof(struct named_fit, op),
     .names = rk_collective_names},
    {.name = "step_us",
     .type = RK_FIELD_NUMBER,
     .offset = offsetof(struct named_fit, fit.step),
     .min = 1e-6,
     .max = 1e6,
     .unit = "us",
     .help = "of a small message"},
    {.name = "chunk_step_us",
     .type = RK_FIELD_NUMBER,
     .offset = offsetof(struct named_fit, fit.chunk_step),
     .min = 1e-6,
     .max = 1e6,
     .unit = "us",
     .help = "of a large message"},
    {.name = "share",
     .type = RK_FIELD_NUMBER,
     .offset = offsetof(struct named_fit, fit.share),
     .min = SHARE_LEAST,
     .max = 10,
     .help = "of the tier's bandwidth"},
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
    {                                                                                              \
        .name = key, .type = RK_FIELD_INT, .offset = offsetof(rk_tier, place), .optional = true,   \
        .min = 1, .max = 0x1p31, .help = text                                                      \
    }

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
    {.name = "as",
     .type = RK_FIELD_CUSTOM,
     .optional = true,
     .read = read_as,
     .help = "a tier of the accelerator, whose values hold where none is given here"},
    {.name = "name",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_tier, name),
     .read = read_tier_name,
     .help = "a text"},
    {.name = "kind",
     .type = RK_FIELD_ENUM,
     .offset = offsetof(rk_tier, kind),
     .names = rk_tier_kind_names},
    TIER_INT("size", size, "accelerators of a domain; the last tier may leave it open"),
    RATE("bandwidth_GBps", rk_tier, bandwidth, "GB/s", "per accelerator and direction"),
    SHARE("efficiency", rk_tier, efficiency, "of large messages"),
    OPTIONAL("latency_us", rk_tier, latency, 1e6, "us", "of a collective"),
    OPTIONAL("step_latency_us", rk_tier, step_latency, 1e6, "us", "per rank of a ring"),
    OPTIONAL("half_MB", rk_tier, half_bytes, 1e6, "MB", "scale of the ramp by size"),
    RATIO("exchange_share", rk_tier, exchange_share, 10, "all-to-all over rings"),
    OPTIONAL("serial", rk_tier, serial, 1, NULL, "how far inner tiers wait, 0 to 1"),
    {.name = "in_network_reduce",
     .type = RK_FIELD_BOOL,
     .offset = offsetof(rk_tier, in_network_reduce),
     .optional = true},
    RATIO("reduce_share", rk_tier, reduce_share, 1, "in-network all-reduce over rings"),
    TIER_INT("planes", planes, "that a NIC is split over"),
    RATIO("flow_share", rk_tier, flow_share, 1, "bandwidth that colliding flows leave each other"),
    TIER_INT("axes", axes, "of a torus"),
    TIER_INT("ring", ring, "units along a closed axis of a torus"),
    {.name = "side_links",
     .type = RK_FIELD_CUSTOM,
     .optional = true,
     .read = read_sides,
     .help = "a list of links that work beside the tier's in collectives inside a domain"},
    {.name = "fits",
     .type = RK_FIELD_CUSTOM,
     .optional = true,
     .read = read_fits,
     .help = "a list of constants of collectives that comm --fit found"},
    UNCERTAIN,
};

/* A tier without a size is as large as anybody asks for. */
enum { OPEN_SIZE = 1 << 20 };

/* A tier; one that is as a tier of the accelerator's `node` says only what is different. */
static rk_status read_tier(const json_t *value, const char *path, const rk_system *node,
                           rk_tier *tier, rk_error *err)
{
    rk_field fields[COUNT(tier_fields)];
    const char *names[RK_TIER_MAX];
    const char *as = json_string_value(json_object_get(value, "as"));
    *tier = (rk_tier){.exchange_share = 1, .serial = 0.5, .flow_share = 1};
    if (!as) {
        return rk_system_read_group(value, path, tier_fields, COUNT(tier_fields), tier, err);
    }
    int found = 0;
    for (int i = 0; i < node->tier_count; i++) {
        names[i] = node->tiers[i].name;
        found += strcmp(names[i], as) != 0 && found == i;
    }
    if (found == node->tier_count) {
        char shown[RK_JSON_TEXT_SIZE];
        (void)rk_json_printable(as, shown, sizeof(shown));
        const char *nearest = rk_nearest_name(as, names, (size_t)node->tier_count);
        return rk_fail_at(err, RK_ERR_INVALID, path, "the accelerator has no tier \"%s\"%s%s%s",
                          shown, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                          nearest ? "\"?" : "");
    }
    *tier = node->tiers[found];
    memcpy(fields, tier_fields, sizeof(fields));
    for (size_t i = 0; i < COUNT(fields); i++) {
        fields[i].optional = true;
    }
    return rk_system_read_group(value, path, fields, COUNT(fields), tier, err);
}

static rk_status read_tiers(const json_t *value, const char *path, void *out, rk_error *err)
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

/* ---- documents ----------------------------------------------------------------------------- */

static rk_status read_accelerator_name(const json_t *value, const char *path, void *out,
                                       rk_error *err)
{
    return rk_field_text(value, path, out, sizeof(((rk_accelerator *)NULL)->name), err);
}

static rk_status read_product(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_field_text(value, path, out, sizeof(((rk_accelerator *)NULL)->product), err);
}

static rk_status read_line(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_field_text(value, path, out, sizeof(((rk_accelerator *)NULL)->line), err);
}

static rk_status read_system_name(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_field_text(value, path, out, sizeof(((rk_system *)NULL)->name), err);
}

/* The tables are read when all else is: their rows are compared with the model. */
static rk_status read_measured(const json_t *value, const char *path, void *out, rk_error *err)
{
    (void)out;
    return rk_measured_doc_check(value, path, err);
}

#define MEASURED                                                                                   \
    {                                                                                              \
        .name = "measured", .type = RK_FIELD_CUSTOM, .optional = true, .read = read_measured,      \
        .help = "tables of kernels that were timed"                                                \
    }

#define GROUP(key, reader)                                                                         \
    {                                                                                              \
        .name = key, .type = RK_FIELD_CUSTOM, .offset = offsetof(rk_system, accelerator),          \
        .read = reader, .help = "a group of numbers"                                               \
    }

/* Places are in an rk_system. */
static const rk_field accelerator_fields[] = {
    {.name = "name",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_system, accelerator.name),
     .read = read_accelerator_name,
     .help = "a text"},
    {.name = "generation",
     .type = RK_FIELD_ENUM,
     .offset = offsetof(rk_system, accelerator.generation),
     .optional = true,
     .names = rk_generation_names,
     .help = "architecture that software is built for"},
    {.name = "product",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_system, accelerator.product),
     .optional = true,
     .read = read_product,
     .help = "as it is sold: errors of measured runs on it make the intervals of estimates"},
    {.name = "line",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_system, accelerator.line),
     .optional = true,
     .read = read_line,
     .help = "products of one design: their runs are used too where those of the product are few"},
    GROUP("compute", read_compute),
    GROUP("gemm", read_gemm),
    GROUP("attention", read_attention),
    {.name = "flash",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_system, accelerator),
     .optional = true,
     .read = rk_system_read_flash,
     .help = "attention kernels of libraries"},
    {.name = "sparse",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_system, accelerator),
     .optional = true,
     .read = rk_system_read_sparse,
     .help = "kernels of attention to picked keys"},
    {.name = "delta",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_system, accelerator),
     .optional = true,
     .read = rk_system_read_delta,
     .help = "kernels of delta rules"},
    GROUP("memory", read_memory),
    GROUP("host", read_host),
    {.name = "tiers", .type = RK_FIELD_CUSTOM, .read = read_tiers, .help = "a list of tiers"},
    MEASURED,
};

static rk_status read_accelerator_object(const json_t *object, const char *path, rk_system *system,
                                         rk_error *err)
{
    *system = (rk_system){.accelerator = {.burst = 1, .sustained = 1, .sparse = rk_usual_sparse}};
    return rk_system_read_group(object, path, accelerator_fields, COUNT(accelerator_fields), system,
                                err);
}

static rk_status read_tables(const json_t *object, const char *document, rk_system *system,
                             rk_error *err)
{
    return rk_measured_doc_read(json_object_get(object, "measured"), document, system, err);
}

/* The accelerator of a cluster: a name of the catalogue, a file, or an object. */
static rk_status read_accelerator(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_json_doc doc;
    char found[RK_JSON_TEXT_SIZE];
    if (json_is_object(value)) {
        return read_accelerator_object(value, path, out, err);
    }
    if (!json_is_string(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a name or an object, found %s",
                          rk_json_describe(value, found));
    }
    rk_status status = rk_json_load(json_string_value(value), accelerator_folder, &doc, err);
    if (!status) {
        rk_system *system = out;
        status = read_accelerator_object(doc.root, "", system, err);
        status = status ? status : read_tables(doc.root, doc.name, system, err);
        rk_error_set_file(status ? err : NULL, doc.name);
    }
    rk_json_clear(&doc);
    return status;
}

static rk_status read_power(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    rk_accelerator *a = out;
    const double watt = json_number_value(value);
    if (!(watt >= POWER_LEAST && watt <= RATE_MOST)) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a power from %d to %.0f (W), found %s", POWER_LEAST, RATE_MOST,
                          rk_json_describe(value, found));
    }
    *a = rk_accelerator_at_power(a, watt);
    return RK_OK;
}

const char *const rk_system_unit_names[] = {"accelerator", "node", "rack",
                                            "supernode",   "pod",  NULL};

static const rk_field cluster_fields[] = {
    {.name = "accelerator", /* first: the others change parts of it */
     .type = RK_FIELD_CUSTOM,
     .read = read_accelerator,
     .help = "a name or an object"},
    {.name = "name",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_system, name),
     .read = read_system_name,
     .help = "a text"},
    {.name = "tiers",
     .type = RK_FIELD_CUSTOM,
     .optional = true,
     .read = read_tiers,
     .help = "a list of tiers"},
    {.name = "power_W",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(rk_system, accelerator),
     .optional = true,
     .read = read_power,
     .help = "limit of a board"},
    OPTIONAL("host_capacity_GiB", rk_system, accelerator.host_capacity, RATE_MOST, "GiB",
             "host memory per accelerator"),
    {.name = "unit",
     .type = RK_FIELD_ENUM,
     .offset = offsetof(rk_system, unit),
     .optional = true,
     .names = rk_system_unit_names,
     .help = "what the name stands for, which a number before it counts; default accelerator"},
    OPTIONAL("price_usd_per_hour", rk_system, price, RATE_MOST, "USD", "of an accelerator"),
    MEASURED,
    UNCERTAIN,
};

/*
 * Tables of an accelerator that is written out; read_accelerator() has read those of a document.
 * They are compared with the accelerator as it is, not with what the cluster makes of it.
 */
static rk_status read_inner_tables(const json_t *accelerator, const char *document,
                                   rk_system *system, rk_error *err)
{
    rk_system node;
    if (!json_object_get(accelerator, "measured")) {
        return RK_OK;
    }
    rk_status status = read_accelerator_object(accelerator, "accelerator", &node, err);
    status = status ? status : read_tables(accelerator, document, &node, err);
    system->accelerator.measured = node.accelerator.measured;
    return status;
}

/* A cluster; its tables of a kind take the place of those of its accelerator. */
static rk_status read_cluster(const json_t *object, const char *document, rk_system *system,
                              rk_error *err)
{
    rk_status status =
        rk_system_read_group(object, "", cluster_fields, COUNT(cluster_fields), system, err);
    if (!status) {
        status = read_inner_tables(json_object_get(object, "accelerator"), document, system, err);
    }
    return status ? status : read_tables(object, document, system, err);
}

static rk_status read_document(const json_t *object, const char *document, rk_system *system,
                               rk_error *err)
{
    rk_status status;
    *system = (rk_system){.tier_count = 0};
    if (json_object_get(object, "accelerator")) {
        status = read_cluster(object, document, system, err);
    } else {
        status = read_accelerator_object(object, "", system, err);
        status = status ? status : read_tables(object, document, system, err);
        memcpy(system->name, system->accelerator.name, sizeof(system->accelerator.name));
    }
    status = status ? status : rk_system_check(system, err);
    if (status) {
        rk_system_clear(system);
    }
    return status;
}

rk_status rk_system_from_json(const json_t *object, rk_system *system, rk_error *err)
{
    return read_document(object, "", system, err);
}

/* The folder of a name: an accelerator stands for itself with its usual node. */
static const char *folder_of(const char *name)
{
    return rk_catalogue_find(accelerator_folder, name) ? accelerator_folder : system_folder;
}

static rk_status fail_unknown(const char *name, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE], longer[200] = "", reason[RK_CATALOGUE_REASON_SIZE];
    const char *near[2];
    size_t count = 0;
    (void)rk_json_printable(name, shown, sizeof(shown));
    if (rk_catalogue_missing(name, reason)) {
        return rk_fail(err, RK_ERR_INVALID, "the catalogue has no %s: %s", shown, reason);
    }
    const size_t many = rk_catalogue_list(accelerator_folder, name, longer, sizeof(longer)) +
                        rk_catalogue_list(system_folder, name, longer, sizeof(longer));
    if (many > 1) {
        return rk_fail(err, RK_ERR_INVALID, "\"%s\" is not a whole name; there are %s", shown,
                       longer);
    }
    for (size_t i = 0; i < 2; i++) {
        near[count] = rk_catalogue_nearest(i ? accelerator_folder : system_folder, name);
        count += near[count] ? 1 : 0;
    }
    const char *nearest = rk_nearest_name_within(name, near, count, sizeof(longer));
    return rk_fail(
        err, RK_ERR_INVALID, "the catalogue has no system \"%s\"; %s%s%s", shown,
        nearest ? "did you mean \""
                : "'reckon list systems' and 'reckon list accelerators' show the names, and a "
                  "file's name ends in .json or .json.gz",
        nearest ? nearest : "", nearest ? "\"?" : "");
}

rk_status rk_system_doc_rebase(json_t *cluster, const char *document, rk_error *err)
{
    char path[1024];
    json_t *name = json_object_get(cluster, "accelerator");
    if (!json_is_string(name) || !rk_json_is_file(json_string_value(name))) {
        return RK_OK;
    }
    if (!rk_path_beside(json_string_value(name), document, path, sizeof(path))) {
        return rk_fail_at(err, RK_ERR_INVALID, "accelerator", "the name of the file is too long");
    }
    return json_string_set(name, path)
               ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for a system")
               : RK_OK;
}

static rk_status fail_list(const char *name, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE];
    return rk_fail(err, RK_ERR_INVALID,
                   "expected one system, found the list %s; run the command once for each, or use "
                   "'reckon run' with --deadline, --budget or --max-power to choose one",
                   rk_json_printable(name, shown, sizeof(shown)));
}

rk_status rk_system_load(const char *name, rk_system *system, rk_error *err)
{
    rk_json_doc doc;
    if (!rk_json_is_text(name) && !rk_json_is_file(name) &&
        !rk_catalogue_find(folder_of(name), name)) {
        return strchr(name, ',') ? fail_list(name, err) : fail_unknown(name, err);
    }
    rk_status status = rk_json_load(name, folder_of(name), &doc, err);
    if (!status) {
        status = rk_system_doc_rebase(doc.root, doc.name, err);
        status = status ? status : read_document(doc.root, doc.name, system, err);
        rk_error_set_file(status ? err : NULL, doc.name);
    }
    rk_json_clear(&doc);
    return status;
}
