/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from every rank to every other at once, over ports or over a mesh. */
#ifndef RK_COLLECTIVE_DIRECT_H
#define RK_COLLECTIVE_DIRECT_H

#include "collective/algorithm.h"

int32_t rk_direct_blocks(const rk_collective_job *job);
void rk_direct_send(const rk_collective_job *job, rk_message_visitor *visit, void *user);

#endif
