/* SPDX-License-Identifier: Apache-2.0 */
/* The names that options of a strategy choose from, and what those chosen stand for. */
#ifndef RK_REQUEST_OPTION_VALUES_H
#define RK_REQUEST_OPTION_VALUES_H

#include "request/request.h"

#define RK_NOT_GIVEN (-1) /* the index of a choice */

extern const char *const rk_precision_choices[],
    *const rk_attention_choices[], *const rk_gradient_choices[],
                                       *const rk_moment_choices[],
                                           *const rk_optimizer_choices[],
                                               *const rk_offload_choices[],
                                                   *const rk_overlap_choices[],
                                                       *const rk_module_choices[],
                                                           *const rk_order_choices[];

/* Other words for choices: of PyTorch, Transformers, and people. */
extern const rk_synonym rk_precision_synonyms[], rk_attention_synonyms[], rk_framework_synonyms[];

rk_precision rk_request_precision(const rk_request *request);
bool rk_request_is_mxfp8(const rk_request *request);

/* Whether the attention kernel is fused, and which one it is. */
bool rk_request_is_flash(const rk_request *request);
rk_optimizer rk_request_optimizer(const rk_request *request);
rk_attention_kernel rk_request_kernel(const rk_request *request);

/* Bytes of a gradient, and of both of Adam's moments; 0: not given. */
double rk_request_gradient(const rk_request *request);
double rk_request_moments(const rk_request *request);

/* Whether a search may offload whatever pays, and otherwise what is offloaded, a bit each. */
bool rk_request_searches_offload(const rk_request *request);
unsigned rk_request_offloads(const rk_request *request);

/* Sets of rk_module and of rk_rank_order; 0: not given. */
unsigned rk_request_modules(const rk_request *request);
unsigned rk_request_orders(const rk_request *request);

#endif
