/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention kernels on accelerators whose document has no rates for them.  Such a kernel is slower
 * or faster than cudnn in 16 bits by the same factor as on the nearest accelerator of the same
 * generation, or, where none has its rates, as long as the usual kernel.
 */
#ifndef RK_SYSTEM_FLASH_LENT_H
#define RK_SYSTEM_FLASH_LENT_H

#include "system/system.h"

_Static_assert(RK_KERNEL_COUNT - RK_KERNEL_CUDNN == RK_FLASH_LIBRARY_COUNT,
               "kernels of strategies are those of flash.h");

/* The library of a kernel that is not RK_KERNEL_OF_STACK. */
static inline rk_flash_library rk_flash_library_of(rk_attention_kernel kernel)
{
    return (rk_flash_library)(kernel - RK_KERNEL_CUDNN);
}

/* Whether the kernel exists for the accelerator, by its generation and the formats it reads. */
bool rk_flash_exists(const rk_accelerator *a, rk_flash_library library);

/* Whether the document has its rates, of both passes. */
bool rk_flash_is_measured(const rk_accelerator *a, rk_flash_library library);

/* The accelerator whose ratio of the kernel to cudnn is taken; NULL: none of the generation. */
const rk_accelerator *rk_flash_lender(const rk_accelerator *a, rk_flash_library library);

/*
 * The error, as a logarithm, to allow for a kernel that is not measured: the most by which measured
 * kernels differ from the nearest other accelerator's, or, without a lender, from each other.  0:
 * it is measured.
 */
double rk_flash_error(const rk_accelerator *a, rk_flash_library library);

/* Accelerators of the catalogue with rates of cudnn, made by tools/flash_table.py. */
extern const rk_accelerator rk_flash_lenders[];
extern const size_t rk_flash_lender_count;
extern const double rk_flash_lent_errors[]; /* by library */
extern const double rk_flash_apart;

#endif
