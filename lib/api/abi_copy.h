/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of programs that were built with a different version of the headers. */
#ifndef RK_API_ABI_COPY_H
#define RK_API_ABI_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies a struct to a program, whose version has `size` bytes; returns true, for items found. */
static inline bool rk_abi_copy(void *to, size_t size, const void *from, size_t known)
{
    memcpy(to, from, size < known ? size : known);
    return true;
}

#endif
