/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an accelerator's rates of kernels other than GEMMs and usual attention. */
#include "system/doc_fields.h"

static const rk_field flash_rate_fields[] = {
    OPTIONAL("forward_tflops", rk_flash_rates, forward, RATE_MOST, "TFLOP/s",
             "of short benchmarks, head size 128"),
    OPTIONAL("backward_tflops", rk_flash_rates, backward, RATE_MOST, "TFLOP/s", "the same"),
    OPTIONAL("prologue_keys", rk_flash_rates, prologue, 1e6, NULL,
             "what a query takes besides its keys"),
    OPTIONAL("softmax_elements", rk_flash_rates, softmax, 1e4, NULL,
             "head size whose products take as long as the softmax"),
    UNCERTAIN,
};

static rk_status read_flash_rates(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_system_read_group(value, path, flash_rate_fields, COUNT(flash_rate_fields), out, err);
}

#define FLASH(key, index)                                                                          \
    RK_FIELD(key, CUSTOM, (index) * sizeof(rk_flash_rates), .optional = true,                      \
             .read = read_flash_rates, .help = "rates of a library")

/* Keys are rk_flash_library_names. */
static const rk_field flash_fields[] = {
    FLASH("cudnn", RK_FLASH_CUDNN),
    FLASH("cudnn_fp8", RK_FLASH_CUDNN_FP8),
    FLASH("cudnn_mxfp8", RK_FLASH_CUDNN_MXFP8),
    FLASH("flash_attention_2", RK_FLASH_2),
    FLASH("flash_attention_3", RK_FLASH_3),
    FLASH("aiter", RK_FLASH_AITER),
};

static const rk_field sparse_fields[] = {
    RATIO("core_share", rk_sparse_rates, core_share, 1,
          "of the matrix engine, by attention to picked keys"),
    OPTIONAL("head_tile", rk_sparse_rates, head_tile, 1024, NULL,
             "query heads that its kernel pads to"),
    RATIO("index_share", rk_sparse_rates, index_share, 1,
          "of the matrix engine, by the scores of an indexer"),
    RATIO("select_share", rk_sparse_rates, select_share, 1,
          "of memory bandwidth, while the best scores are picked"),
    UNCERTAIN,
};

/* Rates of flash_mla_sparse_fwd and DeepGEMM's fp8_mqa_logits on H100; see data/measured. */
const rk_sparse_rates rk_usual_sparse = {
    .core_share = 0.6, .head_tile = 64, .index_share = 0.35, .select_share = 0.3};

static const rk_field delta_rate_fields[] = {
    OPTIONAL("tflops", rk_delta_rates, rate, RATE_MOST, "TFLOP/s", "while all cores are busy"),
    OPTIONAL("token_ns", rk_delta_rates, token, 1e6, "ns",
             "per token of a sequence, along which states are passed on"),
    OPTIONAL("launch_us", rk_delta_rates, launch, 1e6, "us", "of all kernels of a forward pass"),
    UNCERTAIN,
};

static rk_status read_delta_rates(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_system_read_group(value, path, delta_rate_fields, COUNT(delta_rate_fields), out, err);
}

#define DELTA(key, index)                                                                          \
    RK_FIELD(key, CUSTOM, (index) * sizeof(rk_delta_rates), .optional = true,                      \
             .read = read_delta_rates, .help = "rates of a rule")

static const rk_field delta_fields[] = {
    DELTA("gated", RK_DELTA_GATED),
    DELTA("kimi", RK_DELTA_KIMI),
};

rk_status rk_system_read_flash(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_flash_rates *rates = ((rk_accelerator *)out)->flash;
    return rk_system_read_group(value, path, flash_fields, COUNT(flash_fields), rates, err);
}

rk_status rk_system_read_sparse(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_sparse_rates *rates = &((rk_accelerator *)out)->sparse;
    return rk_system_read_group(value, path, sparse_fields, COUNT(sparse_fields), rates, err);
}

rk_status rk_system_read_delta(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_delta_rates *rates = ((rk_accelerator *)out)->delta;
    return rk_system_read_group(value, path, delta_fields, COUNT(delta_fields), rates, err);
}
