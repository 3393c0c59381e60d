/* SPDX-License-Identifier: Apache-2.0 */
/* The names that options of a strategy choose from, and the values of chosen names. */
#ifndef RK_REQUEST_OPTION_VALUES_H
#define RK_REQUEST_OPTION_VALUES_H

#include "request/request.h"

#define RK_NOT_GIVEN (-1) /* the index of a choice */

/* Values of --gradients, in the order of rk_gradient_choices. */
enum { RK_GRADIENTS_32, RK_GRADIENTS_16 };
enum { RK_WEIGHTS_IN_BF16 = 1 }; /* of rk_weight_choices */
enum {
    RK_OFFLOAD_THE_STEP = 1U << 1U | 1U << 4U
}; /* optimizer and gradients of rk_offload_choices */

extern const char *const rk_weight_choices[], *const rk_frozen_choices[];
extern const char *const rk_cross_entropy_choices[], *const rk_update_choices[];
extern const char *const rk_precision_choices[],
    *const rk_attention_choices[], *const rk_gradient_choices[],
                                       *const rk_moment_choices[],
                                           *const rk_optimizer_choices[],
                                               *const rk_offload_choices[],
                                                   *const rk_overlap_choices[],
                                                       *const rk_module_choices[],
                                                           *const rk_order_choices[],
                                                               *const rk_graph_choices[];

/* Other words for choices: of PyTorch, Transformers, and people. */
extern const rk_named_text rk_precision_synonyms[], rk_attention_synonyms[],
    rk_framework_synonyms[];

rk_precision rk_request_precision(const rk_request *request);
bool rk_request_is_mxfp8(const rk_request *request);

/* Whether the attention kernel is fused, and which one it is. */
bool rk_request_is_flash(const rk_request *request);
rk_optimizer rk_request_optimizer(const rk_request *request);
rk_attention_kernel rk_request_kernel(const rk_request *request);

/* The request's choice of model states. */
rk_state_request rk_request_states(const rk_request *request);

/* Whether the update makes temporaries of all weights; `usual` by default. */
bool rk_request_foreach(const rk_request *request, bool usual);

/* Whether weights of linears are frozen in 4 or 8 bits, and in which type. */
bool rk_request_quantises(const rk_request *request);
rk_frozen_type rk_request_frozen(const rk_request *request);

/* Whether a search may offload anything that pays; otherwise the offloaded states, a bit each. */
bool rk_request_searches_offload(const rk_request *request);
unsigned rk_request_offloads(const rk_request *request);

/* Sets of rk_module and of rk_rank_order; 0: not given. */
unsigned rk_request_modules(const rk_request *request);
unsigned rk_request_orders(const rk_request *request);

#endif
