/* SPDX-License-Identifier: Apache-2.0 */
/* Models, systems and mappings in words. */
#ifndef RK_METHOD_DESCRIBE_H
#define RK_METHOD_DESCRIBE_H

#include "base/text.h"
#include "model/model.h"
#include "stack/stack.h"

#define RK_WORDS_SIZE 1024

/* A capacity in GiB: "80"; "unlimited" from an exbibyte on, which is how documents say so. */
#define RK_GIB_SIZE 24
const char *rk_describe_gib(double bytes, char out[RK_GIB_SIZE]);

/* "128 blocks, hidden 25600, feed-forward 102400, 160 heads of 160, sequence 2048". */
const char *rk_describe_app(const rk_calculon_app *app, char out[RK_WORDS_SIZE]);

/* The engines of one datatype: "float8: matrix 2000 TFLOP/s, vector 120 TFLOP/s". */
const char *rk_describe_engines(const rk_calculon_sys *sys, rk_datatype datatype,
                                char out[RK_WORDS_SIZE]);

/* Both memory tiers: "80 GiB at up to 2.765 TB/s; offload to 512 GiB at up to 47.5 GB/s". */
const char *rk_describe_memory(const rk_calculon_sys *sys, char out[RK_WORDS_SIZE]);

/* "tier 0: 8 processors at 450 GB/s; tier 1: 65536 at 50 GB/s". */
const char *rk_describe_networks(const rk_calculon_sys *sys, char out[RK_WORDS_SIZE]);

/* "TP 8, PP 8, DP 64, interleaving 4, microbatch 1, ..." */
const char *rk_describe_exe(const rk_calculon_exe *exe, char out[RK_WORDS_SIZE]);

/* Lists what differs in b: "TP 8 (was 4), batch 3072 (was 3000)"; "" if they are equal. */
const char *rk_describe_exe_changes(const rk_calculon_exe *a, const rk_calculon_exe *b,
                                    char out[RK_WORDS_SIZE]);

/* "70.554 G parameters, 80 layers, hidden 8192", with the active ones of a mixture of experts. */
const char *rk_describe_model(const rk_model *model, char out[RK_WORDS_SIZE]);

/* Dense TFLOP/s by precision: "bf16 989.4, fp8 1979". */
const char *rk_describe_matrix(const rk_accelerator *accelerator, char out[RK_WORDS_SIZE]);

/* "622 GEMMs, 44 attention kernels"; NULL without tables. */
const char *rk_describe_measured(const rk_accelerator *accelerator, char out[RK_WORDS_SIZE]);

/*
 * Where the rates of an attention kernel come from that is not the stack's and that the accelerator
 * has none of; NULL: it has them.
 */
const char *rk_describe_kernel(const rk_accelerator *accelerator, const rk_stack *stack,
                               rk_attention_kernel kernel, char out[RK_WORDS_SIZE]);

/* "NVLink4: 8 x 450; NDR InfiniBand: 1016 x 50"; an unlimited tier shows its bandwidth only. */
const char *rk_describe_tiers(const rk_system *system, char out[RK_WORDS_SIZE]);

#endif
