/* SPDX-License-Identifier: Apache-2.0 */
/* Reads accelerator and cluster documents, group by group, with units converted to SI. */
#include "system/system_doc.h"

#include "base/error.h"
#include "base/named.h"
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
static const rk_named_real units[] = {
    {"GB/s", 1e9},     {"GB", 1e9},  {"GiB", 0x1p30}, {"MB", 1e6},
    {"TFLOP/s", 1e12}, {"us", 1e-6}, {"ns", 1e-9},
};

static double unit_factor(const rk_field *field)
{
    return field->unit ? rk_named_real_of(units, COUNT(units), field->unit, 1) : 1;
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
    RK_FIELD("cores", INT, offsetof(rk_accelerator, cores), .min = 1, .max = 1e6,
             .help = "units that run a tile each: SMs, compute units, matrix units"),
    RK_FIELD("tensor_cores", INT, offsetof(rk_accelerator, tensor_cores), .optional = true,
             .min = 1, .max = 64,
             .help = "TensorCores of a TPU chip; names of slices, such as v5p-128, count them"),
    RATE("vector_tflops", rk_accelerator, vector_peak, "TFLOP/s", "vector rate in fp32"),
    OPTIONAL("vector_overlap", rk_accelerator, vector_overlap, 1, NULL,
             "share of memory-bound operators that vector cores run beside the matrix engine"),
    OPTIONAL("kernel_us", rk_accelerator, kernel_seconds, 1e6, "us", "fixed cost of a kernel"),
    OPTIONAL("launch_us", rk_accelerator, launch_seconds, 1e6, "us", "host time of a launch"),
    OPTIONAL("split_us", rk_accelerator, split_seconds, 1e6, "us",
             "to add the partial results of a GEMM that splits K"),
    OPTIONAL("droop_us", rk_accelerator, gemm_droop_seconds, 1e6, "us",
             "GEMM in which the clock of short benchmarks falls by half as much as in long ones"),
    RK_FIELD("power_W", NUMBER, offsetof(rk_accelerator, power), .optional = true,
             .min = POWER_LEAST, .max = RATE_MOST, .unit = "W", .help = "limit of the board"),
    RK_FIELD("burst", NUMBER, offsetof(rk_accelerator, burst), .optional = true, .min = 1,
             .max = 10, .help = "GEMM rate of short benchmarks over that of training"),
    RK_FIELD("sustained", NUMBER, offsetof(rk_accelerator, sustained), .optional = true, .min = 0.1,
             .max = 10, .help = "the same of benchmarks repeated for a second"),
    RK_FIELD("fp8_one_layout", BOOL, offsetof(rk_accelerator, fp8_one_layout), .optional = true,
             .help = "8-bit GEMMs read both operands along K only, so transposed copies are kept"),
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
    RK_FIELD(key, CUSTOM, (index) * sizeof(rk_gemm_engine), .optional = true, .read = read_engine, \
             .help = "an engine")

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
    OPTIONAL("droop_us", rk_accelerator, attention_droop_seconds, 1e6, "us",
             "kernel in which the clock falls by half as much as in long ones"),
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
    OPTIONAL("nvme_GBps", rk_accelerator, nvme_bandwidth, RATE_MOST, "GB/s",
             "of a node's NVMe disks, each way, per accelerator"),
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

/* ---- documents ----------------------------------------------------------------------------- */

/* The tables are read when all else is: their rows are compared with the model. */
static rk_status read_measured(const json_t *value, const char *path, void *out, rk_error *err)
{
    (void)out;
    return rk_measured_doc_check(value, path, err);
}

#define MEASURED                                                                                   \
    RK_FIELD("measured", CUSTOM, 0, .optional = true, .read = read_measured,                       \
             .help = "tables of kernels that were timed")

#define GROUP(key, reader)                                                                         \
    RK_FIELD(key, CUSTOM, offsetof(rk_system, accelerator), .read = reader,                        \
             .help = "a group of numbers")

/* Places are in an rk_system. */
static const rk_field accelerator_fields[] = {
    RK_TEXT_FIELD("name", rk_system, accelerator.name, .help = "a text"),
    RK_FIELD("generation", ENUM, offsetof(rk_system, accelerator.generation), .optional = true,
             .names = rk_generation_names, .help = "architecture that software is built for"),
    RK_TEXT_FIELD(
        "product", rk_system, accelerator.product, .optional = true,
        .help = "as it is sold: errors of measured runs on it make the intervals of estimates"),
    RK_TEXT_FIELD(
        "line", rk_system, accelerator.line, .optional = true,
        .help =
            "products of one design: their runs are used too where those of the product are few"),
    GROUP("compute", read_compute),
    GROUP("gemm", read_gemm),
    GROUP("attention", read_attention),
    RK_FIELD("flash", CUSTOM, offsetof(rk_system, accelerator), .optional = true,
             .read = rk_system_read_flash, .help = "attention kernels of libraries"),
    RK_FIELD("sparse", CUSTOM, offsetof(rk_system, accelerator), .optional = true,
             .read = rk_system_read_sparse, .help = "kernels of attention to picked keys"),
    RK_FIELD("delta", CUSTOM, offsetof(rk_system, accelerator), .optional = true,
             .read = rk_system_read_delta, .help = "kernels of delta rules"),
    GROUP("memory", read_memory),
    GROUP("host", read_host),
    RK_FIELD("tiers", CUSTOM, 0, .read = rk_system_read_tiers, .help = "a list of tiers"),
    MEASURED,
};

/*
 * What documents leave out.  The cost of a split is from the benchmarks of GEMMs on A100 that the
 * tiles of gemm.c are from; the droops from GEMMs of milliseconds, and from cuDNN on GB200 and
 * GB300 (flash.c).
 */
static const rk_accelerator usual = {
    .burst = 1,
    .sustained = 1,
    .split_seconds = 1e-6,
    .gemm_droop_seconds = 1e-3,
    .attention_droop_seconds = 10e-3,
};

static rk_status read_accelerator_object(const json_t *object, const char *path, rk_system *system,
                                         rk_error *err)
{
    *system = (rk_system){.accelerator = usual};
    system->accelerator.sparse = rk_usual_sparse;
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
    {.name = "accelerator", /* first: the others change its parts */
     .type = RK_FIELD_CUSTOM,
     .read = read_accelerator,
     .help = "a name or an object"},
    RK_TEXT_FIELD("name", rk_system, name, .help = "a text"),
    RK_FIELD("tiers", CUSTOM, 0, .optional = true, .read = rk_system_read_tiers,
             .help = "a list of tiers"),
    RK_FIELD("power_W", CUSTOM, offsetof(rk_system, accelerator), .optional = true,
             .read = read_power, .help = "limit of a board"),
    OPTIONAL("host_capacity_GiB", rk_system, accelerator.host_capacity, RATE_MOST, "GiB",
             "host memory per accelerator"),
    OPTIONAL("launch_us", rk_system, accelerator.launch_seconds, 1e6, "us",
             "host time of a launch; default: as the accelerator"),
    RK_FIELD(
        "unit", ENUM, offsetof(rk_system, unit), .optional = true, .names = rk_system_unit_names,
        .help = "what the name stands for, which a number before it counts; default accelerator"),
    RK_FIELD("accelerators", INT, offsetof(rk_system, unit_size), .optional = true, .min = 1,
             .max = 0x1p31, .help = "of one of these; default those of its node"),
    OPTIONAL("price_usd_per_hour", rk_system, price, RATE_MOST, "USD", "of an accelerator"),
    MEASURED,
    UNCERTAIN,
};

/*
 * Tables of an accelerator that is written out; read_accelerator() has read the tables of a
 * document. They are compared with the accelerator itself, without the cluster's changes.
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

/* A cluster; its tables of a kind replace its accelerator's. */
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

/* The folder of a name: the name of an accelerator means its usual node. */
static const char *folder_of(const char *name)
{
    return rk_catalogue_find(accelerator_folder, name) ? accelerator_folder : system_folder;
}

static rk_status fail_unknown(const char *name, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE], longer[200] = "";
    const char *near[2];
    size_t count = 0;
    (void)rk_json_printable(name, shown, sizeof(shown));
    if (rk_catalogue_check_missing(name, err)) {
        return RK_ERR_INVALID;
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
    const char *folder = folder_of(name);
    if (!rk_json_is_text(name) && !rk_json_is_file(name) && folder == system_folder &&
        !rk_catalogue_find(folder, name)) {
        return strchr(name, ',') ? fail_list(name, err) : fail_unknown(name, err);
    }
    rk_status status = rk_json_load(name, folder, &doc, err);
    if (!status) {
        status = rk_system_doc_rebase(doc.root, doc.name, err);
        status = status ? status : read_document(doc.root, doc.name, system, err);
        rk_error_set_file(status ? err : NULL, doc.name);
    }
    rk_json_clear(&doc);
    return status;
}
