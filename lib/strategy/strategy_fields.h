/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategy as named fields: text, JSON and CSV write one list of fields, and comparisons of two
 * strategies use it.  Options have the same names.
 */
#ifndef RK_STRATEGY_STRATEGY_FIELDS_H
#define RK_STRATEGY_STRATEGY_FIELDS_H

#include "base/members.h"
#include "base/value.h"
#include "strategy/strategy.h"

/* Names as items of an array: of an enum in its order, of a set in the order of its bits. */
#define RK_ATTENTION_NAMES                                                                         \
    "flash", "unfused", "cudnn", "cudnn_fp8", "cudnn_mxfp8", "flash_attention_2",                  \
        "flash_attention_3", "aiter"
#define RK_RECOMPUTE_NAMES "none", "selective", "full"
#define RK_MODULE_NAMES                                                                            \
    "core_attn", "norm", "act", "mla_up", "mlp", "moe", "operators", "mhc", "attn_proj"
#define RK_GRAPH_NAMES      "attn", "mamba", "mlp", "moe", "moe_router", "moe_preprocess"
#define RK_RANK_ORDER_NAMES "tp-cp-dp-pp", "tp-cp-pp-dp"
#define RK_OFFLOAD_NAMES                                                                           \
    "optimizer", "activations", "weights", "gradients", "nvme-optimizer", "nvme-weights"
#define RK_OVERLAP_NAMES "tp", "grad", "param", "pp", "moe"

/* The flags of the strategy, as a set: bits in the order of the names.  What goes to NVMe is
 * offloaded. */
unsigned rk_strategy_offloads(const rk_strategy *strategy);
void rk_strategy_set_offloads(rk_strategy *strategy, unsigned offloads);
void rk_strategy_set_overlaps(rk_strategy *strategy, unsigned overlaps);

/* Of rk_cross_entropy and rk_frozen_type in order, the former without what the stack does. */
#define RK_CROSS_ENTROPY_NAMES "full", "fused", "chunked"
#define RK_FROZEN_NAMES        "nf4", "nf4_plain", "int4", "int8"

#define RK_STRATEGY_FIELD_COUNT 61
#define RK_STRATEGY_TEXT_SIZE   1280 /* of a field in words: the layout of 256 stages */

/* The names of a field in documents and for people. */
const char *rk_strategy_key(size_t field);
const char *rk_strategy_label(size_t field);

#define RK_STRATEGY_MEMBERS_MAX 80

/* Lists the numbers, flags and enumerations of a strategy with their bounds.  Returns how many. */
size_t rk_strategy_members(rk_member members[RK_STRATEGY_MEMBERS_MAX]);

/* The field of a key of the list. */
size_t rk_find_strategy_field(const char *key);

/* The field of the whole number that lies at an offset of rk_strategy. */
size_t rk_strategy_field_at(size_t offset);

rk_value_type rk_strategy_type(size_t field);

/* The value of a field; text may be stored in `out`. */
rk_value rk_strategy_value(const rk_strategy *strategy, size_t field,
                           char out[RK_STRATEGY_TEXT_SIZE]);

/* The same for people: "yes", "8", "norm+activation". */
const char *rk_strategy_text(const rk_strategy *strategy, size_t field,
                             char out[RK_STRATEGY_TEXT_SIZE]);

/* Whether two strategies have the same in a field; fields that follow from others always do. */
bool rk_strategy_same(const rk_strategy *a, const rk_strategy *b, size_t field);

/* Lists what differs in b: "TP 8 (was 4), DP 2 (was 4)"; "" if they are equal. Returns out. */
const char *rk_strategy_changes(const rk_strategy *a, const rk_strategy *b, char *out, size_t size);

#endif
