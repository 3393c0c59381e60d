/* SPDX-License-Identifier: Apache-2.0 */
/* The only place for compiler extensions. */
#ifndef RK_BASE_COMPAT_H
#define RK_BASE_COMPAT_H

/*
 * RK_SIMD_CLONES: compile a function once per vector width and choose at load time.  Results do
 * not depend on the choice: no contraction, no reassociation.  Left out where load-time selection
 * is not to be had (other libcs; clang 14, which gives the chosen function another name than its
 * callers know) or gets in the way (sanitizers).
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define RK_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RK_SANITIZED 1
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(RK_SANITIZED) && !defined(__clang__)
#define RK_SIMD_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define RK_SIMD_CLONES
#endif

#if defined(__GNUC__)
#define RK_ALWAYS_INLINE __attribute__((always_inline)) inline
#else
#define RK_ALWAYS_INLINE inline
#endif

#endif
