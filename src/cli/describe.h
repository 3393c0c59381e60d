/* SPDX-License-Identifier: Apache-2.0 */
/* Models, systems and mappings in words. */
#ifndef RK_CLI_DESCRIBE_H
#define RK_CLI_DESCRIBE_H

#include "reckon/reckon.h"

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

/* What a mapping keeps in tier 2: "weights+activations", or "none". */
#define RK_OFFLOAD_TEXT_SIZE 40
const char *rk_describe_offload(const rk_calculon_exe *exe, char out[RK_OFFLOAD_TEXT_SIZE]);

/* A whole number with commas between thousands: "15,904,064". */
#define RK_COMMAS_SIZE 32
const char *rk_with_commas(uint64_t number, char out[RK_COMMAS_SIZE]);

#endif
